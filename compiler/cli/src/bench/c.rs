//! Functions in C beside entry points: `par bench sums.par --against sums.c`.
//!
//! The function for the entry point `NAME` is `c_NAME`. It takes the columns of the arguments and then those of the result, in the
//! order of [`ValueType::columns`](par_runtime::ValueType::columns): numbers and sizes of arguments by value, everything else by
//! pointers, to offsets (`int64_t`) and elements of arguments, and to room for all parts of the result, which has as many elements as
//! what Par gives. The file is compiled with the function that calls it, so a parameter that is missing or of another type is the
//! C compiler's message.

use super::NoTimes;
use super::sample::{Effort, Times};
use crate::build::{c_type, identifier};
use crate::measure::size;
use par::testing::DataSet;
use par::{Program, Value};
use par_runtime::io::compare::{Tolerance, compare};
use par_runtime::value::ColumnType;
use par_runtime::{Array, Column, Entry, Prim};
use std::ffi::c_void;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

/// Optimization that is asked of the C compiler, unless the variable `CFLAGS` says another one.
const FLAGS: &str =
    if cfg!(target_os = "macos") { "-O3 -march=native" } else { "-O3 -march=native -fopenmp" };

/// Calls a function with pointers to its arguments' columns and its result's.
type Call = unsafe extern "C" fn(*const *mut c_void);

/// The functions of a file.
pub(super) struct Functions {
    source: PathBuf,
    /// For the program that is measured, from its first call on.
    compiled: Option<Result<Compiled, String>>,
}

struct Compiled {
    library: libloading::Library,
    /// Entry points with a function.
    names: Vec<String>,
}

/// Compiles the functions for the entry points that the file names.
fn compile(source: &Path, program: &Program) -> Result<Compiled, String> {
    let text =
        std::fs::read_to_string(source).map_err(|e| format!("cannot read {}: {e}", source.display()))?;
    let words: Vec<&str> = text.split(|c: char| c != '_' && !c.is_ascii_alphanumeric()).collect();
    let (entries, others): (Vec<&Entry>, Vec<&Entry>) =
        program.entries().into_iter().partition(|e| words.contains(&function(e).as_str()));
    if entries.is_empty() {
        return Err(format!(
            "{} has no function for an entry point. {}",
            source.display(),
            prototypes(&others)
        ));
    }
    let folder = Folder::new()?;
    let (glue, library) = (folder.0.join("calls.c"), folder.0.join("calls.so"));
    std::fs::write(&glue, calls(source, &entries)?)
        .map_err(|e| format!("cannot write {}: {e}", glue.display()))?;
    let flags = std::env::var("CFLAGS").unwrap_or_else(|_| FLAGS.into());
    let mut command = Command::new(crate::build::compiler());
    command.args(flags.split_whitespace());
    command.args(["-shared", "-fPIC", "-w", "-Werror=incompatible-pointer-types"]);
    command.args(["-Werror=implicit-function-declaration", "-o"]).arg(&library).arg(&glue).arg("-lm");
    let out = command
        .output()
        .map_err(|e| format!("cannot run the C compiler {}: {e}", command.get_program().display()))?;
    if !out.status.success() {
        let said = String::from_utf8_lossy(&out.stderr);
        return Err(format!(
            "{} does not fit the entry points:\n{}{}",
            source.display(),
            said,
            prototypes(&entries)
        ));
    }
    // SAFETY: the library has no initializers but those of the user's file.
    let library =
        unsafe { libloading::Library::new(&library) }.map_err(|e| format!("{}: {e}", source.display()))?;
    Ok(Compiled { library, names: entries.iter().map(|e| e.name.clone()).collect() })
}

/// A folder for files on the way. It is removed in the end.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Result<Folder, String> {
        let path = std::env::temp_dir().join(format!("par-bench-{}", std::process::id()));
        std::fs::create_dir_all(&path).map_err(|e| format!("cannot make {}: {e}", path.display()))?;
        Ok(Folder(path))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // A folder that cannot be removed is left among the temporary files.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// The user's file, and a function for each entry point that calls what stands there with columns behind pointers.
