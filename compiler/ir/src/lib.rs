//! Intermediate representations: CORE (nested parallel operators) and FLAT (bulk operations
//! over flat arrays), their printers, parsers, verifiers and reference interpreters.

pub mod access;
pub mod alias;
pub mod build;
pub mod core;
pub mod cost;
pub mod effects;
pub mod flat;
pub mod growth;
pub mod hash;
pub mod hoist;
pub mod inplace;
pub mod interp;
pub mod loops;
pub mod numbering;
mod origin;
pub mod parse;
pub mod place;
pub mod print;
mod reach;
pub mod stack;
pub mod tiny;
pub mod tuning;
pub mod ty;
pub mod verify;
pub mod visit;

pub use par_runtime::op as prim;
pub use par_runtime::{CheckKind, Prim, Scalar, Span, ValueType};
pub use prim::PrimOp;
pub use ty::{Atom, Dim, Elem, Type, Var, Vars};
