//! From the arguments of a call to the parameters of a function that serves every call like it.
//!
//! Everything that is known at run time only becomes a parameter: scalars, sizes, descriptors, columns. A function
//! argument is known by its place in the source; what it captures becomes parameters, too. Two calls with the same
//! [`Key`] have the same parameters.
//!
//! ```text
//! walk (\x -> x * k) xs      key: walk, fn at line 3 capturing an i64, array of i64      parameters: k, n, xs
//! ```

use super::env::Env;
use super::rebuild::Rebuild;
use super::value::{Closure, Defined, Fun, Sized, Val};
use super::{Lower, R};
use crate::free;
use crate::thir::{Expr, LocalId};
use par_ir::core::Param;
use par_ir::hash::HashMap;
use par_ir::{Atom, Dim, Prim, Type, Var};
use std::fmt::Write;
use std::rc::Rc;

/// Key that distinguishes calls: structure of the arguments and identity of the functions in them.
#[derive(Default)]
pub(super) struct Key {
    pub text: String,
    /// Functions met before, which are not described again.
    seen: HashMap<*const (), usize>,
    /// While what a function captures is described: the variables and constants met before. Which of them are one and the same is part of the key.
    same: Option<HashMap<Atom, usize>>,
}

impl Key {
    pub fn starting(text: String) -> Key {
        Key { text, ..Key::default() }
    }

    /// Adds which variable or constant it is, if that matters.
    fn identity(&mut self, a: Atom) {
        let Some(same) = &mut self.same else { return };
        let next = same.len();
        let _ = write!(self.text, "@{}", same.entry(a).or_insert(next));
    }
}

impl<'p> Lower<'p> {
    /// Adds a value to a key.
    pub fn key(&mut self, val: &Val<'p>, out: &mut Key) {
        match val {
            Val::Scalar(a, p) => {
                let _ = write!(out.text, "{p};");
                out.identity(*a);
            }
            Val::Leaf(v, p) => {
                let _ = write!(out.text, "{p};");
                out.identity(Atom::Var(*v));
            }
            Val::Tuple(vs) => {
                out.text.push('(');
                vs.iter().for_each(|v| self.key(v, out));
                out.text.push(')');
            }
            Val::Record(fs) => {
                out.text.push('{');
                for (n, v) in fs {
                    let _ = write!(out.text, "{n}:");
                    self.key(v, out);
                }
                out.text.push('}');
            }
            Val::Array(d, e) => {
                match d {
                    Dim::Size(n) => {
                        out.text.push('n');
                        out.identity(*n);
                    }
                    Dim::Seg(s) => {
                        out.text.push('s');
                        out.identity(Atom::Var(*s));
                    }
                }
                self.key(e, out);
            }
            Val::Fun(f) => super::deep(|| self.shared_fun_key(f, out)),
        }
    }

    fn shared_fun_key(&mut self, fun: &Rc<Fun<'p>>, out: &mut Key) {
        let next = out.seen.len();
        match out.seen.insert(Rc::as_ptr(fun).cast(), next) {
            Some(first) => {
                out.seen.insert(Rc::as_ptr(fun).cast(), first);
                let _ = write!(out.text, "^{first};");
            }
            None => self.fun_key(fun, out),
        }
    }

    /// Adds the captured values of a function that are the same in all of its calls.
    pub fn lasting_key(&mut self, captured: &[(LocalId, Val<'p>)], out: &mut Key) {
        out.same = Some(HashMap::default());
        for (l, v) in captured {
            let _ = write!(out.text, "{}=", l.0);
            self.key(v, out);
        }
        out.text.push(']');
        out.same = None;
    }

    /// The locals that a closure mentions, each once, in order.
    pub fn mentioned(&mut self, c: &Closure<'p>) -> Rc<Vec<LocalId>> {
        let key = c.body as *const Expr;
        if let Some(list) = self.visited.mentioned.get(&key) {
            return list.clone();
        }
        let mut out = Vec::new();
        free::function(c.params, c.ret, c.body, &mut out);
        out.sort();
        out.dedup();
        let list = Rc::new(out);
        self.visited.mentioned.insert(key, list.clone());
        list
    }

    fn captured_key(&mut self, locals: &[LocalId], env: &Env<'p>, out: &mut Key) {
        for l in locals {
            if let Some(v) = env.get(*l) {
                let _ = write!(out.text, "{}=", l.0);
                self.key(v, out);
            }
        }
        out.text.push(']');
    }

    /// Adds a function to a key.
    pub fn fun_key(&mut self, fun: &Fun<'p>, out: &mut Key) {
        match fun {
            Fun::Op(name) => {
                let _ = write!(out.text, "op{name};");
            }
            Fun::Absent => out.text.push_str("absent;"),
            Fun::Unknown(f) => {
                let _ = write!(out.text, "unknown{:p}{:?};", f.ty, f.env.types);
            }
            Fun::Def(d) => {
                let _ = write!(out.text, "def{}{:?}[", d.id.0, d.types);
                for (l, size) in &d.sizes {
                    let _ = write!(out.text, "{}=", l.0);
                    self.key(size, out);
                }
                out.text.push(']');
            }
            Fun::Partial(f, args) => {
                out.text.push('<');
                self.shared_fun_key(f, out);
                args.iter().for_each(|a| self.key(a, out));
                out.text.push('>');
            }
            Fun::Closure(c) => {
                let _ = write!(out.text, "fn{:p}{:?}[", c.body, c.env.types);
                let mentioned = self.mentioned(c);
                self.captured_key(&mentioned, &c.env, out);
            }
            Fun::Sized(s) => {
                let _ = write!(out.text, "sized{:p}[", s.ty);
                self.captured_key(&s.mentioned(), &s.env, out);
                self.shared_fun_key(&s.fun, out);
            }
        }
    }
}

/// Replaces everything that is known at run time only by parameters; functions capture parameters instead.
#[derive(Default)]
pub(super) struct Abstract<'p> {
    pub params: Vec<Param>,
    /// Arguments of this call for the parameters.
    pub args: Vec<Atom>,
    /// Functions that were translated, by the original.
    funs: HashMap<*const (), Val<'p>>,
    /// While what a function captures is translated: variables and constants that were. Arrays of one size are so inside, too.
    same: Option<HashMap<Atom, Var>>,
}

impl<'p> Abstract<'p> {
    fn add(&mut self, lo: &mut Lower, name: &str, ty: Type, arg: Atom) -> Var {
        if let Some(known) = self.same.as_ref().and_then(|same| same.get(&arg)) {
            return *known;
        }
        let p = lo.param(name, ty);
        let var = p.var;
        if let Some(same) = &mut self.same {
            same.insert(arg, var);
        }
        self.params.push(p);
        self.args.push(arg);
        var
    }

