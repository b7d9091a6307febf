//! Scans with any operator, on groups of positions.
//!
//! ```text
//! x0 x1 x2 x3          neighbours are combined             x0    x0x1   x2    x2x3
//!                      then with the last of the two before  x0    x0x1   x0x1x2 x0x1x2x3    and so on
//! prefixes             the state before the group, combined with each
//! the next state       the state before the group, combined with the last
//! ```
//!
//! So the chain from group to group is one operation long. What rounding shows is the order of operations, which is the same on all
//! processors: the number of lanes is, and so is the choice of groups; and the code that only reduces combines groups alike.

use super::class::{Classes, Indices};
use super::cost::{self, Setting};
use super::operator::straightened;
use super::reduce::prims;
use super::value::{Form, Lanes, lane_bytes};
use super::{Group, Plan, is_pure};
use crate::cpu::emit::Result;
use crate::cpu::kernel::KernelInfo;
use cranelift::prelude::*;
use par_ir::Prim;
use par_ir::core::Lambda;
use par_ir::flat::{Kernel, KernelKind};
use par_ir::hash::HashSet;

/// Copies of the operator that a group is priced with: as many steps as 8 lanes take, and one with the state.
const STEPS: usize = 4;

/// A scan on groups.
pub struct Scanning {
    pub plan: Plan,
    /// The operator, without branches.
    op: Lambda,
}

/// The groups of a scan, if they pay. Its operator must be one that computes, on numbers of 32 and 64 bits and flags.
pub fn scanning(info: &KernelInfo, bytes: usize) -> Option<Scanning> {
    let KernelKind::Scan { op, .. } = &info.kernel.kind else { return None };
    let kernel = info.kernel;
    let op = straightened(op)?;
    let fits = |p: Prim| p == Prim::Bool || p != Prim::F16 && matches!(p.size(), 4 | 8);
    let after = kernel.after().map(|a| a.body.clone());
    let pure = is_pure(&kernel.body) && after.as_ref().is_none_or(is_pure);
    if !pure || !op.ret.iter().all(|t| fits(t.prim())) {
        return None;
    }
    let classes = |indices| {
        let classes = Classes::new((kernel.pos, 1), &kernel.body, indices);
        let classes = classes.with_operator(&op, &HashSet::default(), &op.body, &kernel.body);
        match kernel.after() {
            Some(after) => classes.with_results(&after.params, &after.body),
            None => classes,
        }
    };
    let mut bodies = vec![&kernel.body];
    bodies.extend([&op.body; STEPS]);
    bodies.extend(&after);
    let is_ragged = kernel.space.is_ragged();
    let setting = Setting { is_exact: false, is_ragged, ..Setting::of_map(bytes) };
    // Gathers are not everywhere.
    if classes(Indices::Apart).has_apart() {
        return None;
    }
    let plan = Plan::new(cost::choose(classes, &bodies, setting)?, &bodies);
    Some(Scanning { plan, op })
}

impl Group<'_, '_> {
    /// The values of the positions from `pos` on, combined with all before them in the group; and further results.
    pub fn scanned(
        &mut self,
        scanning: &Scanning,
        kernel: &Kernel,
        pos: Value,
    ) -> Result<(Vec<Lanes>, Vec<Lanes>)> {
        let prims = prims(&scanning.op);
        let mut xs = self.elements(kernel, pos)?;
        let rest = xs.split_off(prims.len().min(xs.len()));
        let mut xs: Vec<Lanes> = xs.iter().zip(&prims).map(|(x, p)| self.in_registers(x, *p)).collect();
        let mut distance = 1;
        while distance < self.lanes {
            xs = self.doubled(&scanning.op, &xs, distance)?;
            distance *= 2;
        }
        Ok((xs, rest))
    }

    fn in_registers(&mut self, x: &Lanes, p: Prim) -> Lanes {
        Lanes::Vector(self.flatten(x, p, Form::Vector))
    }

