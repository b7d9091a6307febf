//! How the time of compiling grows: `cargo run --release -p par --example growth`.
//!
//! Each line is a family of programs at sizes that double; the ratio of two neighbours is about 2 where time is
//! linear. Times are medians of five, in milliseconds, without the time of the empty program.

mod families;

use families::FAMILIES;
use par::{Options, compile};
use std::time::Instant;

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
