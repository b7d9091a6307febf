//! Lines of C++, and how FLAT's names, types and constants are written in it.

use par_ir::ty::{Atom, Vars};
use par_ir::{Prim, Scalar, Var};
use std::fmt::Write;

/// Indented lines.
#[derive(Default)]
pub struct Text {
    out: String,
    depth: usize,
}

impl Text {
    /// Adds a line.
    pub fn line(&mut self, line: impl AsRef<str>) {
        let line = line.as_ref();
        if !line.is_empty() {
            let _ = write!(self.out, "{:1$}", "", 4 * self.depth);
        }
        self.out.push_str(line);
        self.out.push('\n');
    }

    /// Adds a line after which lines are indented further.
    pub fn open(&mut self, line: impl AsRef<str>) {
        self.line(line);
        self.depth += 1;
    }

    /// Adds a line from which on lines are indented as before.
    pub fn close(&mut self, line: impl AsRef<str>) {
        self.depth -= 1;
        self.line(line);
    }

    /// Adds a line that is indented as before the lines around it.
    pub fn otherwise(&mut self, line: impl AsRef<str>) {
        self.close(line);
        self.depth += 1;
    }

    /// Takes all lines away.
    pub fn take(&mut self) -> String {
        std::mem::take(&mut self.out)
    }
}

/// The C++ name of a variable: its own, as far as C++ allows, and its number.
pub fn name(v: Var, vars: &Vars) -> String {
    let mut name: String =
        vars.name(v).chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
    if !name.starts_with(|c: char| c.is_ascii_alphabetic()) {
        name.insert(0, 'v');
    }
    format!("{name}_{}", v.0)
}

/// The C++ type of a scalar: FLAT's name is one.
pub fn ty(p: Prim) -> &'static str {
    p.name()
}

/// A constant of its type.
pub fn constant(x: Scalar) -> String {
    match x {
        Scalar::Bool(b) => b.to_string(),
        Scalar::F16(x) => format!("half_bits({:#06x})", x.to_bits()),
        Scalar::F32(x) if x.is_finite() => format!("{x:?}f"),
        Scalar::F32(x) => format!("op::frombits<f32>({:#010x}u)", x.to_bits()),
        Scalar::F64(x) if x.is_finite() => format!("{x:?}"),
        Scalar::F64(x) => format!("op::frombits<f64>({:#018x}ull)", x.to_bits()),
        Scalar::I64(i64::MIN) => "i64(-0x7fffffffffffffffll - 1)".into(),
        Scalar::U64(x) => format!("u64({x}ull)"),
        Scalar::I64(x) => format!("i64({x})"),
        x => format!("{}({})", x.prim(), x.as_i64().unwrap_or(0)),
    }
}

/// An operand.
pub fn atom(a: &Atom, vars: &Vars) -> String {
    match a {
        Atom::Var(v) => name(*v, vars),
        Atom::Const(c) => constant(*c),
    }
}
