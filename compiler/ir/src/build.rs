//! Builders of statements: [`Statements`] for CORE and the bodies of kernels, [`Host`] for FLAT.

use crate::core::{Body, Exp, LoopForm, Param, Stm};
use crate::flat::{self, Block, Op, Ty};
use crate::prim::{BinOp, CmpOp, PrimOp};
use crate::ty::{Atom, Dim, Type, Var, Vars};
use par_runtime::{Prim, Scalar, Span};

/// Statements of CORE under construction, all of one place in the source.
#[derive(Clone, Default)]
pub struct Statements {
    /// So far.
    pub stms: Vec<Stm>,
    /// Source place of the statements.
    pub span: Span,
}

impl Statements {
    /// No statements yet.
    pub fn new(span: Span) -> Statements {
        Statements { stms: Vec::new(), span }
    }

    /// Binds a pattern.
    pub fn bind(&mut self, pat: Vec<Param>, exp: Exp) {
        self.stms.push(Stm { pat, exp, span: self.span });
    }

    /// Binds a fresh variable.
    pub fn value(&mut self, name: &str, ty: Type, exp: Exp, vars: &mut Vars) -> Var {
        let var = vars.fresh(name);
        self.bind(vec![Param { var, ty }], exp);
        var
    }

    /// A scalar operator.
    pub fn prim(&mut self, name: &str, op: PrimOp, args: Vec<Atom>, vars: &mut Vars) -> Atom {
        self.value(name, Type::scalar(op.result()), Exp::Prim(op, args), vars).into()
    }

    /// An operator on `i64`s.
    pub fn arith(&mut self, name: &str, op: BinOp, a: Atom, b: Atom, vars: &mut Vars) -> Atom {
        self.prim(name, PrimOp::Bin(op, Prim::I64), vec![a, b], vars)
    }

    /// A comparison of `i64`s.
    pub fn compare(&mut self, name: &str, op: CmpOp, a: Atom, b: Atom, vars: &mut Vars) -> Atom {
        self.prim(name, PrimOp::Cmp(op, Prim::I64), vec![a, b], vars)
    }

    /// An operator on conditions.
    pub fn logic(&mut self, name: &str, op: BinOp, a: Atom, b: Atom, vars: &mut Vars) -> Atom {
        self.prim(name, PrimOp::Bin(op, Prim::Bool), vec![a, b], vars)
    }

    /// Element or row of an array, as a variable that is there already.
    pub fn index(&mut self, p: Param, arr: Var, at: Vec<Atom>) {
        self.bind(vec![p], Exp::Index(arr, at));
    }

    /// A regular array of zeros.
    pub fn zeros(&mut self, ty: &Type, vars: &mut Vars) -> Var {
        let zero = Atom::Const(Scalar::zero(ty.prim()));
        let row = |made: Atom, i: usize| match ty.dims[i] {
            Dim::Size(n) => {
                let rows = Type::array(ty.dims[i..].to_vec(), ty.prim());
                Atom::Var(self.value("zeros", rows, Exp::Replicate(n, made), vars))
            }
            Dim::Seg(_) => unreachable!("an array with sizes"),
        };
        (0..ty.dims.len()).rev().fold(zero, row).var().expect("an array has a dimension")
    }

    /// Further names of values.
    pub fn names(&mut self, params: &[Param], values: impl IntoIterator<Item = Atom>) {
        params.iter().zip(values).for_each(|(p, a)| self.bind(vec![p.clone()], Exp::Atom(a)));
    }

    /// The body that ends here.
    pub fn results(self, results: Vec<Atom>) -> Body {
        Body { stms: self.stms, results }
    }
}

/// Removes the marked statements.
pub fn take(stms: &mut Vec<Stm>, marked: Vec<bool>) -> Vec<Stm> {
    let (out, stay): (Vec<_>, Vec<_>) = std::mem::take(stms).into_iter().zip(marked).partition(|(_, m)| *m);
    *stms = stay.into_iter().map(|(s, _)| s).collect();
    out.into_iter().map(|(s, _)| s).collect()
}

impl Exp {
    /// A counted loop over `i64`s.
    pub fn counted(index: Var, bound: Atom, params: Vec<(Param, Atom)>, body: Body) -> Exp {
        Exp::Loop { params, form: LoopForm::For { index, prim: Prim::I64, bound }, body }
    }
}

impl Param {
    /// A fresh variable like this one.
    pub fn fresh(&self, vars: &mut Vars) -> Param {
        Param { var: vars.fresh_like(self.var), ty: self.ty.clone() }
    }
}

/// Host statements of FLAT under construction, with the place of one that they come with.
pub struct Host<'h> {
    /// Supply of variables.
    pub vars: &'h mut Vars,
    /// The statement whose place they have.
    pub like: &'h flat::Stm,
    /// So far.
    pub stms: Vec<flat::Stm>,
}

impl<'h> Host<'h> {
    /// No statements yet.
    pub fn new(like: &'h flat::Stm, vars: &'h mut Vars) -> Host<'h> {
        Host { vars, like, stms: Vec::new() }
    }

    /// Binds what an operation gives.
    pub fn bind(&mut self, pat: Vec<flat::Param>, op: Op) {
        self.stms.push(flat::Stm { pat, op, span: self.like.span, place: self.like.place });
    }

    /// Binds a fresh variable.
    pub fn value(&mut self, name: &str, ty: Ty, op: Op) -> Var {
        let var = self.vars.fresh(name);
        self.bind(vec![flat::Param { var, ty }], op);
        var
    }

    /// A scalar operator.
    pub fn prim(&mut self, name: &str, op: PrimOp, args: Vec<Atom>) -> Atom {
        self.value(name, Ty::Scalar(op.result()), Op::Prim(op, args)).into()
    }

    /// An operator on `i64`s.
    pub fn arith(&mut self, name: &str, op: BinOp, a: Atom, b: Atom) -> Atom {
        self.prim(name, PrimOp::Bin(op, Prim::I64), vec![a, b])
    }

    /// A comparison of `i64`s.
    pub fn compare(&mut self, name: &str, op: CmpOp, a: Atom, b: Atom) -> Atom {
        self.prim(name, PrimOp::Cmp(op, Prim::I64), vec![a, b])
    }

    /// A block of its own.
    pub fn block(&mut self, build: impl FnOnce(&mut Self) -> Vec<Atom>) -> Block {
        let outside = std::mem::take(&mut self.stms);
        let results = build(self);
        Block { stms: std::mem::replace(&mut self.stms, outside), results }
    }
}
