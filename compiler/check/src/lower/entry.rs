//! Entry points: parameters and results in columns, as callers from outside see them.
//!
//! ```text
//! entry main [n] (xs: [n]f32) (yss: [n][]f32) : [n]f32
//! main (n1: i64) (xs: [n1]f32) (n2: i64) (s: [n2]desc) (yss: [n2][s]f32) : (k: i64) ([k]f32) = check n2 == n1 …
//! ```

use super::build::Block;
use super::calls::def_env;
use super::recursion::columns;
use super::sizes::Declared;
use super::value::Val;
use super::{Lower, R};
use crate::thir::{Def, DefId, Hidden, Size, Ty};
use par_ir::core::{Body, Entry, Fun, Param};
use par_ir::{Atom, Dim, Prim, Type, ValueType};
use par_syntax::diagnostic::Diagnostic;

impl<'p> Lower<'p> {
    /// Lowers an entry point; what is wrong with it becomes a diagnostic.
    pub fn entry(&mut self, id: DefId) {
        let program = self.program;
        let def = &program.defs[id.0 as usize];
        self.scope.blocks = vec![Block::default()];
        self.context.depth = 0;
        self.binding.entry_sizes = None;
        self.enter(def.name_span);
        let result = self.entry_fun(def);
        self.scope.blocks.clear();
        match result {
            Ok(fun) => self.out.funs.push(fun),
            Err(d) if self.diagnostics.contains(&d) => {}
            Err(d) => self.diagnostics.push(*d),
        }
    }

    fn entry_fun(&mut self, def: &'p Def) -> R<Fun> {
        if !def.type_params.is_empty() {
            let message = "an entry point cannot have type parameters";
            return Err(Box::new(Diagnostic::error("E0501", message, def.name_span)));
        }
        let mut env = def_env(def, &[]);
        let (mut params, mut signature, mut vals) = (Vec::new(), Vec::new(), Vec::new());
        let mut columns_before = 0;
        for (i, pat) in def.params.iter().enumerate() {
            let name = match self.pat_name(pat) {
                n if n.starts_with(['_', '(']) => format!("arg{i}"),
                n => n,
            };
            let mut ty = self.value_type(&pat.ty, 0)?;
            self.sizes_for_descriptors(&def.name, &mut ty, &mut columns_before);
            let val = self.entry_param(&ty, &name, &mut Vec::new(), &mut params)?;
            vals.push((val, self.type_arg(&pat.ty, &env)));
            signature.push((name, seal(ty, def.hidden.part(i))));
        }
        self.binding.entry_sizes = Some(Default::default());
        for ((pat, (val, shape)), (name, _)) in def.params.iter().zip(vals).zip(&signature) {
            if let Some((_, current)) = &mut self.binding.entry_sizes {
                current.clone_from(name);
            }
            self.enter(pat.span);
            let val = self.internal_form(&val, &shape)?;
            self.bind_as(pat, val, &mut env, &|_| format!("size of `{name}`"))?;
        }
        self.binding.entry_sizes = None;
        self.enter(def.name_span);
        let text = format!("result of `{}`", def.name);
        let declared = Declared { what: &text, span: Some(def.ret_span), trusted: false };
        let val = self.eval_at(&def.body, &mut env, &def.ret, None, declared)?;
        if val.has_fun() {
            return Err(self.function_value("an entry point"));
        }
        let shape = self.type_arg(&def.ret, &env);
        let val = self.external(&val, &shape)?;
        let val = self.loosen_sums(&val, &def.ret)?;
        let ret_type = seal(self.result_type(&val, Some(&def.ret)), def.hidden.part(def.params.len()));
        let results = columns(&val);
        let mut ret = Vec::new();
        self.entry_ret(&val, &mut Vec::new(), &mut ret);
        let block = self.scope.blocks.pop().unwrap_or_default();
        let entry = Entry { name: def.name.clone(), params: signature, ret: ret_type };
        let body = Body { stms: block.stms, results };
        Ok(Fun { name: def.name.clone(), entry: Some(entry), params, ret, body, span: def.span })
    }

