//! Symbolic scalar expressions: where in which flat array a value is, in terms of positions of levels.
//!
//! ```text
//! row i of a ragged array, element j        Load(data, Off(d, Pos(l1)) + Local(l2))
//! which is, if l2 has descriptor d over l1  Load(data, Pos(l2))
//! ```
//!
//! Because the sum of a row's start and the index inside the row is recognised as the position itself, packed
//! data needs no index arithmetic, and a copy of packed data is recognised as unnecessary.

use super::Flattener;
use super::nest::{FDim, Kind, LevelId, ROOT};
use par_ir::prim::BinOp;
use par_ir::{Atom, Prim, Var};
use std::rc::Rc;

/// A scalar that any kernel at the levels it mentions (or deeper) can compute without failing.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Ex {
    /// A host scalar, a constant, or (inside one kernel only) a variable of its body.
    Atom(Atom),
    /// The position in a level's flat space.
    Pos(LevelId),
    /// The index inside the row of the parent level's position.
    Local(LevelId),
    Add(Rc<Ex>, Rc<Ex>),
    Sub(Rc<Ex>, Rc<Ex>),
    Mul(Rc<Ex>, Rc<Ex>),
    /// Any other `i64` operator that cannot fail.
    Op(BinOp, Rc<Ex>, Rc<Ex>),
    /// Offset of a row of a descriptor.
    Off(Var, Rc<Ex>),
    /// Length of a row of a descriptor.
    Len(Var, Rc<Ex>),
    /// Element of a flat array.
    Load(Var, Prim, Rc<Ex>),
}

impl Ex {
    pub const fn i64(x: i64) -> Ex {
        Ex::Atom(Atom::i64(x))
    }

    /// The host atom, if it is one.
    pub fn atom(&self) -> Option<Atom> {
        match self {
            Ex::Atom(a) => Some(*a),
            _ => None,
        }
    }

    fn as_i64(&self) -> Option<i64> {
        self.atom().and_then(Atom::as_i64)
    }

    /// True if the value depends on the position in `level`.
    pub fn depends_on(&self, level: LevelId) -> bool {
        self.any(&|e| matches!(e, Ex::Pos(l) | Ex::Local(l) if *l == level))
    }

    /// True if it is the same at all positions of any level.
    pub fn is_of_host(&self) -> bool {
        !self.any(&|e| matches!(e, Ex::Pos(_) | Ex::Local(_)))
    }

    /// True if the host can compute it without reading an array.
    pub fn is_arithmetic(&self) -> bool {
        self.is_of_host() && !self.any(&|e| matches!(e, Ex::Off(..) | Ex::Len(..) | Ex::Load(..)))
    }

    /// True if something holds for the expression or a part of it.
    pub fn any(&self, holds: &impl Fn(&Ex) -> bool) -> bool {
        let inside = match self {
            Ex::Atom(_) | Ex::Pos(_) | Ex::Local(_) => false,
            Ex::Add(a, b) | Ex::Sub(a, b) | Ex::Mul(a, b) | Ex::Op(_, a, b) => a.any(holds) || b.any(holds),
            Ex::Off(_, i) | Ex::Len(_, i) | Ex::Load(_, _, i) => i.any(holds),
        };
        inside || holds(self)
    }

    /// Adds the variables in it.
    pub fn vars(&self, found: &mut Vec<Var>) {
        match self {
            Ex::Atom(a) => found.extend(a.var()),
            Ex::Pos(_) | Ex::Local(_) => {}
            Ex::Add(a, b) | Ex::Sub(a, b) | Ex::Mul(a, b) | Ex::Op(_, a, b) => {
                a.vars(found);
                b.vars(found);
            }
            Ex::Off(v, i) | Ex::Len(v, i) | Ex::Load(v, _, i) => {
                found.push(*v);
                i.vars(found);
            }
        }
    }

    /// The expression as a function of the number of the position in `level`, which is `Pos(ROOT)` then; none if it depends on
    /// anything else that has positions.
    pub fn by_position(&self, level: LevelId) -> Option<Ex> {
        let of = |e: &Rc<Ex>| e.by_position(level).map(Rc::new);
        Some(match self {
            Ex::Atom(a) => Ex::Atom(*a),
            Ex::Pos(l) if *l == level => Ex::Pos(ROOT),
            Ex::Pos(_) | Ex::Local(_) => return None,
            Ex::Add(a, b) => Ex::Add(of(a)?, of(b)?),
            Ex::Sub(a, b) => Ex::Sub(of(a)?, of(b)?),
            Ex::Mul(a, b) => Ex::Mul(of(a)?, of(b)?),
            Ex::Op(op, a, b) => Ex::Op(*op, of(a)?, of(b)?),
            Ex::Off(d, i) => Ex::Off(*d, of(i)?),
            Ex::Len(d, i) => Ex::Len(*d, of(i)?),
            Ex::Load(v, p, i) => Ex::Load(*v, *p, of(i)?),
        })
    }

