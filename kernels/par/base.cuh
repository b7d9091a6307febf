// The lowest layer: types, memory accesses with their ordering, shuffles of any type. Everything else builds on this.
//
// The same text is compiled by NVRTC, for a device, and by a C++ compiler, for the emulator in host/; it includes no
// header of CUDA or of a standard library.
#pragma once

#if defined(__CUDACC__) || defined(__CUDACC_RTC__)
#define PAR_DEVICE 1
#define PAR_KERNEL extern "C" __global__
#define PAR_EXPORT(NAME)
#define PAR_SHARED(T, NAME, N) __shared__ T NAME[N]
// As PAR_SHARED, and neighbouring elements can be read 16 bytes at a time.
#define PAR_SHARED_ALIGNED(T, NAME, N) __shared__ __align__(16) T NAME[N]
#define PAR_DYNAMIC_SHARED(T, NAME)                                \
    extern __shared__ __align__(16) unsigned char par_dynamic_[]; \
    T* const NAME = reinterpret_cast<T*>(par_dynamic_)
#else
#define PAR_DEVICE 0
#include "host/emulator.h"
#endif

// Loads and stores of 16 bytes are atomic by definition from PTX 8.3 on, and in fact on all devices that Par compiles for.
#if PAR_DEVICE && (__CUDACC_VER_MAJOR__ > 12 || (__CUDACC_VER_MAJOR__ == 12 && __CUDACC_VER_MINOR__ >= 3))
#define PAR_B128 1
#else
#define PAR_B128 0
#endif

#if PAR_DEVICE
#define PAR_UNROLL _Pragma("unroll")
#define PAR_ROLLED _Pragma("unroll 1")
#else
#define PAR_UNROLL
#define PAR_ROLLED
#endif
#define PAR_INLINE __device__ __forceinline__

