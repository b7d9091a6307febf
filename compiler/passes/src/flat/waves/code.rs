//! The reduction over waves, and the loops over rows.

use super::Bounds;
use super::find::{Wave, is_choice};
use par_ir::access::{Access, Facts, Symbol};
use par_ir::build::{Host, Statements};
use par_ir::core::{self, At, Body, Exp, Lambda, LoopForm, Param};
use par_ir::effects::Effects;
use par_ir::flat::{Kernel, KernelKind, Op, Out, Space};
use par_ir::prim::{BinOp, CmpOp, PrimOp};
use par_ir::ty::{Atom, Dim, Type, Var, Vars};
use par_ir::visit::{Code, Subst};
use par_ir::{CheckKind, Prim, Scalar, Span};

/// The host's scalars of a wave.
struct OfWave {
    /// Names of its scalars.
    names: Subst,
    /// Its checks.
    holds: Vec<Atom>,
    /// First row, and the one behind the last.
    first: Atom,
    end: Atom,
}

/// A wave with its code around.
struct Coder<'w, 's> {
    wave: &'w Wave<'s>,
    /// Elements of the array.
    len: Atom,
    vars: &'w mut Vars,
    code: Statements,
}

impl Coder<'_, '_> {
    fn of_wave(&mut self, q: Atom) -> OfWave {
        let mut names = Subst::from_iter([(self.wave.index, q)]);
        let mut holds = Vec::new();
        for stm in &self.wave.host {
            match &stm.op {
                Op::Prim(op, xs) => {
                    let xs = xs.iter().map(|x| x.substituted(&names)).collect();
                    let x = self.code.prim("wave", *op, xs, self.vars);
                    names.insert(stm.pat[0].var, x);
                }
                Op::Check { cond, .. } => holds.push(cond.substituted(&names)),
                _ => _ = names.insert(stm.pat[0].var, self.len),
            }
        }
        let first = self.wave.first.map_or(Atom::i64(0), |v| names[&v]);
        let count = self.wave.count.substituted(&names);
        let end = self.arith(BinOp::Add, first, count);
        OfWave { names, holds, first, end }
    }

    fn arith(&mut self, op: BinOp, a: Atom, b: Atom) -> Atom {
        self.code.arith("wave", op, a, b, self.vars)
    }

    fn is(&mut self, a: Atom, op: CmpOp, b: Atom) -> Atom {
        self.code.compare("wave", op, a, b, self.vars)
    }

    fn all(&mut self, conds: Vec<Atom>) -> Atom {
        let vars = &mut *self.vars;
        let code = &mut self.code;
        let and = |a, b| code.logic("all", BinOp::And, a, b, vars);
        conds.into_iter().reduce(and).unwrap_or(Atom::bool(true))
    }

    fn select(&mut self, cond: Atom, a: Atom, b: Atom) -> Atom {
        self.code.prim("wave", PrimOp::Select(Prim::I64), vec![cond, a, b], self.vars)
    }

    /// Names of a kernel's variables at a position.
    fn at(&mut self, k: &Kernel, of: &OfWave, pos: Atom) -> Subst {
        let mut names = of.names.clone();
        names.insert(k.row, Atom::i64(0));
        names.extend(k.index.iter().map(|v| (*v, pos)));
        names.insert(k.pos, pos);
        let prologue = k.prologue.refreshed_with(self.vars, &mut names);
        self.code.stms.extend(prologue);
        names
    }

    /// Indices at a position: that of [`Wave::place`], and the one that is written.
    fn indices(&mut self, of: &OfWave, pos: Atom) -> [Atom; 2] {
        let wave = self.wave;
        let mut names = self.at(wave.scatter, of, pos);
        let is_value = |s: &core::Stm| matches!(&s.exp, Exp::Index(arr, _) if *arr == wave.made);
        let stms: Vec<core::Stm> = wave.scatter.body.stms.iter().filter(|s| !is_value(s)).cloned().collect();
        let stms = stms.refreshed_with(self.vars, &mut names);
        self.code.stms.extend(stms);
        [wave.place, wave.scatter.body.results[0]].map(|a| a.substituted(&names))
    }

