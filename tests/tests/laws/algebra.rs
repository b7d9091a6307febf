//! Known properties of arrays and descriptors are not computed: programs of two steps that are one bulk operation, or none.

use super::{count, program, size};
use par_ir::interp::Counters;

/// Cost of `main` for 1,000 elements, besides the array `xs` of as many, which is stored.
#[track_caller]
fn besides(text: &str) -> Counters {
    let cost = |text: &str| {
        let p = program(&format!(
            "def numbers (n: i64) = #[opaque] map (\\i -> i * 7919 % 1000) (iota n)\n{text}"
        ));
        count(&p, vec![size(1000)]).0
    };
    let numbers = cost("entry main (n: i64) : []i64 = numbers n");
    let all = cost(text);
    Counters {
        launches: all.launches - numbers.launches,
        bytes_materialised: all.bytes_materialised - numbers.bytes_materialised,
        work: all.work - numbers.work,
        ..all
    }
}

/// So many bulk operations, and so many bytes stored.
#[track_caller]
fn costs(text: &str, launches: u64, bytes: u64) {
    let found = besides(text);
    assert_eq!((found.launches, found.bytes_materialised), (launches, bytes), "{text}");
}

#[test]
fn an_element_of_copies_is_what_was_copied() {
    costs(
        "entry main (n: i64) : []i64 = let xs = numbers n let r = replicate n n in map (\\x -> r[x % n] + x) xs",
        1,
        8000,
    );
}

#[test]
fn parts_put_together_again_are_not_copied() {
    costs(
        "entry main (n: i64) : []i64 = let xs = numbers n in map (+ n) (take (n / 3) xs ++ drop (n / 3) xs)",
        1,
        8000,
    );
}

#[test]
fn flattened_segments_are_the_array() {
    let lengths = besides("entry main (n: i64) : [][]i64 = segments (replicate (n / 10) 10) (numbers n)");
    let flat =
        besides("entry main (n: i64) : []i64 = flatten (segments (replicate (n / 10) 10) (numbers n))");
    // What the result's rows are is not even stored.
    assert!(flat.launches < lengths.launches);
    assert!(flat.bytes_materialised < lengths.bytes_materialised);
}

#[test]
fn lengths_of_mapped_rows_are_those_of_the_rows() {
    let made = "entry main (n: i64) : []i64 = let xss = map (\\x -> replicate (x % 4) x) (numbers n) in ";
    let direct = besides(&format!("{made} map length xss"));
    let mapped = besides(&format!("{made} map length (map (map (\\x -> x * x + n)) xss)"));
    assert_eq!((mapped.launches, mapped.work), (direct.launches, direct.work));
}

#[test]
fn rows_as_long_as_their_number_have_one_descriptor() {
    let text = "entry main (n: i64) : [][]i64 = map (\\i -> map (\\j -> i * j) (iota i)) (iota n)";
    let p = program(text);
    let (c, _) = count(&p, vec![size(100)]);
    // The numbers, the offsets that they add up to, and the rows.
    assert_eq!(c.bytes_materialised, 8 * (100 + 101 + 4950));
}

#[test]
fn what_is_flattened_to_be_summed_is_not_stored() {
    let rows = "entry main (n: i64) : i64 = let xss = segments (replicate (n / 10) 10) (numbers n) in ";
    let plain = besides(&format!("{rows} i64.sum (flatten xss)"));
    let mapped = besides(&format!("{rows} i64.sum (flatten (map (map (+ n)) xss))"));
    assert_eq!(mapped.launches, plain.launches);
    assert_eq!(mapped.bytes_materialised, plain.bytes_materialised);
}

#[test]
fn what_rows_are_expanded_to_is_not_stored_for_a_histogram() {
    let found = besides(
        "entry main (n: i64) : []i64 =
           let xs = expand (\\x -> x % 4) (\\x i -> x * i + n) (numbers n) in hist (+) 0 10 (map (% 10) xs) xs",
    );
    // Lengths, offsets, and the histogram.
    assert_eq!(found.bytes_materialised, 8000 + 8008 + 80);
}

#[test]
fn sums_of_both_parts_of_pairs_are_one_reduction() {
    costs(
        "entry main (n: i64) : i64 =
           let xs = numbers n
           let (a, b) = unzip (map (\\(p, q) -> (p + q, p * q)) (zip xs (map (* n) xs)))
           in i64.sum a + i64.maximum b",
        1,
        16,
    );
}

#[test]
fn changes_of_order_are_index_functions() {
    costs("entry main (n: i64) : i64 = i64.sum (map (* n) (reverse (numbers n)[2:n - 2]))", 1, 8);
    costs("entry main (n: i64) : i64 = let xs = numbers n in i64.sum (map2 (*) (rotate 7 xs) xs)", 1, 8);
    let rows = "entry main (n: i64) : []i64 =
                  let xs = numbers n let m = map (\\i -> xs[i * 10:i * 10 + 10] :> [10]i64) (iota (n / 10)) in ";
    let plain = besides(&format!("{rows} map i64.sum m"));
    let transposed = besides(&format!("{rows} map i64.sum (transpose m)"));
    // Sums of 10 columns instead of 100 rows, and where rows start: no element is moved.
    assert_eq!(transposed.launches, plain.launches + 1);
    assert_eq!(transposed.bytes_materialised, plain.bytes_materialised - 800 + 80 + 800);
}

#[test]
fn what_does_not_change_is_computed_once() {
    let iterations = |k: usize| {
        besides(&format!(
            "entry main (n: i64) : i64 =
               let xs = numbers n in loop a = 0 for i < {k} do a * n + i64.sum (map (* n) xs)"
        ))
    };
    assert!(iterations(1000).work < iterations(10).work + 10 * 1000, "{:?}", iterations(1000));
}

#[test]
fn what_two_need_is_computed_once() {
    let f = "entry main (n: i64) : (i64, []i64) =
               let ys = map (\\x -> x / n + x % n + x * x / (n + 1)) (numbers n)";
    let one = besides(&format!("{f} in (0, scan (+) 0 ys)"));
    let both = besides(&format!("{f} in (i64.sum (map (^ 5) ys), scan (+) 0 ys)"));
    // A read, an operator and an addition for each element, not the divisions again.
    assert!(both.work <= one.work + 5 * 1000, "{} after {}", both.work, one.work);
}
