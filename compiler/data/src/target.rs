//! Files that are written.

#[cfg(feature = "formats")]
use crate::csv;
use crate::format::{Format, split};
use crate::tree::Tree;
use crate::{DataError, json, market};
use par_runtime::Value;
use par_runtime::io::text::{print_texts_to, print_to};
use par_runtime::io::{self, binary, npy};
use std::fs::File;
use std::io::{BufWriter, ErrorKind, Seek, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Where a result goes, and as what.
pub struct Target {
    /// Standard output if there is none.
    pub path: Option<PathBuf>,
    /// In which format.
    pub format: Format,
}

impl Target {
    /// `[FORMAT:]FILE`, where `-` is standard output; without a format the ending of the name tells it, and else it is text.
    pub fn parse(text: &str) -> Target {
        let (format, file) = split(text);
        let path = (file != "-").then(|| PathBuf::from(file));
        let by_name = path.as_deref().and_then(Format::from_path);
        Target { path, format: format.or(by_name).unwrap_or(Format::Text) }
    }

    /// Standard output, as text.
    pub fn standard_output() -> Target {
        Target { path: None, format: Format::Text }
    }

    /// Writes a result; of text and Futhark's binary format the components of a tuple one after the other.
    pub fn write(&self, value: Value) -> Result<(), DataError> {
        let mut form = Form::of(value, self.format)?;
        let Some(path) = &self.path else { return self.to_standard_output(&mut form) };
        write_file(path, |out| form.write(out))
    }

    fn to_standard_output(&self, form: &mut Form) -> Result<(), DataError> {
        // Nothing is shown of what cannot be finished, but for text, which may be long.
        if !matches!(form, Form::Text(..)) {
            let mut bytes = std::io::Cursor::new(Vec::new());
            form.write(&mut bytes)?;
            *form = Form::Bytes(bytes.into_inner());
        }
        let mut out = BufWriter::with_capacity(1 << 16, std::io::stdout().lock());
        let result = match form {
            Form::Text(values, how) => print(values, *how, &mut out),
            Form::Bytes(bytes) => out.write_all(bytes),
            Form::Tree(..) => Ok(()),
        };
        let result = result.and_then(|()| out.flush());
        // What the buffer still holds must not be tried again.
        let _ = out.into_parts();
        match result {
            // Whoever read the output has seen enough.
            Err(e) if e.kind() != ErrorKind::BrokenPipe => {
                Err(format!("cannot write to standard output: {e}").into())
            }
            _ => Ok(()),
        }
    }
}

/// Function that writes a value as text.
type Print = fn(&Value, &mut dyn std::fmt::Write) -> std::fmt::Result;

/// A result in the form in which it is written.
enum Form {
    Text(Vec<Value>, Print),
    Bytes(Vec<u8>),
    Tree(Tree, Format),
}

impl Form {
    fn of(value: Value, format: Format) -> Result<Form, DataError> {
        format.available()?;
        Ok(match format {
            Format::Text => Form::Text(io::components(value), print_to),
            Format::Texts => Form::Text(io::components(value), print_texts_to),
            Format::Binary => {
                let mut bytes = Vec::new();
                binary::write_value(&value, &mut bytes)?;
                Form::Bytes(bytes)
            }
            format => Form::Tree(Tree::of(value)?, format),
        })
    }

    fn write<W: Write + Seek + Send>(&self, out: &mut W) -> Result<(), DataError> {
        match self {
            Form::Text(values, how) => Ok(print(values, *how, out)?),
            Form::Bytes(bytes) => Ok(out.write_all(bytes)?),
            Form::Tree(tree, format) => write_tree(tree, *format, out),
        }
    }
}

fn write_tree<W: Write + Seek + Send>(tree: &Tree, format: Format, out: &mut W) -> Result<(), DataError> {
    let whole = |what: &str| {
        let found = tree.type_name();
        DataError::new(format!("{what}, and this result is {found}"))
    };
    match format {
        #[cfg(feature = "formats")]
        Format::Npz => crate::npz::write(tree, out),
        #[cfg(feature = "formats")]
        Format::Csv(_) => csv::write(tree, false, out),
        #[cfg(feature = "formats")]
        Format::Tsv(_) => csv::write(tree, true, out),
        Format::Json => json::write(tree, false, out),
        Format::JsonLines => json::write(tree, true, out),
        Format::Market => market::write(tree, out),
        #[cfg(feature = "formats")]
        Format::Picture(format) => crate::picture::write(tree, format, out),
        Format::Npy => {
            let regular =
                tree.as_regular().ok_or_else(|| whole("a .npy file holds one regular array of scalars"))?;
            out.write_all(&npy::header(regular.data.prim(), &regular.dims))?;
            Ok(out.write_all(regular.data.bytes())?)
        }
        Format::Raw => match tree.as_regular() {
            Some(regular) => Ok(out.write_all(regular.data.bytes())?),
            None => Err(whole("raw bytes are those of a regular array of scalars")),
        },
        #[cfg(feature = "arrow")]
        Format::Arrow(wire) => crate::columnar::write(tree, Some(wire), out),
        #[cfg(feature = "arrow")]
        Format::Parquet => crate::columnar::write(tree, None, out),
        _ => Err(whole("nothing is known of this format")),
    }
}

fn print(values: &[Value], how: Print, out: &mut dyn Write) -> std::io::Result<()> {
    values.iter().try_for_each(|value| {
        let mut text = Text { out: &mut *out, error: None };
        let written = how(value, &mut text);
        match (text.error.take(), written) {
            (Some(e), _) => Err(e),
            (None, Err(_)) => Err(std::io::Error::other("formatting failed")),
            (None, Ok(())) => out.write_all(b"\n"),
        }
    })
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
/// system's names for an open stream) gets all bytes at once, when they are there.
pub fn write_file(
    path: &Path,
    write: impl FnOnce(&mut BufWriter<File>) -> Result<(), DataError>,
) -> Result<(), DataError> {
    let failed = |e: DataError| DataError::new(format!("cannot write {}: {}", path.display(), e.message));
    let there = std::fs::metadata(path).ok();
    if there.as_ref().is_some_and(std::fs::Metadata::is_dir) {
        return Err(failed("it is a folder".into()));
    }
    let stream = path.starts_with("/dev") || path.starts_with("/proc");
    if stream || there.as_ref().is_some_and(|m| !m.is_file()) {
        return through_a_file(path, write).map_err(failed);
    }
    let target = std::fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf());
    let mut name = target.file_name().unwrap_or_default().to_os_string();
    name.push(format!(".{}.part", std::process::id()));
    let partial = target.with_file_name(name);
    unfinished().push(partial.clone());
    let done = fill(&partial, write)
        .and_then(|()| there.map_or(Ok(()), |m| Ok(std::fs::set_permissions(&partial, m.permissions())?)))
        .and_then(|()| Ok(std::fs::rename(&partial, &target)?));
    if done.is_err() {
        // There may be nothing to remove.
        let _ = std::fs::remove_file(&partial);
    }
    unfinished().retain(|path| *path != partial);
    done.map_err(failed)
}

/// Files that are being written.
static UNFINISHED: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

fn unfinished() -> MutexGuard<'static, Vec<PathBuf>> {
    UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Removes the files that other threads are writing, when the process ends before they have done so.
pub fn remove_unfinished() {
    for path in unfinished().drain(..) {
        // There may be nothing to remove.
        let _ = std::fs::remove_file(path);
    }
}

/// Some formats are not written from the first byte to the last; what has no places gets a copy.
fn through_a_file(
    path: &Path,
    write: impl FnOnce(&mut BufWriter<File>) -> Result<(), DataError>,
) -> Result<(), DataError> {
    let mut file = temporary()?;
    let mut out = BufWriter::with_capacity(1 << 16, file.try_clone()?);
    write(&mut out)?;
    out.into_inner().map_err(std::io::IntoInnerError::into_error)?;
    file.rewind()?;
    let mut stream = File::options().write(true).open(path)?;
    std::io::copy(&mut file, &mut stream)?;
    Ok(())
}

/// A file that nobody else sees.
#[cfg(not(target_family = "wasm"))]
fn temporary() -> std::io::Result<File> {
    tempfile::tempfile()
}

/// There are no files.
#[cfg(target_family = "wasm")]
fn temporary() -> std::io::Result<File> {
    Err(ErrorKind::Unsupported.into())
}

fn fill(
    path: &Path,
    write: impl FnOnce(&mut BufWriter<File>) -> Result<(), DataError>,
) -> Result<(), DataError> {
    let mut out = BufWriter::with_capacity(1 << 16, File::create(path)?);
    write(&mut out)?;
    out.into_inner().map_err(std::io::IntoInnerError::into_error)?;
    Ok(())
}
