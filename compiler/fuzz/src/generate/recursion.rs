//! Recursive definitions and local functions. The first parameter counts down, or an array becomes shorter, so that they end; they call
//! themselves at most twice, or for at most two elements.

use super::{Form, Fun, Gen};
use crate::types::{BOOL, I64, Ty, array};
use par_runtime::Prim;

pub(super) const FORMS: &[Form] = &[
    Form { name: "recursive call", weight: 40, makes: |_| true, make: call },
    Form { name: "local recursion", weight: 5, makes: |_| true, make: local },
];

fn call(g: &mut Gen, ty: &Ty, fuel: u32) -> Option<String> {
    let fits: Vec<Fun> = g.funs.iter().filter(|f| f.ret == *ty && f.recursive).cloned().collect();
    if fits.is_empty() {
        return None;
    }
    let f = g.rng.pick(&fits).clone();
    let args = g.arguments(&f, fuel);
    Some(format!("({}{args})", f.name))
}

/// A local function that calls itself, and may mention everything that is in scope around it.
fn local(g: &mut Gen, ty: &Ty, fuel: u32) -> Option<String> {
    let param = g.ty(2);
    let share = fuel / 5;
    let (f, k, x, r, s) = (g.name(), g.name(), g.name(), g.name(), g.name());
    let (count, start) = (g.small(3, 1), g.exp(&param, share));
    let body = g.with(&[(&k, &I64), (&x, &param)], |g| {
        let (base, arg) = (g.exp(ty, share), g.exp(&param, share));
        let first = format!("let {r} = {f} ({k} - 1) {arg}");
        if g.rng.chance(70) {
            let rest = g.with(&[(&r, ty)], |g| g.exp(ty, share));
            return format!("if {k} <= 0 then {base} else {first} in {rest}");
        }
        let rest = g.with(&[(&r, ty), (&s, ty)], |g| g.exp(ty, share));
        format!("if {k} <= 0 then {base} else {first} let {s} = {f} ({k} - 1) {x} in {rest}")
    });
    Some(format!("(let {f} ({k}: i64) ({x}: {param}) : {ty} = {body} in {f} {count} {start})"))
}

impl Gen {
    pub(super) fn declare_recursive(&mut self, size: u32) {
        let name = format!("r{}", self.funs.len());
        match self.rng.below(13) {
            0 | 1 => self.counting(&name, size),
            2 => self.mutual(&name, size),
            3 | 4 => self.ending(&name, size),
            5 => self.mapping(&name, size),
            6 => self.halving(&name, size),
            7 => self.looping(&name, size),
            8 => self.reading(&name, size),
            9 => self.walking(&name, size),
            10 => self.marking(&name, size),
            11 => self.trying(&name, size),
            _ => self.sorting(&name, size),
        }
    }

    fn declare(&mut self, name: &str, params: Vec<Ty>, ret: Ty, recursive: bool, text: String) {
        self.decs.push(text);
        self.funs.push(Fun { name: name.into(), params, ret, recursive });
    }

    fn parameters(&mut self) -> Vec<Ty> {
        let mut params = vec![I64];
        params.extend((0..1 + self.rng.below(2)).map(|_| self.ty(2)));
        params
    }

    /// The names of the parameters, which are what is in scope of a new definition.
    fn names(&self) -> Vec<String> {
        self.scope.iter().map(|v| v.0.clone()).collect()
    }

    /// A call one step down with new arguments.
    fn step(&mut self, name: &str, fuel: u32) -> String {
        let params: Vec<(String, Ty)> = self.scope.clone();
        let count = &params[0].0;
        let mut text = format!("({name} ({count} - 1)");
        for (x, ty) in &params[1..] {
            let arg = match ty {
                _ if self.rng.chance(30) => x.clone(),
                Ty::Array(_) if self.rng.chance(40) => format!("{x}[i64.min 1 (length {x}):]"),
                _ => self.exp(ty, fuel),
            };
            text += &format!(" {arg}");
        }
        text + ")"
    }

    /// Calls of itself at the end, with one or two ends.
    fn ending(&mut self, name: &str, size: u32) {
        let (params, ret) = (self.parameters(), self.ty(2));
        let share = size / 5;
        let text = self.function("def", name, &params, &ret, |g| {
            let names = g.names();
            let (base, next) = (g.exp(&ret, share), g.step(name, share));
            let rest = match g.rng.below(3) {
                0 => next,
                1 => format!("if {} then {next} else {}", g.condition(2), g.step(name, share)),
                _ => format!("if {} then {next} else {}", g.condition(2), g.exp(&ret, share)),
            };
            format!("if {} <= 0 then {base} else {rest}", names[0])
        });
        self.declare(name, params, ret, true, text);
    }

