//! Ranks that are threads of one process: for tests, which then need no MPI and can try many programs.

use super::transport::{Lost, Transport};
use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard};

/// Messages on their way to one rank, by sender.
#[derive(Debug, Default)]
struct Mail {
    from: Vec<VecDeque<Vec<u8>>>,
}

#[derive(Debug, Default)]
struct State {
    to: Vec<Mail>,
    /// Ranks that have ended, and why all have to end.
    gone: Vec<bool>,
    aborted: Option<String>,
}

#[derive(Debug, Default)]
struct Shared {
    state: Mutex<State>,
    arrived: Condvar,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(|e| e.into_inner())
    }
}

/// One of the threads. The others notice when it is dropped.
#[derive(Debug)]
pub struct Thread {
    rank: usize,
    size: usize,
    shared: Arc<Shared>,
}

/// As many connected ranks.
pub fn connect(size: usize) -> Vec<Thread> {
    let mail = || Mail { from: (0..size).map(|_| VecDeque::new()).collect() };
    let state = State { to: (0..size).map(|_| mail()).collect(), gone: vec![false; size], aborted: None };
    let shared = Arc::new(Shared { state: Mutex::new(state), arrived: Condvar::new() });
    (0..size).map(|rank| Thread { rank, size, shared: shared.clone() }).collect()
}

impl Thread {
    /// The next message from a rank.
    fn next_from(&self, from: usize) -> Result<Vec<u8>, Lost> {
        let mut state = self.shared.lock();
        loop {
            if let Some(why) = &state.aborted {
                return Err(Lost(why.clone()));
            }
            if let Some(message) = state.to[self.rank].from[from].pop_front() {
                return Ok(message);
            }
            if state.gone[from] {
                return Err(Lost(format!("rank {from} has ended")));
            }
            state = self.shared.arrived.wait(state).unwrap_or_else(|e| e.into_inner());
        }
    }
}

impl Transport for Thread {
    fn rank(&self) -> usize {
        self.rank
    }

    fn size(&self) -> usize {
        self.size
    }

    fn exchange(&self, send: &[&[u8]], receive: &mut [&mut [u8]]) -> Result<(), Lost> {
        let mut state = self.shared.lock();
        for (to, message) in send.iter().enumerate().filter(|(_, m)| !m.is_empty()) {
            state.to[to].from[self.rank].push_back(message.to_vec());
        }
        drop(state);
        self.shared.arrived.notify_all();
        for (from, room) in receive.iter_mut().enumerate().filter(|(_, room)| !room.is_empty()) {
            let message = self.next_from(from)?;
            if message.len() != room.len() {
                let (got, wanted) = (message.len(), room.len());
                return Err(Lost(format!("rank {from} sent {got} bytes where {wanted} were expected")));
            }
            room.copy_from_slice(&message);
        }
        Ok(())
    }

    fn abort(&self, why: &str) {
        self.shared.lock().aborted.get_or_insert_with(|| why.to_string());
        self.shared.arrived.notify_all();
    }
}

impl Drop for Thread {
    fn drop(&mut self) {
        self.shared.lock().gone[self.rank] = true;
        self.shared.arrived.notify_all();
    }
}
