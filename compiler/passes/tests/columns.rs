//! Reductions along columns, on FLAT text.

use par_ir::parse::parse_flat;
use par_ir::print::print_flat;
use par_ir::verify::verify_flat;
use par_passes::pass::COLUMNS;

/// Sums of columns of `n*m` matrices with `p` columns and `d` rows; the index of an element ends like this.
fn after(index: &str) -> String {
    let text = format!(
        "fun f@0 (n_1: i64, m_2: i64, p_3: i64, d_4: i64, xs_5: []f32) -> ([]f32)
{{
  let (nm_6: i64) = mul.i64(n_1, m_2)
  let (all_7: i64) = mul.i64(nm_6, p_3)
  let (ys_8: []f32) = kernel reduce op \\(a_9: f32, b_10: f32) -> (f32) {{
    let (c_11: f32) = add.f32(a_9, b_10)
    in (c_11)
  }} neutral (0.0f32) over [all_7] [d_4] \\row_12 pos_13 j_99 prologue {{
    let (q_14: i64) = quot.i64(row_12, p_3)
    let (s_15: i64) = mul.i64(q_14, p_3)
    let (c_16: i64) = sub.i64(row_12, s_15)
    let (u_17: i64) = quot.i64(q_14, m_2)
    let (t_18: i64) = mul.i64(row_12, d_4)
    in ()
  }} {{
    let (e_19: i64) = sub.i64(pos_13, t_18)
    {index}
    let (x_25: f32) = xs_5[i_24]
    in (x_25)
  }}
  in (ys_8)
}}
"
    );
    let mut program = parse_flat(&text).unwrap_or_else(|e| panic!("{e}"));
    (COLUMNS.run)(&mut program);
    verify_flat(&program).unwrap_or_else(|e| panic!("{e}\n{}", print_flat(&program)));
    print_flat(&program)
}

#[test]
fn columns_of_matrices_whose_number_is_divided_too() {
    let found = after(
        "let (a_20: i64) = mul.i64(u_17, d_4)
         let (b_21: i64) = add.i64(a_20, e_19)
         let (c_22: i64) = mul.i64(b_21, p_3)
         let (i_24: i64) = add.i64(c_22, c_16)",
    );
    assert!(found.contains("blocks"), "{found}");
}

#[test]
fn rows_stay() {
    let found = after(
        "let (a_20: i64) = mul.i64(c_16, d_4)
         let (i_24: i64) = add.i64(a_20, e_19)",
    );
    assert!(!found.contains("blocks"), "{found}");
}
