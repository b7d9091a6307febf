//! Which functions of the runtime machine code calls. That scans, filters, scatters and partitions have the right results is for golden programs to
//! say; here, that they are done on strips at all.

use par::pipeline::Versions;
use par::{Backend, Context, Options, compile};
use par_codegen::cpu::{Processor, Shape, compile_object};
use par_runtime::image::Needs;
use std::collections::HashSet;

/// Needs of a program's code.
fn needs(text: &str, processor: Processor) -> Needs {
    let program =
        compile(text, "strips.par", &Options::default()).unwrap_or_else(|f| panic!("{}", f.render(false)));
    let flat = program.flat().unwrap_or_else(|f| panic!("{}", f.render(false)));
    let mut found = None;
    let object = compile_object(flat, processor, Shape::Executable, |_, needs| {
        found = Some(needs);
        Ok(Vec::new())
    });
    assert!(object.is_ok(), "{object:?}");
    found.expect("it was asked for")
}

/// The code of a program's kernels, before machine code is made of it.
fn code_of(text: &str) -> String {
    let program =
        compile(text, "code.par", &Options::default()).unwrap_or_else(|f| panic!("{}", f.render(false)));
    program.clif().unwrap_or_else(|f| panic!("{}", f.render(false)))
}

/// The functions that the code of a program calls, without `par_` before them.
fn called(text: &str) -> Vec<String> {
    let functions = needs(text, Processor::Native).functions;
    let mut called: Vec<String> =
        functions.iter().map(|f| f.trim_start_matches("par_").to_string()).collect();
    called.sort();
    called
}

#[test]
fn filters_are_packed() {
    let text = "entry main (xs: []i64) : ([]i64, []f32, []u8) =
      let keep = filter (> 3)
      in (keep xs, map f32.i64 (keep xs), map (.0) (filter (.1) (map (\\x -> (u8.i64 x, x > 3)) xs)))";
    assert_eq!(called(text), ["pack_1", "pack_8"]);
}

#[test]
fn radix_steps_are_partitions() {
    // The array is read again, whether the number of zeros comes before the scans or behind one.
    for (before, after) in [("let behind = reduce (+) 0 zeros", ""), ("", "let behind = reduce (+) 0 zeros")]
    {
        let text = format!(
            "entry main [n] (xs: [n]u32) (b: u32) : [n]u32 =
              let ones = map (\\x -> i64.u32 ((x >> b) & 1)) xs
              let zeros = map (1 -) ones
              {before}
              let is = map2 (*) zeros (scan (+) 0 zeros)
              {after}
              let js = map2 (*) ones (map (+ behind) (scan (+) 0 ones))
              in scatter (copy xs) (map (\\i -> i - 1) (map2 (+) is js)) xs"
        );
        assert_eq!(called(&text), ["partition_first_4"]);
    }
}

/// Parts of near arrays are buffered, of far ones counted. The second range may begin too soon: then classes go over each other.
#[test]
fn partitions_on_several_threads() {
    let text = "entry main [n] (xs: [n]u32) (early: i64) : [n]u32 =
      let ones = map (\\x -> i64.u32 ((x >> 3) & 1)) xs
      let zeros = map (1 -) ones
      let behind = reduce (+) 0 zeros - early
      let js = map2 (*) ones (map (+ behind) (scan (+) 0 ones))
      in scatter (copy xs) (map2 (\\i j -> i + j - 1) (map2 (*) zeros (scan (+) 0 zeros)) js) xs";
    assert_eq!(called(text), ["partition_first_4"]);
    for n in [100_000u32, 2_500_000] {
        let xs: Vec<u32> = (0..n).map(|i| i.wrapping_mul(2_654_435_761)).collect();
        let is_zero = |x: &&u32| **x >> 3 & 1 == 0;
        let (zeros, ones): (Vec<&u32>, Vec<&u32>) = xs.iter().partition(is_zero);
        let wanted: Vec<u32> = zeros.into_iter().chain(ones).copied().collect();
        for threads in 1..=3 {
            let program = Context::new(Backend::Cpu).threads(threads).compile(text).expect("it compiles");
            let found: Vec<u32> = program.call("main", (&xs[..], 0i64)).expect("it runs");
            assert!(found == wanted, "{n} numbers on {threads} threads");
            // Where two go to one place one of them is there, and the last places keep what they had.
            let found: Vec<u32> = program.call("main", (&xs[..], 9i64)).expect("it runs");
            assert_eq!(found[found.len() - 9..], xs[xs.len() - 9..]);
        }
    }
}

#[test]
fn filters_by_hand_are_partitions() {
    let text = "entry main [n] (xs: [n]f64) : []f64 =
      let flags = map (> 0) xs
      let sums = scan (+) 0 (map i64.bool flags)
      let is = map2 (\\f i -> if f then i - 1 else -1) flags sums
      in scatter (replicate (i64.sum (map i64.bool flags)) 0) is xs";
    assert_eq!(called(text), ["partition_first_8"]);
}

