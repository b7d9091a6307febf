//! Windows: inner operators of a nest over stretches of shared arrays that begin one element later for every row.
//!
//! ```text
//! map (\i -> sum (map2 (*) w x[i : i + k])) (iota n)
//! map (\i -> sum (tabulate k (\j -> x[i - j]))) (iota n)
//! ```
//!
//! Rows that take each step together read neighbours, which one vector holds.

use super::versions::{calls, is_from_outside, is_iota};
use par_ir::core::{Body, Exp, Lambda, Stm};
use par_ir::prim::BinOp;
use par_ir::{Atom, PrimOp, Var};
use std::collections::HashMap;

/// True if a map or reduction directly in a nest goes over windows. `counts` says of each parameter of the nest whether it counts the rows.
pub(super) fn is_window(lam: &Lambda, counts: &[bool], exp: &Exp) -> bool {
    let (Exp::Map { width, inputs, lam: inner } | Exp::Reduce { width, inputs, lam: inner, .. }) = exp else {
        return false;
    };
    let mut window = Window { lam, growth: HashMap::new(), moves: false };
    let params = lam.params.iter().zip(counts);
    window.growth.extend(params.filter(|(_, counts)| **counts).map(|(p, _)| (p.var, 1)));
    window.scalars(&lam.body);
    let alike = width.var().is_none_or(|n| is_from_outside(lam, n));
    let reads = |w: &mut Window| inputs.iter().zip(&inner.params).all(|(v, p)| w.input(*v, p.var));
    alike && reads(&mut window) && window.body(&inner.body) && !calls(&exp.bodies()) && window.moves
}

/// Known facts about a nest's scalars.
struct Window<'l> {
    lam: &'l Lambda,
    /// Growth of integers from row to row; unknown for those that are bound in the nest and not here.
    growth: HashMap<Var, i64>,
    /// Something is read at places that differ from row to row.
    moves: bool,
}

impl Window<'_> {
    fn of(&self, a: Atom) -> Option<i64> {
        match a.var() {
            Some(v) => self.growth.get(&v).copied().or_else(|| is_from_outside(self.lam, v).then_some(0)),
            None => Some(0),
        }
    }

    fn scalars(&mut self, body: &Body) {
        body.stms.iter().for_each(|s| self.scalar(s));
    }

    fn scalar(&mut self, stm: &Stm) {
        let growth = match &stm.exp {
            Exp::Atom(a) => self.of(*a),
            Exp::Prim(op, xs) => {
                let each: Option<Vec<i64>> = xs.iter().map(|x| self.of(*x)).collect();
                match (op, each.as_deref()) {
                    (_, Some(all)) if all.iter().all(|g| *g == 0) => Some(0),
                    (PrimOp::Bin(BinOp::Add, _), Some([a, b])) => Some(a + b),
                    (PrimOp::Bin(BinOp::Sub, _), Some([a, b])) => Some(a - b),
                    // Clamped at an end: neighbours everywhere else.
                    (PrimOp::Bin(BinOp::Min | BinOp::Max, _), Some([a, 0] | [0, a])) => Some(*a),
                    _ => None,
                }
            }
            _ => None,
        };
        if let (Some(growth), [p]) = (growth, &stm.pat[..]) {
            self.growth.insert(p.var, growth);
        }
    }

    /// An index of the last dimension is a neighbour's from row to row, or the same.
    fn is_near(&mut self, index: Atom) -> bool {
        let growth = self.of(index);
        self.moves |= growth == Some(1);
        matches!(growth, Some(0 | 1))
    }

    /// An input of the operator, whose elements this parameter is.
    fn input(&mut self, v: Var, param: Var) -> bool {
        if is_iota(self.lam, v) {
            self.growth.insert(param, 0);
            return true;
        }
        let slice = self.lam.body.stms.iter().find(|s| s.pat.iter().any(|p| p.var == v)).map(|s| &s.exp);
        match slice {
            None => is_from_outside(self.lam, v),
            Some(Exp::Slice { arr, start, stride, .. }) => {
                is_from_outside(self.lam, *arr) && self.of(*stride) == Some(0) && self.is_near(*start)
            }
            _ => false,
        }
    }

    /// True if all that the operator's function reads are neighbours.
    fn body(&mut self, body: &Body) -> bool {
        body.stms.iter().all(|s| {
            self.scalar(s);
            match &s.exp {
                Exp::Index(arr, index) => match index.split_last() {
                    Some((last, before)) => {
                        is_from_outside(self.lam, *arr)
                            && before.iter().all(|i| self.of(*i) == Some(0))
                            && self.is_near(*last)
                    }
                    None => false,
                },
                Exp::Atom(_) | Exp::Prim(..) | Exp::Check { .. } => true,
                _ => false,
            }
        })
    }
}
