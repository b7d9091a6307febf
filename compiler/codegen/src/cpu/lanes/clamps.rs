//! Clamped integers of a body, at positions where no clamp changes them.
//!
//! ```text
//! k = min (i + 1) (n - 1)            c = le (i + 1) (n - 1)
//! l = max k 0                        d = ge (i + 1) 0
//! x = xs[l]                          if c && d:  k = i + 1  l = k  x = xs[l]
//! ```
//!
//! So the indices of a stencil are neighbours from one edge to the other, and nothing asks for edges between.

use super::affine::Affine;
use crate::cpu::fresh::Fresh;
use par_ir::access::{Access, Facts};
use par_ir::core::{Body, Exp, Param, Stm};
use par_ir::prim::{BinOp, CmpOp, PrimOp};
use par_ir::ty::{Atom, Type};
use par_ir::{Prim, Var};

/// A body without clamps, and when it is right.
pub struct Clamps {
    /// Computes the condition at a position.
    pub condition: Vec<Stm>,
    /// It is true where no clamp changes anything.
    pub holds: Atom,
    /// The comparisons that it is made of.
    pub compared: Vec<Var>,
    /// The body there.
    pub body: Body,
}

/// A minimum or maximum of a number that moves with the position, and one that does not.
struct Clamp {
    op: CmpOp,
    moving: Atom,
    fixed: Atom,
}

impl Clamps {
    /// Of a body at the positions `pos`, if it has any.
    pub fn of(pos: Var, body: &Body, fresh: &Fresh) -> Option<Clamps> {
        let (none, mut found) = (Facts::default(), Vec::new());
        let mut body = body.clone();
        // A clamp of what is clamped moves as that does.
        while let Some((v, clamp)) =
            first(&body, &mut Affine::new(&Access::along(pos, &body, &none), pos, fresh))
        {
            replace(&mut body, v, clamp.moving);
            found.push(clamp);
        }
        let access = Access::along(pos, &body, &none);
        let mut code = Affine::new(&access, pos, fresh);
        let (mut compared, mut asked) = (Vec::new(), Vec::new());
        for clamp in found {
            let forms = [code.form(clamp.moving)?, code.form(clamp.fixed)?];
            let operands = forms.iter().map(|f| code.atom(f)).collect::<Option<Vec<Atom>>>()?;
            if !asked.contains(&(clamp.op, forms.clone())) {
                asked.push((clamp.op, forms));
                compared.push(flag(PrimOp::Cmp(clamp.op, Prim::I64), operands, fresh, &mut code.stms));
            }
        }
        let and = PrimOp::Bin(BinOp::And, Prim::Bool);
        let both = |a: Var, b: Var| flag(and, vec![a.into(), b.into()], fresh, &mut code.stms);
        let holds = compared.iter().copied().reduce(both)?.into();
        Some(Clamps { condition: code.stms, holds, compared, body })
    }
}

/// Computes a flag.
fn flag(op: PrimOp, xs: Vec<Atom>, fresh: &Fresh, to: &mut Vec<Stm>) -> Var {
    let var = fresh.var("inside");
    let pat = vec![Param { var, ty: Type::scalar(Prim::Bool) }];
    to.push(Stm { pat, exp: Exp::Prim(op, xs), span: Default::default() });
    var
}

/// The first clamp of a body, and what it binds.
fn first(body: &Body, code: &mut Affine) -> Option<(Var, Clamp)> {
    let of_stm = |stm: &Stm, code: &mut Affine| match &stm.exp {
        Exp::Prim(PrimOp::Bin(BinOp::Min, Prim::I64), xs) => clamp(CmpOp::Le, xs, code),
        Exp::Prim(PrimOp::Bin(BinOp::Max, Prim::I64), xs) => clamp(CmpOp::Ge, xs, code),
        _ => None,
    };
    body.stms.iter().find_map(|stm| match of_stm(stm, code) {
        Some(clamp) => Some((stm.pat[0].var, clamp)),
        None => stm.exp.own_bodies().into_iter().find_map(|b| first(b, code)),
    })
}

fn clamp(op: CmpOp, xs: &[Atom], code: &mut Affine) -> Option<Clamp> {
    let mut of = |moving: Atom, fixed: Atom| {
        code.growing(fixed, 0)?;
        code.growing(moving, 1).or_else(|| code.growing(moving, -1))?;
        Some(Clamp { op, moving, fixed })
    };
    of(xs[0], xs[1]).or_else(|| of(xs[1], xs[0]))
}

fn replace(body: &mut Body, v: Var, by: Atom) {
    for stm in &mut body.stms {
        if stm.pat.iter().any(|p| p.var == v) {
            stm.exp = Exp::Atom(by);
        }
        stm.exp.for_each_body_mut(|b| replace(b, v, by));
    }
}
