//! Maps: fresh arrays, scatters, and arrays that the body owns.

use super::body::Bodies;
use super::kernel::{Source, close_function, open_function, rows, tile};
use super::text::{name, ty};
use par_ir::Prim;
use par_ir::flat::{Kernel, KernelKind, Out, Ty};
use par_ir::visit::Code as _;
use par_runtime::cuda::Shape;

/// Types of the arrays that each output binds.
fn arrays(s: &Source, outs: &[Out]) -> Vec<Vec<Prim>> {
    let mut bound = s.pattern.iter().filter_map(|t| if let Ty::Array(p) = t { Some(*p) } else { None });
    outs.iter()
        .map(|o| match o {
            Out::Elem(_) | Out::Row(..) | Out::Own { .. } => bound.by_ref().take(1).collect(),
            Out::Scatter(dests) => bound.by_ref().take(dests.len()).collect(),
        })
        .collect()
}

/// Types of the scalar results, in order.
pub fn result_types(s: &Source, outs: &[Out]) -> Vec<Prim> {
    let mut types = Vec::new();
    for (out, prims) in outs.iter().zip(arrays(s, outs)) {
        match out {
            Out::Elem(_) => types.extend(prims),
            Out::Row(p, n) => types.extend(vec![*p; *n]),
            Out::Scatter(_) => {
                types.push(Prim::I64);
                types.extend(prims);
            }
            Out::Own { .. } => {}
        }
    }
    types
}

/// The members: an address for a fresh array, the length and addresses of destinations.
pub fn members(b: &mut Bodies, s: &Source, outs: &[Out]) {
    let mut number = 0;
    for (i, (out, prims)) in outs.iter().zip(arrays(s, outs)).enumerate() {
        if !matches!(out, Out::Elem(_) | Out::Row(..)) {
            b.text.line(format!("i64 length{i};"));
        }
        for p in prims {
            b.text.line(format!("{}* out{number};", ty(p)));
            number += 1;
        }
    }
    if s.elects() {
        b.text.line("i64* elected;");
    }
}

/// The first versions of owned arrays as variables.
pub fn first_versions(b: &mut Bodies, s: &Source) {
    let KernelKind::Map(outs) = &s.kernel.kind else { return };
    let mut number = 0;
    for (out, prims) in outs.iter().zip(arrays(s, outs)) {
        if let Out::Own { state, .. } = out {
            b.text.line(format!("{}* {} = out{number};", ty(prims[0]), name(state.var, b.vars)));
        }
        number += prims.len();
    }
}

/// Code for a position; and before it, the choice of who writes.
pub fn element(b: &mut Bodies, s: &Source, outs: &[Out]) {
    b.text.open("PAR_INLINE void element(i64 row, i64 pos) const {");
    compute(b);
    stores(b, s, outs);
    b.text.close("}");
    if s.elects() {
        b.text.open("PAR_INLINE void elect(i64 row, i64 pos) const {");
        compute(b);
        elections(b, s, outs);
        b.text.close("}");
    }
}

/// Stores the results of a position.
pub fn stores(b: &mut Bodies, s: &Source, outs: &[Out]) {
    let (mut number, mut result, mut joint) = (0, 0, 0);
    for (i, (out, prims)) in outs.iter().zip(arrays(s, outs)).enumerate() {
        match out {
            Out::Elem(_) => {
                b.text.line(format!("store(&out{number}[pos], results.r{result});"));
                result += 1;
            }
            Out::Row(_, n) => {
                for k in 0..*n {
                    b.text.line(format!("store(&out{number}[pos * {n} + {k}], results.r{});", result + k));
                }
                result += n;
            }
            Out::Scatter(_) => {
                let index = format!("results.r{result}");
                let elected = match s.elects() && s.is_joint(out) {
                    true => format!(" && elected[{}{index}] == pos", offset(s, outs, joint)),
                    false => String::new(),
                };
                joint += usize::from(s.is_joint(out));
                b.text.open(format!("if (u64({index}) < u64(length{i}){elected}) {{"));
                for k in 0..prims.len() {
                    let (out, value) = (number + k, result + 1 + k);
                    b.text.line(format!("store(&out{out}[{index}], results.r{value});"));
                }
                b.text.close("}");
                result += 1 + prims.len();
            }
            Out::Own { .. } => {}
        }
        number += prims.len();
    }
}

fn compute(b: &mut Bodies) {
    b.text.line("const par::Here here{failure, launch, pos, par::lowest_address(stack)};");
    b.text.line("Results results;");
    b.text.line("if (!at(here, row, pos, results)) return;");
}

/// Offset of a joint scatter's places among those of all joint scatters: the code of its summands.
fn offset(s: &Source, outs: &[Out], joint: usize) -> String {
    let lengths = outs.iter().enumerate().filter(|(_, o)| s.is_joint(o));
    lengths.take(joint).map(|(i, _)| format!("length{i} + ")).collect()
}

/// The last position that writes to an index is the one that may.
pub fn elections(b: &mut Bodies, s: &Source, outs: &[Out]) {
    let (mut result, mut joint) = (0, 0);
    for (i, (out, prims)) in outs.iter().zip(arrays(s, outs)).enumerate() {
        match out {
            Out::Elem(_) | Out::Row(..) => result += out.results(),
            Out::Scatter(_) => {
                if s.is_joint(out) {
                    let (index, before) = (format!("results.r{result}"), offset(s, outs, joint));
                    let place = format!("&elected[{before}{index}]");
                    b.text.line(format!("if (u64({index}) < u64(length{i})) atomicMax({place}, pos);"));
                    joint += 1;
                }
                result += 1 + prims.len();
            }
            Out::Own { .. } => {}
        }
    }
}

/// The `__global__` functions.
pub fn functions(b: &mut Bodies, s: &Source) {
    if s.elects() {
        function(b, s, "_elect", "elect");
    }
    function(b, s, "", "element");
}

fn function(b: &mut Bodies, s: &Source, suffix: &str, member: &str) {
    open_function(b, s, suffix);
    let body = format!("[&](u64 row, u64 pos) {{ k.{member}(i64(row), i64(pos)); }}");
    if s.is_serial() {
        b.text.line(format!("par::serially({}, {body});", rows(s)));
    } else {
        match s.shape() {
            Shape::Flat => b.text.line(format!(
                "par::map<{}>(u64(k.n), [&](u64 pos) {{ k.{member}(0, i64(pos)); }});",
                tile(s)
            )),
            Shape::Uniform => {
                b.text.line(format!("par::map_rows_uniform<{}>(u64(k.rows), u64(k.m), {body});", tile(s)))
            }
            Shape::Ragged if !needs_rows(s.kernel) => b.text.line(format!(
                "par::map<{}>(u64(k.total), [&](u64 pos) {{ k.{member}(0, i64(pos)); }});",
                tile(s)
            )),
            Shape::Ragged => b.text.line(format!("par::map_rows<{}>({}, {body});", tile(s), rows(s))),
        }
    }
    close_function(b, s, suffix);
}

/// True if a kernel's code looks at the row.
pub fn needs_rows(kernel: &Kernel) -> bool {
    !kernel.prologue.is_empty() || kernel.mentions(kernel.row)
}
