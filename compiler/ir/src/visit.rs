//! Walking over both IRs: which variables a piece of code uses and binds, substitution, and fresh copies.
//!
//! Everything rests on two traversals that each piece of IR implements ([`Code::walk`] and [`Code::edit`]). They
//! reach every place where a variable or an operand stands, in the order of the text, *including the
//! dimensions of types*, in nested bodies and lambdas too. Because every variable is bound once in a program,
//! no traversal needs to think about scopes: the free variables are those used and not bound inside.
//!
//! ```text
//! body.free()                      variables used and not bound inside
//! exp.substitute(&map)             uses replaced; binders stay
//! lambda.refreshed(&mut vars)      a copy whose bound variables are all fresh, for duplicating code
//! ```

mod core;
mod flat;

use crate::hash::HashMap;
use crate::ty::{Atom, Dim, Type, Var, Vars};
use std::collections::BTreeSet;

/// A place where a variable or a constant stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Site {
    /// An operand, an input, or a dimension of a type.
    Use(Atom),
    /// A pattern, a parameter, a loop index.
    Bind(Var),
}

/// A change made at every place.
pub trait Edit {
    /// The operand that replaces `a`. Where only a variable may stand (inputs, descriptors of dimensions), a
    /// constant given instead is ignored.
    fn operand(&mut self, a: Atom) -> Atom;

    /// The variable that replaces `v` where it is bound.
    fn binder(&mut self, v: Var) -> Var {
        v
    }

    /// Edits a place where only a variable may stand.
    fn variable(&mut self, v: &mut Var) {
        if let Atom::Var(w) = self.operand(Atom::Var(*v)) {
            *v = w;
        }
    }
}

/// Atoms to put in place of variables.
pub type Subst = HashMap<Var, Atom>;

impl Edit for &Subst {
    fn operand(&mut self, a: Atom) -> Atom {
        match a {
            Atom::Var(v) => self.get(&v).copied().unwrap_or(a),
            Atom::Const(_) => a,
        }
    }
}

/// Replaces bound variables by fresh ones, and uses by what the substitution says.
struct Refresh<'a>(&'a Subst);

impl Edit for Refresh<'_> {
    fn operand(&mut self, a: Atom) -> Atom {
        (&mut &*self.0).operand(a)
    }

    fn binder(&mut self, v: Var) -> Var {
        match self.0.get(&v) {
            Some(Atom::Var(w)) => *w,
            _ => v,
        }
    }
}

/// A piece of either IR: types, statements, bodies, lambdas, kernels, functions.
pub trait Code: Clone {
    /// Visits every place, nested ones included.
    fn walk(&self, f: &mut dyn FnMut(Site));

    /// Changes every place, nested ones included.
    fn edit(&mut self, e: &mut dyn Edit);

    /// Variables used and not bound inside, in the order of their ids.
    fn free(&self) -> BTreeSet<Var> {
        let (mut used, mut bound) = (Vec::new(), Vec::new());
        self.walk(&mut |site| match site {
            Site::Use(Atom::Var(v)) => used.push(v),
            Site::Use(Atom::Const(_)) => {}
            Site::Bind(v) => bound.push(v),
        });
        // One list is faster than a set, and a set is made of a sorted one at once.
        bound.sort_unstable();
        used.sort_unstable();
        used.dedup();
        used.retain(|v| bound.binary_search(v).is_err());
        used.into_iter().collect()
    }

    /// Variables bound inside, in the order of the text.
    fn bound(&self) -> Vec<Var> {
        let mut out = Vec::new();
        self.walk(&mut |site| {
            if let Site::Bind(v) = site {
                out.push(v);
            }
        });
        out
    }

    /// Calls `f` for each use of a variable inside, in types, too.
    fn for_each_used(&self, f: &mut dyn FnMut(Var)) {
        self.walk(&mut |site| {
            if let Site::Use(Atom::Var(v)) = site {
                f(v);
            }
        });
    }

    /// True if `v` is used inside.
    fn mentions(&self, v: Var) -> bool {
        let mut found = false;
        self.walk(&mut |site| found |= site == Site::Use(Atom::Var(v)));
        found
    }

    /// Number of uses of `v` inside.
    fn uses_of(&self, v: Var) -> usize {
        let mut n = 0;
        self.walk(&mut |site| n += usize::from(site == Site::Use(Atom::Var(v))));
        n
    }

    /// Replaces uses of variables, in types too. Binders stay.
    fn substitute(&mut self, subst: &Subst) {
        if !subst.is_empty() {
            self.edit(&mut &*subst);
        }
    }

    /// A copy in which uses are replaced by `subst`.
    fn substituted(&self, subst: &Subst) -> Self {
        let mut copy = self.clone();
        copy.substitute(subst);
        copy
    }

    /// A copy whose bound variables are all fresh.
    fn refreshed(&self, vars: &mut Vars) -> Self {
        self.refreshed_with(vars, &mut Subst::default())
    }

    /// A copy whose bound variables are all fresh and in which uses are replaced by `subst`. Adds the fresh names
    /// to `subst`, so that code after this one, or a renamed original's results, can be translated too.
    fn refreshed_with(&self, vars: &mut Vars, subst: &mut Subst) -> Self {
        for v in self.bound() {
            subst.insert(v, Atom::Var(vars.fresh_like(v)));
        }
        let mut copy = self.clone();
        copy.edit(&mut Refresh(subst));
        copy
    }
}

impl<C: Code> Code for Vec<C> {
    fn walk(&self, f: &mut dyn FnMut(Site)) {
        self.iter().for_each(|c| c.walk(f));
    }

    fn edit(&mut self, e: &mut dyn Edit) {
        self.iter_mut().for_each(|c| c.edit(e));
    }
}

impl<C: Code> Code for Box<C> {
    fn walk(&self, f: &mut dyn FnMut(Site)) {
        (**self).walk(f);
    }

    fn edit(&mut self, e: &mut dyn Edit) {
        (**self).edit(e);
    }
}

impl Code for Atom {
    fn walk(&self, f: &mut dyn FnMut(Site)) {
        f(Site::Use(*self));
    }

    fn edit(&mut self, e: &mut dyn Edit) {
        *self = e.operand(*self);
    }
}

/// A variable by itself is a use of it.
impl Code for Var {
    fn walk(&self, f: &mut dyn FnMut(Site)) {
        f(Site::Use(Atom::Var(*self)));
    }

    fn edit(&mut self, e: &mut dyn Edit) {
        e.variable(self);
    }
}

impl Code for Dim {
    fn walk(&self, f: &mut dyn FnMut(Site)) {
        match self {
            Dim::Size(a) => a.walk(f),
            Dim::Seg(s) => s.walk(f),
        }
    }

    fn edit(&mut self, e: &mut dyn Edit) {
        match self {
            Dim::Size(a) => a.edit(e),
            Dim::Seg(s) => s.edit(e),
        }
    }
}

impl Code for Type {
    fn walk(&self, f: &mut dyn FnMut(Site)) {
        self.dims.walk(f);
    }

    fn edit(&mut self, e: &mut dyn Edit) {
        self.dims.edit(e);
    }
}
