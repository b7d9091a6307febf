//! Reductions, scans, maps and loops along the columns of matrices go over neighbouring columns together.
//!
//! Elements of one column lie far apart in memory, those of neighbouring columns lie together. A kernel with a check keeps its order: the
//! failing position is to be the first.

mod blocks;
mod loops;
mod maps;
mod prefixes;
mod ragged;
mod readers;
mod size;

use par_ir::Vars;
use par_ir::access::{Access, Extent, Facts, Form, Symbol};
use par_ir::build::Statements;
use par_ir::core::{self, Body, Exp};
use par_ir::effects::Effects;
use par_ir::flat::{Block, Kernel, Program};
use par_ir::prim::BinOp;
use par_ir::tuning;
use par_ir::ty::{Atom, Dim, Var};
use par_ir::visit::{Code, Subst};
use size::Size;

/// In every function of a program.
pub(crate) fn run(program: &mut Program) {
    let vars = &mut program.vars;
    let mut facts = Facts::default();
    program.funs.iter_mut().for_each(|f| in_block(&mut f.body, &mut facts, vars));
}

fn in_block(block: &mut Block, facts: &mut Facts, vars: &mut Vars) {
    for stm in &mut block.stms {
        facts.note(stm);
        stm.op.for_each_block_mut(|b| in_block(b, facts, vars));
    }
    prefixes::sweep(block, facts, vars);
    maps::sweep(block, facts, vars);
    loops::sweep(block, facts, vars);
    blocks::sweep(block, facts, vars);
    ragged::sweep(block, facts, vars);
}

/// Columns of many matrices.
struct Groups {
    /// Number of matrices.
    count: Atom,
    /// Variables that are the number of the matrix, and of the column in it.
    matrices: Vec<Var>,
    columns: Vec<Var>,
}

/// A kernel that goes along columns.
struct ByColumn<'k> {
    kernel: &'k Kernel,
    /// Number of columns of a matrix, of all columns, and of elements of each.
    columns: Atom,
    all: Atom,
    length: Atom,
    /// If there are many matrices.
    groups: Option<Groups>,
    /// Variables that are the number of the element in its column.
    elements: Vec<Var>,
}

impl<'k> ByColumn<'k> {
    fn of(kernel: &'k Kernel, facts: &Facts) -> Option<ByColumn<'k>> {
        let (_, Dim::Size(length)) = kernel.space.as_rows()? else { return None };
        if length.as_i64().is_some_and(|n| n <= tuning::SHORT_COLUMN) {
            return None;
        }
        let (found, access) = ByColumn::along(kernel, length, facts)?;
        (found.groups.is_none() || !is_product(&access)).then_some(found)
    }

    /// The same for columns of this length, whether it is known or not.
    fn along<'f>(kernel: &'k Kernel, length: Atom, facts: &'f Facts) -> Option<(ByColumn<'k>, Access<'f>)> {
        let (rows, _) = kernel.space.as_rows().filter(|_| !kernel.has_effect())?;
        let divided = Access::divided(kernel, facts);
        let (access, columns, groups) = match Groups::of(kernel, &divided, rows, facts) {
            Some((columns, groups)) => (divided, columns, Some(groups)),
            None => (Access::of(kernel, facts), rows, None),
        };
        let elements = variables(kernel, &access, &Symbol::Index(access.axes().count() - 1).into());
        let found = ByColumn { kernel, columns, all: rows, length, groups, elements };
        found.is_by_column(&access).then_some((found, access))
    }
    /// True if neighbouring columns read neighbours, and the elements of a column lie apart; never the other way round.
    fn is_by_column(&self, access: &Access) -> bool {
        let element = access.axes().count() - 1;
        let growth = |f: &Form, dim| access.growth(f, Symbol::Index(dim));
        let one = Some(Form::from(1));
        let (mut by_column, mut by_row) = (false, self.stms().any(|s| s.exp.bodies().into_iter().any(loops)));
        for read in access.reads() {
            let (c, e) = (growth(&read.index, element - 1), growth(&read.index, element));
            by_column |= c == one && is_far(&e);
            by_row |= is_far(&c) && e == one;
        }
        by_column && !by_row && !self.reads_position(&self.kernel.body)
    }

