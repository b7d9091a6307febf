//! The way to a failed check: the constructs around it, with the row or the iteration in which it failed.

use super::Outcome;
use crate::core::Stm;
use crate::place::Construct;
use par_runtime::{Frame, RuntimeError};

/// Constructs that a failure has left so far, innermost first. Nothing is noted unless [`Trail::noting`] made it.
pub(super) struct Trail {
    pub(super) frames: Vec<Frame>,
    is_noting: bool,
    /// Bodies that may still be run.
    steps: u64,
}

impl Default for Trail {
    /// Notes nothing, and sets no limit.
    fn default() -> Trail {
        Trail { frames: Vec::new(), is_noting: false, steps: u64::MAX }
    }
}

impl Trail {
    /// A trail that notes where a failure was, and ends a run after so many bodies.
    pub(super) fn noting(steps: u64) -> Trail {
        Trail { frames: Vec::new(), is_noting: true, steps }
    }

    /// Counts one body.
    pub(super) fn step(&mut self) -> Outcome<()> {
        self.steps = self.steps.checked_sub(1).ok_or_else(RuntimeError::cancelled)?;
        Ok(())
    }

    /// Notes that a failure was in position `i` of a construct.
    pub(super) fn inside<T>(&mut self, result: Outcome<T>, i: i64, stm: &Stm) -> Outcome<T> {
        if result.is_err() {
            let words = || match Construct::of(&stm.exp) {
                Construct::Loop => format!("in iteration {i} of the loop"),
                Construct::Map => format!("in row {i} of the map"),
                Construct::Reduce => format!("in element {i} of the reduction"),
                other => format!("in element {i} of the {other}"),
            };
            self.note(words, stm);
        }
        result
    }

    /// Notes that a failure was in a call. Calls at one place, of functions that call each other, are one frame.
    pub(super) fn called<T>(&mut self, result: Outcome<T>, stm: &Stm) -> Outcome<T> {
        const CALLED: &str = "called";
        if result.is_err() {
            let mut calls = self.frames.iter().rev().take_while(|f| f.words == CALLED);
            if !calls.any(|f| f.span == stm.span) {
                self.note(|| CALLED.into(), stm);
            }
        }
        result
    }

    fn note(&mut self, words: impl FnOnce() -> String, stm: &Stm) {
        if self.is_noting {
            self.frames.push(Frame { words: words(), span: stm.span });
        }
    }
}
