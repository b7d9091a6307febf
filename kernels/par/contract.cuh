// Contraction: result[i, j] combines pair(left[i, k], right[j, k]) over all k, as a product of matrices does; or a batch of such.
//
//     a block has a tile of the results, and in steps of DEPTH:
//         the panels of both factors that its tile needs go to shared memory       each element is read once by a block
//         every thread combines them into its own results, in registers            each that it reads there it uses 4 or 8 times
//
// Results take their elements in the order of k, so that they are what a loop over k gives, bit by bit, whatever the tiles are. Where results are
// few, k is divided into parts of one length, a block each, whose results `combine_parts` combines in their order: lengths depend on sizes only.
#pragma once
#include "par/base.cuh"

namespace par {

constexpr int contract_threads = 256;

// Strides of a factor, in elements: to the next row (of the right one: column), and to the next k.
struct Strides {
    i64 side, depth;
};

// An index of a batch: how many there are, and what it adds to the places in both factors.
struct BatchIndex {
    i64 size, left, right;
};

// What a contraction is given. All members have 8 bytes.
template <class T, int BATCH>
struct Contraction {
    const T* left;
    Strides of_left;
    const T* right;
    Strides of_right;
    const T* initial;      // what results start from; null: `neutral`
    alignas(8) T neutral;
    T* out;                // the results of all products; of parts: those of all products, part by part
    u64 rows, columns, depth;
    u64 part, parts;       // length of a part, less than 2^32, and how many there are, each of which has some k unless there are none at all
    u64 products;
    BatchIndex batch[BATCH > 0 ? BATCH : 1];   // the outermost first
};

// So many columns next to each other belong to a thread.
constexpr u32 contract_run = 4;

template <class T>
struct alignas(contract_run * sizeof(T) < 16 ? contract_run * sizeof(T) : 16) ContractRun {
    T of[contract_run];
};

// SIDE rows (or columns) of a factor and DEPTH k of them, in shared memory by k. Each thread reads the same number of elements; neighbouring threads read
// those of neighbouring k if DEEP is true, else of neighbouring rows: it should say which are next to each other in memory. What lives as long as the
// kernel is little, since results need the registers.
template <class T, int SIDE, int DEPTH, bool DEEP>
struct ContractPanel {
    static constexpr u32 items = SIDE * DEPTH / contract_threads, pitch = SIDE + contract_run;
    static_assert(SIDE * DEPTH % contract_threads == 0 && contract_threads % SIDE == 0 && contract_threads % DEPTH == 0, "threads do the same");
    const Strides& strides;
    u64 at;             // address of the first element that this thread reads
    u32 exists;         // which of its elements are of rows that there are, as bits

    // `first`: the element at row 0 of the panel and the first k. `left`: rows from there on.
    PAR_INLINE ContractPanel(const T* first, const Strides& strides_, u64 left)
        : strides(strides_), exists(0) {
        at = reinterpret_cast<u64>(first) + u64(side(0) * strides.side + k(0) * strides.depth) * sizeof(T);
        PAR_UNROLL
        for (u32 i = 0; i < items; i++) exists |= u32(side(i) < left) << i;
    }
    // The row and the k of an element of this thread.
    PAR_INLINE u32 side(u32 i) const { return DEEP ? threadIdx.x / DEPTH + i * (contract_threads / DEPTH) : threadIdx.x % SIDE; }
    PAR_INLINE u32 k(u32 i) const { return DEEP ? threadIdx.x % DEPTH : threadIdx.x / SIDE + i * (contract_threads / SIDE); }

