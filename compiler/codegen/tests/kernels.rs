//! Every kind of kernel on every kind of space, against a direct computation.

mod common;

use common::*;
use par_ir::flat::{KernelKind, Out, Program, Space, Ty};
use par_ir::prim::{BinOp, CmpOp, PrimOp};
use par_ir::{Atom, Prim, Scalar, Var};
use par_runtime::{Column, Executable};

/// A program with one kernel over a shape and an array `xs` of its elements.
fn each_shape(
    build: impl Fn(&mut Build, Space, Var) -> (Vec<Ty>, Vec<Var>),
    expected: impl Fn(&Shape, &[i64]) -> Vec<Column>,
) {
    for shape in Shape::all() {
        let mut b = Build::default();
        let (space, mut args) = shape.params(&mut b);
        let xs = b.param(INTS);
        let (tys, results) = build(&mut b, space, xs);
        let program = b.program(&tys, &results);
        let values = Random(42).ints(shape.total());
        args.push(data(&values));
        let want = expected(&shape, &values);
        let exe = par_codegen::cpu::compile(&program).expect("compiles");
        for threads in [1, 2, 3] {
            let got = call(&exe, 0, args.clone(), threads).expect("runs");
            assert!(got == want, "{:?} on {threads} threads", short(&shape));
        }
    }
}

fn short(shape: &Shape) -> String {
    format!("{shape:?}").chars().take(60).collect()
}

#[test]
fn map() {
    each_shape(
        |b, space, xs| {
            let (row, pos) = (b.vars.fresh("row"), b.vars.fresh("pos"));
            let code = b.code(|s| {
                let x = s.index(Prim::I64, xs, pos.into());
                let y = s.bin(BinOp::Mul, Prim::I64, x, Atom::i64(3));
                let z = s.bin(BinOp::Add, Prim::I64, y, row.into());
                let even = s.bin(BinOp::And, Prim::I64, x, Atom::i64(1));
                let odd = s.exp(
                    Prim::Bool,
                    par_ir::core::Exp::Prim(PrimOp::Conv(Prim::I64, Prim::Bool), vec![even]),
                );
                vec![z, odd]
            });
            let tys = vec![INTS, Ty::Array(Prim::Bool)];
            let kind = KernelKind::Map(vec![Out::Elem(Prim::I64), Out::Elem(Prim::Bool)]);
            let results = b.kernel(&tys, kind, space, row, pos, code);
            (tys, results)
        },
        |shape, xs| {
            let rows = shape.split(xs);
            let zs = rows.iter().enumerate().flat_map(|(i, r)| r.iter().map(move |x| x * 3 + i as i64));
            let odd: Vec<bool> = xs.iter().map(|x| x & 1 == 1).collect();
            vec![data(&zs.collect::<Vec<_>>()), data(&odd)]
        },
    );
}

#[test]
fn scatter() {
    each_shape(
        |b, space, xs| {
            let (row, pos) = (b.vars.fresh("row"), b.vars.fresh("pos"));
            let n = b.one(I64, par_ir::flat::Op::Length(xs));
            let dest = b.one(INTS, par_ir::flat::Op::Replicate(n.into(), Atom::i64(-1)));
            let code = b.code(|s| {
                let x = s.index(Prim::I64, xs, pos.into());
                let mirrored = s.bin(BinOp::Sub, Prim::I64, n.into(), pos.into());
                vec![mirrored, x]
            });
            let kind = KernelKind::Map(vec![Out::Scatter(vec![dest])]);
            let results = b.kernel(&[INTS], kind, space, row, pos, code);
            (vec![INTS], results)
        },
        |_, xs| {
            let mut ys = vec![-1; xs.len()];
            for (i, x) in xs.iter().enumerate().skip(1) {
                ys[xs.len() - i] = *x;
            }
            vec![data(&ys)]
        },
    );
}

#[test]
fn reduce_with_mapped_result() {
    each_shape(
        |b, space, xs| {
            let (row, pos) = (b.vars.fresh("row"), b.vars.fresh("pos"));
            let op = b.add(Prim::I64);
            let code = b.code(|s| {
                let x = s.index(Prim::I64, xs, pos.into());
                let twice = s.bin(BinOp::Add, Prim::I64, x, x);
                vec![x, twice]
            });
            let kind = KernelKind::Reduce { op, neutral: vec![Atom::i64(0)] };
            let results = b.kernel(&[INTS, INTS], kind, space, row, pos, code);
            (vec![INTS, INTS], results)
        },
        |shape, xs| {
            let sums: Vec<i64> = shape.split(xs).iter().map(|r| r.iter().sum()).collect();
            let twice: Vec<i64> = xs.iter().map(|x| 2 * x).collect();
            vec![data(&sums), data(&twice)]
        },
    );
}

