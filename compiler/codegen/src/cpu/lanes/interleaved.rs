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
//! them, so that nothing is read that the body does not read. All are loaded where the first one is: nothing between them may end the group, as a
//! check of an index may; one of an element that was read says nothing of these indices.

use super::class::{Class, Classes};
use par_ir::Var;
use par_ir::core::{Body, Exp, Stm};
use par_ir::effects::Effects;
use par_ir::prim::{BinOp, PrimOp};
use par_ir::ty::Atom;
use par_ir::{Prim, tuning};
use std::collections::{HashMap, HashSet};

/// Columns of the same rows.
#[derive(Clone, Debug)]
pub struct Rows {
    pub array: Var,
    /// Of the read that comes first.
    pub index: Atom,
    /// From there to the first column.
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
    index: Atom,
    step: i64,
    sum: Sum,
}

/// A multiple of a number, and a constant that is added.
#[derive(Clone, Copy)]
struct Sum {
    of: Atom,
    times: i64,
    constant: i64,
}

/// Facts about the integers of a body.
struct Integers<'c> {
    classes: &'c Classes,
    sums: HashMap<Var, Sum>,
    /// Variables that are computed from positions.
    near: HashSet<Var>,
    /// Variables that are computed from elements that are read.
    elements: HashSet<Var>,
}

impl Interleaved {
    /// The groups of a body whose variables have these classes.
    pub fn new(body: &Body, classes: &Classes) -> Interleaved {
        let mut found = Interleaved::default();
        let (near, elements) = (HashSet::new(), HashSet::new());
        let mut integers = Integers { classes, sums: HashMap::new(), near, elements };
        found.body(body, &mut integers);
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

    fn body(&mut self, body: &Body, integers: &mut Integers) {
        let mut open = Vec::new();
        for stm in &body.stms {
            integers.note(stm);
            open.extend(integers.read(stm));
            let inner = stm.exp.own_bodies();
            if integers.may_guard(stm) || !inner.is_empty() {
                self.close(std::mem::take(&mut open));
            }
            inner.into_iter().for_each(|b| self.body(b, integers));
        }
        self.close(open);
    }

    /// Groups reads that nothing stands between.
    fn close(&mut self, mut open: Vec<Read>) {
        while let Some(first) = open.first() {
            let key = |r: &Read| (r.array, r.step, r.sum.of, r.sum.times);
            let wanted = key(first);
            let (alike, others): (Vec<Read>, Vec<Read>) = open.into_iter().partition(|r| key(r) == wanted);
            self.windows(&alike);
            open = others;
        }
    }

    /// Groups reads whose indices differ by constants only.
    fn windows(&mut self, reads: &[Read]) {
        let step = reads[0].step;
        let mut offsets: Vec<i64> = reads.iter().map(|r| r.sum.constant).collect();
        offsets.sort_unstable();
        offsets.dedup();
        let mut next = i64::MIN;
        for first in &offsets {
            let last = first.wrapping_add(step - 1);
            if *first < next || !offsets.contains(&last) {
                continue;
            }
            next = last;
            let number = self.rows.len();
            let members: Vec<&Read> =
                reads.iter().filter(|r| (*first..=last).contains(&r.sum.constant)).collect();
            let mut columns = vec![false; step as usize];
            for r in &members {
                let column = (r.sum.constant - first) as usize;
                columns[column] = true;
                self.of.insert(r.var, (number, column));
            }
            let Read { var: leader, array, index, sum, .. } = *members[0];
            let offset = first.wrapping_sub(sum.constant);
            self.rows.push(Rows { array, index, offset, reads: columns, leader });
        }
    }
}

impl Integers<'_> {
    fn sum(&self, x: &Atom) -> Sum {
        let plain = Sum { of: *x, times: 1, constant: 0 };
        x.var().and_then(|v| self.sums.get(&v)).copied().unwrap_or(plain)
    }

    fn note(&mut self, stm: &Stm) {
        let xs = match &stm.exp {
            Exp::Index(..) => {
                self.elements.insert(stm.pat[0].var);
                return;
            }
            Exp::Prim(_, xs) => &xs[..],
            Exp::Atom(a) => std::slice::from_ref(a),
            _ => return,
        };
        let is_in = |all: &HashSet<Var>, a: &Atom| a.var().is_some_and(|v| all.contains(&v));
        let steps = |a: &Atom| matches!(self.classes.atom(a), Class::Steps(_));
        if xs.iter().any(|a| steps(a) || is_in(&self.near, a)) {
            self.near.insert(stm.pat[0].var);
        }
        if xs.iter().any(|a| is_in(&self.elements, a)) {
            self.elements.insert(stm.pat[0].var);
        }
        if let Exp::Atom(a) = &stm.exp {
            self.sums.insert(stm.pat[0].var, self.sum(a));
        }
        let Exp::Prim(PrimOp::Bin(op, Prim::I64), xs) = &stm.exp else { return };
        let (x, c) = match (op, xs[0].as_i64(), xs[1].as_i64()) {
            (BinOp::Add | BinOp::Mul | BinOp::Sub, _, Some(c)) => (self.sum(&xs[0]), c),
            (BinOp::Add | BinOp::Mul, Some(c), _) => (self.sum(&xs[1]), c),
            _ => return,
        };
        let sum = match op {
            BinOp::Add => Sum { constant: x.constant.wrapping_add(c), ..x },
            BinOp::Sub => Sum { constant: x.constant.wrapping_sub(c), ..x },
            _ => Sum { times: x.times.wrapping_mul(c), constant: x.constant.wrapping_mul(c), ..x },
        };
        self.sums.insert(stm.pat[0].var, sum);
    }

    /// True if reads must not be done before a statement: it may end the group because of where the positions are, or change an array.
    fn may_guard(&self, stm: &Stm) -> bool {
        match &stm.exp {
            Exp::Check { cond, .. } => {
                let of_element = |v: Var| self.elements.contains(&v) && !self.near.contains(&v);
                !cond.var().is_some_and(of_element)
            }
            Exp::Update { .. } => true,
            _ => stm.has_effect(),
        }
    }

    /// A read whose index grows by the length of a short row from lane to lane.
    fn read(&self, stm: &Stm) -> Option<Read> {
        let Exp::Index(array, index) = &stm.exp else { return None };
        let ([index], [p]) = (&index[..], &stm.pat[..]) else { return None };
        let Class::Steps(step) = self.classes.atom(index) else { return None };
        let is_short = (2..=tuning::LANES_COLUMNS).contains(&step);
        let in_lanes = !self.classes.is_apart(p.var) && !self.classes.is_private(*array);
        let sum = self.sum(index);
        (is_short && in_lanes).then_some(Read { var: p.var, array: *array, index: *index, step, sum })
    }
}
