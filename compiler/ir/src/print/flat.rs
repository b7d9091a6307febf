//! Printing FLAT.

use super::{Writer, name};
use crate::flat::{
    Block, Fun, Kernel, KernelKind, LoopForm, Op, Out, Param, Program, Space, Stm, Ty, VersionChoice,
};
use crate::ty::{Atom, Var, Vars};

/// The program as text, without spans.
pub fn print_flat(p: &Program) -> String {
    print(p, false)
}

/// The program as text, with the span of every function and statement.
pub fn print_flat_with_spans(p: &Program) -> String {
    print(p, true)
}

/// One statement.
pub fn print_flat_stm(stm: &Stm, vars: &Vars) -> String {
    let mut w = Writer::new(vars, false);
    w.flat_stm(stm);
    w.out
}

fn print(p: &Program, spans: bool) -> String {
    let mut w = Writer::new(&p.vars, spans);
    for (i, fun) in p.locals.iter().enumerate() {
        w.push("local ");
        w.core_fun(i, fun);
        w.push("\n");
    }
    for (i, fun) in p.funs.iter().enumerate() {
        if i > 0 {
            w.push("\n");
        }
        w.flat_fun(i, fun);
    }
    w.out
}

impl std::fmt::Display for Ty {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Ty::Scalar(p) => write!(f, "{p}"),
            Ty::Array(p) => write!(f, "[]{p}"),
            Ty::Rope(p) => write!(f, "[*]{p}"),
            Ty::Desc => f.write_str("desc"),
        }
    }
}

