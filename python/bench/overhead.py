"""What a call costs beside its work: `python python/bench/overhead.py`.

Microseconds of processor time of a call on ten elements, bytes that a million calls keep, milliseconds of an import beside that of NumPy.
"""

import gc
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

import par_array as par

TEXT = """
entry inc (xs: []f64): []f64 = map (+ 1) xs
entry sum (xs: []f64): f64 = f64.sum xs
entry sums (rows: [][]f64): []f64 = map f64.sum rows
entry scaled (rows: [][]f64): [][]f64 = map (map (* 2)) rows
entry id (x: i64): i64 = x
"""


def per_call(work: Callable[[], object], calls: int = 20_000) -> float:
    """Microseconds of a call: the least of some rounds."""
    least = float("inf")
    for _ in range(5):
        start = time.process_time()
        for _ in range(calls):
            work()
        least = min(least, (time.process_time() - start) / calls)
    return 1e6 * least


def resident() -> int:
    """Bytes of memory that the process has."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096


def importing(module: str) -> float:
    """Milliseconds of processor time of an import in a new process, the least of some."""
    text = f"import time; t = time.process_time(); import {module}; print(time.process_time() - t)"
    return 1000 * min(float(subprocess.check_output([sys.executable, "-c", text])) for _ in range(10))


def main() -> None:
    """Measures and prints."""
    p = par.compile(TEXT)
    x = np.arange(10.0)
    rows = par.Ragged.from_lengths([4, 0, 6], x)
    for name, work in (
        ("a number", lambda: p.id(1)),
        ("an array, a number back", lambda: p.sum(x)),
        ("an array, an array back", lambda: p.inc(x)),
        ("a Ragged, an array back", lambda: p.sums(rows)),
        ("a Ragged, a Ragged back", lambda: p.scaled(rows)),
        ("NumPy: x + 1", lambda: x + 1),
    ):
        print(f"{name}: {per_call(work):.2f} µs")
    for _ in range(10_000):
        p.scaled(rows)
    gc.collect()
    before = resident()
    for _ in range(1_000_000):
        p.inc(x)
    for _ in range(100_000):
        p.scaled(rows)
    gc.collect()
    print(f"kept by 1,100,000 calls: {resident() - before} bytes")
    print(f"import: NumPy {importing('numpy'):.0f} ms, par_array with it {importing('par_array'):.0f} ms")


if __name__ == "__main__":
    main()
