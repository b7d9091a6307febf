//! Loops inside maps whose bounds, indices and conditions are counted from the position and from the counters of the loops.
//!
//! ```text
//! tabulate n (\i -> loop s = 0 for j < i64.min i 4 do s + x[(i + j) % n])
//! loop y = copy x for i < n do let u = loop s = x[i] for j < i do s - y[j]  in y with [n - 1 - i] = u
//! ```
//!
//! No other form makes such: indices are any expressions modulo a length, lengths and loops' bounds come from unrelated ones, and of
//! hundreds of loops in kernels none compares or divides a sum of the position and of a counter, which is what code for groups of
//! positions is made of.

use super::{Form, Gen};
use crate::types::{BOOL, I64, Ty, array};

pub(super) fn of_scalars(ty: &Ty) -> bool {
    ty.elem().is_some_and(|e| e.prim().is_some())
}

pub(super) fn rows_of_scalars(ty: &Ty) -> bool {
    ty.elem().is_some_and(of_scalars)
}

pub(super) const FORMS: &[Form] = &[
    Form { name: "window", weight: 36, makes: of_scalars, make: window },
    Form { name: "row in place", weight: 24, makes: of_scalars, make: row_in_place },
    Form { name: "rows by position", weight: 36, makes: rows_of_scalars, make: rows },
    Form { name: "loop at a position", weight: 12, makes: |t| t.prim().is_some(), make: at_position },
];

/// Arrays longer than this are cut: a triangle over them has the square of it.
const LONGEST: u32 = 40;
/// Loops inside each other.
const DEPTH: u32 = 2;

/// Array that a loop reads, and where it counts from.
#[derive(Clone)]
struct Place {
    elem: Ty,
    /// Names of arrays of one length.
    arrays: Vec<String>,
    /// Name of this length.
    n: String,
    /// Numbers that are not negative: positions and counters, the innermost last. The first is below the length.
    counters: Vec<String>,
}

impl Place {
    fn with_counter(&self, name: &str) -> Place {
        let mut inner = self.clone();
        inner.counters.push(name.to_string());
        inner
    }
}

/// Statements that cut an array and sometimes repeat its elements; the names of the array and of its length.
fn cut(g: &mut Gen, xs: &str) -> (String, String, String) {
    let (all, x, n, k) = (g.name(), g.name(), g.name(), g.name());
    let lets = if g.rng.chance(35) {
        let longer = format!("tabulate (length {all} + 20) (\\{k} -> {all}[{k} % length {all}])");
        format!("{} let {x} = if null {all} then {all} else {longer}", short(&all, xs, LONGEST / 2))
    } else {
        short(&x, xs, LONGEST)
    };
    (format!("{lets} let {n} = length {x}"), x, n)
}

fn short(x: &str, xs: &str, most: u32) -> String {
    format!("let {x} = {xs} let {x} = {x}[:i64.min {most} (length {x})]")
}

/// A number counted from a position and a counter.
fn counted(g: &mut Gen, p: &Place) -> String {
    let a = g.rng.pick(&p.counters).clone();
    let b = p.counters.last().cloned().unwrap_or_default();
    let (n, c) = (&p.n, g.rng.pick(&["2", "3", "(-1)", "7"]).to_string());
    let d = g.rng.pick(&["8", "9", "64", "70", "(n + 64)", "(b + 64)"]).replace('n', n).replace('b', &b);
    match g.rng.below(12) {
        0..=3 => format!("({a} + {b})"),
        4 => format!("({a} - {b})"),
        5 => format!("({b} - {a})"),
        6 => format!("({a} + {b} * {c})"),
        7 => format!("({a} * {c} + {b})"),
        8 => format!("({n} - 1 - {a} - {b})"),
        9 => format!("(({a} + {b} + 60) / {d})"),
        10 => format!("(({a} + {b} + 60) % {d})"),
        _ => format!("({a} + {b} - 1)"),
    }
}

/// An index into the arrays, which have elements.
fn index(g: &mut Gen, p: &Place) -> String {
    let (e, n) = (counted(g, p), &p.n);
    let (i, b) = (p.counters[0].clone(), g.rng.pick(&p.counters).clone());
    match g.rng.below(9) {
        0 | 1 => format!("({e} % {n})"),
        6 => format!("(if {b} == 0 || {b} > {n} then {n} - 1 else {b} - 1)"),
        7 => format!("(if {i} == {n} - 1 then 0 else {i} + 1)"),
        2 => format!("(i64.min ({n} - 1) ({i} + {b}))"),
        3 => format!("(i64.max 0 ({i} - {b}))"),
        4 => i,
        5 => format!("(({i} + {b}) %% {n})"),
        _ => format!("(i64.max 0 (i64.min ({n} - 1) {e}))"),
    }
}

