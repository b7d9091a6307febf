//! Dependencies: the definitions that a definition mentions, and the order in which to check them.
//!
//! The references are found by a walk over the syntax with the scopes that inference will use. Strongly connected
//! components of more than one definition, and definitions that mention themselves, are recursive groups.

use super::collect::{Collected, What};
use super::env::Env;
use super::modules::{Demand, Target, View};
use super::scope::{Found, Meaning, ModId, Scopes, TypeId};
use crate::thir::DefId;
use par_ir::hash::HashSet;
use par_runtime::Prim;
use par_syntax::ast::{
    self, Exp, ExpKind, IndexArg, LoopForm, Pat, PatKind, SizeExp, Step, TypeExp, TypeKind,
};
use std::collections::BTreeSet;

/// A strongly connected component of the references between definitions.
pub(super) struct Component {
    pub(super) defs: Vec<DefId>,
    pub(super) recursive: bool,
    /// Definitions that mention themselves.
    pub(super) direct: Vec<DefId>,
}

/// The components, each after those it refers to. What stands in an instance of a parametric module or in the library is
/// among them only if something else refers to it, so that a program does not pay for what it does not use; the library
/// alone is checked as a whole.
pub(super) fn components(c: &Collected) -> Vec<Component> {
    let mut tarjan = Tarjan {
        collected: c,
        refs: vec![Vec::new(); c.defs.len()],
        index: vec![None; c.defs.len()],
        low: vec![0; c.defs.len()],
        on_stack: vec![false; c.defs.len()],
        stack: Vec::new(),
        next: 0,
        out: Vec::new(),
    };
    let whole_library = c.defs.iter().all(|def| def.library);
    for demand in [Demand::First, Demand::Always] {
        for v in 0..c.defs.len() {
            let def = &c.defs[v];
            let known = whole_library || !def.library || crate::lower::LIBRARY.contains(&def.name.as_str());
            let wanted = def.demand == demand && known;
            if tarjan.index[v].is_none() && wanted {
                tarjan.visit(v);
            }
        }
    }
    tarjan.out
}

/// The definitions that a definition refers to.
fn references(c: &Collected, v: usize) -> Vec<usize> {
    let def = &c.defs[v];
    let mut walk = Walk::new(&c.scopes, def.module);
    walk.env.own = def.means_another().then_some(DefId(v as u32));
    match &def.what {
        What::Def(ast) => walk.def(ast, def.intrinsic),
        What::View(view) => walk.view(view),
    }
    let called = match def.intrinsic {
        true => crate::lower::called_for(&def.name),
        false => &[],
    };
    let named = |name: &&str| c.defs.iter().position(|d| d.library && d.name == **name);
    walk.refs.into_iter().map(|d| d.0 as usize).chain(called.iter().filter_map(named)).collect()
}

/// Tarjan's algorithm (1972).
struct Tarjan<'c, 'a> {
    collected: &'c Collected<'a>,
    refs: Vec<Vec<usize>>,
    index: Vec<Option<usize>>,
    low: Vec<usize>,
    on_stack: Vec<bool>,
    stack: Vec<usize>,
    next: usize,
    out: Vec<Component>,
}

impl Tarjan<'_, '_> {
    fn visit(&mut self, v: usize) {
        self.index[v] = Some(self.next);
        self.low[v] = self.next;
        self.next += 1;
        self.stack.push(v);
        self.on_stack[v] = true;
        let refs = references(self.collected, v);
        for &w in &refs {
            match self.index[w] {
                None => {
                    super::deep(|| self.visit(w));
                    self.low[v] = self.low[v].min(self.low[w]);
                }
                Some(i) if self.on_stack[w] => self.low[v] = self.low[v].min(i),
                Some(_) => {}
            }
        }
        self.refs[v] = refs;
        if self.index[v] == Some(self.low[v]) {
            self.finish(v);
        }
    }

    fn finish(&mut self, root: usize) {
        let mut defs = Vec::new();
        while let Some(w) = self.stack.pop() {
            self.on_stack[w] = false;
            defs.push(DefId(w as u32));
            if w == root {
                break;
            }
        }
        defs.sort();
        let recursive = defs.len() > 1 || self.refs[root].contains(&root);
        let direct =
            defs.iter().copied().filter(|d| self.refs[d.0 as usize].contains(&(d.0 as usize))).collect();
        self.out.push(Component { defs, recursive, direct });
    }
}

/// Collects the definitions that a piece of syntax refers to.
struct Walk<'s, 'a> {
    scopes: &'s Scopes<'a>,
    module: ModId,
    env: Env<()>,
    refs: BTreeSet<DefId>,
    types_seen: HashSet<TypeId>,
}

impl<'s, 'a> Walk<'s, 'a> {
    fn new(scopes: &'s Scopes<'a>, module: ModId) -> Self {
        Walk { scopes, module, env: Env::default(), refs: BTreeSet::new(), types_seen: HashSet::default() }
    }

