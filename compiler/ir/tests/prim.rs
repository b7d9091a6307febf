//! The table of scalar operators: spelling, type rule, evaluation.

use par_ir::prim::PrimOp;
use par_ir::{Prim, Scalar};

/// Awkward values of a type.
fn samples(p: Prim) -> Vec<Scalar> {
    match p {
        Prim::F16 => [0u16, 0x8000, 1, 0x3e00, 0xc100, 0x7bff, 0x7c00, 0x7e00]
            .map(|x| Scalar::from_bits(p, x.into()))
            .to_vec(),
        Prim::F32 => [0.0f32, -0.0, 1.5, -2.5, f32::NAN, f32::INFINITY, f32::MAX].map(Scalar::F32).to_vec(),
        Prim::F64 => [0.0f64, -0.0, 1.5, -2.5, f64::NAN, f64::NEG_INFINITY, 1e300].map(Scalar::F64).to_vec(),
        p => [0, 1, 2, -1, 7, i64::MIN, i64::MAX, 64].map(|x| Scalar::from_bits(p, x as u64)).to_vec(),
    }
}

#[test]
fn spelling_reads_back() {
    for op in PrimOp::all() {
        assert_eq!(op.to_string().parse::<PrimOp>(), Ok(op));
    }
    assert_eq!(PrimOp::Conv(Prim::I32, Prim::F64).to_string(), "conv.i32.f64");
    for wrong in ["add", "add.i33", "conv.i32", "frob.i32", ""] {
        assert!(wrong.parse::<PrimOp>().is_err());
    }
}

/// Valid operators take any operands without a panic and give a result of their type.
#[test]
fn evaluation_is_total() {
    for op in PrimOp::all().into_iter().filter(PrimOp::is_valid) {
        let columns: Vec<Vec<Scalar>> = op.operands().into_iter().map(samples).collect();
        let mut rows = vec![vec![]];
        for column in &columns {
            rows = rows.iter().flat_map(|r| column.iter().map(|x| [r.as_slice(), &[*x]].concat())).collect();
        }
        for row in rows {
            assert_eq!(op.eval(&row).prim(), op.result(), "{op} {row:?}");
        }
    }
}

#[test]
fn validity() {
    let valid = |text: &str| text.parse::<PrimOp>().unwrap().is_valid();
    for text in ["sqrt.f32", "neg.u8", "not.bool", "and.bool", "mod.f64", "mulhi.u64", "popc.i8", "fma.f64"] {
        assert!(valid(text), "{text}");
    }
    for text in ["sqrt.i32", "neg.bool", "not.f32", "add.bool", "quot.f64", "shl.bool", "popc.f32", "fma.i32"]
    {
        assert!(!valid(text), "{text}");
    }
}

