//! Host statements: control flow, sharing and updates in place, recursion, errors.

mod common;

use common::*;
use par_ir::core::{Exp, FunId};
use par_ir::flat::{Kernel, KernelKind, LoopForm, Op, Out, Param, Program, Space, Stm, Ty};
use par_ir::prim::{BinOp, CmpOp, PrimOp};
use par_ir::{Atom, CheckKind, Dim, Prim, Scalar, Var};
use par_runtime::{Array, Column, Counters, Options};

fn add(a: impl Into<Atom>, b: impl Into<Atom>) -> Op {
    Op::Prim(PrimOp::Bin(BinOp::Add, Prim::I64), vec![a.into(), b.into()])
}

fn ints(c: &Column) -> Vec<i64> {
    match c {
        Column::Data(a) | Column::Offsets(a) => a.slice::<i64>().to_vec(),
        Column::Size(n) | Column::Scalar(Scalar::I64(n)) => vec![*n],
        other => panic!("{other:?}"),
    }
}

fn address(c: &Column) -> *mut u8 {
    match c {
        Column::Data(a) => a.as_ptr(),
        other => panic!("{other:?}"),
    }
}

/// `loop (xs, i) for k < n: xs with [k] = k; scatter`, all on one array.
fn updates() -> Program {
    let mut b = Build::default();
    let (n, xs) = (b.param(I64), b.param(INTS));
    let state = Param { var: b.vars.fresh("ys"), ty: INTS };
    let index = b.vars.fresh("k");
    let outer = std::mem::take(&mut b.stms);
    let next = b.one(INTS, Op::Write { arr: state.var, index: index.into(), value: index.into() });
    let body = b.block(&[next]);
    b.stms = outer;
    let form = LoopForm::For { index, prim: Prim::I64, bound: n.into() };
    let looped = b.one(INTS, Op::Loop { params: vec![(state, xs.into())], form, body });
    let (row, pos) = (b.vars.fresh("row"), b.vars.fresh("pos"));
    let code = b.code(|s| {
        let last = s.bin(BinOp::Sub, Prim::I64, Atom::i64(9), pos.into());
        vec![last, pos.into()]
    });
    let kind = KernelKind::Map(vec![Out::Scatter(vec![looped])]);
    let scattered = b.kernel(&[INTS], kind, Space::flat(Atom::i64(3)), row, pos, code);
    b.program(&[INTS], &scattered)
}

#[test]
fn unique_arrays_are_updated_in_place() {
    let exe = par_codegen::cpu::compile(&updates()).expect("compiles");
    let xs = data(&[-1i64; 10]);
    let before = address(&xs);
    let got = call(&exe, 0, vec![int(5), xs], 1).expect("runs");
    assert_eq!(ints(&got[0]), [0, 1, 2, 3, 4, -1, -1, 2, 1, 0]);
    assert_eq!(address(&got[0]), before, "updated in place");
}

#[test]
fn shared_arrays_are_copied() {
    let exe = par_codegen::cpu::compile(&updates()).expect("compiles");
    let xs = data(&[-1i64; 10]);
    let got = call(&exe, 0, vec![int(5), xs.clone()], 1).expect("runs");
    assert_eq!(ints(&xs), [-1; 10]);
    assert_ne!(address(&got[0]), address(&xs));
}

/// `let ys = xs with [0] = 1 in (xs, ys)`.
#[test]
fn a_live_array_is_not_overwritten() {
    let mut b = Build::default();
    let xs = b.param(INTS);
    let ys = b.one(INTS, Op::Write { arr: xs, index: Atom::i64(0), value: Atom::i64(1) });
    let got = run(&b.program(&[INTS, INTS], &[xs, ys]), vec![data(&[5i64, 6])], 1).expect("runs");
    assert_eq!((ints(&got[0]), ints(&got[1])), (vec![5, 6], vec![1, 6]));
}

