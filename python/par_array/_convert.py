"""What the extension module asks Python for while it converts arguments and results."""

from __future__ import annotations

import dataclasses
import functools
import keyword
from collections import namedtuple
from typing import Any

import numpy as np


def cast(array: np.ndarray[Any, Any], dtype: str) -> np.ndarray[Any, Any] | None:
    """The array in order, in the machine's byte order and of a type; None if its elements are objects.

    Raises
    ------
    TypeError
        If elements of that type cannot hold what is in the array.
    """
    want = np.dtype(dtype)
    kinds = {"b": "b", "i": "biu", "u": "biu", "f": "biuf"}[want.kind]
    if array.dtype.kind == "O":
        return None
    if array.dtype.kind not in kinds and array.size:
        raise TypeError(f"found an array of {array.dtype}, which cannot be one of {want} without losing something")
    if want.kind in "iu" and array.size and not np.can_cast(array.dtype, want):
        info = np.iinfo(want)
        for extreme in (array.min(), array.max()):
            if not info.min <= int(extreme) <= info.max:
                raise TypeError(f"found an array with {extreme}, which is outside the range of {want}")
    return np.require(array.astype(want, order="C", copy=False), requirements=["C", "A"])


@functools.lru_cache(maxsize=None)
def record(names: tuple[str, ...]) -> type:
    """The class of records with these fields: named tuples."""
    return namedtuple("record", [identifier(name) for name in names], rename=True)


def identifier(name: str) -> str:
    """A name of Par as one of Python."""
    plain = name.replace("'", "_")
    return plain + "_" if keyword.iskeyword(plain) else plain


def fields(value: Any) -> dict[str, Any] | None:
    """The fields of a named tuple or of an object of a data class."""
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return dict(zip(value._fields, value, strict=True))
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {f.name: getattr(value, f.name) for f in dataclasses.fields(value)}
    return None


def adapt(value: Any, strict: bool) -> Any:
    """An object as an array, a Ragged, a tuple or a dictionary of these, or a list; None if nothing is known about it.

    What is `strict` is not copied.
    """
    from . import _foreign

    return _foreign.adapt(value, strict)
