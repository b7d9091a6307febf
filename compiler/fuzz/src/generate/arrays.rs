//! Making arrays: literals, ranges, maps.

use super::{Form, Gen};
use crate::types::{I64, Ty, array};

pub(super) fn is_array(ty: &Ty) -> bool {
    ty.elem().is_some()
}

fn of_i64(ty: &Ty) -> bool {
    ty.elem() == Some(&I64)
}

fn of_tuples(ty: &Ty) -> bool {
    matches!(ty.elem(), Some(Ty::Tuple(_)))
}

pub(super) const FORMS: &[Form] = &[
    Form { name: "array literal", weight: 10, makes: is_array, make: literal },
    Form { name: "iota", weight: 10, makes: of_i64, make: iota },
    Form { name: "range", weight: 5, makes: of_i64, make: range },
    Form { name: "replicate", weight: 9, makes: is_array, make: replicate },
    Form { name: "tabulate", weight: 6, makes: is_array, make: tabulate },
    Form { name: "tabulate_2d", weight: 6, makes: |t| t.rank() > 1, make: tabulate_2d },
    Form { name: "map", weight: 60, makes: is_array, make: map },
    Form { name: "map2", weight: 16, makes: is_array, make: map2 },
    Form { name: "map3", weight: 5, makes: is_array, make: map3 },
    Form { name: "map of a zip", weight: 6, makes: is_array, make: map_zip },
    Form { name: "zip", weight: 20, makes: of_tuples, make: zip },
    Form { name: "unzip", weight: 6, makes: is_array, make: unzip },
    Form { name: "gather", weight: 8, makes: is_array, make: gather },
    Form { name: "map over a nest", weight: 10, makes: |t| t.rank() > 1, make: map_nest },
];

fn elem(ty: &Ty) -> Option<Ty> {
    ty.elem().cloned()
}

fn literal(g: &mut Gen, ty: &Ty, fuel: u32) -> Option<String> {
    let elem = elem(ty)?;
    let n = 1 + g.rng.below(3) as u32;
    let elems: Vec<String> = (0..n).map(|_| g.exp(&elem, fuel / n)).collect();
    Some(format!("[{}]", elems.join(", ")))
}

fn iota(g: &mut Gen, _: &Ty, fuel: u32) -> Option<String> {
    if g.risky() {
        let n = g.exp(&I64, fuel);
        return Some(format!("(iota (i64.min 9 {n}))"));
    }
    let n = g.small(7, fuel);
    Some(format!("(iota {n})"))
}

fn range(g: &mut Gen, _: &Ty, fuel: u32) -> Option<String> {
    let a = g.exp(&I64, fuel / 2);
    let k = g.small(7, fuel / 2);
    let x = g.name();
    let (a, b) = (format!("(let {x} = {a} & 255 in "), format!("{x} + {k})"));
    Some(match g.rng.below(4) {
        0 => format!("{a}{x}..<{b}"),
        1 => format!("{a}{x}...{b}"),
        2 => format!("{a}{x}..{x} + 2...{b}"),
        _ => format!("{a}{x}..{x} - 1..>{x} - {k})"),
    })
}

fn replicate(g: &mut Gen, ty: &Ty, fuel: u32) -> Option<String> {
    let elem = elem(ty)?;
    let (a, b) = g.halves(fuel);
    let (n, x) = (g.small(3, a), g.exp(&elem, b));
    Some(format!("(replicate {n} {x})"))
}

fn tabulate(g: &mut Gen, ty: &Ty, fuel: u32) -> Option<String> {
    if !g.can_nest() {
        return None;
    }
    let elem = elem(ty)?;
    let (a, b) = g.halves(fuel);
    let (n, i) = (g.small(7, a), g.name());
    let body = g.under(&[(&i, &I64)], |g| g.exp(&elem, b));
    Some(format!("(tabulate {n} (\\({i}: i64) -> {body}))"))
}

fn tabulate_2d(g: &mut Gen, ty: &Ty, fuel: u32) -> Option<String> {
    if g.nest + 2 > super::DEEPEST {
        return None;
    }
    let elem = elem(&elem(ty)?)?;
    let (a, b) = g.halves(fuel);
    let (n, m, i, j) = (g.small(3, a / 2), g.small(3, a / 2), g.name(), g.name());
    let body = g.under(&[(&i, &I64), (&j, &I64)], |g| g.exp(&elem, b));
    let matrix = format!("tabulate_2d {n} {m} (\\({i}: i64) ({j}: i64) -> {body})");
    Some(if g.rng.chance(50) { format!("(transpose ({matrix}))") } else { format!("({matrix})") })
}

/// A function from `param` to `ret`, to be mapped.
pub(super) fn mapped(g: &mut Gen, params: &[Ty], ret: &Ty, fuel: u32) -> String {
    if g.rng.chance(12)
        && let Some(f) = g.function_value(params, ret, fuel)
    {
        return f;
    }
    g.under(&[], |g| g.lambda(params, ret, fuel))
}

fn map(g: &mut Gen, ty: &Ty, fuel: u32) -> Option<String> {
    if !g.can_nest() {
        return None;
    }
    let ret = elem(ty)?;
    let (a, b) = g.halves(fuel);
    let (xs, param) = g.any_array(a);
    let f = mapped(g, &[param], &ret, b);
    Some(match g.rng.below(4) {
        0 => format!("({xs} |> map {f})"),
        _ => format!("(map {f} {xs})"),
    })
}

