"""Programs: compiled texts whose entry points are functions."""

from __future__ import annotations

import os
import threading
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _native
from ._convert import fields, identifier
from ._errors import Diagnostic, diagnostics
from ._ragged import Ragged

if TYPE_CHECKING:
    from pathlib import Path

CACHED = 256
_cache: OrderedDict[tuple[Any, ...], Program] = OrderedDict()
_lock = threading.Lock()


def compile(
    program: str | os.PathLike[str],
    *,
    backend: str = "cpu",
    device: int = 0,
    threads: int | None = None,
    memory_limit: int | None = None,
    reproducible: bool = False,
    strict: bool = False,
) -> Program:
    """Compiles a program.

    A program that was compiled before, from the same text and files with the same options, is not compiled again.

    Parameters
    ----------
    program : str or path
        The program's text; or the path of its file: a path object, or a string on one line that ends in `.par`.
    backend : {'cpu', 'cuda', 'auto', 'interp', 'flat-interp'}
        What runs it; 'auto' is a GPU where there is one, else the processor. The interpreters are slow and check everything.
    device : int
        Number of the GPU.
    threads : int, optional
        On how many threads a call runs; one for each processor, if nothing is said.
    memory_limit : int, optional
        Bytes that a call may hold besides its arguments. What is nested then goes chunk by chunk.
    reproducible : bool
        Results are the same on every machine, also of `scatter` with several values for one index.
    strict : bool
        Arguments that would have to be copied or converted are refused.

    Returns
    -------
    Program

    Raises
    ------
    CompileError
        The program is wrong.
    Unsupported
        It uses something that is not implemented.
    OSError
        The file cannot be read.
    """
    path = _path(program)
    text = str(program) if path is None else path.read_text(encoding="utf-8")
    name = "program.par" if path is None else str(path)
    options = {
        "backend": backend,
        "device": device,
        "threads": threads or 0,
        "memory_limit": memory_limit,
        "reproducible": reproducible,
        "strict": strict,
    }
    return made_of(text, name, options)


def made_of(text: str, name: str, options: Mapping[str, Any]) -> Program:
    """The program of a text with a name, which was compiled before perhaps."""
    key = (text, name, os.getcwd(), *options.values())
    with _lock:
        known = _cache.get(key)
        if known is not None:
            _cache.move_to_end(key)
    if known is not None and known._is_current():
        return known
    made = Program(text, name, options)
    with _lock:
        _cache[key] = made
        while len(_cache) > CACHED:
            _cache.popitem(last=False)
    return made


def _path(program: str | os.PathLike[str]) -> Path | None:
    # Not with the package: it takes some milliseconds.
    from pathlib import Path

    if isinstance(program, os.PathLike):
        return Path(program)
    if not isinstance(program, str):
        raise TypeError(f"a program is a text or a path, not {type(program).__qualname__}")
    is_path = program.endswith((".par", ".fut")) and "\n" not in program
    return Path(program) if is_path else None