    /// One or two calls of itself.
    fn counting(&mut self, name: &str, size: u32) {
        let (params, ret) = (self.parameters(), self.ty(2));
        let share = size / 4;
        let text = self.function("def", name, &params, &ret, |g| {
            let names = g.names();
            let (base, r) = (g.exp(&ret, share), g.name());
            let first = g.step(name, share / 2);
            if g.rng.chance(50) {
                let rest = g.with(&[(&r, &ret)], |g| g.exp(&ret, share));
                return format!("if {} <= 0 then {base} else let {r} = {first} in {rest}", names[0]);
            }
            let (second, s) = (g.step(name, share / 2), g.name());
            let cond = g.condition(1);
            let rest = g.with(&[(&r, &ret), (&s, &ret)], |g| g.exp(&ret, share));
            let calls = format!("let {r} = {first} let {s} = {second} in {rest}");
            let other = g.exp(&ret, share / 2);
            format!("if {} <= 0 then {base} else if {cond} then {calls} else {other}", names[0])
        });
        self.declare(name, params, ret, true, text);
    }

    /// Two functions that call each other, at their ends or not.
    fn mutual(&mut self, name: &str, size: u32) {
        let (params, ret) = (self.parameters(), self.ty(2));
        let other = format!("{name}_other");
        let share = size / 4;
        for (this, that) in [(name, other.as_str()), (&other, name)] {
            let text = self.function("def", this, &params, &ret, |g| {
                let names = g.names();
                let (base, r) = (g.exp(&ret, share), g.name());
                let first = g.step(that, share / 2);
                if g.rng.chance(40) {
                    return format!("if {} <= 0 then {base} else {first}", names[0]);
                }
                let rest = g.with(&[(&r, &ret)], |g| g.exp(&ret, share));
                format!("if {} <= 0 then {base} else let {r} = {first} in {rest}", names[0])
            });
            self.decs.push(text);
        }
        self.funs.push(Fun { name: name.into(), params, ret, recursive: true });
    }

    /// Calls itself for the elements of an array.
    fn mapping(&mut self, name: &str, size: u32) {
        let (params, ret) = (self.parameters(), self.ty(2));
        let share = size / 4;
        let text = self.function("def", name, &params, &ret, |g| {
            let names = g.names();
            let base = g.exp(&ret, share);
            let (xs, elem) = g.any_array(share);
            let (x, y, rs) = (g.name(), g.name(), g.name());
            let inner = g.scope.len();
            g.scope.push((x.clone(), elem.clone()));
            let args: Vec<String> = params[1..]
                .iter()
                .zip(&names[1..])
                .map(|(t, n)| if g.rng.chance(30) { n.clone() } else { g.exp(t, share / 2) })
                .collect();
            g.scope.truncate(inner);
            let results = array(ret.clone());
            let rest = g.with(&[(&rs, &results)], |g| g.exp(&ret, share));
            let f = format!("(\\({x}: {elem}) -> {name} ({} - 1) {})", names[0], args.join(" "));
            let calls = format!("let {y} = {xs} let {rs} = map {f} {y}[:i64.min 2 (length {y})] in {rest}");
            format!("if {} <= 0 then {base} else {calls}", names[0])
        });
        self.declare(name, params, ret, true, text);
    }

    /// Calls itself in a loop.
    fn looping(&mut self, name: &str, size: u32) {
        let (params, ret) = (self.parameters(), self.ty(2));
        let share = size / 4;
        let text = self.function("def", name, &params, &ret, |g| {
            let names = g.names();
            let [base, first] = g.exps([&ret, &ret], share);
            let (s, j, r) = (g.name(), g.name(), g.name());
            let next = g.with(&[(&s, &ret), (&j, &I64)], |g| {
                let args = params[1..].iter().zip(&names[1..]);
                let args = args.map(|(t, n)| if g.rng.chance(30) { n.clone() } else { g.exp(t, share / 2) });
                let call = format!("{name} ({} - 1) {}", names[0], args.collect::<Vec<_>>().join(" "));
                let rest = g.with(&[(&r, &ret)], |g| g.exp(&ret, share));
                format!("let {r} = {call} in {rest}")
            });
            let repeated = if g.rng.chance(60) {
                format!("loop {s} = {first} for {j} < {} do {next}", g.rng.below(3))
            } else {
                let cond = g.with(&[(&s, &ret), (&j, &I64)], |g| g.condition(1));
                format!("(loop ({s}, {j}) = ({first}, 0) while {j} < 2 && {cond} do ({next}, {j} + 1)).0")
            };
            format!("if {} <= 0 then {base} else {repeated}", names[0])
        });
        self.declare(name, params, ret, true, text);
    }

