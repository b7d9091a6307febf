//! Runs a program in every way there is and compares.
//!
//! The reference is the interpreter on CORE as lowering made it. Against it stand the interpreter after every pass,
//! the flat interpreter on what flattening makes of each of these programs, and machine code with one and with two
//! threads, once with work cut into the smallest chunks; then the flat and the sequential version and work by one and by three rows
//! in turn, on the flat interpreter and as machine code, and so the program in which short rows of the arguments have constant lengths; if the case says so, by CUDA and on several ranks as well; and with derivatives that keep fewer states. Both must count the same costs. Values must be equal; floats exactly, for programs must not depend on an order that the language leaves open. Where they
//! do, floats may differ by rounding, except between numbers of threads, of which there are more then. A
//! call must fail everywhere or nowhere. Which of several errors is reported may differ between the reference and
//! flattened code, but not between runs of one flattened program.

use crate::case::{Call, Case, LAW};
use crate::watch::{self, within};
use par::pipeline::{Splitting, Versions};
use par::ranks::{self, Setup};
use par::{Backend, CallOptions, CancelToken, Failure, Options, Program, RunFailure, Value};
use par_runtime::io::compare::{Tolerance, compare};
use par_runtime::ranks::Ranks;
use par_runtime::{ErrorKind, Prim};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// In which way something is wrong.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub enum Kind {
    /// The front end rejects the program, which is then not what it was meant to be.
    Rejected,
    /// Legal, but without a rule.
    Unsupported,
    /// Two results differ.
    Values,
    /// A law does not hold.
    Law,
    /// Two runs of one program count different costs.
    Costs,
    /// One fails and the other does not, or two runs of one program fail differently.
    Errors,
    /// A check of the compiler's own fails.
    Bug,
    /// A panic.
    Panic,
    /// A run that takes too long.
    Hang,
    /// The process ended.
    Crash,
}

/// Something that is wrong.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Finding {
    /// In which way.
    pub kind: Kind,
    /// Stage that was run: `fuse 6, flat-interp`.
    pub stage: String,
    /// Actual and expected result.
    pub message: String,
    /// Index of the call, if it was one.
    pub call: Option<usize>,
}

/// Verdict about a program.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Verdict {
    /// All agree on so many calls; so many of them failed, and so many were too large to be run. In so many a law held for
    /// derivatives other than zero.
    #[allow(missing_docs)]
    Agreed { calls: usize, failed: usize, skipped: usize, told: usize },
    /// Something is wrong.
    Finding(Finding),
}

impl Finding {
    /// The same for findings that are likely to be one bug: numbers and names of variables do not count.
    pub fn signature(&self) -> String {
        let back_end = self.stage.rsplit(", ").next().unwrap_or_default();
        let text = match self.kind {
            Kind::Values | Kind::Law | Kind::Hang | Kind::Errors | Kind::Costs => "",
            _ => self.message.lines().next().unwrap_or_default(),
        };
        let text: String = text.chars().map(|c| if c.is_ascii_digit() { '#' } else { c }).collect();
        let mut text = text.replace("##", "#");
        while text.contains("##") {
            text = text.replace("##", "#");
        }
        format!("{:?} {back_end} {text}", self.kind)
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} ({}): {}", self.kind, self.stage, self.message)
    }
}

/// Outcome of a call.
#[derive(Clone, Debug)]
enum Outcome {
    Value(Value),
    /// Message and place.
    Error(String),
    /// Memory or depth was not enough.
    Exhausted(String),
    Slow,
    Broken(Kind, String),
}

/// Answers of a call of a law: true if it holds, and true if that says something.
fn law(call: &Call, value: &Value) -> Option<(bool, bool)> {
    if call.entry != LAW {
        return None;
    }
    let said: Vec<String> = par::io::components(value.clone()).iter().map(par::print_value).collect();
    match said.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [holds @ ("true" | "false"), tells @ ("true" | "false")] => Some((holds == "true", tells == "true")),
        _ => None,
    }
}

/// Time limits of calls.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// For one call of the reference; slower ones are left out.
    pub reference: Duration,
    /// For everything else.
    pub other: Duration,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { reference: Duration::from_millis(300), other: Duration::from_secs(40) }
    }
}

/// Compares all stages and back ends on a case.
pub fn judge(case: &Case, limits: &Limits) -> Verdict {
    match Judge::new(case, limits).and_then(|mut judge| judge.run()) {
        Ok(verdict) => verdict,
        Err(finding) => Verdict::Finding(*finding),
    }
}

