//! Operators of reductions: which of their results may be combined in what order.
//!
//! ```text
//! reduce \x i s a b y j t c d ->
//!     l = lt x y                          x, i    kept: a group is left unless l holds in all lanes
//!     x' = select l x y
//!     i' = select l i j
//!     s' = add s t                        s       an accumulator of its own in every lane
//!     a' = sub (mul a c) (mul b d)        a, b    accumulators that go together in every lane: it makes no
//!     b' = add (mul a d) (mul b c)                difference which operand is the first
//! ```
//!
//! If a result depends on the order in any other way, all of them are combined in order: a lane has a run of neighbouring positions,
//! and the results of the lanes are combined one after the other.

use super::reduce::{Lane, any_order, own};
use crate::cpu::small_integers::needed;
use par_ir::Var;
use par_ir::core::{Body, Exp, Lambda, Param, Stm};
use par_ir::effects::Effects;
use par_ir::hash::{HashMap, HashSet};
use par_ir::prim::{BinOp, CmpOp, PrimOp, UnOp};
use par_ir::ty::Atom;
use par_ir::{Prim, Scalar, tuning};

/// Choices and conditions one in the other that are looked into.
const DEPTH: usize = 6;

/// The results of an operator, as they are combined in lanes.
#[derive(Clone)]
pub struct Reduction {
    pub parts: Vec<Part>,
    /// Elements are combined in the order of their positions, a run of these in every lane.
    pub in_order: bool,
}

/// Results of an operator that depend on each other, and on no others.
#[derive(Clone)]
pub enum Part {
    /// One that is combined in any order, see [`Lane`].
    Own(usize, Lane),
    /// They stay what they were, on this condition.
    Kept(Kept),
    /// They are combined in lanes.
    Together(Together),
}

/// Results that an operator often leaves as they are.
#[derive(Clone)]
pub struct Kept {
    pub components: Vec<usize>,
    pub params: Vec<Param>,
    /// Any of these is enough, each with what it takes to compute it.
    pub clauses: Vec<(Vec<Stm>, Keep)>,
}

/// Results of an operator with an accumulator each in every lane.
#[derive(Clone)]
pub struct Together {
    pub components: Vec<usize>,
    /// The parameters and results of these components.
    pub op: Lambda,
}

/// A condition.
#[derive(Clone, PartialEq)]
pub enum Keep {
    Always,
    Never,
    /// A flag has this value.
    Flag(Var, bool),
    Both(Box<Keep>, Box<Keep>),
    Either(Box<Keep>, Box<Keep>),
}

impl Reduction {
    /// Of an operator; none if it does more than to compute.
    pub fn new(op: &Lambda) -> Option<Reduction> {
        let operator = Operator::new(op)?;
        if !any_order(op) && operator.stms.len() > tuning::LANES_OPERATOR {
            return None;
        }
        let parts: Option<Vec<Part>> = operator.clusters().into_iter().map(|c| operator.part(c)).collect();
        Some(match parts {
            Some(parts) => Reduction { parts, in_order: false },
            None => {
                let all = (0..operator.results.len()).collect();
                Reduction { parts: vec![Part::Together(operator.together(all))], in_order: true }
            }
        })
    }

    /// True if every result has an accumulator of its own.
    pub fn is_own(&self) -> bool {
        self.parts.iter().all(|p| matches!(p, Part::Own(..)))
    }

    /// True if results are those of taking one element after the other, whatever the operator.
    pub fn is_sequential(&self) -> bool {
        self.parts.iter().all(|p| matches!(p, Part::Kept(_)))
    }

    /// True if a group may be left because of its elements.
    pub fn keeps(&self) -> bool {
        self.parts.iter().any(|p| matches!(p, Part::Kept(_)))
    }

    /// Components that are not in lanes.
    pub fn kept(&self) -> HashSet<usize> {
        let kept = |p: &Part| if let Part::Kept(k) = p { k.components.clone() } else { vec![] };
        self.parts.iter().flat_map(kept).collect()
    }

