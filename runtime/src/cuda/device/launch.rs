//! Launching the kernels of a program: their arguments, their outputs, their scratch memory.

use super::array::Array;
use super::folding::Folding;
use super::run::{Cuda, address, broken};
use super::tuning::{HIST_BLOCKS, LOCKS, REDUCE_BLOCKS, SHARED};
use super::{Combine, Fold, HIST_LANES, HIST_THREADS, Kernel, KernelKind, Schedule, bulk, sort};
use crate::array::OutOfMemory;
use crate::check::{RuntimeError, Span};
use crate::exec::device::{Held, Results, Values};
use crate::exec::frame::{Frame, HostValue};
use crate::exec::{Run, internal, out_of_memory};
use crate::plan::{self, Operand, Out};
use crate::prim::{Prim, Scalar};
use crate::profile::{Counters, Rows};
use smallvec::smallvec;

/// Bytes of the states of a scan's tiles: see `kernels/par/lookback.cuh`.
pub fn state_bytes(tiles: u64, value_size: usize) -> u64 {
    let slot = match value_size as u64 {
        0..=4 => 8,
        5..=8 => 16,
        n => 16 + 2 * n.next_multiple_of(16),
    };
    64 + (tiles + tiles / 32 + 1) * slot
}

/// Words that the argument of every kernel begins with: see [`Cuda::head`].
const HEAD: usize = 3;

/// A space whose sizes are known.
pub(super) struct Space {
    pub(super) rows: usize,
    pub(super) total: usize,
    /// Elements of the longest row.
    longest: usize,
    words: Vec<u64>,
    is_flat: bool,
    /// Offsets of the rows of a ragged one; held as long as it is used.
    offsets: Option<Array>,
}

impl Space {
    fn resolve<'a>(
        cuda: &Cuda<'a>,
        kernel: &Kernel,
        frame: &mut Frame<Cuda<'a>>,
        span: Span,
    ) -> Result<Space, RuntimeError> {
        match kernel.space {
            plan::Space::Flat(n) => {
                let n = frame.size(n)?;
                let words = vec![n as u64];
                Ok(Space { rows: 1, total: n, longest: n, words, is_flat: true, offsets: None })
            }
            plan::Space::Uniform { rows, m } => {
                let (rows, m) = frame.rows_of(rows, m)?;
                let total = rows.checked_mul(m);
                let total = total.ok_or_else(|| out_of_memory(OutOfMemory(u64::MAX), span))?;
                let words = vec![rows as u64, m as u64];
                Ok(Space { rows, total, longest: m, words, is_flat: false, offsets: None })
            }
            plan::Space::Ragged { rows, desc } => {
                let (rows, desc) = (frame.size(rows)?, frame.desc(desc)?);
                if desc.rows() != rows {
                    return Err(internal("a descriptor does not fit its space"));
                }
                let (total, longest) = (desc.total(cuda)?, desc.longest(cuda)?);
                let offsets = desc.offsets().clone();
                let words = vec![rows as u64, total as u64, address(&offsets, span)?];
                Ok(Space { rows, total, longest, words, is_flat: false, offsets: Some(offsets) })
            }
        }
    }

    fn summary(&self) -> Rows {
        let mut rows = Rows::uniform(self.rows, self.total.checked_div(self.rows).unwrap_or(0));
        rows.elements = self.total as u64;
        rows.ragged = self.offsets.is_some();
        rows
    }
}

/// A launch in preparation.
pub(super) struct Launch<'l, 'a> {
    pub(super) cuda: &'l Cuda<'a>,
    pub(super) kernel: &'l Kernel,
    pub(super) space: Space,
    pub(super) span: Span,
    pub(super) words: Vec<u64>,
    /// Table of who writes where, while it is needed.
    table: Option<Array>,
    copied: Counters,
}

