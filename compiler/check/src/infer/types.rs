//! Inference variables and unification.
//!
//! Inference works on *erased* types: no sizes and no uniqueness ([`erase`]); what was declared stays on patterns,
//! results and ascriptions only. A variable ([`Ty::Meta`]) carries a [`Class`] (which types it may become) and a level:
//! the nesting depth of the function it was made in. A variable is generalised by the function at whose level it lives.

use crate::thir::{Holds, Size, Ty, TyArg, TyVar};
use par_ir::hash::HashMap;
use par_runtime::Prim;

/// A set of scalar types.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct PrimSet {
    bits: u16,
    /// Of the bounds of slices, which are `i64` if nothing says what they are.
    bounds: bool,
}

impl PrimSet {
    /// The scalar types that satisfy a predicate.
    fn of(keep: impl Fn(Prim) -> bool) -> PrimSet {
        let bits = Prim::ALL.into_iter().filter(|&p| keep(p)).map(|p| 1 << p as u16).sum();
        PrimSet { bits, bounds: false }
    }

    /// The integers that bound slices.
    pub(super) fn bounds() -> PrimSet {
        PrimSet { bounds: true, ..PrimSet::integers() }
    }

    fn meet(self, other: PrimSet) -> Option<PrimSet> {
        let bits = self.bits & other.bits;
        (bits != 0).then_some(PrimSet { bits, bounds: self.bounds || other.bounds })
    }

    /// All integers and floats.
    pub(super) fn numbers() -> PrimSet {
        PrimSet::of(|p| p != Prim::Bool)
    }

    /// All integers.
    pub(super) fn integers() -> PrimSet {
        PrimSet::of(Prim::is_integer)
    }

    /// All floats.
    pub(super) fn floats() -> PrimSet {
        PrimSet::of(Prim::is_float)
    }

    /// Ordered types: all scalar types, `false` before `true`.
    pub(super) fn all() -> PrimSet {
        PrimSet::of(|_| true)
    }

    /// Types with bits: `!` and `&` take these.
    pub(super) fn integers_and_bool() -> PrimSet {
        PrimSet::of(|p| !p.is_float())
    }

    /// True if the type is in the set.
    pub(super) fn contains(self, prim: Prim) -> bool {
        self.bits & (1 << prim as u16) != 0
    }

    /// Default of a variable of this class, if nothing else determines it.
    fn default(self) -> Prim {
        let preferred = if self.bounds { [Prim::I64, Prim::F64] } else { [Prim::I32, Prim::F64] };
        let all = preferred.into_iter().chain(Prim::ALL);
        all.into_iter().find(|&p| self.contains(p)).unwrap_or(Prim::I32)
    }

    /// For messages.
    pub(super) fn describe(self) -> &'static str {
        if self.bits == PrimSet::integers().bits {
            "integer"
        } else if self.bits == PrimSet::floats().bits {
            "float"
        } else if self.bits == PrimSet::numbers().bits {
            "number"
        } else if self.bits == PrimSet::all().bits {
            "number or bool"
        } else {
            "integer or bool"
        }
    }
}

/// Maximum number of parts of a type: far more than anybody writes.
pub(super) const MAX_TYPE_SIZE: usize = 20_000;

/// Constraint on the types that a variable may stand for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Class {
    /// Every type.
    Any,
    /// Every type without functions: what branches and loops give.
    Joined,
    /// Every type without functions and accumulators: what arrays hold.
    Data,
    /// Every type whose values can be compared.
    Eq,
    /// One of these scalar types.
    Prims(PrimSet),
}

impl Class {
    /// The types in both classes; `None` if there are none.
    fn meet(self, other: Class) -> Option<Class> {
        match (self, other) {
            (Class::Any, c) | (c, Class::Any) => Some(c),
            (Class::Joined, c) | (c, Class::Joined) => Some(c),
            (Class::Data, c) | (c, Class::Data) => Some(c),
            (Class::Eq, c) | (c, Class::Eq) => Some(c),
            (Class::Prims(a), Class::Prims(b)) => a.meet(b).map(Class::Prims),
        }
    }
}

/// The state of an inference variable.
#[derive(Clone, Debug)]
enum Meta {
    Free {
        class: Class,
        level: u32,
    },
    Bound(Ty),
    /// The type of something wrong that was reported; agrees with everything.
    Poison,
}

