//! Positions at which comparisons and quotients of a body change, known before they are reached.
//!
//! ```text
//! c = lt i k        i grows by one from position to position, k does not: the edge is at pos - (i - k)
//! c = eq i k        one there, and one behind that position
//! q = div i n       at pos + (n - mod i n); up to there mod i n is i - q * n
//! ```
//!
//! Places are forms: `i + 1 <= n - 1` and `i + 1 < n` have the same one.

use super::affine::Affine;
use crate::cpu::emit::{Emitter, Result};
use crate::cpu::fresh::Fresh;
use cranelift::prelude::*;
use par_ir::access::{Access, Facts, Form, Symbol};
use par_ir::core::{Body, Exp, Param, Stm};
use par_ir::hash::HashMap;
use par_ir::prim::{BinOp, CmpOp, PrimOp};
use par_ir::tuning;
use par_ir::ty::Atom;
use par_ir::visit::{Code, Subst};
use par_ir::{Prim, Var};

/// The edges of a body's comparisons and quotients.
#[derive(Default)]
pub struct Edges {
    /// Computes all operands at a position.
    stms: Vec<Stm>,
    /// Each place with its form over what the host knows.
    places: Vec<(Form, Atom)>,
    quotients: Vec<Quotient>,
    /// Numbers that must be far from the end of the integers.
    guards: Vec<(Form, Atom)>,
    /// Comparisons and quotients that are one value between edges, with their operands there.
    settled: HashMap<Var, Vec<Atom>>,
    /// Comparisons that have one answer before a place and the other from there on, and whether they hold before.
    turns: HashMap<Var, Turn>,
    /// Minima and maxima.
    clamps: usize,
    /// Remainders that grow by one between edges.
    growing: HashMap<Var, Vec<Atom>>,
    /// Operands of comparisons that differ, as they are at the first position.
    compared: Subst,
    /// Computes divisors before all positions.
    before: Vec<Stm>,
    divisors: Vec<Atom>,
}

/// The one place at which a comparison changes.
#[derive(Clone, Copy)]
pub struct Turn {
    pub place: Atom,
    /// True before it, not from there on; else the other way round.
    pub holds_before: bool,
}

/// A quotient of a number that grows by one.
struct Quotient {
    forms: [Form; 2],
    dividend: Atom,
    divisor: Atom,
    /// It rounds towards zero.
    truncates: bool,
}

/// Numbers up to here, and sums of two, can be subtracted and counted on for as many positions as there may be.
const LARGE: i64 = 1 << 61;

impl Edges {
    /// Of a body at the positions `pos`.
    pub fn new(pos: Var, body: &Body, facts: &Facts, fresh: &Fresh) -> Edges {
        let none = Facts::default();
        let access = Access::along(pos, body, &none);
        let [mut before, mut inside] = [(); 2].map(|()| Affine::new(&access, pos, fresh));
        let mut edges = Edges::default();
        edges.divisions(body, &mut before, &mut inside);
        edges.comparisons(body, &mut inside, facts);
        (edges.stms, edges.before) = (inside.stms, before.stms);
        edges
    }

    pub fn is_empty(&self) -> bool {
        self.places.is_empty() && self.quotients.is_empty()
    }

    /// True if there are quotients among what changes.
    pub fn divides(&self) -> bool {
        !self.quotients.is_empty()
    }

    /// Statements that compute the operands of comparisons and quotients, and the places of edges, at a position.
    pub fn operands(&self) -> &[Stm] {
        &self.stms
    }

    /// True if a comparison or quotient is one value between edges.
    pub fn settles(&self, v: Var) -> bool {
        self.settled.contains_key(&v)
    }

    /// A comparison or quotient that is one value between edges, as it is computed before them.
    pub fn settled(&self, stm: &Stm) -> Option<Stm> {
        let Exp::Prim(op, _) = &stm.exp else { return None };
        let operands = self.settled.get(&stm.pat[0].var)?;
        Some(Stm { exp: Exp::Prim(*op, operands.clone()), ..stm.clone() })
    }

    /// The place where a comparison changes, if it does so once.
    pub fn turn(&self, v: Var) -> Option<Turn> {
        self.turns.get(&v).copied()
    }

    /// The number of comparisons, minima, maxima, quotients and remainders.
    pub fn count(&self) -> usize {
        self.settled.len() + self.clamps + self.growing.len()
    }

    /// A statement with the operands of comparisons as they are at the first position.
    pub fn at_first(&self, stm: &Stm) -> Stm {
        stm.substituted(&self.compared)
    }

