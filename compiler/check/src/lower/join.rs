//! Joins of several values into one, and of their sizes. Equal sizes stay, others become existential, and rows of different
//! lengths an irregular array.
//!
//! ```text
//! if c then iota n else [7]    let (k: i64) (ys: [k]i64) = if c then { is = iota n  in n, is } else { … in 1, xs }
//! ```

use super::build::Block;
use super::rebuild::Rebuild;
use super::value::{Fun, Val};
use super::{Lower, R};
use par_ir::core::{Body, Exp, Param};
use par_ir::effects::Effects;
use par_ir::hash::HashMap;
use par_ir::{Atom, Dim, Prim, Type};
use std::rc::Rc;

/// One arm of a branch after evaluation.
struct Arm<'p> {
    block: Block<'p>,
    val: Val<'p>,
}

impl<'p> Lower<'p> {
    /// A conditional whose arms are evaluated by the given functions.
    pub fn if_val(
        &mut self,
        cond: Atom,
        then: &mut dyn FnMut(&mut Self) -> R<Val<'p>>,
        other: &mut dyn FnMut(&mut Self) -> R<Val<'p>>,
    ) -> R<Val<'p>> {
        match cond {
            Atom::Const(par_ir::Scalar::Bool(true)) => return then(self),
            Atom::Const(_) => return other(self),
            Atom::Var(_) => {}
        }
        let level = self.scope.blocks.len();
        let (block, val) = self.in_block(then)?;
        let a = Arm { block, val };
        let (block, val) = self.in_block(other)?;
        let b = Arm { block, val };
        self.join_arms(cond, a, b, level)
    }

    /// A conditional of scalar type.
    pub fn if_scalar(
        &mut self,
        cond: Atom,
        p: Prim,
        then: &mut dyn FnMut(&mut Self) -> R<Atom>,
        other: &mut dyn FnMut(&mut Self) -> R<Atom>,
    ) -> R<Atom> {
        let val = self.if_val(cond, &mut |lo| Ok(Val::Scalar(then(lo)?, p)), &mut |lo| {
            Ok(Val::Scalar(other(lo)?, p))
        })?;
        match val {
            Val::Scalar(a, _) => Ok(a),
            _ => Err(self.internal("a scalar was expected")),
        }
    }

    fn join_arms(&mut self, cond: Atom, mut a: Arm<'p>, mut b: Arm<'p>, level: usize) -> R<Val<'p>> {
        let (da, db) = (a.val.dims(), b.val.dims());
        if da.len() != db.len() {
            return Err(self.internal("the arms of a branch have different structure"));
        }
        let flags: Vec<bool> =
            da.iter().zip(&db).map(|(x, y)| matches!((x, y), (Dim::Seg(_), _) | (_, Dim::Seg(_)))).collect();
        self.rag_arm(&mut a, &flags)?;
        self.rag_arm(&mut b, &flags)?;
        let mut join = Join {
            level,
            dims: b.val.dims().into_iter(),
            leaves: b.val.leaves().into_iter(),
            funs: funs(&b.val).into_iter(),
            merged: HashMap::default(),
            pat: Vec::new(),
            results: (Vec::new(), Vec::new()),
        };
        let val = self.rebuild(&a.val, &mut Vec::new(), &mut Vec::new(), &mut join)?;
        let (ra, rb) = join.results;
        let exp = Exp::If {
            cond,
            then: Body { stms: a.block.stms, results: ra },
            other: Body { stms: b.block.stms, results: rb },
        };
        if !join.pat.is_empty() || exp.has_effect() {
            self.push(join.pat, exp);
        }
        Ok(val)
    }

    fn rag_arm(&mut self, arm: &mut Arm<'p>, flags: &[bool]) -> R<()> {
        let block = std::mem::take(&mut arm.block);
        let val = arm.val.clone();
        let (block, result) = self.resume(block, |lo| lo.ragged(&val, flags));
        arm.block = block;
        arm.val = result?;
        Ok(())
    }
}

