"""Arrays of other libraries: identity of memory, and what does not fit."""

import gc

import numpy as np
import pytest

import par_array as par
from conftest import address

ROWS = [[3.0, 4.0], [], [1.0], []]
NORMS = [5.0, 0.0, 1.0, 0.0]


def strict(entry):
    return entry.options(strict=True)


class TestAwkward:
    @pytest.fixture(autouse=True)
    def library(self):
        self.ak = pytest.importorskip("awkward")

    def array(self):
        return self.ak.Array(ROWS)

    def test_without_a_copy(self, program):
        rows = self.array()
        place = [address(np.asarray(rows.layout.offsets)), address(rows.layout.content.data)]
        assert strict(program.norms)._addresses(rows) == place
        assert program.norms(rows).tolist() == NORMS
        flat = self.ak.Array(np.arange(3.0))
        assert strict(program.inc)._addresses(flat) == [address(np.asarray(flat))]

    @pytest.mark.parametrize("made", [lambda a: a[::-1], lambda a: a[1:], lambda a: a[[2, 0, 0]], lambda a: a[a > 1], lambda a: a[[True, False, True, False]], lambda a: a[:0]])
    def test_chosen_rows_and_elements(self, program, made):
        rows = made(self.array())
        assert program.norms(rows).tolist() == program.norms(rows.to_list()).tolist()

    def test_other_layouts(self, program):
        ak = self.ak
        short = ak.Array(ak.contents.ListOffsetArray(ak.index.Index32(np.array([1, 3, 3], np.int32)), ak.contents.NumpyArray(np.array([9.0, 3.0, 4.0]))))
        assert program.norms(short).tolist() == [5, 0]
        anywhere = ak.contents.ListArray(ak.index.Index64(np.array([2, 0, 0])), ak.index.Index64(np.array([3, 0, 2])), ak.contents.NumpyArray(np.array([3.0, 4.0, 1.0])))
        assert program.norms(ak.Array(anywhere)).tolist() == [1, 0, 5]
        with pytest.raises(TypeError, match="would be copied"):
            strict(program.norms)(ak.Array(anywhere))
        regular = ak.to_regular(ak.Array([[3.0, 4.0], [0.0, 1.0]]))
        assert program.norms(regular).tolist() == program.norms(ak.from_numpy(np.array([[3.0, 4.0], [0.0, 1.0]]))).tolist() == [5, 1]
        assert program.sums(ak.Array([[[1, 2], []], []])).tolist() == [[3, 0], []]
        assert program.norms(ak.Array([[], []])).tolist() == [0, 0]

    def test_records(self, program):
        ak = self.ak
        pairs = ak.zip((ak.Array([[0, 2], [], [1]]), ak.Array([[2.0, 1.0], [], [4.0]])))
        assert program.spmv(pairs, [1.0, 10.0, 100.0]).tolist() == [102, 0, 40]
        points = ak.Array({"x": [1.0, 2.0], "y": [3.0, 4.0]})
        assert program.points(points).x.tolist() == [3, 4]
        assert program.points(points[::-1]).x.tolist() == [4, 3]

    def test_what_does_not_fit(self, program):
        ak = self.ak
        for wrong, message in (
            (ak.Array([[1.0, None]]), "missing"),
            (ak.Array([[1.0], None]), "missing"),
            (ak.Array([[1.0], 2.0]), "type union"),
            (ak.Array([1.0]), "must be"),
            (ak.Array([["a"]]), "must be"),
        ):
            with pytest.raises(TypeError, match=message):
                program.norms(wrong)
        assert program.inc(ak.drop_none(ak.Array([1.0, None]), axis=0)).tolist() == [2]

    def test_out(self, program):
        rows = par.Ragged.from_rows(ROWS)
        result = program.positive(rows)
        made = result.to_awkward()
        assert made.to_list() == ROWS
        assert address(made.layout.content.data) == address(result.values)
        deep = program.deep(4).to_awkward()
        assert deep.to_list() == [[], [[]], [[], [0]], [[], [0], [0, 1]]]
        columns, values = program.pairs([[(1, 2.0)], []])
        assert par.Ragged(columns.offsets, (columns.values, values.values)).to_awkward().to_list() == [[(2, 4.0)], []]


