//! Kernels under construction: the open group of scalar statements at a level, and how it is closed.
//!
//! A group evaluates symbolic expressions once: what depends only on the row goes into the prologue, the rest
//! into the body. Every scalar that the group computes is a candidate output; [`super::prune`] drops those that
//! nothing reads.

use super::ex::Ex;
use super::host::Known;
use super::nest::{Extent, FDim, Kind, LevelId};
use super::{Flattener, Result};
use par_ir::core::{self, Exp, Lambda, Param, Stm};
use par_ir::effects::Effects;
use par_ir::flat::{self, Kernel, KernelKind, Op, Out, Space, Ty};
use par_ir::hash::{HashMap, HashSet};
use par_ir::prim::BinOp;
use par_ir::visit::Code;
use par_ir::{Atom, Dim, Prim, PrimOp, Span, Type, Var};
use std::rc::Rc;

/// Statements of one (nested) kernel body, and the expressions already evaluated there.
#[derive(Default)]
struct KScope {
    stms: Vec<Stm>,
    known: HashMap<Ex, Atom>,
}

/// A value of the enclosing nest that an operator uses.
pub struct Capture {
    /// Its name in the operator.
    pub var: Var,
    pub prim: Prim,
    /// The index expression.
    pub ex: Ex,
}

/// An operator of a reduction.
pub struct Operator {
    pub lam: Lambda,
    pub captures: Vec<Capture>,
}

/// An array that a kernel updates itself.
pub struct Owned {
    pub dest: Var,
    /// Its first version in the body.
    pub state: Param,
    /// Its last one.
    pub last: Atom,
    /// The array after the kernel.
    pub out: Var,
}

/// The earliest place where an expression may be evaluated.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    /// Once per row, if it depends on nothing else.
    Row,
    /// In the body, behind the checks before it: it may be defined only because they passed.
    Body,
}

/// An open kernel over the positions of a level.
pub struct Group {
    pub level: LevelId,
    row: Var,
    pos: Var,
    /// The index inside the row.
    inner: Var,
    /// The level above, if the space has rows.
    pub rows: Option<LevelId>,
    /// The levels above that are dimensions of the space too, outermost first, each with its index; none if that is only `rows`.
    outer: Vec<(LevelId, Var)>,
    prologue: KScope,
    scopes: Vec<KScope>,
    /// Variables bound inside.
    locals: HashSet<Var>,
    /// Variables that the body sees but does not bind: the row, and what the prologue binds.
    of_row: HashSet<Var>,
    /// Candidate outputs: the array, the body's variable, its type.
    outputs: Vec<(Var, Atom, Prim)>,
    /// Arrays with several elements for each position.
    pub rows_out: Vec<(Var, Prim, Vec<Atom>)>,
    /// Arrays that the body updates.
    pub owned: Vec<Owned>,
    /// Types of these arrays' versions in the body.
    pub arrays: HashMap<Var, Type>,
    /// Only host values may be used (operators of reductions): what depends on a position is captured here.
    captures: Option<Vec<Capture>>,
    /// It is the body of a local function.
    pub is_function: bool,
    /// Holds statements that may fail.
    pub checks: bool,
}

