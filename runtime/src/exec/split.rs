//! Work in chunks of rows, see [`crate::chunks`].

use super::device::{Device, Results, Values};
use super::frame::{Frame, HostValue};
use super::{Run, internal, out_of_memory};
use crate::array::OutOfMemory;
use crate::check::{RuntimeError, Span};
use crate::chunks::{self, Chunks};
use crate::plan::{Kind, Split};
use crate::prim::{Prim, Scalar};

impl<D: Device> Run<'_, D> {
    /// Runs the body on all chunks; the results are those of the chunks one after the other.
    pub fn split(&self, split: &Split<D::Kernel>, frame: &mut Frame<D>, span: Span) -> Results<D> {
        if D::is_so_anywhere(self, chunks::is_full())? {
            return Err(out_of_memory(OutOfMemory(0), span));
        }
        let mut chunks = Chunks::new(frame.size(split.rows)?, split.most);
        let mut parts: Vec<Parts<D>> = split.kinds.iter().map(|k| Parts::new(*k)).collect();
        while chunks.next().is_some() {
            let part = chunks.run(|first, rows| {
                for (slot, n) in split.chunk.iter().zip([first, rows]) {
                    frame.set(*slot, Scalar::I64(n as i64).into());
                }
                let part = self.block(&split.body, frame);
                if part.is_err() {
                    frame.drop_slots(&split.bound);
                }
                part
            })?;
            for (parts, part) in parts.iter_mut().zip(part.unwrap_or_default()) {
                parts.add(self, part, span)?;
            }
        }
        parts.into_iter().map(|parts| parts.together(self, span)).collect()
    }
}

/// Results of the chunks so far.
enum Parts<D: Device> {
    /// Appended.
    Array(Prim, Option<D::Array>),
    Descs(Vec<D::Desc>),
    Rope(Prim, Values<D>),
}

impl<D: Device> Parts<D> {
    fn new(kind: Kind) -> Parts<D> {
        match kind {
            Kind::Array(p) | Kind::Scalar(p) => Parts::Array(p, None),
            Kind::Rope(p) => Parts::Rope(p, Values::new()),
            Kind::Desc => Parts::Descs(Vec::new()),
        }
    }

    fn add(&mut self, run: &Run<'_, D>, part: HostValue<D>, span: Span) -> Result<(), RuntimeError> {
        match (self, part) {
            (Parts::Array(prim, all), HostValue::Array(a)) => {
                *all = Some(match all.take() {
                    Some(before) => D::concat(run, vec![before, a], *prim, span)?,
                    None => a,
                });
            }
            (Parts::Descs(all), HostValue::Desc(d)) => all.push(d),
            (Parts::Rope(_, all), rope @ HostValue::Rope(_)) => all.push(rope),
            _ => return Err(internal("a chunk gives something that cannot be appended")),
        }
        Ok(())
    }

    fn together(self, run: &Run<'_, D>, span: Span) -> Result<HostValue<D>, RuntimeError> {
        Ok(match self {
            Parts::Array(_, Some(a)) => HostValue::Array(a),
            Parts::Array(_, None) => return Err(internal("no chunk was worked on")),
            Parts::Descs(mut all) if all.len() == 1 => HostValue::Desc(all.remove(0)),
            Parts::Descs(all) => HostValue::Desc(D::concat_desc(run, &all, span)?),
            Parts::Rope(_, mut all) if all.len() == 1 => all.remove(0),
            Parts::Rope(prim, all) => HostValue::Rope(D::append(run, all, prim, span)?.0),
        })
    }
}
