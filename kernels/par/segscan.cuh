// Segmented scan: the scan of every row. One pass over merge-path tiles; heads come from the offsets. A tile in which a row starts
// publishes its end at once, so that look-back goes no further than the row.
#pragma once
#include "par/lookback.cuh"
#include "par/rows.cuh"
#include "par/segments.cuh"

namespace par {

// load(row, pos) -> T is called once for each element, then store(row, pos, T) with the fold of its row's elements up to and with it,
// or before it if EXCLUSIVE. Grid: row_tiles = divide_up(rows + elements, THREADS * ITEMS), as many tile states.
template <int THREADS, int ITEMS, bool EXCLUSIVE, class Rows, class Op, class Load, class Store>
PAR_INLINE void segmented_scan(const Rows& rows, const Op& op, Load load, Store store, void* state) {
    using T = typename Op::T;
    using S = Segment<T>;
    constexpr int TILE = THREADS * ITEMS;
    PAR_SHARED(T, staged, TILE);
    PAR_SHARED(u16, row_of, TILE);
    PAR_SHARED(T, tile_before, 1);
    const TileStates<T> states{static_cast<char*>(state), u32(divide_up(rows.rows + rows.elements, TILE))};
    const u32 number = states.next_tile();
    const RowTile tile = row_tile<TILE>(rows, number);
    find_rows<THREADS, ITEMS>(rows, tile, row_of);
    // A row that starts with the tile's first element has no mark of its own in the table.
    const bool starts = tile.count > 0 && rows.offset(tile.row) == tile.pos;

    in_batches<THREADS, T>(
        tile.count, [&](u32 k) { return load(tile.row + u16(row_of[k]), tile.pos + k); }, [&](u32 k, const T& v) { staged[k] = v; }
    );
    for (u32 k = tile.count + threadIdx.x; k < TILE; k += THREADS) staged[k] = op.neutral();
    __syncthreads();

    const Segmented<Op> segmented(op);
    const u32 first = threadIdx.x * ITEMS;
    S upto[ITEMS];
    u32 heads = 0;
    u32 row_before = first == 0 ? 0 : u32(u16(row_of[first - 1]));
    PAR_UNROLL
    for (int i = 0; i < ITEMS; i++) {
        const u32 row = u16(row_of[first + i]);
        const bool head = first + i < tile.count && (row != row_before || (starts && first + i == 0));
        const S v{staged[first + i], head};
        upto[i] = i == 0 ? v : segmented(upto[i - 1], v);
        heads |= u32(head) << i;
        row_before = row;
    }
    const BlockScan<S> threads = block_scan<THREADS>(segmented, upto[ITEMS - 1]);
    if (warp_index() == 0) {
        // If the tile ends with the end of a row, what comes next has nothing before it.
        const bool whole = tile.ends > 0 && rows.offset(tile.row + tile.ends) == tile.pos + tile.count;
        const T aggregate = whole ? op.neutral() : threads.total.value;
        const T before = look_back(op, states, number, aggregate, tile.ends > 0 || threads.total.headed);
        if (lane_index() == 0) tile_before[0] = before;
    }
    __syncthreads();
    T before = threads.before.value;
    if (!threads.before.headed) before = op(T(tile_before[0]), before);
    PAR_UNROLL
    for (int i = 0; i < ITEMS; i++) {
        T v;
        if (EXCLUSIVE && heads >> i & 1) v = op.neutral();
        else if (EXCLUSIVE && i == 0) v = before;
        else {
            const S& s = upto[EXCLUSIVE && i > 0 ? i - 1 : i];
            v = s.headed ? s.value : op(before, s.value);
        }
        staged[first + i] = v;
    }
    __syncthreads();
    in_batches<THREADS, T>(
        tile.count, [&](u32 k) -> T { return staged[k]; },
        [&](u32 k, const T& v) { store(tile.row + u16(row_of[k]), tile.pos + k, v); }
    );
}

}   // namespace par
