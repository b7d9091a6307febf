//! Operators that are to work on one row after the other become loops.
//!
//! ```text
//! ys = map seq n (xs) (\ x -> f x)          ys0 = replicate n 0
//!                                           ys  = loop (acc = ys0) for i < n do
//!                                    =>             let x = xs[i]  let y = f x
//!                                                   in acc with [i] = y
//! s = reduce seq n (ys) (\ y -> y)          s   = loop (a = 0) for i < n do
//!       op (+) neutral (0)                          let y = ys[i] in a + y
//! ```
//!
//! This comes after fusion, so that what is computed only to be folded is never stored. A map in a map writes its rows where
//! they belong. A map whose rows have lengths that are not known before it runs stays what it is; what is in it becomes
//! loops nevertheless.

use par_ir::core::{At, Body, Exp, Lambda, LoopForm, Param, Program, Schedule, Stm};
use par_ir::prim::{BinOp, CmpOp};
use par_ir::stack::deeper;
use par_ir::visit::Code;
use par_ir::{Atom, Dim, Prim, PrimOp, Scalar, Span, Type, Var, Vars};

/// In all functions.
pub fn run(program: &mut Program) {
    let vars = &mut program.vars;
    program.funs.iter_mut().for_each(|f| Rewriter { vars }.body(&mut f.body));
}

struct Rewriter<'v> {
    vars: &'v mut Vars,
}

/// The loop that is being made of an operator.
struct Turn {
    index: Var,
    /// State and its initial values.
    params: Vec<(Param, Atom)>,
    stms: Vec<Stm>,
    span: Span,
}

impl Turn {
    fn push(&mut self, pat: Vec<Param>, exp: Exp) {
        self.stms.push(Stm { pat, exp, span: self.span });
    }

    /// Names values.
    fn name(&mut self, params: &[Param], values: impl IntoIterator<Item = Atom>) {
        for (p, a) in params.iter().zip(values) {
            self.push(vec![p.clone()], Exp::Atom(a));
        }
    }
}