/// `x -> a*x + b` composed: associative, not commutative.
fn affine(b: &mut Build) -> KernelKind {
    let op = b.operator(&[Prim::I64, Prim::I64], |s, x| {
        let a = s.bin(BinOp::Mul, Prim::I64, x[0], x[2]);
        let c = s.bin(BinOp::Mul, Prim::I64, x[1], x[2]);
        vec![a, s.bin(BinOp::Add, Prim::I64, c, x[3])]
    });
    KernelKind::Reduce { op, neutral: vec![Atom::i64(1), Atom::i64(0)] }
}

fn compose((a, b): (i64, i64), x: i64) -> (i64, i64) {
    (a.wrapping_mul(x), b.wrapping_mul(x).wrapping_add(x ^ 5))
}

fn affine_code(b: &mut Build, xs: Var, pos: Var) -> Code {
    b.code(|s| {
        let x = s.index(Prim::I64, xs, pos.into());
        vec![x, s.bin(BinOp::Xor, Prim::I64, x, Atom::i64(5))]
    })
}

#[test]
fn reduce_keeps_the_order() {
    each_shape(
        |b, space, xs| {
            let (row, pos) = (b.vars.fresh("row"), b.vars.fresh("pos"));
            let (kind, code) = (affine(b), affine_code(b, xs, pos));
            let results = b.kernel(&[INTS, INTS], kind, space, row, pos, code);
            (vec![INTS, INTS], results)
        },
        |shape, xs| {
            let rows = shape.split(xs);
            let all: Vec<(i64, i64)> =
                rows.iter().map(|r| r.iter().fold((1, 0), |acc, x| compose(acc, *x))).collect();
            columns(&all)
        },
    );
}

fn columns(pairs: &[(i64, i64)]) -> Vec<Column> {
    let (a, b): (Vec<i64>, Vec<i64>) = pairs.iter().copied().unzip();
    vec![data(&a), data(&b)]
}

fn scan_keeps_the_order(exclusive: bool) {
    each_shape(
        |b, space, xs| {
            let (row, pos) = (b.vars.fresh("row"), b.vars.fresh("pos"));
            let KernelKind::Reduce { op, neutral } = affine(b) else { unreachable!() };
            let mut code = affine_code(b, xs, pos);
            code.body.results.push(pos.into());
            let kind = KernelKind::Scan { op, neutral, exclusive, after: None };
            let tys = vec![INTS; 3];
            let results = b.kernel(&tys, kind, space, row, pos, code);
            (tys, results)
        },
        |shape, xs| {
            let mut all = Vec::new();
            for row in shape.split(xs) {
                let mut acc = (1, 0);
                for x in row {
                    let next = compose(acc, x);
                    all.push(if exclusive { acc } else { next });
                    acc = next;
                }
            }
            let mut want = columns(&all);
            want.push(data(&(0..xs.len() as i64).collect::<Vec<_>>()));
            want
        },
    );
}

#[test]
fn inclusive_scan() {
    scan_keeps_the_order(false);
}

#[test]
fn exclusive_scan() {
    scan_keeps_the_order(true);
}

#[test]
fn filter() {
    each_shape(
        |b, space, xs| {
            let (row, pos) = (b.vars.fresh("row"), b.vars.fresh("pos"));
            let code = b.code(|s| {
                let x = s.index(Prim::I64, xs, pos.into());
                let keep = s.cmp(CmpOp::Gt, Prim::I64, x, Atom::i64(-300));
                vec![keep, x, pos.into()]
            });
            let tys = vec![I64, INTS, INTS, INTS];
            let results = b.kernel(&tys, KernelKind::Filter, space, row, pos, code);
            (tys, results)
        },
        |shape, xs| {
            let keep = |x: &i64| *x > -300;
            let counts: Vec<i64> =
                shape.split(xs).iter().map(|r| r.iter().filter(|x| keep(x)).count() as i64).collect();
            let (at, kept): (Vec<i64>, Vec<i64>) =
                xs.iter().enumerate().filter(|(_, x)| keep(x)).map(|(i, x)| (i as i64, *x)).unzip();
            vec![int(kept.len() as i64), data(&counts), data(&kept), data(&at)]
        },
    );
}

