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

use par_ir::build::Statements;
use par_ir::core::{Body, Exp, Lambda, Param, Program, Rows, Schedule, Stm};
use par_ir::loops::{self, Loop, update};
use par_ir::prim::BinOp;
use par_ir::stack::deeper;
use par_ir::visit::Code;
use par_ir::{Atom, Dim, Span, Type, Var, Vars};

/// In all functions.
pub fn run(program: &mut Program) {
    let vars = &mut program.vars;
    program.funs.iter_mut().for_each(|f| Rewriter { vars }.body(&mut f.body));
}

struct Rewriter<'v> {
    vars: &'v mut Vars,
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

    fn map(&mut self, stm: &Stm, rows: Rows, out: &mut Vec<Stm>) {
        let dests: Vec<Var> = stm.pat.iter().map(|p| self.filled(&p.ty, stm.span, out)).collect();
        self.rows_into(&stm.pat, &dests, rows, &[], stm.span, out);
    }

    /// A loop that writes the results of every row to arrays, at `at` and the row's index.
    fn rows_into(
        &mut self,
        pat: &[Param],
        dests: &[Var],
        (width, inputs, lam): Rows,
        at: &[Atom],
        span: Span,
        out: &mut Vec<Stm>,
    ) {
        let mut rows = self.rows(inputs, lam, span);
        let mut latest: Vec<Var> = self.carried(&mut rows, pat, dests).iter().map(|p| p.var).collect();
        let mut written = vec![false; pat.len()];
        let at = [at, &[rows.index.into()]].concat();
        for (i, stm) in lam.body.stms.iter().enumerate() {
            let Some(places) = self.rows_of(stm, &lam.body, i) else {
                self.stm(stm.clone(), &mut rows.code.stms);
                continue;
            };
            let Exp::Map { width, inputs, lam } = &stm.exp else { unreachable!("only maps have rows") };
            let next: Vec<Param> = places.iter().map(|j| pat[*j].fresh(self.vars)).collect();
            let before: Vec<Var> = places.iter().map(|j| latest[*j]).collect();
            self.rows_into(&next, &before, (*width, inputs, lam), &at, stm.span, &mut rows.code.stms);
            for (j, p) in places.iter().zip(next) {
                (latest[*j], written[*j]) = (p.var, true);
            }
        }
        for (j, p) in pat.iter().enumerate().filter(|(j, _)| !written[*j]) {
            latest[j] = update(&mut rows.code, p, latest[j], &at, lam.body.results[j], self.vars);
        }
        out.push(rows.finish(width, pat.to_vec(), latest.into_iter().map(Atom::Var).collect()));
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
        (width, inputs, lam): Rows,
        (op, neutral): (&Lambda, &[Atom]),
        exclusive: Option<bool>,
        out: &mut Vec<Stm>,
    ) {
        let k = neutral.len();
        let stored = if exclusive.is_some() { &stm.pat[..] } else { &stm.pat[k..] };
        let dests: Vec<Var> = stored.iter().map(|p| self.filled(&p.ty, stm.span, out)).collect();
        let mut rows = self.rows(inputs, lam, stm.span);
        rows.fold(op, neutral);
        let arrays = self.carried(&mut rows, stored, &dests);
        self.append(&mut rows.code, &lam.body);
        let op = self.operator_of_rows(op);
        let mut results = op.body.results.clone();
        let steps = exclusive.map(|exclusive| loops::prefixes(&op, exclusive)).unwrap_or_default();
        let last = if exclusive.is_some() { op.ret.clone() } else { vec![] };
        rows.combine(op, &lam.body.results[..k]);
        let at = [rows.index.into()];
        for (p, value) in arrays.iter().zip(steps.iter().chain(&lam.body.results[k..])) {
            results.push(update(&mut rows.code, p, p.var, &at, *value, self.vars).into());
        }
        let last = last.into_iter().map(|ty| Param { var: self.vars.fresh("last"), ty });
        let pat = last.chain(stm.pat.iter().cloned()).collect();
        out.push(rows.finish(width, pat, results));
    }

    fn filter(&mut self, stm: &Stm, (width, inputs, lam): Rows, out: &mut Vec<Stm>) {
        let full = |p: &Param| Type::array(vec![Dim::Size(width)], p.ty.prim());
        let all: Vec<Param> =
            stm.pat[1..].iter().map(|p| Param { var: self.vars.fresh_like(p.var), ty: full(p) }).collect();
        let dests: Vec<Var> = all.iter().map(|p| self.filled(&p.ty, stm.span, out)).collect();
        let mut rows = self.rows(inputs, lam, stm.span);
        let count: Atom = rows.carry("acc", &Type::I64, Atom::i64(0), self.vars).into();
        let arrays = self.carried(&mut rows, &all, &dests);
        self.append(&mut rows.code, &lam.body);

        let mut kept = Statements::new(stm.span);
        let mut results = vec![kept.arith("n", BinOp::Add, count, Atom::i64(1), self.vars)];
        for (p, value) in arrays.iter().zip(&lam.body.results[1..]) {
            results.push(update(&mut kept, p, p.var, &[count], *value, self.vars).into());
        }
        let then = kept.results(results);
        let same = std::iter::once(count).chain(arrays.iter().map(|p| p.var.into())).collect();
        let other = Body { stms: Vec::new(), results: same };
        let pat: Vec<Param> = stm.pat[..1].iter().chain(&all).map(|p| p.fresh(self.vars)).collect();
        let results = pat.iter().map(|p| p.var.into()).collect();
        rows.code.bind(pat, Exp::If { cond: lam.body.results[0], then, other });

        let count = stm.pat[0].clone();
        let len = Atom::Var(count.var);
        let pat = std::iter::once(count).chain(all.iter().cloned()).collect();
        out.push(rows.finish(width, pat, results));
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
        (width, inputs, lam): Rows,
        op: Option<&Lambda>,
        out: &mut Vec<Stm>,
    ) {
        let mut rows = self.rows(inputs, lam, stm.span);
        let arrays = self.carried(&mut rows, &stm.pat, dests);
        self.append(&mut rows.code, &lam.body);
        let op = op.map(|op| self.operator_of_rows(op));
        let (at, values) = (lam.body.results[0], &lam.body.results[1..]);
        let size = match stm.pat.first().map(|p| p.ty.dims[0]) {
            Some(Dim::Size(size)) => size,
            _ => Atom::i64(0),
        };
        let results = rows.write_inside((at, size), &arrays, values, op, self.vars);
        out.push(rows.finish(width, stm.pat.clone(), results));
    }

    /// A loop whose iterations begin with the rows of the inputs.
    fn rows(&mut self, inputs: &[Var], lam: &Lambda, span: Span) -> Loop {
        let mut rows = Loop::new(span, self.vars);
        rows.read_rows(lam, inputs);
        rows
    }

    /// Arrays like `pat` as state, which start as `dests`.
    fn carried(&mut self, rows: &mut Loop, pat: &[Param], dests: &[Var]) -> Vec<Param> {
        let carry = |(p, d): (&Param, &Var)| {
            let var = rows.carry("acc", &p.ty, (*d).into(), self.vars);
            Param { var, ty: p.ty.clone() }
        };
        pat.iter().zip(dests).map(carry).collect()
    }

    fn append(&mut self, code: &mut Statements, body: &Body) {
        body.stms.iter().for_each(|s| self.stm(s.clone(), &mut code.stms));
    }

    /// An operator, with loops in it.
    fn operator_of_rows(&mut self, op: &Lambda) -> Lambda {
        let mut op = op.clone();
        self.body(&mut op.body);
        op
    }

    /// An array of a type, full of zeros.
    fn filled(&mut self, ty: &Type, span: Span, out: &mut Vec<Stm>) -> Var {
        let mut code = Statements::new(span);
        let made = match ty.dims[..] {
            [_, Dim::Seg(s)] => {
                let total = code.value("zeros", Type::I64, Exp::Total(s), self.vars).into();
                let flat = Type::array(vec![Dim::Size(total)], ty.prim());
                let flat = code.zeros(&flat, self.vars);
                code.value("zeros", ty.clone(), Exp::Unflatten(flat), self.vars)
            }
            _ => code.zeros(ty, self.vars),
        };
        out.append(&mut code.stms);
        made
    }
}

/// True if an operator is to work on one row after the other.
fn is_sequential(exp: &Exp) -> bool {
    exp.lambdas().first().is_some_and(|lam| lam.schedule == Schedule::Sequential)
}

/// True if the shape of a result is known before the statement that binds `pat`, and simple enough.
fn can_be_filled(ty: &Type, pat: &[Param]) -> bool {
    let outside = |d: &Dim| match d {
        Dim::Size(Atom::Const(_)) => true,
        Dim::Size(Atom::Var(v)) | Dim::Seg(v) => pat.iter().all(|p| p.var != *v),
    };
    let regular = ty.dims.iter().all(|d| matches!(d, Dim::Size(_)));
    !ty.is_desc() && ty.dims.iter().all(outside) && (regular || ty.rank() == 2)
}
