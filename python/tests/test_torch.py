"""Entry points as differentiable functions of torch."""

import numpy as np
import pytest

import par_array as par

torch = pytest.importorskip("torch")
from par_array import torch as par_torch  # noqa: E402

TEXT = """
entry squares (xs: []f64): f64 = f64.sum (map (** 2) xs)
entry scaled [n] (a: f64) (xs: [n]f64): [n]f64 = map (\\x -> f64.sin (a * x)) xs
entry rows (xss: [][]f64): []f64 = map (\\xs -> f64.sqrt (1 + f64.sum (map (** 2) xs))) xss
entry spread (xss: [][]f64): [][]f64 = map (\\xs -> map (\\x -> x * f64.sum xs) xs) xss
entry chosen (xs: []f64) (is: []i64): []f64 = map (\\i -> xs[i] ** 2) is
entry both (p: {x: []f64, y: f64}): (f64, {sum: f64, count: i64}) =
  (p.y * f64.sum p.x, {sum = f64.sum (map (** 3) p.x), count = length p.x})
entry counts (xs: []i64): i64 = i64.sum xs
entry whole (xs: []f64): i64 = length xs
entry single (xs: []f32): []f32 = map (* 2) xs
entry matrix [n][m] (a: [n][m]f64) (x: [m]f64): [n]f64 = map (\\r -> f64.sum (map2 (*) r x)) a
"""
F64 = {"dtype": torch.float64, "requires_grad": True}


@pytest.fixture(scope="module")
def functions():
    program = par.compile(TEXT)
    return {name: par_torch.function(entry) for name, entry in program.entries.items()}


def test_values_and_gradients(functions):
    x = torch.tensor([1.0, 2.0, 3.0], **F64)
    y = functions["squares"](x)
    assert (y.item(), y.dtype, y.dim()) == (14, torch.float64, 0)
    y.backward()
    assert x.grad.tolist() == [2, 4, 6]
    assert functions["squares"].__name__ == "squares"


@pytest.mark.parametrize("size", [0, 1, 4])
def test_gradcheck_of_dense_arguments(functions, size):
    x = torch.linspace(0.1, 1.0, size, dtype=torch.float64).requires_grad_()
    a = torch.tensor(0.7, **F64)
    for check in (torch.autograd.gradcheck, torch.autograd.gradgradcheck):
        assert check(functions["scaled"], (a, x))
        assert check(functions["squares"], (x,))
    m = torch.arange(2.0 * size, dtype=torch.float64).reshape(2, size).requires_grad_()
    assert torch.autograd.gradcheck(functions["matrix"], (m, x))


def test_gradcheck_of_ragged_arguments(functions):
    values = torch.tensor([0.3, -1.0, 2.0, 0.5], **F64)
    offsets = np.array([0, 2, 2, 3, 4])

    def rows(v):
        return functions["rows"](par_torch.Jagged(offsets, v))

    def spread(v):
        result = functions["spread"](par_torch.Jagged(offsets, v))
        return result.values if isinstance(result, par_torch.Jagged) else result.values()

    for f in (rows, spread):
        assert torch.autograd.gradcheck(f, (values,))
        # What torch does with jagged tensors has no second derivative.
        if f is rows or not par_torch.HAS_JAGGED:
            assert torch.autograd.gradgradcheck(f, (values,))


def test_indices_have_no_gradient(functions):
    x = torch.tensor([1.0, 2.0, 3.0], **F64)
    y = functions["chosen"](x, torch.tensor([0, 0, 2]))
    y.sum().backward()
    assert x.grad.tolist() == [4, 0, 6]
    assert functions["chosen"](x, [2]).tolist() == [9]


def test_records_and_several_results(functions):
    x, y = torch.tensor([1.0, 2.0], **F64), torch.tensor(3.0, **F64)
    product, rest = functions["both"]({"y": y, "x": x})
    assert (product.item(), rest.sum.item(), rest.count.item()) == (9, 9, 2)
    assert not rest.count.requires_grad
    (product + 2 * rest.sum).backward()
    assert (x.grad.tolist(), y.grad.item()) == ([9, 27], 3)


