//! Costs of Par for those who build it and install it: README gives the figures, and these bounds are a little above them.

use object::{Object, ObjectSegment};
use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

/// Packages that `cargo install` compiles, each of which takes some of the time.
const PACKAGES: usize = 216;

/// Bytes of code and data. The tests' build is not optimised where that does not matter, and may have Arrow and Parquet: it is half as large again as a release.
const LOADED: u64 = 66 << 20;

#[test]
fn packages_to_compile() {
    let mut tree = Command::new(env!("CARGO"));
    tree.args([
        "tree",
        "--offline",
        "--package",
        "par-cli",
        "--edges",
        "normal,build",
        "--prefix",
        "none",
        "--no-dedupe",
    ]);
    let output = tree.current_dir(env!("CARGO_MANIFEST_DIR")).output().expect("cargo");
    let text = String::from_utf8(output.stdout).expect("text");
    let name = |line: &str| line.split(" (").next().map(str::to_string);
    let packages: BTreeSet<String> = text.lines().filter_map(name).filter(|n| !n.is_empty()).collect();
    assert!(packages.len() > 20, "{}", String::from_utf8_lossy(&output.stderr));
    assert!(packages.len() <= PACKAGES, "{} packages: {packages:?}", packages.len());
}

#[test]
fn code_and_data() {
    let bytes = std::fs::read(Path::new(env!("CARGO_BIN_EXE_par"))).expect("the command");
    let file = object::File::parse(&*bytes).expect("an executable");
    let loaded: u64 = file.segments().map(|s| s.size()).sum();
    assert!((1 << 20..LOADED).contains(&loaded), "{loaded} bytes");
}
