//! Sum types: a value is a tuple of the constructor's number and all constructors' payloads (see [`super::value`]).
//!
//! ```text
//! #some x : #none | #some i32          (1u8, (), (x))
//! #none                                (0u8, (), (0i32))
//! match v case #some x -> e case …     if v.0 == 1 then let x = v.2.0 in e else …
//! ```

use super::env::Env;
use super::value::{Fun, Shape, Val};
use super::{Lower, R};
use crate::thir::{Expr, Ty};
use par_ir::{Atom, Dim, Prim, Scalar};
use std::rc::Rc;

/// The shape of a constructor's number.
pub(super) fn tag_of<C>(constructors: &[C]) -> Shape {
    Shape::Prim(Prim::of_constructors(constructors.len()))
}

/// A constructor's number.
fn number_of<C>(constructor: usize, constructors: &[C]) -> Scalar {
    Scalar::from_i64(Prim::of_constructors(constructors.len()), constructor as i64)
}

impl<'p> Lower<'p> {
    /// `#name args`.
    pub fn constructor(&mut self, name: &str, args: &'p [Expr], ty: &'p Ty, env: &Env<'p>) -> R<Val<'p>> {
        let values: R<Vec<_>> = args.iter().map(|a| self.eval(a, env, None)).collect();
        let values = values?;
        let Shape::Sum(cs) = self.type_arg(ty, env) else {
            return Err(self.internal("a constructor of something that is no sum"));
        };
        let mut parts = self.sum_parts(&cs, &mut |lo, t| lo.neutral(t))?;
        let Some(number) = cs.iter().position(|(n, _)| n == name) else {
            return Err(self.internal("a constructor that its type does not have"));
        };
        let tag = number_of(number, &cs);
        parts[0] = Val::Scalar(Atom::Const(tag), tag.prim());
        parts[number + 1] = Val::Tuple(values);
        Ok(Val::Tuple(parts))
    }

    /// The number of a constructor; that of a value of its type, and the payload the value would have then.
    pub fn payload<'v>(&self, ty: &Ty, name: &str, val: &'v Val<'p>) -> R<(Scalar, Atom, &'v [Val<'p>])> {
        if let (Ty::Sum(cs), Val::Tuple(parts)) = (ty, val)
            && let Some(i) = cs.iter().position(|(n, _)| n == name)
            && let (Some(Val::Scalar(tag, _)), Some(Val::Tuple(payload))) = (parts.first(), parts.get(i + 1))
        {
            return Ok((number_of(i, cs), *tag, payload));
        }
        Err(self.internal("a pattern does not fit its value"))
    }

    /// The number and the payloads of a sum, made part by part.
    pub fn sum_parts(
        &mut self,
        cs: &[(String, Vec<Shape>)],
        make: &mut dyn FnMut(&mut Self, &Shape) -> R<Val<'p>>,
    ) -> R<Vec<Val<'p>>> {
        let mut parts = vec![make(self, &tag_of(cs))?];
        for (_, ts) in cs {
            parts.push(Val::Tuple(ts.iter().map(|t| make(self, t)).collect::<R<_>>()?));
        }
        Ok(parts)
    }

    /// Placeholder for the payload of a constructor that a value does not have.
    pub fn neutral(&mut self, shape: &Shape) -> R<Val<'p>> {
        Ok(match shape {
            Shape::Prim(p) => Val::Scalar(Atom::Const(Scalar::zero(*p)), *p),
            Shape::Tuple(ts) => Val::Tuple(ts.iter().map(|t| self.neutral(t)).collect::<R<_>>()?),
            Shape::Record(fs) => {
                Val::Record(fs.iter().map(|(n, t)| Ok((n.clone(), self.neutral(t)?))).collect::<R<_>>()?)
            }
            Shape::Sum(cs) => Val::Tuple(self.sum_parts(cs, &mut |lo, t| lo.neutral(t))?),
            Shape::Array(_, t) => {
                let zero = Dim::Size(Atom::i64(0));
                let elem = self.empty_elem(t, &mut vec![zero])?;
                Val::Array(zero, Box::new(elem))
            }
            Shape::Fun => Val::Fun(Rc::new(Fun::Absent)),
            // Nothing depends on a type that inference left open.
            Shape::Unknown => Val::Tuple(Vec::new()),
        })
    }

    /// At the boundary every array inside a sum is irregular, because it has no rows where the constructor is another.
    pub fn loosen_sums(&mut self, val: &Val<'p>, ty: &Ty) -> R<Val<'p>> {
        let mut flags = Vec::new();
        inside_sums(val, Some(ty), 0, false, &mut flags);
        self.ragged(val, &flags)
    }
}

fn inside_sums(val: &Val, ty: Option<&Ty>, depth: usize, inside: bool, out: &mut Vec<bool>) {
    match (val, ty) {
        (_, Some(Ty::Unique(t))) => inside_sums(val, Some(t), depth, inside, out),
        (Val::Array(_, e), ty) => {
            out.push(inside && depth > 0);
            let elem = if let Some(Ty::Array(_, t)) = ty { Some(&**t) } else { None };
            inside_sums(e, elem, depth + 1, inside, out);
        }
        (Val::Tuple(vs), Some(Ty::Sum(_))) => vs.iter().for_each(|v| inside_sums(v, None, depth, true, out)),
        (Val::Tuple(vs), Some(Ty::Tuple(ts))) => {
            vs.iter().zip(ts).for_each(|(v, t)| inside_sums(v, Some(t), depth, inside, out));
        }
        (Val::Record(vs), Some(Ty::Record(ts))) => {
            vs.iter().zip(ts).for_each(|(v, t)| inside_sums(&v.1, Some(&t.1), depth, inside, out));
        }
        (Val::Tuple(vs), _) => vs.iter().for_each(|v| inside_sums(v, None, depth, inside, out)),
        (Val::Record(vs), _) => vs.iter().for_each(|v| inside_sums(&v.1, None, depth, inside, out)),
        _ => {}
    }
}
