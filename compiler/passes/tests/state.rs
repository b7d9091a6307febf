//! State that functions change for their callers, flattened: tapes, and accumulators in rows, branches and loops.

#[path = "common/flat.rs"]
mod flattening;

use par_ir::core::{FunId, Program};
use par_ir::interp::{Counters, run_core, run_flat};
use par_ir::parse::parse_core;
use par_ir::verify::verify_core;
use par_passes::pass::CORE_PASSES;
use par_runtime::{Array, Column, Scalar};

fn f64s(xs: &[f64]) -> Column {
    Column::Data(Array::from_slice(xs))
}

fn i64s(xs: &[i64]) -> Column {
    Column::Data(Array::from_slice(xs))
}

/// Runs an entry as it is, after the passes of CORE, and after flattening of both.
fn same(text: &str, entry: &str, args: &[Column]) {
    let before = parse_core(text).unwrap();
    verify_core(&before).unwrap();
    let wanted = core(&before, entry, args);
    let mut after = before.clone();
    for pass in CORE_PASSES {
        (pass.run)(&mut after);
        verify_core(&after).unwrap_or_else(|e| panic!("after {}: {e}", pass.name));
    }
    assert_eq!(core(&after, entry, args), wanted);
    for program in [before, after] {
        let flat = flattening::flattened(&program);
        let id = flat.funs.iter().position(|f| f.entry.is_some() && f.name == entry).unwrap();
        let found = run_flat(&flat, FunId(id as u32), args.to_vec(), &mut Counters::default());
        assert_eq!(found.unwrap(), wanted);
    }
}

fn core(program: &Program, entry: &str, args: &[Column]) -> Vec<Column> {
    let id = program.funs.iter().position(|f| f.entry.is_some() && f.name == entry).unwrap();
    run_core(program, FunId(id as u32), args.to_vec()).unwrap()
}

#[test]
fn accumulators() {
    const TEXT: &str = include_str!("../../ir/tests/programs/accumulators.core");
    for ms in [&[2, 0, 3, 1][..], &[], &[0, 0], &[3]] {
        let args = [Column::Size(3), f64s(&[1., 2., 3.]), Column::Size(ms.len() as i64), i64s(ms)];
        same(TEXT, "sums", &args);
    }
    for offsets in [&[0i64, 2, 2, 3][..], &[0], &[0, 0, 0], &[0, 5]] {
        let n = offsets[offsets.len() - 1];
        let elements: Vec<f64> = (0..n).map(|i| i as f64 * 10.0).collect();
        for reps in [0, 1, 3] {
            let rows = Column::Size(offsets.len() as i64 - 1);
            let reps = Column::Scalar(Scalar::I64(reps));
            let offsets = Column::Offsets(Array::from_slice(offsets));
            same(TEXT, "of_rows", &[rows, offsets, f64s(&elements), reps]);
        }
    }
}

#[test]
fn tapes() {
    const TEXT: &str = include_str!("../../ir/tests/programs/tapes.core");
    for n in [0, 1, 3] {
        same(TEXT, "tape", &[Column::Scalar(Scalar::I64(n))]);
    }
}
