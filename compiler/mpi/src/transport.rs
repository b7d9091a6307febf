//! MPI as the transport between ranks.

use mpi::Count;
use mpi::datatype::PartitionMut;
use mpi::environment::Universe;
use mpi::topology::SimpleCommunicator;
use mpi::traits::*;
use par_runtime::ranks::{Lost, Transport};
use std::fmt;

/// Exit status of all ranks after [`Transport::abort`].
const ABORTED: i32 = 1;

/// All processes that `mpirun` has started.
pub struct Mpi {
    world: SimpleCommunicator,
    rank: usize,
    size: usize,
}

// SAFETY: a communicator is a handle; MPI was initialized for calls from any thread, one at a time, and one thread alone runs a program.
unsafe impl Send for Mpi {}
// SAFETY: as above.
unsafe impl Sync for Mpi {}

impl fmt::Debug for Mpi {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "rank {} of {}", self.rank, self.size)
    }
}

impl Mpi {
    /// The processes of this run.
    pub fn new(universe: &Universe) -> Mpi {
        let world = universe.world();
        let (rank, size) = (world.rank() as usize, world.size() as usize);
        Mpi { world, rank, size }
    }
}

/// Errors of MPI end all processes, so there are none here.
impl Transport for Mpi {
    fn rank(&self) -> usize {
        self.rank
    }

    fn size(&self) -> usize {
        self.size
    }

    fn exchange(&self, send: &[&[u8]], receive: &mut [&mut [u8]]) -> Result<(), Lost> {
        let sent = send.iter().filter(|s| !s.is_empty()).count();
        let messages = sent + receive.iter().filter(|r| !r.is_empty()).count();
        if messages == 0 {
            return Ok(());
        }
        mpi::request::multiple_scope(messages, |scope, requests| {
            for (from, room) in receive.iter_mut().enumerate().filter(|(_, room)| !room.is_empty()) {
                let process = self.world.process_at_rank(from as i32);
                requests.add(process.immediate_receive_into(scope, &mut **room));
            }
            for (to, message) in send.iter().enumerate().filter(|(_, m)| !m.is_empty()) {
                let process = self.world.process_at_rank(to as i32);
                requests.add(process.immediate_send(scope, *message));
            }
            let mut done = Vec::with_capacity(messages);
            requests.wait_all(&mut done);
        });
        Ok(())
    }

    fn abort(&self, why: &str) {
        eprintln!("error: {why}");
        self.world.abort(ABORTED);
    }

    fn broadcast(&self, root: usize, bytes: &mut [u8]) -> Result<(), Lost> {
        self.world.process_at_rank(root as i32).broadcast_into(bytes);
        Ok(())
    }

    fn all_gather(&self, own: &[u8]) -> Result<Vec<u8>, Lost> {
        let mut all = vec![0; own.len() * self.size];
        self.world.all_gather_into(own, &mut all[..]);
        Ok(all)
    }

    fn all_gather_counted(&self, own: &[u8], counts: &[usize]) -> Result<Vec<u8>, Lost> {
        let mut all = vec![0; counts.iter().sum()];
        let starts = counts.iter().scan(0, |next, n| Some(std::mem::replace(next, *next + *n as Count)));
        let starts: Vec<Count> = starts.collect();
        let counts: Vec<Count> = counts.iter().map(|n| *n as Count).collect();
        self.world.all_gather_varcount_into(own, &mut PartitionMut::new(&mut all[..], counts, starts));
        Ok(all)
    }
}
