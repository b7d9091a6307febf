//! Positions in segments, in each of which the answers of comparisons and quotients of positions are known before it begins.
//!
//! ```text
//! for pos in start .. end                        at = start
//!     c = le pos k                               while at < end
//!     x = if c then as[pos]                          stop = min end (the first edge after at)
//!         else { y = as[k]  in as[pos] - y }   ==>   c = le at k
//!     out[pos] = x                                   if c then for pos in at .. stop { out[pos] = as[pos] }
//!                                                    else { y = as[k]
//!                                                           for pos in at .. stop { out[pos] = as[pos] - y } }
//!                                                    at = stop
//! ```
//!
//! So a body has no branches for edges, and groups are not left there. What is the same at all positions of a segment is computed once.
//!
//! Segments are known in their order if branches are all that the comparisons are for, and each changes at one place: rows that are put
//! together of others. Then there is a loop for each of them, one after the other, also in short rows.
//!
//! ```text
//!                                                       edge = min (max start (start + (k - i))) end
//!     c = lt i k                                        for pos in start .. edge { out[pos] = as[i] }
//!     x = if c then as[i] else bs[i - k]         ==>    for pos in edge .. end { out[pos] = bs[i - k] }
//! ```

use super::clamps::Clamps;
use super::edges::Edges;
use super::{iterations, plan};
use crate::cpu::emit::{Emitter, Ends, Result, args};
use crate::cpu::fresh::Fresh;
use crate::cpu::kernel::KernelInfo;
use crate::free::for_each_use;
use cranelift::prelude::*;
use par_ir::access::Facts;
use par_ir::core::{Body, Exp, LoopForm, Repeat, Stm};
use par_ir::effects::Effects;
use par_ir::flat::{Kernel, KernelKind};
use par_ir::hash::{HashMap, HashSet};
use par_ir::prim::{BinOp, CmpOp, PrimOp};
use par_ir::tuning;
use par_ir::ty::Atom;
use par_ir::visit::{Code, Subst};
use par_ir::{Prim, Scalar, Var};

/// A body in segments of its positions.
pub struct Segments {
    pos: Var,
    /// Errors are at these positions.
    is_map: bool,
    case: Case,
    /// The loop body before the index range was cut into segments.
    whole: Body,
}

/// Code for some of the positions.
struct Case {
    /// The same at all of them.
    before: Vec<Stm>,
    then: Then,
}

enum Then {
    Choice(Atom, Box<[Case; 2]>),
    /// The positions in segments.
    Edges(Box<Edges>, Box<Case>),
    /// The positions in segments whose order is known.
    Pieces(Box<Edges>, Pieces),
    Straight(Body),
    /// The same for few positions, one after the other.
    Singly(Body),
}

/// Segments one after the other.
enum Pieces {
    One(Box<Case>),
    /// The pieces before a place, and the others from there on.
    Two(Atom, Box<[Pieces; 2]>),
}

impl Pieces {
    fn any(&self, f: &dyn Fn(&Body) -> bool) -> bool {
        match self {
            Pieces::One(case) => case.any(f),
            Pieces::Two(_, parts) => parts.iter().any(|p| p.any(f)),
        }
    }
}

impl Segments {
    /// Positions from which on segments pay.
    fn least(&self) -> i64 {
        match self.case.then {
            Then::Pieces(..) => tuning::PIECES_POSITIONS,
            _ => tuning::CASES_POSITIONS,
        }
    }

    /// Of a map whose body is done in groups.
    pub fn of_map(e: &Emitter, info: &KernelInfo) -> Option<Segments> {
        let kernel = info.kernel;
        if !matches!(kernel.kind, KernelKind::Map(_)) {
            return None;
        }
        let is_fixed = |v: Var| e.bound.arrays.get(&v).is_some_and(|a| !a.changes);
        let segments = Segments::new(kernel.pos, (e.fresh, e.facts), &kernel.body, &is_fixed, &|body| {
            let kernel = Kernel { body: body.clone(), ..kernel.clone() };
            plan(&info.with_kernel(&kernel), e.width).is_some()
        });
        segments.map(|p| Segments { is_map: true, ..p })
    }

