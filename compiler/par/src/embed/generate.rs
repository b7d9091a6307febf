//! Typed functions for the entry points of a program, written when the Rust program is built.
//!
//! ```text
//! entry spmv (rows: []i64) (x: []f32) : []f32 = …
//!
//! pub struct Spmv { program: Program }
//! impl Spmv {
//!     pub fn new(context: &Context) -> Result<Spmv, Error> { … }
//!     pub fn spmv(&self, rows: &[i64], x: &[f32]) -> Result<Vec<f32>, Error> { … }
//! }
//! ```
//!
//! Records and sums become types of their own, named after the first place where they occur.

use super::{Context, Error};
use crate::{Backend, Entry, Prim, Sources, ValueType};
use std::fmt::Write;
use std::path::Path;

/// In a build script: checks a program and writes its functions to where [`par::module!`](crate::module) finds them. If
/// the program is wrong, the build ends with what the compiler says about it.
///
/// ```no_run
/// // build.rs, with `par` among the build-dependencies
/// par::embed::build("src/spmv.par");
/// ```
pub fn build(path: impl AsRef<Path>) {
    let path = path.as_ref();
    let written = written(path).and_then(|(name, code, sources)| {
        for file in sources.files.iter().filter(|f| !f.is_library) {
            println!("cargo::rerun-if-changed={}", file.name);
        }
        let folder = std::env::var_os("OUT_DIR").unwrap_or_default();
        let target = Path::new(&folder).join(format!("{name}.rs"));
        std::fs::write(&target, code).map_err(|error| Error::File { path: target, error })
    });
    if let Err(error) = written {
        println!("cargo::rerun-if-changed={}", path.display());
        eprintln!("{error}");
        std::process::exit(1);
    }
}

/// The functions of a program as text of Rust.
pub fn generate(path: impl AsRef<Path>) -> Result<String, Error> {
    written(path.as_ref()).map(|(_, code, _)| code)
}

/// The program's name, its functions, its files.
fn written(path: &Path) -> Result<(String, String, Sources), Error> {
    // Machine code is not needed to know the types.
    let program = Context::new(Backend::Interp).compile_file(path)?;
    let sources = program.as_compiled().sources().clone();
    let name = path.file_stem().map_or_else(|| "program".into(), |n| n.to_string_lossy().into_owned());
    let mut module = camel(&name);
    if module == "Vec" {
        // What is written names this type.
        module.push('_');
    }
    let mut writer = Writer { module, types: Vec::new(), out: String::new() };
    writer.module(path, &program.entries(), &sources);
    Ok((name, writer.out, sources))
}

struct Writer {
    /// The name of the program's own type.
    module: String,
    /// Records and sums with their names.
    types: Vec<(ValueType, String)>,
    out: String,
}

impl Writer {
    fn module(&mut self, path: &Path, entries: &[&Entry], sources: &Sources) {
        let module = self.module.clone();
        let mut functions = String::new();
        for entry in entries {
            self.function(entry, &mut functions);
        }
        let folder = path.parent().unwrap_or(Path::new(""));
        let mut files = String::new();
        for file in sources.files.iter().filter(|f| !f.is_library) {
            let short = Path::new(&file.name).strip_prefix(folder).unwrap_or(Path::new(&file.name));
            let _ = writeln!(files, "    ({:?}, {:?}),", short.to_string_lossy(), file.text);
        }
        let main = path.file_name().unwrap_or_default().to_string_lossy();
        let _ = write!(
            self.out,
            "/// The program `{main}`.\n#[derive(Clone)]\npub struct {module} {{\n    program: ::par::embed::Program,\n}}\n\n\
             const FILES: &[(&str, &str)] = &[\n{files}];\n\n\
             impl {module} {{\n    /// Compiles the program.\n    \
             pub fn new(context: &::par::Context) -> ::core::result::Result<{module}, ::par::Error> {{\n        \
             ::core::result::Result::Ok({module} {{ program: context.compile_embedded({main:?}, FILES)? }})\n    }}\n{functions}}}\n"
        );
        // A definition may find further types.
        let mut defined = 0;
        while let Some((ty, name)) = self.types.get(defined).cloned() {
            self.definition(&ty, &name);
            defined += 1;
        }
    }

