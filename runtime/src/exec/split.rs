//! Work in pieces of rows, see [`crate::pieces`].

use super::frame::{Frame, HostValue};
use super::{Desc, Run, internal, out_of_memory};
use crate::array::{Array, OutOfMemory};
use crate::check::{RuntimeError, Span};
use crate::pieces::{self, Pieces};
use crate::plan::Split;
use crate::prim::{Prim, Scalar};
use crate::profile::Counters;
use std::sync::Arc;

impl Run<'_> {
    /// Runs the body on all pieces; the results are those of the pieces one after the other.
    pub fn split(
        &self,
        split: &Split,
        frame: &mut Frame,
        span: Span,
    ) -> Result<Vec<HostValue>, RuntimeError> {
        if pieces::is_full() {
            return Err(out_of_memory(OutOfMemory(0), span));
        }
        let mut pieces = Pieces::new(frame.size(split.rows)?, split.most);
        let mut results: Option<Vec<HostValue>> = None;
        while pieces.next().is_some() {
            let part = pieces.run(|first, rows| {
                for (slot, n) in split.piece.iter().zip([first, rows]) {
                    frame.set(*slot, Scalar::I64(n as i64).into());
                }
                let part = self.block(&split.body, frame);
                if part.is_err() {
                    frame.drop_slots(&split.bound);
                }
                part
            })?;
            let Some(part) = part else { continue };
            results = Some(match results {
                None => part,
                Some(before) => self.append(before, part, span)?,
            });
        }
        results.ok_or_else(|| internal("no piece was worked on"))
    }

    fn append(
        &self,
        before: Vec<HostValue>,
        more: Vec<HostValue>,
        span: Span,
    ) -> Result<Vec<HostValue>, RuntimeError> {
        let mut cost = Counters::default();
        let both = before.into_iter().zip(more).map(|(a, b)| appended(a, b, &mut cost, span)).collect();
        self.count(|c| *c += cost);
        both
    }
}

fn appended(a: HostValue, b: HostValue, cost: &mut Counters, span: Span) -> Result<HostValue, RuntimeError> {
    let memory = |e| out_of_memory(e, span);
    Ok(match (a, b) {
        (HostValue::Array(a), HostValue::Array(b)) => {
            let prim = a.prim();
            Array::concat(vec![a, b], prim, cost).map_err(memory)?.into()
        }
        (HostValue::Desc(a), HostValue::Desc(b)) => {
            let first = Arc::try_unwrap(a).map_or_else(|a| a.offsets().clone(), Desc::into_offsets);
            debug_assert_eq!(first.prim(), Prim::I64);
            let offsets = pieces::append_offsets(first, b.offsets(), cost).map_err(memory)?;
            HostValue::Desc(Arc::new(Desc::new(offsets)))
        }
        (HostValue::Blocks(mut a), HostValue::Blocks(b)) => {
            Arc::make_mut(&mut a).add_all(&b);
            HostValue::Blocks(a)
        }
        _ => return Err(internal("a piece gives something that cannot be appended")),
    })
}
