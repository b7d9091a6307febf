//! Instructions by the shape of their operands.

use super::inst::{Inst, Source, View, imm8};
use super::select::Select;
use iced_x86::Code;
use regalloc2::VReg;

impl Select<'_> {
    /// `d = code x`.
    pub fn two(&mut self, code: Code, (d, to): (VReg, View), (x, from): (Source, View)) {
        let mut inst = Inst::new();
        let d = inst.def(d, to);
        let x = inst.source(x, from);
        inst.step(code, &[d, x]);
        self.now.push(inst);
    }

    /// `d = code x n`.
    pub fn two_by(&mut self, code: Code, (d, to): (VReg, View), (x, from): (Source, View), n: u8) {
        let mut inst = Inst::new();
        let d = inst.def(d, to);
        let x = inst.source(x, from);
        inst.step(code, &[d, x, imm8(n)]);
        self.now.push(inst);
    }

    /// `d = code x y`, all of one width.
    pub fn three(&mut self, code: Code, view: View, d: VReg, x: VReg, y: Source) {
        let mut inst = Inst::new();
        let d = inst.def(d, view);
        let x = inst.using(x, view);
        let y = inst.source(y, view);
        inst.step(code, &[d, x, y]);
        self.now.push(inst);
    }

    /// `d = code x y n`, all of one width.
    pub fn three_by(&mut self, code: Code, view: View, d: VReg, x: VReg, y: Source, n: u8) {
        let mut inst = Inst::new();
        let d = inst.def(d, view);
        let x = inst.using(x, view);
        let y = inst.source(y, view);
        inst.step(code, &[d, x, y, imm8(n)]);
        self.now.push(inst);
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