    fn function(&mut self, entry: &Entry, out: &mut String) {
        let place = camel(&entry.name);
        let mut params = String::new();
        for (name, ty) in &entry.params {
            let _ =
                write!(params, ", {}: {}", ident(name), self.argument(ty, &(place.clone() + &camel(name))));
        }
        let args: Vec<String> = entry.params.iter().map(|(name, _)| ident(name)).collect();
        // A tuple of one has a comma.
        let args = args.join(", ") + if args.len() == 1 { "," } else { "" };
        let result = self.owned(&entry.ret, &format!("{place}Result"));
        let types: Vec<String> = entry.params.iter().map(|(_, ty)| ty.to_string()).collect();
        let signature = types.iter().map(|t| format!("{t} -> ")).collect::<String>() + &entry.ret.to_string();
        let _ = write!(
            out,
            "\n    /// `{} : {signature}`\n    pub fn {}(&self{params}) -> ::core::result::Result<{result}, ::par::Error> {{\n        \
             self.program.call({:?}, ({args}))\n    }}\n",
            entry.name,
            ident(&entry.name),
            entry.name,
        );
    }

    /// A parameter's type: scalars by value, the rest borrowed.
    fn argument(&mut self, ty: &ValueType, place: &str) -> String {
        match ty {
            ValueType::Prim(p) => scalar(*p),
            ValueType::Array { elem, .. } if !matches!(**elem, ValueType::Array { ragged: true, .. }) => {
                format!("&[{}]", self.owned(elem, place))
            }
            _ => format!("&{}", self.owned(ty, place)),
        }
    }

    /// A type that owns its parts.
    fn owned(&mut self, ty: &ValueType, place: &str) -> String {
        match ty {
            ValueType::Prim(p) => scalar(*p),
            ValueType::Tuple(ts) => {
                let parts: Vec<String> =
                    ts.iter().enumerate().map(|(i, t)| self.owned(t, &format!("{place}{i}"))).collect();
                format!("({})", parts.join(", "))
            }
            ValueType::Array { elem, .. } => match &**elem {
                ValueType::Array { ragged: true, .. } => {
                    format!("::par::Ragged<{}>", self.rows(elem, place))
                }
                _ => format!("Vec<{}>", self.owned(elem, place)),
            },
            ValueType::Record(_) | ValueType::Sum(_) => self.named(ty, place),
            ValueType::Opaque { .. } => "::par::Value".to_string(),
        }
    }

    /// Element type of the rows of a `Ragged`.
    fn rows(&mut self, row: &ValueType, place: &str) -> String {
        let ValueType::Array { elem, .. } = row else { return self.owned(row, place) };
        match &**elem {
            ValueType::Array { ragged: true, .. } => format!("::par::Ragged<{}>", self.rows(elem, place)),
            _ => format!("Vec<{}>", self.owned(elem, place)),
        }
    }

    fn named(&mut self, ty: &ValueType, place: &str) -> String {
        let ty = of_rust(ty, false);
        if let Some((_, name)) = self.types.iter().find(|t| t.0 == ty) {
            return name.clone();
        }
        let mut name = place.to_string();
        while name == self.module || self.types.iter().any(|t| t.1 == name) {
            name.push('_');
        }
        self.types.push((ty, name.clone()));
        name
    }