class TestArrow:
    @pytest.fixture(autouse=True)
    def library(self):
        self.pa = pytest.importorskip("pyarrow")

    def test_without_a_copy(self, program):
        pa = self.pa
        rows = pa.array(ROWS, pa.large_list(pa.float64()))
        place = [rows.buffers()[1].address, rows.buffers()[3].address]
        assert strict(program.norms)._addresses(rows) == place
        assert program.norms(rows).tolist() == NORMS
        flat = pa.array(np.arange(3.0))
        assert strict(program.inc)._addresses(flat) == [flat.buffers()[1].address]
        assert strict(program.inc)._addresses(flat[1:]) == [flat.buffers()[1].address + 8]

    def test_memory_is_kept_and_released(self, program):
        pa = self.pa
        before = pa.total_allocated_bytes()
        rows = pa.array(ROWS * 1000, pa.large_list(pa.float64()))
        for _ in range(100):
            program.norms(rows)
        result = program.same(pa.array(ROWS, pa.large_list(pa.float64())))
        del rows
        gc.collect()
        assert result.tolist() == ROWS
        del result
        gc.collect()
        # What is released without the interpreter's lock is so at the next call.
        program.norms([])
        assert pa.total_allocated_bytes() == before

    def test_other_lists(self, program):
        pa = self.pa
        for type_ in (pa.list_(pa.float64()), pa.large_list(pa.float32()), pa.list_(pa.int8()), pa.large_list_view(pa.float64()), pa.list_view(pa.float64())):
            rows = pa.array(ROWS, type_)
            assert program.norms(rows).tolist() == NORMS
            assert program.norms(rows[1:3]).tolist() == NORMS[1:3]
            assert program.norms(rows[4:]).tolist() == []
        with pytest.raises(TypeError, match="would be copied"):
            strict(program.norms)(pa.array(ROWS, pa.list_(pa.float64())))
        fixed = pa.array([[3.0, 4.0], [0.0, 1.0], [6.0, 8.0]], pa.list_(pa.float64(), 2))
        assert program.norms(fixed).tolist() == [5, 1, 10]
        assert program.regular(fixed[1:]).tolist() == [1, 14]
        deep = pa.array([[[1, 2], []], []], pa.large_list(pa.large_list(pa.int64())))
        assert program.sums(deep).tolist() == [[3, 0], []]
        assert strict(program.sums)(deep[1:]).tolist() == [[]]

    def test_booleans_and_text(self, program):
        pa = self.pa
        bits = pa.array([True, False] * 9)
        assert program.opposite(bits).tolist() == [False, True] * 9
        assert program.opposite(bits[3:]).tolist() == ([False, True] * 9)[3:]
        lengths = par.compile("entry f (ss: [][]u8): []i64 = map length ss").f
        for type_ in (pa.string(), pa.large_string(), pa.binary()):
            assert lengths(pa.array(["a", "", "bcd"], type_)).tolist() == [1, 0, 3]
            assert lengths(pa.array(["a", "", "bcd"], type_)[1:]).tolist() == [0, 3]

    def test_pieces(self, program):
        pa = self.pa
        rows = pa.chunked_array([pa.array(part, pa.large_list(pa.float64())) for part in (ROWS[:2], ROWS[2:])])
        assert program.norms(rows).tolist() == NORMS
        assert program.norms(pa.chunked_array([], pa.list_(pa.float64()))).tolist() == []
        one = pa.chunked_array([pa.array(np.arange(3.0))])
        assert strict(program.inc)._addresses(one) == [one.chunk(0).buffers()[1].address]
        with pytest.raises(TypeError, match="2 pieces, which would be copied"):
            strict(program.norms)(rows)

    def test_tables(self, program):
        pa = self.pa
        table = pa.table({"x": [1.0, 2.0], "y": [3.0, 4.0]})
        result = program.points(table)
        assert (result.x.tolist(), result.y.tolist()) == ([3, 4], [1, 2])
        assert program.points(table.slice(1)).x.tolist() == [4]
        assert program.points(table.slice(2)).x.tolist() == []
        structs = pa.array([{"x": 1.0, "y": 3.0}, {"x": 2.0, "y": 4.0}])
        assert program.points(structs[1:]).x.tolist() == [4]
        lists = pa.array([[{"x": 1.0, "y": 2.0}], []])
        nested = par.compile("entry f (pss: [][]{x: f64, y: f64}): []f64 = map (\\ps -> f64.sum (map (\\p -> p.x * p.y) ps)) pss")
        assert nested.f(lists).tolist() == [2, 0]

    def test_what_does_not_fit(self, program):
        pa = self.pa
        for wrong, message in (
            (pa.array([1.0, None]), "element 1 is missing"),
            (pa.array([None, 1.0])[:1], "element 0 is missing"),
            (pa.array([None, None]), "missing"),
            (pa.array(["a"]).dictionary_encode(), "a dictionary"),
            (pa.array([1], pa.timestamp("s")), "Arrow's type"),
            (pa.array(["a"]), "must be"),
            (pa.table({"x": [1.0]}), "must be"),
        ):
            with pytest.raises(TypeError, match=message):
                program.inc(wrong)
        assert program.inc(pa.array([None, 1.0])[1:]).tolist() == [2]
        with pytest.raises(TypeError, match="missing"):
            program.norms(pa.array([[1.0, None]]))

    def test_out(self, program):
        rows = program.positive([[3.0, -4.0], [], [1.0]])
        made = rows.to_arrow()
        assert made.to_pylist() == [[3.0], [], [1.0]]
        assert made.buffers()[1].address == address(rows.offsets)
        assert made.buffers()[3].address == address(rows.values)
        made.validate(full=True)
        del rows
        gc.collect()
        assert made.to_pylist() == [[3.0], [], [1.0]]
        assert program.norms(made).tolist() == [3, 0, 1]

    @pytest.mark.parametrize(
        ("rows", "expected"),
        [
            (par.Ragged([0, 1, 3], np.arange(6).reshape(3, 2)), [[[0, 1]], [[2, 3], [4, 5]]]),
            (par.Ragged([0, 1, 1, 3, 4], np.arange(4), outer=(2, 2)), [[[0], []], [[1, 2], [3]]]),
            (par.Ragged([0, 1, 3], (np.arange(3), np.array([True, False, True]))), None),
            (par.Ragged([0, 1, 3], np.array([True, False, True])), [[True], [False, True]]),
            (par.Ragged([0], np.zeros(0)), []),
            (par.Ragged([0, 2], np.arange(4)[::2]), [[0, 2]]),
            (par.Ragged([0, 1, 2], par.Ragged([0, 2, 3], np.arange(3, dtype=np.uint8))), [[[0, 1]], [[2]]]),
        ],
    )
    def test_out_of_every_form(self, rows, expected):
        if expected is None:
            with pytest.raises(TypeError, match="tuples"):
                rows.to_arrow()
            return
        made = rows.to_arrow()
        made.validate(full=True)
        assert made.to_pylist() == expected

    def test_records_out(self):
        made = par.Ragged([0, 1, 2], {"a": np.array([1, 2]), "b": np.array([1.5, 2.5], np.float32)}).to_arrow()
        made.validate(full=True)
        assert made.to_pylist() == [[{"a": 1, "b": 1.5}], [{"a": 2, "b": 2.5}]]


