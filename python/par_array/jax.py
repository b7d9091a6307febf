"""Entry points as differentiable functions of JAX.

```python
import par_array as par, par_array.jax
f = par_array.jax.function(par.compile("model.par").loss)
```
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import jax
import numpy as np

from . import _tree
from ._ragged import Ragged

if TYPE_CHECKING:
    from ._native import Entry

__all__ = ["function"]

DTYPES = {"Bool": "bool", **{f"{k}{n}": f"{w}{n}" for k, w in (("I", "int"), ("U", "uint"), ("F", "float")) for n in (8, 16, 32, 64)}}


def function(entry: Entry, result: Callable[..., Any] | None = None) -> Callable[..., Any]:
    """An entry point as a function of arrays of JAX, which has a derivative backward and can be compiled by `jax.jit`.

    It runs on the processor, by `jax.pure_callback`. JAX wants to know the shapes of results before there are any: they follow from the types where sizes of
    the result are numbers or names of sizes of parameters (`entry f [n] (xs: [n]f64): [n]f64`).

    Parameters
    ----------
    entry : Entry
        An entry point whose parameters and result are numbers and arrays with rows of one length, and tuples and records of these.
    result : callable, optional
        The shapes of the result, where the types do not say them: a function of the arguments that gives `jax.ShapeDtypeStruct`s in the form of the result.

    Raises
    ------
    TypeError
        If a type has rows of any length, or the shape of the result is not known.
    """
    parameters, returned = _tree.types(entry)
    for kind in (*parameters, returned):
        _check(entry, kind)

    def call(*arguments: Any) -> Any:
        shapes = result(*arguments) if result else _shapes(entry, parameters, returned, arguments)
        return jax.pure_callback(lambda *given: _as(_plain(entry(*_arguments(given, parameters))), shapes), shapes, *arguments)

    derived = jax.custom_vjp(call)

    def forward(*arguments: Any) -> Any:
        return call(*arguments), arguments

    def backward(arguments: Any, by: Any) -> Any:
        derivative, chosen = _tree.vjp(entry)
        shapes = jax.tree.map(lambda a: jax.ShapeDtypeStruct(np.shape(a), _dtype(a)), tuple(arguments[i] for i in chosen))

        def run(given: Any, by: Any) -> Any:
            found = derivative(*_arguments(given, parameters), _tree.rebuilt(by, returned, _leaves(by, returned)))
            return _as(_plain(found if len(chosen) > 1 else (found,)), shapes)

        found = dict(zip(chosen, jax.pure_callback(run, shapes, arguments, by), strict=True))
        return tuple(_by(found.get(i), argument) for i, argument in enumerate(arguments))

    derived.defvjp(forward, backward)

    @functools.wraps(entry, assigned=("__name__", "__qualname__", "__doc__"), updated=())
    def checked(*arguments: Any) -> Any:
        if len(arguments) != len(parameters):
            entry(*arguments)
        return derived(*arguments)

    return checked


def _by(found: Any, argument: Any) -> Any:
    """The derivative by an argument: whole numbers have one of JAX's type for none."""

    def leaf(value: Any, by: Any) -> Any:
        is_float = np.issubdtype(_dtype(value), np.floating)
        return by if is_float else np.zeros(np.shape(value), jax.dtypes.float0)

    return jax.tree.map(lambda v: leaf(v, None), argument) if found is None else jax.tree.map(leaf, argument, found)


def _dtype(value: Any) -> Any:
    return jax.dtypes.canonicalize_dtype(jax.numpy.result_type(value))


def _check(entry: Entry, kind: Any) -> None:
    (name, inside), *_ = kind.items()
    inner = {"Tuple": lambda: inside, "Record": lambda: [k for _, k in inside], "Array": lambda: [inside["elem"]], "Prim": list}.get(name)
    if inner is None or (name == "Array" and inside["ragged"]):
        raise TypeError(f"'{entry.__name__}' has a value of type {_tree.spelled(kind)}, which is no array of JAX")
    for part in inner():
        _check(entry, part)


def _arguments(given: Any, parameters: Any) -> list[Any]:
    return [_tree.rebuilt(value, kind, _leaves(value, kind)) for value, kind in zip(given, parameters, strict=True)]


def _leaves(value: Any, kind: Any) -> Any:
    """The leaves as arrays of the types that Par takes: JAX narrows them by itself, unless it is told not to."""
    return (np.asarray(leaf).astype(DTYPES[str(_tree.prim(part))], copy=False) for leaf, part in _tree.leaves(value, kind))


def _plain(value: Any) -> Any:
    """A result with tuples and dictionaries, which JAX knows."""
    if hasattr(value, "_asdict"):
        return {name: _plain(part) for name, part in value._asdict().items()}
    if isinstance(value, tuple):
        return tuple(_plain(part) for part in value)
    if isinstance(value, Ragged):
        raise TypeError("rows of any length are no array of JAX")
    return value


def _as(value: Any, shapes: Any) -> Any:
    return jax.tree.map(lambda shape, part: np.asarray(part, shape.dtype), shapes, value)


def _shapes(entry: Entry, parameters: Any, returned: Any, arguments: Any) -> Any:
    """Shapes of the result, from those of the arguments and the names of sizes."""
    sizes: dict[str, int] = {}
    for value, kind in zip(arguments, parameters, strict=True):
        for leaf, part in _tree.leaves(value, kind):
            for size, n in zip(_sizes(part), np.shape(leaf), strict=False):
                if size is not None:
                    sizes.setdefault(size, n)

    def shape(kind: Any) -> Any:
        inner = _tree.parts(kind)
        if inner is not None:
            parts = [(key, shape(part)) for key, part in inner]
            return dict(parts) if inner and not isinstance(inner[0][0], int) else tuple(part for _, part in parts)
        known = [int(size) if size and size.isdigit() else sizes.get(size) for size in _sizes(kind)]
        if None in known:
            raise TypeError(f"the shape of the result of '{entry.__name__}', {entry.result}, does not follow from its type: give a function `result`")
        return jax.ShapeDtypeStruct(tuple(known), jax.dtypes.canonicalize_dtype(DTYPES[str(_tree.prim(kind))]))

    return shape(returned)


def _sizes(kind: Any) -> list[Any]:
    """The sizes of an array's dimensions, as they are written."""
    (name, inside), *_ = kind.items()
    return [inside["size"], *_sizes(inside["elem"])] if name == "Array" else []
