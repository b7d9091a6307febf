//! Ranks: processes that call a program together. They read arguments by slices, and write results so.

use crate::input::Argument;
use par_data::{Target, Unfinished};
use par_runtime::ranks::values::{self, gather, has_rows, join, own_elements};
use par_runtime::ranks::{Lost, Ranks};
use par_runtime::{Array, Value};
use std::ffi::OsStr;
use std::fs::File;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// In the name of a file: the number of the rank, each of which has a file of its own.
const NUMBER: &[u8] = b"%r";

fn lost(e: Lost) -> String {
    e.to_string()
}

/// The value of this rank, if all have one; else the message of one that has none.
pub fn agreed<T>(ranks: &Ranks, own: Result<T, String>) -> Result<T, String> {
    let message = own.as_ref().err().cloned().unwrap_or_default();
    let told = ranks.exchange_unknown(vec![message.into_bytes(); ranks.size()]).map_err(lost)?;
    match told.iter().position(|m| !m.is_empty()) {
        None => own,
        Some(rank) => {
            let message = String::from_utf8_lossy(&told[rank]);
            Err(if rank == 0 { message.into_owned() } else { format!("rank {rank}: {message}") })
        }
    }
}

/// The arguments, of which those that were read in parts are put together.
pub fn arguments(ranks: &Ranks, read: Result<Vec<Argument>, String>) -> Result<Vec<Value>, String> {
    let read = agreed(ranks, read)?;
    let own: Vec<u8> = read.iter().map(|a| u8::from(a.is_part)).collect();
    let all = ranks.all_gather(&own).map_err(lost)?;
    if all.chunks(own.len().max(1)).any(|kinds| kinds != own) {
        return Err("the ranks' files differ: all machines must have the same ones under their names".into());
    }
    let whole = |Argument { value, is_part }| match is_part {
        true => join(value, ranks).map_err(|e| e.to_string()),
        false => Ok(value),
    };
    read.into_iter().map(whole).collect()
}

/// The file of a rank, if a name stands for one on each.
pub fn own_file(path: &Path, ranks: &Ranks) -> Option<PathBuf> {
    let name = path.as_os_str().as_bytes();
    let at = name.windows(NUMBER.len()).position(|w| w == NUMBER)?;
    let number = ranks.rank().to_string();
    let name = [&name[..at], number.as_bytes(), &name[at + NUMBER.len()..]].concat();
    Some(OsStr::from_bytes(&name).into())
}

/// Writes a result to one file by all ranks, or to one of each. Otherwise the result, which is rank 0's to write, with all of its elements there.
pub fn write(value: Value, target: &Target, ranks: &Ranks) -> Result<Option<Value>, String> {
    if let Some(path) = target.path.as_deref().and_then(|path| own_file(path, ranks)) {
        let target = Target { path: Some(path), format: target.format };
        return own_rows(value, &target, ranks).map(|()| None);
    }
    match (target.elements(&value), &target.path) {
        (Some((header, elements)), Some(path)) if elements.is_in_parts() => {
            by_slices(&header, &elements, path, ranks).map(|()| None)
        }
        _ => gather(value, ranks).map(Some).map_err(|e| e.to_string()),
    }
}

/// Writes the rows of each rank to a file of its own.
fn own_rows(value: Value, target: &Target, ranks: &Ranks) -> Result<(), String> {
    if !has_rows(&value.ty) {
        return Err(format!(
            "a result of type {} has no rows, of which each rank could write some",
            value.ty
        ));
    }
    let own = values::split(value, ranks).map_err(|e| e.to_string())?;
    let written = agreed(ranks, target.write_unfinished(own).map_err(|e| e.message))?;
    agreed(ranks, written.finish().map_err(|e| e.message))
}

