//! Descriptors whose rows are all of one length.
//!
//! ```text
//! if c then m else xss         -- m: [n][k], a matrix among ragged arrays
//!
//! packed      n lengths, all of them k, for every position where c: a step a row
//! view        one length k, with a start that is marked: however far one goes from it, one stays there
//! ```
//!
//! So a matrix is passed on among ragged arrays by one number a position, as they are. A start is marked by a bit above all indices;
//! only starts of lengths in a rope ([`Src::Lens`]) may be marked, of inner dimensions too.

use super::Flattener;
use super::ex::Ex;
use super::host::Known;
use super::nest::{FDim, LevelId};
use super::rep::{Arr, Rep, Src};
use par_ir::core::{Body, Exp, Lambda, Param, Program, Stm};
use par_ir::flat::{Op, Ty};
use par_ir::hash::HashSet;
use par_ir::prim::BinOp;
use par_ir::{Atom, Prim, Var};
use par_runtime::rope::MARK;
use std::rc::Rc;

/// The arrays of a program that are, or become, the lengths of a descriptor's rows.
pub fn of_program(program: &Program) -> HashSet<Var> {
    let mut found = HashSet::default();
    program.funs.iter().for_each(|f| of_body(&f.body, &mut found));
    found
}

fn of_body(body: &Body, found: &mut HashSet<Var>) {
    for stm in &body.stms {
        match &stm.exp {
            Exp::MakeDesc(lens) => drop(found.insert(*lens)),
            Exp::Lengths(_) => drop(found.insert(stm.pat[0].var)),
            exp => exp.for_each_body(|b| of_body(b, found)),
        }
    }
}

impl Arr {
    /// The length that all rows have, if this is a descriptor and says so: of the innermost dimension, if there are several.
    pub fn same_length(&self) -> Option<Ex> {
        let (Src::Splat(row), true) = (&self.src, self.inner.is_empty()) else { return None };
        match &**row {
            Rep::Scalar(len) => Some(len.clone()),
            Rep::Array(row) => row.same_length(),
        }
    }
}

/// The index that a start stands for.
pub fn unmarked(start: Ex) -> Ex {
    Ex::Op(BinOp::And, Rc::new(start), Rc::new(Ex::i64(MARK - 1)))
}

impl Flattener<'_> {
    /// The start so many elements further on; a marked one stays.
    pub fn moved(&self, start: Ex, by: Ex) -> Ex {
        if by == Ex::i64(0) {
            return start;
        }
        let mark =
            Ex::Op(BinOp::Shr, Rc::new(start.clone()), Rc::new(Ex::i64(i64::from(MARK.trailing_zeros()))));
        let steps = self.sub(mark, Ex::i64(1));
        self.add(start, Ex::Op(BinOp::And, Rc::new(by), Rc::new(steps)))
    }

    /// True if all that a statement makes is the lengths of a descriptor's rows.
    pub fn makes_lengths(&self, stm: &Stm) -> bool {
        matches!(stm.pat.as_slice(), [p] if self.facts.lengths.contains(&p.var))
    }

    /// The rows that a lambda results in, if all are copies of one value from outside.
    pub fn copies(&self, lam: &Lambda) -> Option<Arr> {
        self.copies_in(lam, &mut Vec::new())
    }

    /// The same, where these variables are bound on the way.
    fn copies_in<'l>(&self, lam: &'l Lambda, inside: &mut Vec<&'l Param>) -> Option<Arr> {
        inside.extend(&lam.params);
        let ([stm], [result]) = (lam.body.stms.as_slice(), lam.body.results.as_slice()) else { return None };
        let row = match &stm.exp {
            Exp::Replicate(_, x) if inside.iter().all(|p| *x != Atom::Var(p.var)) => {
                Arr::whole(Src::Splat(Rc::new(self.rep(*x))), vec![])
            }
            Exp::Map { lam, .. } => self.copies_in(lam, inside)?,
            _ => return None,
        };
        (*result == Atom::Var(stm.pat[0].var))
            .then(|| Arr::whole(Src::Splat(Rc::new(Rep::Array(row))), vec![]))
    }

    /// The descriptor with these lengths. Where they are all the same, or are rows of what is there, nothing is made.
    pub fn make_desc(&mut self, level: LevelId, stm: &Stm, lens: Var) {
        let (arr, ty) = (self.arr(lens), self.types[&lens].clone());
        if arr.same_length().is_some() || (matches!(arr.src, Src::Lens(_)) && arr.stride.is_none()) {
            self.env.insert(stm.pat[0].var, Rep::Array(arr));
            return;
        }
        let dims = self.dim_reps(&ty);
        let levels = self.enter_dims(level, dims);
        let mut rep = Rep::Array(arr);
        for l in &levels {
            if let Rep::Array(a) = &rep {
                rep = self.row(a, self.local(*l));
            }
        }
        let Rep::Scalar(len) = rep else { panic!("internal error in flatten: rank") };
        let last = *levels.last().expect("lengths have a dimension");
        let d = self.desc_for(&len, last);
        let arr = self.packed_arr(Src::Desc(d), &levels);
        self.env.insert(stm.pat[0].var, Rep::Array(arr));
    }

    /// Lengths that are all the same as one length a position.
    pub fn view_of_lengths(&mut self, level: LevelId, arr: &Arr) -> Option<Arr> {
        arr.same_length()?;
        let Src::Splat(row) = &arr.src else { return None };
        let (value, mut view) = match &**row {
            Rep::Scalar(len) => (len.clone(), Arr::whole(Src::Iota, vec![])),
            Rep::Array(row) => {
                let row = self.view_of_lengths(level, row)?;
                (row.start.clone(), row)
            }
        };
        let (rope, at) = self.one_each(level, &value);
        match view.src {
            Src::Lens(_) => view.inner.insert(0, FDim::View(rope)),
            _ => view.src = Src::Lens(rope),
        }
        view.start = self.add(at, Ex::i64(MARK));
        Some(view)
    }

    /// A value in a rope, once for each position or, if it is the host's, for all; and where.
    fn one_each(&mut self, level: LevelId, value: &Ex) -> (Var, Ex) {
        let host = if self.shapes.is_root(level) { Some(self.host(value)) } else { value.atom() };
        let Some(x) = host else {
            let stored = self.store(level, value);
            let (rope, origin) = self.as_rope(stored, Prim::I64);
            return (rope, self.add(Ex::Pos(level), Ex::Atom(origin)));
        };
        let one = Atom::i64(1);
        self.where_bound(&x.var().into_iter().collect::<Vec<_>>(), |f| {
            let only = f.builder.bind_once(
                Known::Copies(one, x),
                "length",
                Ty::Array(Prim::I64),
                Op::Replicate(one, x),
            );
            let (rope, origin) = f.as_rope(only, Prim::I64);
            (rope, Ex::Atom(origin))
        })
    }
}
