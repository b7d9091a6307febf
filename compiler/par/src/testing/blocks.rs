//! The notation of test blocks.

use super::random;
use super::scan::{Found, Mistake, Scanner, find_blocks};
use super::spec::{Block, Case, Data, Expected, Input, Spec};
use super::structure;
use crate::program::Backend;
use std::path::Path;

/// Reads the blocks of a program. File names are relative to `folder`.
pub fn parse(text: &str, folder: &Path) -> Result<Spec, Mistake> {
    let mut spec = Spec::default();
    for found in find_blocks(text) {
        let block = Block { description: found.description.clone(), line: found.line, ..Block::default() };
        let scan = Scanner::new(&found);
        let mut parser = Parser { scan, folder, block, entries: None, pending: Pending::default() };
        parser.block(&found)?;
        spec.blocks.push(parser.block);
    }
    Ok(spec)
}

struct Parser<'a> {
    scan: Scanner<'a>,
    folder: &'a Path,
    block: Block,
    entries: Option<Vec<String>>,
    pending: Pending,
}

/// Parts of a case that have been read before its `input`.
#[derive(Default)]
struct Pending {
    name: Option<String>,
    without: Vec<Backend>,
    untested: bool,
    unmeasured: bool,
    /// For the message if nothing follows.
    last: Option<String>,
}

/// Words that may stand in a block, for messages.
const EXPECTED: &str = "expected `input`, `output`, `auto output`, `random input`, `script input`, `gradient:`, `error:`, \
    `compile error:`, `warning:`, `entry:`, `tags`, `structure`, `compiled`, `notest`, `nobench`, `no_BACKEND` or a \
    name in quotes";

