//! Free variables, substitution and fresh copies, dimensions of types included.

use par_ir::parse::{parse_core, parse_flat};
use par_ir::print::print_core;
use par_ir::verify::verify_core;
use par_ir::visit::{Code, Subst};
use par_ir::{Atom, Var};

const PROGRAM: &str = "fun f@0 (n_0: i64, xs_1: [n_0]f32, d_2: f32) -> (r_3: [n_0]f32) {
  let (ys_4: [n_0]f32) = map n_0 (xs_1) \\(x_5: f32) -> (f32) {
    let (y_6: f32) = loop (a_7: f32 = x_5) for i_8: i64 < n_0 do {
      let (b_9: f32) = mul.f32(a_7, d_2)
      in (b_9)
    }
    in (y_6)
  }
  in (ys_4)
}";

#[test]
fn free_variables_include_dimensions() {
    let p = parse_core(PROGRAM).unwrap();
    let body = &p.funs[0].body;
    assert_eq!(Vec::from_iter(body.free()), [Var(0), Var(1), Var(2)]);
    let lambda = body.stms[0].exp.lambdas()[0];
    assert_eq!(Vec::from_iter(lambda.free()), [Var(0), Var(2)]);
    assert_eq!(lambda.bound(), [Var(5), Var(7), Var(8), Var(9), Var(6)]);
    assert!(lambda.is_scalar() && !body.is_scalar());
    assert!(p.funs[0].params[1].ty.mentions(Var(0)));
}

#[test]
fn fresh_copies_share_no_binder() {
    let mut p = parse_core(PROGRAM).unwrap();
    let original = p.funs[0].body.clone();
    let mut subst = Subst::from_iter([(Var(2), Atom::Const(par_ir::Scalar::F32(2.0)))]);
    let copy = original.refreshed_with(&mut p.vars, &mut subst);
    assert!(copy.bound().iter().all(|v| !original.bound().contains(v)));
    assert_eq!(Vec::from_iter(copy.free()), [Var(0), Var(1)]);
    assert_eq!(Atom::Var(copy.stms[0].pat[0].var), subst[&Var(4)]);
    let results = original.results.substituted(&subst);
    assert_eq!(results, copy.results);
    // Both in one program: the verifier finds no variable bound twice.
    p.funs[0].body.stms.extend(copy.stms);
    verify_core(&p).unwrap();
}

#[test]
fn substitution_reaches_types() {
    let mut p = parse_core(PROGRAM).unwrap();
    p.funs[0].body.substitute(&Subst::from_iter([(Var(0), Atom::i64(8))]));
    assert!(print_core(&p).contains("let (ys_4: [8]f32) = map 8i64 (xs_1)"));
}

#[test]
fn operands_are_an_expression_s_own() {
    let mut p = parse_core(PROGRAM).unwrap();
    let exp = &mut p.funs[0].body.stms[0].exp;
    let mut seen = Vec::new();
    exp.for_each_operand(&mut |a| seen.push(a));
    assert_eq!(seen, [Atom::Var(Var(0)), Atom::Var(Var(1))]);
    exp.for_each_operand_mut(&mut |a| *a = Atom::i64(1));
    let mut seen = Vec::new();
    exp.for_each_operand(&mut |a| seen.push(a));
    // Where only a variable may stand, it stays.
    assert_eq!(seen, [Atom::i64(1), Atom::Var(Var(1))]);
}

#[test]
fn kernels_bind_row_and_position() {
    let p = parse_flat(include_str!("programs/kernels.flat")).unwrap();
    let stm = &p.funs[0].body.stms[0];
    assert_eq!(Vec::from_iter(stm.op.free()), [Var(0), Var(1), Var(2)]);
    assert!(stm.bound().contains(&Var(7)) && stm.bound().contains(&Var(3)));
    let mut vars = p.vars.clone();
    let copy = p.funs[0].refreshed(&mut vars);
    assert!(copy.free().is_empty());
    assert!(copy.bound().iter().all(|v| v.0 as usize >= p.vars.len()));
}
