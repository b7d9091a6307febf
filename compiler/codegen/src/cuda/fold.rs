//! Reductions and scans along rows.

use super::body::Bodies;
use super::kernel::{Source, close_function, open_function, rows, tile};
use super::map::needs_rows;
use par_runtime::cuda::Shape;

/// `load` computes what is combined at a position, and stores the further results. What fails counts as neutral. `keep`
/// stores a combined value.
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
    b.text.open("PAR_INLINE void keep(u64 at, const Value& value) const {");
    for i in 0..combined {
        b.text.line(format!("store(&out{i}[at], value.v{i});"));
    }
    b.text.close("}");
}

const LOAD: &str = "[&](u64 row, u64 pos) { return k.load_value(i64(row), i64(pos)); }";
const LOAD_FLAT: &str = "[&](u64 pos) { return k.load_value(0, i64(pos)); }";

/// The function of a reduction.
pub fn reduce(b: &mut Bodies, s: &Source) {
    open_function(b, s, "");
    match s.shape() {
        Shape::Flat => {
            let store = format!("[&](const {}::Value& value) {{ k.keep(0, value); }}", s.class);
            b.text.line(format!(
                "par::reduce<{}>(u64(k.n), k.chunk, {}::Op(k), {LOAD_FLAT}, {store}, k.state, k.finished);",
                tile(s),
                s.class
            ));
        }
        _ => {
            let store = format!("[&](u64 row, const {}::Value& value) {{ k.keep(row, value); }}", s.class);
            b.text.line(format!(
                "par::segmented_reduce<{}, {}>({}, {}::Op(k), {LOAD}, {store}, k.state);",
                tile(s),
                needs_rows(s.kernel),
                rows(s),
                s.class
            ));
        }
    }
    close_function(b, s, "");
}

/// The function of a scan.
pub fn scan(b: &mut Bodies, s: &Source, exclusive: bool) {
    open_function(b, s, "");
    let value = format!("const {}::Value& value", s.class);
    match s.shape() {
        Shape::Flat => {
            let store = format!("[&](u64 pos, {value}) {{ k.keep(pos, value); }}");
            b.text.line(format!(
                "par::scan<{}, {exclusive}>(u64(k.n), {}::Op(k), {LOAD_FLAT}, {store}, k.state);",
                tile(s),
                s.class
            ));
        }
        _ => {
            let store = format!("[&](u64, u64 pos, {value}) {{ k.keep(pos, value); }}");
            b.text.line(format!(
                "par::segmented_scan<{}, {exclusive}>({}, {}::Op(k), {LOAD}, {store}, k.state);",
                tile(s),
                rows(s),
                s.class
            ));
        }
    }
    close_function(b, s, "");
}
