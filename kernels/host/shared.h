// Shared memory that checks itself (EMU_RACE): bounds, reads of what nobody wrote, and accesses of two threads, one of them
// a write, that no barrier orders. Two accesses are ordered if a block barrier lies between them, or, within one warp, a
// __syncwarp; shuffles and votes order nothing. Atomic accesses are ordered among themselves.
//
// An array is a `Checked<T>`; its elements are `Element`s that convert to values and take values. So device code reads and
// writes elements whole (`a[i]`, `a[i] = v`, `atomicAdd(&a[i], v)`), and names the type of what it reads.
#pragma once

namespace emu {

constexpr u32 nobody = ~0u;

// When an element was accessed last, and by whom.
struct Access {
    u32 thread = nobody, block_epoch = 0, warp_epoch = 0;
    bool atomic = false;
};

// Two readers are kept, of different warps if there were such: a write must be ordered after both.
struct Shadow {
    Access write, read, other_read;
};

inline u32 thread_number() {
    const Thread& t = *machine->thread;
    return t.x + machine->block_dim.x * (t.y + machine->block_dim.y * t.z);
}

inline bool ordered(const Access& before, bool atomic) {
    u32 me = thread_number();
    const Thread& t = *machine->thread;
    if (before.thread == nobody || before.thread == me || before.block_epoch != t.block_epoch) return true;
    if (before.atomic && atomic) return true;
    return before.thread / 32 == me / 32 && before.warp_epoch != t.warp_epoch;
}

template <class T>
struct Checked;

template <class T>
struct ElementPointer {
    const Checked<T>* array;
    long long index;
};

template <class T>
struct Element {
    const Checked<T>* array;
    long long index;

    ElementPointer<T> operator&() const { return {array, index}; }
    operator T() const {
        array->check_read(index, false);
        return array->values[index];
    }
    const Element& operator=(const T& value) const {
        array->check_write(index, false);
        array->values[index] = value;
        return *this;
    }
    const Element& operator=(const Element& other) const { return *this = T(other); }
};

template <class T>
struct Checked {
    T* values;
    Shadow* shadows;
    long long size;
    const char* name;

    Element<T> operator[](long long i) const {
        if (i < 0 || i >= size) machine->fatal_shared("shared memory out of bounds", name, i, size, nobody);
        return {this, i};
    }
    Access now(bool atomic) const {
        const Thread& t = *machine->thread;
        return {thread_number(), t.block_epoch, t.warp_epoch, atomic};
    }
    void race(const char* what, long long i, const Access& before) const {
        machine->fatal_shared(what, name, i, size, before.thread);
    }
    void check_read(long long i, bool atomic) const {
        Shadow& s = shadows[i];
        if (s.write.thread == nobody) machine->fatal_shared("read of unwritten shared memory", name, i, size, nobody);
        if (!ordered(s.write, atomic)) race("shared memory race (read after write)", i, s.write);
        Access me = now(atomic);
        bool same_epoch = s.read.thread != nobody && s.read.block_epoch == me.block_epoch;
        if (!same_epoch) s.other_read = Access{};
        else if (s.read.thread / 32 != me.thread / 32) s.other_read = s.read;
        s.read = me;
    }
    void check_write(long long i, bool atomic) const {
        Shadow& s = shadows[i];
        if (!ordered(s.write, atomic)) race("shared memory race (write after write)", i, s.write);
        if (!ordered(s.read, atomic)) race("shared memory race (write after read)", i, s.read);
        if (!ordered(s.other_read, atomic)) race("shared memory race (write after read)", i, s.other_read);
        s.write = now(atomic);
    }
};

template <class T>
inline Checked<T> checked(char* memory, bool fresh, long long size, const char* name) {
    u64 bytes = (u64(size) * sizeof(T) + 15) / 16 * 16;
    Shadow* shadows = reinterpret_cast<Shadow*>(memory + bytes);
    if (fresh)
        for (long long i = 0; i < size; i++) shadows[i] = Shadow{};
    return {reinterpret_cast<T*>(memory), shadows, size, name};
}
template <class T>
inline Checked<T> checked_static(const void* key, long long size, const char* name) {
    bool fresh = false;
    u64 bytes = (u64(size) * sizeof(T) + 15) / 16 * 16 + u64(size) * sizeof(Shadow);
    char* memory = machine->shared(key, bytes, &fresh);
    return checked<T>(memory, fresh, size, name);
}
// The shadows of dynamic shared memory are an array of their own, which takes the place of the real one too.
template <class T>
inline Checked<T> checked_dynamic(const void* key, const char* name) {
    return checked_static<T>(key, machine->dynamic_bytes / sizeof(T), name);
}

}   // namespace emu

template <class T, class F>
inline T emu_update(emu::ElementPointer<T> p, F f) {
    emu::changed();
    p.array->check_read(p.index, true);
    p.array->check_write(p.index, true);
    T old = p.array->values[p.index];
    p.array->values[p.index] = f(old);
    return old;
}
#define EMU_CHECKED_ATOMIC(NAME, RESULT)                                  \
    template <class T>                                                    \
    inline T NAME(emu::ElementPointer<T> p, EmuValue<T> v) {              \
        return emu_update(p, [v](T old) { return T(RESULT); });           \
    }
EMU_CHECKED_ATOMIC(atomicAdd, old + v)
EMU_CHECKED_ATOMIC(atomicMin, v < old ? v : old)
EMU_CHECKED_ATOMIC(atomicMax, old < v ? v : old)
EMU_CHECKED_ATOMIC(atomicAnd, old & v)
EMU_CHECKED_ATOMIC(atomicOr, old | v)
EMU_CHECKED_ATOMIC(atomicXor, old ^ v)
EMU_CHECKED_ATOMIC(atomicExch, v)
template <class T>
inline T atomicCAS(emu::ElementPointer<T> p, EmuValue<T> compare, EmuValue<T> v) {
    return emu_update(p, [compare, v](T old) { return old == compare ? v : old; });
}
#undef EMU_CHECKED_ATOMIC

#define PAR_SHARED(T, NAME, N) \
    static char NAME##_key;    \
    const emu::Checked<T> NAME = emu::checked_static<T>(&NAME##_key, (N), #NAME)
#define PAR_DYNAMIC_SHARED(T, NAME) \
    static char NAME##_key;         \
    const emu::Checked<T> NAME = emu::checked_dynamic<T>(&NAME##_key, #NAME)
