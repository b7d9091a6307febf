//! Operators of wide vectors that Cranelift does not have: gathers, operators under masks, reversals, and shifts of every lane by
//! a count of its own.
//!
//! In Cranelift's IR one is a call of a function that nobody defines, which is selected as the processor's instruction:
//!
//! ```text
//! v4 = call gather(v1, v2, v3)     v4[l] = element v2[l] of the array at v1, if v3[l] is set, else 0
//! call store_under(v1, v2, v3)     element l at v1 = v3[l], if v2[l] is set
//! v4 = call load_under(v1, v2)     v4[l] = element l at v1, if v2[l] is set, else 0
//! v4 = call reverse(v1)            v4[l] = v1[n - 1 - l]
//! v4 = call bits(v1)               bit l of v4 is set if v1[l] is
//! v4 = call compress(v1, v2)       v4[0], v4[1], … are those v1[l] for which v2[l] is set
//! v4 = call permute(v1, v2, c)     lane l of 32 bits of v4 is lane c[l] of those of v1 and v2, one after the other; c is a constant
//! v4 = call swizzle(v1, c)         of each 16 bytes, byte l of v4 is byte c[l] of v1, or 0 if that is above 127; c is a constant
//! v4 = call swizzle_first(v1, c)   the same of the first 16 bytes
//! v4 = call left(v1, v2)           v4[l] = v1[l] << v2[l], 0 if the count is the width of a lane or more
//! ```
//!
//! Indices and masks of gathers have 64 bits; of elements of 32 bits there are half as many bytes, in the lower half of the result. Or
//! indices, masks and elements have 32 bits.
//! Other masks have the lanes of the values, of 32 or 64 bits.

use super::codes::{self, Row};
use super::inst::{Address, Arg, Inst, Source, View};
use super::select::{Result, Select};
use super::shuffle::EVEN;
use crate::cpu::emit::Emitter;
use cranelift::prelude::*;
use cranelift_codegen::ir::{self, ExtFuncData, ExternalName};
use cranelift_codegen::isa::CallConv;
use iced_x86::Code;
use regalloc2::{RegClass, VReg};

const GATHER: &str = "gather";
const STORE_UNDER: &str = "store_under";
const LOAD_UNDER: &str = "load_under";
const REVERSE: &str = "reverse";
const BITS: &str = "bits";
const COMPRESS: &str = "compress";
const PERMUTE: &str = "permute";
const SWIZZLE: &str = "swizzle";
const SWIZZLE_FIRST: &str = "swizzle_first";

/// A shift of every lane by a count of its own, which is an unsigned number.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum LaneShift {
    Left,
    Right,
    RightSigned,
}

impl LaneShift {
    const ALL: [LaneShift; 3] = [LaneShift::Left, LaneShift::Right, LaneShift::RightSigned];

    fn name(self) -> &'static str {
        match self {
            LaneShift::Left => "left",
            LaneShift::Right => "right",
            LaneShift::RightSigned => "right_signed",
        }
    }

    fn row(self, lane: u32) -> Row {
        match (self, lane) {
            (LaneShift::Left, 4) => codes::PSLLVD,
            (LaneShift::Left, _) => codes::PSLLVQ,
            (LaneShift::Right, 4) => codes::PSRLVD,
            (LaneShift::Right, _) => codes::PSRLVQ,
            (LaneShift::RightSigned, 4) => codes::PSRAVD,
            (LaneShift::RightSigned, _) => codes::PSRAVQ,
        }
    }
}

impl Emitter<'_> {
    /// The elements of type `ty` at these indices of an array, in the lanes of a mask. There is code with wide vectors only.
    pub fn gather(&mut self, array: Value, indices: Value, mask: Value, ty: Type) -> Value {
        self.operator_of_wide(GATHER, &[array, indices, mask], Some(ty))[0]
    }

    /// Stores the lanes of a mask at an address. There is code with wide vectors only.
    pub fn store_under(&mut self, address: Value, mask: Value, x: Value) {
        self.operator_of_wide(STORE_UNDER, &[address, mask, x], None);
    }

    /// Neighbouring elements of type `ty` from an address on, of 32 or 64 bits, in the lanes of a mask. There is code with wide vectors only.
    pub fn load_under(&mut self, address: Value, mask: Value, ty: Type) -> Value {
        self.operator_of_wide(LOAD_UNDER, &[address, mask], Some(ty))[0]
    }

    /// The lanes of a register in reverse order. There is code with wide vectors only.
    pub fn reverse(&mut self, x: Value) -> Value {
        let ty = self.b.func.dfg.value_type(x);
        self.operator_of_wide(REVERSE, &[x], Some(ty))[0]
    }

    /// Lanes shifted by as many counts. There is code with wide vectors only.
    pub fn shift_lanes(&mut self, shift: LaneShift, x: Value, counts: Value) -> Value {
        let ty = self.b.func.dfg.value_type(x);
        self.operator_of_wide(shift.name(), &[x, counts], Some(ty))[0]
    }

    /// A bit for each lane of a mask, in an `i64`. There is code with wide vectors only.
    pub fn bits(&mut self, mask: Value) -> Value {
        self.operator_of_wide(BITS, &[mask], Some(types::I64))[0]
    }

    /// The lanes of a mask one after the other. There is code with wide vectors only.
    pub fn compress(&mut self, x: Value, mask: Value) -> Value {
        let ty = self.b.func.dfg.value_type(x);
        self.operator_of_wide(COMPRESS, &[x, mask], Some(ty))[0]
    }

    /// Lanes of 32 bits of two registers: those of the second are numbered on from those of the first. There is code with wide vectors only.
    pub fn permute(&mut self, x: Value, y: Value, order: &[u32]) -> Value {
        let ty = self.b.func.dfg.value_type(x);
        let bytes: Vec<u8> = order.iter().flat_map(|l| l.to_le_bytes()).collect();
        let constant = self.b.func.dfg.constants.insert(bytes.into());
        let order = self.b.ins().vconst(types::I32X4, constant);
        self.operator_of_wide(PERMUTE, &[x, y, order], Some(ty))[0]
    }

    /// The bytes of each 128 bits in an order, where that is above 127 zeros; or of the first ones only, and anything above them. There is code
    /// with wide vectors only.
    pub fn swizzle(&mut self, x: Value, order: [u8; 16], only_first: bool) -> Value {
        let name = if only_first { SWIZZLE_FIRST } else { SWIZZLE };
        let ty = self.b.func.dfg.value_type(x);
        let constant = self.b.func.dfg.constants.insert(order.to_vec().into());
        let order = self.b.ins().vconst(types::I8X16, constant);
        self.operator_of_wide(name, &[x, order], Some(ty))[0]
    }

    fn operator_of_wide(&mut self, name: &str, args: &[Value], result: Option<Type>) -> Vec<Value> {
        let mut signature = Signature::new(CallConv::SystemV);
        let types = args.iter().map(|a| AbiParam::new(self.b.func.dfg.value_type(*a)));
        signature.params.extend(types);
        signature.returns.extend(result.map(AbiParam::new));
        let signature = self.b.import_signature(signature);
        let name = ExternalName::testcase(name);
        let function = ExtFuncData { name, signature, colocated: false, patchable: false };
        let function = self.b.import_function(function);
        let call = self.b.ins().call(function, args);
        self.b.inst_results(call).to_vec()
    }
}

