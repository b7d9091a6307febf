//! The executor: runs the host functions of a plan and launches its kernels.
//!
//! A run on the processor happens inside one thread pool of the requested size; small kernels stay on the calling thread. How work is cut
//! into chunks never shows in a result: where chunks are combined, their boundaries depend on sizes only, and the
//! same code runs on one thread.

mod contract;
mod cpu;
mod desc;
pub(crate) mod device;
#[cfg(not(target_family = "wasm"))]
pub(crate) mod dist;
mod filter;
mod fold;
pub(crate) mod frame;
mod hist;
mod host;
mod launch;
mod map;
mod partition;
mod record;
mod scan;
mod scatter;
mod sort;
mod space;
mod split;
#[cfg(not(target_family = "wasm"))]
mod stack;
#[cfg(target_family = "wasm")]
mod stack {
    /// There is one stack.
    pub fn with<T>(_: usize, run: impl FnOnce() -> T) -> T {
        run()
    }
}
pub(crate) mod threads;

pub use desc::Desc;

use crate::array::{self, OutOfMemory};
use crate::cancel::CancelToken;
use crate::check::{CheckKind, RuntimeError, Span, max_depth};
#[cfg(feature = "cuda")]
use crate::cuda::{Cuda, Loaded};
use crate::plan::{Code, Function, Kind, Plan};
use crate::pool;
use crate::prim::{Prim, Scalar};
use crate::profile::Profile;
use crate::ranks::Ranks;
use crate::trace::Sink;
use crate::unavailable::LoadError;
use crate::value::{Column, ColumnType};
use cpu::Cpu;
use device::{Device, Results, Values};
#[cfg(not(target_family = "wasm"))]
use dist::Dist;
use frame::HostValue;
use record::Recorder;
use std::cell::Cell;
use std::sync::Arc;

/// Options of a run.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Number of threads; 0 stands for all processors.
    pub threads: usize,
    /// Calls that may be active at a time; 0 stands for [`max_depth`].
    pub max_depth: usize,
    /// Bytes that a run may hold besides its arguments; none: what there is.
    pub memory_limit: Option<usize>,
    /// Of several values that are scattered to one index, the last one wins.
    pub reproducible: bool,
    /// Ends the run, with [`RuntimeError::cancelled`], when it is used.
    pub cancel: CancelToken,
    /// Cuts work into the smallest chunks there are, whether or not that pays: for tests of what happens between chunks.
    pub smallest_chunks: bool,
    /// Arrays of the result stay on the device until somebody looks at them, for a call that takes them as arguments. If the device has failed
    /// by then, that is a panic.
    pub keep_on_device: bool,
    /// Runs together with other ranks; the program was compiled for them. Only rank 0 has the elements of the result, or, if they are kept on the device, each
    /// rank its own ([`crate::ranks::values`]).
    pub ranks: Option<Ranks>,
}

/// A compiled program.
#[derive(Debug)]
pub struct Executable {
    code: Compiled,
}

#[derive(Debug)]
enum Compiled {
    Cpu(Plan, Arc<Code>),
    #[cfg(feature = "cuda")]
    Gpu(Box<Loaded>),
}

impl Executable {
    /// Takes over a plan, and the code that its kernels name.
    pub fn new(plan: Plan, code: Code) -> Executable {
        Executable { code: Compiled::Cpu(plan, Arc::new(code)) }
    }

    /// Takes over a program that is on a GPU.
    #[cfg(feature = "cuda")]
    pub(crate) fn on_gpu(loaded: Loaded) -> Executable {
        Executable { code: Compiled::Gpu(Box::new(loaded)) }
    }

    /// The plan of a program for the processor.
    pub fn plan(&self) -> Option<&Plan> {
        match &self.code {
            Compiled::Cpu(plan, _) => Some(plan),
            #[cfg(feature = "cuda")]
            Compiled::Gpu(_) => None,
        }
    }

    /// The index of the entry point of that name.
    pub fn entry(&self, name: &str) -> Option<usize> {
        match &self.code {
            Compiled::Cpu(plan, _) => plan.entry(name),
            #[cfg(feature = "cuda")]
            Compiled::Gpu(loaded) => loaded.program.plan.entry(name),
        }
    }

    /// Compiles what a call of function `fun` needs, if it is a program for GPUs and that has not been done.
    pub fn prepare(&self, fun: usize) -> Result<(), LoadError> {
        match &self.code {
            Compiled::Cpu(..) => Ok(()),
            #[cfg(feature = "cuda")]
            Compiled::Gpu(loaded) => loaded.prepare(fun),
        }
    }

