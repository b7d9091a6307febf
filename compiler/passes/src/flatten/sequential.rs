//! The sequential version of a body: parallel operators as loops over scalars.
//!
//! ```text
//! is = iota n
//! xs = map n (is) (\ i -> f i)                loop (s = 0) for i < n do { let y = f i
//! r  = reduce n (xs) (\ x -> x) (+) 0   ==>                              in s + y }
//! ```
//!
//! A map over a literal, or one whose results are read at constant indices, is unrolled: merged calls are single ones again.
//!
//! An array that is read once, by the operator that follows, never exists. One of its elements may be read before: the first one, where something is compared with it. Arrays from outside the body are read where they are. A
//! body that makes any other array has no sequential version.

use par_ir::build::Statements;
use par_ir::core::{Body, Exp, Lambda, LoopForm, Param, Stm};
use par_ir::effects::Effects;
use par_ir::hash::HashMap;
use par_ir::loops::Loop;
use par_ir::prim::BinOp;
use par_ir::tuning;
use par_ir::ty::Dim;
use par_ir::visit::Code;
use par_ir::{Atom, Var, Vars};

/// An array whose elements are computed, or read, where they are needed.
#[derive(Clone)]
enum Delayed {
    Iota,
    Splat(Atom),
    Stored(Var),
    Map(Vec<Delayed>, Lambda),
    Rows(Box<Rows>),
    /// Elements or rows that are variables or constants. It is indexed with constants only.
    Literal(Vec<Atom>),
}

/// An array of arrays of rows … that are computed where they are needed.
#[derive(Clone)]
struct Rows {
    /// From the outermost dimension on.
    levels: Vec<Level>,
    row: Delayed,
    /// Elements of each row.
    length: Atom,
    /// Dimensions that are one with the next: all of them are when it is an array of elements.
    flattened: usize,
}

/// A map whose function's body binds what the rows inside it need, and has no results.
#[derive(Clone)]
struct Level {
    inputs: Vec<Delayed>,
    lam: Lambda,
    width: Atom,
}

impl Delayed {
    /// The same with variables of its own.
    fn refreshed(&self, vars: &mut Vars) -> Delayed {
        match self {
            Delayed::Map(inputs, lam) => {
                Delayed::Map(inputs.iter().map(|i| i.refreshed(vars)).collect(), lam.refreshed(vars))
            }
            other => other.clone(),
        }
    }
}

impl Rows {
    fn is_flat(&self) -> bool {
        self.flattened == self.levels.len()
    }

    /// Of all dimensions.
    fn sizes(&self) -> Vec<Atom> {
        self.levels.iter().map(|l| l.width).chain([self.length]).collect()
    }
}

/// Rewrites one body.
struct Rewriter<'v> {
    vars: &'v mut Vars,
    arrays: HashMap<Var, Delayed>,
}

/// The body of a nest or a function as scalar code, calls included, that reads arrays from outside, if it can be said like that. The
/// variables it binds are the body's own.
pub fn sequential_version(body: &Body, vars: &mut Vars) -> Option<Body> {
    Rewriter { vars, arrays: HashMap::default() }.body(body)
}

