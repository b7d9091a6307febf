//! Merges independent calls of one recursive function into a map over their arguments.
//!
//! ```text
//! a = call f xs                     ls = [length xs, length ys]    d = makedesc ls
//! b = call f ys           =>        rows = [xs, ys] : [2][d]
//! … a … b …                         (e, rs) = map 2 (d, rows) \ k row -> call f k row
//!                                   a = rs[0]   b = rs[1]   … a … b …
//! ```
//!
//! Flattened, the map is one call of the lifted function on a batch, so a divide and conquer written with two calls
//! launches in proportion to its depth, not to the number of its calls. A statement between the calls that depends on
//! one of them moves behind the map; nothing moves forward, so no call comes before a check that guards it.
//!
//! Matrices whose rows are of another length in every call are ragged arrays in the map, and matrices again for the call ([`widths`]).
//!
//! Functions from scalars to scalars are left as they are: their calls would form batches as large as their call tree
//! is wide, for no array's benefit.

mod widths;

use par_ir::build::Statements;
use par_ir::core::{Body, Exp, Fun, FunId, Lambda, Param, Program, Schedule, Stm};
use par_ir::hash::HashMap;
use par_ir::place::note_fusion;
use par_ir::visit::Code;
use par_ir::{Atom, Dim, Elem, Prim, Scalar, Type, Var, Vars};
use std::collections::BTreeSet;

/// Merges calls in every body of a program.
pub fn run(program: &mut Program) {
    let signatures = program.funs.iter().map(Signature::of).collect();
    let mut types = HashMap::default();
    for f in &program.funs {
        note(&f.params, &mut types);
        note_types(&f.body, &mut types);
    }
    let mut m = Merger { signatures, types, vars: std::mem::take(&mut program.vars) };
    for f in &mut program.funs {
        m.body(&mut f.body);
    }
    program.vars = m.vars;
}

fn note(params: &[Param], types: &mut HashMap<Var, Type>) {
    types.extend(params.iter().map(|p| (p.var, p.ty.clone())));
}

fn note_types(body: &Body, types: &mut HashMap<Var, Type>) {
    for s in &body.stms {
        note(&s.pat, types);
        s.exp.lambdas().into_iter().for_each(|l| note(&l.params, types));
        if let Exp::Loop { params, .. } = &s.exp {
            types.extend(params.iter().map(|(p, _)| (p.var, p.ty.clone())));
        }
        s.exp.for_each_body(|b| note_types(b, types));
    }
}

/// Shape of a function's parameters and results.
struct Signature {
    params: Vec<Param>,
    ret: Vec<Param>,
    mergeable: bool,
    /// The parameters that are sizes of rows.
    row_sizes: Vec<usize>,
    /// Sizes of parameters and results that may differ between calls.
    free: BTreeSet<Var>,
}

impl Signature {
    fn of(f: &Fun) -> Signature {
        let all: Vec<&Param> = f.params.iter().chain(&f.ret).collect();
        let is_row_size = |p: &Param| all.iter().any(|q| q.ty.dims.iter().skip(1).any(|d| *d == size(p.var)));
        let free: BTreeSet<Var> =
            all.iter().filter(|p| is_row_size(p) && widths::may_differ(p.var, &all)).map(|p| p.var).collect();
        let arrays = all.iter().any(|p| p.ty.rank() > 0);
        let row_sizes = (0..f.params.len()).filter(|i| is_row_size(&f.params[*i])).collect();
        let mergeable = arrays && f.ret.iter().all(|p| !is_row_size(p) || free.contains(&p.var));
        Signature { params: f.params.clone(), ret: f.ret.clone(), mergeable, row_sizes, free }
    }

    /// The sizes of rows that differ between calls, or may differ.
    fn differing(&self, args: &[Vec<Atom>]) -> BTreeSet<Var> {
        let of_args = self.row_sizes.iter().filter(|i| !all_same(&args[**i])).map(|i| self.params[*i].var);
        let is_result = |v: &&Var| self.ret.iter().any(|p| p.var == **v);
        of_args.chain(self.free.iter().filter(is_result).copied()).collect()
    }

