//! Every scalar operator at every type, in machine code, against `PrimOp::eval` on edge values.

mod common;

use common::*;
use par_ir::core::Exp;
use par_ir::flat::{KernelKind, Out, Space, Ty};
use par_ir::prim::{BinOp, PrimOp};
use par_ir::{Atom, Prim, Scalar, Var};
use par_runtime::{Array, Column};

fn edge_values(p: Prim) -> Vec<Scalar> {
    let floats = [
        0.0,
        -0.0,
        1.0,
        -1.0,
        0.5,
        1.5,
        2.5,
        -2.5,
        3.7,
        -3.7,
        1e-40,
        // The smallest f16, its half, and the largest subnormal one.
        5.960464477539063e-8,
        2.9802322387695313e-8,
        6.097555160522461e-5,
        // The largest f16, and the middle between it and the next power of two.
        65504.0,
        65520.0,
        // The middle between two f16, and next to it.
        1.00048828125,
        1.0004882812500002,
        1e10,
        -1e10,
        127.5,
        255.9,
        32767.9,
        65536.0,
        2147483648.0,
        -2147483649.0,
        9.3e18,
        1.9e19,
        1e30,
        f64::MAX,
        f64::MIN_POSITIVE,
        f64::INFINITY,
        f64::NEG_INFINITY,
        f64::NAN,
    ];
    match p {
        p if p.is_float() => floats.iter().filter_map(|x| Scalar::from_f64(p, *x)).collect(),
        Prim::Bool => vec![Scalar::Bool(false), Scalar::Bool(true)],
        _ => {
            let top = 1u64 << (p.bits() - 1);
            let ints = [
                0,
                1,
                2,
                3,
                5,
                7,
                8,
                13,
                31,
                32,
                63,
                64,
                100,
                top - 1,
                top,
                top + 1,
                2u64.wrapping_neg(),
                7u64.wrapping_neg(),
                u64::MAX,
            ];
            ints.iter().map(|x| Scalar::from_bits(p, *x)).collect()
        }
    }
}

fn operators() -> Vec<PrimOp> {
    PrimOp::all().into_iter().filter(PrimOp::is_valid).collect()
}

/// All combinations of edge values for the operands, as one column per operand.
fn operands(op: PrimOp) -> Vec<Vec<Scalar>> {
    let mut rows: Vec<Vec<Scalar>> = vec![vec![]];
    for p in op.operands() {
        let values = edge_values(p);
        rows = rows.iter().flat_map(|r| values.iter().map(|v| [&r[..], &[*v]].concat())).collect();
    }
    rows
}

fn same(a: Scalar, b: Scalar) -> bool {
    a == b || (a.prim() == b.prim() && a.is_nan() && b.is_nan())
}

/// Applies `op` to arrays; constants replace some operands.
fn compute(op: PrimOp, rows: &[Vec<Scalar>], constants: &[Option<Scalar>]) -> Array {
    let mut b = Build::default();
    let n = b.param(Ty::Scalar(Prim::I64));
    let arrays: Vec<Var> = op.operands().into_iter().map(|p| b.param(Ty::Array(p))).collect();
    let (row, pos) = (b.vars.fresh("row"), b.vars.fresh("pos"));
    let code = b.code(|s| {
        let operand = |(i, p): (usize, Prim)| match constants.get(i) {
            Some(Some(c)) => Atom::Const(*c),
            _ => s.index(p, arrays[i], pos.into()),
        };
        let operands: Vec<Atom> = op.operands().into_iter().enumerate().map(operand).collect();
        vec![s.exp(op.result(), Exp::Prim(op, operands))]
    });
    let ty = Ty::Array(op.result());
    let results =
        b.kernel(&[ty], KernelKind::Map(vec![Out::Elem(op.result())]), Space::flat(n.into()), row, pos, code);
    let mut args = vec![int(rows.len() as i64)];
    for (i, p) in op.operands().into_iter().enumerate() {
        let column: Vec<Scalar> = rows.iter().map(|r| r[i]).collect();
        args.push(Column::Data(Array::from_scalars(p, &column)));
    }
    match run(&b.program(&[ty], &results), args, 1).expect("runs").remove(0) {
        Column::Data(a) => a,
        other => panic!("{other:?}"),
    }
}

#[test]
fn operators_agree_with_their_definition() {
    for op in operators() {
        let rows = operands(op);
        let got = compute(op, &rows, &[]);
        for (i, row) in rows.iter().enumerate() {
            let want = op.eval(row);
            assert!(same(got.get(i), want), "{op:?} {row:?}: {} instead of {want}", got.get(i));
        }
    }
}

/// Operators that can be tried on all 65536 numbers, and each of them with some others.
#[test]
fn all_halves() {
    let all: Vec<Scalar> = (0..=u16::MAX as u64).map(|x| Scalar::from_bits(Prim::F16, x)).collect();
    let is_half = |op: &PrimOp| op.operands().contains(&Prim::F16);
    for op in operators().into_iter().filter(|op| is_half(op) && !par_runtime::op::call::is_call(*op)) {
        let operand = |i: usize, p: Prim, at: usize| match p {
            Prim::F16 => all[(at + i * at % 977 * 61) % all.len()],
            p => edge_values(p)[at % edge_values(p).len()],
        };
        let row = |at| op.operands().into_iter().enumerate().map(|(i, p)| operand(i, p, at)).collect();
        let rows: Vec<Vec<Scalar>> = (0..all.len()).map(row).collect();
        let got = compute(op, &rows, &[]);
        for (i, row) in rows.iter().enumerate() {
            let want = op.eval(row);
            assert!(same(got.get(i), want), "{op:?} {row:?}: {} instead of {want}", got.get(i));
        }
    }
}

/// Ties, and numbers next to them, of all wider floats.
#[test]
fn halves_are_rounded_once() {
    for (from, ulp) in [(Prim::F32, 1e-7), (Prim::F64, 2.3e-16)] {
        let op = PrimOp::Conv(from, Prim::F16);
        let middle = |bits: u64| {
            let x = |bits| Scalar::from_bits(Prim::F16, bits).as_f64().unwrap_or(0.0);
            (x(bits) + x(bits + 1)) / 2.0
        };
        let around = |x: f64| [x, x * (1.0 + ulp), x * (1.0 - ulp), -x];
        let numbers = (0..0x7c00).flat_map(|bits| around(middle(bits)));
        let rows: Vec<Vec<Scalar>> = numbers.filter_map(|x| Some(vec![Scalar::from_f64(from, x)?])).collect();
        let got = compute(op, &rows, &[]);
        for (i, row) in rows.iter().enumerate() {
            assert!(same(got.get(i), op.eval(row)), "{op:?} {row:?}: {}", got.get(i));
        }
    }
}

#[test]
fn constant_second_operands() {
    use BinOp::*;
    for p in Prim::ALL.into_iter().filter(|p| p.is_integer()) {
        for op in [Div, Mod, Quot, Rem, Shl, Shr, Lshr] {
            let op = PrimOp::Bin(op, p);
            for c in edge_values(p) {
                let rows: Vec<Vec<Scalar>> = edge_values(p).into_iter().map(|x| vec![x, c]).collect();
                let got = compute(op, &rows, &[None, Some(c)]);
                for (i, row) in rows.iter().enumerate() {
                    assert!(same(got.get(i), op.eval(row)), "{op:?} {row:?}: {}", got.get(i));
                }
            }
        }
    }
}
