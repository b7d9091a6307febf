//! Host statements under construction.

use super::ex::Ex;
use super::nest::{Extent, LevelId};
use par_ir::flat::{self, Op, Ty};
use par_ir::hash::{HashMap, HashSet};
use par_ir::place::{PlaceId, Places};
use par_ir::prim::{BinOp, CmpOp};
use par_ir::{Atom, CheckKind, Prim, PrimOp, Span, Var, Vars};

/// Results computed already in a host block, so that they are computed once.
#[derive(Clone, PartialEq, Eq, Hash)]
pub enum Known {
    Offsets(Var),
    SegIds(Var),
    Lengths(Var),
    Total(Var),
    Length(Var),
    Count(LevelId),
    /// The descriptor with these row lengths over the positions of a level.
    Desc(Ex, LevelId),
    /// The same, where the lengths depend on nothing but the number of the position, as `Pos(ROOT)`.
    DescOf(Ex, Extent),
    /// The descriptor with the row lengths in a flat array.
    Made(Var),
    /// The descriptor of so many rows of one length.
    Uniform(Atom, Atom),
    /// A range.
    Range(Atom),
    /// Copies of a scalar.
    Copies(Atom, Atom),
    /// So many multiples of a size, from 0 on.
    Multiples(Atom, Atom),
    /// The starts of rows, so much further on.
    Shifted(Var, Atom),
    /// A CORE array that is the same for all positions, in stored rows.
    Outside(Var),
    /// Parts of a rope: the rope, and what is added to the indices of each.
    Rope(Vec<Var>),
    /// An expression stored for every position of a level.
    Stored(Ex, LevelId),
}

/// A host block under construction.
#[derive(Default)]
pub struct Scope {
    pub stms: Vec<flat::Stm>,
    pub known: HashMap<Known, Vec<Atom>>,
}

/// The host blocks that are open, and what is known of their variables.
pub struct HostBuilder {
    pub vars: Vars,
    /// The open blocks, outermost first.
    pub scopes: Vec<Scope>,
    /// In how many host blocks each host variable is bound.
    pub bound_in: HashMap<Var, usize>,
    /// Flat variables that are ropes.
    pub ropes: HashSet<Var>,
    /// Types of host scalars.
    pub host_prims: HashMap<Var, Prim>,
    /// Host scalars that may be negative: of two sizes one was subtracted, or they are computed from such.
    differences: HashSet<Var>,
    /// Of the statement being flattened.
    pub span: Span,
    /// The constructs around it.
    pub place: PlaceId,
    pub places: Places,
}

impl HostBuilder {
    pub fn new(vars: Vars) -> HostBuilder {
        HostBuilder {
            vars,
            scopes: Vec::new(),
            bound_in: HashMap::default(),
            ropes: HashSet::default(),
            host_prims: HashMap::default(),
            differences: HashSet::default(),
            span: Span::default(),
            place: PlaceId::default(),
            places: Places::default(),
        }
    }

    pub fn emit(&mut self, pat: Vec<flat::Param>, op: Op) {
        pat.iter().for_each(|p| self.declare(p));
        if let Op::Prim(
            PrimOp::Bin(bin @ (BinOp::Sub | BinOp::Add | BinOp::Mul | BinOp::Min), Prim::I64),
            xs,
        ) = &op
        {
            let is_difference = |a: &Atom| a.var().is_some_and(|v| self.differences.contains(&v));
            if *bin == BinOp::Sub || xs.iter().any(is_difference) {
                self.differences.insert(pat[0].var);
            }
        }
        let (span, place) = (self.span, self.place);
        let scope = self.scopes.last_mut().expect("a host block is open");
        scope.stms.push(flat::Stm { pat, op, span, place });
    }

    /// Guards the ranges and copies among the innermost block's statements from `from` on, which are made before a branch is taken: one whose
    /// size is a difference has no elements where that is negative, since the branch is not taken then.
    pub fn guard_sizes(&mut self, from: usize) {
        let made = self.scopes.last_mut().expect("a host block is open").stms.split_off(from);
        for mut stm in made {
            if let Op::Iota(n) | Op::Replicate(n, _) = &mut stm.op
                && n.var().is_some_and(|v| self.differences.contains(&v))
            {
                let op = Op::Prim(PrimOp::Bin(BinOp::Max, Prim::I64), vec![*n, Atom::i64(0)]);
                *n = self.bind("size", Ty::Scalar(Prim::I64), op).into();
            }
            self.scopes.last_mut().expect("a host block is open").stms.push(stm);
        }
    }

    /// Notes what matters of the type of a host variable.
    pub fn declare(&mut self, p: &flat::Param) {
        self.bound_in.insert(p.var, self.scopes.len());
        match p.ty {
            Ty::Scalar(prim) => drop(self.host_prims.insert(p.var, prim)),
            Ty::Rope(_) => drop(self.ropes.insert(p.var)),
            Ty::Array(_) | Ty::Desc => {}
        }
    }

