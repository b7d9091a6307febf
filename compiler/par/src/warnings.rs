//! Selection of warnings: those that are reported, and those that reject the program.
//!
//! ```text
//! -W no-unknown-attribute       one of them is not given
//! -W error                      those that are given reject the program
//! -W none -W unreachable-case   only this one
//! -W sizes=error                all about sizes, those that are not given by default included
//! ```

use par_syntax::{Diagnostic, Severity};

/// A kind of warning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kind {
    /// Name on the command line.
    pub name: &'static str,
    /// Its code.
    pub code: &'static str,
    /// One line.
    pub description: &'static str,
    /// Given if nobody asks for it.
    given: bool,
}

const fn kind(name: &'static str, code: &'static str, description: &'static str) -> Kind {
    Kind { name, code, description, given: true }
}

/// All kinds. The last word of a name is that of a group.
pub const KINDS: [Kind; 15] = [
    kind("unknown-attribute", "W0201", "an attribute `#[…]` that means nothing here"),
    kind("unreachable-case", "W0301", "a case of a `match` that the cases before it cover"),
    kind(
        "shadowing-recursion",
        "W0202",
        "a definition that calls itself under the name of a library function",
    ),
    kind("not-unrolled", "W0203", "a loop marked `#[unroll]` that stays a loop"),
    kind("later-definition", "W0204", "a name of the library that the file defines, too, but later"),
    kind("equal-sizes", "W0401", "two sizes that must be equal though nothing says so"),
    Kind {
        given: false,
        ..kind("unknown-sizes", "W0402", "sizes that are compared when the program runs only")
    },
    Kind {
        given: false,
        ..kind("hidden-sizes", "W0403", "a type with sizes that its definition does not name")
    },
    Kind {
        given: false,
        ..kind("copies", "W0601", "an update that copies its array, because the old one is used later")
    },
    kind("hole", "W0205", "`???`, an expression that is not written yet"),
    kind("wrapped-number", "W0206", "a number that does not fit the type written behind it"),
    kind("default-type", "W0207", "a parameter of which nothing says the type, so that it is `i32` or `f64`"),
    kind("one-precedence", "W0208", "`a | b & c` and the like, which other languages read in another order"),
    kind("always-fails", "W0302", "a check that never holds"),
    kind(
        "shared-result",
        "W0701",
        "a result that may share memory, of which a module type says that it does not",
    ),
];

/// Treatment of one kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Level {
    Off,
    On,
    Error,
}

/// Treatment of each kind. By default most are given and none rejects a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Warnings {
    levels: [Level; KINDS.len()],
}

impl Default for Warnings {
    fn default() -> Warnings {
        Warnings { levels: KINDS.map(|k| if k.given { Level::On } else { Level::Off }) }
    }
}

impl Warnings {
    /// Follows one option: `all`, `none`, `error`, `NAME`, `no-NAME`, `NAME=error`, where `NAME` is that of a kind or a group. An
    /// error says what would be right.
    pub fn set(&mut self, option: &str) -> Result<(), String> {
        match option {
            "all" => self.levels = [Level::On; KINDS.len()],
            "none" => self.levels = [Level::Off; KINDS.len()],
            "error" => self.levels.iter_mut().filter(|l| **l == Level::On).for_each(|l| *l = Level::Error),
            _ => {
                let (name, level) = match (option.strip_prefix("no-"), option.strip_suffix("=error")) {
                    (Some(name), _) => (name, Level::Off),
                    (None, Some(name)) => (name, Level::Error),
                    (None, None) => (option, Level::On),
                };
                let named =
                    |k: &Kind| k.name == name || k.name.strip_suffix(name).is_some_and(|s| s.ends_with('-'));
                let mut kinds = KINDS.iter().zip(&mut self.levels).filter(|(k, _)| named(k)).peekable();
                kinds.peek().ok_or_else(|| unknown(name))?;
                kinds.for_each(|(_, l)| *l = level);
            }
        }
        Ok(())
    }

    /// True if warnings with a code are given.
    pub(crate) fn gives(&self, code: &str) -> bool {
        KINDS.iter().zip(&self.levels).any(|(k, level)| k.code == code && *level != Level::Off)
    }

    /// The diagnostics at their levels: without those that are off.
    pub fn apply(&self, diagnostics: Vec<Diagnostic>) -> Vec<Diagnostic> {
        let level = |d: &Diagnostic| match KINDS.iter().position(|k| k.code == d.code) {
            Some(kind) if d.severity < Severity::Unsupported => self.levels[kind],
            _ => Level::On,
        };
        let leveled = diagnostics.into_iter().filter_map(|d| match level(&d) {
            Level::Off => None,
            Level::On => Some(d),
            Level::Error => Some(Diagnostic { severity: Severity::Error, ..d }),
        });
        leveled.collect()
    }
}

/// The names of all kinds in a line.
pub fn names() -> String {
    KINDS.map(|k| k.name).join(", ")
}

fn unknown(name: &str) -> String {
    let names = names();
    format!(
        "there is no warning `{name}`; there are all, none, error, {names}, and for each of these no-NAME and NAME=error"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use par_syntax::ast::Span;

    fn after(options: &[&str], code: &str) -> Option<Severity> {
        let mut warnings = Warnings::default();
        options.iter().for_each(|o| warnings.set(o).unwrap());
        let given = Diagnostic::new(Severity::Warning, code, "text", Span::default());
        warnings.apply(vec![given]).first().map(|d| d.severity)
    }

    #[test]
    fn levels() {
        assert_eq!(after(&[], "W0201"), Some(Severity::Warning));
        assert_eq!(after(&["none"], "W0201"), None);
        assert_eq!(after(&["no-unknown-attribute"], "W0201"), None);
        assert_eq!(after(&["no-unknown-attribute"], "W0301"), Some(Severity::Warning));
        assert_eq!(after(&["error"], "W0301"), Some(Severity::Error));
        assert_eq!(after(&["none", "unreachable-case", "error"], "W0201"), None);
        assert_eq!(after(&["none", "unreachable-case", "error"], "W0301"), Some(Severity::Error));
        assert_eq!(after(&["unreachable-case=error"], "W0301"), Some(Severity::Error));
        assert_eq!(after(&["no-shadowing-recursion"], "W0202"), None);
        assert_eq!(after(&[], "W0402"), None);
        assert_eq!(after(&["sizes"], "W0402"), Some(Severity::Warning));
        assert_eq!(after(&["sizes=error"], "W0401"), Some(Severity::Error));
        assert_eq!(after(&["sizes=error"], "W0402"), Some(Severity::Error));
        assert_eq!(after(&["no-sizes"], "W0401"), None);
        assert_eq!(after(&["none"], "W9999"), Some(Severity::Warning));
        assert!(Warnings::default().set("no-such").unwrap_err().contains("unknown-attribute"));
    }

    #[test]
    fn every_kind_has_a_page() {
        for kind in KINDS {
            assert_eq!(crate::explain::page(kind.code).map(|p| p.code), Ok(kind.code), "{}", kind.name);
        }
    }
}
