//! Aliasing: values that a value may share with others, as sets of roots laid out like the value.
//!
//! A root stands for the memory that one binding introduced. `let y = x[1:]` introduces none: `y` has the roots of
//! `x`, so that consuming either consumes both.
//!
//! ```text
//! let xs = iota n                  xs     {xs}
//! let t = (xs[1:], 5, copy xs)     t      ({xs}, -, {t.2})
//! let ys = if b then xs else t.2   ys     {xs, t.2}
//! let f i = ys[i]                  f      a function that has captured {xs, t.2}
//! ```

use super::calls::Operand;
use crate::thir::Ty;
use par_ir::hash::HashMap;
use std::collections::BTreeSet;
use std::rc::Rc;

/// Memory that a binding introduced: index into the roots of the check.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub struct Root(pub u32);

/// A set of roots.
pub type Roots = BTreeSet<Root>;

/// Roots that a value may share with others.
#[derive(Clone, Debug)]
pub enum Alias {
    /// Nothing: numbers are copied.
    Scalar,
    /// An array, a value of a sum type, or one of a type that is a parameter.
    Array(Roots),
    /// A tuple, or a record with its fields sorted.
    Parts(Vec<Alias>),
    /// A function, with what it captured or was given.
    Function(Roots, Rc<Function>),
}

/// A function with its first arguments, if there are any.
#[derive(Debug)]
pub struct Function {
    pub signature: Rc<Signature>,
    pub given: Vec<Operand>,
    /// Among what it was given is a function that consumes.
    pub holds_consumer: bool,
    /// No roots but those of its own parameters are in it.
    closed: bool,
}

/// Effect of a call on its arguments.
#[derive(Debug)]
pub struct Signature {
    /// Each leaf has one root, which says whether the argument is consumed.
    pub params: Vec<Alias>,
    /// In terms of the roots of the parameters and of what the function captured.
    pub result: Alias,
    pub code: Code,
}

/// Source of knowledge about what a function does with functions that it is given.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Code {
    /// Only its type is known.
    Unknown,
    /// A builtin: it calls them on the elements of the arrays that it is given.
    Builtin,
    /// Its body: index into the bodies of the check.
    Body(usize),
}

impl Function {
    /// A function without arguments so far.
    pub fn bare(signature: Rc<Signature>) -> Rc<Function> {
        Function::new(signature, Vec::new(), false)
    }

    /// A function with its first arguments.
    pub fn new(signature: Rc<Signature>, given: Vec<Operand>, holds_consumer: bool) -> Rc<Function> {
        let own = all(&signature.params);
        let closed =
            signature.result.is_within(&own) && given.iter().all(|g| g.alias.is_within(&Roots::new()));
        Rc::new(Function { signature, given, holds_consumer, closed })
    }

    /// The same where the roots in the result and the arguments become others.
    fn with(
        self: &Rc<Self>,
        of_result: impl FnOnce(&Alias) -> Alias,
        of: &dyn Fn(&Alias) -> Alias,
    ) -> Rc<Function> {
        // Functions that are given to each other may share so much that they cannot be written out.
        if self.closed {
            return self.clone();
        }
        let given = self.given.iter().map(|g| Operand { alias: of(&g.alias), ..g.clone() }).collect();
        let Signature { params, result, code } = &*self.signature;
        let signature = Signature { params: params.clone(), result: of_result(result), code: *code };
        Function::new(Rc::new(signature), given, self.holds_consumer)
    }
}

impl Alias {
    /// An array of its own.
    pub fn fresh() -> Alias {
        Alias::Array(Roots::new())
    }

    /// All roots in it.
    pub fn flat(&self) -> Roots {
        let mut out = Roots::new();
        self.collect(&mut out);
        out
    }

    /// True if all roots are among these.
    fn is_within(&self, known: &Roots) -> bool {
        match self {
            Alias::Scalar => true,
            Alias::Array(roots) => roots.is_subset(known),
            Alias::Parts(parts) => parts.iter().all(|p| p.is_within(known)),
            Alias::Function(roots, f) => f.closed && roots.is_subset(known),
        }
    }

    fn collect(&self, out: &mut Roots) {
        match self {
            Alias::Scalar => {}
            Alias::Array(roots) | Alias::Function(roots, _) => out.extend(roots),
            Alias::Parts(parts) => parts.iter().for_each(|p| p.collect(out)),
        }
    }

    /// A component of a tuple or record; of something less well known, anything in it.
    pub fn part(&self, i: usize) -> Alias {
        match self {
            Alias::Parts(parts) if i < parts.len() => parts[i].clone(),
            Alias::Scalar => Alias::Scalar,
            other => Alias::Array(other.flat()),
        }
    }

    /// The same, laid out like a type.
    pub fn fit(self, ty: &Ty) -> Alias {
        match ty {
            Ty::Prim(_) => Alias::Scalar,
            Ty::Unique(t) => self.fit(t),
            Ty::Tuple(ts) => Alias::Parts(ts.iter().enumerate().map(|(i, t)| self.part(i).fit(t)).collect()),
            Ty::Record(fs) => {
                Alias::Parts(fs.iter().enumerate().map(|(i, (_, t))| self.part(i).fit(t)).collect())
            }
            Ty::Array(..) | Ty::Sum(_) => Alias::Array(self.flat()),
            Ty::Fun(..) if !matches!(self, Alias::Function(..)) => Alias::Array(self.flat()),
            Ty::Fun(..) | Ty::Var(_) | Ty::Meta(_) | Ty::Abstract(..) => self,
        }
    }

