//! Flattening with the passes that follow it.

use par_ir::core::Program;
use par_ir::flat;
use par_ir::print::print_flat;
use par_ir::verify::verify_flat;
use par_passes::flatten::{Options, flatten};
use par_passes::pass::FLAT_PASSES;

/// The program in FLAT after all passes, each of which leaves it valid.
pub fn flattened(core: &Program) -> flat::Program {
    let found = flatten(core, &Options::default()).unwrap_or_else(|e| panic!("{e:?}"));
    let mut program = found.program;
    verified_flat(&program, "flatten");
    for pass in FLAT_PASSES {
        (pass.run)(&mut program);
        verified_flat(&program, pass.name);
    }
    program
}

fn verified_flat(p: &flat::Program, stage: &str) {
    verify_flat(p).unwrap_or_else(|e| panic!("after {stage}: {e}\n{}", print_flat(p)));
}
