//! A kernel as a C++ struct, which is its argument: what it reads and writes, its body as a member function, and below it the
//! `__global__` functions that run the body by one of the templates of `kernels/par`.
//!
//! ```text
//! struct Kernel3 {
//!     par::Failure* failure; … i64 n; const f32* xs_1; f32* out0;
//!     struct Results { f32 r0; };
//!     bool at(const par::Here& here, i64 row, i64 pos, Results& results) const { … }
//!     void element(i64 row, i64 pos) const { … store(&out0[pos], results.r0); }
//! };
//! PAR_KERNEL void kernel3(PAR_ARGUMENT Kernel3 k) { … par::map<256, 4>(k.n, …); }
//! ```
//!
//! The executor knows the members by their order, each of which takes 8 bytes: see `par_runtime::cuda::Kernel`.

use super::body::{Bodies, Result};
use super::operator;
use super::text::{name, ty};
use crate::free;
use par_ir::flat::{Kernel, KernelKind, Out, Ty};
use par_ir::hash::HashMap;
use par_ir::ty::Dim;
use par_ir::visit::Code as _;
use par_ir::{Prim, Var};
use par_runtime::cuda::{Schedule, Shape, Tile};

/// A kernel, what its statement binds, and its name in C++.
pub struct Source<'a> {
    /// The kernel.
    pub kernel: &'a Kernel,
    /// Types of what it binds.
    pub pattern: Vec<Ty>,
    /// Its place among the kernels of the program.
    pub number: usize,
    /// Of the function.
    pub name: String,
    /// Of the struct.
    pub class: String,
    /// Host variables that it reads.
    pub captures: Vec<Var>,
    /// Another way to run it.
    pub schedule: Schedule,
    /// Types of the combined results.
    pub combined: Vec<Prim>,
    /// Types of the further results.
    pub elems: Vec<Prim>,
    /// The last position that writes to an index is the one that does, in every scatter.
    pub reproducible: bool,
}

impl<'a> Source<'a> {
    /// Kernel number `i`.
    pub fn new(i: usize, kernel: &'a Kernel, pattern: Vec<Ty>) -> Source<'a> {
        let element = |t: &Ty| match t {
            Ty::Array(p) => Some(*p),
            _ => None,
        };
        let prims: Vec<Prim> = pattern.iter().filter_map(element).collect();
        let (combined, elems) = match &kernel.kind {
            KernelKind::Map(_) => (Vec::new(), Vec::new()),
            KernelKind::Filter => (Vec::new(), prims.get(1..).unwrap_or_default().to_vec()),
            KernelKind::Hist { dests, .. } => (prims[..dests.len()].to_vec(), Vec::new()),
            KernelKind::Scan { op, neutral, after: Some(_), .. } => {
                (op.params[..neutral.len()].iter().map(|p| p.ty.prim()).collect(), Vec::new())
            }
            KernelKind::Reduce { neutral, .. } | KernelKind::Scan { neutral, .. } => {
                let (a, b) = prims.split_at(neutral.len().min(prims.len()));
                (a.to_vec(), b.to_vec())
            }
        };
        let (name, class) = (format!("kernel{i}"), format!("Kernel{i}"));
        let captures = free::captures(kernel);
        let schedule = super::schedule::of(kernel, &captures);
        let reproducible = false;
        Source { kernel, pattern, number: i, name, class, captures, schedule, combined, elems, reproducible }
    }

    /// Form in which its space is an argument: `n`; `rows, m`; or `rows, total, offsets`.
    pub fn shape(&self) -> Shape {
        match self.kernel.space.0[..] {
            [_] => Shape::Flat,
            [_, Dim::Size(_)] => Shape::Uniform,
            _ => Shape::Ragged,
        }
    }

    /// Bytes of the combined value as C++ lays it out.
    pub fn value_size(&self) -> usize {
        let values = if self.combined.is_empty() { &self.elems } else { &self.combined };
        let align = values.iter().map(|p| p.size()).max().unwrap_or(1);
        let end = values.iter().fold(0, |at: usize, p| at.next_multiple_of(p.size()) + p.size());
        end.next_multiple_of(align).max(1)
    }

    /// Threads of a block, and elements of a thread.
    pub fn tile(&self) -> Tile {
        match &self.kernel.kind {
            KernelKind::Map(_) if self.shape() == Shape::Ragged => Tile { threads: 256, items: 7 },
            KernelKind::Map(_) => Tile { threads: 256, items: 4 },
            _ => match self.value_size() {
                0..=4 => Tile { threads: 256, items: 15 },
                5..=8 => Tile { threads: 256, items: 11 },
                9..=16 => Tile { threads: 128, items: 7 },
                17..=32 => Tile { threads: 64, items: 5 },
                _ => Tile { threads: 64, items: 1 },
            },
        }
    }

    /// The outputs of a map, or of what a scan makes of its prefixes.
    pub fn outs(&self) -> &'a [Out] {
        match &self.kernel.kind {
            KernelKind::Map(outs) => outs,
            KernelKind::Scan { after: Some(after), .. } => &after.outs,
            _ => &[],
        }
    }

