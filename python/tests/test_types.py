"""The types that the package declares: checked, and held against what there is."""

import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[1]


@pytest.fixture(autouse=True)
def mypy():
    pytest.importorskip("mypy")


def run(*arguments):
    done = subprocess.run([sys.executable, "-m", *arguments], cwd=FOLDER, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_package_is_typed(tmp_path):
    # What other libraries declare, and whether they are there, differs from version to version.
    lenient = ["--ignore-missing-imports", "--allow-untyped-calls", "--allow-subclassing-any", "--no-warn-unused-ignores"]
    run("mypy", "--strict", *lenient, "--cache-dir", str(tmp_path), "-p", "par_array")


def test_the_stubs_are_what_there_is(tmp_path):
    config = tmp_path / "mypy.ini"
    config.write_text(f"[mypy]\ncache_dir = {tmp_path}\nignore_missing_imports = True\n")
    run("mypy.stubtest", "par_array._native", "--mypy-config-file", str(config))