impl Writer<'_> {
    fn flat_fun(&mut self, index: usize, fun: &Fun) {
        self.push(&format!("fun {}@{index} ", name(&fun.name)));
        self.list("(", &fun.params, ")", Self::flat_param);
        self.list(" -> (", &fun.ret, ")", |w, t| w.push(&t.to_string()));
        self.span(fun.span);
        if let Some(entry) = &fun.entry {
            self.entry(entry);
        }
        self.line();
        self.flat_block(&fun.body);
        self.push("\n");
    }

    fn flat_param(&mut self, p: &Param) {
        self.var(&p.var);
        self.push(&format!(": {}", p.ty));
    }

    fn flat_block(&mut self, b: &Block) {
        self.block(&b.stms, &b.results, Self::flat_stm);
    }

    fn flat_stm(&mut self, stm: &Stm) {
        if !(stm.pat.is_empty() && matches!(stm.op, Op::Check { .. } | Op::Trace { .. })) {
            self.list("let (", &stm.pat, ") = ", Self::flat_param);
        }
        self.op(&stm.op);
        self.span(stm.span);
    }

    fn op(&mut self, op: &Op) {
        match op {
            Op::Atom(a) => self.atom(a),
            Op::Prim(op, xs) => self.scalar(op, xs),
            Op::Check { cond, kind, args } => self.check(cond, kind, args),
            Op::Trace { label, ty, args } => self.trace(label, ty, args),
            Op::Kernel(k) => self.kernel(k),
            Op::MakeDesc(v) => self.word_var("makedesc", v),
            Op::UniformDesc { rows, m } => self.word_atoms("uniformdesc", &[*rows, *m]),
            Op::Offsets(v) => self.word_var("offsets", v),
            Op::Lengths(v) => self.word_var("lengths", v),
            Op::SegIds(v) => self.word_var("segids", v),
            Op::Total(v) => self.word_var("total", v),
            Op::Rows(v) => self.word_var("rows", v),
            Op::Length(v) => self.word_var("length", v),
            Op::Read(v, i) => self.element(v, &[*i]),
            Op::Write { arr, index, value } => {
                self.var(arr);
                self.list(" with [", &[*index], "] = ", Self::atom);
                self.atom(value);
            }
            Op::Iota(n) => self.word_atom("iota", n),
            Op::Replicate(n, x) => self.word_atoms("replicate", &[*n, *x]),
            Op::Literal(xs, p) => self.literal(xs, *p),
            Op::Slice { arr, start, len } => {
                self.word_var("slice", arr);
                self.push(" ");
                self.atoms(&[*start, *len]);
            }
            Op::Concat(vs) => self.word_variables("concat", vs),
            Op::ConcatDesc(vs) => self.word_variables("concatdesc", vs),
            Op::Append(vs) => self.word_variables("append", vs),
            Op::Compact { rope, starts, lens, kept } => {
                let all: Vec<Var> = [*rope, *starts, *lens].into_iter().chain(*kept).collect();
                self.word_variables("compact", &all);
            }
            Op::NeedsCollection { rope, base } => {
                let all: Vec<Var> = std::iter::once(*rope).chain(*base).collect();
                self.word_variables("needs_collection", &all);
            }
            Op::Collect { rope, starts, weight } => {
                self.word_variables("collect", &[*rope, *starts]);
                self.push(" ");
                self.atom(weight);
            }
            Op::Sort { space, keys, values } => {
                self.sort(*keys, *values);
                self.space(space);
            }
            Op::If { cond, versions, then, other } => self.flat_if(cond, *versions, then, other),
            Op::Loop { params, form, body } => self.flat_loop(params, form, body),
            Op::Split { rows, most, first, count, body } => self.split(rows, *most, [first, count], body),
            Op::Call(f, xs) => self.word_atoms(&format!("call @{}", f.0), xs),
        }
    }

    fn flat_if(&mut self, cond: &Atom, versions: Option<VersionChoice>, then: &Block, other: &Block) {
        self.word_atom("if", cond);
        if let Some((name, numbers)) = versions.map(VersionChoice::parts) {
            let numbers: Vec<String> = numbers.iter().map(i64::to_string).collect();
            self.push(&format!(" versions {name} ({})", numbers.join(", ")));
        }
        self.push(" then ");
        self.flat_block(then);
        self.push(" else ");
        self.flat_block(other);
    }

    fn split(&mut self, rows: &Atom, most: u64, chunk: [&Var; 2], body: &Block) {
        self.word_atom("split", rows);
        self.push(&format!(" most {most} \\"));
        for v in chunk {
            self.var(v);
            self.push(" ");
        }
        self.flat_block(body);
    }

    fn flat_loop(&mut self, params: &[(Param, Atom)], form: &LoopForm, body: &Block) {
        self.push("loop ");
        self.list("(", params, ") ", |w, (p, init)| {
            w.flat_param(p);
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
                self.flat_block(cond);
            }
        }
        self.push(" do ");
        self.flat_block(body);
    }

    fn space(&mut self, space: &Space) {
        self.push(" over");
        for dim in &space.0 {
            self.push(" ");
            self.dim(dim);
        }
    }

    fn kernel(&mut self, k: &Kernel) {
        self.push("kernel ");
        self.kernel_kind(&k.kind);
        self.space(&k.space);
        for (i, v) in k.binders().iter().enumerate() {
            self.push(if i == 0 { " \\" } else { " " });
            self.var(v);
        }
        if !k.prologue.is_empty() {
            self.push(" prologue ");
            self.block(&k.prologue, &[], Self::core_stm);
        }
        self.push(" ");
        self.body(&k.body);
        if let Some(after) = k.after() {
            self.list(" then (", &after.outs, ") ", Self::out);
            self.list("\\(", &after.params, ") ", Self::core_param);
            self.body(&after.body);
        }
    }

    fn kernel_kind(&mut self, kind: &KernelKind) {
        match kind {
            KernelKind::Map(outs) => self.list("map (", outs, ")", Self::out),
            KernelKind::Reduce { op, neutral } => {
                self.push("reduce");
                self.operator(op, neutral);
            }
            KernelKind::Scan { op, neutral, exclusive, .. } => {
                self.push(if *exclusive { "exscan" } else { "scan" });
                self.operator(op, neutral);
            }
            KernelKind::Filter => self.push("filter"),
            KernelKind::Hist { dests, op, neutral } => {
                self.push("hist ");
                self.variables(dests);
                self.operator(op, neutral);
            }
        }
    }

    fn out(&mut self, out: &Out) {
        match out {
            Out::Elem(p) => self.push(&format!("elem {p}")),
            Out::Row(p, n) => self.push(&format!("row {n} {p}")),
            Out::Scatter(dests) => {
                self.push("scatter ");
                self.variables(dests);
            }
            Out::Own { dest, state } => {
                self.word_var("own", dest);
                self.push(" as ");
                self.core_param(state);
            }
        }
    }
}
