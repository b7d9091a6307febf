//! Gathers: elements at indices of 64 bits, where a mask says so.
//!
//! Cranelift has no operator for them. In its IR one is a call of a function that nobody defines, which is selected as the
//! processor's instruction:
//!
//! ```text
//! v4 = call gather(v1, v2, v3)     v4[l] = element v2[l] of the array at v1, if v3[l] is set, else 0
//! ```
//!
//! Of elements of 32 bits there are half as many bytes as of indices, in the lower half of the result.

use super::codes;
use super::inst::{Address, Arg, Inst, Source, View};
use super::select::{Select, Unsupported};
use super::shuffle::EVEN;
use crate::cpu::emit::Emitter;
use cranelift::prelude::*;
use cranelift_codegen::ir::{self, ExtFuncData, ExternalName};
use cranelift_codegen::isa::CallConv;
use iced_x86::Code;
use regalloc2::{RegClass, VReg};

const NAME: &str = "gather";

/// True if a function is the one that stands for gathers.
pub fn is_gather(name: &ExternalName) -> bool {
    matches!(name, ExternalName::TestCase(name) if name.raw() == NAME.as_bytes())
}

impl Emitter<'_> {
    /// The elements of type `ty` at these indices of an array, in the lanes of a mask. There is code with wide vectors only.
    pub fn gather(&mut self, array: Value, indices: Value, mask: Value, ty: Type) -> Value {
        let mut signature = Signature::new(CallConv::SystemV);
        signature.params.extend([types::I64, types::I64X2, types::I64X2].map(AbiParam::new));
        signature.returns.push(AbiParam::new(ty));
        let signature = self.b.import_signature(signature);
        let name = ExternalName::testcase(NAME);
        let function = ExtFuncData { name, signature, colocated: false, patchable: false };
        let function = self.b.import_function(function);
        let call = self.b.ins().call(function, &[array, indices, mask]);
        self.b.inst_results(call)[0]
    }
}

impl Select<'_> {
    pub fn gather(&mut self, inst: ir::Inst) -> Result<(), Unsupported> {
        let [array, indices, mask] = self.func.dfg.inst_args(inst) else { return Err("a gather".into()) };
        let (array, indices, mask) = (*array, *indices, *mask);
        let result = self.func.dfg.first_result(inst);
        let lane = self.ty(result).lane_type().bytes();
        let d = self.of(result);
        let address =
            Address { base: Some(self.reg(array)?), index: Some((self.reg(indices)?, lane)), offset: 0 };
        if self.width == 64 {
            let mask = self.mask(mask, 8)?;
            self.gather_under(d, address, mask, lane);
            return Ok(());
        }
        let (code, view, mask) = match lane {
            4 => (Code::VEX_Vgatherqps_xmm_vm64y_xmm, View::X, self.narrow_mask(mask)?),
            _ => (Code::VEX_Vgatherqpd_ymm_vm64y_ymm, View::Y, self.reg(mask)?),
        };
        let mut inst = Inst::new();
        let to = cleared(&mut inst, d, view);
        let mask = inst.using(mask, view);
        inst.reuse(self.fresh(RegClass::Float), mask, view);
        let from = inst.memory(address);
        inst.step(code, &[to, from, mask]);
        self.now.push(inst);
        Ok(())
    }

    /// With a bit for each lane, which is cleared when its element is there.
    fn gather_under(&mut self, d: VReg, address: Address, mask: VReg, lane: u32) {
        let (code, view) = match lane {
            4 => (Code::EVEX_Vgatherqps_ymm_k1_vm64z, View::Y),
            _ => (Code::EVEX_Vgatherqpd_zmm_k1_vm64z, View::Z),
        };
        let mut inst = Inst::new();
        let to = cleared(&mut inst, d, view);
        let under = inst.under(mask);
        let Arg::Under(at) = under else { unreachable!("a mask to work under") };
        inst.reuse(self.fresh(RegClass::Vector), Arg::Op(at, View::K), View::K);
        let from = inst.memory(address);
        inst.step(code, &[to, from, under]);
        self.now.push(inst);
    }

    /// The mask with lanes of 32 bits of one of 256 bits.
    fn narrow_mask(&mut self, mask: ir::Value) -> Result<VReg, Unsupported> {
        let mask = self.reg(mask)?;
        let (upper, narrow) = (self.upper(mask, types::I32X4), self.fresh(RegClass::Float));
        let code = codes::SHUFPS.at(View::X).ok_or("a shuffle")?;
        self.three_by(code, View::X, narrow, mask, Source::Reg(upper), EVEN);
        Ok(narrow)
    }
}

/// A result that is 0 where nothing is gathered, in a register of its own.
fn cleared(inst: &mut Inst, d: VReg, view: View) -> Arg {
    let to = inst.early(d, view);
    let Arg::Op(at, _) = to else { unreachable!("a register") };
    let x = Arg::Op(at, View::X);
    inst.step(Code::VEX_Vxorps_xmm_xmm_xmmm128, &[x, x, x]);
    to
}
