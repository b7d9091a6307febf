//! Appended rows: what a counted loop appends to rows of a ragged array is grouped by row after the loop.
//!
//! ```text
//! loop (xss: [n][~s]t) for i < m do             (us: [m]i64, xs: [m]t) = map m … (u, x)
//!   … in xss with [u] = xss[u] ++ [x]    ==>    (counts, ranks) = loop … for j < m: the number of elements of row us[j] before, and
//!                                                                 one more of it
//!                                               rows of xss extended by counts, then a scatter of xs
//! ```
//!
//! Adjacency lists and buckets are made like that: the array with every row was copied for each element. Now it is a stable counting sort. Appending may be in branches, several times in an
//! iteration, and of any constant number of elements; nothing else may read the array. Work O(n + m), span O(m) for the counting, which is one after the other.

mod chain;
mod groups;

use chain::{Appended, Chain, Stripped};
use groups::Groups;
use par_ir::build::Statements;
use par_ir::core::{At, Body, Exp, Lambda, LoopForm, Param, Program, Schedule, Stm};
use par_ir::hash::HashMap;
use par_ir::prim::BinOp;
use par_ir::stack::deeper;
use par_ir::visit::Code;
use par_ir::{Atom, Dim, Prim, Type, Var, Vars};

/// In all functions.
pub(crate) fn run(program: &mut Program) {
    let Program { funs, vars, .. } = program;
    for f in funs {
        let mut defs = HashMap::default();
        note(&f.body, &mut defs);
        Walk { vars, defs }.body(&mut f.body);
    }
}

/// Records the definitions of variables that are bound alone, to expressions without bodies.
fn note(body: &Body, defs: &mut HashMap<Var, Exp>) {
    for stm in &body.stms {
        match &stm.pat[..] {
            [p] if stm.exp.bodies().is_empty() => _ = defs.insert(p.var, stm.exp.clone()),
            _ => stm.exp.bodies().into_iter().for_each(|b| deeper(|| note(b, defs))),
        }
    }
}

struct Walk<'v> {
    vars: &'v mut Vars,
    defs: HashMap<Var, Exp>,
}

/// A ragged array of the state: the places of its descriptor and of its components.
struct Ragged {
    at: Vec<usize>,
    prims: Vec<Prim>,
    size: Atom,
}

