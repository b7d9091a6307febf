"""Entry points as operators of torch, which `torch.compile` takes into its graphs as they are.

An operator takes and gives lists of tensors. `torch.compile` wants their shapes before it runs anything: sizes that the entry point's type names are those of
the arguments, and others are unknown to it until the graph runs.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import torch

from . import _tree
from ._foreign import _tensor
from ._native import Kept

if TYPE_CHECKING:
    from ._native import Entry

    Tensors = list[torch.Tensor]

_NUMBERS = itertools.count()
_NAMES = {"F": "float", "I": "int", "U": "uint", "B": "bool"}


def is_regular(kind: Any) -> bool:
    """True for a scalar, and for an array whose rows are of one length."""
    (name, inside), *_ = kind.items()
    return name == "Prim" or (name == "Array" and not inside["ragged"] and is_regular(inside["elem"]))


def results(kind: Any) -> list[Any]:
    """The types of the results: of a tuple its components."""
    (name, inside), *_ = kind.items()
    return list(inside) if name == "Tuple" else [kind]


def available(parameters: list[Any], result: Any) -> bool:
    """True if an entry point with these types can be an operator."""
    return hasattr(torch.library, "custom_op") and all(is_regular(kind) for kind in (*parameters, *results(result)))


def is_there(entry: Entry, tensors: list[torch.Tensor]) -> bool:
    """True if all tensors are on the GPU that the entry point runs on."""
    gpu = entry._gpu() if tensors and all(t.device.type == "cuda" for t in tensors) else None
    return gpu is not None and all((t.device.index or 0) == gpu for t in tensors)


def dtype(kind: Any) -> torch.dtype:
    """The type of a tensor's elements."""
    name = str(_tree.prim(kind))
    return torch.bool if name == "Bool" else getattr(torch, _NAMES[name[0]] + name[1:])


def sizes(kind: Any) -> list[str]:
    """The sizes of a regular array as they are written; "" where none is."""
    (name, inside), *_ = kind.items()
    return [] if name == "Prim" else [inside["size"] or "", *sizes(inside["elem"])]


def operator(entry: Entry, parameters: list[Any], result: Any, backward: Callable[[], tuple[Entry, list[int]]]) -> Callable[..., Any]:
    """The entry point as a function of tensors and numbers that a graph may hold."""
    kinds = results(result)
    number = next(_NUMBERS)
    chosen = [i for i, kind in enumerate(parameters) if _tree.has_floats(kind)]
    forward = _registered(f"call_{number}", lambda: entry, kinds, lambda given: _shaped(parameters, kinds, given))
    derived = _registered(
        f"backward_{number}", lambda: backward()[0], [parameters[i] for i in chosen], lambda given: [torch.empty_like(given[i]) for i in chosen]
    )

    def remember(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.save_for_backward(*inputs[0])
        ctx.shapes = [(made.shape, made.dtype, made.device) for made in output]

    def derive(ctx: Any, by_results: Any) -> Any:
        given = [torch.zeros(s, dtype=t, device=d) if by is None else by for by, (s, t, d) in zip(by_results, ctx.shapes, strict=True)]
        found = iter(derived([*ctx.saved_tensors, *given]))
        return [next(found) if _tree.has_floats(kind) else None for kind in parameters]

    if any(map(_tree.has_floats, parameters)) and _tree.has_floats(result):
        forward.register_autograd(derive, setup_context=remember)
    types = [dtype(kind) for kind in parameters]

    def call(*arguments: Any) -> Any:
        tensors = [a if isinstance(a, torch.Tensor) else torch.tensor(a, dtype=t) for a, t in zip(arguments, types, strict=True)]
        made = forward(tensors)
        return made[0] if len(made) == 1 else tuple(made)

    return call


def _registered(name: str, entry: Callable[[], Entry], kinds: list[Any], shapes: Callable[[Tensors], Tensors]) -> Any:
    """An operator of torch's that calls an entry point with results of these types. The entry point is asked for at the first call."""

    def run(tensors: list[torch.Tensor]) -> list[torch.Tensor]:
        called = entry()
        there = is_there(called, tensors)
        arrays = ((t.detach() if there else t.detach().cpu().numpy()) if t.dim() else t.item() for t in tensors)
        found = called.options(keep=there)(*arrays)
        device = next((t.device for t in tensors), torch.device("cpu"))
        # Operators must not give back their arguments.
        parts = zip(found if len(kinds) > 1 else (found,), kinds, strict=True)
        return [_made(part, kind).clone().to(device) for part, kind in parts]

    # Where torch looks, types are no texts.
    run.__annotations__ = {"tensors": list[torch.Tensor], "return": list[torch.Tensor]}
    made = torch.library.custom_op(f"par_array::{name}", run, mutates_args=())
    made.register_fake(shapes)
    return made


def _made(part: Any, kind: Any) -> torch.Tensor:
    if not sizes(kind):
        return torch.tensor(part, dtype=dtype(kind))
    made: torch.Tensor = torch.from_dlpack(part) if isinstance(part, Kept) else _tensor(torch, part)
    return made


def _shaped(parameters: list[Any], kinds: list[Any], given: Tensors) -> Tensors:
    """Tensors of the results' shapes."""
    known: dict[str, Any] = {}
    for kind, tensor in zip(parameters, given, strict=True):
        for name, found in zip(sizes(kind), tensor.shape, strict=False):
            known.setdefault(name, found)
    device = given[0].device if given else torch.device("cpu")

    def size(name: str) -> Any:
        if name.isdigit():
            return int(name)
        return known[name] if name and name in known else torch.library.get_ctx().new_dynamic_size()

    return [torch.empty([size(name) for name in sizes(kind)], dtype=dtype(kind), device=device) for kind in kinds]
