//! Memory traffic of operations on columns: matrices are not transposed, and an update in place does not copy a matrix of which a row or column
//! was read before.

use super::state::grows_at_most;
use super::{count, program, size};

/// `main` stores little more than its result, of 500 rows and so many columns: `f` of each column.
#[track_caller]
fn stores_its_result(f: &str) {
    for columns in [20, 100] {
        let text = |of: &str| {
            format!(
                "def matrix (n: i64) : [n][{columns}]i64 =
                   #[opaque] tabulate_2d n {columns} (\\i j -> (i * 7919 + j * 104729) % 1000)
                 entry main (n: i64) : [n][{columns}]i64 = let m = matrix n in {of}"
            )
        };
        let stored = |of: &str| count(&program(&text(of)), vec![size(500)]).0.bytes_materialised;
        let [matrix, all] = [stored("m"), stored(&format!("transpose (map ({f}) (transpose m))"))];
        let result = 8 * 500 * columns;
        assert!(
            (result..result * 21 / 20).contains(&(all - matrix)),
            "{f}, {columns} columns: {}",
            all - matrix
        );
    }
}

#[test]
fn what_is_made_of_columns_is_stored_once() {
    stores_its_result("scan (+) 0");
    stores_its_result(
        "\\c -> map2 (\\s x -> s.1 + x) (scan (\\(a, b) (p, q) -> (a + p, i64.max b q)) (0, 0) (zip c c)) c",
    );
    stores_its_result("\\c -> let s = i64.sum c in map (\\x -> x * 1000 - s) c");
    stores_its_result("\\c -> map (\\i -> c[i64.max 0 (i - 1)] + c[i64.min (n - 1) (i + 1)]) (iota n)");
    stores_its_result("\\c -> loop r = copy c for i < n - 1 do r with [i + 1] = r[i] / 2 + c[i + 1]");
    stores_its_result("\\c -> loop r = replicate n 0 for i < n do r with [i] = c[i] * 3");
}

#[test]
fn prefixes_that_are_reduced_are_stored_once() {
    let text = "def matrix (n: i64) : [n][100]i64 = #[opaque] tabulate_2d n 100 (\\i j -> (i * 7919 + j * 104729) % 1000)
         entry main (n: i64) : [100]i64 =
           let m = matrix n in map (\\c -> i64.minimum (map2 (-) c (scan i64.max 0 c))) (transpose m)";
    let (cost, _) = count(&program(text), vec![size(500)]);
    // The matrix, the prefixes, and what blocks of rows and columns have come to.
    assert!((2 * 400_000..2 * 410_000).contains(&cost.bytes_materialised), "{cost:?}");
}

#[test]
fn a_row_that_is_read_after_an_update() {
    grows_at_most(
        "entry main (n: i64) : i64 =
           let m = tabulate_2d n 20 (\\i j -> i * j)
           in (loop m = m for k < n do
                 let row = m[k]
                 let s = i64.sum row
                 let m = m with [k, 0] = s
                 in m with [k, 1] = row[19] + row[0])[n - 1, 1]",
        100,
        12.0,
    );
}

#[test]
fn a_column_that_is_read_after_an_update() {
    grows_at_most(
        "entry main (n: i64) : i64 =
           let m = tabulate_2d 20 n (\\i j -> i * j)
           in (loop m = m for k < n do
                 let column = map (\\i -> m[i, k]) (iota 20)
                 let m = m with [0, k] = i64.sum column
                 in m with [1, k] = column[19] + column[0])[1, n - 1]",
        100,
        12.0,
    );
}
