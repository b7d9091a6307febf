//! Host values, and the frame of a function that holds them.

use super::cpu::Cpu;
use super::device::{Device, Values};
use super::internal;
use crate::check::RuntimeError;
use crate::op::{BinOp, CmpOp, PrimOp};
use crate::plan::{Operand, Slot};
use crate::prim::{Prim, Scalar};

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
#[derive(Clone)]
pub struct Frame<D: Device = Cpu> {
    slots: Vec<HostValue<D>>,
}

impl<D: Device> Frame<D> {
    pub fn new(slots: usize) -> Frame<D> {
        Frame { slots: vec![HostValue::Empty; slots] }
    }

    #[inline]
    pub fn set(&mut self, slot: Slot, value: HostValue<D>) {
        self.slots[slot as usize] = value;
    }

    /// Sets a slot to the result of an operator, if that is one of the common ones on indices and flags. Its operands and its result are no
    /// values in between, which the processor would write in two parts and wait for when it reads them as one.
    pub fn set_common(&mut self, slot: Slot, op: PrimOp, args: &[Operand]) -> bool {
        let [x, y] = args else { return false };
        let result = match op {
            PrimOp::Bin(op, Prim::I64) => {
                let (Some(x), Some(y)) = (self.long(*x), self.long(*y)) else { return false };
                match op {
                    BinOp::Add => Scalar::I64(x.wrapping_add(y)),
                    BinOp::Sub => Scalar::I64(x.wrapping_sub(y)),
                    BinOp::Mul => Scalar::I64(x.wrapping_mul(y)),
                    BinOp::Min => Scalar::I64(x.min(y)),
                    BinOp::Max => Scalar::I64(x.max(y)),
                    _ => return false,
                }
            }
            PrimOp::Cmp(op, Prim::I64) => {
                let (Some(x), Some(y)) = (self.long(*x), self.long(*y)) else { return false };
                Scalar::Bool(match op {
                    CmpOp::Eq => x == y,
                    CmpOp::Ne => x != y,
                    CmpOp::Lt => x < y,
                    CmpOp::Le => x <= y,
                    CmpOp::Gt => x > y,
                    CmpOp::Ge => x >= y,
                })
            }
            PrimOp::Bin(BinOp::And, Prim::Bool) => {
                let (Some(x), Some(y)) = (self.flag(*x), self.flag(*y)) else { return false };
                Scalar::Bool(x && y)
            }
            _ => return false,
        };
        self.slots[slot as usize] = HostValue::Scalar(result);
        true
    }

    /// The `i64` of an operand.
    fn long(&self, x: Operand) -> Option<i64> {
        match x {
            Operand::Const(Scalar::I64(x)) => Some(x),
            Operand::Copy(s) | Operand::Move(s) => match &self.slots[s as usize] {
                HostValue::Scalar(Scalar::I64(x)) => Some(*x),
                _ => None,
            },
            Operand::Const(_) => None,
        }
    }

    /// The `bool` of an operand.
    #[inline]
    pub fn flag(&self, x: Operand) -> Option<bool> {
        match x {
            Operand::Const(Scalar::Bool(x)) => Some(x),
            Operand::Copy(s) | Operand::Move(s) => match &self.slots[s as usize] {
                HostValue::Scalar(Scalar::Bool(x)) => Some(*x),
                _ => None,
            },
            Operand::Const(_) => None,
        }
    }

    /// The value of a slot.
    pub fn value(&self, slot: Slot) -> &HostValue<D> {
        &self.slots[slot as usize]
    }

    #[inline]
    pub fn drop_slots(&mut self, slots: &[Slot]) {
        for s in slots {
            self.slots[*s as usize] = HostValue::Empty;
        }
    }

    /// The operand's value, out of the frame if this is its last use.
    #[inline]
    pub fn take(&mut self, x: Operand) -> HostValue<D> {
        match x {
            Operand::Const(c) => HostValue::Scalar(c),
            Operand::Copy(s) => self.slots[s as usize].clone(),
            Operand::Move(s) => std::mem::replace(&mut self.slots[s as usize], HostValue::Empty),
        }
    }

    pub fn take_all(&mut self, xs: &[Operand]) -> Values<D> {
        xs.iter().map(|x| self.take(*x)).collect()
    }

    #[inline]
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

    #[inline]
    pub fn int(&self, x: Operand) -> Result<i64, RuntimeError> {
        self.scalar(x)?.as_i64().ok_or_else(|| internal("an integer is needed"))
    }

    /// A size or an index.
    #[inline]
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
