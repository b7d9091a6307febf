//! Calls: arguments meet parameters, and what a parameter written `*t` takes is consumed.

use super::Check;
use super::alias::{Alias, Function, Root, Roots, all, leaves};
use super::bind::{Kind, RootInfo};
use super::walk::Place;
use crate::thir::{Expr, ExprKind};
use par_ir::hash::HashMap;
use par_runtime::Span;
use std::rc::Rc;

/// An argument or component that was computed.
#[derive(Clone, Debug)]
pub struct Operand {
    pub alias: Alias,
    pub span: Span,
    /// Its place, if it is a local or a component of one.
    pub place: Option<Place>,
}

/// Site at which something was consumed.
#[derive(Clone, Debug)]
pub struct Site {
    /// The argument.
    pub span: Span,
    /// The argument, if it is a local or a component of one.
    pub place: Option<Place>,
    /// The function that takes it.
    pub by: String,
    /// The initial value of the loop that consumes it as its state.
    pub init: Option<Span>,
    /// For a call of a function that was given the argument before: where that was, and the argument's name.
    pub held: Option<(Span, String)>,
    /// The function among the other arguments that consumes it.
    pub through: Option<Span>,
}

/// One array that a call is given.
pub struct Given {
    /// Index of the argument that it is, or is a part of.
    pub argument: usize,
    pub roots: Roots,
    pub span: Span,
    pub place: Option<Place>,
    pub consumed: bool,
}

impl<'p> Check<'p> {
    /// `f a b …`.
    pub(super) fn call(&mut self, f: &'p Expr, args: &'p [Expr]) -> Alias {
        let operator = self.library_function(f);
        let function = self.operand(f);
        let mut operands: Vec<Operand> = args.iter().map(|a| self.operand(a)).collect();
        self.still_there(&function);
        operands.iter().for_each(|o| self.still_there(o));
        if matches!(operator.as_deref(), Some("scatter_stream" | "reduce_by_index_stream")) {
            operands.iter().for_each(|o| self.gives_back(o));
        }
        // `x |> f` and `f <| x` are calls of `f`.
        let piped = match (operator.as_deref(), args) {
            (Some("|>"), [_, f]) => Some((1, f)),
            (Some("<|"), [f, _]) => Some((0, f)),
            _ => None,
        };
        match piped {
            Some((i, f)) => {
                let function = operands.remove(i);
                self.apply(function, &self.called(f), operands)
            }
            None => self.apply(function, &self.called(f), operands),
        }
    }

    /// A function that is given an accumulator must give it back, and no other one.
    fn gives_back(&mut self, function: &Operand) {
        let Alias::Function(_, f) = &function.alias else { return };
        let own = all(&f.signature.params);
        if let Some(other) = f.signature.result.flat().difference(&own).next() {
            self.other_accumulator(*other, function.span);
        }
    }

    /// The library's function that is called.
    fn library_function(&self, f: &'p Expr) -> Option<String> {
        let ExprKind::Def(id, _) = f.kind else { return None };
        let def = &self.program.defs[id.0 as usize];
        def.library.then(|| def.name.clone())
    }

    /// Name of the function that is called, for messages.
    fn called(&self, f: &'p Expr) -> String {
        match &f.kind {
            ExprKind::Def(id, _) => format!("`{}`", self.program.defs[id.0 as usize].name),
            ExprKind::Apply(f, _) => self.called(f),
            _ => self
                .place(f)
                .map_or_else(|| "this function".to_string(), |((_, name), _)| format!("`{name}`")),
        }
    }

    fn apply(&mut self, function: Operand, name: &str, mut args: Vec<Operand>) -> Alias {
        let (captured, known) = match function.alias {
            Alias::Function(captured, known) if !known.signature.params.is_empty() => (captured, known),
            // Nothing is known about it, so it may give back anything.
            other => {
                let known = [other].into_iter().chain(args.into_iter().map(|a| a.alias));
                return Alias::Array(known.flat_map(|a| a.flat()).collect());
            }
        };
        let missing = known.signature.params.len() - known.given.len();
        if args.len() < missing {
            return self.hold(captured, &known, name, args);
        }
        let rest = args.split_off(missing);
        let function = Operand { alias: Alias::Scalar, ..function };
        let result = self.saturated(&function, &captured, &known, name, args);
        if rest.is_empty() {
            return result;
        }
        self.apply(Operand { alias: result, span: function.span, place: None }, name, rest)
    }

