//! The plan: a FLAT program made ready to run. Variables are slots of their function's frame, kernels are functions by their
//! number with a description of what they read and write, and every operand says whether it is the last use of its
//! slot, so that values move out of the frame as early as possible and an update finds its array unshared.
//!
//! A plan is nothing but data, and can be stored. The functions that it numbers are in [`Code`].
//!
//! Plans are made by the code generator, which guarantees: slots are below [`Function::slots`], operands have the types
//! that the operation needs, a slot is not read after its last use, and kernel code follows [`KernelFn`]'s contract.

mod contraction;
mod reach;

use crate::check::{CheckKind, Span};
use crate::op::PrimOp;
use crate::prim::{Prim, Scalar};
use crate::value::{ColumnType, ValueType};
use serde::{Deserialize, Serialize};
use std::any::Any;
use std::fmt;

pub use contraction::{Combine, Contraction, Factor, Pair, Products, Sum};
pub use reach::{ForRanks, Inspector, Per, Reach, Stretch};

/// Index of a variable in its function's frame.
pub type Slot = u32;

/// A whole program, whose kernels are `K`: those of the CPU, or of another device.
#[derive(Serialize, Deserialize)]
pub struct Plan<K = Kernel> {
    /// Host functions; calls refer to them by index.
    pub functions: Vec<Function<K>>,
    /// Number of their statements; the numbers of statements are below it.
    pub sites: usize,
}

impl<K> Plan<K> {
    /// The kernels that a call of a function may run.
    pub fn kernels(&self, fun: usize) -> Vec<&K> {
        let (mut found, mut called) = (Vec::new(), vec![fun]);
        let mut next = 0;
        while let Some(function) = called.get(next).map(|f| &self.functions[*f]) {
            next += 1;
            function.body.each(&mut |op| match op {
                Op::Kernel(kernel) => found.push(&**kernel),
                Op::Call(callee, _) if !called.contains(callee) => called.push(*callee),
                _ => {}
            });
        }
        found
    }
}

impl<K> Plan<K> {
    /// True if it has work in chunks.
    pub fn is_split(&self) -> bool {
        let mut split = false;
        self.functions.iter().for_each(|f| f.body.each(&mut |op| split |= matches!(op, Op::Split(_))));
        split
    }
}

/// Machine code of a plan's kernels.
pub struct Code {
    /// By their numbers.
    pub functions: Vec<KernelFn>,
    /// Owner of the functions' memory.
    pub owner: Box<dyn Any + Send + Sync>,
}

impl fmt::Debug for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} functions", self.functions.len())
    }
}

/// Number of a function of [`Code`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct CodeId(pub u32);

impl<K> Plan<K> {
    /// The index of the entry point of that name.
    pub fn entry(&self, name: &str) -> Option<usize> {
        self.functions.iter().position(|f| f.is_entry && f.name == name)
    }
}

/// Kind of a host variable.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Kind {
    /// A scalar.
    Scalar(Prim),
    /// A flat array.
    Array(Prim),
    /// Arrays that are read as one.
    Rope(Prim),
    /// A descriptor.
    Desc,
}

/// A host function.
#[derive(Serialize, Deserialize)]
pub struct Function<K = Kernel> {
    /// Its name in the program.
    pub name: String,
    /// True if it is an entry point.
    pub is_entry: bool,
    /// Slots and kinds of the arguments.
    pub params: Vec<(Slot, Kind)>,
    /// Kinds of the results.
    pub ret: Vec<Kind>,
    /// For an entry point: the columns of its result.
    pub ret_columns: Option<Vec<ColumnType>>,
    /// Size of the frame.
    pub slots: usize,
    /// Its body.
    pub body: Block<K>,
    /// Source place of its definition.
    pub span: Span,
}

/// Statements, then results.
#[derive(Serialize, Deserialize)]
pub struct Block<K = Kernel> {
    /// Slots that hold a value no statement of this block (but another branch or iteration) uses.
    pub drop_first: Vec<Slot>,
    /// In order.
    pub stms: Vec<Stm<K>>,
    /// Values of the block.
    pub results: Vec<Operand>,
}

