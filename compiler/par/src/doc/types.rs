//! Types of documented functions, and which of them fit a type that is searched for.
//!
//! ```text
//! [][]a -> []a      flatten: [n][]a -> []a         the same but for names
//!                   join_with: []a -> [][]a -> []a  later: it takes a further argument
//! []i64 -> i64      i64.sum, last: [n]a -> a        the second is more general
//! ```

use par_syntax::ast::{Def, Name, Pat, PatKind, TypeArg, TypeExp, TypeKind};
use par_syntax::parse_type;
use std::collections::HashMap;

/// A type without its sizes.
#[derive(Clone, PartialEq, Debug)]
pub enum Type {
    /// A type variable.
    Var(String),
    /// A named type with arguments, a tuple (`()`), a record (the names of its fields), a sum (those of its constructors).
    Named(String, Vec<Type>),
    /// An array.
    Array(Box<Type>),
    /// A function of several arguments.
    Function(Vec<Type>, Box<Type>),
}

/// Most arguments of which every order is tried.
const PERMUTED: usize = 4;

/// Distance for an argument that is not in the type searched for.
const ANOTHER: usize = 4;

impl Type {
    /// The type of a definition; none if its result or a parameter says nothing of its type.
    pub(super) fn of(def: &Def) -> Option<Type> {
        let params: Option<Vec<Type>> = def.params.iter().map(of_pattern).collect();
        Some(Type::function(params?, Type::from(def.ret.as_ref()?)))
    }

    /// A type as somebody writes it who searches: names of one letter are variables. The error says what is wrong.
    pub fn parse(text: &str) -> Result<Type, String> {
        match parse_type(text, 0) {
            (Some(ty), diagnostics) if diagnostics.is_empty() => Ok(Type::from(&ty)),
            (_, diagnostics) => {
                Err(diagnostics.first().map_or("this is no type".to_string(), |d| d.message.clone()))
            }
        }
    }

    fn from(ty: &TypeExp) -> Type {
        let tuple =
            |name: &str, parts: &[TypeExp]| Type::Named(name.into(), parts.iter().map(Type::from).collect());
        match &ty.kind {
            TypeKind::Name(name, args) => named(name, args),
            TypeKind::Tuple(parts) => tuple("()", parts),
            TypeKind::Record(fields) => {
                let names: Vec<&str> = fields.iter().map(|(name, _)| name.name.as_str()).collect();
                Type::Named(
                    format!("{{{}}}", names.join(",")),
                    fields.iter().map(|(_, t)| Type::from(t)).collect(),
                )
            }
            TypeKind::Array(_, element) => Type::Array(Box::new(Type::from(element))),
            TypeKind::Unique(inner) | TypeKind::Exists(_, inner) => Type::from(inner),
            TypeKind::Arrow(_, from, to) => Type::function(vec![Type::from(from)], Type::from(to)),
            TypeKind::Sum(cases) => {
                let names: Vec<&str> = cases.iter().map(|(name, _)| name.name.as_str()).collect();
                let parts = cases.iter().flat_map(|(_, parts)| parts).map(Type::from).collect();
                Type::Named(names.join("|"), parts)
            }
        }
    }

    fn function(mut params: Vec<Type>, ret: Type) -> Type {
        match ret {
            ret if params.is_empty() => ret,
            Type::Function(more, ret) => {
                params.extend(more);
                Type::Function(params, ret)
            }
            ret => Type::Function(params, Box::new(ret)),
        }
    }

    /// The same type with other names for its variables.
    fn renamed(&self) -> Type {
        let all = |ts: &[Type]| ts.iter().map(Type::renamed).collect();
        match self {
            Type::Var(name) => Type::Var(format!("{name}'")),
            Type::Named(name, parts) => Type::Named(name.clone(), all(parts)),
            Type::Array(t) => Type::Array(Box::new(t.renamed())),
            Type::Function(params, ret) => Type::Function(all(params), Box::new(ret.renamed())),
        }
    }