    /// A call with all its arguments.
    fn saturated(
        &mut self,
        function: &Operand,
        captured: &Roots,
        known: &Function,
        name: &str,
        args: Vec<Operand>,
    ) -> Alias {
        let before = known.given.len();
        let args: Vec<Operand> = known.given.iter().cloned().chain(args).collect();
        let instance = self.instance(&known.signature, name, &args);
        let (mut values, given) = self.meet(&instance.signature.params, &args);
        values.extend(instance.values.iter().map(|(root, value)| (*root, value.clone())));
        let (held, given): (Vec<Given>, Vec<Given>) = given.into_iter().partition(|g| g.argument < before);
        let of_held: Roots = held.iter().flat_map(|g| g.roots.iter().copied()).collect();
        self.overlaps(&given, &captured.difference(&of_held).copied().collect(), name);
        for g in given.iter().filter(|g| g.consumed) {
            let declared = all(&known.signature.params[g.argument..=g.argument]);
            let through = instance.through.filter(|_| !declared.iter().any(|r| self.info(*r).unique));
            self.consume_argument(g, name, through);
        }
        for given in held.iter().filter(|g| g.consumed) {
            self.consume_held(function, &given.roots, name);
        }
        for (argument, roots) in &instance.consumed {
            self.consume_held(&args[*argument], roots, name);
        }
        instance.signature.result.substituted(&values)
    }

    /// A function with some of its arguments. What it will consume is given up already, once for the one call that it
    /// allows: it becomes a root which that call consumes.
    fn hold(&mut self, mut captured: Roots, known: &Function, name: &str, args: Vec<Operand>) -> Alias {
        let before = known.given.len();
        let (_, given) = self.meet(&known.signature.params[before..], &args);
        self.overlaps(&given, &captured, name);
        let mut held: Vec<Operand> = known.given.clone();
        held.extend(args);
        for g in &given {
            if !g.consumed {
                captured.extend(&g.roots);
                continue;
            }
            self.consume_argument(g, name, None);
            let argument = g.place.as_ref().map_or("the argument", |(_, name)| name);
            let root = self.new_root(RootInfo {
                name: argument.to_string(),
                owner: None,
                span: g.span,
                kind: Kind::Held,
                unique: true,
                accumulator: false,
            });
            captured.insert(root);
            let alias = &mut held[before + g.argument].alias;
            let taken: HashMap<Root, Alias> =
                g.roots.iter().map(|r| (*r, Alias::Array(Roots::from([root])))).collect();
            *alias = match g.roots.is_empty() {
                true => alias.clone().join(Alias::Array(Roots::from([root]))),
                false => alias.substituted(&taken),
            };
        }
        let signature = known.signature.clone();
        let consumer = known.holds_consumer || held.iter().any(|g| self.consumes(&g.alias, &Alias::Scalar));
        Alias::Function(captured, Function::new(signature, held, consumer))
    }

    /// Consumes what a function was given before it is called.
    fn consume_held(&mut self, function: &Operand, roots: &Roots, by: &str) {
        let held = roots.iter().map(|r| self.info(*r)).find(|info| info.kind == Kind::Held);
        let held = held.map(|info| (info.span, info.name.clone()));
        let site = Site {
            span: function.span,
            place: function.place.clone(),
            by: by.to_string(),
            init: None,
            held,
            through: None,
        };
        self.consume(roots, &Rc::new(site));
    }

    /// The values of the roots of parameters, and every array that is given. The result does not share what is consumed.
    fn meet(&self, params: &[Alias], args: &[Operand]) -> (HashMap<Root, Alias>, Vec<Given>) {
        let (mut values, mut given) = (HashMap::default(), Vec::new());
        for (argument, (param, arg)) in params.iter().zip(args).enumerate() {
            for (root, value) in leaves(param, &arg.alias) {
                let consumed = self.info(root).unique;
                let roots = value.flat();
                given.push(Given { argument, roots, span: arg.span, place: arg.place.clone(), consumed });
                values.insert(root, if consumed { value.cleared() } else { value });
            }
        }
        (values, given)
    }

    /// Reports an array that is consumed and given a second time, also as part of what the function captured.
    pub(super) fn overlaps(&mut self, given: &[Given], captured: &Roots, name: &str) {
        for (i, taken) in given.iter().enumerate().filter(|(_, g)| g.consumed) {
            let other = given.iter().enumerate().find(|(j, g)| *j != i && !g.roots.is_disjoint(&taken.roots));
            if let Some((_, other)) = other {
                return self.given_twice(taken, other, name);
            }
            if !captured.is_disjoint(&taken.roots) {
                return self.captured_too(taken, captured, name);
            }
        }
    }

    fn consume_argument(&mut self, given: &Given, name: &str, through: Option<Span>) {
        let (place, by) = (given.place.clone(), name.to_string());
        let site = Site { span: given.span, place, by, init: None, held: None, through };
        self.consume(&given.roots, &Rc::new(site));
    }

    /// Consumes, or reports why that may not be.
    pub(super) fn consume(&mut self, roots: &Roots, site: &Rc<Site>) {
        for root in roots {
            if let Some(frame) = self.frames.iter().rev().find(|f| self.outlives(*root, f.mark)) {
                let is_loop = frame.is_loop;
                return self.consumed_inside(*root, site, is_loop);
            }
            let info = self.info(*root);
            if !matches!(info.kind, Kind::Own | Kind::Held) && !info.unique {
                return self.not_consumable(*root, site);
            }
        }
        for root in roots {
            self.consumed.entry(*root).or_insert_with(|| site.clone());
        }
    }
}
