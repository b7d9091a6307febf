//! A function on a strip of numbers, and on one: the same loop compiled for several vector widths, chosen once.

use super::fused::Native;
use super::{Function, composed, exp, hyperbolic, log, single, trig};
use crate::simd::{Level, level};
use std::slice::{from_raw_parts, from_raw_parts_mut};

/// Numbers in a strip: a few of them stay in the first-level cache.
pub const STRIP: usize = 512;

/// `(to, from, n)`: stores a function's values at `n` numbers.
pub type Strip<T> = unsafe extern "C" fn(*mut T, *const T, i64);

/// True if fused multiply-adds are calls.
fn has_no_fused() -> bool {
    cfg!(target_arch = "x86_64") && level() == Level::Baseline
}

/// The formulas of [`single`] with the processor's instruction.
mod native {
    use super::{Native, single};

    macro_rules! native {
        ($($name:ident)*) => {
            $(
                #[inline(always)]
                pub fn $name(x: f32) -> f32 {
                    single::$name(&mut Native, x)
                }
            )*
        };
    }
    native!(exp exp2 log sin cos);
}

/// The versions of a function of one number: the fused multiply-add is an instruction, or a call.
macro_rules! single {
    ($t:ident, $function:expr) => {{
        extern "C" fn baseline(x: $t) -> $t {
            $function.$t(x)
        }
        #[cfg(target_arch = "x86_64")]
        #[target_feature(enable = "avx2,fma")]
        fn avx2(x: $t) -> $t {
            $function.$t(x)
        }
        #[cfg(target_arch = "x86_64")]
        extern "C" fn avx2_call(x: $t) -> $t {
            // SAFETY: only taken below if the processor has the instructions.
            unsafe { avx2(x) }
        }
        match level() {
            #[cfg(target_arch = "x86_64")]
            Level::Avx2 | Level::Avx512 => avx2_call as extern "C" fn($t) -> $t,
            _ => baseline as extern "C" fn($t) -> $t,
        }
    }};
}

/// The three versions of a strip function. Where some arguments are too large for the formula they are done again one by one.
macro_rules! strip {
    ($t:ident, $function:expr, $formula:path, $limit:expr) => {{
        const LIMIT: Option<$t> = $limit;
        #[inline(always)]
        fn formula(to: &mut [$t], from: &[$t]) {
            let n = to.len();
            let from = &from[..n];
            let mut i = 0;
            while i < n {
                to[i] = $formula(from[i]);
                i += 1;
            }
        }
        #[cold]
        #[inline(never)]
        fn large(x: $t) -> $t {
            $function.$t(x)
        }
        /// All of them, without leaving the loop early, so that the question takes a vector at a time.
        #[inline(always)]
        fn are_small(from: &[$t], limit: $t) -> bool {
            let (mut all, mut i) = (true, 0);
            while i < from.len() {
                all &= from[i].abs() <= limit;
                i += 1;
            }
            all
        }
        #[inline(always)]
        fn plain(to: &mut [$t], from: &[$t]) {
            let Some(limit) = LIMIT else { return formula(to, from) };
            for (to, from) in to.chunks_mut(64).zip(from.chunks(64)) {
                if are_small(from, limit) {
                    formula(to, from);
                } else {
                    to.iter_mut().zip(from).for_each(|(y, x)| *y = large(*x));
                }
            }
        }
        #[cfg(target_arch = "x86_64")]
        #[target_feature(enable = "avx2,fma,bmi1,bmi2")]
        fn avx2(to: &mut [$t], from: &[$t]) {
            plain(to, from);
        }
        #[cfg(target_arch = "x86_64")]
        #[target_feature(enable = "avx512f,avx512dq,avx512vl,avx2,fma,bmi1,bmi2")]
        fn avx512(to: &mut [$t], from: &[$t]) {
            plain(to, from);
        }
        /// # Safety
        /// There are `n` numbers at both addresses, those at `to` are the caller's alone and not among the others.
        unsafe fn slices<'a>(to: *mut $t, from: *const $t, n: i64) -> (&'a mut [$t], &'a [$t]) {
            // SAFETY: see above.
            unsafe { (from_raw_parts_mut(to, n as usize), from_raw_parts(from, n as usize)) }
        }
        unsafe extern "C" fn baseline_strip(to: *mut $t, from: *const $t, n: i64) {
            // SAFETY: as the caller of a `Strip` promises.
            let (to, from) = unsafe { slices(to, from, n) };
            plain(to, from);
        }
        #[cfg(target_arch = "x86_64")]
        unsafe extern "C" fn avx2_strip(to: *mut $t, from: *const $t, n: i64) {
            // SAFETY: as the caller of a `Strip` promises; only taken if the processor has the instructions.
            unsafe {
                let (to, from) = slices(to, from, n);
                avx2(to, from);
            }
        }
        #[cfg(target_arch = "x86_64")]
        unsafe extern "C" fn avx512_strip(to: *mut $t, from: *const $t, n: i64) {
            // SAFETY: as the caller of a `Strip` promises; only taken if the processor has the instructions.
            unsafe {
                let (to, from) = slices(to, from, n);
                avx512(to, from);
            }
        }
        match level() {
            #[cfg(target_arch = "x86_64")]
            Level::Avx2 => avx2_strip as Strip<$t>,
            #[cfg(target_arch = "x86_64")]
            Level::Avx512 => avx512_strip as Strip<$t>,
            _ => baseline_strip as Strip<$t>,
        }
    }};
}

