//! The statements that make rows of the places where they start, and find out whether these grow.
//!
//! ```text
//! starts = kernel map over k { the index }
//! m, numbers, firsts = kernel filter over k { 0 <= starts[pos] < n and not the same as the next, pos, starts[pos] }
//! least, lens = kernel reduce min over m { the next of firsts, or n, less firsts[pos] }
//! ```

use super::find::Ids;
use par_ir::build::{Host, Statements};
use par_ir::core::{Body, Exp, Lambda};
use par_ir::flat::{self, Block, Kernel, KernelKind, Op, Out, Space, Stm, Ty, VersionChoice};
use par_ir::prim::{BinOp, CmpOp, PrimOp, UnOp};
use par_ir::tuning;
use par_ir::ty::{Atom, Type, Var, Vars};
use par_ir::visit::Code;
use par_runtime::{Prim, Scalar};

/// The statements, and what they bind.
pub struct Starts {
    pub stms: Vec<Stm>,
    /// A host bool: there are rows, and none of them is empty.
    pub grow: Atom,
    /// Number of rows.
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
        let least_total = host.arith("least", BinOp::Mul, ids.k, Atom::i64(tuning::SEGMENT_MEAN));
        let worth = host.compare("worth", CmpOp::Le, least_total, ids.n);
        let then = host.block(|host| rows(host, ids));
        let other = host.block(|host| {
            let mut none = || host.value("none", Ty::Array(Prim::I64), Op::Literal(vec![], Prim::I64)).into();
            vec![Atom::i64(0), Atom::i64(0), none(), none()]
        });
        let (scalar, array) = (Ty::Scalar(Prim::I64), Ty::Array(Prim::I64));
        let names = [("rows", scalar), ("shortest", scalar), ("numbers", array), ("lens", array)];
        let pat = names.map(|(name, ty)| flat::Param { var: host.vars.fresh(name), ty });
        let versions = Some(VersionChoice::Condition);
        host.bind(pat.to_vec(), Op::If { cond: worth, versions, then, other });
        let [rows, shortest, numbers, lens] = pat.map(|p| p.var);
        let some = host.compare("some", CmpOp::Le, Atom::i64(1), rows.into());
        let growing = host.compare("growing", CmpOp::Le, Atom::i64(1), shortest.into());
        let grow = host.prim("grow", PrimOp::Bin(BinOp::And, Prim::Bool), vec![some, growing]);
        Starts { stms: host.stms, grow, rows: rows.into(), numbers, lens }
    }
}

/// Number of rows, length of the shortest, row numbers and lengths.
fn rows(host: &mut Host<'_>, ids: &Ids) -> Vec<Atom> {
    let Op::Kernel(scatter) = &host.like.op else { unreachable!("a scatter is a kernel") };
    let mut kernel = (**scatter).clone();
    kernel.kind = KernelKind::Map(vec![Out::Elem(Prim::I64)]);
    kernel.body.results.truncate(1);
    let kernel = kernel.refreshed(host.vars);
    let array = Ty::Array(Prim::I64);
    let starts = host.value("starts", array, Op::Kernel(Box::new(kernel)));
    let [rows, counts, numbers, firsts] =
        ["rows", "counts", "numbers", "firsts"].map(|name| host.vars.fresh(name));
    let filter = inside(host, ids, starts);
    let mut pat = vec![flat::Param { var: rows, ty: Ty::Scalar(Prim::I64) }];
    pat.extend([counts, numbers, firsts].map(|var| flat::Param { var, ty: array }));
    host.bind(pat, Op::Kernel(Box::new(filter)));
    let [least, lens] = ["least", "lens"].map(|name| host.vars.fresh(name));
    let lengths = lengths(host, ids, rows.into(), firsts);
    let pat = [least, lens].map(|var| flat::Param { var, ty: array });
    host.bind(pat.to_vec(), Op::Kernel(Box::new(lengths)));
    let shortest = host.value("shortest", Ty::Scalar(Prim::I64), Op::Read(least, Atom::i64(0)));
    [rows, shortest, numbers, lens].map(Atom::Var).to_vec()
}

