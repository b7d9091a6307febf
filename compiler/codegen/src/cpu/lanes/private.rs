//! Arrays that a kernel updates in place, of which every position has some neighbouring elements for itself: groups hold them transposed.
//!
//! ```text
//! ys = kernel map (own xs as ys) over [k] \row pos          while pos + 16 <= k
//!     start = pos * n                                           for c < n
//!     loop (ys) for i < n                                           local[c] = ys[(pos + l) * n + c] of lanes l
//!         x = loop (x = ys[start + i]) for p < i      ==>       for i < n
//!             x - ls[i * n + p] * ys[start + p]                     x = local[i]
//!         in ys with [start + i] = x                                for p < i { x -= splat ls[i * n + p] * local[p] }
//!                                                                   local[i] = x
//!                                                               for c < n
//!                                                                   ys[(pos + l) * n + c] = local[c] of lanes l
//! ```
//!
//! The condition: all indices of the array are a multiple of the position plus something else, the *place* in the position's part. The multiple is a constant or,
//! if written elements are read as well, a host scalar: then parts have to fit into the nearest caches, or there are no such groups. Code tests places that are not
//! proved to be inside of the part. Nothing is stored before the end, so a group can be left.
//!
//! Arrays that are only read are held transposed, too, if a loop reads the same elements of a part in each of its iterations.
//!
//! Other arrays, with any number of elements for a position, stay in memory if they are only written: every lane stores its own element. A group
//! that is left there has stored what single positions store once more. If neighbouring positions have neighbouring elements, these may be read, too, by
//! groups that are never left then ([`stays`]). What else is read, too, is read from the nearest cache as long as one
//! position after the other works on its own: systems with three diagonals and 1024 elements took 3 times as long in lanes.

use super::stays;
use crate::cpu::fresh::Fresh;
use crate::free::for_each_use;
use par_ir::access::{Access, Emit, Facts, Form, Symbol};
use par_ir::core::{At, Body, Exp, LoopForm, Param, Repeat, Stm};
use par_ir::flat::{Kernel, KernelKind, Out};
use par_ir::hash::{HashMap, HashSet};
use par_ir::prim::{CmpOp, PrimOp};
use par_ir::ty::{Atom, Type};
use par_ir::{CheckKind, Prim, Span, Var, tuning};
use std::collections::BTreeSet;

/// An array with parts for positions.
#[derive(Clone)]
pub struct Private {
    /// The variable that stands for all versions of it.
    pub array: Var,
    pub prim: Prim,
    /// True if it is not updated.
    pub is_read_only: bool,
    /// Elements of a part that is held transposed; none if the array stays in memory, where it is only written.
    pub part: Option<Atom>,
}

/// A kernel's body in groups, and the arrays that it updates.
#[derive(Clone)]
pub struct Parts {
    /// The arrays that it updates are places in it and no values; indices of those that are held transposed count from the beginning of a part.
    pub body: Body,
    /// Computes the sizes of parts.
    pub sizes: Vec<Stm>,
    /// An array that stays in memory is read, too: a group must not be left once it has stored an element.
    pub stays: bool,
    pub arrays: Vec<Private>,
}

impl Parts {
    /// Arrays that are held transposed, with the sizes of their parts.
    pub fn transposed(&self) -> impl Iterator<Item = (&Private, Atom)> {
        self.arrays.iter().filter_map(|p| Some((p, p.part?)))
    }
}

