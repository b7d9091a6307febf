"""Arrays whose rows have lengths of their own."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, cast

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[Any]


SHOWN = 6
"""How many rows and elements are printed."""


class Ragged:
    """An array whose rows have lengths of their own, as offsets and values.

    Row `i` is `values[offsets[i]:offsets[i + 1]]`.

    Parameters
    ----------
    offsets : array of int64, of shape (rows + 1,)
        Where the rows begin, and where the last one ends. They never decrease. They must not be changed afterwards.
    values : array of any shape (elements, ...), or Ragged
        The elements of all rows. `Ragged` inside `Ragged` has more than one dimension with lengths of its own. A tuple or a dictionary of such arrays is
        an array of tuples or records.
    outer : tuple of int, optional
        Sizes of the dimensions around the rows, if there is more than one: their product is the number of rows.

    Raises
    ------
    ValueError
        If the offsets decrease or are outside of the values.
    """

    __slots__ = ("__weakref__", "offsets", "outer", "values")

    offsets: Array
    values: Any
    outer: tuple[int, ...]

    def __init__(self, offsets: Any, values: Any, outer: tuple[int, ...] | None = None) -> None:
        offsets = _offsets(offsets)
        values = _values(values)
        first, last = int(offsets[0]), int(offsets[-1])
        if first < 0 or bool(np.any(offsets[1:] < offsets[:-1])):
            raise ValueError("offsets begin with 0 or more and never decrease")
        for part in _parts(values):
            if last > len(part):
                raise ValueError(f"the last offset is {last}, but there are only {len(part)} values")
        if first != 0:
            offsets = offsets - first
        values = _sliced(values, first, last)
        rows = len(offsets) - 1
        if outer is None:
            outer = (rows,)
        elif _product(outer) != rows:
            raise ValueError(f"{rows} rows are not an array of shape {outer}")
        self._set(_read_only(offsets), values, tuple(outer))

    def _set(self, offsets: Array, values: Any, outer: tuple[int, ...]) -> None:
        self.offsets, self.values, self.outer = offsets, values, outer

    @classmethod
    def _of(cls, offsets: Array, values: Any, outer: tuple[int, ...]) -> Ragged:
        """From parts that are right."""
        made = cls.__new__(cls)
        made.offsets, made.values, made.outer = offsets, values, outer
        return made

    @classmethod
    def from_lengths(cls, lengths: Any, values: Any) -> Ragged:
        """From the lengths of the rows, whose sum is the number of values."""
        lengths = np.asarray(lengths)
        if lengths.ndim != 1 or (lengths.dtype.kind not in "iu" and lengths.size):
            raise TypeError(f"lengths are whole numbers, not {lengths.dtype} of shape {lengths.shape}")
        if lengths.size and int(lengths.min()) < 0:
            raise ValueError("a length is negative")
        offsets = np.zeros(lengths.size + 1, np.int64)
        np.cumsum(lengths, out=offsets[1:])
        values = _values(values)
        for part in _parts(values):
            if int(offsets[-1]) != len(part):
                raise ValueError(f"the lengths add up to {int(offsets[-1])}, but there are {len(part)} values")
        return cls(offsets, values)

    @classmethod
    def from_rows(cls, rows: Sequence[Any], dtype: npt.DTypeLike | None = None) -> Ragged:
        """From a list of rows: lists of numbers, arrays, or lists of rows themselves."""
        lengths = [len(row) for row in rows]
        nested = any(not np.isscalar(item) and np.ndim(item) > 0 for row in rows for item in list(row)[:1])
        if nested and not all(isinstance(row, np.ndarray) for row in rows):
            return cls.from_lengths(lengths, cls.from_rows([item for row in rows for item in row], dtype))
        parts = [np.asarray(row, dtype) for row in rows if len(row)]
        return cls.from_lengths(lengths, np.concatenate(parts) if parts else np.zeros(0, dtype or np.float64))

    @property
    def lengths(self) -> Array:
        """Lengths of the rows, in the shape of the dimensions around them."""
        return np.diff(self.offsets).reshape(self.outer)

    @property
    def levels(self) -> tuple[Array, ...]:
        """Offsets of every level, the outermost first."""
        inner = self.values.levels if isinstance(self.values, Ragged) else ()
        return (self.offsets, *inner)

    @property
    def flat(self) -> Any:
        """The values of the innermost level."""
        return self.values.flat if isinstance(self.values, Ragged) else self.values

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of the elements."""
        return cast("np.dtype[Any]", self.values.dtype)

    @property
    def ndim(self) -> int:
        """Number of dimensions."""
        return len(self.outer) + int(self.values.ndim)

    @property
    def nbytes(self) -> int:
        """Bytes of values and offsets."""
        return int(self.offsets.nbytes) + int(self.values.nbytes)

    def __len__(self) -> int:
        return self.outer[0]

    def __iter__(self) -> Iterator[Any]:
        return (self[i] for i in range(len(self)))

    def __getitem__(self, key: Any) -> Any:
        """A row, or a part of the rows. Rows, and rows that follow one another, are views."""
        if isinstance(key, tuple):
            first, *rest = key
            part = self[first]
            return part[tuple(rest)] if rest else part
        stride = _product(self.outer[1:])
        if isinstance(key, slice):
            start, stop, step = key.indices(len(self))
            if step != 1:
                return self._taken(np.arange(start, stop, step))
            stop = max(start, stop)
            return self._rows(start * stride, stop * stride, (stop - start, *self.outer[1:]))
        if isinstance(key, (int, np.integer)):
            i = int(key) + len(self) if key < 0 else int(key)
            if not 0 <= i < len(self):
                raise IndexError(f"row {int(key)} is outside of {len(self)} rows")
            if len(self.outer) > 1:
                return self._rows(i * stride, (i + 1) * stride, self.outer[1:])
            return _sliced(self.values, int(self.offsets[i]), int(self.offsets[i + 1]))
        index = np.asarray(key)
        if index.dtype == bool:
            if index.shape != (len(self),):
                raise IndexError(f"a mask of shape {index.shape} is not one of {len(self)} rows")
            index = np.flatnonzero(index)
        if index.ndim != 1 or (index.dtype.kind not in "iu" and index.size):
            raise IndexError("rows are chosen by a number, a slice, a mask or numbers")
        return self._taken(index.astype(np.int64))

    def _rows(self, start: int, stop: int, outer: tuple[int, ...]) -> Ragged:
        offsets = self.offsets[start : stop + 1]
        first, last = int(offsets[0]), int(offsets[-1])
        offsets = _read_only(offsets - first) if first else offsets
        return Ragged._of(offsets, _sliced(self.values, first, last), outer)

    def _taken(self, rows: Array) -> Ragged:
        """The rows of these numbers, copied."""
        if len(self.outer) > 1:
            raise IndexError("with dimensions around the rows, only a number or a slice without a step chooses some")
        if rows.size and (int(rows.min()) < -len(self) or int(rows.max()) >= len(self)):
            raise IndexError(f"a row is outside of {len(self)} rows")
        rows = np.where(rows < 0, rows + len(self), rows)
        starts, lengths = self.offsets[rows], np.diff(self.offsets)[rows]
        offsets = np.zeros(rows.size + 1, np.int64)
        np.cumsum(lengths, out=offsets[1:])
        index = np.arange(int(offsets[-1])) + np.repeat(starts - offsets[:-1], lengths)
        return Ragged._of(_read_only(offsets), _chosen(self.values, index), (int(rows.size),))

    def _distributed(self) -> Any:
        """An array of tuples or records as a tuple or dictionary of arrays."""
        if isinstance(self.values, tuple):
            return tuple(Ragged._of(self.offsets, part, self.outer) for part in self.values)
        if isinstance(self.values, dict):
            return {name: Ragged._of(self.offsets, part, self.outer) for name, part in self.values.items()}
        if isinstance(self.values, Ragged):
            inner = self.values._distributed()
            if isinstance(inner, tuple):
                return tuple(Ragged._of(self.offsets, part, self.outer) for part in inner)
            if isinstance(inner, dict):
                return {name: Ragged._of(self.offsets, part, self.outer) for name, part in inner.items()}
        if isinstance(self.values, np.ndarray) and self.values.dtype.names:
            return {name: Ragged._of(self.offsets, self.values[name], self.outer) for name in self.values.dtype.names}
        return self.tolist()

    def tolist(self) -> list[Any]:
        """Lists of lists of numbers."""
        distributed = self._distributed() if not isinstance(self.flat, np.ndarray) else None
        if isinstance(distributed, tuple):
            return _zipped([part.tolist() for part in distributed], lambda items: tuple(items))
        if isinstance(distributed, dict):
            names = list(distributed)
            parts = [part.tolist() for part in distributed.values()]
            return _zipped(parts, lambda items: dict(zip(names, items, strict=True)))
        return [row.tolist() for row in self]

    to_list = tolist

    def to_awkward(self) -> Any:
        """An array of awkward over the same memory."""
        from ._foreign import to_awkward

        return to_awkward(self)

    def to_arrow(self) -> Any:
        """An array of pyarrow over the same memory: large lists."""
        import pyarrow

        return pyarrow.array(self)

    def to_torch(self) -> Any:
        """A jagged tensor of torch over the same memory."""
        from ._foreign import to_torch

        return to_torch(self)

    def __arrow_c_array__(self, requested_schema: Any = None) -> tuple[Any, Any]:
        """Arrow's PyCapsule protocol."""
        from ._arrow import export

        return export(self)

    def __eq__(self, other: object) -> Any:
        """Compares all: true if lengths and elements are equal."""
        if not isinstance(other, Ragged):
            return NotImplemented
        return (
            self.outer == other.outer
            and np.array_equal(self.offsets, other.offsets)
            and type(self.values) is type(other.values)
            and (self.values == other.values if isinstance(self.values, Ragged) else _same(self.values, other.values))
        )

    __hash__ = None  # type: ignore[assignment]

    def __reduce__(self) -> tuple[Any, ...]:
        return (Ragged, (self.offsets, self.values, self.outer))

    def __repr__(self) -> str:
        kind = f", dtype={self.dtype}" if hasattr(self.flat, "dtype") else ""
        return f"Ragged({_shown(self)}{kind})"

    def _repr_html_(self) -> str:
        """A table of the first rows."""
        from ._html import ragged

        return ragged(self)