/// `f n = if n == 0 then 0 else 1 + f (n - 1)`.
fn countdown() -> Program {
    let mut b = Build::default();
    let n = b.param(I64);
    let zero = b.one(
        Ty::Scalar(Prim::Bool),
        Op::Prim(PrimOp::Cmp(CmpOp::Eq, Prim::I64), vec![n.into(), Atom::i64(0)]),
    );
    let outer = std::mem::take(&mut b.stms);
    let less = b.one(I64, add(n, Atom::i64(-1)));
    let deeper = b.one(I64, Op::Call(FunId(0), vec![less.into()]));
    let result = b.one(I64, add(deeper, Atom::i64(1)));
    let other = b.block(&[result]);
    let then = par_ir::flat::Block { stms: vec![], results: vec![Atom::i64(0)] };
    b.stms = outer;
    let result = b.one(I64, Op::If { cond: zero.into(), versions: None, then, other });
    b.program(&[I64], &[result])
}

#[test]
fn deep_recursion() {
    let exe = par_codegen::cpu::compile(&countdown()).expect("compiles");
    let got = call(&exe, 0, vec![int(99_999)], 1).expect("runs");
    assert_eq!(ints(&got[0]), [99_999]);
    let error = call(&exe, 0, vec![int(10_000_000)], 1).expect_err("too deep");
    assert_eq!(error.message, "recursion is too deep");
}

#[test]
fn endless_recursion_is_an_error() {
    let exe = par_codegen::cpu::compile(&countdown()).expect("compiles");
    let error = call(&exe, 0, vec![int(-1)], 2).expect_err("too deep");
    assert_eq!(error.message, "recursion is too deep");
    // The span of the call, which is the branch's second statement.
    assert_eq!(error.span, Some(span(1)));
    assert_eq!(ints(&call(&exe, 0, vec![int(10)], 2).expect("runs again")[0]), [10]);
}

/// Doubles a number while it is below a limit.
#[test]
fn while_loops() {
    let mut b = Build::default();
    let limit = b.param(I64);
    let state = Param { var: b.vars.fresh("x"), ty: I64 };
    let more = b.one(
        Ty::Scalar(Prim::Bool),
        Op::Prim(PrimOp::Cmp(CmpOp::Lt, Prim::I64), vec![state.var.into(), limit.into()]),
    );
    let cond = b.block(&[more]);
    let twice = b.one(I64, add(state.var, state.var));
    let body = b.block(&[twice]);
    let result =
        b.one(I64, Op::Loop { params: vec![(state, Atom::i64(1))], form: LoopForm::While(cond), body });
    let program = b.program(&[I64], &[result]);
    let last = |n| ints(&run(&program, vec![int(n)], 1).expect("runs")[0])[0];
    assert_eq!((last(1), last(100)), (1, 128));
}

#[test]
fn descriptors() {
    let mut b = Build::default();
    let lengths = b.param(INTS);
    let d = b.one(Ty::Desc, Op::MakeDesc(lengths));
    let two = b.one(Ty::Desc, Op::ConcatDesc(vec![d, d]));
    let uniform = b.one(Ty::Desc, Op::UniformDesc { rows: Atom::i64(2), m: Atom::i64(3) });
    let results = vec![
        b.one(INTS, Op::Lengths(two)),
        b.one(INTS, Op::SegIds(d)),
        b.one(I64, Op::Total(two)),
        b.one(I64, Op::Rows(two)),
        b.one(INTS, Op::Offsets(uniform)),
        two,
    ];
    let tys = [INTS, INTS, I64, I64, INTS, Ty::Desc];
    let got = run(&b.program(&tys, &results), vec![data(&[2i64, 0, 3])], 2).expect("runs");
    let got: Vec<Vec<i64>> = got.iter().map(ints).collect();
    let want = [
        vec![2, 0, 3, 2, 0, 3],
        vec![0, 0, 2, 2, 2],
        vec![10],
        vec![6],
        vec![0, 3, 6],
        vec![0, 2, 2, 5, 7, 7, 10],
    ];
    assert_eq!(got, want);
}

#[test]
fn large_segment_ids_and_fills() {
    let mut b = Build::default();
    let lengths = b.param(INTS);
    let d = b.one(Ty::Desc, Op::MakeDesc(lengths));
    let ids = b.one(INTS, Op::SegIds(d));
    let iota = b.one(INTS, Op::Iota(Atom::i64(100_000)));
    let same = b.one(Ty::Array(Prim::U8), Op::Replicate(Atom::i64(100_000), Atom::Const(Scalar::U8(9))));
    let lengths: Vec<i64> = (0..60_000).map(|i| i % 4).collect();
    let program = b.program(&[INTS, INTS, Ty::Array(Prim::U8)], &[ids, iota, same]);
    let got = run(&program, vec![data(&lengths)], 2).expect("runs");
    let want: Vec<i64> = (0..60_000).flat_map(|i| std::iter::repeat_n(i, (i % 4) as usize)).collect();
    assert_eq!(ints(&got[0]), want);
    assert_eq!(ints(&got[1]), (0..100_000).collect::<Vec<i64>>());
    assert_eq!(got[2], data(&[9u8; 100_000]));
}