    /// Of a loop that updates arrays and whose iterations are done in groups.
    pub fn of_loop(e: &Emitter, of: Repeat) -> Option<Segments> {
        let LoopForm::For { index, prim: Prim::I64, .. } = of.form else { return None };
        let params = of.params;
        if params.is_empty() || params.iter().any(|(p, _)| p.ty.is_scalar()) {
            return None;
        }
        let place = |v: &Var| e.bound.arrays.get(v).map(|a| a.address);
        let written: HashSet<Option<Value>> = params.iter().map(|(p, _)| place(&p.var)).collect();
        let is_fixed = |v: Var| place(&v).is_some_and(|a| !written.contains(&Some(a)));
        Segments::new(*index, (e.fresh, e.facts), of.body, &is_fixed, &|body| {
            iterations(Repeat { body, ..of }, e.fresh, e.width).is_some()
        })
    }

    /// `is_fixed` says which arrays are the same at all positions, `pays` which bodies are done in groups.
    fn new(
        pos: Var,
        (fresh, facts): (&Fresh, &Facts),
        body: &Body,
        is_fixed: &dyn Fn(Var) -> bool,
        pays: &dyn Fn(&Body) -> bool,
    ) -> Option<Segments> {
        let (mut equalities, choices) =
            (HashMap::default(), tuning::CASES.min(tuning::CASES_STATEMENTS / length(body).max(1)));
        note_equalities(body, &mut equalities);
        let mut cases = Cases { pos, fresh, facts, edges: None, is_fixed, equalities, choices };
        let case = cases.case(HashSet::from_iter([pos]), body.clone());
        let is_whole = matches!(case.then, Then::Straight(_));
        let pays = !is_whole && (case.any(pays) || case.edges().iter().any(|e| e.divides()));
        pays.then(|| Segments { pos, is_map: false, case, whole: body.clone() })
    }
}

impl Case {
    /// All that positions are divided by.
    fn edges(&self) -> Vec<&Edges> {
        match &self.then {
            Then::Choice(_, cases) => cases.iter().flat_map(Case::edges).collect(),
            // There are none inside.
            Then::Edges(edges, _) => vec![edges],
            Then::Straight(_) | Then::Singly(_) | Then::Pieces(..) => vec![],
        }
    }

    fn any(&self, f: &dyn Fn(&Body) -> bool) -> bool {
        match &self.then {
            Then::Choice(_, cases) => cases.iter().any(|c| c.any(f)),
            Then::Edges(_, case) => case.any(f),
            Then::Pieces(_, pieces) => pieces.any(f),
            Then::Straight(body) => f(body),
            Then::Singly(_) => false,
        }
    }
}

/// Cases under construction: first by what is the same at all positions, then by what is the same between edges.
struct Cases<'c> {
    pos: Var,
    fresh: &'c Fresh,
    facts: &'c Facts,
    edges: Option<&'c Edges>,
    is_fixed: &'c dyn Fn(Var) -> bool,
    /// Conditions that ask whether numbers are equal, and the answer that few positions give.
    equalities: HashMap<Atom, bool>,
    /// Number of further choices that are allowed.
    choices: usize,
}

