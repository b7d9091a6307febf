//! Programs whose size is a number, to see how the time of compiling grows.

/// A family: its name, its programs by size, and the sizes.
pub type Family = (&'static str, fn(usize) -> String, [usize; 4]);

/// All of them.
pub const FAMILIES: &[Family] = &[
    ("lines", lines, [625, 1250, 2500, 5000]),
    ("chain of calls", chain, [5, 10, 20, 40]),
    ("chain of local functions", local_chain, [5, 10, 20, 40]),
    ("maps in maps", maps, [5, 10, 20, 40]),
    ("loops in loops", loops, [3, 6, 12, 24]),
    ("branches in branches", branches, [10, 20, 40, 80]),
    ("functions applied to functions", twice, [4, 8, 16, 32]),
    ("modules in modules", modules, [10, 20, 40, 80]),
    ("modules applied to modules", functors, [5, 10, 20, 40]),
    ("pipeline of maps", pipeline, [50, 100, 200, 400]),
    ("chain of lets", lets, [1250, 2500, 5000, 10_000]),
    ("chain of operators", operators, [1250, 2500, 5000, 10_000]),
    ("chain of definitions", definitions, [625, 1250, 2500, 5000]),
    ("elements of a literal", literal, [1250, 2500, 5000, 10_000]),
    ("cases with several columns", columns, [5, 10, 20, 40]),
    ("chain of conditions", conditions, [75, 150, 300, 600]),
    ("constructors", constructors, [125, 250, 500, 1000]),
    ("constructors that become others", transitions, [125, 250, 500, 1000]),
    ("constructors in branches", choices, [40, 80, 160, 320]),
    ("fields", fields, [125, 250, 500, 1000]),
    ("parameters", parameters, [250, 500, 1000, 2000]),
    ("state of a loop", state, [50, 100, 200, 400]),
];

/// Families whose flat form and machine code are looked at, too.
pub const FLATTENED: &[Family] = &[
    ("reductions in maps", maps, [2, 4, 8, 16]),
    ("statements under a map", statements, [50, 100, 200, 400]),
    ("small arrays under a map", small_arrays, [4, 8, 16, 32]),
    ("records through recursion", records, [2, 4, 8, 16]),
    ("constructors through recursion", machine, [4, 8, 16, 32]),
];

/// Text made of one piece for each number.
fn each(n: usize, piece: impl Fn(usize) -> String) -> String {
    (0..n).map(piece).collect()
}

fn lines(n: usize) -> String {
    let line = |i: usize| match i % 5 {
        0 => format!("def f{i} (xs: []i64) : i64 = i64.sum (map (\\x -> x * {i} + length xs) xs)\n"),
        1 => format!("def f{i} [n] (m: [n][n]f64) (v: [n]f64) = map (\\r -> f64.sum (map2 (*) r v)) m\n"),
        2 => {
            format!("def f{i} (a: i32) (b: i32) = if a < b then {{lo = a, hi = b}} else {{lo = b, hi = a}}\n")
        }
        3 => format!("def f{i} 'a (f: a -> a) (x: a) = let y = f x let z = f y in (x, y, f z)\n"),
        _ => {
            let step = format!("if x % 2 == 0 then acc + x else acc - f{} xs", i - 4);
            format!("def f{i} (xss: [][]i64) = map (\\xs -> loop acc = 0 for x in xs do {step}) xss\n")
        }
    };
    each(n, line) + "entry main (xs: []i64) : i64 = f0 xs\n"
}

fn chain(n: usize) -> String {
    let next = |i| format!("def f{} (x: i64) : i64 = f{i} (f{i} x + {i})\n", i + 1);
    let first = "def f0 (x: i64) : i64 = x * 3 + 1\n";
    format!("{first}{}entry main (x: i64) : i64 = f{n} x\n", each(n, next))
}

fn local_chain(n: usize) -> String {
    let next = |i| format!("  let f{} xs = f{i} (filter (> k) (f{i} (map (+ {i}) xs)))\n", i + 1);
    let head = "entry main (k: i64) (xs: []i64) : []i64 =\n  let f0 (xs: []i64) = map (* k) xs\n";
    format!("{head}{}  in f{n} xs\n", each(n, next))
}

fn maps(n: usize) -> String {
    let (open, close) = ("i64.sum (map (\\x -> ".repeat(n), ") (iota x))".repeat(n));
    format!("entry main (x: i64) : i64 = {open}x{close}\n")
}

fn loops(n: usize) -> String {
    let open = each(n, |i| {
        let from = if i == 0 { "xs".to_string() } else { format!("x{}", i - 1) };
        format!("(loop x{i} = {from} for i{i} < k do ")
    });
    let close = ")".repeat(n);
    format!("entry main (k: i64) (xs: []i64) : []i64 = {open}filter (> k) (x{} ++ [1]){close}\n", n - 1)
}

fn branches(n: usize) -> String {
    let open = each(n, |i| format!("if k > {i} then filter (> {i}) ("));
    let close = each(n, |i| format!(") else map (+ {i}) xs"));
    format!("entry main (k: i64) (xs: []i64) : []i64 = {open}xs{close}\n")
}

fn twice(n: usize) -> String {
    let (open, close) = ("twice (".repeat(n), ")".repeat(n));
    let def = "def twice 'a (f: a -> a) (x: a) : a = f (f x)\n";
    format!("{def}entry main (x: i64) : i64 = ({open}\\x -> x * 3 + 1{close}) x\n")
}

fn modules(n: usize) -> String {
    let open = each(n, |i| format!("module m{i} = {{ def x = {i}i64\n"));
    let path = each(n, |i| format!("m{i}."));
    format!("{open}{}\nentry main (x: i64) : i64 = x + {path}x\n", "}".repeat(n))
}

fn functors(n: usize) -> String {
    let head = "module type s = { type t val zero: t val add: t -> t -> t }\n\
                module m0 = { type t = i64 def zero = 0i64 def add (x: t) (y: t) : t = x + y }\n\
                module f (p: s) = { type t = (p.t, p.t) def zero = (p.zero, p.zero) \
                def add (a: t) (b: t) : t = (p.add a.0 b.0, p.add a.1 b.1) }\n\
                module g (p: s) = { type t = p.t def zero = p.zero def add (a: t) (b: t) : t = p.add b a }\n";
    let next = |i| format!("module m{} = {} m{i}\n", i + 1, if i < 4 { "f" } else { "g" });
    format!("{head}{}entry main (x: i64) : i64 = (\\_ -> x) (m{n}.add m{n}.zero m{n}.zero)\n", each(n, next))
}

fn pipeline(n: usize) -> String {
    let step = |i: usize| if i % 3 == 2 { " |> filter (> k)".into() } else { format!(" |> map (+ {i})") };
    format!("entry main (k: i64) (xs: []i64) : []i64 = xs{}\n", each(n, step))
}

/// Bindings, of which each uses two of those before: `v(i + 1) = v(i) + i % 7 * v(i / 2)`.
pub fn lets(n: usize) -> String {
    let next = |i: usize| format!("  let v{} = v{i} + {} * v{}\n", i + 1, i % 7, i / 2);
    format!("entry main (x: i64) : i64 =\n  let v0 = x\n{}  in v{n}\n", each(n, next))
}

fn operators(n: usize) -> String {
    format!("entry main (x: i64) : i64 = x{}\n", each(n, |i| format!(" {} x", ["+", "*", "-"][i % 3])))
}

fn definitions(n: usize) -> String {
    let next = |i| format!("def f{} (x: i64) : i64 = f{i} x + {i}\n", i + 1);
    format!("def f0 (x: i64) = x\n{}entry main (x: i64) : i64 = f{n} x\n", each(n, next))
}

fn literal(n: usize) -> String {
    format!("entry main (x: i64) : []i64 = [{}]\n", each(n, |i| format!("x * {i}, ")))
}

fn columns(n: usize) -> String {
    let row = |i: usize, constructor: &str| {
        let columns: Vec<&str> = (0..n).map(|k| if k == i { constructor } else { "_" }).collect();
        format!("  case ({}) -> {i}\n", columns.join(", "))
    };
    let (ones, twos) = (each(n, |i| row(i, "#a")), each(n, |i| row(i, "#b")));
    let value = vec!["x"; n].join(", ");
    format!("entry main (x: #a | #b | #c) : i32 =\n  match ({value})\n{ones}{twos}  case _ -> -1\n")
}

fn statements(n: usize) -> String {
    let next = |i: usize| format!("  let v{} = map (+ i64.sum (filter (> {i}) v{})) v{i}\n", i + 1, i / 2);
    format!("entry main (xss: [][]i64) : [][]i64 = map (\\v0 ->\n{}  in v{n}) xss\n", each(n, next))
}

fn small_arrays(n: usize) -> String {
    let first = each(n, |i| format!("  let a{i} = map (\\j -> k * {i} + j) (iota 16)\n"));
    let second = each(n, |i| format!("  let b{i} = map2 (\\x y -> x * y + {i}) a{i} a{}\n", (i + 1) % n));
    let sums = each(n, |i| format!(" + i64.sum b{i}"));
    format!("entry main (ks: []i64) : []i64 = map (\\k ->\n{first}{second}  in k{sums}) ks\n")
}

fn records(n: usize) -> String {
    let fields = |f: &dyn Fn(usize) -> String| (0..n).map(f).collect::<Vec<_>>().join(", ");
    let types = fields(&|i| format!("a{i}: []i64, b{i}: [](i64, []i64)"));
    let step = fields(&|i| format!("a{i} = p.a{i} ++ tail v.a{i}, b{i} = take 1 p.b{i}"));
    let start = fields(&|i| format!("a{i} = iota (i + {i}), b{i} = [(i, iota i)]"));
    format!(
        "type t = {{{types}}}\n\
         def f (v: t) (k: i64) : t = if k == 0 then v else let p = f v (k - 1) in {{{step}}}\n\
         entry main (is: []i64) : [][]i64 = map (\\i -> (f {{{start}}} (i % 3)).a0) is\n"
    )
}

fn conditions(n: usize) -> String {
    let arms = each(n, |i| format!("  if k == {i} then filter (> {i}) xs else\n"));
    format!("entry main (k: i64) (xs: []i64) : []i64 =\n{arms}  xs\n")
}

fn constructors(n: usize) -> String {
    let constructors = each(n, |i| format!("{}#c{i} i64", if i > 0 { " | " } else { "" }));
    let cases = each(n, |i| format!("  case #c{i} y -> y + {i}\n"));
    format!("entry main (x: {constructors}) : i64 =\n  match x\n{cases}")
}

fn transitions(n: usize) -> String {
    let constructors = each(n, |i| format!("{}#c{i}", if i > 0 { " | " } else { "" }));
    let cases = each(n, |i| format!("  case #c{i} -> #c{}\n", i * 7 % n));
    format!("type t = {constructors}\nentry main (x: t) : t =\n  match x\n{cases}")
}

fn choices(n: usize) -> String {
    let constructors = each(n, |i| format!("{}#c{i} i64 []i64", if i > 0 { " | " } else { "" }));
    let branches = each(n - 1, |i| format!("  if k == {i} then #c{i} k [k] else\n"));
    let cases = each(n, |i| format!("  case #c{i} y ys -> y + length ys + {i}\n"));
    let make = format!("def make (k: i64) : t =\n{branches}  #c{} k []\n", n - 1);
    format!("type t = {constructors}\n{make}entry main (k: i64) : i64 =\n  match make k\n{cases}")
}

/// A machine with a state for each constructor.
fn machine(n: usize) -> String {
    let constructors = each(n, |i| format!("{}#c{i} []i64", if i > 0 { " | " } else { "" }));
    let cases = each(n, |i| format!("  case #c{i} v -> go (#c{} (v ++ [k])) (k - 1)\n", (i + 1) % n));
    let go = format!("def go (x: t) (k: i64) : t = if k == 0 then x else match x\n{cases}");
    let last = "match go (#c0 [x]) x case #c1 v -> i64.sum v case _ -> 0";
    format!("type t = {constructors}\n{go}entry main (xs: []i64) : []i64 = map (\\x -> {last}) xs\n")
}

fn fields(n: usize) -> String {
    let (types, values) =
        (each(n, |i| format!("a{i}: i64, ")), each(n, |i| format!("a{i} = r.a{}, ", n - 1 - i)));
    let sum = each(n, |i| format!(" + y.a{i}"));
    format!(
        "def f (r: {{{types}}}) = {{{values}}}\nentry main (r: {{{types}}}) : i64 = let y = f r in 0{sum}\n"
    )
}

fn parameters(n: usize) -> String {
    let (params, sum) = (each(n, |i| format!(" (x{i}: i64)")), each(n, |i| format!(" + x{i}")));
    format!("def f{params} = 0{sum}\nentry main (x: i64) : i64 = f{}\n", " x".repeat(n))
}

fn state(n: usize) -> String {
    let (names, start) = (each(n, |i| format!("a{i}, ")), each(n, |i| format!("k + {i}, ")));
    let next = each(n, |i| format!("a{} + i, ", (i + 1) % n));
    format!("entry main (k: i64) =\n  loop ({names}) = ({start}) for i < k do ({next})\n")
}
