//! Changes of shape that move no data: other sizes proven equal, a matrix as a ragged array, a ragged array
//! whose rows turn out to have one length as a matrix.

use super::build::Key;
use super::rebuild::Rebuild;
use super::value::Val;
use super::{Lower, R};
use par_ir::core::{Exp, Lambda, Schedule};
use par_ir::prim::{BinOp, CmpOp};
use par_ir::{Atom, CheckKind, Dim, Prim, Type, Var};
use par_syntax::diagnostic::Diagnostic;

/// New form of one dimension of a value.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Target {
    Keep,
    To(Dim),
    /// A descriptor, made from the size if it is one.
    Ragged,
}

struct Retype<'a> {
    targets: &'a [Target],
    next: usize,
}

impl<'p> Rebuild<'p> for Retype<'_> {
    fn dim(&mut self, lo: &mut Lower<'p>, dim: Dim, old: &[Dim], new: &[Dim]) -> R<Dim> {
        let target = self.targets.get(self.next).copied().unwrap_or(Target::Keep);
        self.next += 1;
        Ok(match (target, dim) {
            (Target::To(Dim::Seg(s)), _) => Dim::Seg(lo.retype_var(s, Type::desc(new.to_vec()))),
            (Target::To(d), _) => d,
            (Target::Ragged, Dim::Size(a)) if !new.is_empty() => Dim::Seg(lo.filled_desc(new, a)?),
            (_, Dim::Seg(s)) if old != new => Dim::Seg(lo.retype_var(s, Type::desc(new.to_vec()))),
            (_, d) => d,
        })
    }

    fn leaf(&mut self, lo: &mut Lower<'p>, a: Atom, prim: Prim, old: &[Dim], new: &[Dim]) -> R<Atom> {
        match a {
            Atom::Var(v) if old != new => Ok(Atom::Var(lo.retype_var(v, Type::array(new.to_vec(), prim)))),
            a => Ok(a),
        }
    }

    fn fun(&mut self, _lo: &mut Lower<'p>, fun: &std::rc::Rc<super::value::Fun<'p>>) -> R<Val<'p>> {
        Ok(Val::Fun(fun.clone()))
    }
}

/// Gives a value the sizes of another.
struct Like<'a> {
    dims: std::vec::IntoIter<Dim>,
    what: &'a str,
    rows: bool,
}

impl<'p> Rebuild<'p> for Like<'_> {
    fn dim(&mut self, lo: &mut Lower<'p>, dim: Dim, old: &[Dim], new: &[Dim]) -> R<Dim> {
        let Some(wanted) = self.dims.next() else { return Err(lo.internal("values of different structure")) };
        let dim = match dim {
            Dim::Seg(s) if old != new => Dim::Seg(lo.retype_var(s, Type::desc(new.to_vec()))),
            dim => dim,
        };
        match (dim, wanted) {
            (_, Dim::Seg(_)) if !self.rows => return Ok(dim),
            (Dim::Size(a), Dim::Size(b)) => lo.equate(b, a, self.what, None)?,
            (Dim::Seg(s), Dim::Size(a)) => _ = lo.uniform(s, Some(a))?,
            (Dim::Size(a), Dim::Seg(t)) => {
                let s = lo.filled_desc(new, a)?;
                lo.equate_descs(s, t)?;
            }
            (Dim::Seg(s), Dim::Seg(t)) => lo.equate_descs(s, t)?,
        }
        Ok(wanted)
    }

    fn leaf(&mut self, lo: &mut Lower<'p>, a: Atom, prim: Prim, old: &[Dim], new: &[Dim]) -> R<Atom> {
        match a {
            Atom::Var(v) if old != new => Ok(lo.retype_var(v, Type::array(new.to_vec(), prim)).into()),
            a => Ok(a),
        }
    }
}

