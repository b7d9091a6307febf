"""Arrays of other libraries on a GPU, and Par's for them, by DLPack."""

import re
import shutil

import pytest
from conftest import on_stand_ins

# Memory of the stand-in for a GPU is the processor's, so that NumPy's arrays can play those of a library on the GPU.
STAND_INS = r"""
import ctypes
import gc
import weakref
import numpy as np
import par_array as par

pointer = ctypes.pythonapi.PyCapsule_GetPointer
pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
# Bytes of the struct before the kind of the device, and before that of elements.
KIND, CODE = 8, 20


def moved(capsule, kind):
    # The same capsule, as if its elements were on a device of this kind.
    ctypes.c_int32.from_address(pointer(capsule, b"dltensor") + KIND).value = kind
    return capsule


class OnGpu:
    asked = []

    def __init__(self, array, number=0):
        self.array, self.number = array, number

    def __dlpack_device__(self):
        return (2, self.number)

    def __dlpack__(self, *, stream):
        self.asked.append(stream)
        if self.array.dtype != bool:
            return moved(self.array.__dlpack__(), 2)
        # Of NumPy's own accord only numbers go this way.
        capsule = moved(self.array.view(np.uint8).__dlpack__(), 2)
        ctypes.c_uint8.from_address(pointer(capsule, b"dltensor") + CODE).value = 6
        return capsule


class Exported:
    # A capsule that is on the processor.
    def __init__(self, capsule):
        self.capsule = capsule

    def __dlpack_device__(self):
        return (1, 0)

    def __dlpack__(self, **_):
        return self.capsule


def seen(kept, **options):
    # What another library sees of a kept value.
    assert kept.__dlpack_device__() == (2, 0)

    return np.from_dlpack(Exported(moved(kept.__dlpack__(**options), 1)))


def address(array):
    return array.__array_interface__["data"][0]


def refused(message, call, *arguments):
    try:
        call(*arguments)
    except (TypeError, BufferError, AttributeError) as e:
        assert message in str(e), e
    else:
        raise AssertionError(message)
"""

