//! Search for the library that compiled programs are linked with.

use super::{inside, made};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// Its name where it is installed.
const NAME: &str = "libpar_native.a";

/// Advice on getting one.
const ADVICE: &str = "`cargo build --release -p par-native` makes it, in target/release; --runtime FILE or PAR_RUNTIME says where it is";

/// The library: as the option says, as the environment says, beside this command, where packages put it, inside the command, or made by
/// Cargo.
pub fn find(option: Option<&Path>) -> Result<PathBuf, String> {
    let named = option.map(Path::to_path_buf).or_else(|| std::env::var_os("PAR_RUNTIME").map(PathBuf::from));
    if let Some(path) = named {
        return match path.is_file() {
            true => Ok(path),
            false => Err(format!("there is no runtime library {}: {ADVICE}", path.display())),
        };
    }
    let command = crate::this_command()?;
    let folder = command.parent().unwrap_or(Path::new("/"));
    let installed = [folder.join(NAME), folder.join("../lib/par").join(NAME)];
    let newest = installed.into_iter().chain(built(&folder.join("deps"))).filter_map(with_time).max();
    if let Some((_, path)) = newest {
        return Ok(path);
    }
    let found = inside::unpacked(command).or_else(made::library);
    found.unwrap_or_else(|| Err(format!("the runtime library {NAME} is not there: {ADVICE}")))
}

/// In a folder of Cargo's, where every build has a name of its own.
fn built(folder: &Path) -> Vec<PathBuf> {
    let files = std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let is_library = |path: &PathBuf| {
        let name = path.file_name().and_then(|n| n.to_str()).unwrap_or_default();
        name.starts_with("libpar_native-") && name.ends_with(".a")
    };
    files.filter(is_library).collect()
}

fn with_time(path: PathBuf) -> Option<(SystemTime, PathBuf)> {
    let metadata = std::fs::metadata(&path).ok().filter(std::fs::Metadata::is_file)?;
    Some((metadata.modified().ok()?, path))
}
