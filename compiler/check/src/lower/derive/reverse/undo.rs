//! Arrays of which an iteration overwrites some elements: what these were is kept, and put back.
//!
//! ```text
//! loop ys for i < n { … let zs = ys with [j] = y  in zs }                  kept: j and ys[j] of every iteration
//! loop ys for i < n { … if c { let zs = ys with [j] = y in zs } else { ys } }    where c is false: -1 and zero
//! ```

use super::{Lower, R};
use par_ir::core::{At, Body, Exp, Param, Stm};
use par_ir::prim::CmpOp;
use par_ir::{Atom, Dim, Type, Var};

/// A statement in the body of a loop that overwrites elements or rows of an array: an update, or a branch with updates in its arms.
pub(super) struct Overwrite {
    /// The new array.
    pub made: Var,
    /// Number of updates, at most; those of a branch may be fewer.
    pub count: usize,
    pub sometimes: bool,
    /// Number of indices of each.
    pub indices: usize,
    /// Of what is overwritten.
    pub ty: Type,
}

/// Overwritten elements of all iterations: the indices and what stood there.
pub(super) struct Overwritten {
    pub at: Vec<Var>,
    pub old: Var,
    pub ty: Type,
    /// The first index is -1 where nothing was overwritten.
    pub sometimes: bool,
}

/// The statements that make the result of an array from what it was, if nothing but updates of single elements or rows does.
pub(super) fn overwrites(body: &Body, array: Var, result: Atom, ty: &Type) -> Option<Vec<Overwrite>> {
    if ty.is_desc() || !ty.is_regular() {
        return None;
    }
    let (first, chain) = chain(body, result)?;
    (first == array.into()).then_some(())?;
    let links = chain.into_iter().map(|(made, link)| {
        let ty = Type { dims: ty.dims.get(link.indices..)?.to_vec(), elem: ty.elem };
        Some(Overwrite { made, count: link.count, sometimes: link.sometimes, indices: link.indices, ty })
    });
    links.collect()
}

/// Updates in a statement.
struct Link {
    count: usize,
    sometimes: bool,
    indices: usize,
}

/// The array that a chain of updates begins with, and the arrays that they make, the first update first.
fn chain(body: &Body, result: Atom) -> Option<(Atom, Vec<(Var, Link)>)> {
    let (mut links, mut now) = (Vec::new(), result);
    for stm in body.stms.iter().rev() {
        let Some(k) = stm.pat.iter().position(|p| now == p.var.into()) else { continue };
        let (before, link) = match &stm.exp {
            Exp::Update { arr, at, .. } => {
                (Atom::Var(*arr), Link { count: 1, sometimes: false, indices: At::only_indices(at)?.len() })
            }
            Exp::If { then, other, .. } => branch([then, other], k)?,
            _ => return None,
        };
        links.push((stm.pat[k].var, link));
        now = before;
    }
    links.reverse();
    Some((now, links))
}

/// The updates in the arms of a branch, of one array and of parts of one rank.
fn branch(arms: [&Body; 2], k: usize) -> Option<(Atom, Link)> {
    let (first, then) = chain(arms[0], arms[0].results[k])?;
    let (second, other) = chain(arms[1], arms[1].results[k])?;
    let indices = then.iter().chain(&other).map(|(_, l)| l.indices).max()?;
    let alike = then.iter().chain(&other).all(|(_, l)| l.indices == indices);
    let count = |links: &[(Var, Link)]| links.iter().map(|(_, l)| l.count).sum::<usize>();
    let count = count(&then).max(count(&other));
    (first == second && alike && indices > 0).then_some((first, Link { count, sometimes: true, indices }))
}

/// Columns for one update: one for each index, and that of what it overwrites.
type Columns = Vec<Var>;

