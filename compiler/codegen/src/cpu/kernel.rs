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

use super::emit::{Base, Emitter, Unsupported, input, output};
use super::lanes::{self, Plan};
use super::prefix::Strips;
use super::stage::Staged;
use crate::{free, work};
use cranelift::prelude::*;
use par_ir::core::{Body, Exp, Lambda};
use par_ir::flat::{After, Kernel, KernelKind, Out, Space, Ty};
use par_ir::ty::Dim;
use par_ir::{Prim, Var};
use par_runtime::plan::EnvLayout;
use std::collections::HashMap;

/// What a function computes.
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
    /// Whether what it does is the program's work: every element is counted once, and combining parts is not.
    pub fn is_counted(self) -> bool {
        matches!(self, Role::Main | Role::Dual)
    }
}

/// A kernel, and what compiling its functions needs to know.
pub struct KernelInfo<'k> {
    /// As it is in the program.
    pub whole: &'k Kernel,
    /// What remains of it after the stages.
    pub kernel: &'k Kernel,
    pub staged: Option<&'k Staged>,
    /// A scan in steps on strips.
    pub strips: Option<&'k Strips>,
    pub captures: Vec<Var>,
    pub layout: EnvLayout,
    /// Types of the combined results.
    pub combined: Vec<Prim>,
    /// Types of the further results stored by position (filter: the kept values).
    pub elems: Vec<Prim>,
}

impl<'k> KernelInfo<'k> {
    /// `pattern` has the types of what the statement binds.
    pub fn new(
        kernel: &'k Kernel,
        staged: Option<&'k Staged>,
        strips: Option<&'k Strips>,
        pattern: &[Ty],
    ) -> KernelInfo<'k> {
        let prims: Vec<Prim> = pattern.iter().filter_map(|t| array_prim(*t)).collect();
        let split = |k: usize| (prims[..k.min(prims.len())].to_vec(), prims[k.min(prims.len())..].to_vec());
        let (combined, elems, outputs) = match &kernel.kind {
            KernelKind::Map(outs) => (vec![], vec![], outs.iter().map(words).sum()),
            KernelKind::Scan { op, after: Some(after), .. } => {
                let combined: Vec<Prim> = op.ret.iter().map(|t| t.prim()).collect();
                // The code that only reduces stores what is combined, and nothing else.
                let outputs = after.outs.iter().map(words).sum::<usize>().max(combined.len());
                (combined, vec![], outputs)
            }
            KernelKind::Reduce { neutral, .. } | KernelKind::Scan { neutral, .. } => {
                let (combined, elems) = split(neutral.len());
                (combined, elems, prims.len())
            }
            KernelKind::Filter => (vec![], split(1).1, prims.len()),
            KernelKind::Hist { dests, .. } => (prims, vec![], 1 + dests.len()),
        };
        let captures = free::captures(kernel);
        let layout = EnvLayout { captures: captures.len(), initial: combined.len(), outputs };
        let last = staged.map_or(kernel, |s| &s.last);
        KernelInfo { whole: kernel, kernel: last, staged, strips, captures, layout, combined, elems }
    }

    /// For the loop of a stage, inside the code of its kernel.
    pub fn of_stage(kernel: &'k Kernel) -> KernelInfo<'k> {
        let layout = EnvLayout { captures: 0, initial: 0, outputs: 0 };
        let (captures, combined, elems) = (vec![], vec![], vec![]);
        KernelInfo { whole: kernel, kernel, staged: None, strips: None, captures, layout, combined, elems }
    }

    /// The roles of the functions that this kernel needs.
    pub fn roles(&self) -> &'static [Role] {
        match self.kernel.kind {
            KernelKind::Map(_) | KernelKind::Filter => &[Role::Main],
            KernelKind::Reduce { .. } | KernelKind::Hist { .. } => &[Role::Main, Role::Combine],
            KernelKind::Scan { .. } => &[Role::Main, Role::ReduceOnly, Role::Dual, Role::Combine],
        }
    }

    /// Whether rows make no difference, so that the space is as good as flat.
    fn ignores_rows(&self) -> bool {
        let by_element = matches!(self.kernel.kind, KernelKind::Map(_) | KernelKind::Hist { .. });
        by_element && self.kernel.prologue.is_empty() && !free::mentions(self.whole, self.kernel.row)
    }
}

