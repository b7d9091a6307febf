//! `random input { [1000]i32 i64 in 0..<10 }`: values that look random and are the same in every run.
//!
//! The numbers come from SplitMix64, started anew for every value with its position among the arguments. Integers take any value
//! of their type, floats lie in `[0, 1)`, unless `in LOW..<HIGH` or `in LOW...HIGH` follows. A number with its type, as `20i32`, is itself.
//! Rows of an anonymous size have lengths from 0 to 15, one in 16 on the average is empty and one in 32 sixteen times as long.

use par_runtime::{Array, Column, Prim, Scalar, Value, ValueType};

/// A type with all sizes, to make values of.
#[derive(Clone, PartialEq, Debug)]
pub enum RandomType {
    /// A scalar between bounds.
    Prim(Prim, Option<Bounds>),
    /// An array; rows without a size are ragged.
    Array(Option<usize>, Box<RandomType>),
    /// A tuple.
    Tuple(Vec<RandomType>),
    /// A record.
    Record(Vec<(String, RandomType)>),
}

/// From `low` to `high`, which integers may take if `inclusive`.
#[derive(Clone, Copy, PartialEq, Debug)]
#[allow(missing_docs)]
pub struct Bounds {
    pub low: f64,
    pub high: f64,
    pub inclusive: bool,
}

/// More elements than this in one value are refused.
const MOST: usize = 1 << 31;

/// Reads the types.
pub fn parse(text: &str) -> Result<Vec<RandomType>, String> {
    let mut parser = Parser { rest: text.trim() };
    let mut types = Vec::new();
    while !parser.rest.is_empty() {
        types.push(parser.bounded()?);
    }
    Ok(types)
}

struct Parser<'a> {
    rest: &'a str,
}

impl<'a> Parser<'a> {
    fn accept(&mut self, token: &str) -> bool {
        match self.rest.strip_prefix(token) {
            Some(rest) => {
                self.rest = rest.trim_start();
                true
            }
            None => false,
        }
    }

    fn expect(&mut self, token: &str) -> Result<(), String> {
        if self.accept(token) { Ok(()) } else { Err(format!("expected `{token}` {}", self.found())) }
    }

    fn found(&self) -> String {
        match self.rest.split_whitespace().next() {
            Some(word) => format!("before `{word}`"),
            None => "at the end".into(),
        }
    }

