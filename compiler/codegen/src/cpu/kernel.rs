//! Kernels to machine code: the loops over a space around the scalar body, and what becomes of the results.
//!
//! ```text
//! load captures, outputs, first values of accumulators from the environment
//! for row in row_lo .. row_hi                        (a ragged or uniform space)
//!     start, end = the row's positions, cut to lo .. hi
//!     prologue
//!     accumulators = first values
//!     for pos in start .. end
//!         results = body
//!         store, or combine with the accumulators
//!     store the accumulators
//! return 0, or the number of elements kept
//! ```
//!
//! In a flat space there is one row with all positions `lo..hi`. So has the kernel that combines partial
//! results, whose element `pos` is a partial result instead of the body's.

use super::emit::{Base, Emitter, Ends, Iteration, Result, Values, input};
use super::lanes::{self, Group, Plan, RowPlan, Scanning, State};
use super::outputs::words;
use super::prefix::Strips;
use super::scatter::Scattering;
use super::schedule::{ByWidth, Scheduled};
use crate::free;
use cranelift::prelude::*;
use par_ir::flat::{Kernel, KernelKind, Out, Ty};
use par_ir::hash::HashMap;
use par_ir::ty::Dim;
use par_ir::visit::Code as _;
use par_ir::{Prim, Var, tuning};
use par_runtime::plan::EnvLayout;
use std::rc::Rc;

/// Part of a kernel that a function computes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Role {
    /// The kernel itself.
    Main,
    /// For a scan: only the reduction, by row.
    ReduceOnly,
    /// For a scan: also reduces, into the partials.
    Dual,
    /// Combines partial results (for a histogram: private copies with the destinations).
    Combine,
}

impl Role {
    /// True if what it does is the program's work: every element is counted once, and combining parts is not.
    pub fn is_counted(self) -> bool {
        matches!(self, Role::Main | Role::Dual)
    }
}

/// A kernel, and what compiling its functions needs to know.
pub struct KernelInfo<'k> {
    /// As it is in the program.
    pub whole: &'k Kernel,
    /// The kernel that remains after the stages.
    pub kernel: &'k Kernel,
    /// The steps of the whole; none for a step, which is one loop.
    pub scheduled: Option<&'k Scheduled>,
    /// The scatters of the kernel on strips.
    pub scattering: Option<&'k Scattering>,
    pub captures: Vec<Var>,
    pub layout: EnvLayout,
    /// Types of the combined results.
    pub combined: Vec<Prim>,
    /// Types of the further results stored by position (filter: the kept values).
    pub elems: Vec<Prim>,
}

