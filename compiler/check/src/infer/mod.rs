//! Name resolution and type inference: syntax tree to the typed tree ([`crate::thir`]).
//!
//! ```text
//! def twice f x = f (f x)          def twice 'a (f: a -> a) (x: a) : a = f (f x)
//! def inc = map (+1)        ==>    def inc : []i32 -> []i32 = let t = 1i32 in \x -> …
//! ```
//!
//! The steps: `collect` finds the definitions of every module, `deps` orders them by who mentions whom, and `decs` checks
//! one strongly connected component after the other: Hindley-Milner inference with generalisation of definitions and
//! local functions, overloaded literals and operators as variables restricted to classes of scalar types, field
//! selections and constructors as constraints that wait until the type is known. Sizes are not inferred: what is declared
//! stays on patterns, results and ascriptions for lowering.

mod access;
mod arguments;
mod bindings;
mod collect;
mod control;
mod cover;
mod decs;
mod defaults;
mod deps;
mod entries;
mod env;
mod errors;
mod exps;
mod finish;
mod foreign;
mod functions;
mod hints;
mod holes;
mod itself;
mod lifted;
mod literals;
mod mentions;
mod modules;
mod operators;
mod pats;
mod pending;
mod recursion;
mod scope;
mod show;
mod typeexps;
mod types;
mod updates;

pub use entries::has_function;

pub use show::show_type;
pub use types::erase;

use crate::thir::{Def, DefId, Expr, ExprKind, Hidden, LocalId, Program, Ty, TyVar};
use env::Env;
use modules::TypeMatch;
use par_ir::hash::{HashMap, HashSet};
use par_runtime::Span;
use par_syntax::{Diagnostic, Severity, Sources, ast};
use scope::{ModId, Scopes, TypeId};
use std::borrow::Borrow;
use types::{Clash, Class, Scheme, Types};

/// As many errors as one run reports.
const MAX_ERRORS: usize = 20;

/// Resolves the names and infers the types of a program: the library's files first, then the user's. The program is
/// there unless there is an error or something unsupported.
pub fn infer<F: Borrow<ast::File>>(files: &[F], sources: &Sources) -> (Option<Program>, Vec<Diagnostic>) {
    let files: Vec<&ast::File> = files.iter().map(F::borrow).collect();
    let mut collected = collect::collect(&files, sources);
    let order = deps::components(&collected);
    let mut cx = Cx {
        sources,
        diags: std::mem::take(&mut collected.diags),
        scopes: collected.scopes,
        checked: Checked {
            schemes: vec![None; collected.defs.len()],
            done: vec![None; collected.defs.len()],
            defaulted: HashSet::default(),
        },
        defs: collected.defs,
        types: Types::default(),
        env: Env::default(),
        module: ModId(0),
        locals: Vec::new(),
        type_vars: Vec::new(),
        component: Component::default(),
        aliases: Aliases::default(),
        hidden_types: HiddenTypes { type_matches: collected.type_matches, ..HiddenTypes::default() },
        reading: Reading::default(),
    };
    cx.name_types();
    for (group, component) in order.iter().enumerate() {
        cx.component(component, group as u32);
    }
    cx.abbreviations();
    cx.match_types();
    cx.result()
}

/// Meaning of a local name.
#[derive(Clone, Debug)]
enum Binding {
    /// A parameter, `let`, size parameter or local function.
    Value { id: LocalId, scheme: Scheme },
    /// The size parameter of an abbreviation that is being expanded.
    Size(Box<Expr>),
    /// A size that the elements of a type share; the depth of arrays at which the type stands.
    OwnSize(LocalId, i32),
    /// A size without a name: a parameter named inside a function type.
    AnonymousSize,
}

/// Everything inference knows.
struct Cx<'a> {
    sources: &'a Sources,
    scopes: Scopes<'a>,
    defs: Vec<collect::Found<'a>>,
    checked: Checked,
    types: Types,
    env: Env<Binding>,
    diags: Vec<Diagnostic>,
    /// The module of the definition being checked.
    module: ModId,
    locals: Vec<String>,
    type_vars: Vec<String>,
    component: Component,
    aliases: Aliases,
    hidden_types: HiddenTypes,
    reading: Reading,
}

/// Results of inference, by definition.
struct Checked {
    /// None before a definition is checked and if it is too wrong to say.
    schemes: Vec<Option<Scheme>>,
    done: Vec<Option<Def>>,
    /// Parameters, by their numbers, of whose types nothing is said.
    defaulted: HashSet<(DefId, usize)>,
}

