//! Programs that were compiled ahead: what a linker has put into an executable or a library.
//!
//! An [`Image`] leads to a [`Stored`] program as bytes, to the functions that its plan numbers, and to a table of the runtime's
//! functions that their code calls, which is filled when the image is loaded. For GPUs the stored program has kernels of its own.

use crate::cuda;
use crate::entry::Entry;
use crate::exec::Executable;
use crate::op::call;
use crate::plan::{Code, KernelFn, Plan};
use crate::source::Source;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;

/// The name of the function of `par-native` that an executable's `main` calls: with its own arguments, and the image.
pub const MAIN: &str = "par_native_main";

/// With this every stored program begins; another version of Par may store it in another form.
const HEADER: &[u8] = concat!("par image ", env!("CARGO_PKG_VERSION"), " 2\n").as_bytes();

/// Addresses of everything.
#[repr(C)]
#[derive(Debug)]
pub struct Image {
    /// Bytes of the stored program.
    pub plan: *const u8,
    /// Number of bytes.
    pub plan_len: usize,
    /// The functions that the plan numbers.
    pub functions: *const KernelFn,
    /// Number of functions.
    pub functions_len: usize,
    /// Addresses of the runtime's functions, once they are there.
    pub imports: *mut *const u8,
    /// Number of addresses.
    pub imports_len: usize,
}

// SAFETY: what it leads to is written by `Image::load` only, under its caller's promise.
unsafe impl Sync for Image {}

/// A program but for its machine code.
#[derive(Serialize, Deserialize)]
pub struct Stored {
    /// The plan of what it does.
    pub plan: Plan,
    /// Needs of the machine code.
    pub needs: Needs,
    /// Its entry points.
    pub entries: Vec<Entry>,
    /// Names and texts of its files, for messages.
    pub sources: Vec<Source>,
    /// Settings that it was compiled with.
    pub settings: Settings,
    /// The same for GPUs, if it was built for them.
    pub gpu: Option<cuda::Program>,
}

/// Needs of the machine code in an image.
#[derive(Serialize, Deserialize, Debug)]
pub struct Needs {
    /// Functions of the runtime, in the order of the table.
    pub functions: Vec<String>,
    /// Abilities of the processor beyond its architecture, by Cranelift's names.
    pub features: Vec<String>,
}

/// Options of the compiler that runs depend on.
#[derive(Serialize, Deserialize, Clone, Copy, Default, Debug)]
pub struct Settings {
    /// See [`crate::Options::memory_limit`].
    pub memory_limit: Option<usize>,
    /// See [`crate::Options::reproducible`].
    pub reproducible: bool,
    /// Checks inside `#[unsafe]` are left out.
    pub allow_unsafe: bool,
}

/// A program ready to run.
pub struct Loaded {
    /// Its code.
    pub executable: Executable,
    /// Its entry points.
    pub entries: Vec<Entry>,
    /// Its files.
    pub sources: Vec<Source>,
    /// Options that it was compiled with.
    pub settings: Settings,
    /// The same for GPUs.
    pub gpu: Option<cuda::Program>,
}

impl Stored {
    /// As bytes.
    pub fn to_bytes(&self) -> Result<Vec<u8>, String> {
        postcard::to_extend(self, HEADER.to_vec()).map_err(|e| format!("the plan cannot be stored: {e}"))
    }

    /// From bytes that [`Stored::to_bytes`] of the same version has made.
    pub fn from_bytes(bytes: &[u8]) -> Result<Stored, String> {
        let bytes = bytes.strip_prefix(HEADER).ok_or("it was made by another version of Par")?;
        postcard::from_bytes(bytes).map_err(|e| format!("it is damaged: {e}"))
    }
}

impl Image {
    /// Makes the program ready to run. Loading it again does no harm.
    ///
    /// # Safety
    /// The image is one of a linked object file, and while it is loaded no other thread loads it or runs its code.
    pub unsafe fn load(&self) -> Result<Loaded, String> {
        // SAFETY: the object file says so, for all three.
        let (plan, functions, imports) = unsafe {
            (
                std::slice::from_raw_parts(self.plan, self.plan_len),
                std::slice::from_raw_parts(self.functions, self.functions_len),
                std::slice::from_raw_parts_mut(self.imports, self.imports_len),
            )
        };
        let stored = Stored::from_bytes(plan)?;
        processor_has(&stored.needs.features)?;
        let known: HashMap<String, *const u8> = call::symbols().into_iter().collect();
        for (slot, name) in imports.iter_mut().zip(&stored.needs.functions) {
            *slot = *known.get(name).ok_or_else(|| format!("the runtime has no function {name}"))?;
        }
        let code = Code { functions: functions.to_vec(), owner: Box::new(()) };
        let Stored { plan, entries, sources, settings, gpu, .. } = stored;
        Ok(Loaded { executable: Executable::new(plan, code), entries, sources, settings, gpu })
    }
}

/// Checks that this processor can run the code.
fn processor_has(features: &[String]) -> Result<(), String> {
    match features.iter().find(|f| !has(f)) {
        None => Ok(()),
        Some(missing) => {
            let name = missing.trim_start_matches("has_");
            Err(format!(
                "it was compiled for a processor with {name}, which this one lacks; `par build --cpu baseline` makes one for all"
            ))
        }
    }
}

/// Ability of this processor by Cranelift's name. Nothing depends on abilities that are not known here.
#[cfg(target_arch = "x86_64")]
fn has(feature: &str) -> bool {
    match feature {
        "has_sse3" => is_x86_feature_detected!("sse3"),
        "has_ssse3" => is_x86_feature_detected!("ssse3"),
        "has_sse41" => is_x86_feature_detected!("sse4.1"),
        "has_sse42" => is_x86_feature_detected!("sse4.2"),
        "has_avx" => is_x86_feature_detected!("avx"),
        "has_avx2" => is_x86_feature_detected!("avx2"),
        "has_fma" => is_x86_feature_detected!("fma"),
        "has_bmi1" => is_x86_feature_detected!("bmi1"),
        "has_bmi2" => is_x86_feature_detected!("bmi2"),
        "has_lzcnt" => is_x86_feature_detected!("lzcnt"),
        "has_popcnt" => is_x86_feature_detected!("popcnt"),
        "has_cmpxchg16b" => is_x86_feature_detected!("cmpxchg16b"),
        "has_avx512bitalg" => is_x86_feature_detected!("avx512bitalg"),
        "has_avx512dq" => is_x86_feature_detected!("avx512dq"),
        "has_avx512f" => is_x86_feature_detected!("avx512f"),
        "has_avx512vl" => is_x86_feature_detected!("avx512vl"),
        "has_avx512vbmi" => is_x86_feature_detected!("avx512vbmi"),
        _ => true,
    }
}

/// Ability of this processor by Cranelift's name, as above.
#[cfg(target_arch = "aarch64")]
fn has(feature: &str) -> bool {
    use std::arch::is_aarch64_feature_detected;
    match feature {
        "has_lse" => is_aarch64_feature_detected!("lse"),
        "has_pauth" => is_aarch64_feature_detected!("paca"),
        "has_fp16" => is_aarch64_feature_detected!("fp16"),
        "has_dotprod" => is_aarch64_feature_detected!("dotprod"),
        "has_i8mm" => is_aarch64_feature_detected!("i8mm"),
        _ => true,
    }
}

/// Elsewhere code is made for what the architecture always has.
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
fn has(_: &str) -> bool {
    true
}
