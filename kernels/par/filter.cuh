// Compaction: the elements that are kept, in their order, and how many. One pass: ranks are counted bits.
#pragma once
#include "par/lookback.cuh"
#include "par/rows.cuh"

namespace par {

// Which elements of a tile are kept: bits[w] says it of elements 32w.., before[w] counts those kept before them.
// All threads call it; keeps(k) is called once for each k below `count`.
template <int THREADS, int ITEMS, class Bits, class Before, class Keeps>
PAR_INLINE u32 count_kept(Bits&& bits, Before&& before, u32 count, Keeps keeps) {
    constexpr int WORDS = THREADS * ITEMS / 32;
    static_assert(WORDS <= THREADS, "a thread counts at most one word");
    PAR_UNROLL
    for (int i = 0; i < ITEMS; i++) {
        const u32 k = i * THREADS + threadIdx.x;
        const u32 word = __ballot_sync(all_lanes, k < count && keeps(i, k));
        if (lane_index() == 0) bits[k / 32] = word;
    }
    __syncthreads();
    const u32 mine = threadIdx.x < WORDS ? __popc(bits[threadIdx.x]) : 0;
    const BlockScan<u32> words = block_scan<THREADS>(Sum<u32>{}, mine);
    if (threadIdx.x < WORDS) before[threadIdx.x] = words.before;
    __syncthreads();
    return words.total;
}

// How many of the tile's elements before k are kept.
template <class Bits, class Before>
PAR_INLINE u32 kept_before(Bits&& bits, Before&& before, u32 k) {
    return u32(before[k / 32]) + __popc(u32(bits[k / 32]) & ((1u << k % 32) - 1));
}

// What the tiles before this one kept; the last tile reports all.
PAR_INLINE u64 kept_by_earlier(const TileStates<u64>& states, u32 tile, u32 kept) {
    PAR_SHARED(u64, tile_before, 1);
    if (warp_index() == 0) {
        const u64 before = look_back(Sum<u64>{}, states, tile, u64(kept), false);
        if (lane_index() == 0) tile_before[0] = before;
    }
    __syncthreads();
    return tile_before[0];
}

// Stable partition. load(pos, V& value) -> bool, once for each pos in 0..n: whether it is kept, and what of it. Then store(i, pos, value) for
// number i of the kept ones, other(i, pos, value) for number i of the others, and total(kept), once. V is any trivially copyable type.
// Grid: tiles = divide_up(n, THREADS * ITEMS), as many tile states for u64. If n is 0 there is no launch, and total is not called.
template <int THREADS, int ITEMS, class V, class Load, class Store, class Other, class Total>
PAR_INLINE void partition(u64 n, Load load, Store store, Other other, Total total, void* state) {
    constexpr int TILE = THREADS * ITEMS;
    PAR_SHARED(u32, bits, TILE / 32);
    PAR_SHARED(u32, before, TILE / 32);
    const TileStates<u64> states{static_cast<char*>(state), u32(divide_up(n, TILE))};
    const u32 tile = states.next_tile();
    const u64 base = u64(tile) * TILE;
    const u32 count = u32(smaller(n - base, u64(TILE)));
    V values[ITEMS];
    const u32 kept = count_kept<THREADS, ITEMS>(bits, before, count, [&](int i, u32 k) { return load(base + k, values[i]); });
    const u64 earlier = kept_by_earlier(states, tile, kept);
    PAR_UNROLL
    for (int i = 0; i < ITEMS; i++) {
        const u32 k = i * THREADS + threadIdx.x;
        const u64 rank = earlier + kept_before(bits, before, k);
        if (u32(bits[k / 32]) >> k % 32 & 1) store(rank, base + k, values[i]);
        else if (k < count) other(base + k - rank, base + k, values[i]);
    }
    if (tile == states.tiles - 1 && threadIdx.x == 0) total(earlier + kept);
}

// The same without the others.
template <int THREADS, int ITEMS, class V, class Load, class Store, class Total>
PAR_INLINE void filter(u64 n, Load load, Store store, Total total, void* state) {
    partition<THREADS, ITEMS, V>(n, load, store, [](u64, u64, const V&) {}, total, state);
}

// A filter over rows, by load(row, pos, V& value); and row_end(row, kept) for every row, in no order, with the number of elements
// kept up to its end: offset row + 1 of what is kept.
// Grid: row_tiles = divide_up(rows + elements, THREADS * ITEMS), as many tile states for u64.
template <int THREADS, int ITEMS, class V, class Rows, class Load, class Store, class RowEnd, class Total>
PAR_INLINE void filter_rows(const Rows& rows, Load load, Store store, RowEnd row_end, Total total, void* state) {
    constexpr int TILE = THREADS * ITEMS;
    PAR_SHARED(u16, row_of, TILE);
    PAR_SHARED(u32, bits, TILE / 32);
    PAR_SHARED(u32, before, TILE / 32);
    const TileStates<u64> states{static_cast<char*>(state), u32(divide_up(rows.rows + rows.elements, TILE))};
    const u32 number = states.next_tile();
    const RowTile tile = row_tile<TILE>(rows, number);
    find_rows<THREADS, ITEMS>(rows, tile, row_of);
    V values[ITEMS];
    const u32 kept = count_kept<THREADS, ITEMS>(bits, before, tile.count, [&](int i, u32 k) {
        return load(tile.row + u16(row_of[k]), tile.pos + k, values[i]);
    });
    const u64 earlier = kept_by_earlier(states, number, kept);
    PAR_UNROLL
    for (int i = 0; i < ITEMS; i++) {
        const u32 k = i * THREADS + threadIdx.x;
        if (u32(bits[k / 32]) >> k % 32 & 1) store(earlier + kept_before(bits, before, k), tile.pos + k, values[i]);
    }
    for (u32 s = threadIdx.x; s < tile.ends; s += THREADS) {
        const u32 end = u32(rows.offset(tile.row + s + 1) - tile.pos);
        row_end(tile.row + s, earlier + (end == tile.count ? kept : kept_before(bits, before, end)));
    }
    if (number == states.tiles - 1 && threadIdx.x == 0) total(earlier + kept);
}

}   // namespace par