/// Why two types cannot be made equal.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Clash {
    /// Different constructors.
    Mismatch,
    /// A type variable would contain itself.
    Infinite,
    /// The type is not in the class that an operator or literal needs.
    Class(Class),
}

/// A type with quantified variables.
#[derive(Clone, Debug)]
pub(super) struct Scheme {
    pub(super) vars: Vec<TyVar>,
    pub(super) ty: Ty,
}

impl Scheme {
    /// A type without quantified variables.
    pub(super) fn mono(ty: Ty) -> Scheme {
        Scheme { vars: Vec::new(), ty }
    }
}

/// All inference variables of the group of definitions being checked.
#[derive(Default)]
pub(super) struct Types {
    metas: Vec<Meta>,
    /// Old states, newest last, to undo a failed unification.
    trail: Vec<(u32, Meta)>,
    /// The nesting depth of functions at this point.
    pub(super) level: u32,
    /// The level at which a type parameter was declared, and the types it stands for, by number.
    pub(super) vars: Vec<(u32, Class)>,
}

impl Types {
    /// A new variable at the current level.
    pub(super) fn fresh(&mut self, class: Class) -> Ty {
        self.metas.push(Meta::Free { class, level: self.level });
        Ty::Meta(self.metas.len() as u32 - 1)
    }

    /// A new variable that stands for no functions.
    pub(super) fn data(&mut self) -> Ty {
        self.fresh(Class::Data)
    }

    /// A new variable without restriction.
    pub(super) fn any(&mut self) -> Ty {
        self.fresh(Class::Any)
    }

    /// The type of something wrong.
    pub(super) fn poison(&mut self) -> Ty {
        self.metas.push(Meta::Poison);
        Ty::Meta(self.metas.len() as u32 - 1)
    }

    /// Makes a type that is still open one of something wrong, after that was reported.
    pub(super) fn give_up(&mut self, ty: &Ty) {
        if let Ty::Meta(m) = self.shallow(ty) {
            self.metas[m as usize] = Meta::Poison;
        }
    }

    /// True if a (shallow) type stands for something wrong.
    pub(super) fn is_poison(&self, ty: &Ty) -> bool {
        matches!(self.shallow(ty), Ty::Meta(m) if matches!(self.metas[m as usize], Meta::Poison))
    }

    /// The class of a variable that is not solved.
    pub(super) fn class(&self, meta: u32) -> Option<Class> {
        match self.metas[meta as usize] {
            Meta::Free { class, .. } => Some(class),
            _ => None,
        }
    }

    /// The type with a solved variable at its root replaced.
    pub(super) fn shallow(&self, ty: &Ty) -> Ty {
        let mut ty = ty;
        while let Ty::Meta(m) = ty {
            match &self.metas[*m as usize] {
                Meta::Bound(t) => ty = t,
                _ => break,
            }
        }
        ty.clone()
    }

    /// The type with all solved variables replaced; sizes are kept as they are.
    pub(super) fn resolve(&self, ty: &Ty) -> Ty {
        map_leaves(ty, &mut |leaf| match leaf {
            Ty::Meta(m) => match &self.metas[*m as usize] {
                Meta::Bound(t) => self.resolve(t),
                _ => Ty::Meta(*m),
            },
            other => other.clone(),
        })
    }

    /// A copy of a scheme's type with fresh variables for its quantified ones, and those variables.
    pub(super) fn instantiate(&mut self, scheme: &Scheme) -> (Ty, Vec<Ty>) {
        if scheme.vars.is_empty() {
            return (scheme.ty.clone(), Vec::new());
        }
        let class = |v: &TyVar| self.vars.get(v.0 as usize).map_or(Class::Any, |v| v.1);
        let classes: Vec<Class> = scheme.vars.iter().map(class).collect();
        let args: Vec<Ty> = classes.into_iter().map(|class| self.fresh(class)).collect();
        let map: HashMap<TyVar, &Ty> = scheme.vars.iter().copied().zip(&args).collect();
        let ty = map_leaves(&scheme.ty, &mut |leaf| match leaf {
            Ty::Var(v) => map.get(v).map_or(Ty::Var(*v), |t| (*t).clone()),
            other => other.clone(),
        });
        (ty, args)
    }

