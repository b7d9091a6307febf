use super::*;

fn shown(name: &str) -> String {
    let (items, sources) = library();
    match lookup(&items, name) {
        Ok(found) => page(&found, &sources),
        Err(close) => format!("none; {}", close.join(", ")),
    }
}

#[test]
fn pages() {
    let map = shown("map");
    assert!(map.starts_with("map [n] 'a 'b (f: a -> b) (xs: [n]a) : [n]b\n\n  `[f xs[0], "), "{map}");
    assert!(map.contains("  stdlib/prelude.par:"), "{map}");
    let sqrt = shown("f32.sqrt");
    assert!(sqrt.starts_with("f32.sqrt (x: f32) : f32\n"), "{sqrt}");
    assert!(sqrt.contains("stdlib/float.par.in:"), "{sqrt}");
    let sum = shown("sum");
    assert!(sum.starts_with("i64.sum [n]") && sum.contains("Also in i8, i16"), "{sum}");
    assert!(shown("(|>)").starts_with("(|>) '^a"));
    assert!(shown("`++`").starts_with("(++) [n]"));
    assert!(shown("+").starts_with("(+) (x: t) (y: t) : t where t is a type of numbers\n\n  Sum"));
    assert!(shown("f32").starts_with("module f32\n"));
}

#[test]
fn unknown_names_are_corrected() {
    assert_eq!(shown("redcue"), "none; reduce");
    assert_eq!(shown("f32.sqr"), "none; f32.sqrt");
    assert_eq!(shown("xyzzyxyzzy"), "none; ");
    assert_eq!(shown(""), "none; ");
}

#[test]
fn examples_are_read() {
    let one = |e: &str, v: &str| Example { expression: e.into(), value: v.into() };
    let text = "Meaning.\n\nExample: `f 1` is `2`, `f 2`\nis `3` and `f 3` is `4`.";
    assert_eq!(examples(text), Ok(vec![one("f 1", "2"), one("f 2", "3"), one("f 3", "4")]));
    assert_eq!(examples("Nothing here."), Ok(Vec::new()));
    assert!(examples("Example: `f 1` equals `2`.").is_err());
    assert!(examples("Example: `f 1` is `2`").is_err());
}
