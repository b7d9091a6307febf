//! Pages of the site, the contents of each, and the place of every name.

use crate::doc::{Item, Kind, head_comment};
use crate::library;
use par_syntax::{Source, Sources};
use std::collections::{BTreeMap, HashMap, HashSet};

/// The whole site.
pub(super) struct Plan<'a> {
    pub(super) sources: &'a Sources,
    pub(super) pages: Vec<Page<'a>>,
    pub(super) listings: Vec<Listing<'a>>,
    /// From qualified names to pages and places on them.
    pub(super) places: HashMap<&'a str, String>,
}

/// A module of the library, or a program.
pub(super) struct Page<'a> {
    pub(super) file: String,
    pub(super) title: String,
    /// In Markdown.
    pub(super) intro: String,
    pub(super) items: Vec<&'a Item>,
    /// One of the user's programs.
    pub(super) program: bool,
}

/// A source with numbered lines.
pub(super) struct Listing<'a> {
    pub(super) file: String,
    pub(super) name: &'a str,
    pub(super) text: &'a str,
}

impl<'a> Plan<'a> {
    pub(super) fn new(items: &'a [Item], sources: &'a Sources) -> Plan<'a> {
        let mut plan = Plan { sources, pages: Vec::new(), listings: Vec::new(), places: HashMap::new() };
        plan.library(items);
        plan.programs(items);
        plan.listings.extend(library::files().chain(library::imported_files()).map(|(name, text)| {
            let file = format!("src/{}.html", flat(name));
            Listing { file, name, text }
        }));
        for page in &plan.pages {
            for item in &page.items {
                plan.places.insert(&item.name, format!("{}#{}", page.file, anchor(&item.name)));
            }
        }
        // The name of a module leads to its page.
        for item in items.iter().filter(|i| i.kind == Kind::Module && is_library(i, sources)) {
            plan.places.insert(&item.name, format!("{}.html", flat(&item.name)));
        }
        plan
    }

    fn library(&mut self, items: &'a [Item]) {
        let mut modules: BTreeMap<(usize, &str), Page> = BTreeMap::new();
        for item in items.iter().filter(|i| is_library(i, self.sources) && i.kind != Kind::Module) {
            let (order, name) = match (item.kind, item.module()) {
                (Kind::Operator, _) => (1, "operators"),
                (_, "") => (0, "prelude"),
                (_, module) => (2, module),
            };
            let page = || library_page(name, items.iter().find(|i| i.kind == Kind::Module && i.name == name));
            modules.entry((order, name)).or_insert_with(page).items.push(item);
        }
        self.pages = modules.into_values().collect();
        if let Some(prelude) = self.pages.first_mut() {
            prelude.intro = library::files().next().map(|(_, text)| head_comment(text)).unwrap_or_default();
        }
    }

    fn programs(&mut self, items: &'a [Item]) {
        let mut taken: HashSet<String> = HashSet::new();
        for (index, source) in self.sources.files.iter().enumerate().filter(|(_, s)| !s.is_library) {
            let stem = unique(&mut taken, source);
            let items = items.iter().filter(|i| i.kind != Kind::Operator && i.file == index as u32);
            self.pages.push(Page {
                file: format!("{stem}.html"),
                title: source.name.clone(),
                intro: head_comment(&source.text),
                items: items.collect(),
                program: true,
            });
            let file = format!("src/{stem}.html");
            self.listings.push(Listing { file, name: &source.name, text: &source.text });
        }
    }

    /// Link to an item's declaration in the listing of its file, if there is one.
    pub(super) fn declared(&self, item: &Item) -> Option<String> {
        let source = self.sources.files.get(item.file as usize).filter(|_| item.line > 0)?;
        let name = bare(source);
        let listing = self.listings.iter().find(|l| l.name == name)?;
        Some(format!("{}#L{}", listing.file, item.line))
    }
}

fn is_library(item: &Item, sources: &Sources) -> bool {
    item.kind == Kind::Operator || sources.files.get(item.file as usize).is_some_and(|s| s.is_library)
}

/// The name of a source as in [`library::files`], or as given by the user.
fn bare(source: &Source) -> &str {
    if !source.is_library {
        return &source.name;
    }
    let name = source.name.strip_prefix("stdlib/").unwrap_or(&source.name);
    name.split_once(" (with ").map_or(name, |(file, _)| file)
}

/// A name as that of a file in one folder.
fn flat(name: &str) -> String {
    name.replace('/', "-")
}

fn library_page<'a>(name: &str, module: Option<&Item>) -> Page<'a> {
    let (title, intro) = match name {
        "prelude" => ("Prelude".to_string(), String::new()),
        "operators" => {
            ("Operators".to_string(), "The operators that are built into the language.".to_string())
        }
        name => (format!("Module {name}"), module.and_then(|m| m.text.clone()).unwrap_or_default()),
    };
    Page { file: format!("{}.html", flat(name)), title, intro, items: Vec::new(), program: false }
}

/// A file name for a program's page that no other page has.
fn unique(taken: &mut HashSet<String>, source: &Source) -> String {
    let last = source.name.rsplit(['/', '\\']).next().unwrap_or("");
    let plain: String =
        last.chars().map(|c| if c.is_ascii_alphanumeric() || c == '.' { c } else { '_' }).collect();
    let first = format!("file-{plain}");
    let mut name = first.clone();
    for n in 2.. {
        if taken.insert(name.clone()) {
            break;
        }
        name = format!("{first}-{n}");
    }
    name
}

/// The place of a name on its page.
pub(super) fn anchor(name: &str) -> String {
    let mut out = String::new();
    for c in name.chars() {
        if c.is_alphanumeric() || c == '_' || c == '.' {
            out.push(c);
        } else {
            out.push_str(&format!("-{:x}", c as u32));
        }
    }
    out
}