impl Flattener<'_> {
    /// A new kernel at a level.
    pub fn group_at(&mut self, level: LevelId) -> Group {
        let rows = match &self.shapes.level(level).kind {
            Kind::Dim(_) => Some(self.shapes.parent(level)).filter(|p| !self.shapes.is_root(*p)),
            _ => None,
        };
        let outer = rows.map_or(vec![], |p| self.outer_dimensions(p));
        let mut g = Group {
            level,
            row: self.builder.vars.fresh("row"),
            pos: self.builder.vars.fresh("pos"),
            inner: self.builder.vars.fresh("i"),
            rows,
            outer,
            prologue: KScope::default(),
            scopes: vec![KScope::default()],
            locals: HashSet::default(),
            of_row: HashSet::default(),
            outputs: Vec::new(),
            rows_out: Vec::new(),
            owned: Vec::new(),
            arrays: HashMap::default(),
            captures: None,
            is_function: false,
            checks: false,
        };
        g.scopes[0].known.insert(Ex::Pos(level), g.pos.into());
        if let Some(p) = rows {
            g.scopes[0].known.insert(Ex::Local(level), g.inner.into());
            g.prologue.known.insert(Ex::Pos(p), g.row.into());
        }
        for (i, (l, v)) in g.outer.iter().enumerate() {
            let ex = if i == 0 { Ex::Pos(*l) } else { Ex::Local(*l) };
            g.prologue.known.insert(ex, (*v).into());
        }
        g.of_row.extend(g.outer.iter().map(|(_, v)| *v).chain([g.row]));
        g.locals.extend(g.of_row.iter().copied().chain([g.pos, g.inner]));
        g
    }

    /// A level and those above it as far as each has rows of one length, outermost first, with an index for each, if there are several.
    fn outer_dimensions(&mut self, level: LevelId) -> Vec<(LevelId, Var)> {
        let mut levels = vec![level];
        let mut at = level;
        while matches!(self.shapes.level(at).kind, Kind::Dim(FDim::Size(_)))
            && !self.shapes.is_root(self.shapes.parent(at))
        {
            at = self.shapes.parent(at);
            levels.push(at);
        }
        let several = levels.len() > 1;
        levels.into_iter().rev().filter(|_| several).map(|l| (l, self.builder.vars.fresh("i"))).collect()
    }

    /// The open group, which is at `level`; opened if there is none.
    pub fn take_group(&mut self, level: LevelId) -> Group {
        match self.group.take() {
            Some(g) => {
                debug_assert_eq!(g.level, level, "groups are closed before another level opens one");
                g
            }
            None => self.group_at(level),
        }
    }

    /// Closes the open group, if any, as a map kernel whose outputs are all its scalars.
    pub fn flush(&mut self) {
        self.fresh_rows.clear();
        if let Some(g) = self.group.take()
            && (g.checks || !g.outputs.is_empty() || !g.rows_out.is_empty() || !g.owned.is_empty())
        {
            self.finish_map(g, Vec::new());
        }
    }

    /// Evaluates an expression inside the kernel.
    pub fn eval(&mut self, g: &mut Group, ex: &Ex) -> Atom {
        self.eval_from(g, Place::Row, ex)
    }

    /// Evaluates an expression that is defined only because checks before it passed.
    pub fn eval_checked(&mut self, g: &mut Group, ex: &Ex) -> Atom {
        self.eval_from(g, Place::Body, ex)
    }

    fn eval_from(&mut self, g: &mut Group, place: Place, ex: &Ex) -> Atom {
        if let Ex::Atom(a) = ex {
            return *a;
        }
        if let Some(a) = g.known(ex) {
            return a;
        }
        if g.captures.is_some() && mentions_position(ex) {
            return self.capture(g, ex);
        }
        let in_prologue = g.may_hoist(place) && g.is_row_level(ex) && !mentions_position_of(ex, g.level);
        let atom = match ex {
            Ex::Atom(a) => *a,
            Ex::Pos(l) => self.eval_pos(g, place, *l),
            Ex::Local(l) => {
                let start = self.start_of(*l);
                let p = self.eval_from(g, place, &Ex::Pos(*l));
                let s = self.eval_from(g, place, &start);
                self.arith(g, in_prologue, BinOp::Sub, p, s)
            }
            Ex::Add(a, b) => self.eval_arith(g, place, in_prologue, BinOp::Add, a, b),
            Ex::Sub(a, b) => self.eval_arith(g, place, in_prologue, BinOp::Sub, a, b),
            Ex::Mul(a, b) => self.eval_arith(g, place, in_prologue, BinOp::Mul, a, b),
            Ex::Op(op, a, b) => self.eval_arith(g, place, in_prologue, *op, a, b),
            Ex::Off(d, i) => {
                let off = self.builder.offsets(*d);
                let i = self.eval_from(g, place, i);
                self.load(g, in_prologue, off, Prim::I64, i)
            }
            Ex::Len(d, i) => {
                let off = self.builder.offsets(*d);
                let i = self.eval_from(g, place, i);
                let lo = self.load(g, in_prologue, off, Prim::I64, i);
                let next = self.arith(g, in_prologue, BinOp::Add, i, Atom::i64(1));
                let hi = self.load(g, in_prologue, off, Prim::I64, next);
                self.arith(g, in_prologue, BinOp::Sub, hi, lo)
            }
            Ex::Load(a, p, i) => {
                let i = self.eval_from(g, place, i);
                self.load(g, in_prologue, *a, *p, i)
            }
        };
        // A part may be known from the body, behind a check: then the whole is computed there too.
        let in_prologue = in_prologue && !g.is_of_body(atom);
        g.scope(in_prologue).known.insert(ex.clone(), atom);
        atom
    }

    fn eval_arith(&mut self, g: &mut Group, place: Place, pro: bool, op: BinOp, a: &Ex, b: &Ex) -> Atom {
        let a = self.eval_from(g, place, a);
        let b = self.eval_from(g, place, b);
        self.arith(g, pro, op, a, b)
    }

    /// A position above the kernel's own, from the position below it.
    fn eval_pos(&mut self, g: &mut Group, place: Place, level: LevelId) -> Atom {
        if self.shapes.is_root(level) {
            return Atom::i64(0);
        }
        let mut child = g.level;
        while self.shapes.parent(child) != level {
            assert!(!self.shapes.is_root(child), "internal error in flatten: a position outside the nest");
            child = self.shapes.parent(child);
        }
        let pro = g.may_hoist(place) && child != g.level;
        if g.outer.iter().any(|(l, _)| *l == level) {
            let start = self.start_of(level);
            return self.eval_arith(g, place, pro, BinOp::Add, &start, &Ex::Local(level));
        }
        let p = self.eval_from(g, place, &Ex::Pos(child));
        match self.shapes.level(child).kind.clone() {
            Kind::Dim(FDim::Size(m)) => {
                let op = PrimOp::Bin(BinOp::Quot, Prim::I64);
                self.push(g, pro, "p", Prim::I64, Exp::Prim(op, vec![p, m]))
            }
            Kind::Dim(FDim::Seg(d)) => {
                let ids = self.builder.seg_ids(d);
                self.load(g, pro, ids, Prim::I64, p)
            }
            Kind::Pack { idx, .. } => self.load(g, pro, idx, Prim::I64, p),
            Kind::Part { first, .. } => self.arith(g, pro, BinOp::Add, p, first),
            Kind::Root | Kind::Dim(FDim::View(_) | FDim::Steps(..)) => unreachable!("not below a level"),
        }
    }

    fn load(&mut self, g: &mut Group, pro: bool, arr: Var, p: Prim, i: Atom) -> Atom {
        let name = self.builder.vars.name(arr).to_string();
        self.push(g, pro, &name, p, Exp::Index(arr, vec![i]))
    }

    fn arith(&mut self, g: &mut Group, pro: bool, op: BinOp, a: Atom, b: Atom) -> Atom {
        match (op, a.as_i64(), b.as_i64()) {
            (BinOp::Add, Some(0), _) | (BinOp::Mul, Some(1), _) => return b,
            (BinOp::Add | BinOp::Sub, _, Some(0)) | (BinOp::Mul, _, Some(1)) => return a,
            (BinOp::Add, Some(x), Some(y)) => return Atom::i64(x.wrapping_add(y)),
            (BinOp::Sub, Some(x), Some(y)) => return Atom::i64(x.wrapping_sub(y)),
            _ => {}
        }
        self.push(g, pro, "i", Prim::I64, Exp::Prim(PrimOp::Bin(op, Prim::I64), vec![a, b]))
    }

    /// Adds a scalar statement with one result.
    fn push(&mut self, g: &mut Group, pro: bool, name: &str, p: Prim, exp: Exp) -> Atom {
        let var = self.builder.vars.fresh(name);
        let mut pro = pro;
        exp.for_each_operand(&mut |a| pro &= !g.is_of_body(a));
        if pro {
            g.of_row.insert(var);
        }
        self.push_stm(g, pro, vec![Param { var, ty: Type::scalar(p) }], exp);
        var.into()
    }

    pub fn push_stm(&mut self, g: &mut Group, pro: bool, pat: Vec<Param>, exp: Exp) {
        g.locals.extend(pat.iter().map(|p| p.var));
        let span = self.builder.span;
        g.scope(pro).stms.push(Stm { pat, exp, span });
    }

    /// Adds a statement to the body; its results become candidate outputs if it is not inside a branch or loop. Returns
    /// expressions for the results.
    pub fn add_scalar(&mut self, g: &mut Group, pat: &[Param], exp: Exp) -> Vec<Ex> {
        g.checks |= exp.has_effect();
        let fresh: Vec<Param> = pat
            .iter()
            .map(|p| Param { var: self.builder.vars.fresh_like(p.var), ty: p.ty.clone() })
            .collect();
        let locals: Vec<(Var, Prim)> = fresh.iter().map(|p| (p.var, p.ty.prim())).collect();
        self.push_stm(g, false, fresh, exp);
        locals.into_iter().map(|(v, p)| self.local_result(g, v, p)).collect()
    }

    /// Result for a scalar that the body has bound: outside branches and loops, a candidate output.
    pub fn local_result(&mut self, g: &mut Group, v: Var, p: Prim) -> Ex {
        if g.scopes.len() > 1 || g.captures.is_some() {
            return Ex::Atom(v.into());
        }
        self.candidate(g, v.into(), p)
    }

    /// Makes a value of the body a candidate output.
    fn candidate(&mut self, g: &mut Group, local: Atom, p: Prim) -> Ex {
        let arr = match local {
            Atom::Var(v) => self.builder.vars.fresh_like(v),
            Atom::Const(_) => self.builder.vars.fresh("c"),
        };
        g.outputs.push((arr, local, p));
        let extent = self.shapes.extent(g.level);
        self.shapes.extents.insert(arr, extent);
        let ex = Ex::Load(arr, p, Rc::new(Ex::Pos(g.level)));
        g.scopes[0].known.insert(ex.clone(), local);
        ex
    }

    /// A nested body (branch or loop) inside the kernel.
    pub fn nested(
        &mut self,
        g: &mut Group,
        build: impl FnOnce(&mut Self, &mut Group) -> Result<Vec<Atom>>,
    ) -> Result<core::Body> {
        g.scopes.push(KScope::default());
        let results = build(self, g);
        let scope = g.scopes.pop().expect("pushed above");
        Ok(core::Body { stms: scope.stms, results: results? })
    }

    /// Makes a variable that a nested body binds (a loop's parameter) known as local.
    pub fn declare_local(&mut self, g: &mut Group, like: Var) -> Var {
        let v = self.builder.vars.fresh_like(like);
        g.locals.insert(v);
        v
    }

    /// A variable of an operator that stands for a value of the enclosing nest.
    fn capture(&mut self, g: &mut Group, ex: &Ex) -> Atom {
        let (var, prim) = (self.builder.vars.fresh("captured"), self.ex_prim(ex));
        g.scopes[0].known.insert(ex.clone(), var.into());
        g.captures.get_or_insert_default().push(Capture { var, prim, ex: ex.clone() });
        var.into()
    }

    /// For code that stands nowhere in a space: it sees host values and what it is given.
    pub fn group_for_values(&mut self) -> Group {
        let mut g = self.group_at(super::nest::ROOT);
        g.captures = Some(Vec::new());
        g.scopes[0].known.clear();
        g
    }

    /// An operator of a reduction: scalar code over host values, its parameters, and what it captures.
    pub fn operator(&mut self, op: &Lambda) -> Result<Operator> {
        let mut g = self.group_for_values();
        let mut params = Vec::new();
        for p in &op.params {
            let var = self.declare_local(&mut g, p.var);
            self.bind_local(p, Ex::Atom(var.into()));
            params.push(Param { var, ty: p.ty.clone() });
        }
        let body = self.nested(&mut g, |f, g| {
            if !f.sequential(&op.body) || super::local::calls(&op.body) {
                return f.unsupported("an operator of reduce, scan or hist that is itself parallel");
            }
            f.scalar_stms(g, &op.body.stms)?;
            Ok(op.body.results.iter().map(|a| f.eval_atom(g, *a)).collect())
        })?;
        let captures = g.captures.unwrap_or_default();
        Ok(Operator { lam: Lambda { params, body, ..op.clone() }, captures })
    }

    /// Evaluates a CORE operand inside the kernel.
    pub fn eval_atom(&mut self, g: &mut Group, a: Atom) -> Atom {
        let ex = self.ex(a);
        self.eval(g, &ex)
    }

    /// Closes a group as a map; besides its own scalars it stores `extra` (results and their element types) and
    /// returns the arrays for these.
    pub fn finish_map(&mut self, g: Group, extra: Vec<(Atom, Prim)>) -> Vec<Var> {
        let extent = self.shapes.extent(g.level);
        let mut outs: Vec<(Var, Atom, Prim)> = g.outputs.clone();
        let mut made = Vec::new();
        for (a, p) in extra {
            let v = self.builder.vars.fresh("out");
            self.shapes.extents.insert(v, extent.clone());
            outs.push((v, a, p));
            made.push(v);
        }
        let mut kinds: Vec<Out> = outs.iter().map(|(_, _, p)| Out::Elem(*p)).collect();
        let mut results: Vec<Atom> = outs.iter().map(|(_, a, _)| *a).collect();
        let mut pat: Vec<flat::Param> =
            outs.iter().map(|(v, _, p)| flat::Param { var: *v, ty: Ty::Array(*p) }).collect();
        for (v, prim, row) in &g.rows_out {
            kinds.push(if row.len() == 1 { Out::Elem(*prim) } else { Out::Row(*prim, row.len()) });
            results.extend(row);
            pat.push(flat::Param { var: *v, ty: Ty::Array(*prim) });
        }
        for o in &g.owned {
            kinds.push(Out::Own { dest: o.dest, state: o.state.clone() });
            results.push(o.last);
            pat.push(flat::Param { var: o.out, ty: Ty::Array(o.state.ty.prim()) });
        }
        self.finish(g, KernelKind::Map(kinds), results, pat);
        made
    }

    /// Closes a group as a kernel of any kind.
    pub fn finish(&mut self, mut g: Group, kind: KernelKind, results: Vec<Atom>, pat: Vec<flat::Param>) {
        let (space, index) = self.space(&mut g, &kind, &results);
        let body = core::Body { stms: std::mem::take(&mut g.scopes[0].stms), results };
        let prologue = std::mem::take(&mut g.prologue.stms);
        let kernel = Kernel { kind, space, index, row: g.row, pos: g.pos, prologue, body };
        self.builder.emit(pat, Op::Kernel(Box::new(kernel)));
    }

    /// The kernel's space, and its indices: rows only where the rows matter, and further dimensions likewise.
    fn space(&mut self, g: &mut Group, kind: &KernelKind, results: &[Atom]) -> (Space, Vec<Var>) {
        let per_row = !matches!(kind, KernelKind::Map(_) | KernelKind::Hist { .. });
        let outer: Vec<Var> = g.outer.iter().map(|(_, v)| *v).collect();
        match g.rows {
            Some(_) if g.uses_any(&outer, results) => {
                let (space, index) = (self.deep_space(g), [outer, vec![g.inner]].concat());
                (space, index)
            }
            Some(p) if per_row || !g.prologue.stms.is_empty() || g.uses_any(&[g.row, g.inner], results) => {
                (self.row_space(p, g.level), vec![g.row, g.inner])
            }
            _ => (Space::flat(self.count(g.level)), vec![g.pos]),
        }
    }

    /// The space of a level's elements in all dimensions that the group has.
    fn deep_space(&mut self, g: &Group) -> Space {
        // That the product of the outer sizes is a number is checked where it is counted.
        let rows = g.rows.expect("a space of rows");
        self.count(rows);
        let (outermost, inner) = g.outer.split_first().expect("several dimensions");
        let mut dims = vec![Dim::Size(self.count(outermost.0))];
        dims.extend(inner.iter().map(|(l, _)| self.dimension(*l)));
        dims.push(self.dimension(g.level));
        Space(dims)
    }

    /// The dimension of a level.
    fn dimension(&self, level: LevelId) -> Dim {
        match &self.shapes.level(level).kind {
            Kind::Dim(FDim::Size(m)) => Dim::Size(*m),
            Kind::Dim(FDim::Seg(d)) => Dim::Seg(*d),
            _ => unreachable!("a level with rows is a dimension"),
        }
    }

    /// The space of a level's elements, in rows of the level above.
    pub fn row_space(&mut self, above: LevelId, level: LevelId) -> Space {
        Space::rows(self.count(above), self.dimension(level))
    }

    /// Stores an expression for every position of a level, unless it is stored already.
    pub fn store(&mut self, level: LevelId, ex: &Ex) -> Var {
        let extent = self.shapes.extent(level);
        if let Ex::Load(v, _, i) = ex
            && **i == Ex::Pos(level)
            && self.shapes.covers(*v, &extent)
        {
            return *v;
        }
        if let Ex::Len(d, i) = ex
            && **i == Ex::Pos(level)
            && self.shapes.has_rows_for(*d, &extent)
        {
            let v = self.builder.lengths(*d);
            self.shapes.extents.insert(v, extent);
            return v;
        }
        let key = Known::Stored(ex.clone(), level);
        if let Some(Atom::Var(v)) = self.builder.known(&key) {
            return v;
        }
        let p = self.ex_prim(ex);
        let v = match ex {
            Ex::Atom(a) => {
                let n = self.count(level);
                self.builder.bind("rep", Ty::Array(p), Op::Replicate(n, *a))
            }
            Ex::Pos(l) if *l == level => {
                let n = self.count(level);
                self.builder.bind("iota", Ty::Array(p), Op::Iota(n))
            }
            _ => {
                let mut g = self.group_at(level);
                let a = self.eval(&mut g, ex);
                self.finish_map(g, vec![(a, p)])[0]
            }
        };
        self.shapes.extents.insert(v, extent);
        self.builder.learn(key, v.into());
        v
    }

    /// The scalar type of an expression.
    pub fn ex_prim(&self, ex: &Ex) -> Prim {
        match ex {
            Ex::Load(_, p, _) => *p,
            Ex::Atom(Atom::Const(c)) => c.prim(),
            Ex::Atom(Atom::Var(v)) => match self.builder.host_prims.get(v) {
                Some(p) => *p,
                None => panic!("internal error in flatten: the type of v_{} is not known", v.0),
            },
            _ => Prim::I64,
        }
    }

    /// A fresh array bound by a kernel over `extent`.
    pub fn fresh_array(&mut self, name: &str, extent: Extent) -> Var {
        let v = self.builder.vars.fresh(name);
        self.shapes.extents.insert(v, extent);
        v
    }

    pub fn at(&mut self, span: Span) {
        self.builder.span = span;
    }
}

