//! Every format: what is written is read back, and what other programs have written is read as they mean it.

use par_data::{Format, Input, Target};
use par_runtime::io::text::{print_value, read_values};
use par_runtime::{Prim, Value, ValueType};
use std::path::{Path, PathBuf};

fn prim(name: &str) -> ValueType {
    ValueType::Prim(Prim::from_name(name).unwrap())
}

fn array(elem: ValueType) -> ValueType {
    ValueType::array(elem)
}

fn ragged(elem: ValueType) -> ValueType {
    ValueType::array(ValueType::ragged(elem))
}

fn sized(size: &str, elem: ValueType) -> ValueType {
    ValueType::Array { ragged: false, size: Some(size.into()), elem: Box::new(elem) }
}

fn record(fields: &[(&str, ValueType)]) -> ValueType {
    ValueType::Record(fields.iter().map(|(n, t)| (n.to_string(), t.clone())).collect())
}

fn text() -> ValueType {
    ValueType::ragged(prim("u8"))
}

fn value(text: &str, ty: &ValueType) -> Value {
    read_values(text, std::slice::from_ref(ty)).unwrap().remove(0)
}

struct Folder(tempfile::TempDir);

impl Folder {
    fn new() -> Folder {
        Folder(tempfile::tempdir().unwrap())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn write(&self, name: &str, value: Value) -> Result<PathBuf, String> {
        let path = self.path(name);
        let target = Target { path: Some(path.clone()), format: Format::from_path(&path).unwrap() };
        target.write(value).map(|()| path).map_err(|e| e.to_string())
    }

    fn file(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        std::fs::write(self.path(name), content).unwrap();
        self.path(name)
    }
}

fn read(path: &Path, part: Option<&str>, ty: &ValueType) -> Result<String, String> {
    let mut input = Input::open(path, None, &|_, _| {}).map_err(|e| e.to_string())?;
    input.read(part, ty).map(|v| print_value(&v)).map_err(|e| e.to_string())
}

/// The value comes back from each of the formats.
fn round(formats: &[&str], ty: &ValueType, written: &str) {
    let folder = Folder::new();
    let value = value(written, ty);
    for format in formats {
        let path = folder
            .write(&format!("value.{format}"), value.clone())
            .unwrap_or_else(|e| panic!("{format}: {e}"));
        assert_eq!(read(&path, None, ty).as_deref(), Ok(&*print_value(&value)), "{format}");
    }
}

const COLUMNS: &[&str] = if cfg!(feature = "arrow") {
    &["csv", "tsv", "npz", "arrow", "arrows", "parquet"]
} else {
    &["csv", "tsv", "npz"]
};
const TREES: &[&str] =
    if cfg!(feature = "arrow") { &["npz", "arrow", "arrows", "parquet"] } else { &["npz"] };

#[test]
fn arrays_of_scalars() {
    for (name, numbers) in [
        ("i8", "[-128, 127]"),
        ("u64", "[18446744073709551615, 0]"),
        ("i64", "[-9223372036854775808]"),
        ("f32", "[0.1, -1e-40, f32.inf, f32.nan]"),
        ("f64", "[0.1, 1e300, -f64.inf]"),
        ("f16", "[0.1, 65504.0]"),
        ("bool", "[true, false]"),
    ] {
        round(&["npy"], &array(prim(name)), numbers);
        round(COLUMNS, &array(prim(name)), numbers);
    }
    round(&["npy", "csv", "npz"], &array(sized("m", prim("i32"))), "[[1, 2, 3], [4, 5, 6]]");
    round(&["npy"], &prim("f64"), "1.5");
}

#[test]
fn tables() {
    let row = record(&[("flag", prim("bool")), ("name", text()), ("x", prim("f64"))]);
    let rows = "[{flag = true, name = \"a, \\\"b\\\"\", x = 1.5}, {flag = false, name = \"\", x = -2.0}]";
    round(COLUMNS, &array(row.clone()), rows);
    let columns = record(&[("id", array(prim("i32"))), ("name", array(text()))]);
    round(COLUMNS, &columns, "{id = [1, 2], name = [\"one\", \"two\\n\"]}");
    round(COLUMNS, &ValueType::Tuple(vec![array(prim("i32")), array(prim("u8"))]), "([1, 2], [3, 4])");
    round(COLUMNS, &array(ValueType::Tuple(vec![prim("i32"), prim("f32")])), "[(1, 2.5)]");
    round(COLUMNS, &record(&[("n", prim("i64")), ("x", prim("f32"))]), "{n = 7, x = 0.5}");
    let wide = record(&[("id", prim("i64")), ("xs", ValueType::ragged(prim("f32")))]);
    round(COLUMNS, &array(wide), "[{id = 1, xs = [1.5, 2.0]}, {id = 2, xs = []}]");
}

/// Optional type: the constructor without a value comes first or last, by its name.
fn optional(none: &str, some: &str, ty: ValueType) -> ValueType {
    let mut cases = vec![(none.to_string(), vec![]), (some.to_string(), vec![ty])];
    cases.sort_by(|a, b| a.0.cmp(&b.0));
    ValueType::Sum(cases)
}

#[test]
fn missing_values() {
    let with_csv = &COLUMNS[if cfg!(feature = "arrow") { 3 } else { 2 }..];
    for formats in [&["csv", "tsv"][..], if cfg!(feature = "arrow") { with_csv } else { &[] }] {
        let number = optional("none", "some", prim("f32"));
        round(formats, &array(number.clone()), "[#some 1, #none, #some 0, #none]");
        round(formats, &array(number.clone()), "[#none, #none]");
        round(formats, &array(number.clone()), "[]");
        let row = record(&[
            ("id", prim("i32")),
            ("name", optional("unknown", "is", text())),
            ("xs", optional("absent", "row", ValueType::ragged(prim("i64")))),
        ]);
        let rows = "[{id = 1, name = #is \"a\", xs = #absent}, {id = 2, name = #unknown, xs = #row []}, {id = 3, name = #is \"b\", xs = #row [1, 2]}]";
        round(formats, &array(row), rows);
        let columns = record(&[("a", array(number)), ("b", array(optional("no", "yes", prim("bool"))))]);
        round(formats, &columns, "{a = [#none, #some 2], b = [#yes true, #no]}");
    }
    if cfg!(feature = "arrow") {
        let inside = ValueType::ragged(optional("none", "some", prim("u8")));
        round(with_csv, &array(inside), "[[#some 1, #none], [], [#none]]");
        let point = optional("none", "some", record(&[("x", prim("f64")), ("y", prim("f64"))]));
        round(with_csv, &array(point), "[#none, #some {x = 1, y = 2}]");
    }
    let folder = Folder::new();
    let words = folder.file("w.csv", "n,text\nNA,NA\nnull,\n 7 , \n");
    let both =
        record(&[("n", optional("none", "some", prim("i8"))), ("text", optional("none", "some", text()))]);
    let read_words = read(&words, None, &array(both));
    assert_eq!(
        read_words.as_deref(),
        Ok(
            "[{n = #none, text = #some [78u8, 65u8]}, {n = #none, text = #none}, {n = #some 7i8, text = #none}]"
        )
    );
    let wrong = folder.file("wrong.csv", "n\n1\nunknown\n");
    let error = read(&wrong, None, &array(optional("none", "some", prim("i8")))).unwrap_err();
    assert_eq!(error, "3: column `n`: `unknown` is no value of type i8");
    let twice = optional("none", "some", optional("none", "some", prim("i8")));
    assert!(folder.write("t.csv", value("[#some (#some 1)]", &array(twice))).is_err());
    let number = value("[#some 1, #none]", &array(optional("none", "some", prim("f32"))));
    assert!(folder.write("n.npz", number).unwrap_err().contains("NumPy"));
}

#[test]
fn irregular_values() {
    round(TREES, &ragged(prim("f32")), "[[1, 2], [], [3]]");
    round(&["csv", "tsv"], &ragged(prim("f32")), "[[1, 2], [], [3]]");
    round(&["csv", "tsv"], &ragged(prim("f32")), "[[], [1, 2], []]");
    round(&["csv", "tsv"], &ragged(prim("f32")), "[[], []]");
    round(TREES, &array(ValueType::ragged(ValueType::ragged(prim("i32")))), "[[[1], []], [], [[2, 3]]]");
    round(
        TREES,
        &ragged(ValueType::Tuple(vec![prim("i64"), prim("f64")])),
        "[[(0, 2.0), (2, 1.0)], [], [(1, 4.0)]]",
    );
    round(TREES, &array(text()), "[\"one\", \"\", \"\\xff\"]");
    round(TREES, &ragged(prim("i32")), "[] : [][]i32");
    let nested = record(&[
        ("at", record(&[("x", prim("f32")), ("y", prim("f32"))])),
        ("tags", ValueType::ragged(prim("u8"))),
    ]);
    round(TREES, &array(nested), "[{at = {x = 1, y = 2}, tags = [1, 2]}, {at = {x = 3, y = 4}, tags = []}]");
    let fixed = ValueType::ragged(sized("2", prim("i16")));
    round(
        if cfg!(feature = "arrow") { &TREES[1..] } else { &[] },
        &array(fixed.clone()),
        "[[[1, 2]], [[3, 4], [5, 6]]]",
    );
    round(&["npz"], &array(fixed), "[[[1, 2]], [[3, 4], [5, 6]]]");
}

#[test]
fn archives_of_numpy() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/numpy");
    let two = folder.join("two.npz");
    let ty = record(&[("m", array(sized("k", prim("i32")))), ("n", prim("i64")), ("x", array(prim("f64")))]);
    let all = "{m = [[0i32, 1i32, 2i32], [3i32, 4i32, 5i32]], n = 7i64, x = [1.5f64, 2.5f64, -3.0f64]}";
    assert_eq!(read(&two, None, &ty).as_deref(), Ok(all));
    assert_eq!(read(&two, Some("n"), &prim("i32")).as_deref(), Ok("7i32"));
    assert_eq!(
        read(&two, Some("y"), &prim("i32")).unwrap_err(),
        "there is no `y`: the file has `x`, `n`, `m`"
    );
    let wrong = read(&two, Some("x"), &array(prim("f32"))).unwrap_err();
    assert_eq!(wrong, "elements have type f64, but f32 is expected");
    let packed = folder.join("compressed.npz");
    assert_eq!(
        read(&packed, Some("rows"), &ragged(prim("i64"))).as_deref(),
        Ok("[[5i64, 6i64], [], [7i64]]")
    );
    let big = folder.join("big_endian.npy");
    assert_eq!(read(&big, None, &ragged(prim("i16"))).as_deref(), Ok("[[1i16, 2i16], [3i16, 4i16]]"));
}