fn calls(source: &Path, entries: &[&Entry]) -> Result<String, String> {
    let source = source.canonicalize().map_err(|e| format!("cannot read {}: {e}", source.display()))?;
    let quoted = source.display().to_string().replace('\\', "\\\\").replace('"', "\\\"");
    let mut text = format!("#include <stdint.h>\n#include <stdbool.h>\n#include \"{quoted}\"\n");
    for entry in entries {
        let name = identifier(&entry.name);
        let columns = columns(entry).into_iter().enumerate().map(|(i, (_, ty, by_value))| match by_value {
            true => format!("*({ty} *)columns[{i}]"),
            false => format!("({ty} *)columns[{i}]"),
        });
        let columns: Vec<String> = columns.collect();
        let _ = writeln!(
            text,
            "void par_call_{name}(void **columns) {{ {}({}); }}",
            function(entry),
            columns.join(", ")
        );
    }
    Ok(text)
}

/// The columns of arguments and result: names, types in C, and true if it is passed by value.
fn columns(entry: &Entry) -> Vec<(String, &'static str, bool)> {
    let result = ("result".to_string(), entry.ret.clone());
    let of = |(name, ty): &(String, par_runtime::ValueType), is_result: bool| {
        let column = |c: ColumnType| match c {
            ColumnType::Scalar(p) => (identifier(name), c_type(p), !is_result),
            ColumnType::Size => (identifier(name) + "_size", "int64_t", !is_result),
            ColumnType::Offsets { .. } => (identifier(name) + "_offsets", "int64_t", false),
            ColumnType::Data(p) => (identifier(name), c_type(p), false),
        };
        ty.columns().into_iter().map(column).collect::<Vec<_>>()
    };
    let mut all: Vec<_> = entry.params.iter().flat_map(|p| of(p, false)).collect();
    all.extend(of(&result, true));
    let names: Vec<String> = all.iter().map(|c| c.0.clone()).collect();
    for (i, column) in all.iter_mut().enumerate() {
        let same = |range: &[String]| range.iter().filter(|n| **n == names[i]).count();
        if same(&names) > 1 {
            column.0 = format!("{}_{}", column.0, same(&names[..i]));
        }
    }
    all
}

/// The functions that are looked for, as declarations.
fn prototypes(entries: &[&Entry]) -> String {
    let mut text = "The functions are to be:\n".to_string();
    for entry in entries {
        let columns = columns(entry).into_iter().map(|(name, ty, by_value)| match by_value {
            true => format!("{ty} {name}"),
            false => format!("{ty} *{name}"),
        });
        let columns: Vec<String> = columns.collect();
        let _ = writeln!(text, "  void {}({});", function(entry), columns.join(", "));
    }
    text
}

/// The name of an entry point's function.
fn function(entry: &Entry) -> String {
    format!("c_{}", identifier(&entry.name))
}

impl Functions {
    /// The functions of a file, which is not yet read.
    pub(super) fn new(source: &Path) -> Functions {
        Functions { source: source.into(), compiled: None }
    }

    /// Times of a call in C. Nothing if the file has no function for it, or none
    /// that could be compiled, which is said once.
    pub(super) fn times(
        &mut self,
        program: &Program,
        set: &DataSet,
        effort: &Effort,
    ) -> Result<Option<Times>, NoTimes> {
        let is_first = self.compiled.is_none();
        let compiled = self.compiled.get_or_insert_with(|| compile(&self.source, program));
        let compiled = match compiled {
            Ok(compiled) => compiled,
            Err(message) if is_first => return Err(NoTimes::Function(message.clone())),
            Err(_) => return Ok(None),
        };
        let Some(entry) = program.entry(&set.entry).filter(|e| compiled.names.contains(&e.name)) else {
            return Ok(None);
        };
        let wanted = program
            .run(&set.entry, set.args.clone(), effort.backend, effort.threads)
            .map_err(NoTimes::Call)?;
        let times = compiled.times(entry, &set.args, &wanted, effort);
        let nanoseconds = times.map_err(|m| NoTimes::Function(format!("{}: {m}", self.source.display())))?;
        Ok(Some(Times { nanoseconds, with_copies: Vec::new(), result: size(&wanted) }))
    }
}

