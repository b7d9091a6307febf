//! Removes what nothing uses: outputs of map kernels, scalar statements inside kernels, and host statements
//! that cannot fail. Checks stay.
//!
//! ```text
//! (a, b) = kernel map { let x = f p  let y = g p  in (x, y) }   -- b unused
//! (a)    = kernel map { let x = f p  in (x) }
//! ```

use par_ir::core::{At, Body, Exp, LoopForm, Stm};
use par_ir::flat::{self, Block, Kernel, KernelKind, Op, Out, Space};
use par_ir::{Atom, Dim, Var};
use std::collections::HashSet;

/// Prunes every function of a program.
pub fn run(program: &mut flat::Program) {
    for f in &mut program.funs {
        prune_block(&mut f.body, &mut HashSet::new());
    }
}

type Used = HashSet<Var>;

fn mark(used: &mut Used, a: Atom) {
    if let Atom::Var(v) = a {
        used.insert(v);
    }
}

fn prune_block(block: &mut Block, used: &mut Used) {
    block.results.iter().for_each(|a| mark(used, *a));
    let mut kept = Vec::new();
    for mut stm in std::mem::take(&mut block.stms).into_iter().rev() {
        if !has_effect(&stm.op) && !stm.pat.iter().any(|p| used.contains(&p.var)) {
            continue;
        }
        match &mut stm.op {
            Op::Kernel(k) => prune_kernel(k, &mut stm.pat, used),
            Op::Split { rows, body, .. } => {
                mark(used, *rows);
                prune_split(body, &mut stm.pat, used);
            }
            op => prune_op(op, used),
        }
        kept.push(stm);
    }
    kept.reverse();
    block.stms = kept;
}

/// Whether an operation may fail, not end, or be seen from outside: it runs even if its results are unused.
pub(crate) fn has_effect(op: &Op) -> bool {
    let block = |b: &Block| b.stms.iter().any(|s| has_effect(&s.op));
    match op {
        Op::Check { .. } | Op::Trace { .. } | Op::Call(..) => true,
        Op::Kernel(k) => kernel_may_fail(k),
        Op::If { then, other, .. } => block(then) || block(other),
        Op::Loop { form, body, .. } => matches!(form, flat::LoopForm::While(_)) || block(body),
        Op::Split { body, .. } => block(body),
        _ => false,
    }
}

/// Whether a kernel has a check, or might not end.
pub(crate) fn kernel_may_fail(k: &Kernel) -> bool {
    k.bodies().into_iter().flat_map(|b| &b.stms).any(|s| crate::flatten::kernel::may_fail(&s.exp))
}

fn prune_op(op: &mut Op, used: &mut Used) {
    match op {
        Op::If { cond, then, other, .. } => {
            mark(used, *cond);
            prune_block(then, used);
            prune_block(other, used);
        }
        Op::Loop { params, form, body } => {
            prune_block(body, used);
            match form {
                flat::LoopForm::For { bound, .. } => mark(used, *bound),
                flat::LoopForm::While(test) => prune_block(test, used),
            }
            params.iter().for_each(|(_, init)| mark(used, *init));
        }
        op => host_uses(op, &mut |a| mark(used, a)),
    }
}

/// Keeps of what pieces give what something uses.
fn prune_split(body: &mut Block, pat: &mut Vec<flat::Param>, used: &mut Used) {
    let (kept_pat, kept): (Vec<flat::Param>, Vec<Atom>) =
        pat.iter().zip(&body.results).filter(|(p, _)| used.contains(&p.var)).unzip();
    (*pat, body.results) = (kept_pat, kept);
    prune_block(body, used);
}

