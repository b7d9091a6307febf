//! Functions as they are written: their types with sizes.

use super::declare::{How, has_sizes, says};
use super::expr::{Typed, decisive};
use super::report::{Callee, Site, What};
use super::term::{Atom, Term};
use super::types::{Dim, Scheme, Type};
use super::{Bound, Check, State};
use crate::thir::{Def, DefId, Expr, ExprKind, LocalId, Pat, PatKind, Ty, TyVar};
use par_ir::hash::HashMap;
use par_runtime::{Prim, Span};
use std::rc::Rc;

/// A definition or local function as it is written.
pub(super) struct Function<'p> {
    pub(super) sizes: &'p [LocalId],
    pub(super) type_params: &'p [TyVar],
    pub(super) params: &'p [Pat],
    /// The declared result type, if there is one.
    pub(super) ret: Option<&'p Ty>,
    pub(super) ret_span: Span,
    pub(super) body: &'p Expr,
    pub(super) what: What,
}
impl<'p> Check<'p> {
    /// The type of a definition for its users.
    pub(super) fn signature(&mut self, d: DefId) -> Rc<Scheme> {
        let def = &self.program.defs[d.0 as usize];
        match &self.states[d.0 as usize] {
            State::Done(scheme) => return scheme.clone(),
            State::Open if !is_declared(def) => return super::deep(|| self.definition(d)),
            State::Open | State::Walked => {}
        }
        let scheme = Rc::new(self.declared_scheme(def));
        self.states[d.0 as usize] = State::Done(scheme.clone());
        scheme
    }

    fn declared_scheme(&mut self, def: &'p Def) -> Scheme {
        let outer = std::mem::replace(&mut self.level, 1);
        def.size_params.iter().for_each(|l| _ = self.bindings.levels.insert(*l, 1));
        let mut params: Vec<(Option<LocalId>, Type)> = Vec::new();
        for pat in &def.params {
            let ty = self.convert(&pat.ty, 0, How::Argument);
            params.push((integer_name(pat), ty));
        }
        let mut ret = self.convert(&def.ret, 0, How::Result);
        if def.library && def.name.starts_with("flatten") {
            self.flattened(&mut params, &mut ret);
        }
        self.level = 0;
        let ty = self.closed(&def.size_params, params, ret, 1);
        let metas = self.open_metas(&ty);
        self.level = outer;
        let implicit = implicit(&def.size_params, &def.params);
        Scheme { sizes: def.size_params.clone(), implicit, metas, type_params: def.type_params.clone(), ty }
    }

    /// The type of a local function for its own body: what is declared.
    fn before_body(&mut self, f: &Function<'p>) -> Scheme {
        self.level += 1;
        let level = self.level;
        f.sizes.iter().for_each(|l| _ = self.bindings.levels.insert(*l, level));
        let mut params = Vec::new();
        for pat in f.params {
            let ty = self.convert(&pat.ty, 0, How::Argument);
            params.push((integer_name(pat), ty));
        }
        let ret = self.convert(f.ret.unwrap_or(&f.body.ty), 0, How::Result);
        self.level -= 1;
        let ty = self.closed(f.sizes, params, ret, level);
        let metas = self.open_metas(&ty);
        let implicit = implicit(f.sizes, f.params);
        Scheme { sizes: f.sizes.to_vec(), implicit, metas, type_params: f.type_params.to_vec(), ty }
    }

