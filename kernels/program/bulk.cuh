// Bulk operations that have no body: one module for all programs. Arguments are structs of 8-byte members, as for
// generated kernels.
#pragma once
#include "program/program.cuh"

namespace par {

constexpr int bulk_threads = 256, bulk_items = 4, bulk_tile_items = 7;

// A sum of row lengths, which stops at the largest number.
struct SizeSum : Operator {
    using T = i64;
    static constexpr bool exact = true, commutative = true;
    PAR_INLINE i64 neutral() const { return 0; }
    PAR_INLINE i64 operator()(i64 a, i64 b) const {
        constexpr i64 most = 0x7fffffffffffffffll;
        return b > most - a ? most : a + b;
    }
};

// Notes how long the longest row is, in a word that is zero before; `mine` is the longest that this thread has seen. All threads of a warp call it.
PAR_INLINE void note_longest(u64* longest, u64 mine) {
    PAR_UNROLL
    for (int d = 16; d > 0; d /= 2) mine = larger(mine, shuffle_down(mine, d));
    if (lane_index() == 0 && mine > load_relaxed(longest)) atomicMax(longest, mine);
}

// Makes a failure one before all launches, so that launches whose numbers were used before do nothing after it.
struct BulkSettle {
    Failure* record;
};
PAR_KERNEL void bulk_settle(PAR_ARGUMENT BulkSettle k) {
    if (threadIdx.x == 0 && load_relaxed(&k.record->launch) != ~u64(0)) store_relaxed(&k.record->launch, u64(0));
}
PAR_EXPORT(bulk_settle)

struct BulkIota {
    i64* to;
    u64 n;
};
PAR_KERNEL void bulk_iota(PAR_ARGUMENT BulkIota k) {
    map<bulk_threads, bulk_items>(k.n, [&](u64 i) { store(&k.to[i], i64(i)); });
}
PAR_EXPORT(bulk_iota)

struct BulkFill {
    void* to;
    u64 n, value;
};
template <class T>
PAR_INLINE void bulk_fill(const BulkFill& k) {
    T* const to = static_cast<T*>(k.to);
    map<bulk_threads, bulk_items>(k.n, [&](u64 i) { store(&to[i], T(k.value)); });
}
PAR_KERNELS_OF_SIZES(bulk_fill, BulkFill)

struct BulkMultiples {
    i64* to;
    u64 n, m;
};
PAR_KERNEL void bulk_multiples(PAR_ARGUMENT BulkMultiples k) {
    map<bulk_threads, bulk_items>(k.n, [&](u64 i) { store(&k.to[i], i64(i * k.m)); });
}
PAR_EXPORT(bulk_multiples)

struct BulkDifferences {
    i64* to;
    u64 rows;
    const i64* offsets;
};
PAR_KERNEL void bulk_differences(PAR_ARGUMENT BulkDifferences k) {
    map<bulk_threads, bulk_items>(k.rows, [&](u64 i) { store(&k.to[i], load(&k.offsets[i + 1]) - load(&k.offsets[i])); });
}
PAR_EXPORT(bulk_differences)

struct BulkAppend {
    i64* to;
    u64 rows;
    const i64* from;
    u64* longest;
};
PAR_KERNEL void bulk_append_offsets(PAR_ARGUMENT BulkAppend k) {
    const i64 before = load(&k.to[0]);
    u64 longest = 0;
    map<bulk_threads, bulk_items>(k.rows, [&](u64 i) {
        const i64 end = load(&k.from[i + 1]);
        longest = larger(longest, u64(end - load(&k.from[i])));
        store(&k.to[i + 1], SizeSum()(before, end));
    });
    note_longest(k.longest, longest);
}
PAR_EXPORT(bulk_append_offsets)

struct BulkOffsets {
    i64* to;
    u64 rows;
    const i64* lengths;
    u64* longest;
    void* state;
};
PAR_KERNEL void bulk_offsets(PAR_ARGUMENT BulkOffsets k) {
    u64 longest = 0;
    scan<bulk_threads, bulk_tile_items, false>(
        k.rows, SizeSum(),
        [&](u64 i) {
            const i64 length = larger(load(&k.lengths[i]), i64(0));
            longest = larger(longest, u64(length));
            return length;
        },
        [&](u64 i, i64 sum) { store(&k.to[i + 1], sum); }, k.state
    );
    note_longest(k.longest, longest);
}
PAR_EXPORT(bulk_offsets)

struct BulkRowsOf {
    i64* to;
    u64 rows, total;
    const i64* offsets;
};
PAR_KERNEL void bulk_rows_of(PAR_ARGUMENT BulkRowsOf k) {
    map_rows<bulk_threads, bulk_tile_items>(
        RaggedRows(k.rows, k.total, k.offsets), [&](u64 row, u64 pos) { store(&k.to[pos], i64(row)); }
    );
}
PAR_EXPORT(bulk_rows_of)

struct BulkGatherRows {
    void* to;
    u64 rows, total;
    const i64* offsets;
    const i64* from;
};
template <class T>
PAR_INLINE void bulk_gather_rows(const BulkGatherRows& k) {
    T* const to = static_cast<T*>(k.to);
    map_rows<bulk_threads, bulk_tile_items>(RaggedRows(k.rows, k.total, k.offsets), [&](u64 row, u64 pos) {
        const i64 at = load(&k.from[row]) + i64(pos) - load(&k.offsets[row]);
        store(&to[pos], load(reinterpret_cast<const T*>(at * i64(sizeof(T)))));
    });
}
PAR_KERNELS_OF_SIZES(bulk_gather_rows, BulkGatherRows)

}   // namespace par
