//! The simplifier: rewrites from top to bottom with what is known, then removes what is dead from bottom to top,
//! until nothing changes.
//!
//! ```text
//! let n2 = n
//! let is = iota n2
//! let ys = map n2 is (\i ->              let is = iota n
//!   let a = le.i64 0 i                   let ys = map n is (\i ->
//!   let b = lt.i64 i n             =>      let x = xs[i]
//!   let c = and.bool a b                   in x)
//!   check c bounds i n
//!   let x = xs[i]
//!   in x)
//! ```

mod arrays;
mod branch;
mod dead;
mod env;
mod forward;
mod gather;
mod linear;
mod loops;
pub(crate) mod prim;
mod range;
mod soac;

use par_ir::core::Program;
use par_ir::tuning;

/// Simplifies all functions.
pub fn run(program: &mut Program) {
    for _ in 0..tuning::SIMPLIFY_ROUNDS {
        let before = program.funs.clone();
        forward::run(program);
        dead::run(program);
        if program.funs == before {
            return;
        }
    }
}