struct Join<'p> {
    level: usize,
    dims: std::vec::IntoIter<Dim>,
    leaves: std::vec::IntoIter<(Atom, Prim)>,
    funs: std::vec::IntoIter<Rc<Fun<'p>>>,
    merged: HashMap<(Dim, Dim, Vec<Dim>), Dim>,
    pat: Vec<Param>,
    results: (Vec<Atom>, Vec<Atom>),
}

impl Join<'_> {
    fn bind(&mut self, lo: &mut Lower, name: &str, ty: Type, a: Atom, b: Atom) -> Atom {
        let p = lo.param(name, ty);
        let var = p.var;
        self.pat.push(p);
        self.results.0.push(a);
        self.results.1.push(b);
        Atom::Var(var)
    }
}

impl<'p> Rebuild<'p> for Join<'p> {
    fn dim(&mut self, lo: &mut Lower<'p>, dim: Dim, _old: &[Dim], new: &[Dim]) -> R<Dim> {
        let Some(other) = self.dims.next() else {
            return Err(lo.internal("the arms of a branch have different structure"));
        };
        let same = dim == other && lo.dim_is_outside(dim, self.level);
        let fits = match dim {
            Dim::Size(_) => true,
            Dim::Seg(s) => lo.type_of(s).dims == new,
        };
        if same && fits {
            return Ok(dim);
        }
        let above = if matches!(dim, Dim::Seg(_)) { new.to_vec() } else { Vec::new() };
        if let Some(d) = self.merged.get(&(dim, other, above.clone())) {
            return Ok(*d);
        }
        let merged = match (dim, other) {
            (Dim::Size(a), Dim::Size(b)) => {
                let k = self.bind(lo, "k", Type::I64, a, b);
                lo.facts.sizes.extend(k.var());
                Dim::Size(k)
            }
            (Dim::Seg(a), Dim::Seg(b)) => {
                let ty = Type::desc(new.to_vec());
                let s = self.bind(lo, "s", ty, Atom::Var(a), Atom::Var(b));
                Dim::Seg(lo.leaf_var(s)?)
            }
            _ => return Err(lo.internal("a matrix met an irregular array")),
        };
        self.merged.insert((dim, other, above), merged);
        Ok(merged)
    }

    fn leaf(&mut self, lo: &mut Lower<'p>, a: Atom, prim: Prim, _old: &[Dim], new: &[Dim]) -> R<Atom> {
        let Some((b, _)) = self.leaves.next() else {
            return Err(lo.internal("the arms of a branch have different structure"));
        };
        let fits = match a {
            Atom::Var(v) => lo.type_of(v).dims == new,
            Atom::Const(_) => true,
        };
        if a == b && fits && lo.is_outside(a, self.level) {
            return Ok(a);
        }
        Ok(self.bind(lo, "r", Type::array(new.to_vec(), prim), a, b))
    }

    fn fun(&mut self, lo: &mut Lower<'p>, fun: &Rc<Fun<'p>>) -> R<Val<'p>> {
        match self.funs.next() {
            Some(other) if Rc::ptr_eq(fun, &other) => Ok(Val::Fun(other)),
            Some(other) => {
                let mut error = lo.function_value(self.place());
                for (f, text) in [(fun, "one of the functions"), (&other, "the other one")] {
                    if let Some(span) = lo.origin(f) {
                        *error = error.label(span, text);
                    }
                }
                Err(error)
            }
            None => Err(lo.function_value(self.place())),
        }
    }

    fn place(&self) -> &'static str {
        "an `if` or `match`"
    }
}

fn funs<'p>(val: &Val<'p>) -> Vec<Rc<Fun<'p>>> {
    let mut out = Vec::new();
    val.visit(&mut |v| {
        if let Val::Fun(f) = v {
            out.push(f.clone());
        }
    });
    out
}