    /// True if calls at these places of a body agree in what has to be the same.
    fn fits(&self, body: &Body, group: &[usize]) -> bool {
        let args = self.arguments(group.iter().map(|at| &body.stms[*at]));
        let agrees = |(p, args): (&Param, &Vec<Atom>)| !p.ty.is_acc() || all_same(args);
        self.params.iter().zip(&args).all(agrees) && self.differing(&args).is_subset(&self.free)
    }

    /// For every parameter, its argument in each of the calls.
    fn arguments<'s>(&self, calls: impl Iterator<Item = &'s Stm> + Clone) -> Vec<Vec<Atom>> {
        (0..self.params.len()).map(|i| calls.clone().map(|s| argument(s, i)).collect()).collect()
    }
}

fn size(v: Var) -> Dim {
    Dim::Size(v.into())
}

fn all_same(args: &[Atom]) -> bool {
    args.iter().all(|a| *a == args[0])
}

/// True if a variable is a size in the types of these parameters.
fn is_size(v: Var, params: &[Param]) -> bool {
    params.iter().any(|p| p.ty.dims.contains(&Dim::Size(v.into())))
}

struct Merger {
    signatures: Vec<Signature>,
    types: HashMap<Var, Type>,
    vars: Vars,
}

/// Types of a parameter (or result) of the function outside and inside the map.
struct Lifted {
    /// The descriptor over the calls, for sizes and descriptors that differ between them.
    outer: HashMap<Var, Var>,
    /// The operand inside the lambda.
    inner: HashMap<Var, Atom>,
}

impl Merger {
    fn body(&mut self, body: &mut Body) {
        for s in &mut body.stms {
            s.exp.for_each_body_mut(|b| self.body(b));
        }
        while let Some(group) = self.group(body) {
            self.apply(body, &group);
        }
    }

    /// Positions of calls of one function that do not depend on each other; at least two.
    fn group(&self, body: &Body) -> Option<Vec<usize>> {
        let mut funs: Vec<FunId> = Vec::new();
        for s in &body.stms {
            if let Exp::Call(f, _) = s.exp
                && self.signatures[f.0 as usize].mergeable
            {
                funs.push(f);
            }
        }
        funs.sort();
        let twice = funs.windows(2).filter(|w| w[0] == w[1]).map(|w| w[0]).collect::<BTreeSet<_>>();
        twice.into_iter().find_map(|f| {
            self.independent(body, f).filter(|group| self.signatures[f.0 as usize].fits(body, group))
        })
    }

    /// Calls of `f` with equally many calls of `f` on the way to their arguments, if there are two such.
    fn independent(&self, body: &Body, f: FunId) -> Option<Vec<usize>> {
        let (mut depth, mut added): (HashMap<Var, usize>, HashMap<Var, usize>) = Default::default();
        let mut groups: HashMap<usize, Vec<usize>> = HashMap::default();
        for (i, s) in body.stms.iter().enumerate() {
            let needed = s.free().into_iter().filter_map(|v| depth.get(&v)).copied().max();
            let before_end = ended(s).and_then(|acc| added.get(&acc)).copied();
            let mut d = needed.max(before_end).unwrap_or(0);
            if matches!(s.exp, Exp::Call(g, _) if g == f) {
                groups.entry(d).or_default().push(i);
                d += 1;
            }
            depth.extend(s.pat.iter().map(|p| (p.var, d)));
            self.accumulators(s).for_each(|acc| {
                let deepest = added.entry(acc).or_default();
                *deepest = d.max(*deepest);
            });
        }
        let smallest = groups.into_iter().filter(|(_, g)| g.len() > 1).min_by_key(|(d, _)| *d);
        smallest.map(|(_, g)| g)
    }

    /// The accumulators that a statement may add to. In which order that is done is no matter, but for their ends.
    fn accumulators(&self, s: &Stm) -> impl Iterator<Item = Var> {
        s.free().into_iter().filter(|v| self.types.get(v).is_some_and(Type::is_acc))
    }

