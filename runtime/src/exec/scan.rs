//! Scans along rows.
//!
//! The parts of a giant row form a chain: whoever runs a part first reduces it, waits for the prefix of the part before,
//! publishes its own prefix (the one before, combined with the reduced part), and then scans the part, which is in
//! its cache by now, starting from the prefix before. If what is before does not matter to the prefix of the part, because a segment begins in it,
//! that is published without waiting. One thread alone takes every part once, with a kernel that carries
//! both accumulators; and if the grouping cannot show in the result, it need not look at parts at all.

use super::device::Results;
use super::frame::{Frame, HostValue};
use super::launch::{Env, Launch, as_row};
use super::partition::{Buffered, Moving};
use super::space::Chunk;
use super::threads;
use crate::check::RuntimeError;
use crate::plan::{CodeId, Fold, KernelKind, Out, Partition};
use crate::prefix;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex};
use std::time::Duration;

/// Number of polls by a thread that waits for the prefix before its part, until it sleeps: they take about as long as
/// the reduction of a part takes. On a busy machine whoever computes the prefix may not run at all.
const LOOKS: usize = 1 << 12;
/// Return value of the code that only reduces if nothing before the part matters to the result.
const BEGINS: i64 = 1;
/// A thread that sleeps looks whether the launch has failed.
const NAP: Duration = Duration::from_millis(1);

/// Per part of a giant row.
struct Link {
    /// The prefix before the next part has been published.
    ready: AtomicBool,
    /// Bits of the reduced part.
    reduced: Vec<AtomicU64>,
    /// Bits of the prefix up to the end of the part.
    prefix: Vec<AtomicU64>,
}

impl Link {
    /// With the bits of the neutral elements.
    fn new(neutral: &[u64]) -> Link {
        let cells = || neutral.iter().map(|bits| AtomicU64::new(*bits)).collect();
        Link { ready: AtomicBool::new(false), reduced: cells(), prefix: cells() }
    }
}

/// The parts of giant rows, in order.
struct Chain {
    links: Vec<Link>,
    /// The value that the row of the first part begins with, if it began elsewhere.
    before: Option<Link>,
    /// For those who sleep until a prefix is there, and how many do or are about to.
    sleep: Mutex<()>,
    published: Condvar,
    sleepers: AtomicUsize,
}

impl Chain {
    /// Tells the next part.
    fn publish(&self, link: &Link, done: bool) {
        link.ready.store(done, Ordering::SeqCst);
        // Whoever is not counted yet will see that it is there. Waking nobody would take as long as a small part.
        if self.sleepers.load(Ordering::SeqCst) == 0 {
            return;
        }
        // Whoever has seen that it was not there sleeps by now, and hears of it.
        drop(self.sleep.lock().unwrap_or_else(|e| e.into_inner()));
        self.published.notify_all();
    }

    /// Waits for a prefix. False if it will not come.
    fn wait(&self, link: &Link, has_failed: impl Fn() -> bool) -> bool {
        let is_ready = || link.ready.load(Ordering::SeqCst);
        for _ in 0..LOOKS {
            if is_ready() {
                return true;
            }
            std::hint::spin_loop();
        }
        self.sleepers.fetch_add(1, Ordering::SeqCst);
        let mut sleep = self.sleep.lock().unwrap_or_else(|e| e.into_inner());
        while !is_ready() && !has_failed() {
            sleep = self.published.wait_timeout(sleep, NAP).map_or_else(|e| e.into_inner().0, |w| w.0);
        }
        self.sleepers.fetch_sub(1, Ordering::SeqCst);
        is_ready()
    }
}