impl Cases<'_> {
    /// Cases of an arm: that of few positions is not divided further.
    fn with_choices(&mut self, any: bool, arm: impl FnOnce(&mut Self) -> Case) -> Case {
        let before = self.choices;
        self.choices = if any { before } else { 0 };
        let case = arm(self);
        if !any {
            self.choices = before;
        }
        case
    }

    /// Of a body, where these variables differ from position to position.
    fn case(&mut self, mut differ: HashSet<Var>, body: Body) -> Case {
        let (mut before, mut stays) = (Vec::new(), Vec::new());
        let mut stms = body.stms.into_iter();
        // Whether everything with an effect so far is before the positions.
        let mut is_checked = true;
        while let Some(stm) = stms.next() {
            if let Some((start, rest)) = self.edges.and_then(|e| e.remainder(&stm, self.fresh)) {
                differ.extend(stm.pat.iter().map(|p| p.var));
                before.extend(start);
                stays.push(rest);
                continue;
            }
            if let Some(stm) = self.once(&stm, &differ, is_checked) {
                before.push(stm);
                continue;
            }
            let rest = Rest { stms: stms.as_slice(), results: &body.results };
            if let Some(taken) = known_arm(&stm) {
                let rest = in_place_of(&stm, &taken.stms, &taken.results, rest);
                let body = Body { stms: [stays, rest.stms].concat(), results: rest.results };
                let case = self.case(differ, body);
                return Case { before: [before, case.before].concat(), ..case };
            }
            if let Some((cond, arms)) = self.choice(&stm, &differ, rest) {
                let rare = self.equalities.get(&cond).copied();
                let cases = [true, false].map(|holds| {
                    let arm = &arms[usize::from(!holds)];
                    let stms = stays.iter().chain(&arm.stms).cloned().collect();
                    let body = Body { stms, results: arm.results.clone() };
                    self.with_choices(rare != Some(holds), |cases| cases.case(differ.clone(), body))
                });
                return Case { before, then: Then::Choice(cond, Box::new(cases)) };
            }
            is_checked &= !stm.has_effect();
            differ.extend(stm.pat.iter().map(|p| p.var));
            stays.push(stm);
        }
        Case { before, then: self.between_edges(Body { stms: stays, results: body.results }) }
    }

    fn between_edges(&mut self, body: Body) -> Then {
        if self.edges.is_some() {
            return Then::Straight(body);
        }
        if let Some(then) = self.inside_clamps(&body) {
            return then;
        }
        let edges = Edges::new(self.pos, &body, self.facts, self.fresh);
        if edges.is_empty() {
            return Then::Straight(body);
        }
        if let Some(pieces) = self.pieces_between(&edges, &body) {
            return Then::Pieces(Box::new(edges), pieces);
        }
        let case = self.inside_edges(&edges, body);
        Then::Edges(Box::new(edges), Box::new(case))
    }

    /// Segments in their order, if the edges are those of branches and nothing else.
    fn pieces_between(&self, edges: &Edges, body: &Body) -> Option<Pieces> {
        let (choices, statements) = (self.choices, tuning::CASES_STATEMENTS);
        let mut left = Left { turned: HashSet::default(), choices, statements };
        let pieces = self.pieces(edges, body.clone(), &mut left)?;
        (left.turned.len() == edges.count()).then_some(pieces)
    }

    fn pieces(&self, edges: &Edges, body: Body, left: &mut Left) -> Option<Pieces> {
        let found = body.stms.iter().enumerate().find_map(|(i, stm)| match &stm.exp {
            Exp::If { cond: Atom::Var(c), then, other } => Some((i, (*c, edges.turn(*c)?, [then, other]))),
            _ => None,
        });
        let Some((i, (cond, turn, arms))) = found else {
            left.statements = left.statements.checked_sub(length(&body))?;
            let none = Edges::default();
            let (edges, equalities) = (Some(&none), HashMap::default());
            let Cases { pos, fresh, facts, is_fixed, .. } = *self;
            let mut cases = Cases { pos, fresh, facts, is_fixed, edges, equalities, choices: 0 };
            return Some(Pieces::One(Box::new(cases.case(HashSet::from_iter([self.pos]), body))));
        };
        left.turned.insert(cond);
        left.choices = left.choices.checked_sub(1)?;
        let rest = Rest { stms: &body.stms[i + 1..], results: &body.results };
        let mut parts = arms.map(|arm| {
            let arm = in_place_of(&body.stms[i], &arm.stms, &arm.results, rest);
            let stms = body.stms[..i].iter().cloned().chain(arm.stms);
            let whole = Body { stms: stms.collect(), results: arm.results };
            self.pieces(edges, without_unused(whole, cond), left)
        });
        if !turn.holds_before {
            parts.reverse();
        }
        let [Some(before), Some(behind)] = parts else { return None };
        Some(Pieces::Two(turn.place, Box::new([before, behind])))
    }

    fn inside_edges(&mut self, edges: &Edges, body: Body) -> Case {
        let equalities = std::mem::take(&mut self.equalities);
        let mut cases = Cases { edges: Some(edges), equalities, ..*self };
        let case = cases.case(HashSet::from_iter([self.pos]), body);
        (self.choices, self.equalities) = (cases.choices, cases.equalities);
        case
    }

    /// Segments in each of which either no clamp changes anything, or positions are few.
    fn inside_clamps(&mut self, body: &Body) -> Option<Then> {
        let choices = self.choices.checked_sub(1)?;
        let clamps = Clamps::of(self.pos, body, self.fresh)?;
        let stms = clamps.condition.iter().chain(&clamps.body.stms).cloned().collect();
        let both = Body { stms, results: clamps.body.results.clone() };
        let edges = Edges::new(self.pos, &both, self.facts, self.fresh);
        if !clamps.compared.iter().all(|v| edges.settles(*v)) {
            return None;
        }
        self.choices = choices;
        let outside = Case { before: vec![], then: Then::Singly(body.clone()) };
        let cases = [self.inside_edges(&edges, clamps.body), outside];
        let case = Case { before: clamps.condition, then: Then::Choice(clamps.holds, Box::new(cases)) };
        Some(Then::Edges(Box::new(edges), Box::new(case)))
    }

    /// A condition that is the same at all positions, and what is done from a statement on if it holds and if not.
    fn choice(&mut self, stm: &Stm, differ: &HashSet<Var>, rest: Rest) -> Option<(Atom, [Body; 2])> {
        let is_same = |a: &Atom| a.var().is_none_or(|v| !differ.contains(&v));
        let (cond, arms) = match &stm.exp {
            Exp::If { cond, then, other } if is_same(cond) => {
                let computes = |b: &Body| b.stms.iter().any(|s| !matches!(s.exp, Exp::Atom(_)));
                if !computes(then) && !computes(other) {
                    return None;
                }
                (*cond, [then, other].map(|arm| in_place_of(stm, &arm.stms, &arm.results, rest)))
            }
            // An index is linear in each arm: neighbours around a ring.
            Exp::Prim(PrimOp::Select(Prim::I64), xs) if is_same(&xs[0]) && !xs[1..].iter().all(is_same) => {
                (xs[0], [xs[1], xs[2]].map(|x| in_place_of(stm, &[], &[x], rest)))
            }
            Exp::Prim(PrimOp::Bin(op @ (BinOp::Or | BinOp::And), Prim::Bool), xs)
                if is_condition(stm.pat[0].var, rest) =>
            {
                let (cond, other) = match is_same(&xs[0]) {
                    true => (xs[0], xs[1]),
                    false if is_same(&xs[1]) => (xs[1], xs[0]),
                    false => return None,
                };
                let decided = Atom::Const(Scalar::Bool(*op == BinOp::Or));
                let results = if *op == BinOp::Or { [decided, other] } else { [other, decided] };
                (cond, results.map(|x| in_place_of(stm, &[], &[x], rest)))
            }
            _ => return None,
        };
        self.choices = self.choices.checked_sub(1)?;
        Some((cond, arms))
    }

    /// A statement as it is done once before all positions, if that may be.
    fn once(&self, stm: &Stm, differ: &HashSet<Var>, is_checked: bool) -> Option<Stm> {
        if let Some(settled) = self.edges.and_then(|e| e.settled(stm)) {
            return Some(settled);
        }
        // If it fails it does so at the first position.
        let first = match (&stm.exp, self.edges) {
            (Exp::Check { .. }, Some(edges)) => edges.at_first(stm),
            _ => stm.clone(),
        };
        self.is_same(&first, differ, is_checked).then_some(first)
    }

    /// True if a statement may be done once before all positions: it is the same at all of them.
    fn is_same(&self, stm: &Stm, differ: &HashSet<Var>, is_checked: bool) -> bool {
        let mut same = true;
        for_each_use(stm, &mut |v| same &= !differ.contains(&v));
        match &stm.exp {
            Exp::Atom(_) => same && stm.pat.iter().all(|p| p.ty.is_scalar()),
            Exp::Prim(op, _) => same && (is_checked || !op.divides()),
            Exp::Index(arr, _) => same && is_checked && (self.is_fixed)(*arr),
            Exp::Check { .. } => same && is_checked,
            _ => false,
        }
    }
}

