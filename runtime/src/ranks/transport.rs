//! The calls that carry bytes between ranks.

use std::fmt;

/// Another rank is gone, so that what it had to say will not come.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Lost(pub String);

impl fmt::Display for Lost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Lost {}

/// A connection with all ranks. All of them make the same calls in the same order, but for [`Transport::exchange`], which only those make that have
/// something to send or to receive.
pub trait Transport: Send + Sync + fmt::Debug {
    /// This rank's number.
    fn rank(&self) -> usize;

    /// Number of ranks.
    fn size(&self) -> usize;

    /// Sends `send[r]` to each rank `r` and fills `receive[r]` with what it sends to this one. Lengths are equal on both sides; of nothing there is no
    /// message. Messages between two ranks arrive in the order in which they were sent.
    fn exchange(&self, send: &[&[u8]], receive: &mut [&mut [u8]]) -> Result<(), Lost>;

    /// Ends all ranks: calls on the others fail, or their processes end.
    fn abort(&self, why: &str);

    /// Bytes of `root` on all ranks.
    fn broadcast(&self, root: usize, bytes: &mut [u8]) -> Result<(), Lost> {
        let (me, p) = (self.rank(), self.size());
        if me == root {
            let copy = bytes.to_vec();
            let send: Vec<&[u8]> = (0..p).map(|r| if r == me { &[][..] } else { &copy[..] }).collect();
            return self.exchange(&send, &mut nothing(p));
        }
        let mut receive = nothing(p);
        receive[root] = bytes;
        self.exchange(&vec![&[][..]; p], &mut receive)
    }

    /// As many bytes of every rank, one after the other.
    fn all_gather(&self, own: &[u8]) -> Result<Vec<u8>, Lost> {
        self.all_gather_counted(own, &vec![own.len(); self.size()])
    }

    /// Bytes of every rank, `counts[r]` of rank `r`, one after the other.
    fn all_gather_counted(&self, own: &[u8], counts: &[usize]) -> Result<Vec<u8>, Lost> {
        let (me, p) = (self.rank(), self.size());
        let mut all = vec![0; counts.iter().sum()];
        let (mut receive, mut rest) = (nothing(p), &mut all[..]);
        for (r, n) in counts.iter().enumerate() {
            let (room, after) = rest.split_at_mut(*n);
            rest = after;
            if r == me {
                room.copy_from_slice(own);
            } else {
                receive[r] = room;
            }
        }
        let send: Vec<&[u8]> = (0..p).map(|r| if r == me { &[][..] } else { own }).collect();
        self.exchange(&send, &mut receive)?;
        Ok(all)
    }
}

/// No room for messages of so many ranks.
fn nothing<'a>(ranks: usize) -> Vec<&'a mut [u8]> {
    (0..ranks).map(|_| &mut [][..]).collect()
}
