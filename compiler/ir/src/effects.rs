//! Effects: what code does besides giving values.
//!
//! ```text
//! check c bounds i n              may fail
//! call f x                        may fail (recursion may be too deep) and diverge
//! loop (v = x) while { … } …      may diverge
//! trace x                         shows a value
//! push xs                         writes to a tape
//! add acc is xs                   adds to an accumulator
//! map (\i -> check …) is          may fail, because its lambda may
//! xs[i]                           cannot fail: a check before it has seen to that
//! ```
//!
//! Code with any effect stays, even if nothing uses its results, runs once, and is not moved past other code with an effect: a
//! failure behind a loop that does not end is never seen. Only code that does nothing but fail may change places with such code.

use crate::core::{self, Body, Exp};
use crate::flat::{self, Block, Kernel, Op};
use crate::stack::deeper;

/// A set of effects, in bits.
#[derive(Clone, Copy)]
pub struct Kinds(u8);

const FAILS: Kinds = Kinds(1);
const DIVERGES: Kinds = Kinds(2);
const CALLS: Kinds = Kinds(1 | 2);
const SHOWS: Kinds = Kinds(4);
const TAPES: Kinds = Kinds(8);
const ADDS: Kinds = Kinds(16);
const ANY: Kinds = Kinds(1 | 2 | 4 | 8 | 16);

impl Kinds {
    fn meets(self, other: Kinds) -> bool {
        self.0 & other.0 != 0
    }
}

/// Effects of code of CORE and FLAT, what is inside it included.
pub trait Effects {
    /// True if evaluating it may have one of these effects.
    fn has(&self, kinds: Kinds) -> bool;

    /// True if it has a check or a call. For code whose failures are handled in a place of their own.
    fn may_fail(&self) -> bool {
        self.has(FAILS)
    }

    /// True if it has a loop without a bound or a call. For code that must not run where the program would not have run it.
    fn may_diverge(&self) -> bool {
        self.has(DIVERGES)
    }

    /// True if it has no effect but that it may fail: of several failures any may be the one that a run ends with.
    fn only_fails(&self) -> bool {
        !self.has(Kinds(ANY.0 & !FAILS.0))
    }

    /// True if it may show a value. For code that is run twice.
    fn may_show(&self) -> bool {
        self.has(SHOWS)
    }

    /// True if it writes to a tape or reads from one, itself. For code that must run as a whole.
    fn has_tape(&self) -> bool {
        self.has(TAPES)
    }

    /// True if it may fail, diverge, show a value, have a tape or an accumulator. For code that is removed, moved past other code, or duplicated.
    fn has_effect(&self) -> bool {
        self.has(ANY)
    }
}

impl<C: Effects> Effects for [C] {
    fn has(&self, kinds: Kinds) -> bool {
        self.iter().any(|c| c.has(kinds))
    }
}

impl Effects for Body {
    fn has(&self, kinds: Kinds) -> bool {
        deeper(|| self.stms.has(kinds))
    }
}

impl Effects for core::Stm {
    fn has(&self, kinds: Kinds) -> bool {
        self.exp.has(kinds)
    }
}

impl Effects for Exp {
    fn has(&self, kinds: Kinds) -> bool {
        let own = match self {
            Exp::Check { .. } => FAILS.meets(kinds),
            Exp::Call(..) => CALLS.meets(kinds),
            Exp::Trace { .. } => SHOWS.meets(kinds),
            Exp::Push(_) | Exp::Tape(_) => TAPES.meets(kinds),
            Exp::Accumulate(_) | Exp::Add { .. } | Exp::Accumulated(_) => ADDS.meets(kinds),
            Exp::Loop { form: core::LoopForm::While(_), .. } => DIVERGES.meets(kinds),
            _ => false,
        };
        own || self.bodies().into_iter().any(|b| b.has(kinds))
    }
}

impl Effects for Block {
    fn has(&self, kinds: Kinds) -> bool {
        deeper(|| self.stms.has(kinds))
    }
}

impl Effects for flat::Stm {
    fn has(&self, kinds: Kinds) -> bool {
        self.op.has(kinds)
    }
}

impl Effects for Op {
    fn has(&self, kinds: Kinds) -> bool {
        let own = match self {
            Op::Check { .. } => FAILS.meets(kinds),
            Op::Call(..) => CALLS.meets(kinds),
            Op::Trace { .. } => SHOWS.meets(kinds),
            Op::Loop { form: flat::LoopForm::While(_), .. } => DIVERGES.meets(kinds),
            Op::Kernel(k) => k.has(kinds),
            _ => false,
        };
        own || self.blocks().into_iter().any(|b| b.has(kinds))
    }
}

/// A kernel's prologue has no effects.
impl Effects for Kernel {
    fn has(&self, kinds: Kinds) -> bool {
        self.bodies().into_iter().any(|b| b.has(kinds))
    }
}
