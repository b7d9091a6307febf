//! The formats of files.

use crate::DataError;
use std::path::Path;

/// A format of files.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Format {
    /// Values in Par's notation, one after the other.
    Text,
    /// The same, with arrays of bytes that are texts as texts.
    Texts,
    /// Values in Futhark's binary format, one after the other.
    Binary,
    /// The bytes as they are, for `[]u8`.
    Raw,
    /// One array of NumPy's.
    Npy,
    /// An archive of such arrays.
    Npz,
    /// Columns of text, separated by commas (or semicolons).
    Csv(Header),
    /// Columns of text, separated by tabs.
    Tsv(Header),
    /// A sparse or dense matrix.
    Market,
    /// A picture: PNG, PGM, PPM.
    Picture(Picture),
    /// Columns in Arrow's format for files, or for streams.
    Arrow(Wire),
    /// Columns in the format of Parquet.
    Parquet,
    /// JSON: one value.
    Json,
    /// A value of JSON in each line.
    JsonLines,
}

/// Presence of a first row with the names of the columns.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs)]
pub enum Header {
    Auto,
    Yes,
    No,
}

/// Format of pictures.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs)]
pub enum Picture {
    Png,
    Pnm,
}

/// One of Arrow's two formats.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs)]
pub enum Wire {
    File,
    Stream,
}

/// Names before a colon in what a user writes, and the formats they stand for.
const NAMES: [(&str, Format); 21] = [
    ("text", Format::Text),
    ("texts", Format::Texts),
    ("binary", Format::Binary),
    ("raw", Format::Raw),
    ("npy", Format::Npy),
    ("npz", Format::Npz),
    ("csv", Format::Csv(Header::Auto)),
    ("csv-header", Format::Csv(Header::Yes)),
    ("csv-noheader", Format::Csv(Header::No)),
    ("tsv", Format::Tsv(Header::Auto)),
    ("tsv-header", Format::Tsv(Header::Yes)),
    ("tsv-noheader", Format::Tsv(Header::No)),
    ("mtx", Format::Market),
    ("png", Format::Picture(Picture::Png)),
    ("pgm", Format::Picture(Picture::Pnm)),
    ("ppm", Format::Picture(Picture::Pnm)),
    ("arrow", Format::Arrow(Wire::File)),
    ("arrows", Format::Arrow(Wire::Stream)),
    ("parquet", Format::Parquet),
    ("json", Format::Json),
    ("jsonl", Format::JsonLines),
];

impl Format {
    /// The format of that name.
    pub fn from_name(name: &str) -> Option<Format> {
        NAMES.into_iter().find(|(n, _)| *n == name).map(|(_, format)| format)
    }

    /// The names of all formats.
    pub fn names() -> impl Iterator<Item = &'static str> {
        NAMES.into_iter().map(|(name, _)| name)
    }

    /// An error if it was left out of this program: with the feature of Cargo's that it is part of.
    pub(crate) fn available(self) -> Result<(), DataError> {
        let (there, feature) = match self {
            Format::Npz | Format::Csv(_) | Format::Tsv(_) | Format::Picture(_) => {
                (cfg!(feature = "formats"), "formats")
            }
            Format::Arrow(_) | Format::Parquet => (cfg!(feature = "arrow"), "arrow"),
            _ => (true, ""),
        };
        let name = self.name();
        match there {
            true => Ok(()),
            false => Err(DataError::new(format!(
                "this par was built without the format {name}; build it with `--features {feature}`"
            ))),
        }
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        NAMES.into_iter().find(|(_, format)| *format == self).map_or("", |(name, _)| name)
    }

    /// Format by the ending of a file's name, if it says anything.
    pub fn from_path(path: &Path) -> Option<Format> {
        let ending = path.extension()?.to_str()?.to_ascii_lowercase();
        match ending.as_str() {
            "pnm" => Some(Format::Picture(Picture::Pnm)),
            "ndjson" => Some(Format::JsonLines),
            "feather" | "ipc" => Some(Format::Arrow(Wire::File)),
            "text" | "texts" | "raw" | "binary" => None,
            ending => Format::from_name(ending).filter(|_| !ending.contains('-')),
        }
    }

    /// Format by the first bytes of a file, if they say anything. They are believed before the ending of the name.
    pub fn from_start(bytes: &[u8]) -> Option<Format> {
        const MAGIC: [(&[u8], Format); 7] = [
            (b"\x93NUMPY", Format::Npy),
            (b"PK\x03\x04", Format::Npz),
            (b"PK\x05\x06", Format::Npz),
            (b"%%MatrixMarket", Format::Market),
            (b"\x89PNG\r\n\x1a\n", Format::Picture(Picture::Png)),
            (b"ARROW1\0\0", Format::Arrow(Wire::File)),
            (b"PAR1", Format::Parquet),
        ];
        let found = MAGIC.into_iter().find(|(magic, _)| bytes.starts_with(magic)).map(|(_, format)| format);
        let stream = || bytes.starts_with(&[0xff; 4]).then_some(Format::Arrow(Wire::Stream));
        let binary = || par_runtime::io::binary::is_binary(bytes).then_some(Format::Binary);
        found.or_else(stream).or_else(binary)
    }
}

/// `FORMAT:REST`, if what stands before the colon is the name of a format.
pub(crate) fn split(text: &str) -> (Option<Format>, &str) {
    match text.split_once(':') {
        Some((name, rest)) if Format::from_name(name).is_some() => (Format::from_name(name), rest),
        _ => (None, text),
    }
}

/// The name before a colon that is meant as that of a format and is none, in `NAME:FILE`. A lone letter is a drive.
pub fn unknown_name(text: &str) -> Option<&str> {
    let (name, _) = text.split_once(':')?;
    let is_word = name.len() > 1 && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-');
    (is_word && Format::from_name(name).is_none()).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_by_name_ending_and_start() {
        for (name, format) in NAMES {
            assert_eq!(Format::from_name(name), Some(format));
        }
        assert_eq!(Format::from_path("a/b.CSV".as_ref()), Some(Format::Csv(Header::Auto)));
        assert_eq!(Format::from_path("a.csv-header".as_ref()), None);
        assert_eq!(Format::from_path("csv".as_ref()), None);
        assert_eq!(Format::from_start(b"PK\x03\x04rest"), Some(Format::Npz));
        assert_eq!(Format::from_start(b" b\x02\x00 i32"), Some(Format::Binary));
        assert_eq!(Format::from_start(b"[1, 2]"), None);
        assert_eq!(split("csv:a:b"), (Some(Format::Csv(Header::Auto)), "a:b"));
        assert_eq!(split("c:a"), (None, "c:a"));
        assert_eq!(
            ["jsn:a", "json:a", "c:a", "a/b:c", "x.y:z", "jsn"].map(unknown_name).map(|n| n.is_some()),
            [true, false, false, false, false, false]
        );
    }
}
