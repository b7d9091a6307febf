//! Large functions are inlined once and called from then on.
//!
//! Inlining everything would make the size of a program exponential in the depth of its calls:
//!
//! ```text
//! def f1 x = f0 (f0 x)        def f2 x = f1 (f1 x)        …        def f30 x = f29 (f29 x)
//! ```
//!
//! So when the body of a function (a definition or a local function) has come to more than [`LARGE`] statements, its
//! further calls become calls of a CORE function, one for each structure of arguments. Its result keeps what is known of
//! its shape: sizes and descriptors that are parameters, constants, or equal to each other.
//!
//! `#[noinline]` has a definition called from the start, `#[inline]` inlined always. Errors in library functions are
//! reported where the user's code calls them, so these are shared only where their function arguments make them large:
//!
//! ```text
//! def f1 = f0 >-> f0        def f2 = f1 >-> f1        …
//! ```

use super::abstraction::{Abstract, Key};
use super::build::Block;
use super::loops::rename;
use super::rebuild::Rebuild;
use super::recursion::columns;
use super::shape::Target;
use super::value::{Fun, Val};
use super::{Lower, R};
use crate::thir::{Expr, Inlining};
use par_ir::core::{self, Body, Exp, FunId, Param};
use par_ir::hash::{HashMap, HashSet};
use par_ir::{Atom, Dim, Prim, Var};
use std::rc::Rc;

/// A function of more statements than this is not inlined again.
const LARGE: usize = 2000;

/// Definitions that have been found to be large, and the functions made of them.
#[derive(Default)]
pub(super) struct Shared<'p> {
    large: HashSet<*const Expr>,
    /// Calls of library functions with functions that made them large, by key.
    large_calls: HashSet<String>,
    /// By key; `None` if the result is a function, which only inlining can give.
    instances: HashMap<String, Option<Rc<Instance<'p>>>>,
}

/// A function that was made, and what its calls give.
pub(super) struct Instance<'p> {
    pub id: FunId,
    pub params: Vec<Var>,
    pub ret: Vec<Param>,
    /// The result in terms of the parameters.
    pub result: Val<'p>,
}

