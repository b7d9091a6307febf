//! Instructions by the shape of their operands.

use super::inst::{Inst, Read, Source, View};
use super::select::Select;
use iced_x86::Code;
use regalloc2::VReg;

impl Select<'_> {
    /// `d = code xs`.
    pub fn make(&mut self, code: Code, (d, to): (VReg, View), xs: &[Read]) {
        let mut inst = Inst::new();
        let mut args = vec![inst.def(d, to)];
        args.extend(xs.iter().map(|x| match *x {
            Read::In(r, view) => inst.using(r, view),
            Read::Any(source, view) => inst.source(source, view),
        }));
        inst.step(code, &args);
        self.now.push(inst);
    }

    /// `d = code xs`, of registers of one width.
    pub fn of_registers<const N: usize>(&mut self, code: Code, view: View, d: VReg, xs: [VReg; N]) {
        self.make(code, (d, view), &xs.map(|x| Read::In(x, view)));
    }

    /// `d = code x`.
    pub fn two(&mut self, code: Code, d: (VReg, View), (x, from): (Source, View)) {
        self.make(code, d, &[Read::Any(x, from)]);
    }

    /// `d = code x n`.
    pub fn two_by(&mut self, code: Code, d: (VReg, View), (x, from): (Source, View), n: u8) {
        self.make(code, d, &[Read::Any(x, from), Read::Any(Source::Byte(n), from)]);
    }

    /// `d = code x n`, where `x` is in a register.
    pub fn by(&mut self, code: Code, d: (VReg, View), (x, from): (VReg, View), n: u8) {
        self.make(code, d, &[Read::In(x, from), Read::Any(Source::Byte(n), from)]);
    }

    /// `d = code x y`, all of one width.
    pub fn three(&mut self, code: Code, view: View, d: VReg, x: VReg, y: Source) {
        self.make(code, (d, view), &[Read::In(x, view), Read::Any(y, view)]);
    }

    /// `d = code x y n`, all of one width.
    pub fn three_by(&mut self, code: Code, view: View, d: VReg, x: VReg, y: Source, n: u8) {
        let reads = [Read::In(x, view), Read::Any(y, view), Read::Any(Source::Byte(n), view)];
        self.make(code, (d, view), &reads);
    }

    /// `d = x; d = code d y`.
    pub fn onto(&mut self, code: Code, view: View, d: VReg, x: VReg, y: Source) {
        let mut inst = Inst::new();
        let x = inst.using(x, view);
        let d = inst.reuse(d, x, view);
        let y = inst.source(y, view);
        inst.step(code, &[d, y]);
        self.now.push(inst);
    }
}