/// The parts of a kernel's arrays; none if positions have no parts of all that it updates, or of any of the `captures`
/// that they read more than once.
pub fn split(kernel: &Kernel, captures: &[Var], fresh: &Fresh) -> Option<Parts> {
    let KernelKind::Map(outs) = &kernel.kind else { return None };
    let states = outs.iter().filter_map(|o| if let Out::Own { state, .. } = o { Some(state) } else { None });
    let states: Vec<&Param> = states.collect();
    let of = states.iter().map(|p| (p.var, p.var)).collect();
    let mut places = Places { of, uses: vec![], read: HashSet::default() };
    let mut body = places.body(&kernel.body)?;
    let none = Facts::default();
    let access = Access::along(kernel.pos, &kernel.body, &none);
    let mut rewriter = Rewriter { access: &access, fresh, parts: HashMap::default() };
    let (mut sizes, mut arrays, mut stays) = (vec![], vec![], false);
    for state in states {
        let indices = places.uses.iter().filter(|(array, _)| *array == state.var).map(|(_, i)| *i);
        let is_read = places.read.contains(&state.var);
        let pays = |form: &Form| is_read || form.as_constant().is_some();
        let form = part_of_all(&access, indices);
        let is_row = form.as_ref().and_then(Form::as_constant) == Some(1);
        let form = form.filter(|form| pays(form) && fits(form, state.ty.prim()));
        let part = form.and_then(|form| Some((rewriter.emit(&form, Span::default(), &mut sizes)?, form)));
        stays |= part.is_none() && is_read;
        if stays && !(is_row && stays::stays(&body, kernel.pos, places.of.values().copied(), &access)) {
            return None;
        }
        let (prim, part_size) = (state.ty.prim(), part.as_ref().map(|p| p.0));
        arrays.push(Private { array: state.var, prim, is_read_only: false, part: part_size });
        rewriter.parts.extend(part.map(|p| (state.var, p)));
    }
    let mut reads = Reads::default();
    if kernel.space.as_flat().is_some() {
        reads.body(&body, &access, &mut vec![]);
    }
    for (array, prim) in reads.again().into_iter().filter(|(array, _)| captures.contains(array)) {
        let indices = reads.of.iter().filter(|r| r.array == array).map(|r| r.index);
        let form = part_of_all(&access, indices).filter(|f| f.as_constant().is_none() && fits(f, prim));
        let Some(form) = form else { continue };
        let part = rewriter.emit(&form, Span::default(), &mut sizes)?;
        arrays.push(Private { array, prim, is_read_only: true, part: Some(part) });
        rewriter.parts.insert(array, (part, form));
    }
    rewriter.body(&mut body)?;
    remove_unused(&mut body, &mut HashSet::default());
    (!arrays.is_empty()).then_some(Parts { body, sizes, stays, arrays })
}

/// The elements that a body reads of arrays that it does not update.
#[derive(Default)]
struct Reads {
    of: Vec<OneRead>,
}

struct OneRead {
    array: Var,
    prim: Prim,
    index: Atom,
    /// A loop around it reads the same elements in all of its iterations.
    again: bool,
}

impl Reads {
    /// Notes those of a body, in loops with these counters; `None` stands for one that does not count.
    fn body(&mut self, body: &Body, access: &Access, counters: &mut Vec<Option<Var>>) {
        for stm in &body.stms {
            if let Exp::Index(array, at) = &stm.exp {
                let needs = access.form(at[0]).map(|f| access.needs(&f)).unwrap_or_default();
                let depends = |c: &Option<Var>| c.is_some_and(|c| needs.contains(&Symbol::Var(c)));
                let outer = counters.iter().position(|c| c.is_some() && !depends(c));
                let again = outer.is_some_and(|k| counters[k + 1..].iter().any(depends));
                self.of.push(OneRead { array: *array, prim: stm.pat[0].ty.prim(), index: at[0], again });
            }
            if let Exp::Loop { form, .. } = &stm.exp {
                counters.push(if let LoopForm::For { index, .. } = form { Some(*index) } else { None });
            }
            stm.exp.own_bodies().into_iter().for_each(|b| self.body(b, access, counters));
            if let Exp::Loop { .. } = &stm.exp {
                counters.pop();
            }
        }
    }

    /// The arrays of which elements are read again.
    fn again(&self) -> BTreeSet<(Var, Prim)> {
        self.of.iter().filter(|r| r.again).map(|r| (r.array, r.prim)).collect()
    }
}

