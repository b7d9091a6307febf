//! Functions of `f32` on strips for processors without an instruction that multiplies and adds. A call for each takes ten times as long as other
//! operators do; in vectors they are put together from several.
//!
//! Nearly all results are the same if they are rounded twice, as an `f64` first. Where one may not be, the numbers around it are done once more.

use super::fused::{Composed, Twice};
use super::{Function, STRIP, Strip, single};
use std::slice::{from_raw_parts, from_raw_parts_mut};

/// Numbers that are done once more together.
const BLOCK: usize = 64;
const _: () = assert!(STRIP.is_multiple_of(BLOCK));

/// `to = formula from`.
macro_rules! each {
    ($m:expr, $to:expr, $from:expr, $formula:path) => {{
        let (m, to, from) = ($m, &mut *$to, $from);
        let n = to.len();
        let from = &from[..n];
        let mut i = 0;
        while i < n {
            to[i] = $formula(m, from[i]);
            i += 1;
        }
    }};
}

/// True if some number's absolute value is larger.
#[inline(always)]
fn exceeds(from: &[f32], limit: f32) -> bool {
    let (mut any, mut i) = (false, 0);
    while i < from.len() {
        any |= from[i].abs() > limit;
        i += 1;
    }
    any
}

/// The strip of a function whose formula is for arguments up to a limit.
macro_rules! strip {
    ($function:expr, $formula:path, $limit:expr) => {{
        #[cold]
        #[inline(never)]
        fn again(to: &mut [f32], from: &[f32]) {
            each!(&mut Composed, to, from, $formula);
        }
        #[cold]
        #[inline(never)]
        fn large(to: &mut [f32], from: &[f32]) {
            to.iter_mut().zip(from).for_each(|(y, x)| *y = $function.f32(*x));
        }
        /// # Safety
        /// As of a [`Strip`].
        unsafe extern "C" fn strip(to: *mut f32, from: *const f32, n: i64) {
            // SAFETY: there are `n` numbers at both addresses, those at `to` are the caller's alone and not among the others.
            let (to, from) = unsafe { (from_raw_parts_mut(to, n as usize), from_raw_parts(from, n as usize)) };
            for (to, from) in to.chunks_mut(BLOCK).zip(from.chunks(BLOCK)) {
                if exceeds(from, $limit) {
                    large(to, from);
                    continue;
                }
                let mut twice = Twice::default();
                each!(&mut twice, to, from, $formula);
                if twice.doubtful != 0 {
                    again(to, from);
                }
            }
        }
        Some(strip as Strip<f32>)
    }};
}

/// The strip of a function, if it has one of its own.
pub fn strip(function: Function) -> Option<Strip<f32>> {
    match function {
        Function::Exp => strip!(Function::Exp, single::exp, f32::INFINITY),
        Function::Exp2 => strip!(Function::Exp2, single::exp2, f32::INFINITY),
        Function::Log => strip!(Function::Log, single::log, f32::INFINITY),
        Function::Sin => strip!(Function::Sin, single::sin, single::LIMIT),
        Function::Cos => strip!(Function::Cos, single::cos, single::LIMIT),
        _ => None,
    }
}