#[test]
fn hist() {
    each_shape(
        |b, space, xs| {
            let (row, pos) = (b.vars.fresh("row"), b.vars.fresh("pos"));
            let dest = b.one(INTS, par_ir::flat::Op::Replicate(Atom::i64(900), Atom::i64(7)));
            let op = b.add(Prim::I64);
            let code = b.code(|s| {
                let x = s.index(Prim::I64, xs, pos.into());
                vec![x, row.into()]
            });
            let kind = KernelKind::Hist { dests: vec![dest], op, neutral: vec![Atom::i64(0)] };
            let results = b.kernel(&[INTS], kind, space, row, pos, code);
            (vec![INTS], results)
        },
        |shape, xs| {
            let mut bins = vec![7; 900];
            for (i, row) in shape.split(xs).iter().enumerate() {
                for x in row.iter().filter(|x| (0..900).contains(*x)) {
                    bins[*x as usize] += i as i64;
                }
            }
            vec![data(&bins)]
        },
    );
}

/// Sum and running sums of floats over a giant row and small ones.
fn float_sums() -> Program {
    let mut b = Build::default();
    let (n, d, xs) = (b.param(I64), b.param(Ty::Desc), b.param(Ty::Array(Prim::F32)));
    let floats = Ty::Array(Prim::F32);
    let mut results = Vec::new();
    for scan in [false, true] {
        let (row, pos) = (b.vars.fresh("row"), b.vars.fresh("pos"));
        let op = b.add(Prim::F32);
        let code = b.code(|s| vec![s.index(Prim::F32, xs, pos.into())]);
        let neutral = vec![Atom::Const(Scalar::F32(0.0))];
        let kind = match scan {
            true => KernelKind::Scan { op, neutral, exclusive: false, after: None },
            false => KernelKind::Reduce { op, neutral },
        };
        results.extend(b.kernel(&[floats], kind, rows(n, par_ir::Dim::Seg(d)), row, pos, code));
    }
    b.program(&[floats, floats], &results)
}

#[test]
fn float_results_do_not_depend_on_threads() {
    let exe: Executable = par_codegen::cpu::compile(&float_sums()).expect("compiles");
    let lengths = [3, 700_001, 0, 100_000, 2];
    let n: i64 = lengths.iter().sum();
    let mut random = Random(7);
    let xs: Vec<f32> = (0..n).map(|_| (random.next() % 1000) as f32 * 0.37).collect();
    let args = || vec![int(5), offsets(&lengths), data(&xs)];
    let want = call(&exe, 0, args(), 1).expect("runs");
    for threads in [2, 3, 4, 2, 2] {
        assert!(call(&exe, 0, args(), threads).expect("runs") == want, "{threads} threads");
    }
    let Column::Data(scanned) = &want[1] else { panic!("an array") };
    let exact: f64 = xs[3..700_004].iter().map(|x| *x as f64).sum();
    let got = scanned.slice::<f32>()[700_003] as f64;
    assert!((got - exact).abs() < 1e-4 * exact, "{got} {exact}");
}

/// A heavy body makes chunks small: 3000 elements of a flat space are cut, and nothing shows.
#[test]
fn heavy_bodies_are_cut_finely() {
    let mut b = Build::default();
    let n = b.param(I64);
    let floats = Ty::Array(Prim::F64);
    let (row, pos) = (b.vars.fresh("row"), b.vars.fresh("pos"));
    let op = b.add(Prim::F64);
    let code = b.code(|s| {
        let acc = par_ir::core::Param { var: s.vars.fresh("acc"), ty: par_ir::Type::scalar(Prim::F64) };
        let index = s.vars.fresh("k");
        let outer = std::mem::take(&mut s.stms);
        let sine = s.exp(
            Prim::F64,
            par_ir::core::Exp::Prim(PrimOp::Un(par_ir::prim::UnOp::Sin, Prim::F64), vec![acc.var.into()]),
        );
        let body = par_ir::core::Body { stms: std::mem::replace(&mut s.stms, outer), results: vec![sine] };
        let x =
            s.exp(Prim::F64, par_ir::core::Exp::Prim(PrimOp::Conv(Prim::I64, Prim::F64), vec![pos.into()]));
        let form = par_ir::core::LoopForm::For { index, prim: Prim::I64, bound: Atom::i64(20) };
        vec![s.exp(Prim::F64, par_ir::core::Exp::Loop { params: vec![(acc, x)], form, body })]
    });
    let kind = KernelKind::Reduce { op, neutral: vec![Atom::Const(Scalar::F64(0.0))] };
    let sums = b.kernel(&[floats], kind, Space::flat(n.into()), row, pos, code);
    let exe = par_codegen::cpu::compile(&b.program(&[floats], &sums)).expect("compiles");
    let want = call(&exe, 0, vec![int(3000)], 1).expect("runs");
    for threads in 2..5 {
        assert!(call(&exe, 0, vec![int(3000)], threads).expect("runs") == want);
    }
    let direct: f64 = (0..3000).map(|i| (0..20).fold(i as f64, |x, _| x.sin())).sum();
    let Column::Data(got) = &want[0] else { panic!("an array") };
    assert!((got.slice::<f64>()[0] - direct).abs() < 1e-9);
}

