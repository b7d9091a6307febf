//! FLAT's host program to the runtime's plan: variables become slots, and last uses are found.
//!
//! ```text
//! let ys = kernel … xs                     s1 = kernel … copy s0
//! let zs = ys with [0] = 1        ==>      s2 = write (move s1) 0 1
//! (xs, zs)                                 (move s0, move s2)
//! ```
//!
//! Blocks are walked backwards with the set of live variables. What a loop's body uses from outside is live through the
//! whole body and dropped after the loop; what only one branch uses is dropped at the start of the other. Scalars
//! are copied always.

use crate::Result;
use par_ir::Var;
use par_ir::flat::{self, Kernel, Op, Space, Ty, VersionChoice};
use par_ir::ty::{Atom, Dim};
use par_ir::visit::Code as _;
use par_runtime::plan::{self, Kind, Operand, Slot};
use std::collections::{BTreeSet, HashMap};

/// A back end's code for a program's kernels.
pub trait Code {
    /// A kernel of its plans.
    type Kernel;

    /// The plan of the kernel that is the statement with this number. Its operands are to be asked for in the opposite of the order in which the executor takes them.
    fn kernel(
        &mut self,
        number: u32,
        kernel: &Kernel,
        operands: &mut Operands,
        live: &mut Live,
    ) -> Result<Self::Kernel>;
}

/// The statements of a program that are kernels, with their numbers.
pub fn kernels(program: &flat::Program) -> Vec<(u32, &flat::Stm, &Kernel)> {
    let numbered = (0..).zip(program.statements());
    numbered.filter_map(|(i, s)| if let Op::Kernel(k) = &s.op { Some((i, s, &**k)) } else { None }).collect()
}

/// All functions of a program.
pub fn functions<C: Code>(
    program: &flat::Program,
    types: &HashMap<Var, Ty>,
    code: &mut C,
) -> Result<Vec<plan::Function<C::Kernel>>> {
    let mut later = program.statements().len() as u32;
    let functions = program.funs.iter().rev().map(|f| function(f, types, &mut later, code));
    let mut functions: Vec<_> = functions.collect::<Result<_>>()?;
    functions.reverse();
    Ok(functions)
}

/// The plan of a function whose statements have the numbers below `end`, which becomes that of its first.
fn function<C: Code>(
    fun: &flat::Fun,
    types: &HashMap<Var, Ty>,
    end: &mut u32,
    code: &mut C,
) -> Result<plan::Function<C::Kernel>> {
    let mut p = Planner { operands: Operands { types, slots: HashMap::new() }, end, code };
    let mut live = Live::new();
    let mut body = p.block(&fun.body, &mut live)?;
    let params: Vec<Var> = fun.params.iter().map(|p| p.var).collect();
    body.drop_first.extend(p.operands.dead(&params, &live));
    let params = fun.params.iter().map(|x| (p.operands.slot(x.var), kind(x.ty))).collect();
    Ok(plan::Function {
        name: fun.entry.as_ref().map_or(&fun.name, |e| &e.name).clone(),
        is_entry: fun.entry.is_some(),
        params,
        ret: fun.ret.iter().map(|t| kind(*t)).collect(),
        ret_columns: fun.entry.as_ref().map(|e| e.ret.columns()),
        slots: p.operands.slots.len(),
        body,
        span: fun.span,
    })
}

fn kind(ty: Ty) -> Kind {
    match ty {
        Ty::Scalar(p) => Kind::Scalar(p),
        Ty::Array(p) => Kind::Array(p),
        Ty::Rope(p) => Kind::Rope(p),
        Ty::Desc => Kind::Desc,
    }
}

/// Variables other than scalars that are used later. In order, so that plans are the same in every process.
pub type Live = BTreeSet<Var>;

/// The slots of a function's variables, and how uses of them become operands. Uses are seen from last to first.
pub struct Operands<'a> {
    types: &'a HashMap<Var, Ty>,
    slots: HashMap<Var, Slot>,
}

