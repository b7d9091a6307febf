"""Flooding to the right with its gradient, four ways that all agree.

Every hole (a zero) takes the value of the nearest element before it that is none: [1, 0, 0, 3, 0] becomes [1, 1, 1, 3, 3]. In torch this
needs a kernel of one's own; in Par it is one scan, whose derivative comes by itself.

    python examples/python/flood.py
"""

import torch

import par_array as par
import par_array.torch

PROGRAM = par.compile(
    r"""
-- | A scan with the operator "the right one unless it is a hole", which is associative.
entry scanned [n] (a: [n]f64): [n]f64 = scan (\x y -> if y == 0 then x else y) 0 a

-- | Where every value comes from: the same scan on indices. Before the first value, from itself.
entry indexed [n] (a: [n]f64): [n]f64 =
  let t = scan i64.max 0 (map2 (\x i -> if x != 0 then i else 0) a (iota n))
  in map (\i -> a[i]) t

-- | The library's.
entry flooded [n] (a: [n]f64): [n]f64 = f64.flood_nonzero a

-- | Rows of any length, each by itself.
entry rows (a: [][]f64): [][]f64 = map f64.flood_nonzero a
"""
)
scanned, indexed, flooded, rows = (par_array.torch.function(PROGRAM[name]) for name in ("scanned", "indexed", "flooded", "rows"))


def reduce_deduce(x: torch.Tensor) -> torch.Tensor:
    """In operations of torch: up a tree, the last value of each pair of blocks; down again, what each block begins with.

    A value is none where it is zero. The last block of a level may be alone: it is filled up with a hole.
    """
    levels = [x]
    while len(levels[-1]) > 1:
        level = torch.nn.functional.pad(levels[-1], (0, len(levels[-1]) % 2))
        left, right = level[0::2], level[1::2]
        levels.append(torch.where(right == 0, left, right))
    before = torch.zeros_like(levels[-1])
    for level in reversed(levels[:-1]):
        padded = torch.nn.functional.pad(level, (0, len(level) % 2))
        left = padded[0::2]
        # What is before the right one of a pair is the left one, unless that is a hole.
        after = torch.where(left == 0, before, left)
        before = torch.stack([before, after], 1).reshape(-1)[: len(level)]
    return torch.where(x == 0, before, x)


def rightflood(x: torch.Tensor) -> torch.Tensor:
    """The one to use."""
    return flooded(x)


FORMS = {"reduce-deduce": reduce_deduce, "scan": scanned, "index": indexed, "flood": rightflood}


def main() -> None:
    """Shows values and gradients of all forms."""
    for name, form in FORMS.items():
        x = torch.tensor([1, 0, 0, 3, 0, 6, 0, 0], dtype=torch.float64, requires_grad=True)
        y = form(x)
        y.sum().backward()
        print(f"{name:>14}: {y.tolist()}, gradient {x.grad.tolist()}")


if __name__ == "__main__":
    main()