impl Rewriter<'_> {
    fn body(&mut self, body: &Body) -> Option<Body> {
        let mut stms = Vec::new();
        for (i, stm) in body.stms.iter().enumerate() {
            let rest = &body.stms[i + 1..];
            self.stm(stm, rest, &body.results, &mut stms)?;
        }
        self.exist(&body.results).then(|| Body { stms, results: body.results.clone() })
    }

    fn stm(&mut self, stm: &Stm, rest: &[Stm], results: &[Atom], out: &mut Vec<Stm>) -> Option<()> {
        match &stm.exp {
            Exp::Iota(_) => self.delay(stm, Delayed::Iota),
            Exp::Replicate(_, a) if stm.pat[0].ty.rank() == 1 => self.delay(stm, Delayed::Splat(*a)),
            Exp::Map { width, inputs, lam } if stm.pat.iter().all(|p| p.ty.rank() > 1) => {
                read_once(stm, rest, results)?;
                self.rows(stm, *width, inputs, lam)
            }
            Exp::Literal(rows, _) if self.exist(rows) => self.delay(stm, Delayed::Literal(rows.clone())),
            // The lengths of rows.
            Exp::MakeDesc(lens) if self.is_literal(lens) => self.delay(stm, self.arrays[lens].clone()),
            Exp::Map { width, inputs, lam } if self.is_unrolled(stm, *width, inputs, rest) => {
                self.unrolled(stm, width.as_i64()?, (inputs, lam), out)
            }
            Exp::Flatten(v) => self.flatten(stm, *v, rest, results),
            Exp::Map { inputs, lam, .. } => {
                read_by_one(stm, rest, results)?;
                self.map(stm, inputs, lam)
            }
            Exp::Reduce { width, inputs, lam, op, neutral } if stm.pat.len() == neutral.len() => {
                let inputs = self.inputs(inputs)?;
                out.push(self.reduce(stm, *width, (inputs, lam), (op, neutral))?);
                Some(())
            }
            Exp::If { cond, then, other } => {
                let (then, other) = (self.body(then)?, self.body(other)?);
                out.push(Stm { exp: Exp::If { cond: *cond, then, other }, ..stm.clone() });
                Some(())
            }
            Exp::Loop { params, form, body } => {
                let form = match form {
                    LoopForm::While(cond) => LoopForm::While(self.body(cond)?),
                    counted => counted.clone(),
                };
                let body = self.body(body)?;
                out.push(Stm { exp: Exp::Loop { params: params.clone(), form, body }, ..stm.clone() });
                Some(())
            }
            Exp::Index(arr, at) if matches!(self.arrays.get(arr), Some(Delayed::Map(..))) => {
                let mut code = Statements::new(stm.span);
                let element = elements(self.arrays[arr].refreshed(self.vars), at[0], &mut code);
                code.bind(stm.pat.clone(), Exp::Atom(element[0]));
                out.extend(code.stms);
                Some(())
            }
            Exp::Index(arr, at) if self.is_literal(arr) => {
                let (Delayed::Literal(rows), [i]) = (&self.arrays[arr], &at[..]) else { return None };
                let exp = Exp::Atom(*rows.get(usize::try_from(i.as_i64()?).ok()?)?);
                out.push(Stm { exp, ..stm.clone() });
                Some(())
            }
            Exp::Index(arr, _) | Exp::Slice { arr, .. } | Exp::Lengths(arr) => {
                (!self.arrays.contains_key(arr)).then(|| out.push(stm.clone()))
            }
            // Nothing else reads an array that is never there.
            _ => (!self.arrays.keys().any(|v| stm.mentions(*v))).then(|| out.push(stm.clone())),
        }
    }

    /// Rows with one more of their dimensions flattened.
    fn flatten(&mut self, stm: &Stm, v: Var, rest: &[Stm], results: &[Atom]) -> Option<()> {
        let Delayed::Rows(mut rows) = self.arrays.remove(&v)? else { return None };
        read_once(stm, rest, results)?;
        rows.flattened += 1;
        self.delay(stm, Delayed::Rows(rows))
    }

    fn delay(&mut self, stm: &Stm, array: Delayed) -> Option<()> {
        let [p] = stm.pat.as_slice() else { return None };
        self.arrays.insert(p.var, array);
        Some(())
    }

    /// True if all operands exist: none is a delayed array.
    fn exist(&self, atoms: &[Atom]) -> bool {
        atoms.iter().all(|a| a.var().is_none_or(|v| !self.arrays.contains_key(&v)))
    }

    fn is_literal(&self, v: &Var) -> bool {
        matches!(self.arrays.get(v), Some(Delayed::Literal(_)))
    }

    /// True for a map over a few elements that is over a literal, or whose results are read at constant indices only.
    fn is_unrolled(&self, stm: &Stm, width: Atom, inputs: &[Var], rest: &[Stm]) -> bool {
        let few = width.as_i64().is_some_and(|n| n <= tuning::TINY_ELEMENTS as i64);
        let at_constants = |p: &Param| {
            let uses: usize = rest.iter().map(|s| s.uses_of(p.var)).sum();
            uses == reads_at_constants(rest, p.var)
        };
        few && (inputs.iter().any(|v| self.is_literal(v)) || stm.pat.iter().all(at_constants))
    }

    /// The iterations of a map over a few elements.
    fn unrolled(
        &mut self,
        stm: &Stm,
        width: i64,
        (inputs, lam): (&[Var], &Lambda),
        out: &mut Vec<Stm>,
    ) -> Option<()> {
        let mut made = vec![Vec::new(); stm.pat.len()];
        for i in 0..width {
            let lam = lam.refreshed(self.vars);
            for (p, v) in lam.params.iter().zip(inputs) {
                let exp = match self.arrays.get(v) {
                    Some(Delayed::Literal(rows)) => Exp::Atom(*rows.get(i as usize)?),
                    Some(Delayed::Iota) => Exp::Atom(Atom::i64(i)),
                    Some(Delayed::Splat(a)) => Exp::Atom(*a),
                    Some(_) => return None,
                    None => Exp::Index(*v, vec![Atom::i64(i)]),
                };
                out.push(Stm { pat: vec![p.clone()], exp, span: stm.span });
            }
            let body = self.body(&lam.body)?;
            out.extend(body.stms);
            made.iter_mut().zip(body.results).for_each(|(all, x)| all.push(x));
        }
        self.arrays.extend(stm.pat.iter().map(|p| p.var).zip(made.into_iter().map(Delayed::Literal)));
        Some(())
    }

    /// The arrays that an operator reads; each is read by nothing else.
    fn inputs(&mut self, inputs: &[Var]) -> Option<Vec<Delayed>> {
        let take = |v: &Var| match self.arrays.get(v) {
            Some(Delayed::Iota) => Some(Delayed::Iota),
            Some(Delayed::Splat(a)) => Some(Delayed::Splat(*a)),
            Some(Delayed::Literal(_)) => None,
            Some(_) => self.arrays.remove(v),
            None => Some(Delayed::Stored(*v)),
        };
        inputs.iter().map(take).collect()
    }

    /// The arrays that an operator reads, one element after the other.
    fn elementwise(&mut self, inputs: &[Var]) -> Option<Vec<Delayed>> {
        let is_plain = |d: &Delayed| !matches!(d, Delayed::Rows(_));
        self.inputs(inputs).filter(|all| all.iter().all(is_plain))
    }

    fn map(&mut self, stm: &Stm, inputs: &[Var], lam: &Lambda) -> Option<()> {
        let inputs = self.elementwise(inputs)?;
        let lam = Lambda { body: self.body(&lam.body)?, ..lam.clone() };
        self.delay(stm, Delayed::Map(inputs, lam))
    }

    /// A map whose rows are made of rows.
    fn rows(&mut self, stm: &Stm, width: Atom, inputs: &[Var], lam: &Lambda) -> Option<()> {
        let ([Atom::Var(row)], [ty]) = (&lam.body.results[..], &lam.ret[..]) else { return None };
        let Dim::Size(length) = *ty.dims.last()? else { return None };
        let inputs = self.elementwise(inputs)?;
        let mut stms = Vec::new();
        for (i, s) in lam.body.stms.iter().enumerate() {
            let rest = &lam.body.stms[i + 1..];
            let is_last = !rest.iter().any(|s| s.mentions(*row) || s.has_effect());
            match &s.exp {
                Exp::Map { width, inputs, lam } if is_last && s.pat.iter().any(|p| p.var == *row) => {
                    match ty.rank() {
                        1 => self.map(s, inputs, lam)?,
                        _ => self.rows(s, *width, inputs, lam)?,
                    }
                }
                _ => self.stm(s, rest, &lam.body.results, &mut stms)?,
            }
        }
        let lam = Lambda { body: Body { stms, results: vec![] }, ..lam.clone() };
        let level = Level { inputs, lam, width };
        let rows = match (ty.rank(), self.inputs(&[*row])?.pop()?) {
            (1, Delayed::Rows(_)) => return None,
            (1, row) => Rows { levels: vec![level], row, length, flattened: 0 },
            (_, Delayed::Rows(mut inner)) if inner.flattened == 0 => {
                inner.levels.insert(0, level);
                *inner
            }
            _ => return None,
        };
        self.delay(stm, Delayed::Rows(Box::new(rows)))
    }

    /// A reduction as a loop.
    fn reduce(
        &mut self,
        stm: &Stm,
        width: Atom,
        (inputs, lam): (Vec<Delayed>, &Lambda),
        (op, neutral): (&Lambda, &[Atom]),
    ) -> Option<Stm> {
        if inputs.iter().any(|i| matches!(i, Delayed::Rows(_))) {
            return self.reduce_rows(stm, (inputs, lam), (op, neutral));
        }
        let mut rows = Loop::new(stm.span, self.vars);
        let producer = Lambda { body: self.body(&lam.body)?, ..lam.clone() };
        let op = Lambda { body: self.body(&op.body)?, ..op.clone() };
        let results = op.body.results.clone();
        let values = elements(Delayed::Map(inputs, producer), rows.index.into(), &mut rows.code);
        rows.fold(&op, neutral);
        rows.combine(op, &values);
        Some(rows.finish(width, stm.pat.clone(), results))
    }

    /// A reduction over the elements of rows: loops in loops.
    fn reduce_rows(
        &mut self,
        stm: &Stm,
        (inputs, lam): (Vec<Delayed>, &Lambda),
        (op, neutral): (&Lambda, &[Atom]),
    ) -> Option<Stm> {
        let rows = |i: &Delayed| {
            if let Delayed::Rows(rows) = i { Some((rows.sizes(), rows.is_flat())) } else { None }
        };
        let (sizes, _) = inputs.iter().find_map(rows)?;
        if !inputs.iter().filter_map(rows).all(|(other, is_flat)| is_flat && other == sizes) {
            return None;
        }
        let mut loops: Vec<Loop> = sizes.iter().map(|_| Loop::new(stm.span, self.vars)).collect();
        let at = self.place(&mut loops, &sizes);
        let last = loops.len() - 1;
        for (p, input) in lam.params.iter().zip(inputs) {
            let (element, i) = match input {
                Delayed::Rows(rows) => {
                    for (level, l) in rows.levels.into_iter().zip(&mut loops) {
                        bind(&level.lam.params, level.inputs, l.index.into(), &mut l.code);
                        l.code.stms.extend(level.lam.body.stms);
                    }
                    (rows.row, loops[last].index.into())
                }
                other => (other, at),
            };
            bind(std::slice::from_ref(p), vec![element], i, &mut loops[last].code);
        }
        let producer = self.body(&lam.body)?;
        loops[last].code.stms.extend(producer.stms);
        let op = Lambda { body: self.body(&op.body)?, ..op.clone() };
        let mut results = op.body.results.clone();
        let mut state = neutral.to_vec();
        for l in &mut loops[..last] {
            let params: Vec<Param> = stm.pat.iter().map(|p| p.fresh(self.vars)).collect();
            let before = std::mem::replace(&mut state, params.iter().map(|p| p.var.into()).collect());
            l.state.extend(params.into_iter().zip(before));
        }
        loops[last].fold(&op, &state);
        loops[last].combine(op, &producer.results);
        for (l, width) in sizes.iter().enumerate().rev() {
            let pat: Vec<Param> =
                if l == 0 { stm.pat.clone() } else { stm.pat.iter().map(|p| p.fresh(self.vars)).collect() };
            let after = pat.iter().map(|p| p.var.into()).collect();
            let done = loops.pop()?.finish(*width, pat, results);
            match loops.last_mut() {
                Some(around) => around.code.stms.push(done),
                None => return Some(done),
            }
            results = after;
        }
        None
    }

    /// The number of an element among those of all rows, in the innermost of loops over their dimensions.
    fn place(&mut self, loops: &mut [Loop], sizes: &[Atom]) -> Atom {
        let indices: Vec<Atom> = loops.iter().map(|l| l.index.into()).collect();
        let code = &mut loops[sizes.len() - 1].code;
        let mut at = indices[0];
        for (i, size) in indices[1..].iter().zip(&sizes[1..]) {
            let start = code.arith("i", BinOp::Mul, at, *size, self.vars);
            at = code.arith("i", BinOp::Add, start, *i, self.vars);
        }
        at
    }
}

