//! Inspectors: kernels that compute the indices of another one's indirect reads, so that a rank fetches the elements that it lacks before that one runs.
//!
//! ```text
//! map over [n] [~d] \row pos i prologue { let s = starts[some[row]] }            by row: some[row], of `starts`
//!   { let x = if b then xs[s + i] else ys[i] in x }                       then by position: if b then s + i else -1, of `xs`
//! ```
//!
//! Reads at the position or the row itself are local. An index may depend on elements of another array that is read indirectly: the inspector of that one comes first, and there are
//! as many inspectors as an index has levels of indirection. Of a loop along a row, the range of its indices is computed ([`ranges`]). An array is gathered if one of its reads is in another kind of loop or in an
//! operator, or if one of its indices depends on its own elements.

mod ranges;

use super::fresh::Fresh;
use super::reads::Reads;
use par_ir::core::{Body, Exp, LoopForm, Param, Stm};
use par_ir::flat::{Kernel, KernelKind, Out, Space};
use par_ir::stack::deeper;
use par_ir::ty::{Atom, Dim, Type};
use par_ir::visit::Code as _;
use par_ir::{Prim, Var};
use par_runtime::plan::Reach;
use std::collections::BTreeSet;

/// The index of a read that is not executed.
const NOWHERE: Atom = Atom::i64(-1);

/// A kernel whose results are the indices of another one's reads.
pub struct Inspector {
    /// A map over the same space, or over its rows.
    pub kernel: Kernel,
    /// Per result: number of the capture that is read there.
    pub of: Vec<usize>,
    /// Per result: true if it is the last index of the range that the result before begins.
    pub is_last: Vec<bool>,
    /// Over the rows.
    pub by_row: bool,
}

/// The inspectors of a kernel. Each runs when the elements are fetched that those before it have asked for.
pub fn inspectors(kernel: &Kernel, captures: &[Var], reads: &Reads, fresh: &Fresh) -> Vec<Inspector> {
    let is_random = |i: &usize| reads.arrays[*i] && reads.reaches[*i] == Reach::Any;
    let mut left: Vec<Var> = (0..captures.len()).filter(is_random).map(|i| captures[i]).collect();
    let has_rows = matches!(kernel.space.0[..], [Dim::Size(_), _]);
    let by_row = |v: Var| kernel.prologue.iter().any(|s| uses(s, v) > 0);
    left.retain(|v| is_only_read(kernel, *v) && (has_rows || !by_row(*v)));
    let mut all = Vec::new();
    while !left.is_empty() {
        let mut level = Level { captures, left: &left, found: Vec::new(), fresh };
        let [rows, positions] = level.kernels(kernel);
        let is_complete = |v: &Var| count(kernel, *v) == level.found.iter().filter(|w| *w == v).count();
        let complete: Vec<Var> = left.iter().copied().filter(is_complete).collect();
        if complete.is_empty() {
            break;
        }
        let number = |v: &Var| captures.iter().position(|c| c == v);
        for (Indices { stms, mut found }, by_row) in [(rows, true), (positions, false)] {
            found.retain(|f| complete.contains(&f.array));
            let (mut of, mut is_last) = (Vec::new(), Vec::new());
            for (f, capture) in found.iter().filter_map(|f| Some((f, number(&f.array)?))) {
                of.extend(f.atoms().map(|_| capture));
                is_last.extend(f.atoms().enumerate().map(|(i, _)| i > 0));
            }
            if !of.is_empty() {
                let results = found.iter().flat_map(Found::atoms).collect();
                let kernel = finding(kernel, (stms, results), by_row);
                all.push(Inspector { kernel, of, is_last, by_row });
            }
        }
        left.retain(|v| !complete.contains(v));
    }
    all
}

