//! Programs called with values of Rust.

use par::embed::Program;
use par::{Backend, CancelToken, Context, Error, FromPar, IntoPar, Ragged, Value};
use std::time::Duration;

fn program(text: &str) -> Program {
    match Context::new(Backend::Cpu).threads(2).compile(text) {
        Ok(program) => program,
        Err(error) => panic!("{error}"),
    }
}

fn mismatch(result: Result<impl std::fmt::Debug, Error>) -> String {
    match result {
        Err(Error::Mismatch(mismatch)) => mismatch.to_string(),
        other => panic!("{other:?} is no mismatch"),
    }
}

#[test]
fn scalars_and_arrays() {
    let p = program(
        "entry add (a: i8) (b: i8) = a + b
         entry all (a: u64) (b: f64) (c: bool) (d: f16) = (a, b, c, d)
         entry pairs (xs: []i64) = map (\\x -> (x, f32.i64 x)) xs
         entry text (s: []u8) (ts: [][]u8) = (s ++ \"!\", ts)
         entry none : () = ()",
    );
    assert_eq!(p.call::<_, i8>("add", (100i8, 100i8)).unwrap(), -56);
    let half = par::f16::from_f32(1.5);
    let all: (u64, f64, bool, par::f16) = p.call("all", (u64::MAX, f64::INFINITY, true, half)).unwrap();
    assert_eq!(all, (u64::MAX, f64::INFINITY, true, half));
    let pairs: Vec<(i64, f32)> = p.call("pairs", (&[1i64, -2][..],)).unwrap();
    assert_eq!(pairs, [(1, 1.0), (-2, -2.0)]);
    assert_eq!(p.call::<_, Vec<(i64, f32)>>("pairs", (Vec::<i64>::new(),)).unwrap(), []);
    let texts: (String, Vec<String>) = p.call("text", ("grün", vec!["a", ""])).unwrap();
    assert_eq!(texts, ("grün!".to_string(), vec!["a".to_string(), String::new()]));
    p.call::<_, ()>("none", ()).unwrap();
}

#[test]
fn arrays_of_one_length_have_it_without_rows() {
    let p = program("entry sizes [n] [m] [k] (a: [n][m][k]i32) : (i64, i64, i64) = (n, m, k)");
    let sizes = |a: &[[[i32; 2]; 3]]| p.call::<_, (i64, i64, i64)>("sizes", (a,)).unwrap();
    assert_eq!((sizes(&[]), sizes(&[[[0; 2]; 3]])), ((0, 3, 2), (1, 3, 2)));
}

#[test]
fn rows_of_any_length() {
    let p = program(
        "entry sums (xss: [][]f32) = map f32.sum xss
         entry twice (xsss: [][][]i32) = map (map (map (* 2))) xsss
         entry lengths (xss: [][](i32, bool)) : []i64 = map length xss
         entry square [n] (m: [n][n]i32) = transpose m",
    );
    let rows = Ragged::from_rows([vec![1.0f32, 2.0], vec![], vec![4.0]]);
    assert_eq!(p.call::<_, Vec<f32>>("sums", (&rows,)).unwrap(), [3.0, 0.0, 4.0]);
    assert_eq!(p.call::<_, Vec<f32>>("sums", ([vec![], vec![0.5f32]],)).unwrap(), [0.0, 0.5]);
    let deep = Ragged::from_lengths(&[2, 0, 1], Ragged::from_rows([vec![1, 2], vec![], vec![3]])).unwrap();
    let twice: Ragged<Ragged<Vec<i32>>> = p.call("twice", (&deep,)).unwrap();
    assert_eq!((twice.offsets(), twice.values().offsets()), (deep.offsets(), deep.values().offsets()));
    assert_eq!(twice.values().values(), &[2, 4, 6]);
    let nested: Vec<Vec<Vec<i32>>> = p.call("twice", (vec![vec![vec![5]], vec![]],)).unwrap();
    assert_eq!(nested, [vec![vec![10]], vec![]]);
    let pairs = Ragged::from_rows([vec![(1, true)], vec![]]);
    assert_eq!(p.call::<_, Vec<i64>>("lengths", (&pairs,)).unwrap(), [1, 0]);
    let square: [[i32; 2]; 2] = p.call("square", ([[1, 2], [3, 4]],)).unwrap();
    assert_eq!(square, [[1, 3], [2, 4]]);
    assert!(matches!(p.call::<_, Vec<Vec<i32>>>("square", ([[1, 2, 3]],)), Err(Error::Failed { .. })));
    let uneven = mismatch(p.call::<_, Vec<Vec<i32>>>("square", (vec![vec![1, 2], vec![3]],)));
    assert!(uneven.contains("row 0 has length 2 and row 1 has length 1"), "{uneven}");
}

#[derive(IntoPar, FromPar, Debug, PartialEq, Clone)]
struct Body {
    /// In another order than the program's.
    velocity: (f32, f32),
    #[par(name = "at")]
    position: (f32, f32),
    name: String,
}

#[derive(IntoPar, FromPar, Debug, PartialEq, Clone)]
enum Shape {
    Circle(f64),
    Polygon(Vec<(f64, f64)>),
    BigBox { w: f64, h: f64 },
    Line(i32, i32),
    Nothing,
}

#[derive(IntoPar, FromPar, Debug, PartialEq)]
struct Pair<T>(T, T);

#[derive(IntoPar, FromPar, Debug, PartialEq)]
struct Meters(f64);

const SHAPES: &str = "
type shape = #circle f64 | #polygon ([](f64, f64)) | #big_box {w: f64, h: f64} | #line i32 i32 | #nothing
entry areas (shapes: []shape) : []f64 =
  map (\\s -> match s case #circle r -> r * r
                    case #big_box b -> b.w * b.h
                    case #polygon ps -> f64.i64 (length ps)
                    case #line a b -> f64.i32 (a - b)
                    case #nothing -> 0) shapes
entry turn (shapes: []shape) : []shape = reverse shapes
entry one (s: shape) : shape = s
type body = {name: []u8, at: (f32, f32), velocity: (f32, f32)}
entry step (t: f32) (bs: []body) : []body =
  map (\\b -> b with at = (b.at.0 + t * b.velocity.0, b.at.1 + t * b.velocity.1)) bs
entry swap (p: (i32, i32)) (m: f64) : ((i32, i32), f64) = ((p.1, p.0), 2 * m)
";

#[test]
fn records_and_sums() {
    let p = program(SHAPES);
    let shapes = vec![
        Shape::Circle(2.0),
        Shape::Polygon(vec![(0.0, 1.0), (1.0, 0.0)]),
        Shape::Nothing,
        Shape::BigBox { w: 2.0, h: 3.0 },
        Shape::Line(7, 2),
    ];
    assert_eq!(p.call::<_, Vec<f64>>("areas", (&shapes,)).unwrap(), [4.0, 2.0, 0.0, 6.0, 5.0]);
    let mut turned: Vec<Shape> = p.call("turn", (&shapes,)).unwrap();
    turned.reverse();
    assert_eq!(turned, shapes);
    for shape in &shapes {
        assert_eq!(&p.call::<_, Shape>("one", (shape,)).unwrap(), shape);
    }
    let body = Body { velocity: (1.0, -1.0), position: (0.0, 10.0), name: "rock".to_string() };
    let moved: Vec<Body> = p.call("step", (2.0f32, [&body])).unwrap();
    assert_eq!(moved, [Body { position: (2.0, 8.0), ..body }]);
    let swapped: (Pair<i32>, Meters) = p.call("swap", (Pair(1, 2), Meters(0.5))).unwrap();
    assert_eq!(swapped, (Pair(2, 1), Meters(1.0)));
}

#[test]
fn values_that_stay_with_the_program() {
    let p = program(
        "module type counter = { type t val new : i32 -> t val up : t -> t val get : t -> i32 }
         module m : counter = { type t = {n: i32} def new n : t = {n} def up (c: t) : t = {n = c.n + 1} def get (c: t) = c.n }
         entry new (n: i32) = m.new n
         entry both (c: m.t) = (m.up c, m.get c)",
    );
    let mut counter: Value = p.call("new", (5i32,)).unwrap();
    for expected in 5..8 {
        let (next, n): (Value, i32) = p.call("both", (&counter,)).unwrap();
        assert_eq!(n, expected);
        counter = next;
    }
    let text = mismatch(p.call::<_, Value>("both", (1i32,)));
    assert!(text.contains("hidden type"), "{text}");
}

#[test]
fn what_does_not_fit_is_said() {
    let p = program(SHAPES);
    let text = mismatch(p.call::<_, Vec<f64>>("area", (1i32,)));
    assert!(text.contains("no entry point `area`: did you mean `areas`?"), "{text}");
    let text = mismatch(p.call::<_, Vec<f64>>("areas", ()));
    assert_eq!(text, "`areas` takes 1 argument, not 0");
    let text = mismatch(p.call::<_, Vec<f64>>("areas", (vec![1i32],)));
    assert!(text.starts_with("argument `shapes` of `areas`: a value of type `#big_box"), "{text}");
    let text = mismatch(p.call::<_, (Pair<i32>, Meters)>("swap", (Pair(1i64, 2), 0.5f64)));
    assert_eq!(text, "argument `p` of `swap`: a value of type `i32` is needed, not `i64`");
    let text = mismatch(p.call::<_, (i32, i32)>("swap", (Pair(1, 2), 0.5f64)));
    assert!(
        text.contains("the result of `swap`: component 0") && text.contains("cannot be read as `i32`"),
        "{text}"
    );
    let body = Body { velocity: (0.0, 0.0), position: (0.0, 0.0), name: String::new() };
    let text = mismatch(p.call::<_, Vec<String>>("step", (1.0f32, [body])));
    assert!(text.contains("a record cannot be read as a `Vec`"), "{text}");
}

#[test]
fn errors_are_shown_with_their_places() {
    let context = Context::new(Backend::Cpu);
    let Err(Error::Rejected { diagnostics, rendered }) = context.compile("entry main (x: i32) : f32 = x")
    else {
        panic!("the types differ");
    };
    assert_eq!((diagnostics.len(), diagnostics[0].code.as_str()), (1, "E0301"));
    assert!(rendered.contains("program.par:1:29") && rendered.contains("found `i32`"), "{rendered}");
    assert!(matches!(
        context.compile("entry main (x: f32) = vjp f32.gamma x x"),
        Err(Error::Unsupported { .. })
    ));
    assert!(matches!(context.compile_file("/no/such/file.par"), Err(Error::File { .. })));
    let p = program("entry main (xs: []i32) (i: i64) = xs[i]");
    let error = p.call::<_, i32>("main", ([1, 2], 2i64)).unwrap_err();
    let Error::Failed { message, span, rendered } = &error else { panic!("{error}") };
    assert_eq!(message, "index 2 is outside [0,2)");
    assert!(span.is_some() && rendered.contains("program.par:1:38"), "{rendered}");
    assert_eq!(error.to_string(), rendered.trim_end());
}

#[test]
fn calls_have_limits_of_their_own() {
    let p = program("entry main (n: i64) = i64.sum (scan (+) 0 (iota n))");
    let limited = p.prepare("main").threads(1).memory_limit(1 << 16);
    assert_eq!(limited.call::<_, i64>((10i64,)).unwrap(), 165);
    assert!(matches!(limited.call::<_, i64>((1i64 << 24,)), Err(Error::Failed { .. })));
    let p = program("entry main (n: i64) = loop x = n while x != 0 do x + 1");
    let token = CancelToken::new();
    let call = p.prepare("main").cancel_by(&token);
    std::thread::scope(|scope| {
        let running = scope.spawn(|| call.call::<_, i64>((1i64,)));
        std::thread::sleep(Duration::from_millis(100));
        token.cancel();
        assert!(matches!(running.join().unwrap(), Err(Error::Cancelled)));
    });
}

#[test]
fn threads_call_at_the_same_time() {
    let p = program("entry main (n: i64) = i64.sum (map (\\i -> i * i) (iota n))");
    std::thread::scope(|scope| {
        for n in 0..8i64 {
            let p = p.clone();
            scope.spawn(move || {
                for k in 0..20 {
                    let n = n * 1000 + k;
                    assert_eq!(p.call::<_, i64>("main", (n,)).unwrap(), (0..n).map(|i| i * i).sum::<i64>());
                }
            });
        }
    });
}

#[test]
fn all_back_ends_give_the_same() {
    // A GPU may be absent, and is then not chosen.
    for backend in [Backend::Interp, Backend::FlatInterp, Backend::Cpu, Backend::Auto] {
        let p = Context::new(backend).compile(SHAPES).unwrap();
        let shapes: Vec<Shape> = p.call("turn", (vec![Shape::Nothing, Shape::Circle(1.0)],)).unwrap();
        assert_eq!(shapes, [Shape::Circle(1.0), Shape::Nothing]);
    }
}

/// Numbers of constructors take two bytes where a byte does not count them.
#[test]
fn constructors_may_be_more_than_a_byte_counts() {
    #[derive(IntoPar, FromPar, PartialEq, Debug)]
    enum Few {
        #[par(name = "c000")]
        First,
        #[par(name = "c256")]
        Middle,
        #[par(name = "c299")]
        Last(Vec<i32>),
    }
    let names: Vec<String> = (0..299).map(|i| format!("#c{i:03}")).collect();
    let text = format!(
        "type t = {} | #c299 ([]i32)\nentry same (x: t) = x\nentry all (xs: []t) = xs",
        names.join(" | ")
    );
    let p = program(&text);
    for x in [Few::First, Few::Middle, Few::Last(vec![]), Few::Last(vec![1, 2])] {
        assert_eq!(p.call::<_, Few>("same", (&x,)).unwrap(), x);
    }
    let all = vec![Few::Last(vec![3]), Few::Middle, Few::First, Few::Last(vec![])];
    assert_eq!(p.call::<_, Vec<Few>>("all", (&all,)).unwrap(), all);
    assert!(p.call::<_, Vec<Few>>("all", (Vec::<Few>::new(),)).unwrap().is_empty());
}

/// A constructor without fields for one with a payload must not give a value whose columns are too short.
#[test]
fn constructors_without_their_payload_are_refused() {
    #[derive(IntoPar)]
    enum Bare {
        #[par(name = "a")]
        A,
        #[par(name = "b")]
        B,
    }
    let text = "type s = #a i32 | #b\nentry main (xs: []s) : []i32 = map (\\x -> match x case #a n -> n case #b -> 0) xs";
    let program = Context::new(Backend::Cpu).compile(text).expect("it compiles");
    let error = program.call::<_, Vec<i32>>("main", (vec![Bare::A, Bare::B, Bare::A],)).unwrap_err();
    assert!(matches!(error, Error::Mismatch(_)), "{error}");
    assert_eq!(program.call::<_, Vec<i32>>("main", (vec![Bare::B],)).expect("no payload is missing"), [0]);
}

#[test]
fn arrays_without_elements_have_their_types() {
    #[derive(FromPar, Debug)]
    struct Point {
        x: f32,
    }
    let p = program(
        "entry none (n: i64): [](f64, i32) = replicate n (1, 2)
         entry records (n: i64): []{x: f64} = replicate n {x = 1}
         entry rows (n: i64): [][]f64 = replicate n []",
    );
    assert!(p.call::<_, Vec<(f64, i32)>>("none", (0i64,)).expect("nothing").is_empty());
    let text = mismatch(p.call::<_, Vec<(f64, i64)>>("none", (0i64,)));
    assert!(text.ends_with("`i32` cannot be read as `i64`"), "{text}");
    let text = mismatch(p.call::<_, Vec<Point>>("records", (0i64,)));
    assert!(text.ends_with("field `x`: `f64` cannot be read as `f32`"), "{text}");
    assert_eq!(p.call::<_, Vec<Vec<f64>>>("rows", (0i64,)).expect("no rows"), Vec::<Vec<f64>>::new());
    let text = mismatch(p.call::<_, Vec<Vec<f32>>>("rows", (0i64,)));
    assert!(text.ends_with("`f64` cannot be read as `f32`"), "{text}");
    let text = mismatch(p.call::<_, Ragged<Vec<f32>>>("rows", (0i64,)));
    assert!(text.ends_with("`f64` cannot be read as `f32`"), "{text}");
    assert_eq!(Point { x: 1.0 }.x, 1.0);
}
