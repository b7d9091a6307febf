//! The constructors of a sum type, which all copies of the type share: a type with thousands of them is copied with every expression
//! that has it.

use crate::thir::{Size, Ty};
use std::ops::Deref;
use std::sync::Arc;

/// Constructors sorted by name, with the types of their payloads.
#[derive(Clone, Debug)]
pub struct Constructors(Arc<Cases>);

#[derive(Clone, Debug)]
struct Cases {
    cases: Vec<(String, Vec<Ty>)>,
    closed: bool,
    /// Closed, and without arrays.
    sizeless: bool,
}

impl Constructors {
    /// Sorts constructors that have different names.
    pub fn new(mut cases: Vec<(String, Vec<Ty>)>) -> Constructors {
        cases.sort_by(|a, b| a.0.cmp(&b.0));
        let all = |arrays| cases.iter().flat_map(|(_, ts)| ts).all(|t| is_plain(t, arrays));
        let (closed, sizeless) = (all(true), all(false));
        Constructors(Arc::new(Cases { cases, closed, sizeless }))
    }

    /// True if nothing in the payloads can be replaced: no variable, no declared size, no function. Then types made of these
    /// constructors are copied without a look at them.
    pub fn is_closed(&self) -> bool {
        self.0.closed
    }

    /// True if nothing in the payloads has a size or may have one.
    pub fn is_sizeless(&self) -> bool {
        self.0.sizeless
    }

    /// True if both are one copy.
    pub fn same(&self, other: &Constructors) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// A number that different copies do not share, as long as both exist.
    pub fn id(&self) -> usize {
        Arc::as_ptr(&self.0).addr()
    }

    /// The place of a constructor in the order of names. Work: the logarithm of their number.
    pub fn number(&self, name: &str) -> Option<usize> {
        self.binary_search_by(|(c, _)| c.as_str().cmp(name)).ok()
    }

    /// The types of a constructor's payload.
    pub fn payload(&self, name: &str) -> Option<&[Ty]> {
        self.number(name).map(|i| &*self[i].1)
    }

    /// The types of all payloads, one after the other.
    pub fn payloads(&self) -> impl Iterator<Item = &Ty> {
        self.iter().flat_map(|(_, ts)| ts)
    }

    /// The constructors with other types in their payloads; the same copy if they are closed.
    pub fn map(&self, each: &mut dyn FnMut(&Ty) -> Ty) -> Constructors {
        if self.is_closed() {
            return self.clone();
        }
        Constructors::new(
            self.iter().map(|(c, ts)| (c.clone(), ts.iter().map(&mut *each).collect())).collect(),
        )
    }

    /// Changes the types of payloads, if they are not closed.
    pub fn update(&mut self, each: &mut dyn FnMut(&mut Ty)) {
        if !self.is_closed() {
            let mut cases = self.to_vec();
            cases.iter_mut().flat_map(|(_, ts)| ts).for_each(each);
            *self = Constructors::new(cases);
        }
    }
}

impl Deref for Constructors {
    type Target = [(String, Vec<Ty>)];

    fn deref(&self) -> &Self::Target {
        &self.0.cases
    }
}

impl PartialEq for Constructors {
    fn eq(&self, other: &Constructors) -> bool {
        self.same(other) || self.0.cases == other.0.cases
    }
}

/// True if a type is made of scalars, with or without arrays of any size.
fn is_plain(ty: &Ty, arrays: bool) -> bool {
    match ty {
        Ty::Prim(_) => true,
        Ty::Array(size, t) => arrays && *size == Size::Anon && is_plain(t, arrays),
        Ty::Tuple(ts) => ts.iter().all(|t| is_plain(t, arrays)),
        Ty::Record(fs) => fs.iter().all(|(_, t)| is_plain(t, arrays)),
        Ty::Sum(cs) => {
            if arrays {
                cs.is_closed()
            } else {
                cs.is_sizeless()
            }
        }
        Ty::Fun(..) | Ty::Var(_) | Ty::Unique(_) | Ty::Abstract(..) | Ty::Meta(_) => false,
    }
}
