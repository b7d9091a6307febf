//! Measuring in several processes, in turns if there are two sides: the times of one process differ from those of the next one (where its
//! memory lies, what else the machine does) by more than the runs in it tell.

use super::Args;
use super::report::Report;
use crate::progress;
use crate::status::{self, Status};
use std::path::Path;
use std::process::{Command, Stdio};

/// One of the things that are compared: the programs, measured by this command or another one, or a program in their place.
#[derive(Clone, Copy)]
enum Side<'a> {
    Here,
    Executable(&'a Path),
    Program(&'a Path),
}

/// Results of so many processes and of as many of `--against`, and the status of the first one in which a call failed.
pub(super) struct Turns {
    pub(super) report: Report,
    pub(super) against: Option<Report>,
    pub(super) failed: Option<Status>,
}

/// Runs all processes.
pub(super) fn measure(args: &Args, processes: u32) -> Result<Turns, Status> {
    if args.against.as_deref().is_some_and(is_program) && args.files.len() != 1 {
        return Err(status::fail("--against PROGRAM is for one program"));
    }
    let against = args.against.as_deref().map(|path| match is_program(path) {
        true => Side::Program(path),
        false => Side::Executable(path),
    });
    let sides: Vec<Side> = std::iter::once(Side::Here).chain(against).collect();
    let bar = progress::bar(processes as usize * sides.len());
    let mut reports: Vec<Option<Report>> = sides.iter().map(|_| None).collect();
    let mut failed = None;
    for turn in 0..processes {
        // First one side, then the other one: what the machine does slowly is the same for both.
        let order: Vec<usize> =
            if turn % 2 == 0 { (0..sides.len()).collect() } else { (0..sides.len()).rev().collect() };
        for at in order {
            let (report, status) = part(args, sides[at], turn == 0)?;
            failed = failed.or(status);
            match &mut reports[at] {
                Some(known) => known.add(report),
                none => *none = Some(report),
            }
            bar.inc(1);
        }
    }
    bar.finish_and_clear();
    let mut reports = reports.into_iter().flatten();
    let report = reports.next().ok_or_else(|| status::fail("nothing was measured"))?;
    Ok(Turns { report, against: reports.next(), failed })
}

/// True if the other side is a program, in Par or in C, and not another command.
fn is_program(path: &Path) -> bool {
    path.extension().is_some_and(|e| e == "par" || e == "fut") || is_c(path)
}

/// True if the functions that are measured are written in C.
pub(super) fn is_c(path: &Path) -> bool {
    path.extension().is_some_and(|e| e == "c")
}

/// The results of one process. Its messages are shown once.
fn part(args: &Args, side: Side, shown: bool) -> Result<(Report, Option<Status>), Status> {
    let here = crate::this_command().map_err(|e| status::fail(&e))?;
    let executable = if let Side::Executable(path) = side { path } else { here };
    let mut command = Command::new(executable);
    command.args(crate::arguments()).arg("--part");
    if let Side::Program(path) = side {
        command.arg("--instead").arg(path);
        if args.threads > 0 {
            command.env("OMP_NUM_THREADS", args.threads.to_string());
        }
    }
    command.stderr(if shown { Stdio::inherit() } else { Stdio::null() });
    let output =
        command.output().map_err(|e| status::fail(&format!("cannot run {}: {e}", executable.display())))?;
    if output.status.code().is_none() {
        let measured = if let Side::Program(path) = side { path } else { executable };
        return Err(status::fail(&format!(
            "the process that measured {} ended: {}",
            measured.display(),
            output.status
        )));
    }
    let failed = (!output.status.success()).then(|| Status::of_code(output.status.code()));
    match serde_json::from_slice(&output.stdout) {
        Ok(report) => Ok((report, failed)),
        Err(_) => Err(failed.unwrap_or_else(|| {
            status::fail(&format!("{} does not measure for another command", executable.display()))
        })),
    }
}
