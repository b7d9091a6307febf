//! Derivatives. The direction is the argument or the result itself, so that it has the sizes that are needed.

use super::{Form, Gen};
use crate::types::Ty;
use par_runtime::Prim;

pub(super) const FORMS: &[Form] = &[
    Form { name: "jvp", weight: 8, makes: |_| true, make: forward },
    Form { name: "vjp", weight: 4, makes: Ty::has_floats, make: reverse },
];

/// A float, a list or rows of them.
fn floats(g: &mut Gen) -> Ty {
    let scalar = Ty::Prim(*g.rng.pick(&[Prim::F32, Prim::F64]));
    let depth = g.rng.below(3);
    (0..depth).fold(scalar, |t, _| Ty::Array(Box::new(t)))
}

fn forward(g: &mut Gen, ty: &Ty, fuel: u32) -> Option<String> {
    if !g.can_nest() {
        return None;
    }
    let argument = floats(g);
    let (a, x) = (g.name(), g.name());
    let value = g.exp(&argument, fuel / 2);
    let body = g.with(&[(&x, &argument)], |g| g.exp(ty, fuel / 2));
    let f = format!("(\\({x}: {argument}) : {ty} -> {body})");
    Some(if g.rng.chance(70) {
        format!("(let {a} = {value} in jvp {f} {a} {a})")
    } else {
        format!("(let {a} = {value} in (jvp2 {f} {a} {a}).1)")
    })
}

fn reverse(g: &mut Gen, ty: &Ty, fuel: u32) -> Option<String> {
    if !g.can_nest() {
        return None;
    }
    let result = floats(g);
    let (f, a, x) = (g.name(), g.name(), g.name());
    let value = g.exp(ty, fuel / 2);
    let body = g.with(&[(&x, ty)], |g| g.exp(&result, fuel / 2));
    Some(format!("(let {f} ({x}: {ty}) : {result} = {body} let {a} = {value} in vjp {f} {a} ({f} {a}))"))
}
