//! Times of a few kernels on arrays far larger than the caches: `cargo run --release --example speed [threads]`.
//!
//! The programs are FLAT written by hand, so that only the code generator and the executor are measured.

#[path = "../tests/common/mod.rs"]
mod common;

use common::*;
use par_ir::flat::{KernelKind, Out, Program, Space, Ty};
use par_ir::prim::{BinOp, CmpOp};
use par_ir::{Atom, Dim, Prim, Scalar};
use par_runtime::Column;
use std::time::Instant;

const N: usize = 1 << 25;
const F32S: Ty = Ty::Array(Prim::F32);

fn saxpy() -> Program {
    let mut b = Build::default();
    let (n, xs, ys) = (b.param(I64), b.param(F32S), b.param(F32S));
    let (row, pos) = (b.vars.fresh("row"), b.vars.fresh("pos"));
    let code = b.code(|s| {
        let (x, y) = (s.index(Prim::F32, xs, pos.into()), s.index(Prim::F32, ys, pos.into()));
        let ax = s.bin(BinOp::Mul, Prim::F32, Atom::Const(Scalar::F32(2.5)), x);
        vec![s.bin(BinOp::Add, Prim::F32, ax, y)]
    });
    let kind = KernelKind::Map(vec![Out::Elem(Prim::F32)]);
    let zs = b.kernel(&[F32S], kind, Space::flat(n.into()), row, pos, code);
    b.program(&[F32S], &zs)
}

fn fold(p: Prim, scan: bool, ragged: bool) -> Program {
    let mut b = Build::default();
    let n = b.param(I64);
    let space = if ragged { rows(n, Dim::Seg(b.param(Ty::Desc))) } else { Space::flat(n.into()) };
    let xs = b.param(Ty::Array(p));
    let (row, pos) = (b.vars.fresh("row"), b.vars.fresh("pos"));
    let op = b.add(p);
    let code = b.code(|s| vec![s.index(p, xs, pos.into())]);
    let neutral = vec![Atom::Const(Scalar::zero(p))];
    let kind = match scan {
        true => KernelKind::Scan { op, neutral, exclusive: false, after: None },
        false => KernelKind::Reduce { op, neutral },
    };
    let ys = b.kernel(&[Ty::Array(p)], kind, space, row, pos, code);
    b.program(&[Ty::Array(p)], &ys)
}

fn spmv() -> Program {
    let mut b = Build::default();
    let (n, d) = (b.param(I64), b.param(Ty::Desc));
    let (columns, values, x) = (b.param(INTS), b.param(F32S), b.param(F32S));
    let (row, pos) = (b.vars.fresh("row"), b.vars.fresh("pos"));
    let op = b.add(Prim::F32);
    let code = b.code(|s| {
        let (j, v) = (s.index(Prim::I64, columns, pos.into()), s.index(Prim::F32, values, pos.into()));
        let xj = s.index(Prim::F32, x, j);
        vec![s.bin(BinOp::Mul, Prim::F32, v, xj)]
    });
    let kind = KernelKind::Reduce { op, neutral: vec![Atom::Const(Scalar::F32(0.0))] };
    let ys = b.kernel(&[F32S], kind, rows(n, Dim::Seg(d)), row, pos, code);
    b.program(&[F32S], &ys)
}

fn filter() -> Program {
    let mut b = Build::default();
    let (n, xs) = (b.param(I64), b.param(F32S));
    let (row, pos) = (b.vars.fresh("row"), b.vars.fresh("pos"));
    let code = b.code(|s| {
        let x = s.index(Prim::F32, xs, pos.into());
        vec![s.cmp(CmpOp::Gt, Prim::F32, x, Atom::Const(Scalar::F32(0.5))), x]
    });
    let tys = [I64, INTS, F32S];
    let results = b.kernel(&tys, KernelKind::Filter, Space::flat(n.into()), row, pos, code);
    b.program(&tys, &results)
}

fn hist() -> Program {
    let mut b = Build::default();
    let (n, xs) = (b.param(I64), b.param(INTS));
    let (row, pos) = (b.vars.fresh("row"), b.vars.fresh("pos"));
    let dest = b.one(INTS, par_ir::flat::Op::Replicate(Atom::i64(256), Atom::i64(0)));
    let op = b.add(Prim::I64);
    let code = b.code(|s| {
        let x = s.index(Prim::I64, xs, pos.into());
        vec![s.bin(BinOp::And, Prim::I64, x, Atom::i64(255)), Atom::i64(1)]
    });
    let kind = KernelKind::Hist { dests: vec![dest], op, neutral: vec![Atom::i64(0)] };
    let ys = b.kernel(&[INTS], kind, Space::flat(n.into()), row, pos, code);
    b.program(&[INTS], &ys)
}

fn time(name: &str, program: &Program, args: &[Column], threads: usize) {
    let exe = par_codegen::cpu::compile(program).expect("compiles");
    let mut times: Vec<f64> = (0..9)
        .map(|_| {
            let args = args.to_vec();
            let start = Instant::now();
            let result = call(&exe, 0, args, threads).expect("runs");
            let time = start.elapsed().as_secs_f64() * 1e3;
            drop(result);
            time
        })
        .collect();
    times.sort_by(f64::total_cmp);
    println!("{name:<20} {:8.2} ms (best {:.2})", times[times.len() / 2], times[0]);
}

fn main() {
    let threads = std::env::args().nth(1).and_then(|t| t.parse().ok()).unwrap_or(1);
    let mut random = Random(1);
    let n = || int(N as i64);
    let floats: Vec<f32> = (0..N).map(|_| (random.next() % 1000) as f32 / 1000.0).collect();
    let longs = random.ints(N);
    let mut lengths = Vec::new();
    let mut left = N as i64;
    while left > 0 {
        let length = ((random.next() % 33) as i64).min(left);
        lengths.push(length);
        left -= length;
    }
    let segments = [int(lengths.len() as i64), offsets(&lengths)];
    let columns: Vec<i64> = (0..N).map(|_| (random.next() % (1 << 20)) as i64).collect();
    time("saxpy f32", &saxpy(), &[n(), data(&floats), data(&floats)], threads);
    time("sum f32", &fold(Prim::F32, false, false), &[n(), data(&floats)], threads);
    time("sum i64", &fold(Prim::I64, false, false), &[n(), data(&longs)], threads);
    time("scan i64", &fold(Prim::I64, true, false), &[n(), data(&longs)], threads);
    time("scan f32", &fold(Prim::F32, true, false), &[n(), data(&floats)], threads);
    let segmented = [&segments[..], &[data(&floats)]].concat();
    time("segmented sum f32", &fold(Prim::F32, false, true), &segmented, threads);
    let sparse = [&segments[..], &[data(&columns), data(&floats), data(&floats[..1 << 20])]].concat();
    time("spmv f32", &spmv(), &sparse, threads);
    time("filter f32", &filter(), &[n(), data(&floats)], threads);
    time("histogram 256", &hist(), &[n(), data(&longs)], threads);
}
