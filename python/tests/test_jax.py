"""Entry points as differentiable functions of JAX."""

import numpy as np
import pytest

import par_array as par

jax = pytest.importorskip("jax")
from par_array import jax as par_jax  # noqa: E402

TEXT = """
entry loss [n] (xs: [n]f32) (a: f32): f32 = f32.sum (map (\\x -> f32.sin (a * x)) xs)
entry scaled [n] (xs: [n]f32) (k: i32): [n]f32 = map (* f32.i32 k) xs
entry pair [n][m] (a: [n][m]f32) (p: {x: f32, y: f32}): {rows: [n]f32, total: f32} =
  {rows = map (\\r -> p.x * f32.sum r) a, total = p.y * f32.sum (flatten a)}
entry positive (xs: []f32): []f32 = filter (> 0) xs
entry ragged (xss: [][]f32): f32 = f32.sum (map f32.sum xss)
"""
program = par.compile(TEXT)


def test_values_and_gradients():
    loss = par_jax.function(program.loss)
    xs = jax.numpy.array([0.5, 1.0, 2.0])
    expected = jax.numpy.sum(jax.numpy.sin(2 * xs))
    assert np.allclose(loss(xs, 2.0), expected)
    assert np.allclose(jax.jit(loss)(xs, 2.0), expected)
    by_xs, by_a = jax.grad(loss, (0, 1))(xs, 2.0)
    assert np.allclose(by_xs, 2 * jax.numpy.cos(2 * xs))
    assert np.allclose(by_a, jax.numpy.sum(xs * jax.numpy.cos(2 * xs)))
    assert np.allclose(jax.jit(jax.grad(loss))(xs, 2.0), by_xs)


def test_whole_numbers_have_no_derivative():
    scaled = par_jax.function(program.scaled)
    xs = jax.numpy.ones(3)
    assert np.allclose(jax.grad(lambda x: scaled(x, 3).sum())(xs), 3)


def test_records():
    pair = par_jax.function(program.pair)
    a, p = jax.numpy.arange(6.0).reshape(2, 3), {"x": 2.0, "y": 3.0}
    result = jax.jit(pair)(a, p)
    assert (result["rows"].tolist(), float(result["total"])) == ([6, 24], 45)
    by_a, by_p = jax.grad(lambda a, p: pair(a, p)["total"] + pair(a, p)["rows"].sum(), (0, 1))(a, p)
    assert np.allclose(by_a, 5)
    assert (float(by_p["x"]), float(by_p["y"])) == (15, 15)


def test_shapes_that_types_do_not_say():
    with pytest.raises(TypeError, match="does not follow from its type"):
        par_jax.function(program.positive)(jax.numpy.ones(3))
    known = par_jax.function(program.positive, lambda xs: jax.ShapeDtypeStruct((2,), "float32"))
    assert known(jax.numpy.array([1.0, -1.0, 2.0])).tolist() == [1, 2]
    with pytest.raises(TypeError, match="no array of JAX"):
        par_jax.function(program.ragged)
