//! A run on a GPU: the device that the executor is given.

use super::array::{Account, Array, no_room};
use super::driver::{Address, Function, Gpu};
use super::replay::Record;
use super::staging::LARGE;
use super::watch::Guard;
use super::{Kernel, Loaded, bulk, desc, rope, sort};
use crate::array::{self, OutOfMemory};
use crate::cancel::CancelToken;
use crate::check::{RuntimeError, Span};
use crate::exec::device::{self, ArrayResult, Device, Held, Results, Rows, Values};
use crate::exec::frame::Frame;
use crate::exec::{Options, Run, internal, out_of_memory};
use crate::prim::{Prim, Scalar};
use crate::profile::Counters;
use crate::rope::Rope;
use crate::value::Column;
use cudarc::driver::DriverError;
use std::cell::Cell;
use std::fmt;
use std::rc::Rc;
use std::sync::Arc;

/// A run of a program on its GPU.
#[derive(Clone)]
pub struct Cuda<'a> {
    pub(super) loaded: &'a Loaded,
    pub(super) account: Arc<Account>,
    /// The record of failed checks, see `kernels/program/failure.cuh`.
    failure: Array,
    /// The function that makes a failure one before all launches.
    settle: Function,
    launches: Rc<Cell<u64>>,
    cancel: CancelToken,
    _watched: Rc<Guard>,
}

impl fmt::Debug for Cuda<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a run on {:?}", self.loaded.gpu)
    }
}

/// Words of the record: launch, position, a lock, number of the check, its arguments.
const RECORD: usize = 8;

/// The error for a call of the driver that failed in the middle of a run.
pub(super) fn broken(e: DriverError) -> RuntimeError {
    RuntimeError::plain(format!("the GPU reports: {e}"))
}

impl<'a> Cuda<'a> {
    /// Begins a run.
    pub(crate) fn start(loaded: &'a Loaded, options: &Options) -> Result<Cuda<'a>, RuntimeError> {
        let gpu = &loaded.gpu;
        gpu.enter().map_err(broken)?;
        let nobody = Arc::new(Account::default());
        let record = Array::fresh(gpu, &nobody, Prim::U64, RECORD);
        let failure = record.map_err(|e| out_of_memory(e, Span::default()))?;
        let address = failure.address().map_err(|e| out_of_memory(e, Span::default()))?;
        // No launch has failed, at no position: both are the largest number.
        gpu.set(address, 0, 8 * RECORD).and_then(|()| gpu.set(address, 0xff, 16)).map_err(broken)?;
        let account = Arc::new(Account::new(options.memory_limit));
        let settle = loaded.bulk("bulk_settle")?;
        let (cancel, launches) = (options.cancel.clone(), Rc::new(Cell::new(0)));
        let watched = Rc::new(gpu.watch(&cancel, address));
        Ok(Cuda { loaded, account, failure, settle, launches, cancel, _watched: watched })
    }

    pub(super) fn gpu(&self) -> &'a Arc<Gpu> {
        &self.loaded.gpu
    }

    /// A fresh array.
    pub(super) fn fresh(&self, prim: Prim, len: usize, span: Span) -> Result<Array, RuntimeError> {
        Array::fresh(self.gpu(), &self.account, prim, len).map_err(|e| out_of_memory(e, span))
    }

    /// Memory for a kernel's own use, zeroed.
    pub(super) fn scratch(&self, bytes: u64, span: Span) -> Result<Array, RuntimeError> {
        let array = self.fresh(Prim::U8, bytes as usize, span)?;
        self.gpu().set(address(&array, span)?, 0, bytes as usize).map_err(broken)?;
        Ok(array)
    }

    /// The array, unshared, and what had to be copied for that.
    pub(super) fn unshared(&self, mut a: Array, span: Span) -> Result<(Array, Counters), RuntimeError> {
        let mut cost = Counters::default();
        if a.is_unique() {
            return Ok((a, cost));
        }
        let copy = self.fresh(a.prim(), a.len(), span)?;
        self.gpu().copy(address(&copy, span)?, address(&a, span)?, a.size()).map_err(broken)?;
        // What only the host has besides is nobody's on the device: the program has paid for no copy.
        if a.host().is_none() {
            cost.copy(a.len(), a.size());
        }
        Ok((copy, cost))
    }

