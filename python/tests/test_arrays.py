"""Scalars and arrays of NumPy: in and out, without copies where that is said."""

import array
import gc
import itertools
import sys

import numpy as np
import pytest

import par_array as par
from conftest import EVERY_DTYPE, address


def strict(entry):
    return entry.options(strict=True)


@pytest.mark.parametrize(("name", "dtype"), EVERY_DTYPE)
def test_arrays_of_every_type_go_in_and_out_without_a_copy(name, dtype):
    program = par.compile(f"entry f (xs: []{name}): []{name} = reverse xs")
    xs = np.array([0, 1, 1, 0, 1], dtype)
    assert strict(program.f)._addresses(xs) == [address(xs)]
    result = program.f(xs)
    assert (result.dtype, result.tolist()) == (xs.dtype, xs[::-1].tolist())
    assert type(result.base).__name__ == "Memory"
    assert result.flags.writeable
    assert result.flags.aligned


@pytest.mark.parametrize(("name", "dtype"), EVERY_DTYPE)
def test_scalars_of_every_type(name, dtype):
    program = par.compile(f"entry f (x: {name}): {name} = x")
    for x in (dtype(1), np.array(1, dtype), dtype(0)):
        assert program.f(x) == x.item()
    assert type(program.f(dtype(1))) is type(dtype(1).item())


@pytest.mark.parametrize("name", ["i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64"])
def test_whole_numbers_in_their_range(name):
    program = par.compile(f"entry f (x: {name}): {name} = x\nentry g (xs: []{name}): []{name} = xs")
    info = np.iinfo({"i": "int", "u": "uint"}[name[0]] + name[1:])
    assert (program.f(int(info.min)), program.f(int(info.max))) == (info.min, info.max)
    assert program.g([int(info.min), int(info.max)]).tolist() == [info.min, info.max]
    for outside in (int(info.min) - 1, int(info.max) + 1):
        with pytest.raises(TypeError, match=f"{outside} is outside the range of {name}"):
            program.f(outside)
        with pytest.raises(TypeError, match=f"element 0: {outside} is outside the range of {name}"):
            program.g([outside])


@pytest.mark.parametrize(
    ("entry", "argument", "message"),
    [
        ("at", ([1.0], 1.5), r"at\(\): the argument 'i' must be i64: found a value of type float"),
        ("at", ([1.0], "a"), "'i' must be i64: found a value of type str"),
        ("at", ([1.0], None), "found a value of type NoneType"),
        ("at", ([1.0], [0]), "found a value of type list"),
        ("at", ([1.0], np.zeros(2)), "found an array of float64 of shape"),
        ("double", ("1",), "'x' must be f32"),
        ("double", (1j,), "found a value of type complex"),
        ("opposite", ([1],), "element 0: found a value of type int"),
        ("inc", (np.array([1j]),), "complex128, which cannot be one of float64"),
        ("inc", (np.array(["a"]),), "cannot be one of float64"),
        ("inc", (np.array(["2020"], "M8[Y]"),), "cannot be one of float64"),
        ("inc", (np.zeros((2, 2)),), r"must be \[\]f64: found an array of float64 of shape \(2, 2\)"),
        ("inc", (np.float64(1),), "must be"),
        ("inc", (1.0,), "found a value of type float"),
        ("inc", (None,), "found a value of type NoneType"),
        ("inc", ("text",), "found a value of type str"),
        ("inc", (b"text",), "found a value of type bytes"),
        ("inc", ({1.0},), "found a value of type set"),
        ("inc", ({},), "found a value of type dict"),
        ("inc", ([[1.0]],), "element 0: found a value of type list"),
        ("inc", ([1.0, None],), "element 1: found a value of type NoneType"),
        ("norms", ([1.0],), "element 0: found a value of type float"),
        ("norms", (np.zeros(2),), "of shape"),
        ("regular", ([[1.0], [1.0, 2.0]],), "row 0 has length 1 and row 1 has length 2"),
        ("transposed", (par.Ragged([0, 1, 3], np.zeros(3, np.float32)),), "row 0 has 1 and row 1 has 2 elements"),
        ("inc", (par.Ragged([0, 1, 3], np.zeros(3)),), "another number of dimensions"),
        ("norms", (par.Ragged([0, 1], par.Ragged([0, 1], np.zeros(1))),), "another number of dimensions"),
        ("sum_i8", (np.array([300]),), "300, which is outside the range of int8"),
        ("sum_i8", (np.array([1.0]),), "float64, which cannot be one of int8"),
        ("inc", (np.ma.masked_array([1.0, 2.0], [True, False]),), "masked array with elements that are missing"),
        ("point", ({"x": 1.0},), "there is no field 'y'"),
        ("point", ({"x": 1.0, "y": 1.0, "z": 1.0},), "the field 'z' is not one of the type"),
        ("point", ({"x": 1.0, "y": "a"},), "field 'y': found a value of type str"),
        ("point", (3,), "found a value of type int"),
        ("pairs", ([[(1, 2.0, 3)]],), "a tuple of 3 components instead of 2"),
        ("area", ("cicle",), "no constructor `#cicle`"),
        ("area", ("circle",), "`#circle` takes 1 values, not 0"),
        ("area", (("box", 1.0),), "`#box` takes 2 values, not 1"),
        ("area", (1,), "a tuple that begins with a constructor's name is needed, found a value of type int"),
    ],
)
def test_what_does_not_fit(program, entry, argument, message):
    with pytest.raises(TypeError, match=message):
        program[entry](*argument)


def test_results_are_their_owners(program):
    xs = np.arange(4.0)
    for result in (program.id(xs), program.id(xs)):
        result[:] = 7
    assert xs.tolist() == [0, 1, 2, 3]
    one, two = program.twice(xs)
    one[:] = 8
    assert (two.tolist(), xs.tolist()) == ([0, 1, 2, 3], [0, 1, 2, 3])


