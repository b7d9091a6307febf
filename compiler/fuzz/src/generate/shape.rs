//! Taking elements and rows, cutting, joining and rearranging.

use super::arrays::is_array;
use super::{Form, Gen};
use crate::types::{I64, Ty, array};

fn any(_: &Ty) -> bool {
    true
}

pub(super) const FORMS: &[Form] = &[
    Form { name: "index", weight: 16, makes: any, make: index },
    Form { name: "index twice", weight: 5, makes: any, make: index_twice },
    Form { name: "head last", weight: 2, makes: any, make: ends },
    Form { name: "slice", weight: 8, makes: is_array, make: slice },
    Form { name: "strided slice", weight: 3, makes: is_array, make: strided },
    Form { name: "slice by a step", weight: 6, makes: is_array, make: by_a_step },
    Form { name: "strided parts", weight: 4, makes: is_array, make: strided_parts },
    Form { name: "take drop", weight: 5, makes: is_array, make: take_drop },
    Form { name: "concat", weight: 14, makes: is_array, make: concat },
    Form { name: "flatten", weight: 12, makes: is_array, make: flatten },
    Form { name: "reverse", weight: 4, makes: is_array, make: reverse },
    Form { name: "rotate", weight: 4, makes: is_array, make: rotate },
    Form { name: "unflatten", weight: 6, makes: |t| t.rank() > 1, make: unflatten },
    Form { name: "segments", weight: 10, makes: |t| t.rank() > 1, make: segments },
    Form { name: "transpose", weight: 6, makes: |t| t.rank() > 1, make: transpose },
    Form { name: "columns", weight: 6, makes: |t| t.rank() == 2, make: columns },
    Form { name: "by sizes", weight: 14, makes: |t| t.rank() == 2, make: by_sizes },
    Form { name: "coercion", weight: 1, makes: is_array, make: coercion },
];

/// `xs[i]` with `i` brought into range; another value where there are no elements.
fn index(g: &mut Gen, ty: &Ty, fuel: u32) -> Option<String> {
    let share = fuel / 3;
    let xs = match g.variable(&array(ty.clone())) {
        Some(xs) if g.rng.chance(70) => xs,
        _ => g.exp(&array(ty.clone()), share),
    };
    let i = g.exp(&I64, share);
    let x = g.name();
    if g.risky() {
        return Some(format!("({xs})[{i} & 3]"));
    }
    let other = g.exp(ty, share);
    Some(format!("(let {x} = {xs} in if null {x} then {other} else {x}[{i} % length {x}])"))
}

fn index_twice(g: &mut Gen, ty: &Ty, fuel: u32) -> Option<String> {
    let rows = array(array(ty.clone()));
    let share = fuel / 3;
    let xss = g.exp(&rows, share);
    let (i, other) = (g.small(3, share), g.exp(ty, share));
    let (x, k) = (g.name(), g.name());
    if g.risky() {
        return Some(format!("({xss})[{i}, 0]"));
    }
    let inside = format!("{k} < length {x} && length {x}[{k}] > 1");
    Some(format!("(let {x} = {xss} let {k} = {i} in if {inside} then {x}[{k}, 1] else {other})"))
}

fn ends(g: &mut Gen, ty: &Ty, fuel: u32) -> Option<String> {
    let [xs, x] = g.exps([&array(ty.clone()), ty], fuel);
    let f = *g.rng.pick(&["head", "last"]);
    Some(if g.risky() { format!("({f} {xs})") } else { format!("({f} ({xs} ++ [{x}]))") })
}

fn slice(g: &mut Gen, ty: &Ty, fuel: u32) -> Option<String> {
    let [xs, i, j] = g.exps([ty, &I64, &I64], fuel);
    let (x, a, b) = (g.name(), g.name(), g.name());
    if g.risky() {
        return Some(format!("({xs})[{i} & 1:{j} & 3]"));
    }
    let bounds = format!("let {a} = {i} % (length {x} + 1) let {b} = {a} + {j} % (length {x} - {a} + 1)");
    Some(format!("(let {x} = {xs} {bounds} in {x}[{a}:{b}])"))
}

fn strided(g: &mut Gen, ty: &Ty, fuel: u32) -> Option<String> {
    let xs = g.exp(ty, fuel);
    let x = g.name();
    let s = *g.rng.pick(&["::2", "::-1", "::3", "::-2", "1::2"]);
    let slice = if s == "1::2" { format!("if null {x} then {x} else {x}[{s}]") } else { format!("{x}[{s}]") };
    Some(format!("(let {x} = {xs} in {slice})"))
}

