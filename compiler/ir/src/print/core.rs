//! Printing CORE.

use super::{Writer, name};
use crate::core::{At, Body, Exp, Fun, Lambda, LoopForm, Param, Program, Schedule, Stm};
use crate::ty::{Atom, Type, Var, Vars};

/// The program as text, without spans.
pub fn print_core(p: &Program) -> String {
    print(p, false)
}

/// The program as text, with the span of every function and statement.
pub fn print_core_with_spans(p: &Program) -> String {
    print(p, true)
}

/// One statement.
pub fn print_core_stm(stm: &Stm, vars: &Vars) -> String {
    let mut w = Writer::new(vars, false);
    w.core_stm(stm);
    w.out
}

/// A type.
pub fn print_type(ty: &Type, vars: &Vars) -> String {
    let mut w = Writer::new(vars, false);
    w.ty(ty);
    w.out
}

fn print(p: &Program, spans: bool) -> String {
    let mut w = Writer::new(&p.vars, spans);
    for (i, fun) in p.funs.iter().enumerate() {
        if i > 0 {
            w.push("\n");
        }
        w.core_fun(i, fun);
    }
    w.out
}

/// Prints a call of function number `id`; its name is not at hand everywhere, so calls print the number only.
fn callee(id: crate::core::FunId) -> String {
    format!("call @{}", id.0)
}

