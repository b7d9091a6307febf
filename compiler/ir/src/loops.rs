//! Operators of CORE as sequential loops: the parts that all of them are made of.
//!
//! ```text
//! r = reduce n (xs) (\x -> f x) op (\a b -> a + b) neutral (0)
//!
//! r = loop (a = 0) for i < n do          fold: the operator's first parameters are the state
//!       let x = xs[i]                    read_rows
//!       let y = f x
//!       let b = y                        combine
//!       let c = a + b
//!       in c
//! ```

use crate::build::Statements;
use crate::core::{At, Body, Exp, Lambda, Param, Stm};
use crate::prim::{BinOp, CmpOp};
use crate::ty::{Atom, Type, Var, Vars};
use par_runtime::Span;

/// A counted loop under construction.
pub struct Loop {
    /// Number of the iteration.
    pub index: Var,
    /// State and its initial values.
    pub state: Vec<(Param, Atom)>,
    /// One iteration.
    pub code: Statements,
}

impl Loop {
    /// No state and no statements yet.
    pub fn new(span: Span, vars: &mut Vars) -> Loop {
        Loop { index: vars.fresh("i"), state: Vec::new(), code: Statements::new(span) }
    }

    /// Binds a lambda's parameters to the rows of its inputs.
    pub fn read_rows(&mut self, lam: &Lambda, inputs: &[Var]) {
        for (p, input) in lam.params.iter().zip(inputs) {
            self.code.index(p.clone(), *input, vec![self.index.into()]);
        }
    }

    /// A further variable of the state.
    pub fn carry(&mut self, name: &str, ty: &Type, initial: Atom, vars: &mut Vars) -> Var {
        let var = vars.fresh(name);
        self.state.push((Param { var, ty: ty.clone() }, initial));
        var
    }

    /// State that starts with neutral elements: the operator's first parameters.
    pub fn fold(&mut self, op: &Lambda, neutral: &[Atom]) {
        self.state.extend(op.params.iter().cloned().zip(neutral.iter().copied()));
    }

    /// Combines that state with `values`.
    pub fn combine(&mut self, op: Lambda, values: &[Atom]) {
        self.code.names(&op.params[op.ret.len()..], values.iter().copied());
        self.code.stms.extend(op.body.stms);
    }

    /// Writes values to arrays of the state, all of one size, if the index is inside: combined by `op` with what is there, if
    /// there is one. The next versions of the arrays.
    pub fn write_inside(
        &mut self,
        (at, size): (Atom, Atom),
        arrays: &[Param],
        values: &[Atom],
        op: Option<Lambda>,
        vars: &mut Vars,
    ) -> Vec<Atom> {
        let cond = inside(&mut self.code, at, size, vars);
        let mut then = Statements::new(self.code.span);
        let mut values = values.to_vec();
        if let Some(op) = op {
            let (old, given) = op.params.split_at(arrays.len());
            old.iter().zip(arrays).for_each(|(p, array)| then.index(p.clone(), array.var, vec![at]));
            then.names(given, values);
            then.stms.extend(op.body.stms);
            values = op.body.results;
        }
        let updated =
            arrays.iter().zip(values).map(|(p, value)| update(&mut then, p, p.var, &[at], value, vars));
        let updated = updated.map(Atom::Var).collect();
        let same = arrays.iter().map(|p| p.var.into()).collect();
        let pat: Vec<Param> = arrays.iter().map(|p| p.fresh(vars)).collect();
        let results = pat.iter().map(|p| p.var.into()).collect();
        let (then, other) = (then.results(updated), Body { stms: Vec::new(), results: same });
        self.code.bind(pat, Exp::If { cond, then, other });
        results
    }

    /// The loop with `width` iterations.
    pub fn finish(self, width: Atom, pat: Vec<Param>, results: Vec<Atom>) -> Stm {
        let span = self.code.span;
        let exp = Exp::counted(self.index, width, self.state, self.code.results(results));
        Stm { pat, exp, span }
    }
}

/// The prefixes that a scan stores in an iteration that combines with `op`.
pub fn prefixes(op: &Lambda, exclusive: bool) -> Vec<Atom> {
    match exclusive {
        true => op.params[..op.ret.len()].iter().map(|p| p.var.into()).collect(),
        false => op.body.results.clone(),
    }
}

/// The next version of the array `arr`, which is like `p`.
pub fn update(code: &mut Statements, p: &Param, arr: Var, at: &[Atom], value: Atom, vars: &mut Vars) -> Var {
    let next = p.fresh(vars);
    let var = next.var;
    code.bind(vec![next], Exp::Update { arr, at: At::indices(at), value });
    var
}

/// Test that an index is inside an array of a size.
fn inside(code: &mut Statements, at: Atom, size: Atom, vars: &mut Vars) -> Atom {
    let low = code.compare("inside", CmpOp::Le, Atom::i64(0), at, vars);
    let high = code.compare("inside", CmpOp::Lt, at, size, vars);
    code.logic("inside", BinOp::And, low, high, vars)
}