impl Group {
    /// Makes a variable known as local.
    pub fn declare(&mut self, v: Var) {
        self.locals.insert(v);
    }

    /// True if what depends on the row only may go to the prologue.
    fn may_hoist(&self, place: Place) -> bool {
        self.rows.is_some() && place == Place::Row
    }

    fn known(&self, ex: &Ex) -> Option<Atom> {
        self.scopes
            .iter()
            .rev()
            .find_map(|s| s.known.get(ex))
            .or_else(|| self.prologue.known.get(ex))
            .copied()
    }

    /// True if the body binds it, so that the prologue cannot use it.
    fn is_of_body(&self, a: Atom) -> bool {
        a.var().is_some_and(|v| self.locals.contains(&v) && !self.of_row.contains(&v))
    }

    fn scope(&mut self, prologue: bool) -> &mut KScope {
        if prologue { &mut self.prologue } else { self.scopes.last_mut().expect("the body's own scope") }
    }

    /// No variable of the body occurs: the expression depends on the row at most.
    fn is_row_level(&self, ex: &Ex) -> bool {
        let mut ok = true;
        ex.atoms(&mut |a| {
            if let Atom::Var(v) = a {
                ok &= !self.locals.contains(&v);
            }
        });
        ok && !self.outputs.iter().any(|(v, ..)| loads_from(ex, *v))
            && !self.arrays.keys().any(|v| loads_from(ex, *v))
    }

