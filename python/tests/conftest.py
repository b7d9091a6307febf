"""What the tests share."""

import os
import pathlib
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

import par_array as par


def address(array: Any) -> int:
    """Where the elements of an array are."""
    return int(array.__array_interface__["data"][0])


def on_stand_ins(folder: pathlib.Path, text: str) -> str:
    """Runs a program of Python on the stand-ins for a driver and a compiler of a GPU, which are built into this folder; what it and they say on standard error."""
    root = pathlib.Path(__file__).parents[2]
    subprocess.run([root / "kernels/host/build", folder], check=True)
    environment = dict(
        os.environ,
        LD_LIBRARY_PATH=str(folder),
        PAR_NVRTC=str(folder / "libnvrtc.so"),
        PAR_CACHE=str(folder / "cubins"),
        EMU_REPORT="1",
    )
    done = subprocess.run([sys.executable, "-c", text], env=environment, stderr=subprocess.PIPE, text=True)
    assert done.returncode == 0, done.stderr
    return done.stderr


@pytest.fixture(scope="session")
def program() -> par.Program:
    """Entry points of many types."""
    return par.compile(
        r"""
-- | The length of every row.
--
-- Rows may have any length.
entry norms (rows: [][]f64): []f64 = map (\r -> f64.sqrt (f64.sum (map (** 2) r))) rows
entry inc (xs: []f64): []f64 = map (+ 1) xs
entry sum (xs: []f64): f64 = f64.sum xs
entry sum_i8 (xs: []i8): i64 = i64.sum (map i64.i8 xs)
entry id (xs: []f64): []f64 = xs
entry twice (xs: []f64): ([]f64, []f64) = (xs, xs)
entry both (xss: [][]f64): ([][]f64, [][]i64) = (map (map (+ 1)) xss, map (\xs -> iota (length xs)) xss)
entry same (xss: [][]f64): [][]f64 = xss
entry positive (xss: [][]f64): [][]f64 = map (filter (> 0)) xss
entry transposed [n][m] (a: [n][m]f32): [m][n]f32 = transpose a
entry regular [n][m] (a: [n][m]f64): []f64 = map f64.sum a
entry deep (n: i64): [][][]i64 = map (\i -> map iota (iota i)) (iota n)
entry sums (xsss: [][][]i64): [][]i64 = map (map i64.sum) xsss
entry pairs (xss: [][](i64, f64)): [][](i64, f64) = map (map (\(i, x) -> (i + 1, 2 * x))) xss
entry spmv (rows: [][](i64, f64)) (x: []f64): []f64 = map (\row -> f64.sum (map (\(j, v) -> v * x[j]) row)) rows
entry points (ps: []{x: f64, y: f64}): []{x: f64, y: f64} = map (\p -> {x = p.y, y = p.x}) ps
entry point (p: {x: f64, y: f64}): {x: f64, y: f64, r: f64} = {x = p.x, y = p.y, r = f64.sqrt (p.x ** 2 + p.y ** 2)}
entry area (s: #circle f64 | #box f64 f64 | #nothing): f64 =
  match s case #circle r -> r case #box a b -> a * b case #nothing -> 0
entry shapes (n: i64): [](#circle f64 | #box f64 f64) =
  map (\i -> if i % 2 == 0 then #circle (f64.i64 i) else #box 1 (f64.i64 i)) (iota n)
entry areas (ss: [](#circle f64 | #box f64 f64)): []f64 =
  map (\s -> match s case #circle r -> r case #box a b -> a * b) ss
entry at (xs: []f64) (i: i64): f64 = xs[i]
entry rows_at (xss: [][]f64) (i: i64): []f64 = map (\xs -> xs[i]) xss
entry reversed (s: []u8): []u8 = reverse s
entry opposite (bs: []bool): []bool = map (\b -> !b) bs
entry spend (xs: *[]f64): []f64 = xs with [0] = 7
entry constant: []i64 = [1, 2, 3]
entry long (n: i64): i64 = loop s = 0 for i < n do (s * 3 + i) % 1000003
entry large (n: i64): i64 = i64.sum (scan (+) 0 (iota n))
entry double (x: f32): f32 = 2 * x
entry half (xs: []f16): []f16 = map (/ 2) xs
entry next' (lambda: i64): i64 = lambda + 1
entry explain (n: i64): i64 = n
"""
    )


NAMES = ["i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "f16", "f32", "f64", "bool"]
DTYPES = [np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64, np.float16, np.float32, np.float64, np.bool_]
EVERY_DTYPE = list(zip(NAMES, DTYPES, strict=True))
"""Scalar types of Par and of NumPy."""