    /// The computation of a group, with the accumulators as results.
    pub fn body(&self, op: &Lambda) -> Body {
        let (mut stms, mut results) = (vec![], vec![]);
        for part in &self.parts {
            match part {
                Part::Own(i, _) => {
                    stms.extend(needed(&op.body.stms, &op.body.results[*i..=*i]));
                    results.push(op.body.results[*i]);
                }
                Part::Kept(kept) => stms.extend(kept.clauses.iter().flat_map(|(s, _)| s.iter().cloned())),
                Part::Together(t) => {
                    stms.extend(t.op.body.stms.iter().cloned());
                    results.extend(&t.op.body.results);
                }
            }
        }
        Body { stms, results }
    }
}

/// An operator that only computes, without branches.
pub fn straightened(op: &Lambda) -> Option<Lambda> {
    let operator = Operator::new(op)?;
    let is_short = operator.stms.len() <= tuning::LANES_OPERATOR;
    is_short.then(|| operator.together((0..operator.results.len()).collect()).op)
}

/// An operator without branches.
struct Operator<'o> {
    op: &'o Lambda,
    stms: Vec<Stm>,
    results: &'o [Atom],
    bound: HashMap<Var, Exp>,
}

impl<'o> Operator<'o> {
    fn new(op: &'o Lambda) -> Option<Self> {
        let mut stms = vec![];
        straight(&op.body, false, &mut stms)?;
        let bound = stms.iter().map(|s| (s.pat[0].var, s.exp.clone())).collect();
        Some(Operator { op, stms, results: &op.body.results, bound })
    }

    fn exp(&self, a: &Atom) -> Option<&Exp> {
        self.bound.get(&a.var()?)
    }

    /// The component of a parameter.
    fn component(&self, v: Var) -> Option<usize> {
        self.op.params.iter().position(|p| p.var == v).map(|i| i % self.results.len())
    }

    /// Components of which results depend on each other.
    fn clusters(&self) -> Vec<Vec<usize>> {
        let mut clusters: Vec<Vec<usize>> = vec![];
        for (i, result) in self.results.iter().enumerate() {
            let mut mine: HashSet<usize> = HashSet::from_iter([i]);
            let cone = needed(&self.stms, std::slice::from_ref(result));
            let operands = cone.iter().flat_map(operands).chain(result.var());
            mine.extend(operands.filter_map(|v| self.component(v)));
            let (joined, mut others): (Vec<_>, Vec<_>) =
                clusters.into_iter().partition(|c| c.iter().any(|i| mine.contains(i)));
            let mut all: Vec<usize> = joined.into_iter().flatten().chain(mine).collect();
            all.sort_unstable();
            all.dedup();
            others.push(all);
            clusters = others;
        }
        clusters.sort();
        clusters
    }

    fn part(&self, components: Vec<usize>) -> Option<Part> {
        if let [i] = components[..]
            && let Some(lane) = own(self.op, i)
        {
            return Some(Part::Own(i, lane));
        }
        let keep = components.iter().map(|i| self.keeps(*i)).fold(Keep::Always, Keep::and);
        if keep != Keep::Never {
            return Some(Part::Kept(self.kept(components, keep)));
        }
        self.commutes(&components).then(|| Part::Together(self.together(components)))
    }

    fn params(&self, components: &[usize]) -> Vec<Param> {
        let k = self.results.len();
        let both = components.iter().copied().chain(components.iter().map(|i| k + i));
        both.map(|i| self.op.params[i].clone()).collect()
    }

    fn kept(&self, components: Vec<usize>, keep: Keep) -> Kept {
        let mut done: HashSet<Var> = HashSet::default();
        let mut clause = |keep: Keep| {
            let mut flags = vec![];
            keep.flags(&mut flags);
            let mut stms = needed(&self.stms, &flags);
            stms.retain(|s| done.insert(s.pat[0].var));
            (stms, keep)
        };
        let clauses = keep.clauses().into_iter().map(&mut clause).collect();
        Kept { params: self.params(&components), components, clauses }
    }

