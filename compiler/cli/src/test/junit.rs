//! Results as JUnit XML: a suite for each file, a case for each test.

use super::pool::FileResult;
use super::report::Summary;
use crate::output;
use par::testing::{ProblemKind, Test};
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;

/// Writes the results to a file.
pub fn write(path: &Path, summary: &Summary) -> Result<(), String> {
    let text = xml(&summary.files, summary.time.as_secs_f64());
    output::write_file(path, |file| file.write_all(text.as_bytes()))
}

fn xml(files: &[FileResult], seconds: f64) -> String {
    let (tests, failures, errors) = counts(files.iter().flat_map(|f| &f.tests));
    let suites: String = files.iter().map(suite).collect();
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"par test\" tests=\"{tests}\" \
         failures=\"{failures}\" errors=\"{errors}\" time=\"{seconds:.3}\">\n{suites}</testsuites>\n"
    )
}

/// All tests, failures, and errors: what is not a matter of the tests.
fn counts<'a>(tests: impl Iterator<Item = &'a Test>) -> (usize, usize, usize) {
    tests.fold((0, 0, 0), |(n, failures, errors), test| match &test.problem {
        None => (n + 1, failures, errors),
        Some(problem) if is_failure(problem.kind) => (n + 1, failures + 1, errors),
        Some(_) => (n + 1, failures, errors + 1),
    })
}

fn is_failure(kind: ProblemKind) -> bool {
    kind == ProblemKind::Failed
}

fn suite(file: &FileResult) -> String {
    let name = escape(&file.file.display().to_string());
    let (tests, failures, errors) = counts(file.tests.iter());
    let cases: String = file.tests.iter().map(|test| case(test, &name)).collect();
    format!(
        "  <testsuite name=\"{name}\" tests=\"{tests}\" failures=\"{failures}\" errors=\"{errors}\" \
         time=\"{:.3}\">\n{cases}  </testsuite>\n",
        file.time.as_secs_f64()
    )
}

fn case(test: &Test, file: &str) -> String {
    let line = test.place.rsplit_once(':').and_then(|(_, line)| line.parse::<usize>().ok());
    let name = match line {
        Some(line) => format!("line {line}: {}", test.full_name()),
        None => test.full_name(),
    };
    let mut out = format!(
        "    <testcase classname=\"{file}\" name=\"{}\" time=\"{:.6}\"",
        escape(&name),
        test.time.as_secs_f64()
    );
    match &test.problem {
        None => out += "/>\n",
        Some(problem) => {
            let tag = if is_failure(problem.kind) { "failure" } else { "error" };
            let (first, all) = (problem.message.lines().next().unwrap_or(""), escape(&problem.message));
            let (kind, first) = (problem.kind, escape(first));
            // Writing to a string does not fail.
            let _ = write!(
                out,
                ">\n      <{tag} type=\"{kind:?}\" message=\"{first}\">{all}</{tag}>\n    </testcase>\n"
            );
        }
    }
    out
}

/// Text for XML: markup escaped, control characters, which XML cannot hold, replaced.
fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '<' => out += "&lt;",
            '>' => out += "&gt;",
            '&' => out += "&amp;",
            '"' => out += "&quot;",
            '\'' => out += "&apos;",
            '\n' | '\t' => out.push(c),
            c if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use par::testing::Problem;
    use std::time::Duration;

    #[test]
    fn everything_is_escaped() {
        let time = Duration::from_millis(1500);
        let problem = Some(Problem::failed("expected <1> & \"2\"\n\u{1b}[31m'x'"));
        let bad = Test {
            place: "a&b.par:3".into(),
            name: "entry main".into(),
            target: Some("cpu".into()),
            problem,
            time,
        };
        let good =
            Test { place: "a&b.par".into(), name: "compiles".into(), target: None, problem: None, time };
        let file = FileResult { file: "a&b.par".into(), tests: vec![bad, good], no_tests: false, time };
        let expected = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>
<testsuites name=\"par test\" tests=\"2\" failures=\"1\" errors=\"0\" time=\"3.000\">
  <testsuite name=\"a&amp;b.par\" tests=\"2\" failures=\"1\" errors=\"0\" time=\"1.500\">
    <testcase classname=\"a&amp;b.par\" name=\"line 3: entry main (cpu)\" time=\"1.500000\">
      <failure type=\"Failed\" message=\"expected &lt;1&gt; &amp; &quot;2&quot;\">expected &lt;1&gt; &amp; &quot;2&quot;
\u{fffd}[31m&apos;x&apos;</failure>
    </testcase>
    <testcase classname=\"a&amp;b.par\" name=\"compiles\" time=\"1.500000\"/>
  </testsuite>
</testsuites>
";
        assert_eq!(xml(&[file], 3.0), expected);
    }
}
