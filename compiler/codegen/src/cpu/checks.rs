//! Checks and cancellation: early exits of a function.

use super::emit::{Emitter, Result, output};
use super::frame::Word;
use cranelift::prelude::*;
use cranelift_codegen::ir::MemFlagsData;
use par_ir::ty::Atom;
use par_ir::{CheckKind, Prim, Span};
use par_runtime::plan::{ErrorRecord, KernelCheck};
use std::mem::offset_of;

/// Early exits of the function, and the operands of error records.
pub struct Exits {
    /// Position of the current element, for errors.
    pub pos: Word,
    /// Address of the error record.
    pub error: Word,
    /// Address of the cancellation flag.
    pub cancel: Word,
    /// Target block of a failed check in code that does not report the failure itself.
    pub escape: Option<Block>,
    /// Leaves the function because of cancellation, once something may.
    pub stop: Option<Block>,
}

impl Exits {
    /// From these parameters of the function.
    pub fn new(pos: Word, error: Word, cancel: Word) -> Exits {
        Exits { pos, error, cancel, escape: None, stop: None }
    }
}

impl Emitter<'_> {
    pub fn check_stm(&mut self, cond: &Atom, kind: &CheckKind, args: &[Atom], span: Span) -> Result {
        let values = self.atoms(args)?;
        let cond = match self.ranges.checked(cond, kind, args) {
            Some(_) => self.b.ins().icmp(IntCC::UnsignedLessThan, values[0], values[1]),
            None => self.atom(cond)?,
        };
        self.check(cond, kind, args, &values, span)
    }

    /// Leaves the function unless `cond` holds, or goes where the failure is found again.
    pub fn check(
        &mut self,
        cond: Value,
        kind: &CheckKind,
        args: &[Atom],
        values: &[Value],
        span: Span,
    ) -> Result {
        if let Some(escape) = self.exits.escape {
            self.go_on_if(cond, escape, &[]);
            return Ok(());
        }
        let number = self.checks.len() as i64;
        let prims: Vec<Prim> = args.iter().map(|a| self.prim_of(a)).collect::<Result<_>>()?;
        self.checks.push(KernelCheck { kind: kind.clone(), args: prims.clone(), span });
        let (ok, failed) = (self.b.create_block(), self.b.create_block());
        self.b.set_cold_block(failed);
        self.b.ins().brif(cond, ok, &[], failed, &[]);
        self.b.switch_to_block(failed);
        let number = self.i64(number);
        let (pos, error) = (self.word(self.exits.pos), self.word(self.exits.error));
        self.b.ins().store(output(), number, error, offset_of!(ErrorRecord, check) as i32);
        self.b.ins().store(output(), pos, error, offset_of!(ErrorRecord, pos) as i32);
        for (i, (x, prim)) in values.iter().zip(prims).take(4).enumerate() {
            self.store_at(prim, *x, error, (offset_of!(ErrorRecord, args) + 8 * i) as i32);
        }
        self.leave();
        self.b.switch_to_block(ok);
        Ok(())
    }

    fn prim_of(&self, a: &Atom) -> Result<Prim> {
        match a {
            Atom::Const(c) => Ok(c.prim()),
            Atom::Var(v) => self.bound.prims.get(v).copied().ok_or_else(|| format!("v_{} has no type", v.0)),
        }
    }

    /// Leaves the function if the run is to be stopped.
    pub fn poll(&mut self) {
        // Atomic, so that no pass takes it for a load that gives what it gave the last time.
        let cancel = self.word(self.exits.cancel);
        let flag = self.b.ins().atomic_load(types::I8, MemFlagsData::trusted(), cancel);
        let stop = self.leave_if(flag, self.exits.stop, |e| {
            let (check, pos) = (e.i64(ErrorRecord::CANCELLED), e.i64(i64::MIN));
            let error = e.word(e.exits.error);
            e.b.ins().store(output(), check, error, offset_of!(ErrorRecord, check) as i32);
            e.b.ins().store(output(), pos, error, offset_of!(ErrorRecord, pos) as i32);
        });
        self.exits.stop = Some(stop);
    }

    /// Leaves the function if a flag is set, by a block that is there or is made, with `before` at its begin.
    pub fn leave_if(&mut self, flag: Value, known: Option<Block>, before: impl FnOnce(&mut Self)) -> Block {
        let on = self.b.create_block();
        let block = known.unwrap_or_else(|| self.b.create_block());
        self.b.ins().brif(flag, block, &[], on, &[]);
        if known.is_none() {
            self.b.set_cold_block(block);
            self.b.switch_to_block(block);
            before(self);
            self.leave();
        }
        self.b.switch_to_block(on);
        block
    }
}
