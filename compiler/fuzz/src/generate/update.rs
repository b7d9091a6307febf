//! Writing: `with`, scatter, histograms.

use super::arrays::is_array;
use super::{Form, Gen};
use crate::types::{I64, Ty, array};
use par_runtime::Prim;

pub(super) const FORMS: &[Form] = &[
    Form { name: "with", weight: 10, makes: is_array, make: with },
    Form { name: "let with", weight: 5, makes: is_array, make: let_with },
    Form { name: "with twice", weight: 5, makes: is_array, make: with_twice },
    Form { name: "with of a row", weight: 7, makes: |t| t.rank() > 1, make: with_row },
    Form { name: "with further in", weight: 6, makes: is_array, make: with_further_in },
    Form { name: "with of another length", weight: 4, makes: |t| t.rank() > 1, make: with_of_another_length },
    Form { name: "update loop", weight: 8, makes: is_array, make: update_loop },
    Form { name: "guarded update loop", weight: 8, makes: is_array, make: guarded_update_loop },
    Form { name: "waves", weight: 4, makes: is_row, make: waves },
    Form { name: "rows that stay", weight: 4, makes: is_row, make: rows_that_stay },
    Form { name: "rows of a table", weight: 4, makes: is_row, make: rows_of_a_table },
    Form { name: "scatter", weight: 12, makes: is_array, make: scatter },
    Form { name: "scatter_2d", weight: 3, makes: |t| t.rank() > 1, make: scatter_2d },
    Form { name: "spread", weight: 3, makes: is_array, make: spread },
    Form { name: "hist", weight: 8, makes: is_array, make: hist },
    Form { name: "reduce_by_index", weight: 9, makes: is_array, make: reduce_by_index },
    Form { name: "reduce_groups", weight: 2, makes: is_array, make: reduce_groups },
    Form { name: "histogram", weight: 2, makes: |t| t.elem() == Some(&I64), make: histogram },
];

/// A value as long as row `i` of `x`, so that it may be written there; a scalar as it is.
fn fitting(g: &mut Gen, elem: &Ty, (x, i): (&str, &str), fuel: u32) -> Option<String> {
    let Some(inner) = elem.elem().cloned() else { return Some(g.exp(elem, fuel)) };
    let j = g.name();
    if inner.rank() == 0 {
        let v = g.with(&[(&j, &I64)], |g| g.exp(&inner, fuel));
        return Some(format!("(map (\\{j} -> {v}) (indices {x}[{i}]))"));
    }
    Some(format!("(map (\\{j} -> {x}[{i}, {j}]) (indices {x}[{i}]))"))
}

fn with(g: &mut Gen, ty: &Ty, fuel: u32) -> Option<String> {
    let elem = ty.elem()?.clone();
    if elem.rank() > 0 {
        let [xs, i] = g.exps([ty, &I64], fuel / 2);
        let (x, k) = (g.name(), g.name());
        let v = fitting(g, &elem, (&x, &k), fuel / 2)?;
        let start = format!("let {x} = {xs} in if null {x} then {x} else let {k} = {i} % length {x}");
        return Some(format!("({start} in {x} with [{k}] = {v})"));
    }
    let [xs, i, v] = g.exps([ty, &I64, ty.elem()?], fuel);
    let x = g.name();
    if g.risky() {
        return Some(format!("(let {x} = {xs} in {x} with [{i} & 3] = {v})"));
    }
    Some(format!("(let {x} = {xs} in if null {x} then {x} else {x} with [{i} % length {x}] = {v})"))
}

fn let_with(g: &mut Gen, ty: &Ty, fuel: u32) -> Option<String> {
    if ty.elem()?.rank() > 0 {
        return None;
    }
    let [xs, i, v] = g.exps([ty, &I64, ty.elem()?], fuel);
    let x = g.name();
    Some(format!("(let {x} = {xs} in if null {x} then {x} else let {x}[{i} % length {x}] = {v} in {x})"))
}

