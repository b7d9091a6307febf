//! Elementary functions on strips: a kernel's body is cut at calls of functions that the runtime has for whole strips.
//!
//! ```text
//! for pos in start .. end              for s in start .. end by 512, e = min (s + 512) end
//!     x = xs[pos]                          for pos in s .. e      a[pos-s] = 2 * xs[pos]
//!     a = 2 * x                   ==>      exp a -> b; log xs[s..e] -> c
//!     b = exp a                            for pos in s .. e      ys[pos] = b[pos-s] + c[pos-s]
//!     c = log x
//!     ys[pos] = b + c
//! ```
//!
//! Rows may be shorter than strips: a strip of a map is one of all positions, and each loop that needs something of their rows goes over the rows in it, if
//! what is computed for each row costs little.
//!
//! Only calls that every element makes count, not those in branches and loops. Statements keep their order but for those that
//! wait for a call. Where checks have to wait, a strip in which one fails is left to code for one element after the other, which finds what
//! fails first: so it is a map, which may be done once more.

use super::branches::without_branches;
use super::emit::{Base, Ends, Result, Values, args, input};
use super::fresh::Fresh;
use super::kernel::{KernelEmitter, Role};
use super::outputs::Target;
use super::schedule::Scheduled;
use super::strips::{Buffer, Scalar};
use crate::free::for_each_use;
use cranelift::prelude::*;
use par_ir::core::{Body, Exp, Param, Stm};
use par_ir::effects::Effects;
use par_ir::flat::{Kernel, KernelKind, Out};
use par_ir::hash::{HashMap, HashSet};
use par_ir::prim::PrimOp;
use par_ir::tuning;
use par_ir::ty::{Atom, Dim};
use par_ir::visit::Code as _;
use par_ir::{Prim, Var};
use par_runtime::math::{Function, STRIP};
use par_runtime::op::call::{is_call, strip_symbol};
use par_runtime::plan::Step;

/// A kernel cut into stages.
pub struct Staged {
    /// Before the last loop, in order.
    pub stages: Vec<Stage>,
    /// The kernel that remains. It reads the values of earlier stages in their buffers.
    pub last: Kernel,
    /// There are checks that wait for calls.
    checks_late: bool,
}

/// A loop over a strip, then calls on strips.
pub struct Stage {
    /// Its results go to the buffers in `stored`.
    kernel: Kernel,
    stored: Vec<Scalar>,
    calls: Vec<Call>,
}

/// `to = function from`, on a strip.
#[derive(Clone, Copy)]
struct Call {
    function: Function,
    /// A buffer, or an array that is read at the position.
    from: Var,
    to: Scalar,
}

/// The stages of a kernel, if there is something to gain.
pub fn split(kernel: &Kernel, fresh: &Fresh) -> Option<Staged> {
    if kernel.after().is_some() {
        // It uses what the body has bound at the position, which a later stage does not find.
        return None;
    }
    let straight = without_branches(&kernel.body).map(|body| Kernel { body, ..kernel.clone() });
    straight.and_then(|kernel| cut(&kernel, fresh)).or_else(|| cut(kernel, fresh))
}

fn cut(kernel: &Kernel, fresh: &Fresh) -> Option<Staged> {
    let cut = Cut::new(kernel, fresh)?;
    let stages: Vec<Stage> = (0..cut.last).map(|level| cut.stage(level)).collect();
    let body = Body { stms: cut.statements(cut.last), results: kernel.body.results.clone() };
    let last = Kernel { body, ..kernel.clone() };
    let staged = Staged { stages, last, checks_late: cut.checked > 0 };
    (staged.scalars().len() <= tuning::STAGE_BUFFERS_MOST).then_some(staged)
}

