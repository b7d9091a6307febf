//! Reductions, scans, filters.

use super::arrays::is_array;
use super::{Form, Gen};
use crate::generate::operators::Operator;
use crate::types::{BOOL, I64, Ty, array};
use par_runtime::Prim;

fn any(_: &Ty) -> bool {
    true
}

fn bool(ty: &Ty) -> bool {
    *ty == BOOL
}

fn integer(ty: &Ty) -> bool {
    ty.prim().is_some_and(|p| p != Prim::Bool && !p.is_float())
}

pub(super) const FORMS: &[Form] = &[
    Form { name: "reduce", weight: 22, makes: any, make: reduce },
    Form { name: "reduce of a map", weight: 12, makes: any, make: map_reduce },
    Form { name: "sum product", weight: 12, makes: integer, make: sum },
    Form { name: "scan", weight: 26, makes: is_array, make: scan },
    Form { name: "filter", weight: 20, makes: is_array, make: filter },
    Form { name: "partition", weight: 5, makes: is_array, make: partition },
    Form { name: "partition2", weight: 3, makes: is_array, make: partition2 },
    Form { name: "all any", weight: 8, makes: bool, make: quantifier },
    Form { name: "count", weight: 4, makes: |t| *t == I64, make: count },
    Form { name: "fold", weight: 3, makes: any, make: fold },
    Form { name: "segmented scan", weight: 4, makes: is_array, make: segmented_scan },
    Form { name: "segmented reduce", weight: 4, makes: is_array, make: segmented_reduce },
    Form { name: "windows", weight: 5, makes: is_array, make: windows },
    Form { name: "captured operator", weight: 4, makes: integer, make: captured },
];

/// The array with floats made small integers where the operator needs that.
fn exactly(g: &mut Gen, o: &Operator, elem: &Ty, xs: String) -> String {
    if o.exact && elem.has_floats() { format!("(map {} {xs})", g.rounding(elem)) } else { xs }
}

fn reduce(g: &mut Gen, ty: &Ty, fuel: u32) -> Option<String> {
    let o = g.operator(ty);
    let xs = g.exp(&array(ty.clone()), fuel);
    let xs = exactly(g, &o, ty, xs);
    let f = if o.commutes && g.rng.chance(30) { "reduce_comm" } else { "reduce" };
    Some(format!("({f} {} {} {xs})", o.op, o.neutral))
}

fn map_reduce(g: &mut Gen, ty: &Ty, fuel: u32) -> Option<String> {
    if !g.can_nest() {
        return None;
    }
    let o = g.operator(ty);
    let (a, b) = g.halves(fuel);
    let (xs, elem) = g.any_array(a);
    let f = g.under(&[], |g| g.lambda(&[elem], ty, b));
    let xs = exactly(g, &o, ty, format!("(map {f} {xs})"));
    Some(format!("(reduce {} {} {xs})", o.op, o.neutral))
}

fn sum(g: &mut Gen, ty: &Ty, fuel: u32) -> Option<String> {
    let xs = g.exp(&array(ty.clone()), fuel);
    let f = *g.rng.pick(&["sum", "sum", "product", "maximum", "minimum"]);
    Some(format!("({ty}.{f} {xs})"))
}

fn scan(g: &mut Gen, ty: &Ty, fuel: u32) -> Option<String> {
    let elem = ty.elem()?.clone();
    let o = g.operator(&elem);
    let xs = g.exp(ty, fuel);
    let xs = exactly(g, &o, &elem, xs);
    let f = *g.rng.pick(&["scan", "scan", "exscan"]);
    Some(format!("({f} {} {} {xs})", o.op, o.neutral))
}

pub(super) fn predicate(g: &mut Gen, elem: &Ty, fuel: u32) -> String {
    g.under(&[], |g| g.lambda(std::slice::from_ref(elem), &BOOL, fuel))
}

fn filter(g: &mut Gen, ty: &Ty, fuel: u32) -> Option<String> {
    if !g.can_nest() {
        return None;
    }
    let (a, b) = g.halves(fuel);
    let (xs, p) = (g.exp(ty, a), predicate(g, ty.elem()?, b));
    Some(format!("(filter {p} {xs})"))
}

fn partition(g: &mut Gen, ty: &Ty, fuel: u32) -> Option<String> {
    if !g.can_nest() {
        return None;
    }
    let (a, b) = g.halves(fuel);
    let (xs, p) = (g.exp(ty, a), predicate(g, ty.elem()?, b));
    let (x, y) = (g.name(), g.name());
    Some(match g.rng.below(3) {
        0 => format!("((partition {p} {xs}).0)"),
        1 => format!("((partition {p} {xs}).1)"),
        _ => format!("(let ({x}, {y}) = partition {p} {xs} in {y} ++ {x})"),
    })
}

fn partition2(g: &mut Gen, ty: &Ty, fuel: u32) -> Option<String> {
    if !g.can_nest() {
        return None;
    }
    let share = fuel / 3;
    let (p, q) = (predicate(g, ty.elem()?, share), predicate(g, ty.elem()?, share));
    let xs = g.exp(ty, share);
    let (x, y, z) = (g.name(), g.name(), g.name());
    Some(format!("(let ({x}, {y}, {z}) = partition2 {p} {q} {xs} in {z} ++ {x} ++ {y})"))
}

