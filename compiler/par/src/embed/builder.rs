//! Columns that are filled value by value.

use super::Mismatch;
use par_runtime::array::Element;
use par_runtime::io::view::View;
use par_runtime::{Array, Column, Prim, Scalar, Value, ValueType, f16};
use std::any::Any;
use std::iter::repeat_n;

/// Takes the parts of a value of Rust, in the order of a type of Par. An array takes its elements after its length was
/// said; all that is put into one builder of elements are rows of the same column.
pub struct Builder {
    ty: ValueType,
    node: Node,
}

enum Node {
    Scalars(Box<dyn Scalars>),
    Parts(Vec<Builder>),
    Array {
        lengths: Vec<i64>,
        /// The length that rows have where there are none.
        width: i64,
        elem: Box<Builder>,
    },
    Sum {
        tags: Vec<Scalar>,
        cases: Vec<Vec<Builder>>,
    },
    /// A type that a module hides: only values that the program made itself fit.
    Hidden,
}

/// A vector of elements of one scalar type.
trait Scalars: Any {
    fn push_zero(&mut self);
    fn first(&self) -> Option<Scalar>;
    fn array(&self) -> Array;
    fn as_any(&mut self) -> &mut dyn Any;
}

impl<T: Element + Default> Scalars for Vec<T> {
    fn push_zero(&mut self) {
        self.push(T::default());
    }

    fn first(&self) -> Option<Scalar> {
        let one = Array::from_slice(self.get(..1)?);
        Some(one.get(0))
    }

    fn array(&self) -> Array {
        Array::from_slice(self)
    }

    fn as_any(&mut self) -> &mut dyn Any {
        self
    }
}

fn scalars(prim: Prim) -> Box<dyn Scalars> {
    match prim {
        Prim::I8 => Box::new(Vec::<i8>::new()),
        Prim::I16 => Box::new(Vec::<i16>::new()),
        Prim::I32 => Box::new(Vec::<i32>::new()),
        Prim::I64 => Box::new(Vec::<i64>::new()),
        Prim::U8 => Box::new(Vec::<u8>::new()),
        Prim::U16 => Box::new(Vec::<u16>::new()),
        Prim::U32 => Box::new(Vec::<u32>::new()),
        Prim::U64 => Box::new(Vec::<u64>::new()),
        Prim::F16 => Box::new(Vec::<f16>::new()),
        Prim::F32 => Box::new(Vec::<f32>::new()),
        Prim::F64 => Box::new(Vec::<f64>::new()),
        Prim::Bool => Box::new(Vec::<bool>::new()),
    }
}

/// The payload of a constructor that was chosen.
pub struct Payload<'b> {
    parts: &'b mut [Builder],
    name: &'b str,
}

impl Payload<'_> {
    /// Builder for part `index` of the payload of a value that has `count` parts; an error if the constructor takes another number.
    pub fn part(&mut self, index: usize, count: usize) -> Result<&mut Builder, Mismatch> {
        if self.parts.len() != count {
            let message = format!("`#{}` takes {} values, not {count}", self.name, self.parts.len());
            return Err(Mismatch::new(message));
        }
        Ok(&mut self.parts[index])
    }

    /// Checks that there is none.
    pub fn none(&self) -> Result<(), Mismatch> {
        match self.parts.len() {
            0 => Ok(()),
            n => Err(Mismatch::new(format!("`#{}` takes {n} values, not 0", self.name))),
        }
    }
}

impl Builder {
    /// For values of a type.
    pub fn new(ty: &ValueType) -> Builder {
        let all = |ts: &[ValueType]| ts.iter().map(Builder::new).collect();
        let node = match ty {
            ValueType::Prim(p) => Node::Scalars(scalars(*p)),
            ValueType::Tuple(ts) => Node::Parts(all(ts)),
            ValueType::Record(fs) => Node::Parts(fs.iter().map(|(_, t)| Builder::new(t)).collect()),
            ValueType::Sum(cs) => {
                Node::Sum { tags: Vec::new(), cases: cs.iter().map(|(_, ts)| all(ts)).collect() }
            }
            ValueType::Array { elem, .. } => {
                Node::Array { lengths: Vec::new(), width: 0, elem: Box::new(Builder::new(elem)) }
            }
            ValueType::Opaque { .. } => Node::Hidden,
        };
        Builder { ty: ty.clone(), node }
    }

    /// The type of the values.
    pub fn ty(&self) -> &ValueType {
        &self.ty
    }

    /// The mismatch with what was found.
    pub fn mismatch(&self, found: &str) -> Mismatch {
        Mismatch::new(match self.node {
            Node::Hidden => format!("`{}` is a hidden type: only what the program returned fits", self.ty),
            _ => format!("a value of type `{}` is needed, not {found}", self.ty),
        })
    }

    /// Adds scalars, one after the other.
    pub fn scalars<T: Element>(&mut self, xs: &[T]) -> Result<(), Mismatch> {
        if let Node::Scalars(column) = &mut self.node
            && let Some(column) = column.as_any().downcast_mut::<Vec<T>>()
        {
            column.extend_from_slice(xs);
            return Ok(());
        }
        Err(self.mismatch(&format!("`{}`", T::PRIM)))
    }

    /// Adds the lengths of arrays, whose elements go into the builder that is given back.
    pub fn arrays(&mut self, rows: impl IntoIterator<Item = usize>) -> Result<&mut Builder, Mismatch> {
        if !matches!(self.node, Node::Array { .. }) {
            return Err(self.mismatch("an array"));
        }
        let Node::Array { lengths, elem, .. } = &mut self.node else { unreachable!("asked before") };
        for n in rows {
            lengths.push(i64::try_from(n).map_err(|_| Mismatch::new("an array is too long"))?);
        }
        Ok(elem)
    }