class TestScipy:
    @pytest.fixture(autouse=True)
    def library(self):
        self.sparse = pytest.importorskip("scipy.sparse")

    def test_rows(self, program):
        matrix = self.sparse.csr_array(np.array([[2.0, 0, 1], [0, 0, 0], [0, 4, 0]]))
        assert program.spmv(matrix, [1.0, 10.0, 100.0]).tolist() == [102, 0, 40]
        assert address(matrix.data) in program.spmv._addresses(matrix, np.zeros(3))
        narrow = par.compile("entry f (rows: [][](i32, f64)): []f64 = map (\\r -> f64.sum (map (.1) r)) rows").f
        places = narrow._addresses(matrix)
        assert places[1:] == [address(matrix.indices), address(matrix.data)]
        assert narrow(matrix).tolist() == [3, 0, 4]

    def test_what_does_not_fit(self, program):
        matrix = self.sparse.csr_array(np.eye(2))
        for other in (matrix.tocsc(), matrix.tocoo(), matrix.todok()):
            with pytest.raises(TypeError, match=r"\.tocsr\(\)"):
                program.spmv(other, [1.0, 1.0])
        with pytest.raises(TypeError):
            program.inc(matrix)


class TestPandas:
    @pytest.fixture(autouse=True)
    def library(self):
        self.pd = pytest.importorskip("pandas")

    def test_columns(self, program):
        pd = self.pd
        series = pd.Series(np.arange(3.0))
        assert strict(program.inc)._addresses(series) == [address(series.to_numpy())]
        assert program.inc(series[::2]).tolist() == [1, 3]
        assert program.inc(pd.Series([1, 2], dtype="Int64")).tolist() == [2, 3]
        assert program.norms(pd.Series([[3.0, 4.0], []])).tolist() == [5, 0]
        assert program.inc(pd.Index([1.0])).tolist() == [2]
        assert program.inc(pd.Series([])).tolist() == []

    def test_tables(self, program):
        frame = self.pd.DataFrame({"x": [1.0, 2.0], "y": [3.0, 4.0]})
        result = program.points(frame)
        assert (result.x.tolist(), result.y.tolist()) == ([3, 4], [1, 2])
        with pytest.raises(TypeError, match="there is no field 'y'"):
            program.points(frame[["x"]])

    def test_arrow_columns(self, program):
        pa = pytest.importorskip("pyarrow")
        rows = self.pd.Series(pa.array(ROWS), dtype=self.pd.ArrowDtype(pa.list_(pa.float64())))
        assert program.norms(rows).tolist() == NORMS

    def test_what_does_not_fit(self, program):
        pd = self.pd
        for wrong in (pd.Series([1, None], dtype="Int64"), pd.Series(["a", "b"]), pd.Series(pd.to_datetime(["2020-01-01"]))):
            with pytest.raises(TypeError):
                program.inc(wrong)


