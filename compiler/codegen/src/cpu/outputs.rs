//! Outputs of a map: where results go, one by one and in groups.

use super::emit::{Base, Ends, Result, Values};
use super::kernel::{KernelEmitter, array_prim};
use super::lanes::{Group, Lanes, Parts, Plan, Private, Segments, State};
use cranelift::prelude::*;
use par_ir::flat::{Kernel, Out};
use par_ir::{Prim, Var};
use std::rc::Rc;

/// Destination of a map's result.
#[derive(Clone)]
pub enum Target {
    Elem(Base),
    /// So many elements for each position.
    Row(Base, usize),
    Scatter {
        /// Number of the scatter among the kernel's.
        number: usize,
        len: Value,
        dests: Vec<Base>,
    },
    /// Written by the body itself; no value stands for the result.
    Own {
        base: Base,
        /// The word of the environment with its length.
        len: usize,
    },
}

impl Target {
    /// The same, with other values for its addresses and lengths.
    pub fn with_addresses(&self, of: &mut dyn FnMut(Value) -> Value) -> Target {
        let mut at = |base: &Base| Base { address: of(base.address), ..*base };
        match self {
            Target::Elem(base) => Target::Elem(at(base)),
            Target::Row(base, n) => Target::Row(at(base), *n),
            Target::Scatter { number, len, dests } => {
                let dests = dests.iter().map(at).collect();
                Target::Scatter { number: *number, len: of(*len), dests }
            }
            Target::Own { base, len } => Target::Own { base: at(base), len: *len },
        }
    }
}

/// Words of the environment that an output takes.
pub fn words(out: &Out) -> usize {
    match out {
        Out::Elem(_) | Out::Row(..) => 1,
        Out::Scatter(dests) => 1 + dests.len(),
        // Its length, as for a scatter, and its address.
        Out::Own { .. } => 2,
    }
}

