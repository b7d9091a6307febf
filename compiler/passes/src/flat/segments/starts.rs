//! The statements that make rows of the places where they start, and find out whether these grow.
//!
//! ```text
//! starts = kernel map over k { the index }
//! m, numbers, firsts = kernel filter over k { 0 <= starts[pos] < n and not the same as the next, pos, starts[pos] }
//! least, lens = kernel reduce min over m { the next of firsts, or n, less firsts[pos] }
//! ```

use super::find::Ids;
use crate::flat::host::Host;
use par_ir::core::{Body, Exp, Lambda, Param, Stm as ScalarStm};
use par_ir::flat::{self, Block, Kernel, KernelKind, Op, Out, Space, Stm, Ty, VersionChoice};
use par_ir::prim::{BinOp, CmpOp, PrimOp, UnOp};
use par_ir::ty::{Atom, Type, Var, Vars};
use par_ir::visit::Code;
use par_runtime::{Prim, Scalar};

/// Elements per row from which on rows are worth it.
pub const MEAN: i64 = 4;

/// The statements, and what they bind.
pub struct Starts {
    pub stms: Vec<Stm>,
    /// Whether there are rows, none of them empty.
    pub grow: Atom,
    /// How many.
    pub rows: Atom,
    /// Their numbers, and their lengths.
    pub numbers: Var,
    pub lens: Var,
}

impl Starts {
    /// For the rows of these numbers.
    pub fn new(b: &Block, ids: &Ids, vars: &mut Vars) -> Starts {
        let like = &b.stms[ids.scatter];
        let mut host = Host::new(like, vars);
        let least_total = host.scalar("least", BinOp::Mul.into(), vec![ids.k, Atom::i64(MEAN)]);
        let worth = host.scalar("worth", CmpOp::Le.into(), vec![least_total, ids.n]);
        let then = host.block(|host| host.rows(ids));
        let other = host.block(|host| {
            let [a, b] = [(); 2].map(|()| Atom::Var(host.array("none", Op::Literal(vec![], Prim::I64))));
            vec![Atom::i64(0), Atom::i64(0), a, b]
        });
        let (scalar, array) = (Ty::Scalar(Prim::I64), Ty::Array(Prim::I64));
        let names = [("rows", scalar), ("shortest", scalar), ("numbers", array), ("lens", array)];
        let pat = names.map(|(name, ty)| flat::Param { var: host.vars.fresh(name), ty });
        let versions = Some(VersionChoice::Condition);
        host.bind(pat.to_vec(), Op::If { cond: worth, versions, then, other });
        let [rows, shortest, numbers, lens] = pat.map(|p| p.var);
        let some = host.scalar("some", CmpOp::Le.into(), vec![Atom::i64(1), rows.into()]);
        let growing = host.scalar("growing", CmpOp::Le.into(), vec![Atom::i64(1), shortest.into()]);
        let and = PrimOp::Bin(BinOp::And, Prim::Bool);
        let grow = host.scalar("grow", Operator(and), vec![some, growing]);
        Starts { stms: host.stms, grow, rows: rows.into(), numbers, lens }
    }
}

/// An operator on `i64`s, or the one given.
struct Operator(PrimOp);

impl From<BinOp> for Operator {
    fn from(op: BinOp) -> Operator {
        Operator(PrimOp::Bin(op, Prim::I64))
    }
}

impl From<CmpOp> for Operator {
    fn from(op: CmpOp) -> Operator {
        Operator(PrimOp::Cmp(op, Prim::I64))
    }
}

