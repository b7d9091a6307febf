//! Uniqueness: what a call has consumed may not be used any more.
//!
//! A parameter written `*t` is given up by the caller, so that the function may overwrite it. The meaning of a program
//! does not depend on that, since whoever updates an array that is still needed copies it; but a caller that goes on
//! using what it gave up has probably not meant to pay for the copy, and is told so.
//!
//! ```text
//! def step (xs: *[]i64) : *[]i64 = xs with [0] = 1
//!
//! let ys = step xs in xs[0]            E0601  use after it was consumed
//! let zs = xs[1:] in (step zs, xs)     E0602  use of something that shares the memory
//! def f (xs: []i64) = step xs          E0603  not this function's to give up
//! map (\i -> (step xs)[i]) is          E0604  consumed once for every call of the lambda, or iteration of a loop
//! both xs xs                           E0605  twice in one call
//! def f (xs: []i64) : *[]i64 = xs      E0607  a result promised to be shared with nothing
//! loop xs = copy a for … do            E0606  a loop that gives up its state without making a new one
//!   let _ = step xs in a
//! def twice f x = (f x, x) in twice step  E0608  a function that consumes, where that is not possible
//! scatter_stream xs (\_ _ -> acc) ys   E0609  an accumulator that was not given to the function
//! ```
//!
//! Only calls consume, so a program in which no parameter is written with `*` is never rejected. Each definition is
//! walked once, in order of evaluation, with what every value may share ([`alias`]) and what was consumed so far. The
//! walk also gives the function's signature: which parameters the result may share. That is more exact than
//! declared types, which say it only by `*` on the result. A call that hands over a function which consumes has a
//! signature of its own, from a walk with just that function ([`instances`]).

mod alias;
mod bind;
mod calls;
mod errors;
mod instances;
mod loops;
mod walk;

use crate::thir::{Def, DefId, Expr, LocalId, Pat, Program, Ty, accumulated};
use alias::{Alias, Code, Function, Root, Roots, Signature, all};
use bind::{Bound, Kind, RootInfo};
use calls::Site;
use instances::Instance;
use par_ir::hash::{HashMap, HashSet};
use par_runtime::Span;
use par_syntax::Diagnostic;
use std::rc::Rc;

/// Built-in functions whose result shares nothing with their arguments.
const FRESH: [&str; 22] = [
    "reduce",
    "reduce_comm",
    "map",
    "map2",
    "map3",
    "map4",
    "map5",
    "iota",
    "replicate",
    "scan",
    "exscan",
    "filter",
    "++",
    "concat",
    "lengths",
    "scatter",
    "hist",
    "reduce_by_index",
    "length",
    "scatter_stream",
    "reduce_by_index_stream",
    "write",
];

/// The state of the check.
struct Check<'p> {
    program: &'p Program,
    /// Definitions whose every mention is a copy.
    copied: &'p dyn Fn(&Def) -> bool,
    /// The files of the standard library.
    library: HashSet<u32>,
    roots: Vec<RootInfo>,
    locals: HashMap<LocalId, Bound>,
    signatures: HashMap<DefId, Rc<Signature>>,
    /// One root for every definition that is a value.
    globals: HashMap<DefId, Root>,
    /// Roots consumed so far on the way to the present expression, and where.
    consumed: HashMap<Root, Rc<Site>>,
    /// The functions and loops around the present expression.
    frames: Vec<Frame>,
    /// Of every function that was met.
    bodies: Vec<Body<'p>>,
    /// The bodies that are walked for certain functions as arguments.
    walked: Vec<usize>,
    /// Effects of calls that hand over certain functions, which are kept because the keys are their addresses.
    instances: HashMap<Vec<usize>, (Rc<Instance>, Vec<Alias>)>,
    /// By loop: which parts of its state the body consumes.
    loops: HashMap<*const Expr, Vec<Option<Rc<Site>>>>,
    /// No diagnostics at present.
    quiet: bool,
    /// Arguments whose consumption was reported.
    reported: HashSet<Span>,
    diagnostics: Vec<Diagnostic>,
}

/// A function as it is written.
#[derive(Clone, Copy)]
struct Body<'p> {
    params: &'p [Pat],
    ret: Option<&'p Ty>,
    body: &'p Expr,
    is_definition: bool,
}

/// A lambda, local function or loop.
struct Frame {
    /// Roots from here on are its own.
    mark: Root,
    is_loop: bool,
    /// Roots of its surroundings that it mentions.
    captured: Roots,
}

/// Checks a program that has types; gives the errors.
pub fn check(program: &Program) -> Vec<Diagnostic> {
    check_with(program, &|_| false)
}

/// As [`check`], where some definitions are values from outside the program: each mention of such a one is a copy, which
/// may be consumed.
pub fn check_with(program: &Program, copied: &dyn Fn(&Def) -> bool) -> Vec<Diagnostic> {
    let mut cx = Check {
        program,
        copied,
        library: program.defs.iter().filter(|d| d.library).map(|d| d.span.file).collect(),
        roots: Vec::new(),
        locals: HashMap::default(),
        signatures: HashMap::default(),
        globals: HashMap::default(),
        consumed: HashMap::default(),
        frames: Vec::new(),
        bodies: Vec::new(),
        walked: Vec::new(),
        instances: HashMap::default(),
        loops: HashMap::default(),
        quiet: false,
        reported: HashSet::default(),
        diagnostics: Vec::new(),
    };
    let own = program.defs.iter().enumerate().filter(|(_, def)| !def.library);
    own.for_each(|(i, _)| drop(cx.signature(DefId(i as u32))));
    cx.diagnostics.sort_by_key(|d| d.labels[0].span);
    cx.diagnostics
}

