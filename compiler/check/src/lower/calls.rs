//! Application: closures and definitions are evaluated in place, operators and intrinsics emit code.

use super::env::Env;
use super::sizes::{Declared, bind_wanted, has_sizes, is_informative};
use super::value::{Closure, Defined, Fun, Shape, Val};
use super::{Lower, R};
use crate::sizes::says;
use crate::thir::{Def, DefId, LocalId, Pat, Ty};
use par_ir::Span;
use par_syntax::diagnostic::Diagnostic;
use std::rc::Rc;

/// Maximum nesting depth of calls while inlining; every one takes some kilobytes of stack.
const MAX_DEPTH: usize = 10_000;

impl<'p> Lower<'p> {
    /// `f args`, with as many arguments as there are; `want` is what is known of the result's shape.
    pub fn apply(&mut self, f: &Val<'p>, args: Vec<Val<'p>>, want: Option<&Shape>) -> R<Val<'p>> {
        let Val::Fun(fun) = f else {
            return Err(self.internal("something is applied that is not a function"));
        };
        let (fun, mut args) = unpack(fun.clone(), args);
        if let Fun::Sized(s) = &*fun {
            return self.apply_sized(s, args, want);
        }
        let arity = self.arity(&fun);
        if args.len() < arity {
            return Ok(Val::Fun(Rc::new(Fun::Partial(fun, args))));
        }
        let rest = args.split_off(arity);
        if rest.is_empty() {
            return self.call(&fun, args, want);
        }
        let g = self.call(&fun, args, None)?;
        self.apply(&g, rest, want)
    }

    /// Source place of a function, if that is in the user's code.
    pub fn origin(&self, fun: &Fun<'p>) -> Option<Span> {
        let span = match fun {
            Fun::Closure(c) => c.body.span,
            Fun::Def(d) => self.program.defs[d.id.0 as usize].name_span,
            Fun::Partial(f, _) => return self.origin(f),
            Fun::Sized(s) => return self.origin(&s.fun),
            Fun::Op(_) | Fun::Unknown(_) | Fun::Absent => return None,
        };
        (!self.is_library(span)).then_some(span)
    }

    fn arity(&self, fun: &Fun<'p>) -> usize {
        match fun {
            Fun::Closure(c) => c.params.len(),
            Fun::Def(d) => arity(&self.program.defs[d.id.0 as usize]),
            Fun::Op("neg" | "!") => 1,
            Fun::Op(_) => 2,
            Fun::Unknown(f) => arrows(f.ty),
            Fun::Absent => 1,
            Fun::Partial(f, args) => self.arity(f).saturating_sub(args.len()),
            Fun::Sized(s) => self.arity(&s.fun),
        }
    }

    fn call(&mut self, fun: &Rc<Fun<'p>>, args: Vec<Val<'p>>, want: Option<&Shape>) -> R<Val<'p>> {
        self.limit()?;
        if self.context.depth >= MAX_DEPTH {
            return Err(Box::new(Diagnostic::error(
                "E0513",
                "calls are nested too deeply to be inlined",
                self.place.span,
            )));
        }
        self.context.depth += 1;
        let result = super::deep(|| self.call_here(fun, args, want));
        self.context.depth -= 1;
        result
    }

    fn call_here(&mut self, fun: &Rc<Fun<'p>>, args: Vec<Val<'p>>, want: Option<&Shape>) -> R<Val<'p>> {
        if let Some(val) = self.call_shared(fun, &args)? {
            return Ok(val);
        }
        let before = self.scope.emitted;
        let known = self.is_library_function(fun) && args.iter().any(Val::has_fun);
        let kept = known.then(|| args.clone());
        let val = self.inline(fun, args, want)?;
        self.note_size(fun, kept.as_deref(), self.scope.emitted - before);
        Ok(val)
    }

    /// Evaluates the body of a function in place.
    pub fn inline(&mut self, fun: &Fun<'p>, args: Vec<Val<'p>>, want: Option<&Shape>) -> R<Val<'p>> {
        let before = self.place.library_call;
        self.place.library_call = match fun {
            Fun::Closure(c) if self.is_library(c.body.span) => before,
            Fun::Def(d) => match &self.program.defs[d.id.0 as usize] {
                def if def.intrinsic => before,
                def if def.library => before.or(Some(&def.name)),
                _ => None,
            },
            _ => None,
        };
        let result = self.inline_here(fun, args, want);
        self.place.library_call = before;
        result
    }

    fn inline_here(&mut self, fun: &Fun<'p>, args: Vec<Val<'p>>, want: Option<&Shape>) -> R<Val<'p>> {
        match fun {
            Fun::Closure(c) => match c.own {
                Some(own) => self.call_local(c, own, args, want),
                None => self.call_closure(c, args, want),
            },
            Fun::Def(d) => self.call_def(d, args, want),
            Fun::Op(name) => self.operator(name, &args),
            Fun::Unknown(f) => self.unknown_result(f),
            Fun::Absent => Err(self.internal("a function of another constructor was called")),
            Fun::Partial(..) | Fun::Sized(_) => Err(self.internal("a partial application was not unpacked")),
        }
    }

    fn call_closure(&mut self, c: &Closure<'p>, args: Vec<Val<'p>>, want: Option<&Shape>) -> R<Val<'p>> {
        self.visited.called.insert(c.body);
        let mut env = c.env.clone();
        let places = self.argument_places(args.len());
        self.find_widths(c.params, &args, &env)?;
        for (i, (pat, arg)) in c.params.iter().zip(args).enumerate() {
            let before = places.get(i).map(|place| self.enter(*place));
            self.bind(pat, arg, &mut env)?;
            self.place.span = before.unwrap_or(self.place.span);
        }
        self.binding.widths.clear();
        c.params.iter().for_each(|pat| self.size_functions(pat, &mut env));
        match c.ret {
            Some(ret) => {
                let declared = Declared { what: "the result's type", span: None, trusted: false };
                self.eval_at(c.body, &mut env, ret, want, declared)
            }
            None => self.eval(c.body, &env, want),
        }
    }

    /// Takes the source places of the call's arguments; empty unless the user's code has exactly `args` of them.
    fn argument_places(&mut self, args: usize) -> Vec<Span> {
        let places = std::mem::take(&mut self.place.arguments);
        if places.len() == args { places } else { Vec::new() }
    }

    fn call_def(&mut self, d: &Defined<'p>, args: Vec<Val<'p>>, want: Option<&Shape>) -> R<Val<'p>> {
        let program = self.program;
        let def = &program.defs[d.id.0 as usize];
        self.visited.reached.insert(d.id);
        if def.intrinsic {
            return self.intrinsic(def, &d.types, args);
        }
        if def.group.is_some() {
            return self.call_recursive(d, args, want);
        }
        let mut env = called_env(def, d, want);
        let places = self.argument_places(args.len());
        self.find_widths(&def.params, &args, &env)?;
        for (i, (pat, arg)) in def.params.iter().zip(args).enumerate() {
            let before = places.get(i).map(|place| self.enter(*place));
            let bound = self.bind_as(pat, arg, &mut env, &|name| size_of_argument(name, &def.name));
            bound.map_err(|diag| self.blame_call(diag, def, before.unwrap_or(self.place.span)))?;
            self.place.span = before.unwrap_or(self.place.span);
        }
        self.binding.widths.clear();
        def.params.iter().for_each(|pat| self.size_functions(pat, &mut env));
        let text = format!("result of `{}`", def.name);
        let declared = Declared { what: &text, span: Some(def.ret_span), trusted: false };
        let call = self.place.span;
        let val = self.eval_at(&def.body, &mut env, &def.ret, want, declared);
        val.map_err(|diag| self.blame_call(diag, def, call))
    }

    /// Points at the call that leaves a size open which the definition needs.
    fn blame_call(&self, diag: Box<Diagnostic>, def: &Def, call: Span) -> Box<Diagnostic> {
        let named = |l: &LocalId| diag.message.contains(&format!("`{}`", self.program.locals[l.0 as usize]));
        let open = diag.code == "E0402" && diag.labels.len() == 1 && def.size_params.iter().any(named);
        if open && def.library {
            let message = format!("the sizes of the result of `{}` are not known here", def.name);
            let note = "write the type that is meant, as in `e : [n]t`";
            return Box::new(Diagnostic::error("E0402", message, call).note(note));
        }
        match open && call != def.name_span && call != diag.labels[0].span {
            true => Box::new(diag.label(call, "this call does not say what it is")),
            false => diag,
        }
    }

    /// Evaluates a body whose result has a declared type.
    pub fn eval_at(
        &mut self,
        body: &'p crate::thir::Expr,
        env: &mut Env<'p>,
        ty: &'p Ty,
        want: Option<&Shape>,
        declared: Declared,
    ) -> R<Val<'p>> {
        if !has_sizes(ty) {
            return self.eval(body, env, want);
        }
        let shape = self.shape(ty, env)?;
        let known = is_informative(&shape);
        let val = self.eval(body, env, if known { Some(&shape) } else { want })?;
        let before = self.enter(body.span);
        let val = self.enforce(val, ty, env, declared);
        self.place.span = before;
        val
    }

    /// The value of a definition's name.
    pub fn def_value(&mut self, d: DefId, types: Vec<Shape>) -> R<Val<'p>> {
        let program = self.program;
        let def = &program.defs[d.0 as usize];
        if arity(def) > 0 {
            let defined = Defined { id: d, types: Rc::new(types), sizes: Vec::new() };
            return Ok(Val::Fun(Rc::new(Fun::Def(defined))));
        }
        self.visited.reached.insert(d);
        if def.intrinsic {
            return self.intrinsic(def, &types, Vec::new());
        }
        if def.group.is_some() {
            let message = format!("the value `{}` is defined by itself", def.name);
            let diag = Diagnostic::error("E0514", message, self.place.span);
            return Err(Box::new(match self.place.span == def.name_span {
                true => diag.here("its computation needs it"),
                false => diag.label(def.name_span, "defined here"),
            }));
        }
        if let Some(v) = self.scope.blocks.iter().rev().find_map(|b| b.values.get(&d)) {
            return Ok(v.clone());
        }
        let mut env = def_env(def, &types);
        let text = format!("type of `{}`", def.name);
        let declared = Declared { what: &text, span: Some(def.ret_span), trusted: false };
        let val = self.eval_at(&def.body, &mut env, &def.ret, None, declared)?;
        if let Some(block) = self.scope.blocks.last_mut().filter(|_| def.type_params.is_empty()) {
            block.values.insert(d, val.clone());
        }
        Ok(val)
    }
}

