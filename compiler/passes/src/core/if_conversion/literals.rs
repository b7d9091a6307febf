//! Branches whose arms are short rows, written out: a row of elements that are chosen, so that no positions are selected and brought together again.
//!
//! ```text
//! map n (cs) (\c ->                             table = [1, 2, 3]
//!   if c < 0 then [1, 2, 3]                     map n (cs) (\c ->
//!   else if c > 9 then []             ==>         let (k, base, x) = if c < 0 then (3, 0, 0)
//!   else [c])                                                        else if c > 9 then (0, 3, 0) else (1, -1, c)
//!                                                 in map k (iota k) (\j -> if base >= 0 then table[base + j] else x))
//! ```
//!
//! Rows of constants are in a table. Of others each element has a variable; `replicate k x` has one.

use super::IfConversion;
use par_ir::build::Statements;
use par_ir::core::{Body, Exp, Lambda, Param, Schedule, Stm};
use par_ir::hash::HashMap;
use par_ir::prim::{BinOp, CmpOp, PrimOp};
use par_ir::visit::Code;
use par_ir::{Atom, Dim, Prim, Scalar, Span, Type, Var, Vars, tuning};

/// The place in the table of a row that is not in it, and of one whose elements are all the same.
const ELEMENTS: i64 = -1;
const SAME: i64 = -2;

/// The rows of all arms for one array.
struct Rows {
    prim: Prim,
    /// Elements of rows of constants, one after the other.
    constants: Vec<Atom>,
    /// Elements of the longest row of others.
    slots: usize,
    /// There are rows whose elements are all the same.
    has_same: bool,
}

/// The rows that variables of a body are, by their number.
type Names = HashMap<Var, usize>;

impl IfConversion<'_> {
    /// The choice of elements, and what comes before it, in place of a branch between rows that are written out.
    pub(super) fn written_out(&mut self, stm: &Stm) -> Option<Vec<Stm>> {
        let Exp::If { cond, then, other } = &stm.exp else { return None };
        if self.depth_of(cond) == 0 {
            return None;
        }
        let arrays: Names = stm.pat.iter().filter(|p| p.ty.rank() > 0).map(|p| p.var).zip(0..).collect();
        let is_row = |p: &Param| p.ty.rank() == 0 || p.ty.rank() == 1 && !p.ty.is_desc();
        if arrays.is_empty() || !stm.pat.iter().all(is_row) {
            return None;
        }
        let prims = stm.pat.iter().filter(|p| p.ty.rank() > 0).map(|p| p.ty.prim());
        let mut rows: Vec<Rows> =
            prims.map(|prim| Rows { prim, constants: vec![], slots: 0, has_same: false }).collect();
        let arms = [then, other].map(|arm| {
            let names = results(arm, &stm.pat, &arrays)?;
            find(arm, &names, &mut rows).then_some(names)
        });
        let [Some(then_names), Some(other_names)] = arms else { return None };
        if rows.iter().any(|r| r.constants.len() > tuning::WRITTEN_ROWS || r.slots > tuning::TINY_ELEMENTS) {
            return None;
        }
        let mut chooser = Chooser { vars: self.vars, rows: &rows, next: vec![0; rows.len()] };
        let (then, other) = (chooser.body(then, &then_names), chooser.body(other, &other_names));
        let (pat, chosen) = chooser.pattern(&stm.pat, &arrays);
        let mut out = vec![Stm { pat, exp: Exp::If { cond: *cond, then, other }, span: stm.span }];
        for p in stm.pat.iter().filter(|p| p.ty.rank() > 0) {
            let number = arrays[&p.var];
            let table = (!rows[number].constants.is_empty()).then(|| self.table(&rows[number], stm.span));
            self.row(p, &rows[number], table, &chosen[number], stm.span, &mut out);
        }
        Some(out)
    }

    /// The table of constants, made at the start of the function.
    fn table(&mut self, rows: &Rows, span: Span) -> Var {
        let n = Dim::Size(Atom::i64(rows.constants.len() as i64));
        let p = Param { var: self.vars.fresh("table"), ty: Type::array(vec![n], rows.prim) };
        let var = p.var;
        self.tables.push(Stm { pat: vec![p], exp: Exp::Literal(rows.constants.clone(), rows.prim), span });
        var
    }

    /// The row, element by element.
    fn row(
        &mut self,
        p: &Param,
        rows: &Rows,
        table: Option<Var>,
        chosen: &[Param],
        span: Span,
        out: &mut Vec<Stm>,
    ) {
        let Dim::Size(width) = p.ty.dims[0] else { unreachable!("the length of a row is a number") };
        let (base, slots) = chosen.split_first().expect("a row has a place in the table");
        let index = Param { var: self.vars.fresh("j"), ty: Type::scalar(Prim::I64) };
        let mut code = Statements::new(span);
        let element = element((base, slots), index.var.into(), (rows, table), &mut code, self.vars);
        let body = code.results(vec![element]);
        let ret = vec![Type::scalar(rows.prim)];
        let lam = Lambda { params: vec![index], body, ret, schedule: Schedule::Free };
        let positions = Type::array(vec![Dim::Size(width)], Prim::I64);
        let is = Param { var: self.vars.fresh("is"), ty: positions };
        let inputs = vec![is.var];
        out.push(Stm { pat: vec![is], exp: Exp::Iota(width), span });
        out.push(Stm { pat: vec![p.clone()], exp: Exp::Map { width, inputs, lam }, span });
    }
}

