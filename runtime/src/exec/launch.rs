//! Launching a kernel: its environment, its chunks, its failure.

use super::device::Results;
use super::frame::{Frame, HostValue};
use super::partition::Moving;
use super::space::{Chunk, Space};
use super::{Run, internal, out_of_memory, stack, threads};
use crate::array::Array;
use crate::check::{RuntimeError, Span};
use crate::plan::{CodeId, EnvLayout, ErrorRecord, Fold, Kernel, KernelFn, KernelKind, Operand, Out};
use crate::pool;
use crate::prim::{Prim, Scalar};
use crate::profile::Counters;
use smallvec::SmallVec;
use std::sync::Mutex;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering::Relaxed};

/// Stack beyond what a kernel's calls may take, for what calls nothing that is counted.
const RESERVE: usize = 256 << 10;

/// Bytes of stack for the calls in a kernel: address space, of which only what is used is memory.
fn stack_size() -> usize {
    const MOST: usize = 1 << 30;
    const LEAST: usize = 16 << 20;
    (pool::limit() / 8).clamp(LEAST, MOST) & !0xfff
}

/// Words that the code of a kernel reads, see `EnvLayout`.
pub type Env = SmallVec<[u64; 16]>;
/// The arrays that a kernel makes or updates.
pub type Arrays = SmallVec<[Array; 2]>;

/// A kernel with everything it needs to run.
pub struct Launch<'a> {
    pub kernel: &'a Kernel,
    /// Machine code of its functions.
    code: &'a [KernelFn],
    pub space: Space,
    pub threads: usize,
    /// See `Options::reproducible`.
    pub reproducible: bool,
    pub span: Span,
    /// See `EnvLayout`.
    pub env: Env,
    /// Values that the addresses in the environment point into.
    _held: SmallVec<[HostValue; 4]>,
    failure: Failure,
    /// Work that the code of the chunks has counted.
    work: AtomicU64,
    /// Cost of copies of arrays that somebody else holds.
    copied: Counters,
    /// State of a partition, if it is one.
    pub moving: Option<Moving>,
    /// Of so many positions, only so many are computed here, on this rank.
    pub here: Option<(usize, usize)>,
}

/// The failed check with the smallest position.
struct Failure {
    pos: AtomicI64,
    record: Mutex<Option<ErrorRecord>>,
}

impl Run<'_> {
    pub fn kernel(&self, kernel: &Kernel, frame: &mut Frame, span: Span) -> Results {
        let mut launch = self.prepare(kernel, frame, span)?;
        self.note_rows(|| launch.space.summary());
        let results = match &kernel.kind {
            KernelKind::Map(outs) => launch.map(outs, frame),
            KernelKind::Reduce(fold) => launch.reduce(fold, frame),
            KernelKind::Scan { fold, reduce, dual, exact, outs } => {
                launch.scan(fold, (*reduce, *dual), *exact, outs.as_deref(), frame)
            }
            KernelKind::Filter(prims) => launch.filter(prims),
            KernelKind::Hist { dests, fold, exact, any_order } => {
                self.hist(&mut launch, dests, (fold, *exact, *any_order), frame)
            }
        }?;
        self.count(|c| *c += launch.cost(&results));
        Ok(results)
    }

    pub fn prepare<'k>(
        &'k self,
        kernel: &'k Kernel,
        frame: &mut Frame,
        span: Span,
    ) -> Result<Launch<'k>, RuntimeError> {
        let mut space = Space::resolve(kernel, frame, span)?;
        if self.device.smallest_chunks {
            space.cut_small();
        }
        let mut env = Env::from_elem(0, kernel.layout.len());
        env[0] = space.dim_word();
        env[EnvLayout::CANCEL] = self.cancel.address();
        env[EnvLayout::STACK] = if kernel.recursive { stack_size() as u64 } else { 0 };
        let mut held = SmallVec::new();
        for (i, x) in kernel.captures.iter().enumerate() {
            env[EnvLayout::CAPTURES + i] = match frame.take(*x) {
                HostValue::Scalar(x) => x.bits(),
                HostValue::Array(a) => {
                    let address = a.as_ptr() as u64;
                    if self.device.has_whole_arrays {
                        env[kernel.layout.lengths_at() + i] = a.len() as u64;
                    }
                    held.push(a.into());
                    address
                }
                // An index of theirs is an address in units of elements.
                HostValue::Rope(b) => {
                    held.push(HostValue::Rope(b));
                    0
                }
                _ => return Err(internal("a kernel reads something that is neither scalar nor array")),
            };
        }
        let threads = self.threads_for(&space);
        let failure = Failure { pos: AtomicI64::new(i64::MAX), record: Mutex::new(None) };
        let (work, copied) = (AtomicU64::new(0), Counters::default());
        let reproducible = self.device.reproducible;
        let code = &self.device.code.functions;
        Ok(Launch {
            kernel,
            code,
            space,
            threads,
            reproducible,
            span,
            env,
            _held: held,
            failure,
            work,
            copied,
            moving: None,
            here: None,
        })
    }
}

