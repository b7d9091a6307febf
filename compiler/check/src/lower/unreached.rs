//! Definitions that no entry point reaches, and local functions that nobody calls: their errors are found by evaluating them
//! once with arguments of which only the type is known. What comes of it is thrown away.
//!
//! ```text
//! def f (xs: [3]i64) = map2 (+) xs [1, 2]        E0401, whoever calls it
//! def g [n] (x: i32) : i64 = n                   E0402: no call can say what `n` is
//! def h xs = unflatten xs                        whether its sizes are known depends on the call: nothing to report
//! ```
//!
//! Type parameters are taken for a scalar type, function parameters for functions that give back anything.

use super::build::Block;
use super::calls::def_env;
use super::env::Env;
use super::sizes::has_sizes;
use super::value::{Closure, Extent, Fun, Shape, Unknown, Val};
use super::{Lower, R};
use crate::thir::{Def, DefId, Pat, Ty};
use par_ir::hash::HashSet;
use par_ir::{Atom, Dim, Prim, Type};
use par_syntax::Diagnostic;
use std::rc::Rc;

/// Codes of diagnostics that do not depend on the call.
const REPORTED: [&str; 4] = ["E0401", "E0402", "E0511", "E0514"];

impl<'p> Lower<'p> {
    /// Reports what is wrong with the user's definitions that were not evaluated for an entry point.
    pub fn unreached(&mut self, wanted: &dyn Fn(&Def) -> bool) {
        let program = self.program;
        let (functions, derivatives) = (self.out.funs.len(), self.derivatives.clone());
        let warnings = self.diagnostics.len();
        let group = |d: &DefId| program.defs[d.0 as usize].group;
        let mut groups: HashSet<u32> = self.visited.reached.iter().filter_map(group).collect();
        // The last ones first: they are the callers, and what they call need not be evaluated by itself.
        for (i, def) in program.defs.iter().enumerate().rev() {
            let id = DefId(i as u32);
            // Those that call each other are evaluated together.
            let group = def.group.is_some_and(|g| groups.contains(&g));
            let known = def.library || def.entry || group || self.visited.reached.contains(&id);
            if known || def.open || !wanted(def) {
                continue;
            }
            self.scope.blocks = vec![Block::default()];
            (self.context.depth, self.scope.emitted) = (0, 0);
            self.enter(def.name_span);
            let found = self.evaluate(id, def).err();
            let found = found.filter(|d| d.code != "E0402" || !takes_sized_functions(&def.params));
            self.scope.blocks.clear();
            groups.extend(def.group);
            self.report_unreached(found);
        }
        self.out.funs.truncate(functions);
        self.derivatives = derivatives;
        self.keep_reported(warnings);
        self.diagnostics[warnings..].sort_by_key(|d| (d.labels[0].span.file, d.labels[0].span.start));
    }

    /// Evaluates a local function that was not called, once.
    pub fn uncalled(&mut self, fun: &Closure<'p>) {
        if self.is_library(fun.body.span) || !self.visited.called.insert(fun.body) {
            return;
        }
        let before = (
            self.place.span,
            self.context.depth,
            self.scope.emitted,
            self.out.funs.len(),
            self.diagnostics.len(),
        );
        let (instances, shared) = (std::mem::take(&mut self.instances), std::mem::take(&mut self.shared));
        let (hints, derivatives) = (std::mem::take(&mut self.hints), self.derivatives.clone());
        let mut env = fun.env.clone();
        env.bind_types(fun.type_params, vec![Shape::Prim(Prim::I32); fun.type_params.len()]);
        let Closure { params, ret, body, .. } = *fun;
        let value = Val::Fun(Rc::new(Fun::Closure(fun.within(env.clone()))));
        self.enter(body.span);
        let found = self.in_block(|lo| lo.call_unknown(value, params, ret.unwrap_or(&body.ty), &env)).err();
        (self.instances, self.shared, self.hints) = (instances, shared, hints);
        (self.place.span, self.context.depth, self.scope.emitted) = (before.0, before.1, before.2);
        self.out.funs.truncate(before.3);
        self.derivatives = derivatives;
        self.report_unreached(found.filter(|d| d.code != "E0402" || !takes_sized_functions(params)));
        self.keep_reported(before.4);
    }

    fn report_unreached(&mut self, found: Option<Box<Diagnostic>>) {
        let Some(diag) = found.filter(|d| REPORTED.contains(&d.code.as_str())) else { return };
        let place = |d: &Diagnostic| (d.code.clone(), d.labels[0].span);
        if !self.diagnostics.iter().any(|d| place(d) == place(&diag)) {
            self.diagnostics.push(*diag);
        }
    }

    /// Of the diagnostics since there were `first`, those that do not depend on the call.
    fn keep_reported(&mut self, first: usize) {
        let mut new = self.diagnostics.split_off(first);
        new.retain(|d| REPORTED.contains(&d.code.as_str()));
        self.diagnostics.append(&mut new);
    }

    fn evaluate(&mut self, id: DefId, def: &'p Def) -> R<()> {
        let types = vec![Shape::Prim(Prim::I32); def.type_params.len()];
        let env = def_env(def, &types);
        let value = self.def_value(id, types)?;
        self.call_unknown(value, &def.params, &def.ret, &env)
    }

