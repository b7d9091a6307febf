//! The definitions that the compiler knows by name: array operations, and by a table the functions of the
//! numeric modules.

use super::value::{Shape, Val};
use super::{Lower, R, order};
use crate::thir::Def;
use par_ir::prim::{BinOp, CmpOp, SpecialOp, UnOp};
use par_ir::{Atom, Prim, PrimOp, Scalar};
use par_runtime::f16;
use par_syntax::diagnostic::Diagnostic;

impl<'p> Lower<'p> {
    /// An intrinsic with all its arguments.
    pub fn intrinsic(&mut self, def: &Def, types: &[Shape], args: Vec<Val<'p>>) -> R<Val<'p>> {
        let found = match def.name.rsplit_once('.') {
            Some((module, name)) if !name.is_empty() => match Prim::from_name(module) {
                Some(p) => self.numeric(p, name, &args)?,
                None => None,
            },
            _ => self.array_operation(&def.name, types, args)?,
        };
        found.ok_or_else(|| {
            let message = format!("internal error: the intrinsic `{}` is not known", def.name);
            Box::new(
                Diagnostic::error("E0999", message, self.place.span).label(def.name_span, "declared here"),
            )
        })
    }

    fn array_operation(&mut self, name: &str, types: &[Shape], mut args: Vec<Val<'p>>) -> R<Option<Val<'p>>> {
        Ok(Some(match (name, &args[..]) {
            ("map" | "map2" | "map3" | "map4" | "map5", [_, _, ..]) => {
                let f = args.remove(0);
                self.map(name, &f, args)?
            }
            ("zip" | "zip3" | "zip4" | "zip5", _) => self.zip(name, args)?,
            ("unzip" | "unzip3" | "unzip4" | "unzip5", [a]) => self.unzip(a)?,
            ("reduce" | "reduce_comm", [op, ne, a]) => self.reduce(op, ne.clone(), a)?,
            ("scan", [op, ne, a]) => self.scan(op, ne.clone(), a, false)?,
            ("exscan", [op, ne, a]) => self.scan(op, ne.clone(), a, true)?,
            ("filter", [p, a]) => self.filter(p, a)?,
            ("scatter", [dest, is, vs]) => self.checked_scatter(dest, is.clone(), vs.clone())?,
            ("hist", [op, ne, Val::Scalar(k, _), is, vs]) => {
                let dest = self.replicate(*k, ne)?;
                self.reduce_by_index(&dest, op, ne, is.clone(), vs.clone())?
            }
            ("reduce_by_index", [dest, op, ne, is, vs]) => {
                self.reduce_by_index(dest, op, ne, is.clone(), vs.clone())?
            }
            ("scatter_stream", [dest, f, bs]) => {
                let (is, vs) = self.writes(dest, f, bs)?;
                self.checked_scatter(dest, is, vs)?
            }
            ("reduce_by_index_stream", [dest, op, ne, f, bs]) => {
                let (is, vs) = self.writes(dest, f, bs)?;
                self.reduce_by_index(dest, op, ne, is, vs)?
            }
            ("write", [acc, Val::Scalar(i, _), v]) => self.write(acc, *i, v)?,
            ("iota", [Val::Scalar(n, _)]) => {
                self.check_size(*n);
                Val::vector(*n, self.iota(*n), Prim::I64)
            }
            ("replicate", [Val::Scalar(n, _), v]) => self.replicate(*n, v)?,
            ("head" | "last" | "init" | "tail", [a]) => self.end_of(name, name, a)?,
            ("first_here", [a]) => self.end_of("head", self.place.library_call.unwrap_or(name), a)?,
            ("length", [a]) => Val::i64(self.size_of(a)?),
            ("++" | "concat", [a, b]) => self.concat(a.clone(), b.clone())?,
            ("flatten", [a]) => self.flatten(a)?,
            ("unflatten_to", [Val::Scalar(n, _), Val::Scalar(m, _), a]) => self.unflatten(*n, *m, a)?,
            ("segments", [ls, a]) => self.segments(ls, a)?,
            ("lengths", [a]) => self.row_lengths(a)?,
            ("transpose", [a]) => self.transpose(a)?,
            ("order_bits", [a]) => self.order_bits(a)?,
            ("order_word", [Val::Scalar(w, _), x]) => self.order_word(*w, x)?,
            ("sort_by_word", [Val::Scalar(w, _), ks, vs]) => self.sort_by_word(*w, ks.clone(), vs.clone())?,
            (order::ARGSORT_PARTS, [ks]) => self.argsort_parts(ks)?,
            ("jvp" | "jvp2" | "vjp" | "vjp2", [f, x, direction]) => {
                self.derivative(name, types, [f, x, direction])?
            }
            ("gradient_error", [f, x]) => self.gradient_error(f, x)?,
            ("with_vjp", [f, back, x]) => self.with_vjp(f, back, x)?,
            ("with_vjp_tape", [f, back, x]) => self.with_vjp_tape(f, back, x)?,
            ("grad" | "value_and_grad", [f, x]) => self.gradient(name, types, f, x)?,
            ("leq", [a, b]) => Val::bool(self.less_or_equal(a, b)?),
            _ => return Ok(None),
        }))
    }

    /// Derivative of a function at `x`, forward (`jvp`) or in reverse (`vjp`); with the function's value if `name` ends in 2.
    fn derivative(&mut self, name: &str, types: &[Shape], [f, x, direction]: [&Val<'p>; 3]) -> R<Val<'p>> {
        let (forward, both) = (name.starts_with("jvp"), name.ends_with('2'));
        let (y, change) = if forward { self.jvp(f, x, direction)? } else { self.vjp(f, x, direction, both)? };
        let (like, shape) = if forward { (&y, types.get(1)) } else { (x, types.first()) };
        let change = self.with_constructors(change, like, shape.unwrap_or(&Shape::Unknown));
        Ok(if both { Val::Tuple(vec![y, change]) } else { change })
    }

    fn gradient(&mut self, name: &str, types: &[Shape], f: &Val<'p>, x: &Val<'p>) -> R<Val<'p>> {
        let both = name == "value_and_grad";
        let (y, change) = self.grad(f, x, both)?;
        let change = self.with_constructors(change, x, types.first().unwrap_or(&Shape::Unknown));
        Ok(if both { Val::Tuple(vec![y, change]) } else { change })
    }

    /// `p.name args`.
    fn numeric(&mut self, p: Prim, name: &str, args: &[Val<'p>]) -> R<Option<Val<'p>>> {
        let mut atoms = Vec::new();
        for a in args {
            match a {
                Val::Scalar(a, _) => atoms.push(*a),
                _ => return Err(self.internal("a numeric function has an argument that is no scalar")),
            }
        }
        if let (Some(from), [x]) = (Prim::from_name(name), &atoms[..]) {
            return Ok(Some(Val::Scalar(self.conv(from, p, *x), p)));
        }
        if let (Some(c), []) = (constant(p, name), &atoms[..]) {
            return Ok(Some(Val::Scalar(Atom::Const(c), c.prim())));
        }
        match named_op(p, name) {
            Some(op) if op.operands().len() == atoms.len() && op.is_valid() => {
                Ok(Some(Val::Scalar(self.prim(op, &atoms), op.result())))
            }
            _ if matches!(args.len(), 1 | 2) && !name.starts_with(char::is_alphabetic) => {
                self.operator(name, args).map(Some)
            }
            _ => Ok(None),
        }
    }
}

fn named_op(p: Prim, name: &str) -> Option<PrimOp> {
    if let Some(op) = UnOp::from_name(name) {
        return Some(PrimOp::Un(op, p));
    }
    if let Some(op) = binary(name) {
        return Some(PrimOp::Bin(op, p));
    }
    if let Some(op) = special(name) {
        return Some(PrimOp::Special(op, p));
    }
    Some(PrimOp::Cmp(
        match name {
            "lt" => CmpOp::Lt,
            "le" | "leq" => CmpOp::Le,
            "eq" => CmpOp::Eq,
            _ => return None,
        },
        p,
    ))
}

fn binary(name: &str) -> Option<BinOp> {
    Some(match name {
        "min" => BinOp::Min,
        "max" => BinOp::Max,
        "pow" => BinOp::Pow,
        "atan2" => BinOp::Atan2,
        "atan2pi" => BinOp::Atan2pi,
        "hypot" => BinOp::Hypot,
        "copysign" => BinOp::Copysign,
        "mul_hi" => BinOp::MulHi,
        _ => return None,
    })
}

fn special(name: &str) -> Option<SpecialOp> {
    Some(match name {
        "isnan" => SpecialOp::IsNan,
        "isinf" => SpecialOp::IsInf,
        "to_bits" => SpecialOp::ToBits,
        "from_bits" => SpecialOp::FromBits,
        "popc" => SpecialOp::Popc,
        "clz" => SpecialOp::Clz,
        "ctz" => SpecialOp::Ctz,
        "fma" => SpecialOp::Fma,
        "ldexp" => SpecialOp::Ldexp,
        "lerp" => SpecialOp::Lerp,
        "mad" => SpecialOp::Mad,
        "get_bit" => SpecialOp::GetBit,
        "set_bit" => SpecialOp::SetBit,
        _ => return None,
    })
}

fn constant(p: Prim, name: &str) -> Option<Scalar> {
    if p.is_integer() {
        let all_ones = Scalar::from_bits(p, u64::MAX);
        let top = 1u64 << (p.bits() - 1);
        return Some(match name {
            "num_bits" => Scalar::I32(p.bits() as i32),
            "highest" if p.is_signed() => Scalar::from_bits(p, top - 1),
            "highest" => all_ones,
            "lowest" if p.is_signed() => Scalar::from_bits(p, top),
            "lowest" => Scalar::zero(p),
            _ => return None,
        });
    }
    float_constant(p, name)
}

fn float_constant(p: Prim, name: &str) -> Option<Scalar> {
    use std::f64::consts;
    let (largest, smallest, epsilon) = match p {
        Prim::F16 => (f16::MAX.to_f64(), f16::MIN_POSITIVE.to_f64(), f16::EPSILON.to_f64()),
        Prim::F32 => (f32::MAX as f64, f32::MIN_POSITIVE as f64, f32::EPSILON as f64),
        _ => (f64::MAX, f64::MIN_POSITIVE, f64::EPSILON),
    };
    let value = match name {
        "nan" => f64::NAN,
        "inf" | "highest" => f64::INFINITY,
        "lowest" => f64::NEG_INFINITY,
        "largest" => largest,
        "smallest" => smallest,
        "epsilon" => epsilon,
        "pi" => consts::PI,
        "e" => consts::E,
        _ => return None,
    };
    Scalar::from_f64(p, value)
}
