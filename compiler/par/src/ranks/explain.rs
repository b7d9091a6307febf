//! Distribution of a program's operations among ranks, in words.

use crate::failure::Failure;
use crate::program::Program;
use par_runtime::Span;
use par_runtime::plan::{Kernel, KernelKind, Op, Out, Reach, Space};

/// Elements for which a rank tells others one value.
const PART: &str = "32,768";
/// Bytes of an index, of a number of elements, of the length of a row.
const INDEX: usize = 8;

/// Distribution of a program's operations, line by line: what is cut among ranks, what every rank does, and what of arrays ranks send each other; for a number of ranks also how
/// much.
pub fn explain(program: &Program, ranks: Option<usize>) -> Result<String, Failure> {
    let words = |op: &Op| {
        let sent = ranks.and_then(|p| sent(op, p)).map_or(String::new(), |sent| format!("\n    {sent}"));
        distribution(op).map(|words| words + &sent)
    };
    let plan = program.ranked()?.plan();
    let mut lines: Vec<(Span, String)> = Vec::new();
    for function in plan.into_iter().flat_map(|p| &p.functions) {
        function.body.each_statement(&mut |stm| lines.extend(words(&stm.op).map(|s| (stm.span, s))));
    }
    lines.sort();
    lines.dedup();
    let lines = lines.iter().map(|(span, words)| format!("{}: {words}\n", program.sources().place(*span)));
    Ok(lines.collect())
}

/// Distribution of an operation on large arrays; none if it sends nothing worth a word.
fn distribution(op: &Op) -> Option<String> {
    match op {
        Op::Kernel(k) => Some(of_kernel(k)),
        Op::Sort { space: Space::Flat(_), .. } => {
            Some("sort: by samples; every element goes once to the rank of its range".into())
        }
        Op::Sort { .. } => Some("sort: each row by one rank, even where rows are long".into()),
        Op::MakeDesc(_) => Some("lengths of rows: gathered on every rank".into()),
        Op::Append(..) => Some("rows from several arrays: each rank has its part of them".into()),
        Op::Concat(..) | Op::Slice { .. } => {
            Some("copy: each rank its part; what others have is sent".into())
        }
        Op::Read(..) => Some("element: sent to every rank".into()),
        _ => None,
    }
}

fn of_kernel(k: &Kernel) -> String {
    let owns = |outs: &[Out]| outs.iter().any(|o| matches!(o, Out::Own(_)));
    let (name, how) = match &k.kind {
        KernelKind::Map(outs) if owns(outs) => {
            return "map in place: on every rank, which gathers all that it reads".into();
        }
        KernelKind::Map(outs) if scatters(outs) => {
            ("scatter", "cut; indices and values go to the ranks of the elements")
        }
        KernelKind::Map(_) => ("map", "cut"),
        KernelKind::Reduce(_) => ("reduce", "cut; results of parts are gathered"),
        KernelKind::Scan { outs: Some(outs), .. } if scatters(outs) => (
            "scan and scatter",
            "cut; sums of parts are gathered, indices and values go to the ranks of the elements",
        ),
        KernelKind::Scan { .. } => ("scan", "cut; results of parts are gathered"),
        KernelKind::Filter(_) => ("filter", "cut; numbers of elements kept are gathered"),
        KernelKind::Hist { .. } => (
            "histogram",
            "cut; few bins are filled on every rank and combined, else indices and values go to the ranks of the bins",
        ),
    };
    if k.ranks.is_none() {
        return name.into();
    }
    let Reads { any, found, near } = reads(k);
    let mut words = format!("{name}: {how}");
    if !near.is_empty() {
        words += &format!("; reads {}", near.join(", "));
    }
    match found {
        0 => {}
        1 => words += "; fetches elements of an array at computed indices",
        n => words += &format!("; fetches elements of {n} arrays at computed indices"),
    }
    match any {
        0 => {}
        1 => words += "; an array is gathered on every rank, for it is read anywhere",
        n => words += &format!("; {n} arrays are gathered on every rank, for they are read anywhere"),
    }
    words
}

fn scatters(outs: &[Out]) -> bool {
    outs.iter().any(|o| matches!(o, Out::Scatter(_)))
}

/// Arrays of which positions read more than their own elements.
struct Reads {
    /// Number of arrays that are read anywhere, and of those that are read at indices that are found before.
    any: usize,
    found: usize,
    /// Places that are read of other arrays, each once.
    near: Vec<String>,
}

fn reads(k: &Kernel) -> Reads {
    let (mut any, mut found, mut near) = (0, 0, Vec::new());
    let Some(info) = &k.ranks else { return Reads { any, found, near } };
    for (i, reach) in info.reads.iter().enumerate().filter(|(i, _)| info.arrays[*i]) {
        match reach {
            Reach::Any if info.is_inspected(i) => found += 1,
            Reach::Any => any += 1,
            _ if reach.is_aligned() => {}
            reach => near.extend((!near.contains(&reach.to_string())).then(|| reach.to_string())),
        }
    }
    Reads { any, found, near }
}

/// Bytes that each of so many ranks sends for an operation on large arrays.
fn sent(op: &Op, ranks: usize) -> Option<String> {
    let others = ranks - 1;
    if others == 0 {
        return None;
    }
    let share = format!("{others}/{ranks}");
    let words = match op {
        Op::Kernel(k) => return by_kernel(k, others, &share),
        Op::Sort { space: Space::Flat(_), .. } => {
            format!("about {share} of its elements, and 64 keys to each of {others} ranks")
        }
        Op::Sort { .. } => "what of its rows it does not sort".into(),
        Op::MakeDesc(_) => format!("{others} to {} bytes for each of its rows", INDEX * others),
        Op::Append(..) => "nothing".into(),
        Op::Concat(..) | Op::Slice { .. } => "what of its elements comes to another rank".into(),
        Op::Read(..) => format!("the element, {others} times, if it has it"),
        _ => return None,
    };
    Some(format!("a rank sends {words}"))
}

fn by_kernel(k: &Kernel, others: usize, share: &str) -> Option<String> {
    let bytes = |prims: &[par_runtime::Prim]| prims.iter().map(|p| p.size()).sum::<usize>();
    let listed = format!("an index of {INDEX} bytes with its value for about {share} of its positions");
    let mut parts = match &k.kind {
        KernelKind::Map(outs) if scatters(outs) => vec![listed],
        KernelKind::Map(_) => Vec::new(),
        KernelKind::Reduce(fold) => {
            vec![format!("{} bytes for each {PART} of its positions", others * bytes(&fold.prims))]
        }
        KernelKind::Scan { fold, outs, .. } => {
            let sums = format!("{} bytes for each {PART} of its positions", others * bytes(&fold.prims));
            let scattered = outs.as_ref().is_some_and(|outs| scatters(outs)).then_some(listed);
            [Some(sums), scattered].into_iter().flatten().collect()
        }
        KernelKind::Filter(_) => vec![format!("{} bytes", INDEX * others)],
        KernelKind::Hist { .. } => vec![format!("its bins {others} times if they are few, else {listed}")],
    };
    let Reads { any, found, near } = reads(k);
    if !near.is_empty() || found > 0 {
        parts.push("what of its elements others read".into());
    }
    match any {
        0 => {}
        1 => parts.push(format!("its part of the array that is read anywhere, {others} times")),
        n => parts.push(format!("its parts of the {n} arrays that are read anywhere, {others} times")),
    }
    if parts.is_empty() {
        parts.push("nothing".into());
    }
    Some(format!("a rank sends {}", parts.join(", and ")))
}
