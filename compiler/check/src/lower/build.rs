//! Emission of statements into a stack of open blocks.
//!
//! Every variable knows the **level** at which it is bound (the index of its block in the stack). That decides
//! what is invariant to a lambda, a loop or a branch, which matters for shapes: a row length computed from outer sizes
//! only is uniform. For the same reason `i64` arithmetic is emitted at the level of its operands and not where it is
//! written, and equal expressions share one variable:
//!
//! ```text
//! map (\xs -> iota (n - 1)) xss     the size n - 1 is bound outside the map: the result is a matrix
//! ```

use super::value::Val;
use super::{Lower, R};
use crate::thir::DefId;
use par_ir::core::{Exp, Param, Stm};
use par_ir::hash::{HashMap, HashSet};
use par_ir::prim::{BinOp, CmpOp, UnOp};
use par_ir::{Atom, CheckKind, Dim, Prim, PrimOp, Scalar, Type, Var};
use par_syntax::diagnostic::{Diagnostic, Severity};

/// A block being filled, with what is known inside it.
#[derive(Default)]
pub(super) struct Block<'p> {
    pub stms: Vec<Stm>,
    known: HashMap<Key, Atom>,
    checked: HashSet<Atom>,
    /// Definitions without parameters that were evaluated here.
    pub values: HashMap<DefId, Val<'p>>,
}

/// The open blocks, and the variables bound so far.
#[derive(Default)]
pub(super) struct Scope<'p> {
    pub blocks: Vec<Block<'p>>,
    /// By variable: the index of the block that binds it, and its type.
    pub levels: Vec<u32>,
    pub types: Vec<Option<Type>>,
    /// Statements emitted in all blocks.
    pub emitted: usize,
}

/// Expressions whose variable is found again.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(super) enum Key {
    Prim(PrimOp, Vec<Atom>),
    Index(Var, Vec<Atom>),
    Lengths(Var),
    Total(Var),
    MakeDesc(Var),
    Iota(Atom),
    /// The same data at another type.
    Retype(Var, Type),
    /// An `i64` array of these dims filled with one size.
    Filled(Vec<Dim>, Atom),
    Flatten(Var),
    /// The size that all rows of a descriptor have.
    Uniform(Var, Option<Atom>),
    /// A slice of a descriptor or array.
    Slice(Var, Atom, Atom, Atom),
}

/// Maximum number of statements of a program after inlining.
const MAX_STATEMENTS: usize = 1_000_000;

impl<'p> Lower<'p> {
    /// A variable bound in the innermost block.
    pub fn fresh(&mut self, name: &str, ty: Type) -> Var {
        let level = self.scope.blocks.len().saturating_sub(1) as u32;
        self.fresh_at(name, ty, level)
    }

    fn fresh_at(&mut self, name: &str, ty: Type, level: u32) -> Var {
        let var = self.out.vars.fresh(name);
        self.scope.levels.push(level);
        self.scope.types.push(Some(ty));
        var
    }

    /// Takes over the variables that another transformation has made. Those without a type are bound nowhere: code with them was given up.
    pub fn adopt_vars(&mut self, types: &HashMap<Var, Type>) {
        for id in self.scope.types.len()..self.out.vars.len() {
            self.scope.levels.push(self.scope.blocks.len() as u32);
            self.scope.types.push(types.get(&Var(id as u32)).cloned());
        }
    }

    /// A fresh parameter of the innermost block.
    pub fn param(&mut self, name: &str, ty: Type) -> Param {
        Param { var: self.fresh(name, ty.clone()), ty }
    }

    /// A fresh `i64` parameter of the innermost block that is the size of an array.
    pub fn size_param(&mut self, name: &str) -> Param {
        let p = self.param(name, Type::I64);
        self.facts.sizes.insert(p.var);
        p
    }

    /// The type of a variable.
    pub fn type_of(&self, v: Var) -> &Type {
        let ty = self.scope.types.get(v.0 as usize).and_then(Option::as_ref);
        ty.unwrap_or_else(|| panic!("internal error in lower: v_{} has no type", v.0))
    }

