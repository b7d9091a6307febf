//! FLAT: a host program of bulk operations over flat arrays.
//!
//! FLAT, the result of flattening: statements that run on the host, one after the other, over host scalars, flat
//! (rank-1) device arrays and descriptors; and [`Kernel`]s: bulk operations over a *space*, each with one fused scalar
//! body. All shapes have become index arithmetic in the bodies; parallelism exists in kernels only.
//!
//! **Types**: [`Ty::Scalar`] lives on the host. [`Ty::Array`] is a flat device array; its length is a run-time fact.
//! [`Ty::Desc`] is a descriptor: `offsets : [rows+1]i64`, `offsets[0] = 0`; its lengths and segment ids are lazy.
//! [`Ty::Rope`] is a rope, several flat arrays that are read as one: every array has an **origin** in one index space, the same wherever
//! it goes, and element `i` of it has index `origin + i` in all ropes that hold it. So the rows of a rope are told by where they
//! start, and nothing is copied. No index is inside that is not an element of one of the arrays; in particular 0 is not. The start
//! of a row that is one element again and again has [`par_runtime::rope::MARK`] added, which is above all indices: what takes
//! starts ([`Op::Compact`], [`Op::Collect`]) knows it, kernels take it off before they read.
//!
//! **Spaces** have one dimension or more, outermost first. A dimension has a size (`Size`), or a length for every position of the
//! dimensions before it (`Seg`). A kernel's body may use the index inside each dimension, `pos`, which numbers all positions in
//! lexicographic order, and `row`, which numbers those of all dimensions but the innermost (all are `i64`).
//!
//! **Kernel bodies** are scalar CORE bodies: `Atom`, `Prim`, `Check`, `If`, `Loop` and `Index` of a flat array with one index.
//! They may mention host scalars and arrays bound before the kernel. They allocate nothing. Arrays that the kernel *owns*
//! ([`Out::Own`]) are changed by `Update`s of one element, and are parameters of loops and results of branches; all versions are
//! one buffer, so that only the latest may be used ([`crate::inplace`]).
//!
//! Recursion without parallelism stays inside a kernel: a body may `Call` the program's *local* functions. Calls nest as
//! deep as the memory for them allows; beyond it they fail like a check. Arrays that a function updates are its last parameters, and the first results
//! of its calls; they stay where they are.
//!
//! A scan may make something of its prefixes at once ([`After`]): code that sees them and everything the body has bound at the same
//! position, whose results go where those of a map go. So what is done with a prefix needs no pass of its own.
//!
//! **Checks**: a failing kernel check reports the smallest failing position; nothing after that kernel runs.
//!
//! **Updates**: `Scatter` and `Own` outputs, `Hist` and `Write` give a new array; at run time they reuse the destination's buffer if
//! nobody else holds it.

use crate::core::{Body, Entry, FunId, Lambda};
use crate::place::{PlaceId, Places};
use crate::prim::PrimOp;
use crate::stack::deeper;
use crate::ty::{Atom, Dim, Var, Vars};
use crate::visit::Code;
use par_runtime::{CheckKind, Prim, Span, ValueType};

/// A whole program.
#[derive(Clone, Debug, Default, PartialEq)]
#[allow(missing_docs)]
pub struct Program {
    pub funs: Vec<Fun>,
    /// Functions that kernels call: scalar code over scalars and flat arrays ([`crate::ty::Type::flat_array`]) with scalar results,
    /// before which come the versions of its last parameters, if it updates them. `Call`s in kernels and in these refer to this list.
    pub locals: Vec<crate::core::Fun>,
    pub vars: Vars,
    /// Source places of the statements; not printed.
    pub places: Places,
}

