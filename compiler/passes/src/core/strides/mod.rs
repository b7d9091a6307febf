//! Slices with steps are forwarded as an array, a start and a step.
//!
//! ```text
//! (k, ys) = if c then (h, xs[0:h:2])          (k, n, at, step, all) = if c then (h, w, 0, 2, xs) else (m, m, 0, 1, zs)
//!           else (m, zs)                =>     ys = all[at:k:step]
//! ```
//!
//! Branches, loops and calls pass arrays on by where they start ([`crate::flatten`]), so a slice with a step would have to be copied, for every
//! position and in every iteration. As an array, a start and a step it costs three numbers: the slice is taken where the array is used.
//! Steps are multiplied on the way, so that what a loop or a recursion takes slices of stays one array, and often is no state at all.
//!
//! [`find`] says which arrays are forwarded so; a slice of what the same body makes is not one of them, since its copy costs no more than
//! that did, nor one that is gone over anyway.

mod find;

use find::{Groups, Plan};
use par_ir::alias::consumed_through_calls;
use par_ir::core::{Body, Exp, Fun, LoopForm, Param, Program, Stm};
use par_ir::hash::HashMap;
use par_ir::prim::BinOp;
use par_ir::stack::deeper;
use par_ir::visit::{Code, Subst};
use par_ir::{Atom, Dim, Prim, PrimOp, Span, Type, Var, Vars};

/// Passes strided slices on as what they are slices of.
pub fn run(program: &mut Program) {
    let plan = Plan::of(program, consumed_through_calls(program));
    if plan.is_empty() {
        return;
    }
    let functions: Vec<Signature> = program.funs.iter().map(|f| Signature::of(f, &plan)).collect();
    let vars = std::mem::take(&mut program.vars);
    let mut s =
        Strides { vars, plan, functions: &functions, types: HashMap::default(), slices: HashMap::default() };
    program.funs.iter_mut().zip(&functions).for_each(|(f, signature)| s.function(f, signature));
    program.vars = s.vars;
}

/// A slice: every `stride`th row of an array.
#[derive(Clone, Copy, PartialEq)]
struct Slice {
    arr: Var,
    start: Atom,
    stride: Atom,
}

impl Slice {
    /// Slice of a statement, if it is one.
    fn of(stm: &Stm) -> Option<Slice> {
        match stm.exp {
            Exp::Slice { arr, start, stride, .. } => Some(Slice { arr, start, stride }),
            _ => None,
        }
    }

    fn has_step(&self) -> bool {
        self.stride.as_i64() != Some(1)
    }
}

/// Parameters and results of a function that are forwarded as slices: array, start and step.
struct Signature {
    params: Groups,
    ret: Groups,
}

impl Signature {
    fn of(f: &Fun, plan: &Plan) -> Signature {
        Signature { params: plan.forwarded(&f.params), ret: plan.forwarded(&f.ret) }
    }
}

struct Strides<'a> {
    vars: Vars,
    plan: Plan,
    functions: &'a [Signature],
    types: HashMap<Var, Type>,
    slices: HashMap<Var, Slice>,
}

/// Arrays that are sliced alike, and how: the slices that lead to them, the last one first.
struct Sliced {
    all: Vec<Var>,
    cuts: Vec<(Atom, Atom)>,
}

