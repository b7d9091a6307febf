//! Scans of flat spaces in three steps on strips: what is combined is computed in vectors, the runtime scans it, and what is done
//! with the prefixes is computed in vectors again.
//!
//! ```text
//! ys = scan (+) over n { xs[pos] * 2 } then \i { i - 1 }
//!
//! for s in 0 .. n by 512, e = min (s + 512) n
//!     for pos in s .. e      a[pos-s] = xs[pos] * 2
//!     scan (+) a -> b, from the sum before
//!     for pos in s .. e      ys[pos] = b[pos-s] - 1
//! ```
//!
//! Elements that are read at their position are scanned where they are, prefixes that are stored go where they are to be. What the last step
//! needs of the body's values is stored too, or computed once more if that is little. Not done if both the body and what follows have
//! checks: the first failure would not stay the first.

mod operator;

use super::emit::{Base, Ends, Result, args, output};
use super::fresh::Fresh;
use super::kernel::{KernelEmitter, Role};
use super::outputs::Target;
use super::small_integers::needed;
use super::stage::reads_position;
use super::strips::{Buffer, Scalar};
use crate::free::for_each_use;
use cranelift::prelude::*;
use cranelift_codegen::ir::StackSlot;
use operator::Part;
use par_ir::core::{Body, Exp, Param, Stm};
use par_ir::cost::{Time, time};
use par_ir::effects::Effects;
use par_ir::flat::{After, Kernel, KernelKind, Out, Ty};
use par_ir::hash::HashMap;
use par_ir::tuning;
use par_ir::ty::Type;
use par_ir::{Atom, Prim, Var};
use par_runtime::op::call::{ANY, prefix_symbol};
use par_runtime::plan::Step;
use par_runtime::prefix::{LARGE, STREAM};
use std::collections::BTreeSet;

/// Bytes before a buffer of prefixes, whose last element is the prefix before.
const MARGIN: i32 = 64;
/// A scan in three steps.
pub struct Strips {
    /// Stores what is to be combined, and what the last step needs.
    produce: Kernel,
    /// Buffers of its results.
    stored: Vec<Scalar>,
    /// Operand of each component: an array that is read at the position, or a buffer.
    sources: Vec<Var>,
    parts: Vec<Part>,
    prefixes: Vec<Prefix>,
    /// Works with the prefixes.
    pub consume: Kernel,
    /// The numbers of its outputs among the scan's.
    consumed: Vec<usize>,
    exclusive: bool,
}

/// Uses of a component's prefixes.
#[derive(Clone, Copy)]
struct Prefix {
    /// The last step's name of one.
    name: Var,
    /// Buffer from which the last step reads them.
    buffer: Var,
    /// The last step reads them.
    used: bool,
    /// Number of the output that the prefixes are, if they are one.
    output: Option<usize>,
}

/// The three steps of a scan, if it can be done so. `types` are those of what the kernel mentions.
pub fn split(kernel: &Kernel, types: &HashMap<Var, Ty>, fresh: &Fresh) -> Option<Strips> {
    let KernelKind::Scan { op, exclusive, after, .. } = &kernel.kind else { return None };
    kernel.space.as_flat()?;
    let parts = operator::parts(op)?;
    if !pays(&parts, after.as_deref()) {
        return None;
    }
    let mut splitter = Splitter::new(kernel, types, fresh);
    let after = match after {
        Some(after) => (**after).clone(),
        None => splitter.stored_prefixes(&parts),
    };
    if kernel.body.may_fail() && after.body.may_fail() {
        return None;
    }
    splitter.strips(parts, after, *exclusive)
}

/// True if strips are faster than one loop. Few sums of integers whose prefixes only say where something goes are not: the chain of
/// operations is short, and no vectors are left.
fn pays(parts: &[Part], after: Option<&After>) -> bool {
    let scatters = after.is_some_and(|a| a.outs.iter().any(|o| matches!(o, Out::Scatter(_))));
    let slow = |p: &Part| p.flags.is_some() || p.prim.is_float();
    !scatters || parts.len() > 2 || parts.iter().any(slow)
}

