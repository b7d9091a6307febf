//! The width of arguments that have no rows: that of the other arguments whose types mention the same size.
//!
//! ```text
//! def f [n][k][m] (a: [n][m]i32) (b: [k][m]i32)      f [] [[1, 2]]       m is 2
//! ```

use super::env::Env;
use super::value::Val;
use super::{Lower, R};
use crate::thir::{LocalId, Pat, Size, Ty};
use par_ir::{Atom, Dim};

impl<'p> Lower<'p> {
    /// Finds, for the sizes that the parameters bind, what they are if the first argument that mentions them is irregular and
    /// has no rows.
    pub fn find_widths(&mut self, params: &'p [Pat], args: &[Val<'p>], env: &Env<'p>) -> R<()> {
        let mut found = Vec::new();
        for (pat, arg) in params.iter().zip(args) {
            mentions(arg, &pat.ty, env, &mut found);
        }
        while let Some((name, first)) = found.first().copied() {
            let (same, others) = found.into_iter().partition::<Vec<_>, _>(|(l, _)| *l == name);
            found = others;
            self.binding.widths.remove(&name);
            if let (Dim::Seg(_), [_, rest @ ..]) = (first, same.as_slice())
                && !rest.is_empty()
            {
                let mut width = Atom::i64(0);
                for (_, dim) in rest.iter().rev() {
                    width = match *dim {
                        Dim::Size(a) => a,
                        Dim::Seg(s) => self.width_or(s, width)?,
                    };
                }
                self.binding.widths.insert(name, width);
            }
        }
        Ok(())
    }
}

/// The dimensions of a value that names of its type bind.
pub(super) fn mentions(val: &Val, ty: &Ty, env: &Env, out: &mut Vec<(LocalId, Dim)>) {
    match (val, ty) {
        (_, Ty::Unique(t)) => mentions(val, t, env, out),
        (Val::Array(dim, elem), Ty::Array(size, t)) => {
            if let Size::Local(name) = size
                && env.get(*name).is_none()
            {
                out.push((*name, *dim));
            }
            mentions(elem, t, env, out);
        }
        (Val::Tuple(vs), Ty::Tuple(ts)) => vs.iter().zip(ts).for_each(|(v, t)| mentions(v, t, env, out)),
        (Val::Record(vs), Ty::Record(ts)) => {
            vs.iter().zip(ts).for_each(|((_, v), (_, t))| mentions(v, t, env, out));
        }
        _ => {}
    }
}