#[test]
fn columns_of_text() {
    let folder = Folder::new();
    let file = folder.file("t.csv", "\u{feff}id, x ,name\r\n1,2.5,\"a\nb\"\r\n2,nan,\r\n");
    let name = record(&[("name", text()), ("x", prim("f32"))]);
    let rows = "[{name = [97u8, 10u8, 98u8], x = 2.5f32}, {name = [], x = f32.nan}]";
    assert_eq!(read(&file, None, &array(name)).as_deref(), Ok(rows));
    assert_eq!(read(&file, Some("id"), &array(prim("i64"))).as_deref(), Ok("[1i64, 2i64]"));
    assert_eq!(read(&file, Some("0"), &array(prim("u8"))).as_deref(), Ok("[1u8, 2u8]"));
    let error = |part, ty: &ValueType| read(&file, part, ty).unwrap_err();
    assert_eq!(error(Some("x"), &array(prim("i32"))), "2: column `x`: `2.5` is no value of type i32");
    assert_eq!(error(None, &array(prim("f32"))), "the file has `id`, `x`, `name`: choose one with FILE#NAME");
    let message = "there is no column `y`: the file has `id`, `x`, `name`";
    assert_eq!(error(Some("y"), &array(prim("f32"))), message);
    assert_eq!(error(None, &record(&[("y", array(prim("f32")))])), message);
    let semicolons = folder.file("s.csv", "1;2\n3;4\n");
    assert_eq!(read(&semicolons, None, &ragged(prim("i32"))).as_deref(), Ok("[[1i32, 2i32], [3i32, 4i32]]"));
    let short = folder.file("short.csv", "a,b\n1,2\n3\n");
    let both = record(&[("a", array(prim("i32"))), ("b", array(prim("i32")))]);
    assert_eq!(read(&short, None, &both).unwrap_err(), "3: the row has 1 cells, but the first one has 2");
    let missing = folder.file("missing.csv", "a,b\n1,2\n3,\n");
    let message = "3: column `b`: nothing stands where a value of type i32 is expected";
    assert_eq!(read(&missing, None, &both).unwrap_err(), message);
    let big = folder.file("big.csv", "300\n");
    assert_eq!(
        read(&big, None, &array(prim("u8"))).unwrap_err(),
        "1: column `0`: `300` is no value of type u8"
    );
    let colors = folder.file("colors.csv", "color\nred\ngreen\n");
    let sum = ValueType::Sum(vec![("green".into(), vec![]), ("red".into(), vec![])]);
    assert_eq!(read(&colors, None, &array(sum.clone())).as_deref(), Ok("[#red, #green]"));
    let wrong = folder.file("wrong.csv", "color\nblue\n");
    assert_eq!(read(&wrong, None, &array(sum)).unwrap_err(), "`blue` is none of #green | #red");
}

