"""IPython's commands, and the notebooks of the examples."""

from pathlib import Path

import numpy as np
import pytest

import par_array as par

FOLDER = Path(__file__).parents[2] / "examples" / "notebooks"


@pytest.fixture
def shell():
    testing = pytest.importorskip("IPython.testing.globalipapp")
    shell = testing.start_ipython() or testing.get_ipython()
    shell.reset()
    shell.run_line_magic("load_ext", "par_array")
    return shell


def test_a_cell_binds_its_entry_points(shell):
    shell.run_cell_magic("par", "program --threads 1", "entry twice (xs: []f64): []f64 = map (* 2) xs\ndef three = 3i64")
    assert shell.user_ns["twice"]([1.0]).tolist() == [2]
    assert isinstance(shell.user_ns["program"], par.Program)
    assert shell.run_line_magic("par", "three + 1") == 4


def test_expressions_know_pythons_values(shell):
    shell.user_ns.update(k=3, x=2.5, flag=True, a=np.arange(3, dtype=np.float32), rows=par.Ragged.from_rows([[1, 2], []]), word="no")
    for expression, expected in (("k + 1", 4), ("x * 2", 5.0), ("!flag", False), ("map (* 2) a", [0, 2, 4]), ("map i64.sum rows", [3, 0]), ("(.k) {k = 1i64}", 1)):
        value = shell.run_line_magic("par", expression)
        assert (value.tolist() if hasattr(value, "tolist") else value) == expected
    with pytest.raises(par.CompileError, match="word"):
        shell.run_line_magic("par", "word")


def test_pictures(shell, tmp_path):
    shell.user_ns.update(a=np.array([1.0, 3.0, 2.0]), pixels=np.array([[0, 255], [255, 0]], dtype=np.uint8))
    shell.run_cell_magic("par", "", "entry waves (n: i64): []f64 = map (\\i -> f64.sin (f64.i64 i / 5)) (iota n)")
    for line in (":plot a", ":points map (* 2) a", ":histogram a", ":lines waves 50", ":heat replicate 3 a"):
        shown = shell.run_line_magic("par", line)
        assert shown.mime == "image/svg+xml"
        assert shown._repr_mimebundle_()["image/svg+xml"].startswith("<svg")
    pixels = shell.run_line_magic("par", ":img pixels")
    assert pixels._repr_mimebundle_()["image/png"].startswith(b"\x89PNG")
    pixels.save(tmp_path / "pixels.png")
    assert (tmp_path / "pixels.png").read_bytes() == pixels.data
    waves = par.picture(shell.user_ns["waves"], 50, kind="lines")
    assert waves.data == shell.run_line_magic("par", ":lines waves 50").data
    assert repr(waves).startswith("<Picture image/svg+xml")
    with pytest.raises(ValueError, match="'pie'; there are plot"):
        shell.run_line_magic("par", ":pie a")
    with pytest.raises(TypeError, match="no plot of f64"):
        shell.run_line_magic("par", ":plot f64.sum a")


def test_wrong_cells(shell):
    with pytest.raises(par.CompileError, match="unknown name"):
        shell.run_cell_magic("par", "", "entry f (x: i64) = x + y")
    with pytest.raises(ValueError, match="--nonsense"):
        shell.run_cell_magic("par", "--nonsense 3", "entry f (x: i64) = x")


def test_values_as_html(program):
    rows = par.Ragged.from_rows([[1.5, 2.0], [], *[[float(i)] * 20 for i in range(20)]])
    page = rows._repr_html_()
    assert "22 rows" in page
    assert "12 more rows" in page
    assert "<td>0</td><td>2</td>" in page
    assert "1.5, 2" in page
    assert "…" in page
    for other in (program.deep(4), par.Ragged([0, 2, 3], (np.arange(3), np.arange(3.0))), par.Ragged([0, 2, 3], {"<a>": np.arange(3)}), par.Ragged([0, 1], np.zeros((1, 2)))):
        assert "<table>" in other._repr_html_()
        assert "<a>" not in other._repr_html_()
    with pytest.raises(par.CompileError) as error:
        par.compile("entry f (x: i64) = x < y")
    assert "&lt; y" in error.value._repr_html_()
    assert "circle" in program.shapes(2)._repr_html_()


@pytest.mark.parametrize("name", ["first_steps.ipynb", "particles.ipynb"])
def test_notebook(name, monkeypatch):
    nbformat = pytest.importorskip("nbformat")
    client = pytest.importorskip("nbclient")
    pytest.importorskip("ipykernel")
    monkeypatch.setenv("PYTHONPATH", str(Path(par.__file__).parents[1]))
    notebook = nbformat.read(FOLDER / name, as_version=4)
    client.NotebookClient(notebook, timeout=120, kernel_name="python3").execute()
    outputs = [output for cell in notebook.cells if cell.cell_type == "code" for output in cell.outputs]
    pages = [output.data["text/html"] for output in outputs if "text/html" in output.get("data", {})]
    assert any(page.startswith("<div class='par-ragged'>") for page in pages)
    assert any(page.startswith("<iframe") for page in pages)
    assert any(output.data["image/svg+xml"].startswith("<svg") for output in outputs if "image/svg+xml" in output.get("data", {}))
    assert not any(output.output_type == "error" for output in outputs)
