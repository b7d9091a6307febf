// CUDA C++ as plain C++17, seen from a kernel: what the device layer (par/base.cuh) includes instead of a CUDA compiler's builtins.
//
// Every GPU thread is a fiber of the emulator (emulator.cpp). A fiber runs until it has to wait: at a barrier, in a warp
// primitive, when it spins. Everything that needs the scheduler goes through a table of functions, the `Machine`, which the
// function of a kernel is given; so a module is a shared object without undefined symbols.
//
// This header is compiled with every program, so it includes nothing and stays small.
//
// Switches: EMU_RACE checks shared memory (shared.h); EMU_COUNT records global accesses (see Machine::access).
#pragma once

#define __global__
#define __device__
#define __host__
#define __forceinline__ inline
#define __launch_bounds__(...)
#define __align__(n) alignas(n)

extern "C" void* memcpy(void*, const void*, __SIZE_TYPE__) noexcept;   // a device compiler knows it without a header

struct dim3 {
    unsigned x, y, z;
    constexpr dim3(unsigned x_ = 1, unsigned y_ = 1, unsigned z_ = 1) : x(x_), y(y_), z(z_) {}
};

namespace emu {

using u32 = unsigned;
using u64 = unsigned long long;

// What a kernel sees of the thread that runs. An epoch counts the barriers passed: two accesses of a block in one
// epoch, by different warps, are not ordered.
struct Thread {
    unsigned x = 0, y = 0, z = 0;
    unsigned lane = 0;
    dim3 block;
    u32 block_epoch = 0, warp_epoch = 0;
};

// The first four operations number what lanes do together, so that a warp whose lanes meet in different primitives is noticed.
enum Meeting : int { SYNC_WARP, SHUFFLE_UP, SHUFFLE_DOWN, SHUFFLE_XOR, SHUFFLE, BALLOT, MATCH };

struct Machine {
    Thread* thread;   // the one that runs
    dim3 block_dim, grid_dim;
    bool preempt;     // switch at GPU-scope accesses, at random
    u64 idle;         // yields since something was written; too many are a livelock
    void* dynamic_shared;
    u32 dynamic_bytes;

    void (*sync_block)(const char* where);
    void (*sync_warp)(u32 mask, const char* where);
    u64 (*exchange)(u32 mask, u64 value, int meeting, int source, const char* where);
    u32 (*ballot)(u32 mask, int predicate, const char* where);
    u32 (*match)(u32 mask, u64 value, const char* where);
    void (*yield)();
    void (*switch_point)();
    // Shared memory of the running block, by the address of a variable that stands for the array; `fresh` is set at the first call.
    char* (*shared)(const void* key, u64 bytes, bool* fresh);
    // Moves a 16-byte word. The emulator is not instrumented by any sanitizer, so that this counts as atomic.
    void (*copy16)(void* to, const void* from);
    void (*access)(const void* address, u32 bytes, bool write, const void* site);
    // Reports a mistake in a kernel and ends the process.
    void (*fatal)(const char* message);
    void (*fatal_shared)(const char* message, const char* array, long long index, long long size, u32 other);
};

inline __attribute__((visibility("hidden"))) Machine* machine;   // hidden: each module has its own

template <u64...>
struct Indices {};
template <u64 N, u64... I>
struct MakeIndices : MakeIndices<N - 1, N - 1, I...> {};
template <u64... I>
struct MakeIndices<0, I...> {
    using Type = Indices<I...>;
};
template <class T>
struct Bare {
    using Type = T;
};
template <class T>
struct Bare<const T> {
    using Type = T;
};

// Every kernel has these: as few functions as possible, since compiling them is much of the time of tests.
template <class A>
__attribute__((always_inline)) inline void call(void (*kernel)(A), void** arguments) {
    kernel(*static_cast<typename Bare<A>::Type*>(arguments[0]));
}
template <class... A, u64... I>
inline void call(void (*kernel)(A...), void** arguments, Indices<I...>) {
    kernel(*static_cast<typename Bare<A>::Type*>(arguments[I])...);
}
template <class... A>
__attribute__((always_inline)) inline void call(void (*kernel)(A...), void** arguments) {
    call(kernel, arguments, typename MakeIndices<sizeof...(A)>::Type{});
}

// The sizes of a kernel's arguments, then 0: a launch that is put off needs a copy of them. No static member, which modules would share by its name.
template <class>
struct Sizes;
template <class... A>
struct Sizes<void(A...)> {
    u32 of[sizeof...(A) + 1] = {u32(sizeof(A))..., 0};
};

inline void observed() {
    if (machine->preempt) machine->switch_point();
}
inline void changed() {
    __atomic_store_n(&machine->idle, 0, __ATOMIC_RELAXED);   // for the thread sanitizer
    observed();
}
inline u32 whole_warp(u32 mask = 0xffffffffu) { return mask; }

template <class T>
inline T shuffle(u32 mask, T value, int source, int meeting, const char* where) {
    static_assert(sizeof(T) <= 8, "the hardware shuffles at most 8 bytes");
    u64 word = 0;
    __builtin_memcpy(&word, &value, sizeof(T));
    word = machine->exchange(mask, word, meeting, source, where);
    __builtin_memcpy(&value, &word, sizeof(T));
    return value;
}
inline int up(int delta) {
    int lane = int(machine->thread->lane);
    return lane - delta < 0 ? lane : lane - delta;
}
inline int down(int delta) {
    int lane = int(machine->thread->lane);
    return lane + delta > 31 ? lane : lane + delta;
}

}   // namespace emu

#define threadIdx (*emu::machine->thread)
#define blockIdx (emu::machine->thread->block)
#define blockDim (emu::machine->block_dim)
#define gridDim (emu::machine->grid_dim)