    /// Makes two erased types equal, or changes nothing.
    pub(super) fn unify(&mut self, a: &Ty, b: &Ty) -> Result<(), Clash> {
        let start = self.trail.len();
        let result = self.equate(a, b);
        if result.is_err() {
            while self.trail.len() > start {
                if let Some((m, old)) = self.trail.pop() {
                    self.metas[m as usize] = old;
                }
            }
        } else if start == 0 {
            self.trail.clear();
        }
        result
    }

    /// Restricts a type to a class.
    pub(super) fn restrict(&mut self, ty: &Ty, class: Class) -> Result<(), Clash> {
        let meta = self.fresh(class);
        self.unify(&meta, ty)
    }

    fn set(&mut self, meta: u32, state: Meta) {
        let old = std::mem::replace(&mut self.metas[meta as usize], state);
        self.trail.push((meta, old));
    }

    fn equate(&mut self, a: &Ty, b: &Ty) -> Result<(), Clash> {
        super::deep(|| match (self.shallow(a), self.shallow(b)) {
            (Ty::Unique(a), b) | (b, Ty::Unique(a)) => self.equate(&a, &b),
            (Ty::Meta(a), Ty::Meta(b)) if a == b => Ok(()),
            (Ty::Meta(a), b) => self.bind(a, b),
            (a, Ty::Meta(b)) => self.bind(b, a),
            (Ty::Prim(a), Ty::Prim(b)) if a == b => Ok(()),
            (Ty::Var(a), Ty::Var(b)) if a == b => Ok(()),
            (Ty::Abstract(a, xs), Ty::Abstract(b, ys)) if a == b => {
                xs.iter().zip(&ys).try_for_each(|args| match args {
                    (TyArg::Type(x), TyArg::Type(y)) => self.equate(x, y),
                    _ => Ok(()),
                })
            }
            (Ty::Array(_, a), Ty::Array(_, b)) => self.equate(&a, &b),
            (Ty::Fun(a, r), Ty::Fun(b, s)) => {
                self.equate(&a, &b)?;
                self.equate(&r, &s)
            }
            (Ty::Tuple(a), Ty::Tuple(b)) if a.len() == b.len() => self.equate_all(&a, &b),
            (Ty::Record(a), Ty::Record(b)) if a.len() == b.len() => {
                a.iter().zip(&b).try_for_each(|((f, a), (g, b))| match f == g {
                    true => self.equate(a, b),
                    false => Err(Clash::Mismatch),
                })
            }
            (Ty::Sum(a), Ty::Sum(b)) if a.same(&b) => Ok(()),
            (Ty::Sum(a), Ty::Sum(b)) if a.len() == b.len() => {
                a.iter().zip(b.iter()).try_for_each(|((f, a), (g, b))| match f == g && a.len() == b.len() {
                    true => self.equate_all(a, b),
                    false => Err(Clash::Mismatch),
                })
            }
            _ => Err(Clash::Mismatch),
        })
    }

    fn equate_all(&mut self, a: &[Ty], b: &[Ty]) -> Result<(), Clash> {
        a.iter().zip(b).try_for_each(|(a, b)| self.equate(a, b))
    }

    /// Solves a variable. `ty` is shallow and not the variable itself.
    fn bind(&mut self, meta: u32, ty: Ty) -> Result<(), Clash> {
        let Meta::Free { class, level } = self.metas[meta as usize] else { return Ok(()) };
        match ty {
            Ty::Meta(other) => self.join(meta, other, class, level),
            ty => {
                self.classify(&ty, class)?;
                self.admit(meta, level, &ty)?;
                self.set(meta, Meta::Bound(erase(&ty)));
                Ok(())
            }
        }
    }

    /// Makes two different unsolved variables one.
    fn join(&mut self, a: u32, b: u32, class: Class, level: u32) -> Result<(), Clash> {
        let Meta::Free { class: other, level: other_level } = self.metas[b as usize] else {
            // What is wrong stays wrong wherever it goes.
            self.set(a, Meta::Bound(Ty::Meta(b)));
            return Ok(());
        };
        let both = class.meet(other).ok_or(Clash::Class(class))?;
        let (newer, older) = (a.max(b), a.min(b));
        self.set(newer, Meta::Bound(Ty::Meta(older)));
        self.set(older, Meta::Free { class: both, level: level.min(other_level) });
        Ok(())
    }