/// Two updates after which the array as it was is read, in a loop or not.
fn with_twice(g: &mut Gen, ty: &Ty, fuel: u32) -> Option<String> {
    if ty.elem()?.rank() > 0 {
        return None;
    }
    let (a, b) = g.halves(fuel);
    let [xs, v] = g.exps([ty, ty.elem()?], a);
    let (x, n, t) = (g.name(), g.name(), g.name());
    let place = |g: &mut Gen| {
        let i = g.with(&[(&t, &I64)], |g| g.exp(&I64, b / 4));
        if g.risky() { format!("({i}) & 3") } else { format!("({i}) % {n}") }
    };
    let [i, j, k, l] = [(); 4].map(|()| place(g));
    let first = if g.rng.chance(50) { v } else { format!("{x}[{j}]") };
    let twice = format!("{x} with [{i}] = {first} with [{k}] = {x}[{l}]");
    let looped = g.rng.chance(60);
    let updated =
        if looped { format!("loop {x} for {t} < 3 do {twice}") } else { format!("let {t} = 1 in {twice}") };
    Some(format!("(let {x} = {xs} let {n} = length {x} in if {n} == 0 then {x} else {updated})"))
}

/// An element of a row, or a whole row.
fn with_row(g: &mut Gen, ty: &Ty, fuel: u32) -> Option<String> {
    let row = ty.elem()?.clone();
    let elem = row.elem()?.clone();
    let (a, b) = g.halves(fuel);
    let xss = g.exp(ty, a);
    let (x, i) = (g.name(), g.name());
    let k = g.small(3, b / 2);
    let inside =
        format!("let {x} = {xss} let {i} = {k} in if {i} >= length {x} || null {x}[{i}] then {x} else");
    let vars = [(x.as_str(), ty), (i.as_str(), &I64)];
    Some(if g.rng.chance(50) {
        let v = g.with(&vars, |g| g.exp(&elem, b / 2));
        format!("({inside} {x} with [{i}, 0] = {v})")
    } else {
        let (v, j) = (g.with(&vars, |g| g.exp(&elem, b / 2)), g.name());
        format!(
            "({inside} {x} with [{i}] = map (\\{j} -> if {j} == 0 then {v} else {x}[{i}, {j}]) (indices {x}[{i}]))"
        )
    })
}

/// A component of an element, or an element of a component.
fn with_further_in(g: &mut Gen, ty: &Ty, fuel: u32) -> Option<String> {
    let elem = ty.elem()?.clone();
    let (a, b) = g.halves(fuel);
    let xs = g.exp(ty, a);
    let x = g.name();
    let part = match &elem {
        Ty::Tuple(ts) => {
            ts.iter().position(|t| matches!(t, Ty::Prim(_))).map(|k| (k.to_string(), ts[k].clone()))
        }
        Ty::Record(fs) => {
            fs.iter().find(|f| matches!(f.1, Ty::Prim(_))).map(|f| (f.0.to_string(), f.1.clone()))
        }
        _ => None,
    };
    if let Some((name, of)) = part {
        let [i, v] = g.exps([&I64, &of], b);
        return Some(format!(
            "(let {x} = {xs} in if null {x} then {x} else {x} with [{i} % length {x}].{name} = {v})"
        ));
    }
    let (t, k) = (g.name(), g.name());
    let i = g.exp(&I64, b / 2);
    let v = fitting(g, &elem, (&x, &k), b / 2)?;
    let update = match g.rng.chance(50) {
        true => format!("let {t}.1[{k}] = {v} in {t}.1"),
        false => format!("({t} with 1[{k}] = {v}).1"),
    };
    Some(format!(
        "(let {x} = {xs} let {t} = ({x}, {x}) in if null {x} then {x} else let {k} = {i} % length {x} in {update})"
    ))
}

