//! Elements that an iteration of a loop wrote and a later one reads stay in variables.
//!
//! ```text
//! r = loop (a = a0) for i < n do {               b0 = if inside (start - 1) { a0[start - 1] } else { 0 }
//!     x = a[start + i - 1]                       r = loop (a = a0, b = b0) for i < n do {
//!     y = f x                              ==>       y = f b
//!     in a with [start + i] = y                      in (a with [start + i] = y, y)
//! }                                              }
//! ```
//!
//! A load waits for the store that it reads from, several times as long as an operator takes. The element before the first iteration is read
//! only if its index is inside: if it is not, no iteration reads it. It may belong to another position, which changes it meanwhile; then none does either.

use super::walk;
use par_ir::Scalar;
use par_ir::access::{Access, Form, Symbol};
use par_ir::build::Statements;
use par_ir::core::{At, Body, Exp, LoopForm, Param, Stm};
use par_ir::flat::Program;
use par_ir::hash::{HashMap, HashSet};
use par_ir::prim::{BinOp, CmpOp};
use par_ir::tuning;
use par_ir::ty::{Atom, Dim, Type, Var, Vars};
use par_ir::visit::{Code, Subst};

/// In every function of a program.
pub(crate) fn run(program: &mut Program) {
    walk::kernels(program, |k, facts, vars| {
        if writes(&k.body) {
            let access = Access::of(k, facts);
            in_body(&mut k.body, &access, vars);
        }
    });
}

/// True if a body updates an array.
fn writes(body: &Body) -> bool {
    let of = |s: &Stm| matches!(s.exp, Exp::Update { .. }) || s.exp.own_bodies().into_iter().any(writes);
    body.stms.iter().any(of)
}

fn in_body(body: &mut Body, access: &Access, vars: &mut Vars) {
    let mut stms = Vec::with_capacity(body.stms.len());
    for mut stm in std::mem::take(&mut body.stms) {
        stm.exp.own_bodies_mut().into_iter().for_each(|b| in_body(b, access, vars));
        for found in Recurrence::all(&stm, access) {
            stms.append(&mut found.into_variables(&mut stm, vars));
        }
        stms.push(stm);
    }
    body.stms = stms;
}

/// An array of a loop's state that every iteration writes one element of, and elements of earlier iterations that it reads.
struct Recurrence {
    /// Its place in the state.
    place: usize,
    /// The variables that hold elements of earlier iterations, with the distance in iterations.
    reads: HashMap<Var, usize>,
    /// The code of the index that is written, for a number of the iteration.
    index: Body,
    value: Atom,
}

impl Recurrence {
    fn all(stm: &Stm, access: &Access) -> Vec<Recurrence> {
        let Exp::Loop { params, form: LoopForm::For { index, .. }, body } = &stm.exp else { return vec![] };
        let changes: HashSet<Var> = stm.exp.bound().into_iter().filter(|v| v != index).collect();
        let find = |place: usize| Self::find(place, &params[place].0, (*index, &changes), body, access);
        (0..params.len()).filter_map(find).collect()
    }

    fn find(
        place: usize,
        array: &Param,
        (counter, changes): (Var, &HashSet<Var>),
        body: &Body,
        access: &Access,
    ) -> Option<Recurrence> {
        let (at, value) = update_of(body, place, array.var)?;
        let is_same = |v: Var| !changes.contains(&v);
        if !array.ty.free().into_iter().all(is_same) {
            return None;
        }
        let written = access.form(at)?;
        let (growth, start) = written.split(Symbol::Var(counter))?;
        let symbols = growth.symbols().into_iter().chain(start.symbols());
        if !symbols.into_iter().all(|s| if let Symbol::Var(v) = s { is_same(v) } else { true }) {
            return None;
        }
        let mut reads = HashMap::default();
        elements(body, array.var, &mut |element, index| {
            let distance = access.form(index).and_then(|read| distance(&growth, &written.minus(&read)));
            reads.extend(distance.map(|d| (element, d)));
        });
        let index = code_of(at, body)?;
        (!reads.is_empty()).then_some(Recurrence { place, reads, index, value })
    }

