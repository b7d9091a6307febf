//! Programs for arguments of certain shapes: where all rows of a ragged argument have one length, it is a matrix; the lengths of short rows are constants, so
//! that rows are unrolled and held in registers.
//!
//! They are chosen by the arguments alone, so that a call always gives the same result.

use super::{Asked, Backend, CallOptions, Pipeline, Program, STACK, Trace, is_entry, matrices};
use crate::failure::Failure;
use crate::pipeline::noted;
use par_check::lower::Matrices;
use par_ir::core::{Body, Entry, Exp, Fun, Param, Stm};
use par_ir::ty::{Atom, Dim, Var, Vars};
use par_ir::visit::{Code, Subst};
use par_runtime::{Column, Value};
use std::collections::HashSet;
use std::sync::{Arc, Mutex};

/// Elements of the longest row whose length becomes a constant. Of 8 and more, loops over rows are as fast: products of matrices of 4 by 4 take 0.1 of the
/// time, those of 8 by 8 1.0 to 1.3.
const LONGEST_ROW: i64 = 4;

/// So many of such rows become constants, too.
const MOST_ROWS: i64 = 16;

/// Programs that are kept. If more are needed, those made first are made again.
const MOST: usize = 64;

/// Sizes that are constants: numbers of parameters in CORE, with their values.
type Sizes = Vec<(usize, i64)>;

/// Known shapes of an entry point's arguments.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Shapes {
    pub(crate) matrices: Matrices,
    pub(crate) sizes: Sizes,
}

/// Specialisation of a program to the shapes of arguments.
pub(super) struct Special {
    pub(super) shapes: Shapes,
    /// The entry point as it is declared: its parameters and its result may be ragged where they are matrices in the program.
    declared: Entry,
    /// The shapes in words.
    words: Vec<String>,
}

/// Programs by shapes; none where the program for all arguments runs.
#[derive(Default)]
pub(super) struct ByShapes(Mutex<Vec<(Shapes, Option<Arc<Program>>)>>);

impl Program {
    /// The program that a call with these arguments runs, if it is not this one. Compiled when it is first asked for.
    pub fn for_arguments(
        &self,
        entry: &str,
        args: &[Value],
        options: &CallOptions,
    ) -> Result<Option<Arc<Program>>, Failure> {
        let is_possible = self.special.is_none()
            && !options.backend.is_interpreter()
            && options.on_ranks().is_none()
            && self.options.tuning.is_none()
            && !args.iter().any(Value::is_in_parts);
        let Some(typed) = self.typed.as_ref().filter(|_| is_possible) else { return Ok(None) };
        let Some(shapes) = self.shapes(entry, args, options.backend) else { return Ok(None) };
        let mut known = noted(&self.by_shapes.0);
        if let Some((_, made)) = known.iter().find(|(s, _)| *s == shapes) {
            return Ok(made.clone());
        }
        if known.len() == MOST {
            known.remove(0);
        }
        let trace = Trace::default();
        let pipeline = Pipeline { options: &self.options, trace: &trace };
        let lower = || pipeline.lowered_for(typed, &self.sources, &shapes);
        let core = stacker::maybe_grow(STACK / 4, STACK, lower)?;
        let made = core.and_then(|core| self.specialised(core, &shapes)).map(Arc::new);
        known.push((shapes, made.clone()));
        Ok(made)
    }

    /// The program specialised to these shapes, with its CORE. None if its results are not those that are declared, or if it would fail where rows of a matrix
    /// become longer or shorter, which ragged ones may.
    fn specialised(&self, core: par_ir::core::Program, shapes: &Shapes) -> Option<Program> {
        let name = &shapes.matrices.entry;
        let general = self.core.funs.iter().find(|f| is_entry(&f.entry, name))?;
        let special = core.funs.iter().find(|f| is_entry(&f.entry, name))?;
        let declared = general.entry.clone()?;
        let fits = matrices::fits(&special.entry.as_ref()?.ret, &declared.ret);
        if !fits || self.written.compares_fewer_sizes(special, &core) {
            return None;
        }
        let words = self.in_words(general, shapes);
        let special = Some(Special { shapes: shapes.clone(), declared, words });
        Some(Program { special, ..self.flattened_from(core, &self.options) })
    }

    fn in_words(&self, fun: &Fun, shapes: &Shapes) -> Vec<String> {
        let name = |at: usize| self.core.vars.name(fun.params[at].var);
        let is_row = |at: &usize| shapes.matrices.columns.contains(at);
        let rows = shapes.matrices.columns.iter().map(|at| {
            let s = fun.params[*at].var;
            let array = fun.params.iter().find(|p| !p.ty.is_desc() && p.ty.mentions(s));
            let array = array.map_or("", |p| self.core.vars.name(p.var));
            match shapes.sizes.iter().find(|(of, _)| of == at) {
                Some((_, n)) => format!("rows of length {n} in `{array}`"),
                None => format!("rows of one length in `{array}`"),
            }
        });
        let sizes = shapes.sizes.iter().filter(|(at, _)| !is_row(at));
        let mut words: Vec<String> = rows.collect();
        words.dedup();
        words.extend(sizes.map(|(at, n)| format!("{} = {n}", name(*at))));
        words
    }

