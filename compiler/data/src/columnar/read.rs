//! From Arrow's arrays to trees.

use super::file::{CONTINUES, File, at_place, length_of, part_of};
use crate::format::Wire;
use crate::guard::guarded;
use crate::missing::{may_miss, spread};
use crate::source::{Chunks, Source};
use crate::tree::Tree;
use crate::{DataError, input};
use arrow_array::cast::AsArray;
use arrow_array::{
    Array as _, ArrayRef, BooleanArray, GenericListArray, LargeBinaryArray, OffsetSizeTrait, RecordBatch,
    RecordBatchReader,
};
use arrow_buffer::{Buffer, MutableBuffer};
use arrow_ipc::reader::StreamDecoder;
use arrow_ipc::root_as_message;
use arrow_schema::{ArrowError, DataType, Field, SchemaRef};
use arrow_select::{filter::filter, take::take};
use par_runtime::{Array, Prim, ValueType};
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use std::io::Read;
use std::ops::Range;
use std::sync::Arc;

/// Rows of a Parquet file that are decoded at once.
const BATCH: usize = 1 << 16;

pub(super) fn failed(e: impl std::fmt::Display) -> DataError {
    let text = e.to_string();
    DataError::new(format!("the file cannot be read: {}", text.lines().next().unwrap_or("")))
}

/// The names of the columns.
pub fn names(source: &mut Source, wire: Option<Wire>) -> Result<Vec<String>, DataError> {
    guarded(|| {
        let schema = open(source, wire, &|_| true, Some(0..0))?.schema;
        Ok(schema.fields().iter().map(|f| f.name().clone()).collect())
    })
}

/// Number of rows of a file that is no stream.
pub fn count(source: &mut Source, wire: Option<Wire>) -> Result<usize, DataError> {
    guarded(|| match wire {
        Some(_) => {
            let length = length_of(source);
            File::open(&mut |at| at_place(source, at), length)?.rows()
        }
        None => {
            let builder = ParquetRecordBatchReaderBuilder::try_new(source.chunks()?).map_err(failed)?;
            usize::try_from(builder.metadata().file_metadata().num_rows()).map_err(failed)
        }
    })
}

