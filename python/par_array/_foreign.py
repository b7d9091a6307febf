"""Arrays of other libraries: as what Par takes, and made of what Par gives. No library is imported that the program has not imported."""

from __future__ import annotations

import array as standard
import functools
import sys
import warnings
import weakref
from collections.abc import Callable, Collection, Iterator
from typing import Any

import numpy as np

from ._ragged import Cases, Ragged


NEEDS_A_GRADIENT = "found a tensor that needs a gradient; par_array.torch.function makes functions that have one"


def adapt(value: Any, strict: bool) -> Any:
    """An object as an array, a Ragged, a tuple or a dictionary of these, or a list; None if nothing is known about it."""
    if isinstance(value, np.ndarray):
        return _array(value)
    if isinstance(value, (bytearray, memoryview, standard.array)):
        return np.asarray(value)
    for library, take in LIBRARIES.items():
        if library in sys.modules and type(value).__module__.partition(".")[0] == library:
            return take(value, strict)
    if hasattr(value, "__arrow_c_stream__") or hasattr(value, "__arrow_c_array__"):
        from ._arrow import take as take_arrow

        return take_arrow(value, strict)
    if hasattr(value, "__dlpack__"):
        return _dlpack(value)
    if hasattr(value, "__array_interface__") or hasattr(value, "__array__"):
        return _array(np.asarray(value))
    if strict:
        return None
    if isinstance(value, Cases):
        return value.tolist()
    if isinstance(value, (Iterator, Collection)) and not isinstance(value, (dict, str, bytes, set, frozenset)):
        return list(value)
    try:
        return _array(np.asarray(memoryview(value)))
    except TypeError:
        return None


def _array(value: Any) -> Any:
    """An array of NumPy without what subclasses add."""
    if isinstance(value, np.ma.MaskedArray):
        if np.ma.is_masked(value):
            raise TypeError("found a masked array with elements that are missing; fill them first")
        return np.asarray(value.data)
    if value.dtype.kind == "O":
        return value.tolist()
    if value.dtype.names:
        return {name: value[name] for name in value.dtype.names}
    return np.asarray(value)


def _dlpack(value: Any) -> Any:
    device = value.__dlpack_device__()[0] if hasattr(value, "__dlpack_device__") else 1
    if int(device) not in (1, 3):
        raise TypeError(f"found an array on device {device} of DLPack, which is not the processor's memory; copy it there first")
    return np.from_dlpack(value)


def exported(value: Any, stream: int, strict: bool) -> Any:
    """The capsule of an array on a GPU, whose elements are there for all that the stream is asked for afterwards."""
    if getattr(value, "requires_grad", False):
        raise TypeError(NEEDS_A_GRADIENT)
    if not strict and hasattr(value, "contiguous"):
        value = value.contiguous()
    return value.__dlpack__(stream=stream)


def _awkward(value: Any, strict: bool) -> Any:
    import awkward as ak

    return _layout(ak, ak.to_layout(value), strict)


def _layout(ak: Any, layout: Any, strict: bool) -> Any:
    """One part of an array of awkward."""
    contents = ak.contents
    if layout.is_numpy:
        if layout.backend.name != "cpu":
            raise TypeError(f"found an array of awkward in the memory of {layout.backend.name}; copy it to the processor's first")
        return _array(np.asarray(layout.data))
    if isinstance(layout, contents.EmptyArray):
        return np.zeros(0)
    if layout.is_option:
        if isinstance(layout, contents.UnmaskedArray):
            return _layout(ak, layout.content, strict)
        if not bool(np.all(layout.mask_as_bool(valid_when=True))):
            raise TypeError("found an array of awkward with elements that are missing; fill them first")
        _refuse_copy(strict, "an array of awkward of an optional type")
        return _layout(ak, layout.project(), strict)
    if layout.is_indexed:
        _refuse_copy(strict, "an indexed array of awkward")
        return _layout(ak, layout.project(), strict)
    if isinstance(layout, contents.ListOffsetArray):
        return Ragged(layout.offsets.data, _layout(ak, layout.content, strict))
    if isinstance(layout, contents.ListArray):
        _refuse_copy(strict, "rows of awkward that are not one after the other")
        return _layout(ak, layout.to_ListOffsetArray64(True), strict)
    if isinstance(layout, contents.RegularArray):
        values = _layout(ak, layout.content[: len(layout) * layout.size], strict)
        if isinstance(values, np.ndarray):
            return values.reshape(len(layout), layout.size, *values.shape[1:])
        if isinstance(values, Ragged):
            return Ragged(values.offsets, values.values, (len(layout), layout.size, *values.outer[1:]))
        return Ragged.from_lengths([layout.size] * len(layout), values)
    if isinstance(layout, contents.RecordArray):
        parts = [_layout(ak, content[: len(layout)], strict) for content in layout.contents]
        return tuple(parts) if layout.is_tuple else dict(zip(layout.fields, parts, strict=True))
    raise TypeError(f"found an array of awkward of type {layout.form.type}")


def _refuse_copy(strict: bool, what: str) -> None:
    if strict:
        raise TypeError(f"found {what}, which would be copied")