    /// Bound outside the block of index `level`.
    pub fn is_outside(&self, a: Atom, level: usize) -> bool {
        a.var().is_none_or(|v| (self.scope.levels[v.0 as usize] as usize) < level)
    }

    /// Bound outside the block of index `level`.
    pub fn dim_is_outside(&self, d: Dim, level: usize) -> bool {
        match d {
            Dim::Size(a) => self.is_outside(a, level),
            Dim::Seg(s) => self.is_outside(Atom::Var(s), level),
        }
    }

    /// Adds a statement to the innermost block.
    pub fn push(&mut self, pat: Vec<Param>, exp: Exp) {
        let level = self.scope.blocks.len() - 1;
        self.push_at(level, pat, exp);
    }

    /// As `push`, with the statement's own place.
    pub fn push_stm(&mut self, stm: Stm) {
        let before = std::mem::replace(&mut self.place.span, stm.span);
        self.push(stm.pat, stm.exp);
        self.place.span = before;
    }

    fn push_at(&mut self, level: usize, pat: Vec<Param>, exp: Exp) {
        self.scope.emitted += 1;
        let span = self.place.span;
        self.scope.blocks[level].stms.push(Stm { pat, exp, span });
    }

    /// Binds the single result of `exp`.
    pub fn emit(&mut self, name: &str, ty: Type, exp: Exp) -> Var {
        let p = self.param(name, ty);
        let var = p.var;
        self.push(vec![p], exp);
        var
    }

    /// As `emit`, but reuses the variable of an equal expression in scope.
    pub fn share(&mut self, key: Key, name: &str, ty: Type, exp: Exp) -> Var {
        if let Some(Atom::Var(v)) = self.find(&key) {
            return v;
        }
        let v = self.emit(name, ty, exp);
        self.remember(key, Atom::Var(v));
        v
    }

    /// The variable of an equal expression in scope.
    pub fn find(&self, key: &Key) -> Option<Atom> {
        self.scope.blocks.iter().rev().find_map(|b| b.known.get(key).copied())
    }

    /// Notes what an expression is bound to in the innermost block.
    pub fn remember(&mut self, key: Key, a: Atom) {
        if let Some(b) = self.scope.blocks.last_mut() {
            b.known.insert(key, a);
        }
    }

    /// Runs `f` with a new innermost block and gives the block back.
    pub fn in_block<T>(&mut self, f: impl FnOnce(&mut Self) -> R<T>) -> R<(Block<'p>, T)> {
        self.limit()?;
        let (block, result) = self.resume(Block::default(), f);
        Ok((block, result?))
    }

    /// Runs `f` in the innermost block and takes the statements out that it adds there. What they made known is forgotten: it may be
    /// bound later than what comes next.
    pub fn taken<T>(&mut self, f: impl FnOnce(&mut Self) -> T) -> (T, Vec<Stm>) {
        let at = self.scope.blocks.len() - 1;
        let (start, known) = (self.scope.blocks[at].stms.len(), self.scope.blocks[at].known.clone());
        let result = f(self);
        let block = &mut self.scope.blocks[at];
        block.known = known;
        (result, block.stms.split_off(start))
    }

    /// Goes on in a block that was closed.
    pub fn resume<T>(&mut self, block: Block<'p>, f: impl FnOnce(&mut Self) -> T) -> (Block<'p>, T) {
        self.scope.blocks.push(block);
        let result = f(self);
        (self.scope.blocks.pop().unwrap_or_default(), result)
    }

    /// An error if inlining got out of hand.
    pub fn limit(&self) -> R<()> {
        if self.scope.emitted <= MAX_STATEMENTS {
            return Ok(());
        }
        Err(Box::new(
            Diagnostic::error("E0513", "the program becomes too large", self.place.span)
                .note(
                    "large functions are called, but the library's, those marked `#[inline]` and those that give functions \
                     are inlined at every call",
                ),
        ))
    }

    // Scalars -------------------------------------------------------------------------------------------------