impl Staged {
    /// A kernel whose results are all computed in a stage; none if that may not be, or there is nothing to compute.
    pub fn results_first(kernel: &Kernel, fresh: &Fresh) -> Option<Staged> {
        let reads = kernel.body.stms.iter().filter(|s| reads_position(s, kernel.pos));
        let reads: Vec<&Stm> = reads.collect();
        let is_read = |v: &Var| reads.iter().any(|s| s.pat[0].var == *v);
        let used: Vec<Var> = kernel.body.results.iter().filter_map(|a| a.var()).collect();
        let mut params: Vec<Param> = Vec::new();
        for p in kernel.body.stms.iter().flat_map(|s| &s.pat) {
            if used.contains(&p.var) && !is_read(&p.var) {
                params.push(p.clone());
            }
        }
        let buffer = |p: &Param| Scalar { var: fresh.var("buffer"), prim: p.ty.prim() };
        let stored: Vec<Scalar> = params.iter().map(buffer).collect();
        let computed = Kernel {
            kind: KernelKind::Map(stored.iter().map(|s| Out::Elem(s.prim)).collect()),
            prologue: vec![],
            body: Body {
                stms: kernel.body.stms.clone(),
                results: params.iter().map(|p| Atom::Var(p.var)).collect(),
            },
            ..kernel.clone()
        };
        let again = |(p, s): (&Param, &Scalar)| Stm {
            pat: vec![p.clone()],
            exp: Exp::Index(s.var, vec![Atom::Var(kernel.pos)]),
            span: Default::default(),
        };
        let mut stms: Vec<Stm> = params.iter().zip(&stored).map(again).collect();
        stms.extend(reads.iter().filter(|s| used.contains(&s.pat[0].var)).map(|s| (*s).clone()));
        let last = Kernel { body: Body { stms, results: kernel.body.results.clone() }, ..kernel.clone() };
        let fits = !stored.is_empty() && stored.len() <= tuning::STAGE_BUFFERS;
        let stage = Stage { kernel: computed, stored, calls: vec![] };
        fits.then(|| Staged { stages: vec![stage], last, checks_late: false })
    }

    /// The kernels of the stages, with that which remains if it is a map, and all buffers.
    pub fn parts(&self) -> (Vec<&Kernel>, Vec<Scalar>) {
        let last = matches!(self.last.kind, KernelKind::Map(_)).then_some(&self.last);
        (self.stages.iter().map(|s| &s.kernel).chain(last).collect(), self.scalars())
    }

    /// The buffers that stages and calls store to.
    fn scalars(&self) -> Vec<Scalar> {
        let of_stage =
            |s: &Stage| s.stored.iter().copied().chain(s.calls.iter().map(|c| c.to)).collect::<Vec<_>>();
        self.stages.iter().flat_map(of_stage).collect()
    }

    /// Positions of a strip: fewer where there are many buffers, which take as much memory together.
    fn length(&self) -> usize {
        STRIP * tuning::STAGE_BUFFERS / self.scalars().len().next_power_of_two().max(tuning::STAGE_BUFFERS)
    }

    /// The steps on strips, as the plan stores them.
    pub fn steps(&self) -> Vec<Step> {
        let mut steps = Vec::new();
        for stage in &self.stages {
            if !stage.kernel.body.stms.is_empty() {
                steps.push(Step::Compute(stage.stored.len()));
            }
            steps.extend(stage.calls.iter().map(|c| Step::Call(format!("{:?}", c.function).to_lowercase())));
        }
        steps.push(Step::Store);
        steps
    }
}

/// The statements of a body by *level*: how many calls they wait for, one after the other.
struct Cut<'k> {
    kernel: &'k Kernel,
    /// Of each variable that the body binds.
    levels: HashMap<Var, usize>,
    /// The buffer that its values are stored in, if they are needed later.
    buffers: HashMap<Var, Scalar>,
    /// Variables that are elements of arrays at the position: read again where they are needed.
    reads: HashMap<Var, &'k Stm>,
    /// Integers and flags that are computed from the position alone: computed again where they are needed.
    numbers: HashMap<Var, &'k Stm>,
    calls: HashMap<Var, (Function, Var)>,
    /// Of each statement.
    of_stms: Vec<usize>,
    last: usize,
    /// The highest with a check so far.
    checked: usize,
}

