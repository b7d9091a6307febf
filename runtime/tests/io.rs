//! Values in text and binary form: reading, printing, comparing, and that no bytes make a reader panic.

use par_runtime::io::compare::{Tolerance, compare, differences, values_equal};
use par_runtime::io::text::{print_value, read_any, read_some, read_values};
use par_runtime::io::{binary, npy};
use par_runtime::{Array, Column, Prim, Scalar, Value, ValueType};
use proptest::prelude::*;

fn prim(name: &str) -> ValueType {
    ValueType::Prim(Prim::from_name(name).unwrap())
}

fn matrix(name: &str) -> ValueType {
    ValueType::array(ValueType::array(prim(name)))
}

fn ragged(name: &str) -> ValueType {
    ValueType::array(ValueType::ragged(prim(name)))
}

fn pair() -> ValueType {
    ValueType::Tuple(vec![prim("i32"), ValueType::array(prim("f32"))])
}

fn record() -> ValueType {
    ValueType::Record(vec![("a".into(), prim("i32")), ("b".into(), prim("bool"))].into())
}

fn read(text: &str, ty: ValueType) -> String {
    match read_values(text, &[ty]) {
        Ok(values) => print_value(&values[0]),
        Err(e) => format!("{}..{} {}", e.range.start, e.range.end, e.message),
    }
}

fn free(text: &str) -> String {
    match read_any(text) {
        Ok(values) => values.iter().map(print_value).collect::<Vec<_>>().join(" "),
        Err(e) => format!("{}..{} {}", e.range.start, e.range.end, e.message),
    }
}

fn sum() -> ValueType {
    let payload = |name: &str| vec![ValueType::ragged(prim(name))];
    let inner = ValueType::Sum(vec![("x".into(), vec![prim("i8")]), ("y".into(), vec![])]);
    let cases = [("a", vec![prim("i32"), inner]), ("b", vec![]), ("c", payload("f32"))];
    ValueType::Sum(cases.map(|(name, ts)| (name.into(), ts)).to_vec())
}

#[test]
fn sums() {
    let array = |ty| ValueType::array(ty);
    let text = "[#a 1i32 (#x 2i8), #b, #a 3i32 #y, #c [1.5f32]]";
    assert_eq!(read(text, array(sum())), text);
    assert_eq!(read("[#a (-1) (#x (2)), #c ([1.5])]", array(sum())), "[#a -1i32 (#x 2i8), #c [1.5f32]]");
    assert_eq!(
        read("[((#b)), #c []]", array(sum())),
        "[#b, #c []] : [](#a i32 (#x i8 | #y) | #b | #c []f32)"
    );
    assert_eq!(
        read("[] : [](#a i32 (#x i8 | #y) | #b | #c []f32)", array(sum())),
        "[] : [](#a i32 (#x i8 | #y) | #b | #c []f32)"
    );
    assert_eq!(read("[#d]", array(sum())), "1..3 no constructor `#d` is expected");
    assert_eq!(read("[#a 1]", array(sum())), "5..6 expected a constructor like `#name`, found `]`");
    assert_eq!(free("#b"), "0..1 a value of a sum type can be read only where its type is known");
    assert!(read(&"(".repeat(1_000_000), array(sum())).contains("expected"));
    let value = |text| read_values(text, &[array(sum())]).unwrap().remove(0);
    let differ = compare(&value("[#b, #a 1 #y]"), &value("[#b, #c []]"), |_| Tolerance::EXACT);
    assert_eq!(differ, Err("at [1]: #a and #c".into()));
    assert!(values_equal(&value("[#b, #a 1 #y]"), &value("[#b, #a 1 #y]"), Tolerance::EXACT));
}

