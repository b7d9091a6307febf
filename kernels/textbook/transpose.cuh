// Transpositions as they are taught; out[c][r] = in[r][c].
#pragma once
#include "par/base.cuh"

namespace textbook {

using par::u32;
using par::u64;

// A thread for each row. Neighbouring threads read a row apart.
template <class T>
PAR_INLINE void transpose_rows(const T* in, T* out, u32 rows, u32 columns) {
    const u32 r = blockIdx.x * blockDim.x + threadIdx.x;
    if (r >= rows) return;
    for (u32 c = 0; c < columns; c++) par::store(out + u64(c) * rows + r, par::load(in + u64(r) * columns + c));
}

// A thread for each element. Neighbouring threads read neighbours, and write a column apart.
template <class T>
PAR_INLINE void transpose_elements(const T* in, T* out, u32 rows, u32 columns) {
    const u64 i = u64(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i >= u64(rows) * columns) return;
    par::store(out + i % columns * rows + i / columns, par::load(in + i));
}

// By tiles of 32 by 32 in shared memory without padding: reads and writes of global memory are whole, but a column of the tile is in one
// bank. Blocks of 32 by 8 threads; the grid has the tiles.
template <class T>
PAR_INLINE void transpose_tiled(const T* in, T* out, u32 rows, u32 columns) {
    PAR_SHARED(T, tile, 32 * 32);
    const u32 x = threadIdx.x, c = blockIdx.x * 32 + x, r = blockIdx.y * 32;
    for (u32 i = threadIdx.y; i < 32; i += 8)
        if (r + i < rows && c < columns) tile[i * 32 + x] = par::load(in + u64(r + i) * columns + c);
    __syncthreads();
    const u32 to_row = blockIdx.x * 32, to_column = r + x;
    for (u32 i = threadIdx.y; i < 32; i += 8)
        if (to_row + i < columns && to_column < rows) par::store(out + u64(to_row + i) * rows + to_column, T(tile[x * 32 + i]));
}

}   // namespace textbook
