// How a failed check reaches the host.
//
// There is one record in device memory for all launches of a run. A kernel whose check fails writes to it, unless an earlier
// position of the same launch has; kernels launched after one that failed do nothing, so that the host may look
// at the record when it waits for a result anyhow. The host itself writes that a launch before all others has failed, to
// stop what runs.
#pragma once
#include "program/scalar.cuh"

namespace par {

struct Failure {
    u64 launch;   // number of the launch that failed; all ones if none did
    u64 pos;      // position of the element, likewise
    u64 lock;
    u64 check;    // number of the check in the program
    u64 args[4];  // bits of the values for its message
};

// Whether an earlier launch failed. Later ones run only when that has ended, so that all threads of a launch see the same.
PAR_INLINE bool has_failed(const Failure* f, u64 launch) { return load_relaxed(&f->launch) < launch; }

#if PAR_DEVICE
#define PAR_COLD __device__ __noinline__ inline
#else
#define PAR_COLD __attribute__((noinline, unused)) static
#endif

PAR_COLD void record_failure(Failure* f, u64 launch, u64 pos, u64 check, u64 a, u64 b, u64 c, u64 d) {
    if (pos >= load_relaxed(&f->pos)) return;
    while (atomicCAS(&f->lock, u64(0), u64(1)) != 0) spin_pause();
    __threadfence();
    if (pos < load_relaxed(&f->pos)) {
        store_relaxed(&f->launch, launch);
        store_relaxed(&f->pos, pos);
        store_relaxed(&f->check, check);
        store_relaxed(&f->args[0], a);
        store_relaxed(&f->args[1], b);
        store_relaxed(&f->args[2], c);
        store_relaxed(&f->args[3], d);
    }
    __threadfence();
    atomicExch(&f->lock, u64(0));
}

// The position of what fails in an operator: after all elements.
constexpr i64 after_all = 0x7fffffffffffffffll;

// What the code at one position needs besides its variables.
struct Here {
    Failure* failure;
    u64 launch;
    i64 pos;
    u64 lowest;   // address; calls keep the stack above it

    // Whether a call would leave too little of the stack.
    PAR_INLINE bool is_deep() const {
        char here;
        return reinterpret_cast<u64>(&here) < lowest;
    }

    // Whether there is nothing to be done any more: whoever runs the program has cancelled it. Loops ask now and then.
    PAR_INLINE bool is_over() const { return has_failed(failure, launch); }

    // Notes a failed check. False, so that it can be returned.
    PAR_INLINE bool fail(u64 check, u64 a = 0, u64 b = 0, u64 c = 0, u64 d = 0) const {
        record_failure(failure, launch, u64(pos), check, a, b, c, d);
        return false;
    }
};

// The address below which calls may not go, for a stack with room for that many bytes more.
PAR_INLINE u64 lowest_address(u64 room) {
    char here;
    return reinterpret_cast<u64>(&here) - room;
}

}   // namespace par
