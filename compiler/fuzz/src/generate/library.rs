//! Uses of the standard library: sorting, expansion, runs, stencils, irregular arrays by hand.

use super::{Form, Gen};
use crate::types::{BOOL, I64, Ty, array};

fn is_array(ty: &Ty) -> bool {
    ty.elem().is_some()
}

fn of_i64(ty: &Ty) -> bool {
    ty.elem() == Some(&I64)
}

fn ordered(ty: &Ty) -> bool {
    ty.elem().is_some_and(|e| e.is_ordered() && !e.has_floats())
}

fn of_integers(ty: &Ty) -> bool {
    matches!(ty.elem(), Some(Ty::Prim(p)) if p.is_integer())
}

fn of_pairs(ty: &Ty) -> bool {
    matches!(ty.elem(), Some(Ty::Tuple(ts)) if ts.iter().all(|t| *t == I64) && ts.len() == 2)
}

pub(super) const FORMS: &[Form] = &[
    Form { name: "sort", weight: 8, makes: ordered, make: sort },
    Form { name: "sort_by", weight: 3, makes: ordered, make: sort_by },
    Form { name: "sort_by_key", weight: 4, makes: is_array, make: sort_by_key },
    Form { name: "argsort", weight: 4, makes: of_i64, make: argsort },
    Form { name: "group_by_key", weight: 4, makes: |t| t.rank() > 1, make: group_by_key },
    Form { name: "top_k", weight: 2, makes: ordered, make: top_k },
    Form { name: "expand", weight: 8, makes: is_array, make: expand },
    Form { name: "expand_reduce", weight: 5, makes: is_array, make: expand_reduce },
    Form { name: "concat_map", weight: 6, makes: is_array, make: concat_map },
    Form { name: "replicated_iota", weight: 4, makes: of_i64, make: replicated_iota },
    Form { name: "segmented_replicate", weight: 4, makes: is_array, make: segmented_replicate },
    Form { name: "lengths", weight: 6, makes: of_i64, make: lengths },
    Form { name: "indices2", weight: 4, makes: of_pairs, make: indices2 },
    Form { name: "flood", weight: 3, makes: is_array, make: flood },
    Form { name: "flags", weight: 2, makes: of_i64, make: flags },
    Form { name: "unique_consecutive", weight: 4, makes: is_array, make: unique },
    Form { name: "run_lengths", weight: 3, makes: of_i64, make: run_lengths },
    Form { name: "shifted", weight: 6, makes: is_array, make: shifted },
    Form { name: "behind neutral", weight: 6, makes: of_integers, make: behind_neutral },
    Form { name: "stencil_1d", weight: 3, makes: is_array, make: stencil_1d },
    Form { name: "stencil_2d", weight: 2, makes: |t| t.rank() > 1, make: stencil_2d },
];

fn on_same(g: &mut Gen, ty: &Ty, fuel: u32, fs: &[&str]) -> Option<String> {
    let xs = g.exp(ty, fuel);
    let f = *g.rng.pick(fs);
    Some(format!("({f} {xs})"))
}

fn sort(g: &mut Gen, ty: &Ty, fuel: u32) -> Option<String> {
    on_same(g, ty, fuel, &["sort"])
}

fn sort_by(g: &mut Gen, ty: &Ty, fuel: u32) -> Option<String> {
    on_same(g, ty, fuel, &["sort_by leq", "sort_by (\\x y -> leq y x)"])
}

fn key(g: &mut Gen, elem: &Ty, fuel: u32) -> (String, Ty) {
    let key = loop {
        let key = g.ty(1);
        if key.is_ordered() && !key.has_floats() {
            break key;
        }
    };
    (g.under(&[], |g| g.lambda(std::slice::from_ref(elem), &key, fuel)), key)
}

fn sort_by_key(g: &mut Gen, ty: &Ty, fuel: u32) -> Option<String> {
    if !g.can_nest() {
        return None;
    }
    let (a, b) = g.halves(fuel);
    let (xs, (f, _)) = (g.exp(ty, a), key(g, ty.elem()?, b));
    Some(format!("(sort_by_key {f} {xs})"))
}

