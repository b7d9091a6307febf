//! Scope, and the smallest expressions of each type.

use super::Gen;
use crate::types::{I64, Ty, array};
use par_runtime::Prim;

impl Gen {
    /// A variable of the type, or a component of one; mostly one that was bound lately.
    pub(super) fn variable(&mut self, ty: &Ty) -> Option<String> {
        let mut found = Vec::new();
        for (name, t) in &self.scope {
            components(name.clone(), t, 2, &mut |path, t| {
                if t == ty {
                    found.push(path);
                }
            });
        }
        let recent = found.len().saturating_sub(4);
        let from = if self.rng.chance(70) { recent } else { 0 };
        if found.is_empty() { None } else { Some(self.rng.pick(&found[from..]).clone()) }
    }

    /// The smallest expression of a type: a variable, if there is one, else a literal.
    pub(super) fn leaf(&mut self, ty: &Ty) -> String {
        if self.rng.chance(85)
            && let Some(text) = self.variable(ty)
        {
            return text;
        }
        if self.smooth
            && let Some(text) = self.of_floats_in_scope(ty)
        {
            return text;
        }
        if *ty == I64
            && self.rng.chance(40)
            && let Some(xs) = self.some_array()
        {
            return format!("(length {})", xs.0);
        }
        if let Ty::Array(elem) = ty {
            return self.short_array(ty, elem);
        }
        self.literal(ty)
    }

    fn short_array(&mut self, ty: &Ty, elem: &Ty) -> String {
        match self.rng.below(3) {
            0 if *elem == I64 => format!("(iota {})", self.rng.below(4)),
            0 => self.literal(ty),
            _ => {
                let elems: Vec<String> = (0..1 + self.rng.below(3)).map(|_| self.leaf(elem)).collect();
                format!("[{}]", elems.join(", "))
            }
        }
    }

    /// A constant.
    pub(super) fn literal(&mut self, ty: &Ty) -> String {
        match ty {
            Ty::Prim(p) => self.number(*p),
            Ty::Tuple(ts) => {
                let ts: Vec<String> = ts.iter().map(|t| self.literal(t)).collect();
                format!("({})", ts.join(", "))
            }
            Ty::Record(fs) => {
                let fs: Vec<String> = fs.iter().map(|(n, t)| format!("{n} = {}", self.literal(t))).collect();
                format!("{{{}}}", fs.join(", "))
            }
            Ty::Sum(n, constructors) => {
                let (name, payload) = &constructors[self.rng.below(constructors.len())];
                let payload: Vec<String> = payload.iter().map(|t| format!(" {}", self.literal(t))).collect();
                format!("((#{name}{}) : s{n})", payload.concat())
            }
            Ty::Array(_) => format!("([] : {ty})"),
        }
    }

    /// A number with its type: mostly a small one.
    pub(super) fn number(&mut self, p: Prim) -> String {
        if p == Prim::Bool {
            return self.rng.chance(50).to_string();
        }
        if p.is_float() {
            return self.float(p);
        }
        if self.rng.chance(6) {
            return format!("{p}.{}", if self.rng.chance(50) { "highest" } else { "lowest" });
        }
        let x = self.rng.between(if p.is_signed() { -4 } else { 0 }, 9);
        if x < 0 { format!("({x}{p})") } else { format!("{x}{p}") }
    }

    fn float(&mut self, p: Prim) -> String {
        match self.rng.below(20) {
            0..3 if self.smooth => format!("1.0{p}"),
            0 => format!("{p}.inf"),
            1 => format!("{p}.nan"),
            2 => format!("(-0.0{p})"),
            _ => {
                let x = self.rng.between(-20, 40) as f64 / 4.0;
                if x < 0.0 { format!("({x:?}{p})") } else { format!("{x:?}{p}") }
            }
        }
    }

    /// An array in scope, with the type of its elements.
    pub(super) fn some_array(&mut self) -> Option<(String, Ty)> {
        let mut found = Vec::new();
        for (name, t) in &self.scope {
            components(name.clone(), t, 2, &mut |path, t| {
                if let Ty::Array(elem) = t {
                    found.push((path, (**elem).clone()));
                }
            });
        }
        if self.smooth && found.iter().any(|(_, elem)| elem.has_floats()) {
            found.retain(|(_, elem)| elem.has_floats());
        }
        let recent = if self.rng.chance(60) { found.len().saturating_sub(4) } else { 0 };
        if found.is_empty() { None } else { Some(self.rng.pick(&found[recent..]).clone()) }
    }

    /// Some array to work on, with the type of its elements.
    pub(super) fn any_array(&mut self, fuel: u32) -> (String, Ty) {
        if self.rng.chance(if fuel > 3 { 55 } else { 90 })
            && let Some(found) = self.some_array()
        {
            return found;
        }
        let elem = if !self.smooth && self.rng.chance(35) { I64 } else { self.ty(2) };
        (self.exp(&array(elem.clone()), fuel.min(8)), elem)
    }
}

/// The value and what can be reached in it by names of fields.
fn components(path: String, ty: &Ty, depth: u32, visit: &mut impl FnMut(String, &Ty)) {
    if depth > 0 {
        match ty {
            Ty::Tuple(ts) => {
                ts.iter()
                    .enumerate()
                    .for_each(|(i, t)| components(format!("{path}.{i}"), t, depth - 1, visit));
            }
            Ty::Record(fs) => {
                fs.iter().for_each(|(n, t)| components(format!("{path}.{n}"), t, depth - 1, visit));
            }
            _ => {}
        }
    }
    visit(path, ty);
}
