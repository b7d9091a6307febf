//! Reading columns, row by row.

use super::cell::{Numbers, is_number, numbers, shown};
use super::layout::{Cell, Columns, Content, Layout};
use crate::DataError;
use crate::format::Header;
use crate::missing::spread;
use crate::source::Source;
use crate::tree::Tree;
use csv::{ByteRecord, Reader, ReaderBuilder};
use par_runtime::{Array, Prim, ValueType};

/// Bytes in which the separator is looked for.
const START: usize = 1 << 16;

/// The rows of a file.
struct Rows<'s, 'a> {
    reader: Reader<&'s mut Source<'a>>,
    /// Lines end with two characters, of which the reader takes the second for the beginning of the next row.
    two: bool,
}

impl Rows<'_, '_> {
    /// Reads the next row: its line, if there is one.
    fn next(&mut self, record: &mut ByteRecord) -> Result<Option<u64>, DataError> {
        let there = self.reader.read_byte_record(record).map_err(failed)?;
        let line = record.position().map_or(0, csv::Position::line);
        let is_first = record.position().is_none_or(|p| p.byte() == 0);
        Ok(there.then_some(line + u64::from(self.two && !is_first)))
    }
}

fn open<'s, 'a>(source: &'s mut Source<'a>, tabs: bool) -> Result<Rows<'s, 'a>, DataError> {
    let start = source.start(START)?;
    let two = start.iter().position(|b| *b == b'\n').is_some_and(|at| at > 0 && start[at - 1] == b'\r');
    let delimiter = if tabs { b'\t' } else { delimiter(&start) };
    let mut builder = ReaderBuilder::new();
    builder.has_headers(false).flexible(true).delimiter(delimiter).buffer_capacity(1 << 16);
    Ok(Rows { reader: builder.from_reader(source), two })
}

/// The comma, unless the first line has none but semicolons.
fn delimiter(start: &[u8]) -> u8 {
    let line = start.split(|b| *b == b'\n').next().unwrap_or(start);
    if line.contains(&b';') && !line.contains(&b',') { b';' } else { b',' }
}

/// The cells of the first row, which may be the names of the columns.
pub fn names(source: &mut Source, tabs: bool) -> Result<Vec<String>, DataError> {
    let mut record = ByteRecord::new();
    open(source, tabs)?.next(&mut record)?;
    Ok(strings(&record))
}

fn strings(record: &ByteRecord) -> Vec<String> {
    let text = |(i, cell): (usize, &[u8])| {
        let cell = if i == 0 { cell.strip_prefix(b"\xef\xbb\xbf").unwrap_or(cell) } else { cell };
        String::from_utf8_lossy(cell.trim_ascii()).into_owned()
    };
    record.iter().enumerate().map(text).collect()
}

fn failed(e: csv::Error) -> DataError {
    DataError::new(format!("cannot read: {e}"))
}

/// Reads the columns that the type asks for, or the column `part`.
pub fn read(
    source: &mut Source,
    (tabs, header): (bool, Header),
    part: Option<&str>,
    ty: &ValueType,
) -> Result<Tree, DataError> {
    let layout = Layout::of(ty)?;
    let mut rows = open(source, tabs)?;
    let mut first = ByteRecord::new();
    let any = rows.next(&mut first)?.is_some();
    let names = strings(&first);
    let is_header = any && is_header(&layout.columns, header, part, &names);
    if let (Columns::Matrix { elem, ragged }, None) = (&layout.columns, part) {
        let first = (any && !is_header).then_some(first);
        return matrix(&mut rows, first, *elem, *ragged);
    }
    let mut table = Table::new(&layout, part, is_header.then_some(&names), names.len(), ty)?;
    if any && !is_header {
        table.add(1, &first)?;
    }
    let mut record = first;
    while let Some(line) = rows.next(&mut record)? {
        table.add(line, &record)?;
    }
    table.finish(layout.one_row)
}

