//! Environments: what the local names in scope stand for. Persistent, because closures keep theirs.

use super::value::{Shape, Val};
use crate::thir::{LocalId, TyVar};
use std::rc::Rc;

/// Values of locals and shapes of type variables. Cloning is cheap.
#[derive(Clone, Default)]
pub(super) struct Env<'p> {
    locals: Option<Rc<Node<'p>>>,
    pub types: Rc<Vec<(TyVar, Shape)>>,
}

struct Node<'p> {
    id: LocalId,
    val: Val<'p>,
    next: Option<Rc<Node<'p>>>,
}

impl<'p> Env<'p> {
    /// No locals; these type variables.
    pub fn with_types(types: Vec<(TyVar, Shape)>) -> Env<'p> {
        Env { locals: None, types: Rc::new(types) }
    }

    /// Gives type variables shapes, in place.
    pub fn bind_types(&mut self, vars: &[TyVar], shapes: Vec<Shape>) {
        let others = self.types.iter().filter(|(v, _)| !vars.contains(v)).cloned();
        let types = vars.iter().copied().zip(shapes).chain(others);
        self.types = Rc::new(types.collect());
    }

    /// Adds a local, in place.
    pub fn bind(&mut self, id: LocalId, val: Val<'p>) {
        let next = self.locals.take();
        self.locals = Some(Rc::new(Node { id, val, next }));
    }

    /// The value of a local, if it is bound.
    pub fn get(&self, id: LocalId) -> Option<&Val<'p>> {
        let mut node = self.locals.as_deref();
        while let Some(n) = node {
            if n.id == id {
                return Some(&n.val);
            }
            node = n.next.as_deref();
        }
        None
    }

    /// The shape of a type variable.
    pub fn type_var(&self, v: TyVar) -> Option<&Shape> {
        self.types.iter().find(|(w, _)| *w == v).map(|(_, s)| s)
    }
}

/// Long chains are taken apart in a loop: the default would recurse once per local.
impl Drop for Node<'_> {
    fn drop(&mut self) {
        let mut next = self.next.take();
        while let Some(node) = next {
            match Rc::try_unwrap(node) {
                Ok(mut n) => next = n.next.take(),
                Err(_) => break,
            }
        }
    }
}
