//! How the time of compiling grows: `cargo run --release -p par --example growth`.
//!
//! Each line is a family of programs at sizes that double; the ratio of two neighbours is about 2 where time is
//! linear. Times are medians of five, in milliseconds, without the time of the empty program.

use par::{Options, compile};
use std::time::Instant;

/// A family: its name, its programs by size, and the sizes.
type Family = (&'static str, fn(usize) -> String, [usize; 4]);

const FAMILIES: &[Family] = &[
    ("lines", lines, [625, 1250, 2500, 5000]),
    ("chain of calls", chain, [5, 10, 20, 40]),
    ("chain of local functions", local_chain, [5, 10, 20, 40]),
    ("maps in maps", maps, [5, 10, 20, 40]),
    ("loops in loops", loops, [3, 6, 12, 24]),
    ("branches in branches", branches, [10, 20, 40, 80]),
    ("functions applied to functions", twice, [4, 8, 16, 32]),
    ("modules in modules", modules, [10, 20, 40, 80]),
    ("modules applied to modules", functors, [5, 10, 20, 40]),
    ("pipeline of maps", pipeline, [50, 100, 200, 400]),
];

fn main() {
    let base = millis("entry main (x: i64) : i64 = x\n");
    println!("{:<32} {:>10} {:>44}", "", "", "ms at the sizes");
    for (name, program, sizes) in FAMILIES {
        let times = sizes.map(|n| (millis(&program(n)) - base).max(0.0));
        let times: Vec<String> = sizes.iter().zip(times).map(|(n, t)| format!("{n:>5}: {t:>8.2}")).collect();
        println!("{name:<32} {}", times.join("  "));
    }
    println!("{:<32} {base:.2}", "the empty program");
}

fn millis(text: &str) -> f64 {
    let mut times: Vec<f64> = (0..5).map(|_| once(text)).collect();
    times.sort_by(f64::total_cmp);
    times[2]
}

fn once(text: &str) -> f64 {
    let options = Options { verify: false, ..Options::default() };
    let start = Instant::now();
    if let Err(failure) = compile(text, "program.par", &options) {
        eprintln!("{failure}");
    }
    start.elapsed().as_secs_f64() * 1e3
}

/// Text made of one piece for each number.
fn each(n: usize, piece: impl Fn(usize) -> String) -> String {
    (0..n).map(piece).collect()
}

fn lines(n: usize) -> String {
    let line = |i: usize| match i % 5 {
        0 => format!("def f{i} (xs: []i64) : i64 = i64.sum (map (\\x -> x * {i} + length xs) xs)\n"),
        1 => format!("def f{i} [n] (m: [n][n]f64) (v: [n]f64) = map (\\r -> f64.sum (map2 (*) r v)) m\n"),
        2 => {
            format!("def f{i} (a: i32) (b: i32) = if a < b then {{lo = a, hi = b}} else {{lo = b, hi = a}}\n")
        }
        3 => format!("def f{i} 'a (f: a -> a) (x: a) = let y = f x let z = f y in (x, y, f z)\n"),
        _ => {
            let step = format!("if x % 2 == 0 then acc + x else acc - f{} xs", i - 4);
            format!("def f{i} (xss: [][]i64) = map (\\xs -> loop acc = 0 for x in xs do {step}) xss\n")
        }
    };
    each(n, line) + "entry main (xs: []i64) : i64 = f0 xs\n"
}

fn chain(n: usize) -> String {
    let next = |i| format!("def f{} (x: i64) : i64 = f{i} (f{i} x + {i})\n", i + 1);
    let first = "def f0 (x: i64) : i64 = x * 3 + 1\n";
    format!("{first}{}entry main (x: i64) : i64 = f{n} x\n", each(n, next))
}

fn local_chain(n: usize) -> String {
    let next = |i| format!("  let f{} xs = f{i} (filter (> k) (f{i} (map (+ {i}) xs)))\n", i + 1);
    let head = "entry main (k: i64) (xs: []i64) : []i64 =\n  let f0 (xs: []i64) = map (* k) xs\n";
    format!("{head}{}  in f{n} xs\n", each(n, next))
}

fn maps(n: usize) -> String {
    let (open, close) = ("i64.sum (map (\\x -> ".repeat(n), ") (iota x))".repeat(n));
    format!("entry main (x: i64) : i64 = {open}x{close}\n")
}

fn loops(n: usize) -> String {
    let open = each(n, |i| {
        let from = if i == 0 { "xs".to_string() } else { format!("x{}", i - 1) };
        format!("(loop x{i} = {from} for i{i} < k do ")
    });
    let close = ")".repeat(n);
    format!("entry main (k: i64) (xs: []i64) : []i64 = {open}filter (> k) (x{} ++ [1]){close}\n", n - 1)
}

fn branches(n: usize) -> String {
    let open = each(n, |i| format!("if k > {i} then filter (> {i}) ("));
    let close = each(n, |i| format!(") else map (+ {i}) xs"));
    format!("entry main (k: i64) (xs: []i64) : []i64 = {open}xs{close}\n")
}

fn twice(n: usize) -> String {
    let (open, close) = ("twice (".repeat(n), ")".repeat(n));
    let def = "def twice 'a (f: a -> a) (x: a) : a = f (f x)\n";
    format!("{def}entry main (x: i64) : i64 = ({open}\\x -> x * 3 + 1{close}) x\n")
}

fn modules(n: usize) -> String {
    let open = each(n, |i| format!("module m{i} = {{ def x = {i}i64\n"));
    let path = each(n, |i| format!("m{i}."));
    format!("{open}{}\nentry main (x: i64) : i64 = x + {path}x\n", "}".repeat(n))
}

fn functors(n: usize) -> String {
    let head = "module type s = { type t val zero: t val add: t -> t -> t }\n\
                module m0 = { type t = i64 def zero = 0i64 def add (x: t) (y: t) : t = x + y }\n\
                module f (p: s) = { type t = (p.t, p.t) def zero = (p.zero, p.zero) \
                def add (a: t) (b: t) : t = (p.add a.0 b.0, p.add a.1 b.1) }\n\
                module g (p: s) = { type t = p.t def zero = p.zero def add (a: t) (b: t) : t = p.add b a }\n";
    let next = |i| format!("module m{} = {} m{i}\n", i + 1, if i < 4 { "f" } else { "g" });
    format!("{head}{}entry main (x: i64) : i64 = (\\_ -> x) (m{n}.add m{n}.zero m{n}.zero)\n", each(n, next))
}

fn pipeline(n: usize) -> String {
    let step = |i: usize| if i % 3 == 2 { " |> filter (> k)".into() } else { format!(" |> map (+ {i})") };
    format!("entry main (k: i64) (xs: []i64) : []i64 = xs{}\n", each(n, step))
}