/// Finds out what the steps on strips compute, and what they store for the next one.
pub struct Splitter<'k> {
    kernel: &'k Kernel,
    types: &'k HashMap<Var, Ty>,
    /// The statement that binds a variable, by its number in the body.
    bound: HashMap<Var, usize>,
    /// Buffers with the values that they hold.
    pub buffers: Vec<(Scalar, Atom)>,
    fresh: &'k Fresh,
}

impl<'k> Splitter<'k> {
    pub fn new(kernel: &'k Kernel, types: &'k HashMap<Var, Ty>, fresh: &'k Fresh) -> Splitter<'k> {
        let numbered = kernel.body.stms.iter().enumerate();
        let bound = numbered.flat_map(|(i, s)| s.pat.iter().map(move |p| (p.var, i))).collect();
        Splitter { kernel, types, bound, buffers: vec![], fresh }
    }

    /// A variable that nothing else is called.
    pub fn fresh(&self) -> Var {
        self.fresh.var("buffer")
    }

    /// Prefixes and further results as outputs.
    fn stored_prefixes(&mut self, parts: &[Part]) -> After {
        let param = |p: &Part| Param { var: self.fresh(), ty: Type::scalar(p.prim) };
        let params: Vec<Param> = parts.iter().map(param).collect();
        let further = &self.kernel.body.results[params.len()..];
        let results = params.iter().map(|p| p.var.into()).chain(further.iter().copied()).collect();
        let prims = params.iter().map(|p| p.ty.prim()).chain(further.iter().map(|a| self.prim(*a)));
        let outs = prims.map(Out::Elem).collect();
        After { params, body: Body { stms: vec![], results }, outs }
    }

    fn prim(&self, a: Atom) -> Prim {
        let v = match a {
            Atom::Const(c) => return c.prim(),
            Atom::Var(v) => v,
        };
        if self.kernel.binders().contains(&v) {
            return Prim::I64;
        }
        let stms = self.kernel.prologue.iter().chain(&self.kernel.body.stms);
        let param = stms.flat_map(|s| &s.pat).find(|p| p.var == v);
        match (param, self.types.get(&v)) {
            (Some(p), _) => p.ty.prim(),
            (None, Some(Ty::Scalar(p))) => *p,
            (None, _) => panic!("internal error in codegen: the type of v_{} is not known", v.0),
        }
    }

    fn strips(mut self, parts: Vec<Part>, after: After, exclusive: bool) -> Option<Strips> {
        let sources = (0..parts.len()).map(|i| self.source(self.kernel.body.results[i])).collect();
        let mut used = BTreeSet::new();
        after.body.stms.iter().for_each(|s| for_each_use(s, &mut |v| _ = used.insert(v)));
        let (prefixes, consumed, results) = self.outputs(&after, exclusive, &used);
        used.extend(results.iter().filter_map(|a| a.var()));
        let prefixes: Vec<Prefix> =
            prefixes.into_iter().map(|p| Prefix { used: used.contains(&p.name), ..p }).collect();
        let mut stms = self.values(&used);
        let read = |(p, prefix): (&Param, &Prefix)| Stm {
            pat: vec![p.clone()],
            exp: Exp::Index(prefix.buffer, vec![self.kernel.pos.into()]),
            span: Default::default(),
        };
        stms.extend(after.params.iter().zip(&prefixes).filter(|(_, p)| p.used).map(read));
        stms.extend(after.body.stms);
        let outs: Vec<Out> = consumed.iter().map(|i| after.outs[*i].clone()).collect();
        let consume = self.map(outs, Body { stms, results });
        let produce = self.produce();
        let stored: Vec<Scalar> = self.buffers.iter().map(|b| b.0).collect();
        let strips = Strips { produce, stored, sources, parts, prefixes, consume, consumed, exclusive };
        (strips.buffers() <= tuning::SCAN_BUFFERS).then_some(strips)
    }

    /// The array of a value that is read at the position, or its buffer.
    pub fn source(&mut self, a: Atom) -> Var {
        let stm = a.var().and_then(|v| self.bound.get(&v)).map(|i| &self.kernel.body.stms[*i]);
        match stm.map(|s| &s.exp) {
            Some(Exp::Index(array, _)) if stm.is_some_and(|s| reads_position(s, self.kernel.pos)) => *array,
            _ => self.buffer(a),
        }
    }

    pub fn buffer(&mut self, a: Atom) -> Var {
        if let Some((scalar, _)) = self.buffers.iter().find(|b| b.1 == a) {
            return scalar.var;
        }
        let var = self.fresh();
        self.buffers.push((Scalar { var, prim: self.prim(a) }, a));
        var
    }

    /// Statements that bind those of these variables that the body binds: their buffers are read, or they are computed again.
    fn values(&mut self, used: &BTreeSet<Var>) -> Vec<Stm> {
        let (mut read, mut again) = (Vec::new(), BTreeSet::new());
        for v in used.iter().filter(|v| self.bound.contains_key(v)).copied().collect::<Vec<Var>>() {
            let mut slice = BTreeSet::new();
            if self.is_cheap(v, &mut slice) && slice.len() <= tuning::SCAN_AGAIN {
                again.extend(slice);
                continue;
            }
            let var = self.buffer(v.into());
            let stm = &self.kernel.body.stms[self.bound[&v]];
            let pat = stm.pat.iter().filter(|p| p.var == v).cloned().collect();
            read.push(Stm { pat, exp: Exp::Index(var, vec![self.kernel.pos.into()]), span: stm.span });
        }
        read.extend(again.into_iter().map(|i| self.kernel.body.stms[i].clone()));
        read
    }

    /// True if a variable is computed by plain operators from elements at the position; the statements that do it.
    fn is_cheap(&self, v: Var, slice: &mut BTreeSet<usize>) -> bool {
        let Some(i) = self.bound.get(&v) else { return true };
        let stm = &self.kernel.body.stms[*i];
        slice.insert(*i);
        match &stm.exp {
            Exp::Index(..) => reads_position(stm, self.kernel.pos),
            Exp::Atom(a) => a.var().is_none_or(|v| self.is_cheap(v, slice)),
            Exp::Prim(op, xs) => {
                time(*op) == Time::Short && xs.iter().all(|x| x.var().is_none_or(|v| self.is_cheap(v, slice)))
            }
            _ => false,
        }
    }

    /// The first step: what the buffers need, and all that may fail.
    pub fn produce(&self) -> Kernel {
        let results: Vec<Atom> = self.buffers.iter().map(|b| b.1).collect();
        let stms = needed(&self.kernel.body.stms, &results);
        self.map(self.buffers.iter().map(|b| Out::Elem(b.0.prim)).collect(), Body { stms, results })
    }

    /// Uses of each component's prefixes; the outputs that are left, and their results.
    fn outputs(
        &self,
        after: &After,
        exclusive: bool,
        used: &BTreeSet<Var>,
    ) -> (Vec<Prefix>, Vec<usize>, Vec<Atom>) {
        let prefix = |p: &Param| Prefix {
            name: p.var,
            used: used.contains(&p.var),
            buffer: self.fresh(),
            output: None,
        };
        let mut prefixes: Vec<Prefix> = after.params.iter().map(prefix).collect();
        let (mut consumed, mut results) = (Vec::new(), Vec::new());
        let mut values = after.body.results.iter().copied();
        for (i, out) in after.outs.iter().enumerate() {
            let of_out: Vec<Atom> = values.by_ref().take(out.results()).collect();
            let stored = |p: &&mut Prefix| of_out == [p.name.into()] && p.output.is_none() && !exclusive;
            match (out, prefixes.iter_mut().find(stored)) {
                (Out::Elem(_), Some(p)) => p.output = Some(i),
                _ => {
                    consumed.push(i);
                    results.extend(of_out);
                }
            }
        }
        (prefixes, consumed, results)
    }

    /// A step. The prologue has run already.
    fn map(&self, outs: Vec<Out>, body: Body) -> Kernel {
        Kernel { kind: KernelKind::Map(outs), prologue: vec![], body, ..self.kernel.clone() }
    }
}

impl Strips {
    /// The kernels of the steps, and all buffers.
    pub fn parts(&self) -> (Vec<&Kernel>, Vec<Scalar>) {
        let prefixes =
            self.prefixes.iter().zip(&self.parts).map(|(p, part)| Scalar { var: p.buffer, prim: part.prim });
        (vec![&self.produce, &self.consume], self.stored.iter().copied().chain(prefixes).collect())
    }

