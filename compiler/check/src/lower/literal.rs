//! Arrays made from parts: literals, `replicate`, `++`, `flatten`, `unflatten`, `segments`, `transpose`. Rows of
//! different lengths join to an irregular array:
//!
//! ```text
//! [xs, ys]      lens = [n, m]   s = make_desc lens   [xs, ys] : [2][s]i32
//! xss ++ yss    lens = lengths s ++ lengths t   u = make_desc lens   xss ++ yss : [n+m][u]i32
//! ```

use super::build::Key;
use super::env::Env;
use super::rebuild::Rebuild;
use super::value::{Extent, Shape, Val};
use super::{Lower, R};
use crate::thir::Expr;
use par_ir::core::Exp;
use par_ir::prim::{BinOp, CmpOp};
use par_ir::{Atom, CheckKind, Dim, Prim, Type};
use par_syntax::diagnostic::Diagnostic;

/// The corresponding parts of several values.
struct Parts {
    dims: Vec<std::vec::IntoIter<Dim>>,
    leaves: Vec<std::vec::IntoIter<(Atom, Prim)>>,
}

impl Parts {
    fn new(vals: &[Val]) -> Parts {
        Parts {
            dims: vals.iter().map(|v| v.dims().into_iter()).collect(),
            leaves: vals.iter().map(|v| v.leaves().into_iter()).collect(),
        }
    }

    fn dims(&mut self) -> Vec<Dim> {
        self.dims.iter_mut().filter_map(Iterator::next).collect()
    }

    fn leaves(&mut self) -> Vec<Atom> {
        self.leaves.iter_mut().filter_map(|l| l.next().map(|x| x.0)).collect()
    }
}

/// `[v0, v1, …]`.
struct Stack {
    parts: Parts,
}

impl<'p> Rebuild<'p> for Stack {
    fn dim(&mut self, lo: &mut Lower<'p>, dim: Dim, old: &[Dim], new: &[Dim]) -> R<Dim> {
        let dims = self.parts.dims();
        if matches!(dim, Dim::Size(_)) && dims.iter().all(|d| *d == dim) {
            return Ok(dim);
        }
        let mut lens = Vec::new();
        for d in dims {
            lens.push(match d {
                Dim::Size(a) if old.is_empty() => a,
                Dim::Size(_) => return Err(lo.internal("a matrix among irregular rows")),
                Dim::Seg(s) => Atom::Var(lo.lengths(s)),
            });
        }
        let ty = Type::array(new.to_vec(), Prim::I64);
        let lens = lo.emit("lens", ty, Exp::Literal(lens, Prim::I64));
        Ok(Dim::Seg(lo.make_desc(lens)))
    }

    fn leaf(&mut self, lo: &mut Lower<'p>, _a: Atom, prim: Prim, _old: &[Dim], new: &[Dim]) -> R<Atom> {
        let parts = self.parts.leaves();
        Ok(Atom::Var(lo.emit("r", Type::array(new.to_vec(), prim), Exp::Literal(parts, prim))))
    }
}

/// `v0 ++ v1`.
struct Append {
    parts: Parts,
}

impl<'p> Rebuild<'p> for Append {
    fn dim(&mut self, lo: &mut Lower<'p>, dim: Dim, _old: &[Dim], new: &[Dim]) -> R<Dim> {
        let dims = self.parts.dims();
        if matches!(dim, Dim::Size(_)) && dims.iter().all(|d| *d == dim) {
            return Ok(dim);
        }
        let mut lens = Vec::new();
        for d in dims {
            match d {
                Dim::Seg(s) => lens.push(lo.lengths(s)),
                Dim::Size(_) => return Err(lo.internal("a matrix among irregular rows")),
            }
        }
        let lens = lo.emit("lens", Type::array(new.to_vec(), Prim::I64), Exp::Concat(lens));
        Ok(Dim::Seg(lo.make_desc(lens)))
    }

    fn leaf(&mut self, lo: &mut Lower<'p>, _a: Atom, prim: Prim, _old: &[Dim], new: &[Dim]) -> R<Atom> {
        let parts: R<Vec<_>> = self.parts.leaves().into_iter().map(|a| lo.leaf_var(a)).collect();
        Ok(Atom::Var(lo.emit("r", Type::array(new.to_vec(), prim), Exp::Concat(parts?))))
    }
}

/// `replicate n v`.
struct Repeated {
    n: Atom,
}

