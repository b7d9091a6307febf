"""Pictures of results: plots, and arrays that are pictures."""

from __future__ import annotations

import os
from typing import Any

from ._native import Entry


class Picture:
    """A plot (SVG) or a picture (PNG), which notebooks show.

    Attributes
    ----------
    mime : str
        `image/svg+xml` or `image/png`.
    data : bytes
        What its file holds.
    """

    def __init__(self, mime: str, data: bytes) -> None:
        self.mime = mime
        self.data = bytes(data)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes its file.

        Parameters
        ----------
        path : str or path
            Where; the ending should be that of its type.
        """
        with open(path, "wb") as file:
            file.write(self.data)

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        return {self.mime: self.data if self.mime == "image/png" else self.data.decode()}

    def __repr__(self) -> str:
        return f"<Picture {self.mime}, {len(self.data)} bytes>"


def picture(entry: Entry, *args: Any, kind: str = "plot") -> Picture:
    """A picture of what an entry point gives, as `par literate` makes it.

    Parameters
    ----------
    entry : Entry
        The entry point.
    *args
        Its arguments, in order.
    kind : {'plot', 'lines', 'points', 'histogram', 'heat', 'img'}
        A plot, of the kind that suits the type or of another one; or the picture whose pixels a matrix holds.

    Returns
    -------
    Picture
        Shown by notebooks; `save` writes it to a file.

    Raises
    ------
    TypeError
        There is no such picture of a value of this type.
    """
    return Picture(*entry._picture(kind, *args))
