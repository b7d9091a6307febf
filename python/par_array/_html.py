"""Values in notebooks."""

from __future__ import annotations

import html
from typing import Any

import numpy as np

ROWS = 10
ELEMENTS = 8


def ragged(rows: Any) -> str:
    """A table of the first rows: number, length, elements."""
    body = "".join(_row(i, rows[i]) for i in range(min(ROWS, len(rows))))
    more = f"<p>{len(rows) - ROWS} more rows</p>" if len(rows) > ROWS else ""
    kind = getattr(rows.flat, "dtype", "")
    head = f"<p><b>Ragged</b>, {len(rows)} rows, {int(rows.offsets[-1])} elements {html.escape(str(kind))}</p>"
    columns = "<tr><th>row</th><th>length</th><th style='text-align: left'>elements</th></tr>"
    return f"<div class='par-ragged'>{head}<table>{columns}{body}</table>{more}</div>"


def _row(number: int, row: Any) -> str:
    return f"<tr><td>{number}</td><td>{_length(row)}</td><td style='text-align: left'>{html.escape(_elements(row))}</td></tr>"


def _length(row: Any) -> int:
    while isinstance(row, (tuple, dict)):
        row = next(iter(row.values() if isinstance(row, dict) else row))
    return len(row)


def _elements(row: Any) -> str:
    if isinstance(row, tuple):
        return "(" + ", ".join(_elements(part) for part in row) + ")"
    if isinstance(row, dict):
        return "{" + ", ".join(f"{name}: {_elements(part)}" for name, part in row.items()) + "}"
    if isinstance(row, np.ndarray) and row.ndim == 1:
        shown = [f"{x:.6g}" if row.dtype.kind == "f" else str(x) for x in row[:ELEMENTS].tolist()]
        return ", ".join(shown + ["…"] * (len(row) > ELEMENTS))
    return "[" + ", ".join(_elements(inner) for inner in row[:ELEMENTS]) + "]" if not np.isscalar(row) and np.ndim(row) or hasattr(row, "offsets") else str(row)
