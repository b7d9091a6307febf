//! Ropes. Their arrays are in the window of each rank, small ones whole, others distributed.

use super::{Dist, Shared, even_cuts, lost, overlap};
use crate::check::{RuntimeError, Span};
use crate::exec::device::Held;
use crate::exec::{Run, out_of_memory};
use crate::prim::Prim;
use crate::rope::{Part, Rope, Row, moved};
use std::ops::Range;
use std::sync::Arc;

/// Transfer of a row or a part of it.
struct Move {
    /// Owner, and rank that needs it.
    from: usize,
    to: usize,
    /// Address at the sender.
    source: *const u8,
    /// Place in the new array, and length.
    at: usize,
    len: usize,
}

impl Run<'_, Dist> {
    /// An array in the window of ropes.
    pub fn placed(&self, a: Shared, span: Span) -> Result<Shared, RuntimeError> {
        if a.base() != 0 || a.len() == 0 {
            return Ok(a);
        }
        if !self.device.is_large(a.len()) {
            a.make_whole(self.ranks())?;
        }
        let cuts = a.cuts().map(<[usize]>::to_vec);
        let placed = self.reserved(a.prim(), a.len(), cuts, span)?;
        let own = self.own_part(&placed);
        let size = a.prim().size();
        // SAFETY: the range is inside both arrays, its elements are this rank's, and the new array is nobody else's.
        unsafe {
            let (from, to) = (a.array().as_ptr(), placed.array().as_ptr());
            let at = own.start * size;
            std::ptr::copy_nonoverlapping(from.add(at), to.add(at), own.len() * size);
        }
        Ok(placed)
    }

    /// A fresh array in the window, with these cuts or whole.
    fn reserved(
        &self,
        prim: Prim,
        len: usize,
        cuts: Option<Vec<usize>>,
        span: Span,
    ) -> Result<Shared, RuntimeError> {
        let me = self.ranks().rank();
        let own = cuts.as_ref().map_or(len, |c| c[me + 1] - c[me]);
        let array = self.device.window.reserve(prim, len, own).map_err(|e| out_of_memory(e, span));
        let array = self.device.settle(len * prim.size(), array)?;
        let shared = cuts.map_or_else(|| array.clone().into(), |c| Shared::distributed(array.clone(), c));
        Ok(shared.in_window(self.device.window.base()))
    }

    /// The elements that this rank computes or keeps.
    fn own_part(&self, a: &Shared) -> Range<usize> {
        let me = self.ranks().rank();
        a.cuts().map_or(0..a.len(), |c| c[me]..c[me + 1])
    }

    /// See [`Rope::leave`].
    pub fn compact_shared(
        &self,
        mut rope: Arc<Rope<Shared>>,
        (starts, lens): (Shared, Shared),
        kept: Option<Arc<Rope<Shared>>>,
        span: Span,
    ) -> Result<(Arc<Rope<Shared>>, Shared), RuntimeError> {
        if rope.count() <= 1 {
            return Ok((rope, starts));
        }
        let (starts, lens) = (self.whole_rows(starts)?, self.whole_rows(lens)?);
        let rows = Arc::make_mut(&mut rope).leave(starts.slice(), lens.slice(), kept.as_deref());
        let size = rope.prim().size();
        let copied: usize = rows.iter().map(|r| r.len).sum();
        self.count(|c| c.launch(2 * starts.len() + 2 * copied, copied * size));
        if rows.is_empty() {
            return Ok((rope, starts.into()));
        }
        let fresh = self.concatenated(&rows, rope.prim(), copied, span)?;
        let starts = moved(starts.slice(), &rows, fresh.origin());
        Arc::make_mut(&mut rope).add(fresh);
        Ok((rope, starts.into()))
    }

    /// Concatenation of rows with so many elements.
    fn concatenated(
        &self,
        rows: &[Row<Shared>],
        prim: Prim,
        len: usize,
        span: Span,
    ) -> Result<Shared, RuntimeError> {
        let p = self.ranks().size();
        let cuts = self.device.is_large(len).then(|| even_cuts(len, p));
        let fresh = self.reserved(prim, len, cuts.clone(), span)?;
        let of_rank = |r: usize| cuts.as_ref().map_or(0..len, |c| c[r]..c[r + 1]);
        let mut moves = Vec::new();
        for to in 0..p {
            let mut at = 0;
            for row in rows {
                let part = overlap(&of_rank(to), at, row.at, row.len);
                moves.extend(moves_of(row, part, (to, at), prim.size()));
                at += row.len;
            }
        }
        self.move_all(&moves, &fresh)?;
        Ok(fresh)
    }

    fn move_all(&self, moves: &[Move], fresh: &Shared) -> Result<(), RuntimeError> {
        let (me, p) = (self.ranks().rank(), self.ranks().size());
        let to_me = |m: &&Move| m.to == me;
        let mut send = vec![Vec::new(); p];
        let mut counts = vec![0; p];
        for m in moves.iter().filter(|m| m.from != m.to) {
            if m.from == me {
                // SAFETY: the elements are this rank's.
                send[m.to].extend_from_slice(unsafe { std::slice::from_raw_parts(m.source, m.len) });
            } else if m.to == me {
                counts[m.from] += m.len;
            }
        }
        let mut received: Vec<Vec<u8>> = counts.into_iter().map(|n| vec![0; n]).collect();
        let send: Vec<&[u8]> = send.iter().map(|s: &Vec<u8>| &s[..]).collect();
        let mut receive: Vec<&mut [u8]> = received.iter_mut().map(|r| &mut r[..]).collect();
        self.ranks().exchange(&send, &mut receive).map_err(lost)?;
        let mut used = vec![0; p];
        for m in moves.iter().filter(to_me) {
            let from = match m.from == me {
                true => m.source,
                false => received[m.from][used[m.from]..].as_ptr(),
            };
            used[m.from] += m.len;
            // SAFETY: the places of rows in the new array, which nobody else has, do not overlap, and as many bytes came as were counted.
            unsafe { std::ptr::copy_nonoverlapping(from, fresh.array().as_ptr().add(m.at), m.len) };
        }
        Ok(())
    }
}

/// Transfers of a part of a row from the owners of its elements to a rank. The row begins at `at` in the new array.
fn moves_of(row: &Row<Shared>, part: Range<usize>, (to, at): (usize, usize), size: usize) -> Vec<Move> {
    let base = row.part.array().as_ptr() as *const u8;
    let one = |from: usize, own: Range<usize>| {
        let (lo, hi) = (part.start.max(own.start), part.end.min(own.end));
        (lo < hi).then(|| Move {
            from,
            to,
            source: base.wrapping_add(lo * size),
            at: (at + lo - row.at) * size,
            len: (hi - lo) * size,
        })
    };
    match row.part.cuts() {
        None => one(to, part.clone()).into_iter().collect(),
        Some(cuts) => cuts.windows(2).enumerate().filter_map(|(r, c)| one(r, c[0]..c[1])).collect(),
    }
}
