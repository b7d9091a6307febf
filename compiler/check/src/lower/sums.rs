//! Sum types: a value is a tuple of the constructor's number and the slots that the constructors share (see [`super::layout`]).
//!
//! ```text
//! #some x : #none | #some i32          (1u8, x)
//! #none                                (0u8, 0i32)
//! match v case #some x -> e case …     if v.0 == 1 then let x = v.1 in e else …
//! ```
//!
//! At the boundary every constructor has columns of its own: `(number, (payload of the first), (payload of the second), …)`.

use super::env::Env;
use super::layout::Layout;
use super::value::{Fun, Shape, Val};
use super::{Lower, R};
use crate::thir::{Constructors, Expr, Ty};
use par_ir::prim::CmpOp;
use par_ir::{Atom, Dim, Prim, PrimOp, Scalar};
use std::rc::Rc;

/// A value whose constructor is tested.
pub(super) struct Tested<'p> {
    pub layout: Rc<Layout>,
    /// The pattern's constructor.
    pub number: usize,
    /// The payload the value has if it has this constructor.
    pub payload: Vec<Val<'p>>,
}

impl Layout {
    /// The type of a constructor's number.
    pub fn tag(&self) -> Prim {
        Prim::of_constructors(self.cases.len())
    }

    fn number_of(&self, constructor: usize) -> Scalar {
        Scalar::from_i64(self.tag(), constructor as i64)
    }
}

impl<'p> Lower<'p> {
    /// The type of a sum without sizes.
    pub fn sum_shape(&self, constructors: &Constructors, env: &Env<'p>) -> Shape {
        let shape = || {
            let payload = |ts: &[Ty]| ts.iter().map(|t| self.type_arg(t, env)).collect();
            let cases = constructors.iter().map(|(n, ts)| (n.clone(), payload(ts)));
            Shape::Sum(Rc::new(Layout::new(cases.collect())))
        };
        if !constructors.is_closed() {
            return shape();
        }
        if let Some((_, known)) = self.visited.layouts.borrow().get(&constructors.id()) {
            return known.clone();
        }
        let shape = shape();
        self.visited.layouts.borrow_mut().insert(constructors.id(), (constructors.clone(), shape.clone()));
        shape
    }

    /// `#name args`.
    pub fn constructor(&mut self, name: &str, args: &'p [Expr], ty: &'p Ty, env: &Env<'p>) -> R<Val<'p>> {
        let payload = args.iter().map(|a| self.eval(a, env, None)).collect::<R<Vec<_>>>()?;
        let Shape::Sum(layout) = self.type_arg(ty, env) else {
            return Err(self.internal("a constructor of something that is no sum"));
        };
        let Some(number) = layout.number(name) else {
            return Err(self.internal("a constructor that its type does not have"));
        };
        let mut slots = vec![None; layout.slots().len()];
        for (at, part) in layout.places(number).iter().zip(layout.parts_of(number, payload)) {
            slots[*at] = Some(part);
        }
        let tag = layout.number_of(number);
        let mut parts = vec![Val::Scalar(Atom::Const(tag), tag.prim())];
        for (slot, part) in layout.slots().iter().zip(slots) {
            parts.push(part.map_or_else(|| self.neutral(&slot.shape), Ok)?);
        }
        Ok(Val::Tuple(parts))
    }

    /// A value as a pattern with a constructor sees it.
    pub fn tested(&self, ty: &Ty, name: &str, val: &Val<'p>, env: &Env<'p>) -> R<Tested<'p>> {
        if let (Shape::Sum(layout), Val::Tuple(parts)) = (self.type_arg(ty, env), val)
            && let Some(number) = layout.number(name)
        {
            let slots = layout.places(number).iter().filter_map(|at| parts.get(at + 1).cloned());
            if let Some(payload) = layout.payload_of(number, slots.collect()) {
                return Ok(Tested { layout, number, payload });
            }
        }
        Err(self.internal("a pattern does not fit its value"))
    }

