//! The verifiers reject programs that break an invariant, each with its rule and the function's name.

use par_ir::flat::{Op, VersionChoice};
use par_ir::parse::{parse_core, parse_flat};
use par_ir::verify::{verify_core, verify_flat};

/// A function over a ragged array, an array and scalars, with these statements.
fn core(stms: &str) -> Result<(), String> {
    let head = "fun f@0 (n_0: i64, s_1: [n_0]desc, xss_2: [n_0][~s_1]f32, xs_3: [n_0]f32, i_4: i64, c_5: bool) -> ()";
    verify_core(&parse_core(&format!("{head} {{ {stms} in () }}")).unwrap())
}

fn flat(stms: &str) -> Result<(), String> {
    let head = "fun f@0 (n_0: i64, s_1: desc, xs_2: []f32, is_3: []i64, c_4: bool) -> ()";
    verify_flat(&parse_flat(&format!("{head} {{ {stms} in () }}")).unwrap())
}

#[track_caller]
fn rejected(result: Result<(), String>, rule: &str) {
    let message = result.unwrap_err();
    assert!(message.contains(rule), "{message}");
    assert!(message.contains("in function: f"), "{message}");
}

const ADD: &str = "op \\(a_90: f32, b_91: f32) -> (f32) { let (c_92: f32) = add.f32(a_90, b_91) in (c_92) }";

#[test]
fn core_binding() {
    rejected(core("let (y_6: f32) = 1.0f32 let (y_6: f32) = 1.0f32"), "y_6 is bound twice");
    rejected(core("let (y_6: f32) = z_7"), "z_7 is not in scope");
    rejected(core("let (y_6: [k_7]f32) = xs_3"), "k_7 is not in scope");
    let inner = "let (y_6: f32) = if c_5 then { let (z_7: f32) = 1.0f32 in (z_7) } else { in (z_7) }";
    rejected(core(inner), "z_7 is not in scope");
}

#[test]
fn core_types() {
    rejected(core("let (y_6: [c_5]f32) = xs_3"), "a size has type bool");
    rejected(core("let (y_6: [n_0][~xs_3]f32) = xss_2"), "xs_3 is no descriptor of rank 1");
    rejected(core("let (y_6: [~s_1]f32) = xs_3"), "s_1 is no descriptor of rank 0");
    rejected(core("let (y_6: desc) = 1i64"), "has type desc, not i64");
}

#[test]
fn core_scalars() {
    rejected(core("let (y_6: f32) = add.f32(i_4, i_4)"), "takes [F32, F32]");
    rejected(core("let (y_6: i64) = sqrt.i64(i_4)"), "does not exist");
    rejected(core("let (y_6: f32) = add.i64(i_4, i_4)"), "the bound variable has type f32");
    rejected(core("let (y_6: f32) = xss_2[i_4]"), "the bound variable has type f32");
    rejected(core("let (y_6: f32) = xs_3[c_5]"), "an index has type bool");
    rejected(core("let (y_6: f32) = xs_3[i_4, i_4]"), "2 indices into rank 1");
}

#[test]
fn core_checks() {
    rejected(core("check i_4 bounds (i_4, n_0)"), "the condition has type i64");
    rejected(core("check c_5 bounds (i_4)"), "arguments of the check: 1 where 2 are needed");
    rejected(core("let (y_6: i64) = check c_5 zero_step ()"), "variables bound by a check");
}

#[test]
fn core_arrays() {
    rejected(core("let (y_6: [3]i64) = iota 4i64"), "the bound variable has type [3]i64, not [4]i64");
    rejected(core("let (y_6: [n_0]f32) = replicate (n_0, xs_3)"), "the bound variable has type");
    rejected(core("let (y_6: [2]f32) = literal f32 [1.0f32]"), "the bound variable has type [2]f32");
    rejected(core("let (y_6: [n_0]f32) = concat (xs_3, s_1)"), "not [n_0]desc");
    rejected(core("let (y_6: [n_0]f32) = xs_3 with [0i64] = 1i64"), "the new row has type i64");
    rejected(core("let (y_6: f32) = flatten xs_3"), "has rank 1, less than 2");
    rejected(core("let (y_6: [n_0]desc) = makedesc xs_3"), "lengths are i64");
    rejected(core("let (y_6: i64) = total xs_3"), "xs_3 is no descriptor");
    rejected(core("let (y_6: i64) = call @7 ()"), "there is no function 7");
    rejected(core("let () = call @0 (n_0)"), "arguments: 1 where 6 are needed");
}

