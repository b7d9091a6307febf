//! Versions of a nest: flat, or every position of its outermost level worked through by itself.
//!
//! ```text
//! map (\ xs -> let m = sum xs in sum (map (\ x -> (x - m) ** 2) xs)) xss
//!
//! flat         m  = kernel reduce rows n seg d { … }          -- every inner operator is a bulk operation
//!              ys = kernel reduce rows n seg d { … }
//! sequential   ys = kernel map flat n { loop … loop … }       -- reads each row twice while it is near
//! ```
//!
//! Both are there where it depends: if there are many rows and none is long ([`super::choices`]), the host takes the sequential one. How
//! long rows are it knows where every inner operator goes over a row of an argument of the nest, or over a number of elements that is the
//! same for all. A nest with one inner operator is one kernel in both versions. On a processor one loop for each row is done for several rows
//! together, in the lanes of vectors, if they have one length; so is the flat kernel, if rows are short. Else it is flat, unless a measurement says otherwise, or all rows
//! go over the same arrays. Inside other nests there is one version: the flat one, or, if all operators go over windows, the sequential one.

use super::canonical::Form;
use super::choices::{Choice, Measure, Target};
use super::nest::LevelId;
use super::rep::{Rep, Src};
use super::sequential::sequential_version;
use super::split::is_bound_in;
use super::windows::{is_nest_of_windows, is_window};
use super::{Ex, Flattener, Result, Versions};
use par_ir::core::{Body, Exp, Lambda, Param, Rows, Stm};
use par_ir::flat::{self, KernelKind, Op, Ty, VersionChoice};
use par_ir::hash::HashMap;
use par_ir::prim::{BinOp, CmpOp};
use par_ir::tiny::Tiny;
use par_ir::tuning;
use par_ir::visit::Code;
use par_ir::{Atom, Prim, PrimOp, Span, Var};
use par_runtime::op::call::is_call;
use std::rc::Rc;