#[test]
fn matrices() {
    let folder = Folder::new();
    let entries = ragged(ValueType::Tuple(vec![prim("i64"), prim("f64")]));
    let general =
        "%%MatrixMarket matrix coordinate real general\n% a comment\n\n3 4 3\n1 3 1.5\n3 1 -1\n1 1 2e0\n";
    let general = folder.file("general.mtx", general);
    let rows = "[[(0i64, 2.0f64), (2i64, 1.5f64)], [], [(0i64, -1.0f64)]]";
    assert_eq!(read(&general, None, &entries).as_deref(), Ok(rows));
    let parts =
        record(&[("columns", ragged(prim("i32"))), ("n_cols", prim("i64")), ("values", ragged(prim("f32")))]);
    let parts_read =
        "{columns = [[0i32, 2i32], [], [0i32]], n_cols = 4i64, values = [[2.0f32, 1.5f32], [], [-1.0f32]]}";
    assert_eq!(read(&general, None, &parts).as_deref(), Ok(parts_read));
    assert_eq!(
        read(&general, Some("offsets"), &array(prim("i64"))).as_deref(),
        Ok("[0i64, 2i64, 2i64, 3i64]")
    );
    assert_eq!(read(&general, Some("row"), &array(prim("i64"))).as_deref(), Ok("[0i64, 0i64, 2i64]"));
    let dense = array(sized("m", prim("f32")));
    let zeros = "[[2.0f32, 0.0f32, 1.5f32, 0.0f32], [0.0f32, 0.0f32, 0.0f32, 0.0f32], [-1.0f32, 0.0f32, 0.0f32, 0.0f32]]";
    assert_eq!(read(&general, None, &dense).as_deref(), Ok(zeros));
    let skew =
        folder.file("skew.mtx", "%%MatrixMarket matrix coordinate integer skew-symmetric\n2 2 1\n2 1 5\n");
    let ints = ragged(ValueType::Tuple(vec![prim("i64"), prim("i32")]));
    assert_eq!(read(&skew, None, &ints).as_deref(), Ok("[[(1i64, -5i32)], [(0i64, 5i32)]]"));
    let pattern =
        folder.file("pattern.mtx", "%%MatrixMarket matrix coordinate pattern symmetric\n3 3 2\n1 1\n3 1\n");
    assert_eq!(
        read(&pattern, Some("columns"), &ragged(prim("i64"))).as_deref(),
        Ok("[[0i64, 2i64], [], [0i64]]")
    );
    let full = folder.file("full.mtx", "%%MatrixMarket matrix array real symmetric\n2 2\n1\n2\n3\n");
    let square = array(sized("m", prim("i32")));
    assert_eq!(read(&full, None, &square).as_deref(), Ok("[[1i32, 2i32], [2i32, 3i32]]"));
    round(&["mtx"], &square, "[[1, 2, 3], [4, 5, 6]]");
    round(&["mtx"], &entries, "[[(0, 2.0), (2, 1.5)], [], [(1, -0.1)]]");
    let wrong = |name: &str, text: &str| read(&folder.file(name, text), None, &entries).unwrap_err();
    let banner = "%%MatrixMarket matrix coordinate real general\n";
    assert_eq!(
        wrong("a.mtx", &format!("{banner}2 2 2\n1 1 1\n")),
        "4: the file is cut off: 1 of 2 entries are there"
    );
    assert!(wrong("b.mtx", &format!("{banner}2 2 1\n3 1 1\n")).starts_with("3: a row from 1 to 2"));
    assert!(wrong("c.mtx", &format!("{banner}2 2 1\n1 1 x\n")).starts_with("3: `x` is no value of type f64"));
    assert!(wrong("d.mtx", &format!("{banner}1 1 0\n1 1 1\n")).contains("goes on"));
    assert!(wrong("e.mtx", "%%MatrixMarket matrix coordinate complex general\n").contains("field `complex`"));
    assert!(wrong("f.mtx", &format!("{banner}99999999999 1 0\n")).contains("too many empty"));
}

