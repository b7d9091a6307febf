//! Source places of FLAT statements: the construct, the constructs fused into it, the constructs around it.

#[path = "common/flat.rs"]
mod flat;

use par_ir::flat::{KernelKind, Op, Program};
use par_ir::parse::parse_core;
use par_ir::place::{Construct, Part};
use par_passes::pass::FUSE;

/// The sum of the squares of each row: a map (at 1) of a reduction (at 3) of a map (at 2), as spans `0:N:N+1`.
const SQUARES: &str = "
fun main@0 (n_0: i64, s_1: [n_0]desc, xss_2: [n_0][~s_1]i64) -> (m_14: i64, r_3: [m_14]i64) @0:0:9
  entry main (xss: [][~]i64) -> []i64
{
  let (ys_4: [n_0]i64) = map n_0 (s_1, xss_2) \\(k_5: i64, xs_6: [k_5]i64) -> (i64) {
    let (qs_7: [k_5]i64) = map k_5 (xs_6) \\(x_8: i64) -> (i64) {
      let (q_9: i64) = mul.i64 (x_8, x_8) @0:4:5
      in (q_9)
    } @0:2:3
    let (t_10: i64) = reduce k_5 (qs_7) \\(p_11: i64) -> (i64) { in (p_11) } op \\(a_12: i64, b_13: i64) -> (i64) {
      let (c_14: i64) = add.i64 (a_12, b_13) @0:5:6
      in (c_14)
    } neutral (0i64) @0:3:4
    in (t_10)
  } @0:1:2
  in (n_0, ys_4)
}";

fn flat() -> Program {
    let mut core = parse_core(SQUARES).unwrap_or_else(|e| panic!("{e}"));
    (FUSE.run)(&mut core);
    flat::flattened(&core)
}

#[test]
fn fusion_and_flattening_keep_where_a_reduction_comes_from() {
    let flat = flat();
    let statements = flat.statements();
    let reduces = |op: &Op| matches!(op, Op::Kernel(k) if matches!(k.kind, KernelKind::Reduce { .. }));
    let reduction = statements.iter().find(|s| reduces(&s.op)).expect("a reduction");
    let shown = |p: &Part| (p.construct, p.span.start);
    let path: Vec<Vec<(Construct, u32)>> =
        flat.places.path(reduction.place).map(|p| p.parts.iter().map(shown).collect()).collect();
    let own = vec![(Construct::Reduce, 3), (Construct::Map, 2)];
    assert_eq!(path, [own, vec![(Construct::Map, 1)], vec![(Construct::Function, 0)]]);
}

#[test]
fn every_statement_has_a_place() {
    let flat = flat();
    for stm in flat.statements() {
        assert!(flat.places.get(stm.place).is_some(), "{:?}", stm.op);
    }
}
