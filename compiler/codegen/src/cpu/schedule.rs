//! Schedules: how every kernel runs on a CPU is decided here, before machine code is made.
//!
//! ```text
//! map    ys[pos] = exp (2 * xs[pos])           strips: compute, exp, store
//! scan   (+) over n { xs[pos] }                strips: scan add.f32
//! filter xs[pos] where xs[pos] < 0             strips: compute, pack
//! map    scatter ys at is[pos]                 strips: compute 2 values, scatter
//! reduce (+) over n m { a[i,k] * b[k,j] }      tiles of a matrix product
//! map    ys[pos] = xs[pos] + 1                 lanes: 8
//! ```
//!
//! A step that computes is a map kernel of FLAT with the buffers of a strip as outputs, compiled like any other kernel. Kernels that
//! count their work run one position after the other.

use super::ahead;
use super::fresh::Fresh;
use super::hist;
use super::kernel::KernelInfo;
use super::lanes::{self, BYTES, Parts, Plan, RowPlan, Rows, Scanning, WIDEST};
use super::pack::{self, Packing};
use super::partition::{self, Moves};
use super::prefix::{self, Strips};
use super::row_updates::RowUpdates;
use super::scatter::{self, Scattering};
use super::small_integers::{self, Sums};
use super::stage::{self, Staged};
use super::strips::Scalar;
use crate::{contract, free};
use par_ir::flat::{self, Kernel, KernelKind, Ty};
use par_ir::hash::HashMap;
use par_ir::verify::verify_flat;
use par_ir::visit::Code as _;
use par_ir::{Var, print};
use par_ir::{core, tuning};
use par_runtime::plan::{self, Step};
use std::cell::RefCell;
use std::rc::Rc;

/// The steps of a kernel.
#[derive(Default)]
pub enum Steps {
    /// One loop over all positions.
    #[default]
    Whole,
    /// Elementary functions on strips, then one loop.
    Staged(Box<Staged>),
    /// A scan on strips.
    Scan(Box<Strips>),
    /// A scan and scatter that moves strips by classes.
    Partition(Box<Moves>),
    /// A filter on strips.
    Filter(Box<Packing>),
}

/// Something that depends on the bytes of a register, found when it is asked for; none where it does not pay.
pub type ByWidth<T> = RefCell<HashMap<usize, Option<Rc<T>>>>;

/// Schedule of a kernel, with the code of its steps.
#[derive(Default)]
pub struct Scheduled {
    pub steps: Steps,
    /// The last loop's scatters on strips.
    pub scattering: Option<Scattering>,
    /// The last loop's sums with fewer bits.
    pub sums: Option<Sums>,
    /// Positions are done one by one, since their loops are done in groups.
    pub along_rows: bool,
    /// Elements of a map's rows are written past their ends.
    pub ahead: bool,
    /// A reduction of rows as a map over them, for rows that are short.
    pub rows: Option<Rows>,
    /// Loops along the rows of a histogram.
    pub updates: Option<RowUpdates>,
    /// Parts of the arrays that a map updates, or reads again.
    pub parts: Option<Rc<Parts>>,
    /// The groups of rows, if they pay.
    pub rows_in_lanes: ByWidth<RowPlan>,
    /// Plan of the last loop on groups, if they pay, by the bytes of a register; set when it is asked for.
    pub lanes: ByWidth<Plan>,
    /// The same for a scan.
    pub scanning: ByWidth<Scanning>,
}

impl Scheduled {
    /// The kernel that the last loop is: what remains of the whole after the steps before it.
    pub fn last<'s>(&'s self, whole: &'s Kernel) -> &'s Kernel {
        if let Steps::Staged(staged) = &self.steps { &staged.last } else { whole }
    }

    /// The kernels of steps that are maps, and the buffers between them.
    fn parts(&self) -> (Vec<&Kernel>, Vec<Scalar>) {
        match &self.steps {
            Steps::Whole => (vec![], vec![]),
            Steps::Staged(staged) => staged.parts(),
            Steps::Scan(strips) => strips.parts(),
            Steps::Partition(moves) => moves.parts(),
            Steps::Filter(packing) => packing.parts(),
        }
    }

    pub fn staged(&self) -> Option<&Staged> {
        if let Steps::Staged(staged) = &self.steps { Some(staged) } else { None }
    }

    pub fn scan(&self) -> Option<&Strips> {
        if let Steps::Scan(strips) = &self.steps { Some(strips) } else { None }
    }

    pub fn partition(&self) -> Option<&Moves> {
        if let Steps::Partition(moves) = &self.steps { Some(moves) } else { None }
    }

    pub fn filter(&self) -> Option<&Packing> {
        if let Steps::Filter(packing) = &self.steps { Some(packing) } else { None }
    }
}

