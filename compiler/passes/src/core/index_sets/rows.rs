//! Rows that a map leaves as they are: recognition.

use par_ir::core::{Body, Exp, Lambda, Stm};
use par_ir::effects::Effects;
use par_ir::hash::HashSet;
use par_ir::prim::{BinOp, CmpOp, PrimOp};
use par_ir::stack::deeper;
use par_ir::{Atom, Prim, Var};

/// The row of an array at a position, or an element of it.
#[derive(Clone)]
pub(super) struct Row<'a> {
    pub array: Var,
    /// Variables that are the row.
    pub own: Vec<Var>,
    /// Its position, as parameters for indices, where there are such.
    pub at: Vec<Option<Var>>,
    pub iotas: &'a HashSet<Var>,
}

/// New value of a row under conditions; elsewhere the row is unchanged.
pub(super) struct New {
    /// Conditions, each with the value that it has where the row is new.
    pub conditions: Vec<(Var, bool)>,
    /// Index parameters of the new elements.
    pub at: Vec<Option<Var>>,
    /// Widths of the inner maps.
    pub widths: Vec<Atom>,
    /// The body without the conditions.
    pub body: Body,
}

impl Row<'_> {
    /// The new value in a body that is this row elsewhere.
    pub fn new_rows(&self, body: &Body) -> Option<New> {
        let [result] = body.results[..] else { return None };
        let defines = |s: &Stm| s.pat.len() == 1 && Atom::Var(s.pat[0].var) == result;
        let at = body.stms.iter().position(defines)?;
        // A check that fails for unchanged rows must not be dropped.
        if body.stms.iter().enumerate().any(|(k, s)| k != at && s.has_effect()) {
            return None;
        }
        let mut row = self.clone();
        row.own.extend(body.stms.iter().filter(|s| self.is_read(s)).map(|s| s.pat[0].var));
        let alone = |a: Atom| Body { stms: vec![], results: vec![a] };
        match &body.stms[at].exp {
            Exp::If { cond: Atom::Var(cond), then, other } => row.one_arm(*cond, [then, other], at, body),
            Exp::Prim(PrimOp::Select(_), xs) => {
                let arms = [xs[1], xs[2]].map(alone);
                row.one_arm(xs[0].var()?, arms.each_ref(), at, body)
            }
            // Element by element, with one condition for all of the row.
            Exp::Map { width, inputs, lam } => {
                let own = params_of(inputs, lam, &|v| row.own.contains(&v));
                let made_here = |v| definition(v, body).is_some_and(|s| matches!(s.exp, Exp::Iota(_)));
                let j = params_of(inputs, lam, &|v| self.iotas.contains(&v) || made_here(v)).first().copied();
                row.at.push(j);
                let new = Row { own, ..row }.new_rows(&lam.body)?;
                let mut stms = body.stms.clone();
                let lam = Lambda { body: new.body, ..lam.clone() };
                stms[at].exp = Exp::Map { width: *width, inputs: inputs.clone(), lam };
                let widths = [vec![*width], new.widths].concat();
                Some(New { body: Body { stms, results: body.results.clone() }, widths, ..new })
            }
            _ => None,
        }
    }

    /// The same for a branch in the body; its new arm may be such a body itself.
    fn one_arm(&self, cond: Var, arms: [&Body; 2], at: usize, body: &Body) -> Option<New> {
        let holds = match arms.map(|arm| self.is_it(arm)) {
            [false, true] => true,
            [true, false] => false,
            _ => return None,
        };
        let arm = arms[usize::from(!holds)];
        let mut new = self.new_rows(arm).unwrap_or_else(|| New {
            conditions: vec![],
            at: self.at.clone(),
            widths: vec![],
            body: arm.clone(),
        });
        let parts = parts_of(cond, holds, body);
        new.conditions.extend(parts.into_iter().map(|c| (c, holds)));
        let mut stms = body.stms.clone();
        stms.splice(at..=at, new.body.stms);
        Some(New { body: Body { stms, results: new.body.results }, ..new })
    }

    /// True if an arm is the unchanged row.
    fn is_it(&self, arm: &Body) -> bool {
        let [Atom::Var(result)] = arm.results[..] else { return false };
        match &arm.stms[..] {
            [] => self.own.contains(&result),
            [only] => self.is_read(only) && only.pat[0].var == result,
            _ => false,
        }
    }

    /// True if a statement reads the row.
    fn is_read(&self, stm: &Stm) -> bool {
        let is_index = |(at, i): (&Atom, &Option<Var>)| i.is_some() && at.var() == *i;
        let Exp::Index(a, at) = &stm.exp else { return false };
        *a == self.array && at.len() == self.at.len() && at.iter().zip(&self.at).all(is_index)
    }
}

/// Conjuncts of a condition that holds, or disjuncts of one that does not.
fn parts_of(cond: Var, holds: bool, body: &Body) -> Vec<Var> {
    let op = if holds { BinOp::And } else { BinOp::Or };
    match definition(cond, body).map(|s| &s.exp) {
        Some(Exp::Prim(PrimOp::Bin(found, Prim::Bool), xs)) if *found == op => {
            let parts = xs.iter().filter_map(|x| x.var());
            parts.flat_map(|x| parts_of(x, holds, body)).collect()
        }
        _ => vec![cond],
    }
}

/// The comparison of an index with a number that a condition is.
pub(super) fn comparison(cond: Var, i: Var, body: &Body) -> Option<(CmpOp, Atom)> {
    let stm = definition(cond, body)?;
    let Exp::Prim(PrimOp::Cmp(op, Prim::I64), xs) = &stm.exp else { return None };
    match xs[..] {
        [a, b] if a == i.into() => Some((*op, b)),
        [a, b] if b == i.into() => Some((op.exchanged(), a)),
        _ => None,
    }
}

/// The statement that binds a variable, in a body or those inside.
fn definition(v: Var, body: &Body) -> Option<&Stm> {
    body.stms.iter().find_map(|s| match s.pat.iter().any(|p| p.var == v) {
        true => Some(s),
        false => s.exp.bodies().into_iter().find_map(|b| deeper(|| definition(v, b))),
    })
}

/// The parameters for some of the inputs.
pub(super) fn params_of(inputs: &[Var], lam: &Lambda, of: &dyn Fn(Var) -> bool) -> Vec<Var> {
    inputs.iter().zip(&lam.params).filter(|(v, _)| of(**v)).map(|(_, p)| p.var).collect()
}
