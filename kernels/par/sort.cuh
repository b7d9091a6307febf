// Radix sort by digits of 8 bits, the least significant first, each in a single pass over the data (onesweep; Adinets and Merrill, 2022):
// all digits are counted in one launch before; in a pass, tiles find where their elements of each digit go by look-back, one thread per digit.
// Stable. Keys are unsigned; `sortable` makes such of other numbers.
//
//     radix_count      counts[pass][digit], zero before
//     radix_offsets    in place: where each digit starts
//     radix_pass       once per digit, from one pair of arrays to the other; a digit that all keys share can be left out
#pragma once
#include "par/block.cuh"

namespace par {

constexpr int RADIX = 256;

PAR_INLINE u32 sortable(u32 x) { return x; }
PAR_INLINE u64 sortable(u64 x) { return x; }
PAR_INLINE u32 sortable(i32 x) { return u32(x) ^ 0x80000000u; }
PAR_INLINE u64 sortable(i64 x) { return u64(x) ^ 0x8000000000000000ull; }
// Floats in IEEE's total order: negative numbers by all bits flipped.
PAR_INLINE u32 sortable(f32 x) {
    const u32 bits = __float_as_uint(x);
    return bits ^ (bits >> 31 ? 0xffffffffu : 0x80000000u);
}
PAR_INLINE u64 sortable(f64 x) {
    const u64 bits = u64(__double_as_longlong(x));
    return bits ^ (bits >> 63 ? ~0ull : 0x8000000000000000ull);
}

template <class K>
PAR_INLINE u32 digit_of(K key, int pass) {
    return u32(key >> (8 * pass)) & (RADIX - 1);
}

// Adds to counts[pass * 256 + digit] for the lowest PASSES digits of key(pos), pos in 0..n. 256 threads. Grid: any number of
// blocks, divide_up(n, 256) at most, and so many that each has fewer than 2^32 elements.
template <int PASSES, class Key>
PAR_INLINE void radix_count(u64 n, Key key, u64* counts) {
    PAR_SHARED(u32, local, PASSES * RADIX);
    for (u32 i = threadIdx.x; i < PASSES * RADIX; i += RADIX) local[i] = 0;
    __syncthreads();
    const u64 step = u64(gridDim.x) * RADIX;
    for (u64 pos = u64(blockIdx.x) * RADIX + threadIdx.x; pos < n; pos += 4 * step) {
        decltype(key(pos)) keys[4];
        PAR_UNROLL
        for (int i = 0; i < 4; i++)
            if (pos + i * step < n) keys[i] = key(pos + i * step);
        PAR_UNROLL
        for (int i = 0; i < 4; i++)
            for (int p = 0; pos + i * step < n && p < PASSES; p++) atomicAdd(&local[p * RADIX + digit_of(keys[i], p)], 1u);
    }
    __syncthreads();
    for (u32 i = threadIdx.x; i < PASSES * RADIX; i += RADIX)
        if (u32(local[i]) > 0) atomicAdd(counts + i, u64(u32(local[i])));
}

// Counts become offsets. 256 threads. Grid: one block per pass.
PAR_INLINE void radix_offsets(u64* counts) {
    u64* const of_pass = counts + blockIdx.x * RADIX;
    of_pass[threadIdx.x] = block_scan<RADIX>(Sum<u64>{}, of_pass[threadIdx.x]).before;
}

// How many elements before this tile have the thread's digit. A state is the count, and in its lowest two bits the status.
PAR_INLINE u64 digit_look_back(u64* states, u32 tile, u64 mine) {
    const u32 digit = threadIdx.x;
    store_relaxed(states + u64(tile) * RADIX + digit, mine << 2 | (tile == 0 ? 2 : 1));
    u64 before = 0;
    for (u32 t = tile; t > 0;) {
        const u64 state = load_relaxed(states + u64(t - 1) * RADIX + digit);
        if ((state & 3) == 0) {
            spin_pause();
            continue;
        }
        before += state >> 2;
        if ((state & 3) == 2) break;
        t--;
    }
    if (tile > 0) store_relaxed(states + u64(tile) * RADIX + digit, (before + mine) << 2 | 2);
    return before;
}

// The rank of each of the thread's elements among those of its digit in its warp, stably; warp_counts[warp][digit] gets how many there are.
// Element i of lane l is number i * 32 + l of its warp.
template <int ITEMS, class K, class Counts>
PAR_INLINE void rank_in_warp(const K (&keys)[ITEMS], int pass, u32 count, Counts&& warp_counts, u32 (&ranks)[ITEMS]) {
    const u32 warp = warp_index();
    PAR_UNROLL
    for (int i = 0; i < ITEMS; i++) {
        const bool exists = (warp * ITEMS + i) * 32 + lane_index() < count;
        const u32 digit = digit_of(keys[i], pass);
        const u32 same = __match_any_sync(all_lanes, exists ? digit : RADIX);
        const u32 before = u16(warp_counts[warp * (RADIX + 1) + (exists ? digit : RADIX)]);
        ranks[i] = before + __popc(same & lanes_before());
        __syncwarp();
        if (exists && (same & lanes_before()) == 0) warp_counts[warp * (RADIX + 1) + digit] = u16(before + __popc(same));
        __syncwarp();
    }
}

// One pass. load(pos, K& key, V& value), once for each pos in 0..n; store(to, key, value) once for each. `offsets` are those of the pass.
// 256 threads. `state`: 64 + tiles * 2048 bytes, zero before. Grid: tiles = divide_up(n, 256 * ITEMS).
// Shared memory: 256 * ITEMS keys and values, and 8 KB.
template <int ITEMS, class K, class V, class Load, class Store>
PAR_INLINE void radix_pass(u64 n, int pass, Load load, Store store, const u64* offsets, void* state) {
    constexpr int TILE = RADIX * ITEMS, WARPS = RADIX / 32;
    PAR_SHARED(u16, warp_counts, WARPS * (RADIX + 1));
    PAR_SHARED(u32, tile_starts, RADIX);
    PAR_SHARED(u64, targets, RADIX);
    PAR_SHARED(K, staged_keys, TILE);
    PAR_SHARED(V, staged_values, TILE);
    PAR_SHARED(u32, ticket, 1);
    if (threadIdx.x == 0) ticket[0] = atomicAdd(static_cast<u32*>(state), 1u);
    for (u32 i = threadIdx.x; i < WARPS * (RADIX + 1); i += RADIX) warp_counts[i] = 0;
    __syncthreads();
    const u32 tile = ticket[0];
    const u64 base = u64(tile) * TILE;
    const u32 count = u32(smaller(n - base, u64(TILE)));

    K keys[ITEMS];
    V values[ITEMS];
    u32 ranks[ITEMS];
    PAR_UNROLL
    for (int i = 0; i < ITEMS; i++) {
        const u32 k = (warp_index() * ITEMS + i) * 32 + lane_index();
        keys[i] = 0;
        if (k < count) load(base + k, keys[i], values[i]);
    }
    rank_in_warp(keys, pass, count, warp_counts, ranks);
    __syncthreads();

    // The thread's digit: where it starts in the warps, in the tile, in the result.
    const u32 digit = threadIdx.x;
    u32 all = 0;
    for (u32 w = 0; w < WARPS; w++) {
        const u32 c = u16(warp_counts[w * (RADIX + 1) + digit]);
        warp_counts[w * (RADIX + 1) + digit] = u16(all);
        all += c;
    }
    const u32 start = block_scan<RADIX>(Sum<u32>{}, all).before;
    tile_starts[digit] = start;
    targets[digit] = offsets[digit] + digit_look_back(reinterpret_cast<u64*>(static_cast<char*>(state) + 64), tile, all) - start;
    __syncthreads();

    PAR_UNROLL
    for (int i = 0; i < ITEMS; i++) {
        const u32 d = digit_of(keys[i], pass);
        if ((warp_index() * ITEMS + i) * 32 + lane_index() >= count) continue;
        const u32 at = u32(tile_starts[d]) + u16(warp_counts[warp_index() * (RADIX + 1) + d]) + ranks[i];
        staged_keys[at] = keys[i];
        staged_values[at] = values[i];
    }
    __syncthreads();
    for (u32 k = threadIdx.x; k < count; k += RADIX) {
        const K key = staged_keys[k];
        store(u64(targets[digit_of(key, pass)]) + k, key, V(staged_values[k]));
    }
}

}   // namespace par
