//! Builds small FLAT programs by hand, and runs them.
#![allow(dead_code)]

use par_codegen::cpu::compile;
use par_ir::core::{self, Body, Exp, Lambda, Schedule};
use par_ir::flat::{Block, Fun, Kernel, KernelKind, Op, Param, Program, Space, Stm, Ty};
use par_ir::place::{PlaceId, Places};
use par_ir::prim::{BinOp, CmpOp, PrimOp};
use par_ir::{Atom, CheckKind, Dim, Prim, Scalar, Span, Type, Var, Vars};
use par_runtime::array::Element;
use par_runtime::{Array, Column, Executable, Options, RuntimeError};

/// A function under construction.
#[derive(Default)]
pub struct Build {
    pub vars: Vars,
    pub params: Vec<Param>,
    pub stms: Vec<Stm>,
}

pub const I64: Ty = Ty::Scalar(Prim::I64);
pub const INTS: Ty = Ty::Array(Prim::I64);

impl Build {
    pub fn param(&mut self, ty: Ty) -> Var {
        let var = self.vars.fresh("p");
        self.params.push(Param { var, ty });
        var
    }

    /// Binds the results of an operation.
    pub fn bind(&mut self, tys: &[Ty], op: Op) -> Vec<Var> {
        let pat: Vec<Param> = tys.iter().map(|ty| Param { var: self.vars.fresh("x"), ty: *ty }).collect();
        let bound = pat.iter().map(|p| p.var).collect();
        let span = span(self.stms.len() as u32);
        self.stms.push(Stm { pat, op, span, place: PlaceId::default() });
        bound
    }

    pub fn one(&mut self, ty: Ty, op: Op) -> Var {
        self.bind(&[ty], op)[0]
    }

    /// Statements made so far become a block.
    pub fn block(&mut self, results: &[Var]) -> Block {
        Block {
            stms: std::mem::take(&mut self.stms),
            results: results.iter().map(|v| Atom::Var(*v)).collect(),
        }
    }

    pub fn fun(&mut self, name: &str, ret: &[Ty], results: &[Var]) -> Fun {
        Fun {
            name: name.into(),
            entry: None,
            params: std::mem::take(&mut self.params),
            ret: ret.to_vec(),
            body: self.block(results),
            span: span(99),
        }
    }

    pub fn program(mut self, ret: &[Ty], results: &[Var]) -> Program {
        let fun = self.fun("main", ret, results);
        Program { funs: vec![fun], locals: vec![], vars: self.vars, places: Places::default() }
    }

    pub fn kernel(
        &mut self,
        tys: &[Ty],
        kind: KernelKind,
        space: Space,
        row: Var,
        pos: Var,
        code: Code,
    ) -> Vec<Var> {
        let inner = self.vars.fresh("i");
        let index = if space.as_flat().is_some() { vec![pos] } else { vec![row, inner] };
        let kernel = Kernel { kind, space, index, row, pos, prologue: vec![], body: code.body };
        self.bind(tys, Op::Kernel(Box::new(kernel)))
    }

    /// `op` on two operands per combined value.
    pub fn operator(
        &mut self,
        prims: &[Prim],
        body: impl FnOnce(&mut Scope, &[Atom]) -> Vec<Atom>,
    ) -> Lambda {
        let params: Vec<core::Param> = prims
            .iter()
            .chain(prims)
            .map(|p| core::Param { var: self.vars.fresh("a"), ty: Type::scalar(*p) })
            .collect();
        let atoms: Vec<Atom> = params.iter().map(|p| Atom::Var(p.var)).collect();
        let mut scope = Scope { vars: &mut self.vars, stms: vec![] };
        let results = body(&mut scope, &atoms);
        let body = Body { stms: scope.stms, results };
        let ret = prims.iter().map(|p| Type::scalar(*p)).collect();
        Lambda { params, body, ret, schedule: Schedule::Free }
    }

    pub fn add(&mut self, p: Prim) -> Lambda {
        self.operator(&[p], |s, x| vec![s.bin(BinOp::Add, p, x[0], x[1])])
    }

    pub fn code(&mut self, body: impl FnOnce(&mut Scope) -> Vec<Atom>) -> Code {
        let mut scope = Scope { vars: &mut self.vars, stms: vec![] };
        let results = body(&mut scope);
        Code { body: Body { stms: scope.stms, results } }
    }
}

pub struct Code {
    pub body: Body,
}

/// Scalar statements under construction.
pub struct Scope<'a> {
    pub vars: &'a mut Vars,
    pub stms: Vec<core::Stm>,
}

