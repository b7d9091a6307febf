// Histograms: values with a bin each are combined by bin. Three ways:
//
// - few bins, any operator: every warp has bins of its own in shared memory and does neighbouring elements in order; the tables are
//   combined in order, so the result is the same in every run (histogram_private, then a segmented reduction);
// - an atomic operation on one word: tables in shared memory by block if there are few bins, else in global memory (histogram_atomic);
// - an exact operator on any type, many bins: a lock for each bin (histogram_locked).
//
// Many bins and an operator that is not exact: a stable sort by bin (sort.cuh), offsets of bins (bin_offsets), a segmented reduction.
#pragma once
#include "par/block.cuh"

namespace par {

// Bins of one warp. Lanes with equal bins take turns in their order.
template <class Op, class Table>
PAR_INLINE void update_in_order(const Op& op, Table&& table, u32 offset, u32 bin, bool inside, const typename Op::T& v) {
    using T = typename Op::T;
    const u32 same = __match_any_sync(all_lanes, inside ? bin : all_lanes);
    const u32 turn = inside ? __popc(same & lanes_before()) : 0;
    for (u32 now = 0; __any_sync(all_lanes, inside && turn >= now); now++) {
        if (inside && turn == now) {
            const T old = table[offset + bin];
            table[offset + bin] = op(old, v);
        }
        __syncwarp();
    }
}

// load(pos, i64& bin) -> T, once for each pos in 0..n; elements whose bin is not in 0..bins are left out. Writes
// partials[bin * blocks + block] for all bins and blocks. Block b does chunk number b of `chunk` elements, which must depend on n and bins
// only. Grid: blocks = divide_up(n, chunk). Dynamic shared memory: THREADS / 32 * bins values of T.
//
// Afterwards, segmented_reduce_lanes over UniformRows(bins, blocks) combines the partials, and its store the result with what was there.
template <int THREADS, class Op, class Load>
PAR_INLINE void histogram_private(u64 n, u32 bins, u64 chunk, const Op& op, Load load, typename Op::T* partials) {
    using T = typename Op::T;
    constexpr u32 WARPS = THREADS / 32;
    PAR_DYNAMIC_SHARED(T, tables);
    for (u32 i = threadIdx.x; i < WARPS * bins; i += THREADS) tables[i] = op.neutral();
    __syncthreads();
    const u64 low = smaller(n, u64(blockIdx.x) * chunk), high = smaller(n, low + chunk);
    const u64 share = divide_up(divide_up(high - low, WARPS), 32) * 32;
    const u64 first = smaller(high, low + warp_index() * share), end = smaller(high, first + share);
    for (u64 base = first; base < end; base += 32) {
        const u64 pos = base + lane_index();
        i64 bin = -1;
        T v = op.neutral();
        if (pos < end) v = load(pos, bin);
        update_in_order(op, tables, warp_index() * bins, u32(bin), u64(bin) < bins, v);
    }
    __syncthreads();
    for (u32 bin = threadIdx.x; bin < bins; bin += THREADS) {
        T v = tables[bin];
        for (u32 w = 1; w < WARPS; w++) v = op(v, T(tables[w * bins + bin]));
        par::store(partials + u64(bin) * gridDim.x + blockIdx.x, v);
    }
}

// update(bin, value) for every pos = start, start + step, …, below n whose bin is in 0..bins; ITEMS loads are under way at a time.
template <int ITEMS, class T, class Load, class Update>
PAR_INLINE void each_with_bin(u64 start, u64 n, u64 step, u64 bins, Load load, Update update) {
    for (u64 base = start; base < n; base += ITEMS * step) {
        T values[ITEMS];
        i64 targets[ITEMS];
        PAR_UNROLL
        for (int i = 0; i < ITEMS; i++) {
            targets[i] = -1;
            if (base + i * step < n) values[i] = load(base + i * step, targets[i]);
        }
        PAR_UNROLL
        for (int i = 0; i < ITEMS; i++)
            if (u64(targets[i]) < bins) update(targets[i], values[i]);
    }
}

// The operator has, besides, `void update(P p, T v)`, an atomic operation on the word at p: global memory or shared. SHARED: with tables of
// blocks in dynamic shared memory, bins values of T, which are added to `bins_at` in the end.
// Grid: any number of blocks; divide_up(n, THREADS * ITEMS) at most.
template <int THREADS, int ITEMS, bool SHARED, class Op, class Load>
PAR_INLINE void histogram_atomic(u64 n, u32 bins, const Op& op, Load load, typename Op::T* bins_at) {
    using T = typename Op::T;
    const u64 step = u64(gridDim.x) * THREADS;
    const u64 start = u64(blockIdx.x) * THREADS + threadIdx.x;
    if constexpr (SHARED) {
        PAR_DYNAMIC_SHARED(T, table);
        for (u32 i = threadIdx.x; i < bins; i += THREADS) table[i] = op.neutral();
        __syncthreads();
        each_with_bin<ITEMS, T>(start, n, step, bins, load, [&](i64 bin, const T& v) { op.update(&table[bin], v); });
        __syncthreads();
        for (u32 i = threadIdx.x; i < bins; i += THREADS) op.update(bins_at + i, T(table[i]));
    } else {
        each_with_bin<ITEMS, T>(start, n, step, bins, load, [&](i64 bin, const T& v) { op.update(bins_at + bin, v); });
    }
}

// combine(bin, pos) for every pos in 0..n whose bin(pos) is in 0..bins, with no other of that bin at the same time, in any order. `locks`: a u32
// for each of `stripes` locks, zero before; bin b has lock b % stripes. Grid: divide_up(n, THREADS).
template <int THREADS, class Bin, class Combine>
PAR_INLINE void histogram_locked(u64 n, u64 bins, Bin bin, Combine combine, u32* locks, u32 stripes) {
    const u64 pos = u64(blockIdx.x) * THREADS + threadIdx.x;
    const u64 target = pos < n ? u64(bin(pos)) : bins;
    bool waits = target < bins;
    u32* const lock = locks + (waits ? target % stripes : 0);
    // Lanes that lost try again together with the others, so that the one that won can go on whatever order lanes run in.
    while (__any_sync(all_lanes, waits)) {
        if (waits && try_lock(lock)) {
            combine(target, pos);
            unlock(lock);
            waits = false;
        }
        spin_pause();
    }
}

// offsets[b] = how many of the n sorted bins are below b, for b in 0..=bins: where bins start. Grid: divide_up(bins + 1, THREADS).
template <int THREADS, class Sorted>
PAR_INLINE void bin_offsets(u64 n, u64 bins, Sorted sorted, i64* offsets) {
    const u64 b = u64(blockIdx.x) * THREADS + threadIdx.x;
    if (b > bins) return;
    u64 low = 0, high = n;
    while (low < high) {
        const u64 middle = low + (high - low) / 2;
        if (u64(sorted(middle)) < b) low = middle + 1;
        else high = middle;
    }
    store(offsets + b, i64(low));
}

}   // namespace par