/// Ways of flattening besides the usual one.
const VARIANTS: [(&str, Versions, Splitting); 4] = [
    ("flat version", Versions::Flat, Splitting::Never),
    ("sequential version", Versions::Sequential, Splitting::Never),
    ("chunks of 1", Versions::Auto, Splitting::Rows(1)),
    ("chunks of 3", Versions::Flat, Splitting::Rows(3)),
];

/// Name of the variant whose derivatives keep the state of some iterations only.
const CHECKPOINTS: &str = "checkpoints";

/// Name of the program in which sizes of arguments are constants.
const CONSTANT_SIZES: &str = "constant sizes";

type Outcomes<T> = Result<T, Box<Finding>>;

struct Judge<'a> {
    case: &'a Case,
    limits: &'a Limits,
    /// CORE after each pass that changed something.
    stages: Vec<(String, Program)>,
    /// The last of them, flattened in other ways.
    variants: Vec<(&'static str, Program)>,
    /// The last of them, with programs for the sizes of arguments.
    sized: Option<Program>,
}

fn finding<T>(kind: Kind, stage: &str, message: impl Into<String>, call: Option<usize>) -> Outcomes<T> {
    Err(Box::new(Finding { kind, stage: stage.into(), message: message.into(), call }))
}

/// The program, whose derivatives keep the state of some iterations only.
fn with_checkpoints(case: &Case) -> Outcomes<Program> {
    let options = Options { verify: true, checkpoints: 1, constant_sizes: None, ..Options::default() };
    match watch::guarded(|| par::compile(&case.source, "fuzz.par", &options)) {
        Err(panic) => finding(Kind::Panic, CHECKPOINTS, panic, None),
        Ok(Err(failure)) => {
            let (kind, message) = classify(&failure);
            finding(kind, CHECKPOINTS, message, None)
        }
        Ok(Ok(program)) => Ok(program),
    }
}

