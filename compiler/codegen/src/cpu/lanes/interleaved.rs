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
use par_ir::access::{Access, Facts, Form};
use par_ir::core::{Body, Exp, Stm};
use par_ir::effects::Effects;
use par_ir::hash::{HashMap, HashSet};
use par_ir::tuning;
use par_ir::ty::Atom;

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
    form: Form,
}

impl Read {
    /// The constant by which the index of another read of such rows is greater.
    fn distance(&self, other: &Read) -> Option<i64> {
        let alike = self.array == other.array && self.step == other.step;
        other.form.minus(&self.form).as_constant().filter(|_| alike)
    }
}

/// Facts about the integers of a body.
struct Integers<'c> {
    classes: &'c Classes,
    access: Access<'c>,
    /// Variables that are computed from positions.
    near: HashSet<Var>,
    /// Variables that are computed from elements that are read.
    elements: HashSet<Var>,
}

impl Interleaved {
    /// The groups of a body at these positions, whose variables have these classes.
    pub fn new(pos: Var, body: &Body, classes: &Classes) -> Interleaved {
        let mut found = Interleaved::default();
        let facts = Facts::default();
        if has_short_rows(body, classes) {
            let access = Access::along(pos, body, &facts);
            let (near, elements) = (HashSet::default(), HashSet::default());
            found.body(body, &mut Integers { classes, access, near, elements });
        }
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
        while !open.is_empty() {
            let (mut alike, mut others) = (Vec::new(), Vec::new());
            let first = open.remove(0);
            for read in open {
                match first.distance(&read) {
                    Some(distance) => alike.push((read, distance)),
                    None => others.push(read),
                }
            }
            alike.insert(0, (first, 0));
            self.windows(&alike);
            open = others;
        }
    }

    /// Groups reads whose indices differ by constants only: how far each is from that of the first.
    fn windows(&mut self, reads: &[(Read, i64)]) {
        let step = reads[0].0.step;
        let mut offsets: Vec<i64> = reads.iter().map(|(_, offset)| *offset).collect();
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
            let members: Vec<&(Read, i64)> =
                reads.iter().filter(|(_, offset)| (*first..=last).contains(offset)).collect();
            let mut columns = vec![false; step as usize];
            for (read, offset) in &members {
                let column = (offset - first) as usize;
                columns[column] = true;
                self.of.insert(read.var, (number, column));
            }
            let (Read { var: leader, array, index, .. }, distance) = members[0];
            let (leader, array, index, offset) = (*leader, *array, *index, first.wrapping_sub(*distance));
            self.rows.push(Rows { array, index, offset, reads: columns, leader });
        }
    }
}

/// The step of a read whose index grows by the length of a short row from lane to lane.
fn short_step(stm: &Stm, classes: &Classes) -> Option<i64> {
    let Exp::Index(_, index) = &stm.exp else { return None };
    let Class::Steps(step) = classes.atom(index.first()?) else { return None };
    (2..=tuning::LANES_COLUMNS).contains(&step).then_some(step)
}

/// True if a body, or one inside it, reads elements that are so far apart.
fn has_short_rows(body: &Body, classes: &Classes) -> bool {
    let inside = |s: &Stm| s.exp.own_bodies().into_iter().any(|b| has_short_rows(b, classes));
    body.stms.iter().any(|s| short_step(s, classes).is_some() || inside(s))
}

impl Integers<'_> {
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

    fn read(&self, stm: &Stm) -> Option<Read> {
        let step = short_step(stm, self.classes)?;
        let Exp::Index(array, index) = &stm.exp else { return None };
        let ([index], [p]) = (&index[..], &stm.pat[..]) else { return None };
        let in_lanes = !self.classes.is_apart(p.var) && !self.classes.is_private(*array);
        let form = self.access.form(*index).filter(|_| in_lanes)?;
        Some(Read { var: p.var, array: *array, index: *index, step, form })
    }
}
