//! Files that are none: cut off anywhere, with bytes changed, with headers that lie. Each gives a value or one line.

use par_data::{Format, Input, Target};
use par_runtime::io::npy;
use par_runtime::io::text::read_values;
use par_runtime::{Prim, ValueType, pool};
use proptest::prelude::*;
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::OnceLock;

fn types() -> Vec<(&'static str, ValueType)> {
    let prim = |p| ValueType::Prim(p);
    let fixed = |elem| ValueType::array(ValueType::array(elem));
    let row = vec![
        ("id".to_string(), prim(Prim::I64)),
        ("name".to_string(), ValueType::ragged(prim(Prim::U8))),
        ("xs".to_string(), ValueType::ragged(prim(Prim::F32))),
    ];
    vec![
        ("[[1, 2, 3], [4, 5, 250]]", fixed(prim(Prim::U8))),
        ("[[1.5, -2], [], [1e10]]", ValueType::array(ValueType::ragged(prim(Prim::F64)))),
        (
            "[{id = 1, name = \"one\", xs = [1, 2]}, {id = 2, name = \"\", xs = []}]",
            ValueType::array(ValueType::Record(row.into())),
        ),
    ]
}

/// A valid file of every format that can hold one of the values.
fn files() -> &'static [(Format, ValueType, Vec<u8>)] {
    static FILES: OnceLock<Vec<(Format, ValueType, Vec<u8>)>> = OnceLock::new();
    FILES.get_or_init(|| {
        let folder = tempfile::tempdir().unwrap();
        let mut all = Vec::new();
        for name in Format::names() {
            let format = Format::from_name(name).unwrap();
            for (text, ty) in types() {
                let value = read_values(text, std::slice::from_ref(&ty)).unwrap().remove(0);
                let path = folder.path().join("file");
                let target = Target { path: Some(path.clone()), format };
                if target.write(value).is_ok() {
                    all.push((format, ty, std::fs::read(&path).unwrap()));
                }
            }
        }
        all
    })
}

/// Counts the bytes that a thread asks for.
struct Counting;

thread_local! {
    static BYTES: Cell<usize> = const { Cell::new(0) };
}

// SAFETY: all is the system's allocator's; the counter is a number that needs no allocation.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        BYTES.set(BYTES.get() + layout.size());
        // SAFETY: as the caller promises.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        // SAFETY: as the caller promises.
        unsafe { System.dealloc(at, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Bytes that reading a few bytes may ask for: much less than a header may say there is.
const LIMIT: usize = 64 << 20;

/// Reads whatever it is.
fn attempt(format: Option<Format>, ty: &ValueType, bytes: Vec<u8>) {
    pool::reset_thread_peak();
    let (arrays, other) = (pool::thread_balance(), BYTES.get());
    attempt_to_read(format, ty, bytes);
    let (arrays, other) = ((pool::thread_peak() - arrays) as usize, BYTES.get() - other);
    assert!(arrays.max(other) < LIMIT, "{format:?} took {arrays} bytes for arrays and {other} others");
}

fn attempt_to_read(format: Option<Format>, ty: &ValueType, bytes: Vec<u8>) {
    let Ok(mut input) = Input::from_bytes(bytes, format) else { return };
    let names = input.names();
    for part in names.into_iter().flatten().take(3) {
        let _ = input.read(Some(&part), ty);
    }
    match input.read(None, ty) {
        Ok(value) => assert!(par_runtime::io::view::View::new(&value).is_ok()),
        Err(e) => {
            let text = e.to_string();
            assert!(!text.is_empty() && !text.contains('\n'), "{text:?}");
        }
    }
}

/// Panics of other people's readers are expected here.
fn silently(work: impl FnOnce()) {
    static ONCE: std::sync::Once = std::sync::Once::new();
    ONCE.call_once(|| {
        let hook = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            if !par_data::is_guarded() {
                hook(info);
            }
        }));
    });
    work();
}

#[test]
fn every_format_has_files() {
    let formats: Vec<Format> = files().iter().map(|f| f.0).collect();
    let missing: Vec<&str> =
        Format::names().filter(|name| !formats.contains(&Format::from_name(name).unwrap())).collect();
    let without: &[&str] = if cfg!(feature = "arrow") { &[] } else { &["arrow", "arrows", "parquet"] };
    assert_eq!(missing, without);
}

#[test]
fn files_that_are_cut_off() {
    silently(|| {
        for (format, ty, bytes) in files() {
            for end in 0..bytes.len() {
                attempt(Some(*format), ty, bytes[..end].to_vec());
            }
            attempt(None, ty, bytes[..bytes.len() / 2].to_vec());
        }
    });
}

