//! Sizes: every definition is checked where it is written, for all sizes.
//!
//! Inference knows ranks and element types. This phase walks the typed tree once more, with sizes in the types: numbers, names,
//! expressions, sizes to be found, unknown ones.
//!
//! ```text
//! def f [n] (xs: [n]i64) : [n + 1]i64 = xs                                  E0401  never equal
//! def f [n] [m] (xs: [n]i64) (ys: [m]i64) = zip xs ys                       W0401  nothing says that n is m
//! def f [n] (p: i64 -> bool) (xs: [n]i64) = zip xs (filter p xs)            W0402  known only when the program runs
//! def f [n] [m] (xs: [n * m]i64) : [n][m]i64 = unflatten xs                 unflatten at its sizes n and m
//! ```
//!
//! An unknown size is no error: lowering, which knows exact shapes, compares it or has it compared when the program runs. Lengths
//! of rows may be anything. Sizes that only the surroundings of a function's use say are handed to lowering ([`handover`]).
//!
//! A size is a polynomial ([`term`]); types with sizes are in [`types`]; [`solve`] finds sizes; [`flow`] compares types; the rest
//! is the walk.

mod apply;
mod bind;
mod declare;
mod expr;
mod flow;
mod functions;
mod handover;
mod loops;
mod report;
mod settle;
mod solve;
mod term;
mod types;
mod unknowns;

pub(crate) use declare::says;

use crate::consume::deep;
use crate::thir::{Def, DefId, Expr, LocalId, Program};
use expr::Typed;
use handover::Found;
use par_ir::hash::{HashMap, HashSet};
use par_runtime::Span;
use par_syntax::{Diagnostic, Sources};
use solve::Equation;
use std::rc::Rc;
use term::Term;
use types::Scheme;
use unknowns::{Meta, Opaque};

/// State of the analysis of a definition.
enum State {
    Open,
    /// Its body is being looked at.
    Walked,
    Done(Rc<Scheme>),
}

/// A local name.
#[derive(Clone)]
enum Bound {
    Value(Typed),
    Function(Rc<Scheme>),
}

/// The state of the phase.
struct Check<'p> {
    program: &'p Program,
    sources: &'p Sources,
    /// The files of the standard library.
    library: HashSet<u32>,
    /// The library's `length`.
    length: Option<DefId>,
    states: Vec<State>,
    walked: Vec<bool>,
    /// Definitions that are numbers.
    constants: HashMap<DefId, i64>,
    bindings: Bindings,
    level: u32,
    terms: Terms<'p>,
    equations: Equations<'p>,
    found: Found,
    silent: bool,
    /// The name of the definition that is looked at, for what has no place of its own.
    here: Span,
    diagnostics: Vec<Diagnostic>,
}

/// Names that are bound in definitions.
#[derive(Default)]
struct Bindings {
    locals: HashMap<LocalId, Bound>,
    /// Known values of integers.
    values: HashMap<LocalId, Term>,
    /// Nesting depth of functions at which names are bound.
    levels: HashMap<LocalId, u32>,
    /// Sizes of arrays: not negative.
    size_params: HashSet<LocalId>,
    /// Parameters whose size a name is.
    places: HashMap<LocalId, Span>,
}

/// Size terms other than names.
struct Terms<'p> {
    metas: Vec<Meta>,
    opaques: Vec<Opaque<'p>>,
    computations: HashMap<(String, Vec<Term>), u32>,
    /// Unknown sizes of results so far.
    exists: u32,
}

/// Unsolved equations.
#[derive(Default)]
struct Equations<'p> {
    deferred: Vec<Equation>,
    /// Sizes of values and of what they are coerced to.
    soft: Vec<Equation>,
    /// Sizes to be found that something flows into.
    joins: Vec<u32>,
    /// Uses of functions whose sizes their surroundings say.
    uses: Vec<(&'p Expr, Vec<(LocalId, Term)>)>,
}

/// Checks the sizes of a program that has types, and puts what was found into it. Nothing is known of definitions that stand for a
/// value (`is_value`) but their types.
pub fn check(program: &mut Program, sources: &Sources, is_value: &dyn Fn(&Def) -> bool) -> Vec<Diagnostic> {
    let mut cx = Check {
        program,
        sources,
        library: program.defs.iter().filter(|d| d.library).map(|d| d.span.file).collect(),
        length: handover::length(program),
        states: program.defs.iter().map(|_| State::Open).collect(),
        walked: vec![false; program.defs.len()],
        constants: HashMap::default(),
        bindings: Bindings::default(),
        level: 0,
        terms: Terms {
            metas: Vec::new(),
            opaques: Vec::new(),
            computations: HashMap::default(),
            exists: program.locals.len() as u32,
        },
        equations: Equations::default(),
        found: Found::default(),
        silent: false,
        here: Span::default(),
        diagnostics: Vec::new(),
    };
    for (i, def) in program.defs.iter().enumerate() {
        if !def.library && !def.intrinsic && !is_value(def) {
            cx.definition(DefId(i as u32));
        }
    }
    let Check { found, mut diagnostics, .. } = cx;
    diagnostics.sort_by_key(|d| d.labels[0].span);
    handover::put(program, found);
    diagnostics
}
