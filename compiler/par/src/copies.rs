//! W0601: updates that copy, because the old array is used later.
//!
//! The flat program says it all: an update is in place if its array's last use is there, as code generation finds it
//! (`par_codegen::plan`). Whether the caller of an entry point keeps its arguments is not known here.
//!
//! ```text
//! let ys = xs with [0] = 1 in (ys[0], xs[0])              xs[0] is used later
//! loop s = 0 for i < n do (xs with [i] = 0)[0] + s        the next iteration uses xs again
//! ```

use par_ir::flat::{Block, Fun, KernelKind, LoopForm, Op, Out, Program, Stm};
use par_ir::stack::deeper;
use par_ir::ty::{Atom, Var};
use par_ir::visit::Code;
use par_runtime::Span;
use par_syntax::{Diagnostic, Severity};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// The code of the warnings.
pub(crate) const CODE: &str = "W0601";

/// A use of an array after a statement.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Use {
    /// By a later statement.
    At(Span),
    /// By a statement of the next iteration.
    Next(Span),
    /// As what a loop goes on with.
    State(Span),
    /// As the function's result.
    Result(Span),
}

/// The arrays that are used later, with the nearest use.
type Live = HashMap<Var, Use>;

/// Warnings about a program, one for each update.
pub(crate) fn find(program: &Program) -> Vec<Diagnostic> {
    let mut copies =
        Copies { program, sharing: HashMap::new(), given: HashMap::new(), found: BTreeMap::new() };
    // Until nothing more is known of what functions update.
    loop {
        let known = copies.given.len();
        program.funs.iter().for_each(|fun| copies.function(fun));
        if copies.given.len() == known {
            break;
        }
    }
    copies.found.into_values().map(|(at, used)| warning(at, used)).collect()
}

struct Copies<'a> {
    program: &'a Program,
    /// Arrays that are updated, and where: of the parameters of functions, callers need to know.
    given: HashMap<Var, Span>,
    /// By variable: those whose array it may be, itself included.
    sharing: HashMap<Var, BTreeSet<Var>>,
    /// Updates by their places, with the later use.
    found: BTreeMap<(u32, u32, u32), (Span, Use)>,
}

