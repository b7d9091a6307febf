"""Programs: compiling, entry points, errors, limits."""

import ctypes
import functools
import inspect
import pickle
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

import par_array as par

ENDLESS = "entry main (n: i64): i64 = loop s = 0 while s >= 0 do (s + n) % 1000003"


def test_entry_points_are_functions_with_names_and_texts(program):
    assert list(program)[:2] == ["norms", "inc"]
    assert program.norms.__name__ == "norms"
    assert program.norms.__doc__ == "entry norms (rows: [][]f64): []f64\n\nThe length of every row.\n\nRows may have any length.\n"
    assert program.inc.__doc__ == "entry inc (xs: []f64): []f64"
    assert str(inspect.signature(program.rows_at)) == "(xss: '[][]f64', i: 'i64') -> '[]f64'"
    assert repr(program.sum) == "<entry sum (xs: []f64): f64>"


def test_arguments_by_position_and_by_name(program):
    assert program.at([1.0, 2.0], 1) == program.at(i=1, xs=[1.0, 2.0]) == program.at([1.0, 2.0], i=1) == 2.0


def test_names_that_are_none_in_python(program):
    assert program["next'"](1) == program.next_(lambda_=1) == 2
    assert program.explain("explain").text
    assert program["explain"](3) == 3


@pytest.mark.parametrize(
    ("arguments", "named", "message"),
    [
        ((), {}, "at() has no value for the parameter 'xs': []f64"),
        (([],), {}, "at() has no value for the parameter 'i': i64"),
        (([], 0, 0), {}, "at() takes 2 arguments, not 3"),
        (([], 0), {"i": 1}, "at() has two values for the parameter 'i'"),
        (([],), {"j": 1}, "at() has no parameter 'j', only xs, i"),
    ],
)
def test_wrong_calls(program, arguments, named, message):
    with pytest.raises(TypeError) as error:
        program.at(*arguments, **named)
    assert str(error.value) == message


def test_there_is_no_such_entry_point(program):
    with pytest.raises(AttributeError, match="no entry point 'nothing', only norms, inc"):
        program.nothing  # noqa: B018
    with pytest.raises(KeyError, match="nothing"):
        program["nothing"]


def test_a_constant_is_a_function_without_parameters(program):
    first = program.constant()
    first[0] = 9
    assert program.constant().tolist() == [1, 2, 3]


def test_a_file_with_an_import(tmp_path):
    (tmp_path / "other.par").write_text("def two = 2i64")
    main = tmp_path / "main.par"
    main.write_text('import "other"\nentry main: i64 = two')
    first = par.compile(main)
    assert first.main() == 2
    assert par.compile(str(main)) is first
    (tmp_path / "other.par").write_text("def two = 3i64")
    assert par.compile(main).main() == 3


def test_texts_and_options_are_compiled_once():
    text = "entry main: i64 = 1"
    assert par.compile(text) is par.compile(text)
    assert par.compile(text) is not par.compile(text, threads=1)


def test_what_is_no_program():
    with pytest.raises(TypeError, match="a program is a text or a path, not int"):
        par.compile(1)  # type: ignore[arg-type]
    with pytest.raises(FileNotFoundError):
        par.compile("nowhere.par")
    with pytest.raises(ValueError, match="no back end 'tpu': they are interp, flat-interp, cpu, cuda, auto"):
        par.compile("entry main: i64 = 1", backend="tpu")


def test_a_wrong_program():
    with pytest.raises(par.CompileError) as error:
        par.compile("entry f (x: i64) = x + y\nentry g (x: i64): f64 = x")
    first, second = error.value.diagnostics
    assert (first.severity, first.code, first.message, first.line, first.column) == ("error", "E0201", "unknown name `y`", 1, 24)
    assert (first.file, second.line) == ("program.par", 2)
    assert "[E0201] Error: unknown name `y`" in str(error.value)
    assert isinstance(error.value, ValueError)
    again = pickle.loads(pickle.dumps(error.value))
    assert again.diagnostics == error.value.diagnostics