/// Of an array that others have too, with a start and a step that are computed; half of them backwards.
fn by_a_step(g: &mut Gen, ty: &Ty, fuel: u32) -> Option<String> {
    let share = fuel / 3;
    let xs = match g.variable(ty) {
        Some(xs) if g.rng.chance(70) => xs,
        _ => g.exp(ty, share),
    };
    let (start, step) = (g.exp(&I64, share), g.small(3, share));
    let (x, a, s) = (g.name(), g.name(), g.name());
    if g.risky() {
        return Some(format!("({xs})[{start} & 3::{step}]"));
    }
    let (low, sign) = *g.rng.pick(&[("0", ""), ("-1", "-")]);
    let bounds = format!("let {a} = {low} + {start} % (length {x} + 1) let {s} = 1 + {step}");
    Some(format!("(let {x} = {xs} {bounds} in {x}[{a}::{sign}{s}])"))
}

/// One of two parts of an array, by what differs between the positions.
fn strided_parts(g: &mut Gen, ty: &Ty, fuel: u32) -> Option<String> {
    let (a, b) = g.halves(fuel);
    let (xs, cond, x) = (g.exp(ty, a), g.condition(b / 3), g.name());
    let [part, other] = *g.rng.pick(&[["::2", "::-1"], ["::-1", ":"], ["::3", "::2"]]);
    let rest = g.with(&[(&x, ty)], |g| g.exp(ty, b / 3));
    let last = if g.rng.chance(50) { format!("{x}[{other}]") } else { rest };
    Some(format!("(let {x} = {xs} in if {cond} then {x}[{part}] else {last})"))
}

fn take_drop(g: &mut Gen, ty: &Ty, fuel: u32) -> Option<String> {
    let (a, b) = g.halves(fuel);
    let (xs, k) = (g.exp(ty, a), g.small(3, b));
    let x = g.name();
    let f = *g.rng.pick(&["take", "drop"]);
    if g.risky() {
        return Some(format!("({f} {k} {xs})"));
    }
    Some(format!("(let {x} = {xs} in {f} (i64.min {k} (length {x})) {x})"))
}

fn concat(g: &mut Gen, ty: &Ty, fuel: u32) -> Option<String> {
    let [a, b] = g.exps([ty, ty], fuel);
    Some(format!("({a} ++ {b})"))
}

fn flatten(g: &mut Gen, ty: &Ty, fuel: u32) -> Option<String> {
    if ty.rank() > 2 {
        return None;
    }
    if g.rng.chance(25) {
        let xsss = g.exp(&array(array(ty.clone())), fuel);
        return Some(format!("(flatten_3d {xsss})"));
    }
    let xss = g.exp(&array(ty.clone()), fuel);
    Some(format!("(flatten {xss})"))
}

fn reverse(g: &mut Gen, ty: &Ty, fuel: u32) -> Option<String> {
    let xs = g.exp(ty, fuel);
    Some(format!("(reverse {xs})"))
}

fn rotate(g: &mut Gen, ty: &Ty, fuel: u32) -> Option<String> {
    let [xs, k] = g.exps([ty, &I64], fuel);
    Some(format!("(rotate {k} {xs})"))
}

fn unflatten(g: &mut Gen, ty: &Ty, fuel: u32) -> Option<String> {
    let row = ty.elem()?.clone();
    let (a, b) = g.halves(fuel);
    let (xs, k) = (g.exp(&row, a), g.small(3, b));
    let (x, n, m) = (g.name(), g.name(), g.name());
    let elem = row.elem()?;
    let cut = format!("take ({n} * {m}) {x}");
    let text = format!("let {x} = {xs} let {m} = 1 + {k} let {n} = length {x} / {m}");
    let rect = format!("unflatten ({cut}) :> [{n}][{m}]{elem}");
    Some(match g.rng.below(2) {
        0 => format!("({text} in transpose ({rect}))"),
        _ => format!("({text} in ({rect}))"),
    })
}

fn segments(g: &mut Gen, ty: &Ty, fuel: u32) -> Option<String> {
    if !g.can_nest() {
        return None;
    }
    let elem = ty.elem()?.elem()?.clone();
    let (a, b) = g.halves(fuel);
    let is = g.exp(&array(I64), a);
    let (ls, k, i) = (g.name(), g.name(), g.name());
    if g.risky() {
        let xs = g.exp(&array(elem), b);
        return Some(format!("(segments (map (\\{k} -> {k} & 3) {is}) {xs})"));
    }
    let body = g.under(&[(&i, &I64)], |g| g.exp(&elem, b));
    let lengths = format!("let {ls} = map (\\{k} -> {k} & 3) {is}");
    Some(format!("({lengths} in segments {ls} (tabulate (i64.sum {ls}) (\\({i}: i64) -> {body})))"))
}

