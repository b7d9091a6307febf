//! Recursive definitions and local functions: one CORE function for each combination of type arguments and function arguments.
//!
//! Sizes are polymorphic: every argument array comes with a fresh size, and below it with a descriptor unless the
//! declared type names the size. A function argument is known by its place in the source; what it captures becomes
//! additional parameters, so that a call that passes it on unchanged is a call of the same instance:
//!
//! ```text
//! def walk (f: i64 -> i64) (n: i64) : i64 = if n <= 0 then 0 else f n + walk f (n - 1)
//! … walk (\x -> x * k) m …            walk_1 (k: i64) (n: i64) = … walk_1 k (n - 1) …
//! ```
//!
//! Captured variables of a local function become parameters in the same way:
//!
//! ```text
//! let walk n = if n <= 0 then 0 else xs[n] + walk (n - 1)      walk_1 (m: i64) (xs: [m]i64) (n: i64) = … walk_1 m xs (n - 1) …
//! ```

use super::abstraction::{Abstract, Key};
use super::build::Block;
use super::calls::{called_env, implicit_sizes, size_of_argument};
use super::env::Env;
use super::loops::rename;
use super::sizes::{Declared, bind_wanted};
use super::value::{Closure, Defined, Extent, Fun, Own, Shape, Val};
use super::{Lower, R};
use crate::thir::{Expr, LocalId, Pat, PatKind, Ty, TyVar};
use par_ir::core::{self, Body, Exp, FunId, Param};
use par_ir::hash::{HashMap, HashSet};
use par_ir::{Atom, Dim, Span, Type, Var};
use par_syntax::diagnostic::Diagnostic;
use std::rc::Rc;

/// Maximum number of functions that one definition is instantiated to.
const MAX_INSTANCES: usize = 256;

/// Maximum size of the types of one instance, in parts.
const MAX_TYPE_SIZE: usize = 1000;

/// Maximum number of characters of the types in a message.
const MAX_TYPE_TEXT: usize = 60;

/// The functions made so far.
#[derive(Default)]
pub(super) struct Instances {
    by_key: HashMap<String, FunId>,
    /// By body.
    count: HashMap<*const Expr, usize>,
    /// Readable names of the instances being lowered, outermost first.
    chain: Vec<String>,
    ret: HashMap<FunId, Vec<Param>>,
    /// Functions that have become loops.
    pub loops: HashSet<FunId>,
}

/// A recursive definition or local function, where it is called.
struct Recursive<'p, 'c> {
    name: &'p str,
    span: Span,
    name_span: Span,
    params: &'p [Pat],
    ret: &'p Ty,
    ret_span: Span,
    body: &'p Expr,
    /// In place of its type parameters.
    types: &'c [Shape],
    /// Type variables that its body may mention.
    in_scope: Rc<Vec<(TyVar, Shape)>>,
    /// Values besides its arguments: sizes that no argument determines, and the captured variables of a local function.
    captured: Vec<(LocalId, Val<'p>)>,
    /// A local function.
    local: Option<(&'c Closure<'p>, Own<'p>)>,
}

impl<'p> Lower<'p> {
    /// A call of a recursive definition.
    pub fn call_recursive(
        &mut self,
        called: &Defined<'p>,
        args: Vec<Val<'p>>,
        want: Option<&Shape>,
    ) -> R<Val<'p>> {
        let program = self.program;
        let def = &program.defs[called.id.0 as usize];
        let env = called_env(def, called, want);
        let sizes = implicit_sizes(&def.size_params, &def.params);
        let f = Recursive {
            name: &def.name,
            span: def.span,
            name_span: def.name_span,
            params: &def.params,
            ret: &def.ret,
            ret_span: def.ret_span,
            body: &def.body,
            types: &called.types,
            in_scope: env.types.clone(),
            captured: sizes.into_iter().filter_map(|l| Some((l, env.get(l)?.clone()))).collect(),
            local: None,
        };
        self.call_instance_of(&f, env, args)
    }

    /// A call of a local function that calls itself.
    pub fn call_local(
        &mut self,
        c: &Closure<'p>,
        own: Own<'p>,
        args: Vec<Val<'p>>,
        want: Option<&Shape>,
    ) -> R<Val<'p>> {
        self.visited.called.insert(c.body);
        let mut env = c.env.clone();
        if let (Some(want), Some(ret)) = (want, c.ret) {
            bind_wanted(ret, want, &implicit_sizes(own.sizes, c.params), &mut env);
        }
        let types: Vec<Shape> = c.type_params.iter().filter_map(|v| env.type_var(*v).cloned()).collect();
        let mentioned = self.mentioned(c);
        let program = self.program;
        let f = Recursive {
            name: &program.locals[own.name.0 as usize],
            span: c.body.span,
            name_span: own.span,
            params: c.params,
            ret: c.ret.unwrap_or(&c.body.ty),
            ret_span: own.span,
            body: c.body,
            types: &types,
            in_scope: env.types.clone(),
            captured: mentioned.iter().filter_map(|l| Some((*l, env.get(*l)?.clone()))).collect(),
            local: Some((c, own)),
        };
        self.call_instance_of(&f, env, args)
    }

