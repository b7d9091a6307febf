//! What an expression does besides giving a value: it may fail, or show a value.
//!
//! ```text
//! check c bounds i n              may fail
//! call f x                        may fail (too deep recursion at least)
//! trace x                         is seen from outside just like a failure
//! map (\i -> check …) is          may fail, because its lambda may
//! xs[i]                           cannot fail: a check before it has seen to that
//! ```

use par_ir::core::{Body, Exp};

/// Whether evaluating `exp` may fail, or be seen otherwise.
pub(crate) fn may_fail(exp: &Exp) -> bool {
    matches!(exp, Exp::Check { .. } | Exp::Call(..) | Exp::Trace { .. })
        || exp.bodies().into_iter().any(body_may_fail)
}

fn body_may_fail(body: &Body) -> bool {
    body.stms.iter().any(|s| may_fail(&s.exp))
}

/// Goes one body deeper with enough stack, however deep the program is nested; unless the compiler is to stop.
pub(crate) fn deeper<T>(run: impl FnOnce() -> T) -> T {
    par_runtime::cancel::poll();
    stacker::maybe_grow(128 << 10, 4 << 20, run)
}
