//! An open file and what is known about it.

use lsp_types::Url;
use par::Sources;
use par::analysis::Analysis;
use par::imports::{FileSystem, Imports};
use std::collections::HashMap;
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// The texts of open files, which imports see instead of what is on disk.
#[derive(Clone, Debug, Default)]
pub struct Open(Arc<Mutex<HashMap<PathBuf, String>>>);

impl Open {
    /// Remembers a text; none: the file is closed.
    pub fn set(&self, url: &Url, text: Option<&str>) {
        let Ok(path) = url.to_file_path() else { return };
        let mut texts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match text {
            Some(text) => texts.insert(path, text.to_string()),
            None => texts.remove(&path),
        };
    }
}

impl Imports for Open {
    fn read(&self, path: &Path) -> Result<String, String> {
        let texts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        texts.get(path).cloned().map_or_else(|| FileSystem.read(path), Ok)
    }
}

/// An open file.
pub struct Document {
    /// Counts changes, as the editor does.
    pub version: i32,
    known: par::analysis::Document,
}

impl Deref for Document {
    type Target = par::analysis::Document;

    fn deref(&self) -> &Self::Target {
        &self.known
    }
}

impl Document {
    /// A file that has just been opened.
    pub fn new(text: String, version: i32) -> Document {
        Document { version, known: par::analysis::Document::new(text) }
    }

    /// Takes over a new text.
    pub fn change(&mut self, text: String, version: i32) {
        self.version = version;
        self.known.change(text);
    }

    /// Forgets what is known if it depends on another file, or if what is wrong may be wrong there.
    pub fn look_again(&mut self, path: &Path) {
        self.known.look_again(path);
    }

    /// Analysis of the text.
    pub fn analysis(&mut self, url: &Url, open: &Open) -> &Analysis {
        self.known.analysis(&path_of(url).to_string_lossy(), Arc::new(open.clone()))
    }

    /// Analysis of the present text, if it has types.
    pub fn faultless(&mut self, url: &Url, open: &Open) -> Option<&Analysis> {
        Some(self.analysis(url, open)).filter(|a| a.is_typed())
    }

    /// Analysis with types if there ever were any, and the text that it is about.
    pub fn typed(&mut self, url: &Url, open: &Open) -> (&str, &Analysis) {
        self.known.typed(&path_of(url).to_string_lossy(), Arc::new(open.clone()))
    }
}

/// The file of a URL; of one that is no file, its text.
pub fn path_of(url: &Url) -> PathBuf {
    url.to_file_path().unwrap_or_else(|()| PathBuf::from(url.path()))
}

/// URL at which a source can be opened. Files of the library are in no folder, so they are written into one.
pub fn url_of(sources: &Sources, file: u32) -> Option<Url> {
    let source = sources.files.get(file as usize)?;
    if !source.is_library {
        let path = Path::new(&source.name);
        let path =
            if path.is_absolute() { path.to_path_buf() } else { std::env::current_dir().ok()?.join(path) };
        return Url::from_file_path(path).ok();
    }
    let name = source.name.replace(['/', '\\', '<', '>', ' '], "-");
    let folder = std::env::temp_dir().join(concat!("par-library-", env!("CARGO_PKG_VERSION")));
    std::fs::create_dir_all(&folder).ok()?;
    let path = folder.join(name);
    if std::fs::read_to_string(&path).ok().as_deref() != Some(&source.text) {
        std::fs::write(&path, &source.text).ok()?;
    }
    Url::from_file_path(path).ok()
}