    /// A call; its parameters' sizes are bound in `env`.
    fn call_instance_of(
        &mut self,
        f: &Recursive<'p, '_>,
        mut env: Env<'p>,
        args: Vec<Val<'p>>,
    ) -> R<Val<'p>> {
        if f.types.iter().map(Shape::parts).sum::<usize>() > MAX_TYPE_SIZE {
            let message = format!("the types of `{}` grow at every call of itself", f.name);
            return Err(self.endless(f, message));
        }
        let mut actual: Vec<Val<'p>> = Vec::with_capacity(args.len());
        self.find_widths(f.params, &args, &env)?;
        for (pat, arg) in f.params.iter().zip(args) {
            let arg = self.without_sizes(arg, pat);
            let text = size_of_argument(&self.pat_name(pat), f.name);
            let declared = Declared { what: &text, span: Some(pat.span), trusted: false };
            let arg = self.enforce(arg, &pat.ty, &mut env, declared)?;
            let arg = self.as_declared(&arg, &pat.ty)?;
            self.bind_sizes(pat, &arg, &mut env);
            actual.push(arg);
        }
        self.binding.widths.clear();
        let mut key = Key::starting(format!("{:p}{:?}", f.body, f.in_scope));
        self.lasting_key(&f.captured, &mut key);
        actual.iter().for_each(|a| self.key(a, &mut key));
        // The parameters are made at the level of the callee's body.
        let caller = std::mem::take(&mut self.scope.blocks);
        self.scope.blocks.push(Block::default());
        let made = self.find_or_lower(f, key.text, &actual);
        self.scope.blocks = caller;
        let (id, args) = made?;
        self.emit_call(id, args, f.ret, &mut env)
    }

    /// The function for a call, and the call's arguments.
    fn find_or_lower(
        &mut self,
        f: &Recursive<'p, '_>,
        key: String,
        args: &[Val<'p>],
    ) -> R<(FunId, Vec<Atom>)> {
        let mut formal = Abstract::default();
        let captured = formal.lasting(self, &f.captured)?;
        let formals = args.iter().map(|a| formal.part(self, a)).collect::<R<Vec<_>>>()?;
        let id = match self.instances.by_key.get(&key) {
            Some(id) => *id,
            None => self.instance(f, key, captured, formals, formal.params)?,
        };
        Ok((id, formal.args))
    }

    /// Scalars among the parameters may be named by sizes of the result.
    fn bind_sizes(&self, pat: &Pat, arg: &Val<'p>, env: &mut Env<'p>) {
        if let (PatKind::Var(l), Val::Scalar(..)) = (&pat.kind, arg) {
            env.bind(*l, arg.clone());
        }
    }

    /// Lowers a new instance in a block stack of its own, whose first block is there already.
    fn instance(
        &mut self,
        f: &Recursive<'p, '_>,
        key: String,
        captured: Vec<(LocalId, Val<'p>)>,
        args: Vec<Val<'p>>,
        params: Vec<Param>,
    ) -> R<FunId> {
        self.count_instance(f)?;
        let id = FunId(self.out.funs.len() as u32);
        let mut env = f.inside(captured);
        let mut ret = Vec::new();
        let shape = self.result_shape(f.ret, 0, &env);
        self.result_params(&shape, &mut Vec::new(), &mut ret, f.name)?;
        self.out.funs.push(core::Fun {
            name: f.name.to_string(),
            entry: None,
            params,
            ret: ret.clone(),
            body: Body::default(),
            span: f.span,
        });
        self.instances.by_key.insert(key, id);
        self.instances.ret.insert(id, ret);
        let before = (self.place.span, self.context.depth);
        self.enter(f.span);
        self.context.depth = 0;
        let result = self.in_function(|lo| {
            let body = lo.instance_body(f, &mut env, args)?;
            let params = lo.out.funs[id.0 as usize].params.clone();
            lo.with_loop(id, &params, body)
        });
        (self.place.span, self.context.depth) = before;
        self.instances.chain.pop();
        self.out.funs[id.0 as usize].body = result?;
        Ok(id)
    }

    fn instance_body(&mut self, f: &Recursive<'p, '_>, env: &mut Env<'p>, args: Vec<Val<'p>>) -> R<Body> {
        for (pat, arg) in f.params.iter().zip(args) {
            self.bind_as(pat, arg, env, &|name| size_of_argument(name, f.name))?;
        }
        f.params.iter().for_each(|pat| self.size_functions(pat, env));
        let text = format!("result of `{}`", f.name);
        let declared = Declared { what: &text, span: Some(f.ret_span), trusted: false };
        let val = self.eval_at(f.body, env, f.ret, None, declared)?;
        let val = self.as_declared(&val, f.ret)?;
        if val.has_fun() {
            return Err(self.function_value("a recursive function"));
        }
        let results = columns(&val);
        let block = self.scope.blocks.pop().unwrap_or_default();
        Ok(Body { stms: block.stms, results })
    }

    fn count_instance(&mut self, f: &Recursive) -> R<()> {
        let count = self.instances.count.entry(f.body).or_insert(0);
        *count += 1;
        if *count > MAX_INSTANCES {
            let message = format!("`{}` would need more than {MAX_INSTANCES} versions of itself", f.name);
            return Err(self.endless(f, message));
        }
        self.instances.chain.push(instance_name(f));
        Ok(())
    }

    /// The error for instances without end, with the chain that leads to the next one.
    fn endless(&self, f: &Recursive, message: String) -> Box<Diagnostic> {
        let mut diagnostic = Diagnostic::error("E0512", message, self.place.span)
            .label(f.name_span, "defined here")
            .note("recursive calls must pass functions on unchanged, or from a finite set, and must not grow types");
        let chain = &self.instances.chain;
        // The types at the beginning are the ones that can be read.
        let shown: Vec<&str> = match chain.len() {
            0..=6 => chain.iter().map(String::as_str).collect(),
            n => chain[..3]
                .iter()
                .map(String::as_str)
                .chain(["…"])
                .chain(chain[n - 2..].iter().map(String::as_str))
                .collect(),
        };
        if !shown.is_empty() {
            let name = instance_name(f);
            diagnostic = diagnostic.note(format!("the chain is {} -> {name}", shown.join(" -> ")));
        }
        Box::new(diagnostic)
    }

    /// Emits the call and gives the result the sizes that the declared type has.
    fn emit_call(&mut self, id: FunId, args: Vec<Atom>, ty: &'p Ty, env: &mut Env<'p>) -> R<Val<'p>> {
        let ret = self.instances.ret.get(&id).cloned().unwrap_or_default();
        let shape = self.result_shape(ty, 0, env);
        let mut renamed: HashMap<Var, Var> = HashMap::default();
        let mut pat = Vec::new();
        for p in &ret {
            let mut ty = p.ty.clone();
            rename(&mut ty, &renamed);
            let name = self.out.vars.name(p.var).to_string();
            let q = self.param(&name, ty);
            if self.facts.sizes.contains(&p.var) {
                self.facts.sizes.insert(q.var);
            }
            renamed.insert(p.var, q.var);
            pat.push(q);
        }
        let mut vars = pat.iter().map(|p| p.var).collect::<Vec<_>>().into_iter();
        let val = self.result_val(&shape, &mut vars)?;
        match self.inlined_loop(id, &args) {
            Some(results) => {
                pat.into_iter().zip(results).for_each(|(p, a)| self.push(vec![p], Exp::Atom(a)));
            }
            None => self.push(pat, Exp::Call(id, args)),
        }
        let declared = Declared { what: "the result", span: None, trusted: true };
        self.enforce(val, ty, env, declared)
    }

    /// Arrays below the outermost dimension become irregular unless the type names the size.
    fn as_declared(&mut self, val: &Val<'p>, ty: &Ty) -> R<Val<'p>> {
        let mut flags = Vec::new();
        kinds(val, Some(ty), 0, &mut flags);
        self.ragged(val, &flags)
    }

    // Results -------------------------------------------------------------------------------------------------

    /// The declared result without evaluating its sizes.
    fn result_shape(&self, ty: &Ty, depth: usize, env: &Env<'p>) -> Shape {
        match ty {
            Ty::Unique(t) => self.result_shape(t, depth, env),
            Ty::Tuple(ts) => Shape::Tuple(ts.iter().map(|t| self.result_shape(t, depth, env)).collect()),
            Ty::Record(fs) => {
                Shape::Record(fs.iter().map(|(n, t)| (n.clone(), self.result_shape(t, depth, env))).collect())
            }
            Ty::Array(size, t) => {
                let extent = if size.varies(depth) { Extent::Any } else { Extent::Named };
                Shape::Array(extent, Box::new(self.result_shape(t, depth + 1, env)))
            }
            other => self.type_arg(other, env),
        }
    }

    /// The result's columns as variables.
    fn result_params(
        &mut self,
        shape: &Shape,
        above: &mut Vec<Dim>,
        out: &mut Vec<Param>,
        name: &str,
    ) -> R<()> {
        match shape {
            Shape::Prim(p) => out.push(self.param("r", Type::array(above.clone(), *p))),
            Shape::Tuple(ts) => {
                for t in ts {
                    self.result_params(t, above, out, name)?;
                }
            }
            Shape::Record(fs) => {
                for (_, t) in fs {
                    self.result_params(t, above, out, name)?;
                }
            }
            Shape::Array(extent, t) => {
                let ragged = !above.is_empty() && *extent == Extent::Any;
                let ty = if ragged { Type::desc(above.clone()) } else { Type::I64 };
                let p = self.param(if ragged { "s" } else { "k" }, ty);
                if !ragged {
                    self.facts.sizes.insert(p.var);
                }
                above.push(if ragged { Dim::Seg(p.var) } else { Dim::Size(Atom::Var(p.var)) });
                out.push(p);
                self.result_params(t, above, out, name)?;
                above.pop();
            }
            Shape::Fun => return Err(self.function_value("a recursive function")),
            Shape::Sum(layout) => {
                self.result_params(&Shape::Prim(layout.tag()), above, out, name)?;
                for slot in layout.slots() {
                    self.result_params(&slot.shape, above, out, name)?;
                }
            }
            Shape::Unknown => {
                let message = format!("the type of the result of the recursive `{name}` is not known");
                return Err(Box::new(Diagnostic::error("E0304", message, self.place.span)));
            }
        }
        Ok(())
    }

    /// The value that the columns make.
    fn result_val(&self, shape: &Shape, vars: &mut dyn Iterator<Item = Var>) -> R<Val<'p>> {
        self.result_part(shape, 0, vars)
    }

    fn result_part(&self, shape: &Shape, depth: usize, vars: &mut dyn Iterator<Item = Var>) -> R<Val<'p>> {
        let mut next = || vars.next().ok_or_else(|| self.internal("a call with too few results"));
        Ok(match shape {
            Shape::Prim(p) if depth == 0 => Val::Scalar(Atom::Var(next()?), *p),
            Shape::Prim(p) => Val::Leaf(next()?, *p),
            Shape::Tuple(ts) => {
                Val::Tuple(ts.iter().map(|t| self.result_part(t, depth, vars)).collect::<R<_>>()?)
            }
            Shape::Record(fs) => Val::Record(
                fs.iter()
                    .map(|(n, t)| Ok((n.clone(), self.result_part(t, depth, vars)?)))
                    .collect::<R<_>>()?,
            ),
            Shape::Sum(layout) => {
                let mut parts = vec![self.result_part(&Shape::Prim(layout.tag()), depth, vars)?];
                for slot in layout.slots() {
                    parts.push(self.result_part(&slot.shape, depth, vars)?);
                }
                Val::Tuple(parts)
            }
            Shape::Array(extent, t) => {
                let v = next()?;
                let ragged = depth > 0 && *extent == Extent::Any;
                let dim = if ragged { Dim::Seg(v) } else { Dim::Size(Atom::Var(v)) };
                Val::Array(dim, Box::new(self.result_part(t, depth + 1, vars)?))
            }
            _ => return Err(self.internal("a result that is no data")),
        })
    }
}

