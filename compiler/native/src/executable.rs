//! Work of an executable: it is `par run` of its one program.

use crate::call::{Call, Callee};
use crate::program::{Backend, Program};
use crate::status::{self, Messages, Status};
use crate::timeout;
use clap::{CommandFactory, FromArgMatches, Parser};
use par_message::entries;
use par_runtime::image::Image;
use par_runtime::{CancelToken, Entry, Options, RuntimeError, Value};
use std::ffi::{CStr, OsString, c_char, c_int};
use std::os::unix::ffi::OsStringExt;

/// Stack of the thread that does the work, as `par` has it.
const STACK: usize = 512 << 20;

const AFTER_HELP: &str = "\
Exit status: 0 success; 1 the program failed or its input is wrong; 2 wrong options; 101 a bug in Par.";

/// A program in Par, compiled ahead.
#[derive(Parser)]
#[command(after_help = AFTER_HELP)]
struct Args {
    #[command(flatten)]
    call: Call,
    /// Bytes that the program may hold besides its arguments (with k, M or G: times 1024, 1024² or 1024³); more is the error
    /// "out of memory"
    #[arg(long, value_name = "BYTES", value_parser = status::bytes)]
    memory_limit: Option<usize>,
    /// The same results in every run: where a scatter writes several values to one index, the last one wins
    #[arg(long)]
    reproducible: bool,
    /// Back end to run it on
    #[arg(long, value_enum, default_value = "cpu")]
    backend: Backend,
    /// Number of the GPU, where there are several
    #[arg(long, value_name = "N", default_value = "0")]
    device: usize,
    /// Say on standard error what `--backend auto` chose
    #[arg(long, short)]
    verbose: bool,
    #[command(flatten)]
    messages: Messages,
}

/// The `main` of an executable: its status.
///
/// # Safety
/// The arguments are those of `main`; the image is that of the executable, and nothing else loads it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn par_native_main(
    count: c_int,
    words: *const *const c_char,
    image: *const Image,
) -> c_int {
    // SAFETY: as the caller promises; words of `main` end with a zero.
    let words: Vec<OsString> = (0..usize::try_from(count).unwrap_or(0))
        .map(|i| unsafe { CStr::from_ptr(*words.add(i)) })
        .map(|word| OsString::from_vec(word.to_bytes().to_vec()))
        .collect();
    // SAFETY: a closed pipe is to be an error of writing, as in programs that begin in Rust.
    unsafe { libc::signal(libc::SIGPIPE, libc::SIG_IGN) };
    std::panic::set_hook(Box::new(|info| {
        // Readers of others may panic at files that are none; whoever called them reports that.
        if !par_data::is_guarded() {
            status::apologise_for(info, "run");
        }
    }));
    // SAFETY: as the caller promises.
    let image = unsafe { &*image };
    let worker =
        std::thread::Builder::new().name("par".into()).stack_size(STACK).spawn(move || main(words, image));
    let status = match worker.map(std::thread::JoinHandle::join) {
        Ok(Ok(status)) => status,
        // The panic hook has said everything.
        Ok(Err(_)) => Status::Bug,
        Err(e) => status::fail(&format!("no thread to work in: {e}")),
    };
    status as c_int
}

fn main(words: Vec<OsString>, image: &Image) -> Status {
    let name = words.first().map_or_else(|| "program".to_string(), |w| w.to_string_lossy().into_owned());
    let command = Args::command().name("program").bin_name(name);
    let matches = command.get_matches_from(words);
    let args = Args::from_arg_matches(&matches).unwrap_or_else(|e| e.exit());
    args.messages.choose();
    // SAFETY: the image is this executable's, which loads it once.
    match unsafe { Program::load(image) } {
        Ok(program) => {
            let done = timeout::within(args.call.timeout, |token| run(&args, &program, token));
            done.unwrap_or_else(|status| status)
        }
        Err(message) => status::fail(&format!("this program cannot run: {message}")),
    }
}

fn run(args: &Args, program: &Program, token: &CancelToken) -> Result<Status, Status> {
    let entry =
        entries::choose(&program.entries(), args.call.entry.as_deref()).map_err(|m| status::fail(&m))?;
    let words = choose(args, program).map_err(|m| status::fail(&m))?;
    if args.verbose && args.backend == Backend::Auto {
        status::say(&format!("running on {words}"));
    }
    let mut options = program.options();
    options.threads = args.call.threads;
    options.memory_limit = args.memory_limit.or(options.memory_limit);
    options.reproducible |= args.reproducible;
    options.cancel = token.clone();
    options.keep_on_device = args.call.is_timed();
    args.call.run(entry, |_| (), &Running { program, entry, options })
}

/// The program, about to be called.
struct Running<'a> {
    program: &'a Program,
    entry: &'a Entry,
    options: Options,
}

impl Running<'_> {
    fn failed(&self, e: RuntimeError) -> Status {
        status::run_error(&e, self.program.sources())
    }
}

impl Callee for Running<'_> {
    fn upload(&self, value: Value) -> Result<Value, Status> {
        self.program.upload(value).map_err(|e| self.failed(e))
    }

    fn call(&self, args: Vec<Value>) -> Result<Value, Status> {
        self.program.call(self.entry, args, &self.options).map_err(|e| self.failed(e))
    }
}

/// Chooses what the program runs on. Kernels for GPUs are reproducible only if they were built so.
fn choose(args: &Args, program: &Program) -> Result<String, String> {
    let backend = match args.backend {
        backend if !args.reproducible || program.options().reproducible => backend,
        Backend::Cuda => {
            return Err("`--reproducible` is for `par build` where GPUs are to keep to it".into());
        }
        Backend::Cpu | Backend::Auto => Backend::Cpu,
    };
    program.run_on(backend, args.device)
}
