//! Evaluation of expressions: one call per kind.

use super::env::Env;
use super::sizes::{ASCRIBED, Declared, has_sizes, is_informative};
use super::value::{Closure, Fun, Own, Shape, Val};
use super::{Lower, R};
use crate::thir::{Expr, ExprKind, LocalId, Ty};
use par_ir::core::Exp;
use par_ir::{Atom, CheckKind, Dim, Prim, Scalar, Type};
use par_syntax::diagnostic::Diagnostic;
use std::rc::Rc;

impl<'p> Lower<'p> {
    /// The value of an expression; `want` is what is known of its shape.
    pub fn eval(&mut self, e: &'p Expr, env: &Env<'p>, want: Option<&Shape>) -> R<Val<'p>> {
        super::deep(|| {
            let before = self.enter(e.span);
            let result = self.eval_here(e, env, want);
            self.place.span = before;
            result
        })
    }

    fn eval_here(&mut self, e: &'p Expr, env: &Env<'p>, want: Option<&Shape>) -> R<Val<'p>> {
        match &e.kind {
            ExprKind::Local(l) => self.local(*l, env),
            ExprKind::Poly(l, types) => self.local_at(*l, types, env),
            ExprKind::Def(d, types) => {
                let types = types.iter().map(|t| self.type_arg(t, env)).collect();
                self.def_value(*d, types)
            }
            ExprKind::Op(name) => Ok(Val::Fun(Rc::new(Fun::Op(name)))),
            ExprKind::Literal(s) => Ok(Val::Scalar(Atom::Const(*s), s.prim())),
            ExprKind::String(bytes) => Ok(self.string(bytes)),
            ExprKind::Tuple(es) => self.tuple(es, env, want),
            ExprKind::Record(fs) => self.record(fs, env, want),
            ExprKind::Array(es) => self.array(e, es, env, want),
            ExprKind::Range { start, second, end, kind } => {
                let range = self.range(start, second.as_deref(), end, *kind, env)?;
                self.range_array(&range)
            }
            ExprKind::Lambda { params, ret, body } => {
                let (ret, env) = (ret.as_ref(), env.clone());
                Ok(closure(Closure { type_params: &[], own: None, params, ret, body, env }))
            }
            ExprKind::Apply(f, args) => self.application(f, args, env, want, &e.ty),
            ExprKind::And(a, b) => self.and_also(a, b, env),
            ExprKind::Or(a, b) => self.or_else(a, b, env),
            ExprKind::Let { .. } | ExprKind::LetFun { .. } => self.lets(e, env, want),
            ExprKind::If { cond, then, other } => {
                let c = self.scalar(cond, env)?;
                self.if_val(c, &mut |lo| lo.eval(then, env, want), &mut |lo| lo.eval(other, env, want))
            }
            ExprKind::Match { value, cases } => {
                let val = self.eval(value, env, None)?;
                self.cases(&val, cases, env, want)
            }
            ExprKind::Loop { pat, init, form, body } => self.loop_expr(pat, init, form, body, env),
            ExprKind::Index(a, index) => self.index_expr(a, index, env),
            ExprKind::With { value, index, update } => self.with_expr(value, index, update, env),
            ExprKind::WithField { value, fields, update } => {
                let val = self.eval(value, env, want)?;
                let new = self.eval(update, env, None)?;
                self.with_field(val, fields, new)
            }
            ExprKind::Field(v, name) => {
                let val = self.eval(v, env, None)?;
                self.field(&val, name)
            }
            ExprKind::Ascribe(v, ty) | ExprKind::Coerce(v, ty) => self.ascribe(v, ty, env, want),
            ExprKind::At(f, sizes) => self.at_sizes(f, sizes, env, want),
            ExprKind::Assert(c, v) => {
                self.assertion(c, env)?;
                self.eval(v, env, want)
            }
            ExprKind::Constr(name, args) => self.constructor(name, args, &e.ty, env),
            ExprKind::Attr(attr, v) => self.attributed(attr, v, env, want),
            ExprKind::Hole(text) => self.hole(text, &e.ty, env),
        }
    }

    fn assertion(&mut self, cond: &'p Expr, env: &Env<'p>) -> R<()> {
        let holds = self.scalar(cond, env)?;
        // However it is laid out, the message is one line.
        let words: Vec<&str> = self.sources.text(cond.span).split_whitespace().collect();
        self.check(holds, CheckKind::Assert(words.join(" ")), Vec::new());
        Ok(())
    }

    fn local(&self, l: LocalId, env: &Env<'p>) -> R<Val<'p>> {
        match env.get(l) {
            Some(v) => Ok(v.clone()),
            None => {
                let name = &self.program.locals[l.0 as usize];
                Err(Box::new(
                    Diagnostic::error(
                        "E0402",
                        format!("the size `{name}` is not known here"),
                        self.place.span,
                    )
                    .note("a size becomes known where an array parameter or a `let` names it"),
                ))
            }
        }
    }

    /// A local function at some types.
    fn local_at(&mut self, l: LocalId, types: &'p [Ty], env: &Env<'p>) -> R<Val<'p>> {
        let val = self.local(l, env)?;
        let Val::Fun(fun) = &val else { return Ok(val) };
        let Fun::Closure(c) = &**fun else { return Ok(val) };
        let shapes: Vec<Shape> = types.iter().map(|t| self.type_arg(t, env)).collect();
        let mut env = c.env.clone();
        env.bind_types(c.type_params, shapes);
        Ok(Val::Fun(Rc::new(Fun::Closure(c.within(env)))))
    }

    /// An expression of scalar type.
    pub fn scalar(&mut self, e: &'p Expr, env: &Env<'p>) -> R<Atom> {
        match self.eval(e, env, None)? {
            Val::Scalar(a, _) => Ok(a),
            _ => Err(self.internal("a scalar was expected")),
        }
    }

    /// An integer expression of any type, as `i64`.
    pub fn integer(&mut self, e: &'p Expr, env: &Env<'p>) -> R<Atom> {
        match self.eval(e, env, None)? {
            Val::Scalar(a, p) => Ok(self.conv(p, Prim::I64, a)),
            _ => Err(self.internal("an integer was expected")),
        }
    }

    /// An array of bytes.
    pub fn string(&mut self, bytes: &[u8]) -> Val<'p> {
        let size = Atom::i64(bytes.len() as i64);
        let atoms = bytes.iter().map(|b| Atom::Const(Scalar::U8(*b))).collect();
        let ty = Type::array(vec![Dim::Size(size)], Prim::U8);
        let v = self.emit("text", ty, Exp::Literal(atoms, Prim::U8));
        Val::vector(size, v, Prim::U8)
    }

    fn tuple(&mut self, es: &'p [Expr], env: &Env<'p>, want: Option<&Shape>) -> R<Val<'p>> {
        let mut vals = Vec::with_capacity(es.len());
        for (i, e) in es.iter().enumerate() {
            let want = match want {
                Some(Shape::Tuple(ts)) => ts.get(i),
                _ => None,
            };
            vals.push(self.eval(e, env, want)?);
        }
        Ok(Val::Tuple(vals))
    }

    fn record(&mut self, fs: &'p [(String, Expr)], env: &Env<'p>, want: Option<&Shape>) -> R<Val<'p>> {
        let mut fields = Vec::with_capacity(fs.len());
        for (name, e) in fs {
            let want = match want {
                Some(Shape::Record(wants)) => wants.iter().find(|(n, _)| n == name).map(|(_, w)| w),
                _ => None,
            };
            fields.push((name.clone(), self.eval(e, env, want)?));
        }
        fields.sort_by(|a, b| a.0.cmp(&b.0));
        Ok(Val::Record(fields))
    }

    fn application(
        &mut self,
        f: &'p Expr,
        args: &'p [Expr],
        env: &Env<'p>,
        want: Option<&Shape>,
        ty: &'p Ty,
    ) -> R<Val<'p>> {
        let fun = self.eval(f, env, None)?;
        let vals = self.arguments(&fun, args, env)?;
        let own = !self.is_library(e_span(args));
        self.place.arguments = if own { args.iter().map(|a| a.span).collect() } else { Vec::new() };
        if want.is_none() && has_sizes(ty) {
            let shape = self.shape(ty, env)?;
            return self.apply(&fun, vals, is_informative(&shape).then_some(&shape));
        }
        self.apply(&fun, vals, want)
    }

    /// A chain of `let`s, without recursion.
    fn lets(&mut self, e: &'p Expr, env: &Env<'p>, want: Option<&Shape>) -> R<Val<'p>> {
        let mut env = env.clone();
        let (mut e, mut functions) = (e, Vec::new());
        loop {
            self.enter(e.span);
            e = match &e.kind {
                ExprKind::Let { pat, value, body } => {
                    let shape = if has_sizes(&pat.ty) { Some(self.shape(&pat.ty, &env)?) } else { None };
                    let val = self.eval(value, &env, shape.as_ref())?;
                    self.enter(value.span);
                    self.bind(pat, val, &mut env)?;
                    self.size_functions(pat, &mut env);
                    body
                }
                ExprKind::LetFun {
                    name,
                    name_span,
                    recursive,
                    type_params,
                    size_params,
                    params,
                    ret,
                    value,
                    body,
                } => {
                    let own = recursive.then_some(Own { name: *name, span: *name_span, sizes: size_params });
                    let (ret, env_here) = (ret.as_ref(), env.clone());
                    let fun = closure(Closure { type_params, own, params, ret, body: value, env: env_here });
                    functions.push(fun.clone());
                    env.bind(*name, fun);
                    body
                }
                _ => break,
            };
        }
        let val = self.eval(e, &env, want)?;
        for fun in functions {
            if let Val::Fun(f) = &fun
                && let Fun::Closure(c) = &**f
            {
                self.uncalled(c);
            }
        }
        Ok(val)
    }

    fn ascribe(&mut self, v: &'p Expr, ty: &'p Ty, env: &Env<'p>, want: Option<&Shape>) -> R<Val<'p>> {
        let mut env = env.clone();
        if let Ty::Fun(..) = ty {
            let val = self.eval(v, &env, want)?;
            return Ok(self.sized(val, ty, &env, "the function", v.span));
        }
        if !has_sizes(ty) {
            return self.eval(v, &env, want);
        }
        let shape = self.shape(ty, &env)?;
        let val = self.eval(v, &env, Some(&shape))?;
        self.enforce(val, ty, &mut env, Declared { what: ASCRIBED, span: None, trusted: false })
    }

    /// A field of a record, or a component of a tuple by its number.
    pub fn field(&self, val: &Val<'p>, name: &str) -> R<Val<'p>> {
        let found = match val {
            Val::Record(fs) => fs.iter().find(|(n, _)| n == name).map(|(_, v)| v),
            Val::Tuple(vs) => name.parse::<usize>().ok().and_then(|i| vs.get(i)),
            _ => None,
        };
        found.cloned().ok_or_else(|| self.internal("a field does not exist"))
    }

    fn with_field(&mut self, val: Val<'p>, fields: &[String], new: Val<'p>) -> R<Val<'p>> {
        let Some((name, rest)) = fields.split_first() else {
            return Ok(new);
        };
        let inner = self.field(&val, name)?;
        let new = self.with_field(inner, rest, new)?;
        match val {
            Val::Record(mut fs) => {
                fs.iter_mut().filter(|(n, _)| n == name).for_each(|(_, v)| *v = new.clone());
                Ok(Val::Record(fs))
            }
            Val::Tuple(mut vs) => {
                if let Some(v) = name.parse::<usize>().ok().and_then(|i| vs.get_mut(i)) {
                    *v = new;
                }
                Ok(Val::Tuple(vs))
            }
            _ => Err(self.internal("a field of something that is no record")),
        }
    }
}

/// The place of the first of some expressions.
fn e_span(args: &[Expr]) -> par_ir::Span {
    args.first().map_or_else(Default::default, |a| a.span)
}

fn closure(c: Closure) -> Val {
    Val::Fun(Rc::new(Fun::Closure(c)))
}
