//! Finds arrays of row numbers: scans that spread numbers which a scatter has put where rows start.

use par_ir::core::{Exp, Lambda, Stm as ScalarStm};
use par_ir::effects::Effects;
use par_ir::flat::{Block, Kernel, KernelKind, Op, Out};
use par_ir::prim::{BinOp, CmpOp, PrimOp};
use par_ir::ty::{Atom, Var};
use par_ir::visit::Code;
use par_runtime::Prim;

/// An array that holds for each position the last number that was put at it or before it, and how it is made in its block.
pub struct Ids {
    pub array: Var,
    /// Number of positions.
    pub n: Atom,
    /// Number of rows; all row numbers are below.
    pub k: Atom,
    /// Arrays of flags that are set where rows start, and nowhere else.
    pub flags: Vec<Var>,
    /// The statements: of the array that is written to, of the scatter, and of the scan.
    pub replicate: usize,
    pub scatter: usize,
    pub scan: usize,
}

/// The row numbers that the statement makes.
pub fn ids(b: &Block, scan: usize) -> Option<Ids> {
    let Op::Kernel(k) = &b.stms[scan].op else { return None };
    let n = k.space.as_flat()?;
    let (component, heads) = spread(k)?;
    let array = stored(k, component, b, scan)?;
    let scatter = binding(b, scan, heads)?;
    let Op::Kernel(s) = &b.stms[scatter].op else { return None };
    let (KernelKind::Map(outs), Some(rows)) = (&s.kind, s.space.as_flat()) else { return None };
    let [Out::Scatter(dests)] = outs.as_slice() else { return None };
    let [dest] = dests.as_slice() else { return None };
    let puts_numbers = s.body.results[1] == Atom::Var(s.pos);
    if !puts_numbers || s.has_effect() || s.uses_rows() {
        return None;
    }
    let replicate = binding(b, scatter, *dest)?;
    let zeros = matches!(&b.stms[replicate].op, Op::Replicate(m, x) if *m == n && *x == Atom::i64(0));
    let only = |v: Var| {
        !b.results.contains(&Atom::Var(v)) && b.stms.iter().map(|s| s.op.uses_of(v)).sum::<usize>() == 1
    };
    let alone = only(*dest) && uses_by_others(b, heads, scan) == 0 && !b.results.contains(&Atom::Var(heads));
    let flags = flags(b, s, n);
    (zeros && alone).then_some(Ids { array, n, k: rows, flags, replicate, scatter, scan })
}

/// Arrays of `n` flags that are set where a scatter puts something.
fn flags(b: &Block, scatter: &Kernel, n: Atom) -> Vec<Var> {
    let mut found = Vec::new();
    for (i, stm) in b.stms.iter().enumerate() {
        let Op::Kernel(k) = &stm.op else { continue };
        let KernelKind::Map(outs) = &k.kind else { continue };
        let [Out::Scatter(dests)] = outs.as_slice() else { continue };
        let clear = |v: Var| {
            let made = binding(b, i, v).map(|at| &b.stms[at].op);
            matches!(made, Some(Op::Replicate(m, x)) if *m == n && *x == Atom::bool(false))
        };
        let sets = k.space == scatter.space && k.body.results[1..] == [Atom::bool(true)];
        if sets && clear(dests[0]) && same(k, k.body.results[0], scatter, scatter.body.results[0]) {
            found.push(stm.pat[0].var);
        }
    }
    found
}

/// True if two kernels compute the same scalars at every position.
fn same(k: &Kernel, a: Atom, l: &Kernel, b: Atom) -> bool {
    let all =
        |xs: &[Atom], ys: &[Atom]| xs.len() == ys.len() && xs.iter().zip(ys).all(|(x, y)| same(k, *x, l, *y));
    if a == Atom::Var(k.pos) && b == Atom::Var(l.pos) {
        return true;
    }
    match (bound(&k.body.stms, a).map(|s| &s.exp), bound(&l.body.stms, b).map(|s| &s.exp)) {
        (None, None) => a == b,
        (Some(Exp::Atom(x)), _) => same(k, *x, l, b),
        (_, Some(Exp::Atom(y))) => same(k, a, l, *y),
        (Some(Exp::Prim(f, xs)), Some(Exp::Prim(g, ys))) => f == g && all(xs, ys),
        (Some(Exp::Index(v, xs)), Some(Exp::Index(w, ys))) => v == w && all(xs, ys),
        _ => false,
    }
}

fn uses_by_others(b: &Block, v: Var, except: usize) -> usize {
    b.stms.iter().enumerate().filter(|(i, _)| *i != except).map(|(_, s)| s.op.uses_of(v)).sum()
}

/// The statement before another one that binds a variable.
fn binding(b: &Block, before: usize, v: Var) -> Option<usize> {
    b.stms[..before].iter().position(|s| s.pat.iter().any(|p| p.var == v))
}

