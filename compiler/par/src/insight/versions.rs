//! The words for versions of which one is chosen while the program runs, and for what chooses.

use par_ir::flat::VersionChoice;

/// Text for the arms of a choice.
pub(super) struct Chosen {
    /// Of the arm that runs if the condition holds.
    pub then: String,
    /// Of the other one.
    pub other: String,
}

/// Alternatives of a branch; nothing if it only finds out a part of another choice's condition.
pub(super) fn chosen(versions: VersionChoice) -> Option<Chosen> {
    let (then, other) = match versions {
        VersionChoice::Calls { least } => (
            format!("sequential, each call by itself: for {least} calls at once, and more"),
            format!("flat, all calls at once: for less than {least} of them"),
        ),
        VersionChoice::Rows { least, longest } => {
            let short = longest.map_or(String::new(), |n| format!(", if none is longer than {n}"));
            let other = "flat, all rows at once: for fewer or longer rows";
            (format!("sequential, each row by itself: for {least} rows and more{short}"), other.into())
        }
        VersionChoice::Positions { least, most } => {
            let little =
                most.map_or(String::new(), |n| format!(", or up to {n} operators a launch on average"));
            let (many, few) = match least {
                1 => (String::new(), ""),
                _ => (format!("for {least} and more "), "fewer of them, or "),
            };
            (
                format!("sequential, each position by itself: {many}with small arrays{little}"),
                format!("flat, all positions at once: for {few}larger arrays"),
            )
        }
        VersionChoice::Iterations { most } => (
            format!(
                "sequential, all iterations in one kernel: for up to {most} operators a launch on average (never on a GPU)"
            ),
            "flat, one launch after the other: for larger arrays".into(),
        ),
        VersionChoice::Segments { mean } => (
            format!("over rows: if their starts grow, for {mean} elements a row and more on average"),
            "over elements, as written: for shorter rows, or other starts".into(),
        ),
        VersionChoice::Columns { block } => (
            format!("one block of rows: for up to {block} of them"),
            format!("blocks of rows, combined: for more than {block} of them"),
        ),
        VersionChoice::Dimensions { least } => (
            format!("along the outer dimension, then transposed: for {least} rows and more"),
            "along the inner dimension: for fewer rows".into(),
        ),
        VersionChoice::Prefixes { most } => (
            format!("each column by itself: for up to {most} columns"),
            format!("row after row: for more than {most} columns"),
        ),
        VersionChoice::ColumnPrefixes => (
            "columns where they are: on a processor".into(),
            "columns as rows of a scan: on a GPU, or on several ranks".into(),
        ),
        VersionChoice::Inside => (
            "without checks: if the sizes say that all indices are inside".into(),
            "with checks: if an index may be outside".into(),
        ),
        VersionChoice::Waves => (
            "row after row on one thread: if rows are far apart (never on a GPU, or on several ranks)".into(),
            "one wave after the other: for other orders of elements, or if a check fails".into(),
        ),
        VersionChoice::Condition => return None,
    };
    Some(Chosen { then, other })
}
