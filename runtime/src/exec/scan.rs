//! Scans along rows.
//!
//! The parts of a giant row form a chain: whoever runs a part first reduces it, waits for the prefix of the part before,
//! publishes its own prefix (the one before, combined with the reduced part), and then scans the part, which is in
//! its cache by now, starting from the prefix before. If what is before does not matter to the prefix of the part, because a segment begins in it,
//! that is published without waiting. One thread alone takes every part once, with a kernel that carries
//! both accumulators; and if the grouping cannot show in the result, it need not look at parts at all.

use super::frame::{Frame, HostValue};
use super::launch::{Launch, as_row};
use super::partition::{Aside, Moving};
use super::space::Piece;
use super::threads;
use crate::check::RuntimeError;
use crate::plan::{CodeId, Fold, KernelKind, Out, Partition};
use crate::prefix;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex};
use std::time::Duration;

/// How often a thread looks whether the prefix before its part is there, before it sleeps until it is: about as long as
/// the reduction of a part takes. On a busy machine whoever computes the prefix may not run at all.
const LOOKS: usize = 1 << 12;
/// What the code that only reduces returns if nothing before the part matters to what it is reduced to.
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
    ) -> Result<Vec<HostValue>, RuntimeError> {
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
        self.scan_pieces(fold, (reduce, dual), exact)?;
        if !self.finish_moving(&mut results) {
            self.scan_pieces(fold, (reduce, dual), exact)?;
        }
        Ok(results.into_iter().map(HostValue::Array).collect())
    }

    fn scan_pieces(
        &self,
        fold: &Fold,
        (reduce, dual): (CodeId, CodeId),
        exact: bool,
    ) -> Result<(), RuntimeError> {
        let pieces = match (self.threads, exact) {
            (1, true) => vec![self.space.whole()],
            (threads, true) => self.space.large_row_pieces(threads),
            (threads, false) => self.space.row_pieces(threads),
        };
        let parts = pieces.iter().filter(|p| p.part.is_some()).count();
        let neutral = &self.env[self.kernel.layout.initial_at()..][..fold.prims.len()];
        let links = (0..parts).map(|_| Link::new(neutral)).collect();
        let chain =
            Chain { links, sleep: Mutex::new(()), published: Condvar::new(), sleepers: AtomicUsize::new(0) };
        threads::run(self.threads, pieces.len(), |i| {
            let p = &pieces[i];
            match p.part {
                None => self.scan_piece(&self.env, p),
                Some(_) if self.threads == 1 => self.scan_part_alone(fold, dual, &chain, p),
                Some(_) => self.scan_part(fold, reduce, &chain, p),
            }
        });
        self.check()?;
        if let KernelKind::Scan { outs: Some(outs), .. } = &self.kernel.kind
            && self.threads > 1
            && self.moving.is_none()
        {
            self.settle_scatters(outs, &pieces, |p| self.env_of(&chain, p));
        }
        Ok(())
    }

    /// The environment with the prefixes that a piece begins with.
    fn env_of(&self, chain: &Chain, p: &Piece) -> Vec<u64> {
        let mut env = self.env.clone();
        if p.part.is_some() {
            self.start_from(&mut env, self.links(&chain.links, p).1);
        }
        env
    }

    /// The kernel itself, from the prefixes in the environment.
    fn scan_piece(&self, env: &[u64], p: &Piece) {
        match (self.kernel.partition(), &self.moving) {
            (Some(partition), Some(moving)) => self.move_piece(partition, moving, env, p),
            _ => _ = self.piece(self.kernel.code, env, p),
        }
        prefix::settle();
    }

    fn scan_part(&self, fold: &Fold, reduce: CodeId, chain: &Chain, p: &Piece) {
        let (link, before) = self.links(&chain.links, p);
        if let (Some(partition), Some(moving)) = (self.kernel.partition(), &self.moving)
            && partition.components.len() == fold.prims.len()
            && let Some(aside) = self.put_aside(moving, p)
        {
            return self.move_part(fold, (partition, moving), chain, aside, p);
        }
        let mut env = self.env.clone();
        self.point_rows_at(fold, &mut env, &link.reduced, p.row_lo);
        let reduced = self.piece(reduce, &env, p);
        let alone = reduced == Some(BEGINS);
        if alone && !self.publish(fold, chain, (link, None), p) {
            return;
        }
        if before.is_some_and(|before| !chain.wait(before, || self.has_failed_before(p.lo))) {
            return;
        }
        if reduced.is_none() {
            // Reductions may begin late in the part. The scan finds the first of the checks that fail in it.
            self.scan_piece(&self.env, p);
            return;
        }
        if !alone && !self.publish(fold, chain, (link, before), p) {
            return;
        }
        let mut env = self.env.clone();
        self.start_from(&mut env, before);
        self.scan_piece(&env, p);
    }

    /// As `scan_part` for elements that have been put aside, and are counted thereby.
    fn move_part(
        &self,
        fold: &Fold,
        (partition, moving): (&Partition, &Moving),
        chain: &Chain,
        aside: Aside,
        p: &Piece,
    ) {
        let (link, before) = self.links(&chain.links, p);
        for (component, n) in partition.components.iter().zip(&aside.counts) {
            link.reduced[*component].store(*n as u64, Ordering::Relaxed);
        }
        if before.is_some_and(|before| !chain.wait(before, || self.has_failed_before(p.lo)))
            || !self.publish(fold, chain, (link, before), p)
        {
            return;
        }
        let mut env = self.env.clone();
        self.start_from(&mut env, before);
        if !self.bring_back(partition, moving, (&aside, &env)) {
            self.scan_piece(&env, p);
        }
    }

    /// As `scan_part` for the only thread.
    fn scan_part_alone(&self, fold: &Fold, dual: CodeId, chain: &Chain, p: &Piece) {
        let (link, before) = self.links(&chain.links, p);
        let mut env = self.env.clone();
        let partials = self.kernel.layout.partials_at();
        for (i, cell) in link.reduced.iter().enumerate() {
            env[partials + i] = cell.as_ptr() as u64;
        }
        // It scans from the prefix, and reduces from what the cells hold: the neutral elements.
        self.start_from(&mut env, before);
        let done = self.piece(dual, &env, p).is_some();
        prefix::settle();
        if done {
            self.publish(fold, chain, (link, before), p);
        }
    }

    /// The part's link, and the link of the part before it in its row.
    fn links<'l>(&self, links: &'l [Link], p: &Piece) -> (&'l Link, Option<&'l Link>) {
        let i = p.part.unwrap_or(0);
        let is_first = p.lo == self.space.start(p.row_lo);
        (&links[i], if is_first { None } else { links.get(i.wrapping_sub(1)) })
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
    fn publish(&self, fold: &Fold, chain: &Chain, (link, before): (&Link, Option<&Link>), p: &Piece) -> bool {
        let mut env = self.env.clone();
        self.start_from(&mut env, before);
        self.point_rows_at(fold, &mut env, &link.prefix, p.row_lo);
        let partials = self.kernel.layout.partials_at();
        for (i, cell) in link.reduced.iter().enumerate() {
            env[partials + i] = cell.as_ptr() as u64;
        }
        let one = Piece { row_lo: p.row_lo, row_hi: p.row_lo + 1, lo: 0, hi: 1, part: None };
        let done = self.piece(fold.combine, &env, &one).is_some();
        chain.publish(link, done);
        done
    }
}