    /// The value of a position, and the flag, which is set if a check of it has failed.
    fn value(&mut self, of: &OfWave, pos: Atom, state: Var, flag: &Param) -> (Atom, Atom) {
        let wave = self.wave;
        let mut names = self.at(wave.map, of, pos);
        names.insert(wave.state, state.into());
        let mut stms: Vec<core::Stm> = Vec::new();
        for stm in &wave.map.body.stms {
            match (&stm.exp, is_choice(wave.map, stm)) {
                (Exp::If { then, .. }, Some(_)) => {
                    stms.extend(then.stms.iter().cloned());
                    let names = stm.pat.iter().zip(&then.results);
                    stms.extend(names.map(|(p, a)| core::Stm {
                        pat: vec![p.clone()],
                        exp: Exp::Atom(*a),
                        span: stm.span,
                    }));
                }
                _ => stms.push(stm.clone()),
            }
        }
        let body =
            Body { stms, results: wave.map.body.results.clone() }.refreshed_with(self.vars, &mut names);
        let body = guarded(body.stms, &[(body.results[0], wave.prim)], flag, self.vars);
        self.code.stms.extend(body.stms);
        (body.results[0], body.results[1])
    }
}

/// Statements that go on only where their checks hold: results, and a flag that is set where one fails.
fn guarded(mut stms: Vec<core::Stm>, results: &[(Atom, Prim)], flag: &Param, vars: &mut Vars) -> Body {
    let Some(at) = stms.iter().position(Effects::may_fail) else {
        return Body { stms, results: with_flag(results.iter().map(|r| r.0), flag) };
    };
    let rest = stms.split_off(at + 1);
    let stm = stms.pop().expect("a statement with checks");
    let span = stm.span;
    let mut code = Statements { stms, span };
    let (cond, flag, set) = match stm.exp {
        Exp::If { cond, then, other } => {
            let (holds, flag) = guarded_arms((stm.pat, cond, [then, other]), flag, &mut code, vars);
            if rest.is_empty() {
                return code.results(with_flag(results.iter().map(|r| r.0), &flag));
            }
            (holds, flag, None)
        }
        _ => (holds(&stm, &mut code, vars), flag.clone(), Some(flag.fresh(vars))),
    };
    let then = guarded(rest, results, &flag, vars);
    let zeros = results.iter().map(|r| Atom::Const(Scalar::zero(r.1)));
    let other = match set {
        Some(set) => {
            let results = with_flag(zeros, &set);
            let exp =
                Exp::Update { arr: flag.var, at: At::indices(&[Atom::i64(0)]), value: Atom::bool(true) };
            Body { stms: vec![core::Stm { pat: vec![set], exp, span }], results }
        }
        None => Body { stms: vec![], results: with_flag(zeros, &flag) },
    };
    let value = |prim: Prim, vars: &mut Vars| Param { var: vars.fresh("value"), ty: Type::scalar(prim) };
    let mut pat: Vec<Param> = results.iter().map(|r| value(r.1, vars)).collect();
    pat.push(flag.fresh(vars));
    let results = pat.iter().map(|p| p.var.into()).collect();
    code.bind(pat, Exp::If { cond, then, other });
    code.results(results)
}

/// A branch whose arms are guarded: whether all checks hold, and the flag.
fn guarded_arms(
    (mut pat, cond, arms): (Vec<Param>, Atom, [Body; 2]),
    flag: &Param,
    code: &mut Statements,
    vars: &mut Vars,
) -> (Atom, Param) {
    let prims: Vec<Prim> = pat.iter().map(|p| p.ty.prim()).collect();
    let [then, other] = arms.map(|arm| {
        let mut results: Vec<_> = arm.results.into_iter().zip(prims.iter().copied()).collect();
        results.push((Atom::bool(true), Prim::Bool));
        guarded(arm.stms, &results, flag, vars)
    });
    let (holds, flag) = (vars.fresh("holds"), flag.fresh(vars));
    pat.extend([Param { var: holds, ty: Type::BOOL }, flag.clone()]);
    code.bind(pat, Exp::If { cond, then, other });
    (holds.into(), flag)
}

fn with_flag(results: impl Iterator<Item = Atom>, flag: &Param) -> Vec<Atom> {
    results.chain([flag.var.into()]).collect()
}

/// The condition of a check: that of an index as one comparison without sign, since sizes are not negative.
fn holds(check: &core::Stm, code: &mut Statements, vars: &mut Vars) -> Atom {
    match &check.exp {
        Exp::Check { kind: CheckKind::Bounds, args, .. } => {
            let without_sign = PrimOp::Conv(Prim::I64, Prim::U64);
            let args = args.iter().map(|a| code.prim("inside", without_sign, vec![*a], vars)).collect();
            code.prim("inside", PrimOp::Cmp(CmpOp::Lt, Prim::U64), args, vars)
        }
        Exp::Check { cond, .. } => *cond,
        _ => Atom::bool(true),
    }
}

