//! Accumulators: the writes that a function makes to an array, one call after the other.
//!
//! An accumulator is a list of indices and values. How long it becomes is found first, by evaluating the function with a list that
//! has room for nothing and only counts; then with one that has room for as many.
//!
//! ```text
//! scatter_stream dest (\acc b -> if p b then write acc (f b) (g b) else acc) bs
//!
//! lists = map (\b -> let n = if p b then 1 else 0
//!                    in if p b then (replicate n (-1), replicate n 0) with [0] = (f b, g b) else …) bs
//! scatter dest (flatten lists)
//! ```
//!
//! If the count is a constant or known outside, all lists have one length, so that they are a matrix. A place that stays
//! empty holds the index -1, which is written nowhere.

use super::index::At;
use super::value::Val;
use super::{Lower, R};
use crate::thir::ACCUMULATOR;
use par_ir::core::{Exp, Param, Stm};
use par_ir::hash::HashMap;
use par_ir::prim::{BinOp, CmpOp};
use par_ir::{Atom, Dim, Prim, Scalar, Var};

impl<'p> Lower<'p> {
    /// All indices and values that `f`, called for every element of an array, writes to an accumulator for `dest`.
    pub fn writes(&mut self, dest: &Val<'p>, f: &Val<'p>, bs: &Val<'p>) -> R<(Val<'p>, Val<'p>)> {
        let width = self.size_of(bs)?;
        let lists = self.map_over(width, std::slice::from_ref(bs), &mut |lo, rows| {
            let before = lo.context.counting.replace(lo.context.inside);
            let counted = lo.filled_by(f, Atom::i64(0), dest, &rows);
            lo.context.counting = before;
            let counted = counted?;
            let Val::Scalar(count, _) = lo.field(&counted, ACCUMULATOR[0])? else {
                return Err(lo.internal("a count is a scalar"));
            };
            match count.as_i64() {
                Some(0) => lo.list(&counted),
                _ => {
                    lo.facts.sizes.extend(count.var());
                    let filled = lo.filled_by(f, count, dest, &rows)?;
                    lo.list(&filled)
                }
            }
        })?;
        let all = self.flatten(&lists)?;
        match self.unzip(&all)? {
            Val::Tuple(parts) => match <[Val; 2]>::try_from(parts) {
                Ok([is, vs]) => Ok((is, vs)),
                Err(_) => Err(self.internal("writes are pairs")),
            },
            _ => Err(self.internal("writes are pairs")),
        }
    }