def test_warnings():
    program = par.compile("entry main (x: i64): i64 = let y = x in ???")
    assert any(w.severity == "warning" and w.code == "W0205" for w in program.warnings)


def test_an_error_while_running(program):
    with pytest.raises(par.RuntimeError) as error:
        program.rows_at([[1.0, 2.0], [], [1.0, 2.0]], 1)
    assert "index 1 is outside [0,0)" in str(error.value)
    assert "in row 1 of the map" in str(error.value)
    assert error.value.diagnostics[0].message == "index 1 is outside [0,0)"
    assert error.value.diagnostics[0].line
    assert isinstance(error.value, __builtins__["RuntimeError"])
    assert program.rows_at([[1.0]], 0).tolist() == [1.0]


def test_memory():
    text = "entry large (n: i64): i64 = i64.sum (scan (+) 0 (iota n))"
    with pytest.raises(MemoryError, match="out of memory"):
        par.compile(text, memory_limit=1 << 20).large(1 << 28)
    unlimited = par.compile(text)
    with pytest.raises(MemoryError):
        unlimited.large(1 << 50)
    limited = unlimited.large.options(memory_limit=1 << 16)
    with pytest.raises(MemoryError):
        limited(1 << 20)
    assert limited(3) == unlimited.large(3) == 4


@pytest.mark.parametrize("backend", ["cpu", "interp", "flat-interp", "auto"])
def test_back_ends(backend):
    program = par.compile("entry f (xss: [][]i64): []i64 = map i64.sum xss", backend=backend)
    assert program.f([[1, 2], [], [3]]).tolist() == [3, 0, 3]
    assert program.backend in ("cpu", "cuda") if backend == "auto" else program.backend == backend


def test_a_gpu_that_is_not_there():
    try:
        program = par.compile("entry f (x: i64): i64 = x", backend="cuda", device=999)
    except par.Unavailable as error:
        assert str(error)  # noqa: PT017
    else:
        pytest.fail(f"device 999 is there: {program}")


def interrupted(work, wait=lambda: time.sleep(0.3)):
    """Sends SIGINT while the work is running, which then raises KeyboardInterrupt: it has no end of its own."""

    def send():
        wait()
        signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)

    sender = threading.Thread(target=send)
    with pytest.raises(KeyboardInterrupt):
        sender.start()
        work()
    sender.join()


def test_ctrl_c_stops_a_call():
    program = par.compile(ENDLESS)
    for _ in range(3):
        interrupted(lambda: program.main(1))
    assert par.compile("entry f (x: i64): i64 = x").f(1) == 1


def test_a_signal_just_before_a_call_stops_it():
    """It comes while the argument is taken, by a function of C, so that the interpreter has no step to notice it."""
    send = functools.partial(ctypes.CDLL(None)["raise"], signal.SIGINT)
    number = type("SignalsWhenTaken", (), {"__index__": staticmethod(send)})()
    program = par.compile(ENDLESS)
    with pytest.raises(KeyboardInterrupt):
        program.main(number)


def test_ctrl_c_goes_to_the_handler_of_the_program():
    heard = []
    before = signal.signal(signal.SIGINT, lambda *_: heard.append(1))
    try:
        interrupted(lambda: par.compile(ENDLESS).main(1))
        assert heard == [1]
    finally:
        signal.signal(signal.SIGINT, before)
    interrupted(lambda: par.compile(ENDLESS).main(1))


def test_the_interpreter_goes_on_while_a_call_runs():
    program = par.compile(ENDLESS)

    def go_on():
        time.sleep(0.1)
        for _ in range(1000):
            time.sleep(0)

    # If the call kept the other thread from going on, nothing would stop it.
    interrupted(lambda: program.main(1), wait=go_on)


