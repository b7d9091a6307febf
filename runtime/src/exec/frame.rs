//! Host values, and the frame of a function that holds them.

use super::cpu::Cpu;
use super::device::Device;
use super::internal;
use crate::check::RuntimeError;
use crate::plan::{Operand, Slot};
use crate::prim::Scalar;

/// Value of a host variable.
#[derive(Clone, Debug)]
pub enum HostValue<D: Device = Cpu> {
    /// Not bound, or moved out.
    Empty,
    /// A scalar.
    Scalar(Scalar),
    /// A flat array.
    Array(D::Array),
    /// Arrays that are read as one.
    Rope(D::Rope),
    /// A descriptor.
    Desc(D::Desc),
}

impl<D: Device> From<Scalar> for HostValue<D> {
    fn from(x: Scalar) -> HostValue<D> {
        HostValue::Scalar(x)
    }
}

impl From<crate::array::Array> for HostValue {
    fn from(a: crate::array::Array) -> HostValue {
        HostValue::Array(a)
    }
}

/// The variables of a running function.
pub struct Frame<D: Device = Cpu> {
    slots: Vec<HostValue<D>>,
}

impl<D: Device> Frame<D> {
    pub fn new(slots: usize) -> Frame<D> {
        Frame { slots: vec![HostValue::Empty; slots] }
    }

    pub fn set(&mut self, slot: Slot, value: HostValue<D>) {
        self.slots[slot as usize] = value;
    }

    pub fn drop_slots(&mut self, slots: &[Slot]) {
        for s in slots {
            self.slots[*s as usize] = HostValue::Empty;
        }
    }

    /// The operand's value, out of the frame if this is its last use.
    pub fn take(&mut self, x: Operand) -> HostValue<D> {
        match x {
            Operand::Const(c) => HostValue::Scalar(c),
            Operand::Copy(s) => self.slots[s as usize].clone(),
            Operand::Move(s) => std::mem::replace(&mut self.slots[s as usize], HostValue::Empty),
        }
    }

    pub fn take_all(&mut self, xs: &[Operand]) -> Vec<HostValue<D>> {
        xs.iter().map(|x| self.take(*x)).collect()
    }

    pub fn scalar(&self, x: Operand) -> Result<Scalar, RuntimeError> {
        match x {
            Operand::Const(c) => Ok(c),
            Operand::Copy(s) | Operand::Move(s) => match &self.slots[s as usize] {
                HostValue::Scalar(c) => Ok(*c),
                other => Err(internal(&format!("slot {s} is {other:?}, not a scalar"))),
            },
        }
    }

    pub fn scalars(&self, xs: &[Operand]) -> Result<Vec<Scalar>, RuntimeError> {
        xs.iter().map(|x| self.scalar(*x)).collect()
    }

    pub fn int(&self, x: Operand) -> Result<i64, RuntimeError> {
        self.scalar(x)?.as_i64().ok_or_else(|| internal("an integer is needed"))
    }

    /// A size or an index.
    pub fn size(&self, x: Operand) -> Result<usize, RuntimeError> {
        let n = self.int(x)?;
        usize::try_from(n).map_err(|_| internal(&format!("the size {n} is negative")))
    }

    /// A number of rows, and their length. Without rows nothing has checked that the length is one.
    pub fn rows_of(&self, rows: Operand, length: Operand) -> Result<(usize, usize), RuntimeError> {
        let rows = self.size(rows)?;
        Ok((rows, if rows == 0 { 0 } else { self.size(length)? }))
    }

    pub fn bool(&self, x: Operand) -> Result<bool, RuntimeError> {
        match self.scalar(x)? {
            Scalar::Bool(b) => Ok(b),
            _ => Err(internal("a bool is needed")),
        }
    }

    pub fn array(&mut self, x: Operand) -> Result<D::Array, RuntimeError> {
        match self.take(x) {
            HostValue::Array(a) => Ok(a),
            other => Err(internal(&format!("{other:?} where an array is needed"))),
        }
    }

    pub fn rope(&mut self, x: Operand) -> Result<D::Rope, RuntimeError> {
        match self.take(x) {
            HostValue::Rope(b) => Ok(b),
            other => Err(internal(&format!("{other:?} where a rope is needed"))),
        }
    }

    pub fn desc(&mut self, x: Operand) -> Result<D::Desc, RuntimeError> {
        match self.take(x) {
            HostValue::Desc(d) => Ok(d),
            other => Err(internal(&format!("{other:?} where a descriptor is needed"))),
        }
    }
}
