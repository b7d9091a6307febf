// Flood: every position learns the nearest position at or before it where something is present. What is there is then read by index,
// if it is needed at all, so that values of any type cost nothing here.
//
// One pass: in a tile, presence is bits; across tiles, look-back, where a tile with anything present publishes its end at once, so
// that a step goes no further than the nearest such tile.
#pragma once
#include "par/block.cuh"
#include "par/lookback.cuh"

namespace par {

struct LastPresent : Operator {
    using T = i64;
    static constexpr bool exact = true, commutative = true;
    PAR_INLINE i64 neutral() const { return -1; }
    PAR_INLINE i64 operator()(i64 a, i64 b) const { return larger(a, b); }
};

// present(pos) -> bool, once for each pos in 0..n; then store(pos, source), where source is the last position up to and with pos at which
// something is present, or -1. Grid: tiles = divide_up(n, THREADS * ITEMS), as many tile states for i64.
template <int THREADS, int ITEMS, class Present, class Store>
PAR_INLINE void flood(u64 n, Present present, Store store, void* state) {
    constexpr int TILE = THREADS * ITEMS, WORDS = TILE / 32;
    static_assert(WORDS <= THREADS, "a thread looks at no more than one word");
    PAR_SHARED(u32, bits, WORDS);
    PAR_SHARED(i64, source_before, WORDS);
    PAR_SHARED(i64, tile_before, 1);
    const TileStates<i64> states{static_cast<char*>(state), u32(divide_up(n, TILE))};
    const u32 tile = states.next_tile();
    const u64 base = u64(tile) * TILE;
    const u32 count = u32(smaller(n - base, u64(TILE)));
    bool there[ITEMS];
    PAR_UNROLL
    for (u32 i = 0; i < ITEMS; i++) there[i] = i * THREADS + threadIdx.x < count && present(base + i * THREADS + threadIdx.x);
    PAR_UNROLL
    for (u32 i = 0; i < ITEMS; i++) {
        const u32 word = __ballot_sync(all_lanes, there[i]);
        if (lane_index() == 0) bits[(i * THREADS + threadIdx.x) / 32] = word;
    }
    __syncthreads();
    const u32 mine = threadIdx.x < WORDS ? u32(bits[threadIdx.x]) : 0;
    const i64 last = mine ? i64(base + threadIdx.x * 32 + (31 - __clz(int(mine)))) : -1;
    const BlockScan<i64> words = block_scan<THREADS>(LastPresent{}, last);
    if (threadIdx.x < WORDS) source_before[threadIdx.x] = words.before;
    if (warp_index() == 0) {
        const i64 before = look_back(LastPresent{}, states, tile, words.total, words.total >= 0);
        if (lane_index() == 0) tile_before[0] = before;
    }
    __syncthreads();
    const i64 carried = tile_before[0];
    for (u32 k = threadIdx.x; k < count; k += THREADS) {
        const u32 upto = u32(bits[k / 32]) & (all_lanes >> (31 - k % 32));
        const i64 inside = upto ? i64(base + k / 32 * 32 + (31 - __clz(int(upto)))) : i64(source_before[k / 32]);
        store(base + k, inside >= 0 ? inside : carried);
    }
}

}   // namespace par
