//! Contractions and transpositions in tiles: when, and what their kernels are given.

use super::array::Array;
use super::launch::Launch;
use super::run::address;
use super::tuning;
use crate::check::RuntimeError;
use crate::cuda::{ContractTile, Schedule};
use crate::exec::device::Held;
use crate::plan::{self, Contraction, Factor, Products};
use crate::prim::Prim;

/// Cut of a contraction into blocks. Results depend on the parts only.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Cut {
    tile: ContractTile,
    is_large: bool,
    /// Steps of `k` in a part, and how many parts there are.
    part: u64,
    parts: u64,
}

impl Cut {
    /// For elements of so many bytes, if tiles pay. `may_part`: elements may be grouped as one likes, since a reduction combines them.
    fn of(sizes: &Products, bytes: usize, may_part: bool) -> Option<Cut> {
        let [rows, columns, depth] = [sizes.rows, sizes.columns, sizes.depth].map(|n| n as u64);
        let products: u64 = sizes.batch.iter().map(|n| *n as u64).product();
        let (small, large) = Schedule::tiles(bytes);
        let blocks = |tile: ContractTile| tile.count(rows, columns).checked_mul(products);
        let work = rows.saturating_mul(columns).saturating_mul(depth).saturating_mul(products);
        let places = small.count(rows, columns) * Schedule::TILE * Schedule::TILE;
        let pays = work >= tuning::CONTRACT_WORK
            && depth >= tuning::CONTRACT_DEPTH
            && rows * columns * tuning::CONTRACT_USED >= places;
        if !pays {
            return None;
        }
        if let Some(tile) = large.filter(|t| blocks(*t).is_some_and(|n| n >= tuning::CONTRACT_LARGE)) {
            return Cut::whole(tile, true, depth);
        }
        let most = depth / tuning::CONTRACT_PART;
        let parts = tuning::CONTRACT_BUSY.div_ceil(blocks(small)?).min(most);
        if !may_part || parts <= 1 {
            return Cut::whole(small, false, depth);
        }
        let part = depth.div_ceil(parts).next_multiple_of(small.depth);
        let cut = Cut { tile: small, is_large: false, part, parts: depth.div_ceil(part) };
        (part <= tuning::CONTRACT_LONGEST).then_some(cut)
    }

    fn whole(tile: ContractTile, is_large: bool, depth: u64) -> Option<Cut> {
        (depth <= tuning::CONTRACT_LONGEST).then_some(Cut { tile, is_large, part: depth, parts: 1 })
    }
}

impl Launch<'_, '_> {
    /// Does the kernel as a contraction, if it is one and large enough: true if it did. `out` has one element per result.
    pub(super) fn contract(&mut self, out: &Array) -> Result<bool, RuntimeError> {
        let Schedule::Contraction(c) = &self.kernel.schedule else { return Ok(false) };
        let Some(sizes) = c.sizes(self.captures(), self.space.rows, self.space.total) else {
            return Ok(false);
        };
        let Some(cut) = Cut::of(&sizes, c.prim.size(), c.by_row) else { return Ok(false) };
        let results = self.space_of_results(c);
        let of_parts = match cut.parts {
            1 => None,
            n => Some(self.cuda.fresh(c.prim, results.saturating_mul(n as usize), self.span)?),
        };
        let words = self.contract_words(c, &sizes, cut, of_parts.as_ref().unwrap_or(out))?;
        let products: u64 = sizes.batch.iter().map(|n| *n as u64).product();
        let blocks = cut.tile.count(sizes.rows as u64, sizes.columns as u64) * products * cut.parts;
        self.start_words(if cut.is_large { "_large_tiles" } else { "_tiles" }, blocks, &words)?;
        if let Some(of_parts) = of_parts {
            self.next_launch()?;
            let [from, to] = [&of_parts, out].map(|a| address(a, self.span));
            let words = [self.head(), &[from?, to?, results as u64, cut.parts]].concat();
            let threads = u64::from(Schedule::THREADS);
            self.start_words("_parts", (results as u64).div_ceil(threads), &words)?;
        }
        Ok(true)
    }

    fn space_of_results(&self, c: &Contraction) -> usize {
        if c.by_row { self.space.rows } else { self.space.total }
    }