    /// Checks that `meta` does not occur in `ty` and moves the variables in it to the outer of the two levels.
    fn admit(&mut self, meta: u32, level: u32, ty: &Ty) -> Result<(), Clash> {
        let mut leaves = Vec::new();
        self.leaves(ty, &mut leaves);
        for leaf in leaves {
            match leaf {
                Ty::Meta(m) if m == meta => return Err(Clash::Infinite),
                Ty::Meta(m) => {
                    if let Meta::Free { class, level: inner } = self.metas[m as usize]
                        && inner > level
                    {
                        self.set(m, Meta::Free { class, level });
                    }
                }
                Ty::Var(v) if self.vars[v.0 as usize].0 > level => return Err(Clash::Mismatch),
                _ => {}
            }
        }
        Ok(())
    }

    /// Checks that a type that is not a variable is in a class.
    fn classify(&mut self, ty: &Ty, class: Class) -> Result<(), Clash> {
        match class {
            Class::Any => Ok(()),
            Class::Prims(set) => match ty {
                Ty::Prim(p) if set.contains(*p) => Ok(()),
                _ => Err(Clash::Class(class)),
            },
            Class::Joined | Class::Data | Class::Eq => self.plain(ty, class),
        }
    }

    /// Checks that a type is in a class of types without functions, and keeps it so. What a hidden type's values are is hidden,
    /// whether they are equal too.
    fn plain(&mut self, ty: &Ty, class: Class) -> Result<(), Clash> {
        match self.shallow(ty) {
            Ty::Fun(..) => Err(Clash::Class(class)),
            Ty::Abstract(ty, _) if ty.holds == Holds::Functions || class == Class::Eq => {
                Err(Clash::Class(class))
            }
            Ty::Abstract(ty, _) if ty.holds == Holds::Writes && class != Class::Joined => {
                Err(Clash::Class(class))
            }
            Ty::Var(v) if self.vars[v.0 as usize].1 == Class::Any => Err(Clash::Class(class)),
            Ty::Prim(_) | Ty::Var(_) | Ty::Abstract(..) => Ok(()),
            Ty::Array(_, t) | Ty::Unique(t) => self.plain(&t, class),
            Ty::Tuple(ts) => ts.iter().try_for_each(|t| self.plain(t, class)),
            Ty::Record(fs) => fs.iter().try_for_each(|(_, t)| self.plain(t, class)),
            Ty::Sum(cs) if cs.is_closed() => Ok(()),
            Ty::Sum(cs) => cs.payloads().try_for_each(|t| self.plain(t, class)),
            Ty::Meta(m) => {
                if let Meta::Free { class: old @ (Class::Any | Class::Joined | Class::Data), level } =
                    self.metas[m as usize]
                    && let Some(class) = old.meet(class)
                {
                    self.set(m, Meta::Free { class, level });
                }
                Ok(())
            }
        }
    }

    /// True if a type may have functions in it: such a one, or a lifted name.
    pub(super) fn is_lifted(&self, ty: &Ty) -> bool {
        any_part(ty, &mut |t| match t {
            Ty::Fun(..) => true,
            Ty::Abstract(hidden, _) => hidden.holds == Holds::Functions,
            Ty::Var(v) => self.vars[v.0 as usize].1 == Class::Any,
            _ => false,
        })
    }

    /// True if a type has more than [`MAX_TYPE_SIZE`] parts when written out.
    pub(super) fn is_huge(&self, ty: &Ty) -> bool {
        self.count_parts(ty, &mut MAX_TYPE_SIZE.clone()).is_none()
    }

    /// Takes the parts of a type from what is left; `None` if that is too little.
    fn count_parts(&self, ty: &Ty, left: &mut usize) -> Option<()> {
        *left = left.checked_sub(1)?;
        super::deep(|| match ty {
            Ty::Meta(m) => match &self.metas[*m as usize] {
                Meta::Bound(t) => self.count_parts(t, left),
                _ => Some(()),
            },
            Ty::Prim(_) | Ty::Var(_) => Some(()),
            Ty::Abstract(_, args) => type_args(args).try_for_each(|t| self.count_parts(t, left)),
            Ty::Array(_, t) | Ty::Unique(t) => self.count_parts(t, left),
            Ty::Fun(a, r) => {
                self.count_parts(a, left)?;
                self.count_parts(r, left)
            }
            Ty::Tuple(ts) => ts.iter().try_for_each(|t| self.count_parts(t, left)),
            Ty::Record(fs) => fs.iter().try_for_each(|(_, t)| self.count_parts(t, left)),
            Ty::Sum(cs) => cs.payloads().try_for_each(|t| self.count_parts(t, left)),
        })
    }

