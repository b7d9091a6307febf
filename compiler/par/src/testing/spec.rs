//! Contents of test blocks, as data.

use super::random::RandomType;
use super::structure::Structure;
use crate::program::Backend;
use std::ops::Range;
use std::path::PathBuf;

/// Specification in a file of its own behaviour.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Spec {
    /// In the order of the file.
    pub blocks: Vec<Block>,
}

/// One `-- ==` block.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Block {
    /// The comment before the block.
    pub description: String,
    /// Line of the `-- ==`, from 1.
    pub line: usize,
    /// Words to select tests by.
    pub tags: Vec<String>,
    /// The entry points that each case calls.
    pub entries: Vec<String>,
    /// The program must be rejected with a diagnostic that matches.
    pub compile_error: Option<String>,
    /// There must be a warning that matches, for each of these.
    pub warnings: Vec<String>,
    /// Numbers of operations by kind that there must be.
    pub structures: Vec<Structure>,
    /// Calls and their outcomes.
    pub cases: Vec<Case>,
}

/// One input and its outcome.
#[derive(Clone, Debug, PartialEq)]
pub struct Case {
    /// `"name" input …`.
    pub name: Option<String>,
    /// Line of the input, from 1.
    pub line: usize,
    /// Back ends that this does not run on: `compiled` and `no_cpu`, `no_interp`, `no_flat_interp`.
    pub without: Vec<Backend>,
    /// Only measured: `notest`.
    pub untested: bool,
    /// Only tested: `nobench`.
    pub unmeasured: bool,
    /// The arguments.
    pub input: Input,
    /// The outcome.
    pub expected: Expected,
}

/// Source of arguments.
#[derive(Clone, Debug, PartialEq)]
pub enum Input {
    /// Values that are given.
    Data(Data),
    /// `random input { types }`: numbers that are the same in every run.
    Random(Vec<RandomType>),
    /// `script input { expression }`: the value of an expression over the program's definitions.
    Script(String),
}

/// Location of values.
#[derive(Clone, Debug, PartialEq)]
pub enum Data {
    /// In the block.
    Text {
        /// The values.
        text: String,
        /// The bytes of the file between the braces.
        range: Range<usize>,
    },
    /// In a file.
    File(PathBuf),
}

/// Expected result of a call.
#[derive(Clone, Debug, PartialEq)]
pub enum Expected {
    /// Give a result, whatever it is.
    Anything,
    /// Give these values.
    Output(Data),
    /// `auto output`: give what the interpreter gives.
    Auto,
    /// Fail with a message that matches.
    Error(String),
    /// `gradient: 1e-6`: the derivatives forward and backward differ by no more.
    Gradient(f64),
}

impl Block {
    /// True if the block has nothing to test.
    pub fn is_empty(&self) -> bool {
        self.cases.is_empty() && self.has_no_tests()
    }

    /// True if the block says nothing that is tested: it may have cases that are only measured.
    pub fn has_no_tests(&self) -> bool {
        let Block { cases, compile_error, warnings, structures, .. } = self;
        let is_measured = |case: &Case| case.untested;
        cases.iter().all(is_measured)
            && compile_error.is_none()
            && warnings.is_empty()
            && structures.is_empty()
    }

    /// True if the block is to be run: it has one of the wanted tags, if there are any, and none of the unwanted.
    pub fn is_selected(&self, wanted: &[String], unwanted: &[String]) -> bool {
        let has = |tag: &String| self.tags.contains(tag);
        (wanted.is_empty() || wanted.iter().any(has)) && !unwanted.iter().any(has)
    }
}