    /// The members of `ContractArgument`, see `kernels/program/contract.cuh`.
    fn contract_words(
        &self,
        c: &Contraction,
        sizes: &Products,
        cut: Cut,
        out: &Array,
    ) -> Result<Vec<u64>, RuntimeError> {
        let mut words = self.head().to_vec();
        for factor in [&c.left, &c.right] {
            let side = if std::ptr::eq(factor, &c.left) { &factor.row } else { &factor.column };
            words.extend([self.element(factor, c.prim), self.value(side), self.value(&factor.depth)]);
        }
        match c.initial {
            Some(capture) => words.extend([self.captures()[capture], 0]),
            None => words.extend([0, self.words[self.captures_end()]]),
        }
        let products: usize = sizes.batch.iter().product();
        words.extend([address(out, self.span)?, sizes.rows as u64, sizes.columns as u64, sizes.depth as u64]);
        words.extend([cut.part, cut.parts, products as u64]);
        for (i, size) in sizes.batch.iter().enumerate() {
            words.extend([*size as u64, self.value(&c.left.batch[i]), self.value(&c.right.batch[i])]);
        }
        if sizes.batch.is_empty() {
            words.extend([1, 0, 0]);
        }
        Ok(words)
    }

    /// Does the kernel as a transposition, if it is one and large enough: true if it did.
    pub(super) fn transpose(&mut self, out: &Array) -> Result<bool, RuntimeError> {
        let Schedule::Transposed(from) = &self.kernel.schedule else { return Ok(false) };
        let rows = self.space.rows as u64;
        let columns = (self.space.total as u64).checked_div(rows).unwrap_or(0);
        let is_large = rows.min(columns) >= tuning::TRANSPOSE_LEAST;
        // Of a matrix that is a part of a larger one, rows are apart by more.
        if !is_large || self.value(&from.column) != rows {
            return Ok(false);
        }
        let (from, to) = (self.element(from, out.prim()), address(out, self.span)?);
        let words = [self.head(), &[from, to, rows, columns]].concat();
        let tiles = rows.div_ceil(32) * columns.div_ceil(32);
        self.start_words("_transposed", tiles, &words)?;
        Ok(true)
    }

    /// The address of a factor's first element.
    fn element(&self, factor: &Factor, prim: Prim) -> u64 {
        let offset = self.value(&factor.first).wrapping_mul(prim.size() as u64);
        self.captures()[factor.array].wrapping_add(offset)
    }

    fn value(&self, sum: &plan::Sum) -> u64 {
        sum.value(self.captures()) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::{Cut, Products};

    fn cut(batch: &[usize], rows: usize, columns: usize, depth: usize, may_part: bool) -> Option<Cut> {
        Cut::of(&Products { batch: batch.to_vec(), rows, columns, depth }, 4, may_part)
    }

    #[test]
    fn large_products_have_large_tiles() {
        assert!(cut(&[], 4096, 4096, 100, true).is_some_and(|c| c.is_large && c.parts == 1));
        assert!(cut(&[], 1024, 1024, 100, true).is_some_and(|c| !c.is_large && c.parts == 1));
    }

    #[test]
    fn small_and_narrow_products_have_none() {
        assert_eq!(cut(&[], 10, 10, 10, true), None);
        assert_eq!(cut(&[], 100_000, 1, 1000, true), None);
        assert_eq!(cut(&[1000], 3, 3, 1000, true), None);
        assert_eq!(cut(&[], 0, 100, 1000, true), None);
        assert_eq!(cut(&[], 1 << 20, 1 << 20, 1, true), None);
    }

    #[test]
    fn few_results_are_computed_in_parts_if_order_is_free() {
        assert!(
            cut(&[], 64, 64, 1 << 20, true).is_some_and(|c| c.parts > 200 && c.part * c.parts >= 1 << 20)
        );
        assert!(cut(&[], 64, 64, 1 << 20, false).is_some_and(|c| c.parts == 1));
        // The last part has some, too.
        for depth in 500..5000 {
            let c = cut(&[], 64, 64, depth, true).expect("large enough");
            assert!(c.part * (c.parts - 1) < depth as u64, "{depth}: {c:?}");
        }
    }
}
