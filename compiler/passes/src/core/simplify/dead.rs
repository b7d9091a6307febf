//! Removes what nothing needs: statements, results of operators, inputs, loop state.
//!
//! ```text
//! let a = add.i64 x 1
//! let (ys: [n]f32) (zs: [n]f32) =           let (ys: [n]f32) =
//!   map n as bs (\p q ->              =>      map n as (\p ->
//!     let y = sqrt.f32 p                        let y = sqrt.f32 p
//!     let z = sqrt.f32 q                        in y)
//!     in y z)
//! in ys                                     in ys
//! ```
//!
//! Statements that may fail stay, even if their values are not needed. Since every variable is bound once, one set of live
//! variables does for the whole program; it is filled from the bottom up.

use par_ir::core::{Body, Exp, Lambda, LoopForm, Param, Program, Stm};
use par_ir::effects::Effects;
use par_ir::hash::HashSet;
use par_ir::stack::deeper;
use par_ir::ty::Var;
use par_ir::visit::Code;

/// Cleans all functions.
pub(super) fn run(program: &mut Program) {
    let mut live = Live::default();
    for fun in &mut program.funs {
        live.mark(&fun.ret);
        live.body(&mut fun.body);
    }
}

/// Variables that are needed.
#[derive(Clone, Default)]
struct Live(HashSet<Var>);

impl Live {
    fn mark(&mut self, code: &impl Code) {
        code.for_each_used(&mut |v| _ = self.0.insert(v));
    }

    fn has(&self, p: &Param) -> bool {
        self.0.contains(&p.var)
    }

    /// Liveness of the parameters of a pattern; the type of a live one uses earlier ones.
    fn pattern<'a>(&mut self, pat: impl DoubleEndedIterator<Item = &'a Param>) -> Vec<bool> {
        let mut live = Vec::new();
        for p in pat.rev() {
            live.push(self.has(p));
            if self.has(p) {
                self.mark(&p.ty);
            }
        }
        live.reverse();
        live
    }

    fn body(&mut self, body: &mut Body) {
        self.mark(&body.results);
        let mut kept = Vec::with_capacity(body.stms.len());
        for mut stm in std::mem::take(&mut body.stms).into_iter().rev() {
            if deeper(|| self.stm(&mut stm)) {
                kept.push(stm);
            }
        }
        kept.reverse();
        body.stms = kept;
    }

    /// Narrows a statement to what is needed; false if nothing of it is.
    fn stm(&mut self, stm: &mut Stm) -> bool {
        let mut keep = self.pattern(stm.pat.iter());
        if !keep.contains(&true) && !stm.has_effect() {
            return false;
        }
        if let Exp::Loop { .. } = stm.exp {
            self.looped(stm, keep);
            return true;
        }
        keep.iter_mut().take(fixed(&stm.exp)).for_each(|k| *k = true);
        narrow(stm, &keep);
        stm.pat.iter().for_each(|p| self.mark(&p.ty));
        self.inside(&mut stm.exp);
        stm.exp.for_each_operand(&mut |a| self.mark(&a));
        true
    }

    fn inside(&mut self, exp: &mut Exp) {
        match exp {
            Exp::If { then, other, .. } => {
                self.body(then);
                self.body(other);
            }
            Exp::Map { inputs, lam, .. }
            | Exp::Filter { inputs, lam, .. }
            | Exp::Scatter { inputs, lam, .. } => {
                self.rows(inputs, lam);
            }
            Exp::Reduce { inputs, lam, op, .. }
            | Exp::Scan { inputs, lam, op, .. }
            | Exp::Hist { inputs, lam, op, .. } => {
                self.lambda(op);
                self.rows(inputs, lam);
            }
            _ => {}
        }
    }

    fn lambda(&mut self, lam: &mut Lambda) {
        self.mark(&lam.ret);
        self.body(&mut lam.body);
    }

    /// A lambda over inputs: those it does not use are dropped.
    fn rows(&mut self, inputs: &mut Vec<Var>, lam: &mut Lambda) {
        self.lambda(lam);
        let keep = self.pattern(lam.params.iter());
        retain(inputs, &keep);
        retain(&mut lam.params, &keep);
    }

    /// A loop parameter is needed if its final value is, or if a needed one is computed from it.
    fn looped(&mut self, stm: &mut Stm, mut keep: Vec<bool>) {
        loop {
            let mut trial = stm.clone();
            let mut live = self.clone();
            let again = live.iteration(&mut trial, &keep);
            if again == keep {
                (*stm, *self) = (trial, live);
                return;
            }
            keep = again;
        }
    }

    /// Cleans a loop that has the parameters `keep`; gives those it turns out to need.
    fn iteration(&mut self, stm: &mut Stm, keep: &[bool]) -> Vec<bool> {
        retain(&mut stm.pat, keep);
        stm.pat.iter().for_each(|p| self.mark(&p.ty));
        let Exp::Loop { params, form, body } = &mut stm.exp else { return keep.to_vec() };
        retain(&mut body.results, keep);
        self.body(body);
        if let LoopForm::While(cond) = form {
            self.body(cond);
        }
        for (i, (p, _)) in params.iter().enumerate() {
            if keep[i] {
                self.mark(&p.ty);
            }
        }
        let needed = self.pattern(params.iter().map(|(p, _)| p));
        let again = needed.iter().zip(keep).map(|(a, b)| *a || *b).collect();
        retain(params, keep);
        stm.exp.for_each_operand(&mut |a| self.mark(&a));
        again
    }
}

/// Number of leading results that an expression cannot drop; `usize::MAX`: it can drop none.
fn fixed(exp: &Exp) -> usize {
    match exp {
        Exp::Map { .. } | Exp::If { .. } => 0,
        Exp::Reduce { neutral, .. } | Exp::Scan { neutral, .. } => neutral.len(),
        Exp::Filter { .. } => 1,
        _ => usize::MAX,
    }
}

/// Drops results. The results of a lambda stand in the order of the pattern (the predicate of a filter in the
/// place of the count).
fn narrow(stm: &mut Stm, keep: &[bool]) {
    if fixed(&stm.exp) == usize::MAX {
        return;
    }
    retain(&mut stm.pat, keep);
    match &mut stm.exp {
        Exp::If { then, other, .. } => {
            retain(&mut then.results, keep);
            retain(&mut other.results, keep);
        }
        exp => {
            if let Some(lam) = exp.lambdas_mut().into_iter().next() {
                retain(&mut lam.body.results, keep);
                retain(&mut lam.ret, keep);
            }
        }
    }
}

fn retain<T>(items: &mut Vec<T>, keep: &[bool]) {
    let mut keep = keep.iter();
    items.retain(|_| keep.next().copied().unwrap_or(true));
}