/// Description of two sizes that a definition's parameter equates, for messages.
pub(super) fn size_of_argument(name: &str, function: &str) -> String {
    match name {
        "_" => format!("size of an argument of `{function}`"),
        name => format!("size of argument `{name}` of `{function}`"),
    }
}

/// The sizes of a function that no parameter is just as long as.
pub(super) fn implicit_sizes(sizes: &[LocalId], params: &[Pat]) -> Vec<LocalId> {
    let said = |l: &LocalId| params.iter().any(|p| says(&p.ty, *l));
    sizes.iter().copied().filter(|l| !said(l)).collect()
}

/// The environment in which the parameters are bound at a call, with the sizes that the surroundings and what is wanted of the
/// result say.
pub(super) fn called_env<'p>(def: &Def, called: &Defined<'p>, want: Option<&Shape>) -> Env<'p> {
    let mut env = def_env(def, &called.types);
    called.sizes.iter().for_each(|(l, size)| env.bind(*l, size.clone()));
    if let Some(want) = want {
        bind_wanted(&def.ret, want, &implicit_sizes(&def.size_params, &def.params), &mut env);
    }
    env
}

/// The environment in which a definition's parameters are bound.
pub(super) fn def_env<'p>(def: &Def, types: &[Shape]) -> Env<'p> {
    Env::with_types(def.type_params.iter().copied().zip(types.iter().cloned()).collect())
}

/// Number of arguments that a definition takes; an intrinsic may be declared with a function type instead of parameters.
fn arity(def: &Def) -> usize {
    if def.intrinsic && def.params.is_empty() { arrows(&def.ret) } else { def.params.len() }
}

fn arrows(ty: &Ty) -> usize {
    match ty {
        Ty::Fun(_, r) => 1 + arrows(r),
        _ => 0,
    }
}

/// A function without partial applications, and all its arguments.
pub(super) fn unpack<'p>(mut fun: Rc<Fun<'p>>, mut args: Vec<Val<'p>>) -> (Rc<Fun<'p>>, Vec<Val<'p>>) {
    while let Fun::Partial(inner, first) = &*fun {
        let mut all = first.clone();
        all.append(&mut args);
        args = all;
        fun = inner.clone();
    }
    (fun, args)
}
