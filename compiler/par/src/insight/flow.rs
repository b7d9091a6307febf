//! Data flow from an operation to those that use its results, through scalars, branches and loops of the host.

use super::operations::{Operation, entry_of};
use par_ir::core::FunId;
use par_ir::flat::{Block, Op, Program, Stm};
use par_ir::ty::{Atom, Var};
use std::collections::{BTreeSet, HashMap, HashSet};

type Set = BTreeSet<usize>;

/// Edges from makers to users, by index into the operations, each once.
pub(super) fn edges(program: &Program, entry: &str, operations: &[Operation]) -> Vec<(usize, usize)> {
    let by_site: HashMap<usize, usize> = operations.iter().enumerate().map(|(i, op)| (op.site, i)).collect();
    let statements = program.statements().into_iter().enumerate();
    let nodes =
        statements.filter_map(|(site, s)| Some((std::ptr::from_ref(s), *by_site.get(&site)?))).collect();
    let mut flow =
        Flow { program, nodes, makers: HashMap::new(), edges: BTreeSet::new(), seen: HashSet::new() };
    if let Some(fun) = entry_of(program, entry) {
        flow.function(fun);
    }
    flow.edges.into_iter().collect()
}

struct Flow<'a> {
    program: &'a Program,
    nodes: HashMap<*const Stm, usize>,
    /// The operations that a variable's value comes from.
    makers: HashMap<Var, Set>,
    edges: BTreeSet<(usize, usize)>,
    seen: HashSet<u32>,
}

impl Flow<'_> {
    fn function(&mut self, id: FunId) {
        if self.seen.insert(id.0) {
            self.block(&self.program.funs[id.0 as usize].body);
        }
    }

    fn of(&self, a: &Atom) -> Set {
        a.var().and_then(|v| self.makers.get(&v)).cloned().unwrap_or_default()
    }

    fn block(&mut self, block: &Block) -> Vec<Set> {
        for stm in &block.stms {
            self.stm(stm);
        }
        block.results.iter().map(|a| self.of(a)).collect()
    }

    fn stm(&mut self, stm: &Stm) {
        let mut used = Set::new();
        stm.op.for_each_operand(&mut |a| used.extend(self.of(&a)));
        let node = self.nodes.get(&std::ptr::from_ref(stm)).copied();
        let results: Vec<Set> = match &stm.op {
            Op::If { then, other, .. } => {
                let (a, b) = (self.block(then), self.block(other));
                a.iter().zip(&b).map(|(a, b)| a | b).collect()
            }
            Op::Loop { params, body, .. } => {
                for (p, init) in params {
                    let from = self.of(init);
                    self.makers.insert(p.var, from);
                }
                if let [cond, _] = stm.op.blocks()[..] {
                    self.block(cond);
                }
                let last = self.block(body);
                params.iter().zip(&last).map(|((_, init), b)| &self.of(init) | b).collect()
            }
            Op::Split { body, .. } => self.block(body),
            op => {
                if let Op::Call(f, _) = op {
                    self.function(*f);
                }
                let from = match node {
                    Some(n) => {
                        self.edges.extend(used.iter().filter(|u| **u != n).map(|u| (*u, n)));
                        Set::from([n])
                    }
                    None => used,
                };
                vec![from; stm.pat.len()]
            }
        };
        self.makers.extend(stm.pat.iter().map(|p| p.var).zip(results));
    }
}