    fn apply(&mut self, body: &mut Body, group: &[usize]) {
        let last = *group.last().expect("a group has calls");
        let (mut held, mut added): (BTreeSet<Var>, BTreeSet<Var>) = Default::default();
        let (mut calls, mut later, mut out) = (Vec::new(), Vec::new(), Vec::new());
        for (i, s) in std::mem::take(&mut body.stms).into_iter().enumerate() {
            let waits = s.free().iter().any(|v| held.contains(v))
                || ended(&s).is_some_and(|acc| added.contains(&acc));
            if group.contains(&i) || i < last && waits {
                held.extend(s.pat.iter().map(|p| p.var));
                added.extend(self.accumulators(&s));
                if group.contains(&i) { calls.push(s) } else { later.push(s) }
            } else {
                out.push(s);
            }
            if i == last {
                self.merged(&calls, &mut out);
                out.append(&mut later);
            }
        }
        body.stms = out;
    }

    fn bind(&mut self, name: &str, ty: Type, exp: Exp, code: &mut Statements) -> Var {
        let var = code.value(name, ty.clone(), exp, &mut self.vars);
        self.types.insert(var, ty);
        var
    }

    /// The map that makes all the calls, and their results taken out of it.
    fn merged(&mut self, calls: &[Stm], out: &mut Vec<Stm>) {
        let (span, fun) = match &calls[0].exp {
            Exp::Call(f, _) => (calls[0].span, *f),
            _ => unreachable!("a group holds calls"),
        };
        let sig = &self.signatures[fun.0 as usize];
        let args = sig.arguments(calls.iter());
        let differing = sig.differing(&args);
        let (own_params, own_ret) = (sig.params.clone(), sig.ret.clone());
        let (params, ragged_params) = self.ragged(&own_params, &differing);
        let (mut ret, ragged_ret) = self.ragged(&own_ret, &differing);
        let mut code = Statements::new(span);
        let args = self.ragged_args(&own_params, args, &ragged_params, &mut code);
        let width = Atom::i64(calls.len() as i64);
        let mut l = Lifted { outer: HashMap::default(), inner: HashMap::default() };
        let (mut inputs, mut lam_params) = (Vec::new(), Vec::new());
        for (i, p) in params.iter().enumerate() {
            if all_same(&args[i]) && shareable(p, &params, &args) {
                l.inner.insert(p.var, args[i][0]);
                continue;
            }
            let input = self.as_rows(p, &params, args[i].clone(), width, &mut l, &mut code);
            let var = self.vars.fresh_like(p.var);
            let ty = l.inside(&p.ty);
            self.types.insert(var, ty.clone());
            l.inner.insert(p.var, var.into());
            inputs.push(input);
            lam_params.push(Param { var, ty });
        }
        ret.splice(0..0, shared_shapes(&own_params, &own_ret, &l));
        let mut inside = Statements::new(span);
        self.matrices(&ragged_params, &mut l, &mut inside);
        let called: Vec<Param> = own_ret.iter().map(|q| self.inside(q, &mut l)).collect();
        let args = own_params.iter().map(|p| l.inner[&p.var]).collect();
        inside.bind(called.clone(), Exp::Call(fun, args));
        self.rows_of_matrices(&ragged_ret, &mut l, &mut inside);
        let results: Vec<Atom> = ret.iter().map(|q| l.inner[&q.var]).collect();
        let types = ret.iter().map(|q| l.inside(&q.ty)).collect();
        let outside: Vec<Param> = ret.iter().map(|q| self.outside(q, &ret, width, &mut l)).collect();
        note_fusion(&mut self.vars, called.iter().chain(&outside).map(|p| p.var), calls);
        let body = inside.results(results);
        let lam = Lambda { params: lam_params, body, ret: types, schedule: Schedule::Free };
        let rows: HashMap<Var, Var> = ret.iter().zip(&outside).map(|(q, p)| (q.var, p.var)).collect();
        code.bind(outside, Exp::Map { width, inputs, lam });
        for (j, s) in calls.iter().enumerate() {
            code.span = s.span;
            for (p, q) in s.pat.iter().zip(&own_ret) {
                self.result(p, q, Atom::i64(j as i64), &rows, &ragged_ret, &mut code);
            }
        }
        out.extend(code.stms);
    }

    /// A result of the call in the map.
    fn inside(&mut self, q: &Param, l: &mut Lifted) -> Param {
        let p = Param { var: self.vars.fresh_like(q.var), ty: l.inside(&q.ty) };
        self.types.insert(p.var, p.ty.clone());
        l.inner.insert(q.var, p.var.into());
        p
    }