    fn stms(&self) -> impl Iterator<Item = &'k core::Stm> {
        self.kernel.prologue.iter().chain(&self.kernel.body.stms)
    }

    /// Substitution for the kernel's variables of row, matrix and column.
    fn names(&self, code: &mut Statements, matrix: Option<Atom>, column: Atom, vars: &mut Vars) -> Subst {
        let (Some(groups), Some(matrix)) = (&self.groups, matrix) else {
            return Subst::from_iter([(self.kernel.row, column)]);
        };
        let first = code.arith("first", BinOp::Mul, matrix, self.columns, vars);
        let row = code.arith("row", BinOp::Add, first, column, vars);
        let matrices = groups.matrices.iter().map(|v| (*v, matrix));
        let columns = groups.columns.iter().map(|v| (*v, column));
        matrices.chain(columns).chain([(self.kernel.row, row)]).collect()
    }

    fn is_matrix(&self, stm: &core::Stm) -> bool {
        let is = |g: &Groups| stm.pat.iter().any(|p| g.matrices.contains(&p.var));
        self.groups.as_ref().is_some_and(is)
    }

    fn is_element(&self, stm: &core::Stm) -> bool {
        stm.pat.iter().any(|p| self.elements.contains(&p.var))
    }

    /// True if a statement computes what is another variable now.
    fn is_renamed(&self, stm: &core::Stm) -> bool {
        let column = |g: &Groups| stm.pat.iter().any(|p| g.columns.contains(&p.var));
        self.is_element(stm) || self.is_matrix(stm) || self.groups.as_ref().is_some_and(column)
    }

    fn size(&self) -> Size {
        let count = self.groups.as_ref().map(|g| g.count);
        Size { count, columns: self.columns, length: self.length }
    }

    /// Statements of the kernel without those that compute what is another variable now.
    fn without_renamed(&self, stms: &[core::Stm]) -> Vec<core::Stm> {
        stms.iter().filter(|s| !self.is_renamed(s)).cloned().collect()
    }

    /// True if anything but the number of the element is computed from the position.
    fn reads_position(&self, body: &Body) -> bool {
        let pos = self.kernel.pos;
        body.results.contains(&Atom::Var(pos))
            || body.stms.iter().any(|s| s.mentions(pos) && !self.is_element(s))
    }
}

impl Groups {
    /// If rows are numbered matrix by matrix; and the number of columns of one.
    fn of(kernel: &Kernel, access: &Access, rows: Atom, facts: &Facts) -> Option<(Atom, Groups)> {
        let column = access.axes().rows().checked_sub(1)?;
        let Extent::Size(columns) = access.axes().extent(column) else { return None };
        let [a, b] = facts.factors(rows)?;
        let (count, m) = [(a, b), (b, a)].into_iter().find(|(_, m)| facts.form(*m) == *columns)?;
        let (matrix, rest) = access.axes().row()?.divided(columns)?;
        let column = Form::from(Symbol::Index(column));
        let [matrices, columns] = [&matrix, &column].map(|f| variables(kernel, access, f));
        (rest == column && !matrices.is_empty()).then_some((m, Groups { count, matrices, columns }))
    }
}

/// True if elements at this distance are no neighbours.
fn is_far(growth: &Option<Form>) -> bool {
    *growth != Some(Form::from(1)) && growth.as_ref().is_none_or(|g| !g.is_zero())
}

/// True if a kernel over columns of many matrices is a product of two matrices, which the executor does in tiles.
fn is_product(access: &Access) -> bool {
    let reads: Vec<&Form> = access.reads().map(|r| &r.index).collect();
    let [a, b] = reads[..] else { return false };
    let column = access.axes().rows() - 1;
    let by_matrix = |f: &Form| (0..column).any(|dim| access.varies(f, dim));
    let without = |a: &Form, b: &Form| !access.varies(a, column) && !by_matrix(b);
    without(a, b) || without(b, a)
}

/// The variables of a kernel that are this.
fn variables(kernel: &Kernel, access: &Access, form: &Form) -> Vec<Var> {
    let stms = kernel.prologue.iter().chain(&kernel.body.stms);
    stms.flat_map(|s| &s.pat)
        .map(|p| p.var)
        .filter(|v| access.form(Atom::Var(*v)).as_ref() == Some(form))
        .collect()
}

/// True if a body has a loop in it.
fn loops(body: &Body) -> bool {
    body.stms.iter().any(|s| matches!(s.exp, Exp::Loop { .. }) || s.exp.bodies().into_iter().any(loops))
}