    /// A sum's number and slots, made part by part.
    pub fn sum_parts(
        &mut self,
        layout: &Layout,
        make: &mut dyn FnMut(&mut Self, &Shape) -> R<Val<'p>>,
    ) -> R<Vec<Val<'p>>> {
        let mut parts = vec![make(self, &Shape::Prim(layout.tag()))?];
        for slot in layout.slots() {
            parts.push(make(self, &slot.shape)?);
        }
        Ok(parts)
    }

    /// Placeholder for a slot that a value does not use.
    pub fn neutral(&mut self, shape: &Shape) -> R<Val<'p>> {
        Ok(match shape {
            Shape::Prim(p) => Val::Scalar(Atom::Const(Scalar::zero(*p)), *p),
            Shape::Tuple(ts) => Val::Tuple(ts.iter().map(|t| self.neutral(t)).collect::<R<_>>()?),
            Shape::Record(fs) => {
                Val::Record(fs.iter().map(|(n, t)| Ok((n.clone(), self.neutral(t)?))).collect::<R<_>>()?)
            }
            Shape::Sum(layout) => Val::Tuple(self.sum_parts(layout, &mut |lo, t| lo.neutral(t))?),
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

    /// A value as it is at the boundary: the payload of every constructor has a place, and is neutral where the constructor is
    /// another one. Where slots are shared, this is computed.
    pub fn external(&mut self, val: &Val<'p>, shape: &Shape) -> R<Val<'p>> {
        let Shape::Sum(layout) = shape else {
            return self.parts_at_boundary(val, shape, &mut |lo, v, s| lo.external(v, s));
        };
        let Val::Tuple(parts) = val else { return Err(self.internal("a sum is a tuple")) };
        let mut out = vec![parts[0].clone()];
        for case in 0..layout.cases.len() {
            let mut payload = Vec::new();
            for at in layout.places(case) {
                let slot = &layout.slots()[*at];
                payload.push(match slot.users.len() {
                    1 => self.external(&parts[at + 1], &slot.shape)?,
                    _ => {
                        let this = self.has_number(layout, case, &parts[0])?;
                        self.if_val(this, &mut |lo| lo.external(&parts[at + 1], &slot.shape), &mut |lo| {
                            let none = lo.neutral(&slot.shape)?;
                            lo.external(&none, &slot.shape)
                        })?
                    }
                });
            }
            let payload = layout.payload_of(case, payload);
            out.push(Val::Tuple(payload.ok_or_else(|| self.internal("a payload has too few parts"))?));
        }
        Ok(Val::Tuple(out))
    }

    /// The opposite of [`Lower::external`].
    pub fn internal_form(&mut self, val: &Val<'p>, shape: &Shape) -> R<Val<'p>> {
        let Shape::Sum(layout) = shape else {
            return self.parts_at_boundary(val, shape, &mut |lo, v, s| lo.internal_form(v, s));
        };
        let Val::Tuple(cases) = val else { return Err(self.internal("a sum is a tuple")) };
        let payloads: Vec<Vec<Val<'p>>> = cases[1..]
            .iter()
            .enumerate()
            .map(|(i, payload)| match payload {
                Val::Tuple(vs) => layout.parts_of(i, vs.clone()),
                _ => Vec::new(),
            })
            .collect();
        let mut out = vec![cases[0].clone()];
        for slot in layout.slots() {
            let mut users = slot.users.iter().rev().map(|(case, part)| (*case, &payloads[*case][*part]));
            // The last user's part is neutral where the constructor is of none of them.
            let (_, last) = users.next().ok_or_else(|| self.internal("a slot has no user"))?;
            let mut part = self.internal_form(last, &slot.shape)?;
            for (case, of) in users {
                let this = self.has_number(layout, case, &cases[0])?;
                let other = part.clone();
                part = self
                    .if_val(this, &mut |lo| lo.internal_form(of, &slot.shape), &mut |_| Ok(other.clone()))?;
            }
            out.push(part);
        }
        Ok(Val::Tuple(out))
    }

    /// A value made of what it would be with each constructor.
    pub fn any_of(&self, cases: &[Val<'p>], shape: &Shape) -> R<Val<'p>> {
        let Shape::Sum(layout) = shape else { return Err(self.internal("a sum has a layout")) };
        let mut parts = vec![cases[0].clone()];
        for slot in layout.slots() {
            let (case, part) = slot.users[0];
            if let Val::Tuple(payload) = &cases[case + 1] {
                parts.extend(layout.parts_of(case, payload.clone()).into_iter().nth(part));
            }
        }
        Ok(Val::Tuple(parts))
    }

    /// Applies a conversion to the parts of a value that is no sum; in arrays by a map if it has something to compute.
    fn parts_at_boundary(
        &mut self,
        val: &Val<'p>,
        shape: &Shape,
        convert: &mut dyn FnMut(&mut Self, &Val<'p>, &Shape) -> R<Val<'p>>,
    ) -> R<Val<'p>> {
        Ok(match (val, shape) {
            (Val::Array(_, _), Shape::Array(_, t)) if t.shares_slots() => {
                let width = self.size_of(val)?;
                self.map_over(width, std::slice::from_ref(val), &mut |lo, rows| convert(lo, &rows[0], t))?
            }
            (Val::Array(d, e), Shape::Array(_, t)) => Val::Array(*d, Box::new(convert(self, e, t)?)),
            (Val::Tuple(vs), Shape::Tuple(ts)) => {
                let parts = vs.iter().zip(ts).map(|(v, t)| convert(self, v, t));
                Val::Tuple(parts.collect::<R<_>>()?)
            }
            (Val::Record(vs), Shape::Record(fs)) => {
                let fields = vs.iter().zip(fs).map(|((f, v), (_, t))| Ok((f.clone(), convert(self, v, t)?)));
                Val::Record(fields.collect::<R<_>>()?)
            }
            _ => val.clone(),
        })
    }

    /// The test that a sum's number is that of a constructor.
    pub fn has_number(&mut self, layout: &Layout, constructor: usize, tag: &Val<'p>) -> R<Atom> {
        let Val::Scalar(tag, _) = tag else {
            return Err(self.internal("a constructor's number is a scalar"));
        };
        let number = layout.number_of(constructor);
        Ok(self.prim(PrimOp::Cmp(CmpOp::Eq, number.prim()), &[*tag, Atom::Const(number)]))
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