/// The rows that a body results in, by their number.
fn results(body: &Body, pat: &[Param], arrays: &Names) -> Option<Names> {
    let of = |(p, r): (&Param, &Atom)| Some((r.var()?, *arrays.get(&p.var)?));
    let found: Names = pat.iter().zip(&body.results).filter_map(of).collect();
    // No row is there twice.
    (found.len() == arrays.len()).then_some(found)
}

/// Notes the rows of a body and those of its arms; false if it has other arrays, or does more with these than to result in them.
fn find(body: &Body, names: &Names, rows: &mut [Rows]) -> bool {
    let mut left = names.len();
    for stm in &body.stms {
        if stm.free().iter().any(|v| names.contains_key(v)) {
            return false;
        }
        let row = stm.pat.first().and_then(|p| names.get(&p.var)).copied();
        match (&stm.exp, row) {
            (Exp::Literal(elements, _), Some(row)) => {
                left -= 1;
                match is_constant(elements) {
                    true => rows[row].constants.extend(elements),
                    false => rows[row].slots = rows[row].slots.max(elements.len()),
                }
            }
            (Exp::Replicate(_, x), Some(row)) if stm.pat[0].ty.rank() == 1 => {
                left -= 1;
                (rows[row].slots, rows[row].has_same) = (rows[row].slots.max(1), true);
            }
            (Exp::If { then, other, .. }, _) if stm.pat.iter().any(|p| names.contains_key(&p.var)) => {
                let inside: Names =
                    stm.pat.iter().filter_map(|p| Some((p.var, *names.get(&p.var)?))).collect();
                left -= inside.len();
                for arm in [then, other] {
                    let Some(names) = results(arm, &stm.pat, &inside) else { return false };
                    if !find(arm, &names, rows) {
                        return false;
                    }
                }
            }
            (exp, None) if exp.own_bodies().is_empty() && stm.pat.iter().all(|p| p.ty.is_scalar()) => {}
            _ => return false,
        }
    }
    left == 0
}

fn is_constant(elements: &[Atom]) -> bool {
    elements.iter().all(|a| matches!(a, Atom::Const(_)))
}

/// Replaces rows by the numbers that choose their elements.
struct Chooser<'v> {
    vars: &'v mut Vars,
    rows: &'v [Rows],
    /// The place of the next row of constants in each table: they are met in the order in which they were found.
    next: Vec<usize>,
}

