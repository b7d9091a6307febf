//! The crate `ndarray` on both sides of calls.

use ndarray::{Array1, Array2, Array3, ArrayD, array, s};
use par::{Backend, Context, Error, Ragged};

fn program(text: &str) -> par::embed::Program {
    Context::new(Backend::Cpu).compile(text).expect("a program")
}

fn message(result: Result<impl std::fmt::Debug, Error>) -> String {
    result.expect_err("it does not fit").to_string()
}

#[test]
fn views_in_arrays_out() {
    let p = program(
        "entry rows [n] [m] (xss: [n][m]f64): [n]f64 = map f64.sum xss
         entry same (xss: [][]f64): [][]f64 = xss
         entry cube [n] (xs: [n]i32): [n][2][3]i32 = map (\\x -> replicate 2 (replicate 3 x)) xs",
    );
    let matrix = array![[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]];
    let sums: Array1<f64> = p.call("rows", (&matrix,)).expect("sums");
    assert_eq!(sums, array![6.0, 15.0]);
    let sums: Array1<f64> = p.call("rows", (matrix.slice(s![.., ..;2]).t(),)).expect("sums");
    assert_eq!(sums, array![5.0, 9.0]);
    // Where rows may have any length they also may have one.
    let same: Array2<f64> = p.call("same", (matrix.view(),)).expect("the same");
    assert_eq!(same, matrix);
    let cube: Array3<i32> = p.call("cube", (array![7, 8],)).expect("a cube");
    assert_eq!(cube.shape(), [2, 2, 3]);
    assert_eq!(cube[[1, 0, 2]], 8);
    let any: ArrayD<i32> = p.call("cube", (Array1::<i32>::zeros(0),)).expect("an empty cube");
    assert_eq!(any.shape(), [0, 2, 3]);
}

#[test]
fn arrays_without_elements_keep_their_shape() {
    let p = program(
        "entry turned [n] [m] (a: [n][m]f64): ([m][n]f64, i64, i64) = (transpose a, n, m)
         entry sizes [n] [m] [k] (a: [n][m][k]i32): (i64, i64, i64) = (n, m, k)",
    );
    for (n, m) in [(0, 3), (3, 0), (0, 0)] {
        let (turned, rows, columns): (Array2<f64>, i64, i64) =
            p.call("turned", (Array2::<f64>::zeros((n, m)),)).expect("a matrix");
        assert_eq!((turned.shape(), rows, columns), (&[m, n][..], n as i64, m as i64));
    }
    for shape in [(0, 2, 3), (2, 0, 3), (2, 3, 0)] {
        let sizes: (i64, i64, i64) = p.call("sizes", (Array3::<i32>::zeros(shape),)).expect("sizes");
        assert_eq!(sizes, (shape.0 as i64, shape.1 as i64, shape.2 as i64));
    }
}

#[test]
fn what_does_not_fit_is_said() {
    let p = program("entry same (xss: [][]f64): [][]f64 = xss");
    let rows = Ragged::from_rows([vec![1.0], vec![2.0, 3.0]]);
    let text = message(p.call::<_, Array2<f64>>("same", (&rows,)));
    assert!(text.ends_with("rows of lengths 1 and 2 are no array of `ndarray`"), "{text}");
    let text = message(p.call::<_, Array3<f64>>("same", (&rows,)));
    assert!(text.ends_with("cannot be read as an array of 3 dimensions"), "{text}");
    let text = message(p.call::<_, Array2<f64>>("same", (array![1.0],)));
    assert!(text.contains("argument `xss` of `same`"), "{text}");
    // Also without elements, an array has a type.
    let none = Array2::<f64>::zeros((0, 0));
    let text = message(p.call::<_, Array2<f32>>("same", (&none,)));
    assert!(text.ends_with("`f64` cannot be read as `f32`"), "{text}");
}
