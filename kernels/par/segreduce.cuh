// Segmented reduction: the fold of every row. Versions by the length of rows; what they give is the same bit by bit only for exact operators, so
// the choice must depend on sizes only.
#pragma once
#include "par/lookback.cuh"
#include "par/reduce.cuh"
#include "par/rows.cuh"
#include "par/segments.cuh"

namespace par {

// Any lengths, in equal shares. load(row, pos) -> T is called once for each element, and store(row, T) once for each row, empty ones
// included. ROWS: whether load looks at `row`; if not it is given 0, and the search for it is saved.
// Grid: row_tiles = divide_up(rows + elements, THREADS * ITEMS), as many tile states.
template <int THREADS, int ITEMS, bool ROWS, class Rows, class Op, class Load, class Store>
PAR_INLINE void segmented_reduce(const Rows& rows, const Op& op, Load load, Store store, void* state) {
    using T = typename Op::T;
    using S = Segment<T>;
    constexpr int TILE = THREADS * ITEMS;
    PAR_SHARED(T, values, TILE);
    PAR_SHARED(u16, row_of, ROWS ? TILE : 1);
    PAR_SHARED(u16, end_of, TILE);
    PAR_SHARED(T, tile_before, 1);
    const TileStates<T> states{static_cast<char*>(state), u32(divide_up(rows.rows + rows.elements, TILE))};
    const u32 number = states.next_tile();
    const RowTile tile = row_tile<TILE>(rows, number);
    if (ROWS) find_rows<THREADS, ITEMS>(rows, tile, row_of);
    in_batches<THREADS, T>(
        tile.count, [&](u32 k) { return load(ROWS ? tile.row + u16(row_of[k]) : u64(0), tile.pos + k); },
        [&](u32 k, const T& v) { values[k] = v; }
    );
    for (u32 s = threadIdx.x; s < tile.ends; s += THREADS) end_of[s] = u16(rows.offset(tile.row + s + 1) - tile.pos);
    __syncthreads();

    // The thread's share of the tile's merged sequence: from row s and element e on.
    const u32 all = tile.ends + tile.count;
    const u32 start = smaller(u32(threadIdx.x * ITEMS), all), end = smaller(start + ITEMS, all);
    u32 s = start > tile.count ? start - tile.count : 0, high = smaller(start, tile.ends);
    while (s < high) {
        const u32 middle = (s + high) / 2;
        if (u32(u16(end_of[middle])) <= start - middle - 1) s = middle + 1;
        else high = middle;
    }
    u32 e = start - s;
    // Rows that end here get their fold, the first of them after what comes before is known.
    T fold = op.neutral(), first_fold = op.neutral();
    u32 first_row = tile.ends;
    for (u32 item = start; item < end; item++) {
        if (s < tile.ends && u32(u16(end_of[s])) == e) {
            if (first_row == tile.ends) first_row = s, first_fold = fold;
            else store(tile.row + s, fold);
            fold = op.neutral();
            s++;
        } else {
            fold = op(fold, T(values[e]));
            e++;
        }
    }
    const bool ended = first_row < tile.ends;
    const BlockScan<S> threads = block_scan<THREADS>(Segmented<Op>(op), S{fold, ended});
    if (warp_index() == 0) {
        const T before = look_back(op, states, number, threads.total.value, threads.total.headed);
        if (lane_index() == 0) tile_before[0] = before;
    }
    __syncthreads();
    if (!ended) return;
    T before = threads.before.value;
    if (!threads.before.headed) before = op(T(tile_before[0]), before);
    store(tile.row + first_row, op(before, first_fold));
}

// Short rows of similar lengths: `group` neighbouring lanes (1, 2, 4, … 32) fold a row. Grid: divide_up(rows * group, THREADS).
template <int THREADS, class Rows, class Op, class Load, class Store>
PAR_INLINE void segmented_reduce_lanes(const Rows& rows, const Op& op, u32 group, Load load, Store store) {
    using T = typename Op::T;
    const u64 row = (u64(blockIdx.x) * THREADS + threadIdx.x) / group;
    const u32 lane = threadIdx.x % group;
    const bool exists = row < rows.rows;
    const u64 low = exists ? rows.offset(row) : 0, high = exists ? rows.offset(row + 1) : 0;
    T fold = op.neutral();
    if (Op::commutative || group == 1) {
        for (u64 pos = low + lane; pos < high; pos += group) fold = op(fold, load(row, pos));
    } else {
        const u64 share = divide_up(high - low, group);
        const u64 first = smaller(high, low + lane * share), end = smaller(high, first + share);
        for (u64 pos = first; pos < end; pos++) fold = op(fold, load(row, pos));
    }
    for (u32 d = 1; d < group; d *= 2) {
        const T after = shuffle_down(fold, d);
        if (lane + d < group) fold = op(fold, after);
    }
    if (exists && lane == 0) store(row, fold);
}

// Long rows, enough of them to keep the device busy: a block folds a row. Grid: rows.
template <int THREADS, int ITEMS, class Rows, class Op, class Load, class Store>
PAR_INLINE void segmented_reduce_block(const Rows& rows, const Op& op, Load load, Store store) {
    const u64 row = blockIdx.x;
    const typename Op::T fold =
        fold_chunk<THREADS, ITEMS>(op, rows.offset(row), rows.offset(row + 1), [&](u64 pos) { return load(row, pos); });
    if (threadIdx.x == 0) store(row, fold);
}

// Rows of one length whose elements stand in memory as those of columns do: neighbouring threads have neighbouring rows, so that they read neighbouring
// elements. A block has 32 rows; its warps fold shares of their elements, which are combined in order. If rows are too few for a device, each is cut into
// parts of `part` elements, one for a block: store(row, number of the part, T); `combine_parts` makes a fold of those.
// Grid: divide_up(rows, 32) * divide_up(m, part); at least one part.
template <int THREADS, class Op, class Load, class Store>
PAR_INLINE void segmented_reduce_columns(const UniformRows& rows, u64 part, const Op& op, Load load, Store store) {
    using T = typename Op::T;
    constexpr u32 WARPS = THREADS / 32, TOGETHER = 4;
    PAR_SHARED(T, folds, THREADS);
    const u64 groups = divide_up(rows.rows, warp_size), number = blockIdx.x / groups;
    const u64 row = blockIdx.x % groups * warp_size + lane_index();
    const u64 low = smaller(rows.m, number * part), high = smaller(rows.m, low + part), share = divide_up(high - low, WARPS);
    const u64 first = smaller(high, low + warp_index() * share), end = smaller(high, first + share);
    T fold = op.neutral();
    if (row < rows.rows) {
        const u64 start = rows.offset(row);
        u64 k = first;
        for (; k + TOGETHER <= end; k += TOGETHER) {
            T x[TOGETHER];
            PAR_UNROLL
            for (u32 i = 0; i < TOGETHER; i++) x[i] = load(row, start + k + i);
            PAR_UNROLL
            for (u32 i = 0; i < TOGETHER; i++) fold = op(fold, x[i]);
        }
        for (; k < end; k++) fold = op(fold, load(row, start + k));
    }
    folds[threadIdx.x] = fold;
    __syncthreads();
    if (warp_index() > 0 || row >= rows.rows) return;
    for (u32 w = 1; w < WARPS; w++) fold = op(fold, T(folds[w * warp_size + lane_index()]));
    store(row, number, fold);
}

}   // namespace par