/// The variants that differ from the program and from those before them. What cannot be flattened is kept, for a run to say so.
fn others(program: &Program, variants: Vec<(&'static str, Program)>) -> Vec<(&'static str, Program)> {
    let mut kept: Vec<(&str, Program)> = Vec::new();
    for (name, variant) in variants {
        let is_known = watch::guarded(|| {
            let flat = variant.flat().ok();
            flat.is_some()
                && [program].into_iter().chain(kept.iter().map(|k| &k.1)).any(|p| p.flat().ok() == flat)
        });
        if !is_known.unwrap_or(false) {
            kept.push((name, variant));
        }
    }
    kept
}

impl Judge<'_> {
    fn new<'a>(case: &'a Case, limits: &'a Limits) -> Outcomes<Judge<'a>> {
        let options = Options { verify: true, keep_stages: true, constant_sizes: None, ..Options::default() };
        let token = CancelToken::new();
        let compiled = watch::guarded(|| {
            within(limits.other, &token, || par::compile_until(&case.source, "fuzz.par", &options, &token))
        });
        let program = match compiled {
            Err(panic) => return finding(Kind::Panic, "compile", panic, None),
            Ok(Err(failure)) => {
                let (kind, message) = classify(&failure);
                return finding(kind, "compile", message, None);
            }
            Ok(Ok(program)) => program,
        };
        let stages = program.stages().into_iter().enumerate();
        let stages: Vec<_> = stages.map(|(i, (name, program))| (format!("{name} {i}"), program)).collect();
        let last = stages.last().map(|s| &s.1);
        let variants = last.map(|last| {
            let variant = |(name, versions, splitting)| {
                let options =
                    Options { verify: true, versions, splitting, constant_sizes: None, ..Options::default() };
                (name, last.variant(&options))
            };
            VARIANTS.map(variant).into()
        });
        let mut variants: Vec<_> = variants.unwrap_or_default();
        if !program.core().rules.is_empty() {
            variants.push((CHECKPOINTS, with_checkpoints(case)?));
        }
        if let Some(last) = stages.last() {
            variants = others(&last.1, variants);
        }
        let options = Options { verify: true, constant_sizes: Some(0), ..Options::default() };
        let sized = stages.last().map(|last| last.1.variant(&options));
        Ok(Judge { case, limits, stages, variants, sized })
    }

    fn run(&mut self) -> Outcomes<Verdict> {
        let (mut failed, mut skipped, mut told) = (0, 0, 0);
        for i in 0..self.case.calls.len() {
            match self.call(i)? {
                Outcome::Value(value) => {
                    told += usize::from(law(&self.case.calls[i], &value) == Some((true, true)))
                }
                Outcome::Error(_) => failed += 1,
                _ => skipped += 1,
            }
        }
        Ok(Verdict::Agreed { calls: self.case.calls.len(), failed, skipped, told })
    }

    /// Runs one call everywhere; gives the reference's outcome.
    fn call(&self, i: usize) -> Outcomes<Outcome> {
        let (name, first) = &self.stages[0];
        let expected = self.outcome(first, i, on(Backend::Interp), self.limits.reference);
        match &expected {
            Outcome::Broken(kind, message) => {
                return finding(*kind, &format!("{name}, interp"), message.as_str(), Some(i));
            }
            Outcome::Slow | Outcome::Exhausted(_) => return Ok(expected),
            Outcome::Value(value) if law(&self.case.calls[i], value).is_some_and(|law| !law.0) => {
                return finding(Kind::Law, &format!("{name}, interp"), UNLAWFUL, Some(i));
            }
            Outcome::Value(_) | Outcome::Error(_) => {}
        }
        let mut flat = None;
        for (k, (name, program)) in self.stages.iter().enumerate() {
            if k > 0 {
                let found = self.outcome(program, i, on(Backend::Interp), self.limits.other);
                self.compare(&expected, &found, &format!("{name}, interp"), i, Same::Meaning)?;
            }
            let found = self.outcome(program, i, on(Backend::FlatInterp), self.limits.other);
            self.compare(&expected, &found, &format!("{name}, flat-interp"), i, Same::Meaning)?;
            flat = Some(found);
        }
        let (Some((name, last)), Some(flat)) = (self.stages.last(), flat) else { return Ok(expected) };
        self.machine(name, last, &flat, i, &[(1, false), (2, true), (2, false)])?;
        if self.case.cuda {
            let found = self.outcome(last, i, on(Backend::Cuda), self.limits.other);
            self.compare(&flat, &found, &format!("{name}, cuda"), i, Same::Program)?;
        }
        if self.case.ranks {
            self.on_ranks(name, last, i)?;
        }
        if let Some(special) = self.for_sizes(i)? {
            let flat = self.outcome(&special, i, on(Backend::FlatInterp), self.limits.other);
            self.compare(&expected, &flat, &format!("{CONSTANT_SIZES}, flat-interp"), i, Same::Meaning)?;
            self.machine(CONSTANT_SIZES, &special, &flat, i, &[(2, false)])?;
        }
        for (name, variant) in &self.variants {
            if self.case.ranks {
                self.on_ranks(name, variant, i)?;
            }
            let flat = self.outcome(variant, i, on(Backend::FlatInterp), self.limits.other);
            self.compare(&expected, &flat, &format!("{name}, flat-interp"), i, Same::Meaning)?;
            self.machine(name, variant, &flat, i, &[(2, false)])?;
        }
        Ok(expected)
    }

    /// The program for the sizes of a call's arguments, if there is one.
    fn for_sizes(&self, i: usize) -> Outcomes<Option<Arc<Program>>> {
        let Some(sized) = &self.sized else { return Ok(None) };
        let call = &self.case.calls[i];
        let Ok(args) = arguments(sized, call) else { return Ok(None) };
        match watch::guarded(|| sized.for_arguments(&call.entry, &args, &CallOptions::default())) {
            Err(panic) => finding(Kind::Panic, CONSTANT_SIZES, panic, Some(i)),
            Ok(Err(failure)) => {
                let (kind, message) = classify(&failure);
                finding(kind, CONSTANT_SIZES, message, Some(i))
            }
            Ok(Ok(special)) => Ok(special),
        }
    }

    /// Compares machine code with the flat interpreter, and what both count. What rounds, runs with more threads.
    fn machine(
        &self,
        name: &str,
        program: &Program,
        flat: &Outcome,
        i: usize,
        ways: &[(usize, bool)],
    ) -> Outcomes<()> {
        if self.case.rounded {
            [false, true].into_iter().try_for_each(|small| self.threads(name, program, flat, i, small))?;
        } else {
            for way in ways {
                let (stage, found) = self.on_threads(name, program, i, *way);
                self.compare(flat, &found, &stage, i, Same::Program)?;
            }
        }
        self.costs(name, program, i)
    }

    /// One number of threads must do what the flat interpreter does, others the very same.
    fn threads(
        &self,
        name: &str,
        program: &Program,
        flat: &Outcome,
        i: usize,
        smallest_chunks: bool,
    ) -> Outcomes<()> {
        let (stage, one) = self.on_threads(name, program, i, (1, smallest_chunks));
        self.compare(flat, &one, &stage, i, Same::Program)?;
        [2, 3, 8].into_iter().try_for_each(|threads| {
            let (stage, found) = self.on_threads(name, program, i, (threads, smallest_chunks));
            self.compare(&one, &found, &stage, i, Same::Bits)
        })
    }

    /// Runs machine code: what that is called, and what becomes of it.
    fn on_threads(
        &self,
        name: &str,
        program: &Program,
        i: usize,
        (threads, smallest_chunks): (usize, bool),
    ) -> (String, Outcome) {
        let options = CallOptions { threads, smallest_chunks, ..CallOptions::default() };
        let chunks = if smallest_chunks { " smallest chunks" } else { "" };
        let found = self.outcome(program, i, options, self.limits.other);
        (format!("{name}, cpu {threads}{chunks}"), found)
    }

    /// Compares what the flat interpreter and machine code count, if the call does not fail.
    fn costs(&self, name: &str, program: &Program, i: usize) -> Outcomes<()> {
        let cost = |options: CallOptions| {
            let args = arguments(program, &self.case.calls[i]).ok()?;
            let (entry, token) = (&self.case.calls[i].entry, options.cancel.clone());
            let run = || program.profile(entry, args, &options, true);
            let result = watch::guarded(|| within(self.limits.other, &token, run)).ok()?;
            result.ok().map(|(_, profile)| profile.total)
        };
        let Some(wanted) = cost(on(Backend::FlatInterp)) else { return Ok(()) };
        let found = cost(CallOptions { threads: 2, ..CallOptions::default() });
        if found == Some(wanted) {
            return Ok(());
        }
        finding(
            Kind::Costs,
            &format!("{name}, cpu 2 counting"),
            format!("{found:?} instead of {wanted:?}"),
            Some(i),
        )
    }

    /// Several ranks must do what one does, to the bit.
    fn on_ranks(&self, name: &str, program: &Program, i: usize) -> Outcomes<()> {
        let options = CallOptions { threads: 1, smallest_chunks: true, ..CallOptions::default() };
        Ranks::poison();
        let run = |size: usize| {
            self.outcome_of(program, i, &options, self.limits.other, |entry, args| {
                let setup = Setup { ranks: size, least: Some(2), in_parts: size > 2 };
                ranks::call(program, entry, &args, &options, setup).result
            })
        };
        let one = run(1);
        [2, 3, 4].into_iter().try_for_each(|size| {
            let same = if self.case.rounded { Same::Bits } else { Same::Program };
            self.compare(&one, &run(size), &format!("{name}, {size} ranks"), i, same)
        })
    }

    fn outcome(&self, program: &Program, i: usize, options: CallOptions, limit: Duration) -> Outcome {
        self.outcome_of(program, i, &options, limit, |entry, args| program.call(entry, args, &options))
    }

    fn outcome_of(
        &self,
        program: &Program,
        i: usize,
        options: &CallOptions,
        limit: Duration,
        run: impl FnOnce(&str, Vec<Value>) -> Result<Value, RunFailure>,
    ) -> Outcome {
        let call = &self.case.calls[i];
        let args = match arguments(program, call) {
            Ok(args) => args,
            Err(message) => return Outcome::Broken(Kind::Rejected, message),
        };
        let token = options.cancel.clone();
        let result = watch::guarded(|| within(limit, &token, || run(&call.entry, args)));
        match result {
            Err(panic) => Outcome::Broken(Kind::Panic, panic),
            Ok(Ok(value)) => Outcome::Value(value),
            Ok(Err(RunFailure::Cancelled)) => Outcome::Slow,
            Ok(Err(RunFailure::Compile(failure))) => {
                let (kind, message) = classify(&failure);
                Outcome::Broken(kind, message)
            }
            Ok(Err(RunFailure::Error(e))) if is_exhaustion(e.kind) => Outcome::Exhausted(e.message),
            Ok(Err(RunFailure::Error(e))) => {
                let place = e.span.map(|s| format!(" at {}:{}..{}", s.file, s.start, s.end));
                Outcome::Error(e.message + &place.unwrap_or_default())
            }
        }
    }

    fn compare(
        &self,
        expected: &Outcome,
        found: &Outcome,
        stage: &str,
        i: usize,
        same: Same,
    ) -> Outcomes<()> {
        let tolerance = if self.case.rounded && same != Same::Bits { by_rounding } else { exactly };
        match (expected, found) {
            (_, Outcome::Broken(kind, message)) => finding(*kind, stage, message.as_str(), Some(i)),
            (_, Outcome::Slow) => finding(Kind::Hang, stage, "it takes too long", Some(i)),
            (Outcome::Value(a), Outcome::Value(b)) => {
                match (law(&self.case.calls[i], b), compare(a, b, tolerance)) {
                    // The answers of a law depend on rounding; it must hold.
                    (Some((true, _)), _) | (None, Ok(())) => Ok(()),
                    (Some((false, _)), _) => finding(Kind::Law, stage, UNLAWFUL, Some(i)),
                    (None, Err(difference)) => finding(Kind::Values, stage, difference, Some(i)),
                }
            }
            (Outcome::Error(a), Outcome::Error(b)) if same != Same::Meaning && a != b => {
                finding(Kind::Errors, stage, format!("`{b}` instead of `{a}`"), Some(i))
            }
            (Outcome::Error(_), Outcome::Error(_)) => Ok(()),
            (a, b) => finding(Kind::Errors, stage, format!("{} instead of {}", show(b), show(a)), Some(i)),
        }
    }
}