#[test]
fn core_control() {
    rejected(core("let (y_6: f32) = if c_5 then { in (1.0f32) } else { in (1i64) }"), "result of an arm");
    let wrong = "let (y_6: f32) = loop (a_7: f32 = 1.0f32) for j_8: i64 < n_0 do { in (j_8) }";
    rejected(core(wrong), "next value has type i64");
    let wrong = "let (y_6: f32) = loop (a_7: f32 = 1.0f32) while { in (a_7) } do { in (a_7) }";
    rejected(core(wrong), "condition is not one bool");
    let wrong = "let (y_6: f32) = loop (a_7: f32 = i_4) for j_8: i64 < n_0 do { in (a_7) }";
    rejected(core(wrong), "initial value has type i64");
    let wrong = "let (y_6: f32) = loop (a_7: f32 = 1.0f32) for j_8: i32 < n_0 do { in (a_7) }";
    rejected(core(wrong), "the loop's bound has type i64");
}

#[test]
fn core_parallel_operators() {
    rejected(
        core("let (y_6: [n_0]f32) = map n_0 (xs_3) \\() -> () { in () }"),
        "parameters of the lambda: 0",
    );
    rejected(
        core("let (y_6: [n_0]i64) = map n_0 (xs_3) \\(x_7: i64) -> (i64) { in (x_7) }"),
        "a parameter of the lambda has type i64, not f32",
    );
    rejected(
        core("let (y_6: [n_0]f32) = map n_0 (xs_3) \\(x_7: f32) -> (i64) { in (x_7) }"),
        "a result of the lambda",
    );
    rejected(
        core("let (y_6: f32) = map n_0 (xs_3) \\(x_7: f32) -> (f32) { in (x_7) }"),
        "a mapped result has type f32",
    );
    rejected(
        core("let (y_6: [n_0]desc) = map n_0 (xs_3) \\(x_7: f32) -> (f32) { in (x_7) }"),
        "a mapped result",
    );
    let reduce = |neutral: &str, pat: &str| {
        core(&format!(
            "let ({pat}) = reduce n_0 (xs_3) \\(x_7: f32) -> (f32) {{ in (x_7) }} {ADD} neutral ({neutral})"
        ))
    };
    assert_eq!(reduce("0.0f32", "y_6: f32"), Ok(()));
    rejected(reduce("0i64", "y_6: f32"), "a neutral element has type i64");
    rejected(reduce("", "y_6: f32"), "parameters of the operator: 2 where 0");
    rejected(reduce("0.0f32", "y_6: [n_0]f32"), "a reduced result");
    rejected(core("let (k_6: i64) = filter n_0 (xs_3) \\(x_7: f32) -> (f32) { in (x_7) }"), "no bool");
    let scatter =
        "let (y_6: [n_0]f32) = scatter (xs_3) n_0 (xs_3) \\(x_7: f32) -> (i64, f32) { in (1.0f32, x_7) }";
    rejected(core(scatter), "a result of the lambda has type f32, not i64");
    let scatter =
        "let (y_6: [n_0]f32) = scatter (xs_3) n_0 (xs_3) \\(x_7: f32) -> (i64, i64) { in (1i64, 1i64) }";
    rejected(core(scatter), "a destination");
}

#[test]
fn core_functions() {
    let fun = |text: &str| verify_core(&parse_core(text).unwrap());
    rejected(fun("fun f@0 () -> (r_0: i64) { in (1i32) }"), "result has type i32");
    rejected(fun("fun f@0 () -> (r_0: i64) { in () }"), "results: 0 where 1");
    rejected(fun("fun f@0 (x_0: i32) -> () entry f (x: [n]i32) -> () { in () }"), "parameters of the entry");
    rejected(fun("fun f@0 (x_0: i32) -> () entry f (x: i64) -> () { in () }"), "number 0 is no column");
}