    /// True if code of the kernel, its prologue included, mentions one of these.
    fn uses_any(&self, vars: &[Var], results: &[Atom]) -> bool {
        let mut stms = self.prologue.stms.iter().chain(&self.scopes[0].stms);
        let mentioned = stms.any(|s| vars.iter().any(|v| s.mentions(*v)));
        mentioned || results.iter().filter_map(|a| a.var()).any(|v| vars.contains(&v))
    }
}

fn loads_from(ex: &Ex, arr: Var) -> bool {
    match ex {
        Ex::Load(v, _, i) => *v == arr || loads_from(i, arr),
        Ex::Off(_, i) | Ex::Len(_, i) => loads_from(i, arr),
        Ex::Add(a, b) | Ex::Sub(a, b) | Ex::Mul(a, b) | Ex::Op(_, a, b) => {
            loads_from(a, arr) || loads_from(b, arr)
        }
        Ex::Atom(_) | Ex::Pos(_) | Ex::Local(_) => false,
    }
}

fn mentions_position(ex: &Ex) -> bool {
    match ex {
        Ex::Pos(_) | Ex::Local(_) => true,
        Ex::Atom(_) => false,
        Ex::Load(_, _, i) | Ex::Off(_, i) | Ex::Len(_, i) => mentions_position(i),
        Ex::Add(a, b) | Ex::Sub(a, b) | Ex::Mul(a, b) | Ex::Op(_, a, b) => {
            mentions_position(a) || mentions_position(b)
        }
    }
}

fn mentions_position_of(ex: &Ex, level: LevelId) -> bool {
    ex.depends_on(level)
}
