// What one warp does together: folds and scans of one value per lane, and searches. All lanes must take part.
#pragma once
#include "par/base.cuh"

namespace par {

// Lane i gets the fold of lanes 0..=i.
template <class Op>
PAR_INLINE typename Op::T warp_scan(const Op& op, typename Op::T v) {
    const u32 lane = lane_index();
    PAR_UNROLL
    for (u32 d = 1; d < warp_size; d *= 2) {
        typename Op::T before = shuffle_up(v, d);
        if (lane >= d) v = op(before, v);
    }
    return v;
}

// Lane 0 gets the fold of all lanes, in their order; the others get part of it.
template <class Op>
PAR_INLINE typename Op::T warp_fold(const Op& op, typename Op::T v) {
    const u32 lane = lane_index();
    PAR_UNROLL
    for (u32 d = 1; d < warp_size; d *= 2) {
        typename Op::T after = shuffle_down(v, d);
        if (lane + d < warp_size) v = op(v, after);
    }
    return v;
}

// The same with lanes in the opposite order: the highest lane's value comes first.
template <class Op>
PAR_INLINE typename Op::T warp_fold_reversed(const Op& op, typename Op::T v) {
    const u32 lane = lane_index();
    PAR_UNROLL
    for (u32 d = 1; d < warp_size; d *= 2) {
        typename Op::T before = shuffle_down(v, d);
        if (lane + d < warp_size) v = op(before, v);
    }
    return v;
}

// The first i of low..high for which `before(i)` is false, `high` if there is none; true must come before false. Each round
// divides the range by 32: six rounds for 2^30.
template <class Before>
PAR_INLINE u64 warp_search(u64 low, u64 high, Before before) {
    const u32 lane = lane_index();
    while (low < high) {
        const u64 step = (high - low + warp_size - 1) / warp_size;
        const u64 probe = low + lane * step + (step - 1);
        const bool passed = probe < high && before(probe);
        const u32 buckets = __popc(__ballot_sync(all_lanes, passed));
        low += buckets * step;
        high = smaller(high, low + (step - 1));
    }
    return low;
}

}   // namespace par