#[test]
fn scalars() {
    let cases = [
        ("3", "i32", "3i32"),
        (" -3i8 -- a comment\n", "i8", "-3i8"),
        ("0xff", "u8", "255u8"),
        ("0xffi64", "i64", "255i64"),
        ("0b1_01u8", "u8", "5u8"),
        ("1_000", "i64", "1000i64"),
        ("-9223372036854775808", "i64", "-9223372036854775808i64"),
        ("18446744073709551615", "u64", "18446744073709551615u64"),
        ("1.5", "f64", "1.5f64"),
        ("1e3f32", "f32", "1000.0f32"),
        ("-1.5e-3", "f64", "-0.0015f64"),
        ("3", "f32", "3.0f32"),
        ("0.1f32", "f32", "0.1f32"),
        ("-0.0", "f64", "-0.0f64"),
        ("f32.nan", "f32", "f32.nan"),
        ("f64.inf", "f64", "f64.inf"),
        ("-f32.inf", "f32", "-f32.inf"),
        ("nan", "f64", "f64.nan"),
        ("NaN", "f32", "f32.nan"),
        ("-inf", "f64", "-f64.inf"),
        ("Infinity", "f16", "f16.inf"),
        ("true", "bool", "true"),
    ];
    for (text, ty, printed) in cases {
        assert_eq!(read(text, prim(ty)), printed, "{text}");
    }
}

#[test]
fn wrong_scalars() {
    let cases = [
        ("300", "u8", "0..3 `300` does not fit u8"),
        ("-1", "u8", "0..2 `-1` does not fit u8"),
        ("128i8", "i8", "0..5 `128i8` does not fit i8"),
        ("3i32", "i64", "0..4 `3i32` has type i32, but i64 is expected"),
        ("1.5", "i32", "0..3 `1.5` is not an integer, but i32 is expected"),
        ("true", "i32", "0..4 `true` has type bool, but i32 is expected"),
        ("1", "bool", "0..1 `1` is a number, but bool is expected"),
        ("nan", "i32", "0..3 `nan` is not an integer, but i32 is expected"),
        ("f64.inf", "f32", "0..7 `f64.inf` has type f64, but f32 is expected"),
        ("1e39", "f32", "0..4 `1e39` is too large for f32"),
        ("1.", "f32", "0..2 `1.` is not a number"),
        ("é", "i32", "0..2 `é` is not a value"),
        ("3 4", "i32", "2..3 expected one value, but the input goes on"),
        ("", "i32", "0..0 a value of type i32 is missing"),
        ("12x", "i32", "0..3 `12x` is not a number"),
        ("3f16", "f32", "0..4 `3f16` has type f16, but f32 is expected"),
        ("65520", "f16", "0..5 `65520` is too large for f16"),
        ("[1]", "i32", "0..1 expected a value of type i32, found `[`"),
    ];
    for (text, ty, message) in cases {
        assert_eq!(read(text, prim(ty)), message, "{text}");
    }
}

#[test]
fn arrays() {
    assert_eq!(read("[1, 2,3 ]", ValueType::array(prim("i32"))), "[1i32, 2i32, 3i32]");
    assert_eq!(read("[]", ValueType::array(prim("i32"))), "empty([0]i32)");
    assert_eq!(read("empty([0]i32)", ValueType::array(prim("i32"))), "empty([0]i32)");
    assert_eq!(read("[] : []i32", ValueType::array(prim("i32"))), "empty([0]i32)");
    assert_eq!(read("[[1,2],[3,4]]", matrix("i8")), "[[1i8, 2i8], [3i8, 4i8]]");
    assert_eq!(read("empty([0][3]i32)", matrix("i32")), "empty([0][3]i32)");
    assert_eq!(read("[[],[]]", matrix("i32")), "empty([2][0]i32)");
    assert_eq!(read("[[6,5],[2],[]]", ragged("i32")), "[[6i32, 5i32], [2i32], []]");
    assert_eq!(read("[[], [], []] : [][]i32", ragged("i32")), "[[], [], []] : [][]i32");
    assert_eq!(
        read("empty([0]i32)", matrix("i32")),
        "0..13 `empty` has another type: an array is expected there"
    );
    assert_eq!(read("empty([2][0]i32)", ragged("i32")), "[[], []] : [][]i32");
    assert_eq!(read("\"ab\\n\"", ValueType::array(prim("u8"))), "[97u8, 98u8, 10u8]");
    let deep = ValueType::array(ValueType::ragged(ValueType::array(prim("i32"))));
    assert_eq!(
        read("[[[1,2]],[],[[3,4],[5,6]]]", deep.clone()),
        "[[[1i32, 2i32]], [], [[3i32, 4i32], [5i32, 6i32]]]"
    );
    assert_eq!(read("[[]] : [][][3]i32", deep), "[[]] : [][][3]i32");
}

