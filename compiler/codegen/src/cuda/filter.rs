//! Filters: what is kept, how many in all, and where the kept ones of each row end.

use super::body::Bodies;
use super::kernel::{Source, close_function, open_function, rows, tile};
use super::text::ty;
use par_runtime::cuda::Shape;

/// `keeps` computes what may be kept and whether it is; what fails is not.
pub fn element(b: &mut Bodies, s: &Source) {
    let fields: String = s.elems.iter().enumerate().map(|(i, p)| format!("{} v{i}; ", ty(*p))).collect();
    b.text.line(format!("struct Value {{ {fields}}};"));
    b.text.open("PAR_INLINE bool keeps(i64 row, i64 pos, Value& value) const {");
    b.text.line("const par::Here here{failure, launch, pos, par::lowest_address(stack)};");
    b.text.line("Results results;");
    b.text.line("if (!at(here, row, pos, results)) return false;");
    for i in 0..s.elems.len() {
        b.text.line(format!("value.v{i} = results.r{};", i + 1));
    }
    b.text.line("return results.r0;");
    b.text.close("}");
    b.text.open("PAR_INLINE void keep(u64 at, const Value& value) const {");
    for i in 0..s.elems.len() {
        b.text.line(format!("store(&out{i}[at], value.v{i});"));
    }
    b.text.close("}");
}

/// The function of a filter.
pub fn functions(b: &mut Bodies, s: &Source) {
    open_function(b, s, "");
    let class = &s.class;
    b.text.line(format!("const auto keep = [&](u64 at, u64, const {class}::Value& v) {{ k.keep(at, v); }};"));
    match s.shape() {
        Shape::Flat => {
            let load = format!("[&](u64 pos, {class}::Value& v) {{ return k.keeps(0, i64(pos), v); }}");
            let total = "[&](u64 kept) { k.ends[0] = i64(kept); }";
            b.text.line(format!(
                "par::filter<{}, {class}::Value>(u64(k.n), {load}, keep, {total}, k.state);",
                tile(s)
            ));
        }
        _ => {
            let load = format!(
                "[&](u64 row, u64 pos, {class}::Value& v) {{ return k.keeps(i64(row), i64(pos), v); }}"
            );
            let end = "[&](u64 row, u64 kept) { k.ends[row] = i64(kept); }";
            b.text.line(format!(
                "par::filter_rows<{}, {class}::Value>({}, {load}, keep, {end}, [](u64) {{}}, k.state);",
                tile(s),
                rows(s)
            ));
        }
    }
    close_function(b, s, "");
}
