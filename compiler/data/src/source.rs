//! Sources of bytes.

use crate::DataError;
use std::fs::File;
use std::io::{Cursor, Read, Result, Seek, SeekFrom};
use std::path::Path;
use std::sync::OnceLock;

/// Is told how many bytes have been read, and how many there are.
pub type Watch<'a> = &'a dyn Fn(u64, u64);

/// Reads standard input to its end.
pub type Standard = dyn Fn() -> Result<Vec<u8>> + Send + Sync;

static STANDARD: OnceLock<Box<Standard>> = OnceLock::new();

/// From now on standard input is what `read` gives, for processes of which only one has it. The first call counts.
pub fn replace_standard_input(read: Box<Standard>) {
    let _ = STANDARD.set(read);
}

/// The bytes of standard input of this process.
pub fn read_standard_input() -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    std::io::stdin().lock().read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn standard_input() -> Result<Vec<u8>> {
    STANDARD.get().map_or_else(read_standard_input, |read| read())
}

/// Bytes that can be read at any place: a file, or what a pipe has given.
pub(crate) struct Source<'a> {
    inner: Inner,
    length: u64,
    done: u64,
    watch: Watch<'a>,
}

enum Inner {
    File(File),
    Memory(Cursor<Vec<u8>>),
}

impl<'a> Source<'a> {
    /// Opens a file; `-` is standard input. What cannot be read at any place (a pipe) is read whole.
    pub fn open(path: &Path, watch: Watch<'a>) -> Result<Source<'a>> {
        if path == Path::new("-") {
            return Ok(Source::from_bytes(standard_input()?, watch));
        }
        let mut file = File::open(path)?;
        let there = file.metadata()?;
        if there.is_dir() {
            return Err(std::io::Error::other("it is a folder"));
        }
        // Files in /proc say that they are empty.
        if there.is_file() && there.len() > 0 {
            return Ok(Source { inner: Inner::File(file), length: there.len(), done: 0, watch });
        }
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes)?;
        Ok(Source::from_bytes(bytes, watch))
    }

    pub fn from_bytes(bytes: Vec<u8>, watch: Watch<'a>) -> Source<'a> {
        let length = bytes.len() as u64;
        Source { inner: Inner::Memory(Cursor::new(bytes)), length, done: 0, watch }
    }

    /// True if it need not be read from the beginning.
    pub fn is_file(&self) -> bool {
        matches!(self.inner, Inner::File(_))
    }

    /// Number of bytes.
    pub fn len(&self) -> u64 {
        self.length
    }

    /// Back to the first byte.
    pub fn rewind(&mut self) -> std::result::Result<(), DataError> {
        self.seek(SeekFrom::Start(0))?;
        self.done = 0;
        Ok(())
    }

    /// The first bytes, or all if there are fewer.
    pub fn start(&mut self, count: usize) -> std::result::Result<Vec<u8>, DataError> {
        self.rewind()?;
        let mut bytes = Vec::new();
        Read::take(&mut *self, count as u64).read_to_end(&mut bytes)?;
        self.rewind()?;
        Ok(bytes)
    }

    /// The bytes for readers that go to and fro by themselves.
    #[cfg(feature = "arrow")]
    pub fn chunks(&mut self) -> std::result::Result<Chunks, DataError> {
        Ok(match &self.inner {
            Inner::File(file) => Chunks::File(file.try_clone()?),
            Inner::Memory(bytes) => Chunks::Memory(bytes.get_ref().clone().into()),
        })
    }

    /// All bytes.
    pub fn bytes(&mut self) -> std::result::Result<Vec<u8>, DataError> {
        self.rewind()?;
        let mut bytes = Vec::new();
        self.read_to_end(&mut bytes)?;
        Ok(bytes)
    }
}

impl Read for Source<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> Result<usize> {
        let count = match &mut self.inner {
            Inner::File(file) => file.read(buffer)?,
            Inner::Memory(bytes) => bytes.read(buffer)?,
        };
        self.done += count as u64;
        (self.watch)(self.done, self.length);
        Ok(count)
    }
}

impl Seek for Source<'_> {
    fn seek(&mut self, to: SeekFrom) -> Result<u64> {
        match &mut self.inner {
            Inner::File(file) => file.seek(to),
            Inner::Memory(bytes) => bytes.seek(to),
        }
    }
}

/// Bytes of a file that is read in pieces.
#[cfg(feature = "arrow")]
pub(crate) enum Chunks {
    File(File),
    Memory(bytes::Bytes),
}

#[cfg(feature = "arrow")]
impl parquet::file::reader::Length for Chunks {
    fn len(&self) -> u64 {
        match self {
            Chunks::File(file) => parquet::file::reader::Length::len(file),
            Chunks::Memory(bytes) => bytes.len() as u64,
        }
    }
}

#[cfg(feature = "arrow")]
impl parquet::file::reader::ChunkReader for Chunks {
    type T = Box<dyn Read + Send>;

    fn get_read(&self, start: u64) -> parquet::errors::Result<Self::T> {
        Ok(match self {
            Chunks::File(file) => Box::new(file.get_read(start)?),
            Chunks::Memory(bytes) => Box::new(bytes.get_read(start)?),
        })
    }

    fn get_bytes(&self, start: u64, length: usize) -> parquet::errors::Result<bytes::Bytes> {
        let end = start.checked_add(length as u64);
        if end.is_none_or(|end| end > parquet::file::reader::Length::len(self)) {
            return Err(parquet::errors::ParquetError::EOF("the file is cut off".into()));
        }
        match self {
            Chunks::File(file) => file.get_bytes(start, length),
            Chunks::Memory(bytes) => bytes.get_bytes(start, length),
        }
    }
}