impl Flattener<'_> {
    /// The sequential version of a nest that has inner parallel operators.
    fn sequential_lambda(&mut self, lam: &Lambda) -> Option<Lambda> {
        let scalars = lam.ret.iter().all(|t| t.is_scalar() && !t.is_desc());
        if !scalars || self.sequential(&lam.body) || self.is_whole(&lam.body) || lam.ret.is_empty() {
            return None;
        }
        let body = sequential_version(&lam.body, &mut self.builder.vars)?;
        self.sequential(&body).then(|| Lambda { body, ..lam.clone() })
    }

    /// Flattens a map, in the version that is forced or with the choice between both; what each row results in.
    pub fn nest(
        &mut self,
        level: LevelId,
        (width, inputs, lam): Rows,
        span: Span,
    ) -> Result<(LevelId, Vec<Rep>)> {
        let other =
            if self.facts.options.versions == Versions::Flat { None } else { self.sequential_lambda(lam) };
        let Some(sequential) = other else { return self.enter_rows(level, (width, inputs, lam)) };
        if self.facts.options.versions == Versions::Sequential {
            return self.enter_rows(level, (width, inputs, &sequential));
        }
        let counts: Vec<bool> = inputs.iter().map(|v| matches!(self.arr(*v).src, Src::Iota)).collect();
        if !self.shapes.is_root(level) && is_nest_of_windows(lam, &counts) {
            let sequential = self.written_out(sequential);
            return self.enter_rows(level, (width, inputs, &sequential));
        }
        let lengths = lengths(inputs, &counts, lam).filter(|_| self.shapes.is_root(level));
        let Some(mut lengths) = lengths else { return self.enter_rows(level, (width, inputs, lam)) };
        let rows = self.threshold(span, Measure::Rows);
        let longest = self.longest_row(span, lam);
        // A row as long as there are rows is too long where there are enough of them.
        let too_long = |l: &Length| match l {
            Length::Same(n) => {
                *n == width && longest.same < rows || n.as_i64().is_some_and(|n| n > longest.same)
            }
            _ => false,
        };
        if rows == i64::MAX || lengths.iter().any(too_long) || !self.pays(span, &lengths) {
            return self.enter_rows(level, (width, inputs, lam));
        }
        lengths.dedup();
        self.both(level, (width, inputs, lam), &sequential, (&lengths, rows, longest), span)
    }

    /// A nest's function with loops of a few iterations written out.
    fn written_out(&mut self, lam: Lambda) -> Lambda {
        let none = HashMap::default();
        let mut tiny = Tiny::new(&mut self.builder.vars, std::mem::take(&mut self.types), &none);
        let body = tiny.body(&lam.body, false);
        self.types = tiny.types();
        Lambda { body: body.unwrap_or_else(|| lam.body.clone()), ..lam }
    }

    /// The longest inner row with which rows are worked through one by one.
    fn longest_row(&mut self, span: Span, lam: &Lambda) -> Longest {
        let threshold = self.threshold(span, Measure::Longest);
        let choice = Choice { span, measure: Measure::Longest };
        let is_gpu = self.facts.options.target == Target::Gpu;
        if is_gpu || self.measured(choice).is_some() {
            let inside = if is_gpu { tuning::FEW_INSIDE } else { tuning::LONGEST_INSIDE };
            return Longest { same: threshold, ragged: threshold, inside };
        }
        let is_wide =
            lam.body.stms.iter().any(|s| matches!(&s.exp, Exp::Reduce { lam, .. } if bytes(lam) > 4));
        let same = if is_wide { tuning::LONGEST_WIDE } else { threshold };
        let sums = Longest { same, ..Longest::SUMS };
        comparisons(lam).fold(sums, |a, b| if a.same < b.same { b } else { a })
    }

    /// True if the sequential version may be faster. Both are one kernel if there is one operator: rows of one length go through it in the
    /// lanes of vectors then. On a GPU nobody has measured that.
    fn pays(&self, span: Span, lengths: &[Length]) -> bool {
        let measured = self.measured(Choice { span, measure: Measure::Rows }).is_some();
        let is_processor = self.facts.options.target == Target::Processor;
        let in_lanes = |l: &Length| match l {
            Length::Same(_) => is_processor,
            Length::Rows(_) => false,
            Length::Shared | Length::Inside(_) => true,
        };
        measured || lengths.len() > 1 || lengths.iter().any(in_lanes)
    }

    /// Both versions, and the choice between them.
    fn both(
        &mut self,
        level: LevelId,
        (width, inputs, lam): Rows,
        sequential: &Lambda,
        (lengths, least, longest): (&[Length], i64, Longest),
        span: Span,
    ) -> Result<(LevelId, Vec<Rep>)> {
        let width_ex = self.ex(width);
        let child = self.enter(level, &width_ex);
        let cond = self.is_better_by_rows(child, lengths, least, longest);
        let version = |f: &mut Self, lam: &Lambda| {
            f.block(|f| {
                let (at, reps) = f.enter_rows(level, (width, inputs, lam))?;
                f.flush();
                let value = |rep: &Rep| match rep {
                    Rep::Scalar(ex) => f.store(at, ex).into(),
                    Rep::Array(_) => unreachable!("only nests with scalar results have two versions"),
                };
                Ok(reps.iter().map(value).collect())
            })
        };
        let (then, other) = (version(self, sequential)?, version(self, lam)?);
        self.at(span);
        let params: Vec<Param> =
            lam.ret.iter().map(|t| Param { var: self.builder.vars.fresh("row"), ty: t.clone() }).collect();
        let forms = vec![Form::Packed; params.len()];
        let pat = self.form_params(child, &params, &forms);
        let longest = lengths.iter().find_map(|l| l.at_most(longest));
        let versions = Some(VersionChoice::Rows { least, longest });
        self.builder.emit(pat.clone(), Op::If { cond, versions, then, other });
        self.adopt(child, &params, &forms, &pat);
        Ok((child, params.iter().map(|p| self.rep(p.var.into())).collect()))
    }

    /// Test that there are enough rows, and none is too long; the longest is looked for only if they are short on average.
    fn is_better_by_rows(&mut self, child: LevelId, lengths: &[Length], rows: i64, longest: Longest) -> Atom {
        let n = self.count(child);
        let enough = self.at_most(Atom::i64(rows), n);
        let Longest { same, ragged, inside } = longest;
        let mut descs: Vec<Var> = Vec::new();
        for length in lengths {
            match length {
                Length::Rows(d) if !descs.contains(d) => descs.push(*d),
                _ => {}
            }
        }
        self.provided("by_rows", enough, |f| {
            let on_average = f.all(lengths, |f, length| match length {
                Length::Same(a) => {
                    let m = f.host_atom(*a);
                    f.at_most(m, Atom::i64(same))
                }
                Length::Shared => Atom::bool(true),
                Length::Inside(a) => {
                    let m = f.host_atom(*a);
                    f.at_most(m, Atom::i64(inside))
                }
                Length::Rows(d) => match f.total_of(*d) {
                    Some(total) => {
                        let total = f.host(&total);
                        let some = f.builder.host_op(BinOp::Max, n, Atom::i64(1));
                        let mean = f.builder.host_op(BinOp::Quot, total, some);
                        f.at_most(mean, Atom::i64(ragged))
                    }
                    None => Atom::bool(true),
                },
            });
            f.provided("short", on_average, |f| {
                f.all(&descs, |f, d| {
                    let m = f.longest(*d);
                    f.at_most(m, Atom::i64(ragged))
                })
            })
        })
    }

    /// Result of `build` if the condition holds; else false.
    fn provided(&mut self, name: &str, cond: Atom, build: impl FnOnce(&mut Self) -> Atom) -> Atom {
        let then = self.block_of(build);
        let other = flat::Block { stms: vec![], results: vec![Atom::bool(false)] };
        let versions = Some(VersionChoice::Condition);
        self.builder.bind(name, Ty::Scalar(Prim::Bool), Op::If { cond, versions, then, other }).into()
    }

    /// Test that a condition holds for all items.
    fn all<T>(&mut self, items: &[T], mut holds: impl FnMut(&mut Self, &T) -> Atom) -> Atom {
        let mut all = Atom::bool(true);
        for item in items {
            let one = holds(self, item);
            all = self.builder.logic("all", BinOp::And, all, one);
        }
        all
    }

    fn block_of(&mut self, build: impl FnOnce(&mut Self) -> Atom) -> flat::Block {
        let scope = self.open_block(|_| Ok(())).unwrap_or_default();
        self.close_block(scope, |f| vec![build(f)])
    }

    fn at_most(&mut self, a: Atom, b: Atom) -> Atom {
        self.builder.compare("at_most", CmpOp::Le, a, b)
    }

    /// The longest row of an input's descriptor.
    fn longest(&mut self, desc: Var) -> Atom {
        let (arr, ty) = (self.arr(desc), self.types[&desc].clone());
        let width = self.ex(ty.rows());
        let level = self.enter(super::nest::ROOT, &width);
        let Rep::Scalar(len) = self.row(&arr, self.local(level)) else { unreachable!("lengths are scalars") };
        let mut g = self.take_group(level);
        let len = self.eval(&mut g, &len);
        let op = Lambda::of_operator(BinOp::Max, Prim::I64, self.builder.span, &mut self.builder.vars);
        let out = self.fresh_array("longest", super::nest::Extent::Count(Atom::i64(1)));
        let pat = vec![flat::Param { var: out, ty: Ty::Array(Prim::I64) }];
        self.finish(g, KernelKind::Reduce { op, neutral: vec![Atom::i64(0)] }, vec![len], pat);
        self.host(&Ex::Load(out, Prim::I64, Rc::new(Ex::i64(0))))
    }
}

