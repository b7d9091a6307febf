//! The operator of a fold: an object with what it captures, as the templates want it.

use super::body::{Bodies, Result};
use super::kernel::Source;
use super::text::{atom, ty};
use par_ir::Prim;
use par_ir::core::{Body, Exp, Lambda, LoopForm};
use par_ir::prim::{BinOp, PrimOp, UnOp};
use par_ir::ty::Atom;

/// Writes the types `Value`, what is combined, and `Op`.
pub fn operator(b: &mut Bodies, s: &Source, op: &Lambda, k: usize) -> Result {
    let fields: String = s.combined.iter().enumerate().map(|(i, p)| format!("{} v{i}; ", ty(*p))).collect();
    b.text.line(format!("struct Value {{ {fields}}};"));
    b.text.open("struct Op : par::Operator {");
    b.text.line("using T = Value;");
    if is_exact(&op.body) {
        b.text.line("static constexpr bool exact = true;");
    }
    if is_commutative(op) {
        b.text.line("static constexpr bool commutative = true;");
    }
    b.text.line(format!("const {}& k;", s.class));
    b.text.line(format!("PAR_INLINE explicit Op(const {}& k_) : k(k_) {{}}", s.class));
    let neutral: Vec<String> = (0..k).map(|i| format!("k.neutral{i}")).collect();
    b.text.line(format!("PAR_INLINE Value neutral() const {{ return {{{}}}; }}", neutral.join(", ")));
    b.text.line("PAR_INLINE Value operator()(const Value& a, const Value& b) const {");
    b.text.line("    Value result = a;");
    b.text.line("    k.combine(a, b, result);");
    b.text.line("    return result;");
    b.text.line("}");
    if let Some(function) = atomic(op, &s.combined) {
        let bits = if s.combined[0].size() == 8 { "u64" } else { "u32" };
        let word = if matches!(function, "atomicMin" | "atomicMax") { ty(s.combined[0]) } else { bits };
        b.text.line("PAR_INLINE void update(Value* at, const Value& v) const {");
        b.text.line(format!("    {function}(reinterpret_cast<{word}*>(at), {word}(v.v0));"));
        b.text.line("}");
    }
    b.text.close("};");
    combine(b, op, k)
}

/// The operator's body, as a function of the kernel, whose members it captures. What fails there comes after what
/// fails at a position.
fn combine(b: &mut Bodies, op: &Lambda, k: usize) -> Result {
    b.text.open("PAR_INLINE bool combine(const Value& a, const Value& b, Value& result) const {");
    b.text.line("const par::Here here{failure, launch, par::after_all, par::lowest_address(stack)};");
    for (i, p) in op.params.iter().enumerate() {
        let (side, i) = if i < k { ("a", i) } else { ("b", i - k) };
        let line = format!("const {} = {side}.v{i};", b.declared(p));
        b.text.line(line);
    }
    b.stms(&op.body.stms)?;
    let results: Vec<String> = op.body.results.iter().map(|a| atom(a, b.vars)).collect();
    b.text.line(format!("result = {{{}}};", results.join(", ")));
    b.text.line("return true;");
    b.text.close("}");
    Ok(())
}

/// True if any grouping gives the same bits: nothing in it rounds.
pub fn is_exact(body: &Body) -> bool {
    body.stms.iter().all(|s| match &s.exp {
        Exp::Prim(op, _) => !rounds(*op),
        Exp::Call(..) => false,
        Exp::Loop { form: LoopForm::While(cond), body, .. } => is_exact(cond) && is_exact(body),
        exp => exp.bodies().into_iter().all(is_exact),
    })
}

fn rounds(op: PrimOp) -> bool {
    let exact = matches!(
        op,
        PrimOp::Bin(BinOp::Min | BinOp::Max | BinOp::Copysign, _)
            | PrimOp::Un(UnOp::Neg | UnOp::Abs | UnOp::Sgn | UnOp::Floor | UnOp::Ceil | UnOp::Trunc, _)
            | PrimOp::Select(_)
    );
    op.result().is_float() && !exact
}

/// The atomic operation on a word that the operator is.
pub fn atomic(op: &Lambda, combined: &[Prim]) -> Option<&'static str> {
    let ([stm], [prim]) = (op.body.stms.as_slice(), combined) else { return None };
    let Exp::Prim(PrimOp::Bin(f, p), operands) = &stm.exp else { return None };
    let params: Vec<Atom> = op.params.iter().map(|p| Atom::Var(p.var)).collect();
    let is_of_params = *operands == params && op.body.results == [Atom::Var(stm.pat[0].var)];
    if !is_of_params || p != prim || !p.is_integer() || p.size() < 4 {
        return None;
    }
    Some(match f {
        BinOp::Add => "atomicAdd",
        BinOp::Min => "atomicMin",
        BinOp::Max => "atomicMax",
        BinOp::And => "atomicAnd",
        BinOp::Or => "atomicOr",
        BinOp::Xor => "atomicXor",
        _ => return None,
    })
}

/// True if operands may change places: a single operator on integers or bools that is known for it.
fn is_commutative(op: &Lambda) -> bool {
    let [stm] = op.body.stms.as_slice() else { return false };
    let commutes = |f: BinOp| {
        use BinOp::*;
        matches!(f, Add | Mul | Min | Max | And | Or | Xor)
    };
    matches!(&stm.exp, Exp::Prim(PrimOp::Bin(f, p), _) if commutes(*f) && !p.is_float())
}
