//! Bits of numbers at places that differ between lanes, where the processor has no shifts by lane: a mask of one bit is cheaper than a shift
//! to the right.
//!
//! ```text
//! t = shr.u32 x k          m = shl.u32 1 k         a power of two
//! b = and.u32 t 1    ==>   y = and.u32 x m
//!                          n = eq.u32 y 0
//!                          b = select.u32 n 0 1
//! ```

use crate::free::for_each_use_in;
use par_ir::core::{Body, Exp, Param, Stm};
use par_ir::hash::HashMap;
use par_ir::prim::{BinOp, CmpOp, PrimOp};
use par_ir::ty::{Atom, Type};
use par_ir::{Prim, Scalar, Var};

/// A body in which such bits are found by masks.
pub fn by_masks(body: Body) -> Body {
    let mut uses = HashMap::default();
    for_each_use_in(&body, &mut |v| *uses.entry(v).or_insert(0) += 1);
    // Variables are numbered from the end, where no program has any, below those of short indices.
    let mut bits = Bits { uses, shifted: HashMap::default(), next: u32::MAX / 2 };
    bits.body(body)
}

struct Bits {
    uses: HashMap<Var, usize>,
    /// Numbers that were shifted to the right, used once, with what they are and by how much.
    shifted: HashMap<Var, (Atom, Atom)>,
    next: u32,
}

impl Bits {
    fn body(&mut self, mut body: Body) -> Body {
        let mut stms = Vec::with_capacity(body.stms.len());
        for mut stm in body.stms {
            for inner in stm.exp.own_bodies_mut() {
                *inner = self.body(std::mem::take(inner));
            }
            self.note(&stm);
            match self.lowest(&stm) {
                Some((x, place)) => self.masked(x, place, &stm, &mut stms),
                None => stms.push(stm),
            }
        }
        body.stms = stms;
        body
    }

    /// Remembers a shift to the right by a variable.
    fn note(&mut self, stm: &Stm) {
        let Exp::Prim(PrimOp::Bin(BinOp::Shr | BinOp::Lshr, Prim::U32), xs) = &stm.exp else { return };
        let var = stm.pat[0].var;
        if xs[1].var().is_some() && self.uses.get(&var) == Some(&1) {
            self.shifted.insert(var, (xs[0], xs[1]));
        }
    }

    /// The number and the place of the bit that a statement binds.
    fn lowest(&self, stm: &Stm) -> Option<(Atom, Atom)> {
        let Exp::Prim(PrimOp::Bin(BinOp::And, Prim::U32), xs) = &stm.exp else { return None };
        let shifted = |a: &Atom| self.shifted.get(&a.var()?).copied();
        let is_one = |a: &Atom| *a == number(1);
        match (shifted(&xs[0]), shifted(&xs[1])) {
            (Some(found), _) if is_one(&xs[1]) => Some(found),
            (_, Some(found)) if is_one(&xs[0]) => Some(found),
            _ => None,
        }
    }

    fn masked(&mut self, x: Atom, place: Atom, stm: &Stm, stms: &mut Vec<Stm>) {
        let [mask, kept, is_clear] = [(); 3].map(|()| self.fresh());
        let mut bind = |var: Var, p: Prim, op: PrimOp, xs: Vec<Atom>| {
            let pat = vec![Param { var, ty: Type::scalar(p) }];
            stms.push(Stm { pat, exp: Exp::Prim(op, xs), span: stm.span });
        };
        bind(mask, Prim::U32, PrimOp::Bin(BinOp::Shl, Prim::U32), vec![number(1), place]);
        bind(kept, Prim::U32, PrimOp::Bin(BinOp::And, Prim::U32), vec![x, mask.into()]);
        bind(is_clear, Prim::Bool, PrimOp::Cmp(CmpOp::Eq, Prim::U32), vec![kept.into(), number(0)]);
        let choice = vec![is_clear.into(), number(0), number(1)];
        bind(stm.pat[0].var, Prim::U32, PrimOp::Select(Prim::U32), choice);
    }

    fn fresh(&mut self) -> Var {
        self.next -= 1;
        Var(self.next)
    }
}

fn number(n: u32) -> Atom {
    Atom::Const(Scalar::U32(n))
}
