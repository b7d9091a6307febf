//! Scripted sessions of `par repl`: what is printed, what is kept, and what an error leaves behind.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Exit status, standard output and standard error of a session in a folder.
fn repl_in(folder: &Path, args: &[&str], script: &str) -> (i32, String, String) {
    let mut child = Command::new(env!("CARGO_BIN_EXE_par"))
        .arg("repl")
        .args(args)
        .current_dir(folder)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // The session may end without reading everything.
    let _ = child.stdin.take().unwrap().write_all(script.as_bytes());
    let output = child.wait_with_output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
}

fn repl(script: &str) -> (i32, String, String) {
    repl_in(Path::new("."), &[], script)
}

/// A session without errors prints this.
fn assert_prints(script: &str, expected: &str) {
    let (status, out, err) = repl(script);
    assert_eq!((status, out.as_str(), err.as_str()), (0, expected, ""));
}

fn folder(test: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(test);
    let _ = std::fs::remove_dir_all(&path);
    std::fs::create_dir_all(&path).unwrap();
    path
}

#[test]
fn definitions_and_expressions() {
    assert_prints("def twice (x: i32) = 2 * x\ntwice 21\nmap twice [1, 2]\n", "42i32\n[2i32, 4i32]\n");
    assert_prints(
        "type t = {a: i32}\nmodule m = { def one = 1i32 }\nopen m\n{a = one} : t\n",
        "{a = 1i32}\n",
    );
    assert_prints("entry main (x: i32) = x + 1\nmain 1\n", "2i32\n");
    assert_prints("-- a comment\n\n  \n1", "1i32\n");
}

#[test]
fn later_definitions_hide_earlier_ones_for_later_inputs() {
    assert_prints("def f = 1\ndef g = f\ndef f = 2\n(f, g)\n", "(2i32, 1i32)\n");
    assert_prints("let x = 1\ndef g = x\nlet x = x + 1\n(x, g)\n", "(2i32, 1i32)\n");
    assert_prints("def length = 3\nlength\n", "3i32\n");
}

#[test]
fn values_are_kept() {
    assert_prints(
        "let xs = iota 3\nlet ys = xs with [0] = 9\n(xs, ys)\nlet (a, {b}) = (xs[1], {b = true})\n(a, b)\nit.0\nit + 1\n",
        "([0i64, 1i64, 2i64], [9i64, 1i64, 2i64])\n(1i64, true)\n1i64\n2i64\n",
    );
    for backend in ["cpu", "interp", "flat-interp"] {
        let script = "let m = map (\\n -> iota n) [2, 0, 1]\ndef total = i64.sum (map i64.sum m)\nm\nmap length m\ntotal\n";
        let (status, out, err) = repl_in(Path::new("."), &["--backend", backend], script);
        assert_eq!((status, err.as_str()), (0, ""));
        assert_eq!(out, "[[0i64, 1i64], [], [0i64]]\n[2i64, 0i64, 1i64]\n1i64\n");
    }
}

#[test]
fn a_kept_value_is_not_computed_again() {
    let script = "let x = loop s = 0i64 for i < 3000 do s + (i ^ s)\ndef f = x + 1\n:core f\n:time x\n";
    let (status, out, _) = repl(script);
    assert_eq!(status, 0);
    assert!(out.contains("add") && !out.contains("loop") && out.contains(" ms to run, "), "{out}");
}

#[test]
fn errors_do_not_lose_the_session() {
    let (status, out, err) = repl("let xs = [1, 2]\ndef f x = x + nope\nf 1\nxs[5]\nassert false xs\nxs\n");
    assert_eq!((status, out.as_str()), (2, "[1i32, 2i32]\n"));
    for message in [
        "unknown name `nope`\n   ╭─[ <input 2>:1:15 ]",
        "unknown name `f`",
        "index 5 is outside [0,2)\n   ╭─[ <input 4>:1:4 ]",
        "<input 5>",
    ] {
        assert!(err.contains(message), "{message:?} is not in {err}");
    }
}