namespace par {

using i8 = signed char;
using i16 = short;
using i32 = int;
using i64 = long long;
using u8 = unsigned char;
using u16 = unsigned short;
using u32 = unsigned int;
using u64 = unsigned long long;
using f32 = float;
using f64 = double;

constexpr u32 all_lanes = 0xffffffffu;
constexpr u32 warp_size = 32;

// What operators derive from. An operator is an object, since it may hold what a program's function captures:
//
//     struct Op : par::Operator {
//         using T = …;                                   // trivially copyable, at most 64 bytes
//         static constexpr bool exact = …, commutative = …;  // if they differ from what stands here
//         __device__ T neutral() const;
//         __device__ T operator()(T a, T b) const;       // a is what comes first
//     };
//
// `exact`: associative bit by bit, so that any grouping gives the same result. Not so: floating-point + and *.
// `commutative`: the order of operands does not matter, bit by bit.
// Operators are applied to elements, to neutral elements and to their own results, and to nothing else.
struct Operator {
    static constexpr bool exact = false;
    static constexpr bool commutative = false;
};

template <class U>
struct Sum : Operator {
    using T = U;
    static constexpr bool exact = true, commutative = true;   // for integers; it is not used for others
    PAR_INLINE T neutral() const { return 0; }
    PAR_INLINE T operator()(T a, T b) const { return a + b; }
};
template <class U>
struct Largest : Operator {
    using T = U;
    static constexpr bool exact = true, commutative = true;
    T least;
    PAR_INLINE T neutral() const { return least; }
    PAR_INLINE T operator()(T a, T b) const { return a < b ? b : a; }
};

PAR_INLINE u32 lane_index() { return threadIdx.x % warp_size; }
PAR_INLINE u32 warp_index() { return threadIdx.x / warp_size; }
// Lanes before the calling one, as bits.
PAR_INLINE u32 lanes_before() { return (1u << lane_index()) - 1; }

template <class T>
PAR_INLINE T smaller(T a, T b) {
    return b < a ? b : a;
}
template <class T>
PAR_INLINE T larger(T a, T b) {
    return a < b ? b : a;
}
// The same number, of which the compiler does not know that: what is computed of it is computed again, instead of living in registers until then.
PAR_INLINE u32 forgotten(u32 x) {
#if PAR_DEVICE
    asm volatile("" : "+r"(x));
#endif
    return x;
}
PAR_INLINE u64 divide_up(u64 a, u64 b) { return a / b + (a % b != 0); }

// --- plain accesses ---------------------------------------------------------------------------------------------------------
// Bodies read and write arrays through these, so that the emulator can count what a warp's accesses touch.

#if !PAR_DEVICE && defined(EMU_COUNT)
template <class T>
__attribute__((always_inline)) inline T load(const T* p) {
    static char site;
    emu::machine->access(p, sizeof(T), false, &site);
    return *p;
}
template <class T>
__attribute__((always_inline)) inline void store(T* p, T value) {
    static char site;
    emu::machine->access(p, sizeof(T), true, &site);
    *p = value;
}
#else
template <class T>
PAR_INLINE T load(const T* p) {
    return *p;
}
template <class T>
PAR_INLINE void store(T* p, T value) {
    *p = value;
}
#endif

// --- accesses that other blocks see -------------------------------------------------------------------------------------------

struct alignas(16) Word16 {
    u64 lo, hi;
};

#if PAR_DEVICE

PAR_INLINE u32 load_acquire(const u32* p) {
    u32 v;
    asm volatile("ld.acquire.gpu.global.u32 %0,[%1];" : "=r"(v) : "l"(p) : "memory");
    return v;
}
PAR_INLINE void store_release(u32* p, u32 v) {
    asm volatile("st.release.gpu.global.u32 [%0],%1;" ::"l"(p), "r"(v) : "memory");
}
PAR_INLINE u32 load_relaxed(const u32* p) {
    u32 v;
    asm volatile("ld.relaxed.gpu.global.u32 %0,[%1];" : "=r"(v) : "l"(p) : "memory");
    return v;
}
PAR_INLINE void store_relaxed(u32* p, u32 v) {
    asm volatile("st.relaxed.gpu.global.u32 [%0],%1;" ::"l"(p), "r"(v) : "memory");
}
PAR_INLINE u64 load_relaxed(const u64* p) {
    u64 v;
    asm volatile("ld.relaxed.gpu.global.u64 %0,[%1];" : "=l"(v) : "l"(p) : "memory");
    return v;
}
PAR_INLINE void store_relaxed(u64* p, u64 v) {
    asm volatile("st.relaxed.gpu.global.u64 [%0],%1;" ::"l"(p), "l"(v) : "memory");
}
PAR_INLINE Word16 load_relaxed(const Word16* p) {
    Word16 v;
#if PAR_B128
    asm volatile("{ .reg .b128 w; ld.relaxed.gpu.global.b128 w,[%2]; mov.b128 {%0,%1},w; }" : "=l"(v.lo), "=l"(v.hi) : "l"(p) : "memory");
#else
    asm volatile("ld.relaxed.gpu.global.v2.u64 {%0,%1},[%2];" : "=l"(v.lo), "=l"(v.hi) : "l"(p) : "memory");
#endif
    return v;
}
PAR_INLINE void store_relaxed(Word16* p, Word16 v) {
#if PAR_B128
    asm volatile("{ .reg .b128 w; mov.b128 w,{%1,%2}; st.relaxed.gpu.global.b128 [%0],w; }" ::"l"(p), "l"(v.lo), "l"(v.hi) : "memory");
#else
    asm volatile("st.relaxed.gpu.global.v2.u64 [%0],{%1,%2};" ::"l"(p), "l"(v.lo), "l"(v.hi) : "memory");
#endif
}
// Adds, after all that this thread wrote before is seen, and before what it reads after.
PAR_INLINE u32 add_acquire_release(u32* p, u32 v) {
    u32 old;
    asm volatile("atom.acq_rel.gpu.global.add.u32 %0,[%1],%2;" : "=r"(old) : "l"(p), "r"(v) : "memory");
    return old;
}
// Whether the lock was free and is the caller's now: what its last owner wrote is seen.
PAR_INLINE bool try_lock(u32* lock) {
    u32 old;
    asm volatile("atom.acquire.gpu.global.cas.b32 %0,[%1],0,1;" : "=r"(old) : "l"(lock) : "memory");
    return old == 0;
}
PAR_INLINE void spin_pause() { __nanosleep(20); }

#else

PAR_INLINE u32 load_acquire(const u32* p) {
    emu::observed();
    return __atomic_load_n(p, __ATOMIC_ACQUIRE);
}
PAR_INLINE void store_release(u32* p, u32 v) {
    emu::changed();
    __atomic_store_n(p, v, __ATOMIC_RELEASE);
    emu::observed();
}
template <class T>
PAR_INLINE T load_relaxed(const T* p) {
    emu::observed();
    return __atomic_load_n(p, __ATOMIC_RELAXED);
}
template <class T>
PAR_INLINE void store_relaxed(T* p, EmuValue<T> v) {
    emu::changed();
    __atomic_store_n(p, v, __ATOMIC_RELAXED);
    emu::observed();
}
PAR_INLINE Word16 load_relaxed(const Word16* p) {
    emu::observed();
    Word16 v;
    emu::machine->copy16(&v, p);
    return v;
}
PAR_INLINE void store_relaxed(Word16* p, Word16 v) {
    emu::changed();
    emu::machine->copy16(p, &v);
    emu::observed();
}
PAR_INLINE u32 add_acquire_release(u32* p, u32 v) {
    emu::changed();
    return __atomic_fetch_add(p, v, __ATOMIC_ACQ_REL);
}
PAR_INLINE bool try_lock(u32* lock) {
    emu::changed();
    u32 unlocked = 0;
    return __atomic_compare_exchange_n(lock, &unlocked, 1u, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
}
PAR_INLINE void spin_pause() { emu::machine->yield(); }

#endif

PAR_INLINE void unlock(u32* lock) { store_release(lock, 0); }

// --- values as words ----------------------------------------------------------------------------------------------------------

template <class T>
struct Words {
    static constexpr int count = (sizeof(T) + 3) / 4;
    u32 w[count];
};
template <class T>
PAR_INLINE Words<T> to_words(const T& v) {
    Words<T> words{};
    memcpy(&words, &v, sizeof(T));
    return words;
}
template <class T>
PAR_INLINE T from_words(const Words<T>& words) {
    T v;
    memcpy(&v, &words, sizeof(T));
    return v;
}

// Shuffles of any trivially copyable type; all lanes of the warp take part.
template <class T>
PAR_INLINE T shuffle_up(T v, u32 delta) {
    Words<T> x = to_words(v);
    PAR_UNROLL
    for (int i = 0; i < Words<T>::count; i++) x.w[i] = __shfl_up_sync(all_lanes, x.w[i], delta);
    return from_words<T>(x);
}
template <class T>
PAR_INLINE T shuffle_down(T v, u32 delta) {
    Words<T> x = to_words(v);
    PAR_UNROLL
    for (int i = 0; i < Words<T>::count; i++) x.w[i] = __shfl_down_sync(all_lanes, x.w[i], delta);
    return from_words<T>(x);
}
template <class T>
PAR_INLINE T shuffle(T v, u32 source) {
    Words<T> x = to_words(v);
    PAR_UNROLL
    for (int i = 0; i < Words<T>::count; i++) x.w[i] = __shfl_sync(all_lanes, x.w[i], source);
    return from_words<T>(x);
}

}   // namespace par
