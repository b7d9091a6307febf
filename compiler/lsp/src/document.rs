//! An open file and what is known about it.

use crate::partial;
use lsp_types::Url;
use par::analysis::Analysis;
use par::imports::{FileSystem, Imports};
use par::{Diagnostic, Options, Sources, Span};
use std::collections::HashMap;
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
    /// As it is in the editor.
    pub text: String,
    /// Counts changes, as the editor does.
    pub version: i32,
    /// Of this text, if it has been looked at.
    analysis: Option<Analysis>,
    /// Fallback analysis for a text with errors: of the text with holes in place of the wrong expressions; else of the last text that
    /// type-checked; else of the text without the wrong declarations.
    typed: Option<(String, Analysis)>,
}

impl Document {
    /// A file that has just been opened or changed.
    pub fn new(text: String, version: i32) -> Document {
        Document { text, version, analysis: None, typed: None }
    }

    /// Takes over a new text.
    pub fn change(&mut self, text: String, version: i32) {
        let before = std::mem::replace(&mut self.text, text);
        self.version = version;
        if let Some(analysis) = self.analysis.take().filter(Analysis::is_typed) {
            self.typed = Some((before, analysis));
        }
    }

    /// Forgets what is known if it depends on another file, or if what is wrong may be wrong there.
    pub fn look_again(&mut self, path: &Path) {
        let depends = |a: &mut Analysis| {
            let own = a.file() as usize;
            let files = a.sources.files.iter().take(own).filter(|f| !f.is_library);
            !a.is_typed() || files.map(|f| Path::new(&f.name)).any(|name| name == path)
        };
        if let Some(analysis) = self.analysis.take_if(depends).filter(Analysis::is_typed) {
            self.typed = Some((self.text.clone(), analysis));
        }
    }

    /// True if the text has not been looked at.
    pub fn is_new(&self) -> bool {
        self.analysis.is_none()
    }

    /// Analysis of the text.
    pub fn analysis(&mut self, url: &Url, open: &Open) -> &Analysis {
        let text = &self.text;
        self.analysis.get_or_insert_with(|| {
            let name = path_of(url).to_string_lossy().into_owned();
            let options = Options { imports: Arc::new(open.clone()), verify: false, ..Options::default() };
            let look = |text: &str, options: &Options| analysed(text, &name, options);
            let analysis = look(text, &options);
            if !analysis.is_typed() {
                let declarations = self.typed.is_none();
                let known = partial::analysis(text, &analysis, declarations, look, &options);
                self.typed = known.map(|known| (text.clone(), known)).or_else(|| self.typed.take());
            }
            analysis
        })
    }

    /// Analysis of the present text, if it has types.
    pub fn faultless(&mut self, url: &Url, open: &Open) -> Option<&Analysis> {
        Some(self.analysis(url, open)).filter(|a| a.is_typed())
    }

    /// Analysis with types if there ever were any, and the text that it is about.
    pub fn typed(&mut self, url: &Url, open: &Open) -> (&str, &Analysis) {
        let is_typed = self.analysis(url, open).is_typed();
        match (&self.typed, &self.analysis) {
            (Some((text, analysis)), _) if !is_typed => (text, analysis),
            (_, Some(analysis)) => (&self.text, analysis),
            (_, None) => unreachable!("the text has just been looked at"),
        }
    }
}

/// Looks at a text. If that fails by a mistake of the compiler's, the editor is told so and the server goes on.
fn analysed(text: &str, name: &str, options: &Options) -> Analysis {
    let attempt =
        std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| Analysis::of(text, name, options)));
    attempt.unwrap_or_else(|_| {
        let mut nothing = Analysis::of("", name, options);
        let place = Span { file: nothing.file(), start: 0, end: 0 };
        nothing.diagnostics =
            vec![Diagnostic::error("E0999", "this text makes Par fail: a bug of Par's", place)];
        nothing
    })
}

/// The file of a URL; of one that is no file, its text.
pub fn path_of(url: &Url) -> PathBuf {
    url.to_file_path().unwrap_or_else(|()| PathBuf::from(url.path()))
}

/// Where a source can be opened. Files of the library are in no folder, so they are written into one.
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