    /// Calls `f` on every atom.
    pub fn atoms(&self, f: &mut impl FnMut(Atom)) {
        match self {
            Ex::Atom(a) => f(*a),
            Ex::Pos(_) | Ex::Local(_) => {}
            Ex::Add(a, b) | Ex::Sub(a, b) | Ex::Mul(a, b) | Ex::Op(_, a, b) => {
                a.atoms(f);
                b.atoms(f);
            }
            Ex::Off(_, i) | Ex::Len(_, i) | Ex::Load(_, _, i) => i.atoms(f),
        }
    }
}

impl Flattener<'_> {
    pub fn add(&self, a: Ex, b: Ex) -> Ex {
        match (a.as_i64(), b.as_i64()) {
            (Some(x), Some(y)) => return Ex::i64(x.wrapping_add(y)),
            (Some(0), _) => return b,
            (_, Some(0)) => return a,
            _ => {}
        }
        for (start, local) in [(&a, &b), (&b, &a)] {
            if let Ex::Local(level) = local
                && *start == self.start_of(*level)
            {
                return Ex::Pos(*level);
            }
        }
        Ex::Add(Rc::new(a), Rc::new(b))
    }

    pub fn sub(&self, a: Ex, b: Ex) -> Ex {
        match (a.as_i64(), b.as_i64()) {
            (Some(x), Some(y)) => Ex::i64(x.wrapping_sub(y)),
            (_, Some(0)) => a,
            _ => Ex::Sub(Rc::new(a), Rc::new(b)),
        }
    }

    pub fn mul(&self, a: Ex, b: Ex) -> Ex {
        match (a.as_i64(), b.as_i64()) {
            (Some(x), Some(y)) => Ex::i64(x.wrapping_mul(y)),
            (Some(0), _) | (_, Some(0)) => Ex::i64(0),
            (Some(1), _) => b,
            (_, Some(1)) => a,
            _ => Ex::Mul(Rc::new(a), Rc::new(b)),
        }
    }

    /// Offset of row `i`; row 0 starts at 0.
    pub fn off(&self, desc: Var, i: Ex) -> Ex {
        if i.as_i64() == Some(0) {
            return Ex::i64(0);
        }
        match self.shapes.appended_rows.get(&desc) {
            Some(rows) => rows.dims.iter().fold(i, |i, d| self.row_start(*d, i)),
            None => Ex::Off(desc, Rc::new(i)),
        }
    }

    /// Start of row `i` of an array with this first inner dimension.
    pub fn row_start(&self, dim: FDim, i: Ex) -> Ex {
        match dim {
            FDim::Size(m) => self.mul(i, Ex::Atom(m)),
            FDim::Seg(d) => self.off(d, i),
            FDim::View(starts) | FDim::Steps(starts, _) => Ex::Load(starts, Prim::I64, Rc::new(i)),
        }
    }

    /// The position of the first element of a level inside its parent's position.
    pub fn start_of(&self, level: LevelId) -> Ex {
        let l = self.shapes.level(level);
        match (&l.kind, l.parent) {
            (Kind::Dim(_), Some(p)) if self.shapes.is_root(p) => Ex::i64(0),
            (Kind::Dim(d), Some(p)) => self.row_start(*d, Ex::Pos(p)),
            _ => Ex::i64(0),
        }
    }

    /// The index inside the parent's row.
    pub fn local(&self, level: LevelId) -> Ex {
        if self.start_of(level) == Ex::i64(0) { Ex::Pos(level) } else { Ex::Local(level) }
    }

    /// If `ix` is `s + Local(level)` with `s` independent of the level: `s`.
    pub fn split_local(&self, ix: &Ex, level: LevelId) -> Option<Ex> {
        match ix {
            Ex::Pos(l) if *l == level => Some(self.start_of(level)),
            Ex::Local(l) if *l == level => Some(Ex::i64(0)),
            Ex::Add(a, b) => {
                let local = self.local(level);
                let (rest, other) = if **a == local { (b, a) } else { (a, b) };
                (**other == local && !rest.depends_on(level)).then(|| (**rest).clone())
            }
            _ => None,
        }
    }
}