impl<K> Block<K> {
    /// Calls `visit` with every operation in it, those inside of others too.
    fn each<'a>(&'a self, visit: &mut impl FnMut(&'a Op<K>)) {
        self.each_statement(&mut |stm| visit(&stm.op));
    }

    /// The same with statements.
    pub fn each_statement<'a>(&'a self, visit: &mut impl FnMut(&'a Stm<K>)) {
        for stm in &self.stms {
            visit(stm);
            match &stm.op {
                Op::If { then, other, .. } => [then, other].iter().for_each(|b| b.each_statement(visit)),
                Op::Loop(l) => {
                    if let LoopForm::While(condition) = &l.form {
                        condition.each_statement(visit);
                    }
                    l.body.each_statement(visit);
                }
                Op::Split(s) => s.body.each_statement(visit),
                _ => {}
            }
        }
    }
}

/// One operation.
#[derive(Serialize, Deserialize)]
pub struct Stm<K = Kernel> {
    /// Slots of its results.
    pub pat: Vec<Slot>,
    /// The operation.
    pub op: Op<K>,
    /// Slots that nothing reads any more, and which no operand moved out.
    pub drop_after: Vec<Slot>,
    /// Source of the operation, for errors.
    pub span: Span,
    /// Number of the statement in its program, for profiles.
    pub site: u32,
}

/// An operand.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum Operand {
    /// A scalar.
    Const(Scalar),
    /// The value of a slot, which is used again later.
    Copy(Slot),
    /// The value of a slot, for the last time.
    Move(Slot),
}

/// Host operations; meanings as in FLAT. The first arm of a `serial` branch runs long on one thread, which is not for every device.
#[derive(Serialize, Deserialize)]
#[allow(missing_docs)]
pub enum Op<K = Kernel> {
    Atom(Operand),
    Scalar(PrimOp, Vec<Operand>),
    Check { cond: Operand, kind: CheckKind, args: Vec<Operand> },
    Trace { label: String, ty: ValueType, args: Vec<Operand> },
    Kernel(Box<K>),
    MakeDesc(Operand),
    UniformDesc { rows: Operand, m: Operand },
    Offsets(Operand),
    Lengths(Operand),
    SegIds(Operand),
    Total(Operand),
    Rows(Operand),
    Length(Operand),
    Read(Operand, Operand),
    Write { arr: Operand, index: Operand, value: Operand },
    Iota(Operand),
    Replicate(Operand, Operand),
    Literal(Vec<Operand>, Prim),
    Slice { arr: Operand, start: Operand, len: Operand },
    Concat(Vec<Operand>, Prim),
    ConcatDesc(Vec<Operand>),
    Append(Vec<Operand>, Prim),
    Compact { rope: Operand, starts: Operand, lens: Operand, kept: Option<Operand> },
    NeedsCollection { rope: Operand, base: Option<Operand> },
    Collect { rope: Operand, starts: Operand, weight: Operand },
    Sort { space: Space, keys: Operand, values: Option<Operand> },
    If { cond: Operand, then: Block<K>, other: Block<K>, serial: bool },
    Loop(Box<Loop<K>>),
    Split(Box<Split<K>>),
    Call(usize, Vec<Operand>),
}

/// A host loop.
#[derive(Serialize, Deserialize)]
pub struct Loop<K = Kernel> {
    /// State: slots and initial values.
    pub params: Vec<(Slot, Operand)>,
    /// Form of the loop.
    pub form: LoopForm<K>,
    /// One iteration; results in the next state.
    pub body: Block<K>,
}

/// A body that is run on chunks of rows.
#[derive(Serialize, Deserialize)]
pub struct Split<K = Kernel> {
    /// Number of rows.
    pub rows: Operand,
    /// Of these in a chunk at most.
    pub most: u64,
    /// Slots of the first row of a chunk, and of its number of rows.
    pub chunk: [Slot; 2],
    /// Work on each.
    pub body: Block<K>,
    /// Kinds of the results of each.
    pub kinds: Vec<Kind>,
    /// Slots that the body binds, other than scalars.
    pub bound: Vec<Slot>,
}

