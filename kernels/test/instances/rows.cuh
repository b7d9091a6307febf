#pragma once
#include "test/instances/operators.cuh"
#include "par/filter.cuh"
#include "par/map.cuh"
#include "par/reduce.cuh"
#include "par/segreduce.cuh"
#include "par/segscan.cuh"

// Kernels take a descriptor as (rows, elements, offsets), or rows of one length as (rows, m).

PAR_KERNEL void __launch_bounds__(256) map_f32(const float* in, float* out, par::u64 n, float factor) {
    par::map<256, 4>(n, [=](par::u64 i) { par::store(out + i, par::load(in + i) * factor); });
}
PAR_KERNEL void __launch_bounds__(128) map_uniform(par::i64* out, par::u64 rows, par::u64 m) {
    par::map_rows_uniform<128, 4>(rows, m, [=](par::u64 row, par::u64 pos) { par::store(out + pos, par::i64(row << 32 | (pos - row * m))); });
}
PAR_KERNEL void __launch_bounds__(128) map_ragged(par::i64* out, par::u64 rows, par::u64 n, const par::i64* offsets) {
    par::map_rows<128, 7>(par::RaggedRows(rows, n, offsets), [=](par::u64 row, par::u64 pos) {
        par::store(out + pos, par::i64(row << 32 | (pos - par::u64(par::load(offsets + row)))));
    });
}

PAR_KERNEL void __launch_bounds__(256) reduce_i64(
    const par::i64* in, par::i64* out, par::u64 n, par::u64 chunk, void* partials, par::u32* finished
) {
    par::reduce<256, 8>(
        n, chunk, test::SumI64{}, [=](par::u64 i) { return par::load(in + i); }, [=](par::i64 v) { par::store(out, v); }, partials, finished
    );
}
PAR_KERNEL void __launch_bounds__(256) reduce_f32(
    const float* in, float* out, par::u64 n, par::u64 chunk, void* partials, par::u32* finished
) {
    par::reduce<256, 15>(
        n, chunk, test::SumF32{}, [=](par::u64 i) { return par::load(in + i); }, [=](float v) { par::store(out, v); }, partials, finished
    );
}
PAR_KERNEL void __launch_bounds__(128) reduce_matrix2(
    const test::Matrix2* in, test::Matrix2* out, par::u64 n, par::u64 chunk, void* partials, par::u32* finished
) {
    using test::Matrix2;
    par::reduce<128, 5>(
        n, chunk, test::Product<2>{}, [=](par::u64 i) { return par::load(in + i); }, [=](const Matrix2& v) { par::store(out, v); }, partials,
        finished
    );
}

namespace test {
// Loads look at the row, and store a second result for each element.
template <int THREADS, int ITEMS, class Rows, class Op, class T>
PAR_INLINE void reduce_rows(const Rows& rows, const Op& op, const T* in, T* out, i64* row_of, void* state) {
    segmented_reduce<THREADS, ITEMS, true>(
        rows, op,
        [=](u64 row, u64 pos) {
            store(row_of + pos, i64(row));
            return load(in + pos);
        },
        [=](u64 row, const T& v) { store(out + row, v); }, state
    );
}
template <int THREADS, int ITEMS, class Rows, class Op, class T>
PAR_INLINE void reduce_elements(const Rows& rows, const Op& op, const T* in, T* out, void* state) {
    segmented_reduce<THREADS, ITEMS, false>(
        rows, op, [=](u64, u64 pos) { return load(in + pos); }, [=](u64 row, const T& v) { store(out + row, v); }, state
    );
}
template <int THREADS, int GROUP, class Rows, class Op, class T>
PAR_INLINE void reduce_lanes(const Rows& rows, const Op& op, const T* in, T* out) {
    segmented_reduce_lanes<THREADS>(
        rows, op, GROUP, [=](u64, u64 pos) { return load(in + pos); }, [=](u64 row, const T& v) { store(out + row, v); }
    );
}
template <int THREADS, int ITEMS, bool EXCLUSIVE, class Rows, class Op, class T>
PAR_INLINE void scan_rows(const Rows& rows, const Op& op, const T* in, T* out, void* state) {
    segmented_scan<THREADS, ITEMS, EXCLUSIVE>(
        rows, op, [=](u64, u64 pos) { return load(in + pos); }, [=](u64, u64 pos, const T& v) { store(out + pos, v); }, state
    );
}
}   // namespace test