/// The choice between two versions of one computation that a branch of the host makes, with the numbers in its condition.
/// The description of each is that of the arm `then`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum VersionChoice {
    /// Each call of a batch by itself, if there are at least so many; otherwise all at once.
    Calls {
        /// Calls.
        least: i64,
    },
    /// Each row of a nest by itself, if there are at least so many and none is too long; otherwise all at once.
    Rows {
        /// Rows.
        least: i64,
        /// Elements of the longest row at most; none if their length is no matter.
        longest: Option<i64>,
    },
    /// Each position of a loop by itself, if there are at least so many with small arrays; otherwise all at once.
    Positions {
        /// Positions.
        least: i64,
        /// Operators in a launch, on average, up to which it is the same for fewer positions.
        most: Option<i64>,
    },
    /// A loop as one kernel, if what it launches does so little on average; otherwise one kernel after the other.
    Iterations {
        /// Operators in a launch, at most.
        most: i64,
    },
    /// Over rows with a descriptor, if their starts grow and they are long enough; otherwise over elements as written.
    Segments {
        /// Elements of a row on average, at least.
        mean: i64,
    },
    /// Nothing more than the reductions of one block of rows, if that is all; otherwise those of several are combined.
    Columns {
        /// Rows of a block at most.
        block: i64,
    },
    /// With the dimensions of a map interchanged, if there are so many rows; otherwise in their order.
    Dimensions {
        /// Rows.
        least: i64,
    },
    /// Prefixes of each column by itself, if there are few; otherwise of strips of columns, row after row.
    Prefixes {
        /// Columns at most.
        most: i64,
    },
    /// Prefixes of columns where they are, on threads that are fast; otherwise of columns as rows.
    ColumnPrefixes,
    /// Without checks of indices, if the sizes say that all are inside; otherwise with them.
    Inside,
    /// Waves over a matrix row after row, on one thread, if elements of a wave are far from each other; otherwise one wave after the other.
    Waves,
    /// The branch finds out a part of the condition of another choice.
    Condition,
}

impl VersionChoice {
    /// The name and numbers, as FLAT is printed.
    pub fn parts(self) -> (&'static str, Vec<i64>) {
        match self {
            VersionChoice::Calls { least } => ("calls", vec![least]),
            VersionChoice::Rows { least, longest } => {
                ("rows", std::iter::once(least).chain(longest).collect())
            }
            VersionChoice::Positions { least, most } => {
                ("positions", std::iter::once(least).chain(most).collect())
            }
            VersionChoice::Iterations { most } => ("iterations", vec![most]),
            VersionChoice::Segments { mean } => ("segments", vec![mean]),
            VersionChoice::Columns { block } => ("columns", vec![block]),
            VersionChoice::Dimensions { least } => ("dimensions", vec![least]),
            VersionChoice::Prefixes { most } => ("prefixes", vec![most]),
            VersionChoice::ColumnPrefixes => ("column_prefixes", vec![]),
            VersionChoice::Inside => ("inside", vec![]),
            VersionChoice::Waves => ("waves", vec![]),
            VersionChoice::Condition => ("condition", vec![]),
        }
    }

    /// The choice with this name and these numbers.
    pub fn from_parts(name: &str, numbers: &[i64]) -> Option<VersionChoice> {
        Some(match (name, numbers) {
            ("calls", &[least]) => VersionChoice::Calls { least },
            ("rows", &[least]) => VersionChoice::Rows { least, longest: None },
            ("rows", &[least, longest]) => VersionChoice::Rows { least, longest: Some(longest) },
            ("positions", &[least]) => VersionChoice::Positions { least, most: None },
            ("positions", &[least, most]) => VersionChoice::Positions { least, most: Some(most) },
            ("iterations", &[most]) => VersionChoice::Iterations { most },
            ("segments", &[mean]) => VersionChoice::Segments { mean },
            ("columns", &[block]) => VersionChoice::Columns { block },
            ("dimensions", &[least]) => VersionChoice::Dimensions { least },
            ("prefixes", &[most]) => VersionChoice::Prefixes { most },
            ("column_prefixes", &[]) => VersionChoice::ColumnPrefixes,
            ("inside", &[]) => VersionChoice::Inside,
            ("waves", &[]) => VersionChoice::Waves,
            ("condition", &[]) => VersionChoice::Condition,
            _ => return None,
        })
    }
}

/// A type of FLAT.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Ty {
    /// Host scalar.
    Scalar(Prim),
    /// Flat device array.
    Array(Prim),
    /// Flat device arrays that are read as one.
    Rope(Prim),
    /// Descriptor.
    Desc,
}

/// A variable with its type.
#[derive(Clone, Copy, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct Param {
    pub var: Var,
    pub ty: Ty,
}

/// A host function: an entry point, a recursive function, or the lifted form of one (name ends in `^`).
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct Fun {
    pub name: String,
    pub entry: Option<Entry>,
    pub params: Vec<Param>,
    pub ret: Vec<Ty>,
    pub body: Block,
    pub span: Span,
}

