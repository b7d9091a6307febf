//! Consumers of a column-major array that work as well on its row-major copy.
//!
//! ```text
//! xs, columns of length n                                 xs, rows of m
//! kernel map over rows n [m] { xs[(pos - row*m)*n + row] }    { xs[pos] }
//! kernel reduce over rows m [n] { xs[pos] }                   { xs[(pos - row*n)*m + row] }
//! ```

use super::ByColumn;
use super::loops::InLoops;
use super::size::{Size, in_matrix, is_product};
use crate::flat::bulk::reads;
use par_ir::Vars;
use par_ir::access::{Access, Extent, Facts, Form, Symbol};
use par_ir::build::Statements;
use par_ir::core::{self, Exp};
use par_ir::flat::{Block, Kernel, KernelKind, Op, Out, Stm};
use par_ir::hash::HashMap;
use par_ir::prim::BinOp;
use par_ir::tuning;
use par_ir::ty::{Atom, Dim, Var};
use par_ir::visit::Code;

/// The consumers of a statement's results: maps over rows that read at their own position, kernels that will go along columns, and loops
/// along columns.
pub(super) struct Readers {
    places: Vec<(usize, Order)>,
    size: Size,
}

enum Order {
    /// Only the number of elements.
    None,
    ByRow,
    ByColumn,
    /// Each array that is used, and the readers of what it becomes.
    InLoops(Vec<(Var, Option<Readers>)>),
}

impl Readers {
    /// Redirects the consumers from column-major arrays to row-major ones.
    pub(super) fn redirect(
        &self,
        block: &mut Block,
        arrays: &HashMap<Var, Var>,
        facts: &Facts,
        vars: &mut Vars,
    ) {
        for (reader, order) in &self.places {
            match order {
                Order::None => {
                    let names = arrays.iter().map(|(from, to)| (*from, Atom::Var(*to))).collect();
                    block.stms[*reader].op.substitute(&names);
                }
                Order::ByRow => read_by_row(&mut block.stms[*reader], arrays),
                Order::ByColumn => {
                    let Op::Kernel(k) = &mut block.stms[*reader].op else { continue };
                    read_by_column(k, arrays, self.size, vars);
                }
                Order::InLoops(all) => {
                    for (array, next) in all {
                        let Op::Kernel(k) = &mut block.stms[*reader].op else { continue };
                        let Some(found) = InLoops::of(k, *array, self.size, facts) else {
                            unreachable!("the loop has been looked at")
                        };
                        found.redirect(k, (*array, arrays[array]), self.size.columns, vars);
                        let made = found.result.map(|i| block.stms[*reader].pat[i].var);
                        if let (Some(v), Some(next)) = (made, next) {
                            next.redirect(block, &HashMap::from_iter([(v, v)]), facts, vars);
                        }
                    }
                }
            }
        }
    }
}

/// Finds readers in a block.
pub(super) struct Finder<'b> {
    block: &'b Block,
    size: Size,
    facts: &'b Facts,
    vars: &'b mut Vars,
    /// Readers of readers are looked for so far, since there may be as many ways to one as two to that power.
    depth: usize,
}