    /// Distance of a function's type from one that is searched for: 0 if they differ in names only; more if one of them is more general, takes
    /// its arguments in another order, or takes further ones; none if they have nothing in common.
    pub(super) fn distance(&self, wanted: &Type) -> Option<usize> {
        let straight = Match::of(self, wanted);
        let (Type::Function(params, ret), Type::Function(others, _)) = (self, wanted) else {
            return straight;
        };
        if straight.is_some() || params.len() < others.len() || params.len() > PERMUTED {
            return straight;
        }
        let further = params.len() - others.len();
        let some = |order: &[usize]| {
            let params: Vec<Type> = order[..others.len()].iter().map(|i| params[*i].clone()).collect();
            // Of functions with further arguments, those that take anything (`const`, `|>`) say nothing.
            let is_any = further > 0 && params.iter().all(|t| matches!(t, Type::Var(_)));
            (!is_any).then(|| Match::of(&Type::Function(params, ret.clone()), wanted)).flatten()
        };
        let nearest = orders(params.len()).iter().filter_map(|order| some(order)).min();
        nearest.map(|d| d + 1 + ANOTHER * further)
    }
}

fn named(name: &Name, args: &[TypeArg]) -> Type {
    let types: Vec<Type> = args
        .iter()
        .filter_map(|a| if let TypeArg::Type(t) = a { Some(Type::from(t)) } else { None })
        .collect();
    let is_variable = name.path.is_empty() && name.base.chars().count() == 1 && types.is_empty();
    match is_variable {
        true => Type::Var(name.base.clone()),
        false => Type::Named(name.base.clone(), types),
    }
}

fn of_pattern(pat: &Pat) -> Option<Type> {
    match &pat.kind {
        PatKind::Ascribe(_, ty) => Some(Type::from(ty)),
        PatKind::Attr(_, inner) => of_pattern(inner),
        PatKind::Tuple(parts) => {
            let parts: Option<Vec<Type>> = parts.iter().map(of_pattern).collect();
            Some(Type::Named("()".into(), parts?))
        }
        _ => None,
    }
}

/// All orders of `n` things.
fn orders(n: usize) -> Vec<Vec<usize>> {
    let mut all = vec![Vec::new()];
    for i in 0..n {
        let longer = |order: &Vec<usize>| {
            (0..=order.len())
                .map(|at| {
                    let mut longer = order.clone();
                    longer.insert(at, i);
                    longer
                })
                .collect::<Vec<_>>()
        };
        all = all.iter().flat_map(longer).collect();
    }
    all
}

/// Unifier of two types: a substitution of their variables that makes the types equal.
struct Match {
    bound: HashMap<String, Type>,
    /// Variables that stand for something else than a variable of the other type.
    cost: usize,
}

impl Match {
    fn of(found: &Type, wanted: &Type) -> Option<usize> {
        let mut state = Match { bound: HashMap::new(), cost: 0 };
        // A quote keeps the variables of the two types apart.
        if !state.equal(found, &wanted.renamed()) {
            return None;
        }
        // Two variables that are one in the other type are less than the same.
        let mut names: Vec<&Type> = state.bound.values().filter(|t| matches!(t, Type::Var(_))).collect();
        let all = names.len();
        names.sort_by_key(|t| format!("{t:?}"));
        names.dedup();
        Some(state.cost + all - names.len())
    }

    fn equal(&mut self, a: &Type, b: &Type) -> bool {
        let (a, b) = (self.resolved(a), self.resolved(b));
        match (&a, &b) {
            (Type::Var(x), Type::Var(y)) if x == y => true,
            (Type::Var(name), other) | (other, Type::Var(name)) => {
                self.cost += usize::from(!matches!(other, Type::Var(_)));
                let is_finite = !self.occurs(name, other);
                self.bound.insert(name.clone(), other.clone());
                is_finite
            }
            (Type::Named(x, xs), Type::Named(y, ys)) => x == y && self.all(xs, ys),
            (Type::Array(x), Type::Array(y)) => self.equal(x, y),
            (Type::Function(xs, x), Type::Function(ys, y)) => self.all(xs, ys) && self.equal(x, y),
            _ => false,
        }
    }

    fn all(&mut self, xs: &[Type], ys: &[Type]) -> bool {
        xs.len() == ys.len() && xs.iter().zip(ys).all(|(x, y)| self.equal(x, y))
    }

    /// Type that a variable stands for, as far as that is known; another type is its own result.
    fn resolved(&self, ty: &Type) -> Type {
        match ty {
            Type::Var(name) => self.bound.get(name).map_or(ty.clone(), |t| self.resolved(t)),
            _ => ty.clone(),
        }
    }

    fn occurs(&self, name: &str, ty: &Type) -> bool {
        match self.resolved(ty) {
            Type::Var(other) => other == name,
            Type::Named(_, parts) => parts.iter().any(|t| self.occurs(name, t)),
            Type::Array(t) => self.occurs(name, &t),
            Type::Function(params, ret) => params.iter().chain([&*ret]).any(|t| self.occurs(name, t)),
        }
    }
}