def _scipy(value: Any, strict: bool) -> Any:
    kind = getattr(value, "format", None)
    if kind != "csr":
        raise TypeError(f"found a sparse matrix in the form {kind}; its rows are those of .tocsr()")
    return Ragged(value.indptr, (value.indices, value.data))


def _pandas(value: Any, strict: bool) -> Any:
    import pandas as pd

    if isinstance(value, pd.DataFrame):
        return {str(name): _pandas(value[name], strict) for name in value.columns}
    if isinstance(value, pd.Index):
        value = value.to_series()
    if not isinstance(value, pd.Series):
        return None
    if isinstance(value.dtype, np.dtype):
        return _array(value.to_numpy())
    if isinstance(value.dtype, pd.ArrowDtype):
        from ._arrow import take as take_arrow

        return take_arrow(value.array.__arrow_array__(), strict)
    if bool(value.isna().any()):
        raise TypeError("found a column with elements that are missing; fill them first")
    return _array(value.to_numpy(getattr(value.dtype, "numpy_dtype", None)))


def _torch(value: Any, strict: bool) -> Any:
    import torch

    if not isinstance(value, torch.Tensor):
        return None
    if value.requires_grad:
        raise TypeError(NEEDS_A_GRADIENT)
    is_nested = getattr(value, "is_nested", False)
    is_jagged = is_nested and value.layout is getattr(torch, "jagged", None)
    # Torch declares nothing of jagged tensors.
    tensor: Any = value
    if is_jagged and value.device.type == "cuda" and tensor.lengths() is None:
        # Rows begin where the host knows; elements stay where they are.
        offsets = tensor.offsets().cpu().numpy()
        return Ragged._of(offsets, value.values(), (len(offsets) - 1,))
    if value.device.type != "cpu":
        raise TypeError(f"found a tensor on {value.device}; copy it to the processor's memory first")
    if is_nested and not is_jagged:
        return [row.numpy() for row in value.unbind()]
    if is_jagged:
        offsets, lengths = tensor.offsets().numpy(), tensor.lengths()
        if lengths is None:
            return Ragged(offsets, value.values().numpy())
        _refuse_copy(strict, "a jagged tensor with rows that are not one after the other")
        from ._arrow import listed

        return listed(offsets[:-1], lengths.numpy(), value.values().numpy())
    return value.numpy()


LIBRARIES: dict[str, Callable[[Any, bool], Any]] = {
    "awkward": _awkward,
    "scipy": _scipy,
    "pandas": _pandas,
    "torch": _torch,
}


def to_awkward(rows: Any) -> Any:
    """An array of awkward over the same memory."""
    import awkward as ak

    def layout(part: Any) -> Any:
        if isinstance(part, Ragged):
            whole = ak.contents.ListOffsetArray(ak.index.Index64(part.offsets), layout(part.values))
            for size in reversed(part.outer[1:]):
                whole = ak.contents.RegularArray(whole, size, part.outer[0])
            return whole
        if isinstance(part, tuple):
            return ak.contents.RecordArray([layout(inner) for inner in part], None)
        if isinstance(part, dict):
            return ak.contents.RecordArray([layout(inner) for inner in part.values()], list(part))
        return ak.contents.NumpyArray(part) if part.ndim == 1 else ak.to_layout(part)

    return ak.Array(layout(rows))


_tensors: dict[int, tuple[Any, Any]] = {}


def _forget(table: dict[int, Any], key: int, _: Any) -> None:
    table.pop(key, None)


def to_torch(rows: Ragged) -> Any:
    """A jagged tensor of torch over the same memory. Offsets that are one array are one tensor, as torch wants it."""
    import torch

    if not isinstance(rows.values, np.ndarray) or len(rows.outer) > 1:
        raise TypeError("a jagged tensor has one dimension with lengths of its own")
    if not hasattr(torch.nested, "nested_tensor_from_jagged"):
        raise TypeError("this version of torch has no jagged tensors")
    key = id(rows.offsets)
    known = _tensors.get(key)
    if known is None or known[0]() is not rows.offsets:
        # When Python ends, the name of the table may be gone.
        forget = weakref.ref(rows.offsets, functools.partial(_forget, _tensors, key))
        _tensors[key] = known = (forget, _tensor(torch, rows.offsets))
    return torch.nested.nested_tensor_from_jagged(_tensor(torch, rows.values), offsets=known[1])


def kept_to_torch(kept: Any) -> Any:
    """A tensor over the memory of a kept value; a jagged one for rows of any length, whose offsets go where the elements are."""
    import torch

    if not kept.is_ragged:
        return torch.from_dlpack(kept)
    if len(kept.shape) != 1 or kept.values.is_ragged:
        raise TypeError("a jagged tensor has one dimension with lengths of its own")
    if not hasattr(torch.nested, "nested_tensor_from_jagged"):
        raise TypeError("this version of torch has no jagged tensors")
    values = torch.from_dlpack(kept.values)
    return torch.nested.nested_tensor_from_jagged(values, offsets=_tensor(torch, kept.offsets).to(values.device))


def _tensor(torch: Any, array: Any) -> Any:
    with warnings.catch_warnings():
        # That it must not be written to: nobody does.
        warnings.simplefilter("ignore", UserWarning)
        return torch.from_numpy(array)
