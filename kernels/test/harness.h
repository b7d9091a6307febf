// What the tests share: launching kernels on the emulator, inputs, sizes, schedules, comparison with a scalar reference.
//
// A test program runs all its cases under several schedules. `PROGRAM [--seeds N] [--max N] [--runs N] [--ordered 0]`: how many random
// schedules, the largest size, how many runs are compared bit by bit, and no schedules in order.
#pragma once
#include "gpu.h"
#include "host/emulator.hpp"
#include "par/base.cuh"
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <initializer_list>
#include <random>
#include <string>
#include <tuple>
#include <vector>

// Where kernels are compiled apart (test/run), only what they take is looked at here.
#ifdef TEST_APART
#undef PAR_KERNEL
#undef PAR_EXPORT
#define PAR_KERNEL inline
#define PAR_EXPORT(NAME) extern "C" void par_launch_##NAME(emu::Machine*, void**);
#endif

namespace test {

using par::i32, par::i64, par::larger, par::smaller, par::u16, par::u32, par::u64, par::u8;

inline emu::Config config;
inline int failures = 0, cases = 0;
inline u64 seeds = 3, largest = 20000, runs = 30;
inline bool ordered = true;

template <class... P, size_t... I>
void launch_with(
    emu::LaunchFunction kernel, const char* name, dim3 grid, dim3 block, u32 shared, std::tuple<P...>& values, std::index_sequence<I...>
) {
    void* pointers[] = {const_cast<void*>(static_cast<const void*>(&std::get<I>(values)))..., nullptr};
    if (u64(grid.x) * grid.y == 0) return;
    if (gpu) gpu->launch(name, grid, block, shared, pointers, {std::is_pointer_v<P>...});
    else emu::launch(kernel, grid, block, shared, pointers, config);
}
template <class... P, class... A>
void launch(emu::LaunchFunction kernel, const char* name, void (*)(P...), dim3 grid, dim3 block, u32 shared, A... arguments) {
    std::tuple<std::remove_cv_t<P>...> values(arguments...);
    launch_with(kernel, name, grid, block, shared, values, std::index_sequence_for<P...>{});
}
#define LAUNCH_GRID(NAME, GRID, BLOCK, SHARED, ...) \
    test::launch(par_launch_##NAME, #NAME, decltype(&NAME)(), GRID, BLOCK, SHARED, __VA_ARGS__)
#define LAUNCH_SHARED(NAME, GRID, THREADS, SHARED, ...) LAUNCH_GRID(NAME, dim3(u32(GRID)), dim3(THREADS), SHARED, __VA_ARGS__)
#define LAUNCH(NAME, GRID, THREADS, ...) LAUNCH_SHARED(NAME, GRID, THREADS, 0, __VA_ARGS__)

inline void check(bool fine, const std::string& what) {
    cases++;
    if (fine) return;
    failures++;
    fprintf(stderr, "WRONG: %s (seed %llu, %d resident)\n", what.c_str(), (unsigned long long)config.seed, config.resident);
    if (failures > 20) exit(1);
}

// Compares arrays; the sanitizers see every byte past the end, since an array is exactly as long as it is.
template <class T>
void check_equal(const vector<T>& got, const vector<T>& wanted, const std::string& what) {
    size_t i = 0;
    while (i < wanted.size() && i < got.size() && got[i] == wanted[i]) i++;
    bool equal = i == wanted.size() && i == got.size();
    check(equal, what + ", size " + std::to_string(wanted.size()) + ", at " + std::to_string(i));
}

// Bit by bit.
template <class T>
bool same_bits(const vector<T>& a, const vector<T>& b) {
    return a.size() == b.size() && (a.empty() || !memcmp(a.data(), b.data(), a.size() * sizeof(T)));
}

// Memory that tile states need, zeroed.
inline vector<char> tile_states(u64 tiles, u64 slot_bytes) {
    vector<char> memory(64 + tiles * slot_bytes + 16);
    return memory;
}
template <class T>
T* aligned(vector<T>& memory) {
    return reinterpret_cast<T*>((reinterpret_cast<uintptr_t>(memory.data()) + 15) & ~uintptr_t(15));
}

inline std::mt19937_64& generator() {
    static std::mt19937_64 g(42);
    return g;
}
inline u64 random_below(u64 n) { return generator()() % n; }

template <class T, class F>
vector<T> make(u64 n, F f) {
    vector<T> v(n);
    for (u64 i = 0; i < n; i++) v[i] = f(i);
    return v;
}

// Sizes around nothing, one, and a tile.
inline vector<u64> sizes(u64 tile) {
    vector<u64> all;
    for (u64 n : {u64(0), u64(1), u64(31), tile - 1, tile, tile + 1, 3 * tile + 7, 40 * tile + 5, largest})
        if (n <= largest) all.push_back(n);
    return all;
}

// Rows as offsets, with what is hard about them.
struct RowCase {
    std::string name;
    vector<i64> offsets;
    u64 rows() const { return offsets.size() - 1; }
    u64 elements() const { return u64(offsets.back()); }
};

inline RowCase rows_of(const std::string& name, const vector<u64>& lengths) {
    RowCase r{name, {0}};
    for (u64 l : lengths) r.offsets.push_back(r.offsets.back() + i64(l));
    return r;
}

inline vector<RowCase> row_cases(u64 tile) {
    u64 n = smaller(largest, 12 * tile);
    vector<RowCase> all;
    all.push_back(rows_of("no rows", {}));
    all.push_back(rows_of("one empty row", {0}));
    all.push_back(rows_of("only empty rows", vector<u64>(2 * tile + 3, 0)));
    all.push_back(rows_of("one row", {n}));
    all.push_back(rows_of("one element", {1}));
    all.push_back(rows_of("empty, all, empty", {0, 0, n, 0, 0, 0}));
    all.push_back(rows_of("rows of one", vector<u64>(tile + 5, 1)));
    all.push_back(rows_of("rows of a tile", vector<u64>(4, tile)));
    all.push_back(rows_of("rows of a tile less their end", vector<u64>(4, tile - 1)));
    vector<u64> skewed, mixed, sparse;
    for (u64 i = 0; i < 3 * tile; i++) skewed.push_back(i == tile ? n : random_below(3) == 0);
    for (u64 left = n; left > 0;) {
        u64 l = random_below(4) == 0 ? 0 : smaller(left, random_below(1 + (u64(1) << random_below(12))));
        mixed.push_back(l);
        left -= l;
    }
    for (u64 i = 0; i < 4 * tile; i++) sparse.push_back(random_below(200) == 0 ? random_below(50) : 0);
    all.push_back(rows_of("skewed", skewed));
    all.push_back(rows_of("mixed", mixed));
    all.push_back(rows_of("mostly empty", sparse));
    return all;
}

// Runs `body` in order, then under random schedules with several blocks at a time.
inline void schedules(const std::function<void()>& body) {
    config = emu::Config{};
    if (gpu) return body();
    if (ordered) {
        body();
        config.resident = 3;
        body();
    }
    for (u64 s = 1; s <= seeds; s++) {
        config.seed = s;
        config.preempt = s % 2;
        config.resident = 2 + int(s % 4);
        body();
    }
    config = emu::Config{};
}

// Takes the program's arguments. `source` has its kernels, if they can be run on a device.
inline int arguments(int count, char** values, const char* source) {
    std::string driver, nvrtc, kernels;
    for (int i = 1; i + 1 < count; i += 2) {
        if (!strcmp(values[i], "--seeds")) seeds = strtoull(values[i + 1], nullptr, 10);
        else if (!strcmp(values[i], "--max")) largest = strtoull(values[i + 1], nullptr, 10);
        else if (!strcmp(values[i], "--runs")) runs = strtoull(values[i + 1], nullptr, 10);
        else if (!strcmp(values[i], "--ordered")) ordered = values[i + 1][0] != '0';
        else if (!strcmp(values[i], "--gpu")) driver = values[i + 1];
        else if (!strcmp(values[i], "--nvrtc")) nvrtc = values[i + 1];
        else if (!strcmp(values[i], "--kernels")) kernels = values[i + 1];
        else return fprintf(stderr, "unknown option %s\n", values[i]), 2;
    }
    if (!driver.empty()) gpu = new Gpu(driver.c_str(), nvrtc.c_str(), kernels, source);
    return 0;
}
inline int result(const char* name) {
    printf("%s: %d comparisons, %d wrong\n", name, cases, failures);
    return failures != 0;
}

}   // namespace test
