// Decoupled look-back (Merrill and Garland, 2016): how the tiles of a single-pass scan learn what comes before them.
//
// Tiles are handed out in order by a counter, so a tile waits only for tiles that run already. Each publishes what its own
// elements fold to, then what everything up to its end does. A tile is *closed* if what is before it cannot matter for what
// follows: it contains the head of a segment, say. It publishes its end at once.
//
// In plain form, a tile folds what it finds: aggregates back to the nearest prefix. How they are grouped depends on timing, so
// that form is for exact operators. Otherwise look-back has a fixed shape: tiles form groups of 32, and groups sections of 32 groups. A
// tile waits for the earlier tiles of its group, for the earlier groups of its section, and for the prefix up to the previous section, and
// folds each in the order of their indices. Only the last of the three depends on other tiles' waiting: a chain of one step for 1024 tiles.
//
// The states are memory that must be zero before the launch, of
//     state_bytes = 64 + tiles * slot_bytes
//     slot_bytes  = 8 if sizeof(T) <= 4; 16 if <= 8; else 16 + 2 * (sizeof(T) rounded up to 16).
#pragma once
#include "par/warp.cuh"

namespace par {

enum Status : u32 { EMPTY = 0, AGGREGATE = 1, PREFIX = 2 };

template <class T>
struct Found {
    u32 status;
    T value;
};

// A value of up to 4 bytes and its status are one word of 8 bytes.
template <class T, int WORDS = Words<T>::count>
struct Slot {
    static constexpr u64 bytes = 16 + 2 * ((sizeof(T) + 15) / 16 * 16);
    // A larger value stands beside a flag. There is room for both, since a reader may still copy the aggregate.
    static PAR_INLINE T* value(char* slot, u32 status) {
        return reinterpret_cast<T*>(slot + 16 + (status == PREFIX ? (sizeof(T) + 15) / 16 * 16 : 0));
    }
    static PAR_INLINE void put(char* slot, u32 status, const T& v) {
        *value(slot, status) = v;
        store_release(reinterpret_cast<u32*>(slot), status);
    }
    static PAR_INLINE Found<T> get(char* slot) {
        Found<T> found{load_acquire(reinterpret_cast<u32*>(slot)), T()};
        if (found.status != EMPTY) found.value = *value(slot, found.status);
        return found;
    }
};
template <class T>
struct Slot<T, 1> {
    static constexpr u64 bytes = 8;
    static PAR_INLINE void put(char* slot, u32 status, const T& v) {
        store_relaxed(reinterpret_cast<u64*>(slot), u64(status) << 32 | to_words(v).w[0]);
    }
    static PAR_INLINE Found<T> get(char* slot) {
        const u64 word = load_relaxed(reinterpret_cast<u64*>(slot));
        return {u32(word >> 32), from_words<T>({u32(word)})};
    }
};
template <class T>
struct Slot<T, 2> {
    static constexpr u64 bytes = 16;
    static PAR_INLINE void put(char* slot, u32 status, const T& v) {
        const Words<T> words = to_words(v);
        store_relaxed(reinterpret_cast<Word16*>(slot), {u64(words.w[1]) << 32 | words.w[0], status});
    }
    static PAR_INLINE Found<T> get(char* slot) {
        const Word16 word = load_relaxed(reinterpret_cast<Word16*>(slot));
        return {u32(word.hi), from_words<T>({{u32(word.lo), u32(word.lo >> 32)}})};
    }
};

template <class T>
struct TileStates {
    char* memory;
    u32 tiles;