#[test]
fn the_dump_shows_every_function() {
    let text = par_codegen::cpu::dump_clif(&float_sums());
    for name in
        ["kernel0", "kernel0_Combine", "kernel1", "kernel1_ReduceOnly", "kernel1_Dual", "kernel1_Combine"]
    {
        let shown = [format!("; {name}\n"), format!("; {name}, vectors of")];
        assert!(shown.iter().any(|s| text.contains(s)), "{name}");
    }
    assert!(text.contains("fadd"));
}

/// Straight-line bodies run on vectors: all lengths around a whole number of iterations, rows, values that are the same for all.
#[test]
fn maps_on_vectors() {
    each_shape(
        |b, space, xs| {
            let (row, pos) = (b.vars.fresh("row"), b.vars.fresh("pos"));
            let code = b.code(|s| {
                let x = s.index(Prim::I64, xs, pos.into());
                let twice = s.bin(BinOp::Mul, Prim::I64, row.into(), Atom::i64(2));
                let y = s.bin(BinOp::Sub, Prim::I64, twice, x);
                vec![y, twice]
            });
            let tys = vec![INTS, INTS];
            let kind = KernelKind::Map(vec![Out::Elem(Prim::I64), Out::Elem(Prim::I64)]);
            let results = b.kernel(&tys, kind, space, row, pos, code);
            (tys, results)
        },
        |shape, xs| {
            let lengths = shape.lengths().into_iter().enumerate();
            let twice: Vec<i64> = lengths.flat_map(|(i, n)| vec![2 * i as i64; n]).collect();
            let ys: Vec<i64> = xs.iter().zip(&twice).map(|(x, t)| t.wrapping_sub(*x)).collect();
            vec![data(&ys), data(&twice)]
        },
    );
    for n in 0..70 {
        let mut b = Build::default();
        let (len, xs) = (b.param(I64), b.param(Ty::Array(Prim::F32)));
        let (row, pos) = (b.vars.fresh("row"), b.vars.fresh("pos"));
        let code = b.code(|s| {
            let x = s.index(Prim::F32, xs, pos.into());
            let y = s.bin(BinOp::Mul, Prim::F32, x, Atom::Const(Scalar::F32(0.3)));
            vec![s.bin(BinOp::Div, Prim::F32, y, x)]
        });
        let tys = [Ty::Array(Prim::F32)];
        let kind = KernelKind::Map(vec![Out::Elem(Prim::F32)]);
        let results = b.kernel(&tys, kind, Space::flat(len.into()), row, pos, code);
        let values: Vec<f32> = (0..n).map(|i| i as f32 + 0.1).collect();
        let want: Vec<f32> = values.iter().map(|x| x * 0.3 / x).collect();
        let got = run(&b.program(&tys, &results), vec![int(n), data(&values)], 1).expect("runs");
        assert!(got == [data(&want)], "{n} elements");
    }
}

