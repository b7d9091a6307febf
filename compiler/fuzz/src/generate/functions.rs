//! Functions: lambdas, functions as values, definitions and their calls, polymorphic ones.

use super::{Form, Fun, Gen};
use crate::types::{BOOL, I64, Ty, array};

fn any(_: &Ty) -> bool {
    true
}

fn is_array(ty: &Ty) -> bool {
    ty.elem().is_some()
}

pub(super) const FORMS: &[Form] = &[
    Form { name: "call", weight: 24, makes: any, make: call },
    Form { name: "call of a local function", weight: 5, makes: any, make: local },
    Form { name: "local polymorphic function", weight: 5, makes: any, make: local_polymorphic },
    Form { name: "apply twice", weight: 4, makes: any, make: twice },
    Form { name: "function in a record", weight: 3, makes: any, make: in_record },
    Form { name: "function result", weight: 3, makes: any, make: returned },
    Form { name: "on rows", weight: 7, makes: is_array, make: on_rows },
    Form { name: "pick", weight: 6, makes: any, make: pick },
    Form { name: "iterate", weight: 4, makes: any, make: iterate },
    Form { name: "consumed argument", weight: 4, makes: is_array, make: consumed },
];

/// Polymorphic functions that every program may use.
pub(super) const LIBRARY: &str = "\
def twice 'a (f: a -> a) (x: a) : a = f (f x)
def on_rows 'a 'b (f: []a -> b) (xss: [][]a) : []b = map f xss
def pick 'a (other: a) (i: i64) (xs: []a) : a = if i >= 0 && i < length xs then xs[i] else other
def padded [n] 'a (x: a) (k: i64) (xs: [n]a) : []a = xs ++ replicate (i64.max 0 (k - n)) x
def put [n] 'a (xs: *[n]a) (i: i64) (x: a) : *[n]a = if i >= 0 && i < n then xs with [i] = x else xs
def swapped [n] 'a (xs: *[n]a) : [n]a = loop xs for i < n / 2 do
  let x = copy xs[i] let y = copy xs[n - 1 - i] in (xs with [i] = y) with [n - 1 - i] = x
def rec_add (a: i64) (b: i64) : i64 = if (b & 7) == 0 then a + b else 1 + rec_add a (b - 1)";

impl Gen {
    pub(super) fn declare_library(&mut self) {
        self.decs.push(LIBRARY.into());
        let op = ["+++", "<+>"][self.rng.below(2)];
        self.decs.push(format!("def ({op}) 'a (xs: []a) (ys: []a) : []a = ys ++ xs"));
    }

    /// A definition that later ones may call, recursive or not.
    pub(super) fn declare_function(&mut self, size: u32) {
        if self.rng.chance(55) {
            return self.declare_recursive(size);
        }
        let name = format!("f{}", self.funs.len());
        let params: Vec<Ty> = (0..1 + self.rng.below(3)).map(|_| self.ty(2)).collect();
        let ret = self.ty(3);
        let text = self.function("def", &name, &params, &ret, |g| g.exp(&ret, size));
        self.decs.push(text);
        self.funs.push(Fun { name, params, ret, recursive: false });
    }

    /// `\(x: t) … -> e`.
    pub(super) fn lambda(&mut self, params: &[Ty], ret: &Ty, fuel: u32) -> String {
        let names: Vec<String> = params.iter().map(|_| self.name()).collect();
        let vars: Vec<(&str, &Ty)> = names.iter().map(String::as_str).zip(params).collect();
        let body = self.with(&vars, |g| g.exp(ret, fuel));
        let params: Vec<String> = names.iter().zip(params).map(|(n, t)| format!(" ({n}: {t})")).collect();
        format!("(\\{} -> {body})", params.concat().trim_start())
    }

    /// A function that is not written as a lambda: a section, a definition, a composition.
    pub(super) fn function_value(&mut self, params: &[Ty], ret: &Ty, fuel: u32) -> Option<String> {
        let fits = |f: &&Fun| f.ret == *ret && f.params.ends_with(params) && !f.recursive;
        if let Some(f) = self.funs.iter().find(fits).cloned() {
            let given = &f.params[..f.params.len() - params.len()];
            let args: Vec<String> = given.iter().map(|t| format!(" {}", self.leaf(t))).collect();
            return Some(format!("({}{})", f.name, args.concat()));
        }
        match params {
            [p] if p == ret && p.prim().is_some() && *p != BOOL => {
                let x = self.exp(p, fuel.min(3));
                Some(format!("({x} +)"))
            }
            [Ty::Tuple(ts)] if ts.contains(ret) => {
                ts.iter().position(|t| t == ret).map(|i| format!("(.{i})"))
            }
            [p] => {
                let middle = self.ty(1);
                let f = self.lambda(std::slice::from_ref(p), &middle, fuel / 2);
                let g = self.lambda(&[middle], ret, fuel / 2);
                Some(format!("({f} >-> {g})"))
            }
            _ => None,
        }
    }

    /// Arguments for a definition; the depth of recursion is bounded.
    pub(super) fn arguments(&mut self, f: &Fun, fuel: u32) -> String {
        let share = fuel / f.params.len() as u32;
        let mut text = String::new();
        for (i, ty) in f.params.iter().enumerate() {
            let arg = if i == 0 && f.recursive { self.small(3, share) } else { self.exp(ty, share) };
            text += &format!(" {arg}");
        }
        text
    }
}