/// An element, or the state where there is none.
fn read(g: &mut Gen, p: &Place, state: &str) -> String {
    let x = g.rng.pick(&p.arrays).clone();
    if g.rng.chance(70) {
        return format!("{x}[{}]", index(g, p));
    }
    let (e, k, n) = (counted(g, p), g.name(), &p.n);
    format!("(let {k} = {e} in if {k} >= 0 && {k} < {n} then {x}[{k}] else {state})")
}

fn condition(g: &mut Gen, p: &Place) -> String {
    let a = counted(g, p);
    let b = match g.rng.below(4) {
        0 => p.n.clone(),
        1 => g.rng.below(20).to_string(),
        2 => g.rng.pick(&p.counters).clone(),
        _ => counted(g, p),
    };
    let op = *g.rng.pick(&["<", "<=", ">", ">=", "==", "!="]);
    format!("({a} {op} {b})")
}

/// Bound of a loop: small if it is inside another.
fn bound(g: &mut Gen, p: &Place) -> String {
    let (a, n) = (g.rng.pick(&p.counters).clone(), &p.n);
    match g.rng.below(if p.counters.len() > 1 { 5 } else { 8 }) {
        0 => g.rng.below(5).to_string(),
        1 => format!("({a} & 3)"),
        2 => format!("(i64.min {a} 4)"),
        3 => format!("(i64.min 3 ({n} - {a}))"),
        4 => format!("(4 - ({a} & 3))"),
        5 => n.clone(),
        6 => format!("({n} - {a})"),
        _ => a,
    }
}

/// Two values of the elements' type as one. In laws the factors are at most 1 together: what loops double and subtract again is
/// rounding only.
fn combined(g: &mut Gen, p: &Place, a: &str, b: &str) -> String {
    if p.elem == BOOL {
        return format!("({a} != {b})");
    }
    let smaller = g.smooth && p.elem.has_floats();
    match g.rng.below(4) {
        0 if smaller => format!("({a} / 2 - {b} / 2)"),
        1 if smaller => format!("({a} * 3 / 4 - {b} / 4)"),
        _ if smaller => format!("({a} / 2 + {b} / 2)"),
        0 => format!("({a} - {b})"),
        1 => format!("({a} + {a} - {b})"),
        _ => format!("({a} + {b})"),
    }
}

/// The state after an iteration.
fn next(g: &mut Gen, p: &Place, s: &str, depth: u32, fuel: u32) -> String {
    if depth > 0 && g.rng.chance(30) {
        return looped(g, p, s, depth - 1, fuel);
    }
    let x = read(g, p, s);
    if fuel > 0 && g.rng.chance(10) {
        let v = g.name();
        let e = g.with(&[(s, &p.elem), (&v, &p.elem)], |g| g.exp(&p.elem, fuel.min(4)));
        return format!("(let {v} = {x} in {e})");
    }
    let value = combined(g, p, s, &x);
    match g.rng.below(4) {
        0 => format!("(if {} then {value} else {s})", condition(g, p)),
        _ => value,
    }
}

/// A loop over one value.
fn looped(g: &mut Gen, p: &Place, init: &str, depth: u32, fuel: u32) -> String {
    let (s, j, q, most) = (g.name(), g.name(), g.name(), bound(g, p));
    let inner = p.with_counter(&j);
    let body = next(g, &inner, &s, depth, fuel);
    match g.rng.below(8) {
        0 => format!("((loop ({s}, {j}) = ({init}, 0) while {j} < {most} do ({body}, {j} + 1)).0)"),
        1 => format!("((loop ({s}, {j}) = ({init}, {most}) while {j} > 0 do ({body}, {j} - 1)).0)"),
        2 => {
            let goes = condition(g, &inner);
            format!("((loop ({s}, {j}) = ({init}, 0) while {j} < {most} && {goes} do ({body}, {j} + 1)).0)")
        }
        3 => {
            let moving = Place { counters: vec![q.clone(), j.clone()], ..p.clone() };
            let (body, to) = (next(g, &moving, &s, 0, fuel), index(g, &moving));
            let start = p.counters[0].clone();
            format!("((loop ({s}, {q}) = ({init}, {start}) for {j} < {most} do ({body}, {to})).0)")
        }
        _ => format!("(loop {s} = {init} for {j} < {most} do {body})"),
    }
}

fn initial(g: &mut Gen, p: &Place) -> String {
    if g.rng.chance(50) {
        return format!("{}[{}]", g.rng.pick(&p.arrays).clone(), p.counters[0]);
    }
    let elem = p.elem.clone();
    g.leaf(&elem)
}

/// The elements of one array after the other, each computed by loops over it; `rows` are numbers of rows around.
fn windows(g: &mut Gen, elem: &Ty, xs: &str, rows: &[String], fuel: u32) -> String {
    let (lets, x, n) = cut(g, xs);
    let i = g.name();
    let counters = [std::slice::from_ref(&i), rows].concat();
    let p = Place { elem: elem.clone(), arrays: vec![x], n, counters };
    let init = initial(g, &p);
    let mut value = looped(g, &p, &init, DEPTH - 1, fuel);
    if g.rng.chance(25) {
        let (c, first) = (condition(g, &p), read(g, &p, &init));
        value = format!("(if {c} then {first} else {value})");
    }
    if g.rng.chance(20) {
        value = looped(g, &p, &value, DEPTH - 1, fuel);
    }
    format!("({lets} in tabulate {} (\\{i} -> {value}))", p.n)
}

