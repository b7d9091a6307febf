//! `explain` listings and dumps of compiler passes.

use crate::{NAME, Playground, editor, options};
use par::insight::{Insight, listing, page};
use par::pipeline::Target;
use par::{Failure, compile, pipeline, print_core, print_flat};
use serde_json::{Value, json};

/// Columns of the listing.
const WIDTH: usize = 110;
/// Bytes of a step's text that a page can show.
const LONGEST: usize = 2_000_000;

impl Playground {
    /// `par explain` of an entry point: the listing, and a page with the graph of operations.
    pub(crate) fn explain(&mut self, text: &str, entry: &str) -> Result<Value, String> {
        let program = match self.program(text) {
            Ok(program) => program,
            Err(failure) => return Ok(json!({ "diagnostics": editor::of_failure(failure) })),
        };
        let entry = program.choose_entry(Some(entry))?;
        Ok(match Insight::new(program, &entry.name, Target::Processor) {
            Ok(insight) => json!({ "text": listing(&insight, WIDTH, false), "html": page(&insight) }),
            Err(failure) => json!({ "diagnostics": editor::of_failure(&failure) }),
        })
    }

    /// The program after a step of the compiler: `core`, `flat`, or `after:NAME`.
    pub(crate) fn dump(&mut self, text: &str, stage: &str) -> Result<Value, String> {
        let text = match stage {
            "core" | "flat" => self.program(text).as_ref().map_err(Failure::clone).and_then(|program| {
                if stage == "core" { Ok(print_core(program.core())) } else { program.flat().map(print_flat) }
            }),
            other => self.after(text, other.strip_prefix("after:").unwrap_or(other))?,
        };
        Ok(match text {
            Ok(mut text) => {
                text.truncate(text.floor_char_boundary(LONGEST));
                json!({ "text": text })
            }
            Err(failure) => json!({ "diagnostics": editor::of_failure(&failure) }),
        })
    }

    fn after(&self, text: &str, stage: &str) -> Result<Result<String, Failure>, String> {
        if !pipeline::stages().iter().any(|s| s.name == stage) {
            return Err(format!("there is no step `{stage}`"));
        }
        let mut options = options(&self.files);
        options.dump_after = vec![stage.to_string()];
        Ok(compile(text, NAME, &options).and_then(|program| {
            if pipeline::noted(&program.trace().dumps).is_empty() {
                program.flat()?;
            }
            let dumps = pipeline::noted(&program.trace().dumps);
            Ok(dumps.iter().map(|(_, text)| text.as_str()).collect::<Vec<_>>().join("\n-- again --\n\n"))
        }))
    }
}

/// The steps of the compiler whose results can be shown.
pub fn stages() -> Value {
    let shown = |s: &&pipeline::Stage| s.name != "codegen";
    let stages = pipeline::stages();
    stages.iter().filter(shown).map(|s| json!({ "name": s.name, "description": s.description })).collect()
}
