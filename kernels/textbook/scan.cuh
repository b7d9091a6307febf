// Scans of one block's elements as they are taught, and the scan over flags that makes them segmented.
#pragma once
#include "par/base.cuh"

namespace textbook {

using par::u32;

// Hillis and Steele (1986), inclusive: log n steps, n additions in each. Two buffers, so that no step overwrites what it reads.
template <int THREADS, class T>
PAR_INLINE void scan_hillis_steele(const T* in, T* out, u32 n) {
    PAR_SHARED(T, data, 2 * THREADS);
    const u32 t = threadIdx.x;
    u32 from = 0, to = THREADS;
    data[t] = t < n ? par::load(in + t) : T(0);
    for (u32 d = 1; d < THREADS; d *= 2) {
        __syncthreads();
        const T v = data[from + t];
        data[to + t] = t >= d ? T(data[from + t - d]) + v : v;
        const u32 other = from;
        from = to, to = other;
    }
    if (t < n) par::store(out + t, T(data[from + t]));
}

// Blelloch (1990), exclusive: a tree of sums upwards, then what is before each node downwards; 2 n additions.
template <int THREADS, class T>
PAR_INLINE void scan_blelloch(const T* in, T* out, u32 n) {
    constexpr u32 N = 2 * THREADS;
    PAR_SHARED(T, data, N);
    const u32 t = threadIdx.x;
    data[t] = t < n ? par::load(in + t) : T(0);
    data[t + THREADS] = t + THREADS < n ? par::load(in + t + THREADS) : T(0);
    for (u32 d = 1; d < N; d *= 2) {
        __syncthreads();
        const u32 right = (t + 1) * 2 * d - 1;
        if (right < N) data[right] = T(data[right - d]) + T(data[right]);
    }
    __syncthreads();
    if (t == 0) data[N - 1] = T(0);
    for (u32 d = N / 2; d > 0; d /= 2) {
        __syncthreads();
        const u32 right = (t + 1) * 2 * d - 1;
        if (right < N) {
            const T left = data[right - d], before = data[right];
            data[right - d] = before;
            data[right] = before + left;
        }
    }
    __syncthreads();
    if (t < n) par::store(out + t, T(data[t]));
    if (t + THREADS < n) par::store(out + t + THREADS, T(data[t + THREADS]));
}

// The segmented scan by the operator over (flag, value): a value is added to only if no head stands between; a flag says that one does.
// Hillis and Steele's steps with it.
template <int THREADS, class T>
PAR_INLINE void segmented_scan_flags(const T* in, const unsigned char* heads, T* out, u32 n) {
    PAR_SHARED(T, values, 2 * THREADS);
    PAR_SHARED(u32, flags, 2 * THREADS);
    const u32 t = threadIdx.x;
    u32 from = 0, to = THREADS;
    values[t] = t < n ? par::load(in + t) : T(0);
    flags[t] = t < n ? u32(par::load(heads + t)) : 1u;
    for (u32 d = 1; d < THREADS; d *= 2) {
        __syncthreads();
        const T v = values[from + t];
        const u32 headed = flags[from + t];
        values[to + t] = t >= d && !headed ? T(values[from + t - d]) + v : v;
        flags[to + t] = t >= d ? u32(flags[from + t - d]) | headed : headed;
        const u32 other = from;
        from = to, to = other;
    }
    if (t < n) par::store(out + t, T(values[from + t]));
}

}   // namespace textbook