class TestPolars:
    @pytest.fixture(autouse=True)
    def library(self):
        self.pl = pytest.importorskip("polars")

    def test_columns(self, program):
        pl = self.pl
        series = pl.Series(np.arange(3.0))
        assert strict(program.inc)(series).tolist() == [1, 2, 3]
        assert program.norms(pl.Series(ROWS)).tolist() == NORMS
        assert strict(program.norms)(pl.Series(ROWS)).tolist() == NORMS
        assert program.inc(series[1:]).tolist() == [2, 3]
        assert program.inc(pl.Series([], dtype=pl.Float64)).tolist() == []
        assert program.norms(pl.Series([[3.0, 4.0]], dtype=pl.Array(pl.Float64, 2))).tolist() == [5]

    def test_tables(self, program):
        frame = self.pl.DataFrame({"x": [1.0, 2.0], "y": [3.0, 4.0]})
        assert program.points(frame).x.tolist() == [3, 4]
        assert program.points(frame.filter(self.pl.col("x") > 1)).x.tolist() == [4]

    def test_what_does_not_fit(self, program):
        for wrong in (self.pl.Series([1.0, None]), self.pl.Series(["a"]), self.pl.Series([[1.0]])):
            with pytest.raises(TypeError):
                program.inc(wrong)

    def test_out(self, program):
        rows = program.positive([[3.0, -4.0], [], [1.0]])
        assert self.pl.Series(rows).to_list() == [[3.0], [], [1.0]]


class Exporter:
    """An array that has DLPack's protocol only."""

    def __init__(self, array, device=None):
        self.array, self.device = array, device

    def __dlpack__(self, **kwargs):
        return self.array.__dlpack__(**kwargs)

    def __dlpack_device__(self):
        return self.device or self.array.__dlpack_device__()


def test_dlpack(program):
    x = np.arange(3.0)
    assert strict(program.inc)._addresses(Exporter(x)) == [address(x)]
    assert program.inc(Exporter(x[::-1])).tolist() == [3, 2, 1]
    with pytest.raises(TypeError, match="on GPU 0, but the program runs on the processor"):
        program.inc(Exporter(x, (2, 0)))
    with pytest.raises(TypeError, match="device 8 of DLPack"):
        program.inc(Exporter(x, (8, 0)))
    result = program.inc(x)
    assert address(np.from_dlpack(result)) == address(result)


class TestTorch:
    @pytest.fixture(autouse=True)
    def library(self):
        self.torch = pytest.importorskip("torch")

    def test_tensors(self, program):
        x = self.torch.arange(3, dtype=self.torch.float64)
        assert strict(program.inc)._addresses(x) == [x.data_ptr()]
        assert program.inc(x[::2]).tolist() == [1, 3]
        assert program.inc(x.float()).tolist() == [1, 2, 3]
        assert program.double(self.torch.tensor(2.0)) == 4
        with pytest.raises(TypeError, match="needs a gradient"):
            program.inc(x.clone().requires_grad_())

    def test_jagged_tensors(self, program):
        if not hasattr(self.torch.nested, "nested_tensor_from_jagged"):
            pytest.skip("this version of torch has no jagged tensors")
        rows = self.torch.nested.nested_tensor_from_jagged(self.torch.tensor([3.0, 4.0, 1.0], dtype=self.torch.float64), self.torch.tensor([0, 2, 2, 3]))
        assert strict(program.norms)(rows).tolist() == [5, 0, 1]
        one, two = program.both(par.Ragged([0, 2, 3], np.arange(3.0)))
        total = one.to_torch() + two.to_torch()
        assert total.values().tolist() == [1, 3, 3]
