//! From the typed tree to CORE, by evaluating it symbolically.
//!
//! An expression evaluates to a compile-time value ([`value::Val`]): tuples and functions are Rust values, only
//! scalars and arrays of scalars become CORE variables. Applying a known function evaluates its body in place, so
//! that everything that is not recursive is inlined and specialised, and tuples disappear:
//!
//! ```text
//! def dot xs ys = reduce (+) 0 (map2 (*) xs ys)
//! entry main [n] (ps: [n](f32, f32)) : f32 = let (xs, ys) = unzip ps in dot xs ys
//!
//! entry main (n: i64) (a: [n]f32) (b: [n]f32) =
//!   let (c: [n]f32) = map n [a, b] (\x y -> mul.f32 x y)
//!   let (r: f32) = reduce n [c] (\z -> z) (\x y -> add.f32 x y) 0f32
//!   in r
//! ```
//!
//! Shapes are exact: an operation whose result has an unknown size or irregular rows binds the size or the
//! descriptor ([`shape`], [`soac`], [`control`], [`loops`]). Declared sizes are bound and checked in [`sizes`].
//! Recursive definitions become functions, one per combination of types and function arguments ([`recursion`]), and so
//! do large ones that are called again ([`share`]).

mod abstraction;
mod accumulators;
mod arith;
mod at;
mod attributes;
mod build;
mod calls;
mod columns;
mod control;
mod derive;
mod element_sizes;
mod entry;
mod env;
mod equality;
mod expected;
mod expr;
mod holes;
mod index;
mod inexact;
mod intrinsics;
mod join;
mod layout;
mod literal;
mod loops;
mod order;
mod pattern;
mod range;
mod rebuild;
mod recursion;
mod reduce;
mod remainders;
mod self_calls;
mod shape;
mod share;
mod sized;
mod sizes;
mod slices;
mod small;
mod soac;
mod solve;
mod sort;
mod stripmine;
mod sums;
mod trace;
mod unreached;
mod unroll;
mod update;
mod value;
mod widths;
mod write;

use crate::thir::{Constructors, Def, DefId, Expr, LocalId, Program};
use par_ir::core;
use par_ir::hash::{HashMap, HashSet};
use par_ir::{Atom, Span, Var};
use par_syntax::Sources;
use par_syntax::diagnostic::{Diagnostic, Severity};
use std::cell::RefCell;
use std::rc::Rc;

/// Definitions of the library that are called for intrinsics, so that they are wanted even if no program mentions them.
pub(crate) const LIBRARY: [&str; 2] = [write::REDUCE_GROUPS, write::SCATTER_CONFLICT];

/// Definitions of the library that are called for an intrinsic, so that they are wanted if a program mentions that.
pub(crate) fn called_for(intrinsic: &str) -> &'static [&'static str] {
    match intrinsic {
        order::ARGSORT_PARTS => &order::ARGSORTS,
        _ => &[],
    }
}

/// A result, or what is wrong with the program.
type R<T> = Result<T, Box<Diagnostic>>;

/// Checks that are made, how exactly floats are computed with, and which arguments are matrices.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// At every `scatter`, that no index gets two different values.
    pub check_scatter: bool,
    /// Bounds and assertions inside `#[unsafe]` are not checked.
    pub allow_unsafe: bool,
    /// All of the program is as inside `#[fast_math]`.
    pub fast_math: bool,
    /// The program's own definitions are called, not inlined.
    pub calls: bool,
    /// Loops over strips around every loop whose state a derivative keeps (`derive/reverse/checkpoints.rs`).
    pub checkpoints: u32,
    /// Arguments that are matrices although their type is one of ragged arrays.
    pub matrices: Matrices,
}

/// Ragged dimensions of an entry point's parameters whose rows have one length in the arguments: they are sizes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Matrices {
    /// Name of the entry point.
    pub entry: String,
    /// Numbers of the columns that are descriptors in the parameters' types.
    pub columns: Vec<usize>,
}

/// The state of lowering one program.
struct Lower<'p> {
    program: &'p Program,
    sources: &'p Sources,
    options: Options,
    out: core::Program,
    diagnostics: Vec<Diagnostic>,
    scope: build::Scope<'p>,
    context: Context,
    place: Place<'p>,
    facts: Facts,
    binding: Binding,
    visited: Visited,
    instances: recursion::Instances,
    derivatives: derive::Derivatives,
    shared: share::Shared<'p>,
    hints: loops::Hints,
}

/// The context of the code being lowered: enclosing constructs and their permissions.
#[derive(Default)]
struct Context {
    /// Nesting of inlined calls.
    depth: usize,
    /// Nesting of functions that are being made: 0 in an entry point.
    inside: usize,
    /// Nesting of loops, whose state may take other shapes in later iterations.
    looping: usize,
    /// Loops that an attribute wants around the next loop.
    strips: u32,
    /// Condition that makes the checks of an update hold in any case: that there is no row to be updated.
    unless: Option<Atom>,
    /// While the writes to an accumulator are only counted: the nesting of functions where that began.
    counting: Option<usize>,
    /// Permissions of the attributes around.
    permits: attributes::Permits,
}