/// Form of a host loop.
#[derive(Serialize, Deserialize)]
#[allow(missing_docs)]
pub enum LoopForm<K = Kernel> {
    For { index: Slot, prim: Prim, bound: Operand },
    While(Block<K>),
}

/// The iteration space of a kernel.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[allow(missing_docs)]
pub enum Space {
    Flat(Operand),
    Uniform { rows: Operand, m: Operand },
    Ragged { rows: Operand, desc: Operand },
}

/// The machine code of a kernel: runs rows `row_lo..row_hi`, of these only the elements at positions `lo..hi`.
///
/// `env` is laid out as [`EnvLayout`] says. The result is not negative, except after a failed check, which is written to
/// `error`. For a filter the result is the number of elements kept.
pub type KernelFn = unsafe extern "C" fn(
    env: *const u64,
    row_lo: i64,
    row_hi: i64,
    lo: i64,
    hi: i64,
    error: *mut ErrorRecord,
) -> i64;

/// A kernel's failed check, as its code writes it.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct ErrorRecord {
    /// Index into [`Kernel::checks`], or [`ErrorRecord::CANCELLED`].
    pub check: i64,
    /// Position of the element that failed.
    pub pos: i64,
    /// Bits of the check's arguments.
    pub args: [u64; 4],
    /// Work that depends on the data; noted, also without a failure, by code that was compiled to count.
    pub work: u64,
    /// Per scatter: the last index, at least if it was outside of the array. Noted without a failure.
    pub indices: [i64; SCATTERS],
}

/// Scatters of a kernel whose indices are noted. If there are more one thread writes.
pub const SCATTERS: usize = 4;

impl ErrorRecord {
    /// Instead of a check: the run was cancelled.
    pub const CANCELLED: i64 = -1;
}

/// Words of a kernel's environment, in this order:
///
/// ```text
/// dim       row length of a uniform space, address of the offsets of a ragged one, number of elements of a flat one
/// cancel    address of a byte that is not zero once the run is to be stopped
/// stack     bytes of stack that calls of functions may take
/// captures  bits of scalars, addresses of arrays, 0 for ropes
/// initial   per combined result: bits of the accumulator's first value
/// outputs   see the kind
/// partials  per combined result: address of one value per chunk (where the kind needs it)
/// lengths   per capture: the elements that an array has, all of them in memory; 0 if that is not so
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct EnvLayout {
    /// Number of captures.
    pub captures: usize,
    /// Number of combined results.
    pub initial: usize,
    /// Number of output words.
    pub outputs: usize,
}

impl EnvLayout {
    /// Index of the address of the cancellation flag.
    pub const CANCEL: usize = 1;

    /// Index of the number of bytes for calls.
    pub const STACK: usize = 2;

    /// Index of the first capture.
    pub const CAPTURES: usize = 3;

    /// Index of the first initial value.
    pub const fn initial_at(self) -> usize {
        EnvLayout::CAPTURES + self.captures
    }

    /// Index of the first output word.
    pub const fn outputs_at(self) -> usize {
        self.initial_at() + self.initial
    }

    /// Index of the first partials word.
    pub const fn partials_at(self) -> usize {
        self.outputs_at() + self.outputs
    }

    /// Index of the length of the first capture.
    pub const fn lengths_at(self) -> usize {
        self.partials_at() + self.initial
    }

    /// Number of words.
    pub const fn len(self) -> usize {
        self.lengths_at() + self.captures
    }

    /// Never: there are always the first three.
    pub const fn is_empty(self) -> bool {
        false
    }
}

