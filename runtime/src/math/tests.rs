//! Against the `libm` crate, and strips against single numbers.

use super::{Function, STRIP, composed};

/// Steps between two numbers.
fn steps(x: f64, y: f64) -> f64 {
    if x == y || (x.is_nan() && y.is_nan()) {
        return 0.0;
    }
    let unit = (x.to_bits() as i64).abs_diff(y.to_bits() as i64);
    if x.is_sign_negative() == y.is_sign_negative() { unit as f64 } else { f64::INFINITY }
}

/// As [`steps`], of `f32`.
fn steps_f32(x: f32, y: f32) -> f64 {
    if x == y || (x.is_nan() && y.is_nan()) {
        return 0.0;
    }
    let unit = (x.to_bits() as i32).abs_diff(y.to_bits() as i32);
    if x.is_sign_negative() == y.is_sign_negative() { unit as f64 } else { f64::INFINITY }
}

fn reference(f: Function, x: f64) -> f64 {
    match f {
        Function::Exp => libm::exp(x),
        Function::Exp2 => libm::exp2(x),
        Function::Expm1 => libm::expm1(x),
        Function::Log => libm::log(x),
        Function::Log2 => libm::log2(x),
        Function::Log10 => libm::log10(x),
        Function::Log1p => libm::log1p(x),
        Function::Sin => libm::sin(x),
        Function::Cos => libm::cos(x),
        Function::Tan => libm::tan(x),
        Function::Sinh => libm::sinh(x),
        Function::Cosh => libm::cosh(x),
        Function::Tanh => libm::tanh(x),
    }
}

const SPECIAL: [f64; 30] = [
    0.0,
    -0.0,
    1.0,
    -1.0,
    0.5,
    2.0,
    f64::NAN,
    f64::INFINITY,
    f64::NEG_INFINITY,
    f64::MIN_POSITIVE,
    5e-324,
    -5e-324,
    1e-310,
    f64::MAX,
    f64::MIN,
    709.782712893384,
    709.782712893385,
    -745.1,
    -745.2,
    -708.5,
    710.3,
    -710.4758600739438,
    710.475860073944,
    1e-9,
    1e-20,
    -1e-20,
    1e22,
    std::f64::consts::FRAC_PI_2,
    std::f64::consts::PI,
    -1.0 + 1e-16,
];

/// Numbers of all magnitudes, always the same ones.
fn numbers() -> Vec<f64> {
    let mut state = 12345u64;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        state
    };
    let mut all = SPECIAL.to_vec();
    for _ in 0..20_000 {
        all.push(f64::from_bits(next()));
        let unit = (next() >> 11) as f64 / (1u64 << 53) as f64;
        all.extend([unit, 2.0 * unit - 1.0, 200.0 * unit - 100.0, 1.0 + 1e-3 * (unit - 0.5), 1e5 * unit]);
    }
    all
}

#[test]
fn f64_functions_are_within_two_steps() {
    for f in Function::ALL {
        for x in numbers() {
            let (got, want) = (f.f64(x), reference(f, x));
            // The reference is itself up to one step off.
            assert!(steps(got, want) <= 3.0, "{f:?} {x:e}: {got:e}, not {want:e}");
        }
    }
}

#[test]
fn f32_functions_are_the_nearest_but_for_one_step() {
    for f in Function::ALL {
        for x in numbers() {
            let x = x as f32;
            let (got, want) = (f.f32(x), reference(f, x as f64) as f32);
            assert!(steps_f32(got, want) <= 1.0, "{f:?} {x:e}: {got:e}, not {want:e}");
        }
    }
}

#[test]
fn integers_and_powers_of_two_are_exact() {
    for k in -1074..1024 {
        let power = Function::Exp2.f64(k as f64);
        assert_eq!(power, libm::exp2(k as f64));
        assert_eq!(Function::Log2.f64(power), k as f64);
    }
    for k in 0..23 {
        assert_eq!(Function::Log10.f64(10f64.powi(k)), k as f64);
    }
}

#[test]
fn strips_give_the_bits_of_single_numbers() {
    let numbers = numbers();
    for f in Function::ALL {
        for part in numbers.chunks(STRIP) {
            let mut strip = vec![0.0; part.len()];
            // SAFETY: both vectors are this function's own, and equally long.
            unsafe { f.strip_f64()(strip.as_mut_ptr(), part.as_ptr(), part.len() as i64) };
            for (x, y) in part.iter().zip(&strip) {
                assert_eq!(steps(*y, f.f64(*x)), 0.0, "{f:?} {x:e}");
            }
            let part: Vec<f32> = part.iter().map(|x| *x as f32).collect();
            let mut strip = vec![0.0; part.len()];
            // SAFETY: both vectors are this function's own, and equally long.
            unsafe { f.strip_f32()(strip.as_mut_ptr(), part.as_ptr(), part.len() as i64) };
            for (x, y) in part.iter().zip(&strip) {
                assert_eq!(steps_f32(*y, f.f32(*x)), 0.0, "{f:?} {x:e}");
            }
        }
    }
}

#[test]
fn strips_without_the_instruction_give_the_bits_of_single_numbers() {
    // Short fractions as well: results are in the middle between two numbers more often.
    let short = (-4096..4096).map(|i| i as f32 / 256.0);
    let numbers: Vec<f32> = numbers().into_iter().map(|x| x as f32).chain(short).collect();
    for f in Function::ALL {
        let Some(function) = composed::strip(f) else { continue };
        for part in numbers.chunks(STRIP) {
            let mut strip = vec![0.0; part.len()];
            // SAFETY: both vectors are this function's own, and equally long.
            unsafe { function(strip.as_mut_ptr(), part.as_ptr(), part.len() as i64) };
            for (x, y) in part.iter().zip(&strip) {
                assert_eq!(steps_f32(*y, f.f32(*x)), 0.0, "{f:?} {x:e}");
            }
        }
    }
}
