"""Par beside awkward and NumPy, and numba, torch and JAX where they are installed, with one thread each, on the same arrays in one process:
`python python/bench/run.py [--rows N]`.

Prints a table in Markdown. Each figure is the least processor time of some runs, taken in turns; results are compared first. What reading all
elements once and copying them take says how much faster anything could be.
"""

from __future__ import annotations

import argparse
import os
import platform
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

import awkward as ak  # noqa: E402
import numpy as np  # noqa: E402

import others  # noqa: E402

import par_array as par  # noqa: E402

RUNS = 7


def times(works: dict[str, Callable[[], Any]]) -> dict[str, float]:
    """The least processor time of each, in seconds, taken in turns."""
    least = dict.fromkeys(works, float("inf"))
    for _ in range(RUNS):
        for name, work in works.items():
            start = time.process_time()
            work()
            least[name] = min(least[name], time.process_time() - start)
    return least


def numpy_sums(rows: par.Ragged) -> np.ndarray:
    """Sums of rows, empty ones too."""
    filled = np.flatnonzero(rows.lengths)
    sums = np.zeros(len(rows))
    sums[filled] = np.add.reduceat(rows.values, rows.offsets[filled])
    return sums


def numpy_filtered(rows: par.Ragged) -> par.Ragged:
    """Elements above one half."""
    keep = rows.values > 0.5
    kept = np.concatenate([[0], np.cumsum(keep)])
    return par.Ragged(kept[rows.offsets], rows.values[keep])


def numpy_sorted(rows: par.Ragged) -> par.Ragged:
    """Rows sorted by one sort of pairs."""
    owner = np.repeat(np.arange(len(rows)), rows.lengths)
    return par.Ragged(rows.offsets, rows.values[np.lexsort((rows.values, owner))])


def awkward_masses(jets: Any) -> Any:
    """The largest mass of two jets."""
    a, b = ak.unzip(ak.combinations(jets, 2))
    squares = 2 * a.pt * b.pt * (np.cosh(a.eta - b.eta) - np.cos(a.phi - b.phi))
    return np.sqrt(ak.fill_none(ak.max(squares, axis=1), 0))


def awkward_nearest(x: Any, y: Any) -> Any:
    """The three smallest distances of each point."""
    ax, bx = ak.unzip(ak.cartesian([x, x], nested=True))
    ay, by = ak.unzip(ak.cartesian([y, y], nested=True))
    return ak.sort((ax - bx) ** 2 + (ay - by) ** 2, axis=2)[:, :, :3]


def neighbours(p: par.Program, rows: par.Ragged, events: par.Ragged) -> dict[str, dict[str, Callable[[], Any]]]:
    """Programs near to the others."""
    singles = par.Ragged(rows.offsets, rows.values.astype(np.float32))
    whole = par.Ragged(rows.offsets, (rows.values * 1e9).astype(np.int32))
    akrows, aksingles, akwhole, akevents = (some.to_awkward() for some in (rows, singles, whole, events))
    return {
        "sort in rows, f32": {"Par": lambda: p.sorted_f32(singles), "awkward": lambda: ak.sort(aksingles, axis=1)},
        "sort in rows, i32": {"Par": lambda: p.sorted_i32(whole), "awkward": lambda: ak.sort(akwhole, axis=1)},
        "jets by momentum": {"Par": lambda: p.by_pt(events), "awkward": lambda: akevents[ak.argsort(akevents.pt, axis=1)]},
        "argsort in rows": {"Par": lambda: p.orders(rows), "awkward": lambda: ak.argsort(akrows, axis=1)},
        "largest of rows": {"Par": lambda: p.maxima(rows), "awkward": lambda: ak.fill_none(ak.max(akrows, axis=1), -np.inf)},
        "mean of rows": {"Par": lambda: p.means(rows), "awkward": lambda: ak.fill_none(ak.mean(akrows, axis=1), np.nan)},
    }


