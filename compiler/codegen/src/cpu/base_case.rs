//! Calls of functions whose recursion may end at once: where they are called it is asked whether it does, and only if not they are
//! called. Of a tree of calls that is every leaf, half of them and more.
//!
//! ```text
//! fun f n = if n == 0 then 1 else …
//!
//! r = call f x                                 r = if x == 0 then 1 else call f x
//! ```

use super::emit::{Base, Emitter, Result, Values, args, arm_price, clif_type};
use cranelift::prelude::*;
use par_ir::core::{Body, Exp, Fun, FunId, Param, Stm};
use par_ir::tuning;
use par_ir::ty::Atom;
use par_ir::{Span, Var};

/// Work of a function before its first call.
#[derive(Clone)]
pub struct BaseCase {
    ret: Vec<Type>,
    way: Way,
}

#[derive(Clone)]
enum Way {
    Asks {
        before: Vec<Stm>,
        cond: Atom,
        arms: Box<[Way; 2]>,
    },
    Ends(Body),
    /// There is more to do.
    Goes,
}

impl BaseCase {
    /// Of a function whose recursion may end at once.
    pub fn of(fun: &Fun) -> Option<BaseCase> {
        let way = Way::of(&fun.body, tuning::BASE_CASE_DEPTH);
        let ret = fun.ret[fun.states()..].iter().map(|p| clif_type(p.ty.prim())).collect();
        way.ends().then_some(BaseCase { ret, way })
    }
}

impl Way {
    fn of(body: &Body, depth: usize) -> Way {
        if arm_price(body).is_some_and(|p| p <= tuning::FRONT_OPERATORS) {
            return Way::Ends(body.clone());
        }
        let Some((last, before)) = body.stms.split_last().filter(|_| depth > 0) else { return Way::Goes };
        let Exp::If { cond, then, other } = &last.exp else { return Way::Goes };
        let is_result = last.pat.iter().map(|p| Atom::Var(p.var)).eq(body.results.iter().copied());
        let question = Body { stms: before.to_vec(), results: vec![] };
        if !is_result || arm_price(&question).is_none_or(|p| p > tuning::FRONT_OPERATORS) {
            return Way::Goes;
        }
        let arms = [then, other].map(|arm| Way::of(arm, depth - 1));
        match arms.iter().any(Way::ends) {
            true => Way::Asks { before: question.stms, cond: *cond, arms: Box::new(arms) },
            false => Way::Goes,
        }
    }

    fn ends(&self) -> bool {
        match self {
            Way::Asks { arms, .. } => arms.iter().any(Way::ends),
            Way::Ends(_) => true,
            Way::Goes => false,
        }
    }

    /// The variables that are bound on the way.
    fn bound(&self, found: &mut Vec<Var>) {
        match self {
            Way::Asks { before, arms, .. } => {
                bound(before, found);
                arms.iter().for_each(|arm| arm.bound(found));
            }
            Way::Ends(body) => bound(&body.stms, found),
            Way::Goes => {}
        }
    }
}

fn bound(stms: &[Stm], found: &mut Vec<Var>) {
    for stm in stms {
        found.extend(stm.pat.iter().map(|p| p.var));
        stm.exp.for_each_body(|body| bound(&body.stms, found));
    }
}

impl Emitter<'_> {
    /// A call of a function with a base_case.
    pub fn call_unless_base_case(
        &mut self,
        (f, base_case): (FunId, &BaseCase),
        operands: &[Value],
        span: Span,
    ) -> Result<Values> {
        // The function may be the one that is emitted, whose variables have values of their own here.
        let params: Vec<Param> = self.parameters(f).into_iter().map(|(_, p)| p).collect();
        let mut names: Vec<Var> = params.iter().map(|p| p.var).collect();
        base_case.way.bound(&mut names);
        let own: Vec<(Var, Value)> =
            names.iter().filter_map(|v| self.bound.scalars.get(v).map(|x| (*v, *x))).collect();
        let arrays: Vec<(Var, Base)> =
            names.iter().filter_map(|v| self.bound.arrays.get(v).map(|x| (*v, *x))).collect();
        self.bind_params(params.iter(), operands);
        let (more, join) = (self.b.create_block(), self.b.create_block());
        let joined: Vec<Value> = base_case.ret.iter().map(|t| self.b.append_block_param(join, *t)).collect();
        self.way(&base_case.way, more, join)?;
        self.b.switch_to_block(more);
        let results = self.call_whole(f, operands, span)?;
        self.b.ins().jump(join, &args(&results));
        self.b.switch_to_block(join);
        names.iter().for_each(|v| _ = (self.bound.scalars.remove(v), self.bound.arrays.remove(v)));
        self.bound.scalars.extend(own);
        self.bound.arrays.extend(arrays);
        Ok(joined)
    }

    /// Goes to `join` with results, or to `more`.
    fn way(&mut self, way: &Way, more: Block, join: Block) -> Result {
        match way {
            Way::Goes => _ = self.b.ins().jump(more, &[]),
            Way::Ends(body) => {
                let results = self.body(body)?;
                self.b.ins().jump(join, &args(&results));
            }
            Way::Asks { before, cond, arms } => {
                self.stms(before)?;
                let cond = self.atom(cond)?;
                let (yes, no) = (self.b.create_block(), self.b.create_block());
                self.b.ins().brif(cond, yes, &[], no, &[]);
                for (block, arm) in [yes, no].into_iter().zip(arms.iter()) {
                    self.b.switch_to_block(block);
                    self.way(arm, more, join)?;
                }
            }
        }
        Ok(())
    }
}
