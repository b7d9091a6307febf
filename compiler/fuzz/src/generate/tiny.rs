//! Arrays of a few elements, whose sizes are constants.

use super::{Form, Gen};
use crate::types::{I64, Ty, array};

fn is_i64(ty: &Ty) -> bool {
    *ty == I64
}

fn of_i64(ty: &Ty) -> bool {
    ty.elem() == Some(&I64)
}

fn rows_of_i64(ty: &Ty) -> bool {
    ty.elem().is_some_and(of_i64)
}

pub(super) const FORMS: &[Form] = &[
    Form { name: "small vector", weight: 10, makes: is_i64, make: element },
    Form { name: "row of a small array", weight: 8, makes: of_i64, make: row },
    Form { name: "reduction of small vectors", weight: 5, makes: is_i64, make: reduction },
    Form { name: "scan of small vectors", weight: 5, makes: of_i64, make: prefixes },
    Form { name: "rows of prefixes", weight: 5, makes: rows_of_i64, make: rows_of_prefixes },
    Form { name: "captured histogram", weight: 4, makes: of_i64, make: histogram },
];

/// A vector, changed in some steps.
fn vector(g: &mut Gen, fuel: u32) -> String {
    let n = 2 + g.rng.below(5) as u32;
    let elems: Vec<String> = (0..n).map(|_| g.exp(&I64, fuel / (n + 2))).collect();
    let mut v = format!("[{}]", elems.join(", "));
    for _ in 0..g.rng.below(3) {
        let (x, y) = (g.name(), g.name());
        let e = g.exp(&I64, fuel / (n + 2));
        v = match g.rng.below(9) {
            0 => format!("(map (\\{x} -> {x} * {x} - {e}) {v})"),
            1 => format!("(scan (+) 0 (map (+ {e}) {v}))"),
            2 => format!("(let {x} = {v} in map2 (-) {x} (reverse {x}))"),
            3 => format!("(loop {x} = {v} for {y} < ({e} & 3) do map (+ {y}) {x})"),
            4 => format!("(let {x} = {v} in if {x}[0] < {x}[1] then {x} else map (\\{y} -> {y} + {e}) {x})"),
            5 => format!("(copy {v} with [{e} & 1] = 7)"),
            6 => format!("(sort {v})"),
            7 => {
                let step = format!("({x} with [{y}] = {x}[{y} - 1], {y} - 1)");
                format!(
                    "(loop ({x}, {y}) = (copy {v}, {n} - 1) while {y} > 0 && {x}[{y} - 1] > {e} do {step}).0"
                )
            }
            _ => format!("(let {x} = {v} in map (\\{y} -> {x}[{y}] + i64.sum {x}) (iota {n}))"),
        };
    }
    v
}

fn element(g: &mut Gen, _: &Ty, fuel: u32) -> Option<String> {
    let (v, i, x) = (vector(g, fuel), g.exp(&I64, fuel / 4), g.name());
    Some(format!("(let {x} = {v} in {x}[{i} & 1] + i64.sum (map (\\{x} -> {x} ^ 5) {x}))"))
}

fn row(g: &mut Gen, _: &Ty, fuel: u32) -> Option<String> {
    Some(vector(g, fuel))
}

/// Maps `x * a + b` one after the other, as pairs of `a` and `b`.
const COMPOSE: &str = "(\\p q -> [p[0] * q[0], q[0] * p[1] + q[1]]) [1, 0]";

fn maps(g: &mut Gen, fuel: u32) -> Option<String> {
    if !g.can_nest() {
        return None;
    }
    let (a, b) = g.halves(fuel);
    let (xs, t) = g.any_array(a);
    let x = g.name();
    let (p, q) = g.under(&[(&x, &t)], |g| (g.exp(&I64, b / 2), g.exp(&I64, b / 2)));
    Some(format!("(map (\\({x}: {t}) -> [{p}, {q}]) {xs})"))
}

fn reduction(g: &mut Gen, _: &Ty, fuel: u32) -> Option<String> {
    let (xs, x) = (maps(g, fuel)?, g.name());
    Some(format!("(let {x} = reduce {COMPOSE} {xs} in {x}[0] - {x}[1])"))
}

fn prefixes(g: &mut Gen, _: &Ty, fuel: u32) -> Option<String> {
    let (xs, x) = (maps(g, fuel)?, g.name());
    let scan = if g.rng.chance(50) { "scan" } else { "exscan" };
    Some(format!("(map (\\{x} -> {x}[0] + 3 * {x}[1]) ({scan} {COMPOSE} {xs}))"))
}

/// A small row of each prefix.
fn rows_of_prefixes(g: &mut Gen, _: &Ty, fuel: u32) -> Option<String> {
    if !g.can_nest() {
        return None;
    }
    let (xs, x) = (g.exp(&array(I64), fuel / 2), g.name());
    let e = g.under(&[(&x, &I64)], |g| g.exp(&I64, fuel / 4));
    let scan = if g.rng.chance(50) { "scan (+)" } else { "exscan i64.max" };
    Some(format!("(map (\\{x} -> [{x}, {e}, {x} - 1]) ({scan} 0 {xs}))"))
}

/// Sums of the lowest bits, of which the operator captures how many.
fn histogram(g: &mut Gen, _: &Ty, fuel: u32) -> Option<String> {
    let share = fuel / 3;
    let (k, e, n) = (g.name(), g.exp(&I64, share), g.small(5, share));
    let (x, is) = (g.name(), g.exp(&array(I64), share));
    let (a, b) = (g.name(), g.name());
    let op = format!("(\\{a} {b} -> ({a} + {b}) & {k})");
    Some(format!(
        "(let {k} = (1 << ({e} & 7)) - 1 in let {x} = {is} in hist {op} 0 {n} (map (& 3) {x}) (map (& {k}) {x}))"
    ))
}
