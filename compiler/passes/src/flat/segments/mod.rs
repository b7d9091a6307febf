//! Rows that a program describes by hand: where a scatter of row numbers and a scan over them say in which row an element is, that
//! becomes a descriptor again.
//!
//! ```text
//! heads = kernel map (scatter (replicate n 0)) over k { (starts[pos], pos) }
//! ids   = kernel scan max over n { heads[pos] }
//! flags, js = kernel scan (segmented +) over n { (pos == 0 || ids[pos] != ids[pos-1], 1) }
//! ys    = kernel map over n { f xs[ids[pos]] js[pos] }
//!
//! ==>   if the starts grow: d = makedesc …
//!       ys = kernel map over [k] [~d] prologue { x = xs[row] } { f x (j + 1) }
//!       else as before
//! ```
//!
//! Code tests at run time that the starts that are inside grow, from 0 on, and that rows are long enough: the work of these tests is linear
//! in the rows, not in the elements. If both hold, every kernel over the elements that asks for the row of its own element
//! is one over rows ([`rows`]): what depends on the row only is computed once per row, counting from the start of a segment is a
//! subtraction, and scans over segments need no flags. Empty rows are in no descriptor that is made here.

mod find;
mod origin;
mod rows;
mod starts;

use find::Ids;
use par_ir::Vars;
use par_ir::flat::{Block, Kernel, KernelKind, Op, Out, Program, Space, Stm, VersionChoice};
use par_ir::tuning;
use par_ir::ty::{Atom, Var};
use par_ir::visit::{Code, Subst};
use std::collections::BTreeSet;

/// In every function of a program.
pub(crate) fn run(program: &mut Program) {
    let Program { funs, vars, .. } = program;
    funs.iter_mut().for_each(|f| block(&mut f.body, vars));
}

fn block(b: &mut Block, vars: &mut Vars) {
    for stm in &mut b.stms {
        stm.op.for_each_block_mut(|inner| block(inner, vars));
    }
    let mut at = 0;
    while at < b.stms.len() {
        if let Some(ids) = find::ids(b, at).filter(|ids| !vars.is_opaque(ids.array))
            && let Some(end) = versions(b, &ids, vars)
        {
            at = end;
        }
        at += 1;
    }
}

/// Makes two versions of what uses the row numbers; where they stand.
fn versions(b: &mut Block, ids: &Ids, vars: &mut Vars) -> Option<usize> {
    let end = last_use(b, ids);
    let region: Vec<Stm> =
        b.stms[ids.scatter..=end].iter().flat_map(|s| region_statement(s, b, ids)).cloned().collect();
    if region.len() > tuning::SEGMENT_STATEMENTS {
        return None;
    }
    let results = needed_after(b, &region, end);
    let made = starts::Starts::new(b, ids, vars);
    let mut subst = Subst::default();
    let copy = region.refreshed_with(vars, &mut subst);
    let then = rows::convert(copy, &b.stms[..ids.scatter], &subst, ids, &made, vars)?;
    let then_results = results.iter().map(|p| subst[&p.var]).collect();
    let mut subst = Subst::default();
    let other = region.refreshed_with(vars, &mut subst);
    let other_results = results.iter().map(|p| subst[&p.var]).collect();
    let op = Op::If {
        cond: made.grow,
        versions: Some(VersionChoice::Segments { mean: tuning::SEGMENT_MEAN }),
        then: Block { stms: then, results: then_results },
        other: Block { stms: other, results: other_results },
    };
    let choice = Stm { pat: results, op, ..b.stms[ids.scan].clone() };
    let mut stms: Vec<Stm> = b.stms.drain(..).collect();
    let rest = stms.split_off(end + 1);
    stms.truncate(ids.scatter);
    stms.remove(ids.replicate);
    stms.extend(made.stms);
    stms.push(choice);
    let at = stms.len() - 1;
    b.stms = stms;
    b.stms.extend(rest);
    Some(at)
}

/// A statement of the region. The scatter's destination is made before it.
fn region_statement<'b>(stm: &'b Stm, b: &'b Block, ids: &Ids) -> impl Iterator<Item = &'b Stm> {
    let first = std::ptr::eq(stm, &b.stms[ids.scatter]).then(|| &b.stms[ids.replicate]);
    first.into_iter().chain([stm])
}

/// The last statement that uses the row numbers, or what is made of them for each element.
fn last_use(b: &Block, ids: &Ids) -> usize {
    let mut made = BTreeSet::from([ids.array]);
    let mut end = ids.scan;
    let limit = b.stms.len().min(ids.scan + tuning::SEGMENT_STATEMENTS);
    for (i, stm) in b.stms.iter().enumerate().take(limit).skip(ids.scan + 1) {
        if made.iter().any(|v| stm.op.mentions(*v)) {
            end = i;
            if matches!(&stm.op, Op::Kernel(k) if k.space == Space::flat(ids.n) && !scatters(k)) {
                made.extend(stm.pat.iter().map(|p| p.var));
            }
        }
    }
    end
}

fn scatters(k: &Kernel) -> bool {
    let outs = match &k.kind {
        KernelKind::Map(outs) => outs,
        KernelKind::Scan { after: Some(after), .. } => &after.outs,
        _ => return false,
    };
    outs.iter().any(|o| matches!(o, Out::Scatter(_)))
}

/// Variables of the region that the rest of the block uses.
fn needed_after(b: &Block, region: &[Stm], end: usize) -> Vec<par_ir::flat::Param> {
    let mut used: BTreeSet<Var> = b.results.iter().filter_map(|a: &Atom| a.var()).collect();
    b.stms[end + 1..].iter().for_each(|s| used.extend(s.op.free()));
    region.iter().flat_map(|s| &s.pat).filter(|p| used.contains(&p.var)).copied().collect()
}
