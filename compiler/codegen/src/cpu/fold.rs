//! Reductions and scans of rows.

use super::emit::{Base, Unsupported, input, output};
use super::kernel::{KernelEmitter, Role};
use super::lanes::{self, Plan};
use super::outputs::Target;
use cranelift::prelude::*;
use par_ir::Prim;
use par_ir::core::Lambda;
use par_ir::flat::{After, KernelKind};

/// What a scan does with its prefixes.
enum Prefixes<'k> {
    /// Stores them, and further results, in these.
    Stored(Vec<Base>),
    Used(&'k After, Vec<Target>),
}

impl<'a, 'k> KernelEmitter<'_, 'a, 'k> {
    /// The values to combine at a position, and the further results.
    pub fn combinable(
        &mut self,
        partials: &[Base],
        pos: Value,
    ) -> Result<(Vec<Value>, Vec<Value>), Unsupported> {
        if self.role == Role::Combine {
            self.e.pos = pos;
            return Ok((partials.iter().map(|p| self.e.load(*p, pos, input())).collect(), vec![]));
        }
        let mut values = self.element(pos)?;
        let rest = values.split_off(self.info.combined.len().min(values.len()));
        Ok((values, rest))
    }

    pub fn combine(&mut self, op: &Lambda, acc: &[Value], xs: &[Value]) -> Result<Vec<Value>, Unsupported> {
        self.e.lambda(op, &[acc, xs].concat())
    }

    pub fn reduce(&mut self, op: &Lambda) -> Result<(), Unsupported> {
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
        let plan = match self.role {
            Role::Combine => None,
            _ if self.e.counting => None,
            // The scan itself, which reduces as well, takes elements in their order.
            Role::ReduceOnly if info.combined.iter().any(|p| p.is_float()) => None,
            _ => lanes::plan(info),
        };
        let element = |k: &mut KernelEmitter<'_, 'a, 'k>, pos: Value, acc: &[Value]| {
            let (values, rest) = k.combinable(&partials, pos)?;
            elems.iter().zip(rest).for_each(|(base, x)| k.e.store(*base, pos, x));
            k.combine(op, acc, &values)
        };
        self.rows(&[], |k, row, start, end, _| {
            let sums = k.in_strips((start, end), &initial, |k, (start, end), acc| {
                let (start, acc) = match &plan {
                    Some(plan) => k.reduce_groups(plan, op, &elems, (start, end), acc, element)?,
                    None => (start, acc.to_vec()),
                };
                k.counted(start, end, &acc, element)
            })?;
            results.iter().zip(sums).for_each(|(base, x)| k.e.store(*base, row, x));
            Ok(vec![])
        })?;
        Ok(())
    }

    /// Whole groups of positions; where they end, and the accumulators there.
    fn reduce_groups(
        &mut self,
        plan: &Plan,
        op: &Lambda,
        elems: &[Base],
        ends: (Value, Value),
        initial: &[Value],
        element: impl FnOnce(&mut KernelEmitter<'_, 'a, 'k>, Value, &[Value]) -> Result<Vec<Value>, Unsupported>,
    ) -> Result<(Value, Vec<Value>), Unsupported> {
        let components = lanes::operators(op).ok_or("an operator has no accumulators in lanes")?;
        let identities = self.identities(plan, &components);
        self.groups(
            plan,
            ends,
            (&identities, initial),
            |strip, pos, state| {
                let mut results = strip.results(pos)?;
                let rest = results.split_off(components.len().min(results.len()));
                elems.iter().zip(&rest).for_each(|(base, x)| strip.store_result(*base, pos, x));
                Ok(strip.accumulate(&components, state, &results))
            },
            element,
            |strip, state, acc| strip.fold(&components, state, acc),
        )
    }

    pub fn scan(&mut self, op: &Lambda, exclusive: bool) -> Result<(), Unsupported> {
        let (info, initial) = (self.info, self.initial());
        let k = info.combined.len();
        let prefixes = self.prefixes()?;
        let cells = match self.role {
            Role::Dual => self.arrays(info.layout.partials_at(), &info.combined),
            _ => vec![],
        };
        self.rows(&[], |this, _, start, end, _| {
            let mut state = initial;
            for cell in &cells {
                state.push(this.e.load_at(cell.prim, output(), cell.address, 0));
            }
            let last = this.elements(start, end, &state, |this, pos, state| {
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
            })?;
            for (cell, x) in cells.iter().zip(&last[k..]) {
                this.e.store_at(cell.prim, *x, cell.address, 0);
            }
            Ok(vec![])
        })?;
        Ok(())
    }

    /// Where a scan's prefixes go.
    fn prefixes(&mut self) -> Result<Prefixes<'k>, Unsupported> {
        let info = self.info;
        Ok(match info.kernel.after() {
            Some(after) => Prefixes::Used(after, self.targets(&after.outs)?),
            None => {
                let prims: Vec<Prim> = info.combined.iter().chain(&info.elems).copied().collect();
                Prefixes::Stored(self.arrays(info.layout.outputs_at(), &prims))
            }
        })
    }

    fn use_prefix(
        &mut self,
        prefixes: &Prefixes,
        pos: Value,
        prefix: &[Value],
        rest: Vec<Value>,
    ) -> Result<(), Unsupported> {
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