/// True if the first row has names. Names that are asked for must be there; where nobody asks, a row in which a number should stand and
/// does not is one of names, and so is the first row of texts.
fn is_header(columns: &Columns, header: Header, part: Option<&str>, first: &[String]) -> bool {
    let is = |text: &String, cell: &Cell| match cell.content {
        _ if cell.optional && is_missing(text.as_bytes(), cell.content) => !text.is_empty(),
        // A number that does not fit is no name.
        Content::Number(prim) => [prim, Prim::F64].iter().any(|p| is_number(text.as_bytes(), *p)),
        Content::Row(_) => text.starts_with('['),
        Content::Text => false,
    };
    match header {
        Header::Yes => true,
        Header::No => false,
        Header::Auto if part.is_some_and(|p| first.iter().any(|n| n == p)) => true,
        Header::Auto => match columns {
            Columns::Named(_) => true,
            Columns::One(cell) => !first.iter().all(|text| is(text, cell)),
            Columns::All(cells) => !first.iter().zip(cells).any(|(text, cell)| is(text, cell)),
            Columns::Matrix { elem, .. } => {
                let cell = Cell { content: Content::Number(*elem), optional: false };
                // A row without elements has no names either.
                first.iter().any(|text| !text.is_empty()) && !first.iter().any(|text| is(text, &cell))
            }
        },
    }
}

/// True if a cell has nothing: it is empty, or says so in a word that is no value. Every other text is one.
fn is_missing(text: &[u8], content: Content) -> bool {
    let words: &[&[u8]] = match content {
        Content::Text => &[b""],
        Content::Number(_) | Content::Row(_) => &[b"", b"NA", b"N/A", b"null", b"NULL", b"None"],
    };
    words.contains(&text.trim_ascii())
}

/// A column that is read.
struct Column {
    name: String,
    /// Its number in the file.
    index: usize,
    content: Content,
    /// Values of the cells, where they have something.
    cells: Cells,
    /// For each row, true if its cell has something; `None` if all must.
    present: Option<Vec<bool>>,
}

enum Cells {
    Numbers(Box<dyn Numbers>),
    Texts { offsets: Vec<i64>, bytes: Vec<u8> },
    Rows { offsets: Vec<i64>, values: Box<dyn Numbers> },
}

struct Table {
    columns: Vec<Column>,
    rows: usize,
    /// Cells that every row must have.
    width: usize,
}

impl Table {
    fn new(
        layout: &Layout,
        part: Option<&str>,
        names: Option<&Vec<String>>,
        width: usize,
        ty: &ValueType,
    ) -> Result<Table, DataError> {
        let none = Vec::new();
        let known = names.unwrap_or(&none);
        let listing = || match names {
            Some(names) => crate::input::listing(names.iter().map(String::as_str)),
            None => format!("{width} columns without names"),
        };
        let find = |name: &str| {
            let by_name = known.iter().position(|n| n == name);
            let by_number = || name.parse().ok().filter(|i| *i < width);
            let found = by_name.or_else(by_number);
            found.ok_or_else(|| {
                DataError::new(format!("there is no column `{name}`: the file has {}", listing()))
            })
        };
        let name_of = |i: usize| known.get(i).cloned().unwrap_or_else(|| i.to_string());
        let mut columns = Vec::new();
        match (&layout.columns, part) {
            (Columns::One(cell), Some(part)) => columns.push(Column::new(part, find(part)?, *cell)),
            (_, Some(part)) => return Err(format!("a column like `{part}` cannot be read as {ty}").into()),
            (Columns::Named(wanted), None) => {
                for (name, cell) in wanted {
                    columns.push(Column::new(name, find(name)?, *cell));
                }
            }
            (Columns::All(cells), None) if cells.len() == width || width == 0 => {
                let all = cells.iter().enumerate();
                columns.extend(all.map(|(i, cell)| Column::new(&name_of(i), i, *cell)));
            }
            (Columns::One(cell), None) if width <= 1 => columns.push(Column::new(&name_of(0), 0, *cell)),
            (Columns::One(_), None) => {
                return Err(format!("the file has {}: choose one with FILE#NAME", listing()).into());
            }
            (Columns::All(cells), None) => {
                return Err(
                    format!("{} columns are expected, but the file has {}", cells.len(), listing()).into()
                );
            }
            (Columns::Matrix { .. }, None) => unreachable!("matrices are read in another way"),
        }
        Ok(Table { columns, rows: 0, width })
    }

    fn add(&mut self, line: u64, record: &ByteRecord) -> Result<(), DataError> {
        if record.len() != self.width {
            let message = format!("the row has {} cells, but the first one has {}", record.len(), self.width);
            return Err(DataError::in_line(line, message));
        }
        for column in &mut self.columns {
            let text = record.get(column.index).unwrap_or_default();
            let added = column.push(text);
            added.map_err(|message| {
                DataError::in_line(line, format!("column `{}`: {message}", column.name))
            })?;
        }
        self.rows += 1;
        Ok(())
    }

