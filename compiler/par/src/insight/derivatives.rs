//! Derivatives: by which rule each construct was gone back through, and what is kept for that.

use super::places::Location;
use par_ir::place;
use par_syntax::Sources;
use serde::Serialize;
use std::collections::BTreeSet;

/// Rule for a construct.
#[derive(Clone, PartialEq, Eq, Debug, PartialOrd, Ord, Serialize)]
pub struct Rule {
    /// Its place in the source.
    pub at: Location,
    /// The construct.
    pub what: String,
    /// The rule in words.
    pub rule: &'static str,
    /// Values kept, in words with their bytes; empty if there are none.
    pub kept: Vec<String>,
}

/// Each rule once, in the order of the source.
pub(super) fn of(rules: &[place::Rule], sources: &Sources) -> Vec<Rule> {
    let of_rule = |r: &place::Rule| {
        let at = Location::of(r.part.span, sources);
        Rule { at, what: r.part.construct.to_string(), rule: r.text, kept: r.kept.clone() }
    };
    rules.iter().map(of_rule).collect::<BTreeSet<_>>().into_iter().collect()
}

impl Rule {
    /// One line.
    pub(super) fn said(&self) -> String {
        let kept =
            if self.kept.is_empty() { String::new() } else { format!("; kept: {}", self.kept.join(", ")) };
        format!("line {}: {}: {}{kept}", self.at.line, self.what, self.rule)
    }
}
