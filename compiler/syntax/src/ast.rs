//! The syntax tree: what was written, with places. Covers the whole grammar of the language; later phases say
//! what they do not support yet.

use crate::late::Late;
pub use par_runtime::{Prim, Scalar, Span};
use std::sync::OnceLock;

/// A name as written: `x`, `i32.max`, `m.n.f` (module path first), or an operator (`+`, `<+>`).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub struct Name {
    pub path: Vec<String>,
    pub base: String,
    pub span: Span,
}

/// An identifier that is being bound.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub struct Ident {
    pub name: String,
    pub span: Span,
}

/// A whole file.
#[derive(Clone, Debug, Default, PartialEq)]
#[allow(missing_docs)]
pub struct File {
    pub decs: Vec<Dec>,
    /// Another file imports it: its names are seen only by those that do.
    pub imported: bool,
    /// Its imports: the path as written, and the number of that file.
    pub imports: Vec<(String, u32)>,
}

/// `#[name]`, `#[name(arg, …)]`.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct Attr {
    pub name: String,
    pub args: Vec<String>,
    pub span: Span,
}

/// A declaration.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct Dec {
    pub kind: DecKind,
    pub attrs: Vec<Attr>,
    /// Text of the `-- |` comment before it.
    pub doc: Option<String>,
    pub span: Span,
}

/// The kinds of declarations.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub enum DecKind {
    /// `def`, `let` (old style), `entry`; a `val`-like constant has no params.
    Def(Definition),
    /// `type name params = ty`; lifted types `type^`, `type~`.
    Type { name: Ident, params: Vec<TypeParam>, ty: TypeExp, lifted: Option<char> },
    /// `module name params : sig = body`.
    Module { name: Ident, params: Vec<(Ident, SigExp)>, sig: Option<SigExp>, body: ModExp },
    /// `module type name = sig`.
    ModuleType { name: Ident, sig: SigExp },
    /// `open m`.
    Open(ModExp),
    /// `local dec`.
    Local(Box<Dec>),
    /// `import "path"`, or `module m = import "path"` by way of `Module`.
    Import { path: String, span: Span },
}

/// A definition as a declaration; dereferences to its [`Def`]. In files of the library it is parsed when somebody does that, see
/// [`parse_late`](crate::parse_late).
#[derive(Clone)]
pub struct Definition {
    pub(crate) known: OnceLock<Box<Def>>,
    /// Its source text, if it was not parsed with its file.
    pub(crate) late: Option<Late>,
}

/// A function or value definition.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct Def {
    pub name: Ident,
    pub entry: bool,
    pub type_params: Vec<TypeParam>,
    pub params: Vec<Pat>,
    pub ret: Option<TypeExp>,
    pub body: Exp,
}

/// `[n]` or `'t`, `'^t`, `'~t`.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub enum TypeParam {
    Size(Ident),
    Type(Ident, Option<char>),
}

/// A module expression.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub enum ModExp {
    Name(Name),
    Struct(Vec<Dec>, Span),
    Apply(Box<ModExp>, Box<ModExp>, Span),
    Import(String, Span),
    Ascribe(Box<ModExp>, Box<SigExp>, Span),
    Lambda(Ident, Box<SigExp>, Box<ModExp>, Span),
}

/// A module type expression.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub enum SigExp {
    Name(Name),
    Specs(Vec<Spec>, Span),
    With(Box<SigExp>, Name, Vec<TypeParam>, TypeExp, Span),
    Arrow(Option<Ident>, Box<SigExp>, Box<SigExp>, Span),
}

/// An item of a module type.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub enum Spec {
    Val { name: Ident, params: Vec<TypeParam>, ty: TypeExp },
    Type { name: Ident, params: Vec<TypeParam>, ty: Option<TypeExp>, lifted: Option<char> },
    Module { name: Ident, sig: SigExp },
    Include(SigExp),
    Attr(Attr, Box<Spec>),
}

/// A type as written.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct TypeExp {
    pub kind: TypeKind,
    pub span: Span,
}

/// The kinds of type expressions.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub enum TypeKind {
    /// A named type or type variable (`'t` is used as `t`), with arguments.
    Name(Name, Vec<TypeArg>),
    Tuple(Vec<TypeExp>),
    Record(Vec<(Ident, TypeExp)>),
    /// `[size]elem`.
    Array(SizeExp, Box<TypeExp>),
    /// `*t`.
    Unique(Box<TypeExp>),
    /// `(x: a) -> b`, `a -> b`.
    Arrow(Option<Ident>, Box<TypeExp>, Box<TypeExp>),
    /// `#a t1 t2 | #b`.
    Sum(Vec<(Ident, Vec<TypeExp>)>),
    /// `?[n][m].t`.
    Exists(Vec<Ident>, Box<TypeExp>),
}

/// A type argument: `[n]` or a type.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub enum TypeArg {
    Size(SizeExp),
    Type(TypeExp),
}

/// Size in the brackets of an array type.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub enum SizeExp {
    Anonymous(Span),
    Exp(Box<Exp>),
}

/// A pattern.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct Pat {
    pub kind: PatKind,
    pub span: Span,
}

/// The kinds of patterns.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub enum PatKind {
    Name(String),
    Wildcard,
    Tuple(Vec<Pat>),
    /// A field without a pattern binds its own name.
    Record(Vec<(Ident, Option<Pat>)>),
    Ascribe(Box<Pat>, TypeExp),
    Literal(Literal),
    Constr(Ident, Vec<Pat>),
    Attr(Attr, Box<Pat>),
}

