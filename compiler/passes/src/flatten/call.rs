//! Functions and calls.
//!
//! A function that is called under a nest has a **lifted** form `f^`, which takes the number of positions, an array for each
//! scalar parameter, and a view for each array parameter: a base, and where each position's rows start in it. So an array
//! that all positions share is passed without being copied. Rows of scalars come back likewise, other results packed. `f^^` is not needed:
//! a nest of any depth is one flat level to the callee.
//!
//! A function over scalars whose parallelism is maps and reductions of its own calls also has a sequential version
//! ([`super::local`]), which takes over when a batch is large: a tree of calls is then flat at its top, where it makes work for
//! all threads, and depth first below.

use super::canonical::{Form, has_view};
use super::choices::Measure;
use super::ex::Ex;
use super::nest::{FDim, Kind, LevelId, ROOT};
use super::rep::{Arr, Rep, Src};
use super::split::{Splitting, traces};
use super::{Flattener, Result, VERSION_CONDITIONS, Versions};
use par_ir::core::{Exp, Fun, FunId, Param, Stm};
use par_ir::flat::{self, Op, Ty};
use par_ir::place::{Construct, Part, PlaceId};
use par_ir::prim::CmpOp;
use par_ir::{Atom, Prim, PrimOp, Type};
use std::rc::Rc;