/// Statements, then results.
#[derive(Debug, PartialEq, Default)]
#[allow(missing_docs)]
pub struct Block {
    pub stms: Vec<Stm>,
    pub results: Vec<Atom>,
}

/// By hand, since blocks nest deeply.
impl Clone for Block {
    fn clone(&self) -> Block {
        deeper(|| Block { stms: self.stms.clone(), results: self.results.clone() })
    }
}

/// `let pat = op`.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct Stm {
    pub pat: Vec<Param>,
    pub op: Op,
    pub span: Span,
    /// The constructs that it comes from, in the program's table.
    pub place: PlaceId,
}

/// Operation of a host statement.
#[derive(Clone, Debug, PartialEq)]
pub enum Op {
    /// The operand itself (any type); arrays are shared.
    Atom(Atom),
    /// A scalar operator on the host.
    Prim(PrimOp, Vec<Atom>),
    /// Fails unless the host bool holds.
    Check {
        /// Must be true.
        cond: Atom,
        /// Kind of the check.
        kind: CheckKind,
        /// Values for the message.
        args: Vec<Atom>,
    },
    /// Shows a value, given in the columns of its type.
    Trace {
        /// Its source place, and its tag.
        label: String,
        /// The type of what is shown.
        ty: ValueType,
        /// Its columns.
        args: Vec<Atom>,
    },
    /// A bulk operation.
    Kernel(Box<Kernel>),
    /// The descriptor with these row lengths: an exclusive scan with its total. One below 0 counts as 0: a check fails before
    /// anything is done with its rows.
    MakeDesc(Var),
    /// The descriptor of `rows` rows of length `m` each.
    UniformDesc {
        /// Rows.
        rows: Atom,
        /// Length of each.
        m: Atom,
    },
    /// A descriptor's `rows + 1` offsets as an `i64` array. Free.
    Offsets(Var),
    /// A descriptor's lengths as an `i64` array of `rows`. Made once per descriptor.
    Lengths(Var),
    /// For every position below the total, its row: an `i64` array. Made once per descriptor.
    SegIds(Var),
    /// A descriptor's last offset: a sync.
    Total(Var),
    /// A descriptor's number of rows. Free.
    Rows(Var),
    /// Number of elements of an array. Free.
    Length(Var),
    /// Element of an array on the host: a sync. The index is inside.
    Read(Var, Atom),
    /// The array with one element replaced. The index is inside.
    Write {
        /// Array.
        arr: Var,
        /// Index.
        index: Atom,
        /// New element.
        value: Atom,
    },
    /// `0..n` as `i64`.
    Iota(Atom),
    /// `n` copies of a host scalar.
    Replicate(Atom, Atom),
    /// The given scalars as an array.
    Literal(Vec<Atom>, Prim),
    /// `len` elements from `start`; inside the array. A copy.
    Slice {
        /// Array.
        arr: Var,
        /// First element.
        start: Atom,
        /// Number of elements.
        len: Atom,
    },
    /// Arrays one after the other. Appending to an unshared first array costs only what is appended (amortised).
    Concat(Vec<Var>),
    /// Descriptors one after the other (lengths concatenated).
    ConcatDesc(Vec<Var>),
    /// A rope of all these arrays and ropes. Binds it, and for each operand what is to be added to its
    /// indices: the origin of an array, 0 for ropes. Nothing is copied.
    Append(Vec<Var>),
    /// Frees arrays that no row is in, and copies rows out of those of which less than half is used, but not out of those in `kept`.
    /// Binds the rope and where the rows start now.
    Compact {
        /// The rope.
        rope: Var,
        /// `i64`s: where each row starts. An empty row starts anywhere.
        starts: Var,
        /// `i64`s: how long it is.
        lens: Var,
        /// A rope that is held anyway.
        kept: Option<Var>,
    },
    /// Binds the rope and a host bool: has the rope grown so much since its last collection that another one pays? With `base`: has it more
    /// than a little that is not in that rope?
    NeedsCollection {
        /// The rope.
        rope: Var,
        /// A rope that is kept anyway.
        base: Option<Var>,
    },
    /// Frees arrays in which no row starts; where rows start is in `starts`, which is a rope too. Binds the
    /// rope, and whether it still has more than twice `weight` elements.
    Collect {
        /// The rope.
        rope: Var,
        /// A rope of `i64`s.
        starts: Var,
        /// Estimated number of elements that are needed.
        weight: Atom,
    },
    /// Every row's numbers in ascending order, every NaN behind all others. Binds them, and what came with each, in that order; equal numbers
    /// of a row, which both zeros are, keep their order.
    Sort {
        /// The rows.
        space: Space,
        /// Scalars.
        keys: Var,
        /// As many scalars.
        values: Option<Var>,
    },
    /// Only one arm runs.
    If {
        /// Host bool.
        cond: Atom,
        /// Set if the arms are versions of one computation, or if `cond` of such a branch is found out here.
        versions: Option<VersionChoice>,
        /// If true.
        then: Block,
        /// If false.
        other: Block,
    },
    /// A host loop. Binds the final parameters.
    Loop {
        /// State and its initial values.
        params: Vec<(Param, Atom)>,
        /// Counter and bound, or condition.
        form: LoopForm,
        /// One iteration: the next values.
        body: Block,
    },
    /// Runs the body on chunks of `0..rows`, from the first row to the last, and binds what they give one after the other: arrays,
    /// descriptors, and ropes, whose indices stay the same. How many rows a chunk has does not matter to the result; it is `most`,
    /// or less where memory is short.
    Split {
        /// Number of rows.
        rows: Atom,
        /// Of these in a chunk at most.
        most: u64,
        /// Bound in the body: first row of the chunk, an `i64`.
        first: Var,
        /// Bound in the body: its number of rows, an `i64`.
        count: Var,
        /// Work on a chunk.
        body: Block,
    },
    /// A call.
    Call(FunId, Vec<Atom>),
}

