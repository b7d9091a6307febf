//! Stand-in for GPUs where Par is built without the feature `cuda`: there are none. Programs for them can be made all the same.

use super::Program;
use crate::array::Array;
use crate::check::RuntimeError;
use crate::exec::Executable;
use crate::prim::Prim;
use crate::unavailable::{LoadError, Unavailable};
use std::any::Any;
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

    /// Its stream.
    pub fn stream(&self) -> usize {
        match self.never {}
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

/// An array in the memory of a device.
///
/// # Safety
///
/// There is none.
pub unsafe fn foreign(
    gpu: &Arc<Gpu>,
    _: (Prim, usize),
    _: u64,
    _: Box<dyn Any + Send + Sync>,
) -> Result<Array, RuntimeError> {
    match gpu.never {}
}

/// Elements in the memory of a device.
pub struct Lent {
    /// The number of the device.
    pub device: usize,
    /// Address of the elements.
    pub address: u64,
    _never: Infallible,
}

/// The elements of an array that is on a device: none is.
pub fn lend(_: &Array, _: Option<bool>) -> Result<Option<Lent>, RuntimeError> {
    Ok(None)
}

/// The number of the device that an array is on: none.
pub fn device_of(_: &Array) -> Option<usize> {
    None
}
