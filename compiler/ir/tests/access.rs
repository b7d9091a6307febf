//! Facts about integers in kernels, on FLAT text.

use par_ir::access::{Access, Axes, Emit, Extent, Facts, Form, Level, Symbol};
use par_ir::core::{Body, Exp};
use par_ir::flat::{Kernel, Op, Program};
use par_ir::hash::HashMap;
use par_ir::parse::parse_flat;
use par_ir::{Atom, Span, Var};
use std::collections::BTreeSet;

/// A function over sizes `n`, `m`, `k`, a descriptor `d` and arrays, with a kernel after other statements.
struct Example {
    program: Program,
    facts: Facts,
}

impl Example {
    fn new(text: &str) -> Example {
        let head = "fun f@0 (n_1: i64, m_2: i64, k_3: i64, d_4: desc, xs_5: []i64) -> () {\n";
        let text = format!("{head}let (o_6: []i64) = offsets d_4\n{text}\nin ()\n}}");
        let program = parse_flat(&text).unwrap_or_else(|e| panic!("{e}"));
        let mut facts = Facts::default();
        program.funs[0].body.stms.iter().for_each(|s| facts.note(s));
        Example { program, facts }
    }

    fn kernel(&self) -> &Kernel {
        match &self.program.funs[0].body.stms.last().unwrap().op {
            Op::Kernel(kernel) => kernel,
            _ => panic!("a kernel"),
        }
    }

    fn of(&self) -> Access<'_> {
        Access::of(self.kernel(), &self.facts)
    }

    fn divided(&self) -> Access<'_> {
        Access::divided(self.kernel(), &self.facts)
    }

    /// As `2*m*i0 + i1`, the symbols in their order.
    fn show(&self, f: &Form) -> String {
        let name = |s: &Symbol| match s {
            Symbol::Index(d) => format!("i{d}"),
            Symbol::Start => "start".to_string(),
            Symbol::Var(v) => self.program.vars.name(*v).to_string(),
        };
        let term = |(product, n): (&[Symbol], i64)| {
            let constant = (n != 1 || product.is_empty()).then(|| n.to_string());
            constant.into_iter().chain(product.iter().map(name)).collect::<Vec<_>>().join("*")
        };
        let terms: Vec<String> = f.terms().map(term).collect();
        if terms.is_empty() { "0".into() } else { terms.join(" + ") }
    }

    fn shows(&self, access: &Access, v: u32) -> String {
        self.show(&access.form(Var(v).into()).unwrap())
    }

    /// Least and most of a variable.
    fn range(&self, access: &Access, v: u32) -> (Vec<String>, Vec<String>) {
        let range = access.range(&access.form(Var(v).into()).unwrap());
        let show = |fs: Vec<Form>| fs.iter().map(|f| self.show(f)).collect();
        (show(range.least), show(range.most))
    }
}

/// Strides of each read: the growth of its index with those of two dimensions.
fn strides(access: &Access) -> Vec<[Option<Form>; 2]> {
    access.reads().map(|r| [0, 1].map(|d| access.growth(&r.index, Symbol::Index(d)))).collect()
}

fn known(strides: [Form; 2]) -> [Option<Form>; 2] {
    strides.map(Some)
}

#[test]
fn positions_of_matrices_are_rows_and_columns() {
    let example = Example::new(
        "let (ys_9: []i64) = kernel map (elem i64) over [n_1] [m_2] \\row_10 pos_11 at_99 prologue {
           let (s_12: i64) = mul.i64(row_10, m_2)
           let (r_13: i64) = xs_5[row_10]
           in () } {
           let (j_14: i64) = sub.i64(pos_11, s_12)
           let (q_15: i64) = quot.i64(pos_11, m_2)
           let (t_16: i64) = mul.i64(j_14, n_1)
           let (u_17: i64) = add.i64(t_16, row_10)
           let (v_18: i64) = add.i64(pos_11, k_3)
           let (a_20: i64) = xs_5[pos_11]
           let (b_21: i64) = xs_5[v_18]
           let (c_22: i64) = xs_5[u_17]
           let (e_23: i64) = xs_5[j_14]
           let (f_24: i64) = xs_5[r_13]
           let (g_25: i64) = xs_5[a_20]
           let (h_26: i64) = xs_5[k_3]
           in (a_20) }",
    );
    let access = example.of();
    assert_eq!(example.shows(&access, 11), "i0*m + i1");
    assert_eq!((example.shows(&access, 14), example.shows(&access, 15)), ("i1".into(), "i0".into()));
    assert_eq!(example.shows(&access, 17), "i0 + i1*n");
    let form = |v: u32| access.form(Var(v).into()).unwrap();
    let by_rows = known([form(2), 1.into()]);
    assert_eq!(strides(&access)[..3], [known([1.into(), 0.into()]), by_rows.clone(), by_rows]);
    assert_eq!(strides(&access)[3..5], [known([1.into(), form(1)]), known([0.into(), 1.into()])]);
    assert_eq!(strides(&access)[5..], [[None, Some(0.into())], [None, None], known([0.into(), 0.into()])]);
    assert_eq!(access.growth(&form(17), Symbol::Index(1)), Some(form(1)));
    assert_eq!(access.level(&form(13)), Level::Row);
    assert_eq!(
        [14, 20, 3].map(|v| access.level(&form(v))),
        [Level::Position, Level::Position, Level::Outside]
    );
}