    fn word(&mut self, belongs: impl Fn(char) -> bool) -> &'a str {
        let end = self.rest.find(|c: char| !belongs(c)).unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at(end);
        self.rest = rest.trim_start();
        word
    }

    fn bounded(&mut self) -> Result<RandomType, String> {
        let mut ty = self.ty()?;
        if self.rest.starts_with("in ") {
            self.accept("in");
            let bounds = self.bounds()?;
            bound(&mut ty, bounds)?;
        }
        Ok(ty)
    }

    fn ty(&mut self) -> Result<RandomType, String> {
        if self.accept("[") {
            let size = match self.word(|c| c.is_ascii_digit() || c == '_') {
                "" => None,
                digits => Some(
                    digits.replace('_', "").parse().map_err(|_| format!("the size {digits} is too large"))?,
                ),
            };
            self.expect("]")?;
            return Ok(RandomType::Array(size, Box::new(self.ty()?)));
        }
        if self.accept("(") {
            return Ok(RandomType::Tuple(self.list(")", Parser::bounded)?));
        }
        if self.accept("{") {
            let field = |p: &mut Parser<'a>| {
                let name = p.name().to_string();
                p.expect(":")?;
                Ok((name, p.bounded()?))
            };
            let mut fields = self.list("}", field)?;
            fields.sort_by(|a, b| a.0.cmp(&b.0));
            return Ok(RandomType::Record(fields));
        }
        if self.rest.starts_with(|c: char| c == '-' || c.is_ascii_digit()) {
            return self.constant();
        }
        let before = self.found();
        let name = self.name();
        let prim = Prim::from_name(name)
            .ok_or_else(|| format!("expected a type like [10]i32, [10][]f64 or (i64, bool) {before}"))?;
        Ok(RandomType::Prim(prim, None))
    }

    /// A number with its type, which is the only value: `20i32`.
    fn constant(&mut self) -> Result<RandomType, String> {
        let text = self.word(|c| c.is_alphanumeric() || matches!(c, '-' | '.' | '_'));
        let typed = Prim::ALL.iter().find_map(|p| Some((*p, text.strip_suffix(p.name())?)));
        let (prim, digits) = typed.ok_or_else(|| format!("the type of `{text}` is missing: {text}i32"))?;
        let number = digits.replace('_', "").parse();
        let number: f64 = number.map_err(|_| format!("`{text}` is not a number"))?;
        let mut ty = RandomType::Prim(prim, None);
        bound(&mut ty, Bounds { low: number, high: number, inclusive: true })?;
        Ok(ty)
    }

    fn name(&mut self) -> &'a str {
        self.word(|c| c.is_alphanumeric() || c == '_')
    }

    fn list<T>(
        &mut self,
        close: &str,
        item: impl Fn(&mut Parser<'a>) -> Result<T, String>,
    ) -> Result<Vec<T>, String> {
        let mut items = Vec::new();
        while !self.accept(close) {
            items.push(item(self)?);
            if !self.accept(",") {
                self.expect(close)?;
                break;
            }
        }
        Ok(items)
    }

    fn bounds(&mut self) -> Result<Bounds, String> {
        let low = self.number()?;
        let inclusive = self.accept("...");
        if !inclusive {
            self.expect("..<")?;
        }
        let high = self.number()?;
        if low > high || (low == high && !inclusive) {
            return Err(format!("nothing lies between {low} and {high}"));
        }
        Ok(Bounds { low, high, inclusive })
    }

    fn number(&mut self) -> Result<f64, String> {
        let sign = if self.accept("-") { -1.0 } else { 1.0 };
        let end = self.rest.find("..").unwrap_or(self.rest.len());
        let end = self.rest[..end].find(|c: char| !matches!(c, '0'..='9' | '.' | 'e' | '_')).unwrap_or(end);
        let (digits, rest) = self.rest.split_at(end);
        let number: f64 =
            digits.replace('_', "").parse().map_err(|_| format!("expected a number {}", self.found()))?;
        self.rest = rest.trim_start();
        Ok(sign * number)
    }
}

/// Sets the bounds of the only scalar type in a type.
fn bound(ty: &mut RandomType, bounds: Bounds) -> Result<(), String> {
    match ty {
        RandomType::Prim(Prim::Bool, _) => Err("a bool has no bounds".into()),
        RandomType::Prim(prim, slot) => {
            let (least, most) = range(*prim);
            if bounds.low < least || bounds.high > most {
                return Err(format!("the bounds are not numbers of type {prim}"));
            }
            *slot = Some(bounds);
            Ok(())
        }
        RandomType::Array(_, elem) => bound(elem, bounds),
        RandomType::Tuple(_) | RandomType::Record(_) => {
            Err("bounds belong to the scalars inside the tuple or record".into())
        }
    }
}

/// The least number of a type, and a bound above all of them.
fn range(prim: Prim) -> (f64, f64) {
    let bits = prim.bits() as i32;
    match (prim.is_float(), prim.is_signed()) {
        (true, _) => (f64::MIN, f64::MAX),
        (_, true) => (-(2f64.powi(bits - 1)), 2f64.powi(bits - 1)),
        (_, false) => (0.0, 2f64.powi(bits)),
    }
}

/// One value for each parameter type.
pub fn values(types: &[RandomType], params: &[ValueType]) -> Result<Vec<Value>, String> {
    if types.len() != params.len() {
        let (n, m) = (params.len(), types.len());
        return Err(format!("the entry point takes {n} arguments, but there are {m} random types"));
    }
    let made = types.iter().zip(params).enumerate().map(|(i, (ty, param))| {
        let mut maker = Maker { state: (i as u64 + 1).wrapping_mul(SEED), columns: Vec::new() };
        maker.value(ty, param, None).map_err(|e| format!("argument {} of type {param}: {e}", i + 1))?;
        Ok(Value { ty: param.clone(), columns: maker.columns })
    });
    made.collect()
}