PAR_KERNEL void __launch_bounds__(128) segreduce_i32(
    const int* in, int* out, par::i64* row_of, par::u64 rows, par::u64 n, const par::i64* offsets, void* state
) {
    test::reduce_rows<128, 11>(par::RaggedRows(rows, n, offsets), test::SumI32{}, in, out, row_of, state);
}
PAR_KERNEL void __launch_bounds__(128) segreduce_f32(
    const float* in, float* out, par::u64 rows, par::u64 n, const par::i64* offsets, void* state
) {
    test::reduce_elements<128, 11>(par::RaggedRows(rows, n, offsets), test::SumF32{}, in, out, state);
}
PAR_KERNEL void __launch_bounds__(64) segreduce_matrix2(
    const test::Matrix2* in, test::Matrix2* out, par::i64* row_of, par::u64 rows, par::u64 n, const par::i64* offsets, void* state
) {
    test::reduce_rows<64, 5>(par::RaggedRows(rows, n, offsets), test::Product<2>{}, in, out, row_of, state);
}
PAR_KERNEL void __launch_bounds__(128) segreduce_uniform_i32(
    const int* in, int* out, par::i64* row_of, par::u64 rows, par::u64 m, void* state
) {
    test::reduce_rows<128, 7>(par::UniformRows(rows, m), test::SumI32{}, in, out, row_of, state);
}
PAR_KERNEL void __launch_bounds__(128) segreduce_thread_affine(
    const test::Affine* in, test::Affine* out, par::u64 rows, par::u64 n, const par::i64* offsets
) {
    test::reduce_lanes<128, 1>(par::RaggedRows(rows, n, offsets), test::Compose{}, in, out);
}
PAR_KERNEL void __launch_bounds__(128) segreduce_group_affine(
    const test::Affine* in, test::Affine* out, par::u64 rows, par::u64 n, const par::i64* offsets
) {
    test::reduce_lanes<128, 8>(par::RaggedRows(rows, n, offsets), test::Compose{}, in, out);
}
PAR_KERNEL void __launch_bounds__(128) segreduce_warp_i32(const int* in, int* out, par::u64 rows, par::u64 n, const par::i64* offsets) {
    test::reduce_lanes<128, 32>(par::RaggedRows(rows, n, offsets), test::SumI32{}, in, out);
}

namespace test {
// Matrices of m by `rows`, by rows, whose columns are folded: `parts` of them, or all of a column.
template <class Op, class T>
PAR_INLINE void reduce_columns(const T* in, T* out, u64 rows, u64 m, u64 part, const Op& op) {
    segmented_reduce_columns<256>(
        UniformRows(rows, m), part, op, [=](u64 row, u64 pos) { return load(in + ((pos - row * m) * rows + row)); },
        [=](u64 row, u64 number, const T& v) { store(out + (number * rows + row), v); }
    );
}
}   // namespace test

PAR_KERNEL void __launch_bounds__(256) segreduce_columns_f32(const float* in, float* out, par::u64 rows, par::u64 m, par::u64 part) {
    test::reduce_columns(in, out, rows, m, part, test::SumF32{});
}
PAR_KERNEL void __launch_bounds__(256) segreduce_columns_affine(
    const test::Affine* in, test::Affine* out, par::u64 rows, par::u64 m, par::u64 part
) {
    test::reduce_columns(in, out, rows, m, part, test::Compose{});
}
PAR_KERNEL void __launch_bounds__(256) combine_affine(const test::Affine* from, test::Affine* out, par::u64 n, par::u64 parts) {
    using test::Affine;
    par::combine_parts<256>(
        n, parts, test::Compose{}, [=](par::u64 i) { return par::load(from + i); }, [=](par::u64 i, const Affine& v) { par::store(out + i, v); }
    );
}

PAR_KERNEL void __launch_bounds__(128) segreduce_block_matrix2(
    const test::Matrix2* in, test::Matrix2* out, par::u64 rows, par::u64 n, const par::i64* offsets
) {
    using namespace par;
    segmented_reduce_block<128, 3>(
        RaggedRows(rows, n, offsets), test::Product<2>{}, [=](u64, u64 pos) { return load(in + pos); },
        [=](u64 row, const test::Matrix2& v) { store(out + row, v); }
    );
}
PAR_KERNEL void __launch_bounds__(128) split_rows_1408(par::u64 rows, par::u64 n, const par::i64* offsets, par::u64* splits) {
    par::split_rows<128, 1408>(par::RaggedRows(rows, n, offsets), splits);
}
PAR_KERNEL void __launch_bounds__(128) segreduce_split_i32(
    const int* in, int* out, par::i64* row_of, par::u64 rows, par::u64 n, const par::i64* offsets, const par::u64* splits, void* state
) {
    test::reduce_rows<128, 11>(par::SplitRows(rows, n, offsets, splits), test::SumI32{}, in, out, row_of, state);
}

PAR_KERNEL void __launch_bounds__(128) segscan_i32(
    const int* in, int* out, par::u64 rows, par::u64 n, const par::i64* offsets, void* state
) {
    test::scan_rows<128, 11, false>(par::RaggedRows(rows, n, offsets), test::SumI32{}, in, out, state);
}
PAR_KERNEL void __launch_bounds__(128) segscan_f32(
    const float* in, float* out, par::u64 rows, par::u64 n, const par::i64* offsets, void* state
) {
    test::scan_rows<128, 11, false>(par::RaggedRows(rows, n, offsets), test::SumF32{}, in, out, state);
}
PAR_KERNEL void __launch_bounds__(64) segscan_small_f32(
    const float* in, float* out, par::u64 rows, par::u64 n, const par::i64* offsets, void* state
) {
    test::scan_rows<64, 1, false>(par::RaggedRows(rows, n, offsets), test::SumF32{}, in, out, state);
}
// registers: 80
PAR_KERNEL void __launch_bounds__(64) segscan_exclusive_matrix2(
    const test::Matrix2* in, test::Matrix2* out, par::u64 rows, par::u64 n, const par::i64* offsets, void* state
) {
    test::scan_rows<64, 5, true>(par::RaggedRows(rows, n, offsets), test::Product<2>{}, in, out, state);
}
PAR_KERNEL void __launch_bounds__(128) segscan_uniform_affine(
    const test::Affine* in, test::Affine* out, par::u64 rows, par::u64 m, void* state
) {
    test::scan_rows<128, 7, false>(par::UniformRows(rows, m), test::Compose{}, in, out, state);
}

