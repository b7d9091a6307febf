//! Back end where Par itself runs as WebAssembly: the host's part of a program is interpreted, its kernels become WebAssembly too. It stands in for
//! `machine`.

use super::{Backend, CallOptions, Measure, Program, is_entry, missing};
use crate::failure::{Failure, RunFailure};
use par_ir::interp::{self, Counters};
use par_ir::{core, flat};
use par_runtime::{Column, pool};
use par_wasm::browser::Browser;
use par_wasm::{Kernels, Statistics};
use std::collections::HashMap;

/// A program's code, as far as it was needed.
pub(super) struct Machine {
    kernels: Kernels<Browser>,
}

impl Default for Machine {
    fn default() -> Machine {
        Machine { kernels: Kernels::new(Browser) }
    }
}

/// Descriptions of CPU schedules: none without a code generator for processors.
pub(crate) fn schedules(_: &flat::Program) -> HashMap<usize, String> {
    HashMap::new()
}

impl Program {
    /// Numbers of the kernels that have run.
    pub fn kernels(&self) -> Statistics {
        self.machine.kernels.statistics()
    }
}

impl Machine {
    /// Fails for a GPU.
    pub(super) fn prepare(&self, program: &Program, backend: Backend) -> Result<(), Failure> {
        match backend {
            Backend::Cuda => Err(Failure::Unavailable("there is no GPU here".into())),
            _ => program.flat().map(|_| ()),
        }
    }

    /// Fails: there is no GPU.
    pub(super) fn prepare_all(&self, program: &Program) -> Result<(), Failure> {
        self.prepare(program, Backend::Cuda)
    }

    /// The same columns: there is no GPU.
    pub(super) fn upload(
        &self,
        _: &Program,
        _: Backend,
        columns: Vec<Column>,
    ) -> Result<Vec<Column>, RunFailure> {
        Ok(columns)
    }

    /// Runs an entry point within a limit of memory. Of costs only the bytes held are known.
    pub(super) fn execute(
        &self,
        program: &Program,
        entry: &str,
        args: Vec<Column>,
        _: &CallOptions,
        memory_limit: Option<usize>,
        measure: &mut Measure,
    ) -> Result<Vec<Column>, RunFailure> {
        let flat = program.flat()?;
        let found = flat.funs.iter().position(|f| is_entry(&f.entry, entry));
        let fun = core::FunId(found.ok_or_else(|| missing(entry))? as u32);
        pool::reset_thread_peak();
        let before = pool::thread_balance();
        let counters = &mut Counters::default();
        let run = || interp::run_flat_with(flat, fun, args, counters, Some(&self.kernels));
        let result = pool::with_limit(memory_limit, run);
        if let Measure::Costs { profile, .. } = measure {
            profile.peak_bytes = u64::try_from(pool::thread_peak() - before).unwrap_or(0);
        }
        Ok(result?)
    }
}
