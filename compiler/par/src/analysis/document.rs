//! A text in an editor and what is known about it.

use super::{Analysis, partial};
use crate::imports::Imports;
use crate::pipeline::Options;
use par_runtime::Span;
use par_syntax::Diagnostic;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;

/// An open file.
pub struct Document {
    /// As it is in the editor.
    pub text: String,
    /// Of this text, if it has been looked at.
    analysis: Option<Analysis>,
    /// Fallback analysis for a text with errors: of the text with holes in place of the wrong expressions; else of the last text that
    /// type-checked; else of the text without the wrong declarations.
    typed: Option<(String, Analysis)>,
}

impl Document {
    /// A file that has just been opened.
    pub fn new(text: String) -> Document {
        Document { text, analysis: None, typed: None }
    }

    /// Takes over a new text.
    pub fn change(&mut self, text: String) {
        let before = std::mem::replace(&mut self.text, text);
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

    /// Analysis of the text, which is the file of this name.
    pub fn analysis(&mut self, name: &str, imports: Arc<dyn Imports>) -> &Analysis {
        let text = &self.text;
        self.analysis.get_or_insert_with(|| {
            let options = Options { imports, verify: false, ..Options::default() };
            let look = |text: &str, options: &Options| analysed(text, name, options);
            let analysis = look(text, &options);
            if !analysis.is_typed() {
                let declarations = self.typed.is_none();
                let known = partial::analysis(text, &analysis, declarations, look, &options);
                self.typed = known.map(|known| (text.clone(), known)).or_else(|| self.typed.take());
            }
            analysis
        })
    }

    /// Analysis with types if there ever were any, and the text that it is about.
    pub fn typed(&mut self, name: &str, imports: Arc<dyn Imports>) -> (&str, &Analysis) {
        let is_typed = self.analysis(name, imports).is_typed();
        match (&self.typed, &self.analysis) {
            (Some((text, analysis)), _) if !is_typed => (text, analysis),
            (_, Some(analysis)) => (&self.text, analysis),
            (_, None) => unreachable!("the text has just been looked at"),
        }
    }
}

/// Looks at a text. If that fails by a mistake of the compiler's, the editor is told so.
fn analysed(text: &str, name: &str, options: &Options) -> Analysis {
    let attempt = catch_unwind(AssertUnwindSafe(|| Analysis::of(text, name, options)));
    attempt.unwrap_or_else(|_| {
        let mut nothing = Analysis::of("", name, options);
        let place = Span { file: nothing.file(), start: 0, end: 0 };
        nothing.diagnostics =
            vec![Diagnostic::error("E0999", "this text makes Par fail: a bug of Par's", place)];
        nothing
    })
}