impl Writer<'_> {
    pub(super) fn core_fun(&mut self, index: usize, fun: &Fun) {
        self.push(&format!("fun {}@{index} ", name(&fun.name)));
        self.list("(", &fun.params, ")", Self::core_param);
        self.push(" -> ");
        self.list("(", &fun.ret, ")", Self::core_param);
        self.span(fun.span);
        if let Some(entry) = &fun.entry {
            self.entry(entry);
        }
        self.line();
        self.body(&fun.body);
        self.push("\n");
    }

    pub(super) fn core_param(&mut self, p: &Param) {
        self.var(&p.var);
        self.push(": ");
        self.ty(&p.ty);
    }

    pub(super) fn body(&mut self, body: &Body) {
        self.block(&body.stms, &body.results, Self::core_stm);
    }

    pub(super) fn core_stm(&mut self, stm: &Stm) {
        if !(stm.pat.is_empty() && matches!(stm.exp, Exp::Check { .. } | Exp::Trace { .. } | Exp::Add { .. }))
        {
            self.list("let (", &stm.pat, ") = ", Self::core_param);
        }
        self.exp(&stm.exp);
        self.span(stm.span);
    }

    pub(super) fn lambda(&mut self, lam: &Lambda) {
        self.list("\\(", &lam.params, ") -> ", Self::core_param);
        self.list("(", &lam.ret, ") ", Self::ty);
        self.body(&lam.body);
    }

    pub(super) fn operator(&mut self, op: &Lambda, neutral: &[Atom]) {
        self.push(" op ");
        self.lambda(op);
        self.push(" neutral ");
        self.atoms(neutral);
    }

    fn soac(&mut self, word: &str, width: &Atom, inputs: &[Var], lam: &Lambda) {
        self.push(word);
        self.push(" ");
        match lam.schedule {
            Schedule::Free => {}
            Schedule::Sequential => self.push("seq "),
            Schedule::Opaque => self.push("opaque "),
        }
        self.atom(width);
        self.push(" ");
        self.variables(inputs);
        self.push(" ");
        self.lambda(lam);
    }

    fn exp(&mut self, exp: &Exp) {
        match exp {
            Exp::Atom(a) => self.atom(a),
            Exp::Prim(op, xs) => self.scalar(op, xs),
            Exp::Index(v, indices) => self.element(v, indices),
            Exp::Slice { arr, start, len, stride } => {
                self.word_var("slice", arr);
                self.push(" ");
                self.atoms(&[*start, *len, *stride]);
            }
            Exp::Check { cond, kind, args } => self.check(cond, kind, args),
            Exp::Trace { label, ty, args } => self.trace(label, ty, args),
            Exp::If { cond, then, other } => self.core_if(cond, then, other),
            Exp::Loop { params, form, body } => self.core_loop(params, form, body),
            Exp::Call(f, xs) => self.word_atoms(&callee(*f), xs),
            Exp::Map { width, inputs, lam } => self.soac("map", width, inputs, lam),
            Exp::Filter { width, inputs, lam } => self.soac("filter", width, inputs, lam),
            Exp::Reduce { width, inputs, lam, op, neutral } => {
                self.soac("reduce", width, inputs, lam);
                self.operator(op, neutral);
            }
            Exp::Scan { width, inputs, lam, op, neutral, exclusive } => {
                self.soac(if *exclusive { "exscan" } else { "scan" }, width, inputs, lam);
                self.operator(op, neutral);
            }
            Exp::Scatter { dests, width, inputs, lam } => {
                self.word_variables("scatter", dests);
                self.soac("", width, inputs, lam);
            }
            Exp::Hist { dests, width, inputs, lam, op, neutral } => {
                self.word_variables("hist", dests);
                self.soac("", width, inputs, lam);
                self.operator(op, neutral);
            }
            Exp::Update { arr, at, value } => {
                self.var(arr);
                self.list(" with [", at, "] = ", Self::at);
                self.atom(value);
            }
            Exp::Iota(n) => self.word_atom("iota", n),
            Exp::Replicate(n, x) => self.word_atoms("replicate", &[*n, *x]),
            Exp::Concat(vs) => self.word_variables("concat", vs),
            Exp::Literal(xs, p) => self.literal(xs, *p),
            Exp::Flatten(v) => self.word_var("flatten", v),
            Exp::Unflatten(v) => self.word_var("unflatten", v),
            Exp::MakeDesc(v) => self.word_var("makedesc", v),
            Exp::Lengths(v) => self.word_var("lengths", v),
            Exp::Total(v) => self.word_var("total", v),
            Exp::Push(v) => self.word_var("push", v),
            Exp::Tape(n) => self.word_atom("tape", n),
            Exp::Accumulate(dest) => self.word_var("accumulate", dest),
            Exp::Add { acc, places, values } => {
                self.word_var("add", acc);
                self.push(" ");
                self.variables(&[*places, *values]);
            }
            Exp::Accumulated(acc) => self.word_var("accumulated", acc),
            Exp::Sort { keys, values } => self.sort(*keys, *values),
        }
    }

    fn core_if(&mut self, cond: &Atom, then: &Body, other: &Body) {
        self.word_atom("if", cond);
        self.push(" then ");
        self.body(then);
        self.push(" else ");
        self.body(other);
    }

    /// An index of an update, or where a slice of one starts.
    fn at(&mut self, at: &At) {
        match at {
            At::Index(i) => self.atom(i),
            At::Slice { start, stride } => {
                self.atom(start);
                self.push(" : ");
                self.atom(stride);
            }
        }
    }

    /// Operands of a sort.
    pub(super) fn sort(&mut self, keys: Var, values: Option<Var>) {
        self.push("sort ");
        self.variables(&std::iter::once(keys).chain(values).collect::<Vec<_>>());
    }

    fn core_loop(&mut self, params: &[(Param, Atom)], form: &LoopForm, body: &Body) {
        self.push("loop ");
        self.list("(", params, ") ", |w, (p, init)| {
            w.core_param(p);
            w.push(" = ");
            w.atom(init);
        });
        match form {
            LoopForm::For { index, prim, bound } => {
                self.push("for ");
                self.var(index);
                self.push(&format!(": {prim} < "));
                self.atom(bound);
            }
            LoopForm::While(cond) => {
                self.push("while ");
                self.body(cond);
            }
        }
        self.push(" do ");
        self.body(body);
    }
}