    /// The value made of parameters.
    pub fn part(&mut self, lo: &mut Lower<'p>, val: &Val<'p>) -> R<Val<'p>> {
        super::deep(|| lo.rebuild(val, &mut Vec::new(), &mut Vec::new(), self))
    }

    /// The function, capturing parameters.
    pub fn function(&mut self, lo: &mut Lower<'p>, fun: &Rc<Fun<'p>>) -> R<Rc<Fun<'p>>> {
        match self.fun(lo, fun)? {
            Val::Fun(f) => Ok(f),
            _ => Err(lo.internal("a function became something else")),
        }
    }

    /// The captured values of a function that are the same in all of its calls.
    pub fn lasting(
        &mut self,
        lo: &mut Lower<'p>,
        captured: &[(LocalId, Val<'p>)],
    ) -> R<Vec<(LocalId, Val<'p>)>> {
        self.same = Some(HashMap::default());
        let parts = captured.iter().map(|(l, v)| Ok((*l, self.part(lo, v)?))).collect();
        self.same = None;
        parts
    }

    fn closure(&mut self, lo: &mut Lower<'p>, c: &Closure<'p>) -> R<Fun<'p>> {
        let mut env = Env::with_types(c.env.types.to_vec());
        let mentioned = lo.mentioned(c);
        self.captured(lo, &mentioned, &c.env, &mut env)?;
        Ok(Fun::Closure(c.within(env)))
    }

    fn sized(&mut self, lo: &mut Lower<'p>, s: &Sized<'p>) -> R<Fun<'p>> {
        let mut env = Env::default();
        self.captured(lo, &s.mentioned(), &s.env, &mut env)?;
        let (fun, name) = (self.function(lo, &s.fun)?, s.name.clone());
        Ok(Fun::Sized(Sized { fun, ty: s.ty, env, name, span: s.span }))
    }

    fn captured(
        &mut self,
        lo: &mut Lower<'p>,
        locals: &[LocalId],
        from: &Env<'p>,
        to: &mut Env<'p>,
    ) -> R<()> {
        for l in locals {
            if let Some(v) = from.get(*l) {
                let v = self.part(lo, v)?;
                to.bind(*l, v);
            }
        }
        Ok(())
    }
}

impl<'p> Rebuild<'p> for Abstract<'p> {
    fn dim(&mut self, lo: &mut Lower<'p>, dim: Dim, _old: &[Dim], new: &[Dim]) -> R<Dim> {
        Ok(match dim {
            Dim::Size(a) => {
                let v = self.add(lo, "n", Type::I64, a);
                lo.facts.sizes.insert(v);
                Dim::Size(Atom::Var(v))
            }
            Dim::Seg(s) => Dim::Seg(self.add(lo, "s", Type::desc(new.to_vec()), Atom::Var(s))),
        })
    }

    fn leaf(&mut self, lo: &mut Lower<'p>, a: Atom, prim: Prim, _old: &[Dim], new: &[Dim]) -> R<Atom> {
        Ok(Atom::Var(self.add(lo, "t", Type::array(new.to_vec(), prim), a)))
    }

    fn fun(&mut self, lo: &mut Lower<'p>, fun: &Rc<Fun<'p>>) -> R<Val<'p>> {
        let original = Rc::as_ptr(fun).cast();
        if let Some(made) = self.funs.get(&original) {
            return Ok(made.clone());
        }
        let made = match &**fun {
            Fun::Op(_) | Fun::Unknown(_) | Fun::Absent => fun.clone(),
            Fun::Def(d) => {
                let sizes = d.sizes.iter().map(|(l, size)| Ok((*l, self.part(lo, size)?)));
                Rc::new(Fun::Def(Defined { sizes: sizes.collect::<R<_>>()?, ..d.clone() }))
            }
            Fun::Partial(f, args) => {
                let f = self.function(lo, f)?;
                let args: R<Vec<_>> = args.iter().map(|a| self.part(lo, a)).collect();
                Rc::new(Fun::Partial(f, args?))
            }
            Fun::Closure(c) => Rc::new(self.closure(lo, c)?),
            Fun::Sized(s) => Rc::new(self.sized(lo, s)?),
        };
        self.funs.insert(original, Val::Fun(made.clone()));
        Ok(Val::Fun(made))
    }
}
