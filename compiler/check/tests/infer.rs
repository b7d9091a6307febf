//! Types of small programs, and that the library and larger programs check.

use par_check::infer::{erase, infer, show_type};
use par_check::thir::{ExprKind, Program, Ty};
use par_syntax::{Diagnostic, Severity, Sources, ast, parse, render};
use std::path::Path;

/// The standard library's files, templates filled in.
fn library() -> Vec<(String, String)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../stdlib");
    let read = |name: &str| std::fs::read_to_string(folder.join(name)).expect("a library file");
    let integers = ["i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64"];
    let floats = ["f16", "f32", "f64"];
    let mut files =
        ["prelude", "irregular", "derivatives"].map(|n| (n.to_string(), read(&format!("{n}.par")))).to_vec();
    let mut template = |name: &str, types: &[&str]| {
        let text = read(name);
        files.extend(types.iter().map(|t| (format!("{name} at {t}"), text.replace("$t", t))));
    };
    template("numeric.par.in", &[&integers[..], &floats].concat());
    template("integer.par.in", &integers);
    template("float.par.in", &floats);
    template("statistics.par.in", &floats);
    let last = ["f16.par", "f32.par", "f64.par", "bool.par", "sort.par", "module_types.par"];
    files.extend(last.map(|n| (n.to_string(), read(n))));
    files
}

/// Checks a program with the library in front of it.
fn check(text: &str) -> (Option<Program>, Vec<Diagnostic>, Sources) {
    check_files(library().into_iter().map(|(n, t)| (n, t, true)).chain([(
        "test.par".into(),
        text.into(),
        false,
    )]))
}

/// Checks files: name, text, whether it is the library's.
fn check_files(
    texts: impl Iterator<Item = (String, String, bool)>,
) -> (Option<Program>, Vec<Diagnostic>, Sources) {
    let mut sources = Sources::default();
    let mut files: Vec<ast::File> = Vec::new();
    let mut wrong = Vec::new();
    for (name, text, is_library) in texts {
        let index = sources.add(name, text.clone(), is_library);
        let (file, diags) = parse(&text, index);
        files.push(file);
        wrong.extend(diags);
    }
    assert!(wrong.is_empty(), "{}", plain(&wrong, &sources));
    let (program, diags) = infer(&files, &sources);
    (program, diags, sources)
}

/// Diagnostics as short text: code, message, labels with the text they cover, notes.
fn plain(diags: &[Diagnostic], sources: &Sources) -> String {
    let mut out = String::new();
    for d in diags {
        let file = sources.files.get(d.labels[0].span.file as usize).map_or("", |f| f.name.as_str());
        out += &format!("{} {}", d.code, d.message);
        if file != "test.par" {
            out += &format!(" (in {file})");
        }
        for l in &d.labels {
            out += &format!("\n    `{}` {}", sources.text(l.span), l.text);
        }
        d.notes.iter().for_each(|n| out += &format!("\n    note: {n}"));
        out += "\n";
    }
    out
}

/// The types of the user's definitions, one per line.
fn types(text: &str) -> String {
    let (program, diags, sources) = check(text);
    let errors: Vec<Diagnostic> = diags.into_iter().filter(|d| d.severity >= Severity::Unsupported).collect();
    let Some(program) = program else { return plain(&errors, &sources) };
    let mut out = String::new();
    for def in program.defs.iter().filter(|d| !d.library) {
        let params = def.params.iter().rev().map(|p| Box::new(erase(&p.ty)));
        let ty = params.fold(erase(&def.ret), |ret, p| Ty::Fun(p, Box::new(ret)));
        out += &format!("{} : {}\n", def.name, show_type(&ty, &program));
    }
    out
}

/// No inference variable is left, and every use of a definition gives all its type arguments.
fn check_args(program: &Program) {
    let text = format!("{program:?}");
    assert!(!text.contains("Meta("));
    for use_at in text.split("Def(DefId(").skip(1) {
        let (id, rest) = use_at.split_once("), [").expect("a use of a definition");
        let def = &program.defs[id.parse::<usize>().expect("a number")];
        let (mut depth, mut given) = (1, 0);
        for (i, c) in rest.char_indices() {
            depth += i32::from("([{".contains(c)) - i32::from(")]}".contains(c));
            given += usize::from(depth == 1 && c == ',' || depth == 0 && i > 0);
            if depth == 0 {
                break;
            }
        }
        assert_eq!(given, def.type_params.len(), "type arguments of {}", def.name);
    }
}