/// Number of elements of an inner operator of a nest.
#[derive(PartialEq)]
enum Length {
    /// The same everywhere.
    Same(Atom),
    /// As many as arrays have that all rows share, or windows of them, however many: as loops several rows take each step together, in the lanes of vectors.
    Shared,
    /// The same everywhere, inside an operator over shared arrays.
    Inside(Atom),
    /// The length of the row of this descriptor.
    Rows(Var),
}

/// The longest inner row with which rows are worked through one by one.
#[derive(Clone, Copy)]
struct Longest {
    /// Of rows of one length.
    same: i64,
    /// Of rows of any lengths: those done together wait for the longest of them.
    ragged: i64,
    /// Of operators inside operators over shared arrays.
    inside: i64,
}

impl Longest {
    const SUMS: Longest =
        Longest { same: tuning::LONGEST, ragged: tuning::LONGEST_RAGGED, inside: tuning::LONGEST_INSIDE };
    const EXTREMA: Longest =
        Longest { same: tuning::LONGEST_EXTREMA, ragged: tuning::LONGEST_RAGGED_EXTREMA, ..Longest::SUMS };
    const OWN: Longest = Longest { same: tuning::LONGEST_OWN, ragged: tuning::LONGEST_OWN, ..Longest::SUMS };
}