class Cases(Sequence[Any]):
    """An array of values of a sum type: for each the number of its constructor, and for each constructor the columns of its payload.

    An element is a tuple of the constructor's name and its payload.

    Attributes
    ----------
    names : tuple of str
        The constructors, in the order of their numbers.
    tags : array or Ragged of unsigned integers
        Number of each element's constructor.
    payloads : tuple of tuples of arrays
        For each constructor its payload, an element for each value; where the value has another constructor it is zero or empty.
    """

    __slots__ = ("names", "payloads", "tags")

    def __init__(self, names: Sequence[str], tags: Any, payloads: Sequence[Sequence[Any]]) -> None:
        self.names = tuple(names)
        self.tags = tags
        self.payloads = tuple(tuple(payload) for payload in payloads)

    def __len__(self) -> int:
        return len(self.tags)

    def __getitem__(self, key: Any) -> Any:
        tags = self.tags[key]
        payloads = tuple(tuple(part[key] for part in payload) for payload in self.payloads)
        if np.ndim(tags) > 0:
            return Cases(self.names, tags, payloads)
        return (self.names[int(tags)], *payloads[int(tags)])

    def tolist(self) -> list[Any]:
        """Lists of tuples."""
        return [item.tolist() if isinstance(item, Cases) else tuple(_plain(part) for part in item) for item in self]

    def __repr__(self) -> str:
        shown = ", ".join(repr(item) for item in self[:6].tolist())
        return f"Cases([{shown}{', ...' if len(self) > 6 else ''}])"

    def _repr_html_(self) -> str:
        import html

        return f"<pre>{html.escape(repr(self))}</pre>"


