//! Declared sizes: bound where a name is met first, equated with the value's size afterwards.
//!
//! ```text
//! xs : [n]f32      xs has size k, n not bound yet:  n becomes k
//! ys : [n]f32      ys has size j:                   check j == k, and ys is used at size k from here on
//! m  : [n][3]f32   m is ragged:                     check that every row has length 3
//! ```

use super::element_sizes::Targets;
use super::env::Env;
use super::shape::Target;
use super::value::{Extent, Shape, Val};
use super::{Lower, R};
use crate::thir::{LocalId, Size, Ty};
use par_ir::prim::CmpOp;
use par_ir::{Atom, CheckKind, Dim, Prim, Span};
use par_syntax::diagnostic::Diagnostic;

/// Declaration of the sizes of `e : t` and `e :> t`, for messages.
pub(super) const ASCRIBED: &str = "the ascribed type";

/// Declaration of a size, for messages.
#[derive(Clone, Copy)]
pub(super) struct Declared<'a> {
    pub what: &'a str,
    pub span: Option<Span>,
    /// The sizes are known to hold: nothing is checked.
    pub trusted: bool,
}

impl<'p> Lower<'p> {
    /// Binds and equates the sizes that `ty` declares, and gives back the value at the declared sizes.
    pub fn enforce(&mut self, val: Val<'p>, ty: &'p Ty, env: &mut Env<'p>, declared: Declared) -> R<Val<'p>> {
        if !has_sizes(ty) {
            return Ok(val);
        }
        let mut out = Targets::default();
        self.targets(&val, ty, env, declared, &mut out)?;
        self.own_sizes(&mut out, declared)?;
        self.retype(&val, &out.targets)
    }

    fn targets(
        &mut self,
        val: &Val<'p>,
        ty: &'p Ty,
        env: &mut Env<'p>,
        declared: Declared,
        out: &mut Targets,
    ) -> R<()> {
        match (val, ty) {
            (_, Ty::Unique(t)) => self.targets(val, t, env, declared, out)?,
            (Val::Array(d, elem), Ty::Array(size, t)) => {
                let target = match out.mention(*d, size) {
                    true => Target::Keep,
                    false => self.target(*d, size, env, declared)?,
                };
                out.targets.push(target);
                out.above.push(*d);
                self.targets(elem, t, env, declared, out)?;
                out.above.pop();
            }
            (Val::Tuple(vs), Ty::Tuple(ts)) => {
                for (v, t) in vs.iter().zip(ts) {
                    self.targets(v, t, env, declared, out)?;
                }
            }
            (Val::Record(vs), Ty::Record(ts)) => {
                for ((_, v), (_, t)) in vs.iter().zip(ts) {
                    self.targets(v, t, env, declared, out)?;
                }
            }
            _ => out.targets.extend(val.dims().iter().map(|_| Target::Keep)),
        }
        Ok(())
    }

    fn target(&mut self, dim: Dim, size: &'p Size, env: &mut Env<'p>, declared: Declared) -> R<Target> {
        if let Size::Exp(e) = size {
            let is = match dim {
                Dim::Size(a) => Some(a),
                Dim::Seg(s) if super::solve::is_open(e, env) => Some(self.uniform(s, None)?),
                Dim::Seg(_) => None,
            };
            is.map_or(Ok(()), |is| self.solve(e, is, env))?;
        }
        let expected = self.declared_size(size, env)?;
        let actual = match dim {
            Dim::Size(a) => a,
            Dim::Seg(_) if *size == Size::Anon => return Ok(Target::Keep),
            Dim::Seg(_) if declared.trusted => {
                return Ok(expected.map_or(Target::Keep, |e| Target::To(Dim::Size(e))));
            }
            Dim::Seg(s) => match (expected, size) {
                (None, Size::Local(l)) if self.binding.widths.contains_key(l) => {
                    let otherwise = self.binding.widths[l];
                    self.uniform_or(s, None, otherwise)?
                }
                _ => self.uniform(s, expected)?,
            },
        };
        match (size, expected) {
            (_, Some(e)) => {
                if !declared.trusted {
                    let what = self.entry_size_text(size).unwrap_or_else(|| declared.what.to_string());
                    let same = self.equate(e, actual, &what, declared.span);
                    same.map_err(|diag| self.of_parts(diag, size, declared))?;
                }
                Ok(Target::To(Dim::Size(e)))
            }
            (Size::Local(l) | Size::Own { name: l, .. }, None) => {
                env.bind(*l, Val::i64(actual));
                if let Some((owners, name)) = &mut self.binding.entry_sizes {
                    owners.insert(*l, name.clone());
                }
                Ok(Target::To(Dim::Size(actual)))
            }
            _ => Ok(Target::Keep),
        }
    }

    /// The value of a declared size, if it has one by now.
    fn declared_size(&mut self, size: &'p Size, env: &Env<'p>) -> R<Option<Atom>> {
        Ok(match size {
            Size::Anon => None,
            Size::Const(n) => Some(Atom::i64(*n)),
            Size::Local(l) | Size::Own { name: l, .. } => match env.get(*l) {
                Some(Val::Scalar(a, p)) => {
                    let (a, p) = (*a, *p);
                    Some(self.conv(p, Prim::I64, a))
                }
                _ => None,
            },
            Size::Exp(e) => match self.eval(e, env, None)? {
                Val::Scalar(a, p) => Some(self.conv(p, Prim::I64, a)),
                _ => None,
            },
        })
    }

    /// E0401 for parts of a value whose type has one size for them, without saying which.
    pub fn of_parts(&self, diag: Box<Diagnostic>, size: &Size, declared: Declared) -> Box<Diagnostic> {
        let Size::Own { .. } = size else { return diag };
        let here = "parts of this that share a size in its type differ";
        let new = Diagnostic::error(&diag.code, diag.message.clone(), self.place.span).here(here);
        Box::new(match declared.span.filter(|span| *span != self.place.span) {
            Some(span) => new.label(span, "this type says that they have one size"),
            None => new,
        })
    }

    /// For a size name that two parameters of an entry point share: which ones.
    fn entry_size_text(&self, size: &Size) -> Option<String> {
        let (owners, name) = self.binding.entry_sizes.as_ref()?;
        let Size::Local(l) = size else { return None };
        let (owner, size) = (owners.get(l)?, &self.program.locals[l.0 as usize]);
        Some(match owner == name {
            true => format!("size `{size}` of `{name}`"),
            false => format!("size `{size}` of `{owner}` and of `{name}`"),
        })
    }

    /// Two sizes that must be equal; messages name them in this order. `declared` is where the first was declared.
    pub fn equate(&mut self, a: Atom, b: Atom, what: &str, declared: Option<Span>) -> R<()> {
        if a == b {
            return Ok(());
        }
        self.never_equal(a, b, what, declared)?;
        let cond = self.cmp(CmpOp::Eq, a, b);
        self.check_if_needed(cond, CheckKind::SizeMismatch(what.to_string()), vec![a, b]);
        Ok(())
    }

    /// E0401 for sizes that are known to differ.
    pub fn never_equal(&mut self, a: Atom, b: Atom, what: &str, declared: Option<Span>) -> R<()> {
        if let (Some(x), Some(y)) = (a.as_i64(), b.as_i64()) {
            return if x == y { Ok(()) } else { Err(Box::new(self.sizes_differ(x, y, what, declared))) };
        }
        let ((x, more), (y, other)) = (self.as_shift(a), self.as_shift(b));
        if x == y && more != other {
            return Err(Box::new(self.sizes_never_equal(more.wrapping_sub(other), what, declared)));
        }
        Ok(())
    }

    fn sizes_differ(&self, x: i64, y: i64, what: &str, declared: Option<Span>) -> Diagnostic {
        let message = format!("sizes differ: {x} and {y} ({what})");
        match (&self.place.walked, declared) {
            (Some((first, second)), _) => Diagnostic::error("E0401", message, *second)
                .here(format!("this has size {y}"))
                .label(*first, format!("this has size {x}")),
            (None, Some(span)) if span != self.place.span => {
                Diagnostic::error("E0401", message, self.place.span)
                    .here(format!("this has size {y}"))
                    .label(span, format!("size {x} is asked for here"))
            }
            _ if what == ASCRIBED => Diagnostic::error("E0401", message, self.place.span)
                .here(format!("this has size {y}, but its type says {x}")),
            _ => Diagnostic::error("E0401", message, self.place.span)
                .here(format!("sizes {x} and {y} meet here")),
        }
    }

    /// For sizes that are not known; the first is the second and `more`.
    fn sizes_never_equal(&self, more: i64, what: &str, declared: Option<Span>) -> Diagnostic {
        let by = more.unsigned_abs();
        let (above, below) = (format!("this is always {by} more"), format!("this is always {by} less"));
        let (of_first, of_second) = if more > 0 { (above, below) } else { (below, above) };
        let (first, second) = match (self.place.walked, declared.filter(|span| *span != self.place.span)) {
            (Some((first, second)), _) => (Some(first), second),
            (None, declared) => (declared, self.place.span),
        };
        let diag = Diagnostic::error("E0401", format!("sizes differ by {by} ({what})"), second);
        match first {
            Some(first) => diag.here(of_second).label(first, of_first),
            None => diag.here("the sizes meet here"),
        }
    }

    /// The type with its variables replaced and the sizes that are known.
    pub fn shape(&mut self, ty: &'p Ty, env: &Env<'p>) -> R<Shape> {
        Ok(match ty {
            Ty::Prim(p) => Shape::Prim(*p),
            Ty::Unique(t) => self.shape(t, env)?,
            Ty::Tuple(ts) => Shape::Tuple(ts.iter().map(|t| self.shape(t, env)).collect::<R<_>>()?),
            Ty::Record(fs) => {
                Shape::Record(fs.iter().map(|(n, t)| Ok((n.clone(), self.shape(t, env)?))).collect::<R<_>>()?)
            }
            Ty::Array(size, t) => {
                let extent = match (self.declared_size(size, env)?, size) {
                    (Some(a), _) => Extent::Is(a),
                    (None, Size::Anon | Size::Own { .. }) => Extent::Any,
                    (None, _) => Extent::Named,
                };
                Shape::Array(extent, Box::new(self.shape(t, env)?))
            }
            Ty::Var(v) => env.type_var(*v).cloned().unwrap_or(Shape::Unknown),
            Ty::Fun(..) => Shape::Fun,
            // Sizes inside a sum are every value's own.
            Ty::Sum(_) => self.type_arg(ty, env),
            Ty::Meta(_) | Ty::Abstract(..) => Shape::Unknown,
        })
    }

    /// The type without sizes, as an argument for a type parameter: every element has sizes of its own.
    pub fn type_arg(&self, ty: &Ty, env: &Env<'p>) -> Shape {
        match ty {
            Ty::Prim(p) => Shape::Prim(*p),
            Ty::Unique(t) => self.type_arg(t, env),
            Ty::Tuple(ts) => Shape::Tuple(ts.iter().map(|t| self.type_arg(t, env)).collect()),
            Ty::Record(fs) => {
                Shape::Record(fs.iter().map(|(n, t)| (n.clone(), self.type_arg(t, env))).collect())
            }
            Ty::Array(_, t) => Shape::Array(Extent::Any, Box::new(self.type_arg(t, env))),
            Ty::Var(v) => env.type_var(*v).map_or(Shape::Unknown, Shape::erased),
            Ty::Fun(..) => Shape::Fun,
            Ty::Sum(cs) => self.sum_shape(cs, env),
            Ty::Meta(_) | Ty::Abstract(..) => Shape::Unknown,
        }
    }
}

/// Binds size parameters that no argument mentions to the sizes that are wanted of the result.
pub(super) fn bind_wanted(ty: &Ty, want: &Shape, params: &[LocalId], env: &mut Env) {
    match (ty, want) {
        (Ty::Unique(t), want) => bind_wanted(t, want, params, env),
        (Ty::Array(size, t), Shape::Array(extent, elem)) => {
            if let (Size::Local(l), Extent::Is(a)) = (size, extent)
                && params.contains(l)
                && env.get(*l).is_none()
            {
                env.bind(*l, Val::i64(*a));
            }
            bind_wanted(t, elem, params, env);
        }
        (Ty::Tuple(ts), Shape::Tuple(wants)) => {
            ts.iter().zip(wants).for_each(|(t, w)| bind_wanted(t, w, params, env));
        }
        (Ty::Record(ts), Shape::Record(wants)) => {
            ts.iter().zip(wants).for_each(|((_, t), (_, w))| bind_wanted(t, w, params, env));
        }
        _ => {}
    }
}

/// True if any size is declared outside function types.
pub(super) fn has_sizes(ty: &Ty) -> bool {
    match ty {
        Ty::Array(size, t) => *size != Size::Anon || has_sizes(t),
        Ty::Tuple(ts) => ts.iter().any(has_sizes),
        Ty::Record(fs) => fs.iter().any(|(_, t)| has_sizes(t)),
        Ty::Unique(t) => has_sizes(t),
        _ => false,
    }
}

/// True if `Some` size is in a shape, so that it is worth passing on.
pub(super) fn is_informative(shape: &Shape) -> bool {
    match shape {
        Shape::Array(e, t) => matches!(e, Extent::Is(_)) || is_informative(t),
        Shape::Tuple(ts) => ts.iter().any(is_informative),
        Shape::Record(fs) => fs.iter().any(|(_, t)| is_informative(t)),
        _ => false,
    }
}