const UNLAWFUL: &str = "derivatives forward and backward differ";

/// Likeness of two outcomes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Same {
    /// Same meaning.
    Meaning,
    /// The flattened program, so that errors must be the same.
    Program,
    /// The machine code and its chunks, so that floats must be the same bits.
    Bits,
}

fn exactly(_: Prim) -> Tolerance {
    Tolerance::EXACT
}

/// Tens of thousands of positive numbers in another order.
fn by_rounding(prim: Prim) -> Tolerance {
    match prim {
        Prim::F32 => Tolerance { relative: 2e-3, absolute: 0.0 },
        Prim::F64 => Tolerance { relative: 1e-10, absolute: 0.0 },
        _ => Tolerance::EXACT,
    }
}

fn on(backend: Backend) -> CallOptions {
    CallOptions { backend, threads: 1, ..CallOptions::default() }
}

fn is_exhaustion(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::OutOfMemory | ErrorKind::TooDeep)
}

fn show(outcome: &Outcome) -> String {
    match outcome {
        Outcome::Value(value) => format!("the value {}", par::print_value(value)),
        Outcome::Error(e) | Outcome::Exhausted(e) => format!("the error `{e}`"),
        Outcome::Slow => "no end".into(),
        Outcome::Broken(_, message) => message.clone(),
    }
}

