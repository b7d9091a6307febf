//! Index set splitting: a map in a loop of the host that leaves the rows on one side of a position as they are is an update of the others.
//!
//! ```text
//! loop a for k < n {                                          loop a for k < n {
//!     let r = map n (iota n, a) (\i row ->                        let part = map (n - k - 1) (iota …, a[k + 1:]) (\j row ->
//!       if i <= k then row                             ==>          let i = j + (k + 1)
//!       else let p = a[k] in map m (row, p) …)                      let p = a[k] in map m (row, p) …)
//!     in r }                                                      in a with [k + 1:] = part }
//! ```
//!
//! Steps of eliminations and orthogonalisations are written like that. Only the others are computed, and in place where nothing else of the array is read but
//! rows that stay: a map that reads rows around its own is left alone, for it would be computed beside the array and copied. So is an array that is used later, and
//! one that another map makes in the same iteration, as rows that are exchanged: it would have to be stored first (1.4 of the time). Where an iteration reads nothing
//! of the array but each row for itself, loop and map are interchanged instead (0.8 of the time).

use par_ir::build::Statements;
use par_ir::core::{At, Body, Exp, Lambda, LoopForm, Param, Program, Stm};
use par_ir::effects::Effects;
use par_ir::prim::{BinOp, CmpOp, PrimOp};
use par_ir::stack::deeper;
use par_ir::visit::Code;
use par_ir::{Atom, Dim, Prim, Type, Var, Vars};
use std::collections::HashSet;

/// In every function, outside of operators.
pub(crate) fn run(program: &mut Program) {
    let Program { funs, vars, .. } = program;
    for f in funs {
        let mut walk = Walk { vars, iotas: HashSet::new(), descs: HashSet::new() };
        walk.note_descs(&f.params);
        walk.body(&mut f.body, &[]);
    }
}

struct Walk<'v> {
    vars: &'v mut Vars,
    iotas: HashSet<Var>,
    /// Descriptors, of which there are no slices.
    descs: HashSet<Var>,
}

/// A map that leaves rows as they are.
struct Split {
    /// Number of its parameter for positions.
    position: usize,
    /// Bound that positions are compared with, and how: where it holds, the row is a new one.
    bound: Atom,
    op: CmpOp,
    /// The body of the new rows.
    body: Body,
}

