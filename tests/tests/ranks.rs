//! Golden programs and examples on several ranks in one process: the same bits as from the program for one processor, for every number of ranks. Arrays of two elements are
//! distributed, and chunks are as small as they can be, on one rank, too.

use par::ranks::{self, Outcome, Setup};
use par::testing::{NoData, Settings, calls};
use par::{Backend, CallOptions, Options, Program, RunFailure, Value, print_value};
use par_runtime::Scalar;
use par_runtime::ranks::Ranks;
use par_tests::{end_recursion_early, on_threads, programs, root};
use std::path::{Path, PathBuf};

const OPTIONS: fn() -> CallOptions =
    || CallOptions { backend: Backend::Cpu, threads: 1, smallest_chunks: true, ..CallOptions::default() };

/// Counts over calls on ranks.
#[derive(Default)]
struct Seen {
    calls: usize,
    cut: u64,
    messages: u64,
    wrong: String,
}

/// So many ranks. Two have whole arguments.
fn setup(ranks: usize) -> Setup {
    Setup { ranks, least: Some(2), in_parts: ranks > 2 }
}

fn shown(result: &Result<Value, RunFailure>) -> String {
    match result {
        Ok(value) => print_value(value),
        Err(e) => format!("error: {e}"),
    }
}

/// True if both are the same to the bit, or fail in the same way.
fn same(a: &Result<Value, RunFailure>, b: &Result<Value, RunFailure>) -> bool {
    match (a, b) {
        (Ok(a), Ok(b)) => a == b || print_value(a) == print_value(b),
        (Err(a), Err(b)) => a.to_string() == b.to_string(),
        _ => false,
    }
}

fn check(path: &Path, sizes: &[usize]) -> Seen {
    let mut seen = Seen::default();
    let settings = Settings { options: Options::default(), ..Settings::default() };
    let result = calls(path, &settings, &mut |program: &Program, set| {
        let one = program.call(&set.entry, set.args.clone(), &OPTIONS());
        for size in sizes {
            let Outcome { result, volumes } =
                ranks::call(program, &set.entry, &set.args, &OPTIONS(), setup(*size));
            seen.calls += 1;
            seen.cut += volumes.iter().map(|v| v.cut).sum::<u64>();
            seen.messages += volumes.iter().map(|v| v.messages).sum::<u64>();
            if !same(&one, &result) {
                seen.wrong += &format!(
                    "{}: {} on {size} ranks, {}:\none:   {}\nranks: {}\n",
                    path.display(),
                    set.entry,
                    set.name,
                    shown(&one),
                    shown(&result)
                );
            }
        }
    });
    if let Err(NoData::Mistake(message)) = result {
        seen.wrong += &format!("{message}\n");
    }
    seen
}

/// All programs of a folder, each on one of the numbers of ranks in turn.
fn folder(name: &str, sizes: &[usize]) -> Seen {
    Ranks::poison();
    end_recursion_early();
    let only = std::env::var("PAR_RANKS_ONLY").unwrap_or_default();
    let files: Vec<(usize, PathBuf)> = programs(&root().join(name)).into_iter().enumerate().collect();
    let files: Vec<_> = files.into_iter().filter(|(_, f)| f.to_string_lossy().contains(&only)).collect();
    let all = on_threads(&files, |(i, file)| check(file, &sizes[i % sizes.len()..][..1]));
    let mut seen = Seen::default();
    for s in all {
        seen.calls += s.calls;
        seen.cut += s.cut;
        seen.messages += s.messages;
        seen.wrong += &s.wrong;
    }
    println!("{name}: {} calls, {} operations cut, {} messages", seen.calls, seen.cut, seen.messages);
    assert!(seen.wrong.is_empty(), "{}", seen.wrong);
    seen
}

#[test]
fn golden() {
    let seen = folder("tests/golden", &[2, 3, 4]);
    assert!(seen.cut > 2000 && seen.messages > 5000, "hardly anything was distributed");
}

#[test]
fn examples() {
    let seen = folder("examples", &[3, 2]);
    assert!(seen.cut > 200, "hardly anything was distributed");
}

/// Bytes that the busiest of four ranks sends in a call of `main` with a number.
fn sent(program: &str, n: i64) -> u64 {
    sent_by(4, program, n)
}

/// The same of so many ranks.
fn sent_by(ranks: usize, program: &str, n: i64) -> u64 {
    let program = par::compile(program, "sent.par", &Options::default());
    let program = program.unwrap_or_else(|e| panic!("{e}"));
    let args = [Value::scalar(Scalar::I64(n))];
    let one = program.call("main", args.to_vec(), &CallOptions::default());
    let setup = Setup { ranks, least: Some(256), in_parts: true };
    let Outcome { result, volumes } =
        ranks::call(&program, "main", &args, &CallOptions { threads: 1, ..CallOptions::default() }, setup);
    assert!(same(&one, &result), "{} is not {}", shown(&result), shown(&one));
    volumes.iter().map(|v| v.bytes).max().unwrap_or(0)
}

