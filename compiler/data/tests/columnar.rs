//! Columns as other programs write them.

use arrow_array::types::{Int8Type, Int32Type};
use arrow_array::*;
use arrow_buffer::{OffsetBuffer, ScalarBuffer};
use arrow_ipc::writer::{FileWriter, StreamWriter};
use arrow_schema::{DataType, Field, Schema};
use par_data::{Format, Input};
use par_runtime::io::text::print_value;
use par_runtime::{Column, Prim, ValueType};
use parquet::arrow::ArrowWriter;
use std::sync::Arc;

const FORMATS: [&str; 3] = ["arrow", "arrows", "parquet"];

/// A file with the column `c` in these batches.
fn file(format: &str, batches: &[ArrayRef]) -> Vec<u8> {
    let field = Field::new("c", batches[0].data_type().clone(), true);
    let schema = Arc::new(Schema::new(vec![field]));
    let all = batches.iter().map(|a| RecordBatch::try_new(schema.clone(), vec![a.clone()]).unwrap());
    let mut bytes = Vec::new();
    match format {
        "arrow" => {
            let mut writer = FileWriter::try_new(&mut bytes, &schema).unwrap();
            all.for_each(|batch| writer.write(&batch).unwrap());
            writer.finish().unwrap();
        }
        "arrows" => {
            let mut writer = StreamWriter::try_new(&mut bytes, &schema).unwrap();
            all.for_each(|batch| writer.write(&batch).unwrap());
            writer.finish().unwrap();
        }
        _ => {
            let mut writer = ArrowWriter::try_new(&mut bytes, schema.clone(), None).unwrap();
            all.for_each(|batch| writer.write(&batch).unwrap());
            writer.close().unwrap();
        }
    }
    bytes
}

/// The column as a value of that type, the same in every format.
fn read(batches: &[ArrayRef], ty: &ValueType) -> Result<String, String> {
    let each = FORMATS.map(|format| {
        let mut input = Input::from_bytes(file(format, batches), None).unwrap();
        assert_eq!(input.format(), Format::from_name(format).unwrap());
        input.read(Some("c"), ty).map(|v| print_value(&v)).map_err(|e| e.to_string())
    });
    assert!(each.iter().all(|other| *other == each[0]), "{each:?}");
    each[0].clone()
}

fn array(prim: Prim) -> ValueType {
    ValueType::array(ValueType::Prim(prim))
}

fn rows(prim: Prim) -> ValueType {
    ValueType::array(ValueType::ragged(ValueType::Prim(prim)))
}

#[test]
fn columns_of_other_programs() {
    let ints: ArrayRef = Arc::new(Int32Array::from(vec![1, 2, 3]));
    assert_eq!(read(std::slice::from_ref(&ints), &array(Prim::I64)).as_deref(), Ok("[1i64, 2i64, 3i64]"));
    let joined = read(&[ints.slice(1, 2), ints.slice(0, 0), ints.clone()], &array(Prim::I32));
    assert_eq!(joined.as_deref(), Ok("[2i32, 3i32, 1i32, 2i32, 3i32]"));
    let lists = ListArray::from_iter_primitive::<Int32Type, _, _>(
        [vec![1, 2], vec![], vec![3]].map(|row| Some(row.into_iter().map(Some))),
    );
    let lists: ArrayRef = Arc::new(lists);
    assert_eq!(
        read(std::slice::from_ref(&lists), &rows(Prim::I32)).as_deref(),
        Ok("[[1i32, 2i32], [], [3i32]]")
    );
    let sliced = read(&[lists.slice(2, 1), lists.slice(1, 2)], &rows(Prim::I32));
    assert_eq!(sliced.as_deref(), Ok("[[3i32], [], [3i32]]"));
    let names: DictionaryArray<Int8Type> = ["a", "bc", "a"].into_iter().collect();
    assert_eq!(read(&[Arc::new(names)], &rows(Prim::U8)).as_deref(), Ok("[[97u8], [98u8, 99u8], [97u8]]"));
    let views: ArrayRef = Arc::new(StringViewArray::from(vec!["a text that is not inlined", ""]));
    assert!(read(&[views], &rows(Prim::U8)).unwrap().ends_with("100u8], []]"));
    let flags: ArrayRef = Arc::new(BooleanArray::from(vec![true, false, true]));
    assert_eq!(read(&[flags.slice(1, 2)], &array(Prim::Bool)).as_deref(), Ok("[false, true]"));
    let days: ArrayRef = Arc::new(Date32Array::from(vec![20_000]));
    assert_eq!(read(&[days], &array(Prim::I32)).as_deref(), Ok("[20000i32]"));
    let fixed = FixedSizeListArray::from_iter_primitive::<Int32Type, _, _>(
        [[1, 2], [3, 4], [5, 6]].map(|row| Some(row.map(Some))),
        2,
    );
    let fixed: ArrayRef = Arc::new(fixed);
    assert_eq!(read(&[fixed.slice(1, 2)], &rows(Prim::I32)).as_deref(), Ok("[[3i32, 4i32], [5i32, 6i32]]"));
}