    /// The unsolved variables and type parameters in a type, in order, with repetitions.
    pub(super) fn leaves(&self, ty: &Ty, out: &mut Vec<Ty>) {
        super::deep(|| match ty {
            Ty::Meta(m) => match &self.metas[*m as usize] {
                Meta::Bound(t) => self.leaves(t, out),
                _ => out.push(ty.clone()),
            },
            Ty::Var(_) => out.push(ty.clone()),
            Ty::Prim(_) => {}
            Ty::Abstract(_, args) => type_args(args).for_each(|t| self.leaves(t, out)),
            Ty::Array(_, t) | Ty::Unique(t) => self.leaves(t, out),
            Ty::Fun(a, r) => {
                self.leaves(a, out);
                self.leaves(r, out);
            }
            Ty::Tuple(ts) => ts.iter().for_each(|t| self.leaves(t, out)),
            Ty::Record(fs) => fs.iter().for_each(|(_, t)| self.leaves(t, out)),
            Ty::Sum(cs) if cs.is_closed() => {}
            Ty::Sum(cs) => cs.payloads().for_each(|t| self.leaves(t, out)),
        })
    }

    /// The variables in a type that a function at the current level may generalise: not restricted to some scalar
    /// types, not reachable from outside, not in `blocked`.
    pub(super) fn generalisable(&self, ty: &Ty, blocked: &[Ty], out: &mut Vec<u32>) {
        let mut leaves = Vec::new();
        self.leaves(ty, &mut leaves);
        for leaf in leaves {
            let Ty::Meta(m) = leaf else { continue };
            let Meta::Free { class, level } = self.metas[m as usize] else { continue };
            let open = !matches!(class, Class::Prims(_)) && level >= self.level;
            if open && !blocked.contains(&leaf) && !out.contains(&m) {
                out.push(m);
            }
        }
    }

    /// Solves a variable that is free, for generalisation.
    pub(super) fn solve(&mut self, meta: u32, ty: Ty) {
        self.metas[meta as usize] = Meta::Bound(ty);
    }

    /// Gives every unsolved variable that stands for scalars its default type.
    pub(super) fn default_scalars(&mut self) {
        for meta in &mut self.metas {
            if let Meta::Free { class: Class::Prims(set), .. } = *meta {
                *meta = Meta::Bound(Ty::Prim(set.default()));
            }
        }
    }

    /// Makes every variable still unsolved the unit type: nothing depends on it.
    pub(super) fn default_rest(&mut self) {
        for meta in &mut self.metas {
            if matches!(meta, Meta::Free { .. } | Meta::Poison) {
                *meta = Meta::Bound(Ty::Tuple(Vec::new()));
            }
        }
    }

    /// Forgets all variables; no type in use mentions one any more.
    pub(super) fn clear(&mut self) {
        self.metas.clear();
        self.trail.clear();
    }
}

/// A copy of a type with every leaf (scalar, type parameter, variable) replaced.
pub(super) fn map_leaves(ty: &Ty, leaf: &mut dyn FnMut(&Ty) -> Ty) -> Ty {
    rewrite(ty, &mut |t| match t {
        Ty::Prim(_) | Ty::Var(_) | Ty::Meta(_) => Some(leaf(t)),
        _ => None,
    })
}

