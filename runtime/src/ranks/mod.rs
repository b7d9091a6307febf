//! Ranks: processes, or threads that stand for them, which run one program together.
//!
//! Every rank runs the host's part of the plan: scalars, sizes and control flow are the same everywhere (single program, multiple data). Arrays are *whole* on
//! all ranks, or *distributed*: each rank holds the elements between two cuts ([`crate::exec`] has the device). What ranks tell each other goes
//! through a [`Transport`]: [`threads`] in one process, or MPI, which another crate brings.

pub mod threads;
mod traffic;
mod transport;
#[cfg(not(target_family = "wasm"))]
pub mod values;

pub use traffic::{Traffic, Volume};
pub use transport::{Lost, Transport};

use std::ops::Range;
use std::sync::Arc;

/// Bytes of one message. Larger ones go in rounds, so that what a transport buffers is bounded.
const ROUND: usize = 16 << 20;

/// Positions from which a kernel is cut among ranks: fewer are computed by every rank, which is faster than a message.
const LEAST: usize = 1 << 14;

/// This rank among all ranks of a run.
#[derive(Clone, Debug)]
pub struct Ranks {
    transport: Arc<dyn Transport>,
    /// Positions from which a kernel is cut, elements from which an array is distributed.
    pub least: usize,
    /// Counts of what this rank has sent, and of operations.
    pub traffic: Arc<Traffic>,
}

impl Ranks {
    /// Of a transport.
    pub fn new(transport: Arc<dyn Transport>) -> Ranks {
        Ranks { transport, least: LEAST, traffic: Arc::default() }
    }

    /// Distributes arrays from so many elements on.
    pub fn with_least(self, least: usize) -> Ranks {
        Ranks { least: least.max(1), ..self }
    }

    /// From now on a read of an element that a rank has not is likely to end the process: for tests.
    pub fn poison() {
        crate::array::poison_parts();
    }

    /// This rank's number.
    pub fn rank(&self) -> usize {
        self.transport.rank()
    }

    /// Number of ranks.
    pub fn size(&self) -> usize {
        self.transport.size()
    }

    /// Ends all ranks; for errors that the others cannot know of.
    pub fn abort(&self, why: &str) {
        self.transport.abort(why);
    }

    /// The bytes of one rank on all of them; their number is the same everywhere.
    pub fn broadcast(&self, root: usize, bytes: &mut [u8]) -> Result<(), Lost> {
        if self.rank() == root {
            self.traffic.sent(bytes.len() * (self.size() - 1), self.size() - 1);
        }
        self.transport.broadcast(root, bytes)
    }

    /// As many bytes of every rank, in the order of ranks.
    pub fn all_gather(&self, own: &[u8]) -> Result<Vec<u8>, Lost> {
        self.traffic.sent(own.len() * (self.size() - 1), self.size() - 1);
        self.transport.all_gather(own)
    }

    /// Bytes of every rank, `counts[r]` of rank `r`, in the order of ranks.
    pub fn all_gather_counted(&self, own: &[u8], counts: &[usize]) -> Result<Vec<u8>, Lost> {
        if counts.iter().sum::<usize>() > ROUND {
            return Ok(self.exchange_known(vec![own.to_vec(); self.size()], counts)?.concat());
        }
        let others = self.size() - 1;
        self.traffic.sent(own.len() * others, if own.is_empty() { 0 } else { others });
        self.transport.all_gather_counted(own, counts)
    }

    /// A number of every rank.
    pub fn all_gather_number(&self, own: u64) -> Result<Vec<u64>, Lost> {
        let all = self.all_gather(&own.to_le_bytes())?;
        let number = |bytes: &[u8]| bytes.iter().rev().fold(0, |n, b| n << 8 | u64::from(*b));
        Ok(all.chunks_exact(8).map(number).collect())
    }

    /// Sends `send[r]` to rank `r` and receives `receive[r]` from it, in rounds. Both sides know the lengths; those of this rank itself are
    /// empty.
    pub fn exchange(&self, send: &[&[u8]], receive: &mut [&mut [u8]]) -> Result<(), Lost> {
        let longest = send.iter().map(|s| s.len()).chain(receive.iter().map(|r| r.len())).max().unwrap_or(0);
        for round in (0..longest).step_by(ROUND) {
            let part = |len: usize| -> Range<usize> { round.min(len)..(round + ROUND).min(len) };
            let send: Vec<&[u8]> = send.iter().map(|s| &s[part(s.len())]).collect();
            let mut receive: Vec<&mut [u8]> = receive
                .iter_mut()
                .map(|r| {
                    let part = part(r.len());
                    &mut r[part]
                })
                .collect();
            let messages = send.iter().filter(|s| !s.is_empty()).count();
            self.traffic.sent(send.iter().map(|s| s.len()).sum(), messages);
            self.transport.exchange(&send, &mut receive)?;
        }
        Ok(())
    }

