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
//! What one column reads lies far apart in memory, what neighbouring columns read lies together. The blocks depend on sizes only, so the
//! order in which elements are combined does too. A kernel with a check keeps its order: the failing position is to be the first.

use par_ir::Vars;
use par_ir::build::{Host, Statements};
use par_ir::core::{self, Body, Exp, Lambda};
use par_ir::effects::Effects;
use par_ir::flat::{Block, Kernel, KernelKind, Op, Out, Param, Program, Space, Stm, Ty};
use par_ir::loops::Loop;
use par_ir::prim::{BinOp, CmpOp, PrimOp};
use par_ir::tuning;
use par_ir::ty::{Atom, Dim, Type, Var};
use par_ir::visit::{Code, Subst};
use par_runtime::{Prim, Span};
use std::collections::HashMap;

/// In every function of a program.
pub(crate) fn run(program: &mut Program) {
    let vars = &mut program.vars;
    let mut products = HashMap::new();
    program.funs.iter_mut().for_each(|f| in_block(&mut f.body, &mut products, vars));
}

/// Host scalars that are products.
type Products = HashMap<Var, [Atom; 2]>;

fn in_block(block: &mut Block, products: &mut Products, vars: &mut Vars) {
    let mut stms = Vec::with_capacity(block.stms.len());
    for mut stm in std::mem::take(&mut block.stms) {
        if let Op::Prim(PrimOp::Bin(BinOp::Mul, Prim::I64), xs) = &stm.op {
            products.insert(stm.pat[0].var, [xs[0], xs[1]]);
        }
        stm.op.for_each_block_mut(|b| in_block(b, products, vars));
        match Reduction::of(&stm, products) {
            Some(reduction) => reduction.in_blocks(&stm, &mut stms, vars),
            None => stms.push(stm),
        }
    }
    block.stms = stms;
}

/// How a value grows with the row or with the element inside it.
#[derive(Clone, Copy, PartialEq)]
enum Growth {
    None,
    One,
    /// By a size.
    Size(Atom),
    /// In any other way.
    Any,
}

impl Growth {
    fn plus(self, other: Growth) -> Growth {
        match (self, other) {
            (Growth::None, x) | (x, Growth::None) => x,
            _ => Growth::Any,
        }
    }

    fn minus(self, other: Growth) -> Growth {
        match other {
            Growth::None => self,
            _ if self == other && self != Growth::Any => Growth::None,
            _ => Growth::Any,
        }
    }

    fn times(self, by: Atom) -> Growth {
        match self {
            Growth::None => Growth::None,
            Growth::One if by.var().is_some() => Growth::Size(by),
            _ => Growth::Any,
        }
    }

    fn any_of(all: impl Iterator<Item = Growth>) -> Growth {
        if all.into_iter().all(|g| g == Growth::None) { Growth::None } else { Growth::Any }
    }
}

/// How a variable depends on row and element.
#[derive(Clone, Copy, PartialEq)]
struct Form {
    row: Growth,
    element: Growth,
}

