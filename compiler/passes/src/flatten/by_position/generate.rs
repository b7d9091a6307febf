//! Operators as loops that write to buffers. Buffers are still variables that change: a name of one stands for what is in it at that point.
//!
//! A statement `b = v` whose `b` is the name of a buffer says that from there on its content is the version `v`.

use par_ir::alias::{root, updated_by};
use par_ir::build::Statements;
use par_ir::core::{At, Body, Exp, Lambda, LoopForm, Param, Stm};
use par_ir::loops::{self, Loop};
use par_ir::prim::{BinOp, PrimOp};
use par_ir::stack::deeper;
use par_ir::visit::Code;
use par_ir::{Atom, Dim, Prim, Span, Type, Var, Vars};
use std::collections::{HashMap, HashSet};

/// A loop whose body writes to buffers.
pub(super) struct Generated {
    pub stm: Stm,
    /// Buffers from before the loop.
    pub buffers: Vec<Param>,
    /// Names of buffers, and of arrays that are written over.
    pub names: HashMap<Var, Type>,
    /// Sizes that are known in an iteration only, each with one that is to be large enough for all.
    pub caps: Vec<(Var, Var)>,
}

/// A part of a buffer.
#[derive(Clone, PartialEq)]
struct Region {
    buffer: Var,
    at: Vec<Atom>,
}

impl Region {
    fn whole(buffer: Var) -> Region {
        Region { buffer, at: Vec::new() }
    }

    fn row(&self, i: Var) -> Region {
        Region { buffer: self.buffer, at: [&self.at[..], &[i.into()]].concat() }
    }
}

/// Where arrays are written, and those that get new buffers.
type Places = (Vec<Region>, Vec<(Param, Var)>);

/// The rows that an operator goes over.
type Rows<'s> = (Atom, &'s [Var], &'s Lambda);

struct Generator<'v> {
    vars: &'v mut Vars,
    /// Variables of the loop: what they are is not known before it.
    inside: HashSet<Var>,
    buffers: Vec<Param>,
    names: HashMap<Var, Type>,
    caps: Vec<(Var, Var)>,
    /// Types of arrays, of the loop and from outside.
    types: HashMap<Var, Type>,
    outside: &'v HashMap<Var, Type>,
    /// The buffer, or the state of a loop, that an array is a version of.
    owned: HashMap<Var, Var>,
    /// Arrays that are what a region held when an iteration began.
    regions: HashMap<Var, Region>,
    /// State may be written over.
    over: bool,
    /// Rows and slices that are used after something was updated: they are copied.
    stale: HashSet<Var>,
    /// Sizes of the state that are never larger than at first, and what they are then.
    shrinking: &'v HashMap<Var, Atom>,
}

/// A loop as one that writes to buffers, if it has such a form.
pub(super) fn generate(
    stm: &Stm,
    (over, copies): (bool, bool),
    shrinking: &HashMap<Var, Atom>,
    outside: &HashMap<Var, Type>,
    vars: &mut Vars,
) -> Option<Generated> {
    let Exp::Loop { params, form, body } = &stm.exp else { return None };
    let inside = [stm].into_iter().flat_map(|s| s.bound()).collect();
    let (buffers, caps) = (Vec::new(), Vec::new());
    let (names, types) = (HashMap::new(), HashMap::new());
    let (owned, regions) = (HashMap::new(), HashMap::new());
    let stale = if copies { stale_views(body) } else { HashSet::new() };
    let mut g = Generator {
        vars,
        inside,
        buffers,
        names,
        caps,
        types,
        outside,
        owned,
        regions,
        over,
        stale,
        shrinking,
    };
    let exp = g.iterations(params, form, body)?;
    let stm = Stm { exp, ..stm.clone() };
    Some(Generated { stm, buffers: g.buffers, names: g.names, caps: g.caps })
}