impl<'p> Lower<'p> {
    /// The value with the sizes of `model`, checked. Where the model's rows have lengths of their own, so have the value's; with `rows`
    /// they must be the same.
    pub fn like(&mut self, val: &Val<'p>, model: &Val<'p>, what: &str, rows: bool) -> R<Val<'p>> {
        let mut like = Like { dims: model.dims().into_iter(), what, rows };
        self.rebuild(val, &mut Vec::new(), &mut Vec::new(), &mut like)
    }

    /// The value with other dimensions, in the order of [`Val::dims`]. Nothing is checked.
    pub fn retype(&mut self, val: &Val<'p>, targets: &[Target]) -> R<Val<'p>> {
        if targets.iter().all(|t| *t == Target::Keep) {
            return Ok(val.clone());
        }
        self.rebuild(val, &mut Vec::new(), &mut Vec::new(), &mut Retype { targets, next: 0 })
    }

    /// The row value `val`, below `above`, with the flagged dimensions as descriptors.
    pub fn ragged(&mut self, val: &Val<'p>, flags: &[bool]) -> R<Val<'p>> {
        let targets: Vec<Target> =
            flags.iter().map(|f| if *f { Target::Ragged } else { Target::Keep }).collect();
        self.retype(val, &targets)
    }

    /// The array with another outermost size, known to be equal.
    pub fn resized(&mut self, val: &Val<'p>, size: Atom) -> R<Val<'p>> {
        match val {
            Val::Array(Dim::Size(a), _) if *a != size => self.retype(val, &[Target::To(Dim::Size(size))]),
            _ => Ok(val.clone()),
        }
    }

    /// The same data at a type with other dimensions.
    pub fn retype_var(&mut self, v: Var, ty: Type) -> Var {
        if *self.type_of(v) == ty {
            return v;
        }
        let name = self.out.vars.name(v).to_string();
        self.share(Key::Retype(v, ty.clone()), &name, ty, Exp::Atom(Atom::Var(v)))
    }

    /// The descriptor over `dims` all of whose rows have length `a`.
    pub fn filled_desc(&mut self, dims: &[Dim], a: Atom) -> R<Var> {
        let lens = self.filled(dims, a)?;
        Ok(self.make_desc(lens))
    }

    /// The descriptor with these row lengths.
    pub fn make_desc(&mut self, lens: Var) -> Var {
        let dims = self.type_of(lens).dims.clone();
        let s = self.share(Key::MakeDesc(lens), "s", Type::desc(dims), Exp::MakeDesc(lens));
        self.remember(Key::Lengths(s), Atom::Var(lens));
        s
    }

    /// The row lengths of a descriptor.
    pub fn lengths(&mut self, s: Var) -> Var {
        let ty = Type::array(self.type_of(s).dims.clone(), Prim::I64);
        self.share(Key::Lengths(s), "lens", ty, Exp::Lengths(s))
    }

    /// The sum of the row lengths of a descriptor.
    pub fn total(&mut self, s: Var) -> Atom {
        let total = self.share(Key::Total(s), "total", Type::I64, Exp::Total(s));
        self.facts.sizes.insert(total);
        Atom::Var(total)
    }

    /// An array over `dims`, filled with `a`: a constant or an `i64`.
    pub fn filled(&mut self, dims: &[Dim], a: Atom) -> R<Var> {
        let key = Key::Filled(dims.to_vec(), a);
        if let Some(Atom::Var(v)) = self.find(&key) {
            return Ok(v);
        }
        let v = self.fill(dims, a)?;
        self.remember(key, Atom::Var(v));
        Ok(v)
    }

    fn fill(&mut self, dims: &[Dim], a: Atom) -> R<Var> {
        let prim = if let Atom::Const(c) = a { c.prim() } else { Prim::I64 };
        let ty = Type::array(dims.to_vec(), prim);
        let Some((&Dim::Size(n), rest)) = dims.split_first() else {
            return Err(self.internal("an array of lengths without an outer size"));
        };
        if rest.is_empty() {
            return Ok(self.emit("lens", ty, Exp::Replicate(n, a)));
        }
        // Rows that there may be none of may have a size that is less than nothing.
        let is_size = |a: &Atom| {
            a.as_i64().is_some_and(|n| n >= 0) || a.var().is_some_and(|v| self.facts.sizes.contains(&v))
        };
        if rest.iter().all(|d| matches!(d, Dim::Size(n) if is_size(n))) {
            let inner = self.filled(rest, a)?;
            return Ok(self.emit("lens", ty, Exp::Replicate(n, Atom::Var(inner))));
        }
        let unit = rest.iter().rev().fold(Val::Tuple(Vec::new()), |v, d| Val::Array(*d, Box::new(v)));
        let units = Val::Array(Dim::Size(n), Box::new(unit));
        let filled = self.map_over(n, &[units], &mut |lo, rows| {
            let row = rows[0].dims();
            let lens = lo.filled(&row, a)?;
            Ok(row.iter().rev().fold(Val::Leaf(lens, prim), |v, d| Val::Array(*d, Box::new(v))))
        })?;
        match filled.leaves()[..] {
            [(Atom::Var(v), _)] => Ok(self.retype_var(v, ty)),
            _ => Err(self.internal("an array of lengths has one leaf")),
        }
    }

    /// The one length that all rows of `s` have, checked: `expected`, or else that of the first row, or 0 if there
    /// is none.
    pub fn uniform(&mut self, s: Var, expected: Option<Atom>) -> R<Atom> {
        let key = Key::Uniform(s, expected);
        if let Some(a) = self.find(&key) {
            return Ok(a);
        }
        self.uniform_or(s, expected, Atom::i64(0))
    }

    /// As `uniform`, with another length for no rows.
    pub fn uniform_or(&mut self, s: Var, expected: Option<Atom>, otherwise: Atom) -> R<Atom> {
        let key = Key::Uniform(s, expected);
        self.never_uniform(s, expected)?;
        let (rows, lens) = self.flat_lengths(s)?;
        let width = match expected {
            Some(a) => a,
            None => self.first_length(rows, lens, otherwise)?,
        };
        let bad = self.first_row(rows, &[lens], &mut |lo, args| lo.cmp(CmpOp::Ne, args[0], width))?;
        let ok = self.cmp(CmpOp::Eq, bad, rows);
        let found = self.if_scalar(ok, Prim::I64, &mut |_| Ok(width), &mut |lo| {
            Ok(Atom::Var(lo.emit("len", Type::I64, Exp::Index(lens, vec![bad]))))
        })?;
        self.check(ok, CheckKind::RowLength, vec![bad, found, width]);
        self.remember(key, width);
        self.remember(Key::Uniform(s, Some(width)), width);
        Ok(width)
    }

    /// E0401 for an array literal whose rows are known not to have one length.
    fn never_uniform(&self, s: Var, expected: Option<Atom>) -> R<()> {
        let Some(rows) = self.facts.literal_rows.get(&s) else { return Ok(()) };
        let Some(width) = expected.map_or_else(|| rows.first().map(|row| row.0), |n| n.as_i64()) else {
            return Ok(());
        };
        let Some((i, (length, span))) = rows.iter().enumerate().find(|(_, row)| row.0 != width) else {
            return Ok(());
        };
        let message = format!("row {i} has length {length}, but length {width} is needed");
        let diag = Diagnostic::error("E0401", message, *span).here(format!("this has size {length}"));
        Err(Box::new(match rows.iter().find(|row| row.0 == width) {
            Some((_, other)) => diag.label(*other, format!("this has size {width}")),
            None => diag,
        }))
    }

    /// Checks that two descriptors over the same number of rows hold the same lengths.
    pub fn equate_descs(&mut self, s: Var, expected: Var) -> R<()> {
        if s == expected {
            return Ok(());
        }
        let (rows, lens) = self.flat_lengths(s)?;
        let (expected_rows, wanted) = self.flat_lengths(expected)?;
        self.equate(rows, expected_rows, "rows of an irregular array", None)?;
        let wanted = self.retype_var(wanted, Type::array(vec![Dim::Size(rows)], Prim::I64));
        let bad =
            self.first_row(rows, &[lens, wanted], &mut |lo, args| lo.cmp(CmpOp::Ne, args[0], args[1]))?;
        let ok = self.cmp(CmpOp::Eq, bad, rows);
        let at = |array: Var| {
            move |lo: &mut Self| Ok(Atom::Var(lo.emit("len", Type::I64, Exp::Index(array, vec![bad]))))
        };
        let zero = Atom::i64(0);
        let found = self.if_scalar(ok, Prim::I64, &mut |_| Ok(zero), &mut at(lens))?;
        let needed = self.if_scalar(ok, Prim::I64, &mut |_| Ok(zero), &mut at(wanted))?;
        self.check(ok, CheckKind::RowLength, vec![bad, found, needed]);
        Ok(())
    }

    /// The lengths of a descriptor of any rank as one flat array, and how many there are.
    fn flat_lengths(&mut self, s: Var) -> R<(Atom, Var)> {
        let lens = self.lengths(s);
        let dims = self.type_of(s).dims.clone();
        let mut val = dims.iter().rev().fold(Val::Leaf(lens, Prim::I64), |v, d| Val::Array(*d, Box::new(v)));
        for _ in 1..dims.len() {
            val = self.flatten(&val)?;
        }
        match (&val, &val.leaves()[..]) {
            (Val::Array(Dim::Size(n), _), [(Atom::Var(v), _)]) => Ok((*n, *v)),
            _ => Err(self.internal("the lengths of a descriptor are one array")),
        }
    }

    /// The length of the first row, if there is one.
    pub fn width_or(&mut self, s: Var, otherwise: Atom) -> R<Atom> {
        let (rows, lens) = self.flat_lengths(s)?;
        self.first_length(rows, lens, otherwise)
    }

    fn first_length(&mut self, rows: Atom, lens: Var, otherwise: Atom) -> R<Atom> {
        let some = self.cmp(CmpOp::Lt, Atom::i64(0), rows);
        self.if_scalar(
            some,
            Prim::I64,
            &mut |lo| Ok(Atom::Var(lo.emit("len", Type::I64, Exp::Index(lens, vec![Atom::i64(0)])))),
            &mut |_| Ok(otherwise),
        )
    }

    /// The first row index for which the test holds, or the number of rows.
    fn first_row(
        &mut self,
        rows: Atom,
        arrays: &[Var],
        test: &mut dyn FnMut(&mut Self, &[Atom]) -> Atom,
    ) -> R<Atom> {
        let iota = self.iota(rows);
        let mut inputs = vec![iota];
        inputs.extend(arrays);
        let (block, (params, found)) = self.in_block(|lo| {
            let params: Vec<_> = inputs.iter().map(|_| lo.param("x", Type::I64)).collect();
            let args: Vec<Atom> = params.iter().map(|p| Atom::Var(p.var)).collect();
            let bad = test(lo, &args[1..]);
            Ok((params, lo.select(Prim::I64, bad, args[0], rows)))
        })?;
        let lam = Lambda {
            params,
            body: par_ir::core::Body { stms: block.stms, results: vec![found] },
            ret: vec![Type::I64],
            schedule: Schedule::Free,
        };
        let op = self.scalar_lambda(BinOp::Min, Prim::I64)?;
        let reduce = Exp::Reduce { width: rows, inputs, lam, op, neutral: vec![rows] };
        Ok(Atom::Var(self.emit("row", Type::I64, reduce)))
    }

    /// `\x y -> op x y`.
    pub fn scalar_lambda(&mut self, op: BinOp, p: Prim) -> R<Lambda> {
        let ty = Type::scalar(p);
        let (block, (params, result)) = self.in_block(|lo| {
            let (x, y) = (lo.param("x", ty.clone()), lo.param("y", ty.clone()));
            let result = lo.bin(op, p, Atom::Var(x.var), Atom::Var(y.var));
            Ok((vec![x, y], result))
        })?;
        let body = par_ir::core::Body { stms: block.stms, results: vec![result] };
        Ok(Lambda { params, body, ret: vec![ty], schedule: Schedule::Free })
    }

    /// `[0, …, n-1]`.
    pub fn iota(&mut self, n: Atom) -> Var {
        self.share(Key::Iota(n), "is", Type::array(vec![Dim::Size(n)], Prim::I64), Exp::Iota(n))
    }

    /// The size of the outermost dimension.
    pub fn size_of(&self, val: &Val<'p>) -> R<Atom> {
        match val {
            Val::Array(Dim::Size(n), _) => Ok(*n),
            _ => Err(self.internal("an array with an outer size was expected")),
        }
    }

    /// The elements of an array, below its outermost dimension.
    pub fn elem_of<'v>(&self, val: &'v Val<'p>) -> R<&'v Val<'p>> {
        match val {
            Val::Array(_, e) => Ok(e),
            _ => Err(self.internal("an array was expected")),
        }
    }
}
