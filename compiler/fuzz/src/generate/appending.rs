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
    Form { name: "appending to rows", weight: 14, makes: rows, make: appended_to_rows },
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

/// A loop that appends to the rows of an array.
fn appended_to_rows(g: &mut Gen, ty: &Ty, fuel: u32) -> Option<String> {
    let (a, b) = g.halves(fuel);
    let row = ty.elem()?.clone();
    let (y, k, i) = (g.name(), g.name(), g.name());
    let (rows, bound) = (1 + g.rng.below(4), g.small(6, a / 2));
    let first = match g.rng.chance(70) {
        true => format!("replicate {rows} ([] : {row})"),
        false => format!("map (const {}) (iota {rows})", g.exp(&row, a / 2)),
    };
    let body = g.with(&[(&k, &crate::types::I64)], |g| rows_version(g, &row, (&y, &i), b, 2))?;
    let place = g.with(&[(&k, &crate::types::I64)], |g| g.exp(&crate::types::I64, b / 4));
    Some(format!("(loop {y}: {ty} = {first} for {k} < {bound} do let {i} = ({place}) % {rows} in {body})"))
}

/// The next version of the rows `y`, of which row `i` is longer, or another one.
fn rows_version(g: &mut Gen, row: &Ty, (y, i): (&str, &str), fuel: u32, depth: u32) -> Option<String> {
    let elem = row.elem()?.clone();
    let one = |g: &mut Gen, y: &str, i: &str| {
        format!("({y} with [{i}] = {y}[{i}] ++ [{}])", g.exp(&elem, fuel / 4))
    };
    if depth == 0 {
        return Some(one(g, y, i));
    }
    let z = g.name();
    Some(match g.rng.below(6) {
        0 | 1 => {
            let then = rows_version(g, row, (y, i), fuel / 2, depth - 1)?;
            format!(
                "(if {i} % 2 == 0 then {then} else {})",
                if g.rng.chance(50) { y.to_string() } else { one(g, y, "0") }
            )
        }
        2 | 3 => {
            let inner = rows_version(g, row, (y, i), fuel / 2, depth - 1)?;
            format!("(let {z} = {inner} in {})", one(g, &z, "0"))
        }
        4 => format!("(if length {y}[{i}] > 2 then {y} else {})", one(g, y, i)),
        _ => one(g, y, i),
    })
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