/// The component being checked: definitions that call each other.
#[derive(Default)]
struct Component {
    /// Literals. Until the component is finished, a number in the tree is its index here.
    literals: Vec<literals::Number>,
    pending: Vec<pending::Pending>,
    holes: Vec<holes::Hole>,
    /// Local functions of whose numbers nothing says the type where they are defined.
    of_one_type: HashSet<LocalId>,
}

/// Abbreviations of types.
#[derive(Default)]
struct Aliases {
    /// Abbreviations under expansion, to find recursive ones.
    expanding: Vec<TypeId>,
    /// Parts of the one expanded last so far, those of what it mentions included.
    expanded_parts: usize,
    /// Types found to be recursive, which is reported once.
    recursive_types: Vec<TypeId>,
    /// Records, tuples and sums to which the user has given names.
    short_names: Vec<(Ty, String)>,
}

/// Types that modules hide.
#[derive(Default)]
struct HiddenTypes {
    /// Types that have to be what a module type says.
    type_matches: Vec<TypeMatch>,
    /// The type parameters that stand for hidden types of which nothing is known.
    unknown_types: HashMap<TypeId, TyVar>,
    /// Representations of hidden types.
    represented: HashMap<TypeId, Ty>,
}

/// The type annotation being read.
#[derive(Default)]
struct Reading {
    /// A size without a name was mentioned since this was last cleared.
    anonymous_size: bool,
    /// Nesting depth of arrays around the type.
    arrays: i32,
}

