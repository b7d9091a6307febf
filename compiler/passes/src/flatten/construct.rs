//! Arrays made of other arrays: `concat`, literals, `flatten`, `unflatten`, descriptors from lengths.
//!
//! Under a nest the elements of a concatenation choose their source by the index inside the row; rows of rows choose only
//! where they start.

use super::canonical::is_stored;
use super::ex::Ex;
use super::host::Known;
use super::kernel::Group;
use super::nest::{Extent, FDim, Kind, LevelId};
use super::pack::DimRep;
use super::rep::{Arr, Rep, Src};
use super::{Flattener, Result};
use par_ir::core::{Exp, Param, Stm};
use par_ir::flat::{self, Op, Ty};
use par_ir::prim::{BinOp, CmpOp};
use par_ir::tuning;
use par_ir::{Atom, Dim, Elem, Prim, PrimOp, Scalar, Type, Var};
use std::rc::Rc;

/// Array that an index below `upper` (and not below the previous one's) takes from.
struct Pick {
    upper: Ex,
    rep: Rep,
}

impl Flattener<'_> {
    pub fn concat(&mut self, level: LevelId, stm: &Stm, arrs: &[Var]) -> Result {
        if self.shapes.is_root(level) {
            let atoms: Vec<Atom> = arrs.iter().map(|v| (*v).into()).collect();
            let parts = self.canonical(level, &atoms).iter().filter_map(|a| a.var()).collect();
            self.bind_packed(level, &stm.pat[0], Op::Concat(parts));
            return Ok(());
        }
        let bases = self.appendable(level, arrs);
        let (src, inner, offsets) = self.append_bases(&bases);
        let width = self.ex(stm.pat[0].ty.rows());
        let child = self.enter(level, &width);
        let mut lower = Ex::i64(0);
        let mut picks = Vec::new();
        for ((v, base), offset) in arrs.iter().zip(&bases).zip(&offsets) {
            let n = self.types[v].rows();
            let local = self.sub(self.local(child), lower.clone());
            let rep = self.row(base, local);
            let rep = self.shifted(rep, *offset);
            lower = self.add(lower, self.ex(n));
            picks.push(Pick { upper: lower.clone(), rep });
        }
        self.bind_choice(child, &stm.pat[0], picks, src, inner)
    }

    pub fn literal(&mut self, level: LevelId, stm: &Stm, elems: &[Atom], prim: Prim) -> Result {
        let ty = &stm.pat[0].ty;
        if elems.is_empty() || (ty.rank() == 1 && self.shapes.is_root(level)) {
            let atoms = elems.iter().map(|a| self.host_atom(*a)).collect();
            self.bind_packed(level, &stm.pat[0], Op::Literal(atoms, prim));
            return Ok(());
        }
        if ty.rank() == 1 && elems.len() <= tuning::STORED_ROW {
            self.row_literal(level, stm, elems, prim);
            return Ok(());
        }
        if let [Atom::Var(row)] = elems
            && self.shapes.is_root(level)
            && ty.dims.iter().all(|d| matches!(d, Dim::Size(_)))
            && !ty.is_desc()
        {
            self.row_alone(level, &stm.pat[0], *row);
            return Ok(());
        }
        let mut picks = Vec::new();
        let mut rows_of_all = (Src::Iota, vec![]);
        if ty.rank() == 1 {
            for (i, a) in elems.iter().enumerate() {
                picks.push(Pick { upper: Ex::i64(i as i64 + 1), rep: self.rep(*a) });
            }
        } else {
            let rows: Vec<Var> = elems.iter().filter_map(|a| a.var()).collect();
            let rows = self.appendable(level, &rows);
            let (src, inner, offsets) = self.append(&rows);
            for (i, (row, offset)) in rows.into_iter().zip(offsets).enumerate() {
                let rep = self.shifted(Rep::Array(row), offset);
                picks.push(Pick { upper: Ex::i64(i as i64 + 1), rep });
            }
            rows_of_all = (src, inner);
        }
        let child = self.enter(level, &Ex::i64(elems.len() as i64));
        self.bind_choice(child, &stm.pat[0], picks, rows_of_all.0, rows_of_all.1)
    }

    /// An array literal of one row on the host: the row, packed.
    fn row_alone(&mut self, level: LevelId, p: &Param, row: Var) {
        let (arr, ty) = (self.arr(row), self.types[&row].clone());
        let (packed, levels) = self.pack_levels(level, &arr, &ty);
        let inner = self.fdims(&levels);
        self.env.insert(p.var, Rep::Array(Arr { inner, ..packed }));
    }

    /// A row of scalars for every position: the kernel that computes them stores them.
    fn row_literal(&mut self, level: LevelId, stm: &Stm, elems: &[Atom], prim: Prim) {
        let mut g = self.take_group(level);
        let row = self.eval_atoms(&mut g, elems);
        let data = self.builder.vars.fresh_like(stm.pat[0].var);
        g.rows_out.push((data, prim, row));
        self.group = Some(g);
        let child = self.enter(level, &Ex::i64(elems.len() as i64));
        let extent = self.shapes.extent(child);
        self.shapes.extents.insert(data, extent);
        let rep = Arr::rows(Src::Data(data, prim), vec![], self.start_of(child));
        self.env.insert(stm.pat[0].var, Rep::Array(rep));
    }

    /// Binds the result of a host operation that makes packed data.
    fn bind_packed(&mut self, level: LevelId, p: &Param, op: Op) {
        let name = self.builder.vars.name(p.var).to_string();
        let ty = Ty::Array(p.ty.prim());
        let var = self.builder.bind(&name, ty, op);
        self.adopt_canonical(level, std::slice::from_ref(p), &[flat::Param { var, ty }]);
    }

    /// The arrays with bases that can be appended: all the same one, or flat data with views as inner dimensions.
    fn appendable(&mut self, level: LevelId, vars: &[Var]) -> Vec<Arr> {
        let arrs: Vec<Arr> = vars.iter().map(|v| self.arr(*v)).collect();
        if same_base(&arrs) {
            return arrs;
        }
        let view = |(v, arr): (&Var, &Arr)| {
            let mut ty = self.types[v].clone();
            if self.facts.lengths.contains(v) {
                ty.elem = Elem::Desc;
            }
            self.viewable(level, arr, &ty)
        };
        vars.iter().zip(&arrs).map(view).collect()
    }

    /// The array with flat data, rows at distance one, and inner dimensions that say where every row starts. (A regular
    /// dimension of size 0 would not tell how many rows there are.)
    pub fn viewable(&mut self, level: LevelId, arr: &Arr, ty: &Type) -> Arr {
        let dims = self.dim_reps(ty);
        if let Some(view) = ty.is_desc().then(|| self.view_of_lengths(level, arr)).flatten() {
            return view;
        }
        if let Some(view) = self.view_of_rows(level, arr, dims, ty.is_desc()) {
            return view;
        }
        let (mut packed, levels) = self.pack_levels(level, arr, ty);
        for (d, rows_at) in packed.inner.iter_mut().zip(&levels) {
            if let FDim::Size(m) = *d {
                let rows = self.count(*rows_at);
                let each = self.enter(super::nest::ROOT, &Ex::Atom(rows));
                let start = self.mul(Ex::Pos(each), Ex::Atom(m));
                *d = FDim::View(self.store(each, &start));
            }
        }
        packed
    }

    /// The same without a copy of elements, if that can be: at most where rows start is stored.
    fn view_of_rows(
        &mut self,
        level: LevelId,
        arr: &Arr,
        mut dims: Vec<DimRep>,
        is_desc: bool,
    ) -> Option<Arr> {
        if is_stored(arr, is_desc) && arr.stride.is_none() {
            if arr.inner.iter().all(|d| matches!(d, FDim::Seg(_) | FDim::View(_))) {
                return Some(arr.clone());
            }
            if let Some(view) = self.with_starts(arr) {
                return Some(view);
            }
        }
        if dims.len() == 1 {
            return None;
        }
        let DimRep::Width(width) = dims.remove(0) else { return None };
        let child = self.enter(level, &width);
        let Rep::Array(row) = self.row(arr, self.local(child)) else { return None };
        let dims = self.inside(&dims, child);
        let row = self.view_of_rows(child, &row, dims, is_desc).filter(|r| !r.src_depends_on(child))?;
        let mut inner = vec![FDim::View(self.store(child, &row.start))];
        inner.extend(row.inner);
        Some(Arr::rows(row.src, inner, self.start_of(child)))
    }

    fn shifted(&self, rep: Rep, offset: Atom) -> Rep {
        match rep {
            Rep::Array(a) => {
                let start = self.add(a.start.clone(), Ex::Atom(offset));
                Rep::Array(Arr { start, ..a })
            }
            Rep::Scalar(ex) => Rep::Scalar(ex),
        }
    }

    /// Appends the bases of the arrays' rows.
    fn append_bases(&mut self, arrs: &[Arr]) -> (Src, Vec<FDim>, Vec<Atom>) {
        if arrs[0].inner.is_empty() {
            return (Src::Iota, vec![], vec![Atom::i64(0); arrs.len()]);
        }
        let rows: Vec<Arr> = arrs.iter().map(|a| Arr { inner: a.inner[1..].to_vec(), ..a.clone() }).collect();
        self.append(&rows)
    }

    /// One base that holds all the given ones, and by how much the row indices of each are shifted in it.
    pub fn append(&mut self, arrs: &[Arr]) -> (Src, Vec<FDim>, Vec<Atom>) {
        if same_base(arrs) {
            return (arrs[0].src.clone(), arrs[0].inner.clone(), vec![Atom::i64(0); arrs.len()]);
        }
        self.append_views(arrs)
    }

    /// As [`Self::append`], always as ropes, with views as inner dimensions.
    pub fn append_views(&mut self, arrs: &[Arr]) -> (Src, Vec<FDim>, Vec<Atom>) {
        if arrs[0].inner.is_empty() && arrs.len() > 1 {
            return self.append_elements(arrs);
        }
        let (parts, offsets): (Vec<Arr>, Vec<Atom>) = arrs.iter().map(|a| self.in_rope(a)).unzip();
        let all = |f: &mut Self, vars: Vec<Var>, prim: Prim| {
            let mut distinct: Vec<Var> = Vec::new();
            vars.into_iter().for_each(|v| {
                if !distinct.contains(&v) {
                    distinct.push(v)
                }
            });
            if let [only] = distinct[..] { only } else { f.rope_of(&distinct, prim).0 }
        };
        let starts_of = |d: &FDim| match d {
            FDim::View(s) => *s,
            FDim::Size(_) | FDim::Seg(_) | FDim::Steps(..) => unreachable!("put in a rope before"),
        };
        let prim = elements_of(&parts[0]).1;
        let rope = all(self, parts.iter().map(|a| elements_of(a).0).collect(), prim);
        let inner = (0..parts[0].inner.len()).map(|k| {
            FDim::View(all(self, parts.iter().map(|a| starts_of(&a.inner[k])).collect(), Prim::I64))
        });
        let inner = inner.collect();
        (in_rope_of(rope, prim, &parts), inner, offsets)
    }

    /// As [`Self::append_views`], for rows of scalars.
    fn append_elements(&mut self, arrs: &[Arr]) -> (Src, Vec<FDim>, Vec<Atom>) {
        let mut prim = Prim::I64;
        let mut parts = Vec::new();
        for arr in arrs {
            let (data, p) = elements_of(&self.as_elements(arr.clone()));
            prim = p;
            parts.push(data);
        }
        let before = self.outside_as_ropes(&mut parts, prim);
        let (rope, origins) = self.rope_of(&parts, prim);
        let origins = before.into_iter().zip(origins).map(|(b, o)| b.unwrap_or(o)).collect();
        (in_rope_of(rope, prim, arrs), vec![], origins)
    }

    /// Puts arrays of outer host blocks into ropes where they were made, and gives what is then added to the indices of each: so that all
    /// iterations of a loop spend the same credit for them.
    fn outside_as_ropes(&mut self, parts: &mut [Var], prim: Prim) -> Vec<Option<Atom>> {
        let here = self.builder.scopes.len();
        let mut origins = Vec::new();
        for part in parts {
            let outside = self.builder.bound_in.get(part).is_some_and(|depth| *depth < here);
            origins.push((outside && !self.builder.ropes.contains(part)).then(|| {
                let (rope, origin) = self.where_bound(&[*part], |f| f.as_rope(*part, prim));
                *part = rope;
                origin
            }));
        }
        origins
    }

    /// An array's elements and inner starts as ropes, and what is added to the indices of its rows. What can be is done once, where the
    /// array was made.
    fn in_rope(&mut self, arr: &Arr) -> (Arr, Atom) {
        let made_of: Vec<Var> = self.made_of(arr).into_iter().map(|(v, _)| v).collect();
        self.where_bound(&made_of, |f| {
            let arr = f.as_elements(arr.clone());
            let (data, prim) = elements_of(&arr);
            let Some((_, rest)) = arr.inner.split_first() else {
                let (data, origin) = f.as_rope(data, prim);
                return (Arr { src: in_rope_of(data, prim, std::slice::from_ref(&arr)), ..arr }, origin);
            };
            let starts = f.as_starts(&arr);
            let (rows, offset) = f.in_rope(&Arr { inner: rest.to_vec(), ..arr.clone() });
            let starts = f.shift_all(starts, offset);
            let (starts, origin) = f.as_rope(starts, Prim::I64);
            let mut inner = vec![FDim::View(starts)];
            inner.extend(rows.inner);
            (Arr { inner, ..rows }, origin)
        })
    }

    /// Appends packed rows to what was appended before: the base of both, and by how much the indices of the rows are shifted in it.
    pub fn append_rows(&mut self, before: &Arr, rows: &Arr) -> (Src, Vec<FDim>, Atom) {
        if before.inner.is_empty() {
            let (data, ty) = match (&before.src, &rows.src) {
                (Src::Data(a, p), Src::Data(b, _)) => ([*a, *b], Ty::Array(*p)),
                (Src::Desc(a), Src::Desc(b)) => ([*a, *b], Ty::Desc),
                _ => unreachable!("packed before"),
            };
            let (appended, offsets) = self.concat_counted(&data, ty);
            let src = if let Ty::Array(p) = ty { Src::Data(appended, p) } else { Src::Desc(appended) };
            return (src, vec![], offsets[1]);
        }
        let starts = [self.as_starts(before), self.as_starts(rows)];
        let rest = |a: &Arr| Arr { inner: a.inner[1..].to_vec(), ..a.clone() };
        let (src, inner, offset) = self.append_rows(&rest(before), &rest(rows));
        let shifted = [starts[0], self.shift_all(starts[1], offset)];
        let (appended, offsets) = self.concat_counted(&shifted, Ty::Array(Prim::I64));
        let mut dims = vec![FDim::View(appended)];
        dims.extend(inner);
        (src, dims, offsets[1])
    }

    /// Arrays as a rope, and what is added to the indices of each.
    pub fn rope_of(&mut self, parts: &[Var], prim: Prim) -> (Var, Vec<Atom>) {
        let key = Known::Rope(parts.to_vec());
        let known = self.builder.known_all(&key);
        if let Some((Atom::Var(v), origins)) = known.as_ref().and_then(|all| all.split_first()) {
            return (*v, origins.to_vec());
        }
        let rope = flat::Param { var: self.builder.vars.fresh("rope"), ty: Ty::Rope(prim) };
        let origin =
            |f: &mut Self| flat::Param { var: f.builder.vars.fresh("origin"), ty: Ty::Scalar(Prim::I64) };
        let mut pat = vec![rope];
        pat.extend(parts.iter().map(|_| origin(self)));
        self.builder.emit(pat.clone(), Op::Append(parts.to_vec()));
        self.shapes.parts_of_rope.insert(rope.var, parts.to_vec());
        // What is a rope already is not moved.
        let added = |(part, p): (&Var, &flat::Param)| {
            if self.builder.ropes.contains(part) { Atom::i64(0) } else { p.var.into() }
        };
        let origins: Vec<Atom> = parts.iter().zip(&pat[1..]).map(added).collect();
        self.builder
            .learn_all(key, std::iter::once(rope.var.into()).chain(origins.iter().copied()).collect());
        (rope.var, origins)
    }

    /// Concatenates, and gives the index where each part begins.
    fn concat_counted(&mut self, parts: &[Var], ty: Ty) -> (Var, Vec<Atom>) {
        let mut offsets = vec![Atom::i64(0)];
        if let [only] = parts {
            return (*only, offsets);
        }
        for part in &parts[..parts.len() - 1] {
            let n = match ty {
                Ty::Desc => self.builder.bind("rows", Ty::Scalar(Prim::I64), Op::Rows(*part)).into(),
                _ => self.builder.array_length(*part),
            };
            let last = *offsets.last().expect("starts with 0");
            offsets.push(self.builder.host_op(BinOp::Add, last, n));
        }
        let op = if ty == Ty::Desc { Op::ConcatDesc(parts.to_vec()) } else { Op::Concat(parts.to_vec()) };
        (self.builder.bind("appended", ty, op), offsets)
    }

    fn shift_all(&mut self, starts: Var, by: Atom) -> Var {
        if by.as_i64() == Some(0) {
            return starts;
        }
        let key = Known::Shifted(starts, by);
        if let Some(Atom::Var(v)) = self.builder.known(&key) {
            return v;
        }
        let n = self.builder.array_length(starts);
        let level = self.enter(super::nest::ROOT, &Ex::Atom(n));
        let ex = self.add(Ex::Load(starts, Prim::I64, Rc::new(Ex::Pos(level))), Ex::Atom(by));
        let shifted = self.store(level, &ex);
        self.builder.learn(key, shifted.into());
        shifted
    }

    /// The first inner dimension as an array of row starts.
    pub fn as_starts(&mut self, arr: &Arr) -> Var {
        match arr.inner[0] {
            FDim::View(s) => s,
            FDim::Seg(d) => self.builder.offsets(d),
            FDim::Size(_) | FDim::Steps(..) => unreachable!("made a view before"),
        }
    }

    /// Binds an array at the parent of `child` whose rows are chosen by the index inside the row.
    fn bind_choice(
        &mut self,
        child: LevelId,
        p: &Param,
        picks: Vec<Pick>,
        src: Src,
        inner: Vec<FDim>,
    ) -> Result {
        let rows = p.ty.rank() > 1;
        let choice = |k: Pick| match k.rep {
            Rep::Scalar(ex) => (k.upper, ex),
            Rep::Array(a) => (k.upper, a.start),
        };
        let choices: Vec<(Ex, Ex)> = picks.into_iter().map(choice).collect();
        let prim = if rows { Prim::I64 } else { p.ty.prim() };
        let chosen = self.choose(child, &choices, prim);
        let row = if rows { Rep::Array(Arr::rows(src, inner, chosen)) } else { Rep::Scalar(chosen) };
        let arr = self.collect(child, row, &p.ty)?;
        self.env.insert(p.var, Rep::Array(arr));
        Ok(())
    }

    /// A scalar stored at `child` that is the first choice whose bound is above the index inside the row.
    fn choose(&mut self, child: LevelId, choices: &[(Ex, Ex)], prim: Prim) -> Ex {
        self.scalar_at(child, "chosen", Type::scalar(prim), |f, g| {
            Exp::Atom(f.choice_chain(g, child, choices, prim))
        })
    }

    fn choice_chain(&mut self, g: &mut Group, child: LevelId, choices: &[(Ex, Ex)], prim: Prim) -> Atom {
        let ((upper, value), rest) = choices.split_first().expect("at least one choice");
        if rest.is_empty() {
            return self.eval(g, value);
        }
        let local = self.local(child);
        let (i, n) = (self.eval(g, &local), self.eval(g, upper));
        let below = self.inner_prim(g, PrimOp::Cmp(CmpOp::Lt, Prim::I64), vec![i, n]);
        let then = self.nested(g, |f, g| Ok(vec![f.eval(g, value)]));
        let other = self.nested(g, |f, g| Ok(vec![f.choice_chain(g, child, rest, prim)]));
        let (Ok(then), Ok(other)) = (then, other) else { unreachable!("evaluation does not fail") };
        self.inner_scalar(g, Type::scalar(prim), Exp::If { cond: below, then, other })
    }

    /// A scalar operator in the kernel.
    pub fn inner_prim(&mut self, g: &mut Group, op: PrimOp, args: Vec<Atom>) -> Atom {
        self.inner_scalar(g, Type::scalar(op.result()), Exp::Prim(op, args))
    }

    /// A scalar of the positions of a level, computed in a kernel of that level, which is closed.
    pub fn scalar_at(
        &mut self,
        level: LevelId,
        name: &str,
        ty: Type,
        exp: impl FnOnce(&mut Self, &mut Group) -> Exp,
    ) -> Ex {
        let mut g = self.take_group(level);
        let exp = exp(self, &mut g);
        let p = Param { var: self.builder.vars.fresh(name), ty };
        let ex = self.add_scalar(&mut g, &[p], exp).remove(0);
        self.group = Some(g);
        self.flush();
        ex
    }

    /// A scalar statement of the kernel that is never an output.
    pub fn inner_scalar(&mut self, g: &mut Group, ty: Type, exp: Exp) -> Atom {
        let p = Param { var: self.builder.vars.fresh("t"), ty };
        let ex = self.add_scalar(g, &[p], exp).remove(0);
        self.eval(g, &ex)
    }

    /// True if an array is one for each position of this level, in data of this block: it may stand for itself in another form from here on.
    fn is_of_block(&self, level: LevelId, arr: &Arr) -> bool {
        let mut vars = Vec::new();
        arr.vars(&mut vars);
        let here = |v: &Var| self.builder.bound_in.get(v) == Some(&self.builder.scopes.len());
        arr.depends_on(level) && vars.iter().any(here)
    }

    pub fn flatten_packed(&mut self, level: LevelId, stm: &Stm, arr: Var) -> Result {
        let ty = self.types[&arr].clone();
        let a = self.arr(arr);
        let packed = self.pack(level, &a, &ty);
        if self.is_of_block(level, &a) {
            self.env.insert(arr, Rep::Array(packed.clone()));
        }
        let start = self.row_start(packed.inner[0], packed.start.clone());
        let rep = Arr::rows(packed.src, packed.inner[1..].to_vec(), start);
        self.env.insert(stm.pat[0].var, Rep::Array(rep));
        Ok(())
    }

    /// The extent of flat data and of the matrix that it is are one.
    pub fn note_reshaped(&mut self, flat: &Type, matrix: &Type) {
        if let [DimRep::Width(size), ..] = &self.dim_reps(flat)[..]
            && let [DimRep::Width(rows), DimRep::Width(width), ..] = &self.dim_reps(matrix)[..]
        {
            self.shapes.note_product(size, rows, width);
        }
    }

    pub fn unflatten(&mut self, level: LevelId, stm: &Stm, arr: Var) -> Result {
        let ty = self.types[&arr].clone();
        let a = self.arr(arr);
        if let Src::Splat(_) = a.src
            && a.inner.is_empty()
        {
            let row = Rep::Array(a.clone());
            let rep = Arr::whole(Src::Splat(Rc::new(row)), vec![]);
            self.env.insert(stm.pat[0].var, Rep::Array(rep));
            return Ok(());
        }
        self.note_reshaped(&ty, &stm.pat[0].ty);
        let (packed, flat) = self.pack_levels(level, &a, &ty);
        let dims = self.dim_reps(&stm.pat[0].ty);
        let levels = self.enter_dims(level, dims);
        self.note_cut(levels[1], flat[0]);
        let mut inner = self.fdims(&levels[1..2]);
        inner.extend(packed.inner);
        let rep = Arr::rows(packed.src, inner, self.start_of(levels[0]));
        self.env.insert(stm.pat[0].var, Rep::Array(rep));
        Ok(())
    }

    /// Rows that an array was cut into are all of it, as a check has said. Noted of descriptors of this block: others are known where nothing was checked.
    fn note_cut(&mut self, rows: LevelId, flat: LevelId) {
        if let Kind::Dim(FDim::Seg(d)) = self.shapes.level(rows).kind
            && self.builder.bound_in.get(&d) == Some(&self.builder.scopes.len())
        {
            let space = self.shapes.extent(flat);
            if let (Extent::Count(n), Some(total)) = (&space, self.builder.known(&Known::Total(d))) {
                self.shapes.note_same(total, *n);
            }
            self.shapes.note_total(d, space);
        }
    }

    /// The sum of a descriptor's lengths. A view of other rows than consecutive ones is packed first.
    pub fn total_packed(&mut self, level: LevelId, stm: &Stm, desc: Var) -> Result {
        let ex = self.total_of(desc).or_else(|| {
            let ty = self.types[&desc].clone();
            let packed = self.pack(level, &self.arr(desc), &ty);
            self.total_of_packed(packed, &ty)
        });
        let Some(ex) = ex else { return self.unsupported("the total of a view of a descriptor") };
        let ex = if self.shapes.is_root(level) { Ex::Atom(self.host(&ex)) } else { ex };
        self.bind_local(&stm.pat[0], ex);
        Ok(())
    }

    /// A zero of a type.
    pub fn zero(p: Prim) -> Atom {
        Atom::Const(Scalar::zero(p))
    }
}

/// The elements of an array that can be appended to others, lengths as numbers.
fn elements_of(arr: &Arr) -> (Var, Prim) {
    match arr.src {
        Src::Data(v, p) => (v, p),
        Src::Lens(v) => (v, Prim::I64),
        Src::Desc(_) | Src::Iota | Src::Splat(_) => unreachable!("made appendable before"),
    }
}

/// A rope with the elements of arrays.
fn in_rope_of(rope: Var, prim: Prim, arrs: &[Arr]) -> Src {
    let lens = arrs.iter().any(|a| matches!(a.src, Src::Lens(_)));
    if lens { Src::Lens(rope) } else { Src::Data(rope, prim) }
}

/// True if arrays are views of one and the same base.
fn same_base(arrs: &[Arr]) -> bool {
    arrs.iter().all(|a| {
        a.inner == arrs[0].inner
            && a.stride.is_none()
            && match (&a.src, &arrs[0].src) {
                (Src::Data(x, _), Src::Data(y, _))
                | (Src::Desc(x), Src::Desc(y))
                | (Src::Lens(x), Src::Lens(y)) => x == y,
                _ => false,
            }
    })
}