    /// Emits a statement with one result.
    pub fn bind(&mut self, name: &str, ty: Ty, op: Op) -> Var {
        let var = self.vars.fresh(name);
        self.emit(vec![flat::Param { var, ty }], op);
        var
    }

    /// A scalar operator.
    pub fn prim(&mut self, name: &str, op: PrimOp, args: Vec<Atom>) -> Atom {
        self.bind(name, Ty::Scalar(op.result()), Op::Prim(op, args)).into()
    }

    /// An operator on conditions.
    pub fn logic(&mut self, name: &str, op: BinOp, a: Atom, b: Atom) -> Atom {
        self.prim(name, PrimOp::Bin(op, Prim::Bool), vec![a, b])
    }

    /// A comparison of `i64`s.
    pub fn compare(&mut self, name: &str, op: CmpOp, a: Atom, b: Atom) -> Atom {
        self.prim(name, PrimOp::Cmp(op, Prim::I64), vec![a, b])
    }

    /// Emits `op` unless the same fact is known in an enclosing block.
    pub fn bind_once(&mut self, key: Known, name: &str, ty: Ty, op: Op) -> Var {
        if let Some(Atom::Var(v)) = self.known(&key) {
            return v;
        }
        let v = self.bind(name, ty, op);
        self.learn(key, v.into());
        v
    }

    pub fn known(&self, key: &Known) -> Option<Atom> {
        self.scopes.iter().rev().find_map(|s| s.known.get(key)).map(|all| all[0])
    }

    pub fn known_all(&self, key: &Known) -> Option<Vec<Atom>> {
        self.scopes.iter().rev().find_map(|s| s.known.get(key)).cloned()
    }

    pub fn learn(&mut self, key: Known, value: Atom) {
        self.learn_all(key, vec![value]);
    }

    pub fn learn_all(&mut self, key: Known, values: Vec<Atom>) {
        self.scopes.last_mut().expect("a host block is open").known.insert(key, values);
    }

    /// A host `i64` operator, folded where both operands are constants.
    pub fn host_op(&mut self, op: BinOp, a: Atom, b: Atom) -> Atom {
        use BinOp::{Add, Mul, Sub};
        match (op, a.as_i64(), b.as_i64()) {
            (Add, Some(x), Some(y)) => Atom::i64(x.wrapping_add(y)),
            (Sub, Some(x), Some(y)) => Atom::i64(x.wrapping_sub(y)),
            (Mul, Some(x), Some(y)) => Atom::i64(x.wrapping_mul(y)),
            (Add, Some(0), _) | (Mul, Some(1), _) => b,
            (Add | Sub, _, Some(0)) | (Mul, _, Some(1)) => a,
            (Mul, Some(0), _) | (Mul, _, Some(0)) => Atom::i64(0),
            _ => self.prim("n", PrimOp::Bin(op, Prim::I64), vec![a, b]),
        }
    }

    /// The product of two sizes. A space too large to be counted is out of memory, not an empty one.
    pub fn checked_product(&mut self, rows: Atom, m: Atom) -> Atom {
        let product = self.host_op(BinOp::Mul, rows, m);
        let known = |a: Atom| a.as_i64().is_some_and(|x| x <= 1);
        if product.as_i64().is_some() || known(rows) || known(m) {
            return product;
        }
        let high = self.prim("high", PrimOp::Bin(BinOp::MulHi, Prim::I64), vec![rows, m]);
        let fits = self.compare("fits", CmpOp::Eq, high, Atom::i64(0));
        let positive = self.compare("positive", CmpOp::Ge, product, Atom::i64(0));
        let cond = self.logic("ok", BinOp::And, fits, positive);
        let args = vec![Atom::i64(i64::MAX)];
        self.emit(vec![], Op::Check { cond, kind: CheckKind::OutOfMemory, args });
        product
    }

    pub fn total(&mut self, d: Var) -> Atom {
        self.bind_once(Known::Total(d), "total", Ty::Scalar(Prim::I64), Op::Total(d)).into()
    }

    pub fn offsets(&mut self, d: Var) -> Var {
        self.bind_once(Known::Offsets(d), "off", Ty::Array(Prim::I64), Op::Offsets(d))
    }

    pub fn seg_ids(&mut self, d: Var) -> Var {
        self.bind_once(Known::SegIds(d), "ii", Ty::Array(Prim::I64), Op::SegIds(d))
    }

    pub fn lengths(&mut self, d: Var) -> Var {
        self.bind_once(Known::Lengths(d), "lens", Ty::Array(Prim::I64), Op::Lengths(d))
    }

    pub fn array_length(&mut self, a: Var) -> Atom {
        self.bind_once(Known::Length(a), "len", Ty::Scalar(Prim::I64), Op::Length(a)).into()
    }
}
