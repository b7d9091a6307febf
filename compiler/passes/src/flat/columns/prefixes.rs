//! Scans along columns: each column by itself, its prefixes written where the column is.
//!
//! ```text
//! r = kernel scan (+) over rows m [n] {           t = kernel map (own replicate (m, 0) as last, own replicate (n*m, 0) as s) over [strips] {
//!     let i = pos - row*n                             loop (last, s) for i < n do
//!     in xs[i*m + row] }                   ==>            loop (last, s) for j < 1024 do
//! t = kernel map over rows n [m] {                            let c = pos * 1024 + j
//!     let c = pos - row*m                                     let a = last[c] + xs[i*m + c]
//!     in r[c*n + row] }                                       in (last with [c] = a, s with [i*m + c] = a) }
//!                                                 unless there are few columns
//! ```
//!
//! What reads the prefixes by rows reads what is written there. If anything else reads them, they are transposed.

use super::ByColumn;
use super::readers::Readers;
use crate::flat::bulk::reads;
use par_ir::Vars;
use par_ir::access::Facts;
use par_ir::build::{Host, Statements};
use par_ir::core::{self, Body, Lambda};
use par_ir::flat::{Block, Kernel, KernelKind, Op, Out, Param, Space, Stm, Ty, VersionChoice};
use par_ir::loops::{Loop, prefixes, update};
use par_ir::prim::{BinOp, CmpOp};
use par_ir::tuning;
use par_ir::ty::{Atom, Dim, Type, Var};
use par_ir::visit::{Code, Subst};
use par_runtime::{Scalar, Span};

/// Replaces scans of a block.
pub(super) fn sweep(block: &mut Block, facts: &Facts, vars: &mut Vars) {
    let mut at = 0;
    while at < block.stms.len() {
        let made = Scan::of(&block.stms[at], facts).map(|scan| {
            let made: Vec<Var> = block.stms[at].pat.iter().map(|p| p.var).collect();
            let readers = Readers::of(block, at, &made, scan.size(), facts, vars);
            (scan.by_column(readers.is_some(), vars), readers)
        });
        let Some(((stms, by_row), readers)) = made else {
            at += 1;
            continue;
        };
        let made = block.stms[at].pat.iter().map(|p| p.var);
        let arrays = made.zip(by_row).collect();
        readers.into_iter().for_each(|readers| readers.redirect(block, &arrays, facts, vars));
        let count = stms.len();
        block.stms.splice(at..=at, stms);
        at += count;
    }
}

/// A scan along the columns of one matrix.
struct Scan<'k> {
    stm: &'k Stm,
    by: ByColumn<'k>,
    op: &'k Lambda,
    neutral: &'k [Atom],
    exclusive: bool,
}

