//! Names, types and specialisation: syntax tree to CORE.
//!
//! `infer` resolves names and infers types (ranks and element types; declared sizes are carried along): AST to
//! [`thir`]. `sizes` checks sizes, and finds those that only the surroundings of a use say. `consume` checks that nothing is
//! used after a parameter written `*t` took it. `lower` evaluates the typed tree symbolically, inlining every function that is not recursive, and emits CORE with exact shapes and the checks
//! that sizes need.

mod constructors;
pub mod consume;
mod free;
pub mod infer;
pub mod lower;
pub mod sizes;
pub mod thir;
pub mod visit;
