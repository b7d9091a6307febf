//! Functions and calls.
//!
//! A function that is called under a nest has a **lifted** form `f^`, which takes the number of positions, an array for each
//! scalar parameter, and a view for each array parameter: a rope, and where each position's rows start in it. So an array
//! that all positions share is passed without being copied. Results come back likewise. `f^^` is not needed:
//! a nest of any depth is one flat level to the callee.
//!
//! A function of scalars, or whose parallelism is maps and reductions of its own calls, also has a sequential version
//! ([`super::local`]), which takes over where many positions call it: a tree of calls is then flat at its top, where it makes work for
//! all threads, and depth first below.

use super::canonical::Form;
use super::carried::view_form;
use super::choices::Measure;
use super::nest::{FDim, Kind, LevelId, ROOT};
use super::split::Splitting;
use super::{Flattener, Own, Result, Versions};
use par_ir::core::{Fun, FunId, Param, Stm};
use par_ir::flat::{self, Op, Ty, VersionChoice};
use par_ir::place::{Construct, Part, PlaceId};
use par_ir::prim::CmpOp;
use par_ir::{Atom, Prim, PrimOp};

impl Flattener<'_> {
    /// Flattens one function, plain or lifted.
    pub fn function(&mut self, id: FunId, lifted: bool) -> Result {
        let source = self.facts.source;
        let fun = &source.funs[id.0 as usize];
        let slot = self.instance(id, lifted);
        self.at(fun.span);
        let own = Part { construct: Construct::Function, span: fun.span };
        self.builder.place = self.builder.places.add(PlaceId::default(), vec![own]);
        self.group = None;
        self.function = id;
        // Parameters are bound in the function's own block.
        self.loop_scope = 1;
        self.own = Own::default();
        let out = if lifted { self.lifted_function(id, fun)? } else { self.plain_function(id, fun)? };
        self.funs[slot.0 as usize] = Some(out);
        Ok(())
    }

    fn plain_function(&mut self, id: FunId, fun: &Fun) -> Result<flat::Fun> {
        let forms = self.plain_forms(fun);
        let mut params = self.form_params(ROOT, &fun.params, &forms);
        let tape = self.tape_param(id);
        let body = self.block(|f| {
            f.adopt(ROOT, &fun.params, &forms, &params);
            tape.iter().for_each(|p| f.builder.declare(p));
            f.begin_tape(fun);
            f.stms(ROOT, &fun.body.stms)?;
            f.flush();
            let forms = f.plain_results(fun);
            let values = f.formed(ROOT, &fun.body.results, &forms);
            let mut values = f.compacted(ROOT, &fun.body.results, &forms, values);
            values.extend(f.changed(id).iter().map(|p| Atom::Var(p.var)));
            Ok(values)
        })?;
        params.extend(tape);
        let forms = self.plain_results(fun);
        let tys = fun.ret.iter().zip(forms).flat_map(|(p, form)| self.form_tys(ROOT, &p.ty, form));
        let ret = tys.chain(self.changed(id).iter().map(|p| p.ty)).collect();
        let (name, entry) = (fun.name.clone(), fun.entry.clone());
        Ok(flat::Fun { name, entry, params, ret, body, span: fun.span })
    }

    fn lifted_function(&mut self, id: FunId, fun: &Fun) -> Result<flat::Fun> {
        let n = flat::Param { var: self.builder.vars.fresh("n"), ty: Ty::Scalar(Prim::I64) };
        let level = self.shapes.push_level(ROOT, Kind::Dim(FDim::Size(n.var.into())));
        let forms = lifted_forms(&fun.params);
        let mut params = vec![n];
        params.extend(self.form_params(level, &fun.params, &forms));
        let tape = self.tape_param(id);
        let mut ret = Vec::new();
        let body = self.block(|f| {
            f.builder.declare(&n);
            f.adopt(level, &fun.params, &forms, &params[1..]);
            tape.iter().for_each(|p| f.builder.declare(p));
            f.begin_tape(fun);
            f.unless_empty(level, n, id, fun)
        })?;
        for (p, form) in fun.ret.iter().zip(lifted_forms(&fun.ret)) {
            ret.extend(self.form_tys(level, &p.ty, form));
        }
        params.extend(tape);
        ret.extend(self.changed(id).iter().map(|p| p.ty));
        Ok(flat::Fun { name: format!("{}^", fun.name), entry: None, params, ret, body, span: fun.span })
    }

    /// A lifted function's body: an empty batch returns at once, which is what ends a recursion without an `if`.
    fn unless_empty(&mut self, level: LevelId, n: flat::Param, id: FunId, fun: &Fun) -> Result<Vec<Atom>> {
        let (cond, forms) = (self.any(n.var.into()), lifted_forms(&fun.ret));
        let (mut then, after) = self.with_carried(|f| f.block(|f| f.batch_in_chunks(level, n, fun)))?;
        self.at(fun.span);
        let mut pat = self.form_params(level, &fun.ret, &forms);
        let mut other = self.block(|f| Ok(f.nothing_like(&pat)))?;
        let values: Vec<Atom> = pat.iter().map(|p| p.var.into()).collect();
        let before = self.own.carried.clone();
        self.join_carried(&mut pat, [(&mut then, after), (&mut other, before)]);
        self.builder.emit(pat, Op::If { cond, versions: None, then, other });
        Ok(values.into_iter().chain(self.changed(id).iter().map(|p| Atom::Var(p.var))).collect())
    }

    /// A batch of calls, all at once or in chunks.
    fn batch_in_chunks(&mut self, level: LevelId, n: flat::Param, fun: &Fun) -> Result<Vec<Atom>> {
        if self.facts.options.splitting == Splitting::Never || self.is_whole(&fun.body) {
            return self.batch(level, fun);
        }
        let split = self.split(level, n.var.into(), |f, part| f.batch(part, fun))?;
        self.at(fun.span);
        let pat = self.form_params(level, &fun.ret, &lifted_forms(&fun.ret));
        self.builder.emit(pat.clone(), split);
        Ok(pat.iter().map(|p| p.var.into()).collect())
    }

    fn batch(&mut self, level: LevelId, fun: &Fun) -> Result<Vec<Atom>> {
        self.stms(level, &fun.body.stms)?;
        self.flush();
        let forms = lifted_forms(&fun.ret);
        let values = self.formed(level, &fun.body.results, &forms);
        Ok(self.compacted(level, &fun.body.results, &forms, values))
    }

    /// A call: of the lifted form, or, once there are enough positions, of the sequential version at each, if there is one.
    pub fn call(&mut self, level: LevelId, stm: &Stm, fun: FunId, args: &[Atom]) -> Result {
        let versions = self.facts.options.versions;
        if self.shapes.is_root(level) || versions == Versions::Flat || !self.calls_version(fun, args) {
            return self.call_lifted(level, stm, fun, args);
        }
        let measured = self.threshold(self.facts.source.funs[fun.0 as usize].span, Measure::Calls);
        let least = if versions == Versions::Sequential { 1 } else { measured };
        let n = self.count(level);
        let many = Op::Prim(PrimOp::Cmp(CmpOp::Le, Prim::I64), vec![Atom::i64(least), n]);
        let cond = self.builder.bind("many", Ty::Scalar(Prim::Bool), many).into();
        let results: Vec<Atom> = stm.pat.iter().map(|p| p.var.into()).collect();
        let then = self.block(|f| {
            f.at(stm.span);
            let mut g = f.take_group(level);
            f.scalar_stm(&mut g, stm)?;
            f.group = Some(g);
            f.flush();
            Ok(f.canonical(level, &results))
        })?;
        let other = self.block(|f| {
            f.at(stm.span);
            f.call_lifted(level, stm, fun, args)?;
            Ok(f.canonical(level, &results))
        })?;
        self.at(stm.span);
        let pat = self.canonical_params(level, &stm.pat);
        let versions = Some(VersionChoice::Calls { least });
        self.builder.emit(pat.clone(), Op::If { cond, versions, then, other });
        self.adopt_canonical(level, &stm.pat, &pat);
        Ok(())
    }

    fn call_lifted(&mut self, level: LevelId, stm: &Stm, fun: FunId, args: &[Atom]) -> Result {
        let root = self.shapes.is_root(level);
        let callee = self.instance(fun, !root);
        let (args, copies) = self.different_sums(fun, args);
        let args = args.as_slice();
        let mut values = if root {
            let forms = self.plain_forms(&self.facts.source.funs[fun.0 as usize]);
            self.formed(level, args, &forms)
        } else {
            self.lifted_args(level, fun, args)
        };
        self.at(stm.span);
        let source = &self.facts.source.funs[fun.0 as usize];
        let forms = if root { self.plain_results(source) } else { lifted_forms(&source.ret) };
        let mut pat = self.form_params(level, &stm.pat, &forms);
        values.extend(self.tape_of_call(fun));
        self.changed_by_call(fun, args, &mut pat);
        self.builder.emit(pat.clone(), Op::Call(callee, values));
        self.adopt(level, &stm.pat, &forms, &pat);
        copies.into_iter().for_each(|(acc, copy)| self.join_sums(acc, copy));
        Ok(())
    }

    /// Forms of a function's arguments outside all nests: views, but packed if the function updates them. Those of entry points are packed.
    fn plain_forms(&self, fun: &Fun) -> Vec<Form> {
        let is_packed = |p: &Param| fun.entry.is_some() || self.facts.consumed_through_calls.contains(&p.var);
        let form = |p: &Param| match view_form(p) {
            Form::View if is_packed(p) => Form::Packed,
            form => form,
        };
        fun.params.iter().map(form).collect()
    }

    /// Forms of a function's results outside all nests: views if they may be its arguments or parts of them, else packed.
    fn plain_results(&self, fun: &Fun) -> Vec<Form> {
        fun.ret
            .iter()
            .map(|p| if self.facts.forwarded.contains(&p.var) { Form::View } else { Form::Packed })
            .collect()
    }

    fn lifted_args(&mut self, level: LevelId, callee: FunId, args: &[Atom]) -> Vec<Atom> {
        let forms = lifted_forms(&self.facts.source.funs[callee.0 as usize].params);
        let mut out = vec![self.count(level)];
        let values = self.formed(level, args, &forms);
        // Or the deepest call of a recursion would hold what all those around it made.
        let recursive = self.facts.reachable[callee.0 as usize].contains(&self.function);
        out.extend(if recursive { self.compacted(level, args, &forms, values) } else { values });
        out
    }
}

/// Forms of a lifted function's arguments or results.
fn lifted_forms(params: &[Param]) -> Vec<Form> {
    params.iter().map(view_form).collect()
}