    /// The first words of every kernel's argument: the record, the number of this launch, room for calls.
    pub(super) fn head(&self, recursive: bool) -> Result<Vec<u64>, RuntimeError> {
        let number = self.launches.get() + 1;
        self.launches.set(number);
        /// Bytes that a call may take beyond where it looks at the stack.
        const RESERVE: usize = 2048;
        let stack = if recursive { self.loaded.stack.saturating_sub(RESERVE) } else { 0 };
        Ok(vec![address(&self.failure, Span::default())?, number, stack as u64])
    }

    fn record(&self) -> Result<Record, RuntimeError> {
        Ok(Record { at: address(&self.failure, Span::default())?, settle: self.settle })
    }

    /// Starts a kernel, if there is something to do, on blocks of so many threads, with so many bytes of shared memory.
    pub(super) fn launch(
        &self,
        name: &str,
        blocks: u64,
        (threads, shared): (u32, u32),
        words: &[u64],
    ) -> Result<(), RuntimeError> {
        if blocks == 0 {
            return Ok(());
        }
        let function = self.loaded.kernel(name)?;
        let launched =
            self.gpu().launch(function, grid(blocks)?, (threads, shared), words, Some(self.record()?));
        launched.map_err(broken)
    }

    /// As [`Cuda::launch`], for a kernel that all programs share.
    pub(super) fn launch_bulk(
        &self,
        name: &str,
        blocks: u64,
        threads: u32,
        words: &[u64],
    ) -> Result<(), RuntimeError> {
        if blocks == 0 {
            return Ok(());
        }
        let function = self.loaded.bulk(name)?;
        self.gpu().launch(function, grid(blocks)?, (threads, 0), words, None).map_err(broken)
    }

    /// Waits, and copies bytes to the host. Fails with the check that failed, if one did.
    pub(super) fn fetch(&self, to: &mut [u8], from: Address) -> Result<(), RuntimeError> {
        self.fetch_all(&mut [(to, from)])
    }

    /// As [`Cuda::fetch`], for bytes of several arrays, for which it waits together.
    fn fetch_all(&self, copies: &mut [(&mut [u8], Address)]) -> Result<(), RuntimeError> {
        let mut record = [0u8; 8 * RECORD];
        let at = address(&self.failure, Span::default())?;
        let gpu = self.gpu();
        let mut asked = gpu.download(&mut record, at);
        // What a run leaves that has failed is not worth a large copy.
        if copies.iter().map(|(to, _)| to.len()).sum::<usize>() >= LARGE {
            asked.and_then(|()| gpu.wait()).map_err(broken)?;
            self.check(&record)?;
            asked = Ok(());
        }
        let asked = asked.and_then(|()| copies.iter_mut().try_for_each(|(to, from)| gpu.download(to, *from)));
        // The device may still write to what was asked for.
        let waited = gpu.wait();
        asked.and(waited).map_err(broken)?;
        self.check(&record)
    }

    /// Some words.
    pub(super) fn fetch_words<const N: usize>(&self, from: Address) -> Result<[u64; N], RuntimeError> {
        let mut words = [[0u8; 8]; N];
        self.fetch(words.as_flattened_mut(), from)?;
        Ok(words.map(u64::from_le_bytes))
    }

    /// The run-time error that the record says.
    fn check(&self, record: &[u8]) -> Result<(), RuntimeError> {
        let mut words = [0u64; RECORD];
        for (word, bytes) in words.iter_mut().zip(record.chunks_exact(8)) {
            *word = u64::from_le_bytes(bytes.try_into().expect("eight bytes"));
        }
        let [launch, _, _, number, args @ ..] = words;
        if self.cancel.is_cancelled() {
            return Err(RuntimeError::cancelled());
        }
        if launch == u64::MAX {
            return Ok(());
        }
        let check = self.loaded.program.checks.get(number as usize);
        let check = check.ok_or_else(|| internal("a kernel failed without a check"))?;
        let args: Vec<Scalar> =
            check.args.iter().zip(args).map(|(p, bits)| Scalar::from_bits(*p, bits)).collect();
        Err(RuntimeError::check(&check.kind, &args, check.span))
    }
}

