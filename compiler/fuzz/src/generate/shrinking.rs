//! Loops under a map whose state is rows that become shorter: each row may be worked through in the place of its first state.
//!
//! ```text
//! map (\x -> loop y = x for k < 3 do if null y then y else filter (> y[0]) (tail y)) xss
//! ```

use super::reduce::predicate;
use super::{Form, Gen};
use crate::types::Ty;

fn rows(ty: &Ty) -> bool {
    ty.elem().and_then(Ty::elem).is_some()
}

pub(super) const FORMS: &[Form] =
    &[Form { name: "shrinking rows", weight: 16, makes: rows, make: shrinking }];

fn shrinking(g: &mut Gen, ty: &Ty, fuel: u32) -> Option<String> {
    if !g.can_nest() {
        return None;
    }
    let row = ty.elem()?.clone();
    let (a, b) = g.halves(fuel);
    let xss = g.exp(ty, a);
    let (x, y, k) = (g.name(), g.name(), g.name());
    let body = part(g, &row, (&y, &k), b.min(6), 2)?;
    Some(match g.rng.below(3) {
        0 => format!(
            "(map (\\({x}: {row}) -> (loop ({y}, {k}) = ({x}, 0) while {k} < 5 && length {y} > {k} do ({body}, {k} + 1)).0) {xss})"
        ),
        _ => format!("(map (\\({x}: {row}) -> loop {y} = {x} for {k} < length {x} % 4 do {body}) {xss})"),
    })
}

/// A part of a row, in the iteration `k`; sometimes a longer one.
fn part(g: &mut Gen, row: &Ty, (y, k): (&str, &str), fuel: u32, depth: u32) -> Option<String> {
    let inner = match depth {
        0 => y.to_string(),
        _ => part(g, row, (y, k), fuel / 2, depth - 1)?,
    };
    let z = g.name();
    Some(match g.rng.below(9) {
        0..=2 => format!("(filter {} {inner})", predicate(g, row.elem()?, fuel)),
        3 => format!("(let {z} = {inner} in if null {z} then {z} else tail {z})"),
        4 => format!("(let {z} = {inner} in {z}[:length {z} / 2])"),
        5 => format!("(let {z} = {inner} in take (i64.min {k} (length {z})) {z})"),
        6 => format!("(let {z} = {inner} in if length {z} > {k} + 1 then {z}[{k}:] else {y})"),
        7 => format!("(reverse {inner})"),
        _ => format!("(let {z} = {inner} in {z} ++ take (i64.min 1 (length {z})) {z})"),
    })
}
