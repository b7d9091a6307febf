#pragma once
#include "test/instances/operators.cuh"
#include "par/scan.cuh"

namespace test {
template <int THREADS, int ITEMS, bool EXCLUSIVE, class Op, class T>
PAR_INLINE void scan_array(const T* in, T* out, u64 n, const Op& op, void* state) {
    scan<THREADS, ITEMS, EXCLUSIVE>(n, op, [=](u64 i) { return load(in + i); }, [=](u64 i, const T& v) { store(out + i, v); }, state);
}
}   // namespace test

PAR_KERNEL void __launch_bounds__(256) scan_i32(const int* in, int* out, par::u64 n, void* state) {
    test::scan_array<256, 15, false>(in, out, n, test::SumI32{}, state);
}
PAR_KERNEL void __launch_bounds__(256) scan_exclusive_i64(const par::i64* in, par::i64* out, par::u64 n, void* state) {
    test::scan_array<256, 11, true>(in, out, n, test::SumI64{}, state);
}
PAR_KERNEL void __launch_bounds__(256) scan_f32(const float* in, float* out, par::u64 n, void* state) {
    test::scan_array<256, 15, false>(in, out, n, test::SumF32{}, state);
}
PAR_KERNEL void __launch_bounds__(256) scan_affine(const test::Affine* in, test::Affine* out, par::u64 n, void* state) {
    test::scan_array<256, 11, false>(in, out, n, test::Compose{}, state);
}
// registers: 80
PAR_KERNEL void __launch_bounds__(128) scan_matrix2(const test::Matrix2* in, test::Matrix2* out, par::u64 n, void* state) {
    test::scan_array<128, 7, false>(in, out, n, test::Product<2>{}, state);
}
// registers: 144, warps: 12
PAR_KERNEL void __launch_bounds__(64) scan_matrix4(const test::Matrix4* in, test::Matrix4* out, par::u64 n, void* state) {
    test::scan_array<64, 1, true>(in, out, n, test::Product<4>{}, state);
}
PAR_KERNEL void __launch_bounds__(128) scan_permute(const par::u32* in, par::u32* out, par::u64 n, const par::u8* table, void* state) {
    test::scan_array<128, 5, false>(in, out, n, test::Permute(table), state);
}
PAR_KERNEL void __launch_bounds__(128) scan_best(const float* in, test::Best* out, par::u64 n, void* state) {
    using namespace test;
    scan<128, 7, false>(
        n, TakeBest{}, [=](u64 i) { return Best{load(in + i), u32(i), 1}; }, [=](u64 i, const Best& v) { store(out + i, v); }, state
    );
}
// Small tiles, so that there are many.
PAR_KERNEL void __launch_bounds__(32) scan_small_f32(const float* in, float* out, par::u64 n, void* state) {
    test::scan_array<32, 1, false>(in, out, n, test::SumF32{}, state);
}
// No arrays: for positions beyond 2^32. What is stored is compared where it is stored.
PAR_KERNEL void __launch_bounds__(128) scan_far(par::u64 n, par::u64 first, par::u32* wrong, void* state) {
    using namespace test;
    scan<128, 7, false>(
        n, Sum<u64>{}, [=](u64) { return u64(3); },
        [=](u64 i, u64 v) {
            if (i < first || v != 3 * (i + 1)) atomicAdd(wrong, 1u);
        },
        state
    );
}

PAR_EXPORT(scan_i32)
PAR_EXPORT(scan_exclusive_i64)
PAR_EXPORT(scan_f32)
PAR_EXPORT(scan_small_f32)
PAR_EXPORT(scan_affine)
PAR_EXPORT(scan_matrix2)
PAR_EXPORT(scan_matrix4)
PAR_EXPORT(scan_permute)
PAR_EXPORT(scan_best)
PAR_EXPORT(scan_far)