    /// A scalar operator: folded, shared, and integer arithmetic as far out as its operands allow.
    pub fn prim(&mut self, op: PrimOp, args: &[Atom]) -> Atom {
        if let Some(a) = fold(op, args).or_else(|| self.power(op, args)).or_else(|| self.cancelled(op, args))
        {
            return a;
        }
        let key = Key::Prim(op, args.to_vec());
        if let Some(a) = self.find(&key) {
            return a;
        }
        let level = if may_move(op, args) { self.level_of(args) } else { self.scope.blocks.len() - 1 };
        let ty = Type::scalar(op.result());
        let var = self.fresh_at("t", ty.clone(), level as u32);
        self.push_at(level, vec![Param { var, ty }], Exp::Prim(op, args.to_vec()));
        self.scope.blocks[level].known.insert(key, Atom::Var(var));
        match op {
            PrimOp::Bin(BinOp::Mul, Prim::I64) => {
                self.facts.products.insert(var, (args[0], args[1]));
            }
            PrimOp::Bin(BinOp::Add | BinOp::Sub, Prim::I64) => {
                if op == PrimOp::Bin(BinOp::Add, Prim::I64) {
                    self.facts.sums.insert(var, (args[0], args[1]));
                }
                self.note_shift(var, op, args);
            }
            _ => {}
        }
        Atom::Var(var)
    }

    /// `n + m - n` is `m`.
    fn cancelled(&self, op: PrimOp, args: &[Atom]) -> Option<Atom> {
        let (PrimOp::Bin(BinOp::Sub, Prim::I64), &[a, b]) = (op, args) else { return None };
        match a.var().and_then(|v| self.facts.sums.get(&v))? {
            (x, y) if *x == b => Some(*y),
            (x, y) if *y == b => Some(*x),
            _ => None,
        }
    }

    /// Remembers that a variable is another one and a constant.
    fn note_shift(&mut self, var: Var, op: PrimOp, args: &[Atom]) {
        let (base, by) = match (op, args[0].as_i64(), args[1].as_i64()) {
            (_, None, Some(by)) if op == PrimOp::Bin(BinOp::Add, Prim::I64) => (args[0], by),
            (_, None, Some(by)) => (args[0], by.wrapping_neg()),
            (PrimOp::Bin(BinOp::Add, _), Some(by), None) => (args[1], by),
            _ => return,
        };
        let (base, more) = self.as_shift(base);
        self.facts.shifts.insert(var, (base, by.wrapping_add(more)));
    }

    /// A number as another one and a constant that is added to it.
    pub fn as_shift(&self, a: Atom) -> (Atom, i64) {
        a.var().and_then(|v| self.facts.shifts.get(&v)).copied().unwrap_or((a, 0))
    }

    /// The innermost level among the operands.
    fn level_of(&self, args: &[Atom]) -> usize {
        args.iter()
            .filter_map(|a| a.var())
            .map(|v| self.scope.levels[v.0 as usize] as usize)
            .max()
            .unwrap_or(0)
    }

    pub fn bin(&mut self, op: BinOp, p: Prim, a: Atom, b: Atom) -> Atom {
        self.prim(PrimOp::Bin(op, p), &[a, b])
    }

    pub fn add(&mut self, a: Atom, b: Atom) -> Atom {
        self.bin(BinOp::Add, Prim::I64, a, b)
    }

    pub fn sub(&mut self, a: Atom, b: Atom) -> Atom {
        self.bin(BinOp::Sub, Prim::I64, a, b)
    }

    pub fn mul(&mut self, a: Atom, b: Atom) -> Atom {
        self.bin(BinOp::Mul, Prim::I64, a, b)
    }

    /// An `i64` comparison.
    pub fn cmp(&mut self, op: CmpOp, a: Atom, b: Atom) -> Atom {
        self.prim(PrimOp::Cmp(op, Prim::I64), &[a, b])
    }

    pub fn and(&mut self, a: Atom, b: Atom) -> Atom {
        self.bin(BinOp::And, Prim::Bool, a, b)
    }

    pub fn not(&mut self, a: Atom) -> Atom {
        self.prim(PrimOp::Un(UnOp::Not, Prim::Bool), &[a])
    }

