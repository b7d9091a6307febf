//! Histograms.

use super::body::Bodies;
use super::kernel::{Source, close_function, open_function, rows};

/// `update` combines what a position gives into its place.
pub fn element(b: &mut Bodies, s: &Source) {
    b.text.open("PAR_INLINE void update(i64 row, i64 pos) const {");
    b.text.line("const par::Here here{failure, launch, pos, par::lowest_address(stack)};");
    b.text.line("Results results;");
    b.text.line("if (!at(here, row, pos, results) || u64(results.r0) >= u64(length0)) return;");
    let (old, new): (Vec<String>, Vec<String>) =
        (0..s.combined.len()).map(|i| (format!("out{i}[results.r0]"), format!("results.r{}", i + 1))).unzip();
    b.text.line(format!("const Value old{{{}}}, value{{{}}};", old.join(", "), new.join(", ")));
    b.text.line("const Value next = Op(*this)(old, value);");
    for i in 0..s.combined.len() {
        b.text.line(format!("store(&out{i}[results.r0], next.v{i});"));
    }
    b.text.close("}");
}

/// The function of a histogram.
pub fn functions(b: &mut Bodies, s: &Source) {
    open_function(b, s, "");
    b.text.line(format!(
        "par::serially({}, [&](u64 row, u64 pos) {{ k.update(i64(row), i64(pos)); }});",
        rows(s)
    ));
    close_function(b, s, "");
}