impl<'k> Cut<'k> {
    fn new(kernel: &'k Kernel, fresh: &Fresh) -> Option<Cut<'k>> {
        let mut cut = Cut {
            kernel,
            levels: HashMap::default(),
            buffers: HashMap::default(),
            reads: HashMap::default(),
            numbers: HashMap::default(),
            calls: HashMap::default(),
            of_stms: vec![],
            last: 0,
            checked: 0,
        };
        kernel.body.stms.iter().try_for_each(|stm| cut.add(stm, fresh))?;
        (cut.last > 0).then_some(cut)
    }

    /// `None` if a check would have to wait where that cannot be.
    fn add(&mut self, stm: &'k Stm, fresh: &Fresh) -> Option<()> {
        let mut level = self.level(stm);
        if !is_safe(stm) && !reads_position(stm, self.kernel.pos) {
            // A check before it may be what it relies on.
            level = level.max(self.checked);
        }
        if level > 0 && stm.may_fail() {
            may_run_again(self.kernel).then_some(())?;
            self.checked = self.checked.max(level);
        }
        self.of_stms.push(level);
        let call = call(stm).filter(|(_, x)| self.levels.contains_key(x));
        for p in &stm.pat {
            self.levels.insert(p.var, level + call.is_some() as usize);
            self.buffers.insert(p.var, Scalar { var: fresh.var("buffer"), prim: p.ty.prim() });
        }
        if let Some(call) = call {
            self.calls.insert(stm.pat[0].var, call);
            self.last = self.last.max(level + 1);
        }
        if self.is_number(stm) {
            self.numbers.insert(stm.pat[0].var, stm);
        }
        if reads_position(stm, self.kernel.pos) {
            self.reads.insert(stm.pat[0].var, stm);
        }
        Some(())
    }

    fn is_number(&self, stm: &Stm) -> bool {
        let is_known =
            |a: &Atom| a.var().is_none_or(|v| !self.levels.contains_key(&v) || self.numbers.contains_key(&v));
        match &stm.exp {
            Exp::Prim(op, xs) => {
                let types = op.operands().into_iter().chain([op.result()]);
                types.into_iter().all(|p| p.is_integer() || p == Prim::Bool) && xs.iter().all(is_known)
            }
            _ => false,
        }
    }

    /// Of the latest operand.
    fn level(&self, stm: &Stm) -> usize {
        let mut level = 0;
        for_each_use(stm, &mut |v| level = level.max(self.levels.get(&v).copied().unwrap_or(0)));
        level
    }

    fn is_call(&self, stm: &Stm) -> bool {
        stm.pat.first().is_some_and(|p| self.calls.contains_key(&p.var))
    }

    /// The statements of a level, but for calls.
    fn own(&self, level: usize) -> impl Iterator<Item = &'k Stm> {
        let stms = self.kernel.body.stms.iter().zip(&self.of_stms);
        stms.filter(move |(stm, of)| **of == level && !self.is_call(stm)).map(|(stm, _)| stm)
    }

    /// The statements of a level, after reads of what earlier ones left.
    fn statements(&self, level: usize) -> Vec<Stm> {
        let own: Vec<&Stm> = self.own(level).collect();
        let bound: HashSet<Var> = own.iter().flat_map(|s| s.pat.iter().map(|p| p.var)).collect();
        let mut used = Vec::new();
        own.iter().for_each(|stm| for_each_use(stm, &mut |v| used.push(v)));
        if level == self.last {
            used.extend(self.kernel.body.results.iter().filter_map(|a| a.var()));
        }
        let mut stms = Vec::new();
        let mut seen = HashSet::default();
        for v in used {
            if self.levels.contains_key(&v) && !bound.contains(&v) {
                self.again(v, &mut seen, &mut stms);
            }
        }
        stms.extend(own.into_iter().cloned());
        stms
    }

    /// The statements that bring an earlier value back.
    fn again(&self, v: Var, seen: &mut HashSet<Var>, stms: &mut Vec<Stm>) {
        if !seen.insert(v) {
            return;
        }
        let Some(stm) = self.numbers.get(&v) else { return stms.push(self.read(v)) };
        for_each_use(stm, &mut |x| {
            if self.levels.contains_key(&x) {
                self.again(x, seen, stms);
            }
        });
        stms.push((*stm).clone());
    }