    fn together(&self, components: Vec<usize>) -> Together {
        let results: Vec<Atom> = components.iter().map(|i| self.results[*i]).collect();
        let ret = components.iter().map(|i| self.op.ret[*i].clone()).collect();
        let body = Body { stms: needed(&self.stms, &results), results };
        let op = Lambda { params: self.params(&components), body, ret, ..self.op.clone() };
        Together { components, op }
    }

    /// The condition under which a component stays what it was.
    fn keeps(&self, i: usize) -> Keep {
        self.is_param(&self.results[i], self.op.params[i].var, DEPTH)
    }

    fn is_param(&self, a: &Atom, param: Var, depth: usize) -> Keep {
        match self.exp(a) {
            Some(Exp::Atom(a)) => self.is_param(a, param, depth),
            Some(Exp::Prim(PrimOp::Select(_), xs)) if depth > 0 => {
                let [yes, no] = [1, 2].map(|i| self.is_param(&xs[i], param, depth - 1));
                let [if_yes, if_no] = [true, false].map(|value| self.holds(&xs[0], value, depth));
                match (yes, no) {
                    (Keep::Always, Keep::Always) => Keep::Always,
                    (Keep::Always, no) => if_yes.or(no),
                    (yes, Keep::Always) => if_no.or(yes),
                    (yes, no) => if_yes.and(yes).or(if_no.and(no)),
                }
            }
            _ if a.var() == Some(param) => Keep::Always,
            _ => Keep::Never,
        }
    }

    /// The condition under which a flag has a value.
    fn holds(&self, a: &Atom, value: bool, depth: usize) -> Keep {
        let Some(v) = a.var() else {
            return if *a == Atom::Const(Scalar::Bool(value)) { Keep::Always } else { Keep::Never };
        };
        match self.exp(a) {
            Some(Exp::Prim(PrimOp::Un(UnOp::Not, Prim::Bool), xs)) if depth > 0 => {
                self.holds(&xs[0], !value, depth - 1)
            }
            Some(Exp::Prim(PrimOp::Bin(op @ (BinOp::And | BinOp::Or), Prim::Bool), xs)) if depth > 0 => {
                let [x, y] = [0, 1].map(|i| self.holds(&xs[i], value, depth - 1));
                if (*op == BinOp::And) == value { x.and(y) } else { x.or(y) }
            }
            _ => Keep::Flag(v, value),
        }
    }

    /// True if the first and the second operand can be exchanged.
    fn commutes(&self, components: &[usize]) -> bool {
        let mut numbers = Numbers { operator: self, of: HashMap::default() };
        components.iter().all(|i| {
            let [there, back] = [false, true].map(|swapped| {
                let mut known = HashMap::default();
                numbers.atom(&self.results[*i], swapped, &mut known)
            });
            there == back
        })
    }
}

/// Numbers of values: equal ones are the same value.
struct Numbers<'o> {
    operator: &'o Operator<'o>,
    of: HashMap<(Option<PrimOp>, Vec<u64>), u64>,
}

impl Numbers<'_> {
    fn number(&mut self, op: Option<PrimOp>, operands: Vec<u64>) -> u64 {
        let next = self.of.len() as u64;
        *self.of.entry((op, operands)).or_insert(next)
    }

    fn atom(&mut self, a: &Atom, swapped: bool, known: &mut HashMap<Var, u64>) -> u64 {
        let v = match a {
            Atom::Const(c) => return self.number(None, vec![0, c.prim() as u64, c.bits()]),
            Atom::Var(v) => *v,
        };
        if let Some(number) = known.get(&v) {
            return *number;
        }
        let operator = self.operator;
        let number = match operator.exp(a) {
            Some(Exp::Atom(a)) => self.atom(a, swapped, known),
            Some(Exp::Prim(op, xs)) => {
                let xs = xs.iter().map(|x| self.atom(x, swapped, known)).collect();
                let (op, xs) = canonical(*op, xs);
                self.number(Some(op), xs)
            }
            _ => {
                let (params, k) = (&operator.op.params, operator.results.len());
                let at = params.iter().position(|p| p.var == v);
                let same = |i: usize| params[if swapped { (i + k) % (2 * k) } else { i }].var;
                self.number(None, vec![1, u64::from(at.map_or(v, same).0)])
            }
        };
        known.insert(v, number);
        number
    }
}