class Program:
    """A compiled program. Its entry points are attributes: `program.f(x)`; `program['f']` where the name is not one of Python's.

    Several threads may call it at the same time. It can be pickled: then its text is, and it is compiled again.
    """

    def __init__(self, text: str, name: str, options: Mapping[str, Any]) -> None:
        self._made_from = (text, name, dict(options))
        self._native = _native.compile(text, name, **options)
        self._entries = {entry.__name__: entry for entry in self._native.entries()}
        for name, entry in self._entries.items():
            if not hasattr(type(self), identifier(name)):
                setattr(self, identifier(name), entry)

    @property
    def entries(self) -> Mapping[str, _native.Entry]:
        """The entry points by name, in the order of the program."""
        return MappingProxyType(self._entries)

    @property
    def warnings(self) -> list[Diagnostic]:
        """Warnings of the compiler."""
        return diagnostics(self._native.warnings())

    @property
    def backend(self) -> str:
        """The back end that runs it; what 'auto' stands for."""
        return self._native.backend()

    def __getitem__(self, name: str) -> _native.Entry:
        if name not in self._entries:
            raise KeyError(f"there is no entry point '{name}', only {', '.join(self._entries)}")
        return self._entries[name]

    def __getattr__(self, name: str) -> _native.Entry:
        # Entry points are found without this.
        entries = ", ".join(self.__dict__.get("_entries", ()))
        raise AttributeError(f"there is no entry point '{name}', only {entries}", name=name, obj=self)

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)

    def explain(self, entry: str | None = None, *, width: int = 120) -> Explanation:
        """What became of an entry point: its bulk operations beside its lines. A page in notebooks, a listing elsewhere."""
        if entry is None:
            entry = "main" if "main" in self._entries else next(iter(self._entries), "main")
        text = self._native.explain(entry, width, False)
        return Explanation(text, self._native.explain(entry, width, True))

    def _is_current(self) -> bool:
        """True if the files that it was compiled from are what they were."""
        text, main, _ = self._made_from
        for name, before in self._native.sources():
            if name == main and before == text:
                continue
            try:
                with open(name, encoding="utf-8") as file:
                    now = file.read()
                if now != before:
                    return False
            except OSError:
                return False
        return True

    def __reduce__(self) -> tuple[Any, ...]:
        return (Program, self._made_from)

    def __repr__(self) -> str:
        heads = "".join(f"\n    {entry!r}" for entry in self._entries.values())
        return f"<program {self._made_from[1]}{heads}>"


def save_case(path: str | os.PathLike[str], entry: _native.Entry, *arguments: Any, **named: Any) -> Any:
    """Calls an entry point, and saves arguments and result as a case for `par test` and `par bench`: an archive of NumPy.

    In the program stands `-- input @ case.npz output @ case.npz` then.

    Parameters
    ----------
    path : str or path
        The archive, `case.npz`.
    entry : Entry
        The entry point.
    *arguments, **named
        Its arguments: numbers, arrays, Ragged, dictionaries and named tuples of these.

    Returns
    -------
    The result of the call.

    Raises
    ------
    TypeError
        If an argument or a result has no form in an archive.
    """
    result = entry(*arguments, **named)
    names = [name for name, _ in entry.parameters]
    by_name = {**dict(zip(names, arguments, strict=False)), **named}
    is_several = entry.result.startswith("(")
    results = {f"result{i}": part for i, part in enumerate(result)} if is_several else {"result": result}
    parts: dict[str, Any] = {}
    for name, value in {**by_name, **results}.items():
        parts.update(_archived(name, value))
    np.savez(path, **parts)
    return result


def _archived(name: str, value: Any) -> dict[str, Any]:
    """The arrays of a value with their names."""
    inner = value if isinstance(value, dict) else fields(value)
    if inner is not None:
        return {key: part for field, value in inner.items() for key, part in _archived(f"{name}.{field}", value).items()}
    if isinstance(value, list) and any(np.ndim(row) for row in value):
        value = Ragged.from_rows(value)
    if isinstance(value, Ragged):
        if len(value.outer) > 1:
            raise TypeError(f"{name}: an archive has no dimensions around rows of any length")
        return {f"{name}.offsets": value.offsets, **_archived(f"{name}.values", value.values)}
    array = np.asarray(value)
    if array.dtype.kind not in "biuf":
        raise TypeError(f"{name}: a value of type {type(value).__qualname__} has no form in an archive")
    return {name: array}


class Explanation:
    """What became of an entry point, as text and as a page."""

    def __init__(self, text: str, page: str) -> None:
        self.text, self.page = text, page

    def __str__(self) -> str:
        return self.text

    __repr__ = __str__

    def _repr_html_(self) -> str:
        import html

        # The page has styles of its own, which must not be those of the notebook.
        style = "width: 100%; height: 32em; border: 1px solid #ccc"
        return f'<iframe srcdoc="{html.escape(self.page)}" style="{style}"></iframe>'
