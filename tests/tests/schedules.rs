//! Schedules of kernels: the way in which each runs on a CPU, as the plan stores it. That results are right is for golden programs to say.

use par::{Options, compile};
use par_ir::print::print_flat;

/// The schedules of a program's kernels, in the order of its statements.
fn schedules(text: &str) -> Vec<String> {
    let shown = |f: par::Failure| f.render(false);
    let program =
        compile(text, "schedules.par", &Options::default()).unwrap_or_else(|f| panic!("{}", shown(f)));
    let flat = program.flat().unwrap_or_else(|f| panic!("{}", shown(f)));
    par_codegen::cpu::schedules(flat).into_iter().map(|(_, s)| s.to_string()).collect()
}

#[test]
fn maps_and_reductions() {
    assert_eq!(schedules("entry main (xs: []f32) : []f32 = map (+ 1) xs"), ["lanes: 16"]);
    assert_eq!(schedules("entry main (xs: []i32) : i32 = reduce (+) 0 xs"), ["lanes: 16"]);
    for op in [
        "if a < c || (a == c && b < d) then (a, b) else (c, d)",
        "(a * c - b * d, a * d + b * c)",
        "(a * c, b * c + d)",
    ] {
        let entry = "entry main (xs: [](f32, f32)) : (f32, f32)";
        assert_eq!(
            schedules(&format!("{entry} = reduce (\\(a, b) (c, d) -> {op}) (1, 0) xs")),
            ["lanes: 16"],
            "{op}"
        );
    }
    let long = "entry main (xs: []i64) : []i64 = map (\\x -> loop y = x while i64.popc y > 3 do y - 1) xs";
    assert_eq!(schedules(long), ["one by one"]);
}

#[test]
fn sizes_beside_arrays() {
    // Both versions: the one without checks is the product of matrices, and the sum along columns in blocks of rows.
    let product =
        "entry main [p] [q] [r] [s] (a: [p][q]f32) (b: [r][s]f32) (n: i64) (m: i64) (k: i64) : [n][m]f32 =
      map (\\i -> map (\\j -> f32.sum (map (\\l -> a[i, l] * b[l, j]) (iota k))) (iota m)) (iota n)";
    let of_product = schedules(product);
    assert!(of_product.iter().any(|s| s.starts_with("tiles of a matrix product")), "{of_product:?}");
    let sums = "entry main [p] [q] (a: [p][q]f32) (n: i64) (m: i64) : [m]f32 =
      map (\\j -> f32.sum (map (\\i -> a[i, j]) (iota n))) (iota m)";
    let known = "entry main [n] [m] (a: [n][m]f32) : [m]f32 =
      map (\\j -> f32.sum (map (\\i -> a[i, j]) (iota n))) (iota m)";
    assert_eq!(schedules(sums).len(), schedules(known).len() + 2);
}

#[test]
fn transpositions_and_short_sorts() {
    let pairs = "entry main [n] [m] (a: [n][m](f32, i64)) : [m][n](f32, i64) = transpose a";
    assert_eq!(schedules(pairs), ["tiles of a transposition"; 2]);
    // Twelve numbers are exchanged with their neighbours, more are sorted by the runtime.
    let sorts = |n: usize| {
        let text = format!("entry main (a: [][{n}]i32) : [][{n}]i32 = map sort a");
        let program = compile(&text, "sorts.par", &Options::default())
            .unwrap_or_else(|f| panic!("{}", f.render(false)));
        print_flat(program.flat().unwrap_or_else(|f| panic!("{}", f.render(false)))).contains(" = sort")
    };
    assert_eq!([sorts(12), sorts(13)], [false, true]);
}