/// The operands of a host statement without blocks or kernels.
fn host_uses(op: &Op, f: &mut impl FnMut(Atom)) {
    match op {
        Op::Atom(a) | Op::Iota(a) => f(*a),
        Op::Prim(_, args) | Op::Literal(args, _) | Op::Call(_, args) | Op::Trace { args, .. } => {
            args.iter().for_each(|a| f(*a));
        }
        Op::Check { cond, args, .. } => {
            f(*cond);
            args.iter().for_each(|a| f(*a));
        }
        Op::MakeDesc(v)
        | Op::Offsets(v)
        | Op::Lengths(v)
        | Op::SegIds(v)
        | Op::Total(v)
        | Op::Rows(v)
        | Op::Length(v) => f((*v).into()),
        Op::UniformDesc { rows: a, m: b } | Op::Replicate(a, b) => {
            f(*a);
            f(*b);
        }
        Op::Read(v, i) => {
            f((*v).into());
            f(*i);
        }
        Op::Write { arr, index, value } => [(*arr).into(), *index, *value].into_iter().for_each(f),
        Op::Slice { arr, start, len } => [(*arr).into(), *start, *len].into_iter().for_each(f),
        Op::Concat(vs) | Op::ConcatDesc(vs) | Op::Join(vs) => vs.iter().for_each(|v| f((*v).into())),
        Op::Tidy { blocks, starts, lens, kept } => {
            [*blocks, *starts, *lens].into_iter().chain(*kept).for_each(|v| f(v.into()));
        }
        Op::Grown { blocks, base } => std::iter::once(blocks).chain(base).for_each(|v| f((*v).into())),
        Op::Sweep { blocks, starts, weight } => {
            [(*blocks).into(), (*starts).into(), *weight].into_iter().for_each(f);
        }
        Op::Sort { space, keys, values } => {
            space_uses(*space, f);
            std::iter::once(keys).chain(values).for_each(|v| f((*v).into()));
        }
        Op::Kernel(_) | Op::If { .. } | Op::Loop { .. } | Op::Split { .. } => {
            unreachable!("handled by prune_block")
        }
    }
}

fn space_uses(space: Space, f: &mut impl FnMut(Atom)) {
    match space {
        Space::Flat(n) => f(n),
        Space::Rows { rows, dim } => {
            f(rows);
            match dim {
                Dim::Size(a) => f(a),
                Dim::Seg(d) => f(d.into()),
            }
        }
    }
}

fn prune_kernel(k: &mut Kernel, pat: &mut Vec<flat::Param>, used: &mut Used) {
    let fixed = match &mut k.kind {
        KernelKind::Map(outs) => {
            prune_map(outs, &mut k.body.results, pat, used);
            usize::MAX
        }
        KernelKind::Scan { after: Some(after), .. } => {
            prune_map(&mut after.outs, &mut after.body.results, pat, used);
            usize::MAX
        }
        KernelKind::Scan { neutral, .. } => neutral.len(),
        KernelKind::Reduce { neutral, .. } => neutral.len(),
        KernelKind::Filter | KernelKind::Hist { .. } => usize::MAX,
    };
    for i in (fixed.min(pat.len())..pat.len()).rev() {
        if !used.contains(&pat[i].var) {
            pat.remove(i);
            k.body.results.remove(i);
        }
    }
    if let KernelKind::Scan { after: Some(after), .. } = &mut k.kind {
        prune_body(&mut after.body, used);
    }
    prune_body(&mut k.body, used);
    prune_stms(&mut k.prologue, used);
    space_uses(k.space, &mut |a| mark(used, a));
    match &k.kind {
        KernelKind::Map(outs) => mark_outs(outs, used),
        KernelKind::Reduce { op, neutral } | KernelKind::Scan { op, neutral, .. } => {
            neutral.iter().for_each(|a| mark(used, *a));
            mark_body(&op.body, used);
            k.after().into_iter().for_each(|a| mark_outs(&a.outs, used));
        }
        KernelKind::Hist { dests, op, neutral } => {
            used.extend(dests);
            neutral.iter().for_each(|a| mark(used, *a));
            mark_body(&op.body, used);
        }
        KernelKind::Filter => {}
    }
}

fn mark_outs(outs: &[Out], used: &mut Used) {
    for o in outs {
        match o {
            Out::Elem(_) | Out::Row(..) => {}
            Out::Scatter(dests) => used.extend(dests),
            Out::Own { dest, state } => {
                used.insert(*dest);
                size_uses(&state.ty, used);
            }
        }
    }
}