impl Select<'_> {
    /// An operator by its name.
    pub fn own_operator(&mut self, inst: ir::Inst, name: &[u8]) -> Result {
        let args = self.func.dfg.inst_args(inst).to_vec();
        if let (STORE_UNDER, [address, mask, x]) = (std::str::from_utf8(name).unwrap_or(""), &args[..]) {
            return self.store_lanes([*address, *mask, *x]);
        }
        let result = self.func.dfg.first_result(inst);
        let (d, ty) = (self.of(result), self.ty(result));
        let shift = LaneShift::ALL.into_iter().find(|s| s.name().as_bytes() == name);
        match (shift, args.as_slice()) {
            (Some(shift), [x, counts]) => self.apply(shift.row(ty.lane_type().bytes()), d, ty, [*x, *counts]),
            (None, [x]) if name == BITS.as_bytes() => self.bits_of_mask(d, *x),
            (None, [x]) => self.reverse_lanes(d, *x),
            (None, [x, order]) if name == SWIZZLE.as_bytes() => self.swizzle(d, *x, *order, self.width),
            (None, [x, order]) if name == SWIZZLE_FIRST.as_bytes() => self.swizzle(d, *x, *order, 16),
            (None, [address, mask]) if name == LOAD_UNDER.as_bytes() => self.load_lanes(d, *address, *mask),
            (None, [x, mask]) => self.compress(d, *x, *mask),
            (None, [x, y, order]) if name == PERMUTE.as_bytes() => self.permute(d, [*x, *y], *order),
            (None, [array, indices, mask]) => {
                self.gather(d, ty.lane_type().bytes(), [*array, *indices, *mask])
            }
            _ => Err("a function that nobody defines".into()),
        }
    }

    fn gather(&mut self, d: VReg, lane: u32, [array, indices, mask]: [Value; 3]) -> Result {
        let is_short = self.ty(indices).lane_type() == types::I32;
        let (array, indices) = (self.reg(array)?, self.reg(indices)?);
        let address = Address { base: Some(array), index: Some((indices, lane)), offset: 0 };
        if self.width == 64 {
            let mask = self.mask(mask, if is_short { 4 } else { 8 })?;
            let (code, view) = match (is_short, lane) {
                (true, _) => (Code::EVEX_Vgatherdps_zmm_k1_vm32z, View::Z),
                (_, 4) => (Code::EVEX_Vgatherqps_ymm_k1_vm64z, View::Y),
                _ => (Code::EVEX_Vgatherqpd_zmm_k1_vm64z, View::Z),
            };
            self.gather_under(d, address, mask, (code, view));
            return Ok(());
        }
        let (code, view, mask) = match lane {
            4 if is_short => (Code::VEX_Vgatherdps_ymm_vm32y_ymm, View::Y, self.reg(mask)?),
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
    fn gather_under(&mut self, d: VReg, address: Address, mask: VReg, (code, view): (Code, View)) {
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
    fn narrow_mask(&mut self, mask: ir::Value) -> Result<VReg> {
        let mask = self.reg(mask)?;
        let (upper, narrow) = (self.upper(mask, types::I32X4), self.fresh(RegClass::Float));
        let code = codes::SHUFPS.at(View::X).ok_or("a shuffle")?;
        self.three_by(code, View::X, narrow, mask, Source::Reg(upper), EVEN);
        Ok(narrow)
    }
}

/// A result that is 0 where nothing is gathered or loaded, in a register of its own.
pub fn cleared(inst: &mut Inst, d: VReg, view: View) -> Arg {
    let to = inst.early(d, view);
    let Arg::Op(at, _) = to else { unreachable!("a register") };
    let x = Arg::Op(at, View::X);
    inst.step(Code::VEX_Vxorps_xmm_xmm_xmmm128, &[x, x, x]);
    to
}
