//! Every scalar operator at every type, as WebAssembly, against `PrimOp::eval` on edge values.

mod engine;

use engine::Wasmi;
use par_ir::core::{self, Body, Exp};
use par_ir::flat::{Block, Fun, Kernel, KernelKind, Op, Out, Param, Program, Space, Stm, Ty};
use par_ir::interp::run_flat_with;
use par_ir::place::{PlaceId, Places};
use par_ir::prim::{BinOp, PrimOp};
use par_ir::{Atom, Prim, Scalar, Span, Type, Var, Vars};
use par_runtime::{Array, Column, Counters};
use par_wasm::Kernels;

/// Zeros, ones, fractions and their ties, numbers around the ends of types, `f16`'s ends and ties, and what is no number.
const FLOATS: [f64; 34] = [
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
    5.960464477539063e-8,
    2.9802322387695313e-8,
    6.097555160522461e-5,
    65504.0,
    65520.0,
    1.00048828125,
    1.0004882812500002,
    1e10,
    -1e10,
    127.5,
    -129.0,
    255.9,
    32767.9,
    65536.0,
    2147483648.0,
    -2147483649.0,
    9.3e18,
    1.9e19,
    1e30,
    f64::MIN_POSITIVE,
    f64::INFINITY,
    f64::NEG_INFINITY,
    f64::NAN,
];

fn edge_values(p: Prim) -> Vec<Scalar> {
    match p {
        p if p.is_float() => FLOATS.iter().filter_map(|x| Scalar::from_f64(p, *x)).collect(),
        Prim::Bool => vec![Scalar::Bool(false), Scalar::Bool(true)],
        _ => {
            let top = 1u64 << (p.bits() - 1);
            let small = [0, 1, 2, 3, 5, 7, 8, 13, 15, 16, 31, 32, 63, 64, 100];
            let large = [top - 1, top, top + 1, 2u64.wrapping_neg(), 7u64.wrapping_neg(), u64::MAX];
            small.iter().chain(&large).map(|x| Scalar::from_bits(p, *x)).collect()
        }
    }
}

fn operators() -> Vec<PrimOp> {
    PrimOp::all().into_iter().filter(PrimOp::is_valid).collect()
}

/// All combinations of edge values for the operands.
fn operands(op: PrimOp) -> Vec<Vec<Scalar>> {
    let mut rows: Vec<Vec<Scalar>> = vec![vec![]];
    for p in op.operands() {
        let values = edge_values(p);
        rows = rows.iter().flat_map(|r| values.iter().map(|v| [&r[..], &[*v]].concat())).collect();
    }
    rows
}

/// Applies an operator to arrays; a constant may replace the second operand.
fn compute(op: PrimOp, rows: &[Vec<Scalar>], second: Option<Scalar>) -> Array {
    let mut vars = Vars::default();
    let mut param = |ty| Param { var: vars.fresh("p"), ty };
    let n = param(Ty::Scalar(Prim::I64));
    let arrays: Vec<Param> = op.operands().into_iter().map(|p| param(Ty::Array(p))).collect();
    let [row, pos, result, out] = ["row", "pos", "x", "xs"].map(|name| vars.fresh(name));
    let stm = |var: Var, p: Prim, exp: Exp| core::Stm {
        pat: vec![core::Param { var, ty: Type::scalar(p) }],
        exp,
        span: Span::default(),
    };
    let (mut stms, mut atoms) = (Vec::new(), Vec::new());
    for (i, p) in op.operands().into_iter().enumerate() {
        if let (1, Some(c)) = (i, second) {
            atoms.push(Atom::Const(c));
            continue;
        }
        let var = vars.fresh("e");
        stms.push(stm(var, p, Exp::Index(arrays[i].var, vec![pos.into()])));
        atoms.push(var.into());
    }
    stms.push(stm(result, op.result(), Exp::Prim(op, atoms)));
    let kernel = Kernel {
        kind: KernelKind::Map(vec![Out::Elem(op.result())]),
        space: Space::flat(n.var.into()),
        index: vec![pos],
        row,
        pos,
        prologue: vec![],
        body: Body { stms, results: vec![result.into()] },
    };
    let ty = Ty::Array(op.result());
    let stm = Stm {
        pat: vec![Param { var: out, ty }],
        op: Op::Kernel(Box::new(kernel)),
        span: Span::default(),
        place: PlaceId::default(),
    };
    let fun = Fun {
        name: "main".into(),
        entry: None,
        params: std::iter::once(n).chain(arrays).collect(),
        ret: vec![ty],
        body: Block { stms: vec![stm], results: vec![out.into()] },
        span: Span::default(),
    };
    let program = Program { funs: vec![fun], locals: vec![], vars, places: Places::default() };
    let mut args = vec![Column::Scalar(Scalar::I64(rows.len() as i64))];
    for (i, p) in op.operands().into_iter().enumerate() {
        let column: Vec<Scalar> = rows.iter().map(|r| r[i]).collect();
        args.push(Column::Data(Array::from_scalars(p, &column)));
    }
    let kernels = Kernels::new(Wasmi::default());
    let found = run_flat_with(&program, core::FunId(0), args, &mut Counters::default(), Some(&kernels));
    assert_eq!(kernels.statistics().reasons, Vec::<String>::new(), "{op}");
    match found.expect("runs").remove(0) {
        Column::Data(a) => a,
        other => panic!("{other:?}"),
    }
}

fn same(a: Scalar, b: Scalar) -> bool {
    a == b || (a.prim() == b.prim() && a.is_nan() && b.is_nan())
}

fn check(op: PrimOp, rows: &[Vec<Scalar>], second: Option<Scalar>) {
    let got = compute(op, rows, second);
    for (i, row) in rows.iter().enumerate() {
        let want = op.eval(row);
        assert!(same(got.get(i), want), "{op} {row:?}: {} instead of {want}", got.get(i));
    }
}

#[test]
fn operators_agree_with_their_definition() {
    for op in operators() {
        check(op, &operands(op), None);
    }
}

#[test]
fn constant_second_operands() {
    use BinOp::*;
    for p in Prim::ALL.into_iter().filter(|p| p.is_integer()) {
        for op in [Div, Mod, Quot, Rem, Shl, Shr, Lshr].map(|op| PrimOp::Bin(op, p)) {
            for c in edge_values(p) {
                let rows: Vec<Vec<Scalar>> = edge_values(p).into_iter().map(|x| vec![x, c]).collect();
                check(op, &rows, Some(c));
            }
        }
    }
}

/// Operators that have instructions of their own for `f16`, on all its numbers.
#[test]
fn all_halves() {
    let all: Vec<Scalar> = (0..=u64::from(u16::MAX)).map(|x| Scalar::from_bits(Prim::F16, x)).collect();
    let is_half = |op: &PrimOp| op.operands().contains(&Prim::F16);
    for op in operators().into_iter().filter(|op| is_half(op) && !par_wasm::support::is_call(*op)) {
        let operand = |i: usize, p: Prim, at: usize| match p {
            Prim::F16 => all[(at + i * at % 977 * 61) % all.len()],
            p => edge_values(p)[at % edge_values(p).len()],
        };
        let row = |at| op.operands().into_iter().enumerate().map(|(i, p)| operand(i, p, at)).collect();
        let rows: Vec<Vec<Scalar>> = (0..all.len()).step_by(3).map(row).collect();
        check(op, &rows, None);
    }
}
