#pragma once
#include "test/instances/operators.cuh"
#include "par/desc.cuh"
#include "par/filter.cuh"
#include "par/flood.cuh"
#include "par/gather.cuh"
#include "par/histogram.cuh"
#include "par/segreduce.cuh"
#include "par/transpose.cuh"

PAR_KERNEL void __launch_bounds__(256) flood_i32(const int* in, par::i64* sources, par::u64 n, void* state) {
    using namespace par;
    flood<256, 16>(n, [=](u64 i) { return load(in + i) != 0; }, [=](u64 i, i64 source) { store(sources + i, source); }, state);
}
PAR_KERNEL void __launch_bounds__(256) make_offsets_i64(
    const par::i64* lengths, par::i64* offsets, par::i64* total, par::u64 rows, void* state
) {
    using namespace par;
    make_offsets<256, 11>(rows, [=](u64 r) { return load(lengths + r); }, offsets, [=](i64 all) { store(total, all); }, state);
}
PAR_KERNEL void __launch_bounds__(128) partition_i32(const int* in, int* out, par::u64* kept, par::u64 n, void* state) {
    using namespace par;
    auto store_last_first = [=](u64 i, u64, int v) { store(out + (n - 1 - i), v); };
    partition<128, 4, int>(
        n,
        [=](u64 pos, int& v) {
            v = load(in + pos);
            return v < 0;
        },
        [=](u64 i, u64, int v) { store(out + i, v); }, store_last_first, [=](u64 k) { store(kept, k); }, state
    );
}
PAR_KERNEL void __launch_bounds__(256) transpose_i32(const int* in, int* out, par::u64 rows, par::u64 columns) {
    using namespace par;
    transpose<int>(rows, columns, [=](u64 i) { return load(in + i); }, [=](u64 i, int v) { store(out + i, v); });
}
PAR_KERNEL void __launch_bounds__(256) transpose_i64(const par::i64* in, par::i64* out, par::u64 rows, par::u64 columns) {
    using namespace par;
    transpose<i64>(rows, columns, [=](u64 i) { return load(in + i); }, [=](u64 i, i64 v) { store(out + i, v); });
}
PAR_KERNEL void __launch_bounds__(256) gather_i32(const par::i64* index, const int* in, int* out, par::u64 n) {
    using namespace par;
    gather<256, 4, int>(
        n, [=](u64 i) { return load(index + i); }, [=](i64 i) { return load(in + i); }, [=](u64 i, int v) { store(out + i, v); }
    );
}
PAR_KERNEL void __launch_bounds__(256) scatter_i32(const par::i64* index, const int* in, int* out, par::u64 length, par::u64 n) {
    using namespace par;
    scatter<256, 4>(n, length, [=](u64 i) { return load(index + i); }, [=](u64 to, u64 i) { store(out + to, load(in + i)); });
}
PAR_KERNEL void __launch_bounds__(256) elect_i32(const par::i64* index, par::u64 length, par::u64 n, par::u64* winners) {
    using namespace par;
    scatter_elect<256, 4>(n, length, [=](u64 i) { return load(index + i); }, winners);
}
PAR_KERNEL void __launch_bounds__(256) scatter_elected_i32(
    const par::i64* index, const int* in, int* out, par::u64 length, par::u64 n, const par::u64* winners
) {
    using namespace par;
    scatter_elected<256, 4>(
        n, length, [=](u64 i) { return load(index + i); }, [=](u64 to, u64 i) { store(out + to, load(in + i)); }, winners
    );
}

