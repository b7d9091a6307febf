//! Fusion: maps are fused with the operator that consumes them, filters with reductions and filters, then all with their neighbours, so that
//! nothing is written only to be read once.
//!
//! ```text
//! let ys = map n xs (\x -> mul.f32 x x)
//! let zs = map n ys (\y -> add.f32 y 1)    =>    let s = reduce add.f32 0 n xs (\x ->
//! let s  = reduce add.f32 0 n zs                   let y = mul.f32 x x
//!                                                  let z = add.f32 y 1
//!                                                  in z)
//! ```
//!
//! This happens before flattening, inside lambdas, arms and loop bodies too, from the inside out; a lambda made by
//! fusion is fused again inside. No work is done twice, and no code is copied.

mod columns;
mod element;
mod elements;
mod filter;
mod folds;
mod horizontal;
mod parts;
mod retype;
mod users;
mod vertical;
mod views;

use par_ir::alias::{base, updated_by};
use par_ir::core::{Body, Exp, Lambda, Param, Program, Schedule, Stm};
use par_ir::effects::Effects;
use par_ir::hash::{HashMap, HashSet};
use par_ir::place::note_fusion;
use par_ir::tuning;
use par_ir::ty::{Atom, Dim, Type, Var, Vars};
use par_ir::visit::Code;
use users::Users;

/// Fuses in all functions.
pub fn run(program: &mut Program) {
    let mut fuser = Fuser {
        vars: &mut program.vars,
        types: HashMap::default(),
        iotas: HashSet::default(),
        in_rows: false,
    };
    for fun in &mut program.funs {
        fuser.register(&fun.params);
        fuser.body(&mut fun.body);
    }
}

/// The state of fusion.
struct Fuser<'a> {
    vars: &'a mut Vars,
    /// Types of the variables in scope.
    types: HashMap<Var, Type>,
    /// Variables that are `iota`s.
    iotas: HashSet<Var>,
    /// The code is that of an operator's rows.
    in_rows: bool,
}

impl Fuser<'_> {
    fn register<'p>(&mut self, params: impl IntoIterator<Item = &'p Param>) {
        self.types.extend(params.into_iter().map(|p| (p.var, p.ty.clone())));
    }

    /// Notes that `fused` was made of two statements.
    fn note(&mut self, first: &Stm, second: &Stm, fused: &Stm) {
        note_fusion(self.vars, fused.pat.iter().map(|p| p.var), [second, first]);
    }

    /// The type of an array with another outermost size.
    fn at_width(&self, v: Var, width: Atom) -> Type {
        let mut ty = self.types[&v].clone();
        ty.dims[0] = Dim::Size(width);
        ty
    }

    /// Fuses in a body, innermost first. Every change leaves one statement less or moves a change of type further up,
    /// which bounds the loop.
    fn body(&mut self, body: &mut Body) {
        let iotas = body.stms.iter().filter(|s| matches!(s.exp, Exp::Iota(_)));
        self.iotas.extend(iotas.map(|s| s.pat[0].var));
        views::sink(body, self);
        for stm in &mut body.stms {
            self.inside(stm);
            self.register(&stm.pat);
        }
        if !body.stms.iter().any(|s| parts::rows(&s.exp).is_some()) {
            return;
        }
        while columns::sweep(body, self)
            || element::sweep(body, self)
            || retype::sweep(body, self)
            || vertical::sweep(body, self)
            || folds::sweep(body, self)
            || into_users(body, self, filter::fuse)
            || horizontal::sweep(body, self)
            || elements::sweep(body, self)
        {}
    }

    fn inside(&mut self, stm: &mut Stm) {
        if let Exp::Loop { params, .. } = &stm.exp {
            self.register(params.iter().map(|(p, _)| p));
        }
        stm.exp.lambdas().into_iter().for_each(|l| self.register(&l.params));
        let before = self.in_rows;
        self.in_rows |= stm.exp.is_soac();
        stm.exp.for_each_body_mut(|b| self.body(b));
        self.in_rows = before;
    }
}

/// Fuses statements with the first one that depends on them, from the bottom up, so that a chain takes one sweep.
fn into_users(
    body: &mut Body,
    fuser: &mut Fuser,
    fuse: impl Fn(&Body, &Users, usize, usize, &mut Fuser) -> Option<Stm>,
) -> bool {
    let mut users = Users::of(body);
    let mut first = body.stms.len();
    while first > 0 {
        first -= 1;
        let Some(second) = users.first_user(body, first) else { continue };
        if let Some(mut fused) = fuse(body, &users, first, second, fuser) {
            fuser.note(&body.stms[first], &body.stms[second], &fused);
            fuser.inside(&mut fused);
            users.replace(body, first, second, fused);
            first = second + 1; // what was made may be a producer itself
        }
    }
    users.finish(body)
}

/// True if the rows of two operators may be worked on by one.
fn may_fuse(a: &Lambda, b: &Lambda) -> bool {
    a.schedule == b.schedule && a.schedule != Schedule::Opaque
}

/// True if two lambdas are small enough to become one.
fn small_enough(a: &Lambda, b: &Lambda) -> bool {
    a.body.statements() + b.body.statements() <= tuning::FUSED_STATEMENTS
}

/// True if the statement `first`, of which nothing before `second` depends, may take place as late as
/// `second`. A failure must not come after one that it came before, and what `first` reads must not have been
/// updated in place by then (the update would have to copy it).
fn may_sink(body: &Body, first: usize, second: usize) -> bool {
    let (stm, between) = (&body.stms[first], &body.stms[first + 1..second]);
    let in_order = !stm.has_effect() || !between.has_effect();
    let mut updated = Vec::new();
    body.stms[first + 1..=second].iter().for_each(|s| updated_by(&s.exp, &mut updated));
    let part_of = |v: &Var| base(&body.stms[..second], *v);
    let updated: Vec<Var> = updated.iter().map(part_of).collect();
    in_order && (updated.is_empty() || stm.free().iter().all(|v| !updated.contains(&part_of(v))))
}