impl Parser<'_> {
    fn block(&mut self, found: &Found) -> Result<(), Mistake> {
        while let Some(word) = self.scan.word() {
            self.item(word)?;
        }
        if let Some(word) = &self.pending.last {
            return Err(self.scan.error(format!("an input must follow `{word}`")));
        }
        self.block.entries = self.entries.take().unwrap_or_else(|| vec!["main".to_string()]);
        let b = &self.block;
        if b.is_empty() && b.tags.is_empty() {
            let message = format!("the block tests nothing: {EXPECTED}");
            return Err(Mistake { line: found.line, message });
        }
        if b.compile_error.is_some() && !b.cases.is_empty() {
            let message = "a program that must be rejected takes no input".into();
            return Err(Mistake { line: found.line, message });
        }
        Ok(())
    }

    fn item(&mut self, word: &str) -> Result<(), Mistake> {
        let line = self.scan.line();
        match word {
            "entry:" => self.entry()?,
            "tags" => self.tags()?,
            "structure" => self.structure()?,
            "warning:" => {
                let pattern = self.scan.rest_of_line().to_string();
                self.block.warnings.push(pattern);
            }
            "compile" if self.scan.accept("error:") => self.compile_error()?,
            "error:" if self.block.cases.is_empty() => self.compile_error()?,
            "error:" => {
                let pattern = self.scan.rest_of_line().to_string();
                self.outcome(Expected::Error(pattern))?;
            }
            "input" => {
                let data = self.data()?;
                self.case(line, Input::Data(data));
            }
            "random" if self.scan.accept("input") => {
                let types = random::parse(self.braces("types")?);
                let types = types.map_err(|e| self.scan.error(e))?;
                self.case(line, Input::Random(types));
            }
            "script" if self.scan.accept("input") => {
                let expression = self.braces("an expression")?.to_string();
                self.case(line, Input::Script(expression));
            }
            "output" => {
                let data = self.data()?;
                self.outcome(Expected::Output(data))?;
            }
            "gradient:" => {
                let most = self.scan.rest_of_line().trim().parse::<f64>().ok().filter(|most| *most >= 0.0);
                let message = "expected the greatest error after `gradient:`, as in `gradient: 1e-6`";
                let most = most.ok_or_else(|| self.scan.error(message))?;
                self.outcome(Expected::Gradient(most))?;
            }
            "auto" if self.scan.accept("output") => self.outcome(Expected::Auto)?,
            other => return self.modifier(other),
        }
        Ok(())
    }

    /// Words that may stand before `input`.
    fn modifier(&mut self, word: &str) -> Result<(), Mistake> {
        match word {
            "\"" => {
                let name = self.scan.quoted();
                let name =
                    name.ok_or_else(|| self.scan.error("the name of the test has no closing quote"))?;
                self.pending.name = Some(name.to_string());
                self.pending.last = Some(format!("\"{name}\""));
                return Ok(());
            }
            "compiled" => self.pending.without.extend([Backend::Interp, Backend::FlatInterp]),
            "notest" => self.pending.untested = true,
            "nobench" => self.pending.unmeasured = true,
            _ => match word.strip_prefix("no_") {
                // Names of other compilers' back ends are no mistake.
                Some(name) => {
                    let is_it = |b: &Backend| b.name().replace('-', "_") == name;
                    self.pending.without.extend(Backend::ALL.into_iter().filter(is_it));
                }
                None => return Err(self.scan.error(format!("`{word}` is not part of a test: {EXPECTED}"))),
            },
        }
        self.pending.last = Some(word.to_string());
        Ok(())
    }

    fn entry(&mut self) -> Result<(), Mistake> {
        let names: Vec<String> = self.scan.rest_of_line().split_whitespace().map(str::to_string).collect();
        if names.is_empty() {
            return Err(self.scan.error("expected names of entry points after `entry:`"));
        }
        match self.entries.replace(names) {
            None => Ok(()),
            Some(_) => Err(self.scan.error("a block has one `entry:` line; begin another with `-- ==`")),
        }
    }

    fn tags(&mut self) -> Result<(), Mistake> {
        let tags: Vec<String> = self.braces("words")?.split_whitespace().map(str::to_string).collect();
        self.block.tags.extend(tags);
        Ok(())
    }

    fn structure(&mut self) -> Result<(), Mistake> {
        // Futhark's programs count in Futhark's own code for a back end, which says nothing here.
        if ["gpu-mem", "gpu", "seq-mem", "seq", "mc-mem", "mc"].iter().any(|code| self.scan.accept(code)) {
            return self.braces("names with numbers").map(drop);
        }
        let line = self.scan.line();
        let mut level = structure::Level::Flat;
        if self.scan.accept("core") {
            level = structure::Level::Core;
        } else {
            self.scan.accept("flat");
        }
        let text = self.braces("names with numbers")?;
        let structure = structure::parse(level, line, text).map_err(|e| self.scan.error(e))?;
        self.block.structures.push(structure);
        Ok(())
    }

    fn compile_error(&mut self) -> Result<(), Mistake> {
        let pattern = self.scan.rest_of_line().to_string();
        match self.block.compile_error.replace(pattern) {
            None => Ok(()),
            Some(_) => Err(self.scan.error("a second `compile error:` in one block")),
        }
    }

    fn case(&mut self, line: usize, input: Input) {
        let Pending { name, without, untested, unmeasured, .. } = std::mem::take(&mut self.pending);
        let expected = Expected::Anything;
        self.block.cases.push(Case { name, line, without, untested, unmeasured, input, expected });
    }

    fn outcome(&mut self, expected: Expected) -> Result<(), Mistake> {
        if let Some(word) = &self.pending.last {
            return Err(self.scan.error(format!("an input must follow `{word}`")));
        }
        match self.block.cases.last_mut() {
            None => Err(self.scan.error("an outcome without an input")),
            Some(case) if case.expected != Expected::Anything => {
                Err(self.scan.error("the input has an outcome already"))
            }
            Some(case) => {
                case.expected = expected;
                Ok(())
            }
        }
    }

    /// `{ values }` or `@ file`.
    fn data(&mut self) -> Result<Data, Mistake> {
        match self.scan.file_name() {
            Some("") => Err(self.scan.error("expected the name of a file after `@`")),
            Some(name) => Ok(Data::File(self.folder.join(name))),
            None => {
                let (text, range) =
                    self.scan.braces().ok_or_else(|| self.scan.error("expected `{ values }` or `@ file`"))?;
                Ok(Data::Text { text: text.to_string(), range })
            }
        }
    }

    fn braces(&mut self, what: &str) -> Result<&str, Mistake> {
        match self.scan.braces() {
            Some((text, _)) => Ok(text),
            None => Err(self.scan.error(format!("expected {what} in braces"))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PROGRAM: &str = "-- | doc
-- ==
-- tags { slow gpu }
-- entry: a b
-- input { [1, 2] {x = 1} }
-- output { 3 }
-- input @ in.txt output @ out.txt
-- nobench input { \"}\" } error: division by zero
-- \"big one\" no_cpu random input { [10][]i32 } auto output
-- notest compiled script input { iota 3 }
-- structure { map 1 }
-- structure gpu-mem { SegMap 2 }
def x = 1
-- ==
-- compile error: no name
";

    #[test]
    fn all_forms() {
        let spec = parse(PROGRAM, Path::new("dir")).unwrap();
        let [block, rejected] = &spec.blocks[..] else { panic!("{spec:?}") };
        assert_eq!(rejected.compile_error.as_deref(), Some("no name"));
        assert_eq!((block.description.as_str(), block.line), ("doc", 2));
        assert_eq!(
            (&block.tags[..], &block.entries[..]),
            (&["slow".into(), "gpu".into()][..], &["a".into(), "b".into()][..])
        );
        assert_eq!(block.cases.iter().map(|c| c.line).collect::<Vec<_>>(), [5, 7, 8, 9, 10]);
        let Input::Data(Data::Text { text, range }) = &block.cases[0].input else { panic!("{block:?}") };
        assert_eq!((text.as_str(), &PROGRAM[range.clone()]), (" [1, 2] {x = 1} ", " [1, 2] {x = 1} "));
        assert_eq!(block.cases[1].input, Input::Data(Data::File("dir/in.txt".into())));
        assert_eq!(block.cases[1].expected, Expected::Output(Data::File("dir/out.txt".into())));
        assert_eq!(block.cases[2].expected, Expected::Error("division by zero".into()));
        assert_eq!(block.cases[3].name.as_deref(), Some("big one"));
        assert_eq!(
            (&block.cases[3].without[..], &block.cases[3].expected),
            (&[Backend::Cpu][..], &Expected::Auto)
        );
        assert_eq!(block.cases[4].without, [Backend::Interp, Backend::FlatInterp]);
        assert_eq!(
            (block.cases[4].untested, &block.cases[4].input),
            (true, &Input::Script(" iota 3 ".into()))
        );
        assert!(block.cases[2].unmeasured && !block.cases[4].unmeasured);
        assert_eq!(block.structures.len(), 1);
    }

    #[test]
    fn values_over_several_lines() {
        let text = "  -- ==\r\n  -- input {\r\n  --   1 -- one }\r\n  --   2 }\r\ndef x = 1";
        let spec = parse(text, Path::new("")).unwrap();
        let Input::Data(Data::Text { text, .. }) = &spec.blocks[0].cases[0].input else { panic!("{spec:?}") };
        assert_eq!(text.split_whitespace().collect::<Vec<_>>(), ["1", "--", "one", "}", "2"]);
    }

    #[test]
    fn mistakes_have_a_line() {
        let parse = |text| {
            let mistake = parse(text, Path::new("")).unwrap_err();
            format!("{}: {}", mistake.line, mistake.message)
        };
        let starts = |text, expected: &str| {
            let message = parse(text);
            assert!(message.starts_with(expected), "{message}");
        };
        assert_eq!(parse("-- ==\n-- output { 1 }"), "2: an outcome without an input");
        starts("\n-- ==\n-- inptu { 1 }", "3: `inptu` is not part of a test: expected `input`, ");
        assert_eq!(parse("-- ==\n-- input 1"), "2: expected `{ values }` or `@ file`");
        assert_eq!(parse("-- ==\n-- input { 1"), "2: expected `{ values }` or `@ file`");
        assert_eq!(parse("-- ==\n-- input @"), "2: expected the name of a file after `@`");
        assert_eq!(
            parse("-- ==\n-- input { 1 } output { 1 } auto output"),
            "2: the input has an outcome already"
        );
        assert_eq!(
            parse("-- ==\n-- input { 1 }\n-- compiled output { 1 }"),
            "3: an input must follow `compiled`"
        );
        assert_eq!(parse("-- ==\n-- compiled"), "2: an input must follow `compiled`");
        assert_eq!(
            parse("-- ==\n-- error: x\n-- input { 1 }"),
            "1: a program that must be rejected takes no input"
        );
        assert_eq!(parse("-- ==\n-- \"name input { 1 }"), "2: the name of the test has no closing quote");
        starts("-- ==\n-- structure { mpa 1 }", "2: no operation `mpa`; the names are: map ");
        starts("-- ==\n-- random input { [10] }", "2: expected a type like ");
        starts("def x = 1\n-- ==\n", "2: the block tests nothing: expected `input`");
    }
}
