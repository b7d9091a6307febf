//! Calls of entry points, and tests.

use crate::request::Call;
use crate::{Files, Playground, editor, options, show};
use par::testing::{self, Event, ProblemKind, Settings, Target};
use par::{
    Backend, CallOptions, Failure, Layout, Program, RunFailure, Value, ValueType, io, print_pretty,
    read_values, trace,
};
use par_data::plot::{Kind, Style, plot};
use serde_json::json;
use std::sync::Arc;

/// The text of a result.
const LAYOUT: Layout = Layout { width: 88, limit: 1_000, texts: false };
/// Back end of runs. Natively this crate says what the module should say: results of sequential code, to the last bit.
const BACKEND: Backend = if cfg!(target_family = "wasm") { Backend::Cpu } else { Backend::FlatInterp };
/// Characters of traces that are shown.
const TRACED: usize = 20_000;

impl Playground {
    /// The results of a call: values, or the messages why there are none; and what `#[trace]` has shown.
    pub(crate) fn run(&mut self, call: &Call) -> Result<serde_json::Value, String> {
        self.values.clear();
        let program = match self.program(&call.text) {
            Ok(program) => program,
            Err(failure) => return Ok(json!({ "diagnostics": editor::of_failure(failure) })),
        };
        let entry = program.choose_entry(Some(&call.entry))?;
        if entry.params.len() != call.inputs.len() {
            return Err(format!(
                "`{}` takes {} inputs, not {}",
                entry.name,
                entry.params.len(),
                call.inputs.len()
            ));
        }
        let mut args = Vec::new();
        for (i, ((name, ty), text)) in entry.params.iter().zip(&call.inputs).enumerate() {
            match argument(text, ty) {
                Ok(value) => args.push(value),
                Err(message) => {
                    return Ok(
                        json!({ "input": i, "diagnostics": [editor::plain(&format!("{name}: {message}"))] }),
                    );
                }
            }
        }
        let options = CallOptions {
            backend: BACKEND,
            locate: true,
            memory_limit: Some(call.memory),
            ..CallOptions::default()
        };
        let (result, mut traces) = trace::captured(|| program.call(&call.entry, args, &options));
        traces.truncate(traces.floor_char_boundary(TRACED));
        let value = match result {
            Ok(value) => value,
            Err(failure) => {
                let diagnostics = of_run(program, &failure);
                return Ok(
                    json!({ "diagnostics": diagnostics, "traces": traces, "kernels": kernels(Some(program)) }),
                );
            }
        };
        self.values = io::components(value);
        let values: Vec<_> = self.values.iter().map(shown).collect();
        let kernels = kernels(self.program(&call.text).as_ref().ok());
        Ok(json!({ "values": values, "traces": traces, "kernels": kernels }))
    }

    /// A result of the last call, as the text of an SVG file.
    pub(crate) fn plot(&self, value: usize, kind: &str) -> Result<serde_json::Value, String> {
        let value = self.values.get(value).ok_or("there is no such value")?.clone();
        let kind = match kind {
            "auto" => Kind::Auto,
            "lines" => Kind::Lines,
            "points" => Kind::Points,
            "histogram" => Kind::Histogram,
            "heat" => Kind::Heat,
            "picture" => {
                let bytes = par_data::png(value).map_err(|e| e.message)?;
                return Ok(json!({ "png": par_data::base64(&bytes) }));
            }
            other => return Err(format!("there is no kind of plot `{other}`")),
        };
        let svg = plot(value, &Style { kind, title: None, size: (640, 400) })?.svg()?;
        Ok(json!({ "svg": svg }))
    }
}

/// Kernels of a program that have run as WebAssembly, and that had to be interpreted; null where there is no WebAssembly.
fn kernels(program: Option<&Program>) -> serde_json::Value {
    #[cfg(target_family = "wasm")]
    if let Some(program) = program {
        let known = program.kernels();
        return json!({
            "compiled": known.compiled, "bytes": known.bytes, "runs": known.runs, "interpreted": known.interpreted,
            "reasons": known.reasons,
        });
    }
    let _ = program;
    serde_json::Value::Null
}

/// One value of a type.
fn argument(text: &str, ty: &ValueType) -> Result<Value, String> {
    if text.trim().is_empty() {
        return Err(format!("a value of type {ty} is missing"));
    }
    let values = read_values(text, std::slice::from_ref(ty)).map_err(|e| e.to_string())?;
    values.into_iter().next().ok_or_else(|| "there is no value".to_string())
}

fn shown(value: &Value) -> serde_json::Value {
    let tree = show::tree(value).unwrap_or_default();
    json!({ "type": value.ty.to_string(), "text": print_pretty(value, LAYOUT), "shown": tree })
}

/// Messages of a call that failed.
fn of_run(program: &Program, failure: &RunFailure) -> serde_json::Value {
    match failure {
        RunFailure::Error(error) => {
            let sources = program.sources();
            json!([editor::diagnostic(&program.diagnostic(error), sources, editor::own_file(sources))])
        }
        RunFailure::Compile(failure) => editor::of_failure(failure),
        RunFailure::Cancelled => editor::of_failure(&Failure::Cancelled),
    }
}

/// Runs a program's tests.
pub fn test(text: &str, name: &str, files: &Arc<Files>) -> serde_json::Value {
    let targets = vec![Target { backend: BACKEND, threads: 1 }];
    let settings = Settings { targets, options: options(files), ..Settings::default() };
    let mut tests = Vec::new();
    testing::run_text(name, text, &settings, &mut |event| {
        if let Event::Done(test) = event {
            let problem = test.problem.map(|p| {
                let kind = match p.kind {
                    ProblemKind::Unsupported => "unsupported",
                    ProblemKind::Failed => "failed",
                    ProblemKind::Rejected => "rejected",
                    ProblemKind::Bug => "bug",
                };
                json!({ "kind": kind, "message": p.message })
            });
            tests.push(json!({ "place": test.place, "name": test.name, "problem": problem }));
        }
    });
    json!({ "tests": tests })
}