/// The numbers of rows that start inside, and not where the next one does, and where that is.
fn inside(host: &mut Host<'_>, ids: &Ids, starts: Var) -> Kernel {
    let (mut code, row, pos, vars) = scalars(host);
    let start = read(&mut code, starts, pos.into(), vars);
    let not_before = code.compare("t", CmpOp::Le, Atom::i64(0), start, vars);
    let not_after = code.compare("t", CmpOp::Lt, start, ids.n, vars);
    let next = code.arith("t", BinOp::Add, pos.into(), Atom::i64(1), vars);
    let has_next = code.compare("t", CmpOp::Lt, next, ids.k, vars);
    let mut then = Statements::new(code.span);
    let other = read(&mut then, starts, next, vars);
    let same = then.compare("t", CmpOp::Eq, other, start, vars);
    let is_empty =
        choice(&mut code, has_next, then.results(vec![same]), (Prim::Bool, Atom::bool(false)), vars);
    let not_empty = code.prim("t", PrimOp::Un(UnOp::Not, Prim::Bool), vec![is_empty], vars);
    let inside = code.logic("t", BinOp::And, not_before, not_after, vars);
    let keep = code.logic("t", BinOp::And, inside, not_empty, vars);
    let body = code.results(vec![keep, pos.into(), start]);
    let (kind, space, index) = (KernelKind::Filter, Space::flat(ids.k), vec![pos]);
    Kernel { kind, space, index, row, pos, prologue: vec![], body }
}

/// The lengths of the rows that start there, and the least of them; that is 0 if the first does not start at 0.
fn lengths(host: &mut Host<'_>, ids: &Ids, rows: Atom, firsts: Var) -> Kernel {
    let (mut code, row, pos, vars) = scalars(host);
    let start = read(&mut code, firsts, pos.into(), vars);
    let next = code.arith("t", BinOp::Add, pos.into(), Atom::i64(1), vars);
    let has_next = code.compare("t", CmpOp::Lt, next, rows, vars);
    let mut then = Statements::new(code.span);
    let following = read(&mut then, firsts, next, vars);
    let end = choice(&mut code, has_next, then.results(vec![following]), (Prim::I64, ids.n), vars);
    let len = code.arith("t", BinOp::Sub, end, start, vars);
    let first = code.compare("t", CmpOp::Eq, pos.into(), Atom::i64(0), vars);
    let late = code.compare("t", CmpOp::Lt, Atom::i64(0), start, vars);
    let wrong = code.logic("t", BinOp::And, first, late, vars);
    let counted = code.prim("t", PrimOp::Select(Prim::I64), vec![wrong, Atom::i64(0), len], vars);
    let op = Lambda::of_operator(BinOp::Min, Prim::I64, code.span, vars);
    let body = code.results(vec![counted, len]);
    let kind = KernelKind::Reduce { op, neutral: vec![Atom::Const(Scalar::I64(i64::MAX))] };
    Kernel { kind, space: Space::flat(rows), index: vec![pos], row, pos, prologue: vec![], body }
}

/// The code of a kernel, without statements yet, its row and position, and the supply of variables.
fn scalars<'h>(host: &'h mut Host<'_>) -> (Statements, Var, Var, &'h mut Vars) {
    let [row, pos] = ["row", "pos"].map(|name| host.vars.fresh(name));
    (Statements::new(host.like.span), row, pos, host.vars)
}

fn read(code: &mut Statements, array: Var, i: Atom, vars: &mut Vars) -> Atom {
    code.value("t", Type::I64, Exp::Index(array, vec![i]), vars).into()
}

/// Results of `then` if a condition holds, else of `other`.
fn choice(
    code: &mut Statements,
    cond: Atom,
    then: Body,
    (prim, other): (Prim, Atom),
    vars: &mut Vars,
) -> Atom {
    let other = Body { stms: vec![], results: vec![other] };
    code.value("t", Type::scalar(prim), Exp::If { cond, then, other }, vars).into()
}
