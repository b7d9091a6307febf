//! Work of a loop and array sizes of its iterations: code that computes them before the loop runs.
//!
//! ```text
//! loop x = … for i < n do {                work, launches, cap = reduce n (iota n) (\ i ->
//!   let k = s[i]                             let k = if 0 <= i && i < n then s[i] else 0
//!   let y = scan k … (\ a -> a + 1)  ==>     in (2 * k, 1, k)) (+, +, max) (0, 0, 0)
//!   … }
//! ```
//!
//! *Work* counts the operators of all elements, *launches* the parallel operators that the host would start one after the other. What
//! depends on the state is not known; of some of it there is an upper bound (the number of elements that a filter keeps).

use super::super::local::has_operators;
use super::super::versions::is_componentwise;
use super::known::{Def, Known, Values};
use par_ir::core::{Body, Exp, Lambda, LoopForm, Param, Stm};
use par_ir::cost::time;
use par_ir::hash::HashMap;
use par_ir::loops::Loop;
use par_ir::prim::BinOp;
use par_ir::stack::deeper;
use par_ir::visit::Code;
use par_ir::{Atom, Dim, Prim, Type, Var, Vars, tuning};

/// Sizes and work of a loop, known before it runs.
pub struct Sizes {
    /// Statements that find out.
    pub stms: Vec<Stm>,
    /// Operators of all elements, and launches of the host, in some number of iterations.
    pub work: Option<(Atom, Atom)>,
}

/// Sums and maxima of a body.
#[derive(Default)]
struct Totals {
    work: Vec<Known>,
    launches: Vec<Known>,
    /// Numbers of capacities, each with a size.
    caps: Vec<(usize, Known)>,
    /// Operators of scalar code.
    each: i64,
}

struct Measure<'a> {
    values: Values<'a>,
    totals: Vec<Totals>,
    caps: &'a [(Var, Var)],
    has_work: bool,
    has_caps: bool,
}

/// Measures a loop, if the sizes are known that arrays are to have: of each of `caps`, the largest value of the first variable, which
/// the loop binds, becomes the second one. Those that are `shrinking` are never larger than what they are at first.
pub(super) fn measure(
    stm: &Stm,
    (caps, shrinking): (&[(Var, Var)], &HashMap<Var, Atom>),
    types: &HashMap<Var, Type>,
    vars: &mut Vars,
) -> Option<Sizes> {
    let inside = [stm].into_iter().flat_map(|s| s.bound()).collect();
    let mut values = Values::new(inside, types, stm.span, vars);
    shrinking.iter().for_each(|(size, first)| values.bound_by(*size, vec![*first]));
    let mut m = Measure { values, totals: vec![Totals::default()], caps, has_work: true, has_caps: true };
    m.stm(stm, true);
    m.finish()
}