/// Form of a host loop: counted, or with a condition.
#[derive(Clone, Debug, PartialEq)]
pub enum LoopForm {
    /// `for index < bound`, of integer type `prim`.
    For {
        /// Bound in the body.
        index: Var,
        /// Type of index and bound.
        prim: Prim,
        /// Exclusive bound.
        bound: Atom,
    },
    /// While the block's single bool, computed from the parameters, is true.
    While(Block),
}

/// The iteration space of a kernel: its dimensions, outermost first. There is at least one, and the first is a size on the host;
/// a descriptor has as many rows as the dimensions before it have positions.
#[derive(Clone, Debug, PartialEq)]
pub struct Space(pub Vec<Dim>);

impl Space {
    /// `n` positions in one row.
    pub fn flat(n: Atom) -> Space {
        Space(vec![Dim::Size(n)])
    }

    /// So many rows, of this length each.
    pub fn rows(rows: Atom, dim: Dim) -> Space {
        Space(vec![Dim::Size(rows), dim])
    }

    /// The size of a space of one dimension.
    pub fn as_flat(&self) -> Option<Atom> {
        if let [Dim::Size(n)] = self.0[..] { Some(n) } else { None }
    }

    /// Number and length of the rows of a space of two dimensions.
    pub fn as_rows(&self) -> Option<(Atom, Dim)> {
        if let [Dim::Size(rows), dim] = self.0[..] { Some((rows, dim)) } else { None }
    }

    /// The innermost dimension.
    pub fn innermost(&self) -> Dim {
        *self.0.last().expect("a space has a dimension")
    }

    /// True if there are rows of different lengths.
    pub fn is_ragged(&self) -> bool {
        self.0.iter().any(|d| matches!(d, Dim::Seg(_)))
    }
}

/// A bulk operation with its fused scalar body, which computes `body.results` at every position of the space.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct Kernel {
    pub kind: KernelKind,
    pub space: Space,
    /// Bound in the body: the index inside each dimension. In a space of one dimension it is `pos`; in one of two the first is `row`.
    pub index: Vec<Var>,
    /// Bound in the body: number of the row (0 in a flat space). `i64`.
    pub row: Var,
    /// Bound in the body: number of the position in the whole space. `i64`.
    pub pos: Var,
    /// Evaluated once per row, before its elements, also for an empty row: `Prim` and `Index` statements that depend on `row`, the indices
    /// of the outer dimensions and host variables, not on `pos`. Their variables are visible in the body. They cannot fail.
    pub prologue: Vec<crate::core::Stm>,
    pub body: Body,
}

impl Kernel {
    /// The variables that space and position bind, each once: `row`, `pos`, then the indices that are neither.
    pub fn binders(&self) -> Vec<Var> {
        let indices = self.index.iter().filter(|v| **v != self.row && **v != self.pos);
        [self.row, self.pos].into_iter().chain(indices.copied()).collect()
    }