/// A bulk operation.
#[derive(Serialize, Deserialize)]
pub struct Kernel {
    /// For profiles and dumps.
    pub name: String,
    /// Positions and rows.
    pub space: Space,
    /// Scalars and arrays that the body reads.
    pub captures: Vec<Operand>,
    /// Layout of the environment.
    pub layout: EnvLayout,
    /// Checks that can fail.
    pub checks: Vec<KernelCheck>,
    /// Work of every row and element.
    pub work: Work,
    /// Its code calls functions: it needs a stack of its own.
    pub recursive: bool,
    /// Rough work per element, in units of a few instructions: decides how finely the space is cut.
    pub cost: usize,
    /// The compiled body.
    pub code: CodeId,
    /// Use of its results.
    pub kind: KernelKind,
    /// Schedule on a CPU.
    pub schedule: Schedule,
    /// Distribution over ranks, in a program for them.
    pub ranks: Option<ForRanks>,
}

/// Schedule of a kernel on a CPU.
#[derive(Debug, Serialize, Deserialize)]
pub enum Schedule {
    /// One position after the other.
    Scalar,
    /// Groups of so many neighbouring positions, each in a lane of vectors.
    Lanes(usize),
    /// Groups of so many neighbouring rows, each in a lane.
    Rows(usize),
    /// Groups of so many positions of a row, of which the last goes past its end.
    Ahead(usize),
    /// Runs of neighbouring positions, each in these steps.
    Strips(Vec<Step>),
    /// A product of matrices, in tiles. Small ones in lanes or one position after the other.
    Tiled(Contraction),
    /// A copy of a matrix, in tiles: where the element of a row and a column comes from.
    Transposed(Factor),
    /// A scan and scatter that puts elements behind those of their class, strip by strip.
    Partition(Partition),
}

/// Step of the work on a strip: a run of neighbouring positions whose values fit in the first cache.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Step {
    /// Computes so many values per position, into buffers.
    Compute(usize),
    /// Calls an elementary function of the runtime.
    Call(String),
    /// Prefixes by these operators, one per component.
    Scan(Vec<String>),
    /// Computes with prefixes or values from buffers, and stores results.
    Store,
    /// Stores so many values per position at computed indices.
    Scatter(usize),
    /// Keeps so many arrays' elements where a flag is set.
    Pack(usize),
}

impl fmt::Display for Schedule {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Schedule::Scalar => write!(f, "one by one"),
            Schedule::Lanes(n) => write!(f, "lanes: {n}"),
            Schedule::Rows(n) => write!(f, "rows in lanes: {n}"),
            Schedule::Ahead(n) => write!(f, "lanes past the ends of rows: {n}"),
            Schedule::Strips(steps) => {
                write!(f, "strips: ")?;
                steps
                    .iter()
                    .enumerate()
                    .try_for_each(|(i, step)| write!(f, "{}{step}", if i == 0 { "" } else { ", " }))
            }
            Schedule::Tiled(_) => write!(f, "tiles of a matrix product"),
            Schedule::Transposed(_) => write!(f, "tiles of a transposition"),
            Schedule::Partition(p) => write!(f, "strips: compute, move to {} classes", p.first.len()),
        }
    }
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Step::Compute(1) => write!(f, "compute"),
            Step::Compute(n) => write!(f, "compute {n} values"),
            Step::Call(function) => write!(f, "{function}"),
            Step::Scan(operators) => write!(f, "scan {}", operators.join(" ")),
            Step::Store => write!(f, "store"),
            Step::Scatter(_) => write!(f, "scatter"),
            Step::Pack(_) => write!(f, "pack"),
        }
    }
}

/// A scan that counts elements of classes, and a scatter that puts every element behind those of its class. After the words of the
/// scatter there is one more: the address of [`crate::partition::Places`].
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Partition {
    /// Per class: where its first element goes.
    pub first: Vec<Sum>,
    /// Per class: the component of the scan that counts it.
    pub components: Vec<usize>,
}

impl Kernel {
    /// The product of matrices that it is, if it is one.
    pub fn contraction(&self) -> Option<&Contraction> {
        if let Schedule::Tiled(c) = &self.schedule { Some(c) } else { None }
    }

    /// Source of its elements, if it only copies a matrix.
    pub fn transposition(&self) -> Option<&Factor> {
        if let Schedule::Transposed(f) = &self.schedule { Some(f) } else { None }
    }

