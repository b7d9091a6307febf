//! Histograms whose rows go to neighbouring elements: a loop along the row updates these, in groups.
//!
//! ```text
//! hist (+) d over [n] [m]                           for row < n
//!     (is[row] * m + j, xs[pos])                        first = is[row] * m
//!                                              ==>      if 0 <= first && first + m <= length d
//!                                                           loop d for j < m: d with [first + j] = d[first + j] + xs[start + j]
//!                                                       else one element after the other
//! ```
//!
//! A row has every element once, so the order in which one is updated stays what it was.

use super::emit::{Base, Ends, Result};
use super::fresh::Fresh;
use super::kernel::KernelEmitter;
use super::small_integers::needed;
use cranelift::prelude::*;
use par_ir::access::{Access, Facts, Symbol};
use par_ir::build::Statements;
use par_ir::core::{At, Exp, Param, Stm};
use par_ir::effects::Effects;
use par_ir::flat::{Kernel, KernelKind};
use par_ir::prim::BinOp;
use par_ir::ty::{Atom, Dim, Type};
use par_ir::{Prim, Span, Var, tuning};

/// The updates of a row.
pub struct RowUpdates {
    /// Bound outside: the row's first position, the first element that it updates, how many it has.
    start: Var,
    first: Var,
    count: Var,
    /// The destinations.
    dests: Vec<Var>,
    /// Computes the place of the element at a position.
    place: (Vec<Stm>, Atom),
    repeat: Stm,
}

impl RowUpdates {
    /// Of a histogram; none if the elements of a row need not be neighbours.
    pub fn new(kernel: &Kernel, fresh: &Fresh) -> Option<RowUpdates> {
        let KernelKind::Hist { op, .. } = &kernel.kind else { return None };
        let [place, values @ ..] = &kernel.body.results[..] else { return None };
        let is_plain = |s: &Stm| !s.has_effect();
        let all_plain = kernel.body.stms.iter().chain(&op.body.stms).all(is_plain);
        if kernel.space.0.len() < 2 || !all_plain || !grows_by_one(kernel, *place) {
            return None;
        }
        let vars = &mut *fresh.table();
        let [start, first, count, j] = ["start", "first", "count", "j"].map(|name| vars.fresh(name));
        let mut code = Statements::new(Span::default());
        let position = Exp::Prim(par_ir::PrimOp::Bin(BinOp::Add, Prim::I64), vec![start.into(), j.into()]);
        code.bind(vec![Param { var: kernel.pos, ty: Type::I64 }], position);
        code.stms.extend(kernel.body.stms.iter().cloned());
        let at = code.arith("at", BinOp::Add, first.into(), j.into(), vars);
        let of_prim = |p: Prim| Type::array(vec![Dim::Size(count.into())], p);
        let mut state = |p: Prim| Param { var: vars.fresh("dest"), ty: of_prim(p) };
        let pairs: Vec<(Param, Param)> = op.ret.iter().map(|t| (state(t.prim()), state(t.prim()))).collect();
        let (olds, news) = op.params.split_at(pairs.len());
        for ((_, d), p) in pairs.iter().zip(olds) {
            code.index(p.clone(), d.var, vec![at]);
        }
        code.names(news, values.iter().copied());
        code.stms.extend(op.body.stms.iter().cloned());
        let mut results = Vec::new();
        for ((_, d), x) in pairs.iter().zip(&op.body.results) {
            let exp = Exp::Update { arr: d.var, at: At::indices(&[at]), value: *x };
            results.push(code.value("dest", d.ty.clone(), exp, vars).into());
        }
        let params = pairs.iter().map(|(dest, d)| (d.clone(), dest.var.into())).collect();
        let exp = Exp::counted(j, count.into(), params, code.results(results));
        let pat = pairs.iter().map(|(_, d)| d.fresh(vars)).collect();
        let dests = pairs.iter().map(|(dest, _)| dest.var).collect();
        let place = (needed(&kernel.body.stms, &[*place]), *place);
        Some(RowUpdates {
            start,
            first,
            count,
            dests,
            place,
            repeat: Stm { pat, exp, span: Span::default() },
        })
    }
}

/// True if the place of an element is one behind that of the element before it in the row.
fn grows_by_one(kernel: &Kernel, place: Atom) -> bool {
    let none = Facts::default();
    let access = Access::of(kernel, &none);
    let inner = access.axes().count() - 1;
    let split = access.form(place).and_then(|f| f.split(Symbol::Index(inner)));
    split.is_some_and(|(factor, rest)| factor.as_constant() == Some(1) && !access.varies(&rest, inner))
}

impl<'a> KernelEmitter<'_, 'a, '_> {
    /// A row's updates as one loop, or by `each` where it is short, or not all of it is inside.
    pub fn row_updates(
        &mut self,
        rows: &RowUpdates,
        (start, end): Ends,
        (len, dests): (Value, &[Base]),
        each: impl FnOnce(&mut Self) -> Result,
    ) -> Result {
        let [look, whole, single, after] = [(); 4].map(|()| self.e.b.create_block());
        let count = self.e.b.ins().isub(end, start);
        let is_long = self.e.b.ins().icmp_imm_s(IntCC::SignedGreaterThanOrEqual, count, tuning::HIST_ROW);
        self.e.b.ins().brif(is_long, look, &[], single, &[]);
        self.e.b.switch_to_block(look);
        self.e.bound.scalars.insert(self.info.kernel.pos, start);
        self.e.stms(&rows.place.0)?;
        let first = self.e.atom(&rows.place.1)?;
        let room = self.e.b.ins().isub(len, count);
        let above = self.e.b.ins().icmp_imm_s(IntCC::SignedGreaterThanOrEqual, first, 0);
        let below = self.e.b.ins().icmp(IntCC::SignedLessThanOrEqual, first, room);
        let inside = self.e.b.ins().band(above, below);
        self.e.b.ins().brif(inside, whole, &[], single, &[]);
        self.e.b.switch_to_block(whole);
        self.e.bound.scalars.extend([(rows.start, start), (rows.first, first), (rows.count, count)]);
        rows.dests.iter().zip(dests).for_each(|(v, base)| self.e.own(*v, *base));
        self.e.stms(std::slice::from_ref(&rows.repeat))?;
        self.e.b.ins().jump(after, &[]);
        self.e.b.switch_to_block(single);
        each(self)?;
        self.e.b.ins().jump(after, &[]);
        self.e.b.switch_to_block(after);
        Ok(())
    }
}