/// The columns that the type asks for, or one of them; of all rows, or of some.
pub fn read(
    source: &mut Source,
    wire: Option<Wire>,
    part: Option<&str>,
    ty: &ValueType,
    of: Option<Range<usize>>,
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
        let table = open(source, wire, &wanted, of)?;
        let schema = table.schema.clone();
        let kept: Vec<usize> =
            (0..schema.fields().len()).filter(|i| wanted(schema.field(*i).name())).collect();
        let (rows, columns) = join(table, &kept, may_miss(ty))?;
        let one = rows == 1 && is_row(ty);
        let mut trees = columns.into_iter().map(|tree| if one { tree } else { Tree::array(rows, tree) });
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

/// True if a value is one row of columns, and not an array of rows or columns.
fn is_row(ty: &ValueType) -> bool {
    match ty {
        ValueType::Record(fields) => fields.iter().all(|(_, t)| matches!(t, ValueType::Prim(_))),
        ValueType::Tuple(types) => types.iter().all(|t| matches!(t, ValueType::Prim(_))),
        ty => matches!(ty, ValueType::Prim(_)),
    }
}

/// A table in parts.
pub(super) struct Table {
    pub schema: SchemaRef,
    pub batches: Box<dyn Iterator<Item = Result<RecordBatch, ArrowError>>>,
}

/// Opens a file; of Parquet files only the columns that are wanted are decoded. Of a stream there are always all rows.
fn open(
    source: &mut Source,
    wire: Option<Wire>,
    wanted: &dyn Fn(&str) -> bool,
    of: Option<Range<usize>>,
) -> Result<Table, DataError> {
    match (wire, of) {
        (Some(Wire::File), None) => {
            let bytes = whole(source)?;
            File::open(&mut |at| part_of(&bytes, at), bytes.len())?.table(None)
        }
        (Some(Wire::File), of) => {
            let length = length_of(source);
            File::open(&mut |at| at_place(source, at), length)?.table(of)
        }
        (Some(Wire::Stream), _) => stream(whole(source)?),
        (None, of) => {
            let builder = ParquetRecordBatchReaderBuilder::try_new(source.chunks()?).map_err(failed)?;
            let roots = builder.schema().fields().iter().enumerate();
            let roots: Vec<usize> = roots.filter(|(_, f)| wanted(f.name())).map(|(i, _)| i).collect();
            let mask = ProjectionMask::roots(builder.parquet_schema(), roots);
            let builder = some_groups(builder.with_batch_size(BATCH).with_projection(mask), of);
            let reader = builder.build().map_err(failed)?;
            Ok(Table { schema: reader.schema(), batches: Box::new(reader) })
        }
    }
}

/// All bytes, where arrays can stay.
fn whole(source: &mut Source) -> Result<Buffer, DataError> {
    source.rewind()?;
    let mut bytes = MutableBuffer::from_len_zeroed(source.len() as usize);
    source.read_exact(bytes.as_slice_mut())?;
    Ok(bytes.into())
}

/// Some rows of a Parquet file: only the groups that they are in are read.
fn some_groups(
    builder: ParquetRecordBatchReaderBuilder<Chunks>,
    of: Option<Range<usize>>,
) -> ParquetRecordBatchReaderBuilder<Chunks> {
    let Some(of) = of else { return builder };
    let mut first = 0;
    let (mut groups, mut before) = (Vec::new(), None);
    for (i, group) in builder.metadata().row_groups().iter().enumerate() {
        let end = first + usize::try_from(group.num_rows()).unwrap_or(0);
        if first < of.end && of.start < end {
            before.get_or_insert(first);
            groups.push(i);
        }
        first = end;
    }
    let skipped = of.start - before.unwrap_or(of.start);
    builder.with_row_groups(groups).with_offset(skipped).with_limit(of.len())
}

/// Arrow's format for streams.
fn stream(mut bytes: Buffer) -> Result<Table, DataError> {
    check_messages(&bytes)?;
    let mut decoder = StreamDecoder::new();
    let mut batches = Vec::new();
    while !bytes.is_empty() {
        let before = bytes.len();
        match decoder.decode(&mut bytes).map_err(failed)? {
            Some(batch) => batches.push(Ok(batch)),
            // The stream has ended, and something follows.
            None if bytes.len() == before => break,
            None => {}
        }
    }
    decoder.finish().map_err(failed)?;
    let schema = decoder.schema().ok_or_else(|| DataError::new("the stream is cut off"))?;
    Ok(Table { schema, batches: Box::new(batches.into_iter()) })
}

/// An error if a message of a stream says that it is longer than what is there: the decoder would reserve its length.
fn check_messages(mut bytes: &[u8]) -> Result<(), DataError> {
    let cut_off = || DataError::new("the stream is cut off");
    while !bytes.is_empty() {
        bytes = bytes.strip_prefix(&CONTINUES).unwrap_or(bytes);
        let (length, rest) = bytes.split_first_chunk().ok_or_else(cut_off)?;
        let length = u32::from_le_bytes(*length) as usize;
        if length == 0 {
            break;
        }
        let (head, rest) = rest.split_at_checked(length).ok_or_else(cut_off)?;
        let body = root_as_message(head).map_err(failed)?.bodyLength();
        bytes = usize::try_from(body).ok().and_then(|body| rest.get(body..)).ok_or_else(cut_off)?;
    }
    Ok(())
}

/// The columns of all batches, and the number of rows. Whether values may be missing.
fn join(table: Table, kept: &[usize], may_miss: bool) -> Result<(usize, Vec<Tree>), DataError> {
    let Table { schema, batches } = table;
    let mut rows = 0;
    let mut columns: Option<Vec<Tree>> = None;
    for batch in batches {
        let batch = batch.map_err(failed)?;
        let trees = kept.iter().map(|i| column(schema.field(*i), batch.column(*i), rows, may_miss));
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
        column(field, &arrow_array::new_empty_array(field.data_type()), 0, may_miss)
    };
    let columns = columns.map_or_else(|| kept.iter().map(empty).collect(), Ok)?;
    Ok((rows, columns.into_iter().map(settled).collect()))
}

/// Without what says that values might be missing, where none are.
fn settled(tree: Tree) -> Tree {
    match tree {
        Tree::Optional(present, elem) if !present.slice::<bool>().contains(&false) => settled(*elem),
        Tree::Optional(present, elem) => Tree::Optional(present, Box::new(settled(*elem))),
        Tree::Fixed(n, elem) => Tree::array(n, settled(*elem)),
        Tree::Lists(offsets, elem) => Tree::Lists(offsets, Box::new(settled(*elem))),
        Tree::Fields(fields) => Tree::Fields(fields.into_iter().map(|(n, t)| (n, settled(t))).collect()),
        Tree::Scalars(_) => tree,
    }
}

fn column(field: &Field, array: &ArrayRef, before: usize, may_miss: bool) -> Result<Tree, DataError> {
    let name = field.name();
    tree(field, array, may_miss).map_err(|problem| {
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

/// An array's rows. If values may be missing, they are optional wherever the file says that some could be.
fn tree(field: &Field, array: &ArrayRef, may_miss: bool) -> Result<Tree, Problem> {
    let nulls = array.logical_nulls().filter(|n| n.null_count() > 0);
    if !may_miss || !field.is_nullable() {
        let missing = nulls.and_then(|nulls| nulls.iter().position(|there| !there));
        return missing.map_or_else(|| values(array, may_miss), |row| Err(Problem::Null(row)));
    }
    let Some(nulls) = nulls else {
        let present = Array::from_slice(&vec![true; array.len()]);
        return Ok(Tree::Optional(present, Box::new(values(array, may_miss)?)));
    };
    let present: Vec<bool> = nulls.iter().collect();
    // What stands in the place of a missing value can be anything.
    let there = filter(array, &BooleanArray::new(nulls.into_inner(), None)).map_err(|_| Problem::Damaged)?;
    let all = spread(values(&there, may_miss)?, &present).map_err(|_| Problem::Damaged)?;
    Ok(Tree::Optional(Array::from_slice(&present), Box::new(all)))
}

/// The rows of an array without missing ones.
fn values(array: &ArrayRef, may_miss: bool) -> Result<Tree, Problem> {
    Ok(match array.data_type() {
        DataType::Int8 => scalars(array, Prim::I8)?,
        DataType::Int16 => scalars(array, Prim::I16)?,
        DataType::Int32 | DataType::Date32 | DataType::Time32(_) => scalars(array, Prim::I32)?,
        DataType::Int64
        | DataType::Date64
        | DataType::Time64(_)
        | DataType::Timestamp(..)
        | DataType::Duration(_) => scalars(array, Prim::I64)?,
        DataType::UInt8 => scalars(array, Prim::U8)?,
        DataType::UInt16 => scalars(array, Prim::U16)?,
        DataType::UInt32 => scalars(array, Prim::U32)?,
        DataType::UInt64 => scalars(array, Prim::U64)?,
        DataType::Float16 => scalars(array, Prim::F16)?,
        DataType::Float32 => scalars(array, Prim::F32)?,
        DataType::Float64 => scalars(array, Prim::F64)?,
        DataType::Boolean => booleans(array.as_boolean()),
        DataType::List(field) => list(field, array.as_list::<i32>(), may_miss)?,
        DataType::LargeList(field) => list(field, array.as_list::<i64>(), may_miss)?,
        DataType::Map(field, _) => {
            let map = array.as_map();
            let entries: ArrayRef = Arc::new(map.entries().clone());
            rows(field, map.offsets(), &entries, may_miss)?
        }
        DataType::FixedSizeList(field, len) => {
            let len = usize::try_from(*len).map_err(|_| Problem::Damaged)?;
            let values = array.as_fixed_size_list().values();
            Tree::array(len, tree(field, &values.slice(0, len * array.len()), may_miss).map_err(inside)?)
        }
        DataType::Binary => bytes(array.as_binary::<i32>().offsets(), array.as_binary::<i32>().values()),
        DataType::LargeBinary => bytes(array.as_binary::<i64>().offsets(), array.as_binary::<i64>().values()),
        DataType::Utf8 => bytes(array.as_string::<i32>().offsets(), array.as_string::<i32>().values()),
        DataType::LargeUtf8 => bytes(array.as_string::<i64>().offsets(), array.as_string::<i64>().values()),
        DataType::Utf8View => joined(array.as_string_view().iter().map(|text| text.map(str::as_bytes))),
        DataType::BinaryView => joined(array.as_binary_view().iter()),
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
            let parts =
                fields.iter().zip(columns).map(|(f, c)| Ok((f.name().clone(), tree(f, c, may_miss)?)));
            Tree::Fields(parts.collect::<Result<_, _>>()?)
        }
        DataType::Dictionary(..) => {
            let dictionary = array.as_any_dictionary();
            let all = take(dictionary.values(), dictionary.keys(), None).map_err(|_| Problem::Damaged)?;
            values(&all, may_miss)?
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

/// Numbers in one buffer, whatever they stand for.
fn scalars(array: &ArrayRef, prim: Prim) -> Result<Tree, Problem> {
    let (data, width) = (array.to_data(), prim.size());
    let (from, len) = (data.offset() * width, data.len() * width);
    let all = data.buffers().first().filter(|all| from + len <= all.len()).ok_or(Problem::Damaged)?;
    Ok(Tree::Scalars(held(prim, &all.slice_with_length(from, len))))
}

/// Rows of bytes that lie in several places; those that are missing have none.
fn joined<'a>(rows: impl Iterator<Item = Option<&'a [u8]>>) -> Tree {
    let rows = LargeBinaryArray::from_iter_values(rows.map(Option::unwrap_or_default));
    bytes(rows.offsets(), rows.values())
}

fn booleans(array: &BooleanArray) -> Tree {
    let all: Vec<bool> = array.values().iter().collect();
    Tree::Scalars(Array::from_slice(&all))
}

fn list<O: OffsetSizeTrait>(
    field: &Field,
    array: &GenericListArray<O>,
    may_miss: bool,
) -> Result<Tree, Problem> {
    rows(field, array.offsets(), array.values(), may_miss)
}

/// Rows between offsets, which need not begin with the first value.
fn rows<O: OffsetSizeTrait>(
    field: &Field,
    offsets: &[O],
    values: &ArrayRef,
    may_miss: bool,
) -> Result<Tree, Problem> {
    let (first, last) = (offsets[0].as_usize(), offsets[offsets.len() - 1].as_usize());
    if first > last || last > values.len() {
        return Err(Problem::Damaged);
    }
    let values = tree(field, &values.slice(first, last - first), may_miss).map_err(inside)?;
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
