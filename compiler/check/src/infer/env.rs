//! Local names in scope while a definition is looked at.

use super::scope::ModId;
use crate::thir::{DefId, LocalId, Ty};
use par_ir::hash::HashMap;

/// Local names in scope, with a mark for every scope.
pub(super) struct Env<B> {
    pub(super) values: HashMap<String, Vec<(usize, B)>>,
    types: HashMap<String, Vec<TypeArg>>,
    pub(super) opens: Vec<(usize, ModId)>,
    /// The definition that is looked at, if its name inside it means another one's, if there is one ([`super::itself`]).
    pub(super) own: Option<DefId>,
    trail: Vec<Bound>,
}

/// Argument of a type parameter.
pub(super) struct TypeArg {
    pub(super) ty: Ty,
    /// Number of arrays around the place where it was written.
    pub(super) arrays: i32,
    /// Locals before this one were there before it.
    pub(super) first: LocalId,
}

impl TypeArg {
    /// A type without sizes.
    pub(super) fn of(ty: Ty) -> TypeArg {
        TypeArg { ty, arrays: 0, first: LocalId(0) }
    }
}

/// Binding of the newest entry of the scope.
enum Bound {
    Value(String),
    Type(String),
    Open,
}

impl<B> Default for Env<B> {
    fn default() -> Env<B> {
        Env {
            values: HashMap::default(),
            types: HashMap::default(),
            opens: Vec::new(),
            own: None,
            trail: Vec::new(),
        }
    }
}

impl<B> Env<B> {
    /// The present scope, for [`Env::reset`].
    pub(super) fn mark(&self) -> usize {
        self.trail.len()
    }

    /// Forgets everything bound since the mark.
    pub(super) fn reset(&mut self, mark: usize) {
        while self.trail.len() > mark {
            match self.trail.pop() {
                Some(Bound::Value(name)) => _ = self.values.get_mut(&name).and_then(Vec::pop),
                Some(Bound::Type(name)) => _ = self.types.get_mut(&name).and_then(Vec::pop),
                Some(Bound::Open) => _ = self.opens.pop(),
                None => {}
            }
        }
    }

    /// Binds a value name.
    pub(super) fn bind(&mut self, name: &str, binding: B) {
        let depth = self.trail.len();
        self.trail.push(Bound::Value(name.to_string()));
        self.values.entry(name.to_string()).or_default().push((depth, binding));
    }

    /// Binds a type parameter.
    pub(super) fn bind_type(&mut self, name: &str, arg: TypeArg) {
        self.trail.push(Bound::Type(name.to_string()));
        self.types.entry(name.to_string()).or_default().push(arg);
    }

    /// Brings a module's names into scope.
    pub(super) fn open(&mut self, module: ModId) {
        let depth = self.trail.len();
        self.trail.push(Bound::Open);
        self.opens.push((depth, module));
    }

    /// The local of a name.
    pub(super) fn value(&self, name: &str) -> Option<&B> {
        self.values.get(name).and_then(|b| b.last()).map(|(_, b)| b)
    }

    /// True if a name was bound since the mark.
    pub(super) fn is_bound_since(&self, mark: usize, name: &str) -> bool {
        self.values.get(name).and_then(|b| b.last()).is_some_and(|(depth, _)| *depth >= mark)
    }

    /// The values in scope by their names, the newest first.
    pub(super) fn visible(&self) -> Vec<(&str, &B)> {
        let mut found = Vec::new();
        for (name, bindings) in &self.values {
            found.extend(bindings.last().map(|(depth, binding)| (*depth, name.as_str(), binding)));
        }
        found.sort_unstable_by_key(|(depth, ..)| std::cmp::Reverse(*depth));
        found.into_iter().map(|(_, name, binding)| (name, binding)).collect()
    }

    /// The type parameter of a name.
    pub(super) fn ty(&self, name: &str) -> Option<&TypeArg> {
        self.types.get(name).and_then(|b| b.last())
    }
}
