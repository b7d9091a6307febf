//! The record through which host and code talk: slots of 8 bytes.
//!
//! ```text
//! check, its arguments, kept, store, depth, length | prefixes | neutral | inputs | outputs: address, elements
//! ```

use crate::module::Code;
use par_ir::interp::{Input, Launch, Rows};
use par_runtime::Array;

/// Number of the check that failed.
pub const CHECK: usize = 0;
/// Values for its message.
pub const ARGS: usize = 1;
/// Values that a message has at most.
pub const MOST_ARGS: usize = 4;
/// Positions that a filter has kept.
pub const KEPT: usize = 5;
/// 0: a filter only counts.
pub const STORE: usize = 6;
/// Calls that may be active at a time.
pub const DEPTH: usize = 7;
/// Length of rows, or the address of their starts.
pub const LENGTH: usize = 8;
/// The first slot of what depends on the kernel.
pub const FIRST: usize = 9;

/// Places of a kernel's own slots.
#[derive(Clone, Copy, Debug, Default)]
pub struct Layout {
    /// Components of an operator.
    pub components: usize,
    /// Variables that are read.
    pub inputs: usize,
    /// Arrays that are written.
    pub outputs: usize,
}

impl Layout {
    /// Prefix number `i`, between the parts of a row.
    pub fn prefix(self, i: usize) -> usize {
        FIRST + i
    }

    /// Neutral element number `i`.
    pub fn neutral(self, i: usize) -> usize {
        FIRST + self.components + i
    }

    /// Value of variable number `i`: a scalar, or an address.
    pub fn input(self, i: usize) -> usize {
        FIRST + 2 * self.components + i
    }

    /// Address of array number `i`; its number of elements follows.
    pub fn output(self, i: usize) -> usize {
        self.input(self.inputs) + 2 * i
    }

    fn len(self) -> usize {
        self.output(self.outputs)
    }
}

/// The record of a launch.
pub struct Frame {
    /// The slots.
    pub slots: Vec<u64>,
    /// The slots that are addresses of arrays, with the arrays; those of outputs are written.
    pub arrays: Vec<(usize, Array, bool)>,
    /// Ropes by the number of the variable.
    pub ropes: Vec<(usize, std::rc::Rc<par_runtime::Rope>)>,
}

impl Frame {
    pub(crate) fn new(code: &Code, launch: &mut Launch) -> Frame {
        let layout = code.layout;
        let mut frame = Frame { slots: vec![0; layout.len()], arrays: Vec::new(), ropes: Vec::new() };
        frame.slots[STORE] = u64::from(launch.store);
        frame.slots[DEPTH] = launch.depth.min(i32::MAX as usize) as u64;
        match &launch.rows {
            Rows::Uniform { length, .. } => frame.slots[LENGTH] = *length as u64,
            Rows::Ragged(offsets) => frame.array(LENGTH, offsets.clone(), false),
        }
        for (i, x) in launch.neutral.iter().enumerate() {
            frame.slots[layout.neutral(i)] = x.bits();
        }
        for (i, x) in launch.inputs.iter().enumerate() {
            match x {
                Input::Scalar(x) => frame.slots[layout.input(i)] = x.bits(),
                Input::Array(a) => frame.array(layout.input(i), a.clone(), false),
                Input::Rope(r) => frame.ropes.push((i, r.clone())),
            }
        }
        for (i, a) in launch.outputs.iter_mut().enumerate() {
            a.make_unique();
            frame.slots[layout.output(i) + 1] = a.len() as u64;
            frame.array(layout.output(i), a.clone(), true);
        }
        frame
    }

    fn array(&mut self, slot: usize, array: Array, written: bool) {
        self.slots[slot] = array.as_ptr() as u64;
        self.arrays.push((slot, array, written));
    }
}