#[test]
fn pictures() {
    let grey = array(sized("w", prim("u8")));
    round(&["png", "pgm"], &grey, "[[0, 128, 255], [1, 2, 3]]");
    round(&["png"], &array(sized("w", prim("u16"))), "[[0, 12345, 65535]]");
    round(&["png", "pgm"], &array(sized("w", prim("bool"))), "[[true, false]]");
    round(&["png"], &array(sized("w", prim("u32"))), "[[0xff102030, 0x80000000]]");
    let color = array(sized("w", sized("3", prim("u8"))));
    round(&["png", "ppm"], &color, "[[[255, 0, 0], [0, 255, 0]], [[0, 0, 255], [9, 8, 7]]]");
    let folder = Folder::new();
    let path = folder.write("c.png", value("[[[255, 0, 0], [255, 255, 255]]]", &color)).unwrap();
    let tuples = array(sized("w", ValueType::Tuple(vec![prim("f32"), prim("f32"), prim("f32")])));
    let read_tuples = read(&path, None, &tuples);
    assert_eq!(read_tuples.as_deref(), Ok("[[(1.0f32, 0.0f32, 0.0f32), (1.0f32, 1.0f32, 1.0f32)]]"));
    assert_eq!(read(&path, None, &array(sized("w", prim("f32")))).unwrap(), "[[0.21264973f32, 1.0f32]]");
    let floats = array(sized("w", prim("f32")));
    let path = folder.write("f.png", value("[[-1, 0.5, f32.nan, 7]]", &floats)).unwrap();
    assert_eq!(read(&path, None, &grey).as_deref(), Ok("[[0u8, 128u8, 0u8, 255u8]]"));
    let error = folder.write("e.png", value("[1, 2]", &array(prim("u8")))).unwrap_err();
    assert!(error.contains("a picture is of type [h][w]t") && error.contains("[2]u8"), "{error}");
    assert!(!folder.path("e.png").exists());
    assert!(folder.write("i.png", value("[[1]]", &array(sized("w", prim("i64"))))).is_err());
    assert!(read(&path, None, &array(prim("u8"))).unwrap_err().contains("but []u8 is expected"));
}

