//! The layout of a sum type: which parts of values hold the payloads of which constructors.
//!
//! ```text
//! #circle f32 | #box f32 f32 | #label []u8 i32      slots f32 f32 []u8 i32
//! circle: 0    box: 0 1    label: 2 3
//! ```
//!
//! A value has one constructor, so constructors share slots. The slots are a common supersequence of the payloads: the parts of each
//! payload lie in their order, so comparing slots from the first on compares payloads. Parts are scalars, arrays, sums and functions;
//! tuples and records are taken apart.

use super::value::{Shape, Val};
use par_ir::hash::HashMap;
use std::collections::BTreeSet;

/// A sum type's constructors, sorted by name, and where the parts of their payloads lie.
#[derive(Debug)]
pub(super) struct Layout {
    /// Constructors with the types of their payloads.
    pub cases: Vec<(String, Vec<Shape>)>,
    slots: Vec<Slot>,
    /// For each constructor the slots of its parts.
    places: Vec<Vec<usize>>,
}

/// A place in values of a sum type.
#[derive(Debug)]
pub(super) struct Slot {
    pub shape: Shape,
    /// Constructors with a part here, at least one, and which of its parts that is.
    pub users: Vec<(usize, usize)>,
}

/// A part of a payload. Functions and what is not known have a slot of their own.
#[derive(Clone, PartialEq)]
struct Part {
    shape: Shape,
    own: Option<(usize, usize)>,
}

impl Layout {
    /// Shares slots among constructors. Work: for each constructor, its parts times all slots.
    pub fn new(cases: Vec<(String, Vec<Shape>)>) -> Layout {
        let payload = |(i, (_, shapes)): (usize, &(String, Vec<Shape>))| -> Vec<Part> {
            let mut parts = Vec::new();
            shapes.iter().for_each(|s| leaves(s, &mut parts));
            let own = |j: usize, s: &Shape| (!is_data(s)).then_some((i, j));
            parts.into_iter().enumerate().map(|(j, s)| Part { own: own(j, s), shape: s.clone() }).collect()
        };
        let payloads: Vec<Vec<Part>> = cases.iter().enumerate().map(payload).collect();
        let all = payloads.iter().fold(Vec::new(), |slots, parts| merge(slots, parts));
        let mut places: Vec<Vec<usize>> = payloads.iter().map(|parts| embed(parts, &all)).collect();
        let all = keep_used(all, &mut places);
        let mut slots: Vec<Slot> =
            all.into_iter().map(|p| Slot { shape: p.shape, users: Vec::new() }).collect();
        for (i, places) in places.iter().enumerate() {
            places.iter().enumerate().for_each(|(j, at)| slots[*at].users.push((i, j)));
        }
        Layout { cases, slots, places }
    }

    /// The number of a constructor.
    pub fn number(&self, name: &str) -> Option<usize> {
        self.cases.binary_search_by(|(c, _)| c.as_str().cmp(name)).ok()
    }

    /// The slots.
    pub fn slots(&self) -> &[Slot] {
        &self.slots
    }

    /// The slots of a constructor's parts.
    pub fn places(&self, constructor: usize) -> &[usize] {
        &self.places[constructor]
    }

    /// The parts of a constructor's payload.
    pub fn parts_of<'p>(&self, constructor: usize, payload: Vec<Val<'p>>) -> Vec<Val<'p>> {
        let mut out = Vec::new();
        payload.into_iter().zip(&self.cases[constructor].1).for_each(|(v, s)| take_apart(v, s, &mut out));
        out
    }

    /// The payload that a constructor's parts make; `None` if there are too few.
    pub fn payload_of<'p>(&self, constructor: usize, parts: Vec<Val<'p>>) -> Option<Vec<Val<'p>>> {
        let mut parts = parts.into_iter();
        self.cases[constructor].1.iter().map(|s| put_together(s, &mut parts)).collect()
    }
}