    /// True if one position is elected to write to an index, in some output.
    pub fn elects(&self) -> bool {
        self.outs().iter().any(|o| self.is_joint(o)) && !self.is_serial()
    }

    /// In which outputs.
    pub fn elected(&self, outs: &[Out]) -> Vec<bool> {
        outs.iter().map(|o| self.elects() && self.is_joint(o)).collect()
    }

    /// A scatter of several arrays, for one: what is written to one index belongs together.
    pub fn is_joint(&self, out: &Out) -> bool {
        matches!(out, Out::Scatter(dests) if dests.len() > 1 || self.reproducible)
    }

    /// One thread does all, in order: what the body owns may be changed only once, so that nobody can be elected before.
    pub fn is_serial(&self) -> bool {
        let outs = self.outs();
        outs.iter().any(|o| self.is_joint(o)) && outs.iter().any(|o| matches!(o, Out::Own { .. }))
    }

    /// True if its code calls functions.
    pub fn is_recursive(&self, locals: &[par_ir::core::Fun]) -> bool {
        !free::callees(self.kernel, locals).is_empty()
    }
}

/// Writes the struct and the functions of a kernel.
pub fn kernel(b: &mut Bodies, s: &Source, types: &HashMap<Var, Ty>) -> Result {
    b.text.open(format!("struct {} {{", s.class));
    members(b, s, types)?;
    body(b, s)?;
    match &s.kernel.kind {
        KernelKind::Map(outs) => super::map::element(b, s, outs),
        KernelKind::Filter => super::filter::element(b, s),
        KernelKind::Reduce { op, neutral } | KernelKind::Scan { op, neutral, .. } => {
            operator::operator(b, s, op, neutral.len())?;
            match s.kernel.after() {
                Some(after) => super::fold::after(b, s, after)?,
                None => super::fold::keep(b, s),
            }
            super::fold::element(b, s);
        }
        KernelKind::Hist { op, neutral, .. } => {
            operator::operator(b, s, op, neutral.len())?;
            super::hist::element(b, s);
        }
    }
    b.text.close("};");
    match &s.kernel.kind {
        KernelKind::Map(_) => super::map::functions(b, s),
        KernelKind::Filter => super::filter::functions(b, s),
        KernelKind::Reduce { .. } => super::fold::reduce(b, s),
        KernelKind::Scan { exclusive, .. } => super::fold::scan(b, s, *exclusive),
        KernelKind::Hist { op, .. } => super::hist::functions(b, s, op),
    }
    super::schedule::functions(b, s);
    Ok(())
}

fn members(b: &mut Bodies, s: &Source, types: &HashMap<Var, Ty>) -> Result {
    b.text.line("par::Failure* failure;");
    b.text.line("u64 launch, stack;");
    b.text.line(match s.shape() {
        Shape::Flat => "i64 n;",
        Shape::Uniform => "i64 rows, m;",
        Shape::Ragged => "i64 rows, total; const i64* offsets;",
    });
    b.prims.extend([s.kernel.row, s.kernel.pos].map(|v| (v, Prim::I64)));
    for v in &s.captures {
        let name = name(*v, b.vars);
        b.text.line(match types.get(v) {
            Some(Ty::Array(p)) => format!("const {}* {name};", ty(*p)),
            Some(Ty::Rope(p)) => format!("const {}* {name};   // rope: indices are addresses", ty(*p)),
            Some(Ty::Scalar(p)) => {
                b.prims.insert(*v, *p);
                format!("alignas(8) {} {name};", ty(*p))
            }
            _ => return Err(format!("a kernel reads {name}, which is neither scalar nor array")),
        });
    }
    for (i, p) in s.combined.iter().enumerate() {
        b.text.line(format!("alignas(8) {} neutral{i};", ty(*p)));
    }
    outputs(b, s);
    Ok(())
}