#[test]
fn flat_operations() {
    rejected(flat("let (y_5: i64) = xs_2[0i64]"), "(f32), not (i64)");
    rejected(flat("let (y_5: i64) = total xs_2"), "a descriptor has type []f32");
    rejected(flat("let (y_5: desc) = makedesc xs_2"), "the lengths has type []f32");
    rejected(flat("let (y_5: []f32) = concat (xs_2, is_3)"), "different types");
    rejected(flat("let (y_5: []f32) = xs_2 with [0i64] = 1i64"), "the new element");
    rejected(flat("let (y_5: i64) = n_0 let (y_5: i64) = n_0"), "bound twice");
    rejected(flat("let (y_5: i64) = z_6"), "z_6 is not in scope");
    rejected(flat("let (y_5: i64) = add.i32(n_0, n_0)"), "takes [I32, I32]");
    rejected(flat("check n_0 zero_step ()"), "the condition");
    rejected(flat("let (y_5: i64) = if c_4 then { in (n_0) } else { in (xs_2) }"), "results of the arms");
    rejected(flat("let () = call @0 ()"), "arguments");
}

#[test]
fn flat_choices_of_versions() {
    let head = "fun f@0 (n_0: i64, c_1: bool) -> (i64)";
    let text =
        format!("{head} {{ let (r_2: i64) = if c_1 then {{ in (n_0) }} else {{ in (1i64) }} in (r_2) }}");
    let mut program = parse_flat(&text).unwrap();
    let mut with = |choice| {
        if let Op::If { versions, .. } = &mut program.funs[0].body.stms[0].op {
            *versions = Some(choice);
        }
        verify_flat(&program)
    };
    assert_eq!(with(VersionChoice::Rows { least: 0, longest: Some(6) }), Ok(()));
    rejected(with(VersionChoice::Rows { least: 8192, longest: Some(-1) }), "from a negative number on");
}

#[test]
fn flat_kernels() {
    let map = |space: &str, body: &str, outs: &str| {
        let inner = if space.contains("] [") { "i_19" } else { "" };
        flat(&format!("let (y_5: []f32) = kernel map ({outs}) over {space} \\r_6 p_7 {inner} {body}"))
    };
    let good = "{ let (x_8: f32) = xs_2[p_7] in (x_8) }";
    assert_eq!(map("[n_0] [~s_1]", good, "elem f32"), Ok(()));
    rejected(map("[c_4]", good, "elem f32"), "a size of the space has type bool");
    rejected(map("[~s_1] [n_0]", good, "elem f32"), "a space without an outermost size");
    rejected(map("[n_0] [~is_3]", good, "elem f32"), "a descriptor has type []i64");
    rejected(map("[n_0]", good, "elem i64"), "an output of i64");
    rejected(map("[n_0]", good, ""), "no output");
    rejected(map("[n_0]", "{ let (x_8: [n_0]i64) = iota n_0 in (1.0f32) }", "elem f32"), "must be scalar");
    rejected(map("[n_0]", "{ let (x_8: i64) = s_1[p_7] in (1.0f32) }", "elem f32"), "s_1 is not in scope");
    rejected(map("[n_0]", "{ in (xs_2) }", "elem f32"), "an array");
    rejected(map("[n_0]", good, "scatter (xs_2)"), "the index is no i64");
    let prologue = format!("prologue {{ let (x_9: f32) = xs_2[p_7] in () }} {good}");
    rejected(map("[n_0]", &prologue, "elem f32"), "p_7 is not in scope");
    let prologue = format!("prologue {{ check c_4 zero_step () in () }} {good}");
    rejected(map("[n_0]", &prologue, "elem f32"), "a prologue has only");
    let reduce = |neutral: &str| {
        flat(&format!(
            "let (y_5: []f32) = kernel reduce {ADD} neutral ({neutral}) over [n_0] \\r_6 p_7 {good}"
        ))
    };
    assert_eq!(reduce("0.0f32"), Ok(()));
    rejected(reduce("0i64"), "a neutral element");
    rejected(
        flat(&format!("let (k_5: i64, c_9: []i64) = kernel filter over [n_0] \\r_6 p_7 {good}")),
        "no bool",
    );
}

