//! Rules in words, for those who ask what a derivative costs.

use super::Lower;
use super::columns::Column;
use super::operators::{Componentwise, componentwise};
use super::sweep::Kept;
use super::tape::Tape;
use par_ir::Atom;
use par_ir::core::{Exp, Lambda, Param};
use par_ir::place::{Construct, Part, Rule};

impl Lower<'_> {
    /// Notes how a statement is gone back through.
    pub(super) fn note_rule(&mut self, pat: &[Param], exp: &Exp, kept: &Kept) {
        let Some(mut text) = text(exp) else { return };
        if let Kept::First(_) = kept {
            text = "only the row that gave the result, computed again";
        }
        let kept = match (exp, kept) {
            (Exp::Loop { params, .. }, Kept::Tape(tape)) => columns_in_words(tape, params),
            (Exp::Loop { params, .. }, Kept::Iterations(tape, _)) => {
                let calls = "8 bytes for each number that calls in iterations result in".to_string();
                columns_in_words(tape, params).into_iter().chain([calls]).collect()
            }
            (_, Kept::Origins(_)) => vec!["8 bytes for each element of the result, its position".into()],
            (_, Kept::First(_)) => vec!["8 bytes: which row gave the result".into()],
            (_, Kept::Calls(_)) => vec!["8 bytes for each number that calls result in".into()],
            (_, Kept::Rows(_)) => vec!["8 bytes for each number that calls in rows result in".into()],
            _ => Vec::new(),
        };
        let part = Part { construct: Construct::of(exp), span: self.place.span };
        self.out.rules.push(Rule { part, made: pat[0].var, text, kept });
    }
}

fn columns_in_words(tape: &Tape, params: &[(Param, Atom)]) -> Vec<String> {
    let (mut bytes, mut numbers, mut said) = (0, 0, Vec::new());
    for (p, column) in tape.columns(params) {
        let prim = p.ty.prim();
        let (size, array) = (prim.size(), format!("an array of {}", prim.name()));
        match column {
            Column::Scalars(_) => {
                bytes += size;
                numbers += 1;
            }
            Column::Rows(_) => {
                said.push(format!("{size} bytes in each iteration for each element of {array}"))
            }
            Column::Flat { .. } => said.push(format!(
                "{size} bytes in each iteration for each element of {array} whose size changes, and 8"
            )),
            Column::Overwritten(updates) => {
                let all: usize = updates.iter().map(|u| 8 * u.at.len() + u.ty.prim().size()).sum();
                let rows = if updates.iter().all(|u| u.ty.is_scalar()) { "" } else { " for each column" };
                said.push(format!("{all} bytes in each iteration{rows}: what is overwritten in {array}"));
            }
        }
    }
    match numbers {
        0 => {}
        1 => said.insert(0, format!("{bytes} bytes in each iteration for a number")),
        n => said.insert(0, format!("{bytes} bytes in each iteration for {n} numbers")),
    }
    said
}

/// The rule for a construct; nothing for what only reads or moves numbers.
fn text(exp: &Exp) -> Option<&'static str> {
    let all = |op: &Lambda, wanted: &[Componentwise]| {
        (0..op.ret.len()).all(|i| componentwise(op, i).is_some_and(|c| wanted.contains(&c)))
    };
    let extrema = &[Componentwise::Min, Componentwise::Max];
    Some(match exp {
        Exp::Map { .. } => "row by row; what a row computes is computed again",
        Exp::If { .. } => "the arm that was taken, computed again",
        Exp::Loop { .. } => "from the last iteration to the first",
        Exp::Call(..) => "entered once more, with what the calls in it resulted in",
        Exp::Filter { .. } => "adjoints go to where the elements came from",
        Exp::Sort { .. } => "adjoints go to where the elements came from",
        Exp::Scatter { .. } => "elements take the adjoints of where they were put",
        Exp::Reduce { op, .. } if all(op, &[Componentwise::Add]) => {
            "each element takes the adjoint of the sum"
        }
        Exp::Reduce { op, .. } if all(op, extrema) => "the element that is the result takes its adjoint",
        Exp::Reduce { .. } => "through the operator, between what stands before and behind: two scans",
        Exp::Scan { op, .. } if all(op, &[Componentwise::Add]) => "sums of the adjoints from the end",
        Exp::Scan { .. } => "a scan of linear maps from the end",
        Exp::Hist { op, .. } if all(op, &[Componentwise::Add]) => "each element takes the adjoint of its bin",
        Exp::Hist { op, .. } if all(op, extrema) => "the element that a bin holds takes its adjoint",
        Exp::Hist { .. } => "through the operator, by bins, sorted",
        _ => return None,
    })
}