def test_only_what_needs_a_gradient(functions):
    x = torch.tensor([1.0, 2.0], dtype=torch.float64)
    assert not functions["scaled"](torch.tensor(2.0, dtype=torch.float64), x).requires_grad
    a = torch.tensor(0.5, **F64)
    functions["scaled"](a, x).sum().backward()
    assert a.grad is not None
    assert x.grad is None
    a.grad = None
    functions["scaled"](a, [1.0, 2.0]).sum().backward()
    assert a.grad is not None


def test_memory_is_shared(functions):
    x = torch.arange(3, dtype=torch.float32)
    result = functions["single"](x)
    assert (result.dtype, result.tolist()) == (torch.float32, [0, 2, 4])
    x.requires_grad_()
    functions["single"](x).sum().backward()
    assert (x.grad.dtype, x.grad.tolist()) == (torch.float32, [2, 2, 2])


def test_what_has_no_derivative(functions):
    assert functions["counts"](torch.tensor([1, 2])).item() == 3
    assert functions["whole"](torch.tensor([1.0], **F64)).item() == 1
    with pytest.raises(TypeError, match="no value for the parameter 'xs'"):
        functions["squares"]()
    with pytest.raises(TypeError, match="must be"):
        functions["squares"](torch.zeros(2, 2, dtype=torch.float64))


def test_jagged_tensors(functions):
    if not par_torch.HAS_JAGGED:
        pytest.skip("this version of torch has no jagged tensors")
    values = torch.tensor([0.3, -1.0, 2.0], **F64)
    rows = torch.nested.nested_tensor_from_jagged(values, torch.tensor([0, 2, 2, 3]))
    result = functions["spread"](rows)
    assert result.is_nested
    result.values().sum().backward()
    assert values.grad.shape == values.shape


needs_operators = pytest.mark.skipif(not hasattr(torch.library, "custom_op"), reason="this torch has no operators of one's own")


@needs_operators
def test_compiled_graphs_hold_calls(functions):
    def loss(a, x):
        return (functions["scaled"](a, 2 * x) ** 2).sum() + functions["squares"](x)

    a, x = torch.tensor(0.7, **F64), torch.linspace(0.1, 1.0, 5, dtype=torch.float64).requires_grad_()
    expected = torch.autograd.grad(loss(a, x), (a, x))
    # Without a compiler for C: the graphs are what is looked at.
    compiled = torch.compile(loss, backend="aot_eager", fullgraph=True)
    for size in (5, 7):
        x = torch.linspace(0.1, 1.0, size, dtype=torch.float64).requires_grad_()
        expected = torch.autograd.grad(loss(a, x), (a, x))
        found = torch.autograd.grad(compiled(a, x), (a, x))
        assert all(torch.allclose(e, f) for e, f in zip(expected, found, strict=True))
    matrix = torch.compile(functions["matrix"], backend="aot_eager", fullgraph=True)
    m, v = torch.arange(6.0, dtype=torch.float64).reshape(2, 3), torch.ones(3, dtype=torch.float64)
    assert matrix(m, v).tolist() == [3, 12]


@needs_operators
def test_calls_with_rows_of_any_length_stay_outside_of_graphs(functions):
    @torch.compile(backend="aot_eager")
    def total(values):
        return functions["rows"](par_torch.Jagged(np.array([0, 2, 2, 3]), 2 * values)).sum() + 1

    values = torch.tensor([0.5, -1.0, 2.0], dtype=torch.float64)
    assert total(values).item() == pytest.approx(functions["rows"](par_torch.Jagged(np.array([0, 2, 2, 3]), 2 * values)).sum().item() + 1)


@needs_operators
def test_operators_are_checked_by_torch(functions):
    entry = par.compile(TEXT)["scaled"]
    from par_array import _torch_op, _tree
    from par_array.torch import _vjp

    parameters, result = _tree.types(entry)
    call = _torch_op.operator(entry, parameters, result, lambda: _vjp(entry))
    a, x = torch.tensor(0.7, **F64), torch.linspace(0.1, 1.0, 4, dtype=torch.float64).requires_grad_()
    assert torch.autograd.gradcheck(call, (a, x))
