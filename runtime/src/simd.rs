//! Which vector instructions this processor has, as far as code was compiled ahead for them.

/// Instruction sets for which there are versions of code.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Level {
    /// Features that every processor of the architecture has.
    Baseline,
    /// AVX2 and fused multiply-add.
    Avx2,
    /// AVX-512 F, DQ and VL as well.
    Avx512,
}

/// The best of them that this processor has.
pub fn level() -> Level {
    #[cfg(target_arch = "x86_64")]
    {
        let avx2 = is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma");
        let avx512 = is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512dq");
        if avx2 && avx512 && is_x86_feature_detected!("avx512vl") {
            return Level::Avx512;
        }
        if avx2 {
            return Level::Avx2;
        }
    }
    Level::Baseline
}
