// Map: a body at every position. Blocks of THREADS do tiles of THREADS * ITEMS neighbouring positions; grid = tiles.
#pragma once
#include "par/base.cuh"

namespace par {

// body(pos) for pos in 0..n. Grid: divide_up(n, THREADS * ITEMS).
template <int THREADS, int ITEMS, class Body>
PAR_INLINE void map(u64 n, Body body) {
    const u64 base = u64(blockIdx.x) * (THREADS * ITEMS) + threadIdx.x;
    for (int i = 0; i < ITEMS; i++) {
        const u64 pos = base + u64(i) * THREADS;
        if (pos < n) body(pos);
    }
}

// body(row, pos) for `rows` rows of `m` elements; pos counts elements of all rows. One division of 64 bits per block, and one of 32
// bits per element where a tile is more than a row. Grid: divide_up(rows * m, THREADS * ITEMS).
template <int THREADS, int ITEMS, class Body>
PAR_INLINE void map_rows_uniform(u64 rows, u64 m, Body body) {
    const u64 n = rows * m, base = u64(blockIdx.x) * (THREADS * ITEMS);
    if (base >= n) return;
    const u64 row = base / m, column = base % m;
    for (int i = 0; i < ITEMS; i++) {
        const u32 k = i * THREADS + threadIdx.x;
        if (base + k >= n) return;
        const u64 c = column + k;
        const u64 further = c < m ? 0 : m > THREADS * ITEMS ? 1 : u32(c) / u32(m);
        body(row + further, base + k);
    }
}

}   // namespace par
