// Gather and scatter: each thread has ITEMS accesses under way at a time, since they go anywhere.
#pragma once
#include "par/base.cuh"

namespace par {

// store(pos, load(index(pos))) for pos in 0..n. Grid: divide_up(n, THREADS * ITEMS).
template <int THREADS, int ITEMS, class T, class Index, class Load, class Store>
PAR_INLINE void gather(u64 n, Index index, Load load, Store store) {
    const u64 base = u64(blockIdx.x) * (THREADS * ITEMS) + threadIdx.x;
    T values[ITEMS];
    PAR_UNROLL
    for (int i = 0; i < ITEMS; i++)
        if (base + u64(i) * THREADS < n) values[i] = load(index(base + u64(i) * THREADS));
    PAR_UNROLL
    for (int i = 0; i < ITEMS; i++)
        if (base + u64(i) * THREADS < n) store(base + u64(i) * THREADS, values[i]);
}

// store(index(pos), pos) for the positions whose index is in 0..length; of several with one index, any may be last.
// Grid: divide_up(n, THREADS * ITEMS).
template <int THREADS, int ITEMS, class Index, class Store>
PAR_INLINE void scatter(u64 n, u64 length, Index index, Store store) {
    const u64 base = u64(blockIdx.x) * (THREADS * ITEMS) + threadIdx.x;
    i64 targets[ITEMS];
    PAR_UNROLL
    for (int i = 0; i < ITEMS; i++) targets[i] = base + u64(i) * THREADS < n ? index(base + u64(i) * THREADS) : -1;
    PAR_UNROLL
    for (int i = 0; i < ITEMS; i++)
        if (u64(targets[i]) < length) store(u64(targets[i]), base + u64(i) * THREADS);
}

// Of several positions with one index the last is to win: the first launch elects it, winners[i] = its position + 1 (zero before),
// the second stores what it has. Grid of both: divide_up(n, THREADS * ITEMS).
template <int THREADS, int ITEMS, class Index>
PAR_INLINE void scatter_elect(u64 n, u64 length, Index index, u64* winners) {
    scatter<THREADS, ITEMS>(n, length, index, [=](u64 target, u64 pos) { atomicMax(winners + target, pos + 1); });
}
template <int THREADS, int ITEMS, class Index, class Store>
PAR_INLINE void scatter_elected(u64 n, u64 length, Index index, Store store, const u64* winners) {
    scatter<THREADS, ITEMS>(n, length, index, [=](u64 target, u64 pos) {
        if (load(winners + target) == pos + 1) store(target, pos);
    });
}

}   // namespace par