/// A program and the diagnostics for it, as a person sees them.
fn rendered(text: &str) -> String {
    let (program, diags, sources) = check(text);
    assert_eq!(program.is_none(), diags.iter().any(|d| d.severity >= Severity::Unsupported));
    format!("{text}\n{}", render(&diags, &sources, false))
}

/// Number of definitions that were left out because nothing mentions them.
fn left_out(program: &Program) -> usize {
    let is_unit = |e: &ExprKind| matches!(e, ExprKind::Tuple(parts) if parts.is_empty());
    program.defs.iter().filter(|def| !def.intrinsic && is_unit(&def.body.kind)).count()
}

#[test]
fn the_library_checks() {
    let (program, diags, sources) = check_files(library().into_iter().map(|(n, t)| (n, t, true)));
    assert!(diags.is_empty(), "{}", plain(&diags, &sources));
    let program = program.expect("a program");
    check_args(&program);
    assert_eq!(left_out(&program), 0, "without a program the library is checked as a whole");
    let (program, _, _) = check("entry main (xs: []f32) = mean xs");
    let program = program.expect("a program");
    check_args(&program);
    let (few, all) = (program.defs.len() - left_out(&program), program.defs.len());
    assert!(few < all / 2, "{few} of {all} definitions were checked for one that uses `mean`");
}

#[test]
fn the_examples_check() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    for entry in std::fs::read_dir(folder).expect("the examples") {
        let path = entry.expect("an example").path();
        if path.extension().is_some_and(|e| e == "par") {
            let (program, diags, sources) = check(&std::fs::read_to_string(&path).expect("a text"));
            let program =
                program.unwrap_or_else(|| panic!("{}: {}", path.display(), plain(&diags, &sources)));
            check_args(&program);
        }
    }
}

#[test]
fn definitions_are_generalised() {
    let text = "def inc x = x + 1\ndef first x y = x\ndef compose f g x = f (g x)\ndef same x y = x == y\n\
        def apply = \\f x -> f x\ndef none = []\ndef fst (x, _) = x\ndef later x = (pair x x)\ndef pair x y = (x, y)";
    assert_eq!(
        types(text),
        "inc : i32 -> i32\nfirst : a -> b -> a\ncompose : (a -> b) -> (c -> a) -> c -> b\n\
         same : a -> a -> bool\napply : (a -> b) -> a -> b\nnone : []a\nfst : (a, b) -> a\n\
         later : a -> (a, a)\npair : a -> b -> (a, b)\n"
    );
}

#[test]
fn recursion() {
    let text = "def even x = x == 0 || odd (x - 1)\ndef odd x = x != 0 && even (x - 1)\n\
        def nest 'a (n: i32) (x: a) : i32 = if n == 0 then 0 else nest (n - 1) (x, x)\n\
        def f x y = if true then g x y else f x y\ndef g x y = if false then f x y else g x y\ndef alone = 1";
    assert_eq!(
        types(text),
        "even : i32 -> bool\nodd : i32 -> bool\nnest : i32 -> a -> i32\n\
         f : a -> b -> c\ng : a -> b -> c\nalone : i32\n"
    );
    let (program, _, _) = check(text);
    let program = program.expect("a program");
    let group = |name: &str| program.defs.iter().find(|d| d.name == name).and_then(|d| d.group);
    assert!(group("even").is_some() && group("even") == group("odd"));
    assert!(group("nest").is_some() && group("nest") != group("even"));
    assert_eq!(group("alone"), None);
    check_args(&program);
}

#[test]
fn local_functions_are_generalised_but_not_over_numbers() {
    let text = "def two = let swap (a, b) = (b, a) in (swap (1, true), swap (1.5f32, 2u8))\n\
        def keep x = let k y = (x, y) in (k 1, k true)\n\
        def numbers = let add x = x + 1 in add 2.0\n\
        def declared = let k [n] 'a (ys: [n]a) : [n]a = reverse ys in (k [1u8], k [true])";
    assert_eq!(
        types(text),
        "two : ((bool, i32), (u8, f32))\nkeep : a -> ((a, i32), (a, bool))\nnumbers : f64\n\
         declared : ([]u8, []bool)\n"
    );
}

