//! Versions of kernels without bounds checks, for sizes with which the ranges of all indices are inside.
//!
//! ```text
//! ys = kernel map over [n] [k] \row pos i j {            inside = n <= a && k <= b          (and nothing wraps)
//!     check (i < a) bounds (i, a)                        ys = if inside then
//!     check (j < b) bounds (j, b)               ==>           kernel map over [n] [k] \row pos i j { xs[i*b + j] }
//!     in xs[i*b + j]                                          else
//! }                                                           kernel map … as before
//! ```
//!
//! Sizes that a program is given besides its arrays say nothing of these before it runs. Kernels without checks go along columns, are
//! products of matrices, and have loops in vectors. Spaces of one dimension are left alone if no innermost loop checks an index: code generation
//! finds the positions at which a comparison changes, and [`super::strided_checks`] looks at both ends.

use super::in_place_scatters::emit;
use super::{prune, walk};
use par_ir::Vars;
use par_ir::access::{Access, Facts, Form, Symbol};
use par_ir::build::Host;
use par_ir::core::{Body, Exp};
use par_ir::effects::Effects;
use par_ir::flat::{Block, Kernel, Op, Program, Stm, VersionChoice};
use par_ir::prim::{BinOp, CmpOp, PrimOp};
use par_ir::ty::{Atom, Dim, Var};
use par_ir::visit::Code;
use par_ir::{Prim, tuning};
use par_runtime::CheckKind;
use std::collections::BTreeMap;

/// In every function of a program.
pub(crate) fn run(program: &mut Program) {
    walk::replace(program, two_versions);
}

/// True if a check is in a loop without further ones inside.
fn fails_innermost(body: &Body) -> bool {
    let has_loop = |b: &Body| b.stms.iter().any(|s| matches!(s.exp, Exp::Loop { .. }));
    body.stms.iter().any(|s| {
        let here = matches!(&s.exp, Exp::Loop { body, .. } if !has_loop(body) && body.may_fail());
        here || s.exp.own_bodies().into_iter().any(fails_innermost)
    })
}

/// A kernel without its checks, and as it is; the host decides.
fn two_versions(stm: &Stm, facts: &Facts, vars: &mut Vars) -> Option<Vec<Stm>> {
    let Op::Kernel(k) = &stm.op else { return None };
    let is_small = || k.body.statements() <= tuning::TWICE_STATEMENTS;
    if k.space.is_ragged()
        || !k.has_effect()
        || !is_small()
        || (k.space.0.len() < 2 && !fails_innermost(&k.body))
    {
        return None;
    }
    let mut unchecked = stm.refreshed(vars);
    let Op::Kernel(without) = &mut unchecked.op else { unreachable!("a kernel") };
    remove_checks(&mut without.body);
    if without.has_effect() {
        return None;
    }
    let access = Access::of(k, facts);
    let inside = Inside::of(k, &access)?;
    let mut host = Host::new(stm, vars);
    let cond = inside.decided((k, &access), facts, &mut host)?;
    let checked = stm.refreshed(host.vars);
    let [then, other] = [unchecked, checked].map(alone);
    let versions = Some(VersionChoice::Inside);
    host.bind(stm.pat.clone(), Op::If { cond, versions, then, other });
    Some(host.stms)
}

fn remove_checks(body: &mut Body) {
    body.stms.retain(|s| !matches!(s.exp, Exp::Check { .. }));
    body.stms.iter_mut().for_each(|s| s.exp.for_each_body_mut(remove_checks));
}

/// A block of one statement, without what it does not need.
fn alone(stm: Stm) -> Block {
    let results = stm.pat.iter().map(|p| p.var.into()).collect();
    let mut block = Block { stms: vec![stm], results };
    prune::block(&mut block);
    block
}

/// Forms of host scalars that are not negative where all indices of a kernel are inside.
struct Inside(Vec<Form>);

impl Inside {
    /// If the range of every index that the kernel checks is known.
    fn of(k: &Kernel, access: &Access) -> Option<Inside> {
        let mut inside = Inside(vec![]);
        inside.checks_of(&k.body, access)?;
        (!inside.0.is_empty()).then_some(inside)
    }

    fn checks_of(&mut self, body: &Body, access: &Access) -> Option<()> {
        for stm in &body.stms {
            if let Exp::Check { kind, args, .. } = &stm.exp {
                let (CheckKind::Bounds, [i, n]) = (kind, &args[..]) else { return None };
                let i = access.form(*i)?;
                let left = access.form(*n)?.minus(&i).plus(&Form::from(-1));
                self.not_negative(&i, access)?;
                self.not_negative(&left, access)?;
            }
            for inner in stm.exp.own_bodies() {
                self.checks_of(inner, access)?;
            }
        }
        Some(())
    }

    /// Adds what has to hold for a form never to be negative.
    fn not_negative(&mut self, form: &Form, access: &Access) -> Option<()> {
        let is_plain =
            |s: Symbol| matches!(s, Symbol::Index(_)) || access.is_outside(s) || access.is_counter(s);
        if !form.symbols().into_iter().all(is_plain) {
            return None;
        }
        let least = access.range(form).least.into_iter().find(|f| access.is_host(f))?;
        match least.as_constant() {
            Some(n) if n < 0 => return None,
            Some(_) => {}
            None if self.0.contains(&least) => {}
            None => self.0.push(least),
        }
        Some(())
    }

    /// True where all of the forms are not negative, and are so because nothing wraps.
    fn decided(&self, (k, access): (&Kernel, &Access), facts: &Facts, host: &mut Host) -> Option<Atom> {
        // A space whose size is negative has no positions.
        let is_size = |v: Var| facts.is_size(v.into()) || k.space.0.contains(&Dim::Size(v.into()));
        let mut most: BTreeMap<Var, i64> = BTreeMap::new();
        let mut all = Vec::new();
        for form in &self.0 {
            let bound = magnitude(form)?;
            for s in form.symbols() {
                let Symbol::Var(v) = s else { return None };
                most.entry(v).and_modify(|b| *b = bound.min(*b)).or_insert(bound);
            }
            let value = emit(form, access, host)?;
            all.push(host.compare("inside", CmpOp::Le, Atom::i64(0), value));
        }
        for (v, bound) in most {
            all.push(host.compare("fits", CmpOp::Le, v.into(), Atom::i64(bound)));
            if !is_size(v) {
                all.push(host.compare("fits", CmpOp::Le, Atom::i64(-bound), v.into()));
            }
        }
        let and = PrimOp::Bin(BinOp::And, Prim::Bool);
        all.into_iter().reduce(|x, y| host.prim("inside", and, vec![x, y]))
    }
}

/// A bound on the magnitude of its symbols up to which a form does not wrap.
fn magnitude(form: &Form) -> Option<i64> {
    let degree = form.terms().map(|(term, _)| term.len()).max()?;
    let factors = form.terms().map(|(_, n)| n.unsigned_abs()).fold(0, u64::saturating_add);
    match degree {
        0 | 1 if factors <= 1 << 30 => Some(1 << 32),
        2 if factors <= 1 << 6 => Some(1 << 28),
        _ => None,
    }
}
