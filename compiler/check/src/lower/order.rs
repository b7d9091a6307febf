//! Keys as unsigned numbers in the same order, for sorting by digits.
//!
//! ```text
//! order_bits xs        i32: 32     (bool, f64): 65     an array or a function: 0
//! order_word 0 x       the lowest 64 of these bits; order_word 1 x the next
//! ```
//!
//! The first component of a tuple has the highest bits. A signed number has its sign bit inverted; a float has its sign
//! bit inverted if it is not negative and all bits otherwise, both zeros being one number and every NaN the largest.

use super::value::Val;
use super::{Lower, R};
use par_ir::prim::{BinOp, CmpOp, SpecialOp, UnOp};
use par_ir::{Atom, Dim, Prim, PrimOp, Scalar, Var};

/// Keys of more bits are sorted by their parts, or compared.
const MAX_BITS: i64 = 128;

/// Name of the intrinsic that sorts by keys of any type.
pub(super) const ARGSORT_PARTS: &str = "argsort_parts";

const WORDS: &str = "argsort_words";
const ROWS: &str = "argsort_rows";
const COMPARED: &str = "argsort_compared";

/// The definitions that it calls, each for parts of one kind.
pub(super) const ARGSORTS: [&str; 3] = [WORDS, ROWS, COMPARED];

/// A scalar of a key that its number has all of.
pub(super) struct Part {
    array: Atom,
    prim: Prim,
    /// Its lowest bit in the number.
    low: i64,
}

impl Part {
    /// A key that is nothing but this scalar.
    pub fn whole(array: Var, prim: Prim) -> Part {
        Part { array: array.into(), prim, low: 0 }
    }

    /// True if it is the element of this array.
    pub fn is(&self, array: Atom) -> bool {
        self.array == array
    }
}

/// The scalars of keys that a word of their numbers has all of: integers and truth values. Several floats have one number.
pub(super) fn parts(word: i64, key: &Val) -> Vec<Part> {
    let mut low = -64 * word;
    let mut parts = Vec::new();
    for (array, prim) in key.leaves().into_iter().rev() {
        if !prim.is_float() && low >= 0 && low + width(prim) <= 64 {
            parts.push(Part { array, prim, low });
        }
        low += width(prim);
    }
    parts
}

