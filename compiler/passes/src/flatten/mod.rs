//! Flattening: CORE's nested parallel operators become bulk operations over flat arrays.
//!
//! ```text
//! map n (rp) (\ s -> reduce k (…) (+) 0 …)          -- CORE: a nest of two levels
//!
//! lens = kernel map  flat n        { … k }           -- FLAT: what is scalar at the outer level
//! d    = make_desc lens
//! out  = kernel reduce rows n seg d { … }            -- the inner level, one bulk operation
//! ```
//!
//! The unit of work is a *body under a map nest*. A nest is a chain of **levels** ([`nest`]); every level is a flat
//! space of positions. Flattening walks a body's statements in order:
//!
//! - scalar statements are collected in an open **group** ([`kernel`]), which becomes one kernel when something else needs
//!   its results;
//! - indexing a row, slicing, `iota`, `replicate` and the like cost nothing: a variable's representation
//!   ([`rep`]) is a symbolic index expression ([`ex`]) into some flat array, so no view is ever copied before something needs
//!   packed data ([`pack`]);
//! - every parallel construct has a lifting rule in a file of its own ([`soac`], [`construct`], [`update`], [`branch`], [`loops`], [`call`], [`trace`]);
//! - a call of a function that is scalar code through and through stays in the kernel ([`local`]);
//! - arms and iterations that update arrays do so where the rows are ([`in_place_whole`]);
//! - a loop that only updates elements of its state is one kernel whose positions work by themselves, in order ([`inplace`]); so is one with
//!   parallel operators inside, where there are many positions ([`positions`]).
//!
//! At the root level (a function's own body) scalars live on the host, and `if`, loops and calls are the host's.
//! A recursive function called under a nest gets a lifted form (`f^`), which works on all positions of a level at
//! once. Where memory is short, the outermost level of a nest is worked through in chunks ([`split`]). What follows on FLAT is in [`crate::flat`].

mod body;
mod branch;
mod by_position;
mod call;
mod canonical;
mod carried;
mod choices;
mod construct;
mod ex;
mod facts;
mod forwarded;
mod host;
mod inplace;

mod appended;
mod escape;
pub(crate) mod kernel;
mod lengths;
mod local;
mod loops;
mod nest;
mod pack;
mod positions;

mod compact;
mod in_place_whole;
mod invariant;
mod rep;
mod row_select;
mod sequential;
mod shapes;
mod soac;
mod sort;
mod split;
mod sums;
mod tape;
mod trace;
mod uniform;
mod update;
mod versions;
mod view;
mod windows;

pub use choices::{Choice, Measure, Target, Thresholds};
use ex::Ex;
use facts::Facts;
use host::{HostBuilder, Known, Scope};
use kernel::Group;
use nest::LevelId;
use par_ir::core::{self, FunId};
use par_ir::flat;
use par_ir::hash::{HashMap, HashSet};
use par_ir::{Atom, Span, Type, Var};
use shapes::Shapes;

use rep::Rep;
pub use split::Splitting;

/// A construct that has no lifting rule yet.
#[derive(Clone, Debug, PartialEq)]
pub struct Unsupported {
    /// Its name.
    pub feature: String,
    /// Source place of its use.
    pub span: Span,
}

/// True if a program shows values while it runs.
pub fn shows(program: &core::Program) -> bool {
    program.funs.iter().any(|f| split::traces(&f.body))
}

pub(crate) type Result<T = ()> = std::result::Result<T, Unsupported>;

/// Policy of choosing between the flat and the sequential version of a computation that has both.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Versions {
    /// Choose by sizes at run time.
    #[default]
    Auto,
    /// Always the flat version.
    Flat,
    /// The sequential version wherever there is one.
    Sequential,
}

/// A flattened program.
#[derive(Clone, PartialEq, Debug)]
pub struct Flattened {
    /// The program, as flattening leaves it: most passes over FLAT have still to be made.
    pub program: flat::Program,
    /// Choices between versions by sizes.
    pub choices: Vec<Choice>,
}

/// Options of flattening.
#[derive(Clone, Copy, Default)]
pub struct Options<'o> {
    /// Machine that it is for.
    pub target: Target,
    /// Policy of choosing between versions.
    pub versions: Versions,
    /// Measured thresholds of choices between versions that are both there.
    pub thresholds: Option<&'o dyn Fn(Choice) -> Option<i64>>,
    /// Splitting of nests into chunks.
    pub splitting: Splitting,
}

/// Flattens a whole program. The program must have passed the CORE verifier.
pub fn flatten(program: &core::Program, options: &Options) -> Result<Flattened> {
    let facts = Facts::new(program, *options);
    let mut f = Flattener::new(&facts);
    for (i, fun) in program.funs.iter().enumerate() {
        if fun.entry.is_some() {
            f.instance(FunId(i as u32), false);
        }
    }
    while let Some((fun, lifted)) = f.queue.pop() {
        f.function(fun, lifted)?;
    }
    let locals = f.local_functions()?;
    let funs = f.funs.into_iter().map(|fun| fun.expect("every requested function was flattened")).collect();
    let choices = f.choices.into_iter().collect();
    Ok(Flattened {
        program: flat::Program { funs, locals, vars: f.builder.vars, places: f.builder.places },
        choices,
    })
}

