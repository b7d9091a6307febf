//! The operators that are built into the language: they work at several types, which no definition could say.

use super::{Item, Kind};

/// Operator, signature, meaning with an example.
type Entry = (&'static str, &'static str, &'static str);

const NUMBERS: &str = "where t is a type of numbers";
const INTEGERS: &str = "where t is an integer type";
const ORDERED: &str = "where t is a type of numbers or bool";
const BITS: &str = "where t is an integer type or bool";

#[rustfmt::skip]
const OPERATORS: [(Entry, &str); 23] = [
    (("+", "(x: t) (y: t) : t", "Sum; integers wrap. Example: `200u8 + 100` is `44u8`."), NUMBERS),
    (("-", "(x: t) (y: t) : t", "Difference; integers wrap. Example: `0u8 - 1` is `255u8`."), NUMBERS),
    (("*", "(x: t) (y: t) : t", "Product; integers wrap. Example: `6 * 7` is `42`."), NUMBERS),
    (("/", "(x: t) (y: t) : t", "Quotient; of integers rounded down, and an error if `y` is 0. Example: `-7 / 2` is `-4`."), NUMBERS),
    (("%", "(x: t) (y: t) : t", "Remainder of `/`: it has the sign of `y`. Example: `-7 % 2` is `1`."), NUMBERS),
    (("//", "(x: t) (y: t) : t", "Quotient rounded towards zero; an error if `y` is 0. Example: `-7 // 2` is `-3`."), INTEGERS),
    (("%%", "(x: t) (y: t) : t", "Remainder of `//`: it has the sign of `x`. Example: `-7 %% 2` is `-1`."), INTEGERS),
    (("**", "(x: t) (y: t) : t", "Power. Example: `2 ** 10` is `1024`."), NUMBERS),
    (("&", "(x: t) (y: t) : t", "Bits that are set in both. Example: `12 & 10` is `8`."), BITS),
    (("|", "(x: t) (y: t) : t", "Bits that are set in one at least. Example: `12 | 10` is `14`."), BITS),
    (("^", "(x: t) (y: t) : t", "Bits that are set in exactly one. Example: `12 ^ 10` is `6`."), BITS),
    (("<<", "(x: t) (y: t) : t", "Bits moved up by `y` places, zeros moved in. Example: `3 << 2` is `12`."), INTEGERS),
    ((">>", "(x: t) (y: t) : t", "Bits moved down by `y` places; signed types copy the sign. Example: `-8 >> 1` is `-4`."), INTEGERS),
    ((">>>", "(x: t) (y: t) : t", "Bits moved down by `y` places, zeros moved in. Example: `-1i8 >>> 1` is `127i8`."), INTEGERS),
    (("==", "(x: t) (y: t) : bool", "True if the values are equal; arrays of different shape are not. Example: `[1, 2] == [1, 2]` is `true`."), "where t is a type without functions"),
    (("!=", "(x: t) (y: t) : bool", "True if the values differ. Example: `[1, 2] != [1]` is `true`."), "where t is a type without functions"),
    (("<", "(x: t) (y: t) : bool", "Whether `x` is smaller. Example: `1 < 2` is `true`."), ORDERED),
    (("<=", "(x: t) (y: t) : bool", "Whether `x` is smaller or equal. Example: `2 <= 2` is `true`."), ORDERED),
    ((">", "(x: t) (y: t) : bool", "Whether `x` is larger. Example: `1 > 2` is `false`."), ORDERED),
    ((">=", "(x: t) (y: t) : bool", "Whether `x` is larger or equal. Example: `2 >= 2` is `true`."), ORDERED),
    (("&&", "(x: bool) (y: bool) : bool", "Whether both are true; `y` is not evaluated if `x` is false. Example: `true && false` is `false`."), ""),
    (("||", "(x: bool) (y: bool) : bool", "Whether one is true; `y` is not evaluated if `x` is true. Example: `true || false` is `true`."), ""),
    (("!", "(x: t) : t", "The other truth value, or all bits inverted. Example: `!true` is `false`."), BITS),
];

/// The operators as items.
pub(super) fn items() -> Vec<Item> {
    OPERATORS.iter().map(|((name, head, text), types)| item(name, head, text, types)).collect()
}

fn item(name: &str, head: &str, text: &str, types: &str) -> Item {
    let (meaning, example) = text.split_once(" Example: ").unwrap_or((text, ""));
    Item {
        name: name.to_string(),
        kind: Kind::Operator,
        signature: format!("({name}) {head} {types}").trim_end().to_string(),
        text: Some(format!("{meaning} Work and span O(1).\n\nExample: {example}")),
        file: 0,
        line: 0,
        ty: None,
    }
}
