//! Rows of a few elements, windows of two and three dimensions, and rows that are written one element after the other.
//!
//! ```text
//! map (\p -> [p[2] - p[0], p[1], p[0]]) a                                       -- a: [n][3]
//! tabulate_2d n m (\i j -> maximum (flatten a[i:i + 3, j:j + 5]))
//! flatten (map (\x -> if x > 3 then [x, 1] else if x < 0 then [] else [x]) xs)
//! map (\r -> if null r then 0 else argmax r) rows
//! map (\x -> (loop (out, y) = (map (const x[0]) x, x[0]) for i < length x do let y = f y x[i] in (out with [i] = y, y)).0) xs
//! ```
//!
//! Their lengths are constants, which other forms do not make: code for groups of positions takes such rows apart, and goes over such
//! windows position by position.

use super::positions::{of_scalars, rows_of_scalars};
use super::{Form, Gen};
use crate::types::{BOOL, I64, Ty, array};
use par_runtime::Prim;

pub(super) const FORMS: &[Form] = &[
    Form { name: "short rows", weight: 12, makes: of_scalars, make: short_rows },
    Form { name: "windows of rows", weight: 12, makes: rows_of_scalars, make: windows },
    Form { name: "written rows", weight: 12, makes: rows_of_scalars, make: written },
    Form { name: "rows written out in arms", weight: 10, makes: of_scalars, make: in_arms },
    Form { name: "rows that may be empty", weight: 10, makes: of_scalars, make: may_be_empty },
];

/// Elements of all rows that are made of those of others, column by column.
fn short_rows(g: &mut Gen, ty: &Ty, fuel: u32) -> Option<String> {
    if !g.can_nest() {
        return None;
    }
    let elem = ty.elem()?.clone();
    let (a, b) = g.halves(fuel);
    let xs = g.exp(ty, a);
    let [x, p, u, v] = [(); 4].map(|()| g.name());
    let from = *g.rng.pick(&[2i64, 3, 3, 4, 4, 5, 6, 8, 9, 12, 16, 17]);
    let to = *g.rng.pick(&[1i64, 2, 3, 4, 5, 8, 16]);
    let value = g.under(&[(&u, &elem), (&v, &elem)], |g| g.exp(&elem, b / 2));
    let column = |g: &mut Gen| {
        let [i, j] = [(); 2].map(|()| g.rng.between(0, from - 1));
        match g.rng.below(3) {
            0 => format!("{p}[{i}]"),
            _ => format!("(let {u} = {p}[{i}] let {v} = {p}[{j}] in {value})"),
        }
    };
    let rows = format!(
        "unflatten ({x}[:length {x} / {from} * {from}] :> [length {x} / {from} * {from}]{})",
        name(&elem)?
    );
    let rows = format!("({rows} :> [length {x} / {from}][{from}]{})", name(&elem)?);
    let body = match g.rng.below(4) {
        0 => format!("reverse {p}"),
        1 => format!("map (\\{u} -> let {v} = {p}[0] in {value}) {p}"),
        _ => format!("[{}]", (0..to).map(|_| column(g)).collect::<Vec<_>>().join(", ")),
    };
    Some(format!("(let {x} = {xs} in flatten (map (\\{p} -> {body}) {rows}))"))
}

/// Rows of a few elements, one after the other: how many there are is a choice.
fn in_arms(g: &mut Gen, ty: &Ty, fuel: u32) -> Option<String> {
    if !g.can_nest() {
        return None;
    }
    let elem = ty.elem()?.clone();
    let (a, b) = g.halves(fuel);
    let (xs, of) = g.any_array(a);
    let x = g.name();
    let arms = g.under(&[(&x, &of)], |g| {
        let arm = |g: &mut Gen| match g.rng.below(5) {
            0 => "[]".to_string(),
            1 => {
                let (k, e) = (g.rng.between(0, 5), g.exp(&elem, b / 4));
                format!("replicate {k} {e}")
            }
            _ => {
                let n = g.rng.between(1, 3);
                let elements: Vec<String> = (0..n).map(|_| g.exp(&elem, b / 8)).collect();
                format!("[{}]", elements.join(", "))
            }
        };
        let [one, two] = [(); 2].map(|()| arm(g));
        let [c, d] = [(); 2].map(|()| g.exp(&BOOL, b / 4));
        // The type of a row is that of its elements, of which one may have none.
        let last = g.exp(&elem, b / 8);
        format!("if {c} then {one} else if {d} then {two} else [{last}]")
    });
    Some(format!("(flatten (map (\\{x} -> {arms}) {xs}))"))
}

