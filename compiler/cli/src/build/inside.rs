//! The runtime library inside the command: behind the executable's own bytes, compressed.
//!
//! ```text
//! executable | libpar_native.a, deflated | length of that (8 bytes) | MARK
//! ```
//!
//! A linker needs a file, so the first `par build` unpacks it into the user's folder for such things.

use flate2::Compression;
use flate2::read::DeflateDecoder;
use flate2::write::DeflateEncoder;
use std::fs::File;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

const MARK: &[u8; 8] = b"par.lib1";
/// Bytes of the mark and the length.
const END: u64 = 16;

/// Writes the command and the library as one executable.
pub fn pack(command: &Path, library: &Path, output: &Path) -> Result<(), String> {
    let failed = |path: &Path, e: std::io::Error| format!("{}: {e}", path.display());
    let mut whole = std::fs::read(command).map_err(|e| failed(command, e))?;
    whole.truncate(whole.len() - packed(command).map_or(0, |bytes| bytes.len() + END as usize));
    let library = std::fs::read(library).map_err(|e| failed(library, e))?;
    let mut deflated = DeflateEncoder::new(Vec::new(), Compression::default());
    let deflated = deflated.write_all(&library).and_then(|()| deflated.finish());
    let deflated = deflated.map_err(|e| failed(output, e))?;
    whole.extend_from_slice(&deflated);
    whole.extend_from_slice(&(deflated.len() as u64).to_le_bytes());
    whole.extend_from_slice(MARK);
    std::fs::write(output, whole).map_err(|e| failed(output, e))?;
    let permissions = std::fs::metadata(command).map_err(|e| failed(command, e))?.permissions();
    std::fs::set_permissions(output, permissions).map_err(|e| failed(output, e))
}

/// The library that is inside a command, as a file; none if there is none inside.
pub fn unpacked(command: &Path) -> Option<Result<PathBuf, String>> {
    let packed = packed(command)?;
    let mut hasher = DefaultHasher::new();
    packed.hash(&mut hasher);
    let path = folder().join(format!("libpar_native-{:016x}.a", hasher.finish()));
    if path.is_file() {
        return Some(Ok(path));
    }
    let written = write(&packed, &path);
    Some(written.map(|()| path.clone()).map_err(|e| format!("cannot unpack {}: {e}", path.display())))
}

fn write(packed: &[u8], path: &Path) -> std::io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    std::fs::create_dir_all(folder)?;
    // Others may do the same at the same time.
    let mut file = tempfile::NamedTempFile::new_in(folder)?;
    std::io::copy(&mut DeflateDecoder::new(packed), &mut file)?;
    file.persist(path)?;
    Ok(())
}

/// The compressed library behind a command's own bytes.
fn packed(command: &Path) -> Option<Vec<u8>> {
    let mut file = File::open(command).ok()?;
    let size = file.seek(SeekFrom::End(0)).ok()?;
    file.seek(SeekFrom::Start(size.checked_sub(END)?)).ok()?;
    let mut end = [0; END as usize];
    file.read_exact(&mut end).ok()?;
    let (length, mark) = end.split_at(8);
    if mark != MARK {
        return None;
    }
    let length = u64::from_le_bytes(length.try_into().ok()?);
    file.seek(SeekFrom::Start((size - END).checked_sub(length)?)).ok()?;
    let mut packed = vec![0; usize::try_from(length).ok()?];
    file.read_exact(&mut packed).ok()?;
    Some(packed)
}

/// The user's cache folder.
pub fn folder() -> PathBuf {
    let named = |name: &str| std::env::var_os(name).filter(|v| !v.is_empty()).map(PathBuf::from);
    let usual = if cfg!(target_os = "macos") { "Library/Caches" } else { ".cache" };
    let caches = named("XDG_CACHE_HOME").or_else(|| Some(named("HOME")?.join(usual)));
    caches.unwrap_or_else(std::env::temp_dir).join("par")
}
