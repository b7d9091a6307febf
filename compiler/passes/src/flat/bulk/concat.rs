//! Elements of concatenations whose parts are cheap to compute again.
//!
//! ```text
//! zs = concat ([x], kernel map over k { xs[pos] })
//! w  = kernel map over n { zs[pos] + 1 }          ==>      w = kernel map over n { (if pos < 1 then x else xs[pos-1]) + 1 }
//! ```

use super::Fuser;
use super::inline::{Element, stored};
use par_ir::core::{self, Body, Exp};
use par_ir::flat::{Block, Op, Param, Stm, Ty};
use par_ir::prim::{BinOp, CmpOp, PrimOp};
use par_ir::tuning;
use par_ir::ty::{Atom, Type, Var};
use par_ir::visit::{Code, Subst};
use par_runtime::{Prim, Span};

/// A part: its length, and the code for an element.
struct Part {
    length: Atom,
    pos: Var,
    stms: Vec<core::Stm>,
    result: Atom,
}

/// An array whose elements need no code, wherever it was made: loops read what was made before them.
pub(super) struct Filled {
    pub length: Atom,
    /// Of all elements; none where each is its position.
    pub element: Option<Atom>,
}

impl Filled {
    /// The array that a statement makes.
    pub fn of(stm: &Stm) -> Option<Filled> {
        let (length, element) = match &stm.op {
            Op::Literal(xs, _) if xs.len() == 1 => (Atom::i64(1), Some(xs[0])),
            Op::Replicate(n, x) => (*n, Some(*x)),
            Op::Iota(n) => (*n, None),
            _ => return None,
        };
        Some(Filled { length, element })
    }
}

/// The code for an element of a concatenation.
pub(super) fn element(block: &Block, at: usize, parts: &[Var], fuser: &mut Fuser) -> Option<Element> {
    if parts.len() > tuning::INLINE_PARTS {
        return None;
    }
    let Ty::Array(prim) = block.stms[at].pat[0].ty else { return None };
    let made: Option<Vec<Part>> = parts.iter().map(|v| part(block, at, *v, fuser)).collect();
    let mut parts = made?.into_iter();
    let pos = fuser.vars.fresh("i");
    let span = block.stms[at].span;
    let body = select(parts.next()?, &mut parts, pos, &Made { prim, span }, fuser);
    Some(Element {
        space: None,
        rows: vec![],
        pos,
        prologue: vec![],
        stms: body.stms,
        result: body.results[0],
        is_number: false,
        is_free: false,
    })
}

/// An array that was made before, as a part.
fn part(block: &Block, at: usize, array: Var, fuser: &mut Fuser) -> Option<Part> {
    if let Some(filled) = fuser.filled.get(&array) {
        let (length, pos) = (filled.length, fuser.vars.fresh("i"));
        let result = filled.element.unwrap_or(Atom::Var(pos));
        return Some(Part { length, pos, stms: vec![], result });
    }
    let made = block.stms[..at].iter().find(|s| s.pat.iter().any(|p| p.var == array));
    if let Some(Stm { op: Op::Atom(Atom::Var(same)), .. }) = made {
        return part(block, at, *same, fuser);
    }
    made.and_then(|made| computed(made, array)).or_else(|| read(block, at, array, fuser))
}

/// A part whose elements are cheap to compute.
fn computed(made: &Stm, array: Var) -> Option<Part> {
    let i = made.pat.iter().position(|p| p.var == array).filter(|i| stored(made).contains(i))?;
    let e = Element::of(made, i, false).filter(|e| !e.needs_row())?;
    let length = e.space.as_ref()?.as_flat()?;
    Some(Part { length, pos: e.pos, stms: e.stms, result: e.result })
}

/// A part that is read where it is.
fn read(block: &Block, at: usize, array: Var, fuser: &mut Fuser) -> Option<Part> {
    let length = block.stms[..at].iter().rfind(|s| matches!(s.op, Op::Length(v) if v == array))?;
    let Ty::Array(prim) = block.stms[at].pat[0].ty else { return None };
    let [pos, x] = ["i", "x"].map(|name| fuser.vars.fresh(name));
    let element = Exp::Index(array, vec![Atom::Var(pos)]);
    let pat = vec![core::Param { var: x, ty: Type::scalar(prim) }];
    let stms = vec![core::Stm { pat, exp: element, span: block.stms[at].span }];
    Some(Part { length: Atom::Var(length.pat[0].var), pos, stms, result: Atom::Var(x) })
}

/// States the lengths of the parts of concatenations that are read where they are.
pub(super) fn measure(block: &mut Block, fuser: &mut Fuser) {
    let mut at = 0;
    while at < block.stms.len() {
        for part in parts_to_read(block, at, fuser) {
            let pat = vec![Param { var: fuser.vars.fresh("length"), ty: Ty::Scalar(Prim::I64) }];
            let Stm { span, place, .. } = block.stms[at];
            block.stms.insert(at, Stm { pat, op: Op::Length(part), span, place });
            at += 1;
        }
        at += 1;
    }
}

fn parts_to_read(block: &Block, at: usize, fuser: &Fuser) -> Vec<Var> {
    let parts = match &block.stms[at].op {
        Op::Concat(parts) if parts.len() <= tuning::INLINE_PARTS => parts.as_slice(),
        _ => &[],
    };
    let made = |v: Var| block.stms[..at].iter().find(|s| s.pat.iter().any(|p| p.var == v));
    let is_read = |v: Var| !fuser.filled.contains_key(&v) && made(v).is_none_or(|s| computed(s, v).is_none());
    parts.iter().copied().filter(|v| is_read(*v)).collect()
}

/// The type of elements, and the place in the source that they come from.
struct Made {
    prim: Prim,
    span: Span,
}

/// The element at a position: of the first part, or of those behind it.
fn select(
    first: Part,
    rest: &mut impl Iterator<Item = Part>,
    pos: Var,
    made: &Made,
    fuser: &mut Fuser,
) -> Body {
    let mut subst = Subst::from_iter([(first.pos, Atom::Var(pos))]);
    let stms = first.stms.refreshed_with(fuser.vars, &mut subst);
    let then = Body { stms, results: vec![first.result.substituted(&subst)] };
    let Some(second) = rest.next() else { return then };
    let [inside, after, x] = ["inside", "after", "x"].map(|name| fuser.vars.fresh(name));
    let mut other = select(second, rest, after, made, fuser);
    let bind = |var, ty, exp| core::Stm { pat: vec![core::Param { var, ty }], exp, span: made.span };
    let args = vec![Atom::Var(pos), first.length];
    let minus = Exp::Prim(PrimOp::Bin(BinOp::Sub, Prim::I64), args.clone());
    other.stms.insert(0, bind(after, Type::I64, minus));
    let less = Exp::Prim(PrimOp::Cmp(CmpOp::Lt, Prim::I64), args);
    let choice = Exp::If { cond: Atom::Var(inside), then, other };
    let stms = vec![bind(inside, Type::BOOL, less), bind(x, Type::scalar(made.prim), choice)];
    Body { stms, results: vec![Atom::Var(x)] }
}