/// A row, or two, made longer or shorter.
fn with_of_another_length(g: &mut Gen, ty: &Ty, fuel: u32) -> Option<String> {
    let elem = ty.elem()?.elem()?.clone();
    if elem.rank() > 0 {
        return None;
    }
    let [xs, i, v] = g.exps([ty, &I64, &elem], fuel);
    let (x, k) = (g.name(), g.name());
    let new = match g.rng.chance(50) {
        true => format!("{x}[{k}] ++ [{v}]"),
        false => format!("if null {x}[{k}] then [{v}] else tail {x}[{k}]"),
    };
    let update = match g.rng.chance(70) {
        true => format!("[{k}] = {new}"),
        false => format!("[{k}:{k} + 1] = [{new}]"),
    };
    Some(format!(
        "(let {x} = {xs} in if null {x} then {x} else let {k} = {i} % length {x} in {x} with {update})"
    ))
}

/// A loop that updates one array in place, reading what it wrote before.
fn update_loop(g: &mut Gen, ty: &Ty, fuel: u32) -> Option<String> {
    let elem = ty.elem()?.clone();
    let (a, b) = g.halves(fuel);
    let xs = g.exp(ty, a);
    let (x, y, i, j) = (g.name(), g.name(), g.name(), g.name());
    let at = (format!("{y}[{i}]"), format!("{y}[{j}]"));
    let (u, v) = (g.name(), g.name());
    let body = g.with(&[(&u, &elem), (&v, &elem), (&i, &I64)], |g| g.exp(&elem, b));
    let lets = format!("let {j} = ({i} * 5 + 1) % length {y} let {u} = {} let {v} = {}", at.0, at.1);
    let target = if g.rng.chance(60) { &i } else { &j };
    let init = if g.rng.chance(50) { format!("copy {x}") } else { x.clone() };
    let bound = format!("i64.min 5 (length {x})");
    Some(format!(
        "(let {x} = {xs} in loop {y} = {init} for {i} < {bound} do {lets} in {y} with [{target}] = {body})"
    ))
}

/// A loop whose iterations update under a condition, in one arm or in both, by an element or by a scatter.
fn guarded_update_loop(g: &mut Gen, ty: &Ty, fuel: u32) -> Option<String> {
    let elem = ty.elem()?.clone();
    let share = fuel / 4;
    let xs = g.exp(ty, share);
    let (x, y, i, j, u) = (g.name(), g.name(), g.name(), g.name(), g.name());
    let vars = [(u.as_str(), &elem), (i.as_str(), &I64)];
    let cond = g.with(&vars, |g| g.exp(&Ty::Prim(Prim::Bool), share));
    let value = |g: &mut Gen, at: &str| g.with(&vars, |g| fitting(g, &elem, (&y, at), share));
    let write = if elem.rank() == 0 && g.rng.chance(30) {
        let v = g.with(&vars, |g| g.exp(&elem, share));
        format!("scatter {y} [{j}] [{v}]")
    } else {
        format!("{y} with [{j}] = {}", value(g, &j)?)
    };
    let other = if g.rng.chance(40) { format!("{y} with [{i}] = {}", value(g, &i)?) } else { y.clone() };
    let lets = format!("let {j} = ({i} * 3 + 1) % length {y} let {u} = copy {y}[{i}]");
    let bound = format!("i64.min 4 (length {x})");
    Some(format!(
        "(let {x} = {xs} in loop {y} = copy {x} for {i} < {bound} do {lets} in if {cond} then {write} else {other})"
    ))
}

fn is_row(ty: &Ty) -> bool {
    ty.rank() == 1
}

