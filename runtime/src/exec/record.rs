//! Noting what a run costs, if anybody wants to know.

use super::Run;
use super::device::Device;
use crate::clock::Clock;
use crate::plan::{Op, Stm};
use crate::pool;
use crate::profile::{Counters, Profile, Rows};
use std::cell::{Cell, RefCell};
use std::time::Duration;

/// A profile in the making. It stays on the thread that runs the host's statements.
pub struct Recorder {
    profile: RefCell<Profile>,
    /// Of the statement that is running.
    space: RefCell<Rows>,
    /// Time that recording itself took during that statement.
    paused: Cell<Duration>,
    balance: isize,
}

impl Recorder {
    /// Starts to record on this thread.
    pub fn start(sites: usize) -> Recorder {
        pool::reset_thread_peak();
        let profile = Profile { sites: vec![Default::default(); sites], ..Profile::default() };
        Recorder {
            profile: RefCell::new(profile),
            space: RefCell::new(Rows::default()),
            paused: Cell::new(Duration::ZERO),
            balance: pool::thread_balance(),
        }
    }

    /// The recorded profile; on the thread that started.
    pub fn finish(self) -> Profile {
        let mut profile = self.profile.into_inner();
        profile.peak_bytes = u64::try_from(pool::thread_peak() - self.balance).unwrap_or(0);
        profile
    }
}

/// Counters and time before a statement.
pub struct Before {
    counters: Counters,
    start: Option<Clock>,
}

impl<D: Device> Run<'_, D> {
    /// Counts something, if this run is counted.
    pub fn count(&self, note: impl FnOnce(&mut Counters)) {
        if let Some(r) = self.recorder {
            note(&mut r.profile.borrow_mut().total);
        }
    }

    /// Notes what the running statement goes over.
    pub fn note_rows(&self, rows: impl FnOnce() -> Rows) {
        if let Some(r) = self.recorder {
            let start = Clock::start();
            *r.space.borrow_mut() = rows();
            r.paused.set(r.paused.get() + start.elapsed());
        }
    }

    /// Begins a statement that is to be charged for what it costs. Those with blocks are not, nor calls: only their runs
    /// are counted.
    pub fn begin(&self, stm: &Stm<D::Kernel>) -> Option<Before> {
        let recorder = self.recorder?;
        if matches!(stm.op, Op::If { .. } | Op::Loop(_) | Op::Split(_) | Op::Call(..)) {
            if let Some(cost) = recorder.profile.borrow_mut().sites.get_mut(stm.site as usize) {
                cost.runs += 1;
            }
            return None;
        }
        *recorder.space.borrow_mut() = Rows::default();
        recorder.paused.set(Duration::ZERO);
        let counters = recorder.profile.borrow().total;
        // The clock costs more than a scalar operator.
        let start = (!matches!(stm.op, Op::Scalar(..))).then(Clock::start);
        Some(Before { counters, start })
    }

    /// Charges the statement.
    pub fn end(&self, stm: &Stm<D::Kernel>, before: Option<Before>) {
        let (Some(recorder), Some(before)) = (self.recorder, before) else { return };
        // Some devices only note what is to be done. What fails is reported where the run waits by itself.
        if before.start.is_some() {
            let _ = D::settle(self);
        }
        let paused = recorder.paused.get();
        let time = before.start.map_or(Duration::ZERO, |t| t.elapsed().saturating_sub(paused));
        let mut profile = recorder.profile.borrow_mut();
        let counters = profile.total - before.counters;
        let Some(cost) = profile.sites.get_mut(stm.site as usize) else { return };
        cost.runs += 1;
        cost.time += time;
        cost.counters += counters;
        cost.space += *recorder.space.borrow();
        profile.measuring += paused;
    }
}
