//! Packages, the manual, and what is there for editors.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

par_trials::trials! {
    the_manual_has_a_page_for_every_command;
    a_debian_package_is_complete, needs par_trials::tool("dpkg-deb"), par_trials::c_compiler();
    the_grammar_of_tree_sitter, needs par_trials::tool("tree-sitter");
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn folder(name: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = std::fs::remove_dir_all(&path);
    std::fs::create_dir_all(&path).unwrap();
    path
}

fn done(command: &mut Command) -> Output {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    output
}

fn the_manual_has_a_page_for_every_command() {
    let folder = folder("manual");
    let par = env!("CARGO_BIN_EXE_par");
    done(Command::new(par).args(["manual", "--output"]).arg(&folder));
    let text =
        |name: &str| std::fs::read_to_string(folder.join(name)).unwrap_or_else(|e| panic!("{name}: {e}"));
    assert!(
        text("par.1").contains(".TH par 1") && text("par.1").contains("par\\-run(1)"),
        "{}",
        text("par.1")
    );
    assert!(text("par-run.1").contains("\\-\\-output"));
    assert!(text("par.bash").contains("--force-version") && text("_par").starts_with("#compdef par"));
    assert!(text("par.fish").contains("literate"));
    let completions = done(Command::new(par).args(["manual", "--completions", "bash"]));
    assert_eq!(String::from_utf8_lossy(&completions.stdout), text("par.bash"));
    let page = done(Command::new(par).arg("manual"));
    assert_eq!(String::from_utf8_lossy(&page.stdout), text("par.1"));
}

/// A command from a package compiles a program, far away from where it was built.
fn a_debian_package_is_complete() {
    let folder = folder("debian");
    let mut script = Command::new(root().join("packaging/debian"));
    done(script.arg(env!("CARGO_BIN_EXE_par")).arg(&folder).env("COMPRESSION", "none"));
    let packages: Vec<PathBuf> = std::fs::read_dir(&folder).unwrap().map(|e| e.unwrap().path()).collect();
    let [package] = packages.as_slice() else { panic!("{packages:?}") };
    let fields = done(Command::new("dpkg-deb").arg("--field").arg(package));
    let fields = String::from_utf8_lossy(&fields.stdout).into_owned();
    assert!(fields.contains(concat!("Version: ", env!("CARGO_PKG_VERSION"), "\n")), "{fields}");
    let installed = folder.join("installed");
    done(Command::new("dpkg-deb").arg("--extract").arg(package).arg(&installed));
    for file in
        ["man/man1/par.1.gz", "man/man1/par-run.1.gz", "bash-completion/completions/par", "doc/par/README.md"]
    {
        assert!(installed.join("usr/share").join(file).is_file(), "{file}");
    }
    std::fs::write(folder.join("twice.par"), "entry main (x: i64) : i64 = 2 * x\n").unwrap();
    let mut build = Command::new(installed.join("usr/bin/par"));
    done(build.args(["build", "twice.par", "-o", "twice"]).current_dir(&folder).env_remove("PAR_RUNTIME"));
    std::fs::write(folder.join("x"), "21").unwrap();
    let twice = done(Command::new(folder.join("twice")).args(["-i", "x"]).current_dir(&folder));
    assert_eq!(String::from_utf8_lossy(&twice.stdout), "42i64\n");
}

fn the_grammar_of_tree_sitter() {
    let folder = folder("tree-sitter");
    let from = root().join("editors/tree-sitter-par");
    done(Command::new("cp").arg("-r").arg(format!("{}/.", from.display())).arg(&folder));
    done(Command::new("tree-sitter").arg("generate").current_dir(&folder));
    done(Command::new("tree-sitter").arg("test").current_dir(&folder));
}
