//! The operations of a FLAT program that make or read arrays, with where they come from.

use super::places::Location;
use super::{versions, words};
use crate::pipeline::Target;
use crate::program;
use par_ir::core::{Exp, FunId};
use par_ir::flat::{Block, Fun, Kernel, KernelKind, Op, Program, Stm, VersionChoice};
use par_ir::place::{Construct, Part, Place};
use par_runtime::Span;
use par_runtime::profile::Cost;
use par_syntax::Sources;
use serde::Serialize;
use std::collections::{BTreeSet, HashMap, HashSet};

/// Group of an operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Group {
    /// A kernel: the program's own code over a space.
    Kernel,
    /// Makes an array without a kernel.
    Array,
    /// Makes or takes apart row lengths.
    Rows,
    /// The host waits for a value.
    Sync,
    /// A call of a function that is not inlined.
    Call,
}

/// A construct of the source.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Step {
    /// Its name: `map`, `loop`.
    pub what: String,
    /// Where.
    pub at: Location,
}

/// One bulk operation, or a value that the host waits for.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Operation {
    /// Number that it is referred to by, from 1.
    pub number: usize,
    /// Number of its statement in the plan.
    #[serde(skip)]
    pub site: usize,
    /// The sort of operation.
    pub group: Group,
    /// Its operation: `reduce`, `scan`.
    pub name: String,
    /// Over what, with which operator.
    pub detail: String,
    /// Why it is there, where the source does not say so.
    pub why: Option<String>,
    /// Source place of the operation.
    pub at: Location,
    /// Schedule of a kernel on a CPU; `None` for other operations, and on a GPU.
    pub schedule: Option<String>,
    /// Lines whose scalar code it computes, where that is not only its own.
    pub lines: Vec<usize>,
    /// Steps that are computed inside.
    pub fused: Vec<Step>,
    /// The constructs around it, from the inside out.
    pub nest: Vec<Step>,
    /// Branches, loops and functions of the flat program around it, from the outside in.
    pub control: Vec<String>,
    /// Version of its nest, and the condition for running it; empty if there is one version only, which goes over all elements of all rows.
    pub version: String,
    /// Steps that run one after the other for each element.
    pub sequential: Vec<Step>,
    /// Operators over so few elements that each element's code is written out.
    pub unrolled: Vec<Step>,
    /// Arrays that it makes or updates.
    pub makes: Vec<String>,
    /// Its cost.
    #[serde(skip)]
    pub cost: Option<Cost>,
}

impl Operation {
    /// True if a run had to copy what the operation updates, which it does in place where nobody else uses it.
    pub(super) fn copied(&self) -> bool {
        let updates = matches!(self.name.as_str(), "scatter" | "histogram" | "write");
        updates && self.cost.is_some_and(|c| c.counters.bytes_materialised > 0)
    }

    /// The constructs that take part in it, with what they do.
    pub(super) fn takes_part(&self) -> [(&[Step], &'static str); 4] {
        [
            (&self.fused, "computed inside"),
            (&self.nest, "around"),
            (&self.sequential, "sequential for each element of"),
            (&self.unrolled, "written out in"),
        ]
    }
}

/// The operations of an entry point and of what it calls, and the numbers of all its statements.
/// `small` are the operators over few elements that the program had.
pub(super) fn of(
    (program, target): (&Program, Target),
    entry: &str,
    small: &[Part],
    sources: &Sources,
) -> (Vec<Operation>, HashSet<usize>) {
    let sites = program.statements().into_iter().map(std::ptr::from_ref).zip(0..).collect();
    let schedules = match target {
        Target::Processor => program::schedules(program),
        Target::Gpu => HashMap::new(),
    };
    let mut walk = Walk {
        program,
        sources,
        small: written_out(program, small),
        sites,
        schedules,
        control: vec![],
        version: String::new(),
        choosing: false,
        seen: HashSet::new(),
        reached: HashSet::new(),
        out: vec![],
    };
    if let Some(fun) = entry_of(program, entry) {
        walk.function(fun);
    }
    (walk.out, walk.reached)
}

/// Says of every copy that packs rows which operations need it.
pub(super) fn say_what_needs_packs(operations: &mut [Operation], edges: &[(usize, usize)]) {
    for i in 0..operations.len() {
        let Some(why) = operations[i].why.as_ref().filter(|_| operations[i].name == "pack") else { continue };
        let users = edges.iter().filter(|(maker, _)| *maker == i).map(|(_, user)| &operations[*user]);
        let mut users: Vec<String> =
            users.map(|u| format!("{} [{}], line {}", u.name, u.number, u.at.line)).collect();
        if users.len() > NAMED {
            users.truncate(NAMED);
            users.push("others".to_string());
        }
        let needed = if users.is_empty() { "the result".to_string() } else { users.join(" and ") };
        operations[i].why = Some(format!("{why}, for {needed}"));
    }
}

/// Maximum number of users of a copy that are named.
const NAMED: usize = 3;

/// The function of an entry point.
pub(super) fn entry_of(program: &Program, entry: &str) -> Option<FunId> {
    let found = program.funs.iter().position(|f| f.entry.as_ref().is_some_and(|e| e.name == entry));
    found.map(|i| FunId(i as u32))
}

struct Walk<'a> {
    program: &'a Program,
    sources: &'a Sources,
    /// Operators over few elements that no statement comes from.
    small: Vec<Part>,
    sites: HashMap<*const Stm, usize>,
    /// Of kernels, by the numbers of their statements.
    schedules: HashMap<usize, String>,
    control: Vec<String>,
    /// Of what is being looked at.
    version: String,
    /// True if that finds out which version is to run.
    choosing: bool,
    seen: HashSet<u32>,
    reached: HashSet<usize>,
    out: Vec<Operation>,
}

