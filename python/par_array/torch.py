"""Entry points as differentiable functions of torch.

```python
import par_array as par, par_array.torch
f = par_array.torch.function(par.compile("flood.par").flood)
```
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import torch

from . import _torch_op, _tree
from ._foreign import _tensor
from ._native import Kept
from ._ragged import Ragged

if TYPE_CHECKING:
    from ._native import Entry

__all__ = ["Jagged", "function"]


class Jagged(NamedTuple):
    """An array with rows of any length whose values are a tensor, for versions of torch without jagged tensors."""

    offsets: Any
    """Where rows begin, an array or a tensor of whole numbers."""
    values: torch.Tensor
    """The elements of all rows."""


HAS_JAGGED = hasattr(torch.nested, "nested_tensor_from_jagged") if hasattr(torch, "nested") else False


def function(entry: Entry) -> Callable[..., Any]:
    """An entry point as a function of tensors, which has a derivative.

    Arguments are tensors, jagged tensors (or `Jagged`) for rows of any length, tuples and dictionaries of these for tuples and records, and whatever else the
    entry point takes; by what is no tensor nothing is derived. Results are tensors in the same forms. The derivative backward is `vjp` of the entry point,
    which is compiled when it is first needed; it has a derivative again.

    Tensors on the GPU that the entry point runs on stay there, and so do results that are arrays of numbers, also with rows of any length. All others are copied
    to the processor's memory, and results back.

    `torch.compile` takes a call into its graph if arguments and results are numbers and arrays whose rows are of one length; then there is a derivative, but no
    derivative of it. Around other calls it makes two graphs.

    Parameters
    ----------
    entry : Entry
        An entry point of a program.

    Returns
    -------
    callable

    Raises
    ------
    TypeError
        From a call, if an argument does not fit; from the derivative, if neither parameters nor the result have floats.
    """

    parameters, result = _tree.types(entry)
    operator = None
    if _torch_op.available(parameters, result):
        operator = _torch_op.operator(entry, parameters, result, lambda: _vjp(entry))

    def outside(*arguments: Any) -> Any:
        if len(arguments) != len(parameters):
            entry(*arguments)
        return _Call(entry, arguments, parameters, result).run()

    # What `torch.compiler.disable` sets, without its large imports.
    outside._torchdynamo_disable = True  # type: ignore[attr-defined]

    @functools.wraps(entry, assigned=("__name__", "__qualname__", "__doc__"), updated=())
    def call(*arguments: Any) -> Any:
        if _is_compiling() and operator is not None and len(arguments) == len(parameters):
            return operator(*arguments)
        return outside(*arguments)

    return call


_is_compiling = getattr(getattr(torch, "compiler", None), "is_compiling", lambda: False)


class _Call:
    """A call: the arguments without their tensors, in which the leaves are those of the types."""

    def __init__(self, entry: Entry, arguments: Any, parameters: Any, result: Any) -> None:
        self.entry, self.arguments, self.parameters, self.result = entry, arguments, parameters, result
        self.given: Any = None
        self.there = False
        self.descriptors: list[tuple[Any, torch.Tensor]] = []

    def slots(self) -> list[Any]:
        """The leaves of all arguments."""
        pairs = zip(self.arguments, self.parameters, strict=True)
        return [leaf for value, kind in pairs for leaf, _ in _tree.leaves(value, kind)]

    def run(self, jagged: bool = HAS_JAGGED) -> Any:
        """The results; rows of any length as torch's jagged tensors, or as `Jagged`."""
        tensors = [tensor for slot in self.slots() if (tensor := _tensor_of(slot)) is not None]
        device = next((t.device for t in tensors), torch.device("cpu"))
        self.there = _torch_op.is_there(self.entry, tensors)
        flat = _Function.apply(self, *(t if self.there else t.cpu() for t in tensors))
        rows = _tree.leaves(self.given, self.result)
        made = (self.wrapped(leaf, tensor.to(device), jagged) for (leaf, _), tensor in zip(rows, flat, strict=True))
        return _tree.like(self.given, self.result, made)

    def called(self, tensors: Any) -> Any:
        """The result; what is on a GPU as tensors."""
        if not self.there:
            return self.entry(*self.native([t.detach().numpy() for t in tensors]))
        return _taken(self.entry.options(keep=True)(*self.native([t.detach() for t in tensors])))

    def wrapped(self, leaf: Any, tensor: torch.Tensor, jagged: bool) -> Any:
        """A tensor in the form of a result."""
        if not isinstance(leaf, (Ragged, Jagged)):
            return tensor
        one_level = not isinstance(leaf.values, (Ragged, Jagged)) and (isinstance(leaf, Jagged) or len(leaf.outer) == 1)
        if jagged and one_level:
            offsets = Ragged.to_torch(leaf).offsets() if isinstance(leaf, Ragged) else self.descriptor(leaf.offsets, tensor.device)
            return torch.nested.nested_tensor_from_jagged(tensor, offsets=offsets)
        return Jagged(leaf.offsets, self.wrapped(leaf.values, tensor, jagged))

    def descriptor(self, offsets: Any, device: Any) -> torch.Tensor:
        """Offsets as a tensor. Equal ones are one, as torch wants it."""
        for known, tensor in self.descriptors:
            if np.array_equal(known, offsets):
                return tensor
        made: torch.Tensor = _tensor(torch, offsets).to(device)
        self.descriptors.append((offsets, made))
        return made

    def native(self, tensors: Any) -> list[Any]:
        """The arguments for Par."""
        arrays = iter(tensors)
        made = []
        for value, kind in zip(self.arguments, self.parameters, strict=True):
            slots = [leaf for leaf, _ in _tree.leaves(value, kind)]
            leaves = (slot if _tensor_of(slot) is None else _plain(slot, next(arrays)) for slot in slots)
            made.append(_tree.rebuilt(value, kind, leaves))
        return made


