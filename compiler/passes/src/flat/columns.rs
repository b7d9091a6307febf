//! Reductions along the columns of matrices go over neighbouring columns together, a block of rows at a time.
//!
//! ```text
//! s = kernel reduce (+) over rows m [n] {        b = (n + 255) quot 256
//!     let i = pos - row*n                        p = kernel map over rows b [m] {
//!     in xs[i*m + row] }                             let r = pos - row*m
//!                                                    in loop (acc = 0) for k < min(256, n - row*256) do
//!                                                       acc + xs[(row*256 + k)*m + r] }
//!                                          ==>   s = if b = 1 then p else
//!                                                    kernel reduce (+) over rows m [b] { p[(pos - row*b)*m + row] }
//! ```
//!
//! So it is with the columns of many matrices, of which there are as many as there are groups of `m` rows: `r = pos - row*m` is the column
//! and `p = row - b*groups` its group.
//!
//! Elements of one column lie far apart in memory, those of neighbouring columns lie together. The blocks depend on sizes only, so the
//! order in which elements are combined does too. A kernel with a check keeps its order: the failing position is to be the first.

use par_ir::Vars;
use par_ir::access::{Access, Extent, Facts, Form, Symbol};
use par_ir::build::{Host, Statements};
use par_ir::core::{self, Body, Exp, Lambda};
use par_ir::effects::Effects;
use par_ir::flat::{Block, Kernel, KernelKind, Op, Out, Param, Program, Space, Stm, Ty, VersionChoice};
use par_ir::loops::Loop;
use par_ir::prim::{BinOp, CmpOp, PrimOp};
use par_ir::tuning;
use par_ir::ty::{Atom, Dim, Type, Var};
use par_ir::visit::{Code, Subst};
use par_runtime::{Prim, Span};

/// In every function of a program.
pub(crate) fn run(program: &mut Program) {
    let vars = &mut program.vars;
    let mut facts = Facts::default();
    program.funs.iter_mut().for_each(|f| in_block(&mut f.body, &mut facts, vars));
}

fn in_block(block: &mut Block, facts: &mut Facts, vars: &mut Vars) {
    let mut stms = Vec::with_capacity(block.stms.len());
    for mut stm in std::mem::take(&mut block.stms) {
        facts.note(&stm);
        stm.op.for_each_block_mut(|b| in_block(b, facts, vars));
        match Reduction::of(&stm, facts) {
            Some(reduction) => reduction.in_blocks(&stm, &mut stms, vars),
            None => stms.push(stm),
        }
    }
    block.stms = stms;
}

/// Columns of many matrices.
struct Groups {
    /// How many matrices.
    count: Atom,
    /// Variables that are the number of the matrix, and of the column in it.
    matrices: Vec<Var>,
    columns: Vec<Var>,
}

/// A reduction along columns.
struct Reduction<'k> {
    kernel: &'k Kernel,
    op: &'k Lambda,
    neutral: &'k [Atom],
    /// Number of columns of a matrix, of all columns, and of elements of each.
    columns: Atom,
    all: Atom,
    length: Atom,
    /// If there are many matrices.
    groups: Option<Groups>,
    /// Variables that are the number of the element in its column.
    elements: Vec<Var>,
}

