//! The laws of flattening, counted by the FLAT interpreter: work stays proportional to the nested program's, and the
//! number of bulk operations does not depend on the data, except by loop or recursion depth.

mod algebra;
mod chunks;
mod columns;
mod control;
mod matrices;
mod peak;
mod recursion;
mod shared;
mod state;
mod steps;
mod updates;

use par::{Options, Program, Scalar, Value, compile};
use par_ir::core::FunId;
use par_ir::interp::{Counters, run_flat};
use par_runtime::{Array, Column};

fn program(text: &str) -> Program {
    compile(text, "law.par", &Options::default()).unwrap_or_else(|_| panic!("rejected:\n{text}"))
}

/// Runs `main` and gives its counters and first data column.
fn count(program: &Program, args: Vec<Value>) -> (Counters, Vec<Column>) {
    let Ok(flat) = program.flat() else { panic!("no FLAT") };
    let main = flat.funs.iter().position(|f| f.entry.as_ref().is_some_and(|e| e.name == "main"));
    let columns = args.into_iter().flat_map(|v| v.columns).collect();
    let mut counters = Counters::default();
    let id = FunId(main.expect("an entry main") as u32);
    let out = run_flat(flat, id, columns, &mut counters).unwrap_or_else(|e| panic!("{e}"));
    (counters, out)
}

fn size(n: i64) -> Value {
    Value::scalar(Scalar::I64(n))
}

fn vector(xs: &[i64]) -> Value {
    Value::vector(Array::from_slice(xs))
}

/// Numbers without an obvious order, always the same ones.
fn shuffled(n: i64) -> Vec<i64> {
    (0..n).map(|i| (i * 7919 + 13) % 1_000_003).collect()
}

const SPMV: &str = "
entry main (rp: []i64) (cols: []i64) (vals: []i64) (x: []i64) : []i64 =
  map (\\i -> let s = rp[i]
             let e = rp[i+1]
             in i64.sum (map2 (\\c v -> v * x[c]) cols[s:e] vals[s:e]))
      (iota (length rp - 1))";

/// Row lengths: mostly short, some empty, one row with half of all elements.
fn skewed_matrix(nnz: i64) -> Vec<Value> {
    let mut rp = vec![0, nnz / 2];
    while *rp.last().unwrap() < nnz {
        let last = *rp.last().unwrap();
        rp.push((last + (rp.len() as i64 % 4)).min(nnz));
    }
    let cols: Vec<i64> = (0..nnz).map(|i| i * 31 % 100).collect();
    vec![vector(&rp), vector(&cols), vector(&shuffled(nnz)), vector(&shuffled(100))]
}

#[test]
fn a_sparse_product_costs_its_elements_and_a_fixed_number_of_launches() {
    let p = program(SPMV);
    let (small, _) = count(&p, skewed_matrix(2_000));
    let (large, _) = count(&p, skewed_matrix(20_000));
    assert_eq!(small.launches, large.launches);
    assert!(small.launches <= 4, "{} launches", small.launches);
    assert_eq!(small.syncs, large.syncs);
    assert!(large.work < 11 * small.work, "{} after {}", large.work, small.work);
    assert!(large.work < 40 * 20_000, "{} operations", large.work);
    // Per row only: starts, lengths, offsets, results. Nothing per element is stored.
    assert!(large.bytes_materialised < 8 * 5 * 10_000, "{} bytes", large.bytes_materialised);
}

const LOOKUP: &str = "
def lookup (tree: []i64) (x: i64) : i64 =
  (loop (i, found) = (0, -1) while i < length tree do
     if tree[i] == x then (length tree, i)
     else (2 * i + (if x < tree[i] then 1 else 2), found)).1
entry main (tree: []i64) (xs: []i64) : []i64 = map (lookup tree) xs";

#[test]
fn a_shared_array_is_never_copied_for_its_readers() {
    let p = program(LOOKUP);
    let tree = |depth: u32| vector(&(0..(1i64 << depth) - 1).collect::<Vec<_>>());
    let (shallow, _) = count(&p, vec![tree(4), vector(&shuffled(500))]);
    let (deep, _) = count(&p, vec![tree(14), vector(&shuffled(500))]);
    assert_eq!(shallow.launches, deep.launches);
    // A tree a thousand times larger costs a few steps more for each reader.
    assert!(deep.work < 8 * shallow.work, "{} after {}", deep.work, shallow.work);
    assert!(deep.bytes_materialised <= 2 * shallow.bytes_materialised);
}

const RECURSIVE_LOOKUP: &str = "
def lookup (tree: []i64) (i: i64) (x: i64) : i64 =
  if i >= length tree then -1
  else if tree[i] == x then i
  else lookup tree (2 * i + (if x < tree[i] then 1 else 2)) x
entry main (tree: []i64) (xs: []i64) : []i64 = map (lookup tree 0) xs";

#[test]
fn a_recursive_reader_passes_the_shared_array_on_without_copying_it() {
    let p = program(RECURSIVE_LOOKUP);
    let tree = |depth: u32| vector(&(0..(1i64 << depth) - 1).collect::<Vec<_>>());
    let (shallow, _) = count(&p, vec![tree(4), vector(&shuffled(500))]);
    let (deep, _) = count(&p, vec![tree(14), vector(&shuffled(500))]);
    assert!(deep.work < 8 * shallow.work, "{} after {}", deep.work, shallow.work);
    assert!(deep.launches < 5 * shallow.launches, "{} after {}", deep.launches, shallow.launches);
}

