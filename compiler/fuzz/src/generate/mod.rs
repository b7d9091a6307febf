//! Well-typed programs that end.
//!
//! An expression of a wanted type is made by one of the **forms** that can make it (`Form`, in tables by construct),
//! which ask for the parts they need in turn, with less fuel. Everything is written with types and parentheses, so
//! that no form has to know where its text will stand. Programs are correct by construction: indices are brought into
//! range, rows to one length, divisors are not zero, except where a program may fail (`risk`).
//! Operators of reductions are associative and values of floats in them are small integers, so that the result does not
//! depend on an order that the language leaves open; but for some programs, where it may (`rounding`).
//!
//! Every program uses some forms much more than others (`weights`), which gives more different programs than one
//! distribution for all.

mod accumulators;
mod appending;
mod arrays;
mod compound;
mod context;
mod control;
mod derivatives;
mod functions;
mod library;
mod operators;
mod positions;
mod recursion;
mod reduce;
mod rounding;
mod rows;
mod scalars;
mod scope;
mod shape;
mod shrinking;
mod tiny;
mod update;

use crate::case::{Call, Case};
use crate::inputs;
use crate::rng::Rng;
use crate::types::{BOOL, I64, Ty, array, declaration};
use par_runtime::Prim;
use std::collections::BTreeMap;

/// A way to make an expression of some types.
struct Form {
    name: &'static str,
    weight: u32,
    /// True if it can make this type.
    makes: fn(&Ty) -> bool,
    /// The expression, in parentheses where needed. Nothing if the scope lacks what is needed.
    make: fn(&mut Gen, &Ty, u32) -> Option<String>,
}

/// A function that expressions may call.
#[derive(Clone)]
struct Fun {
    name: String,
    params: Vec<Ty>,
    ret: Ty,
    /// The first parameter bounds the depth of its recursion.
    recursive: bool,
}

/// Nests deeper than this are not made.
const DEEPEST: u32 = 5;

/// The maker of one program.
pub struct Gen {
    rng: Rng,
    /// Variables in scope with their types.
    scope: Vec<(String, Ty)>,
    funs: Vec<Fun>,
    sums: Vec<Ty>,
    decs: Vec<String>,
    fresh: u32,
    weights: Vec<u32>,
    /// In how many of 1,000 places something is written that may fail.
    risk: u32,
    /// Number of maps around.
    nest: u32,
    /// True where results are to change with floats in scope: no rounding, no infinities, floats made of each other.
    smooth: bool,
    counts: BTreeMap<&'static str, u64>,
}

/// In how many of 100 programs floats depend on an order.
const ROUNDED: u32 = 6;

/// Number of programs among 100 that say that derivatives forward and backward agree.
const LAWFUL: u32 = 30;

/// The program of a seed. `size` is about the number of operations in each function.
pub fn program(seed: u64, size: u32) -> Generated {
    if Rng::new(!seed).chance(ROUNDED) {
        return rounding::program(seed);
    }
    let mut g = Gen::new(seed);
    g.declare_sums();
    g.declare_library();
    for _ in 0..g.rng.below(4) {
        g.declare_function(size / 2);
    }
    let entries = 1 + g.rng.below(2);
    let mut calls: Vec<Call> = (0..entries).flat_map(|i| g.declare_entry(i, size)).collect();
    if g.rng.chance(LAWFUL) {
        calls.extend(derivatives::law(&mut g, size));
    }
    g.done(calls)
}

/// A program of which the only entry says that derivatives forward and backward of one function agree.
pub fn law(seed: u64, size: u32) -> Generated {
    let mut g = Gen::new(seed);
    g.smooth = true;
    g.declare_sums();
    g.declare_library();
    for _ in 0..g.rng.below(3) {
        g.declare_function(size / 2);
    }
    let calls = derivatives::law(&mut g, size);
    g.done(calls)
}

/// A generated program.
pub struct Generated {
    /// The program with its inputs.
    pub case: Case,
    /// Number of uses of each form.
    pub forms: BTreeMap<&'static str, u64>,
}