namespace test {
struct AtomicSum : Sum<u32> {
    template <class P>
    PAR_INLINE void update(P p, u32 v) const {
        atomicAdd(p, v);
    }
};
template <class Op, class T>
PAR_INLINE void private_bins(const i64* bins_of, const T* in, u64 n, u32 bins, u64 chunk, T* partials) {
    histogram_private<128>(
        n, bins, chunk, Op{},
        [=](u64 i, i64& bin) {
            bin = load(bins_of + i);
            return load(in + i);
        },
        partials
    );
}
// Into `out`, which holds what was there before.
template <class Op, class T>
PAR_INLINE void combine_partials(const T* partials, u64 bins, u64 blocks, T* out) {
    segmented_reduce_lanes<128>(
        UniformRows(bins, blocks), Op{}, 32, [=](u64, u64 pos) { return load(partials + pos); },
        [=](u64 bin, const T& v) { store(out + bin, Op{}(load(out + bin), v)); }
    );
}
}   // namespace test

PAR_KERNEL void __launch_bounds__(128) hist_private_f32(
    const par::i64* bins_of, const float* in, par::u64 n, par::u32 bins, par::u64 chunk, float* partials
) {
    test::private_bins<test::SumF32>(bins_of, in, n, bins, chunk, partials);
}
PAR_KERNEL void __launch_bounds__(128) hist_combine_f32(const float* partials, par::u64 bins, par::u64 blocks, float* out) {
    test::combine_partials<test::SumF32>(partials, bins, blocks, out);
}
// Bins of a histogram may be combined by operators that do not commute too, since they are taken in order.
PAR_KERNEL void __launch_bounds__(128) hist_private_matrix2(
    const par::i64* bins_of, const test::Matrix2* in, par::u64 n, par::u32 bins, par::u64 chunk, test::Matrix2* partials
) {
    test::private_bins<test::Product<2>>(bins_of, in, n, bins, chunk, partials);
}
PAR_KERNEL void __launch_bounds__(128) hist_combine_matrix2(
    const test::Matrix2* partials, par::u64 bins, par::u64 blocks, test::Matrix2* out
) {
    test::combine_partials<test::Product<2>>(partials, bins, blocks, out);
}
PAR_KERNEL void __launch_bounds__(256) hist_shared_u32(const par::i64* bins_of, par::u64 n, par::u32 bins, par::u32* out) {
    using namespace par;
    histogram_atomic<256, 4, true>(
        n, bins, test::AtomicSum{},
        [=](u64 i, i64& bin) {
            bin = load(bins_of + i);
            return u32(i);
        },
        out
    );
}
PAR_KERNEL void __launch_bounds__(256) hist_global_u32(const par::i64* bins_of, par::u64 n, par::u32 bins, par::u32* out) {
    using namespace par;
    histogram_atomic<256, 4, false>(
        n, bins, test::AtomicSum{},
        [=](u64 i, i64& bin) {
            bin = load(bins_of + i);
            return u32(i);
        },
        out
    );
}
PAR_KERNEL void __launch_bounds__(128) hist_locked_best(
    const par::i64* bins_of, const float* in, par::u64 n, par::u64 bins, test::Best* out, par::u32* locks, par::u32 stripes
) {
    using namespace par;
    histogram_locked<128>(
        n, bins, [=](u64 i) { return load(bins_of + i); },
        [=](u64 bin, u64 i) {
            const test::Best b{load(in + i), u32(i), 1};
            store(out + bin, test::TakeFirstBest{}(load(out + bin), b));
        },
        locks, stripes
    );
}

PAR_EXPORT(flood_i32)
PAR_EXPORT(make_offsets_i64)
PAR_EXPORT(partition_i32)
PAR_EXPORT(transpose_i32)
PAR_EXPORT(transpose_i64)
PAR_EXPORT(gather_i32)
PAR_EXPORT(scatter_i32)
PAR_EXPORT(elect_i32)
PAR_EXPORT(scatter_elected_i32)
PAR_EXPORT(hist_private_f32)
PAR_EXPORT(hist_combine_f32)
PAR_EXPORT(hist_private_matrix2)
PAR_EXPORT(hist_combine_matrix2)
PAR_EXPORT(hist_shared_u32)
PAR_EXPORT(hist_global_u32)
PAR_EXPORT(hist_locked_best)
