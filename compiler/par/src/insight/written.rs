//! Program as it is written, before any pass: its run-time checks, and its operators over a few elements.

use super::checks::in_body;
use par_ir::core::{Body, Exp, Fun, Program};
use par_ir::place::{Construct, Part, Rule};
use par_ir::{Atom, Var, tuning};
use par_runtime::{CheckKind, Span};
use std::collections::{BTreeSet, HashMap, HashSet};

/// Contents before the passes.
#[derive(Clone, Debug, Default)]
pub struct Written {
    /// The checks of each entry point and of what it calls.
    pub(super) checks: HashMap<String, Vec<(CheckKind, Span)>>,
    /// Rules of the derivatives in each entry point and in what it calls.
    pub(super) rules: HashMap<String, Vec<Rule>>,
    /// Operators whose number of elements is a constant, and so small that they may be written out.
    pub(super) small: Vec<Part>,
}

/// Checks and operators of a CORE program.
pub(crate) fn written(program: &Program) -> Written {
    let entries = || program.funs.iter().filter_map(|f| Some((f.entry.as_ref()?.name.clone(), f)));
    let checks = entries().map(|(name, f)| (name, of_entry(program, f))).collect();
    let rules = match program.rules.is_empty() {
        true => HashMap::new(),
        false => entries().map(|(name, f)| (name, rules_of(program, f))).collect(),
    };
    let mut small = Vec::new();
    program.funs.iter().for_each(|f| small_operators(&f.body, &mut small));
    Written { checks, rules, small }
}

impl Written {
    /// True if another program that is made of the same source compares sizes in an entry point where this one does not.
    pub(crate) fn compares_fewer_sizes(&self, entry: &Fun, other: &Program) -> bool {
        let known = entry.entry.as_ref().and_then(|e| self.checks.get(&e.name));
        let is_new = |check: &(CheckKind, Span)| {
            matches!(check.0, CheckKind::SizeMismatch(_)) && known.is_none_or(|all| !all.contains(check))
        };
        of_entry(other, entry).iter().any(is_new)
    }
}

/// The checks of a function and of what it calls.
fn of_entry(program: &Program, entry: &Fun) -> Vec<(CheckKind, Span)> {
    let mut out = Vec::new();
    reached(program, entry, &mut |body, calls| in_body(body, &mut out, calls));
    out
}

/// The rules of what a function and those that it calls bind.
fn rules_of(program: &Program, entry: &Fun) -> Vec<Rule> {
    let mut bound = HashSet::new();
    reached(program, entry, &mut |body, calls| binds(body, &mut bound, calls));
    program.rules.iter().filter(|rule| bound.contains(&rule.made)).cloned().collect()
}

fn binds(body: &Body, out: &mut HashSet<Var>, calls: &mut Vec<u32>) {
    for stm in &body.stms {
        out.extend(stm.pat.iter().map(|p| p.var));
        if let Exp::Call(fun, _) = &stm.exp {
            calls.push(fun.0);
        }
        stm.exp.for_each_body(|b| binds(b, out, calls));
    }
}

/// Looks at the bodies of a function and of what it calls, each once; `look` adds the functions that a body calls.
fn reached(program: &Program, entry: &Fun, look: &mut dyn FnMut(&Body, &mut Vec<u32>)) {
    let (mut calls, mut seen) = (Vec::new(), BTreeSet::new());
    look(&entry.body, &mut calls);
    while let Some(fun) = calls.pop() {
        if seen.insert(fun)
            && let Some(fun) = program.funs.get(fun as usize)
        {
            look(&fun.body, &mut calls);
        }
    }
}

fn small_operators(body: &Body, out: &mut Vec<Part>) {
    for stm in &body.stms {
        let few = |a: Atom| a.as_i64().is_some_and(|n| n <= tuning::TINY_ELEMENTS as i64);
        if stm.exp.width().is_some_and(few) {
            out.push(Part { construct: Construct::of(&stm.exp), span: stm.span });
        }
        stm.exp.for_each_body(|b| small_operators(b, out));
    }
}