    /// The declared type at the boundary.
    fn value_type(&self, ty: &Ty, depth: usize) -> R<ValueType> {
        Ok(match ty {
            Ty::Prim(p) => ValueType::Prim(*p),
            Ty::Unique(t) => self.value_type(t, depth)?,
            Ty::Tuple(ts) => {
                ValueType::Tuple(ts.iter().map(|t| self.value_type(t, depth)).collect::<R<_>>()?)
            }
            Ty::Record(fs) => ValueType::Record(fs.try_map(|t| self.value_type(t, depth))?),
            Ty::Array(size, t) => ValueType::Array {
                ragged: size.varies(depth),
                size: self.size_name(size),
                elem: Box::new(self.value_type(t, depth + 1)?),
            },
            Ty::Sum(cs) => {
                let payload =
                    |ts: &[Ty]| ts.iter().map(|t| self.value_type(&loose(t), depth)).collect::<R<_>>();
                ValueType::Sum(cs.iter().map(|(n, ts)| Ok((n.clone(), payload(ts)?))).collect::<R<_>>()?)
            }
            Ty::Fun(..) => return Err(self.function_value("a parameter of an entry point")),
            Ty::Var(_) | Ty::Meta(_) | Ty::Abstract(..) => {
                return Err(self.internal("an entry point's type is not known"));
            }
        })
    }

    /// Makes the dimensions sizes whose rows have one length, see [`super::Matrices`]. Counts columns on from those `before`.
    fn sizes_for_descriptors(&self, entry: &str, ty: &mut ValueType, before: &mut usize) {
        let matrices = &self.options.matrices;
        if matrices.entry == entry {
            ty.each_dimension(before, &mut |at, ragged| *ragged &= !matrices.columns.contains(&at));
        }
    }

    fn size_name(&self, size: &Size) -> Option<String> {
        match size {
            Size::Const(n) => Some(n.to_string()),
            Size::Local(l) => Some(self.program.locals[l.0 as usize].clone()),
            Size::Anon | Size::Exp(_) | Size::Own { .. } => None,
        }
    }

    fn entry_param(
        &mut self,
        ty: &ValueType,
        name: &str,
        above: &mut Vec<Dim>,
        out: &mut Vec<Param>,
    ) -> R<Val<'p>> {
        let mut add = |lo: &mut Self, name: &str, ty: Type| {
            let p = lo.param(name, ty);
            let var = p.var;
            out.push(p);
            var
        };
        Ok(match ty {
            ValueType::Prim(p) => {
                let v = add(self, name, Type::array(above.clone(), *p));
                if above.is_empty() { Val::Scalar(Atom::Var(v), *p) } else { Val::Leaf(v, *p) }
            }
            ValueType::Tuple(ts) => {
                Val::Tuple(ts.iter().map(|t| self.entry_param(t, name, above, out)).collect::<R<_>>()?)
            }
            ValueType::Record(fs) => Val::Record(
                fs.iter()
                    .map(|(n, t)| Ok((n.clone(), self.entry_param(t, n, above, out)?)))
                    .collect::<R<_>>()?,
            ),
            ValueType::Sum(cs) => {
                let tag = ValueType::Prim(Prim::of_constructors(cs.len()));
                let mut parts = vec![self.entry_param(&tag, name, above, out)?];
                for (_, ts) in cs {
                    let payload =
                        ts.iter().map(|t| self.entry_param(t, name, above, out)).collect::<R<_>>()?;
                    parts.push(Val::Tuple(payload));
                }
                Val::Tuple(parts)
            }
            ValueType::Opaque { of, .. } => self.entry_param(of, name, above, out)?,
            ValueType::Array { ragged, size, elem } => {
                let dim = if *ragged {
                    Dim::Seg(add(self, "s", Type::desc(above.clone())))
                } else {
                    let name = size.as_deref().filter(|s| s.starts_with(char::is_alphabetic)).unwrap_or("n");
                    let v = add(self, name, Type::I64);
                    self.facts.sizes.insert(v);
                    Dim::Size(Atom::Var(v))
                };
                above.push(dim);
                let elem = self.entry_param(elem, name, above, out);
                above.pop();
                Val::Array(dim, Box::new(elem?))
            }
        })
    }

    /// The result's type: its shape decides what is irregular, the declared type gives names.
    fn result_type(&self, val: &Val<'p>, ty: Option<&Ty>) -> ValueType {
        match (val, ty) {
            (_, Some(Ty::Unique(t))) => self.result_type(val, Some(t)),
            (Val::Scalar(_, p) | Val::Leaf(_, p), _) => ValueType::Prim(*p),
            (Val::Tuple(vs), Some(Ty::Sum(cs))) => {
                let payload = |v: &Val<'p>, ts: &[Ty]| match v {
                    Val::Tuple(vs) => {
                        vs.iter().zip(ts).map(|(v, t)| self.result_type(v, Some(&loose(t)))).collect()
                    }
                    _ => Vec::new(),
                };
                let cases = vs.iter().skip(1).zip(cs.iter());
                ValueType::Sum(cases.map(|(v, (n, ts))| (n.clone(), payload(v, ts))).collect())
            }
            (Val::Tuple(vs), ty) => {
                let part = |i: usize| match ty {
                    Some(Ty::Tuple(ts)) => ts.get(i),
                    _ => None,
                };
                ValueType::Tuple(vs.iter().enumerate().map(|(i, v)| self.result_type(v, part(i))).collect())
            }
            (Val::Record(vs), ty) => {
                let part = |i: usize| match ty {
                    Some(Ty::Record(ts)) => ts.get(i).map(|t| &t.1),
                    _ => None,
                };
                let mut types =
                    vs.iter().enumerate().map(|(i, (n, v))| (n.clone(), self.result_type(v, part(i))));
                match ty {
                    Some(Ty::Record(ts)) if ts.len() == vs.len() => ValueType::Record(
                        ts.map(|_| types.next().map_or(ValueType::Tuple(Vec::new()), |t| t.1)),
                    ),
                    _ => ValueType::Record(types.collect()),
                }
            }
            (Val::Array(d, e), ty) => {
                let (size, elem) = match ty {
                    Some(Ty::Array(s, t)) => (self.size_name(s), Some(&**t)),
                    _ => (None, None),
                };
                let ragged = matches!(d, Dim::Seg(_));
                ValueType::Array { ragged, size, elem: Box::new(self.result_type(e, elem)) }
            }
            (Val::Fun(_), _) => ValueType::Tuple(Vec::new()),
        }
    }

    /// Variables for the result's columns.
    pub fn entry_ret(&mut self, val: &Val<'p>, above: &mut Vec<Dim>, out: &mut Vec<Param>) {
        match val {
            Val::Scalar(_, p) | Val::Leaf(_, p) => out.push(self.param("r", Type::array(above.clone(), *p))),
            Val::Tuple(vs) => vs.iter().for_each(|v| self.entry_ret(v, above, out)),
            Val::Record(fs) => fs.iter().for_each(|(_, v)| self.entry_ret(v, above, out)),
            Val::Array(d, e) => {
                let ragged = matches!(d, Dim::Seg(_));
                let ty = if ragged { Type::desc(above.clone()) } else { Type::I64 };
                let p = self.param(if ragged { "s" } else { "k" }, ty);
                above.push(if ragged { Dim::Seg(p.var) } else { Dim::Size(Atom::Var(p.var)) });
                out.push(p);
                self.entry_ret(e, above, out);
                above.pop();
            }
            Val::Fun(_) => {}
        }
    }
}

