// Reductions as they are taught, from the slowest on. All leave the sum of in[0..n], n at most 2^31, in out[0], which is zero before.
#pragma once
#include "par/base.cuh"

namespace textbook {

using par::u32;
using par::u64;

// In global memory, in place, by a launch per level: data[i] += data[i + half] for i in 0..half. The caller halves n, rounding up.
template <class T>
PAR_INLINE void reduce_level(T* data, u32 n, u32 half) {
    const u32 i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < half && i + half < n) data[i] = data[i] + data[i + half];
}

// In shared memory with interleaved addressing: at step d, every thread whose index is a multiple of 2 d adds. Neighbouring threads do different
// things, and accesses are d apart.
template <int THREADS, class T>
PAR_INLINE void reduce_interleaved(const T* in, T* out, u32 n) {
    PAR_SHARED(T, data, THREADS);
    const u32 i = blockIdx.x * THREADS + threadIdx.x, t = threadIdx.x;
    data[t] = i < n ? par::load(in + i) : T(0);
    for (u32 d = 1; d < THREADS; d *= 2) {
        __syncthreads();
        if (t % (2 * d) == 0) data[t] = T(data[t]) + T(data[t + d]);
    }
    if (t == 0) atomicAdd(out, T(data[0]));
}

// With sequential addressing: the first half of the threads adds the second half's values; those that work are neighbours.
template <int THREADS, class T>
PAR_INLINE void reduce_sequential(const T* in, T* out, u32 n) {
    PAR_SHARED(T, data, THREADS);
    const u32 i = blockIdx.x * THREADS + threadIdx.x, t = threadIdx.x;
    data[t] = i < n ? par::load(in + i) : T(0);
    for (u32 d = THREADS / 2; d > 0; d /= 2) {
        __syncthreads();
        if (t < d) data[t] = T(data[t]) + T(data[t + d]);
    }
    if (t == 0) atomicAdd(out, T(data[0]));
}

// In two levels: each block leaves its sum in sums[block]; one block then does the same with those. Threads add what they load first.
template <int THREADS, class T>
PAR_INLINE void reduce_two_levels(const T* in, T* sums, u32 n) {
    PAR_SHARED(T, data, THREADS);
    const u32 t = threadIdx.x;
    T v = 0;
    for (u32 i = blockIdx.x * THREADS + t; i < n; i += gridDim.x * THREADS) v += par::load(in + i);
    data[t] = v;
    for (u32 d = THREADS / 2; d > 0; d /= 2) {
        __syncthreads();
        if (t < d) data[t] = T(data[t]) + T(data[t + d]);
    }
    if (t == 0) par::store(sums + blockIdx.x, T(data[0]));
}

}   // namespace textbook
