//! Columns of a JSON value while it is read, by the expected type.

use crate::missing::Optional;
use crate::tree::Tree;
use par_runtime::{Array, Prim, ValueType, f16, float16};

/// Values one after the other.
pub enum Column {
    Numbers(Numbers),
    /// Rows with their ends, which begin with 0.
    List(Vec<i64>, Box<Column>),
    /// The names of constructors.
    Names(Vec<String>, Vec<i64>, Vec<u8>),
    Tuple(Vec<Column>),
    Record(Vec<(String, Column)>),
    Optional(Vec<bool>, Box<Column>),
}

/// Scalars of a type.
pub enum Numbers {
    Signed(Prim, Vec<i64>),
    Unsigned(Prim, Vec<u64>),
    Halves(Vec<f16>),
    Singles(Vec<f32>),
    Doubles(Vec<f64>),
    Bools(Vec<bool>),
}

impl Column {
    /// No values yet. Fails for types whose values have no form in JSON.
    pub fn new(ty: &ValueType) -> Result<Column, String> {
        Ok(match ty {
            ValueType::Prim(prim) => Column::Numbers(Numbers::new(*prim)),
            ValueType::Array { elem, .. } => Column::List(vec![0], Box::new(Column::new(elem)?)),
            ValueType::Tuple(types) => {
                Column::Tuple(types.iter().map(Column::new).collect::<Result<_, _>>()?)
            }
            ValueType::Record(fields) => {
                let fields = fields.iter().map(|(name, t)| Ok((name.clone(), Column::new(t)?)));
                Column::Record(fields.collect::<Result<_, String>>()?)
            }
            ValueType::Sum(cases) => match Optional::of(cases) {
                Some(optional) => Column::Optional(Vec::new(), Box::new(Column::new(optional.ty)?)),
                None if cases.iter().all(|c| c.1.is_empty()) => {
                    Column::Names(cases.iter().map(|c| c.0.clone()).collect(), vec![0], Vec::new())
                }
                None => return Err(format!("values of {ty} can only be read from text")),
            },
            ValueType::Opaque { name, .. } => {
                return Err(format!("{name} is a hidden type, which no file has"));
            }
        })
    }

    /// Adds a value that is not there.
    pub fn push_nothing(&mut self) {
        match self {
            Column::Numbers(numbers) => numbers.push_zero(),
            Column::List(ends, _) | Column::Names(_, ends, _) => {
                ends.push(ends.last().copied().unwrap_or(0));
            }
            Column::Tuple(parts) => parts.iter_mut().for_each(Column::push_nothing),
            Column::Record(fields) => fields.iter_mut().for_each(|f| f.1.push_nothing()),
            Column::Optional(present, elem) => {
                present.push(false);
                elem.push_nothing();
            }
        }
    }

    /// Adds a text; false if none is wanted.
    pub fn push_text(&mut self, text: &str) -> bool {
        match self {
            Column::List(ends, elem) => {
                let Column::Numbers(Numbers::Unsigned(Prim::U8, all)) = &mut **elem else { return false };
                all.extend(text.bytes().map(u64::from));
                ends.push(all.len() as i64);
            }
            Column::Names(names, ends, bytes) => {
                if !names.iter().any(|n| n == text) {
                    return false;
                }
                bytes.extend_from_slice(text.as_bytes());
                ends.push(bytes.len() as i64);
            }
            _ => return false,
        }
        true
    }

    /// Description of the expected value, for error messages.
    pub fn expected(&self) -> String {
        match self {
            Column::Numbers(numbers) => format!("a value of type {}", numbers.prim()),
            Column::List(_, elem) if matches!(&**elem, Column::Numbers(n) if n.prim() == Prim::U8) => {
                "a string, or an array of u8,".into()
            }
            Column::List(..) => "an array".into(),
            Column::Names(names, ..) => {
                let names: Vec<String> = names.iter().map(|n| format!("\"{n}\"")).collect();
                format!("one of {}", names.join(", "))
            }
            Column::Tuple(parts) => format!("an array of {} values", parts.len()),
            Column::Record(_) => "an object".into(),
            Column::Optional(_, elem) => elem.expected(),
        }
    }

    /// All values.
    pub fn finish(self) -> Tree {
        match self {
            Column::Numbers(numbers) => Tree::Scalars(numbers.finish()),
            Column::List(ends, elem) => Tree::Lists(Array::from_slice(&ends), Box::new(elem.finish())),
            Column::Names(_, ends, bytes) => Tree::texts(&ends, &bytes),
            Column::Tuple(parts) => Tree::Fields(
                parts.into_iter().enumerate().map(|(i, c)| (i.to_string(), c.finish())).collect(),
            ),
            Column::Record(fields) => {
                Tree::Fields(fields.into_iter().map(|(name, c)| (name, c.finish())).collect())
            }
            Column::Optional(present, elem) => {
                Tree::Optional(Array::from_slice(&present), Box::new(elem.finish()))
            }
        }
    }
}

