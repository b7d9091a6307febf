//! The standard library's files, compiled in. `stdlib/README.md` says how they are read: the prelude first, then
//! every template once for each of its types, then the rest. Several files define the same module; together
//! they make it up.

use par_runtime::Prim;
use par_syntax::ast::File;
use par_syntax::{Diagnostic, Sources, parse_late};
use std::borrow::Cow;
use std::sync::{Arc, OnceLock};

macro_rules! stdlib {
    ($name:literal) => {
        ($name, include_str!(concat!("../../../stdlib/", $name)))
    };
}

/// Files that are read as they are, before the templates.
const FIRST: &[(&str, &str)] =
    &[stdlib!("prelude.par"), stdlib!("irregular.par"), stdlib!("derivatives.par")];

/// A file's name, its text, and the types it is read for.
type Template = ((&'static str, &'static str), fn(Prim) -> bool);

/// Templates: `$t` stands for each of the types.
const TEMPLATES: &[Template] = &[
    (stdlib!("numeric.par.in"), |p| p != Prim::Bool),
    (stdlib!("integer.par.in"), Prim::is_integer),
    (stdlib!("float.par.in"), Prim::is_float),
    (stdlib!("statistics.par.in"), Prim::is_float),
];

/// Files that are read as they are, after the templates.
const LAST: &[(&str, &str)] = &[
    stdlib!("f16.par"),
    stdlib!("f32.par"),
    stdlib!("f64.par"),
    stdlib!("bool.par"),
    stdlib!("sort.par"),
    stdlib!("arrays.par"),
    stdlib!("module_types.par"),
];

/// Files that a program imports by these names when it wants them.
const IMPORTED: &[(&str, &str)] = &[
    stdlib!("lib/complex.par"),
    stdlib!("lib/graph.par"),
    stdlib!("lib/linalg.par"),
    stdlib!("lib/random.par"),
    stdlib!("lib/text.par"),
];

/// The text of a file that can be imported: `lib/linalg`.
pub fn imported(path: &str) -> Option<&'static str> {
    let named = |name: &str| name.strip_suffix(".par").is_some_and(|stem| stem == path || name == path);
    IMPORTED.iter().find(|(name, _)| named(name)).map(|(_, text)| *text)
}

/// The files that can be imported, name and text.
pub fn imported_files() -> impl Iterator<Item = (&'static str, &'static str)> {
    IMPORTED.iter().copied()
}

/// The library in parsed form: its sources are the first of every program's.
struct Library {
    sources: Sources,
    files: Vec<Arc<File>>,
    diagnostics: Vec<Diagnostic>,
}

/// The library's sources and syntax trees; read once per process, and definitions parsed when they are looked at.
pub fn load() -> (Sources, Vec<Arc<File>>, Vec<Diagnostic>) {
    static LIBRARY: OnceLock<Library> = OnceLock::new();
    let library = LIBRARY.get_or_init(parse_all);
    (library.sources.clone(), library.files.clone(), library.diagnostics.clone())
}

/// The files as they are in `stdlib/`: name and text, templates once. The prelude is the first.
pub fn files() -> impl Iterator<Item = (&'static str, &'static str)> {
    FIRST.iter().chain(TEMPLATES.iter().map(|t| &t.0)).chain(LAST).copied()
}

/// The files with templates filled in, in the order in which they are read.
fn instances() -> Vec<(String, Cow<'static, str>)> {
    let plain = |(name, text): &(&str, &'static str)| (name.to_string(), Cow::Borrowed(*text));
    let filled = TEMPLATES.iter().flat_map(|((name, text), has)| {
        Prim::ALL.into_iter().filter(|p| has(*p)).map(move |prim| {
            (format!("{name} (with $t = {prim})"), Cow::Owned(text.replace("$t", prim.name())))
        })
    });
    FIRST.iter().map(plain).chain(filled).chain(LAST.iter().map(plain)).collect()
}

fn parse_all() -> Library {
    let mut library = Library { sources: Sources::default(), files: Vec::new(), diagnostics: Vec::new() };
    for (name, text) in instances() {
        let text: Arc<str> = text.into();
        let number = library.sources.add(format!("stdlib/{name}"), &*text, true);
        let (file, diagnostics) = parse_late(&text, number);
        library.files.push(Arc::new(file));
        library.diagnostics.extend(diagnostics);
    }
    library
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
    fn what_is_parsed_late_is_what_is_parsed_at_once() {
        let (sources, files, diagnostics) = load();
        assert_eq!(diagnostics, Vec::new());
        for (number, (source, late)) in sources.files.iter().zip(files).enumerate() {
            let (file, diagnostics) = par_syntax::parse(&source.text, number as u32);
            assert_eq!(diagnostics, Vec::new());
            assert!(*late == file, "{}", source.name);
        }
    }
}