impl Walk<'_> {
    /// `state` has the parameters of the loop around, with what replaces them.
    fn body(&mut self, body: &mut Body, state: &[(Var, Atom)]) {
        let mut left = std::mem::take(&mut body.stms).into_iter();
        while let Some(mut stm) = left.next() {
            self.note_descs(&stm.pat);
            match &mut stm.exp {
                Exp::Iota(_) => _ = self.iotas.insert(stm.pat[0].var),
                Exp::Loop { params, form, body } => {
                    self.note_descs(params.iter().map(|(p, _)| p));
                    let next = body.results.clone();
                    let state: Vec<(Var, Atom)> = params.iter().map(|(p, _)| p.var).zip(next).collect();
                    if let LoopForm::While(cond) = form {
                        deeper(|| self.body(cond, &[]));
                    }
                    deeper(|| self.body(body, &state));
                }
                Exp::If { then, other, .. } => {
                    [then, other].into_iter().for_each(|arm| deeper(|| self.body(arm, &[])));
                }
                _ => {}
            }
            let replaces = |(_, next): &&(Var, Atom)| stm.pat.len() == 1 && *next == stm.pat[0].var.into();
            let array = state.iter().find(replaces).map(|s| s.0);
            let array = array.filter(|a| !left.as_slice().iter().any(|s| s.mentions(*a)));
            let split = array.and_then(|array| Some((array, self.split(&stm, array, &body.stms)?)));
            match split {
                Some((array, split)) => body.stms.extend(self.updated(stm, array, &split)),
                None => body.stms.push(stm),
            }
        }
    }

    fn note_descs<'p>(&mut self, params: impl IntoIterator<Item = &'p Param>) {
        self.descs.extend(params.into_iter().filter(|p| p.ty.is_desc()).map(|p| p.var));
    }

    /// The map as an update of the array.
    fn updated(&mut self, stm: Stm, array: Var, split: &Split) -> Vec<Stm> {
        let Exp::Map { width, inputs, lam } = &stm.exp else { return vec![stm] };
        let (mut code, vars) = (Statements::new(stm.span), &mut *self.vars);
        let is_behind = matches!(split.op, CmpOp::Gt | CmpOp::Ge);
        let is_next = matches!(split.op, CmpOp::Gt | CmpOp::Le);
        // Bounds are clamped first, so that nothing wraps.
        let (least, most) = match is_next {
            true => (-1, code.arith("last", BinOp::Sub, *width, Atom::i64(1), vars)),
            false => (0, *width),
        };
        let least = code.arith("from", BinOp::Max, split.bound, Atom::i64(least), vars);
        let edge = code.arith("from", BinOp::Min, least, most, vars);
        let edge = if is_next { code.arith("from", BinOp::Add, edge, Atom::i64(1), vars) } else { edge };
        let from = if is_behind { edge } else { Atom::i64(0) };
        let count = if is_behind { code.arith("count", BinOp::Sub, *width, edge, vars) } else { edge };
        let of_rows = |row: &Type| {
            let dims = std::iter::once(Dim::Size(count)).chain(row.dims.iter().copied());
            Type { dims: dims.collect(), ..row.clone() }
        };
        let js = code.value("is", of_rows(&Type::I64), Exp::Iota(count), vars);
        let mut rows = Vec::new();
        for (k, (arr, p)) in inputs.iter().zip(&lam.params).enumerate() {
            let exp = Exp::Slice { arr: *arr, start: from, len: count, stride: Atom::i64(1) };
            let is_positions = k == split.position;
            rows.push(if is_positions { js } else { code.value("part", of_rows(&p.ty), exp, vars) });
        }
        let lam = split.lambda(lam, from, stm.span, vars);
        let ty = of_rows(&lam.ret[0]);
        let part = code.value("part", ty, Exp::Map { width: count, inputs: rows, lam }, vars);
        let at = vec![At::Slice { start: from, stride: Atom::i64(1) }];
        code.bind(stm.pat, Exp::Update { arr: array, at, value: part.into() });
        code.stms
    }

    /// How a map leaves rows of an array as they are, if it does. `before` is what the iteration does before.
    fn split(&self, stm: &Stm, array: Var, before: &[Stm]) -> Option<Split> {
        let Exp::Map { inputs, lam, .. } = &stm.exp else { return None };
        let position = inputs.iter().position(|v| self.iotas.contains(v))?;
        let regular =
            lam.params.iter().map(|p| &p.ty).chain(&lam.ret).all(|ty| ty.is_regular() && !ty.is_desc());
        let has_descs = inputs.iter().any(|v| self.descs.contains(v));
        if !regular || has_descs || lam.ret.len() != 1 || lam.ret[0].is_scalar() {
            return None;
        }
        let i = lam.params[position].var;
        let own = params_of(inputs, lam, &|v| v == array);
        let row = Row { array, own: &own, at: vec![i.into()], iotas: &self.iotas };
        let (cond, is_new, body) = row.new_rows(&lam.body)?;
        let (op, bound) = comparison(cond, i, &lam.body)?;
        let op = if is_new { op } else { op.negated() };
        let is_fixed = bound.var().is_none_or(|v| !lam.bound().contains(&v));
        // Of its other rows, only the one that positions are compared with.
        let stays = |at: &[Atom]| at[0] == i.into() || at[0] == bound && matches!(op, CmpOp::Gt | CmpOp::Lt);
        let is_alone =
            !before.iter().any(|s| s.mentions(array)) && reads_only(&body, array, &|at| at[0] == i.into());
        let pays = is_fixed && !is_alone && reads_only(&body, array, &stays);
        pays.then_some(Split { position, bound, op, body })
    }
}

impl Split {
    /// The function of the new rows, for positions from `from` on.
    fn lambda(&self, lam: &Lambda, from: Atom, span: par_ir::Span, vars: &mut Vars) -> Lambda {
        let mut params = lam.params.clone();
        let i = params[self.position].var;
        let j = vars.fresh_like(i);
        params[self.position].var = j;
        let mut code = Statements::new(span);
        let sum = Exp::Prim(PrimOp::Bin(BinOp::Add, Prim::I64), vec![j.into(), from]);
        code.bind(vec![Param { var: i, ty: Type::I64 }], sum);
        code.stms.extend(self.body.stms.iter().cloned());
        Lambda { params, body: code.results(self.body.results.clone()), ..lam.clone() }
    }
}

/// The row of an array at a position, or an element of it.
struct Row<'a> {
    array: Var,
    /// Parameters that are the row.
    own: &'a [Var],
    /// Its position, as indices; none if no parameter has the position of an element.
    at: Vec<Atom>,
    iotas: &'a HashSet<Var>,
}