#[test]
fn wrong_arrays() {
    assert_eq!(read("[[1,2],[3]]", matrix("i32")), "7..10 row 1 has length 1, but length 2 is needed");
    assert_eq!(
        read("[1, 2", ValueType::array(prim("i32"))),
        "5..5 expected `,` or `]`, found the end of the input"
    );
    assert_eq!(read("[1 2]", ValueType::array(prim("i32"))), "3..4 expected `,` or `]`, found `2`");
    assert_eq!(read("3", ValueType::array(prim("i32"))), "0..1 expected an array, found `3`");
    assert_eq!(
        read("[] : []i64", ValueType::array(prim("i32"))),
        "5..10 the type written is i64, but i32 is expected"
    );
    assert_eq!(read("empty([2]i32)", ValueType::array(prim("i32"))), "0..13 `empty` needs a size of 0");
    let three = ValueType::Array { ragged: false, size: Some("3".into()), elem: Box::new(prim("i32")) };
    assert_eq!(read("[1]", three), "0..3 the array has length 1, but length 3 is needed");
    let huge = format!("empty([{}][0]i32)", i64::MAX);
    assert_eq!(read(&huge, ragged("i32")), "0..34 `empty` with too many rows");
}

#[test]
fn tuples_and_records() {
    assert_eq!(read("(1, [2])", pair()), "(1i32, [2.0f32])");
    assert_eq!(read("{b = true, a = 1}", record()), "{a = 1i32, b = true}");
    assert_eq!(read("{a = 1}", record()), "0..7 the record has no field `b`");
    assert_eq!(read("{a = 1, c = 2}", record()), "8..9 no field `c` is expected");
    assert_eq!(
        read(
            "[(1, []), (2, [1,2])]",
            ValueType::array(ValueType::Tuple(vec![prim("i32"), ValueType::ragged(prim("f32"))]))
        ),
        "[(1i32, []), (2i32, [1.0f32, 2.0f32])]"
    );
    assert_eq!(read("()", ValueType::Tuple(vec![])), "()");
    assert_eq!(read("[{a=1,b=false}]", ValueType::array(record())), "[{a = 1i32, b = false}]");
}

#[test]
fn sizes_that_no_row_shows_come_from_their_name() {
    let named =
        |s: &str, elem| ValueType::Array { ragged: false, size: Some(s.into()), elem: Box::new(elem) };
    let types = [named("n", named("m", prim("i32"))), named("m", prim("i32"))];
    let values = read_values("[] [1,2,3]", &types).unwrap();
    assert_eq!(print_value(&values[0]), "empty([0][3]i32)");
}

#[test]
fn guessed_types() {
    assert_eq!(free("1 2.5 true 3u8"), "1i32 2.5f64 true 3u8");
    assert_eq!(free("[1, 2i64]"), "[1i64, 2i64]");
    assert_eq!(free("[[1,2],[3]]"), "[[1i32, 2i32], [3i32]]");
    assert_eq!(free("[[],[1]]"), "[[], [1i32]]");
    assert_eq!(free("[[1,2],[3,4]] empty([0][2]f32)"), "[[1i32, 2i32], [3i32, 4i32]] empty([0][2]f32)");
    assert_eq!(free("[[], []] : [][]i32"), "[[], []] : [][]i32");
    assert_eq!(free("(1, {x = [1.5f32]})"), "(1i32, {x = [1.5f32]})");
    assert_eq!(free("[(1, [2]), (3, [])]"), "[(1i32, [2i32]), (3i32, [])]");
    assert_eq!(free("[1, true]"), "4..8 the elements differ in type");
    assert!(free("[]").contains("the type of this value is unknown"));
}