    fn definition(&mut self, ty: &ValueType, name: &str) {
        let derived = "#[derive(Clone, Debug, PartialEq, ::par::IntoPar, ::par::FromPar)]";
        let _ = write!(self.out, "\n/// `{ty}`\n{derived}\n");
        match ty {
            ValueType::Record(fields) => {
                let _ = writeln!(self.out, "pub struct {name} {{");
                for (field, ty) in fields {
                    let owned = self.owned(ty, &(name.to_string() + &camel(field)));
                    let _ = writeln!(
                        self.out,
                        "    /// `{field}`\n    #[par(name = {field:?})]\n    pub {}: {owned},",
                        ident(field)
                    );
                }
            }
            ValueType::Sum(constructors) => {
                let _ = writeln!(self.out, "pub enum {name} {{");
                for (constructor, parts) in constructors {
                    let variant = camel(constructor);
                    let parts: Vec<String> = parts
                        .iter()
                        .enumerate()
                        .map(|(i, t)| self.owned(t, &format!("{name}{variant}{i}")))
                        .collect();
                    let payload =
                        if parts.is_empty() { String::new() } else { format!("({})", parts.join(", ")) };
                    let _ = writeln!(
                        self.out,
                        "    /// `#{constructor}`\n    #[par(name = {constructor:?})]\n    {variant}{payload},"
                    );
                }
            }
            _ => unreachable!("only records and sums have names"),
        }
        self.out.push_str("}\n");
    }
}

/// The type without what types of Rust do not say: sizes, and of an array that is no element of another one
/// whether it is as long wherever it occurs. So a record is one type, alone and as an element.
fn of_rust(ty: &ValueType, is_element: bool) -> ValueType {
    let part = |t: &ValueType| of_rust(t, false);
    match ty {
        ValueType::Array { ragged, elem, .. } => ValueType::Array {
            ragged: *ragged && is_element,
            size: None,
            elem: Box::new(of_rust(elem, true)),
        },
        ValueType::Tuple(ts) => ValueType::Tuple(ts.iter().map(part).collect()),
        ValueType::Record(fs) => ValueType::Record(fs.iter().map(|(f, t)| (f.clone(), part(t))).collect()),
        ValueType::Sum(cs) => {
            let payload = |ts: &Vec<ValueType>| ts.iter().map(part).collect();
            ValueType::Sum(cs.iter().map(|(c, ts)| (c.clone(), payload(ts))).collect())
        }
        ValueType::Prim(_) | ValueType::Opaque { .. } => ty.clone(),
    }
}

fn scalar(p: Prim) -> String {
    if p == Prim::F16 { "::par::f16".to_string() } else { p.to_string() }
}

/// `row_sums` as `RowSums`.
fn camel(name: &str) -> String {
    let plain = name.replace('\'', "_prime");
    let words = plain.split(|c: char| !c.is_alphanumeric()).filter(|w| !w.is_empty());
    let capital = |word: &str| {
        let mut chars = word.chars();
        chars.next().map(|c| c.to_uppercase().chain(chars).collect::<String>()).unwrap_or_default()
    };
    let joined: String = words.map(capital).collect();
    if joined.starts_with(|c: char| c.is_alphabetic()) { joined } else { format!("N{joined}") }
}

/// A name as Rust allows it.
fn ident(name: &str) -> String {
    const KEYWORDS: &str = "as async await box break const continue crate do dyn else enum extern false final fn for gen if impl \
                            in let loop macro match mod move mut override priv pub ref return self static struct super trait \
                            true try type typeof unsafe unsized use virtual where while yield abstract become new";
    let plain = name.replace('\'', "_prime");
    match plain.as_str() {
        "self" | "super" | "crate" | "Self" | "_" | "new" => format!("{plain}_"),
        _ if KEYWORDS.split_whitespace().any(|k| k == plain) => format!("r#{plain}"),
        _ if plain.starts_with(|c: char| c.is_ascii_digit()) => format!("n{plain}"),
        _ => plain,
    }
}

#[cfg(test)]
mod tests {
    use super::{camel, ident};

    #[test]
    fn names_are_made_fit_for_rust() {
        assert_eq!(
            (camel("row_sums"), camel("x'"), camel("0")),
            ("RowSums".into(), "XPrime".into(), "N0".into())
        );
        assert_eq!(
            (ident("type"), ident("self"), ident("f'")),
            ("r#type".into(), "self_".into(), "f_prime".into())
        );
    }
}
