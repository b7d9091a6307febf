//! The typed tree between inference and lowering: names resolved, types inferred, most sugar gone.
//!
//! Types carry the sizes that were *declared*; where nothing was declared a size is [`Size::Anon`]. Exact shapes are
//! known only when lowering, which binds and equates declared sizes as it meets values:
//! binding a value to a pattern whose type says `[n]` binds the local `n` if it is not bound yet, and otherwise
//! equates it with the value's size.

pub use crate::constructors::Constructors;
use par_runtime::{Fields, Prim, Scalar, Span};

/// A definition: index into [`Program::defs`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub struct DefId(pub u32);

/// A local name (parameter, let, loop variable, size parameter): index into [`Program::locals`]. Unique in the program.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub struct LocalId(pub u32);

/// A type parameter of a definition, rigid inside it. Unique in the program.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub struct TyVar(pub u32);

/// A checked program.
#[derive(Clone, Debug, Default)]
pub struct Program {
    /// All definitions, the standard library's included.
    pub defs: Vec<Def>,
    /// Source names of locals.
    pub locals: Vec<String>,
    /// Source names of type parameters.
    pub type_vars: Vec<String>,
}

/// A top-level (or module-level) definition.
#[derive(Clone, Debug)]
#[allow(missing_docs)]
pub struct Def {
    /// Qualified by its modules: `i32.sum`.
    pub name: String,
    pub entry: bool,
    /// Of the same strongly connected component of calls, if the definition is recursive.
    pub group: Option<u32>,
    /// `#[intrinsic]`: no body; lowering knows it by its name.
    pub intrinsic: bool,
    pub inlining: Inlining,
    /// Not complete by itself: in the body of a parametric module, or what a module type lets others see of a value.
    pub open: bool,
    /// From the embedded standard library: its spans are replaced by those of the user's call.
    pub library: bool,
    pub type_params: Vec<TyVar>,
    /// `[n]` parameters: `i64` locals, bound through the types of the params.
    pub size_params: Vec<LocalId>,
    /// Empty for a value.
    pub params: Vec<Pat>,
    /// Declared, or inferred (then without sizes).
    pub ret: Ty,
    pub body: Expr,
    /// Of an entry point: which parts of the parameters and of the result a module hides.
    pub hidden: Hidden,
    pub span: Span,
    pub name_span: Span,
    /// Of the declared result type, else of the name.
    pub ret_span: Span,
}

/// Parts of a type that a module hides. The parts are the element of an array, the components of a tuple or record, all
/// payloads of a sum.
#[derive(Clone, Debug, Default, PartialEq)]
#[allow(missing_docs)]
pub enum Hidden {
    #[default]
    Nothing,
    /// All of it, by the type's name.
    Type(String),
    Parts(Vec<Hidden>),
}

/// Inlining of a definition that is not recursive.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Inlining {
    /// Unless its copies take too much room.
    #[default]
    Auto,
    /// `#[inline]`: always.
    Always,
    /// `#[noinline]`: never, if its result is data.
    Never,
}

/// A type.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub enum Ty {
    Prim(Prim),
    Tuple(Vec<Ty>),
    /// Fields sorted by name; which order they are written in is known, too.
    Record(Fields<Ty>),
    Sum(Constructors),
    Array(Size, Box<Ty>),
    Fun(Box<Ty>, Box<Ty>),
    Var(TyVar),
    /// `*t`, kept on parameters and results only.
    Unique(Box<Ty>),
    /// A type that a module type hides, with its arguments. Only during inference: afterwards it is what it stands for.
    Abstract(AbstractType, Vec<TyArg>),
    /// Only during inference.
    Meta(u32),
}

/// A hidden type: each has a number of its own.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct AbstractType {
    /// Unique in the program.
    pub id: u32,
    /// Contents of its values.
    pub holds: Holds,
}

/// Contents of a hidden type's values.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Holds {
    /// Neither functions nor writes.
    Data,
    /// Declared `type^`.
    Functions,
    /// The writes of an accumulator (see [`accumulator`]).
    Writes,
}

/// The representation of an accumulator for a destination of a type: how many writes it holds, the destination, and room for the
/// writes. It is used up by whoever takes it.
pub fn accumulator(dest: &Ty) -> Ty {
    let element = match dest {
        Ty::Array(_, element) => (**element).clone(),
        other => other.clone(),
    };
    let list = |t: Ty| Ty::Array(Size::Anon, Box::new(t));
    let types = [Ty::Prim(Prim::I64), dest.clone(), list(Ty::Prim(Prim::I64)), list(element)];
    let fields = ACCUMULATOR.iter().map(|f| f.to_string()).zip(types);
    Ty::Unique(Box::new(Ty::Record(fields.collect())))
}

/// The fields of an accumulator, which no record of a program has.
pub const ACCUMULATOR: [&str; 4] = ["#count", "#dest", "#indices", "#values"];

/// The destination, if these are the fields of an accumulator.
pub fn accumulated(fields: &[(String, Ty)]) -> Option<&Ty> {
    fields.iter().find(|(f, _)| f == ACCUMULATOR[1]).map(|(_, t)| t)
}

/// An argument of a type.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub enum TyArg {
    Size(Size),
    Type(Ty),
}

