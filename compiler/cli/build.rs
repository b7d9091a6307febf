//! Finds out which commit is being built, for `par --version`.

use std::process::Command;

fn git(arguments: &[&str]) -> Option<String> {
    let out = Command::new("git").args(arguments).output().ok().filter(|o| o.status.success())?;
    Some(String::from_utf8(out.stdout).ok()?.trim().to_string())
}

fn main() {
    let version = env!("CARGO_PKG_VERSION");
    // Outside of a repository, as in a package, there is only the version.
    let described = git(&["log", "-1", "--format=%h %cs"]).map(|commit| format!("{version} ({commit})"));
    println!("cargo::rustc-env=PAR_VERSION={}", described.unwrap_or_else(|| version.to_string()));
    println!("cargo::rerun-if-changed=build.rs");
    // Every commit is noted there. A file that is not there would count as changed always.
    let log =
        git(&["rev-parse", "--git-path", "logs/HEAD"]).and_then(|path| std::fs::canonicalize(path).ok());
    if let Some(log) = log {
        println!("cargo::rerun-if-changed={}", log.display());
    }
}
