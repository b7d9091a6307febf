//! Arrays in memory of a device that others have, and arrays of Par for others: no element goes through the host's memory.

use super::array::Array;
use super::driver::{Address, Gpu};
use super::run::broken;
use crate::array;
use crate::check::RuntimeError;
use crate::prim::Prim;
use std::any::Any;
use std::sync::Arc;

/// Bytes that kernels read at once: of arrays that are not aligned to as many a copy is made.
const ALIGNMENT: u64 = 16;

/// An array of `len` elements at an address of a device's memory, which the owner has until it is dropped; that may be by any thread, when
/// all that reads the elements is done.
///
/// Work and span O(1), without a copy; of elements that are not aligned to 16 bytes a copy is made on the device, O(len).
///
/// # Errors
///
/// If there is no memory for the copy.
///
/// # Safety
///
/// The elements are there for all that is asked of [`Gpu::stream`] from now on, and do not change while the owner lives. Bools are bytes 0 and 1.
pub unsafe fn foreign(
    gpu: &Arc<Gpu>,
    elements: (Prim, usize),
    at: Address,
    owner: Box<dyn Any + Send + Sync>,
) -> Result<array::Array, RuntimeError> {
    let there = Array::foreign(gpu, elements, at, owner);
    if at.is_multiple_of(ALIGNMENT) {
        return Ok(there.kept());
    }
    gpu.enter().map_err(broken)?;
    Ok(there.copied()?.kept())
}

/// Elements of an array in the memory of a device, for others. They stay there as long as this value, and may be written, since no other value of Par has
/// them but the one they come from.
pub struct Lent {
    /// The number of the device.
    pub device: usize,
    /// Address of the elements.
    pub address: Address,
    _array: Array,
}

/// The elements of an array that is on a device, when all work on them is done; `None` if it is not on one. Work and span O(1), but what other
/// arrays share (constants, arguments, and what was lent already) is copied on the device. `copy`: always, or never.
///
/// # Errors
///
/// If there is no memory for the copy, or there must be none, or the device has failed.
pub fn lend(array: &array::Array, copy: Option<bool>) -> Result<Option<Lent>, RuntimeError> {
    let Some(there) = Array::behind(array) else { return Ok(None) };
    let gpu = there.gpu();
    gpu.enter().map_err(broken)?;
    let alone = there.is_alone() && array.holders() == 1;
    let own = match copy {
        Some(false) if !alone => {
            return Err(RuntimeError::plain("other arrays have the same elements: they would be copied"));
        }
        None | Some(false) if alone => there.clone(),
        _ => there.copied()?,
    };
    gpu.wait().map_err(broken)?;
    let address = own.address().map_err(super::array::no_room)?;
    Ok(Some(Lent { device: gpu.number, address, _array: own }))
}

/// The number of the device that an array is on.
pub fn device_of(array: &array::Array) -> Option<usize> {
    Array::behind(array).map(|there| there.gpu().number)
}