    /// The steps, as the plan stores them.
    pub fn steps(&self) -> Vec<Step> {
        let first = self.has_first().then_some(Step::Compute(self.stored.len()));
        let last = self.has_last().then_some(Step::Store);
        let operator = |p: &Part| {
            let name =
                if p.prim == Prim::Bool { "or".into() } else { format!("{:?}", p.operator).to_lowercase() };
            format!("{name}.{}{}", p.prim, if p.flags.is_some() { " by segments" } else { "" })
        };
        let scan = Step::Scan(self.parts.iter().map(operator).collect());
        first.into_iter().chain([scan]).chain(last).collect()
    }

    /// True if the first step does anything.
    fn has_first(&self) -> bool {
        !self.stored.is_empty() || !self.produce.body.stms.is_empty()
    }

    /// True if the last step does anything.
    fn has_last(&self) -> bool {
        !self.consumed.is_empty() || self.consume.body.has_effect()
    }

    /// True if all that matters of a component's prefixes is the last one.
    fn only_any(&self, i: usize) -> bool {
        let Prefix { used, output, .. } = self.prefixes[i];
        self.parts[i].prim == Prim::Bool && !used && output.is_none()
    }

    /// The component whose flags say where segments of all others begin.
    fn segments(&self) -> Option<usize> {
        let flags = self.parts.iter().find_map(|p| p.flags)?;
        let in_segments = |(i, p): (usize, &Part)| i == flags || p.flags == Some(flags);
        self.parts.iter().enumerate().all(in_segments).then_some(flags)
    }