impl<'k> KernelInfo<'k> {
    /// `pattern` has the types of what the statement binds.
    pub fn new(kernel: &'k Kernel, scheduled: Option<&'k Scheduled>, pattern: &[Ty]) -> KernelInfo<'k> {
        let prims: Vec<Prim> = pattern.iter().filter_map(|t| array_prim(*t)).collect();
        let split = |k: usize| (prims[..k.min(prims.len())].to_vec(), prims[k.min(prims.len())..].to_vec());
        let (combined, elems, outputs) = match &kernel.kind {
            KernelKind::Map(outs) => (vec![], vec![], outs.iter().map(words).sum()),
            KernelKind::Scan { op, after: Some(after), .. } => {
                let combined: Vec<Prim> = op.ret.iter().map(|t| t.prim()).collect();
                // The code that only reduces stores what is combined, and nothing else.
                let outputs = after.outs.iter().map(words).sum::<usize>()
                    + usize::from(scheduled.is_some_and(|s| s.partition().is_some()));
                let outputs = outputs.max(combined.len());
                (combined, vec![], outputs)
            }
            KernelKind::Reduce { neutral, .. } | KernelKind::Scan { neutral, .. } => {
                let (combined, elems) = split(neutral.len());
                (combined, elems, prims.len())
            }
            KernelKind::Filter => (vec![], split(1).1, prims.len()),
            KernelKind::Hist { dests, .. } => (prims, vec![], 1 + 2 * dests.len()),
        };
        let captures = free::captures(kernel);
        let layout = EnvLayout { captures: captures.len(), initial: combined.len(), outputs };
        let last = scheduled.map_or(kernel, |s| s.last(kernel));
        let scattering = scheduled.and_then(|s| s.scattering.as_ref());
        KernelInfo { whole: kernel, kernel: last, scheduled, scattering, captures, layout, combined, elems }
    }

    /// For the loop of a stage, inside the code of its kernel.
    pub fn of_stage(kernel: &'k Kernel) -> KernelInfo<'k> {
        KernelInfo {
            whole: kernel,
            kernel,
            scheduled: None,
            scattering: None,
            captures: vec![],
            layout: EnvLayout { captures: 0, initial: 0, outputs: 0 },
            combined: vec![],
            elems: vec![],
        }
    }

    /// Plan of the kernel on groups of positions, with registers of up to `width` bytes; computed once. `None`: groups do not pay.
    pub fn lanes(&self, width: usize) -> Option<Rc<Plan>> {
        self.found_once(|s| &s.lanes, width, lanes::plan)
    }

    /// The groups of short rows of a reduction, a row in each lane, if they pay. Rows of floats whose elements are groups themselves, in an order of their own, have
    /// none.
    pub fn rows_in_lanes(&self, width: usize) -> Option<Rc<RowPlan>> {
        let rows = self.scheduled?.rows.as_ref()?;
        let in_groups = self.has_row_groups(width);
        if in_groups && !rows.is_exact {
            return None;
        }
        self.found_once(|s| &s.rows_in_lanes, width, |_, width| lanes::plan_of_rows(rows, in_groups, width))
    }

    /// True if the elements of a ragged row are done in groups, on this processor or on one with the shortest registers.
    pub fn has_row_groups(&self, width: usize) -> bool {
        [lanes::BYTES, width.min(tuning::LANES_WIDTH_RAGGED)].iter().any(|w| self.lanes(*w).is_some())
    }

    /// True if positions are done one by one, since their loops are done in groups.
    pub fn goes_along_rows(&self) -> bool {
        self.scheduled.is_some_and(|s| s.along_rows)
    }

    /// The groups of a scan, if they pay, as [`KernelInfo::lanes`].
    pub fn scanning(&self, width: usize) -> Option<Rc<Scanning>> {
        self.found_once(|s| &s.scanning, width, lanes::scanning)
    }

    fn found_once<T>(
        &self,
        memory: impl Fn(&Scheduled) -> &ByWidth<T>,
        width: usize,
        find: impl Fn(&KernelInfo, usize) -> Option<T>,
    ) -> Option<Rc<T>> {
        let found = || find(self, width).map(Rc::new);
        let Some(scheduled) = self.scheduled else { return found() };
        memory(scheduled).borrow_mut().entry(width).or_insert_with(found).clone()
    }

    /// As if the body were another one, in one loop.
    pub fn with_kernel<'n>(&self, kernel: &'n Kernel) -> KernelInfo<'n>
    where
        'k: 'n,
    {
        let (captures, combined, elems) = (self.captures.clone(), self.combined.clone(), self.elems.clone());
        let KernelInfo { whole, scattering, layout, .. } = *self;
        KernelInfo { whole, kernel, scheduled: None, scattering, captures, layout, combined, elems }
    }

    /// True if the results of some positions of a group can be stored under a mask: elements of a map, values that a filter keeps.
    pub fn stores_under_masks(&self, width: usize) -> bool {
        let is_packed = |o: &Out| matches!(o, Out::Elem(p) if lanes::packs(*p));
        width > lanes::BYTES
            && match &self.kernel.kind {
                KernelKind::Map(outs) => outs.iter().all(is_packed),
                _ => self.packs(),
            }
    }

    /// True for a filter whose values are packed in groups.
    pub fn packs(&self) -> bool {
        let is_filter = matches!(self.kernel.kind, KernelKind::Filter);
        is_filter && !self.elems.is_empty() && self.elems.iter().all(|p| lanes::packs(*p))
    }

    /// The roles of the functions that this kernel needs.
    pub fn roles(&self) -> &'static [Role] {
        match self.kernel.kind {
            KernelKind::Map(_) | KernelKind::Filter => &[Role::Main],
            KernelKind::Reduce { .. } | KernelKind::Hist { .. } => &[Role::Main, Role::Combine],
            KernelKind::Scan { .. } => &[Role::Main, Role::ReduceOnly, Role::Dual, Role::Combine],
        }
    }

    /// True if rows make no difference, so that the space is as good as flat.
    pub fn ignores_rows(&self) -> bool {
        let by_element = matches!(self.kernel.kind, KernelKind::Map(_) | KernelKind::Hist { .. });
        by_element && self.kernel.prologue.is_empty() && !self.whole.mentions(self.kernel.row)
    }
}