impl Walk<'_> {
    fn function(&mut self, id: FunId) {
        if !self.seen.insert(id.0) {
            return;
        }
        let program = self.program;
        let fun = &program.funs[id.0 as usize];
        let before = std::mem::take(&mut self.control);
        if fun.entry.is_none() {
            self.control.push(format!("function {}", function_name(fun)));
        }
        self.block(&fun.body);
        self.control = before;
    }

    fn inside(&mut self, what: &str, block: &Block) {
        self.control.push(what.to_string());
        self.block(block);
        self.control.pop();
    }

    /// A branch of the host's: the program's own, one between versions, or part of choosing one of these.
    fn branch(&mut self, versions: Option<VersionChoice>, then: &Block, other: &Block) {
        if self.choosing {
            self.block(then);
            self.block(other);
        } else if let Some(versions) = versions {
            self.choice(versions, then, other);
        } else {
            self.inside("then", then);
            self.inside("else", other);
        }
    }

    fn choice(&mut self, versions: VersionChoice, then: &Block, other: &Block) {
        if let Some(chosen) = versions::chosen(versions) {
            let before = std::mem::replace(&mut self.version, chosen.then);
            self.block(then);
            self.version = chosen.other;
            self.block(other);
            self.version = before;
        } else {
            self.choosing = true;
            self.inside("the choice of a version", then);
            self.inside("the choice of a version", other);
            self.choosing = false;
        }
    }

    fn block(&mut self, block: &Block) {
        for stm in &block.stms {
            self.reached.insert(self.sites[&std::ptr::from_ref(stm)]);
            if let Some(op) = self.operation(stm) {
                self.out.push(op);
            }
            match &stm.op {
                Op::If { versions, then, other, .. } => self.branch(*versions, then, other),
                Op::Loop { .. } => {
                    stm.op.for_each_block(|b| self.inside("loop", b));
                }
                Op::Split { body, .. } => self.inside("chunks", body),
                Op::Call(f, _) => self.function(*f),
                _ => {}
            }
        }
    }

    fn operation(&self, stm: &Stm) -> Option<Operation> {
        let group = group_of(&stm.op)?;
        let place = self.program.places.get(stm.place);
        let own = place.and_then(|p| p.parts.first());
        let span = gathered(stm, place).unwrap_or(stm.span);
        let construct = own.map(|p| p.construct);
        let (name, detail) = words::operation(self.program, stm, construct);
        let at = Location::of(span, self.sources);
        Some(Operation {
            number: self.out.len() + 1,
            site: self.sites[&std::ptr::from_ref(stm)],
            group,
            name,
            detail,
            why: words::reason(&stm.op, construct),
            fused: place.map_or_else(Vec::new, |p| self.fused(p)),
            nest: self.program.places.path(stm.place).skip(1).filter_map(|p| self.around(p)).collect(),
            control: self.control.clone(),
            version: self.version.clone(),
            sequential: if let Op::Kernel(k) = &stm.op { self.sequential(k) } else { vec![] },
            unrolled: if let Op::Kernel(k) = &stm.op { self.unrolled(k) } else { vec![] },
            makes: words::makes(self.program, stm),
            schedule: self.schedules.get(&self.sites[&std::ptr::from_ref(stm)]).cloned(),
            lines: lines(stm, &at, self.sources),
            at,
            cost: None,
        })
    }

    fn step(&self, part: &Part) -> Step {
        Step { what: part.construct.to_string(), at: Location::of(part.span, self.sources) }
    }

    /// Only the construct itself has its fused parts inside; what its rule makes besides does not.
    fn fused(&self, place: &Place) -> Vec<Step> {
        place.parts.iter().skip(1).map(|p| self.step(p)).collect()
    }

    fn around(&self, place: &Place) -> Option<Step> {
        let part = place.parts.first()?;
        let is_nest = !matches!(part.construct, Construct::Function | Construct::Array | Construct::Pack);
        is_nest.then(|| self.step(part))
    }

    fn sequential(&self, kernel: &Kernel) -> Vec<Step> {
        let mut bodies = kernel.bodies();
        let mut found: Vec<Step> = Vec::new();
        while let Some(body) = bodies.pop() {
            for stm in &body.stms {
                if matches!(stm.exp, Exp::Loop { .. } | Exp::Call(..)) {
                    let step = self.step(&Part { construct: Construct::of(&stm.exp), span: stm.span });
                    if !found.contains(&step) {
                        found.push(step);
                    }
                }
                bodies.extend(stm.exp.bodies());
            }
        }
        found
    }

    /// The operators over few elements whose code is in a kernel.
    fn unrolled(&self, kernel: &Kernel) -> Vec<Step> {
        let mut spans = Vec::new();
        let mut bodies = kernel.bodies();
        while let Some(body) = bodies.pop() {
            spans.extend(body.stms.iter().map(|s| s.span));
            bodies.extend(body.stms.iter().flat_map(|s| s.exp.bodies()));
        }
        let is_there = |p: &&Part| spans.iter().any(|s| inside(*s, p));
        self.small.iter().filter(is_there).map(|p| self.step(p)).collect()
    }
}

