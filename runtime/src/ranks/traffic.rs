//! Counts of what a rank sends, and of how operations ran.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Counters of one rank.
#[derive(Debug, Default)]
pub struct Traffic {
    bytes: AtomicU64,
    messages: AtomicU64,
    gathered: AtomicU64,
    cut: AtomicU64,
    repeated: AtomicU64,
    positions: AtomicU64,
}

/// The counters at one time.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Volume {
    /// Bytes sent to other ranks. What a broadcast passes on counts once for each receiver, at its root.
    pub bytes: u64,
    /// Messages sent to other ranks.
    pub messages: u64,
    /// Bytes of distributed arrays that this rank received to have them whole.
    pub gathered: u64,
    /// Operations that were cut among ranks.
    pub cut: u64,
    /// Operations that every rank did by itself.
    pub repeated: u64,
    /// Positions of kernels that this rank computed of those that were cut.
    pub positions: u64,
}

impl Traffic {
    /// So many bytes were sent, in so many messages.
    pub(crate) fn sent(&self, bytes: usize, messages: usize) {
        self.bytes.fetch_add(bytes as u64, Relaxed);
        self.messages.fetch_add(messages as u64, Relaxed);
    }

    /// So many bytes of an array came, so that it is whole.
    pub(crate) fn gathered(&self, bytes: usize) {
        self.gathered.fetch_add(bytes as u64, Relaxed);
    }

    /// An operation was cut, of which so many positions are this rank's.
    pub(crate) fn cut(&self, positions: usize) {
        self.cut.fetch_add(1, Relaxed);
        self.positions.fetch_add(positions as u64, Relaxed);
    }

    /// Every rank does an operation.
    pub(crate) fn repeated(&self) {
        self.repeated.fetch_add(1, Relaxed);
    }

    /// All counters.
    pub fn volume(&self) -> Volume {
        let get = |n: &AtomicU64| n.load(Relaxed);
        Volume {
            bytes: get(&self.bytes),
            messages: get(&self.messages),
            gathered: get(&self.gathered),
            cut: get(&self.cut),
            repeated: get(&self.repeated),
            positions: get(&self.positions),
        }
    }
}