/// A literal as written. The text of a number is kept exactly (without suffix and underscores resolved later).
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub enum Literal {
    /// Decimal, hex, binary integer; value as magnitude and sign, optional suffix.
    Int {
        value: i128,
        suffix: Option<Prim>,
    },
    /// Float with its text (decimal or hex float), optional suffix.
    Float {
        text: String,
        suffix: Option<Prim>,
    },
    Bool(bool),
    /// `'c'`: a `u8`-typed (or any integer) number of the character.
    Char(char),
    /// `"…"`: UTF-8 bytes, `[]u8`.
    String(Vec<u8>),
}

/// An expression.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct Exp {
    pub kind: ExpKind,
    pub span: Span,
}

/// The kinds of expressions.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub enum ExpKind {
    Name(Name),
    Literal(Literal),
    Tuple(Vec<Exp>),
    /// A field without a value takes the variable of its name.
    Record(Vec<(Ident, Option<Exp>)>),
    Array(Vec<Exp>),
    /// `start..<end`, `start..second...end` and so on.
    Range {
        start: Box<Exp>,
        second: Option<Box<Exp>>,
        end: Box<Exp>,
        kind: RangeKind,
    },
    /// `f a b`.
    Apply(Box<Exp>, Vec<Exp>),
    /// Infix use of an operator, precedence resolved. Backticked names too. `&&`, `||`, `|>`, `<|` included.
    Binary {
        op: Name,
        left: Box<Exp>,
        right: Box<Exp>,
    },
    /// `-x`.
    Negate(Box<Exp>),
    /// `!x`.
    Not(Box<Exp>),
    /// `(+)`, also ``(`f`)``.
    Operator(Name),
    /// `(x +)`.
    SectionLeft(Name, Box<Exp>),
    /// `(+ x)`.
    SectionRight(Name, Box<Exp>),
    /// `(.a.b)` or `(.0)`.
    SectionField(Vec<Ident>),
    /// `(.[i, j])`.
    SectionIndex(Vec<IndexArg>),
    /// `\p1 p2 : t -> e`.
    Lambda {
        params: Vec<Pat>,
        ret: Option<TypeExp>,
        body: Box<Exp>,
    },
    /// `let [n] pat = e in e`.
    Let {
        sizes: Vec<Ident>,
        pat: Pat,
        value: Box<Exp>,
        body: Box<Exp>,
    },
    /// `let f [n] 't p1 p2 : t = e in e`.
    LetFun {
        def: Box<Def>,
        body: Box<Exp>,
    },
    /// `let a[i, j] = e in e`.
    LetWith {
        name: Ident,
        place: Vec<Step>,
        value: Box<Exp>,
        body: Box<Exp>,
    },
    If {
        cond: Box<Exp>,
        then: Box<Exp>,
        other: Box<Exp>,
    },
    Match {
        value: Box<Exp>,
        cases: Vec<(Pat, Exp)>,
    },
    /// `loop [n] pat = init for … do body`; without `= init` the pattern's own names are the initial values
    /// (`init` is then the pattern as an expression).
    Loop {
        sizes: Vec<Ident>,
        pat: Pat,
        init: Box<Exp>,
        form: LoopForm,
        body: Box<Exp>,
    },
    /// `a[i, j:k, …]`.
    Index(Box<Exp>, Vec<IndexArg>),
    /// `a with [i] = v`, `r with a.b[i].c = v`.
    With {
        value: Box<Exp>,
        place: Vec<Step>,
        update: Box<Exp>,
    },
    /// `e.field` or `e.0`.
    Field(Box<Exp>, Ident),
    /// `e : t`.
    Ascribe(Box<Exp>, TypeExp),
    /// `e :> t`.
    Coerce(Box<Exp>, TypeExp),
    /// `assert c e`.
    Assert(Box<Exp>, Box<Exp>),
    /// `#c e1 e2`.
    Constr(Ident, Vec<Exp>),
    /// `#[attr] e`.
    Attr(Attr, Box<Exp>),
    /// `???`.
    Hole,
    /// `(e)`: kept so that the printer gives back what was written.
    Parens(Box<Exp>),
    /// `m.(e)`: names of `m` in scope.
    OpenIn(Name, Box<Exp>),
}

/// Kind of a range, by its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum RangeKind {
    /// `...`
    Inclusive,
    /// `..<`
    UpTo,
    /// `..>`
    DownTo,
    /// `..` (legacy exclusive spelling `a..b`; means `...` with a second value given)
    Plain,
}

/// An index or a slice `start:end:stride`.
#[derive(Clone, Debug, PartialEq)]
#[allow(
    missing_docs,
    clippy::large_enum_variant,
    reason = "one tree node each; boxes would only be in the way"
)]
pub enum IndexArg {
    Index(Exp),
    Slice { start: Option<Exp>, end: Option<Exp>, stride: Option<Exp>, span: Span },
}

/// A step of the way to what an update replaces.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub enum Step {
    /// `[i, j:k]`.
    Index(Vec<IndexArg>, Span),
    /// `.field`.
    Field(Ident),
}

impl Step {
    /// Indices and slices of all steps.
    pub fn indices(place: &[Step]) -> impl Iterator<Item = &IndexArg> {
        place.iter().flat_map(|step| match step {
            Step::Index(args, _) => args.as_slice(),
            Step::Field(_) => &[],
        })
    }
}

/// Form of a loop.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub enum LoopForm {
    /// `for i < n`.
    For(Ident, Box<Exp>),
    /// `for x in xs`.
    ForIn(Pat, Box<Exp>),
    While(Box<Exp>),
}