    /// Number of buffers: those of the first step's results, and of prefixes that are no output.
    fn buffers(&self) -> usize {
        let own = |i: &usize| self.prefixes[*i].output.is_none() && !self.only_any(*i);
        self.stored.len() + (0..self.parts.len()).filter(own).count()
    }

    /// The name in machine code of the function that scans a component.
    fn symbol(&self, i: usize) -> String {
        let Part { operator, prim, flags } = self.parts[i];
        if self.only_any(i) { ANY.to_string() } else { prefix_symbol(operator, prim, flags.is_some()) }
    }
}

impl<'a, 'k> KernelEmitter<'_, 'a, 'k> {
    /// The scan in strips. Of the code that only reduces: whether a segment begins, so that nothing before matters to the result.
    pub fn scan_in_strips(&mut self, strips: &Strips) -> Result<Value> {
        let initial = self.initial();
        let info = self.info;
        let at = info.layout.outputs_at();
        let (targets, results) = match self.role {
            Role::ReduceOnly => (vec![], self.arrays(at, &info.combined)),
            _ => (self.scan_targets()?, vec![]),
        };
        let cells = match self.role {
            Role::Dual => self.arrays(info.layout.partials_at(), &info.combined),
            _ => vec![],
        };
        let stored = self.strip_buffers(&strips.stored);
        let prefixes = strips.prefixes.iter().zip(&strips.parts);
        let prefixes = prefixes.map(|(p, part)| Scalar { var: p.buffer, prim: part.prim });
        let prefixes: Vec<Buffer> = prefixes.map(|s| self.strip_buffer(s, MARGIN)).collect();
        let none = self.e.i64(0);
        let begins = self.rows(&[none], |k, row, start, end, state| {
            let carried = k.carried(strips, &initial, &cells);
            let (start, begins) = match strips.segments().filter(|_| k.role == Role::ReduceOnly) {
                Some(flags) => k.last_segment(strips, flags, &stored, (start, end))?,
                None => (start, state[0]),
            };
            k.by_strips((start, end), &[], |k, ends, _| {
                k.name_strips(&stored, ends.0);
                k.first_step(strips, ends)?;
                k.scan_step(strips, &prefixes, &targets, &carried, ends)?;
                if k.role != Role::ReduceOnly && strips.has_last() {
                    let left: Vec<Target> = strips.consumed.iter().map(|i| targets[*i].clone()).collect();
                    k.step(&strips.consume, k.info.scattering, &left, ends)?;
                }
                Ok(vec![])
            })?;
            for (i, (part, slot)) in strips.parts.iter().zip(&carried).enumerate() {
                let address = k.e.b.ins().stack_addr(types::I64, *slot, 0);
                let all = k.e.load_at(part.prim, output(), address, part.prim.size() as i32);
                cells.get(i).into_iter().for_each(|cell| k.e.store_at(part.prim, all, cell.address, 0));
                results.get(i).into_iter().for_each(|result| k.e.store(*result, row, all));
            }
            Ok(vec![begins])
        })?;
        Ok(begins[0])
    }

