//! Sizes that every element of an array has for itself: anonymous arguments of abbreviations, and those of `?[n].t`.
//!
//! ```text
//! type t [m] = {a: [m]f32, b: [m]f32}
//! xs : [n](t [])              check that the rows of a and of b have equal lengths: they are of one shape from here on
//! type u [m] = {c: [m]f32, d: [3][m]f32}
//! ys : [n](u [])              check, for every y, that the three rows of y.d are as long as y.c
//! ```

use super::shape::Target;
use super::sizes::Declared;
use super::value::Val;
use super::{Lower, R};
use crate::thir::{LocalId, Size};
use par_ir::{Atom, Dim, Prim, Type, Var};

/// Targets of the dimensions of a value, while its type is walked.
#[derive(Default)]
pub(super) struct Targets {
    pub targets: Vec<Target>,
    /// The dimensions around.
    pub above: Vec<Dim>,
    own: Vec<Mention>,
}

/// A dimension whose size is owned by elements.
struct Mention {
    name: LocalId,
    /// Among the targets.
    at: usize,
    dim: Dim,
    above: Vec<Dim>,
    /// Number of those above that are around the elements that own the size.
    outer: usize,
}

impl Mention {
    /// True if it is the outermost dimension of a part of an owner.
    fn is_direct(&self) -> bool {
        self.above.len() == self.outer
    }
}

impl Targets {
    /// True if the size is the elements' own; then the dimension is noted.
    pub fn mention(&mut self, dim: Dim, size: &Size) -> bool {
        let Size::Own { name, inner } = size else { return false };
        let varies = size.varies(self.above.len());
        if varies {
            let (at, above) = (self.targets.len(), self.above.clone());
            let outer = above.len() - *inner as usize;
            self.own.push(Mention { name: *name, at, dim, above, outer });
        }
        varies
    }
}

impl<'p> Lower<'p> {
    /// Equates the sizes that elements own, each among its mentions.
    pub fn own_sizes(&mut self, found: &mut Targets, declared: Declared) -> R<()> {
        let mut rest = std::mem::take(&mut found.own);
        while let Some(first) = rest.first() {
            let name = first.name;
            let (mut same, others) = rest.into_iter().partition::<Vec<_>, _>(|m| m.name == name);
            rest = others;
            same.sort_by_key(|m| m.above.len());
            let dim = match same.iter().find_map(|m| size(m.dim)) {
                Some(size) => self.one_size(&same, size, declared)?,
                None if declared.trusted || same.iter().all(Mention::is_direct) => {
                    self.one_shape(&same, declared)?
                }
                None => self.size_of_each(&same, declared)?,
            };
            for m in same.iter().filter(|m| m.is_direct() || matches!(dim, Dim::Size(_))) {
                found.targets[m.at] = Target::To(dim);
            }
        }
        Ok(())
    }

    /// All elements have one size, since one of the dimensions says so.
    fn one_size(&mut self, mentions: &[Mention], size: Atom, declared: Declared) -> R<Dim> {
        for m in mentions.iter().filter(|_| !declared.trusted) {
            match m.dim {
                Dim::Size(a) => self.same_size(size, a, m, declared)?,
                Dim::Seg(s) => _ = self.uniform(s, Some(size))?,
            }
        }
        Ok(Dim::Size(size))
    }

    fn same_size(&mut self, a: Atom, b: Atom, mention: &Mention, declared: Declared) -> R<()> {
        let size = Size::Own { name: mention.name, inner: 0 };
        self.equate(a, b, declared.what, declared.span).map_err(|diag| self.of_parts(diag, &size, declared))
    }

    /// The rows of several arrays are of equal lengths.
    fn one_shape(&mut self, mentions: &[Mention], declared: Declared) -> R<Dim> {
        let shape = mentions[0].dim;
        if let Dim::Seg(first) = shape {
            for m in mentions.iter().filter(|m| m.is_direct() && !declared.trusted) {
                if let Dim::Seg(s) = m.dim {
                    self.equate_descs(s, first)?;
                }
            }
        }
        Ok(shape)
    }

    /// The size is looked for, and checked, in every element.
    fn size_of_each(&mut self, mentions: &[Mention], declared: Declared) -> R<Dim> {
        let rows = |m: &Mention| {
            let all = m.above.iter().chain([&m.dim]);
            all.rev().fold(Val::Tuple(Vec::new()), |v, d| Val::Array(*d, Box::new(v)))
        };
        let lengths =
            self.lengths_of_each(mentions.iter().map(rows).collect(), mentions[0].outer, declared)?;
        let lengths: Var = match lengths.leaves()[..] {
            [(Atom::Var(v), _)] => v,
            _ => return Err(self.internal("the sizes of elements are one array")),
        };
        let dims = mentions[0].above[..mentions[0].outer].to_vec();
        let lengths = self.retype_var(lengths, Type::array(dims, Prim::I64));
        Ok(Dim::Seg(self.make_desc(lengths)))
    }

    fn lengths_of_each(&mut self, parts: Vec<Val<'p>>, outer: usize, declared: Declared) -> R<Val<'p>> {
        if outer > 0 {
            let width = self.size_of(&parts[0])?;
            return self
                .map_over(width, &parts, &mut |lo, rows| lo.lengths_of_each(rows, outer - 1, declared));
        }
        let mut size = None;
        for part in &parts {
            let dims = part.dims();
            size = Some(match (dims[dims.len() - 1], size) {
                (Dim::Seg(s), size) => self.uniform(s, size)?,
                (Dim::Size(a), None) => a,
                (Dim::Size(a), Some(size)) => {
                    self.equate(size, a, declared.what, declared.span)?;
                    size
                }
            });
        }
        Ok(Val::i64(size.unwrap_or(Atom::i64(0))))
    }
}

fn size(dim: Dim) -> Option<Atom> {
    match dim {
        Dim::Size(a) => Some(a),
        Dim::Seg(_) => None,
    }
}
