//! The runtime library made by Cargo, once, where the command's source text still is: `cargo install` leaves nothing but the command.

use super::inside;
use crate::status;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Of the workspace.
const SOURCES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

/// The library for this version of the command, made if need be; none where that is not possible.
pub fn library() -> Option<Result<PathBuf, String>> {
    let version = env!("PAR_VERSION").replace([' ', '(', ')'], "_");
    let path = inside::folder().join(format!("libpar_native-{version}.a"));
    if path.is_file() {
        return Some(Ok(path));
    }
    let sources = Path::new(SOURCES);
    if !sources.join("compiler/native/Cargo.toml").is_file() {
        return None;
    }
    let made = inside::folder().join("runtime-library");
    let mut cargo = Command::new("cargo");
    cargo.args(["build", "--release", "--locked", "-p", "par-native", "--target-dir"]).arg(&made);
    cargo.current_dir(sources);
    status::say("making the library that programs are linked with; this takes some minutes, once");
    let output = match cargo.output() {
        Ok(output) => output,
        Err(_) => return None,
    };
    if !output.status.success() {
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        return Some(Err(format!("Cargo could not make the runtime library:\n{}", text.trim_end())));
    }
    let kept = std::fs::rename(made.join("release/libpar_native.a"), &path);
    // There may be nothing to remove.
    let _ = std::fs::remove_dir_all(&made);
    Some(kept.map(|()| path.clone()).map_err(|e| format!("cannot keep {}: {e}", path.display())))
}