// No arrays: for positions and rows beyond 2^32. Element i of row r is r + i; what is stored is compared where it is stored.
PAR_KERNEL void __launch_bounds__(128) segreduce_far(
    par::u64 rows, par::u64 m, par::u64 first, par::u32* wrong, par::u32* stored, void* state
) {
    using namespace par;
    segmented_reduce<128, 7, true>(
        UniformRows(rows, m), Sum<u64>{}, [=](u64 row, u64 pos) { return row + (pos - row * m); },
        [=](u64 row, u64 v) {
            atomicAdd(stored, 1u);
            if (row < first || v != row * m + m * (m - 1) / 2) atomicAdd(wrong, 1u);
        },
        state
    );
}
PAR_KERNEL void __launch_bounds__(128) filter_far(par::u64 n, par::u64 first, par::u32* wrong, par::u64* kept, void* state) {
    using namespace par;
    filter<128, 8, u64>(
        n,
        [=](u64 pos, u64& v) {
            v = pos;
            return pos % 2 == 0;
        },
        [=](u64 i, u64 pos, u64 v) {
            if (pos < first || v != pos || i != pos / 2) atomicAdd(wrong, 1u);
        },
        [=](u64 k) { store(kept, k); }, state
    );
}
PAR_KERNEL void __launch_bounds__(256) map_far(par::u64 rows, par::u64 m, par::u64 first, par::u32* wrong, par::u32* seen) {
    par::map_rows_uniform<256, 4>(rows, m, [=](par::u64 row, par::u64 pos) {
        atomicAdd(seen, 1u);
        if (pos < first || pos >= rows * m || row != pos / m) atomicAdd(wrong, 1u);
    });
}

PAR_KERNEL void __launch_bounds__(256) filter_i32(const int* in, int* out, par::i64* index, par::u64* kept, par::u64 n, void* state) {
    using namespace par;
    filter<256, 8, int>(
        n,
        [=](u64 pos, int& v) {
            v = load(in + pos);
            return v % 3 == 0;
        },
        [=](u64 i, u64 pos, int v) {
            store(out + i, v);
            store(index + i, i64(pos));
        },
        [=](u64 k) { store(kept, k); }, state
    );
}
PAR_KERNEL void __launch_bounds__(128) filter_ragged(
    const int* in, int* out, par::i64* out_offsets, par::u64* kept, par::u64 rows, par::u64 n, const par::i64* offsets, void* state
) {
    using namespace par;
    filter_rows<128, 8, int>(
        RaggedRows(rows, n, offsets),
        [=](u64 row, u64 pos, int& v) {
            v = load(in + pos);
            return v % 3 == int(row % 3);
        },
        [=](u64 i, u64, int v) { store(out + i, v); }, [=](u64 row, u64 end) { store(out_offsets + row + 1, i64(end)); },
        [=](u64 k) { store(kept, k); }, state
    );
}

PAR_EXPORT(map_f32)
PAR_EXPORT(map_uniform)
PAR_EXPORT(map_ragged)
PAR_EXPORT(reduce_i64)
PAR_EXPORT(reduce_f32)
PAR_EXPORT(reduce_matrix2)
PAR_EXPORT(segreduce_i32)
PAR_EXPORT(segreduce_f32)
PAR_EXPORT(segreduce_matrix2)
PAR_EXPORT(segreduce_uniform_i32)
PAR_EXPORT(segreduce_thread_affine)
PAR_EXPORT(segreduce_group_affine)
PAR_EXPORT(segreduce_warp_i32)
PAR_EXPORT(segscan_i32)
PAR_EXPORT(segscan_f32)
PAR_EXPORT(segscan_small_f32)
PAR_EXPORT(segscan_exclusive_matrix2)
PAR_EXPORT(segscan_uniform_affine)
PAR_EXPORT(segreduce_columns_f32)
PAR_EXPORT(segreduce_columns_affine)
PAR_EXPORT(combine_affine)
PAR_EXPORT(segreduce_block_matrix2)
PAR_EXPORT(split_rows_1408)
PAR_EXPORT(segreduce_split_i32)
PAR_EXPORT(segreduce_far)
PAR_EXPORT(filter_far)
PAR_EXPORT(map_far)
PAR_EXPORT(filter_i32)
PAR_EXPORT(filter_ragged)