/// The kernel with these results instead of its own, or its prologue as a kernel over the rows.
fn finding(kernel: &Kernel, (stms, results): (Vec<Stm>, Vec<Atom>), by_row: bool) -> Kernel {
    let mut wanted: BTreeSet<Var> = results.iter().filter_map(|a| a.var()).collect();
    let kind = KernelKind::Map(vec![Out::Elem(Prim::I64); results.len()]);
    let body = Body { stms: needed(stms, &mut wanted), results };
    if by_row {
        // The row's number is the position, and the position's, which is not read, the row's.
        let space = Space(kernel.space.0[..1].to_vec());
        let (pos, row) = (kernel.row, kernel.pos);
        return Kernel { kind, space, index: vec![pos], row, pos, prologue: Vec::new(), body };
    }
    let prologue = needed(kernel.prologue.clone(), &mut wanted);
    Kernel { kind, prologue, body, ..kernel.clone() }
}

/// Indices of reads, and the statements that compute them.
#[derive(Default)]
struct Indices {
    stms: Vec<Stm>,
    found: Vec<Found>,
}

/// An index at which an array is read, or the first and the last of several.
#[derive(Clone, Copy, PartialEq)]
struct Found {
    array: Var,
    first: Atom,
    last: Option<Atom>,
}

impl Found {
    fn atoms(&self) -> impl Iterator<Item = Atom> + use<> {
        [Some(self.first), self.last].into_iter().flatten()
    }
}

/// Reads of the same level of indirection.
struct Level<'k> {
    captures: &'k [Var],
    /// Arrays read indirectly whose inspector is still to come.
    left: &'k [Var],
    /// The array of each read whose index is computed.
    found: Vec<Var>,
    fresh: &'k Fresh,
}

impl Level<'_> {
    /// Indices per row and per position.
    fn kernels(&mut self, kernel: &Kernel) -> [Indices; 2] {
        let mut known: BTreeSet<Var> = self.captures.iter().copied().chain(kernel.binders()).collect();
        [&kernel.prologue, &kernel.body.stms].map(|stms| self.block(stms, &mut known))
    }

    /// Indices of the reads in a block; `known` are the variables that the inspector computes.
    fn block(&mut self, stms: &[Stm], known: &mut BTreeSet<Var>) -> Indices {
        let mut indices = Indices::default();
        for stm in stms {
            if self.is_computable(stm, known) {
                known.extend(stm.pat.iter().map(|p| p.var));
                indices.stms.push(stm.clone());
                continue;
            }
            let is_known = |a: &Atom| a.var().is_none_or(|v| known.contains(&v));
            match &stm.exp {
                Exp::Index(array, at) if self.left.contains(array) && at.iter().all(is_known) => {
                    self.found.push(*array);
                    let found = Found { array: *array, first: at[0], last: None };
                    indices.found.extend((!indices.found.contains(&found)).then_some(found));
                }
                Exp::Loop { .. } => {
                    let found = self.ranges(stm, known, &mut indices);
                    self.found.extend(found);
                }
                Exp::If { cond, then, other } if is_known(cond) => {
                    deeper(|| self.branch(stm, *cond, [then, other], known, &mut indices));
                }
                _ => {}
            }
        }
        indices
    }

    /// Indices of the reads in both arms of a branch: -1 where the other arm is taken.
    fn branch(
        &mut self,
        stm: &Stm,
        cond: Atom,
        arms: [&Body; 2],
        known: &BTreeSet<Var>,
        indices: &mut Indices,
    ) {
        let [then, other] = arms.map(|arm| self.block(&arm.stms, &mut known.clone()));
        let atoms = |i: &Indices| i.found.iter().flat_map(Found::atoms).collect::<Vec<Atom>>();
        let (of_then, of_other) = (atoms(&then), atoms(&other));
        let nowhere = |arm: &[Atom]| vec![NOWHERE; arm.len()];
        let results =
            [[&of_then[..], &nowhere(&of_other)].concat(), [&nowhere(&of_then), &of_other[..]].concat()];
        let pat: Vec<Param> =
            results[0].iter().map(|_| Param { var: self.fresh.var("at"), ty: Type::I64 }).collect();
        if pat.is_empty() {
            return;
        }
        let mut vars = pat.iter().map(|p| Atom::Var(p.var));
        for f in then.found.iter().chain(&other.found) {
            let first = vars.next().unwrap_or(NOWHERE);
            let last = f.last.and_then(|_| vars.next());
            indices.found.push(Found { array: f.array, first, last });
        }
        let [then, other] = [(then, &results[0]), (other, &results[1])]
            .map(|(arm, results)| Body { stms: arm.stms, results: results.clone() });
        indices.stms.push(Stm { pat, exp: Exp::If { cond, then, other }, ..stm.clone() });
    }

    /// True for a scalar statement with local reads only, and of elements that are fetched before.
    fn is_computable(&self, stm: &Stm, known: &BTreeSet<Var>) -> bool {
        let mut all_known = true;
        stm.exp.for_each_operand(&mut |a| all_known &= a.var().is_none_or(|v| known.contains(&v)));
        all_known
            && match &stm.exp {
                Exp::Atom(_) | Exp::Prim(..) | Exp::Check { .. } => true,
                Exp::Index(array, at) => {
                    at.len() == 1 && !self.left.contains(array) && self.captures.contains(array)
                }
                Exp::If { then, other, .. } => [then, other].into_iter().all(|arm| {
                    let mut inner = known.clone();
                    arm.stms.iter().all(|s| {
                        let is = deeper(|| self.is_computable(s, &inner));
                        inner.extend(s.pat.iter().map(|p| p.var));
                        is
                    })
                }),
                _ => false,
            }
    }
}

