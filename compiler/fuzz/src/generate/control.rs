//! `let`, `if`, `match`, loops, assertions.

use super::{Form, Gen};
use crate::types::{I64, Ty, array};

fn any(_: &Ty) -> bool {
    true
}

pub(super) const FORMS: &[Form] = &[
    Form { name: "let", weight: 14, makes: any, make: let_in },
    Form { name: "if", weight: 12, makes: any, make: if_else },
    Form { name: "shared matrix at a branch", weight: 4, makes: |t| *t == I64, make: shared_matrix },
    Form { name: "match sum", weight: 9, makes: any, make: match_sum },
    Form { name: "match rows", weight: 8, makes: |t| t.rank() > 0, make: match_rows },
    Form { name: "match number", weight: 4, makes: any, make: match_number },
    Form { name: "for", weight: 9, makes: any, make: for_loop },
    Form { name: "for in", weight: 4, makes: any, make: for_in },
    Form { name: "while", weight: 9, makes: any, make: while_loop },
    Form { name: "loop of state", weight: 9, makes: any, make: state_loop },
    Form { name: "loop over what is left", weight: 5, makes: any, make: rest_loop },
    Form { name: "assert", weight: 1, makes: any, make: assertion },
    Form { name: "opaque", weight: 1, makes: any, make: opaque },
];

fn let_in(g: &mut Gen, ty: &Ty, fuel: u32) -> Option<String> {
    let bound = g.ty(3);
    let (a, b) = g.halves(fuel);
    let value = g.exp(&bound, a);
    if let (Ty::Tuple(ts), true) = (&bound, g.rng.chance(60)) {
        let names: Vec<String> = ts.iter().map(|_| g.name()).collect();
        let vars: Vec<(&str, &Ty)> = names.iter().map(String::as_str).zip(ts).collect();
        let body = g.with(&vars, |g| g.exp(ty, b));
        return Some(format!("(let ({}) = {value} in {body})", names.join(", ")));
    }
    let x = g.name();
    let body = g.with(&[(&x, &bound)], |g| g.exp(ty, b));
    Some(format!("(let {x} = {value} in {body})"))
}

fn if_else(g: &mut Gen, ty: &Ty, fuel: u32) -> Option<String> {
    let (c, arms) = g.halves(fuel);
    let c = g.condition(c / 2);
    let [a, b] = g.exps([ty, ty], arms);
    Some(format!("(if {c} then {a} else {b})"))
}

/// Rows of which some result in a matrix that they share, others in one of their own.
fn shared_matrix(g: &mut Gen, _: &Ty, fuel: u32) -> Option<String> {
    if !g.can_nest() {
        return None;
    }
    let matrix = array(array(I64));
    let share = fuel / 3;
    let (m, is) = (g.exp(&matrix, share), g.exp(&array(I64), share));
    let (x, y, i) = (g.name(), g.name(), g.name());
    let own = g.under(&[(&i, &I64), (&x, &matrix)], |g| g.exp(&matrix, share));
    let chosen = format!("let {y} = if ({i} & 1) == 0 then {x} else {own}");
    let used = format!("length {y} + i64.sum (map i64.sum {y})");
    Some(format!("(let {x} = {m} in i64.sum (map (\\{i} -> {chosen} in {used}) {is}))"))
}

fn match_sum(g: &mut Gen, ty: &Ty, fuel: u32) -> Option<String> {
    if g.sums.is_empty() {
        return None;
    }
    let sum = g.rng.pick(&g.sums).clone();
    let share = fuel / 4;
    let value = g.exp(&sum, share);
    matched(g, &value, &sum, ty, 3 * share)
}

/// Sums whose constructors and payloads differ between the positions of a map.
fn match_rows(g: &mut Gen, ty: &Ty, fuel: u32) -> Option<String> {
    if g.sums.is_empty() || !g.can_nest() {
        return None;
    }
    let sum = g.rng.pick(&g.sums).clone();
    let (a, b) = g.halves(fuel);
    let (xs, t) = g.any_array(a / 2);
    let (x, v) = (g.name(), g.name());
    let body = g.under(&[(&x, &t)], |g| {
        let value = g.exp(&sum, a / 2);
        let arms = g.with(&[(&v, &sum)], |g| matched(g, &v, &sum, ty.elem()?, b))?;
        Some(format!("let {v} = {value} in {arms}"))
    })?;
    Some(format!("(map (\\({x}: {t}) -> {body}) {xs})"))
}

fn matched(g: &mut Gen, value: &str, sum: &Ty, ty: &Ty, fuel: u32) -> Option<String> {
    let Ty::Sum(_, constructors) = sum else { return None };
    let share = fuel / constructors.len() as u32;
    let mut text = format!("(match {value}");
    let wildcard = g.rng.chance(25);
    for (i, (name, payload)) in constructors.iter().enumerate() {
        if wildcard && i + 1 == constructors.len() {
            text += &format!(" case _ -> {}", g.exp(ty, share));
            break;
        }
        let names: Vec<String> = payload.iter().map(|_| g.name()).collect();
        let vars: Vec<(&str, &Ty)> = names.iter().map(String::as_str).zip(payload).collect();
        let arm = g.with(&vars, |g| g.exp(ty, share));
        let names: Vec<String> = names.iter().map(|n| format!(" {n}")).collect();
        text += &format!(" case #{name}{} -> {arm}", names.concat());
    }
    Some(text + ")")
}

