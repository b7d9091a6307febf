//! `#[trace] e`: the value of `e`, which is also shown when the program runs.
//!
//! ```text
//! #[trace(sum)] xs      trace "a.par:3:12 sum" (n, xs): []i32
//! ```

use super::env::Env;
use super::recursion::columns;
use super::value::{Shape, Val};
use super::{Lower, R};
use crate::thir::Ty;
use par_ir::core::Exp;
use par_ir::{Dim, ValueType};
use par_syntax::ast::Attr;

impl<'p> Lower<'p> {
    /// Shows a value of a type; gives the value.
    pub fn trace(&mut self, attr: &Attr, val: Val<'p>, ty: &Ty, env: &Env<'p>) -> R<Val<'p>> {
        if val.has_fun() {
            return Err(self.function_value("a trace"));
        }
        // Counting is followed by another evaluation, which shows it.
        if self.context.counting == Some(self.context.inside) {
            return Ok(val);
        }
        let label = std::iter::once(self.sources.place(self.place.span)).chain(attr.args.iter().cloned());
        let label = label.collect::<Vec<_>>().join(" ");
        let shape = self.type_arg(ty, env);
        let shown = self.external(&val, &shape)?;
        let ty = shown_type(&shown, &shape);
        self.push(Vec::new(), Exp::Trace { label, ty, args: columns(&shown) });
        Ok(val)
    }
}

/// The type of a value at the boundary: what is irregular, the value says; what is a sum, its shape.
fn shown_type(val: &Val, shape: &Shape) -> ValueType {
    match (val, shape) {
        (Val::Scalar(_, p) | Val::Leaf(_, p), _) => ValueType::Prim(*p),
        (Val::Tuple(vs), Shape::Sum(layout)) => {
            let cases = vs.iter().skip(1).zip(&layout.cases);
            ValueType::Sum(cases.map(|(v, (n, ts))| (n.clone(), shown_types(v, ts))).collect())
        }
        (val @ Val::Tuple(_), Shape::Tuple(ts)) => ValueType::Tuple(shown_types(val, ts)),
        (val @ Val::Tuple(_), _) => ValueType::Tuple(shown_types(val, &[])),
        (Val::Record(vs), shape) => {
            let field = |i: usize| match shape {
                Shape::Record(fs) => fs.get(i).map_or(&Shape::Unknown, |f| &f.1),
                _ => &Shape::Unknown,
            };
            let fields = vs.iter().enumerate();
            ValueType::Record(fields.map(|(i, (n, v))| (n.clone(), shown_type(v, field(i)))).collect())
        }
        (Val::Array(d, e), shape) => {
            let elem = if let Shape::Array(_, elem) = shape { elem } else { &Shape::Unknown };
            let ragged = matches!(d, Dim::Seg(_));
            ValueType::Array { ragged, size: None, elem: Box::new(shown_type(e, elem)) }
        }
        (Val::Fun(_), _) => ValueType::Tuple(Vec::new()),
    }
}

/// Shown types of the parts of a tuple.
fn shown_types(val: &Val, shapes: &[Shape]) -> Vec<ValueType> {
    let Val::Tuple(vs) = val else { return Vec::new() };
    let shape = |i: usize| shapes.get(i).unwrap_or(&Shape::Unknown);
    vs.iter().enumerate().map(|(i, v)| shown_type(v, shape(i))).collect()
}
