//! Histograms: what positions give is combined into places. Which function runs, the executor decides when it knows how many places
//! there are: see `par_runtime::cuda::Combine`, and `kernels/par/histogram.cuh` for how they work.

use super::body::Bodies;
use super::kernel::{Source, close_function, open_function, rows, tile};
use super::map::needs_rows;
use super::operator::{atomic, is_exact};
use par_ir::core::Lambda;
use par_runtime::cuda::{Combine, HIST_LANES, HIST_THREADS};

/// Method of combining values into their places: atomic, locked or in order.
pub fn combine(s: &Source, op: &Lambda) -> Combine {
    match (atomic(op, &s.combined), is_exact(&op.body)) {
        (Some(_), _) => Combine::Atomic,
        (None, true) => Combine::Locked,
        (None, false) => Combine::InOrder,
    }
}

/// `load_value` computes a position's place and value; what fails has no place. `update` combines a value into a place.
pub fn element(b: &mut Bodies, s: &Source) {
    b.text.open("PAR_INLINE Value load_value(u64 pos, i64& place) const {");
    let row = match needs_rows(s.kernel) {
        true => format!("i64(par::row_of({}, pos))", rows(s).replace("k.", "")),
        false => "0".into(),
    };
    b.text.line("const par::Here here{failure, launch, i64(pos), par::lowest_address(stack)};");
    b.text.line("Results results;");
    b.text.line("place = -1;");
    b.text.line(format!("if (!at(here, {row}, i64(pos), results)) return Op(*this).neutral();"));
    b.text.line("place = results.r0;");
    let values: Vec<String> = (0..s.combined.len()).map(|i| format!("results.r{}", i + 1)).collect();
    b.text.line(format!("return {{{}}};", values.join(", ")));
    b.text.close("}");
    b.text.open("PAR_INLINE void update(u64 place, const Value& value) const {");
    let old: Vec<String> = (0..s.combined.len()).map(|i| format!("load(&out{i}[place])")).collect();
    b.text.line(format!("const Value old{{{}}};", old.join(", ")));
    b.text.line("const Value next = Op(*this)(old, value);");
    for i in 0..s.combined.len() {
        b.text.line(format!("store(&out{i}[place], next.v{i});"));
    }
    b.text.close("}");
}

const LOAD: &str = "[&](u64 pos, i64& place) { return k.load_value(pos, place); }";

/// The functions of a histogram.
pub fn functions(b: &mut Bodies, s: &Source, op: &Lambda) {
    let elements = if rows(s).starts_with("par::UniformRows(1") { "u64(k.n)" } else { "rows.elements" };
    let n = elements.to_string();
    match combine(s, op) {
        Combine::Atomic => {
            for (suffix, shared) in [("_shared", true), ("", false)] {
                let bins = format!("reinterpret_cast<{}::Value*>(k.out0)", s.class);
                let call = format!(
                    "par::histogram_atomic<{HIST_THREADS}, 1, {shared}>({n}, u32(k.length0), {}::Op(k), {LOAD}, {bins});",
                    s.class
                );
                function(b, s, suffix, &[call]);
            }
        }
        how => {
            private(b, s, &n);
            match how {
                Combine::Locked => function(b, s, "", &locked(s, &n)),
                _ => sorted(b, s, &n),
            }
        }
    }
}

fn function(b: &mut Bodies, s: &Source, suffix: &str, lines: &[String]) {
    open_function(b, s, suffix);
    b.text.line(format!("const auto rows = {};", rows(s)));
    lines.iter().for_each(|line| b.text.line(line));
    b.text.line("(void)rows;");
    close_function(b, s, suffix);
}

/// Tables of warps in shared memory, and how they are combined with the places.
fn private(b: &mut Bodies, s: &Source, n: &str) {
    let class = &s.class;
    let partials = format!("static_cast<{class}::Value*>(k.state)");
    let call = format!(
        "par::histogram_private<{HIST_THREADS}>({n}, u32(k.length0), k.chunk, {class}::Op(k), {LOAD}, {partials});"
    );
    function(b, s, "_private", &[call]);
    let load = format!("[&](u64, u64 pos) -> {class}::Value {{ return {partials}[pos]; }}");
    let store = format!("[&](u64 place, const {class}::Value& value) {{ k.update(place, value); }}");
    let all = "par::UniformRows(u64(k.length0), k.blocks)";
    let call = format!(
        "par::segmented_reduce_lanes<{HIST_THREADS}>({all}, {class}::Op(k), {HIST_LANES}, {load}, {store});"
    );
    function(b, s, "_merge", &[call]);
}

/// A lock for some places each. A thread does one position, whose value it keeps.
fn locked(s: &Source, n: &str) -> Vec<String> {
    let bin = "[&](u64 pos) { i64 place; value = k.load_value(pos, place); return place; }";
    let combine = "[&](u64 place, u64) { k.update(place, value); }";
    vec![
        format!("{}::Value value;", s.class),
        format!(
            "par::histogram_locked<{HIST_THREADS}>({n}, u64(k.length0), {bin}, {combine}, static_cast<u32*>(k.state), u32(k.chunk));"
        ),
    ]
}

/// A position each writes its place, those without one a place behind the last; then, when positions are sorted by their places, those of
/// every place are combined in their order.
fn sorted(b: &mut Bodies, s: &Source, n: &str) {
    let class = &s.class;
    let place = format!(
        "par::map<{HIST_THREADS}, 1>({n}, [&](u64 pos) {{ i64 place; k.load_value(pos, place); \
         store(static_cast<u64*>(k.state) + pos, u64(place) < u64(k.length0) ? u64(place) : u64(k.length0)); \
         store(reinterpret_cast<i64*>(k.chunk) + pos, i64(pos)); }});"
    );
    function(b, s, "_places", &[place]);
    let load = "[&](u64, u64 i) { i64 place; return k.load_value(u64(load(order + i)), place); }";
    let store = format!(
        "[&](u64 place, const {class}::Value& value) {{ \
         if (place < u64(k.length0) && load(starts + place) < load(starts + place + 1)) k.update(place, value); }}"
    );
    let lines = [
        "const i64* const order = reinterpret_cast<const i64*>(k.chunk);".to_string(),
        "const i64* const starts = reinterpret_cast<const i64*>(k.blocks);".to_string(),
        format!("const par::RaggedRows places(u64(k.length0) + 1, {n}, starts);"),
        format!(
            "par::segmented_reduce<{}, false>(places, {class}::Op(k), {load}, {store}, k.state);",
            tile(s)
        ),
    ];
    function(b, s, "_sorted", &lines);
}
