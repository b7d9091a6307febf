//! Machine code with vectors of 256 and 512 bits, which Cranelift does not have.
//!
//! ```text
//! Cranelift's IR, vectors of any width
//!   -> Cranelift's optimiser: common subexpressions, loop-invariant code, constants
//!   -> `select`: machine instructions on virtual registers      (`values`, `access`, `conditions`, `scalar`, `vectors`, …)
//!   -> `alloc`: registers and spill slots, by regalloc2
//!   -> `encode`: bytes, by iced-x86; constants behind the code
//! ```
//!
//! In its input a type of 128 bits stands for a whole register, one of 64 or 32 bits for a half or a quarter of it: operators on
//! whole registers do not mind how many lanes there are, and Cranelift's optimiser has rules for these types only. Lanes are counted
//! as the register has them, constants have the register's bytes, and the 16 bytes of a `shuffle` stand for as many parts of a
//! register.
//!
//! It knows what kernels in lanes are made of. A function with anything else is left to Cranelift, with vectors of 128 bits. All
//! operators are the same to the bit at every width.

mod access;
mod alloc;
mod codes;
mod compare;
mod conditions;
mod encode;
mod inst;
mod masked;
mod masks;
mod own;
mod resize;
mod scalar;
mod select;
mod shapes;
mod shuffle;
mod values;
mod vectors;

use super::lanes::BYTES;
use cranelift_codegen::Context;
use cranelift_codegen::binemit::Reloc;
use cranelift_codegen::control::ControlPlane;
use cranelift_codegen::isa::{CallConv, OwnedTargetIsa, TargetIsa};
use cranelift_codegen::settings::{self, Configurable};
use cranelift_module::{FuncId, Module, ModuleReloc, ModuleRelocTarget};
pub use own::LaneShift;
use select::Result;

/// Compiles functions with wide vectors; what is kept from one to the next.
pub struct Wide {
    width: usize,
    allocation: regalloc2::Ctx,
    isa: Option<OwnedTargetIsa>,
}

impl Wide {
    /// For the processor of an instruction set, with what it has.
    pub fn new(isa: &dyn TargetIsa) -> Wide {
        let width = width(isa);
        let isa = if width > BYTES { unverified(isa) } else { None };
        Wide { width: if isa.is_some() { width } else { BYTES }, allocation: regalloc2::Ctx::default(), isa }
    }

    /// Bytes of the widest vectors: those that Cranelift has too, if this processor has no others.
    pub fn width(&self) -> usize {
        self.width
    }

    /// Compiles a function whose vectors have `width` bytes.
    pub fn define(
        &mut self,
        module: &mut dyn Module,
        id: FuncId,
        context: &mut Context,
        width: usize,
    ) -> Result {
        let isa = self.isa.as_deref().ok_or("wide vectors")?;
        context.optimize(isa, &mut ControlPlane::default()).map_err(|e| format!("{e:?}"))?;
        let code = select::select(context, width)?;
        let view = alloc::View::new(&code);
        let checks = cfg!(debug_assertions);
        let options = regalloc2::RegallocOptions { validate_ssa: checks, ..Default::default() };
        let machine = alloc::machine(width);
        let out = regalloc2::run_with_ctx(&view, &machine, &options, &mut self.allocation)
            .map_err(|e| format!("registers: {e:?}"))?;
        let encoded = encode::encode(&code, &view, out)?;
        let relocs: Vec<ModuleReloc> = encoded.calls.iter().map(|call| reloc(context, call)).collect();
        module.define_function_bytes(id, 64, &encoded.bytes, &relocs).map_err(|e| format!("{e:?}"))
    }
}

/// Bytes of the vectors that there is code for.
fn width(isa: &dyn TargetIsa) -> usize {
    let flags = isa.isa_flags();
    let has = |name: &str| flags.iter().any(|f| f.name == name && f.as_bool() == Some(true));
    let all = ["has_avx2", "has_fma", "has_bmi1", "has_bmi2", "has_lzcnt", "has_popcnt"];
    let conventional = isa.default_call_conv() == CallConv::SystemV;
    let longest = ["has_avx512f", "has_avx512dq", "has_avx512vl"];
    match conventional && all.into_iter().all(has) {
        true if longest.into_iter().all(has) => 64,
        true => 32,
        false => BYTES,
    }
}

/// The same instruction set for the optimiser, without Cranelift's verifier, which counts lanes.
fn unverified(isa: &dyn TargetIsa) -> Option<OwnedTargetIsa> {
    let mut flags = settings::builder();
    for (flag, value) in [("opt_level", "speed"), ("enable_verifier", "false")] {
        flags.set(flag, value).ok()?;
    }
    cranelift_codegen::isa::lookup(isa.triple().clone()).ok()?.finish(settings::Flags::new(flags)).ok()
}

/// Relocation of a call.
fn reloc(context: &Context, call: &encode::Call) -> ModuleReloc {
    let name = cranelift_codegen::ir::UserExternalNameRef::from_u32(call.name);
    let name = &context.func.params.user_named_funcs()[name];
    let (kind, addend) = if call.near { (Reloc::X86CallPCRel4, -4) } else { (Reloc::Abs8, 0) };
    let name = ModuleRelocTarget::user(name.namespace, name.index);
    ModuleReloc { offset: call.offset, kind, name, addend }
}