impl Hidden {
    fn part(&self, i: usize) -> &Hidden {
        match self {
            Hidden::Parts(parts) => parts.get(i).unwrap_or(&Hidden::Nothing),
            _ => &Hidden::Nothing,
        }
    }
}

/// Hides the parts of a type that a module hides.
fn seal(ty: ValueType, hidden: &Hidden) -> ValueType {
    let all = |ts: Vec<ValueType>, first: usize| {
        ts.into_iter().enumerate().map(|(i, t)| seal(t, hidden.part(first + i))).collect::<Vec<_>>()
    };
    match (ty, hidden) {
        (ty, Hidden::Nothing) => ty,
        (ty, Hidden::Type(name)) => ValueType::Opaque { name: name.clone(), of: Box::new(ty) },
        (ValueType::Tuple(ts), _) => ValueType::Tuple(all(ts, 0)),
        (ValueType::Record(fs), _) => {
            let mut place = 0..;
            ValueType::Record(fs.into_map(|t| seal(t, hidden.part(place.next().unwrap_or(0)))))
        }
        (ValueType::Sum(cs), _) => {
            let mut first = 0;
            let case = |(name, ts): (String, Vec<ValueType>)| {
                let payload = all(ts, first);
                first += payload.len();
                (name, payload)
            };
            ValueType::Sum(cs.into_iter().map(case).collect())
        }
        (ValueType::Array { ragged, size, elem }, _) => {
            ValueType::Array { ragged, size, elem: Box::new(seal(*elem, hidden.part(0))) }
        }
        (ty, Hidden::Parts(_)) => ty,
    }
}

/// A type without sizes: inside a sum they hold only where the constructor is the right one.
fn loose(ty: &Ty) -> Ty {
    match ty {
        Ty::Array(_, t) => Ty::Array(Size::Anon, Box::new(loose(t))),
        Ty::Tuple(ts) => Ty::Tuple(ts.iter().map(loose).collect()),
        Ty::Record(fs) => Ty::Record(fs.map(loose)),
        Ty::Unique(t) => loose(t),
        other => other.clone(),
    }
}
