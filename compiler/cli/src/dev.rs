//! `par dev`: what the compiler makes of a program.

use crate::source;
use crate::status::{self, Status};
use par::pipeline::{self, Entries};
use par::{Backend, Options, Program};
use std::io::Write;
use std::path::PathBuf;

const DUMP_HELP: &str = "\
What to print: list (the passes), ast, core, flat, schedule (how each kernel runs on a CPU), clif (the kernels before code generation), cuda (the kernels for GPUs), nvrtc or
nvrtc:sm_80 (what CUDA's compiler says of them; compute_80: without machine code; syntax: types only), or after:PASS (see list)";

/// Arguments of `par dev`.
#[derive(clap::Args)]
pub struct Args {
    #[arg(long, value_name = "WHAT", default_value = "list", help = DUMP_HELP)]
    dump: String,
    /// Only this entry point, and what it calls
    #[arg(long, value_name = "NAME", requires = "file")]
    entry: Option<String>,
    /// Check the IR after every pass
    #[arg(long)]
    verify: bool,
    /// Print the time of every pass
    #[arg(long)]
    timings: bool,
    /// Flatten what this pass on CORE has left, without those after it
    #[arg(long, value_name = "PASS", requires = "file")]
    from: Option<String>,
    /// Write this command to FILE with the library inside that `par build` links: then it is all there is to copy
    #[arg(long, value_name = "FILE")]
    pack: Option<PathBuf>,
    /// The program
    #[arg(value_name = "FILE")]
    file: Option<PathBuf>,
}

/// Prints what was asked for.
pub fn dev(args: &Args) -> Result<Status, Status> {
    if let Some(output) = &args.pack {
        return crate::build::pack(output, None).map(|()| Status::Success).map_err(|m| status::fail(&m));
    }
    if args.dump == "list" && args.file.is_none() {
        return print(&list());
    }
    let Some(file) = &args.file else { return Err(status::fail("which program?")) };
    let after = match args.dump.as_str() {
        "ast" => Some("parse"),
        other => other.strip_prefix("after:"),
    };
    if let Some(pass) = after
        && !pipeline::stages().iter().any(|s| s.name == pass)
    {
        return Err(status::fail(&format!("no pass `{pass}`; `par dev` lists them")));
    }
    let default = Options::default();
    let dump_after = after.map(str::to_string).into_iter().collect();
    let keep_stages = args.from.is_some();
    let entries = args.entry.clone().map_or(Entries::All, |name| Entries::Chosen(Some(name)));
    let verify = args.verify || default.verify;
    let options = Options { entries, verify, dump_after, keep_stages, ..default };
    let mut program = source::load(file, &options)?;
    if let Some(name) = &args.entry {
        program.choose_entry(Some(name)).map_err(|message| status::fail(&message))?;
    }
    if let Some(pass) = &args.from {
        let stages = program.stages();
        let names: Vec<&str> = stages.iter().map(|s| s.0).collect();
        let unknown =
            || format!("no pass on CORE `{pass}` changed this program; these did: {}", names.join(", "));
        let found = names.iter().position(|name| name == pass).ok_or_else(|| status::fail(&unknown()))?;
        program = stages.into_iter().nth(found).map_or(program, |s| s.1);
    }
    let text = dump(&program, &args.dump, after).map_err(|f| status::failure(&f))?;
    let text =
        text.ok_or_else(|| status::fail(&format!("there is nothing named `{}` to dump", args.dump)))?;
    if args.timings {
        for (stage, time) in pipeline::noted(&program.trace().timings).iter() {
            status::say(&format!("{:>10.3} ms  {stage}", time.as_secs_f64() * 1e3));
        }
    }
    print(&text)
}

fn dump(program: &Program, what: &str, after: Option<&str>) -> Result<Option<String>, par::Failure> {
    Ok(Some(match (what, after) {
        ("list", _) => {
            program.prepare(Backend::Cpu)?;
            list()
        }
        ("core", _) => par::print_core(program.core()),
        ("flat", _) => par::print_flat(program.flat()?),
        ("schedule", _) => program.schedules()?,
        ("clif", _) => program.clif()?,
        ("cuda", _) => program.cuda_program()?.source(),
        (what, _) if what == "nvrtc" || what.starts_with("nvrtc:") => {
            program.cuda_log(what.strip_prefix("nvrtc:").unwrap_or("sm_90"))?
        }
        (_, Some(_)) => {
            if pipeline::noted(&program.trace().dumps).is_empty() {
                // A later pass that fails is no reason to show nothing.
                let flat = program.flat();
                if pipeline::noted(&program.trace().dumps).is_empty() {
                    flat?;
                }
            }
            let dumps = pipeline::noted(&program.trace().dumps);
            dumps.iter().map(|(_, text)| text.as_str()).collect::<Vec<_>>().join("\n-- again --\n\n")
        }
        _ => return Ok(None),
    }))
}

fn list() -> String {
    pipeline::stages().iter().map(|s| format!("{:<10} {}\n", s.name, s.description)).collect()
}

fn print(text: &str) -> Result<Status, Status> {
    match std::io::stdout().write_all(text.as_bytes()) {
        Err(e) if e.kind() != std::io::ErrorKind::BrokenPipe => Err(status::fail(&e.to_string())),
        _ => Ok(Status::Success),
    }
}
