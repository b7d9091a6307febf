//! Loops whose state is what is left of an array: where that begins is enough.
//!
//! ```text
//! loop (s, xs) = (0, a) while length xs > 0 do (s + f xs[0], xs[1:])
//!
//! loop (s, n, at) = (0, length a, 0) while n > 0 do
//!   let xs = a[at : at + n] in (s + f xs[0], n - 1, at + 1)
//! ```
//!
//! So the loop has numbers only for its state, as one with an index has, and can stay in a kernel. A derivative need not keep what is left in
//! all iterations, which is the square of the array.

use super::derive::Placed;
use super::{Lower, R};
use par_ir::core::{Body, Exp, LoopForm, Param, Stm};
use par_ir::hash::HashMap;
use par_ir::visit::{Code, Subst};
use par_ir::{Atom, Dim, Type, Var};

/// Arrays that are parts of the state, and at which of its rows they begin.
pub(super) type Starts = HashMap<Var, Atom>;

impl Lower<'_> {
    /// The statements that bind the same as one statement, with such state of a loop replaced.
    pub(super) fn without_remainders(&mut self, stm: Stm) -> R<Vec<Stm>> {
        let Exp::Loop { mut params, mut form, mut body } = stm.exp else { return Ok(vec![stm]) };
        let (mut pat, mut after) = (stm.pat, Vec::new());
        for i in 0..params.len() {
            let (xs, init) = params[i].clone();
            let may_be = may_be_left(&params, &xs.ty) && may_be_part(&body, body.results[i]);
            let Some(of) = init.var().filter(|_| may_be) else { continue };
            let (_, at) = self.in_block(|lo| Ok(lo.param("at", Type::I64)))?;
            let mut starts = Starts::from_iter([(xs.var, at.var.into())]);
            let mut changed = self.with_starts(body.clone(), &mut starts)?;
            let Some(next) = body.results[i].var().and_then(|v| starts.get(&v)) else { continue };
            let part = |p: &Param, start: Var| Stm {
                pat: vec![p.clone()],
                exp: slice(of, start.into(), &p.ty),
                span: stm.span,
            };
            if let LoopForm::While(cond) = &mut form
                && cond.mentions(xs.var)
            {
                let (_, again) = self.in_block(|lo| Ok(lo.param("xs", xs.ty.clone())))?;
                cond.substitute(&Subst::from_iter([(xs.var, again.var.into())]));
                cond.stms.insert(0, part(&again, at.var));
            }
            changed.stms.insert(0, part(&xs, at.var));
            changed.results[i] = *next;
            body = changed;
            let last = self.param("at", Type::I64);
            after.push(part(&pat[i], last.var));
            pat[i] = last;
            params[i] = (at, Atom::i64(0));
        }
        let repeated = Stm { pat, exp: Exp::Loop { params, form, body }, span: stm.span };
        Ok(std::iter::once(repeated).chain(after).collect())
    }

    /// The body with the rows at which parts of the state begin.
    pub(super) fn with_starts(&mut self, body: Body, starts: &mut Starts) -> R<Body> {
        body.place(self.scope.blocks.len() as u32, &mut self.scope.levels);
        let (block, ()) = self.in_block(|lo| {
            for mut stm in body.stms {
                if let Exp::If { then, other, .. } = &mut stm.exp {
                    super::deep(|| lo.starts_of_arms(&mut stm.pat, [then, other], starts))?;
                }
                let part = part_of(&stm.exp).and_then(|(of, start)| Some((*starts.get(&of)?, start)));
                let v = stm.pat.first().map(|p| p.var);
                lo.push_stm(stm);
                if let (Some((base, start)), Some(v)) = (part, v) {
                    let start = lo.add(base, start);
                    starts.insert(v, start);
                }
            }
            Ok(())
        })?;
        Ok(Body { stms: block.stms, results: body.results })
    }

    /// Gives results of arms that both are parts of the state the rows at which they begin as further results.
    fn starts_of_arms(&mut self, pat: &mut Vec<Param>, arms: [&mut Body; 2], starts: &mut Starts) -> R<()> {
        let mut of_arms = Vec::new();
        for arm in arms {
            *arm = self.with_starts(std::mem::take(arm), starts)?;
            let results = arm.results.iter();
            let begin: Vec<Option<Atom>> = results.map(|a| starts.get(&a.var()?).copied()).collect();
            of_arms.push((arm, begin));
        }
        for i in 0..pat.len() {
            if of_arms.iter().any(|(_, begin)| begin[i].is_none()) {
                continue;
            }
            let at = self.param("at", Type::I64);
            for (arm, begin) in &mut of_arms {
                arm.results.extend(begin[i]);
            }
            starts.insert(pat[i].var, at.var.into());
            pat.push(at);
        }
        Ok(())
    }
}

/// True for an array in a loop's state whose number of rows, and nothing else of its shape, is in the state, too.
fn may_be_left(params: &[(Param, Atom)], ty: &Type) -> bool {
    let is_state = |a: Atom| params.iter().any(|(q, _)| Atom::Var(q.var) == a);
    let is_fixed = |d: &Dim| matches!(d, Dim::Size(n) if !is_state(*n));
    match ty.dims.split_first() {
        Some((Dim::Size(n), rows)) => !ty.is_desc() && is_state(*n) && rows.iter().all(is_fixed),
        _ => false,
    }
}

/// True for what a body binds to a part of an array, perhaps by cases.
fn may_be_part(body: &Body, result: Atom) -> bool {
    let binds = |s: &&Stm| s.pat.iter().any(|p| Atom::Var(p.var) == result);
    let made = body.stms.iter().find(binds).map(|s| &s.exp);
    made.is_some_and(|exp| part_of(exp).is_some() || matches!(exp, Exp::If { .. }))
}

/// The part of an array of a type that begins at a row.
pub(super) fn slice(arr: Var, start: Atom, ty: &Type) -> Exp {
    let len = match ty.dims.first() {
        Some(Dim::Size(n)) => *n,
        _ => Atom::i64(0),
    };
    Exp::Slice { arr, start, len, stride: Atom::i64(1) }
}

/// The array that an expression is, or is a part of without gaps, and the row at which it begins.
pub(super) fn part_of(exp: &Exp) -> Option<(Var, Atom)> {
    match exp {
        Exp::Atom(Atom::Var(arr)) => Some((*arr, Atom::i64(0))),
        Exp::Slice { arr, start, stride, .. } if *stride == Atom::i64(1) => Some((*arr, *start)),
        _ => None,
    }
}