#[test]
fn deep_nesting_is_an_error() {
    let deep = "[".repeat(1_000_000);
    assert!(free(&deep).contains("nested more than 200 deep"));
    assert!(free(&"(".repeat(1_000_000)).contains("nested more than 200 deep"));
    assert!(free(&format!("[] : {}i32", "[]".repeat(1_000_000))).contains("nested more than 200 deep"));
    assert!(read(&deep, ragged("i32")).contains("expected a value of type i32"));
    assert!(free("[[[[1]]]]") == "[[[[1i32]]]]");
}

#[test]
fn fewer_values_than_types() {
    let types = [prim("i32"), prim("i32")];
    assert_eq!(read_some("1", &types).unwrap().len(), 1);
    let e = read_values("1", &types).unwrap_err();
    assert_eq!((e.index, e.message.as_str()), (1, "a value of type i32 is missing"));
    assert_eq!(read_values("1 x", &types).unwrap_err().index, 1);
}

#[test]
fn a_million_elements() {
    let text = format!("[{}]", (0..1_000_000).map(|i| i.to_string()).collect::<Vec<_>>().join(", "));
    let values = read_values(&text, &[ValueType::array(prim("i32"))]).unwrap();
    let printed = print_value(&values[0]);
    assert!(printed.ends_with("999999i32]"));
}

#[test]
fn comparing() {
    let one = |text: &str, ty: ValueType| read_values(text, &[ty]).unwrap().remove(0);
    assert!(values_equal(
        &one("[[1,2],[3,4]]", ragged("i32")),
        &one("[[1,2],[3,4]]", matrix("i32")),
        Tolerance::EXACT
    ));
    assert!(values_equal(&one("f32.nan", prim("f32")), &one("f32.nan", prim("f32")), Tolerance::EXACT));
    assert!(values_equal(&one("1.0000001", prim("f32")), &one("1", prim("f32")), Tolerance::F32));
    assert!(!values_equal(&one("1.001", prim("f32")), &one("1", prim("f32")), Tolerance::F32));
    assert!(!values_equal(&one("f64.inf", prim("f64")), &one("1", prim("f64")), Tolerance::F64));
    assert!(!values_equal(&one("1", prim("i64")), &one("1", prim("i32")), Tolerance::EXACT));
    assert!(!values_equal(
        &one("empty([0][3]i32)", matrix("i32")),
        &one("empty([0][2]i32)", matrix("i32")),
        Tolerance::EXACT
    ));
    let diff = |a: &str, b: &str| {
        compare(&one(a, ragged("i32")), &one(b, ragged("i32")), |_| Tolerance::EXACT).unwrap_err()
    };
    assert_eq!(diff("[[1],[],[2,3]]", "[[1],[],[2,4]]"), "at [2][1]: 3i32 and 4i32");
    assert_eq!(diff("[[1],[2]]", "[[1],[2,4]]"), "at [1]: length 1 and length 2");
    assert_eq!(diff("[[1],[2]]", "[[1]]"), "length 2 and length 1");
    let (a, b) = (one("[[1],[2,5],[3]]", ragged("i32")), one("[[0],[2,6,7],[4],[]]", ragged("i32")));
    let all = differences(&a, &b, |_| Tolerance::EXACT, 10).unwrap();
    let all: Vec<String> = all.iter().map(|d| d.to_string()).collect();
    let expected = [
        "length 3 and length 4",
        "at [0][0]: 1i32 and 0i32",
        "at [1]: length 2 and length 3",
        "at [1][1]: 5i32 and 6i32",
        "at [2][0]: 3i32 and 4i32",
    ];
    assert_eq!(all, expected);
    let some = differences(&a, &b, |_| Tolerance::EXACT, 2).unwrap();
    assert_eq!(some.len(), 2);
}

