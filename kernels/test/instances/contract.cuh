#pragma once
#include "test/instances/operators.cuh"
#include "par/contract.cuh"
#include "par/reduce.cuh"

namespace test {

// All that a contraction is given but its arrays.
struct ContractShape {
    Strides of_left, of_right;
    u64 rows, columns, depth, part, parts, products;
    BatchIndex batch[2];
};
template <class T, int BATCH>
PAR_INLINE Contraction<T, BATCH> contraction(const T* left, const T* right, const T* initial, T neutral, T* out, const ContractShape& s) {
    Contraction<T, BATCH> c{
        left, s.of_left, right, s.of_right, initial, neutral, out, s.rows, s.columns, s.depth, s.part, s.parts, s.products, {}
    };
    for (int d = 0; d < BATCH; d++) c.batch[d] = s.batch[d];
    return c;
}
struct Add {
    template <class T>
    PAR_INLINE T operator()(T a, T b) const {
        return a + b;
    }
};
struct Multiply {
    template <class T>
    PAR_INLINE T operator()(T a, T b) const {
        return a * b;
    }
};
struct Least {
    template <class T>
    PAR_INLINE T operator()(T a, T b) const {
        return smaller(a, b);
    }
};

}   // namespace test

// registers: 128, warps: 16
PAR_KERNEL void __launch_bounds__(256) contract_large_f32(
    const float* left, const float* right, const float* initial, float* out, test::ContractShape s
) {
    par::contract<2, 2, 8, true, false>(test::contraction<float, 0>(left, right, initial, 0, out, s), test::Add{}, test::Multiply{});
}
// registers: 80
PAR_KERNEL void __launch_bounds__(256) contract_f32(
    const float* left, const float* right, const float* initial, float* out, test::ContractShape s
) {
    par::contract<1, 1, 16, true, true>(test::contraction<float, 2>(left, right, initial, 0, out, s), test::Add{}, test::Multiply{});
}
// registers: 128, warps: 16
PAR_KERNEL void __launch_bounds__(256) contract_f64(
    const double* left, const double* right, const double* initial, double* out, test::ContractShape s
) {
    par::contract<1, 1, 8, false, false>(test::contraction<double, 1>(left, right, initial, 0, out, s), test::Add{}, test::Multiply{});
}
// Shortest paths: the least sum.
// registers: 128, warps: 16
PAR_KERNEL void __launch_bounds__(256) contract_least_i64(
    const par::i64* left, const par::i64* right, const par::i64* initial, par::i64* out, test::ContractShape s
) {
    const auto c = test::contraction<par::i64, 0>(left, right, initial, 0x7fffffffffffffffll, out, s);
    par::contract<1, 1, 8, false, true>(c, test::Least{}, test::Add{});
}
namespace test {
// A product of matrices that are stored by rows.
template <int SIDE, int DEPTH>
PAR_INLINE void product(const float* left, const float* right, float* out, u64 rows, u64 columns, u64 depth) {
    const ContractShape s{{i64(depth), 1}, {1, i64(columns)}, rows, columns, depth, depth, 1, 1, {}};
    contract<SIDE, SIDE, DEPTH, true, false>(
        contraction<float, 0>(left, right, static_cast<const float*>(nullptr), 0, out, s), Add{}, Multiply{}
    );
}
}   // namespace test

// registers: 128, warps: 16
PAR_KERNEL void __launch_bounds__(256) product_f32(
    const float* left, const float* right, float* out, par::u64 rows, par::u64 columns, par::u64 depth
) {
    test::product<2, 8>(left, right, out, rows, columns, depth);
}
// registers: 80
PAR_KERNEL void __launch_bounds__(256) product_small_f32(
    const float* left, const float* right, float* out, par::u64 rows, par::u64 columns, par::u64 depth
) {
    test::product<1, 16>(left, right, out, rows, columns, depth);
}
PAR_KERNEL void __launch_bounds__(256) contract_parts_f32(const float* from, float* out, par::u64 n, par::u64 parts) {
    using par::u64;
    par::combine_parts<256>(
        n, parts, test::Add{}, [=](u64 i) { return par::load(from + i); }, [=](u64 i, float v) { par::store(out + i, v); }
    );
}
PAR_EXPORT(contract_large_f32)
PAR_EXPORT(contract_f32)
PAR_EXPORT(contract_f64)
PAR_EXPORT(contract_least_i64)
PAR_EXPORT(product_f32)
PAR_EXPORT(product_small_f32)
PAR_EXPORT(contract_parts_f32)