#[test]
fn divisions_by_hand_are_dimensions() {
    let example = Example::new(
        "let (mk_7: i64) = mul.i64(m_2, k_3)
         let (all_8: i64) = mul.i64(n_1, mk_7)
         let (ys_9: []i64) = kernel map (elem i64) over [all_8] \\row_10 pos_11 {
           let (i_12: i64) = quot.i64(pos_11, mk_7)
           let (r_13: i64) = rem.i64(pos_11, mk_7)
           let (j_14: i64) = div.i64(r_13, k_3)
           let (l_15: i64) = mod.i64(r_13, k_3)
           let (a_16: i64) = mul.i64(i_12, m_2)
           let (b_17: i64) = add.i64(a_16, j_14)
           let (c_18: i64) = mul.i64(b_17, k_3)
           let (e_19: i64) = add.i64(c_18, l_15)
           let (x_20: i64) = xs_5[e_19]
           in (x_20) }",
    );
    assert_eq!(example.of().axes().count(), 1);
    let access = example.divided();
    assert_eq!(access.axes().count(), 3);
    assert_eq!([12, 14, 15].map(|v| example.shows(&access, v)), ["i0", "i1", "i2"]);
    let read = access.reads().next().unwrap();
    assert_eq!(Some(&read.index), access.axes().position().as_ref());
    assert_eq!(example.range(&access, 19), (vec!["0".into()], vec!["-1 + n*m*k".into()]));
}

#[test]
fn positions_are_numbered_over_any_dimensions() {
    let example = Example::new(
        "let (ys_9: []i64) = kernel map (elem i64) over [n_1] \\row_10 pos_11 {
           let (a_12: i64) = quot.i64(pos_11, k_3)
           let (b_13: i64) = rem.i64(a_12, m_2)
           in (b_13) }",
    );
    let size = |v: u32| Extent::Size(Symbol::Var(Var(v)).into());
    let axes = Axes::new(vec![Extent::Part(Symbol::Var(Var(1)).into()), size(2), size(3)], 0);
    let access = Access::within(axes, example.kernel(), &example.facts);
    assert_eq!(example.shows(&access, 11), "i0*m*k + i1*k + i2");
    assert_eq!([12, 13].map(|v| example.shows(&access, v)), ["i0*m + i1", "i1"]);
    let ragged = Axes::new(vec![size(1), Extent::Seg(Var(4)), size(2)], 2);
    assert_eq!((ragged.row(), ragged.position()), (None, None));
}

#[test]
fn what_may_wrap_is_not_divided() {
    let example = Example::new(
        "let (ys_9: []i64) = kernel map (elem i64) over [n_1] [m_2] \\row_10 pos_11 at_99 {
           let (a_12: i64) = mul.i64(row_10, k_3)
           let (b_13: i64) = quot.i64(a_12, k_3)
           let (c_14: i64) = sub.i64(pos_11, m_2)
           let (e_15: i64) = quot.i64(c_14, m_2)
           in (b_13) }",
    );
    let access = example.of();
    assert_eq!([13, 15].map(|v| example.shows(&access, v)), ["b", "e"]);
    assert_eq!(example.divided().axes().count(), 2);
}

#[test]
fn rows_of_ragged_arrays_begin_at_offsets() {
    let example = Example::new(
        "let (ys_9: []i64) = kernel map (elem i64) over [n_1] [~d_4] \\row_10 pos_11 at_99 prologue {
           let (s_12: i64) = o_6[row_10]
           let (w_13: i64) = xs_5[row_10]
           in () } {
           let (j_14: i64) = sub.i64(pos_11, s_12)
           let (u_15: i64) = add.i64(w_13, j_14)
           let (a_16: i64) = xs_5[pos_11]
           let (b_17: i64) = xs_5[j_14]
           let (c_18: i64) = xs_5[u_15]
           in (a_16) }",
    );
    let access = example.of();
    assert_eq!(example.shows(&access, 11), "i1 + start");
    assert_eq!(example.shows(&access, 14), "i1");
    assert_eq!(
        strides(&access)[1..],
        [[None, Some(1.into())], known([0.into(), 1.into()]), [None, Some(1.into())]]
    );
    assert_eq!(access.level(&Symbol::Start.into()), Level::Row);
}