impl Rewriter<'_> {
    fn body(&mut self, body: &mut Body) {
        let stms = std::mem::take(&mut body.stms);
        for stm in stms {
            deeper(|| self.stm(stm, &mut body.stms));
        }
    }

    fn stm(&mut self, mut stm: Stm, out: &mut Vec<Stm>) {
        if !is_sequential(&stm.exp) || !self.operator(&stm, out) {
            stm.exp.for_each_body_mut(|b| self.body(b));
            out.push(stm);
        }
    }

    /// Adds the loop that an operator becomes, unless it stays what it is.
    fn operator(&mut self, stm: &Stm, out: &mut Vec<Stm>) -> bool {
        let made = stm.pat.iter().all(|p| can_be_filled(&p.ty, &stm.pat));
        match &stm.exp {
            Exp::Map { width, inputs, lam } if made => self.map(stm, (*width, inputs, lam), out),
            Exp::Reduce { width, inputs, lam, op, neutral } if made => {
                self.fold(stm, (*width, inputs, lam), (op, neutral), None, out)
            }
            Exp::Scan { width, inputs, lam, op, neutral, exclusive } if made => {
                self.fold(stm, (*width, inputs, lam), (op, neutral), Some(*exclusive), out)
            }
            Exp::Filter { width, inputs, lam } => self.filter(stm, (*width, inputs, lam), out),
            Exp::Scatter { dests, width, inputs, lam } => {
                self.write(stm, dests, (*width, inputs, lam), None, out)
            }
            Exp::Hist { dests, width, inputs, lam, op, .. } => {
                self.write(stm, dests, (*width, inputs, lam), Some(op), out)
            }
            _ => return false,
        }
        true
    }

    fn map(&mut self, stm: &Stm, rows: (Atom, &[Var], &Lambda), out: &mut Vec<Stm>) {
        let dests: Vec<Var> = stm.pat.iter().map(|p| self.filled(&p.ty, stm.span, out)).collect();
        self.rows_into(&stm.pat, &dests, rows, &[], stm.span, out);
    }

    /// A loop that writes the results of every row to arrays, at `at` and the row's index.
    fn rows_into(
        &mut self,
        pat: &[Param],
        dests: &[Var],
        (width, inputs, lam): (Atom, &[Var], &Lambda),
        at: &[Atom],
        span: Span,
        out: &mut Vec<Stm>,
    ) {
        let mut turn = self.turn(inputs, lam, span);
        let mut latest: Vec<Var> =
            pat.iter().zip(dests).map(|(p, d)| self.state(&mut turn, &p.ty, (*d).into())).collect();
        let mut written = vec![false; pat.len()];
        let at = [at, &[turn.index.into()]].concat();
        for (i, stm) in lam.body.stms.iter().enumerate() {
            let Some(places) = self.rows_of(stm, &lam.body, i) else {
                self.stm(stm.clone(), &mut turn.stms);
                continue;
            };
            let Exp::Map { width, inputs, lam } = &stm.exp else { unreachable!("only maps have rows") };
            let next: Vec<Param> = places.iter().map(|j| self.fresh(&pat[*j])).collect();
            let before: Vec<Var> = places.iter().map(|j| latest[*j]).collect();
            self.rows_into(&next, &before, (*width, inputs, lam), &at, stm.span, &mut turn.stms);
            for (j, p) in places.iter().zip(next) {
                (latest[*j], written[*j]) = (p.var, true);
            }
        }
        for (j, p) in pat.iter().enumerate().filter(|(j, _)| !written[*j]) {
            latest[j] = self.update(&mut turn, p, latest[j], &at, lam.body.results[j]);
        }
        finish(turn, width, pat.to_vec(), latest.into_iter().map(Atom::Var).collect(), out);
    }

    /// The results that a sequential map in a lambda's body is all there is to, if it makes nothing else.
    fn rows_of(&self, stm: &Stm, body: &Body, i: usize) -> Option<Vec<usize>> {
        if !matches!(stm.exp, Exp::Map { .. }) || !is_sequential(&stm.exp) {
            return None;
        }
        let place = |p: &Param| {
            let used = body.stms[i + 1..].iter().any(|s| s.mentions(p.var));
            let mut places = (0..body.results.len()).filter(|j| body.results[*j] == Atom::Var(p.var));
            places.next().filter(|_| !used && !p.ty.is_desc() && places.next().is_none())
        };
        stm.pat.iter().map(place).collect()
    }

    /// Reductions and scans (`exclusive` or not). Results of the producer that are not combined are stored.
    fn fold(
        &mut self,
        stm: &Stm,
        (width, inputs, lam): (Atom, &[Var], &Lambda),
        (op, neutral): (&Lambda, &[Atom]),
        exclusive: Option<bool>,
        out: &mut Vec<Stm>,
    ) {
        let k = neutral.len();
        let stored = if exclusive.is_some() { &stm.pat[..] } else { &stm.pat[k..] };
        let dests: Vec<Var> = stored.iter().map(|p| self.filled(&p.ty, stm.span, out)).collect();
        let mut turn = self.turn(inputs, lam, stm.span);
        let folded: Vec<Atom> =
            op.ret.iter().zip(neutral).map(|(ty, ne)| self.state(&mut turn, ty, *ne).into()).collect();
        let arrays: Vec<Var> =
            stored.iter().zip(dests).map(|(p, d)| self.state(&mut turn, &p.ty, d.into())).collect();
        self.append(&mut turn, &lam.body);
        turn.name(&op.params, folded.iter().chain(&lam.body.results[..k]).copied());
        self.append(&mut turn, &op.body);
        let steps = match exclusive {
            None => &[][..],
            Some(true) => &folded,
            Some(false) => &op.body.results,
        };
        let values: Vec<Atom> = steps.iter().chain(&lam.body.results[k..]).copied().collect();
        let at = [turn.index.into()];
        let mut results = op.body.results.clone();
        for ((p, array), value) in stored.iter().zip(arrays).zip(values) {
            results.push(self.update(&mut turn, p, array, &at, value).into());
        }
        let mut pat = stm.pat.clone();
        if exclusive.is_some() {
            let last = op.ret.iter().map(|ty| Param { var: self.vars.fresh("last"), ty: ty.clone() });
            pat.splice(0..0, last.collect::<Vec<_>>());
        }
        finish(turn, width, pat, results, out);
    }

    fn filter(&mut self, stm: &Stm, (width, inputs, lam): (Atom, &[Var], &Lambda), out: &mut Vec<Stm>) {
        let full = |p: &Param| Type::array(vec![Dim::Size(width)], p.ty.prim());
        let all: Vec<Param> =
            stm.pat[1..].iter().map(|p| Param { var: self.vars.fresh_like(p.var), ty: full(p) }).collect();
        let dests: Vec<Var> = all.iter().map(|p| self.filled(&p.ty, stm.span, out)).collect();
        let mut turn = self.turn(inputs, lam, stm.span);
        let count: Atom = self.state(&mut turn, &Type::I64, Atom::i64(0)).into();
        let arrays: Vec<Var> =
            all.iter().zip(dests).map(|(p, d)| self.state(&mut turn, &p.ty, d.into())).collect();
        self.append(&mut turn, &lam.body);

        let mut kept = Turn { index: turn.index, params: Vec::new(), stms: Vec::new(), span: stm.span };
        let more = Param { var: self.vars.fresh("n"), ty: Type::I64 };
        let add = PrimOp::Bin(BinOp::Add, Prim::I64);
        kept.push(vec![more.clone()], Exp::Prim(add, vec![count, Atom::i64(1)]));
        let mut results = vec![Atom::Var(more.var)];
        for ((p, array), value) in all.iter().zip(&arrays).zip(&lam.body.results[1..]) {
            results.push(self.update(&mut kept, p, *array, &[count], *value).into());
        }
        let then = Body { stms: kept.stms, results };
        let same = std::iter::once(count).chain(arrays.into_iter().map(Atom::Var)).collect();
        let other = Body { stms: Vec::new(), results: same };
        let pat: Vec<Param> = std::iter::once(&more).chain(&all).map(|p| self.fresh(p)).collect();
        let results = pat.iter().map(|p| p.var.into()).collect();
        turn.push(pat, Exp::If { cond: lam.body.results[0], then, other });

        let count = stm.pat[0].clone();
        let len = Atom::Var(count.var);
        let pat = std::iter::once(count).chain(all.iter().cloned()).collect();
        finish(turn, width, pat, results, out);
        for (p, all) in stm.pat[1..].iter().zip(all) {
            let exp = Exp::Slice { arr: all.var, start: Atom::i64(0), len, stride: Atom::i64(1) };
            out.push(Stm { pat: vec![p.clone()], exp, span: stm.span });
        }
    }

    /// Scatters, and histograms with their operator.
    fn write(
        &mut self,
        stm: &Stm,
        dests: &[Var],
        (width, inputs, lam): (Atom, &[Var], &Lambda),
        op: Option<&Lambda>,
        out: &mut Vec<Stm>,
    ) {
        let mut turn = self.turn(inputs, lam, stm.span);
        let arrays: Vec<Var> =
            stm.pat.iter().zip(dests).map(|(p, d)| self.state(&mut turn, &p.ty, (*d).into())).collect();
        self.append(&mut turn, &lam.body);
        let at = lam.body.results[0];
        let cond = self.inside(&mut turn, at, &stm.pat);

        let mut then = Turn { index: turn.index, params: Vec::new(), stms: Vec::new(), span: stm.span };
        let mut values = lam.body.results[1..].to_vec();
        if let Some(op) = op {
            let mut old = Vec::new();
            for (array, ty) in arrays.iter().zip(&op.ret) {
                let p = Param { var: self.vars.fresh("old"), ty: ty.clone() };
                old.push(Atom::Var(p.var));
                then.push(vec![p], Exp::Index(*array, vec![at]));
            }
            then.name(&op.params, old.into_iter().chain(values));
            self.append(&mut then, &op.body);
            values = op.body.results.clone();
        }
        let mut results = Vec::new();
        for ((p, array), value) in stm.pat.iter().zip(&arrays).zip(values) {
            results.push(Atom::Var(self.update(&mut then, p, *array, &[at], value)));
        }
        let then = Body { stms: then.stms, results };
        let other = Body { stms: Vec::new(), results: arrays.into_iter().map(Atom::Var).collect() };
        let pat: Vec<Param> = stm.pat.iter().map(|p| self.fresh(p)).collect();
        let results = pat.iter().map(|p| p.var.into()).collect();
        turn.push(pat, Exp::If { cond, then, other });
        finish(turn, width, stm.pat.clone(), results, out);
    }

    /// Whether an index lies inside the arrays written to.
    fn inside(&mut self, turn: &mut Turn, at: Atom, pat: &[Param]) -> Atom {
        let Some(Dim::Size(size)) = pat.first().and_then(|p| p.ty.dims.first()) else {
            return Atom::bool(false);
        };
        let mut bool = |vars: &mut Vars, op, args| {
            let p = Param { var: vars.fresh("inside"), ty: Type::BOOL };
            let var = p.var;
            turn.push(vec![p], Exp::Prim(op, args));
            Atom::Var(var)
        };
        let low = bool(self.vars, PrimOp::Cmp(CmpOp::Le, Prim::I64), vec![Atom::i64(0), at]);
        let high = bool(self.vars, PrimOp::Cmp(CmpOp::Lt, Prim::I64), vec![at, *size]);
        bool(self.vars, PrimOp::Bin(BinOp::And, Prim::Bool), vec![low, high])
    }

    /// A loop whose turns begin with the rows of the inputs.
    fn turn(&mut self, inputs: &[Var], lam: &Lambda, span: Span) -> Turn {
        let mut turn = Turn { index: self.vars.fresh("i"), params: Vec::new(), stms: Vec::new(), span };
        for (p, input) in lam.params.iter().zip(inputs) {
            turn.push(vec![p.clone()], Exp::Index(*input, vec![turn.index.into()]));
        }
        turn
    }

    /// A variable of the loop's state.
    fn state(&mut self, turn: &mut Turn, ty: &Type, initial: Atom) -> Var {
        let var = self.vars.fresh("acc");
        turn.params.push((Param { var, ty: ty.clone() }, initial));
        var
    }

    fn append(&mut self, turn: &mut Turn, body: &Body) {
        body.stms.iter().for_each(|s| self.stm(s.clone(), &mut turn.stms));
    }

    /// The next version of an array like `p`.
    fn update(&mut self, turn: &mut Turn, p: &Param, arr: Var, at: &[Atom], value: Atom) -> Var {
        let next = self.fresh(p);
        let var = next.var;
        turn.push(vec![next], Exp::Update { arr, at: At::indices(at), value });
        var
    }

    fn fresh(&mut self, p: &Param) -> Param {
        Param { var: self.vars.fresh_like(p.var), ty: p.ty.clone() }
    }

    /// An array of a type, full of zeros.
    fn filled(&mut self, ty: &Type, span: Span, out: &mut Vec<Stm>) -> Var {
        let mut bind = |vars: &mut Vars, ty: Type, exp| {
            let p = Param { var: vars.fresh("zeros"), ty };
            let var = p.var;
            out.push(Stm { pat: vec![p], exp, span });
            var
        };
        let (prim, zero) = (ty.prim(), Atom::Const(Scalar::zero(ty.prim())));
        if let [_, Dim::Seg(s)] = ty.dims[..] {
            let total = Atom::Var(bind(self.vars, Type::I64, Exp::Total(s)));
            let flat = Type::array(vec![Dim::Size(total)], prim);
            let flat = bind(self.vars, flat, Exp::Replicate(total, zero));
            return bind(self.vars, ty.clone(), Exp::Unflatten(flat));
        }
        let mut made = zero;
        for i in (0..ty.dims.len()).rev() {
            let Dim::Size(n) = ty.dims[i] else { unreachable!("deep descriptors are not filled") };
            let ty = Type::array(ty.dims[i..].to_vec(), prim);
            made = bind(self.vars, ty, Exp::Replicate(n, made)).into();
        }
        made.var().expect("an array has a dimension")
    }
}

/// Whether an operator is to work on one row after the other.
fn is_sequential(exp: &Exp) -> bool {
    exp.lambdas().first().is_some_and(|lam| lam.schedule == Schedule::Sequential)
}

/// Whether the shape of a result is known before the statement that binds `pat`, and simple enough.
fn can_be_filled(ty: &Type, pat: &[Param]) -> bool {
    let outside = |d: &Dim| match d {
        Dim::Size(Atom::Const(_)) => true,
        Dim::Size(Atom::Var(v)) | Dim::Seg(v) => pat.iter().all(|p| p.var != *v),
    };
    let regular = ty.dims.iter().all(|d| matches!(d, Dim::Size(_)));
    !ty.is_desc() && ty.dims.iter().all(outside) && (regular || ty.rank() == 2)
}

fn finish(turn: Turn, width: Atom, pat: Vec<Param>, results: Vec<Atom>, out: &mut Vec<Stm>) {
    let Turn { index, params, stms, span } = turn;
    let form = LoopForm::For { index, prim: Prim::I64, bound: width };
    out.push(Stm { pat, exp: Exp::Loop { params, form, body: Body { stms, results } }, span });
}