/// Operator, operands and result in the notation of printed IR.
const TABLE: &[(&str, &[Scalar], Scalar)] = {
    use Scalar::*;
    &[
        ("add.i8", &[I8(127), I8(1)], I8(-128)),
        ("sub.u32", &[U32(0), U32(1)], U32(u32::MAX)),
        ("mul.u64", &[U64(u64::MAX), U64(u64::MAX)], U64(1)),
        ("div.i32", &[I32(-7), I32(2)], I32(-4)),
        ("mod.i32", &[I32(-7), I32(2)], I32(1)),
        ("mod.i32", &[I32(7), I32(-2)], I32(-1)),
        ("quot.i32", &[I32(-7), I32(2)], I32(-3)),
        ("rem.i32", &[I32(-7), I32(2)], I32(-1)),
        ("div.i64", &[I64(i64::MIN), I64(-1)], I64(i64::MIN)),
        ("div.i64", &[I64(5), I64(0)], I64(0)),
        ("rem.u8", &[U8(5), U8(0)], U8(0)),
        ("pow.i32", &[I32(3), I32(4)], I32(81)),
        ("pow.i32", &[I32(-2), I32(31)], I32(i32::MIN)),
        ("pow.i32", &[I32(2), I32(-1)], I32(0)),
        ("pow.i32", &[I32(-1), I32(-3)], I32(-1)),
        ("pow.u64", &[U64(3), U64(1 << 62)], U64(1)),
        ("min.u8", &[U8(200), U8(100)], U8(100)),
        ("max.i8", &[I8(-56), I8(100)], I8(100)),
        ("shl.i32", &[I32(1), I32(31)], I32(i32::MIN)),
        ("shl.i32", &[I32(1), I32(32)], I32(0)),
        ("shl.i32", &[I32(1), I32(-1)], I32(0)),
        ("shr.i32", &[I32(-8), I32(1)], I32(-4)),
        ("shr.i32", &[I32(-8), I32(40)], I32(-1)),
        ("shr.u32", &[U32(8), U32(40)], U32(0)),
        ("lshr.i8", &[I8(-1), I8(4)], I8(15)),
        ("lshr.i8", &[I8(-1), I8(8)], I8(0)),
        ("mulhi.i32", &[I32(-1), I32(1)], I32(-1)),
        ("mulhi.u64", &[U64(u64::MAX), U64(2)], U64(1)),
        ("xor.bool", &[Bool(true), Bool(true)], Bool(false)),
        ("not.bool", &[Bool(true)], Bool(false)),
        ("not.u8", &[U8(1)], U8(254)),
        ("neg.i16", &[I16(i16::MIN)], I16(i16::MIN)),
        ("abs.i32", &[I32(-3)], I32(3)),
        ("sgn.f32", &[F32(-0.5)], F32(-1.0)),
        ("sgn.f64", &[F64(-0.0)], F64(-0.0)),
        ("mod.f64", &[F64(-7.0), F64(2.0)], F64(1.0)),
        ("mod.f64", &[F64(7.0), F64(-2.0)], F64(-1.0)),
        ("min.f32", &[F32(f32::NAN), F32(1.0)], F32(1.0)),
        ("max.f32", &[F32(1.0), F32(f32::NAN)], F32(1.0)),
        ("round.f64", &[F64(2.5)], F64(2.0)),
        ("round.f32", &[F32(-3.5)], F32(-4.0)),
        ("trunc.f32", &[F32(-1.5)], F32(-1.0)),
        ("gamma.f64", &[F64(5.0)], F64(24.0)),
        ("erf.f32", &[F32(0.0)], F32(0.0)),
        ("erfc.f64", &[F64(0.0)], F64(1.0)),
        ("lgamma.f64", &[F64(1.0)], F64(0.0)),
        ("rsqrt.f32", &[F32(4.0)], F32(0.5)),
        ("hypot.f64", &[F64(3.0), F64(4.0)], F64(5.0)),
        ("copysign.f32", &[F32(3.0), F32(-0.0)], F32(-3.0)),
        ("eq.f32", &[F32(f32::NAN), F32(f32::NAN)], Bool(false)),
        ("ne.f32", &[F32(f32::NAN), F32(f32::NAN)], Bool(true)),
        ("le.f32", &[F32(f32::NAN), F32(0.0)], Bool(false)),
        ("eq.f64", &[F64(0.0), F64(-0.0)], Bool(true)),
        ("lt.u8", &[U8(200), U8(100)], Bool(false)),
        ("lt.i8", &[I8(-56), I8(100)], Bool(true)),
        ("gt.u64", &[U64(u64::MAX), U64(1)], Bool(true)),
        ("lt.bool", &[Bool(false), Bool(true)], Bool(true)),
        ("conv.f32.i8", &[F32(300.0)], I8(127)),
        ("conv.f64.u8", &[F64(-1.0)], U8(0)),
        ("conv.f64.i32", &[F64(f64::NAN)], I32(0)),
        ("conv.f64.i32", &[F64(-1.9)], I32(-1)),
        ("conv.i32.u8", &[I32(-1)], U8(255)),
        ("conv.u64.i64", &[U64(u64::MAX)], I64(-1)),
        ("conv.u64.f64", &[U64(u64::MAX)], F64(18446744073709551615.0)),
        ("conv.i8.u64", &[I8(-1)], U64(u64::MAX)),
        ("conv.f32.bool", &[F32(f32::NAN)], Bool(true)),
        ("conv.i64.bool", &[I64(0)], Bool(false)),
        ("conv.bool.f32", &[Bool(true)], F32(1.0)),
        ("conv.f64.f32", &[F64(1e300)], F32(f32::INFINITY)),
        ("select.i64", &[Bool(true), I64(1), I64(2)], I64(1)),
        ("select.i64", &[Bool(false), I64(1), I64(2)], I64(2)),
        ("isnan.f32", &[F32(f32::NAN)], Bool(true)),
        ("isinf.f64", &[F64(f64::NEG_INFINITY)], Bool(true)),
        ("tobits.f32", &[F32(1.0)], U32(0x3f80_0000)),
        ("frombits.f64", &[U64(0x4000_0000_0000_0000)], F64(2.0)),
        ("popc.i8", &[I8(-1)], I32(8)),
        ("clz.i8", &[I8(1)], I32(7)),
        ("clz.u64", &[U64(0)], I32(64)),
        ("ctz.i16", &[I16(0)], I32(16)),
        ("ctz.i32", &[I32(8)], I32(3)),
        ("fma.f64", &[F64(2.0), F64(3.0), F64(1.0)], F64(7.0)),
        ("mad.f32", &[F32(2.0), F32(3.0), F32(1.0)], F32(7.0)),
        ("lerp.f32", &[F32(2.0), F32(4.0), F32(0.5)], F32(3.0)),
        ("ldexp.f32", &[F32(1.5), I32(3)], F32(12.0)),
        ("getbit.i8", &[I8(-128), I32(7)], I32(1)),
        ("getbit.i8", &[I8(-128), I32(8)], I32(0)),
        ("setbit.i8", &[I8(0), I32(7), I32(1)], I8(-128)),
        ("setbit.u8", &[U8(255), I32(0), I32(0)], U8(254)),
    ]
};

#[test]
fn evaluation() {
    for (op, operands, expected) in TABLE {
        let parsed: PrimOp = op.parse().unwrap();
        assert!(parsed.is_valid(), "{op}");
        let types: Vec<Prim> = operands.iter().map(|x| x.prim()).collect();
        assert_eq!(parsed.operands(), types, "{op}");
        assert_eq!(parsed.eval(operands), *expected, "{op} {operands:?}");
    }
}
