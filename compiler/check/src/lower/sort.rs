//! Sorting by a word of the numbers that stand for keys, see [`super::order`].
//!
//! ```text
//! sort_by_word 0 xs xs            xs : [n]f32            xs, sorted
//! sort_by_word 0 ks xs            ks : [n]f32            ks, and with them xs
//! sort_by_word 0 xs xs            xs : [n](i8, i16)      numbers of xs, sorted; what each stands for
//! sort_by_word 0 ks xs            xs : [n](f32, i32)     ks or their numbers, and with them the bits of both as an u64
//! sort_by_word 0 ks xs            xs : [n](i64, i64)     ks or their numbers, and with them 0, 1, …; the elements of xs there
//! ```
//!
//! To carry what is sorted costs less than to fetch it from where it was: elements that are read in another order come from memory one by one.

use super::order::{self, Part, unsigned, width};
use super::value::Val;
use super::{Lower, R};
use par_ir::core::Exp;
use par_ir::prim::BinOp;
use par_ir::{Atom, Dim, Prim, Scalar, Type, Var};

/// Bits that go with a number, at most.
const CARRIED_BITS: i64 = 64;

/// Sort keys.
struct Keys {
    array: Var,
    prim: Prim,
    /// Scalars of a key that each has all of.
    parts: Vec<Part>,
    /// Scalars themselves, not numbers that stand for something.
    own: bool,
}

/// Scalars that go with a number: one as it is, or several in one number.
struct Carried {
    scalars: Vec<(Var, Prim)>,
}

