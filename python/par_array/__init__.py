"""Par: nested parallelism on irregular arrays, compiled.

`compile` makes a program of a text or a file; its entry points are functions. Arrays with rows of any length are `Ragged`.
"""

from ._errors import (
    CompileError,
    Diagnostic,
    Error,
    InternalError,
    RuntimeError,
    Unavailable,
    Unsupported,
)
from ._native import Entry, Hidden, Kept, __version__
from ._picture import Picture, picture
from ._program import Program, compile, save_case
from ._ragged import Cases, Ragged

__all__ = [
    "Cases",
    "CompileError",
    "Diagnostic",
    "Entry",
    "Error",
    "Hidden",
    "InternalError",
    "Kept",
    "Picture",
    "Program",
    "Ragged",
    "RuntimeError",
    "Unavailable",
    "Unsupported",
    "__version__",
    "compile",
    "picture",
    "save_case",
]

for _public in (Cases, CompileError, Diagnostic, Error, InternalError, Picture, Program, Ragged, RuntimeError, Unavailable, Unsupported):
    # Where people find them.
    _public.__module__ = "par_array"
compile.__module__ = picture.__module__ = save_case.__module__ = "par_array"


def load_ipython_extension(ipython: object) -> None:
    """What `%load_ext par_array` calls."""
    from . import _magic

    _magic.load(ipython)