    /// The shapes that this program is specialised to, as `k = 4`; none if it is for all arguments.
    pub fn known_shapes(&self) -> &[String] {
        self.special.as_ref().map_or(&[], |special| &special.words)
    }

    /// An entry point as it is declared.
    pub(super) fn declared<'a>(&'a self, entry: &'a Entry) -> &'a Entry {
        self.special.as_ref().map_or(entry, |special| &special.declared)
    }

    /// True if the error of a failed call of a specialised program may have another text in this one, which names rows of ragged arrays, and the call can be
    /// repeated: it neither consumes its arguments nor prints.
    pub(super) fn may_fail_otherwise(&self, entry: &str, special: &Program) -> bool {
        let matrices = special.special.as_ref().is_some_and(|s| !s.shapes.matrices.columns.is_empty());
        let Asked { shows, consuming } = self.asked();
        matrices && !shows && !consuming.iter().any(|name| name == entry)
    }

    /// Arguments as the program takes them: with sizes for the descriptors of matrices.
    pub(super) fn specialised_arguments(&self, args: Vec<Column>) -> Vec<Column> {
        match &self.special {
            Some(special) => matrices::with_sizes(args, &special.shapes.matrices.columns),
            None => args,
        }
    }

    /// A result as it is declared.
    pub(super) fn declared_result(&self, result: Vec<Column>) -> Vec<Column> {
        match &self.special {
            Some(special) => matrices::with_descriptors(result, &special.declared.ret),
            None => result,
        }
    }

    /// Shapes of arguments that a program of their own is for, if there is much to do: rows of one length; on the processor, lengths of short rows, all sizes of
    /// small arrays.
    fn shapes(&self, entry: &str, args: &[Value], backend: Backend) -> Option<Shapes> {
        let columns = || args.iter().flat_map(|v| &v.columns);
        let elements: usize = columns().map(|c| if let Column::Data(a) = c { a.len() } else { 0 }).sum();
        if self.options.constant_sizes.is_none_or(|least| elements < least) {
            return None;
        }
        let fun = self.core.funs.iter().find(|f| is_entry(&f.entry, entry))?;
        let columns: Vec<&Column> = columns().collect();
        let descriptors = matrices::descriptors(args.iter().map(|v| &v.ty), &columns);
        let size = |v: Var| {
            let at = fun.params.iter().position(|p| p.var == v)?;
            match columns.get(at)? {
                Column::Size(n) => Some((at, *n)),
                _ => descriptors.iter().find(|(of, _)| *of == at).copied(),
            }
        };
        let short = match backend {
            Backend::Cpu => short(fun, &|v| size(v).map(|(_, n)| n)),
            _ => HashSet::new(),
        };
        let mut sizes: Sizes = short.into_iter().filter_map(size).collect();
        sizes.sort_unstable();
        let matrices =
            Matrices { entry: entry.to_string(), columns: descriptors.iter().map(|d| d.0).collect() };
        (!sizes.is_empty() || !matrices.columns.is_empty()).then_some(Shapes { matrices, sizes })
    }
}

/// Variables for the lengths of short rows among a function's parameters, and for the numbers of these where they are small.
fn short(fun: &Fun, size: &dyn Fn(Var) -> Option<i64>) -> HashSet<Var> {
    let mut found = HashSet::new();
    for p in fun.params.iter().filter(|p| p.ty.rank() > 1) {
        let mut most = LONGEST_ROW;
        for dim in p.ty.dims.iter().rev() {
            let (known, var) = match dim {
                Dim::Size(n) => (n.as_i64().or_else(|| size(n.var()?)), n.var()),
                Dim::Seg(s) => (size(*s), Some(*s)),
            };
            if !known.is_some_and(|n| (1..=most).contains(&n)) {
                break;
            }
            found.extend(var);
            most = MOST_ROWS;
        }
    }
    found
}

/// Makes parameters of a function constants: its arrays get types with these sizes.
pub(crate) fn fix(fun: &mut Fun, sizes: &Sizes, vars: &mut Vars) {
    let mut subst: Subst = sizes.iter().map(|(at, n)| (fun.params[*at].var, Atom::i64(*n))).collect();
    let mut stms = Vec::new();
    let is_fixed = |p: &&Param| sizes.iter().any(|(at, _)| p.ty.mentions(fun.params[*at].var));
    for p in fun.params.iter().filter(is_fixed) {
        let ty = p.ty.substituted(&subst);
        let var = vars.fresh_like(p.var);
        subst.insert(p.var, var.into());
        stms.push(Stm { pat: vec![Param { var, ty }], exp: Exp::Atom(p.var.into()), span: fun.span });
    }
    let body = std::mem::take(&mut fun.body).substituted(&subst);
    stms.extend(body.stms);
    fun.body = Body { stms, results: body.results };
}
