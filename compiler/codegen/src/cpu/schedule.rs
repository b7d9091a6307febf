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
//! What a step computes is a kernel of FLAT again, a map into the buffers of a strip, so that code for it is made as for any other. Kernels that
//! count their work run one position after the other.

use super::fresh::Fresh;
use super::kernel::KernelInfo;
use super::lanes;
use super::narrow::{self, Sums};
use super::pack::{self, Packing};
use super::partition::{self, Moves};
use super::prefix::{self, Strips};
use super::scatter::{self, Scattering};
use super::stage::{self, Staged};
use crate::{contract, free};
use par_ir::flat::{self, Kernel, KernelKind, Ty};
use par_ir::visit::Code as _;
use par_ir::{Var, print};
use par_runtime::plan::{self, Step};
use std::collections::HashMap;

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

/// How a kernel runs, with the code of its steps.
#[derive(Default)]
pub struct Scheduled {
    pub steps: Steps,
    /// The last loop's scatters on strips.
    pub scattering: Option<Scattering>,
    /// The last loop's sums with fewer bits.
    pub sums: Option<Sums>,
}

impl Scheduled {
    /// The kernel that the last loop is: what remains of the whole after the steps before it.
    pub fn last<'s>(&'s self, whole: &'s Kernel) -> &'s Kernel {
        if let Steps::Staged(staged) = &self.steps { &staged.last } else { whole }
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
    fresh: &'p Fresh,
}

impl<'p> Scheduler<'p> {
    /// For kernels that mention variables with these types.
    pub fn new(types: &'p HashMap<Var, Ty>, fresh: &'p Fresh) -> Scheduler<'p> {
        Scheduler { types, fresh }
    }

    /// The steps of a kernel.
    pub fn steps(&self, kernel: &Kernel) -> Scheduled {
        let steps = self.cut(kernel);
        let mut scheduled = Scheduled { steps, scattering: None, sums: None };
        let last = match &scheduled.steps {
            Steps::Scan(strips) => &strips.consume,
            _ => scheduled.last(kernel),
        };
        let ignores_rows = KernelInfo::of_stage(last).ignores_rows() && !kernel.mentions(kernel.row);
        let scattering = scatter::split(last, ignores_rows, self.types, self.fresh);
        let sums = narrow::sums(last, self.fresh);
        (scheduled.scattering, scheduled.sums) = (scattering, sums);
        scheduled
    }

    fn cut(&self, kernel: &Kernel) -> Steps {
        // Stages may compute a value again where another one needs it.
        if let Some(staged) = stage::split(kernel) {
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

/// The schedule of a kernel that runs in these steps, as the plan stores it.
pub fn of(kernel: &Kernel, scheduled: &Scheduled, captures: &[Var]) -> plan::Schedule {
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
    // The code of a scan that only reduces may be in lanes; the scan itself takes one element after the other.
    let is_scan = matches!(kernel.kind, KernelKind::Scan { .. });
    match lanes::plan(&KernelInfo::of_stage(kernel)).filter(|_| !is_scan) {
        Some(groups) => plan::Schedule::Lanes(groups.lanes()),
        None => plan::Schedule::Scalar,
    }
}

/// How each kernel of a program runs, with the number of its statement.
pub fn schedules(program: &flat::Program) -> Vec<(u32, plan::Schedule)> {
    let types = free::types(program);
    let fresh = Fresh::new(&program.vars);
    let scheduler = Scheduler::new(&types, &fresh);
    let kernels = crate::plan::kernels(program).into_iter();
    kernels.map(|(n, _, k)| (n, of(k, &scheduler.steps(k), &free::captures(k)))).collect()
}

/// Each kernel of a program, as text, and after it its schedule.
pub fn dump_schedules(program: &flat::Program) -> String {
    let statements = program.statements();
    let text = |number: u32| print::print_flat_stm(statements[number as usize], &program.vars);
    schedules(program).into_iter().map(|(n, s)| format!("{}\n    => {s}\n", text(n).trim_end())).collect()
}
