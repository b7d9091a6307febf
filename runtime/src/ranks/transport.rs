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
        let (me, p) = (self.rank(), self.size());
        let mut all = vec![0; own.len() * p];
        if own.is_empty() {
            return Ok(all);
        }
        all[me * own.len()..][..own.len()].copy_from_slice(own);
        let send: Vec<&[u8]> = (0..p).map(|r| if r == me { &[][..] } else { own }).collect();
        let mut receive: Vec<&mut [u8]> = all.chunks_mut(own.len()).collect();
        receive[me] = &mut [];
        self.exchange(&send, &mut receive)?;
        Ok(all)
    }
}

/// No room for messages of so many ranks.
fn nothing<'a>(ranks: usize) -> Vec<&'a mut [u8]> {
    (0..ranks).map(|_| &mut [][..]).collect()
}
