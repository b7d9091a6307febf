//! If-conversion: branches under a nest go into the maps that their arms are, so that no rows are selected and brought together again.
//!
//! ```text
//! map n (is, rows) (\i row ->                      map n (is, rows) (\i row ->
//!   if i < k then map m (row) (\x -> x - 1)          let y = if i < k then 0 else row[k]
//!   else let y = row[k]                       ==>    in map m (iota m) (\j ->
//!        in map m (row) (\x -> x / y))                 if i < k then row[j] - 1 else row[j] / y))
//! ```
//!
//! Statements of an arm besides the map of its rows stay in a branch before the map. Work is as before where both arms make their rows. An arm that
//! only names rows, which costs nothing however long they are and however often it is taken, takes part if it is that of a single position
//! (`i == k`), or of those on one side of another (`i < k`), which are half of them on average; and the other makes its rows.

mod arm;
mod emptied;
mod literals;

use arm::{Arm, Inputs};
use emptied::{Emptiness, emptiness};
use par_ir::core::{Body, Exp, Lambda, LoopForm, Param, Program, Schedule, Stm};
use par_ir::hash::{HashMap, HashSet};
use par_ir::prim::{CmpOp, PrimOp};
use par_ir::stack::deeper;
use par_ir::visit::{Code, Subst};
use par_ir::{Atom, Dim, Prim, Scalar, Type, Var, Vars};

/// In all functions.
pub fn run(program: &mut Program) {
    for f in &mut program.funs {
        let (depths, iotas) = (HashMap::default(), HashSet::default());
        let (positions, single) = (HashMap::default(), HashMap::default());
        let vars = &mut program.vars;
        let mut walk = IfConversion {
            vars,
            depth: 0,
            depths,
            iotas,
            positions,
            single,
            sides: HashSet::default(),
            emptiness: HashMap::default(),
            tables: vec![],
        };
        walk.body(&mut f.body);
        let tables = std::mem::take(&mut walk.tables);
        f.body.stms.splice(0..0, tables);
    }
}

/// A walk through a function, from the outside.
struct IfConversion<'v> {
    vars: &'v mut Vars,
    /// Of the nest that the walk is in.
    depth: usize,
    /// The depth of the innermost nest on whose position a variable depends; none: it is the same at all positions.
    depths: HashMap<Var, usize>,
    iotas: HashSet<Var>,
    /// Numbers of positions, and the depth of their nests.
    positions: HashMap<Var, usize>,
    /// Literals that belong at the start of the function.
    tables: Vec<Stm>,
    /// Conditions on whether there are elements.
    emptiness: HashMap<Var, Emptiness>,
    /// Conditions that give an answer at one position of their nest at most, and that answer.
    single: HashMap<Var, bool>,
    /// Orderings of a position and an invariant number.
    sides: HashSet<Var>,
}