impl<'k> Reduction<'k> {
    fn of(stm: &'k Stm, facts: &Facts) -> Option<Reduction<'k>> {
        let Op::Kernel(kernel) = &stm.op else { return None };
        let KernelKind::Reduce { op, neutral } = &kernel.kind else { return None };
        let (rows, Dim::Size(length)) = kernel.space.as_rows()? else { return None };
        if stm.pat.len() != neutral.len() || kernel.has_effect() || length.as_i64().is_some() {
            return None;
        }
        let divided = Access::divided(kernel, facts);
        let (access, columns, groups) = match Groups::of(kernel, &divided, rows, facts) {
            Some((columns, groups)) => (divided, columns, Some(groups)),
            None => (Access::of(kernel, facts), rows, None),
        };
        let elements = variables(kernel, &access, &Symbol::Index(access.axes().count() - 1).into());
        let found = Reduction { kernel, op, neutral, columns, all: rows, length, groups, elements };
        let is_product = found.groups.is_some() && is_product(&access);
        (found.is_by_column(&access) && !is_product).then_some(found)
    }

    /// True if neighbouring columns read neighbours, and the elements of a column lie apart; never the other way round.
    fn is_by_column(&self, access: &Access) -> bool {
        let element = access.axes().count() - 1;
        let growth = |f: &Form, dim| access.growth(f, Symbol::Index(dim));
        let one = Some(Form::from(1));
        let is_far = |g: &Option<Form>| *g != one && g.as_ref().is_none_or(|g| !g.is_zero());
        let (mut by_column, mut by_row) = (false, self.stms().any(|s| s.exp.bodies().into_iter().any(loops)));
        for read in access.reads() {
            let (c, e) = (growth(&read.index, element - 1), growth(&read.index, element));
            by_column |= c == one && is_far(&e);
            by_row |= is_far(&c) && e == one;
        }
        by_column && !by_row && !self.uses_position()
    }

    fn stms(&self) -> impl Iterator<Item = &'k core::Stm> {
        self.kernel.prologue.iter().chain(&self.kernel.body.stms)
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

    /// True if anything but the number of the element is computed from the position.
    fn uses_position(&self) -> bool {
        let body = &self.kernel.body;
        let pos = self.kernel.pos;
        body.results.contains(&Atom::Var(pos))
            || body.stms.iter().any(|s| s.mentions(pos) && !self.is_element(s))
    }

    fn in_blocks(&self, stm: &Stm, out: &mut Vec<Stm>, vars: &mut Vars) {
        let mut host = Host::new(stm, vars);
        let more = host.arith("n", BinOp::Add, self.length, Atom::i64(tuning::COLUMN_BLOCK - 1));
        let blocks = host.arith("blocks", BinOp::Quot, more, Atom::i64(tuning::COLUMN_BLOCK));
        let one = host.prim("one", PrimOp::Cmp(CmpOp::Eq, Prim::I64), vec![blocks, Atom::i64(1)]);
        let parts: Vec<Param> =
            stm.pat.iter().map(|p| Param { var: host.vars.fresh_like(p.var), ty: p.ty }).collect();
        let rows = match &self.groups {
            Some(g) => host.arith("rows", BinOp::Mul, blocks, g.count),
            None => blocks,
        };
        let of_blocks = self.of_blocks(rows, stm.span, host.vars);
        host.bind(parts.clone(), Op::Kernel(Box::new(of_blocks)));

        let sums: Vec<Param> =
            stm.pat.iter().map(|p| Param { var: host.vars.fresh_like(p.var), ty: p.ty }).collect();
        let of_parts = self.of_parts(blocks, &parts, stm.span, host.vars);
        let results = |of: &[Param]| of.iter().map(|p| Atom::Var(p.var)).collect();
        let then = Block { stms: vec![], results: results(&parts) };
        let combined = Stm { pat: sums.clone(), op: Op::Kernel(Box::new(of_parts)), ..stm.clone() };
        let other = Block { stms: vec![combined], results: results(&sums) };
        let versions = Some(VersionChoice::Columns { block: tuning::COLUMN_BLOCK });
        host.bind(stm.pat.clone(), Op::If { cond: one, versions, then, other });
        out.append(&mut host.stms);
    }

    /// Combines the elements of a block of every column.
    fn of_blocks(&self, rows: Atom, span: Span, vars: &mut Vars) -> Kernel {
        let (row, pos) = (vars.fresh("block"), vars.fresh("pos"));
        let column = vars.fresh("column");
        let mut code = Statements::new(span);
        let (block, matrix) = self.block_and_matrix(&mut code, row, vars);
        let lo = code.arith("lo", BinOp::Mul, block, Atom::i64(tuning::COLUMN_BLOCK), vars);
        let left = code.arith("left", BinOp::Sub, self.length, lo, vars);
        let count = code.arith("count", BinOp::Min, left, Atom::i64(tuning::COLUMN_BLOCK), vars);
        let start = code.arith("start", BinOp::Mul, row.into(), self.columns, vars);
        let prologue = std::mem::take(&mut code.stms);

        let difference = Exp::Prim(PrimOp::Bin(BinOp::Sub, Prim::I64), vec![pos.into(), start]);
        code.bind(vec![core::Param { var: column, ty: Type::I64 }], difference);
        let renamed = self.names(&mut code, matrix, column, vars);
        let without = |stms: &[core::Stm]| -> Vec<core::Stm> {
            stms.iter().filter(|s| !self.is_renamed(s)).cloned().collect()
        };
        code.stms.extend(without(&self.kernel.prologue).substituted(&renamed));

        let mut each = Loop::new(span, vars);
        let element = each.code.arith("i", BinOp::Add, lo, each.index.into(), vars);
        let mut renamed = renamed;
        renamed.extend(self.elements.iter().map(|v| (*v, element)));
        each.code.stms.extend(without(&self.kernel.body.stms).substituted(&renamed));
        each.fold(self.op, self.neutral);
        let values: Vec<Atom> = self.kernel.body.results.iter().map(|x| x.substituted(&renamed)).collect();
        each.combine(self.op.clone(), &values);
        let pat: Vec<core::Param> = each.state.iter().map(|(p, _)| p.fresh(vars)).collect();
        let results = pat.iter().map(|p| p.var.into()).collect();
        code.stms.push(each.finish(count, pat, self.op.body.results.clone()));
        let outs = self.op.ret.iter().map(|t| Out::Elem(t.prim())).collect();
        let space = Space::rows(rows, Dim::Size(self.columns));
        let index = vec![row, vars.fresh("i")];
        let body = code.results(results);
        let mut kernel = Kernel { kind: KernelKind::Map(outs), space, index, row, pos, prologue, body };
        crate::flat::bulk::reads::simplify(&mut kernel);
        kernel
    }

    /// The numbers of the block and of the matrix.
    fn block_and_matrix(&self, code: &mut Statements, row: Var, vars: &mut Vars) -> (Atom, Option<Atom>) {
        let Some(groups) = &self.groups else { return (row.into(), None) };
        let block = code.arith("block", BinOp::Quot, row.into(), groups.count, vars);
        let before = code.arith("before", BinOp::Mul, block, groups.count, vars);
        (block, Some(code.arith("matrix", BinOp::Sub, row.into(), before, vars)))
    }

    /// Current names of the kernel's variables for row, matrix and column.
    fn names(&self, code: &mut Statements, matrix: Option<Atom>, column: Var, vars: &mut Vars) -> Subst {
        let (Some(groups), Some(matrix)) = (&self.groups, matrix) else {
            return Subst::from([(self.kernel.row, Atom::Var(column))]);
        };
        let first = code.arith("first", BinOp::Mul, matrix, self.columns, vars);
        let row = code.arith("row", BinOp::Add, first, column.into(), vars);
        let matrices = groups.matrices.iter().map(|v| (*v, matrix));
        let columns = groups.columns.iter().map(|v| (*v, Atom::Var(column)));
        matrices.chain(columns).chain([(self.kernel.row, row)]).collect()
    }

    /// Combines what the blocks of every column result in.
    fn of_parts(&self, blocks: Atom, parts: &[Param], span: Span, vars: &mut Vars) -> Kernel {
        let (row, pos) = (vars.fresh("column"), vars.fresh("pos"));
        let mut code = Statements::new(span);
        let first = code.arith("first", BinOp::Mul, row.into(), blocks, vars);
        let prologue = std::mem::take(&mut code.stms);
        let block = code.arith("block", BinOp::Sub, pos.into(), first, vars);
        let start = code.arith("start", BinOp::Mul, block, self.all, vars);
        let at = code.arith("at", BinOp::Add, start, row.into(), vars);
        let mut results = Vec::new();
        for p in parts {
            let Ty::Array(prim) = p.ty else { unreachable!("reductions make arrays") };
            let part = core::Param { var: vars.fresh_like(p.var), ty: Type::scalar(prim) };
            results.push(part.var.into());
            code.index(part, p.var, vec![at]);
        }
        let kind = KernelKind::Reduce { op: self.op.refreshed(vars), neutral: self.neutral.to_vec() };
        let space = Space::rows(self.all, Dim::Size(blocks));
        let index = vec![row, vars.fresh("i")];
        Kernel { kind, space, index, row, pos, prologue, body: code.results(results) }
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