    /// Compiles what calls of all functions need, if it is a program for GPUs.
    pub fn prepare_all(&self) -> Result<(), LoadError> {
        match &self.code {
            Compiled::Cpu(..) => Ok(()),
            #[cfg(feature = "cuda")]
            Compiled::Gpu(loaded) => loaded.prepare_all(),
        }
    }

    /// Calls function `fun` with arguments in the order of its parameters.
    pub fn call(
        &self,
        fun: usize,
        args: Vec<Column>,
        options: &Options,
    ) -> Result<Vec<Column>, RuntimeError> {
        self.start(fun, args, options, false).0
    }

    /// As [`Executable::call`]; also says what it cost, up to the failure if it fails.
    pub fn call_profiled(
        &self,
        fun: usize,
        args: Vec<Column>,
        options: &Options,
    ) -> (Result<Vec<Column>, RuntimeError>, Profile) {
        self.start(fun, args, options, true)
    }

    /// Arguments that are on the GPU of the program already when they are passed to calls. They do not change, so that they can be passed
    /// often. On the processor they are what they were.
    pub fn upload(&self, args: Vec<Column>) -> Result<Vec<Column>, RuntimeError> {
        match &self.code {
            Compiled::Cpu(..) => Ok(args),
            #[cfg(feature = "cuda")]
            Compiled::Gpu(loaded) => crate::cuda::upload(loaded, args),
        }
    }

    fn start(
        &self,
        fun: usize,
        args: Vec<Column>,
        options: &Options,
        record: bool,
    ) -> (Result<Vec<Column>, RuntimeError>, Profile) {
        let mut profile = Profile::default();
        let wanted = record.then_some(&mut profile);
        let result = self.call_recording(fun, args, options, wanted);
        (result, profile)
    }

    fn call_recording(
        &self,
        fun: usize,
        args: Vec<Column>,
        options: &Options,
        profile: Option<&mut Profile>,
    ) -> Result<Vec<Column>, RuntimeError> {
        let (plan, code) = match &self.code {
            Compiled::Cpu(plan, code) => (plan, code.clone()),
            #[cfg(feature = "cuda")]
            Compiled::Gpu(loaded) => {
                let call = Call::new(&loaded.program.plan, fun, options)?;
                loaded.prepare(fun).map_err(|e| RuntimeError::internal(e.to_string()))?;
                return call.run(Cuda::start(loaded, options)?, fun, args, profile);
            }
        };
        let threads = threads::count(options.threads);
        let Options { smallest_chunks, reproducible, .. } = *options;
        let device = Cpu { code, threads, smallest_chunks, has_whole_arrays: true, reproducible };
        let call = Call::new(plan, fun, options)?;
        #[cfg(not(target_family = "wasm"))]
        if let Some(ranks) = options.ranks.clone().filter(|r| r.size() > 1) {
            let traces = if ranks.rank() == 0 { call.traces.clone() } else { Sink::silent() };
            let device = Dist::new(device, ranks, options.memory_limit.is_some() || plan.is_split());
            return Call { traces, ..call }.run(device, fun, args, profile);
        }
        call.run(device, fun, args, profile)
    }
}

/// A call that is about to run.
struct Call<'a, K> {
    plan: &'a Plan<K>,
    function: &'a Function<K>,
    options: &'a Options,
    /// Sink of the thread which called, not of the one that the call runs on.
    traces: Sink,
}

impl<'a, K> Call<'a, K> {
    fn new(plan: &'a Plan<K>, fun: usize, options: &'a Options) -> Result<Call<'a, K>, RuntimeError> {
        let function = plan.functions.get(fun).ok_or_else(|| internal("no such function"))?;
        Ok(Call { plan, function, options, traces: Sink::current() })
    }

    fn run<D: Device<Kernel = K>>(
        &self,
        device: D,
        fun: usize,
        args: Vec<Column>,
        profile: Option<&mut Profile>,
    ) -> Result<Vec<Column>, RuntimeError> {
        let Call { plan, function, options, traces } = self;
        let max_depth = if options.max_depth == 0 { max_depth() } else { options.max_depth };
        let recorder = profile.is_some().then(|| Recorder::start(plan.sites));
        let run = Run {
            plan,
            device,
            max_depth,
            depth: Cell::new(0),
            recorder: recorder.as_ref(),
            cancel: &options.cancel,
            traces,
        };
        let args = import(&run, function, args)?;
        let results = pool::with_limit(options.memory_limit, || run.function(fun, args, function.span));
        let results =
            results.and_then(|xs| export(&run, function.ret_columns.as_deref(), xs, options.keep_on_device));
        if let (Some(profile), Some(recorder)) = (profile, recorder) {
            *profile = recorder.finish();
        }
        results
    }
}

