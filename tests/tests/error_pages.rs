//! Every code has a page, and the programs on the pages do what the pages say.

use par::explain::{PAGES, Page};
use par::{Failure, Options, Severity, compile};
use par_tests::{on_threads, root};
use std::collections::BTreeSet;
use std::path::Path;

/// Pages without programs: the file is no text (E0100), the program would be very long (E0107, E0513), which feature is
/// missing changes (E0900), and errors of Par itself (E0999).
const WITHOUT_PROGRAMS: [&str; 5] = ["E0100", "E0107", "E0513", "E0900", "E0999"];

/// The codes in the sources: string literals like "E0203".
fn used_codes(folder: &Path, out: &mut BTreeSet<String>) {
    for entry in std::fs::read_dir(folder).expect("a folder").flatten() {
        let path = entry.path();
        let name = path.file_name().map_or(String::new(), |n| n.to_string_lossy().into_owned());
        if path.is_dir() && !["tests", "snapshots", "target"].contains(&name.as_str()) {
            used_codes(&path, out);
        } else if name.ends_with(".rs") && !["tests.rs", "explain.rs"].contains(&name.as_str()) {
            let text = std::fs::read_to_string(&path).expect("a source file");
            // What follows `#[cfg(test)]` uses codes without giving them.
            let text = text.split("#[cfg(test)]").next().unwrap_or("");
            out.extend(text.split('"').filter(|part| is_code(part)).map(str::to_string));
        }
    }
}

fn is_code(text: &str) -> bool {
    text.len() == 5 && text.starts_with(['E', 'W']) && text[1..].bytes().all(|b| b.is_ascii_digit())
}

#[test]
fn every_code_has_a_page_and_every_page_its_code() {
    let mut used = BTreeSet::new();
    for member in std::fs::read_dir(root().join("compiler")).expect("the crates").flatten() {
        used_codes(&member.path().join("src"), &mut used);
    }
    let pages: BTreeSet<String> = PAGES.iter().map(|p| p.code.to_string()).collect();
    let missing: Vec<_> = used.difference(&pages).collect();
    let unused: Vec<_> = pages.difference(&used).collect();
    assert!(
        missing.is_empty(),
        "codes without a page in docs/errors and compiler/par/src/explain.rs: {missing:?}"
    );
    assert!(unused.is_empty(), "pages of codes that nothing gives: {unused:?}");
}

#[test]
fn every_file_is_a_page() {
    for entry in std::fs::read_dir(root().join("docs/errors")).expect("the folder").flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let code = name.strip_suffix(".md").expect("a Markdown file");
        assert!(PAGES.iter().any(|p| p.code == code), "{name} is not in the list of pages");
    }
}

fn check(page: &Page) -> Result<(), String> {
    let heading = format!("# {}: {}", page.code, page.title());
    if page.text.lines().next() != Some(&heading) {
        return Err(format!("{}: the page does not begin with its code and a title", page.code));
    }
    let programs = (page.program("Wrong"), page.program("Right"));
    let (Some(wrong), Some(right)) = programs else {
        let fine = WITHOUT_PROGRAMS.contains(&page.code) && programs == (None, None);
        return if fine { Ok(()) } else { Err(format!("{}: programs are missing", page.code)) };
    };
    let name = format!("{}.par", page.code);
    let mut options = Options::default();
    options.warnings.set("all").expect("a setting");
    // Many pages copy on purpose.
    if page.code != "W0601" {
        options.warnings.set("no-copies").expect("a setting");
    }
    let found = match compile(wrong, &name, &options) {
        Ok(program) => program.warnings().to_vec(),
        Err(Failure::Rejected { diagnostics, .. }) => diagnostics,
        Err(failure) => return Err(format!("{}: {failure}", page.code)),
    };
    let codes: Vec<&str> =
        found.iter().filter(|d| d.severity >= Severity::Warning).map(|d| d.code.as_str()).collect();
    if codes != [page.code] {
        return Err(format!("{}: the wrong program gives {codes:?}", page.code));
    }
    match compile(right, &name, &options) {
        Ok(program) if program.warnings().is_empty() => Ok(()),
        Ok(program) => Err(format!("{}: the right program gives {:?}", page.code, program.warnings())),
        Err(failure) => Err(format!("{}: the right program is rejected\n{failure}", page.code)),
    }
}

#[test]
fn programs_do_what_their_pages_say() {
    let failures: Vec<String> = on_threads(PAGES, |page| check(page).err()).into_iter().flatten().collect();
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}