#[test]
fn numbers_and_operators() {
    let text = "def bits (x: u8) = !x & 3 | x ^ 2 << 1 >> 1 >>> 1\ndef ranges = (1...3, 0i64..<5, 0..2..<10)\n\
        def qualified = (map (f32.+ 1) [1], i64.(1 + max 2 3), 1 `f32.max` 2)\ndef both = (&&)\n\
        def edges = (-128i8, 0xffffffffi32, -1u8, 'a', \"hi\", -2.5)\ndef total xs = f32.sqrt (sum xs)\n\
        def share xs = map (/ sum xs) xs\ndef (<+>) x y = x + 2 * y\ndef used = 1 <+> 2";
    assert_eq!(
        types(text),
        "bits : u8 -> u8\nranges : ([]i32, []i64, []i32)\nqualified : ([]f32, i64, f32)\n\
         both : bool -> bool -> bool\nedges : (i8, i32, u8, i32, []u8, f64)\ntotal : []f32 -> f32\n\
         share : []i32 -> []i32\n<+> : i32 -> i32 -> i32\nused : i32\n"
    );
    let (program, _, _) = check("def edges = (-128i8, 0xffffffffi32, -1u8, 'a', -2.5)");
    let program = program.expect("a program");
    let body = &program.defs.iter().find(|d| d.name == "edges").expect("a definition").body;
    let ExprKind::Tuple(parts) = &body.kind else { panic!("a tuple") };
    let values: Vec<String> = parts.iter().map(|e| format!("{:?}", e.kind)).collect();
    assert_eq!(
        values,
        [
            "Literal(I8(-128))",
            "Literal(I32(-1))",
            "Literal(U8(255))",
            "Literal(I32(97))",
            "Literal(F64(-2.5))"
        ]
    );
}

#[test]
fn records_and_sums() {
    let text = "type point = {y: f32, x: f32}\ntype opt 'a = #some a | #none\n\
        def xs (ps: []point) = map (.x) ps\ndef move (p: point) = p with x = 1 + p.x\n\
        def get (x: opt i32) = match x case #some y -> y case #none -> 0\n\
        def make b : opt f32 = if b then #some 1 else #none\ndef deep = {a = {b = 1}}.a.b";
    assert_eq!(
        types(text),
        "xs : []{y: f32, x: f32} -> []f32\nmove : {y: f32, x: f32} -> {y: f32, x: f32}\n\
         get : (#none | #some i32) -> i32\nmake : bool -> #none | #some f32\ndeep : i32\n"
    );
}

#[test]
fn sizes_are_kept_on_parameters() {
    let text = "def k : i64 = 8\ntype t [n] = [n][n+1]i32\n\
        def f [m] (a: t [3]) (b: t [m]) (c: t []) (d: [k][2*m]f32) (e: (n: i64) -> [n]u8) : *[m]i32 = b[:, 0]";
    let (program, diags, sources) = check(text);
    let program = program.unwrap_or_else(|| panic!("{}", plain(&diags, &sources)));
    let f = program.defs.iter().find(|d| d.name == "f").expect("a definition");
    let shown: Vec<String> =
        f.params.iter().map(|p| &p.ty).chain([&f.ret]).map(|t| show_type(t, &program)).collect();
    assert_eq!(shown, ["[3][3+1]i32", "[m][m+1]i32", "[][]i32", "[k][2*m]f32", "i64 -> []u8", "*[m]i32"]);
}

#[test]
fn modules_and_shadowing() {
    let text = "module m = { def x = 3i64 module n = { def y = x + 1 } local def hidden = 2f32 def z = hidden }\n\
        open m\nmodule mm = m.n\ndef a = (m.x, m.n.y, z, n.y, mm.y)\n\
        module i32 = { def zero = 0u8 }\ndef b = i32.zero\ndef length x = x + 0.5f32\ndef c = length 1\n\
         module o = { def (+) (a: bool) (b: bool) = a || b }\ndef d = o.(true + false)";
    assert_eq!(
        types(text),
        "m.x : i64\nm.n.y : i64\nm.hidden : f32\nm.z : f32\na : (i64, i64, f32, i64, i64)\n\
         i32.zero : u8\nb : u8\nlength : f32 -> f32\nc : f32\no.+ : bool -> bool -> bool\nd : bool\n"
    );
}

#[test]
fn module_types_hide() {
    let text = "module type s = { type t type u = (t, i64) val x : t val p : u val f 'a : a -> t -> a }\n\
        module m : s = { type t = i32 type u = (i32, i64) def x = 1i32 def p = (2i32, 3i64) def f x _ = x def k = 4 }\n\
        def a = (m.x, m.p.1, m.f true m.x)\ndef b (xs: []m.t) = map (m.f 1u8) xs\n\
        module g (p: s) = { def y = p.f p.x p.x }\nmodule h = g m\ndef c = h.y\ndef d (y: s2.t) = y\n\
        module s2 : s with t = f32 = { type t = f32 type u = (f32, i64) def x = 1f32 def p = (x, 1i64) def f x _ = x }";
    let found = types(text);
    for line in ["a : (i32, i64, bool)", "b : []i32 -> []u8", "c : i32", "d : f32 -> f32", "h.y : i32"] {
        assert!(found.lines().any(|l| l == line), "{line} in\n{found}");
    }
}