/// True if an array is read element by element only, in the prologue or the body, branches and counted loops included.
fn is_only_read(kernel: &Kernel, array: Var) -> bool {
    let all = kernel.bodies().into_iter().flat_map(|b| &b.stms).chain(&kernel.prologue);
    count(kernel, array) == all.map(|s| uses(s, array)).sum::<usize>()
}

/// Number of such reads.
fn count(kernel: &Kernel, array: Var) -> usize {
    let own = kernel.prologue.iter().chain(&kernel.body.stms);
    own.map(|s| reads_in(s, array)).sum()
}

fn reads_in(stm: &Stm, array: Var) -> usize {
    match &stm.exp {
        Exp::Index(a, at) => usize::from(*a == array && at.len() == 1),
        Exp::If { then, other, .. } => {
            let arms = then.stms.iter().chain(&other.stms);
            arms.map(|s| deeper(|| reads_in(s, array))).sum()
        }
        Exp::Loop { form: LoopForm::For { .. }, body, .. } => {
            body.stms.iter().map(|s| deeper(|| reads_in(s, array))).sum()
        }
        _ => 0,
    }
}

/// Number of uses of an array in a statement, bodies inside included.
fn uses(stm: &Stm, array: Var) -> usize {
    let mut n = 0;
    stm.exp.for_each_operand(&mut |a| n += usize::from(a == array.into()));
    stm.exp.for_each_body(|b| n += b.stms.iter().map(|s| uses(s, array)).sum::<usize>());
    n
}

/// Dead code elimination: checks, and the definitions of `wanted`, which afterwards has their free variables, too.
fn needed(stms: Vec<Stm>, wanted: &mut BTreeSet<Var>) -> Vec<Stm> {
    let mut kept = Vec::new();
    for stm in stms.into_iter().rev() {
        if matches!(stm.exp, Exp::Check { .. }) || stm.pat.iter().any(|p| wanted.contains(&p.var)) {
            wanted.extend(stm.free());
            kept.push(stm);
        }
    }
    kept.reverse();
    kept
}

#[cfg(test)]
mod tests {
    use super::super::{Fresh, facts, reads};
    use super::inspectors;
    use crate::free::{captures, types};
    use par_ir::flat::Op;
    use par_ir::parse::parse_flat;