impl KernelEmitter<'_, '_, '_> {
    pub fn targets(&mut self, outs: &[Out]) -> Result<Vec<Target>> {
        let mut word = self.info.layout.outputs_at();
        let (mut targets, mut scatters) = (Vec::new(), 0);
        for out in outs {
            targets.push(self.target(out, word, scatters)?);
            word += words(out);
            scatters += usize::from(matches!(out, Out::Scatter(_)));
        }
        Ok(targets)
    }

    pub fn map(&mut self, outs: &[Out]) -> Result {
        let targets = self.targets(outs)?;
        if let Some(staged) = self.staged_over_rows() {
            return self.map_rows_in_strips(staged, &targets);
        }
        if !self.e.counting && self.info.scheduled.is_some_and(|s| s.ahead) {
            return self.map_ahead(&targets);
        }
        self.each_row(|k, _, ends| k.map_in_strips(&targets, ends))
    }

    /// Computes and stores the results of a map at the positions `start..end`.
    pub fn map_positions(&mut self, targets: &[Target], (start, end): Ends) -> Result {
        if let Some(scattering) = self.info.scattering {
            return self.scatter_strips(scattering, targets, (start, end));
        }
        match Segments::of_map(self.e, self.info).filter(|_| !self.e.counting) {
            Some(segments) => self.map_segments(&segments, targets, (start, end)),
            None => self.map_straight(targets, (start, end), false),
        }
    }

    fn map_segments(&mut self, segments: &Segments, targets: &[Target], ends: Ends) -> Result {
        let KernelEmitter { e, info, types, role, params } = self;
        e.segments(segments, ends, &mut |e, body, ends, in_groups| {
            let kernel = Kernel { body: body.clone(), ..info.kernel.clone() };
            let info = &info.with_kernel(&kernel);
            let mut k = KernelEmitter { e, info, types, role: *role, params: params.clone() };
            match in_groups {
                true => k.map_straight(targets, ends, true),
                false => k.map_elements(targets, ends),
            }
        })
    }

    /// Groups of positions, and those that are left; `in_segments` of a row, where these are not few.
    fn map_straight(&mut self, targets: &[Target], (start, end): Ends, in_segments: bool) -> Result {
        let plan = self.info.lanes(self.e.width).filter(|_| !self.e.counting);
        // A segment at an edge is too short for a group, even under a mask.
        let plan = plan.map(|p| if in_segments { Rc::new(p.without_rest()) } else { p });
        let shorter = plan.as_ref().filter(|_| in_segments).and_then(|p| p.shorter()).map(Rc::new);
        let otherwise = plan.as_ref().and_then(|p| p.otherwise.clone());
        let mut rest = start;
        for plan in [plan, otherwise, shorter].into_iter().flatten() {
            rest = self.map_groups(&plan, targets, rest, end)?;
        }
        self.map_elements(targets, (rest, end))
    }

    pub fn map_elements(&mut self, targets: &[Target], ends: Ends) -> Result {
        self.each(ends, 1, |k, pos| k.map_element(targets, pos))
    }

    pub fn map_element(&mut self, targets: &[Target], pos: Value) -> Result {
        let mut results = self.element(pos)?.into_iter();
        targets.iter().try_for_each(|target| self.write(target, pos, &mut results))
    }

    /// Whole groups of positions; where they end.
    fn map_groups(&mut self, plan: &Plan, targets: &[Target], start: Value, end: Value) -> Result<Value> {
        let kernel = self.info.kernel;
        let lengths = match &plan.parts {
            Some(parts) => self.lengths(parts, targets)?,
            None => vec![],
        };
        let (last, _) = self.groups(
            plan,
            (start, end),
            (&[], &[]),
            |group, pos, _, _| {
                if let Some(parts) = &plan.parts {
                    group.fetch_parts(parts, pos, &lengths)?;
                }
                let results = group.elements(kernel, pos)?;
                if let Some(parts) = &plan.parts {
                    group.store_parts(parts);
                }
                let updates = plan.parts.as_ref().is_some_and(|p| p.arrays.iter().any(|a| !a.is_read_only));
                group.write(targets, pos, results, updates)?;
                Ok(State::default())
            },
            |k, pos, _| {
                k.map_element(targets, pos)?;
                Ok(vec![])
            },
            |_, _, _| Ok(vec![]),
        )?;
        Ok(last)
    }

    /// The lengths of the arrays of which positions have parts.
    fn lengths(&mut self, parts: &Parts, targets: &[Target]) -> Result<Values> {
        let own =
            targets.iter().filter_map(|t| if let Target::Own { len, .. } = t { Some(*len) } else { None });
        let (mut own, at) = (own.collect::<Vec<_>>().into_iter(), self.info.layout.lengths_at());
        let word = |p: &Private| match p.is_read_only {
            false => own.next(),
            true => self.info.captures.iter().position(|v| *v == p.array).map(|i| at + i),
        };
        let words = parts.arrays.iter().map(word).collect::<Option<Vec<usize>>>();
        let words = words.ok_or("an array with parts is not bound")?;
        Ok(words.into_iter().map(|word| self.env(types::I64, word)).collect())
    }

    fn target(&mut self, out: &Out, word: usize, number: usize) -> Result<Target> {
        match out {
            Out::Elem(p) => Ok(Target::Elem(self.array(word, *p))),
            Out::Row(p, n) => Ok(Target::Row(self.array(word, *p), *n)),
            Out::Scatter(dests) => {
                let len = self.env(types::I64, word);
                Ok(Target::Scatter { number, len, dests: self.destinations(dests, word + 1)? })
            }
            Out::Own { state, .. } => {
                let base = self.array(word + 1, state.ty.prim());
                self.e.own(state.var, base);
                Ok(Target::Own { base, len: word })
            }
        }
    }

    /// Arrays that are written by index, whose addresses are in these words.
    pub fn destinations(&mut self, dests: &[Var], word: usize) -> Result<Vec<Base>> {
        let prims = dests.iter().map(|d| self.types.get(d).copied().and_then(array_prim));
        let prims = prims.collect::<Option<Vec<Prim>>>().ok_or("a scatter needs arrays")?;
        Ok(self.arrays(word, &prims))
    }

    pub fn write(
        &mut self,
        target: &Target,
        pos: Value,
        results: &mut impl Iterator<Item = Value>,
    ) -> Result {
        let mut next = || results.next().ok_or_else(|| "a kernel has too few results".to_string());
        match target {
            Target::Own { .. } => {}
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
            Target::Scatter { number, len, dests } => {
                let index = next()?;
                let values: Vec<Value> = dests.iter().map(|_| next()).collect::<Result<_>>()?;
                self.e.scatter(*number, (index, *len), dests.iter().copied().zip(values));
            }
        }
        Ok(())
    }
}

impl Group<'_, '_> {
    /// Stores results at the positions from `pos`; for parts of arrays, which are stored already, there are none.
    pub fn write(&mut self, targets: &[Target], pos: Value, results: Vec<Lanes>, has_parts: bool) -> Result {
        let mut results = results.into_iter();
        for target in targets {
            match target {
                Target::Elem(base) => {
                    let x = results.next().ok_or("a kernel has too few results")?;
                    self.store_result(*base, pos, &x);
                }
                Target::Scatter { number, len, dests } => {
                    let lanes: Vec<_> = results.by_ref().take(1 + dests.len()).collect();
                    self.scatter(*number, *len, dests, &lanes);
                }
                Target::Row(base, n) => {
                    let row: Vec<_> = results.by_ref().take(*n).collect();
                    self.store_rows(*base, pos, &row);
                }
                Target::Own { .. } if has_parts => {}
                Target::Own { base, .. } => {
                    let mut next = || results.next().ok_or("a kernel has too few results");
                    let (index, x) = (next()?, next()?);
                    self.replace(*base, &index, &x);
                }
            }
        }
        Ok(())
    }
}