/// All columns of a value: each array's size or descriptor before its elements.
pub(super) fn columns(val: &Val) -> Vec<Atom> {
    let mut out = Vec::new();
    val.visit(&mut |v| match v {
        Val::Scalar(a, _) => out.push(*a),
        Val::Leaf(v, _) => out.push(Atom::Var(*v)),
        Val::Array(Dim::Size(a), _) => out.push(*a),
        Val::Array(Dim::Seg(s), _) => out.push(Atom::Var(*s)),
        _ => {}
    });
    out
}

/// Appends a flag for each dimension of a value: true if it is irregular according to the declared type.
fn kinds(val: &Val, ty: Option<&Ty>, depth: usize, out: &mut Vec<bool>) {
    match (val, ty) {
        (_, Some(Ty::Unique(t))) => kinds(val, Some(t), depth, out),
        (Val::Array(_, e), Some(Ty::Array(size, t))) => {
            out.push(size.varies(depth));
            kinds(e, Some(t), depth + 1, out);
        }
        (Val::Array(_, e), _) => {
            out.push(depth > 0);
            kinds(e, None, depth + 1, out);
        }
        (Val::Tuple(vs), Some(Ty::Tuple(ts))) => {
            vs.iter().zip(ts).for_each(|(v, t)| kinds(v, Some(t), depth, out));
        }
        (Val::Record(vs), Some(Ty::Record(ts))) => {
            vs.iter().zip(ts).for_each(|((_, v), (_, t))| kinds(v, Some(t), depth, out));
        }
        (Val::Tuple(vs), _) => vs.iter().for_each(|v| kinds(v, None, depth, out)),
        (Val::Record(vs), _) => vs.iter().for_each(|(_, v)| kinds(v, None, depth, out)),
        _ => {}
    }
}

