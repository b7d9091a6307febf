//! Rows of a few elements, as many in each, are written out: a position is a row then.
//!
//! ```text
//! ys = kernel map (elem f32) over [n] [3] \row pos j {     ys = kernel map (row 3 f32) over [n] \_ row {
//!     s = sums[row]                                            s = sums[row]
//!     x = xs[pos]                                    ==>       x0 = xs[row * 3]
//!     in x / s }                                               x1 = xs[row * 3 + 1]
//!                                                              x2 = xs[row * 3 + 2]
//!                                                              in (x0 / s, x1 / s, x2 / s) }
//! ```
//!
//! A row would end before a group of vectors is full. So rows themselves are the lanes, and what is the same in a row is computed once. A
//! reduction of such rows combines their elements there, one after the other.

use super::bulk::reads;
use super::walk;
use par_ir::access::{Access, Facts, Symbol};
use par_ir::build::Statements;
use par_ir::core::{Body, Exp, Lambda, Stm};
use par_ir::effects::Effects;
use par_ir::flat::{Kernel, KernelKind, Out, Program, Space};
use par_ir::prim::BinOp;
use par_ir::ty::{Atom, Dim};
use par_ir::visit::{Code, Subst};
use par_ir::{Vars, tiny, tuning};
use par_runtime::Span;

/// In every function of a program.
pub(crate) fn run(program: &mut Program) {
    walk::kernels(program, |k, _, vars| {
        // Sums of short rows may be elements of short rows.
        while let Some(n) = short(k) {
            write_out(k, n, vars);
        }
        if reads::arms_begin_alike(k) {
            reads::simplify(k);
        }
    });
}

/// The length of a kernel's rows, if they are to be written out.
fn short(k: &Kernel) -> Option<i64> {
    let n = length(k.space.innermost()).filter(|_| k.space.0.len() > 1)?;
    let is_straight = |s: &Stm| !s.has_effect() && s.exp.own_bodies().is_empty();
    let (fits, combined) = match &k.kind {
        KernelKind::Map(outs) => (outs.iter().all(|o| matches!(o, Out::Elem(_))) && k.uses_rows(), 0),
        // Others may be products of matrices, which are done in tiles.
        KernelKind::Reduce { op, neutral } => {
            let rows = &k.space.0[..k.space.0.len() - 1];
            let few = rows.len() == 1 || length(rows[rows.len() - 1]).is_some();
            let only = k.body.results.len() == neutral.len();
            (few && only && op.body.stms.iter().all(is_straight), op.body.stms.len())
        }
        _ => return None,
    };
    if !fits || !k.body.stms.iter().all(is_straight) {
        return None;
    }
    let many = tuning::SHORT_ROW_STATEMENTS;
    let all = (k.body.stms.len() + combined) as i64 * n;
    (all <= many || written_out(k, combined as i64, n) <= many && lanes_read_rows(k)).then_some(n)
}

/// The statements of a row that is written out. What is the same in a row is there once, and indices inside of it are constants.
fn written_out(k: &Kernel, combined: i64, n: i64) -> i64 {
    let inner = Atom::Var(k.innermost());
    let (mut known, mut varies) = (vec![inner], vec![inner, k.pos.into()]);
    let mut count = combined * n;
    for stm in &k.body.stms {
        let uses: Vec<Atom> = stm.free().into_iter().map(Atom::Var).collect();
        let of_stm = stm.pat.iter().map(|p| Atom::Var(p.var));
        if matches!(stm.exp, Exp::Prim(..)) && uses.iter().all(|a| known.contains(a)) {
            known.extend(of_stm.clone());
            varies.extend(of_stm);
        } else if uses.iter().any(|a| varies.contains(a)) {
            varies.extend(of_stm);
            count += n;
        } else {
            count += 1;
        }
    }
    count
}