fn argsort(g: &mut Gen, _: &Ty, fuel: u32) -> Option<String> {
    if !g.can_nest() {
        return None;
    }
    let (a, b) = g.halves(fuel);
    let (xs, elem) = g.any_array(a);
    let (f, _) = key(g, &elem, b);
    Some(format!("(argsort_by_key {f} {xs})"))
}

fn group_by_key(g: &mut Gen, ty: &Ty, fuel: u32) -> Option<String> {
    if !g.can_nest() {
        return None;
    }
    let (a, b) = g.halves(fuel);
    let row = ty.elem()?;
    let (xs, (f, _)) = (g.exp(row, a), key(g, row.elem()?, b));
    let x = g.name();
    Some(format!("(let {x} = {xs} in (group_by_key (map {f} {x}) {x}).1)"))
}

fn top_k(g: &mut Gen, ty: &Ty, fuel: u32) -> Option<String> {
    let (a, b) = g.halves(fuel);
    let (k, xs) = (g.small(3, a), g.exp(ty, b));
    Some(format!("(top_k {k} {xs})"))
}

/// The functions that say how many and what an element expands to.
fn expansion(g: &mut Gen, ret: &Ty, fuel: u32) -> Option<(String, String)> {
    if !g.can_nest() {
        return None;
    }
    let share = fuel / 3;
    let (xs, elem) = g.any_array(share);
    let (x, i) = (g.name(), g.name());
    let size = g.under(&[(&x, &elem)], |g| g.small(3, share));
    let get = g.under(&[(&x, &elem), (&i, &I64)], |g| g.exp(ret, share));
    Some((format!("(\\({x}: {elem}) -> {size}) (\\({x}: {elem}) ({i}: i64) -> {get})"), xs))
}

fn expand(g: &mut Gen, ty: &Ty, fuel: u32) -> Option<String> {
    let (fs, xs) = expansion(g, ty.elem()?, fuel)?;
    Some(format!("(expand {fs} {xs})"))
}

fn expand_reduce(g: &mut Gen, ty: &Ty, fuel: u32) -> Option<String> {
    let elem = ty.elem()?;
    let o = g.operator(elem);
    if o.exact {
        return None;
    }
    let (fs, xs) = expansion(g, elem, fuel)?;
    let f = *g.rng.pick(&["expand_reduce", "expand_outer_reduce"]);
    Some(format!("({f} {fs} {} {} {xs})", o.op, o.neutral))
}

fn concat_map(g: &mut Gen, ty: &Ty, fuel: u32) -> Option<String> {
    if !g.can_nest() {
        return None;
    }
    let (a, b) = g.halves(fuel);
    let (xs, elem) = g.any_array(a);
    let f = g.under(&[], |g| g.lambda(&[elem], ty, b));
    Some(format!("(concat_map {f} {xs})"))
}

fn small_counts(g: &mut Gen, fuel: u32) -> String {
    let (is, k) = (g.exp(&array(I64), fuel), g.name());
    format!("(map (\\{k} -> {k} & 3) {is})")
}

fn replicated_iota(g: &mut Gen, _: &Ty, fuel: u32) -> Option<String> {
    let counts = small_counts(g, fuel);
    Some(format!("(replicated_iota {counts})"))
}

fn segmented_replicate(g: &mut Gen, ty: &Ty, fuel: u32) -> Option<String> {
    let (a, b) = g.halves(fuel);
    let (xs, counts) = (g.exp(ty, a), small_counts(g, b));
    let (x, c, n) = (g.name(), g.name(), g.name());
    let cut = format!("let {n} = i64.min (length {x}) (length {c})");
    Some(format!(
        "(let {x} = {xs} let {c} = {counts} {cut} in segmented_replicate (take {n} {c}) (take {n} {x}))"
    ))
}

fn lengths(g: &mut Gen, _: &Ty, fuel: u32) -> Option<String> {
    let elem = g.ty(1);
    let xss = g.exp(&array(array(elem)), fuel);
    let f = *g.rng.pick(&["lengths", "map length"]);
    Some(format!("({f} {xss})"))
}

