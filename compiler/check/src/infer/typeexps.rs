//! Types as written to types with declared sizes. Abbreviations are expanded.

use super::mentions::{Place, sizes, unused_sizes};
use super::scope::{Lifted, Meaning, TypeId};
use super::types::{I64, MAX_TYPE_SIZE};
use super::{Binding, Cx, env, errors};
use crate::thir::{AbstractType, Constructors, Expr, ExprKind, Holds, LocalId, Size, Ty, TyArg, TyVar};
use par_ir::hash::HashMap;
use par_runtime::{Fields, Prim, Span};
use par_syntax::Diagnostic;
use par_syntax::ast::{Exp, ExpKind, Ident, Literal, Name, SizeExp, TypeArg, TypeExp, TypeKind, TypeParam};

/// True if these are the fields of a tuple: `{0 = x, 1 = y}` is `(x, y)`, and `{}` is `()`.
pub(super) fn is_tuple<'f>(fields: impl Iterator<Item = &'f str>) -> bool {
    let mut fields: Vec<&str> = fields.collect();
    fields.sort_by_key(|f| (f.len(), *f));
    fields.len() != 1 && fields.iter().enumerate().all(|(i, f)| *f == i.to_string())
}

/// The parts of a tuple, by the numbers of their fields.
pub(super) fn in_order<T>(mut fields: Vec<(String, T)>) -> Vec<T> {
    fields.sort_by_key(|(f, _)| f.parse().unwrap_or(usize::MAX));
    fields.into_iter().map(|(_, part)| part).collect()
}