    /// Code for a remainder that grows between edges: statements before the positions, and one at each of them. `None`: the statement is another one.
    pub fn remainder(&self, stm: &Stm, fresh: &Fresh) -> Option<([Stm; 2], Stm)> {
        let Exp::Prim(op, xs) = &stm.exp else { return None };
        let operands = self.growing.get(&stm.pat[0].var)?;
        let param = |name: &str| Param { var: fresh.var(name), ty: stm.pat[0].ty.clone() };
        let (quotient, product) = (param("quotient"), param("product"));
        let prim = |op| PrimOp::Bin(op, Prim::I64);
        let op = if *op == prim(BinOp::Rem) { BinOp::Quot } else { BinOp::Div };
        let multiply = vec![quotient.var.into(), operands[1]];
        let subtract = vec![xs[0], product.var.into()];
        let with = |pat: Param, exp: Exp| Stm { pat: vec![pat], exp, span: stm.span };
        let rest = with(stm.pat[0].clone(), Exp::Prim(prim(BinOp::Sub), subtract));
        let before = [
            with(quotient, Exp::Prim(prim(op), operands.clone())),
            with(product, Exp::Prim(prim(BinOp::Mul), multiply)),
        ];
        Some((before, rest))
    }

    fn divisions(&mut self, body: &Body, before: &mut Affine, inside: &mut Affine) {
        for stm in &body.stms {
            if let Exp::Prim(PrimOp::Bin(op, Prim::I64), xs) = &stm.exp
                && matches!(op, BinOp::Div | BinOp::Mod | BinOp::Quot | BinOp::Rem)
                && let Some(operands) = self.division(*op, xs, before, inside)
            {
                let v = stm.pat[0].var;
                inside.allow(v);
                let is_quotient = matches!(op, BinOp::Div | BinOp::Quot);
                if is_quotient { &mut self.settled } else { &mut self.growing }.insert(v, operands);
            }
            stm.exp.for_each_body(|b| self.divisions(b, before, inside));
        }
    }

    fn division(
        &mut self,
        op: BinOp,
        xs: &[Atom],
        before: &mut Affine,
        inside: &mut Affine,
    ) -> Option<Vec<Atom>> {
        let truncates = matches!(op, BinOp::Quot | BinOp::Rem);
        let forms = [inside.form(xs[0])?, inside.form(xs[1])?];
        if let Some(q) = self.quotients.iter().find(|q| q.forms == forms && q.truncates == truncates) {
            return Some(vec![q.dividend, q.divisor]);
        }
        let is_short = forms[1].as_constant().is_some_and(|n| n < tuning::EDGES_DIVISOR);
        if is_short || self.quotients.len() == tuning::EDGES {
            return None;
        }
        let outside = before.growing(xs[1], 0)?;
        let (dividend, divisor) = (inside.growing(xs[0], 1)?, inside.growing(xs[1], 0)?);
        self.guard(&forms[0], inside)?;
        self.quotients.push(Quotient { forms, dividend, divisor, truncates });
        self.divisors.push(outside);
        Some(vec![dividend, divisor])
    }

    fn comparisons(&mut self, body: &Body, inside: &mut Affine, facts: &Facts) {
        for stm in &body.stms {
            if let Exp::Prim(op, xs) = &stm.exp
                && let Some((operands, turn)) = self.comparison(*op, xs, inside, facts)
            {
                if matches!(op, PrimOp::Cmp(..)) {
                    self.settled.insert(stm.pat[0].var, operands);
                    self.turns.extend(turn.map(|t| (stm.pat[0].var, t)));
                } else {
                    self.clamps += 1;
                }
            }
            stm.exp.for_each_body(|b| self.comparisons(b, inside, facts));
        }
    }

    /// Adds the edges of an operator whose result changes, or the operand that it is, at known places.
    fn comparison(
        &mut self,
        op: PrimOp,
        xs: &[Atom],
        inside: &mut Affine,
        facts: &Facts,
    ) -> Option<(Vec<Atom>, Option<Turn>)> {
        let op = match op {
            PrimOp::Cmp(op, Prim::I64) => op,
            PrimOp::Bin(BinOp::Min, Prim::I64) => CmpOp::Le,
            PrimOp::Bin(BinOp::Max, Prim::I64) => CmpOp::Ge,
            _ => return None,
        };
        let (left, right) = (inside.form(xs[0])?, inside.form(xs[1])?);
        let growth = inside.growth(&left)? - inside.growth(&right)?;
        let behind: &[bool] = match op {
            _ if growth.unsigned_abs() != 1 => return None,
            CmpOp::Eq | CmpOp::Ne => &[false, true],
            CmpOp::Lt | CmpOp::Ge => &[growth < 0],
            CmpOp::Le | CmpOp::Gt => &[growth > 0],
        };
        // Where both are equal.
        let place = Form::from(Symbol::Index(0)).minus(&left.minus(&right).scaled(growth));
        let places: Vec<Form> = behind.iter().map(|b| place.plus(&i64::from(*b).into())).collect();
        self.guard(&left, inside)?;
        self.guard(&right, inside)?;
        places.iter().try_for_each(|place| self.place(place, inside, facts))?;
        let operands = [left, right].map(|f| inside.atom(&f));
        for (x, operand) in xs.iter().zip(operands) {
            self.compared.extend(x.var().zip(operand));
        }
        let turn = match places.as_slice() {
            [place] => inside.atom(place).map(|place| {
                let is_less = matches!(op, CmpOp::Lt | CmpOp::Le);
                Turn { place, holds_before: is_less == (growth > 0) }
            }),
            _ => None,
        };
        Some((operands.into_iter().collect::<Option<_>>()?, turn))
    }

