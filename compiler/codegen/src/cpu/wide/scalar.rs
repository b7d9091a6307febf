//! Scalars: integers in general registers, floats in vector registers.
//!
//! Of an integer that is shorter than its register the rest may be anything.

use super::inst::{Arg, Condition, Inst, Read, Source, Step, View, general};
use super::select::{Result, Select};
use super::values::{by_view, int_view};
use cranelift::prelude::*;
use cranelift_codegen::ir::{self, InstructionData, Opcode};
use iced_x86::Code;
use regalloc2::{Operand, RegClass, VReg};

/// The number of a rounding mode in an instruction; the inexact flag is left alone.
pub fn rounding(opcode: Opcode) -> Option<u8> {
    match opcode {
        Opcode::Nearest => Some(8),
        Opcode::Floor => Some(9),
        Opcode::Ceil => Some(10),
        Opcode::Trunc => Some(11),
        _ => None,
    }
}

/// A comparison of floats.
type FloatOrder = (FloatCC, [ir::Value; 2]);

impl Select<'_> {
    pub fn integers(&mut self, data: InstructionData, d: VReg, ty: Type) -> Result {
        let opcode = data.opcode();
        match data {
            InstructionData::Binary { args: [x, y], .. } => self.int_binary(opcode, d, ty, x, y),
            InstructionData::Unary { arg, .. } => self.int_unary(opcode, d, ty, arg),
            InstructionData::LoadNoOffset { opcode: Opcode::Bitcast, arg, .. } => {
                let (code, to) = match ty {
                    types::I32 => (Code::VEX_Vmovd_rm32_xmm, View::D),
                    types::I64 => (Code::VEX_Vmovq_rm64_xmm, View::Q),
                    _ => return Err(format!("a cast to {ty}")),
                };
                let x = self.reg(arg)?;
                self.two(code, (d, to), (Source::Reg(x), View::X));
                self.in_register();
                Ok(())
            }
            InstructionData::IntCompare { .. } => self.flag(d, data),
            InstructionData::FloatCompare { args: [x, y], cond, .. } => match cond {
                FloatCC::Equal | FloatCC::NotEqual => self.equality(d, x, y, cond),
                _ => self.flag(d, data),
            },
            InstructionData::Ternary { opcode: Opcode::Select, args: [c, x, y] } => {
                let (x, y) = (self.reg(x)?, self.reg(y)?);
                let mut inst = Inst::new();
                let condition = self.condition(&mut inst, c)?;
                let y = inst.using(y, View::Q);
                let d = inst.reuse(d, y, View::Q);
                let x = inst.source(Source::Reg(x), View::Q);
                inst.step(condition.choose(), &[d, x]);
                self.now.push(inst);
                Ok(())
            }
            _ => Err(format!("{opcode}.{ty}")),
        }
    }

    /// The last instruction takes its operand in a register only.
    fn in_register(&mut self) {
        if let Some(last) = self.now.last_mut()
            && let Some(operand) = last.operands.last_mut()
        {
            *operand = Operand::reg_use(operand.vreg());
        }
    }

    /// A comparison as 0 or 1.
    pub fn flag(&mut self, d: VReg, data: InstructionData) -> Result {
        let mut inst = Inst::new();
        let condition = match data {
            InstructionData::IntCompare { args: [x, y], cond, .. } => self.compare(&mut inst, x, y, cond)?,
            InstructionData::FloatCompare { args, cond, .. } => {
                self.compare_floats(&mut inst, args, cond)?.ok_or("a comparison of floats")?
            }
            InstructionData::Unary { opcode: Opcode::VanyTrue, arg } => self.any_lane(&mut inst, arg)?,
            InstructionData::Unary { opcode: Opcode::VallTrue, arg } => self.all_lanes(&mut inst, arg)?,
            _ => return Err(format!("{}", data.opcode())),
        };
        let d = inst.def(d, View::B);
        inst.step(condition.set(), &[d]);
        self.now.push(inst);
        Ok(())
    }

    /// Equality of floats, which no single flag says.
    fn equality(&mut self, d: VReg, x: ir::Value, y: ir::Value, cond: FloatCC) -> Result {
        let code = match self.ty(x) {
            types::F64 => Code::VEX_Vcmpsd_xmm_xmm_xmmm64_imm8,
            _ => Code::VEX_Vcmpss_xmm_xmm_xmmm32_imm8,
        };
        let (a, b) = (self.reg(x)?, self.source(y)?);
        let t = self.fresh(RegClass::Float);
        self.three_by(code, View::X, t, a, b, if cond == FloatCC::Equal { 0 } else { 4 });
        let mut inst = Inst::new();
        let t = inst.using(t, View::X);
        let d = inst.def(d, View::D);
        inst.step(Code::VEX_Vmovd_rm32_xmm, &[d, t]);
        inst.step(Code::And_rm32_imm8, &[d, Arg::Imm(iced_x86::OpKind::Immediate8to32, 1)]);
        self.now.push(inst);
        Ok(())
    }

    fn int_binary(&mut self, opcode: Opcode, d: VReg, ty: Type, x: ir::Value, y: ir::Value) -> Result {
        let (x, y) = match opcode {
            Opcode::Imul | Opcode::Band | Opcode::Bor | Opcode::Bxor if self.int(x).is_some() => (y, x),
            _ => (x, y),
        };
        let codes = match opcode {
            Opcode::Iadd => return self.sum(d, x, y),
            Opcode::Imul => return self.product(d, x, y),
            Opcode::Isub => [Code::Sub_r64_rm64, Code::Sub_rm64_imm32],
            Opcode::Band => [Code::And_r64_rm64, Code::And_rm64_imm32],
            Opcode::Bor => [Code::Or_r64_rm64, Code::Or_rm64_imm32],
            Opcode::Bxor => [Code::Xor_r64_rm64, Code::Xor_rm64_imm32],
            Opcode::Ishl | Opcode::Ushr | Opcode::Sshr => return self.shift(opcode, d, ty, x, y),
            Opcode::Smin | Opcode::Smax | Opcode::Umin | Opcode::Umax => {
                return self.extremum(opcode, d, ty, x, y);
            }
            Opcode::Sdiv | Opcode::Udiv | Opcode::Srem | Opcode::Urem => {
                return self.division(opcode, d, ty, x, y);
            }
            Opcode::Smulhi | Opcode::Umulhi if ty == types::I64 => {
                return self.high_product(d, opcode == Opcode::Smulhi, x, y);
            }
            Opcode::Smulhi | Opcode::Umulhi if ty == types::I32 => {
                return self.high_of_words(d, opcode == Opcode::Smulhi, x, y);
            }
            _ => return Err(format!("{opcode}.{ty}")),
        };
        let (a, b) = (self.reg(x)?, self.source(y)?);
        let code = if matches!(b, Source::Imm(_)) { codes[1] } else { codes[0] };
        self.onto(code, View::Q, d, a, b);
        Ok(())
    }

    fn sum(&mut self, d: VReg, x: ir::Value, y: ir::Value) -> Result {
        let constant = |v: ir::Value| self.int(v).and_then(|c| i32::try_from(c).ok());
        let (x, y, c) = match (constant(x), constant(y)) {
            (_, Some(c)) => (x, None, c),
            (Some(c), _) => (y, None, c),
            _ => (x, Some(y), 0),
        };
        let base = Some(self.reg(x)?);
        let index = y.map(|y| self.reg(y)).transpose()?.map(|r| (r, 1));
        self.lea(d, super::inst::Address { base, index, offset: c });
        Ok(())
    }

    fn product(&mut self, d: VReg, x: ir::Value, y: ir::Value) -> Result {
        if let Source::Imm(c) = self.source(y)? {
            let reads = [self.operand(x)?, Source::Imm(c)].map(|x| Read::Any(x, View::Q));
            self.make(Code::Imul_r64_rm64_imm32, (d, View::Q), &reads);
            return Ok(());
        }
        let (x, y) = (self.reg(x)?, self.operand(y)?);
        self.onto(Code::Imul_r64_rm64, View::Q, d, x, y);
        Ok(())
    }

    /// A number with all bits of its register as they should be, for what works on more bits than it has.
    fn widened(&mut self, x: ir::Value, signed: bool) -> Result<VReg> {
        if self.ty(x).bytes() >= 4 {
            return self.reg(x);
        }
        let t = self.fresh(RegClass::Int);
        self.extend(t, x, signed)?;
        Ok(t)
    }

    fn shift(&mut self, opcode: Opcode, d: VReg, ty: Type, x: ir::Value, n: ir::Value) -> Result {
        let view = if ty == types::I64 { View::Q } else { View::D };
        let long = view == View::Q;
        let a = if opcode == Opcode::Ishl { self.reg(x)? } else { self.widened(x, opcode == Opcode::Sshr)? };
        let pick = |short, wide| if long { wide } else { short };
        if let Some(n) = self.int(n) {
            let code = match opcode {
                Opcode::Ishl => pick(Code::Shl_rm32_imm8, Code::Shl_rm64_imm8),
                Opcode::Ushr => pick(Code::Shr_rm32_imm8, Code::Shr_rm64_imm8),
                _ => pick(Code::Sar_rm32_imm8, Code::Sar_rm64_imm8),
            };
            self.onto(code, view, d, a, Source::Byte((n as u32 & (ty.bits() - 1)) as u8));
            return Ok(());
        }
        let mut count = self.reg(n)?;
        if ty.bytes() < 4 {
            let masked = self.fresh(RegClass::Int);
            self.onto(Code::And_rm64_imm32, View::Q, masked, count, Source::Imm(ty.bits() as i32 - 1));
            count = masked;
        }
        let code = match opcode {
            Opcode::Ishl => pick(Code::VEX_Shlx_r32_rm32_r32, Code::VEX_Shlx_r64_rm64_r64),
            Opcode::Ushr => pick(Code::VEX_Shrx_r32_rm32_r32, Code::VEX_Shrx_r64_rm64_r64),
            _ => pick(Code::VEX_Sarx_r32_rm32_r32, Code::VEX_Sarx_r64_rm64_r64),
        };
        self.make(code, (d, view), &[Read::Any(Source::Reg(a), view), Read::In(count, view)]);
        Ok(())
    }

    fn extremum(&mut self, opcode: Opcode, d: VReg, ty: Type, x: ir::Value, y: ir::Value) -> Result {
        let view = int_view(ty)?;
        let codes = [Code::Cmp_r8_rm8, Code::Cmp_r16_rm16, Code::Cmp_r32_rm32, Code::Cmp_r64_rm64];
        let condition = match opcode {
            Opcode::Smin => Condition::GREATER,
            Opcode::Smax => Condition::LESS,
            Opcode::Umin => Condition::ABOVE,
            _ => Condition::BELOW,
        };
        let (x, y) = (self.reg(x)?, self.reg(y)?);
        let mut inst = Inst::new();
        let x = inst.using(x, view);
        let d = inst.reuse(d, x, view);
        let y = inst.using(y, view);
        let (Arg::Op(d, _), Arg::Op(y, _)) = (d, y) else { return Err("an operand".into()) };
        inst.step(by_view(view, codes), &[Arg::Op(d, view), Arg::Op(y, view)]);
        inst.step(condition.choose(), &[Arg::Op(d, View::Q), Arg::Op(y, View::Q)]);
        self.now.push(inst);
        Ok(())
    }

    fn division(&mut self, opcode: Opcode, d: VReg, ty: Type, x: ir::Value, y: ir::Value) -> Result {
        const RAX: u8 = 0;
        const RDX: u8 = 2;
        let signed = matches!(opcode, Opcode::Sdiv | Opcode::Srem);
        let long = ty == types::I64;
        let view = if long { View::Q } else { View::D };
        let (a, b) = (self.widened(x, signed)?, self.widened(y, signed)?);
        let other = self.fresh(RegClass::Int);
        let takes_rest = matches!(opcode, Opcode::Srem | Opcode::Urem);
        let (quotient, rest) = if takes_rest { (other, d) } else { (d, other) };
        let mut inst = Inst::new();
        inst.fixed_use(a, general(RAX), view);
        let b = inst.using(b, view);
        inst.fixed_def(quotient, general(RAX), view);
        inst.operands.push(Operand::reg_fixed_def_at_start(rest, general(RDX)));
        let high = Arg::Op(3, View::D);
        let (extend, divide) = match (signed, long) {
            (true, true) => (Code::Cqo, Code::Idiv_rm64),
            (true, false) => (Code::Cdq, Code::Idiv_rm32),
            (false, true) => (Code::Xor_r32_rm32, Code::Div_rm64),
            (false, false) => (Code::Xor_r32_rm32, Code::Div_rm32),
        };
        if signed {
            inst.step(extend, &[])
        } else {
            inst.step(extend, &[high, high])
        }
        inst.step(divide, &[b]);
        self.now.push(inst);
        Ok(())
    }

    fn int_unary(&mut self, opcode: Opcode, d: VReg, ty: Type, x: ir::Value) -> Result {
        match opcode {
            Opcode::Uextend => self.extend(d, x, false),
            Opcode::Sextend => self.extend(d, x, true),
            Opcode::Ineg | Opcode::Bnot => {
                let code = if opcode == Opcode::Ineg { Code::Neg_rm64 } else { Code::Not_rm64 };
                let x = self.reg(x)?;
                let mut inst = Inst::new();
                let x = inst.using(x, View::Q);
                let d = inst.reuse(d, x, View::Q);
                inst.step(code, &[d]);
                self.now.push(inst);
                Ok(())
            }
            Opcode::Bmask => self.all_or_none(d, x),
            Opcode::Iabs => self.absolute(d, ty, x),
            Opcode::Clz | Opcode::Ctz | Opcode::Popcnt if ty.bytes() >= 4 => {
                let view = int_view(ty)?;
                let codes = match opcode {
                    Opcode::Clz => [Code::Lzcnt_r32_rm32, Code::Lzcnt_r64_rm64],
                    Opcode::Ctz => [Code::Tzcnt_r32_rm32, Code::Tzcnt_r64_rm64],
                    _ => [Code::Popcnt_r32_rm32, Code::Popcnt_r64_rm64],
                };
                let x = self.operand(x)?;
                self.two(codes[(ty == types::I64) as usize], (d, view), (x, view));
                Ok(())
            }
            Opcode::FcvtToSintSat => self.truncated(d, ty, x),
            Opcode::VanyTrue | Opcode::VallTrue => self.flag(d, InstructionData::Unary { opcode, arg: x }),
            _ => Err(format!("{opcode}.{ty}")),
        }
    }

    /// All bits if a number is not 0, else none.
    fn all_or_none(&mut self, d: VReg, x: ir::Value) -> Result {
        let mut inst = Inst::new();
        let condition = self.condition(&mut inst, x)?;
        let d = inst.def(d, View::Q);
        let Arg::Op(n, _) = d else { return Err("an operand".into()) };
        inst.step(condition.set(), &[Arg::Op(n, View::B)]);
        inst.step(Code::Movzx_r32_rm8, &[Arg::Op(n, View::D), Arg::Op(n, View::B)]);
        inst.step(Code::Neg_rm64, &[d]);
        self.now.push(inst);
        Ok(())
    }

    /// The upper half of the product of two numbers of 64 bits.
    fn high_product(&mut self, d: VReg, signed: bool, x: ir::Value, y: ir::Value) -> Result {
        let (x, y) = (self.reg(x)?, self.operand(y)?);
        let low = self.fresh(RegClass::Int);
        let mut inst = Inst::new();
        inst.fixed_use(x, general(0), View::Q);
        let y = inst.source(y, View::Q);
        inst.fixed_def(low, general(0), View::Q);
        inst.fixed_def(d, general(2), View::Q);
        inst.step(if signed { Code::Imul_rm64 } else { Code::Mul_rm64 }, &[y]);
        self.now.push(inst);
        Ok(())
    }

    /// The upper half of a product of integers of 32 bits.
    fn high_of_words(&mut self, d: VReg, signed: bool, x: ir::Value, y: ir::Value) -> Result {
        let [a, b, product] = [(); 3].map(|()| self.fresh(RegClass::Int));
        self.extend(a, x, signed)?;
        self.extend(b, y, signed)?;
        self.onto(Code::Imul_r64_rm64, View::Q, product, a, Source::Reg(b));
        self.onto(Code::Shr_rm64_imm8, View::Q, d, product, Source::Byte(32));
        Ok(())
    }

    fn absolute(&mut self, d: VReg, ty: Type, x: ir::Value) -> Result {
        let view = int_view(ty)?;
        let codes = [Code::Neg_rm8, Code::Neg_rm16, Code::Neg_rm32, Code::Neg_rm64];
        let x = self.reg(x)?;
        let mut inst = Inst::new();
        let d = inst.early(d, View::Q);
        let x = inst.using(x, View::Q);
        inst.step(Code::Mov_r64_rm64, &[d, x]);
        let Arg::Op(n, _) = d else { return Err("an operand".into()) };
        inst.step(by_view(view, codes), &[Arg::Op(n, view)]);
        inst.step(Condition::SIGN.choose(), &[d, x]);
        self.now.push(inst);
        Ok(())
    }

    /// A float towards zero; the nearest number of the type, if that is too far away, and 0 of no number.
    fn truncated(&mut self, d: VReg, ty: Type, x: ir::Value) -> Result {
        let from = self.ty(x);
        let long = ty == types::I64;
        if ty.bytes() < 4 {
            return Err(format!("a conversion to {ty}"));
        }
        let limit = (2f64).powi(ty.bits() as i32 - 1);
        let convert = match (from, long) {
            (types::F32, false) => Code::VEX_Vcvttss2si_r32_xmmm32,
            (types::F32, true) => Code::VEX_Vcvttss2si_r64_xmmm32,
            (_, false) => Code::VEX_Vcvttsd2si_r32_xmmm64,
            (_, true) => Code::VEX_Vcvttsd2si_r64_xmmm64,
        };
        let (compare, limit) = match from {
            types::F32 => (Code::VEX_Vucomiss_xmm_xmmm32, self.constant(&(limit as f32).to_le_bytes())),
            _ => (Code::VEX_Vucomisd_xmm_xmmm64, self.constant(&limit.to_le_bytes())),
        };
        let limit = Arg::Pool(limit);
        let most = if long { i64::MAX } else { i32::MAX as i64 };
        let most = Arg::Pool(self.constant(&most.to_le_bytes()));
        let zero = Arg::Pool(self.constant(&[0; 8]));
        let x = self.reg(x)?;
        let mut inst = Inst::new();
        let d = inst.early(d, if long { View::Q } else { View::D });
        let x = inst.using(x, View::X);
        let Arg::Op(n, _) = d else { return Err("an operand".into()) };
        let whole = Arg::Op(n, View::Q);
        inst.step(convert, &[d, x]);
        inst.step(compare, &[x, limit]);
        inst.step(Condition::NOT_BELOW.choose(), &[whole, most]);
        inst.step(compare, &[x, x]);
        inst.step(Condition::PARITY.choose(), &[whole, zero]);
        self.now.push(inst);
        Ok(())
    }

    pub fn floats(&mut self, data: InstructionData, d: VReg, ty: Type) -> Result {
        let opcode = data.opcode();
        let double = ty == types::F64;
        match data {
            InstructionData::Binary { args: [x, y], .. } => {
                let code = match (opcode, double) {
                    (Opcode::Fadd, false) => Code::VEX_Vaddss_xmm_xmm_xmmm32,
                    (Opcode::Fadd, true) => Code::VEX_Vaddsd_xmm_xmm_xmmm64,
                    (Opcode::Fsub, false) => Code::VEX_Vsubss_xmm_xmm_xmmm32,
                    (Opcode::Fsub, true) => Code::VEX_Vsubsd_xmm_xmm_xmmm64,
                    (Opcode::Fmul, false) => Code::VEX_Vmulss_xmm_xmm_xmmm32,
                    (Opcode::Fmul, true) => Code::VEX_Vmulsd_xmm_xmm_xmmm64,
                    (Opcode::Fdiv, false) => Code::VEX_Vdivss_xmm_xmm_xmmm32,
                    (Opcode::Fdiv, true) => Code::VEX_Vdivsd_xmm_xmm_xmmm64,
                    _ => return Err(format!("{opcode}.{ty}")),
                };
                let (x, y) = (self.reg(x)?, self.source(y)?);
                self.three(code, View::X, d, x, y);
                Ok(())
            }
            InstructionData::Ternary { opcode: Opcode::Select, args } => self.choose(d, ty, args),
            InstructionData::Ternary { opcode: Opcode::Fma, args: [x, y, z] } => {
                let codes = [Code::VEX_Vfmadd213ss_xmm_xmm_xmmm32, Code::VEX_Vfmadd213sd_xmm_xmm_xmmm64];
                self.fused(codes[double as usize], View::X, d, [x, y, z])
            }
            InstructionData::LoadNoOffset { opcode: Opcode::Bitcast, arg, .. } => {
                let (code, from) = if double {
                    (Code::VEX_Vmovq_xmm_rm64, View::Q)
                } else {
                    (Code::VEX_Vmovd_xmm_rm32, View::D)
                };
                let x = Source::Reg(self.reg(arg)?);
                self.two(code, (d, View::X), (x, from));
                Ok(())
            }
            InstructionData::Unary { arg, .. } => self.float_unary(opcode, d, ty, arg),
            _ => Err(format!("{opcode}.{ty}")),
        }
    }

    /// `d = x * y + z`, rounded once.
    pub fn fused(&mut self, code: Code, view: View, d: VReg, [x, y, z]: [ir::Value; 3]) -> Result {
        let (x, y, z) = (self.reg(x)?, self.reg(y)?, self.source(z)?);
        let mut inst = Inst::new();
        let x = inst.using(x, view);
        let d = inst.reuse(d, x, view);
        let y = inst.using(y, view);
        let z = inst.source(z, view);
        inst.step(code, &[d, y, z]);
        self.now.push(inst);
        Ok(())
    }

    /// A choice by one bool between what is in vector registers: the less or greater of two floats, a blend by what a comparison of floats gives, or a
    /// jump over a move.
    pub fn choose(&mut self, d: VReg, ty: Type, [c, x, y]: [ir::Value; 3]) -> Result {
        if let Some(compared) = self.order_of_floats(c, ty) {
            return self.choose_float(d, compared, [x, y]);
        }
        let view = self.view(ty);
        let (x, y) = (self.reg(x)?, self.reg(y)?);
        let mut inst = Inst::new();
        let condition = self.condition(&mut inst, c)?;
        let y = inst.using(y, view);
        let d = inst.reuse(d, y, view);
        let x = inst.using(x, view);
        inst.steps.push(Step::Skip(condition.inverse().jump()));
        inst.step(super::codes::MOVUPS.at(view).unwrap_or(Code::VEX_Vmovups_xmm_xmmm128), &[d, x]);
        self.now.push(inst);
        Ok(())
    }

    /// The comparison that a choice between floats depends on, if it is one of the same type that asks for an order. Whether numbers are NaN is
    /// foreseen well enough for a jump.
    fn order_of_floats(&self, c: ir::Value, ty: Type) -> Option<FloatOrder> {
        match self.definition(c).filter(|_| self.is_here(c)) {
            Some(InstructionData::FloatCompare { args, cond, .. }) if self.ty(args[0]) == ty => {
                (!matches!(cond, FloatCC::Unordered | FloatCC::Ordered)).then_some((cond, args))
            }
            _ => None,
        }
    }

    /// `d = cond a b ? x : y` for floats: the less or greater of two, or a blend. Nobody foresees which it will be.
    fn choose_float(&mut self, d: VReg, (cond, [a, b]): FloatOrder, [x, y]: [ir::Value; 2]) -> Result {
        let double = self.ty(a) == types::F64;
        let [r, s, first, second] = [a, b, x, y].map(|v| self.root(v));
        let is_strict = matches!(cond, FloatCC::LessThan | FloatCC::GreaterThan);
        let is_max = match (first, second) {
            chosen if is_strict && chosen == (r, s) => Some(cond == FloatCC::GreaterThan),
            chosen if is_strict && chosen == (s, r) => Some(cond == FloatCC::LessThan),
            _ => None,
        };
        let code = match (is_max, double) {
            (Some(false), false) => Code::VEX_Vminss_xmm_xmm_xmmm32,
            (Some(false), true) => Code::VEX_Vminsd_xmm_xmm_xmmm64,
            (Some(true), false) => Code::VEX_Vmaxss_xmm_xmm_xmmm32,
            (Some(true), true) => Code::VEX_Vmaxsd_xmm_xmm_xmmm64,
            (None, false) => Code::VEX_Vcmpss_xmm_xmm_xmmm32_imm8,
            (None, true) => Code::VEX_Vcmpsd_xmm_xmm_xmmm64_imm8,
        };
        if is_max.is_some() {
            let (x, y) = (self.reg(x)?, self.source(y)?);
            self.three(code, View::X, d, x, y);
            return Ok(());
        }
        let (a, b) = (self.reg(a)?, self.source(b)?);
        let mask = self.fresh(RegClass::Float);
        self.three_by(code, View::X, mask, a, b, super::compare::predicate(cond));
        let (x, y) = (self.reg(x)?, self.reg(y)?);
        let blend = [Code::VEX_Vblendvps_xmm_xmm_xmmm128_xmm, Code::VEX_Vblendvpd_xmm_xmm_xmmm128_xmm];
        self.of_registers(blend[double as usize], View::X, d, [y, x, mask]);
        Ok(())
    }

    fn float_unary(&mut self, opcode: Opcode, d: VReg, ty: Type, x: ir::Value) -> Result {
        let double = ty == types::F64;
        if let Some(mode) = rounding(opcode) {
            let codes = [Code::VEX_Vroundss_xmm_xmm_xmmm32_imm8, Code::VEX_Vroundsd_xmm_xmm_xmmm64_imm8];
            let x = self.reg(x)?;
            self.three_by(codes[double as usize], View::X, d, x, Source::Reg(x), mode);
            return Ok(());
        }
        let code = match opcode {
            Opcode::Fneg | Opcode::Fabs => {
                let (code, mask) = self.sign(opcode, ty, 16);
                let x = self.reg(x)?;
                let code = code.at(View::X).ok_or("a change of sign")?;
                self.three(code, View::X, d, x, mask);
                return Ok(());
            }
            Opcode::FcvtFromSint | Opcode::FcvtFromUint => return self.converted(opcode, d, double, x),
            Opcode::Sqrt if double => Code::VEX_Vsqrtsd_xmm_xmm_xmmm64,
            Opcode::Sqrt => Code::VEX_Vsqrtss_xmm_xmm_xmmm32,
            Opcode::Fpromote => Code::VEX_Vcvtss2sd_xmm_xmm_xmmm32,
            Opcode::Fdemote => Code::VEX_Vcvtsd2ss_xmm_xmm_xmmm64,
            _ => return Err(format!("{opcode}.{ty}")),
        };
        let x = self.reg(x)?;
        self.three(code, View::X, d, x, Source::Reg(x));
        Ok(())
    }

    /// The operator and the mask that change signs.
    pub fn sign(&mut self, opcode: Opcode, lane: Type, bytes: usize) -> (super::codes::Row, Source) {
        let sign: Vec<u8> = match lane {
            types::F64 => (1u64 << 63).to_le_bytes().to_vec(),
            _ => (1u32 << 31).to_le_bytes().to_vec(),
        };
        let (row, lane) = match opcode {
            Opcode::Fneg => (super::codes::XOR, sign),
            _ => (super::codes::AND, sign.iter().map(|b| !b).collect()),
        };
        let at = self.constant(&lane.repeat(bytes / lane.len()));
        (row, Source::Pool(at))
    }

    fn converted(&mut self, opcode: Opcode, d: VReg, double: bool, x: ir::Value) -> Result {
        let unsigned = opcode == Opcode::FcvtFromUint;
        let ty = self.ty(x);
        if unsigned && ty == types::I64 {
            return Err("a conversion from 64 bits without a sign".into());
        }
        let (x, long) = if ty.bytes() < 4 || unsigned {
            let t = self.fresh(RegClass::Int);
            self.extend(t, x, !unsigned)?;
            (t, true)
        } else {
            (self.reg(x)?, ty == types::I64)
        };
        let code = match (double, long) {
            (false, false) => Code::VEX_Vcvtsi2ss_xmm_xmm_rm32,
            (false, true) => Code::VEX_Vcvtsi2ss_xmm_xmm_rm64,
            (true, false) => Code::VEX_Vcvtsi2sd_xmm_xmm_rm32,
            (true, true) => Code::VEX_Vcvtsi2sd_xmm_xmm_rm64,
        };
        let mut inst = Inst::new();
        let d = inst.def(d, View::X);
        let x = inst.source(Source::Reg(x), if long { View::Q } else { View::D });
        // The old value of the register does not matter.
        inst.step(Code::VEX_Vxorps_xmm_xmm_xmmm128, &[d, d, d]);
        inst.step(code, &[d, d, x]);
        self.now.push(inst);
        Ok(())
    }
}
