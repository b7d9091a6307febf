//! Derivatives. The direction is the argument or the result itself, so that it has the sizes that are needed.
//!
//! An entry `law` says whether the derivative forward and the sweep backward agree: `<J x, y> = <x, Jᵀ y>` for `y = f x`.

use super::{Form, Fun, Gen};
use crate::case::{Call, LAW};
use crate::inputs;
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

/// The entry that checks a function's two derivatives against each other, with its calls: true if they agree, and true if
/// they are not zero, so that the first says something.
pub(super) fn law(g: &mut Gen, size: u32) -> Vec<Call> {
    let (argument, result) = (floats(g), floats(g));
    let x = g.name();
    let outer = std::mem::replace(&mut g.scope, vec![(x.clone(), argument.clone())]);
    let smooth = std::mem::replace(&mut g.smooth, true);
    let body = steps(g, &result, size);
    (g.scope, g.smooth) = (outer, smooth);
    let [forward, backward] = [("y", "dy", &result), ("a", "da", &argument)]
        .map(|(a, b, ty)| (dot(ty, a, b, false), dot(ty, a, b, true)));
    // Sums of the same size as the values cancel to what `f32` rounds, and of numbers far apart one is lost beside the other.
    let size = dot(&result, "y", "y", true);
    g.decs.push(format!(
        "def lawful ({x}: {argument}) : {result} =\n  {body}\n\
         entry {LAW} (a: {argument}) : (bool, bool) =\n  \
         let (y, dy) = jvp2 lawful a a\n  \
         let da = vjp lawful a y\n  \
         let (l, r, scale) = ({}, {}, {} + {})\n  \
         let told = !(f64.isnan (l - r) || f64.isnan scale || scale > 1e60)\n  \
         let least = 1e-4 + 1e-5 * {size}\n  \
         in (!told || scale <= least || f64.abs (l - r) <= 1e-3 * scale, told && scale > least)",
        forward.0, backward.0, forward.1, backward.1
    ));
    let rng = &mut g.rng;
    inputs::profiles()
        .map(|p| Call {
            entry: LAW.into(),
            args: inputs::finite_arguments(rng, std::slice::from_ref(&argument), p),
        })
        .collect()
}

/// A body in steps, each of which has those before in scope.
fn steps(g: &mut Gen, result: &Ty, size: u32) -> String {
    let mut text = String::new();
    let count = g.rng.below(3);
    for _ in 0..count {
        let recursive = g.funs.iter().filter(|f| f.recursive && f.ret.has_floats());
        let recursive: Vec<Fun> = recursive.cloned().collect();
        let (ty, value) = if !recursive.is_empty() && g.rng.chance(60) {
            let f = g.rng.pick(&recursive).clone();
            (f.ret.clone(), format!("{}{}", f.name, g.arguments(&f, size / 3)))
        } else {
            let ty = floats(g);
            (ty.clone(), g.exp(&ty, size / 3))
        };
        let name = g.name();
        text += &format!("let {name} = {value} in\n  ");
        g.scope.push((name, ty));
    }
    text + &g.exp(result, size)
}

impl Gen {
    /// A value of a type of floats made of one in scope, so that it changes with it.
    pub(super) fn of_floats_in_scope(&mut self, ty: &Ty) -> Option<String> {
        let found: Vec<(String, Ty)> =
            self.scope.iter().filter(|(_, t)| innermost(t).is_some_and(Ty::is_float)).cloned().collect();
        if found.is_empty() || !innermost(ty)?.is_float() {
            return None;
        }
        let (name, from) = self.rng.pick(&found).clone();
        Some(self.made_of(&name, &from, ty))
    }

    /// Converts, sums what has too many dimensions, and repeats what has too few.
    fn made_of(&mut self, value: &str, from: &Ty, ty: &Ty) -> String {
        let x = self.name();
        match (from, ty) {
            (Ty::Array(a), Ty::Array(b)) => {
                format!("(map (\\({x}: {a}) -> {}) {value})", self.made_of(&x, a, b))
            }
            (Ty::Array(a), Ty::Prim(p)) => {
                format!("({p}.sum (map (\\({x}: {a}) -> {}) {value}))", self.made_of(&x, a, ty))
            }
            (_, Ty::Array(b)) => {
                let elem = self.made_of(value, from, b);
                let n = self.rng.below(4);
                format!("(replicate {n} {elem})")
            }
            (a, b) if a == b => value.into(),
            (a, b) => format!("({b}.{a} {value})"),
        }
    }
}

/// The type of the scalars of an array of any depth.
fn innermost(ty: &Ty) -> Option<&Ty> {
    match ty {
        Ty::Array(elem) => innermost(elem),
        Ty::Prim(_) => Some(ty),
        _ => None,
    }
}

/// The sum of products of two values, or of their absolute values, as an `f64`.
fn dot(ty: &Ty, a: &str, b: &str, absolute: bool) -> String {
    match ty {
        Ty::Array(elem) => {
            let inner = dot(elem, "p", "q", absolute);
            format!("(f64.sum (map2 (\\(p: {elem}) (q: {elem}) -> {inner}) {a} {b}))")
        }
        Ty::Prim(p) if absolute => format!("f64.abs (f64.{p} {a} * f64.{p} {b})"),
        Ty::Prim(p) => format!("(f64.{p} {a} * f64.{p} {b})"),
        _ => "0".into(),
    }
}