#[test]
fn offsets_of_others_grow() {
    let example = Example::new(
        "let (ys_9: []i64) = kernel map (elem i64) over [n_1] [m_2] \\row_10 pos_11 at_99 prologue {
           let (s_12: i64) = o_6[row_10]
           in () } {
           let (t_13: i64) = mul.i64(row_10, m_2)
           let (j_14: i64) = sub.i64(pos_11, t_13)
           let (u_15: i64) = add.i64(s_12, j_14)
           let (a_16: i64) = xs_5[u_15]
           in (a_16) }",
    );
    assert_eq!(strides(&example.of())[1], [None, Some(1.into())]);
}

const STENCIL: &str =
    "let (ys_9: []i64) = kernel map (elem i64) over [n_1] [m_2] \\row_10 pos_11 at_99 prologue {
       let (s_12: i64) = mul.i64(row_10, m_2)
       let (e_13: i64) = sub.i64(m_2, 1i64)
       in () } {
       let (j_14: i64) = sub.i64(pos_11, s_12)
       let (a_15: i64) = add.i64(j_14, 1i64)
       let (b_16: i64) = min.i64(a_15, e_13)
       let (c_17: i64) = sub.i64(j_14, 1i64)
       let (d_18: i64) = max.i64(c_17, 0i64)
       let (w_19: i64) = mod.i64(a_15, m_2)
       let (g_20: bool) = lt.i64(j_14, e_13)
       let (x_21: i64) = if g_20 then { let (y_22: i64) = xs_5[a_15] in (y_22) } else { in (7i64) }
       let (h_23: i64) = and.i64(x_21, 255i64)
       let (i_24: i64) = add.i64(s_12, b_16)
       in (h_23) }";

#[test]
fn clamped_wrapped_and_masked_indices_have_bounds() {
    let example = Example::new(STENCIL);
    let access = example.of();
    let zero = || vec!["0".to_string()];
    assert_eq!(example.range(&access, 14), (zero(), vec!["-1 + m".into()]));
    let (least, most) = example.range(&access, 16);
    assert!(least == zero() && most.contains(&"-1 + m".to_string()), "{least:?} {most:?}");
    let (least, most) = example.range(&access, 18);
    assert!(least.contains(&"0".to_string()), "{least:?} {most:?}");
    assert_eq!(example.range(&access, 19), (zero(), vec!["-1 + m".into()]));
    assert_eq!(example.range(&access, 23), (zero(), vec!["255".into()]));
    let (least, most) = example.range(&access, 24);
    assert!(least == zero() && most.contains(&"-1 + n*m".to_string()), "{least:?} {most:?}");
}

#[test]
fn branches_guard_what_is_in_them() {
    let example = Example::new(STENCIL);
    let access = example.of();
    let read = access.reads().next().unwrap();
    let last = access.form(Var(13).into()).unwrap();
    let room = last.minus(&read.index);
    assert!(!access.never_negative(&room));
    assert!(access.never_negative_where(&room, &read.guards));
}

#[test]
fn counters_are_symbols_and_state_is_not_before_its_loop() {
    let example = Example::new(
        "let (ys_9: []i64) = kernel map (elem i64) over [n_1] [m_2] \\row_10 pos_11 at_99 {
           let (a_12: i64) = mul.i64(row_10, k_3)
           let (z_13: i64) = loop (acc_14: i64 = 0i64) for l_15: i64 < k_3 do {
             let (b_16: i64) = add.i64(a_12, l_15)
             let (c_17: i64) = xs_5[b_16]
             let (e_18: i64) = add.i64(acc_14, c_17)
             let (f_19: i64) = xs_5[acc_14]
             let (g_20: i64) = min.i64(l_15, row_10)
             in (e_18) }
           let (h_21: i64) = min.i64(row_10, 5i64)
           in (z_13) }",
    );
    let access = example.of();
    assert_eq!(example.shows(&access, 16), "i0*k + l");
    assert_eq!(strides(&access), [known([Symbol::Var(Var(3)).into(), 0.into()]), [None, Some(0.into())]]);
    assert_eq!(example.range(&access, 15), (vec!["0".into()], vec!["-1 + k".into()]));
    let level = |v: u32| access.level(&access.form(Var(v).into()).unwrap());
    assert_eq!([16, 18, 20].map(level), [Level::Inside(1); 3]);
    // It can be computed wherever the row's number is.
    assert_eq!(level(21), Level::Row);
}