class _Function(torch.autograd.Function):
    """A call as a step of torch's computation: tensors in, the innermost tensors of the results out."""

    @staticmethod
    def forward(ctx: Any, call: _Call, *tensors: torch.Tensor) -> Any:
        call.given = call.called(tensors)
        ctx.call = call
        ctx.save_for_backward(*tensors)
        made = [_result(leaf, kind) for leaf, kind in _tree.leaves(call.given, call.result)]
        ctx.mark_non_differentiable(*(t for t in made if not t.is_floating_point()))
        return tuple(made)

    @staticmethod
    def backward(ctx: Any, *by_results: Any) -> Any:
        call, tensors = ctx.call, ctx.saved_tensors
        backward, chosen = _vjp(call.entry)
        leaves = list(_tree.leaves(call.given, call.result))
        by_leaves = (call.wrapped(leaf, _derivative(leaf, kind, by), False) for (leaf, kind), by in zip(leaves, by_results, strict=True))
        by_result = _tree.rebuilt(call.given, call.result, by_leaves)
        given = iter(tensors)
        arguments = []
        for value, kind in zip(call.arguments, call.parameters, strict=True):
            slots = (_with_tensor(leaf, given) for leaf, _ in _tree.leaves(value, kind))
            arguments.append(_tree.rebuilt(value, kind, slots))
        parameters, result = _tree.types(backward)
        # Derivatives of jagged tensors have no derivatives in torch.
        derived = _Call(backward, (*arguments, by_result), parameters, result).run(jagged=False)
        by_parameter = dict(zip(chosen, derived if len(chosen) > 1 else (derived,), strict=True))
        return (None, *_by_tensors(call, by_parameter))


def _by_tensors(call: _Call, by_parameter: dict[int, Any]) -> list[Any]:
    """The derivatives by the tensors among the arguments' leaves."""
    found = []
    for i, (value, kind) in enumerate(zip(call.arguments, call.parameters, strict=True)):
        slots = list(_tree.leaves(value, kind))
        derived = [leaf for leaf, _ in _tree.leaves(by_parameter[i], kind)] if i in by_parameter else [None] * len(slots)
        for (slot, leaf_kind), by in zip(slots, derived, strict=True):
            tensor = _tensor_of(slot)
            if tensor is not None:
                is_float = by is not None and _tree.prim(leaf_kind) in _tree.DTYPES and tensor.is_floating_point()
                derivative = _tensor_of(by) if is_float else None
                found.append(None if derivative is None else derivative.reshape(tensor.shape).to(tensor.dtype))
    return found


