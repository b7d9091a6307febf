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

// The same value in all threads: that of thread 0.
template <class T>
PAR_INLINE T block_broadcast(T v) {
    PAR_SHARED(T, broadcast, 1);
    __syncthreads();
    if (threadIdx.x == 0) broadcast[0] = v;
    __syncthreads();
    return broadcast[0];
}

}   // namespace par
