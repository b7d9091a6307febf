//! Definitions that no entry point reaches: their errors are found by evaluating them once with arguments of which only
//! the type is known. What comes of it is thrown away.
//!
//! ```text
//! def f (xs: [3]i64) = map2 (+) xs [1, 2]        E0401, whoever calls it
//! def g xs = unflatten xs                        whether its sizes are known depends on the call: nothing to report
//! ```
//!
//! Type parameters are taken for a scalar type, function parameters for functions that give back anything.

use super::build::Block;
use super::calls::def_env;
use super::env::Env;
use super::value::{Fun, Shape, Unknown, Val};
use super::{Lower, R};
use crate::thir::{Def, DefId, Size, Ty};
use par_ir::{Atom, Dim, Prim, Type};
use std::collections::HashSet;
use std::rc::Rc;

/// What does not depend on the call.
const REPORTED: [&str; 3] = ["E0401", "E0511", "E0514"];

impl<'p> Lower<'p> {
    /// Reports what is wrong with the user's definitions that were not evaluated for an entry point.
    pub fn unreached(&mut self, wanted: &dyn Fn(&Def) -> bool) {
        let program = self.program;
        let functions = self.out.funs.len();
        let warnings = self.diagnostics.len();
        let group = |d: &DefId| program.defs[d.0 as usize].group;
        let mut groups: HashSet<u32> = self.reached.iter().filter_map(group).collect();
        for (i, def) in program.defs.iter().enumerate() {
            let id = DefId(i as u32);
            // Those that call each other are evaluated together.
            let group = def.group.is_some_and(|g| groups.contains(&g));
            let known = def.library || def.entry || group || self.reached.contains(&id);
            if known || def.open || !wanted(def) {
                continue;
            }
            self.blocks = vec![Block::default()];
            (self.depth, self.emitted) = (0, 0);
            self.enter(def.name_span);
            let found = self.evaluate(id, def).err();
            self.blocks.clear();
            groups.extend(def.group);
            let Some(diag) = found.filter(|d| REPORTED.contains(&d.code.as_str())) else { continue };
            let place = |d: &par_syntax::Diagnostic| (d.code.clone(), d.labels[0].span);
            if !self.diagnostics.iter().any(|d| place(d) == place(&diag)) {
                self.diagnostics.push(*diag);
            }
        }
        self.out.funs.truncate(functions);
        let mut new = self.diagnostics.split_off(warnings);
        new.retain(|d| REPORTED.contains(&d.code.as_str()));
        self.diagnostics.append(&mut new);
    }

    fn evaluate(&mut self, id: DefId, def: &'p Def) -> R<()> {
        let types = vec![Shape::Prim(Prim::I32); def.type_params.len()];
        let env = def_env(def, &types);
        let mut value = self.def_value(id, types)?;
        let mut args = Vec::new();
        for pat in &def.params {
            args.push(self.unknown(&pat.ty, &env, false, &mut Vec::new())?);
        }
        let mut ty = &def.ret;
        loop {
            if !args.is_empty() {
                value = self.apply(&value, std::mem::take(&mut args), None)?;
            }
            let (Val::Fun(_), Ty::Fun(param, result)) = (&value, ty) else { return Ok(()) };
            args.push(self.unknown(param, &env, false, &mut Vec::new())?);
            ty = result;
        }
    }

    /// The result of a function of which only the type is known.
    pub fn unknown_result(&mut self, function: &Unknown<'p>) -> R<Val<'p>> {
        let mut ty = function.ty;
        while let Ty::Fun(_, result) = ty {
            ty = result;
        }
        self.unknown(ty, &function.env, false, &mut Vec::new())
    }

    /// A value of which only the type is known, in variables that nothing binds. Inside a sum (`loose`) all sizes are
    /// every value's own.
    fn unknown(&mut self, ty: &'p Ty, env: &Env<'p>, loose: bool, above: &mut Vec<Dim>) -> R<Val<'p>> {
        Ok(match ty {
            Ty::Prim(p) => self.unknown_scalar(*p, above),
            Ty::Var(v) => match env.type_var(*v) {
                Some(Shape::Prim(p)) => self.unknown_scalar(*p, above),
                _ => return Err(self.internal("a type parameter stands for no scalar type")),
            },
            Ty::Unique(t) => self.unknown(t, env, loose, above)?,
            Ty::Tuple(ts) => Val::Tuple(self.unknowns(ts, env, loose, above)?),
            Ty::Record(fs) => {
                let fields = fs.iter().map(|(n, t)| Ok((n.clone(), self.unknown(t, env, loose, above)?)));
                Val::Record(fields.collect::<R<_>>()?)
            }
            Ty::Sum(cs) => {
                let mut parts = vec![self.unknown_scalar(Prim::U8, above)];
                for (_, ts) in cs {
                    parts.push(Val::Tuple(self.unknowns(ts, env, true, above)?));
                }
                Val::Tuple(parts)
            }
            Ty::Array(size, t) => {
                let dim = if above.is_empty() || !loose && *size != Size::Anon {
                    Dim::Size(Atom::Var(self.size_param("n").var))
                } else {
                    Dim::Seg(self.param("s", Type::desc(above.clone())).var)
                };
                above.push(dim);
                let elem = self.unknown(t, env, loose, above);
                above.pop();
                Val::Array(dim, Box::new(elem?))
            }
            Ty::Fun(..) => Val::Fun(Rc::new(Fun::Unknown(Unknown { ty, env: env.clone() }))),
            Ty::Meta(_) | Ty::Abstract(..) => return Err(self.internal("a type is not known")),
        })
    }

    fn unknowns(
        &mut self,
        types: &'p [Ty],
        env: &Env<'p>,
        loose: bool,
        above: &mut Vec<Dim>,
    ) -> R<Vec<Val<'p>>> {
        types.iter().map(|t| self.unknown(t, env, loose, above)).collect()
    }

    fn unknown_scalar(&mut self, p: Prim, above: &[Dim]) -> Val<'p> {
        let var = self.param("x", Type::array(above.to_vec(), p)).var;
        if above.is_empty() { Val::Scalar(Atom::Var(var), p) } else { Val::Leaf(var, p) }
    }
}
