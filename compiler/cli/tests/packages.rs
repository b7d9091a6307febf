//! Packages, the manual, and what is there for editors.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

par_trials::trials! {
    the_manual_has_a_page_for_every_command;
    a_command_with_its_library_inside_is_all_there_is_to_copy, needs par_trials::c_compiler();
    an_archive_is_complete, needs par_trials::tool("tar"), par_trials::tool("gzip"), par_trials::c_compiler();
    a_formula_of_homebrew, needs par_trials::tool("tar"), par_trials::tool("gzip"), par_trials::tool("ruby");
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
    builds_a_program(&installed.join("usr/bin/par"), &folder);
}

/// Builds a program with a command, and runs it.
fn builds_a_program(par: &Path, folder: &Path) {
    std::fs::write(folder.join("twice.par"), "entry main (x: i64) : i64 = 2 * x\n").unwrap();
    std::fs::write(folder.join("x"), "21").unwrap();
    let mut build = Command::new(par);
    build.args(["build", "twice.par", "-o", "twice"]).current_dir(folder).env_remove("PAR_RUNTIME");
    done(build.env("XDG_CACHE_HOME", folder.join("cache")));
    let twice = done(Command::new(folder.join("twice")).args(["-i", "x"]).current_dir(folder));
    assert_eq!(String::from_utf8_lossy(&twice.stdout), "42i64\n");
}

fn a_command_with_its_library_inside_is_all_there_is_to_copy() {
    let folder = folder("inside");
    let (first, copy) = (folder.join("first"), folder.join("par"));
    let pack = |par: &Path, output: &Path| done(Command::new(par).args(["dev", "--pack"]).arg(output));
    pack(Path::new(env!("CARGO_BIN_EXE_par")), &first);
    // The library of one that has it inside is unpacked, and packed again.
    std::fs::create_dir(folder.join("there")).unwrap();
    let moved = folder.join("there/par");
    std::fs::rename(&first, &moved).unwrap();
    done(Command::new(&moved).args(["dev", "--pack"]).arg(&copy).env("XDG_CACHE_HOME", folder.join("cache")));
    assert_eq!(std::fs::metadata(&moved).unwrap().len(), std::fs::metadata(&copy).unwrap().len());
    builds_a_program(&copy, &folder);
    let unpacked = || std::fs::read_dir(folder.join("cache/par")).unwrap().count();
    assert_eq!(unpacked(), 1);
    builds_a_program(&copy, &folder);
    assert_eq!(unpacked(), 1);
}

/// The archive from which `cargo binstall` takes the command, and others all that is in it.
fn an_archive_is_complete() {
    let folder = folder("archive");
    done(Command::new(root().join("packaging/archive")).arg(env!("CARGO_BIN_EXE_par")).arg(&folder));
    let metadata = std::fs::read_to_string(root().join("compiler/cli/Cargo.toml")).unwrap();
    let named = |key: &str| {
        let line = metadata.lines().find(|l| l.starts_with(key)).unwrap().split('"').nth(1).unwrap();
        let line = line.replace("{ version }", env!("CARGO_PKG_VERSION")).replace("{ bin }", "par");
        line.rsplit("/download/").next().unwrap().to_string()
    };
    let target = std::fs::read_dir(&folder).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap());
    let [archive] = &target.collect::<Vec<_>>()[..] else { panic!("one archive") };
    let target = archive.strip_prefix(concat!("par-", env!("CARGO_PKG_VERSION"), "-")).unwrap();
    let target = target.strip_suffix(".tar.gz").unwrap();
    assert!(named("pkg-url").replace("{ target }", target).ends_with(&format!("/{archive}")));
    done(Command::new("tar").arg("-xzf").arg(folder.join(archive)).arg("-C").arg(&folder));
    let par = folder.join(named("bin-dir").replace("{ target }", target));
    let top = par.parent().unwrap().parent().unwrap();
    for file in ["share/man/man1/par-run.1", "share/zsh/site-functions/_par", "README.md", "LICENSE-MIT"] {
        assert!(top.join(file).is_file(), "{file}");
    }
    // As binstall leaves it: the command alone.
    let alone = folder.join("alone");
    std::fs::create_dir(&alone).unwrap();
    std::fs::copy(&par, alone.join("par")).unwrap();
    builds_a_program(&alone.join("par"), &alone);
}

fn a_formula_of_homebrew() {
    let folder = folder("homebrew");
    let sources = folder.join("par-sources.tar.gz");
    std::fs::write(&sources, "any bytes").unwrap();
    let mut script = Command::new(root().join("packaging/homebrew"));
    let formula = done(script.arg(&sources).arg("https://example.org/par-sources.tar.gz"));
    let formula = String::from_utf8_lossy(&formula.stdout).into_owned();
    assert!(
        formula.contains("url \"https://example.org/par-sources.tar.gz\"") && formula.contains("sha256 \"")
    );
    std::fs::write(folder.join("par.rb"), formula).unwrap();
    done(Command::new("ruby").arg("-c").arg(folder.join("par.rb")));
}

fn the_grammar_of_tree_sitter() {
    let folder = folder("tree-sitter");
    let from = root().join("editors/tree-sitter-par");
    done(Command::new("cp").arg("-r").arg(format!("{}/.", from.display())).arg(&folder));
    done(Command::new("tree-sitter").arg("generate").current_dir(&folder));
    done(Command::new("tree-sitter").arg("test").current_dir(&folder));
    // It knows all that is written in Par; only what is no program may have errors.
    let mut programs = String::new();
    for from in ["tests/golden", "examples", "stdlib", "compiler/syntax/tests/programs"] {
        let found = done(Command::new("find").arg(root().join(from)).args(["-name", "*.par"]));
        let found = String::from_utf8(found.stdout).unwrap();
        found.lines().filter(|f| !f.contains("/golden/bad/")).for_each(|f| programs += &format!("{f}\n"));
    }
    assert!(programs.lines().count() > 500, "{programs}");
    std::fs::write(folder.join("programs"), programs).unwrap();
    done(Command::new("tree-sitter").args(["parse", "--quiet", "--paths", "programs"]).current_dir(&folder));
    let query = folder.join("queries/highlights.scm");
    let one = root().join("examples/cookbook/jet_mass.par");
    done(Command::new("tree-sitter").arg("query").args([&query, &one]).current_dir(&folder));
}
