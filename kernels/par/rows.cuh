// Rows of elements and who does which part of them.
//
// A kernel over rows works on a merged sequence: all elements, and after a row's last element the row's end. Tiles of TILE items of
// that sequence are equal shares of work whatever the rows' lengths are (merge path; Green, Merrill). Where a
// tile starts is found by one warp, in six rounds for 2^30 rows.
//
// Rows come as an object with `rows`, `elements` (how many there are), `offset(i)`, where row i starts, with offset(rows) = elements, and
// `ended(start, tile)`: how many rows have ended before item `start`, with which that tile starts. A whole warp calls that.
#pragma once
#include "par/block.cuh"

namespace par {

// Rows of one length.
struct UniformRows {
    u64 rows, m, elements;
    PAR_INLINE UniformRows(u64 rows_, u64 m_) : rows(rows_), m(m_), elements(rows_ * m_) {}
    PAR_INLINE u64 offset(u64 i) const { return i * m; }
    PAR_INLINE u64 ended(u64 start, u64) const { return start / (m + 1); }
};

// Rows as a descriptor has them: offsets: [rows + 1], from 0 to `elements`.
struct RaggedRows {
    u64 rows, elements;
    const i64* offsets;
    PAR_INLINE RaggedRows(u64 rows_, u64 elements_, const i64* offsets_) : rows(rows_), elements(elements_), offsets(offsets_) {}
    PAR_INLINE u64 offset(u64 i) const { return u64(load(offsets + i)); }
    // Whether row r has ended before item `start`.
    PAR_INLINE bool has_ended(u64 r, u64 start) const { return offset(r + 1) <= start - r - 1; }
    PAR_INLINE u64 ended(u64 start, u64) const {
        const u64 low = start > elements ? start - elements : 0;
        return warp_search(low, smaller(start, rows), [&](u64 r) { return has_ended(r, start); });
    }
};

// The same with what `split_rows` found, for tiles of the same size. It pays where many kernels work on the same rows, and where rows are so many
// that the search in every block takes longer than its tile.
struct SplitRows : RaggedRows {
    const u64* splits;
    PAR_INLINE SplitRows(u64 rows_, u64 elements_, const i64* offsets_, const u64* splits_)
        : RaggedRows(rows_, elements_, offsets_), splits(splits_) {}
    PAR_INLINE u64 ended(u64, u64 tile) const { return load(splits + tile); }
};

// splits[t] for t in 0..=tiles, a thread each. Grid: divide_up(tiles + 1, THREADS).
template <int THREADS, int TILE>
PAR_INLINE void split_rows(const RaggedRows& rows, u64* splits) {
    const u64 all = rows.rows + rows.elements, tile = u64(blockIdx.x) * THREADS + threadIdx.x;
    if (tile > divide_up(all, TILE)) return;
    const u64 start = smaller(tile * TILE, all);
    u64 low = start > rows.elements ? start - rows.elements : 0, high = smaller(start, rows.rows);
    while (low < high) {
        const u64 middle = low + (high - low) / 2;
        if (rows.has_ended(middle, start)) low = middle + 1;
        else high = middle;
    }
    store(splits + tile, low);
}

// What a tile has: `ends` row ends, the first that of `row`, and `count` elements from `pos` on.
struct RowTile {
    u64 row, pos;
    u32 ends, count;
};

// The tile with this number; all threads of the block call it, of which there must be 64 or more.
// Grid of kernels that use it: row_tiles = divide_up(rows + elements, TILE).
template <int TILE, class Rows>
PAR_INLINE RowTile row_tile(const Rows& rows, u64 tile) {
    PAR_SHARED(u64, tile_rows, 2);
    const u64 all = rows.rows + rows.elements;
    const u64 start = smaller(tile * TILE, all), end = smaller(start + TILE, all);
    if (warp_index() < 2) {
        const u64 row = rows.ended(warp_index() == 0 ? start : end, tile + warp_index());
        if (lane_index() == 0) tile_rows[warp_index()] = row;
    }
    __syncthreads();
    const u64 row = tile_rows[0], next = tile_rows[1];
    const u64 pos = start - row;
    return {row, pos, u32(next - row), u32(end - next - pos)};
}

struct LaterRow : Operator {
    using T = u32;
    static constexpr bool exact = true, commutative = true;
    PAR_INLINE u32 neutral() const { return 0; }
    PAR_INLINE u32 operator()(u32 a, u32 b) const { return larger(a, b); }
};

// Writes to `row_of[k]`, for every element k of the tile, its row less tile.row. `row_of` is a shared array of THREADS * ITEMS u16.
// Contains barriers; the table may be read when it returns.
template <int THREADS, int ITEMS, class Rows, class Table>
PAR_INLINE void find_rows(const Rows& rows, const RowTile& tile, Table&& row_of) {
    static_assert(THREADS * ITEMS <= 65536, "rows of a tile are counted in 16 bits");
    for (u32 k = threadIdx.x; k < THREADS * ITEMS; k += THREADS) row_of[k] = 0;
    __syncthreads();
    // Row number s of the tile starts where number s - 1 ends. Of those that start at one element, all but the last are empty.
    for (u32 s = threadIdx.x + 1; s <= tile.ends; s += THREADS) {
        const u64 start = rows.offset(tile.row + s) - tile.pos;
        if (start >= tile.count) continue;
        if (rows.offset(tile.row + s + 1) - tile.pos > start) row_of[start] = u16(s);
    }
    __syncthreads();
    u32 mine = 0;
    for (int i = 0; i < ITEMS; i++) mine = larger(mine, u32(u16(row_of[threadIdx.x * ITEMS + i])));
    u32 row = block_scan<THREADS>(LaterRow{}, mine).before;
    for (int i = 0; i < ITEMS; i++) {
        const u32 k = threadIdx.x * ITEMS + i;
        row = larger(row, u32(u16(row_of[k])));
        row_of[k] = u16(row);
    }
    __syncthreads();
}

// body(row, pos) for every element of rows. Grid: row_tiles.
template <int THREADS, int ITEMS, class Rows, class Body>
PAR_INLINE void map_rows(const Rows& rows, Body body) {
    PAR_SHARED(u16, row_of, THREADS * ITEMS);
    const RowTile tile = row_tile<THREADS * ITEMS>(rows, blockIdx.x);
    find_rows<THREADS, ITEMS>(rows, tile, row_of);
    for (u32 k = threadIdx.x; k < tile.count; k += THREADS) body(tile.row + u16(row_of[k]), tile.pos + k);
}

}   // namespace par
