//! The process that judges programs, started anew when a program ends it.

use crate::status::{self, Status};
use par_fuzz::judge::{Finding, Kind, Verdict};
use par_fuzz::{Case, watch};
use par_runtime::simd::{self, Level};
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

/// Longer than all limits inside the process together take for a reasonable program.
const LIMIT: Duration = Duration::from_secs(400);

/// A running judge.
pub struct Oracle {
    level: Level,
    child: Child,
    input: ChildStdin,
    output: Receiver<String>,
}

impl Oracle {
    /// Starts the process, whose machine code has vector instructions up to a level.
    pub fn start(level: Level) -> Result<Oracle, Status> {
        let failed = |e: &dyn std::fmt::Display| status::fail(&format!("the judge cannot be started: {e}"));
        let command = crate::this_command().map_err(|e| failed(&e))?;
        let mut child = Command::new(command)
            .args(["fuzz", "--worker"])
            .env(simd::VARIABLE, level.name())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|e| failed(&e))?;
        let (Some(input), Some(pipe)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(failed(&"it has no pipes"));
        };
        let (sender, output) = channel();
        std::thread::spawn(move || {
            let lines = BufReader::new(pipe).lines().map_while(Result::ok);
            // After a timeout nobody listens.
            lines.map(|line| sender.send(line)).take_while(Result::is_ok).for_each(drop);
        });
        Ok(Oracle { level, child, input, output })
    }

    /// The verdict on a case.
    pub fn ask(&mut self, case: &Case) -> Result<Verdict, Status> {
        let text = serde_json::to_string(case).map_err(|e| status::fail(&e.to_string()))?;
        // If it cannot be written, the process has ended, and there is no answer either.
        let _ = writeln!(self.input, "{text}").and_then(|()| self.input.flush());
        let (kind, message) = match watch::recv_within(&self.output, LIMIT, self.child.id()) {
            Ok(line) => {
                return serde_json::from_str(&line)
                    .map_err(|e| status::fail(&format!("the judge says {line}: {e}")));
            }
            Err(RecvTimeoutError::Timeout) => (Kind::Hang, "the process does not answer".to_string()),
            Err(RecvTimeoutError::Disconnected) => (Kind::Crash, "the process ended".to_string()),
        };
        let ended = self.stop();
        *self = Oracle::start(self.level)?;
        let message = if kind == Kind::Crash { format!("{message}: {ended}") } else { message };
        Ok(Verdict::Finding(Finding { kind, stage: "process".into(), message, call: None }))
    }

    /// Ends the process, and says how it ended.
    fn stop(&mut self) -> String {
        // It may have ended by itself.
        let _ = self.child.kill();
        self.child.wait().map_or_else(|e| e.to_string(), |status| status.to_string())
    }
}

impl Drop for Oracle {
    fn drop(&mut self) {
        self.stop();
    }
}