def _zipped(rows: list[list[Any]], make: Any) -> list[Any]:
    """Lists of rows of parts as one list of rows of whole elements."""
    return [[make(items) for items in zip(*parts, strict=True)] for parts in zip(*rows, strict=True)]


def _shown(value: Any) -> str:
    """The first elements of the first rows."""
    if not isinstance(value, (Ragged, np.ndarray)):
        return repr(value)
    shown = [_shown(item) if np.ndim(item) or isinstance(item, Ragged) else repr(item.item()) for item in value[:SHOWN]]
    return "[" + ", ".join(shown + ["..."] * (len(value) > SHOWN)) + "]"


def _plain(value: Any) -> Any:
    return value.tolist() if hasattr(value, "tolist") else value


def _offsets(offsets: Any) -> Array:
    array = np.asarray(offsets)
    if array.ndim != 1 or array.size == 0:
        raise ValueError(f"offsets are one more than there are rows, in one dimension; found shape {array.shape}")
    if array.dtype.kind not in "iu":
        raise TypeError(f"offsets are whole numbers, not {array.dtype}")
    if isinstance(array, np.ma.MaskedArray) and np.ma.is_masked(array):
        raise TypeError("an offset is masked")
    return np.ascontiguousarray(np.asarray(array), np.int64)