impl Flattener<'_> {
    /// Flattens one function, plain or lifted.
    pub(crate) fn function(&mut self, id: FunId, lifted: bool) -> Result<()> {
        let source = self.source;
        let fun = &source.funs[id.0 as usize];
        let slot = self.instance(id, lifted);
        self.at(fun.span);
        let own = Part { construct: Construct::Function, span: fun.span };
        self.place = self.places.add(PlaceId::default(), vec![own]);
        self.group = None;
        let out = if lifted { self.lifted_function(id, fun)? } else { self.plain_function(fun)? };
        self.funs[slot.0 as usize] = Some(out);
        Ok(())
    }

    fn plain_function(&mut self, fun: &Fun) -> Result<flat::Fun> {
        let params = self.canonical_params(ROOT, &fun.params);
        let body = self.block(|f| {
            f.adopt_canonical(ROOT, &fun.params, &params);
            f.stms(ROOT, &fun.body.stms)?;
            f.flush();
            Ok(f.canonical(ROOT, &fun.body.results))
        })?;
        let ret = fun.ret.iter().map(|p| self.canonical_ty(ROOT, &p.ty)).collect();
        let (name, entry) = (fun.name.clone(), fun.entry.clone());
        Ok(flat::Fun { name, entry, params, ret, body, span: fun.span })
    }

    fn lifted_function(&mut self, id: FunId, fun: &Fun) -> Result<flat::Fun> {
        let n = flat::Param { var: self.vars.fresh("n"), ty: Ty::Scalar(Prim::I64) };
        let level = self.push_level(ROOT, Kind::Dim(FDim::Size(n.var.into())));
        let mut params = vec![n];
        let mut ret = Vec::new();
        let body = self.block(|f| {
            f.declare(&n);
            for p in &fun.params {
                f.lifted_param(level, p, &mut params);
            }
            f.unless_empty(level, n, id, fun)
        })?;
        for (p, form) in fun.ret.iter().zip(result_forms(fun)) {
            ret.extend(self.form_tys(level, &p.ty, form));
        }
        Ok(flat::Fun { name: format!("{}^", fun.name), entry: None, params, ret, body, span: fun.span })
    }

    /// A lifted function's body: an empty batch returns at once, which is what ends a recursion without an `if`.
    fn unless_empty(&mut self, level: LevelId, n: flat::Param, id: FunId, fun: &Fun) -> Result<Vec<Atom>> {
        let (cond, forms) = (self.any(n.var.into()), result_forms(fun));
        let then = self.block(|f| f.batch_in_pieces(level, n, id, fun))?;
        self.at(fun.span);
        let pat = self.form_params(level, &fun.ret, &forms);
        let other = self.block(|f| Ok(f.nothing_like(&pat)))?;
        self.emit(pat.clone(), Op::If { cond, then, other });
        Ok(pat.iter().map(|p| p.var.into()).collect())
    }

    /// A batch of calls, all at once or in pieces.
    fn batch_in_pieces(&mut self, level: LevelId, n: flat::Param, id: FunId, fun: &Fun) -> Result<Vec<Atom>> {
        if self.splitting == Splitting::Never || traces(&fun.body) {
            return self.batch(level, n.var.into(), id, fun);
        }
        let split = self.split(level, n.var.into(), |f, part| {
            let count = f.count(part);
            f.batch(part, count, id, fun)
        })?;
        self.at(fun.span);
        let pat = self.form_params(level, &fun.ret, &result_forms(fun));
        self.emit(pat.clone(), split);
        Ok(pat.iter().map(|p| p.var.into()).collect())
    }

    /// The results of a batch of calls: in the flat version, or, once there are enough of them, each call by itself where
    /// the function has a sequential version.
    fn batch(&mut self, level: LevelId, n: Atom, id: FunId, fun: &Fun) -> Result<Vec<Atom>> {
        if !self.locals.has_version(id) || self.versions == Versions::Flat {
            return self.flat_batch(level, fun);
        }
        let measured = self.threshold(fun.span, Measure::Calls);
        let enough = if self.versions == Versions::Sequential { 1 } else { measured };
        let many = Op::Prim(PrimOp::Cmp(CmpOp::Le, Prim::I64), vec![Atom::i64(enough), n]);
        let cond = self.bind(VERSION_CONDITIONS[0], Ty::Scalar(Prim::Bool), many).into();
        let then = self.block(|f| f.sequential_batch(level, id, fun))?;
        let other = self.block(|f| f.flat_batch(level, fun))?;
        self.at(fun.span);
        let pat = self.canonical_params(level, &fun.ret);
        self.emit(pat.clone(), Op::If { cond, then, other });
        Ok(pat.iter().map(|p| p.var.into()).collect())
    }

    fn flat_batch(&mut self, level: LevelId, fun: &Fun) -> Result<Vec<Atom>> {
        self.stms(level, &fun.body.stms)?;
        self.flush();
        let forms = result_forms(fun);
        let values = self.formed(level, &fun.body.results, &forms);
        Ok(self.tidied(level, &fun.body.results, &forms, values))
    }

    /// One kernel, which calls the sequential version at every position.
    fn sequential_batch(&mut self, level: LevelId, id: FunId, fun: &Fun) -> Result<Vec<Atom>> {
        let args = fun.params.iter().map(|p| p.var.into()).collect();
        let result = |p: &Param| Param { var: self.vars.fresh_like(p.var), ty: p.ty.clone() };
        let pat: Vec<Param> = fun.ret.iter().map(result).collect();
        let results: Vec<Atom> = pat.iter().map(|p| p.var.into()).collect();
        let mut g = self.take_group(level);
        self.scalar_stm(&mut g, &Stm { pat, exp: Exp::Call(id, args), span: fun.span })?;
        self.group = Some(g);
        self.flush();
        Ok(self.canonical(level, &results))
    }

    /// Binds a parameter of a lifted function, adding its FLAT parameters.
    fn lifted_param(&mut self, level: LevelId, p: &Param, params: &mut Vec<flat::Param>) {
        let mut add = |f: &mut Self, ty: Ty| {
            let v = f.vars.fresh_like(p.var);
            params.push(flat::Param { var: v, ty });
            v
        };
        let extent = self.extent(level);
        if has_view(&p.ty) {
            let (blocks, starts) = (add(self, Ty::Blocks(p.ty.prim())), add(self, Ty::Array(Prim::I64)));
            self.blocks.insert(blocks);
            return self.bind_view(level, p, blocks, &[starts]);
        }
        let rep = if p.ty.is_scalar() {
            let v = add(self, Ty::Array(p.ty.prim()));
            self.extents.insert(v, extent);
            Rep::Scalar(Ex::Load(v, p.ty.prim(), Rc::new(Ex::Pos(level))))
        } else {
            let src = if p.ty.is_desc() {
                Src::Desc(add(self, Ty::Desc))
            } else {
                Src::Data(add(self, Ty::Array(p.ty.prim())), p.ty.prim())
            };
            let starts = add(self, Ty::Array(Prim::I64));
            self.extents.insert(starts, extent);
            let inner = (1..p.ty.rank()).map(|_| FDim::View(add(self, Ty::Array(Prim::I64)))).collect();
            let start = Ex::Load(starts, Prim::I64, Rc::new(Ex::Pos(level)));
            Rep::Array(Arr { src, inner, start, stride: None })
        };
        self.types.insert(p.var, p.ty.clone());
        self.env.insert(p.var, rep);
    }

    pub(crate) fn call(&mut self, level: LevelId, stm: &Stm, fun: FunId, args: &[Atom]) -> Result<()> {
        let root = self.is_root(level);
        let callee = self.instance(fun, !root);
        let values = if root { self.canonical(level, args) } else { self.lifted_args(level, args) };
        self.at(stm.span);
        let packed = || vec![Form::Packed; stm.pat.len()];
        let forms = if root { packed() } else { result_forms(&self.source.funs[fun.0 as usize]) };
        let pat = self.form_params(level, &stm.pat, &forms);
        self.emit(pat.clone(), Op::Call(callee, values));
        self.adopt(level, &stm.pat, &forms, &pat);
        Ok(())
    }

    fn lifted_args(&mut self, level: LevelId, args: &[Atom]) -> Vec<Atom> {
        let mut out = vec![self.count(level)];
        for a in args {
            match self.rep(*a) {
                Rep::Scalar(ex) => out.push(self.store(level, &ex).into()),
                Rep::Array(arr) => {
                    let v = a.var().expect("constants are scalar");
                    let ty = self.types[&v].clone();
                    if has_view(&ty) {
                        out.extend(self.formed(level, &[*a], &[Form::View]));
                        continue;
                    }
                    let arr = self.unjoined(level, &arr, &ty);
                    let arr = self.viewable(level, &arr, &ty);
                    self.lifted_array(level, &arr, &ty, &mut out);
                }
            }
        }
        out
    }

    fn lifted_array(&mut self, level: LevelId, arr: &Arr, ty: &Type, out: &mut Vec<Atom>) {
        match arr.src {
            Src::Data(v, _) | Src::Desc(v) => out.push(v.into()),
            Src::Iota | Src::Splat(_) => unreachable!("made joinable before"),
        }
        out.push(self.store(level, &arr.start).into());
        let mut rest = arr.clone();
        for _ in 1..ty.rank() {
            out.push(self.as_starts(&rest).into());
            rest.inner.remove(0);
        }
    }
}

/// How a lifted function gives its results.
fn result_forms(fun: &Fun) -> Vec<Form> {
    fun.ret.iter().map(|p| if has_view(&p.ty) { Form::View } else { Form::Packed }).collect()
}
