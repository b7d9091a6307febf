//! Updates: `with`, `scatter`, `reduce_by_index`. One flat operation for all positions of the nest, into packed
//! destinations; the run time reuses a destination's buffer if nobody else holds it.

use super::ex::Ex;
use super::nest::LevelId;
use super::rep::{Arr, Rep, Src};
use super::{Flattener, Result};
use par_ir::core::{At, Exp, Param, Rows, Stm};
use par_ir::flat::{self, KernelKind, Op, Out, Ty};
use par_ir::prim::{BinOp, CmpOp};
use par_ir::{Atom, Dim, Prim, PrimOp, Type, Var};

impl Flattener<'_> {
    /// A destination: as it is if it is in place, else its packed form; and the flat array in it.
    pub fn destination(&mut self, level: LevelId, v: Var) -> (Arr, Var) {
        self.as_in_place(level, v).unwrap_or_else(|| self.packed_destination(level, v))
    }

    fn packed_destination(&mut self, level: LevelId, v: Var) -> (Arr, Var) {
        let ty = self.types[&v].clone();
        let arr = self.arr(v);
        let packed = self.pack(level, &arr, &ty);
        match packed.src {
            Src::Data(data, _) => (packed, data),
            _ => panic!("internal error in flatten: an update of a descriptor"),
        }
    }

    /// Binds the updated array, which has the destination's layout.
    pub fn bind_updated(&mut self, p: &Param, old: &Arr, old_data: Var) -> Var {
        let prim = p.ty.prim();
        let v = self.builder.vars.fresh_like(p.var);
        self.same_layout(old_data, v, prim);
        self.env.insert(p.var, Rep::Array(Arr { src: Src::Data(v, prim), ..old.clone() }));
        v
    }

    /// Notes that a flat array is the next version of another one.
    pub fn same_layout(&mut self, old: Var, new: Var, prim: Prim) {
        if let Some(extent) = self.shapes.extents.get(&old).cloned() {
            self.shapes.extents.insert(new, extent);
        }
        if let Some((layout, of)) = self.shapes.in_place.get(&old).cloned() {
            self.shapes.in_place.insert(new, (Arr { src: Src::Data(new, prim), ..layout }, of));
        }
    }

    pub fn update(&mut self, level: LevelId, stm: &Stm, arr: Var, at: &[At], value: Atom) -> Result {
        let prim = stm.pat[0].ty.prim();
        let (packed, data) = self.destination(level, arr);
        let source = self.apart_from(level, data, value);
        let (inside, target, source) = self.part_of_both(level, packed.clone(), at, value, source);
        let new = flat::Param { var: self.bind_updated(&stm.pat[0], &packed, data), ty: Ty::Array(prim) };
        match At::only_indices(at) {
            Some(_) => self.write_elements(inside, target, source, data, new),
            None => self.replace_elements(inside, target, source, data, new),
        }
        Ok(())
    }

    /// A new row or part: copied, if it is a view of the array that is updated, which would be copied otherwise.
    fn apart_from(&mut self, level: LevelId, data: Var, value: Atom) -> Rep {
        let source = self.rep(value);
        let (Rep::Array(view), Atom::Var(v)) = (&source, value) else { return source };
        let mut used = Vec::new();
        view.vars(&mut used);
        if !used.contains(&data) {
            return source;
        }
        let (view, ty) = (view.clone(), self.types[&v].clone());
        Rep::Array(self.pack(level, &view, &ty))
    }

    /// The level of the elements of `value`, whose representation is `from`, and what they and those of the part of `to` are there that it
    /// replaces.
    fn part_of_both(
        &mut self,
        level: LevelId,
        to: Arr,
        at: &[At],
        value: Atom,
        from: Rep,
    ) -> (LevelId, Rep, Rep) {
        let levels = match value.var().map(|v| self.types[&v].clone()).filter(|ty| !ty.is_scalar()) {
            Some(ty) => {
                let dims = self.dim_reps(&ty);
                self.enter_dims(level, dims)
            }
            None => vec![],
        };
        let (mut inner, mut at) = (levels.iter(), at.iter());
        let (mut target, mut source) = (Rep::Array(to), from);
        while let Rep::Array(arr) = &target {
            let part = match at.next() {
                Some(At::Index(i)) => {
                    target = self.row(arr, self.ex(*i));
                    continue;
                }
                Some(At::Slice { start, stride }) => self.sliced(arr.clone(), *start, *stride),
                None => arr.clone(),
            };
            let (Some(l), Rep::Array(rows)) = (inner.next(), &source) else {
                panic!("internal error in flatten: shape of an update")
            };
            (target, source) = (self.row(&part, self.local(*l)), self.row(rows, self.local(*l)));
        }
        (levels.last().copied().unwrap_or(level), target, source)
    }

    /// As [`Self::write_elements`], where no two positions write to the same place.
    fn replace_elements(&mut self, at: LevelId, target: Rep, value: Rep, data: Var, new: flat::Param) {
        let (Rep::Scalar(Ex::Load(_, prim, ix)), Rep::Scalar(value)) = (target, value) else {
            panic!("internal error in flatten: shape of an update")
        };
        let size = self.builder.array_length(data);
        let mut g = self.take_group(at);
        let (index, value) = (self.eval(&mut g, &ix), self.eval(&mut g, &value));
        let ty = Type::array(vec![Dim::Size(size)], prim);
        let [state, last] =
            [(); 2].map(|()| Param { var: self.builder.vars.fresh_like(data), ty: ty.clone() });
        let exp = Exp::Update { arr: state.var, at: vec![At::Index(index)], value };
        self.push_stm(&mut g, false, vec![last.clone()], exp);
        let kind = KernelKind::Map(vec![Out::Own { dest: data, state }]);
        self.finish(g, kind, vec![last.var.into()], vec![new]);
    }

    /// The level of the elements of `from`, and what they and those of `to`, which has the same shape, are there.
    pub fn elements_of_both(&mut self, level: LevelId, to: Arr, from: Var) -> (LevelId, Rep, Rep) {
        let dims = self.dim_reps(&self.types[&from].clone());
        let levels = self.enter_dims(level, dims);
        let mut pair = (Rep::Array(to), self.rep(from.into()));
        for l in &levels {
            if let (Rep::Array(a), Rep::Array(b)) = &pair {
                pair = (self.row(a, self.local(*l)), self.row(b, self.local(*l)));
            }
        }
        (*levels.last().expect("an array has a dimension"), pair.0, pair.1)
    }

    /// Writes a value of every position of a level to where `target`, an element of `data`, is; binds the new array.
    pub fn write_elements(&mut self, at: LevelId, target: Rep, value: Rep, data: Var, new: flat::Param) {
        let (Rep::Scalar(Ex::Load(_, _, ix)), Rep::Scalar(value)) = (target, value) else {
            panic!("internal error in flatten: shape of an update")
        };
        if self.shapes.is_root(at) {
            let (index, value) = (self.host(&ix), self.host(&value));
            return self.builder.emit(vec![new], Op::Write { arr: data, index, value });
        }
        let mut g = self.take_group(at);
        let results = vec![self.eval(&mut g, &ix), self.eval(&mut g, &value)];
        self.finish(g, KernelKind::Map(vec![Out::Scatter(vec![data])]), results, vec![new]);
    }

    pub fn scatter(&mut self, level: LevelId, stm: &Stm) -> Result {
        let Exp::Scatter { dests, width, inputs, lam } = &stm.exp else {
            unreachable!("dispatched on Scatter")
        };
        let rows = (*width, &inputs[..], lam);
        self.combine(level, stm, dests, rows, |_, data| Ok(KernelKind::Map(vec![Out::Scatter(data)])))
    }

    pub fn hist(&mut self, level: LevelId, stm: &Stm) -> Result {
        let Exp::Hist { dests, width, inputs, lam, op, neutral } = &stm.exp else {
            unreachable!("dispatched on Hist")
        };
        self.combine(level, stm, dests, (*width, inputs, lam), |f, dests| {
            let neutral: Option<Vec<Atom>> = neutral.iter().map(|a| f.ex(*a).atom()).collect();
            let Some(neutral) = neutral else {
                return f.unsupported("a histogram whose neutral element differs between rows");
            };
            let op = f.operator(op)?;
            if !op.captures.is_empty() {
                return f.unsupported("a histogram whose operator uses a variable of an enclosing map");
            }
            Ok(KernelKind::Hist { dests, op: op.lam, neutral })
        })
    }

    /// Destinations whose rows start at the same places.
    fn destinations(&mut self, level: LevelId, dests: &[Var]) -> Vec<(Arr, Var)> {
        let in_place: Option<Vec<(Arr, Var)>> = dests.iter().map(|d| self.as_in_place(level, *d)).collect();
        match in_place {
            Some(dests) if dests.iter().all(|(a, _)| a.start == dests[0].0.start) => dests,
            _ => dests.iter().map(|d| self.packed_destination(level, *d)).collect(),
        }
    }

    fn combine(
        &mut self,
        level: LevelId,
        stm: &Stm,
        dests: &[Var],
        rows: Rows,
        kind: impl FnOnce(&mut Self, Vec<Var>) -> Result<KernelKind>,
    ) -> Result {
        let targets = self.destinations(level, dests);
        let len = self.ex(self.types[&dests[0]].rows());
        let (child, results) = self.enter_rows(level, rows)?;
        let kind = kind(self, targets.iter().map(|t| t.1).collect())?;
        let mut g = self.take_group(child);
        let mut atoms = Vec::new();
        for r in &results {
            let Rep::Scalar(ex) = r else {
                return self.unsupported("scatter of rows that are arrays");
            };
            atoms.push(self.eval(&mut g, ex));
        }
        if !self.shapes.is_root(level) {
            let start = targets[0].0.start.clone();
            let (start, len) = (self.eval(&mut g, &start), self.eval(&mut g, &len));
            atoms[0] = self.inside_row(&mut g, atoms[0], start, len);
        }
        let mut pat = Vec::new();
        for (p, (packed, data)) in stm.pat.iter().zip(&targets) {
            let var = self.bind_updated(p, packed, *data);
            pat.push(flat::Param { var, ty: Ty::Array(p.ty.prim()) });
        }
        self.finish(g, kind, atoms, pat);
        Ok(())
    }

    /// The flat index of element `i` of a row, or -1 if the row has no such element.
    fn inside_row(&mut self, g: &mut super::kernel::Group, i: Atom, start: Atom, len: Atom) -> Atom {
        let low = self.inner_prim(g, PrimOp::Cmp(CmpOp::Ge, Prim::I64), vec![i, Atom::i64(0)]);
        let high = self.inner_prim(g, PrimOp::Cmp(CmpOp::Lt, Prim::I64), vec![i, len]);
        let ok = self.inner_prim(g, PrimOp::Bin(BinOp::And, Prim::Bool), vec![low, high]);
        let flat = self.inner_prim(g, PrimOp::Bin(BinOp::Add, Prim::I64), vec![start, i]);
        self.inner_prim(g, PrimOp::Select(Prim::I64), vec![ok, flat, Atom::i64(-1)])
    }
}