/// Places in the user's code, for messages.
#[derive(Default)]
struct Place<'p> {
    /// Of the code being lowered.
    span: Span,
    /// The library's function that the program has called, whose body is evaluated.
    library_call: Option<&'p str>,
    /// The arguments of the array operation that is called, if they stand in the user's code.
    arguments: Vec<Span>,
    /// Of those, the two whose sizes are being equated.
    walked: Option<(Span, Span)>,
}

/// Facts about variables.
#[derive(Default)]
struct Facts {
    /// Sizes of something that exists: they are not negative.
    sizes: HashSet<Var>,
    /// Sizes known to be products, for `unflatten`.
    products: HashMap<Var, (Atom, Atom)>,
    /// Sizes known to be sums, for `split`.
    sums: HashMap<Var, (Atom, Atom)>,
    /// Numbers known to be another one and a constant.
    shifts: HashMap<Var, (Atom, i64)>,
    /// Of irregular array literals whose rows have known lengths: these, and where the rows stand.
    literal_rows: HashMap<Var, Vec<(i64, Span)>>,
    /// Products of floats whose rounding may be left out, with their factors.
    inexact: HashMap<Var, (Atom, Atom)>,
}

/// Sizes that parameters bind, while they are bound.
#[derive(Default)]
struct Binding {
    /// Of an entry point: which parameter bound a size name, and the present one.
    entry_sizes: Option<(HashMap<LocalId, String>, String)>,
    /// Sizes in the case that the argument that binds them has no rows.
    widths: HashMap<LocalId, Atom>,
}

/// Parts of the typed tree visited so far, and facts memoised for them, by address.
#[derive(Default)]
struct Visited {
    /// Definitions that were evaluated.
    reached: HashSet<DefId>,
    /// Bodies of local functions and lambdas that were called.
    called: HashSet<*const Expr>,
    /// Locals mentioned in a function's body.
    mentioned: HashMap<*const Expr, Rc<Vec<LocalId>>>,
    /// Layouts of sum types, by the identity of their constructors.
    layouts: RefCell<HashMap<usize, (Constructors, value::Shape)>>,
}

/// Lowers every entry point, and what they call. No program comes back if any diagnostic is worse than a warning; for
/// the definitions that are to be `complete`, also if no entry point reaches them.
pub fn lower(
    program: &Program,
    sources: &Sources,
    options: Options,
    complete: &dyn Fn(&Def) -> bool,
) -> (Option<core::Program>, Vec<Diagnostic>) {
    let mut lo = lowered(program, sources, options.clone(), complete, false);
    if lo.derivatives.of_tapes {
        lo = lowered(program, sources, options, complete, true);
    }
    let failed = lo.diagnostics.iter().any(|d| d.severity >= Severity::Unsupported);
    ((!failed).then_some(lo.out), lo.diagnostics)
}

/// The state after a program was lowered; with tapes that have derivatives, if they are `joined`.
fn lowered<'p>(
    program: &'p Program,
    sources: &'p Sources,
    options: Options,
    complete: &dyn Fn(&Def) -> bool,
    joined: bool,
) -> Lower<'p> {
    let mut lo = Lower {
        program,
        sources,
        options,
        out: core::Program::default(),
        diagnostics: Vec::new(),
        scope: build::Scope::default(),
        context: Context::default(),
        place: Place::default(),
        facts: Facts::default(),
        binding: Binding::default(),
        visited: Visited::default(),
        instances: recursion::Instances::default(),
        derivatives: derive::Derivatives::new(joined),
        shared: share::Shared::default(),
        hints: loops::Hints::default(),
    };
    for (i, def) in program.defs.iter().enumerate() {
        if def.entry {
            lo.entry(DefId(i as u32));
        }
    }
    lo.unreached(complete);
    if let Err(diag) = lo.finish_derivatives() {
        lo.diagnostics.push(*diag);
    }
    lo
}

/// Runs `f` with stack enough for what recurses between two calls of this function: programs may nest deeply. Not if the
/// compiler is to stop.
fn deep<T>(f: impl FnOnce() -> T) -> T {
    par_runtime::cancel::poll();
    stacker::maybe_grow(512 * 1024, 8 * 1024 * 1024, f)
}

impl<'p> Lower<'p> {
    /// Moves to the place of an expression, unless it is library code. Gives back the place before.
    fn enter(&mut self, span: Span) -> Span {
        let before = self.place.span;
        if !self.is_library(span) {
            self.place.span = span;
        }
        before
    }

    /// True if a place is in the standard library.
    fn is_library(&self, span: Span) -> bool {
        self.sources.files.get(span.file as usize).is_none_or(|f| f.is_library)
    }
}