impl<'p> Recursive<'p, '_> {
    /// The environment of its body, where parameters stand for what it captures. A local function knows itself there, without the
    /// sizes of this call.
    fn inside(&self, captured: Vec<(LocalId, Val<'p>)>) -> Env<'p> {
        let empty = || Env::with_types(self.in_scope.to_vec());
        let mut env = empty();
        if let Some((c, own)) = self.local {
            let mut outer = empty();
            let lasting = captured.iter().filter(|(l, _)| !own.sizes.contains(l));
            lasting.for_each(|(l, v)| outer.bind(*l, v.clone()));
            env.bind(own.name, Val::Fun(Rc::new(Fun::Closure(c.within(outer)))));
        }
        captured.into_iter().for_each(|(l, v)| env.bind(l, v));
        env
    }
}

/// A function with its type arguments.
fn instance_name(f: &Recursive) -> String {
    let list: Vec<String> = f.types.iter().map(|t| Shown(t).to_string()).collect();
    let mut list = list.join(", ");
    if let Some((end, _)) = list.char_indices().nth(MAX_TYPE_TEXT) {
        list.truncate(end);
        list.push('…');
    }
    if f.types.is_empty() { format!("`{}`", f.name) } else { format!("`{}` at {list}", f.name) }
}

/// A type for messages.
struct Shown<'a>(&'a Shape);

impl std::fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.0 {
            Shape::Prim(p) => write!(f, "{p}"),
            Shape::Array(_, t) => write!(f, "[]{}", Shown(t)),
            Shape::Tuple(ts) => {
                let parts: Vec<String> = ts.iter().map(|t| Shown(t).to_string()).collect();
                write!(f, "({})", parts.join(", "))
            }
            Shape::Record(fs) => {
                let parts: Vec<String> = fs.iter().map(|(n, t)| format!("{n}: {}", Shown(t))).collect();
                write!(f, "{{{}}}", parts.join(", "))
            }
            Shape::Fun => f.write_str("a function"),
            Shape::Sum(layout) => {
                for (i, (name, ts)) in layout.cases.iter().enumerate() {
                    write!(f, "{}#{name}", if i > 0 { " | " } else { "" })?;
                    ts.iter().try_for_each(|t| write!(f, " {}", Shown(t)))?;
                }
                Ok(())
            }
            Shape::Unknown => f.write_str("_"),
        }
    }
}