/// Of a matrix whose width depends on where it stands.
fn transpose(g: &mut Gen, ty: &Ty, fuel: u32) -> Option<String> {
    if g.nest + 2 > super::DEEPEST {
        return None;
    }
    let elem = ty.elem()?.elem()?.clone();
    if g.risky() {
        let xss = g.exp(ty, fuel);
        return Some(format!("(transpose {xss})"));
    }
    let (a, b) = g.halves(fuel);
    let (xs, t) = g.any_array(a / 2);
    let (width, x, i, m) = (g.small(3, a / 2), g.name(), g.name(), g.name());
    let body = g.under(&[(&x, &t), (&i, &I64)], |g| g.exp(&elem, b));
    let rows = format!("map (\\({x}: {t}) -> map (\\({i}: i64) -> {body}) (iota {m})) {xs}");
    Some(format!("(let {m} = {width} in transpose ({rows}))"))
}

/// A map over the columns of a matrix: of a map, a scan, or a loop that updates a copy of the column in place.
fn columns(g: &mut Gen, ty: &Ty, fuel: u32) -> Option<String> {
    if g.nest + 2 > super::DEEPEST {
        return None;
    }
    let elem = ty.elem()?.elem()?.clone();
    let (a, b) = g.halves(fuel);
    let (matrix, c) = (transpose(g, ty, a)?, g.name());
    let (r, i, p, q) = (g.name(), g.name(), g.name(), g.name());
    let next = g.under(&[(&p, &elem), (&q, &elem)], |g| g.exp(&elem, b));
    let lets = |before: &str, here: &str| format!("let {p} = {before} let {q} = {here} in");
    let of_column = match g.rng.below(4) {
        0 => {
            let update = format!("{r} with [{i} + 1] = {next}");
            let lets = lets(&format!("{r}[{i}]"), &format!("{c}[{i} + 1]"));
            format!("loop {r} = copy {c} for {i} < length {c} - 1 do {lets} {update}")
        }
        1 => {
            let update = format!("{r} with [{i}] = {next}");
            let lets = lets(&format!("{r}[length {c} - 1 - {i}]"), &format!("{c}[{i}]"));
            format!("loop {r} = copy {c} for {i} < length {c} do {lets} {update}")
        }
        2 if elem == I64 => format!("map2 (\\{p} {q} -> {next}) (scan (+) 0 {c}) {c}"),
        _ => format!("map (\\({q}: {elem}) -> let {p} = {c}[0] in {next}) {c}"),
    };
    let done = format!("map (\\({c}: []{elem}) -> {of_column}) (transpose ({matrix}))");
    Some(if g.rng.chance(70) { format!("(transpose ({done}))") } else { format!("({done})") })
}

/// A matrix read at indices up to sizes that only a run shows, by rows or by columns.
fn by_sizes(g: &mut Gen, ty: &Ty, fuel: u32) -> Option<String> {
    if g.nest + 2 > super::DEEPEST {
        return None;
    }
    let elem = ty.elem()?.elem()?.clone();
    let (a, b) = g.halves(fuel);
    let (matrix, less) = (transpose(g, ty, a)?, g.small(1, b / 4));
    let (xs, n, m, i, j, q) = (g.name(), g.name(), g.name(), g.name(), g.name(), g.name());
    let body = g.under(&[(&q, &elem), (&j, &I64)], |g| g.exp(&elem, b));
    let by = if g.risky() { '+' } else { '-' };
    let sizes = format!(
        "let {n} = #[opaque] (i64.max 0 (length {xs} {by} {less})) let {m} = #[opaque] (if null {xs} then 0 else length {xs}[0])"
    );
    let read = format!("let {q} = {xs}[{i}, {j}] in {body}");
    let (outer, inner) = if g.rng.chance(50) { ((&i, &n), (&j, &m)) } else { ((&j, &m), (&i, &n)) };
    let row = format!("map (\\({}: i64) -> {read}) (iota {})", inner.0, inner.1);
    Some(format!("(let {xs} = {matrix} {sizes} in map (\\({}: i64) -> {row}) (iota {}))", outer.0, outer.1))
}

/// A length that is checked, and right.
fn coercion(g: &mut Gen, ty: &Ty, fuel: u32) -> Option<String> {
    let xs = g.exp(ty, fuel);
    let (x, n) = (g.name(), g.name());
    let elem = ty.elem()?;
    if g.risky() {
        return Some(format!("({xs} :> [2]{elem})"));
    }
    Some(format!("(let {x} = {xs} let {n} = length {x} in ({x} :> [{n}]{elem}))"))
}