/// Quicksort with its calls inside a map, and an entry point that uses it.
fn quicksort(entry: &str) -> Program {
    let sort = "
def qsort (xs: []i64) : []i64 =
  if length xs < 2 then xs
  else let p = xs[length xs / 2]
       let parts = map qsort [filter (< p) xs, filter (> p) xs]
       in parts[0] ++ filter (== p) xs ++ parts[1]
";
    program(&format!("{sort}{entry}"))
}

const SORT: &str = "entry main (xs: []i64) : []i64 = qsort xs";

/// The elements of a one-dimensional result.
fn elements(out: &[Column]) -> Vec<i64> {
    match &out[1] {
        Column::Data(a) => a.slice::<i64>().to_vec(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn quicksort_costs_n_log_n_and_launches_by_its_depth() {
    let p = quicksort(SORT);
    let run = |n: i64| {
        let xs = shuffled(n);
        let (c, out) = count(&p, vec![vector(&xs)]);
        let mut expected = xs;
        expected.sort_unstable();
        assert_eq!(elements(&out), expected);
        c
    };
    let (small, large) = (run(500), run(8_000));
    let growth = large.work as f64 / small.work as f64;
    assert!(growth < 16.0 * 2.2, "work grows by {growth}");
    assert!(large.launches < 3 * small.launches, "{} after {}", large.launches, small.launches);
}

#[test]
fn equal_elements_are_sorted_in_one_level() {
    let p = quicksort(SORT);
    let (small, _) = count(&p, vec![vector(&[7; 100])]);
    let (large, out) = count(&p, vec![vector(&[7; 10_000])]);
    assert_eq!(elements(&out), vec![7; 10_000]);
    assert_eq!(small.launches, large.launches);
    assert!(large.work < 110 * small.work, "{} after {}", large.work, small.work);
}

const SORT_ROWS: &str = "
entry main (xs: []i64) (n: i64) : []i64 =
  flatten (map qsort ([xs] ++ map (\\i -> [i, 1]) (iota n)))";

#[test]
fn finished_rows_do_not_pay_for_the_longest() {
    let p = quicksort(SORT_ROWS);
    let n = size(4_000);
    let (alone, _) = count(&p, vec![vector(&shuffled(4_000)), size(0)]);
    let (beside, _) = count(&p, vec![vector(&shuffled(4_000)), n]);
    // 4000 rows of two beside one row of 4000: a small constant per row, whatever the depth of the long one.
    assert!(beside.work < 2 * alone.work + 4_000 * 1_000, "{} after {}", beside.work, alone.work);
    assert!(beside.launches <= alone.launches + 20, "{} after {}", beside.launches, alone.launches);
}

const TWO_CALLS: &str = "
def halves (xs: []i64) : []i64 =
  if length xs < 2 then xs
  else let h = length xs / 2 in halves xs[h:] ++ halves xs[:h]
entry main (xs: []i64) : []i64 = halves xs";

#[test]
fn two_calls_launch_by_depth_not_by_their_number() {
    let p = program(TWO_CALLS);
    let (small, _) = count(&p, vec![vector(&shuffled(64))]);
    let (large, out) = count(&p, vec![vector(&shuffled(4_096))]);
    let mut expected = shuffled(4_096);
    expected.reverse();
    assert_eq!(elements(&out), expected);
    // 64 times the elements, twice the depth.
    assert!(large.launches < 3 * small.launches, "{} after {}", large.launches, small.launches);
    assert!(large.work < 64 * 3 * small.work, "{} after {}", large.work, small.work);
}

const SORTED_ROWS: &str = "
def insertion [n] (xs: *[n]i64) : [n]i64 =
  loop xs for i < n do
    (loop (xs, j) = (xs, i) while j > 0 && xs[j-1] > xs[j] do
      let (a, b) = (xs[j-1], xs[j])
      in ((xs with [j-1] = b) with [j] = a, j - 1)).0
entry main (ks: []i64) : []i64 =
  map (\\k -> let xs = insertion (map (\\j -> k - j) (iota k)) in i64.sum xs + (if k > 0 then xs[k-1] else 0)) ks";

#[test]
fn updates_in_a_loop_cost_what_they_write_and_no_launches() {
    let p = program(SORTED_ROWS);
    // One long row beside many short ones: the work is that of its squares.
    let (short, _) = count(&p, vec![vector(&[20, 1, 0, 3, 2, 1, 0, 3])]);
    let (long, _) = count(&p, vec![vector(&[200, 1, 0, 3, 2, 1, 0, 3])]);
    assert_eq!(short.launches, long.launches);
    assert!(long.launches <= 8, "{} launches", long.launches);
    assert!(long.work < 120 * short.work, "{} after {}", long.work, short.work);
    assert!(long.work < 20 * 200 * 200, "{} operations", long.work);
    assert!(long.bytes_materialised < 8 * 8 * 220, "{} bytes", long.bytes_materialised);
}
