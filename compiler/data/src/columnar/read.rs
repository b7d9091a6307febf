//! From Arrow's arrays to trees.

use crate::format::Wire;
use crate::guard::guarded;
use crate::source::Source;
use crate::tree::Tree;
use crate::{DataError, input};
use arrow::array::types::ArrowPrimitiveType;
use arrow::array::{
    Array as _, ArrayRef, AsArray, BooleanArray, GenericListArray, OffsetSizeTrait, RecordBatch,
    RecordBatchReader,
};
use arrow::buffer::Buffer;
use arrow::compute::cast;
use arrow::datatypes::{self, DataType, SchemaRef};
use arrow::error::ArrowError;
use arrow::ipc::reader::{FileReader, StreamReader};
use par_runtime::{Array, Prim, ValueType};
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use std::io::BufReader;

/// Rows of a Parquet file that are decoded at once.
const BATCH: usize = 1 << 16;

type Batches<'s> = Box<dyn RecordBatchReader + 's>;

fn failed(e: impl std::fmt::Display) -> DataError {
    let text = e.to_string();
    DataError::new(format!("the file cannot be read: {}", text.lines().next().unwrap_or("")))
}

/// The names of the columns.
pub fn names(source: &mut Source, wire: Option<Wire>) -> Result<Vec<String>, DataError> {
    guarded(|| {
        let schema = open(source, wire, &|_| true)?.schema();
        Ok(schema.fields().iter().map(|f| f.name().clone()).collect())
    })
}

/// The columns that the type asks for, or one of them.
pub fn read(
    source: &mut Source,
    wire: Option<Wire>,
    part: Option<&str>,
    ty: &ValueType,
) -> Result<Tree, DataError> {
    let all = names(source, wire)?;
    if let Some(part) = part
        && !all.iter().any(|name| name == part)
    {
        let known = input::listing(all.iter().map(String::as_str));
        return Err(format!("there is no column `{part}`: the file has {known}").into());
    }
    let fields = fields(ty).filter(|fields| fields.iter().all(|f| all.contains(f)));
    let wanted = |name: &str| match (part, &fields) {
        (Some(part), _) => part == name,
        (None, Some(fields)) => fields.iter().any(|f| f == name),
        (None, None) => true,
    };
    guarded(|| {
        let batches = open(source, wire, &wanted)?;
        let schema = batches.schema();
        let kept: Vec<usize> =
            (0..schema.fields().len()).filter(|i| wanted(schema.field(*i).name())).collect();
        let (rows, columns) = join(batches, &kept)?;
        let mut trees = columns.into_iter().map(|tree| Tree::array(rows, tree));
        match part {
            Some(_) => trees.next().ok_or_else(|| "the file has no columns".into()),
            None => {
                let names = kept.iter().map(|i| schema.field(*i).name().clone());
                Ok(Tree::Fields(names.zip(trees).collect()))
            }
        }
    })
}

/// The names of the fields of a record, or of records in an array.
fn fields(ty: &ValueType) -> Option<Vec<String>> {
    match ty {
        ValueType::Record(fields) => Some(fields.iter().map(|f| f.0.clone()).collect()),
        ValueType::Array { elem, .. } => match &**elem {
            ValueType::Record(_) => fields(elem),
            _ => None,
        },
        _ => None,
    }
}

/// Opens a file; of Parquet files only the columns that are wanted are decoded.
fn open<'s>(
    source: &'s mut Source<'_>,
    wire: Option<Wire>,
    wanted: &dyn Fn(&str) -> bool,
) -> Result<Batches<'s>, DataError> {
    source.rewind()?;
    Ok(match wire {
        Some(Wire::File) => Box::new(FileReader::try_new(BufReader::new(source), None).map_err(failed)?),
        Some(Wire::Stream) => Box::new(StreamReader::try_new(BufReader::new(source), None).map_err(failed)?),
        None => {
            let builder = ParquetRecordBatchReaderBuilder::try_new(source.chunks()?).map_err(failed)?;
            let roots = builder.schema().fields().iter().enumerate();
            let roots: Vec<usize> = roots.filter(|(_, f)| wanted(f.name())).map(|(i, _)| i).collect();
            let mask = ProjectionMask::roots(builder.parquet_schema(), roots);
            let reader = builder.with_batch_size(BATCH).with_projection(mask).build();
            Box::new(Whole(reader.map_err(failed)?))
        }
    })
}