#[test]
fn arrays() {
    let mut b = Build::default();
    let xs = b.param(INTS);
    let part = b.one(INTS, Op::Slice { arr: xs, start: Atom::i64(1), len: Atom::i64(2) });
    let literal = b.one(INTS, Op::Literal(vec![Atom::i64(7), Atom::i64(8)], Prim::I64));
    let joined = b.one(INTS, Op::Concat(vec![part, literal, part]));
    let none = b.one(INTS, Op::Concat(vec![]));
    let length = b.one(I64, Op::Length(joined));
    let third = b.one(I64, Op::Read(joined, Atom::i64(2)));
    let program = b.program(&[INTS, INTS, I64, I64], &[joined, none, length, third]);
    let got = run(&program, vec![data(&[1i64, 2, 3, 4])], 1).expect("runs");
    let got: Vec<Vec<i64>> = got.iter().map(ints).collect();
    assert_eq!(got, [vec![2, 3, 7, 8, 2, 3], vec![], vec![6], vec![7]]);
}

/// `loop xs = [] for i < n: xs ++ [i]`: the buffer must grow geometrically, or this is quadratic.
#[test]
fn appending_is_amortised() {
    let mut b = Build::default();
    let n = b.param(I64);
    let start = b.one(INTS, Op::Literal(vec![], Prim::I64));
    let state = Param { var: b.vars.fresh("xs"), ty: INTS };
    let index = b.vars.fresh("i");
    let outer = std::mem::take(&mut b.stms);
    let one = b.one(INTS, Op::Literal(vec![index.into()], Prim::I64));
    let next = b.one(INTS, Op::Concat(vec![state.var, one]));
    let body = b.block(&[next]);
    b.stms = outer;
    let form = LoopForm::For { index, prim: Prim::I64, bound: n.into() };
    let result = b.one(INTS, Op::Loop { params: vec![(state, start.into())], form, body });
    let got = run(&b.program(&[INTS], &[result]), vec![int(300_000)], 1).expect("runs");
    assert_eq!(ints(&got[0]), (0..300_000).collect::<Vec<i64>>());
}

#[test]
fn absurd_sizes_are_errors() {
    for n in [1i64 << 40, i64::MAX] {
        let mut b = Build::default();
        let size = b.param(I64);
        let xs = b.one(INTS, Op::Iota(size.into()));
        let error = run(&b.program(&[INTS], &[xs]), vec![int(n)], 1).expect_err("too large");
        assert!(error.message.starts_with("out of memory"), "{error}");
        assert_eq!(error.span, Some(span(0)));
    }
    let mut b = Build::default();
    let n = b.param(I64);
    let d = b.one(Ty::Desc, Op::UniformDesc { rows: n.into(), m: n.into() });
    let error = run(&b.program(&[Ty::Desc], &[d]), vec![int(1 << 33)], 1).expect_err("too large");
    assert!(error.message.starts_with("out of memory"), "{error}");
}

#[test]
fn failed_host_checks() {
    let mut b = Build::default();
    let (i, n) = (b.param(I64), b.param(I64));
    let ok =
        b.one(Ty::Scalar(Prim::Bool), Op::Prim(PrimOp::Cmp(CmpOp::Lt, Prim::I64), vec![i.into(), n.into()]));
    b.bind(&[], Op::Check { cond: ok.into(), kind: CheckKind::Bounds, args: vec![i.into(), n.into()] });
    let program = b.program(&[], &[]);
    assert_eq!(run(&program, vec![int(1), int(2)], 1), Ok(vec![]));
    let error = run(&program, vec![int(3), int(2)], 1).expect_err("outside");
    assert_eq!((error.message.as_str(), error.span), ("index 3 is outside [0,2)", Some(span(1))));
}