impl Operands<'_> {
    fn slot(&mut self, v: Var) -> Slot {
        let next = self.slots.len() as Slot;
        *self.slots.entry(v).or_insert(next)
    }

    fn is_counted(&self, v: Var) -> bool {
        !matches!(self.types.get(&v), Some(Ty::Scalar(_)))
    }

    /// Slots of those variables that are not live.
    fn dead(&mut self, vars: &[Var], live: &Live) -> Vec<Slot> {
        let dead: Vec<Var> =
            vars.iter().copied().filter(|v| self.is_counted(*v) && !live.contains(v)).collect();
        dead.into_iter().map(|v| self.slot(v)).collect()
    }

    /// An operand.
    pub fn operand(&mut self, a: &Atom, live: &mut Live) -> Operand {
        match a {
            Atom::Const(c) => Operand::Const(*c),
            Atom::Var(v) => self.var(*v, live),
        }
    }

    /// A variable as an operand.
    pub fn var(&mut self, v: Var, live: &mut Live) -> Operand {
        let slot = self.slot(v);
        if self.is_counted(v) && live.insert(v) { Operand::Move(slot) } else { Operand::Copy(slot) }
    }

    /// Operands, of which the first is taken first.
    pub fn operands(&mut self, xs: &[Atom], live: &mut Live) -> Vec<Operand> {
        let mut all: Vec<Operand> = xs.iter().rev().map(|x| self.operand(x, live)).collect();
        all.reverse();
        all
    }

    /// Variables as operands, of which the first is taken first.
    pub fn vars(&mut self, xs: &[Var], live: &mut Live) -> Vec<Operand> {
        let mut all: Vec<Operand> = xs.iter().rev().map(|x| self.var(*x, live)).collect();
        all.reverse();
        all
    }

    /// The space of a kernel.
    pub fn space(&mut self, space: &Space, live: &mut Live) -> plan::Space {
        match space.0[..] {
            [Dim::Size(n)] => plan::Space::Flat(self.operand(&n, live)),
            [Dim::Size(rows), Dim::Size(m)] => {
                plan::Space::Uniform { m: self.operand(&m, live), rows: self.operand(&rows, live) }
            }
            [Dim::Size(rows), Dim::Seg(d)] => {
                plan::Space::Ragged { desc: self.var(d, live), rows: self.operand(&rows, live) }
            }
            _ => unreachable!("spaces are linearised"),
        }
    }
}

struct Planner<'a, C> {
    operands: Operands<'a>,
    /// The number of the statement that was planned last: those before it, in the order of the text, have lower ones.
    end: &'a mut u32,
    code: &'a mut C,
}

type Block<C> = plan::Block<<C as Code>::Kernel>;
type PlanOp<C> = plan::Op<<C as Code>::Kernel>;