#[test]
fn arrays_that_a_kernel_owns() {
    let own = |body: &str| {
        flat(&format!(
            "let (y_5: []f32) = kernel map (own xs_2 as a_8: [n_0]f32) over [n_0] \\r_6 p_7 {{ {body} }}"
        ))
    };
    let write = "let (b_9: [n_0]f32) = a_8 with [p_7] = 1.0f32";
    assert_eq!(own(&format!("{write} in (b_9)")), Ok(()));
    rejected(own(&format!("{write} in (a_8)")), "not its last version");
    let late = "let (x_10: f32) = a_8[p_7] let (c_11: [n_0]f32) = b_9 with [p_7] = x_10 in (c_11)";
    rejected(own(&format!("{write} {late}")), "read after it was updated");
    rejected(own("let (b_9: [n_0]f32) = xs_2 with [p_7] = 1.0f32 in (a_8)"), "not owned");
    let arms = "let (c_10: [n_0]f32) = if c_4 then { in (b_9) } else { in (a_8) } in (c_10)";
    rejected(own(&format!("{write} {arms}")), "not an owned array");
    let in_loop =
        format!("let (x_12: f32) = loop (t_10: f32 = 0.0f32) for i_11: i64 < n_0 do {{ {write} in (t_10) }}");
    rejected(own(&format!("{in_loop} in (a_8)")), "what is not its state");
}

#[test]
fn flat_scans_with_more_to_do() {
    let then = |results: &str, after: &str| {
        let body = format!("{{ let (x_8: f32) = xs_2[p_7] in ({results}) }}");
        let over = format!("over [n_0] \\r_6 p_7 {body} then {after}");
        flat(&format!("let (y_5: []f32) = kernel scan {ADD} neutral (0.0f32) {over}"))
    };
    let uses = "{ let (z_11: f32) = mul.f32(s_10, x_8) in (z_11) }";
    assert_eq!(then("x_8", &format!("(elem f32) \\(s_10: f32) {uses}")), Ok(()));
    assert_eq!(then("x_8", "(scatter (xs_2)) \\(s_10: f32) { in (p_7, s_10) }"), Ok(()));
    rejected(then("x_8, x_8", &format!("(elem f32) \\(s_10: f32) {uses}")), "results of the body");
    rejected(then("x_8", "(elem f32) \\() { in (x_8) }"), "parameters for prefixes");
    rejected(then("x_8", "(elem f32) \\(s_10: i64) { in (x_8) }"), "a parameter is not like its prefix");
    rejected(then("x_8", "(elem f32) \\(s_10: f32) { in (p_7) }"), "an output of f32");
    rejected(then("x_8", "() \\(s_10: f32) { in (s_10) }"), "no output");
    let own = "(own xs_2 as a_12: [0i64]f32) \\(s_10: f32) { in (a_12) }";
    rejected(then("x_8", own), "owns an array");
    let parsed = parse_flat(
        "fun f@0 (n_0: i64) -> () { kernel map () over [n_0] \\r_1 p_2 { in () } then () \\() { in () } }",
    );
    assert!(parsed.is_err());
}

#[test]
fn accumulators() {
    let begun = "let (z_6: [1i64]f64) = literal f64 [1.0f64] let (a_7: acc f64, b_8: i64) = accumulate z_6 ";
    let ended = "let (y_9: [1i64]f64) = accumulated a_7 ";
    let with = |inside: &str| core(&format!("{begun}{inside}{ended}"));
    assert_eq!(with("let (is_10: [1i64]i64) = literal i64 [b_8] add a_7 (is_10, z_6) "), Ok(()));
    rejected(with("add a_7 (z_6, z_6) "), "the places has type f64");
    rejected(with("add a_7 (xs_3, z_6) "), "the places");
    rejected(with("add b_8 (z_6, z_6) "), "the places");
    rejected(core(begun), "an accumulator does not end");
    rejected(
        core(&format!("{begun}{ended}let (w_10: [1i64]f64) = accumulated a_7 ")),
        "ends in another body",
    );
    rejected(core("let (a_7: acc f64, b_8: i64) = accumulate i_4"), "i_4 has rank 0");
    rejected(core("let (y_6: [1i64]f64) = accumulated i_4"), "i_4 is no accumulator");
    let looping = "let (c_10: acc f64) = loop (d_11: acc f64 = a_7) for j_12: i64 < n_0 do { in (d_11) } ";
    rejected(with(looping), "a body results in an accumulator");
    let entry = "fun f@0 (a_0: acc f64) -> () entry f (n: i64) -> () { in () }";
    rejected(verify_core(&parse_core(entry).unwrap()), "number 0 is no column");
    let gives = "fun f@0 (a_0: acc f64) -> (b_1: acc f64) { in (a_0) }";
    rejected(verify_core(&parse_core(gives).unwrap()), "a body results in an accumulator");
}