/// `map (\i -> ys[xs[i]])` with a bounds check, and a reduction of it.
fn gather(b: &mut Build, n: Var, xs: Var, ys: Var, reduce: bool) -> Var {
    let (row, pos) = (b.vars.fresh("row"), b.vars.fresh("pos"));
    let len = b.one(I64, Op::Length(ys));
    let op = b.add(Prim::I64);
    let code = b.code(|s| {
        let i = s.index(Prim::I64, xs, pos.into());
        let inside = s.cmp(CmpOp::Lt, Prim::I64, i, len.into());
        s.check(inside, CheckKind::Bounds, vec![i, len.into()]);
        vec![s.index(Prim::I64, ys, i)]
    });
    let kind = match reduce {
        true => KernelKind::Reduce { op, neutral: vec![Atom::i64(0)] },
        false => KernelKind::Map(vec![Out::Elem(Prim::I64)]),
    };
    b.kernel(&[INTS], kind, Space::flat(n.into()), row, pos, code)[0]
}

#[test]
fn the_smallest_failing_position_is_reported() {
    for reduce in [false, true] {
        let mut b = Build::default();
        let (n, xs, ys) = (b.param(I64), b.param(INTS), b.param(INTS));
        let zs = gather(&mut b, n, xs, ys, reduce);
        let exe = par_codegen::cpu::compile(&b.program(&[INTS], &[zs])).expect("compiles");
        let n = 500_000;
        let mut xs = vec![0i64; n];
        for (at, value) in [(499_999, 5), (300_000, 6), (200_001, 7), (200_002, 8)] {
            xs[at] = value;
        }
        for threads in [1, 2, 4] {
            let args = vec![int(n as i64), data(&xs), data(&[1i64, 2, 3])];
            let error = call(&exe, 0, args, threads).expect_err("outside");
            assert_eq!((error.message.as_str(), error.span), ("index 7 is outside [0,3)", Some(span(51))));
        }
    }
}

/// A loop and a branch with reads inside, which must not run ahead of their guards.
#[test]
fn guarded_reads_in_a_kernel() {
    let mut b = Build::default();
    let (n, xs) = (b.param(I64), b.param(INTS));
    let (row, pos) = (b.vars.fresh("row"), b.vars.fresh("pos"));
    let code = b.code(|s| {
        let acc = par_ir::core::Param { var: s.vars.fresh("acc"), ty: par_ir::Type::I64 };
        let index = s.vars.fresh("k");
        let outer = std::mem::take(&mut s.stms);
        let huge = s.bin(BinOp::Mul, Prim::I64, pos.into(), Atom::i64(1 << 40));
        let at = s.bin(BinOp::Sub, Prim::I64, huge, huge);
        let x = s.index(Prim::I64, xs, at);
        let next = s.bin(BinOp::Add, Prim::I64, acc.var.into(), x);
        let body = par_ir::core::Body { stms: std::mem::replace(&mut s.stms, outer), results: vec![next] };
        let form = par_ir::core::LoopForm::For { index, prim: Prim::I64, bound: pos.into() };
        let sum = s.exp(Prim::I64, Exp::Loop { params: vec![(acc, Atom::i64(0))], form, body });
        let safe = s.cmp(CmpOp::Lt, Prim::I64, pos.into(), Atom::i64(1));
        let outer = std::mem::take(&mut s.stms);
        let there = s.index(Prim::I64, xs, pos.into());
        let then = par_ir::core::Body { stms: std::mem::replace(&mut s.stms, outer), results: vec![there] };
        let other = par_ir::core::Body { stms: vec![], results: vec![Atom::i64(-1)] };
        let y = s.exp(Prim::I64, Exp::If { cond: safe, then, other });
        vec![sum, y]
    });
    let kind = KernelKind::Map(vec![Out::Elem(Prim::I64), Out::Elem(Prim::I64)]);
    let results = b.kernel(&[INTS, INTS], kind, Space::flat(n.into()), row, pos, code);
    let program = b.program(&[INTS, INTS], &results);
    let got = run(&program, vec![int(4), data(&[5i64])], 1).expect("runs");
    assert_eq!((ints(&got[0]), ints(&got[1])), (vec![0, 5, 10, 15], vec![5, -1, -1, -1]));
}