/// Waves over a matrix, columns or diagonals, each from elements around it: of waves before, of its own or of those after; some read in one arm of a branch, or
/// not written where they leave the matrix.
fn waves(g: &mut Gen, ty: &Ty, fuel: u32) -> Option<String> {
    if !g.can_nest() {
        return None;
    }
    let elem = ty.elem()?.clone();
    let (a, b) = g.halves(fuel);
    let xs = g.exp(ty, a);
    let [x, y, q, k, i, u, v, lo] = [(); 8].map(|()| g.name());
    let (width, count) = (g.rng.between(14, 24), g.rng.between(1, 40));
    let along = if g.rng.chance(60) { format!("{q} - {i}") } else { q.clone() };
    // Every read of the rows around is inside.
    let start = 3 * width;
    let at = |rows: i64, before: i64| format!("{start} + ({i} - {rows}) * {width} + {along} - {before}");
    let mut written = at(0, 0);
    if g.rng.chance(30) {
        written = format!("if {along} >= 0 && {along} < {width} && {i} >= 0 then {written} else -1");
    }
    let [one, other] = [(); 2].map(|()| {
        let rows = *g.rng.pick(&[0, 0, 1, 1, 1, 2, -1]);
        at(rows, *g.rng.pick(&[0, 1, 1, 2, -1]))
    });
    let first =
        g.rng.pick(&["0", "i64.max 0 (Q - 9)", "i64.min 4 (Q / 2)", "i64.max (3 - Q) 1"]).replace('Q', &q);
    let value = g.under(&[(&u, &elem), (&v, &elem), (&q, &I64)], |g| g.exp(&elem, b));
    let size = 10 * width + count;
    let rows = g.rng.between(0, 6);
    let other = match g.rng.chance(30) {
        true => format!("if ({q} + {i}) % 3 == 0 then {y}[{other}] else {u}"),
        false => format!("{y}[{other}]"),
    };
    let lets = format!("let {i} = {lo} + {k} let {u} = {y}[{one}] let {v} = {other}");
    Some(format!(
        "(let {x} = {xs} in if null {x} then {x} else loop {y} = tabulate {size} (\\{k} -> {x}[{k} % length {x}]) for {q} < {count} do \
         let {lo} = {first} let ({k}, {v}) = unzip (map (\\{k} -> {lets} in ({written}, {value})) (iota (i64.max 0 ({rows} - {lo})))) \
         in scatter {y} {k} {v})"
    ))
}

/// A matrix of an array's elements, of which there is one at least; with names for the indices.
fn table_of(x: &str, [rows, columns]: [i64; 2], [i, j]: [&str; 2]) -> String {
    format!("tabulate_2d {rows} {columns} (\\{i} {j} -> {x}[({i} * {columns} + {j}) % length {x}])")
}

/// Steps over a matrix that leave its rows on one side of a position as they are, and read others.
fn rows_that_stay(g: &mut Gen, ty: &Ty, fuel: u32) -> Option<String> {
    let elem = ty.elem()?.clone();
    if g.nest + 2 > super::DEEPEST || elem.rank() > 0 {
        return None;
    }
    let (a, b) = g.halves(fuel);
    let xs = g.exp(ty, a);
    let [x, y, q, i, j, row, u, v] = [(); 8].map(|()| g.name());
    let (rows, columns, steps) = (g.rng.between(1, 7), g.rng.between(1, 6), g.rng.between(1, 5));
    let bound = g.rng.pick(&["Q", "Q", "Q - 1", "Q + 1", "2", "-1", "9 - 2 * Q"]).replace('Q', &q);
    let cond = g.rng.pick(&["I <= B", "I < B", "I >= B", "I > B", "B <= I", "B > I"]);
    let cond = cond.replace('I', &i).replace('B', &format!("({bound})"));
    let other = g.rng.pick(&["B", "B", "0", "I", "I - 1"]).replace('I', &i).replace('B', &bound);
    let other = format!("{y}[i64.max 0 (i64.min {} ({other}))]", rows - 1);
    let value = g.under(&[(&u, &elem), (&v, &elem), (&i, &I64)], |g| g.exp(&elem, b));
    let table = table_of(&x, [rows, columns], [&i, &j]);
    let new = format!("map2 (\\{u} {v} -> {value}) {row} {other}");
    let arms = match g.rng.chance(60) {
        true => format!("{row} else {new}"),
        false => format!("{new} else {row}"),
    };
    Some(format!(
        "(let {x} = {xs} in if null {x} then {x} else flatten (loop {y} = {table} for {q} < {steps} do map2 (\\{i} {row} -> if {cond} then {arms}) (iota {rows}) {y}))"
    ))
}