#[test]
fn what_does_not_fit_is_said() {
    let folder = Folder::new();
    let irregular = value("[[1], []]", &ragged(prim("i32")));
    let message = folder.write("x.npy", irregular.clone()).unwrap_err();
    assert!(
        message.contains("a .npy file holds one regular array of scalars, and this result is [2][]i32"),
        "{message}"
    );
    let path = folder.write("x.npz", irregular).unwrap();
    let regular = read(&path, None, &array(sized("m", prim("i32")))).unwrap_err();
    assert_eq!(regular, "rows of one length are expected, 1, but row 1 has length 0");
    let path = folder.write("y.npy", value("[1, 2]", &array(prim("i64")))).unwrap();
    assert_eq!(read(&path, None, &prim("i64")).unwrap_err(), "the file has [2]i64, but i64 is expected");
    assert_eq!(
        read(&path, None, &sized("3", prim("i64"))).unwrap_err(),
        "the file has [2]i64, but [3]i64 is expected"
    );
    assert_eq!(read(&path, Some("x"), &prim("i64")).unwrap_err(), "a file of format npy has no parts");
    assert!(read(&folder.path("nowhere"), None, &prim("i64")).unwrap_err().contains("No such file"));
    assert_eq!(read(&folder.path(""), None, &prim("i64")).unwrap_err(), "it is a folder");
    let sum = ValueType::Sum(vec![("a".into(), vec![prim("i32"), prim("i32")])]);
    assert!(
        folder.write("s.csv", value("#a 1 2", &sum)).unwrap_err().contains("can only be written as text")
    );
}