ARRAYS = r"""
p = par.compile(r'''
entry inc (xs: []f64): []f64 = map (+ 1) xs
entry same [n][m] (xs: [n][m]f64): [n][m]f64 = xs
entry set (xs: *[]f64): *[]f64 = xs with [0] = 7
entry sums (xss: [][]f64): []f64 = map f64.sum xss
entry rows (xss: [][]f64): [][]f64 = map (map (* 2)) xss
entry deep (xsss: [][][]f64): [][][]f64 = map (map (map (* 2))) xsss
entry pairs (xs: []f64): [](f64, i64) = map (\x -> (x, i64.f64 x)) xs
entry masked (bs: []bool): i64 = i64.sum (map i64.bool bs)
entry constant: []i64 = [1, 2, 3]
entry twice (xs: []f64): ([]f64, []f64) = let ys = map (+ 1) xs in (ys, ys)
''', backend="cuda")
inc = p.inc.options(keep=True, strict=True)

# In: the producer's work is waited for on the stream that it was given, always the same; 0 to 2 would be others.
x = np.arange(6.0)
assert p.inc(OnGpu(x)).tolist() == [1, 2, 3, 4, 5, 6]
assert p.inc(OnGpu(x)).tolist() == [1, 2, 3, 4, 5, 6]
assert len(OnGpu.asked) == 2 and OnGpu.asked[0] == OnGpu.asked[1] > 2
assert p.sums(par.Ragged._of(np.array([0, 2, 2, 6]), OnGpu(x), (3,))).tolist() == [1, 0, 14]
assert p.sums(par.Ragged._of(np.array([0, 0, 6, 6, 6]), OnGpu(x), (4,))).tolist() == [0, 15, 0, 0]
assert p.sums(par.Ragged._of(np.zeros(3, np.int64), OnGpu(x[:0]), (2,))).tolist() == [0, 0]
inner = par.Ragged._of(np.array([0, 2, 2, 6]), OnGpu(x), (3,))
assert p.deep(par.Ragged._of(np.array([0, 2, 2, 3]), inner, (3,))).tolist() == [[[0, 2], []], [], [[4, 6, 8, 10]]]
assert p.same(OnGpu(x.reshape(2, 3))).tolist() == [[0, 1, 2], [3, 4, 5]]
assert p.masked(OnGpu(x > 2)) == 3
# Elements that are not aligned as kernels want it, and none at all.
assert p.inc(OnGpu(x[1:4])).tolist() == [2, 3, 4]
assert p.inc(OnGpu(x[:0])).tolist() == []
# Arguments do not change, also of what consumes them.
assert p.set(OnGpu(x)).tolist() == [7, 1, 2, 3, 4, 5] and x[0] == 0
(there,) = p.inc.upload(OnGpu(x))
x[0] = 9
assert there.get()[0] == 0 and p.inc(OnGpu(x))[0] == 10
x[0] = 0
# What is passed on and given out is not the argument's memory, and does not change with it.
passed = p.same.options(keep=True)(OnGpu(x.reshape(2, 3)))
x[0] = 9
assert passed.get()[0, 0] == 0
x[0] = 0
assert address(seen(p.same.options(keep=True)(OnGpu(x.reshape(2, 3))))) != address(x)

# Elements are given back when nothing needs them.
lent = OnGpu(np.arange(4.0))
gone = weakref.ref(lent.array)
kept = inc(lent)
del lent
gc.collect()
assert gone() is None

# Out: the same memory, also after the kept value is gone; what another value shares is copied.
first = seen(kept)
again = seen(kept)
assert first.tolist() == again.tolist() == [1, 2, 3, 4] and address(first) != address(again)
ctypes.c_double.from_address(address(first)).value = 5
assert kept.get()[0] == 5 and again[0] == 1
del kept
gc.collect()
assert first.tolist() == [5, 2, 3, 4]
kept = inc(OnGpu(x))
capsule = kept.__dlpack__()
del capsule, kept
# Of two results that are one array each has its own when somebody may write to it.
one, other = p.twice.options(keep=True)(OnGpu(x))
written = seen(one)
ctypes.c_double.from_address(address(written)).value = 5
assert other.get().tolist() == [1, 2, 3, 4, 5, 6] and seen(other).tolist() == [1, 2, 3, 4, 5, 6]
# Nor does a constant change that somebody writes to.
constant = seen(p.constant.options(keep=True)())
ctypes.c_int64.from_address(address(constant)).value = 5
assert constant.tolist() == [5, 2, 3] and p.constant().tolist() == [1, 2, 3]
# No elements are nowhere.
nothing = inc(OnGpu(x[:0]))
assert nothing.__dlpack_device__() == (1, 0) and np.from_dlpack(nothing).tolist() == []
# Copies that are asked for, here or on the processor, or excluded.
kept = inc(OnGpu(x))
copied, shared = seen(kept, copy=True), seen(kept, copy=False)
assert address(copied) != address(shared) and copied.tolist() == shared.tolist() == [1, 2, 3, 4, 5, 6]
refused("would be copied", lambda: kept.__dlpack__(copy=False))
assert np.from_dlpack(Exported(kept.__dlpack__(dl_device=(1, 0)))).tolist() == [1, 2, 3, 4, 5, 6]
refused("would be copied", lambda: kept.__dlpack__(dl_device=(1, 0), copy=False))
refused("on another device", lambda: kept.__dlpack__(dl_device=(2, 1)))
kept = inc(OnGpu(x))
assert kept.__dlpack__(stream=7, max_version=(1, 0)) is not None
matrix = p.same.options(keep=True)(OnGpu(x.reshape(2, 3)))
assert matrix.shape == (2, 3) and seen(matrix).tolist() == [[0, 1, 2], [3, 4, 5]]
rows = p.rows.options(keep=True)([[1.0], [], [2.0, 3.0]])
assert rows.is_ragged and rows.shape == (3,) and rows.offsets.tolist() == [0, 1, 1, 3]
assert seen(rows.values).tolist() == [2, 4, 6]
deep = p.deep.options(keep=True)([[[1.0], []], [], [[2.0, 3.0]]])
assert deep.offsets.tolist() == [0, 2, 2, 3] and deep.values.offsets.tolist() == [0, 1, 1, 3]
assert seen(deep.values.values).tolist() == [2, 4, 6]

# Mistakes.
refused("GPU 1, but the program runs on GPU 0", p.inc, OnGpu(x, 1))
refused("of another type", p.inc, OnGpu(x.astype(np.float32)))
refused("not one after the other", p.inc, OnGpu(x[::2]))
refused("found an array of shape (2, 3) on a GPU", p.inc, OnGpu(x.reshape(2, 3)))
refused("is not one array", rows.__dlpack__)
refused("is not one array", p.pairs.options(keep=True)(x).__dlpack__)
refused("no rows of any length", lambda: matrix.offsets)
assert np.from_dlpack(par.compile("entry f (xs: []f64) = map (+ 1) xs").f.options(keep=True)(x)).tolist() == [1, 2, 3, 4, 5, 6]
"""

