//! CORE: first-order, monomorphic, A-normal code with nested parallel operators.
//!
//! A program is a list of functions: its entry points and whatever is recursive (everything else has been
//! inlined). A [`Body`] is a list of statements and the atoms it results in. Every variable is bound once in the
//! whole program. Tuples have been replaced by their components: an array of pairs is two arrays, a function returns several
//! results. Types are [`Type`]: shapes are exact, and sizes and descriptors are ordinary variables.
//!
//! **Existential shapes.** Where a shape is not known before, the statement binds it as an additional result
//! *before* the arrays whose types mention it: a `filter` binds `(k: i64) (ys: [k]f32)`; an `if` whose arms give
//! different lengths binds `(k: i64) (ys: [k]f32)` and its arms return both; a `map` whose rows differ binds
//! `(s: [n]desc) (yss: [n][s]f32)` and its lambda returns the row's length and the row; functions and loops
//! likewise. So dims in a pattern may mention variables bound earlier in the same pattern, and a scalar `i64`
//! result of a map's lambda becomes a descriptor where the pattern says so.
//!
//! **Maps over ragged arrays.** Mapping over `xss : [n][s]f32` takes `s` (a `[n]desc`) as an input too: the
//! lambda's parameters are `(k: i64) (row: [k]f32)`. Over `[n][s][t]f32` with inputs `s`, `t`, `xsss` the parameters
//! are `(k: i64) (t': [k]desc) (row: [k][t']f32)`.
//!
//! **Checks** are statements of their own. No other statement fails: indexing assumes that a `Check` before it
//! established the bounds, division that the divisor is not zero. A check is never removed unless proven, never
//! moved above the branch, loop or nest that guards it.
//!
//! Scalar bodies (no SOAC, no array-valued statement) are also the kernel bodies of FLAT.

use crate::place::Rule;
use crate::prim::{BinOp, PrimOp};
use crate::stack::deeper;
use crate::ty::{Atom, Type, Var, Vars};
pub use par_runtime::Entry;
use par_runtime::{CheckKind, Prim, Span, ValueType};

/// A whole program.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Program {
    /// Functions; [`FunId`] is the index.
    pub funs: Vec<Fun>,
    /// Names of all variables, and the supply of fresh ones.
    pub vars: Vars,
    /// Rules by which constructs were differentiated backward.
    pub rules: Vec<Rule>,
}

/// Index into [`Program::funs`] (FLAT: into its own list).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub struct FunId(pub u32);

/// A function. For an entry point, params and results follow the columns of the entry's types
/// (`ValueType::columns`): `Size` is an `i64`, `Offsets` a descriptor.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct Fun {
    pub name: String,
    /// Source-level signature, if callable from outside.
    pub entry: Option<Entry>,
    pub params: Vec<Param>,
    /// Result types; the variables bind existential sizes and descriptors for the types after them.
    pub ret: Vec<Param>,
    pub body: Body,
    pub span: Span,
}

/// A variable with its type.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct Param {
    pub var: Var,
    pub ty: Type,
}

/// Statements, then results.
#[derive(Debug, PartialEq, Default)]
#[allow(missing_docs)]
pub struct Body {
    pub stms: Vec<Stm>,
    pub results: Vec<Atom>,
}

/// By hand, since bodies nest deeply.
impl Clone for Body {
    fn clone(&self) -> Body {
        deeper(|| Body { stms: self.stms.clone(), results: self.results.clone() })
    }
}

/// `let pat = exp`. A `Check`, a `Trace` and an `Add` have an empty pattern.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct Stm {
    pub pat: Vec<Param>,
    pub exp: Exp,
    /// Source place; of code inlined from the standard library, that of the user's call.
    pub span: Span,
}

/// A function given to a parallel operator.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct Lambda {
    pub params: Vec<Param>,
    pub body: Body,
    /// Result types, dims over variables free in the lambda or (existentially) bound in its body.
    pub ret: Vec<Type>,
    /// Of the operator whose rows it works on; it means nothing for an operator that combines.
    pub schedule: Schedule,
}

