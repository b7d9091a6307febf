//! MPI as the transport between ranks.

use mpi::request::{RequestCollection, StaticScope};
use mpi::topology::SimpleCommunicator;
use mpi::traits::*;
use par_runtime::ranks::{Lost, Transport};

/// Exit status of all ranks after [`Transport::abort`].
const ABORTED: i32 = 1;

/// All processes that `mpirun` has started.
#[derive(Debug)]
pub struct Mpi {
    world: SimpleCommunicator,
    rank: usize,
    size: usize,
}

// SAFETY: a communicator is a handle; MPI was initialized for calls from any thread, one at a time, and one thread alone runs a program.
unsafe impl Send for Mpi {}
// SAFETY: as above.
unsafe impl Sync for Mpi {}