def programs(count: int) -> dict[str, dict[str, Callable[[], Any]]]:
    """What is measured: for each program what does it."""
    random = np.random.default_rng(1)
    lengths = random.poisson(5, count)
    total = int(lengths.sum())
    rows = par.Ragged.from_lengths(lengths, random.random(total))
    akrows = rows.to_awkward()
    jets = {"pt": random.exponential(30, total), "eta": random.normal(0, 1.5, total), "phi": random.uniform(-np.pi, np.pi, total)}
    events = par.Ragged(rows.offsets, jets)
    akevents = events.to_awkward()
    buckets = par.Ragged(rows.offsets, (random.random(total), random.random(total)))
    akx, aky = (par.Ragged(rows.offsets, part).to_awkward() for part in buckets.values)
    other = np.zeros(total)
    p = par.compile(Path(__file__).with_name("rows.par"), threads=1)
    found = {
        "sum of rows": {"Par": lambda: p.sums(rows), "awkward": lambda: ak.sum(akrows, axis=1), "NumPy": lambda: numpy_sums(rows)},
        "filter in rows": {"Par": lambda: p.filtered(rows), "awkward": lambda: akrows[akrows > 0.5], "NumPy": lambda: numpy_filtered(rows)},
        "largest mass of two jets": {"Par": lambda: p.masses(events), "awkward": lambda: awkward_masses(akevents)},
        "sort in rows": {"Par": lambda: p.sorted(rows), "awkward": lambda: ak.sort(akrows, axis=1), "NumPy": lambda: numpy_sorted(rows)},
        "three nearest in buckets": {"Par": lambda: p.nearest(buckets), "awkward": lambda: awkward_nearest(akx, aky)},
        "quicksort in rows, recursive": {"Par": lambda: p.quicksorted(rows)},
        "reading all elements": {"NumPy": lambda: rows.values.sum()},
        "copying all elements": {"NumPy": lambda: np.copyto(other, rows.values)},
        **neighbours(p, rows, events),
    }
    for name, more in others.works(rows, events, buckets).items():
        found[name].update(more)
    return found


def flat(x: Any) -> np.ndarray:
    """All numbers in a result, in order."""
    array = x.to_awkward() if isinstance(x, par.Ragged) else ak.Array(x)
    return np.concatenate([np.asarray(ak.flatten(array[field], axis=None)) for field in array.fields] or [np.asarray(ak.flatten(array, axis=None))])


def compare(name: str, works: dict[str, Callable[[], Any]]) -> None:
    """Checks that all give the same."""
    if "Par" not in works:
        return
    expected = works["Par"]()
    for other, work in works.items():
        found = work()
        if name.startswith("three nearest"):
            found = ak.to_numpy(ak.fill_none(ak.pad_none(ak.flatten(ak.Array(found), axis=1), 3, axis=1), np.inf)) if other == "awkward" else found
        assert np.allclose(flat(expected), flat(found), equal_nan=True), f"{name}: {other} differs from Par"


def processor() -> str:
    """The processor's name, where the system says it."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        return next(line.split(":")[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()


def main() -> None:
    """Measures and prints."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    rows = parser.parse_args().rows
    versions = f"Python {sys.version.split()[0]}, NumPy {np.__version__}, awkward {ak.__version__}, par-array {par.__version__}"
    print(f"{rows:,} rows of 5 elements on average (Poisson), doubles; one thread; {processor()}; {versions}. Milliseconds of processor time, the least of {RUNS} runs in turns.\n")
    measured = programs(rows)
    known = {who for works in measured.values() for who in works}
    columns = [who for who in ("Par", "awkward", "NumPy", "numba", "torch", "JAX") if who in known]
    print(f"| program | {' | '.join(columns)} | awkward / Par |\n|{' --- |' * (len(columns) + 2)}")
    for name, works in measured.items():
        compare(name, works)
        found = times(works)
        cells = [f"{1000 * found[who]:.1f}" if who in found else "" for who in columns]
        ratio = f"{found['awkward'] / found['Par']:.1f}" if "awkward" in found and "Par" in found else ""
        print(f"| {name} | {' | '.join(cells)} | {ratio} |", flush=True)


if __name__ == "__main__":
    main()