impl<'p> Rebuild<'p> for Repeated {
    fn dim(&mut self, lo: &mut Lower<'p>, dim: Dim, _old: &[Dim], new: &[Dim]) -> R<Dim> {
        let Dim::Seg(s) = dim else { return Ok(dim) };
        let lens = Atom::Var(lo.lengths(s));
        let lens = lo.emit("lens", Type::array(new.to_vec(), Prim::I64), Exp::Replicate(self.n, lens));
        Ok(Dim::Seg(lo.make_desc(lens)))
    }

    fn leaf(&mut self, lo: &mut Lower<'p>, a: Atom, prim: Prim, _old: &[Dim], new: &[Dim]) -> R<Atom> {
        Ok(Atom::Var(lo.emit("r", Type::array(new.to_vec(), prim), Exp::Replicate(self.n, a))))
    }
}

/// Joins or splits the outermost dimensions.
struct Reshape {
    flatten: bool,
}

impl<'p> Rebuild<'p> for Reshape {
    fn dim(&mut self, lo: &mut Lower<'p>, dim: Dim, _old: &[Dim], new: &[Dim]) -> R<Dim> {
        let Dim::Seg(s) = dim else { return Ok(dim) };
        let ty = Type::desc(new.to_vec());
        Ok(Dim::Seg(if self.flatten {
            lo.share(Key::Flatten(s), "s", ty, Exp::Flatten(s))
        } else {
            lo.emit("s", ty, Exp::Unflatten(s))
        }))
    }

    fn leaf(&mut self, lo: &mut Lower<'p>, a: Atom, prim: Prim, _old: &[Dim], new: &[Dim]) -> R<Atom> {
        let v = lo.leaf_var(a)?;
        let ty = Type::array(new.to_vec(), prim);
        Ok(Atom::Var(if self.flatten {
            lo.share(Key::Flatten(v), "r", ty, Exp::Flatten(v))
        } else {
            lo.emit("r", ty, Exp::Unflatten(v))
        }))
    }
}

/// Length of an array, if it is a constant.
fn outer_size(array: &Val) -> Option<i64> {
    match array {
        Val::Array(Dim::Size(n), _) => n.as_i64(),
        _ => None,
    }
}

impl<'p> Lower<'p> {
    /// An array literal.
    pub fn array(&mut self, e: &'p Expr, es: &'p [Expr], env: &Env<'p>, want: Option<&Shape>) -> R<Val<'p>> {
        if es.is_empty() {
            return self.empty(e, env, want);
        }
        let inner = match want {
            Some(Shape::Array(_, t)) => Some(&**t),
            _ => None,
        };
        let rows = es.iter().map(|x| self.eval(x, env, inner)).collect::<R<Vec<_>>>()?;
        let lengths: Option<Vec<i64>> = rows.iter().map(outer_size).collect();
        let array = self.stack(rows)?;
        if let (Some(lengths), Some(Dim::Seg(s))) = (lengths, array.dims().get(1)) {
            self.facts.literal_rows.insert(*s, lengths.into_iter().zip(es.iter().map(|e| e.span)).collect());
        }
        Ok(array)
    }

    /// `[v0, v1, …]`, at least one.
    pub fn stack(&mut self, rows: Vec<Val<'p>>) -> R<Val<'p>> {
        // Rows that are arrays of arrays: below the rows' own dimension sizes agree, or all become descriptors.
        let (rows, _) = self.alike(rows, 0)?;
        let size = Dim::Size(Atom::i64(rows.len() as i64));
        let mut stack = Stack { parts: Parts::new(&rows) };
        let elem = self.rebuild(&rows[0], &mut Vec::new(), &mut vec![size], &mut stack)?;
        Ok(Val::Array(size, Box::new(elem)))
    }

    /// Makes descriptors of the dimensions deeper than `free` that are not one size in all values.
    fn alike(&mut self, vals: Vec<Val<'p>>, free: usize) -> R<(Vec<Val<'p>>, Vec<bool>)> {
        let dims: Vec<Vec<Dim>> = vals.iter().map(Val::dims).collect();
        let depths = depths(&vals[0]);
        if dims.iter().any(|d| d.len() != depths.len()) {
            return Err(self.internal("values of different structure are joined"));
        }
        let flags: Vec<bool> = (0..depths.len())
            .map(|i| {
                let same = matches!(dims[0][i], Dim::Size(_)) && dims.iter().all(|d| d[i] == dims[0][i]);
                depths[i] > free && !same
            })
            .collect();
        let vals: R<Vec<_>> = vals.iter().map(|v| self.ragged(v, &flags)).collect();
        Ok((vals?, flags))
    }

    /// `[]`: the element type says what is in it; inner sizes are those wanted, or 0.
    fn empty(&mut self, e: &'p Expr, env: &Env<'p>, want: Option<&Shape>) -> R<Val<'p>> {
        let own = self.shape(&e.ty, env)?;
        let shape = match want {
            Some(w) if same_structure(w, &own) => w.clone(),
            _ => own,
        };
        let Shape::Array(_, elem) = shape else {
            return Err(self.internal("an array literal without an array type"));
        };
        let zero = Dim::Size(Atom::i64(0));
        let elem = self.empty_elem(&elem, &mut vec![zero])?;
        Ok(Val::Array(zero, Box::new(elem)))
    }

    pub fn empty_elem(&mut self, shape: &Shape, above: &mut Vec<Dim>) -> R<Val<'p>> {
        Ok(match shape {
            Shape::Prim(p) => {
                let ty = Type::array(above.clone(), *p);
                Val::Leaf(self.emit("r", ty, Exp::Literal(Vec::new(), *p)), *p)
            }
            Shape::Tuple(ts) => Val::Tuple(ts.iter().map(|t| self.empty_elem(t, above)).collect::<R<_>>()?),
            Shape::Record(fs) => Val::Record(
                fs.iter().map(|(n, t)| Ok((n.clone(), self.empty_elem(t, above)?))).collect::<R<_>>()?,
            ),
            Shape::Array(extent, t) => {
                let size = match extent {
                    Extent::Is(a) => *a,
                    Extent::Any | Extent::Named => Atom::i64(0),
                };
                above.push(Dim::Size(size));
                let elem = self.empty_elem(t, above);
                above.pop();
                Val::Array(Dim::Size(size), Box::new(elem?))
            }
            Shape::Fun => return Err(self.function_value("an element of an array")),
            Shape::Sum(l) => Val::Tuple(self.sum_parts(l, &mut |lo, t| lo.empty_elem(t, above))?),
            Shape::Unknown => {
                let d = Diagnostic::error(
                    "E0304",
                    "the type of the elements of this array is not known",
                    self.place.span,
                );
                return Err(Box::new(d.note("write the type, as in `([] : []i32)`")));
            }
        })
    }