impl Walk<'_> {
    fn body(&mut self, body: &mut Body) {
        for mut stm in std::mem::take(&mut body.stms) {
            stm.exp.for_each_body_mut(|b| deeper(|| self.body(b)));
            match self.grouped(&stm) {
                Some(stms) => body.stms.extend(stms),
                None => body.stms.push(stm),
            }
        }
    }

    /// The loop without the first array that it only appends to, and then the array.
    fn grouped(&mut self, stm: &Stm) -> Option<Vec<Stm>> {
        let Exp::Loop { params, form: LoopForm::For { index, prim: Prim::I64, bound }, body } = &stm.exp
        else {
            return None;
        };
        let mut found = None;
        for ragged in arrays(params) {
            let (defs, prims) = (&self.defs, &ragged.prims);
            let mut chain = Chain { defs, prims, vars: self.vars, versions: vec![], span: stm.span };
            let Some(stripped) = chain.stripped(body, &ragged.at) else { continue };
            let is_start = stripped.start.iter().zip(&ragged.at).all(|(v, k)| params[*k].0.var == *v);
            let is_read = |v: &Var| stripped.body.mentions(*v);
            let is_alone = !stripped.start.iter().chain(&chain.versions).any(is_read);
            if is_start && is_alone && !stripped.appended.is_empty() {
                found = Some((chain.span, ragged, stripped));
                break;
            }
        }
        let (span, ragged, Stripped { body, appended, is_conditional, .. }) = found?;
        let mut code = Statements::new(stm.span);
        let count = match bound.var().is_some_and(|v| self.is_size(v)) {
            true => *bound,
            false => code.arith("count", BinOp::Max, *bound, Atom::i64(0), self.vars),
        };
        let recorded = self.recorded(stm, (*index, count), &ragged, (body, &appended), &mut code);
        let (count, recorded) = self.in_one(recorded, (count, appended.len()), &mut code);
        let initial = ragged.at.iter().map(|k| params[*k].1.var()).collect::<Option<Vec<_>>>()?;
        let is_empty = self.is_empty(initial[0]);
        let (size, prims) = (ragged.size, &ragged.prims[..]);
        let groups = Groups { size, count, recorded, prims, span, is_conditional };
        let after: Vec<Param> = ragged.at.iter().map(|k| stm.pat[*k].clone()).collect();
        groups.arrays(&after, &initial, is_empty, &mut code, self.vars);
        Some(code.stms)
    }

    /// True for the length of an array that is there.
    fn is_size(&self, v: Var) -> bool {
        matches!(self.defs.get(&v), Some(Exp::Total(_)))
    }

    /// True for a descriptor of rows without elements.
    fn is_empty(&self, desc: Var) -> bool {
        let def = |v: Var| self.defs.get(&v);
        let Some(Exp::MakeDesc(lens)) = def(desc) else { return false };
        matches!(def(*lens), Some(Exp::Replicate(_, x)) if x.as_i64() == Some(0))
    }

    /// Appends the loop without the array, whose results are those of the original, and what it records of each iteration.
    fn recorded(
        &mut self,
        stm: &Stm,
        (index, count): (Var, Atom),
        ragged: &Ragged,
        (mut body, appended): (Body, &[Appended]),
        code: &mut Statements,
    ) -> Vec<Param> {
        let Exp::Loop { params, form, .. } = &stm.exp else { unreachable!("a loop") };
        let mut inside = Statements { stms: std::mem::take(&mut body.stms), span: stm.span };
        let mut columns = vec![(Prim::I64, appended.iter().map(|a| a.row).collect::<Vec<_>>())];
        for (k, prim) in ragged.prims.iter().enumerate() {
            columns.push((*prim, appended.iter().map(|a| a.values[k]).collect()));
        }
        let mut made = Vec::new();
        for (prim, elements) in &columns {
            let (ty, value) = match &elements[..] {
                [x] => (Type::scalar(*prim), *x),
                _ => {
                    let ty = Type::array(vec![Dim::Size(Atom::i64(elements.len() as i64))], *prim);
                    let row = Exp::Literal(elements.clone(), *prim);
                    (ty.clone(), inside.value("appended", ty, row, self.vars).into())
                }
            };
            made.push((ty, value));
        }
        let recorded = |vars: &mut Vars, ty: &Type| {
            let dims = [&[Dim::Size(count)], &ty.dims[..]].concat();
            Param { var: vars.fresh("recorded"), ty: Type::array(dims, ty.prim()) }
        };
        let results: Vec<Param> = made.iter().map(|(ty, _)| recorded(self.vars, ty)).collect();
        let others: Vec<usize> = (0..params.len()).filter(|k| !ragged.at.contains(k)).collect();
        if others.is_empty() {
            let is = Type::array(vec![Dim::Size(count)], Prim::I64);
            let is = code.value("is", is, Exp::Iota(count), self.vars);
            let (ret, results_of) = made.into_iter().unzip();
            let lam = Lambda {
                params: vec![Param { var: index, ty: Type::I64 }],
                body: inside.results(results_of),
                ret,
                schedule: Schedule::Free,
            };
            code.bind(results.clone(), Exp::Map { width: count, inputs: vec![is], lam });
            return results;
        }
        let mut state: Vec<(Param, Atom)> = others.iter().map(|k| params[*k].clone()).collect();
        let mut next = body.results;
        for (p, (_, value)) in results.iter().zip(&made) {
            let (before, after) = (p.fresh(self.vars), p.fresh(self.vars));
            state.push((before.clone(), code.zeros(&p.ty, self.vars).into()));
            let at = vec![At::Index(index.into())];
            inside.bind(vec![after.clone()], Exp::Update { arr: before.var, at, value: *value });
            next.push(after.var.into());
        }
        let pat = others.iter().map(|k| stm.pat[*k].clone()).chain(results.iter().cloned()).collect();
        code.bind(pat, Exp::Loop { params: state, form: form.clone(), body: inside.results(next) });
        results
    }

    /// Recorded elements, flattened to one dimension, and their number.
    fn in_one(
        &mut self,
        recorded: Vec<Param>,
        (count, each): (Atom, usize),
        code: &mut Statements,
    ) -> (Atom, Vec<Var>) {
        if each == 1 {
            return (count, recorded.iter().map(|p| p.var).collect());
        }
        let all = code.arith("count", BinOp::Mul, count, Atom::i64(each as i64), self.vars);
        let mut flat = |p: Param| {
            let ty = Type::array(vec![Dim::Size(all)], p.ty.prim());
            code.value("recorded", ty, Exp::Flatten(p.var), self.vars)
        };
        (all, recorded.into_iter().map(&mut flat).collect())
    }
}

/// The ragged arrays of two dimensions in a loop's state, whose descriptors nothing else has.
fn arrays(params: &[(Param, Atom)]) -> Vec<Ragged> {
    let mut found = Vec::new();
    for (s, (desc, _)) in params.iter().enumerate().filter(|(_, (p, _))| p.ty.is_desc() && p.ty.rank() == 1) {
        let Dim::Size(size) = desc.ty.dims[0] else { continue };
        let dims = [Dim::Size(size), Dim::Seg(desc.var)];
        let with = || params.iter().enumerate().filter(|(_, (p, _))| p.ty.mentions(desc.var));
        if with().next().is_some() && with().all(|(_, (p, _))| p.ty.dims == dims) {
            let at = std::iter::once(s).chain(with().map(|(k, _)| k)).collect();
            found.push(Ragged { at, prims: with().map(|(_, (p, _))| p.ty.prim()).collect(), size });
        }
    }
    found
}
