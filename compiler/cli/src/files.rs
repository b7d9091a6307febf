//! Programs given as files and folders.

use std::path::{Path, PathBuf};

/// The file itself, or the programs in a folder and its folders, in order.
pub fn programs(path: &Path) -> std::io::Result<Vec<PathBuf>> {
    if !std::fs::metadata(path)?.is_dir() {
        return Ok(vec![path.to_path_buf()]);
    }
    let mut paths =
        std::fs::read_dir(path)?.map(|e| Ok(e?.path())).collect::<std::io::Result<Vec<PathBuf>>>()?;
    paths.sort();
    let is_program = |p: &Path| p.extension().is_some_and(|e| e == "par" || e == "fut");
    let mut out = Vec::new();
    for path in paths {
        if path.is_dir() {
            out.extend(programs(&path)?);
        } else if is_program(&path) {
            out.push(path);
        }
    }
    Ok(out)
}
