//! Printing both IRs as text that a person can read and [`crate::parse`] reads back.
//!
//! ```text
//! fun sums@0 (n_0: i64, s_1: [n_0]desc, xss_2: [n_0][~s_1]f32) -> (ys_3: [n_0]f32)
//!   entry sums (xss: [n][~]f32) -> [n]f32
//! {
//!   let (ys_4: [n_0]f32) = map n_0 (s_1, xss_2) \(k_5: i64, row_6: [k_5]f32) -> (f32) {
//!     let (y_7: f32) = reduce k_5 (row_6) \(x_8: f32) -> (f32) { in (x_8) } op \… neutral (0.0f32)
//!     in (y_7)
//!   }
//!   in (ys_4)
//! }
//! ```
//!
//! `[n_0]` is a uniform dimension, `[~s_1]` one whose row lengths the descriptor `s_1` holds. A variable is its name,
//! an underscore, its id; a function its name, `@`, its index. One statement a line, nested bodies indented. With spans,
//! statements end in `@file:start:end`.

mod core;
mod flat;

pub use core::{print_core, print_core_stm, print_core_with_spans, print_type};
pub use flat::{print_flat, print_flat_stm, print_flat_with_spans};

use crate::prim::PrimOp;
use crate::ty::{Atom, Dim, Elem, Type, Var, Vars};
use par_runtime::{CheckKind, Prim, Scalar, Span, ValueType};

/// Text under construction.
struct Writer<'a> {
    out: String,
    vars: &'a Vars,
    depth: usize,
    spans: bool,
}