impl Strides<'_> {
    fn function(&mut self, f: &mut Fun, signature: &Signature) {
        f.params.iter().for_each(|p| self.note_param(p));
        let Signature { params, ret } = signature;
        let slices = self.widen_params(&mut f.params, params, f.span);
        self.body(&mut f.body);
        f.body.stms.splice(0..0, slices);
        let Body { stms, results } = &mut f.body;
        self.widen_values(results, ret, f.span, stms);
        self.widen_params(&mut f.ret, ret, f.span);
    }

    fn body(&mut self, body: &mut Body) {
        let mut out = Vec::new();
        for stm in std::mem::take(&mut body.stms) {
            deeper(|| self.stm(stm, &mut out));
        }
        body.stms = out;
    }

    fn stm(&mut self, mut stm: Stm, out: &mut Vec<Stm>) {
        stm.pat.iter().for_each(|p| self.note_param(p));
        if let Some(slice) = Slice::of(&stm) {
            self.slices.insert(stm.pat[0].var, slice);
        }
        let span = stm.span;
        let forwarded = match &mut stm.exp {
            Exp::Call(f, args) => {
                let Signature { params, ret } = &self.functions[f.0 as usize];
                self.widen_values(args, params, span, out);
                ret.clone()
            }
            Exp::If { then, other, .. } => {
                let forwarded = self.plan.forwarded(&stm.pat);
                for arm in [then, other] {
                    self.body(arm);
                    self.widen_values(&mut arm.results, &forwarded, span, &mut arm.stms);
                }
                forwarded
            }
            Exp::Loop { .. } => self.repeat(&mut stm, out),
            exp => {
                exp.lambdas().into_iter().flat_map(|l| &l.params).for_each(|p| {
                    self.types.insert(p.var, p.ty.clone());
                });
                exp.for_each_body_mut(|b| self.body(b));
                vec![]
            }
        };
        let slices = self.widen_params(&mut stm.pat, &forwarded, span);
        out.push(stm);
        out.extend(slices);
    }

    fn repeat(&mut self, stm: &mut Stm, out: &mut Vec<Stm>) -> Groups {
        let Stm { exp: Exp::Loop { params, form, body }, span, .. } = stm else { return vec![] };
        let span = *span;
        let (mut state, mut init): (Vec<Param>, Vec<Atom>) = std::mem::take(params).into_iter().unzip();
        state.iter().for_each(|p| self.note_param(p));
        let forwarded = self.plan.forwarded(&state);
        self.widen_values(&mut init, &forwarded, span, out);
        let slices = self.widen_params(&mut state, &forwarded, span);
        *params = state.into_iter().zip(init).collect();
        if let LoopForm::While(cond) = form {
            self.body(cond);
            let mut names = Subst::default();
            let slices = slices.refreshed_with(&mut self.vars, &mut names);
            cond.substitute(&names);
            slices.iter().flat_map(|s| &s.pat).for_each(|p| self.note_param(p));
            cond.stms.splice(0..0, slices);
        }
        self.body(body);
        self.widen_values(&mut body.results, &forwarded, span, &mut body.stms);
        body.stms.splice(0..0, slices);
        forwarded
    }

    fn note_param(&mut self, p: &Param) {
        self.types.insert(p.var, p.ty.clone());
    }

    /// Puts a size, a start and a step, and what they are slices of, in the place of the arrays of each group; the slices.
    fn widen_params(&mut self, params: &mut Vec<Param>, groups: &Groups, span: Span) -> Vec<Stm> {
        let (mut slices, mut numbers) = (Vec::new(), Vec::new());
        for group in groups {
            let own = ["n", "at", "step"].map(|name| Param { var: self.vars.fresh(name), ty: Type::I64 });
            own.iter().for_each(|p| self.note_param(p));
            let members: Vec<Param> = group.iter().map(|i| params[*i].clone()).collect();
            let names: Subst = members.iter().map(|p| (p.var, self.vars.fresh_like(p.var).into())).collect();
            for (i, p) in group.iter().zip(&members) {
                let mut ty = p.ty.substituted(&names);
                ty.dims[0] = Dim::Size(own[0].var.into());
                let all = Param { var: names[&p.var].var().expect("a fresh variable"), ty };
                self.note_param(&all);
                slices.push((*i, self.slice(p, all.var, &own, span)));
                params[*i] = all;
            }
            numbers.push(own);
        }
        put_before(params, groups, numbers);
        slices.sort_by_key(|(i, _)| *i);
        slices.into_iter().map(|(_, stm)| stm).collect()
    }

    fn slice(&mut self, p: &Param, arr: Var, [_, at, step]: &[Param; 3], span: Span) -> Stm {
        let slice = Slice { arr, start: at.var.into(), stride: step.var.into() };
        self.slices.insert(p.var, slice);
        let exp = Exp::Slice { arr, start: slice.start, len: p.ty.rows(), stride: slice.stride };
        Stm { pat: vec![p.clone()], exp, span }
    }

    /// The same for values.
    fn widen_values(&mut self, values: &mut Vec<Atom>, groups: &Groups, span: Span, out: &mut Vec<Stm>) {
        let mut numbers = Vec::new();
        for group in groups {
            let members: Vec<Var> = group.iter().filter_map(|i| values[*i].var()).collect();
            let sliced = self.sliced_alike(&members, out);
            let (start, step) = self.composed(&sliced.cuts, span, out);
            let n = self.types[&sliced.all[0]].rows();
            group.iter().zip(&sliced.all).for_each(|(i, v)| values[*i] = (*v).into());
            numbers.push([n, start, step]);
        }
        put_before(values, groups, numbers);
    }

    /// Arrays that these are slices of, if all are sliced alike, of arrays that belong together as they do; or the arrays themselves.
    fn sliced_alike(&self, members: &[Var], stms: &[Stm]) -> Sliced {
        let themselves = Sliced { all: members.to_vec(), cuts: vec![] };
        let (all, mut cuts): (Vec<Var>, Vec<_>) = members.iter().map(|v| self.cuts(*v)).unzip();
        let names: Subst = members.iter().copied().zip(all.iter().map(|v| Atom::Var(*v))).collect();
        let same_rows = members.iter().zip(&all).all(|(v, all)| {
            let rows = self.types[v].substituted(&names);
            self.types[all].dims[1..] == rows.dims[1..]
        });
        let alike = same_rows && cuts.iter().all(|c| *c == cuts[0]);
        let cuts = cuts.swap_remove(0);
        let same_size = all.iter().all(|v| self.types[v].dims[0] == self.types[&all[0]].dims[0]);
        let made_here = all.iter().any(|v| find::is_made_by(stms, *v));
        if alike && same_size && !made_here { Sliced { all, cuts } } else { themselves }
    }

    /// The array that a slice with a step is of, and the slices on the way, the last one first. Slices without steps before the first one
    /// with a step are left to be.
    fn cuts(&self, v: Var) -> (Var, Vec<(Atom, Atom)>) {
        let (mut of, mut cuts) = (v, Vec::new());
        let (mut arr, mut forwarded) = (v, Vec::new());
        while let Some(slice) = self.slices.get(&arr) {
            forwarded.push((slice.start, slice.stride));
            arr = slice.arr;
            if slice.has_step() {
                (of, cuts) = (arr, forwarded.clone());
            }
        }
        (of, cuts)
    }

    /// Start and step of slices of slices.
    fn composed(&mut self, cuts: &[(Atom, Atom)], span: Span, out: &mut Vec<Stm>) -> (Atom, Atom) {
        let mut all = (Atom::i64(0), Atom::i64(1));
        for (start, stride) in cuts {
            let skipped = self.number(BinOp::Mul, all.0, *stride, span, out);
            all.0 = self.number(BinOp::Add, *start, skipped, span, out);
            all.1 = self.number(BinOp::Mul, all.1, *stride, span, out);
        }
        all
    }

    fn number(&mut self, op: BinOp, a: Atom, b: Atom, span: Span, out: &mut Vec<Stm>) -> Atom {
        match (op, a.as_i64(), b.as_i64()) {
            (BinOp::Mul, Some(1), _) | (BinOp::Add, Some(0), _) => return b,
            (BinOp::Mul, _, Some(1)) | (BinOp::Add, _, Some(0)) => return a,
            (BinOp::Mul, Some(0), _) | (BinOp::Mul, _, Some(0)) => return Atom::i64(0),
            _ => {}
        }
        let p = Param { var: self.vars.fresh("at"), ty: Type::I64 };
        let (var, exp) = (p.var, Exp::Prim(PrimOp::Bin(op, Prim::I64), vec![a, b]));
        self.note_param(&p);
        out.push(Stm { pat: vec![p], exp, span });
        var.into()
    }
}

/// Puts three things before the first of each group.
fn put_before<T>(list: &mut Vec<T>, groups: &Groups, things: Vec<[T; 3]>) {
    let mut things: HashMap<usize, [T; 3]> = groups.iter().map(|g| g[0]).zip(things).collect();
    for (i, x) in std::mem::take(list).into_iter().enumerate() {
        list.extend(things.remove(&i).into_iter().flatten());
        list.push(x);
    }
}
