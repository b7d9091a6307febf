//! Capacity: arrays that a counted loop appends to are buffers with capacity for all iterations, updated in place.
//!
//! ```text
//! loop (k = 0, xs: [k]t = []) for i < n do           loop (k = 0, b: [n]t = replicate n 0) for i < n do
//!   if c then k + 1, concat (xs, [x])        ==>       if c then k + 1, b with [k] = x
//!   else k, xs                                         else k, b
//!                                                    xs = slice b (0, k)
//! ```
//!
//! Stacks are such arrays, too: a prefix (`init xs`) is the same buffer. An iteration may append a constant number of elements at most ([`par_ir::growth`]), and each
//! update must be the last use of the version before it ([`versions`]): so it is in place, in one kernel under a map. Statements after the loop may append
//! as well.
//!
//! The capacity may be far above the final size. Under a map, rows whose buffers do not fit in memory together run in chunks; a host loop keeps its original as
//! a second version for capacities above [`tuning::CAPACITY`].

mod versions;

use par_ir::build::Statements;
use par_ir::core::{Body, Exp, LoopForm, Param, Program, Stm};
use par_ir::growth::Ran;
use par_ir::hash::HashMap;
use par_ir::prim::{BinOp, CmpOp, PrimOp};
use par_ir::stack::deeper;
use par_ir::visit::{Code, Subst};
use par_ir::{Atom, Dim, Prim, Type, Var, Vars, tuning};
use versions::Versions;

/// Limits of the iterations that are counted, and of the elements that each appends: the product does not overflow, and is out of memory.
const MOST: i64 = 1 << 40;
const MOST_EACH: i64 = 1 << 16;