/// Address of an array's elements.
pub(super) fn address(a: &Array, span: Span) -> Result<Address, RuntimeError> {
    a.address().map_err(|e| out_of_memory(e, span))
}

fn grid(blocks: u64) -> Result<u32, RuntimeError> {
    let most = i32::MAX as u64;
    if blocks > most {
        return Err(RuntimeError::plain(format!(
            "{blocks} blocks of threads are more than a GPU runs at a time"
        )));
    }
    Ok(blocks as u32)
}

impl<'a> Device for Cuda<'a> {
    type Array = Array;
    type Rope = Arc<Rope<Array>>;
    type Desc = Arc<desc::Desc>;
    type Kernel = Kernel;

    fn upload(run: &Run<Self>, a: array::Array) -> ArrayResult<Self> {
        Ok(Array::of_host(run.device.gpu(), a))
    }

    fn fetch(run: &Run<Self>, all: Vec<Array>) -> Result<Vec<array::Array>, RuntimeError> {
        let mut here = Vec::with_capacity(all.len());
        for a in &all {
            here.push(match a.host() {
                Some(host) if a.len() == host.len() => host.clone(),
                Some(host) => part_of(host, a.len())?,
                None => array::Array::try_uninit(a.prim(), a.len())
                    .map_err(|e| out_of_memory(e, Span::default()))?,
            });
        }
        let mut copies = Vec::new();
        for (to, from) in here.iter_mut().zip(&all).filter(|(_, a)| a.host().is_none()) {
            copies.push((to.bytes_mut(), address(from, Span::default())?));
        }
        run.device.fetch_all(&mut copies)?;
        Ok(here)
    }

    fn keep(_: &Run<Self>, a: &Array) -> Option<array::Array> {
        // What somebody else has may change.
        let own = if a.is_foreign() { a.copied().ok()? } else { a.clone() };
        (a.host().is_none() && a.len() > 0).then(|| own.kept())
    }

    fn keep_desc(_: &Run<Self>, d: &Arc<desc::Desc>, offsets: array::Array) -> array::Array {
        d.kept(offsets)
    }

    fn end_iteration(run: &Run<Self>) -> Result<(), RuntimeError> {
        run.device.gpu().end_iteration().map_err(broken)
    }

    fn kernel(run: &Run<Self>, k: &Kernel, frame: &mut Frame<Self>, span: Span) -> Results<Self> {
        run.launch(k, frame, span)
    }

    fn read(run: &Run<Self>, a: &Array, i: i64) -> Result<Option<Scalar>, RuntimeError> {
        let Some(i) = usize::try_from(i).ok().filter(|i| *i < a.len()) else {
            run.settled()?;
            return Ok(None);
        };
        if let Some(host) = a.host() {
            return Ok(Some(host.get(i)));
        }
        let size = a.prim().size();
        let mut word = [0u8; 8];
        let at = a.element(i).map_err(|e| out_of_memory(e, Span::default()))?;
        run.device.fetch(&mut word[..size], at)?;
        Ok(Some(Scalar::from_bits(a.prim(), u64::from_le_bytes(word))))
    }

    fn read_rope(run: &Run<Self>, b: &Arc<Rope<Array>>, i: i64) -> Result<Option<Scalar>, RuntimeError> {
        match b.find(i) {
            Some((part, at)) => Self::read(run, part, at as i64),
            None => {
                run.settled()?;
                Ok(None)
            }
        }
    }

    fn write(run: &Run<Self>, a: Array, i: usize, x: Scalar, span: Span) -> ArrayResult<Self> {
        let (a, _) = run.device.unshared(a, span)?;
        let at = a.element(i).map_err(|e| out_of_memory(e, span))?;
        bulk::fill(&run.device, at, 1, x)?;
        Ok(a)
    }

    fn literal(run: &Run<Self>, prim: Prim, xs: &[Scalar], span: Span) -> ArrayResult<Self> {
        let a = run.device.fresh(prim, xs.len(), span)?;
        let host = array::Array::from_scalars(prim, xs);
        run.device.gpu().upload(address(&a, span)?, host.bytes()).map_err(broken)?;
        Ok(a)
    }

