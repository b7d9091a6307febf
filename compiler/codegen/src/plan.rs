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
use par_ir::hash::HashMap;
use par_ir::ty::{Atom, Dim};
use par_ir::visit::Code as _;
use par_runtime::plan::{self, Kind, Operand, Slot};
use std::collections::BTreeSet;

/// A back end's code for a program's kernels.
pub trait Code {
    /// A kernel of its plans.
    type Kernel;

    /// The plan of the kernel that is the statement with this number. Its operands are to be asked for in the opposite of the order in which the executor takes them.
    fn kernel(&mut self, number: u32, kernel: &Kernel, operands: &mut Operands) -> Result<Self::Kernel>;
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
    let operands = Operands { types, slots: HashMap::default(), live: Live::new() };
    let mut p = Planner { operands, end, code };
    let mut body = p.block(&fun.body)?;
    let params: Vec<Var> = fun.params.iter().map(|p| p.var).collect();
    body.drop_first.extend(p.operands.dead(&params));
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

/// Variables other than scalars. In order, so that plans are the same in every process.
type Live = BTreeSet<Var>;

/// The slots of a function's variables, and how uses of them become operands. Uses are seen from last to first.
pub struct Operands<'a> {
    types: &'a HashMap<Var, Ty>,
    slots: HashMap<Var, Slot>,
    /// Variables that are used later.
    live: Live,
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
    fn dead(&mut self, vars: &[Var]) -> Vec<Slot> {
        let is_dead = |v: &Var| self.is_counted(*v) && !self.live.contains(v);
        let dead: Vec<Var> = vars.iter().copied().filter(is_dead).collect();
        dead.into_iter().map(|v| self.slot(v)).collect()
    }

    /// An operand.
    pub fn operand(&mut self, a: &Atom) -> Operand {
        match a {
            Atom::Const(c) => Operand::Const(*c),
            Atom::Var(v) => self.var(*v),
        }
    }

    /// A variable as an operand.
    pub fn var(&mut self, v: Var) -> Operand {
        let slot = self.slot(v);
        if self.is_counted(v) && self.live.insert(v) { Operand::Move(slot) } else { Operand::Copy(slot) }
    }

    /// Operands, of which the first is taken first.
    pub fn operands(&mut self, xs: &[Atom]) -> Vec<Operand> {
        let mut all: Vec<Operand> = xs.iter().rev().map(|x| self.operand(x)).collect();
        all.reverse();
        all
    }

    /// Variables as operands, of which the first is taken first.
    pub fn vars(&mut self, xs: &[Var]) -> Vec<Operand> {
        let mut all: Vec<Operand> = xs.iter().rev().map(|x| self.var(*x)).collect();
        all.reverse();
        all
    }