/// A copy of a type in which every part for which `new` has something is replaced by that.
pub(super) fn rewrite(ty: &Ty, new: &mut dyn FnMut(&Ty) -> Option<Ty>) -> Ty {
    if let Some(replaced) = new(ty) {
        return replaced;
    }
    super::deep(|| match ty {
        Ty::Prim(_) | Ty::Var(_) | Ty::Meta(_) => ty.clone(),
        Ty::Abstract(id, args) => Ty::Abstract(*id, map_args(args, &mut |t| rewrite(t, new))),
        Ty::Array(s, t) => Ty::Array(s.clone(), Box::new(rewrite(t, new))),
        Ty::Unique(t) => Ty::Unique(Box::new(rewrite(t, new))),
        Ty::Fun(a, r) => Ty::Fun(Box::new(rewrite(a, new)), Box::new(rewrite(r, new))),
        Ty::Tuple(ts) => Ty::Tuple(ts.iter().map(|t| rewrite(t, new)).collect()),
        Ty::Record(fs) => Ty::Record(fs.map(|t| rewrite(t, new))),
        Ty::Sum(cs) => Ty::Sum(cs.map(&mut |t| rewrite(t, new))),
    })
}

/// True if something holds of a type or a part of it.
pub(super) fn any_part(ty: &Ty, holds: &mut dyn FnMut(&Ty) -> bool) -> bool {
    holds(ty)
        || super::deep(|| match ty {
            Ty::Prim(_) | Ty::Var(_) | Ty::Meta(_) => false,
            Ty::Abstract(_, args) => type_args(args).any(|t| any_part(t, holds)),
            Ty::Array(_, t) | Ty::Unique(t) => any_part(t, holds),
            Ty::Fun(a, r) => any_part(a, holds) || any_part(r, holds),
            Ty::Tuple(ts) => ts.iter().any(|t| any_part(t, holds)),
            Ty::Record(fs) => fs.iter().any(|(_, t)| any_part(t, holds)),
            Ty::Sum(cs) => cs.payloads().any(|t| any_part(t, holds)),
        })
}

/// True if a type may have an accumulator in it.
pub(super) fn has_writes(ty: &Ty) -> bool {
    any_part(ty, &mut |t| matches!(t, Ty::Abstract(hidden, _) if hidden.holds == Holds::Writes))
}

/// The types among the arguments of a type.
pub(super) fn type_args(args: &[TyArg]) -> impl Iterator<Item = &Ty> {
    args.iter().filter_map(|arg| match arg {
        TyArg::Type(t) => Some(t),
        TyArg::Size(_) => None,
    })
}

/// The arguments of a type with every type in them replaced.
pub(super) fn map_args(args: &[TyArg], each: &mut dyn FnMut(&Ty) -> Ty) -> Vec<TyArg> {
    let replaced = |arg: &TyArg| match arg {
        TyArg::Type(t) => TyArg::Type(each(t)),
        TyArg::Size(size) => TyArg::Size(size.clone()),
    };
    args.iter().map(replaced).collect()
}

/// The type without sizes and uniqueness.
pub fn erase(ty: &Ty) -> Ty {
    super::deep(|| match ty {
        Ty::Prim(_) | Ty::Var(_) | Ty::Meta(_) => ty.clone(),
        Ty::Abstract(id, args) => Ty::Abstract(*id, args.iter().map(erase_arg).collect()),
        Ty::Array(_, t) => Ty::Array(Size::Anon, Box::new(erase(t))),
        Ty::Unique(t) => erase(t),
        Ty::Fun(a, r) => Ty::Fun(Box::new(erase(a)), Box::new(erase(r))),
        Ty::Tuple(ts) => Ty::Tuple(ts.iter().map(erase).collect()),
        Ty::Record(fs) => Ty::Record(fs.map(erase)),
        Ty::Sum(cs) => Ty::Sum(cs.map(&mut erase)),
    })
}

fn erase_arg(arg: &TyArg) -> TyArg {
    match arg {
        TyArg::Type(t) => TyArg::Type(erase(t)),
        TyArg::Size(_) => TyArg::Size(Size::Anon),
    }
}

/// `a -> b -> … -> result`, erased.
pub(super) fn function<'t>(params: impl DoubleEndedIterator<Item = &'t Ty>, result: Ty) -> Ty {
    params.rev().fold(result, |r, p| Ty::Fun(Box::new(erase(p)), Box::new(r)))
}

/// `[]t`.
pub(super) fn array(element: Ty) -> Ty {
    Ty::Array(Size::Anon, Box::new(element))
}

/// The bool type.
pub(super) const BOOL: Ty = Ty::Prim(Prim::Bool);
/// The type of sizes.
pub(super) const I64: Ty = Ty::Prim(Prim::I64);
