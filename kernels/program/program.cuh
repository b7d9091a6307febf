// What every generated program includes.
#pragma once
#include "par/filter.cuh"
#include "par/histogram.cuh"
#include "par/map.cuh"
#include "par/reduce.cuh"
#include "par/rows.cuh"
#include "par/scan.cuh"
#include "par/segreduce.cuh"
#include "par/segscan.cuh"
#include "program/contract.cuh"
#include "program/failure.cuh"

// A kernel's argument, which is used where it is and not copied.
#if PAR_DEVICE
#define PAR_ARGUMENT const __grid_constant__
#define PAR_FUNCTION static __device__ __noinline__
#else
#define PAR_ARGUMENT const
#define PAR_FUNCTION static __attribute__((noinline, unused))
#endif

// Kernels NAME1, NAME2, NAME4 and NAME8 of a template NAME: for elements of so many bytes.
#define PAR_KERNELS_OF_SIZES(NAME, ARGUMENT)                           \
    PAR_KERNEL void NAME##1(PAR_ARGUMENT ARGUMENT k) { NAME<u8>(k); }  \
    PAR_EXPORT(NAME##1)                                                \
    PAR_KERNEL void NAME##2(PAR_ARGUMENT ARGUMENT k) { NAME<u16>(k); } \
    PAR_EXPORT(NAME##2)                                                \
    PAR_KERNEL void NAME##4(PAR_ARGUMENT ARGUMENT k) { NAME<u32>(k); } \
    PAR_EXPORT(NAME##4)                                                \
    PAR_KERNEL void NAME##8(PAR_ARGUMENT ARGUMENT k) { NAME<u64>(k); } \
    PAR_EXPORT(NAME##8)

namespace par {

// The row of an element.
PAR_INLINE u64 row_of(const UniformRows& rows, u64 pos) { return rows.m == rows.elements ? 0 : pos / rows.m; }
PAR_INLINE u64 row_of(const RaggedRows& rows, u64 pos) {
    u64 low = 0, high = rows.rows;
    while (high - low > 1) {
        const u64 middle = low + (high - low) / 2;
        if (rows.offset(middle) <= pos) low = middle;
        else high = middle;
    }
    return low;
}

// body(row, pos) for every element, in order, by one thread.
template <class Rows, class Body>
PAR_INLINE void serially(const Rows& rows, Body body) {
    if (blockIdx.x != 0 || threadIdx.x != 0) return;
    for (u64 row = 0; row < rows.rows; row++) {
        const u64 end = rows.offset(row + 1);
        for (u64 pos = rows.offset(row); pos < end; pos++) body(row, pos);
    }
}

}   // namespace par
