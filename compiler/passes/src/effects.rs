//! What an expression does besides giving a value: it may fail.
//!
//! ```text
//! check c bounds i n              may fail
//! call f x                        may fail (too deep recursion at least)
//! map (\i -> check …) is          may fail, because its lambda may
//! xs[i]                           cannot fail: a check before it has seen to that
//! ```

use par_ir::core::{Body, Exp};

/// Whether evaluating `exp` may fail.
pub(crate) fn may_fail(exp: &Exp) -> bool {
    matches!(exp, Exp::Check { .. } | Exp::Call(..)) || exp.bodies().into_iter().any(body_may_fail)
}

fn body_may_fail(body: &Body) -> bool {
    body.stms.iter().any(|s| may_fail(&s.exp))
}