/// Per row: a sum of `xs[is[row] + k]`, whose base is read in the prologue.
#[test]
fn prologues() {
    let mut b = Build::default();
    let (n, d, is, xs) = (b.param(I64), b.param(Ty::Desc), b.param(INTS), b.param(INTS));
    let (row, pos) = (b.vars.fresh("row"), b.vars.fresh("pos"));
    let offsets_var = b.one(INTS, Op::Offsets(d));
    let mut prologue = Vec::new();
    let op = b.add(Prim::I64);
    let code = b.code(|s| {
        let base = s.index(Prim::I64, is, row.into());
        let start = s.index(Prim::I64, offsets_var, row.into());
        let shift = s.bin(BinOp::Sub, Prim::I64, base, start);
        prologue = std::mem::take(&mut s.stms);
        let at = s.bin(BinOp::Add, Prim::I64, shift, pos.into());
        vec![s.index(Prim::I64, xs, at)]
    });
    let kind = KernelKind::Reduce { op, neutral: vec![Atom::i64(0)] };
    let index = vec![row, b.vars.fresh("i")];
    let kernel = Kernel { kind, space: rows(n, Dim::Seg(d)), index, row, pos, prologue, body: code.body };
    let sums = b.one(INTS, Op::Kernel(Box::new(kernel)));
    let args = vec![int(3), offsets(&[2, 0, 3]), data(&[3i64, 0, 1]), data(&[1i64, 10, 100, 1000, 10000])];
    let got = run(&b.program(&[INTS], &[sums]), args, 2).expect("runs");
    assert_eq!(ints(&got[0]), [11000, 0, 1110]);
}

#[test]
fn counters_count() {
    let mut b = Build::default();
    let xs = b.one(INTS, Op::Iota(Atom::i64(5)));
    let x = b.one(I64, Op::Read(xs, Atom::i64(2)));
    let exe = par_codegen::cpu::compile(&b.program(&[I64], &[x])).expect("compiles");
    let (result, profile) = exe.call_profiled(0, vec![], &Options { threads: 1, ..Options::default() });
    result.expect("runs");
    // Five elements made, one read.
    let total = Counters { work: 6, bytes_materialised: 40, launches: 1, syncs: 1 };
    assert_eq!(profile.total, total);
    assert_eq!(profile.sites.iter().map(|s| s.runs).collect::<Vec<_>>(), [1, 1]);
    assert_eq!(profile.sites[1].counters, Counters { work: 1, syncs: 1, ..Counters::default() });
    assert!(profile.peak_bytes >= 40, "{}", profile.peak_bytes);
}

#[test]
fn wrong_arguments_are_errors() {
    let exe = par_codegen::cpu::compile(&updates()).expect("compiles");
    assert!(call(&exe, 0, vec![int(1)], 1).is_err());
    assert!(call(&exe, 0, vec![int(1), Column::Data(Array::zeros(Prim::F32, 3))], 1).is_err());
    assert!(call(&exe, 7, vec![], 1).is_err());
}

/// Variables that only one branch uses are dropped in the other: an update after the branch is in place.
#[test]
fn branches_release_what_they_do_not_use() {
    let mut b = Build::default();
    let (c, xs) = (b.param(Ty::Scalar(Prim::Bool)), b.param(INTS));
    let shared = b.one(INTS, Op::Atom(xs.into()));
    let outer: Vec<Stm> = std::mem::take(&mut b.stms);
    let first = b.one(I64, Op::Read(shared, Atom::i64(0)));
    let then = b.block(&[first]);
    let other = par_ir::flat::Block { stms: vec![], results: vec![Atom::i64(3)] };
    b.stms = outer;
    let x = b.one(I64, Op::If { cond: c.into(), versions: None, then, other });
    let ys = b.one(INTS, Op::Write { arr: xs, index: Atom::i64(1), value: x.into() });
    let exe = par_codegen::cpu::compile(&b.program(&[INTS], &[ys])).expect("compiles");
    for (flag, want) in [(true, [4i64, 4]), (false, [4, 3])] {
        let xs = data(&[4i64, 5]);
        let before = address(&xs);
        let got = call(&exe, 0, vec![Column::Scalar(Scalar::Bool(flag)), xs], 1).expect("runs");
        assert_eq!(ints(&got[0]), want);
        assert_eq!(address(&got[0]), before);
    }
}
