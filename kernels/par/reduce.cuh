// Reduction of one row. One launch: blocks fold chunks, the last one to finish folds their results, in order. How elements are grouped
// depends on n only, so a result is the same on every device and in every run.
#pragma once
#include "par/block.cuh"

namespace par {

// Neighbouring elements base..base+count, folded in order; thread 0 gets it. `staged` holds the tile.
template <int THREADS, int ITEMS, class Op, class Staged, class Load>
PAR_INLINE typename Op::T fold_tile(const Op& op, Staged&& staged, u64 base, u32 count, Load load) {
    using T = typename Op::T;
    in_batches<THREADS, T>(count, [&](u32 k) { return load(base + k); }, [&](u32 k, const T& v) { staged[k] = v; });
    for (u32 k = count + threadIdx.x; k < THREADS * ITEMS; k += THREADS) staged[k] = op.neutral();
    __syncthreads();
    T v = staged[threadIdx.x * ITEMS];
    PAR_UNROLL
    for (int i = 1; i < ITEMS; i++) v = op(v, T(staged[threadIdx.x * ITEMS + i]));
    return block_fold<THREADS>(op, v);
}

// The fold of low..high; thread 0 gets it. If the order does not matter, threads fold what they load.
template <int THREADS, int ITEMS, class Op, class Load>
PAR_INLINE typename Op::T fold_chunk(const Op& op, u64 low, u64 high, Load load) {
    using T = typename Op::T;
    if constexpr (Op::commutative) {
        T v = op.neutral();
        u64 pos = low + threadIdx.x;
        for (; pos + u64(ITEMS - 1) * THREADS < high; pos += THREADS * ITEMS) {
            T x[ITEMS];
            PAR_UNROLL
            for (int i = 0; i < ITEMS; i++) x[i] = load(pos + u64(i) * THREADS);
            PAR_UNROLL
            for (int i = 0; i < ITEMS; i++) v = op(v, x[i]);
        }
        for (; pos < high; pos += THREADS) v = op(v, load(pos));
        return block_fold<THREADS>(op, v);
    } else {
        PAR_SHARED(T, staged, THREADS * ITEMS);
        T v = op.neutral();
        for (u64 base = low; base < high; base += THREADS * ITEMS) {
            const u32 count = u32(smaller(high - base, u64(THREADS * ITEMS)));
            const T tile = fold_tile<THREADS, ITEMS>(op, staged, base, count, load);
            if (threadIdx.x == 0) v = op(v, tile);
            __syncthreads();
        }
        return v;
    }
}

// store(T), once, the fold of load(pos) for pos in 0..n; each is loaded once. Block b folds chunk number b of `chunk` elements; grid:
// blocks = larger(1, divide_up(n, chunk)). `chunk` must depend on n only; blocks is best below 2,000.
// `partials` has room for a T per block; `finished` is a u32 that is zero before.
template <int THREADS, int ITEMS, class Op, class Load, class Store>
PAR_INLINE void reduce(u64 n, u64 chunk, const Op& op, Load load, Store store, void* partials, u32* finished) {
    using T = typename Op::T;
    PAR_SHARED(u32, is_last, 1);
    T* const results = static_cast<T*>(partials);
    const u64 low = smaller(n, u64(blockIdx.x) * chunk), high = smaller(n, low + chunk);
    const T v = fold_chunk<THREADS, ITEMS>(op, low, high, load);
    if (threadIdx.x == 0) {
        results[blockIdx.x] = v;
        is_last[0] = add_acquire_release(finished, 1) == gridDim.x - 1;
    }
    __syncthreads();
    if (!is_last[0]) return;
    // Each thread folds neighbouring results.
    const u32 share = u32(divide_up(gridDim.x, THREADS));
    const u32 first = smaller(gridDim.x, threadIdx.x * share), end = smaller(gridDim.x, first + share);
    T mine = op.neutral();
    for (u32 b = first; b < end; b++) mine = b == first ? results[b] : op(mine, results[b]);
    const T all = block_fold<THREADS>(op, mine);
    if (threadIdx.x == 0) store(all);
}

// store(i, T) of what combines load(p * n + i) for all parts p, in their order, of which there is at least one. Grid: divide_up(n, THREADS).
template <int THREADS, class Combine, class Load, class Store>
PAR_INLINE void combine_parts(u64 n, u64 parts, Combine combine, Load load, Store store) {
    const u64 i = u64(blockIdx.x) * THREADS + threadIdx.x;
    if (i >= n) return;
    auto v = load(i);
    for (u64 p = 1; p < parts; p++) v = combine(v, load(p * n + i));
    store(i, v);
}

}   // namespace par