const SAME: Form = Form { row: Growth::None, element: Growth::None };

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
    fn of(stm: &'k Stm, products: &Products) -> Option<Reduction<'k>> {
        let Op::Kernel(kernel) = &stm.op else { return None };
        let KernelKind::Reduce { op, neutral } = &kernel.kind else { return None };
        let (rows, Dim::Size(length)) = kernel.space.as_rows()? else { return None };
        if stm.pat.len() != neutral.len() || kernel.has_effect() || length.as_i64().is_some() {
            return None;
        }
        let (row, pos) = (Atom::Var(kernel.row), Atom::Var(kernel.pos));
        let groups = rows.var().and_then(|n| Groups::of(kernel, products.get(&n)?));
        let (columns, groups) = groups.map_or((rows, None), |(columns, groups)| (columns, Some(groups)));
        let elements = rests_of(kernel, pos, row, length);
        let found = Reduction { kernel, op, neutral, columns, all: rows, length, groups, elements };
        let mut reads = Reads { forms: HashMap::new(), by_column: false, by_row: false };
        reads.forms.insert(kernel.row, Form { row: Growth::One, element: Growth::None });
        reads.forms.insert(kernel.pos, Form { row: Growth::Size(length), element: Growth::One });
        found.stms().for_each(|s| match found.is_matrix(s) {
            true => drop(reads.forms.insert(s.pat[0].var, SAME)),
            false => reads.stm(s),
        });
        let fits = reads.by_column && !reads.by_row && !found.uses_position();
        (fits && !found.is_product()).then_some(found)
    }

    fn stms(&self) -> impl Iterator<Item = &'k core::Stm> {
        self.kernel.prologue.iter().chain(&self.kernel.body.stms)
    }

    fn is_matrix(&self, stm: &core::Stm) -> bool {
        let is = |g: &Groups| stm.pat.iter().any(|p| g.matrices.contains(&p.var));
        self.groups.as_ref().is_some_and(is)
    }

    /// Whether it is a product of two matrices, which the executor does in tiles.
    fn is_product(&self) -> bool {
        let Some(groups) = &self.groups else { return false };
        let needs = |v: Var, of: &[Var], without: &[Var]| {
            let mut found: Vec<Var> = of.to_vec();
            for stm in self.stms().filter(|s| !s.pat.iter().any(|p| without.contains(&p.var))) {
                if found.iter().any(|v| stm.mentions(*v)) {
                    found.extend(stm.pat.iter().map(|p| p.var));
                }
            }
            found.contains(&v)
        };
        let index = |s: &core::Stm| if let Exp::Index(_, is) = &s.exp { is[0].var() } else { None };
        let loads: Vec<Var> = self.stms().filter_map(index).collect();
        let [a, b] = loads[..] else { return false };
        let by_matrix = |v| needs(v, &groups.matrices, &groups.columns);
        let by_column = |v| needs(v, &groups.columns, &[]);
        !by_column(a) && !by_matrix(b) || !by_column(b) && !by_matrix(a)
    }

    fn is_element(&self, stm: &core::Stm) -> bool {
        stm.pat.iter().any(|p| self.elements.contains(&p.var))
    }

    /// Whether a statement computes what is another variable now.
    fn is_renamed(&self, stm: &core::Stm) -> bool {
        let column = |g: &Groups| stm.pat.iter().any(|p| g.columns.contains(&p.var));
        self.is_element(stm) || self.is_matrix(stm) || self.groups.as_ref().is_some_and(column)
    }

    /// Whether anything but the number of the element is computed from the position.
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
        host.bind(stm.pat.clone(), Op::If { cond: one, then, other });
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
        crate::flat::bulk::reads::tidy(&mut kernel);
        kernel
    }

    /// The numbers of the block and of the matrix.
    fn block_and_matrix(&self, code: &mut Statements, row: Var, vars: &mut Vars) -> (Atom, Option<Atom>) {
        let Some(groups) = &self.groups else { return (row.into(), None) };
        let block = code.arith("block", BinOp::Quot, row.into(), groups.count, vars);
        let before = code.arith("before", BinOp::Mul, block, groups.count, vars);
        (block, Some(code.arith("matrix", BinOp::Sub, row.into(), before, vars)))
    }

    /// What the kernel's variables for row, matrix and column are called now.
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
    fn of(kernel: &Kernel, product: &[Atom; 2]) -> Option<(Atom, Groups)> {
        let row = Atom::Var(kernel.row);
        let by = |m: Atom| -> Vec<Var> {
            let quotient = |s: &core::Stm| match operands(s, BinOp::Quot) {
                Some((v, a, b)) => (a == row && b == m).then_some(v),
                None => None,
            };
            kernel.prologue.iter().filter_map(quotient).collect()
        };
        let [a, b] = *product;
        let (count, m) = if by(b).is_empty() { (b, a) } else { (a, b) };
        let matrices = by(m);
        let [matrix] = matrices[..] else { return None };
        let columns = rests_of(kernel, row, Atom::Var(matrix), m);
        Some((m, Groups { count, matrices, columns }))
    }
}

