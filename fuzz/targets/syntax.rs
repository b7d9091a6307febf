//! Lexer, parser and the rendering of what they say.

#![no_main]

use libfuzzer_sys::fuzz_target;
use par_syntax::{Sources, parse, render};

fuzz_target!(|data: &[u8]| {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let mut sources = Sources::default();
    let file = sources.add("input.par", text, false);
    let (_, diagnostics) = parse(text, file);
    let _ = render(&diagnostics, &sources, false);
});