    /// The index inside the innermost dimension.
    pub fn innermost(&self) -> Var {
        *self.index.last().expect("a space has a dimension")
    }

    /// The names of this kernel's position for those of another one over the same space.
    pub fn position_of(&self, other: &Kernel) -> crate::visit::Subst {
        let (of, with) = (other.binders(), self.binders());
        of.into_iter().zip(with.into_iter().map(Atom::Var)).collect()
    }

    /// The binders that say where in the rows of the space a position is, without `pos`.
    pub fn row_binders(&self) -> Vec<Var> {
        self.binders().into_iter().filter(|v| *v != self.pos).collect()
    }

    /// True if code depends on the rows of the space, not on `pos` only.
    pub fn uses_rows(&self) -> bool {
        let used = |v: Var| self.bodies().iter().any(|b| b.mentions(v));
        !self.prologue.is_empty() || self.row_binders().into_iter().any(used)
    }
}

/// Uses of the results of a kernel's body.
#[derive(Clone, Debug, PartialEq)]
pub enum KernelKind {
    /// Results are consumed by the outputs in order; the statement binds one array per output array.
    Map(Vec<Out>),
    /// The first `k` results are combined along each row; binds `k` arrays with one element per row (neutral for
    /// an empty one). Further results are stored as by `Out::Elem`, bound after.
    Reduce {
        /// `2k` parameters, `k` results.
        op: Lambda,
        /// Neutral elements.
        neutral: Vec<Atom>,
    },
    /// As `Reduce`, but stores all prefixes of each row: binds `k` arrays over the space, then the further results.
    Scan {
        /// `2k` parameters, `k` results.
        op: Lambda,
        /// Neutral elements.
        neutral: Vec<Atom>,
        /// Element `i` excludes input `i`.
        exclusive: bool,
        /// Outputs stored instead of the prefixes; then the body has no further results, and the statement binds what the outputs
        /// are, as for a map.
        after: Option<Box<After>>,
    },
    /// The first result says whether the others are kept. Binds the number kept (host `i64`: a sync), the number
    /// kept in each row (an `i64` array), and one array per kept value.
    Filter,
    /// The first result is an index into the destinations, the others are combined into them: `d[i] = op d[i] v`;
    /// ignored if outside. Binds the new arrays.
    Hist {
        /// Destinations, equally long.
        dests: Vec<Var>,
        /// `2k` parameters, `k` results; associative and commutative.
        op: Lambda,
        /// Neutral elements.
        neutral: Vec<Atom>,
    },
}

/// Use of a scan's prefixes, position by position.
#[derive(Clone, Debug, PartialEq)]
pub struct After {
    /// One for each of the `k` prefixes.
    pub params: Vec<crate::core::Param>,
    /// Scalar code from the prefixes at a position to what the outputs consume. It may mention what the kernel's body binds outside
    /// its branches and loops, row and position.
    pub body: Body,
    /// `Elem` and `Scatter` only.
    pub outs: Vec<Out>,
}

/// One output of a map kernel.
#[derive(Clone, Debug, PartialEq)]
pub enum Out {
    /// One result, stored at `pos` of a fresh array over the space, whose element type this is.
    Elem(Prim),
    /// So many results, stored one after the other from `pos` times their number on in a fresh array as many times as large as the
    /// space, whose element type this is. At least one.
    Row(Prim, usize),
    /// An `i64` index, then one result per destination, written there if inside; binds the new arrays.
    Scatter(Vec<Var>),
    /// A destination that the body reads and updates as `state`, an array as long as it; the result is its last version.
    /// Binds the new array. What one position writes, no other may touch.
    Own {
        /// The array before.
        dest: Var,
        /// Bound in the body: its first version.
        state: crate::core::Param,
    },
}

impl Out {
    /// Number of results that it consumes.
    pub fn results(&self) -> usize {
        match self {
            Out::Elem(_) | Out::Own { .. } => 1,
            Out::Row(_, n) => *n,
            Out::Scatter(dests) => 1 + dests.len(),
        }
    }

    /// Number of arrays that it binds.
    pub fn arrays(&self) -> usize {
        if let Out::Scatter(dests) = self { dests.len() } else { 1 }
    }
}
