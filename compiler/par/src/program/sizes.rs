//! Programs for arguments with short rows: the lengths of these are constants in them, so that rows are unrolled and held in registers.
//!
//! They are chosen by the arguments alone, so that a call always gives the same result.

use super::{Backend, CallOptions, Pipeline, Program, STACK, Trace, is_entry};
use crate::failure::Failure;
use crate::pipeline::noted;
use par_ir::core::{Body, Exp, Fun, Param, Stm};
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
pub(crate) type Sizes = Vec<(usize, i64)>;

/// Programs by entry point and sizes.
#[derive(Default)]
pub(super) struct BySizes(Mutex<Vec<Made>>);

struct Made {
    entry: String,
    sizes: Sizes,
    program: Arc<Program>,
}

impl Program {
    /// The program that a call with these arguments runs, if it is not this one. Compiled when it is first asked for.
    pub fn for_arguments(
        &self,
        entry: &str,
        args: &[Value],
        options: &CallOptions,
    ) -> Result<Option<Arc<Program>>, Failure> {
        let is_possible = self.constants.is_empty()
            && options.backend == Backend::Cpu
            && options.on_ranks().is_none()
            && self.options.tuning.is_none()
            && !args.iter().any(Value::is_in_parts);
        let Some(typed) = self.typed.as_ref().filter(|_| is_possible) else { return Ok(None) };
        let sizes = self.short_sizes(entry, args);
        if sizes.is_empty() {
            return Ok(None);
        }
        let mut known = noted(&self.by_sizes.0);
        if let Some(made) = known.iter().find(|m| m.entry == entry && m.sizes == sizes) {
            return Ok(Some(made.program.clone()));
        }
        if known.len() == MOST {
            known.remove(0);
        }
        let trace = Trace::default();
        let pipeline = Pipeline { options: &self.options, trace: &trace };
        let lower = || pipeline.lowered_for(typed, &self.sources, entry, &sizes);
        let core = stacker::maybe_grow(STACK / 4, STACK, lower)?;
        let fun = self.core.funs.iter().find(|f| is_entry(&f.entry, entry));
        let name = |at: usize| fun.map_or("", |f| self.core.vars.name(f.params[at].var));
        let constants = sizes.iter().map(|(at, n)| format!("{} = {n}", name(*at))).collect();
        let program = self.flattened_from(core, &self.options);
        let program = Arc::new(Program { constants, ..program });
        known.push(Made { entry: entry.to_string(), sizes, program: program.clone() });
        Ok(Some(program))
    }

    /// Sizes of arguments that are constants in this program, as `k = 4`: it is for such arguments only.
    pub fn constants(&self) -> &[String] {
        &self.constants
    }

    /// The sizes that become constants: lengths of short rows, and all sizes of small arrays, if there is much to do.
    fn short_sizes(&self, entry: &str, args: &[Value]) -> Sizes {
        let columns = || args.iter().flat_map(|v| &v.columns);
        let elements: usize = columns().map(|c| if let Column::Data(a) = c { a.len() } else { 0 }).sum();
        if self.options.constant_sizes.is_none_or(|least| elements < least) {
            return Sizes::new();
        }
        let Some(fun) = self.core.funs.iter().find(|f| is_entry(&f.entry, entry)) else {
            return Sizes::new();
        };
        let columns: Vec<&Column> = columns().collect();
        let size = |v: Var| {
            let at = fun.params.iter().position(|p| p.var == v)?;
            if let Column::Size(n) = columns.get(at)? { Some((at, *n)) } else { None }
        };
        let mut sizes: Sizes =
            short(fun, &|v| size(v).map(|(_, n)| n)).into_iter().filter_map(size).collect();
        sizes.sort_unstable();
        sizes
    }
}

/// Variables for the lengths of short rows among a function's parameters, and for the numbers of these where they are small.
fn short(fun: &Fun, size: &dyn Fn(Var) -> Option<i64>) -> HashSet<Var> {
    let mut found = HashSet::new();
    for p in fun.params.iter().filter(|p| p.ty.rank() > 1) {
        let mut most = LONGEST_ROW;
        for dim in p.ty.dims.iter().rev() {
            let Dim::Size(n) = dim else { break };
            let known = n.as_i64().or_else(|| size(n.var()?));
            if !known.is_some_and(|n| (1..=most).contains(&n)) {
                break;
            }
            found.extend(n.var());
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