    pub fn select(&mut self, p: Prim, c: Atom, a: Atom, b: Atom) -> Atom {
        self.prim(PrimOp::Select(p), &[c, a, b])
    }

    /// A conversion; to the same type it is the operand.
    pub fn conv(&mut self, from: Prim, to: Prim, a: Atom) -> Atom {
        if from == to { a } else { self.prim(PrimOp::Conv(from, to), &[a]) }
    }

    /// A check, unless it holds already.
    pub fn check(&mut self, cond: Atom, kind: CheckKind, args: Vec<Atom>) {
        let holds = self.is_unchecked(&kind)
            || cond == Atom::bool(true)
            || self.scope.blocks.iter().any(|b| b.checked.contains(&cond));
        if holds {
            return;
        }
        if cond == Atom::bool(false) {
            self.always_fails(&kind, &args);
        }
        self.push(Vec::new(), Exp::Check { cond, kind, args });
        if let Some(b) = self.scope.blocks.last_mut() {
            b.checked.insert(cond);
        }
    }

    /// W0302, once at a place. A hole says so itself.
    fn always_fails(&mut self, kind: &CheckKind, args: &[Atom]) {
        let at = self.place.span;
        let constant = |a: &Atom| if let Atom::Const(c) = a { Some(*c) } else { None };
        let known: Option<Vec<Scalar>> = args.iter().map(constant).collect();
        let seen = |d: &Diagnostic| d.code == "W0302" && d.labels[0].span == at;
        if matches!(kind, CheckKind::Other(_)) || self.is_library(at) || self.diagnostics.iter().any(seen) {
            return;
        }
        let negative = args.iter().find(|a| a.as_i64().is_some_and(|n| n < 0));
        let what = match (known, kind, negative.and_then(|a| a.as_i64())) {
            (Some(args), ..) => kind.message(&args),
            (None, CheckKind::Bounds, Some(n)) => format!("the index {n} is negative"),
            (None, CheckKind::Slice, Some(n)) => format!("the end {n} of the slice is negative"),
            _ => "a check that never holds".to_string(),
        };
        let diag = Diagnostic::new(Severity::Warning, "W0302", format!("this always fails: {what}"), at);
        let diag = diag.here("the program ends if it comes to this");
        self.diagnostics.push(match (kind, args.last().and_then(|step| step.as_i64())) {
            (CheckKind::Range, Some(0)) => diag.note("the second element must differ from the first"),
            (CheckKind::Range, Some(1)) => {
                diag.note("to go down write `a..>b`, or give the second element: `5..4...2`")
            }
            (CheckKind::Range, _) => diag.note("the second element must lie towards the end"),
            (CheckKind::Bounds, _) if negative.is_some() => diag.note(
                "indices do not count from the end: the last element is `last a`, the one before it `a[length a - 2]`",
            ),
            (CheckKind::Slice, _) if negative.is_some() => diag.note(
                "ends of slices do not count from the end: `init a` is all but the last element, `a[length a - 2:]` the last two",
            ),
            _ => diag,
        });
    }

    /// An array that a leaf must be; scalars never stand below an array.
    pub fn leaf_var(&self, a: Atom) -> R<Var> {
        a.var().ok_or_else(|| self.internal("an array leaf is a constant"))
    }

    /// Our own mistake, reported like any other.
    pub fn internal(&self, what: &str) -> Box<Diagnostic> {
        Box::new(
            Diagnostic::error("E0999", format!("internal error in lowering: {what}"), self.place.span)
                .note("this is a bug of the compiler; please report it with the program"),
        )
    }
}

/// True for operators that a size can be computed with: cheap, and without a trap on any machine, so it may run where it is not needed.
/// Other operators stay where they are written; moving them is left to the passes.
fn may_move(op: PrimOp, args: &[Atom]) -> bool {
    let integers = op.result() == Prim::I64 && op.operands().iter().all(|p| p.is_integer());
    integers
        && match op {
            op if op.divides() => args[1].as_i64().is_some_and(|d| d != 0 && d != -1),
            PrimOp::Bin(BinOp::Pow, _) => false,
            _ => true,
        }
}

