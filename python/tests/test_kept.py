"""Values that stay where a program has them, between calls."""

import shutil

import numpy as np
import pytest
from conftest import on_stand_ins

import par_array as par


def test_what_was_uploaded_does_not_change(program):
    xs = np.array([1.0, 2.0, 4.0])
    (kept,) = program.sum.upload(xs)
    assert isinstance(kept, par.Kept)
    assert kept.type_ == "[]f64"
    xs[:] = 0
    assert program.sum(kept) == 7.0
    assert program.inc(xs=kept).tolist() == [2.0, 3.0, 5.0]
    assert program.sum(kept) == 7.0


def test_offsets_do_not_change(program):
    rows = par.Ragged.from_lengths([2, 0, 1], np.array([3.0, 4.0, 1.0]))
    (kept,) = program.norms.upload(rows)
    rows.values[:] = 0
    assert program.norms(kept).tolist() == [5.0, 0.0, 1.0]
    assert kept.get().tolist() == [[3.0, 4.0], [], [1.0]]


def test_results_are_kept(program):
    first, second = program.twice.options(keep=True)([1.0, 2.0])
    got = first.get()
    got[0] = 9
    assert first.get().tolist() == second.get().tolist() == [1.0, 2.0]
    rows, positions = program.both.options(keep=True)([[1.0], [], [2.0, 3.0]])
    assert program.norms(rows).tolist() == [2.0, 0.0, 5.0]
    assert positions.get().tolist() == [[0], [], [0, 1]]
    assert program.sum.options(keep=True)([1.0, 2.0]) == 3.0
    assert program.inc.options(keep=True).options(keep=False)([1.0]).tolist() == [2.0]


def test_parts_may_be_kept(program):
    xs, ys = program.twice.options(keep=True)([1.0, 2.0])
    assert repr(xs) == "<kept value of type []f64>"
    assert not xs.is_on_device
    with pytest.raises(TypeError, match=r"'xs'.*\[\]i8.*\[\]f64"):
        program.sum_i8(xs)
    with pytest.raises(TypeError, match="takes 1 argument"):
        program.sum.upload(xs, ys)


ON_A_GPU = r"""
import numpy as np
import par_array as par

p = par.compile(r'''
entry step (xs: *[]f64) (ys: []f64): *[]f64 = map2 (\x y -> (x + y) / 2) xs ys
entry set (xs: *[]f64): *[]f64 = xs with [0] = 7
entry rows (n: i64): [][]i64 = map iota (iota n)
entry sums (xss: [][]i64): []i64 = map i64.sum xss
''', backend="cuda")
ys = np.array([1.0, 2.0, 4.0])
xs, there = p.step.upload(np.zeros(3), ys)
assert repr(xs) == "<kept value of type []f64 on a GPU>", xs
ys[:] = 0
step = p.step.options(keep=True)
for _ in range(2):
    xs = step(xs, there)
assert xs.is_on_device and there.is_on_device
assert p.set(there).tolist() == [7.0, 2.0, 4.0]
assert there.get().tolist() == [1.0, 2.0, 4.0]
assert xs.get().tolist() == [0.75, 1.5, 3.0]
rows = p.rows.options(keep=True)(4)
assert p.sums(rows).tolist() == [0, 0, 1, 3]
assert rows.is_on_device
assert rows.get().tolist() == [[], [0], [0, 1], [0, 1, 2]]
large = np.arange(3_000_000.0)
assert (p.set.options(keep=True)(large).get()[1:] == large[1:]).all()
"""

@pytest.mark.skipif(shutil.which("c++") is None, reason="the stand-ins for a GPU are built by a C++ compiler")
def test_on_a_gpu(tmp_path):
    on_stand_ins(tmp_path, ON_A_GPU)