/// Number of reads of an array at one constant index, bodies inside included.
fn reads_at_constants(stms: &[Stm], array: Var) -> usize {
    let reads = |s: &Stm| match &s.exp {
        Exp::Index(arr, at) => usize::from(*arr == array && matches!(at[..], [Atom::Const(_)])),
        exp => exp.bodies().into_iter().map(|b| reads_at_constants(&b.stms, array)).sum(),
    };
    stms.iter().map(reads).sum()
}

/// Binds parameters to element `i` of arrays.
fn bind(params: &[Param], arrays: Vec<Delayed>, i: Atom, code: &mut Statements) {
    for (p, array) in params.iter().zip(arrays) {
        let exp = match array {
            Delayed::Stored(v) => Exp::Index(v, vec![i]),
            other => Exp::Atom(elements(other, i, code)[0]),
        };
        code.bind(vec![p.clone()], exp);
    }
}

/// Adds the statements that compute element `i` of an array: what they result in.
fn elements(array: Delayed, i: Atom, code: &mut Statements) -> Vec<Atom> {
    match array {
        Delayed::Iota => vec![i],
        Delayed::Splat(a) => vec![a],
        Delayed::Stored(_) => unreachable!("read by what binds the element"),
        Delayed::Rows(_) => unreachable!("only reductions take these"),
        Delayed::Literal(_) => unreachable!("read one by one"),
        Delayed::Map(inputs, lam) => {
            bind(&lam.params, inputs, i, code);
            code.stms.extend(lam.body.stms);
            lam.body.results
        }
    }
}

