//! `structure { map 1 reduce 1 }`: how many operations of which kind the compiled program has.

use crate::failure::Failure;
use crate::program::Program;
use par_ir::{core, flat};
use std::collections::BTreeMap;

/// Form of the program in which operations are counted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Level {
    /// Nested parallel code, after all passes on it.
    Core,
    /// Flattened code.
    Flat,
}

/// Contents of a `structure`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Structure {
    /// Level that is counted.
    pub level: Level,
    /// Line of the `structure`.
    pub line: usize,
    /// Names with their numbers.
    pub counts: Vec<(String, usize)>,
}

/// The names for FLAT: bulk operations by kind (`kernel` is any of the first six), then what the host does.
const FLAT: &[&str] = &[
    "map",
    "in_place",
    "reduce",
    "scan",
    "filter",
    "scatter",
    "hist",
    "kernel",
    "iota",
    "replicate",
    "literal",
    "slice",
    "concat",
    "write",
    "read",
    "desc",
    "offsets",
    "lengths",
    "segids",
    "total",
    "if",
    "loop",
    "call",
    "check",
];

/// The names for CORE.
const CORE: &[&str] = &[
    "map",
    "reduce",
    "scan",
    "filter",
    "scatter",
    "hist",
    "iota",
    "replicate",
    "literal",
    "slice",
    "index",
    "concat",
    "update",
    "flatten",
    "unflatten",
    "desc",
    "lengths",
    "total",
    "if",
    "loop",
    "call",
    "check",
];

/// Reads names with numbers.
pub fn parse(level: Level, line: usize, text: &str) -> Result<Structure, String> {
    let known = if level == Level::Core { CORE } else { FLAT };
    let mut counts = Vec::new();
    let mut words = text.split_whitespace();
    while let Some(name) = words.next() {
        if !known.contains(&name) {
            return Err(format!("no operation `{name}`; the names are: {}", known.join(" ")));
        }
        let count = words.next().and_then(|n| n.parse().ok());
        let count = count.ok_or_else(|| format!("expected a number after `{name}`"))?;
        counts.push((name.to_string(), count));
    }
    if counts.is_empty() {
        return Err(format!("expected names with numbers; the names are: {}", known.join(" ")));
    }
    Ok(Structure { level, line, counts })
}

/// Checks that the program has that many operations; the error says how many it has.
pub fn check(program: &Program, structure: &Structure) -> Result<(), String> {
    let found = match structure.level {
        Level::Core => count_core(program.core()),
        Level::Flat => count_flat(program.flat().map_err(|e: Failure| e.to_string())?),
    };
    let number = |name: &str| found.get(name).copied().unwrap_or(0);
    let wrong: Vec<String> = structure
        .counts
        .iter()
        .filter(|(name, count)| number(name) != *count)
        .map(|(name, count)| format!("{name}: expected {count}, found {}", number(name)))
        .collect();
    if wrong.is_empty() {
        return Ok(());
    }
    let all: Vec<String> = found.iter().map(|(name, n)| format!("{name} {n}")).collect();
    Err(format!("{}\nthe program has: {}", wrong.join("\n"), all.join(" ")))
}

type Counts = BTreeMap<&'static str, usize>;

fn add(counts: &mut Counts, name: Option<&'static str>) {
    if let Some(name) = name {
        *counts.entry(name).or_default() += 1;
    }
}

fn count_flat(program: &flat::Program) -> Counts {
    let mut counts = Counts::new();
    program.funs.iter().for_each(|fun| count_block(&fun.body, &mut counts));
    counts
}

fn count_block(block: &flat::Block, counts: &mut Counts) {
    for stm in &block.stms {
        add(counts, flat_name(&stm.op));
        if matches!(stm.op, flat::Op::Kernel(_)) {
            add(counts, Some("kernel"));
        }
        stm.op.for_each_block(|block| count_block(block, counts));
    }
}

