//! Loops with parallel operators inside: one iteration of all positions after the other, or every position by itself.
//!
//! ```text
//! map (\ a -> loop (l = a) for j < n do let s = sum … in l with … ) as
//!
//! flat           for j < n: s = kernel reduce rows … ;  l = kernel map (scatter l) …       -- a few kernels an iteration
//! by position    l = kernel map (own a) over positions { loop for j < n { loop … } }       -- one kernel
//! ```
//!
//! Both are there. Under a nest the host takes the second where there are many positions, whose arrays are small ([`super::choices`]), or
//! where an iteration of all positions does so little that starting its kernels would take longer. A loop of the host has one position:
//! only the latter counts.

use super::by_position::{OneByOne, one_by_one};
use super::choices::Measure;
use super::ex::Ex;
use super::local::has_operators;
use super::nest::{LevelId, ROOT};
use super::rep::Rep;
use super::{Flattener, Result, Target, Versions};
use par_ir::core::{Body, Exp, Lambda, LoopForm, Param, Stm};
use par_ir::flat::{self, KernelKind, Ty, VersionChoice};
use par_ir::prim::{BinOp, CmpOp};
use par_ir::tuning;
use par_ir::visit::{Code, Subst};
use par_ir::{Atom, Prim, Var};
use std::rc::Rc;

impl Flattener<'_> {
    /// Flattens a loop with the choice between both versions, if it has both.
    pub fn loop_by_position(&mut self, level: LevelId, stm: &Stm) -> Result<bool> {
        let Some(one) = self.of_one_position(stm) else { return Ok(false) };
        if self.facts.options.versions == Versions::Sequential {
            self.stms(level, &[one.sizes.stms, one.before, vec![one.stm], one.after].concat())?;
            return Ok(true);
        }
        let on_host = self.shapes.is_root(level);
        let measure = match &stm.exp {
            _ if on_host => Measure::Iterations,
            exp if has_steps(exp) => Measure::Steps,
            _ => Measure::Positions,
        };
        let threshold = self.threshold(stm.span, measure);
        let on_gpu = self.facts.options.target == Target::Gpu;
        if threshold == i64::MAX
            || on_host && one.sizes.work.is_none()
            || !on_host && on_gpu && !one.after.is_empty()
        {
            return Ok(false);
        }
        // What is the same for all positions is found out once.
        let shared = self.are_of_host(&one.sizes.stms);
        self.stms(if shared { ROOT } else { level }, &one.sizes.stms)?;
        self.flush();
        let choice = match one.sizes.work.filter(|_| on_host) {
            Some((work, launches)) => {
                let (work, launches) = (self.host_atom(work), self.host_atom(launches));
                (self.does_little((work, launches), threshold), VersionChoice::Iterations { most: threshold })
            }
            None => self.choice_of_positions(level, stm, &one, threshold),
        };
        self.both_loops(level, stm, choice, one)?;
        Ok(true)
    }

    /// The test that a loop under a nest has many positions with small arrays, or does little, if it is known what that is.
    fn choice_of_positions(
        &mut self,
        level: LevelId,
        stm: &Stm,
        one: &OneByOne,
        least: i64,
    ) -> (Atom, VersionChoice) {
        let many = self.are_many_and_small(level, one, stm.pat.len(), least);
        let most = self.threshold(stm.span, Measure::Iterations).saturating_mul(tuning::POSITIONS_LITTLE);
        let Some((work, launches)) = one.sizes.work.filter(|_| most != i64::MAX) else {
            return (many, VersionChoice::Positions { least, most: None });
        };
        let (all, launches) = self.of_all_positions(level, self.ex(work), self.ex(launches));
        let little = self.does_little((all, launches), most);
        let either = self.builder.logic("by_position", BinOp::Or, many, little);
        (either, VersionChoice::Positions { least, most: Some(most) })
    }

    /// Work of all positions together, and launches of the flat version: the maximum over the positions.
    fn of_all_positions(&mut self, level: LevelId, work: Ex, launches: Ex) -> (Atom, Atom) {
        if work.is_of_host() && launches.is_of_host() {
            let (work, n) = (self.host(&work), self.count(level));
            return (self.builder.host_op(BinOp::Mul, n, work), self.host(&launches));
        }
        let mut g = self.group_at(level);
        let results = [work, launches].map(|ex| self.eval(&mut g, &ex)).to_vec();
        let ops = [BinOp::Add, BinOp::Max].map(|op| (op, Prim::I64));
        let op = Lambda::of_operators(&ops, self.builder.span, &mut self.builder.vars);
        let kind = KernelKind::Reduce { op, neutral: vec![Atom::i64(0); 2] };
        let [work, launches] = ["work", "launches"].map(|name| self.builder.vars.fresh(name));
        let pat = [work, launches].map(|var| flat::Param { var, ty: Ty::Array(Prim::I64) }).to_vec();
        let rows = g.rows;
        self.finish(g, kind, results, pat);
        match rows {
            None => (self.read(work, Prim::I64, Atom::i64(0)), self.read(launches, Prim::I64, Atom::i64(0))),
            Some(rows) => {
                let [work, launches] =
                    [work, launches].map(|v| Ex::Load(v, Prim::I64, Rc::new(Ex::Pos(rows))));
                self.of_all_positions(rows, work, launches)
            }
        }
    }

    /// True if statements use nothing that differs between positions.
    fn are_of_host(&self, stms: &[Stm]) -> bool {
        let code = Body { stms: stms.to_vec(), results: vec![] };
        code.free().into_iter().all(|v| match self.env.get(&v) {
            Some(Rep::Scalar(ex)) => ex.is_of_host(),
            Some(Rep::Array(arr)) => self.is_of_host(arr, &self.types[&v]),
            None => false,
        })
    }

    fn both_loops(
        &mut self,
        level: LevelId,
        stm: &Stm,
        (cond, versions): (Atom, VersionChoice),
        one: OneByOne,
    ) -> Result {
        let (subst, results) = self.fresh_results(&stm.pat);
        let mut stms = [one.before, vec![one.stm], one.after].concat();
        for stm in &mut stms {
            stm.exp.substitute(&subst);
            stm.pat = stm.pat.iter().map(|p| renamed(p, &subst)).collect();
        }
        let then = Body { stms, results };
        let (subst, results) = self.fresh_results(&stm.pat);
        let pat: Vec<Param> = stm.pat.iter().map(|p| renamed(p, &subst)).collect();
        self.own.decided.extend(pat.iter().map(|p| p.var));
        let other = Body { stms: vec![Stm { pat, ..stm.clone() }], results };
        self.own.choices += 1;
        let done = self.host_branch(level, stm, (cond, Some(versions)), [&then, &other]);
        self.own.choices -= 1;
        done
    }

    /// Other variables for results.
    fn fresh_results(&mut self, pat: &[Param]) -> (Subst, Vec<Atom>) {
        let fresh: Vec<Atom> = pat.iter().map(|p| self.builder.vars.fresh_like(p.var).into()).collect();
        (pat.iter().map(|p| p.var).zip(fresh.iter().copied()).collect(), fresh)
    }

    fn of_one_position(&mut self, stm: &Stm) -> Option<OneByOne> {
        let Exp::Loop { params, form, body } = &stm.exp else { return None };
        let decided = stm.pat.iter().any(|p| self.own.decided.contains(&p.var));
        let enough = self.own.choices == tuning::NESTED_CHOICES;
        if decided || enough || stm.pat.is_empty() || self.facts.options.versions == Versions::Flat {
            return None;
        }
        let cond = if let LoopForm::While(cond) = form { Some(cond) } else { None };
        let traces = [body].into_iter().chain(cond).any(super::split::traces);
        let is_shared = matches!(form, LoopForm::For { bound, .. } if self.ex(*bound).is_of_host());
        if traces || !self.locals.has_all(&stm.exp) || is_shared && goes_by_element(params, body) {
            return None;
        }
        one_by_one(stm, &self.types, &mut self.builder.vars)
    }

    /// Test that what a loop does is little for as many launches.
    fn does_little(&mut self, (work, launches): (Atom, Atom), threshold: i64) -> Atom {
        let most = self.builder.host_op(BinOp::Mul, launches, Atom::i64(threshold));
        self.is_at_most(work, most)
    }

    /// Test that there are many positions, and few elements of state to each of them.
    fn are_many_and_small(&mut self, level: LevelId, one: &OneByOne, results: usize, threshold: i64) -> Atom {
        let shrinks = !one.after.is_empty();
        let elements = if shrinks { tuning::SHRINKING_ELEMENTS } else { tuning::POSITION_ELEMENTS };
        let n = self.count(level);
        let mut all = self.is_at_most(Atom::i64(threshold), n);
        let most = self.builder.host_op(BinOp::Mul, n, Atom::i64(elements));
        for p in one.stm.pat[..results].iter().filter(|p| !p.ty.is_scalar()) {
            let dims = self.dim_reps(&p.ty);
            let Some(last) = self.enter_dims(level, dims).last().copied() else { continue };
            let total = self.count(last);
            let small = self.is_at_most(total, most);
            all = self.builder.logic("by_position", BinOp::And, all, small);
        }
        all
    }

    fn is_at_most(&mut self, a: Atom, b: Atom) -> Atom {
        self.builder.compare("by_position", CmpOp::Le, a, b)
    }
}