#[test]
fn json() {
    let row = record(&[
        ("name", text()),
        ("xs", ValueType::ragged(prim("f64"))),
        ("n", optional("none", "some", prim("i32"))),
    ]);
    let rows = "[{name = \"a\u{e9}\", xs = [1.5, -2], n = #some 3}, {name = \"\", xs = [], n = #none}]";
    round(&["json", "jsonl"], &array(row.clone()), rows);
    round(&["json"], &row, "{name = \"b\", xs = [0.5], n = #none}");
    round(
        &["json", "jsonl"],
        &array(ValueType::Tuple(vec![prim("u64"), prim("f32"), prim("bool")])),
        "[(18446744073709551615, 0.1, true), (0, 1e30, false)]",
    );
    round(&["json", "jsonl"], &array(array(prim("i8"))), "[[-128, 127], [0, 1]]");
    round(&["json", "jsonl"], &ragged(prim("f16")), "[[0.5], [], [2, 3]]");
    let folder = Folder::new();
    let table =
        folder.file("t.json", "[{\"x\": 1, \"y\": [\"p\", \"q\"], \"z\": 0}, {\"y\": [], \"x\": 2.0}]");
    let columns = record(&[("x", array(prim("i64"))), ("y", array(ValueType::ragged(text())))]);
    assert_eq!(read(&table, None, &columns).unwrap(), "{x = [1i64, 2i64], y = [[[112u8], [113u8]], []]}");
    assert_eq!(read(&table, Some("x"), &array(prim("u8"))).unwrap(), "[1u8, 2u8]");
    let lines = folder.file("t.ndjson", "{\"x\": 1}\n\n{\"x\": 3}\n");
    assert_eq!(read(&lines, Some("x"), &array(prim("f32"))).unwrap(), "[1.0f32, 3.0f32]");
    assert_eq!(read(&folder.file("empty.jsonl", ""), None, &array(prim("f32"))).unwrap(), "empty([0]f32)");
    let object = folder.file("o.json", "{\"a\": [[1, 2], [3]], \"b\": null}");
    assert_eq!(read(&object, Some("a"), &ragged(prim("i32"))).unwrap(), "[[1i32, 2i32], [3i32]]");
    let mut input = Input::open(&object, None, &|_, _| {}).unwrap();
    assert_eq!(input.names().unwrap(), ["a", "b"]);
    let shades =
        ValueType::Sum(vec![("dark".into(), vec![]), ("light".into(), vec![]), ("none".into(), vec![])]);
    round(&["json", "jsonl"], &array(shades.clone()), "[#light, #dark, #none]");
    let wrong = |content: &str, ty: &ValueType, message: &str| {
        assert_eq!(read(&folder.file("w.json", content), None, ty).unwrap_err(), message);
    };
    wrong("[1, 2.5]", &array(prim("i32")), "1:8: a value of type i32 is expected, and this is 2.5");
    wrong("[1,\n 300]", &array(prim("u8")), "2:5: a value of type u8 is expected, and this is 300");
    wrong(
        "[{\"x\": 1}]",
        &array(record(&[("y", prim("i32"))])),
        "1:9: an object has no `y`; others that it has: `x`",
    );
    wrong(
        "[null]",
        &array(prim("f64")),
        "1:5: a value of type f64 is expected, and this is null, which a type like `#none | #some t` would allow",
    );
    wrong(
        "[\"black\"]",
        &array(shades),
        "1:8: one of \"dark\", \"light\", \"none\" is expected, and this is `black`",
    );
    wrong("[1, 2", &array(prim("i32")), "1:5: EOF while parsing a list");
    wrong(
        "[[1, 2], [3]]",
        &array(ValueType::Tuple(vec![prim("i32"), prim("i32")])),
        "1:12: an array of 2 values is expected, and this has 1",
    );
    wrong("[1] 2", &array(prim("i32")), "1:5: trailing characters");
}