/// One spelling of what is the same with the operands exchanged.
fn canonical(op: PrimOp, mut xs: Vec<u64>) -> (PrimOp, Vec<u64>) {
    use BinOp::*;
    let op = match op {
        PrimOp::Cmp(CmpOp::Gt, p) => {
            xs.reverse();
            PrimOp::Cmp(CmpOp::Lt, p)
        }
        PrimOp::Cmp(CmpOp::Ge, p) => {
            xs.reverse();
            PrimOp::Cmp(CmpOp::Le, p)
        }
        op => op,
    };
    match op {
        PrimOp::Bin(Add | Mul | And | Or | Xor | Min | Max | MulHi, _)
        | PrimOp::Cmp(CmpOp::Eq | CmpOp::Ne, _) => xs.sort_unstable(),
        // The product of the first two is added to.
        PrimOp::Special(par_ir::prim::SpecialOp::Fma | par_ir::prim::SpecialOp::Mad, _) => {
            xs[..2].sort_unstable();
        }
        _ => {}
    }
    (op, xs)
}

impl Keep {
    fn and(self, other: Keep) -> Keep {
        match (self, other) {
            (Keep::Always, k) | (k, Keep::Always) => k,
            (Keep::Never, _) | (_, Keep::Never) => Keep::Never,
            (a, b) if a == b => a,
            (a, b) => Keep::Both(Box::new(a), Box::new(b)),
        }
    }

    fn or(self, other: Keep) -> Keep {
        match (self, other) {
            (Keep::Never, k) | (k, Keep::Never) => k,
            (Keep::Always, _) | (_, Keep::Always) => Keep::Always,
            (a, b) if a == b => a,
            (a, b) => Keep::Either(Box::new(a), Box::new(b)),
        }
    }

    /// Conditions of which one is enough.
    fn clauses(self) -> Vec<Keep> {
        match self {
            Keep::Either(a, b) => a.clauses().into_iter().chain(b.clauses()).collect(),
            k => vec![k],
        }
    }

    fn flags(&self, all: &mut Vec<Atom>) {
        match self {
            Keep::Always | Keep::Never => {}
            Keep::Flag(v, _) => all.push(Atom::Var(*v)),
            Keep::Both(a, b) | Keep::Either(a, b) => [a, b].into_iter().for_each(|k| k.flags(all)),
        }
    }
}

/// The statements of a body with choices in place of branches; none if it does more than to compute, or might fail in an arm.
fn straight(body: &Body, conditional: bool, stms: &mut Vec<Stm>) -> Option<()> {
    for stm in &body.stms {
        match &stm.exp {
            Exp::Prim(op, _) if conditional && op.divides() => return None,
            Exp::Atom(_) | Exp::Prim(..) if !stm.has_effect() => stms.push(stm.clone()),
            Exp::If { cond, then, other } => {
                straight(then, true, stms)?;
                straight(other, true, stms)?;
                for (p, (a, b)) in stm.pat.iter().zip(then.results.iter().zip(&other.results)) {
                    let exp = Exp::Prim(PrimOp::Select(p.ty.prim()), vec![*cond, *a, *b]);
                    stms.push(Stm { pat: vec![p.clone()], exp, ..stm.clone() });
                }
            }
            _ => return None,
        }
    }
    Some(())
}

fn operands(stm: &Stm) -> Vec<Var> {
    match &stm.exp {
        Exp::Atom(a) => a.var().into_iter().collect(),
        Exp::Prim(_, xs) => xs.iter().filter_map(|a| a.var()).collect(),
        _ => vec![],
    }
}