/// A loop over an array whose iterations write elements.
fn in_place(g: &mut Gen, elem: &Ty, xs: &str, rows: &[String], fuel: u32) -> String {
    let (lets, x, n) = cut(g, xs);
    let (y, i, t) = (g.name(), g.name(), g.name());
    let counters = [std::slice::from_ref(&i), rows].concat();
    let arrays = if g.rng.chance(30) { vec![y.clone()] } else { vec![x.clone(), y.clone()] };
    let p = Place { elem: elem.clone(), arrays, n: n.clone(), counters };
    let body = writes(g, &p, &y, fuel);
    let text = match g.rng.below(6) {
        0 => format!("(loop ({y}, {i}) = (copy {x}, 0) while {i} < {n} do ({body}, {i} + 1)).0"),
        1 => format!("loop {y} = copy {x} for {t} < {n} do let {i} = {n} - 1 - {t} in {body}"),
        2 => {
            let goes = condition(g, &p);
            format!("loop {y} = copy {x} for {i} < {n} do if {goes} then {body} else {y}")
        }
        _ => format!("loop {y} = copy {x} for {i} < {n} do {body}"),
    };
    format!("({lets} in {text})")
}

/// The array `y` after an iteration: one element is written, or some in a loop.
fn writes(g: &mut Gen, p: &Place, y: &str, fuel: u32) -> String {
    if g.rng.chance(30) {
        let (j, most) = (g.name(), bound(g, p));
        let inner = p.with_counter(&j);
        let (at, k) = (index(g, &inner), g.name());
        let x = read(g, &inner, &format!("{y}[{k}]"));
        let value = combined(g, p, &format!("{y}[{k}]"), &x);
        return format!("(loop {y} = {y} for {j} < {most} do let {k} = {at} in {y} with [{k}] = {value})");
    }
    let init = initial(g, p);
    let value = looped(g, p, &init, DEPTH - 1, fuel);
    let (v, at) = (g.name(), if g.rng.chance(60) { p.counters[0].clone() } else { index(g, p) });
    format!("(let {v} = {value} in {y} with [{at}] = {v})")
}

fn window(g: &mut Gen, ty: &Ty, fuel: u32) -> Option<String> {
    if !g.can_nest() {
        return None;
    }
    let (a, b) = g.halves(fuel);
    let (xs, elem) = (g.exp(ty, a), ty.elem()?);
    Some(g.under(&[], |g| windows(g, elem, &xs, &[], b)))
}

fn row_in_place(g: &mut Gen, ty: &Ty, fuel: u32) -> Option<String> {
    let (a, b) = g.halves(fuel);
    let xs = g.exp(ty, a);
    Some(in_place(g, ty.elem()?, &xs, &[], b))
}

/// A loop that starts at a number of the scope, over an array of the scope.
fn at_position(g: &mut Gen, ty: &Ty, fuel: u32) -> Option<String> {
    let (xs, at) = (g.variable(&array(ty.clone()))?, g.variable(&I64)?);
    let (i, n) = (g.name(), g.name());
    // Twice, so that no bound is as large as the array is long.
    let p = Place { elem: ty.clone(), arrays: vec![xs.clone()], n: n.clone(), counters: vec![i.clone(); 2] };
    let (init, none) = (initial(g, &p), g.leaf(ty));
    let value = looped(g, &p, &init, DEPTH - 1, fuel);
    Some(format!("(let {n} = length {xs} in if {n} == 0 then {none} else let {i} = {at} % {n} in {value})"))
}

/// Rows that are computed one from the other, by their elements and sometimes by their numbers.
fn rows(g: &mut Gen, ty: &Ty, fuel: u32) -> Option<String> {
    if g.nest + 2 > super::DEEPEST {
        return None;
    }
    let elem = ty.elem()?.elem()?.clone();
    let (a, b) = g.halves(fuel);
    let xss = g.exp(ty, a);
    let (x, r) = (g.name(), g.name());
    let of_row = if g.rng.chance(50) { windows } else { in_place };
    if g.rng.chance(50) {
        let row = g.under(&[], |g| g.under(&[], |g| of_row(g, &elem, &r, &[], b)));
        return Some(format!("(map (\\({r}: []{elem}) -> {row}) {xss})"));
    }
    let numbers = [r.clone()];
    let row =
        g.under(&[(&r, &I64)], |g| g.under(&[], |g| of_row(g, &elem, &format!("{x}[{r}]"), &numbers, b)));
    Some(format!("(let {x} = {xss} in tabulate (length {x}) (\\({r}: i64) -> {row}))"))
}
