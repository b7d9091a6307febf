//! Names of a session, for completion.

use par_runtime::Prim;
use par_syntax::ast::{Dec, DecKind, File, ModExp};
use std::sync::Arc;

/// Names in scope: sorted, those in modules qualified.
#[derive(Clone, Default, Debug)]
pub struct Names {
    /// All that can be written as a word: definitions, types and modules.
    pub all: Vec<String>,
    /// Types, the built-in ones included.
    pub types: Vec<String>,
    /// Modules.
    pub modules: Vec<String>,
}

impl Names {
    /// The names of all declarations.
    pub(super) fn of(files: &[Arc<File>]) -> Names {
        let types = Prim::ALL.iter().map(|p| p.name().to_string()).collect();
        let mut names = Names { types, ..Names::default() };
        files.iter().for_each(|file| names.decs(&file.decs, ""));
        names.all.extend(names.types.iter().chain(&names.modules).cloned());
        // Operators are no words to complete.
        names.all.retain(|name| name.starts_with(|c: char| c.is_alphabetic() || c == '_'));
        for list in [&mut names.all, &mut names.types, &mut names.modules] {
            list.sort();
            list.dedup();
        }
        names
    }

    fn decs(&mut self, decs: &[Dec], prefix: &str) {
        for dec in decs {
            match &dec.kind {
                DecKind::Def(def) => self.all.push(format!("{prefix}{}", def.name().name)),
                DecKind::Type { name, .. } => self.types.push(format!("{prefix}{}", name.name)),
                DecKind::Module { name, body, .. } => {
                    let qualified = format!("{prefix}{}", name.name);
                    self.module(body, &format!("{qualified}."));
                    self.modules.push(qualified);
                }
                DecKind::Open(body) => self.module(body, prefix),
                _ => {}
            }
        }
    }

    fn module(&mut self, body: &ModExp, prefix: &str) {
        match body {
            ModExp::Struct(decs, _) => self.decs(decs, prefix),
            ModExp::Ascribe(body, ..) => self.module(body, prefix),
            _ => {}
        }
    }
}
