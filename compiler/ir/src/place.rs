//! Source places of FLAT statements: the constructs of the source around each, and the constructs that were fused to make it.
//!
//! ```text
//! map (\row -> sum (map f row)) rows       the reduction's place: reduce (with map f), inside map, inside main
//! ```
//!
//! A statement holds the number of its [`Place`] in the program's table. CORE statements have a span of their own; what
//! fusion adds to that is kept beside the names of the variables they bind, see [`note_fusion`].

use crate::core::{Exp, Stm};
use crate::ty::{Var, Vars};
use par_runtime::Span;
use std::fmt;

/// A kind of construct that has a place of its own.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[allow(missing_docs)]
pub enum Construct {
    Function,
    Map,
    Reduce,
    Scan,
    Filter,
    Scatter,
    Hist,
    Sort,
    Update,
    If,
    Loop,
    Call,
    /// Making of an array without computation: a concatenation, a literal, a change of shape.
    Array,
    /// No construct of the source: rows that are views are put one after the other.
    Pack,
}

impl Construct {
    /// Construct of an expression of CORE.
    pub fn of(exp: &Exp) -> Construct {
        match exp {
            Exp::Map { .. } => Construct::Map,
            Exp::Reduce { .. } => Construct::Reduce,
            Exp::Scan { .. } => Construct::Scan,
            Exp::Filter { .. } => Construct::Filter,
            Exp::Scatter { .. } => Construct::Scatter,
            Exp::Hist { .. } => Construct::Hist,
            Exp::Sort { .. } => Construct::Sort,
            Exp::Update { .. } => Construct::Update,
            Exp::If { .. } => Construct::If,
            Exp::Loop { .. } => Construct::Loop,
            Exp::Call(..) => Construct::Call,
            _ => Construct::Array,
        }
    }
}

impl fmt::Display for Construct {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Construct::Function => "function",
            Construct::Map => "map",
            Construct::Reduce => "reduce",
            Construct::Scan => "scan",
            Construct::Filter => "filter",
            Construct::Scatter => "scatter",
            Construct::Hist => "histogram",
            Construct::Sort => "sort",
            Construct::Update => "update",
            Construct::If => "if",
            Construct::Loop => "loop",
            Construct::Call => "call",
            Construct::Array => "array",
            Construct::Pack => "packing",
        })
    }
}

/// One construct of the source.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[allow(missing_docs)]
pub struct Part {
    pub construct: Construct,
    pub span: Span,
}

/// Rule of a derivative: how a construct was differentiated backward, and what is kept for that.
#[derive(Clone, PartialEq, Debug)]
pub struct Rule {
    /// The construct.
    pub part: Part,
    /// A variable that the construct binds where its values are computed.
    pub made: Var,
    /// The rule in words.
    pub text: &'static str,
    /// Values kept for it, in words with their bytes; empty if there are none.
    pub kept: Vec<String>,
}

/// Every construct that a CORE statement consists of, its own first.
pub fn parts_of(stm: &Stm, vars: &Vars) -> Vec<Part> {
    vars.origins.parts(own(stm), stm.pat.iter().map(|p| p.var))
}

/// Notes that the statement with the results `made` was fused from these.
pub fn note_fusion<'a>(
    vars: &mut Vars,
    made: impl IntoIterator<Item = Var>,
    from: impl IntoIterator<Item = &'a Stm>,
) {
    let from = from.into_iter().map(|s| (own(s), s.pat.iter().map(|p| p.var)));
    vars.origins.note_fusion(made, from);
}

/// A statement's own part.
fn own(stm: &Stm) -> Part {
    Part { construct: Construct::of(&stm.exp), span: stm.span }
}

/// Number of a place in its program's [`Places`]; the default is nowhere.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct PlaceId(u32);

/// Source place of a statement.
#[derive(Clone, PartialEq, Debug)]
pub struct Place {
    /// The construct around it.
    pub parent: PlaceId,
    /// The construct itself, then what was fused with it.
    pub parts: Vec<Part>,
}

/// The places of a program.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Places(Vec<Place>);

impl Places {
    /// Adds a place.
    pub fn add(&mut self, parent: PlaceId, parts: Vec<Part>) -> PlaceId {
        self.0.push(Place { parent, parts });
        PlaceId(self.0.len() as u32)
    }

    /// A place for what two statements have become: the first one's, with what the second comes from fused into it.
    pub fn fused(&mut self, a: PlaceId, b: PlaceId) -> PlaceId {
        let (Some(first), Some(second)) = (self.get(a), self.get(b)) else { return a };
        let mut parts = first.parts.clone();
        second.parts.iter().for_each(|p| {
            if !parts.contains(p) {
                parts.push(*p);
            }
        });
        let parent = first.parent;
        self.add(parent, parts)
    }

    /// A place; `None` for nowhere.
    pub fn get(&self, id: PlaceId) -> Option<&Place> {
        self.0.get((id.0 as usize).checked_sub(1)?)
    }

    /// The place and those around it, from the inside out.
    pub fn path(&self, id: PlaceId) -> impl Iterator<Item = &Place> {
        std::iter::successors(self.get(id), |p| self.get(p.parent))
    }
}