fn classify(failure: &Failure) -> (Kind, String) {
    match failure {
        Failure::Cancelled => (Kind::Hang, "compiling takes too long".into()),
        Failure::Bug(bug) => (Kind::Bug, format!("after {}: {}", bug.pass, bug.message)),
        Failure::Rejected { diagnostics, .. } if failure.is_unsupported() => {
            (Kind::Unsupported, diagnostics.first().map_or(String::new(), |d| d.message.clone()))
        }
        rejected => (Kind::Rejected, rejected.render(false)),
    }
}

fn arguments(program: &Program, call: &Call) -> Result<Vec<Value>, String> {
    let entry = program.entry(&call.entry).ok_or_else(|| format!("no entry point {}", call.entry))?;
    let types: Vec<_> = entry.params.iter().map(|p| p.1.clone()).collect();
    par::read_values(&call.args.join("\n"), &types).map_err(|e| e.to_string())
}

/// Expectation from the reference for a call, as the text of a test: `output { … }` or `error: …`.
pub fn expectation(case: &Case, i: usize) -> Option<String> {
    let limits = Limits::default();
    let judge = Judge::new(case, &limits).ok()?;
    let call = &case.calls[i];
    let program = &judge.stages.first()?.1;
    let args = arguments(program, call).ok()?;
    let result = watch::guarded(|| program.run(&call.entry, args, Backend::Interp, 1)).ok()?;
    match result {
        Ok(value) => {
            let values: Vec<String> = par::io::components(value).iter().map(par::print_value).collect();
            Some(format!("output {{ {} }}", values.join(" ")))
        }
        Err(RunFailure::Error(e)) => Some(format!("error: {}", e.message)),
        Err(_) => None,
    }
}
