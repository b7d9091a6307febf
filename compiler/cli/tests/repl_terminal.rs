//! `par repl` in a pseudo-terminal: Ctrl-C, history, input over several lines.

use par_trials::pseudo_terminal;
use rexpect::session::{PtySession, spawn_command};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Milliseconds until something that should be printed is missing: only a failing test waits so long.
const PATIENCE: u64 = 60_000;

const CTRL_C: u8 = 3;
const CTRL_D: u8 = 4;
const UP: &str = "\x1b[A";

/// A session with its own place for the history.
fn start(home: &Path, args: &[&str]) -> PtySession {
    let mut command = Command::new(env!("CARGO_BIN_EXE_par"));
    command.arg("repl").args(args).env("XDG_STATE_HOME", home).env("TERM", "xterm").env("NO_COLOR", "1");
    let mut session = spawn_command(command, Some(PATIENCE)).unwrap();
    session.exp_string("Ctrl-D ends").unwrap();
    session.exp_string("> ").unwrap();
    session
}

fn folder(test: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(test);
    let _ = std::fs::remove_dir_all(&path);
    std::fs::create_dir_all(&path).unwrap();
    path
}

/// Enters a line.
fn enter(session: &mut PtySession, line: &str) {
    session.send(line).unwrap();
    session.send("\r").unwrap();
    session.flush().unwrap();
}

/// Enters a line and waits for what it prints, and for the next prompt.
fn ask(session: &mut PtySession, line: &str, answer: &str) {
    enter(session, line);
    session.exp_string(answer).unwrap_or_else(|e| panic!("{line}: {e}"));
    session.exp_string("> ").unwrap();
}

/// Enters a line that prints nothing. What is waited for must not occur in the terminal's control sequences.
fn define(session: &mut PtySession, line: &str) {
    enter(session, line);
    // What is typed while the terminal changes its mode may get lost.
    std::thread::sleep(std::time::Duration::from_millis(500));
    ask(session, "1234 + 5", "1239i32");
}

fn press(session: &mut PtySession, key: u8) {
    session.send(&(key as char).to_string()).unwrap();
    session.flush().unwrap();
}

fn end(mut session: PtySession) {
    press(&mut session, CTRL_D);
    session.exp_eof().unwrap();
}

fn ctrl_c_stops_an_evaluation_and_keeps_the_session() {
    let home = folder("repl_ctrl_c");
    for backend in ["cpu", "interp", "flat-interp"] {
        let mut session = start(&home, &["--backend", backend]);
        ask(&mut session, "let kept = 40 + 1", "kept : i32");
        define(&mut session, "def fib (n: i32) : i64 = if n < 2 then 1 else fib (n - 1) + fib (n - 2)");
        for endless in [
            "loop x = kept while x >= 0 do (x + 1) % 7",
            "i64.sum (map (\\i -> loop x = i while x >= 0 do (x + 1) % 7) (iota 10))",
            "fib (2 * kept)",
            "map fib [2 * kept, 3, 2 * kept]",
        ] {
            // Time for the evaluation to begin; if it has not yet, the line is cancelled, which is noticed.
            enter(&mut session, endless);
            std::thread::sleep(std::time::Duration::from_millis(1000));
            press(&mut session, CTRL_C);
            session.exp_string("interrupted").unwrap_or_else(|e| panic!("{backend}: {e}"));
            session.exp_string("> ").unwrap();
            ask(&mut session, "kept + 1", "42i32");
        }
        end(session);
    }
}

fn ctrl_c_at_the_prompt_clears_the_line() {
    let mut session = start(&folder("repl_clear"), &[]);
    session.send("nonsense (").unwrap();
    session.flush().unwrap();
    press(&mut session, CTRL_C);
    session.exp_string("> ").unwrap();
    ask(&mut session, "1 + 2", "3i32");
    end(session);
}

fn inputs_are_remembered_in_the_next_session() {
    let home = folder("repl_history");
    let mut session = start(&home, &[]);
    ask(&mut session, "20 + 3", "23i32");
    end(session);
    assert!(home.join("par/history").exists());
    let mut session = start(&home, &[]);
    ask(&mut session, UP, "23i32");
    end(session);
}

fn without_a_place_for_history_there_is_none() {
    let file = folder("repl_no_history").join("file");
    std::fs::write(&file, "").unwrap();
    let mut session = start(&file, &[]);
    ask(&mut session, "1 + 2", "3i32");
    end(session);
}

fn several_lines_are_one_input_or_several() {
    let mut session = start(&folder("repl_lines"), &[]);
    enter(&mut session, "def twice x =");
    define(&mut session, "2 * x");
    ask(&mut session, "twice 21", "42i32");
    // Pasted in one go.
    session.send("\x1b[200~let a = 30\nlet b = a +\n  5\na + b + 1\x1b[201~").unwrap();
    ask(&mut session, "", "66i32");
    end(session);
}

fn names_are_completed() {
    let mut session = start(&folder("repl_complete"), &[]);
    define(&mut session, "def unmistakable = 77");
    ask(&mut session, "unmis\t + 1", "78i32");
    end(session);
}

par_trials::trials! {
    ctrl_c_stops_an_evaluation_and_keeps_the_session, needs pseudo_terminal();
    ctrl_c_at_the_prompt_clears_the_line, needs pseudo_terminal();
    inputs_are_remembered_in_the_next_session, needs pseudo_terminal();
    without_a_place_for_history_there_is_none, needs pseudo_terminal();
    several_lines_are_one_input_or_several, needs pseudo_terminal();
    names_are_completed, needs pseudo_terminal();
}