/// True if lanes that are rows read at places that grow by the same number from row to row, or at the same one.
fn lanes_read_rows(k: &Kernel) -> bool {
    let none = Facts::default();
    let access = Access::of(k, &none);
    let Some(row) = access.axes().row() else { return false };
    let inner = Symbol::Index(access.axes().count() - 1);
    access.reads().all(|read| {
        let Some((_, of_rows)) = read.index.split(inner) else { return false };
        let growth =
            of_rows.split(Symbol::Index(access.axes().rows() - 1)).and_then(|(f, _)| f.as_constant());
        let rest = of_rows.minus(&row.scaled(growth.unwrap_or(0)));
        growth.is_some() && access.is_host(&rest)
    })
}

fn length(dim: Dim) -> Option<i64> {
    let Dim::Size(n) = dim else { return None };
    n.as_i64().filter(|n| (2..=tuning::SHORT_ROW).contains(n))
}

fn write_out(k: &mut Kernel, n: i64, vars: &mut Vars) {
    let span = k.body.stms.first().map_or(Span::default(), |s| s.span);
    let mut rows = Rows { code: Statements { stms: std::mem::take(&mut k.prologue), span }, vars };
    let (inner, start) = (k.innermost(), rows.sum(BinOp::Mul, k.row.into(), n));
    let each: Vec<Vec<Atom>> = (0..n)
        .map(|j| {
            let at = if j == 0 { start } else { rows.sum(BinOp::Add, start, j) };
            let place = [(inner, Atom::i64(j)), (k.pos, at)];
            rows.element(&k.body, Subst::from_iter(place))
        })
        .collect();
    let (outs, results) = match &k.kind {
        KernelKind::Reduce { op, neutral } => {
            let outs = op.ret.iter().map(|t| Out::Elem(t.prim())).collect();
            let combine = |acc: Vec<Atom>, xs: &Vec<Atom>| rows.combined(op, &[acc, xs.clone()].concat());
            (outs, each.iter().fold(neutral.clone(), combine))
        }
        KernelKind::Map(outs) => {
            let row = |o: &Out| if let Out::Elem(p) = o { Some(Out::Row(*p, n as usize)) } else { None };
            let column = |o: usize| each.iter().map(move |row| row[o]);
            (outs.iter().filter_map(row).collect(), (0..outs.len()).flat_map(column).collect())
        }
        _ => return,
    };
    k.body = rows.code.results(results);
    k.kind = KernelKind::Map(outs);
    k.space = Space(k.space.0[..k.space.0.len() - 1].to_vec());
    k.index.pop();
    k.pos = k.row;
    k.row = match k.index.len() {
        2 => k.index[0],
        _ => rows.vars.fresh("row"),
    };
    if k.index.len() == 1 {
        k.index = vec![k.pos];
    }
    reads::simplify(k);
    let mut needed = k.body.results.iter().filter_map(|a| a.var()).collect();
    k.body.stms = reads::needed_of(&k.body.stms, &mut needed);
}

/// The statements of a row so far.
struct Rows<'v> {
    code: Statements,
    vars: &'v mut Vars,
}

impl Rows<'_> {
    fn sum(&mut self, op: BinOp, x: Atom, y: i64) -> Atom {
        self.code.arith("i", op, x, Atom::i64(y), self.vars)
    }

    /// The results of an operator.
    fn combined(&mut self, op: &Lambda, operands: &[Atom]) -> Vec<Atom> {
        let names = op.params.iter().map(|p| p.var).zip(operands.iter().copied()).collect();
        self.element(&op.body, names)
    }

    /// The results at one element, whose place is known.
    fn element(&mut self, body: &Body, mut place: Subst) -> Vec<Atom> {
        for stm in &body.stms {
            let mut new = stm.substituted(&place);
            for p in &mut new.pat {
                let var = self.vars.fresh_like(p.var);
                place.insert(std::mem::replace(&mut p.var, var), var.into());
            }
            match constant(&new.exp) {
                Some(x) => _ = place.insert(stm.pat[0].var, x),
                None => self.code.stms.push(new),
            }
        }
        body.results.substituted(&place)
    }
}

/// The value of an expression on indices that are known.
fn constant(exp: &Exp) -> Option<Atom> {
    let Exp::Prim(op, xs) = exp else { return None };
    tiny::constant(*op, xs).map(Atom::Const)
}