#[test]
fn every_byte_changed() {
    silently(|| {
        for (format, ty, bytes) in files() {
            for at in 0..bytes.len() {
                for change in [0xff, 0x80, 0x01] {
                    let mut changed = bytes.clone();
                    changed[at] ^= change;
                    attempt(Some(*format), ty, changed);
                }
            }
        }
    });
}

/// Quotes from a file are on one line, however long they are.
#[test]
fn a_quote_that_is_missing() {
    let (_, ty, bytes) = files().iter().find(|(format, ..)| *format == Format::Npy).expect("a file");
    let mut changed = bytes.clone();
    let at = bytes.windows(5).position(|w| w == b"descr").expect("a header") + 10;
    let quote = at + bytes[at..].iter().position(|b| *b == b'\'').expect("an end");
    changed[quote] = b'"';
    attempt(Some(Format::Npy), ty, changed.clone());
    let error = Input::from_bytes(changed, Some(Format::Npy)).and_then(|mut input| input.read(None, ty));
    let text = error.expect_err("an error").to_string();
    assert!(text.contains("element type") && text.len() < 200, "{text}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, ..ProptestConfig::default() })]

    #[test]
    fn bytes_changed(which in any::<prop::sample::Index>(), changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..5)) {
        silently(|| {
            let (format, ty, bytes) = which.get(files());
            let mut changed = bytes.clone();
            for (at, byte) in &changes {
                changed[at.index(bytes.len())] = *byte;
            }
            attempt(Some(*format), ty, changed);
        });
    }

    #[test]
    fn no_file_at_all(bytes in prop::collection::vec(any::<u8>(), 0..200), which in any::<prop::sample::Index>(), text in any::<bool>()) {
        silently(|| {
            let (format, ty, _) = which.get(files());
            let bytes = if text { bytes.iter().map(|b| b % 96 + 32).collect() } else { bytes };
            attempt(Some(*format), ty, bytes.clone());
            attempt(None, ty, bytes);
        });
    }
}

/// Headers of a few bytes that say there are 10^15 numbers.
#[test]
fn headers_that_ask_for_everything() {
    const MANY: u64 = 1_000_000_000_000_000;
    let ty = ValueType::array(ValueType::Prim(Prim::F64));
    let npy = [&npy::header(Prim::F64, &[MANY as i64])[..], &[0; 80]].concat();
    let binary = [b"b\x02\x01 f64", &MANY.to_le_bytes()[..], &[0; 80]].concat();
    let market = format!("%%MatrixMarket matrix array real general\n{MANY} 1\n1.0\n2.0\n");
    for (format, bytes) in [("npy", npy), ("binary", binary), ("mtx", market.into_bytes())] {
        let read = |bytes: Vec<u8>| {
            let mut input = Input::from_bytes(bytes, Format::from_name(format))?;
            input.read(None, &ty)
        };
        let error = read(bytes).expect_err(format).to_string();
        assert!(!error.is_empty() && !error.contains('\n'), "{format}: {error:?}");
    }
}

/// An error says that there is less memory than a file needs; the need differs between formats.
#[test]
fn files_that_are_larger_than_memory() {
    silently(|| {
        for (format, ty, bytes) in files() {
            let read = |limit| {
                let mut input = Input::from_bytes(bytes.clone(), Some(*format)).expect("a file");
                pool::with_limit(limit, || input.read(None, ty))
            };
            // Some formats do not say which of the types they hold.
            if read(None).is_err() {
                continue;
            }
            let lacks = |limit: &usize| match read(Some(*limit)) {
                Ok(_) => false,
                Err(e) => {
                    let text = e.to_string();
                    assert!(
                        text.contains("no memory for ") && text.ends_with(" bytes"),
                        "{format:?}: {text}"
                    );
                    true
                }
            };
            let limits = [0, 4, 8, 16, 32, 64, 256, 1024, 1 << 20];
            // Bytes of a file that happen to be aligned are used where they are: which of the small limits are enough may differ.
            let lacking = limits.iter().filter(|limit| lacks(limit)).count();
            assert!(lacking < limits.len() && !lacks(&limits[limits.len() - 1]), "{format:?}");
        }
    });
}

/// Inputs that fuzzing has found worth keeping: the first byte chooses format and type, as in `fuzz/targets/formats.rs`.
#[test]
fn inputs_of_the_fuzzer() {
    let corpus = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fuzz/corpus/formats");
    let names: Vec<&str> = Format::names().collect();
    let types = types();
    let mut count = 0;
    silently(|| {
        for entry in std::fs::read_dir(corpus).unwrap().flatten() {
            let bytes = std::fs::read(entry.path()).unwrap();
            let Some((first, rest)) = bytes.split_first() else { continue };
            let format =
                names.get(usize::from(*first) % (names.len() + 1)).and_then(|name| Format::from_name(name));
            types.iter().for_each(|(_, ty)| attempt(format, ty, rest.to_vec()));
            count += 1;
        }
    });
    assert!(count > 0);
}