def _values(values: Any) -> Any:
    """Values in one of the forms that they may have."""
    if isinstance(values, Ragged) or type(values) is np.ndarray:
        if values.ndim == 0:
            raise ValueError("the values are an array")
        return values
    if isinstance(values, tuple):
        return tuple(_values(part) for part in values)
    if isinstance(values, dict):
        return {name: _values(part) for name, part in values.items()}
    if isinstance(values, list):
        return np.asarray(values)
    from ._convert import adapt

    adapted = adapt(values, False)
    if adapted is None:
        raise TypeError(f"a value of type {type(values).__qualname__} cannot be the values of rows")
    return _values(adapted)


def _parts(values: Any) -> list[Any]:
    if isinstance(values, tuple):
        return [part for inner in values for part in _parts(inner)]
    if isinstance(values, dict):
        return [part for inner in values.values() for part in _parts(inner)]
    return [values]


def _sliced(values: Any, start: int, stop: int) -> Any:
    if isinstance(values, tuple):
        return tuple(_sliced(part, start, stop) for part in values)
    if isinstance(values, dict):
        return {name: _sliced(part, start, stop) for name, part in values.items()}
    return values if start == 0 and stop == len(values) else values[start:stop]


def _chosen(values: Any, index: Array) -> Any:
    if isinstance(values, tuple):
        return tuple(_chosen(part, index) for part in values)
    if isinstance(values, dict):
        return {name: _chosen(part, index) for name, part in values.items()}
    return values[index]


def _same(a: Any, b: Any) -> bool:
    if isinstance(a, tuple):
        return len(a) == len(b) and all(_same(x, y) for x, y in zip(a, b, strict=True))
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(_same(a[name], b[name]) for name in a)
    return bool(a == b) if isinstance(a, Ragged) else bool(np.array_equal(a, b))


def _read_only(array: Array) -> Array:
    if array.flags.writeable:
        array = array.view()
        array.flags.writeable = False
    return array


def _product(sizes: Sequence[int]) -> int:
    result = 1
    for size in sizes:
        result *= size
    return result