    /// `replicate n v`.
    pub fn replicate(&mut self, n: Atom, v: &Val<'p>) -> R<Val<'p>> {
        self.check_size(n);
        let size = Dim::Size(n);
        let elem = self.rebuild(v, &mut Vec::new(), &mut vec![size], &mut Repeated { n })?;
        Ok(Val::Array(size, Box::new(elem)))
    }

    /// A size that must not be negative.
    pub fn check_size(&mut self, n: Atom) {
        if n.var().is_some_and(|v| self.facts.sizes.contains(&v)) {
            return;
        }
        let ok = self.cmp(CmpOp::Le, Atom::i64(0), n);
        self.check(ok, CheckKind::NegativeSize, vec![n]);
    }

    /// `xs ++ ys`.
    pub fn concat(&mut self, xs: Val<'p>, ys: Val<'p>) -> R<Val<'p>> {
        let (n, m) = (self.size_of(&xs)?, self.size_of(&ys)?);
        if n.as_i64() == Some(0) {
            return Ok(ys);
        }
        if m.as_i64() == Some(0) {
            return Ok(xs);
        }
        let (vals, _) = self.alike(vec![xs, ys], 0)?;
        let size = Dim::Size(self.add(n, m));
        let elems: R<Vec<_>> = vals.iter().map(|v| Ok(self.elem_of(v)?.clone())).collect();
        let elems = elems?;
        let mut append = Append { parts: Parts::new(&elems) };
        let elem = self.rebuild(&elems[0], &mut vec![Dim::Size(n)], &mut vec![size], &mut append)?;
        Ok(Val::Array(size, Box::new(elem)))
    }