#[test]
fn searches_and_bits() {
    // Loops with indices of 32 bits do not need a processor that gathers.
    let search = "entry main [n] [k] (edges: [k]f32) (xs: [n]f32) : [n]i64 =
      map (\\x -> (loop (lo, hi) = (0, k) while lo < hi do
                     let mid = (lo + hi) / 2
                     in if x < edges[mid] then (lo, mid) else (mid + 1, hi)).0) xs";
    assert_eq!(schedules(search), ["lanes: 16"]);
    let bits = "entry main [n] (x: u32) (vs: [n]u32) : u32 =
      reduce (^) 0 (map2 (\\v k -> if (x >> u32.i64 k) & 1 == 1 then v else 0) vs (iota n))";
    assert_eq!(schedules(bits), ["lanes: 16"]);
}

#[test]
fn while_loops_along_rows() {
    let walk = |step: &str, next: &str| {
        let cond = "while j < m && s < 9 do";
        schedules(&format!(
            "entry main [m] [n] (a: [m]f64) (p: [m]i64) (at: [n]i64) : [n]f64 =
               map (\\b -> (loop (s, j) = (0, b) {cond} (s + {step}, {next})).0) at"
        ))
    };
    // One element after the other is in the cache; elements from anywhere are worth waiting for together.
    assert_eq!(walk("a[j]", "j + 1"), ["one by one"]);
    assert_eq!(walk("a[m - 1 - j]", "j + 1"), ["one by one"]);
    assert_eq!(walk("a[p[j]]", "j + 1"), ["lanes: 16"]);
    assert_eq!(walk("a[j]", "p[j]"), ["lanes: 16"]);
}

#[test]
fn divisions() {
    for prim in ["i8", "u8", "i16", "u16", "i32", "u32", "i64", "u64"] {
        for division in ["x / 7", "x % 7", "x // 7", "x %% k"] {
            let entry = format!("entry main [n] (k: {prim}) (xs: [n]{prim}) : [n]{prim}");
            let all = schedules(&format!("{entry} = map (\\x -> {division}) xs"));
            assert!(all.last().is_some_and(|s| s.starts_with("lanes: ")), "{prim}: {division}: {all:?}");
        }
    }
    // Floats hold neither this divisor nor its multiples.
    let large = "entry main [n] (xs: [n]i64) : [n]i64 = map (\\x -> x / 1125899906842625) xs";
    assert_eq!(schedules(large), ["one by one"]);
}

#[test]
fn scans_with_any_operator() {
    for (op, lanes) in [
        ("(a * c, b * c + d)", "lanes: 8"),
        ("if b > d then (a, b) else (c, d)", "lanes: 8"),
        ("(f64.max a c, b * d)", "lanes: 8"),
    ] {
        let entry = "entry main [n] (xs: [n](f64, f64)) : [n](f64, f64)";
        let scan = format!("{entry} = scan (\\(a, b) (c, d) -> {op}) (1, 0) xs");
        assert_eq!(schedules(&scan), [lanes], "{op}");
    }
    let called = "entry main (xs: []f64) : []f64 = scan (\\x y -> f64.pow x y) 1 xs";
    assert_eq!(schedules(called), ["one by one"]);
}

#[test]
fn strips() {
    let stages = "entry main (xs: []f32) : []f32 = map (\\x -> f32.exp (2 * x) + f32.log x) xs";
    assert_eq!(schedules(stages), ["strips: compute, exp, log, store"]);
    let many = "entry main (xs: []f32) : []f32 =
      map (\\x -> f32.sum (map (\\k -> f32.exp (x * f32.i64 k)) (iota 12))) xs";
    let calls = ["exp"; 12].join(", ");
    assert_eq!(schedules(many), [format!("strips: compute 11 values, {calls}, store")]);
    let prefixes = "entry main (xs: []f32) : []f32 = scan (+) 0 xs";
    assert_eq!(schedules(prefixes), ["strips: scan add.f32"]);
    let used = "entry main (xs: []f32) : []f32 = map (* 2) (scan (+) 0 (map (+ 1) xs))";
    assert_eq!(schedules(used), ["strips: compute, scan add.f32, store"]);
    let filter = "entry main (xs: []i64) : []i64 = filter (> 3) xs";
    assert_eq!(schedules(filter), ["strips: compute, pack"]);
    let scatter =
        "entry main [n] (is: [n]i64) (xs: [n]i64) : *[n]i64 = scatter (replicate n 0) (map (% n) is) xs";
    assert!(schedules(scatter).contains(&"strips: compute 2 values, scatter".to_string()));
}

