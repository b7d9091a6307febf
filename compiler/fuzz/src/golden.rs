//! A finding as a golden program.

use crate::case::Case;
use crate::judge::{Finding, expectation};

/// The program with a test block that says what the reference interpreter gives, and what disagreed with it.
pub fn program(case: &Case, finding: &Finding, seed: u64) -> String {
    let mut text = format!("-- Found by `par fuzz --seed {seed}`: {:?}, {}.\n", finding.kind, finding.stage);
    for line in finding.message.lines().take(8) {
        text += &format!("--   {line}\n");
    }
    for (i, call) in case.calls.iter().enumerate() {
        let expected = expectation(case, i).unwrap_or_default();
        text += &format!("-- ==\n-- entry: {}\n-- input {{ {} }}\n", call.entry, call.args.join(" "));
        text += &format!("-- {expected}\n");
    }
    text + "\n" + case.source.trim() + "\n"
}