    /// The space of a kernel.
    pub fn space(&mut self, space: &Space) -> plan::Space {
        match space.0[..] {
            [Dim::Size(n)] => plan::Space::Flat(self.operand(&n)),
            [Dim::Size(rows), Dim::Size(m)] => {
                plan::Space::Uniform { m: self.operand(&m), rows: self.operand(&rows) }
            }
            [Dim::Size(rows), Dim::Seg(d)] => {
                plan::Space::Ragged { desc: self.var(d), rows: self.operand(&rows) }
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
    /// Live variables are those after the block; afterwards: those before it.
    fn block(&mut self, block: &flat::Block) -> Result<Block<C>> {
        let results = self.operands.operands(&block.results);
        let mut stms = Vec::with_capacity(block.stms.len());
        for stm in block.stms.iter().rev() {
            stms.push(self.stm(stm)?);
        }
        stms.reverse();
        Ok(plan::Block { drop_first: vec![], stms, results })
    }

    fn stm(&mut self, stm: &flat::Stm) -> Result<plan::Stm<C::Kernel>> {
        let bound: Vec<Var> = stm.pat.iter().map(|p| p.var).collect();
        let mut drop_after = self.operands.dead(&bound);
        for v in &bound {
            self.operands.live.remove(v);
        }
        let op = self.op(stm, &mut drop_after)?;
        *self.end -= 1;
        let pat = bound.into_iter().map(|v| self.operands.slot(v)).collect();
        Ok(plan::Stm { pat, op, drop_after, span: stm.span, site: *self.end })
    }

    fn op(&mut self, stm: &flat::Stm, drop_after: &mut Vec<Slot>) -> Result<PlanOp<C>> {
        Ok(match &stm.op {
            Op::Check { cond, kind, args } => {
                let args = self.operands.operands(args);
                plan::Op::Check { cond: self.operands.operand(cond), kind: kind.clone(), args }
            }
            Op::Trace { label, ty, args } => {
                let args = self.operands.operands(args);
                plan::Op::Trace { label: label.clone(), ty: ty.clone(), args }
            }
            Op::If { cond, then, other, versions } => self.branch((cond, *versions), [then, other])?,
            Op::Loop { params, form, body } => self.loop_(params, form, body, drop_after)?,
            Op::Split { rows, most, first, count, body } => {
                self.split(*rows, *most, [*first, *count], body, drop_after)?
            }
            Op::Kernel(k) => {
                let number = *self.end - 1;
                plan::Op::Kernel(Box::new(self.code.kernel(number, k, &mut self.operands)?))
            }
            Op::Call(fun, args) => plan::Op::Call(fun.0 as usize, self.operands.operands(args)),
            Op::Concat(vs) => plan::Op::Concat(self.operands.vars(vs), result_prim(stm)?),
            Op::Append(vs) => plan::Op::Append(self.operands.vars(vs), result_prim(stm)?),
            op => self.simple(op),
        })
    }

    /// An operation that needs its operands only.
    fn simple(&mut self, op: &Op) -> PlanOp<C> {
        let o = &mut self.operands;
        match op {
            Op::Atom(a) => plan::Op::Atom(o.operand(a)),
            Op::Prim(f, xs) => plan::Op::Scalar(*f, o.operands(xs)),
            Op::MakeDesc(v) => plan::Op::MakeDesc(o.var(*v)),
            Op::UniformDesc { rows, m } => plan::Op::UniformDesc { rows: o.operand(rows), m: o.operand(m) },
            Op::Offsets(v) => plan::Op::Offsets(o.var(*v)),
            Op::Lengths(v) => plan::Op::Lengths(o.var(*v)),
            Op::SegIds(v) => plan::Op::SegIds(o.var(*v)),
            Op::Total(v) => plan::Op::Total(o.var(*v)),
            Op::Rows(v) => plan::Op::Rows(o.var(*v)),
            Op::Length(v) => plan::Op::Length(o.var(*v)),
            Op::Read(v, i) => plan::Op::Read(o.var(*v), o.operand(i)),
            Op::Write { arr, index, value } => {
                plan::Op::Write { arr: o.var(*arr), index: o.operand(index), value: o.operand(value) }
            }
            Op::Iota(n) => plan::Op::Iota(o.operand(n)),
            Op::Replicate(n, x) => plan::Op::Replicate(o.operand(n), o.operand(x)),
            Op::Literal(xs, p) => plan::Op::Literal(o.operands(xs), *p),
            Op::Slice { arr, start, len } => {
                plan::Op::Slice { arr: o.var(*arr), start: o.operand(start), len: o.operand(len) }
            }
            Op::ConcatDesc(vs) => plan::Op::ConcatDesc(o.vars(vs)),
            Op::Compact { rope, starts, lens, kept } => plan::Op::Compact {
                rope: o.var(*rope),
                starts: o.var(*starts),
                lens: o.var(*lens),
                kept: kept.map(|b| o.var(b)),
            },
            Op::NeedsCollection { rope, base } => {
                plan::Op::NeedsCollection { rope: o.var(*rope), base: base.map(|b| o.var(b)) }
            }
            Op::Collect { rope, starts, weight } => {
                plan::Op::Collect { rope: o.var(*rope), starts: o.var(*starts), weight: o.operand(weight) }
            }
            Op::Sort { space, keys, values } => {
                plan::Op::Sort { values: values.map(|v| o.var(v)), keys: o.var(*keys), space: o.space(space) }
            }
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
    ) -> Result<PlanOp<C>> {
        let after = self.operands.live.clone();
        let mut other = self.block(other)?;
        let in_other = std::mem::replace(&mut self.operands.live, after);
        let mut then = self.block(then)?;
        let in_then = self.operands.live.clone();
        let only = |a: &Live, b: &Live| a.difference(b).copied().collect::<Vec<Var>>();
        then.drop_first = self.operands.dead(&only(&in_other, &in_then));
        self.operands.live = in_other.clone();
        other.drop_first = self.operands.dead(&only(&in_then, &in_other));
        self.operands.live.extend(in_then);
        let serial = matches!(versions, Some(VersionChoice::Waves | VersionChoice::ColumnPrefixes));
        Ok(plan::Op::If { cond: self.operands.operand(cond), then, other, serial })
    }

    fn loop_(
        &mut self,
        params: &[(flat::Param, Atom)],
        form: &flat::LoopForm,
        body: &flat::Block,
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
        self.keep_through(outside, drop_after);

        let after = self.operands.live.clone();
        let mut planned = self.block(body)?;
        planned.drop_first.extend(self.operands.dead(&state));
        self.operands.live = after.clone();
        let form = match form {
            flat::LoopForm::For { index, prim, bound } => {
                let bound = self.operands.operand(bound);
                plan::LoopForm::For { index: self.operands.slot(*index), prim: *prim, bound }
            }
            flat::LoopForm::While(cond) => {
                self.operands.live.extend(state.iter().copied());
                let cond = self.block(cond)?;
                self.operands.live = after;
                plan::LoopForm::While(cond)
            }
        };
        let initial: Vec<Atom> = params.iter().map(|(_, x)| *x).collect();
        let initial = self.operands.operands(&initial);
        let params = state.into_iter().map(|v| self.operands.slot(v)).zip(initial).collect();
        Ok(plan::Op::Loop(Box::new(plan::Loop { params, form, body: planned })))
    }

    /// Variables that every iteration uses from outside live as long as the loop; dropped after it are those that nothing uses then.
    fn keep_through(&mut self, mut outside: BTreeSet<Var>, drop_after: &mut Vec<Slot>) {
        outside.retain(|v| self.operands.types.contains_key(v) && self.operands.is_counted(*v));
        let last: Vec<Var> = outside.iter().copied().collect();
        drop_after.extend(self.operands.dead(&last));
        self.operands.live.extend(outside);
    }

    /// Variables that the body uses from outside are used by the next chunk too, and by another try of the same.
    fn split(
        &mut self,
        rows: Atom,
        most: u64,
        chunk: [Var; 2],
        body: &flat::Block,
        drop_after: &mut Vec<Slot>,
    ) -> Result<PlanOp<C>> {
        self.keep_through(body.free(), drop_after);
        let after = self.operands.live.clone();
        let planned = self.block(body)?;
        self.operands.live = after;
        let bound: Vec<Var> = body.bound().into_iter().filter(|v| self.operands.is_counted(*v)).collect();
        let bound = bound.into_iter().filter_map(|v| self.operands.slots.get(&v).copied()).collect();
        let kinds =
            body.results.iter().filter_map(|a| a.var().map(|v| kind(self.operands.types[&v]))).collect();
        let rows = self.operands.operand(&rows);
        let chunk = chunk.map(|v| self.operands.slot(v));
        Ok(plan::Op::Split(Box::new(plan::Split { rows, most, chunk, body: planned, kinds, bound })))
    }
}

/// The outputs of a map. From the last to the first: what is dead after one is known then.
pub fn all_outs(outs: &[flat::Out], operands: &mut Operands) -> Vec<plan::Out> {
    let mut planned: Vec<plan::Out> = outs.iter().rev().map(|o| out(o, operands)).collect();
    planned.reverse();
    planned
}

fn out(out: &flat::Out, operands: &mut Operands) -> plan::Out {
    match out {
        flat::Out::Elem(p) => plan::Out::Row(*p, 1),
        flat::Out::Row(p, n) => plan::Out::Row(*p, *n),
        flat::Out::Scatter(dests) => plan::Out::Scatter(operands.vars(dests)),
        flat::Out::Own { dest, .. } => plan::Out::Own(operands.var(*dest)),
    }
}

fn result_prim(stm: &flat::Stm) -> Result<par_ir::Prim> {
    match stm.pat.first().map(|p| p.ty) {
        Some(Ty::Array(p) | Ty::Rope(p)) => Ok(p),
        _ => Err("a concatenation binds no array".into()),
    }
}