    /// The classes that it moves elements to, if it is a partition.
    pub fn partition(&self) -> Option<&Partition> {
        if let Schedule::Partition(p) = &self.schedule { Some(p) } else { None }
    }

    /// For a partition: which output word the address of the places is.
    pub fn places_word(&self) -> usize {
        match &self.kind {
            KernelKind::Scan { outs: Some(outs), .. } => outs.iter().map(Out::words).sum(),
            _ => 0,
        }
    }
}

/// A kernel's work, as far as it does not depend on the data.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Work {
    /// Per row.
    pub row: usize,
    /// Per element.
    pub element: usize,
}

/// A check statement in a kernel body.
#[derive(Serialize, Deserialize)]
pub struct KernelCheck {
    /// Kind of the check.
    pub kind: CheckKind,
    /// Types of the arguments.
    pub args: Vec<Prim>,
    /// Where.
    pub span: Span,
}

/// Use of a kernel's results; output words of the environment.
#[derive(Serialize, Deserialize)]
pub enum KernelKind {
    /// Per output its words: an address for `Elem`; length, then addresses for `Scatter`.
    Map(Vec<Out>),
    /// Output words: addresses of the results by row, then of the further results by position.
    Reduce(Fold),
    /// Output words: addresses of all results by position, or those of the outputs as for a map.
    Scan {
        /// The operator.
        fold: Fold,
        /// Reduces a chunk to one value, without output but the results by row.
        reduce: CodeId,
        /// As the kernel's code for one row, and also reduces the chunk, from the neutral elements: see `partials`.
        dual: CodeId,
        /// Grouping does not change results, so that one thread need not look at chunks.
        exact: bool,
        /// Destinations of the results, if they are not the prefixes themselves.
        outs: Option<Vec<Out>>,
    },
    /// Output words: address of the kept counts by row, then of the values by position.
    Filter(Vec<Prim>),
    /// Output words: length of the destinations, their addresses, and the addresses of what every other element may go to.
    Hist {
        /// Arrays to update.
        dests: Vec<Operand>,
        /// The operator.
        fold: Fold,
        /// Grouping does not change results, so that copies of the destinations are made for threads only.
        exact: bool,
        /// Nor does the order of the elements.
        any_order: bool,
    },
}

/// The operator of a kernel that combines values.
#[derive(Serialize, Deserialize)]
pub struct Fold {
    /// Types of the combined results.
    pub prims: Vec<Prim>,
    /// Neutral elements.
    pub neutral: Vec<Operand>,
    /// Types of the further results.
    pub elems: Vec<Prim>,
    /// Combines `partials[lo..hi]`: a reduction with one row (for `Hist`: an update of element `i` by value `i`).
    pub combine: CodeId,
}

/// One output of a map kernel.
#[derive(Serialize, Deserialize)]
pub enum Out {
    /// A fresh array with so many elements for each position.
    Row(Prim, usize),
    /// Destinations that are written by index.
    Scatter(Vec<Operand>),
    /// An array whose rows the bodies update.
    Own(Operand),
}

impl Out {
    /// Number of words of the environment that it has.
    pub fn words(&self) -> usize {
        match self {
            Out::Row(..) => 1,
            Out::Scatter(dests) => 1 + dests.len(),
            Out::Own(_) => 2,
        }
    }

    /// The arrays that are written in place.
    pub fn dests(&self) -> &[Operand] {
        match self {
            Out::Row(..) => &[],
            Out::Scatter(dests) => dests,
            Out::Own(dest) => std::slice::from_ref(dest),
        }
    }

    /// Bytes of the fresh arrays among the outputs of a kernel over so many positions.
    pub fn fresh_bytes(outs: &[Out], positions: usize) -> usize {
        outs.iter().map(|o| if let Out::Row(p, n) = o { positions * n * p.size() } else { 0 }).sum()
    }
}

impl<K> fmt::Debug for Plan<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.functions.iter().map(|x| &x.name)).finish()
    }
}
