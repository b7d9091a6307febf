//! A scatter of values that are computed from the array itself becomes an update in place, where no position reads what another writes.
//!
//! ```text
//! vs = kernel map over [n] \row pos { … xs[c + pos*s] … in v }
//! ys = kernel map (scatter (xs)) over [n] \row pos { v = vs[pos]  in (a + pos*s, v) }
//!
//! apart = a and a + (n-1)*s are inside, and s != 0, and (c - a) rem s != 0
//! ys = if apart then kernel map (own xs as x) over [n] \row pos { … x[c + pos*s] …  in x with [a + pos*s] = v }
//!      else …
//! ```
//!
//! So anti-diagonals of a matrix are computed where they are. Neighbours (`s` is 1) are, too, if it is proved that everything that is read is before
//! the first or behind the last that is written: a row of a table is computed from the row before. Others are left to vectors, which compute them first
//! and store them then.

use crate::flat::bulk::reads;
use crate::flat::strided_checks::calls;
use crate::flat::walk;
use par_ir::Vars;
use par_ir::access::{Access, Emit, Facts, Form, Read, Symbol};
use par_ir::build::Host;
use par_ir::core::{self, At, Body, Exp};
use par_ir::effects::Effects;
use par_ir::flat::{Block, Kernel, KernelKind, Op, Out, Param, Program, Space, Stm, Ty};
use par_ir::hash::HashMap;
use par_ir::prim::{BinOp, CmpOp, PrimOp};
use par_ir::ty::{Atom, Dim, Type, Var};
use par_ir::visit::{Code, Subst};
use par_runtime::Prim;
use std::collections::BTreeSet;

/// In every function of a program.
pub(crate) fn run(program: &mut Program) {
    walk::bodies(program, in_block);
}

fn in_block(block: &mut Block, facts: &mut Facts, vars: &mut Vars) {
    let mut at = 0;
    while at < block.stms.len() {
        facts.note(&block.stms[at]);
        facts.note_sum(&block.stms[at]);
        block.stms[at].op.for_each_block_mut(|b| in_block(b, facts, vars));
        if let Some((first, both)) = at.checked_sub(1).and_then(|i| Some((i, Pair::of(block, i, facts)?))) {
            let replaced = both.with_choice(&block.stms[first], &block.stms[at], facts, vars);
            if let Some(stms) = replaced {
                let more = stms.len();
                block.stms.splice(first..=at, stms);
                at = first + more - 1;
            }
        }
        at += 1;
    }
}

/// A map, and the scatter of what it makes over an array that it reads.
struct Pair {
    array: Var,
    prim: Prim,
    /// First index that is written, and its growth.
    first: Form,
    stride: Form,
    /// Distances of what is read to what is written, at every position.
    distances: Vec<Form>,
}

/// The kernel of a map over a space of one dimension, with its only output.
pub(crate) fn flat_map(stm: &Stm) -> Option<(&Kernel, &Out)> {
    let Op::Kernel(k) = &stm.op else { return None };
    let KernelKind::Map(outs) = &k.kind else { return None };
    let [out] = outs.as_slice() else { return None };
    k.space.as_flat().map(|_| (&**k, out))
}

/// The position of a space of one dimension.
pub(crate) const POSITION: Symbol = Symbol::Index(0);