impl<'a> Run<'_, Cuda<'a>> {
    /// Runs a kernel.
    pub(super) fn launch(
        &self,
        kernel: &Kernel,
        frame: &mut Frame<Cuda<'a>>,
        span: Span,
    ) -> Results<Cuda<'a>> {
        let cuda = &self.device;
        let space = Space::resolve(cuda, kernel, frame, span)?;
        self.note_rows(|| space.summary());
        let mut words = cuda.head(kernel.recursive)?;
        words.extend(&space.words);
        // Memory is given back in the order of the stream: what is read need not be held longer than here.
        let mut held = Vec::new();
        for x in &kernel.captures {
            words.push(match frame.take(*x) {
                HostValue::Scalar(x) => x.bits(),
                HostValue::Array(a) => {
                    let at = address(&a, span)?;
                    held.push(HostValue::Array(a));
                    at
                }
                HostValue::Rope(b) => {
                    held.push(HostValue::<Cuda>::Rope(b));
                    0
                }
                _ => return Err(internal("a kernel reads something that is neither scalar nor array")),
            });
        }
        let (table, copied) = (None, Counters::default());
        let mut launch = Launch { cuda, kernel, space, span, words, table, copied };
        let results = match &kernel.kind {
            KernelKind::Map { outs, elects, serial } => launch.map(outs, elects, *serial, frame),
            KernelKind::Reduce(fold) => launch.reduce(fold, frame),
            KernelKind::Scan { fold, after } => launch.scan(fold, after.as_ref(), frame),
            KernelKind::Filter(prims) => launch.filter(prims),
            KernelKind::Hist { dests, fold, combine } => launch.hist(dests, fold, *combine, frame),
        }?;
        self.count(|c| *c += launch.cost(&results));
        Ok(results)
    }
}

