//! One traversal for everything that makes an array value from another: indexing, slicing, taking rows, lifting
//! the results of a map, flattening, retyping. It walks the value with the dimensions above the current point, before and
//! after; what happens to a descriptor and to a leaf is up to the operation.
//!
//! ```text
//! xss[i]       rebuild(elem, old = [n], new = [])       Seg s becomes Size (s[i]), leaf b becomes b[i]
//! flatten xss  rebuild(elem, old = [n, s], new = [t])   leaf b becomes flatten b
//! ```

use super::value::{Fun, Val};
use super::{Lower, R};
use par_ir::{Atom, Dim, Prim};
use par_syntax::diagnostic::Diagnostic;
use std::rc::Rc;

/// Operation at each point of a value.
pub(super) trait Rebuild<'p> {
    /// The dimension that `dim` becomes; `old` and `new` are the dimensions above it.
    fn dim(&mut self, lo: &mut Lower<'p>, dim: Dim, old: &[Dim], new: &[Dim]) -> R<Dim>;

    /// New form of a scalar (`old` is empty) or an array variable.
    fn leaf(&mut self, lo: &mut Lower<'p>, a: Atom, prim: Prim, old: &[Dim], new: &[Dim]) -> R<Atom>;

    /// Functions are refused unless the operation knows better.
    fn fun(&mut self, lo: &mut Lower<'p>, _fun: &Rc<Fun<'p>>) -> R<Val<'p>> {
        Err(lo.function_value(self.place()))
    }

    /// Construct in which functions are refused, for the message.
    fn place(&self) -> &'static str {
        "an array"
    }
}

impl<'p> Lower<'p> {
    /// Walks `val`, which stands below the dimensions `old`, and builds the value that stands below `new`.
    pub fn rebuild(
        &mut self,
        val: &Val<'p>,
        old: &mut Vec<Dim>,
        new: &mut Vec<Dim>,
        how: &mut dyn Rebuild<'p>,
    ) -> R<Val<'p>> {
        match val {
            Val::Scalar(a, p) => self.rebuild_leaf(*a, *p, old, new, how),
            Val::Leaf(v, p) => self.rebuild_leaf(Atom::Var(*v), *p, old, new, how),
            Val::Tuple(vs) => {
                let vs: R<Vec<_>> = vs.iter().map(|v| self.rebuild(v, old, new, how)).collect();
                Ok(Val::Tuple(vs?))
            }
            Val::Record(fs) => {
                let fs: R<Vec<_>> =
                    fs.iter().map(|(n, v)| Ok((n.clone(), self.rebuild(v, old, new, how)?))).collect();
                Ok(Val::Record(fs?))
            }
            Val::Array(d, elem) => {
                let dim = how.dim(self, *d, old, new)?;
                old.push(*d);
                new.push(dim);
                let elem = self.rebuild(elem, old, new, how);
                old.pop();
                new.pop();
                Ok(Val::Array(dim, Box::new(elem?)))
            }
            Val::Fun(f) => how.fun(self, f),
        }
    }

    fn rebuild_leaf(
        &mut self,
        a: Atom,
        p: Prim,
        old: &[Dim],
        new: &[Dim],
        how: &mut dyn Rebuild<'p>,
    ) -> R<Val<'p>> {
        let a = how.leaf(self, a, p, old, new)?;
        if new.is_empty() { Ok(Val::Scalar(a, p)) } else { Ok(Val::Leaf(self.leaf_var(a)?, p)) }
    }

    /// The error for a function where only data can be.
    pub fn function_value(&self, place: &str) -> Box<Diagnostic> {
        Box::new(
            Diagnostic::error("E0511", format!("a function cannot be the value of {place}"), self.place.span)
                .here("this needs a function that is known only at run time")
                .note("functions may be arguments, results and parts of tuples wherever it is known which one is meant"),
        )
    }
}