/// A variable under another name.
fn renamed(p: &Param, names: &Subst) -> Param {
    let var = names.get(&p.var).and_then(|a| a.var()).unwrap_or(p.var);
    Param { var, ty: p.ty.substituted(names) }
}

/// True if there is a loop inside without parallel operators: flat, each of its iterations is a launch for one step of every position.
fn has_steps(exp: &Exp) -> bool {
    let is_sequential =
        |s: &Stm| matches!(s.exp, Exp::Loop { .. }) && !s.exp.own_bodies().into_iter().any(has_operators);
    exp.own_bodies().into_iter().flat_map(|b| &b.stms).any(|s| is_sequential(s) || has_steps(&s.exp))
}

/// True if an iteration makes every element of the state from what that element was: then the flat version is one kernel too, in which
/// every element goes through all iterations.
fn goes_by_element(params: &[(Param, Atom)], body: &Body) -> bool {
    let mut state: Vec<Var> = params.iter().filter(|(p, _)| !p.ty.is_scalar()).map(|(p, _)| p.var).collect();
    for stm in &body.stms {
        let of_state = match &stm.exp {
            Exp::Map { lam, .. } => {
                let scalar = lam.body.stms.iter().all(|s| s.pat.iter().all(|p| p.ty.is_scalar()));
                if !scalar || state.iter().any(|v| lam.mentions(*v)) {
                    return false;
                }
                state.extend(stm.pat.iter().map(|p| p.var));
                continue;
            }
            Exp::Atom(_) | Exp::Prim(..) | Exp::Check { .. } | Exp::Index(..) | Exp::Slice { .. } => {
                state.iter().any(|v| stm.mentions(*v))
            }
            _ => true,
        };
        if of_state {
            return false;
        }
    }
    true
}