fn call(g: &mut Gen, ty: &Ty, fuel: u32) -> Option<String> {
    let fits: Vec<Fun> = g.funs.iter().filter(|f| f.ret == *ty).cloned().collect();
    if fits.is_empty() {
        return None;
    }
    let f = g.rng.pick(&fits).clone();
    let args = g.arguments(&f, fuel);
    Some(format!("({}{args})", f.name))
}

fn local(g: &mut Gen, ty: &Ty, fuel: u32) -> Option<String> {
    let param = g.ty(2);
    let (a, b) = g.halves(fuel);
    let (f, x) = (g.name(), g.name());
    let body = g.with(&[(&x, &param)], |g| g.exp(ty, a));
    let fun = Fun { name: f.clone(), params: vec![param.clone()], ret: ty.clone(), recursive: false };
    g.funs.push(fun);
    let rest = g.exp(ty, b);
    g.funs.pop();
    let arg = g.leaf(&param);
    let used = if rest.contains(&f) { rest } else { format!("({f} {arg})") };
    Some(format!("(let {f} ({x}: {param}) : {ty} = {body} in {used})"))
}

fn local_polymorphic(g: &mut Gen, ty: &Ty, fuel: u32) -> Option<String> {
    let other = g.ty(1);
    let (f, x, y) = (g.name(), g.name(), g.name());
    let [a, b] = g.exps([ty, &other], fuel);
    Some(match ty {
        Ty::Array(elem) => {
            let n = g.small(3, 1);
            let v = g.leaf(elem);
            format!(
                "(let {f} 't ({x}: t) ({y}: i64) : []t = replicate {y} {x} in if length ({f} {b} {n}) > 1 then {f} {v} {n} else {a})"
            )
        }
        _ => format!("(let {f} 't 'u ({x}: t) ({y}: u) : (u, t) = ({y}, {x}) in (({f} {a} {b}).1))"),
    })
}

fn twice(g: &mut Gen, ty: &Ty, fuel: u32) -> Option<String> {
    let (a, b) = g.halves(fuel);
    let (f, x) = (g.lambda(std::slice::from_ref(ty), ty, a), g.exp(ty, b));
    Some(format!("(twice {f} {x})"))
}

fn in_record(g: &mut Gen, ty: &Ty, fuel: u32) -> Option<String> {
    let param = g.ty(2);
    let share = fuel / 3;
    let f = g.lambda(std::slice::from_ref(&param), ty, share);
    let h = g.lambda(std::slice::from_ref(ty), &param, share);
    let x = g.exp(&param, share);
    let r = g.name();
    Some(if g.rng.chance(50) {
        format!("(let {r} = {{f = {f}, h = {h}}} in {r}.f ({r}.h ({r}.f {x})))")
    } else {
        format!("(let {r} = ({h}, {f}) in {r}.1 {x})")
    })
}

/// A function that a function returns.
fn returned(g: &mut Gen, ty: &Ty, fuel: u32) -> Option<String> {
    let (p, q) = (g.ty(1), g.ty(1));
    let share = fuel / 3;
    let (f, x, y) = (g.name(), g.name(), g.name());
    let body = g.with(&[(&x, &p), (&y, &q)], |g| g.exp(ty, share));
    let [a, b] = g.exps([&p, &q], share);
    Some(format!("(let {f} ({x}: {p}) = \\({y}: {q}) -> {body} in {f} {a} {b})"))
}

fn on_rows(g: &mut Gen, ty: &Ty, fuel: u32) -> Option<String> {
    if !g.can_nest() {
        return None;
    }
    let ret = ty.elem()?.clone();
    let (a, b) = g.halves(fuel);
    let elem = g.ty(1);
    let row = array(elem);
    let xss = g.exp(&array(row.clone()), a);
    let f = g.under(&[], |g| g.lambda(std::slice::from_ref(&row), &ret, b));
    Some(format!("(on_rows {f} {xss})"))
}

fn pick(g: &mut Gen, ty: &Ty, fuel: u32) -> Option<String> {
    let [other, i, xs] = g.exps([ty, &I64, &array(ty.clone())], fuel);
    Some(format!("(pick {other} {i} {xs})"))
}

fn iterate(g: &mut Gen, ty: &Ty, fuel: u32) -> Option<String> {
    let (a, b) = g.halves(fuel);
    let f = g.lambda(std::slice::from_ref(ty), ty, a);
    let x = g.exp(ty, b);
    let n = g.small(3, 1);
    Some(format!("(iterate (i32.i64 {n}) {f} {x})"))
}

/// A function whose parameter is consumed.
fn consumed(g: &mut Gen, ty: &Ty, fuel: u32) -> Option<String> {
    let elem = ty.elem()?.clone();
    let [xs, i, x] = g.exps([ty, &I64, &elem], fuel);
    Some(match g.rng.below(3) {
        0 => format!("(put (copy {xs}) ({i} & 3) {x})"),
        1 if elem.rank() == 0 => format!("(swapped (copy {xs}))"),
        _ => format!("(padded {x} ({i} & 7) {xs})"),
    })
}
