//! Files that are read.

#[cfg(feature = "formats")]
use crate::csv;
use crate::format::{Format, split};
use crate::source::{Source, Watch};
use crate::tree::Tree;
use crate::{DataError, fit, json, market, text};
use par_runtime::array::within_memory;
use par_runtime::io::npy;
use par_runtime::{Value, ValueType};
use std::path::{Path, PathBuf};

/// Bytes that tell the format.
const START: usize = 64;
/// So many names are listed in messages.
const LISTED: usize = 12;

/// A file that is open for reading.
pub struct Input<'a> {
    pub(crate) source: Source<'a>,
    pub(crate) format: Format,
}

/// A file as a user names it: `[FORMAT:]FILE[#PART]`. What is the name of a file as a whole is that file.
pub fn split_part(text: &str) -> (Option<Format>, PathBuf, Option<String>) {
    if Path::new(text).exists() {
        return (None, text.into(), None);
    }
    let (format, file) = split(text);
    match file.rsplit_once('#') {
        Some((path, part)) if !Path::new(file).exists() => (format, path.into(), Some(part.to_string())),
        _ => (format, file.into(), None),
    }
}

impl<'a> Input<'a> {
    /// Opens a file; `-` is standard input. Its format is `format`, or what its first bytes and then the ending of its name say, or text.
    pub fn open(path: &Path, format: Option<Format>, watch: Watch<'a>) -> Result<Input<'a>, DataError> {
        let source = Source::open(path, watch).map_err(|e| DataError::new(e.to_string()))?;
        Input::new(source, format, Format::from_path(path))
    }

    /// Takes the bytes of a file.
    pub fn from_bytes(bytes: Vec<u8>, format: Option<Format>) -> Result<Input<'static>, DataError> {
        Input::new(Source::from_bytes(bytes, &|_, _| {}), format, None)
    }

    fn new(
        mut source: Source<'a>,
        format: Option<Format>,
        by_name: Option<Format>,
    ) -> Result<Input<'a>, DataError> {
        let format = match format {
            Some(format) => format,
            None => {
                let by_content = Format::from_start(&source.start(START)?);
                // The formats of text are not told by their first bytes.
                by_content.or(by_name).unwrap_or(Format::Text)
            }
        };
        Ok(Input { source, format })
    }

    /// Its format.
    pub fn format(&self) -> Format {
        self.format
    }

    /// The names of the parts that can be read on their own; none if the file is one value, or values one after the other.
    pub fn names(&mut self) -> Result<Vec<String>, DataError> {
        within_memory(|| self.part_names())?
    }

    fn part_names(&mut self) -> Result<Vec<String>, DataError> {
        match self.format {
            #[cfg(feature = "formats")]
            Format::Npz => crate::npz::names(&mut self.source),
            #[cfg(feature = "formats")]
            Format::Csv(_) => csv::names(&mut self.source, false),
            #[cfg(feature = "formats")]
            Format::Tsv(_) => csv::names(&mut self.source, true),
            Format::Json => json::names(&mut self.source, false),
            Format::JsonLines => json::names(&mut self.source, true),
            Format::Market => Ok(market::PARTS.map(str::to_string).into()),
            #[cfg(feature = "arrow")]
            Format::Arrow(wire) => crate::columnar::names(&mut self.source, Some(wire)),
            #[cfg(feature = "arrow")]
            Format::Parquet => crate::columnar::names(&mut self.source, None),
            _ => Ok(Vec::new()),
        }
    }

    /// The values of the first of the types, as many as the file has. Only files of values one after the other have several.
    pub fn read_some(&mut self, types: &[ValueType]) -> Result<Vec<Value>, DataError> {
        within_memory(|| self.some_values(types))?
    }

    fn some_values(&mut self, types: &[ValueType]) -> Result<Vec<Value>, DataError> {
        match (self.format, types.first()) {
            (Format::Binary, _) => text::read_binary(&mut self.source, types),
            (Format::Text | Format::Texts, _) => text::read(&self.source.bytes()?, types),
            (_, Some(ty)) => Ok(vec![self.value(None, ty)?]),
            (_, None) => Err("expected no value, but there is one".into()),
        }
    }

    /// The file, or a part of it, as a value of type `ty`.
    pub fn read(&mut self, part: Option<&str>, ty: &ValueType) -> Result<Value, DataError> {
        within_memory(|| self.value(part, ty))?
    }

    fn value(&mut self, part: Option<&str>, ty: &ValueType) -> Result<Value, DataError> {
        self.format.available()?;
        let source = &mut self.source;
        let tree = match self.format {
            #[cfg(feature = "formats")]
            Format::Npz => crate::npz::read(source, part, ty),
            #[cfg(feature = "formats")]
            Format::Csv(header) => csv::read(source, (false, header), part, ty),
            #[cfg(feature = "formats")]
            Format::Tsv(header) => csv::read(source, (true, header), part, ty),
            Format::Json => json::read(source, false, part, ty),
            Format::JsonLines => json::read(source, true, part, ty),
            Format::Market => market::read(source, part, ty),
            #[cfg(feature = "arrow")]
            Format::Arrow(wire) => crate::columnar::read(source, Some(wire), part, ty, None),
            #[cfg(feature = "arrow")]
            Format::Parquet => crate::columnar::read(source, None, part, ty, None),
            _ if part.is_some() => {
                return Err(format!("a file of format {} has no parts", self.format.name()).into());
            }
            #[cfg(feature = "formats")]
            Format::Picture(format) => crate::picture::read(source, format, ty),
            Format::Npy => {
                source.rewind()?;
                let length = source.len();
                let regular = npy::read_from(source, Some(length))?;
                at_end(source)?;
                Ok(Tree::regular(regular))
            }
            Format::Raw => return text::raw(&source.bytes()?, ty),
            Format::Text | Format::Texts | Format::Binary => {
                let mut values = self.some_values(std::slice::from_ref(ty))?;
                return values.pop().ok_or_else(|| "the file has no value".into());
            }
            #[cfg(not(all(feature = "formats", feature = "arrow")))]
            _ => return Err("this format is left out".into()),
        };
        fit(tree?, ty).map_err(DataError::from)
    }
}

fn at_end(source: &mut Source) -> Result<(), DataError> {
    match std::io::copy(source, &mut std::io::sink())? {
        0 => Ok(()),
        n => Err(format!("the .npy file goes on for {n} bytes after its array").into()),
    }
}

/// Names in a message.
pub(crate) fn listing<'n>(names: impl IntoIterator<Item = &'n str>) -> String {
    let names: Vec<&str> = names.into_iter().collect();
    let mut shown: Vec<String> = names
        .iter()
        .take(LISTED)
        .map(|name| format!("`{}`", crate::csv::cell::shown(name.as_bytes())))
        .collect();
    if names.len() > LISTED {
        shown.push(format!("{} more", names.len() - LISTED));
    }
    match shown.len() {
        0 => "nothing".into(),
        _ => shown.join(", "),
    }
}
