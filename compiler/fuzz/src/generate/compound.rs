//! Tuples, records and sums.

use super::{Form, Gen};
use crate::types::Ty;

pub(super) const FORMS: &[Form] = &[
    Form { name: "tuple", weight: 30, makes: |t| matches!(t, Ty::Tuple(_)), make: tuple },
    Form { name: "record", weight: 30, makes: |t| matches!(t, Ty::Record(_)), make: record },
    Form { name: "record update", weight: 8, makes: |t| matches!(t, Ty::Record(_)), make: record_update },
    Form { name: "constructor", weight: 30, makes: |t| matches!(t, Ty::Sum(..)), make: constructor },
    Form { name: "component", weight: 4, makes: |_| true, make: component },
];

fn parts(g: &mut Gen, tys: &[Ty], fuel: u32) -> Vec<String> {
    let share = fuel / tys.len().max(1) as u32;
    tys.iter().map(|t| g.exp(t, share)).collect()
}

fn tuple(g: &mut Gen, ty: &Ty, fuel: u32) -> Option<String> {
    let Ty::Tuple(ts) = ty else { return None };
    Some(format!("({})", parts(g, ts, fuel).join(", ")))
}

fn record(g: &mut Gen, ty: &Ty, fuel: u32) -> Option<String> {
    let Ty::Record(fs) = ty else { return None };
    let tys: Vec<Ty> = fs.iter().map(|f| f.1.clone()).collect();
    let values = parts(g, &tys, fuel);
    let fields: Vec<String> = fs.iter().zip(values).map(|(f, v)| format!("{} = {v}", f.0)).collect();
    Some(format!("{{{}}}", fields.join(", ")))
}

fn record_update(g: &mut Gen, ty: &Ty, fuel: u32) -> Option<String> {
    let Ty::Record(fs) = ty else { return None };
    let (name, field) = g.rng.pick(fs).clone();
    let [record, value] = g.exps([ty, &field], fuel);
    let x = g.name();
    Some(format!("(let {x} = {record} in {x} with {name} = {value})"))
}

fn constructor(g: &mut Gen, ty: &Ty, fuel: u32) -> Option<String> {
    let Ty::Sum(n, constructors) = ty else { return None };
    let (name, payload) = g.rng.pick(constructors).clone();
    let payload: Vec<String> = parts(g, &payload, fuel).iter().map(|p| format!(" {p}")).collect();
    Some(format!("((#{name}{}) : s{n})", payload.concat()))
}

/// A component of a tuple that is made for it.
fn component(g: &mut Gen, ty: &Ty, fuel: u32) -> Option<String> {
    let other = g.ty(2);
    let (tuple, at) = if g.rng.chance(50) {
        (Ty::Tuple(vec![ty.clone(), other]), 0)
    } else {
        (Ty::Tuple(vec![other, ty.clone()]), 1)
    };
    let value = g.exp(&tuple, fuel);
    let x = g.name();
    Some(if g.rng.chance(50) {
        format!("(let {x} = {value} in {x}.{at})")
    } else {
        let pattern = if at == 0 { format!("({x}, _)") } else { format!("(_, {x})") };
        format!("(let {pattern} = {value} in {x})")
    })
}
