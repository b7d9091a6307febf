//! Schedules: how a kernel runs on a GPU besides one position after the other, and the functions for that.
//!
//! ```text
//! reduce (+) over n*p m { xs[i*m + k] * ys[j*m + k] }     par::contract: tiles in shared memory
//! map over p m { ys[k*p + j] }                            par::transpose
//! reduce (+) over m n { xs[k*m + j] }                     par::segmented_reduce_columns: neighbouring rows side by side
//! ```
//!
//! Products and transpositions are recognised as for the CPU (`contract.rs`). The executor decides by the sizes.

use super::body::Bodies;
use super::fold::LOAD;
use super::kernel::{Source, close_function, open_function, rows};
use super::text::ty;
use crate::contract;
use par_ir::access::{Access, Extent, Facts, Form, Symbol};
use par_ir::flat::{Kernel, KernelKind};
use par_ir::{Prim, Var};
use par_runtime::cuda::{ContractTile, Schedule};
use par_runtime::plan::{Combine, Contraction, Factor, Pair, Sum};

/// The schedule of a kernel.
pub fn of(kernel: &Kernel, captures: &[Var]) -> Schedule {
    if let Some(c) = contract::find(kernel, captures) {
        return Schedule::Contraction(c);
    }
    if let Some(from) = contract::transposition(kernel, captures) {
        return Schedule::Transposed(from);
    }
    if folds_columns(kernel) { Schedule::Columns } else { Schedule::Plain }
}

/// True if a reduction of rows reads elements that are next to each other at neighbouring rows, and none that are so at neighbouring positions
/// of a row. What is read at places that are elements themselves counts for neither.
fn folds_columns(kernel: &Kernel) -> bool {
    let KernelKind::Reduce { neutral, .. } = &kernel.kind else { return false };
    let facts = Facts::default();
    let access = Access::divided(kernel, &facts);
    let axes = access.axes();
    let rows = axes.rows();
    let is_uniform = rows > 0 && axes.count() == rows + 1 && matches!(axes.extent(rows), Extent::Size(_));
    // Further results are stored along the rows.
    if !is_uniform || kernel.body.results.len() > neutral.len() {
        return false;
    }
    let is_next = |growth: &Form| matches!(growth.as_constant(), Some(1 | -1));
    let mut has_columns = false;
    for read in access.reads() {
        let growth = |dim| access.growth(&read.index, Symbol::Index(dim));
        let Some(along) = growth(rows).filter(|f| !f.is_zero()) else { continue };
        if is_next(&along) {
            return false;
        }
        has_columns |= growth(rows - 1).is_some_and(|across| is_next(&across));
    }
    has_columns
}

/// The functions of a kernel's schedule.
pub fn functions(b: &mut Bodies, s: &Source) {
    match &s.schedule {
        Schedule::Plain => {}
        Schedule::Contraction(c) => contraction(b, s, c),
        Schedule::Transposed(_) => transposition(b, s),
        Schedule::Columns => columns(b, s),
    }
}

/// A function whose argument is `argument`, for blocks of [`Schedule::THREADS`] threads.
fn function(b: &mut Bodies, s: &Source, suffix: &str, argument: &str, call: &str) {
    let (name, threads) = (&s.name, Schedule::THREADS);
    b.text.open(format!(
        "PAR_KERNEL void __launch_bounds__({threads}) {name}{suffix}(PAR_ARGUMENT {argument} k) {{"
    ));
    b.text.line("if (par::has_failed(k.failure, k.launch)) return;");
    b.text.line(call);
    close_function(b, s, suffix);
}

fn contraction(b: &mut Bodies, s: &Source, c: &Contraction) {
    let element = ty(c.prim);
    let function_of = |result: &str| format!("[]({element} a, {element} b) {{ return {result}; }}");
    let combine = function_of(&format!("op::{}(a, b)", name(c.combine)));
    let pair = function_of(match c.pair {
        Pair::Sum => "op::add(a, b)",
        Pair::Product => "op::mul(a, b)",
        Pair::Distance => "op::abs(op::sub(a, b))",
        Pair::Square => "op::mul(op::sub(a, b), op::sub(a, b))",
    });
    let argument = format!("par::ContractArgument<{element}, {}>", c.left.batch.len());
    let (small, large) = Schedule::tiles(c.prim.size());
    let tiles = std::iter::once((small, "_tiles")).chain(large.map(|tile| (tile, "_large_tiles")));
    for (ContractTile { high, wide, depth }, suffix) in tiles {
        let (left, right) = (is_deep(&c.left), is_deep(&c.right));
        let call =
            format!("par::contract<{high}, {wide}, {depth}, {left}, {right}>(k.what, {combine}, {pair});");
        function(b, s, suffix, &argument, &call);
    }
    if c.by_row {
        let call = format!("par::contract_parts(k, {combine});");
        function(b, s, "_parts", &format!("par::PartsArgument<{element}>"), &call);
    }
}

/// True if elements for neighbouring `k` are next to each other, as far as is known.
fn is_deep(factor: &Factor) -> bool {
    [1, -1].iter().any(|n| factor.depth == Sum(vec![(*n, vec![])]))
}

fn name(f: Combine) -> &'static str {
    match f {
        Combine::Add => "add",
        Combine::Mul => "mul",
        Combine::Min => "min",
        Combine::Max => "max",
    }
}

fn transposition(b: &mut Bodies, s: &Source) {
    let Some(par_ir::flat::Ty::Array(prim)) = s.pattern.first() else { return };
    let bits = match prim.size() {
        1 => Prim::U8,
        2 => Prim::U16,
        4 => Prim::U32,
        _ => Prim::U64,
    };
    let argument = format!("par::TransposeArgument<{}>", ty(bits));
    function(b, s, "_transposed", &argument, "par::transpose(k);");
}

fn columns(b: &mut Bodies, s: &Source) {
    let (class, threads) = (&s.class, Schedule::THREADS);
    open_function(b, s, "_columns");
    b.text.line(format!("{class}::Value* const parts = static_cast<{class}::Value*>(k.state);"));
    b.text.open(format!("const auto keep = [&](u64 row, u64 part, const {class}::Value& value) {{"));
    b.text.line("if (parts) store(&parts[part * u64(k.rows) + row], value);");
    b.text.line("else k.keep(0, row, value);");
    b.text.close("};");
    let op = format!("{class}::Op(k)");
    b.text
        .line(format!("par::segmented_reduce_columns<{threads}>({}, k.chunk, {op}, {LOAD}, keep);", rows(s)));
    close_function(b, s, "_columns");
    open_function(b, s, "_parts");
    b.text.line(format!("const {class}::Value* const parts = static_cast<const {class}::Value*>(k.state);"));
    let load = "[&](u64 i) { return load(&parts[i]); }";
    let store = format!("[&](u64 row, const {class}::Value& value) {{ k.keep(0, row, value); }}");
    let count = "par::divide_up(u64(k.m), k.chunk)";
    b.text.line(format!("par::combine_parts<{threads}>(u64(k.rows), {count}, {op}, {load}, {store});"));
    close_function(b, s, "_parts");
}