impl Cx<'_> {
    /// A type as written.
    pub(super) fn ty(&mut self, t: &TypeExp) -> Ty {
        if !self.aliases.expanding.is_empty() {
            self.aliases.expanded_parts += 1;
            if self.aliases.expanded_parts > 4 * MAX_TYPE_SIZE {
                return self.types.poison();
            }
        }
        super::deep(|| match &t.kind {
            TypeKind::Name(name, args) => self.named_type(name, args, t.span),
            TypeKind::Tuple(ts) => Ty::Tuple(ts.iter().map(|t| self.ty(t)).collect()),
            TypeKind::Record(fields) => {
                self.distinct(fields.iter().map(|(f, _)| f), "field");
                let fields: Vec<_> = fields.iter().map(|(f, t)| (f.name.clone(), self.ty(t))).collect();
                match is_tuple(fields.iter().map(|(f, _)| f.as_str())) {
                    true => Ty::Tuple(in_order(fields)),
                    false => Ty::Record(Fields::written(fields)),
                }
            }
            TypeKind::Sum(constrs) => {
                self.distinct(constrs.iter().map(|(c, _)| c), "constructor");
                let payload = |cx: &mut Self, ts: &[TypeExp]| ts.iter().map(|t| cx.ty(t)).collect();
                let constrs = constrs.iter().map(|(c, ts)| (c.name.clone(), payload(self, ts)));
                Ty::Sum(Constructors::new(constrs.collect()))
            }
            TypeKind::Array(size, t) => {
                let size = self.size(size);
                self.reading.arrays += 1;
                let element = self.ty(t);
                self.reading.arrays -= 1;
                if self.aliases.expanding.len() <= 1 {
                    self.must_be_plain(&element, "the elements of an array", t.span);
                }
                Ty::Array(size, Box::new(element))
            }
            TypeKind::Unique(t) => Ty::Unique(Box::new(self.ty(t))),
            TypeKind::Arrow(name, a, r) => self.arrow(name.as_ref(), a, r),
            TypeKind::Exists(names, t) => self.scoped(|cx| {
                cx.diags.extend(unused_sizes(names, &[Place::Type(t)], "the type behind it"));
                for name in names {
                    let own = cx.own_size(&name.name);
                    cx.env.bind(&name.name, own);
                }
                cx.ty(t)
            }),
        })
    }

    /// A parameter that is named inside a function type has no value here, so sizes that mention it are anonymous.
    fn arrow(&mut self, name: Option<&Ident>, a: &TypeExp, r: &TypeExp) -> Ty {
        let a = self.ty(a);
        let r = self.scoped(|cx| {
            if let Some(name) = name {
                cx.env.bind(&name.name, Binding::AnonymousSize);
            }
            cx.ty(r)
        });
        Ty::Fun(Box::new(a), Box::new(r))
    }

    /// Reports a repeated name in a list.
    pub(super) fn distinct<'i>(&mut self, names: impl Iterator<Item = &'i Ident>, what: &str) {
        let mut seen: HashMap<&str, &Ident> = HashMap::default();
        for name in names {
            if let Some(first) = seen.get(name.name.as_str()) {
                let message = format!("the {what} `{}` appears twice", name.name);
                let diag = Diagnostic::error("E0202", message, name.span).here("again here");
                self.diags.push(diag.label(first.span, "first here"));
            }
            seen.insert(&name.name, name);
        }
    }

    /// Binds size parameters as `i64` locals.
    pub(super) fn size_params<'i>(&mut self, names: impl Iterator<Item = &'i Ident>) -> Vec<LocalId> {
        names.map(|name| self.bind_local(&name.name, I64)).collect()
    }

    /// Binds the type and size parameters of a function.
    pub(super) fn type_params(&mut self, params: &[TypeParam]) -> (Vec<TyVar>, Vec<LocalId>) {
        self.distinct(params.iter().map(param_name), "parameter");
        let (mut vars, mut sizes) = (Vec::new(), Vec::new());
        for param in params {
            match param {
                TypeParam::Size(name) => sizes.extend(self.size_params([name].into_iter())),
                TypeParam::Type(name, mark) => {
                    let var = self.new_type_var(&name.name, Lifted::of(*mark).class());
                    self.env.bind_type(&name.name, env::TypeArg::of(Ty::Var(var)));
                    vars.push(var);
                }
            }
        }
        (vars, sizes)
    }

    fn named_type(&mut self, name: &Name, args: &[TypeArg], span: Span) -> Ty {
        if name.path.is_empty()
            && let Some(arg) = self.env.ty(&name.base)
        {
            let ty = below(&arg.ty, self.reading.arrays - arg.arrays, arg.first);
            return self.without_args(ty, args, span);
        }
        if let Some(id) = self.scopes.find_type(&self.env, self.module, name) {
            return self.expand(id, args, span);
        }
        if self.scopes.is_broken(&self.env, self.module, name)
            && (!name.path.is_empty() || Prim::from_name(&name.base).is_none())
        {
            return self.types.poison();
        }
        if name.path.is_empty()
            && let Some(prim) = Prim::from_name(&name.base)
        {
            return self.without_args(Ty::Prim(prim), args, span);
        }
        if self.scopes.is_parametric(&self.env, self.module, name) {
            self.diags.push(errors::unapplied(span));
            return self.types.poison();
        }
        let mut known: Vec<String> = Prim::ALL.iter().map(|p| p.name().to_string()).collect();
        known.extend(self.scopes.types.iter().map(|t| t.name.clone()));
        let is_value = self.scopes.resolve(&self.env, self.module, name).is_some();
        let known = if is_value { Vec::new() } else { known };
        let diag = errors::unknown_type(name, &known);
        self.diags.push(match is_value && diag.notes.is_empty() {
            true => diag.note("this is the name of a value; as a size it stands in brackets"),
            false if is_parameter(name) && diag.notes.is_empty() => {
                diag.note(format!("a type parameter is declared before the others: `'{}`", name.base))
            }
            false => diag,
        });
        self.types.poison()
    }

    fn without_args(&mut self, ty: Ty, args: &[TypeArg], span: Span) -> Ty {
        if !args.is_empty() {
            let text = self.show(&ty);
            let message = format!("the type `{text}` takes no arguments");
            let diag = Diagnostic::error("E0310", message, span).here("not like this");
            let list = |a: &TypeArg| match a {
                TypeArg::Size(_) => true,
                TypeArg::Type(t) => {
                    matches!(&t.kind, TypeKind::Name(n, _) if matches!(n.base.as_str(), "array" | "list" | "vector" | "seq"))
                }
            };
            self.diags.push(if args.iter().any(list) {
                diag.note(format!("an array type is written `[]{text}`"))
            } else {
                diag
            });
            return self.types.poison();
        }
        ty
    }

    /// A named type with its arguments put in.
    fn expand(&mut self, id: TypeId, args: &[TypeArg], span: Span) -> Ty {
        let def = &self.scopes.types[id.0 as usize];
        let (name, params) = (def.name.clone(), def.params);
        if let Some(start) = self.aliases.expanding.iter().position(|t| *t == id) {
            self.recursive_type(&name, start, span);
            return self.types.poison();
        }
        let first = LocalId(self.locals.len() as u32);
        match self.type_args(&name, params, args, span) {
            Some(args) => self.expand_with(id, args, first, span),
            None => self.types.poison(),
        }
    }

    /// A named type with arguments that were evaluated where they were written, when there was no local from `first` on
    /// yet. A hidden one stays as it is.
    pub(super) fn expand_with(&mut self, id: TypeId, args: Vec<TyArg>, first: LocalId, span: Span) -> Ty {
        let def = &self.scopes.types[id.0 as usize];
        let (params, module) = (def.params, def.module);
        let exp = match def.meaning {
            Meaning::Alias(exp) => exp,
            Meaning::Abstract { .. } => {
                let functions = def.lifted == Lifted::Functions;
                let holds = if functions { Holds::Functions } else { Holds::Data };
                return Ty::Abstract(AbstractType { id: id.0, holds }, args);
            }
            Meaning::Accumulator => return self.accumulator(id, args, span),
        };
        if self.aliases.expanding.is_empty() {
            self.aliases.expanded_parts = 0;
        }
        let env = std::mem::take(&mut self.env);
        let module = std::mem::replace(&mut self.module, module);
        self.aliases.expanding.push(id);
        for (param, arg) in params.iter().zip(args) {
            match arg {
                TyArg::Type(ty) => {
                    let arg = env::TypeArg { ty, arrays: self.reading.arrays, first };
                    self.env.bind_type(&param_name(param).name, arg);
                }
                TyArg::Size(size) => {
                    let binding = self.size_binding(size, span);
                    self.env.bind(&param_name(param).name, binding);
                }
            }
        }
        let ty = self.ty(exp);
        self.aliases.expanding.pop();
        self.module = module;
        self.env = env;
        let huge = self.aliases.expanding.is_empty() && self.aliases.expanded_parts > 4 * MAX_TYPE_SIZE;
        if huge { self.huge_type(span) } else { ty }
    }

    /// `acc t`, where `t` is an array.
    fn accumulator(&mut self, id: TypeId, args: Vec<TyArg>, span: Span) -> Ty {
        if let [TyArg::Type(dest)] = &args[..]
            && !matches!(dest, Ty::Array(..))
            && !self.types.is_poison(dest)
        {
            let message = "an accumulator collects the writes to an array";
            let text = self.show(dest);
            let diag = Diagnostic::error("E0310", message, span).here(format!("`{text}` is no array"));
            self.diags.push(diag.note("as in `acc ([n]i32)`"));
            return self.types.poison();
        }
        Ty::Abstract(AbstractType { id: id.0, holds: Holds::Writes }, args)
    }

    /// E0203, once for every cycle of abbreviations.
    fn recursive_type(&mut self, name: &str, start: usize, span: Span) {
        let cycle = self.aliases.expanding[start..].to_vec();
        if !cycle.iter().any(|t| self.aliases.recursive_types.contains(t)) {
            let message = format!("the type `{name}` contains itself");
            let diag =
                Diagnostic::error("E0203", message, span).here("mentioned here inside its own definition");
            self.diags.push(diag.note(
                "types are not recursive: keep the parts in an array, and refer to them by their index",
            ));
        }
        self.aliases.recursive_types.extend(cycle);
    }

    fn type_args(
        &mut self,
        name: &str,
        params: &[TypeParam],
        args: &[TypeArg],
        span: Span,
    ) -> Option<Vec<TyArg>> {
        let fits = |(p, a): (&TypeParam, &TypeArg)| {
            matches!((p, a), (TypeParam::Size(_), TypeArg::Size(_)) | (TypeParam::Type(..), TypeArg::Type(_)))
        };
        if params.len() != args.len() || !params.iter().zip(args).all(fits) {
            let wanted: Vec<String> = params.iter().map(spelled_param).collect();
            let wanted =
                if wanted.is_empty() { "none".to_string() } else { format!("`{}`", wanted.join(" ")) };
            let message = format!("the type `{name}` does not take these arguments");
            self.diags
                .push(Diagnostic::error("E0310", message, span).here(format!("its parameters: {wanted}")));
            return None;
        }
        let mut given = Vec::new();
        for (param, arg) in params.iter().zip(args) {
            given.push(match arg {
                TypeArg::Size(s) => TyArg::Size(self.size(s)),
                TypeArg::Type(t) => {
                    let ty = self.ty(t);
                    if matches!(param, TypeParam::Type(_, mark) if *mark != Some('^'))
                        && self.aliases.expanding.len() <= 1
                    {
                        let what = format!("the argument of `{name}`");
                        self.must_be_plain(&ty, &what, t.span);
                    }
                    TyArg::Type(ty)
                }
            });
        }
        Some(given)
    }

    /// Size in the brackets of an array type.
    fn size(&mut self, size: &SizeExp) -> Size {
        let SizeExp::Exp(e) = size else { return Size::Anon };
        let mut e: &Exp = e;
        while let ExpKind::Parens(inner) = &e.kind {
            e = inner;
        }
        match &e.kind {
            ExpKind::Literal(Literal::Int { value, suffix: None | Some(Prim::I64) }) => {
                i64::try_from(*value).map_or(Size::Anon, Size::Const)
            }
            ExpKind::Name(name) if self.scopes.resolve(&self.env, self.module, name).is_none() => {
                let diag = self.unknown_name(name);
                let hint = format!("a size is declared in brackets before the parameters: `[{}]`", name.base);
                self.diags.push(if name.path.is_empty() { diag.note(hint) } else { diag });
                Size::Anon
            }
            ExpKind::Name(name) if name.path.is_empty() => match self.env.value(&name.base) {
                Some(Binding::OwnSize(name, outer)) => {
                    Size::Own { name: *name, inner: self.reading.arrays - outer }
                }
                _ => self.size_exp(e),
            },
            _ => self.size_exp(e),
        }
    }

    /// A size of its own for every value of the type that stands here.
    fn own_size(&mut self, name: &str) -> Binding {
        Binding::OwnSize(self.new_local(name), self.reading.arrays)
    }

    fn size_exp(&mut self, e: &Exp) -> Size {
        let before = std::mem::take(&mut self.reading.anonymous_size);
        let value = self.exp(e);
        let fits = self.agree(&I64, &value.ty, |_, _, found| {
            Diagnostic::error("E0301", "a size must be of type `i64`", e.span).here(format!("found {found}"))
        });
        let anonymous = std::mem::replace(&mut self.reading.anonymous_size, before);
        match value.kind {
            _ if anonymous || !fits => Size::Anon,
            ExprKind::Local(id) => Size::Local(id),
            _ => Size::Exp(Box::new(value)),
        }
    }

    /// A size as the value that the parameter's name has in sizes.
    fn size_binding(&mut self, size: Size, span: Span) -> Binding {
        let kind = match size {
            Size::Anon => return self.own_size(""),
            Size::Own { name, inner } => return Binding::OwnSize(name, self.reading.arrays - inner),
            Size::Const(n) => {
                let text = Literal::Int { value: n.into(), suffix: Some(Prim::I64) };
                match self.number(&text, false, span) {
                    Some((index, _)) => ExprKind::Literal(index),
                    None => return self.own_size(""),
                }
            }
            Size::Local(id) => ExprKind::Local(id),
            Size::Exp(e) => return Binding::Size(e),
        };
        Binding::Size(Box::new(Expr { kind, ty: I64, span }))
    }

    /// Finds the user's names of records, tuples and sums, for messages.
    pub(super) fn name_types(&mut self) {
        let (diagnostics, recursive) = (self.diags.len(), self.aliases.recursive_types.len());
        for i in 0..self.scopes.types.len() {
            let def = &self.scopes.types[i];
            let (params, module, Meaning::Alias(exp)) = (def.params, def.module, def.meaning) else {
                continue;
            };
            if !params.is_empty() || def.instance || self.scopes.get(module).library {
                continue;
            }
            let name = format!("{}{}", self.scopes.get(module).prefix, def.name);
            self.env = Default::default();
            self.module = module;
            self.aliases.expanding = vec![TypeId(i as u32)];
            self.aliases.expanded_parts = 0;
            let ty = self.ty(exp);
            let ty = super::types::erase(&self.types.resolve(&ty));
            self.aliases.expanding.clear();
            let known = self.aliases.short_names.iter().any(|(long, _)| *long == ty);
            let named =
                matches!(&ty, Ty::Record(_) | Ty::Sum(_)) || matches!(&ty, Ty::Tuple(ts) if !ts.is_empty());
            let mut open = Vec::new();
            self.types.leaves(&ty, &mut open);
            if named && !known && open.is_empty() {
                self.aliases.short_names.push((ty, name));
            }
        }
        // What is wrong in them is reported where they are checked.
        self.diags.truncate(diagnostics);
        self.aliases.recursive_types.truncate(recursive);
        self.types.clear();
        self.component.literals.clear();
        self.component.pending.clear();
        self.env = Default::default();
    }

    /// Checks the right sides of the user's abbreviations, used or not.
    pub(super) fn abbreviations(&mut self) {
        for i in 0..self.scopes.types.len() {
            let def = &self.scopes.types[i];
            let (params, Meaning::Alias(exp)) = (def.params, def.meaning) else { continue };
            if def.instance || self.scopes.get(def.module).library {
                continue;
            }
            self.env = Default::default();
            self.module = def.module;
            self.aliases.expanding = vec![TypeId(i as u32)];
            self.type_params(params);
            let ty = self.ty(exp);
            self.aliases.expanding.clear();
            self.diags.extend(unused_sizes(sizes(params), &[Place::Type(exp)], "the type"));
            self.must_be_declared(TypeId(i as u32), &ty);
        }
        self.types.clear();
    }
}