    /// Bytes for every rank, of which only the sender knows the number; what came from each.
    pub fn exchange_unknown(&self, send: Vec<Vec<u8>>) -> Result<Vec<Vec<u8>>, Lost> {
        let own: Vec<u8> = send.iter().flat_map(|s| (s.len() as u64).to_le_bytes()).collect();
        let (me, p) = (self.rank(), self.size());
        let counts = self.all_gather(&own)?;
        let count = |from: usize| {
            let at = 8 * (from * p + me);
            counts[at..at + 8].iter().rev().fold(0usize, |n, b| n << 8 | usize::from(*b))
        };
        let counts: Vec<usize> = (0..p).map(count).collect();
        self.exchange_known(send, &counts)
    }

    /// Bytes for every rank, this one included; what came from each, `counts[r]` bytes of rank `r`.
    pub fn exchange_known(&self, mut send: Vec<Vec<u8>>, counts: &[usize]) -> Result<Vec<Vec<u8>>, Lost> {
        let me = self.rank();
        let own = std::mem::take(&mut send[me]);
        let room = |(r, n): (usize, &usize)| vec![0; if r == me { 0 } else { *n }];
        let mut received: Vec<Vec<u8>> = counts.iter().enumerate().map(room).collect();
        let send: Vec<&[u8]> = send.iter().map(|s| &s[..]).collect();
        let mut receive: Vec<&mut [u8]> = received.iter_mut().map(|r| &mut r[..]).collect();
        self.exchange(&send, &mut receive)?;
        received[me] = own;
        Ok(received)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread;

    /// The results of `work` on each of so many ranks.
    fn on<T: Send>(ranks: usize, work: impl Fn(Ranks) -> T + Sync) -> Vec<T> {
        thread::scope(|scope| {
            let work = &work;
            let all: Vec<_> = threads::connect(ranks)
                .into_iter()
                .map(|t| scope.spawn(move || work(Ranks::new(Arc::new(t)))))
                .collect();
            all.into_iter().map(|t| t.join().expect("a rank")).collect()
        })
    }

    #[test]
    fn numbers_of_all_ranks() {
        for p in 1..5 {
            let all = on(p, |r| r.all_gather_number(r.rank() as u64 * 1000).expect("all"));
            let expected: Vec<u64> = (0..p as u64).map(|r| r * 1000).collect();
            assert!(all.iter().all(|x| *x == expected));
        }
    }

    #[test]
    fn bytes_of_all_ranks() {
        for unit in [1, ROUND / 3] {
            let counts = [2 * unit, 0, unit];
            let all = on(3, |r| r.all_gather_counted(&vec![r.rank() as u8; counts[r.rank()]], &counts));
            let expected = [vec![0; 2 * unit], vec![2; unit]].concat();
            assert!(all.iter().all(|x| x.as_ref() == Ok(&expected)));
        }
    }

    #[test]
    fn bytes_of_one_rank() {
        let all = on(3, |r| {
            let mut bytes = [r.rank() as u8; 4];
            r.broadcast(2, &mut bytes).expect("bytes");
            bytes
        });
        assert_eq!(all, [[2; 4]; 3]);
    }

    #[test]
    fn messages_of_any_length_in_rounds() {
        let length = |from: usize, to: usize| if from == to { 0 } else { from * (ROUND + 7) + to };
        let all = on(3, |r| {
            let me = r.rank();
            let send: Vec<Vec<u8>> = (0..3).map(|to| vec![me as u8; length(me, to)]).collect();
            let got = r.exchange_unknown(send).expect("messages");
            let right = |(from, g): (usize, &Vec<u8>)| {
                g.len() == length(from, me) && g.iter().all(|b| *b == from as u8)
            };
            (got.iter().enumerate().all(right), r.traffic.volume())
        });
        assert!(all.iter().all(|(right, _)| *right));
        assert!(all[2].1.bytes > all[0].1.bytes && all[2].1.messages > 4);
    }

    #[test]
    fn a_rank_that_ends_is_noticed() {
        let all = on(3, |r| if r.rank() == 1 { Ok(vec![]) } else { r.all_gather(&[1]) });
        assert!(all[0].is_err() && all[2].is_err());
    }
}