/// Keeps the outputs that something uses.
fn prune_map(outs: &mut Vec<Out>, results: &mut Vec<Atom>, pat: &mut Vec<flat::Param>, used: &Used) {
    let (mut r, mut p) = (0, 0);
    let mut keep_outs = Vec::new();
    let (mut keep_results, mut keep_pat) = (Vec::new(), Vec::new());
    for o in outs.drain(..) {
        let (nr, np) = (o.results(), o.arrays());
        // What the body updates is an output as long as there is a kernel.
        if matches!(o, Out::Own { .. }) || pat[p..p + np].iter().any(|q| used.contains(&q.var)) {
            keep_results.extend_from_slice(&results[r..r + nr]);
            keep_pat.extend_from_slice(&pat[p..p + np]);
            keep_outs.push(o);
        }
        r += nr;
        p += np;
    }
    (*outs, *results, *pat) = (keep_outs, keep_results, keep_pat);
}

/// Marks the sizes in a type.
fn size_uses(ty: &par_ir::Type, used: &mut Used) {
    for d in &ty.dims {
        if let Dim::Size(a) = d {
            mark(used, *a);
        }
    }
}

fn prune_body(body: &mut Body, used: &mut Used) {
    body.results.iter().for_each(|a| mark(used, *a));
    prune_stms(&mut body.stms, used);
}

fn prune_stms(stms: &mut Vec<Stm>, used: &mut Used) {
    let mut kept = Vec::new();
    for mut s in std::mem::take(stms).into_iter().rev() {
        let needed = crate::flatten::kernel::may_fail(&s.exp) || s.pat.iter().any(|p| used.contains(&p.var));
        if !needed {
            continue;
        }
        match &mut s.exp {
            Exp::If { cond, then, other } => {
                mark(used, *cond);
                prune_body(then, used);
                prune_body(other, used);
            }
            Exp::Loop { params, form, body } => {
                prune_body(body, used);
                match form {
                    LoopForm::For { bound, .. } => mark(used, *bound),
                    LoopForm::While(test) => prune_body(test, used),
                }
                params.iter().for_each(|(_, init)| mark(used, *init));
            }
            _ => stm_uses(&s, &mut |v| {
                used.insert(v);
            }),
        }
        kept.push(s);
    }
    kept.reverse();
    *stms = kept;
}

fn mark_body(body: &Body, used: &mut Used) {
    body.results.iter().for_each(|a| mark(used, *a));
    for s in &body.stms {
        stm_uses(s, &mut |v| {
            used.insert(v);
        });
    }
}

/// Every variable that a scalar statement mentions, nested bodies included.
pub(crate) fn stm_uses(stm: &Stm, f: &mut dyn FnMut(Var)) {
    let atom = |a: Atom, f: &mut dyn FnMut(Var)| {
        if let Atom::Var(v) = a {
            f(v);
        }
    };
    let body = |b: &Body, f: &mut dyn FnMut(Var)| {
        for s in &b.stms {
            stm_uses(s, f);
        }
        b.results.iter().for_each(|a| atom(*a, f));
    };
    match &stm.exp {
        Exp::Atom(a) => atom(*a, f),
        Exp::Prim(_, args) | Exp::Call(_, args) => args.iter().for_each(|a| atom(*a, f)),
        Exp::Index(v, ixs) => {
            f(*v);
            ixs.iter().for_each(|a| atom(*a, f));
        }
        Exp::Check { cond, args, .. } => {
            atom(*cond, f);
            args.iter().for_each(|a| atom(*a, f));
        }
        Exp::Update { arr, at, value } => {
            f(*arr);
            at.iter().flat_map(At::atoms).chain([*value]).for_each(|a| atom(a, f));
        }
        Exp::If { cond, then, other } => {
            atom(*cond, f);
            body(then, f);
            body(other, f);
        }
        Exp::Loop { params, form, body: b } => {
            params.iter().for_each(|(_, a)| atom(*a, f));
            match form {
                LoopForm::For { bound, .. } => atom(*bound, f),
                LoopForm::While(test) => body(test, f),
            }
            body(b, f);
        }
        _ => unreachable!("kernel bodies are scalar"),
    }
}
