//! The code of a program's kernels, made when a kernel first runs.

use crate::frame::{self, Frame};
use crate::kernel::compile;
use crate::module::Code;
use par_ir::Var;
use par_ir::core::Fun;
use par_ir::flat::Kernel;
use par_ir::interp::{Launch, Rows, Runner, Runs, TypeOf};
use par_runtime::cancel::poll;
use par_runtime::{CheckKind, Prim, RuntimeError, Scalar};
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;

/// A part of a kernel's positions: first row, row behind the last, first position, position behind the last.
pub type Part = [i64; 4];

/// The end of a call of code.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Ended {
    /// All positions were done.
    Done,
    /// The code has stopped itself: a check failed.
    Failed,
    /// Calls were too deep for the stack.
    Overflow,
    /// The code did something that it must not.
    Trapped(String),
}

/// A place where modules are loaded and run.
pub trait Engine {
    /// A module that was loaded.
    type Loaded;
    /// True if ropes must be asked for where their elements are: arrays are copied to other addresses.
    const LOOKS_UP: bool;

    /// Loads a module.
    fn load(&self, code: &Code) -> Result<Self::Loaded, String>;

    /// Calls its function for a part.
    fn call(&self, module: &Self::Loaded, code: &Code, frame: &mut Frame, part: Part) -> Ended;
}

/// The code of one program's kernels.
pub struct Kernels<E: Engine> {
    engine: Rc<E>,
    /// By the first variable that a kernel's statement binds. Those without code with the reason.
    made: RefCell<HashMap<Var, Outcome<E>>>,
    runs: Cell<usize>,
    interpreted: Cell<usize>,
}

/// Code, or why there is none.
type Outcome<E> = Result<Rc<Made<E>>, String>;

struct Made<E: Engine> {
    code: Code,
    module: E::Loaded,
    engine: Rc<E>,
}

/// Numbers of a program's kernels so far.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Statistics {
    /// Kernels that have code.
    pub compiled: usize,
    /// Bytes of their modules.
    pub bytes: usize,
    /// Runs of them.
    pub runs: usize,
    /// Runs of kernels that were interpreted.
    pub interpreted: usize,
    /// Why kernels have no code.
    pub reasons: Vec<String>,
}

impl<E: Engine> Kernels<E> {
    /// No code yet.
    pub fn new(engine: E) -> Kernels<E> {
        Kernels {
            engine: Rc::new(engine),
            made: RefCell::default(),
            runs: Cell::new(0),
            interpreted: Cell::new(0),
        }
    }

    /// Numbers so far.
    pub fn statistics(&self) -> Statistics {
        let made = self.made.borrow();
        let code = || made.values().filter_map(|m| m.as_ref().ok());
        Statistics {
            compiled: code().count(),
            bytes: code().map(|m| m.code.bytes.len()).sum(),
            runs: self.runs.get(),
            interpreted: self.interpreted.get(),
            reasons: made.values().filter_map(|m| m.as_ref().err().cloned()).collect(),
        }
    }

    fn make(&self, kernel: &Kernel, locals: &[Fun], ty: &TypeOf) -> Outcome<E> {
        let code = compile(kernel, locals, ty, E::LOOKS_UP)?;
        let module = self.engine.load(&code)?;
        Ok(Rc::new(Made { code, module, engine: self.engine.clone() }))
    }
}

impl<E: Engine + 'static> Runner for Kernels<E> {
    fn code(&self, bound: Var, kernel: &Kernel, locals: &[Fun], ty: &TypeOf) -> Option<Rc<dyn Runs>> {
        let known = self.made.borrow().get(&bound).cloned();
        let made = known.unwrap_or_else(|| {
            let made = self.make(kernel, locals, ty);
            self.made.borrow_mut().insert(bound, made.clone());
            made
        });
        let count = if made.is_ok() { &self.runs } else { &self.interpreted };
        count.set(count.get() + 1);
        made.ok().map(|made| made as Rc<dyn Runs>)
    }
}

impl<E: Engine> Runs for Made<E> {
    fn inputs(&self) -> &[Var] {
        &self.code.inputs
    }

    fn run(&self, launch: &mut Launch) -> Result<(), RuntimeError> {
        let mut frame = Frame::new(&self.code, launch);
        frame.slots[frame::CHECK] = u64::MAX;
        for part in Parts::of(&launch.rows) {
            poll();
            match self.engine.call(&self.module, &self.code, &mut frame, part) {
                Ended::Done => {}
                ended => return Err(failure(&self.code, &frame, ended)),
            }
        }
        launch.kept = frame.slots[frame::KEPT] as usize;
        Ok(())
    }
}