/// Operators that no statement comes from.
fn written_out(program: &Program, small: &[Part]) -> Vec<Part> {
    let mut there = HashSet::new();
    for stm in program.statements() {
        program.places.path(stm.place).for_each(|p| there.extend(p.parts.iter().copied()));
    }
    let mut out = Vec::new();
    small.iter().filter(|p| !there.contains(p)).for_each(|p| {
        if !out.contains(p) {
            out.push(*p);
        }
    });
    out
}

/// Source place of a kernel that has gathered the scalar code of a map: the first of that code which is inside the map, or
/// inside what was fused into it; else (the code is a function's that the map calls) the map. `None` for other operations.
fn gathered(stm: &Stm, place: Option<&Place>) -> Option<Span> {
    let (Op::Kernel(k), Some(place)) = (&stm.op, place) else { return None };
    let own = place.parts.first()?;
    let gathers =
        matches!(k.kind, KernelKind::Map(_)) && matches!(own.construct, Construct::Map | Construct::Function);
    if !gathers {
        return None;
    }
    let mut spans = k.body.stms.iter().map(|s| s.span);
    Some(spans.find(|s| place.parts.iter().any(|p| inside(*s, p))).unwrap_or(own.span))
}

/// True if a place is in that of a construct.
fn inside(s: Span, p: &Part) -> bool {
    s.file == p.span.file && p.span.start <= s.start && s.end <= p.span.end
}

/// The lines of a kernel's scalar code, that of its loops and branches included, if there are others than its own.
fn lines(stm: &Stm, at: &Location, sources: &Sources) -> Vec<usize> {
    let Op::Kernel(k) = &stm.op else { return Vec::new() };
    let mut lines = BTreeSet::new();
    let mut bodies = vec![&k.body];
    while let Some(body) = bodies.pop() {
        for stm in &body.stms {
            if stm.span.file == at.file && stm.span.end > 0 {
                lines.insert(Location::of(stm.span, sources).line);
            }
            bodies.extend(stm.exp.bodies());
        }
    }
    if lines.iter().eq([&at.line]) { Vec::new() } else { lines.into_iter().collect() }
}

/// The name of a function that is not an entry point.
pub(super) fn function_name(fun: &Fun) -> &str {
    &fun.name
}

fn group_of(op: &Op) -> Option<Group> {
    Some(match op {
        Op::Kernel(_) => Group::Kernel,
        // Arrays without elements stand for what an arm that is not run would give.
        Op::Literal(xs, _) if xs.is_empty() => return None,
        Op::Iota(_)
        | Op::Replicate(..)
        | Op::Literal(..)
        | Op::Slice { .. }
        | Op::Concat(_)
        | Op::Append(_)
        | Op::Compact { .. }
        | Op::Collect { .. } => Group::Array,
        Op::Write { .. } | Op::Sort { .. } => Group::Array,
        Op::MakeDesc(_) | Op::UniformDesc { .. } | Op::ConcatDesc(_) => Group::Rows,
        Op::Lengths(_) | Op::SegIds(_) => Group::Rows,
        Op::Read(..) | Op::Total(_) => Group::Sync,
        Op::Call(..) | Op::Split { .. } => Group::Call,
        _ => return None,
    })
}
