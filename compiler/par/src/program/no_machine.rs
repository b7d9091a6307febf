//! Stand-in for back ends that make code, where Par itself runs as WebAssembly: programs are interpreted there.

use super::{Backend, CallOptions, Measure, Program};
use crate::failure::{Failure, RunFailure};
use par_ir::flat;
use par_runtime::Column;
use std::collections::HashMap;

/// A program's code: none.
#[derive(Default)]
pub(super) struct Machine;

/// Descriptions of CPU schedules: none without a code generator.
pub(crate) fn schedules(_: &flat::Program) -> HashMap<usize, String> {
    HashMap::new()
}

fn unavailable() -> Failure {
    Failure::Unavailable("there is no code generator here: programs run on the interpreters".into())
}

impl Machine {
    /// Fails.
    pub(super) fn prepare(&self, _: &Program, _: Backend) -> Result<(), Failure> {
        Err(unavailable())
    }

    /// Fails.
    pub(super) fn execute(
        &self,
        _: &Program,
        _: &str,
        _: Vec<Column>,
        _: &CallOptions,
        _: Option<usize>,
        _: &mut Measure,
    ) -> Result<Vec<Column>, RunFailure> {
        Err(unavailable().into())
    }
}
