//! The standard library's files, compiled in. `stdlib/README.md` says how they are read: the prelude first, then
//! every template once for each of its types, then the rest. Several files define the same module; together
//! they make it up.

use par_runtime::Prim;
use par_syntax::ast::File;
use par_syntax::{Diagnostic, Sources, parse};
use std::sync::OnceLock;

macro_rules! stdlib {
    ($name:literal) => {
        ($name, include_str!(concat!("../../../stdlib/", $name)))
    };
}

/// Files that are read as they are, before the templates.
const FIRST: &[(&str, &str)] = &[stdlib!("prelude.par")];

/// A file's name, its text, and the types it is read for.
type Template = ((&'static str, &'static str), fn(Prim) -> bool);

/// Templates: `$t` stands for each of the types.
const TEMPLATES: &[Template] = &[
    (stdlib!("numeric.par.in"), |p| p != Prim::Bool),
    (stdlib!("integer.par.in"), Prim::is_integer),
    (stdlib!("float.par.in"), Prim::is_float),
];

/// Files that are read as they are, after the templates.
const LAST: &[(&str, &str)] =
    &[stdlib!("f16.par"), stdlib!("f32.par"), stdlib!("f64.par"), stdlib!("bool.par"), stdlib!("sort.par")];

/// The library in parsed form: its sources are the first of every program's.
struct Library {
    sources: Sources,
    files: Vec<File>,
    diagnostics: Vec<Diagnostic>,
}

/// The library's sources and syntax trees; parsed once per process.
pub fn load() -> (Sources, Vec<File>, Vec<Diagnostic>) {
    static LIBRARY: OnceLock<Library> = OnceLock::new();
    let library = LIBRARY.get_or_init(parse_all);
    (library.sources.clone(), library.files.clone(), library.diagnostics.clone())
}

/// The files as they are in `stdlib/`: name and text, templates once. The prelude is the first.
pub fn files() -> impl Iterator<Item = (&'static str, &'static str)> {
    FIRST.iter().chain(TEMPLATES.iter().map(|t| &t.0)).chain(LAST).copied()
}

fn parse_all() -> Library {
    let mut library = Library { sources: Sources::default(), files: Vec::new(), diagnostics: Vec::new() };
    FIRST.iter().for_each(|(name, text)| library.add(name, text));
    for ((name, text), has) in TEMPLATES {
        for prim in Prim::ALL.into_iter().filter(|p| has(*p)) {
            library.add(&format!("{name} (with $t = {prim})"), &text.replace("$t", prim.name()));
        }
    }
    LAST.iter().for_each(|(name, text)| library.add(name, text));
    library
}

impl Library {
    fn add(&mut self, name: &str, text: &str) {
        let index = self.sources.add(format!("stdlib/{name}"), text, true);
        let (file, diagnostics) = parse(text, index);
        self.files.push(file);
        self.diagnostics.extend(diagnostics);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_is_compiled_in() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../stdlib");
        let known: Vec<&str> = files().map(|(name, _)| name).collect();
        for entry in std::fs::read_dir(folder).unwrap() {
            let name = entry.unwrap().file_name().into_string().unwrap();
            let is_source = name.ends_with(".par") || name.ends_with(".par.in");
            assert!(!is_source || known.contains(&name.as_str()), "{name} is not compiled in");
        }
    }

    #[test]
    fn the_library_parses() {
        let (_, _, diagnostics) = load();
        assert_eq!(diagnostics, Vec::new());
    }
}