/// A reduction of each row, if it has elements.
fn may_be_empty(g: &mut Gen, ty: &Ty, fuel: u32) -> Option<String> {
    if !g.can_nest() {
        return None;
    }
    let elem = ty.elem()?.clone();
    let (a, b) = g.halves(fuel);
    let rows = g.exp(&array(array(elem.clone())), a);
    let o = g.operator(&elem);
    let (r, none) = (g.name(), g.exp(&elem, b / 2));
    let all = match g.rng.below(3) {
        0 if elem == I64 => format!("{} {r}", g.rng.pick(&["argmin", "argmax", "i64.maximum"])),
        0 => format!("{r}[0]"),
        _ if o.exact && elem.has_floats() => {
            format!("reduce {} {} (map {} {r})", o.op, o.neutral, g.rounding(&elem))
        }
        _ => format!("reduce {} {} {r}", o.op, o.neutral),
    };
    Some(match g.rng.below(3) {
        0 => format!("(map (\\{r} -> if null {r} then {none} else {all}) {rows})"),
        1 => format!("(map (\\{r} -> if length {r} > 0 then {all} else {none}) {rows})"),
        _ => format!("(map (\\{r} -> if length {r} < 1 then {none} else {all}) {rows})"),
    })
}

/// The name of a scalar's type.
fn name(elem: &Ty) -> Option<&'static str> {
    elem.prim().map(Prim::name)
}

/// An operator that combines elements in any order, as a function of an array.
fn combined(g: &mut Gen, elem: &Ty) -> Option<String> {
    let prim = elem.prim()?;
    let any = match prim {
        Prim::Bool => return Some(g.rng.pick(&["and", "or"]).to_string()),
        p if p.is_float() => *g.rng.pick(&["minimum", "maximum"]),
        _ => *g.rng.pick(&["sum", "sum", "minimum", "maximum"]),
    };
    Some(format!("{}.{any}", prim.name()))
}

/// Windows of an image, whose size is known, the image's own, or one that differs at its borders.
fn windows(g: &mut Gen, ty: &Ty, fuel: u32) -> Option<String> {
    if g.nest + 2 > super::DEEPEST {
        return None;
    }
    let row = ty.elem()?;
    let elem = row.elem()?.clone();
    let (a, b) = g.halves(fuel);
    let xs = g.exp(row, a);
    let op = combined(g, &elem)?;
    let [x, im, i, j, y, z, u, v] = [(); 8].map(|()| g.name());
    let (h, w) = (g.rng.between(1, 7), g.rng.between(1, 9));
    let (n, m) = (g.rng.between(0, 6) + h - 1, g.rng.between(0, 40) + w - 1);
    let value = g.under(&[(&u, &elem), (&v, &elem)], |g| g.exp(&elem, b / 2));
    let image = format!("tabulate_2d {n} {m} (\\{i} {j} -> {x}[({i} * 31 + {j} * 7) % length {x}])");
    let slice = format!("{im}[{i}:{i} + {h}, {j}:{j} + {w}]");
    let body = match g.rng.below(5) {
        0 => format!("{op} (flatten {slice})"),
        1 => format!("{op} (map {op} {slice})"),
        2 => {
            let read = format!("let {u} = {im}[{i} + {y}, {j} + {z}] let {v} = {im}[{y}, {z}]");
            format!("{op} (flatten (tabulate_2d {h} {w} (\\{y} {z} -> {read} in {value})))")
        }
        3 => format!("{op} (map2 (\\{u} {v} -> {value}) (flatten {slice}) (flatten {im}[:{h}, :{w}]))"),
        _ => {
            let ends = format!("i64.max 0 ({i} - 1):{i} + {h}, i64.max 0 ({j} - 2):{j} + {w}");
            format!("{op} (flatten {im}[{ends}])")
        }
    };
    let (n, m) = (n - h + 1, m - w + 1);
    let all = format!("let {im} = {image} in tabulate_2d {n} {m} (\\{i} {j} -> {body})");
    Some(format!("(let {x} = {xs} in if null {x} then [] else {all})"))
}

/// Rows that are written along other ones, and not read: each element is made from the one before, and where it goes may be found out.
fn written(g: &mut Gen, ty: &Ty, fuel: u32) -> Option<String> {
    if !g.can_nest() {
        return None;
    }
    let elem = ty.elem()?.elem()?.clone();
    let (a, b) = g.halves(fuel);
    let xs = g.exp(ty, a);
    let [x, z, out, y, i, u, k] = [(); 7].map(|()| g.name());
    let next = g.under(&[(&u, &elem), (&y, &elem)], |g| g.exp(&elem, b / 2));
    let step = format!("for {i} < length {x} do let {u} = {x}[{i}] let {y} = {next} in");
    let first = format!("(map (const {z}) {x}");
    let all = if g.rng.chance(60) {
        let place =
            g.rng.pick(&["", "length {x} - 1 - ", "(length {x} / 2) + {i} / 2 - "]).replace("{x}", &x);
        let place = format!("{}{i}", place.replace("{i}", &i));
        format!("loop ({out}, {y}) = {first}, {z}) {step} ({out} with [{place}] = {y}, {y})")
    } else {
        let keeps = g.under(&[(&u, &elem), (&y, &elem)], |g| g.exp(&BOOL, b / 4));
        let kept = format!("({out} with [{k}] = {y}, {y}, {k} + 1)");
        format!(
            "loop ({out}, {y}, {k}) = {first}, {z}, 0) {step} if {keeps} then {kept} else ({out}, {y}, {k})"
        )
    };
    Some(format!("(map (\\{x} -> if null {x} then {x} else let {z} = {x}[0] in ({all}).0) {xs})"))
}
