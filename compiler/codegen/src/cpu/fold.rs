//! Reductions and scans of rows.

use super::absorbing;
use super::emit::{Base, Ends, Iteration, Result, Values, clif_type, input, output};
use super::kernel::{KernelEmitter, KernelInfo, Role};
use super::lanes::{Accumulators, Group, Lanes, Plan, RowPlan, Scanning};
use super::outputs::Target;
use super::small_integers::Sums;
use cranelift::prelude::*;
use par_ir::Prim;
use par_ir::core::Lambda;
use par_ir::flat::{After, KernelKind};
use par_ir::tuning;
use std::rc::Rc;

/// Uses of a scan's prefixes.
enum Prefixes<'k> {
    /// Stores them, and further results, in these.
    Stored(Vec<Base>),
    Used(&'k After, Vec<Target>),
}

/// Reductions on groups of positions.
enum InLanes<'k> {
    Whole(Rc<Plan>),
    /// Of elements that have fewer bits than results.
    Narrow(Rc<Plan>, &'k Sums),
    /// As a scan groups them.
    Scanned(Rc<Scanning>),
}

impl InLanes<'_> {
    fn new<'k>(info: &KernelInfo<'k>, width: usize) -> Option<InLanes<'k>> {
        // Rows may be shorter than a stretch.
        let is_flat = info.kernel.space.as_flat().is_some();
        if let Some(sums) = info.scheduled.and_then(|s| s.sums.as_ref()).filter(|_| is_flat)
            && let Some(plan) = KernelInfo::of_stage(&sums.kernel).lanes(width)
        {
            return Some(InLanes::Narrow(plan, sums));
        }
        info.lanes(width).map(InLanes::Whole)
    }

    /// True if results are those of taking one element after the other, whatever the operator.
    fn is_sequential(&self) -> bool {
        match self {
            InLanes::Whole(plan) | InLanes::Narrow(plan, _) => plan.is_sequential(),
            InLanes::Scanned(_) => false,
        }
    }
}

