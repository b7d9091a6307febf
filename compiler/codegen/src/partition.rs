//! Finds scans that number the elements of a few classes, each by itself, and scatters that put every element behind those of its
//! class: stable partitions, steps of radix sorts, filters by hand.
//!
//! ```text
//! scan (add, add) over n                           class 0: digit 0, the first one goes to 0
//!     digit = and (shr xs[pos] s) 1                class 1: digit 1, the first one goes to zeros
//!     in (sub 1 digit, digit)
//! then (scatter dest) \zeros_so_far ones_so_far                   ==>
//!     i = select (eq digit 0) (sub zeros_so_far 1) (add (sub ones_so_far 1) zeros)
//!     in (i, xs[pos])
//! ```
//!
//! A scalar with few values, or a few conditions, are *selectors* if the kernel, evaluated for each of their values, counts by 0 and 1
//! and has an index that is a prefix plus something that all elements share. An element whose index is negative goes nowhere.

use crate::contract::sum;
use crate::free::for_each_use;
use par_ir::access::{Access, Facts, Form, Symbol, Value};
use par_ir::core::{Body, Exp, Stm};
use par_ir::flat::{After, Kernel, KernelKind, Out};
use par_ir::hash::HashSet;
use par_ir::prim::{BinOp, PrimOp};
use par_ir::tuning;
use par_ir::ty::Atom;
use par_ir::{Prim, Scalar, Var};
use par_runtime::partition::MOST;
use par_runtime::plan::{Partition, Sum};
use std::collections::BTreeMap;

/// A variable of the body, and the values that it may have.
#[derive(Clone)]
pub struct Selector {
    /// The variable.
    pub var: Var,
    /// Its values.
    pub values: Vec<Scalar>,
}

/// Partition of a kernel's elements into classes.
pub struct Classes {
    /// Numbers that an element's class depends on.
    pub selectors: Vec<Selector>,
    /// The class for each combination of their values, those of the last selector next to each other. The number of
    /// classes where the element goes nowhere.
    pub of: Vec<usize>,
    /// Statements behind the scan that do not need it.
    pub early: Vec<Stm>,
    /// The runtime's part of the plan.
    pub plan: Partition,
}

/// The partition that a kernel is.
pub fn find(kernel: &Kernel, captures: &[Var]) -> Option<Classes> {
    let KernelKind::Scan { op, neutral, exclusive, after: Some(after) } = &kernel.kind else { return None };
    let is_zero = |a: &Atom| *a == Atom::Const(Scalar::I64(0));
    let sums = neutral.iter().all(is_zero) && adds(op.params.len() / 2, &op.body, &op.params);
    let [Out::Scatter(_)] = after.outs.as_slice() else { return None };
    if !sums || kernel.space.as_flat().is_none() || !kernel.prologue.is_empty() {
        return None;
    }
    let bodies = [&kernel.body, &after.body];
    if bodies.iter().any(|b| !is_plain(b)) {
        return None;
    }
    let early = early(kernel, after)?;
    let finder = Finder { kernel, after, exclusive: *exclusive, captures };
    candidates(&kernel.body).into_iter().find_map(|selectors| finder.classes(selectors, &early))
}

/// True if an operator adds component by component.
fn adds(k: usize, body: &Body, params: &[par_ir::core::Param]) -> bool {
    (0..k).all(|i| {
        let (x, y) = (Atom::Var(params[i].var), Atom::Var(params[k + i].var));
        let sum =
            |s: &Stm| matches!(&s.exp, Exp::Prim(PrimOp::Bin(BinOp::Add, Prim::I64), xs) if xs[..] == [x, y]);
        let is_result = |s: &&Stm| body.results[i] == Atom::Var(s.pat[0].var);
        body.stms.iter().filter(|s| !s.pat.is_empty()).find(is_result).is_some_and(sum)
    })
}

/// True if a body neither fails nor takes long.
fn is_plain(body: &Body) -> bool {
    body.stms.iter().all(|s| match &s.exp {
        Exp::Atom(_) | Exp::Prim(..) | Exp::Index(..) => true,
        Exp::If { then, other, .. } => is_plain(then) && is_plain(other),
        _ => false,
    })
}

