//! Files of which only some rows are read.

use crate::format::Format;
use crate::input::Input;
use crate::tree::Tree;
use crate::{DataError, fit, text};
use par_runtime::array::within_memory;
use par_runtime::io::npy;
use par_runtime::ranks::values::has_rows;
use par_runtime::{Prim, Value, ValueType};
use std::io::{Seek, SeekFrom};
use std::ops::Range;

impl Input<'_> {
    /// Number of bytes.
    pub fn size(&self) -> u64 {
        self.source.len()
    }

    /// True if it may hold several values, one after the other.
    pub fn is_of_several(&self) -> bool {
        matches!(self.format, Format::Text | Format::Texts | Format::Binary)
    }

    /// Number of rows, if a value of that type is so many rows which can be read on their own: of `.npy` files in C order, raw bytes, Arrow's files and Parquet.
    pub fn rows(&mut self, part: Option<&str>, ty: &ValueType) -> Option<usize> {
        if !has_rows(ty) || !self.source.is_file() {
            return None;
        }
        // Whoever reads the whole file says what is wrong with it.
        let count = self.row_count(part, ty)?;
        self.read_rows(part, ty, 0..0).ok().map(|_| count)
    }

    fn row_count(&mut self, part: Option<&str>, ty: &ValueType) -> Option<usize> {
        match (self.format, part) {
            (Format::Npy, None) => self.npy_rows().ok()?.map(|rows| rows.count()),
            (Format::Raw, None) if text::is_bytes(ty) => usize::try_from(self.source.len()).ok(),
            #[cfg(feature = "arrow")]
            (Format::Arrow(wire @ crate::format::Wire::File), _) => {
                crate::columnar::count(&mut self.source, Some(wire)).ok()
            }
            #[cfg(feature = "arrow")]
            (Format::Parquet, _) => crate::columnar::count(&mut self.source, None).ok(),
            _ => None,
        }
    }

    /// Some of the rows, as a value of which there is nothing else.
    pub fn read_rows(
        &mut self,
        part: Option<&str>,
        ty: &ValueType,
        rows: Range<usize>,
    ) -> Result<Value, DataError> {
        let start = rows.start;
        within_memory(|| self.some_rows(part, ty, rows))?.map_err(|e| match start {
            0 => e,
            _ => DataError { message: format!("{} (counted from row {start})", e.message), ..e },
        })
    }

    fn some_rows(
        &mut self,
        part: Option<&str>,
        ty: &ValueType,
        rows: Range<usize>,
    ) -> Result<Value, DataError> {
        let source = &mut self.source;
        let tree = match self.format {
            Format::Npy => {
                let all = self.npy_rows()?.ok_or("the .npy file has no rows")?;
                self.source.seek(SeekFrom::Start(all.place(rows.start)))?;
                Tree::regular(all.read(rows.len(), &mut self.source)?)
            }
            Format::Raw => {
                source.rewind()?;
                source.seek(SeekFrom::Start(rows.start as u64))?;
                return text::raw_of(
                    par_runtime::io::stream::read_array(Prim::U8, rows.len(), source, Some(u64::MAX))?,
                    ty,
                );
            }
            #[cfg(feature = "arrow")]
            Format::Arrow(wire) => crate::columnar::read(source, Some(wire), part, ty, Some(rows))?,
            #[cfg(feature = "arrow")]
            Format::Parquet => crate::columnar::read(source, None, part, ty, Some(rows))?,
            _ => return self.read(part, ty),
        };
        Ok(fit(tree, ty)?)
    }

    fn npy_rows(&mut self) -> Result<Option<npy::Rows>, DataError> {
        self.source.rewind()?;
        let length = self.source.len();
        Ok(npy::rows(&mut self.source, length)?)
    }
}
