//! Types of generated programs.

use par_runtime::Prim;
use std::fmt;

/// A type. Sizes are anonymous: every array may be irregular.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Ty {
    /// A scalar.
    Prim(Prim),
    /// Two components or more.
    Tuple(Vec<Ty>),
    /// Fields in the order of their names.
    Record(Vec<(&'static str, Ty)>),
    /// The sum type `sN` of the program: its constructors with their payloads.
    Sum(usize, Vec<(&'static str, Vec<Ty>)>),
    /// `[]t`.
    Array(Box<Ty>),
}

/// The type of sizes and indices.
pub const I64: Ty = Ty::Prim(Prim::I64);

/// The type of conditions.
pub const BOOL: Ty = Ty::Prim(Prim::Bool);

/// `[]t`.
pub fn array(elem: Ty) -> Ty {
    Ty::Array(Box::new(elem))
}

impl Ty {
    /// The scalar type.
    pub fn prim(&self) -> Option<Prim> {
        match self {
            Ty::Prim(p) => Some(*p),
            _ => None,
        }
    }

    /// A floating point number.
    pub fn is_float(&self) -> bool {
        self.prim().is_some_and(Prim::is_float)
    }

    /// The type of an array's elements.
    pub fn elem(&self) -> Option<&Ty> {
        match self {
            Ty::Array(elem) => Some(elem),
            _ => None,
        }
    }

    /// A scalar, or a tuple or record of scalars.
    pub fn is_flat(&self) -> bool {
        match self {
            Ty::Prim(_) => true,
            Ty::Tuple(ts) => ts.iter().all(Ty::is_flat),
            Ty::Record(fs) => fs.iter().all(|(_, t)| t.is_flat()),
            Ty::Sum(..) | Ty::Array(_) => false,
        }
    }

    /// True if sorting has an order for it: numbers, bools and tuples of them.
    pub fn is_ordered(&self) -> bool {
        match self {
            Ty::Prim(_) => true,
            Ty::Tuple(ts) => ts.iter().all(Ty::is_ordered),
            _ => false,
        }
    }

    /// True if a floating point number is in it.
    pub fn has_floats(&self) -> bool {
        match self {
            Ty::Prim(p) => p.is_float(),
            Ty::Tuple(ts) => ts.iter().any(Ty::has_floats),
            Ty::Record(fs) => fs.iter().any(|(_, t)| t.has_floats()),
            Ty::Sum(_, cs) => cs.iter().flat_map(|(_, ts)| ts).any(Ty::has_floats),
            Ty::Array(t) => t.has_floats(),
        }
    }

    /// Number of array dimensions on the outside.
    pub fn rank(&self) -> usize {
        self.elem().map_or(0, |t| 1 + t.rank())
    }
}

impl fmt::Display for Ty {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Ty::Prim(p) => write!(f, "{p}"),
            Ty::Tuple(ts) => {
                let ts: Vec<String> = ts.iter().map(Ty::to_string).collect();
                write!(f, "({})", ts.join(", "))
            }
            Ty::Record(fs) => {
                let fs: Vec<String> = fs.iter().map(|(n, t)| format!("{n}: {t}")).collect();
                write!(f, "{{{}}}", fs.join(", "))
            }
            Ty::Sum(n, _) => write!(f, "s{n}"),
            Ty::Array(t) => write!(f, "[]{t}"),
        }
    }
}

/// The declaration of a sum type.
pub fn declaration(n: usize, constructors: &[(&str, Vec<Ty>)]) -> String {
    let one = |(name, payload): &(&str, Vec<Ty>)| {
        payload.iter().fold(format!("#{name}"), |text, t| format!("{text} ({t})"))
    };
    let all: Vec<String> = constructors.iter().map(one).collect();
    format!("type s{n} = {}", all.join(" | "))
}
