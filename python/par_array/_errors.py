"""Exceptions."""

from __future__ import annotations

import builtins
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Diagnostic:
    """One message about a program.

    Lines and columns count from 1; they and the file are None if the message has no place.
    """

    severity: str
    message: str
    code: str | None = None
    file: str | None = None
    line: int | None = None
    column: int | None = None
    end_line: int | None = None
    end_column: int | None = None
    notes: tuple[str, ...] = ()
    rendered: str = field(default="", repr=False)

    def __str__(self) -> str:
        return self.rendered.rstrip()

    def _repr_html_(self) -> str:
        import html

        return f'<pre class="par-diagnostic">{html.escape(str(self))}</pre>'


def diagnostics(text: str) -> list[Diagnostic]:
    """Diagnostics from JSON."""
    names = ("severity", "message", "code", "file", "line", "column", "end_line", "end_column", "rendered")

    def one(data: dict[str, Any]) -> Diagnostic:
        known = {name: data.get(name) for name in names}
        return Diagnostic(notes=tuple(data.get("notes", ())), **known)  # type: ignore[arg-type]

    import json

    return [one(data) for data in json.loads(text)]


class Error(Exception):
    """What goes wrong in Par. Its text is what the command `par` prints.

    Attributes
    ----------
    diagnostics : list of Diagnostic
        The messages one by one; empty if it is not about a place in a program.
    """

    diagnostics: list[Diagnostic]
    was_shown = False
    """In a notebook: its page's part stands there already."""

    def __init__(self, text: str, data: str = "[]") -> None:
        super().__init__(text)
        self._data = data
        self.diagnostics = diagnostics(data)

    def __reduce__(self) -> tuple[Any, ...]:
        return (type(self), (self.args[0], self._data))

    def _repr_html_(self) -> str:
        import html

        return f'<pre class="par-error">{html.escape(str(self))}</pre>'

    def _render_traceback_(self) -> list[str]:
        """In notebooks: the message, which has the place in the program, and not where Python was."""
        return [f"{type(self).__name__}: {str(self).splitlines()[0] if self.was_shown else self}"]


class CompileError(Error, ValueError):
    """The program is wrong."""


class Unsupported(Error, NotImplementedError):
    """The program is legal, but uses something that is not implemented."""


class RuntimeError(Error, builtins.RuntimeError):
    """A check failed while the program ran: an index, a size, an `assert`."""


class Unavailable(Error):
    """Something that a back end needs is not there, a GPU for one."""


class InternalError(Error):
    """A mistake in Par itself."""