    /// Laid out the same, but sharing nothing.
    pub fn cleared(&self) -> Alias {
        match self {
            Alias::Scalar => Alias::Scalar,
            Alias::Array(_) | Alias::Function(..) => Alias::fresh(),
            Alias::Parts(parts) => Alias::Parts(parts.iter().map(Alias::cleared).collect()),
        }
    }

    /// Sharing nothing where a declared result says `*`.
    pub fn masked(self, ty: &Ty) -> Alias {
        match (self, ty) {
            (alias, Ty::Unique(_)) => alias.cleared(),
            (Alias::Parts(parts), Ty::Tuple(ts)) => {
                Alias::Parts(parts.into_iter().zip(ts).map(|(p, t)| p.masked(t)).collect())
            }
            (Alias::Parts(parts), Ty::Record(fs)) => {
                Alias::Parts(parts.into_iter().zip(fs).map(|(p, (_, t))| p.masked(t)).collect())
            }
            (alias, _) => alias,
        }
    }

    /// One or the other, as after `if`.
    pub fn join(self, other: Alias) -> Alias {
        match (self, other) {
            (Alias::Scalar, b) => b,
            (a, Alias::Scalar) => a,
            (Alias::Parts(a), Alias::Parts(b)) if a.len() == b.len() => {
                Alias::Parts(a.into_iter().zip(b).map(|(a, b)| a.join(b)).collect())
            }
            (Alias::Function(a, f), Alias::Function(b, g)) => joined_functions(a, &f, &b, &g),
            (a, b) => Alias::Array(a.flat().union(&b.flat()).copied().collect()),
        }
    }

    /// Only the roots that are kept. The parameters of functions inside keep theirs.
    pub fn pruned(&self, keep: &dyn Fn(Root) -> bool) -> Alias {
        let of = |roots: &Roots| roots.iter().copied().filter(|r| keep(*r)).collect::<Roots>();
        match self {
            Alias::Scalar => Alias::Scalar,
            Alias::Array(roots) => Alias::Array(of(roots)),
            Alias::Parts(parts) => Alias::Parts(parts.iter().map(|p| p.pruned(keep)).collect()),
            Alias::Function(roots, f) => {
                let own = all(&f.signature.params);
                let result = |result: &Alias| result.pruned(&|r| own.contains(&r) || keep(r));
                Alias::Function(of(roots), f.with(result, &|given| given.pruned(keep)))
            }
        }
    }

    /// With values in the place of the roots of parameters.
    pub fn substituted(&self, given: &HashMap<Root, Alias>) -> Alias {
        match self {
            Alias::Scalar => Alias::Scalar,
            Alias::Array(roots) => match (roots.len(), roots.first().and_then(|r| given.get(r))) {
                (1, Some(value)) => value.clone(),
                _ => Alias::Array(replaced(roots, given)),
            },
            Alias::Parts(parts) => Alias::Parts(parts.iter().map(|p| p.substituted(given)).collect()),
            Alias::Function(roots, f) => {
                let all = |a: &Alias| a.substituted(given);
                Alias::Function(replaced(roots, given), f.with(all, &all))
            }
        }
    }
}

/// All roots in several values.
pub fn all(aliases: &[Alias]) -> Roots {
    aliases.iter().flat_map(Alias::flat).collect()
}

/// Each leaf of a pattern or parameter, which has one root, with the part of a value that goes there.
pub fn leaves(pattern: &Alias, value: &Alias) -> Vec<(Root, Alias)> {
    match pattern {
        Alias::Scalar => Vec::new(),
        Alias::Array(roots) | Alias::Function(roots, _) => {
            roots.iter().map(|root| (*root, value.clone())).collect()
        }
        Alias::Parts(ps) => ps.iter().enumerate().flat_map(|(i, p)| leaves(p, &value.part(i))).collect(),
    }
}

fn replaced(roots: &Roots, given: &HashMap<Root, Alias>) -> Roots {
    roots.iter().flat_map(|r| given.get(r).map_or_else(|| Roots::from([*r]), Alias::flat)).collect()
}

/// Either of two functions. Two different ones that take as many arguments are taken for the first one, with what
/// both captured.
fn joined_functions(mut a: Roots, f: &Function, b: &Roots, g: &Function) -> Alias {
    a.extend(b);
    let (f, g, given) = (&f.signature, &g.signature, f.given.len() + g.given.len());
    if f.params.len() != g.params.len() || given > 0 {
        return Alias::Array(a);
    }
    let own: HashMap<Root, Alias> = g.params.iter().zip(&f.params).flat_map(|(g, f)| leaves(g, f)).collect();
    let result = f.result.clone().join(g.result.substituted(&own));
    let signature = Signature { params: f.params.clone(), result, code: Code::Unknown };
    Alias::Function(a, Function::bare(Rc::new(signature)))
}