/// Numbers of JSON are rounded once, to the type that is wanted, or refused.
#[test]
fn numbers_of_json() {
    let folder = Folder::new();
    let read = |content: &str, ty: &str| read(&folder.file("n.json", content), None, &prim(ty));
    // Just above the middle of two neighbours of the type, which is the nearest number of the next larger one.
    let nearest = [
        ("f32", "1.00000005960464477540", "1.0000001f32"),
        ("f32", "-1.00000005960464477539", "-1.0f32"),
        ("f32", "72057598332895233", "7.20576e16f32"),
        ("f16", "1.000488281250000000001", "1.001f16"),
        ("f16", "1.00048828125", "1.0f16"),
        ("f16", "65519.99", "65504.0f16"),
        ("f64", "9007199254740993.0000000001", "9007199254740994.0f64"),
        ("f64", "2.2250738585072011e-308", "2.225073858507201e-308f64"),
        ("u64", "18446744073709551615", "18446744073709551615u64"),
        ("i64", "-9223372036854775808", "-9223372036854775808i64"),
        ("i64", "1.5e3", "1500i64"),
        ("i32", "9007199254740992e-16", ""),
    ];
    for (ty, written, expected) in nearest {
        match expected {
            "" => assert!(read(written, ty).is_err()),
            _ => assert_eq!(read(written, ty).unwrap(), expected, "{written}"),
        }
    }
    let wrong = [
        ("i64", "9007199254740993.0", "1:18: a value of type i64 is expected, and this is 9007199254740992"),
        (
            "i64",
            "-9223372036854775809",
            "1:20: a value of type i64 is expected, and this is -9223372036854776000",
        ),
        ("f32", "1e39", "1:4: number out of range"),
        ("f16", "65520", "a value of type f16 is expected, and this is 65520"),
        ("f32", "\"a\"", "1:3: a value of type f32 is expected, and this is `a`"),
        ("f32", "true", "1:4: a value of type f32 is expected, and this is true"),
        ("f32", "[1]", "1:1: a value of type f32 is expected, and this is an array"),
        ("f16", "\"a\"", "a value of type f16 is expected, and this is \"a\""),
        (
            "f32",
            "null",
            "1:4: a value of type f32 is expected, and this is null, which a type like `#none | #some t` would allow",
        ),
    ];
    for (ty, written, message) in wrong {
        assert_eq!(read(written, ty).unwrap_err(), message, "{written}");
    }
    let halves = folder.file("h.json", "[null, 0.5, null]");
    let optional = array(optional("none", "some", prim("f32")));
    assert_eq!(crate::read(&halves, None, &optional).unwrap(), "[#none, #some 0.5f32, #none]");
}