#[test]
fn instances_that_are_not_used_are_not_checked() {
    // Every functor applies the one before twice, to modules with new types.
    let mut text = "module type s = { type t val x : t }\nmodule f0 (p: s) : s = { type t = (p.t, p.t) def x = (p.x, p.x) }\n"
        .to_string();
    for i in 1..8 {
        let before = i - 1;
        text += &format!(
            "module f{i} (p: s) : s = {{ module a = f{before} p module b = f{before} p type t = a.t def x = a.x }}\n"
        );
    }
    text += "module last = f7 { type t = i32 def x = 1i32 }\ndef y = last.x";
    let (program, diags, sources) = check(&text);
    let program = program.unwrap_or_else(|| panic!("{}", plain(&diags, &sources)));
    let own: Vec<_> = program.defs.iter().filter(|d| !d.library).collect();
    let checked = own.iter().filter(|d| d.ret != Ty::Tuple(Vec::new())).count();
    assert!(checked < 250 && own.len() > 1000, "{checked} of {} definitions were checked", own.len());
}

#[test]
fn deep_module_chains_are_quick() {
    let mut text = "module type s = { type t val x : t val f : t -> t }\nmodule m0 = { type t = i32 def x = 1i32 def f (x: i32) = x + 1 }\n\
        module f (p: s) : s = { type t = p.t def x = p.f p.x def f = p.f }\n".to_string();
    for i in 1..200 {
        text += &format!("module m{i} = f m{}\n", i - 1);
    }
    text += "def y = m199.f m199.x";
    let start = std::time::Instant::now();
    let (program, diags, sources) = check(&text);
    assert!(program.is_some(), "{}", plain(&diags, &sources));
    assert!(start.elapsed().as_secs() < 10, "{:?}", start.elapsed());
}

#[test]
fn too_many_instances_are_an_error() {
    let mut text =
        "module type s = { type t val x : t }\nmodule f0 (p: s) : s = { type t = p.t def x = p.x }\n"
            .to_string();
    for i in 1..20 {
        let before = i - 1;
        text += &format!("module f{i} (p: s) : s = f{before} (f{before} p)\n");
    }
    text += "module last = f19 { type t = i32 def x = 1i32 }\ndef y = last.x";
    let (_, diags, sources) = check(&text);
    let text = plain(&diags, &sources);
    assert!(text.starts_with("E0709") && text.matches("E07").count() == 1, "{text}");
}

#[test]
fn deep_programs_do_not_overflow() {
    let sum = vec!["1"; 900].join(" + ");
    let lets: String = (0..900).map(|i| format!("let x{} = x{i} + 1 in ", i + 1)).collect();
    let calls: String = (0..3000).map(|i| format!("def f{i} x = f{} x\n", i + 1)).collect();
    let text = format!("def a = {sum}\ndef b x0 = {lets} x900\n{calls}def f3000 x = x");
    let (program, diags, sources) = check(&text);
    assert!(program.is_some(), "{}", plain(&diags, &sources));
}

/// One snapshot for every kind of mistake: the program and what a person sees.
macro_rules! rejected {
    ($($name:ident: $text:expr;)*) => {
        $(#[test]
        fn $name() {
            insta::assert_snapshot!(stringify!($name), rendered($text));
        })*
    };
}

