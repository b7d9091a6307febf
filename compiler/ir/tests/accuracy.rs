//! The mathematical functions against values of 300 bits, rounded to `f64` (made with mpmath): within 2 units in the last
//! place.
//!
//! Every line of `accuracy.txt` has an operator, its operands and the value, all as the bits of an `f64`.

use par_ir::prim::PrimOp;
use par_ir::{Prim, Scalar};

/// The distance of `found` from the value, in units of the last place of the value at that type.
fn error(p: Prim, found: Scalar, value: f64) -> f64 {
    let (digits, smallest) = if p == Prim::F32 { (23, -126) } else { (52, -1022) };
    let exponent = value.abs().log2().floor().max(smallest as f64) as i32;
    let found = found.as_f64().unwrap_or(f64::NAN);
    (found - value).abs() / f64::from(exponent - digits).exp2()
}

#[test]
fn functions_are_within_two_units_in_the_last_place() {
    let mut count = 0;
    let mut wrong = Vec::new();
    for line in include_str!("accuracy.txt").lines() {
        let mut words = line.split(' ');
        let op: PrimOp = words.next().unwrap().parse().unwrap();
        let mut numbers: Vec<f64> =
            words.map(|w| f64::from_bits(u64::from_str_radix(w, 16).unwrap())).collect();
        let value = numbers.pop().unwrap();
        let p = op.result();
        let operands: Vec<Scalar> = numbers.iter().map(|x| Scalar::from_f64(p, *x).unwrap()).collect();
        let error = error(p, op.eval(&operands), value);
        count += 1;
        if error.is_nan() || error > 2.0 {
            wrong.push(format!("{op} {numbers:?}: {error} units"));
        }
    }
    assert!(count > 500, "{count}");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
