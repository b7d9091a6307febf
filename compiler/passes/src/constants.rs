//! Parameters and results of functions that are the same constant in every call, sizes above all.
//!
//! ```text
//! fun power (n: i64) (m: [n][n]i64) (e: i64) : (k: i64) ([k][k]i64) = … power n mm (e / 2) … in 2 …
//! power 2 a 10                                            -- so n is 2 everywhere, and so is k
//! ```
//!
//! Found from the assumption that all are, which is taken back where a call or a result says otherwise.

use par_ir::core::{Body, Exp, Fun, FunId, Param, Program};
use par_ir::visit::{Code, Subst};
use par_ir::{Atom, Scalar, Var};
use std::collections::HashMap;

/// What is known of a scalar.
#[derive(Clone, Copy, PartialEq)]
enum Known {
    /// Nothing was seen yet.
    Nothing,
    Always(Scalar),
    Varies,
}

impl Known {
    fn and(self, other: Known) -> Known {
        match (self, other) {
            (Known::Nothing, x) | (x, Known::Nothing) => x,
            (Known::Always(a), Known::Always(b)) if a == b => self,
            _ => Known::Varies,
        }
    }
}

/// In all functions.
pub fn run(program: &mut Program) {
    if program.funs.iter().all(|f| f.entry.is_some()) {
        return;
    }
    let mut search = Search::new(program);
    while search.sweep(program) {}
    let subst = search.constants(program);
    for fun in &mut program.funs {
        fun.body.substitute(&subst);
        fun.params.iter_mut().chain(&mut fun.ret).for_each(|p| p.ty.substitute(&subst));
    }
}

struct Search {
    /// Of every variable that is a parameter, or bound by a call or a branch.
    vars: HashMap<Var, Known>,
    /// Of the results of every function.
    results: Vec<Vec<Known>>,
    changed: bool,
}

impl Search {
    fn new(program: &Program) -> Search {
        let mut vars = HashMap::new();
        let mut results = Vec::new();
        for fun in &program.funs {
            let start = if fun.entry.is_some() { Known::Varies } else { Known::Nothing };
            vars.extend(fun.params.iter().map(|p| (p.var, start)));
            results.push(vec![Known::Nothing; fun.ret.len()]);
        }
        Search { vars, results, changed: false }
    }

    /// Looks at all calls and results; whether something was learned.
    fn sweep(&mut self, program: &Program) -> bool {
        self.changed = false;
        for (i, fun) in program.funs.iter().enumerate() {
            self.body(&fun.body, program);
            for (j, a) in fun.body.results.iter().enumerate() {
                let all = self.results[i][j].and(self.of(*a));
                self.changed |= all != self.results[i][j];
                self.results[i][j] = all;
            }
        }
        self.changed
    }

    fn of(&self, a: Atom) -> Known {
        match a {
            Atom::Const(c) => Known::Always(c),
            Atom::Var(v) => self.vars.get(&v).copied().unwrap_or(Known::Varies),
        }
    }

    fn note(&mut self, v: Var, known: Known) {
        let before = self.vars.get(&v).copied().unwrap_or(Known::Nothing);
        let all = before.and(known);
        self.changed |= all != before;
        self.vars.insert(v, all);
    }

    fn body(&mut self, body: &Body, program: &Program) {
        for stm in &body.stms {
            stm.exp.bodies().into_iter().for_each(|b| self.body(b, program));
            match &stm.exp {
                Exp::Call(f, args) => self.call(*f, args, &stm.pat, program),
                Exp::If { then, other, .. } => {
                    for (i, p) in stm.pat.iter().enumerate().filter(|(_, p)| p.ty.is_scalar()) {
                        self.note(p.var, self.of(then.results[i]).and(self.of(other.results[i])));
                    }
                }
                Exp::Atom(a) if stm.pat[0].ty.is_scalar() => self.note(stm.pat[0].var, self.of(*a)),
                _ => {}
            }
        }
    }

    fn call(&mut self, f: FunId, args: &[Atom], pat: &[Param], program: &Program) {
        let fun: &Fun = &program.funs[f.0 as usize];
        for (p, a) in fun.params.iter().zip(args) {
            self.note(p.var, self.of(*a));
        }
        for (i, p) in pat.iter().enumerate() {
            self.note(p.var, self.results[f.0 as usize][i]);
        }
    }

    /// What variables are always, and what results are in the types of other results.
    fn constants(self, program: &Program) -> Subst {
        let always = |known: Known| if let Known::Always(c) = known { Some(Atom::Const(c)) } else { None };
        let of_results = program.funs.iter().zip(&self.results).flat_map(|(fun, known)| {
            fun.ret.iter().zip(known).filter_map(|(p, k)| Some((p.var, always(*k)?)))
        });
        let of_vars = self.vars.iter().filter_map(|(v, k)| Some((*v, always(*k)?)));
        of_vars.chain(of_results).collect()
    }
}
