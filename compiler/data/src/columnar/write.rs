//! From trees to Arrow's arrays.

use crate::DataError;
use crate::format::Wire;
use crate::tree::Tree;
use arrow_array::types::{self as t, ArrowPrimitiveType};
use arrow_array::{
    Array as _, ArrayRef, BooleanArray, FixedSizeListArray, LargeBinaryArray, LargeListArray,
    LargeStringArray, PrimitiveArray, RecordBatch, RecordBatchOptions, StructArray, make_array,
};
use arrow_buffer::{Buffer, NullBuffer, OffsetBuffer, ScalarBuffer};
use arrow_ipc::writer::{FileWriter, StreamWriter};
use arrow_schema::{Field, Fields, Schema};
use bytes::Bytes;
use par_runtime::{Array, Prim};
use parquet::arrow::ArrowWriter;
use parquet::basic::Compression;
use parquet::file::properties::WriterProperties;
use std::io::Write;
use std::sync::Arc;

/// Rows of a Parquet file that are encoded at once.
const BATCH: usize = 1 << 20;

fn failed(e: impl std::fmt::Display) -> DataError {
    DataError::new(e.to_string())
}

/// Writes columns: the fields of records, of a record of arrays, or one called `value`.
pub fn write<W: Write + Send>(tree: &Tree, wire: Option<Wire>, out: &mut W) -> Result<(), DataError> {
    let (rows, columns) = table(tree)?;
    let arrays = columns.iter().map(|(name, tree)| Ok((name.clone(), array(tree, rows)?)));
    let arrays = arrays.collect::<Result<Vec<_>, DataError>>()?;
    let fields: Vec<Field> =
        arrays.iter().map(|(name, a)| Field::new(name, a.data_type().clone(), a.is_nullable())).collect();
    let schema = Arc::new(Schema::new(fields));
    let options = RecordBatchOptions::new().with_row_count(Some(rows));
    let arrays = arrays.into_iter().map(|(_, a)| a).collect();
    let batch = RecordBatch::try_new_with_options(schema.clone(), arrays, &options).map_err(failed)?;
    match wire {
        Some(Wire::File) => {
            let mut writer = FileWriter::try_new(out, &schema).map_err(failed)?;
            writer.write(&batch).and_then(|()| writer.finish()).map_err(failed)
        }
        Some(Wire::Stream) => {
            let mut writer = StreamWriter::try_new(out, &schema).map_err(failed)?;
            writer.write(&batch).and_then(|()| writer.finish()).map_err(failed)
        }
        None => {
            let properties = WriterProperties::builder().set_compression(Compression::SNAPPY).build();
            let mut writer = ArrowWriter::try_new(out, schema, Some(properties)).map_err(failed)?;
            for start in (0..rows).step_by(BATCH) {
                writer.write(&batch.slice(start, BATCH.min(rows - start))).map_err(failed)?;
            }
            writer.close().map(drop).map_err(failed)
        }
    }
}

/// Columns with their names.
type Columns<'a> = Vec<(String, &'a Tree)>;

/// The columns and their number of rows.
fn table(tree: &Tree) -> Result<(usize, Columns<'_>), DataError> {
    match tree {
        Tree::Fixed(rows, elem) => match &**elem {
            Tree::Fields(fields) => Ok((*rows, fields.iter().map(|(n, t)| (n.clone(), t)).collect())),
            elem => Ok((*rows, vec![("value".into(), elem)])),
        },
        Tree::Fields(fields)
            if !fields.is_empty() && fields.iter().all(|f| matches!(f.1, Tree::Fixed(..))) =>
        {
            let mut rows = None;
            let mut columns = Vec::new();
            for (name, tree) in fields {
                let Tree::Fixed(n, elem) = tree else { continue };
                if *rows.get_or_insert(*n) != *n {
                    let message =
                        format!("`{name}` has {n} elements, but what stands before it has another number");
                    return Err(DataError::new(message));
                }
                columns.push((name.clone(), &**elem));
            }
            Ok((rows.unwrap_or(0), columns))
        }
        Tree::Fields(fields) => Ok((1, fields.iter().map(|(n, t)| (n.clone(), t)).collect())),
        tree => Ok((1, vec![("value".into(), tree)])),
    }
}