#[test]
fn binary_round_trip() {
    let types = [matrix("i32"), prim("bool"), ValueType::array(prim("f64")), prim("u8")];
    let values = read_values("[[1,2,3],[4,5,6]] true [1.5] 7", &types).unwrap();
    let mut bytes = b" \n".to_vec();
    for value in &values {
        binary::write_value(value, &mut bytes).unwrap();
        bytes.push(b'\n');
    }
    assert!(binary::is_binary(&bytes));
    assert_eq!(binary::read_some(&bytes, &types).unwrap(), values);
    let wrong = binary::read_some(&bytes, &[matrix("i64")]).unwrap_err();
    assert_eq!(wrong.message, "the value has type [2][3]i32, but [][]i64 is expected");
    let as_ragged = binary::read_some(&bytes[..9 + 16 + 24 + 1], &[ragged("i32")]).unwrap();
    assert_eq!(print_value(&as_ragged[0]), "[[1i32, 2i32, 3i32], [4i32, 5i32, 6i32]]");
    let e =
        binary::write_value(&read_values("[[1],[]]", &[ragged("i32")]).unwrap()[0], &mut bytes).unwrap_err();
    assert_eq!(e, "a value of type [][]i32 has no binary form: only regular arrays of scalars have one");
}

#[test]
fn a_lying_header_allocates_nothing() {
    let mut bytes = b"b\x02\x02 i64".to_vec();
    bytes.extend_from_slice(&(1i64 << 20).to_le_bytes());
    bytes.extend_from_slice(&(1i64 << 20).to_le_bytes());
    assert!(binary::read_some(&bytes, &[matrix("i64")]).unwrap_err().message.contains("cut off"));
    let mut empty = b"b\x02\x02 i64".to_vec();
    empty.extend_from_slice(&(1i64 << 50).to_le_bytes());
    empty.extend_from_slice(&0i64.to_le_bytes());
    assert!(binary::read_some(&empty, &[ragged("i64")]).unwrap_err().message.contains("too many"));
}

#[test]
fn npy_round_trip_and_refusals() {
    let value = read_values("[[1,2,3],[4,5,6]]", &[matrix("f32")]).unwrap().remove(0);
    let bytes = npy::write_value(&value).unwrap();
    assert_eq!(bytes.len() % 64, 24);
    assert_eq!(npy::read_value(&bytes, &matrix("f32")).unwrap(), value);
    let swap = |from: &str, to: &str| {
        let text: Vec<u8> = bytes.clone();
        let at = text.windows(from.len()).position(|w| w == from.as_bytes()).unwrap();
        [&text[..at], to.as_bytes(), &text[at + from.len()..]].concat()
    };
    let message = |bytes: &[u8]| npy::read_value(bytes, &matrix("f32")).unwrap_err().message;
    let mut big = swap("<f4", ">f4");
    big[128..].chunks_exact_mut(4).for_each(<[u8]>::reverse);
    assert_eq!(npy::read_value(&big, &matrix("f32")).unwrap(), value);
    let fortran = swap("'fortran_order': False", "'fortran_order': True ");
    let read = npy::read_value(&fortran, &matrix("f32")).unwrap();
    assert_eq!(print_value(&read), "[[1.0f32, 3.0f32, 5.0f32], [2.0f32, 4.0f32, 6.0f32]]");
    assert!(message(&swap("(2, 3, )", "(2, 4, )")).contains("the data is cut off"));
    assert!(message(&swap("(2, 3, )", "(2, 2, )")).contains("goes on for 8 bytes"));
    assert!(message(&swap("<f4", "<c8")).contains("not supported"));
    assert!(message(&bytes[..40]).contains("cut off"));
}