    /// Destinations of the scan's outputs.
    fn scan_targets(&mut self) -> Result<Vec<Target>> {
        let info = self.info;
        if let Some(after) = info.kernel.after() {
            return self.targets(&after.outs);
        }
        let prims: Vec<Prim> = info.combined.iter().chain(&info.elems).copied().collect();
        let arrays = self.arrays(info.layout.outputs_at(), &prims);
        Ok(arrays.into_iter().map(Target::Elem).collect())
    }

    /// For each component what is combined so far: of all there is, and of the part alone.
    fn carried(&mut self, strips: &Strips, initial: &[Value], cells: &[Base]) -> Vec<StackSlot> {
        let mut slots = Vec::new();
        for (i, part) in strips.parts.iter().enumerate() {
            let data = StackSlotData::new(StackSlotKind::ExplicitSlot, 16, 4);
            let slot = self.e.b.create_sized_stack_slot(data);
            let address = self.e.b.ins().stack_addr(types::I64, slot, 0);
            let alone = match cells.get(i) {
                Some(cell) => self.e.load_at(part.prim, output(), cell.address, 0),
                None => initial[i],
            };
            self.e.store_at(part.prim, initial[i], address, 0);
            self.e.store_at(part.prim, alone, address, part.prim.size() as i32);
            slots.push(slot);
        }
        slots
    }

    fn first_step(&mut self, strips: &Strips, ends: Ends) -> Result {
        if !strips.has_first() {
            return Ok(());
        }
        self.store_step(&strips.produce, &strips.stored, ends)
    }