impl PartialEq for Layout {
    fn eq(&self, other: &Layout) -> bool {
        std::ptr::eq(self, other) || self.cases == other.cases
    }
}

impl Shape {
    /// True if constructors share slots somewhere in it.
    pub fn shares_slots(&self) -> bool {
        match self {
            Shape::Sum(l) => l.slots.iter().any(|s| s.users.len() > 1 || s.shape.shares_slots()),
            Shape::Tuple(ts) => ts.iter().any(Shape::shares_slots),
            Shape::Record(fs) => fs.iter().any(|(_, t)| t.shares_slots()),
            Shape::Array(_, t) => t.shares_slots(),
            Shape::Prim(_) | Shape::Fun | Shape::Unknown => false,
        }
    }
}

/// The parts that a payload's value is taken apart to.
fn leaves<'s>(shape: &'s Shape, out: &mut Vec<&'s Shape>) {
    match shape {
        Shape::Tuple(ts) => ts.iter().for_each(|t| leaves(t, out)),
        Shape::Record(fs) => fs.iter().for_each(|(_, t)| leaves(t, out)),
        Shape::Prim(_) | Shape::Array(..) | Shape::Sum(_) | Shape::Fun | Shape::Unknown => out.push(shape),
    }
}

fn take_apart<'p>(val: Val<'p>, shape: &Shape, out: &mut Vec<Val<'p>>) {
    match (val, shape) {
        (Val::Tuple(vs), Shape::Tuple(ts)) => vs.into_iter().zip(ts).for_each(|(v, t)| take_apart(v, t, out)),
        (Val::Record(vs), Shape::Record(fs)) => {
            vs.into_iter().zip(fs).for_each(|((_, v), (_, t))| take_apart(v, t, out));
        }
        (val, _) => out.push(val),
    }
}

fn put_together<'p>(shape: &Shape, parts: &mut impl Iterator<Item = Val<'p>>) -> Option<Val<'p>> {
    Some(match shape {
        Shape::Tuple(ts) => Val::Tuple(ts.iter().map(|t| put_together(t, parts)).collect::<Option<_>>()?),
        Shape::Record(fs) => Val::Record(
            fs.iter().map(|(f, t)| Some((f.clone(), put_together(t, parts)?))).collect::<Option<_>>()?,
        ),
        _ => parts.next()?,
    })
}

/// True if values of the type are data, whatever else is known.
fn is_data(shape: &Shape) -> bool {
    match shape {
        Shape::Prim(_) => true,
        Shape::Fun | Shape::Unknown => false,
        Shape::Tuple(ts) => ts.iter().all(is_data),
        Shape::Record(fs) => fs.iter().all(|(_, t)| is_data(t)),
        Shape::Array(_, t) => is_data(t),
        Shape::Sum(l) => l.slots.iter().all(|s| is_data(&s.shape)),
    }
}

/// A shortest sequence that has both sequences in it, each in its order.
fn merge(slots: Vec<Part>, parts: &[Part]) -> Vec<Part> {
    // common[i][j]: how many parts slots[i..] and parts[j..] can share.
    let width = parts.len() + 1;
    let mut common = vec![0usize; (slots.len() + 1) * width];
    for i in (0..slots.len()).rev() {
        for j in (0..parts.len()).rev() {
            common[i * width + j] = match slots[i] == parts[j] {
                true => common[(i + 1) * width + j + 1] + 1,
                false => common[(i + 1) * width + j].max(common[i * width + j + 1]),
            };
        }
    }
    if common[0] == parts.len() {
        return slots;
    }
    let (mut out, mut j) = (Vec::new(), 0);
    for (i, slot) in slots.into_iter().enumerate() {
        while j < parts.len() && slot != parts[j] && common[i * width + j + 1] > common[(i + 1) * width + j] {
            out.push(parts[j].clone());
            j += 1;
        }
        j += usize::from(j < parts.len() && slot == parts[j]);
        out.push(slot);
    }
    out.extend_from_slice(&parts[j..]);
    out
}

