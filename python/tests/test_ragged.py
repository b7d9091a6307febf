"""Arrays with rows of any length, and arrays of tuples, records and sums."""

import collections
import dataclasses
import pickle

import numpy as np
import pytest

import par_array as par
from conftest import address

ROWS = [[3.0, 4.0], [], [1.0], []]


def ragged() -> par.Ragged:
    return par.Ragged.from_rows(ROWS)


def test_in_and_out_without_a_copy(program):
    rows = ragged()
    assert program.norms.options(strict=True)._addresses(rows) == [address(rows.offsets), address(rows.values)]
    assert program.norms(rows).tolist() == [5, 0, 1, 0]
    result = program.positive(program.both([[1.0, -3.0], [], [-2.0]])[0])
    assert isinstance(result, par.Ragged)
    assert result.tolist() == [[2], [], []]
    assert type(result.values.base).__name__ == type(result.offsets.base).__name__ == "Memory"
    assert not result.offsets.flags.writeable


def test_equal_descriptors_are_one_object(program):
    rows = ragged()
    one, two = program.both(rows)
    assert one.offsets is two.offsets is rows.offsets
    again = program.same(one)
    assert again.offsets is rows.offsets
    columns, values = program.pairs([[(1, 2.0)], [], [(3, 4.0), (5, 6.0)]])
    assert columns.offsets is values.offsets


def test_more_dimensions(program):
    deep = program.deep(4)
    assert deep.tolist() == [[], [[]], [[], [0]], [[], [0], [0, 1]]]
    assert (deep.ndim, len(deep.levels), deep.dtype) == (3, 2, np.int64)
    assert program.sums(deep).tolist() == program.sums(deep.tolist()).tolist() == [[], [0], [0, 0], [0, 0, 1]]
    taken = program.sums.options(strict=True)._addresses(deep)
    assert taken == [address(a) for a in (*deep.levels, deep.flat)]


def test_regular_dimensions_inside_and_around():
    program = par.compile(
        """
entry inside [n] (xss: [n][][2]i64): [n][][2]i64 = map (map (map (+ 1))) xss
entry around [n] (xsss: [n][2][]i64): [n][2][]i64 = map (map (map (+ 1))) xsss
entry totals [n] (xsss: [n][2][]i64): [n][2]i64 = map (map i64.sum) xsss
"""
    )
    inside = program.inside(par.Ragged([0, 1, 3], np.arange(6).reshape(3, 2)))
    assert inside.tolist() == [[[1, 2]], [[3, 4], [5, 6]]]
    assert inside.values.shape == (3, 2)
    assert program.inside(inside.tolist()).tolist() == [[[2, 3]], [[4, 5], [6, 7]]]
    around = program.around(par.Ragged([0, 1, 1, 3, 4], np.arange(4), outer=(2, 2)))
    assert around.outer == (2, 2)
    assert around.tolist() == [[[1], []], [[2, 3], [4]]]
    assert program.totals(around).tolist() == [[1, 0], [5, 4]]
    assert (around[1].tolist(), around[1, 0].tolist()) == ([[2, 3], [4]], [2, 3])
    with pytest.raises(par.RuntimeError, match="sizes differ: 2 and 3"):
        program.totals(par.Ragged([0, 1, 2, 3], np.arange(3), outer=(1, 3)))


