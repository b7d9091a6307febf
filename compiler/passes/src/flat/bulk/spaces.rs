//! A dimension of a space takes the dimensions over which what is read at its number was made.
//!
//! ```text
//! n = a * b
//! is = kernel map over [a] [b] \row pos j { … }
//! ys = kernel map over [n] [c] \row pos k prologue { i = is[row] } { … }
//! zs = kernel map over [n] \_ pos { is[pos] }
//!                                             ==>    ys = kernel map over [a] [b] [c] \row pos i j k prologue { i = is[row] } { … }
//!                                                    zs = kernel map over [a] [b] \row pos j { is[pos] }
//! ```
//!
//! Rows and positions keep their numbers. Elements that depend on where in their space they are can be computed in such a space.

use super::reads;
use par_ir::Vars;
use par_ir::access::{Facts, Form};
use par_ir::flat::{Kernel, KernelKind, Out, Space};
use par_ir::tuning;
use par_ir::ty::{Atom, Dim, Var};

/// The space of a kernel that reads the elements of `array` by position, or by row before its elements, with the dimensions of the space
/// over which they were made.
pub fn with_dimensions(k: &Kernel, array: Var, made: &Space, facts: &Facts) -> Option<Space> {
    let (first, rest) = k.space.0.split_first()?;
    let at = match rest {
        [] if is_by_position(k) && !is_short(made.innermost()) => k.pos,
        [_] => k.row,
        _ => return None,
    };
    let mut alike = made.0.len() > 1;
    reads::of_kernel(k, &mut |arr, i| alike &= arr != array || i == Atom::Var(at));
    let size = |d: &Dim| if let Dim::Size(n) = d { Some(facts.form(*n)) } else { None };
    let total = made.0.iter().try_fold(Form::from(1), |all, d| all.times(&size(d)?))?;
    (alike && Some(total) == size(first)).then(|| Space(made.0.iter().chain(rest).copied().collect()))
}

/// True for a map that only stores, or a histogram, that asks for its position only.
fn is_by_position(k: &Kernel) -> bool {
    let updates = |o: &Out| matches!(o, Out::Own { .. });
    let by_element = match &k.kind {
        KernelKind::Map(outs) => !outs.iter().any(updates),
        KernelKind::Hist { .. } => true,
        _ => false,
    };
    by_element && !k.uses_rows()
}

/// True for rows of so few elements that to begin one takes as long.
fn is_short(d: Dim) -> bool {
    matches!(d, Dim::Size(n) if n.as_i64().is_some_and(|n| n < tuning::SHORT_ROW))
}

/// Gives a kernel a space with more dimensions, of as many positions and rows.
pub fn extend(k: &mut Kernel, space: Space, vars: &mut Vars) {
    let old = k.space.0.len();
    let new = space.0.len();
    let kept = if old > 1 { k.index.split_off(1) } else { vec![] };
    k.index = (kept.len()..new).map(|_| vars.fresh("i")).collect();
    k.index.extend(kept);
    if new == 2 {
        k.index[0] = k.row;
    }
    k.space = space;
}
