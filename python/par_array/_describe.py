"""Signatures and documentation of entry points."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING

from ._convert import identifier

if TYPE_CHECKING:
    from ._native import Entry


def signature(entry: Entry) -> inspect.Signature:
    """As of a function; the types are those of Par."""
    names = [identifier(name) for name, _ in entry.parameters]
    readable = all(name.isidentifier() for name in names) and len(set(names)) == len(names)
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD if readable else inspect.Parameter.POSITIONAL_ONLY
    parameters = [
        inspect.Parameter(name if readable else f"argument_{i}", kind, annotation=type_)
        for i, (name, (_, type_)) in enumerate(zip(names, entry.parameters, strict=True))
    ]
    return inspect.Signature(parameters, return_annotation=entry.result)


def documentation(entry: Entry) -> str:
    """The entry point's head, and what is written about it in the program."""
    parameters = "".join(f" ({name}: {type_})" for name, type_ in entry.parameters)
    head = f"entry {entry.__name__}{parameters}: {entry.result}"
    return f"{head}\n\n{entry.text.strip()}\n" if entry.text else head
