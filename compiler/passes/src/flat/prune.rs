//! Removes what nothing uses: outputs of map kernels, scalar statements inside kernels, and host statements
//! that cannot fail. Checks stay.
//!
//! ```text
//! (a, b) = kernel map { let x = f p  let y = g p  in (x, y) }   -- b unused
//! (a)    = kernel map { let x = f p  in (x) }
//! ```

use par_ir::core::{Body, Stm};
use par_ir::effects::Effects;
use par_ir::flat::{self, Block, Kernel, KernelKind, Op, Out};
use par_ir::hash::HashSet;
use par_ir::stack::deeper;
use par_ir::visit::Code;
use par_ir::{Atom, Var};

/// Prunes every function of a program.
pub fn run(program: &mut flat::Program) {
    for f in &mut program.funs {
        prune_block(&mut f.body, &mut Used::default());
    }
}

/// Prunes a block whose results are all used.
pub(crate) fn block(block: &mut Block) {
    prune_block(block, &mut Used::default());
}

type Used = HashSet<Var>;

fn mark(used: &mut Used, a: Atom) {
    if let Atom::Var(v) = a {
        used.insert(v);
    }
}

fn mark_all(code: &impl Code, used: &mut Used) {
    code.for_each_used(&mut |v| _ = used.insert(v));
}

fn prune_block(block: &mut Block, used: &mut Used) {
    block.results.iter().for_each(|a| mark(used, *a));
    let mut kept = Vec::new();
    for mut stm in std::mem::take(&mut block.stms).into_iter().rev() {
        if !stm.has_effect() && !stm.pat.iter().any(|p| used.contains(&p.var)) {
            continue;
        }
        match &mut stm.op {
            Op::Kernel(k) => prune_kernel(k, &mut stm.pat, used),
            Op::Split { rows, body, .. } => {
                mark(used, *rows);
                deeper(|| prune_split(body, &mut stm.pat, used));
            }
            op => prune_op(op, used),
        }
        kept.push(stm);
    }
    kept.reverse();
    block.stms = kept;
}

fn prune_op(op: &mut Op, used: &mut Used) {
    op.for_each_operand(&mut |a| mark(used, a));
    op.for_each_block_mut(|b| prune_block(b, used));
}

/// Keeps of what chunks give what something uses.
fn prune_split(body: &mut Block, pat: &mut Vec<flat::Param>, used: &mut Used) {
    let (kept_pat, kept): (Vec<flat::Param>, Vec<Atom>) =
        pat.iter().zip(&body.results).filter(|(p, _)| used.contains(&p.var)).unzip();
    (*pat, body.results) = (kept_pat, kept);
    prune_block(body, used);
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
    mark_all(&k.space, used);
    match &k.kind {
        KernelKind::Map(outs) => mark_outs(outs, used),
        KernelKind::Reduce { op, neutral } | KernelKind::Scan { op, neutral, .. } => {
            neutral.iter().for_each(|a| mark(used, *a));
            mark_all(&op.body, used);
            k.after().into_iter().for_each(|a| mark_outs(&a.outs, used));
        }
        KernelKind::Hist { dests, op, neutral } => {
            used.extend(dests);
            neutral.iter().for_each(|a| mark(used, *a));
            mark_all(&op.body, used);
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
                mark_all(&state.ty, used);
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

fn prune_body(body: &mut Body, used: &mut Used) {
    body.results.iter().for_each(|a| mark(used, *a));
    prune_stms(&mut body.stms, used);
}

fn prune_stms(stms: &mut Vec<Stm>, used: &mut Used) {
    let mut kept = Vec::new();
    for mut s in std::mem::take(stms).into_iter().rev() {
        let needed = s.has_effect() || s.pat.iter().any(|p| used.contains(&p.var));
        if !needed {
            continue;
        }
        s.exp.for_each_operand(&mut |a| mark(used, a));
        s.exp.for_each_body_mut(|b| prune_body(b, used));
        kept.push(s);
    }
    kept.reverse();
    *stms = kept;
}
