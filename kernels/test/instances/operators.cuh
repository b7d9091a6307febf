// Operators of the tests: exact and not, commutative and not, of 4 to 64 bytes, with and without captured state.
#pragma once
#include "par/base.cuh"

namespace test {

using namespace par;

using SumI32 = Sum<i32>;
using SumI64 = Sum<i64>;

struct SumF32 : Operator {
    using T = f32;
    PAR_INLINE T neutral() const { return 0; }
    PAR_INLINE T operator()(T a, T b) const { return a + b; }
};

// Composition of x -> a x + b, modulo 2^32.
struct Affine {
    u32 a, b;
    PAR_INLINE bool operator==(const Affine& o) const { return a == o.a && b == o.b; }
};
struct Compose : Operator {
    using T = Affine;
    static constexpr bool exact = true;
    PAR_INLINE T neutral() const { return {1, 0}; }
    PAR_INLINE T operator()(T f, T g) const { return {f.a * g.a, f.b * g.a + g.b}; }
};

// Matrices of N by N, modulo 2^32.
template <int N>
struct Matrix {
    u32 x[N * N];
    PAR_INLINE bool operator==(const Matrix& o) const {
        for (int i = 0; i < N * N; i++)
            if (x[i] != o.x[i]) return false;
        return true;
    }
};
template <int N>
struct Product : Operator {
    using T = Matrix<N>;
    static constexpr bool exact = true;
    PAR_INLINE T neutral() const {
        T m;
        PAR_UNROLL
        for (int i = 0; i < N * N; i++) m.x[i] = i / N == i % N;
        return m;
    }
    PAR_INLINE T operator()(const T& a, const T& b) const {
        T m;
        PAR_UNROLL
        for (int i = 0; i < N; i++)
            PAR_UNROLL
            for (int j = 0; j < N; j++) {
                u32 s = 0;
                PAR_UNROLL
                for (int k = 0; k < N; k++) s += a.x[i * N + k] * b.x[k * N + j];
                m.x[i * N + j] = s;
            }
        return m;
    }
};
using Matrix2 = Matrix<2>;
using Matrix4 = Matrix<4>;

// A table captured: the composition of permutations of 0..8, each a number of the table's row. Not commutative.
struct Permute : Operator {
    using T = u32;
    static constexpr bool exact = true;
    const u8* table;   // [6][6]: the product of two elements of the symmetric group of three
    PAR_INLINE explicit Permute(const u8* table_) : table(table_) {}
    PAR_INLINE T neutral() const { return 0; }
    PAR_INLINE T operator()(T a, T b) const { return load(table + a * 6 + b); }
};

// A value that 12 bytes wide, so neither a word nor two: the largest with its first index, and how many there were.
struct Best {
    f32 value;
    u32 index, count;
    PAR_INLINE bool operator==(const Best& o) const { return value == o.value && index == o.index && count == o.count; }
};
struct TakeBest : Operator {
    using T = Best;
    static constexpr bool exact = true;
    PAR_INLINE T neutral() const { return {-__uint_as_float(0x7f800000), ~0u, 0}; }
    PAR_INLINE T operator()(T a, T b) const {
        const u32 count = a.count + b.count;
        const bool right = b.value > a.value;
        return {right ? b.value : a.value, right ? b.index : a.index, count};
    }
};

// The same, and of equal values the one with the smaller index: commutative.
struct TakeFirstBest : TakeBest {
    static constexpr bool commutative = true;
    PAR_INLINE T operator()(T a, T b) const {
        const bool right = b.value > a.value || (b.value == a.value && b.index < a.index);
        return {right ? b.value : a.value, right ? b.index : a.index, a.count + b.count};
    }
};

}   // namespace test
