//! GPUs: the driver, the executor on it, and programs that are loaded.

mod array;
mod bulk;
mod contract;
mod desc;
mod driver;
mod folding;
mod foreign;
mod launch;
mod module;
mod replay;
mod rope;
mod run;
mod sort;
mod spare;
mod staging;
mod stream;
mod tuning;
mod watch;
mod workbench;

pub use driver::Gpu;
pub use foreign::{Lent, device_of, foreign, lend};
pub use module::load;
pub use run::Cuda;
pub use workbench::{Argument, Launch, Memory, Workbench};

pub(crate) use module::Loaded;
pub(crate) use run::upload;

use super::{
    Combine, Fold, HIST_LANES, HIST_THREADS, Kernel, KernelKind, Program, Schedule, cache, headers, modules,
    nvrtc,
};