/// A formula and the largest argument that it is for.
macro_rules! strips {
    ($($function:ident $f32:path [$limit_f32:expr], $f64:path [$limit_f64:expr];)*) => {
        impl Function {
            /// The function as machine code calls it, for this processor.
            pub fn call_f32(self) -> extern "C" fn(f32) -> f32 {
                match self {
                    $(Function::$function => single!(f32, Function::$function),)*
                }
            }

            /// The function as machine code calls it, for this processor.
            pub fn call_f64(self) -> extern "C" fn(f64) -> f64 {
                match self {
                    $(Function::$function => single!(f64, Function::$function),)*
                }
            }

            /// The function for strips of `f32`, for this processor.
            pub fn strip_f32(self) -> Strip<f32> {
                if let Some(strip) = composed::strip(self).filter(|_| has_no_fused()) {
                    return strip;
                }
                match self {
                    $(Function::$function => strip!(f32, Function::$function, $f32, $limit_f32),)*
                }
            }

            /// The function for strips of `f64`, for this processor.
            pub fn strip_f64(self) -> Strip<f64> {
                match self {
                    $(Function::$function => strip!(f64, Function::$function, $f64, $limit_f64),)*
                }
            }
        }
    };
}

strips! {
    Exp native::exp [None], exp::exp [None];
    Exp2 native::exp2 [None], exp::exp2 [None];
    Expm1 exp::expm1_f32 [None], exp::expm1 [None];
    Log native::log [None], log::log [None];
    Log2 log::log2_f32 [None], log::log2 [None];
    Log10 log::log10_f32 [None], log::log10 [None];
    Log1p log::log1p_f32 [None], log::log1p [None];
    Sin native::sin [Some(single::LIMIT)], trig::sin [Some(trig::LIMIT)];
    Cos native::cos [Some(single::LIMIT)], trig::cos [Some(trig::LIMIT)];
    Tan trig::tan_f32 [Some(trig::LIMIT as f32)], trig::tan [Some(trig::LIMIT)];
    Sinh hyperbolic::sinh_f32 [None], hyperbolic::sinh [None];
    Cosh hyperbolic::cosh_f32 [None], hyperbolic::cosh [None];
    Tanh hyperbolic::tanh_f32 [None], hyperbolic::tanh [None];
}