    PAR_INLINE char* slot(u32 tile) const { return memory + 64 + tile * Slot<T>::bytes; }
    // The number of the tile that this block is to do. All threads call it.
    PAR_INLINE u32 next_tile() const {
        PAR_SHARED(u32, ticket, 1);
        if (threadIdx.x == 0) ticket[0] = atomicAdd(reinterpret_cast<u32*>(memory), 1u);
        __syncthreads();
        return ticket[0];
    }
};

// Every lane with `wanted` gets its slot when those of all lanes before the first prefix are there; and the lanes with a prefix, as bits.
template <class T>
PAR_INLINE Found<T> await(char* slot, bool wanted, const Found<T>& otherwise, bool up_to_prefix, u32& prefixes) {
    Found<T> found = otherwise;
    if (wanted) found.status = EMPTY;
    for (;;) {
        if (wanted && found.status != PREFIX) found = Slot<T>::get(slot);
        prefixes = __ballot_sync(all_lanes, found.status == PREFIX);
        const u32 missing = __ballot_sync(all_lanes, wanted && found.status == EMPTY);
        const u32 needed = up_to_prefix && prefixes ? (prefixes & -prefixes) - 1 : all_lanes;
        if (!(missing & needed)) return found;
        spin_pause();
    }
}

template <class Op>
PAR_INLINE typename Op::T look_back_plain(const Op& op, const TileStates<typename Op::T>& states, u32 tile) {
    using T = typename Op::T;
    const u32 lane = lane_index();
    T before = op.neutral();
    bool first = true;
    for (i64 nearest = i64(tile) - 1;; nearest -= warp_size) {
        // Lane i looks at the tile i before the nearest; before the first tile there is a neutral prefix.
        const bool exists = nearest >= i64(lane);
        u32 prefixes;
        const Found<T> found = await<T>(states.slot(exists ? u32(nearest - lane) : 0), exists, {PREFIX, op.neutral()}, true, prefixes);
        const u32 last = prefixes ? __ffs(prefixes) - 1 : warp_size - 1;
        const T window = shuffle(warp_fold_reversed(op, lane <= last ? found.value : op.neutral()), 0);
        before = first ? window : op(window, before);
        first = false;
        if (prefixes) return before;
    }
}

// What the slots first + i * step, for i below count, hold, folded; those before a closed one do not matter.
template <class T>
struct Earlier {
    T value;
    bool closed;
};
template <class Op>
PAR_INLINE Earlier<typename Op::T> fold_earlier(const Op& op, const TileStates<typename Op::T>& states, u32 first, u32 step, u32 count) {
    using T = typename Op::T;
    const u32 lane = lane_index();
    u32 closed;
    const Found<T> found = await<T>(states.slot(first + (lane < count ? lane : 0) * step), lane < count, {EMPTY, op.neutral()}, false, closed);
    const u32 from = closed ? 31 - __clz(int(closed)) : 0;
    return {shuffle(warp_fold(op, lane >= from ? found.value : op.neutral()), 0), closed != 0};
}

constexpr u32 GROUP = 32, SECTION = 1024;

// The last tile of a group is not asked for by its own group; in its slot stands what the group folds to. In that of the last tile of a section
// stands the prefix up to there.
template <class Op>
PAR_INLINE typename Op::T look_back_fixed(
    const Op& op, const TileStates<typename Op::T>& states, u32 tile, const typename Op::T& aggregate, bool closed
) {
    using T = typename Op::T;
    const u32 place = tile % GROUP, section = tile - tile % SECTION, group = tile % SECTION / GROUP;
    const bool leader = lane_index() == 0, ends_group = place == GROUP - 1, ends_section = tile % SECTION == SECTION - 1;
    if (leader && !ends_group) Slot<T>::put(states.slot(tile), closed ? PREFIX : AGGREGATE, aggregate);
    const Earlier<T> tiles = fold_earlier(op, states, tile - place, 1, place);
    if (leader && ends_group && !ends_section)
        Slot<T>::put(states.slot(tile), closed || tiles.closed ? PREFIX : AGGREGATE, closed ? aggregate : op(tiles.value, aggregate));
    T before = tiles.value;
    if (!tiles.closed) {
        const Earlier<T> groups = fold_earlier(op, states, section + GROUP - 1, GROUP, group);
        if (group > 0) before = place == 0 ? groups.value : op(groups.value, before);
        if (!groups.closed && section > 0) {
            const T outside = fold_earlier(op, states, section - 1, 0, 1).value;
            before = tile == section ? outside : op(outside, before);
        }
    }
    if (leader && ends_section) Slot<T>::put(states.slot(tile), PREFIX, closed ? aggregate : op(before, aggregate));
    return before;
}

// Publishes a tile's aggregate and gives what all before it folds to. For one warp; all lanes get the result.
template <class Op>
PAR_INLINE typename Op::T look_back(
    const Op& op, const TileStates<typename Op::T>& states, u32 tile, typename Op::T aggregate, bool closed
) {
    using T = typename Op::T;
    const bool leader = lane_index() == 0;
    closed = closed || tile == 0;
    if (!Op::exact) return look_back_fixed(op, states, tile, aggregate, closed);
    if (leader) Slot<T>::put(states.slot(tile), closed ? PREFIX : AGGREGATE, aggregate);
    const T before = tile == 0 ? op.neutral() : look_back_plain(op, states, tile);
    if (leader && !closed) Slot<T>::put(states.slot(tile), PREFIX, op(before, aggregate));
    return before;
}

}   // namespace par
