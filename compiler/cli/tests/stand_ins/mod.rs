//! The stand-ins of `kernels/host` for driver and compiler, and the command on them.

use std::hash::{DefaultHasher, Hasher};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

/// The repository.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the repository")
}

/// A path for a test's own files.
pub fn temporary(name: &str) -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join(name)
}

/// The folder with the stand-ins, built once.
pub fn stand_ins() -> &'static Path {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| {
        let folder = temporary(concat!("emulator-", env!("CARGO_CRATE_NAME")));
        let built = Command::new(root().join("kernels/host/build")).arg(&folder).output().expect("a shell");
        assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
        folder
    })
}

/// A folder for what was compiled with this very emulator: what another one made does not run on it.
pub fn kept(name: &str) -> PathBuf {
    let files = std::fs::read_dir(root().join("kernels/host")).expect("a folder").flatten();
    let mut files: Vec<PathBuf> = files.map(|f| f.path()).collect();
    files.sort();
    let mut hasher = DefaultHasher::new();
    files.iter().for_each(|f| hasher.write(&std::fs::read(f).expect("a file")));
    temporary(&format!("{name}-{:016x}", hasher.finish()))
}

/// The command on the stand-ins.
pub fn par(folder: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_par"));
    command.env("LD_LIBRARY_PATH", folder).env("PAR_NVRTC", folder.join("libnvrtc.so"));
    command.env("PAR_CACHE", kept("cubins")).env("EMU_HEADERS", kept("headers"));
    command
}

/// A file with this text.
pub fn program(name: &str, text: &str) -> PathBuf {
    let path = temporary(name);
    std::fs::write(&path, text).expect("a file");
    path
}

/// Status, standard output and standard error.
pub fn said(output: &Output) -> (Option<i32>, String, String) {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

/// Outcome of `par run`.
pub fn run(command: &mut Command, file: &Path, arguments: &[&str]) -> (Option<i32>, String, String) {
    said(&command.arg("run").arg(file).args(arguments).output().expect("par runs"))
}

/// Runs a test of Rust's interface on the stand-ins. Which driver is found is decided when a process starts, so the test of that name runs
/// itself again, with these variables.
pub fn on_stand_ins(name: &str, variables: &[(&str, &str)], test: fn()) {
    const AGAIN: &str = "PAR_TEST_ON_STAND_INS";
    if std::env::var_os(AGAIN).is_some() {
        return test();
    }
    let folder = stand_ins();
    let mut again = Command::new(std::env::current_exe().expect("this test"));
    again.args(["--exact", name, "--nocapture"]).env(AGAIN, "1").envs(variables.iter().copied());
    again.env("LD_LIBRARY_PATH", folder).env("PAR_NVRTC", folder.join("libnvrtc.so"));
    let (status, out, err) = said(
        &again
            .env("EMU_HEADERS", kept("headers"))
            .env("PAR_CACHE", kept("cubins"))
            .output()
            .expect("this test runs"),
    );
    assert_eq!(status, Some(0), "{out}{err}");
}