    fn def(&mut self, def: &ast::Def, skip_body: bool) {
        let mark = self.env.mark();
        self.type_params(&def.type_params);
        def.params.iter().for_each(|p| self.pat(p));
        def.ret.iter().for_each(|t| self.ty(t));
        if !skip_body {
            self.exp(&def.body);
        }
        self.env.reset(mark);
    }

    /// A view refers to what is behind it, and to what its type mentions.
    fn view(&mut self, view: &View) {
        if let Some(Target::Def(id)) = &view.target {
            self.refs.insert(*id);
        }
        for module in [self.module, view.outer] {
            self.module = module;
            self.scoped(|w| {
                w.type_params(view.params);
                w.ty(view.ty);
            });
        }
    }

    fn type_params(&mut self, params: &[ast::TypeParam]) {
        for param in params {
            match param {
                ast::TypeParam::Size(name) => self.env.bind(&name.name, ()),
                ast::TypeParam::Type(name, _) => {
                    self.env.bind_type(&name.name, super::env::TypeArg::of(super::types::I64))
                }
            }
        }
    }

    fn name(&mut self, name: &ast::Name) {
        match self.scopes.resolve(&self.env, self.module, name) {
            Some((Found::Def(id), _)) => _ = self.refs.insert(id),
            // Which of them is meant follows from types.
            Some((Found::PerType(name), _)) => {
                self.refs.extend(Prim::ALL.iter().filter_map(|p| self.scopes.of_prim(*p, &name)));
            }
            _ => {}
        }
    }

    fn pat(&mut self, pat: &Pat) {
        super::deep(|| match &pat.kind {
            PatKind::Name(name) => self.env.bind(name, ()),
            PatKind::Wildcard | PatKind::Literal(_) => {}
            PatKind::Tuple(ps) | PatKind::Constr(_, ps) => ps.iter().for_each(|p| self.pat(p)),
            PatKind::Record(fields) => fields.iter().for_each(|(field, p)| match p {
                Some(p) => self.pat(p),
                None => self.env.bind(&field.name, ()),
            }),
            PatKind::Ascribe(p, t) => {
                self.ty(t);
                self.pat(p);
            }
            PatKind::Attr(_, p) => self.pat(p),
        })
    }

    fn ty(&mut self, t: &TypeExp) {
        super::deep(|| match &t.kind {
            TypeKind::Name(name, args) => {
                for arg in args {
                    match arg {
                        ast::TypeArg::Size(size) => self.size(size),
                        ast::TypeArg::Type(t) => self.ty(t),
                    }
                }
                self.type_name(name);
            }
            TypeKind::Tuple(ts) => ts.iter().for_each(|t| self.ty(t)),
            TypeKind::Record(fs) => fs.iter().for_each(|(_, t)| self.ty(t)),
            TypeKind::Sum(cs) => cs.iter().flat_map(|(_, ts)| ts).for_each(|t| self.ty(t)),
            TypeKind::Array(size, t) => {
                self.size(size);
                self.ty(t);
            }
            TypeKind::Unique(t) => self.ty(t),
            TypeKind::Arrow(name, a, r) => {
                self.ty(a);
                self.scoped(|w| {
                    name.iter().for_each(|n| w.env.bind(&n.name, ()));
                    w.ty(r);
                });
            }
            TypeKind::Exists(names, t) => self.scoped(|w| {
                names.iter().for_each(|n| w.env.bind(&n.name, ()));
                w.ty(t);
            }),
        })
    }

    /// The abbreviation's right side counts as mentioned too: its sizes may be definitions.
    fn type_name(&mut self, name: &ast::Name) {
        if name.path.is_empty() && self.env.ty(&name.base).is_some() {
            return;
        }
        let Some(id) = self.scopes.find_type(&self.env, self.module, name) else { return };
        if !self.types_seen.insert(id) {
            return;
        }
        self.type_def(id);
    }

    fn type_def(&mut self, id: TypeId) {
        let def = &self.scopes.types[id.0 as usize];
        let exp = match def.meaning {
            Meaning::Alias(exp) => exp,
            Meaning::Abstract { is: Some(is), .. } if self.types_seen.insert(is) => return self.type_def(is),
            _ => return,
        };
        let env = std::mem::take(&mut self.env);
        let module = std::mem::replace(&mut self.module, def.module);
        self.type_params(def.params);
        self.ty(exp);
        self.module = module;
        self.env = env;
    }

    fn size(&mut self, size: &SizeExp) {
        if let SizeExp::Exp(e) = size {
            self.exp(e);
        }
    }

    fn scoped(&mut self, inside: impl FnOnce(&mut Self)) {
        let mark = self.env.mark();
        inside(self);
        self.env.reset(mark);
    }