#[test]
fn tiles() {
    let product = "entry main [n] [m] [k] (a: [n][m]f32) (b: [m][k]f32) : [n][k]f32 =
      map (\\r -> map (\\c -> f32.sum (map2 (*) r c)) (transpose b)) a";
    assert!(schedules(product).contains(&"tiles of a matrix product".to_string()));
    let copy = "entry main [n] [m] (a: [n][m]f32) : [m][n]f32 = copy (transpose a)";
    assert_eq!(schedules(copy), ["tiles of a transposition"]);
}

#[test]
fn partitions() {
    let classes = "entry main [n] (xs: [n]u32) : [n]u32 =
      let ones = map (\\x -> i64.u32 (x & 1)) xs
      let zeros = map (1 -) ones
      let behind = reduce (+) 0 zeros
      let is = map2 (*) zeros (scan (+) 0 zeros)
      let js = map2 (*) ones (map (+ behind) (scan (+) 0 ones))
      in scatter (copy xs) (map (\\i -> i - 1) (map2 (+) is js)) xs";
    assert!(schedules(classes).contains(&"strips: compute, move to 2 classes".to_string()));
}

#[test]
fn waves_run_row_after_row() {
    let waves = |index: &str, value: &str| {
        let text = format!(
            "entry main (n: i64) (w: i64) (xs: []f64) : []f64 = loop xs = copy xs for q < w do
               let (is, vs) = unzip (map (\\i -> ({index}, {value})) (iota n)) in scatter xs is vs"
        );
        let program = compile(&text, "waves.par", &Options::default())
            .unwrap_or_else(|f| panic!("{}", f.render(false)));
        print_flat(program.flat().unwrap_or_else(|f| panic!("{}", f.render(false))))
            .contains("versions waves")
    };
    // Columns, and diagonals, from those before.
    assert!(waves("i * w + q + 1", "xs[i * w + q]"));
    assert!(waves("(i + 1) * w + q - i", "xs[i * w + q - i] + xs[(i + 1) * w + q - i - 1]"));
    // From the row below, from a wave that is still to come, and from an element that is written in the same wave.
    assert!(!waves("i * w + q + 1", "xs[(i + 1) * w + q]"));
    assert!(!waves("i * w + q", "xs[i * w + q + 1]"));
    assert!(!waves("i * w + q", "xs[i * w + q] + 1"));
    assert!(waves("i * w + q + 1", "f64.min xs[i * w + q] 3"));
    // In an arm of a branch, with its check; written unless it is outside of the matrix.
    assert!(waves("i * w + q + 1", "if i % 3 == 0 then xs[i * w + q] else 1"));
    let inside = |rows: &str| format!("if {rows} && q - i >= 0 && q - i < w then i * w + q - i else -1");
    assert!(waves(&inside("i >= 0 && i < n"), "xs[i * w + q - i - 1]"));
    // Rows whose numbers might wrap between the first and the last.
    assert!(!waves(&inside("i + 5 < n"), "xs[i * w + q - i - 1]"));
    // In steps of two waves.
    assert!(!waves("i * w + 2 * q + 2", "xs[i * w + 2 * q]"));
}

