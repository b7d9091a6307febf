//! Source files by index; [`par_runtime::Span`]s refer to them.

pub use par_runtime::source::Source;

/// All sources of a program; `Span::file` is the index.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sources {
    /// The files, in order of loading.
    pub files: Vec<Source>,
}

impl Sources {
    /// Adds a file and returns its index.
    pub fn add(&mut self, name: impl Into<String>, text: impl Into<String>, is_library: bool) -> u32 {
        self.files.push(Source { name: name.into(), text: text.into(), is_library });
        self.files.len() as u32 - 1
    }

    /// The start of a span as file, line and column, the latter two from 1.
    pub fn place(&self, span: par_runtime::Span) -> String {
        let Some(file) = self.files.get(span.file as usize) else { return String::new() };
        let before = file.text.get(..span.start as usize).unwrap_or("");
        let line = before.matches('\n').count() + 1;
        let column = before.rsplit('\n').next().map_or(0, |line| line.chars().count()) + 1;
        format!("{}:{line}:{column}", file.name)
    }

    /// The first line that a span is in, after its file and number; none if the span is in no file of the program's own.
    pub fn line(&self, span: par_runtime::Span) -> Option<String> {
        let file = self.files.get(span.file as usize).filter(|f| !f.is_library)?;
        let before = file.text.get(..span.start as usize)?;
        let start = before.rfind('\n').map_or(0, |i| i + 1);
        let line = file.text[start..].lines().next().unwrap_or("").trim();
        Some(format!("{}:{}: {line}", file.name, before.matches('\n').count() + 1))
    }

    /// The text a span covers; empty if the span is not inside a file.
    pub fn text(&self, span: par_runtime::Span) -> &str {
        self.files
            .get(span.file as usize)
            .and_then(|f| f.text.get(span.start as usize..span.end as usize))
            .unwrap_or("")
    }
}
