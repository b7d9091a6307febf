//! Capacity: arrays that a counted loop appends to are arrays with room for all iterations, which it updates.
//!
//! ```text
//! loop (k = 0, xs: [k]t = []) for i < n do           loop (k = 0, b: [n]t = replicate n 0) for i < n do
//!   if c then k + 1, concat (xs, [x])        ==>       if c then k + 1, b with [k] = x
//!   else k, xs                                         else k, b
//!                                                    xs = slice b (0, k)
//! ```
//!
//! So are those that it takes elements from at the end (`init xs`), as from a stack. How much an iteration appends must be a constant at most ([`par_ir::growth`]),
//! and no version may be used when the next one exists ([`versions`]): then the updates are in place, in one kernel under a map.
//!
//! Room for all iterations may be far more than is used. Under a map, rows for which there is no memory together are worked through in chunks; of a loop elsewhere
//! there is the original, too, if room would be more than [`tuning::CAPACITY`].

mod versions;

use par_ir::build::Statements;
use par_ir::core::{Body, Exp, LoopForm, Param, Program, Stm};
use par_ir::growth::Ran;
use par_ir::prim::{BinOp, CmpOp, PrimOp};
use par_ir::stack::deeper;
use par_ir::visit::Code;
use par_ir::{Atom, Dim, Prim, Type, Var, Vars, tuning};
use std::collections::HashMap;
use versions::Versions;

/// Iterations of a loop that ends, and elements that one of them may append: more are out of memory, and their product is a number.
const MOST: i64 = 1 << 40;
const MOST_EACH: i64 = 1 << 16;

/// In all functions.
pub(crate) fn run(program: &mut Program) {
    let Program { funs, vars, .. } = program;
    for f in funs {
        let mut types = HashMap::new();
        types.extend(f.params.iter().map(|p| (p.var, p.ty.clone())));
        note_types(&f.body, &mut types);
        Walk { vars, types: &types }.body(&mut f.body, 0);
    }
}

/// The types of all variables that a body binds.
fn note_types(body: &Body, types: &mut HashMap<Var, Type>) {
    let mut note = |p: &Param| _ = types.insert(p.var, p.ty.clone());
    for stm in &body.stms {
        stm.pat.iter().for_each(&mut note);
        if let Exp::Loop { params, .. } = &stm.exp {
            params.iter().for_each(|(p, _)| note(p));
        }
        stm.exp.lambdas().into_iter().flat_map(|l| &l.params).for_each(&mut note);
    }
    body.stms.iter().flat_map(|s| s.exp.bodies()).for_each(|b| deeper(|| note_types(b, types)));
}

struct Walk<'v> {
    vars: &'v mut Vars,
    types: &'v HashMap<Var, Type>,
}

/// State that grows.
struct Growing {
    /// Number of its size among the parameters.
    size: usize,
    /// By how much an iteration makes that larger at most.
    each: i64,
    /// The size of an array with room.
    room: Var,
}