impl Length {
    /// Upper bound of the length, for rows one by one.
    fn at_most(&self, longest: Longest) -> Option<i64> {
        match self {
            Length::Same(_) => Some(longest.same),
            Length::Rows(_) => Some(longest.ragged),
            Length::Inside(_) => Some(longest.inside),
            Length::Shared => None,
        }
    }
}

/// The lengths of all operators directly in a nest's body, of whose parameters some count the rows, if they are known before it runs and nothing inside them is a nest again.
fn lengths(inputs: &[Var], counts: &[bool], lam: &Lambda) -> Option<Vec<Length>> {
    let mut found = Vec::new();
    // Results of operators over shared arrays: as loops, they are consumed where they are produced.
    let mut shared: Vec<Var> = Vec::new();
    for stm in &lam.body.stms {
        if stm.exp.bodies().is_empty() {
            continue;
        }
        let (width, inner) = match &stm.exp {
            Exp::Map { width, lam, .. } | Exp::Reduce { width, lam, .. } => (*width, lam),
            _ => return None,
        };
        if is_shared(lam, &stm.exp) {
            shared.extend(stm.pat.iter().map(|p| p.var));
            found.push(Length::Shared);
            lengths_inside(&[lam, inner], &mut found)?;
            continue;
        }
        if is_window(lam, counts, &stm.exp) {
            found.push(Length::Shared);
            continue;
        }
        let made = stm.exp.inputs().unwrap_or_default();
        if made.iter().any(|v| shared.contains(v))
            && made.iter().all(|v| shared.contains(v) || is_iota(lam, *v))
        {
            found.push(Length::Shared);
            continue;
        }
        if inner.body.stms.iter().any(|s| s.exp.is_soac()) {
            return None;
        }
        let of_row = width.var().and_then(|v| lam.params.iter().position(|p| p.var == v));
        match (of_row, width.var()) {
            (Some(i), _) => found.push(Length::Rows(inputs[i])),
            (None, Some(v)) if is_bound_in(&lam.body, v) => return None,
            (None, _) => found.push(Length::Same(width)),
        }
    }
    (!found.is_empty()).then_some(found)
}

/// True if an operator of a nest goes over arrays from outside only, calls no function (those are done on many elements at once), and has
/// something that one row's elements are not done quickly with: an operator of its own, few elements, columns, operators inside.
fn is_shared(lam: &Lambda, exp: &Exp) -> bool {
    let (width, inputs, inner) = match exp {
        Exp::Map { width, inputs, lam } | Exp::Reduce { width, inputs, lam, .. } => (width, inputs, lam),
        _ => return false,
    };
    let own = matches!(exp, Exp::Reduce { op, .. } if !is_componentwise(op));
    let few = width.as_i64().is_some_and(|n| n <= tuning::FEW_INSIDE);
    let rows =
        inner.params.iter().any(|p| !p.ty.is_scalar()) || inner.body.stms.iter().any(|s| s.exp.is_soac());
    let from_outside = |v: &Var| is_from_outside(lam, *v) || is_iota(lam, *v);
    let alike = width.var().is_none_or(|n| is_from_outside(lam, n));
    alike
        && (own || few || rows)
        && !inputs.is_empty()
        && inputs.iter().all(from_outside)
        && !calls(&exp.bodies())
}

