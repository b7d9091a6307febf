//! Host loops whose iterations are waves over an array.

use super::is_fixed;
use super::place::where_inside;
use crate::flat::in_place_scatters::{POSITION, flat_map, takes_over};
use crate::flat::strided_checks::calls;
use par_ir::access::{Access, Facts, Form, Symbol};
use par_ir::core::{self, Exp};
use par_ir::effects::Effects;
use par_ir::flat::{Kernel, LoopForm, Op, Out, Stm, Ty};
use par_ir::tuning;
use par_ir::ty::{Atom, Var};
use par_runtime::Prim;

/// A loop of waves: host scalars, a map that computes the elements of a wave, and a scatter of them.
pub struct Wave<'s> {
    /// The number of the wave, and how many there are.
    pub index: Var,
    pub bound: Atom,
    /// The array, as it is before the loop and in it.
    pub initial: Var,
    pub state: Var,
    pub prim: Prim,
    /// The host's scalars and checks of a wave.
    pub host: Vec<&'s Stm>,
    pub map: &'s Kernel,
    pub scatter: &'s Kernel,
    /// The elements between both.
    pub made: Var,
    /// The index of an element: see [`where_inside`].
    pub place: Atom,
    /// Positions of the wave.
    pub count: Atom,
    /// The row of the first; 0 if there is none.
    pub first: Option<Var>,
    /// Growth of the index from row to row. From wave to wave it is 1.
    pub stride: Form,
    /// Rows and waves from what is read back to what is written: no rows and some waves, or some rows.
    pub reads: Vec<(i64, i64)>,
    /// Facts in the loop.
    pub facts: Facts,
}

impl<'s> Wave<'s> {
    /// Of a host loop, if that is one.
    pub fn of(stm: &'s Stm, facts: &Facts) -> Option<Wave<'s>> {
        let Op::Loop { params, form: LoopForm::For { index, prim: Prim::I64, bound }, body } = &stm.op else {
            return None;
        };
        let [(state, Atom::Var(initial))] = params[..] else { return None };
        let Ty::Array(prim) = state.ty else { return None };
        let (scatter_stm, before) = body.stms.split_last()?;
        let (map_stm, host) = before.split_last()?;
        let ((map, Out::Elem(_)), (scatter, Out::Scatter(dests))) =
            (flat_map(map_stm)?, flat_map(scatter_stm)?)
        else {
            return None;
        };
        let made = map_stm.pat[0].var;
        let fits = dests[..] == [state.var]
            && body.results[..] == [scatter_stm.pat[0].var.into()]
            && map.space == scatter.space
            && takes_over(scatter, made, state.var)
            && host.iter().all(|s| is_scalar(s, state.var))
            && is_plain(map)
            && is_plain(scatter)
            && !scatter.has_effect();
        if !fits {
            return None;
        }
        let mut facts = facts.clone();
        for s in host {
            facts.note(s);
            facts.note_sum(s);
        }
        let (count, host) = (map.space.as_flat()?, host.iter().collect());
        let mut wave = Wave {
            index: *index,
            bound: *bound,
            initial,
            state: state.var,
            prim,
            host,
            map,
            scatter,
            made,
            place: scatter.body.results[0],
            count,
            first: None,
            stride: Form::default(),
            reads: vec![],
            facts: Facts::default(),
        };
        wave.indices(&facts)?;
        wave.facts = facts;
        Some(wave)
    }

    /// Finds out what indices are.
    fn indices(&mut self, facts: &Facts) -> Option<()> {
        let mut inside: Vec<Var> = self.host.iter().flat_map(|s| s.pat.iter().map(|p| p.var)).collect();
        inside.push(self.index);
        let access = Access::of(self.scatter, facts);
        self.place = where_inside(&self.scatter.body, self.place, &access).unwrap_or(self.place);
        let written = facts.expanded(&access.form(self.place)?)?;
        let (stride, start) = written.split(POSITION)?;
        let is_first = |s: &Symbol| {
            matches!(s, Symbol::Var(v) if *v != self.index && inside.contains(v))
                && start.split(*s).is_some_and(|(growth, _)| growth == stride)
        };
        let first = start.symbols().into_iter().find(is_first);
        let rest = match first {
            Some(s) => start.split(s)?.1,
            None => start.clone(),
        };
        let (growth, rest) = rest.split(Symbol::Var(self.index))?;
        let from_wave_to_wave = growth.as_constant() == Some(1);
        if !from_wave_to_wave || !is_fixed(&stride, &inside) || !is_fixed(&rest, &inside) {
            return None;
        }
        for read in Access::of(self.map, facts).reads().filter(|r| r.array == self.state) {
            let away = written.minus(&facts.expanded(&read.index)?);
            let distance = distance(&stride, &away)?;
            self.reads.push(distance);
        }
        self.first = first.and_then(|s| if let Symbol::Var(v) = s { Some(v) } else { None });
        self.stride = stride;
        Some(())
    }
}

/// Rows and waves between two indices.
fn distance(stride: &Form, away: &Form) -> Option<(i64, i64)> {
    (0..=tuning::WAVE_ROWS).find_map(|rows| {
        let waves = away.minus(&stride.scaled(rows)).as_constant()?;
        (1..=tuning::WAVE_DISTANCE).contains(&waves).then_some((rows, waves))
    })
}

/// True for what the host computes of scalars and of the array's length.
fn is_scalar(stm: &Stm, state: Var) -> bool {
    match &stm.op {
        Op::Prim(op, _) => !op.divides(),
        Op::Check { .. } => true,
        Op::Length(array) => *array == state,
        _ => false,
    }
}

/// True for a body of scalar code whose only effects are checks, none of them in loops, with scalar code before it.
fn is_plain(k: &Kernel) -> bool {
    let body = k.body.stms.iter().all(|s| only_checks(s) || is_choice(k, s).is_some());
    let before = k.prologue.iter().all(|s| matches!(&s.exp, Exp::Prim(op, _) if !op.divides()));
    body && before && !calls(&k.body)
}

/// True if a statement has no effect, or is a check or a branch of such statements.
fn only_checks(stm: &core::Stm) -> bool {
    match &stm.exp {
        Exp::Check { .. } => true,
        Exp::If { then, other, .. } if stm.has_effect() => {
            let arms = [then, other].into_iter().all(|arm| arm.stms.iter().all(only_checks));
            arms && stm.pat.iter().all(|p| p.ty.is_scalar())
        }
        _ => !stm.has_effect(),
    }
}

/// The condition of a branch whose first arm fails nowhere inside of branches, if that is known before all positions.
pub fn is_choice(k: &Kernel, stm: &core::Stm) -> Option<Atom> {
    let Exp::If { cond: Atom::Var(cond), then, .. } = &stm.exp else { return None };
    let known = k.prologue.iter().any(|s| s.pat[0].var == *cond);
    let plain = then.stms.iter().all(|s| matches!(s.exp, Exp::Check { .. }) || !s.has_effect());
    (known && plain).then_some(Atom::Var(*cond))
}