/// A declared size.
#[derive(Clone, Debug, PartialEq)]
pub enum Size {
    /// Not declared: any, and below the outermost dimension possibly ragged.
    Anon,
    /// A number.
    Const(i64),
    /// An `i64` local.
    Local(LocalId),
    /// An `i64` expression.
    Exp(Box<Expr>),
    /// Unknown, but one for all mentions of the name: an anonymous argument of an abbreviation, the size of `?[n].t`.
    Own {
        /// Bound by no pattern and used by no expression.
        name: LocalId,
        /// Number of arrays around this mention that belong to the type that owns it: the elements of the arrays around those have
        /// a size of their own each.
        inner: i32,
    },
}

impl Size {
    /// True if it may differ between the elements of arrays, at this depth of arrays.
    pub(crate) fn varies(&self, depth: usize) -> bool {
        match self {
            Size::Anon => depth > 0,
            Size::Own { inner, .. } => depth as i32 > *inner,
            Size::Const(_) | Size::Local(_) | Size::Exp(_) => false,
        }
    }
}

/// A pattern. Its type carries the sizes of its ascriptions.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct Pat {
    pub kind: PatKind,
    pub ty: Ty,
    /// The type is written in the program, here or around.
    pub declared: bool,
    pub span: Span,
}

/// The kinds of patterns.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub enum PatKind {
    Var(LocalId),
    Wildcard,
    Tuple(Vec<Pat>),
    /// Fields sorted by name; all of them.
    Record(Vec<(String, Pat)>),
    Literal(Scalar),
    /// An array of exactly these bytes.
    String(Vec<u8>),
    Constr(String, Vec<Pat>),
}

/// An expression.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct Expr {
    pub kind: ExprKind,
    pub ty: Ty,
    pub span: Span,
}

/// The kinds of expressions. Evaluation is strict, left to right.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub enum ExprKind {
    Local(LocalId),
    /// A local function with type parameters, with the types that they take here.
    Poly(LocalId, Vec<Ty>),
    /// A definition with the types its type parameters take here.
    Def(DefId, Vec<Ty>),
    /// A built-in operator as a function value: `+ - * / % // %% ** & | ^ << >> >>> == != < <= > >=` of two
    /// operands, `neg`, `!` of one. `ty` says at which type; `==` and `!=` take any type without functions.
    Op(String),
    Literal(Scalar),
    /// `[]u8` from a string literal.
    String(Vec<u8>),
    Tuple(Vec<Expr>),
    /// Fields sorted by name, but evaluated as listed here.
    Record(Vec<(String, Expr)>),
    Array(Vec<Expr>),
    Range {
        start: Box<Expr>,
        second: Option<Box<Expr>>,
        end: Box<Expr>,
        kind: RangeKind,
    },
    Lambda {
        params: Vec<Pat>,
        ret: Option<Ty>,
        body: Box<Expr>,
    },
    Apply(Box<Expr>, Vec<Expr>),
    And(Box<Expr>, Box<Expr>),
    Or(Box<Expr>, Box<Expr>),
    Let {
        pat: Pat,
        value: Box<Expr>,
        body: Box<Expr>,
    },
    /// A local function: a lambda under a name, possibly used at several types. Sizes it declares are fresh at each call.
    LetFun {
        name: LocalId,
        name_span: Span,
        /// Its body mentions it.
        recursive: bool,
        type_params: Vec<TyVar>,
        size_params: Vec<LocalId>,
        params: Vec<Pat>,
        ret: Option<Ty>,
        value: Box<Expr>,
        body: Box<Expr>,
    },
    If {
        cond: Box<Expr>,
        then: Box<Expr>,
        other: Box<Expr>,
    },
    Match {
        value: Box<Expr>,
        cases: Vec<(Pat, Expr)>,
    },
    Loop {
        pat: Pat,
        init: Box<Expr>,
        form: LoopForm,
        body: Box<Expr>,
    },
    Index(Box<Expr>, Vec<IndexArg>),
    With {
        value: Box<Expr>,
        index: Vec<IndexArg>,
        update: Box<Expr>,
    },
    WithField {
        value: Box<Expr>,
        fields: Vec<String>,
        update: Box<Expr>,
    },
    /// A field of a record or, with a number as name, of a tuple.
    Field(Box<Expr>, String),
    /// `e : t`: sizes in the type are bound or equated.
    Ascribe(Box<Expr>, Ty),
    /// `e :> t`: the same, meant to be looked at when the program runs.
    Coerce(Box<Expr>, Ty),
    /// A function or value under its name, and what is known of its size parameters that no argument says.
    At(Box<Expr>, Vec<(LocalId, Expr)>),
    Assert(Box<Expr>, Box<Expr>),
    Constr(String, Vec<Expr>),
    Attr(Attr, Box<Expr>),
    /// `???`, with its type as text. Its evaluation fails.
    Hole(String),
}

pub use par_syntax::ast::{Attr, RangeKind};

/// An index or a slice.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
// There are few of them, and always in a vector.
#[allow(clippy::large_enum_variant)]
pub enum IndexArg {
    /// Any integer type.
    Index(Expr),
    Slice {
        start: Option<Expr>,
        end: Option<Expr>,
        stride: Option<Expr>,
        span: Span,
    },
}

/// Form of a loop.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub enum LoopForm {
    For(LocalId, Box<Expr>),
    ForIn(Pat, Box<Expr>),
    While(Box<Expr>),
}