    /// The inspectors of a kernel over ragged rows as text: `row:` or `pos:`, then the arrays of its results; `..` marks a range of indices.
    fn found(prologue: &str, body: &str) -> Vec<String> {
        let text = format!(
            "fun main@0 (n_1: i64, d_2: desc, some_3: []i64, starts_4: []i64, rope_5: [*]i64, ys_6: []i64) -> ([]i64)
{{
  let (out_7: []i64) = kernel map (elem i64) over [n_1] [~d_2] \\row_8 pos_9 i_10 prologue {{
    {prologue}
    in ()
  }} {{
    {body}
    in (x_11)
  }}
  in (out_7)
}}
"
        );
        let program = parse_flat(&text).unwrap_or_else(|e| panic!("{e}"));
        let Op::Kernel(kernel) = &program.funs[0].body.stms[0].op else { panic!("a kernel") };
        let captures = captures(kernel);
        let reads = reads::of(kernel, &captures, &facts(&program), &types(&program));
        let all = inspectors(kernel, &captures, &reads, &Fresh::new(&program.vars));
        let words = |(i, of): (usize, &usize), is_last: &[bool]| match is_last[i] {
            true => "..".to_string(),
            false => format!(" {}", program.vars.name(captures[*of])),
        };
        all.iter()
            .map(|i| {
                let of = i.of.iter().enumerate().map(|x| words(x, &i.is_last));
                [if i.by_row { "row:" } else { "pos:" }.to_string()].into_iter().chain(of).collect()
            })
            .collect()
    }

    const START: &str = "let (some_20: i64) = some_3[row_8]
    let (start_21: i64) = starts_4[some_20]";

    #[test]
    fn rows_of_a_rope_after_where_they_begin() {
        let body = "let (k_22: i64) = add.i64(start_21, i_10)
    let (x_11: i64) = rope_5[k_22]";
        assert_eq!(found(START, body), ["row: starts", "pos: rope"]);
    }

    #[test]
    fn reads_in_arms() {
        let body = "let (b_22: bool) = lt.i64(i_10, 3i64)
    let (x_11: i64) = if b_22 then {
      let (k_23: i64) = add.i64(start_21, i_10)
      let (y_24: i64) = rope_5[k_23]
      in (y_24)
    } else {
      let (k_25: i64) = mul.i64(start_21, i_10)
      let (y_26: i64) = ys_6[k_25]
      in (y_26)
    }";
        assert_eq!(found(START, body), ["row: starts", "pos: rope ys"]);
    }

    /// A loop that reads at `k_23`, after other statements.
    fn of_loop(before: &str, k: &str) -> Vec<String> {
        let body = format!(
            "let (x_11: i64) = loop (h_22: i64 = 0i64) for j_27: i64 < pos_9 do {{
      {before}
      let (k_23: i64) = {k}
      let (y_24: i64) = rope_5[k_23]
      let (z_25: i64) = add.i64(h_22, y_24)
      in (z_25)
    }}"
        );
        found(START, &body)
    }

    #[test]
    fn loops_along_a_row() {
        let ranges = ["row: starts", "pos: rope.."];
        assert_eq!(of_loop("", "add.i64(start_21, j_27)"), ranges);
        assert_eq!(of_loop("", "mul.i64(j_27, i_10)"), ranges);
        assert_eq!(of_loop("", "mul.i64(j_27, j_27)"), ["row: starts"]);
        assert_eq!(of_loop("", "add.i64(h_22, j_27)"), ["row: starts"]);
    }

    /// Operators that may trap are computed before the loop only if every iteration executes them.
    #[test]
    fn divisions_in_loops_along_a_row() {
        let quotient = "let (q_30: i64) = div.i64(start_21, i_10)";
        let check = "let (b_31: bool) = ne.i64(i_10, 0i64)
      check b_31 division_by_zero ()";
        let k = "add.i64(q_30, j_27)";
        assert_eq!(of_loop(quotient, k), ["row: starts", "pos: rope.."]);
        assert_eq!(of_loop(&format!("{check}\n{quotient}"), k), ["row: starts"]);
    }

    #[test]
    fn an_index_from_the_array_itself_is_not_found() {
        let body = "let (k_22: i64) = ys_6[start_21]
    let (x_11: i64) = ys_6[k_22]";
        assert_eq!(found(START, body), ["row: starts"]);
    }
}