#[test]
fn windows_of_rows_are_loops_of_positions() {
    let all = |window: &str| {
        schedules(&format!(
            "entry main [n] [m] [p] [q] (a: [n][m]f32) (k: [p][q]f32) (r: i64) : [][]f32 =
               tabulate_2d (n - 9) (m - 9) (\\i j -> {window})"
        ))
    };
    for window in [
        "f32.sum (flatten (tabulate_2d 5 5 (\\y x -> k[y, x] * a[i + y, j + x])))",
        "f32.sum (flatten a[i:i + 9, j:j + 9])",
        "f32.sum (map2 (*) (flatten k) (flatten a[i:i + p, j:j + q]))",
        "f32.sum (map2 (\\kr ar -> f32.sum (map2 (*) kr ar[j:j + q])) k a[i:i + p])",
        "f32.maximum (map f32.maximum a[i:i + 7, j:j + 7])",
        "f32.sum (flatten a[i64.max 0 (i - r):i64.min n (i + r), i64.max 0 (j - r):i64.min m (j + r)])",
    ] {
        let found = all(window);
        assert!(
            found.len() <= 2 && found.last().is_some_and(|s| s.starts_with("lanes")),
            "{window}: {found:?}"
        );
    }
    // Columns do not overlap.
    assert!(all("f32.sum (tabulate n (\\y -> a[y, j]))").len() > 1);
}

#[test]
fn short_rows_are_positions() {
    let one =
        |result: &str, map: &str| schedules(&format!("entry main [n] (a: [n][3]f32) : {result} = {map}"));
    let normals = "map (\\p -> let l = f32.sqrt (p[0] * p[0] + p[1] * p[1] + p[2] * p[2]) in map (/ l) p) a";
    assert_eq!(one("[n][3]f32", normals), ["lanes: 16"]);
    assert_eq!(one("[n][3]f32", "map reverse a"), ["lanes: 16"]);
    assert_eq!(one("[n][3]f32", "map (scan (+) 0) a"), ["lanes: 16"]);
    // Sums along rows, which lanes would gather, are in groups of the loop.
    let sums = "entry main [n] [m] (a: [n][m]i32) : [n]i32 = map (\\r -> #[sequential] loop s = 0i32 for x in r do s + x) a";
    assert_eq!(schedules(sums), ["one by one"]);
}

#[test]
fn rows_written_along_loops() {
    let along = |next: &str| {
        format!(
            "entry main [n] [m] (rows: [n][m]f64) : [n][m]f64 =
               map (\\(x: [m]f64) ->
                      (loop (out, y) = (replicate m 0, 0) for i < m do
                         let y = {next}
                         in (out with [i] = y, y)).0) rows"
        )
    };
    // An iteration waits for two operators: other positions wait beside it.
    assert_eq!(schedules(&along("0.9 * y + 0.1 * x[i]")), ["lanes: 4"]);
    // What it reads of what it writes is held transposed.
    assert_eq!(schedules(&along("if i == 0 then x[i] else out[i / 2] * 0.5 + x[i]")), ["lanes: 16"]);
    // The same for sums of rows of any length, but for what an iteration waits for.
    let of_rows = |next: &str| {
        format!(
            "entry main [n] (starts: []i64) (xs: []f64) (vs: [n]f64) : [n]f64 =
               map (\\i -> let first = starts[i]
                          in loop s = 0 for j < starts[i + 1] - first do {next}) (iota n)"
        )
    };
    assert_eq!(schedules(&of_rows("s * vs[i] + xs[first + j]")), ["one by one"]);
    let waits = "((s * vs[i] + xs[first + j]) * 0.5 + vs[i]) * s + xs[first + j]";
    assert_ne!(schedules(&of_rows(waits)), ["one by one"]);
}