    /// From where on elements matter to what all are combined to: from before the last beginning of a segment. And whether there is one.
    fn last_segment(
        &mut self,
        strips: &Strips,
        flags: usize,
        stored: &[Buffer],
        (start, end): Ends,
    ) -> Result<(Value, Value)> {
        let data = StackSlotData::new(StackSlotKind::ExplicitSlot, 16, 4);
        let found = self.e.b.create_sized_stack_slot(data);
        let [back, on, done] = [(); 3].map(|()| self.e.b.create_block());
        let at = self.e.params_like(back, &[start])[0];
        let from = self.e.params_like(done, &[start, start]);
        let length = self.e.b.ins().isub(end, start);
        let before_last = self.e.b.ins().iadd_imm_s(length, -1);
        let last = self.e.b.ins().band_imm_s(before_last, -tuning::SCAN_LOOK);
        let last = self.e.b.ins().iadd(start, last);
        let is_some = self.e.b.ins().icmp(IntCC::SignedLessThan, start, end);
        let (none, one) = (self.e.i64(0), self.e.i64(1));
        self.e.b.ins().brif(is_some, back, &args(&[last]), done, &args(&[start, none]));

        self.e.b.switch_to_block(back);
        let next = self.e.b.ins().iadd_imm_s(at, tuning::SCAN_LOOK);
        let to = self.e.b.ins().smin(next, end);
        self.name_strips(stored, at);
        if stored.iter().any(|b| b.name == strips.sources[flags]) {
            self.first_step(strips, (at, to))?;
        }
        let (count, zero) = (self.e.b.ins().isub(to, at), self.e.i64(0));
        let address = self.e.b.ins().stack_addr(types::I64, found, 0);
        self.e.b.ins().store(output(), zero, address, 0);
        let from_flags = self.strip_address(strips.sources[flags], at)?;
        self.runtime_call(ANY.to_string(), &[zero, from_flags, zero, count, address]);
        let any = self.e.b.ins().load(types::I8, output(), address, 0);
        self.e.poll();
        self.e.nest.loops += 1;
        let previous = self.e.b.ins().iadd_imm_s(at, -tuning::SCAN_LOOK);
        let further = self.e.b.ins().icmp(IntCC::SignedGreaterThanOrEqual, previous, start);
        self.e.b.ins().brif(any, done, &args(&[at, one]), on, &[]);
        self.e.b.switch_to_block(on);
        self.e.b.ins().brif(further, back, &args(&[previous]), done, &args(&[start, none]));
        self.e.b.switch_to_block(done);
        Ok((from[0], from[1]))
    }

    fn scan_step(
        &mut self,
        strips: &Strips,
        buffers: &[Buffer],
        targets: &[Target],
        carried: &[StackSlot],
        (first, last): Ends,
    ) -> Result {
        let count = self.e.b.ins().isub(last, first);
        for (i, part) in strips.parts.iter().enumerate() {
            let output = strips.prefixes[i].output.and_then(|o| targets.get(o));
            let buffer = &buffers[i];
            let is_stored = matches!(output, Some(Target::Elem(_)));
            let to = match output {
                Some(Target::Elem(base)) => {
                    self.e.bound.arrays.insert(buffer.name, *base);
                    self.e.element(*base, first)
                }
                _ => self.prefix_strip(strips, buffer, carried[i], first),
            };
            let from = self.strip_address(strips.sources[i], first)?;
            let flags = match part.flags {
                Some(f) => self.strip_address(strips.sources[f], first)?,
                None => self.e.i64(0),
            };
            let before = self.e.b.ins().stack_addr(types::I64, carried[i], 0);
            let streams = is_stored && !strips.only_any(i) && !strips.prefixes[i].used;
            let count = if streams { self.streamed(count, part.prim) } else { count };
            self.runtime_call(strips.symbol(i), &[to, from, flags, count, before]);
        }
        Ok(())
    }

    /// The number of prefixes, with a mark if the array that they go to is large.
    fn streamed(&mut self, count: Value, prim: Prim) -> Value {
        let total = self.env(types::I64, 0);
        let few = (LARGE / prim.size()) as i64;
        let is_large = self.e.b.ins().icmp_imm_s(IntCC::UnsignedGreaterThan, total, few);
        let marked = self.e.b.ins().bor_imm_s(count, STREAM);
        self.e.b.ins().select(is_large, marked, count)
    }

    /// Names the buffer of a component's prefixes, the one before each element if it is excluded; where they are stored.
    fn prefix_strip(&mut self, strips: &Strips, buffer: &Buffer, carried: StackSlot, first: Value) -> Value {
        let size = buffer.prim.size() as i32;
        if strips.exclusive {
            let before = self.e.b.ins().stack_addr(types::I64, carried, 0);
            let before = self.e.load_at(buffer.prim, output(), before, 0);
            let start = self.e.b.ins().stack_addr(types::I64, buffer.slot, buffer.offset - size);
            self.e.store_at(buffer.prim, before, start, 0);
        }
        self.name_strip(buffer, first, buffer.offset - if strips.exclusive { size } else { 0 });
        self.e.b.ins().stack_addr(types::I64, buffer.slot, buffer.offset)
    }
}
