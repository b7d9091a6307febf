//! The functions written for a program are those in `tests/module/shapes.rs`, and they do what the program says.

use par::embed::generate;
use par::{Backend, Context, Error, Ragged};
use std::path::Path;

mod shapes {
    include!("module/shapes.rs");
}

use shapes::{AreasShapes, MovedBy, Shapes};

fn program() -> Shapes {
    Shapes::new(&Context::new(Backend::Cpu)).unwrap_or_else(|e| panic!("{e}"))
}

/// With `UPDATE_MODULE=1` the file is written.
#[test]
fn the_functions_are_up_to_date() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/module");
    let code = generate(folder.join("shapes.par")).unwrap_or_else(|e| panic!("{e}"));
    let file = folder.join("shapes.rs");
    if std::env::var_os("UPDATE_MODULE").is_some() {
        std::fs::write(&file, &code).unwrap();
    }
    assert_eq!(std::fs::read_to_string(file).unwrap(), code);
}

#[test]
fn arguments_and_results_have_types() {
    let p = program();
    let rows = Ragged::from_rows([vec![1.0, 2.0], vec![]]);
    assert_eq!(p.row_sums(&rows).unwrap(), [3.0, 0.0]);
    let deep = Ragged::from_lengths(&[1], Ragged::from_rows([vec![1, 2]])).unwrap();
    assert_eq!(p.twice(&deep).unwrap().values().values(), &[2, 4]);
    assert_eq!(p.transposed(&[vec![1.0, 2.0]]).unwrap(), [[1.0], [2.0]]);
    assert_eq!(p.type_prime(3, &[true, false]).unwrap(), (3, false));
}

#[test]
fn records_and_sums_are_types() {
    let p = program();
    let by = MovedBy { x: 1.0, y: -1.0 };
    let at = |x, y| MovedBy { x, y };
    let shapes = [
        AreasShapes::Circle(at(0.0, 0.0), 1.0),
        AreasShapes::Nothing,
        AreasShapes::Polygon(vec![at(1.0, 1.0)]),
    ];
    assert_eq!(p.areas(&shapes).unwrap(), [std::f32::consts::PI, 0.0, 1.0]);
    let moved = p.moved(&by, &shapes).unwrap();
    assert_eq!(
        moved,
        [
            AreasShapes::Circle(at(1.0, -1.0), 1.0),
            AreasShapes::Nothing,
            AreasShapes::Polygon(vec![at(2.0, 0.0)])
        ]
    );
    assert_eq!(p.corners(&moved[2]).unwrap(), [at(2.0, 0.0)]);
}

#[test]
fn errors_point_into_the_program() {
    let error = program().failing(&[]).unwrap_err();
    let Error::Failed { message, rendered, .. } = &error else { panic!("{error}") };
    assert_eq!(message, "head of an empty array");
    assert!(rendered.contains("shapes.par:21:35"), "{rendered}");
}

#[test]
fn a_program_may_be_called_like_a_type() {
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join("vec.par");
    std::fs::write(&file, "entry main (xs: []i32) : []i32 = xs\n").unwrap();
    let code = generate(&file).unwrap_or_else(|e| panic!("{e}"));
    assert!(code.contains("pub struct Vec_ {") && code.contains("Result<Vec<i32>,"), "{code}");
}

#[test]
fn a_wrong_program_has_no_functions() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let file = folder.join("wrong_module.par");
    std::fs::write(&file, "entry main (x: i32) : f32 = x\n").unwrap();
    let error = generate(&file).unwrap_err();
    assert!(matches!(&error, Error::Rejected { .. }), "{error}");
    assert!(error.to_string().contains("wrong_module.par:1:29"), "{error}");
}
