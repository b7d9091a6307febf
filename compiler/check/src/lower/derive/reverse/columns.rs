//! Columns of a tape: what is kept of one variable of a loop's state, iteration after iteration.

use super::undo::{Overwrite, Overwritten};
use super::{Lower, R};
use par_ir::core::{At, Exp, Param};
use par_ir::{Atom, Dim, Prim, Scalar, Type, Var};

/// All values of one variable of a loop's state. Descriptors are kept as lengths.
pub(super) enum Column {
    Scalars(Var),
    /// Of one size.
    Rows(Var),
    /// One after the other, with the start of each.
    Flat {
        values: Var,
        starts: Var,
    },
    /// Not itself, but what was overwritten: for each update, the indices and what stood there.
    Overwritten(Vec<Overwritten>),
}

/// Form of a column while the loop runs.
pub(super) enum Plan {
    Scalars(Prim),
    Rows(Prim, Atom),
    Flat(Prim, Atom),
    Overwritten(Vec<Overwrite>),
}

impl Plan {
    pub fn updates(&self) -> &[Overwrite] {
        if let Plan::Overwritten(updates) = self { updates } else { &[] }
    }
}

impl Lower<'_> {
    /// Types and first values of what is kept.
    pub(super) fn first_columns(&mut self, count: Atom, plan: &Plan) -> R<Vec<(Type, Atom)>> {
        Ok(match plan {
            Plan::Scalars(p) => vec![self.zero_column(count, *p)],
            Plan::Overwritten(updates) => {
                let mut columns = Vec::new();
                for u in updates.iter().flat_map(|u| std::iter::repeat_n(u, u.count)) {
                    let nothing = Atom::i64(if u.sometimes { -1 } else { 0 });
                    columns.extend((0..u.indices).map(|_| self.column(count, Prim::I64, nothing)));
                    columns.push(self.zero_rows(count, &u.ty)?);
                }
                columns
            }
            Plan::Rows(p, size) => {
                let (_, row) = self.zero_column(*size, *p);
                let ty = Type::array(vec![Dim::Size(count), Dim::Size(*size)], *p);
                vec![(ty.clone(), self.emit("tape", ty, Exp::Replicate(count, row)).into())]
            }
            Plan::Flat(p, total) => {
                vec![
                    self.zero_column(*total, *p),
                    self.zero_column(count, Prim::I64),
                    (Type::I64, Atom::i64(0)),
                ]
            }
        })
    }

    fn zero_column(&mut self, n: Atom, p: Prim) -> (Type, Atom) {
        self.column(n, p, Atom::Const(Scalar::zero(p)))
    }

    fn column(&mut self, n: Atom, p: Prim, first: Atom) -> (Type, Atom) {
        let ty = Type::array(vec![Dim::Size(n)], p);
        (ty.clone(), self.emit("tape", ty, Exp::Replicate(n, first)).into())
    }

    /// Writes one variable of the state.
    pub(super) fn write_column(
        &mut self,
        p: &Param,
        plan: &Plan,
        index: Atom,
        extra: &mut dyn Iterator<Item = Var>,
        out: &mut Vec<Atom>,
    ) -> R<()> {
        if let Plan::Overwritten(_) = plan {
            return Ok(());
        }
        let Some(column) = extra.next() else { return Err(self.internal("a tape with too few columns")) };
        let ty = self.type_of(column).clone();
        let at = vec![At::Index(index)];
        let mut write = |lo: &mut Self, arr: Var, at, value| {
            let ty = lo.type_of(arr).clone();
            out.push(lo.emit("tape", ty, Exp::Update { arr, at, value }).into());
        };
        match plan {
            Plan::Scalars(_) => write(self, column, at, p.var.into()),
            Plan::Rows(prim, _) => {
                let (_, row) = self.flat_state(p.var)?;
                let row = self.retype_var(row, Type::array(ty.dims[1..].to_vec(), *prim));
                write(self, column, at, row.into());
            }
            Plan::Flat(..) => {
                let (Some(starts), Some(start)) = (extra.next(), extra.next()) else {
                    return Err(self.internal("a tape with too few columns"));
                };
                let (size, row) = self.flat_state(p.var)?;
                let part = vec![At::Slice { start: start.into(), stride: Atom::i64(1) }];
                write(self, column, part, row.into());
                write(self, starts, at, start.into());
                let end = self.add(start.into(), size);
                out.push(end);
            }
            Plan::Overwritten(_) => {}
        }
        Ok(())
    }

    /// An array's elements, or a descriptor's lengths.
    fn flat_state(&mut self, v: Var) -> R<(Atom, Var)> {
        let v = if self.type_of(v).is_desc() { self.lengths(v) } else { v };
        self.flat(v)
    }

    pub(super) fn read_column(&mut self, column: &Column, ty: &Type, i: Atom) -> R<Var> {
        let prim = ty.prim();
        let flat = match column {
            Column::Scalars(all) => return Ok(self.emit("x", ty.clone(), Exp::Index(*all, vec![i]))),
            Column::Rows(all) => {
                let row = Type::array(self.type_of(*all).dims[1..].to_vec(), prim);
                self.emit("x", row, Exp::Index(*all, vec![i]))
            }
            Column::Flat { values, starts } => {
                let start = self.emit("start", Type::I64, Exp::Index(*starts, vec![i]));
                let len = self.flat_size(ty)?;
                let part = Type::array(vec![Dim::Size(len)], prim);
                let slice = Exp::Slice { arr: *values, start: start.into(), len, stride: Atom::i64(1) };
                self.emit("x", part, slice)
            }
            Column::Overwritten(_) => return Err(self.internal("an array that is taken along")),
        };
        let value = self.unflat(flat, &Type::array(ty.dims.clone(), prim))?;
        if ty.is_desc() {
            return Ok(self.emit("s", ty.clone(), Exp::MakeDesc(value)));
        }
        // A variable of its own: its adjoint is no other's.
        Ok(self.emit("x", ty.clone(), Exp::Atom(value.into())))
    }
}
