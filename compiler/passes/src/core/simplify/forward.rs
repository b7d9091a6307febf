//! One walk from top to bottom: every statement is rewritten with what is known from those before it.
//!
//! ```text
//! let a = n                        let ys : [n]i64 = iota n
//! let ys : [a]i64 = iota a
//! let c = lt.i64 0 5         =>
//! check c bounds 0 5
//! let y = ys[3]                    -- y is 3 from here on
//! ```

use super::env::Env;
use super::{arrays, branch, loops, prim, soac};
use par_ir::alias::updated_itself;
use par_ir::core::{Body, Exp, Param, Program, Stm};
use par_ir::numbering;
use par_ir::stack::deeper;
use par_ir::ty::Atom;
use par_runtime::{Scalar, Span};

/// Rewrites all functions.
pub(super) fn run(program: &mut Program) {
    let mut env = Env::new(&mut program.vars);
    for fun in &mut program.funs {
        let mark = env.enter();
        fun.params.iter().for_each(|p| env.bind(p));
        env.body(&mut fun.body);
        env.leave(mark);
    }
}

impl Env<'_> {
    /// Rewrites a body; the caller has entered its scope.
    pub fn body(&mut self, body: &mut Body) {
        let stms = std::mem::take(&mut body.stms);
        self.stms(stms, &mut body.stms);
        body.results.iter_mut().for_each(|r| *r = self.atom(*r));
    }

    /// Rewrites statements into `out`.
    pub fn stms(&mut self, stms: Vec<Stm>, out: &mut Vec<Stm>) {
        for stm in stms {
            deeper(|| self.stm(stm, out));
        }
    }

    /// Rewrites one statement into none, one or several.
    pub fn stm(&mut self, mut stm: Stm, out: &mut Vec<Stm>) {
        stm.exp.for_each_operand_mut(&mut |a| *a = self.atom(*a));
        let mut updated = Vec::new();
        updated_itself(&stm.exp, &mut updated);
        updated.iter_mut().for_each(|v| *v = self.var(*v));
        self.updated.extend(updated);
        match stm.exp {
            Exp::Check { cond, .. } => self.check(cond, stm, out),
            Exp::If { .. } => branch::simplify(self, stm, out),
            Exp::Loop { .. } => loops::simplify(self, stm, out),
            Exp::Map { .. }
            | Exp::Reduce { .. }
            | Exp::Scan { .. }
            | Exp::Filter { .. }
            | Exp::Scatter { .. }
            | Exp::Hist { .. } => soac::simplify(self, stm, out),
            Exp::Call(..) | Exp::Update { .. } => self.emit(stm, out),
            _ => self.simple(stm, out),
        }
    }

    fn check(&mut self, cond: Atom, stm: Stm, out: &mut Vec<Stm>) {
        if cond != Atom::Const(Scalar::Bool(true)) {
            out.push(stm);
            self.assume(cond, true);
        }
    }

    /// A statement with one result and no bodies.
    fn simple(&mut self, mut stm: Stm, out: &mut Vec<Stm>) {
        let [p] = stm.pat.as_mut_slice() else { return self.emit(stm, out) };
        self.ty(&mut p.ty);
        while let Some(better) = self.rewrite(&stm.exp, &p.clone(), stm.span, out) {
            stm.exp = better;
        }
        let [p] = stm.pat.as_slice() else { return };
        if let Exp::Atom(a) = stm.exp
            && self.has_type(a, &p.ty)
        {
            return self.copy(p.var, a);
        }
        let key = numbering::key(&stm.exp, &p.ty);
        match key.as_ref().and_then(|k| self.seen(k)) {
            Some(v) => self.copy(p.var, Atom::Var(v)),
            None => {
                key.into_iter().for_each(|k| self.see(k, p.var));
                self.define(p.var, &stm.exp);
                self.emit(stm, out);
            }
        }
    }

    fn rewrite(&mut self, exp: &Exp, p: &Param, span: Span, out: &mut Vec<Stm>) -> Option<Exp> {
        match exp {
            Exp::Atom(a) if self.has_type(*a, &p.ty) => None,
            Exp::Prim(op, args) => prim::simplify(self, *op, args),
            _ => arrays::simplify(self, exp, p, span, out),
        }
    }

    /// Adds a statement as it is; its operands have been rewritten.
    pub fn emit(&mut self, mut stm: Stm, out: &mut Vec<Stm>) {
        for p in &mut stm.pat {
            self.ty(&mut p.ty);
            self.bind(p);
        }
        out.push(stm);
    }
}