impl Walk<'_> {
    /// `nest` maps are around it.
    fn body(&mut self, body: &mut Body, nest: usize) {
        let mut left = std::mem::take(&mut body.stms);
        left.reverse();
        while let Some(stm) = left.pop() {
            let growing = self.growing(&stm);
            if growing.is_empty() {
                body.stms.push(self.inside(stm, nest));
                continue;
            }
            left.reverse();
            let mut rest = Body { stms: left, results: std::mem::take(&mut body.results) };
            match self.with_room(&stm, &growing, &mut rest, nest) {
                Some(stms) => body.stms.extend(stms),
                None => body.stms.push(self.inside(stm, nest)),
            }
            (left, body.results) = (rest.stms, rest.results);
            left.reverse();
        }
    }

    fn inside(&mut self, mut stm: Stm, nest: usize) -> Stm {
        let nest = nest + usize::from(stm.exp.is_soac());
        stm.exp.for_each_body_mut(|b| deeper(|| self.body(b, nest)));
        stm
    }

    /// A loop with state that has room for all iterations, and for what is appended to it in the `rest` behind the loop.
    fn with_room(
        &mut self,
        stm: &Stm,
        growing: &[Growing],
        rest: &mut Body,
        nest: usize,
    ) -> Option<Vec<Stm>> {
        let Exp::Loop { params, form, body } = &stm.exp else { return None };
        let LoopForm::For { prim, bound, .. } = form else { return None };
        let rooms = growing.iter().map(|g| (params[g.size].0.var, g.room)).collect();
        let mut versions = Versions::new(rooms, self.types, self.vars);
        let mut changed = versions.iteration(params, body)?;
        let ends = params.iter().zip(&stm.pat).map(|((p, _), end)| (p.var, end));
        let each = |size| growing.iter().find(|g| params[g.size].0.var == size).map_or(0, |g| g.each);
        let behind = (nest > 0).then(|| versions.behind(ends, &each, rest)).flatten();
        let most: Vec<i64> = growing.iter().map(|g| versions.most(params[g.size].0.var)).collect();
        self.body(&mut changed, nest);
        let mut code = Statements::new(stm.span);
        let count = self.count(*prim, *bound, &mut code);
        let mut more = Vec::new();
        for (g, most) in growing.iter().zip(most) {
            let each = code.arith("more", BinOp::Mul, count, Atom::i64(g.each), self.vars);
            more.push(code.arith("more", BinOp::Add, each, Atom::i64((most - g.each).max(0)), self.vars));
            let room =
                Exp::Prim(PrimOp::Bin(BinOp::Add, Prim::I64), vec![params[g.size].1, more[more.len() - 1]]);
            code.bind(vec![Param { var: g.room, ty: Type::I64 }], room);
        }
        let mut then = Statements::new(stm.span);
        let state = self.state(params, growing.iter().zip(more), &mut then);
        let exp = Exp::Loop { params: state, form: form.clone(), body: changed };
        if let Some(behind) = behind {
            *rest = behind;
            then.bind(self.roomy(&stm.pat, growing), exp);
            code.stms.extend(then.stms);
            return Some(code.stms);
        }
        let results = self.results(stm, exp, growing, &mut then);
        if nest > 0 {
            code.stms.extend(then.stms);
            code.names(&stm.pat, results);
            return Some(code.stms);
        }
        let cond = self.fits(growing, &mut code)?;
        let original = stm.refreshed(self.vars);
        let unchanged = original.pat.iter().map(|p| p.var.into()).collect();
        let other = Body { stms: vec![original], results: unchanged };
        code.bind(stm.pat.clone(), Exp::If { cond, then: then.results(results), other });
        Some(code.stms)
    }

    /// Test that there is not too much room.
    fn fits(&mut self, growing: &[Growing], code: &mut Statements) -> Option<Atom> {
        let rooms: Vec<Atom> = growing.iter().map(|g| g.room.into()).collect();
        let most = rooms.into_iter().reduce(|a, b| code.arith("room", BinOp::Max, a, b, self.vars))?;
        Some(code.compare("fits", CmpOp::Le, most, Atom::i64(tuning::CAPACITY), self.vars))
    }

    /// How often a loop repeats: a number that can be counted with, if not by one that ends.
    fn count(&mut self, prim: Prim, bound: Atom, code: &mut Statements) -> Atom {
        if bound.var().is_some_and(|v| self.types.values().any(|ty| ty.mentions(v))) {
            return bound;
        }
        let count = match prim {
            Prim::I64 => bound,
            _ => code.prim("count", PrimOp::Conv(prim, Prim::I64), vec![bound], self.vars),
        };
        let count = code.arith("count", BinOp::Max, count, Atom::i64(0), self.vars);
        code.arith("count", BinOp::Min, count, Atom::i64(MOST), self.vars)
    }

    /// Sizes of a counted loop that grow by at most a constant in an iteration, if all arrays of these sizes are such that they can have room.
    fn growing(&mut self, stm: &Stm) -> Vec<Growing> {
        let Exp::Loop { params, form: LoopForm::For { .. }, body } = &stm.exp else { return vec![] };
        let mut growing = Vec::new();
        for (size, (p, _)) in params.iter().enumerate().filter(|(_, (p, _))| p.ty == Type::I64) {
            let arrays: Vec<&Type> =
                params.iter().map(|(q, _)| &q.ty).filter(|ty| ty.mentions(p.var)).collect();
            let has_room = |ty: &&Type| {
                let is_it = |d: &Dim| *d == Dim::Size(p.var.into());
                ty.is_regular() && is_it(&ty.dims[0]) && !ty.dims[1..].iter().any(is_it)
            };
            let each = Ran::iteration(params, body, self.types).growth(body.results[size], p.var);
            let each = each.filter(|each| {
                (1..=MOST_EACH).contains(each) && !arrays.is_empty() && arrays.iter().all(has_room)
            });
            growing.extend(each.map(|each| Growing { size, each, room: self.vars.fresh("room") }));
        }
        growing
    }

    /// The state with room for so many more elements.
    fn state<'g>(
        &mut self,
        params: &[(Param, Atom)],
        growing: impl Iterator<Item = (&'g Growing, Atom)>,
        code: &mut Statements,
    ) -> Vec<(Param, Atom)> {
        let mut state = params.to_vec();
        for (g, more) in growing {
            let (size, first) = &params[g.size];
            for (p, init) in state.iter_mut().filter(|(p, _)| p.ty.mentions(size.var)) {
                p.ty.dims[0] = Dim::Size(g.room.into());
                let is_empty = first.as_i64() == Some(0);
                let mut free = p.ty.clone();
                free.dims[0] = Dim::Size(if is_empty { g.room.into() } else { more });
                let free = code.zeros(&free, self.vars);
                *init = match init.var().filter(|_| !is_empty) {
                    Some(v) => {
                        code.value("with_room", p.ty.clone(), Exp::Concat(vec![v, free]), self.vars).into()
                    }
                    None => free.into(),
                };
            }
        }
        state
    }

    /// The loop, and its results without what is free in the end.
    fn results(&mut self, stm: &Stm, exp: Exp, growing: &[Growing], code: &mut Statements) -> Vec<Atom> {
        let fresh: Vec<Param> = stm.pat.iter().map(|p| p.fresh(self.vars)).collect();
        let roomy = self.roomy(&stm.pat, growing);
        let pat: Vec<Param> =
            fresh.iter().zip(&roomy).map(|(p, q)| Param { ty: q.ty.clone(), ..*p }).collect();
        code.bind(pat.clone(), exp);
        let size =
            |p: &Param| growing.iter().find(|g| p.ty.mentions(stm.pat[g.size].var)).map(|g| pat[g.size].var);
        let part = |(p, q): (&Param, &Param)| match size(p) {
            Some(len) => versions::first_elements(q, len.into(), code, self.vars).into(),
            None => q.var.into(),
        };
        stm.pat.iter().zip(&pat).map(part).collect()
    }

    /// The pattern of a loop whose arrays have room.
    fn roomy(&self, pat: &[Param], growing: &[Growing]) -> Vec<Param> {
        let mut roomy = pat.to_vec();
        for g in growing {
            for p in roomy.iter_mut().filter(|p| p.ty.mentions(pat[g.size].var)) {
                p.ty.dims[0] = Dim::Size(g.room.into());
            }
        }
        roomy
    }
}