impl<'p> Lower<'p> {
    /// `sort_by_word w keys values`.
    pub fn sort_by_word(&mut self, word: Atom, keys: Val<'p>, values: Val<'p>) -> R<Val<'p>> {
        let (n, arrays) = self.together(vec![keys, values], "the arguments of sort_by_word")?;
        let [keys, values] = &arrays[..] else { return Err(self.internal("two arrays are sorted")) };
        let keys = self.sort_keys(n, word, keys)?;
        let elem = self.elem_of(values)?.clone();
        // Bits have no derivative.
        let carried = if self.derivatives.depth == 0 { Carried::of(&elem, &keys.parts) } else { None };
        match carried {
            Some(carried) => self.carried(n, &keys, &carried, &elem),
            None => {
                let places = self.iota(n);
                let (_, order) = self.sorted(n, &keys, Some((places, Prim::I64)))?;
                let order = order.into_iter().map(|v| Val::vector(n, v, Prim::I64)).collect::<Vec<_>>();
                self.map_over(n, &order, &mut |lo, rows| match rows[0] {
                    Val::Scalar(i, _) => lo.row(values, i),
                    _ => Err(lo.internal("an index is a scalar")),
                })
            }
        }
    }

    /// Sorts keys with all that they do not say of the elements, and makes these of both.
    fn carried(&mut self, n: Atom, keys: &Keys, carried: &Carried, elem: &Val<'p>) -> R<Val<'p>> {
        let with = self.packed(n, carried)?;
        let (array, sorted) = self.sorted(n, keys, with)?;
        match (elem, &carried.scalars[..], sorted) {
            (Val::Leaf(..), [(_, p)], Some(v)) => return Ok(Val::vector(n, v, *p)),
            (Val::Leaf(..), [], None) if keys.own => return Ok(Val::vector(n, array, keys.prim)),
            _ => {}
        }
        let with = sorted.zip(with).map(|(v, (_, p))| Val::vector(n, v, p));
        let rows: Vec<Val> = [Val::vector(n, array, keys.prim)].into_iter().chain(with).collect();
        self.map_over(n, &rows, &mut |lo, rows| {
            let scalars: Vec<Atom> = rows.iter().flat_map(Val::leaves).map(|(x, _)| x).collect();
            let leaves = elem.leaves().into_iter().map(|(v, _)| match keys.parts.iter().find(|p| p.is(v)) {
                Some(_) if keys.own => scalars[0],
                Some(part) => lo.part_back(scalars[0], keys.prim, part),
                None => lo.unpacked(carried, scalars[1], v),
            });
            let leaves: Vec<Atom> = leaves.collect();
            Ok(elem.refill(&mut leaves.into_iter()))
        })
    }

    /// The scalars that go with numbers, as one array.
    fn packed(&mut self, n: Atom, carried: &Carried) -> R<Option<(Var, Prim)>> {
        let [first, .., _] = &carried.scalars[..] else { return Ok(carried.scalars.first().copied()) };
        let prim = carried.prim();
        let arrays: Vec<Val> = carried.scalars.iter().map(|(v, p)| Val::vector(n, *v, *p)).collect();
        let packed = self.map_over(n, &arrays, &mut |lo, rows| {
            let mut all = Atom::Const(Scalar::zero(prim));
            let mut low = 0;
            for (x, p) in rows.iter().flat_map(Val::leaves) {
                let bits = lo.raw_bits(x, p);
                let bits = lo.conv(unsigned(width(p)), prim, bits);
                let bits = lo.bin(BinOp::Shl, prim, bits, Atom::Const(Scalar::from_i64(prim, low)));
                all = lo.bin(BinOp::Or, prim, all, bits);
                low += width(p);
            }
            Ok(Val::Scalar(all, prim))
        })?;
        match self.elem_of(&packed)? {
            Val::Leaf(v, _) => Ok(Some((*v, prim))),
            _ => Err(self.internal(&format!("v_{} and others are one scalar", first.0.0))),
        }
    }

    /// One of the scalars that went with a number.
    fn unpacked(&mut self, carried: &Carried, all: Atom, wanted: Atom) -> Atom {
        if carried.scalars.len() == 1 {
            return all;
        }
        let prim = carried.prim();
        let before = carried.scalars.iter().take_while(|(v, _)| Atom::Var(*v) != wanted);
        let low: i64 = before.map(|(_, p)| width(*p)).sum();
        let p = carried.scalars.iter().find(|(v, _)| Atom::Var(*v) == wanted).map_or(prim, |(_, p)| *p);
        let bits = self.bits_from(all, prim, low, p);
        self.of_raw_bits(bits, p)
    }

    /// Keys as they are, if each is a scalar; else their numbers, in a type that has room for them.
    fn sort_keys(&mut self, n: Atom, word: Atom, keys: &Val<'p>) -> R<Keys> {
        let elem = self.elem_of(keys)?.clone();
        let below = 64 * word.as_i64().unwrap_or(0);
        // What is sorted has no derivative: floats would have one.
        let own = below == 0 && self.derivatives.depth == 0;
        match elem {
            Val::Leaf(array, prim) if own || below == 0 && prim.is_unsigned() => {
                return Ok(Keys { array, prim, parts: vec![Part::whole(array, prim)], own: true });
            }
            _ => {}
        }
        let bits: i64 = elem.leaves().iter().map(|(_, p)| width(*p)).sum();
        let prim = unsigned(bits - below);
        let numbers = self.map_over(n, std::slice::from_ref(keys), &mut |lo, rows| match rows[0] {
            Val::Scalar(x, p) if below == 0 => Ok(Val::Scalar(lo.number(x, p).0, prim)),
            ref row => match lo.order_word(word, row)? {
                Val::Scalar(x, p) => Ok(Val::Scalar(lo.conv(p, prim, x), prim)),
                _ => Err(lo.internal("a word is a scalar")),
            },
        })?;
        let parts = order::parts(word.as_i64().unwrap_or(0), &elem);
        match self.elem_of(&numbers)? {
            Val::Leaf(v, _) => Ok(Keys { array: *v, prim, parts, own: false }),
            _ => Err(self.internal("numbers are scalars")),
        }
    }

    fn sorted(&mut self, n: Atom, keys: &Keys, values: Option<(Var, Prim)>) -> R<(Var, Option<Var>)> {
        let mut array = |name: &str, prim| self.param(name, Type::array(vec![Dim::Size(n)], prim));
        let mut pat = vec![array("keys", keys.prim)];
        pat.extend(values.map(|(_, p)| array("sorted", p)));
        let bound = (pat[0].var, pat.get(1).map(|p| p.var));
        self.push(pat, Exp::Sort { keys: keys.array, values: values.map(|v| v.0) });
        Ok(bound)
    }
}

impl Carried {
    /// All scalars of an element that are no part of the number; none if that is too much.
    fn of(elem: &Val, parts: &[Part]) -> Option<Carried> {
        if !order::is_plain(elem) {
            return None;
        }
        let mut scalars: Vec<(Var, Prim)> = Vec::new();
        for (v, p) in elem.leaves() {
            let v = v.var()?;
            if !parts.iter().any(|part| part.is(v.into())) && !scalars.contains(&(v, p)) {
                scalars.push((v, p));
            }
        }
        let bits: i64 = scalars.iter().map(|(_, p)| width(*p)).sum();
        (scalars.len() <= 1 || bits <= CARRIED_BITS).then_some(Carried { scalars })
    }

    /// The type of one number for all.
    fn prim(&self) -> Prim {
        unsigned(self.scalars.iter().map(|(_, p)| width(*p)).sum())
    }
}
