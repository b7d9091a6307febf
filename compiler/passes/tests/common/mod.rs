//! Programs as text, passes run over them, and what came of it as a snapshot that shows both. The verifier
//! and the interpreter have to agree to it.

mod meaning;
#[macro_use]
mod text;

use par_ir::core::Program;
use par_ir::parse::parse_core;
use par_ir::print::print_core;
use par_ir::verify::verify_core;
use par_passes::pass::CorePass;
use text::numbered;

/// Reads CORE in which variables are written `%name`, without numbers.
pub fn program(text: &str) -> Program {
    parse_core(&numbered(text)).unwrap_or_else(|e| panic!("{e} in\n{}", numbered(text)))
}

/// The program before and after the passes.
pub fn transformed(text: &str, passes: &[CorePass]) -> String {
    let mut p = program(text);
    let original = p.clone();
    verified(&p, "the test");
    for pass in passes {
        (pass.run)(&mut p);
        verified(&p, pass.name);
    }
    meaning::assert_same_meaning(&original, &p);
    format!("{}\n=>\n\n{}", print_core(&original), print_core(&p))
}

fn verified(p: &Program, stage: &str) {
    verify_core(p).unwrap_or_else(|e| panic!("after {stage}: {e}\n{}", print_core(p)));
}
