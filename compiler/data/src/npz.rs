//! NumPy's archives: files of arrays in a zip file, each `NAME.npy`.
//!
//! Values that are no single array have parts with longer names: `rows.offsets` and `rows.values` are the irregular array `rows` (row `i` has the
//! values from `offsets[i]` to `offsets[i + 1]`), `points.x` and `points.y` the array `points` of records, or the record of arrays.

use crate::DataError;
use crate::guard::guarded;
use crate::source::Source;
use crate::tree::Tree;
use par_runtime::ValueType;
use par_runtime::io::npy;
use std::io::{BufReader, Seek, Write};
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipArchive, ZipWriter};

const OFFSETS: &str = "offsets";
const VALUES: &str = "values";

type Archive<'s, 'a> = ZipArchive<BufReader<&'s mut Source<'a>>>;

fn open<'s, 'a>(source: &'s mut Source<'a>) -> Result<Archive<'s, 'a>, DataError> {
    source.rewind()?;
    let archive = ZipArchive::new(BufReader::with_capacity(1 << 16, source));
    archive.map_err(|e| DataError::new(format!("the archive cannot be read: {e}")))
}

/// The full names of all arrays, in the order of the archive.
fn entries(archive: &Archive) -> Vec<String> {
    let names = (0..archive.len()).filter_map(|i| archive.name_for_index(i));
    let names = names.map(|name| name.map(|n| n.into_owned()).unwrap_or_default());
    names.map(|name| name.strip_suffix(".npy").unwrap_or(&name).to_string()).collect()
}

/// The names of what is in the archive, up to the first dot.
pub fn names(source: &mut Source) -> Result<Vec<String>, DataError> {
    guarded(|| Ok(top(&entries(&open(source)?))))
}

fn top(entries: &[String]) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for entry in entries {
        let name = entry.split('.').next().unwrap_or(entry);
        if !names.iter().any(|n| n == name) {
            names.push(name.to_string());
        }
    }
    names
}

/// One part, or as much of the whole as the type needs.
pub fn read(source: &mut Source, part: Option<&str>, ty: &ValueType) -> Result<Tree, DataError> {
    guarded(|| {
        let mut archive = open(source)?;
        let entries = entries(&archive);
        let all = top(&entries);
        if let Some(part) = part {
            let known = || crate::input::listing(all.iter().map(String::as_str));
            let found = one(&mut archive, &entries, part)?;
            return found.ok_or_else(|| format!("there is no `{part}`: the file has {}", known()).into());
        }
        let wanted = |name: &String| match ty {
            ValueType::Record(fields) => fields.iter().any(|f| f.0 == *name),
            _ => true,
        };
        let mut fields = Vec::new();
        // An array of records may be all that there is, with the fields below its name.
        let some = all.iter().any(wanted);
        for name in all.iter().filter(|name| !some || wanted(name)) {
            if let Some(tree) = one(&mut archive, &entries, name)? {
                fields.push((name.clone(), tree));
            }
        }
        Ok(Tree::Fields(fields))
    })
}

/// The array of that name, or those whose names begin so.
fn one(archive: &mut Archive, entries: &[String], name: &str) -> Result<Option<Tree>, DataError> {
    if let Some(at) = entries.iter().position(|e| e == name) {
        return array(archive, at, name).map(Some);
    }
    let mut parts: Vec<&str> = Vec::new();
    for rest in entries.iter().filter_map(|e| e.strip_prefix(name)?.strip_prefix('.')) {
        let next = rest.split('.').next().unwrap_or(rest);
        if !next.is_empty() && !parts.contains(&next) {
            parts.push(next);
        }
    }
    let mut fields = Vec::new();
    for part in parts {
        if let Some(tree) = one(archive, entries, &format!("{name}.{part}"))? {
            fields.push((part.to_string(), tree));
        }
    }
    match fields.len() {
        0 => Ok(None),
        _ => rows(fields).map(Some).map_err(|message| format!("`{name}`: {message}").into()),
    }
}