#[test]
fn tapes() {
    rejected(core("let (y_6: i64) = push i_4"), "i_4 has rank 0");
    rejected(core("let (y_6: i64) = push xs_3"), "no f64s are pushed");
    rejected(core("let (y_6: [i_4]f32) = tape i_4"), "has type [i_4]f32");
    rejected(core("let (y_6: [n_0]f64) = tape c_5"), "the size has type bool");
    let pushes = "let (z_6: [1i64]f64) = literal f64 [1.0f64] let (e_7: i64) = push z_6";
    let looping =
        format!("let (k_8: i64) = loop (a_9: i64 = i_4) while {{ {pushes} in (c_5) }} do {{ in (a_9) }}");
    rejected(core(&looping), "the condition of a loop pushes to a tape");
    assert_eq!(core(pushes), Ok(()));
    let entry = format!("fun f@0 (n_0: i64) -> () entry f (n: i64) -> () {{ {pushes} in () }}");
    let parsed = parse_core(&entry).unwrap();
    rejected(verify_core(&parsed), "an entry point pushes to no tape");
}

#[test]
fn sorts() {
    rejected(core("let (y_6: [n_0]u32) = sort (xs_3)"), "the bound variable has type");
    rejected(core("let (y_6: [n_0][~s_1]f32) = sort (xss_2)"), "no scalars are sorted");
    rejected(flat("let (y_6: []u64) = sort (is_3) over [n_0]"), "([]i64), not ([]u64)");
    rejected(flat("let (y_6: []u8) = sort (is_3, n_0) over [n_0]"), "which is no array");
}

#[test]
fn functions_of_kernels() {
    let with = |local: &str, call: &str| {
        let text = format!(
            "local fun f@0 {local}
             fun f@0 (n_0: i64, xs_1: []f32) -> () {{
               let (y_2: []f32) = kernel map (elem f32) over [n_0] \\r_3 p_4 {{ let (z_5: f32) = call @0 ({call}) in (z_5) }}
               in ()
             }}"
        );
        verify_flat(&parse_flat(&text).unwrap_or_else(|e| panic!("{e} in {text}")))
    };
    let body =
        "-> (o_12: f32) { let (x_13: f32) = ys_10[i_11] let (w_14: f32) = call @0 (ys_10, i_11) in (w_14) }";
    let reads = format!("(ys_10: [0i64]f32, i_11: i64) {body}");
    assert_eq!(with(&reads, "xs_1, p_4"), Ok(()));
    rejected(with(&reads, "p_4, xs_1"), "argument");
    rejected(with(&reads, "xs_1"), "argument");
    rejected(
        with(&format!("(ys_10: [i_11]f32, i_11: i64) {body}"), "xs_1, p_4"),
        "neither a scalar nor a flat array",
    );
    let rows = "(ys_10: [0i64][2i64]f32, i_11: i64) -> (o_12: f32) { in (0.0f32) }";
    rejected(with(rows, "xs_1, p_4"), "neither a scalar nor a flat array");
    let gives = "(ys_10: [0i64]f32, i_11: i64) -> (o_12: [0i64]f32) { in (ys_10) }";
    rejected(with(gives, "xs_1, p_4"), "no version of a parameter");
    let writes = "(ys_10: [0i64]f32, i_11: i64) -> (o_12: f32) { let (z_13: [0i64]f32) = ys_10 with [i_11] = 1.0f32 in (1.0f32) }";
    rejected(with(writes, "xs_1, p_4"), "not owned");
}
