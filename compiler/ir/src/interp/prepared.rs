//! Facts about a program that the interpreters compute before they run it.

use super::moves::Moves;
use super::{Outcome, internal};
use crate::ty::Var;
use crate::visit::Code;
use crate::{core, flat};

/// Last uses and bound variables of one program, for those who call it often. The program may move as a whole, but
/// does not change.
pub struct Prepared {
    /// Variables bound in each function of CORE.
    pub(super) bound: Vec<Vec<Var>>,
    /// Variables bound in each function of FLAT.
    pub(super) bound_by_host: Vec<Vec<Var>>,
    pub(super) moves: Moves,
    /// Address of the program's functions.
    place: usize,
}

impl Prepared {
    /// Facts about a program in CORE, in time proportional to its length and the depth of its nests.
    pub fn of_core(program: &core::Program) -> Prepared {
        Prepared {
            bound: program.funs.iter().map(Code::bound).collect(),
            bound_by_host: Vec::new(),
            moves: Moves::of_core(program.vars.len(), &program.funs),
            place: program.funs.as_ptr().addr(),
        }
    }

    /// As [`Prepared::of_core`], of a program in FLAT.
    pub fn of_flat(program: &flat::Program) -> Prepared {
        Prepared {
            bound: program.locals.iter().map(Code::bound).collect(),
            bound_by_host: program.funs.iter().map(Code::bound).collect(),
            moves: Moves::of_flat(program),
            place: program.funs.as_ptr().addr(),
        }
    }

    /// An error unless these functions are the ones that were looked at.
    pub(super) fn check<F>(&self, funs: &[F]) -> Outcome<()> {
        if self.place == funs.as_ptr().addr() {
            return Ok(());
        }
        internal("another program was prepared")
    }
}
