//! Printed programs read back: text to program to text, and program to text with spans to program.

use par_ir::parse::{parse_core, parse_flat};
use par_ir::print::{print_core, print_core_with_spans, print_flat, print_flat_with_spans};
use par_ir::verify::{verify_core, verify_flat};
use par_runtime::{CheckKind, Span};

const CORE: [&str; 5] = [
    include_str!("programs/ragged.core"),
    include_str!("programs/sequential.core"),
    include_str!("programs/updates.core"),
    include_str!("programs/tapes.core"),
    include_str!("programs/accumulators.core"),
];
const FLAT: &str = include_str!("programs/kernels.flat");

#[test]
fn core_round_trips() {
    for text in CORE {
        let program = parse_core(text).unwrap();
        verify_core(&program).unwrap();
        let printed = print_core(&program);
        assert_eq!(print_core(&parse_core(&printed).unwrap()), printed);
        let again = parse_core(&print_core_with_spans(&program)).unwrap();
        assert_eq!(again, program);
    }
}

#[test]
fn flat_round_trips() {
    let program = parse_flat(FLAT).unwrap();
    verify_flat(&program).unwrap();
    let printed = print_flat(&program);
    assert_eq!(print_flat(&parse_flat(&printed).unwrap()), printed);
    let again = parse_flat(&print_flat_with_spans(&program)).unwrap();
    assert_eq!(again, program);
}

#[test]
fn ropes_round_trip() {
    let text = "fun f@0 (xs_0: []i64, ys_1: [*]f32) -> ([*]i64, [*]f32)
{
  let (rope_2: [*]i64, origin_3: i64) = append (xs_0)
  in (rope_2, ys_1)
}
";
    let program = parse_flat(text).unwrap();
    verify_flat(&program).unwrap();
    assert_eq!(print_flat(&program), text);
}

#[test]
fn printing_is_readable() {
    let program =
        parse_core("fun f@0(n_0:i64)->(r_1:[n_0]f32){let(r_2:[n_0]f32)=replicate(n_0,0.5f32)in(r_2)}");
    let expected = "fun f@0 (n_0: i64) -> (r_1: [n_0]f32)\n{\n  let (r_2: [n_0]f32) = replicate (n_0, 0.5f32)\n  in (r_2)\n}\n";
    assert_eq!(print_core(&program.unwrap()), expected);
}

#[test]
fn names_and_checks_survive() {
    let mut program =
        parse_core("fun \"odd name^\"@0 () -> () { check false bounds (1i64, 2i64) @4:5:6 in () }").unwrap();
    assert_eq!(program.funs[0].name, "odd name^");
    assert_eq!(program.funs[0].body.stms[0].span, Span { file: 4, start: 5, end: 6 });
    let text = || "line\n\"quote\" and \\".to_string();
    let kinds = [
        CheckKind::Slice,
        CheckKind::DivisionByZero,
        CheckKind::NegativeExponent,
        CheckKind::NegativeSize,
        CheckKind::SizeMismatch(text()),
        CheckKind::RowLength,
        CheckKind::SegmentSum,
        CheckKind::Conflict,
        CheckKind::Assert(text()),
        CheckKind::Empty(text()),
        CheckKind::TooDeep,
        CheckKind::OutOfMemory,
        CheckKind::ZeroStep,
        CheckKind::Range,
        CheckKind::Other(text()),
    ];
    for kind in kinds {
        let par_ir::core::Exp::Check { kind: slot, .. } = &mut program.funs[0].body.stms[0].exp else {
            unreachable!()
        };
        *slot = kind;
        assert_eq!(parse_core(&print_core_with_spans(&program)).unwrap(), program);
    }
}

#[test]
fn traces_survive() {
    let core = "fun f@0 (n_0: i64, xs_1: [n_0]i32) -> ()\n{\n  trace \"a.par:1:2 \\\"x\\\"\" (n_0, xs_1): []i32\n  in ()\n}\n";
    assert_eq!(print_core(&parse_core(core).unwrap()), core);
    let flat = "fun f@0 (n_0: i64, d_1: desc, xs_2: []i32) -> ()\n{\n  trace \"a.par:1:2\" (n_0, d_1, xs_2): [][~]i32\n  in ()\n}\n";
    assert_eq!(print_flat(&parse_flat(flat).unwrap()), flat);
}

#[test]
fn choices_of_versions_survive() {
    let text = |choice: &str| {
        let arms = "then { in (n_0) } else { in (1i64) }";
        format!(
            "fun f@0 (n_0: i64, c_1: bool) -> (i64)\n{{\n  let (r_2: i64) = if c_1 versions {choice} {arms}\n  in (r_2)\n}}\n"
        )
    };
    for choice in [
        "calls (512)",
        "rows (8192)",
        "rows (8192, 6)",
        "positions (256)",
        "segments (4)",
        "columns (256)",
        "condition ()",
    ] {
        let text = text(choice);
        let program = parse_flat(&text).unwrap();
        verify_flat(&program).unwrap();
        assert_eq!(print_flat(&program), text);
    }
    for wrong in ["calls ()", "rows (1, 2, 3)", "arms (1)", "condition (1)"] {
        assert!(parse_flat(&text(wrong)).unwrap_err().contains("no choice of versions"), "{wrong}");
    }
}

#[test]
fn operator_names_make_variables() {
    let mut program = parse_core("fun f@0 (a_0: i64) -> (a_1: i64) { in (a_0) }").unwrap();
    program.vars.define(par_ir::Var(0), "+");
    program.vars.define(par_ir::Var(1), "0");
    let printed = print_core(&program);
    let again = parse_core(&printed).unwrap();
    assert_eq!(again.funs, program.funs);
    assert_eq!(print_core(&again), printed);
}

#[test]
fn malformed_text_is_an_error() {
    for text in [
        "fun",
        "fun f@1 () -> () { in () }",
        "fun f@0 () -> () { in (3) }",
        "\"",
        "fun f@0 () -> () { let x",
        "§",
    ] {
        assert!(parse_core(text).is_err(), "{text}");
        assert!(parse_flat(text).is_err(), "{text}");
    }
    for cut in (0..FLAT.len()).filter(|i| FLAT.is_char_boundary(*i)).step_by(7) {
        let _ = parse_flat(&FLAT[..cut]);
        let _ = parse_core(&FLAT[cut..]);
    }
}
