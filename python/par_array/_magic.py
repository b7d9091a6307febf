"""Par in IPython and its notebooks: `%load_ext par_array`.

`%%par` compiles a cell and binds its entry points, `%par` evaluates an expression or makes a picture of its value.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable
from typing import Any

import numpy as np

from ._errors import Error
from ._picture import picture
from ._program import compile
from ._ragged import Ragged

NAMES = {"i": "i", "u": "u", "f": "f"}


class Session:
    """What `%%par` has compiled, which expressions of `%par` may use."""

    def __init__(self, shell: Any) -> None:
        self.shell = shell
        self.text = ""

    def cell(self, line: str, text: str) -> None:
        """`%%par [NAME] [--threads N] [--backend NAME] [--memory-limit BYTES]`: compiles the cell, and binds its entry points in Python.

        With a NAME the program is bound too. The definitions stay known to `%par`.
        """
        name, options = _options(line)
        program = self._shown(lambda: compile(text, **options))
        self.text = text
        bound = {attribute: entry for attribute, entry in vars(program).items() if not attribute.startswith("_")}
        self.shell.push({**bound, **({name: program} if name else {})})
        for warning in program.warnings:
            self._display(warning)

    def line(self, line: str) -> Any:
        """`%par EXPRESSION`: the value of an expression, in which the definitions of the last `%%par` and Python's numbers and arrays are known.

        `%par :plot EXPRESSION` is a picture of it, as in `par literate`; also `:lines`, `:points`, `:histogram`, `:heat` and `:img`.
        """
        command = re.match(r"\s*:(\w+)\s", line)
        if command is None:
            return self._shown(lambda: self._evaluated(line))
        return self._shown(lambda: self._evaluated(line[command.end() :], lambda entry, *args: picture(entry, *args, kind=command[1])))

    def _evaluated(self, expression: str, call: Callable[..., Any] = lambda entry, *args: entry(*args)) -> Any:
        words = dict.fromkeys(re.findall(r"(?<![\w.'#\"])[A-Za-z_][\w']*", expression))
        own = set(re.findall(r"^\s*(?:def|entry|let)\s+([\w']+)", self.text, re.MULTILINE))
        values = {word: self.shell.user_ns[word] for word in words if word in self.shell.user_ns and word not in own}
        typed = {word: kind for word, value in values.items() if (kind := type_of(value)) is not None}
        parameters = "".join(f" ({word}: {kind})" for word, kind in typed.items())
        program = compile(f"{self.text}\nentry it__{parameters} =\n  {expression}\n")
        return call(program["it__"], *(values[word] for word in typed))

    def _shown(self, work: Any) -> Any:
        """The result of work. An error is shown as a page's part where there are pages, and then raised."""
        try:
            return work()
        except Error as error:
            if type(self.shell).__name__ == "ZMQInteractiveShell":
                self._display(error)
                error.was_shown = True
            raise

    @staticmethod
    def _display(value: Any) -> None:
        from IPython.display import display

        display(value)


def _options(line: str) -> tuple[str | None, dict[str, Any]]:
    name, options, words = None, {}, iter(shlex.split(line))
    kinds = {"--threads": int, "--backend": str, "--memory-limit": int, "--device": int}
    for word in words:
        if word in kinds:
            options[word[2:].replace("-", "_")] = kinds[word](next(words, ""))
        elif word.startswith("-") or name is not None:
            raise ValueError(f"%%par does not know '{word}': %%par [NAME] [{' | '.join(kinds)} VALUE]")
        else:
            name = word
    return name, options


def type_of(value: Any) -> str | None:
    """The type in Par of a number or an array of Python; None for other values."""
    if isinstance(value, (bool, np.bool_)):
        return "bool"
    if isinstance(value, int):
        return "i64"
    if isinstance(value, float):
        return "f64"
    if isinstance(value, (np.ndarray, np.generic)):
        if value.dtype.kind == "b":
            return "[]" * value.ndim + "bool"
        kind = NAMES.get(value.dtype.kind)
        return "[]" * value.ndim + f"{kind}{8 * value.dtype.itemsize}" if kind else None
    if isinstance(value, Ragged) and isinstance(value.flat, np.ndarray):
        inner = type_of(value.flat[:0].reshape(-1)[:0])
        return "[]" * (value.ndim - 1) + inner if inner else None
    return None


def load(shell: Any) -> Session:
    """Registers the commands."""
    session = Session(shell)
    shell.register_magic_function(session.cell, "cell", "par")
    shell.register_magic_function(session.line, "line", "par")
    return session

