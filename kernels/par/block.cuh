// What one block does together. The functions contain barriers, so all threads must call them; between two calls of the same
// function a barrier must lie, since they use the same shared memory.
#pragma once
#include "par/warp.cuh"

namespace par {

// What comes before a thread's value in its block, and all of it.
template <class T>
struct BlockScan {
    T before, total;
};

// `v` is the thread's value; threads fold in their order.
template <int THREADS, class Op>
PAR_INLINE BlockScan<typename Op::T> block_scan(const Op& op, typename Op::T v) {
    using T = typename Op::T;
    constexpr int WARPS = THREADS / 32;
    PAR_SHARED(T, warp_totals, WARPS);
    const u32 lane = lane_index(), warp = warp_index();
    const T upto = warp_scan(op, v);
    if (lane == warp_size - 1) warp_totals[warp] = upto;
    __syncthreads();
    T before = op.neutral(), total = op.neutral();
    for (int w = 0; w < WARPS; w++) {
        const T t = warp_totals[w];
        if (w == int(warp)) before = total;
        total = w == 0 ? t : op(total, t);
    }
    const T lanes = shuffle_up(upto, 1);
    if (lane > 0) before = warp == 0 ? lanes : op(before, lanes);
    return {before, total};
}

// Thread 0 gets the fold of all threads' values, in their order.
template <int THREADS, class Op>
PAR_INLINE typename Op::T block_fold(const Op& op, typename Op::T v) {
    using T = typename Op::T;
    constexpr int WARPS = THREADS / 32;
    PAR_SHARED(T, warp_folds, WARPS);
    const T folded = warp_fold(op, v);
    if (lane_index() == 0) warp_folds[warp_index()] = folded;
    __syncthreads();
    T total = folded;
    if (threadIdx.x == 0)
        for (int w = 1; w < WARPS; w++) total = op(total, T(warp_folds[w]));
    return total;
}

// put(k, get(k)) for k in 0..count, striped over threads. A thread has several loads under way before it stores the first: with one at a
// time, too little would be in flight to use the memory's bandwidth.
template <int THREADS, class T, class Get, class Put>
PAR_INLINE void in_batches(u32 count, Get get, Put put) {
    constexpr u32 BATCH = sizeof(T) <= 8 ? 4 : 2;
    for (u32 base = threadIdx.x; base < count; base += BATCH * THREADS) {
        T values[BATCH];
        PAR_UNROLL
        for (u32 i = 0; i < BATCH; i++)
            if (base + i * THREADS < count) values[i] = get(base + i * THREADS);
        PAR_UNROLL
        for (u32 i = 0; i < BATCH; i++)
            if (base + i * THREADS < count) put(base + i * THREADS, values[i]);
    }
}

}   // namespace par
