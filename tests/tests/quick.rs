//! The quick tier, for the hand: some golden programs of every folder on every back end. All of them are in `golden`.

use par_tests::{programs, root, run_all};
use std::path::PathBuf;

/// Of so many programs of a folder one is run.
const ONE_OF: usize = 6;

#[test]
fn some_programs_of_every_folder() {
    let golden = root().join("tests/golden");
    let mut folders: Vec<PathBuf> = std::fs::read_dir(&golden)
        .expect("golden programs")
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.is_dir())
        .collect();
    folders.sort();
    let files: Vec<PathBuf> = folders.iter().flat_map(|f| programs(f).into_iter().step_by(ONE_OF)).collect();
    assert!(files.len() > folders.len(), "{} programs of {} folders", files.len(), folders.len());
    run_all(&files);
}
