//! Running CORE: the meaning of a program before any pass.

use super::memory::out_of_memory;
use super::prepared::Prepared;
use super::scalar::Machine;
use super::trail::Trail;
use super::value::{Val, offsets_of};
use super::{Outcome, internal};
use crate::core::{Entry, Fun, FunId, Program};
use crate::ty::Type;
use par_runtime::value::ColumnType;
use par_runtime::{Array, Column, Frame, RuntimeError, Span};

/// Runs function `fun` on columns in the order of its parameters (a size as `Size` or as an `i64` scalar, a
/// descriptor as `Offsets`). Gives columns in the order of its results; sizes are `Size` where the function is an
/// entry whose type says so.
pub fn run_core(program: &Program, fun: FunId, args: Vec<Column>) -> Result<Vec<Column>, RuntimeError> {
    run_core_prepared(program, &Prepared::of_core(program), fun, args)
}

/// As [`run_core`], with what is known of the program.
pub fn run_core_prepared(
    program: &Program,
    prepared: &Prepared,
    fun: FunId,
    args: Vec<Column>,
) -> Result<Vec<Column>, RuntimeError> {
    prepared.check(&program.funs)?;
    run(&mut machine(program, prepared), program, fun, args)
}

/// Constructs around the check that failed with `error`, innermost first, found by running the function again. Nothing if
/// these arguments do not lead to that failure within so many bodies (`steps`).
pub fn context_of_failure(
    program: &Program,
    fun: FunId,
    args: Vec<Column>,
    error: &RuntimeError,
    steps: u64,
) -> Option<Vec<Frame>> {
    let prepared = Prepared::of_core(program);
    let mut machine = machine(program, &prepared);
    machine.trail = Trail::noting(steps);
    match run(&mut machine, program, fun, args) {
        Err(found) if found == *error => Some(machine.trail.frames),
        _ => None,
    }
}

fn machine<'a>(program: &'a Program, prepared: &'a Prepared) -> Machine<'a> {
    Machine::new(program.vars.len(), &program.funs, prepared)
}

fn run(machine: &mut Machine, program: &Program, fun: FunId, args: Vec<Column>) -> Outcome<Vec<Column>> {
    let Some(callee) = program.funs.get(fun.0 as usize) else {
        return internal(format_args!("there is no function {}", fun.0));
    };
    let args = arguments(machine, callee, args)?;
    let results = machine.call(fun, args, Span::default())?;
    if results.len() != callee.ret.len() {
        return internal("the number of results");
    }
    let wanted = result_columns(callee.entry.as_ref(), results.len());
    let columns = results.iter().zip(&callee.ret).zip(wanted);
    columns
        .map(|((x, p), wanted)| {
            let size = p.ty.prim().size();
            machine.memory.room(x.count(), size, size, callee.span)?;
            column(x, &p.ty, wanted)
        })
        .collect()
}

/// Nests flat columns as the parameters' types say. Sizes and descriptors come before the arrays that use them.
fn arguments(machine: &mut Machine, fun: &Fun, args: Vec<Column>) -> Outcome<Vec<Val>> {
    if args.len() != fun.params.len() {
        return internal(format_args!("{} arguments for {} parameters", args.len(), fun.params.len()));
    }
    let mut values = Vec::new();
    for (p, column) in fun.params.iter().zip(args) {
        let value = machine.nest(Val::from_column(column), &p.ty)?;
        machine.set(p.var, value.clone());
        values.push(value);
    }
    fun.params.iter().for_each(|p| machine.set(p.var, Val::Unset));
    Ok(values)
}

/// Column types of an entry's result; for other functions, what the values themselves say.
pub(super) fn result_columns(entry: Option<&Entry>, count: usize) -> Vec<Option<ColumnType>> {
    match entry {
        Some(entry) => entry.ret.columns().into_iter().map(Some).collect(),
        None => vec![None; count],
    }
}

fn column(x: &Val, ty: &Type, wanted: Option<ColumnType>) -> Outcome<Column> {
    match x {
        Val::Scalar(x) if wanted == Some(ColumnType::Size) => Ok(Column::Size(x.as_i64().unwrap_or(0))),
        Val::Scalar(x) => Ok(Column::Scalar(*x)),
        x if ty.is_desc() => {
            let offsets = offsets_of(&x.integers());
            offsets.map(Column::Offsets).ok_or_else(|| out_of_memory(u64::MAX, Span::default()))
        }
        Val::Leaf(_) | Val::Node(_) => Ok(Column::Data(fresh(x.flat(ty.prim())))),
        Val::Unset | Val::Desc(_) | Val::Rope(_) => internal("a result is missing"),
    }
}

/// Results do not share buffers with anything.
fn fresh(mut a: Array) -> Array {
    a.make_unique();
    a
}