impl Generator<'_> {
    /// A loop whose array state starts in arrays that may be changed.
    fn iterations(&mut self, params: &[(Param, Atom)], form: &LoopForm, body: &Body) -> Option<Exp> {
        for (p, init) in params.iter().filter(|(p, _)| !p.ty.is_scalar()) {
            let buffer = init.var().and_then(|v| self.owned.get(&v).copied());
            self.owned.insert(p.var, buffer.unwrap_or(p.var));
            p.ty.is_regular().then_some(())?;
            self.note(p);
        }
        let form = match form {
            LoopForm::While(cond) => {
                let mut stms = Vec::new();
                self.body(cond, &vec![None; cond.results.len()], &mut stms)?;
                LoopForm::While(Body { stms, results: cond.results.clone() })
            }
            counted => counted.clone(),
        };
        let mut stms = Vec::new();
        for (i, stm) in body.stms.iter().enumerate() {
            let (rest, dests) = (&body.stms[i + 1..], vec![None; stm.pat.len()]);
            let dests = self.dests_over(stm, rest, params, &body.results, dests, &mut stms);
            deeper(|| self.stm(stm, dests.clone(), &mut stms))?;
            for (p, d) in stm.pat.iter().zip(dests) {
                if let Some(d) = d {
                    self.alias(p, d.buffer, stm.span, &mut stms);
                }
            }
        }
        let span = body.stms.last().map(|s| s.span).unwrap_or_default();
        let mut results = Vec::new();
        for ((p, _), a) in params.iter().zip(&body.results) {
            results.push(if p.ty.is_scalar() { *a } else { self.next_state(p, *a, span, &mut stms)? });
        }
        let params = params.iter().map(|(p, a)| (Param { ty: self.roomy(&p.ty), ..p.clone() }, *a)).collect();
        Some(Exp::Loop { params, form, body: Body { stms, results } })
    }

    /// The next value of array state: a version of it, or copied to where it is.
    fn next_state(&mut self, p: &Param, a: Atom, span: Span, out: &mut Vec<Stm>) -> Option<Atom> {
        let v = a.var()?;
        let own = self.owned.get(&p.var).copied()?;
        if self.owned.get(&v) == Some(&own) {
            return Some(a);
        }
        let name = self.name(&p.ty, p.var, span, out);
        self.write(&Region::whole(name), a, span, out)?;
        let last = Param { var: self.vars.fresh_like(p.var), ty: self.roomy(&p.ty) };
        self.note(&last);
        push(out, &last, Exp::Atom(name.into()), span);
        self.owned.insert(last.var, own);
        self.mark(own, last.var, span, out);
        Some(last.var.into())
    }

    /// A new name for the content of an array, under which it is written to.
    fn name(&mut self, ty: &Type, v: Var, span: Span, out: &mut Vec<Stm>) -> Var {
        let (name, ty) = (self.vars.fresh_like(v), self.roomy(ty));
        self.names.insert(name, ty.clone());
        push(out, &Param { var: name, ty }, Exp::Atom(v.into()), span);
        name
    }

    /// The type with room for all sizes of the state.
    fn roomy(&self, ty: &Type) -> Type {
        let first = |d: &Dim| match d {
            Dim::Size(Atom::Var(v)) => self.shrinking.get(v).map_or(*d, |n| Dim::Size(*n)),
            d => *d,
        };
        Type { dims: ty.dims.iter().map(first).collect(), ..ty.clone() }
    }

    /// The elements of an array, without the unused capacity behind them.
    fn exact(&mut self, a: Atom, span: Span, out: &mut Vec<Stm>) -> Atom {
        let Some((v, ty)) = a.var().and_then(|v| Some((v, self.type_of(v)?.clone()))) else { return a };
        let Some(Dim::Size(len)) = ty.dims.first().copied() else { return a };
        if self.roomy(&ty) == ty {
            return a;
        }
        let part = Param { var: self.vars.fresh_like(v), ty };
        self.note(&part);
        push(out, &part, Exp::Slice { arr: v, start: Atom::i64(0), len, stride: Atom::i64(1) }, span);
        part.var.into()
    }

    /// Says that a buffer's content is a version from here on.
    fn mark(&mut self, buffer: Var, version: Var, span: Span, out: &mut Vec<Stm>) {
        if let Some(ty) = self.names.get(&buffer).cloned() {
            push(out, &Param { var: buffer, ty }, Exp::Atom(version.into()), span);
        }
    }

    /// Names the content of a buffer.
    fn alias(&mut self, p: &Param, name: Var, span: Span, out: &mut Vec<Stm>) {
        push(out, p, Exp::Atom(name.into()), span);
        let own = self.owned.get(&name).copied().unwrap_or(name);
        self.owned.insert(p.var, own);
        if own != name {
            self.mark(own, p.var, span, out);
        }
    }

    /// Where a map's or a filter's results may be written over the state of a loop that they are the next value of: it is read by that
    /// operator only, row by row, and no row is written before it was read.
    fn dests_over(
        &mut self,
        stm: &Stm,
        rest: &[Stm],
        params: &[(Param, Atom)],
        results: &[Atom],
        mut dests: Vec<Option<Region>>,
        out: &mut Vec<Stm>,
    ) -> Vec<Option<Region>> {
        let (Exp::Map { inputs, lam, .. } | Exp::Filter { inputs, lam, .. }) = &stm.exp else { return dests };
        if !self.over {
            return dests;
        }
        for (dest, p) in dests.iter_mut().zip(&stm.pat) {
            let Some(k) = only_result(p.var, rest, results) else { continue };
            let own = self.owned.get(&params[k].0.var).copied();
            let state = |v: &&Var| self.owned.get(v).copied() == own && own.is_some();
            let Some(v) = inputs.iter().find(state).copied() else { continue };
            let read = rest.iter().any(|s| s.mentions(v)) || lam.mentions(v) || results.contains(&v.into());
            if !read && self.roomy(&params[k].0.ty) == self.room_of(stm, p) {
                let name = self.name(&p.ty, v, stm.span, out);
                self.owned.extend(own.map(|own| (name, own)));
                self.regions.insert(v, Region::whole(name));
                *dest = Some(Region::whole(name));
            }
        }
        dests
    }

    /// The type with room for all that an operator may result in.
    fn room_of(&self, stm: &Stm, p: &Param) -> Type {
        let mut ty = self.roomy(&p.ty);
        if let (Exp::Filter { width, .. }, Some(d)) = (&stm.exp, ty.dims.first_mut()) {
            *d = Dim::Size(*width);
        }
        self.roomy(&ty)
    }

    /// Statements, with those results that have a region written there.
    fn body(&mut self, body: &Body, targets: &[Option<Region>], out: &mut Vec<Stm>) -> Option<()> {
        let mut open = targets.to_vec();
        for (i, stm) in body.stms.iter().enumerate() {
            if self.update_there(stm, (&body.stms[i + 1..], &body.results), &mut open, out)? {
                continue;
            }
            let mut dest = |p: &Param| {
                let k = only_result(p.var, &body.stms[i + 1..], &body.results)?;
                if p.ty.is_scalar() || !makes_rows(&stm.exp) { None } else { open[k].take() }
            };
            let dests = stm.pat.iter().map(&mut dest).collect();
            deeper(|| self.stm(stm, dests, out))?;
        }
        let span = body.stms.last().map(|s| s.span).unwrap_or_default();
        for (target, a) in open.iter().zip(&body.results) {
            if let Some(target) = target {
                self.write(target, *a, span, out)?;
            }
        }
        Some(())
    }

    /// A row with another element, where it has a region: it is copied there, and changed there.
    fn update_there(
        &mut self,
        stm: &Stm,
        (rest, results): (&[Stm], &[Atom]),
        open: &mut [Option<Region>],
        out: &mut Vec<Stm>,
    ) -> Option<bool> {
        let Exp::Update { arr, at, value } = &stm.exp else { return Some(false) };
        let k = only_result(stm.pat[0].var, rest, results).filter(|_| !self.owned.contains_key(arr));
        let Some(region) = k.and_then(|k| open[k].take()) else { return Some(false) };
        self.write(&region, (*arr).into(), stm.span, out)?;
        let ty = self.names.get(&region.buffer)?.clone();
        let next = Param { var: self.vars.fresh_like(region.buffer), ty };
        let value = self.exact(*value, stm.span, out);
        let at = [At::indices(&region.at), at.clone()].concat();
        push(out, &next, Exp::Update { arr: region.buffer, at, value }, stm.span);
        Some(true)
    }

    /// One statement; what has a region among `dests` is written there, and bound no more.
    fn stm(&mut self, stm: &Stm, dests: Vec<Option<Region>>, out: &mut Vec<Stm>) -> Option<()> {
        stm.pat.iter().all(|p| p.ty.is_regular()).then_some(())?;
        stm.pat.iter().for_each(|p| self.note(p));
        match &stm.exp {
            Exp::Map { width, inputs, lam } if !stm.pat.is_empty() => {
                let (places, new) = self.places(&stm.pat, dests)?;
                self.map((*width, inputs, lam), &places, stm.span, out)?;
                self.aliases(new, stm.span, out);
            }
            Exp::Reduce { width, inputs, lam, op, neutral } => {
                let k = neutral.len();
                let (places, new) = self.places(&stm.pat[k..], dests[k..].to_vec())?;
                let rows = (*width, &inputs[..], lam);
                let pat = stm.pat[..k].to_vec();
                self.fold((pat, &places), rows, (op, neutral), None, stm.span, out)?;
                self.aliases(new, stm.span, out);
            }
            Exp::Scan { width, inputs, lam, op, neutral, exclusive } => {
                let (places, new) = self.places(&stm.pat, dests)?;
                let last = |t: &Type| Param { var: self.vars.fresh("last"), ty: t.clone() };
                let pat = op.ret.iter().map(last).collect();
                let rows = (*width, &inputs[..], lam);
                self.fold((pat, &places), rows, (op, neutral), Some(*exclusive), stm.span, out)?;
                self.aliases(new, stm.span, out);
            }
            Exp::If { cond, then, other } => self.branch(stm, *cond, [then, other], dests, out)?,
            Exp::Loop { params, form, body } => self.inner_loop(stm, params, form, body, out)?,
            Exp::Update { arr, at, value } => {
                let arr = self.changeable(*arr, &stm.pat[0].ty, stm.span, out)?;
                let value = self.exact(*value, stm.span, out);
                let exp = Exp::Update { arr, at: at.clone(), value };
                self.version(&stm.pat[0], arr, exp, stm.span, out);
            }
            Exp::Scatter { dests, width, inputs, lam } => {
                self.scatter(stm, dests, (*width, inputs, lam), None, out)?;
            }
            Exp::Hist { dests, width, inputs, lam, op, .. } => {
                self.scatter(stm, dests, (*width, inputs, lam), Some(op), out)?;
            }
            Exp::Filter { width, inputs, lam } => self.filter(stm, (*width, inputs, lam), dests, out)?,
            Exp::Concat(arrs) => {
                let (places, new) = self.places(&stm.pat, dests)?;
                self.concat(&places[0], arrs, stm.span, out)?;
                self.aliases(new, stm.span, out);
            }
            Exp::Literal(elems, _) if stm.pat[0].ty.rank() == 1 && !elems.is_empty() => {
                let (places, new) = self.places(&stm.pat, dests)?;
                for (i, x) in elems.iter().enumerate() {
                    let at = [&places[0].at[..], &[Atom::i64(i as i64)]].concat();
                    self.write(&Region { at, ..places[0].clone() }, *x, stm.span, out)?;
                }
                self.aliases(new, stm.span, out);
            }
            Exp::Atom(a) => {
                if let Some(own) = a.var().and_then(|v| self.owned.get(&v).copied()) {
                    self.owned.insert(stm.pat[0].var, own);
                }
                out.push(stm.clone());
            }
            Exp::Index(..) | Exp::Slice { .. } if self.stale.contains(&stm.pat[0].var) => {
                let (p, view) = (&stm.pat[0], stm.pat[0].fresh(self.vars));
                let (places, new) = self.places(std::slice::from_ref(p), dests)?;
                self.note(&view);
                push(out, &view, stm.exp.clone(), stm.span);
                self.write(&places[0], view.var.into(), stm.span, out)?;
                self.aliases(new, stm.span, out);
            }
            Exp::Prim(..) | Exp::Check { .. } | Exp::Index(..) | Exp::Slice { .. } => out.push(stm.clone()),
            Exp::Iota(_) | Exp::Replicate(..) => out.push(stm.clone()),
            Exp::Call(..) if stm.pat.iter().all(|p| p.ty.is_scalar()) => out.push(stm.clone()),
            _ => return None,
        }
        Some(())
    }

    /// Where arrays are written: as asked, or in new buffers, which are listed.
    fn places(&mut self, pat: &[Param], dests: Vec<Option<Region>>) -> Option<Places> {
        let (mut places, mut new) = (Vec::new(), Vec::new());
        for (p, dest) in pat.iter().zip(dests) {
            places.push(match dest {
                Some(region) => region,
                None => {
                    let buffer = self.buffer(&p.ty, p.var)?;
                    new.push((p.clone(), buffer));
                    Region::whole(buffer)
                }
            });
        }
        Some((places, new))
    }

    fn aliases(&mut self, new: Vec<(Param, Var)>, span: Span, out: &mut Vec<Stm>) {
        new.into_iter().for_each(|(p, buffer)| self.alias(&p, buffer, span, out));
    }

    /// A buffer. Where its size is not known before the loop it has room enough for all iterations.
    fn buffer(&mut self, ty: &Type, like: Var) -> Option<Var> {
        let dims = ty.dims.iter().map(|d| self.room(d)).collect::<Option<_>>()?;
        let ty = Type { dims, ..ty.clone() };
        let var = self.vars.fresh_like(like);
        self.buffers.push(Param { var, ty: ty.clone() });
        self.names.insert(var, ty);
        Some(var)
    }

    fn room(&mut self, d: &Dim) -> Option<Dim> {
        let Dim::Size(size) = *d else { return None };
        let Some(v) = size.var().filter(|v| self.inside.contains(v)) else { return Some(*d) };
        if let Some(first) = self.shrinking.get(&v) {
            return Some(Dim::Size(*first));
        }
        if let Some((_, cap)) = self.caps.iter().find(|c| c.0 == v) {
            return Some(Dim::Size((*cap).into()));
        }
        let cap = self.vars.fresh("room");
        self.caps.push((v, cap));
        Some(Dim::Size(cap.into()))
    }

    fn note(&mut self, p: &Param) {
        if !p.ty.is_scalar() {
            self.types.insert(p.var, p.ty.clone());
        }
    }

    fn type_of(&self, v: Var) -> Option<&Type> {
        self.types.get(&v).or_else(|| self.outside.get(&v)).or_else(|| self.names.get(&v))
    }

    /// An array that may be changed: itself, if it is a version of one, or a copy.
    fn changeable(&mut self, v: Var, ty: &Type, span: Span, out: &mut Vec<Stm>) -> Option<Var> {
        if self.owned.contains_key(&v) {
            return Some(v);
        }
        let buffer = self.buffer(ty, v)?;
        self.write(&Region::whole(buffer), v.into(), span, out)?;
        let copy = Param { var: self.vars.fresh_like(v), ty: ty.clone() };
        self.note(&copy);
        self.alias(&copy, buffer, span, out);
        Some(copy.var)
    }

    /// Binds the next version of an array.
    fn version(&mut self, p: &Param, of: Var, exp: Exp, span: Span, out: &mut Vec<Stm>) {
        push(out, p, exp, span);
        self.is_version(p.var, of, span, out);
    }

    fn is_version(&mut self, v: Var, of: Var, span: Span, out: &mut Vec<Stm>) {
        if let Some(own) = self.owned.get(&of).copied() {
            self.owned.insert(v, own);
            self.mark(own, v, span, out);
        }
    }

    /// Writes a value to a region.
    fn write(&mut self, to: &Region, a: Atom, span: Span, out: &mut Vec<Stm>) -> Option<()> {
        if a.var().is_some_and(|v| self.regions.get(&v) == Some(to)) {
            return Some(());
        }
        let ty = self.names.get(&to.buffer)?.clone();
        if !to.at.is_empty() {
            let next = Param { var: self.vars.fresh_like(to.buffer), ty };
            let value = self.exact(a, span, out);
            let exp = Exp::Update { arr: to.buffer, at: At::indices(&to.at), value };
            push(out, &next, exp, span);
            return Some(());
        }
        self.copy(to, a.var()?, Atom::i64(0), span, out)
    }

    /// Writes the rows of an array to a region, from an index on.
    fn copy(&mut self, to: &Region, v: Var, first: Atom, span: Span, out: &mut Vec<Stm>) -> Option<()> {
        let ty = self.type_of(v)?.clone();
        let Dim::Size(n) = ty.dims[0] else { return None };
        let row = Param { var: self.vars.fresh_like(v), ty: Type { dims: ty.dims[1..].to_vec(), ..ty } };
        self.note(&row);
        let mut rows = Loop::new(span, self.vars);
        rows.code.index(row.clone(), v, vec![rows.index.into()]);
        let i = match first {
            first if first == Atom::i64(0) => rows.index,
            first => rows.code.arith("i", BinOp::Add, first, rows.index.into(), self.vars).var()?,
        };
        self.write(&to.row(i), row.var.into(), span, &mut rows.code.stms)?;
        out.push(rows.finish(n, vec![], vec![]));
        Some(())
    }

    fn concat(&mut self, to: &Region, arrs: &[Var], span: Span, out: &mut Vec<Stm>) -> Option<()> {
        let mut first = Atom::i64(0);
        for v in arrs {
            let Dim::Size(n) = self.type_of(*v)?.dims[0] else { return None };
            self.copy(to, *v, first, span, out)?;
            let mut code = Statements::new(span);
            first = code.arith("i", BinOp::Add, first, n, self.vars);
            out.append(&mut code.stms);
        }
        Some(())
    }

    /// A filter, as a loop that counts what it has kept. Numbers are written in any case: there is a place for them, since not more are kept
    /// than were looked at, and no jump depends on them.
    fn filter(
        &mut self,
        stm: &Stm,
        rows: Rows<'_>,
        dests: Vec<Option<Region>>,
        out: &mut Vec<Stm>,
    ) -> Option<()> {
        let (width, _, lam) = rows;
        let full = |p: &Param| Param { ty: Type::array(vec![Dim::Size(width)], p.ty.prim()), ..p.clone() };
        let all: Vec<Param> = stm.pat[1..].iter().map(full).collect();
        let (places, new) = self.places(&all, dests[1..].to_vec())?;
        let mut made = self.rows(rows, &places, stm.span)?;
        let count = made.carry("count", &Type::I64, Atom::i64(0), self.vars);
        self.body(&lam.body, &vec![None; lam.body.results.len()], &mut made.code.stms)?;
        let (mut always, mut kept) = (Vec::new(), Statements::new(stm.span));
        for ((place, x), ty) in places.iter().zip(&lam.body.results[1..]).zip(&lam.ret[1..]) {
            let code = if ty.is_scalar() { &mut always } else { &mut kept.stms };
            self.write(&place.row(count), *x, stm.span, code)?;
        }
        made.code.stms.extend(always);
        let cond = lam.body.results[0];
        if !kept.stms.is_empty() {
            let exp = Exp::If { cond, then: kept.results(vec![]), other: Body::default() };
            made.code.bind(vec![], exp);
        }
        let one = made.code.prim("kept", PrimOp::Conv(Prim::Bool, Prim::I64), vec![cond], self.vars);
        let next = made.code.arith("count", BinOp::Add, count.into(), one, self.vars);
        out.push(made.finish(width, stm.pat[..1].to_vec(), vec![next]));
        let made = |(all, buffer): (Param, Var)| {
            let p = stm.pat.iter().find(|p| p.var == all.var)?;
            Some((p.clone(), buffer))
        };
        let new = new.into_iter().filter_map(made).collect();
        self.aliases(new, stm.span, out);
        Some(())
    }

    fn map(&mut self, rows: Rows<'_>, places: &[Region], span: Span, out: &mut Vec<Stm>) -> Option<()> {
        let (width, _, lam) = rows;
        let mut made = self.rows(rows, places, span)?;
        let targets: Vec<Option<Region>> = places.iter().map(|p| Some(p.row(made.index))).collect();
        self.body(&lam.body, &targets, &mut made.code.stms)?;
        out.push(made.finish(width, vec![], vec![]));
        Some(())
    }

    /// A loop whose iterations begin with the rows.
    fn rows(&mut self, (_, inputs, lam): Rows<'_>, places: &[Region], span: Span) -> Option<Loop> {
        let mut rows = Loop::new(span, self.vars);
        for (p, v) in lam.params.iter().zip(inputs) {
            p.ty.is_regular().then_some(())?;
            self.note(p);
            match self.regions.get(v).filter(|r| places.contains(r)).map(|r| r.row(rows.index)) {
                Some(row) => {
                    rows.code.index(p.clone(), row.buffer, row.at.clone());
                    self.regions.insert(p.var, row);
                }
                None => rows.code.index(p.clone(), *v, vec![rows.index.into()]),
            }
        }
        Some(rows)
    }

    /// An operator whose code writes to buffers.
    fn operator(&mut self, op: &Lambda) -> Option<Lambda> {
        let mut stms = Vec::new();
        self.body(&op.body, &vec![None; op.body.results.len()], &mut stms)?;
        Some(Lambda { body: Body { stms, results: op.body.results.clone() }, ..op.clone() })
    }

    /// Reductions and scans (`exclusive` or not).
    fn fold(
        &mut self,
        (pat, places): (Vec<Param>, &[Region]),
        rows: Rows<'_>,
        (op, neutral): (&Lambda, &[Atom]),
        exclusive: Option<bool>,
        span: Span,
        out: &mut Vec<Stm>,
    ) -> Option<()> {
        let (width, _, lam) = rows;
        let k = neutral.len();
        let mut made = self.rows(rows, places, span)?;
        let (prefixes, others) = places.split_at(if exclusive.is_some() { k } else { 0 });
        let targets = others.iter().map(|p| Some(p.row(made.index)));
        let targets: Vec<Option<Region>> = vec![None; k].into_iter().chain(targets).collect();
        self.body(&lam.body, &targets, &mut made.code.stms)?;
        let op = self.operator(op)?;
        let steps = exclusive.map(|exclusive| loops::prefixes(&op, exclusive)).unwrap_or_default();
        let results = op.body.results.clone();
        made.fold(&op, neutral);
        made.combine(op, &lam.body.results[..k]);
        for (place, x) in prefixes.iter().zip(steps) {
            self.write(&place.row(made.index), x, span, &mut made.code.stms)?;
        }
        out.push(made.finish(width, pat, results));
        Some(())
    }

    /// Results that are made in the arms go to regions; those that both arms only update stay results.
    fn branch(
        &mut self,
        stm: &Stm,
        cond: Atom,
        arms: [&Body; 2],
        dests: Vec<Option<Region>>,
        out: &mut Vec<Stm>,
    ) -> Option<()> {
        let (mut targets, mut new, mut kept) = (Vec::new(), Vec::new(), Vec::new());
        for (k, (p, dest)) in stm.pat.iter().zip(dests).enumerate() {
            let updated = self.updated_in(arms, k);
            if p.ty.is_scalar() || dest.is_none() && updated.is_some() {
                kept.push((k, updated));
                targets.push(None);
                continue;
            }
            let (place, added) = self.places(std::slice::from_ref(p), vec![dest])?;
            targets.extend(place.into_iter().map(Some));
            new.extend(added);
        }
        let mut bodies = Vec::new();
        for arm in arms {
            let mut stms = Vec::new();
            self.body(arm, &targets, &mut stms)?;
            bodies.push(Body { stms, results: kept.iter().map(|(k, _)| arm.results[*k]).collect() });
        }
        let (other, then) = (bodies.pop()?, bodies.pop()?);
        let pat = kept.iter().map(|(k, _)| stm.pat[*k].clone()).collect();
        out.push(Stm { pat, exp: Exp::If { cond, then, other }, span: stm.span });
        for (k, updated) in kept {
            if let Some(of) = updated.filter(|_| !stm.pat[k].ty.is_scalar()) {
                self.is_version(stm.pat[k].var, of, stm.span, out);
            }
        }
        self.aliases(new, stm.span, out);
        Some(())
    }

    /// The array from outside that both arms result in a version of.
    fn updated_in(&self, arms: [&Body; 2], k: usize) -> Option<Var> {
        let [a, b] = arms.map(|arm| arm.results[k].var().and_then(|v| root(arm, v)));
        a.filter(|v| b == Some(*v) && self.owned.contains_key(v))
    }

    fn inner_loop(
        &mut self,
        stm: &Stm,
        params: &[(Param, Atom)],
        form: &LoopForm,
        body: &Body,
        out: &mut Vec<Stm>,
    ) -> Option<()> {
        let mut state = params.to_vec();
        for (p, init) in state.iter_mut().filter(|(p, _)| !p.ty.is_scalar()) {
            *init = self.changeable(init.var()?, &p.ty, stm.span, out)?.into();
        }
        let exp = self.iterations(&state, form, body)?;
        out.push(Stm { exp, ..stm.clone() });
        for (p, (q, _)) in stm.pat.iter().zip(&state).filter(|(p, _)| !p.ty.is_scalar()) {
            self.is_version(p.var, q.var, stm.span, out);
        }
        Some(())
    }

    /// Scatters, and histograms with their operator.
    fn scatter(
        &mut self,
        stm: &Stm,
        dests: &[Var],
        rows: Rows<'_>,
        op: Option<&Lambda>,
        out: &mut Vec<Stm>,
    ) -> Option<()> {
        let (width, _, lam) = rows;
        let Dim::Size(size) = stm.pat[0].ty.dims[0] else { return None };
        let mut state: Vec<(Param, Var)> = Vec::new();
        for (p, d) in stm.pat.iter().zip(dests) {
            let array = self.changeable(*d, &p.ty, stm.span, out)?;
            state.push((p.fresh(self.vars), array));
        }
        let mut made = self.rows(rows, &[], stm.span)?;
        made.state.extend(state.iter().map(|(p, array)| (p.clone(), Atom::Var(*array))));
        self.body(&lam.body, &vec![None; lam.body.results.len()], &mut made.code.stms)?;
        let op = match op {
            Some(op) => Some(self.operator(op)?),
            None => None,
        };
        let (params, arrays): (Vec<Param>, Vec<Var>) = state.into_iter().unzip();
        let (at, values) = (lam.body.results[0], &lam.body.results[1..]);
        let results = made.write_inside((at, size), &params, values, op, self.vars);
        out.push(made.finish(width, stm.pat.clone(), results));
        stm.pat.iter().zip(arrays).for_each(|(p, of)| self.is_version(p.var, of, stm.span, out));
        Some(())
    }
}

