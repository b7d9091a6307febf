//! The system's linker, by way of its C compiler.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Libraries of the system that Rust's standard library needs.
#[cfg(target_os = "macos")]
const SYSTEM: &[&str] = &["-lm", "-lpthread"];
#[cfg(not(target_os = "macos"))]
const SYSTEM: &[&str] = &["-lm", "-lpthread", "-ldl", "-lrt"];

/// Leaves out what is not used, and what only debuggers of Par need.
#[cfg(target_os = "macos")]
const SMALLER: &[&str] = &["-Wl,-dead_strip"];
#[cfg(not(target_os = "macos"))]
const SMALLER: &[&str] = &["-Wl,--gc-sections", "-Wl,--strip-debug"];

/// What is linked.
pub struct Link<'a> {
    runtime: &'a Path,
    object: &'a [u8],
}

impl<'a> Link<'a> {
    /// A program and its runtime library.
    pub fn new(runtime: &'a Path, object: &'a [u8]) -> Link<'a> {
        Link { runtime, object }
    }

    /// Writes an executable. It has its name only once it is whole.
    pub fn executable(&self, output: &Path) -> Result<(), String> {
        let (object, partial) = (beside(output, "o"), beside(output, "part"));
        let done = std::fs::write(&object, self.object)
            .map_err(|e| format!("cannot write {}: {e}", object.display()))
            .and_then(|()| self.link(&object, &partial, &[]))
            .and_then(|()| {
                std::fs::rename(&partial, output)
                    .map_err(|e| format!("cannot write {}: {e}", output.display()))
            });
        for file in [object, partial] {
            // Of these at most one is there.
            let _ = std::fs::remove_file(file);
        }
        done
    }

    fn link(&self, object: &Path, output: &Path, flags: &[&str]) -> Result<(), String> {
        let compiler =
            std::env::var_os("CC").filter(|cc| !cc.is_empty()).unwrap_or_else(|| OsString::from("cc"));
        let mut command = Command::new(&compiler);
        command.args(flags).arg("-o").arg(output).arg(object).arg(self.runtime).args(SMALLER).args(SYSTEM);
        let name = compiler.display();
        let out = command.output().map_err(|e| match e.kind() {
            std::io::ErrorKind::NotFound => format!(
                "there is no C compiler `{name}` to link with: install one (gcc or clang), or name one by CC"
            ),
            _ => format!("cannot run `{name}`: {e}"),
        })?;
        match out.status.success() {
            true => Ok(()),
            false => {
                let text = String::from_utf8_lossy(&out.stderr);
                Err(format!("`{name}` could not link the program ({}):\n{}", out.status, text.trim_end()))
            }
        }
    }
}

/// A name in the same folder that no other process uses.
fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_os_string();
    name.push(format!(".{}.{ending}", std::process::id()));
    path.with_file_name(name)
}