impl Scope<'_> {
    pub fn exp(&mut self, p: Prim, exp: Exp) -> Atom {
        let var = self.vars.fresh("t");
        self.stms.push(core::Stm {
            pat: vec![core::Param { var, ty: Type::scalar(p) }],
            exp,
            span: span(50),
        });
        Atom::Var(var)
    }

    pub fn bin(&mut self, op: BinOp, p: Prim, a: Atom, b: Atom) -> Atom {
        self.exp(p, Exp::Prim(PrimOp::Bin(op, p), vec![a, b]))
    }

    pub fn cmp(&mut self, op: CmpOp, p: Prim, a: Atom, b: Atom) -> Atom {
        self.exp(Prim::Bool, Exp::Prim(PrimOp::Cmp(op, p), vec![a, b]))
    }

    pub fn index(&mut self, p: Prim, arr: Var, i: Atom) -> Atom {
        self.exp(p, Exp::Index(arr, vec![i]))
    }

    pub fn check(&mut self, cond: Atom, kind: CheckKind, args: Vec<Atom>) {
        let exp = Exp::Check { cond, kind, args };
        self.stms.push(core::Stm { pat: vec![], exp, span: span(51) });
    }
}

pub fn span(n: u32) -> Span {
    Span { file: 0, start: n, end: n + 1 }
}

pub fn rows(rows: Var, dim: Dim) -> Space {
    Space::rows(rows.into(), dim)
}

pub fn run(program: &Program, args: Vec<Column>, threads: usize) -> Result<Vec<Column>, RuntimeError> {
    call(&compile(program).expect("compiles"), 0, args, threads)
}

pub fn call(
    exe: &Executable,
    fun: usize,
    args: Vec<Column>,
    threads: usize,
) -> Result<Vec<Column>, RuntimeError> {
    exe.call(fun, args, &Options { threads, ..Options::default() })
}

pub fn data<T: Element>(xs: &[T]) -> Column {
    Column::Data(Array::from_slice(xs))
}

pub fn int(x: i64) -> Column {
    Column::Scalar(Scalar::I64(x))
}

pub fn offsets(lengths: &[i64]) -> Column {
    let mut sum = 0;
    let ends = lengths.iter().map(|n| {
        sum += n;
        sum
    });
    data(&std::iter::once(0).chain(ends).collect::<Vec<i64>>()).into_offsets()
}

trait IntoOffsets {
    fn into_offsets(self) -> Column;
}

impl IntoOffsets for Column {
    fn into_offsets(self) -> Column {
        match self {
            Column::Data(a) => Column::Offsets(a),
            other => other,
        }
    }
}

/// Pseudo-random numbers.
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    pub fn ints(&mut self, n: usize) -> Vec<i64> {
        (0..n).map(|_| (self.next() % 2001) as i64 - 1000).collect()
    }
}

/// A space to test on: its rows' lengths, and how the kernel sees it.
#[derive(Clone, Debug)]
pub enum Shape {
    Flat(i64),
    Uniform(i64, i64),
    Ragged(Vec<i64>),
}

impl Shape {
    pub fn all() -> Vec<Shape> {
        let giant = 1_000_000;
        let mixed: Vec<i64> =
            (0..3000).map(|i| [0, 1, 7, 30][i % 4]).chain([giant, 0, 5, 200_000, 1]).collect();
        vec![
            Shape::Flat(0),
            Shape::Flat(1),
            Shape::Flat(1000),
            Shape::Flat(giant),
            Shape::Uniform(0, 5),
            Shape::Uniform(5, 0),
            Shape::Uniform(7, 3),
            Shape::Uniform(40_000, 3),
            Shape::Uniform(3, 100_001),
            Shape::Ragged(vec![]),
            Shape::Ragged(vec![0]),
            Shape::Ragged(vec![0, 0, 0]),
            Shape::Ragged(vec![0, 3, 0, 2]),
            Shape::Ragged(vec![1; 50_000]),
            Shape::Ragged(vec![giant]),
            Shape::Ragged(mixed),
        ]
    }

    pub fn lengths(&self) -> Vec<usize> {
        match self {
            Shape::Flat(n) => vec![*n as usize],
            Shape::Uniform(rows, m) => vec![*m as usize; *rows as usize],
            Shape::Ragged(lengths) => lengths.iter().map(|n| *n as usize).collect(),
        }
    }

    pub fn total(&self) -> usize {
        self.lengths().iter().sum()
    }

    /// The rows of `xs`.
    pub fn split<T: Copy>(&self, xs: &[T]) -> Vec<Vec<T>> {
        let mut rest = xs;
        self.lengths()
            .into_iter()
            .map(|n| {
                let (row, after) = rest.split_at(n);
                rest = after;
                row.to_vec()
            })
            .collect()
    }

    /// The space over fresh parameters, and the arguments for them.
    pub fn params(&self, b: &mut Build) -> (Space, Vec<Column>) {
        match self {
            Shape::Flat(n) => (Space::flat(b.param(I64).into()), vec![int(*n)]),
            Shape::Uniform(r, m) => {
                let (rows_var, m_var) = (b.param(I64), b.param(I64));
                (rows(rows_var, Dim::Size(m_var.into())), vec![int(*r), int(*m)])
            }
            Shape::Ragged(lengths) => {
                let (rows_var, d) = (b.param(I64), b.param(Ty::Desc));
                (rows(rows_var, Dim::Seg(d)), vec![int(lengths.len() as i64), offsets(lengths)])
            }
        }
    }
}
