//! Flattening with the passes that follow it.

use par_ir::core::Program;
use par_ir::flat;
use par_ir::print::print_flat;
use par_ir::verify::verify_flat;
use par_passes::flatten::{Options, flatten};
use par_passes::pass::FLAT_PASSES;

/// The program in FLAT after all passes.
pub fn flattened(core: &Program) -> flat::Program {
    flattened_by(core, &mut |_, _| {})
}

/// Flattens, makes all passes, each of which leaves the program valid, and shows `seen` the program after each by its name.
pub fn flattened_by(core: &Program, seen: &mut dyn FnMut(&str, &flat::Program)) -> flat::Program {
    let found = flatten(core, &Options::default()).unwrap_or_else(|e| panic!("{e:?}"));
    let mut program = found.program;
    verified(&program, "flatten");
    seen("flatten", &program);
    for pass in FLAT_PASSES {
        (pass.run)(&mut program);
        verified(&program, pass.name);
        seen(pass.name, &program);
    }
    program
}

fn verified(p: &flat::Program, stage: &str) {
    verify_flat(p).unwrap_or_else(|e| panic!("after {stage}: {e}\n{}", print_flat(p)));
}
