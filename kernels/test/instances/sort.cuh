#pragma once
#include "test/instances/operators.cuh"
#include "par/histogram.cuh"
#include "par/segreduce.cuh"
#include "par/segsort.cuh"
#include "par/sort.cuh"

PAR_KERNEL void __launch_bounds__(256) sort_count_u32(const par::u32* keys, par::u64 n, par::u64* counts) {
    par::radix_count<4>(n, [=](par::u64 i) { return par::load(keys + i); }, counts);
}
PAR_KERNEL void __launch_bounds__(256) sort_count_i64(const par::i64* keys, par::u64 n, par::u64* counts) {
    par::radix_count<8>(n, [=](par::u64 i) { return par::sortable(par::load(keys + i)); }, counts);
}
PAR_KERNEL void __launch_bounds__(256) sort_offsets(par::u64* counts) { par::radix_offsets(counts); }

// Pairs of a key and a position. In the first pass the position is the element's own.
// registers: 80
PAR_KERNEL void __launch_bounds__(256) sort_pass_u32(
    const par::u32* keys, const par::u32* values, par::u32* keys_out, par::u32* values_out, par::u64 n, par::u32 pass,
    const par::u64* offsets, void* state
) {
    using namespace par;
    radix_pass<9, u32, u32>(
        n, int(pass),
        [=](u64 i, u32& key, u32& value) {
            key = load(keys + i);
            value = pass == 0 ? u32(i) : load(values + i);
        },
        [=](u64 to, u32 key, u32 value) {
            store(keys_out + to, key);
            store(values_out + to, value);
        },
        offsets, state
    );
}
// registers: 80
PAR_KERNEL void __launch_bounds__(256) sort_pass_i64(
    const par::i64* keys, const par::u64* values, par::i64* keys_out, par::u64* values_out, par::u64 n, par::u32 pass,
    const par::u64* offsets, void* state
) {
    using namespace par;
    radix_pass<7, u64, u64>(
        n, int(pass),
        [=](u64 i, u64& key, u64& value) {
            key = sortable(load(keys + i));
            value = pass == 0 ? i : load(values + i);
        },
        [=](u64 to, u64 key, u64 value) {
            store(keys_out + to, i64(key ^ 0x8000000000000000ull));
            store(values_out + to, value);
        },
        offsets, state
    );
}

// Rows: each element's place gets the position of what belongs there.
PAR_KERNEL void __launch_bounds__(128) segsort_warp_f32(
    const float* keys, par::u32* from, par::u64 rows, par::u64 n, const par::i64* offsets
) {
    using namespace par;
    segmented_sort_warp<128, u32>(
        RaggedRows(rows, n, offsets), [=](u64 i) { return sortable(load(keys + i)); }, [=](u64 to, u64 i) { store(from + to, u32(i)); }
    );
}
PAR_KERNEL void __launch_bounds__(128) segsort_block_f32(
    const float* keys, par::u32* from, par::u64 rows, par::u64 n, const par::i64* offsets
) {
    using namespace par;
    segmented_sort_block<128, 8, u32>(
        RaggedRows(rows, n, offsets), 32, [=](u64 i) { return sortable(load(keys + i)); }, [=](u64 to, u64 i) { store(from + to, u32(i)); }
    );
}

// The rest of a histogram by sorting: where bins start, and the values of each combined in order.
PAR_KERNEL void __launch_bounds__(128) sorted_offsets(const par::u32* sorted, par::u64 n, par::u64 bins, par::i64* offsets) {
    par::bin_offsets<128>(n, bins, [=](par::u64 i) { return par::load(sorted + i); }, offsets);
}
PAR_KERNEL void __launch_bounds__(128) sorted_sums_f32(
    const float* in, const par::u32* positions, float* out, par::u64 bins, par::u64 n, const par::i64* offsets, void* state
) {
    using namespace par;
    segmented_reduce<128, 11, false>(
        RaggedRows(bins, n, offsets), test::SumF32{}, [=](u64, u64 i) { return load(in + load(positions + i)); },
        [=](u64 bin, float v) { store(out + bin, load(out + bin) + v); }, state
    );
}

PAR_EXPORT(sort_count_u32)
PAR_EXPORT(sort_count_i64)
PAR_EXPORT(sort_offsets)
PAR_EXPORT(sort_pass_u32)
PAR_EXPORT(sort_pass_i64)
PAR_EXPORT(segsort_warp_f32)
PAR_EXPORT(segsort_block_f32)
PAR_EXPORT(sorted_offsets)
PAR_EXPORT(sorted_sums_f32)