    /// As [`Self::arrays`], for so many rows of one length, which is known also if there are none.
    pub fn equal_arrays(&mut self, length: usize, rows: usize) -> Result<&mut Builder, Mismatch> {
        if let Node::Array { width, .. } = &mut self.node {
            *width = length as i64;
        }
        self.arrays(repeat_n(length, rows))
    }

    /// Builder for component `index` of a tuple that has `count` components; an error if the type is not such a tuple.
    pub fn component(&mut self, index: usize, count: usize) -> Result<&mut Builder, Mismatch> {
        if !matches!(&self.ty, ValueType::Tuple(ts) if ts.len() == count) {
            return Err(self.mismatch(&format!("a tuple of {count} components")));
        }
        let Node::Parts(parts) = &mut self.node else { unreachable!("a tuple has parts") };
        Ok(&mut parts[index])
    }

    /// Builder for the field `name` of a record that has `count` fields; an error if the type is not such a record or lacks the field.
    pub fn field(&mut self, name: &str, count: usize) -> Result<&mut Builder, Mismatch> {
        let found = match &self.ty {
            ValueType::Record(fs) if fs.len() == count => fs.iter().position(|f| f.0 == name),
            _ => return Err(self.mismatch(&format!("a record of {count} fields"))),
        };
        let Some(at) = found else {
            return Err(Mismatch::new(format!("`{}` has no field `{name}`", self.ty)));
        };
        let Node::Parts(parts) = &mut self.node else { unreachable!("a record has parts") };
        Ok(&mut parts[at])
    }

    /// Chooses a constructor of a sum type.
    pub fn constructor(&mut self, name: &str) -> Result<Payload<'_>, Mismatch> {
        let ValueType::Sum(cs) = &self.ty else {
            return Err(self.mismatch(&format!("the constructor `#{name}`")));
        };
        let Some(at) = cs.iter().position(|c| c.0 == name) else {
            return Err(Mismatch::new(format!("`{}` has no constructor `#{name}`", self.ty)));
        };
        let Node::Sum { tags, cases } = &mut self.node else { unreachable!("a sum has cases") };
        tags.push(Scalar::from_i64(Prim::of_constructors(cs.len()), at as i64));
        let others = cases.iter_mut().enumerate().filter(|(i, _)| *i != at);
        others.flat_map(|(_, parts)| parts).for_each(Builder::push_neutral);
        Ok(Payload { parts: &mut cases[at], name: &cs[at].0 })
    }

    /// Placeholder for the payload of a constructor that was not chosen.
    fn push_neutral(&mut self) {
        match &mut self.node {
            Node::Scalars(column) => column.push_zero(),
            Node::Parts(parts) => parts.iter_mut().for_each(Builder::push_neutral),
            Node::Array { lengths, .. } => lengths.push(0),
            Node::Sum { tags, cases } => {
                tags.push(Scalar::zero(Prim::of_constructors(cases.len())));
                cases.iter_mut().flatten().for_each(Builder::push_neutral);
            }
            Node::Hidden => {}
        }
    }

    /// The value, after all its parts. Parts of wrong lengths are a [`Mismatch`]: compiled code relies on them.
    pub fn finish(self) -> Result<Value, Mismatch> {
        let ty = self.ty.clone();
        let mut columns = Vec::new();
        self.columns(true, &mut columns)?;
        let value = Value { ty, columns };
        View::new(&value).map_err(Mismatch::new)?;
        Ok(value)
    }

    fn columns(self, outermost: bool, out: &mut Vec<Column>) -> Result<(), Mismatch> {
        match self.node {
            Node::Scalars(column) => out.push(match outermost {
                true => Column::Scalar(column.first().ok_or_else(|| Mismatch::new("a scalar is missing"))?),
                false => Column::Data(column.array()),
            }),
            Node::Parts(parts) => parts.into_iter().try_for_each(|p| p.columns(outermost, out))?,
            Node::Array { lengths, width, elem } => {
                out.push(dimension(&self.ty, &lengths, width)?);
                elem.columns(false, out)?;
            }
            Node::Sum { tags, cases } => {
                let tags = Array::from_scalars(Prim::of_constructors(cases.len()), &tags);
                out.push(if outermost { Column::Scalar(tags.get(0)) } else { Column::Data(tags) });
                cases.into_iter().flatten().try_for_each(|p| p.columns(outermost, out))?;
            }
            Node::Hidden => {
                let message = format!("`{}` is a hidden type: only what the program returned fits", self.ty);
                return Err(Mismatch::new(message));
            }
        }
        Ok(())
    }
}

/// The column of an array's dimension; `width` is the length of rows if there are none.
fn dimension(ty: &ValueType, lengths: &[i64], width: i64) -> Result<Column, Mismatch> {
    if matches!(ty, ValueType::Array { ragged: true, .. }) {
        let mut offsets = vec![0i64];
        let mut end = 0;
        offsets.extend(lengths.iter().map(|n| {
            end += n;
            end
        }));
        return Ok(Column::Offsets(Array::from_slice(&offsets)));
    }
    let first = lengths.first().copied().unwrap_or(width);
    match lengths.iter().position(|n| *n != first) {
        None => Ok(Column::Size(first)),
        Some(row) => Err(Mismatch::new(format!(
            "the rows of `{ty}` have one length, but row 0 has length {first} and row {row} has length {}",
            lengths[row]
        ))),
    }
}
