//! The sizes of matrices, and where their elements are.

use par_ir::Vars;
use par_ir::access::{Facts, Form};
use par_ir::build::{Host, Statements};
use par_ir::prim::BinOp;
use par_ir::ty::Atom;

/// Matrices, if there are many; columns of each; elements of a column.
#[derive(Clone, Copy)]
pub(super) struct Size {
    pub(super) count: Option<Atom>,
    pub(super) columns: Atom,
    pub(super) length: Atom,
}

/// True if a number is known to be the product of two host scalars.
pub(super) fn is_product(n: &Form, [a, b]: [Atom; 2], facts: &Facts) -> bool {
    let product = facts.form(a).times(&facts.form(b));
    product.is_some() && product == facts.expanded(n)
}

impl Size {
    /// The place of an element among rows: of column `c` of matrix `p`.
    pub(super) fn by_row(
        self,
        code: &mut Statements,
        (p, i, c): (Option<Atom>, Atom, Atom),
        vars: &mut Vars,
    ) -> Atom {
        let row = match p {
            Some(p) => {
                let first = code.arith("first", BinOp::Mul, p, self.length, vars);
                code.arith("row", BinOp::Add, first, i, vars)
            }
            None => i,
        };
        let start = code.arith("start", BinOp::Mul, row, self.columns, vars);
        code.arith("at", BinOp::Add, start, c, vars)
    }

    /// Rows of all matrices.
    pub(super) fn rows(self, host: &mut Host) -> Atom {
        match self.count {
            Some(count) => host.arith("rows", BinOp::Mul, count, self.length),
            None => self.length,
        }
    }

    /// The same matrix by columns.
    pub(super) fn transposed(self) -> Size {
        Size { columns: self.length, length: self.columns, ..self }
    }
}

/// The matrix that a row is in, of which there are many with `rows` each, and its number there.
pub(super) fn in_matrix(
    code: &mut Statements,
    many: bool,
    (row, rows): (Atom, Atom),
    vars: &mut Vars,
) -> (Option<Atom>, Atom) {
    if !many {
        return (None, row);
    }
    let p = code.arith("matrix", BinOp::Quot, row, rows, vars);
    let before = code.arith("before", BinOp::Mul, p, rows, vars);
    (Some(p), code.arith("row", BinOp::Sub, row, before, vars))
}