#[test]
fn indices_that_are_read_are_scattered_in_strips() {
    let text = "entry main [n] (is: [n]i64) (xs: [n]i16) : [100]i16 = scatter (replicate 100 0) is xs";
    assert_eq!(called(text), ["scatter_2"]);
    // Where these go the processor foresees.
    let text = "entry main (n: i64) : [100]i64 = scatter (replicate 100 0) (map (* 3) (iota n)) (iota n)";
    assert_eq!(called(text), Vec::<String>::new());
}

#[test]
fn scans_have_prefixes_in_strips() {
    let text = "entry main [n] (xs: [n]f64) (ks: [n]i32) : ([n]f64, [n][2]i32) =
      (scan (+) 0 xs, map (\\k -> [k, -k]) (scan i32.max i32.lowest ks))";
    assert_eq!(called(text), ["prefix_Add_f64", "prefix_Max_i32"]);
}

#[test]
fn code_for_every_processor_needs_no_abilities() {
    let text = "entry main [n] (xs: [n]f64) : ([]f64, f64) = (filter (> 0) xs, f64.sum (map f64.exp xs))";
    let (native, every) = (needs(text, Processor::Native), needs(text, Processor::Baseline));
    assert_eq!(every.features, Vec::<String>::new());
    assert_eq!(every.functions, native.functions);
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx2") {
        assert!(native.features.iter().any(|f| f == "has_avx2"), "{:?}", native.features);
    }
}

/// True if the code of a program computes with vectors of a type.
fn has_vectors(text: &str, ty: &str) -> bool {
    let program =
        compile(text, "vectors.par", &Options::default()).unwrap_or_else(|f| panic!("{}", f.render(false)));
    let code = program.clif().unwrap_or_else(|f| panic!("{}", f.render(false)));
    code.contains(ty)
}

#[test]
fn iterations_in_place_are_done_in_groups() {
    let row = "entry main [n] (c: f32) (k: i64) (a: *[n]f32) : [n]f32 =
      loop a for j < n - k do a with [k + j] = a[k + j] - c * a[j]";
    assert!(has_vectors(row, "fmul.f32x4") || has_vectors(row, "load.f32x4"));
    // The element that an iteration reads is known when the iteration runs.
    let chain = "entry main [n] (c: f32) (is: [n]i64) (a: *[n]f32) : [n]f32 =
      loop a for j < n do a with [j] = a[j] - c * a[is[j]]";
    assert!(!has_vectors(chain, "load.f32x4"));
}

#[test]
fn parts_in_place_are_computed_in_groups() {
    let part =
        "entry main [n] (c: f32) (a: *[n][n]f32) : [n][n]f32 = a with [1:, 1:] = map (map (* c)) a[1:, 1:]";
    assert!(has_vectors(part, "load.f32x4"));
}

/// True if both factors of a multiplication are vectors of `f32`s that are loaded or filled.
fn multiplies_vectors(code: &str) -> bool {
    let bound = |line: &str, op: &str| {
        let (name, operation) = line.split_once(" = ")?;
        operation.starts_with(op).then(|| name.trim().to_string())
    };
    let made = |line| bound(line, "load.f32x4 ").or_else(|| bound(line, "splat.f32x4 "));
    let vectors: HashSet<String> = code.lines().filter_map(made).collect();
    let mut products = code.lines().filter_map(|line| line.split_once(" = fmul ")?.1.split_once(", "));
    products.any(|(x, y)| vectors.contains(x) && vectors.contains(y.trim()))
}

#[test]
fn groups_have_no_edges_inside() {
    let text = "entry main [n] (a: [n][n]f32) : [n][n]f32 = loop a for k < n do tabulate_2d n n (\\i j ->
      if i <= k || j < k then a[i, j] else if j == k then -a[i, k] else a[i, j] - a[i, k] * a[k, j])";
    let options = Options { versions: Versions::Flat, ..Options::default() };
    let program = compile(text, "edges.par", &options).unwrap_or_else(|f| panic!("{}", f.render(false)));
    let code = program.clif().unwrap_or_else(|f| panic!("{}", f.render(false)));
    assert!(multiplies_vectors(&code), "{code}");
    // Where groups may be left, what they are left to is cold.
    let left = code.lines().filter(|l| l.contains("cold")).count();
    assert_eq!(left, 1, "one is for a run that was cancelled: {code}");
}