    // Elements that there are not are zero: nothing that is stored comes of them. `left`: k from here on.
    PAR_INLINE void read(T (&values)[items], u32 left) {
        const u64 step = DEEP ? u64(strides.side) * (contract_threads / DEPTH * sizeof(T)) : u64(strides.depth) * (contract_threads / SIDE * sizeof(T));
        const bool full = left >= DEPTH;
        PAR_UNROLL
        for (u32 i = 0; i < items; i++)
            values[i] = (exists >> i & 1) != 0 && (full || k(i) < left) ? load(reinterpret_cast<const T*>(at + i * step)) : T(0);
        at += u64(strides.depth) * (DEPTH * sizeof(T));
    }
    template <class Array>
    PAR_INLINE void write(const T (&values)[items], Array&& shared, u32 first) const {
        PAR_UNROLL
        for (u32 i = 0; i < items; i++) shared[first + k(i) * pitch + side(i)] = values[i];
    }
};

// A tile has 64 * HIGH rows and 64 * WIDE columns, of which a thread has 4 * HIGH and 4 * WIDE. 256 threads.
// Grid: contract_tiles * products * parts. combine(T, T) and pair(T of the left factor, T of the right one) give a T.
template <int HIGH, int WIDE>
PAR_INLINE u64 contract_tiles(u64 rows, u64 columns) {
    return divide_up(rows, 64 * HIGH) * divide_up(columns, 64 * WIDE);
}

// The tile of a block: its first row and column, its first k and how many there are, and where the factors of its product begin.
struct ContractTile {
    u64 row, column, k;
    u32 depth;
    i64 left, right;
    u64 product, part;
};
template <int HIGH, int WIDE, class T, int BATCH>
PAR_INLINE ContractTile contract_tile(const Contraction<T, BATCH>& c, u32 block) {
    const u64 across = divide_up(c.columns, 64 * WIDE), tiles = contract_tiles<HIGH, WIDE>(c.rows, c.columns);
    const u64 tile = block % tiles, product = block / tiles % c.products, part = block / tiles / c.products;
    i64 left = 0, right = 0;
    u64 rest = product;
    PAR_UNROLL
    for (int d = BATCH - 1; d >= 0; d--) {
        const i64 index = i64(rest % u64(c.batch[d].size));
        rest /= u64(c.batch[d].size);
        left += index * c.batch[d].left;
        right += index * c.batch[d].right;
    }
    const u64 k = part * c.part;
    return {tile / across * (64 * HIGH), tile % across * (64 * WIDE), k, u32(smaller(c.depth - k, c.part)), left, right, product, part};
}

// each(i, j, at, exist) for every run of results of this thread: that of its row i from its column j on, the place of the first one among the results of all
// products, and how many of them there are.
template <int HIGH, int WIDE, class T, int BATCH, class Each>
PAR_INLINE void contract_results(const Contraction<T, BATCH>& c, const ContractTile& tile, Each each) {
    constexpr u32 run = contract_run;
    const u64 top = tile.row + threadIdx.x / 16 * run, left = tile.column + threadIdx.x % 16 * run;
    PAR_UNROLL
    for (u32 i = 0; i < run * HIGH; i++) {
        const u64 row = top + i / run * 64 + i % run;
        PAR_UNROLL
        for (u32 j = 0; j < run * WIDE; j += run) {
            const u64 column = left + j / run * 64;
            const bool exists = row < c.rows && column < c.columns;
            each(i, j, (tile.product * c.rows + row) * c.columns + column, exists ? u32(smaller(c.columns - column, u64(run))) : 0u);
        }
    }
}

// DEEP_LEFT, DEEP_RIGHT: k are next to each other in that factor.
template <int HIGH, int WIDE, int DEPTH, bool DEEP_LEFT, bool DEEP_RIGHT, class T, int BATCH, class Combine, class Pair>
PAR_INLINE void contract(const Contraction<T, BATCH>& c, Combine combine, Pair pair) {
    constexpr u32 run = contract_run;
    using Left = ContractPanel<T, 64 * HIGH, DEPTH, DEEP_LEFT>;
    using Right = ContractPanel<T, 64 * WIDE, DEPTH, DEEP_RIGHT>;
    // Two of each: while one is read the next one is written.
    PAR_SHARED_ALIGNED(T, of_left, 2 * DEPTH * Left::pitch);
    PAR_SHARED_ALIGNED(T, of_right, 2 * DEPTH * Right::pitch);
    const ContractTile tile = contract_tile<HIGH, WIDE>(c, blockIdx.x);
    const u32 y = threadIdx.x / 16 * run, x = threadIdx.x % 16 * run;

    T results[run * HIGH][run * WIDE];
    contract_results<HIGH, WIDE>(c, tile, [&](u32 i, u32 j, u64 at, u32 exist) {
        PAR_UNROLL
        for (u32 s = 0; s < run; s++) results[i][j + s] = s < exist && c.initial ? load(c.initial + (at + s)) : c.neutral;
    });
    const i64 k_of_left = i64(tile.k) * c.of_left.depth, k_of_right = i64(tile.k) * c.of_right.depth;
    Left left(c.left + (tile.left + i64(tile.row) * c.of_left.side + k_of_left), c.of_left, c.rows - tile.row);
    Right right(c.right + (tile.right + i64(tile.column) * c.of_right.side + k_of_right), c.of_right, c.columns - tile.column);
    T next_left[Left::items], next_right[Right::items];
    const auto read = [&](u32 left_from_there) {
        left.read(next_left, left_from_there);
        right.read(next_right, left_from_there);
    };
    // One k of the panels that begin there.
    const auto step = [&](u32 at_left, u32 at_right) {
        T a[run * HIGH], b[run * WIDE];
        PAR_UNROLL
        for (u32 i = 0; i < run * HIGH; i++) a[i] = of_left[at_left + i / run * 64 + y + i % run];
        PAR_UNROLL
        for (u32 j = 0; j < run * WIDE; j++) b[j] = of_right[at_right + j / run * 64 + x + j % run];
        PAR_UNROLL
        for (u32 i = 0; i < run * HIGH; i++) {
            PAR_UNROLL
            for (u32 j = 0; j < run * WIDE; j++) results[i][j] = combine(results[i][j], pair(a[i], b[j]));
        }
    };
    u32 remaining = tile.depth, half = 0;
    if (remaining > 0) read(remaining);
    while (remaining > 0) {
        const u32 at_left = half * DEPTH * Left::pitch, at_right = half * DEPTH * Right::pitch, steps = smaller(remaining, u32(DEPTH));
        left.write(next_left, of_left, at_left);
        right.write(next_right, of_right, at_right);
        __syncthreads();
        remaining -= steps;
        half ^= 1;
        if (remaining > 0) read(remaining);
        if (steps == DEPTH) {
            // More at a time would need more registers than there are for two blocks.
            constexpr u32 together = HIGH * WIDE > 1 ? 2 : 4;
            PAR_ROLLED
            for (u32 from = 0; from < DEPTH; from += together) {
                PAR_UNROLL
                for (u32 d = 0; d < together; d++) step(at_left + (from + d) * Left::pitch, at_right + (from + d) * Right::pitch);
            }
        } else {
            for (u32 d = 0; d < steps; d++) step(at_left + d * Left::pitch, at_right + d * Right::pitch);
        }
    }

    // Runs of a row are stored whole where each is aligned like the first.
    using Run = ContractRun<T>;
    const ContractTile same = contract_tile<HIGH, WIDE>(c, forgotten(blockIdx.x));
    T* const out = c.out + same.part * c.products * c.rows * c.columns;
    const bool whole = c.columns % run == 0 && reinterpret_cast<u64>(c.out) % sizeof(Run) == 0;
    contract_results<HIGH, WIDE>(c, same, [&](u32 i, u32 j, u64 at, u32 exist) {
        if (whole && exist > 0) {
            Run values;
            PAR_UNROLL
            for (u32 s = 0; s < run; s++) values.of[s] = results[i][j + s];
            store(reinterpret_cast<Run*>(out + at), values);
        } else {
            PAR_UNROLL
            for (u32 s = 0; s < run; s++)
                if (s < exist) store(out + (at + s), results[i][j + s]);
        }
    });
}

}   // namespace par