impl Row<'_> {
    /// The condition of a body that is this row or a new one, whether the new one is where the condition holds, and the body without the condition.
    fn new_rows(&self, body: &Body) -> Option<(Var, bool, Body)> {
        let [result] = body.results[..] else { return None };
        let defines = |s: &Stm| s.pat.len() == 1 && Atom::Var(s.pat[0].var) == result;
        let at = body.stms.iter().position(defines)?;
        // What fails for rows that stay is not left out.
        if body.stms.iter().enumerate().any(|(k, s)| k != at && s.has_effect()) {
            return None;
        }
        let alone = |a: Atom| Body { stms: vec![], results: vec![a] };
        match &body.stms[at].exp {
            Exp::If { cond: Atom::Var(cond), then, other } => self.one_arm(*cond, [then, other], at, body),
            Exp::Prim(PrimOp::Select(_), xs) => {
                let arms = [xs[1], xs[2]].map(alone);
                self.one_arm(xs[0].var()?, arms.each_ref(), at, body)
            }
            // Element by element, with one condition for all of the row.
            Exp::Map { width, inputs, lam } => {
                let own = params_of(inputs, lam, &|v| self.own.contains(&v));
                let made_here = |v| definition(v, body).is_some_and(|s| matches!(s.exp, Exp::Iota(_)));
                let j = params_of(inputs, lam, &|v| self.iotas.contains(&v) || made_here(v)).first().copied();
                let place = j.map_or(vec![], |j| [&self.at[..], &[j.into()]].concat());
                let (cond, is_new, inner) = Row { own: &own, at: place, ..*self }.new_rows(&lam.body)?;
                let mut stms = body.stms.clone();
                let lam = Lambda { body: inner, ..lam.clone() };
                stms[at].exp = Exp::Map { width: *width, inputs: inputs.clone(), lam };
                Some((cond, is_new, Body { stms, results: body.results.clone() }))
            }
            _ => None,
        }
    }

    /// The same for a branch in the body.
    fn one_arm(&self, cond: Var, arms: [&Body; 2], at: usize, body: &Body) -> Option<(Var, bool, Body)> {
        let is_new = match arms.map(|arm| self.is_it(arm, body)) {
            [false, true] => true,
            [true, false] => false,
            _ => return None,
        };
        let arm = arms[usize::from(!is_new)];
        let mut stms = body.stms.clone();
        stms.splice(at..=at, arm.stms.iter().cloned());
        Some((cond, is_new, Body { stms, results: arm.results.clone() }))
    }

    /// True if an arm is the row, and does nothing.
    fn is_it(&self, arm: &Body, around: &Body) -> bool {
        let [Atom::Var(result)] = arm.results[..] else { return false };
        let reads = |s: &Stm| matches!(&s.exp, Exp::Index(a, at) if *a == self.array && *at == self.at);
        let is_read = |s: &Stm| s.pat[0].var == result && reads(s);
        let own = self.own.contains(&result) && arm.stms.is_empty();
        own || match &arm.stms[..] {
            [] => around.stms.iter().any(|s| s.pat.len() == 1 && is_read(s)),
            [only] => only.pat.len() == 1 && is_read(only),
            _ => false,
        }
    }
}

/// A condition that orders the position and a number: the position's comparison with that.
fn comparison(cond: Var, i: Var, body: &Body) -> Option<(CmpOp, Atom)> {
    let stm = definition(cond, body)?;
    let Exp::Prim(PrimOp::Cmp(op, Prim::I64), xs) = &stm.exp else { return None };
    match xs[..] {
        _ if matches!(op, CmpOp::Eq | CmpOp::Ne) => None,
        [a, b] if a == i.into() => Some((*op, b)),
        [a, b] if b == i.into() => Some((op.exchanged(), a)),
        _ => None,
    }
}

/// The statement that binds a variable, in a body or those inside.
fn definition(v: Var, body: &Body) -> Option<&Stm> {
    body.stms.iter().find_map(|s| match s.pat.iter().any(|p| p.var == v) {
        true => Some(s),
        false => s.exp.bodies().into_iter().find_map(|b| deeper(|| definition(v, b))),
    })
}

/// The parameters for some of the inputs.
fn params_of(inputs: &[Var], lam: &Lambda, of: &dyn Fn(Var) -> bool) -> Vec<Var> {
    inputs.iter().zip(&lam.params).filter(|(v, _)| of(**v)).map(|(_, p)| p.var).collect()
}

/// True if a body only reads elements of an array, at indices that may be.
fn reads_only(body: &Body, array: Var, may_be: &dyn Fn(&[Atom]) -> bool) -> bool {
    body.stms.iter().all(|s| match &s.exp {
        Exp::Index(a, at) if *a == array => may_be(at),
        exp => {
            let mut is_operand = false;
            exp.for_each_operand(&mut |a| is_operand |= a == array.into());
            !is_operand && exp.bodies().into_iter().all(|b| deeper(|| reads_only(b, array, may_be)))
        }
    })
}