#[test]
fn forms_are_computed_elsewhere() {
    let mut example = Example::new(STENCIL);
    let mut vars = std::mem::take(&mut example.program.vars);
    let access = example.of();
    let column = vars.fresh("column");
    let mut emit = |v: u32| {
        let names = HashMap::from_iter([(Symbol::Index(1), Atom::Var(column))]);
        let (divisions, span) = (&BTreeSet::new(), Span::default());
        let mut to = Emit { vars: &mut vars, divisions, names, stms: vec![], span };
        access.emit(&access.form(Var(v).into()).unwrap(), &mut to).map(|_| to.stms)
    };
    let stms = emit(16).unwrap();
    assert!(matches!(&stms.last().unwrap().exp, Exp::Prim(..)) && stms.len() == 3, "{stms:?}");
    // The row's index has no name there, the element is read at its own place, a division could fail.
    assert_eq!([24, 23, 19].map(&mut emit), [None, None, None]);
}

#[test]
fn assumed_values_decide_branches() {
    let example = Example::new(STENCIL);
    let fixed = HashMap::from_iter([(Var(20), par_ir::Scalar::Bool(false))]);
    let access = Access::assuming(example.kernel(), &example.facts, fixed);
    assert_eq!(access.form(Var(23).into()).and_then(|f| f.as_constant()), Some(7));
    let Body { results, .. } = &example.kernel().body;
    assert_eq!(example.show(&access.form(results[0]).unwrap()), "7");
}

#[test]
fn every_dimension_of_a_space_has_an_index() {
    let example = Example::new(
        "let (ys_9: []i64) = kernel map (elem i64) over [n_1] [m_2] [k_3] \\row_10 pos_11 i_12 j_13 l_14 {
           let (q_15: i64) = quot.i64(pos_11, k_3)
           let (r_16: i64) = quot.i64(row_10, m_2)
           let (h_17: i64) = quot.i64(j_13, 8i64)
           let (s_18: i64) = mul.i64(l_14, n_1)
           let (t_19: i64) = add.i64(s_18, i_12)
           let (x_20: i64) = xs_5[t_19]
           in (x_20) }",
    );
    let access = example.of();
    assert_eq!([12, 13, 14].map(|v| example.shows(&access, v)), ["i0", "i1", "i2"]);
    assert_eq!(example.shows(&access, 11), "i0*m*k + i1*k + i2");
    assert_eq!([15, 16].map(|v| example.shows(&access, v)), ["i0*m + i1", "i0"]);
    assert_eq!(example.shows(&access, 19), "i0 + i2*n");
    assert_eq!([12, 13].map(|v| access.level(&access.form(Var(v).into()).unwrap())), [Level::Row; 2]);
}

/// The body of a kernel alone: what it does not bind is the same at all positions.
#[test]
fn bodies_are_analysed_along_their_index() {
    let example = Example::new(
        "let (w_7: i64) = sub.i64(m_2, 1i64)
         let (ys_9: []i64) = kernel map (elem i64) over [n_1] [m_2] \\row_10 pos_11 at_99 prologue {
           let (s_12: i64) = mul.i64(row_10, m_2)
           in () } {
           let (j_13: i64) = sub.i64(pos_11, s_12)
           let (x_14: i64) = xs_5[j_13]
           let (a_15: i64) = add.i64(j_13, x_14)
           let (b_16: i64) = sub.i64(a_15, x_14)
           let (c_17: i64) = min.i64(b_16, w_7)
           let (d_18: i64) = sub.i64(w_7, b_16)
           in (c_17) }",
    );
    let none = Facts::default();
    let access = Access::along(Var(11), &example.kernel().body, &none);
    let form = |v: u32| access.form(Var(v).into()).unwrap();
    let growth = |v: u32| {
        let is_fixed = |s: Symbol| !access.needs(&s.into()).contains(&Symbol::Index(0));
        form(v).growth(|s| if s == Symbol::Index(0) { Some(1) } else { is_fixed(s).then_some(0) })
    };
    assert_eq!([13, 16, 18, 12, 15, 17].map(growth), [Some(1), Some(1), Some(-1), Some(0), None, None]);
    // The host's sums are known to who asks for them.
    let mut facts = example.facts.clone();
    example.program.funs[0].body.stms.iter().for_each(|s| facts.note_sum(s));
    let expanded = facts.expanded(&form(18)).unwrap();
    assert_eq!(expanded, form(18).minus(&form(7)).plus(&form(2)).minus(&1.into()));
    assert_eq!((expanded.constant(), form(18).constant()), (-1, 0));
}
