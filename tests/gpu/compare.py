#!/usr/bin/env python3
"""How fast CuPy (which uses CUB), JAX and PyTorch do what Par's kernels do: the same sizes and the same data, in the same run as
`par bench --kernels`, whose results are read from a file. Libraries that are not installed, or see no GPU, are named and left out.

    par bench --kernels --backend cuda --json --output kernels.json
    tests/gpu/compare.py kernels.json [--device cpu]

Every cell is GB/s of the bytes that must be moved at least (of products of matrices: GFLOP/s), and what part of Par's rate that is. Products are of f32
as it is: TF32 is switched off.
"""
import argparse
import json
import statistics
import sys
import time

RUNS = 9


def scattered(n):
    """The keys of Par's sort, see compiler/cli/src/bench/kernels.rs."""
    import numpy

    with numpy.errstate(over="ignore"):
        x = (numpy.arange(n, dtype=numpy.uint64) + numpy.uint64(0x9E3779B97F4A7C15)) * numpy.uint64(0xBF58476D1CE4E5B9)
        x ^= x >> numpy.uint64(29)
        return ((x * numpy.uint64(0x94D049BB133111EB)) >> numpy.uint64(32)).astype(numpy.uint32)


def rows_of(n, length):
    """Lengths of rows of a length, but one that has an eighth of all elements."""
    import numpy

    giant = n // 8
    short = (n - giant) // length
    lengths = numpy.full(short + 1, length, dtype=numpy.int64)
    lengths[short // 2] = giant
    return lengths


class Library:
    """Operations by the name of Par's kernel; each takes NumPy arrays and gives a function that runs it once."""

    def seconds(self, work):
        work()
        self.wait()
        times = []
        for _ in range(RUNS):
            start = time.perf_counter()
            work()
            self.wait()
            times.append(time.perf_counter() - start)
        return statistics.median(times)


class CuPy(Library):
    name = "CuPy"

    def __init__(self, device):
        import cupy

        if device != "cuda":
            raise RuntimeError("it needs a GPU")
        cupy.cuda.Device(0).use()
        self.np = cupy

    def wait(self):
        self.np.cuda.Stream.null.synchronize()

    def array(self, xs):
        return self.np.asarray(xs)

    def scan(self, xs):
        return lambda: self.np.cumsum(xs, dtype=xs.dtype)

    def reduction(self, xs):
        return lambda: xs.sum()

    def filter(self, xs):
        return lambda: xs[xs % 3 == 0]

    def sort(self, xs):
        return lambda: self.np.argsort(xs, kind="stable")

    def transposition(self, xs, side):
        return lambda: self.np.ascontiguousarray(xs[: side * side].reshape(side, side).T)

    def product(self, a, b):
        # CuPy computes products with full precision unless CUPY_TF32 is set.
        return lambda: self.np.matmul(a, b)

    def histogram(self, xs, bins):
        return lambda: self.np.bincount(xs, minlength=bins)

    def segmented_reduction(self, xs, lengths):
        starts = self.np.concatenate([self.np.zeros(1, dtype=lengths.dtype), self.np.cumsum(lengths)[:-1]])
        return lambda: self.np.add.reduceat(xs, starts)


class Torch(Library):
    name = "PyTorch"

    def __init__(self, device):
        import torch

        if device == "cuda" and not torch.cuda.is_available():
            raise RuntimeError("it sees no GPU")
        self.torch, self.device = torch, device

    def wait(self):
        if self.device == "cuda":
            self.torch.cuda.synchronize()

    def array(self, xs):
        if xs.dtype.name == "uint32":
            # There is no sort of unsigned numbers; the order of the signed ones takes as long.
            xs = xs.view("int32")
        return self.torch.from_numpy(xs).to(self.device)

    def scan(self, xs):
        return lambda: self.torch.cumsum(xs, 0, dtype=xs.dtype)

    def reduction(self, xs):
        return lambda: xs.sum()

    def filter(self, xs):
        return lambda: xs[xs % 3 == 0]

    def sort(self, xs):
        return lambda: self.torch.sort(xs, stable=True)

    def transposition(self, xs, side):
        return lambda: xs[: side * side].reshape(side, side).T.contiguous()

    def product(self, a, b):
        self.torch.backends.cuda.matmul.allow_tf32 = False
        return lambda: self.torch.matmul(a, b)

    def histogram(self, xs, bins):
        return lambda: self.torch.bincount(xs, minlength=bins)

    def segmented_reduction(self, xs, lengths):
        return lambda: self.torch.segment_reduce(xs, "sum", lengths=lengths, unsafe=True)


class Jax(Library):
    name = "JAX"

    def __init__(self, device):
        import jax

        devices = [d for d in jax.devices() if device == "cpu" or d.platform in ("gpu", "cuda")]
        if not devices:
            raise RuntimeError("it sees no GPU")
        self.jax, self.np, self.last = jax, jax.numpy, None

    def wait(self):
        if self.last is not None:
            self.jax.block_until_ready(self.last)

    def array(self, xs):
        return self.np.asarray(xs)

    def run(self, function, *arguments):
        compiled = self.jax.jit(function)

        def work():
            self.last = compiled(*arguments)

        return work

    def scan(self, xs):
        return self.run(lambda x: self.np.cumsum(x, dtype=x.dtype), xs)

    def reduction(self, xs):
        return self.run(lambda x: x.sum(), xs)

    def filter(self, xs):
        size = int((xs % 3 == 0).sum())
        return self.run(lambda x: self.np.compress(x % 3 == 0, x, size=size), xs)

    def sort(self, xs):
        return self.run(lambda x: self.np.argsort(x, stable=True), xs)

    def transposition(self, xs, side):
        # A copy that is asked for: otherwise the compiler only notes that the order has changed.
        return self.run(lambda x: x[: side * side].reshape(side, side).T + 0, xs)

    def product(self, a, b):
        return self.run(lambda a, b: self.np.matmul(a, b, precision=self.jax.lax.Precision.HIGHEST), a, b)

    def histogram(self, xs, bins):
        return self.run(lambda x: self.np.bincount(x, length=bins), xs)

    def segmented_reduction(self, xs, lengths):
        ids = self.np.repeat(self.np.arange(len(lengths)), lengths)
        count = len(lengths)
        return self.run(lambda x, i: self.jax.ops.segment_sum(x, i, count, indices_are_sorted=True), xs, ids)


def cases(library, n):
    """Par's kernel, and what the library does instead."""
    import numpy

    counting = (numpy.arange(n) % 1000).astype(numpy.int32)
    side = 1 << max(5, (n.bit_length() - 1) // 2)
    keys = scattered(n)

    def rows(length):
        lengths = rows_of(n, length)
        floats = counting[: int(lengths.sum())].astype(numpy.float32)
        return library.segmented_reduction(library.array(floats), library.array(lengths))

    yield "scan, i32 sum", lambda: library.scan(library.array(counting))
    yield "scan, f32 sum, fixed shape", lambda: library.scan(library.array(counting.astype(numpy.float32)))
    yield "reduction, f32", lambda: library.reduction(library.array(counting.astype(numpy.float32)))
    yield "filter, a third kept, with positions", lambda: library.filter(library.array(counting))
    for length in (4, 100, 10_000):
        yield f"segmented reduction, f32, rows of {length}", lambda length=length: rows(length)
    yield "transposition", lambda: library.transposition(library.array(counting), side)

    def product():
        n = min(side, 4096)
        a, b = (numpy.resize(counting, (n, n)).astype(numpy.float32) for _ in range(2))
        return library.product(library.array(a), library.array(b))

    yield "product of matrices, f32", product
    for bins in (256, 2048):
        of = (keys % bins).astype(numpy.int64)
        name = f"histogram, 8-byte indices, bins: {bins}"
        yield name, lambda of=of, bins=bins: library.histogram(library.array(of), bins)
    yield "radix sort, 4-byte keys and positions", lambda: library.sort(library.array(keys))


def libraries(device):
    for kind in (CuPy, Torch, Jax):
        try:
            yield kind(device)
        except Exception as why:
            print(f"{kind.name}: left out: {why}".splitlines()[0], file=sys.stderr)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kernels", help="what `par bench --kernels --json` wrote")
    parser.add_argument("--device", choices=["cuda", "cpu"], default="cuda", help="cpu: only to try this script")
    options = parser.parse_args()
    with open(options.kernels) as file:
        measured = json.load(file)["results"]
    par = {(r["kernel"], r["elements"]): r for r in measured if not r["textbook"]}
    found = list(libraries(options.device))
    if not found:
        print("none of CuPy, PyTorch and JAX is installed with a GPU: nothing to compare with")
        return
    print(f"{'kernel':<42} {'elements':>11} {'Par':>10}" + "".join(f" {x.name:>19}" for x in found))
    for n in sorted({n for _, n in par}):
        columns = [dict(cases(library, n)) for library in found]
        for name in columns[0]:
            ours = par[(name, n)]
            amount = ours["operations"] or ours["bytes"]
            rate = amount / ours["seconds"] / 1e9
            line = f"{name:<42} {n:>11} {rate:>10.2f}"
            for library, column in zip(found, columns):
                try:
                    theirs = amount / library.seconds(column[name]()) / 1e9
                    line += f" {theirs:>10.2f} {100 * theirs / rate:>6.0f} %"
                except Exception as why:
                    print(f"{library.name}: {name}: {str(why).splitlines()[0]}", file=sys.stderr)
                    line += f" {'—':>19}"
            print(line, flush=True)


if __name__ == "__main__":
    main()