/// Rows of a table, each from others of it: the one before or behind, its neighbours where they are, itself.
fn rows_of_a_table(g: &mut Gen, ty: &Ty, fuel: u32) -> Option<String> {
    let elem = ty.elem()?.clone();
    if g.nest + 2 > super::DEEPEST || elem.rank() > 0 {
        return None;
    }
    let (a, b) = g.halves(fuel);
    let xs = g.exp(ty, a);
    let [x, y, q, i, j, u, v] = [(); 7].map(|()| g.name());
    let (rows, columns) = (g.rng.between(2, 6), g.rng.between(1, 40));
    let (row, other) = *g.rng.pick(&[("Q + 1", "I - 1"), ("R - 2 - Q", "I + 1"), ("Q + 1", "Q / 2")]);
    let read = |g: &mut Gen| {
        let read = *g.rng.pick(&[
            "Y[O, J]",
            "Y[I, J]",
            "if J > 0 then Y[O, J - 1] else Y[O, J]",
            "if J < C - 1 then Y[O, J + 1] else Y[I, J]",
            "Y[O, i64.max 0 (J - 1)]",
            "Y[O, C - 1 - J]",
            "Y[I, C - 1 - J]",
        ]);
        let read = read.replace('O', other).replace('C', &columns.to_string());
        read.replace('I', &i).replace('Q', &q).replace('J', &j).replace('Y', &y)
    };
    let (one, two) = (read(g), read(g));
    let value = g.under(&[(&u, &elem), (&v, &elem), (&i, &I64)], |g| g.exp(&elem, b));
    let table = table_of(&x, [rows, columns], [&i, &j]);
    let lets = format!("let {u} = {one} let {v} = {two}");
    let (steps, row) = (rows - 1, row.replace('R', &rows.to_string()).replace('Q', &q));
    Some(format!(
        "(let {x} = {xs} in if null {x} then {x} else flatten (loop {y} = {table} for {q} < {steps} do let {i} = {row} in {y} with [{i}] = map (\\{j} -> {lets} in {value}) (iota {columns})))"
    ))
}

/// Scatter whose values depend on nothing but the index, so that it does not matter which write wins.
fn scatter(g: &mut Gen, ty: &Ty, fuel: u32) -> Option<String> {
    if !g.can_nest() {
        return None;
    }
    let elem = ty.elem()?.clone();
    let share = fuel / 3;
    let (xs, is) = (g.exp(ty, share), g.exp(&array(I64), share));
    let (x, i, k) = (g.name(), g.name(), g.name());
    let is = if g.rng.chance(60) { format!("(map (\\{k} -> {k} % 8) {is})") } else { is };
    let value = if elem.rank() > 0 {
        // The rows of a destination must be as long as what is written there.
        let j = g.name();
        let inner = elem.elem()?.clone();
        let v = g.under(&[(&j, &I64)], |g| g.exp(&inner, share));
        let width = format!("(if {k} >= 0 && {k} < length {x} then length {x}[{k}] else 0)");
        format!("(tabulate {width} (\\{j} -> {v}))")
    } else {
        g.under(&[(&k, &I64)], |g| g.exp(&elem, share))
    };
    Some(format!("(let {x} = {xs} let {i} = {is} in scatter {x} {i} (map (\\{k} -> {value}) {i}))"))
}