#[test]
fn short_rows() {
    let rows = |of_row: &str| {
        let entry = "entry main [n] (lens: [n]i64) (at: []i64) (xs: []f64)";
        let text = format!("{entry} = map (\\row -> {of_row}) (segments lens (zip at xs))");
        schedules(&text).into_iter().filter(|s| !s.starts_with("lanes: ")).collect::<Vec<_>>()
    };
    // Each in a lane, the length of the longest at a time.
    assert_eq!(rows("f64.sum (map (.1) row)"), ["rows in lanes: 8"]);
    assert_eq!(rows("f64.sum (map (\\(i, x) -> f64.i64 i * x) row)"), ["rows in lanes: 8"]);
    assert_eq!(rows("length (filter (\\(_, x) -> x > 0) row)"), ["rows in lanes: 8"]);
    assert_eq!(rows("i64.maximum (map (.0) row)"), ["rows in lanes: 8"]);
    assert_eq!(rows("if length row == 0 then 0 else argmax (map (.1) row)"), ["rows in lanes: 8"]);
    // Three arrays are read: too many numbers live for rows that are done alone between the groups.
    let far = "entry main [n] [m] (lens: [n]i64) (at: []i64) (xs: [m]f64) (ys: []f64) =
      map (\\row -> f64.sum (map (\\(i, y) -> xs[i] * y) row)) (segments lens (zip at ys))";
    assert_eq!(schedules(far).last().map(String::as_str), Some("one by one"));
    // Lanes that read on behind the end of a row might leave the array, if rows come from anywhere.
    let views = "entry main (lens: []i64) (xs: []f64) (is: []i64) = let rows = segments lens xs in map (\\i -> f64.sum rows[i]) is";
    assert_eq!(schedules(views).last().map(String::as_str), Some("lanes: 8"));
    let weights = "entry main [m] (lens: []i64) (xs: []f64) (ws: [m]f64) =
      map (\\row -> f64.sum (map2 (*) row (take (length row) ws))) (segments lens xs)";
    assert_eq!(schedules(weights).last().map(String::as_str), Some("lanes: 8"));
}

#[test]
fn rows_past_their_ends() {
    let last = |text: &str| schedules(text).pop();
    let of_lengths =
        |of: &str| format!("entry main [n] (lens: [n]i64) = map2 (\\k m -> {of}) (indices lens) lens");
    let groups = Some("lanes past the ends of rows: 8".to_string());
    assert_eq!(last(&of_lengths("map (\\i -> m - i + k) (iota m)")), groups);
    assert_eq!(last(&of_lengths("replicate m k")), groups);
    // What is read there might not be the row's, and a division might fail.
    assert_ne!(last("entry main (rows: [][]f64) = map (map (* 2)) rows"), groups);
    assert_ne!(last(&of_lengths("map (\\i -> i / k) (iota m)")), groups);
    // Rows of one length end where the processor foresees it.
    assert_ne!(last("entry main (n: i64) (m: i64) = tabulate_2d n m (\\i j -> i - j)"), groups);
}

#[test]
fn columns() {
    let of = |dims: &str, f: &str| {
        schedules(&format!("entry main [n] [m] (xs: [n][m]f32) : {dims}f32 = {f} (transpose xs)"))
    };
    // Few columns each by itself, many in strips: groups of the loop along a row; then a scan of rows, for GPUs, and its transposition.
    let scan = of("[n][m]", "transpose <| map (scan (+) 0)");
    assert_eq!(scan, ["lanes: 4", "one by one", "one by one", "tiles of a transposition"]);
    // Neighbouring columns have neighbouring elements of what they update, so that nothing is transposed.
    let step = "r with [i + 1] = r[i] / 2 + c[i + 1]";
    let updates = of("[n][m]", &format!("transpose <| map (\\c -> loop r = copy c for i < n - 1 do {step})"));
    assert_eq!(updates, ["lanes: 16", "lanes: 4"]);
    // A check may end a position that has updated what it reads.
    let checked = "r with [i + 1] = r[i] / 2 + c[i64.f32 c[i]]";
    let looks =
        of("[n][m]", &format!("transpose <| map (\\c -> loop r = copy c for i < n - 1 do {checked})"));
    assert_eq!(looks.last().map(String::as_str), Some("one by one"));
    assert_eq!(
        of("[n][m]", "transpose <| map (\\c -> let s = f32.sum c in map (/ s) c)").pop(),
        Some("lanes: 16".into())
    );
}