#define EMU_TEXT_(x) #x
#define EMU_TEXT(x) EMU_TEXT_(x)
#define EMU_HERE __FILE__ ":" EMU_TEXT(__LINE__)

#define __syncthreads() emu::machine->sync_block(EMU_HERE)
#define __syncwarp(...) emu::machine->sync_warp(emu::whole_warp(__VA_ARGS__), EMU_HERE)
#define __shfl_up_sync(m, v, d) emu::shuffle(m, v, emu::up(int(d)), emu::SHUFFLE_UP, EMU_HERE)
#define __shfl_down_sync(m, v, d) emu::shuffle(m, v, emu::down(int(d)), emu::SHUFFLE_DOWN, EMU_HERE)
#define __shfl_xor_sync(m, v, d) emu::shuffle(m, v, int(emu::machine->thread->lane) ^ int(d), emu::SHUFFLE_XOR, EMU_HERE)
#define __shfl_sync(m, v, s) emu::shuffle(m, v, int(s) & 31, emu::SHUFFLE, EMU_HERE)
#define __ballot_sync(m, p) emu::machine->ballot(m, p, EMU_HERE)
#define __any_sync(m, p) (emu::machine->ballot(m, p, EMU_HERE) != 0)
#define __all_sync(m, p) (emu::machine->ballot(m, !(p), EMU_HERE) == 0)
#define __match_any_sync(m, v) emu::machine->match(m, (emu::u64)(v), EMU_HERE)
#define __nanosleep(ns) emu::machine->yield()

inline int __popc(unsigned x) { return __builtin_popcount(x); }
inline int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
inline int __clz(int x) { return x ? __builtin_clz(unsigned(x)) : 32; }
inline int __clzll(long long x) { return x ? __builtin_clzll((unsigned long long)x) : 64; }
inline int __ffs(int x) { return __builtin_ffs(x); }
inline int __ffsll(long long x) { return __builtin_ffsll(x); }
inline unsigned __umulhi(unsigned a, unsigned b) { return unsigned((unsigned long long)a * b >> 32); }
inline long long __mul64hi(long long a, long long b) { return (long long)((__int128)a * b >> 64); }
inline unsigned long long __umul64hi(unsigned long long a, unsigned long long b) {
    return (unsigned long long)((unsigned __int128)a * b >> 64);
}
inline unsigned __float_as_uint(float x) { return __builtin_bit_cast(unsigned, x); }
inline float __uint_as_float(unsigned x) { return __builtin_bit_cast(float, x); }
inline long long __double_as_longlong(double x) { return __builtin_bit_cast(long long, x); }
inline double __longlong_as_double(long long x) { return __builtin_bit_cast(double, x); }

// Atomics: real ones, so that a thread sanitizer knows them, relaxed as on the device, and points where threads may change.
template <class T, class F>
inline T emu_update(T* p, F f) {
    emu::changed();
    T old, next;
    __atomic_load(p, &old, __ATOMIC_RELAXED);
    do next = f(old);
    while (!__atomic_compare_exchange(p, &old, &next, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
    return old;
}
template <class T>
struct EmuSame {
    using Type = T;
};
template <class T>
using EmuValue = typename EmuSame<T>::Type;   // a parameter that takes no part in deduction
template <class T>
inline T atomicAdd(T* p, EmuValue<T> v) {
    return emu_update(p, [v](T old) { return T(old + v); });
}
template <class T>
inline T atomicMin(T* p, EmuValue<T> v) {
    return emu_update(p, [v](T old) { return v < old ? v : old; });
}
template <class T>
inline T atomicMax(T* p, EmuValue<T> v) {
    return emu_update(p, [v](T old) { return old < v ? v : old; });
}
template <class T>
inline T atomicAnd(T* p, EmuValue<T> v) {
    return emu_update(p, [v](T old) { return T(old & v); });
}
template <class T>
inline T atomicOr(T* p, EmuValue<T> v) {
    return emu_update(p, [v](T old) { return T(old | v); });
}
template <class T>
inline T atomicXor(T* p, EmuValue<T> v) {
    return emu_update(p, [v](T old) { return T(old ^ v); });
}
template <class T>
inline T atomicExch(T* p, EmuValue<T> v) {
    return emu_update(p, [v](T) { return v; });
}
template <class T>
inline T atomicCAS(T* p, EmuValue<T> compare, EmuValue<T> v) {
    emu::changed();
    __atomic_compare_exchange(p, &compare, &v, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
    return compare;
}
inline void __threadfence() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
inline void __threadfence_block() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }

// A kernel is called in every thread by a function that takes the machine and the arguments' addresses, as the driver has them; an array says how
// long these are. All threads set the same machine, which is no race.
#define PAR_KERNEL static
#define PAR_EXPORT(NAME)                                                                                                              \
    extern "C" __attribute__((visibility("default"), no_sanitize("thread"))) void par_launch_##NAME(emu::Machine* m, void** arguments) { \
        emu::machine = m;                                                                                                             \
        emu::call(NAME, arguments);                                                                                                   \
    }                                                                                                                                 \
    extern "C" __attribute__((visibility("default"))) const emu::Sizes<decltype(NAME)> par_sizes_##NAME{};

#ifdef EMU_RACE
#include "shared.h"
#else
#define PAR_SHARED(T, NAME, N)                                             \
    static char NAME##_key;                                                \
    T* const NAME = reinterpret_cast<T*>(emu::machine->shared(&NAME##_key, sizeof(T) * (N), nullptr))
#define PAR_DYNAMIC_SHARED(T, NAME) T* const NAME = static_cast<T*>(emu::machine->dynamic_shared)
#endif
#define PAR_SHARED_ALIGNED(T, NAME, N) PAR_SHARED(T, NAME, N)
