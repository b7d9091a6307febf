//! Forms that get their meaning from the context: sizes from a declared type, functions under the name of an operator, lambdas without
//! parentheses, holes that are never reached.

use super::arrays::is_array;
use super::{Form, Gen};
use crate::types::{I64, Ty};

fn any(_: &Ty) -> bool {
    true
}

pub(super) const FORMS: &[Form] = &[
    Form { name: "unflatten by its type", weight: 4, makes: |t| t.rank() > 1, make: unflatten },
    Form { name: "split by its type", weight: 4, makes: is_array, make: split },
    Form { name: "size that is a sum", weight: 4, makes: is_array, make: longer },
    Form { name: "rep", weight: 3, makes: is_array, make: rep },
    Form { name: "operator as a parameter", weight: 3, makes: any, make: operator },
    Form { name: "lambda at the end", weight: 4, makes: is_array, make: last_lambda },
    Form { name: "hole", weight: 2, makes: any, make: hole },
];

/// Sizes that a declared result says, or a parameter whose size is a product.
fn unflatten(g: &mut Gen, ty: &Ty, fuel: u32) -> Option<String> {
    let row = ty.elem()?.clone();
    let elem = row.elem()?.clone();
    let (a, b) = g.halves(fuel);
    let (xs, k) = (g.exp(&row, a), g.small(3, b));
    let (x, n, m) = (g.name(), g.name(), g.name());
    let lets = format!("let {x} = {xs} let {m} = 1 + {k} let {n} = length {x} / {m}");
    let cut = format!("(take ({n} * {m}) {x})");
    Some(if g.rng.chance(50) {
        format!("({lets} in (unflatten {cut} : [{n}][{m}]{elem}))")
    } else {
        let (f, p, q, y) = (g.name(), g.name(), g.name(), g.name());
        let head = format!("let {f} ({p}: i64) ({q}: i64) ({y}: [{p} * {q}]{elem}) : [{p}][{q}]{elem}");
        format!("({lets} {head} = unflatten {y} in {f} {n} {m} {cut})")
    })
}

fn split(g: &mut Gen, ty: &Ty, fuel: u32) -> Option<String> {
    let elem = ty.elem()?.clone();
    let [xs, i] = g.exps([ty, &I64], fuel);
    let (x, k, a, b) = (g.name(), g.name(), g.name(), g.name());
    let lets = format!("let {x} = {xs} let {k} = {i} % (length {x} + 1)");
    Some(format!("({lets} let ({a}: [{k}]{elem}, {b}) = split {x} in {b} ++ {a})"))
}

fn longer(g: &mut Gen, ty: &Ty, fuel: u32) -> Option<String> {
    let elem = ty.elem()?.clone();
    let [xs, x] = g.exps([ty, &elem], fuel);
    let (f, n, y, z) = (g.name(), g.name(), g.name(), g.name());
    let head = format!("let {f} [{n}] ({y}: [{n}]{elem}) ({z}: {elem}) : [{n} + 1]{elem}");
    Some(format!("({head} = {y} ++ [{z}] in {f} {xs} {x})"))
}

fn rep(g: &mut Gen, ty: &Ty, fuel: u32) -> Option<String> {
    let elem = ty.elem()?.clone();
    let (a, b) = g.halves(fuel);
    let (x, k, n) = (g.exp(&elem, a), g.small(7, b), g.name());
    Some(format!("(let {n} = {k} in (rep {x} : [{n}]{elem}))"))
}

fn operator(g: &mut Gen, ty: &Ty, fuel: u32) -> Option<String> {
    let (a, b) = g.halves(fuel);
    let op = g.lambda(&[ty.clone(), ty.clone()], ty, a);
    let [x, y] = g.exps([ty, ty], b);
    let (f, u, v) = (g.name(), g.name(), g.name());
    let head = format!("let {f} ((<*>): {ty} -> {ty} -> {ty}) ({u}: {ty}) ({v}: {ty}) : {ty}");
    Some(format!("({head} = {u} <*> {v} <*> {u} in {f} {op} {x} {y})"))
}

fn last_lambda(g: &mut Gen, ty: &Ty, fuel: u32) -> Option<String> {
    if !g.can_nest() {
        return None;
    }
    let elem = ty.elem()?.clone();
    let (a, b) = g.halves(fuel);
    let (n, i) = (g.small(7, a), g.name());
    let body = g.under(&[(&i, &I64)], |g| g.exp(&elem, b));
    Some(format!("(tabulate {n} \\{i} -> {body})"))
}

/// In an arm that is never taken.
fn hole(g: &mut Gen, ty: &Ty, fuel: u32) -> Option<String> {
    let [x, i] = g.exps([ty, &I64], fuel);
    Some(format!("(if ({i} & 7) >= 0 then {x} else (??? : {ty}))"))
}
