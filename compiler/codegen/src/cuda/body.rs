//! Scalar bodies as C++ statements.
//!
//! Every variable becomes one C++ variable; the versions of an owned array are pointers to one buffer. A check that fails
//! leaves the function with `false`, as a call of a function that failed does.

use super::text::{Text, atom, name, ty};
pub use crate::Result;
use par_ir::core::{At, Body, Exp, FunId, LoopForm, Param, Stm};
use par_ir::hash::HashMap;
use par_ir::prim::{BinOp, PrimOp, SpecialOp, UnOp};
use par_ir::tuning;
use par_ir::ty::{Atom, Vars};
use par_ir::{CheckKind, Prim, Span, Var};
use par_runtime::plan::KernelCheck;

/// Writes bodies.
pub struct Bodies<'a> {
    /// Output text.
    pub text: Text,
    /// Names.
    pub vars: &'a Vars,
    /// All checks of the program so far.
    pub checks: Vec<KernelCheck>,
    /// Types of variables.
    pub prims: HashMap<Var, Prim>,
    /// Names of local functions.
    pub locals: Vec<String>,
    /// The lines of the source, for comments.
    pub source: &'a dyn Fn(Span) -> Option<String>,
}

impl Bodies<'_> {
    fn atom(&self, a: &Atom) -> String {
        atom(a, self.vars)
    }

    fn atoms(&self, xs: &[Atom]) -> String {
        xs.iter().map(|x| self.atom(x)).collect::<Vec<_>>().join(", ")
    }

    fn variable(&self, p: &Param) -> String {
        name(p.var, self.vars)
    }

    /// A parameter with its type: of an array, that of a pointer to its first element.
    pub fn declared(&mut self, p: &Param) -> String {
        self.prims.insert(p.var, p.ty.prim());
        let star = if p.ty.is_scalar() { "" } else { "*" };
        format!("{}{star} {}", ty(p.ty.prim()), self.variable(p))
    }

    /// A constant variable with this value.
    fn bind(&mut self, p: &Param, value: &str) {
        let constant = if p.ty.is_scalar() { "const " } else { "" };
        let line = format!("{constant}{} = {value};", self.declared(p));
        self.text.line(line);
    }

    /// Statements in order.
    pub fn stms(&mut self, stms: &[Stm]) -> Result {
        stms.iter().try_for_each(|s| self.stm(s))
    }

    fn stm(&mut self, stm: &Stm) -> Result {
        match &stm.exp {
            Exp::Atom(a) => {
                let value = self.atom(a);
                self.bind(&stm.pat[0], &value);
            }
            Exp::Prim(op, xs) => {
                let value = format!("{}({})", function(*op), self.atoms(xs));
                self.bind(&stm.pat[0], &value);
            }
            Exp::Index(v, is) => {
                let value = format!("load(&{}[{}])", name(*v, self.vars), self.atoms(is));
                self.bind(&stm.pat[0], &value);
            }
            Exp::Update { arr, at, value } => {
                let array = name(*arr, self.vars);
                let index = At::only_indices(at).ok_or("a kernel updates a slice")?;
                let line = format!("store(&{array}[{}], {});", self.atoms(&index), self.atom(value));
                self.text.line(line);
                self.bind(&stm.pat[0], &array);
            }
            Exp::Check { cond, kind, args } => self.check(cond, kind, args, stm.span)?,
            Exp::If { cond, then, other } => self.branch(stm, cond, then, other)?,
            Exp::Loop { params, form, body } => self.loop_(stm, params, form, body)?,
            Exp::Call(f, xs) => self.call(stm, *f, xs)?,
            other => return Err(format!("a kernel contains {other:?}")),
        }
        Ok(())
    }

    fn check(&mut self, cond: &Atom, kind: &CheckKind, args: &[Atom], span: Span) -> Result {
        let fail = self.failure(kind, args, span)?;
        self.text.line(format!("if (!{}) return {fail};", self.atom(cond)));
        Ok(())
    }

    /// The call that reports a failed check; it is false.
    fn failure(&mut self, kind: &CheckKind, args: &[Atom], span: Span) -> Result<String> {
        let types: Vec<Prim> = args.iter().map(|a| self.type_of(a)).collect::<Result<_>>()?;
        let number = self.checks.len();
        self.checks.push(KernelCheck { kind: kind.clone(), args: types, span });
        let words = args.iter().map(|a| format!(", op::word({})", self.atom(a))).collect::<String>();
        Ok(format!("here.fail({number}{words})"))
    }

    fn type_of(&self, a: &Atom) -> Result<Prim> {
        match a {
            Atom::Const(c) => Ok(c.prim()),
            Atom::Var(v) => self.prims.get(v).copied().ok_or_else(|| format!("v_{} has no type", v.0)),
        }
    }

    fn declare(&mut self, pat: &[Param]) {
        for p in pat {
            let line = format!("{};", self.declared(p));
            self.text.line(line);
        }
    }

    /// A body whose results go to variables that have been declared.
    fn arm(&mut self, pat: &[Param], body: &Body) -> Result {
        self.stms(&body.stms)?;
        for (p, x) in pat.iter().zip(&body.results) {
            let line = format!("{} = {};", self.variable(p), self.atom(x));
            self.text.line(line);
        }
        Ok(())
    }

    fn branch(&mut self, stm: &Stm, cond: &Atom, then: &Body, other: &Body) -> Result {
        self.declare(&stm.pat);
        self.text.open(format!("if ({}) {{", self.atom(cond)));
        self.arm(&stm.pat, then)?;
        self.text.otherwise("} else {");
        self.arm(&stm.pat, other)?;
        self.text.close("}");
        Ok(())
    }

    fn loop_(&mut self, stm: &Stm, params: &[(Param, Atom)], form: &LoopForm, body: &Body) -> Result {
        for (p, x) in params {
            let line = format!("{} = {};", self.declared(p), self.atom(x));
            self.text.line(line);
        }
        let state: Vec<&Param> = params.iter().map(|(p, _)| p).collect();
        let is_long = self.open_loop(form)?;
        self.iteration(&state, body)?;
        self.text.close("}");
        if is_long {
            self.text.close("}");
        }
        for (p, from) in stm.pat.iter().zip(state) {
            let value = self.variable(from);
            self.bind(p, &value);
        }
        Ok(())
    }

    /// The head of a loop. Now and then a long one asks whether there is nothing to be done any more; a counted one is two loops
    /// for that, of which the inner one does not. Whether there are two.
    fn open_loop(&mut self, form: &LoopForm) -> Result<bool> {
        match form {
            LoopForm::For { index, prim, bound } => {
                let (i, n, ty) = (name(*index, self.vars), self.atom(bound), ty(*prim));
                self.prims.insert(*index, *prim);
                if bound.as_i64().is_some_and(|n| n <= tuning::GPU_CANCEL_ITERATIONS) || prim.size() < 4 {
                    self.text.open(format!("for ({ty} {i} = 0; {i} < {n}; {i}++) {{"));
                    return Ok(false);
                }
                self.text.open(format!("for ({ty} {i} = 0; {i} < {n};) {{"));
                self.text.line(format!("if ({i} != 0 && here.is_over()) return false;"));
                let most = tuning::GPU_CANCEL_ITERATIONS;
                self.text.line(format!("const {ty} part_{i} = {n} - {i} > {most} ? {i} + {most} : {n};"));
                self.text.open(format!("for (; {i} < part_{i}; {i}++) {{"));
                Ok(true)
            }
            LoopForm::While(cond) => {
                self.text.open("for (u32 iterations = 1;; iterations++) {");
                self.text.line("if (iterations % 1024 == 0 && here.is_over()) return false;");
                self.stms(&cond.stms)?;
                let line = format!("if (!{}) break;", self.atom(&cond.results[0]));
                self.text.line(line);
                Ok(false)
            }
        }
    }

    /// One iteration of a loop: its results become the state, all at once.
    fn iteration(&mut self, state: &[&Param], body: &Body) -> Result {
        self.stms(&body.stms)?;
        let changed: Vec<(String, String, &Param)> = state
            .iter()
            .zip(&body.results)
            .map(|(p, x)| (self.variable(p), self.atom(x), *p))
            .filter(|(p, x, _)| p != x)
            .collect();
        if let [(p, x, _)] = changed.as_slice() {
            let line = format!("{p} = {x};");
            self.text.line(line);
            return Ok(());
        }
        for (p, x, param) in &changed {
            let star = if param.ty.is_scalar() { "" } else { "*" };
            self.text.line(format!("{}{star} next_{p} = {x};", ty(param.ty.prim())));
        }
        changed.iter().for_each(|(p, ..)| self.text.line(format!("{p} = next_{p};")));
        Ok(())
    }

    fn call(&mut self, stm: &Stm, f: FunId, xs: &[Atom]) -> Result {
        self.declare(&stm.pat);
        let callee = self.locals.get(f.0 as usize).ok_or("a call of a function that does not exist")?.clone();
        let deep = self.failure(&CheckKind::TooDeep, &[], stm.span)?;
        self.text.line(format!("if (here.is_deep()) return {deep};"));
        let mut operands = vec!["here".to_string()];
        operands.extend(xs.iter().map(|x| self.atom(x)));
        let (arrays, scalars): (Vec<_>, Vec<_>) = stm.pat.iter().partition(|p| !p.ty.is_scalar());
        operands.extend(scalars.into_iter().map(|p| self.variable(p)));
        self.text.line(format!("if (!{callee}({})) return false;", operands.join(", ")));
        let state = &xs[xs.len() - arrays.len()..];
        for (p, x) in arrays.into_iter().zip(state) {
            let line = format!("{} = {};", self.variable(p), self.atom(x));
            self.text.line(line);
        }
        Ok(())
    }

    /// A comment with the line that a span is in.
    pub fn comment(&mut self, span: Span) {
        if let Some(line) = (self.source)(span) {
            self.text.line(comment(&line));
        }
    }
}

/// A line of source as a comment of C++. Trigraphs (`??` and a sign) and a backslash at the end of the line count in comments too, and are
/// taken apart.
fn comment(line: &str) -> String {
    let line = line.replace("??", "? ? ");
    format!("// {line}{}", if line.trim_end().ends_with('\\') { " ." } else { "" })
}

/// The function of an operator, in the header `program/scalar.cuh`.
fn function(op: PrimOp) -> String {
    match op {
        PrimOp::Un(UnOp::Not, _) => "op::not_".into(),
        PrimOp::Bin(op @ (BinOp::And | BinOp::Or | BinOp::Xor), _) => format!("op::{}_", op.name()),
        PrimOp::Un(op, _) => format!("op::{}", op.name()),
        PrimOp::Bin(op, _) => format!("op::{}", op.name()),
        PrimOp::Cmp(op, _) => format!("op::{}", op.name()),
        PrimOp::Select(_) => "op::select".into(),
        PrimOp::Conv(_, to) => format!("op::conv<{to}>"),
        PrimOp::Special(SpecialOp::FromBits, p) => format!("op::frombits<{p}>"),
        PrimOp::Special(op, _) => format!("op::{}", op.name()),
    }
}
