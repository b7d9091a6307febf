//! Map kernels: every element by itself.

use super::device::Results;
use super::frame::{Frame, HostValue};
use super::launch::{Arrays, Launch};
use crate::check::RuntimeError;
use crate::plan::{Out, SCATTERS};

impl Launch<'_> {
    pub fn map(&mut self, outs: &[Out], frame: &mut Frame) -> Results {
        let arrays = self.all_outputs(outs, frame)?;
        let special = self.kernel.contraction().is_some() || self.kernel.transposition().is_some();
        if special && (self.contract(&arrays[0])? || self.transpose(&arrays[0])?) {
            return Ok(arrays.into_iter().map(HostValue::Array).collect());
        }
        let threads = if self.in_order(outs) { 1 } else { self.threads };
        let chunks = self.space.balanced_chunks(threads);
        self.run(&chunks)?;
        self.settle_scatters(outs, &chunks, |_| self.env.clone());
        Ok(arrays.into_iter().map(HostValue::Array).collect())
    }

    /// The arrays of these outputs, with their words in the environment.
    pub fn all_outputs(&mut self, outs: &[Out], frame: &mut Frame) -> Result<Arrays, RuntimeError> {
        let mut arrays = Arrays::new();
        let mut word = 0;
        for out in outs {
            match out {
                Out::Row(p, n) => {
                    arrays.push(self.output(word, *p, self.space.total.saturating_mul(*n))?);
                }
                Out::Scatter(_) | Out::Own(_) => {
                    arrays.extend(self.destinations(word, out.dests(), frame)?)
                }
            }
            word += out.words();
        }
        Ok(arrays)
    }

    /// True if one thread has to write these outputs: the values written to one index by a scatter of several arrays belong
    /// together, so that no two threads may write them at once. One thread writes in the order of positions.
    pub fn in_order(&self, outs: &[Out]) -> bool {
        let scatters =
            || outs.iter().filter_map(|out| if let Out::Scatter(d) = out { Some(d) } else { None });
        scatters().any(|dests| dests.len() > 1 || self.reproducible) || scatters().count() > SCATTERS
    }
}