/// The only array that the scan makes, if that holds the prefixes of a component.
fn stored(k: &Kernel, component: usize, b: &Block, scan: usize) -> Option<Var> {
    let pat = &b.stms[scan].pat;
    let holds = match k.after() {
        None => component == 0 && k.body.results.len() == 1,
        Some(after) => {
            let value = Atom::Var(after.params[component].var);
            after.body.stms.is_empty()
                && after.body.results == [value]
                && matches!(after.outs[..], [Out::Elem(_)])
        }
    };
    (holds && pat.len() == 1).then(|| pat[0].var)
}

/// The component of a scan that spreads positive numbers, and the array of these.
fn spread(k: &Kernel) -> Option<(usize, Var)> {
    let KernelKind::Scan { op, neutral, exclusive: false, .. } = &k.kind else { return None };
    if !k.prologue.is_empty() {
        return None;
    }
    let read = |a: Atom| match &bound(&k.body.stms, a)?.exp {
        Exp::Index(array, is) if is[..] == [Atom::Var(k.pos)] => Some(*array),
        _ => None,
    };
    let results = &k.body.results;
    if neutral.len() == 1 {
        let least = neutral[0].as_i64().is_some_and(|c| c <= 0);
        return (least && is_maximum(op)).then(|| read(results[0])).flatten().map(|array| (0, array));
    }
    let segmented = segmented(op)?;
    let [value] = segmented.values[..] else { return None };
    let (flag, number) = (results[segmented.flag], results[value]);
    let is_set = match &bound(&k.body.stms, flag)?.exp {
        Exp::Prim(PrimOp::Cmp(CmpOp::Gt | CmpOp::Ne, Prim::I64), xs) => xs[..] == [number, Atom::i64(0)],
        Exp::Prim(PrimOp::Cmp(CmpOp::Lt, Prim::I64), xs) => xs[..] == [Atom::i64(0), number],
        _ => false,
    };
    (is_set && neutral[value] == Atom::i64(0)).then(|| read(number)).flatten().map(|array| (value, array))
}

fn is_maximum(op: &Lambda) -> bool {
    let [stm] = op.body.stms.as_slice() else { return false };
    let parameters: Vec<Atom> = op.params.iter().map(|p| Atom::Var(p.var)).collect();
    let both = |xs: &[Atom]| xs.len() == 2 && parameters.iter().all(|p| xs.contains(p));
    op.body.results == [Atom::Var(stm.pat[0].var)]
        && matches!(&stm.exp, Exp::Prim(PrimOp::Bin(BinOp::Max, Prim::I64), xs) if both(xs))
}

/// Sums over segments that begin where a flag is set.
pub struct Segmented {
    /// The component of the flags.
    pub flag: usize,
    /// The others.
    pub values: Vec<usize>,
    /// Operators that add two of each.
    pub sums: Vec<ScalarStm>,
}

/// Recognises an operator as segmented.
pub fn segmented(op: &Lambda) -> Option<Segmented> {
    let k = op.ret.len();
    let (left, right) = op.params.split_at(k);
    let is_both = |xs: &[Atom], i: usize| {
        let (x, y) = (Atom::Var(left[i].var), Atom::Var(right[i].var));
        xs == [x, y] || xs == [y, x]
    };
    let is_flag = |i: usize| {
        let stm = bound(&op.body.stms, op.body.results[i]).map(|s| &s.exp);
        matches!(stm, Some(Exp::Prim(PrimOp::Bin(BinOp::Or, Prim::Bool), xs)) if is_both(xs, i))
    };
    let flag = (0..k).find(|i| is_flag(*i))?;
    let values: Vec<usize> = (0..k).filter(|i| *i != flag).collect();
    let sum = |i: &usize| {
        let (set, alone) = (Atom::Var(right[flag].var), Atom::Var(right[*i].var));
        let result = op.body.results[*i];
        let choice = bound(&op.body.stms, result)?;
        let stm = match &choice.exp {
            Exp::Prim(PrimOp::Select(_), xs) if xs[..2] == [set, alone] => bound(&op.body.stms, xs[2])?,
            Exp::If { cond, then, other } if *cond == set => {
                let number = choice.pat.iter().position(|p| Atom::Var(p.var) == result)?;
                (then.results[number] == alone).then(|| bound(&other.stms, other.results[number]))??
            }
            _ => return None,
        };
        let adds = matches!(&stm.exp, Exp::Prim(PrimOp::Bin(BinOp::Add, _), ys) if is_both(ys, *i));
        adds.then(|| stm.clone())
    };
    let sums: Option<Vec<ScalarStm>> = values.iter().map(sum).collect();
    Some(Segmented { flag, values, sums: sums? })
}

/// The statement that binds a scalar.
pub fn bound(stms: &[ScalarStm], a: Atom) -> Option<&ScalarStm> {
    let v = a.var()?;
    stms.iter().find(|s| s.pat.iter().any(|p| p.var == v))
}
