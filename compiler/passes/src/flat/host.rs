//! Host statements under construction, with the place of one that they come with.

use par_ir::Vars;
use par_ir::flat::{Op, Param, Stm, Ty};
use par_ir::prim::PrimOp;
use par_ir::ty::Atom;

/// Statements so far.
pub(crate) struct Host<'h> {
    pub vars: &'h mut Vars,
    /// Whose place they have.
    pub like: &'h Stm,
    pub stms: Vec<Stm>,
}

impl<'h> Host<'h> {
    /// None yet.
    pub fn new(like: &'h Stm, vars: &'h mut Vars) -> Host<'h> {
        Host { vars, like, stms: Vec::new() }
    }

    /// Binds what an operation gives.
    pub fn bind(&mut self, pat: Vec<Param>, op: Op) {
        self.stms.push(Stm { pat, op, span: self.like.span, place: self.like.place });
    }

    /// A scalar operator.
    pub fn prim(&mut self, name: &str, op: PrimOp, args: Vec<Atom>) -> Atom {
        let var = self.vars.fresh(name);
        self.bind(vec![Param { var, ty: Ty::Scalar(op.result()) }], Op::Prim(op, args));
        var.into()
    }
}
