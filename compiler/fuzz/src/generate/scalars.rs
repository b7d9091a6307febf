//! Scalars: arithmetic, comparisons, conversions, what arrays are asked.

use super::{Form, Gen};
use crate::types::{BOOL, I64, Ty, array};
use par_runtime::Prim;

fn integer(ty: &Ty) -> bool {
    ty.prim().is_some_and(|p| p != Prim::Bool && !p.is_float())
}

fn float(ty: &Ty) -> bool {
    ty.is_float()
}

fn number(ty: &Ty) -> bool {
    integer(ty) || float(ty)
}

fn bool(ty: &Ty) -> bool {
    *ty == BOOL
}

fn index(ty: &Ty) -> bool {
    *ty == I64
}

fn scalar(ty: &Ty) -> bool {
    ty.prim().is_some()
}

pub(super) const FORMS: &[Form] = &[
    Form { name: "arithmetic", weight: 30, makes: number, make: arithmetic },
    Form { name: "bitwise", weight: 6, makes: integer, make: bitwise },
    Form { name: "division", weight: 8, makes: integer, make: division },
    Form { name: "float division", weight: 4, makes: float, make: float_division },
    Form { name: "power", weight: 2, makes: integer, make: power },
    Form { name: "unary", weight: 6, makes: number, make: unary },
    Form { name: "bits", weight: 2, makes: |t| *t == Ty::Prim(Prim::I32), make: bits },
    Form { name: "conversion", weight: 6, makes: scalar, make: conversion },
    Form { name: "min max", weight: 6, makes: integer, make: min_max },
    Form { name: "comparison", weight: 16, makes: bool, make: comparison },
    Form { name: "equality", weight: 6, makes: bool, make: equality },
    Form { name: "logic", weight: 10, makes: bool, make: logic },
    Form { name: "length", weight: 10, makes: index, make: length },
];

fn arithmetic(g: &mut Gen, ty: &Ty, fuel: u32) -> Option<String> {
    let [a, b] = g.exps([ty, ty], fuel);
    let op = *g.rng.pick(&["+", "-", "*"]);
    Some(format!("({a} {op} {b})"))
}

fn bitwise(g: &mut Gen, ty: &Ty, fuel: u32) -> Option<String> {
    let [a, b] = g.exps([ty, ty], fuel);
    let op = *g.rng.pick(&["&", "|", "^", "<<", ">>", ">>>"]);
    let Ty::Prim(p) = ty else { return None };
    match op {
        ">>>" => None,
        "<<" | ">>" => Some(format!("({a} {op} ({b} & 7{p}))")),
        _ => Some(format!("({a} {op} {b})")),
    }
}

/// The divisor is not zero, but for a risk.
fn division(g: &mut Gen, ty: &Ty, fuel: u32) -> Option<String> {
    let [a, b] = g.exps([ty, ty], fuel);
    let Ty::Prim(p) = ty else { return None };
    let op = *g.rng.pick(&["/", "%", "//", "%%"]);
    if g.risky() {
        return Some(format!("({a} {op} {b})"));
    }
    let x = g.name();
    Some(format!("({a} {op} (let {x} = {b} in if {x} == 0{p} then 1{p} else {x}))"))
}

fn float_division(g: &mut Gen, ty: &Ty, fuel: u32) -> Option<String> {
    let [a, b] = g.exps([ty, ty], fuel);
    Some(format!("({a} / {b})"))
}

fn power(g: &mut Gen, ty: &Ty, fuel: u32) -> Option<String> {
    let [a, b] = g.exps([ty, ty], fuel);
    let Ty::Prim(p) = ty else { return None };
    Some(format!("({a} ** ({b} & 3{p}))"))
}

fn unary(g: &mut Gen, ty: &Ty, fuel: u32) -> Option<String> {
    let a = g.exp(ty, fuel);
    let Ty::Prim(p) = ty else { return None };
    if p.is_float() && g.smooth {
        let f = *g.rng.pick(&["sin", "cos", "atan", "abs", "neg", "tanh"]);
        return Some(format!("({p}.{f} {a})"));
    }
    if p.is_float() {
        let f = *g.rng.pick(&["abs", "sqrt", "floor", "ceil", "round", "trunc", "neg"]);
        return Some(format!("({p}.{f} {a})"));
    }
    let f = *g.rng.pick(&["abs", "sgn", "not", "neg"]);
    Some(format!("({p}.{f} {a})"))
}

fn bits(g: &mut Gen, _: &Ty, fuel: u32) -> Option<String> {
    let from = loop {
        let p = g.prim();
        if integer(&Ty::Prim(p)) {
            break p;
        }
    };
    let a = g.exp(&Ty::Prim(from), fuel);
    let f = *g.rng.pick(&["popc", "clz", "ctz"]);
    Some(format!("({from}.{f} {a})"))
}

fn conversion(g: &mut Gen, ty: &Ty, fuel: u32) -> Option<String> {
    let from = match ty.has_floats() && g.smooth {
        true => *g.rng.pick(&[Prim::F32, Prim::F64]),
        false => g.prim(),
    };
    let a = g.exp(&Ty::Prim(from), fuel);
    Some(format!("({ty}.{from} {a})"))
}

fn min_max(g: &mut Gen, ty: &Ty, fuel: u32) -> Option<String> {
    let [a, b] = g.exps([ty, ty], fuel);
    let f = *g.rng.pick(&["min", "max"]);
    Some(format!("({ty}.{f} {a} {b})"))
}

fn comparison(g: &mut Gen, _: &Ty, fuel: u32) -> Option<String> {
    let ty = Ty::Prim(g.prim());
    let [a, b] = g.exps([&ty, &ty], fuel);
    let op = *g.rng.pick(&["<", "<=", ">", ">=", "==", "!="]);
    Some(format!("({a} {op} {b})"))
}

/// Of values of any type: arrays, sums, tuples of them.
fn equality(g: &mut Gen, _: &Ty, fuel: u32) -> Option<String> {
    let ty = match g.some_array() {
        Some((_, elem)) if g.rng.chance(60) => array(elem),
        _ => g.ty(2),
    };
    let [a, b] = g.exps([&ty, &ty], fuel);
    let op = *g.rng.pick(&["==", "!="]);
    Some(format!("({a} {op} {b})"))
}

fn logic(g: &mut Gen, _: &Ty, fuel: u32) -> Option<String> {
    let [a, b] = g.exps([&BOOL, &BOOL], fuel);
    Some(match g.rng.below(3) {
        0 => format!("({a} && {b})"),
        1 => format!("({a} || {b})"),
        _ => format!("(!{a})"),
    })
}

fn length(g: &mut Gen, _: &Ty, fuel: u32) -> Option<String> {
    let (xs, _) = g.any_array(fuel);
    Some(format!("(length {xs})"))
}
