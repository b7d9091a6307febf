//! Loops: from the last iteration to the first, with the state that the tape holds.

use super::backward::{Backward, Found};
use super::inner::Tapes;
use super::tape::Tape;
use super::{List, Lower, R, Reverse, Scope};
use par_ir::core::{Body, Exp, LoopForm, Param};
use par_ir::visit::Code;
use par_ir::{Atom, Dim, Prim, Type, Var};
use std::collections::BTreeMap;

/// The adjoint of a variable of the state.
struct Carried {
    /// Number of the variable.
    number: usize,
    /// Its size, if that changes: then the adjoint is carried in one dimension.
    size: Option<Param>,
    adjoint: Param,
    init: Vec<Atom>,
}

impl Carried {
    fn new(
        lo: &mut Lower,
        params: &[(Param, Atom)],
        (number, sized, init): (usize, bool, Vec<Atom>),
    ) -> Carried {
        let ty = params[number].0.ty.clone();
        let size = sized.then(|| lo.size_param("k"));
        let ty = match &size {
            Some(k) => Type::array(vec![Dim::Size(k.var.into())], ty.prim()),
            None => ty,
        };
        Carried { number, size, adjoint: lo.param("d", ty), init }
    }
}

/// Adjoints of the state at the beginning of an iteration, for the iteration before it.
fn carried_on(lo: &mut Lower, carried: &[Carried], values: &[Var], scope: &mut Scope) -> R<Vec<Vec<Atom>>> {
    let mut outs = Vec::new();
    for c in carried {
        let v = values[c.number];
        let ty = lo.type_of(v).clone();
        let d = match scope.adjoints.remove(&v) {
            Some(d) => d,
            None => lo.zeros(&ty)?,
        };
        outs.push(match c.size {
            Some(_) => {
                let (size, flat) = lo.flat(lo.leaf_var(d)?)?;
                vec![size, flat.into()]
            }
            None => vec![lo.as_type(d, &c.adjoint.ty)],
        });
    }
    for v in values {
        scope.adjoints.remove(v);
    }
    Ok(outs)
}