@functools.lru_cache(maxsize=256)
def _vjp_of(made_from: Any, name: str) -> tuple[Entry, list[int]]:
    from ._program import made_of

    text, file, options = made_from
    return _tree.vjp(made_of(text, file, dict(options))[name])


def _vjp(entry: Entry) -> tuple[Entry, list[int]]:
    text, file, options = entry._made_from()
    return _vjp_of((text, file, tuple(options.items())), entry.__name__)


def _tensor_of(slot: Any) -> torch.Tensor | None:
    """The innermost tensor of a leaf; None if it has none."""
    if isinstance(slot, Jagged):
        return _tensor_of(slot.values)
    if not isinstance(slot, torch.Tensor):
        return None
    return slot.values() if getattr(slot, "is_nested", False) else slot


def _with_tensor(slot: Any, tensors: Any) -> Any:
    """The leaf with the next tensor, if it has one."""
    if _tensor_of(slot) is None:
        return slot
    tensor = next(tensors)
    if not _is_jagged(slot):
        return tensor
    # Of a jagged tensor `values` is a method.
    return Jagged(_offsets(slot), _with_tensor(slot.values, iter([tensor])) if isinstance(slot, Jagged) else tensor)


def _is_jagged(slot: Any) -> bool:
    return isinstance(slot, Jagged) or bool(getattr(slot, "is_nested", False))


def _offsets(slot: Any) -> Any:
    offsets = slot.offsets if isinstance(slot, Jagged) else slot.offsets()
    return offsets.cpu().numpy() if isinstance(offsets, torch.Tensor) else offsets


def _plain(slot: Any, array: Any) -> Any:
    """The leaf for Par."""
    if isinstance(slot, Jagged):
        return _rows(_offsets(slot), _plain(slot.values, array))
    return _rows(_offsets(slot), array) if _is_jagged(slot) else array


def _rows(offsets: Any, values: Any) -> Ragged:
    """Rows of an array, or of a tensor that stays where it is."""
    if isinstance(values, np.ndarray) or (isinstance(values, Ragged) and isinstance(values.flat, np.ndarray)):
        return Ragged(offsets, values)
    offsets = np.ascontiguousarray(offsets, np.int64)
    first, last = int(offsets[0]), int(offsets[-1])
    return Ragged._of(offsets - first, values if (first, last) == (0, len(values)) else values[first:last], (len(offsets) - 1,))


def _taken(value: Any) -> Any:
    """A kept result, with tensors for the arrays of numbers on the GPU."""
    if isinstance(value, tuple):
        return tuple(map(_taken, value))
    try:
        return _on_gpu(value) if isinstance(value, Kept) else value
    except BufferError:
        return value.get()


def _on_gpu(kept: Kept) -> Any:
    return Jagged(kept.offsets, _on_gpu(kept.values)) if kept.is_ragged else torch.from_dlpack(kept)


def _result(leaf: Any, kind: Any) -> torch.Tensor:
    """The innermost values of a result."""
    if isinstance(leaf, torch.Tensor):
        return leaf
    if isinstance(leaf, Jagged):
        return _result(leaf.values, kind)
    if isinstance(leaf, Ragged):
        leaf = leaf.flat
    if isinstance(leaf, np.ndarray):
        made: torch.Tensor = _tensor(torch, leaf)
        return made
    name = _tree.prim(kind)
    if name is None:
        raise TypeError("a result of a sum type or a hidden type has no derivative")
    return torch.tensor(leaf, dtype=getattr(torch, {"F": "float", "I": "int", "U": "uint", "B": "bool"}[name[0]] + name[1:].replace("ool", "")))


def _derivative(leaf: Any, kind: Any, by: torch.Tensor | None) -> Any:
    """The derivative by a leaf of the result; what nothing depends on is zero."""
    return torch.zeros_like(_result(leaf, kind)) if by is None else by
