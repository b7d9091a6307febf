//! The sequential version of a body: parallel operators as loops over scalars.
//!
//! ```text
//! is = iota n
//! xs = map n (is) (\ i -> f i)                loop (s = 0) for i < n do { let y = f i
//! r  = reduce n (xs) (\ x -> x) (+) 0   ==>                              in s + y }
//! ```
//!
//! An array that is read once, by the operator that follows, never exists. Arrays from outside the body are read where they are. A
//! body that makes any other array has no sequential version.

use par_ir::build::Statements;
use par_ir::core::{Body, Exp, Lambda, LoopForm, Stm};
use par_ir::effects::Effects;
use par_ir::loops::Loop;
use par_ir::visit::Code;
use par_ir::{Atom, Var, Vars};
use std::collections::HashMap;

/// An array whose elements are computed, or read, where they are needed.
enum Delayed {
    Iota,
    Splat(Atom),
    Stored(Var),
    Map(Vec<Delayed>, Lambda),
}

/// Rewrites one body.
struct Rewriter<'v> {
    vars: &'v mut Vars,
    arrays: HashMap<Var, Delayed>,
    /// Arrays from outside may be read.
    stored: bool,
}

/// The body as scalar code, calls included, if it can be said like that. It must be the only user of the body's variables.
pub(crate) fn sequential_version(body: &Body, vars: &mut Vars) -> Option<Body> {
    Rewriter { vars, arrays: HashMap::new(), stored: false }.body(body)
}

/// The body of a nest as scalar code that reads arrays from outside, if it can be said like that. The variables it binds are the
/// body's own.
pub(crate) fn sequential_nest(body: &Body, vars: &mut Vars) -> Option<Body> {
    Rewriter { vars, arrays: HashMap::new(), stored: true }.body(body)
}

impl Rewriter<'_> {
    fn body(&mut self, body: &Body) -> Option<Body> {
        let mut stms = Vec::new();
        for (i, stm) in body.stms.iter().enumerate() {
            let rest = &body.stms[i + 1..];
            self.stm(stm, rest, &body.results, &mut stms)?;
        }
        let is_there = |r: &Atom| r.var().is_none_or(|v| !self.arrays.contains_key(&v));
        body.results.iter().all(is_there).then(|| Body { stms, results: body.results.clone() })
    }

    fn stm(&mut self, stm: &Stm, rest: &[Stm], results: &[Atom], out: &mut Vec<Stm>) -> Option<()> {
        match &stm.exp {
            Exp::Iota(_) => self.delay(stm, Delayed::Iota),
            Exp::Replicate(_, a) if stm.pat[0].ty.rank() == 1 => self.delay(stm, Delayed::Splat(*a)),
            Exp::Map { inputs, lam, .. } => {
                read_next(stm, rest, results)?;
                let inputs = self.inputs(inputs)?;
                let lam = Lambda { body: self.body(&lam.body)?, ..lam.clone() };
                self.delay(stm, Delayed::Map(inputs, lam))
            }
            Exp::Reduce { width, inputs, lam, op, neutral } if stm.pat.len() == neutral.len() => {
                let inputs = self.inputs(inputs)?;
                out.push(self.reduce(stm, *width, (inputs, lam), (op, neutral))?);
                Some(())
            }
            Exp::If { cond, then, other } => {
                let (then, other) = (self.body(then)?, self.body(other)?);
                out.push(Stm { exp: Exp::If { cond: *cond, then, other }, ..stm.clone() });
                Some(())
            }
            Exp::Loop { params, form, body } => {
                let form = match form {
                    LoopForm::While(cond) => LoopForm::While(self.body(cond)?),
                    counted => counted.clone(),
                };
                let body = self.body(body)?;
                out.push(Stm { exp: Exp::Loop { params: params.clone(), form, body }, ..stm.clone() });
                Some(())
            }
            Exp::Index(arr, _) | Exp::Slice { arr, .. } | Exp::Lengths(arr) => {
                self.is_stored(*arr).then(|| out.push(stm.clone()))
            }
            // Nothing else reads an array that is never there.
            _ => (!self.arrays.keys().any(|v| stm.mentions(*v))).then(|| out.push(stm.clone())),
        }
    }

    fn delay(&mut self, stm: &Stm, array: Delayed) -> Option<()> {
        let [p] = stm.pat.as_slice() else { return None };
        self.arrays.insert(p.var, array);
        Some(())
    }

    /// The arrays that an operator reads; each is read by nothing else.
    fn inputs(&mut self, inputs: &[Var]) -> Option<Vec<Delayed>> {
        let take = |v: &Var| match self.arrays.get(v) {
            Some(Delayed::Iota) => Some(Delayed::Iota),
            Some(Delayed::Splat(a)) => Some(Delayed::Splat(*a)),
            Some(Delayed::Stored(_) | Delayed::Map(..)) => self.arrays.remove(v),
            None => self.stored.then_some(Delayed::Stored(*v)),
        };
        inputs.iter().map(take).collect()
    }

    fn is_stored(&self, v: Var) -> bool {
        self.stored && !self.arrays.contains_key(&v)
    }

    /// A reduction as a loop.
    fn reduce(
        &mut self,
        stm: &Stm,
        width: Atom,
        (inputs, lam): (Vec<Delayed>, &Lambda),
        (op, neutral): (&Lambda, &[Atom]),
    ) -> Option<Stm> {
        let mut rows = Loop::new(stm.span, self.vars);
        let producer = Lambda { body: self.body(&lam.body)?, ..lam.clone() };
        let op = Lambda { body: self.body(&op.body)?, ..op.clone() };
        let results = op.body.results.clone();
        let values = elements(Delayed::Map(inputs, producer), rows.index.into(), &mut rows.code);
        rows.fold(&op, neutral);
        rows.combine(op, &values);
        Some(rows.finish(width, stm.pat.clone(), results))
    }
}

/// Adds the statements that compute element `i` of an array: what they result in.
fn elements(array: Delayed, i: Atom, code: &mut Statements) -> Vec<Atom> {
    match array {
        Delayed::Iota => vec![i],
        Delayed::Splat(a) => vec![a],
        Delayed::Stored(_) => unreachable!("read by what binds the element"),
        Delayed::Map(inputs, lam) => {
            for (p, input) in lam.params.iter().zip(inputs) {
                let exp = match input {
                    Delayed::Stored(v) => Exp::Index(v, vec![i]),
                    other => Exp::Atom(elements(other, i, code)[0]),
                };
                code.bind(vec![p.clone()], exp);
            }
            code.stms.extend(lam.body.stms);
            lam.body.results
        }
    }
}

/// Nothing but the next parallel operator reads what the statement makes, and nothing can fail between them.
fn read_next(stm: &Stm, rest: &[Stm], results: &[Atom]) -> Option<()> {
    let [p] = stm.pat.as_slice() else { return None };
    let reader = rest.iter().position(|s| s.exp.is_soac())?;
    let mut by_reader = 0;
    rest[reader].exp.for_each_operand(&mut |a| by_reader += usize::from(a == Atom::Var(p.var)));
    let all: usize = rest.iter().map(|s| s.uses_of(p.var)).sum::<usize>()
        + results.iter().map(|a| a.uses_of(p.var)).sum::<usize>();
    let quiet = !rest[..reader].has_effect();
    (by_reader == 1 && all == 1 && quiet && p.ty.rank() == 1).then_some(())
}
