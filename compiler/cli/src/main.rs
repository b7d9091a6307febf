//! The `par` command as a program of its own.

use std::process::ExitCode;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let command = std::env::current_exe().ok();
    ExitCode::from(par_cli::main(std::env::args_os().collect(), command) as u8)
}
