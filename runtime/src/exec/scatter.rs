//! Settlement of scatters: the value that stays where threads scatter several to one index.
//!
//! A chunk may write to an index after a later chunk has. If indices do not decrease (as offsets of rows, some of which are empty), that can only be the
//! index that the later chunk begins with. So what each chunk writes there is written once more, after all chunks and in their order: of such
//! a scatter the last value stays, as if one thread wrote.

use super::launch::{Env, Launch};
use super::space::Chunk;
use crate::plan::{ErrorRecord, KernelKind, Out, SCATTERS};

impl Launch<'_> {
    /// Writes once more what chunks but the first write first, each from this environment. Work, for a chunk whose first `r` positions have
    /// one index: O(log r) positions of a map, and O(r log r) of a scan, which depend on those before.
    pub fn settle_scatters(&self, outs: &[Out], chunks: &[Chunk], env: impl Fn(&Chunk) -> Env) {
        let Some(lengths) = self.lengths(outs) else { return };
        for p in chunks.iter().skip(1).filter(|p| p.lo < p.hi) {
            let mut env = env(p);
            // Nothing is stored to an array that is empty; indices are noted.
            let lens: Vec<u64> = lengths.iter().map(|word| std::mem::take(&mut env[*word])).collect();
            for (number, word) in lengths.iter().enumerate() {
                let last = self.end_of_run(&env, number, p);
                env[*word] = lens[number];
                self.call(self.kernel.code, &env, &self.up_to(p, last), &mut ErrorRecord::default());
                env[*word] = 0;
            }
        }
    }

    /// For each scatter the word that holds its length. None if there are none, or too many, or if bodies update rows, which must not be done twice.
    fn lengths(&self, outs: &[Out]) -> Option<Vec<usize>> {
        let mut word = self.kernel.layout.outputs_at();
        let mut lengths = Vec::new();
        for out in outs {
            match out {
                Out::Row(..) => {}
                Out::Scatter(_) => lengths.push(word),
                Out::Own(_) => return None,
            }
            word += out.words();
        }
        (!lengths.is_empty() && lengths.len() <= SCATTERS).then_some(lengths)
    }

    /// The last of the first positions of a chunk with one index.
    fn end_of_run(&self, env: &[u64], number: usize, p: &Chunk) -> usize {
        let index = |pos: usize| {
            let mut record = ErrorRecord::default();
            self.call(self.kernel.code, env, &self.up_to(p, pos), &mut record);
            record.indices[number]
        };
        let first = index(p.lo);
        let is_first = |pos: usize| pos < p.hi && index(pos) == first;
        let (mut last, mut step) = (p.lo, 1);
        while is_first(last + step) {
            last += step;
            step *= 2;
        }
        while step > 1 {
            step /= 2;
            if is_first(last + step) {
                last += step;
            }
        }
        last
    }

    /// A chunk that ends with this position, and consists of no other one unless it depends on those before.
    fn up_to(&self, p: &Chunk, pos: usize) -> Chunk {
        let row_hi = self.space.row_of(pos) + 1;
        match self.kernel.kind {
            KernelKind::Scan { .. } => Chunk { row_hi, hi: pos + 1, ..*p },
            _ => Chunk { row_lo: row_hi - 1, row_hi, lo: pos, hi: pos + 1, part: None },
        }
    }
}
