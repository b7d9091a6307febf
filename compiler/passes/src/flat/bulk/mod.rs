//! Bulk operations of one FLAT block fused, so that less is stored and read again.
//!
//! ```text
//! bits, is = kernel scan over n { … in (b, b) }        total = kernel reduce over n { … in b }
//! total = kernel reduce over n { bits[pos] }     ==>   ys = kernel scan over n { … in b }
//! js = kernel scan over n { 1 - bits[pos] }                   then (scatter xs) \i j { … }
//! ys = kernel map (scatter xs) over n { … is[pos] js[pos] total … }
//! ```
//!
//! 0. Common subexpressions and copies between kernels are eliminated ([`same`]).
//!    A scan shifted by one behind its neutral element is exclusive ([`exclusive`]).
//! 1. Elements that are cheap to compute are computed where they are read ([`inline`]), if nothing else needs them stored.
//!    The last prefix gets a reduction of its own, if the others need not be stored then ([`totals`]).
//!    A kernel may get more dimensions for that ([`spaces`]).
//!    Rows whose elements are all combined are combined one by one first ([`rows`]).
//! 2. Scans over one space become one ([`scans`]).
//! 3. A map that uses prefixes only at their own position becomes part of the scan ([`after`]).
//!
//! Fusion of CORE has done the same with nests and their producers; this pass sees what flattening has made of them, and scans.
//! No check changes its place among those that may fail ([`order`]). What is unused afterwards is for `prune`.

mod after;
mod concat;
mod exclusive;
mod in_place;
mod inline;
mod maps;
mod order;
pub(crate) mod reads;
mod rows;
mod same;
mod scans;
mod spaces;
mod totals;
mod users;

use par_ir::access::Facts;
use par_ir::flat::{Block, Kernel, Op, Param, Program, Stm};
use par_ir::hash::HashMap;
use par_ir::place::Places;
use par_ir::{Var, Vars};

/// In every function of a program.
pub(crate) fn run(program: &mut Program) {
    let Program { funs, vars, places, .. } = program;
    for f in funs {
        same::Known::default().block(&mut f.body);
        let mut last = totals::Predecessors::default();
        last.note(&f.body);
        let (facts, filled) = (Facts::default(), HashMap::default());
        let mut fuser = Fuser { vars, places, last, facts, filled };
        fuser.note(&f.body);
        fuser.block(&mut f.body);
    }
}

/// The state of fusion besides the block.
struct Fuser<'p> {
    vars: &'p mut Vars,
    places: &'p mut Places,
    last: totals::Predecessors,
    facts: Facts,
    filled: HashMap<Var, concat::Filled>,
}

impl Fuser<'_> {
    /// Notes facts of all statements of a block and those in it.
    fn note(&mut self, block: &Block) {
        for stm in &block.stms {
            self.facts.note(stm);
            self.filled.extend(concat::Filled::of(stm).map(|filled| (stm.pat[0].var, filled)));
            stm.op.for_each_block(|b| self.note(b));
        }
    }

    fn block(&mut self, block: &mut Block) {
        for stm in &mut block.stms {
            stm.op.for_each_block_mut(|b| self.block(b));
        }
        exclusive::sweep(block, self);
        concat::measure(block, self);
        inline::sweep(block, self);
        maps::sweep(block, self);
        rows::sweep(block, self);
        totals::sweep(block, self);
        scans::sweep(block, self);
        after::sweep(block, self);
        after::narrow(block, self);
    }

    /// The statement in place of two.
    fn fused(&mut self, a: &Stm, b: &Stm, pat: Vec<Param>, kernel: Kernel) -> Stm {
        let place = self.places.fused(a.place, b.place);
        Stm { pat, op: Op::Kernel(Box::new(kernel)), span: a.span, place }
    }
}
