//! Work in chunks costs what the work as a whole does, and what it holds does not grow with the rows.

use super::{count, size};
use par::pipeline::Splitting;
use par::{Options, Program, compile};
use par_ir::interp::Counters;
use par_runtime::pool::{reset_thread_peak, thread_balance, thread_peak};

fn program(text: &str, splitting: Splitting) -> Program {
    let options = Options { splitting, ..Options::default() };
    compile(text, "law.par", &options).unwrap_or_else(|f| panic!("rejected: {}", f.render(false)))
}

fn cost(text: &str, splitting: Splitting, n: i64) -> Counters {
    count(&program(text, splitting), vec![size(n)]).0
}

const ROWS: &str = "
entry main (n: i64) : i64 =
  sum (map (\\i -> let xs = scan (+) i (iota (i % 100)) in length (filter (\\x -> x % 3 == 0) xs)) (iota n))";

const TREE: &str = "
def tree (n: i64) : []i64 = if n < 2 then [n] else tree (n - 1) ++ tree (n - 2)
entry main (n: i64) : i64 = sum (tree n)";

#[test]
fn chunks_do_the_same_work() {
    for (text, sizes) in [(ROWS, [1_000, 10_000]), (TREE, [14, 18])] {
        for n in sizes {
            let (whole, chunks) = (cost(text, Splitting::Never, n), cost(text, Splitting::Rows(50), n));
            assert!(chunks.work < 2 * whole.work, "{n}: {} instead of {}", chunks.work, whole.work);
            let bytes = (whole.bytes_materialised, chunks.bytes_materialised);
            assert!(bytes.1 < 2 * bytes.0, "{n}: {} bytes instead of {}", bytes.1, bytes.0);
        }
    }
}

#[test]
fn launches_grow_with_the_number_of_chunks() {
    let at = |n: i64| cost(ROWS, Splitting::Rows(50), n).launches as f64 / (n / 50) as f64;
    let (few, many) = (at(1_000), at(10_000));
    assert!(many <= few, "{many} a chunk after {few}");
}

#[test]
fn chunks_hold_the_intermediate_results_of_one() {
    let p = program(ROWS, Splitting::Rows(50));
    let peak = |n: i64| {
        let before = thread_balance();
        reset_thread_peak();
        count(&p, vec![size(n)]);
        thread_peak() - before
    };
    let (small, large) = (peak(1_000), peak(10_000));
    // What grows is the result: one number a row.
    assert!(large < small + 4 * 8 * 9_000, "{large} bytes after {small}");
    let whole = program(ROWS, Splitting::Never);
    let before = thread_balance();
    reset_thread_peak();
    count(&whole, vec![size(10_000)]);
    assert!(thread_peak() - before > 4 * large);
}