/// One statement in the body reads what another one makes, and nothing can fail between them.
fn read_once(stm: &Stm, rest: &[Stm], results: &[Atom]) -> Option<()> {
    let [p] = stm.pat.as_slice() else { return None };
    let reader = rest.iter().position(|s| s.uses_of(p.var) > 0)?;
    let all: usize = rest.iter().map(|s| s.uses_of(p.var)).sum::<usize>()
        + results.iter().map(|a| a.uses_of(p.var)).sum::<usize>();
    (all == 1 && !rest[..reader].has_effect()).then_some(())
}

/// Nothing but one parallel operator reads what the statement makes, except for one element, which is computed twice, and nothing but failures can happen
/// between them.
fn read_by_one(stm: &Stm, rest: &[Stm], results: &[Atom]) -> Option<()> {
    let [p] = stm.pat.as_slice() else { return None };
    let operands = |s: &Stm| {
        let mut uses = 0;
        s.exp.for_each_operand(&mut |a| uses += usize::from(a == Atom::Var(p.var)));
        uses
    };
    let reader = rest.iter().position(|s| s.exp.is_soac() && operands(s) > 0)?;
    let all: usize = rest.iter().map(|s| s.uses_of(p.var)).sum::<usize>()
        + results.iter().map(|a| a.uses_of(p.var)).sum::<usize>();
    let is_element = |s: &&Stm| matches!(&s.exp, Exp::Index(arr, _) if *arr == p.var);
    let between = &rest[..reader];
    let elements = between.iter().filter(is_element).count();
    let swaps = |s: &Stm| !s.has_effect() || s.only_fails();
    let none_between = !between.has_effect() || swaps(stm) && between.iter().all(swaps);
    let quiet = !stm.has_effect() || elements == 0 && none_between;
    (operands(&rest[reader]) == 1 && all == 1 + elements && elements <= 1 && quiet && p.ty.rank() == 1)
        .then_some(())
}