impl Reverse {
    pub(super) fn back_loop<'p>(
        &mut self,
        lo: &mut Lower<'p>,
        (pat, adjoints): (&[Param], &[Option<Atom>]),
        params: &[(Param, Atom)],
        (form, body): (&LoopForm, &Body),
        (tape, calls): (&Tape, Option<Tapes>),
    ) -> R<()> {
        let state: Vec<Var> = params.iter().map(|(p, _)| p.var).collect();
        let shared: Vec<Var> = self.shared(lo, body).into_iter().filter(|v| !state.contains(v)).collect();
        let mut before = BTreeMap::new();
        for v in &shared {
            before.insert(*v, self.or_zeros(lo, *v)?);
        }
        let firsts = self.first_adjoints(lo, (pat, adjoints), params)?;
        let mut back = Backward::default();
        let mut arrays = Vec::new();
        let (block, (carried, scope, outs, own)) = lo.in_block(|lo| {
            let index = lo.fresh("i", Type::I64);
            back.index = Some(index);
            let mut own = BTreeMap::new();
            for v in &shared {
                let ty = lo.type_of(*v).clone();
                own.insert(*v, lo.param("d", ty));
            }
            let carried: Vec<Carried> =
                firsts.into_iter().map(|first| Carried::new(lo, params, first)).collect();
            let last = lo.sub(tape.count, Atom::i64(1));
            let i = lo.sub(last, index.into());
            let along: Vec<Param> =
                tape.carried().iter().map(|k| lo.param("x", params[*k].0.ty.clone())).collect();
            let (values, mut subst) = tape.state(lo, params, i, &along)?;
            for (k, p) in tape.carried().into_iter().zip(along) {
                arrays.push((p, pat[k].var.into(), values[k].into()));
            }
            if let LoopForm::For { index, prim, .. } = form {
                subst.insert(*index, lo.conv(Prim::I64, *prim, i));
            }
            self.note_state(params, &values);
            let inner = values.iter().chain(&shared).copied();
            let (mut scope, ()) = self.inside(lo.depth(), inner, |rev| {
                rev.scope().adjoints = own.iter().map(|(v, p)| (*v, p.var.into())).collect();
                if let Some(Tapes::Ends { ends, of }) = calls {
                    rev.tape = Some(lo.frame_of_iteration(ends, of, i));
                }
                let body = rev.copy(lo, body, &mut subst);
                let steps = rev.forward(lo, body.stms)?;
                rev.contribute_carried(lo, &carried, &body.results)?;
                rev.back(lo, steps)
            })?;
            let outs = carried_on(lo, &carried, &values, &mut scope)?;
            Ok((carried, scope, outs, own))
        })?;
        back.block = block;
        for (p, after, before) in arrays {
            back.add(lo, p, after, before);
        }
        self.close_loop(lo, back, (carried, outs), (own, before), scope, (params, tape.count))
    }

    /// The state of an iteration has tangents, or is made of bits, where that of the loop is.
    fn note_state(&mut self, params: &[(Param, Atom)], values: &[Var]) {
        for ((p, _), v) in params.iter().zip(values) {
            if self.active.contains(&p.var) {
                self.active.insert(*v);
            }
            if self.bits.contains(&p.var) {
                self.bits.insert(*v);
            }
        }
    }

    /// The results of an iteration get the adjoints that are carried to it.
    fn contribute_carried(&mut self, lo: &mut Lower, carried: &[Carried], results: &[Atom]) -> R<()> {
        for c in carried {
            let result = results[c.number];
            let Some(v) = result.var().filter(|v| self.active.contains(v)) else { continue };
            let ty = lo.type_of(v).clone();
            let d = match c.size {
                Some(_) => lo.unflat(c.adjoint.var, &ty)?,
                None => c.adjoint.var,
            };
            self.contribute(lo, result, d.into())?;
        }
        Ok(())
    }

    /// The adjoints that the state has in the end: number of the variable, true if its size changes, first values.
    #[allow(clippy::type_complexity, reason = "a list of triples")]
    fn first_adjoints(
        &mut self,
        lo: &mut Lower,
        (pat, adjoints): (&[Param], &[Option<Atom>]),
        params: &[(Param, Atom)],
    ) -> R<Vec<(usize, bool, Vec<Atom>)>> {
        let state: Vec<Var> = params.iter().map(|(p, _)| p.var).collect();
        let mut out = Vec::new();
        for (i, (p, _)) in params.iter().enumerate() {
            if !self.active.contains(&p.var) {
                continue;
            }
            let d = match adjoints[i] {
                Some(d) => d,
                None => lo.zeros(&pat[i].ty)?,
            };
            let sized = state.iter().any(|v| p.ty.mentions(*v));
            let init = if sized {
                let (size, flat) = lo.flat(lo.leaf_var(d)?)?;
                vec![size, flat.into()]
            } else {
                vec![lo.as_type(d, &p.ty)]
            };
            out.push((i, sized, init));
        }
        Ok(out)
    }

    #[allow(clippy::type_complexity, reason = "parts of one loop")]
    fn close_loop<'p>(
        &mut self,
        lo: &mut Lower<'p>,
        mut back: Backward<'p>,
        (carried, outs): (Vec<Carried>, Vec<Vec<Atom>>),
        (own, before): (BTreeMap<Var, Param>, BTreeMap<Var, Atom>),
        mut scope: Scope,
        (params, count): (&[(Param, Atom)], Atom),
    ) -> R<()> {
        let mut shared = Vec::new();
        for (v, p) in own {
            let ty = p.ty.clone();
            let result = scope.adjoints.remove(&v).unwrap_or(p.var.into());
            let result = back.with(lo, |lo| Ok(lo.as_type(result, &ty)))?;
            shared.push((v, back.add(lo, p, before[&v], result)));
        }
        let mut states = Vec::new();
        for (c, out) in carried.into_iter().zip(outs) {
            let last = match c.size {
                Some(size) => back.add_sized(lo, (size, vec![c.adjoint]), c.init, out).1[0],
                None => back.add(lo, c.adjoint, c.init[0], out[0]),
            };
            states.push((c.number, last));
        }
        let further = self.further_out(lo, &mut back, scope, count)?;
        let Backward { block, params: all, results, pat, index } = back;
        let Some(index) = index else { return Err(lo.internal("a loop without an index")) };
        let form = LoopForm::For { index, prim: Prim::I64, bound: count };
        lo.push(pat, Exp::Loop { params: all, form, body: Body { stms: block.stms, results } });
        for (v, d) in shared {
            self.scope().adjoints.insert(v, d.into());
        }
        for (number, d) in states {
            let init = params[number].1;
            let Some(v) = init.var().filter(|v| self.active.contains(v)) else { continue };
            let ty = lo.type_of(v).clone();
            let d = if lo.type_of(d).rank() == ty.rank() { d } else { lo.unflat(d, &ty)? };
            self.contribute(lo, init, d.into())?;
        }
        for (v, found) in further {
            match found {
                Found::Whole(d) => self.contribute(lo, v.into(), d.into())?,
                Found::List(list) => self.contribute_list(lo, v, list)?,
                Found::Rows(rows) => {
                    let ((count, places), (_, values)) = (lo.flat(rows.places)?, lo.flat(rows.values)?);
                    self.contribute_list(lo, v, List { count, places, values })?;
                }
            }
        }
        Ok(())
    }
}