rejected! {
    unknown_names: "def a = redcue (+) 0 [1]\ndef b = f32.sqr 2\ndef c (x: i33) = x\ndef d (xs: [n]i32) = xs\n";
    defined_twice: "def a = 1\ndef a = 2\ndef f (x: i32) x = x\n";
    wrong_argument: "def f = map (+ 1) [true]\ndef g = length 3\n";
    different_operands: "def f (x: i32) (n: i64) = x + n\n";
    too_many_arguments: "def f = i32.max 1 2 3\ndef g (x: i32) = x 1\n";
    no_such_field: "def f (p: {x: f32, y: f32}) = p.z\ndef g = (1, 2).2\n";
    not_a_number: "def f 'a (x: a) = x + 1\ndef g = !1.5\n";
    different_branches: "def f x =\n  if x\n  then 1\n  else \"one\"\n";
    bad_number: "def a = 300u8\ndef b : i32 = 1.5\n";
    unknown_record: "def f p = p.x + p.y\n";
    condition: "def f (x: i32) = if x then 1 else 2\n";
    entry_points: "entry f x = x\nentry g (h: i32 -> i32) = h 1\n";
    recursive_type: "type list = #nil | #cons (i32, list)\n";
    constructors: "def f (x: #a | #b i32) : i32 = match x case #c -> 1 case #b y z -> 2\n";
    missing_argument: "def f (x: f32) : f32 = f32.max x\n";
    applied_to_itself: "def f x = x x\n";
    recursive_by_accident: "def sum [n] (xs: [n]i32) : i32 = if n == 0 then 0 else 1 + sum xs[1:]\n";
    attributes: "#[fats_math]\ndef f = 1\n";
    holes: "def f [n] (xs: [n]i32) (y: i32) = let z = 2 * y let g 'a (x: a) = x let b = true in map (+ ???) xs\ndef first x y = if ??? then x else [y, ???]\ndef none = length ???\ndef hidden (x: i64) = let x = 1.5f32 in (???: i64)\n";
    large_type: "def f x =\n  let a = (x, x, x, x, x, x, x, x, x, x)\n  let b = (a, a, a, a, a, a, a, a, a, a)\n  let c = (b, b, b, b, b, b, b, b, b, b)\n  let d = (c, c, c, c, c, c, c, c, c, c)\n  let e = (d, d, d, d, d, d, d, d, d, d)\n  in e\ndef g = 1\n";
    module_names: "module m = nope\nmodule type s = { val x : i32 }\nmodule n : t = { }\nopen s\ndef a = n.x + m.y\ndef b = sums.y\nmodule sum = { }\n";
    module_lacks: "module type s = { type t  val f : t -> t  module m : { val y : t }  val z : i32 }\nmodule a : s = {\n  type t = i32\n  def z = 1i32\n  module m = { }\n}\nmodule f (x: s) = { def g = x.f }\nmodule b = f { type t = bool }\n";
    module_values: "module type s = { type t  val f : t -> t  val g 'a : a -> a  val k : f32 }\nmodule a : s = {\n  type t = i32\n  def f (x: t) = x > 0\n  def g (x: i64) = x\n  def k = 1.5\n}\n";
    module_uniqueness: "module type s = { val f [n] : [n]i32 -> [n]i32  val g [n] : *[n]i32 -> *[n]i32 }\nmodule a : s = {\n  def f [n] (xs: *[n]i32) : [n]i32 = xs\n  def g [n] (xs: *[n]i32) : [n]i32 = xs\n}\n";
    module_type_mismatch: "module type s = { type t = i32  type u 'a  type v }\nmodule a : s = { type t = f32  type u [n] = [n]i32  type v = i32 -> i32 }\nmodule type r = s with t = i32\nmodule type q = s with v 'a = a\n";
    hidden_types: "module m : { type t  val one : t  val get : t -> i32 } = {\n  type t = i32\n  def one = 1i32\n  def get x = x\n}\ndef a = m.one + 1\ndef b = m.get 2i32\ndef c (x: m.t) = x.field\ndef d : m.t = 1i32\n";
    different_hidden_types: "module type s = { type t  val x : t  val f : t -> t }\nmodule mk (n: { val k : i32 }) : s = { type t = i32  def x = n.k  def f x = x + n.k }\nmodule a = mk { def k = 1i32 }\nmodule b = mk { def k = 2i32 }\ndef bad = a.f b.x\n";
    functor_body: "module type s = { type t  val f : t -> t  val size : i64 }\nmodule mk (p: s) = {\n  def a (x: p.t) = x + 1\n  def b = p.nope\n  def c (x: p.t) : i32 = p.f x\n  def d (xs: [p.size]i32) = xs\n}\nmodule one = mk { type t = i32  def f (x: i32) = x  def size = 3i64 }\ndef use = one.a 1\n";
    not_parametric: "module m = { }\nmodule n = m { }\nmodule f (x: { }) = { def y = 1i32 }\nmodule k : { val y : i32 } = f\ndef z = f.y\nmodule h (g: (x: { }) -> { }) = g { }\nmodule i = h m\n";
    recursive_module_types: "module type a = { include a  val x : i32 }\nmodule type b = { module m : b }\n";
    specified_twice: "module type a = { type t  val x : i32 }\nmodule type b = { include a  val x : i64  type t = i32 }\nmodule type c = { val y : nope }\n";
    entry_in_a_module: "module m = { entry f (x: i32) = x }\nmodule g (x: { }) = { entry h = 1i32 }\n";
    lifted_types: "module type s = { type^ t  val x : t  val y : t }\nmodule f (p: s) = { def same = p.x == p.y }\n";
    not_imported: "import \"nope\"\ndef x = y\n";
    loops: "def f = loop (i, x) = (0, 1f32) while i < 10 do (i + 1)\ndef g = loop a = 0 for x in 5 do a\n";
}