fn quantifier(g: &mut Gen, _: &Ty, fuel: u32) -> Option<String> {
    if !g.can_nest() {
        return None;
    }
    let (a, b) = g.halves(fuel);
    let (xs, elem) = g.any_array(a);
    let p = predicate(g, &elem, b);
    let f = *g.rng.pick(&["all", "any"]);
    Some(format!("({f} {p} {xs})"))
}

fn count(g: &mut Gen, _: &Ty, fuel: u32) -> Option<String> {
    if !g.can_nest() {
        return None;
    }
    let (a, b) = g.halves(fuel);
    let (xs, elem) = g.any_array(a);
    let p = predicate(g, &elem, b);
    Some(format!("(count {p} {xs})"))
}

fn fold(g: &mut Gen, ty: &Ty, fuel: u32) -> Option<String> {
    let share = fuel / 3;
    let (xs, elem) = g.any_array(share);
    let init = g.exp(ty, share);
    let y = g.name();
    let (f, params) =
        if g.rng.chance(50) { ("foldl", [ty.clone(), elem]) } else { ("foldr", [elem, ty.clone()]) };
    let op = g.lambda(&params, ty, share);
    Some(format!("(let {y} = {xs} in {f} {op} {init} {y}[:i64.min 4 (length {y})])"))
}

/// Flags as long as an array, bound to a name by the prefix.
fn flagged(g: &mut Gen, elem: &Ty, fuel: u32) -> Option<(String, String, String)> {
    if !g.can_nest() {
        return None;
    }
    let (a, b) = g.halves(fuel);
    let xs = g.exp(&array(elem.clone()), a);
    let (x, flags) = (g.name(), g.name());
    let p = predicate(g, elem, b);
    Some((format!("let {x} = {xs} let {flags} = map {p} {x} in "), flags, x))
}

fn segmented_scan(g: &mut Gen, ty: &Ty, fuel: u32) -> Option<String> {
    let elem = ty.elem()?.clone();
    let (lets, flags, x) = flagged(g, &elem, fuel)?;
    let o = g.operator(&elem);
    let x = exactly(g, &o, &elem, x);
    let f = *g.rng.pick(&["segmented_scan", "segmented_exscan"]);
    Some(format!("({lets}{f} {} {} {flags} {x})", o.op, o.neutral))
}

fn segmented_reduce(g: &mut Gen, ty: &Ty, fuel: u32) -> Option<String> {
    let elem = ty.elem()?.clone();
    let (lets, flags, x) = flagged(g, &elem, fuel)?;
    let o = g.operator(&elem);
    let x = exactly(g, &o, &elem, x);
    Some(format!("({lets}segmented_reduce {} {} {flags} {x})", o.op, o.neutral))
}

/// An operator and a neutral element that depend on a variable: addition modulo it.
fn captured(g: &mut Gen, ty: &Ty, fuel: u32) -> Option<String> {
    let Ty::Prim(p) = ty else { return None };
    let [m, xs] = g.exps([ty, &array(ty.clone())], fuel);
    let (n, a, b) = (g.name(), g.name(), g.name());
    let lets = format!("let {n} = {m}");
    Some(match g.rng.below(3) {
        0 => format!("({lets} in reduce (\\{a} {b} -> {a} + {b} - {n}) {n} {xs})"),
        1 => format!(
            "({lets} in reduce (\\{a} {b} -> (({a} ^ {n}) & ({b} ^ {n})) ^ {n}) (({p}.not 0{p}) ^ {n}) {xs})"
        ),
        _ => format!("({lets} in {p}.sum (scan (\\{a} {b} -> {a} + {b} - {n}) {n} {xs}))"),
    })
}

/// Windows of an array, combined: parts, or elements by clamped indices, from the position on or backwards.
fn windows(g: &mut Gen, ty: &Ty, fuel: u32) -> Option<String> {
    if !g.can_nest() {
        return None;
    }
    let elem = ty.elem()?.clone();
    let o = g.operator(&elem);
    let xs = g.exp(&array(elem.clone()), fuel);
    let xs = exactly(g, &o, &elem, xs);
    let [x, i, j, k] = [(); 4].map(|()| g.name());
    let most = *g.rng.pick(&["1", "3", "7", "40"]);
    let lets = format!("let {x} = {xs} let {k} = i64.min {most} (length {x})");
    let places = format!("(iota (length {x} - {k} + 1))");
    let row = match g.rng.below(4) {
        0 => format!("{x}[{i}:{i} + {k}]"),
        1 => format!("(map (\\{j} -> {x}[i64.min (length {x} - 1) ({i} + {j})]) (iota {k}))"),
        2 => format!("(map (\\{j} -> {x}[i64.max 0 ({i} - {j} - 1)]) (iota (i64.min {i} {k})))"),
        _ => format!("(map (\\{j} -> {x}[{i} + {k} - 1 - {j}]) (iota {k}))"),
    };
    Some(format!("({lets} in map (\\{i} -> reduce {} {} {row}) {places})", o.op, o.neutral))
}