impl Host<'_> {
    fn scalar(&mut self, name: &str, Operator(op): Operator, xs: Vec<Atom>) -> Atom {
        self.prim(name, op, xs)
    }

    fn array(&mut self, name: &str, op: Op) -> Var {
        let var = self.vars.fresh(name);
        self.bind(vec![flat::Param { var, ty: Ty::Array(Prim::I64) }], op);
        var
    }

    fn block(&mut self, build: impl FnOnce(&mut Self) -> Vec<Atom>) -> Block {
        let outside = std::mem::take(&mut self.stms);
        let results = build(self);
        Block { stms: std::mem::replace(&mut self.stms, outside), results }
    }

    /// Number of rows, length of the shortest, row numbers and lengths.
    fn rows(&mut self, ids: &Ids) -> Vec<Atom> {
        let Op::Kernel(scatter) = &self.like.op else { unreachable!("a scatter is a kernel") };
        let mut kernel = (**scatter).clone();
        kernel.kind = KernelKind::Map(vec![Out::Elem(Prim::I64)]);
        kernel.body.results.truncate(1);
        let kernel = kernel.refreshed(self.vars);
        let starts = self.array("starts", Op::Kernel(Box::new(kernel)));
        let [rows, counts, numbers, firsts] =
            ["rows", "counts", "numbers", "firsts"].map(|name| self.vars.fresh(name));
        let filter = self.inside(ids, starts);
        let arrays = [counts, numbers, firsts].map(|var| flat::Param { var, ty: Ty::Array(Prim::I64) });
        let mut pat = vec![flat::Param { var: rows, ty: Ty::Scalar(Prim::I64) }];
        pat.extend(arrays);
        self.bind(pat, Op::Kernel(Box::new(filter)));
        let [least, lens] = ["least", "lens"].map(|name| self.vars.fresh(name));
        let lengths = self.lengths(ids, rows.into(), firsts);
        let pat = [least, lens].map(|var| flat::Param { var, ty: Ty::Array(Prim::I64) });
        self.bind(pat.to_vec(), Op::Kernel(Box::new(lengths)));
        let shortest = self.vars.fresh("shortest");
        let read = Op::Read(least, Atom::i64(0));
        self.bind(vec![flat::Param { var: shortest, ty: Ty::Scalar(Prim::I64) }], read);
        [rows, shortest, numbers, lens].map(Atom::Var).to_vec()
    }

    /// The numbers of rows that start inside, and not where the next one does, and where that is.
    fn inside(&mut self, ids: &Ids, starts: Var) -> Kernel {
        let (mut code, row, pos) = Scalars::new(self);
        let start = code.read(starts, pos.into());
        let not_before = code.prim(CmpOp::Le.into(), vec![Atom::i64(0), start]);
        let not_after = code.prim(CmpOp::Lt.into(), vec![start, ids.n]);
        let next = code.prim(BinOp::Add.into(), vec![pos.into(), Atom::i64(1)]);
        let has_next = code.prim(CmpOp::Lt.into(), vec![next, ids.k]);
        let is_empty = code.branch(has_next, Prim::Bool, Atom::bool(false), |code| {
            let other = code.read(starts, next);
            code.prim(CmpOp::Eq.into(), vec![other, start])
        });
        let not_empty = code.prim(Operator(PrimOp::Un(UnOp::Not, Prim::Bool)), vec![is_empty]);
        let and = PrimOp::Bin(BinOp::And, Prim::Bool);
        let inside = code.prim(Operator(and), vec![not_before, not_after]);
        let keep = code.prim(Operator(and), vec![inside, not_empty]);
        let body = code.body(vec![keep, pos.into(), start]);
        Kernel {
            kind: KernelKind::Filter,
            space: Space::flat(ids.k),
            index: vec![pos],
            row,
            pos,
            prologue: vec![],
            body,
        }
    }

    /// The lengths of the rows that start there, and the least of them; that is 0 if the first does not start at 0.
    fn lengths(&mut self, ids: &Ids, rows: Atom, firsts: Var) -> Kernel {
        let (mut code, row, pos) = Scalars::new(self);
        let start = code.read(firsts, pos.into());
        let next = code.prim(BinOp::Add.into(), vec![pos.into(), Atom::i64(1)]);
        let has_next = code.prim(CmpOp::Lt.into(), vec![next, rows]);
        let end = code.branch(has_next, Prim::I64, ids.n, |code| code.read(firsts, next));
        let len = code.prim(BinOp::Sub.into(), vec![end, start]);
        let first = code.prim(CmpOp::Eq.into(), vec![pos.into(), Atom::i64(0)]);
        let late = code.prim(CmpOp::Lt.into(), vec![Atom::i64(0), start]);
        let and = PrimOp::Bin(BinOp::And, Prim::Bool);
        let wrong = code.prim(Operator(and), vec![first, late]);
        let select = PrimOp::Select(Prim::I64);
        let counted = code.prim(Operator(select), vec![wrong, Atom::i64(0), len]);
        let body = code.body(vec![counted, len]);
        let op = Lambda::of_operator(BinOp::Min, Prim::I64, self.like.span, self.vars);
        let kind = KernelKind::Reduce { op, neutral: vec![Atom::Const(Scalar::I64(i64::MAX))] };
        Kernel { kind, space: Space::flat(rows), index: vec![pos], row, pos, prologue: vec![], body }
    }
}

/// Scalar code under construction.
struct Scalars<'c, 'h> {
    host: &'c mut Host<'h>,
    stms: Vec<ScalarStm>,
}

impl<'c, 'h> Scalars<'c, 'h> {
    /// For a kernel, with its row and position.
    fn new(host: &'c mut Host<'h>) -> (Scalars<'c, 'h>, Var, Var) {
        let [row, pos] = ["row", "pos"].map(|name| host.vars.fresh(name));
        (Scalars { host, stms: vec![] }, row, pos)
    }

    fn bind(&mut self, prim: Prim, exp: Exp) -> Atom {
        let var = self.host.vars.fresh("t");
        let pat = vec![Param { var, ty: Type::scalar(prim) }];
        self.stms.push(ScalarStm { pat, exp, span: self.host.like.span });
        var.into()
    }

    fn prim(&mut self, Operator(op): Operator, xs: Vec<Atom>) -> Atom {
        self.bind(op.result(), Exp::Prim(op, xs))
    }

    fn read(&mut self, array: Var, i: Atom) -> Atom {
        self.bind(Prim::I64, Exp::Index(array, vec![i]))
    }

    fn branch(
        &mut self,
        cond: Atom,
        prim: Prim,
        otherwise: Atom,
        build: impl FnOnce(&mut Self) -> Atom,
    ) -> Atom {
        let outside = std::mem::take(&mut self.stms);
        let results = vec![build(self)];
        let then = Body { stms: std::mem::replace(&mut self.stms, outside), results };
        let other = Body { stms: vec![], results: vec![otherwise] };
        self.bind(prim, Exp::If { cond, then, other })
    }

    fn body(self, results: Vec<Atom>) -> Body {
        Body { stms: self.stms, results }
    }
}
