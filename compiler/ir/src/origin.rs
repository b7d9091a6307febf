//! Statements of CORE that were fused into others.
//!
//! ```text
//! c = reduce … fused with b = map …       c: node 0 = reduce, map
//! c fused with a = map …                  c: node 1 = reduce, node 0, map
//! ```
//!
//! A statement that was fused many times refers to what it was before instead of repeating it, so that noting a step takes
//! time in proportion to what is fused in it, however long the chain.

use crate::hash::HashSet;
use crate::place::Part;
use crate::ty::Var;
use std::collections::BTreeMap;

/// A construct, or the number of a node.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Item {
    Part(Part),
    Node(usize),
}

/// The statements that were fused, by what they bind.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Origins {
    nodes: Vec<Vec<Item>>,
    of: BTreeMap<Var, usize>,
}

impl Origins {
    /// `new` is bound by a copy of what binds `v`.
    pub(crate) fn copy(&mut self, v: Var, new: Var) {
        if let Some(node) = self.of.get(&v) {
            self.of.insert(new, *node);
        }
    }

    /// Notes that the statement that binds `made` was fused from statements of these constructs with these results.
    pub(crate) fn note_fusion<P: Iterator<Item = Var>>(
        &mut self,
        made: impl IntoIterator<Item = Var>,
        from: impl Iterator<Item = (Part, P)>,
    ) {
        let items = from.flat_map(|(own, pat)| self.items(own, pat)).collect();
        let node = self.nodes.len();
        self.nodes.push(items);
        self.of.extend(made.into_iter().map(|v| (v, node)));
    }

    /// A statement: its own construct, then what it was fused from.
    fn items(&self, own: Part, pat: impl Iterator<Item = Var>) -> Vec<Item> {
        let mut items = vec![Item::Part(own)];
        let mut seen = HashSet::default();
        let nodes = pat.filter_map(|v| self.of.get(&v).copied());
        items.extend(nodes.filter(|n| seen.insert(*n)).map(Item::Node));
        items
    }

    /// The constructs of a statement, its own first, each once.
    pub(crate) fn parts(&self, own: Part, pat: impl Iterator<Item = Var>) -> Vec<Part> {
        let mut open = self.items(own, pat);
        open.reverse();
        let (mut parts, mut found, mut seen) = (Vec::new(), HashSet::default(), HashSet::default());
        while let Some(item) = open.pop() {
            match item {
                Item::Part(part) if found.insert(part) => parts.push(part),
                Item::Node(node) if seen.insert(node) => open.extend(self.nodes[node].iter().rev()),
                Item::Part(_) | Item::Node(_) => {}
            }
        }
        parts
    }
}