impl<'a> Writer<'a> {
    fn new(vars: &'a Vars, spans: bool) -> Writer<'a> {
        Writer { out: String::new(), vars, depth: 0, spans }
    }

    fn push(&mut self, text: &str) {
        self.out.push_str(text);
    }

    fn line(&mut self) {
        self.out.push('\n');
        self.out.extend(std::iter::repeat_n("  ", self.depth));
    }

    /// `(a, b)` or with other brackets.
    fn list<T>(&mut self, open: &str, items: &[T], close: &str, mut item: impl FnMut(&mut Self, &T)) {
        self.push(open);
        for (i, x) in items.iter().enumerate() {
            if i > 0 {
                self.push(", ");
            }
            item(self, x);
        }
        self.push(close);
    }

    /// A block in braces: each statement on a line, then `in (results)`.
    fn block<S>(&mut self, stms: &[S], results: &[Atom], stm: impl Fn(&mut Self, &S)) {
        if stms.is_empty() {
            self.list("{ in (", results, ") }", Self::atom);
            return;
        }
        self.push("{");
        self.depth += 1;
        for s in stms {
            self.line();
            stm(self, s);
        }
        self.line();
        self.list("in (", results, ")", Self::atom);
        self.depth -= 1;
        self.line();
        self.push("}");
    }

    fn var(&mut self, v: &Var) {
        let text = format!("{}_{}", plain_name(self.vars.name(*v)), v.0);
        self.push(&text);
    }

    fn atom(&mut self, a: &Atom) {
        match a {
            Atom::Var(v) => self.var(v),
            Atom::Const(c) => self.push(&constant(*c)),
        }
    }

    fn atoms(&mut self, xs: &[Atom]) {
        self.list("(", xs, ")", Self::atom);
    }

    fn variables(&mut self, xs: &[Var]) {
        self.list("(", xs, ")", Self::var);
    }

    fn word_var(&mut self, word: &str, v: &Var) {
        self.push(word);
        self.push(" ");
        self.var(v);
    }

    fn word_variables(&mut self, word: &str, xs: &[Var]) {
        self.push(word);
        self.push(" ");
        self.variables(xs);
    }

    fn word_atom(&mut self, word: &str, a: &Atom) {
        self.push(word);
        self.push(" ");
        self.atom(a);
    }

    fn word_atoms(&mut self, word: &str, xs: &[Atom]) {
        self.push(word);
        self.push(" ");
        self.atoms(xs);
    }

    /// A scalar operator on its operands.
    fn scalar(&mut self, op: &PrimOp, xs: &[Atom]) {
        self.push(&op.to_string());
        self.atoms(xs);
    }

    fn literal(&mut self, xs: &[Atom], p: Prim) {
        self.push(&format!("literal {p} "));
        self.list("[", xs, "]", Self::atom);
    }

    /// An element or a row of an array.
    fn element(&mut self, v: &Var, indices: &[Atom]) {
        self.var(v);
        self.list("[", indices, "]", Self::atom);
    }

    fn dim(&mut self, d: &Dim) {
        self.push("[");
        match d {
            Dim::Size(Atom::Const(Scalar::I64(n))) => self.push(&n.to_string()),
            Dim::Size(a) => self.atom(a),
            Dim::Seg(s) => {
                self.push("~");
                self.var(s);
            }
        }
        self.push("]");
    }

    fn ty(&mut self, ty: &Type) {
        ty.dims.iter().for_each(|d| self.dim(d));
        match ty.elem {
            Elem::Prim(p) => self.push(p.name()),
            Elem::Desc => self.push("desc"),
            Elem::Acc(p) => self.push(&format!("acc {}", p.name())),
        }
    }

    fn check(&mut self, cond: &Atom, kind: &CheckKind, args: &[Atom]) {
        self.push("check ");
        self.atom(cond);
        let (name, text) = check_name(kind);
        self.push(&format!(" {name}"));
        if let Some(text) = text {
            self.push(&format!(" {}", quoted(text)));
        }
        self.push(" ");
        self.atoms(args);
    }

    fn trace(&mut self, label: &str, ty: &ValueType, args: &[Atom]) {
        self.push(&format!("trace {} ", quoted(label)));
        self.atoms(args);
        self.push(&format!(": {}", value_type(ty)));
    }

    fn span(&mut self, span: Span) {
        if self.spans {
            self.push(&format!(" @{}:{}:{}", span.file, span.start, span.end));
        }
    }

    /// `entry name (param: type, …) -> type` on a line of its own.
    fn entry(&mut self, entry: &crate::core::Entry) {
        self.depth += 1;
        self.line();
        self.push(&format!("entry {} ", name(&entry.name)));
        self.list("(", &entry.params, ")", |w, (n, t)| {
            let text = format!("{}: {}", name(n), value_type(t));
            w.push(&text);
        });
        self.push(&format!(" -> {}", value_type(&entry.ret)));
        self.depth -= 1;
    }
}

/// The word for a kind of check, and its text if it carries one.
fn check_name(kind: &CheckKind) -> (&'static str, Option<&str>) {
    match kind {
        CheckKind::Bounds => ("bounds", None),
        CheckKind::Slice => ("slice", None),
        CheckKind::DivisionByZero => ("division_by_zero", None),
        CheckKind::NegativeExponent => ("negative_exponent", None),
        CheckKind::NegativeSize => ("negative_size", None),
        CheckKind::SizeMismatch(text) => ("size_mismatch", Some(text)),
        CheckKind::RowLength => ("row_length", None),
        CheckKind::SegmentSum => ("segment_sum", None),
        CheckKind::Conflict => ("conflict", None),
        CheckKind::Assert(text) => ("assert", Some(text)),
        CheckKind::Empty(text) => ("empty", Some(text)),
        CheckKind::TooDeep => ("too_deep", None),
        CheckKind::OutOfMemory => ("out_of_memory", None),
        CheckKind::ZeroStep => ("zero_step", None),
        CheckKind::Range => ("range", None),
        CheckKind::Other(text) => ("other", Some(text)),
    }
}

/// A constant; a NaN that is not the standard one carries its bits.
fn constant(c: Scalar) -> String {
    let standard = !c.is_nan() || Scalar::from_f64(c.prim(), f64::NAN) == Some(c);
    if standard { c.to_string() } else { format!("{}.nan({})", c.prim(), c.bits()) }
}

/// A variable's name with only letters, digits, underscores and quotes, not starting like a number.
fn plain_name(name: &str) -> String {
    let clean = |c: char| if c.is_alphanumeric() || c == '\'' { c } else { '_' };
    let mut text: String = name.chars().map(clean).collect();
    if !text.starts_with(|c: char| c.is_alphabetic() || c == '_') {
        text.insert(0, if text.is_empty() { 'v' } else { '_' });
    }
    text
}

/// A name as it is, in quotes unless it is an identifier.
fn name(name: &str) -> String {
    if is_identifier(name) { name.to_string() } else { quoted(name) }
}

fn is_identifier(name: &str) -> bool {
    let mut chars = name.chars();
    chars.next().is_some_and(|c| c.is_alphabetic() || c == '_')
        && chars.all(|c| c.is_alphanumeric() || c == '_' || c == '\'')
}

fn quoted(text: &str) -> String {
    let escaped = text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
    format!("\"{escaped}\"")
}

/// A boundary type; other than in messages, rows that may differ are marked (`[~]`, `[~n]`).
fn value_type(ty: &ValueType) -> String {
    match ty {
        ValueType::Prim(p) => p.to_string(),
        ValueType::Tuple(ts) => {
            let ts: Vec<_> = ts.iter().map(value_type).collect();
            format!("({})", ts.join(", "))
        }
        ValueType::Record(fs) => {
            let fs: Vec<_> = fs.in_order().map(|(n, t)| format!("{}: {}", name(n), value_type(t))).collect();
            format!("{{{}}}", fs.join(", "))
        }
        ValueType::Sum(cs) => {
            let payload = |ts: &[ValueType]| value_type(&ValueType::Tuple(ts.to_vec()));
            let cs: Vec<_> = cs.iter().map(|(n, ts)| format!("{}: {}", name(n), payload(ts))).collect();
            format!("sum {{{}}}", cs.join(", "))
        }
        ValueType::Array { ragged, size, elem } => {
            let tilde = if *ragged { "~" } else { "" };
            let size = size.as_deref().map(size_name).unwrap_or_default();
            format!("[{tilde}{size}]{}", value_type(elem))
        }
        ValueType::Opaque { name, of } => format!("opaque {} {}", quoted(name), value_type(of)),
    }
}

fn size_name(size: &str) -> String {
    let number = !size.is_empty() && size.chars().all(|c| c.is_ascii_digit());
    if number { size.to_string() } else { name(size) }
}