impl<'a> Launch<'_, 'a> {
    /// Blocks for tiles over the elements, or over elements and the ends of rows.
    fn tiles(&self, with_rows: bool) -> u64 {
        let rows = if with_rows { self.space.rows as u64 } else { 0 };
        (self.space.total as u64 + rows).div_ceil(self.kernel.tile.size())
    }

    /// The words before those of the space: what every argument begins with.
    pub(super) fn head(&self) -> &[u64] {
        &self.words[..HEAD]
    }

    /// The words of the captures.
    pub(super) fn captures(&self) -> &[u64] {
        &self.words[HEAD + self.space.words.len()..self.captures_end()]
    }

    /// Index of the word after those of the captures.
    pub(super) fn captures_end(&self) -> usize {
        HEAD + self.space.words.len() + self.kernel.captures.len()
    }

    fn start(&mut self, suffix: &str, blocks: u64) -> Result<(), RuntimeError> {
        self.start_with(suffix, blocks, self.kernel.tile.threads, 0)
    }

    fn start_with(
        &mut self,
        suffix: &str,
        blocks: u64,
        threads: u32,
        shared: u64,
    ) -> Result<(), RuntimeError> {
        let name = format!("{}{suffix}", self.kernel.name);
        self.cuda.launch(&name, blocks, (threads, shared as u32), &self.words)
    }

    /// Starts a function whose argument is not the kernel's.
    pub(super) fn start_words(&self, suffix: &str, blocks: u64, words: &[u64]) -> Result<(), RuntimeError> {
        let name = format!("{}{suffix}", self.kernel.name);
        self.cuda.launch(&name, blocks, (Schedule::THREADS, 0), words)
    }

    /// Fresh arrays, whose addresses are the next words.
    fn outputs(&mut self, prims: &[Prim], len: usize) -> Result<Vec<Array>, RuntimeError> {
        let mut arrays = Vec::with_capacity(prims.len());
        for p in prims {
            let a = self.cuda.fresh(*p, len, self.span)?;
            self.words.push(address(&a, self.span)?);
            arrays.push(a);
        }
        Ok(arrays)
    }

    /// Arrays to update in place, copied if somebody else holds them; their length and addresses are the next words.
    fn destinations(
        &mut self,
        dests: &[Operand],
        frame: &mut Frame<Cuda<'a>>,
    ) -> Result<Vec<Array>, RuntimeError> {
        let arrays: Result<Vec<Array>, _> = dests.iter().map(|d| frame.array(*d)).collect();
        let arrays = arrays?;
        self.words.push(arrays.iter().map(Held::len).min().unwrap_or(0) as u64);
        let mut unshared = Vec::with_capacity(arrays.len());
        for a in arrays {
            let (a, cost) = self.cuda.unshared(a, self.span)?;
            self.copied += cost;
            self.words.push(address(&a, self.span)?);
            unshared.push(a);
        }
        Ok(unshared)
    }

    fn neutral(&mut self, fold: &Fold, frame: &Frame<Cuda<'a>>) -> Result<(), RuntimeError> {
        for x in &fold.neutral {
            self.words.push(frame.scalar(*x)?.bits());
        }
        Ok(())
    }

    /// The outputs of a map, whose addresses are the next words; then that of the table of who writes where, if somebody has to be
    /// elected.
    fn outs(
        &mut self,
        outs: &[Out],
        elects: &[bool],
        frame: &mut Frame<Cuda<'a>>,
    ) -> Result<Vec<Array>, RuntimeError> {
        let mut arrays = Vec::new();
        let mut places = 0;
        for (out, elects) in outs.iter().zip(elects) {
            match out {
                Out::Row(p, n) => {
                    arrays.extend(self.outputs(&[*p], self.space.total.saturating_mul(*n))?);
                }
                Out::Scatter(_) | Out::Own(_) => {
                    let bound = self.destinations(out.dests(), frame)?;
                    if *elects {
                        places += bound.iter().map(Held::len).min().unwrap_or(0);
                    }
                    arrays.extend(bound);
                }
            }
        }
        if elects.contains(&true) {
            let table = self.cuda.fresh(Prim::I64, places, self.span)?;
            let at = address(&table, self.span)?;
            self.cuda.gpu().set(at, 0xff, 8 * places).map_err(broken)?;
            self.words.push(at);
            self.table = Some(table);
        }
        Ok(arrays)
    }

    /// A failure in what was started is an earlier launch's for what is started next.
    pub(super) fn next_launch(&mut self) -> Result<(), RuntimeError> {
        self.words[1] = self.cuda.head(false)?[1];
        Ok(())
    }

    fn map(
        &mut self,
        outs: &[Out],
        elects: &[bool],
        serial: bool,
        frame: &mut Frame<Cuda<'a>>,
    ) -> Results<Cuda<'a>> {
        let arrays = self.outs(outs, elects, frame)?;
        if let [out] = arrays.as_slice()
            && (self.contract(out)? || self.transpose(out)?)
        {
            return Ok(arrays.into_iter().map(HostValue::Array).collect());
        }
        let by_rows = self.space.offsets.is_some() && self.kernel.needs_rows;
        let blocks = if serial { 1 } else { self.tiles(by_rows) };
        let blocks = if self.space.total == 0 { 0 } else { blocks };
        if self.table.is_some() {
            self.start("_elect", blocks)?;
            self.next_launch()?;
        }
        self.start("", blocks)?;
        Ok(arrays.into_iter().map(HostValue::Array).collect())
    }

    fn reduce(&mut self, fold: &Fold, frame: &Frame<Cuda<'a>>) -> Results<Cuda<'a>> {
        self.neutral(fold, frame)?;
        let mut results = self.outputs(&fold.prims, self.space.rows)?;
        results.extend(self.outputs(&fold.elems, self.space.total)?);
        if self.space.is_flat {
            let tile = self.kernel.tile.size();
            let n = self.space.total as u64;
            let chunk = n.div_ceil(REDUCE_BLOCKS).next_multiple_of(tile).max(tile);
            let blocks = n.div_ceil(chunk).max(1);
            let state = self.cuda.scratch(16 + blocks * self.kernel.value_size as u64, self.span)?;
            let at = address(&state, self.span)?;
            self.words.extend([at + 16, chunk, at]);
            self.start("", blocks)?;
        } else if !self.contract(&results[0])? {
            self.reduce_rows()?;
        }
        Ok(results.into_iter().map(HostValue::Array).collect())
    }

    fn reduce_rows(&mut self) -> Result<(), RuntimeError> {
        let (rows, threads) = (self.space.rows as u64, u64::from(self.kernel.tile.threads));
        let columns = matches!(self.kernel.schedule, Schedule::Columns);
        match Folding::of(rows, self.space.total as u64, self.space.longest as u64, columns) {
            Folding::Lanes(group) => {
                self.words.extend([0, group, 0]);
                self.start("_lanes", (rows * group).div_ceil(threads))
            }
            Folding::Block => {
                self.words.extend([0, 0, 0]);
                self.start("_block", rows)
            }
            Folding::Shares => {
                let _state = self.state(true)?;
                self.start("", self.tiles(true))
            }
            Folding::Columns { part } => self.reduce_columns(part),
        }
    }

    /// Folds of parts of the rows, then those of the rows. If a part is all of a row, nothing is left for the second.
    fn reduce_columns(&mut self, part: u64) -> Result<(), RuntimeError> {
        let rows = self.space.rows as u64;
        let parts = (self.space.longest as u64).div_ceil(part).max(1);
        let blocks = rows.div_ceil(Schedule::COLUMNS) * parts;
        if parts == 1 {
            self.words.extend([0, part, 0]);
            return self.start_with("_columns", blocks, Schedule::THREADS, 0);
        }
        let state = self.cuda.scratch(rows * parts * self.kernel.value_size as u64, self.span)?;
        self.words.extend([address(&state, self.span)?, part, 0]);
        self.start_with("_columns", blocks, Schedule::THREADS, 0)?;
        self.next_launch()?;
        self.start_with("_parts", rows.div_ceil(u64::from(Schedule::THREADS)), Schedule::THREADS, 0)
    }

    /// The states of tiles, whose address and that of nothing are the next words.
    fn state(&mut self, with_rows: bool) -> Result<Array, RuntimeError> {
        let bytes = state_bytes(self.tiles(with_rows), self.kernel.value_size);
        let state = self.cuda.scratch(bytes, self.span)?;
        self.words.extend([address(&state, self.span)?, 0, 0]);
        Ok(state)
    }

    fn scan(
        &mut self,
        fold: &Fold,
        after: Option<&(Vec<Out>, Vec<bool>)>,
        frame: &mut Frame<Cuda<'a>>,
    ) -> Results<Cuda<'a>> {
        self.neutral(fold, frame)?;
        let results = match after {
            Some((outs, elects)) => self.outs(outs, elects, frame)?,
            None => {
                let prims: Vec<Prim> = fold.prims.iter().chain(&fold.elems).copied().collect();
                self.outputs(&prims, self.space.total)?
            }
        };
        let with_rows = !self.space.is_flat;
        let blocks = if self.space.total == 0 { 0 } else { self.tiles(with_rows) };
        let at = self.words.len();
        if self.table.is_some() {
            let _state = self.state(with_rows)?;
            self.start("_elect", blocks)?;
            self.next_launch()?;
            self.words.truncate(at);
        }
        let _state = self.state(with_rows)?;
        self.start("", blocks)?;
        Ok(results.into_iter().map(HostValue::Array).collect())
    }

    fn filter(&mut self, prims: &[Prim]) -> Results<Cuda<'a>> {
        let (rows, span) = (self.space.rows, self.span);
        // One more, so that they are offsets: the first is 0.
        let offsets = self.cuda.fresh(Prim::I64, rows + 1, span)?;
        let at = address(&offsets, span)?;
        self.cuda.gpu().set(at, 0, 8 * (rows + 1)).map_err(broken)?;
        self.words.push(at + 8);
        let kept = self.outputs(prims, self.space.total)?;
        let with_rows = !self.space.is_flat;
        let state = self.cuda.scratch(state_bytes(self.tiles(with_rows), 8), span)?;
        self.words.push(address(&state, span)?);
        let blocks = if self.space.total == 0 { 0 } else { self.tiles(with_rows) };
        self.start("", blocks)?;
        let counts = self.cuda.fresh(Prim::I64, rows, span)?;
        bulk::differences(self.cuda, address(&counts, span)?, at, rows)?;
        let [total] = self.cuda.fetch_words(at + 8 * rows as u64)?;
        let mut results: Values<Cuda> = smallvec![Scalar::I64(total as i64).into(), HostValue::Array(counts)];
        for a in kept {
            results.push(HostValue::Array(self.trimmed(a, total as usize)?));
        }
        Ok(results)
    }

    /// The first elements, copied if that frees much memory.
    fn trimmed(&self, a: Array, len: usize) -> Result<Array, RuntimeError> {
        if len >= a.len() / 2 {
            return Ok(a.with_len(len));
        }
        let part = self.cuda.fresh(a.prim(), len, self.span)?;
        let (to, from) = (address(&part, self.span)?, address(&a, self.span)?);
        self.cuda.gpu().copy(to, from, part.size()).map_err(broken)?;
        Ok(part)
    }

    /// Runs a histogram. The choice among its functions depends on sizes only, so that results do.
    fn hist(
        &mut self,
        dests: &[Operand],
        fold: &Fold,
        combine: Combine,
        frame: &mut Frame<Cuda<'a>>,
    ) -> Results<Cuda<'a>> {
        self.neutral(fold, frame)?;
        let at = self.words.len();
        let results = self.destinations(dests, frame)?;
        let (n, places) = (self.space.total as u64, self.words[at]);
        let table = places.saturating_mul(self.kernel.value_size as u64);
        let warps = u64::from(HIST_THREADS / 32);
        if n == 0 {
            return Ok(results.into_iter().map(HostValue::Array).collect());
        }
        if places > u64::from(u32::MAX) {
            return Err(RuntimeError::plain(format!(
                "a histogram of {places} places is too large for a GPU"
            )));
        }
        match combine {
            Combine::Atomic => {
                let blocks = n.div_ceil(u64::from(HIST_THREADS)).min(HIST_BLOCKS);
                self.words.extend([0, 0, blocks]);
                // A table is made and added by every block.
                let shares = table <= SHARED && places * blocks <= n;
                let (suffix, shared) = if shares { ("_shared", table) } else { ("", 0) };
                self.start_with(suffix, blocks, HIST_THREADS, shared)?;
            }
            _ if table * warps <= SHARED => self.hist_private(n, places, table * warps)?,
            Combine::Locked => {
                let locks = places.min(LOCKS);
                let state = self.cuda.scratch(4 * locks, self.span)?;
                self.words.extend([address(&state, self.span)?, locks, 0]);
                self.start_with("", n.div_ceil(u64::from(HIST_THREADS)), HIST_THREADS, 0)?;
            }
            Combine::InOrder => self.hist_sorted(n, places)?,
        }
        Ok(results.into_iter().map(HostValue::Array).collect())
    }

    /// Positions sorted by their places, then the combination of those of each.
    fn hist_sorted(&mut self, n: u64, places: u64) -> Result<(), RuntimeError> {
        let outputs = self.words.len();
        let blocks = n.div_ceil(u64::from(HIST_THREADS));
        let sorted =
            sort::by_number(self.cuda, n as usize, places as usize + 1, self.span, |numbers, order| {
                self.words.extend([numbers, order, 0]);
                self.start_with("_places", blocks, HIST_THREADS, 0)
            })?;
        let tiles = (places + 1 + n).div_ceil(self.kernel.tile.size());
        let state = self.cuda.scratch(state_bytes(tiles, self.kernel.value_size), self.span)?;
        self.words.truncate(outputs);
        let [order, starts] = [&sorted.order, &sorted.starts].map(|a| address(a, self.span));
        self.words.extend([address(&state, self.span)?, order?, starts?]);
        self.next_launch()?;
        self.start_with("_sorted", tiles, self.kernel.tile.threads, 0)
    }

    /// Tables of warps, then the combination of all tables.
    fn hist_private(&mut self, n: u64, places: u64, shared: u64) -> Result<(), RuntimeError> {
        let chunk = n.div_ceil(HIST_BLOCKS).max(4096);
        let blocks = n.div_ceil(chunk);
        let bytes = places * blocks * self.kernel.value_size as u64;
        let state = self.cuda.scratch(bytes, self.span)?;
        self.words.extend([address(&state, self.span)?, chunk, blocks]);
        self.start_with("_private", blocks, HIST_THREADS, shared)?;
        self.next_launch()?;
        let merging = (places * u64::from(HIST_LANES)).div_ceil(u64::from(HIST_THREADS));
        self.start_with("_merge", merging, HIST_THREADS, 0)
    }

    /// Cost of the launch, as the CPU counts it; what depends on the data inside of the body is not counted.
    fn cost(&self, results: &[HostValue<Cuda<'a>>]) -> Counters {
        let (kernel, space) = (self.kernel, &self.space);
        let mut cost = self.copied;
        cost.launch(space.rows * kernel.work.row + space.total * kernel.work.element, 0);
        let size = |x: &HostValue<Cuda>| if let HostValue::Array(a) = x { a.size() } else { 0 };
        let fresh: usize = match &kernel.kind {
            KernelKind::Map { outs, .. } | KernelKind::Scan { after: Some((outs, _)), .. } => {
                Out::fresh_bytes(outs, space.total)
            }
            KernelKind::Hist { .. } => 0,
            _ => results.iter().map(size).sum(),
        };
        if let (KernelKind::Filter(prims), Some(HostValue::Scalar(Scalar::I64(kept)))) =
            (&kernel.kind, results.first())
        {
            cost.kept(*kept, prims.len());
        }
        cost.bytes_materialised += fresh as u64;
        cost
    }
}