/// Writes what each rank has to its place in one file.
fn by_slices(header: &[u8], elements: &Array, path: &Path, ranks: &Ranks) -> Result<(), String> {
    let size = elements.prim().size();
    let begun = match ranks.rank() {
        0 => begin(header, elements.len() * size, path).map(Some),
        _ => Ok(None),
    };
    let begun = agreed(ranks, begun)?;
    let name = begun.as_ref().map_or(Vec::new(), |file| file.partial().as_os_str().as_bytes().to_vec());
    let told = ranks.exchange_unknown(vec![name; ranks.size()]).map_err(lost)?;
    let (first, bytes) = own_elements(elements, ranks);
    let open = || File::options().write(true).open(OsStr::from_bytes(&told[0]));
    let written = open().and_then(|file| file.write_all_at(bytes, (header.len() + first * size) as u64));
    agreed(ranks, written.map_err(|e| format!("cannot write {}: {e}", path.display())))?;
    agreed(ranks, begun.map_or(Ok(()), |file| file.finish().map_err(|e| e.message)))
}

/// A file with a header and room for so many bytes.
fn begin(header: &[u8], room: usize, path: &Path) -> Result<Unfinished, String> {
    let begun = Unfinished::begin(path).map_err(|e| e.message)?;
    let create = || {
        let file = File::create(begun.partial())?;
        file.set_len((header.len() + room) as u64)?;
        file.write_all_at(header, 0)
    };
    create().map_err(|e| format!("cannot write {}: {e}", path.display()))?;
    Ok(begun)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::input::read_on;
    use par_runtime::ranks::threads;
    use par_runtime::{Entry, Prim, ValueType};
    use std::sync::Arc;
    use std::thread;

    fn on<T: Send>(ranks: usize, work: impl Fn(&Ranks) -> T + Sync) -> Vec<T> {
        thread::scope(|scope| {
            let work = &work;
            let start = |t| scope.spawn(move || work(&Ranks::new(Arc::new(t)).with_least(2)));
            let all: Vec<_> = threads::connect(ranks).into_iter().map(start).collect();
            all.into_iter().map(|t| t.join().expect("a rank")).collect()
        })
    }

    /// A folder of a test, in which `a.npy` has the numbers of a matrix.
    struct Folder {
        path: PathBuf,
        value: Value,
    }

    impl Folder {
        fn new(test: &str, rows: i64) -> Folder {
            let path = std::env::temp_dir().join(format!("par-ranks-{}-{test}", std::process::id()));
            std::fs::create_dir_all(&path).expect("a folder");
            let folder = Folder { path, value: matrix(rows) };
            Target::parse(&folder.name("a.npy")).write(folder.value.clone()).expect("a file");
            folder
        }

        fn name(&self, file: &str) -> String {
            self.path.join(file).display().to_string()
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = std::fs::remove_dir_all(&self.path);
        }
    }

    /// Reads a value of that type on each rank and writes it; true of each rank if it read only some rows.
    fn copy(from: &str, to: &str, ty: &ValueType, ranks: usize) -> Vec<Result<bool, String>> {
        let entry = Entry { name: "main".into(), params: vec![("xs".into(), ty.clone())], ret: ty.clone() };
        on(ranks, |ranks| {
            let read = read_on(&entry, &[from.to_string()], Some(ranks));
            let is_part = read.as_ref().is_ok_and(|args| args[0].is_part);
            let value = arguments(ranks, read)?.swap_remove(0);
            let target = Target::parse(to);
            match write(value, &target, ranks)? {
                Some(value) if ranks.rank() == 0 => target.write(value).map_err(|e| e.message)?,
                _ => {}
            }
            Ok(is_part)
        })
    }

    fn matrix(rows: i64) -> Value {
        let ty = ValueType::array(ValueType::array(ValueType::Prim(Prim::I32)));
        let data: Vec<i32> = (0..rows as i32 * 3).collect();
        let columns = vec![
            par_runtime::Column::Size(rows),
            par_runtime::Column::Size(3),
            par_runtime::Column::Data(Array::from_slice(&data)),
        ];
        Value { ty, columns }
    }

    #[test]
    fn files_are_read_and_written_by_slices() {
        let folder = Folder::new("slices", 101);
        let (name, ty) = (|file: &str| folder.name(file), &folder.value.ty);
        std::fs::write(name("b"), (0..=255).collect::<Vec<u8>>()).expect("a file");
        for p in 1..5 {
            let all = copy(&name("a.npy"), &name("to.npy"), ty, p);
            assert!(all.iter().all(|r| r == &Ok(p > 1)), "{all:?}");
            assert_eq!(std::fs::read(name("a.npy")).ok(), std::fs::read(name("to.npy")).ok());
            let bytes = ValueType::array(ValueType::Prim(Prim::U8));
            let all = copy(&format!("raw:{}", name("b")), &format!("raw:{}", name("c")), &bytes, p);
            assert!(all.iter().all(|r| r == &Ok(p > 1)), "{all:?}");
            assert_eq!(std::fs::read(name("b")).ok(), std::fs::read(name("c")).ok());
        }
        // Fewer rows than ranks are read whole, and none are, too.
        for rows in [0, 1, 3] {
            let few = Folder::new("few", rows);
            for p in 1..5 {
                let all = copy(&few.name("a.npy"), &few.name("to.npy"), ty, p);
                assert!(all.iter().all(|r| r == &Ok(p > 1 && rows >= p as i64)), "{rows} rows: {all:?}");
                assert_eq!(std::fs::read(few.name("a.npy")).ok(), std::fs::read(few.name("to.npy")).ok());
            }
        }
        let left = std::fs::read_dir(&folder.path).expect("the folder").count();
        assert_eq!(left, 4, "files that are not finished");
    }

    #[test]
    fn each_rank_has_a_file() {
        let folder = Folder::new("own", 10);
        let (name, ty) = (|file: &str| folder.name(file), &folder.value.ty);
        let all = copy(&name("a.npy"), &name("%r.json"), ty, 3);
        assert!(all.iter().all(Result::is_ok), "{all:?}");
        let first = std::fs::read_to_string(name("0.json")).expect("a file");
        assert_eq!(first.split_whitespace().collect::<String>(), "[[0,1,2],[3,4,5],[6,7,8]]");
        let all = copy(&name("%r.json"), &name("b.npy"), ty, 3);
        assert!(all.iter().all(|r| r == &Ok(true)), "{all:?}");
        assert_eq!(std::fs::read(name("a.npy")).ok(), std::fs::read(name("b.npy")).ok());
        // There is no fourth file.
        let all = copy(&name("%r.json"), &name("no.npy"), ty, 4);
        assert!(
            all.iter().all(|r| r.as_ref().is_err_and(|m| m.starts_with("rank 3: cannot read"))),
            "{all:?}"
        );
        let scalar = ValueType::Prim(Prim::I64);
        std::fs::write(name("n"), "7").expect("a file");
        let all = copy(&name("n"), &name("%r.json"), &scalar, 2);
        assert!(all.iter().all(|r| r.as_ref().is_err_and(|m| m.contains("has no rows"))), "{all:?}");
        assert!(!Path::new(&name("no.npy")).exists());
    }

    #[test]
    fn what_cannot_be_written_is_an_error_of_all() {
        let folder = Folder::new("errors", 50);
        let (name, ty) = (|file: &str| folder.name(file), &folder.value.ty);
        for to in ["none/b.npy", "none/%r.npy"] {
            let all = copy(&name("a.npy"), &name(to), ty, 3);
            assert!(all.iter().all(|r| r.as_ref().is_err_and(|m| m.starts_with("cannot write"))), "{all:?}");
        }
        let flat = ValueType::array(ValueType::Prim(Prim::I32));
        let all = copy(&name("a.npy"), &name("b.npy"), &flat, 3);
        assert!(
            all.iter().all(|r| r.as_ref().is_err_and(|m| m.contains("the file has [50][3]i32"))),
            "{all:?}"
        );
        std::fs::write(name("a.npy"), &std::fs::read(name("a.npy")).unwrap()[..300]).expect("a file");
        let all = copy(&name("a.npy"), &name("b.npy"), ty, 3);
        assert!(all.iter().all(|r| r.as_ref().is_err_and(|m| m.contains("cut off"))), "{all:?}");
    }
}
