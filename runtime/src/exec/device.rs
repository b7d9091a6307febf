//! Devices: holders of the arrays of a run, which do its bulk operations: the processor itself ([`super::cpu`]), or a GPU.
//!
//! The host's part of a program, its control flow, scalars and checks, is the same for all of them ([`super::host`]); a device
//! is given arrays to hold and operations to do, in order. It may do them later: what it gives back to the host,
//! scalars and sizes, it waits for, and it reports what failed before then.

use super::Run;
use super::cpu::Cpu;
use super::frame::{Frame, HostValue};
use crate::array::Array;
use crate::check::{RuntimeError, Span};
use crate::plan::Operand;
use crate::prim::{Prim, Scalar};
use crate::rope::{Part, Rope};
use smallvec::SmallVec;
use std::fmt::Debug;
use std::sync::Arc;

/// The values of a statement, mostly one or two.
pub type Values<D = Cpu> = SmallVec<[HostValue<D>; 2]>;
/// The same, or what went wrong.
pub type Results<D = Cpu> = Result<Values<D>, RuntimeError>;
/// One array of a device.
pub type ArrayResult<D> = Result<<D as Device>::Array, RuntimeError>;

/// A flat array that a device holds. Cloning shares it.
pub trait Held: Clone + Debug {
    /// Element type.
    fn prim(&self) -> Prim;
    /// Number of elements.
    fn len(&self) -> usize;
    /// True if nobody else holds it, so that it may be updated in place.
    fn is_unique(&mut self) -> bool;
    /// Bytes of its elements.
    fn size(&self) -> usize {
        self.len() * self.prim().size()
    }
}

/// Rows of arrays.
pub enum Rows<D: Device> {
    /// All is one.
    One,
    /// So many rows of this length.
    Uniform(usize, usize),
    /// Of the lengths in a descriptor.
    Ragged(D::Desc),
}

/// A device; meanings of the operations as in FLAT. `span` is where errors are.
pub trait Device: Clone + Debug + Sized {
    /// An array.
    type Array: Held;
    /// Arrays that are read as one.
    type Rope: Clone + Debug;
    /// A descriptor.
    type Desc: Clone + Debug;
    /// A bulk operation with a body.
    type Kernel;
    /// One of its threads alone is as fast as a processor's, and has all arrays.
    const HAS_FAST_THREADS: bool = false;

    /// An array of the host's.
    fn upload(run: &Run<Self>, a: Array) -> ArrayResult<Self>;
    /// Arrays for the host, which are copied together. Waits for all that is still to be done; fails if that does.
    fn fetch(run: &Run<Self>, all: Vec<Self::Array>) -> Result<Vec<Array>, RuntimeError>;
    /// An array for the host.
    fn download(run: &Run<Self>, a: Self::Array) -> Result<Array, RuntimeError> {
        Ok(Self::fetch(run, vec![a])?.swap_remove(0))
    }
    /// An array for the host that is copied when somebody looks at it, after all is done; none if it must be fetched.
    fn keep(_: &Run<Self>, _: &Self::Array) -> Option<Array> {
        None
    }
    /// The offsets of a descriptor, which the host has, as an array from which it is made again without a copy.
    fn keep_desc(_: &Run<Self>, _: &Self::Desc, offsets: Array) -> Array {
        offsets
    }
    /// Waits for what is still to be done; fails if that does.
    fn settle(run: &Run<Self>) -> Result<(), RuntimeError> {
        Self::fetch(run, Vec::new()).map(drop)
    }

    /// An iteration of a loop has ended.
    fn end_iteration(_: &Run<Self>) -> Result<(), RuntimeError> {
        Ok(())
    }

    /// True where this is so for one of those that run the program together. They all ask at the same place.
    fn is_so_anywhere(_: &Run<Self>, so: bool) -> Result<bool, RuntimeError> {
        Ok(so)
    }

    /// Runs a kernel.
    fn kernel(run: &Run<Self>, k: &Self::Kernel, frame: &mut Frame<Self>, span: Span) -> Results<Self>;

    /// An element; none if the index is outside.
    fn read(run: &Run<Self>, a: &Self::Array, i: i64) -> Result<Option<Scalar>, RuntimeError>;
    /// An element of a rope; none if the index is in no array.
    fn read_rope(run: &Run<Self>, b: &Self::Rope, i: i64) -> Result<Option<Scalar>, RuntimeError>;
    /// The array with an element replaced; the index is inside.
    fn write(run: &Run<Self>, a: Self::Array, i: usize, x: Scalar, span: Span) -> ArrayResult<Self>;
    /// The scalars.
    fn literal(run: &Run<Self>, prim: Prim, xs: &[Scalar], span: Span) -> ArrayResult<Self>;
    /// `0..n`.
    fn iota(run: &Run<Self>, n: usize, span: Span) -> ArrayResult<Self>;
    /// `n` times `x`.
    fn replicate(run: &Run<Self>, n: usize, x: Scalar, span: Span) -> ArrayResult<Self>;
    /// A part, which is inside.
    fn slice(run: &Run<Self>, a: Self::Array, start: usize, len: usize, span: Span) -> ArrayResult<Self>;
    /// Arrays one after the other; counts what that costs.
    fn concat(run: &Run<Self>, parts: Vec<Self::Array>, prim: Prim, span: Span) -> ArrayResult<Self>;
    /// Arrays and ropes as one rope, and what is added to the indices of each.
    fn append(
        run: &Run<Self>,
        parts: Values<Self>,
        prim: Prim,
        span: Span,
    ) -> Result<(Self::Rope, Vec<i64>), RuntimeError>;
    /// The keys of every row in ascending order, and the values that came with them.
    fn sort(
        run: &Run<Self>,
        rows: &Rows<Self>,
        keys: Self::Array,
        values: Option<Self::Array>,
        span: Span,
    ) -> Result<Vec<Self::Array>, RuntimeError>;
    /// See [`crate::rope::Rope::leave`], of which `rows` are starts and lengths; counts what it costs.
    fn compact(
        run: &Run<Self>,
        rope: Self::Rope,
        rows: (Self::Array, Self::Array),
        kept: Option<Self::Rope>,
        span: Span,
    ) -> Result<(Self::Rope, Self::Array), RuntimeError>;

