//! Reductions and scans along rows.

use super::body::{Bodies, Result};
use super::kernel::{Source, close_function, open_function, rows, tile};
use super::map::needs_rows;
use super::text::{atom, name, ty};
use par_ir::flat::{After, Out};
use par_runtime::cuda::Shape;

/// `load_value` computes what is combined at a position, and stores the further results. What fails counts as neutral.
pub fn element(b: &mut Bodies, s: &Source) {
    let combined = s.combined.len();
    b.text.open("PAR_INLINE Value load_value(i64 row, i64 pos) const {");
    b.text.line("const par::Here here{failure, launch, pos, par::lowest_address(stack)};");
    b.text.line("Results results;");
    b.text.line("if (!at(here, row, pos, results)) return Op(*this).neutral();");
    for i in combined..combined + s.elems.len() {
        b.text.line(format!("store(&out{i}[pos], results.r{i});"));
    }
    let values: Vec<String> = (0..combined).map(|i| format!("results.r{i}")).collect();
    b.text.line(format!("return {{{}}};", values.join(", ")));
    b.text.close("}");
}

/// `keep` stores a combined value.
pub fn keep(b: &mut Bodies, s: &Source) {
    b.text.open("PAR_INLINE void keep(i64, u64 at, const Value& value) const {");
    for i in 0..s.combined.len() {
        b.text.line(format!("store(&out{i}[at], value.v{i});"));
    }
    b.text.close("}");
}

/// `keep` makes something of a prefix and stores that. It may need what the body computes, which is computed once more.
pub fn after(b: &mut Bodies, s: &Source, after: &After) -> Result {
    let types = super::map::result_types(s, &after.outs);
    let fields: String = types.iter().enumerate().map(|(i, p)| format!("{} r{i}; ", ty(*p))).collect();
    b.text.line(format!("struct Outputs {{ {fields}}};"));
    let (row, pos) = (name(s.kernel.row, b.vars), name(s.kernel.pos, b.vars));
    b.text.open(format!(
        "PAR_INLINE bool after(const par::Here& here, i64 {row}, i64 {pos}, const Value& prefix, Outputs& results) const {{"
    ));
    b.stms(&s.kernel.prologue)?;
    b.stms(&s.kernel.body.stms)?;
    for (i, p) in after.params.iter().enumerate() {
        let line = format!("const {} = prefix.v{i};", b.declared(p));
        b.text.line(line);
    }
    b.stms(&after.body.stms)?;
    let results: Vec<String> = after.body.results.iter().map(|a| atom(a, b.vars)).collect();
    for (i, x) in results.iter().enumerate() {
        b.text.line(format!("results.r{i} = {x};"));
    }
    b.text.line("return true;");
    b.text.close("}");
    let finish = |b: &mut Bodies, function: &str, stores: fn(&mut Bodies, &Source, &[Out])| {
        b.text.open(format!("PAR_INLINE void {function}(i64 row, i64 pos, const Value& value) const {{"));
        b.text.line("const par::Here here{failure, launch, pos, par::lowest_address(stack)};");
        b.text.line("Outputs results;");
        b.text.line("if (!after(here, row, pos, value, results)) return;");
        stores(b, s, &after.outs);
        b.text.close("}");
    };
    finish(b, "keep", super::map::stores);
    if s.elects() {
        finish(b, "elect", super::map::elections);
    }
    Ok(())
}

pub const LOAD: &str = "[&](u64 row, u64 pos) { return k.load_value(i64(row), i64(pos)); }";
const LOAD_FLAT: &str = "[&](u64 pos) { return k.load_value(0, i64(pos)); }";

/// The functions of a reduction: of one row, or of rows of any, of short and of long ones.
pub fn reduce(b: &mut Bodies, s: &Source) {
    let (class, tile) = (&s.class, tile(s));
    if s.shape() == Shape::Flat {
        let store = format!("[&](const {class}::Value& value) {{ k.keep(0, 0, value); }}");
        let rest = format!("{class}::Op(k), {LOAD_FLAT}, {store}, k.state, k.finished");
        return function(b, s, "", &format!("par::reduce<{tile}>(u64(k.n), k.chunk, {rest});"));
    }
    let store = format!("[&](u64 row, const {class}::Value& value) {{ k.keep(0, row, value); }}");
    let (first, last) = (format!("{}, {class}::Op(k)", rows(s)), format!("{LOAD}, {store}"));
    let needs_rows = needs_rows(s.kernel);
    function(b, s, "", &format!("par::segmented_reduce<{tile}, {needs_rows}>({first}, {last}, k.state);"));
    let threads = s.tile().threads;
    function(
        b,
        s,
        "_lanes",
        &format!("par::segmented_reduce_lanes<{threads}>({first}, u32(k.chunk), {last});"),
    );
    function(b, s, "_block", &format!("par::segmented_reduce_block<{tile}>({first}, {last});"));
}

fn function(b: &mut Bodies, s: &Source, suffix: &str, call: &str) {
    open_function(b, s, suffix);
    b.text.line(call);
    close_function(b, s, suffix);
}

/// The functions of a scan.
pub fn scan(b: &mut Bodies, s: &Source, exclusive: bool) {
    if s.elects() {
        scan_function(b, s, exclusive, "_elect", "elect");
    }
    scan_function(b, s, exclusive, "", "keep");
}

fn scan_function(b: &mut Bodies, s: &Source, exclusive: bool, suffix: &str, member: &str) {
    let value = format!("const {}::Value& value", s.class);
    let (template, first, load, store) = match s.shape() {
        Shape::Flat => {
            let store = format!("[&](u64 pos, {value}) {{ k.{member}(0, i64(pos), value); }}");
            ("scan", "u64(k.n)", LOAD_FLAT, store)
        }
        _ => {
            let store =
                format!("[&](u64 row, u64 pos, {value}) {{ k.{member}(i64(row), i64(pos), value); }}");
            ("segmented_scan", rows(s), LOAD, store)
        }
    };
    let op = format!("{}::Op(k)", s.class);
    let call = format!("par::{template}<{}, {exclusive}>({first}, {op}, {load}, {store}, k.state);", tile(s));
    function(b, s, suffix, &call);
}
