//! The system's linker, by way of its C compiler.

use super::header::Interface;
use ar_archive_writer::{ArchiveKind, DEFAULT_OBJECT_READER, NewArchiveMember, write_archive_to_stream};
use std::ffi::OsString;
use std::io::Cursor;
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

/// Inputs of the linker.
pub struct Link<'a> {
    runtime: &'a Path,
    object: &'a [u8],
}

impl<'a> Link<'a> {
    /// A program and its runtime library.
    pub fn new(runtime: &'a Path, object: &'a [u8]) -> Link<'a> {
        Link { runtime, object }
    }

    /// Writes an executable.
    pub fn executable(&self, output: &Path) -> Result<(), String> {
        let work = Work::beside(output)?;
        let (object, linked) = (work.write("program.o", self.object)?, work.path("program"));
        self.link(&[&object], &linked, &[])?;
        work.keep(&linked, output)
    }

    /// Writes `NAME.h`, `libNAME.a` and `libNAME.so`.
    pub fn library(&self, output: &Path, interface: &Interface) -> Result<(), String> {
        let name = output.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let work = Work::beside(output)?;
        let header = work.write(&format!("{name}.h"), interface.header.as_bytes())?;
        let code = work.write("interface.c", interface.code.as_bytes())?;
        let object = work.write("program.o", self.object)?;
        let glue = work.path("interface.o");
        let mut compile = Command::new(compiler());
        run(compile.args(["-c", "-O1", "-fPIC", "-o"]).args([&glue, &code]))?;

        // One object, in which everything from the runtime is found: its archive is Rust's, and not made for additions.
        let whole = work.path("library.o");
        let mut merge = Command::new(compiler());
        merge.args(["-r", "-nostdlib", "-o"]).args([&whole, &object, &glue]).arg(self.runtime);
        run(merge.args(needed(interface)).args(SMALLER))?;
        let archive = work.write("library.a", &archive(&whole)?)?;
        let shared = work.path("library.so");
        let flags = shared_flags(&work, &name, interface)?;
        self.link(&[&object, &glue], &shared, &flags)?;
        for (made, ending) in [
            (&header, format!("{name}.h")),
            (&archive, format!("lib{name}.a")),
            (&shared, shared_name(&name)),
        ] {
            work.keep(made, &output.with_file_name(ending))?;
        }
        Ok(())
    }

    fn link(&self, objects: &[&PathBuf], output: &Path, flags: &[OsString]) -> Result<(), String> {
        let mut command = Command::new(compiler());
        command.args(flags).arg("-o").arg(output).args(objects).arg(self.runtime).args(SMALLER).args(SYSTEM);
        run(&mut command)
    }
}

/// An archive of one object. The system's `ar` is not asked: some choke on what Rust's objects carry.
fn archive(object: &Path) -> Result<Vec<u8>, String> {
    let failed = |e: std::io::Error| format!("cannot make an archive: {e}");
    let bytes = std::fs::read(object).map_err(failed)?;
    let member = NewArchiveMember::new(bytes, &DEFAULT_OBJECT_READER, "library.o".to_string());
    let kind = if cfg!(target_os = "macos") { ArchiveKind::Darwin } else { ArchiveKind::Gnu };
    let mut out = Cursor::new(Vec::new());
    write_archive_to_stream(&mut out, &[member], kind, false, None).map_err(failed)?;
    Ok(out.into_inner())
}

/// The C compiler: the one that the variable `CC` names, else `cc`.
pub fn compiler() -> OsString {
    std::env::var_os("CC").filter(|cc| !cc.is_empty()).unwrap_or_else(|| OsString::from("cc"))
}

fn run(command: &mut Command) -> Result<(), String> {
    let name = command.get_program().display().to_string();
    let out = command.output().map_err(|e| match e.kind() {
        std::io::ErrorKind::NotFound if command.get_program() == compiler() => {
            format!(
                "there is no C compiler `{name}` to link with: install one (gcc or clang), or name one by CC"
            )
        }
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

/// Asks for the functions of the header, whether or not anything calls them.
fn needed(interface: &Interface) -> Vec<String> {
    let before = if cfg!(target_os = "macos") { "_" } else { "" };
    interface.functions().iter().map(|f| format!("-Wl,-u,{before}{f}")).collect()
}

#[cfg(target_os = "macos")]
fn shared_name(name: &str) -> String {
    format!("lib{name}.dylib")
}

#[cfg(not(target_os = "macos"))]
fn shared_name(name: &str) -> String {
    format!("lib{name}.so")
}

/// Flags for a shared library, in which all functions of the header are there, and nothing else is seen.
fn shared_flags(work: &Work, name: &str, interface: &Interface) -> Result<Vec<OsString>, String> {
    let mut flags: Vec<OsString> = vec!["-shared".into()];
    flags.extend(needed(interface).into_iter().map(OsString::from));
    if cfg!(target_os = "macos") {
        return Ok(flags);
    }
    let seen: String = interface.functions().iter().map(|f| format!("{f};")).collect();
    let script = work.write("symbols", format!("{{ global: {seen} local: *; }};\n").as_bytes())?;
    flags.push(format!("-Wl,-soname,{}", shared_name(name)).into());
    let mut option = OsString::from("-Wl,--version-script=");
    option.push(script);
    flags.push(option);
    Ok(flags)
}

/// A folder for files on the way, in that of the output, so that they can be renamed. It is removed in the end.
struct Work(PathBuf);

impl Work {
    fn beside(output: &Path) -> Result<Work, String> {
        let mut name = output.file_name().ok_or("the output has no name")?.to_os_string();
        name.push(format!(".{}.part", std::process::id()));
        let path = output.with_file_name(name);
        std::fs::create_dir(&path).map_err(|e| format!("cannot write {}: {e}", path.display()))?;
        Ok(Work(path))
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    fn write(&self, name: &str, bytes: &[u8]) -> Result<PathBuf, String> {
        let path = self.path(name);
        std::fs::write(&path, bytes).map_err(|e| format!("cannot write {}: {e}", path.display()))?;
        Ok(path)
    }

    /// Gives something whole its name.
    fn keep(&self, made: &Path, output: &Path) -> Result<(), String> {
        std::fs::rename(made, output).map_err(|e| format!("cannot write {}: {e}", output.display()))
    }
}

impl Drop for Work {
    fn drop(&mut self) {
        // What cannot be removed is at least called unfinished.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