fn flat_name(op: &flat::Op) -> Option<&'static str> {
    use flat::{KernelKind, Op, Out};
    let name = match op {
        Op::Kernel(kernel) => match &kernel.kind {
            KernelKind::Map(outs) if outs.iter().any(|o| matches!(o, Out::Scatter(_))) => "scatter",
            KernelKind::Map(outs) if outs.iter().any(|o| matches!(o, Out::Own { .. })) => "in_place",
            KernelKind::Map(_) => "map",
            KernelKind::Reduce { .. } => "reduce",
            KernelKind::Scan { .. } => "scan",
            KernelKind::Filter => "filter",
            KernelKind::Hist { .. } => "hist",
        },
        Op::MakeDesc(_) | Op::UniformDesc { .. } | Op::ConcatDesc(_) => "desc",
        Op::Offsets(_) => "offsets",
        Op::Lengths(_) => "lengths",
        Op::SegIds(_) => "segids",
        Op::Total(_) => "total",
        Op::Read(..) => "read",
        Op::Write { .. } => "write",
        Op::Iota(_) => "iota",
        Op::Replicate(..) => "replicate",
        Op::Literal(..) => "literal",
        Op::Slice { .. } => "slice",
        Op::Concat(_) => "concat",
        Op::Append(_) => "append",
        Op::Compact { .. } => "compact",
        Op::NeedsCollection { .. } => "needs_collection",
        Op::Collect { .. } => "collect",
        Op::Sort { .. } => "sort",
        Op::If { .. } => "if",
        Op::Loop { .. } => "loop",
        Op::Split { .. } => "split",
        Op::Call(..) => "call",
        Op::Check { .. } => "check",
        Op::Trace { .. } => "trace",
        Op::Atom(_) | Op::Prim(..) | Op::Rows(_) | Op::Length(_) => return None,
    };
    Some(name)
}

fn count_core(program: &core::Program) -> Counts {
    let mut counts = Counts::new();
    program.funs.iter().for_each(|fun| count_body(&fun.body, &mut counts));
    counts
}

fn count_body(body: &core::Body, counts: &mut Counts) {
    for stm in &body.stms {
        add(counts, core_name(&stm.exp));
        stm.exp.for_each_body(|body| count_body(body, counts));
    }
}

fn core_name(exp: &core::Exp) -> Option<&'static str> {
    use core::Exp;
    let name = match exp {
        Exp::Map { .. } => "map",
        Exp::Reduce { .. } => "reduce",
        Exp::Scan { .. } => "scan",
        Exp::Filter { .. } => "filter",
        Exp::Scatter { .. } => "scatter",
        Exp::Hist { .. } => "hist",
        Exp::Iota(_) => "iota",
        Exp::Replicate(..) => "replicate",
        Exp::Literal(..) => "literal",
        Exp::Slice { .. } => "slice",
        Exp::Index(..) => "index",
        Exp::Concat(_) => "concat",
        Exp::Update { .. } => "update",
        Exp::Flatten(_) => "flatten",
        Exp::Unflatten(_) => "unflatten",
        Exp::MakeDesc(_) => "desc",
        Exp::Lengths(_) => "lengths",
        Exp::Total(_) => "total",
        Exp::Push(_) => "push",
        Exp::Tape(_) => "tape",
        Exp::Accumulate(_) => "accumulate",
        Exp::Add { .. } => "add",
        Exp::Accumulated(_) => "accumulated",
        Exp::Sort { .. } => "sort",
        Exp::If { .. } => "if",
        Exp::Loop { .. } => "loop",
        Exp::Call(..) => "call",
        Exp::Check { .. } => "check",
        Exp::Trace { .. } => "trace",
        Exp::Atom(_) | Exp::Prim(..) => return None,
    };
    Some(name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pipeline::Options;

    #[test]
    fn counts_are_compared() {
        let text = "entry main (xs: []i32) : i32 = reduce (+) 0 (map (+ 1) xs)";
        let program = crate::compile(text, "t.par", &Options::default()).unwrap();
        let check = |level, text| check(&program, &parse(level, 1, text).unwrap());
        assert_eq!(check(Level::Flat, "reduce 1 kernel 1 map 0"), Ok(()));
        assert_eq!(check(Level::Core, "reduce 1"), Ok(()));
        let error = check(Level::Flat, "map 1 scan 2").unwrap_err();
        assert!(
            error.starts_with("map: expected 1, found 0\nscan: expected 2, found 0\nthe program has: "),
            "{error}"
        );
        assert!(
            parse(Level::Flat, 1, "mpa 1")
                .unwrap_err()
                .starts_with("no operation `mpa`; the names are: map ")
        );
        assert_eq!(parse(Level::Core, 1, "map"), Err("expected a number after `map`".into()));
    }
}