    /// The two outermost dimensions joined.
    pub fn flatten(&mut self, xss: &Val<'p>) -> R<Val<'p>> {
        let (Val::Array(Dim::Size(n), rows), n_dim) = (xss, xss.dims()[0]) else {
            return Err(self.internal("flatten of something that is no array"));
        };
        let Val::Array(d, elem) = &**rows else {
            return Err(self.internal("flatten of an array without rows"));
        };
        let size = match d {
            Dim::Size(m) => self.size_product(*n, *m),
            Dim::Seg(s) => self.total(*s),
        };
        let new = Dim::Size(size);
        let how = &mut Reshape { flatten: true };
        let elem = self.rebuild(elem, &mut vec![n_dim, *d], &mut vec![new], how)?;
        Ok(Val::Array(new, Box::new(elem)))
    }

    /// The number of elements of an `n` times `m` matrix. Outside of maps a matrix may have been described but never
    /// stored, so the product may be out of range.
    pub fn size_product(&mut self, n: Atom, m: Atom) -> Atom {
        let product = self.mul(n, m);
        if self.scope.blocks.len() == 1 && product.var().is_some() && n.var().is_some() && m.var().is_some() {
            let high = self.bin(BinOp::MulHi, Prim::I64, n, m);
            let (small, sign) =
                (self.cmp(CmpOp::Eq, high, Atom::i64(0)), self.cmp(CmpOp::Le, Atom::i64(0), product));
            let fits = self.and(small, sign);
            self.check(fits, CheckKind::OutOfMemory, vec![Atom::i64(i64::MAX)]);
        }
        product
    }

    /// The outermost dimension of size `n` split as the dims say.
    pub fn split_outer(&mut self, xs: &Val<'p>, outer: Dim, inner: Dim) -> R<Val<'p>> {
        let old = xs.dims()[0];
        let elem = self.elem_of(xs)?.clone();
        let how = &mut Reshape { flatten: false };
        let elem = self.rebuild(&elem, &mut vec![old], &mut vec![outer, inner], how)?;
        Ok(Val::Array(outer, Box::new(Val::Array(inner, Box::new(elem)))))
    }

    /// `segments ls xs`.
    pub fn segments(&mut self, ls: &Val<'p>, xs: &Val<'p>) -> R<Val<'p>> {
        let (n, k) = (self.size_of(ls)?, self.size_of(xs)?);
        let lens = match ls.leaves()[..] {
            [(a, _)] => self.leaf_var(a)?,
            _ => return Err(self.internal("the lengths of segments are one array")),
        };
        self.map_over(n, std::slice::from_ref(ls), &mut |lo, rows| {
            if let Val::Scalar(l, _) = rows[0] {
                lo.check_size(l);
            }
            Ok(Val::Tuple(Vec::new()))
        })?;
        let s = self.make_desc(lens);
        let total = self.total(s);
        let ok = self.cmp(CmpOp::Eq, total, k);
        self.check(ok, CheckKind::SegmentSum, vec![total, k]);
        self.split_outer(xs, Dim::Size(n), Dim::Seg(s))
    }

    /// `map length xss`.
    pub fn row_lengths(&mut self, xss: &Val<'p>) -> R<Val<'p>> {
        let n = self.size_of(xss)?;
        let Val::Array(d, _) = self.elem_of(xss)? else {
            return Err(self.internal("lengths of an array without rows"));
        };
        let lens = match *d {
            Dim::Seg(s) => self.lengths(s),
            Dim::Size(m) => self.filled(&[Dim::Size(n)], m)?,
        };
        Ok(Val::vector(n, lens, Prim::I64))
    }

    /// Rows become columns.
    pub fn transpose(&mut self, xss: &Val<'p>) -> R<Val<'p>> {
        let n = self.size_of(xss)?;
        let m = match self.elem_of(xss)? {
            Val::Array(Dim::Size(m), _) => *m,
            Val::Array(Dim::Seg(s), _) => {
                let s = *s;
                self.uniform(s, None)?
            }
            _ => return Err(self.internal("transpose of an array without rows")),
        };
        let targets = [super::shape::Target::Keep, super::shape::Target::To(Dim::Size(m))];
        let xss = self.retype(xss, &targets)?;
        let (is, js) = (self.iota(n), self.iota(m));
        let (is, js) = (Val::vector(n, is, Prim::I64), Val::vector(m, js, Prim::I64));
        self.map_over(m, &[js], &mut |lo, rows| {
            let Val::Scalar(j, _) = rows[0] else { return Err(lo.internal("an index is a scalar")) };
            lo.map_over(n, std::slice::from_ref(&is), &mut |lo, rows| {
                let Val::Scalar(i, _) = rows[0] else { return Err(lo.internal("an index is a scalar")) };
                lo.element(&xss, &[i, j])
            })
        })
    }
}

/// For every dimension of a value how many enclose it.
fn depths(val: &Val) -> Vec<usize> {
    fn go(val: &Val, depth: usize, out: &mut Vec<usize>) {
        match val {
            Val::Array(_, e) => {
                out.push(depth);
                go(e, depth + 1, out);
            }
            Val::Tuple(vs) => vs.iter().for_each(|v| go(v, depth, out)),
            Val::Record(fs) => fs.iter().for_each(|(_, v)| go(v, depth, out)),
            _ => {}
        }
    }
    let mut out = Vec::new();
    go(val, 0, &mut out);
    out
}

/// Equal but for sizes.
fn same_structure(a: &Shape, b: &Shape) -> bool {
    a.erased() == b.erased()
}
