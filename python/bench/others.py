"""The programs of run.py in numba, torch and JAX, where they are installed: with offsets by hand."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import par_array as par

Works = dict[str, dict[str, Callable[[], Any]]]


def works(rows: par.Ragged, events: par.Ragged, buckets: par.Ragged) -> Works:
    """For each program what does it, by library."""
    found: Works = {}
    for name, made in (("numba", numba_works), ("torch", torch_works), ("JAX", jax_works)):
        try:
            for program, work in made(rows, events, buckets).items():
                found.setdefault(program, {})[name] = work
        except ImportError:
            continue
    return found


def numba_works(rows: par.Ragged, events: par.Ragged, buckets: par.Ragged) -> dict[str, Callable[[], Any]]:
    """Loops, compiled."""
    import numba

    @numba.njit
    def sums(offsets: Any, values: Any) -> Any:
        result = np.empty(len(offsets) - 1)
        for i in range(len(result)):
            total = 0.0
            for k in range(offsets[i], offsets[i + 1]):
                total += values[k]
            result[i] = total
        return result

    @numba.njit
    def filtered(offsets: Any, values: Any) -> Any:
        starts, kept, count = np.empty_like(offsets), np.empty_like(values), 0
        starts[0] = 0
        for i in range(len(offsets) - 1):
            for k in range(offsets[i], offsets[i + 1]):
                if values[k] > 0.5:
                    kept[count] = values[k]
                    count += 1
            starts[i + 1] = count
        return starts, kept[:count].copy()

    @numba.njit
    def masses(offsets: Any, pt: Any, eta: Any, phi: Any) -> Any:
        result = np.empty(len(offsets) - 1)
        for i in range(len(result)):
            largest = 0.0
            for a in range(offsets[i], offsets[i + 1]):
                for b in range(a + 1, offsets[i + 1]):
                    mass = 2 * pt[a] * pt[b] * (np.cosh(eta[a] - eta[b]) - np.cos(phi[a] - phi[b]))
                    largest = max(largest, mass)
            result[i] = np.sqrt(largest)
        return result

    @numba.njit
    def sorted_rows(offsets: Any, values: Any) -> Any:
        result = values.copy()
        for i in range(len(offsets) - 1):
            result[offsets[i] : offsets[i + 1]].sort()
        return result

    @numba.njit
    def nearest(offsets: Any, x: Any, y: Any) -> Any:
        result = np.full((len(x), 3), np.inf)
        for i in range(len(offsets) - 1):
            for a in range(offsets[i], offsets[i + 1]):
                for b in range(offsets[i], offsets[i + 1]):
                    d = (x[a] - x[b]) ** 2 + (y[a] - y[b]) ** 2
                    for place in range(3):
                        if d < result[a, place]:
                            d, result[a, place] = result[a, place], d
        return result

    jets, (x, y) = events.values, buckets.values
    return {
        "sum of rows": lambda: sums(rows.offsets, rows.values),
        "filter in rows": lambda: par.Ragged(*filtered(rows.offsets, rows.values)),
        "largest mass of two jets": lambda: masses(events.offsets, jets["pt"], jets["eta"], jets["phi"]),
        "sort in rows": lambda: par.Ragged(rows.offsets, sorted_rows(rows.offsets, rows.values)),
        "three nearest in buckets": lambda: nearest(buckets.offsets, x, y),
    }


def torch_works(rows: par.Ragged, _events: par.Ragged, _buckets: par.Ragged) -> dict[str, Callable[[], Any]]:
    """What torch has an operator for."""
    import torch

    torch.set_num_threads(1)
    values, lengths = torch.from_numpy(rows.values), torch.from_numpy(rows.lengths)
    return {"sum of rows": lambda: torch.segment_reduce(values, "sum", lengths=lengths).numpy()}


def jax_works(rows: par.Ragged, _events: par.Ragged, _buckets: par.Ragged) -> dict[str, Callable[[], Any]]:
    """What JAX has an operator for; which row an element is in is found beforehand."""
    import jax

    jax.config.update("jax_enable_x64", True)
    count = len(rows)
    owner = jax.numpy.asarray(np.repeat(np.arange(count), rows.lengths))
    values = jax.numpy.asarray(rows.values)
    sums = jax.jit(lambda v: jax.ops.segment_sum(v, owner, num_segments=count, indices_are_sorted=True))
    return {"sum of rows": lambda: np.asarray(sums(values).block_until_ready())}