# A million elements go in, through two programs and out; what is left to copy are records of failures, lengths and the like.
WITHOUT_COPIES = r"""
one = par.compile("entry inc (xs: []f64): []f64 = map (+ 1) xs", backend="cuda").inc.options(keep=True)
two = par.compile("entry rows (xss: [][]f64): [][]f64 = map (map (* 2)) xss", backend="cuda").rows.options(keep=True)
x = np.arange(1e6)
made = one(OnGpu(x))
rows = two(par.Ragged._of(np.array([0, 10, 10, 1000000]), made, (3,)))
assert (seen(rows.values) == 2 * (x + 1)).all()
"""

# A torch without CUDA, all of whose tensors say that they are on a GPU.
TENSORS = r"""
import torch
from par_array import torch as par_torch


def leaves(self):
    raise AssertionError("a tensor leaves the GPU")


def from_dlpack(kept):
    # No elements are nowhere.
    if kept.shape == (0,):
        return torch.utils.dlpack.from_dlpack(kept.__dlpack__())
    assert kept.__dlpack_device__() == (2, 0)
    return torch.utils.dlpack.from_dlpack(moved(kept.__dlpack__(), 1))


torch.from_dlpack = from_dlpack
torch.Tensor.device = torch.device("cuda", 0)
torch.Tensor.__dlpack_device__ = lambda self: (2, 0)
torch.Tensor.__dlpack__ = lambda self, *, stream: moved(torch.utils.dlpack.to_dlpack(self), 2)
torch.Tensor.to = lambda self, device: self
torch.Tensor.cpu = torch.Tensor.numpy = leaves
p = par.compile(r'''
entry scaled [n] (a: f64) (xs: [n]f64): [n]f64 = map (\x -> f64.sin (a * x)) xs
entry squares (xs: []f64): f64 = f64.sum (map (** 2) xs)
entry spread (xss: [][]f64): [][]f64 = map (\xs -> map (\x -> x * f64.sum xs) xs) xss
entry both (xs: []f64): ([]f64, []i64, [](f64, i64)) = (map (* 2) xs, map i64.f64 xs, map (\x -> (x, 1)) xs)
''', backend="cuda")
scaled, squares, spread = (par_torch.function(p[name]) for name in ("scaled", "squares", "spread"))


def leaf(values):
    return torch.tensor(values, dtype=torch.float64, requires_grad=True)


x = leaf([0.5, -1.0, 2.0])
y = scaled(0.7, x)
assert np.allclose(y.tolist(), np.sin(0.7 * np.array([0.5, -1.0, 2.0])))
(g,) = torch.autograd.grad((y * y).sum(), x)
assert np.allclose(g.tolist(), 0.7 * np.sin(1.4 * np.array([0.5, -1.0, 2.0])))
rows = par_torch.Jagged(np.array([0, 2, 2, 3]), x)
spread_rows = spread(rows)
assert isinstance(spread_rows, par_torch.Jagged)
assert spread_rows.values.tolist() == [-0.25, 0.5, 4.0]
(g,) = torch.autograd.grad(spread_rows.values.sum(), x)
assert g.tolist() == [-1.0, -1.0, 4.0]
none = leaf([])
(g,) = torch.autograd.grad(spread(par_torch.Jagged(np.zeros(3, np.int64), none)).values.sum(), none)
assert g.shape == (0,)
assert squares(x.detach()).item() == 5.25
doubled, whole, pairs = par_torch.function(p.both)(x.detach())
assert doubled.tolist() == [1.0, -2.0, 4.0] and whole.tolist() == [0, -1, 2]
# Kept values as tensors.
scaled_there = p.scaled.options(keep=True)
assert scaled_there(0.0, x.detach()).to_torch().tolist() == [0, 0, 0]
jagged = p.spread.options(keep=True)([[1.0], [2.0, 3.0]])
if par_torch.HAS_JAGGED:
    assert jagged.to_torch().values().tolist() == [1, 10, 15]
else:
    refused("no jagged tensors", jagged.to_torch)
# Rows that do not begin with the first element.
assert spread(par_torch.Jagged(np.array([1, 2, 3]), x.detach())).values.tolist() == [1.0, 4.0]
"""

needs_compiler = pytest.mark.skipif(shutil.which("c++") is None, reason="the stand-ins for a GPU are built by a C++ compiler")


@needs_compiler
def test_arrays(tmp_path):
    on_stand_ins(tmp_path, STAND_INS + ARRAYS)


@needs_compiler
def test_elements_stay_where_they_are(tmp_path):
    report = on_stand_ins(tmp_path, STAND_INS + WITHOUT_COPIES)
    (up, down) = re.search(r"(\d+) bytes uploaded, (\d+) bytes downloaded", report).groups()
    assert int(up) < 10_000 and int(down) < 10_000, report


@needs_compiler
def test_tensors(tmp_path):
    pytest.importorskip("torch")
    on_stand_ins(tmp_path, STAND_INS + TENSORS)
