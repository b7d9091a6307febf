//! Library that compiled programs are linked with, and that they share with `par run`.
//!
//! - [`call`]: arguments in, the call, results out.
//! - [`input`], [`output`]: arguments from files and standard input, results to files and standard output.
//! - [`plot`]: plots of results.
//! - [`status`]: exit statuses, and messages to standard error.
//! - [`program`]: a program that was linked, and its calls.
//! - [`ranks`]: arguments and results of processes that call a program together.
//! - [`timeout`], [`progress`]: a limit of time, and bars for what takes long.
//! - [`executable`]: what an executable does.
//! - [`c`]: values and calls for C, in libraries that `par build --lib` makes and in `par-c`.
//!
//! Nothing here knows the compiler.

pub mod c;
pub mod call;
pub mod executable;
pub mod input;
pub mod output;
pub mod plot;
pub mod program;
pub mod progress;
pub mod ranks;
pub mod status;
pub mod timeout;