    fn iota(run: &Run<Self>, n: usize, span: Span) -> ArrayResult<Self> {
        let a = run.device.fresh(Prim::I64, n, span)?;
        bulk::iota(&run.device, address(&a, span)?, n)?;
        Ok(a)
    }

    fn replicate(run: &Run<Self>, n: usize, x: Scalar, span: Span) -> ArrayResult<Self> {
        let a = run.device.fresh(x.prim(), n, span)?;
        bulk::fill(&run.device, address(&a, span)?, n, x)?;
        Ok(a)
    }

    fn slice(run: &Run<Self>, mut a: Array, start: usize, len: usize, span: Span) -> ArrayResult<Self> {
        if start == 0 && len >= a.len() / 2 && a.is_unique() {
            return Ok(a.with_len(len));
        }
        let part = run.device.fresh(a.prim(), len, span)?;
        let from = a.element(start).map_err(|e| out_of_memory(e, span))?;
        run.device.gpu().copy(address(&part, span)?, from, part.size()).map_err(broken)?;
        Ok(part)
    }

    fn concat(run: &Run<Self>, parts: Vec<Array>, prim: Prim, span: Span) -> ArrayResult<Self> {
        if parts.iter().skip(1).all(|a| a.len() == 0) {
            run.count(|c| c.launch(0, 0));
            return parts.into_iter().next().map_or_else(|| run.device.fresh(prim, 0, span), Ok);
        }
        run.concat_arrays(parts, prim, span)
    }

    fn append(
        _: &Run<Self>,
        parts: Values<Self>,
        prim: Prim,
        span: Span,
    ) -> Result<(Arc<Rope<Array>>, Vec<i64>), RuntimeError> {
        device::append(parts, prim, |array| address(array, span).map(drop))
    }

    fn sort(
        run: &Run<Self>,
        rows: &Rows<Self>,
        keys: Array,
        values: Option<Array>,
        span: Span,
    ) -> Result<Vec<Array>, RuntimeError> {
        sort::rows(run, rows, keys, values, span)
    }

    fn compact(
        run: &Run<Self>,
        rope: Arc<Rope<Array>>,
        rows: (Array, Array),
        kept: Option<Arc<Rope<Array>>>,
        span: Span,
    ) -> Result<(Arc<Rope<Array>>, Array), RuntimeError> {
        rope::compact(run, rope, rows, kept, span)
    }

    fn needs_collection(
        mut rope: Arc<Rope<Array>>,
        base: Option<Arc<Rope<Array>>>,
    ) -> (Arc<Rope<Array>>, bool) {
        let needs_collection = Arc::make_mut(&mut rope).needs_collection(base.as_deref());
        (rope, needs_collection)
    }

    fn collect(
        run: &Run<Self>,
        rope: Arc<Rope<Array>>,
        starts: Arc<Rope<Array>>,
        weight: i64,
    ) -> Result<(Arc<Rope<Array>>, bool), RuntimeError> {
        device::collect(run, rope, starts, weight)
    }

    fn make_desc(run: &Run<Self>, lengths: Array, span: Span) -> Result<Arc<desc::Desc>, RuntimeError> {
        desc::from_lengths(&run.device, lengths, span).map(|d| run.counted(d))
    }

    fn uniform_desc(
        run: &Run<Self>,
        rows: usize,
        m: usize,
        span: Span,
    ) -> Result<Arc<desc::Desc>, RuntimeError> {
        desc::uniform(&run.device, rows, m, span).map(|d| run.counted(d))
    }

    fn concat_desc(
        run: &Run<Self>,
        parts: &[Arc<desc::Desc>],
        span: Span,
    ) -> Result<Arc<desc::Desc>, RuntimeError> {
        desc::concat(&run.device, parts, span).map(|d| run.counted(d))
    }

    fn desc_of(run: &Run<Self>, offsets: array::Array) -> Result<Arc<desc::Desc>, RuntimeError> {
        Ok(Arc::new(desc::Desc::of_host(run.device.gpu(), offsets)))
    }