    /// The results of all calls in the place of one, among these.
    fn outside(&mut self, q: &Param, ret: &[Param], width: Atom, l: &mut Lifted) -> Param {
        let mut p = Param { var: self.vars.fresh_like(q.var), ty: l.outside(&q.ty, width) };
        if q.ty.is_desc() || is_size(q.var, ret) {
            p.ty.elem = Elem::Desc;
            l.outer.insert(q.var, p.var);
        }
        self.types.insert(p.var, p.ty.clone());
        p
    }

    /// The arguments of all calls as the rows of one array (or descriptor).
    fn as_rows(
        &mut self,
        p: &Param,
        params: &[Param],
        args: Vec<Atom>,
        width: Atom,
        l: &mut Lifted,
        code: &mut Statements,
    ) -> Var {
        let name = self.vars.name(p.var).to_string();
        let ty = l.outside(&p.ty, width);
        let is_itself = if p.ty.is_scalar() { !is_size(p.var, params) } else { !p.ty.is_desc() };
        if is_itself {
            return self.bind(&name, ty, Exp::Literal(args, p.ty.prim()), code);
        }
        let mut rows = args;
        if p.ty.is_desc() {
            let descs = std::mem::take(&mut rows);
            for d in descs.iter().filter_map(|a| a.var()) {
                let lens = Type { dims: self.types[&d].dims.clone(), elem: Elem::Prim(Prim::I64) };
                rows.push(self.bind("lens", lens, Exp::Lengths(d), code).into());
            }
        }
        let lengths = Type { dims: ty.dims.clone(), elem: Elem::Prim(Prim::I64) };
        let lit = self.bind("lens", lengths, Exp::Literal(rows, Prim::I64), code);
        let desc = Type { dims: ty.dims, elem: Elem::Desc };
        let d = self.bind(&name, desc, Exp::MakeDesc(lit), code);
        l.outer.insert(p.var, d);
        d
    }
}

impl Lifted {
    /// A type inside the lambda.
    fn inside(&self, ty: &Type) -> Type {
        let dim = |d: &Dim| match d {
            Dim::Size(Atom::Var(v)) => Dim::Size(self.inner.get(v).copied().unwrap_or(Atom::Var(*v))),
            Dim::Seg(v) => Dim::Seg(self.inner.get(v).and_then(|a| a.var()).unwrap_or(*v)),
            Dim::Size(Atom::Const(_)) => *d,
        };
        Type { dims: ty.dims.iter().map(dim).collect(), elem: ty.elem }
    }

    /// A type over all calls.
    fn outside(&self, ty: &Type, width: Atom) -> Type {
        let dim = |d: &Dim| match d {
            Dim::Size(Atom::Var(v)) | Dim::Seg(v) if self.outer.contains_key(v) => Dim::Seg(self.outer[v]),
            Dim::Size(Atom::Var(v)) => Dim::Size(self.inner.get(v).copied().unwrap_or(Atom::Var(*v))),
            d => *d,
        };
        let dims = std::iter::once(Dim::Size(width)).chain(ty.dims.iter().map(dim)).collect();
        Type { dims, elem: ty.elem }
    }
}

/// True if a parameter that is the same in all calls may stay outside the map: a descriptor only if all arrays of
/// its shape are the same too.
fn shareable(p: &Param, params: &[Param], args: &[Vec<Atom>]) -> bool {
    let of_shape = |q: &Param| q.ty.dims.contains(&Dim::Seg(p.var));
    !p.ty.is_desc() || params.iter().zip(args).all(|(q, args)| !of_shape(q) || all_same(args))
}

/// The descriptors from outside the map that results have the shape of: the map results in them too, for the rows of its results.
fn shared_shapes(params: &[Param], ret: &[Param], l: &Lifted) -> Vec<Param> {
    let of_result = |p: &&Param| ret.iter().any(|q| q.ty.dims.contains(&Dim::Seg(p.var)));
    params.iter().filter(of_result).filter(|p| !l.outer.contains_key(&p.var)).cloned().collect()
}

/// The accumulator that a statement ends.
fn ended(s: &Stm) -> Option<Var> {
    if let Exp::Accumulated(acc) = s.exp { Some(acc) } else { None }
}

fn argument(call: &Stm, i: usize) -> Atom {
    match &call.exp {
        Exp::Call(_, args) => args[i],
        _ => Atom::Const(Scalar::I64(0)),
    }
}