/// The members that point to outputs and scratch memory.
fn outputs(b: &mut Bodies, s: &Source) {
    match &s.kernel.kind {
        KernelKind::Map(outs) => super::map::members(b, s, outs),
        KernelKind::Scan { after: Some(after), .. } => {
            super::map::members(b, s, &after.outs);
            b.text.line("void* state; u64 chunk; u32* finished;");
        }
        KernelKind::Reduce { .. } | KernelKind::Scan { .. } => {
            for (i, p) in s.combined.iter().chain(&s.elems).enumerate() {
                b.text.line(format!("{}* out{i};", ty(*p)));
            }
            b.text.line("void* state; u64 chunk; u32* finished;");
        }
        KernelKind::Filter => {
            b.text.line("i64* ends;");
            for (i, p) in s.elems.iter().enumerate() {
                b.text.line(format!("{}* out{i};", ty(*p)));
            }
            b.text.line("void* state;");
        }
        KernelKind::Hist { .. } => {
            b.text.line("i64 length0;");
            for (i, p) in s.combined.iter().enumerate() {
                b.text.line(format!("{}* out{i};", ty(*p)));
            }
            b.text.line("void* state; u64 chunk, blocks;");
        }
    }
}

/// The body's results, and the function that computes them at a position.
fn body(b: &mut Bodies, s: &Source) -> Result {
    let owned: Vec<Var> = free::owned(s.kernel).map(|(_, state)| state.var).collect();
    let types = result_types(s);
    let fields: String = types.iter().enumerate().map(|(i, p)| format!("{} r{i}; ", ty(*p))).collect();
    b.text.line(format!("struct Results {{ {fields}}};"));
    let (row, pos) = (name(s.kernel.row, b.vars), name(s.kernel.pos, b.vars));
    let row = if s.kernel.mentions(s.kernel.row) { row } else { String::new() };
    let pos = if s.kernel.mentions(s.kernel.pos) { pos } else { String::new() };
    b.text.open(format!(
        "PAR_INLINE bool at(const par::Here& here, i64 {row}, i64 {pos}, Results& results) const {{"
    ));
    super::map::first_versions(b, s);
    b.stms(&s.kernel.prologue)?;
    b.stms(&s.kernel.body.stms)?;
    let scalars = s.kernel.body.results.iter().filter(|a| !a.var().is_some_and(|v| is_owned(v, &owned, s)));
    let results: Vec<String> = scalars.map(|a| super::text::atom(a, b.vars)).collect();
    for (i, x) in results.iter().take(types.len()).enumerate() {
        b.text.line(format!("results.r{i} = {x};"));
    }
    b.text.line("return true;");
    b.text.close("}");
    Ok(())
}

/// True if a result is an array that the body owns: versions of one are no scalars.
fn is_owned(v: Var, first: &[Var], s: &Source) -> bool {
    !first.is_empty() && (first.contains(&v) || binds_array(&s.kernel.body, v))
}

fn binds_array(body: &par_ir::core::Body, v: Var) -> bool {
    let binds = |stm: &par_ir::core::Stm| stm.pat.iter().any(|p| p.var == v && !p.ty.is_scalar());
    body.stms.iter().any(binds)
}

/// Types of the body's scalar results.
fn result_types(s: &Source) -> Vec<Prim> {
    match &s.kernel.kind {
        KernelKind::Map(outs) => super::map::result_types(s, outs),
        KernelKind::Filter => std::iter::once(Prim::Bool).chain(s.elems.iter().copied()).collect(),
        KernelKind::Reduce { .. } | KernelKind::Scan { .. } => {
            s.combined.iter().chain(&s.elems).copied().collect()
        }
        KernelKind::Hist { .. } => std::iter::once(Prim::I64).chain(s.combined.iter().copied()).collect(),
    }
}

/// The beginning of a `__global__` function: nothing is done after a failure.
pub fn open_function(b: &mut Bodies, s: &Source, suffix: &str) {
    b.text.open(format!("PAR_KERNEL void {}{suffix}(PAR_ARGUMENT {} k) {{", s.name, s.class));
    b.text.line("if (par::has_failed(k.failure, k.launch)) return;");
}

/// Its end.
pub fn close_function(b: &mut Bodies, s: &Source, suffix: &str) {
    b.text.close("}");
    b.text.line(format!("PAR_EXPORT({}{suffix})", s.name));
}

/// The rows as an object of the templates.
pub fn rows(s: &Source) -> &'static str {
    match s.shape() {
        Shape::Flat => "par::UniformRows(1, u64(k.n))",
        Shape::Uniform => "par::UniformRows(u64(k.rows), u64(k.m))",
        Shape::Ragged => "par::RaggedRows(u64(k.rows), u64(k.total), k.offsets)",
    }
}

/// The template parameters of a tile.
pub fn tile(s: &Source) -> String {
    let Tile { threads, items } = s.tile();
    format!("{threads}, {items}")
}
