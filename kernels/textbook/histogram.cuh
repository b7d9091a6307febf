// Histograms as they are taught: counts of bins, which are in 0..bins.
#pragma once
#include "par/base.cuh"

namespace textbook {

using par::u32;

// Every element an atomic addition in global memory.
PAR_INLINE void histogram_naive(const u32* bins_of, u32 n, u32* counts) {
    const u32 i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) atomicAdd(counts + par::load(bins_of + i), 1u);
}

// Counts of its own for each block, in shared memory, that are added up in the end.
PAR_INLINE void histogram_privatised(const u32* bins_of, u32 n, u32 bins, u32* counts) {
    PAR_DYNAMIC_SHARED(u32, mine);
    for (u32 b = threadIdx.x; b < bins; b += blockDim.x) mine[b] = 0;
    __syncthreads();
    for (u32 i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) atomicAdd(&mine[par::load(bins_of + i)], 1u);
    __syncthreads();
    for (u32 b = threadIdx.x; b < bins; b += blockDim.x) atomicAdd(counts + b, u32(mine[b]));
}

}   // namespace textbook