impl Launch<'_> {
    pub fn alloc(&self, prim: Prim, len: usize) -> Result<Array, RuntimeError> {
        Array::try_uninit(prim, len).map_err(|e| out_of_memory(e, self.span))
    }

    /// An array for results at the positions that are computed here.
    fn alloc_output(&self, prim: Prim, len: usize) -> Result<Array, RuntimeError> {
        let Some((some, all)) = self.here else { return self.alloc(prim, len) };
        let used = (len as u128 * some as u128).div_ceil(all.max(1) as u128) as usize;
        Array::try_part(prim, len, used).map_err(|e| out_of_memory(e, self.span))
    }

    /// Fresh arrays, with their addresses from output word `at` on.
    pub fn outputs(&mut self, at: usize, prims: &[Prim], len: usize) -> Result<Arrays, RuntimeError> {
        prims.iter().enumerate().map(|(i, p)| self.output(at + i, *p, len)).collect()
    }

    /// A fresh array, with its address in output word `at`.
    pub fn output(&mut self, at: usize, prim: Prim, len: usize) -> Result<Array, RuntimeError> {
        let a = self.alloc_output(prim, len)?;
        self.env[self.kernel.layout.outputs_at() + at] = a.as_ptr() as u64;
        Ok(a)
    }

    /// Arrays to update in place (copied if somebody else holds them): their length and addresses in the output words
    /// from `at` on.
    pub fn destinations(
        &mut self,
        at: usize,
        dests: &[Operand],
        frame: &mut Frame,
    ) -> Result<Arrays, RuntimeError> {
        let first = self.kernel.layout.outputs_at() + at;
        let arrays: Result<Arrays, _> = dests.iter().map(|d| frame.array(*d)).collect();
        let mut arrays = arrays?;
        let len = arrays.iter().map(Array::len).min().unwrap_or(0);
        self.env[first] = len as u64;
        if let Some(partition) = self.kernel.partition() {
            self.begin_moving(partition, arrays.iter().map(Array::prim).collect());
        }
        for (i, a) in arrays.iter_mut().enumerate() {
            if !a.is_unique() {
                self.copied.copy(a.len(), a.bytes().len());
                *a = self.replacement(i, a.clone())?;
            }
            self.env[first + 1 + i] = a.as_ptr() as u64;
        }
        Ok(arrays)
    }

    /// A copy of an array, made by all threads.
    pub fn copy_of(&self, a: &Array) -> Result<Array, RuntimeError> {
        let mut copy = self.alloc(a.prim(), a.len())?;
        let from = a.bytes();
        threads::fill(self.threads, copy.bytes_mut(), |start, part| {
            let from = &from[start..start + part.len()];
            // SAFETY: both have as many bytes, and the array is fresh.
            unsafe { crate::copy::copy(from.as_ptr(), part.as_mut_ptr(), part.len()) };
        });
        Ok(copy)
    }

    /// The neutral elements as the accumulators' first values.
    pub fn set_initial(&mut self, fold: &Fold, frame: &Frame) -> Result<(), RuntimeError> {
        let at = self.kernel.layout.initial_at();
        for (i, x) in fold.neutral.iter().enumerate() {
            self.env[at + i] = frame.scalar(*x)?.bits();
        }
        Ok(())
    }

    /// Runs `code` on a chunk; the number it returns, or `None` if a check failed here or before.
    pub fn run_chunk(&self, code: CodeId, env: &[u64], p: &Chunk) -> Option<i64> {
        if self.has_failed_before(p.lo) {
            return None;
        }
        let mut record = ErrorRecord::default();
        let result = self.call(code, env, p, &mut record);
        if record.work > 0 {
            self.work.fetch_add(record.work, Relaxed);
        }
        if result < 0 {
            self.failure.record(record);
            return None;
        }
        Some(result)
    }

    /// Runs `code` on a chunk; the number it returns, below 0 if a check failed.
    pub fn call(&self, code: CodeId, env: &[u64], p: &Chunk, record: &mut ErrorRecord) -> i64 {
        let code = self.code[code.0 as usize];
        let (row_lo, row_hi) = (p.row_lo as i64, p.row_hi as i64);
        debug_assert_eq!(env.len(), self.kernel.layout.len());
        // SAFETY: the environment is laid out as the kernel's layout says, the arrays in it are alive and as long as
        // the space demands; the code is the plan's own and lives as long. No two chunks write the same elements, but for
        // scatters. Threads that scatter to one index do nothing else there: what is written in Rust are relaxed atomic
        // stores (`partition::Word`), and machine code has ordinary stores of aligned words, one element each, which are what
        // relaxed atomic stores are compiled to. Nobody reads the array before the launch has ended.
        let mut run = || unsafe { code(env.as_ptr(), row_lo, row_hi, p.lo as i64, p.hi as i64, record) };
        if self.kernel.recursive { stack::with(stack_size() + RESERVE, &mut run) } else { run() }
    }

    /// Cost of the launch, which gave these results.
    pub fn cost(&self, results: &[HostValue]) -> Counters {
        let (kernel, space) = (self.kernel, &self.space);
        let mut cost = self.base_cost();
        let fresh = match &kernel.kind {
            KernelKind::Map(outs) | KernelKind::Scan { outs: Some(outs), .. } => {
                Out::fresh_bytes(outs, space.total)
            }
            KernelKind::Hist { .. } => 0,
            _ => results.iter().map(bytes).sum(),
        };
        if let (KernelKind::Filter(prims), Some(HostValue::Scalar(Scalar::I64(kept)))) =
            (&kernel.kind, results.first())
        {
            cost.kept(*kept, prims.len());
        }
        cost.bytes_materialised += fresh as u64;
        cost
    }

    /// Cost of the launch but for the arrays that it makes.
    pub fn base_cost(&self) -> Counters {
        let (kernel, space) = (self.kernel, &self.space);
        let mut cost = self.copied;
        let fixed = space.rows * kernel.work.row + space.total * kernel.work.element;
        cost.launch(fixed + self.work.load(Relaxed) as usize, 0);
        cost
    }

    /// The smallest position at which a check has failed.
    pub fn failed_at(&self) -> Option<i64> {
        self.failure.first().map(|r| r.pos)
    }

    /// Notes a failure.
    pub fn fail(&self, record: ErrorRecord) {
        self.failure.record(record);
    }

    /// True if a check at a smaller position failed.
    pub fn has_failed_before(&self, pos: usize) -> bool {
        self.failure.pos.load(Relaxed) <= pos as i64
    }

    /// Runs the kernel's own code on all chunks.
    pub fn run(&self, chunks: &[Chunk]) -> Result<(), RuntimeError> {
        threads::run(self.threads, chunks.len(), |i| {
            self.run_chunk(self.kernel.code, &self.env, &chunks[i]);
        });
        self.check()
    }

    /// The run-time error, if a check failed.
    pub fn check(&self) -> Result<(), RuntimeError> {
        let Some(record) = self.failure.first() else { return Ok(()) };
        if record.check == ErrorRecord::CANCELLED {
            return Err(RuntimeError::cancelled());
        }
        let Some(check) = self.kernel.checks.get(record.check as usize) else {
            return Err(internal("a kernel failed without a check"));
        };
        let args: Vec<Scalar> =
            check.args.iter().zip(record.args).map(|(p, bits)| Scalar::from_bits(*p, bits)).collect();
        Err(RuntimeError::check(&check.kind, &args, check.span))
    }
}

impl Failure {
    fn first(&self) -> Option<ErrorRecord> {
        // The lock is for those who fail.
        let has_failed = self.pos.load(Relaxed) < i64::MAX;
        has_failed.then(|| *self.record.lock().unwrap_or_else(|e| e.into_inner())).flatten()
    }

    fn record(&self, new: ErrorRecord) {
        let mut record = self.record.lock().unwrap_or_else(|e| e.into_inner());
        if record.is_none_or(|old| new.pos < old.pos) {
            *record = Some(new);
            self.pos.fetch_min(new.pos, Relaxed);
        }
    }
}

fn bytes(x: &HostValue) -> usize {
    if let HostValue::Array(a) = x { a.bytes().len() } else { 0 }
}

/// The value to put into an output word so that row `row` is stored at `address`.
pub fn as_row(address: *const u8, row: usize, size: usize) -> u64 {
    (address as u64).wrapping_sub((row * size) as u64)
}