impl Wave<'_> {
    /// Reduces the waves to their [`Bounds`].
    pub(super) fn reduction(&self, len: Atom, span: Span, vars: &mut Vars) -> Kernel {
        let (row, pos) = (vars.fresh("row"), vars.fresh("q"));
        let mut c = Coder { wave: self, len, vars, code: Statements::new(span) };
        let q: Atom = pos.into();
        let back = c.arith(BinOp::Sub, q, Atom::i64(1));
        let back = c.arith(BinOp::Max, back, Atom::i64(0));
        let (before, now) = (c.of_wave(back), c.of_wave(q));
        let least = Atom::i64(-super::LARGE);
        let mut holds = now.holds.clone();
        for (a, b) in [
            (least, now.first),
            (now.end, Atom::i64(super::LARGE)),
            (now.first, now.end),
            (before.first, now.first),
            (before.end, now.end),
        ] {
            holds.push(c.is(a, CmpOp::Le, b));
        }
        let is_empty = c.is(now.first, CmpOp::Eq, now.end);
        let inside = c.inside(&now);
        let inside = c.code.logic("inside", BinOp::Or, is_empty, inside, c.vars);
        holds.push(inside);
        let holds = c.all(holds);
        let last = c.arith(BinOp::Sub, now.end, Atom::i64(1));
        let [low, high] = [last, now.first].map(|i| c.arith(BinOp::Sub, q, i));
        let (none, all) = (Atom::i64(i64::MAX), Atom::i64(i64::MIN));
        let results = [(now.first, none), (now.end, all), (low, none), (high, all)];
        let results = results.map(|(x, neutral)| c.select(is_empty, neutral, x));
        let body = std::mem::take(&mut c.code).results([vec![holds], results.to_vec()].concat());
        let bounds = [BinOp::Min, BinOp::Max, BinOp::Min, BinOp::Max].map(|op| (op, Prim::I64));
        let kind = KernelKind::Reduce {
            op: Lambda::of_operators(&[&[(BinOp::And, Prim::Bool)], &bounds[..]].concat(), span, vars),
            neutral: vec![Atom::bool(true), none, all, none, all],
        };
        let space = Space::flat(self.bound);
        Kernel { kind, space, index: vec![pos], row, pos, prologue: vec![], body }
    }

    /// One position that goes over all rows, and over the waves of each.
    pub(super) fn rows(&self, found: &Bounds, host: &mut Host) -> Kernel {
        use par_ir::flat::Ty;
        let len = host.value("len", Ty::Scalar(Prim::I64), Op::Length(self.initial));
        let none_failed = Op::Replicate(Atom::i64(1), Atom::bool(false));
        let none_failed = host.value("failed", Ty::Array(Prim::Bool), none_failed);
        let rows = host.arith("rows", BinOp::Sub, found.rows[1], found.rows[0]);
        let span = host.like.span;
        let vars = &mut *host.vars;
        let array = Type::array(vec![Dim::Size(len.into())], self.prim);
        let param = |vars: &mut Vars, name: &str, ty: &Type| Param { var: vars.fresh(name), ty: ty.clone() };
        let (row, pos, t) = (vars.fresh("row"), vars.fresh("pos"), vars.fresh("t"));
        let flag = Type::array(vec![Dim::Size(Atom::i64(1))], Prim::Bool);
        let states = [param(vars, "xs", &array), param(vars, "failed", &flag)];
        let outer = [("xs", &array), ("from", &Type::I64), ("to", &Type::I64), ("failed", &flag)]
            .map(|(name, ty)| param(vars, name, ty));
        let mut c = Coder { wave: self, len: len.into(), vars, code: Statements::new(span) };
        let i = c.arith(BinOp::Add, found.rows[0], t.into());
        let from = c.first_wave(outer[1].var, &|of| of.end, i);
        let to = c.first_wave(outer[2].var, &|of| of.first, i);
        let count = c.arith(BinOp::Sub, to, from);
        let inner = c.along_row(i, from, count, &outer);
        let body = std::mem::take(&mut c.code);
        let body = body.results(vec![inner[0], from, to, inner[1]]);
        let pat: Vec<Param> = outer.iter().map(|p| p.fresh(vars)).collect();
        let start = [states[0].var.into(), Atom::i64(0), Atom::i64(0), states[1].var.into()];
        let exp = Exp::counted(t, rows, outer.iter().cloned().zip(start).collect(), body);
        let results = vec![pat[0].var.into(), pat[3].var.into()];
        let body = Body { stms: vec![core::Stm { pat, exp, span }], results };
        let [xs, failed] = states;
        let outs =
            vec![Out::Own { dest: self.initial, state: xs }, Out::Own { dest: none_failed, state: failed }];
        let space = Space::flat(Atom::i64(1));
        Kernel { kind: KernelKind::Map(outs), space, index: vec![pos], row, pos, prologue: vec![], body }
    }
}