fn scatter_2d(g: &mut Gen, ty: &Ty, fuel: u32) -> Option<String> {
    if g.nest + 2 > super::DEEPEST {
        return None;
    }
    let elem = ty.elem()?.elem()?.clone();
    let share = fuel / 3;
    let pairs = array(Ty::Tuple(vec![I64, I64]));
    let (m, is, k) = (g.small(3, share), g.exp(&pairs, share), g.name());
    let (i, x, v) = (g.name(), g.name(), g.name());
    let value = g.under(&[(&v, &I64)], |g| g.exp(&elem, share));
    let dest = format!("tabulate_2d {m} 3 (\\({v}: i64) {x} -> {value})");
    let values = format!("map (\\({k}: (i64, i64)) -> let {v} = {k}.0 + 7 * {k}.1 in {value}) {i}");
    Some(format!("(let {i} = {is} in scatter_2d ({dest}) {i} ({values}))"))
}

fn spread(g: &mut Gen, ty: &Ty, fuel: u32) -> Option<String> {
    let elem = ty.elem()?;
    if !elem.is_flat() || !g.can_nest() {
        return None;
    }
    let share = fuel / 4;
    let (n, x, is) = (g.small(7, share), g.exp(elem, share), g.exp(&array(I64), share));
    let (i, k) = (g.name(), g.name());
    let value = g.under(&[(&k, &I64)], |g| g.exp(elem, share));
    Some(format!("(let {i} = {is} in spread {n} {x} {i} (map (\\({k}: i64) -> {value}) {i}))"))
}

/// Indices, of which some are outside, and values for them.
fn updates(g: &mut Gen, elem: &Ty, exact: bool, fuel: u32) -> Option<(String, String, String)> {
    if !g.can_nest() {
        return None;
    }
    let (a, b) = g.halves(fuel);
    let (xs, t) = g.any_array(a);
    let (x, k) = (g.name(), g.name());
    let i = g.under(&[(&k, &t)], |g| g.exp(&I64, b / 2));
    let f = g.under(&[], |g| g.lambda(std::slice::from_ref(&t), elem, b / 2));
    let values = format!("(map {f} {x})");
    let values = if exact { format!("(map {} {values})", g.rounding(elem)) } else { values };
    Some((format!("let {x} = {xs} in "), format!("(map (\\({k}: {t}) -> {i} & 7) {x})"), values))
}

fn hist(g: &mut Gen, ty: &Ty, fuel: u32) -> Option<String> {
    let elem = ty.elem()?.clone();
    let o = g.commutative(&elem)?;
    let n = g.small(7, 1);
    let (lets, is, vs) = updates(g, &elem, o.exact, fuel)?;
    Some(format!("({lets}hist {} {} {n} {is} {vs})", o.op, o.neutral))
}

fn reduce_by_index(g: &mut Gen, ty: &Ty, fuel: u32) -> Option<String> {
    let elem = ty.elem()?.clone();
    let o = g.commutative(&elem)?;
    let (a, b) = g.halves(fuel);
    let dest = g.exp(ty, a);
    let dest = if o.exact { format!("(map {} {dest})", g.rounding(&elem)) } else { dest };
    let (lets, is, vs) = updates(g, &elem, o.exact, b)?;
    Some(format!("({lets}reduce_by_index {dest} {} {} {is} {vs})", o.op, o.neutral))
}

fn reduce_groups(g: &mut Gen, ty: &Ty, fuel: u32) -> Option<String> {
    let elem = ty.elem()?.clone();
    let o = g.operator(&elem);
    if o.exact {
        return None;
    }
    let (a, b) = g.halves(fuel);
    let dest = g.exp(ty, a);
    let (lets, is, vs) = updates(g, &elem, false, b)?;
    Some(format!("({lets}reduce_groups {dest} {} {} {is} {vs})", o.op, o.neutral))
}

fn histogram(g: &mut Gen, _: &Ty, fuel: u32) -> Option<String> {
    let (a, b) = g.halves(fuel);
    let (n, is) = (g.small(7, a), g.exp(&array(I64), b));
    Some(format!("(histogram {n} {is})"))
}
