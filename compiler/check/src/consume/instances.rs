//! Calls that hand over a function which consumes its argument.
//!
//! ```text
//! def app f x = f x              consumes nothing: f may be anything
//! app step xs                    consumes xs, because step does: app is walked once more with step for f
//! map step xss                   consumes xss
//! ```
//!
//! The walk has roots of its own for everything that is not a function; those that are consumed by its end are consumed
//! by the call. Built-in functions have no body: they call what they are given on the elements of their arrays.

use super::alias::{Alias, Code, Function, Root, Roots, Signature, all};
use super::bind::{Kind, RootInfo};
use super::calls::Operand;
use super::{Body, Check, Frame};
use par_ir::hash::HashMap;
use par_runtime::Span;
use par_syntax::Diagnostic;
use std::rc::Rc;

/// Effect of a call that hands over certain functions.
#[derive(Clone)]
pub struct Instance {
    pub signature: Rc<Signature>,
    /// Values that some roots in its result stand for.
    pub values: Vec<(Root, Alias)>,
    /// Values that the functions were given before and the call consumes, with the number of the argument.
    pub consumed: Vec<(usize, Roots)>,
    /// The function that is handed over.
    pub through: Option<Span>,
    /// The mistake, if the function's body does not allow the call.
    wrong: Option<Diagnostic>,
}

impl Instance {
    fn general(signature: &Rc<Signature>) -> Instance {
        Instance {
            signature: signature.clone(),
            values: Vec::new(),
            consumed: Vec::new(),
            through: None,
            wrong: None,
        }
    }
}

impl<'p> Check<'p> {
    /// Keeps a function's body.
    pub(super) fn code(&mut self, body: Body<'p>) -> Code {
        self.bodies.push(body);
        Code::Body(self.bodies.len() - 1)
    }

    /// Effect of a call with these arguments.
    pub(super) fn instance(
        &mut self,
        signature: &Rc<Signature>,
        name: &str,
        args: &[Operand],
    ) -> Rc<Instance> {
        let more = |(param, arg): &(&Alias, &Operand)| self.consumes(&arg.alias, param);
        let Some((_, function)) = signature.params.iter().zip(args).find(more) else {
            return Rc::new(Instance::general(signature));
        };
        match signature.code {
            Code::Unknown => Rc::new(Instance::general(signature)),
            Code::Builtin => {
                let instance = self.builtin(signature, name, args);
                Rc::new(Instance { through: Some(function.span), ..instance })
            }
            Code::Body(i) => {
                let instance = self.known_instance(i, signature, args);
                let through = Some(function.span);
                if let Some(wrong) = &instance.wrong {
                    self.not_allowed(function, name, wrong);
                }
                Rc::new(Instance { through, ..(*instance).clone() })
            }
        }
    }

    /// True if a value is a function that consumes more than the parameter's type says, or holds one.
    pub(super) fn consumes(&self, value: &Alias, param: &Alias) -> bool {
        let unique = |params: &[Alias]| all(params).iter().any(|r| self.info(*r).unique);
        match (value, param) {
            (Alias::Function(_, f), _) if f.holds_consumer => true,
            (Alias::Function(_, f), Alias::Function(_, declared)) => {
                let (held, open) = f.signature.params.split_at(f.given.len());
                let declared = declared.signature.params.iter().map(Some).chain(std::iter::repeat(None));
                let more = |(has, says): (&Alias, Option<&Alias>)| {
                    let says = says.is_some_and(|p| unique(std::slice::from_ref(p)));
                    unique(std::slice::from_ref(has)) && !says
                };
                unique(held) || open.iter().zip(declared).any(more)
            }
            (Alias::Function(_, f), _) => unique(&f.signature.params),
            (Alias::Parts(parts), _) => {
                parts.iter().enumerate().any(|(i, p)| self.consumes(p, &param.part(i)))
            }
            (Alias::Scalar | Alias::Array(_), _) => false,
        }
    }

    /// A built-in function calls another one on all elements that it is given.
    fn builtin(&mut self, signature: &Signature, name: &str, args: &[Operand]) -> Instance {
        for arg in args {
            let Alias::Function(_, f) = &arg.alias else { continue };
            let params = f.signature.params.iter().zip(&f.given);
            let held: Roots = params
                .filter(|(p, _)| all(std::slice::from_ref(*p)).iter().any(|r| self.info(*r).unique))
                .flat_map(|(_, g)| g.alias.flat())
                .collect();
            if let Some(root) = held.first() {
                self.held_in_every_call(*root, arg, name);
            }
        }
        let taken = |alias: &Alias| match alias {
            Alias::Function(_, f) => {
                all(&f.signature.params[f.given.len()..]).iter().any(|r| self.info(*r).unique)
            }
            _ => false,
        };
        if !args.iter().any(|a| taken(&a.alias)) {
            return Instance::general(&Rc::new(Signature {
                params: signature.params.clone(),
                result: signature.result.clone(),
                code: signature.code,
            }));
        }
        let mut renamed = HashMap::default();
        let mut params = Vec::new();
        for param in &signature.params {
            if !matches!(param, Alias::Function(..)) {
                for root in param.flat() {
                    let info = RootInfo { unique: true, ..self.info(root).clone() };
                    renamed.insert(root, Alias::Array(Roots::from([self.new_root(info)])));
                }
            }
            params.push(param.substituted(&renamed));
        }
        let result = signature.result.cleared();
        Instance::general(&Rc::new(Signature { params, result, code: signature.code }))
    }