    /// The statement that brings an earlier value back.
    fn read(&self, v: Var) -> Stm {
        let bind = |stm: &&Stm| stm.pat.iter().any(|p| p.var == v);
        let bound = self.kernel.body.stms.iter().find(bind).expect("a variable with a level is bound here");
        if let Some(read) = self.reads.get(&v) {
            return (*read).clone();
        }
        let pat = bound.pat.iter().filter(|p| p.var == v).cloned().collect();
        let buffer = self.buffers[&v].var;
        Stm { pat, exp: Exp::Index(buffer, vec![Atom::Var(self.kernel.pos)]), span: bound.span }
    }

    /// The loop of a level and the calls after it.
    fn stage(&self, level: usize) -> Stage {
        let calls: Vec<(Var, Function, Var)> = self.calls_after(level);
        let leaving = self.leaving(level, &calls);
        let results = leaving.iter().map(|v| Atom::Var(*v)).collect();
        let stored: Vec<Scalar> = leaving.iter().map(|v| self.buffers[v]).collect();
        let outs = stored.iter().map(|s| Out::Elem(s.prim)).collect();
        let is_needed = !stored.is_empty() || self.own(level).any(|s| s.has_effect());
        let stms = if is_needed { self.statements(level) } else { vec![] };
        // The prologue has run already.
        let kernel = Kernel {
            kind: KernelKind::Map(outs),
            prologue: vec![],
            body: Body { stms, results },
            ..self.kernel.clone()
        };
        let calls = calls.into_iter().map(|(to, function, from)| Call {
            function,
            from: self.source(from),
            to: self.buffers[&to],
        });
        Stage { kernel, stored, calls: calls.collect() }
    }

    /// Source of a call's argument: an array that is read at the position, or a buffer.
    fn source(&self, v: Var) -> Var {
        match self.reads.get(&v).map(|stm| &stm.exp) {
            Some(Exp::Index(arr, _)) => *arr,
            _ => self.buffers[&v].var,
        }
    }

    /// Calls whose results the next level may use: result, function, argument.
    fn calls_after(&self, level: usize) -> Vec<(Var, Function, Var)> {
        let vars = self.kernel.body.stms.iter().filter_map(|s| s.pat.first().map(|p| p.var));
        let calls = vars.filter_map(|v| self.calls.get(&v).map(|(f, x)| (v, *f, *x)));
        calls.filter(|(v, ..)| self.levels[v] == level + 1).collect()
    }

    /// Values that a level computes, and calls or later levels use.
    fn leaving(&self, level: usize, calls: &[(Var, Function, Var)]) -> Vec<Var> {
        let mut wanted: HashSet<Var> = calls.iter().map(|(.., x)| *x).collect();
        wanted.extend(self.kernel.body.results.iter().filter_map(|a| a.var()));
        let later = self.kernel.body.stms.iter().zip(&self.of_stms).filter(|(_, of)| **of > level);
        for (stm, _) in later {
            for_each_use(stm, &mut |v| {
                wanted.insert(v);
            });
        }
        let bound = self.own(level).flat_map(|s| s.pat.iter().map(|p| p.var));
        let leaves =
            |v: &Var| wanted.contains(v) && !self.reads.contains_key(v) && !self.numbers.contains_key(v);
        bound.filter(leaves).collect()
    }
}

/// The function and argument of a statement that the runtime can do on strips.
pub fn call(stm: &Stm) -> Option<(Function, Var)> {
    match &stm.exp {
        Exp::Prim(PrimOp::Un(op, Prim::F32 | Prim::F64), xs) => Some((op.function()?, xs[0].var()?)),
        _ => None,
    }
}

pub fn reads_position(stm: &Stm, pos: Var) -> bool {
    matches!(&stm.exp, Exp::Index(_, is) if matches!(is[..], [Atom::Var(i)] if i == pos))
}

/// True if a statement may be done whatever its operands are.
pub fn is_safe(stm: &Stm) -> bool {
    let is_safe_body = |body: &&Body| body.stms.iter().all(is_safe);
    match &stm.exp {
        Exp::Atom(_) => true,
        Exp::Prim(op, _) => !op.divides(),
        Exp::If { .. } => stm.exp.own_bodies().iter().all(is_safe_body),
        _ => false,
    }
}

