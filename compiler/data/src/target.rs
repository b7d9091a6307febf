//! Files that are written.

#[cfg(feature = "formats")]
use crate::csv;
use crate::format::{Format, split};
use crate::tree::Tree;
use crate::{DataError, json, market};
use par_runtime::io::text::{print_texts_to, print_to};
use par_runtime::io::{self, binary, npy};
use par_runtime::{Array, Value, ValueType};
use std::fs::File;
use std::io::{BufWriter, ErrorKind, Seek, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Destination of a result, and its format.
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

    /// Writes a result to a file that has not its name yet.
    pub fn write_unfinished(&self, value: Value) -> Result<Unfinished, DataError> {
        let form = Form::of(value, self.format)?;
        let path = self.path.as_deref().ok_or("standard output is no file")?;
        let file = Unfinished::begin(path)?;
        fill(file.partial(), |out| form.write(out)).map_err(|e| not_written(path, e))?;
        Ok(file)
    }

    /// The elements of a result, if the file is to be these in order, and the bytes before them.
    pub fn elements(&self, value: &Value) -> Option<(Vec<u8>, Array)> {
        if !self.path.as_deref().is_some_and(is_plain) || !is_regular(&value.ty) {
            return None;
        }
        let regular = Tree::of(value.clone()).ok()?.as_regular()?;
        match self.format {
            Format::Npy => Some((npy::header(regular.data.prim(), &regular.dims), regular.data)),
            Format::Raw => Some((Vec::new(), regular.data)),
            _ => None,
        }
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

fn is_regular(ty: &ValueType) -> bool {
    match ty {
        ValueType::Array { ragged, elem, .. } => {
            !ragged && (is_regular(elem) || matches!(**elem, ValueType::Prim(_)))
        }
        _ => false,
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
    if !is_plain(path) {
        return through_a_file(path, write).map_err(|e| not_written(path, e));
    }
    let file = Unfinished::begin(path)?;
    fill(file.partial(), write).map_err(|e| not_written(path, e))?;
    file.finish()
}

fn not_written(path: &Path, e: DataError) -> DataError {
    DataError::new(format!("cannot write {}: {}", path.display(), e.message))
}

/// True if it is a file with places, or will be one.
fn is_plain(path: &Path) -> bool {
    let is_stream = path.starts_with("/dev") || path.starts_with("/proc");
    !is_stream && std::fs::metadata(path).map_or(true, |m| m.is_file() || m.is_dir())
}

/// A file under a temporary name, until all of it is there. It is removed if that is never said.
pub struct Unfinished {
    path: PathBuf,
    partial: PathBuf,
    target: PathBuf,
}

impl Unfinished {
    /// For a file of that name, which is not made yet.
    pub fn begin(path: &Path) -> Result<Unfinished, DataError> {
        if !is_plain(path) {
            return Err(not_written(path, "it is no plain file".into()));
        }
        if path.is_dir() {
            return Err(not_written(path, "it is a folder".into()));
        }
        let target = std::fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf());
        let mut name = target.file_name().unwrap_or_default().to_os_string();
        name.push(format!(".{}.part", std::process::id()));
        let partial = target.with_file_name(name);
        unfinished().push(partial.clone());
        Ok(Unfinished { path: path.to_path_buf(), partial, target })
    }

    /// The temporary name.
    pub fn partial(&self) -> &Path {
        &self.partial
    }

    /// Gives the file its name.
    pub fn finish(self) -> Result<(), DataError> {
        let keep = |there: std::fs::Metadata| std::fs::set_permissions(&self.partial, there.permissions());
        let kept = std::fs::metadata(&self.path).map_or(Ok(()), keep);
        let done = kept.and_then(|()| std::fs::rename(&self.partial, &self.target));
        done.map_err(|e| not_written(&self.path, e.into()))
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        // After it has its name there is nothing to remove.
        let _ = std::fs::remove_file(&self.partial);
        unfinished().retain(|path| *path != self.partial);
    }
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
