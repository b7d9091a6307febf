//! Growth of the time of compiling: `cargo run --release -p par --example growth`.
//!
//! Each line is a family of programs at sizes that double; the ratio of two neighbours is about 2 where time is
//! linear. Times are medians of five, in milliseconds, without the time of the empty program; for the last families, with machine code.

mod families;

use families::{FAMILIES, FLATTENED};
use par::{Backend, Options, compile};
use std::time::Instant;

fn main() {
    let base = millis("entry main (x: i64) : i64 = x\n", false);
    println!("{:<32} {:>10} {:>44}", "", "", "ms at the sizes");
    let families = FAMILIES.iter().map(|f| (f, false)).chain(FLATTENED.iter().map(|f| (f, true)));
    for ((name, program, sizes), all) in families {
        let times = sizes.map(|n| (millis(&program(n), all) - base).max(0.0));
        let times: Vec<String> = sizes.iter().zip(times).map(|(n, t)| format!("{n:>5}: {t:>8.2}")).collect();
        println!("{name:<32} {}", times.join("  "));
    }
    println!("{:<32} {base:.2}", "the empty program");
}

fn millis(text: &str, all: bool) -> f64 {
    let mut times: Vec<f64> = (0..5).map(|_| once(text, all)).collect();
    times.sort_by(f64::total_cmp);
    times[2]
}

/// One compilation, with machine code or without.
fn once(text: &str, all: bool) -> f64 {
    let options = Options { verify: false, ..Options::default() };
    let start = Instant::now();
    let compiled = compile(text, "program.par", &options);
    if let Err(failure) = compiled.and_then(|p| if all { p.prepare(Backend::Cpu) } else { Ok(()) }) {
        eprintln!("{failure}");
    }
    start.elapsed().as_secs_f64() * 1e3
}