/// A call of an executable in progress.
pub(crate) struct Run<'a, D: Device = Cpu> {
    plan: &'a Plan<D::Kernel>,
    /// Device for the bulk operations.
    pub device: D,
    max_depth: usize,
    depth: Cell<usize>,
    recorder: Option<&'a Recorder>,
    cancel: &'a CancelToken,
    traces: &'a Sink,
}

impl<D: Device> Run<'_, D> {
    /// An error if the run is to be stopped.
    fn go_on(&self) -> Result<(), RuntimeError> {
        if self.cancel.is_cancelled() { Err(RuntimeError::cancelled()) } else { Ok(()) }
    }
}

/// The arguments as host values, if they fit the parameters.
fn import<D: Device>(run: &Run<D>, function: &Function<D::Kernel>, args: Vec<Column>) -> Results<D> {
    if args.len() != function.params.len() {
        let (want, got) = (function.params.len(), args.len());
        return Err(RuntimeError::plain(format!("{} takes {want} columns, not {got}", function.name)));
    }
    let kinds = function.params.iter().map(|p| p.1);
    kinds.zip(args).map(|(kind, column)| import_column(run, &function.name, kind, column)).collect()
}

fn import_column<D: Device>(
    run: &Run<D>,
    name: &str,
    kind: Kind,
    column: Column,
) -> Result<HostValue<D>, RuntimeError> {
    Ok(match (kind, column) {
        (Kind::Scalar(p), Column::Scalar(x)) if x.prim() == p => HostValue::Scalar(x),
        (Kind::Scalar(Prim::I64), Column::Size(n)) => HostValue::Scalar(Scalar::I64(n)),
        (Kind::Array(p), Column::Data(a)) if a.prim() == p => HostValue::Array(D::upload(run, a)?),
        (Kind::Desc, Column::Offsets(a)) if a.prim() == Prim::I64 && !a.is_empty() => {
            HostValue::Desc(D::desc_of(run, a)?)
        }
        (kind, _) => return Err(RuntimeError::plain(format!("{name}: an argument is not a {kind:?}"))),
    })
}

/// Host values as columns; of scalars the column types, where there are any, say which are sizes.
fn export<D: Device>(
    run: &Run<D>,
    types: Option<&[ColumnType]>,
    results: Values<D>,
    keep: bool,
) -> Result<Vec<Column>, RuntimeError> {
    let kept = results.iter().map(|value| match value {
        HostValue::Array(a) if keep => D::keep(run, a),
        _ => None,
    });
    let kept: Vec<Option<array::Array>> = kept.collect();
    let wanted = results.iter().zip(&kept).filter_map(|(value, kept)| match value {
        HostValue::Array(a) if kept.is_none() => Some(a.clone()),
        HostValue::Desc(d) => Some(D::offsets(d)),
        _ => None,
    });
    let mut fetched = D::fetch(run, wanted.collect())?.into_iter();
    let mut fetched = || fetched.next().ok_or_else(|| internal("a result that was not fetched"));
    let is_size = |i: usize| types.is_some_and(|c| matches!(c.get(i), Some(ColumnType::Size)));
    let column = |(i, (value, kept)): (usize, (HostValue<D>, Option<array::Array>))| {
        Ok(match value {
            HostValue::Scalar(Scalar::I64(n)) if is_size(i) => Column::Size(n),
            HostValue::Scalar(x) => Column::Scalar(x),
            HostValue::Array(_) => Column::Data(kept.map_or_else(&mut fetched, Ok)?),
            HostValue::Desc(d) if keep => Column::Offsets(D::keep_desc(run, &d, fetched()?)),
            HostValue::Desc(_) => Column::Offsets(fetched()?),
            HostValue::Empty | HostValue::Rope(_) => {
                return Err(internal(&format!("result {i} is neither scalar nor array")));
            }
        })
    };
    results.into_iter().zip(kept).enumerate().map(column).collect()
}

/// The error for a plan that breaks its own rules.
pub(crate) fn internal(what: &str) -> RuntimeError {
    RuntimeError::internal(what)
}

pub(crate) fn out_of_memory(e: OutOfMemory, span: Span) -> RuntimeError {
    let bytes = i64::try_from(e.0).unwrap_or(i64::MAX);
    RuntimeError::check(&CheckKind::OutOfMemory, &[Scalar::I64(bytes)], span)
}