impl Launch<'_> {
    pub fn scan(
        &mut self,
        fold: &Fold,
        (reduce, dual): (CodeId, CodeId),
        exact: bool,
        outs: Option<&[Out]>,
        frame: &mut Frame,
    ) -> Results {
        self.set_initial(fold, frame)?;
        let mut results = match outs {
            Some(outs) => self.all_outputs(outs, frame)?,
            None => {
                let prims: Vec<_> = fold.prims.iter().chain(&fold.elems).copied().collect();
                self.outputs(0, &prims, self.space.total)?
            }
        };
        if outs.is_some_and(|outs| self.in_order(outs)) {
            self.threads = 1;
        }
        self.scan_chunks(fold, (reduce, dual), exact)?;
        if !self.finish_moving(&mut results) {
            self.scan_chunks(fold, (reduce, dual), exact)?;
        }
        Ok(results.into_iter().map(HostValue::Array).collect())
    }

    fn scan_chunks(
        &self,
        fold: &Fold,
        (reduce, dual): (CodeId, CodeId),
        exact: bool,
    ) -> Result<(), RuntimeError> {
        let chunks = match (self.threads, exact) {
            (1, true) => vec![self.space.whole()],
            (threads, true) => self.space.large_row_chunks(threads),
            (threads, false) => self.space.row_chunks(threads),
        };
        self.scan_all(fold, (reduce, dual), &chunks, None);
        self.check()
    }

    /// Scans these chunks, whose parts of giant rows are numbered from 0 on. If the first part continues a row, it does so from these prefixes.
    pub fn scan_all(
        &self,
        fold: &Fold,
        (reduce, dual): (CodeId, CodeId),
        chunks: &[Chunk],
        before: Option<&[u64]>,
    ) {
        let parts = chunks.iter().filter(|p| p.part.is_some()).count();
        let neutral = &self.env[self.kernel.layout.initial_at()..][..fold.prims.len()];
        let links = (0..parts).map(|_| Link::new(neutral)).collect();
        let before = before.map(|bits| {
            let link = Link::new(bits);
            link.ready.store(true, Ordering::Relaxed);
            link
        });
        let (sleep, published, sleepers) = (Mutex::new(()), Condvar::new(), AtomicUsize::new(0));
        let chain = Chain { links, before, sleep, published, sleepers };
        threads::run(self.threads, chunks.len(), |i| {
            let p = &chunks[i];
            match p.part {
                None => self.scan_chunk(&self.env, p),
                Some(_) if self.threads == 1 => self.scan_part_alone(fold, dual, &chain, p),
                Some(_) => self.scan_part(fold, reduce, &chain, p),
            }
        });
        if let KernelKind::Scan { outs: Some(outs), .. } = &self.kernel.kind
            && self.threads > 1
            && self.moving.is_none()
            && self.failed_at().is_none()
        {
            self.settle_scatters(outs, chunks, |p| self.env_of(&chain, p));
        }
    }

    /// The environment with the prefixes that a chunk begins with.
    fn env_of(&self, chain: &Chain, p: &Chunk) -> Env {
        let mut env = self.env.clone();
        if p.part.is_some() {
            self.start_from(&mut env, self.links(chain, p).1);
        }
        env
    }

    /// The kernel itself, from the prefixes in the environment.
    fn scan_chunk(&self, env: &[u64], p: &Chunk) {
        match (self.kernel.partition(), &self.moving) {
            (Some(partition), Some(moving)) => self.move_chunk(partition, moving, env, p),
            _ => _ = self.run_chunk(self.kernel.code, env, p),
        }
        prefix::settle();
    }

    fn scan_part(&self, fold: &Fold, reduce: CodeId, chain: &Chain, p: &Chunk) {
        let (link, before) = self.links(chain, p);
        if let (Some(partition), Some(moving)) = (self.kernel.partition(), &self.moving)
            && partition.components.len() == fold.prims.len()
            && let Some(buffered) = self.buffer_elements(moving, p)
        {
            return self.move_part(fold, (partition, moving), chain, buffered, p);
        }
        let mut env = self.env.clone();
        self.point_rows_at(fold, &mut env, &link.reduced, p.row_lo);
        let reduced = self.run_chunk(reduce, &env, p);
        let alone = reduced == Some(BEGINS);
        if alone && !self.publish(fold, chain, (link, None), p) {
            return;
        }
        if before.is_some_and(|before| !chain.wait(before, || self.has_failed_before(p.lo))) {
            return;
        }
        if reduced.is_none() {
            // Reductions may begin late in the part. The scan finds the first of the checks that fail in it.
            self.scan_chunk(&self.env, p);
            return;
        }
        if !alone && !self.publish(fold, chain, (link, before), p) {
            return;
        }
        let mut env = self.env.clone();
        self.start_from(&mut env, before);
        self.scan_chunk(&env, p);
    }

    /// As `scan_part` for elements that have been buffered, and counted with that.
    fn move_part(
        &self,
        fold: &Fold,
        (partition, moving): (&Partition, &Moving),
        chain: &Chain,
        buffered: Buffered,
        p: &Chunk,
    ) {
        let (link, before) = self.links(chain, p);
        for (component, n) in partition.components.iter().zip(&buffered.counts) {
            link.reduced[*component].store(*n as u64, Ordering::Relaxed);
        }
        if before.is_some_and(|before| !chain.wait(before, || self.has_failed_before(p.lo)))
            || !self.publish(fold, chain, (link, before), p)
        {
            return;
        }
        let mut env = self.env.clone();
        self.start_from(&mut env, before);
        if !self.place_buffered(partition, moving, (&buffered, &env)) {
            self.scan_chunk(&env, p);
        }
    }

    /// As `scan_part` for the only thread.
    fn scan_part_alone(&self, fold: &Fold, dual: CodeId, chain: &Chain, p: &Chunk) {
        let (link, before) = self.links(chain, p);
        let mut env = self.env.clone();
        let partials = self.kernel.layout.partials_at();
        for (i, cell) in link.reduced.iter().enumerate() {
            env[partials + i] = cell.as_ptr() as u64;
        }
        // It scans from the prefix, and reduces from what the cells hold: the neutral elements.
        self.start_from(&mut env, before);
        let done = self.run_chunk(dual, &env, p).is_some();
        prefix::settle();
        if done {
            self.publish(fold, chain, (link, before), p);
        }
    }

    /// The part's link, and the link of the part before it in its row.
    fn links<'l>(&self, chain: &'l Chain, p: &Chunk) -> (&'l Link, Option<&'l Link>) {
        let i = p.part.unwrap_or(0);
        let is_first = p.lo == self.space.start(p.row_lo);
        let before = i.checked_sub(1).map_or(chain.before.as_ref(), |i| chain.links.get(i));
        (&chain.links[i], if is_first { None } else { before })
    }

    /// Bits of the reduced parts of a giant row, one after the other; none if a check failed.
    pub fn reduce_parts(&self, fold: &Fold, reduce: CodeId, parts: &[Chunk]) -> Vec<Option<Vec<u64>>> {
        let neutral = &self.env[self.kernel.layout.initial_at()..][..fold.prims.len()];
        let links: Vec<Link> = parts.iter().map(|_| Link::new(neutral)).collect();
        let done: Vec<AtomicBool> = parts.iter().map(|_| AtomicBool::new(false)).collect();
        threads::run(self.threads, parts.len(), |i| {
            let mut env = self.env.clone();
            self.point_rows_at(fold, &mut env, &links[i].reduced, parts[i].row_lo);
            done[i].store(self.run_chunk(reduce, &env, &parts[i]).is_some(), Ordering::Relaxed);
        });
        let bits = |link: &Link| link.reduced.iter().map(|x| x.load(Ordering::Relaxed)).collect();
        links.iter().zip(done).map(|(link, done)| done.into_inner().then(|| bits(link))).collect()
    }

    /// The prefix after some parts of `row` whose reductions are these.
    pub fn prefix_of_parts(&self, fold: &Fold, row: usize, reduced: &[Vec<u64>]) -> Vec<u64> {
        let neutral = self.env[self.kernel.layout.initial_at()..][..fold.prims.len()].to_vec();
        let chain = Chain {
            links: Vec::new(),
            before: None,
            sleep: Mutex::new(()),
            published: Condvar::new(),
            sleepers: AtomicUsize::new(0),
        };
        let p = Chunk { row_lo: row, row_hi: row + 1, lo: 0, hi: 0, part: None };
        let mut before: Option<Link> = None;
        for bits in reduced {
            let link = Link::new(&neutral);
            link.reduced.iter().zip(bits).for_each(|(cell, bits)| cell.store(*bits, Ordering::Relaxed));
            self.publish(fold, &chain, (&link, before.as_ref()), &p);
            before = Some(link);
        }
        let bits = |link: Link| link.prefix.into_iter().map(AtomicU64::into_inner).collect();
        before.map_or(neutral, bits)
    }

    /// Accumulators start from the prefix before, or stay neutral.
    fn start_from(&self, env: &mut [u64], before: Option<&Link>) {
        let Some(before) = before else { return };
        let at = self.kernel.layout.initial_at();
        for (i, cell) in before.prefix.iter().enumerate() {
            env[at + i] = cell.load(Ordering::Relaxed);
        }
    }

    /// Results of `row` go to the cells.
    fn point_rows_at(&self, fold: &Fold, env: &mut [u64], cells: &[AtomicU64], row: usize) {
        let at = self.kernel.layout.outputs_at();
        for (i, cell) in cells.iter().enumerate() {
            env[at + i] = as_row(cell.as_ptr() as *const u8, row, fold.prims[i].size());
        }
    }

    /// Computes the prefix up to the end of the part and tells the next one. False if the operator failed.
    fn publish(&self, fold: &Fold, chain: &Chain, (link, before): (&Link, Option<&Link>), p: &Chunk) -> bool {
        let mut env = self.env.clone();
        self.start_from(&mut env, before);
        self.point_rows_at(fold, &mut env, &link.prefix, p.row_lo);
        let partials = self.kernel.layout.partials_at();
        for (i, cell) in link.reduced.iter().enumerate() {
            env[partials + i] = cell.as_ptr() as u64;
        }
        let one = Chunk { row_lo: p.row_lo, row_hi: p.row_lo + 1, lo: 0, hi: 1, part: None };
        let done = self.run_chunk(fold.combine, &env, &one).is_some();
        chain.publish(link, done);
        done
    }
}
