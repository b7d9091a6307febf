use super::Analysis;
use crate::pipeline::Options;

const TEXT: &str = "\
-- | Twice its argument.
def double (x: i64) = 2 * x

entry main [n] (xs: [n]i64) (ks: [][]f32) : i64 =
  let ys = map double xs
  let inc i = i + n
  let (a, b) = (inc 1, ks)
  in loop s = a for k < length b do s + ys[k]
";

fn analysis(text: &str) -> Analysis {
    Analysis::of(text, "test.par", &Options::default())
}

/// Name, type and text of the definition at the n-th occurrence of a text.
fn at(a: &Analysis, text: &str, what: &str, n: usize) -> (String, String, String) {
    let offset = text.match_indices(what).nth(n).expect("it is there").0 as u32;
    let named = a.at(offset).unwrap_or_else(|| panic!("nothing at `{what}`"));
    let definition = named.definition.map_or(String::new(), |s| a.sources.text(s).to_string());
    (named.name.unwrap_or_default(), named.ty, definition)
}

#[track_caller]
fn is(found: (String, String, String), name: &str, ty: &str, definition: &str) {
    assert_eq!((found.0.as_str(), found.1.as_str(), found.2.as_str()), (name, ty, definition));
}

#[test]
fn names_have_types_and_definitions() {
    let a = analysis(TEXT);
    assert!(a.diagnostics.is_empty(), "{:?}", a.diagnostics);
    is(at(&a, TEXT, "double", 1), "double", "i64 -> i64", "double");
    is(at(&a, TEXT, "xs", 1), "xs", "[n]i64", "xs");
    is(at(&a, TEXT, "ks)", 0), "ks", "[][]f32", "ks");
    is(at(&a, TEXT, "inc 1", 0), "inc", "i64 -> i64", "inc");
    is(at(&a, TEXT, "k]", 0), "k", "i64", "k");
    is(at(&a, TEXT, "n\n", 0), "n", "i64", "n");
    is(at(&a, TEXT, "2 * x", 0), "", "i64", "");
    let map = at(&a, TEXT, "map", 0);
    assert_eq!((map.0.as_str(), map.2.as_str()), ("map", "map"));
}

#[test]
fn comments_come_with_their_names() {
    let a = analysis(TEXT);
    let offset = TEXT.find("double xs").expect("a call") as u32;
    assert_eq!(a.at(offset).and_then(|n| n.text).as_deref().map(str::trim), Some("Twice its argument."));
}

#[test]
fn types_that_nobody_wrote_are_shown() {
    let a = analysis(TEXT);
    let shown: Vec<(&str, String)> = a
        .hints()
        .into_iter()
        .map(|h| (TEXT[..h.at as usize].rsplit([' ', '(']).next().unwrap_or(""), h.text))
        .collect();
    assert!(shown.contains(&("ys", ": [n]i64".to_string())), "{shown:?}");
    assert!(shown.contains(&("i64)", ": i64".to_string())), "{shown:?}");
    assert!(shown.contains(&("b", ": [][]f32".to_string())), "{shown:?}");
}

#[test]
fn sizes_follow_from_signatures() {
    let text = "\
entry main [n] [m] (xs: [n][m]f32) (k: i64) =
  let columns = transpose xs
  let sums = map f32.sum columns
  let is = iota k
  let pairs = zip is (replicate k true)
  let (a, b) = unzip pairs
  let some = filter (> 0) sums
  in (sums, a, b, some)
";
    let a = analysis(text);
    assert!(a.diagnostics.is_empty(), "{:?}", a.diagnostics);
    let shown: Vec<String> = a.hints().into_iter().map(|h| h.text).collect();
    assert_eq!(
        shown,
        [": [m][n]f32", ": [m]f32", ": [k]i64", ": [k](i64, bool)", ": [k]i64", ": [k]bool", ": []f32"]
    );
}

#[test]
fn locals_are_known_inside_of_what_binds_them() {
    let a = analysis(TEXT);
    let names = |what: &str| -> Vec<String> {
        let offset = TEXT.find(what).expect("it is there") as u32;
        a.locals_at(offset).into_iter().map(|(name, _)| name).collect()
    };
    let inside = names("s + ys");
    for name in ["xs", "ks", "n", "ys", "inc", "a", "b", "s", "k"] {
        assert!(inside.iter().any(|n| n == name), "{name} is not in {inside:?}");
    }
    assert_eq!(names("2 * x"), ["x"]);
}

#[test]
fn wrong_programs_are_understood_as_far_as_possible() {
    let sizes = "entry main (xs: [3]i32) (ys: [4]i32) = map2 (+) xs ys";
    let a = analysis(sizes);
    assert_eq!(a.diagnostics.len(), 1);
    is(at(&a, sizes, "ys", 1), "ys", "[4]i32", "ys");
    for text in
        ["", "def", "def f (x: i32) =", "entry main = (((", "\u{fffd}", "def f = g", "import \"nothing\""]
    {
        let a = analysis(text);
        assert!(a.at(0).is_none() || a.is_typed());
        a.hints();
        a.locals_at(3);
    }
}

/// The places of what is named at the n-th occurrence of a text, with lines and columns from 0.
fn places(a: &Analysis, text: &str, what: &str, n: usize) -> Vec<(usize, usize)> {
    let offset = text.match_indices(what).nth(n).expect("it is there").0 as u32;
    let symbol = a.symbol(offset).unwrap_or_else(|| panic!("nothing at `{what}`"));
    let place = |at: u32| {
        let before = &text[..at as usize];
        (before.matches('\n').count(), before.len() - before.rfind('\n').map_or(0, |i| i + 1))
    };
    a.uses(&symbol).into_iter().map(|span| place(span.start)).collect()
}

#[test]
fn all_places_of_a_name_are_found() {
    let a = analysis(TEXT);
    assert_eq!(places(&a, TEXT, "double", 1), [(1, 4), (4, 15)]);
    assert_eq!(places(&a, TEXT, "x: ", 0), [(1, 12), (1, 26)]);
    assert_eq!(places(&a, TEXT, "ys", 1), [(4, 6), (7, 40)]);
    assert_eq!(places(&a, TEXT, "n]", 0), [(3, 12), (3, 21), (5, 18)]);
    assert_eq!(places(&a, TEXT, "inc", 1), [(5, 6), (6, 16)]);
    assert_eq!(places(&a, TEXT, "k]", 0), [(7, 20), (7, 43)]);
    let hidden =
        "def f (x: i64) = (let x = x + 1 in x) + x\nmodule m = { def f = 2i64 }\nentry main = f m.f\n";
    let a = analysis(hidden);
    assert_eq!(places(&a, hidden, "x", 0), [(0, 7), (0, 26), (0, 40)]);
    assert_eq!(places(&a, hidden, "x", 1), [(0, 22), (0, 35)]);
    assert_eq!(places(&a, hidden, "f m", 0), [(0, 4), (2, 13)]);
    assert_eq!(places(&a, hidden, "f\n", 0), [(1, 17), (2, 17)]);
}
