//! What reads the columns of a matrix by rows, so that it may as well be stored by rows.

use crate::flat::bulk::reads;
use par_ir::access::{Access, Facts, Form, Symbol};
use par_ir::core::{self, Exp};
use par_ir::flat::{Block, Kernel, KernelKind, Op, Out, Space, Stm};
use par_ir::ty::{Atom, Dim, Var};
use par_ir::visit::Code;
use std::collections::HashMap;

/// All statements of a block that use what one of its statements makes: maps over the rows of the matrix, each of which reads elements at its own position.
#[derive(Default)]
pub(super) struct Readers(Vec<usize>);

impl Readers {
    /// The readers of what a statement makes, arrays of so many columns of a length; if there are any, and they are all such maps.
    pub(super) fn of(block: &Block, at: usize, size: (Atom, Atom), facts: &Facts) -> Option<Readers> {
        let made: Vec<Var> = block.stms[at].pat.iter().map(|p| p.var).collect();
        if made.iter().any(|v| block.results.contains(&Atom::Var(*v))) {
            return None;
        }
        let uses = |s: &Stm| made.iter().any(|v| s.op.mentions(*v));
        let readers: Vec<usize> = (at + 1..block.stms.len()).filter(|i| uses(&block.stms[*i])).collect();
        let by_row = |i: &usize| reads_by_row(&block.stms[*i], &made, size, facts);
        (!readers.is_empty() && readers.iter().all(by_row)).then_some(Readers(readers))
    }

    /// Replaces a statement by others, whose results by rows are read then. The number of statements now.
    pub(super) fn replace(self, block: &mut Block, at: usize, (stms, by_row): (Vec<Stm>, &[Var])) -> usize {
        let made = block.stms[at].pat.iter().map(|p| p.var);
        let arrays: HashMap<Var, Var> = made.zip(by_row.iter().copied()).collect();
        self.0.into_iter().for_each(|reader| read_by_row(&mut block.stms[reader], &arrays));
        let count = stms.len();
        block.stms.splice(at..=at, stms);
        count
    }
}

fn reads_by_row(stm: &Stm, made: &[Var], (columns, length): (Atom, Atom), facts: &Facts) -> bool {
    let Op::Kernel(k) = &stm.op else { return false };
    let is_map = matches!(&k.kind, KernelKind::Map(outs) if outs.iter().all(|o| matches!(o, Out::Elem(_))));
    if !is_map || k.space != Space::rows(length, Dim::Size(columns)) {
        return false;
    }
    let access = Access::of(k, facts);
    let [row, column] = [0, 1].map(|d| Form::from(Symbol::Index(d)));
    let here = column.times(&facts.form(length)).map(|start| start.plus(&row));
    let is_here = |i: Atom| here.is_some() && access.form(i) == here;
    let mut by_row = 0;
    reads::for_each(&k.body, &mut |arr, i| by_row += usize::from(made.contains(&arr) && is_here(i)));
    by_row == made.iter().map(|v| stm.op.uses_of(*v)).sum::<usize>()
}

/// Reads the arrays by rows in the place of those by columns. What only copies is what it copies.
fn read_by_row(stm: &mut Stm, arrays: &HashMap<Var, Var>) {
    let Op::Kernel(k) = &mut stm.op else { return };
    let pos = Atom::Var(k.pos);
    for (by_column, by_row) in arrays {
        let mut instead = HashMap::new();
        reads::for_each(&k.body, &mut |_, i| _ = instead.insert(i, (*by_row, pos)));
        reads::redirect(&mut k.body, *by_column, &instead);
    }
    reads::simplify(k);
    if let Some(array) = copied(k).filter(|v| arrays.values().any(|by_row| by_row == v)) {
        stm.op = Op::Atom(array.into());
    }
}

/// The array of which a map's only result is the element at each position.
fn copied(k: &Kernel) -> Option<Var> {
    let [x] = k.body.results[..] else { return None };
    k.body.stms.iter().find_map(|core::Stm { pat, exp, .. }| match exp {
        Exp::Index(array, at) if at[..] == [k.pos.into()] && x == pat[0].var.into() => Some(*array),
        _ => None,
    })
}