/// Facts about the CORE variables of a function while one form of it is flattened, which need not hold in the other one.
#[derive(Default)]
struct Own {
    /// Representations of arrays that are the same for all positions once their rows are stored.
    outside: HashMap<Var, rep::Arr>,
    /// Of what CORE variables are parts, if that is the same for all positions and not stored as it is.
    part_of: HashMap<Var, (Var, invariant::Part)>,
    /// CORE variables that are ranges or copies of a row made outside all nests, and in how many host blocks.
    made_for_all: HashMap<Var, usize>,
    /// Parameters and results of loops and branches that are kept in place, see [`in_place_whole`]: how, and for which level.
    layouts: HashMap<Var, (rep::Arr, LevelId)>,
    /// Results of loops whose version is chosen.
    decided: HashSet<Var>,
    /// Loops around with two versions, of which the flat one is being made.
    choices: usize,
    /// Parameters of loops that are passed as views.
    views: HashSet<Var>,
    /// Numbers of loops that are the same at all positions of an iteration.
    uniform: HashSet<Var>,
    /// State that is changed: the versions here.
    carried: carried::Versions,
    /// The layouts of accumulators that begin here.
    sums: HashMap<Var, rep::Arr>,
}

/// The state of flattening one program.
pub(crate) struct Flattener<'a> {
    facts: &'a Facts<'a>,
    funs: Vec<Option<flat::Fun>>,
    instances: HashMap<(FunId, bool), FunId>,
    /// Functions that kernels call.
    locals: local::Locals,
    /// Choices that the program has.
    choices: std::collections::BTreeSet<Choice>,
    queue: Vec<(FunId, bool)>,
    shapes: Shapes,
    builder: HostBuilder,
    env: HashMap<Var, Rep>,
    types: HashMap<Var, Type>,
    /// The function being flattened.
    function: FunId,
    own: Own,
    /// Loop scope depth: host blocks around the iterations of the innermost loop, or around the function's body.
    loop_scope: usize,
    group: Option<Group>,
    /// Rows taken since the group was opened: where they start is known only behind the checks in it.
    fresh_rows: HashSet<Var>,
}

impl<'a> Flattener<'a> {
    fn new(facts: &'a Facts<'a>) -> Flattener<'a> {
        let mut vars = facts.source.vars.clone();
        let locals = local::Locals::new(facts.source, &mut vars);
        Flattener {
            facts,
            funs: Vec::new(),
            instances: HashMap::default(),
            locals,
            choices: std::collections::BTreeSet::new(),
            queue: Vec::new(),
            shapes: Shapes::new(),
            builder: HostBuilder::new(vars),
            env: HashMap::default(),
            types: HashMap::default(),
            function: FunId(0),
            own: Own::default(),
            loop_scope: 0,
            group: None,
            fresh_rows: HashSet::default(),
        }
    }

    /// The FLAT function for a CORE function, plain or lifted; queued for flattening when first asked for.
    fn instance(&mut self, fun: FunId, lifted: bool) -> FunId {
        if let Some(id) = self.instances.get(&(fun, lifted)) {
            return *id;
        }
        let id = FunId(self.funs.len() as u32);
        self.funs.push(None);
        self.instances.insert((fun, lifted), id);
        self.queue.push((fun, lifted));
        id
    }

    fn unsupported<T>(&self, feature: impl Into<String>) -> Result<T> {
        Err(Unsupported { feature: feature.into(), span: self.builder.span })
    }

    /// Builds a nested host block.
    fn block(&mut self, build: impl FnOnce(&mut Self) -> Result<Vec<Atom>>) -> Result<flat::Block> {
        let mut results = Vec::new();
        let scope = self.open_block(|f| {
            results = build(f)?;
            Ok(())
        })?;
        Ok(flat::Block { stms: scope.stms, results })
    }

    /// Begins a nested host block; [`Self::close_block`] ends it.
    fn open_block(&mut self, build: impl FnOnce(&mut Self) -> Result) -> Result<Scope> {
        debug_assert!(self.group.is_none(), "no kernel stays open across host blocks");
        self.builder.scopes.push(Scope::default());
        let done = build(self);
        let scope = self.builder.scopes.pop().expect("pushed above");
        done.map(|()| scope)
    }

    fn close_block(&mut self, scope: Scope, build: impl FnOnce(&mut Self) -> Vec<Atom>) -> flat::Block {
        self.builder.scopes.push(scope);
        let results = build(self);
        let scope = self.builder.scopes.pop().expect("pushed above");
        flat::Block { stms: scope.stms, results }
    }

    /// Emits statements in the outermost of the open host blocks in which these variables are bound, so that a loop inside does not repeat
    /// them.
    fn where_bound<T>(&mut self, vars: &[Var], build: impl FnOnce(&mut Self) -> T) -> T {
        let here = self.builder.scopes.len();
        let depth = |v: &Var| self.builder.bound_in.get(v).copied().unwrap_or(here);
        let inner =
            self.builder.scopes.split_off(vars.iter().map(depth).max().unwrap_or(here).clamp(1, here));
        let before = self.builder.scopes.last().map_or(0, |s| s.stms.len());
        let built = build(self);
        if !inner.is_empty() {
            self.builder.guard_sizes(before);
        }
        self.builder.scopes.extend(inner);
        built
    }
}