impl<'p> Lower<'p> {
    /// Number of bits of the sort keys that stand for the elements of an array; 0 if there are no such keys.
    pub fn order_bits(&self, xs: &Val<'p>) -> R<Val<'p>> {
        let elem = self.elem_of(xs)?;
        Ok(Val::i64(Atom::i64(if has_words(elem) { bits(elem) } else { 0 })))
    }

    /// 64 of the bits that stand for a value.
    pub fn order_word(&mut self, word: Atom, x: &Val<'p>) -> R<Val<'p>> {
        let Some(word) = word.as_i64() else {
            return Err(self.internal("a word of a key has a constant number"));
        };
        let mut out = Atom::Const(Scalar::U64(0));
        let mut low = -64 * word;
        for (x, p) in x.leaves().into_iter().rev() {
            let bits = width(p);
            if low > -bits && low < 64 {
                let number = self.ordered(x, p);
                let (op, places) = if low < 0 { (BinOp::Lshr, -low) } else { (BinOp::Shl, low) };
                let part = self.bin(op, Prim::U64, number, Atom::Const(Scalar::U64(places as u64)));
                out = self.bin(BinOp::Or, Prim::U64, out, part);
            }
            low += bits;
        }
        Ok(Val::Scalar(out, Prim::U64))
    }

    /// The indices that bring keys into ascending order: sorted by each part of them, the last first.
    ///
    /// ```text
    /// argsort_parts (zip3 as bs cs)      bs : [n][]u8; of as and cs, the elements have up to 128 bits
    ///     argsort_words (argsort_rows (argsort_words (iota n) cs) bs) as
    /// ```
    pub fn argsort_parts(&mut self, keys: &Val<'p>) -> R<Val<'p>> {
        let n = self.size_of(keys)?;
        let mut order = Val::vector(n, self.iota(n), Prim::I64);
        for (name, part) in key_parts(self.elem_of(keys)?).into_iter().rev() {
            let element = match &part {
                Val::Array(_, element) if name == ROWS => element.shape(),
                part => part.shape(),
            };
            let part = Val::Array(Dim::Size(n), Box::new(part));
            order = self.library(name, vec![element], vec![order, part])?;
        }
        Ok(order)
    }

    /// A scalar as a number of `width` bits in a `u64`.
    fn ordered(&mut self, x: Atom, p: Prim) -> Atom {
        let (number, unsigned) = self.number(x, p);
        self.conv(unsigned, Prim::U64, number)
    }

    /// A scalar as a number of `width` bits.
    pub(super) fn number(&mut self, x: Atom, p: Prim) -> (Atom, Prim) {
        let unsigned = unsigned(width(p));
        let number = match p {
            p if p.is_float() => self.ordered_float(x, p),
            p if p.is_signed() => {
                let bits = self.conv(p, unsigned, x);
                self.bin(BinOp::Add, unsigned, bits, sign(unsigned))
            }
            p => self.conv(p, unsigned, x),
        };
        (number, unsigned)
    }

    /// A part of a number as the scalar that it stands for.
    pub(super) fn part_back(&mut self, number: Atom, prim: Prim, part: &Part) -> Atom {
        let unsigned = unsigned(width(part.prim));
        let bits = self.bits_from(number, prim, part.low, part.prim);
        let bits = match part.prim.is_signed() {
            true => self.bin(BinOp::Add, unsigned, bits, sign(unsigned)),
            false => bits,
        };
        self.of_raw_bits(bits, part.prim)
    }

    /// So many bits of a number as a scalar of this type has, from bit `low` on.
    pub(super) fn bits_from(&mut self, number: Atom, prim: Prim, low: i64, p: Prim) -> Atom {
        let number = self.bin(BinOp::Lshr, prim, number, Atom::Const(Scalar::from_i64(prim, low)));
        let bits = self.conv(prim, unsigned(width(p)), number);
        if p != Prim::Bool {
            return bits;
        }
        self.bin(BinOp::And, Prim::U8, bits, Atom::Const(Scalar::U8(1)))
    }

    /// The bits of a scalar.
    pub(super) fn raw_bits(&mut self, x: Atom, p: Prim) -> Atom {
        match p.is_float() {
            true => self.prim(PrimOp::Special(SpecialOp::ToBits, p), &[x]),
            false => self.conv(p, unsigned(width(p)), x),
        }
    }

    /// The scalar with these bits.
    pub(super) fn of_raw_bits(&mut self, bits: Atom, p: Prim) -> Atom {
        match p.is_float() {
            true => self.prim(PrimOp::Special(SpecialOp::FromBits, p), &[bits]),
            false => self.conv(unsigned(width(p)), p, bits),
        }
    }

    fn ordered_float(&mut self, x: Atom, p: Prim) -> Atom {
        let to_bits = PrimOp::Special(SpecialOp::ToBits, p);
        let bits_of = to_bits.result();
        let raw = self.prim(to_bits, &[x]);
        let zero = Atom::Const(Scalar::zero(bits_of));
        let is_zero = self.prim(PrimOp::Cmp(CmpOp::Eq, p), &[x, Atom::Const(Scalar::zero(p))]);
        let raw = self.select(bits_of, is_zero, zero, raw);
        let sign = Atom::Const(Scalar::from_bits(bits_of, 1 << (width(p) - 1)));
        let inverted = self.prim(PrimOp::Un(UnOp::Not, bits_of), &[raw]);
        let above = self.bin(BinOp::Or, bits_of, raw, sign);
        let negative = self.prim(PrimOp::Cmp(CmpOp::Le, bits_of), &[sign, raw]);
        let number = self.select(bits_of, negative, inverted, above);
        let is_nan = self.prim(PrimOp::Special(SpecialOp::IsNan, p), &[x]);
        let largest = Atom::Const(Scalar::from_bits(bits_of, u64::MAX));
        self.select(bits_of, is_nan, largest, number)
    }
}

/// The parts that an order is decided by, the first before the others, and what sorts by each. Neighbours with few bits are one.
fn key_parts<'p>(key: &Val<'p>) -> Vec<(&'static str, Val<'p>)> {
    let parts: Vec<&Val<'p>> = match key {
        Val::Tuple(vs) => vs.iter().collect(),
        Val::Record(fs) => fs.iter().map(|(_, v)| v).collect(),
        key if has_words(key) => return vec![(WORDS, key.clone())],
        Val::Array(_, element) if has_words(element) => return vec![(ROWS, key.clone())],
        key => return vec![(COMPARED, key.clone())],
    };
    let mut out: Vec<(&'static str, Val<'p>)> = Vec::new();
    for (name, part) in parts.into_iter().flat_map(key_parts) {
        match out.last_mut() {
            Some((WORDS, before)) if name == WORDS && bits(before) + bits(&part) <= 64 => {
                *before = Val::Tuple(vec![before.clone(), part]);
            }
            _ => out.push((name, part)),
        }
    }
    out
}

/// True if there are numbers that stand for values like this.
fn has_words(val: &Val) -> bool {
    is_plain(val) && (1..=MAX_BITS).contains(&bits(val))
}

/// Bits of all scalars of a value.
fn bits(val: &Val) -> i64 {
    val.leaves().iter().map(|(_, p)| width(*p)).sum()
}

/// The highest bit.
fn sign(unsigned: Prim) -> Atom {
    Atom::Const(Scalar::from_bits(unsigned, 1 << (unsigned.bits() - 1)))
}

/// The smallest unsigned type of so many bits.
pub(super) fn unsigned(bits: i64) -> Prim {
    match bits {
        ..=8 => Prim::U8,
        9..=16 => Prim::U16,
        17..=32 => Prim::U32,
        _ => Prim::U64,
    }
}

/// Bits of the number that stands for a scalar.
pub(super) fn width(p: Prim) -> i64 {
    match p {
        Prim::Bool => 1,
        p => i64::from(p.bits()),
    }
}

/// True if a value is made of scalars, tuples and records alone.
pub(super) fn is_plain(val: &Val) -> bool {
    match val {
        Val::Scalar(..) | Val::Leaf(..) => true,
        Val::Tuple(vs) => vs.iter().all(is_plain),
        Val::Record(fs) => fs.iter().all(|(_, v)| is_plain(v)),
        _ => false,
    }
}