/// Pieces under construction.
struct Left {
    /// Comparisons that branches are for.
    turned: HashSet<Var>,
    /// The branches and statements that there may be besides.
    choices: usize,
    statements: usize,
}

/// A body without the statement that binds a variable, if nothing uses it.
fn without_unused(mut body: Body, v: Var) -> Body {
    let mut used = body.results.contains(&Atom::Var(v));
    body.stms.iter().for_each(|s| for_each_use(s, &mut |u| used |= u == v));
    if !used {
        body.stms.retain(|s| s.pat.iter().all(|p| p.var != v));
    }
    body
}

/// The rest of a body, behind a statement.
#[derive(Clone, Copy)]
struct Rest<'b> {
    stms: &'b [Stm],
    results: &'b [Atom],
}

/// The arm of a branch that is taken, if that is known.
fn known_arm(stm: &Stm) -> Option<&Body> {
    match &stm.exp {
        Exp::If { cond: Atom::Const(Scalar::Bool(holds)), then, other } => {
            Some(if *holds { then } else { other })
        }
        _ => None,
    }
}

/// Statements with these results in place of a statement, and the rest of the body.
fn in_place_of(stm: &Stm, stms: &[Stm], results: &[Atom], rest: Rest) -> Body {
    let known: Subst = stm.pat.iter().map(|p| p.var).zip(results.iter().copied()).collect();
    let rest = Body { stms: rest.stms.to_vec(), results: rest.results.to_vec() }.substituted(&known);
    Body { stms: stms.iter().cloned().chain(rest.stms).collect(), results: rest.results }
}

