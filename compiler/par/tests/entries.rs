//! Only what an entry point needs is compiled, if one is chosen.

use par::pipeline::Entries;
use par::{Backend, Options, Program, compile, read_values};

const TEXT: &str = "\
def sort (xs: []i64) : []i64 =
  if length xs < 2 then xs
  else let p = xs[0] in sort (filter (< p) xs) ++ filter (== p) xs ++ sort (filter (> p) xs)
def fact (n: i64) : i64 = if n == 0 then 1 else n * fact (n - 1)
entry sorted (xss: [][]i64) : [][]i64 = map sort xss
entry main (x: i64) : i64 = fact x
entry doubled (xs: []i64) : []i64 = map (* 2) xs
";

fn program(entries: Entries) -> Program {
    compile(TEXT, "entries.par", &Options { entries, ..Options::default() }).unwrap()
}

fn chosen(name: &str) -> Program {
    program(Entries::Chosen(Some(name.to_string())))
}

fn functions(program: &Program) -> Vec<&str> {
    program.core().funs.iter().map(|f| f.name.as_str()).collect()
}

#[test]
fn other_entries_and_what_they_call_are_gone() {
    assert_eq!(functions(&program(Entries::All)).len(), 5);
    assert_eq!(functions(&chosen("doubled")), ["doubled"]);
    assert_eq!(functions(&program(Entries::Chosen(None))), ["fact", "main"]);
    assert_eq!(functions(&chosen("unknown")).len(), 5);
    let error = chosen("unknown").choose_entry(Some("unknown")).unwrap_err();
    assert!(error.contains("there is sorted, main, doubled"), "{error}");
}

#[test]
fn what_is_left_runs() {
    for (entry, arg, result) in
        [("sorted", "[[3,1],[]]", "[[1,3],[]]"), ("main", "4", "24"), ("doubled", "[2]", "[4]")]
    {
        let program = chosen(entry);
        let read = |text, ty| read_values(text, &[ty]).unwrap();
        let signature = program.entry(entry).unwrap();
        let args = read(arg, signature.params[0].1.clone());
        let expected = read(result, signature.ret.clone()).remove(0);
        let found = program.run(entry, args, Backend::Cpu, 1).unwrap();
        assert_eq!(par::print_value(&found), par::print_value(&expected), "{entry}");
    }
}

#[test]
fn mistakes_in_other_entries_are_found() {
    let wrong = "entry main (x: i64) = x\nentry other (xs: [3]i64) = map2 (+) xs [1, 2]";
    let options = Options { entries: Entries::Chosen(None), ..Options::default() };
    assert!(compile(wrong, "entries.par", &options).is_err());
}
