//! Flattened representative programs: the whole way from source text to FLAT, as snapshots.

use par::{Options, compile, print_flat};

fn flat(text: &str) -> String {
    let Ok(program) = compile(text, "snapshot.par", &Options::default()) else { panic!("rejected:\n{text}") };
    let Ok(flat) = program.flat() else { panic!("no FLAT:\n{text}") };
    format!("{}\n\n=>\n\n{}", text.trim(), print_flat(flat))
}

macro_rules! snapshot {
    ($name:ident, $text:expr) => {
        #[test]
        fn $name() {
            insta::with_settings!({ omit_expression => true }, { insta::assert_snapshot!(flat($text)) });
        }
    };
}

snapshot!(
    sparse_matrix_times_vector,
    "
entry main [m1] [nnz] [m] (rp: [m1]i32) (cols: [nnz]i32) (vals: [nnz]f32) (x: [m]f32) : []f32 =
  map (\\i -> let s = i64.i32 rp[i]
             let e = i64.i32 rp[i+1]
             in f32.sum (map2 (\\c v -> v * x[c]) cols[s:e] vals[s:e]))
      (iota (m1-1))"
);

snapshot!(
    sums_of_ragged_rows,
    "
entry main (xss: [][]f32) : []f32 = map f32.sum xss"
);

snapshot!(
    sums_of_rows_of_one_length,
    "
entry main [n] [m] (xss: [n][m]f32) : [n]f32 = map f32.sum xss"
);

snapshot!(
    the_nearest_of_shared_points,
    "
entry main [n] [k] (cs: [k]f32) (xs: [n]f32) : [n]i64 =
  map (\\x -> (reduce (\\(a, i) (b, j) -> if b < a then (b, j) else (a, i)) (f32.inf, 0)
                     (map2 (\\c i -> (f32.abs (x - c), i)) cs (iota k))).1) xs"
);

snapshot!(
    filtering_every_row,
    "
entry main (xss: [][]i64) : [][]i64 = map (filter (> 0)) xss"
);

snapshot!(
    a_branch_with_parallel_arms,
    "
entry main (xss: [][]i64) : []i64 =
  map (\\xs -> if length xs > 2 then i64.sum (map (\\x -> x * x) xs) else i64.sum (iota (length xs))) xss"
);

snapshot!(
    a_loop_that_shrinks_its_rows,
    "
entry main (xss: [][]i64) : []i64 =
  map (\\xs -> length (loop xs while length xs > 3 do filter (> i64.sum xs / length xs) xs)) xss"
);

// Every element of a row goes through all iterations in one kernel; no position needs to work by itself.
snapshot!(
    rows_that_are_added_up_in_a_loop,
    "
entry main [n][m][p] (a: [n][m]f32) (b: [m][p]f32) : [n][p]f32 =
  map (\\ar -> loop acc = replicate p 0 for k < m do map2 (\\c x -> c + ar[k] * x) acc b[k]) a"
);

#[test]
fn numbers_from_positions_are_not_stored_by_maps_that_may_fail() {
    let text = flat(
        "entry main [n] (t: *[]i32) (xs: [n]i32) : []i32 =
           let (is, vs) = unzip (map (\\k -> (2 * k + 1, t[k] + xs[n - 1 - k])) (iota n))
           in scatter t is vs",
    );
    let code = text.split("=>").nth(1).expect("there is FLAT");
    assert!(code.contains("check") && code.contains("kernel map (elem i32) over"), "{text}");
}

/// The gradient of a program by its irregular argument, at one, with the functions that it needs.
fn gradient(rows: &str, of: &str) -> String {
    format!("entry main (xs: {rows}) : {rows} = vjp (\\x -> f64.sum ({of})) xs 1.0")
}

#[test]
fn gradients_have_the_descriptors_of_their_arguments() {
    let programs = [
        ("[][]f64", "map (\\r -> let s = f64.sum r in s * s) x"),
        ("[][]f64", "map (\\r -> let e = map f64.exp r in f64.maximum e / f64.sum e) x"),
        ("[][]f64", "map (\\r -> f64.sum (filter (> 0) r)) x"),
        ("[][]f64", "map (\\r -> f64.sum (map2 (\\a i -> a * f64.i64 i) (sort r) (indices r))) x"),
        ("[][]f64", "map (\\r -> f64.sum (scan (+) 0 r)) x"),
        ("[][][]f64", "map (\\rs -> f64.sum (map f64.maximum rs)) x"),
    ];
    for (rows, of) in programs {
        let text = gradient(rows, of);
        let Ok(program) = compile(&text, "gradient.par", &Options::default()) else {
            panic!("rejected:\n{text}")
        };
        let Ok(flat) = program.flat() else { panic!("no FLAT:\n{text}") };
        let main = flat.funs.iter().find(|f| f.entry.is_some()).expect("an entry");
        let (elements, levels) = main.params.split_last().expect("an argument");
        let results: Vec<_> = main.body.results.iter().map(|a| a.var()).collect();
        let (gradient, of_levels) = results.split_last().expect("a result");
        assert_eq!(of_levels, levels.iter().map(|p| Some(p.var)).collect::<Vec<_>>(), "{text}");
        assert_ne!(*gradient, Some(elements.var), "{text}");
    }
}

snapshot!(
    a_scan_along_columns,
    "
entry main [n] [m] (xs: [n][m]i64) : [n][m]i64 = transpose (map (scan (+) 0) (transpose xs))"
);

snapshot!(
    a_loop_along_columns,
    "
entry main [n] [m] (xs: [n][m]f32) : [n][m]f32 =
  transpose (map (\\c -> loop r = copy c for i < n - 1 do r with [i + 1] = r[i] / 2 + c[i + 1]) (transpose xs))"
);

snapshot!(
    columns_from_their_means,
    "
entry main [n] [m] (xs: [n][m]f32) : [n][m]f32 =
  transpose (map (\\c -> let mean = f32.sum c / f32.i64 n in map (\\x -> x - mean) c) (transpose xs))"
);

snapshot!(
    rows_of_a_table_from_the_rows_before,
    "
entry main [m] [n] (xss: *[m][n]i32) : [m][n]i32 =
  loop t = xss for i in 1..<m do
    t with [i] = map (\\j -> if j > 0 then t[i - 1, j - 1] + t[i, j] else t[i, j]) (iota n)"
);

snapshot!(
    rows_that_shrink_alike,
    "
entry main [m] (ts: []f64) (xs: [m]f64) (ys: [m]f64) : []f64 =
  map (\\t ->
    let p = loop p = ys for k < m - 1 do
      tabulate (m - 1 - k) (\\i -> ((t - xs[i + k + 1]) * p[i] + (xs[i] - t) * p[i + 1]) / (xs[i] - xs[i + k + 1]))
    in p[0]) ts"
);
