//! Program as it is written, before any pass: its run-time checks, and its operators over a few elements.

use super::checks::in_body;
use par_ir::core::{Body, Fun, Program};
use par_ir::place::{Construct, Part};
use par_ir::{Atom, tuning};
use par_runtime::{CheckKind, Span};
use std::collections::{BTreeSet, HashMap};

/// Contents before the passes.
#[derive(Clone, Debug, Default)]
pub struct Written {
    /// The checks of each entry point and of what it calls.
    pub(super) checks: HashMap<String, Vec<(CheckKind, Span)>>,
    /// Operators whose number of elements is a constant, and so small that they may be written out.
    pub(super) small: Vec<Part>,
}

/// Checks and operators of a CORE program.
pub(crate) fn written(program: &Program) -> Written {
    let entries = program.funs.iter().filter_map(|f| Some((f.entry.as_ref()?.name.clone(), f)));
    let checks = entries.map(|(name, f)| (name, of_entry(program, f))).collect();
    let mut small = Vec::new();
    program.funs.iter().for_each(|f| small_operators(&f.body, &mut small));
    Written { checks, small }
}

/// The checks of a function and of what it calls.
fn of_entry(program: &Program, entry: &Fun) -> Vec<(CheckKind, Span)> {
    let (mut out, mut calls) = (Vec::new(), Vec::new());
    let mut seen = BTreeSet::new();
    in_body(&entry.body, &mut out, &mut calls);
    while let Some(fun) = calls.pop() {
        if seen.insert(fun)
            && let Some(fun) = program.funs.get(fun as usize)
        {
            in_body(&fun.body, &mut out, &mut calls);
        }
    }
    out
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