#[test]
fn functions_are_on_strips_where_checks_come_after_them() {
    // The function for one number is in the code for strips in which a check fails.
    let text = "entry main [n] (a: [n]f32) (l: i64) : [n]f32 =
      map (\\i -> let x = f32.cos (f32.i64 i) * a[i / l] in if i % l < 3 then a[i / l + 1] + x else a[i % l] - x) (iota n)";
    assert_eq!(called(text), ["Un_Cos_F32_", "strip_Cos_f32"]);
}

#[test]
fn quotients_of_positions_divide_them() {
    let text = "entry main [n] (l: i64) (xs: [n]f32) : [n]f32 = if l < 2 then xs else
      map2 (\\i x -> let j = i % l in if j < 3 then x else x * 2) (iota n) xs";
    let code = code_of(text);
    // Groups would be left where a row ends, and what they are left to is cold.
    assert!(!code.contains("cold"), "{code}");
}

#[test]
fn neighbours_around_a_ring_are_read_without_questions() {
    let text = "entry main [n] (xs: [n]f32) : [n]f32 =
      tabulate n (\\i -> xs[if i == 0 then n - 1 else i - 1] + xs[if i == n - 1 then 0 else i + 1])";
    let code = code_of(text);
    // A check would leave the group, and what it is left to is cold.
    assert!(!code.contains("cold"), "{code}");
}

#[test]
fn extrema_that_iterations_wait_for_are_in_vectors() {
    let row = "entry main [n] (as: [n]i32) (bs: [n]i32) : [n]i32 =
      loop bs for i < n do (loop (bs, left) = (bs, 0) for j < n do
        let x = i32.max (left - 1) (i32.max bs[j] (as[i] + as[j])) in (bs with [j] = x, x)).0";
    let code = code_of(row);
    // One after the other: the inner one does not depend on the iteration before.
    assert_eq!(code.matches("smax").count(), 1, "{code}");
    assert!(!code.contains("splat"), "{code}");
    let counted = "entry main [n] (as: [n]i32) (bs: [n]i32) : [n]i32 =
      loop bs for i < n do (loop (bs, left) = (bs, 0) for j < n do
        let x = left * 3 + as[j] in (bs with [j] = x, x)).0";
    assert!(!code_of(counted).contains("i32x4"));
}

#[test]
fn segments_of_constants_are_filled_in_groups() {
    let code = code_of(
        "entry main (n: i64) (m: i64) (x: f32) : [][]f32 = tabulate_2d n m (\\i j -> if j == 0 then x else 7)",
    );
    assert!(code.contains("splat"), "{code}");
}

/// Rows of which each has a lane are added up in their order, so that rounding is that of a loop, wherever threads and groups begin.
#[test]
fn short_rows_are_added_up_in_order() {
    let text = "entry main [n] (lens: [n]i64) (xs: []f64) (ys: []f64) : ([n]f64, [n]f64) =
      unzip (map2 (\\x y -> (f64.sum x, f64.sum (map2 (*) x y))) (segments lens xs) (segments lens ys))";
    let number = |i: usize| (i as f64 * 0.618).fract() * 10f64.powi((i % 23) as i32 - 11) - 0.1;
    for most in [1, 3, 9, 40] {
        let lens: Vec<i64> =
            (0..5003).map(|i| i * 7919 / 3 % (most + 1) + i64::from(i == 2500) * 70_000).collect();
        let all = lens.iter().sum::<i64>() as usize;
        let xs: Vec<f64> = (0..all).map(number).collect();
        let ys: Vec<f64> = xs.iter().rev().copied().collect();
        let row = |at: &mut usize, len: &i64| {
            let from = *at;
            *at += *len as usize;
            Some(from..*at)
        };
        let places: Vec<_> = lens.iter().scan(0, row).collect();
        let short = |r: &&std::ops::Range<usize>| r.len() <= 40;
        let bits = |x: f64| x.to_bits();
        let sums: Vec<u64> =
            places.iter().filter(short).map(|r| bits(xs[r.clone()].iter().fold(0.0, |s, x| s + x))).collect();
        let products: Vec<u64> = places
            .iter()
            .filter(short)
            .map(|r| bits(r.clone().fold(0.0, |s, i| s + xs[i] * ys[i])))
            .collect();
        for threads in 1..=3 {
            let program = Context::new(Backend::Cpu).threads(threads).compile(text).expect("it compiles");
            let (a, b): (Vec<f64>, Vec<f64>) =
                program.call("main", (&lens[..], &xs[..], &ys[..])).expect("it runs");
            // A row that is longer than the part of a thread is added up in parts.
            let found = |v: Vec<f64>| -> Vec<u64> {
                let all = v.into_iter().zip(&places).filter(|(_, r)| short(r));
                all.map(|(x, _)| bits(x)).collect()
            };
            assert!(found(a) == sums, "sums of up to {most} elements on {threads} threads");
            assert!(found(b) == products, "products of up to {most} elements on {threads} threads");
        }
    }
}