impl Chooser<'_> {
    fn body(&mut self, body: &Body, names: &Names) -> Body {
        let mut stms = Vec::new();
        let mut made: HashMap<Var, Vec<Atom>> = HashMap::default();
        for stm in &body.stms {
            let row = stm.pat.first().and_then(|p| names.get(&p.var)).copied();
            match (&stm.exp, row) {
                (Exp::Literal(elements, _), Some(row)) => {
                    _ = made.insert(stm.pat[0].var, self.literal(row, elements))
                }
                (Exp::Replicate(_, x), Some(row)) => {
                    _ = made.insert(stm.pat[0].var, self.numbers(row, SAME, &[*x]));
                }
                (Exp::If { cond, then, other }, _) if stm.pat.iter().any(|p| names.contains_key(&p.var)) => {
                    let inside: Names =
                        stm.pat.iter().filter_map(|p| Some((p.var, *names.get(&p.var)?))).collect();
                    let arms = [then, other].map(|arm| {
                        let names = results(arm, &stm.pat, &inside).expect("found before");
                        self.body(arm, &names)
                    });
                    let [then, other] = arms;
                    let (pat, chosen) = self.pattern(&stm.pat, &inside);
                    for (v, row) in &inside {
                        made.insert(*v, chosen[*row].iter().map(|p| p.var.into()).collect());
                    }
                    stms.push(Stm { pat, exp: Exp::If { cond: *cond, then, other }, span: stm.span });
                }
                _ => stms.push(stm.clone()),
            }
        }
        let numbers = |r: &Atom| match r.var().and_then(|v| made.get(&v)) {
            Some(numbers) => numbers.clone(),
            None => vec![*r],
        };
        Body { stms, results: body.results.iter().flat_map(numbers).collect() }
    }

    fn literal(&mut self, row: usize, elements: &[Atom]) -> Vec<Atom> {
        if !is_constant(elements) {
            return self.numbers(row, ELEMENTS, elements);
        }
        let base = self.next[row];
        self.next[row] += elements.len();
        self.numbers(row, base as i64, &[])
    }

    /// Its place in the table, and its elements.
    fn numbers(&self, row: usize, base: i64, elements: &[Atom]) -> Vec<Atom> {
        let zero = Atom::Const(Scalar::zero(self.rows[row].prim));
        let slots = (0..self.rows[row].slots).map(|i| elements.get(i).copied().unwrap_or(zero));
        std::iter::once(Atom::i64(base)).chain(slots).collect()
    }

    /// The pattern with numbers in place of rows, and these by the number of the row.
    fn pattern(&mut self, pat: &[Param], arrays: &Names) -> (Vec<Param>, Vec<Vec<Param>>) {
        let (mut all, mut chosen) = (Vec::new(), vec![vec![]; self.rows.len()]);
        for p in pat {
            let Some(row) = arrays.get(&p.var) else {
                all.push(p.clone());
                continue;
            };
            let base = Param { var: self.vars.fresh("base"), ty: Type::scalar(Prim::I64) };
            let ty = Type::scalar(self.rows[*row].prim);
            let slots = (0..self.rows[*row].slots)
                .map(|_| Param { var: self.vars.fresh_like(p.var), ty: ty.clone() });
            let numbers: Vec<Param> = std::iter::once(base).chain(slots.collect::<Vec<_>>()).collect();
            all.extend(numbers.iter().cloned());
            chosen[*row] = numbers;
        }
        (all, chosen)
    }
}

/// The element at an index of the row that is chosen by these numbers.
fn element(
    (base, slots): (&Param, &[Param]),
    index: Atom,
    (rows, table): (&Rows, Option<Var>),
    code: &mut Statements,
    vars: &mut Vars,
) -> Atom {
    let base = base.var.into();
    let select = |prim| PrimOp::Select(prim);
    let mut chosen: Option<Atom> = None;
    for (i, slot) in slots.iter().enumerate().rev() {
        chosen = Some(match chosen {
            None => slot.var.into(),
            Some(later) => {
                let here = code.compare("t", CmpOp::Eq, index, Atom::i64(i as i64), vars);
                code.prim("t", select(rows.prim), vec![here, slot.var.into(), later], vars)
            }
        });
    }
    if let (true, Some(other), [first, _, ..]) = (rows.has_same, chosen, slots) {
        let same = code.compare("t", CmpOp::Eq, base, Atom::i64(SAME), vars);
        chosen = Some(code.prim("t", select(rows.prim), vec![same, first.var.into(), other], vars));
    }
    let Some(table) = table else { return chosen.unwrap_or(Atom::Const(Scalar::zero(rows.prim))) };
    let ty = Type::scalar(rows.prim);
    let at = code.arith("t", BinOp::Add, base, index, vars);
    let Some(chosen) = chosen else { return code.value("t", ty, Exp::Index(table, vec![at]), vars).into() };
    let is_constant = code.compare("t", CmpOp::Ge, base, Atom::i64(0), vars);
    let at = code.prim("t", select(Prim::I64), vec![is_constant, at, Atom::i64(0)], vars);
    let constant = code.value("t", ty, Exp::Index(table, vec![at]), vars).into();
    code.prim("t", select(rows.prim), vec![is_constant, constant, chosen], vars)
}
