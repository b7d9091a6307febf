//! Reassociation: operands of associative operators in the order in which they are available.
//!
//! ```text
//! loop (left = l) for j < n {               loop (left = l) for j < n {
//!     a = max above left                        a = max above left
//!     b = sub a 1                               b = sub a 1
//!     c = max diagonal b                        c = max diagonal 0
//!     h = max c 0                     ==>       h = max c b
//!     in h }                                    in h }
//! ```
//!
//! The loop-carried operand is combined last: the dependence chain from one iteration to the next is shorter. Integers and truth values only, since
//! floats would be rounded otherwise.

use super::walk;
use par_ir::core::{Body, Exp, Param, Stm};
use par_ir::flat::Program;
use par_ir::hash::HashMap;
use par_ir::prim::{BinOp, PrimOp};
use par_ir::stack::deeper;
use par_ir::visit::Code;
use par_ir::{Atom, Prim, Var};

/// In every function of a program.
pub(crate) fn run(program: &mut Program) {
    walk::kernels(program, |k, _, _| in_body(&mut k.body));
}

fn in_body(body: &mut Body) {
    for stm in &mut body.stms {
        if let Exp::Loop { params, body, .. } = &mut stm.exp {
            let state = params.iter().map(|(p, _)| p).filter(|p| p.ty.is_scalar());
            let depths = Depths::of(state, body);
            in_iteration(body, &depths);
        }
        deeper(|| stm.exp.own_bodies_mut().into_iter().for_each(in_body));
    }
}

fn in_iteration(body: &mut Body, depths: &Depths) {
    let mut uses = Uses::of(body);
    for at in 0..body.stms.len() {
        let Some(chain) = Chain::of(body, at, &uses).filter(|c| c.inner.len() > 1) else { continue };
        let mut leaves = chain.leaves.clone();
        leaves.sort_by_key(|a| depths.atom(*a));
        let waits = leaves[1..].iter().fold(depths.atom(leaves[0]), |d, a| d.max(depths.atom(*a)) + 1);
        if waits < depths.var(body.stms[at].pat[0].var) {
            chain.rebuild(&leaves, body);
            uses = Uses::of(body);
        }
    }
}

/// The statements of a body that define and use each variable.
struct Uses {
    made: HashMap<Var, usize>,
    /// The only statement that uses a variable; none if there are several, or it is a result.
    by: HashMap<Var, Option<usize>>,
}

impl Uses {
    fn of(body: &Body) -> Uses {
        let (mut made, mut by) = (HashMap::default(), HashMap::default());
        for (i, stm) in body.stms.iter().enumerate() {
            made.extend(stm.pat.iter().map(|p| (p.var, i)));
            for v in stm.free() {
                by.entry(v).and_modify(|only| *only = None).or_insert(Some(i));
            }
        }
        by.extend(body.results.iter().filter_map(|a| a.var()).map(|v| (v, None)));
        Uses { made, by }
    }

    /// The statement that defines an operand, if it has the same operator and this one is its only use.
    fn inside(&self, body: &Body, a: Atom, at: usize, op: PrimOp) -> Option<usize> {
        let v = a.var().filter(|v| self.by.get(v) == Some(&Some(at)))?;
        let made = *self.made.get(&v)?;
        operands(&body.stms[made], op).map(|_| made)
    }
}

/// The operands of a statement with this operator.
fn operands(stm: &Stm, op: PrimOp) -> Option<&[Atom]> {
    match &stm.exp {
        Exp::Prim(other, xs) if *other == op => Some(xs),
        _ => None,
    }
}

/// The length of the dependence chain from the loop's state to each variable, in operators, plus one; 0 for those that do not depend on it.
struct Depths(HashMap<Var, usize>);

impl Depths {
    fn of<'p>(state: impl Iterator<Item = &'p Param>, body: &Body) -> Depths {
        let mut depths = Depths(state.map(|p| (p.var, 1)).collect());
        for stm in &body.stms {
            let most = stm.free().into_iter().map(|v| depths.var(v)).max().unwrap_or(0);
            if most > 0 {
                let own = usize::from(!matches!(stm.exp, Exp::Atom(_)));
                depths.0.extend(stm.pat.iter().map(|p| (p.var, most + own)));
            }
        }
        depths
    }

    fn var(&self, v: Var) -> usize {
        self.0.get(&v).copied().unwrap_or(0)
    }

    fn atom(&self, a: Atom) -> usize {
        a.var().map_or(0, |v| self.var(v))
    }
}

/// One operator applied to several operands, by several statements.
struct Chain {
    op: PrimOp,
    /// The statements in order; the last one defines the result.
    inner: Vec<usize>,
    leaves: Vec<Atom>,
}

impl Chain {
    /// The chain that ends in a statement.
    fn of(body: &Body, at: usize, uses: &Uses) -> Option<Chain> {
        let stm = &body.stms[at];
        let Exp::Prim(op, _) = stm.exp else { return None };
        let only = uses.by.get(&stm.pat[0].var).copied().flatten();
        if !is_associative(op) || only.is_some_and(|next| operands(&body.stms[next], op).is_some()) {
            return None;
        }
        let mut chain = Chain { op, inner: vec![], leaves: vec![] };
        let mut rest = Vec::new();
        chain.open(body, at, uses, &mut rest);
        while let Some((x, inside)) = rest.pop() {
            match inside {
                Some(inside) => chain.open(body, inside, uses, &mut rest),
                None => chain.leaves.push(x),
            }
        }
        chain.inner.sort_unstable();
        Some(chain)
    }

    /// Adds a statement. Its operands are put on the stack of those that are left, with the statements of the chain that define them.
    fn open(&mut self, body: &Body, at: usize, uses: &Uses, rest: &mut Vec<(Atom, Option<usize>)>) {
        self.inner.push(at);
        let xs = operands(&body.stms[at], self.op).unwrap_or_default();
        let differ = xs.first() != xs.last();
        let inside = |x: Atom| uses.inside(body, x, at, self.op).filter(|_| differ);
        rest.extend(xs.iter().rev().map(|x| (*x, inside(*x))));
    }

    /// The operands one after the other, in this order.
    fn rebuild(&self, leaves: &[Atom], body: &mut Body) {
        let (last, before) = self.inner.split_last().expect("there are statements");
        let mut so_far = leaves[0];
        let mut made = Vec::new();
        for (i, leaf) in self.inner.iter().zip(&leaves[1..]) {
            let exp = Exp::Prim(self.op, vec![so_far, *leaf]);
            made.push(Stm { exp, ..body.stms[*i].clone() });
            so_far = body.stms[*i].pat[0].var.into();
        }
        // All operands are there where the last statement stands.
        let rest = body.stms.split_off(*last + 1);
        body.stms.pop();
        before.iter().rev().for_each(|i| _ = body.stms.remove(*i));
        body.stms.extend(made.into_iter().chain(rest));
    }
}

/// True if it makes no difference in which order an operator combines, for any numbers.
fn is_associative(op: PrimOp) -> bool {
    match op {
        PrimOp::Bin(BinOp::Add | BinOp::Mul | BinOp::Min | BinOp::Max, p) => p.is_integer(),
        PrimOp::Bin(BinOp::And | BinOp::Or | BinOp::Xor, p) => p.is_integer() || p == Prim::Bool,
        _ => false,
    }
}