pub fn array_prim(ty: Ty) -> Option<Prim> {
    match ty {
        Ty::Array(p) => Some(p),
        _ => None,
    }
}

/// Emits one function of a kernel.
pub struct KernelEmitter<'e, 'a, 'k> {
    pub e: &'e mut Emitter<'a>,
    pub info: &'e KernelInfo<'k>,
    pub types: &'e HashMap<Var, Ty>,
    pub role: Role,
    /// `env, row_lo, row_hi, lo, hi, error`.
    pub params: Vec<Value>,
}

impl<'a, 'k> KernelEmitter<'_, 'a, 'k> {
    pub fn function(mut self) -> Result {
        self.load_captures()?;
        let result = match &self.info.kernel.kind {
            KernelKind::Filter => self.filter()?,
            kind => match self.steps_of_scan() {
                Some(strips) => self.scan_in_strips(strips)?,
                None => {
                    self.all_but_filters(kind)?;
                    self.e.i64(0)
                }
            },
        };
        self.e.b.ins().return_(&[result]);
        Ok(())
    }

    fn steps_of_scan(&self) -> Option<&'k Strips> {
        self.info.scheduled?.scan().filter(|_| self.role != Role::Combine)
    }

    fn all_but_filters(&mut self, kind: &KernelKind) -> Result {
        let moves = self.info.scheduled.and_then(Scheduled::partition);
        if let Some(moves) = moves.filter(|_| self.role == Role::Main) {
            return self.move_strips(moves);
        }
        match (kind, self.role) {
            (KernelKind::Map(outs), _) => self.map(outs),
            (KernelKind::Reduce { op, .. }, _) => self.reduce(op),
            (KernelKind::Scan { op, .. }, Role::ReduceOnly | Role::Combine) => self.reduce(op),
            (KernelKind::Scan { op, exclusive, .. }, _) => self.scan(op, *exclusive),
            (KernelKind::Hist { op, .. }, _) => self.hist(op),
            (KernelKind::Filter, _) => Err("a filter results in a number".into()),
        }
    }

    pub fn env(&mut self, ty: Type, word: usize) -> Value {
        let env = self.params[0];
        self.e.b.ins().load(ty, input(), env, 8 * word as i32)
    }

    /// The scalar in a word of the environment.
    fn scalar(&mut self, prim: Prim, word: usize) -> Value {
        self.e.load_at(prim, input(), self.params[0], 8 * word as i32)
    }

    fn load_captures(&mut self) -> Result {
        self.e.exits.cancel = self.env(types::I64, EnvLayout::CANCEL).into();
        if self.e.calls.any() {
            let bytes = self.env(types::I64, EnvLayout::STACK);
            self.e.limit_stack(bytes);
        }
        self.e.bound.prims.extend([self.info.kernel.row, self.info.kernel.pos].map(|v| (v, Prim::I64)));
        for (i, v) in self.info.captures.iter().enumerate() {
            let word = EnvLayout::CAPTURES + i;
            match self.types.get(v) {
                Some(Ty::Scalar(p)) => {
                    let x = self.scalar(*p, word);
                    self.e.bound.scalars.insert(*v, x);
                    self.e.bound.prims.insert(*v, *p);
                }
                Some(Ty::Array(p) | Ty::Rope(p)) => {
                    let address = self.env(types::I64, word);
                    self.e.bound.arrays.insert(*v, Base { address, prim: *p, changes: false });
                }
                _ => return Err(format!("a kernel reads v_{}, which is not a scalar or array", v.0)),
            }
        }
        Ok(())
    }

    /// The array whose address is in a word.
    pub fn array(&mut self, word: usize, prim: Prim) -> Base {
        Base { address: self.env(types::I64, word), prim, changes: false }
    }

    pub fn arrays(&mut self, word: usize, prims: &[Prim]) -> Vec<Base> {
        prims.iter().enumerate().map(|(i, p)| self.array(word + i, *p)).collect()
    }

    pub fn initial(&mut self) -> Vec<Value> {
        let at = self.info.layout.initial_at();
        let info = self.info;
        info.combined.iter().enumerate().map(|(i, p)| self.scalar(*p, at + i)).collect()
    }

    /// `per_row(row, start, end, state)` for all rows; prologue included.
    pub fn rows(
        &mut self,
        state: &[Value],
        per_row: impl FnOnce(&mut KernelEmitter<'_, 'a, 'k>, Value, Value, Value, &[Value]) -> Result<Values>,
    ) -> Result<Values> {
        let (row_lo, row_hi, lo, hi) = (self.params[1], self.params[2], self.params[3], self.params[4]);
        let dim = match self.info.kernel.space.as_rows() {
            Some((_, dim)) if self.role != Role::Combine && !self.info.ignores_rows() => dim,
            _ => {
                self.start_row(row_lo)?;
                return per_row(self, row_lo, lo, hi, state);
            }
        };
        let word = self.env(types::I64, 0);
        self.counted((row_lo, row_hi), state, |k, row, state| {
            let (start, end) = k.begin_row((dim, word), row)?;
            per_row(k, row, start, end, state)
        })
    }

    /// `per_row(row, ends)` for all rows, without a state.
    pub fn each_row(
        &mut self,
        per_row: impl FnOnce(&mut KernelEmitter<'_, 'a, 'k>, Value, Ends) -> Result,
    ) -> Result {
        self.rows(&[], |k, row, start, end, _| per_row(k, row, (start, end)).map(|()| vec![]))?;
        Ok(())
    }

    /// The positions of a row, cut to those of the part, after its prologue. Rows are as long as a word, or start where an array at its address says.
    pub fn begin_row(&mut self, (dim, word): (Dim, Value), row: Value) -> Result<Ends> {
        let (lo, hi) = (self.params[3], self.params[4]);
        let (start, end) = match dim {
            Dim::Size(_) => {
                let start = self.e.b.ins().imul(row, word);
                (start, self.e.b.ins().iadd(start, word))
            }
            Dim::Seg(_) => {
                let at = self.e.element(Base { address: word, prim: Prim::I64, changes: false }, row);
                let start = self.e.b.ins().load(types::I64, input(), at, 0);
                (start, self.e.b.ins().load(types::I64, input(), at, 8))
            }
        };
        let start = self.e.b.ins().smax(start, lo);
        let end = self.e.b.ins().smin(end, hi);
        self.start_row(row)?;
        Ok((start, end))
    }

    fn start_row(&mut self, row: Value) -> Result {
        self.e.bound.scalars.insert(self.info.kernel.row, row);
        if self.role == Role::Combine {
            return Ok(());
        }
        self.e.stms(&self.info.kernel.prologue)
    }

    /// `for lo <= i < hi` around code that needs all of the kernel.
    pub fn counted(
        &mut self,
        ends: Ends,
        state: &[Value],
        body: impl for<'e> Iteration<KernelEmitter<'e, 'a, 'k>>,
    ) -> Result<Values> {
        self.counted_until(None, 1, ends, state, body)
    }

    /// The same for every number in a range, without a state.
    pub fn each(
        &mut self,
        ends: Ends,
        step: i64,
        body: impl FnOnce(&mut KernelEmitter<'_, 'a, 'k>, Value) -> Result,
    ) -> Result {
        self.counted_until(None, step, ends, &[], |k, i, _| body(k, i).map(|()| vec![]))?;
        Ok(())
    }

    /// As `counted`, in steps, to the end or until the accumulator is `absorbing`, if that is a value.
    pub fn counted_until(
        &mut self,
        absorbing: Option<bool>,
        step: i64,
        ends: Ends,
        state: &[Value],
        body: impl for<'e> Iteration<KernelEmitter<'e, 'a, 'k>>,
    ) -> Result<Values> {
        let KernelEmitter { e, info, types, role, params } = self;
        let (info, types, role) = (*info, *types, *role);
        e.counted_until(absorbing, (step, IntCC::SignedLessThan), ends, state, |e, i, state| {
            body(&mut KernelEmitter { e, info, types, role, params: params.clone() }, i, state)
        })
    }

    /// [`Emitter::groups`], around code that needs all of the kernel.
    #[allow(clippy::type_complexity)]
    pub fn groups(
        &mut self,
        plan: &Plan,
        ends: Ends,
        state: (&[Value], &[Value]),
        group: impl Fn(&mut Group<'_, 'a>, Value, &[Value], &[Value]) -> Result<State>,
        single: impl for<'e> Iteration<KernelEmitter<'e, 'a, 'k>>,
        finish: impl FnOnce(&mut Group<'_, 'a>, &[Value], &[Value]) -> Result<Values>,
    ) -> Result<(Value, Values)> {
        let KernelEmitter { e, info, types, role, params } = self;
        let (info, types, role) = (*info, *types, *role);
        let single = |e: &mut Emitter<'a>, pos: Value, state: &[Value]| {
            single(&mut KernelEmitter { e, info, types, role, params: params.clone() }, pos, state)
        };
        e.groups(plan, ends, state, group, single, finish)
    }

    /// The body's results at a position; or the partial results there.
    pub fn element(&mut self, pos: Value) -> Result<Values> {
        self.e.exits.pos = pos.into();
        self.e.bound.scalars.insert(self.info.kernel.pos, pos);
        self.e.body(&self.info.kernel.body)
    }

    /// Emits a filter; the number of selected elements.
    fn filter(&mut self) -> Result<Value> {
        match self.info.scheduled.and_then(Scheduled::filter) {
            Some(packing) => self.pack_strips(packing),
            None => self.pack_elements(),
        }
    }

    /// Every element's values are written at the cursor, which moves only past those kept: it is never beyond the element.
    fn pack_elements(&mut self) -> Result<Value> {
        let values = self.kept_arrays();
        let packs = self.info.packs() && !self.e.counting;
        let plan = self.info.lanes(self.e.width).filter(|_| packs);
        let single = |k: &mut KernelEmitter<'_, 'a, '_>, pos: Value, cursor: &[Value]| {
            let results = k.element(pos)?;
            for (base, x) in values.iter().zip(&results[1..]) {
                k.e.store(*base, cursor[0], *x);
            }
            let kept = k.e.b.ins().uextend(types::I64, results[0]);
            Ok(vec![k.e.b.ins().iadd(cursor[0], kept)])
        };
        self.kept(|k, ends, cursor| {
            k.in_strips(ends, cursor, |k, (start, end), cursor| {
                let (mut rest, mut cursor) = (start, cursor.to_vec());
                if let Some(plan) = &plan {
                    let kernel = k.info.kernel;
                    let group = |group: &mut Group<'_, 'a>, pos: Value, _: &[Value], cursor: &[Value]| {
                        let results = group.elements(kernel, pos)?;
                        Ok((vec![], vec![group.keep(&values, cursor[0], &results[0], &results[1..])]))
                    };
                    let finish = |_: &mut Group<'_, 'a>, _: &[Value], state: &[Value]| Ok(state.to_vec());
                    (rest, cursor) = k.groups(plan, (start, end), (&[], &cursor), group, single, finish)?;
                }
                k.counted((rest, end), &cursor, single)
            })
        })
    }

    /// Output arrays of a filter's selected elements.
    pub fn kept_arrays(&mut self) -> Vec<Base> {
        self.arrays(self.info.layout.outputs_at() + 1, &self.info.elems)
    }

    /// The rows of a filter: `pack` puts the elements of one from a cursor on, and results in where that is then. Stores how many are kept of
    /// each row; the number of all.
    pub fn kept(
        &mut self,
        pack: impl FnOnce(&mut KernelEmitter<'_, 'a, 'k>, Ends, &[Value]) -> Result<Values>,
    ) -> Result<Value> {
        let counts = self.array(self.info.layout.outputs_at(), Prim::I64);
        let lo = self.params[3];
        let last = self.rows(&[lo], |k, row, start, end, cursor| {
            let last = pack(k, (start, end), cursor)?;
            let count = k.e.b.ins().isub(last[0], cursor[0]);
            k.e.store(counts, row, count);
            Ok(last)
        })?;
        Ok(self.e.b.ins().isub(last[0], lo))
    }
}
