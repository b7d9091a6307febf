//! Waves over a matrix, each computed from those before it, run row after row instead.
//!
//! ```text
//! loop xs for q < n do                                      for i in all rows
//!     vs = map over [m q] \pos (… xs[s*i + q - d] …)            for q in the waves with an element in row i
//!     in scatter xs (s*i + q) vs   -- i = lo q + pos    ==>         x[s*i + q] = … x[s*i + q - d] …
//! ```
//!
//! Anti-diagonals of a matrix are such waves: the cells of an alignment, each from its neighbours above and to the left. An element of a wave is in another
//! cache line than the one before it, and in the same as that of the wave before: row by row all is read and written in order, and what the loop
//! writes next to what it reads stays in registers ([`super::recurrences`]).
//!
//! Iterations of the nest are points (i, q). The order may change since every point depends on points of rows before it, or of its own row and waves before.
//! This can be decided where indices are unique: an index is `(s + c)*i + j` with `j = q - c*i`, for `c` 0 or 1, and unique if `j` takes at most
//! `s + c` values, at all points that are written or read. A reduction over the waves looks, before the loop: the bounds of rows and `j`, that first and last
//! rows of waves only grow, and all that the loop would check. Where a check of an element fails, the loop itself runs over what has been written, and fails at
//! its first element: it writes everything again before it reads it.
//!
//! Work: that of the loop. The rows run on one thread; a device that is slow at that keeps the waves.

mod code;
mod find;
mod place;

use crate::flat::in_place_scatters::emit;
use find::Wave;
use par_ir::Vars;
use par_ir::access::{Access, Facts, Form, Symbol};
use par_ir::build::Host;
use par_ir::flat::{Block, Op, Param, Program, Stm, Ty, VersionChoice};
use par_ir::prim::{BinOp, CmpOp, PrimOp};
use par_ir::tuning;
use par_ir::ty::{Atom, Var};
use par_ir::visit::{Code, Subst};
use par_runtime::Prim;

/// Numbers up to this one do not wrap when they are multiplied.
const LARGE: i64 = 1 << 30;

/// In every function of a program.
pub(crate) fn run(program: &mut Program) {
    super::walk::bodies(program, in_block);
}

fn in_block(block: &mut Block, facts: &mut Facts, vars: &mut Vars) {
    let mut at = 0;
    while at < block.stms.len() {
        facts.note(&block.stms[at]);
        let replaced = in_rows(&block.stms[at], facts, vars);
        match replaced {
            Some(stms) => {
                let more = stms.len();
                block.stms.splice(at..=at, stms);
                at += more;
            }
            None => {
                block.stms[at].op.for_each_block_mut(|b| in_block(b, facts, vars));
                at += 1;
            }
        }
    }
}

/// A loop of waves, or the choice between versions of it, behind a choice.
fn in_rows(stm: &Stm, facts: &Facts, vars: &mut Vars) -> Option<Vec<Stm>> {
    let (before, launches) = in_launches(stm);
    if before.is_empty() {
        return Wave::of(launches, facts)?.in_rows(stm, vars);
    }
    let mut facts = facts.clone();
    before.iter().for_each(|s| facts.note(s));
    let mut stms = before.to_vec();
    stms.extend(Wave::of(launches, &facts)?.in_rows(stm, vars)?);
    Some(stms)
}

/// The version in launches of a loop that may also be one kernel, and what is made for it before; anything else as it is.
fn in_launches(stm: &Stm) -> (&[Stm], &Stm) {
    if let Op::If { versions: Some(VersionChoice::Iterations { .. }), other, .. } = &stm.op
        && let Some((last, before)) = other.stms.split_last()
        && last.pat.iter().map(|p| Atom::Var(p.var)).eq(other.results.iter().copied())
        && before.iter().all(|s| matches!(s.op, Op::Replicate(..)))
    {
        return (before, last);
    }
    (&[], stm)
}

/// The results of a reduction over the waves.
pub(super) struct Bounds {
    /// All that is necessary holds in every wave.
    holds: Atom,
    /// First row, and the one behind the last.
    rows: [Atom; 2],
    /// Least and largest `q - i`.
    across: [Atom; 2],
}