    /// Calls a function until its result is none.
    fn call_unknown(&mut self, mut value: Val<'p>, params: &'p [Pat], ret: &'p Ty, env: &Env<'p>) -> R<()> {
        let mut args = Vec::new();
        for pat in params {
            args.push(self.unknown(&pat.ty, env, false, &mut Vec::new())?);
        }
        let mut ty = ret;
        loop {
            let shape = self.type_arg(ty, env);
            let want = (!matches!(ty, Ty::Fun(..))).then(|| self.with_sizes(shape));
            if !args.is_empty() {
                value = self.apply(&value, std::mem::take(&mut args), want.as_ref())?;
            }
            let (Val::Fun(_), Ty::Fun(param, result)) = (&value, ty) else { return Ok(()) };
            args.push(self.unknown(param, env, false, &mut Vec::new())?);
            ty = result;
        }
    }

    /// A type with sizes that some caller may want.
    fn with_sizes(&mut self, shape: Shape) -> Shape {
        match shape {
            Shape::Array(_, elem) => {
                let size = Atom::Var(self.size_param("n").var);
                Shape::Array(Extent::Is(size), Box::new(self.with_sizes(*elem)))
            }
            Shape::Tuple(ts) => Shape::Tuple(ts.into_iter().map(|t| self.with_sizes(t)).collect()),
            other => other,
        }
    }

    /// The result of a function of which only the type is known.
    pub fn unknown_result(&mut self, function: &Unknown<'p>) -> R<Val<'p>> {
        let mut ty = function.ty;
        while let Ty::Fun(_, result) = ty {
            ty = result;
        }
        if function.runs {
            return self.never(ty, &function.env);
        }
        self.unknown(ty, &function.env, false, &mut Vec::new())
    }

    /// A value of which only the type is known, in variables that nothing binds. Inside a sum (`loose`) all sizes are
    /// every value's own.
    fn unknown(&mut self, ty: &'p Ty, env: &Env<'p>, loose: bool, above: &mut Vec<Dim>) -> R<Val<'p>> {
        Ok(match ty {
            Ty::Prim(p) => self.unknown_scalar(*p, above),
            Ty::Var(v) => match env.type_var(*v) {
                Some(Shape::Prim(p)) => self.unknown_scalar(*p, above),
                _ => return Err(self.internal("a type parameter stands for no scalar type")),
            },
            Ty::Unique(t) => self.unknown(t, env, loose, above)?,
            Ty::Tuple(ts) => Val::Tuple(self.unknowns(ts, env, loose, above)?),
            Ty::Record(fs) => {
                let fields = fs.iter().map(|(n, t)| Ok((n.clone(), self.unknown(t, env, loose, above)?)));
                Val::Record(fields.collect::<R<_>>()?)
            }
            Ty::Sum(cs) => {
                let mut cases = vec![self.unknown_scalar(Prim::of_constructors(cs.len()), above)];
                for (_, ts) in cs.iter() {
                    cases.push(Val::Tuple(self.unknowns(ts, env, true, above)?));
                }
                self.any_of(&cases, &self.sum_shape(cs, env))?
            }
            Ty::Array(size, t) => {
                let dim = if above.is_empty() || !loose && !size.varies(above.len()) {
                    Dim::Size(Atom::Var(self.size_param("n").var))
                } else {
                    Dim::Seg(self.param("s", Type::desc(above.clone())).var)
                };
                above.push(dim);
                let elem = self.unknown(t, env, loose, above);
                above.pop();
                Val::Array(dim, Box::new(elem?))
            }
            Ty::Fun(..) => Val::Fun(Rc::new(Fun::Unknown(Unknown { ty, env: env.clone(), runs: false }))),
            Ty::Meta(_) | Ty::Abstract(..) => return Err(self.internal("a type is not known")),
        })
    }

    fn unknowns(
        &mut self,
        types: &'p [Ty],
        env: &Env<'p>,
        loose: bool,
        above: &mut Vec<Dim>,
    ) -> R<Vec<Val<'p>>> {
        types.iter().map(|t| self.unknown(t, env, loose, above)).collect()
    }

    fn unknown_scalar(&mut self, p: Prim, above: &[Dim]) -> Val<'p> {
        let var = self.param("x", Type::array(above.to_vec(), p)).var;
        if above.is_empty() { Val::Scalar(Atom::Var(var), p) } else { Val::Leaf(var, p) }
    }
}

/// True if functions among the arguments may say what sizes are.
fn takes_sized_functions(params: &[Pat]) -> bool {
    fn sized(ty: &Ty) -> bool {
        match ty {
            Ty::Fun(a, b) => has_sizes(a) || has_sizes(b) || sized(a) || sized(b),
            Ty::Prim(_) | Ty::Var(_) | Ty::Meta(_) | Ty::Abstract(..) => false,
            Ty::Array(_, t) | Ty::Unique(t) => sized(t),
            Ty::Tuple(ts) => ts.iter().any(sized),
            Ty::Record(fs) => fs.iter().any(|(_, t)| sized(t)),
            Ty::Sum(cs) => cs.payloads().any(sized),
        }
    }
    params.iter().any(|p| sized(&p.ty))
}