/// The statements behind the prefixes that do not need them; none if something that is scattered does.
fn early(kernel: &Kernel, after: &After) -> Option<Vec<Stm>> {
    let mut late: HashSet<Var> = after.params.iter().map(|p| p.var).collect();
    let mut early = Vec::new();
    for stm in &after.body.stms {
        let mut is_late = false;
        for_each_use(stm, &mut |v| is_late |= late.contains(&v));
        match is_late {
            true => late.extend(stm.pat.iter().map(|p| p.var)),
            false => early.push(stm.clone()),
        }
    }
    let is_early =
        |a: &Atom| a.var().is_none_or(|v| !late.contains(&v) && v != kernel.pos && v != kernel.row);
    after.body.results[1..].iter().all(is_early).then_some(early)
}

/// Selectors that are worth a try: numbers below a constant, single conditions, a few conditions together.
fn candidates(body: &Body) -> Vec<Vec<Selector>> {
    let masked = body.stms.iter().filter_map(masked);
    let conditions = body.stms.iter().flat_map(|s| &s.pat).filter(|p| p.ty.prim() == Prim::Bool);
    let condition = |v: Var| Selector { var: v, values: vec![Scalar::Bool(false), Scalar::Bool(true)] };
    let conditions: Vec<Selector> = conditions.map(|p| condition(p.var)).collect();
    let single = conditions.iter().cloned();
    let mut found: Vec<Vec<Selector>> = masked.chain(single).map(|s| vec![s]).collect();
    if (2..=tuning::PARTITION_CONDITIONS).contains(&conditions.len()) {
        found.push(conditions);
    }
    found
}

/// A number of which only the lowest bits are left.
fn masked(stm: &Stm) -> Option<Selector> {
    let Exp::Prim(PrimOp::Bin(BinOp::And, prim), xs) = &stm.exp else { return None };
    let constant = |a: &Atom| if let Atom::Const(c) = a { c.as_i64() } else { None };
    let most = xs.iter().find_map(constant).filter(|m| (1..MOST as i64).contains(m))?;
    let values = (0..=most).map(|x| Scalar::from_bits(*prim, x as u64)).collect();
    Some(Selector { var: stm.pat[0].var, values })
}

/// Destination of the elements with fixed values of the selectors: the component that numbers them, and the index of the first. `None`: they are dropped.
type Place = Option<(usize, Form)>;

struct Finder<'k> {
    kernel: &'k Kernel,
    after: &'k After,
    exclusive: bool,
    captures: &'k [Var],
}

impl Finder<'_> {
    fn classes(&self, selectors: Vec<Selector>, early: &[Stm]) -> Option<Classes> {
        let cases: Option<Vec<(Vec<bool>, Place)>> =
            combinations(&selectors).iter().map(|values| self.case(&selectors, values)).collect();
        let cases = cases?;
        // The components that number elements, with the index of the first.
        let mut used: BTreeMap<usize, &Form> = BTreeMap::new();
        for (component, first) in cases.iter().filter_map(|c| c.1.as_ref()) {
            if *used.entry(*component).or_insert(first) != first {
                return None;
            }
        }
        let counts = |(counted, place): &(Vec<bool>, Place)| {
            used.keys().all(|c| counted[*c] == place.as_ref().is_some_and(|p| p.0 == *c))
        };
        if used.is_empty() || used.len() > MOST || !cases.iter().all(counts) {
            return None;
        }
        let number = |c: usize| used.keys().position(|u| *u == c);
        let of = cases.iter().map(|c| c.1.as_ref().and_then(|p| number(p.0)).unwrap_or(used.len())).collect();
        let first: Option<Vec<Sum>> = used.values().map(|f| sum(f, self.captures)).collect();
        let components = used.keys().copied().collect();
        Some(Classes { selectors, of, early: early.to_vec(), plan: Partition { first: first?, components } })
    }

    /// Component that is counted for these values, and destination of the element.
    fn case(&self, selectors: &[Selector], values: &[Scalar]) -> Option<(Vec<bool>, Place)> {
        let fixed = selectors.iter().map(|s| s.var).zip(values.iter().copied()).collect();
        let facts = Facts::default();
        let access = Access::assuming(self.kernel, &facts, fixed);
        let counted = self.kernel.body.results[..self.after.params.len()].iter();
        let counted: Option<Vec<bool>> = counted
            .map(|a| match access.value(*a) {
                Value::Known(Scalar::I64(n @ 0..=1)) => Some(n == 1),
                _ => None,
            })
            .collect();
        let place = match access.value(self.after.body.results[0]) {
            Value::Known(Scalar::I64(..0)) => None,
            Value::Form(index) => Some(self.place(&access, &index)?),
            Value::Known(_) => return None,
        };
        Some((counted?, place))
    }

    /// The component whose prefix an index is, and the index of its first element.
    fn place(&self, access: &Access, index: &Form) -> Option<(usize, Form)> {
        let (component, first) = self.after.params.iter().enumerate().find_map(|(i, p)| {
            let (factor, rest) = index.split(Symbol::Var(p.var))?;
            (factor == 1.into()).then_some((i, rest))
        })?;
        // Prefixes that include the element itself are 1 at the first.
        let first = first.plus(&i64::from(!self.exclusive).into());
        access.is_host(&first).then_some((component, first))
    }
}