impl Numbers {
    fn new(prim: Prim) -> Numbers {
        match prim {
            Prim::I8 | Prim::I16 | Prim::I32 | Prim::I64 => Numbers::Signed(prim, Vec::new()),
            Prim::U8 | Prim::U16 | Prim::U32 | Prim::U64 => Numbers::Unsigned(prim, Vec::new()),
            Prim::F16 => Numbers::Halves(Vec::new()),
            Prim::F32 => Numbers::Singles(Vec::new()),
            Prim::F64 => Numbers::Doubles(Vec::new()),
            Prim::Bool => Numbers::Bools(Vec::new()),
        }
    }

    pub fn prim(&self) -> Prim {
        match self {
            Numbers::Signed(prim, _) | Numbers::Unsigned(prim, _) => *prim,
            Numbers::Halves(_) => Prim::F16,
            Numbers::Singles(_) => Prim::F32,
            Numbers::Doubles(_) => Prim::F64,
            Numbers::Bools(_) => Prim::Bool,
        }
    }

    fn push_zero(&mut self) {
        match self {
            Numbers::Signed(_, all) => all.push(0),
            Numbers::Unsigned(_, all) => all.push(0),
            Numbers::Halves(all) => all.push(f16::ZERO),
            Numbers::Singles(all) => all.push(0.0),
            Numbers::Doubles(all) => all.push(0.0),
            Numbers::Bools(all) => all.push(false),
        }
    }

    /// Adds an integer; false if it does not fit.
    pub fn push_integer(&mut self, x: i128) -> bool {
        let bits = 8 * self.prim().size() as u32;
        match self {
            Numbers::Signed(_, all) if x >= -(1 << (bits - 1)) && x < 1 << (bits - 1) => all.push(x as i64),
            Numbers::Unsigned(_, all) if (0..1 << bits).contains(&x) => all.push(x as u64),
            Numbers::Singles(all) => all.push(x as f32),
            Numbers::Doubles(all) => all.push(x as f64),
            _ => return false,
        }
        true
    }

    /// Adds a number with a fraction or an exponent, rounded to the type; false if it does not fit. An integer of that form may
    /// have been rounded if it has 54 bits or more.
    pub fn push_float(&mut self, x: f64) -> bool {
        match self {
            Numbers::Singles(all) => all.push(x as f32),
            Numbers::Doubles(all) => all.push(x),
            _ if x.fract() == 0.0 && x.abs() < (1i64 << 53) as f64 => return self.push_integer(x as i128),
            _ => return false,
        }
        true
    }

    /// Adds a number as it is written, if halves are wanted; false if it is none or too large.
    pub fn push_half(&mut self, text: &str) -> bool {
        let Numbers::Halves(all) = self else { return false };
        let is_number = text.starts_with(|c: char| c == '-' || c.is_ascii_digit());
        let read = float16::from_decimal(text).filter(|x| is_number && x.is_finite());
        read.map(|x| all.push(x)).is_some()
    }

    /// Adds a truth value; false if none is wanted.
    pub fn push_bool(&mut self, x: bool) -> bool {
        match self {
            Numbers::Bools(all) => all.push(x),
            _ => return false,
        }
        true
    }

    fn finish(self) -> Array {
        macro_rules! cast {
            ($all:expr, $t:ty) => {
                Array::from_slice(&$all.iter().map(|x| *x as $t).collect::<Vec<$t>>())
            };
        }
        match self {
            Numbers::Signed(Prim::I8, all) => cast!(all, i8),
            Numbers::Signed(Prim::I16, all) => cast!(all, i16),
            Numbers::Signed(Prim::I32, all) => cast!(all, i32),
            Numbers::Signed(_, all) => Array::from_slice(&all),
            Numbers::Unsigned(Prim::U8, all) => cast!(all, u8),
            Numbers::Unsigned(Prim::U16, all) => cast!(all, u16),
            Numbers::Unsigned(Prim::U32, all) => cast!(all, u32),
            Numbers::Unsigned(_, all) => Array::from_slice(&all),
            Numbers::Halves(all) => Array::from_slice(&all),
            Numbers::Singles(all) => Array::from_slice(&all),
            Numbers::Doubles(all) => Array::from_slice(&all),
            Numbers::Bools(all) => Array::from_slice(&all),
        }
    }
}