/// `numpy.save` of `float16([1.5, -0.1, inf])`, and the same in Futhark's binary format.
#[test]
fn halves_in_binary() {
    let header = "{'descr': '<f2', 'fortran_order': False, 'shape': (3,), }";
    let data = [0x00, 0x3e, 0x66, 0xae, 0x00, 0x7c];
    let text = format!("{header:<117}\n");
    let file = [b"\x93NUMPY\x01\x00\x76\x00", text.as_bytes(), &data].concat();
    let ty = ValueType::array(prim("f16"));
    let value = npy::read_value(&file, &ty).unwrap();
    assert_eq!(print_value(&value), "[1.5f16, -0.1f16, f16.inf]");
    assert_eq!(npy::read_value(&npy::write_value(&value).unwrap(), &ty).unwrap(), value);
    let mut bytes = Vec::new();
    binary::write_value(&value, &mut bytes).unwrap();
    assert_eq!(bytes, [b"b\x02\x01 f16\x03\0\0\0\0\0\0\0", &data[..]].concat());
    assert_eq!(binary::read_some(&bytes, &[ty]).unwrap(), [value]);
}

#[test]
fn malformed_values_are_reported() {
    let value = Value { ty: ragged("i32"), columns: vec![Column::Size(2), Column::Size(1)] };
    assert!(print_value(&value).contains("malformed"));
    let value = Value::vector(Array::from_scalars(Prim::I8, &[Scalar::I8(1)]));
    assert_eq!(print_value(&value), "[1i8]");
}

fn types() -> Vec<ValueType> {
    vec![prim("i32"), prim("f32"), matrix("u8"), ragged("i64"), pair(), record(), ValueType::array(record())]
}

/// A ragged value of depth three with all kinds of shapes.
fn rows() -> impl Strategy<Value = Vec<Vec<Vec<i16>>>> {
    let row = prop::collection::vec(any::<i16>(), 0..4);
    prop::collection::vec(prop::collection::vec(row, 0..4), 0..5)
}

proptest! {
    #[test]
    fn printing_and_reading_agree(rows in rows()) {
        let ty = ValueType::array(ValueType::ragged(ValueType::ragged(prim("i16"))));
        let text = format!("{rows:?}");
        let value = read_values(&text, std::slice::from_ref(&ty)).unwrap().remove(0);
        let printed = print_value(&value);
        prop_assert_eq!(&read_values(&printed, &[ty]).unwrap()[0], &value);
        let guessed = read_any(&printed).unwrap().remove(0);
        prop_assert!(values_equal(&guessed, &value, Tolerance::EXACT));
    }

    #[test]
    fn floats_print_exactly(x: f32, y: f64, z: u16) {
        let z = Scalar::from_bits(Prim::F16, z.into());
        let text = format!("{} {} {z}", Scalar::F32(x), Scalar::F64(y));
        let values = read_any(&text).unwrap();
        let expected = [Value::scalar(Scalar::F32(x)), Value::scalar(Scalar::F64(y)), Value::scalar(z)];
        for (a, b) in values.iter().zip(&expected) {
            prop_assert!(values_equal(a, b, Tolerance::EXACT), "{}", text);
        }
    }

    #[test]
    fn no_text_panics(text in "[\\[\\](){},:=.\"\\\\ a-fx0-9_iu-]{0,40}|\\PC{0,30}") {
        let _ = read_any(&text);
        for ty in types() {
            let _ = read_some(&text, &[ty]);
        }
    }

    #[test]
    fn no_bytes_panic(tail in prop::collection::vec(any::<u8>(), 0..60), rank in 0u8..4, which in 0usize..12) {
        let name = format!("{:>4}", Prim::ALL[which].name());
        let bytes = [&[b'b', 2, rank], name.as_bytes(), &tail].concat();
        let header = format!("{{'descr': '<i{}', 'fortran_order': False, 'shape': ({}, {}), }}", which, rank, tail.len());
        let npy = [b"\x93NUMPY\x01\x00", &[header.len() as u8, 0][..], header.as_bytes(), &tail].concat();
        for ty in types() {
            let _ = binary::read_some(&bytes, std::slice::from_ref(&ty));
            let _ = binary::read_some(&tail, std::slice::from_ref(&ty));
            let _ = npy::read_value(&npy, &ty);
            let _ = npy::read_value(&npy[..npy.len().min(rank as usize * 9)], &ty);
        }
    }
}
