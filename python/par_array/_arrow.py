"""Arrow: arrays of pyarrow, polars, DuckDB and others, by its PyCapsule protocol."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from . import _native
from ._ragged import Ragged


def take(value: Any, strict: bool) -> Any:
    """An array, a Ragged or a dictionary of these over the same memory."""
    return _native.arrow_import(value, strict)


def export(value: Any) -> tuple[Any, Any]:
    """The capsules of an array or a Ragged."""
    return _native.arrow_export(value)


def bits(packed: npt.NDArray[np.uint8], start: int, length: int) -> npt.NDArray[np.bool_]:
    """Booleans that are bits."""
    return np.unpackbits(packed, count=start + length, bitorder="little")[start:].view(np.bool_)


def listed(starts: Any, lengths: Any, values: Any) -> Ragged:
    """Rows that stand anywhere, one after the other."""
    starts, lengths = np.asarray(starts, np.int64), np.asarray(lengths, np.int64)
    offsets = np.zeros(len(lengths) + 1, np.int64)
    np.cumsum(lengths, out=offsets[1:])
    index = np.arange(int(offsets[-1])) + np.repeat(starts - offsets[:-1], lengths)
    if isinstance(values, dict):
        return Ragged(offsets, {name: part[index] for name, part in values.items()})
    return Ragged(offsets, values[index])


def joined(parts: list[Any]) -> Any:
    """Arrays of one type as one."""
    if isinstance(parts[0], dict):
        return {name: joined([part[name] for part in parts]) for name in parts[0]}
    if isinstance(parts[0], Ragged):
        ends = np.cumsum([0] + [int(part.offsets[-1]) for part in parts])
        offsets = np.concatenate([np.zeros(1, np.int64)] + [part.offsets[1:] + end for part, end in zip(parts, ends, strict=False)])
        return Ragged(offsets, joined([part.values for part in parts]))
    return np.concatenate(parts)
