//! Facts about host scalars and arrays where a kernel runs: products, sizes, offsets.

use super::Form;
use super::form::Symbol;
use crate::flat::{Fun, KernelKind, LoopForm, Op, Stm, Ty};
use crate::hash::{HashMap, HashSet};
use crate::prim::{BinOp, PrimOp};
use crate::ty::{Atom, Var};
use par_runtime::value::ColumnType;
use par_runtime::{Prim, Scalar};

/// Facts of the host statements so far. Variables are bound once, so they stay true.
#[derive(Clone, Debug, Default)]
pub struct Facts {
    forms: HashMap<Var, Form>,
    factors: HashMap<Var, [Atom; 2]>,
    sizes: HashSet<Var>,
    offsets: HashMap<Var, Var>,
}

impl Facts {
    /// Notes what entry points are called with: the lengths of arrays, besides their own numbers.
    pub fn note_arguments(&mut self, f: &Fun) {
        let columns = f.entry.iter().flat_map(|e| e.params.iter()).flat_map(|(_, ty)| ty.columns());
        let is_size = |c: &ColumnType| matches!(c, ColumnType::Size);
        self.sizes.extend(f.params.iter().zip(columns).filter(|(_, c)| is_size(c)).map(|(p, _)| p.var));
    }

    /// Notes the form of a host scalar that is a sum.
    pub fn note_sum(&mut self, stm: &Stm) {
        if let Op::Prim(PrimOp::Bin(op @ (BinOp::Add | BinOp::Sub), Prim::I64), xs) = &stm.op {
            let (x, y) = (self.form(xs[0]), self.form(xs[1]));
            let sum = if *op == BinOp::Add { x.plus(&y) } else { x.minus(&y) };
            self.forms.extend(sum.if_short().map(|sum| (stm.pat[0].var, sum)));
        }
    }

    /// Notes what a statement binds.
    pub fn note(&mut self, stm: &Stm) {
        // Counters are not negative.
        if let Op::Loop { form: LoopForm::For { index, .. }, .. } = &stm.op {
            self.sizes.insert(*index);
        }
        let Some(p) = stm.pat.first() else { return };
        let is_size = match &stm.op {
            Op::Prim(PrimOp::Bin(BinOp::Mul, Prim::I64), xs) => {
                self.factors.insert(p.var, [xs[0], xs[1]]);
                if let Some(product) = self.form(xs[0]).times(&self.form(xs[1])) {
                    self.forms.insert(p.var, product);
                }
                false
            }
            Op::Prim(PrimOp::Bin(BinOp::Max, Prim::I64), xs) => xs.iter().any(|x| self.is_size(*x)),
            Op::Offsets(descriptor) => {
                self.offsets.insert(p.var, *descriptor);
                false
            }
            Op::Length(_) | Op::Rows(_) | Op::Total(_) => true,
            Op::Kernel(k) => matches!(k.kind, KernelKind::Filter) && p.ty == Ty::Scalar(Prim::I64),
            _ => false,
        };
        if is_size {
            self.sizes.insert(p.var);
        }
    }

    /// A host scalar: products are multiplied out.
    pub fn form(&self, a: Atom) -> Form {
        match a {
            Atom::Const(Scalar::I64(n)) => n.into(),
            Atom::Const(c) => c.as_i64().unwrap_or(0).into(),
            Atom::Var(v) => self.forms.get(&v).cloned().unwrap_or_else(|| Symbol::Var(v).into()),
        }
    }

    /// A form with those of host scalars in place of these; none if that is too long.
    pub fn expanded(&self, f: &Form) -> Option<Form> {
        let of = |s: &Symbol| if let Symbol::Var(v) = s { self.form((*v).into()) } else { (*s).into() };
        let product =
            |term: &[Symbol], n: i64| term.iter().try_fold(Form::from(n), |product, s| product.times(&of(s)));
        f.terms().try_fold(Form::default(), |sum, (term, n)| sum.plus(&product(term, n)?).if_short())
    }

    /// The factors of a host scalar that is a product.
    pub fn factors(&self, a: Atom) -> Option<[Atom; 2]> {
        self.factors.get(&a.var()?).copied()
    }

    /// True if a host scalar is known not to be negative.
    pub fn is_size(&self, a: Atom) -> bool {
        a.as_i64().is_some_and(|n| n >= 0) || a.var().is_some_and(|v| self.sizes.contains(&v))
    }

    /// The descriptor whose offsets an array holds.
    pub fn offsets(&self, array: Var) -> Option<Var> {
        self.offsets.get(&array).copied()
    }
}