    fn rows(d: &Arc<desc::Desc>) -> usize {
        d.rows()
    }

    fn total(run: &Run<Self>, d: &Arc<desc::Desc>) -> Result<usize, RuntimeError> {
        d.total(&run.device)
    }

    fn offsets(d: &Arc<desc::Desc>) -> Array {
        d.offsets().clone()
    }

    fn lengths(run: &Run<Self>, d: &Arc<desc::Desc>, span: Span) -> ArrayResult<Self> {
        if !d.has_lengths() {
            run.count(|c| c.launch(2 * d.rows(), 8 * d.rows()));
        }
        d.lengths(&run.device, span)
    }

    fn seg_ids(run: &Run<Self>, d: &Arc<desc::Desc>, span: Span) -> ArrayResult<Self> {
        let total = d.total(&run.device)?;
        if !d.has_seg_ids() {
            run.count(|c| c.launch(d.rows() + total, 8 * total));
        }
        d.seg_ids(&run.device, span)
    }
}

/// Arguments that are on the device when they are passed to calls, see [`crate::exec::Executable::upload`].
pub(crate) fn upload(loaded: &Loaded, args: Vec<Column>) -> Result<Vec<Column>, RuntimeError> {
    let gpu = &loaded.gpu;
    gpu.enter().map_err(broken)?;
    let column = |column| {
        Ok(match column {
            Column::Data(host) if !host.is_empty() => Column::Data(Array::uploaded(gpu, host)?.kept()),
            Column::Offsets(host) if !host.is_empty() => {
                let desc = desc::Desc::of_host(gpu, host.clone());
                desc.offsets().address().map_err(no_room)?;
                Column::Offsets(desc.kept(host))
            }
            other => other,
        })
    };
    let there = args.into_iter().map(column).collect::<Result<Vec<Column>, RuntimeError>>()?;
    gpu.wait().map_err(broken)?;
    Ok(there)
}

fn part_of(host: &array::Array, len: usize) -> Result<array::Array, RuntimeError> {
    host.try_slice(0, len).map_err(|e| out_of_memory(e, Span::default()))
}

impl<'a> Run<'_, Cuda<'a>> {
    /// Nothing that was asked for has failed.
    pub(super) fn settled(&self) -> Result<(), RuntimeError> {
        Cuda::settle(self)
    }

    fn counted(&self, d: desc::Desc) -> Arc<desc::Desc> {
        self.count(|c| c.launch(2 * d.rows() + 1, 8 * (d.rows() + 1)));
        Arc::new(d)
    }

    /// Appends to the first array, in place if nobody else holds it.
    fn concat_arrays(&self, mut parts: Vec<Array>, prim: Prim, span: Span) -> Result<Array, RuntimeError> {
        let cuda = &self.device;
        let in_place = parts[0].is_unique();
        let written = || parts[usize::from(in_place)..].iter();
        let (elements, bytes) = (written().map(Held::len).sum::<usize>(), written().map(Held::size).sum());
        self.count(|c| c.launch(2 * elements, bytes));
        let total = parts.iter().map(Held::len).sum();
        let mut at = parts[0].len();
        let appended = if in_place && parts[0].capacity() >= total {
            parts[0].clone().with_len(total)
        } else {
            // What is appended to is likely to be appended to again: there is room for as much.
            let ample = if in_place { total.max(2 * at) } else { total };
            let needs_collection = Array::fresh(cuda.gpu(), &cuda.account, prim, ample);
            let needs_collection = needs_collection
                .or_else(|_: OutOfMemory| Array::fresh(cuda.gpu(), &cuda.account, prim, total));
            let needs_collection = needs_collection.map_err(|e| out_of_memory(e, span))?;
            cuda.gpu()
                .copy(address(&needs_collection, span)?, address(&parts[0], span)?, parts[0].size())
                .map_err(broken)?;
            needs_collection.with_len(total)
        };
        for part in &parts[1..] {
            let to = appended.element(at).map_err(|e| out_of_memory(e, span))?;
            cuda.gpu().copy(to, address(part, span)?, part.size()).map_err(broken)?;
            at += part.len();
        }
        Ok(appended)
    }
}