/// Callers test the base case of a recursive function before they call it: `fib` before each of its two calls, the kernel before
/// its own.
#[test]
fn ends_of_recursion_are_found_before_calls() {
    let text = "local fun fib@0 (n_1: i64) -> (r_2: i64)
{
  let (t_3: bool) = lt.i64(n_1, 2i64)
  let (r_4: i64) = if t_3 then { in (n_1) } else {
    let (t_5: i64) = sub.i64(n_1, 1i64)
    let (a_6: i64) = call @0 (t_5)
    let (t_7: i64) = sub.i64(n_1, 2i64)
    let (b_8: i64) = call @0 (t_7)
    let (t_9: i64) = add.i64(a_6, b_8)
    in (t_9)
  }
  in (r_4)
}

fun main@0 (n_10: i64, xs_11: []i64) -> ([]i64)
{
  let (ys_12: []i64) = kernel map (elem i64) over [n_10] \\row_13 pos_14 {
    let (x_15: i64) = xs_11[pos_14]
    let (y_16: i64) = call @0 (x_15)
    in (y_16)
  }
  in (ys_12)
}
";
    let program = par_ir::parse::parse_flat(text).unwrap_or_else(|e| panic!("{e}"));
    let clif = par_codegen::cpu::dump_clif(&program);
    let functions: Vec<&str> = clif.split("\n; ").collect();
    let comparisons = |name: &str| {
        let found = functions.iter().find(|f| f.trim_start_matches("; ").starts_with(name));
        found.unwrap_or_else(|| panic!("{name} in {clif}")).matches(" slt ").count()
    };
    // Its own question, and one for each call.
    assert_eq!(comparisons("kernel0_fib"), 3, "{clif}");
    // Where positions begin and end, and the question.
    assert!(comparisons("kernel0\n") >= 3, "{clif}");
    let exe = par_codegen::cpu::compile(&program).expect("compiles");
    let got = call(&exe, 0, vec![int(4), data(&[10i64, 1, 0, 20])], 1).expect("runs");
    assert!(got == [data(&[55i64, 1, 0, 6765])]);
}

/// Clamped neighbours are read in groups, and nothing asks for edges or bounds between the reads.
#[test]
fn clamps_are_decided_once_in_a_row() {
    let text = "
fun main@0 (n_10: i64, m_11: i64, xs_12: []f32) -> ([]f32)
{
  let (last_13: i64) = sub.i64(m_11, 1i64)
  let (ys_14: []f32) = kernel map (elem f32) over [n_10] [m_11] \\row_15 pos_16 at_17 prologue {
    let (start_18: i64) = mul.i64(row_15, m_11)
    in ()
  } {
    let (i_19: i64) = sub.i64(pos_16, start_18)
    let (a_20: i64) = sub.i64(i_19, 1i64)
    let (b_21: i64) = min.i64(a_20, last_13)
    let (c_22: i64) = max.i64(b_21, 0i64)
    let (d_23: i64) = add.i64(i_19, 1i64)
    let (e_24: i64) = min.i64(d_23, last_13)
    let (f_25: i64) = max.i64(e_24, 0i64)
    let (g_26: bool) = lt.i64(c_22, m_11)
    check g_26 bounds (c_22, m_11)
    let (h_27: i64) = add.i64(start_18, c_22)
    let (x_28: f32) = xs_12[h_27]
    let (k_29: bool) = lt.i64(f_25, m_11)
    check k_29 bounds (f_25, m_11)
    let (l_30: i64) = add.i64(start_18, f_25)
    let (y_31: f32) = xs_12[l_30]
    let (z_32: f32) = sub.f32(y_31, x_28)
    in (z_32)
  }
  in (ys_14)
}
";
    let program = par_ir::parse::parse_flat(text).unwrap_or_else(|e| panic!("{e}"));
    let clif = par_codegen::cpu::dump_clif(&program);
    let most = clif.split("\nblock").map(|block| block.matches("load.f32x4").count()).max();
    // Two arrays of 16 lanes, in registers that are as wide as the processor's.
    let bits = clif.split_once("vectors of ").and_then(|(_, rest)| rest.split(' ').next()?.parse().ok());
    assert_eq!(most, Some(2 * 16 * 32 / bits.unwrap_or(128)), "{clif}");
    let exe = par_codegen::cpu::compile(&program).expect("compiles");
    let xs: Vec<f32> = (0..63).map(|i| (i * i % 17) as f32).collect();
    let got = call(&exe, 0, vec![int(3), int(21), data(&xs)], 1).expect("runs");
    let at = |r: usize, i: i64| xs[21 * r + i.clamp(0, 20) as usize];
    let want: Vec<f32> =
        (0..63).map(|p| at(p / 21, p as i64 % 21 + 1) - at(p / 21, p as i64 % 21 - 1)).collect();
    assert!(got == [data(&want)]);
}