    fn place(&mut self, place: &Form, inside: &mut Affine, facts: &Facts) -> Option<()> {
        let key = facts.expanded(place)?;
        if self.places.iter().all(|(known, _)| *known != key) {
            let atom = inside.atom(place).filter(|_| self.places.len() < tuning::EDGES)?;
            self.places.push((key, atom));
        }
        Some(())
    }

    /// Adds a number to those that must not be large.
    fn guard(&mut self, f: &Form, inside: &mut Affine) -> Option<()> {
        let constant = f.constant();
        if constant.unsigned_abs() >= LARGE as u64 {
            return None;
        }
        let key = f.minus(&constant.into());
        if !key.is_zero() && self.guards.iter().all(|(known, _)| *known != key) {
            let atom = inside.atom(&key)?;
            self.guards.push((key, atom));
        }
        Some(())
    }
}

/// Positions of the edges of a range.
pub struct Places {
    places: Vec<Value>,
    /// There are numbers that may run over the end of the integers.
    pub any_large: Option<Value>,
}

impl Emitter<'_> {
    /// True unless a divisor is so small that there would be edges everywhere; none: there is no divisor.
    pub fn is_seldom(&mut self, edges: &Edges) -> Result<Option<Value>> {
        self.stms(&edges.before)?;
        let mut all = None;
        for divisor in &edges.divisors {
            let divisor = self.atom(divisor)?;
            let is_long =
                self.b.ins().icmp_imm_s(IntCC::SignedGreaterThanOrEqual, divisor, tuning::EDGES_DIVISOR);
            all = Some(match all {
                Some(others) => self.b.ins().band(others, is_long),
                None => is_long,
            });
        }
        Ok(all)
    }

    /// The edges, as seen from the position `at`, which the operands are bound for. Without quotients they are where they are from any position.
    pub fn places(&mut self, edges: &Edges, at: Value) -> Result<Places> {
        let mut places = Vec::new();
        for (_, place) in &edges.places {
            places.push(self.atom(place)?);
        }
        for quotient in &edges.quotients {
            let distance = self.left_of_quotient(quotient)?;
            places.push(self.b.ins().iadd(at, distance));
        }
        let mut sums = None;
        for (_, guard) in &edges.guards {
            let x = self.atom(guard)?;
            let sum = self.b.ins().iadd_imm_s(x, LARGE);
            sums = Some(match sums {
                Some(others) => self.b.ins().bor(others, sum),
                None => sum,
            });
        }
        let is_large = IntCC::UnsignedGreaterThanOrEqual;
        let any_large = sums.map(|x| self.b.ins().icmp_imm_u(is_large, x, 2 * LARGE));
        Ok(Places { places, any_large })
    }

    /// The first edge after `at`, or `end`, if that is sooner.
    pub fn next_edge(&mut self, places: &Places, at: Value, end: Value) -> Value {
        let mut stop = end;
        for place in &places.places {
            let is_ahead = self.b.ins().icmp(IntCC::SignedGreaterThan, *place, at);
            let ahead = self.b.ins().select(is_ahead, *place, end);
            stop = self.b.ins().smin(stop, ahead);
        }
        let Some(any_large) = places.any_large else { return stop };
        // Of such only is known what they are at one position.
        let next = self.b.ins().iadd_imm_s(at, 1);
        self.b.ins().select(any_large, next, stop)
    }

    /// For how many positions a quotient stays what it is.
    fn left_of_quotient(&mut self, quotient: &Quotient) -> Result<Value> {
        let (dividend, divisor) = (self.atom(&quotient.dividend)?, self.atom(&quotient.divisor)?);
        let op = if quotient.truncates { BinOp::Rem } else { BinOp::Mod };
        let rest = self.prim(PrimOp::Bin(op, Prim::I64), &[dividend, divisor], quotient.divisor.as_i64());
        let left = self.b.ins().isub(divisor, rest);
        let most = self.i64(2 * LARGE);
        let left = self.b.ins().smin(left, most);
        if !quotient.truncates {
            return Ok(left);
        }
        let (is_negative, one) = (self.b.ins().icmp_imm_s(IntCC::SignedLessThan, dividend, 0), self.i64(1));
        Ok(self.b.ins().select(is_negative, one, left))
    }
}