def test_ten_threads_call_one_program(program):
    rows = [par.Ragged.from_lengths([i, 0, i], np.arange(2.0 * i)) for i in range(10)]
    expected = [program.norms(r) for r in rows]
    wrong = []

    def work(i):
        for _ in range(200):
            if not np.array_equal(program.norms(rows[i]), expected[i]):
                wrong.append(i)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(10)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


@pytest.mark.skipif(not hasattr(__import__("os"), "fork"), reason="no fork")
def test_forked_processes_call_it():
    import os

    program = par.compile("entry total (n: i64): f64 = f64.sum (map (\\i -> f64.sqrt (f64.i64 i)) (iota n))", threads=2)
    expected = program.total(1_000_000)
    child = os.fork()
    if child == 0:
        os._exit(0 if program.total(1_000_000) == expected else 1)
    for _ in range(600):
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            break
        time.sleep(0.1)
    else:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        pytest.fail("the forked process hangs")
    assert os.waitstatus_to_exitcode(status) == 0


def test_programs_are_pickled_by_their_texts(program):
    again = pickle.loads(pickle.dumps(program))
    assert again.inc([1.0]).tolist() == [2.0]


def test_explanations(program):
    explanation = program.explain("norms")
    assert "rows" in str(explanation)
    assert explanation._repr_html_().startswith("<iframe srcdoc=")
    with pytest.raises(KeyError):
        program.explain("nothing")


@pytest.fixture
def command(tmp_path):
    """The command `par`, as it is installed."""
    folder = Path(par.__file__).parent.parent
    script = tmp_path / "par"
    script.write_text(f"#!{sys.executable}\nimport sys\nsys.path.insert(0, {str(folder)!r})\nfrom par_array._command import main\nmain()\n")
    script.chmod(0o755)
    return lambda *arguments, **kwargs: subprocess.run([script, *arguments], capture_output=True, text=True, check=False, **kwargs)


def test_cases_for_tests_of_programs(tmp_path, command):
    text = """-- ==
-- entry: both
-- input @ case.npz output @ case.npz
entry both (rows: [][]f64) (k: i64) (p: {x: []f64, y: f64}): ([][]f64, f64) = (map (map (* p.y)) rows, f64.i64 k + f64.sum p.x)
-- ==
-- entry: one
-- input @ one.npz output @ one.npz
entry one (xs: []i32): i32 = i32.sum xs
"""
    program = tmp_path / "cases.par"
    program.write_text(text)
    compiled = par.compile(program)
    par.save_case(tmp_path / "case.npz", compiled.both, [[1.0, 2.0], [], [3.0]], p={"x": np.ones(2), "y": 2.0}, k=3)
    assert par.save_case(tmp_path / "one.npz", compiled.one, np.arange(4, dtype=np.int32)) == 6
    tested = command("test", program)
    assert tested.returncode == 0, tested.stdout + tested.stderr
    par.save_case(tmp_path / "one.npz", par.compile("entry one (xs: []i32): i32 = 7").one, np.arange(4, dtype=np.int32))
    tested = command("test", program)
    assert tested.returncode == 1
    assert "expected 7i32, found 6i32" in tested.stdout + tested.stderr
    with pytest.raises(TypeError, match="result: a value of type tuple has no form"):
        par.save_case(tmp_path / "case.npz", par.compile('entry f: #a i64 | #b = #a 1').f)


def test_the_command(tmp_path, command):
    program = tmp_path / "a.par"
    program.write_text("-- ==\n-- input { 1i64 }\n-- output { 2i64 }\nentry main (x: i64): i64 = x + 1\n")

    ran = command("run", program, input="41")
    assert (ran.returncode, ran.stdout) == (0, "42i64\n")
    assert command("test", program).returncode == 0
    wrong = command("run", program, input="true")
    assert (wrong.returncode, wrong.stdout) == (1, "")
    assert command("nonsense").returncode == 2
    assert "Usage" in command("--help").stdout
