//! Contents of a session or a module, as a list for a person.

use super::Session;
use crate::doc::{self, Item, Kind};
use crate::failure::Failure;
use crate::pipeline::{Pipeline, Trace};
use par_check::infer::show_type;
use par_check::thir::{self, Ty};
use std::collections::HashMap;

impl Session {
    /// The definitions and values of the session, or those of a module: one line each, the last of each name. `None` if
    /// there is no such module.
    pub fn listing(&self, module: Option<&str>) -> Result<Option<Vec<String>>, Failure> {
        let sources = &self.parsed.sources;
        let own = sources.files.iter().position(|f| !f.is_library).unwrap_or(sources.files.len());
        let first = if module.is_some() { 0 } else { own };
        let items = doc::items(&self.parsed.files[first..], sources);
        if module.is_some_and(|m| !items.iter().any(|i| i.kind == Kind::Module && i.name == m)) {
            return Ok(None);
        }
        let wanted = |i: &&Item| i.module() == module.unwrap_or("");
        let types = self.inferred()?;
        let mut lines: Vec<(&str, String)> = Vec::new();
        for item in items.iter().filter(wanted) {
            lines.retain(|(name, _)| *name != item.name);
            lines.push((&item.name, self.line(item, &types)));
        }
        Ok(Some(lines.into_iter().map(|(_, line)| line).collect()))
    }

    /// Line about a declaration.
    fn line(&self, item: &Item, types: &HashMap<String, String>) -> String {
        if let Some(stored) = self.stored.iter().rev().find(|s| s.file == item.file) {
            return format!("{} : {}", stored.name, stored.value.ty);
        }
        match (item.kind, types.get(&item.name)) {
            (Kind::Value | Kind::Entry, Some(ty)) => format!("{} : {ty}", item.base()),
            _ => item.signature.clone(),
        }
    }

    /// The types of the session's own definitions.
    fn inferred(&self) -> Result<HashMap<String, String>, Failure> {
        let trace = Trace::default();
        let pipeline = Pipeline { options: &self.options, trace: &trace };
        let thir = pipeline.infer(&mut self.parsed.clone())?;
        let own = thir.defs.iter().filter(|def| !def.library);
        Ok(own.map(|def| (def.name.clone(), definition_type(def, &thir))).collect())
    }
}

/// The type of a definition with its parameters as they were written: `[n] 'a. (a -> bool) -> [n]a -> []a`.
pub(crate) fn definition_type(def: &thir::Def, program: &thir::Program) -> String {
    let arrow = |ret, p: &thir::Pat| Ty::Fun(Box::new(p.ty.clone()), Box::new(ret));
    let ty = def.params.iter().rev().fold(def.ret.clone(), arrow);
    let name = |names: &[String], i: u32| names.get(i as usize).cloned().unwrap_or_default();
    let sizes = def.size_params.iter().map(|l| format!("[{}]", name(&program.locals, l.0)));
    let types = def.type_params.iter().map(|t| format!("'{}", name(&program.type_vars, t.0)));
    let params: Vec<String> = sizes.chain(types).collect();
    let dot = if params.is_empty() { "" } else { ". " };
    format!("{}{dot}{}", params.join(" "), show_type(&ty, program))
}