    /// The result of `f` for an accumulator with room for some writes, and for an element.
    fn filled_by(&mut self, f: &Val<'p>, room: Atom, dest: &Val<'p>, row: &[Val<'p>]) -> R<Val<'p>> {
        let none = self.replicate(room, &Val::i64(Atom::i64(-1)))?;
        let blank = self.blank(&self.elem_of(dest)?.clone())?;
        let values = self.replicate(room, &blank)?;
        let parts = [Val::i64(Atom::i64(0)), dest.clone(), none, values];
        let acc = Val::Record(ACCUMULATOR.iter().map(|f| f.to_string()).zip(parts).collect());
        let args = std::iter::once(acc).chain(row.iter().cloned()).collect();
        self.apply(f, args, None)
    }

    /// `write acc i v`.
    pub fn write(&mut self, acc: &Val<'p>, i: Atom, v: &Val<'p>) -> R<Val<'p>> {
        let Val::Scalar(count, _) = self.field(acc, ACCUMULATOR[0])? else {
            return Err(self.internal("a count is a scalar"));
        };
        let list = self.list(acc)?;
        let room = self.size_of(&list)?;
        let written = Val::Tuple(vec![Val::i64(i), v.clone()]);
        let at = [At::Index(count, self.place.span)];
        // A function is compiled once, for lists with room and without.
        let is_room = match room.as_i64() {
            Some(0) => Atom::bool(false),
            _ if self.context.inside > 0 => self.cmp(CmpOp::Lt, count, room),
            _ => Atom::bool(true),
        };
        let mut with = |lo: &mut Self| lo.update(&list, &at, written.clone());
        let list = self.if_val(is_room, &mut with, &mut |_| Ok(list.clone()))?;
        let Val::Tuple(columns) = self.unzip(&list)? else {
            return Err(self.internal("writes are pairs"));
        };
        let mut parts = vec![Val::i64(self.add(count, Atom::i64(1))), self.field(acc, ACCUMULATOR[1])?];
        parts.extend(columns);
        Ok(Val::Record(ACCUMULATOR.iter().map(|f| f.to_string()).zip(parts).collect()))
    }

    /// The writes as an array of pairs.
    fn list(&mut self, acc: &Val<'p>) -> R<Val<'p>> {
        let columns = vec![self.field(acc, ACCUMULATOR[2])?, self.field(acc, ACCUMULATOR[3])?];
        self.zip("an accumulator", columns)
    }

    /// Some value with the sizes of an element.
    fn blank(&mut self, elem: &Val<'p>) -> R<Val<'p>> {
        Ok(match elem {
            Val::Scalar(_, p) | Val::Leaf(_, p) => Val::Scalar(Atom::Const(Scalar::zero(*p)), *p),
            Val::Tuple(vs) => Val::Tuple(vs.iter().map(|v| self.blank(v)).collect::<R<_>>()?),
            Val::Record(fs) => {
                Val::Record(fs.iter().map(|(n, v)| Ok((n.clone(), self.blank(v)?))).collect::<R<_>>()?)
            }
            Val::Array(d, e) => {
                let size = if let Dim::Size(a) = d { *a } else { Atom::i64(0) };
                let blank = self.blank(e)?;
                self.replicate(size, &blank)?
            }
            Val::Fun(_) => return Err(self.function_value("an element of an array")),
        })
    }

    /// The counts of a loop that makes equally many writes in every iteration follow from the index, and are no state of the loop
    /// then: no write depends on the number of those before it. Gives the statements that compute them at the beginning of the body,
    /// and the counts after the loop.
    pub fn counts_by_index(
        &mut self,
        state: &Val<'p>,
        (params, init, results): (&mut Vec<Param>, &mut Vec<Atom>, &mut Vec<Atom>),
        (index, prim, bound): (Var, Prim, Atom),
    ) -> R<(Vec<Stm>, HashMap<Var, Atom>)> {
        let (mut stms, mut last) = (Vec::new(), HashMap::default());
        for count in counts(state) {
            let Some(i) = params.iter().position(|p| Atom::Var(p.var) == count) else { continue };
            let (base, step) = self.as_shift(results[i]);
            if base != count {
                continue;
            }
            let (p, start) = (params.remove(i), init.remove(i));
            results.remove(i);
            let (block, now) = self.in_block(|lo| {
                let before = lo.conv(prim, Prim::I64, index.into());
                Ok(lo.grown(start, before, step))
            })?;
            stms.extend(block.stms);
            let (var, exp) = (p.var, Exp::Atom(now));
            stms.push(Stm { pat: vec![p], exp, span: self.place.span });
            let mut often = self.conv(prim, Prim::I64, bound);
            if !often.var().is_some_and(|v| self.facts.sizes.contains(&v)) {
                often = self.bin(BinOp::Max, Prim::I64, often, Atom::i64(0));
            }
            last.insert(var, self.grown(start, often, step));
        }
        Ok((stms, last))
    }

    fn grown(&mut self, start: Atom, often: Atom, step: i64) -> Atom {
        let more = if step == 1 { often } else { self.mul(often, Atom::i64(step)) };
        if start.as_i64() == Some(0) { more } else { self.add(start, more) }
    }
}

/// The counts of the accumulators in a value.
fn counts(val: &Val) -> Vec<Atom> {
    let mut out = Vec::new();
    val.visit(&mut |v| {
        if let Val::Record(fs) = v
            && let Some((_, Val::Scalar(count, _))) = fs.iter().find(|(f, _)| f == ACCUMULATOR[0])
        {
            out.push(*count);
        }
    });
    out
}
