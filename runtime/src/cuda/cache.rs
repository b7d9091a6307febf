//! Machine code on disk, so that a program is compiled once.
//!
//! The name of a file is a hash of all that the code depends on. A file is written under another name first, so that
//! another process never sees half of one. What cannot be read or written is as if it were not there.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::PathBuf;

/// The place for code that depends on these texts.
pub struct Entry(Option<PathBuf>);

impl Entry {
    /// Place in the folder that `PAR_CACHE` names, or in the user's cache folder; none if `PAR_CACHE` is empty.
    pub fn of(key: &[&str]) -> Entry {
        Entry(folder().map(|folder| folder.join(format!("{:032x}.cubin", hash(key)))))
    }

    /// The code, if it is there.
    pub fn read(&self) -> Option<Vec<u8>> {
        std::fs::read(self.0.as_ref()?).ok().filter(|code| !code.is_empty())
    }

    /// Keeps the code.
    pub fn write(&self, code: &[u8]) {
        let Some(path) = &self.0 else { return };
        let Some(folder) = path.parent() else { return };
        let temporary = path.with_extension(format!("{}.new", std::process::id()));
        let written = std::fs::create_dir_all(folder)
            .and_then(|()| std::fs::write(&temporary, code))
            .and_then(|()| std::fs::rename(&temporary, path));
        if written.is_err() {
            let _ = std::fs::remove_file(temporary);
        }
    }
}

fn folder() -> Option<PathBuf> {
    if let Some(folder) = std::env::var_os("PAR_CACHE") {
        return Some(PathBuf::from(folder)).filter(|p| !p.as_os_str().is_empty());
    }
    let base = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
    let home = || std::env::var_os("HOME").map(|h| PathBuf::from(h).join(".cache"));
    base.or_else(home).map(|b| b.join("par/cuda"))
}

/// 128 bits, so that two programs never meet.
fn hash(key: &[&str]) -> u128 {
    let half = |seed: u64| {
        let mut hasher = DefaultHasher::new();
        seed.hash(&mut hasher);
        key.hash(&mut hasher);
        u128::from(hasher.finish())
    };
    half(1) << 64 | half(2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_depends_on_every_part() {
        let names = [hash(&["a", "b"]), hash(&["ab", ""]), hash(&["a", "c"]), hash(&["b", "a"])];
        assert!((0..4).all(|i| (0..i).all(|j| names[i] != names[j])));
    }
}