/// Chooses the steps of kernels.
pub struct Scheduler<'p> {
    types: &'p HashMap<Var, Ty>,
    locals: &'p [core::Fun],
    fresh: &'p Fresh,
}

impl<'p> Scheduler<'p> {
    /// For kernels that mention variables with these types, and call these functions.
    pub fn new(types: &'p HashMap<Var, Ty>, locals: &'p [core::Fun], fresh: &'p Fresh) -> Scheduler<'p> {
        Scheduler { types, locals, fresh }
    }

    /// The steps of a kernel.
    pub fn steps(&self, kernel: &Kernel) -> Scheduled {
        let steps = self.cut(kernel);
        let mut scheduled = Scheduled { steps, ..Scheduled::default() };
        let last = match &scheduled.steps {
            Steps::Scan(strips) => &strips.consume,
            _ => scheduled.last(kernel),
        };
        let ignores_rows = KernelInfo::of_stage(last).ignores_rows() && !kernel.mentions(kernel.row);
        let scattering = scatter::split(last, ignores_rows, self.types, self.fresh);
        let sums = small_integers::sums(last, self.fresh);
        scheduled.along_rows = lanes::along_rows(last, self.fresh);
        let is_whole = matches!(scheduled.steps, Steps::Whole) && scattering.is_none();
        let rows = if is_whole { lanes::rows(kernel, self.fresh) } else { None };
        scheduled.updates = if is_whole { RowUpdates::new(kernel, self.fresh) } else { None };
        let captures = free::captures(kernel);
        scheduled.parts = lanes::parts(scheduled.last(kernel), &captures, self.fresh).map(Rc::new);
        scheduled.ahead = is_whole && ahead::writes_ahead(kernel);
        (scheduled.scattering, scheduled.sums, scheduled.rows) = (scattering, sums, rows);
        if cfg!(debug_assertions) {
            self.verify(kernel, &scheduled);
        }
        scheduled
    }

    /// Verifies what the steps compute: every kernel in a program of its own, whose parameters are what it mentions.
    fn verify(&self, whole: &Kernel, scheduled: &Scheduled) {
        let (mut kernels, buffers) = scheduled.parts();
        kernels.extend(scheduled.scattering.as_ref().map(Scattering::kernel));
        let mut types = self.types.clone();
        types.extend(buffers.into_iter().map(|b| (b.var, Ty::Array(b.prim))));
        let rows = whole.prologue.iter().flat_map(|s| &s.pat);
        types.extend(rows.map(|p| (p.var, Ty::Scalar(p.ty.prim()))));
        for kernel in kernels {
            if let Err(e) = verify_flat(&self.alone(kernel, &types)) {
                panic!("internal error in codegen: a step is not a kernel: {e}");
            }
        }
    }

    /// A program that does nothing but run a map.
    fn alone(&self, kernel: &Kernel, types: &HashMap<Var, Ty>) -> flat::Program {
        let used =
            kernel.free().into_iter().filter_map(|v| Some(flat::Param { var: v, ty: *types.get(&v)? }));
        let params = used.collect();
        let outs = if let KernelKind::Map(outs) = &kernel.kind { outs.as_slice() } else { &[] };
        let made = outs.iter().flat_map(|out| match out {
            flat::Out::Elem(p) | flat::Out::Row(p, _) => vec![Ty::Array(*p)],
            flat::Out::Scatter(dests) => dests.iter().map(|d| types[d]).collect(),
            flat::Out::Own { dest, .. } => vec![types[dest]],
        });
        let pat = made.map(|ty| flat::Param { var: self.fresh.var("made"), ty }).collect();
        let op = flat::Op::Kernel(Box::new(kernel.clone()));
        let stm = flat::Stm { pat, op, span: Default::default(), place: Default::default() };
        let body = flat::Block { stms: vec![stm], results: vec![] };
        let name = "step".to_string();
        let fun = flat::Fun { name, entry: None, params, ret: vec![], body, span: Default::default() };
        let locals = self.locals.to_vec();
        flat::Program { funs: vec![fun], locals, vars: self.fresh.vars(), places: Default::default() }
    }

    fn cut(&self, kernel: &Kernel) -> Steps {
        // Stages may compute a value again where another one needs it.
        if let Some(staged) = stage::split(kernel, self.fresh) {
            return Steps::Staged(Box::new(staged));
        }
        if let Some(staged) = hist::split(kernel, self.fresh) {
            return Steps::Staged(Box::new(staged));
        }
        if let Some(moves) = partition::split(kernel, self.types, self.fresh) {
            return Steps::Partition(Box::new(moves));
        }
        if let Some(strips) = prefix::split(kernel, self.types, self.fresh) {
            return Steps::Scan(Box::new(strips));
        }
        match pack::split(kernel, self.types, self.fresh) {
            Some(packing) => Steps::Filter(Box::new(packing)),
            None => Steps::Whole,
        }
    }
}

/// The schedule of a kernel, as the plan stores it.
pub fn of(info: &KernelInfo, scheduled: &Scheduled) -> plan::Schedule {
    let (kernel, captures) = (info.whole, &info.captures);
    if let Some(moves) = scheduled.partition() {
        return plan::Schedule::Partition(moves.plan.clone());
    }
    if let Some(product) = contract::find(kernel, captures) {
        return plan::Schedule::Tiled(product);
    }
    if let Some(copy) = contract::transposition(kernel, captures) {
        return plan::Schedule::Transposed(copy);
    }
    let scatters = scheduled.scattering.iter().map(Scattering::step);
    let steps: Vec<Step> = match &scheduled.steps {
        Steps::Staged(staged) => staged.steps().into_iter().chain(scatters).collect(),
        Steps::Scan(strips) => strips.steps().into_iter().chain(scatters).collect(),
        Steps::Filter(packing) => packing.steps(),
        Steps::Whole | Steps::Partition(_) => {
            let steps = scheduled.scattering.as_ref().map(|s| vec![Step::Compute(s.values()), s.step()]);
            steps.unwrap_or_default()
        }
    };
    if !steps.is_empty() {
        return plan::Schedule::Strips(steps);
    }
    if let Some(groups) = info.rows_in_lanes(WIDEST).or_else(|| info.rows_in_lanes(BYTES)) {
        return plan::Schedule::Rows(groups.plan.lanes());
    }
    if scheduled.ahead {
        return plan::Schedule::Ahead(tuning::AHEAD_LANES);
    }
    let lanes = match kernel.kind {
        // The code of a scan that only reduces may be in lanes of its own.
        KernelKind::Scan { .. } => info.scanning(BYTES).map(|s| s.plan.lanes()),
        KernelKind::Filter => info.lanes(WIDEST).map(|groups| groups.lanes()),
        _ => info.lanes(BYTES).or_else(|| info.lanes(WIDEST)).map(|groups| groups.lanes()),
    };
    lanes.map_or(plan::Schedule::Scalar, plan::Schedule::Lanes)
}

/// The reason why the positions of a kernel run one after the other.
fn obstacle(info: &KernelInfo) -> &'static str {
    let kernel = info.kernel;
    match &kernel.kind {
        KernelKind::Scan { .. } => "prefixes with this operator wait for one another",
        KernelKind::Filter if kernel.space.as_flat().is_none() => lanes::obstacle(info),
        KernelKind::Filter => "too many values for strips",
        KernelKind::Hist { .. } if info.scheduled.is_some_and(|s| s.updates.is_some()) => {
            "a loop along each row updates neighbours, in groups"
        }
        KernelKind::Hist { .. } => "one element may be updated twice",
        KernelKind::Map(_) | KernelKind::Reduce { .. } => lanes::obstacle(info),
    }
}