impl<'k> Scan<'k> {
    fn of(stm: &'k Stm, facts: &Facts) -> Option<Scan<'k>> {
        let Op::Kernel(kernel) = &stm.op else { return None };
        let KernelKind::Scan { op, neutral, exclusive, after: None } = &kernel.kind else { return None };
        let is_plain =
            stm.pat.len() == neutral.len() && op.body.stms.iter().all(|s| s.exp.bodies().is_empty());
        let by = ByColumn::of(kernel, facts).filter(|by| is_plain && by.groups.is_none())?;
        Some(Scan { stm, by, op, neutral, exclusive: *exclusive })
    }

    /// Columns, and elements of each.
    fn size(&self) -> (Atom, Atom) {
        (self.by.columns, self.by.length)
    }

    /// The statements in place of the scan, and arrays with what it gives, by rows or as it was.
    fn by_column(&self, by_row: bool, vars: &mut Vars) -> (Vec<Stm>, Vec<Var>) {
        let (columns, length) = self.size();
        let mut host = Host::new(self.stm, vars);
        let transposed = |host: &mut Host, from: &[Param], (rows, width): (Atom, Atom)| -> Vec<Atom> {
            let one = |host: &mut Host, p: &Param| {
                let kernel = transposition(p, (rows, width), host.like.span, host.vars);
                host.value("t", p.ty, Op::Kernel(Box::new(kernel))).into()
            };
            from.iter().map(|p| one(host, p)).collect()
        };
        let then = host.block(|host| {
            let made = self.where_they_are(host);
            if by_row { results(&made) } else { transposed(host, &made, (columns, length)) }
        });
        let other = host.block(|host| {
            let same = self.stm.refreshed(host.vars);
            let made = same.pat.clone();
            host.stms.push(same);
            if by_row { transposed(host, &made, (length, columns)) } else { results(&made) }
        });
        let like = |p: &Param, vars: &mut Vars| Param {
            var: if by_row { vars.fresh_like(p.var) } else { p.var },
            ty: p.ty,
        };
        let pat: Vec<Param> = self.stm.pat.iter().map(|p| like(p, host.vars)).collect();
        let versions = Some(VersionChoice::ColumnPrefixes);
        let made = pat.iter().map(|p| p.var).collect();
        host.bind(pat, Op::If { cond: Atom::bool(true), versions, then, other });
        (host.stms, made)
    }

    /// The prefixes of all columns, by rows.
    fn where_they_are(&self, host: &mut Host) -> Vec<Param> {
        let (columns, length) = self.size();
        let types = &self.op.ret;
        let cond = host.compare("few", CmpOp::Le, columns, Atom::i64(tuning::FEW_COLUMNS));
        let len = host.arith("len", BinOp::Mul, columns, length);
        let room = |host: &mut Host| -> Vec<(Var, Atom)> {
            let zero = |ty: &Type| Op::Replicate(len, Atom::Const(Scalar::zero(ty.prim())));
            types.iter().map(|ty| (host.value("room", Ty::Array(ty.prim()), zero(ty)), len)).collect()
        };
        let then = host.block(|host| {
            let dests = room(host);
            let kernel = self.each_column(&dests, host.like.span, host.vars);
            results(&self.bind(host, kernel, types))
        });
        let other = host.block(|host| {
            let last = |(ty, x): (&Type, &Atom)| {
                (host.value("last", Ty::Array(ty.prim()), Op::Replicate(columns, *x)), columns)
            };
            let mut dests: Vec<(Var, Atom)> = types.iter().zip(self.neutral).map(last).collect();
            dests.extend(room(host));
            let more = host.arith("n", BinOp::Add, columns, Atom::i64(tuning::COLUMN_STRIP - 1));
            let strips = host.arith("strips", BinOp::Quot, more, Atom::i64(tuning::COLUMN_STRIP));
            let kernel = self.each_strip(&dests, strips, host.like.span, host.vars);
            let made = self.bind(host, kernel, &[&types[..], types].concat());
            results(&made[types.len()..])
        });
        let pat = self.arrays(types, host.vars);
        let versions = Some(VersionChoice::Prefixes { most: tuning::FEW_COLUMNS });
        host.bind(pat.clone(), Op::If { cond, versions, then, other });
        pat
    }

    fn arrays(&self, types: &[Type], vars: &mut Vars) -> Vec<Param> {
        types.iter().map(|ty| Param { var: vars.fresh("t"), ty: Ty::Array(ty.prim()) }).collect()
    }

    fn bind(&self, host: &mut Host, kernel: Kernel, types: &[Type]) -> Vec<Param> {
        let pat = self.arrays(types, host.vars);
        host.bind(pat.clone(), Op::Kernel(Box::new(kernel)));
        pat
    }

    /// Goes down a column; what it has come to is in variables.
    fn each_column(&self, dests: &[(Var, Atom)], span: Span, vars: &mut Vars) -> Kernel {
        let (Scan { op, neutral, .. }, (columns, length)) = (self, self.size());
        let pos = vars.fresh("pos");
        let types = types(dests, &op.ret);
        let [states, written, done] = ["s"; 3].map(|name| like(&types, name, vars));
        let mut each = Loop::new(span, vars);
        each.fold(op, neutral);
        each.state.extend(written.iter().cloned().zip(atoms(&states)));
        let start = each.code.arith("start", BinOp::Mul, each.index.into(), columns, vars);
        let at = each.code.arith("at", BinOp::Add, start, pos.into(), vars);
        let i = each.index;
        self.combine(&mut each, (i, pos.into()));
        let prefixes = prefixes(op, self.exclusive);
        let write = |(p, x): (&core::Param, Atom)| update(&mut each.code, p, p.var, &[at], x, vars).into();
        let next: Vec<Atom> = written.iter().zip(prefixes).map(write).collect();
        let pat = [like(&op.ret, "last", vars), done.clone()].concat();
        let next = [op.body.results.clone(), next].concat();
        let body = Statements::new(span).with(each.finish(length, pat, next)).results(atoms(&done));
        kernel((dests, &states), pos, columns, body, vars)
    }

    /// Goes over the rows of a strip of columns; what each column has come to is in arrays.
    fn each_strip(&self, dests: &[(Var, Atom)], strips: Atom, span: Span, vars: &mut Vars) -> Kernel {
        let (op, (columns, length)) = (self.op, self.size());
        let pos = vars.fresh("pos");
        let types = types(dests, &[&op.ret[..], &op.ret].concat());
        let [states, in_rows, in_row, row_done, done] = ["s"; 5].map(|name| like(&types, name, vars));
        let mut code = Statements::new(span);
        let lo = code.arith("lo", BinOp::Mul, pos.into(), Atom::i64(tuning::COLUMN_STRIP), vars);
        let left = code.arith("left", BinOp::Sub, columns, lo, vars);
        let count = code.arith("count", BinOp::Min, left, Atom::i64(tuning::COLUMN_STRIP), vars);
        let mut rows = Loop::new(span, vars);
        rows.state = in_rows.iter().cloned().zip(atoms(&states)).collect();
        let mut row = Loop::new(span, vars);
        row.state = in_row.iter().cloned().zip(atoms(&in_rows)).collect();
        let column = row.code.arith("column", BinOp::Add, lo, row.index.into(), vars);
        let start = row.code.arith("start", BinOp::Mul, rows.index.into(), columns, vars);
        let at = row.code.arith("at", BinOp::Add, start, column, vars);
        for (p, last) in op.params.iter().zip(&in_row[..op.ret.len()]) {
            row.code.index(p.clone(), last.var, vec![column]);
        }
        self.combine(&mut row, (rows.index, column));
        let last = op.body.results.iter().map(|x| (*x, column));
        let values = last.chain(prefixes(op, self.exclusive).into_iter().map(|x| (x, at)));
        let write = |(p, (x, at)): (&core::Param, (Atom, Atom))| {
            update(&mut row.code, p, p.var, &[at], x, vars).into()
        };
        let next: Vec<Atom> = in_row.iter().zip(values).map(write).collect();
        rows.code.stms.push(row.finish(count, row_done.clone(), next));
        let next = atoms(&row_done);
        let body = code.with(rows.finish(length, done.clone(), next)).results(atoms(&done));
        kernel((dests, &states), pos, strips, body, vars)
    }

    /// Combines the element of a column at the index of a row with what is before it, the operator's first parameters.
    fn combine(&self, each: &mut Loop, (i, column): (Var, Atom)) {
        let (Scan { op, neutral, .. }, ByColumn { kernel, elements, .. }) = (self, &self.by);
        let mut names = Subst::from([(kernel.row, column)]);
        names.extend(elements.iter().map(|v| (*v, i.into())));
        for stms in [&kernel.prologue, &kernel.body.stms] {
            each.code.stms.extend(self.by.without_renamed(stms).substituted(&names));
        }
        let values: Vec<Atom> =
            kernel.body.results[..neutral.len()].iter().map(|x| x.substituted(&names)).collect();
        each.combine((*op).clone(), &values);
    }
}

/// Types of arrays with so many elements.
fn types(arrays: &[(Var, Atom)], elements: &[Type]) -> Vec<Type> {
    let array = |((_, len), ty): (&(Var, Atom), &Type)| Type::array(vec![Dim::Size(*len)], ty.prim());
    arrays.iter().zip(elements).map(array).collect()
}

fn like(types: &[Type], name: &str, vars: &mut Vars) -> Vec<core::Param> {
    types.iter().map(|ty| core::Param { var: vars.fresh(name), ty: ty.clone() }).collect()
}

fn atoms(params: &[core::Param]) -> Vec<Atom> {
    params.iter().map(|p| p.var.into()).collect()
}

/// A kernel that updates arrays, over so many positions.
fn kernel(
    (dests, states): (&[(Var, Atom)], &[core::Param]),
    pos: Var,
    width: Atom,
    body: Body,
    vars: &mut Vars,
) -> Kernel {
    let own =
        |((dest, _), state): (&(Var, Atom), &core::Param)| Out::Own { dest: *dest, state: state.clone() };
    let kind = KernelKind::Map(dests.iter().zip(states).map(own).collect());
    let (space, index, row) = (Space::flat(width), vec![pos], vars.fresh("row"));
    let mut kernel = Kernel { kind, space, index, row, pos, prologue: vec![], body };
    reads::simplify(&mut kernel);
    kernel.refreshed(vars)
}

fn results(made: &[Param]) -> Vec<Atom> {
    made.iter().map(|p| p.var.into()).collect()
}

/// The transposed elements of a matrix: so many rows, of this width.
fn transposition(of: &Param, (rows, width): (Atom, Atom), span: Span, vars: &mut Vars) -> Kernel {
    let (row, pos, i) = (vars.fresh("row"), vars.fresh("pos"), vars.fresh("i"));
    let mut code = Statements::new(span);
    let start = code.arith("start", BinOp::Mul, row.into(), width, vars);
    let prologue = std::mem::take(&mut code.stms);
    let column = code.arith("column", BinOp::Sub, pos.into(), start, vars);
    let first = code.arith("first", BinOp::Mul, column, rows, vars);
    let at = code.arith("at", BinOp::Add, first, row.into(), vars);
    let Ty::Array(prim) = of.ty else { unreachable!("scans make arrays") };
    let x = core::Param { var: vars.fresh("x"), ty: Type::scalar(prim) };
    code.index(x.clone(), of.var, vec![at]);
    let body = code.results(vec![x.var.into()]);
    let space = Space::rows(rows, Dim::Size(width));
    Kernel {
        kind: KernelKind::Map(vec![Out::Elem(prim)]),
        space,
        index: vec![row, i],
        row,
        pos,
        prologue,
        body,
    }
}