/// A reader of Parquet files.
struct Whole(parquet::arrow::arrow_reader::ParquetRecordBatchReader);

impl Iterator for Whole {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.0.next()
    }
}

impl RecordBatchReader for Whole {
    fn schema(&self) -> SchemaRef {
        self.0.schema()
    }
}

/// The columns of all batches, and the number of rows.
fn join(batches: Batches, kept: &[usize]) -> Result<(usize, Vec<Tree>), DataError> {
    let schema = batches.schema();
    let mut rows = 0;
    let mut columns: Option<Vec<Tree>> = None;
    for batch in batches {
        let batch = batch.map_err(failed)?;
        let trees = kept.iter().map(|i| column(schema.field(*i).name(), batch.column(*i), rows));
        let trees = trees.collect::<Result<Vec<_>, _>>()?;
        columns = Some(match columns {
            None => trees,
            Some(before) => {
                let joined = before.into_iter().zip(trees).map(|(a, b)| a.append(b));
                joined.collect::<Result<_, String>>()?
            }
        });
        rows += batch.num_rows();
    }
    let empty = |i: &usize| {
        let field = schema.field(*i);
        column(field.name(), &arrow::array::new_empty_array(field.data_type()), 0)
    };
    let columns = columns.map_or_else(|| kept.iter().map(empty).collect(), Ok)?;
    Ok((rows, columns))
}

fn column(name: &str, array: &ArrayRef, before: usize) -> Result<Tree, DataError> {
    tree(array).map_err(|problem| {
        DataError::new(match problem {
            Problem::Null(row) => format!("column `{name}` has no value in row {}", before + row),
            Problem::NullInside => format!("column `{name}` has missing values inside its rows"),
            Problem::Type(ty) => format!("column `{name}` has the type {ty}, which Par does not have"),
            Problem::Damaged => format!("column `{name}` is damaged"),
        })
    })
}

enum Problem {
    /// In that row.
    Null(usize),
    NullInside,
    Type(String),
    Damaged,
}

fn inside(problem: Problem) -> Problem {
    if let Problem::Null(_) = problem { Problem::NullInside } else { problem }
}