/// The bytes of an array of ours.
struct Ours(Array);

impl AsRef<[u8]> for Ours {
    fn as_ref(&self) -> &[u8] {
        self.0.bytes()
    }
}

fn buffer(array: &Array) -> Buffer {
    Buffer::from(Bytes::from_owner(Ours(array.clone())))
}

fn primitive<T: ArrowPrimitiveType>(array: &Array) -> ArrayRef {
    Arc::new(PrimitiveArray::<T>::new(ScalarBuffer::new(buffer(array), 0, array.len()), None))
}

/// The rows of a tree.
fn array(tree: &Tree, rows: usize) -> Result<ArrayRef, DataError> {
    match tree {
        Tree::Scalars(a) => Ok(scalars(a)),
        Tree::Fixed(n, elem) => {
            let len =
                i32::try_from(*n).map_err(|_| "rows of more than 2^31 elements have no form in Arrow")?;
            let values = array(elem, rows * n)?;
            let list =
                FixedSizeListArray::try_new_with_length(field("item", &values), len, values, None, rows);
            Ok(Arc::new(list.map_err(failed)?))
        }
        Tree::Lists(offsets, elem) => {
            let total = offsets.slice::<i64>().last().map_or(0, |n| *n as usize);
            let starts = OffsetBuffer::new(ScalarBuffer::<i64>::new(buffer(offsets), 0, offsets.len()));
            if let (true, Tree::Scalars(bytes)) = (tree.is_text(), &**elem) {
                return texts(starts, buffer(bytes));
            }
            let values = array(elem, total)?;
            let list = LargeListArray::try_new(field("item", &values), starts, values, None);
            Ok(Arc::new(list.map_err(failed)?))
        }
        Tree::Fields(parts) => {
            let arrays = parts.iter().map(|(_, t)| array(t, rows)).collect::<Result<Vec<_>, _>>()?;
            let fields: Fields = parts.iter().zip(&arrays).map(|((name, _), a)| field(name, a)).collect();
            let all = StructArray::try_new_with_length(fields, arrays, None, rows);
            Ok(Arc::new(all.map_err(failed)?))
        }
        Tree::Optional(_, elem) if matches!(**elem, Tree::Optional(..)) => {
            Err("a value that may be missing twice has no form in Arrow".into())
        }
        Tree::Optional(present, elem) => {
            let nulls = NullBuffer::from(present.slice::<bool>());
            let all = array(elem, rows)?.to_data().into_builder().nulls(Some(nulls));
            Ok(make_array(all.build().map_err(failed)?))
        }
    }
}

fn field(name: &str, values: &ArrayRef) -> Arc<Field> {
    Arc::new(Field::new(name, values.data_type().clone(), values.is_nullable()))
}

/// Text where all rows are, else bytes.
fn texts(starts: OffsetBuffer<i64>, bytes: Buffer) -> Result<ArrayRef, DataError> {
    let text = LargeStringArray::try_new(starts.clone(), bytes.clone(), None);
    match text {
        Ok(text) => Ok(Arc::new(text)),
        Err(_) => Ok(Arc::new(LargeBinaryArray::try_new(starts, bytes, None).map_err(failed)?)),
    }
}

fn scalars(a: &Array) -> ArrayRef {
    match a.prim() {
        Prim::I8 => primitive::<t::Int8Type>(a),
        Prim::I16 => primitive::<t::Int16Type>(a),
        Prim::I32 => primitive::<t::Int32Type>(a),
        Prim::I64 => primitive::<t::Int64Type>(a),
        Prim::U8 => primitive::<t::UInt8Type>(a),
        Prim::U16 => primitive::<t::UInt16Type>(a),
        Prim::U32 => primitive::<t::UInt32Type>(a),
        Prim::U64 => primitive::<t::UInt64Type>(a),
        Prim::F16 => primitive::<t::Float16Type>(a),
        Prim::F32 => primitive::<t::Float32Type>(a),
        Prim::F64 => primitive::<t::Float64Type>(a),
        Prim::Bool => Arc::new(BooleanArray::from(a.slice::<bool>().to_vec())),
    }
}