    /// `flatten` of rows of one length has a size that is a product.
    fn flattened(&mut self, params: &mut [(Option<LocalId>, Type)], ret: &mut Type) {
        let [(_, ty)] = params else { return };
        let Type::Array(_, element) = &*ret else { return };
        let mut sizes = Vec::new();
        fn dims<'p>(cx: &mut Check<'p>, ty: &Type, sizes: &mut Vec<Term>) -> Type {
            match ty {
                Type::Array(dim, t) => {
                    let dim = match dim {
                        Dim::Is(n) => n.clone(),
                        _ => cx.meta(super::unknowns::Kind::Loose),
                    };
                    sizes.push(dim.clone());
                    Type::array(Dim::Is(dim), dims(cx, t, sizes))
                }
                other => other.clone(),
            }
        }
        let sized = dims(self, ty, &mut sizes);
        let product = sizes.iter().try_fold(Term::constant(1), |n, m| n.times(m));
        *ty = sized;
        *ret = Type::Array(product.map_or(Dim::Any, Dim::Is), element.clone());
    }

    /// Checks a definition, and gives its type for users.
    pub(super) fn definition(&mut self, d: DefId) -> Rc<Scheme> {
        if let State::Done(scheme) = &self.states[d.0 as usize]
            && self.walked[d.0 as usize]
        {
            return scheme.clone();
        }
        let def = &self.program.defs[d.0 as usize];
        self.walked[d.0 as usize] = true;
        if let State::Open = self.states[d.0 as usize] {
            self.states[d.0 as usize] = State::Walked;
        }
        let function = Function {
            sizes: &def.size_params,
            type_params: &def.type_params,
            params: &def.params,
            ret: is_declared(def).then_some(&def.ret),
            ret_span: def.ret_span,
            body: &def.body,
            what: What::Result(Callee::Def(d)),
        };
        let outer = (std::mem::replace(&mut self.level, 0), std::mem::replace(&mut self.here, def.name_span));
        let (scheme, value) = self.function(&function);
        (self.level, self.here) = outer;
        if let (Some(n), []) = (value.and_then(|t| t.as_constant()), &def.params[..]) {
            self.constants.insert(d, n);
        }
        let scheme = match is_declared(def) {
            true => self.signature(d),
            false => Rc::new(scheme),
        };
        self.states[d.0 as usize] = State::Done(scheme.clone());
        scheme
    }

    /// Checks a function with its own sizes, which may be used at any.
    pub(super) fn function(&mut self, f: &Function<'p>) -> (Scheme, Option<Term>) {
        let (mark, uses) = (self.mark(), self.equations.uses.len());
        self.level += 1;
        f.sizes.iter().for_each(|l| _ = self.bindings.levels.insert(*l, self.level));
        self.bindings.size_params.extend(f.sizes);
        let params = self.opened(f.params);
        let found = self.expr(f.body);
        let mut ret = found.ty;
        if let Some(declared) = f.ret {
            let place = Site::new(decisive(f.body).span, f.what);
            let wanted = self.declare(declared, &ret);
            self.flow(&ret, &wanted, &Site { asked: f.ret_span, ..place });
            ret = self.convert(declared, 0, How::Result);
        }
        self.settle(mark);
        self.solve_uses(uses);
        let level = self.level;
        self.level -= 1;
        let ty = self.closed(f.sizes, params, ret, level);
        let metas = self.open_metas(&ty);
        let implicit = implicit(f.sizes, f.params);
        let scheme =
            Scheme { sizes: f.sizes.to_vec(), implicit, metas, type_params: f.type_params.to_vec(), ty };
        (scheme, found.value.term())
    }

    /// `\x y -> e`.
    pub(super) fn lambda(&mut self, params: &'p [Pat], ret: Option<&'p Ty>, body: &'p Expr) -> Type {
        self.level += 1;
        let params = self.opened(params);
        let mut result = self.expr(body).ty;
        if let Some(declared) = ret {
            let wanted = self.declare(declared, &result);
            let site = Site::new(decisive(body).span, What::Result(Callee::Other));
            self.flow(&result, &wanted, &site);
            result = wanted;
        }
        let level = self.level;
        self.level -= 1;
        let ty = self.closed(&[], params, result, level);
        for m in self.open_metas(&ty) {
            let meta = &mut self.terms.metas[m as usize];
            meta.level = meta.level.min(self.level);
        }
        ty
    }

    /// Binds parameters; gives their types for callers.
    fn opened(&mut self, params: &'p [Pat]) -> Vec<(Option<LocalId>, Type)> {
        let mut types = Vec::new();
        for pat in params {
            let inside = self.open_pattern(pat);
            let outside = match pat.declared {
                true => self.convert(&pat.ty, 0, How::Argument),
                false => inside,
            };
            types.push((integer_name(pat), outside));
        }
        types
    }

    /// A function's type for users: what is its own is named by its parameters, or unknown.
    fn closed(
        &mut self,
        sizes: &[LocalId],
        params: Vec<(Option<LocalId>, Type)>,
        ret: Type,
        level: u32,
    ) -> Type {
        let mut allowed: Vec<LocalId> = sizes.to_vec();
        allowed.extend(params.iter().filter_map(|(name, _)| *name));
        let mut exists: HashMap<Term, u32> = HashMap::default();
        let ret = ret.with_dims(&mut |dim| match self.own_dim(dim) {
            Dim::Is(term) if self.escapes(&term, &allowed, level) => {
                Dim::Exists(*exists.entry(term).or_insert_with(|| {
                    self.terms.exists += 1;
                    self.terms.exists
                }))
            }
            other => other,
        });
        params.into_iter().rev().fold(ret, |ret, (name, ty)| {
            let param = ty.with_dims(&mut |dim| match self.own_dim(dim) {
                Dim::Is(term) if self.escapes(&term, &allowed, level) => Dim::Any,
                other => other,
            });
            Type::fun(name, param, ret)
        })
    }

    /// A dimension of a function's type, at its end.
    fn own_dim(&mut self, dim: &Dim) -> Dim {
        let dim = self.resolve_dim(dim);
        match &dim {
            Dim::Is(term) => match term.as_meta() {
                Some(m) if self.join(m, false) => self.resolve_dim(&dim),
                _ => dim,
            },
            _ => dim,
        }
    }

    /// True if a size has no meaning outside of a function of this level.
    fn escapes(&self, term: &Term, allowed: &[LocalId], level: u32) -> bool {
        term.atoms().any(|atom| match atom {
            Atom::Local(l) => {
                self.bindings.levels.get(&l).is_some_and(|l| *l >= level) && !allowed.contains(&l)
            }
            Atom::Opaque(o) => {
                let opaque = &self.terms.opaques[o as usize];
                match &opaque.key {
                    Some((_, args)) => args.iter().any(|t| self.escapes(t, allowed, level)),
                    None => opaque.level >= level,
                }
            }
            Atom::Meta(_) => false,
        })
    }

    /// The sizes in a type that are not found and belong to a function at a deeper level than the present one.
    fn open_metas(&self, ty: &Type) -> Vec<u32> {
        let mut metas = Vec::new();
        ty.terms(&mut |term| {
            for atom in term.atoms() {
                if let Atom::Meta(m) = atom {
                    let meta = &self.terms.metas[m as usize];
                    if meta.level > self.level && meta.is.is_none() && !meta.any && !metas.contains(&m) {
                        metas.push(m);
                    }
                }
            }
        });
        metas
    }

    /// A function under a name, which each use applies at sizes of its own.
    fn function_value(&mut self, l: LocalId, value: &'p Expr) {
        let mark = self.mark();
        self.level += 1;
        let ty = self.expr(value).ty;
        self.settle(mark);
        self.level -= 1;
        let ty = ty.with_dims(&mut |dim| self.resolve_dim(dim));
        let metas = self.open_metas(&ty);
        let scheme = Scheme { sizes: Vec::new(), implicit: Vec::new(), metas, type_params: Vec::new(), ty };
        self.bindings.levels.insert(l, self.level);
        self.bindings.locals.insert(l, Bound::Function(Rc::new(scheme)));
    }

    /// A chain of `let`s.
    pub(super) fn lets(&mut self, e: &'p Expr) -> Typed {
        match &e.kind {
            ExprKind::Let { pat, value, body } => {
                if let (PatKind::Var(l), Ty::Fun(..), false) = (&pat.kind, &value.ty, pat.declared) {
                    self.function_value(*l, value);
                    return self.expr(body);
                }
                let found = self.expr(value);
                self.bind(pat, &found.ty, &found.value, decisive(value).span);
                self.expr(body)
            }
            ExprKind::LetFun {
                name, recursive, type_params, size_params, params, ret, value, body, ..
            } => {
                let f = Function {
                    sizes: size_params,
                    type_params,
                    params,
                    ret: ret.as_ref(),
                    ret_span: Span::default(),
                    body: value,
                    what: What::Result(Callee::Local(*name)),
                };
                if *recursive {
                    let scheme = self.before_body(&f);
                    self.bindings.locals.insert(*name, Bound::Function(Rc::new(scheme)));
                }
                let (scheme, _) = self.function(&f);
                self.bindings.locals.insert(*name, Bound::Function(Rc::new(scheme)));
                self.expr(body)
            }
            _ => self.expr(e),
        }
    }
}

/// True if a definition's result has a declared type.
fn is_declared(def: &Def) -> bool {
    def.intrinsic || def.library || is_view(def) || def.ret_span != def.name_span || has_sizes(&def.ret)
}

/// True if a definition is a value seen through a module type.
pub(super) fn is_view(def: &Def) -> bool {
    def.span == Span::default()
}

/// The sizes of a function that no parameter is just as long as.
fn implicit(sizes: &[LocalId], params: &[Pat]) -> Vec<LocalId> {
    sizes.iter().copied().filter(|l| !params.iter().any(|p| says(&p.ty, *l))).collect()
}

/// The name of a parameter that sizes may mention.
fn integer_name(pat: &Pat) -> Option<LocalId> {
    match (&pat.kind, super::expr::unwrapped(&pat.ty)) {
        (PatKind::Var(l), Ty::Prim(Prim::I64)) => Some(*l),
        _ => None,
    }
}
