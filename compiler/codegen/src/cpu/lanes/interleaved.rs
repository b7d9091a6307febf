//! Reads of a body that are the columns of rows of a few elements: each position reads a row of its own, and the rows are neighbours.
//!
//! ```text
//! i = mul pos 3
//! x = xs[i]             column 0 of rows of 3
//! j = add i 1
//! y = xs[j]             column 1
//! k = add i 2
//! z = xs[k]             column 2
//! ```
//!
//! All columns together are whole registers, which are loaded once and taken apart (`columns.rs`). The first and the last column must be among
//! them, so that nothing is read that the body does not read; and nothing between them may end the group, as a check may, since all are
//! loaded where the first one is.

use super::class::{Class, Classes};
use par_ir::Var;
use par_ir::core::{Body, Exp, Stm};
use par_ir::effects::Effects;
use par_ir::prim::{BinOp, PrimOp};
use par_ir::ty::Atom;
use par_ir::{Prim, tuning};
use std::collections::HashMap;

/// Columns of the same rows.
#[derive(Clone, Debug)]
pub struct Rows {
    pub array: Var,
    /// Of the first column, less a constant.
    pub index: Atom,
    /// That constant.
    pub offset: i64,
    /// The columns that are read; there are as many as elements in a row.
    pub reads: Vec<bool>,
    /// The variable of the read that comes first.
    pub leader: Var,
}

/// The groups of columns of a body, and of those inside it.
#[derive(Clone, Debug, Default)]
pub struct Interleaved {
    rows: Vec<Rows>,
    of: HashMap<Var, (usize, usize)>,
}

/// A read, in the order of the body.
struct Read {
    var: Var,
    array: Var,
    step: i64,
    index: (Atom, i64),
}

impl Interleaved {
    /// Those of a body whose variables have these classes.
    pub fn new(body: &Body, classes: &Classes) -> Interleaved {
        let mut found = Interleaved::default();
        found.body(body, classes, &mut HashMap::new());
        found
    }

    /// The rows, by their number, and the column that a variable is bound to.
    pub fn column(&self, v: Var) -> Option<(usize, usize)> {
        self.of.get(&v).copied()
    }

    /// Rows by their number.
    pub fn rows(&self, number: usize) -> &Rows {
        &self.rows[number]
    }

    fn body(&mut self, body: &Body, classes: &Classes, sums: &mut HashMap<Var, (Atom, i64)>) {
        let mut open = Vec::new();
        for stm in &body.stms {
            note_sum(stm, sums);
            open.extend(read(stm, classes, sums));
            let inner = stm.exp.own_bodies();
            if stm.has_effect() || !inner.is_empty() {
                self.close(std::mem::take(&mut open));
            }
            inner.into_iter().for_each(|b| self.body(b, classes, sums));
        }
        self.close(open);
    }

    /// Groups reads that nothing stands between.
    fn close(&mut self, mut open: Vec<Read>) {
        while let Some(first) = open.first() {
            let (array, step, root) = (first.array, first.step, first.index.0);
            let is_alike = |r: &Read| r.array == array && r.step == step && r.index.0 == root;
            let (alike, others): (Vec<Read>, Vec<Read>) = open.into_iter().partition(is_alike);
            self.windows(&alike);
            open = others;
        }
    }

    /// Groups reads whose indices differ by constants only.
    fn windows(&mut self, reads: &[Read]) {
        let (array, step, index) = (reads[0].array, reads[0].step, reads[0].index.0);
        let mut offsets: Vec<i64> = reads.iter().map(|r| r.index.1).collect();
        offsets.sort_unstable();
        offsets.dedup();
        let mut next = i64::MIN;
        for offset in &offsets {
            let last = offset.wrapping_add(step - 1);
            if *offset < next || !offsets.contains(&last) {
                continue;
            }
            next = last;
            let number = self.rows.len();
            let column = |r: &Read| (*offset..=last).contains(&r.index.1).then(|| (r.index.1 - offset) as usize);
            let members: Vec<(Var, usize)> = reads.iter().filter_map(|r| Some((r.var, column(r)?))).collect();
            let mut columns = vec![false; step as usize];
            members.iter().for_each(|(_, c)| columns[*c] = true);
            self.of.extend(members.iter().map(|(v, c)| (*v, (number, *c))));
            self.rows.push(Rows { array, index, offset: *offset, reads: columns, leader: members[0].0 });
        }
    }
}

/// Notes an integer that differs from another one by a constant.
fn note_sum(stm: &Stm, sums: &mut HashMap<Var, (Atom, i64)>) {
    let Exp::Prim(PrimOp::Bin(op @ (BinOp::Add | BinOp::Sub), Prim::I64), xs) = &stm.exp else { return };
    let (x, c) = match (op, xs[0].as_i64(), xs[1].as_i64()) {
        (BinOp::Add, _, Some(c)) => (xs[0], c),
        (BinOp::Add, Some(c), _) => (xs[1], c),
        (_, _, Some(c)) => (xs[0], c.wrapping_neg()),
        _ => return,
    };
    let (root, before) = sum(&x, sums);
    sums.insert(stm.pat[0].var, (root, c.wrapping_add(before)));
}

/// An operand as another one and a constant that is added.
fn sum(x: &Atom, sums: &HashMap<Var, (Atom, i64)>) -> (Atom, i64) {
    x.var().and_then(|v| sums.get(&v)).copied().unwrap_or((*x, 0))
}

/// A read whose index grows by the length of a short row from lane to lane.
fn read(stm: &Stm, classes: &Classes, sums: &HashMap<Var, (Atom, i64)>) -> Option<Read> {
    let Exp::Index(array, index) = &stm.exp else { return None };
    let ([index], [p]) = (&index[..], &stm.pat[..]) else { return None };
    let Class::Steps(step) = classes.atom(index) else { return None };
    if !(2..=tuning::LANES_COLUMNS).contains(&step) || classes.is_apart(p.var) || classes.is_private(*array) {
        return None;
    }
    Some(Read { var: p.var, array: *array, step, index: sum(index, sums) })
}