impl Compiled {
    /// Runs the function of an entry point; the nanoseconds of each run after one that is not counted. An error is a result that is
    /// not Par's.
    fn times(
        &self,
        entry: &Entry,
        args: &[Value],
        wanted: &Value,
        effort: &Effort,
    ) -> Result<Vec<u64>, String> {
        let name = format!("par_call_{}", identifier(&entry.name));
        // SAFETY: `calls` wrote a function of that name and this type.
        let call: libloading::Symbol<'_, Call> =
            unsafe { self.library.get(name.as_bytes()) }.map_err(|e| e.to_string())?;
        let mut columns: Vec<Place> =
            args.iter().flat_map(|v| &v.columns).map(|c| Place::of(c, true)).collect();
        let given = columns.len();
        columns.extend(wanted.columns.iter().map(|c| Place::of(c, false)));
        let run = |columns: &[Place]| {
            let pointers: Vec<*mut c_void> = columns.iter().map(Place::pointer).collect();
            let start = Instant::now();
            // SAFETY: each pointer is that of a column of the type that the function was compiled for, with room for all elements.
            unsafe { call(pointers.as_ptr()) };
            start.elapsed()
        };
        run(&columns);
        let found =
            Value { ty: wanted.ty.clone(), columns: columns[given..].iter().map(Place::column).collect() };
        let difference = compare(wanted, &found, tolerance);
        difference.map_err(|m| format!("{} gives another result: {m} (Par and C)", function(entry)))?;
        let originals = || args.iter().flat_map(|v| &v.columns);
        let writes = originals().zip(&columns).any(|(a, b)| *a != b.column());
        let mut times = Vec::new();
        let start = Instant::now();
        while times.is_empty() || effort.again(times.len(), start.elapsed()) {
            if writes {
                columns.iter_mut().zip(originals()).for_each(|(place, c)| *place = Place::of(c, true));
            }
            times.push(run(&columns).as_nanos() as u64);
        }
        Ok(times)
    }
}

/// Larger than in tests: sums in other orders are no mistake.
fn tolerance(prim: Prim) -> Tolerance {
    match prim {
        Prim::F32 => Tolerance { relative: 1e-3, absolute: 1e-4 },
        Prim::F64 => Tolerance { relative: 1e-8, absolute: 1e-10 },
        _ => Tolerance::of(prim),
    }
}

/// A column in memory of its own; numbers are arrays of one element.
struct Place {
    array: Array,
    like: Column,
}

impl Place {
    /// A copy, or as much room.
    fn of(column: &Column, filled: bool) -> Place {
        let array = match column {
            Column::Data(a) | Column::Offsets(a) => a.clone(),
            Column::Size(n) => Array::from_slice(&[*n]),
            Column::Scalar(x) => Array::from_scalars(x.prim(), &[*x]),
        };
        let mut own = Array::zeros(array.prim(), array.len());
        if filled {
            own.bytes_mut().copy_from_slice(array.bytes());
        }
        Place { array: own, like: column.clone() }
    }

    fn pointer(&self) -> *mut c_void {
        self.array.as_ptr().cast()
    }

    /// The current contents.
    fn column(&self) -> Column {
        match &self.like {
            Column::Data(_) => Column::Data(self.array.clone()),
            Column::Offsets(_) => Column::Offsets(self.array.clone()),
            Column::Size(_) => Column::Size(self.array.slice::<i64>()[0]),
            Column::Scalar(_) => Column::Scalar(self.array.get(0)),
        }
    }
}