fn forms() -> impl Iterator<Item = &'static Form> {
    let tables = [
        scalars::FORMS,
        compound::FORMS,
        control::FORMS,
        arrays::FORMS,
        shape::FORMS,
        reduce::FORMS,
        update::FORMS,
        positions::FORMS,
        rows::FORMS,
        shrinking::FORMS,
        appending::FORMS,
        library::FORMS,
        functions::FORMS,
        recursion::FORMS,
        tiny::FORMS,
        accumulators::FORMS,
        derivatives::FORMS,
        context::FORMS,
    ];
    tables.into_iter().flatten()
}

/// The names of all forms.
pub fn form_names() -> Vec<&'static str> {
    forms().map(|f| f.name).collect()
}

impl Gen {
    fn done(self, calls: Vec<Call>) -> Generated {
        Generated {
            case: Case {
                source: self.decs.join("\n") + "\n",
                calls,
                rounded: false,
                cuda: false,
                ranks: false,
            },
            forms: self.counts,
        }
    }

    fn new(seed: u64) -> Gen {
        let mut rng = Rng::new(seed);
        let weights = forms().map(|f| f.weight * [0, 1, 1, 1, 1, 2, 6][rng.below(7)]).collect();
        let risk = if rng.chance(70) { 0 } else { rng.between(10, 150) as u32 };
        Gen {
            rng,
            scope: Vec::new(),
            funs: Vec::new(),
            sums: Vec::new(),
            decs: Vec::new(),
            fresh: 0,
            weights,
            risk,
            nest: 0,
            smooth: false,
            counts: BTreeMap::new(),
        }
    }

    fn declare_sums(&mut self) {
        for n in 0..self.rng.below(3) {
            let mut constructors = Vec::new();
            for name in ["a", "b", "c"].iter().take(2 + self.rng.below(2)) {
                let mut payload: Vec<Ty> = (0..self.rng.below(3)).map(|_| self.ty(2)).collect();
                if self.rng.chance(30) {
                    payload.push(array(array(self.ty(1))));
                }
                constructors.push((*name, payload));
            }
            self.decs.push(declaration(n, &constructors));
            self.sums.push(Ty::Sum(n, constructors));
        }
    }

    /// An entry with inputs.
    fn declare_entry(&mut self, i: usize, size: u32) -> Vec<Call> {
        let name = format!("main{i}");
        let mut params: Vec<Ty> = (0..1 + self.rng.below(3)).map(|_| self.ty(3)).collect();
        if self.rng.chance(75) {
            let elem = self.ty(1);
            params.push(array(array(elem)));
        }
        let ret = self.ty(3);
        let text = match self.rng.chance(15) {
            true => {
                let ty: Vec<String> = params.iter().chain([&ret]).map(Ty::to_string).collect();
                let body = self.lambda(&params, &ret, size);
                format!("entry {name} : {} =\n  {body}", ty.join(" -> "))
            }
            false => self.function("entry", &name, &params, &ret, |g| g.exp(&ret, size)),
        };
        self.decs.push(text);
        let rng = &mut self.rng;
        inputs::profiles()
            .map(|p| Call { entry: name.clone(), args: inputs::arguments(rng, &params, p) })
            .collect()
    }

    /// A definition whose body is made with its parameters in scope, and nothing else.
    fn function(
        &mut self,
        keyword: &str,
        name: &str,
        params: &[Ty],
        ret: &Ty,
        body: impl FnOnce(&mut Gen) -> String,
    ) -> String {
        let outer = std::mem::take(&mut self.scope);
        let names: Vec<String> = params.iter().map(|_| self.name()).collect();
        self.scope = names.iter().cloned().zip(params.iter().cloned()).collect();
        let body = body(self);
        self.scope = outer;
        let params: Vec<String> = names.iter().zip(params).map(|(n, t)| format!(" ({n}: {t})")).collect();
        format!("{keyword} {name}{} : {ret} =\n  {body}", params.concat())
    }