impl<C: Code> Planner<'_, C> {
    /// `live`: after the block; afterwards: before it.
    fn block(&mut self, block: &flat::Block, live: &mut Live) -> Result<Block<C>> {
        let results = self.operands.operands(&block.results, live);
        let mut stms = Vec::with_capacity(block.stms.len());
        for stm in block.stms.iter().rev() {
            stms.push(self.stm(stm, live)?);
        }
        stms.reverse();
        Ok(plan::Block { drop_first: vec![], stms, results })
    }

    fn stm(&mut self, stm: &flat::Stm, live: &mut Live) -> Result<plan::Stm<C::Kernel>> {
        let bound: Vec<Var> = stm.pat.iter().map(|p| p.var).collect();
        let mut drop_after = self.operands.dead(&bound, live);
        for v in &bound {
            live.remove(v);
        }
        let op = self.op(stm, live, &mut drop_after)?;
        *self.end -= 1;
        let pat = bound.into_iter().map(|v| self.operands.slot(v)).collect();
        Ok(plan::Stm { pat, op, drop_after, span: stm.span, site: *self.end })
    }

    fn op(&mut self, stm: &flat::Stm, live: &mut Live, drop_after: &mut Vec<Slot>) -> Result<PlanOp<C>> {
        Ok(match &stm.op {
            Op::Check { cond, kind, args } => {
                let args = self.operands.operands(args, live);
                plan::Op::Check { cond: self.operands.operand(cond, live), kind: kind.clone(), args }
            }
            Op::Trace { label, ty, args } => {
                let args = self.operands.operands(args, live);
                plan::Op::Trace { label: label.clone(), ty: ty.clone(), args }
            }
            Op::If { cond, then, other, versions } => self.branch((cond, *versions), [then, other], live)?,
            Op::Loop { params, form, body } => self.loop_(params, form, body, live, drop_after)?,
            Op::Split { rows, most, first, count, body } => {
                self.split(*rows, *most, [*first, *count], body, live, drop_after)?
            }
            Op::Kernel(k) => {
                let number = *self.end - 1;
                plan::Op::Kernel(Box::new(self.code.kernel(number, k, &mut self.operands, live)?))
            }
            Op::Call(fun, args) => plan::Op::Call(fun.0 as usize, self.operands.operands(args, live)),
            Op::Concat(vs) => plan::Op::Concat(self.operands.vars(vs, live), result_prim(stm)?),
            Op::Append(vs) => plan::Op::Append(self.operands.vars(vs, live), result_prim(stm)?),
            op => self.simple(op, live),
        })
    }

    /// An operation that needs its operands only.
    fn simple(&mut self, op: &Op, live: &mut Live) -> PlanOp<C> {
        let o = &mut self.operands;
        match op {
            Op::Atom(a) => plan::Op::Atom(o.operand(a, live)),
            Op::Prim(f, xs) => plan::Op::Scalar(*f, o.operands(xs, live)),
            Op::MakeDesc(v) => plan::Op::MakeDesc(o.var(*v, live)),
            Op::UniformDesc { rows, m } => {
                plan::Op::UniformDesc { rows: o.operand(rows, live), m: o.operand(m, live) }
            }
            Op::Offsets(v) => plan::Op::Offsets(o.var(*v, live)),
            Op::Lengths(v) => plan::Op::Lengths(o.var(*v, live)),
            Op::SegIds(v) => plan::Op::SegIds(o.var(*v, live)),
            Op::Total(v) => plan::Op::Total(o.var(*v, live)),
            Op::Rows(v) => plan::Op::Rows(o.var(*v, live)),
            Op::Length(v) => plan::Op::Length(o.var(*v, live)),
            Op::Read(v, i) => plan::Op::Read(o.var(*v, live), o.operand(i, live)),
            Op::Write { arr, index, value } => plan::Op::Write {
                arr: o.var(*arr, live),
                index: o.operand(index, live),
                value: o.operand(value, live),
            },
            Op::Iota(n) => plan::Op::Iota(o.operand(n, live)),
            Op::Replicate(n, x) => plan::Op::Replicate(o.operand(n, live), o.operand(x, live)),
            Op::Literal(xs, p) => plan::Op::Literal(o.operands(xs, live), *p),
            Op::Slice { arr, start, len } => plan::Op::Slice {
                arr: o.var(*arr, live),
                start: o.operand(start, live),
                len: o.operand(len, live),
            },
            Op::ConcatDesc(vs) => plan::Op::ConcatDesc(o.vars(vs, live)),
            Op::Compact { rope, starts, lens, kept } => plan::Op::Compact {
                rope: o.var(*rope, live),
                starts: o.var(*starts, live),
                lens: o.var(*lens, live),
                kept: kept.map(|b| o.var(b, live)),
            },
            Op::NeedsCollection { rope, base } => {
                plan::Op::NeedsCollection { rope: o.var(*rope, live), base: base.map(|b| o.var(b, live)) }
            }
            Op::Collect { rope, starts, weight } => plan::Op::Collect {
                rope: o.var(*rope, live),
                starts: o.var(*starts, live),
                weight: o.operand(weight, live),
            },
            Op::Sort { space, keys, values } => plan::Op::Sort {
                values: values.map(|v| o.var(v, live)),
                keys: o.var(*keys, live),
                space: o.space(space, live),
            },
            Op::Check { .. }
            | Op::Trace { .. }
            | Op::If { .. }
            | Op::Loop { .. }
            | Op::Split { .. }
            | Op::Kernel(_)
            | Op::Call(..)
            | Op::Concat(_)
            | Op::Append(_) => unreachable!("planned by `op`"),
        }
    }

    fn branch(
        &mut self,
        (cond, versions): (&Atom, Option<VersionChoice>),
        [then, other]: [&flat::Block; 2],
        live: &mut Live,
    ) -> Result<PlanOp<C>> {
        let (mut in_then, mut in_other) = (live.clone(), live.clone());
        let mut other = self.block(other, &mut in_other)?;
        let mut then = self.block(then, &mut in_then)?;
        let only = |a: &Live, b: &Live| a.difference(b).copied().collect::<Vec<Var>>();
        then.drop_first = self.operands.dead(&only(&in_other, &in_then), &in_then);
        other.drop_first = self.operands.dead(&only(&in_then, &in_other), &in_other);
        live.extend(in_then);
        live.extend(in_other);
        let serial = matches!(versions, Some(VersionChoice::Waves | VersionChoice::ColumnPrefixes));
        Ok(plan::Op::If { cond: self.operands.operand(cond, live), then, other, serial })
    }

    fn loop_(
        &mut self,
        params: &[(flat::Param, Atom)],
        form: &flat::LoopForm,
        body: &flat::Block,
        live: &mut Live,
        drop_after: &mut Vec<Slot>,
    ) -> Result<PlanOp<C>> {
        let state: Vec<Var> = params.iter().map(|(p, _)| p.var).collect();
        let mut outside = body.free();
        if let flat::LoopForm::While(cond) = form {
            outside.extend(cond.free());
        }
        for v in &state {
            outside.remove(v);
        }
        self.keep_through(outside, live, drop_after);

        let mut inside = live.clone();
        let mut planned = self.block(body, &mut inside)?;
        planned.drop_first.extend(self.operands.dead(&state, &inside));
        let form = match form {
            flat::LoopForm::For { index, prim, bound } => {
                let bound = self.operands.operand(bound, live);
                plan::LoopForm::For { index: self.operands.slot(*index), prim: *prim, bound }
            }
            flat::LoopForm::While(cond) => {
                let mut after = live.clone();
                after.extend(state.iter().copied());
                plan::LoopForm::While(self.block(cond, &mut after)?)
            }
        };
        let initial: Vec<Atom> = params.iter().map(|(_, x)| *x).collect();
        let initial = self.operands.operands(&initial, live);
        let params = state.into_iter().map(|v| self.operands.slot(v)).zip(initial).collect();
        Ok(plan::Op::Loop(Box::new(plan::Loop { params, form, body: planned })))
    }

    /// Variables that every iteration uses from outside live as long as the loop; dropped after it are those that nothing uses then.
    fn keep_through(&mut self, mut outside: BTreeSet<Var>, live: &mut Live, drop_after: &mut Vec<Slot>) {
        outside.retain(|v| self.operands.types.contains_key(v) && self.operands.is_counted(*v));
        let last: Vec<Var> = outside.iter().copied().filter(|v| !live.contains(v)).collect();
        drop_after.extend(self.operands.dead(&last, live));
        live.extend(outside);
    }

    /// Variables that the body uses from outside are used by the next chunk too, and by another try of the same.
    fn split(
        &mut self,
        rows: Atom,
        most: u64,
        chunk: [Var; 2],
        body: &flat::Block,
        live: &mut Live,
        drop_after: &mut Vec<Slot>,
    ) -> Result<PlanOp<C>> {
        self.keep_through(body.free(), live, drop_after);
        let mut inside = live.clone();
        let planned = self.block(body, &mut inside)?;
        let bound: Vec<Var> = body.bound().into_iter().filter(|v| self.operands.is_counted(*v)).collect();
        let bound = bound.into_iter().filter_map(|v| self.operands.slots.get(&v).copied()).collect();
        let kinds =
            body.results.iter().filter_map(|a| a.var().map(|v| kind(self.operands.types[&v]))).collect();
        let rows = self.operands.operand(&rows, live);
        let chunk = chunk.map(|v| self.operands.slot(v));
        Ok(plan::Op::Split(Box::new(plan::Split { rows, most, chunk, body: planned, kinds, bound })))
    }
}

/// The outputs of a map. From the last to the first: what is dead after one is known then.
pub fn all_outs(outs: &[flat::Out], operands: &mut Operands, live: &mut Live) -> Vec<plan::Out> {
    let mut planned: Vec<plan::Out> = outs.iter().rev().map(|o| out(o, operands, live)).collect();
    planned.reverse();
    planned
}

fn out(out: &flat::Out, operands: &mut Operands, live: &mut Live) -> plan::Out {
    match out {
        flat::Out::Elem(p) => plan::Out::Row(*p, 1),
        flat::Out::Row(p, n) => plan::Out::Row(*p, *n),
        flat::Out::Scatter(dests) => plan::Out::Scatter(operands.vars(dests, live)),
        flat::Out::Own { dest, .. } => plan::Out::Own(operands.var(*dest, live)),
    }
}

fn result_prim(stm: &flat::Stm) -> Result<par_ir::Prim> {
    match stm.pat.first().map(|p| p.ty) {
        Some(Ty::Array(p) | Ty::Rope(p)) => Ok(p),
        _ => Err("a concatenation binds no array".into()),
    }
}