impl Measure<'_> {
    fn finish(mut self) -> Option<Sizes> {
        let totals = self.totals.pop()?;
        let (work, launches) = (self.values.sum(&totals.work), self.values.sum(&totals.launches));
        for (i, (_, cap)) in self.caps.iter().enumerate() {
            let sizes: Vec<Known> = totals.caps.iter().filter(|c| c.0 == i).map(|c| c.1).collect();
            let most = self.values.largest(&sizes)?;
            self.values.name(*cap, most);
        }
        let launched = launches.1 != Atom::i64(0);
        let work = (self.has_work && launched).then_some((work.1, launches.1));
        self.has_caps.then(|| Sizes { stms: self.values.finish(), work })
    }

    fn top(&mut self) -> &mut Totals {
        self.totals.last_mut().expect("the outermost stays open")
    }

    /// Statements, on the host or in the code of an element.
    fn body(&mut self, body: &Body, host: bool) {
        body.stms.iter().for_each(|s| deeper(|| self.stm(s, host)));
    }

    fn stm(&mut self, stm: &Stm, host: bool) {
        self.top().each += if host { 0 } else { own_cost(&stm.exp) };
        match &stm.exp {
            Exp::If { then, other, .. } => {
                self.body(then, host);
                self.body(other, host);
                for (i, p) in stm.pat.iter().enumerate() {
                    self.values.bound_by(p.var, vec![then.results[i], other.results[i]]);
                }
            }
            Exp::Loop { form, body, .. } => self.repeat(form, body, host),
            exp if exp.is_soac() => self.operator(stm, host),
            Exp::Concat(_) => self.concat(stm, host),
            Exp::Sort { .. } | Exp::Flatten(_) | Exp::Unflatten(_) => self.launch(host),
            _ => self.values.define(stm),
        }
        stm.pat.iter().for_each(|p| self.bind(p.var));
    }

    /// Notes how large arrays with this size get.
    fn bind(&mut self, v: Var) {
        let Some(i) = self.caps.iter().position(|c| c.0 == v) else { return };
        match self.values.at_most(v.into()) {
            Some(size) => self.top().caps.push((i, size)),
            None => self.has_caps = false,
        }
    }

    fn launch(&mut self, host: bool) {
        if host {
            self.top().launches.push((0, Atom::i64(1)));
        }
    }

    /// A concatenation, which a bulk operation need not store (`flat/bulk/concat.rs`).
    fn concat(&mut self, stm: &Stm, host: bool) {
        self.launch(host);
        let [Dim::Size(n)] = stm.pat[0].ty.dims.as_slice() else { return };
        if let Some(n) = self.values.at_most(*n) {
            let work = self.values.arith(BinOp::Mul, n, (0, Atom::i64(tuning::SEQUENTIAL_CONCAT)));
            self.top().work.push(work);
        }
    }

    /// A loop. One of the host without operators, inside the loop that is measured, is launched as a whole.
    fn repeat(&mut self, form: &LoopForm, body: &Body, host: bool) {
        let is_launched = host && self.totals.len() > 1 && !has_operators(body);
        self.launch(is_launched);
        let host = host && !is_launched;
        let index = match form {
            LoopForm::For { index, prim: Prim::I64, bound } => {
                self.values.value(*bound).map(|width| (*index, width))
            }
            _ => None,
        };
        let width = index.map(|(_, width)| width);
        self.open(index.map(|(index, _)| index));
        if let LoopForm::While(cond) = form {
            self.body(cond, host);
        }
        index.iter().for_each(|(index, _)| self.bind(*index));
        self.body(body, host);
        let some = if host { 1 } else { tuning::LANES_ITERATIONS as i64 };
        self.close(width.unwrap_or((0, Atom::i64(some))));
    }

    /// A parallel operator.
    fn operator(&mut self, stm: &Stm, host: bool) {
        self.launch(host);
        let width = stm.exp.width().and_then(|w| self.values.at_most(w));
        self.has_work &= width.is_some();
        let index = self.values.fresh("i");
        self.open(width.map(|_| index));
        let lambdas = stm.exp.lambdas();
        for (p, input) in lambdas[0].params.iter().zip(stm.exp.inputs().unwrap_or_default()) {
            self.values.define_row(p, *input, index);
            self.bind(p.var);
        }
        self.top().each += 1 + sequential_penalty(&stm.exp);
        lambdas.iter().for_each(|l| self.body(&l.body, false));
        self.close(width.unwrap_or((0, Atom::i64(1))));
        if let (Exp::Filter { width, .. }, Some(count)) = (&stm.exp, stm.pat.first()) {
            self.values.bound_by(count.var, vec![*width]);
        }
    }

    /// Begins the code of one iteration.
    fn open(&mut self, index: Option<Var>) {
        self.values.open(index);
        self.totals.push(Totals::default());
    }

    /// Ends the code of one of `width` iterations.
    fn close(&mut self, width: Known) {
        let mut inner = self.totals.pop().unwrap_or_default();
        inner.work.push((0, Atom::i64(inner.each)));
        let mut sums =
            vec![(BinOp::Add, self.values.sum(&inner.work)), (BinOp::Add, self.values.sum(&inner.launches))];
        for i in 0..self.caps.len() {
            let sizes: Vec<Known> = inner.caps.iter().filter(|c| c.0 == i).map(|c| c.1).collect();
            if let Some(most) = self.values.largest(&sizes) {
                sums.push((BinOp::Max, most));
                inner.caps.retain(|c| c.0 != i);
                inner.caps.push((i, most));
            }
        }
        inner.caps.sort_by_key(|c| c.0);
        let depth = self.values.depth();
        let outer: Vec<Known> = match sums.iter().any(|s| s.1.0 == depth) {
            false => {
                self.values.close();
                let times = |s: &(BinOp, Known)| match s.0 {
                    BinOp::Add => self.values.arith(BinOp::Mul, width, s.1),
                    _ => s.1,
                };
                sums.iter().map(times).collect()
            }
            true if depth == 1 => self.all_at_once(width.1, &sums),
            true => self.one_by_one(width.1, &sums),
        };
        let top = self.top();
        top.work.push(outer[0]);
        top.launches.push(outer[1]);
        top.caps.extend(inner.caps.iter().zip(&outer[2..]).map(|(c, size)| (c.0, *size)));
    }

    /// Totals of the iterations of the loop itself.
    fn all_at_once(&mut self, width: Atom, sums: &[(BinOp, Known)]) -> Vec<Known> {
        let (index, code) = self.values.close();
        let span = code.span;
        let vars = &mut *self.values.vars;
        let i64s = vec![Type::I64; sums.len()];
        let body = code.results(sums.iter().map(|s| s.1.1).collect());
        let param = Param { var: index, ty: Type::I64 };
        let lam = Lambda { params: vec![param], body, ret: i64s.clone(), schedule: Default::default() };
        let ops: Vec<(BinOp, Prim)> = sums.iter().map(|s| (s.0, Prim::I64)).collect();
        let op = Lambda::of_operators(&ops, span, vars);
        let pat: Vec<Param> =
            sums.iter().map(|_| Param { var: vars.fresh("total"), ty: Type::I64 }).collect();
        let results = pat.iter().map(|p| (0, p.var.into())).collect();
        let neutral = vec![Atom::i64(0); sums.len()];
        let size = vec![par_ir::Dim::Size(width)];
        let is = Param { var: vars.fresh("is"), ty: Type::array(size, Prim::I64) };
        let inputs = vec![is.var];
        let out = self.values.code(0);
        out.bind(vec![is], Exp::Iota(width));
        out.bind(pat, Exp::Reduce { width, inputs, lam, op, neutral });
        results
    }

    /// Totals of the iterations of something inside.
    fn one_by_one(&mut self, width: Atom, sums: &[(BinOp, Known)]) -> Vec<Known> {
        let (index, code) = self.values.close();
        let depth = self.values.depth();
        let vars = &mut *self.values.vars;
        let mut rows = Loop { index, state: Vec::new(), code };
        let mut results = Vec::new();
        for (op, value) in sums {
            let state = rows.carry("total", &Type::I64, Atom::i64(0), vars);
            results.push(rows.code.arith("total", *op, state.into(), value.1, vars));
        }
        let pat: Vec<Param> =
            sums.iter().map(|_| Param { var: vars.fresh("total"), ty: Type::I64 }).collect();
        let totals = pat.iter().map(|p| (depth, p.var.into())).collect();
        let stm = rows.finish(width, pat, results);
        self.values.code(depth).stms.push(stm);
        totals
    }
}

