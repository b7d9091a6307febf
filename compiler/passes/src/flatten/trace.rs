//! Traces. At the root level the columns are as they are; at any other level the values of all positions are one array,
//! and nothing is shown if there is no position.
//!
//! ```text
//! trace "a.par:1:2" (k, xs): []i32            -- at a level of n positions
//!
//! if n > 0 { d = make_desc ks  trace "a.par:1:2" (n, d, xs): [][]i32 }
//! ```

use super::nest::LevelId;
use super::pack::DimRep;
use super::{Flattener, Result};
use par_ir::Atom;
use par_ir::flat::{Block, Op};
use par_runtime::ValueType;
use par_runtime::trace::rows_type;

impl Flattener<'_> {
    pub fn trace(&mut self, level: LevelId, label: &str, ty: &ValueType, args: &[Atom]) -> Result {
        if self.shapes.is_root(level) {
            let args = self.canonical(level, args);
            self.builder.emit(vec![], Op::Trace { label: label.to_string(), ty: ty.clone(), args });
            return Ok(());
        }
        let n = self.count(level);
        let cond = self.any(n);
        let span = self.builder.span;
        let then = self.block(|f| {
            let mut columns = vec![n];
            f.trace_columns(level, ty, &mut args.iter().copied(), &mut Vec::new(), &mut columns);
            f.at(span);
            f.builder.emit(vec![], Op::Trace { label: label.to_string(), ty: rows_type(ty), args: columns });
            Ok(vec![])
        })?;
        self.builder.emit(vec![], Op::If { cond, versions: None, then, other: Block::default() });
        Ok(())
    }

    /// The columns of a value below the dimensions `above`, over all positions. A size becomes a descriptor.
    fn trace_columns(
        &mut self,
        level: LevelId,
        ty: &ValueType,
        args: &mut dyn Iterator<Item = Atom>,
        above: &mut Vec<DimRep>,
        out: &mut Vec<Atom>,
    ) {
        match ty {
            ValueType::Prim(_) => {
                let column: Vec<Atom> = args.next().into_iter().collect();
                out.extend(self.canonical(level, &column));
            }
            ValueType::Tuple(ts) => ts.iter().for_each(|t| self.trace_columns(level, t, args, above, out)),
            ValueType::Record(fs) => {
                fs.iter().for_each(|(_, t)| self.trace_columns(level, t, args, above, out))
            }
            ValueType::Sum(cs) => {
                self.trace_columns(
                    level,
                    &ValueType::Prim(par_ir::Prim::of_constructors(cs.len())),
                    args,
                    above,
                    out,
                );
                for t in cs.iter().flat_map(|(_, ts)| ts) {
                    self.trace_columns(level, t, args, above, out);
                }
            }
            ValueType::Opaque { of, .. } => self.trace_columns(level, of, args, above, out),
            ValueType::Array { ragged, elem, .. } => {
                let size = args.next().expect("as many columns as the type has");
                above.push(if *ragged {
                    out.extend(self.canonical(level, &[size]));
                    DimRep::Desc(self.arr(size.var().expect("a descriptor is a variable")))
                } else {
                    let size = self.ex(size);
                    let rows = self.enter_dims(level, above.clone()).last().copied().unwrap_or(level);
                    out.push(self.desc_for(&size, rows).into());
                    DimRep::Width(size)
                });
                self.trace_columns(level, elem, args, above, out);
                above.pop();
            }
        }
    }
}