/// Runs `f` with stack enough for what recurses between two calls of this function: programs may nest deeply. Not if the
/// compiler is to stop.
pub(crate) fn deep<T>(f: impl FnOnce() -> T) -> T {
    par_runtime::cancel::poll();
    stacker::maybe_grow(512 * 1024, 8 * 1024 * 1024, f)
}

impl<'p> Check<'p> {
    /// Effect of a definition on its arguments. The first request walks its body.
    fn signature(&mut self, id: DefId) -> Rc<Signature> {
        if let Some(known) = self.signatures.get(&id) {
            return known.clone();
        }
        let program = self.program;
        let def = &program.defs[id.0 as usize];
        let consumed = std::mem::take(&mut self.consumed);
        let frames = std::mem::take(&mut self.frames);
        let quiet = std::mem::replace(&mut self.quiet, def.library);
        let signature = deep(|| Rc::new(self.walk_definition(id, def)));
        (self.consumed, self.frames, self.quiet) = (consumed, frames, quiet);
        self.signatures.insert(id, signature.clone());
        signature
    }

    fn walk_definition(&mut self, id: DefId, def: &'p Def) -> Signature {
        let params: Vec<Alias> = def.params.iter().map(|p| self.open(p, Kind::Param, false)).collect();
        let anything = Alias::Array(self.kept(&params)).fit(&def.ret).masked(&def.ret);
        if def.intrinsic || def.library && def.name == "copy" {
            let fresh = def.name == "copy" || FRESH.contains(&def.name.as_str());
            let result = if fresh { anything.cleared() } else { anything };
            return Signature { params, result, code: Code::Builtin };
        }
        let code = self.code(Body {
            params: &def.params,
            ret: Some(&def.ret),
            body: &def.body,
            is_definition: true,
        });
        // Recursive calls may give back anything.
        self.signatures.insert(id, Rc::new(Signature { params: params.clone(), result: anything, code }));
        let result = self.expr(&def.body).fit(&def.ret);
        // What a module type promises of a function that is written without `*` was a warning.
        if def.body.span != Span::default() {
            self.own_result(&result, &def.ret, &def.body, None);
        }
        let result = result.masked(&def.ret);
        let own = all(&params);
        let result = result.pruned(&|r| own.contains(&r) || self.roots[r.0 as usize].kind == Kind::Global);
        Signature { params, result, code }
    }

    /// E0607 where a result written with `*` may be shared with what the caller keeps, or what is there before `mark`, where a lambda
    /// begins; E0609 for an accumulator.
    fn own_result(&mut self, result: &Alias, ty: &Ty, body: &Expr, mark: Option<Root>) {
        match (result, ty) {
            (alias, Ty::Unique(t)) => {
                let kept = |r: &Root| {
                    let info = self.info(*r);
                    let outside = mark.is_some_and(|mark| self.outlives(*r, mark));
                    outside || info.kind == Kind::Global || info.kind == Kind::Param && !info.unique
                };
                if let Some(root) = alias.flat().into_iter().find(kept) {
                    match &**t {
                        Ty::Record(fs) if accumulated(fs).is_some() => {
                            self.other_accumulator(root, body.span)
                        }
                        _ => self.shared_result(root, body),
                    }
                }
            }
            (Alias::Parts(parts), Ty::Tuple(ts)) => {
                parts.iter().zip(ts).for_each(|(p, t)| self.own_result(p, t, body, mark));
            }
            (Alias::Parts(parts), Ty::Record(fs)) => {
                parts.iter().zip(fs).for_each(|(p, (_, t))| self.own_result(p, t, body, mark));
            }
            _ => {}
        }
    }

    /// The roots of parameters that are not consumed.
    fn kept(&self, params: &[Alias]) -> Roots {
        all(params).into_iter().filter(|r| !self.info(*r).unique).collect()
    }

    /// The definition itself as a value.
    fn definition(&mut self, id: DefId) -> Alias {
        let signature = self.signature(id);
        let def = &self.program.defs[id.0 as usize];
        match &signature.result {
            _ if !def.params.is_empty() => Alias::Function(Roots::new(), Function::bare(signature)),
            function @ Alias::Function(..) => function.clone(),
            _ if (self.copied)(def) => Alias::fresh(),
            _ => Alias::Array(Roots::from([self.global(id, def)])),
        }
    }

    fn global(&mut self, id: DefId, def: &Def) -> Root {
        if let Some(root) = self.globals.get(&id) {
            return *root;
        }
        let info = RootInfo {
            name: def.name.clone(),
            owner: None,
            span: def.name_span,
            kind: Kind::Global,
            unique: false,
            accumulator: false,
        };
        let root = self.new_root(info);
        self.globals.insert(id, root);
        root
    }
}
