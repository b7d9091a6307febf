//! Numbers that are known before a loop runs, or when an iteration begins: code computes them in the scope of the innermost index they
//! depend on.
//!
//! Elements are read behind a test of their indices, since the checks of the program are not made here. An operator that may fail
//! is not known.

use par_ir::build::Statements;
use par_ir::core::{Body, Exp, Param};
use par_ir::hash::{HashMap, HashSet};
use par_ir::prim::{BinOp, CmpOp, PrimOp};
use par_ir::stack::deeper;
use par_ir::{Atom, Dim, Prim, Scalar, Span, Type, Var, Vars};

/// A number, and the scope that computes it: 0 is before the loop.
pub(super) type Known = (usize, Atom);

/// Definition of a variable of the loop.
#[derive(Clone)]
pub(super) enum Def {
    Copy(Atom),
    Prim(PrimOp, Vec<Atom>),
    Element(Var, Vec<Atom>, Type),
}

/// Code of one iteration under construction.
struct Scope {
    index: Var,
    code: Statements,
}

pub(super) struct Values<'a> {
    pub vars: &'a mut Vars,
    /// Variables of the loop.
    inside: HashSet<Var>,
    types: &'a HashMap<Var, Type>,
    own_types: HashMap<Var, Type>,
    defs: HashMap<Var, Def>,
    known: HashMap<Var, Option<Known>>,
    /// Numbers of which one is not smaller.
    bounds: HashMap<Var, Vec<Atom>>,
    /// Rows of arrays from outside.
    rows: HashMap<Var, (Var, Vec<Atom>)>,
    scopes: Vec<Scope>,
}