    fn finish(self, one_row: bool) -> Result<Tree, DataError> {
        if one_row && self.rows != 1 {
            return Err(format!("one row is expected, but the file has {}", self.rows).into());
        }
        let rows = self.rows;
        let wrap = |tree| if one_row { tree } else { Tree::array(rows, tree) };
        let fields = self.columns.into_iter().map(|c| {
            let name = c.name.clone();
            Ok((name, wrap(c.finish()?)))
        });
        Ok(Tree::Fields(fields.collect::<Result<_, DataError>>()?))
    }
}

impl Column {
    fn new(name: &str, index: usize, cell: Cell) -> Column {
        let Cell { content, optional } = cell;
        let cells = match content {
            Content::Number(prim) => Cells::Numbers(numbers(prim)),
            Content::Text => Cells::Texts { offsets: vec![0], bytes: Vec::new() },
            Content::Row(prim) => Cells::Rows { offsets: vec![0], values: numbers(prim) },
        };
        let present = optional.then(Vec::new);
        Column { name: shown(name.as_bytes()), index, content, cells, present }
    }

    fn push(&mut self, text: &[u8]) -> Result<(), String> {
        if let Some(present) = &mut self.present {
            let there = !is_missing(text, self.content);
            present.push(there);
            if !there {
                return Ok(());
            }
        }
        self.cells.push(text)
    }

    fn finish(self) -> Result<Tree, DataError> {
        let values = self.cells.finish();
        let Some(present) = self.present else { return Ok(values) };
        let all = spread(values, &present).map_err(|e| e.to_string())?;
        Ok(Tree::Optional(Array::from_slice(&present), Box::new(all)))
    }
}

impl Cells {
    fn push(&mut self, text: &[u8]) -> Result<(), String> {
        match self {
            Cells::Numbers(numbers) => numbers.push(text),
            Cells::Texts { offsets, bytes } => {
                bytes.extend_from_slice(text);
                offsets.push(bytes.len() as i64);
                Ok(())
            }
            Cells::Rows { offsets, values } => {
                let inside = text.trim_ascii().strip_prefix(b"[").and_then(|t| t.strip_suffix(b"]"));
                let inside =
                    inside.ok_or_else(|| format!("`{}` is no row of numbers as in [1, 2]", shown(text)))?;
                let mut parts = inside.split(|b| *b == b',').filter(|_| !inside.trim_ascii().is_empty());
                parts.try_for_each(|part| values.push(part))?;
                offsets.push(values.len() as i64);
                Ok(())
            }
        }
    }

    fn finish(self) -> Tree {
        match self {
            Cells::Numbers(numbers) => Tree::Scalars(numbers.finish()),
            Cells::Texts { offsets, bytes } => Tree::texts(&offsets, &bytes),
            Cells::Rows { offsets, values } => {
                Tree::Lists(Array::from_slice(&offsets), Box::new(Tree::Scalars(values.finish())))
            }
        }
    }
}

/// All cells. An irregular matrix has rows of any length; a line without anything is no row.
fn matrix(rows: &mut Rows, first: Option<ByteRecord>, elem: Prim, ragged: bool) -> Result<Tree, DataError> {
    let mut values = numbers(elem);
    let mut offsets = vec![0i64];
    let mut add = |line: u64, record: &ByteRecord| {
        // A lone empty cell is a row without elements.
        let is_empty = record.len() == 1 && record.get(0).is_some_and(|c| c.trim_ascii().is_empty());
        let cells = record.iter().enumerate().filter(|_| !(ragged && is_empty));
        for (i, text) in cells {
            let added = values.push(text);
            added.map_err(|message| DataError::in_line(line, format!("column {}: {message}", i + 1)))?;
        }
        let length = |offsets: &[i64], i: usize| offsets[i + 1] - offsets[i];
        offsets.push(values.len() as i64);
        let row = offsets.len() - 2;
        let (found, wanted) = (length(&offsets, row), length(&offsets, 0));
        match ragged || found == wanted {
            true => Ok(()),
            false => Err(DataError::in_line(
                line,
                format!("the row has {found} cells, but the first one has {wanted}"),
            )),
        }
    };
    if let Some(first) = &first {
        add(1, first)?;
    }
    let mut record = ByteRecord::new();
    while let Some(line) = rows.next(&mut record)? {
        add(line, &record)?;
    }
    let rows = offsets.len() - 1;
    let values = Tree::Scalars(values.finish());
    let width = offsets.get(1).copied().unwrap_or(0) as usize;
    Ok(Tree::array(
        rows,
        match ragged {
            true => Tree::Lists(Array::from_slice(&offsets), Box::new(values)),
            false => Tree::array(width, values),
        },
    ))
}