#[test]
fn parts_of_arrays() {
    // Rows of small matrices are exchanged at places of their own.
    let eliminate = "entry main [k] [n] (ms: [k][n][n]f64) : [k]f64 =
      map (\\m -> let (a, d) =
                   loop (a, d) = (copy m, 1) for i < n do
                     let p = loop p = i for r in i+1..<n do if f64.abs a[r, i] > f64.abs a[p, i] then r else p
                     let (ri, rp) = (copy a[i], copy a[p])
                     let a = a with [i] = rp
                     let a = a with [p] = ri
                     let a = loop a for r in i+1..<n do
                               let f = a[r, i] / a[i, i]
                               in loop a for c in i..<n do a with [r, c] = a[r, c] - f * a[i, c]
                     in (a, d * a[i, i])
                 in d + a[0, 0]) ms";
    assert!(schedules(eliminate).iter().any(|s| s == "lanes: 4"), "{:?}", schedules(eliminate));
    // A row that is read again for each of the shared ones.
    let nearest = "entry main [k] [n] [d] (cs: [k][d]f32) (ps: [n][d]f32) : [n]i64 =
      map (\\p -> #[sequential] argmin (map (\\c -> f32.sum (map2 (\\x y -> (x - y) * (x - y)) p c)) cs)) ps";
    assert!(schedules(nearest).iter().all(|s| s.starts_with("lanes")), "{:?}", schedules(nearest));
    // A histogram of rows updates neighbours.
    let rows = "entry main [k] [n] [d] (z: [k][d]f32) (is: [n]i64) (ps: [n][d]f32) : [k][d]f32 =
      reduce_by_index (copy z) (map2 (+)) (replicate d 0) is ps";
    let shown = |f: par::Failure| f.render(false);
    let program = compile(rows, "rows.par", &Options::default()).unwrap_or_else(|f| panic!("{}", shown(f)));
    let flat = program.flat().unwrap_or_else(|f| panic!("{}", shown(f)));
    let explained = par_codegen::cpu::explained(flat);
    assert!(explained.iter().any(|(_, s)| s.contains("updates neighbours, in groups")), "{explained:?}");
}

/// Each sequence has state of its own, whose parts are held transposed.
#[test]
fn state_of_ragged_rows_is_in_lanes() {
    for step in ["x + f64.sum (map2 (*) s c)", "x + f64.maximum (map2 (+) s c)"] {
        let found = schedules(&format!(
            "entry main [k] (w: [k][k]f64) (xss: [][]f64) : [][k]f64 =
               map (\\xs -> #[sequential] loop s = replicate k 0 for x in xs do map (\\c -> {step}) w) xss"
        ));
        assert_eq!(found.last().map(|s| &s[..5]), Some("lanes"), "{step}: {found:?}");
    }
}

/// Merges read along two rows: elements are in the cache, and lanes would wait for the longest rows.
#[test]
fn merges_of_rows_are_one_by_one() {
    let merged = |start: &str, iteration: &str| {
        schedules(&format!(
            "entry main [n] (xss: [n][]i64) (yss: [n][]i64) : [n]i64 =
               map2 (\\xs ys -> (loop (s, i, j) = ({start}, 0, 0) while i < length xs && j < length ys do {iteration}).0) xss yss"
        ))
    };
    let count = "if xs[i] == ys[j] then (s + 1, i + 1, j + 1) else if xs[i] < ys[j] then (s, i + 1, j) else (s, i, j + 1)";
    let by_numbers =
        "(s + i64.bool (xs[i] == ys[j]), i + i64.bool (xs[i] <= ys[j]), j + i64.bool (ys[j] <= xs[i]))";
    for iteration in [count, by_numbers] {
        assert_eq!(merged("0", iteration), ["one by one"], "{iteration}");
    }
    // Elements come from anywhere.
    let search = "if xs[i] < ys[j] then (s + 1, i * 2 + 1, j) else (s, i * 2 + 2, j + 1)";
    assert_eq!(&merged("0", search)[0][..5], "lanes");
}