#[test]
fn kept_values_are_copied_when_they_are_consumed() {
    for backend in ["cpu", "interp", "flat-interp"] {
        let script = "let xs = [1, 2]\ndef f (xs: *[]i32) : *[]i32 = xs with [0] = 9\nf xs\n(f xs, xs with [1] = 7)\n\
                      def g = f xs\ng\nlet r = {a = [1, 2]}\nf r.a\n(xs, r)\n";
        let (status, out, err) = repl_in(Path::new("."), &["--backend", backend], script);
        assert_eq!((status, err.as_str()), (0, ""));
        let expected = "[9i32, 2i32]\n([9i32, 2i32], [1i32, 7i32])\n[9i32, 2i32]\n[9i32, 2i32]\n\
                        ([1i32, 2i32], {a = [1i32, 2i32]})\n";
        assert_eq!(out, expected);
    }
    // What is not a kept value follows the rules.
    let (status, _, err) =
        repl("def f (xs: *[]i32) : *[]i32 = xs\nlet xs = [1]\nlet ys = copy xs in (f ys, ys)\n");
    assert!(status == 2 && err.contains("E0601"), "{err}");
}

#[test]
fn the_first_failure_is_the_status() {
    assert_eq!(repl("1 / 0\nnope\n").0, 1);
    assert_eq!(repl("nope\n1 / 0\n").0, 2);
    assert_eq!(repl("vjp f64.gamma 1.0 1.0\nnope\n").0, 3);
    assert_eq!(repl(":nope\n1\n").0, 1);
    assert_eq!(repl(":quit\nnope\n").0, 0);
}

#[test]
fn input_over_several_lines() {
    assert_prints("def f x =\n  let y = x + 1\n  in y * y\nf (1\n   +\n2)\n", "16i32\n");
    assert_prints("let x = 1 in\nx + 1\n", "2i32\n");
    assert_prints("let xs =\n  [1,\n   2]\nxs\n", "[1i32, 2i32]\n");
    assert_prints("-- | Adds one.\ndef inc x = x + 1\n:doc inc\n", "inc x\n\n  Adds one.\n\n  <input 1>:2\n");
}

#[test]
fn unfinished_input_ends_with_an_empty_line_or_with_the_text() {
    let (status, out, err) = repl("f (1,\n\n3\n");
    assert_eq!((status, out.as_str()), (2, "3i32\n"));
    assert!(err.contains("this bracket is never closed"), "{err}");
    let (status, _, err) = repl("1\nlet x =");
    assert_eq!(status, 2);
    assert!(err.contains("unexpected end of the declaration"), "{err}");
}

#[test]
fn types_and_documentation() {
    assert_prints(
        "let xs = [[1], []]\n:type xs\n:type map length\n:type filter\n",
        "xs : [][]i32\nmap length : [][]a -> []i64\nfilter : [n] 'a. (a -> bool) -> [n]a -> []a\n",
    );
    let (status, out, err) = repl(":doc zip\n:doc i32.popc\n:doc nope\n:type nope\n:type let x = 1\n");
    assert_eq!(status, 2);
    assert!(
        out.starts_with("zip [n]") && out.contains("popc (x: i32) : i32\n\n  The number of bits"),
        "{out}"
    );
    for message in ["there is no definition `nope`", "unknown name `nope`", "an expression is needed here"] {
        assert!(err.contains(message), "{message:?} is not in {err}");
    }
}

#[test]
fn functions_print_their_type() {
    assert_prints("\\(x: i32) -> x > 0\nlet inc = \\x -> x + 1\ninc 1\n", ": i32 -> bool\n2i32\n");
}

#[test]
fn files_are_loaded_and_loaded_again() {
    let folder = folder("repl_load");
    std::fs::write(folder.join("lib.par"), "def two = 2i32\n").unwrap();
    std::fs::write(folder.join("a.par"), "import \"lib\"\ndef twice x = two * x\n").unwrap();
    let script =
        "twice 4\n:load lib.par\nimport \"lib\"\nlet x = two\n:reload\ntwice x\n:load none.par\ntwo\n";
    let (status, out, err) = repl_in(&folder, &["a.par"], script);
    assert_eq!((status, out.as_str()), (2, "8i32\n4i32\n2i32\n"));
    assert!(err.contains("none.par"), "{err}");
}

#[test]
fn reloading_keeps_what_is_still_right() {
    let folder = folder("repl_reload");
    std::fs::write(folder.join("a.par"), "def two = 2i32\n").unwrap();
    let script = "def four = two + two\nlet x = four\n:load a.par\n:reload\n(four, x)\n";
    assert_eq!(repl_in(&folder, &["a.par"], script), (0, "(4i32, 4i32)\n".into(), String::new()));
    let (status, out, _) = repl_in(&folder, &["missing.par"], "1\n:reload\n");
    assert_eq!((status, out.as_str()), (2, "1i32\n"));
}