impl IfConversion<'_> {
    fn body(&mut self, body: &mut Body) {
        let stms = std::mem::take(&mut body.stms);
        for stm in stms {
            deeper(|| self.stm(stm, &mut body.stms));
        }
    }

    fn stm(&mut self, mut stm: Stm, out: &mut Vec<Stm>) {
        // As a whole, before the branches inside.
        if let Some(stms) = self.written_out(&stm) {
            return stms.into_iter().for_each(|s| self.stm(s, out));
        }
        self.note(&stm);
        let nests = stm.exp.is_soac();
        self.depth += usize::from(nests);
        stm.exp.for_each_body_mut(|b| self.body(b));
        self.depth -= usize::from(nests);
        match self.unguarded(&stm).or_else(|| self.moved(&stm)) {
            Some(stms) => stms.into_iter().for_each(|s| self.stm(s, out)),
            None => out.push(stm),
        }
    }

    /// Notes what the variables of a statement depend on.
    fn note(&mut self, stm: &Stm) {
        let depth = self.depth_of(&stm.exp);
        self.depends(stm.pat.iter().map(|p| p.var), depth);
        self.emptiness.extend(emptiness(&stm.exp).map(|e| (stm.pat[0].var, e)));
        match &stm.exp {
            Exp::Iota(_) => self.iotas.extend(stm.pat.iter().map(|p| p.var)),
            Exp::Prim(PrimOp::Cmp(op, _), xs) => {
                let position = |a: &Atom| self.positions.get(&a.var()?).copied();
                let with_same = |a: &Atom, b: &Atom| position(a).is_some_and(|d| self.depth_of(b) < d);
                if with_same(&xs[0], &xs[1]) || with_same(&xs[1], &xs[0]) {
                    self.compares_position(stm.pat[0].var, *op, xs);
                }
            }
            Exp::Loop { params, form, .. } => {
                self.depends(params.iter().map(|(p, _)| p.var), depth);
                if let LoopForm::For { index, bound, .. } = form {
                    let depth = self.depth_of(bound);
                    self.depends([*index], depth);
                }
            }
            exp => {
                for lam in exp.lambdas() {
                    self.depends(lam.params.iter().map(|p| p.var), self.depth + 1);
                }
                for (p, input) in
                    exp.lambdas().first().into_iter().flat_map(|l| &l.params).zip(exp.inputs().unwrap_or(&[]))
                {
                    if self.iotas.contains(input) {
                        self.positions.insert(p.var, self.depth + 1);
                    }
                }
            }
        }
    }

    /// Notes a comparison of a position with an invariant number.
    fn compares_position(&mut self, cond: Var, op: CmpOp, xs: &[Atom]) {
        match op {
            CmpOp::Eq | CmpOp::Ne => drop(self.single.insert(cond, op == CmpOp::Eq)),
            // One side of a constant may be a few positions of many.
            _ if xs.iter().all(|x| x.var().is_some()) => drop(self.sides.insert(cond)),
            _ => {}
        }
    }

    fn depth_of(&self, code: &impl Code) -> usize {
        code.free().iter().filter_map(|v| self.depths.get(v)).copied().max().unwrap_or(0)
    }

    fn depends(&mut self, vars: impl IntoIterator<Item = Var>, depth: usize) {
        self.depths.extend(vars.into_iter().map(|v| (v, depth)));
    }

    /// The map with the branch inside, and what comes before it, in place of a branch.
    fn moved(&mut self, stm: &Stm) -> Option<Vec<Stm>> {
        let Exp::If { cond, then, other } = &stm.exp else { return None };
        if self.depth_of(cond) == 0 {
            return None;
        }
        let (scalars, arrays): (Vec<usize>, Vec<usize>) =
            (0..stm.pat.len()).partition(|i| stm.pat[*i].ty.is_scalar());
        let width = width(stm, &arrays)?;
        let arms = [Arm::of(then, &arrays, width)?, Arm::of(other, &arrays, width)?];
        let single = cond.var().and_then(|v| self.single.get(&v)).copied();
        let pays = match arms.each_ref().map(Arm::makes_rows) {
            [true, true] => true,
            [false, false] => false,
            [then, _] => single == Some(!then) || cond.var().is_some_and(|v| self.sides.contains(&v)),
        };
        pays.then(|| self.map(stm, *cond, arms, (&scalars, &arrays), width))
    }

    fn map(
        &mut self,
        stm: &Stm,
        cond: Atom,
        arms: [Arm; 2],
        (scalars, arrays): (&[usize], &[usize]),
        width: Atom,
    ) -> Vec<Stm> {
        let positions = Type::array(vec![Dim::Size(width)], Prim::I64);
        let is = Param { var: self.vars.fresh("is"), ty: positions };
        let mut inputs = Inputs::new(is.var, self.vars);
        let mut elements = arms.each_ref().map(|arm| arm.element(&mut inputs, arrays, stm, self.vars));
        let mut before = Vec::new();
        self.heads(stm, cond, &arms, &mut elements, scalars, &mut before);
        let rows: Vec<Param> = arrays.iter().map(|i| row_of(&stm.pat[*i], self.vars)).collect();
        let [then, other] = elements;
        let results = rows.iter().map(|p| p.var.into()).collect();
        let branch = Stm { pat: rows.clone(), exp: Exp::If { cond, then, other }, span: stm.span };
        let lam = Lambda {
            params: inputs.params,
            body: Body { stms: vec![branch], results },
            ret: rows.into_iter().map(|p| p.ty).collect(),
            schedule: Schedule::Free,
        };
        let map = Exp::Map { width, inputs: inputs.arrays, lam };
        let made = arrays.iter().map(|i| stm.pat[*i].clone()).collect();
        before.push(Stm { pat: vec![is], exp: Exp::Iota(width), span: stm.span });
        before.push(Stm { pat: made, exp: map, span: stm.span });
        before
    }

    /// A branch for what the arms do before they make rows; its results have new names in what makes the `elements`.
    fn heads(
        &mut self,
        stm: &Stm,
        cond: Atom,
        arms: &[Arm; 2],
        elements: &mut [Body; 2],
        scalars: &[usize],
        out: &mut Vec<Stm>,
    ) {
        let mut pat: Vec<Param> = scalars.iter().map(|i| stm.pat[*i].clone()).collect();
        let mut bodies = arms.each_ref().map(|arm| Body {
            stms: arm.head.clone(),
            results: scalars.iter().map(|i| arm.results[*i]).collect(),
        });
        for k in 0..2 {
            let mut renamed = Subst::default();
            for p in arms[k].head.iter().flat_map(|s| &s.pat).filter(|p| elements[k].mentions(p.var)) {
                let passed = Param { var: self.vars.fresh_like(p.var), ty: p.ty.clone() };
                renamed.insert(p.var, passed.var.into());
                bodies[k].results.push(p.var.into());
                bodies[1 - k].results.push(Atom::Const(Scalar::zero(p.ty.prim())));
                pat.push(passed);
            }
            elements[k].substitute(&renamed);
        }
        let [then, other] = bodies;
        if !(then.stms.is_empty() && other.stms.is_empty() && pat.is_empty()) {
            out.push(Stm { pat, exp: Exp::If { cond, then, other }, span: stm.span });
        }
    }
}

/// Number of rows of all array results. `None`: they differ in it, or a type is not regular or depends on the branch's own results.
fn width(stm: &Stm, arrays: &[usize]) -> Option<Atom> {
    let is_plain =
        |ty: &Type| ty.is_regular() && !ty.is_desc() && stm.pat.iter().all(|p| !ty.mentions(p.var));
    let widths = arrays.iter().map(|i| match &stm.pat[*i].ty {
        ty if !is_plain(ty) => None,
        ty => match ty.dims[0] {
            Dim::Size(n) => Some(n),
            Dim::Seg(_) => None,
        },
    });
    let widths = widths.collect::<Option<Vec<Atom>>>()?;
    let first = *widths.first()?;
    widths.iter().all(|w| *w == first).then_some(first)
}

/// Parameter for a row of an array.
fn row_of(p: &Param, vars: &mut Vars) -> Param {
    Param { var: vars.fresh_like(p.var), ty: Type { dims: p.ty.dims[1..].to_vec(), ..p.ty.clone() } }
}
