//! Bodies in which no group is left after its first store: such a group may read what it updates in memory, since it is never replayed by
//! single positions.
//!
//! ```text
//! loop (r) for i < n                                  loop (r) for i < n
//!     r with [i*m + pos] = r[i*m + pos] * c               r with [i*m + pos] = if i < pos then … else …
//!
//! stays                                               is left where some lanes are below and others not
//! ```
//!
//! From the first statement that updates an array on, what differs between lanes is only computed by plain arithmetic and read from
//! neighbours. Numbers that are the same in all lanes decide everything else.

use crate::free::for_each_use;
use par_ir::access::{Access, Form, Symbol};
use par_ir::core::{At, Body, Exp, LoopForm, Stm};
use par_ir::hash::HashSet;
use par_ir::prim::{BinOp, PrimOp, UnOp};
use par_ir::{Atom, Prim, Var};

/// True if a group of positions is not left after the first update in a body. `arrays` are those that are updated.
pub fn stays(body: &Body, pos: Var, arrays: impl IntoIterator<Item = Var>, access: &Access) -> bool {
    let mut lanes = Differing { vars: arrays.into_iter().chain([pos]).collect(), access };
    let mut has_begun = false;
    body.stms.iter().all(|stm| {
        has_begun |= updates(stm);
        let is_plain = !has_begun || lanes.is_plain(stm);
        lanes.note(stm);
        is_plain
    })
}

/// True if a statement updates an array.
pub fn updates(stm: &Stm) -> bool {
    let inside = |b: &&Body| b.stms.iter().any(updates);
    matches!(stm.exp, Exp::Update { .. }) || stm.exp.own_bodies().iter().any(inside)
}

/// Variables whose values may differ between lanes.
struct Differing<'a> {
    vars: HashSet<Var>,
    access: &'a Access<'a>,
}

impl Differing<'_> {
    fn atom(&self, a: Atom) -> bool {
        a.var().is_some_and(|v| self.vars.contains(&v))
    }

    fn uses(&self, stm: &Stm) -> bool {
        let mut any = false;
        for_each_use(stm, &mut |v| any |= self.vars.contains(&v));
        any
    }

    /// Notes what a statement binds, if it depends on what differs.
    fn note(&mut self, stm: &Stm) {
        if self.uses(stm) {
            self.vars.extend(stm.pat.iter().map(|p| p.var));
        }
    }

    /// True if lanes go through a statement together whatever they compute.
    fn is_plain(&mut self, stm: &Stm) -> bool {
        let plain = match &stm.exp {
            Exp::Prim(op, _) => !self.uses(stm) || is_arithmetic(*op),
            Exp::Index(_, at) => self.is_together(at[0]),
            Exp::Update { at, .. } => matches!(at[..], [At::Index(i)] if self.is_together(i)),
            Exp::If { cond, then, other } => {
                !self.atom(*cond) && [then, other].into_iter().all(|b| self.body(b))
            }
            Exp::Loop { params, form: LoopForm::For { bound, .. }, body } if !self.atom(*bound) => {
                self.vars.extend(params.iter().map(|(p, _)| p.var));
                self.body(body)
            }
            Exp::Atom(_) => true,
            _ => false,
        };
        self.note(stm);
        plain
    }

    fn body(&mut self, body: &Body) -> bool {
        body.stms.iter().all(|s| self.is_plain(s))
    }

    /// True for an index that is the same in all lanes, or that of a neighbour for each.
    fn is_together(&self, index: Atom) -> bool {
        let growth = |f: Form| Some(f.split(Symbol::Index(0))?.0);
        !self.atom(index) || self.access.form(index).and_then(growth) == Some(Form::from(1))
    }
}

/// Operators that every value goes through in the same way.
fn is_arithmetic(op: PrimOp) -> bool {
    match op {
        PrimOp::Bin(BinOp::Add | BinOp::Sub | BinOp::Mul, p) => {
            p.is_float() || p == Prim::I64 || p == Prim::I32
        }
        PrimOp::Bin(BinOp::Div, p) => p.is_float(),
        PrimOp::Un(UnOp::Neg, p) => p.is_float(),
        _ => false,
    }
}