#[test]
fn code_and_settings() {
    let (status, out, err) =
        repl("let x = 2\n:core map (+ x) [1]\n:flat x\n:backend interp\n:backend\n:t\n:he\nx\n");
    assert_eq!(status, 1);
    assert!(out.contains("entry") && out.contains("\ninterp\n") && out.ends_with("2i32\n"), "{out}");
    assert!(out.contains(":reload") && err.contains("`:type` needs its EXPR"), "{out} {err}");
    assert_prints(
        ":set threads 3\n:set backend flat-interp\n:set print-limit 1_000\n:set\n:set threads\n",
        "backend      flat-interp\nthreads      3\nprint-limit  1000\nwidth        0\ntexts        off\n3\n",
    );
}

#[test]
fn slips_in_commands_are_named() {
    let script = ":tpye 1\n:xyz\n:set thread 3\n:set threads x\n:backend gpu\n:quit now\n:doc lenght\n:browse f3\n\
                  :help brows\n:show\n:reload\n:core \\x -> x\n:core def f = 1\n:\n";
    let (status, out, err) = repl(script);
    assert_eq!(status, 1);
    let expected = "\
error: no command `:tpye`; did you mean `:type`?
error: no command `:xyz`; `:help` lists them
error: no setting `thread`; did you mean `threads`?
error: `x` is not a number that `threads` can be
error: no back end `gpu`: there is cpu, cuda, interp, flat-interp
error: `:quit` takes no argument
error: there is no definition `lenght`; did you mean `length`?
error: nothing was evaluated yet
error: no file was loaded; `:load FILE` does it
error: there is code for values only; this has type a -> a
error: an expression is needed
error: no command `:`; `:help` lists them
";
    assert_eq!(err.replace("error: there is no module `f3`; did you mean `f32`?\n", ""), expected);
    assert_eq!(out.lines().next(), Some(":browse [MODULE]"));
}

#[test]
fn definitions_are_listed() {
    assert_prints(
        "type t = i32\ndef f x = x + 1i32\ndef id2 'a (x: a) = x\nlet xs = [[1], []]\nlet f = 2\n\
         module m = { def k = 3i32  def g (x: i64) = x }\n:browse\n:browse m\n",
        "type t = i32\nid2 : 'a. a -> a\nxs : [][]i32\nf : i32\nmodule m\nk : i32\ng : i64 -> i64\n",
    );
    let (status, out, _) = repl(":list\n:browse f32\n1\n:list\n");
    assert_eq!(status, 0);
    assert!(out.starts_with("nothing is defined yet\n") && out.contains("\nsqrt (x: f32) : f32\n"), "{out}");
    assert!(out.ends_with("1i32\nit : i32\n"), "{out}");
}

#[test]
fn long_values_are_broken_and_cut() {
    assert_prints(
        ":set width 30\n:set print-limit 6\niota 1_000_000\nmap iota [3, 0, 2]\n{a = iota 3, b = [1.5, 2]}\n\
         map (\\n -> replicate n true) [7, 8, 9, 10, 11]\n:show [1,2,3,4,5,6,7,8,9]\n:show all\n",
        "[0i64, 1i64, 2i64, 3i64, 4i64,\n 5i64, … 1_000_000 elements]\n\
         [[0i64, 1i64, 2i64],\n [],\n [0i64, 1i64]]\n\
         {a = [0i64, 1i64, 2i64],\n b = [1.5f64, 2.0f64]}\n\
         [[true, true, true,\n  … 7 elements],\n [true, true, true,\n  … 8 elements],\n \
         [true, true, true,\n  … 9 elements],\n … 5 rows]\n\
         [1i32, 2i32, 3i32, 4i32, 5i32,\n 6i32, 7i32, 8i32, 9i32]\n\
         [1i32, 2i32, 3i32, 4i32, 5i32,\n 6i32, 7i32, 8i32, 9i32]\n",
    );
}

#[test]
fn too_much_memory_is_an_error_of_the_evaluation() {
    let (status, out, err) = repl(
        "let x = 1\nlength (replicate 1_000_000_000_000_000 x)\nmap (\\i -> i + 1) (iota 1_000_000_000_000)\nx\n",
    );
    assert_eq!((status, out.lines().last()), (1, Some("1i32")));
    assert!(err.contains("out of memory"), "{err}");
}

#[test]
fn texts_are_shown_as_texts_where_that_is_set() {
    assert_prints(
        ":set texts on\n\"a\\\"b\"\n(1, [\"\", \"\\n\"])\n:set texts off\n\"a\"\n",
        "\"a\\\"b\"\n(1i32, [\"\", \"\\n\"])\n[97u8]\n",
    );
}