/// Evaluation of constants, and neutral operands of integer arithmetic.
fn fold(op: PrimOp, args: &[Atom]) -> Option<Atom> {
    let consts: Vec<Scalar> =
        args.iter().filter_map(|a| if let Atom::Const(c) = a { Some(*c) } else { None }).collect();
    if consts.len() == args.len() {
        return folds_exactly(op, &consts).then(|| Atom::Const(op.eval(&consts)));
    }
    let (zero, one) = (|a: Atom| a.as_i64() == Some(0), |a: Atom| a.as_i64() == Some(1));
    let truth = |b: bool| Some(Atom::bool(b));
    match (op, args) {
        (PrimOp::Bin(BinOp::Add, p), &[a, b]) if p.is_integer() && zero(a) => Some(b),
        (PrimOp::Bin(BinOp::Add | BinOp::Sub, p), &[a, b]) if p.is_integer() && zero(b) => Some(a),
        (PrimOp::Bin(BinOp::Sub, p), &[a, b]) if p.is_integer() && a == b => {
            Some(Atom::Const(Scalar::from_i64(p, 0)))
        }
        (PrimOp::Bin(BinOp::Mul, p), &[a, b]) if p.is_integer() && one(a) => Some(b),
        (PrimOp::Bin(BinOp::Mul | BinOp::Div | BinOp::Quot, p), &[a, b]) if p.is_integer() && one(b) => {
            Some(a)
        }
        (PrimOp::Bin(BinOp::Mul, p), &[a, b]) if p.is_integer() && (zero(a) || zero(b)) => {
            Some(Atom::Const(Scalar::from_i64(p, 0)))
        }
        (PrimOp::Bin(BinOp::And, Prim::Bool), &[a, b]) => fold_and(a, b),
        (PrimOp::Bin(BinOp::Or, Prim::Bool), &[a, b]) => fold_or(a, b),
        (PrimOp::Cmp(CmpOp::Eq | CmpOp::Le | CmpOp::Ge, p), &[a, b]) if !p.is_float() && a == b => {
            truth(true)
        }
        (PrimOp::Cmp(CmpOp::Ne | CmpOp::Lt | CmpOp::Gt, p), &[a, b]) if !p.is_float() && a == b => {
            truth(false)
        }
        (PrimOp::Select(_), &[Atom::Const(c), a, b]) => Some(if c == Scalar::Bool(true) { a } else { b }),
        (PrimOp::Select(_), &[_, a, b]) if a == b => Some(a),
        _ => None,
    }
}

/// Mathematical functions are left to the back end, so that they give there what they give at run time.
fn folds_exactly(op: PrimOp, args: &[Scalar]) -> bool {
    match op {
        PrimOp::Un(UnOp::Neg | UnOp::Not | UnOp::Abs | UnOp::Sgn | UnOp::Sqrt, _) => true,
        PrimOp::Un(_, p) => !p.is_float(),
        op if op.divides() => args[1].as_i64() != Some(0),
        PrimOp::Bin(BinOp::Pow | BinOp::Atan2 | BinOp::Atan2pi | BinOp::Hypot, p) => !p.is_float(),
        _ => true,
    }
}

fn fold_and(a: Atom, b: Atom) -> Option<Atom> {
    match (a, b) {
        (Atom::Const(Scalar::Bool(true)), x) | (x, Atom::Const(Scalar::Bool(true))) => Some(x),
        (Atom::Const(Scalar::Bool(false)), _) | (_, Atom::Const(Scalar::Bool(false))) => {
            Some(Atom::bool(false))
        }
        _ if a == b => Some(a),
        _ => None,
    }
}

fn fold_or(a: Atom, b: Atom) -> Option<Atom> {
    match (a, b) {
        (Atom::Const(Scalar::Bool(false)), x) | (x, Atom::Const(Scalar::Bool(false))) => Some(x),
        (Atom::Const(Scalar::Bool(true)), _) | (_, Atom::Const(Scalar::Bool(true))) => Some(Atom::bool(true)),
        _ if a == b => Some(a),
        _ => None,
    }
}
