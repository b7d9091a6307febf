//! Loops whose counters become indices count in 64 bits, as indices do.
//!
//! ```text
//! loop (s = 0) for i: i32 < 32i32 {         loop (s = 0) for k: i64 < 32i64 {
//!     j = add.i32 i 1                           i = conv.i64.i32 k                  (goes if nothing uses it)
//!     x = xs[conv.i32.i64 j]        ==>         j = add.i64 k 1
//!     … }                                       x = xs[j]
//!                                               … }
//! ```
//!
//! A number without a type is an `i32`, so `for i < 32` counts in 32 bits. What is known of integers (bounds, strides) is known of indices. Sums, differences
//! and products of counters and constants are those of 64 bits where they do not wrap.

use par_ir::core::{Body, Exp, LoopForm, Param, Program, Stm};
use par_ir::hash::{HashMap, HashSet};
use par_ir::prim::{BinOp, PrimOp};
use par_ir::stack::deeper;
use par_ir::ty::{Atom, Type, Var, Vars};
use par_ir::{Prim, Span};

const TO_INDEX: PrimOp = PrimOp::Conv(Prim::I32, Prim::I64);
const FROM_INDEX: PrimOp = PrimOp::Conv(Prim::I64, Prim::I32);

/// In every function.
pub fn run(program: &mut Program) {
    let mut widen = Widen { vars: &mut program.vars, wide: HashMap::default() };
    program.funs.iter_mut().for_each(|f| widen.body(&mut f.body));
}

/// The same number with 64 bits, and the least and the most that it is.
#[derive(Clone, Copy)]
struct Wide {
    number: Atom,
    least: i64,
    most: i64,
}

struct Widen<'v> {
    vars: &'v mut Vars,
    /// Of counters, and of what is computed from them.
    wide: HashMap<Var, Wide>,
}

impl Widen<'_> {
    fn body(&mut self, body: &mut Body) {
        let mut stms = Vec::with_capacity(body.stms.len());
        for mut stm in std::mem::take(&mut body.stms) {
            let more = match &mut stm.exp {
                Exp::Prim(TO_INDEX, xs) => {
                    if let Some(wide) = self.of(xs[0]) {
                        stm.exp = Exp::Atom(wide.number);
                    }
                    None
                }
                Exp::Prim(PrimOp::Bin(op, Prim::I32), xs) => {
                    let (op, xs) = (*op, [xs[0], xs[1]]);
                    self.result(op, xs, &stm)
                }
                Exp::Loop { .. } => {
                    stms.extend(self.counted(&mut stm));
                    None
                }
                _ => None,
            };
            stm.exp.for_each_body_mut(|b| deeper(|| self.body(b)));
            stms.push(stm);
            stms.extend(more);
        }
        body.stms = stms;
    }

    fn of(&self, a: Atom) -> Option<Wide> {
        match a {
            Atom::Const(_) => a.as_i64().map(|n| Wide { number: Atom::i64(n), least: n, most: n }),
            Atom::Var(v) => self.wide.get(&v).copied(),
        }
    }

    /// The result of an operator with 64 bits, if it is the same.
    fn result(&mut self, op: BinOp, [x, y]: [Atom; 2], stm: &Stm) -> Option<Stm> {
        let (a, b) = (self.of(x)?, self.of(y)?);
        let ends = |f: fn(i64, i64) -> i64| {
            [f(a.least, b.least), f(a.least, b.most), f(a.most, b.least), f(a.most, b.most)]
        };
        let ends = match op {
            BinOp::Add => ends(|x, y| x + y),
            BinOp::Sub => ends(|x, y| x - y),
            BinOp::Mul => ends(|x, y| x * y),
            _ => return None,
        };
        let (least, most) = (ends.into_iter().min()?, ends.into_iter().max()?);
        if i32::try_from(least).is_err() || i32::try_from(most).is_err() {
            return None;
        }
        let exp = Exp::Prim(PrimOp::Bin(op, Prim::I64), vec![a.number, b.number]);
        let (number, stm_of_64) = self.bind("i", exp, stm.span);
        self.wide.insert(stm.pat[0].var, Wide { number, least, most });
        Some(stm_of_64)
    }

    fn bind(&mut self, name: &str, exp: Exp, span: Span) -> (Atom, Stm) {
        let var = self.vars.fresh(name);
        (var.into(), Stm { pat: vec![Param { var, ty: Type::I64 }], exp, span })
    }

    /// Counts a loop with 64 bits, if its counter becomes an index; the statement that converts its bound.
    fn counted(&mut self, stm: &mut Stm) -> Option<Stm> {
        let Exp::Loop { form: LoopForm::For { index, prim, bound }, body, .. } = &mut stm.exp else {
            return None;
        };
        if *prim != Prim::I32 || !becomes_index(body, &mut HashSet::from_iter([*index])) {
            return None;
        }
        let (counter, before) = (*index, *bound);
        (*index, *prim) = (self.vars.fresh_like(counter), Prim::I64);
        let (wide, conversion) = match self.of(before) {
            Some(wide) => (wide, None),
            None => {
                let (number, stm) = self.bind("bound", Exp::Prim(TO_INDEX, vec![before]), stm.span);
                (Wide { number, least: 0, most: i64::from(i32::MAX) }, Some(stm))
            }
        };
        *bound = wide.number;
        let number = (*index).into();
        let exp = Exp::Prim(FROM_INDEX, vec![number]);
        let pat = vec![Param { var: counter, ty: Type::scalar(Prim::I32) }];
        body.stms.insert(0, Stm { pat, exp, span: stm.span });
        self.wide.insert(counter, Wide { number, least: 0, most: (wide.most - 1).max(0) });
        conversion
    }
}

/// True if one of these numbers, or what is computed from them, is converted to an index.
fn becomes_index(body: &Body, numbers: &mut HashSet<Var>) -> bool {
    body.stms.iter().any(|stm| {
        let uses = |xs: &[Atom]| xs.iter().any(|x| x.var().is_some_and(|v| numbers.contains(&v)));
        match &stm.exp {
            Exp::Prim(TO_INDEX, xs) => uses(xs),
            Exp::Prim(PrimOp::Bin(BinOp::Add | BinOp::Sub | BinOp::Mul, Prim::I32), xs) if uses(xs) => {
                numbers.insert(stm.pat[0].var);
                false
            }
            exp => {
                // The counter of a loop inside is below such a number.
                if let Exp::Loop { form: LoopForm::For { index, prim: Prim::I32, bound }, .. } = exp
                    && uses(&[*bound])
                {
                    numbers.insert(*index);
                }
                let mut found = false;
                exp.for_each_body(|b| found |= deeper(|| becomes_index(b, numbers)));
                found
            }
        }
    })
}
