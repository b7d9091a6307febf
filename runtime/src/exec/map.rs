//! Map kernels: every element by itself.

use super::frame::{Frame, HostValue};
use super::launch::Launch;
use crate::check::RuntimeError;
use crate::plan::Out;

impl Launch<'_> {
    pub fn map(&mut self, outs: &[Out], frame: &mut Frame) -> Result<Vec<HostValue>, RuntimeError> {
        let mut arrays = Vec::new();
        let mut word = 0;
        for out in outs {
            match out {
                Out::Elem(p) => {
                    arrays.extend(self.outputs(word, &[*p], self.space.total)?);
                    word += 1;
                }
                Out::Scatter(dests) => {
                    arrays.extend(self.destinations(word, dests, frame)?);
                    word += 1 + dests.len();
                }
            }
        }
        if self.kernel.contraction.is_some() && self.contract(&arrays[0])? {
            return Ok(arrays.into_iter().map(HostValue::Array).collect());
        }
        // The values written to one index by a scatter of several arrays belong together, so that no two threads may
        // write them at once. One thread writes in the order of positions.
        let alone = |out: &Out| matches!(out, Out::Scatter(d) if d.len() > 1 || self.reproducible);
        let threads = if outs.iter().any(alone) { 1 } else { self.threads };
        self.run(&self.space.balanced_pieces(threads))?;
        Ok(arrays.into_iter().map(HostValue::Array).collect())
    }
}