impl Lower<'_> {
    /// Keeps what a statement is about to overwrite in the array that becomes `made`, in row `i` of these columns: the new columns. Those of a branch are
    /// written in its arms.
    pub(super) fn keep_overwritten(
        &mut self,
        stm: &mut Stm,
        made: Var,
        i: Atom,
        columns: &[Columns],
    ) -> R<Vec<Columns>> {
        match &mut stm.exp {
            Exp::Update { arr, at, .. } => {
                let (Some(mut values), [columns]) = (At::only_indices(at), columns) else {
                    return Err(self.internal("an update without slices was expected"));
                };
                let old = &self.type_of(columns[values.len()]);
                let ty = Type { dims: old.dims[1..].to_vec(), elem: old.elem };
                values.push(self.emit("old", ty, Exp::Index(*arr, values.clone())).into());
                let new = columns.iter().zip(values).map(|(column, value)| {
                    let ty = self.type_of(*column).clone();
                    self.emit("tape", ty, Exp::Update { arr: *column, at: vec![At::Index(i)], value })
                });
                Ok(vec![new.collect()])
            }
            Exp::If { then, other, .. } => {
                let Some(k) = stm.pat.iter().position(|p| p.var == made) else {
                    return Err(self.internal("a branch that makes the array was expected"));
                };
                for arm in [then, other] {
                    let new = self.keep_in_arm(arm, k, i, columns)?;
                    arm.results.extend(new.into_iter().flatten().map(Atom::Var));
                }
                let mut new = |v: &Var| {
                    let ty = self.type_of(*v).clone();
                    stm.pat.push(self.param("tape", ty));
                    stm.pat[stm.pat.len() - 1].var
                };
                Ok(columns.iter().map(|c| c.iter().map(&mut new).collect()).collect())
            }
            _ => Err(self.internal("an update was expected")),
        }
    }

    /// The same for result `k` of an arm.
    fn keep_in_arm(&mut self, arm: &mut Body, k: usize, i: Atom, columns: &[Columns]) -> R<Vec<Columns>> {
        let Some((_, links)) = chain(arm, arm.results[k]) else {
            return Err(self.internal("updates were expected"));
        };
        let (stms, mut all) = (std::mem::take(&mut arm.stms), columns.to_vec());
        let (block, ()) = self.in_block(|lo| {
            let mut next = 0;
            for mut stm in stms {
                if let Some((made, link)) = links.iter().find(|(v, _)| stm.pat.iter().any(|p| p.var == *v)) {
                    let part = next..next + link.count;
                    let new = lo.keep_overwritten(&mut stm, *made, i, &all[part.clone()])?;
                    all.splice(part.clone(), new);
                    next = part.end;
                }
                lo.push_stm(stm);
            }
            Ok(())
        })?;
        arm.stms = block.stms;
        Ok(all)
    }

    /// Room for values of a type.
    pub(super) fn zero_rows(&mut self, count: Atom, ty: &Type) -> R<(Type, Atom)> {
        let zeros = self.zeros(ty)?;
        let mut all = ty.clone();
        all.dims.insert(0, Dim::Size(count));
        Ok((all.clone(), self.emit("tape", all, Exp::Replicate(count, zeros)).into()))
    }

    /// An array as it was before the updates of iteration `i`.
    pub(super) fn restored(&mut self, array: &Param, updates: &[Overwritten], i: Atom) -> R<Var> {
        let mut now = self.emit("x", array.ty.clone(), Exp::Atom(array.var.into()));
        for u in updates.iter().rev() {
            let indices = u.at.iter().map(|at| self.emit("at", Type::I64, Exp::Index(*at, vec![i])).into());
            let at: Vec<Atom> = indices.collect();
            let put_back = |lo: &mut Self| {
                let value = lo.emit("old", u.ty.clone(), Exp::Index(u.old, vec![i])).into();
                lo.emit("x", array.ty.clone(), Exp::Update { arr: now, at: At::indices(&at), value })
            };
            now = if u.sometimes {
                let cond = self.cmp(CmpOp::Ge, at[0], Atom::i64(0));
                let (block, new) = self.in_block(|lo| Ok(put_back(lo)))?;
                let [then, other] = [(block.stms, new), (Vec::new(), now)]
                    .map(|(stms, v)| Body { stms, results: vec![v.into()] });
                self.emit("x", array.ty.clone(), Exp::If { cond, then, other })
            } else {
                put_back(self)
            };
        }
        Ok(now)
    }
}
