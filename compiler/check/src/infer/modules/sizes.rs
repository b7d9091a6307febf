//! Sizes of a value and of its specification.
//!
//! ```text
//! val f [n]    : [n]i64 -> i64                  def f (xs: [3]i64) = …              only some sizes: an error
//! val g [n][m] : [n]i64 -> [m]i64 -> i64        def g [k] (xs: [k]i64) (ys: [k]i64) = …        two are one: an error
//! val h [n]    : [n]i64 -> [n]i64               def h (xs: []i64) : []i64 = …       checked when it is called
//! ```

use crate::thir::{Def, LocalId, Pat, PatKind, Size, Ty};
use par_ir::hash::HashMap;

/// The sizes of a definition, as far as they were compared.
pub(super) struct Sizes<'d> {
    def: &'d Def,
    /// Names of locals.
    names: &'d [String],
    /// Names in the specification of the sizes in the definition.
    known: HashMap<LocalId, Size>,
}

/// Difference between a definition and its specification.
pub(super) enum Wrong {
    /// A parameter has one size only.
    Fixed { asked: String, has: i64 },
    /// Two sizes have to be equal.
    Equal { asked: (String, String), has: String },
    /// The result has another size.
    Result { asked: String, has: String },
}

impl<'d> Sizes<'d> {
    pub(super) fn of(def: &'d Def, names: &'d [String]) -> Sizes<'d> {
        Sizes { def, names, known: HashMap::default() }
    }

    /// Compares with a specification that takes as many arguments.
    pub(super) fn compare(mut self, params: &[Pat], ret: &Ty) -> Option<Wrong> {
        let def = self.def;
        for (theirs, ours) in def.params.iter().zip(params) {
            if let (PatKind::Var(theirs), PatKind::Var(ours)) = (&theirs.kind, &ours.kind) {
                self.known.insert(*theirs, Size::Local(*ours));
            }
        }
        let params = def.params.iter().zip(params);
        let wrong = params.into_iter().find_map(|(theirs, ours)| self.ty(&theirs.ty, &ours.ty, false));
        wrong.or_else(|| self.ty(&def.ret, ret, true))
    }

    fn ty(&mut self, theirs: &Ty, ours: &Ty, result: bool) -> Option<Wrong> {
        match (theirs, ours) {
            (Ty::Unique(t), _) => self.ty(t, ours, result),
            (_, Ty::Unique(t)) => self.ty(theirs, t, result),
            (Ty::Array(has, t), Ty::Array(asked, u)) => {
                self.size(has, asked, result).or_else(|| self.ty(t, u, result))
            }
            (Ty::Tuple(ts), Ty::Tuple(us)) => ts.iter().zip(us).find_map(|(t, u)| self.ty(t, u, result)),
            (Ty::Record(ts), Ty::Record(us)) => {
                ts.iter().zip(us).find_map(|((_, t), (_, u))| self.ty(t, u, result))
            }
            _ => None,
        }
    }

    fn size(&mut self, has: &Size, asked: &Size, result: bool) -> Option<Wrong> {
        let text = self.show(asked)?;
        match has {
            Size::Const(_) if asked == has => None,
            Size::Const(n) if result => Some(Wrong::Result { asked: text, has: n.to_string() }),
            Size::Const(n) => Some(Wrong::Fixed { asked: text, has: *n }),
            Size::Local(local) => {
                let name = self.names.get(local.0 as usize)?.clone();
                match self.known.get(local).cloned() {
                    Some(first) if first == *asked => None,
                    Some(first) => {
                        let first = self.show(&first)?;
                        Some(match result {
                            true => Wrong::Result { asked: text, has: format!("`{name}`") },
                            false => Wrong::Equal { asked: (first, text), has: name },
                        })
                    }
                    None if self.def.size_params.contains(local) && !result => {
                        self.known.insert(*local, asked.clone());
                        None
                    }
                    None => None,
                }
            }
            Size::Anon | Size::Exp(_) | Size::Own { .. } => None,
        }
    }

    /// A size that is named or a number.
    fn show(&self, size: &Size) -> Option<String> {
        match size {
            Size::Const(n) => Some(n.to_string()),
            Size::Local(local) => self.names.get(local.0 as usize).cloned(),
            Size::Anon | Size::Exp(_) | Size::Own { .. } => None,
        }
    }
}

impl Wrong {
    pub(super) fn message(&self, name: &str) -> String {
        match self {
            Wrong::Fixed { .. } => {
                format!("`{name}` takes one size only, but the module type asks for another")
            }
            Wrong::Equal { .. } => {
                format!("`{name}` takes only arrays of equal size, but the module type lets the sizes differ")
            }
            Wrong::Result { .. } => {
                format!("the result of `{name}` has another size than the module type says")
            }
        }
    }

    /// About the definition.
    pub(super) fn here(&self) -> String {
        match self {
            Wrong::Fixed { has, .. } => format!("its parameter has size {has}"),
            Wrong::Equal { has, .. } => format!("both sizes are `{has}` here"),
            Wrong::Result { has, .. } => format!("its result has size {has}"),
        }
    }

    /// About the specification.
    pub(super) fn asked(&self) -> String {
        match self {
            Wrong::Fixed { asked, .. } => format!("size `{asked}` in the module type"),
            Wrong::Equal { asked: (a, b), .. } => format!("`{a}` and `{b}` in the module type"),
            Wrong::Result { asked, .. } => format!("size `{asked}` in the module type"),
        }
    }
}
