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
