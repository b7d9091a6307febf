//! Constructs that the programs reach, by the places where they stand: the rules of flattening are by construct and nest.

use crate::case::Case;
use crate::watch::guarded;
use par::Options;
use par_ir::core::{Body, Exp, LoopForm, Stm};
use par_ir::flat::{self, Block, KernelKind, Op, Out};
use par_ir::{Dim, Type};
use std::collections::BTreeMap;
use std::fmt;

/// Counts by construct.
#[derive(Default)]
pub struct Coverage {
    programs: u64,
    /// Statements of CORE as lowered, by place.
    core: BTreeMap<String, [u64; PLACES.len()]>,
    /// Operations of FLAT.
    flat: BTreeMap<&'static str, u64>,
}

/// Places of a statement: by the number of maps around it, and by a branch or a loop around it inside them.
const PLACES: [&str; 6] = ["outside", "map", "2 maps", "3+ maps", "map, if", "map, loop"];

#[derive(Clone, Copy, Default)]
struct Place {
    maps: usize,
    branch: bool,
    repeated: bool,
}

impl Coverage {
    /// Counts what is in a program, if it compiles.
    pub fn add(&mut self, case: &Case) {
        let options = Options { keep_stages: true, ..Options::default() };
        let Ok(Ok(program)) = guarded(|| par::compile(&case.source, "fuzz.par", &options)) else { return };
        self.programs += 1;
        if let Some((_, lowered)) = program.stages().first() {
            lowered.core().funs.iter().for_each(|f| self.body(&f.body, Place::default()));
        }
        if let Ok(Ok(flat)) = guarded(|| program.flat()) {
            flat.funs.iter().for_each(|f| self.block(&f.body));
        }
    }

    fn body(&mut self, body: &Body, place: Place) {
        body.stms.iter().for_each(|s| self.stm(s, place));
    }

    fn stm(&mut self, stm: &Stm, place: Place) {
        let counts = self.core.entry(construct(stm)).or_default();
        counts[place.maps.min(3)] += 1;
        counts[4] += u64::from(place.maps > 0 && place.branch);
        counts[5] += u64::from(place.maps > 0 && place.repeated);
        let inner = match &stm.exp {
            Exp::If { .. } => Place { branch: true, ..place },
            Exp::Loop { .. } => Place { repeated: true, ..place },
            _ if stm.exp.bodies().is_empty() => return,
            _ => Place { maps: place.maps + 1, branch: false, repeated: false },
        };
        stm.exp.for_each_body(|b| self.body(b, inner));
    }

    fn block(&mut self, block: &Block) {
        for stm in &block.stms {
            *self.flat.entry(operation(&stm.op)).or_default() += 1;
            match &stm.op {
                Op::If { then, other, .. } => [then, other].into_iter().for_each(|b| self.block(b)),
                Op::Loop { form, body, .. } => {
                    if let flat::LoopForm::While(cond) = form {
                        self.block(cond);
                    }
                    self.block(body);
                }
                Op::Split { body, .. } => self.block(body),
                _ => {}
            }
        }
    }
}

/// The construct, with what it results in where that matters to flattening.
fn construct(stm: &Stm) -> String {
    let result = match stm.pat.iter().map(|p| shape(&p.ty)).max() {
        None | Some(0) => "",
        Some(1) => " of an array",
        _ => " of irregular arrays",
    };
    let name = match &stm.exp {
        Exp::If { .. } => "if",
        Exp::Loop { form: LoopForm::For { .. }, .. } => "for",
        Exp::Loop { form: LoopForm::While(_), .. } => "while",
        Exp::Call(..) => "call",
        Exp::Map { .. } => "map",
        Exp::Index(..) => "index",
        Exp::Update { .. } => "update",
        Exp::Replicate(..) => "replicate",
        Exp::Concat(_) => "concat",
        Exp::Literal(..) => "literal",
        Exp::Slice { .. } => "slice",
        other => return plain(other).to_string(),
    };
    format!("{name}{result}")
}

fn plain(exp: &Exp) -> &'static str {
    match exp {
        Exp::Atom(_) => "atom",
        Exp::Prim(..) => "scalar operator",
        Exp::Check { .. } => "check",
        Exp::Trace { .. } => "trace",
        Exp::Reduce { .. } => "reduce",
        Exp::Scan { .. } => "scan",
        Exp::Filter { .. } => "filter",
        Exp::Scatter { .. } => "scatter",
        Exp::Hist { .. } => "hist",
        Exp::Iota(_) => "iota",
        Exp::Flatten(_) => "flatten",
        Exp::Unflatten(_) => "unflatten",
        Exp::MakeDesc(_) => "make_desc",
        Exp::Lengths(_) => "lengths",
        Exp::Total(_) => "total",
        Exp::Push(_) => "push",
        Exp::Tape(_) => "tape",
        Exp::Accumulate(_) => "accumulate",
        Exp::Add { .. } => "add",
        Exp::Accumulated(_) => "accumulated",
        Exp::Sort { .. } => "sort",
        _ => "other",
    }
}

/// 0 for a scalar, 1 for an array, 2 for an irregular one.
fn shape(ty: &Type) -> u32 {
    u32::from(ty.rank() > 0) + u32::from(ty.is_desc() || ty.dims.iter().any(|d| matches!(d, Dim::Seg(_))))
}

fn operation(op: &Op) -> &'static str {
    match op {
        Op::Kernel(k) => match &k.kind {
            KernelKind::Map(outs) if outs.iter().any(|o| matches!(o, Out::Scatter(_))) => "kernel scatter",
            KernelKind::Map(_) => "kernel map",
            KernelKind::Reduce { .. } => "kernel reduce",
            KernelKind::Scan { .. } => "kernel scan",
            KernelKind::Filter => "kernel filter",
            KernelKind::Hist { .. } => "kernel hist",
        },
        Op::Atom(_) | Op::Prim(..) => "scalar",
        Op::Check { .. } => "check",
        Op::Trace { .. } => "trace",
        Op::MakeDesc(_) | Op::UniformDesc { .. } | Op::ConcatDesc(_) => "descriptor",
        Op::Offsets(_) | Op::Lengths(_) | Op::SegIds(_) | Op::Total(_) | Op::Rows(_) => "of a descriptor",
        Op::Length(_) => "length",
        Op::Read(..) => "read",
        Op::Write { .. } => "write",
        Op::Iota(_) | Op::Replicate(..) | Op::Literal(..) => "iota, replicate, literal",
        Op::Slice { .. } => "slice",
        Op::Concat(_) => "concat",
        Op::Append(_) | Op::Compact { .. } | Op::NeedsCollection { .. } | Op::Collect { .. } => "rope",
        Op::Sort { .. } => "sort",
        Op::If { .. } => "if",
        Op::Loop { .. } => "loop",
        Op::Split { .. } => "split",
        Op::Call(..) => "call",
    }
}

impl fmt::Display for Coverage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{} programs\n", self.programs)?;
        write!(f, "{:<34}", "CORE")?;
        PLACES.iter().try_for_each(|p| write!(f, "{p:>11}"))?;
        for (name, counts) in &self.core {
            write!(f, "\n{name:<34}")?;
            counts.iter().try_for_each(|n| write!(f, "{n:>11}"))?;
        }
        writeln!(f, "\n\n{:<34}", "FLAT")?;
        self.flat.iter().try_for_each(|(name, n)| writeln!(f, "{name:<34}{n:>11}"))
    }
}