def test_an_argument_that_the_program_consumes_is_left_alone(program):
    xs = np.arange(4.0)
    assert program.spend(xs).tolist() == [7, 1, 2, 3]
    assert xs.tolist() == [0, 1, 2, 3]


def test_results_live_longer_than_the_program():
    result = par.compile("entry f (xs: []f64): []f64 = map (* 2) xs").f(np.arange(100000.0))
    part = result[5:7]
    del result
    gc.collect()
    assert part.tolist() == [10, 12]


@pytest.mark.parametrize(
    ("made", "copied"),
    [
        (lambda x: x, False),
        (lambda x: x[3:17], False),
        (lambda x: x[1:], False),
        (lambda x: x[:0], True),
        (lambda x: x[::2], True),
        (lambda x: x[::-1], True),
        (lambda x: x.astype(">f8"), True),
        (lambda x: x.astype(np.float32), True),
        (lambda x: x.astype(np.int64), True),
        (lambda x: x.astype(object), True),
        (lambda x: np.ma.masked_array(x), False),
        (lambda x: x.view(type("Sub", (np.ndarray,), {})), False),
        (lambda x: np.frombuffer(b"\0" + x.tobytes(), np.uint8)[1:].view(np.float64), True),
        (lambda x: memoryview(x), False),
        (lambda x: array.array("d", x), False),
        (lambda x: type("Interface", (), {"__array_interface__": x.__array_interface__, "of": x})(), False),
        (lambda x: x.tolist(), True),
        (lambda x: tuple(x.tolist()), True),
        (lambda x: iter(x.tolist()), True),
        (lambda x: range(0, 20), True),
    ],
)
def test_layouts(program, made, copied):
    x = np.arange(20.0)
    given = made(x)
    if not copied:
        place = address(np.asarray(given))
        assert strict(program.inc)._addresses(given) == [place]
    elif np.size(given) != 0 or not isinstance(given, np.ndarray):
        with pytest.raises(TypeError):
            strict(program.inc)._addresses(made(x))
    expected = np.asarray(list(given) if hasattr(given, "__next__") else given).astype(np.float64) + 1
    assert program.inc(made(x)).tolist() == expected.tolist()


def test_arrays_that_cannot_be_written(program):
    x = np.arange(4.0)
    x.flags.writeable = False
    assert strict(program.inc)._addresses(x) == [address(x)]
    assert program.spend(x).tolist() == [7, 1, 2, 3]


def test_matrices(program):
    a = np.arange(6, dtype=np.float32).reshape(2, 3)
    assert strict(program.transposed)._addresses(a) == [address(a)]
    result = program.transposed(a)
    assert (result.shape, result.tolist()) == ((3, 2), a.T.tolist())
    assert program.transposed(a.T).tolist() == a.tolist()
    assert program.transposed(np.asfortranarray(a)).tolist() == a.T.tolist()
    for shape in ((0, 3), (3, 0), (0, 0)):
        assert program.transposed(np.zeros(shape, np.float32)).shape == shape[::-1]
    assert program.transposed([[1, 2], [3, 4]]).tolist() == [[1, 3], [2, 4]]


def test_rows_of_one_length_are_rows_of_any_length(program):
    a = np.arange(6.0).reshape(3, 2)
    assert program.same(a).tolist() == a.tolist()
    assert program.norms(np.zeros((0, 2))).tolist() == []
    assert program.norms(np.zeros((2, 0))).tolist() == [0, 0]


def test_arrays_of_objects_are_lists(program):
    rows = np.empty(3, object)
    rows[:] = [np.array([3.0, 4.0]), [], [1]]
    assert program.norms(rows).tolist() == [5, 0, 1]
    assert program.norms([np.array([3.0, 4.0]), [], np.array([1])]).tolist() == [5, 0, 1]


def test_booleans_of_other_bytes_are_true(program):
    odd = np.array([0, 2, 255], np.uint8).view(np.bool_)
    assert program.opposite(odd).tolist() == [True, False, False]


def test_text(program):
    assert bytes(program.reversed("häh")) == "häh".encode()[::-1]
    assert bytes(program.reversed(b"abc")) == bytes(program.reversed(bytearray(b"abc"))) == b"cba"
    assert bytes(program.reversed("")) == b""


def test_a_gigantic_argument_is_not_copied(program):
    # As many bytes as there are virtual ones: only what is touched is there.
    huge = np.lib.stride_tricks.as_strided(np.zeros(1), (1 << 40,), (0,))
    with pytest.raises((MemoryError, TypeError)):
        program.sum(huge)
    with pytest.raises(TypeError, match="would be copied"):
        strict(program.sum)(huge)
    large = np.zeros(1 << 27, np.int8)
    assert strict(program.sum_i8)._addresses(large) == [address(large)]
    assert program.sum_i8(large) == 0


def test_calls_do_not_keep_anything(program):
    x = np.arange(1000.0)
    rows = par.Ragged.from_lengths([500, 0, 500], x)
    x2 = x[::2]
    for f in (lambda: program.inc(x), lambda: program.both(rows), lambda: program.inc(x2), lambda: program.shapes(3)):
        f()
        gc.collect()
        before = (sys.getrefcount(x), sys.getrefcount(rows.offsets), sys.getallocatedblocks())
        for _ in itertools.repeat(None, 2000):
            f()
        gc.collect()
        after = (sys.getrefcount(x), sys.getrefcount(rows.offsets), sys.getallocatedblocks())
        assert after[:2] == before[:2]
        assert after[2] - before[2] < 200