#[test]
fn what_is_missing_has_a_place() {
    let some: ArrayRef = Arc::new(Int32Array::from(vec![Some(1), None]));
    let error = read(&[some.slice(0, 1), some.clone()], &array(Prim::I32)).unwrap_err();
    assert_eq!(error, "column `c` has no value in row 2");
    let inside = ListArray::from_iter_primitive::<Int32Type, _, _>([Some(vec![Some(1), None])]);
    let error = read(&[Arc::new(inside)], &rows(Prim::I32)).unwrap_err();
    assert_eq!(error, "column `c` has missing values inside its rows");
    let decimals: ArrayRef =
        Arc::new(Decimal128Array::from(vec![1]).with_precision_and_scale(10, 2).unwrap());
    let error = read(&[decimals], &array(Prim::F64)).unwrap_err();
    assert_eq!(error, "column `c` has the type Decimal128(10, 2), which Par does not have");
}

#[test]
fn missing_values_are_constructors() {
    let optional = |ty| ValueType::Sum(vec![("none".into(), vec![]), ("some".into(), vec![ty])]);
    let number = optional(ValueType::Prim(Prim::I32));
    let some: ArrayRef = Arc::new(Int32Array::from(vec![Some(1), None, Some(3)]));
    let read_as = |batches: &[ArrayRef], elem: ValueType| read(batches, &ValueType::array(elem));
    // In some batches only, in none, and in a batch without rows.
    let all = read_as(&[some.slice(2, 1), some.clone(), some.slice(0, 0)], number.clone());
    assert_eq!(all.as_deref(), Ok("[#some 3i32, #some 1i32, #none, #some 3i32]"));
    assert_eq!(read_as(&[some.slice(0, 1)], number.clone()).as_deref(), Ok("[#some 1i32]"));
    // Rows, whose places of missing ones are not empty; elements of rows; both.
    let starts = OffsetBuffer::new(ScalarBuffer::from(vec![0i64, 2, 3, 3]));
    let item = Arc::new(Field::new("item", DataType::Int32, true));
    let lists: ArrayRef =
        Arc::new(LargeListArray::new(item, starts, some.clone(), Some(vec![false, true, true].into())));
    let ragged = |elem| ValueType::ragged(elem);
    let rows_of_some = read_as(std::slice::from_ref(&lists), optional(ragged(ValueType::Prim(Prim::I32))));
    assert_eq!(rows_of_some.as_deref(), Ok("[#none, #some [3i32], #some []]"));
    let elements = read_as(&[lists.slice(1, 2)], ragged(number.clone()));
    assert_eq!(elements.as_deref(), Ok("[[#some 3i32], []]"));
    let inside = ListArray::from_iter_primitive::<Int32Type, _, _>([Some(vec![Some(1), None]), Some(vec![])]);
    let inside: ArrayRef = Arc::new(inside);
    assert_eq!(read_as(&[inside], ragged(number)).as_deref(), Ok("[[#some 1i32, #none], []]"));
}

#[test]
fn elements_are_not_copied() {
    let values = Float64Array::from(vec![1.0, 2.0, 3.0]);
    let offsets = OffsetBuffer::new(ScalarBuffer::from(vec![0i64, 1, 1, 3]));
    let item = Arc::new(Field::new("item", DataType::Float64, false));
    let lists: ArrayRef = Arc::new(LargeListArray::new(item, offsets, Arc::new(values), None));
    let mut input = Input::from_bytes(file("arrow", &[lists]), None).unwrap();
    let mut value = input.read(Some("c"), &rows(Prim::F64)).unwrap();
    let Some(Column::Data(data)) = value.columns.last_mut() else { panic!("no data") };
    assert!(!data.is_unique(), "Arrow has them, too");
    // Whoever writes gets a copy.
    let kept = data.clone();
    data.slice_mut::<f64>()[0] = 9.0;
    assert_eq!(kept.slice::<f64>()[0], 1.0);
}

