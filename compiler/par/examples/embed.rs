//! A program called from Rust: `cargo run -p par --example embed`.
//!
//! Sparse matrices are rows of any lengths; the program multiplies one with a vector, and the caller sees rows, records and
//! errors as values of Rust.

use par::{Backend, Context, Error, FromPar, IntoPar, Ragged};

const PROGRAM: &str = "
type entry_of = {column: i64, value: f32}
entry multiply (rows: [][]entry_of) (x: []f32) : []f32 =
  map (\\row -> f32.sum (map (\\e -> e.value * x[e.column]) row)) rows
entry largest (xs: []f32) : {value: f32, at: i64} =
  let (value, at) = reduce (\\a b -> if b.0 > a.0 then b else a) (f32.lowest, -1) (zip xs (indices xs))
  in {value, at}
";

#[derive(IntoPar)]
struct Entry {
    column: i64,
    value: f32,
}

#[derive(FromPar, Debug)]
struct Largest {
    value: f32,
    at: i64,
}

fn main() -> Result<(), Error> {
    let program = Context::new(Backend::Cpu).compile(PROGRAM)?;
    let entry = |column, value| Entry { column, value };
    let rows = Ragged::from_rows([vec![entry(0, 2.0), entry(2, 1.0)], vec![], vec![entry(1, 3.0)]]);
    let y: Vec<f32> = program.call("multiply", (&rows, &[1.0f32, 10.0, 100.0]))?;
    println!("y = {y:?}");
    let Largest { value, at } = program.call("largest", (&y,))?;
    println!("the largest is y[{at}] = {value}");
    let error = program.call::<_, Vec<f32>>("multiply", (&rows, &[1.0f32])).unwrap_err();
    println!("with a vector that is too short:\n{error}");
    Ok(())
}
