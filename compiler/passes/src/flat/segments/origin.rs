//! Knowledge of a kernel's code about the rows of its position: a flag says that a row begins there.
//!
//! At position 0 a row begins, so that what the flag is there does not matter to a scan.

use par_ir::core::{Body, Exp, Stm};
use par_ir::flat::{self, Op};
use par_ir::hash::HashMap;
use par_ir::prim::{BinOp, CmpOp, PrimOp, UnOp};
use par_ir::ty::{Atom, Var};
use par_runtime::Prim;

/// Scalars of a kernel, and of the host, by what they are computed from.
pub struct Origins<'k> {
    /// The array of row numbers.
    ids: Var,
    /// Arrays of flags that are set where rows begin.
    flags: &'k [Var],
    /// The kernel's position.
    pos: Var,
    /// Number of positions; there are some.
    n: Atom,
    stms: HashMap<Var, (&'k Stm, usize)>,
    host: &'k [&'k flat::Stm],
}

impl<'k> Origins<'k> {
    /// Of a kernel with this body over `n` positions, and after these statements.
    pub fn new(
        (ids, flags): (Var, &'k [Var]),
        (n, pos): (Atom, Var),
        body: &'k Body,
        host: &'k [&'k flat::Stm],
    ) -> Origins<'k> {
        let mut origins = Origins { ids, flags, pos, n, stms: HashMap::default(), host };
        origins.note(body);
        origins
    }

    fn note(&mut self, body: &'k Body) {
        for stm in &body.stms {
            self.stms.extend(stm.pat.iter().enumerate().map(|(i, p)| (p.var, (stm, i))));
            stm.exp.for_each_body(|b| self.note(b));
        }
    }

    fn origin(&self, a: Atom) -> Option<(&'k Exp, usize)> {
        self.stms.get(&a.var()?).map(|(stm, i)| (&stm.exp, *i))
    }

    /// True if a flag is set where a row begins, and nowhere else but at position 0 perhaps.
    pub fn begins(&self, flag: Atom) -> bool {
        match self.origin(flag) {
            Some((Exp::Atom(a), _)) => self.begins(*a),
            Some((Exp::Index(array, is), _)) => self.flags.contains(array) && is[..] == [Atom::Var(self.pos)],
            Some((Exp::Prim(PrimOp::Un(UnOp::Not, _), xs), _)) => self.compares(xs[0], CmpOp::Eq),
            Some((Exp::Prim(PrimOp::Cmp(CmpOp::Ne, _), _), _)) => self.compares(flag, CmpOp::Ne),
            Some((Exp::Prim(PrimOp::Bin(BinOp::Or, Prim::Bool), xs), _)) => {
                self.is_first(xs[0]) && self.begins(xs[1]) || self.is_first(xs[1]) && self.begins(xs[0])
            }
            Some((Exp::Prim(PrimOp::Select(_), xs), _)) => self.is_first(xs[0]) && self.begins(xs[2]),
            Some((Exp::If { cond, other, .. }, i)) => self.is_first(*cond) && self.begins(other.results[i]),
            _ => false,
        }
    }

    /// True if the row numbers here and before are compared.
    fn compares(&self, flag: Atom, how: CmpOp) -> bool {
        let Some((Exp::Prim(PrimOp::Cmp(op, Prim::I64), xs), _)) = self.origin(flag) else { return false };
        let here_and_before = |a: Atom, b: Atom| self.is_row(a) && self.is_row_before(b);
        *op == how && (here_and_before(xs[0], xs[1]) || here_and_before(xs[1], xs[0]))
    }

    /// True if a scalar is the position's row number.
    fn is_row(&self, a: Atom) -> bool {
        match self.origin(a) {
            Some((Exp::Atom(a), _)) => self.is_row(*a),
            Some((Exp::Index(array, is), _)) => *array == self.ids && is[..] == [Atom::Var(self.pos)],
            _ => false,
        }
    }

    /// True if a scalar is the row number of the position before, if there is one.
    fn is_row_before(&self, a: Atom) -> bool {
        match self.origin(a) {
            Some((Exp::Atom(a), _)) => self.is_row_before(*a),
            Some((Exp::Index(array, is), _)) => *array == self.ids && self.is_before(is[0]),
            Some((Exp::Prim(PrimOp::Select(_), xs), _)) => self.is_first(xs[0]) && self.is_row_before(xs[2]),
            Some((Exp::If { cond, other, .. }, i)) => {
                self.is_first(*cond) && self.is_row_before(other.results[i])
            }
            _ => false,
        }
    }

    /// True if a scalar is one less than the position.
    fn is_before(&self, a: Atom) -> bool {
        match self.origin(a) {
            Some((Exp::Prim(PrimOp::Bin(BinOp::Sub, Prim::I64), xs), _)) => {
                xs[0] == Atom::Var(self.pos) && self.is_one(xs[1])
            }
            Some((Exp::Prim(PrimOp::Bin(BinOp::Add, Prim::I64), xs), _)) => {
                let (pos, less) = (Atom::Var(self.pos), Atom::i64(-1));
                xs[..] == [pos, less] || xs[..] == [less, pos]
            }
            _ => false,
        }
    }

    /// True if a flag is set at position 0 only.
    fn is_first(&self, flag: Atom) -> bool {
        let pos = Atom::Var(self.pos);
        match self.origin(flag) {
            Some((Exp::Prim(PrimOp::Cmp(CmpOp::Eq, Prim::I64), xs), _)) => {
                xs[..] == [pos, Atom::i64(0)] || xs[..] == [Atom::i64(0), pos]
            }
            Some((Exp::Prim(PrimOp::Cmp(CmpOp::Lt, Prim::I64), xs), _)) => xs[0] == pos && self.is_one(xs[1]),
            _ => false,
        }
    }

    /// True if a scalar of the host is 1: the constant, or what a rotation by one leaves of all positions.
    fn is_one(&self, a: Atom) -> bool {
        if a == Atom::i64(1) {
            return true;
        }
        match self.host(a) {
            Some((Op::Prim(PrimOp::Bin(BinOp::Sub, Prim::I64), xs), _)) => {
                xs[0] == self.n && self.is_last(xs[1])
            }
            _ => false,
        }
    }

    /// True if a scalar of the host is the last position.
    fn is_last(&self, a: Atom) -> bool {
        match self.host(a) {
            Some((Op::Prim(PrimOp::Bin(BinOp::Sub, Prim::I64), xs), _)) => xs[..] == [self.n, Atom::i64(1)],
            Some((Op::If { cond, other, .. }, i)) => {
                let none = matches!(self.host(*cond), Some((Op::Prim(PrimOp::Cmp(CmpOp::Eq, Prim::I64), xs), _))
                    if xs[..] == [self.n, Atom::i64(0)]);
                let wraps = |s: &flat::Stm| {
                    s.pat.first().map(|p| Atom::Var(p.var)) == Some(other.results[i])
                        && matches!(&s.op, Op::Prim(PrimOp::Bin(BinOp::Mod, Prim::I64), xs)
                            if xs[..] == [Atom::i64(-1), self.n])
                };
                none && other.stms.iter().any(wraps)
            }
            _ => false,
        }
    }

    fn host(&self, a: Atom) -> Option<(&'k Op, usize)> {
        let v = a.var()?;
        let number = |s: &flat::Stm| s.pat.iter().position(|p| p.var == v);
        self.host.iter().find_map(|s| number(s).map(|i| (&s.op, i)))
    }
}
