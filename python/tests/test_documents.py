"""Every block of Python in the documents does what the text around it says."""

import doctest
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DOCUMENTS = [ROOT / "docs" / "python.md", ROOT / "README.md", ROOT / "python" / "README.md"]


def blocks(text: str) -> list[tuple[str, str, int]]:
    """Kind, lines and first line of each block."""
    found, kind, lines, start = [], None, [], 0
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith("```"):
            if kind is None:
                kind, lines, start = line[3:].strip(), [], number + 1
            else:
                found.append((kind, "\n".join(lines) + "\n", start))
                kind = None
        elif kind is not None:
            lines.append(line)
    return found


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda p: str(p.relative_to(ROOT)))
def test_document(path):
    """The blocks of a document share their names."""
    names: dict = {}
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    count = 0
    for kind, text, line in blocks(path.read_text(encoding="utf-8")):
        if kind == "python":
            exec(compile(text, f"{path.name}:{line}", "exec"), names)
            count += 1
        elif kind == "pycon":
            test = doctest.DocTestParser().get_doctest(text, names, f"{path.name}:{line}", str(path), line)
            said: list[str] = []
            result = doctest.DocTestRunner(optionflags=flags).run(test, out=said.append, clear_globs=False)
            assert result.failed == 0, "".join(said)
            names = test.globs
            count += 1
    assert count > 0