    /// See [`crate::rope::Rope::needs_collection`].
    fn needs_collection(rope: Self::Rope, base: Option<Self::Rope>) -> (Self::Rope, bool);
    /// See [`crate::rope::Rope::collect`]; counts what it costs.
    fn collect(
        run: &Run<Self>,
        rope: Self::Rope,
        starts: Self::Rope,
        weight: i64,
    ) -> Result<(Self::Rope, bool), RuntimeError>;

    /// A descriptor of rows of these lengths.
    fn make_desc(run: &Run<Self>, lengths: Self::Array, span: Span) -> Result<Self::Desc, RuntimeError>;
    /// `rows` rows of length `m`; the product is a size.
    fn uniform_desc(run: &Run<Self>, rows: usize, m: usize, span: Span) -> Result<Self::Desc, RuntimeError>;
    /// The rows of all.
    fn concat_desc(run: &Run<Self>, parts: &[Self::Desc], span: Span) -> Result<Self::Desc, RuntimeError>;
    /// From its offsets, which the host has.
    fn desc_of(run: &Run<Self>, offsets: Array) -> Result<Self::Desc, RuntimeError>;
    /// Number of rows.
    fn rows(d: &Self::Desc) -> usize;
    /// Number of elements.
    fn total(run: &Run<Self>, d: &Self::Desc) -> Result<usize, RuntimeError>;
    /// Its offsets.
    fn offsets(d: &Self::Desc) -> Self::Array;
    /// Length of each row; counts what it costs the first time.
    fn lengths(run: &Run<Self>, d: &Self::Desc, span: Span) -> ArrayResult<Self>;
    /// Row of each element; counts what it costs the first time.
    fn seg_ids(run: &Run<Self>, d: &Self::Desc, span: Span) -> ArrayResult<Self>;
}

impl<D: Device> Run<'_, D> {
    /// The element of an array or of a rope that the host reads.
    pub fn element(&self, a: &HostValue<D>, i: i64) -> Result<Scalar, RuntimeError> {
        let found = match a {
            HostValue::Array(a) => D::read(self, a, i)?,
            HostValue::Rope(b) => D::read_rope(self, b, i)?,
            _ => None,
        };
        found.ok_or_else(|| super::internal(&format!("a read at {i}, where nothing is")))
    }

    /// The arrays in operands.
    pub fn arrays(&self, xs: &[Operand], frame: &mut Frame<D>) -> Result<Vec<D::Array>, RuntimeError> {
        xs.iter().map(|x| frame.array(*x)).collect()
    }
}

/// See [`Device::collect`]: the host looks at where rows start.
pub fn collect<D>(
    run: &Run<D>,
    mut rope: D::Rope,
    starts: D::Rope,
    weight: i64,
) -> Result<(D::Rope, bool), RuntimeError>
where
    D: Device<Rope = Arc<Rope<<D as Device>::Array>>, Array: Part>,
{
    let Some(cost) = rope.pay_for_collection(&starts) else { return Ok((rope, false)) };
    run.count(|c| c.launch(cost, 0));
    let looked_at = starts.parts().filter(|_| rope.count() > 1);
    let starts = looked_at.map(|a| D::download(run, a.clone()));
    let starts = starts.collect::<Result<Vec<Array>, RuntimeError>>()?;
    let sparse = Arc::make_mut(&mut rope).collect(starts.iter().map(Array::slice::<i64>), weight);
    Ok((rope, sparse))
}

/// Arrays and ropes as one rope, see [`Device::append`]. `ready` sees each array before its place is asked for.
pub fn append<D>(
    parts: Values<D>,
    prim: Prim,
    ready: impl Fn(&D::Array) -> Result<(), RuntimeError>,
) -> Result<(D::Rope, Vec<i64>), RuntimeError>
where
    D: Device<Rope = Arc<Rope<<D as Device>::Array>>, Array: Part>,
{
    let mut rope = Arc::new(Rope::new(prim));
    let mut origins = Vec::with_capacity(parts.len());
    for part in parts {
        origins.push(match part {
            HostValue::Array(a) => {
                ready(&a)?;
                Arc::make_mut(&mut rope).add(a)
            }
            HostValue::Rope(b) if rope.count() == 0 => {
                rope = b;
                0
            }
            HostValue::Rope(b) => {
                Arc::make_mut(&mut rope).add_all(&b);
                0
            }
            other => return Err(super::internal(&format!("{other:?} where arrays are appended"))),
        });
    }
    Ok((rope, origins))
}
