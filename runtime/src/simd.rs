//! Levels of vector instructions: what this processor has, as far as code was compiled ahead for it, and what `PAR_SIMD` lowers that to.

use std::sync::OnceLock;

/// The environment variable with the highest level that is used.
pub const VARIABLE: &str = "PAR_SIMD";

/// Instruction sets for which there are versions of code.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Level {
    /// Vectors of 128 bits: what every processor of the architecture has.
    Baseline,
    /// AVX2 and fused multiply-add.
    Avx2,
    /// AVX-512 F, DQ, BW and VL as well.
    Avx512,
}

impl Level {
    /// All of them, from the lowest.
    pub const ALL: [Level; 3] = [Level::Baseline, Level::Avx2, Level::Avx512];

    /// The name of a level, as `PAR_SIMD` has it.
    pub fn name(self) -> &'static str {
        match self {
            Level::Baseline => "baseline",
            Level::Avx2 => "avx2",
            Level::Avx512 => "avx512",
        }
    }

    /// The level with this name.
    pub fn from_name(name: &str) -> Option<Level> {
        Level::ALL.into_iter().find(|level| level.name() == name)
    }

    /// The best level that this processor has.
    pub fn detected() -> Level {
        #[cfg(target_arch = "x86_64")]
        {
            let avx2 = is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma");
            let bits = is_x86_feature_detected!("bmi1") && is_x86_feature_detected!("bmi2");
            let avx512 = is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512dq");
            let avx512 = avx512 && is_x86_feature_detected!("avx512bw");
            if avx2 && bits && avx512 && is_x86_feature_detected!("avx512vl") {
                return Level::Avx512;
            }
            if avx2 && bits {
                return Level::Avx2;
            }
        }
        Level::Baseline
    }
}

/// Asks for the line at an address, which is stored to soon. Nothing need be there.
#[cfg(target_arch = "aarch64")]
#[inline(always)]
pub fn will_store(at: *const u8) {
    // SAFETY: the instruction is a hint.
    unsafe {
        std::arch::asm!("prfm pstl1keep, [{}]", in(reg) at, options(nostack, preserves_flags, readonly));
    }
}

/// The level that code uses: the processor's, or the lower one that `PAR_SIMD` names. It does not change while a process runs.
pub fn level() -> Level {
    static LEVEL: OnceLock<Level> = OnceLock::new();
    *LEVEL.get_or_init(|| {
        let wanted = std::env::var(VARIABLE).ok().and_then(|name| Level::from_name(&name));
        wanted.map_or(Level::detected(), |wanted| wanted.min(Level::detected()))
    })
}