/// True if the rest of a body branches on a variable.
fn is_condition(v: Var, rest: Rest) -> bool {
    rest.stms.iter().any(|s| matches!(s.exp, Exp::If { cond, .. } if cond == Atom::Var(v)))
}

fn note_equalities(body: &Body, found: &mut HashMap<Atom, bool>) {
    for stm in &body.stms {
        if let Exp::Prim(PrimOp::Cmp(op @ (CmpOp::Eq | CmpOp::Ne), _), _) = &stm.exp {
            found.insert(Atom::Var(stm.pat[0].var), *op == CmpOp::Eq);
        }
        stm.exp.for_each_body(|b| note_equalities(b, found));
    }
}

/// Statements of a body, those inside included.
fn length(body: &Body) -> usize {
    let inside = |s: &Stm| s.exp.own_bodies().into_iter().map(length).sum::<usize>();
    body.stms.iter().map(|s| 1 + inside(s)).sum()
}

/// Code for segments that is being made.
struct Run<'p, 'a> {
    segments: &'p Segments,
    /// Does all positions in one segment.
    short: Block,
    straight: Straight<'p, 'a>,
}

/// Code for a body at the positions of a range; in groups or not.
type Straight<'f, 'a> = &'f mut dyn FnMut(&mut Emitter<'a>, &Body, Ends, bool) -> Result;

impl<'a> Emitter<'a> {
    /// All positions from `start` to `end`, in segments.
    pub fn segments(
        &mut self,
        segments: &Segments,
        (start, end): Ends,
        straight: Straight<'_, 'a>,
    ) -> Result {
        let (long, short, done) = (self.b.create_block(), self.b.create_block(), self.b.create_block());
        let count = self.b.ins().isub(end, start);
        let is_long = self.b.ins().icmp_imm_s(IntCC::SignedGreaterThanOrEqual, count, segments.least());
        self.b.ins().brif(is_long, long, &[], short, &[]);
        self.b.switch_to_block(long);
        let mut run = Run { segments, short, straight };
        self.case(&mut run, &segments.case, (start, end))?;
        self.b.ins().jump(done, &[]);
        self.b.switch_to_block(short);
        (run.straight)(self, &segments.whole, (start, end), false)?;
        self.b.ins().jump(done, &[]);
        self.b.switch_to_block(done);
        Ok(())
    }