/// Removes scalar code that computes nothing that is needed.
fn remove_unused(body: &mut Body, needed: &mut HashSet<Var>) {
    needed.extend(body.results.iter().filter_map(|a| a.var()));
    let mut kept = Vec::new();
    for mut stm in std::mem::take(&mut body.stms).into_iter().rev() {
        let is_scalar = matches!(stm.exp, Exp::Prim(..) | Exp::Atom(_) | Exp::Index(..));
        if is_scalar && !stm.pat.iter().any(|p| needed.contains(&p.var)) {
            continue;
        }
        stm.exp.own_bodies_mut().into_iter().for_each(|b| remove_unused(b, needed));
        for_each_use(&stm, &mut |v| _ = needed.insert(v));
        kept.push(stm);
    }
    kept.reverse();
    body.stms = kept;
}

/// The size of parts that all these indices are in.
fn part_of_all(access: &Access, mut indices: impl Iterator<Item = Atom>) -> Option<Form> {
    let part = |i: Atom| Some(access.form(i)?.split(Symbol::Index(0))?.0);
    let first = part(indices.next()?)?;
    let same = indices.all(|i| part(i).as_ref() == Some(&first));
    (same && access.is_host(&first)).then_some(first)
}

/// True for parts that may be held transposed.
fn fits(part: &Form, prim: Prim) -> bool {
    let has_size = part.as_constant().is_none_or(|n| (2..=tuning::LANES_PART).contains(&n));
    has_size && matches!(prim.size(), 4 | 8)
}

/// Replaces indices of arrays by places in parts of them.
struct Rewriter<'a> {
    access: &'a Access<'a>,
    fresh: &'a Fresh,
    /// The size of the parts of each.
    parts: HashMap<Var, (Atom, Form)>,
}

impl Rewriter<'_> {
    /// A form of what is bound there.
    fn emit(&self, form: &Form, span: Span, stms: &mut Vec<Stm>) -> Option<Atom> {
        let name = |s: Symbol| if let Symbol::Var(v) = s { Some((s, Atom::Var(v))) } else { None };
        let names = form.symbols().into_iter().map(name).collect::<Option<_>>()?;
        let (vars, divisions) = (&mut *self.fresh.table(), &BTreeSet::new());
        let mut emit = Emit { vars, divisions, names, stms: std::mem::take(stms), span };
        let atom = self.access.emit(form, &mut emit);
        *stms = emit.stms;
        atom
    }

    fn body(&self, body: &mut Body) -> Option<()> {
        let mut stms = Vec::new();
        for mut stm in std::mem::take(&mut body.stms) {
            stm.exp.own_bodies_mut().into_iter().try_for_each(|b| self.body(b))?;
            let span = stm.span;
            match &mut stm.exp {
                Exp::Index(array, at) => self.place(*array, at.first_mut()?, span, &mut stms)?,
                Exp::Update { arr, at, .. } => {
                    let [At::Index(index)] = &mut at[..] else { return None };
                    self.place(*arr, index, span, &mut stms)?;
                }
                _ => {}
            }
            stms.push(stm);
        }
        body.stms = stms;
        Some(())
    }

    /// An index of an array as a place, with a check that it is one if that is not proved.
    fn place(&self, array: Var, index: &mut Atom, span: Span, stms: &mut Vec<Stm>) -> Option<()> {
        let Some((part, size)) = self.parts.get(&array) else { return Some(()) };
        let (_, form) = self.access.form(*index)?.split(Symbol::Index(0))?;
        *index = self.emit(&form, span, stms)?;
        if !self.is_inside(&form, size) {
            let [i, n] =
                [*index, *part].map(|a| self.bind(PrimOp::Conv(Prim::I64, Prim::U64), vec![a], span, stms));
            let cond = self.bind(PrimOp::Cmp(CmpOp::Lt, Prim::U64), vec![i, n], span, stms);
            let exp = Exp::Check { cond, kind: CheckKind::Bounds, args: vec![*index, *part] };
            stms.push(Stm { pat: vec![], exp, span });
        }
        Some(())
    }

    fn bind(&self, op: PrimOp, xs: Vec<Atom>, span: Span, stms: &mut Vec<Stm>) -> Atom {
        let var = self.fresh.var("place");
        stms.push(Stm {
            pat: vec![Param { var, ty: Type::scalar(op.result()) }],
            exp: Exp::Prim(op, xs),
            span,
        });
        var.into()
    }

    /// True if a place is proved to be inside of parts of a size.
    fn is_inside(&self, place: &Form, size: &Form) -> bool {
        let range = self.access.range(place);
        let is_positive = |f: &Form| f.as_constant().is_some_and(|n| n >= 0);
        range.least.iter().any(is_positive)
            && range.most.iter().any(|most| is_positive(&size.minus(most).plus(&(-1).into())))
    }
}