/// An array's rows.
fn tree(array: &ArrayRef) -> Result<Tree, Problem> {
    if let Some(nulls) = array.logical_nulls()
        && let Some(row) = nulls.iter().position(|valid| !valid)
    {
        return Err(Problem::Null(row));
    }
    let other = |ty: &DataType| {
        let same = cast(array, ty).map_err(|_| Problem::Type(array.data_type().to_string()))?;
        tree(&same)
    };
    use datatypes as t;
    Ok(match array.data_type() {
        DataType::Int8 => scalars::<t::Int8Type>(array, Prim::I8),
        DataType::Int16 => scalars::<t::Int16Type>(array, Prim::I16),
        DataType::Int32 => scalars::<t::Int32Type>(array, Prim::I32),
        DataType::Int64 => scalars::<t::Int64Type>(array, Prim::I64),
        DataType::UInt8 => scalars::<t::UInt8Type>(array, Prim::U8),
        DataType::UInt16 => scalars::<t::UInt16Type>(array, Prim::U16),
        DataType::UInt32 => scalars::<t::UInt32Type>(array, Prim::U32),
        DataType::UInt64 => scalars::<t::UInt64Type>(array, Prim::U64),
        DataType::Float16 => scalars::<t::Float16Type>(array, Prim::F16),
        DataType::Float32 => scalars::<t::Float32Type>(array, Prim::F32),
        DataType::Float64 => scalars::<t::Float64Type>(array, Prim::F64),
        DataType::Boolean => booleans(array.as_boolean()),
        DataType::List(_) => list(array.as_list::<i32>())?,
        DataType::LargeList(_) => list(array.as_list::<i64>())?,
        DataType::Map(..) => {
            let map = array.as_map();
            let entries: ArrayRef = std::sync::Arc::new(map.entries().clone());
            rows(map.offsets(), &entries)?
        }
        DataType::FixedSizeList(_, len) => {
            let len = usize::try_from(*len).map_err(|_| Problem::Damaged)?;
            let values = array.as_fixed_size_list().values();
            Tree::array(len, tree(&values.slice(0, len * array.len())).map_err(inside)?)
        }
        DataType::Binary => bytes(array.as_binary::<i32>().offsets(), array.as_binary::<i32>().values()),
        DataType::LargeBinary => bytes(array.as_binary::<i64>().offsets(), array.as_binary::<i64>().values()),
        DataType::Utf8 => bytes(array.as_string::<i32>().offsets(), array.as_string::<i32>().values()),
        DataType::LargeUtf8 => bytes(array.as_string::<i64>().offsets(), array.as_string::<i64>().values()),
        DataType::Utf8View => other(&DataType::LargeUtf8)?,
        DataType::BinaryView => other(&DataType::LargeBinary)?,
        DataType::FixedSizeBinary(len) => {
            let len = usize::try_from(*len).map_err(|_| Problem::Damaged)?;
            let values = array.as_fixed_size_binary().value_data();
            let first = array.offset() * len;
            let given =
                values.get(first..first + len * array.len()).or_else(|| values.get(..len * array.len()));
            Tree::array(len, Tree::Scalars(Array::from_slice(given.ok_or(Problem::Damaged)?)))
        }
        DataType::Struct(fields) => {
            let columns = array.as_struct().columns();
            let parts = fields.iter().zip(columns).map(|(f, c)| Ok((f.name().clone(), tree(c)?)));
            Tree::Fields(parts.collect::<Result<_, _>>()?)
        }
        DataType::Dictionary(_, value) => other(value)?,
        DataType::Date32 | DataType::Time32(_) => other(&DataType::Int32)?,
        DataType::Date64 | DataType::Time64(_) | DataType::Timestamp(..) | DataType::Duration(_) => {
            other(&DataType::Int64)?
        }
        ty => return Err(Problem::Type(ty.to_string())),
    })
}

/// A buffer of Arrow's as the bytes of an array.
struct Held(Buffer);

impl AsRef<[u8]> for Held {
    fn as_ref(&self) -> &[u8] {
        self.0.as_slice()
    }
}

fn held(prim: Prim, buffer: &Buffer) -> Array {
    Array::from_owner(prim, Held(buffer.clone()))
}

fn scalars<T: ArrowPrimitiveType>(array: &ArrayRef, prim: Prim) -> Tree {
    Tree::Scalars(held(prim, array.as_primitive::<T>().values().inner()))
}

fn booleans(array: &BooleanArray) -> Tree {
    let all: Vec<bool> = array.values().iter().collect();
    Tree::Scalars(Array::from_slice(&all))
}

fn list<O: OffsetSizeTrait>(array: &GenericListArray<O>) -> Result<Tree, Problem> {
    rows(array.offsets(), array.values())
}

/// Rows between offsets, which need not begin with the first value.
fn rows<O: OffsetSizeTrait>(offsets: &[O], values: &ArrayRef) -> Result<Tree, Problem> {
    let (first, last) = (offsets[0].as_usize(), offsets[offsets.len() - 1].as_usize());
    if first > last || last > values.len() {
        return Err(Problem::Damaged);
    }
    let values = tree(&values.slice(first, last - first)).map_err(inside)?;
    Ok(Tree::Lists(offsets_from(offsets), Box::new(values)))
}

fn offsets_from<O: OffsetSizeTrait>(offsets: &[O]) -> Array {
    let first = offsets[0].as_usize();
    let mut all = Array::uninit(Prim::I64, offsets.len());
    let targets = all.slice_mut::<i64>().iter_mut();
    targets.zip(offsets).for_each(|(o, given)| *o = given.as_usize().wrapping_sub(first) as i64);
    all
}

fn bytes<O: OffsetSizeTrait>(offsets: &[O], values: &Buffer) -> Tree {
    let (first, last) = (offsets[0].as_usize(), offsets[offsets.len() - 1].as_usize());
    let last = last.min(values.len());
    let values = values.slice_with_length(first.min(last), last.saturating_sub(first));
    Tree::Lists(offsets_from(offsets), Box::new(Tree::Scalars(held(Prim::U8, &values))))
}