    /// A type with at most `depth` constructors inside each other.
    fn ty(&mut self, depth: u32) -> Ty {
        let weights = if depth == 0 { [1, 0, 0, 0, 0] } else { [8, 9, 3, 2, 2] };
        match self.rng.weighted(&weights) {
            Some(1) => array(self.ty(depth - 1)),
            Some(2) => Ty::Tuple((0..2 + self.rng.below(2)).map(|_| self.ty(depth - 1)).collect()),
            Some(3) => Ty::Record(["f", "g"].iter().map(|n| (*n, self.ty(depth - 1))).collect()),
            Some(4) if !self.sums.is_empty() => self.rng.pick(&self.sums).clone(),
            _ => Ty::Prim(self.prim()),
        }
    }

    fn prim(&mut self) -> Prim {
        use Prim::{Bool, F16, F32, F64, I8, I16, I32, I64, U8, U16, U32, U64};
        let all = [Bool, F16, F32, F64, I8, I16, I32, I64, U8, U16, U32, U64];
        let weights = match self.smooth {
            true => [4, 0, 8, 24, 0, 0, 2, 8, 1, 0, 0, 0],
            false => [6, 1, 4, 4, 1, 1, 5, 18, 2, 1, 1, 2],
        };
        self.rng.weighted(&weights).map_or(I64, |i| all[i])
    }

    fn name(&mut self) -> String {
        self.fresh += 1;
        format!("x{}", self.fresh)
    }

    fn risky(&mut self) -> bool {
        self.rng.below(1000) < self.risk as usize
    }

    /// An expression of the type, from about `fuel` operations.
    fn exp(&mut self, ty: &Ty, fuel: u32) -> String {
        if fuel == 0 {
            return self.leaf(ty);
        }
        if self.rng.chance(8)
            && let Some(text) = self.variable(ty)
        {
            return text;
        }
        const TRIES: usize = 6;
        for _ in 0..TRIES {
            let makes = forms().zip(&self.weights).map(|(f, w)| if (f.makes)(ty) { *w } else { 0 });
            let makes: Vec<u32> = makes.collect();
            let Some(i) = self.rng.weighted(&makes) else { break };
            let Some(form) = forms().nth(i) else { break };
            let depth = self.scope.len();
            if let Some(text) = (form.make)(self, ty, fuel - 1) {
                *self.counts.entry(form.name).or_default() += 1;
                return text;
            }
            self.scope.truncate(depth);
        }
        self.leaf(ty)
    }

    /// Expressions of several types that share the fuel.
    fn exps<const N: usize>(&mut self, tys: [&Ty; N], fuel: u32) -> [String; N] {
        let mut parts = [0; N];
        for _ in 0..fuel {
            parts[self.rng.below(N)] += 1;
        }
        let mut at = 0;
        tys.map(|ty| {
            at += 1;
            self.exp(ty, parts[at - 1])
        })
    }

    /// Two shares of the fuel.
    fn halves(&mut self, fuel: u32) -> (u32, u32) {
        let first = self.rng.below(fuel as usize + 1) as u32;
        (first, fuel - first)
    }

    /// `0`, `1`, `3` or `7` at most, as an `i64`.
    fn small(&mut self, most: i64, fuel: u32) -> String {
        let x = self.exp(&I64, fuel);
        format!("({x} & {most})")
    }

    /// Runs `work` with variables in scope.
    fn with<T>(&mut self, vars: &[(&str, &Ty)], work: impl FnOnce(&mut Gen) -> T) -> T {
        let depth = self.scope.len();
        self.scope.extend(vars.iter().map(|(n, t)| (n.to_string(), (*t).clone())));
        let result = work(self);
        self.scope.truncate(depth);
        result
    }

    /// The same inside a function that is mapped.
    fn under<T>(&mut self, vars: &[(&str, &Ty)], work: impl FnOnce(&mut Gen) -> T) -> T {
        self.nest += 1;
        let result = self.with(vars, work);
        self.nest -= 1;
        result
    }

    /// True if another map may be put around what comes.
    fn can_nest(&self) -> bool {
        self.nest < DEEPEST
    }

    fn condition(&mut self, fuel: u32) -> String {
        self.exp(&BOOL, fuel)
    }
}
