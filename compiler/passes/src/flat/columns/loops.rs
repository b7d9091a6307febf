//! Loops along columns that update arrays: kernels with a position for each column, to which `length` elements of an array belong.
//!
//! ```text
//! c = kernel map (own t as s) over [m] {                  c = kernel map (own t as s) over [m] {
//!     let start = pos*n                                       loop s for i < n - 1 do
//!     loop s for i < n - 1 do                    ==>              s with [(i + 1)*m + pos] = s[i*m + pos] + xs[(i + 1)*m + pos] }
//!         s with [start + (i + 1)] = s[start + i] + xs[(i + 1)*m + pos] }
//! ```
//!
//! The layout of the updated array becomes row-major, as that of the arrays that the loop reads: neighbouring positions access neighbours.

use super::readers::Finder;
use super::size::{Size, is_product};
use crate::flat::bulk::reads;
use par_ir::Vars;
use par_ir::access::{Access, Facts, Form, Read, Symbol};
use par_ir::alias::note_versions;
use par_ir::build::Statements;
use par_ir::core::{At, Body, Exp};
use par_ir::flat::{Block, Kernel, KernelKind, Op, Out, Space, Stm};
use par_ir::hash::{HashMap, HashSet};
use par_ir::prim::{BinOp, PrimOp};
use par_ir::ty::{Atom, Var};
use par_ir::visit::{Code, Subst};
use par_runtime::Prim;

/// Gives replicated arrays that such loops update a row-major layout.
pub(super) fn sweep(block: &mut Block, facts: &Facts, vars: &mut Vars) {
    for at in 0..block.stms.len() {
        let (Op::Replicate(len, _), [p]) = (&block.stms[at].op, &block.stms[at].pat[..]) else { continue };
        let (array, len) = (p.var, facts.form(*len));
        let size = block.stms[at + 1..].iter().find_map(|s| size_of_updated(s, array, &len, facts));
        let Some(size) = size else { continue };
        if let Some(readers) = Finder::new(block, size, facts, vars).readers(at, &[array]) {
            readers.redirect(block, &HashMap::from_iter([(array, array)]), facts, vars);
        }
    }
}

/// The size of a column-major array of `len` elements that a kernel updates, if the kernel also reads neighbours at neighbouring positions.
fn size_of_updated(stm: &Stm, array: Var, len: &Form, facts: &Facts) -> Option<Size> {
    let Op::Kernel(k) = &stm.op else { return None };
    let KernelKind::Map(outs) = &k.kind else { return None };
    outs.iter().find(|o| matches!(o, Out::Own { dest, .. } if *dest == array))?;
    let columns = k.space.as_flat()?;
    let mut lengths = lengths(&k.body, k.pos);
    lengths.retain(|n| is_product(len, [columns, *n], facts));
    // Most kernels end here, so that accesses are looked at once.
    lengths.first()?;
    let access = Access::of(k, facts);
    let is_neighbour = |index: &Form| access.growth(index, Symbol::Index(0)) == Some(Form::from(1));
    // An array with one element for each position has no columns.
    let is_single = |index: &Form| index.minus(&Form::from(Symbol::Index(0))).as_constant().is_some();
    let by_column = access.reads().any(|r| is_neighbour(&r.index) && !is_single(&r.index));
    let mut sizes = lengths.into_iter().map(|length| Size { count: None, columns, length });
    sizes.find(|size| by_column && InLoops::of(k, array, *size, facts).is_some())
}

/// Factors by which the position is multiplied: candidates for the length of a column.
fn lengths(body: &Body, pos: Var) -> Vec<Atom> {
    let mut found = Vec::new();
    for stm in &body.stms {
        if let Exp::Prim(PrimOp::Bin(BinOp::Mul, Prim::I64), xs) = &stm.exp
            && xs.contains(&pos.into())
        {
            found.extend(xs.iter().filter(|x| **x != pos.into()));
        }
        stm.exp.bodies().into_iter().for_each(|b| found.extend(lengths(b, pos)));
    }
    found
}

/// Accesses to a column-major array by a kernel with one position per column.
pub(super) struct InLoops {
    /// The number of the kernel's result, if it updates the array.
    pub(super) result: Option<usize>,
    /// Variables that are the array, or versions of it.
    versions: HashSet<Var>,
    /// Of each index: the number of the element in its column.
    elements: HashMap<Atom, Atom>,
}