/// True if elements may be computed and stored a second time.
fn may_run_again(kernel: &Kernel) -> bool {
    matches!(&kernel.kind, KernelKind::Map(outs) if !outs.iter().any(|o| matches!(o, Out::Own { .. })))
}

impl<'a, 'k> KernelEmitter<'_, 'a, 'k> {
    /// Code for the positions `start..end`: strip by strip after the earlier stages, if the kernel has such.
    pub fn in_strips(
        &mut self,
        (start, end): Ends,
        state: &[Value],
        code: impl FnOnce(&mut KernelEmitter<'_, 'a, 'k>, Ends, &[Value]) -> Result<Values>,
    ) -> Result<Values> {
        let Some(staged) = self.staged().filter(|_| self.role != Role::Combine) else {
            return code(self, (start, end), state);
        };
        let buffers = self.buffers(staged);
        self.by_strips_of(staged.length(), (start, end), state, |k, ends, state| {
            k.stages(staged, &buffers, ends)?;
            code(k, ends, state)
        })
    }

    /// As `in_strips`, of a map; with strips left where checks that wait fail.
    pub fn map_in_strips(&mut self, targets: &[Target], (start, end): Ends) -> Result {
        let staged = self.staged();
        let Some(staged) = staged.filter(|s| s.checks_late) else {
            self.in_strips((start, end), &[], |k, ends, _| {
                match staged {
                    Some(staged) => {
                        k.reloading(&staged.last, targets, |k, targets| k.map_positions(targets, ends))?
                    }
                    None => k.map_positions(targets, ends)?,
                }
                Ok(vec![])
            })?;
            return Ok(());
        };
        let buffers = self.buffers(staged);
        self.by_strips_of(staged.length(), (start, end), &[], |k, ends, _| {
            let (alone, next) = (k.e.b.create_block(), k.e.b.create_block());
            k.e.exits.escape = Some(alone);
            k.stages(staged, &buffers, ends)?;
            k.map_positions(targets, ends)?;
            k.e.exits.escape = None;
            k.e.b.ins().jump(next, &[]);
            k.e.b.set_cold_block(alone);
            k.e.b.switch_to_block(alone);
            let info = k.info.with_kernel(k.info.whole);
            let (types, role, params) = (k.types, k.role, k.params.clone());
            KernelEmitter { e: k.e, info: &info, types, role, params }.map_elements(targets, ends)?;
            k.e.b.ins().jump(next, &[]);
            k.e.b.switch_to_block(next);
            Ok(vec![])
        })?;
        Ok(())
    }

    /// Stages of a map whose strips may have positions of several rows: of one in rows, with a prologue that costs little, since every strip
    /// repeats it, and without checks that wait, since the code for one element after the other needs its row.
    pub fn staged_over_rows(&self) -> Option<&'k Staged> {
        let kernel = self.info.kernel;
        let has_rows = kernel.space.as_rows().is_some() && !self.info.ignores_rows();
        let is_cheap = |s: &Stm| match &s.exp {
            Exp::Prim(op, _) => !is_call(*op),
            exp => exp.own_bodies().is_empty(),
        };
        let repeats = has_rows && kernel.prologue.iter().all(is_cheap);
        self.staged().filter(|s| repeats && !s.checks_late)
    }

    /// As [`Self::map_in_strips`], of all rows.
    pub fn map_rows_in_strips(&mut self, staged: &'k Staged, targets: &[Target]) -> Result {
        let Some((_, dim)) = self.info.kernel.space.as_rows() else { return Err("there are no rows".into()) };
        let buffers = self.buffers(staged);
        let (row_lo, row_hi, lo, hi) = (self.params[1], self.params[2], self.params[3], self.params[4]);
        self.counted_until(None, staged.length() as i64, (lo, hi), &[row_lo], |k, first, rows| {
            let (start, end) = k.strip_from(staged.length(), first, hi);
            let after = k.first_row_from(dim, rows[0], row_hi, end);
            k.params[1..5].copy_from_slice(&[rows[0], after, start, end]);
            k.name_strips(&buffers, start);
            for stage in &staged.stages {
                let step = &stage.kernel;
                if !step.body.stms.is_empty() {
                    k.rows_of(step, (start, end), |k, ends| k.store_step(step, &stage.stored, ends))?;
                }
                k.strip_calls(stage, (start, end))?;
            }
            k.rows_of(&staged.last, (start, end), |k, ends| k.map_positions(targets, ends))?;
            // The last row may go on.
            let last = k.e.b.ins().iadd_imm_s(after, -1);
            Ok(vec![k.e.b.ins().smax(last, rows[0])])
        })?;
        Ok(())
    }

    /// A step for the positions of each row in a strip; for all at once, if it needs nothing of their rows.
    fn rows_of(
        &mut self,
        step: &Kernel,
        ends: Ends,
        code: impl FnOnce(&mut KernelEmitter<'_, 'a, 'k>, Ends) -> Result,
    ) -> Result {
        let kernel = self.info.kernel;
        let of_rows = kernel.prologue.iter().flat_map(|s| &s.pat).map(|p| p.var);
        let mut of_rows = of_rows.chain(kernel.binders().into_iter().filter(|v| *v != kernel.pos));
        if !of_rows.any(|v| step.body.mentions(v)) {
            return code(self, ends);
        }
        self.each_row(|k, _, ends| code(k, ends))
    }

    /// The first row from `row` on, before `row_hi`, that begins at `end` or later.
    fn first_row_from(&mut self, dim: Dim, row: Value, row_hi: Value, end: Value) -> Value {
        let word = self.env(types::I64, 0);
        let b = &mut self.e.b;
        let (again, inside, exit) = (b.create_block(), b.create_block(), b.create_block());
        let current = b.append_block_param(again, types::I64);
        let found = b.append_block_param(exit, types::I64);
        b.ins().jump(again, &args(&[row]));
        b.switch_to_block(again);
        let is_row = b.ins().icmp(IntCC::SignedLessThan, current, row_hi);
        b.ins().brif(is_row, inside, &[], exit, &args(&[current]));
        b.switch_to_block(inside);
        let start = match dim {
            Dim::Size(_) => b.ins().imul(current, word),
            Dim::Seg(_) => {
                let offsets = Base { address: word, prim: Prim::I64, changes: false };
                self.e.load(offsets, current, input())
            }
        };
        let b = &mut self.e.b;
        let is_before = b.ins().icmp(IntCC::SignedLessThan, start, end);
        let next = b.ins().iadd_imm_s(current, 1);
        b.ins().brif(is_before, again, &args(&[next]), exit, &args(&[current]));
        b.switch_to_block(exit);
        found
    }

    fn buffers(&mut self, staged: &Staged) -> Vec<Buffer> {
        let buffer = |s: &Scalar| self.strip_buffer_of(staged.length(), *s, 0);
        staged.scalars().iter().map(buffer).collect()
    }

    fn staged(&self) -> Option<&'k Staged> {
        self.info.scheduled.and_then(Scheduled::staged)
    }

    /// Steps that are done with a strip before the kernel that remains.
    fn stages(&mut self, staged: &Staged, buffers: &[Buffer], ends: Ends) -> Result {
        self.name_strips(buffers, ends.0);
        staged.stages.iter().try_for_each(|stage| self.stage(stage, ends))
    }

    fn stage(&mut self, stage: &Stage, (start, end): Ends) -> Result {
        if !stage.kernel.body.stms.is_empty() {
            self.store_step(&stage.kernel, &stage.stored, (start, end))?;
        }
        self.strip_calls(stage, (start, end))
    }

    fn strip_calls(&mut self, stage: &Stage, (start, end): Ends) -> Result {
        let count = self.e.b.ins().isub(end, start);
        stage.calls.iter().try_for_each(|call| self.strip_call(call, start, count))
    }

    fn strip_call(&mut self, call: &Call, start: Value, count: Value) -> Result {
        let to = self.strip_address(call.to.var, start)?;
        let from = self.strip_address(call.from, start)?;
        self.runtime_call(strip_symbol(call.function, call.to.prim), &[to, from, count]);
        Ok(())
    }
}
