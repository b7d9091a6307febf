"""Arguments and results as trees whose leaves are arrays, for derivatives: guided by the types of an entry point."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from ._convert import fields, identifier
from ._ragged import Ragged

if TYPE_CHECKING:
    from ._native import Entry

DTYPES = {"F16": np.float16, "F32": np.float32, "F64": np.float64}

Type = Any
"""A type of Par: `{"Prim": "F64"}`, `{"Array": {…}}`, …"""


def types(entry: Entry) -> tuple[list[Type], Type]:
    """The types of the parameters and of the result."""
    parameters, result = json.loads(entry._types())
    return [_in_order(kind) for kind in parameters], _in_order(result)


def _in_order(kind: Type) -> Type:
    """The type with the fields of records as lists in the order in which they are written."""
    (name, inside), *_ = kind.items()
    if name == "Tuple":
        inside = [_in_order(part) for part in inside]
    elif name == "Record":
        fields = inside["by_name"]
        places = inside["written"] or range(len(fields))
        inside = [(fields[place][0], _in_order(fields[place][1])) for place in places]
    elif name == "Sum":
        inside = [(case, [_in_order(part) for part in payload]) for case, payload in inside]
    elif name == "Array":
        inside = {**inside, "elem": _in_order(inside["elem"])}
    return {name: inside}


def has_floats(kind: Type) -> bool:
    """True if a derivative by values of the type says something."""
    (name, inside), *_ = kind.items()
    if name == "Prim":
        return inside in DTYPES
    if name == "Tuple":
        return any(has_floats(part) for part in inside)
    if name == "Record":
        return any(has_floats(part) for _, part in inside)
    if name == "Sum":
        return any(has_floats(part) for _, parts in inside for part in parts)
    return name == "Array" and has_floats(inside["elem"])


def parts(kind: Type) -> list[tuple[Any, Type]] | None:
    """Names or numbers and types of the components of a tuple or a record, or of an array of them; None for other types."""
    (name, inside), *_ = kind.items()
    if name == "Tuple":
        return list(enumerate(inside))
    if name == "Record":
        return [(field, part) for field, part in inside]
    if name == "Array":
        inner = parts(inside["elem"])
        return None if inner is None else [(key, {"Array": {**inside, "elem": part}}) for key, part in inner]
    return None


def prim(kind: Type) -> str | None:
    """The scalar type of a leaf; None for sums and hidden types."""
    (name, inside), *_ = kind.items()
    if name == "Array":
        return prim(inside["elem"])
    return inside if name == "Prim" else None


def component(value: Any, key: Any) -> Any:
    """A component of a tuple, a dictionary, a named tuple or an object of a data class."""
    if isinstance(value, dict):
        return value[key]
    if isinstance(key, int):
        return value[key]
    known = fields(value)
    return (known or {}).get(identifier(key), None) if known else None


def is_structure(value: Any, kind: Type) -> bool:
    """True if the value is made of parts that are leaves themselves, not a list of elements."""
    return parts(kind) is not None and (isinstance(value, (tuple, dict)) or fields(value) is not None)


def leaves(value: Any, kind: Type) -> Iterator[tuple[Any, Type]]:
    """The leaves of a value with their types, in the order of the type."""
    inner = parts(kind)
    if inner is None or not is_structure(value, kind):
        yield value, kind
        return
    for key, part in inner:
        yield from leaves(component(value, key), part)


def rebuilt(value: Any, kind: Type, new: Iterator[Any]) -> Any:
    """The value with new leaves, in the order of the type; records are dictionaries."""
    inner = parts(kind)
    if inner is None or not is_structure(value, kind):
        return next(new)
    made = [(key, rebuilt(component(value, key), part, new)) for key, part in inner]
    return tuple(part for _, part in made) if isinstance(made[0][0], int) else dict(made)


def like(value: Any, kind: Type, new: Iterator[Any]) -> Any:
    """As `rebuilt`, with records as what they are in the value, a named tuple for one."""
    inner = parts(kind)
    if inner is None or not is_structure(value, kind):
        return next(new)
    made = [like(component(value, key), part, new) for key, part in inner]
    return type(value)(*made) if hasattr(value, "_fields") else tuple(made)


def with_flat(value: Any, flat: Any) -> Any:
    """A leaf with other innermost values: those of a Ragged, or all of an array."""
    if isinstance(value, Ragged):
        return Ragged._of(value.offsets, with_flat(value.values, flat), value.outer)
    return flat


def vjp(entry: Entry) -> tuple[Entry, list[int]]:
    """The entry point for the derivative backward, compiled, and the parameters by which it derives.

    It takes the arguments and the derivative by the result, and gives a tuple of derivatives by these parameters.
    """
    from ._program import made_of

    parameters, result = types(entry)
    chosen = [i for i, kind in enumerate(parameters) if has_floats(kind)]
    if not chosen:
        raise TypeError(f"'{entry.__name__}' has no parameter of floats to derive by")
    if not has_floats(result):
        raise TypeError(f"the result of '{entry.__name__}' has no floats to derive")
    names = [f"a{i}'" for i in range(len(parameters))]
    sizes = tuple(dict.fromkeys(size for kind in parameters for size in named_sizes(kind)))
    head = "".join(f" [{size}]" for size in sizes)
    head += "".join(f" ({name}: {spelled(kind, sizes)})" for name, kind in zip(names, parameters, strict=True))
    by = ", ".join(names[i] for i in chosen)
    by = f"({by})" if len(chosen) > 1 else by
    derived = f"vjp (\\{by} -> {entry.__name__} {' '.join(names)}) {by} dy'"
    kinds = [parameters[i] for i in chosen]
    returned = spelled({"Tuple": kinds} if len(kinds) > 1 else kinds[0], sizes)
    name = f"{entry.__name__}'vjp"
    addition = f"\nentry {name}{head} (dy': {spelled(result, sizes)}): {returned} = {derived}\n"
    text, file, options = entry._made_from()
    return made_of(text + addition, file, {**options, "strict": False})[name], chosen


def named_sizes(kind: Type) -> Iterator[str]:
    """The names of the sizes in a type, of dimensions that are the same for all rows."""
    (name, inside), *_ = kind.items()
    if name == "Array":
        size = inside["size"]
        if size and not inside["ragged"] and size.isidentifier():
            yield size
        yield from named_sizes(inside["elem"])
    elif name in ("Tuple", "Record"):
        for part in inside:
            yield from named_sizes(part if name == "Tuple" else part[1])


def spelled(kind: Type, sizes: Collection[str] = ()) -> str:
    """A type in a program, with these names of sizes only."""
    (name, inside), *_ = kind.items()
    if name == "Prim":
        return str(inside).lower()
    if name == "Tuple":
        return "(" + ", ".join(spelled(part, sizes) for part in inside) + ")"
    if name == "Record":
        return "{" + ", ".join(f"{field}: {spelled(part, sizes)}" for field, part in inside) + "}"
    if name == "Sum":
        cases = (" ".join([f"#{case}", *(spelled(part, sizes) for part in payload)]) for case, payload in inside)
        return "(" + " | ".join(cases) + ")"
    if name == "Array":
        size = inside["size"] or ""
        return f"[{size if size.isdigit() or size in sizes else ''}]{spelled(inside['elem'], sizes)}"
    return str(inside["name"])
