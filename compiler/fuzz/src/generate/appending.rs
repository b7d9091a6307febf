//! Loops that append to rows and take elements from their ends.
//!
//! ```text
//! map (\x -> loop y: []i64 = [] for k < 4 do if k % 3 == 0 then y ++ [x] else if null y then y else init y) xs
//! ```

use super::{Form, Gen};
use crate::types::Ty;

fn vector(ty: &Ty) -> bool {
    ty.elem().is_some()
}

fn rows(ty: &Ty) -> bool {
    ty.elem().is_some_and(vector)
}

pub(super) const FORMS: &[Form] = &[
    Form { name: "appending", weight: 8, makes: vector, make: appended },
    Form { name: "appending rows", weight: 14, makes: rows, make: appended_rows },
];

/// A loop that appends to an array.
fn appended(g: &mut Gen, ty: &Ty, fuel: u32) -> Option<String> {
    let (a, b) = g.halves(fuel);
    let first = if g.rng.chance(60) { "[]".to_string() } else { g.exp(ty, a / 2) };
    let (y, k) = (g.name(), g.name());
    let bound = g.small(5, a / 2);
    let body = g.with(&[(&k, &crate::types::I64)], |g| version(g, ty, (&y, &k), b, 2))?;
    Some(format!("(loop {y}: {ty} = {first} for {k} < {bound} do {body})"))
}

/// The same for each element of an array.
fn appended_rows(g: &mut Gen, ty: &Ty, fuel: u32) -> Option<String> {
    if !g.can_nest() {
        return None;
    }
    let (a, b) = g.halves(fuel);
    let (xs, t) = g.any_array(a);
    let x = g.name();
    let row = ty.elem()?.clone();
    let made = g.under(&[(&x, &t)], |g| appended(g, &row, b))?;
    Some(format!("(map (\\({x}: {t}) -> {made}) {xs})"))
}

/// The next version of the array `y` in the iteration `k`: appended to, shortened, or made anew.
fn version(g: &mut Gen, ty: &Ty, (y, k): (&str, &str), fuel: u32, depth: u32) -> Option<String> {
    let inner = match depth {
        0 => y.to_string(),
        _ => version(g, ty, (y, k), fuel / 2, depth - 1)?,
    };
    let z = g.name();
    let elem = ty.elem()?.clone();
    Some(match g.rng.below(12) {
        0..=2 => format!("({inner} ++ [{}])", g.exp(&elem, fuel / 4)),
        3 => format!("({inner} ++ [{}, {}])", g.exp(&elem, fuel / 6), g.exp(&elem, fuel / 6)),
        4 | 5 => {
            let other = version(g, ty, (y, k), fuel / 3, 0)?;
            let appended = format!("{inner} ++ [{}]", g.exp(&elem, fuel / 4));
            format!("(if {k} % 3 == 1 then {appended} else {other})")
        }
        6 => format!("(let {z} = {inner} in if null {z} then {z} else init {z})"),
        7 => format!("(let {z} = {inner} in {z}[:length {z} / 2])"),
        8 => format!("(loop {z}: {ty} = {inner} while length {z} > {k} + 1 do init {z})"),
        9 => format!("(let {z} = {inner} in if length {z} > 1 then {z} with [0] = last {z} else {y})"),
        10 => format!("(reverse {inner})"),
        _ => format!("(let {z} = {inner} in {z} ++ take (i64.min 1 (length {z})) {y} ++ [])"),
    })
}