fn push(out: &mut Vec<Stm>, p: &Param, exp: Exp, span: Span) {
    out.push(Stm { pat: vec![p.clone()], exp, span });
}

/// Rows and slices that are used by an update, or after one.
fn stale_views(body: &Body) -> HashSet<Var> {
    let mut found = HashSet::new();
    for (i, stm) in body.stms.iter().enumerate() {
        if matches!(stm.exp, Exp::Index(..) | Exp::Slice { .. }) && !stm.pat[0].ty.is_scalar() {
            let updates = |s: &Stm| {
                let mut updated = Vec::new();
                updated_by(&s.exp, &mut updated);
                !updated.is_empty()
            };
            let rest = &body.stms[i + 1..];
            let first = rest.iter().position(updates).unwrap_or(rest.len());
            if rest[first..].iter().any(|s| s.mentions(stm.pat[0].var)) {
                found.insert(stm.pat[0].var);
            }
        }
        stm.exp.own_bodies().into_iter().for_each(|b| found.extend(stale_views(b)));
    }
    found
}

/// True if results of an expression can be written row by row.
fn makes_rows(exp: &Exp) -> bool {
    matches!(exp, Exp::Map { .. } | Exp::Reduce { .. } | Exp::Scan { .. } | Exp::If { .. } | Exp::Literal(..))
}

/// Which result a variable is, if it is nothing else.
fn only_result(v: Var, rest: &[Stm], results: &[Atom]) -> Option<usize> {
    let mut places = (0..results.len()).filter(|k| results[*k] == Atom::Var(v));
    let place = places.next()?;
    (places.next().is_none() && !rest.iter().any(|s| s.mentions(v))).then_some(place)
}
