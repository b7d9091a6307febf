//! Loads, stores and calls.

use super::codes;
use super::inst::{ARGUMENTS, Address, Inst, Source, Step, View, general, vector};
use super::select::{Result, Select};
use super::values::{class, int_view};
use cranelift::prelude::*;
use cranelift_codegen::ir::{self, ExternalName, FuncRef, Opcode};
use cranelift_codegen::isa::CallConv;
use iced_x86::Code;
use regalloc2::{RegClass, VReg};

impl Select<'_> {
    pub fn load(&mut self, opcode: Opcode, ty: Type, d: VReg, pointer: ir::Value, offset: i32) -> Result {
        let address = self.address(pointer, offset)?;
        let code = match (opcode, ty) {
            (Opcode::Load, types::I8) | (Opcode::Uload8, _) => Code::Movzx_r32_rm8,
            (Opcode::Load, types::I16) | (Opcode::Uload16, _) => Code::Movzx_r32_rm16,
            (Opcode::Load, types::I32) | (Opcode::Uload32, _) => Code::Mov_r32_rm32,
            (Opcode::Load, types::I64) => Code::Mov_r64_rm64,
            (Opcode::Sload8, _) => Code::Movsx_r64_rm8,
            (Opcode::Sload16, _) => Code::Movsx_r64_rm16,
            (Opcode::Sload32, _) => Code::Movsxd_r64_rm32,
            (Opcode::Load, ty) => load_code(ty, self.view(ty))?,
            _ => return Err(format!("{opcode}")),
        };
        let view = match (opcode, ty) {
            (Opcode::Sload8 | Opcode::Sload16 | Opcode::Sload32, _) | (Opcode::Load, types::I64) => View::Q,
            _ if class(ty) == RegClass::Int => View::D,
            _ => self.view(ty),
        };
        self.two(code, (d, view), (Source::Mem(address), view));
        Ok(())
    }

    pub fn store(&mut self, opcode: Opcode, [x, pointer]: [ir::Value; 2], offset: i32) -> Result {
        let address = self.address(pointer, offset)?;
        let ty = self.ty(x);
        let (code, view) = match (opcode, ty) {
            (Opcode::Store, types::I8) | (Opcode::Istore8, _) => (Code::Mov_rm8_r8, View::B),
            (Opcode::Store, types::I16) | (Opcode::Istore16, _) => (Code::Mov_rm16_r16, View::W),
            (Opcode::Store, types::I32) | (Opcode::Istore32, _) => (Code::Mov_rm32_r32, View::D),
            (Opcode::Store, types::I64) => (Code::Mov_rm64_r64, View::Q),
            (Opcode::Store, types::F32) => (Code::VEX_Vmovss_m32_xmm, View::X),
            (Opcode::Store, types::F64) => (Code::VEX_Vmovsd_m64_xmm, View::X),
            (Opcode::Store, ty) => {
                let view = self.view(ty);
                (codes::MOVUPS_TO.at(view).ok_or_else(|| format!("a store of {ty}"))?, view)
            }
            _ => return Err(format!("{opcode}")),
        };
        let x = self.reg(x)?;
        let mut inst = Inst::new();
        let m = inst.memory(address);
        let x = inst.using(x, view);
        inst.step(code, &[m, x]);
        self.now.push(inst);
        Ok(())
    }

    pub fn lea(&mut self, d: VReg, address: Address) {
        self.two(Code::Lea_r64_m, (d, View::Q), (Source::Mem(address), View::Q));
    }

    pub fn call(&mut self, inst: ir::Inst, func_ref: FuncRef) -> Result {
        let callee = &self.func.dfg.ext_funcs[func_ref];
        if let ExternalName::TestCase(name) = &callee.name {
            return self.own_operator(inst, name.raw());
        }
        let signature = &self.func.dfg.signatures[callee.signature];
        let ExternalName::User(name) = callee.name else { return Err("a call of no function".into()) };
        let results = self.func.dfg.inst_results(inst).to_vec();
        if signature.call_conv != CallConv::SystemV || results.len() > 1 {
            return Err("a call with more than one result".into());
        }
        let near = callee.colocated;
        let extensions: Vec<ir::ArgumentExtension> = signature.params.iter().map(|p| p.extension).collect();
        let args = self.func.dfg.inst_args(inst).to_vec();
        let (mut general_at, mut vector_at) = (0, 0);
        let mut call = Inst::new();
        call.calls = true;
        for (x, extension) in args.into_iter().zip(extensions) {
            let r = self.extended(x, extension)?;
            if r.class() == RegClass::Int {
                let at = *ARGUMENTS.get(general_at).ok_or("a call with many arguments")?;
                call.fixed_use(r, general(at), View::Q);
                general_at += 1;
            } else {
                call.fixed_use(r, vector(vector_at), View::X);
                vector_at += 1;
            }
        }
        if vector_at > 8 {
            return Err("a call with many arguments".into());
        }
        for x in results {
            let r = self.of(x);
            let at = if r.class() == RegClass::Int { general(0) } else { vector(0) };
            call.fixed_def(r, at, View::Q);
        }
        call.steps.push(Step::Call { name: name.as_u32(), near });
        self.now.push(call);
        Ok(())
    }

    /// A value as it is passed.
    pub fn extended(&mut self, x: ir::Value, extension: ir::ArgumentExtension) -> Result<VReg> {
        let ty = self.ty(x);
        match extension {
            ir::ArgumentExtension::None => self.reg(x),
            _ if ty.bytes() >= 4 => self.reg(x),
            extension => {
                let d = self.fresh(RegClass::Int);
                self.extend(d, x, extension == ir::ArgumentExtension::Sext)?;
                Ok(d)
            }
        }
    }

    /// A number of 64 bits of a shorter one.
    pub fn extend(&mut self, d: VReg, x: ir::Value, signed: bool) -> Result {
        let view = int_view(self.ty(x))?;
        let code = match (view, signed) {
            (View::B, true) => Code::Movsx_r64_rm8,
            (View::B, false) => Code::Movzx_r32_rm8,
            (View::W, true) => Code::Movsx_r64_rm16,
            (View::W, false) => Code::Movzx_r32_rm16,
            (View::D, true) => Code::Movsxd_r64_rm32,
            (View::D, false) => Code::Mov_r32_rm32,
            _ => Code::Mov_r64_rm64,
        };
        let to = if signed || view == View::Q { View::Q } else { View::D };
        let x = Source::Reg(self.reg(x)?);
        self.two(code, (d, to), (x, view));
        Ok(())
    }
}

/// A load into a vector register.
pub fn load_code(ty: Type, view: View) -> Result<Code> {
    match ty {
        types::F32 => Ok(Code::VEX_Vmovss_xmm_m32),
        types::F64 => Ok(Code::VEX_Vmovsd_xmm_m64),
        _ if ty.is_vector() => codes::MOVUPS.at(view).ok_or_else(|| format!("a load of {ty}")),
        _ => Err(format!("a load of {ty}")),
    }
}