impl Copies<'_> {
    fn function(&mut self, fun: &Fun) {
        self.share(&fun.body);
        self.block(&fun.body, Live::new(), Use::Result(fun.span));
    }

    /// Finds which variables may be one array, from the first statement to the last.
    fn share(&mut self, block: &Block) {
        deeper(|| self.share_in(block));
    }

    fn share_in(&mut self, block: &Block) {
        for stm in &block.stms {
            let of: Vec<BTreeSet<Var>> = match &stm.op {
                Op::Atom(a) => vec![self.of(a)],
                Op::Append(vs) => vec![vs.iter().flat_map(|v| self.of(&Atom::Var(*v))).collect()],
                Op::If { then, other, .. } => {
                    [then, other].into_iter().for_each(|arm| self.share(arm));
                    let both = then.results.iter().zip(&other.results);
                    both.map(|(a, b)| &self.of(a) | &self.of(b)).collect()
                }
                Op::Loop { params, body, .. } => {
                    for (p, init) in params {
                        self.name(p.var, self.of(init));
                    }
                    stm.op.blocks().into_iter().for_each(|b| self.share(b));
                    params
                        .iter()
                        .zip(&body.results)
                        .map(|((_, init), r)| &self.of(init) | &self.of(r))
                        .collect()
                }
                op => {
                    op.blocks().into_iter().for_each(|b| self.share(b));
                    Vec::new()
                }
            };
            stm.pat.iter().zip(of).for_each(|(p, of)| self.name(p.var, of));
        }
    }

    fn name(&mut self, v: Var, mut of: BTreeSet<Var>) {
        of.insert(v);
        self.sharing.insert(v, of);
    }

    fn of(&self, a: &Atom) -> BTreeSet<Var> {
        match a {
            Atom::Var(v) => self.sharing.get(v).cloned().unwrap_or_else(|| BTreeSet::from([*v])),
            Atom::Const(_) => BTreeSet::new(),
        }
    }

    /// From the last statement to the first: what is used later is known. Gives what is used in the block or later.
    fn block(&mut self, block: &Block, mut live: Live, result: Use) -> Live {
        live.extend(block.results.iter().filter_map(|a| Some((a.var()?, result))));
        for stm in block.stms.iter().rev() {
            for p in &stm.pat {
                live.remove(&p.var);
            }
            deeper(|| self.inside(stm, &mut live));
            self.updates(stm, &live);
            stm.op.for_each_operand(&mut |a| live.extend(a.var().map(|v| (v, Use::At(stm.span)))));
        }
        live
    }

    /// The blocks of a statement.
    fn inside(&mut self, stm: &Stm, live: &mut Live) {
        match &stm.op {
            Op::If { then, other, .. } => {
                let arms = [then, other].map(|arm| self.block(arm, live.clone(), Use::At(stm.span)));
                arms.into_iter().for_each(|arm| live.extend(arm));
            }
            Op::Loop { params, form, body } => {
                let mut after = live.clone();
                let mut outside = body.free();
                if let LoopForm::While(cond) = form {
                    outside.extend(cond.free());
                }
                outside.retain(|v| !params.iter().any(|(p, _)| p.var == *v));
                // The next iteration uses what comes from outside again.
                let mut uses = HashMap::new();
                stm.op.blocks().into_iter().for_each(|b| first_uses(b, &mut uses));
                for v in outside {
                    after.entry(v).or_insert(Use::Next(uses.get(&v).copied().unwrap_or(stm.span)));
                }
                let inner = self.block(body, after, Use::State(stm.span));
                live.extend(inner.into_iter().filter(|(v, _)| !params.iter().any(|(p, _)| p.var == *v)));
            }
            op => {
                for b in op.blocks() {
                    let inner = self.block(b, live.clone(), Use::At(stm.span));
                    live.extend(inner);
                }
            }
        }
    }

    /// Notes the updates of a statement, its own and those of the function that it calls.
    fn updates(&mut self, stm: &Stm, live: &Live) {
        if let Op::Call(fun, args) = &stm.op {
            let program = self.program;
            for (p, a) in program.funs[fun.0 as usize].params.iter().zip(args) {
                if let (Some(at), Atom::Var(v)) = (self.given.get(&p.var).copied(), a) {
                    self.updated(*v, at, live);
                }
            }
        }
        let all = updated(&stm.op);
        for (i, v) in all.iter().enumerate() {
            self.updated(*v, stm.span, live);
            if all[..i].contains(v) {
                self.note(stm.span, Use::At(stm.span));
            }
        }
    }

    /// Notes an update of an array that is used later.
    fn updated(&mut self, v: Var, at: Span, live: &Live) {
        let mine = self.of(&Atom::Var(v));
        for v in &mine {
            self.given.entry(*v).or_insert(at);
        }
        let shared = |(w, _): &(&Var, &Use)| !self.of(&Atom::Var(**w)).is_disjoint(&mine);
        let later = live.iter().filter(shared);
        // The first in the text, so that the same is said every time.
        let Some(used) = later.map(|(_, used)| used).min_by_key(|used| used.order()) else { return };
        self.note(at, *used);
    }

    fn note(&mut self, at: Span, used: Use) {
        self.found.entry((at.file, at.start, at.end)).or_insert((at, used));
    }
}

impl Use {
    fn order(self) -> (u32, u32) {
        match self {
            Use::At(s) => (0, s.start),
            Use::Next(s) => (1, s.start),
            Use::State(s) => (2, s.start),
            Use::Result(s) => (3, s.start),
        }
    }
}

/// The arrays that a statement updates.
fn updated(op: &Op) -> Vec<Var> {
    let Op::Kernel(k) = op else {
        return if let Op::Write { arr, .. } = op { vec![*arr] } else { Vec::new() };
    };
    let outs = match &k.kind {
        KernelKind::Hist { dests, .. } => return dests.clone(),
        KernelKind::Map(outs) => &outs[..],
        KernelKind::Scan { after: Some(after), .. } => &after.outs[..],
        _ => &[],
    };
    let of = |out: &Out| match out {
        Out::Scatter(dests) => dests.clone(),
        Out::Own { dest, .. } => vec![*dest],
        Out::Elem(_) | Out::Row(..) => Vec::new(),
    };
    outs.iter().flat_map(of).collect()
}

/// Adds where variables are used first in a block.
fn first_uses(block: &Block, out: &mut HashMap<Var, Span>) {
    for stm in &block.stms {
        stm.op.for_each_operand(&mut |a| {
            if let Atom::Var(v) = a {
                out.entry(v).or_insert(stm.span);
            }
        });
        stm.op.for_each_block(|b| first_uses(b, out));
    }
}

fn warning(at: Span, used: Use) -> Diagnostic {
    let message = "an update copies its array, because the old one is used later";
    let diag = Diagnostic::new(Severity::Warning, CODE, message, at).here("all elements are copied here");
    match used {
        Use::At(span) if span != at => diag.label(span, "here the old array is used again"),
        Use::At(_) => diag.note("the same operation uses the old array again"),
        Use::Next(span) if span != at => diag.label(span, "here the next iteration uses the old array again"),
        Use::Next(_) => {
            diag.note("the next iteration updates the old array again: make it part of the loop's state")
        }
        Use::State(span) => diag.label(span, "the old array is part of this loop's state, too"),
        Use::Result(_) => diag.note("the old array is part of the result, too"),
    }
}