impl<'a> Values<'a> {
    /// With one scope, before the loop.
    pub fn new(
        inside: HashSet<Var>,
        types: &'a HashMap<Var, Type>,
        span: Span,
        vars: &'a mut Vars,
    ) -> Values<'a> {
        let scopes = vec![Scope { index: vars.fresh("none"), code: Statements::new(span) }];
        Values {
            vars,
            inside,
            types,
            own_types: HashMap::default(),
            defs: HashMap::default(),
            known: HashMap::default(),
            bounds: HashMap::default(),
            rows: HashMap::default(),
            scopes,
        }
    }

    /// The code before the loop.
    pub fn finish(mut self) -> Vec<par_ir::core::Stm> {
        self.scopes.swap_remove(0).code.stms
    }

    /// A fresh variable that is not known.
    pub fn fresh(&mut self, name: &str) -> Var {
        let v = self.vars.fresh(name);
        self.inside.insert(v);
        v
    }

    /// The number of the innermost scope.
    pub fn depth(&self) -> usize {
        self.scopes.len() - 1
    }

    /// The code of a scope.
    pub fn code(&mut self, depth: usize) -> &mut Statements {
        &mut self.scopes[depth].code
    }

    /// Opens a scope, whose index may be known.
    pub fn open(&mut self, index: Option<Var>) {
        let span = self.scopes[0].code.span;
        let own = self.vars.fresh("i");
        self.scopes.push(Scope { index: own, code: Statements::new(span) });
        if let Some(v) = index {
            self.known.insert(v, Some((self.depth(), own.into())));
        }
    }

    /// Closes the innermost scope: its index and its code.
    pub fn close(&mut self) -> (Var, Statements) {
        let scope = self.scopes.pop().expect("one was opened");
        (scope.index, scope.code)
    }

    /// Says what a variable is.
    pub fn set(&mut self, v: Var, def: Def) {
        self.defs.insert(v, def);
    }

    /// Says of which type a variable is.
    pub fn note(&mut self, p: &Param) {
        self.own_types.insert(p.var, p.ty.clone());
    }

    /// A row or an element of an array.
    pub fn define_part(&mut self, p: &Param, arr: Var, at: &[Atom]) {
        let (root, mut indices) = self.rows.get(&arr).cloned().unwrap_or((arr, Vec::new()));
        if self.inside.contains(&root) {
            return;
        }
        indices.extend_from_slice(at);
        match p.ty.is_scalar() {
            true => self.set(p.var, Def::Element(root, indices, p.ty.clone())),
            false => {
                self.rows.insert(p.var, (root, indices));
            }
        }
    }

    /// Says that a variable is at most the largest of these.
    pub fn bound_by(&mut self, v: Var, most: Vec<Atom>) {
        self.bounds.insert(v, most);
    }

    /// Says that a variable is at most the size of an array.
    pub fn bound_by_size(&mut self, v: Var, arr: Var) {
        let ty = self.own_types.get(&arr).or_else(|| self.types.get(&arr));
        if let Some(Dim::Size(n)) = ty.and_then(|t| t.dims.first()) {
            self.bounds.insert(v, vec![*n]);
        }
    }

    /// A number, if it is known.
    pub fn value(&mut self, a: Atom) -> Option<Known> {
        let Some(v) = a.var() else { return Some((0, a)) };
        if let Some(known) = self.known.get(&v) {
            return *known;
        }
        if !self.inside.contains(&v) {
            return Some((0, a));
        }
        let known = deeper(|| match self.defs.get(&v).cloned()? {
            Def::Copy(a) => self.value(a),
            Def::Prim(op, args) => self.operator(op, &args),
            Def::Element(arr, at, ty) => self.element(arr, &at, &ty),
        });
        self.known.insert(v, known);
        known
    }

    /// An upper bound of a number, if one is known.
    pub fn at_most(&mut self, a: Atom) -> Option<Known> {
        if let Some(known) = self.value(a) {
            return Some(known);
        }
        let v = a.var()?;
        // Bounds may go round in a circle, as that of a part whose size stands in the size of the whole: each is used once on a way.
        if let Some(bounds) = self.bounds.remove(&v) {
            let all: Option<Vec<Known>> = bounds.iter().map(|b| deeper(|| self.at_most(*b))).collect();
            self.bounds.insert(v, bounds);
            return self.largest(&all?);
        }
        deeper(|| match self.defs.get(&v).cloned()? {
            Def::Copy(a) => self.at_most(a),
            Def::Prim(PrimOp::Bin(BinOp::Min, Prim::I64), args) => {
                self.at_most(args[0]).or_else(|| self.at_most(args[1]))
            }
            Def::Prim(PrimOp::Bin(op @ (BinOp::Add | BinOp::Max), Prim::I64), args) => {
                let (a, b) = (self.at_most(args[0])?, self.at_most(args[1])?);
                Some(self.arith(op, a, b))
            }
            Def::Prim(PrimOp::Bin(BinOp::Sub, Prim::I64), args) => {
                let (a, b) = (self.at_most(args[0])?, self.value(args[1])?);
                Some(self.arith(BinOp::Sub, a, b))
            }
            _ => None,
        })
    }

    fn operator(&mut self, op: PrimOp, args: &[Atom]) -> Option<Known> {
        if may_trap(op, args) {
            return None;
        }
        let args: Vec<Known> = args.iter().map(|a| self.value(*a)).collect::<Option<_>>()?;
        let depth = args.iter().map(|a| a.0).max().unwrap_or(0);
        let args = args.into_iter().map(|a| a.1).collect();
        Some((depth, self.scopes[depth].code.prim("known", op, args, self.vars)))
    }

    fn element(&mut self, arr: Var, at: &[Atom], ty: &Type) -> Option<Known> {
        let at: Vec<Known> = at.iter().map(|a| self.value(*a)).collect::<Option<_>>()?;
        let array = self.types.get(&arr)?.clone();
        if at.len() != array.rank() {
            return None;
        }
        let depth = at.iter().map(|a| a.0).max().unwrap_or(0);
        let at: Vec<Atom> = at.into_iter().map(|a| a.1).collect();
        let body = self.guarded(arr, &array, &at, 0, ty);
        self.scopes[depth].code.stms.extend(body.stms);
        Some((depth, body.results[0]))
    }

    /// An element whose indices from `k` on are tested; 0 if there is none.
    fn guarded(&mut self, arr: Var, array: &Type, at: &[Atom], k: usize, ty: &Type) -> Body {
        let mut code = Statements::new(self.scopes[0].code.span);
        if k == at.len() {
            let x = code.value("known", ty.clone(), Exp::Index(arr, at.to_vec()), self.vars);
            return code.results(vec![x.into()]);
        }
        let size = match array.dims[k] {
            Dim::Size(n) => n,
            Dim::Seg(s) => code.value("len", Type::I64, Exp::Index(s, at[..k].to_vec()), self.vars).into(),
        };
        let low = code.compare("inside", CmpOp::Le, Atom::i64(0), at[k], self.vars);
        let high = code.compare("inside", CmpOp::Lt, at[k], size, self.vars);
        let cond = code.logic("inside", BinOp::And, low, high, self.vars);
        let then = self.guarded(arr, array, at, k + 1, ty);
        let other = Body { stms: Vec::new(), results: vec![Atom::Const(Scalar::zero(ty.prim()))] };
        let x = code.value("known", ty.clone(), Exp::If { cond, then, other }, self.vars);
        code.results(vec![x.into()])
    }

    /// An operator on numbers.
    pub fn arith(&mut self, op: BinOp, a: Known, b: Known) -> Known {
        let folded = match (op, a.1.as_i64(), b.1.as_i64()) {
            (BinOp::Add, Some(0), _) | (BinOp::Mul, Some(1), _) => Some(b),
            (BinOp::Add, _, Some(0)) | (BinOp::Mul, _, Some(1)) => Some(a),
            (BinOp::Mul, Some(0), _) | (BinOp::Mul, _, Some(0)) => Some((0, Atom::i64(0))),
            (BinOp::Add, Some(x), Some(y)) => Some((0, Atom::i64(x.saturating_add(y)))),
            (BinOp::Mul, Some(x), Some(y)) => Some((0, Atom::i64(x.saturating_mul(y)))),
            (BinOp::Max, Some(x), Some(y)) => Some((0, Atom::i64(x.max(y)))),
            _ => None,
        };
        folded.unwrap_or_else(|| {
            let depth = a.0.max(b.0);
            (depth, self.scopes[depth].code.arith("size", op, a.1, b.1, self.vars))
        })
    }

    /// The sum.
    pub fn sum(&mut self, all: &[Known]) -> Known {
        all.iter().fold((0, Atom::i64(0)), |a, b| self.arith(BinOp::Add, a, *b))
    }

    /// The largest, 0 at least; nothing of nothing.
    pub fn largest(&mut self, all: &[Known]) -> Option<Known> {
        (!all.is_empty()).then(|| all.iter().fold((0, Atom::i64(0)), |a, b| self.arith(BinOp::Max, a, *b)))
    }

    /// Gives a number from before the loop a name.
    pub fn name(&mut self, v: Var, known: Known) {
        let p = Param { var: v, ty: Type::I64 };
        self.scopes[0].code.bind(vec![p], Exp::Atom(known.1));
    }
}

/// True if an operator may fail, or stop the processor, where the program would have checked its operands.
fn may_trap(op: PrimOp, args: &[Atom]) -> bool {
    use BinOp::{Div, Mod, Pow, Quot, Rem};
    let positive = || args[1].as_i64().is_some_and(|n| n > 0);
    match op {
        PrimOp::Bin(Div | Mod | Quot | Rem, prim) => !prim.is_float() && !positive(),
        PrimOp::Bin(Pow, _) => true,
        _ => false,
    }
}