pub(super) fn is_componentwise(op: &Lambda) -> bool {
    let simple = |s: &Stm| matches!(s.exp, Exp::Prim(PrimOp::Bin(..), _));
    2 * op.body.stms.len() == op.params.len() && op.body.stms.iter().all(simple)
}

/// Of each reduction in a nest whose operator compares, how long rows may be.
fn comparisons(lam: &Lambda) -> impl Iterator<Item = Longest> {
    lam.body.stms.iter().filter_map(|s| match &s.exp {
        Exp::Reduce { op, .. } if !is_componentwise(op) => Some(Longest::OWN),
        Exp::Reduce { op, .. } if has_extrema(op) => Some(Longest::EXTREMA),
        _ => None,
    })
}

/// Bytes of the scalars that a lambda takes.
fn bytes(lam: &Lambda) -> usize {
    lam.params.iter().filter(|p| p.ty.is_scalar()).map(|p| p.ty.prim().size()).sum()
}

/// True if an operator compares floats, and on vectors that is a choice for each row: a jump.
fn has_extrema(op: &Lambda) -> bool {
    let compares =
        |s: &Stm| matches!(&s.exp, Exp::Prim(PrimOp::Bin(BinOp::Min | BinOp::Max, p), _) if p.is_float());
    op.body.stms.iter().any(compares)
}

/// True if a lambda makes an array of positions.
pub(super) fn is_iota(lam: &Lambda, v: Var) -> bool {
    lam.body.stms.iter().any(|s| matches!(s.exp, Exp::Iota(_)) && s.pat[0].var == v)
}

pub(super) fn is_from_outside(lam: &Lambda, v: Var) -> bool {
    lam.params.iter().all(|p| p.var != v) && !is_bound_in(&lam.body, v)
}

pub(super) fn calls(bodies: &[&Body]) -> bool {
    let call = |s: &Stm| match &s.exp {
        Exp::Prim(op, _) => is_call(*op),
        Exp::Call(..) => true,
        exp => calls(&exp.bodies()),
    };
    bodies.iter().any(|b| b.stms.iter().any(call))
}

/// The lengths of operators in the innermost of these functions, each inside the one before, the first of which is a nest's, if they are known before the nest
/// runs, or if the operators read nothing but what all rows of the nest share: the loops of all rows go over the same elements.
fn lengths_inside(lams: &[&Lambda], found: &mut Vec<Length>) -> Option<()> {
    let (nest, innermost) = (lams.first()?, lams.last()?);
    for stm in innermost.body.stms.iter().filter(|s| s.exp.is_soac()) {
        let (Exp::Map { width, lam, .. } | Exp::Reduce { width, lam, .. }) = &stm.exp else {
            return None;
        };
        let is_param = |l: &&Lambda| l.params.iter().any(|p| Some(p.var) == width.var());
        let is_known = width.var().is_none_or(|v| lams.iter().all(|l| is_from_outside(l, v)));
        found.push(match reads_rows(nest, stm) {
            false if is_known || lams[1..].iter().any(is_param) => Length::Shared,
            true if is_known => Length::Inside(*width),
            _ => return None,
        });
        lengths_inside(&[lams, &[lam]].concat(), found)?;
    }
    Some(())
}

/// True if a statement reads arrays that the rows of a nest have each for itself.
fn reads_rows(nest: &Lambda, stm: &Stm) -> bool {
    let made = nest.body.stms.iter().filter(|s| !matches!(s.exp, Exp::Iota(_))).flat_map(|s| &s.pat);
    nest.params.iter().chain(made).any(|p| !p.ty.is_scalar() && stm.mentions(p.var))
}