impl<'a, 'k> KernelEmitter<'_, 'a, 'k> {
    /// The values to combine at a position, and the further results.
    pub fn combinable(&mut self, partials: &[Base], pos: Value) -> Result<(Values, Values)> {
        if self.role == Role::Combine {
            self.e.exits.pos = pos.into();
            return Ok((partials.iter().map(|p| self.e.load(*p, pos, input())).collect(), vec![]));
        }
        let mut values = self.element(pos)?;
        let rest = values.split_off(self.info.combined.len().min(values.len()));
        Ok((values, rest))
    }

    pub fn combine(&mut self, op: &Lambda, acc: &[Value], xs: &[Value]) -> Result<Values> {
        self.e.lambda(op, &[acc, xs].concat())
    }

    pub fn reduce(&mut self, op: &Lambda) -> Result {
        let (info, initial) = (self.info, self.initial());
        let outputs = info.layout.outputs_at();
        let results = self.arrays(outputs, &info.combined);
        // Only a reduction's own code stores the further results: a scan stores them when it scans.
        let elems = match (&info.kernel.kind, self.role) {
            (KernelKind::Reduce { .. }, Role::Main) => {
                self.arrays(outputs + info.combined.len(), &info.elems)
            }
            _ => vec![],
        };
        let partials = self.arrays(info.layout.partials_at(), &info.combined);
        let lanes = self.in_lanes();
        let absorbing = self.absorbing(op);
        let element = |k: &mut KernelEmitter<'_, 'a, '_>, pos: Value, acc: &[Value]| {
            let (values, rest) = k.combinable(&partials, pos)?;
            elems.iter().zip(rest).for_each(|(base, x)| k.e.store(*base, pos, x));
            let values: Vec<Value> =
                values.into_iter().zip(&info.combined).map(|(x, p)| k.wide(x, *p)).collect();
            k.combine(op, acc, &values)
        };
        let of_row = |k: &mut KernelEmitter<'_, 'a, 'k>,
                      row: Value,
                      start: Value,
                      end: Value,
                      _: &[Value]| {
            let sums = k.in_strips((start, end), &initial, |k, ends, acc| match &lanes {
                None => k.counted_until(absorbing, 1, ends, acc, element),
                Some(InLanes::Scanned(scanning)) => k.scan_in_lanes((scanning, op, None), ends, acc, element),
                Some(InLanes::Whole(plan)) => k.reduce_in_lanes(plan, &initial, &elems, ends, acc, element),
                Some(InLanes::Narrow(plan, narrow)) => {
                    let mut narrow_info = KernelInfo::of_stage(&narrow.kernel);
                    (narrow_info.combined, narrow_info.elems) = (info.combined.clone(), info.elems.clone());
                    let KernelEmitter { e, types, role, params, .. } = k;
                    let (types, role, params) = (*types, *role, params.clone());
                    KernelEmitter { e, info: &narrow_info, types, role, params }
                        .reduce_stretches(plan, &initial, &elems, ends, acc, element)
                }
            })?;
            results.iter().zip(sums).for_each(|(base, x)| k.e.store(*base, row, x));
            Ok(vec![])
        };
        match info.rows_in_lanes(self.e.width).filter(|_| self.role == Role::Main && !self.e.counting) {
            Some(groups) => self.rows_in_lanes(&groups, &initial, &results, of_row),
            None => self.rows(&[], of_row).map(|_| ()),
        }
    }

    /// Groups of rows, and what is left.
    fn rows_in_lanes(
        &mut self,
        groups: &RowPlan,
        initial: &[Value],
        results: &[Base],
        of_row: impl FnOnce(&mut KernelEmitter<'_, 'a, 'k>, Value, Value, Value, &[Value]) -> Result<Values>
        + Copy,
    ) -> Result {
        let rows = self.info.scheduled.and_then(|s| s.rows.as_ref()).ok_or("rows without a map")?;
        let (first, last, lo, hi) = (self.params[1], self.params[2], self.params[3], self.params[4]);
        let address = self.env(types::I64, 0);
        let offsets = Base { address, prim: Prim::I64, changes: false };
        self.e.bound.arrays.insert(rows.offsets, offsets);
        for ((v, x), p) in rows.initial.iter().zip(initial).zip(&self.info.combined) {
            self.e.bound.scalars.insert(*v, *x);
            self.e.bound.prims.insert(*v, *p);
        }
        let dim = self.info.kernel.space.innermost();
        let single = |k: &mut KernelEmitter<'_, 'a, 'k>, row: Value, state: &[Value]| {
            let (start, end) = k.begin_row((dim, address), row)?;
            of_row(k, row, start, end, state)
        };
        let (rest, _) = self.groups(
            &groups.plan,
            (first, last),
            (&[], &[]),
            |group, row, _, _| {
                group.stay_with_rows(groups, offsets, row, (lo, hi));
                let sums = group.elements(&rows.map, row)?;
                results.iter().zip(&sums).for_each(|(base, x)| group.store_result(*base, row, x));
                Ok((vec![], vec![]))
            },
            single,
            |_, _, _| Ok(vec![]),
        )?;
        self.counted((rest, last), &[], single)?;
        Ok(())
    }

    /// Groups of the reduction. Rounding shows how the code of a scan that only reduces groups elements: as the scan itself does, which
    /// reduces as well.
    fn in_lanes(&self) -> Option<InLanes<'k>> {
        let (info, width) = (self.info, self.e.width);
        match self.role {
            Role::Combine => None,
            _ if self.e.counting => None,
            Role::ReduceOnly if info.combined.iter().any(|p| p.is_float()) => {
                let sequential = || InLanes::new(info, width).filter(InLanes::is_sequential);
                self.scanning().map(InLanes::Scanned).or_else(sequential)
            }
            _ => InLanes::new(info, width),
        }
    }

    /// A result of the body, which may have fewer bits than what it is combined with.
    fn wide(&mut self, x: Value, p: Prim) -> Value {
        let is_wide = self.e.b.func.dfg.value_type(x) == clif_type(p);
        if is_wide { x } else { self.e.b.ins().sextend(clif_type(p), x) }
    }

    /// Groups, stretch by stretch.
    fn reduce_stretches(
        &mut self,
        plan: &Plan,
        neutral: &[Value],
        elems: &[Base],
        (start, end): Ends,
        initial: &[Value],
        element: impl for<'e> Iteration<KernelEmitter<'e, 'a, 'k>> + Copy,
    ) -> Result<Values> {
        self.counted_until(None, tuning::NARROW_STRETCH, (start, end), initial, |k, first, acc| {
            let next = k.e.b.ins().iadd_imm_s(first, tuning::NARROW_STRETCH);
            let last = k.e.b.ins().smin(next, end);
            k.reduce_in_lanes(plan, neutral, elems, (first, last), acc, element)
        })
    }

    /// Whole groups of positions, and what is left.
    fn reduce_in_lanes(
        &mut self,
        plan: &Plan,
        neutral: &[Value],
        elems: &[Base],
        ends: Ends,
        initial: &[Value],
        element: impl for<'e> Iteration<KernelEmitter<'e, 'a, 'k>> + Copy,
    ) -> Result<Values> {
        let (kernel, into) = (self.info.kernel, &self.info.combined);
        let (mut start, mut acc) = (ends.0, initial.to_vec());
        // Of many rows of a ragged space most is what a group leaves, and a group of runs leaves much.
        let is_ragged = kernel.space.is_ragged();
        let shorter = plan.shorter().filter(|_| (is_ragged || plan.is_in_order()) && !plan.has_rest());
        for plan in [Some(plan), shorter.as_ref()].into_iter().flatten() {
            let reduction = plan.reduction.as_ref().ok_or("a map is reduced")?;
            let identities = self.e.identities(plan, reduction, neutral);
            let carried = if plan.is_in_order() { &[] } else { &identities[..] };
            (start, acc) = self.groups(
                plan,
                (start, ends.1),
                (carried, &acc),
                |group, pos, lanes, state| match plan.is_in_order() {
                    true => {
                        let next = group.reduce_in_order(reduction, kernel, pos, &identities, state)?;
                        Ok((vec![], next))
                    }
                    false => {
                        let acc = Accumulators { lanes, scalars: state };
                        let next = group.reduce(reduction, kernel, pos, acc, |group, rest| {
                            elems.iter().zip(rest).for_each(|(base, x)| group.store_result(*base, pos, x));
                        })?;
                        Ok((next, state.to_vec()))
                    }
                },
                element,
                |group, lanes, state| match plan.is_in_order() {
                    true => Ok(state.to_vec()),
                    false => group.fold(reduction, into, Accumulators { lanes, scalars: state }),
                },
            )?;
        }
        let absorbing = plan.absorbing();
        self.counted_until(absorbing, 1, (start, ends.1), &acc, element)
    }

    /// The absorbing value of the operator, if there is one. None where operations are counted: all elements are.
    fn absorbing(&self, op: &Lambda) -> Option<bool> {
        if self.e.counting { None } else { absorbing::of_operator(op, &self.info.kernel.body) }
    }

    pub fn scan(&mut self, op: &Lambda, exclusive: bool) -> Result {
        let (info, initial) = (self.info, self.initial());
        let k = info.combined.len();
        let prefixes = self.prefixes()?;
        let scanning = self.scanning();
        let cells = match self.role {
            Role::Dual => self.arrays(info.layout.partials_at(), &info.combined),
            _ => vec![],
        };
        self.each_row(|this, _, ends| {
            let mut state = initial;
            for cell in &cells {
                state.push(this.e.load_at(cell.prim, output(), cell.address, 0));
            }
            let element = |this: &mut KernelEmitter<'_, 'a, '_>, pos: Value, state: &[Value]| {
                let (values, rest) = this.combinable(&[], pos)?;
                let mut next = this.combine(op, &state[..k], &values)?;
                let prefix = if exclusive { &state[..k] } else { &next[..] };
                this.use_prefix(&prefixes, pos, prefix, rest)?;
                if !cells.is_empty() {
                    // The same values once more, for the part's sum: not the program's work.
                    let counting = std::mem::take(&mut this.e.counting);
                    next.extend(this.combine(op, &state[k..], &values)?);
                    this.e.counting = counting;
                }
                Ok(next)
            };
            let last = this.in_strips(ends, &state, |k, ends, state| match &scanning {
                Some(scanning) => {
                    let code = (scanning.as_ref(), op, Some((&prefixes, exclusive)));
                    k.scan_in_lanes(code, ends, state, element)
                }
                None => k.counted(ends, state, element),
            })?;
            for (cell, x) in cells.iter().zip(&last[k..]) {
                this.e.store_at(cell.prim, *x, cell.address, 0);
            }
            Ok(())
        })
    }

    /// Groups of the scan; none where operations are counted.
    fn scanning(&self) -> Option<Rc<Scanning>> {
        if self.e.counting { None } else { self.info.scanning(self.e.width) }
    }

    /// Whole groups of positions, and what is left; the state after them, which is one or two lists of accumulators. The prefixes are used, or
    /// there is no use for them.
    fn scan_in_lanes(
        &mut self,
        (scanning, op, uses): (&Scanning, &Lambda, Option<(&Prefixes, bool)>),
        (start, end): Ends,
        state: &[Value],
        element: impl for<'e> Iteration<KernelEmitter<'e, 'a, 'k>> + Copy,
    ) -> Result<Values> {
        let (kernel, n) = (self.info.kernel, self.info.combined.len());
        // The chain of operations of a short row is done while another row's begins.
        let is_ragged = kernel.space.is_ragged();
        let groups_end = if is_ragged { self.end_if_long((start, end), tuning::SCAN_LONG) } else { end };
        let (rest, state) = self.groups(
            &scanning.plan,
            (start, groups_end),
            (&[], state),
            |group, pos, _, state| {
                let (xs, further) = group.scanned(scanning, kernel, pos)?;
                if let Some((prefixes, exclusive)) = uses {
                    let found = group.prefixes(scanning, &state[..n], &xs, exclusive)?;
                    group.use_prefixes(prefixes, pos, found, further)?;
                }
                let last = group.last_lane(scanning, &xs);
                let mut next = vec![];
                for before in state.chunks(n) {
                    next.extend(group.e.lambda(op, &[before, &last].concat())?);
                }
                Ok((vec![], next))
            },
            element,
            |_, _, state| Ok(state.to_vec()),
        )?;
        self.counted((rest, end), &state, element)
    }

    /// The end of a row that has so many elements at least, or else its start.
    fn end_if_long(&mut self, (start, end): Ends, least: i64) -> Value {
        let length = self.e.b.ins().isub(end, start);
        let is_long = self.e.b.ins().icmp_imm_s(IntCC::SignedGreaterThanOrEqual, length, least);
        self.e.b.ins().select(is_long, end, start)
    }

    /// Uses of a scan's prefixes, with the arrays that they are stored in or the targets of the code that consumes them.
    fn prefixes(&mut self) -> Result<Prefixes<'k>> {
        let info = self.info;
        Ok(match info.kernel.after() {
            Some(after) => Prefixes::Used(after, self.targets(&after.outs)?),
            None => {
                let prims: Vec<Prim> = info.combined.iter().chain(&info.elems).copied().collect();
                Prefixes::Stored(self.arrays(info.layout.outputs_at(), &prims))
            }
        })
    }

    fn use_prefix(&mut self, prefixes: &Prefixes, pos: Value, prefix: &[Value], rest: Vec<Value>) -> Result {
        match prefixes {
            Prefixes::Stored(arrays) => {
                let all = prefix.iter().copied().chain(rest);
                arrays.iter().zip(all).for_each(|(base, x)| self.e.store(*base, pos, x));
                Ok(())
            }
            Prefixes::Used(after, targets) => {
                let mut results = self.e.with(&after.params, &after.body, prefix)?.into_iter();
                targets.iter().try_for_each(|target| self.write(target, pos, &mut results))
            }
        }
    }
}

impl Group<'_, '_> {
    fn use_prefixes(
        &mut self,
        prefixes: &Prefixes,
        pos: Value,
        found: Vec<Lanes>,
        further: Vec<Lanes>,
    ) -> Result {
        match prefixes {
            Prefixes::Stored(arrays) => {
                let all = found.iter().chain(&further);
                arrays.iter().zip(all).for_each(|(base, x)| self.store_result(*base, pos, x));
                Ok(())
            }
            Prefixes::Used(after, targets) => {
                self.bind_params(&after.params, found.into_iter());
                self.stms(&after.body.stms)?;
                let results = after.body.results.iter().map(|a| self.atom(a)).collect::<Result<_>>()?;
                self.write(targets, pos, results, false)
            }
        }
    }
}