impl Coder<'_, '_> {
    /// True if the indices of a wave are inside of the array, and all that is known before its positions holds.
    fn inside(&mut self, now: &OfWave) -> Atom {
        let steps = self.arith(BinOp::Sub, now.end, now.first);
        let steps = self.arith(BinOp::Sub, steps, Atom::i64(1));
        let [low, high] = [Atom::i64(0), steps].map(|pos| self.indices(now, pos)[1]);
        let mut conds = [low, high].map(|index| self.is(Atom::i64(0), CmpOp::Le, index)).to_vec();
        conds.push(self.is(high, CmpOp::Lt, self.len));
        let map = self.wave.map;
        let names = self.at(map, now, Atom::i64(0));
        conds.extend(map.body.stms.iter().filter_map(|s| is_choice(map, s)).map(|a| a.substituted(&names)));
        self.all(conds)
    }

    /// The first wave from this one on whose bound is above a row.
    fn first_wave(&mut self, from: Var, bound: &dyn Fn(&OfWave) -> Atom, row: Atom) -> Atom {
        let q = Param { var: self.vars.fresh("q"), ty: Type::I64 };
        let outside = std::mem::take(&mut self.code);
        self.code.span = outside.span;
        let of = self.of_wave(q.var.into());
        let is_before = self.is(bound(&of), CmpOp::Le, row);
        let is_wave = self.is(q.var.into(), CmpOp::Lt, self.wave.bound);
        let goes_on = self.all(vec![is_wave, is_before]);
        let cond = std::mem::take(&mut self.code).results(vec![goes_on]);
        self.code.span = outside.span;
        let next = self.arith(BinOp::Add, q.var.into(), Atom::i64(1));
        let body = std::mem::replace(&mut self.code, outside).results(vec![next]);
        let exp = Exp::Loop { params: vec![(q, from.into())], form: LoopForm::While(cond), body };
        self.code.value("q", Type::I64, exp, self.vars).into()
    }

    /// The elements of a row: the array and the flag.
    fn along_row(&mut self, i: Atom, from: Atom, count: Atom, outer: &[Param; 4]) -> [Atom; 2] {
        let u = self.vars.fresh("u");
        let (xs, failed) = (outer[0].fresh(self.vars), outer[3].fresh(self.vars));
        let outside = std::mem::take(&mut self.code);
        self.code.span = outside.span;
        let q = self.arith(BinOp::Add, from, u.into());
        let of = self.of_wave(q);
        let pos = self.arith(BinOp::Sub, i, of.first);
        let (value, failed_now) = self.value(&of, pos, xs.var, &failed);
        let [index, _] = self.indices(&of, pos);
        let next = xs.fresh(self.vars);
        self.code.bind(vec![next.clone()], Exp::Update { arr: xs.var, at: At::indices(&[index]), value });
        let body = std::mem::replace(&mut self.code, outside).results(vec![next.var.into(), failed_now]);
        let body = with_row(body, i, u);
        let pat = [xs.fresh(self.vars), failed.fresh(self.vars)];
        let results = [pat[0].var.into(), pat[1].var.into()];
        let start = vec![(xs, outer[0].var.into()), (failed, outer[3].var.into())];
        self.code.bind(pat.into(), Exp::counted(u, count, start, body));
        results
    }
}

/// Names the row where it is computed again as the sum of a first row and a position.
fn with_row(mut body: Body, row: Atom, counter: Var) -> Body {
    let facts = Facts::default();
    let access = Access::along(counter, &body, &facts);
    let is_row = |a: Atom| access.form(a).and_then(|f| f.as_symbol()) == row.var().map(Symbol::Var);
    let again: Vec<Var> = body
        .stms
        .iter()
        .filter(|s| matches!(s.exp, Exp::Prim(..)) && is_row(s.pat[0].var.into()))
        .map(|s| s.pat[0].var)
        .collect();
    for stm in &mut body.stms {
        if again.contains(&stm.pat[0].var) {
            stm.exp = Exp::Atom(row);
        }
    }
    body
}
