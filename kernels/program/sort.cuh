// Sorting rows, as bulk operations: keys become unsigned numbers in the same order, widened to 64 bits, and with the place of each they are sorted
// by the digits that they have, then by the digits of their rows' numbers. Being stable, that leaves every row in its place, sorted. Where all rows are short, a warp or a block
// sorts each. What the order applies to is gathered.
#pragma once
#include "par/histogram.cuh"
#include "par/segsort.cuh"
#include "par/sort.cuh"
#include "program/program.cuh"

namespace par {

constexpr int sort_threads = 256, sort_items = 7, sort_passes = 8, sort_short_items = 4;

// Kinds of keys.
constexpr u64 sort_unsigned = 0, sort_signed = 1;   // else floats

// An unsigned number in the order of keys: of floats both zeros are equal, and every NaN is the largest.
template <class T>
PAR_INLINE T sort_number(T bits, u64 kind) {
    constexpr T sign = T(T(1) << (8 * sizeof(T) - 1));
    constexpr int fraction = sizeof(T) == 8 ? 52 : sizeof(T) == 4 ? 23 : sizeof(T) == 2 ? 10 : 3;
    constexpr T infinity = T(T(T(sign - 1) >> fraction) << fraction);
    if (kind == sort_unsigned) return bits;
    if (kind == sort_signed) return T(bits ^ sign);
    const T magnitude = T(bits & T(sign - 1));
    if (magnitude > infinity) return T(~T(0));
    if (magnitude == 0 || !(bits & sign)) return T(magnitude | sign);
    return T(~bits);
}

struct BulkSortBegin {
    u64* keys;
    i64* order;
    u64 n;
    const void* from;
    u64 kind;
};
template <class T>
PAR_INLINE void bulk_sort_begin(const BulkSortBegin& k) {
    const T* const from = static_cast<const T*>(k.from);
    map<sort_threads, 4>(k.n, [&](u64 i) {
        store(&k.keys[i], u64(sort_number(load(&from[i]), k.kind)));
        store(&k.order[i], i64(i));
    });
}
PAR_KERNELS_OF_SIZES(bulk_sort_begin, BulkSortBegin)

struct BulkSortCount {
    u64* counts;
    u64 n;
    const u64* keys;
};
PAR_KERNEL void bulk_sort_count(PAR_ARGUMENT BulkSortCount k) {
    radix_count<sort_passes>(k.n, [&](u64 i) { return load(&k.keys[i]); }, k.counts);
}
PAR_EXPORT(bulk_sort_count)

struct BulkSortOffsets {
    u64* counts;
};
PAR_KERNEL void bulk_sort_offsets(PAR_ARGUMENT BulkSortOffsets k) { radix_offsets(k.counts); }
PAR_EXPORT(bulk_sort_offsets)

struct BulkSortPass {
    u64* keys;
    i64* order;
    u64 n;
    const u64* from_keys;
    const i64* from_order;
    u64 pass;
    const u64* offsets;
    void* state;
};
PAR_KERNEL void bulk_sort_pass(PAR_ARGUMENT BulkSortPass k) {
    radix_pass<sort_items, u64, i64>(
        k.n, int(k.pass),
        [&](u64 i, u64& key, i64& place) {
            key = load(&k.from_keys[i]);
            place = load(&k.from_order[i]);
        },
        [&](u64 to, u64 key, i64 place) {
            store(&k.keys[to], key);
            store(&k.order[to], place);
        },
        k.offsets, k.state
    );
}
PAR_EXPORT(bulk_sort_pass)

struct BulkGather {
    void* to;
    u64 n;
    const void* from;
    const i64* order;
};
template <class T>
PAR_INLINE void bulk_gather(const BulkGather& k) {
    T* const to = static_cast<T*>(k.to);
    const T* const from = static_cast<const T*>(k.from);
    map<sort_threads, 4>(k.n, [&](u64 i) { store(&to[i], load(&from[load(&k.order[i])])); });
}
PAR_KERNELS_OF_SIZES(bulk_gather, BulkGather)

// Rows of at most 32 elements, and longer ones of at most sort_threads * sort_short_items.
struct BulkSortShort {
    i64* order;
    u64 rows, n;
    const i64* offsets;
    const void* keys;
    u64 kind;
};
template <class T>
PAR_INLINE void bulk_sort_warp(const BulkSortShort& k) {
    const T* const keys = static_cast<const T*>(k.keys);
    segmented_sort_warp<sort_threads, T>(
        RaggedRows(k.rows, k.n, k.offsets), [&](u64 pos) { return sort_number(load(&keys[pos]), k.kind); },
        [&](u64 to, u64 from) { store(&k.order[to], i64(from)); }
    );
}
PAR_KERNELS_OF_SIZES(bulk_sort_warp, BulkSortShort)
template <class T>
PAR_INLINE void bulk_sort_block(const BulkSortShort& k) {
    const T* const keys = static_cast<const T*>(k.keys);
    segmented_sort_block<sort_threads, sort_short_items, T>(
        RaggedRows(k.rows, k.n, k.offsets), 32, [&](u64 pos) { return sort_number(load(&keys[pos]), k.kind); },
        [&](u64 to, u64 from) { store(&k.order[to], i64(from)); }
    );
}
PAR_KERNELS_OF_SIZES(bulk_sort_block, BulkSortShort)

struct BulkSortStarts {
    i64* starts;
    u64 count, n;
    const u64* keys;
};
PAR_KERNEL void bulk_sort_starts(PAR_ARGUMENT BulkSortStarts k) {
    bin_offsets<sort_threads>(k.n, k.count, [&](u64 i) { return load(&k.keys[i]); }, k.starts);
}
PAR_EXPORT(bulk_sort_starts)

}   // namespace par
