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

/// Texts between `before` and the next quotation mark, wherever it occurs.
fn attributes<'t>(text: &'t str, before: &str) -> Vec<&'t str> {
    text.split(before).skip(1).filter_map(|rest| rest.split('"').next()).collect()
}

const PROGRAM: &str = "-- A program. <b>not bold</b>\n\ntype point = (f32, f32)\n\
    -- | The distance, see `sqrt` of `f32` and `map`.\n--\n-- <script>alert(1)</script>\n\
    def far (p: point) : f32 = f32.hypot p.0 p.1\n\
    module m = {\n  -- | Inside.\n  def inner (x: i64) : bool = x < 3\n}\nentry main (p: point) = far p\n";

#[test]
fn every_link_leads_somewhere() {
    let programs =
        [("dir/a.par".to_string(), PROGRAM.to_string()), ("a.par".to_string(), PROGRAM.to_string())];
    let site = html::site(&programs).expect("the programs are right");
    let ids = |file: &str| {
        let text = &site.iter().find(|(name, _)| name == file).unwrap_or_else(|| panic!("no page {file}")).1;
        attributes(text, "id=\"")
    };
    let mut links = 0;
    for (page, text) in site.iter().filter(|(name, _)| name.ends_with(".html")) {
        let folder = page.rsplit_once('/').map_or("", |(folder, _)| folder);
        for link in attributes(text, "href=\"").into_iter().chain(attributes(text, "src=\"")) {
            let (file, place) = link.split_once('#').unwrap_or((link, ""));
            let file = match file.strip_prefix("../") {
                Some(above) => above.to_string(),
                None if file.is_empty() => page.clone(),
                None if folder.is_empty() => file.to_string(),
                None => format!("{folder}/{file}"),
            };
            assert!(place.is_empty() || ids(&file).contains(&place), "{page}: {link}");
            assert!(site.iter().any(|(name, _)| *name == file), "{page}: {link}");
            links += 1;
        }
    }
    assert!(links > 1000, "only {links} links");
}

#[test]
fn programs_have_pages() {
    let site = html::site(&[("dir/a.par".to_string(), PROGRAM.to_string())]).expect("the program is right");
    let page = &site.iter().find(|(name, _)| name == "file-a.par.html").expect("a page of the program").1;
    assert!(page.contains("&lt;script&gt;") && !page.contains("<script>alert"), "{page}");
    assert!(!page.contains("<b>not bold"), "{page}");
    assert!(page.contains("id=\"m.inner\""), "{page}");
    assert!(page.contains("(p: <a href=\"file-a.par.html#point\">point</a>)"), "{page}");
    assert!(page.contains("<a href=\"prelude.html#map\"><code>map</code></a>"), "{page}");
    let names = &site.iter().find(|(name, _)| name == "names.js").expect("the names").1;
    assert!(names.contains("\"f64.softmax\"") && names.contains("\"m.inner\""));
}

#[test]
fn wrong_programs_have_none() {
    assert!(html::site(&[("a.par".to_string(), "def f = (".to_string())]).is_err());
}