/// The increment of SplitMix64.
const SEED: u64 = 0x9e37_79b9_7f4a_7c15;

struct Maker {
    state: u64,
    columns: Vec<Column>,
}

impl Maker {
    /// The columns of a value; `rows` of them inside an array.
    fn value(&mut self, ty: &RandomType, param: &ValueType, rows: Option<usize>) -> Result<(), String> {
        match (ty, param) {
            (RandomType::Prim(prim, bounds), ValueType::Prim(p)) if prim == p => {
                let column = match rows {
                    None => Column::Scalar(self.scalar(*prim, *bounds)?),
                    Some(n) => Column::Data(self.data(*prim, *bounds, n)?),
                };
                self.columns.push(column);
                Ok(())
            }
            (RandomType::Array(size, elem), ValueType::Array { ragged, elem: param, .. }) => {
                let total = self.dimension(*size, *ragged, rows.unwrap_or(1), rows.is_none())?;
                self.value(elem, param, Some(total))
            }
            (RandomType::Tuple(ts), ValueType::Tuple(ps)) if ts.len() == ps.len() => {
                ts.iter().zip(ps).try_for_each(|(t, p)| self.value(t, p, rows))
            }
            (RandomType::Record(ts), ValueType::Record(ps))
                if ts.iter().map(|t| &t.0).eq(ps.iter().map(|p| &p.0)) =>
            {
                ts.iter().zip(ps).try_for_each(|(t, p)| self.value(&t.1, &p.1, rows))
            }
            _ => Err("the random type is another one".into()),
        }
    }

    /// A size or the offsets of a dimension below `rows` rows; the number of elements in all of them.
    fn dimension(
        &mut self,
        size: Option<usize>,
        ragged: bool,
        rows: usize,
        outermost: bool,
    ) -> Result<usize, String> {
        let fits = |n: Option<usize>| n.filter(|n| *n <= MOST).ok_or_else(|| "too many elements".to_string());
        match (size, ragged) {
            (Some(n), false) => {
                self.columns.push(Column::Size(n as i64));
                fits(rows.checked_mul(n))
            }
            (None, _) if outermost => Err("the outermost size must be a number".into()),
            (None, false) => Err("the rows must be of one length: give a number for the size".into()),
            (size, true) => {
                let mut offsets = vec![0i64];
                let mut total = 0;
                for _ in 0..rows {
                    total = fits(Some(total + size.unwrap_or_else(|| self.row_length())))?;
                    offsets.push(total as i64);
                }
                self.columns.push(Column::Offsets(Array::from_slice(&offsets)));
                Ok(total)
            }
        }
    }

    fn row_length(&mut self) -> usize {
        let bits = self.next();
        let length = (bits & 15) as usize;
        if (bits >> 8) & 31 == 0 { 16 * length } else { length }
    }

    fn data(&mut self, prim: Prim, bounds: Option<Bounds>, n: usize) -> Result<Array, String> {
        let mut array = Array::zeros(prim, n);
        let size = prim.size();
        for element in array.bytes_mut().chunks_exact_mut(size) {
            let bits = self.scalar(prim, bounds)?.bits();
            element.copy_from_slice(&bits.to_le_bytes()[..size]);
        }
        Ok(array)
    }

    fn scalar(&mut self, prim: Prim, bounds: Option<Bounds>) -> Result<Scalar, String> {
        let bits = self.next();
        if prim.is_float() {
            let Bounds { low, high, .. } = bounds.unwrap_or(Bounds { low: 0.0, high: 1.0, inclusive: false });
            let unit = (bits >> 11) as f64 / (1u64 << 53) as f64;
            let x = Scalar::from_f64(prim, low + unit * (high - low));
            return x.ok_or_else(|| format!("there are no random values of type {prim}"));
        }
        match bounds {
            None => Ok(Scalar::from_bits(prim, bits)),
            Some(Bounds { low, high, inclusive }) => {
                // At most 2^64 numbers lie between them.
                let span = (high as i128 - low as i128 + i128::from(inclusive)).max(1) as u128;
                let x = low as i128 + ((u128::from(bits) * span) >> 64) as i128;
                Ok(Scalar::from_bits(prim, x as u64))
            }
        }
    }

    fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(SEED);
        let z = (self.state ^ (self.state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use par_runtime::io::text::print_value;
    use par_runtime::io::view::View;

    fn param(text: &str) -> ValueType {
        let rows = |elem| ValueType::array(elem);
        let int = ValueType::Prim(Prim::I64);
        match text {
            "[][]" => rows(ValueType::ragged(int)),
            "[]" => rows(int),
            _ => int,
        }
    }

    #[test]
    fn types_are_read() {
        let types = parse("[10]i32 [2][]f64 in -1..<1 (i64 in 0...3, {b: bool, a: [1_000]u8})").unwrap();
        assert_eq!(types[0], RandomType::Array(Some(10), Box::new(RandomType::Prim(Prim::I32, None))));
        let RandomType::Array(Some(2), row) = &types[1] else { panic!("{types:?}") };
        let bounds = Some(Bounds { low: -1.0, high: 1.0, inclusive: false });
        assert_eq!(**row, RandomType::Array(None, Box::new(RandomType::Prim(Prim::F64, bounds))));
        assert_eq!(types.len(), 3);
        assert_eq!(
            parse("[10]i33").unwrap_err(),
            "expected a type like [10]i32, [10][]f64 or (i64, bool) before `i33`"
        );
        let constants = parse("20i32 [2]f32 -1_000.5f64").unwrap();
        let only = |n: f64| Some(Bounds { low: n, high: n, inclusive: true });
        assert_eq!(constants[0], RandomType::Prim(Prim::I32, only(20.0)));
        assert_eq!(constants[2], RandomType::Prim(Prim::F64, only(-1000.5)));
        assert_eq!(parse("[10]f32 20").unwrap_err(), "the type of `20` is missing: 20i32");
        assert_eq!(parse("300u8").unwrap_err(), "the bounds are not numbers of type u8");
        assert_eq!(parse("i32 in 3..<3").unwrap_err(), "nothing lies between 3 and 3");
        assert_eq!(parse("bool in 0...1").unwrap_err(), "a bool has no bounds");
        assert_eq!(parse("u8 in -1...300").unwrap_err(), "the bounds are not numbers of type u8");
        assert!(parse("i64 in -9e18..<9e18 u64 in 0..<18e18").is_ok());
        assert_eq!(parse("[10 i32").unwrap_err(), "expected `]` before `i32`");
    }

    #[test]
    fn values_are_the_same_and_well_formed() {
        let types = parse("[50][]i64 in 0..<7 i64").unwrap();
        let params = [param("[][]"), param("")];
        let made = values(&types, &params).unwrap();
        assert_eq!(made, values(&types, &params).unwrap());
        for value in &made {
            View::new(value).unwrap();
        }
        let Some(Column::Data(data)) = made[0].columns.last() else { panic!("no data") };
        assert!(data.slice::<i64>().iter().all(|x| (0..7).contains(x)));
        assert!((0..7).all(|x| data.slice::<i64>().contains(&x)));
        assert!(print_value(&made[0]).contains("[]"), "an empty row is among them");
    }

    #[test]
    fn what_does_not_fit_is_an_error() {
        let error = |text, ty| values(&parse(text).unwrap(), &[param(ty)]).unwrap_err();
        assert_eq!(error("[]i64", "[]"), "argument 1 of type []i64: the outermost size must be a number");
        assert_eq!(error("i32", ""), "argument 1 of type i64: the random type is another one");
        assert_eq!(error("i64 i64", ""), "the entry point takes 1 arguments, but there are 2 random types");
        assert!(error("[99999999][99999999]i64", "[][]").ends_with("too many elements"));
    }
}
