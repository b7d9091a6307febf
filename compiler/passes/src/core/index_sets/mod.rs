//! Index set splitting: a map in a loop of the host that leaves the rows on one side of a position as they are is an update of the others.
//!
//! ```text
//! loop a for k < n {                                          loop a for k < n {
//!     let r = map n (iota n, a) (\i row ->                        let part = map (n - k - 1) (iota …, a[k + 1:]) (\j row ->
//!       if i <= k then row                             ==>          let i = j + (k + 1)
//!       else let p = a[k] in map m (row, p) …)                      let p = a[k] in map m (row, p) …)
//!     in r }                                                      in a with [k + 1:] = part }
//! ```
//!
//! Steps of eliminations and orthogonalisations are written like that. What leaves a single row as it is (`i != k`) is two updates, of the rows before it and after it. A second condition on the other index (`i > k && j >= k`) restricts the columns. Only the
//! others are computed, and in place where nothing else of the array is read but rows that stay: a map that reads rows around its own is left alone, for it would be
//! computed beside the array and copied. So is an array that is used later, and one that another map makes in the same iteration: it would have to be stored first
//! (1.4 of the time); a version with updates, as by rows that are exchanged, is stored. What a row reads of itself elsewhere is read before its elements are
//! computed. Where an iteration reads nothing of the array but each row for itself, loop and map are interchanged instead (0.8 of the time).

mod columns;
mod part;
mod rows;

use par_ir::alias::reads_only;
use par_ir::core::{Body, Exp, LoopForm, Param, Program, Stm};
use par_ir::hash::HashSet;
use par_ir::stack::deeper;
use par_ir::visit::Code;
use par_ir::{Atom, Var, Vars};
use part::{Side, Split, updated};
use rows::{New, Row, comparison, params_of};

/// In every function, outside of operators.
pub(crate) fn run(program: &mut Program) {
    let Program { funs, vars, .. } = program;
    for f in funs {
        let mut walk = Walk { vars, iotas: HashSet::default(), descs: HashSet::default(), nest: 0 };
        walk.note_descs(&f.params);
        walk.body(&mut f.body, &[]);
    }
}

struct Walk<'v> {
    vars: &'v mut Vars,
    iotas: HashSet<Var>,
    /// Descriptors, of which there are no slices.
    descs: HashSet<Var>,
    /// Maps around.
    nest: usize,
}

impl Walk<'_> {
    /// `state` has the parameters of the loop around, with what replaces them.
    fn body(&mut self, body: &mut Body, state: &[(Var, Atom)]) {
        let mut left = std::mem::take(&mut body.stms).into_iter();
        // Results of updates.
        let mut stored: Vec<Var> = Vec::new();
        while let Some(mut stm) = left.next() {
            self.note_descs(&stm.pat);
            match &mut stm.exp {
                Exp::Iota(_) => _ = self.iotas.insert(stm.pat[0].var),
                Exp::Update { .. } => stored.push(stm.pat[0].var),
                Exp::Loop { params, form, body } => {
                    self.note_descs(params.iter().map(|(p, _)| p));
                    let next = body.results.clone();
                    let state: Vec<(Var, Atom)> = params.iter().map(|(p, _)| p.var).zip(next).collect();
                    if let LoopForm::While(cond) = form {
                        deeper(|| self.body(cond, &[]));
                    }
                    deeper(|| self.body(body, &state));
                }
                Exp::If { then, other, .. } => {
                    [then, other].into_iter().for_each(|arm| deeper(|| self.body(arm, &[])));
                }
                exp => {
                    self.nest += 1;
                    exp.for_each_body_mut(|b| self.body(b, &[]));
                    self.nest -= 1;
                }
            }
            let is_over = |a: &Var| {
                !body.results.contains(&Atom::Var(*a)) && !left.as_slice().iter().any(|s| s.mentions(*a))
            };
            let replaces = |(_, next): &&(Var, Atom)| stm.pat.len() == 1 && *next == stm.pat[0].var.into();
            let replaced = state.iter().find(replaces).map(|s| s.0);
            let arrays = replaced.into_iter().chain(stored.iter().copied().filter(|v| stm.mentions(*v)));
            let split = arrays
                .filter(|a| self.nest == 0 && is_over(a))
                .find_map(|array| self.split(&stm, array, &body.stms));
            let is_next = |array: Var, k: usize| {
                let next = (array, stm.pat[k].var.into());
                is_over(&array) && (stored.contains(&array) || state.contains(&next))
            };
            match split {
                Some(split) => body.stms.extend(updated(stm, &split, self.vars)),
                None => match columns::updated(&stm, &is_next, self.vars) {
                    Some(stms) => body.stms.extend(stms),
                    None => body.stms.push(stm),
                },
            }
        }
    }

    fn note_descs<'p>(&mut self, params: impl IntoIterator<Item = &'p Param>) {
        self.descs.extend(params.into_iter().filter(|p| p.ty.is_desc()).map(|p| p.var));
    }

    /// The restriction of a map that leaves elements of an array unchanged. `before` are the statements before it in the iteration.
    fn split(&self, stm: &Stm, array: Var, before: &[Stm]) -> Option<Split> {
        let Exp::Map { width, inputs, lam } = &stm.exp else { return None };
        let position = inputs.iter().position(|v| self.iotas.contains(v))?;
        let regular =
            lam.params.iter().map(|p| &p.ty).chain(&lam.ret).all(|ty| ty.is_regular() && !ty.is_desc());
        let has_descs = inputs.iter().any(|v| self.descs.contains(v));
        if !regular || has_descs || lam.ret.len() != 1 || lam.ret[0].is_scalar() {
            return None;
        }
        let i = lam.params[position].var;
        let own = params_of(inputs, lam, &|v| v == array);
        let row = Row { array, own, at: vec![Some(i)], iotas: &self.iotas };
        let New { conditions, at, widths, body } = row.new_rows(&lam.body)?;
        let widths = [vec![*width], widths].concat();
        let bound = lam.bound();
        let is_fixed = |a: &Atom| a.var().is_none_or(|v| !bound.contains(&v));
        let mut sides: Vec<Option<Side>> = vec![None; at.len()];
        for (cond, holds) in conditions {
            let compared = |(d, i): (usize, &Option<Var>)| Some((d, comparison(cond, (*i)?, &lam.body)?));
            let (d, (op, bound)) = at.iter().enumerate().find_map(compared)?;
            let side = Side { op: if holds { op } else { op.negated() }, bound };
            if !is_fixed(&bound) || !is_fixed(&widths[d]) || sides[d].is_some() {
                return None;
            }
            sides[d] = Some(side);
        }
        sides.first().copied().flatten()?;
        // Reads outside of the own row are of indices at an excluded bound, which no position updates.
        let stays = |at: &[Atom]| {
            let is_beside =
                |(i, side): (&Atom, &Option<Side>)| side.is_some_and(|s| *i == s.bound && s.is_strict());
            at[0] == i.into() || at.iter().zip(&sides).any(is_beside)
        };
        let is_alone = !before.iter().any(|s| s.mentions(array) || s.pat.iter().any(|p| p.var == array))
            && reads_only(&body, array, &|at| at[0] == i.into());
        let pays = !is_alone && reads_only(&body, array, &stays);
        pays.then_some(Split { array, at, widths, sides, body })
    }
}