fn failure(code: &Code, frame: &Frame, ended: Ended) -> RuntimeError {
    let check = code.checks.get(frame.slots[frame::CHECK] as usize);
    match (ended, check) {
        (Ended::Failed, Some(check)) => {
            let slots = &frame.slots[frame::ARGS..];
            let args: Vec<Scalar> =
                check.args.iter().zip(slots).map(|(p, bits)| argument(*p, *bits)).collect();
            RuntimeError::check(&check.kind, &args, check.span)
        }
        (Ended::Overflow, _) => RuntimeError::check(&CheckKind::TooDeep, &[], code.span_of_calls),
        (Ended::Trapped(what), _) => RuntimeError::internal(what),
        (ended, _) => RuntimeError::internal(format_args!("a kernel ended: {ended:?}")),
    }
}

fn argument(p: Prim, bits: u64) -> Scalar {
    Scalar::from_bits(p, bits)
}

/// The positions of a kernel in parts that grow.
struct Parts<'r> {
    rows: &'r Rows,
    /// The row to go on with, and the position.
    row: i64,
    from: i64,
    size: i64,
    done: bool,
}

impl<'r> Parts<'r> {
    /// Positions, or rows, of the first part.
    const FIRST: i64 = 4096;
    /// And at most.
    const MOST: i64 = 1 << 20;

    fn of(rows: &'r Rows) -> Parts<'r> {
        Parts { rows, row: 0, from: 0, size: Parts::FIRST, done: false }
    }

    /// The first row that starts at a position or behind it; all rows, if there is none.
    fn row_at(&self, position: i64) -> i64 {
        match self.rows {
            Rows::Uniform { count, length: 0 } => *count as i64,
            Rows::Uniform { length, .. } => {
                position.div_euclid(*length as i64) + i64::from(position % *length as i64 != 0)
            }
            Rows::Ragged(offsets) => offsets.slice::<i64>().partition_point(|s| *s < position) as i64,
        }
    }

    fn start(&self, row: i64) -> i64 {
        match self.rows {
            Rows::Uniform { length, .. } => row * *length as i64,
            Rows::Ragged(offsets) => offsets.slice::<i64>()[row as usize],
        }
    }
}

impl Iterator for Parts<'_> {
    type Item = Part;

    fn next(&mut self) -> Option<Part> {
        if self.done {
            return None;
        }
        let (count, total) = (self.rows.count() as i64, self.rows.positions());
        let to = self.from.saturating_add(self.size).min(total);
        let last = if to == total { count } else { self.row_at(to) };
        let part = [self.row, last, self.from, to];
        self.done = to == total;
        // The last row goes on if it ends behind this part.
        self.row = if self.done || self.start(last) == to { last } else { last - 1 };
        self.from = to;
        self.size = (self.size * 4).min(Parts::MOST);
        Some(part)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use par_runtime::Array;

    /// Every position is in one part, and every row begins and ends once.
    #[test]
    fn parts_cover_everything_once() {
        let spaces = [
            Rows::Uniform { count: 1, length: 0 },
            Rows::Uniform { count: 0, length: 7 },
            Rows::Uniform { count: 5, length: 0 },
            Rows::Uniform { count: 1, length: 3_000_000 },
            Rows::Uniform { count: 100_000, length: 3 },
            Rows::Ragged(Array::from_slice(&[0i64])),
            Rows::Ragged(Array::from_slice(&[0i64, 0, 4096, 4096, 4096, 90_000, 90_000])),
            Rows::Ragged(Array::from_slice(&[0i64, 4095, 4097, 4097, 20_480, 20_480, 30_000])),
        ];
        for rows in spaces {
            let (mut ended, mut position) = (0, 0);
            for [first, last, from, to] in Parts::of(&rows) {
                assert_eq!(from, position, "{rows:?}");
                position = to;
                for row in first..last {
                    let space = Parts::of(&rows);
                    let (start, end) = (space.start(row), space.start(row + 1));
                    assert!(start <= to && end >= from, "{rows:?}: row {row} in {from}..{to}");
                    if end.min(to) == end {
                        assert_eq!(row, ended, "{rows:?}");
                        ended += 1;
                    }
                }
            }
            assert_eq!((ended, position), (rows.count() as i64, rows.positions()), "{rows:?}");
        }
    }
}