/// Files on disk with the column in groups or batches of several sizes.
fn in_groups(batches: &[ArrayRef]) -> [tempfile::NamedTempFile; 2] {
    let arrow = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(arrow.path(), file("arrow", batches)).unwrap();
    let parquet = tempfile::NamedTempFile::new().unwrap();
    let field = Field::new("c", batches[0].data_type().clone(), true);
    let schema = Arc::new(Schema::new(vec![field]));
    let mut writer = ArrowWriter::try_new(parquet.reopen().unwrap(), schema.clone(), None).unwrap();
    for batch in batches {
        writer.write(&RecordBatch::try_new(schema.clone(), vec![batch.clone()]).unwrap()).unwrap();
        writer.flush().unwrap();
    }
    writer.close().unwrap();
    [arrow, parquet]
}

#[test]
fn some_rows() {
    let numbers: Vec<ArrayRef> =
        [0..3, 3..3, 3..10, 10..11].map(|r| Arc::new(Int32Array::from_iter_values(r)) as ArrayRef).to_vec();
    let texts: Vec<ArrayRef> = vec![
        Arc::new(StringArray::from(vec!["a", "", "bcd"])),
        Arc::new(StringArray::from(vec!["ef", "g", "", "hi"])),
        Arc::new(StringArray::from(vec!["jkl"])),
    ];
    let truths: Vec<ArrayRef> = vec![
        Arc::new(BooleanArray::from(vec![true, false, true])),
        Arc::new(BooleanArray::from(vec![false, false, true, true, true])),
    ];
    for (batches, ty) in [(numbers, array(Prim::I32)), (texts, rows(Prim::U8)), (truths, array(Prim::Bool))] {
        let all: usize = batches.iter().map(|b| b.len()).sum();
        let whole = read(&batches, &ty).unwrap();
        for file in in_groups(&batches) {
            let mut input = Input::open(file.path(), None, &|_, _| {}).unwrap();
            assert_eq!(input.rows(Some("c"), &ty), Some(all));
            assert_eq!(print_value(&input.read_rows(Some("c"), &ty, 0..all).unwrap()), whole);
            for (lo, hi) in (0..=all).flat_map(|lo| (lo..=all).map(move |hi| (lo, hi))) {
                let some = input.read_rows(Some("c"), &ty, lo..hi).unwrap();
                let wanted = print_value(&sliced(&input.read(Some("c"), &ty).unwrap(), lo, hi));
                assert_eq!(print_value(&some), wanted, "{lo}..{hi}");
            }
        }
    }
}

/// Rows of an array of scalars or of lists of them.
fn sliced(value: &par_runtime::Value, lo: usize, hi: usize) -> par_runtime::Value {
    use par_runtime::Array;
    let mut columns = vec![Column::Size((hi - lo) as i64)];
    let (mut lo, mut hi) = (lo, hi);
    for column in &value.columns[1..] {
        columns.push(match column {
            Column::Offsets(all) => {
                let own = &all.slice::<i64>()[lo..=hi];
                let rebased: Vec<i64> = own.iter().map(|o| o - own[0]).collect();
                (lo, hi) = (own[0] as usize, own[own.len() - 1] as usize);
                Column::Offsets(Array::from_slice(&rebased))
            }
            Column::Data(all) => Column::Data(all.try_slice(lo, hi - lo).unwrap()),
            other => other.clone(),
        });
    }
    par_runtime::Value { ty: value.ty.clone(), columns }
}

#[test]
fn a_missing_value_in_some_rows_says_where_they_begin() {
    let batches: Vec<ArrayRef> = vec![Arc::new(Int32Array::from(vec![Some(1), Some(2), Some(3), None]))];
    for file in in_groups(&batches) {
        let mut input = Input::open(file.path(), None, &|_, _| {}).unwrap();
        assert!(input.read_rows(Some("c"), &array(Prim::I32), 0..2).is_ok());
        let e = input.read_rows(Some("c"), &array(Prim::I32), 2..4).unwrap_err();
        assert_eq!(e.message, "column `c` has no value in row 1 (counted from row 2)");
    }
}

#[test]
fn a_file_that_is_cut_off_has_no_rows() {
    let batches: Vec<ArrayRef> = vec![Arc::new(Int32Array::from(vec![1, 2, 3]))];
    for file in in_groups(&batches) {
        let bytes = std::fs::read(file.path()).unwrap();
        for end in 1..bytes.len() {
            std::fs::write(file.path(), &bytes[..end]).unwrap();
            let mut input = Input::open(file.path(), None, &|_, _| {}).unwrap();
            let rows = input.rows(Some("c"), &array(Prim::I32));
            assert!(rows.is_none() || input.read(Some("c"), &array(Prim::I32)).is_ok());
        }
    }
}
