//! Arrays on the GPU that the program runs on.

use super::{Refusal, Taker, Wanted};
use crate::dlpack;
use crate::python::EXPORTED;
use par_runtime::Column;
use pyo3::intern;
use pyo3::prelude::*;

impl<'py> Taker<'py> {
    /// True if an object's elements are on the GPU that the program runs on; refuses what is on another device.
    pub(super) fn is_there(&self, object: &Bound<'py, PyAny>) -> Result<bool, Refusal> {
        let Some((dlpack::CUDA, number)) = dlpack::device_of(object) else { return Ok(false) };
        // Rows of any length are not one array.
        if object
            .getattr(intern!(self.py, "is_nested"))
            .is_ok_and(|nested| nested.is_truthy().unwrap_or(false))
        {
            return Ok(false);
        }
        match self.settings.gpu() {
            Some(device) if device as i32 == number => Ok(true),
            Some(device) => Err(Refusal::new(format!(
                "found an array on GPU {number}, but the program runs on GPU {device}; copy it there first"
            ))),
            None => Err(Refusal::new(format!(
                "found an array on GPU {number}, but the program runs on the processor; copy it to the processor's memory first"
            ))),
        }
    }

    /// Adds the columns of such an array.
    pub(super) fn there(
        &mut self,
        object: &Bound<'py, PyAny>,
        wanted: Wanted,
        out: &mut Vec<Column>,
    ) -> Result<(), Refusal> {
        let gpu = self.settings.open().map_err(Refusal::new)?;
        let capsule = EXPORTED.get(self.py)?.call1((object, gpu.stream(), self.strict))?;
        let (data, shape) = dlpack::take(&capsule, &gpu, wanted.prim)?;
        if !wanted.fits(&shape) {
            let shape: Vec<String> = shape.iter().map(i64::to_string).collect();
            return Err(Refusal::new(format!("found an array of shape ({}) on a GPU", shape.join(", "))));
        }
        wanted.columns(data, &shape, out)
    }
}