impl Pair {
    /// The pair of a statement and the next.
    fn of(block: &Block, i: usize, facts: &Facts) -> Option<Pair> {
        let (map, scatter) = (&block.stms[i], &block.stms[i + 1]);
        let ((a, Out::Elem(prim)), (b, Out::Scatter(dests))) = (flat_map(map)?, flat_map(scatter)?) else {
            return None;
        };
        let ([array], made) = (dests.as_slice(), map.pat[0].var) else { return None };
        let others = block.stms[i + 2..].iter().any(|s| s.op.uses_of(made) > 0);
        let fits = a.space == b.space && !others && !block.results.contains(&made.into());
        if !fits || !takes_over(b, made, *array) || b.has_effect() || calls(&a.body) {
            return None;
        }
        let access = Access::of(b, facts);
        let (stride, first) = access.form(b.body.results[0])?.split(POSITION)?;
        let access_of_map = Access::of(a, facts);
        let neighbours = stride.as_constant() == Some(1);
        let behind = first.plus(&facts.form(a.space.as_flat()?));
        let mut distances: Vec<Form> = Vec::new();
        for read in access_of_map.reads().filter(|r| r.array == *array) {
            if neighbours && is_outside(&access_of_map, read, &first, &behind) {
                continue;
            }
            let (growth, start) = read.index.split(POSITION)?;
            let distance = start.minus(&first);
            if growth != stride || !access_of_map.is_host(&distance) {
                return None;
            }
            if !distance.is_zero() && !distances.contains(&distance) {
                distances.push(distance);
            }
        }
        let mut count = 0;
        reads::of_kernel(a, &mut |arr, _| count += usize::from(arr == *array));
        let only_read = count > 0 && map.op.uses_of(*array) == count;
        let is_host = access.is_host(&stride) && access.is_host(&first);
        let is_far = stride.as_constant().is_none_or(|n| n.unsigned_abs() > 1);
        let are_apart = is_far || neighbours && distances.is_empty();
        (only_read && is_host && are_apart).then_some(Pair {
            array: *array,
            prim: *prim,
            first,
            stride,
            distances,
        })
    }

    /// Both statements behind a choice, with what it needs.
    fn with_choice(&self, map: &Stm, scatter: &Stm, facts: &Facts, vars: &mut Vars) -> Option<Vec<Stm>> {
        let (a, _) = flat_map(map)?;
        let count = a.space.as_flat()?;
        let mut host = Host::new(scatter, vars);
        let len = host.value("len", Ty::Scalar(Prim::I64), Op::Length(self.array));
        let apart = self.apart(&mut host, &Access::of(a, facts), count, len.into())?;
        let mut renamed = scatter.clone();
        renamed.pat[0].var = host.vars.fresh_like(scatter.pat[0].var);
        let other = Block { results: vec![renamed.pat[0].var.into()], stms: vec![map.clone(), renamed] };
        let pat = vec![Param { var: host.vars.fresh_like(scatter.pat[0].var), ty: scatter.pat[0].ty }];
        let kernel = Box::new(self.in_place(map, scatter, len, host.vars)?);
        let then = Block {
            results: vec![pat[0].var.into()],
            stms: vec![Stm { pat, op: Op::Kernel(kernel), span: map.span, place: scatter.place }],
        };
        host.bind(scatter.pat.clone(), Op::If { cond: apart, versions: None, then, other });
        Some(host.stms)
    }

    /// True where all writes are inside, and none of them at an index that another position reads or writes. Up to these bounds nothing wraps.
    fn apart(&self, host: &mut Host, access: &Access, count: Atom, len: Atom) -> Option<Atom> {
        const FACTOR: i64 = 1 << 31;
        let (first, by) = (emit(&self.first, access, host)?, emit(&self.stride, access, host)?);
        let size = magnitude(by, host);
        let steps = host.arith("steps", BinOp::Sub, count, Atom::i64(1));
        let way = host.arith("way", BinOp::Mul, steps, by);
        let last = host.arith("last", BinOp::Add, first, way);
        let low = host.arith("low", BinOp::Min, first, last);
        let high = host.arith("high", BinOp::Max, first, last);
        // What is the same in all iterations of a loop comes first.
        let mut all = Vec::new();
        let sizes = [(Atom::i64(1), size), (size, Atom::i64(FACTOR))];
        for (x, y) in sizes.into_iter().filter(|_| size.as_i64() != Some(1)) {
            all.push(host.compare("fits", CmpOp::Le, x, y));
        }
        for distance in &self.distances {
            let x = emit(distance, access, host)?;
            let x = magnitude(x, host);
            // Between what is written.
            let rest = host.arith("rest", BinOp::Rem, x, size);
            all.push(host.compare("beside", CmpOp::Ne, rest, Atom::i64(0)));
        }
        for (x, y) in [(count, Atom::i64(FACTOR)), (Atom::i64(0), low)] {
            all.push(host.compare("fits", CmpOp::Le, x, y));
        }
        all.push(host.compare("fits", CmpOp::Lt, high, len));
        let and = PrimOp::Bin(BinOp::And, Prim::Bool);
        all.into_iter().reduce(|x, y| host.prim("apart", and, vec![x, y]))
    }