/// The arrays that versions are of, and where they are read and updated.
struct Places {
    of: HashMap<Var, Var>,
    uses: Vec<(Var, Atom)>,
    /// Arrays that are read.
    read: HashSet<Var>,
}

impl Places {
    fn place(&self, a: Atom) -> Option<Var> {
        self.of.get(&a.var()?).copied()
    }

    /// Names the arrays that these are versions of.
    fn name(&mut self, pat: &[Param], versions: &[Atom]) -> Option<()> {
        for (p, a) in pat.iter().zip(versions).filter(|(p, _)| !p.ty.is_scalar()) {
            let place = self.place(*a)?;
            self.of.insert(p.var, place);
        }
        Some(())
    }

    /// A body without the versions.
    fn body(&mut self, body: &Body) -> Option<Body> {
        let mut stms = Vec::new();
        for stm in &body.stms {
            stms.extend(self.stm(stm)?);
        }
        let results = body.results.iter().copied().filter(|a| self.place(*a).is_none());
        Some(Body { stms, results: results.collect() })
    }

    fn stm(&mut self, stm: &Stm) -> Option<Option<Stm>> {
        let exp = match &stm.exp {
            Exp::Update { arr, at, value } => {
                let array = self.place((*arr).into())?;
                let index = At::only_indices(at).filter(|at| at.len() == 1)?[0];
                self.uses.push((array, index));
                self.of.insert(stm.pat[0].var, array);
                Exp::Update { arr: array, at: at.clone(), value: *value }
            }
            Exp::Index(arr, at) => match self.place((*arr).into()) {
                Some(array) => {
                    self.uses.push((array, at[0]));
                    self.read.insert(array);
                    Exp::Index(array, at.clone())
                }
                None => stm.exp.clone(),
            },
            Exp::Atom(a) if self.place(*a).is_some() => {
                self.name(&stm.pat, &[*a])?;
                return Some(None);
            }
            Exp::If { cond, then, other } => {
                let arms = (self.body(then)?, self.body(other)?);
                self.name(&stm.pat, &then.results)?;
                Exp::If { cond: *cond, then: arms.0, other: arms.1 }
            }
            Exp::Loop { params, form, body } => self.repeat(&stm.pat, Repeat { params, form, body })?,
            Exp::Prim(..) | Exp::Atom(_) | Exp::Check { .. } => stm.exp.clone(),
            _ => return None,
        };
        let pat = stm.pat.iter().filter(|p| p.ty.is_scalar()).cloned().collect();
        Some(Some(Stm { pat, exp, span: stm.span }))
    }

    fn repeat(&mut self, pat: &[Param], Repeat { params, form, body }: Repeat) -> Option<Exp> {
        let (state, initial): (Vec<Param>, Vec<Atom>) = params.iter().cloned().unzip();
        self.name(&state, &initial)?;
        self.name(pat, &initial)?;
        let form = match form {
            LoopForm::While(cond) => LoopForm::While(self.body(cond)?),
            counted => counted.clone(),
        };
        let params = params.iter().filter(|(p, _)| p.ty.is_scalar()).cloned().collect();
        Some(Exp::Loop { params, form, body: self.body(body)? })
    }
}