impl Wave<'_> {
    /// The loop, or the choice between versions of it, behind a choice.
    fn in_rows(&self, stm: &Stm, vars: &mut Vars) -> Option<Vec<Stm>> {
        let mut host = Host::new(stm, vars);
        // The distance of an element from the one below it.
        let stride = emit(&self.stride, &Access::of(self.scatter, &self.facts), &mut host)?;
        let len = host.value("len", Ty::Scalar(Prim::I64), Op::Length(self.initial)).into();
        let may = self.may_pay(&mut host, stride);
        let then = host.block(|host| {
            let found = self.bounds(host, len);
            let fits = self.fits(host, stride, &found);
            let by_row = host.block(|host| self.by_row(host, &found));
            self.choice(host, fits, None, by_row)
        });
        let [array, again] = self.choice(&mut host, may, Some(VersionChoice::Waves), then)[..] else {
            return None;
        };
        let other = host.block(|_| vec![array]);
        let then = self.from(stm, array, host.vars);
        host.bind(stm.pat.clone(), Op::If { cond: again, versions: None, then, other });
        Some(host.stms)
    }

    /// The array, and whether the loop is still to run: as an arm says, or with nothing done.
    fn choice(&self, host: &mut Host, cond: Atom, versions: Option<VersionChoice>, then: Block) -> Vec<Atom> {
        let other = Block { stms: vec![], results: vec![self.initial.into(), Atom::bool(true)] };
        let (array, again) = (host.vars.fresh_like(self.initial), host.vars.fresh("again"));
        let pat = vec![
            Param { var: array, ty: Ty::Array(self.prim) },
            Param { var: again, ty: Ty::Scalar(Prim::Bool) },
        ];
        host.bind(pat, Op::If { cond, versions, then, other });
        vec![array.into(), again.into()]
    }

    /// A copy of the original statement that starts from this array.
    fn from(&self, stm: &Stm, array: Atom, vars: &mut Vars) -> Block {
        let again = stm.refreshed_with(vars, &mut Subst::from_iter([(self.initial, array)]));
        Block { results: vec![again.pat[0].var.into()], stms: vec![again] }
    }

    /// True if elements of a wave are far from each other, and nothing is so large that it wraps.
    fn may_pay(&self, host: &mut Host, stride: Atom) -> Atom {
        let waves = self.bound;
        let pairs = [
            (Atom::i64(tuning::WAVE_STRIDE), stride),
            (stride, Atom::i64(LARGE)),
            (Atom::i64(1), waves),
            (waves, Atom::i64(LARGE)),
        ];
        let all = pairs.map(|(a, b)| host.compare("far", CmpOp::Le, a, b));
        conjunction(host, all)
    }

    /// True if the order may change.
    fn fits(&self, host: &mut Host, stride: Atom, found: &Bounds) -> Atom {
        let furthest = |of: &dyn Fn(i64, i64) -> i64| self.reads.iter().map(|(i, q)| of(*i, *q)).max();
        // Indices as they are, and with the wave as the sum of both.
        let before = furthest(&|_, q| q).unwrap_or(0).max(0);
        let straight = host.arith("values", BinOp::Add, self.bound, Atom::i64(before));
        let straight = host.compare("unique", CmpOp::Le, straight, stride);
        let below = furthest(&|i, q| q - i).unwrap_or(0).max(0);
        let above = furthest(&|i, q| i - q).unwrap_or(0).max(0);
        let [least, most] = found.across;
        let values = host.arith("values", BinOp::Sub, most, least);
        let values = host.arith("values", BinOp::Add, values, Atom::i64(below + above));
        let skewed = host.compare("unique", CmpOp::Le, values, stride);
        let unique = host.prim("unique", PrimOp::Bin(BinOp::Or, Prim::Bool), vec![straight, skewed]);
        let some = host.compare("some", CmpOp::Lt, found.rows[0], found.rows[1]);
        conjunction(host, [found.holds, unique, some])
    }

    /// Looks at all waves.
    fn bounds(&self, host: &mut Host, len: Atom) -> Bounds {
        let kernel = self.reduction(len, host.like.span, host.vars);
        let prims = [Prim::Bool, Prim::I64, Prim::I64, Prim::I64, Prim::I64];
        let pat: Vec<Param> = prims.map(|p| Param { var: host.vars.fresh("bound"), ty: Ty::Array(p) }).into();
        host.bind(pat.clone(), Op::Kernel(Box::new(kernel)));
        let read = |(p, prim): (&Param, Prim)| {
            host.value("bound", Ty::Scalar(prim), Op::Read(p.var, Atom::i64(0))).into()
        };
        let found: Vec<Atom> = pat.iter().zip(prims).map(read).collect();
        Bounds { holds: found[0], rows: [found[1], found[2]], across: [found[3], found[4]] }
    }

    /// The array after all waves, and whether a check has failed.
    fn by_row(&self, host: &mut Host, found: &Bounds) -> Vec<Atom> {
        let kernel = self.rows(found, host);
        let (array, failed) = (host.vars.fresh_like(self.initial), host.vars.fresh("failed"));
        let pat = vec![
            Param { var: array, ty: Ty::Array(self.prim) },
            Param { var: failed, ty: Ty::Array(Prim::Bool) },
        ];
        host.bind(pat, Op::Kernel(Box::new(kernel)));
        let again = host.value("again", Ty::Scalar(Prim::Bool), Op::Read(failed, Atom::i64(0)));
        vec![array.into(), again.into()]
    }
}

fn conjunction<const N: usize>(host: &mut Host, all: [Atom; N]) -> Atom {
    let and = PrimOp::Bin(BinOp::And, Prim::Bool);
    all.into_iter().reduce(|a, b| host.prim("all", and, vec![a, b])).expect("conditions")
}

/// True if a form is the same in all waves.
fn is_fixed(form: &Form, inside: &[Var]) -> bool {
    form.symbols().into_iter().all(|s| matches!(s, Symbol::Var(v) if !inside.contains(&v)))
}