/// The first places of parts in a sequence that has them in their order.
fn embed(parts: &[Part], slots: &[Part]) -> Vec<usize> {
    let mut rest = slots.iter().enumerate();
    parts.iter().filter_map(|p| rest.find(|(_, s)| *s == p).map(|(at, _)| at)).collect()
}

/// Leaves out places that no payload lies in: one that is merged later can bring a place that comes before that of another.
fn keep_used(slots: Vec<Part>, places: &mut [Vec<usize>]) -> Vec<Part> {
    let used: BTreeSet<usize> = places.iter().flatten().copied().collect();
    let number: HashMap<usize, usize> = used.iter().enumerate().map(|(new, old)| (*old, new)).collect();
    places.iter_mut().flatten().for_each(|at| *at = number[at]);
    slots.into_iter().enumerate().filter(|(at, _)| used.contains(at)).map(|(_, slot)| slot).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use par_ir::Prim;

    fn layout(payloads: &[&[Shape]]) -> Layout {
        let name = |i: usize| format!("c{i:04}");
        Layout::new(payloads.iter().enumerate().map(|(i, ts)| (name(i), ts.to_vec())).collect())
    }

    #[test]
    fn constructors_share_slots_in_their_order() {
        let (i, f) = (Shape::Prim(Prim::I32), Shape::Prim(Prim::F32));
        let pair = Shape::Tuple(vec![i.clone(), f.clone()]);
        let l = layout(&[&[], std::slice::from_ref(&i), &[f.clone(), i.clone()], &[pair, i.clone()]]);
        assert_eq!(l.slots().iter().map(|s| s.shape.clone()).collect::<Vec<_>>(), [i.clone(), f, i]);
        assert_eq!([0, 1, 2, 3].map(|c| l.places(c).to_vec()), [vec![], vec![0], vec![1, 2], vec![0, 1, 2]]);
        assert_eq!(l.slots()[2].users, [(2, 1), (3, 2)]);
    }

    #[test]
    fn every_payload_lies_in_a_few_slots() {
        // All sequences of up to four of three scalar types.
        let types = [Prim::I32, Prim::F32, Prim::Bool].map(Shape::Prim);
        let payloads: Vec<Vec<Shape>> = (0..4usize.pow(4))
            .map(|n| (0..4).filter_map(|k| types.get(n / 4usize.pow(k) % 4).cloned()).collect())
            .collect();
        let l = layout(&payloads.iter().map(|p| &p[..]).collect::<Vec<_>>());
        for (c, payload) in payloads.iter().enumerate() {
            let places = l.places(c);
            assert!(places.is_sorted_by(|a, b| a < b), "{places:?}");
            assert_eq!(&places.iter().map(|at| l.slots()[*at].shape.clone()).collect::<Vec<_>>(), payload);
        }
        assert!(l.slots().len() <= 16, "{}", l.slots().len());
    }

    #[test]
    fn places_that_nothing_lies_in_are_left_out() {
        // The third payload brings places before those that were merged for the first one, which lies in them, too.
        let [a, b, c, d, e] = [Prim::I8, Prim::I16, Prim::I32, Prim::F32, Prim::F64].map(Shape::Prim);
        let l =
            layout(&[&[a.clone(), b, c.clone()], std::slice::from_ref(&d), &[d.clone(), e, a.clone(), c, a]]);
        assert!(l.slots().iter().all(|s| !s.users.is_empty()), "{:?}", l.slots());
    }

    #[test]
    fn functions_have_slots_of_their_own() {
        let l = layout(&[&[Shape::Fun, Shape::Fun], &[Shape::Fun]]);
        assert!(l.slots().len() == 3 && l.slots().iter().all(|s| s.users.len() == 1));
    }
}