impl InLoops {
    /// The accesses of a kernel, if each is to the column of its position.
    pub(super) fn of(k: &Kernel, array: Var, size: Size, facts: &Facts) -> Option<InLoops> {
        let KernelKind::Map(outs) = &k.kind else { return None };
        let is_own = |o: &Out| matches!(o, Out::Own { .. } | Out::Elem(_));
        if !outs.iter().all(is_own)
            || size.count.is_some()
            || k.space != Space::flat(size.columns)
            || !k.prologue.is_empty()
        {
            return None;
        }
        let mut versions = HashSet::from_iter([array]);
        let state = |o: &Out| match o {
            Out::Own { dest, state } if *dest == array => Some(state.var),
            _ => None,
        };
        let result = outs.iter().position(|o| state(o).is_some());
        versions.extend(outs.iter().filter_map(state));
        note_versions(&k.body, &mut versions);
        let mut found = InLoops { result, versions, elements: HashMap::default() };
        note_elements(
            &k.body,
            &Start { pos: k.pos, length: size.length, facts },
            &mut HashSet::default(),
            &mut found.elements,
        );
        let uses = k.uses_of(array) - usize::from(result.is_some());
        let access = Access::of(k, facts);
        let reads = || access.reads().filter(|r| r.array == array);
        // What it updates is its own; what others have made might be read beyond the column, as one long array.
        let is_inside = reads().count() == uses && reads().all(|r| is_inside(r, size.length, &access, facts));
        (is_inside && found.knows(&k.body)).then_some(found)
    }

    /// True if of all reads and updates it is known which element that is.
    fn knows(&self, body: &Body) -> bool {
        let is_version = |v: Var| self.versions.contains(&v);
        body.stms.iter().all(|stm| {
            let here = match &stm.exp {
                Exp::Index(arr, at) if is_version(*arr) => {
                    matches!(at[..], [i] if self.elements.contains_key(&i))
                }
                Exp::Update { arr, at, .. } if is_version(*arr) => {
                    matches!(at[..], [At::Index(i)] if self.elements.contains_key(&i))
                }
                Exp::Call(_, args) => !args.iter().any(|a| a.var().is_some_and(is_version)),
                _ => true,
            };
            here && stm.exp.bodies().into_iter().all(|b| self.knows(b))
        })
    }

    /// Rewrites the accesses for the row-major array `to`.
    pub(super) fn redirect(&self, k: &mut Kernel, (from, to): (Var, Var), columns: Atom, vars: &mut Vars) {
        let pos = k.pos.into();
        self.by_row(&mut k.body, (columns, pos), vars);
        k.substitute(&Subst::from_iter([(from, to.into())]));
        reads::simplify(k);
    }

    fn by_row(&self, body: &mut Body, (columns, pos): (Atom, Atom), vars: &mut Vars) {
        let mut stms = Vec::with_capacity(body.stms.len());
        for mut stm in std::mem::take(&mut body.stms) {
            stm.exp.for_each_body_mut(|b| self.by_row(b, (columns, pos), vars));
            let mut code = Statements::new(stm.span);
            let mut place = |i: Atom| {
                let start = code.arith("start", BinOp::Mul, self.elements[&i], columns, vars);
                code.arith("at", BinOp::Add, start, pos, vars)
            };
            match &mut stm.exp {
                Exp::Index(arr, at) if self.versions.contains(arr) => at[0] = place(at[0]),
                Exp::Update { arr, at, .. } if self.versions.contains(arr) => {
                    let [At::Index(i)] = at[..] else { unreachable!("only elements are updated") };
                    at[0] = At::Index(place(i));
                }
                _ => {}
            }
            stms.extend(code.stms);
            stms.push(stm);
        }
        body.stms = stms;
    }
}

/// True if a read is proved to stay in the column of its position.
fn is_inside(read: &Read, length: Atom, access: &Access, facts: &Facts) -> bool {
    let length = facts.form(length);
    let Some(start) = Form::from(Symbol::Index(0)).times(&length) else { return false };
    let element = read.index.minus(&start);
    let left = length.minus(&element).plus(&Form::from(-1));
    [element, left].iter().all(|f| access.never_negative_where(f, &read.guards))
}

/// Offset of the elements of a position: its number times their number.
struct Start<'s> {
    pos: Var,
    length: Atom,
    facts: &'s Facts,
}

/// Notes the indices that are such a start and a number.
fn note_elements(body: &Body, start: &Start, starts: &mut HashSet<Var>, elements: &mut HashMap<Atom, Atom>) {
    for stm in &body.stms {
        if let (Exp::Prim(PrimOp::Bin(op, Prim::I64), xs), [p]) = (&stm.exp, &stm.pat[..])
            && let [a, b] = xs[..]
        {
            let is_start = |x: Atom| x.var().is_some_and(|v| starts.contains(&v));
            let is_length = |x: Atom| start.facts.form(x) == start.facts.form(start.length);
            let pos = Atom::Var(start.pos);
            match op {
                BinOp::Mul if (a == pos && is_length(b)) || (b == pos && is_length(a)) => {
                    starts.insert(p.var);
                    elements.insert(p.var.into(), Atom::i64(0));
                }
                BinOp::Add if is_start(a) => _ = elements.insert(p.var.into(), b),
                BinOp::Add if is_start(b) => _ = elements.insert(p.var.into(), a),
                _ => {}
            }
        }
        stm.exp.bodies().into_iter().for_each(|b| note_elements(b, start, starts, elements));
    }
}
