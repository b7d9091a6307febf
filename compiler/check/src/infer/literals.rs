//! Number literals: their class while inferring, their value once the type is known.

use super::Cx;
use super::types::{Class, PrimSet};
use crate::thir::{Expr, ExprKind, Ty};
use par_runtime::{Prim, Scalar, Span, float16};
use par_syntax::ast::Literal;
use par_syntax::{Diagnostic, Severity};

/// A number as written, with its sign.
#[derive(Clone, Debug)]
pub(super) struct Number {
    pub(super) value: Value,
    /// Its type is written behind it.
    pub(super) suffixed: bool,
    pub(super) span: Span,
}

/// The value of a number without a type.
#[derive(Clone, Debug)]
pub(super) enum Value {
    /// With the sign.
    Int(i128),
    /// Text and whether it is negated.
    Float(String, bool),
}

impl Cx<'_> {
    /// Notes a number (or character); the result stands for it in the tree until the component is finished.
    pub(super) fn number(&mut self, literal: &Literal, negative: bool, span: Span) -> Option<(Scalar, Ty)> {
        let (value, suffix, class) = match literal {
            Literal::Int { value, suffix } => {
                let value = if negative { value.wrapping_neg() } else { *value };
                (Value::Int(value), *suffix, PrimSet::numbers())
            }
            Literal::Float { text, suffix } => {
                (Value::Float(text.clone(), negative), *suffix, PrimSet::floats())
            }
            Literal::Char(c) => {
                let value = *c as i128;
                (Value::Int(if negative { -value } else { value }), None, PrimSet::integers())
            }
            Literal::Bool(_) | Literal::String(_) => return None,
        };
        let ty = match suffix {
            Some(prim) => Ty::Prim(prim),
            None => self.types.fresh(Class::Prims(class)),
        };
        self.component.literals.push(Number { value, suffixed: suffix.is_some(), span });
        Some((Scalar::I64(self.component.literals.len() as i64 - 1), ty))
    }

    /// True if an expression is a number that may have several types.
    pub(super) fn is_plain_number(&self, e: &Expr) -> bool {
        let ExprKind::Literal(Scalar::I64(index)) = e.kind else { return false };
        self.component.literals.get(index as usize).is_some_and(|n| !n.suffixed)
    }

    /// The value of a number of the tree at its type; reports what does not fit.
    pub(super) fn finish_number(&mut self, index: Scalar, ty: &Ty) -> Scalar {
        let (Some(index), Ty::Prim(prim)) = (index.as_i64(), ty) else { return index };
        let Some(number) = self.component.literals.get(index as usize).cloned() else {
            return Scalar::zero(*prim);
        };
        let result = match &number.value {
            Value::Int(value) if number.suffixed && prim.is_integer() => {
                Ok(self.wrapped(*value, *prim, number.span))
            }
            Value::Int(value) => self.integer(*value, *prim, number.span),
            Value::Float(text, negative) => float(text, *negative, *prim),
        };
        result.unwrap_or_else(|reason| {
            let text = self.sources.text(number.span).to_string();
            let message = format!("the number `{text}` does not fit `{prim}`");
            self.diags.push(Diagnostic::error("E0306", message, number.span).here(reason));
            Scalar::zero(*prim)
        })
    }

    /// An integer whose type is written behind it: of one that is too large the low bits count.
    fn wrapped(&mut self, value: i128, prim: Prim, span: Span) -> Scalar {
        let wrapped = Scalar::from_bits(prim, value as u64);
        if let Err(reason) = self.integer(value, prim, span) {
            let message = format!("the number `{}` is {wrapped}", self.sources.text(span));
            self.diags.push(Diagnostic::new(Severity::Warning, "W0206", message, span).here(reason));
        }
        wrapped
    }

    /// An integer at its type. Hexadecimal and binary numbers are bit patterns, so they may use the sign bit.
    fn integer(&self, value: i128, prim: Prim, span: Span) -> Result<Scalar, String> {
        match prim {
            Prim::F16 | Prim::F32 | Prim::F64 => return float(&value.to_string(), false, prim),
            Prim::Bool => return Err("a number is not a bool".to_string()),
            _ => {}
        }
        let whole = 1i128 << prim.bits();
        let (low, high) = if prim.is_signed() { (-whole / 2, whole / 2 - 1) } else { (0, whole - 1) };
        let text = self.sources.text(span);
        let pattern = ["0x", "0X", "0b", "0B"].iter().any(|prefix| text.starts_with(prefix));
        if value < low || value > if pattern { whole - 1 } else { high } {
            return Err(format!("`{prim}` holds {low} to {high}"));
        }
        Ok(Scalar::from_bits(prim, value as u64))
    }
}

fn float(text: &str, negative: bool, prim: Prim) -> Result<Scalar, String> {
    let mut digits: String = text.chars().filter(|c| *c != '_').collect();
    let hex = digits.strip_prefix("0x").or_else(|| digits.strip_prefix("0X"));
    let value = match hex {
        Some(hex) => {
            let magnitude = par_runtime::hex_float(hex).ok_or("it cannot be read as a hexadecimal number")?;
            Scalar::from_f64(prim, if negative { -magnitude } else { magnitude })
        }
        None => {
            if negative {
                digits.insert(0, '-');
            }
            decimal(&digits, prim)
        }
    };
    match value {
        None => Err("a number with a fraction is not an integer".to_string()),
        Some(x) if x.is_infinite() => Err(format!("it is too large for `{prim}`")),
        Some(x) => Ok(x),
    }
}

/// A decimal number, rounded once; the lexer has seen to its form.
fn decimal(digits: &str, prim: Prim) -> Option<Scalar> {
    match prim {
        Prim::F16 => float16::from_decimal(digits).map(Scalar::F16),
        Prim::F32 => digits.parse().ok().map(Scalar::F32),
        Prim::F64 => digits.parse().ok().map(Scalar::F64),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floats() {
        assert_eq!(float("1_0.5", true, Prim::F64), Ok(Scalar::F64(-10.5)));
        assert_eq!(float("0x1.8p1", false, Prim::F32), Ok(Scalar::F32(3.0)));
        assert_eq!(float("1e-3", false, Prim::F32), Ok(Scalar::F32(0.001)));
        assert!(float("1.5", false, Prim::I32).is_err());
        assert!(float("1e400", false, Prim::F64).is_err());
        assert!(float("1e40", true, Prim::F32).is_err());
        assert_eq!(float("0x1.004p0", false, Prim::F16), Ok(Scalar::from_bits(Prim::F16, 0x3c01)));
        assert!(float("65520", false, Prim::F16).is_err());
    }
}