/// All combinations of the values, those of the last selector next to each other.
fn combinations(selectors: &[Selector]) -> Vec<Vec<Scalar>> {
    selectors.iter().fold(vec![vec![]], |all, s| {
        let with = |c: &Vec<Scalar>| s.values.iter().map(|v| [&c[..], &[*v]].concat()).collect::<Vec<_>>();
        all.iter().flat_map(with).collect()
    })
}

#[cfg(test)]
mod tests {
    use super::{Classes, find};
    use crate::free::captures;
    use par_ir::flat::Op;
    use par_ir::parse::parse_flat;
    use par_runtime::plan::Sum;

    /// Classes of a scan over bits of numbers whose last part is this.
    fn found(after: &str) -> Option<Classes> {
        let text = format!(
            "fun main@0 (n_1: i64, xs_2: []u32, k_3: i64) -> ([]u32)
{{
  let (ys_4: []u32) = kernel scan op \\(x_5: i64, x_6: i64, y_7: i64, y_8: i64) -> (i64, i64) {{
    let (t_9: i64) = add.i64(x_5, y_7)
    let (t_10: i64) = add.i64(x_6, y_8)
    in (t_9, t_10)
  }} neutral (0i64, 0i64) over [n_1] \\row_11 pos_12 {{
    let (x_13: u32) = xs_2[pos_12]
    let (d_14: u32) = and.u32(x_13, 3u32)
    let (a_15: bool) = eq.u32(d_14, 2u32)
    let (p_16: i64) = conv.bool.i64(a_15)
    let (b_17: bool) = lt.u32(d_14, 1u32)
    let (q_18: i64) = conv.bool.i64(b_17)
    in (p_16, q_18)
  }} then (scatter (xs_2)) \\(r_19: i64, r_20: i64) {{
    {after}
  }}
  in (ys_4)
}}
"
        );
        let program = parse_flat(&text).unwrap_or_else(|e| panic!("{e}"));
        let Op::Kernel(kernel) = &program.funs[0].body.stms[0].op else { panic!("a kernel") };
        find(kernel, &captures(kernel))
    }

    #[test]
    fn classes_and_where_they_begin() {
        let classes = found(
            "let (i_21: i64) = add.i64(r_20, k_3)
    let (j_22: i64) = sub.i64(r_19, 1i64)
    let (h_23: i64) = select.i64(b_17, i_21, -7i64)
    let (g_24: i64) = select.i64(a_15, j_22, h_23)
    in (g_24, x_13)",
        );
        let classes = classes.expect("a partition");
        assert_eq!(classes.of, [1, 2, 0, 2]);
        assert_eq!(classes.plan.components, [0, 1]);
        let Sum(second) = &classes.plan.first[1];
        assert_eq!(classes.plan.first[0], Sum::default());
        assert_eq!((second[0].clone(), second[1].0), ((1, vec![]), 1));
    }

    #[test]
    fn others() {
        let not = [
            // Every second place, the wrong class's, one that depends on the element, none below zero.
            "let (i_21: i64) = add.i64(r_19, r_19)\n let (j_22: i64) = select.i64(a_15, i_21, -1i64)\n in (j_22, x_13)",
            "let (j_22: i64) = select.i64(a_15, r_20, -1i64)\n in (j_22, x_13)",
            "let (y_21: i64) = conv.u32.i64(x_13)\n let (i_22: i64) = add.i64(r_19, y_21)\n let (j_23: i64) = select.i64(a_15, i_22, -1i64)\n in (j_23, x_13)",
            "let (j_22: i64) = select.i64(a_15, r_19, 5i64)\n in (j_22, x_13)",
            // What is scattered depends on the prefixes.
            "let (j_22: i64) = select.i64(a_15, r_19, -1i64)\n let (z_23: u32) = conv.i64.u32(r_19)\n in (j_22, z_23)",
        ];
        for after in not {
            assert!(found(after).is_none(), "{after}");
        }
    }
}