impl Cx<'_> {
    fn new_local(&mut self, name: &str) -> LocalId {
        self.locals.push(name.to_string());
        LocalId(self.locals.len() as u32 - 1)
    }

    fn new_type_var(&mut self, name: &str, class: Class) -> TyVar {
        self.type_vars.push(name.to_string());
        self.types.vars.push((self.types.level, class));
        TyVar(self.type_vars.len() as u32 - 1)
    }

    /// Runs `inside` in a scope of its own.
    fn scoped<T>(&mut self, inside: impl FnOnce(&mut Self) -> T) -> T {
        let mark = self.env.mark();
        let result = inside(self);
        self.env.reset(mark);
        result
    }

    /// A type for a message, by the name that the user has given it.
    fn show(&self, ty: &Ty) -> String {
        self.show_with(ty, &|ty| {
            let ty = types::erase(&self.types.resolve(ty));
            self.aliases.short_names.iter().find(|(long, _)| *long == ty).map(|(_, name)| name.clone())
        })
    }

    /// A type for a message, without the user's abbreviations.
    fn show_expanded(&self, ty: &Ty) -> String {
        self.show_with(ty, &|_| None)
    }

    fn show_with(&self, ty: &Ty, short: &dyn Fn(&Ty) -> Option<String>) -> String {
        let def = |id: u32| self.defs.get(id as usize).map_or_else(String::new, |d| d.name.clone());
        let number = |index: i64| match self.component.literals.get(index as usize).map(|n| &n.value) {
            Some(literals::Value::Int(n)) => n.to_string(),
            _ => "…".to_string(),
        };
        let names = show::Names {
            locals: &self.locals,
            type_vars: &self.type_vars,
            def: &def,
            number: &number,
            hidden: &|id| self.scopes.types[id as usize].name.clone(),
            short,
        };
        let mut out = String::new();
        show::Printer { names, types: Some(&self.types) }.ty(ty, show::Prec::Arrow, &mut out);
        out
    }

    /// Makes the types equal or reports what `report` makes of the reason and the two types in words (expected, found).
    fn agree(
        &mut self,
        expected: &Ty,
        found: &Ty,
        report: impl FnOnce(&Clash, &str, &str) -> Diagnostic,
    ) -> bool {
        let (expected, found) = (types::erase(expected), types::erase(found));
        let Err(clash) = self.types.unify(&expected, &found) else { return true };
        let diag = report(&clash, &self.in_words(&expected), &self.in_words(&found));
        let diag = match clash {
            Clash::Class(Class::Data)
                if [&expected, &found].iter().any(|t| types::has_writes(&self.types.resolve(t))) =>
            {
                Diagnostic { code: "E0317".into(), notes: Vec::new(), ..diag }.note(lifted::NO_WRITES)
            }
            Clash::Class(Class::Data | Class::Joined) if diag.notes.is_empty() => {
                Diagnostic { code: "E0314".into(), ..diag }.note(lifted::NOTE)
            }
            _ => diag,
        };
        let diag = self.advise(diag, &clash, &expected, &found);
        let mut diag = self.explain_abstract(diag, [&expected, &found]);
        let hidden = |t: &Ty| matches!(self.types.shallow(t), Ty::Abstract(..));
        if let (Clash::Class(Class::Prims(_)), true) = (&clash, hidden(&expected) || hidden(&found)) {
            diag = diag.note(
                "numbers and built-in operators have no hidden types: use what the module has, as in `m.(i64 2 + x)`",
            );
        }
        // What is wrong inside explains it.
        if !self.has_error_in(diag.labels[0].span) {
            self.diags.push(diag);
        }
        false
    }

    /// True if an error lies in a range of the source.
    fn has_error_in(&self, span: Span) -> bool {
        self.diags.iter().filter(|d| d.severity >= Severity::Unsupported).any(|d| {
            let inner = d.labels[0].span;
            inner.file == span.file && span.start <= inner.start && inner.end <= span.end
        })
    }

    /// The result: errors in order of place, each once, and the program if there are none.
    fn result(mut self) -> (Option<Program>, Vec<Diagnostic>) {
        let mut seen: HashMap<(String, Span), usize> = HashMap::default();
        self.diags.sort_by_key(|d| d.labels[0].span);
        let key = |d: &Diagnostic| match d.severity == Severity::Unsupported || d.code == "E0201" {
            // A feature that is missing and a name that is unknown are reported once, wherever they are used.
            true => (d.message.clone(), Span::default()),
            false => (d.code.clone(), d.labels[0].span),
        };
        self.diags.retain(|d| {
            let times = seen.entry(key(d)).or_insert(0);
            *times += 1;
            *times == 1
        });
        for diag in self.diags.iter_mut().filter(|d| d.code == "E0201") {
            let times = seen.get(&key(diag)).copied().unwrap_or(1);
            if times > 1 {
                diag.notes.push(format!("it is used at {times} places"));
            }
        }
        // A type that is not known because of an error makes an entry point look polymorphic.
        let polymorphic = |d: &Diagnostic| d.code == "E0501" || d.code == "E0502";
        if self.diags.iter().any(|d| d.severity >= Severity::Unsupported && !polymorphic(d)) {
            self.diags.retain(|d| !polymorphic(d));
        }
        let failed = self.diags.iter().any(|d| d.severity >= Severity::Unsupported);
        let mut errors = 0;
        self.diags.retain(|d| {
            errors += usize::from(d.severity >= Severity::Unsupported);
            errors <= MAX_ERRORS
        });
        let last = self.diags.iter_mut().rfind(|d| d.severity >= Severity::Unsupported);
        if let (Some(last), Some(more @ 1..)) = (last, errors.checked_sub(MAX_ERRORS)) {
            let s = if more == 1 { "" } else { "s" };
            last.notes
                .push(format!("these are the first {MAX_ERRORS} errors; {more} more error{s} not shown"));
        }
        let done = self.checked.done.into_iter().zip(&self.defs);
        let defs = done.map(|(def, found)| def.unwrap_or_else(|| unused(found))).collect();
        let program = Program { defs, locals: self.locals, type_vars: self.type_vars };
        ((!failed).then_some(program), self.diags)
    }
}

/// Keeps the place of a definition that nobody mentions.
fn unused(found: &collect::Found) -> Def {
    let body = Expr { kind: ExprKind::Tuple(Vec::new()), ty: Ty::Tuple(Vec::new()), span: found.span };
    Def {
        name: found.name.clone(),
        entry: false,
        group: None,
        intrinsic: false,
        inlining: found.inlining,
        open: true,
        library: found.library,
        type_params: Vec::new(),
        size_params: Vec::new(),
        params: Vec::new(),
        ret: Ty::Tuple(Vec::new()),
        body,
        hidden: Hidden::Nothing,
        span: found.span,
        name_span: found.ident().span,
        ret_span: found.ident().span,
    }
}

/// Runs a step of a recursion, on a new piece of stack if little is left; unless the compiler is to stop.
fn deep<T>(step: impl FnOnce() -> T) -> T {
    par_runtime::cancel::poll();
    stacker::maybe_grow(128 * 1024, 4 * 1024 * 1024, step)
}