    /// Passes on an array whose elements are read by number.
    fn reading(&mut self, name: &str, size: u32) {
        let prim = *self.rng.pick(&[Prim::F32, Prim::F64]);
        let ret = Ty::Prim(prim);
        let (params, share) = (vec![I64, array(ret.clone()), I64], size / 4);
        let text = self.function("def", name, &params, &ret, |g| {
            let names = g.names();
            let [k, xs, i] = &names[..] else { unreachable!("three parameters") };
            // Nothing else reads the array.
            g.scope.remove(1);
            let (v, r, s, j) = (g.name(), g.name(), g.name(), g.name());
            let base = g.with(&[(&v, &ret)], |g| g.exp(&ret, share));
            let [at, other] = g.exps([&I64, &I64], share / 2);
            let calls = match g.rng.below(3) {
                0 => format!("let {r} = {name} ({k} - 1) {xs} {at} let {s} = {name} ({k} - 2) {xs} {other}"),
                1 => format!(
                    "let {r} = {prim}.sum (map (\\{j} -> {name} ({k} - 1) {xs} ({at} + {j})) (iota 2)) let {s} = {r}"
                ),
                _ => format!(
                    "let {r} = loop {s} = {v} for {j} < 2 do {s} * {name} ({k} - 1) {xs}[i64.min 1 (length {xs}):] ({other} + {j}) let {s} = {r}"
                ),
            };
            let all = [(&*v, &ret), (&r, &ret), (&s, &ret)];
            let rest = g.with(&all, |g| g.exp(&ret, share));
            format!("let {v} = pick 1 ({i} & 7) {xs} in if {k} <= 0 then {base} else {calls} in {rest}")
        });
        self.declare(name, params, ret, true, text);
    }

    /// Goes from an element to those that a row lists, and passes the rows on.
    fn walking(&mut self, name: &str, size: u32) {
        let prim = *self.rng.pick(&[Prim::I64, Prim::I32, Prim::F64]);
        let ret = Ty::Prim(prim);
        let (params, share) = (vec![I64, array(array(I64)), I64], size / 4);
        let text = self.function("def", name, &params, &ret, |g| {
            let names = g.names();
            let [k, rows, v] = &names[..] else { unreachable!("three parameters") };
            let (row, u, r) = (g.name(), g.name(), g.name());
            let base = g.exp(&ret, share);
            let passed = match g.rng.below(4) {
                0 => format!("{rows}[i64.min 1 (length {rows}):]"),
                _ => rows.clone(),
            };
            let call = format!("{name} ({k} - 1) {passed} {u}");
            let over = match g.rng.below(3) {
                0 => format!("{prim}.maximum (map (\\{u} -> {call}) {row})"),
                1 => format!("{prim}.sum (map (\\{u} -> let {r} = {call} in {r} + {r}) {row}[:i64.min 2 (length {row})])"),
                _ => format!("loop {r} = {base} for {u} in {row} do {r} - {call}"),
            };
            let rest = g.with(&[(&r, &ret)], |g| g.exp(&ret, share));
            let calls = format!("let {row} = {rows}[{v} % length {rows}] let {r} = {over} in {rest}");
            format!("if {k} <= 0 || null {rows} then {base} else {calls}")
        });
        self.declare(name, params, ret, true, text);
    }

