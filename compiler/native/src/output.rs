//! Results to a file or to standard output, after everything has succeeded.

use crate::status::{self, Status};
use par_runtime::Value;
use par_runtime::io::text::print_to;
use par_runtime::io::{self, binary, npy};
use std::fs::File;
use std::io::{BufWriter, ErrorKind, Write};
use std::path::Path;

/// Where results go, and how.
pub struct Target<'a> {
    /// Standard output if there is none.
    pub file: Option<&'a Path>,
    /// In Futhark's binary format.
    pub binary: bool,
}

/// Writes text to standard output. A reader that has seen enough is no error.
pub fn text(text: &str) -> Result<(), Status> {
    match std::io::stdout().lock().write_all(text.as_bytes()) {
        Err(e) if e.kind() != ErrorKind::BrokenPipe => {
            Err(status::fail(&format!("cannot write to standard output: {e}")))
        }
        _ => Ok(()),
    }
}

/// A result in the form in which it is written.
enum Form {
    Text(Vec<Value>),
    Bytes(Vec<u8>),
}

/// Writes a result; a top-level tuple one component after the other.
pub fn write(value: Value, target: &Target) -> Result<(), String> {
    let is_npy = target.file.and_then(Path::extension).is_some_and(|e| e == "npy");
    let form = match (target.binary, is_npy) {
        (true, _) => {
            let mut bytes = Vec::new();
            binary::write_value(&value, &mut bytes)?;
            Form::Bytes(bytes)
        }
        (false, true) => Form::Bytes(npy::write_value(&value)?),
        (false, false) => Form::Text(io::components(value)),
    };
    match target.file {
        Some(path) => write_file(path, |out| form.write(out)),
        None => {
            let mut out = BufWriter::with_capacity(1 << 16, std::io::stdout().lock());
            let result = form.write(&mut out).and_then(|()| out.flush());
            // Whoever read the output has seen enough.
            let result = result.or_else(|e| if e.kind() == ErrorKind::BrokenPipe { Ok(()) } else { Err(e) });
            // What the buffer still holds must not be tried again.
            let _ = out.into_parts();
            result.map_err(|e| format!("cannot write to standard output: {e}"))
        }
    }
}

impl Form {
    fn write(&self, out: &mut dyn Write) -> std::io::Result<()> {
        match self {
            Form::Bytes(bytes) => out.write_all(bytes),
            Form::Text(values) => values.iter().try_for_each(|value| {
                let mut text = Text { out: &mut *out, error: None };
                let written = print_to(value, &mut text);
                match (text.error.take(), written) {
                    (Some(e), _) => Err(e),
                    (None, Err(_)) => Err(std::io::Error::other("formatting failed")),
                    (None, Ok(())) => out.write_all(b"\n"),
                }
            }),
        }
    }
}

/// Text into a byte stream, keeping the stream's error.
struct Text<'a> {
    out: &'a mut dyn Write,
    error: Option<std::io::Error>,
}

impl std::fmt::Write for Text<'_> {
    fn write_str(&mut self, s: &str) -> std::fmt::Result {
        self.out.write_all(s.as_bytes()).map_err(|e| {
            self.error = Some(e);
            std::fmt::Error
        })
    }
}

/// Writes a file under a temporary name and renames it, so that nobody sees half of it. A symbolic link stays one,
/// and a file that is replaced keeps its permissions. What is not a plain file (a device, a pipe, one of the
/// system's names for an open stream) is written directly.
pub fn write_file(
    path: &Path,
    write: impl FnOnce(&mut BufWriter<File>) -> std::io::Result<()>,
) -> Result<(), String> {
    let there = std::fs::metadata(path).ok();
    let stream = path.starts_with("/dev") || path.starts_with("/proc");
    let result = if stream || there.as_ref().is_some_and(|m| !m.is_file()) {
        fill(path, write)
    } else {
        let target = std::fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf());
        let mut name = target.file_name().unwrap_or_default().to_os_string();
        name.push(format!(".{}.part", std::process::id()));
        let partial = target.with_file_name(name);
        let done = fill(&partial, write)
            .and_then(|()| there.map_or(Ok(()), |m| std::fs::set_permissions(&partial, m.permissions())))
            .and_then(|()| std::fs::rename(&partial, &target));
        if done.is_err() {
            // There may be nothing to remove.
            let _ = std::fs::remove_file(&partial);
        }
        done
    };
    result.map_err(|e| format!("cannot write {}: {e}", path.display()))
}

fn fill(path: &Path, write: impl FnOnce(&mut BufWriter<File>) -> std::io::Result<()>) -> std::io::Result<()> {
    let mut out = BufWriter::with_capacity(1 << 16, File::create(path)?);
    write(&mut out)?;
    out.into_inner().map_err(std::io::IntoInnerError::into_error)?;
    Ok(())
}