def test_values_of_other_types_and_layouts(program):
    for values in (np.array([6, 8, 2])[::1] // 2, np.array([3.0, 0, 4.0, 0, 1.0, 0])[::2], np.array([3, 4, 1], ">f8"), np.array([1.0, 4, 3])[::-1]):
        assert program.norms(par.Ragged([0, 2, 2, 3, 3], values)).tolist() == [5, 0, 1, 0]
    for dtype in (np.int32, np.uint64, ">i8"):
        assert program.norms(par.Ragged(np.array([0, 2, 2, 3, 3], dtype), [3.0, 4.0, 1.0])).tolist() == [5, 0, 1, 0]


@pytest.mark.parametrize(
    ("offsets", "values", "message"),
    [
        ([], [], "one more than there are rows"),
        ([0, 2, 1, 3], [1, 2, 3], "never decrease"),
        ([-1, 2], [1, 2, 3], "begin with 0 or more"),
        ([0, 4], [1, 2, 3], "the last offset is 4, but there are only 3 values"),
        ([[0, 1]], [1], "in one dimension"),
        ([0.0, 1.0], [1], "whole numbers"),
        ([0, 1], np.array(1), "the values are an array"),
        ([0, 1], "x", "cannot be the values"),
    ],
)
def test_offsets_that_are_none(offsets, values, message):
    with pytest.raises((ValueError, TypeError), match=message):
        par.Ragged(offsets, values)


@pytest.mark.parametrize("lengths", [[1, 1], [1, -1, 3], [1.0, 2.0], [[3]]])
def test_lengths_that_are_none(lengths):
    with pytest.raises((ValueError, TypeError)):
        par.Ragged.from_lengths(lengths, [1, 2, 3])


def test_offsets_that_were_made_wrong_are_refused(program):
    """Compiled code relies on them: they are checked at every call."""
    rows = par.Ragged._of(np.array([0, 5]), np.zeros(3), (1,))
    with pytest.raises(TypeError):
        program.norms(rows)
    for offsets in ([0, 2, 1, 3], [1, 3, 3, 3], [0, -1, 3, 3], []):
        with pytest.raises(TypeError):
            program.norms(par.Ragged._of(np.array(offsets, np.int64), np.zeros(3), (3,)))


def test_offsets_that_begin_later(program):
    rows = par.Ragged([2, 4, 4, 5], np.array([9.0, 9.0, 3.0, 4.0, 1.0, 9.0]))
    assert rows.offsets.tolist() == [0, 2, 2, 3]
    assert program.norms(rows).tolist() == [5, 0, 1]


def test_rows():
    rows = ragged()
    assert (len(rows), rows.lengths.tolist(), rows.ndim) == (4, [2, 0, 1, 0], 2)
    assert (rows[0].tolist(), rows[-1].tolist(), rows[0, 1]) == ([3, 4], [], 4)
    assert np.shares_memory(rows[0], rows.values)
    assert np.shares_memory(rows[1:3].values, rows.values)
    assert rows[1:3].tolist() == [[], [1]]
    assert rows[::-1].tolist() == rows[[3, 2, 1, 0]].tolist() == ROWS[::-1]
    assert rows[[True, False, True, False]].tolist() == [[3, 4], [1]]
    assert rows[[]].tolist() == rows[3:1].tolist() == []
    assert [r.tolist() for r in rows] == ROWS
    for wrong in (4, -5, [4], [True], "a", 1.0):
        with pytest.raises((IndexError, TypeError)):
            rows[wrong]
    assert rows == ragged()
    assert not rows == rows[::-1]
    assert pickle.loads(pickle.dumps(rows)) == rows
    assert par.Ragged.from_rows([[[1], []], []]).tolist() == [[[1], []], []]
    assert repr(rows) == "Ragged([[3.0, 4.0], [], [1.0], []], dtype=float64)"
    assert repr(par.Ragged.from_rows([range(9)] * 9)).count("...") == 7


def test_parts_of_rows_are_arguments(program):
    rows = ragged()
    for part in (rows[1:], rows[:2], rows[::2], rows[[0, 0]], rows[4:]):
        assert program.norms(part).tolist() == program.norms(part.tolist()).tolist()


def test_arrays_of_tuples(program):
    lists = [[(0, 2.0), (2, 1.0)], [], [(1, 4.0)]]
    x = [1.0, 10.0, 100.0]
    columns, values = np.array([0, 2, 1]), np.array([2.0, 1.0, 4.0])
    together = par.Ragged([0, 2, 2, 3], (columns, values))
    apart = (par.Ragged([0, 2, 2, 3], columns), par.Ragged([0, 2, 2, 3], values))
    for rows in (lists, together, apart):
        assert program.spmv(rows, x).tolist() == [102, 0, 40]
    assert together.tolist() == lists
    addresses = program.spmv.options(strict=True)._addresses(together, np.array(x))
    assert addresses[1:3] == [address(columns), address(values)]
    with pytest.raises(TypeError, match="component 1 has rows of other lengths than component 0"):
        program.spmv((par.Ragged([0, 2, 2, 3], columns), par.Ragged([0, 2, 3, 3], values)), x)
    with pytest.raises(TypeError, match="a tuple of 1 components instead of 2"):
        program.spmv(par.Ragged([0, 2, 2, 3], (columns,)), x)


@dataclasses.dataclass
class Point:
    x: object
    y: object


Named = collections.namedtuple("Named", "x y")


def test_records(program):
    for point in ({"x": 3.0, "y": 4.0}, {"y": 4, "x": 3}, Point(3.0, 4.0), Named(3.0, 4.0)):
        result = program.point(point)
        assert (result.x, result.y, result.r) == (3.0, 4.0, 5.0)
    again = program.point({"x": result.x, "y": result.y})
    assert again == result
    assert type(again) is type(result)


def test_arrays_of_records(program):
    x, y = np.array([1.0, 2.0]), np.array([3.0, 4.0])
    structured = np.array([(1.0, 3.0), (2.0, 4.0)], [("x", "f8"), ("y", "f8")])
    forms = [{"x": x, "y": y}, Point(x, y), Named(x, y), structured, [Point(1, 3), {"x": 2, "y": 4}], [Named(1, 3), Named(2, 4)], structured[::-1][::-1]]
    for points in forms:
        result = program.points(points)
        assert (result.x.tolist(), result.y.tolist()) == ([3, 4], [1, 2])
    assert program.points.options(strict=True)._addresses({"x": x, "y": y}) == [address(x), address(y)]
    with pytest.raises(TypeError, match="component 1 has rows of other lengths"):
        program.points({"x": x, "y": y[:1]})
    with pytest.raises(TypeError, match="there is no field 'y'"):
        program.points({"x": x})


def test_sums(program):
    assert (program.area(("circle", 2.0)), program.area(("box", 2, 3)), program.area("nothing"), program.area(("nothing",))) == (2, 6, 0, 0)
    shapes = program.shapes(4)
    assert isinstance(shapes, par.Cases)
    assert shapes.tolist() == [("circle", 0.0), ("box", 1.0, 1.0), ("circle", 2.0), ("box", 1.0, 3.0)]
    assert program.areas(shapes).tolist() == program.areas(shapes.tolist()).tolist() == [0, 1, 2, 3]
    assert program.areas(shapes[1:3]).tolist() == [1, 2]
    with pytest.raises(TypeError, match="the tag at 1 is no constructor"):
        program.areas(par.Cases(shapes.names, np.array([0, 9], np.uint8), [(part[:2] for part in p) for p in shapes.payloads]))
    with pytest.raises(TypeError, match="its constructors are a, b"):
        program.areas(par.Cases(["a", "b"], shapes.tags, shapes.payloads))


def test_hidden_values():
    program = par.compile(
        """
module m: { type t  val make: i64 -> t  val next: t -> t  val get: t -> i64 } =
  { type t = i64  def make (x: i64): t = x  def next (x: t): t = x + 1  def get (x: t): i64 = x }
entry make (x: i64): m.t = m.make x
entry next (x: m.t): m.t = m.next x
entry get (x: m.t): i64 = m.get x
entry many (n: i64): []m.t = map m.make (iota n)
entry all (xs: []m.t): []i64 = map m.get xs
"""
    )
    assert program.get(program.next(program.make(3))) == 4
    assert program.all(program.many(3)).tolist() == [0, 1, 2]
    with pytest.raises(TypeError, match=r"'x' must be m.t: found a value of type int"):
        program.get(3)
    with pytest.raises(TypeError, match="found a hidden value of type"):
        program.get(program.many(3))


def test_empty_arrays(program):
    empty = par.Ragged.from_rows([])
    assert (len(empty), program.norms(empty).tolist(), program.norms([]).tolist()) == (0, [], [])
    assert program.same(empty).tolist() == program.same([[]] * 0).tolist() == []
    assert program.same([[], []]).tolist() == [[], []]
    assert program.spmv([], []).tolist() == program.spmv([[], []], []).tolist()[:0] == []