    /// Gives the loop the variables, and the statements that go before it.
    fn into_variables(self, stm: &mut Stm, vars: &mut Vars) -> Vec<Stm> {
        let Exp::Loop { params, form: LoopForm::For { index: counter, .. }, body } = &mut stm.exp else {
            return vec![];
        };
        let mut before = Statements::new(stm.span);
        let (array, initial) = params[self.place].clone();
        let ty = Type::scalar(array.ty.prim());
        let mut next = self.value;
        let mut states = Vec::new();
        for d in 1..=self.reads.values().copied().max().unwrap_or(0) {
            let mut at = Subst::from_iter([(*counter, Atom::i64(-(d as i64)))]);
            let index = self.index.refreshed_with(vars, &mut at);
            before.stms.extend(index.stms);
            let first = if_inside(&mut before, (&array, initial), index.results[0], vars);
            let state = Param { var: vars.fresh("before"), ty: ty.clone() };
            stm.pat.push(state.fresh(vars));
            body.results.push(next);
            next = state.var.into();
            states.push(state.var);
            params.push((state, first));
        }
        replace(body, &|v| self.reads.get(&v).map(|d| states[d - 1].into()));
        before.stms
    }
}

/// The distance in iterations of the write of an element, by its distance in the array from the one that is written now.
fn distance(growth: &Form, away: &Form) -> Option<usize> {
    if away == growth {
        return Some(1);
    }
    // Where it is not known how far indices grow, an iteration between may have written the same element.
    growth.as_constant().filter(|n| *n != 0 && n.unsigned_abs() <= u64::from(u32::MAX))?;
    (2..=tuning::RECURRENCE_DISTANCE).find(|d| growth.scaled(*d as i64) == *away)
}

/// The index and the value of the element by which a result of an iteration differs from a parameter, an array.
pub(crate) fn update_of(body: &Body, place: usize, array: Var) -> Option<(Atom, Atom)> {
    let last = body.stms.iter().find(|s| s.pat.iter().any(|p| Atom::Var(p.var) == body.results[place]))?;
    match &last.exp {
        Exp::Update { arr, at, value } if *arr == array => match at[..] {
            [At::Index(at)] => Some((at, *value)),
            _ => None,
        },
        _ => None,
    }
}

/// Shows `f` the elements of an array that are read, and their indices.
pub(crate) fn elements(body: &Body, array: Var, f: &mut dyn FnMut(Var, Atom)) {
    for stm in &body.stms {
        match &stm.exp {
            Exp::Index(arr, at) if *arr == array && at.len() == 1 => f(stm.pat[0].var, at[0]),
            exp => exp.own_bodies().into_iter().for_each(|b| elements(b, array, f)),
        }
    }
}

/// The operators that an integer of a body is computed with.
fn code_of(a: Atom, body: &Body) -> Option<Body> {
    let mut wanted: HashSet<Var> = a.var().into_iter().collect();
    let mut stms = Vec::new();
    for stm in body.stms.iter().rev() {
        if !stm.pat.iter().any(|p| wanted.contains(&p.var)) {
            continue;
        }
        match &stm.exp {
            Exp::Prim(op, _) if op.divides() => return None,
            Exp::Prim(..) | Exp::Atom(_) => {}
            _ => return None,
        }
        wanted.extend(stm.free());
        stms.push(stm.clone());
    }
    stms.reverse();
    Some(Body { stms, results: vec![a] })
}

/// An element, or 0 if the index is not inside of the array.
fn if_inside(code: &mut Statements, (array, initial): (&Param, Atom), at: Atom, vars: &mut Vars) -> Atom {
    let (Dim::Size(size), Atom::Var(arr)) = (array.ty.dims[0], initial) else {
        unreachable!("an array of scalars")
    };
    let low = code.compare("inside", CmpOp::Le, Atom::i64(0), at, vars);
    let high = code.compare("inside", CmpOp::Lt, at, size, vars);
    let cond = code.logic("inside", BinOp::And, low, high, vars);
    let ty = Type::scalar(array.ty.prim());
    let mut then = Statements::new(code.span);
    let read = then.value("first", ty.clone(), Exp::Index(arr, vec![at]), vars);
    let other = Body { stms: vec![], results: vec![Atom::Const(Scalar::zero(array.ty.prim()))] };
    code.value("first", ty, Exp::If { cond, then: then.results(vec![read.into()]), other }, vars).into()
}

/// Binds variables to others instead of elements.
fn replace(body: &mut Body, of: &dyn Fn(Var) -> Option<Atom>) {
    for stm in &mut body.stms {
        match stm.pat.first().and_then(|p| of(p.var)) {
            Some(a) => stm.exp = Exp::Atom(a),
            None => stm.exp.own_bodies_mut().into_iter().for_each(|b| replace(b, of)),
        }
    }
}