    /// Every second stretch of `distance` lanes combined with the last of the stretch before it.
    fn doubled(&mut self, op: &Lambda, xs: &[Lanes], distance: usize) -> Result<Vec<Lanes>> {
        let is_second = |lane: usize| lane & distance != 0;
        let before = |lane: usize| match is_second(lane) {
            true => lane / (2 * distance) * 2 * distance + distance - 1,
            false => lane,
        };
        let prims = prims(op);
        let moved: Vec<Lanes> = xs.iter().zip(&prims).map(|(x, p)| self.moved(x, *p, before)).collect();
        let combined = self.combined(op, moved.into_iter().chain(xs.iter().cloned()))?;
        let both = xs.iter().zip(combined).zip(prims);
        Ok(both.map(|((x, y), p)| self.mixed(x, &y, p, is_second)).collect())
    }

    /// Lanes from other places.
    fn moved(&mut self, x: &Lanes, p: Prim, from: impl Fn(usize) -> usize) -> Lanes {
        let Lanes::Vector(regs) = x else { return x.clone() };
        let per = self.bytes / lane_bytes(p);
        let register = |s: &mut Self, r: usize| {
            let places = (r * per..(r + 1) * per).map(|lane| if lane < s.lanes { from(lane) } else { lane });
            let places: Vec<(usize, usize)> = places.map(|l| (l / per, l % per)).collect();
            s.chosen(regs, &places, lane_bytes(p))
        };
        Lanes::Vector((0..regs.len()).map(|r| register(self, r)).collect())
    }

    /// The lanes of `y` where this holds, else those of `x`.
    fn mixed(&mut self, x: &Lanes, y: &Lanes, p: Prim, is_second: impl Fn(usize) -> bool) -> Lanes {
        let y = self.in_registers(y, p);
        let (Lanes::Vector(xs), Lanes::Vector(ys)) = (x, y) else { return x.clone() };
        let per = self.bytes / lane_bytes(p);
        let register = |s: &mut Self, r: usize| {
            let places: Vec<(usize, usize)> =
                (0..per).map(|lane| (usize::from(is_second(r * per + lane)), lane)).collect();
            s.chosen(&[xs[r], ys[r]], &places, lane_bytes(p))
        };
        Lanes::Vector((0..xs.len()).map(|r| register(self, r)).collect())
    }

    /// The prefixes, if this is the state before the group.
    pub fn prefixes(
        &mut self,
        scanning: &Scanning,
        state: &[Value],
        xs: &[Lanes],
        exclusive: bool,
    ) -> Result<Vec<Lanes>> {
        let before = state.iter().map(|x| Lanes::Same(*x));
        let prims = prims(&scanning.op);
        let prefixes = self.combined(&scanning.op, before.chain(xs.iter().cloned()))?;
        let prefixes: Vec<Lanes> =
            prefixes.iter().zip(&prims).map(|(x, p)| self.in_registers(x, *p)).collect();
        if !exclusive {
            return Ok(prefixes);
        }
        let all = prefixes.iter().zip(state).zip(prims);
        Ok(all.map(|((x, before), p)| self.shifted_in(x, *before, p)).collect())
    }

    /// One lane further, behind a first one.
    fn shifted_in(&mut self, x: &Lanes, first: Value, p: Prim) -> Lanes {
        let first = self.in_registers(&Lanes::Same(first), p);
        let (Lanes::Vector(regs), Lanes::Vector(first)) = (x, first) else { return x.clone() };
        let per = self.bytes / lane_bytes(p);
        let all = [&first[..1], regs].concat();
        let register = |s: &mut Self, r: usize| {
            let place = |lane: usize| match lane {
                0 => (0, 0),
                lane => ((lane - 1) / per + 1, (lane - 1) % per),
            };
            let places: Vec<(usize, usize)> = (r * per..(r + 1) * per).map(place).collect();
            s.chosen(&all, &places, lane_bytes(p))
        };
        Lanes::Vector((0..regs.len()).map(|r| register(self, r)).collect())
    }

    /// The scalars of the last lane.
    pub fn last_lane(&mut self, scanning: &Scanning, xs: &[Lanes]) -> Vec<Value> {
        let last = |s: &mut Self, x: &Lanes, p: Prim| {
            let Lanes::Vector(regs) = x else { unreachable!("scanned in registers") };
            let (per, lane) = (s.bytes / lane_bytes(p), s.lanes - 1);
            s.scalar_of(regs[lane / per], lane % per, p)
        };
        xs.iter().zip(prims(&scanning.op)).map(|(x, p)| last(self, x, p)).collect()
    }
}