/// The schedule of each kernel of a program in words, with the number of its statement; for scalar ones, the reason.
pub fn explained(program: &flat::Program) -> Vec<(u32, String)> {
    let explain = |info: &KernelInfo, schedule: plan::Schedule| match schedule {
        plan::Schedule::Scalar => format!("{schedule}: {}", obstacle(info)),
        _ => schedule.to_string(),
    };
    each(program, explain)
}

/// Schedule of each kernel of a program, with the number of its statement.
pub fn schedules(program: &flat::Program) -> Vec<(u32, plan::Schedule)> {
    each(program, |_, schedule| schedule)
}

fn each<T>(program: &flat::Program, show: impl Fn(&KernelInfo, plan::Schedule) -> T) -> Vec<(u32, T)> {
    let types = free::types(program);
    let fresh = Fresh::new(&program.vars);
    let scheduler = Scheduler::new(&types, &program.locals, &fresh);
    let schedule = |stm: &flat::Stm, kernel: &Kernel| {
        let scheduled = scheduler.steps(kernel);
        let pattern: Vec<Ty> = stm.pat.iter().map(|p| p.ty).collect();
        let info = KernelInfo::new(kernel, Some(&scheduled), &pattern);
        let schedule = of(&info, &scheduled);
        show(&info, schedule)
    };
    crate::plan::kernels(program).into_iter().map(|(n, stm, k)| (n, schedule(stm, k))).collect()
}

/// Each kernel of a program, as text, and after it its schedule.
pub fn dump_schedules(program: &flat::Program) -> String {
    let statements = program.statements();
    let text = |number: u32| print::print_flat_stm(statements[number as usize], &program.vars);
    schedules(program).into_iter().map(|(n, s)| format!("{}\n    => {s}\n", text(n).trim_end())).collect()
}
