//! Every function and constant of the numeric modules exists under its name and with its type, in every module.

use par::{Failure, Options, compile};

const INTEGERS: [&str; 8] = ["i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64"];
const FLOATS: [&str; 3] = ["f16", "f32", "f64"];

/// Names and types, `t` for the module's type, `u` for the unsigned type of the same width.
const NUMERIC: &[(&str, &str)] = &[
    ("+ - * / % ** max min", "t -> t -> t"),
    ("== != < <= > >=", "t -> t -> bool"),
    ("i8", "i8 -> t"),
    ("i16", "i16 -> t"),
    ("i32", "i32 -> t"),
    ("i64", "i64 -> t"),
    ("u8", "u8 -> t"),
    ("u16", "u16 -> t"),
    ("u32", "u32 -> t"),
    ("u64", "u64 -> t"),
    ("f16", "f16 -> t"),
    ("f32", "f32 -> t"),
    ("f64", "f64 -> t"),
    ("bool", "bool -> t"),
    ("to_i64", "t -> i64"),
    ("neg abs sgn", "t -> t"),
    ("highest lowest", "t"),
    ("sum product maximum minimum", "[]t -> t"),
    ("clamp", "t -> t -> t -> t"),
    ("num_bits", "i32"),
    ("get_bit", "i32 -> t -> i32"),
    ("set_bit", "i32 -> t -> i32 -> t"),
    ("mad", "t -> t -> t -> t"),
];

const INTEGRAL: &[(&str, &str)] = &[
    ("// %% & | ^ << >> >>> mul_hi gcd", "t -> t -> t"),
    ("not", "t -> t"),
    ("popc clz ctz", "t -> i32"),
    ("mad_hi", "t -> t -> t -> t"),
    ("iota", "t -> []t"),
];

const FLOAT: &[(&str, &str)] = &[
    ("recip sqrt cbrt rsqrt exp exp2 exp10 expm1 log log2 log10 log1p", "t -> t"),
    ("sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh", "t -> t"),
    ("sinpi cospi tanpi asinpi acospi atanpi gamma lgamma erf erfc", "t -> t"),
    ("ceil floor trunc round", "t -> t"),
    ("atan2 atan2pi hypot copysign nextafter pow", "t -> t -> t"),
    ("lerp fma", "t -> t -> t -> t"),
    ("isinf isnan", "t -> bool"),
    ("inf nan pi e epsilon largest smallest", "t"),
    ("from_fraction", "i64 -> i64 -> t"),
    ("to_f64", "t -> f64"),
    ("ldexp", "t -> i32 -> t"),
    ("to_bits", "t -> u"),
    ("from_bits", "u -> t"),
];

const BOOL: &[(&str, &str)] = &[
    ("i8", "i8 -> t"),
    ("i16", "i16 -> t"),
    ("i32", "i32 -> t"),
    ("i64", "i64 -> t"),
    ("u8", "u8 -> t"),
    ("u16", "u16 -> t"),
    ("u32", "u32 -> t"),
    ("u64", "u64 -> t"),
    ("f16", "f16 -> t"),
    ("f32", "f32 -> t"),
    ("f64", "f64 -> t"),
    ("bool not", "t -> t"),
    ("== != < <= > >= & | ^ && ||", "t -> t -> t"),
    ("and or", "[]t -> t"),
];

/// A definition for every member, with its type.
fn definitions(module: &str, members: &[(&str, &str)], text: &mut String) {
    let unsigned = format!("u{}", &module[1..]);
    for (names, ty) in members {
        let ty: Vec<&str> = ty.split(' ').collect();
        let here = |part: &&str| match *part {
            "t" => module.to_string(),
            "[]t" => format!("[]{module}"),
            "u" => unsigned.clone(),
            other => other.to_string(),
        };
        let parts: Vec<String> = ty.iter().map(here).collect();
        for name in names.split(' ') {
            let number = text.lines().count();
            let is_word = name.starts_with(char::is_alphabetic);
            let value = if is_word { format!("{module}.{name}") } else { format!("({module}.{name})") };
            *text += &format!("def d{number} : {} = {value}\n", parts.join(" "));
        }
    }
}

#[test]
fn every_member_has_its_type() {
    let mut text = String::new();
    for module in INTEGERS {
        definitions(module, NUMERIC, &mut text);
        definitions(module, INTEGRAL, &mut text);
    }
    for module in FLOATS {
        definitions(module, NUMERIC, &mut text);
        definitions(module, FLOAT, &mut text);
    }
    definitions("bool", BOOL, &mut text);
    let lines = text.lines().count();
    assert!(lines > 600, "{lines}");
    text += "entry main (x: i32) (y: i32) : i32 = (x i32.+ y) `i32.max` (y i32.** x)\n";
    match compile(&text, "members.par", &Options::default()) {
        Ok(_) => {}
        Err(Failure::Rejected { diagnostics, .. }) => {
            let all: Vec<String> = diagnostics.iter().map(|d| d.message.clone()).collect();
            panic!("{}", all.join("\n"));
        }
        Err(other) => panic!("{other:?}"),
    }
}
