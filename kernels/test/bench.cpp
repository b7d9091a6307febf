// How fast kernels are on a device: gigabytes per second, the part of what a copy on the device reaches in the same run, and beside each
// the textbook variants.
//
//     bench --gpu libcuda.so.1 --nvrtc LIBRARY --kernels FOLDER [--max ELEMENTS]
//
// Bytes are those that a kernel must move at least. Kernels need their states cleared; that is part of the time.
#include "harness.h"
#include "par/transpose.cuh"

namespace test {
namespace {

using par::divide_up;
using Address = Gpu::Address;

double copy_speed = 0;

// Times `work` and prints a line.
template <class Work>
void line(const char* name, double bytes, Work work) {
    const float ms = gpu->milliseconds(9, work);
    const double speed = bytes / (ms * 1e6);
    if (copy_speed == 0) copy_speed = speed;
    printf("%-40s %10.3f ms %9.1f GB/s %6.1f %%\n", name, ms, speed, speed / copy_speed * 100);
}

struct Arrays {
    u64 n;
    Address in, out, wide, states;
    // Clears the states of so many tiles.
    void* fresh(u64 tiles, u64 slot) const {
        gpu->clear(states, 64 + tiles * slot);
        return reinterpret_cast<void*>(states);
    }
};

void flat(const Arrays& a) {
    const u64 n = a.n;
    const double moved = 8.0 * n;
    line("copy", moved, [&] { gpu->copy(a.out, a.in, 4 * n); });
    line("map", moved, [&] { gpu->start("map_f32", divide_up(n, 1024), 256, 0, a.in, a.out, n, 2.0f); });
    line("scan, i32 sum", moved, [&] { gpu->start("scan_i32", divide_up(n, 3840), 256, 0, a.in, a.out, n, a.fresh(divide_up(n, 3840), 8)); });
    line("scan, f32 sum, fixed shape", moved, [&] {
        gpu->start("scan_f32", divide_up(n, 3840), 256, 0, a.in, a.out, n, a.fresh(divide_up(n, 3840), 8));
    });
    line("filter, a third kept, with positions", 4.0 * n + 4.0 * n, [&] {
        void* state = a.fresh(divide_up(n, 2048), 16);
        gpu->start("filter_i32", divide_up(n, 2048), 256, 0, a.in, a.out, a.wide, a.wide, n, state);
    });
    line("flood, 8-byte sources", 12.0 * n, [&] {
        gpu->start("flood_i32", divide_up(n, 4096), 256, 0, a.in, a.wide, n, a.fresh(divide_up(n, 4096), 16));
    });
}

void reductions(const Arrays& a) {
    const u64 n = a.n, chunk = larger(u64(3840), divide_up(divide_up(n, 1024), 3840) * 3840);
    const u32 m = u32(n);
    const double moved = 4.0 * n;
    line("reduction, f32", moved, [&] {
        gpu->clear(a.states, 64);
        gpu->start("reduce_f32", divide_up(n, chunk), 256, 0, a.in, a.out, n, chunk, a.wide, a.states);
    });
    line("  in global memory", moved, [&] {
        for (u32 left = m; left > 1; left = (left + 1) / 2) gpu->start("book_reduce_level", divide_up(left, 512) + 1, 256, 0, a.out, left, (left + 1) / 2);
    });
    line("  interleaved addressing", moved, [&] { gpu->start("book_reduce_interleaved", divide_up(n, 256), 256, 0, a.in, a.out, m); });
    line("  sequential addressing", moved, [&] { gpu->start("book_reduce_sequential", divide_up(n, 256), 256, 0, a.in, a.out, m); });
    line("  two levels", moved, [&] {
        gpu->start("book_reduce_two_levels", 1024, 256, 0, a.in, a.wide, m);
        gpu->start("book_reduce_two_levels", 1, 256, 0, a.wide, a.out, u32(1024));
    });
}

// Rows of a length, but one that has an eighth of all elements.
void rows(const Arrays& a, u64 length) {
    const u64 n = a.n, giant = n / 8, count = (n - giant) / length;
    std::vector<i64> offsets{0};
    for (u64 i = 0; i <= count; i++) offsets.push_back(offsets.back() + i64(i == count / 2 ? giant : length));
    const u64 r = offsets.size() - 1, elements = u64(offsets.back()), tiles = divide_up(r + elements, 1408);
    const Address at = gpu->allocate(8 * offsets.size());
    gpu->upload(at, offsets.data(), 8 * offsets.size());
    const std::string of = ", rows of " + std::to_string(length);
    line(("segmented reduction, f32" + of).c_str(), 4.0 * elements + 12.0 * r, [&] {
        gpu->start("segreduce_f32", tiles, 128, 0, a.in, a.out, r, elements, at, a.fresh(tiles, 8));
    });
    line(("segmented scan, i32" + of).c_str(), 8.0 * elements + 8.0 * r, [&] {
        gpu->start("segscan_i32", tiles, 128, 0, a.in, a.out, r, elements, at, a.fresh(tiles, 8));
    });
}

void transpositions(const Arrays& a) {
    u64 side = 32;
    while (4 * side * side <= a.n) side *= 2;
    const double moved = 8.0 * side * side;
    const u32 s = u32(side);
    line("transposition", moved, [&] { gpu->start("transpose_i32", par::transpose_tiles(side, side), 256, 0, a.in, a.out, side, side); });
    line("  by tiles without padding", moved, [&] {
        gpu->start("book_transpose_tiled", dim3(s / 32, s / 32), dim3(32, 8), 0, a.in, a.out, s, s);
    });
    line("  by rows", moved, [&] { gpu->start("book_transpose_rows", divide_up(side, 256), 256, 0, a.in, a.out, s, s); });
    line("  by elements", moved, [&] { gpu->start("book_transpose_elements", divide_up(side * side, 256), 256, 0, a.in, a.out, s, s); });
}

void histograms(const Arrays& a, u32 bins) {
    const u64 n = a.n;
    const auto bins_of = make<i64>(n, [&](u64) { return i64(random_below(bins)); });
    const auto narrow = make<u32>(n, [&](u64 i) { return u32(bins_of[i]); });
    gpu->upload(a.wide, bins_of.data(), 8 * n);
    gpu->upload(a.out, narrow.data(), 4 * n);
    const u64 grid = smaller(u64(1024), divide_up(n, 1024));
    const std::string of = ", bins: " + std::to_string(bins);
    line(("histogram, 8-byte bins" + of).c_str(), 8.0 * n, [&] {
        gpu->start("hist_shared_u32", grid, 256, 4 * bins, a.wide, n, bins, a.states);
    });
    line("  naive, 4-byte bins", 4.0 * n, [&] { gpu->start("book_histogram_naive", divide_up(n, 256), 256, 0, a.out, u32(n), a.states); });
    line("  privatised, 4-byte bins", 4.0 * n, [&] {
        gpu->start("book_histogram_privatised", grid, 256, 4 * bins, a.out, u32(n), bins, a.states);
    });
}

// Pairs of a key and a position: counting, and four passes over both.
void sorts(const Arrays& a) {
    const u64 n = a.n, tiles = divide_up(n, 2304);
    const auto keys = make<u32>(n, [](u64) { return u32(generator()()); });
    gpu->upload(a.in, keys.data(), 4 * n);
    const Address counts = gpu->allocate(4 * 256 * 8), values = a.wide, keys_out = a.out, values_out = a.wide + 4 * n;
    line("radix sort, 4-byte keys and positions", 68.0 * n, [&] {
        gpu->clear(counts, 4 * 256 * 8);
        gpu->start("sort_count_u32", smaller(u64(1024), divide_up(n, 256)), 256, 0, a.in, n, counts);
        gpu->start("sort_offsets", 4, 256, 0, counts);
        for (u32 pass = 0; pass < 4; pass++) {
            void* state = a.fresh(tiles, 2048);
            const Address offsets = counts + pass * 2048;
            if (pass % 2 == 0) gpu->start("sort_pass_u32", tiles, 256, 0, a.in, values, keys_out, values_out, n, pass, offsets, state);
            else gpu->start("sort_pass_u32", tiles, 256, 0, keys_out, values_out, a.in, values, n, pass, offsets, state);
        }
    });
}

}   // namespace
}   // namespace test

int main(int count, char** values) {
    using namespace test;
    largest = u64(1) << 28;
    if (int status = arguments(count, values, "test/bench.cuh")) return status;
    if (!gpu) return fprintf(stderr, "bench needs --gpu, --nvrtc and --kernels\n"), 2;
    const u64 n = larger(u64(1) << 16, largest);
    const Arrays a{n, gpu->allocate(4 * n), gpu->allocate(4 * n), gpu->allocate(8 * n), gpu->allocate(64 + divide_up(n, 1024) * 2048)};
    const auto in = make<i32>(n, [](u64 i) { return i32(i % 1000); });
    gpu->upload(a.in, in.data(), 4 * n);
    printf("%llu elements of 4 bytes; the last column compares with the copy\n", (unsigned long long)n);
    flat(a);
    reductions(a);
    for (u64 length : {4, 100, 10000}) rows(a, length);
    transpositions(a);
    for (u32 bins : {256u, 2048u}) histograms(a, bins);
    sorts(a);
    return 0;
}