    /// The instance for these functions, which is made at the first call.
    fn known_instance(&mut self, body: usize, signature: &Rc<Signature>, args: &[Operand]) -> Rc<Instance> {
        let mut key = vec![body];
        args.iter().enumerate().for_each(|(i, a)| identity(i, &a.alias, &mut key));
        if let Some((known, _)) = self.instances.get(&key) {
            return known.clone();
        }
        let kept: Vec<Alias> = args.iter().map(|a| a.alias.clone()).collect();
        // A recursive call is taken for one with any function, if it hands over what it was given itself.
        if self.walked.iter().filter(|b| **b == body).count() > 1 {
            return Rc::new(Instance::general(signature));
        }
        self.instances.insert(key.clone(), (Rc::new(Instance::general(signature)), kept.clone()));
        self.walked.push(body);
        let instance = Rc::new(super::deep(|| self.walk_instance(body, signature, args)));
        self.walked.pop();
        self.instances.insert(key, (instance.clone(), kept));
        instance
    }

    fn walk_instance(&mut self, body: usize, general: &Signature, args: &[Operand]) -> Instance {
        let code = Code::Body(body);
        let Body { params, ret, body, is_definition } = self.bodies[body];
        let consumed = std::mem::take(&mut self.consumed);
        let frames = std::mem::take(&mut self.frames);
        let reported = std::mem::take(&mut self.reported);
        let diagnostics = std::mem::take(&mut self.diagnostics);
        let quiet = std::mem::replace(&mut self.quiet, false);
        let mark = self.mark();
        if !is_definition {
            self.frames.push(Frame { mark, is_loop: false, captured: Roots::new() });
        }
        let (mut values, mut opened) = (Vec::new(), Vec::new());
        for (i, (pat, arg)) in params.iter().zip(args).enumerate() {
            let param = self.open(pat, Kind::Param, true);
            let alias = self.handed(&param, &arg.alias, i, &mut values);
            self.bind(pat, &alias);
            opened.push(param);
        }
        let result = self.expr(body).fit(&body.ty);
        let result = ret.into_iter().fold(result, Alias::masked);
        let own = all(&opened);
        let of_functions: Roots = values.iter().map(|(_, root, _)| *root).collect();
        let keep = |r: Root| own.contains(&r) || of_functions.contains(&r) || self.outlives(r, mark);
        let result = result.pruned(&keep);
        for (root, declared) in own.into_iter().zip(all(&general.params)) {
            self.roots[root.0 as usize].unique =
                self.info(declared).unique || self.consumed.contains_key(&root);
        }
        let taken = |root: &Root| self.consumed.contains_key(root);
        let held = values.iter().filter(|(_, root, _)| taken(root)).map(|(i, _, value)| (*i, value.flat()));
        let held = held.collect();
        let wrong = std::mem::replace(&mut self.diagnostics, diagnostics).into_iter().next();
        (self.consumed, self.frames, self.reported, self.quiet) = (consumed, frames, reported, quiet);
        let signature = Rc::new(Signature { params: opened, result, code });
        let values = values.into_iter().map(|(_, root, value)| (root, value)).collect();
        Instance { signature, values, consumed: held, through: None, wrong }
    }

    /// A parameter where every function is the one that is given. What those were given before gets roots of its own.
    fn handed(
        &mut self,
        param: &Alias,
        arg: &Alias,
        i: usize,
        values: &mut Vec<(usize, Root, Alias)>,
    ) -> Alias {
        match (param, arg) {
            (Alias::Function(roots, _) | Alias::Array(roots), Alias::Function(_, f)) => {
                let given = f.given.iter().map(|g| {
                    let mut renamed = HashMap::default();
                    for root in g.alias.flat() {
                        let info = RootInfo { unique: true, ..self.info(root).clone() };
                        let new = self.new_root(info);
                        values.push((i, new, Alias::Array(Roots::from([root]))));
                        renamed.insert(root, Alias::Array(Roots::from([new])));
                    }
                    Operand { alias: g.alias.substituted(&renamed), ..g.clone() }
                });
                let given = given.collect();
                Alias::Function(roots.clone(), Function::new(f.signature.clone(), given, f.holds_consumer))
            }
            (Alias::Parts(params), Alias::Parts(args)) if params.len() == args.len() => {
                let parts = params.iter().zip(args);
                Alias::Parts(parts.map(|(p, a)| self.handed(p, a, i, values)).collect())
            }
            _ => param.clone(),
        }
    }
}

/// Adds which functions are in an argument.
fn identity(argument: usize, alias: &Alias, key: &mut Vec<usize>) {
    match alias {
        Alias::Function(_, f) if f.given.is_empty() => {
            key.extend([argument, Rc::as_ptr(&f.signature) as usize]);
        }
        Alias::Function(_, f) => key.extend([argument, Rc::as_ptr(f) as usize]),
        Alias::Parts(parts) => parts.iter().for_each(|p| identity(argument, p, key)),
        Alias::Scalar | Alias::Array(_) => {}
    }
}
