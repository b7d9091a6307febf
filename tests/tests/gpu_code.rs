//! Kernels in C++ for GPUs, as snapshots to read.

use par::{Options, compile};

fn kernels(text: &str) -> String {
    let Ok(program) = compile(text, "snapshot.par", &Options::default()) else { panic!("rejected:\n{text}") };
    let Ok(program) = program.cuda_program() else { panic!("no kernels:\n{text}") };
    format!("{}\n\n=>\n\n{}", text.trim(), program.source())
}

macro_rules! snapshot {
    ($name:ident, $text:expr) => {
        #[test]
        fn $name() {
            insta::with_settings!({ omit_expression => true }, { insta::assert_snapshot!(kernels($text)) });
        }
    };
}

snapshot!(
    sums_of_ragged_rows_with_a_check,
    "
entry main (xss: [][]f32) (is: []i64) : []f32 = map2 (\\xs i -> f32.sum (map (\\x -> x / xs[i]) xs)) xss is"
);

snapshot!(
    a_scatter_of_pairs,
    "
entry main (n: i64) (is: []i64) : [](i64, bool) =
  scatter (replicate n (0i64, false)) is (map (\\i -> (i * i, i > 3)) is)"
);

snapshot!(
    a_histogram_in_order,
    "
entry main (is: []i64) (xs: []f32) : [10]f32 = hist (+) 0f32 10 is xs"
);

snapshot!(
    a_loop_that_owns_its_array,
    "
entry main (n: i64) : []i32 =
  loop xs = replicate n 1i32 for i < n - 1 do xs with [i + 1] = xs[i] * 3i32"
);

snapshot!(
    recursion_in_a_kernel,
    "
def gcd (a: i64) (b: i64) : i64 = if b == 0 then a else gcd b (a % b)
def depth (n: i64) : i64 = if n <= 0 then 0 else 1 + depth (n / 2)
entry main (xs: []i64) : []i64 = map (\\x -> gcd x 12 + depth x) xs"
);

snapshot!(
    a_batch_of_products,
    "
entry main [q] [n] [m] [p] (a: [q][n][m]f32) (b: [q][p][m]f32) : [q][n][p]f32 =
  map2 (\\a b -> map (\\r -> map (\\c -> f32.sum (map2 (*) r c)) b) a) a b"
);

snapshot!(
    a_transposed_copy,
    "
entry main [n] [m] (a: [n][m]f64) : [m][n]f64 = copy (transpose a)"
);

snapshot!(
    a_reduction_of_columns,
    "
entry main [n] [m] (a: [n][m]i32) : [m](i32, i64) =
  map (\\c -> reduce (\\(x, i) (y, j) -> if y > x then (y, j) else (x, i)) (i32.lowest, -1) (zip c (iota n)))
      (transpose a)"
);