impl Lambda {
    /// An operator of scalars of one type as a function of two.
    pub fn of_operator(op: BinOp, prim: Prim, span: Span, vars: &mut Vars) -> Lambda {
        let ty = Type::scalar(prim);
        let [a, b, c] = ["a", "b", "c"].map(|name| Param { var: vars.fresh(name), ty: ty.clone() });
        let exp = Exp::Prim(PrimOp::Bin(op, prim), vec![a.var.into(), b.var.into()]);
        let results = vec![c.var.into()];
        let body = Body { stms: vec![Stm { pat: vec![c], exp, span }], results };
        Lambda { params: vec![a, b], body, ret: vec![ty], schedule: Schedule::Free }
    }

    /// An operator on tuples, component by component.
    pub fn of_operators(ops: &[(BinOp, Prim)], span: Span, vars: &mut Vars) -> Lambda {
        let all: Vec<Lambda> =
            ops.iter().map(|(op, prim)| Lambda::of_operator(*op, *prim, span, vars)).collect();
        let side = |k: usize| all.iter().map(move |l| l.params[k].clone());
        let params = side(0).chain(side(1)).collect();
        let stms = all.iter().flat_map(|l| l.body.stms.clone()).collect();
        let results = all.iter().map(|l| l.body.results[0]).collect();
        let ret = ops.iter().map(|(_, prim)| Type::scalar(*prim)).collect();
        Lambda { params, body: Body { stms, results }, ret, schedule: Schedule::Free }
    }
}

/// Schedule of the rows of a parallel operator.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Schedule {
    /// All together, fused with other operators as is best.
    #[default]
    Free,
    /// One after the other: it becomes a loop (`#[sequential]`).
    Sequential,
    /// All together, and a fusion barrier: it is fused with nothing (`#[opaque]`).
    Opaque,
}

