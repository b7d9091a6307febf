//! Arrow's format for files, of which batches can be read on their own.

use super::read::{Table, failed};
use crate::DataError;
use crate::source::Source;
use arrow_buffer::{Buffer, MutableBuffer};
use arrow_ipc::convert::try_fb_to_schema;
use arrow_ipc::reader::{FileDecoder, read_footer_length};
use arrow_ipc::{Block, root_as_footer, root_as_message};
use arrow_schema::SchemaRef;
use std::io::{Read, Seek, SeekFrom};
use std::ops::Range;
use std::sync::Arc;

/// Bytes behind the footer: its length, and how files end.
const TRAILER: usize = 10;

/// Bytes before the length of a message, which older files do not have.
pub const CONTINUES: [u8; 4] = [0xff; 4];

fn damaged() -> DataError {
    DataError::new("the file is cut off or damaged")
}

/// Bytes of a file at a place that is inside of it.
pub type Get<'g> = &'g mut dyn FnMut(Range<usize>) -> Result<Buffer, DataError>;

/// Bytes of a file that is in memory.
pub fn part_of(bytes: &Buffer, at: Range<usize>) -> Result<Buffer, DataError> {
    Ok(bytes.slice_with_length(at.start, at.len()))
}

/// Bytes that are read when they are needed.
pub fn at_place(source: &mut Source, at: Range<usize>) -> Result<Buffer, DataError> {
    source.seek(SeekFrom::Start(at.start as u64))?;
    let mut bytes = MutableBuffer::from_len_zeroed(at.len());
    source.read_exact(bytes.as_slice_mut())?;
    Ok(bytes.into())
}

/// Number of bytes.
pub fn length_of(source: &Source) -> usize {
    usize::try_from(source.len()).unwrap_or(usize::MAX)
}

/// A file in Arrow's format for files. (Its own reader believes what a file says about its sizes.)
pub struct File<'g> {
    get: Get<'g>,
    length: usize,
    schema: SchemaRef,
    decoder: FileDecoder,
    batches: Vec<Block>,
}

impl<'g> File<'g> {
    /// Reads the end, where everything else is said to be, and what columns share.
    pub fn open(get: Get<'g>, length: usize) -> Result<File<'g>, DataError> {
        let end = length.checked_sub(TRAILER).ok_or_else(damaged)?;
        let trailer = get(end..length)?;
        let footer = read_footer_length(trailer[..].try_into().map_err(|_| damaged())?).map_err(failed)?;
        let bytes = get(end.checked_sub(footer).ok_or_else(damaged)?..end)?;
        let footer = root_as_footer(&bytes).map_err(failed)?;
        let schema = Arc::new(try_fb_to_schema(footer.schema().ok_or_else(damaged)?).map_err(failed)?);
        let decoder = FileDecoder::new(schema.clone(), footer.version());
        let batches = footer.recordBatches().iter().flatten().copied().collect();
        let mut file = File { get, length, schema, decoder, batches };
        for dictionary in footer.dictionaries().iter().flatten() {
            let bytes = file.bytes(dictionary, true)?;
            file.decoder.read_dictionary(dictionary, &bytes).map_err(failed)?;
        }
        Ok(file)
    }

    /// Bytes of a block, or of its head.
    fn bytes(&mut self, block: &Block, with_body: bool) -> Result<Buffer, DataError> {
        let size = |n: i64| usize::try_from(n).map_err(|_| damaged());
        let (first, head, body) =
            (size(block.offset())?, size(block.metaDataLength().into())?, size(block.bodyLength())?);
        let end = |n: usize| first.checked_add(n).filter(|end| *end <= self.length).ok_or_else(damaged);
        let (head, all) = (end(head)?, end(head.checked_add(body).ok_or_else(damaged)?)?);
        (self.get)(first..if with_body { all } else { head })
    }

    /// Number of rows of a batch, from its head.
    fn rows_of(&mut self, block: &Block) -> Result<usize, DataError> {
        let head = self.bytes(block, false)?;
        let before = if head.starts_with(&CONTINUES) { 8 } else { 4 };
        let message = root_as_message(head.get(before..).ok_or_else(damaged)?).map_err(failed)?;
        let batch = message.header_as_record_batch().ok_or_else(damaged)?;
        usize::try_from(batch.length()).map_err(|_| damaged())
    }

    /// Number of rows.
    pub fn rows(mut self) -> Result<usize, DataError> {
        let batches = std::mem::take(&mut self.batches);
        batches.iter().try_fold(0usize, |all, b| all.checked_add(self.rows_of(b)?).ok_or_else(damaged))
    }

    /// All rows, or some: then only the batches that they are in are read.
    pub fn table(mut self, of: Option<Range<usize>>) -> Result<Table, DataError> {
        let (mut found, mut first) = (Vec::new(), 0usize);
        for block in std::mem::take(&mut self.batches) {
            let own = match &of {
                None => None,
                Some(of) => {
                    let end = first.checked_add(self.rows_of(&block)?).ok_or_else(damaged)?;
                    let own = of.start.clamp(first, end) - first..of.end.clamp(first, end) - first;
                    first = end;
                    Some(own)
                }
            };
            if own.as_ref().is_some_and(Range::is_empty) {
                continue;
            }
            let bytes = self.bytes(&block, true)?;
            let batch = self.decoder.read_record_batch(&block, &bytes).map_err(failed)?;
            found.extend(batch.map(|b| match own {
                Some(own) if own.end <= b.num_rows() => Ok(b.slice(own.start, own.len())),
                _ => Ok(b),
            }));
        }
        Ok(Table { schema: self.schema, batches: Box::new(found.into_iter()) })
    }
}
