//! Versions of which one is chosen while the program runs, and what chooses.

use par_ir::flat::{Block, Op, Program, Stm};
use par_ir::prim::{BinOp, CmpOp, PrimOp};
use par_ir::ty::{Atom, Var};
use par_passes::flatten::VERSION_CONDITIONS;

/// What is said of the arms of a choice.
pub(super) struct Chosen {
    /// Of what runs each row or call by itself.
    pub sequential: String,
    /// Of what runs all at once.
    pub flat: String,
}

/// What a branch of the host's on `cond`, in this block, chooses between, if these are versions.
pub(super) fn chosen(program: &Program, block: &Block, cond: Atom) -> Option<Chosen> {
    let cond = cond.var()?;
    let name = program.vars.name(cond);
    let choice = binding(block, cond)?;
    if name == VERSION_CONDITIONS[0] {
        let calls = least(&choice.op)?;
        return Some(Chosen {
            sequential: format!("sequential, each call by itself: for {calls} calls at once, and more"),
            flat: format!("flat, all calls at once: for less than {calls} of them"),
        });
    }
    if name == VERSION_CONDITIONS[2] {
        let positions = first_least(block, choice)?;
        return Some(Chosen {
            sequential: format!(
                "sequential, each position by itself: for {positions} and more with small arrays"
            ),
            flat: "flat, all positions at once: for fewer of them, or larger arrays".into(),
        });
    }
    if name != VERSION_CONDITIONS[1] {
        return None;
    }
    let Op::If { cond, then, .. } = &choice.op else { return None };
    let rows = least(&binding(block, cond.var()?)?.op)?;
    let longest = then.stms.iter().find_map(|s| most(&s.op));
    let short = longest.map_or(String::new(), |n| format!(", if none is longer than {n}"));
    Some(Chosen {
        sequential: format!("sequential, each row by itself: for {rows} rows and more{short}"),
        flat: "flat, all rows at once: for fewer or longer rows".into(),
    })
}

/// Whether a statement finds out which version is to run.
pub(super) fn chooses(program: &Program, stm: &Stm) -> bool {
    stm.pat.iter().any(|p| VERSION_CONDITIONS.contains(&program.vars.name(p.var)))
}

fn binding(block: &Block, v: Var) -> Option<&Stm> {
    block.stms.iter().find(|s| s.pat.iter().any(|p| p.var == v))
}

/// The constant of the first of conditions that must all hold.
fn first_least(block: &Block, all: &Stm) -> Option<i64> {
    match &all.op {
        Op::Prim(PrimOp::Bin(BinOp::And, _), args) => first_least(block, binding(block, args[0].var()?)?),
        op => least(op),
    }
}

/// The constant of `constant <= …`.
fn least(op: &Op) -> Option<i64> {
    compared(op)?[0].as_i64()
}

/// The constant of `… <= constant`.
fn most(op: &Op) -> Option<i64> {
    compared(op)?[1].as_i64()
}

fn compared(op: &Op) -> Option<&[Atom]> {
    match op {
        Op::Prim(PrimOp::Cmp(CmpOp::Le, _), args) => Some(args),
        _ => None,
    }
}