impl<'b> Finder<'b> {
    pub(super) fn new(block: &'b Block, size: Size, facts: &'b Facts, vars: &'b mut Vars) -> Finder<'b> {
        Finder { block, size, facts, vars, depth: tuning::COLUMN_READERS }
    }

    /// The consumers of column-major arrays, if there are any and all are such.
    pub(super) fn readers(&mut self, at: usize, made: &[Var]) -> Option<Readers> {
        let block = self.block;
        if self.depth == 0 || made.iter().any(|v| block.results.contains(&Atom::Var(*v))) {
            return None;
        }
        self.depth -= 1;
        let uses = |s: &Stm| made.iter().any(|v| s.op.mentions(*v));
        let users = (at + 1..block.stms.len()).filter(|i| uses(&block.stms[*i]));
        let places: Option<Vec<_>> = users.map(|user| Some((user, self.order(user, made)?))).collect();
        self.depth += 1;
        places.filter(|places| !places.is_empty()).map(|places| Readers { places, size: self.size })
    }

    fn order(&mut self, user: usize, made: &[Var]) -> Option<Order> {
        match &self.block.stms[user].op {
            Op::Length(_) => Some(Order::None),
            Op::Kernel(k) if reads_by_row(k, made, self.size, self.facts) => Some(Order::ByRow),
            Op::Kernel(_) if self.goes_along(user, made) => Some(Order::ByColumn),
            Op::Kernel(k) => self.in_loops(user, k, made).map(Order::InLoops),
            _ => None,
        }
    }

    /// True if a kernel reads column-major arrays at its own position, and will go along columns if they are row-major.
    fn goes_along(&mut self, user: usize, made: &[Var]) -> bool {
        let Stm { pat, op: Op::Kernel(k), .. } = &self.block.stms[user] else { return false };
        let (size, facts) = (self.size, self.facts);
        let fits = only_elements(k, pat.len());
        let here = Atom::Var(k.pos);
        let of_columns = |rows: Atom| match size.count {
            Some(count) => is_product(&facts.form(rows), [count, size.columns], facts),
            None => rows == size.columns,
        };
        let is_over =
            matches!(k.space.as_rows(), Some((rows, n)) if of_columns(rows) && n == Dim::Size(size.length));
        if !fits || !is_over || !reads_at(k, made, &|i| i == here) {
            return false;
        }
        let mut by_column = k.clone();
        let same = made.iter().map(|v| (*v, *v)).collect();
        read_by_column(&mut by_column, &same, size, self.vars);
        let made: Vec<Var> = pat.iter().map(|p| p.var).collect();
        ByColumn::of(&by_column, facts).is_some_and(|by| by.groups.is_some() == size.count.is_some())
            && (!stores(k) || self.readers(user, &made).is_some())
    }

    /// The arrays that a loop along columns accesses, and the consumers of those that it updates.
    fn in_loops(&mut self, user: usize, k: &Kernel, made: &[Var]) -> Option<Vec<(Var, Option<Readers>)>> {
        let block = self.block;
        let used = made.iter().filter(|v| k.mentions(**v));
        let one = |v: &Var| {
            let result = InLoops::of(k, *v, self.size, self.facts)?.result;
            let result = result.map(|i| block.stms[user].pat[i].var);
            let is_read = |v: Var| {
                let later = &block.stms[user + 1..];
                block.results.contains(&v.into()) || later.iter().any(|s| s.op.mentions(v))
            };
            match result.filter(|v| is_read(*v)) {
                Some(result) => Some((*v, Some(self.readers(user, &[result])?))),
                None => Some((*v, None)),
            }
        };
        used.map(one).collect()
    }
}

fn reads_at(k: &Kernel, made: &[Var], is_here: &dyn Fn(Atom) -> bool) -> bool {
    let mut here = 0;
    reads::for_each(&k.body, &mut |arr, i| here += usize::from(made.contains(&arr) && is_here(i)));
    here == made.iter().map(|v| k.uses_of(*v)).sum::<usize>()
}

fn reads_by_row(k: &Kernel, made: &[Var], size: Size, facts: &Facts) -> bool {
    let Some((rows, Dim::Size(width))) = k.space.as_rows() else { return false };
    let [count, columns, length] =
        [size.count.unwrap_or(Atom::i64(1)), size.columns, size.length].map(|a| facts.form(a));
    let all = count.times(&length);
    if !stores(k) || width != size.columns || all.is_none() || facts.expanded(&facts.form(rows)) != all {
        return false;
    }
    let access = if size.count.is_some() { Access::divided(k, facts) } else { Access::of(k, facts) };
    let dims = access.axes().count();
    if dims != 2 + usize::from(size.count.is_some())
        || *access.axes().extent(dims - 2) != Extent::Size(length.clone())
    {
        return false;
    }
    let index = |d: usize| Form::from(Symbol::Index(d));
    let before = if dims == 3 { index(0).times(&columns) } else { Some(Form::from(0)) };
    let here = before
        .and_then(|b| b.plus(&index(dims - 1)).times(&length))
        .map(|start| start.plus(&index(dims - 2)));
    reads_at(k, made, &|i| here.is_some() && access.form(i) == here)
}

/// True if a kernel's results are those of its operator or map only, without further ones that are forwarded.
pub(super) fn only_elements(k: &Kernel, results: usize) -> bool {
    match &k.kind {
        KernelKind::Scan { after: Some(after), .. } => after.outs.iter().all(|o| matches!(o, Out::Elem(_))),
        KernelKind::Reduce { neutral, .. } | KernelKind::Scan { neutral, .. } => results == neutral.len(),
        _ => stores(k),
    }
}

/// True for a map that does nothing but store elements.
pub(super) fn stores(k: &Kernel) -> bool {
    matches!(&k.kind, KernelKind::Map(outs) if outs.iter().all(|o| matches!(o, Out::Elem(_))))
}

fn read_by_column(k: &mut Kernel, arrays: &HashMap<Var, Var>, size: Size, vars: &mut Vars) {
    let mut code = Statements::new(k.body.stms.first().map_or_else(Default::default, |s| s.span));
    let start = code.arith("start", BinOp::Mul, k.row.into(), size.length, vars);
    let i = code.arith("i", BinOp::Sub, k.pos.into(), start, vars);
    let (p, c) = in_matrix(&mut code, size.count.is_some(), (k.row.into(), size.columns), vars);
    let at = size.by_row(&mut code, (p, i, c), vars);
    for (by_column, by_row) in arrays {
        reads::redirect(&mut k.body, *by_column, &HashMap::from_iter([(k.pos.into(), (*by_row, at))]));
    }
    k.body.stms.splice(0..0, code.stms);
    reads::simplify(k);
}

/// Redirects a map over rows. A map that only copies becomes an alias.
fn read_by_row(stm: &mut Stm, arrays: &HashMap<Var, Var>) {
    let Op::Kernel(k) = &mut stm.op else { return };
    let pos = Atom::Var(k.pos);
    for (by_column, by_row) in arrays {
        let mut instead = HashMap::default();
        reads::for_each(&k.body, &mut |_, i| _ = instead.insert(i, (*by_row, pos)));
        reads::redirect(&mut k.body, *by_column, &instead);
    }
    reads::simplify(k);
    if let Some(array) = copied(k).filter(|v| arrays.values().any(|by_row| by_row == v)) {
        stm.op = Op::Atom(array.into());
    }
}

/// The array that a map copies.
fn copied(k: &Kernel) -> Option<Var> {
    let [x] = k.body.results[..] else { return None };
    k.body.stms.iter().find_map(|core::Stm { pat, exp, .. }| match exp {
        Exp::Index(array, at) if at[..] == [k.pos.into()] && x == pat[0].var.into() => Some(*array),
        _ => None,
    })
}
