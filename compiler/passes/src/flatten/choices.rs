//! Choices between versions that are made by sizes at run time, and their thresholds.

use super::Flattener;
use par_ir::{Span, tuning};
use std::collections::BTreeMap;

/// Machine that a program is flattened for.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Target {
    /// A processor with a few threads.
    #[default]
    Processor,
    /// A GPU, with very many.
    Gpu,
}

/// Measure that is compared with a threshold.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Measure {
    /// Calls in a batch: from so many on each is worked through by itself.
    Calls,
    /// Rows of a nest: from so many on each is worked through by itself, if none is longer than [`Measure::Longest`] says.
    Rows,
    /// The longest inner row of a nest.
    Longest,
    /// Positions of a loop with parallel operators inside: from so many on each is worked through by itself, if its arrays are small.
    Positions,
    /// The same for a loop that goes through single steps of every position, one after the other.
    Steps,
    /// Operators in what the host would launch in a loop: up to so many on average the loop is one kernel.
    Iterations,
}

impl Measure {
    /// All of them.
    pub const ALL: [Measure; 6] = [
        Measure::Calls,
        Measure::Rows,
        Measure::Longest,
        Measure::Positions,
        Measure::Steps,
        Measure::Iterations,
    ];

    /// Its name in files.
    pub fn name(self) -> &'static str {
        match self {
            Measure::Calls => "calls",
            Measure::Rows => "rows",
            Measure::Longest => "longest",
            Measure::Positions => "positions",
            Measure::Steps => "steps",
            Measure::Iterations => "iterations",
        }
    }

    /// The threshold where nothing was measured for the program.
    pub fn default_threshold(self, target: Target) -> i64 {
        match (self, target) {
            (Measure::Calls, Target::Processor) => tuning::CALLS,
            (Measure::Calls, Target::Gpu) => tuning::GPU_CALLS,
            (Measure::Rows, Target::Processor) => tuning::ROWS,
            (Measure::Rows, Target::Gpu) => tuning::GPU_ROWS,
            (Measure::Longest, Target::Processor) => tuning::LONGEST,
            (Measure::Longest, Target::Gpu) => tuning::GPU_LONGEST,
            (Measure::Positions, Target::Processor) => tuning::POSITIONS,
            (Measure::Steps, Target::Processor) => tuning::STEPS,
            (Measure::Positions | Measure::Steps, Target::Gpu) => tuning::GPU_POSITIONS,
            (Measure::Iterations, Target::Processor) => tuning::ITERATIONS,
            (Measure::Iterations, Target::Gpu) => tuning::GPU_ITERATIONS,
        }
    }
}

/// A comparison that chooses between versions.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Choice {
    /// The function, or the outermost operator of the nest.
    pub span: Span,
    /// The measure that is compared.
    pub measure: Measure,
}

/// Measured thresholds.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Thresholds(BTreeMap<Choice, i64>);

impl Thresholds {
    /// Sets one.
    pub fn set(&mut self, choice: Choice, threshold: i64) {
        self.0.insert(choice, threshold);
    }

    /// The threshold of a choice, if it was set.
    pub fn get(&self, choice: Choice) -> Option<i64> {
        self.0.get(&choice).copied()
    }

    /// Thresholds that were set.
    pub fn iter(&self) -> impl Iterator<Item = (Choice, i64)> {
        self.0.iter().map(|(c, t)| (*c, *t))
    }
}

impl Flattener<'_> {
    /// The threshold of a choice, which the program has from now on.
    pub fn threshold(&mut self, span: Span, measure: Measure) -> i64 {
        let choice = Choice { span, measure };
        self.choices.insert(choice);
        self.measured(choice).unwrap_or(measure.default_threshold(self.facts.options.target))
    }

    /// Measured threshold of a choice.
    pub fn measured(&self, choice: Choice) -> Option<i64> {
        self.facts.options.thresholds.and_then(|measured| measured(choice))
    }
}
