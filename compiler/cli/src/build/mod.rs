//! `par build`: a program as an executable of its own, or as a library for C.

mod header;
mod inside;
mod link;
mod made;
mod runtime;

pub use header::{c_type, identifier};
pub use link::compiler;

use crate::options::Runnable;
use crate::source;
use crate::status::{self, Status};
use clap::ValueEnum;
use link::Link;
use par::ahead::{Processor, Shape, Target};
use par::{Program, pipeline};
use std::path::{Path, PathBuf};

/// Processor that the machine code is for.
#[derive(Clone, Copy, ValueEnum)]
pub enum Cpu {
    /// This machine's processor, and others that can do all it can
    Native,
    /// Every processor of this architecture
    Baseline,
}

impl From<Cpu> for Processor {
    fn from(cpu: Cpu) -> Processor {
        match cpu {
            Cpu::Native => Processor::Native,
            Cpu::Baseline => Processor::Baseline,
        }
    }
}

const AFTER_HELP: &str = "\
The executable takes its arguments as `par run` does, writes the same results and messages, and ends with the same exit
statuses: `./prog --help` has the options. It runs without Par, and contains the program's text for its messages.

    par build sums.par                      writes sums
    echo '[[1, 2], [], [3]]' | ./sums

With --lib it becomes a library for C and whatever can call C: NAME.h, which explains itself, libNAME.a and libNAME.so.

    par build --lib stats.par               writes stats.h, libstats.a, libstats.so
    cc main.c -L. -lstats                   a shared library
    cc main.c libstats.a -lm -lpthread -ldl

With --gpu it also has kernels for GPUs: `./sums --backend auto` runs on one where there is one. They need NVIDIA's driver, and its compiler
NVRTC unless they were compiled for the architecture: --gpu=sm_80,sm_90 does that here.

It is linked by the system's C compiler: $CC, or `cc`. Exit status: 0 the file was written; 1 it was not; 2, 3, 101 as of `par run`.";

/// Arguments of `par build`.
#[derive(clap::Args)]
#[command(after_long_help = AFTER_HELP)]
pub struct Args {
    /// The program
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Write the executable to FILE; with --lib, its name without `lib` and ending [default: the program's name without its ending]
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Make a library, static and shared, with a header for C
    #[arg(long)]
    lib: bool,
    /// Processors that the machine code is for
    #[arg(long, value_enum, value_name = "CPU", default_value = "native")]
    cpu: Cpu,
    /// Also put in kernels for GPUs; compiled for these architectures (sm_90), for others when the program starts
    #[arg(long, value_name = "ARCHITECTURES", num_args = 0.., require_equals = true, value_delimiter = ',', value_parser = architecture)]
    gpu: Option<Vec<String>>,
    /// The library that the program is linked with, `libpar_native.a` [default: $PAR_RUNTIME, or the one that came with `par`]
    #[arg(long, value_name = "FILE")]
    runtime: Option<PathBuf>,
    #[command(flatten)]
    program: Runnable,
}

/// Writes the command to a file, with the runtime library inside.
pub fn pack(output: &Path, runtime: Option<&Path>) -> Result<(), String> {
    inside::pack(crate::this_command()?, &runtime::find(runtime)?, output)
}

/// Compiles and links a program.
pub fn build(args: &Args) -> Result<Status, Status> {
    args.program.messages.choose();
    let runtime = runtime::find(args.runtime.as_deref()).map_err(|m| status::fail(&m))?;
    let program = source::load(&args.file, &args.program.options()?)?;
    let output = args.output.clone().unwrap_or_else(|| default_output(&args.file, args.lib));
    let done = if args.lib {
        let name = output.file_name().unwrap_or_default().to_string_lossy();
        let interface = header::interface(&name, &program.entries());
        let object = object(&program, args, Shape::Library(&interface.image))?;
        Link::new(&runtime, &object).library(&output, &interface)
    } else {
        let object = object(&program, args, Shape::Executable)?;
        Link::new(&runtime, &object).executable(&output)
    };
    done.map(|()| Status::Success).map_err(|m| status::fail(&m))
}

fn object(program: &Program, args: &Args, shape: Shape) -> Result<Vec<u8>, Status> {
    let target = Target { processor: args.cpu.into(), gpu: args.gpu.as_deref() };
    let object = program.object(target, shape).map_err(|f| status::failure(&f))?;
    pipeline::enter("linking");
    Ok(object)
}

/// The program's name without its ending; a program without one must not be overwritten.
fn default_output(file: &Path, lib: bool) -> PathBuf {
    match file.extension() {
        None if !lib => file.with_extension("out"),
        _ => file.with_extension(""),
    }
}

/// The name of an architecture of NVIDIA's.
fn architecture(name: &str) -> Result<String, String> {
    let number = name.strip_prefix("sm_").filter(|n| n.len() >= 2 && n.bytes().all(|b| b.is_ascii_digit()));
    number
        .map(|_| name.to_string())
        .ok_or_else(|| "architectures are called sm_80, sm_90 and so on".to_string())
}
