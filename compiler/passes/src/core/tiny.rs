//! Under a nest, arrays of a few elements become scalars, and operators over them are written out.
//!
//! ```text
//! map n (bodies) (\ b -> let d = map 3 (b, c) (\ x y -> x - y)      map n (bodies) (\ b -> let d0 = b[0] - c[0] …
//!                        let r = reduce 3 d (+) 0                                          let r  = 0 + d0 + d1 + d2
//!                        in map 3 d (\ x -> x / r))          ==>                           in [d0 / r, d1 / r, d2 / r])
//! ```
//!
//! So each position works on its own array in registers, and there is one kernel where there would be one for every operator. How it is
//! done is in [`par_ir::tiny`]. A map from rows of larger arrays to rows of its result stays flat: all elements are one space. Outside all
//! nests arrays stay arrays, except those that recursive functions take and give: a function whose body is scalar
//! code then can be called inside kernels.

use par_ir::core::{Body, Exp, Fun, FunId, LoopForm, Param, Program, Stm};
use par_ir::hash::HashMap;
use par_ir::stack::deeper;
use par_ir::tiny::{Scalarised, Tiny, is_folded, leaves, sizes};
use par_ir::tuning;
use par_ir::{Atom, Type, Var, Vars};

/// In all functions.
pub fn run(program: &mut Program) {
    let mut scalarised = scalarised_functions(program);
    let mut opened = open_functions(program, &mut scalarised);
    for (i, fun) in program.funs.iter_mut().enumerate() {
        let mut types = HashMap::default();
        if let Some(new) = opened.remove(&FunId(i as u32)) {
            *fun = new;
        } else {
            note(&fun.params, &mut types);
            let mut outside = Outside { vars: &mut program.vars, types, scalarised: &scalarised };
            outside.body(&mut fun.body);
        }
    }
}

/// Recursive functions whose results are scalars and small arrays, and whose parameters are that, or arrays without ragged dimensions; if
/// some are small arrays, or there are operators over such.
fn scalarised_functions(program: &Program) -> Scalarised {
    let sizes = |p: &Param| sizes(&p.ty, tuning::TINY_ELEMENTS);
    let is_small = |p: &Param| sizes(p).is_some_and(|s| s.iter().all(|n| *n > 0));
    let fits = |p: &Param| p.ty.is_scalar() && p.ty.is_regular() || is_small(p);
    let fits_whole = |p: &Param| fits(p) || p.ty.is_regular() && sizes(p).is_none();
    let wanted = |f: &Fun| {
        let any = || f.params.iter().chain(&f.ret).any(is_small) || has_small_operators(&f.body);
        f.entry.is_none() && f.params.iter().all(fits_whole) && f.ret.iter().all(fits) && any()
    };
    let found = program.funs.iter().enumerate().filter(|(_, f)| wanted(f));
    found.map(|(i, f)| (FunId(i as u32), f.params.iter().map(is_small).collect())).collect()
}

/// True if a body has operators, and all of them are over a few elements.
fn has_small_operators(body: &Body) -> bool {
    let (mut all, mut some) = (true, false);
    each_operator(body, &mut |exp| {
        some = true;
        all &= exp.width().and_then(Atom::as_i64).is_some_and(|n| n <= tuning::TINY_ELEMENTS as i64);
    });
    all && some
}

fn each_operator(body: &Body, f: &mut dyn FnMut(&Exp)) {
    for stm in &body.stms {
        if stm.exp.is_soac() {
            f(&stm.exp);
        }
        deeper(|| stm.exp.for_each_body(|b| each_operator(b, f)));
    }
}

/// The functions with elements for parameters and results; without those for which that cannot be.
fn open_functions(program: &mut Program, scalarised: &mut Scalarised) -> HashMap<FunId, Fun> {
    let mut opened = HashMap::default();
    let mut ids: Vec<FunId> = scalarised.keys().copied().collect();
    ids.sort();
    for id in ids {
        match open_function(&program.funs[id.0 as usize], &mut program.vars, scalarised) {
            Some(fun) => drop(opened.insert(id, fun)),
            None => {
                // What calls it calls it as it is.
                scalarised.remove(&id);
                return open_functions(program, scalarised);
            }
        }
    }
    opened
}

fn open_function(fun: &Fun, vars: &mut Vars, scalarised: &Scalarised) -> Option<Fun> {
    let mut tiny = Tiny::new(vars, HashMap::default(), scalarised);
    let (params, body) = tiny.function(&fun.params, &fun.body, &fun.ret)?;
    let mut element = |p: &Param| Param { var: vars.fresh_like(p.var), ty: Type::scalar(p.ty.prim()) };
    let ret =
        fun.ret.iter().flat_map(|p| (0..leaves(&p.ty)).map(|_| element(p)).collect::<Vec<_>>()).collect();
    Some(Fun { params, body, ret, ..fun.clone() })
}

fn note(params: &[Param], types: &mut HashMap<Var, Type>) {
    types.extend(params.iter().map(|p| (p.var, p.ty.clone())));
}

/// Code outside all nests.
struct Outside<'p> {
    vars: &'p mut Vars,
    types: HashMap<Var, Type>,
    scalarised: &'p Scalarised,
}

impl Outside<'_> {
    fn body(&mut self, body: &mut Body) {
        let stms = std::mem::take(&mut body.stms);
        let folded: Vec<bool> = (0..stms.len()).map(|i| is_folded(&stms[i], &stms[i + 1..])).collect();
        for (stm, folded) in stms.into_iter().zip(folded) {
            deeper(|| self.stm(stm, folded, &mut body.stms));
        }
    }

    fn stm(&mut self, mut stm: Stm, folded: bool, out: &mut Vec<Stm>) {
        note(&stm.pat, &mut self.types);
        match &mut stm.exp {
            Exp::Call(f, _) if self.scalarised.contains_key(f) => return self.call(stm, out),
            Exp::If { then, other, .. } => {
                self.body(then);
                self.body(other);
            }
            Exp::Loop { params, form, body } => {
                params.iter().for_each(|(p, _)| note(std::slice::from_ref(p), &mut self.types));
                match form {
                    LoopForm::For { index, prim, .. } => drop(self.types.insert(*index, Type::scalar(*prim))),
                    LoopForm::While(cond) => self.body(cond),
                }
                self.body(body);
            }
            exp => {
                for lam in exp.lambdas_mut() {
                    let types = std::mem::take(&mut self.types);
                    let mut tiny = Tiny::new(self.vars, types, self.scalarised).at(stm.span);
                    let _ = tiny.lambda(lam, folded);
                    self.types = tiny.types();
                }
            }
        }
        out.push(stm);
    }

    /// A call whose arguments and results are elements.
    fn call(&mut self, stm: Stm, out: &mut Vec<Stm>) {
        let mut tiny = Tiny::new(self.vars, std::mem::take(&mut self.types), self.scalarised);
        let body =
            Body { results: stm.pat.iter().map(|p| Atom::Var(p.var)).collect(), stms: vec![stm.clone()] };
        let body = tiny.body(&body, false).expect("arguments have the types of parameters");
        self.types = tiny.types();
        out.extend(body.stms);
        // What is no small array is bound by the call itself.
        let made = stm.pat.iter().zip(body.results).filter(|(p, a)| *a != Atom::Var(p.var));
        for (p, a) in made {
            out.push(Stm { pat: vec![p.clone()], exp: Exp::Atom(a), span: stm.span });
        }
    }
}