/// The variables of a kernel that are `x - y*n`.
fn rests_of(kernel: &Kernel, x: Atom, y: Atom, n: Atom) -> Vec<Var> {
    let stms = || kernel.prologue.iter().chain(&kernel.body.stms);
    let product = |s: &core::Stm| {
        operands(s, BinOp::Mul).filter(|(_, a, b)| [(y, n), (n, y)].contains(&(*a, *b))).map(|(v, ..)| v)
    };
    let products: Vec<Var> = stms().filter_map(product).collect();
    let from = |a: &Atom| a.var().is_some_and(|v| products.contains(&v));
    let rest =
        |s: &core::Stm| operands(s, BinOp::Sub).filter(|(_, a, b)| *a == x && from(b)).map(|(v, ..)| v);
    stms().filter_map(rest).collect()
}

/// The operands of an operator on `i64`s, and what it binds.
fn operands(stm: &core::Stm, wanted: BinOp) -> Option<(Var, Atom, Atom)> {
    match &stm.exp {
        Exp::Prim(PrimOp::Bin(op, Prim::I64), xs) if *op == wanted => Some((stm.pat[0].var, xs[0], xs[1])),
        _ => None,
    }
}

/// How a kernel reads arrays.
struct Reads {
    forms: HashMap<Var, Form>,
    /// Neighbouring columns read neighbours, and the elements of a column lie apart.
    by_column: bool,
    /// It is the other way round.
    by_row: bool,
}

impl Reads {
    fn form(&self, a: Atom) -> Form {
        a.var().and_then(|v| self.forms.get(&v)).copied().unwrap_or(SAME)
    }

    fn stm(&mut self, stm: &core::Stm) {
        let form = match &stm.exp {
            Exp::Atom(a) => self.form(*a),
            Exp::Prim(PrimOp::Bin(op, Prim::I64), xs) => self.arithmetic(*op, xs[0], xs[1]),
            Exp::Index(_, is) => self.read(self.form(is[0])),
            _ => {
                stm.exp.for_each_body(|b| self.inner(b));
                self.of_all(&stm.exp)
            }
        };
        self.forms.extend(stm.pat.iter().map(|p| (p.var, form)));
    }

    /// Bodies of branches and loops: what they bind themselves may depend on anything.
    fn inner(&mut self, body: &Body) {
        if body.stms.iter().any(|s| matches!(s.exp, Exp::Loop { .. })) {
            self.by_row = true;
        }
        body.stms.iter().for_each(|s| self.stm(s));
    }

    fn of_all(&self, exp: &Exp) -> Form {
        let forms: Vec<Form> = exp.free().into_iter().map(|v| self.form(v.into())).collect();
        Form {
            row: Growth::any_of(forms.iter().map(|f| f.row)),
            element: Growth::any_of(forms.iter().map(|f| f.element)),
        }
    }

    fn arithmetic(&self, op: BinOp, a: Atom, b: Atom) -> Form {
        let (x, y) = (self.form(a), self.form(b));
        match op {
            BinOp::Add => Form { row: x.row.plus(y.row), element: x.element.plus(y.element) },
            BinOp::Sub => Form { row: x.row.minus(y.row), element: x.element.minus(y.element) },
            BinOp::Mul if y == SAME => Form { row: x.row.times(b), element: x.element.times(b) },
            BinOp::Mul if x == SAME => Form { row: y.row.times(a), element: y.element.times(a) },
            _ => Form {
                row: Growth::any_of([x.row, y.row].into_iter()),
                element: Growth::any_of([x.element, y.element].into_iter()),
            },
        }
    }

    /// What an element at such an index depends on.
    fn read(&mut self, at: Form) -> Form {
        match (at.row, at.element) {
            (Growth::One, Growth::Size(_) | Growth::Any) => self.by_column = true,
            (Growth::Size(_) | Growth::Any, Growth::One) => self.by_row = true,
            _ => {}
        }
        let varies = |g: Growth| if g == Growth::None { Growth::None } else { Growth::Any };
        Form { row: varies(at.row), element: varies(at.element) }
    }
}