/// Fields, or an irregular array if they are offsets and values.
fn rows(mut fields: Vec<(String, Tree)>) -> Result<Tree, String> {
    let is_rows =
        fields.len() == 2 && [OFFSETS, VALUES].iter().all(|name| fields.iter().any(|f| f.0 == *name));
    if !is_rows {
        return Ok(Tree::Fields(fields));
    }
    fields.sort_by(|a, b| a.0.cmp(&b.0));
    let values = fields.remove(1).1;
    let offsets = match fields.remove(0).1 {
        Tree::Fixed(n, elem) => match *elem {
            Tree::Scalars(array) if n > 0 => crate::convert::convert(array, par_runtime::Prim::I64)?,
            _ => return Err("its offsets are not an array of integers".into()),
        },
        _ => return Err("its offsets are not an array of integers".into()),
    };
    let count = offsets.slice::<i64>().last().copied();
    let values = within(values, count).ok_or("its offsets do not fit its values")?;
    let rows = offsets.len() - 1;
    Ok(Tree::array(rows, Tree::Lists(offsets, Box::new(values))))
}

/// The elements of an array of that length; of all fields.
fn within(values: Tree, count: Option<i64>) -> Option<Tree> {
    match values {
        Tree::Fixed(n, elem) if count == Some(n as i64) => Some(*elem),
        Tree::Fields(fields) => {
            let inside = fields.into_iter().map(|(name, t)| Some((name, within(t, count)?)));
            inside.collect::<Option<_>>().map(Tree::Fields)
        }
        _ => None,
    }
}

fn array(archive: &mut Archive, at: usize, name: &str) -> Result<Tree, DataError> {
    let wrong = |message: String| DataError::new(format!("`{name}`: {message}"));
    let mut file = archive.by_index(at).map_err(|e| wrong(e.to_string()))?;
    // How long the entry is said to be need not be true.
    let regular = npy::read_from(&mut file, None).map_err(wrong)?;
    // Reading to the end also checks the sum.
    let rest =
        std::io::copy(&mut file, &mut std::io::sink()).map_err(|e| wrong(format!("cannot read: {e}")))?;
    match rest {
        0 => Ok(Tree::regular(regular)),
        _ => Err(wrong("the entry goes on after its array".into())),
    }
}

/// Writes an archive: fields by their names, components and a lone array as `arr_0`, `arr_1`, as NumPy does.
pub fn write(tree: &Tree, out: impl Write + Seek) -> Result<(), DataError> {
    let mut archive = ZipWriter::new(out);
    match tree {
        Tree::Fields(fields) => fields.iter().try_for_each(|(name, tree)| {
            let is_number = name.bytes().all(|b| b.is_ascii_digit());
            let name = if is_number { format!("arr_{name}") } else { name.clone() };
            add(&mut archive, &name, tree, &[])
        }),
        tree => add(&mut archive, "arr_0", tree, &[]),
    }?;
    archive.finish().map_err(failed)?;
    Ok(())
}

/// Adds what is called `name` inside arrays of these sizes.
fn add(
    archive: &mut ZipWriter<impl Write + Seek>,
    name: &str,
    tree: &Tree,
    dims: &[i64],
) -> Result<(), DataError> {
    match tree {
        Tree::Scalars(array) => {
            let bytes = array.bytes();
            let options = SimpleFileOptions::default().compression_method(CompressionMethod::Stored);
            let options = options.large_file(bytes.len() >= 1 << 31);
            archive.start_file(format!("{name}.npy"), options).map_err(failed)?;
            archive.write_all(&npy::header(array.prim(), dims)).and_then(|()| archive.write_all(bytes))?;
            Ok(())
        }
        Tree::Fixed(n, elem) => add(archive, name, elem, &[dims, &[*n as i64]].concat()),
        Tree::Fields(fields) => {
            fields.iter().try_for_each(|(field, tree)| add(archive, &format!("{name}.{field}"), tree, dims))
        }
        Tree::Lists(offsets, elem) if dims.len() == 1 => {
            let total = offsets.slice::<i64>().last().copied().unwrap_or(0);
            let whole = Tree::array(offsets.len(), Tree::Scalars(offsets.clone()));
            add(archive, &format!("{name}.{OFFSETS}"), &whole, &[])?;
            add(archive, &format!("{name}.{VALUES}"), elem, &[total])
        }
        Tree::Optional(..) => {
            Err(format!("`{name}` has missing values, which NumPy's formats cannot hold").into())
        }
        Tree::Lists(..) => {
            Err(format!("`{name}` has irregular rows inside regular ones, which .npz files do not").into())
        }
    }
}

fn failed(e: zip::result::ZipError) -> DataError {
    DataError::new(e.to_string())
}