/// The right-hand side of a statement.
#[derive(Clone, Debug, PartialEq)]
pub enum Exp {
    /// The operand itself. The pattern's type may differ in its dims only where a check proved them equal
    /// (a rectangle from a ragged array, one size from two): the data is shared.
    Atom(Atom),
    /// A scalar operator.
    Prim(PrimOp, Vec<Atom>),
    /// `arr[i0, i1, …]` with 1 to rank indices; a scalar or a row. Bounds were checked before. Indexing a `Seg`
    /// dimension with a further index is allowed (`xss[i, j]`). A row of a ragged array needs its length: it is
    /// bound by indexing the descriptor (`k = s[i]`) in a statement before; descriptors are indexed alike.
    Index(Var, Vec<Atom>),
    /// `arr[start : start+len*stride : stride]` on the outermost dimension, which has size `len` in the result;
    /// works on descriptors too (slice both). Checked before.
    Slice {
        /// Array or descriptor.
        arr: Var,
        /// First index.
        start: Atom,
        /// Number of elements.
        len: Atom,
        /// Distance; may be negative, not 0.
        stride: Atom,
    },
    /// Fails with `kind` and the values of `args` unless `cond` holds. Binds nothing.
    Check {
        /// Must be true.
        cond: Atom,
        /// Kind of the check.
        kind: CheckKind,
        /// Values for the message.
        args: Vec<Atom>,
    },
    /// Shows a value, given in the columns of its type. Binds nothing. Like a check it is never removed; it is not
    /// scalar code, so what it stands in is flattened, and it shows the values of all rows of a map together.
    Trace {
        /// Its source place, and its tag.
        label: String,
        /// The type of what is shown.
        ty: ValueType,
        /// Its columns.
        args: Vec<Atom>,
    },
    /// Both arms result in the pattern's shape (existentials included).
    If {
        /// A bool.
        cond: Atom,
        /// If true.
        then: Body,
        /// If false.
        other: Body,
    },
    /// Loop parameters with their initial values; existential sizes and descriptors of the state are parameters
    /// of their own, before the arrays. The body results in the next values. Binds the final ones.
    Loop {
        /// State and its initial values.
        params: Vec<(Param, Atom)>,
        /// Counter and bound, or condition.
        form: LoopForm,
        /// One iteration.
        body: Body,
    },
    /// A call of a recursive function.
    Call(FunId, Vec<Atom>),
    /// `lam` on each of `width` rows of the inputs (arrays and descriptors with outer size `width`). There may be
    /// no inputs. Lambda results of scalar type become arrays, rows become arrays of rows, `i64`s that the pattern
    /// types as descriptors become descriptors.
    Map {
        /// Number of rows.
        width: Atom,
        /// Arrays and descriptors.
        inputs: Vec<Var>,
        /// One parameter per input.
        lam: Lambda,
    },
    /// `reduce op ne (map lam inputs)`. `lam` returns as many scalars as `op` combines, then possibly further
    /// results, which are bound as mapped arrays after the reduced scalars. `op` is scalar (array-valued operators
    /// have been lowered to loops) and associative.
    Reduce {
        /// Number of rows.
        width: Atom,
        /// Arrays and descriptors.
        inputs: Vec<Var>,
        /// Producer.
        lam: Lambda,
        /// `2k` parameters, `k` results.
        op: Lambda,
        /// `k` neutral elements.
        neutral: Vec<Atom>,
    },
    /// `scan op ne (map lam inputs)`, like `Reduce`; the first `k` results are arrays of `width`.
    Scan {
        /// Number of rows.
        width: Atom,
        /// Arrays and descriptors.
        inputs: Vec<Var>,
        /// Producer.
        lam: Lambda,
        /// `2k` parameters, `k` results.
        op: Lambda,
        /// `k` neutral elements.
        neutral: Vec<Atom>,
        /// Element `i` of the result excludes input `i`.
        exclusive: bool,
    },
    /// `lam` returns a bool and `k >= 0` scalars; keeps the scalars of the rows whose bool is true, in order. Binds the
    /// number kept (an `i64`) and then `k` arrays.
    Filter {
        /// Number of rows.
        width: Atom,
        /// Arrays and descriptors.
        inputs: Vec<Var>,
        /// Predicate and values.
        lam: Lambda,
    },
    /// `lam` returns an `i64` index and one scalar per destination (rank-1 arrays of equal length): writes them there if the
    /// index is inside, else ignores them. Binds the new arrays.
    Scatter {
        /// Destinations; consumed if this is their last use.
        dests: Vec<Var>,
        /// Number of writes.
        width: Atom,
        /// Arrays and descriptors.
        inputs: Vec<Var>,
        /// Index and values.
        lam: Lambda,
    },
    /// As `Scatter`, but combines with what is there: `dest[i] = op dest[i] v`. `op` is associative and commutative.
    Hist {
        /// Destinations, rank 1.
        dests: Vec<Var>,
        /// Number of updates.
        width: Atom,
        /// Arrays and descriptors.
        inputs: Vec<Var>,
        /// Index and values.
        lam: Lambda,
        /// `2k` parameters, `k` results.
        op: Lambda,
        /// `k` neutral elements.
        neutral: Vec<Atom>,
    },
    /// `arr with [i0, a:b, …] = value`: a scalar, a row, or a part of the same shape. Where it is was checked; where it has slices, no
    /// dimension of the array is ragged.
    Update {
        /// Consumed if this is its last use.
        arr: Var,
        /// For 1 to rank dimensions, the outermost first.
        at: Vec<At>,
        /// The new element, row or part.
        value: Atom,
    },
    /// `[0, 1, …, n-1]` as `i64`.
    Iota(Atom),
    /// `n` copies of a scalar or of a row. Rows that are arrays of ragged shape: `[n][D]…` where the pattern's
    /// descriptors were bound before, by `MakeDesc`.
    Replicate(Atom, Atom),
    /// Arrays concatenated along the outermost dimension; the result's size (and descriptors, by `MakeDesc` of
    /// concatenated lengths) were bound before.
    Concat(Vec<Var>),
    /// An array of the given scalars (`Prim` is their type: the list may be empty), or of the given rows: for rows of
    /// different lengths the pattern names a descriptor bound before.
    Literal(Vec<Atom>, Prim),
    /// The two outermost dimensions made one: `[n][m]t` to `[n*m]t`, `[n][s]t` to `[total s]t` (also on descriptors). The
    /// result's size was bound before.
    Flatten(Var),
    /// The outermost dimension split: `[k]t` to `[n][m]t` or to `[n][s]t`, by the pattern's type. Checked before.
    Unflatten(Var),
    /// The descriptor whose rows have these lengths (an `i64` array of any rank, all >= 0, checked before): the
    /// pattern is a descriptor over the array's dims.
    MakeDesc(Var),
    /// The lengths of a descriptor as an `i64` array over the same dims.
    Lengths(Var),
    /// Sum of all lengths of a descriptor.
    Total(Var),
    /// Puts `f64`s at the end of the tape: binds how many are on it then. In the order that calls are made in: a number may differ between
    /// interpreters and back ends, but not what lies before it. The tape is that of the function, or of the one that called it, which has an
    /// expression [`Exp::Tape`] in its body.
    Push(Var),
    /// The first so many numbers of the tape that begins, empty, with each call of this function. All are on it.
    Tape(Atom),
    /// Begins an accumulator with the elements of an array of rank 1: binds it, and the place of the first element in it (two accumulators
    /// that begin in rows of a map may be parts of one).
    Accumulate(Var),
    /// Adds to an accumulator: values at places, which are its own. Those at negative places are ignored, and all if it has no elements. Binds
    /// nothing. An accumulator is passed to calls, and is a variable of nothing else.
    Add {
        /// The accumulator.
        acc: Var,
        /// `i64`s, rank 1.
        places: Var,
        /// As many numbers.
        values: Var,
    },
    /// The array that an accumulator, which was begun in the same body, has become. It is not used any more.
    Accumulated(Var),
    /// Numbers in ascending order, every NaN behind all others. Binds them, and what came with each, in that order; equal numbers, which both
    /// zeros are, keep their order.
    Sort {
        /// Scalars, rank 1.
        keys: Var,
        /// As many scalars.
        values: Option<Var>,
    },
}

