"""The extension module: what is written in Rust."""

import inspect
from typing import Any, final

import numpy as np
import numpy.typing as npt

__all__ = [
    "Entry",
    "Hidden",
    "Imported",
    "Kept",
    "Memory",
    "Program",
    "__version__",
    "arrow_export",
    "arrow_import",
    "command",
    "compile",
]
__version__: str

@final
class Entry:
    """An entry point of a program, to be called."""

    @property
    def __name__(self) -> str: ...
    @property
    def __qualname__(self) -> str: ...
    @property
    def __signature__(self) -> inspect.Signature: ...
    @property
    def parameters(self) -> list[tuple[str, str]]:
        """Names and types of the parameters."""

    @property
    def result(self) -> str:
        """Type of the result."""

    @property
    def text(self) -> str | None:
        """What is written about it in the program."""

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any: ...
    def options(
        self,
        *,
        threads: int | None = None,
        memory_limit: int | None = None,
        strict: bool | None = None,
        keep: bool | None = None,
    ) -> Entry:
        """The same with other settings."""

    def upload(self, /, *args: Any, **kwargs: Any) -> tuple[Kept, ...]:
        """Arguments for several calls, on the GPU if the program runs there."""

    def _picture(self, kind: str, /, *args: Any, **kwargs: Any) -> tuple[str, bytes]: ...
    def _addresses(self, /, *args: Any, **kwargs: Any) -> list[int]: ...
    def _made_from(self) -> tuple[str, str, dict[str, Any]]: ...
    def _gpu(self) -> int | None: ...
    def _types(self) -> str: ...

@final
class Hidden:
    """A value of a type that the program hides: it can be passed on, and nothing else."""

@final
class Imported: ...

@final
class Kept:
    """A value that stays where its program has it: on the GPU, if the program runs there."""

    @property
    def type_(self) -> str:
        """Its type in the program."""

    @property
    def is_on_device(self) -> bool:
        """Whether elements are in the memory of a GPU and nowhere else."""

    @property
    def is_ragged(self) -> bool:
        """True if it is an array with rows of any length."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Sizes of its dimensions, up to the first with lengths of its own."""

    @property
    def offsets(self) -> npt.NDArray[np.int64]:
        """Offsets of rows of any length: those of the outermost such dimension."""

    @property
    def values(self) -> Kept:
        """The elements of all those rows, which stay where they are."""

    def get(self) -> Any:
        """The value as calls give it."""

    def to_torch(self) -> Any:
        """A tensor of torch over the same memory; of rows of any length a jagged tensor."""

    def __dlpack__(self, *, dl_device: tuple[int, int] | None = None, copy: bool | None = None, **_others: Any) -> Any:
        """A capsule with the elements, for other libraries."""

    def __dlpack_device__(self) -> tuple[int, int]:
        """The kind and number of the device that the elements are on."""

@final
class Memory: ...

@final
class Program:
    def backend(self) -> str: ...
    def entries(self) -> list[Entry]: ...
    def explain(self, entry: str, width: int, html: bool) -> str: ...
    def sources(self) -> list[tuple[str, str]]: ...
    def warnings(self) -> str: ...

def arrow_export(object: Any) -> tuple[Any, Any]: ...
def arrow_import(object: Any, strict: bool) -> npt.NDArray[np.generic] | Any: ...
def command(arguments: list[str], file: str) -> int: ...
def compile(
    text: str,
    name: str,
    *,
    backend: str,
    device: int,
    threads: int,
    memory_limit: int | None,
    reproducible: bool,
    strict: bool,
) -> Program: ...
