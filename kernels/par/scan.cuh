// Scan of one row, in a single pass: 2 accesses per element. Any associative operator; not necessarily commutative.
#pragma once
#include "par/block.cuh"
#include "par/lookback.cuh"

namespace par {

// load(pos) -> T is called once for each pos in 0..n, store(pos, T) once after it, with the fold of elements 0..=pos, or 0..pos
// if EXCLUSIVE. Grid: tiles = divide_up(n, THREADS * ITEMS), fewer than 2^31. ITEMS is best odd: elements change from
// striped over threads to blocked in shared memory.
template <int THREADS, int ITEMS, bool EXCLUSIVE, class Op, class Load, class Store>
PAR_INLINE void scan(u64 n, const Op& op, Load load, Store store, void* state) {
    using T = typename Op::T;
    constexpr int TILE = THREADS * ITEMS;
    PAR_SHARED(T, staged, TILE);
    PAR_SHARED(T, tile_before, 1);
    const TileStates<T> states{static_cast<char*>(state), u32(divide_up(n, TILE))};
    const u32 tile = states.next_tile();
    const u64 base = u64(tile) * TILE;
    const u32 count = u32(smaller(n - base, u64(TILE)));

    in_batches<THREADS, T>(count, [&](u32 k) { return load(base + k); }, [&](u32 k, const T& v) { staged[k] = v; });
    for (u32 k = count + threadIdx.x; k < TILE; k += THREADS) staged[k] = op.neutral();
    __syncthreads();
    T upto[ITEMS];
    PAR_UNROLL
    for (int i = 0; i < ITEMS; i++) {
        const T v = staged[threadIdx.x * ITEMS + i];
        upto[i] = i == 0 ? v : op(upto[i - 1], v);
    }
    const BlockScan<T> threads = block_scan<THREADS>(op, upto[ITEMS - 1]);
    if (warp_index() == 0) {
        const T before = look_back(op, states, tile, threads.total, false);
        if (lane_index() == 0) tile_before[0] = before;
    }
    __syncthreads();
    const T before = op(T(tile_before[0]), threads.before);
    PAR_UNROLL
    for (int i = 0; i < ITEMS; i++) {
        if (EXCLUSIVE) staged[threadIdx.x * ITEMS + i] = i == 0 ? before : op(before, upto[i - 1]);
        else staged[threadIdx.x * ITEMS + i] = op(before, upto[i]);
    }
    __syncthreads();
    in_batches<THREADS, T>(count, [&](u32 k) -> T { return staged[k]; }, [&](u32 k, const T& v) { store(base + k, v); });
}

}   // namespace par