    /// The kernel that computes and writes.
    fn in_place(&self, map: &Stm, scatter: &Stm, len: Var, vars: &mut Vars) -> Option<Kernel> {
        let ((a, _), (b, _)) = (flat_map(map)?, flat_map(scatter)?);
        let mut kernel = a.refreshed(vars);
        let state = core::Param {
            var: vars.fresh_like(self.array),
            ty: Type::array(vec![Dim::Size(len.into())], self.prim),
        };
        rename(&mut kernel, self.array, state.var);
        let mut names: Subst =
            b.binders().into_iter().zip(kernel.binders().into_iter().map(Atom::Var)).collect();
        let copied = Body { stms: b.body.stms.clone(), results: b.body.results.clone() };
        let is_value = |s: &core::Stm| matches!(&s.exp, Exp::Index(arr, _) if *arr == map.pat[0].var);
        let value = kernel.body.results[0];
        for s in copied.stms.iter().filter(|s| is_value(s)) {
            names.insert(s.pat[0].var, value);
        }
        let stms: Vec<core::Stm> = copied.stms.into_iter().filter(|s| !is_value(s)).collect();
        kernel.prologue.extend(b.prologue.refreshed_with(vars, &mut names));
        kernel.body.stms.extend(stms.refreshed_with(vars, &mut names));
        let index = copied.results[0].substituted(&names);
        let next = core::Param { var: vars.fresh_like(self.array), ty: state.ty.clone() };
        let exp = Exp::Update { arr: state.var, at: At::indices(&[index]), value };
        kernel.body.results = vec![next.var.into()];
        kernel.body.stms.push(core::Stm { pat: vec![next], exp, span: map.span });
        kernel.kind = KernelKind::Map(vec![Out::Own { dest: self.array, state }]);
        kernel.space = Space::flat(a.space.as_flat()?);
        Some(kernel)
    }
}

/// True if a read is proved to be before `first` or not before `behind`.
pub(crate) fn is_outside(access: &Access, read: &Read, first: &Form, behind: &Form) -> bool {
    let before = first.minus(&read.index).plus(&(-1).into());
    let after = read.index.minus(behind);
    [before, after].iter().any(|f| access.never_negative_where(f, &read.guards))
}

/// The magnitude of a number.
fn magnitude(x: Atom, host: &mut Host) -> Atom {
    if let Some(n) = x.as_i64() {
        return Atom::i64(n.wrapping_abs());
    }
    let negated = host.arith("negated", BinOp::Sub, Atom::i64(0), x);
    host.arith("size", BinOp::Max, x, negated)
}

/// True for a scatter that takes the value at its position, and looks at the arrays nowhere else.
pub(crate) fn takes_over(b: &Kernel, made: Var, array: Var) -> bool {
    let mut found = Vec::new();
    reads::of_kernel(b, &mut |arr, i| found.push((arr, i)));
    let value = b.body.stms.iter().find(|s| matches!(&s.exp, Exp::Index(arr, _) if *arr == made));
    let is_result = value.is_some_and(|s| b.body.results[1] == s.pat[0].var.into());
    is_result && found == [(made, Atom::Var(b.pos))] && array != made
}

/// Reads another array instead of one.
fn rename(kernel: &mut Kernel, from: Var, to: Var) {
    let mut indices = Vec::new();
    reads::of_kernel(kernel, &mut |arr, i| indices.extend((arr == from).then_some(i)));
    let instead: HashMap<Atom, (Var, Atom)> = indices.into_iter().map(|i| (i, (to, i))).collect();
    reads::redirect(&mut kernel.body, from, &instead);
}

/// Computes a form of host scalars on the host.
pub(crate) fn emit(form: &Form, access: &Access, host: &mut Host) -> Option<Atom> {
    let divisions = &BTreeSet::new();
    let span = host.like.span;
    let mut code = Emit { vars: host.vars, divisions, names: HashMap::default(), stms: vec![], span };
    let result = access.emit(form, &mut code)?;
    let stms = code.stms;
    let mut names = Subst::default();
    for stm in stms {
        let Exp::Prim(op, args) = stm.exp.substituted(&names) else { return None };
        names.insert(stm.pat[0].var, host.prim("index", op, args));
    }
    Some(result.substituted(&names))
}