fn match_number(g: &mut Gen, ty: &Ty, fuel: u32) -> Option<String> {
    let share = fuel / 4;
    let value = g.small(3, share);
    let x = g.name();
    let (a, b) = (g.exp(ty, share), g.exp(ty, share));
    let c = g.with(&[(&x, &I64)], |g| g.exp(ty, share));
    Some(format!("(match {value} case 0 -> {a} case 2 -> {b} case {x} -> {c})"))
}

/// A bound that is small where the state can grow.
fn trips(g: &mut Gen, ty: &Ty, fuel: u32) -> String {
    let most = if ty.rank() == 0 && g.nest < 2 { 7 } else { 3 };
    g.small(most, fuel)
}

/// Sometimes an attribute that makes several loops of one.
fn strips(g: &mut Gen) -> &'static str {
    match g.rng.below(20) {
        0 => "#[stripmine] ",
        1 => "#[stripmine(2)] ",
        _ => "",
    }
}

fn for_loop(g: &mut Gen, ty: &Ty, fuel: u32) -> Option<String> {
    let (a, b) = g.halves(fuel);
    let (a, c) = g.halves(a);
    let bound = trips(g, ty, c);
    let init = g.exp(ty, a);
    let (x, i) = (g.name(), g.name());
    let body = g.with(&[(&x, ty), (&i, &I64)], |g| g.exp(ty, b));
    let attribute = strips(g);
    Some(format!("({attribute}loop {x} = {init} for {i} < {bound} do {body})"))
}

fn for_in(g: &mut Gen, ty: &Ty, fuel: u32) -> Option<String> {
    let (a, b) = g.halves(fuel);
    let (a, c) = g.halves(a);
    let (xs, elem) = g.any_array(c);
    let init = g.exp(ty, a);
    let (x, e, ys) = (g.name(), g.name(), g.name());
    let body = g.with(&[(&x, ty), (&e, &elem)], |g| g.exp(ty, b));
    Some(format!(
        "(let {ys} = {xs} in loop {x} = {init} for {e} in {ys}[:i64.min 3 (length {ys})] do {body})"
    ))
}

fn while_loop(g: &mut Gen, ty: &Ty, fuel: u32) -> Option<String> {
    let (a, b) = g.halves(fuel);
    let (a, c) = g.halves(a);
    let (init, bound) = (g.exp(ty, a), trips(g, ty, c));
    let (x, i) = (g.name(), g.name());
    let (cond, body) = g.with(&[(&x, ty), (&i, &I64)], |g| {
        let cond = if g.rng.chance(50) { "true".into() } else { g.condition(b / 4) };
        (cond, g.exp(ty, b - b / 4))
    });
    Some(format!("((loop ({x}, {i}) = ({init}, {bound}) while {i} > 0 && {cond} do ({body}, {i} - 1)).0)"))
}

/// A loop over several values, arrays among them whose sizes change.
fn state_loop(g: &mut Gen, ty: &Ty, fuel: u32) -> Option<String> {
    let other = if g.rng.chance(60) { array(g.ty(1)) } else { g.ty(2) };
    let state = Ty::Tuple(vec![ty.clone(), other.clone()]);
    let (a, b) = g.halves(fuel);
    let init = g.exp(&state, a / 2);
    let bound = g.small(3, a / 2);
    let (x, y, i) = (g.name(), g.name(), g.name());
    let body = g.with(&[(&x, ty), (&y, &other), (&i, &I64)], |g| g.exp(&state, b));
    let attribute = strips(g);
    Some(format!("(({attribute}loop ({x}, {y}) = {init} for {i} < {bound} do {body}).0)"))
}

/// A loop whose state is what is left of an array.
fn rest_loop(g: &mut Gen, ty: &Ty, fuel: u32) -> Option<String> {
    let (a, b) = g.halves(fuel);
    let (xs, elem) = g.any_array(a / 2);
    let init = g.exp(ty, a / 2);
    let (x, e, ys, left) = (g.name(), g.name(), g.name(), g.name());
    let (next, cond) = g.with(&[(&x, ty), (&e, &elem)], |g| (g.exp(ty, b), g.condition(b / 4)));
    let step = ["tail $", "init $", "$[i64.min 2 (length $):]"][g.rng.below(3)].replace('$', &left);
    let rest = if g.rng.chance(50) { step } else { format!("if {cond} then {step} else tail {left}") };
    Some(format!(
        "(let {ys} = {xs} in (loop ({x}, {left}) = ({init}, {ys}[:i64.min 4 (length {ys})]) \
         while !(null {left}) do let {e} = {left}[0] in ({next}, {rest})).0)"
    ))
}

fn assertion(g: &mut Gen, ty: &Ty, fuel: u32) -> Option<String> {
    let (a, b) = g.halves(fuel);
    let (c, x) = (g.condition(a), g.exp(ty, b));
    let c = if g.risky() { c } else { format!("({c} || true)") };
    Some(format!("(assert {c} {x})"))
}

fn opaque(g: &mut Gen, ty: &Ty, fuel: u32) -> Option<String> {
    let x = g.exp(ty, fuel);
    Some(format!("(opaque {x})"))
}
