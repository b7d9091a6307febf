//! Results of functions that are not made anew.
//!
//! ```text
//! def part xs k = if k == 0 then xs else part xs[1:] (k - 1)       -- what the deepest call was given is everybody's result
//! ```
//!
//! In packed form every call would copy it. What a function makes itself is packed already.

use par_ir::core::{Body, Exp, Param, Program};
use par_ir::hash::{HashMap, HashSet};
use par_ir::{Atom, Var};

/// The results, by their variables, of functions other than entry points that may be arguments or parts of them; not what is updated, by
/// the function or where it is called.
pub fn results(program: &Program, updated: &HashSet<Var>) -> HashSet<Var> {
    let mut search = Search { program, from: HashMap::default(), forwarded: HashSet::default() };
    let mut updated = updated.clone();
    for f in &program.funs {
        search.from.extend(f.params.iter().map(|p| (p.var, From::Argument)));
        search.body(&f.body, &mut updated);
    }
    loop {
        let before = search.forwarded.len();
        for f in program.funs.iter().filter(|f| f.entry.is_none()) {
            for (p, a) in f.ret.iter().zip(&f.body.results) {
                if p.ty.rank() > 0
                    && !updated.contains(&p.var)
                    && search.is_forwarded(*a, &mut HashSet::default())
                {
                    search.forwarded.insert(p.var);
                }
            }
        }
        if search.forwarded.len() == before {
            return search.forwarded;
        }
    }
}

/// Origin of an array.
enum From {
    Argument,
    /// One of these, or a part of it.
    Others(Vec<Atom>),
    /// A function's result.
    Result(Var),
}

struct Search<'p> {
    program: &'p Program,
    from: HashMap<Var, From>,
    forwarded: HashSet<Var>,
}

impl Search<'_> {
    fn body(&mut self, body: &Body, updated: &mut HashSet<Var>) {
        for stm in &body.stms {
            stm.exp.for_each_body(|b| self.body(b, updated));
            for (i, p) in stm.pat.iter().enumerate() {
                let from = match &stm.exp {
                    Exp::Atom(a) => From::Others(vec![*a]),
                    Exp::Slice { arr, .. } | Exp::Index(arr, _) | Exp::Flatten(arr) | Exp::Unflatten(arr) => {
                        From::Others(vec![(*arr).into()])
                    }
                    Exp::If { then, other, .. } => From::Others(vec![then.results[i], other.results[i]]),
                    Exp::Loop { params, body, .. } => {
                        let (state, init): &(Param, Atom) = &params[i];
                        self.from.insert(state.var, From::Others(vec![*init, body.results[i]]));
                        From::Others(vec![state.var.into()])
                    }
                    Exp::Call(f, _) => {
                        let result = self.program.funs[f.0 as usize].ret[i].var;
                        if updated.contains(&p.var) {
                            updated.insert(result);
                        }
                        From::Result(result)
                    }
                    _ => continue,
                };
                self.from.insert(p.var, from);
            }
        }
    }

    fn is_forwarded(&self, a: Atom, seen: &mut HashSet<Var>) -> bool {
        let Some(v) = a.var().filter(|v| seen.insert(*v)) else { return false };
        match self.from.get(&v) {
            Some(From::Argument) => true,
            Some(From::Others(all)) => all.iter().any(|a| self.is_forwarded(*a, seen)),
            Some(From::Result(v)) => self.forwarded.contains(v),
            None => false,
        }
    }
}