/// In all functions.
pub(crate) fn run(program: &mut Program) {
    let Program { funs, vars, .. } = program;
    for f in funs {
        let mut types = HashMap::default();
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

/// A size of the state that grows, and the arrays of this size.
struct Growing {
    /// Number of the size among the parameters.
    size: usize,
    /// Upper bound of its growth in an iteration.
    each: i64,
    /// Size of the buffers.
    capacity: Var,
}

impl Walk<'_> {
    /// Statements under `nest` maps.
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
            match self.over_buffers(&stm, &growing, &mut rest, nest) {
                Some(stms) => body.stms.extend(stms),
                None => body.stms.push(self.inside(stm, nest)),
            }
            (left, body.results) = (rest.stms, rest.results);
            left.reverse();
        }
    }

    fn inside(&mut self, mut stm: Stm, nest: usize) -> Stm {
        let nest = nest + usize::from(stm.exp.is_soac());
        stm.exp.for_each_body_mut(|b| self.body(b, nest));
        stm
    }

    /// The loop over buffers; the `rest` of the body may append to its results.
    fn over_buffers(
        &mut self,
        stm: &Stm,
        growing: &[Growing],
        rest: &mut Body,
        nest: usize,
    ) -> Option<Vec<Stm>> {
        let Exp::Loop { params, form, body } = &stm.exp else { return None };
        let LoopForm::For { prim, bound, .. } = form else { return None };
        let capacities = growing.iter().map(|g| (params[g.size].0.var, g.capacity)).collect();
        let mut versions = Versions::new(capacities, self.types, self.vars);
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
            let each = code.arith("added", BinOp::Mul, count, Atom::i64(g.each), self.vars);
            more.push(code.arith("added", BinOp::Add, each, Atom::i64((most - g.each).max(0)), self.vars));
            let capacity =
                Exp::Prim(PrimOp::Bin(BinOp::Add, Prim::I64), vec![params[g.size].1, more[more.len() - 1]]);
            code.bind(vec![Param { var: g.capacity, ty: Type::I64 }], capacity);
        }
        let mut then = Statements::new(stm.span);
        let state = self.state(params, growing.iter().zip(more), &mut then);
        let exp = Exp::Loop { params: state, form: form.clone(), body: changed };
        if let Some(behind) = behind {
            *rest = behind;
            then.bind(self.extended(&stm.pat, growing), exp);
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

    /// Test that the capacities are within the limit.
    fn fits(&mut self, growing: &[Growing], code: &mut Statements) -> Option<Atom> {
        let capacities: Vec<Atom> = growing.iter().map(|g| g.capacity.into()).collect();
        let most =
            capacities.into_iter().reduce(|a, b| code.arith("capacity", BinOp::Max, a, b, self.vars))?;
        Some(code.compare("fits", CmpOp::Le, most, Atom::i64(tuning::CAPACITY), self.vars))
    }

    /// Number of iterations, at most [`MOST`] unless it is a size.
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

    /// Growing sizes of a counted loop whose growth has a constant bound, and whose arrays are regular.
    fn growing(&mut self, stm: &Stm) -> Vec<Growing> {
        let Exp::Loop { params, form: LoopForm::For { .. }, body } = &stm.exp else { return vec![] };
        let mut growing = Vec::new();
        for (size, (p, _)) in params.iter().enumerate().filter(|(_, (p, _))| p.ty == Type::I64) {
            let arrays: Vec<&Type> =
                params.iter().map(|(q, _)| &q.ty).filter(|ty| ty.mentions(p.var)).collect();
            let is_bufferable = |ty: &&Type| {
                let is_it = |d: &Dim| *d == Dim::Size(p.var.into());
                ty.is_regular() && is_it(&ty.dims[0]) && !ty.dims[1..].iter().any(is_it)
            };
            if arrays.is_empty() || !arrays.iter().all(is_bufferable) {
                continue;
            }
            let each = Ran::iteration(params, body, self.types).growth(body.results[size], p.var);
            let each = each.filter(|each| (1..=MOST_EACH).contains(each));
            growing.extend(each.map(|each| Growing { size, each, capacity: self.vars.fresh("capacity") }));
        }
        growing
    }

    /// The state, its arrays extended by so many elements.
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
                p.ty.dims[0] = Dim::Size(g.capacity.into());
                let is_empty = first.as_i64() == Some(0);
                let mut free = p.ty.clone();
                free.dims[0] = Dim::Size(if is_empty { g.capacity.into() } else { more });
                let free = code.zeros(&free, self.vars);
                *init = match init.var().filter(|_| !is_empty) {
                    Some(v) => {
                        code.value("extended", p.ty.clone(), Exp::Concat(vec![v, free]), self.vars).into()
                    }
                    None => free.into(),
                };
            }
        }
        state
    }

    /// The loop, and its results cut to their sizes.
    fn results(&mut self, stm: &Stm, exp: Exp, growing: &[Growing], code: &mut Statements) -> Vec<Atom> {
        let fresh: Vec<Param> = stm.pat.iter().map(|p| p.fresh(self.vars)).collect();
        let extended = self.extended(&stm.pat, growing);
        let names: Subst = stm.pat.iter().zip(&fresh).map(|(p, q)| (p.var, q.var.into())).collect();
        let renamed = |(p, q): (&Param, &Param)| Param { ty: q.ty.substituted(&names), ..*p };
        let pat: Vec<Param> = fresh.iter().zip(&extended).map(renamed).collect();
        code.bind(pat.clone(), exp);
        let size =
            |p: &Param| growing.iter().find(|g| p.ty.mentions(stm.pat[g.size].var)).map(|g| pat[g.size].var);
        let part = |(p, q): (&Param, &Param)| match size(p) {
            Some(len) => versions::prefix(q, len.into(), code, self.vars).into(),
            None => q.var.into(),
        };
        stm.pat.iter().zip(&pat).map(part).collect()
    }

    /// The pattern of the loop over buffers.
    fn extended(&self, pat: &[Param], growing: &[Growing]) -> Vec<Param> {
        let mut extended = pat.to_vec();
        for g in growing {
            for p in extended.iter_mut().filter(|p| p.ty.mentions(pat[g.size].var)) {
                p.ty.dims[0] = Dim::Size(g.capacity.into());
            }
        }
        extended
    }
}
