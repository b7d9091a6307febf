//! Accumulators: functions that make any number of writes.

use super::{Form, Gen};
use crate::types::{I64, Ty};

pub(super) const FORMS: &[Form] = &[
    Form { name: "scatter_stream", weight: 6, makes: is_array_of_scalars, make: scatter_stream },
    Form {
        name: "reduce_by_index_stream",
        weight: 6,
        makes: is_array_of_scalars,
        make: reduce_by_index_stream,
    },
];

fn is_array_of_scalars(ty: &Ty) -> bool {
    ty.elem().is_some_and(Ty::is_flat)
}

/// Values depend on nothing but the index, so that it does not matter which write wins.
fn scatter_stream(g: &mut Gen, ty: &Ty, fuel: u32) -> Option<String> {
    let elem = ty.elem()?.clone();
    let share = fuel / 4;
    let (dest, x, f, k) = (g.exp(ty, share), g.name(), g.name(), g.name());
    let value = g.with(&[(&k, &I64)], |g| g.exp(&elem, share));
    let call = stream(g, &elem, 2 * share, &mut |g, acc, fuel| {
        let (i, k) = (g.exp(&I64, fuel), g.name());
        format!("(let {k} = {i} & 7 in write {acc} {k} ({f} {k}))")
    })?;
    let lets = format!("let {x} = {dest} let {f} ({k}: i64) : {elem} = {value}");
    Some(format!("({lets} in scatter_stream {x} {call})"))
}

fn reduce_by_index_stream(g: &mut Gen, ty: &Ty, fuel: u32) -> Option<String> {
    let elem = ty.elem()?.clone();
    let o = g.commutative(&elem)?;
    let share = fuel / 3;
    let rounding = o.exact.then(|| g.rounding(&elem));
    let dest = g.exp(ty, share);
    let dest = rounding.as_ref().map_or(dest.clone(), |r| format!("(map {r} {dest})"));
    let call = stream(g, &elem, 2 * share, &mut |g, acc, fuel| {
        let [i, v] = g.exps([&I64, &elem], fuel);
        let v = rounding.as_ref().map_or(v.clone(), |r| format!("({r} {v})"));
        format!("(write {acc} ({i} & 7) {v})")
    })?;
    Some(format!("(reduce_by_index_stream {dest} {} {} {call})", o.op, o.neutral))
}

type Write<'a> = &'a mut dyn FnMut(&mut Gen, &str, u32) -> String;

/// The function and the array of a stream.
fn stream(g: &mut Gen, elem: &Ty, fuel: u32, write: Write) -> Option<String> {
    if !g.can_nest() {
        return None;
    }
    let (a, b) = g.halves(fuel);
    let (xs, t) = g.any_array(a);
    let (acc, x) = (g.name(), g.name());
    let body = g.under(&[(&x, &t)], |g| writes(g, &acc, b, 3, write));
    Some(format!("(\\({acc}: *acc ([]{elem})) ({x}: {t}) -> {body}) {xs}"))
}

/// An accumulator with more writes, through branches and loops.
fn writes(g: &mut Gen, acc: &str, fuel: u32, depth: u32, write: Write) -> String {
    let share = fuel / 2;
    let choice = if depth == 0 { g.rng.below(3) } else { g.rng.below(8) };
    match choice {
        0..3 => write(g, acc, share),
        3 => acc.to_string(),
        4 => {
            let c = g.condition(share / 2);
            let arms = [0, 1].map(|_| writes(g, acc, share / 2, depth - 1, write));
            format!("(if {c} then {} else {})", arms[0], arms[1])
        }
        5 | 6 => {
            let (bound, next, i) = (g.small(3, share / 2), g.name(), g.name());
            let body = g.with(&[(&i, &I64)], |g| writes(g, &next, share, depth - 1, write));
            format!("(loop {next} = {acc} for {i} < {bound} do {body})")
        }
        _ => {
            let next = g.name();
            let [first, second] = [acc, &next].map(|acc| writes(g, acc, share, depth - 1, write));
            format!("(let {next} = {first} in {second})")
        }
    }
}
