//! Verifiers of both IRs. A failure is always the compiler's own mistake: the message names the function, the
//! statement and the rule that it breaks. They run between passes in debug builds and tests.

mod core;
mod flat;
mod shape;
mod soac;

pub use core::verify_core;
pub use flat::verify_flat;

use crate::hash::{HashMap, HashSet};
use crate::prim::PrimOp;
use crate::ty::{Var, Vars};
use par_runtime::{CheckKind, Prim};

/// A broken rule; the innermost statement that breaks it is added on the way out.
struct Failure {
    rule: String,
    statement: Option<String>,
}

impl Failure {
    /// Adds the statement unless one further inside is known.
    fn at(mut self, statement: impl FnOnce() -> String) -> Failure {
        if self.statement.is_none() {
            let text = statement();
            let lines: Vec<&str> = text.lines().take(8).collect();
            self.statement = Some(lines.join("\n"));
        }
        self
    }

    fn message(self, function: &str) -> String {
        let statement = self.statement.map(|s| format!("\n  in statement: {s}")).unwrap_or_default();
        format!("{}\n  in function: {function}{statement}", self.rule)
    }
}

impl From<&str> for Failure {
    fn from(rule: &str) -> Failure {
        Failure { rule: rule.into(), statement: None }
    }
}

impl From<String> for Failure {
    fn from(rule: String) -> Failure {
        Failure { rule, statement: None }
    }
}

type Result<T = ()> = std::result::Result<T, Failure>;

/// Fails with the rule unless it holds.
fn ensure(holds: bool, rule: impl FnOnce() -> String) -> Result {
    if holds { Ok(()) } else { Err(rule().into()) }
}

fn ensure_count(what: &str, found: usize, wanted: usize) -> Result {
    ensure(found == wanted, || format!("{what}: {found} where {wanted} are needed"))
}

/// Variables in scope with their types, and all that were ever bound.
struct Scope<'a, T> {
    vars: &'a Vars,
    types: HashMap<Var, T>,
    ever: HashSet<Var>,
    order: Vec<Var>,
}

impl<'a, T> Scope<'a, T> {
    fn new(vars: &'a Vars) -> Scope<'a, T> {
        Scope { vars, types: HashMap::default(), ever: HashSet::default(), order: Vec::new() }
    }

    fn show(&self, v: Var) -> String {
        format!("{}_{}", self.vars.name(v), v.0)
    }

    /// Invariant: every variable is bound once in the program and has a name.
    fn bind(&mut self, v: Var, ty: T) -> Result {
        ensure(self.ever.insert(v), || format!("{} is bound twice", self.show(v)))?;
        ensure((v.0 as usize) < self.vars.len(), || format!("variable {} has no name", v.0))?;
        self.types.insert(v, ty);
        self.order.push(v);
        Ok(())
    }

    /// Invariant: a variable is used only where it is in scope.
    fn get(&self, v: Var) -> Result<&T> {
        self.types.get(&v).ok_or_else(|| format!("{} is not in scope", self.show(v)).into())
    }

    /// Forgets everything, but not the room for it.
    fn clear(&mut self) {
        self.types.clear();
        self.ever.clear();
        self.order.clear();
    }

    fn mark(&self) -> usize {
        self.order.len()
    }

    /// Ends the scope of everything bound since the mark.
    fn release(&mut self, mark: usize) {
        for v in self.order.drain(mark..) {
            self.types.remove(&v);
        }
    }
}

/// Invariant: a scalar operator exists at its type and is given operands of its types.
fn check_operator(op: PrimOp, operands: &[Prim]) -> Result<Prim> {
    ensure(op.is_valid(), || format!("the operator {op} does not exist"))?;
    let wanted = op.operands();
    ensure(wanted == operands, || format!("{op} takes {wanted:?}, not {operands:?}"))?;
    Ok(op.result())
}

/// Number of arguments that a kind of check has.
fn check_arity(kind: &CheckKind) -> usize {
    match kind {
        CheckKind::Slice | CheckKind::RowLength | CheckKind::Range => 3,
        CheckKind::Bounds | CheckKind::SizeMismatch(_) | CheckKind::SegmentSum => 2,
        CheckKind::Conflict => 3,
        CheckKind::NegativeSize | CheckKind::NegativeExponent | CheckKind::OutOfMemory => 1,
        CheckKind::DivisionByZero | CheckKind::Assert(_) | CheckKind::Empty(_) => 0,
        CheckKind::TooDeep | CheckKind::ZeroStep | CheckKind::Other(_) => 0,
    }
}