    /// Updates an array and gives it back.
    fn marking(&mut self, name: &str, size: u32) {
        let prim = Ty::Prim(*self.rng.pick(&[Prim::I64, Prim::I32, Prim::F64]));
        let (params, ret) = (vec![I64, array(prim.clone()), I64], array(prim.clone()));
        let text = self.function("def", name, &params, &ret, |g| {
            let names = g.names();
            let [k, a, i] = &names[..] else { unreachable!("three parameters") };
            let (b, u, x) = (g.name(), g.name(), g.exp(&prim, size / 4));
            let call = format!("{name} ({k} - 1) {b} ({i} + {u})");
            let calls = match g.rng.below(4) {
                0 => format!("loop {b} for {u} < 2 do {call}"),
                1 => format!("loop {b} for {u} < 2 do if {b}[{u} % length {b}] == {x} then {b} else {call}"),
                2 => format!("let {b} = {name} ({k} - 1) {b} {i} in {name} ({k} - 1) {b} ({i} + 1)"),
                _ => format!("let {u} = {k} let {b} = {call} in {b} with [0] = {b}[{k} % length {b}] + {x}"),
            };
            format!(
                "if {k} <= 0 || null {a} then {a} else let {b} = {a} with [{i} % length {a}] = {x} in {calls}"
            )
        });
        self.declare(name, params, ret, true, text);
    }

    /// Updates an array for its calls, and uses what it was before again.
    fn trying(&mut self, name: &str, size: u32) {
        let (prim, ret) =
            (Ty::Prim(*self.rng.pick(&[Prim::I64, Prim::F64])), self.rng.pick(&[I64, BOOL]).clone());
        let params = vec![I64, array(prim.clone()), I64];
        let text = self.function("def", name, &params, &ret, |g| {
            let names = g.names();
            let [k, a, i] = &names[..] else { unreachable!("three parameters") };
            let (b, r, s, base, x) = (g.name(), g.name(), g.name(), g.exp(&ret, size / 4), g.exp(&prim, size / 6));
            let next = match g.rng.below(3) {
                0 => format!("{a} with [{i} % length {a}] = {x}"),
                1 => format!("{a} with [{i} % length {a}] = {a}[0] with [0] = {a}[{i} % length {a}]"),
                _ => format!("if {i} % 2 == 0 then {a} else {a} with [0] = {x}"),
            };
            let second = match g.rng.below(3) {
                0 => format!("{name} ({k} - 1) {a} ({i} + 1)"),
                1 => format!("{name} ({k} - 1) {b} ({i} + 1)"),
                _ => format!("loop {s} = {r} for {r} < 2 do if {a}[0] == {x} then {s} else {name} ({k} - 1) ({a} with [0] = {x}) {r}"),
            };
            let rest = g.with(&[(&r, &ret), (&s, &ret)], |g| g.exp(&ret, size / 4));
            let calls = format!("let {b} = {next} let {r} = {name} ({k} - 1) {b} {i} let {s} = {second} in {rest}");
            format!("if {k} <= 0 || null {a} then {base} else {calls}")
        });
        self.declare(name, params, ret, true, text);
    }

    /// Divide and conquer on an array.
    fn halving(&mut self, name: &str, size: u32) {
        let elem = self.ty(1);
        let (params, ret) = (vec![array(elem)], self.ty(2));
        let share = size / 3;
        let text = self.function("def", name, &params, &ret, |g| {
            let xs = g.names().remove(0);
            let (base, a, b) = (g.exp(&ret, share), g.name(), g.name());
            let rest = g.with(&[(&a, &ret), (&b, &ret)], |g| g.exp(&ret, share));
            let h = format!("length {xs} / 2");
            let calls = format!("let {a} = {name} {xs}[:{h}] let {b} = {name} {xs}[{h}:] in {rest}");
            format!("if length {xs} < 2 then {base} else {calls}")
        });
        self.declare(name, params, ret, false, text);
    }

    /// Around a pivot, both parts in one map.
    fn sorting(&mut self, name: &str, size: u32) {
        let elem = self.ty(1);
        let row = array(elem.clone());
        let (params, ret) = (vec![row.clone()], row.clone());
        let share = size / 3;
        let text = self.function("def", name, &params, &ret, |g| {
            let xs = g.names().remove(0);
            let (p, x, ps) = (g.name(), g.name(), g.name());
            let less = g.with(&[(&x, &elem)], |g| g.exp(&BOOL, share));
            let parts = format!("[filter {p} (tail {xs}), filter (\\{x} -> !({p} {x})) (tail {xs})]");
            let body = format!("let {ps} = map {name} {parts} in {ps}[0] ++ [{xs}[0]] ++ {ps}[1]");
            format!("if null {xs} then {xs} else let {p} ({x}: {elem}) : bool = {less} in {body}")
        });
        self.declare(name, params, ret, false, text);
    }
}