/// Two arrays of one length: an array, and one made from it or cut to fit. Bound to names by the prefix.
pub(super) fn alike(g: &mut Gen, fuel: u32) -> (String, (String, Ty), (String, Ty)) {
    let (xs, t) = g.any_array(fuel / 2);
    let (x, y) = (g.name(), g.name());
    let other = if g.rng.chance(50) { t.clone() } else { g.ty(1) };
    if g.risky() {
        let ys = g.exp(&array(other.clone()), fuel / 2);
        return (format!("let {x} = {xs} let {y} = {ys} in "), (x, t), (y, other));
    }
    let outer = (x.as_str(), &array(t.clone()));
    match g.rng.below(4) {
        0 => (format!("let {x} = {xs} let {y} = indices {x} in "), (x.clone(), t), (y, I64)),
        1 => {
            let (ys, u) = g.with(&[outer], |g| g.any_array(fuel / 2));
            let n = g.name();
            let cut = format!("let {n} = i64.min (length {x}) (length {y})");
            let cut = format!("{cut} let {x} = take {n} {x} let {y} = take {n} {y} in ");
            (format!("let {x} = {xs} let {y} = {ys} {cut}"), (x.clone(), t), (y, u))
        }
        2 => {
            let value = g.with(&[outer], |g| g.exp(&other, fuel / 2));
            let text = format!("let {x} = {xs} let {y} = replicate (length {x}) {value} in ");
            (text, (x.clone(), t), (y, other))
        }
        _ => {
            let f =
                g.with(&[outer], |g| g.under(&[], |g| g.lambda(std::slice::from_ref(&t), &other, fuel / 2)));
            (format!("let {x} = {xs} let {y} = map {f} {x} in "), (x.clone(), t), (y, other))
        }
    }
}

fn map2(g: &mut Gen, ty: &Ty, fuel: u32) -> Option<String> {
    if !g.can_nest() {
        return None;
    }
    let ret = elem(ty)?;
    let (a, b) = g.halves(fuel);
    let (lets, (x, t), (y, u)) = alike(g, a);
    let vars = [(x.as_str(), &array(t.clone())), (y.as_str(), &array(u.clone()))];
    let f = g.with(&vars, |g| mapped(g, &[t.clone(), u.clone()], &ret, b));
    Some(format!("({lets}map2 {f} {x} {y})"))
}

fn map3(g: &mut Gen, ty: &Ty, fuel: u32) -> Option<String> {
    if !g.can_nest() {
        return None;
    }
    let ret = elem(ty)?;
    let (a, b) = g.halves(fuel);
    let (lets, (x, t), (y, u)) = alike(g, a);
    let f = mapped(g, &[I64, t, u], &ret, b);
    Some(format!("({lets}map3 {f} (indices {x}) {x} {y})"))
}

fn map_zip(g: &mut Gen, ty: &Ty, fuel: u32) -> Option<String> {
    if !g.can_nest() {
        return None;
    }
    let ret = elem(ty)?;
    let (a, b) = g.halves(fuel);
    let (lets, (x, t), (y, u)) = alike(g, a);
    let (p, q) = (g.name(), g.name());
    let body = g.under(&[(&p, &t), (&q, &u)], |g| g.exp(&ret, b));
    Some(format!("({lets}map (\\({p}: {t}, {q}: {u}) -> {body}) (zip {x} {y}))"))
}

fn zip(g: &mut Gen, ty: &Ty, fuel: u32) -> Option<String> {
    let Some(Ty::Tuple(ts)) = ty.elem() else { return None };
    let share = fuel / ts.len() as u32;
    let (xs, n) = (g.name(), g.name());
    let first = g.exp(&array(ts[0].clone()), share);
    let mut text = format!("(let {xs} = {first} let {n} = length {xs} in zip{} {xs}", ts.len());
    for t in &ts[1..] {
        let i = g.name();
        if !g.can_nest() {
            return None;
        }
        let body = g.under(&[(&i, &I64), (&xs, &array(ts[0].clone()))], |g| g.exp(t, share));
        text += &format!(" (tabulate {n} (\\({i}: i64) -> {body}))");
    }
    Some(text + ")")
}

fn unzip(g: &mut Gen, ty: &Ty, fuel: u32) -> Option<String> {
    let wanted = elem(ty)?;
    let other = g.ty(1);
    let pairs = array(Ty::Tuple(vec![other, wanted]));
    let zs = g.exp(&pairs, fuel);
    Some(if g.rng.chance(50) { format!("((unzip {zs}).1)") } else { format!("(map (.1) {zs})") })
}

/// Elements, or rows, in another order.
fn gather(g: &mut Gen, ty: &Ty, fuel: u32) -> Option<String> {
    let (a, b) = g.halves(fuel);
    let (xs, is) = (g.exp(ty, a), g.exp(&array(I64), b));
    let (x, i) = (g.name(), g.name());
    if g.risky() {
        return Some(format!("(let {x} = {xs} in map (\\{i} -> {x}[{i}]) {is})"));
    }
    let inside = format!("map (\\{i} -> {x}[{i} % length {x}]) {is}");
    Some(format!("(let {x} = {xs} in if null {x} then {x} else {inside})"))
}

/// A map in a map, whose inner function sees the outer row.
fn map_nest(g: &mut Gen, ty: &Ty, fuel: u32) -> Option<String> {
    if g.nest + 2 > super::DEEPEST {
        return None;
    }
    let ret = elem(&elem(ty)?)?;
    let (a, b) = g.halves(fuel);
    let inner = g.ty(1);
    let xss = g.exp(&array(array(inner.clone())), a);
    let (row, x) = (g.name(), g.name());
    let rows = array(inner.clone());
    let body = g.under(&[(&row, &rows)], |g| g.under(&[(&x, &inner)], |g| g.exp(&ret, b)));
    Some(format!("(map (\\({row}: {rows}) -> map (\\({x}: {inner}) -> {body}) {row}) {xss})"))
}
