//! The `par-mpi` command: `par run`, `par bench` and `par explain` on the processes that `mpirun` starts.

mod transport;

use mpi::Threading;
use par_runtime::ranks::Ranks;
use std::process::ExitCode;
use std::sync::Arc;
use transport::Mpi;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    // The work is done on one thread, which is not this one.
    let Some((universe, threading)) = mpi::initialize_with_threading(Threading::Serialized) else {
        eprintln!("error: MPI was initialized before");
        return ExitCode::FAILURE;
    };
    if threading < Threading::Serialized {
        eprintln!("error: this MPI cannot be called from a thread that is not the first one");
        return ExitCode::FAILURE;
    }
    let ranks = Ranks::new(Arc::new(Mpi::new(&universe)));
    let status = par_cli::ranks::main(std::env::args_os().collect(), ranks);
    ExitCode::from(status as u8)
}