impl Fun {
    /// For functions that kernels call: the number of arrays that it updates. They are its last parameters, and what becomes of them its first results.
    pub fn states(&self) -> usize {
        self.ret.iter().take_while(|p| !p.ty.is_scalar()).count()
    }

    /// True if a tape begins with each call of the function.
    pub fn begins_tape(&self) -> bool {
        self.body.stms.iter().any(|s| matches!(s.exp, Exp::Tape(_)))
    }
}

/// Part of one dimension that an update replaces.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum At {
    /// One element or row; the new value does not have this dimension.
    Index(Atom),
    /// `start, start + stride, …`: as many as the new value has rows here.
    Slice {
        /// First index.
        start: Atom,
        /// Distance; may be negative, not 0.
        stride: Atom,
    },
}

impl At {
    /// The positions that indices select.
    pub fn indices(indices: &[Atom]) -> Vec<At> {
        indices.iter().map(|i| At::Index(*i)).collect()
    }

    /// The indices of an element or row, if there is no slice among them.
    pub fn only_indices(at: &[At]) -> Option<Vec<Atom>> {
        at.iter().map(|a| if let At::Index(i) = a { Some(*i) } else { None }).collect()
    }

    /// The operands.
    pub fn atoms(&self) -> Vec<Atom> {
        match self {
            At::Index(i) => vec![*i],
            At::Slice { start, stride } => vec![*start, *stride],
        }
    }
}

/// The rows that an operator goes over: how many, of which arrays, and the code of one.
pub type Rows<'r> = (Atom, &'r [Var], &'r Lambda);

/// The parts of an [`Exp::Loop`].
#[derive(Clone, Copy, Debug)]
pub struct Repeat<'l> {
    /// The state, with its values before the first iteration.
    pub params: &'l [(Param, Atom)],
    /// Counter and bound, or condition.
    pub form: &'l LoopForm,
    /// The next state.
    pub body: &'l Body,
}

/// Form of a loop: counted, or with a condition.
#[derive(Clone, Debug, PartialEq)]
pub enum LoopForm {
    /// `for index < bound`; both of integer type `prim`.
    For {
        /// Bound in the body.
        index: Var,
        /// Type of index and bound.
        prim: Prim,
        /// Exclusive bound.
        bound: Atom,
    },
    /// While the body's single bool result, computed from the parameters, is true.
    While(Body),
}