impl<'p> Lower<'p> {
    /// Calls a function that is large already, if it may be called.
    pub fn call_shared(&mut self, fun: &Rc<Fun<'p>>, args: &[Val<'p>]) -> R<Option<Val<'p>>> {
        let of_library = self.is_library_function(fun);
        let Some(body) = self.body_of(fun).filter(|b| of_library || self.is_called(fun, b)) else {
            return Ok(None);
        };
        if of_library && (self.shared.large_calls.is_empty() || !args.iter().any(Val::has_fun)) {
            return Ok(None);
        }
        let key = self.call_key(fun, args);
        if of_library && !self.shared.large_calls.contains(&key) {
            return Ok(None);
        }
        if let Some(None) = self.shared.instances.get(&key) {
            return Ok(None);
        }
        let caller = std::mem::take(&mut self.scope.blocks);
        self.scope.blocks.push(Block::default());
        let instance = self.find_or_make(fun, args, key, body);
        self.scope.blocks = caller;
        match instance? {
            (Some(instance), actual) => self.call_instance(&instance, actual).map(Some),
            (None, _) => Ok(None),
        }
    }

    /// True if a function is called rather than inlined.
    fn is_called(&self, fun: &Fun<'p>, body: &Expr) -> bool {
        let def = if let Fun::Def(d) = fun { Some(&self.program.defs[d.id.0 as usize]) } else { None };
        match def.map_or(Inlining::Auto, |def| def.inlining) {
            // Recursive ones are called anyway.
            _ if matches!(fun, Fun::Closure(c) if c.own.is_some()) => false,
            _ if self.options.calls && def.is_some_and(|def| def.group.is_none()) => true,
            Inlining::Auto => self.shared.large.contains(&std::ptr::from_ref(body)),
            Inlining::Always => false,
            Inlining::Never => true,
        }
    }

    fn call_key(&mut self, fun: &Fun<'p>, args: &[Val<'p>]) -> String {
        let mut key = Key::default();
        self.fun_key(fun, &mut key);
        args.iter().for_each(|a| self.key(a, &mut key));
        key.text
    }

    /// Notes what the inlined body of a function came to; with the arguments, of a library function that was given
    /// functions.
    pub fn note_size(&mut self, fun: &Fun<'p>, args: Option<&[Val<'p>]>, statements: usize) {
        if statements <= LARGE {
            return;
        }
        match (args, self.body_of(fun)) {
            (Some(args), Some(_)) => {
                let key = self.call_key(fun, args);
                self.shared.large_calls.insert(key);
            }
            (None, Some(body)) if !self.is_library(body.span) => _ = self.shared.large.insert(body),
            _ => {}
        }
    }

    /// True if a function is the library's, and has a body.
    pub fn is_library_function(&self, fun: &Fun<'p>) -> bool {
        self.body_of(fun).is_some_and(|body| self.is_library(body.span))
    }

    fn body_of(&self, fun: &Fun<'p>) -> Option<&'p Expr> {
        let program = self.program;
        match fun {
            Fun::Closure(c) => Some(c.body),
            Fun::Def(d) => Some(&program.defs[d.id.0 as usize]).filter(|d| !d.intrinsic).map(|d| &d.body),
            Fun::Op(_) | Fun::Partial(..) | Fun::Sized(_) | Fun::Unknown(_) | Fun::Absent => None,
        }
    }

    /// The instance for a call, and the call's arguments. Works in a block stack of its own.
    #[allow(clippy::type_complexity, reason = "a pair")]
    fn find_or_make(
        &mut self,
        fun: &Rc<Fun<'p>>,
        args: &[Val<'p>],
        key: String,
        body: &'p Expr,
    ) -> R<(Option<Rc<Instance<'p>>>, Vec<Atom>)> {
        let mut formal = Abstract::default();
        let callee = formal.function(self, fun)?;
        let formals = args.iter().map(|a| formal.part(self, a)).collect::<R<Vec<_>>>()?;
        if let Some(known) = self.shared.instances.get(&key) {
            return Ok((known.clone(), formal.args));
        }
        let made = self.make_instance(&callee, formals, formal.params, body)?.map(Rc::new);
        self.shared.instances.insert(key, made.clone());
        Ok((made, formal.args))
    }

    fn make_instance(
        &mut self,
        callee: &Fun<'p>,
        args: Vec<Val<'p>>,
        params: Vec<Param>,
        body: &'p Expr,
    ) -> R<Option<Instance<'p>>> {
        let (before, depth) = (self.enter(body.span), std::mem::take(&mut self.context.depth));
        let result = self.in_function(|lo| lo.inline(callee, args, None));
        (self.place.span, self.context.depth) = (before, depth);
        let result = result?;
        if result.has_fun() {
            return Ok(None);
        }
        let mut ret = Vec::new();
        self.entry_ret(&result, &mut Vec::new(), &mut ret);
        let block = self.scope.blocks.pop().unwrap_or_default();
        let id = FunId(self.out.funs.len() as u32);
        let vars = params.iter().map(|p| p.var).collect();
        self.out.funs.push(core::Fun {
            name: self.function_name(callee),
            entry: None,
            params,
            ret: ret.clone(),
            body: Body { stms: block.stms, results: columns(&result) },
            span: body.span,
        });
        Ok(Some(Instance { id, params: vars, ret, result }))
    }

    fn function_name(&self, fun: &Fun<'p>) -> String {
        match fun {
            Fun::Def(d) => self.program.defs[d.id.0 as usize].name.clone(),
            _ => "local".to_string(),
        }
    }

    pub fn call_instance(&mut self, instance: &Instance<'p>, args: Vec<Atom>) -> R<Val<'p>> {
        let mut renamed: HashMap<Var, Var> = HashMap::default();
        let mut pat = Vec::new();
        for p in &instance.ret {
            let mut ty = p.ty.clone();
            rename(&mut ty, &renamed);
            let name = self.out.vars.name(p.var).to_string();
            let q = self.param(&name, ty);
            renamed.insert(p.var, q.var);
            pat.push(q);
        }
        let columns: Vec<Var> = pat.iter().map(|p| p.var).collect();
        let known: HashMap<Var, Atom> = instance.params.iter().copied().zip(args.iter().copied()).collect();
        self.push(pat, Exp::Call(instance.id, args));
        self.filled_in(instance, columns, known)
    }

    /// A value with the structure of an instance's result, and what is known of its shape. `known` says of variables of the instance
    /// what they are here.
    pub fn filled_in(
        &mut self,
        instance: &Instance<'p>,
        columns: Vec<Var>,
        known: HashMap<Var, Atom>,
    ) -> R<Val<'p>> {
        let mut fill = Fill { columns: columns.into_iter(), known, targets: Vec::new() };
        let val = self.rebuild(&instance.result, &mut Vec::new(), &mut Vec::new(), &mut fill)?;
        self.retype(&val, &fill.targets)
    }
}

/// Puts the results of a call into the structure of the instance's result, and collects what is known of the shape.
struct Fill {
    columns: std::vec::IntoIter<Var>,
    /// By variable of the instance: what it is here.
    known: HashMap<Var, Atom>,
    targets: Vec<Target>,
}

impl Fill {
    fn next(&mut self, lo: &Lower) -> R<Var> {
        self.columns.next().ok_or_else(|| lo.internal("a call with too few results"))
    }
}

impl<'p> Rebuild<'p> for Fill {
    fn dim(&mut self, lo: &mut Lower<'p>, dim: Dim, _old: &[Dim], _new: &[Dim]) -> R<Dim> {
        let column = self.next(lo)?;
        let (inside, here) = match dim {
            Dim::Size(a) => {
                lo.facts.sizes.insert(column);
                (a, Dim::Size(Atom::Var(column)))
            }
            Dim::Seg(s) => (Atom::Var(s), Dim::Seg(column)),
        };
        let known = match inside {
            Atom::Var(v) => *self.known.entry(v).or_insert(Atom::Var(column)),
            constant => constant,
        };
        self.targets.push(match (dim, known) {
            (Dim::Size(_), a) => Target::To(Dim::Size(a)),
            (Dim::Seg(_), Atom::Var(s)) => Target::To(Dim::Seg(s)),
            (Dim::Seg(_), Atom::Const(_)) => Target::Keep,
        });
        Ok(here)
    }

    fn leaf(&mut self, lo: &mut Lower<'p>, _a: Atom, _p: Prim, _old: &[Dim], _new: &[Dim]) -> R<Atom> {
        self.next(lo).map(Atom::Var)
    }
}
