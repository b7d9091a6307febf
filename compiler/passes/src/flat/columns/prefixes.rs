//! Scans along columns, with a row-major result.
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
//! Consumers that go by rows read that result. For any other consumer it is transposed.

use super::ByColumn;
use super::readers::{Finder, only_elements};
use super::size::{Size, in_matrix};
use crate::flat::bulk::reads;
use par_ir::Vars;
use par_ir::access::Facts;
use par_ir::build::{Host, Statements};
use par_ir::core::{self, Body, Lambda};
use par_ir::flat::{After, Block, Kernel, KernelKind, Op, Out, Param, Space, Stm, Ty, VersionChoice};
use par_ir::loops::{Loop, prefixes, update};
use par_ir::prim::{BinOp, CmpOp};
use par_ir::tuning;
use par_ir::ty::{Atom, Dim, Type, Var};
use par_ir::visit::Code;
use par_runtime::{Scalar, Span};

/// Replaces scans of a block.
pub(super) fn sweep(block: &mut Block, facts: &Facts, vars: &mut Vars) {
    let mut at = 0;
    while at < block.stms.len() {
        let made = Scan::of(&block.stms[at], facts).map(|scan| {
            let made: Vec<Var> = block.stms[at].pat.iter().map(|p| p.var).collect();
            let readers = Finder::new(block, scan.by.size(), facts, vars).readers(at, &made);
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

/// A scan along columns.
struct Scan<'k> {
    stm: &'k Stm,
    by: ByColumn<'k>,
    op: &'k Lambda,
    neutral: &'k [Atom],
    exclusive: bool,
    /// The map over the prefixes that is fused with the scan.
    after: Option<&'k After>,
}

impl<'k> Scan<'k> {
    fn of(stm: &'k Stm, facts: &Facts) -> Option<Scan<'k>> {
        let Op::Kernel(kernel) = &stm.op else { return None };
        let KernelKind::Scan { op, neutral, exclusive, after } = &kernel.kind else { return None };
        let by = ByColumn::of(kernel, facts).filter(|_| only_elements(kernel, stm.pat.len()))?;
        let is_plain = |body: &Body| body.stms.iter().all(|s| s.exp.bodies().is_empty());
        let fits = is_plain(&op.body)
            && after.as_ref().is_none_or(|a| is_plain(&a.body) && !by.reads_position(&a.body));
        fits.then_some(Scan { stm, by, op, neutral, exclusive: *exclusive, after: after.as_deref() })
    }

    /// The statements in place of the scan, and its results, row-major or as before.
    fn by_column(&self, by_row: bool, vars: &mut Vars) -> (Vec<Stm>, Vec<Var>) {
        let size = self.by.size();
        let mut host = Host::new(self.stm, vars);
        let transposed = |host: &mut Host, from: &[Param], size: Size| -> Vec<Atom> {
            let one = |host: &mut Host, p: &Param| {
                let kernel = transposition(p, size, host);
                host.value("t", p.ty, Op::Kernel(Box::new(kernel))).into()
            };
            from.iter().map(|p| one(host, p)).collect()
        };
        let then = host.block(|host| {
            let made = self.where_they_are(host);
            if by_row { results(&made) } else { transposed(host, &made, size.transposed()) }
        });
        let other = host.block(|host| {
            let same = self.stm.refreshed(host.vars);
            let made = same.pat.clone();
            host.stms.push(same);
            if by_row { transposed(host, &made, size) } else { results(&made) }
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

    /// The row-major prefixes of all columns.
    fn where_they_are(&self, host: &mut Host) -> Vec<Param> {
        let ByColumn { columns, length, all, .. } = self.by;
        let types = &self.written();
        let cond = host.compare("few", CmpOp::Le, columns, Atom::i64(tuning::FEW_COLUMNS));
        let len = host.arith("len", BinOp::Mul, all, length);
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
                (host.value("last", Ty::Array(ty.prim()), Op::Replicate(all, *x)), all)
            };
            let states = &self.op.ret;
            let mut dests: Vec<(Var, Atom)> = states.iter().zip(self.neutral).map(last).collect();
            dests.extend(room(host));
            let more = host.arith("n", BinOp::Add, columns, Atom::i64(tuning::COLUMN_STRIP - 1));
            let strips = host.arith("strips", BinOp::Quot, more, Atom::i64(tuning::COLUMN_STRIP));
            let kernel = self.each_strip(&dests, strips, host.like.span, host.vars);
            let made = self.bind(host, kernel, &[&states[..], types].concat());
            results(&made[states.len()..])
        });
        let pat = self.arrays(types, host.vars);
        let versions = Some(VersionChoice::Prefixes { most: tuning::FEW_COLUMNS });
        host.bind(pat.clone(), Op::If { cond, versions, then, other });
        pat
    }

    /// Types of the elements that are written.
    fn written(&self) -> Vec<Type> {
        let prim = |p: &Param| match p.ty {
            Ty::Array(prim) => Type::scalar(prim),
            _ => unreachable!("scans make arrays"),
        };
        self.stm.pat.iter().map(prim).collect()
    }

    fn arrays(&self, types: &[Type], vars: &mut Vars) -> Vec<Param> {
        types.iter().map(|ty| Param { var: vars.fresh("t"), ty: Ty::Array(ty.prim()) }).collect()
    }

    fn bind(&self, host: &mut Host, kernel: Kernel, types: &[Type]) -> Vec<Param> {
        let pat = self.arrays(types, host.vars);
        host.bind(pat.clone(), Op::Kernel(Box::new(kernel)));
        pat
    }

    /// A position per column; the accumulators are scalars.
    fn each_column(&self, dests: &[(Var, Atom)], span: Span, vars: &mut Vars) -> Kernel {
        let (Scan { op, neutral, .. }, ByColumn { columns, length, .. }) = (self, &self.by);
        let mut over = Over::new(self.by.size().count, *columns, span, vars);
        let types = types(dests, &self.written());
        let [states, written, done] = ["s"; 3].map(|name| like(&types, name, vars));
        let mut each = Loop::new(span, vars);
        each.fold(op, neutral);
        each.state.extend(written.iter().cloned().zip(atoms(&states)));
        let place = (over.matrix, each.index.into(), over.number);
        let at = self.by.size().by_row(&mut each.code, place, vars);
        let values = self.combine(&mut each, place, vars);
        let write = |(p, x): (&core::Param, Atom)| update(&mut each.code, p, p.var, &[at], x, vars).into();
        let next: Vec<Atom> = written.iter().zip(values).map(write).collect();
        let pat = [like(&op.ret, "last", vars), done.clone()].concat();
        let next = [op.body.results.clone(), next].concat();
        over.code.stms.push(each.finish(*length, pat, next));
        over.kernel((dests, &states), atoms(&done), vars)
    }

    /// A position per strip of columns, which it scans row after row; the accumulators are arrays.
    fn each_strip(&self, dests: &[(Var, Atom)], strips: Atom, span: Span, vars: &mut Vars) -> Kernel {
        let (op, ByColumn { columns, length, .. }) = (self.op, &self.by);
        let mut over = Over::new(self.by.size().count, strips, span, vars);
        let types = types(dests, &[&op.ret[..], &self.written()].concat());
        let [states, in_rows, in_row, row_done, done] = ["s"; 5].map(|name| like(&types, name, vars));
        let code = &mut over.code;
        let lo = code.arith("lo", BinOp::Mul, over.number, Atom::i64(tuning::COLUMN_STRIP), vars);
        let left = code.arith("left", BinOp::Sub, *columns, lo, vars);
        let count = code.arith("count", BinOp::Min, left, Atom::i64(tuning::COLUMN_STRIP), vars);
        let mut rows = Loop::new(span, vars);
        rows.state = in_rows.iter().cloned().zip(atoms(&states)).collect();
        let mut row = Loop::new(span, vars);
        row.state = in_row.iter().cloned().zip(atoms(&in_rows)).collect();
        let column = row.code.arith("column", BinOp::Add, lo, row.index.into(), vars);
        let place = (over.matrix, rows.index.into(), column);
        let at = self.by.size().by_row(&mut row.code, place, vars);
        let here = match over.matrix {
            Some(p) => {
                let first = row.code.arith("first", BinOp::Mul, p, *columns, vars);
                row.code.arith("here", BinOp::Add, first, column, vars)
            }
            None => column,
        };
        for (p, last) in op.params.iter().zip(&in_row[..op.ret.len()]) {
            row.code.index(p.clone(), last.var, vec![here]);
        }
        let values = self.combine(&mut row, place, vars);
        let last = op.body.results.iter().map(|x| (*x, here));
        let values = last.chain(values.into_iter().map(|x| (x, at)));
        let write = |(p, (x, at)): (&core::Param, (Atom, Atom))| {
            update(&mut row.code, p, p.var, &[at], x, vars).into()
        };
        let next: Vec<Atom> = in_row.iter().zip(values).map(write).collect();
        rows.code.stms.push(row.finish(count, row_done.clone(), next));
        let next = atoms(&row_done);
        over.code.stms.push(rows.finish(*length, done.clone(), next));
        over.kernel((dests, &states), atoms(&done), vars)
    }

    /// Combines an element, by matrix, row and column, with the accumulators. Results in the values to store.
    fn combine(
        &self,
        each: &mut Loop,
        (matrix, i, column): (Option<Atom>, Atom, Atom),
        vars: &mut Vars,
    ) -> Vec<Atom> {
        let (Scan { op, neutral, .. }, ByColumn { kernel, elements, .. }) = (self, &self.by);
        let mut names = self.by.names(&mut each.code, matrix, column, vars);
        names.extend(elements.iter().map(|v| (*v, i)));
        for stms in [&kernel.prologue, &kernel.body.stms] {
            each.code.stms.extend(self.by.without_renamed(stms).substituted(&names));
        }
        let values: Vec<Atom> =
            kernel.body.results[..neutral.len()].iter().map(|x| x.substituted(&names)).collect();
        each.combine((*op).clone(), &values);
        let prefixes = prefixes(op, self.exclusive);
        let Some(after) = self.after else { return prefixes };
        each.code.names(&after.params, prefixes);
        each.code.stms.extend(after.body.stms.substituted(&names));
        after.body.results.iter().map(|x| x.substituted(&names)).collect()
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

/// A kernel under construction that updates arrays, with so many positions for each matrix.
struct Over {
    space: Space,
    row: Var,
    pos: Var,
    /// The number of the matrix, if there are many.
    matrix: Option<Atom>,
    /// The number of the position in it.
    number: Atom,
    code: Statements,
}

impl Over {
    fn new(count: Option<Atom>, width: Atom, span: Span, vars: &mut Vars) -> Over {
        let (row, pos) = (vars.fresh("row"), vars.fresh("pos"));
        let mut code = Statements::new(span);
        let Some(count) = count else {
            return Over { space: Space::flat(width), row, pos, matrix: None, number: pos.into(), code };
        };
        let start = code.arith("start", BinOp::Mul, row.into(), width, vars);
        let number = code.arith("number", BinOp::Sub, pos.into(), start, vars);
        let space = Space::rows(count, Dim::Size(width));
        Over { space, row, pos, matrix: Some(row.into()), number, code }
    }

    fn kernel(
        self,
        (dests, states): (&[(Var, Atom)], &[core::Param]),
        results: Vec<Atom>,
        vars: &mut Vars,
    ) -> Kernel {
        let Over { space, row, pos, code, .. } = self;
        let own =
            |((dest, _), state): (&(Var, Atom), &core::Param)| Out::Own { dest: *dest, state: state.clone() };
        let kind = KernelKind::Map(dests.iter().zip(states).map(own).collect());
        let index = if space.as_flat().is_some() { vec![pos] } else { vec![row, vars.fresh("i")] };
        let body = code.results(results);
        let mut kernel = Kernel { kind, space, index, row, pos, prologue: vec![], body };
        reads::simplify(&mut kernel);
        kernel.refreshed(vars)
    }
}

fn results(made: &[Param]) -> Vec<Atom> {
    made.iter().map(|p| p.var.into()).collect()
}

/// The row-major copy of a column-major array.
fn transposition(of: &Param, size: Size, host: &mut Host) -> Kernel {
    let rows = size.rows(host);
    let (span, vars) = (host.like.span, &mut *host.vars);
    let (row, pos, i) = (vars.fresh("row"), vars.fresh("pos"), vars.fresh("i"));
    let mut code = Statements::new(span);
    let start = code.arith("start", BinOp::Mul, row.into(), size.columns, vars);
    let (matrix, in_column) = in_matrix(&mut code, size.count.is_some(), (row.into(), size.length), vars);
    let prologue = std::mem::take(&mut code.stms);
    let column = code.arith("column", BinOp::Sub, pos.into(), start, vars);
    let at = size.transposed().by_row(&mut code, (matrix, column, in_column), vars);
    let Ty::Array(prim) = of.ty else { unreachable!("scans make arrays") };
    let x = core::Param { var: vars.fresh("x"), ty: Type::scalar(prim) };
    code.index(x.clone(), of.var, vec![at]);
    let body = code.results(vec![x.var.into()]);
    let (kind, space) = (KernelKind::Map(vec![Out::Elem(prim)]), Space::rows(rows, Dim::Size(size.columns)));
    Kernel { kind, space, index: vec![row, i], row, pos, prologue, body }
}