fn array_prim(ty: Ty) -> Option<Prim> {
    match ty {
        Ty::Array(p) => Some(p),
        _ => None,
    }
}

fn words(out: &Out) -> usize {
    match out {
        Out::Elem(_) | Out::Row(..) => 1,
        Out::Scatter(dests) => 1 + dests.len(),
        // Its length, as for a scatter, and its address.
        Out::Own { .. } => 2,
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
    pub fn function(mut self) -> Result<(), Unsupported> {
        self.load_captures()?;
        if let Some(strips) = self.info.strips.filter(|_| self.role != Role::Combine) {
            self.scan_in_strips(strips)?;
            let zero = self.e.i64(0);
            self.e.b.ins().return_(&[zero]);
            return Ok(());
        }
        let kept = match (&self.info.kernel.kind, self.role) {
            (KernelKind::Map(outs), _) => self.map(outs)?,
            (KernelKind::Filter, _) => return self.filter(),
            (KernelKind::Reduce { op, .. }, _) => self.reduce(op)?,
            (KernelKind::Scan { op, .. }, Role::ReduceOnly | Role::Combine) => self.reduce(op)?,
            (KernelKind::Scan { op, exclusive, .. }, _) => self.scan(op, *exclusive)?,
            (KernelKind::Hist { op, .. }, _) => self.hist(op)?,
        };
        let result = kept.unwrap_or_else(|| self.e.i64(0));
        self.e.b.ins().return_(&[result]);
        Ok(())
    }

    fn env(&mut self, ty: Type, word: usize) -> Value {
        let env = self.params[0];
        self.e.b.ins().load(ty, input(), env, 8 * word as i32)
    }

    /// The scalar in a word of the environment.
    fn scalar(&mut self, prim: Prim, word: usize) -> Value {
        self.e.load_at(prim, input(), self.params[0], 8 * word as i32)
    }

    fn load_captures(&mut self) -> Result<(), Unsupported> {
        self.e.cancel = self.env(types::I64, EnvLayout::CANCEL);
        if self.e.calls.any() {
            let bytes = self.env(types::I64, EnvLayout::STACK);
            self.e.limit_stack(bytes);
        }
        for (i, v) in self.info.captures.iter().enumerate() {
            let word = EnvLayout::CAPTURES + i;
            match self.types.get(v) {
                Some(Ty::Scalar(p)) => {
                    let x = self.scalar(*p, word);
                    self.e.scalars.insert(*v, x);
                    self.e.prims.insert(*v, *p);
                }
                Some(Ty::Array(p) | Ty::Blocks(p)) => {
                    let address = self.env(types::I64, word);
                    self.e.arrays.insert(*v, Base { address, prim: *p });
                }
                _ => return Err(format!("a kernel reads v_{}, which is not a scalar or array", v.0)),
            }
        }
        Ok(())
    }

    /// The array whose address is in a word.
    fn array(&mut self, word: usize, prim: Prim) -> Base {
        Base { address: self.env(types::I64, word), prim }
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
        per_row: impl FnOnce(
            &mut KernelEmitter<'_, 'a, 'k>,
            Value,
            Value,
            Value,
            &[Value],
        ) -> Result<Vec<Value>, Unsupported>,
    ) -> Result<Vec<Value>, Unsupported> {
        let (row_lo, row_hi, lo, hi) = (self.params[1], self.params[2], self.params[3], self.params[4]);
        let dim = match self.info.kernel.space {
            Space::Rows { dim, .. } if self.role != Role::Combine && !self.info.ignores_rows() => dim,
            _ => {
                self.start_row(row_lo)?;
                return per_row(self, row_lo, lo, hi, state);
            }
        };
        let word = self.env(types::I64, 0);
        self.counted(row_lo, row_hi, state, |k, row, state| {
            let (start, end) = match dim {
                Dim::Size(_) => {
                    let start = k.e.b.ins().imul(row, word);
                    (start, k.e.b.ins().iadd(start, word))
                }
                Dim::Seg(_) => {
                    let at = k.e.element(Base { address: word, prim: Prim::I64 }, row);
                    let start = k.e.b.ins().load(types::I64, input(), at, 0);
                    (start, k.e.b.ins().load(types::I64, input(), at, 8))
                }
            };
            let start = k.e.b.ins().smax(start, lo);
            let end = k.e.b.ins().smin(end, hi);
            k.start_row(row)?;
            per_row(k, row, start, end, state)
        })
    }

    fn start_row(&mut self, row: Value) -> Result<(), Unsupported> {
        self.e.scalars.insert(self.info.kernel.row, row);
        if self.role == Role::Combine {
            return Ok(());
        }
        self.e.stms(&self.info.kernel.prologue)
    }

    /// `for lo <= i < hi` around code that needs all of the kernel.
    pub fn counted(
        &mut self,
        lo: Value,
        hi: Value,
        state: &[Value],
        body: impl FnOnce(&mut KernelEmitter<'_, 'a, 'k>, Value, &[Value]) -> Result<Vec<Value>, Unsupported>,
    ) -> Result<Vec<Value>, Unsupported> {
        self.counted_by(1, lo, hi, state, body)
    }

    /// As `counted`, in steps.
    pub fn counted_by(
        &mut self,
        step: i64,
        lo: Value,
        hi: Value,
        state: &[Value],
        body: impl FnOnce(&mut KernelEmitter<'_, 'a, 'k>, Value, &[Value]) -> Result<Vec<Value>, Unsupported>,
    ) -> Result<Vec<Value>, Unsupported> {
        let KernelEmitter { e, info, types, role, params } = self;
        let (info, types, role) = (*info, *types, *role);
        e.counted_by(step, IntCC::SignedLessThan, lo, hi, state, |e, i, state| {
            body(&mut KernelEmitter { e, info, types, role, params: params.clone() }, i, state)
        })
    }

    /// `counted` for elements, which are found in strips if the kernel has stages.
    fn elements(
        &mut self,
        start: Value,
        end: Value,
        state: &[Value],
        body: impl FnOnce(&mut KernelEmitter<'_, 'a, 'k>, Value, &[Value]) -> Result<Vec<Value>, Unsupported>,
    ) -> Result<Vec<Value>, Unsupported> {
        self.in_strips((start, end), state, |k, (start, end), state| k.counted(start, end, state, body))
    }

    /// The body's results at a position; or the partial results there.
    fn element(&mut self, pos: Value) -> Result<Vec<Value>, Unsupported> {
        self.e.pos = pos;
        self.e.scalars.insert(self.info.kernel.pos, pos);
        self.e.body(&self.info.kernel.body)
    }

    pub fn targets(&mut self, outs: &[Out]) -> Result<Vec<Target>, Unsupported> {
        let mut word = self.info.layout.outputs_at();
        let mut targets = Vec::new();
        for out in outs {
            targets.push(self.target(out, word)?);
            word += words(out);
        }
        Ok(targets)
    }

    fn map(&mut self, outs: &[Out]) -> Result<Option<Value>, Unsupported> {
        let targets = self.targets(outs)?;
        self.rows(&[], |k, _, start, end, _| {
            k.in_strips((start, end), &[], |k, ends, _| {
                k.map_positions(&targets, ends)?;
                Ok(vec![])
            })
        })?;
        Ok(None)
    }

    /// Computes and stores the results of a map at the positions `start..end`.
    pub fn map_positions(
        &mut self,
        targets: &[Target],
        (start, end): (Value, Value),
    ) -> Result<(), Unsupported> {
        let start = match lanes::plan(self.info).filter(|_| !self.e.counting) {
            Some(plan) => self.map_groups(&plan, targets, start, end)?,
            None => start,
        };
        self.counted(start, end, &[], |k, pos, _| {
            k.map_element(targets, pos)?;
            Ok(vec![])
        })?;
        Ok(())
    }

    fn map_element(&mut self, targets: &[Target], pos: Value) -> Result<(), Unsupported> {
        let mut results = self.element(pos)?.into_iter();
        targets.iter().try_for_each(|target| self.write(target, pos, &mut results))
    }

    /// Whole groups of positions; where they end.
    fn map_groups(
        &mut self,
        plan: &Plan,
        targets: &[Target],
        start: Value,
        end: Value,
    ) -> Result<Value, Unsupported> {
        let (last, _) = self.groups(
            plan,
            (start, end),
            (&[], &[]),
            |strip, pos, _| {
                let results = strip.results(pos)?;
                let mut results = results.into_iter();
                for target in targets {
                    match target {
                        Target::Elem(base) => {
                            let x = results.next().ok_or("a kernel has too few results")?;
                            strip.store_result(*base, pos, &x);
                        }
                        Target::Scatter { len, dests } => {
                            let lanes: Vec<_> = results.by_ref().take(1 + dests.len()).collect();
                            strip.scatter(*len, dests, &lanes);
                        }
                        Target::Row(base, n) => {
                            let row: Vec<_> = results.by_ref().take(*n).collect();
                            strip.store_rows(*base, pos, &row);
                        }
                        Target::Own => return Err("a kernel that owns an array is not done in groups".into()),
                    }
                }
                Ok(vec![])
            },
            |k, pos, _| {
                k.map_element(targets, pos)?;
                Ok(vec![])
            },
            |_, _, _| Ok(vec![]),
        )?;
        Ok(last)
    }

    fn target(&mut self, out: &Out, word: usize) -> Result<Target, Unsupported> {
        match out {
            Out::Elem(p) => Ok(Target::Elem(self.array(word, *p))),
            Out::Row(p, n) => Ok(Target::Row(self.array(word, *p), *n)),
            Out::Scatter(dests) => {
                let len = self.env(types::I64, word);
                let prims: Option<Vec<Prim>> =
                    dests.iter().map(|d| self.types.get(d).copied().and_then(array_prim)).collect();
                let prims = prims.ok_or("a scatter needs arrays")?;
                Ok(Target::Scatter { len, dests: self.arrays(word + 1, &prims) })
            }
            Out::Own { state, .. } => {
                let base = self.array(word + 1, state.ty.prim());
                self.e.own(state.var, base);
                Ok(Target::Own)
            }
        }
    }

    fn write(
        &mut self,
        target: &Target,
        pos: Value,
        results: &mut impl Iterator<Item = Value>,
    ) -> Result<(), Unsupported> {
        let mut next = || results.next().ok_or_else(|| "a kernel has too few results".to_string());
        match target {
            Target::Own => {}
            Target::Elem(base) => {
                let x = next()?;
                self.e.store(*base, pos, x);
            }
            Target::Row(base, n) => {
                let first = self.e.b.ins().imul_imm_s(pos, *n as i64);
                for k in 0..*n {
                    let at = self.e.b.ins().iadd_imm_s(first, k as i64);
                    let x = next()?;
                    self.e.store(*base, at, x);
                }
            }
            Target::Scatter { len, dests } => {
                let index = next()?;
                let values: Vec<Value> = dests.iter().map(|_| next()).collect::<Result<_, _>>()?;
                self.if_inside(index, *len, |k| {
                    k.e.count(dests.len());
                    dests.iter().zip(values).for_each(|(d, x)| k.e.store(*d, index, x));
                    Ok(())
                })?;
            }
        }
        Ok(())
    }

    /// Code that runs if `0 <= index < len`.
    fn if_inside(
        &mut self,
        index: Value,
        len: Value,
        code: impl FnOnce(&mut Self) -> Result<(), Unsupported>,
    ) -> Result<(), Unsupported> {
        let inside = self.e.b.ins().icmp(IntCC::UnsignedLessThan, index, len);
        let (yes, after) = (self.e.b.create_block(), self.e.b.create_block());
        self.e.b.ins().brif(inside, yes, &[], after, &[]);
        self.e.b.switch_to_block(yes);
        code(self)?;
        self.e.b.ins().jump(after, &[]);
        self.e.b.switch_to_block(after);
        Ok(())
    }

    /// The values to combine at a position, and the further results.
    fn combinable(&mut self, partials: &[Base], pos: Value) -> Result<(Vec<Value>, Vec<Value>), Unsupported> {
        if self.role == Role::Combine {
            self.e.pos = pos;
            return Ok((partials.iter().map(|p| self.e.load(*p, pos, input())).collect(), vec![]));
        }
        let mut values = self.element(pos)?;
        let rest = values.split_off(self.info.combined.len().min(values.len()));
        Ok((values, rest))
    }

    fn combine(&mut self, op: &Lambda, acc: &[Value], xs: &[Value]) -> Result<Vec<Value>, Unsupported> {
        self.e.lambda(op, &[acc, xs].concat())
    }

    fn reduce(&mut self, op: &Lambda) -> Result<Option<Value>, Unsupported> {
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
        Ok(None)
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

    fn scan(&mut self, op: &Lambda, exclusive: bool) -> Result<Option<Value>, Unsupported> {
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
        Ok(None)
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

    /// Every element's values are written at the cursor, which moves only past those kept: it is never beyond the element.
    fn filter(mut self) -> Result<(), Unsupported> {
        let info = self.info;
        let outputs = info.layout.outputs_at();
        let counts = self.array(outputs, Prim::I64);
        let values = self.arrays(outputs + 1, &info.elems);
        let lo = self.params[3];
        let last = self.rows(&[lo], |k, row, start, end, state| {
            let first = state[0];
            let last = k.elements(start, end, state, |k, pos, state| {
                let results = k.element(pos)?;
                for (base, x) in values.iter().zip(&results[1..]) {
                    k.e.store(*base, state[0], *x);
                }
                let kept = k.e.b.ins().uextend(types::I64, results[0]);
                Ok(vec![k.e.b.ins().iadd(state[0], kept)])
            })?;
            let count = k.e.b.ins().isub(last[0], first);
            k.e.store(counts, row, count);
            Ok(last)
        })?;
        let kept = self.e.b.ins().isub(last[0], lo);
        self.e.b.ins().return_(&[kept]);
        Ok(())
    }

    fn hist(&mut self, op: &Lambda) -> Result<Option<Value>, Unsupported> {
        let info = self.info;
        let outputs = info.layout.outputs_at();
        let len = self.env(types::I64, outputs);
        let dests = self.arrays(outputs + 1, &info.combined);
        let partials = self.arrays(info.layout.partials_at(), &info.combined);
        self.rows(&[], |k, _, start, end, _| {
            k.in_strips((start, end), &[], |k, (start, end), _| {
                let rest = match is_short(&info.kernel.body) {
                    true => {
                        k.unrolled(start, end, |k, pos| k.hist_element(op, (len, &dests), &partials, pos))?
                    }
                    false => start,
                };
                k.counted(rest, end, &[], |k, pos, _| {
                    k.hist_element(op, (len, &dests), &partials, pos)?;
                    Ok(vec![])
                })
            })
        })?;
        Ok(None)
    }

    fn hist_element(
        &mut self,
        op: &Lambda,
        (len, dests): (Value, &[Base]),
        partials: &[Base],
        pos: Value,
    ) -> Result<(), Unsupported> {
        let (index, values) = match self.role {
            Role::Combine => (pos, self.combinable(partials, pos)?.0),
            _ => {
                let results = self.element(pos)?;
                (results[0], results[1..].to_vec())
            }
        };
        self.if_inside(index, len, |k| {
            // Each destination is read and written.
            k.e.count(2 * dests.len() + work::of_body(&op.body));
            let old: Vec<Value> = dests.iter().map(|d| k.e.load(*d, index, output())).collect();
            let new = k.combine(op, &old, &values)?;
            dests.iter().zip(new).for_each(|(d, x)| k.e.store(*d, index, x));
            Ok(())
        })
    }

    /// Code for several elements a turn, one after the other; where the last whole turn ends.
    fn unrolled(
        &mut self,
        start: Value,
        end: Value,
        mut element: impl FnMut(&mut KernelEmitter<'_, 'a, 'k>, Value) -> Result<(), Unsupported>,
    ) -> Result<Value, Unsupported> {
        let last = self.e.b.ins().iadd_imm_s(end, 1 - UNROLLED);
        let done = self.counted_by(UNROLLED, start, last, &[start], |k, pos, _| {
            for i in 0..UNROLLED {
                let pos = k.e.b.ins().iadd_imm_s(pos, i);
                element(k, pos)?;
            }
            Ok(vec![k.e.b.ins().iadd_imm_s(pos, UNROLLED)])
        })?;
        Ok(done[0])
    }
}

/// Elements in a turn of a loop that does little for each.
const UNROLLED: i64 = 4;

/// Whether a body is so short that the loop around it counts.
fn is_short(body: &Body) -> bool {
    body.stms.len() <= 6
        && body.stms.iter().all(|s| matches!(s.exp, Exp::Prim(..) | Exp::Index(..) | Exp::Atom(_)))
}

/// What a scan does with its prefixes.
enum Prefixes<'k> {
    /// Stores them, and further results, in these.
    Stored(Vec<Base>),
    Used(&'k After, Vec<Target>),
}

/// Where a result of a map goes.
#[derive(Clone)]
pub enum Target {
    Elem(Base),
    /// So many elements for each position.
    Row(Base, usize),
    Scatter {
        len: Value,
        dests: Vec<Base>,
    },
    /// Written by the body itself; no value stands for the result.
    Own,
}
