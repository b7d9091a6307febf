// Transposition by tiles: rows are read and written in whole sectors; between, a tile stands in shared memory, padded by one
// column so that a column's elements are in different banks.
#pragma once
#include "par/base.cuh"

namespace par {

// For each of `count` matrices of rows by columns, one after the other: load(pos) -> T for every element, and
// store(pos, T) with its position in the transposed matrices. T is at most 8 bytes. 256 threads. Grid: count * transpose_tiles(rows, columns).
PAR_INLINE u64 transpose_tiles(u64 rows, u64 columns) { return divide_up(rows, 32) * divide_up(columns, 32); }

template <class T, class Load, class Store>
PAR_INLINE void transpose(u64 rows, u64 columns, Load load, Store store) {
    PAR_SHARED(T, tile, 32 * 33);
    const u64 across = divide_up(columns, 32), tiles = transpose_tiles(rows, columns);
    const u64 matrix = blockIdx.x / tiles * rows * columns, number = blockIdx.x % tiles;
    const u64 row = number / across * 32, column = number % across * 32;
    const u32 x = threadIdx.x % 32, y = threadIdx.x / 32;
    T values[4];
    PAR_UNROLL
    for (u32 i = 0; i < 4; i++)
        if (row + y + 8 * i < rows && column + x < columns) values[i] = load(matrix + (row + y + 8 * i) * columns + column + x);
    PAR_UNROLL
    for (u32 i = 0; i < 4; i++)
        if (row + y + 8 * i < rows && column + x < columns) tile[(y + 8 * i) * 33 + x] = values[i];
    __syncthreads();
    PAR_UNROLL
    for (u32 i = y; i < 32; i += 8)
        if (column + i < columns && row + x < rows) store(matrix + (column + i) * rows + row + x, T(tile[x * 33 + i]));
}

}   // namespace par