fn indices2(g: &mut Gen, _: &Ty, fuel: u32) -> Option<String> {
    let elem = g.ty(1);
    let xss = g.exp(&array(array(elem)), fuel);
    Some(format!("(indices2 {xss})"))
}

fn flood(g: &mut Gen, ty: &Ty, fuel: u32) -> Option<String> {
    if !g.can_nest() {
        return None;
    }
    let (a, b) = g.halves(fuel);
    let elem = ty.elem()?.clone();
    let (xs, x) = (g.exp(ty, a), g.name());
    let p = g.under(&[], |g| g.lambda(&[elem], &BOOL, b));
    Some(format!("(let {x} = {xs} in flood (map {p} {x}) {x})"))
}

fn flags(g: &mut Gen, _: &Ty, fuel: u32) -> Option<String> {
    let flags = g.exp(&array(BOOL), fuel);
    let f = *g.rng.pick(&[
        "segmented_iota",
        "segment_lengths",
        "flood_index",
        "lengths_from_starts 9 <| segmented_iota",
    ]);
    Some(format!("({f} {flags})"))
}

fn unique(g: &mut Gen, ty: &Ty, fuel: u32) -> Option<String> {
    on_same(g, ty, fuel, &["unique_consecutive"])
}

/// Elements at other places, with one more at an end.
fn shifted(g: &mut Gen, ty: &Ty, fuel: u32) -> Option<String> {
    let (xs, x) = (g.exp(ty, fuel), g.name());
    Some(match g.rng.below(4) {
        0 => format!("(let {x} = {xs} in if null {x} then {x} else [{x}[0]] ++ init {x})"),
        1 => format!("(let {x} = {xs} in if null {x} then {x} else tail {x} ++ [last {x}])"),
        2 => format!("(rotate ({}) {xs})", g.rng.between(-3, 3)),
        _ => format!("(let {x} = {xs} in take 1 {x} ++ {x} ++ drop (length {x} - 1) {x})"),
    })
}

/// Prefixes behind the neutral element, alone or with their total.
fn behind_neutral(g: &mut Gen, ty: &Ty, fuel: u32) -> Option<String> {
    let (xs, x, s) = (g.exp(ty, fuel), g.name(), g.name());
    let all = *g.rng.pick(&["", " |> map (+ last %)", " |> map2 (-) %"]);
    let all = all.replace('%', &s);
    Some(format!(
        "(let {x} = {xs} let {s} = scan (+) 0 {x} in if null {x} then {x} else ([0] ++ init {s}){all})"
    ))
}

fn run_lengths(g: &mut Gen, _: &Ty, fuel: u32) -> Option<String> {
    let (xs, _) = g.any_array(fuel);
    Some(format!("((run_lengths {xs}).1)"))
}

fn stencil_1d(g: &mut Gen, ty: &Ty, fuel: u32) -> Option<String> {
    if !g.can_nest() {
        return None;
    }
    let elem = g.ty(1);
    let ret = ty.elem()?.clone();
    let share = fuel / 3;
    let [edge, xs] = g.exps([&elem, &array(elem.clone())], share);
    let f = g.under(&[], |g| g.lambda(&[elem.clone(), elem.clone(), elem.clone()], &ret, share));
    Some(format!("(stencil_1d {f} {edge} {xs})"))
}

fn stencil_2d(g: &mut Gen, ty: &Ty, fuel: u32) -> Option<String> {
    if g.nest + 2 > super::DEEPEST {
        return None;
    }
    let ret = ty.elem()?.elem()?.clone();
    let share = fuel / 4;
    let (n, m, edge) = (g.small(3, share), g.small(3, share), g.exp(&I64, share));
    let params = [I64, I64, I64, I64, I64];
    let f = g.under(&[], |g| g.under(&[], |g| g.lambda(&params, &ret, share)));
    Some(format!("(stencil_2d {f} {edge} (tabulate_2d {n} {m} (\\i j -> i * 3 - j)))"))
}
