//! Stand-in for GPUs where Par is built without the feature `cuda`: there are none. Programs for them can be made all the same.

use super::Program;
use crate::exec::Executable;
use crate::unavailable::{LoadError, Unavailable};
use std::convert::Infallible;
use std::sync::Arc;

/// A device: there is none.
#[derive(Debug)]
pub struct Gpu {
    /// Its name.
    pub name: String,
    never: Infallible,
}

impl Gpu {
    /// Fails.
    pub fn open(_: usize) -> Result<Arc<Gpu>, Unavailable> {
        let what = "this `par` was built without `cuda`; build it with `--features cuda`";
        Err(Unavailable(what.into()))
    }

    /// Bytes read and written per second.
    pub fn copy_rate(&self) -> Result<f64, Unavailable> {
        match self.never {}
    }
}

/// Loads a program.
pub fn load(_: Arc<Program>, gpu: Arc<Gpu>) -> Result<Executable, LoadError> {
    match gpu.never {}
}