    /// Emits the code for the positions from `start` on, of which there is at least one.
    fn case(&mut self, run: &mut Run<'_, 'a>, case: &Case, (start, end): Ends) -> Result {
        if run.segments.is_map {
            self.exits.pos = start.into();
        }
        self.bound.scalars.insert(run.segments.pos, start);
        self.stms(&case.before)?;
        match &case.then {
            Then::Straight(body) => (run.straight)(self, body, (start, end), true),
            Then::Singly(body) => (run.straight)(self, body, (start, end), false),
            Then::Edges(edges, case) => self.between_edges(run, edges, case, (start, end)),
            Then::Pieces(edges, pieces) => {
                self.stms(edges.operands())?;
                if let Some(any_large) = self.places(edges, start)?.any_large {
                    let on = self.b.create_block();
                    self.b.ins().brif(any_large, run.short, &[], on, &[]);
                    self.b.switch_to_block(on);
                }
                self.pieces(run, pieces, (start, end))
            }
            Then::Choice(cond, cases) => {
                let cond = self.atom(cond)?;
                let b = &mut self.b;
                let (yes, no, join) = (b.create_block(), b.create_block(), b.create_block());
                self.b.ins().brif(cond, yes, &[], no, &[]);
                // Code for a segment binds the same variables at other positions.
                let scalars = self.bound.scalars.clone();
                for (block, case) in [yes, no].into_iter().zip(cases.iter()) {
                    self.bound.scalars.clone_from(&scalars);
                    self.b.switch_to_block(block);
                    self.case(run, case, (start, end))?;
                    self.b.ins().jump(join, &[]);
                }
                self.b.switch_to_block(join);
                Ok(())
            }
        }
    }

    /// One segment after the other; the operands of the comparisons are bound for the first position.
    fn pieces(&mut self, run: &mut Run<'_, 'a>, pieces: &Pieces, (start, end): Ends) -> Result {
        match pieces {
            Pieces::Two(place, parts) => {
                let place = self.atom(place)?;
                let place = self.b.ins().smax(place, start);
                let place = self.b.ins().smin(place, end);
                self.pieces(run, &parts[0], (start, place))?;
                self.pieces(run, &parts[1], (place, end))
            }
            Pieces::One(case) => {
                let (some, done) = (self.b.create_block(), self.b.create_block());
                let is_some = self.b.ins().icmp(IntCC::SignedLessThan, start, end);
                self.b.ins().brif(is_some, some, &[], done, &[]);
                self.b.switch_to_block(some);
                let scalars = self.bound.scalars.clone();
                self.case(run, case, (start, end))?;
                self.bound.scalars = scalars;
                self.b.ins().jump(done, &[]);
                self.b.switch_to_block(done);
                Ok(())
            }
        }
    }

    fn between_edges(
        &mut self,
        run: &mut Run<'_, 'a>,
        edges: &Edges,
        case: &Case,
        (start, end): Ends,
    ) -> Result {
        if let Some(is_seldom) = self.is_seldom(edges)? {
            self.go_on_if(is_seldom, run.short, &[]);
        }
        let before = match edges.divides() {
            true => None,
            false => {
                self.stms(edges.operands())?;
                Some(self.places(edges, start)?)
            }
        };
        let (again, done) = (self.b.create_block(), self.b.create_block());
        let at = self.params_like(again, &[start])[0];
        self.b.ins().jump(again, &args(&[start]));
        self.b.switch_to_block(again);
        self.bound.scalars.insert(run.segments.pos, at);
        self.stms(edges.operands())?;
        let places = match before {
            Some(places) => places,
            None => self.places(edges, at)?,
        };
        let stop = self.next_edge(&places, at, end);
        self.case(run, case, (at, stop))?;
        self.nest.loops += 1;
        let repeat = self.b.ins().icmp(IntCC::SignedLessThan, stop, end);
        self.b.ins().brif(repeat, again, &args(&[stop]), done, &[]);
        self.b.switch_to_block(done);
        Ok(())
    }
}