/// Penalty of sequential code against vectors for an element, in operators of a map.
fn sequential_penalty(exp: &Exp) -> i64 {
    match exp {
        Exp::Reduce { op, .. } if !is_componentwise(op) => tuning::SEQUENTIAL_TUPLE,
        Exp::Reduce { .. } => tuning::SEQUENTIAL_REDUCE,
        Exp::Scan { .. } => tuning::SEQUENTIAL_SCAN,
        Exp::Hist { .. } => tuning::SEQUENTIAL_HIST,
        Exp::Scatter { .. } => tuning::SEQUENTIAL_SCATTER,
        _ => 0,
    }
}

/// Cost of a statement of scalar code, without nested bodies.
fn own_cost(exp: &Exp) -> i64 {
    match exp {
        Exp::Prim(op, _) => time(*op).weight(),
        Exp::Index(..) | Exp::Update { .. } => 1,
        Exp::Call(..) => 64,
        _ => 0,
    }
}

/// Size information from statements.
impl Values<'_> {
    fn define(&mut self, stm: &Stm) {
        let [p] = stm.pat.as_slice() else { return };
        match &stm.exp {
            Exp::Atom(a) => self.set(p.var, Def::Copy(*a)),
            Exp::Prim(op, args) => self.set(p.var, Def::Prim(*op, args.clone())),
            Exp::Index(arr, at) => self.define_part(p, *arr, at),
            Exp::Slice { arr, len: Atom::Var(len), .. } => self.bound_by_size(*len, *arr),
            _ => {}
        }
        self.note(p);
    }

    fn define_row(&mut self, p: &Param, input: Var, index: Var) {
        self.define_part(p, input, &[index.into()]);
        self.note(p);
    }
}