    fn index<'e>(&mut self, args: impl IntoIterator<Item = &'e IndexArg>) {
        for arg in args {
            match arg {
                IndexArg::Index(e) => self.exp(e),
                IndexArg::Slice { start, end, stride, .. } => {
                    [start, end, stride].into_iter().flatten().for_each(|e| self.exp(e));
                }
            }
        }
    }

    fn exp(&mut self, e: &Exp) {
        super::deep(|| match &e.kind {
            ExpKind::Name(name) | ExpKind::Operator(name) => self.name(name),
            ExpKind::Literal(_) | ExpKind::Hole | ExpKind::SectionField(_) => {}
            ExpKind::Tuple(es) | ExpKind::Array(es) | ExpKind::Constr(_, es) => {
                es.iter().for_each(|e| self.exp(e))
            }
            ExpKind::Record(fields) => fields.iter().for_each(|(field, e)| match e {
                Some(e) => self.exp(e),
                None => self.name(&field_name(field)),
            }),
            ExpKind::Range { start, second, end, .. } => {
                self.exp(start);
                second.iter().for_each(|e| self.exp(e));
                self.exp(end);
            }
            ExpKind::Apply(f, args) => {
                self.exp(f);
                args.iter().for_each(|e| self.exp(e));
            }
            ExpKind::Binary { op, left, right } => {
                self.name(op);
                self.exp(left);
                self.exp(right);
            }
            ExpKind::Negate(e)
            | ExpKind::Not(e)
            | ExpKind::Field(e, _)
            | ExpKind::Attr(_, e)
            | ExpKind::Parens(e) => self.exp(e),
            ExpKind::SectionLeft(op, e) | ExpKind::SectionRight(op, e) => {
                self.name(op);
                self.exp(e);
            }
            ExpKind::SectionIndex(args) => self.index(args),
            ExpKind::Index(e, args) => {
                self.exp(e);
                self.index(args);
            }
            ExpKind::With { value, place, update } => {
                self.exp(value);
                self.index(Step::indices(place));
                self.exp(update);
            }
            ExpKind::Ascribe(e, t) | ExpKind::Coerce(e, t) => {
                self.exp(e);
                self.ty(t);
            }
            ExpKind::Assert(c, e) => {
                self.exp(c);
                self.exp(e);
            }
            ExpKind::If { cond, then, other } => [cond, then, other].into_iter().for_each(|e| self.exp(e)),
            _ => self.scoped(|w| w.binding(&e.kind)),
        })
    }

    /// The expressions that bind names; the caller has opened a scope.
    fn binding(&mut self, e: &ExpKind) {
        match e {
            ExpKind::Lambda { params, ret, body } => {
                params.iter().for_each(|p| self.pat(p));
                ret.iter().for_each(|t| self.ty(t));
                self.exp(body);
            }
            ExpKind::Let { sizes, pat, value, body } => {
                self.exp(value);
                sizes.iter().for_each(|n| self.env.bind(&n.name, ()));
                self.pat(pat);
                self.exp(body);
            }
            ExpKind::LetFun { def, body } => {
                self.scoped(|w| {
                    if !super::itself::means_another(def) {
                        w.env.bind(&def.name.name, ());
                    }
                    w.def(def, false);
                });
                self.env.bind(&def.name.name, ());
                self.exp(body);
            }
            ExpKind::LetWith { name, place, value, body } => {
                self.name(&field_name(name));
                self.index(Step::indices(place));
                self.exp(value);
                self.env.bind(&name.name, ());
                self.exp(body);
            }
            ExpKind::Match { value, cases } => {
                self.exp(value);
                for (pat, e) in cases {
                    self.scoped(|w| {
                        w.pat(pat);
                        w.exp(e);
                    });
                }
            }
            ExpKind::Loop { sizes, pat, init, form, body } => self.loop_do(sizes, pat, init, form, body),
            ExpKind::OpenIn(name, e) => {
                if let Some(module) = self.scopes.find_module(&self.env, self.module, name) {
                    self.env.open(module);
                }
                self.exp(e);
            }
            _ => {}
        }
    }

    fn loop_do(&mut self, sizes: &[ast::Ident], pat: &ast::Pat, init: &Exp, form: &LoopForm, body: &Exp) {
        self.exp(init);
        if let LoopForm::For(_, e) | LoopForm::ForIn(_, e) = form {
            self.exp(e);
        }
        sizes.iter().for_each(|n| self.env.bind(&n.name, ()));
        self.pat(pat);
        match form {
            LoopForm::For(i, _) => self.env.bind(&i.name, ()),
            LoopForm::ForIn(p, _) => self.pat(p),
            LoopForm::While(e) => self.exp(e),
        }
        self.exp(body);
    }
}

/// A field or local written without a value means the variable of that name.
pub(super) fn field_name(ident: &ast::Ident) -> ast::Name {
    ast::Name { path: Vec::new(), base: ident.name.clone(), span: ident.span }
}
