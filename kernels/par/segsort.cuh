// Segmented sort, stable, by size class: rows of up to 32 elements by a warp each, in registers; rows that fit into shared memory by a block each.
// Every kernel goes over all rows and does those of its class. Longer rows: radix passes (sort.cuh) over their elements by key, then by the
// number of the row; being stable, that leaves every row in its place, sorted.
//
// Both are bitonic networks (Batcher, 1968) over pairs of a key and where it stood, so that no two are equal.
#pragma once
#include "par/rows.cuh"

namespace par {

// An element, or what stands behind all elements.
template <class K>
struct SortItem {
    K key;
    u32 from;   // its index in the row; all ones if there is none
};

template <class K>
PAR_INLINE bool goes_after(const SortItem<K>& a, const SortItem<K>& b) {
    if (a.from == ~0u || b.from == ~0u) return a.from > b.from;
    return b.key < a.key || (!(a.key < b.key) && a.from > b.from);
}

// key(pos) -> K, ordered by <; store(to, from), once for each position of the rows with at most 32 elements: what stands at `from` belongs
// to `to`. Grid: divide_up(rows * 32, THREADS).
template <int THREADS, class K, class Rows, class Key, class Store>
PAR_INLINE void segmented_sort_warp(const Rows& rows, Key key, Store store) {
    const u64 row = (u64(blockIdx.x) * THREADS + threadIdx.x) / 32;
    if (row >= rows.rows) return;
    const u64 start = rows.offset(row), length = rows.offset(row + 1) - start;
    if (length > 32) return;
    const u32 lane = lane_index();
    SortItem<K> mine{K(), ~0u};
    if (lane < length) mine = {key(start + lane), lane};
    for (u32 size = 2; size <= 32; size *= 2)
        for (u32 d = size / 2; d > 0; d /= 2) {
            SortItem<K> other;
            Words<SortItem<K>> words = to_words(mine);
            PAR_UNROLL
            for (int i = 0; i < Words<SortItem<K>>::count; i++) words.w[i] = __shfl_xor_sync(all_lanes, words.w[i], d);
            other = from_words<SortItem<K>>(words);
            const bool ascending = (lane & size) == 0, lower = (lane & d) == 0;
            // Two places without an element are equal; either may stay.
            if (goes_after(mine, other) == (ascending == lower) && mine.from != other.from) mine = other;
        }
    if (lane < length) store(start + lane, start + mine.from);
}

// The same for rows of more than `above` and at most THREADS * ITEMS elements; THREADS * ITEMS is a power of two. Grid: rows.
template <int THREADS, int ITEMS, class K, class Rows, class Key, class Store>
PAR_INLINE void segmented_sort_block(const Rows& rows, u64 above, Key key, Store store) {
    constexpr u32 MOST = THREADS * ITEMS;
    static_assert((MOST & (MOST - 1)) == 0, "the network is for powers of two");
    PAR_SHARED(SortItem<K>, items, MOST);
    const u64 start = rows.offset(blockIdx.x), length = rows.offset(u64(blockIdx.x) + 1) - start;
    if (length <= above || length > MOST) return;
    u32 n = 2;
    while (n < length) n *= 2;
    for (u32 k = threadIdx.x; k < n; k += THREADS) items[k] = k < length ? SortItem<K>{key(start + k), k} : SortItem<K>{K(), ~0u};
    for (u32 size = 2; size <= n; size *= 2)
        for (u32 d = size / 2; d > 0; d /= 2) {
            __syncthreads();
            for (u32 pair = threadIdx.x; pair < n / 2; pair += THREADS) {
                const u32 low = pair / d * 2 * d + pair % d;
                const SortItem<K> a = items[low], b = items[low + d];
                if (goes_after(a, b) != ((low & size) == 0) || a.from == b.from) continue;
                items[low] = b;
                items[low + d] = a;
            }
        }
    __syncthreads();
    for (u32 k = threadIdx.x; k < length; k += THREADS) {
        const SortItem<K> item = items[k];
        store(start + k, start + item.from);
    }
}

}   // namespace par