/// The argument of a type, where it stands below `more` arrays: sizes that were there before it (those of locals before
/// `first`) are owned by what is around these too.
fn below(ty: &Ty, more: i32, first: LocalId) -> Ty {
    fn deepen(ty: &mut Ty, depth: i32, more: i32, first: LocalId) {
        super::deep(|| match ty {
            Ty::Prim(_) | Ty::Var(_) | Ty::Meta(_) => {}
            Ty::Array(size, t) => {
                if let Size::Own { name, inner } = size
                    && (*name < first || *inner > depth)
                {
                    *inner += more;
                }
                deepen(t, depth + 1, more, first);
            }
            Ty::Abstract(_, args) => args.iter_mut().for_each(|arg| match arg {
                TyArg::Type(t) => deepen(t, depth, more, first),
                TyArg::Size(Size::Own { name, inner }) if *name < first || *inner > depth => *inner += more,
                TyArg::Size(_) => {}
            }),
            Ty::Unique(t) => deepen(t, depth, more, first),
            Ty::Fun(a, r) => {
                deepen(a, depth, more, first);
                deepen(r, depth, more, first);
            }
            Ty::Tuple(ts) => ts.iter_mut().for_each(|t| deepen(t, depth, more, first)),
            Ty::Record(fs) => fs.iter_mut().for_each(|(_, t)| deepen(t, depth, more, first)),
            Ty::Sum(cs) => cs.update(&mut |t| deepen(t, depth, more, first)),
        })
    }
    let mut ty = ty.clone();
    if more != 0 {
        deepen(&mut ty, 0, more, first);
    }
    ty
}

/// True if a name is as short as those of type parameters are.
fn is_parameter(name: &Name) -> bool {
    let small = name.base.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit());
    name.path.is_empty() && name.base.len() <= 2 && small
}

fn param_name(param: &TypeParam) -> &Ident {
    match param {
        TypeParam::Size(name) | TypeParam::Type(name, _) => name,
    }
}

fn spelled_param(param: &TypeParam) -> String {
    match param {
        TypeParam::Size(name) => format!("[{}]", name.name),
        TypeParam::Type(name, _) => format!("'{}", name.name),
    }
}