/// If every rank had the arrays of all depths, it would be 1.5 MB.
#[test]
fn rows_of_recursive_calls_stay_where_they_are() {
    let bytes = sent(
        "def qsort [n] (xs: [n]i64) : []i64 =
           if n < 2 then xs
           else let pivot = xs[n / 2]
                let parts = map qsort [filter (< pivot) xs, filter (> pivot) xs]
                in parts[0] ++ filter (== pivot) xs ++ parts[1]
         entry main (k: i64) : [][]i64 =
           map qsort (tabulate k (\\i -> tabulate 500 (\\j -> (i * 7 + j * 7919 ^ j * j * 31) % 10007)))",
        20,
    );
    assert!(bytes < 400_000, "{bytes} bytes");
}

/// Sums in groups: of floats, where chunks of the processor lie on several ranks if these are three; and of integers in more bins than every rank has. Were
/// values sent, it would be 266 kB on three ranks, and 600 kB or more.
#[test]
fn histograms_send_their_bins() {
    let keys = "let keys = map (\\i -> loop x = i for _ < 5 do (x * 7919 + 1) % 1013) (iota n)";
    let values = "let values = map (\\x -> 1 / f64.i64 (x + 1)) keys";
    for (most, result, histograms) in [
        (
            2_000,
            "([8]f64, [8]f64)",
            "(hist (+) 0 8 (map (% 8) keys) values, hist (+) 0 8 (map (% 7) keys) values)",
        ),
        (20_000, "[1013]i64", "hist (+) 0 1013 keys keys"),
    ] {
        let program = format!("entry main (n: i64) : {result} = {keys} {values} in {histograms}");
        for ranks in 2..=4 {
            let bytes = sent_by(ranks, &program, 200_000);
            assert!(bytes < most, "{bytes} bytes on {ranks} ranks");
        }
    }
}

/// Privatised histograms over rows of which one has most elements and others none: floats, from neutral elements and from others, keys without a bin, more
/// bins than every rank has, tuples; with reduce-scatter, and with all-gather where ranks are many.
#[test]
fn private_bins_are_combined_in_order() {
    let program = "entry main (n: i64) : ([8]f64, []f64, [300]i64, [3](f64, i64)) =
       let lengths = map (\\i -> if i == n / 2 then 30 * n else i % 4 * (i % 3)) (iota n)
       let keys = flatten (map (\\k -> tabulate k (\\j -> (j * 7919 + k * 31) % 1013)) lengths)
       let values = map (\\x -> 1 / f64.i64 (x + 1)) keys
       in (hist (+) 0 8 (map (\\x -> x % 10 - 1) keys) values,
           reduce_by_index (tabulate 5 (\\i -> 1 / f64.i64 (i + 3))) (+) 0 (map (% 7) keys) values,
           hist i64.max 0 300 (map (% 300) keys) keys,
           hist (\\(a, i) (b, j) -> (a + b, i64.max i j)) (0, 0) 3 (map (% 3) keys) (zip values keys))";
    Ranks::poison();
    let program = par::compile(program, "bins.par", &Options::default()).unwrap_or_else(|e| panic!("{e}"));
    for n in [0, 1, 40, 400] {
        let args = [Value::scalar(Scalar::I64(n))];
        let one = program.call("main", args.to_vec(), &OPTIONS());
        for (ranks, threads) in [(2, 1), (3, 3), (5, 2), (20, 1)] {
            let setup = Setup { ranks, least: Some(64), in_parts: true };
            let options = CallOptions { threads, ..OPTIONS() };
            let result = ranks::call(&program, "main", &args, &options, setup).result;
            assert!(same(&one, &result), "{n}, {ranks} ranks: {} is not {}", shown(&result), shown(&one));
        }
    }
}

/// Sent are the results; if the words were gathered, it would be 20 kB.
#[test]
fn loops_along_rows_read_their_own_ones() {
    let bytes = sent(
        "def hash (word: []u8) : u64 = loop h = 7 for c in word do (h ^ u64.u8 c) * 0x100000001b3
         entry main (n: i64) : ([]u64, [][]u8) =
           let words = tabulate n (\\i -> map u8.i64 (iota (i % 9 + 20)))
           in (map hash words, words)",
        1000,
    );
    assert!(bytes < 24_000 / 4 + 2_000 + 1_000, "{bytes} bytes");
}

/// Explanations tell what is fetched from what is gathered.
#[test]
fn explanations_say_how_arrays_are_read() {
    let explained = |body: &str| {
        let text = format!("entry main (xs: []i64) (is: []i64) : []i64 = {body}");
        let program = par::compile(&text, "explained.par", &Options::default());
        let program = program.unwrap_or_else(|e| panic!("{e}"));
        ranks::explain(&program, None).unwrap_or_else(|e| panic!("{e}"))
    };
    let fetched = "fetches elements of an array at computed indices";
    let gathered = "an array is gathered on every rank";
    for (body, is_fetched) in [
        ("map (\\i -> xs[i]) is", true),
        ("map (\\i -> if i < 9 then 0 else xs[i * 2]) is", true),
        ("map (\\i -> loop s = 0 for j < i do s * 3 + xs[j]) is", true),
        ("map (\\i -> loop s = i for j < 9 do xs[s]) is", false),
    ] {
        let words = explained(body);
        assert_eq!(
            (words.contains(fetched), words.contains(gathered)),
            (is_fetched, !is_fetched),
            "{body}\n{words}"
        );
    }
}
