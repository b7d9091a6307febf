// What kernels move: bytes per element as they should be, and in how many sectors of 32 bytes (compiled with EMU_COUNT). A kernel whose
// neighbouring lanes access neighbouring elements needs no more sectors than its bytes fill.
#include "harness.h"
#include "instances/contract.cuh"
#include "instances/irregular.cuh"
#include "instances/rows.cuh"
#include "instances/scan.cuh"
#include "instances/sort.cuh"

namespace test {
namespace {

using par::divide_up, par::Slot;

// An array that starts at a sector, as device memory does.
template <class T>
struct Array {
    vector<char> memory;
    T* data;
    explicit Array(u64 n) : memory(n * sizeof(T) + 64) {
        data = reinterpret_cast<T*>((reinterpret_cast<uintptr_t>(memory.data()) + 63) & ~uintptr_t(63));
    }
};

// What was moved since the last call is between `least` and `most` bytes; sectors are no more than `waste` times what the bytes fill.
void moved(const char* what, double least, double most, double waste) {
    const emu::Traffic t = emu::traffic();
    const double all = double(t.load_bytes + t.store_bytes), sectors = double(t.load_sectors + t.store_sectors) * 32;
    const double requests = double(t.load_requests + t.store_requests);
    printf("%-28s %9.0f bytes, %5.3f of them useful, %4.1f sectors per request\n", what, all, all / sectors, sectors / 32 / requests);
    check(all >= least && all <= most, std::string(what) + " moves the bytes that it should");
    check(sectors <= all * waste, std::string(what) + " uses the sectors that it moves");
    emu::reset_traffic();
}

void moved(const char* what, double bytes, double waste) { moved(what, bytes * 0.99, bytes * 1.01, waste); }

const u64 n = 50000;

void flat() {
    Array<float> in(n), out(n);
    LAUNCH(map_f32, divide_up(n, 1024), 256, in.data, out.data, n, 2.0f);
    moved("map", 8 * n, 1.01);

    Array<i32> numbers(n), sums(n);
    auto states = tile_states(divide_up(n, 3840), 8);
    LAUNCH(scan_i32, divide_up(n, 3840), 256, numbers.data, sums.data, n, (void*)aligned(states));
    moved("scan", 8 * n, 1.01);

    Array<i64> wide(n), result(1), partials(20);
    u32 finished = 0;
    LAUNCH(reduce_i64, divide_up(n, 4096), 256, wide.data, result.data, n, u64(4096), (void*)partials.data, &finished);
    moved("reduce", 8 * n, 1.01);

    for (u64 i = 0; i < n; i++) numbers.data[i] = i32(i);
    Array<i64> index(n);
    u64 kept = 0;
    auto more = tile_states(divide_up(n, 2048), 16);
    LAUNCH(filter_i32, divide_up(n, 2048), 256, numbers.data, sums.data, index.data, &kept, n, (void*)aligned(more));
    // A request stores 11 of 32 elements: its first and last sector are shared with its neighbours.
    moved("filter, a third kept", 4.0 * n + 12.0 * n / 3, 1.6);

    Array<i64> sources(n);
    auto flood_states = tile_states(divide_up(n, 4096), 16);
    LAUNCH(flood_i32, divide_up(n, 4096), 256, numbers.data, sources.data, n, (void*)aligned(flood_states));
    moved("flood", 12 * n, 1.01);
}

void matrices() {
    const u64 rows = 256, columns = 160;
    Array<i32> in(rows * columns), out(rows * columns);
    LAUNCH(transpose_i32, par::transpose_tiles(rows, columns), 256, in.data, out.data, rows, columns);
    moved("transpose", 8 * rows * columns, 1.01);
}

// Every tile reads its rows of the left factor and its columns of the right one; results are written once.
void products() {
    const u64 rows = 256, columns = 384, depth = 64, elements = (rows + columns) * depth;
    Array<float> factors(elements), out(rows * columns), by_rows(elements);
    const float *left = factors.data, *right = factors.data + rows * depth;
    LAUNCH(product_f32, (rows / 128) * (columns / 128), 256, left, right, out.data, rows, columns, depth);
    const double tiles = columns / 128 * rows * depth + rows / 128 * columns * depth;
    // Of a factor whose k are next to each other a request has 8 of them of each of 4 rows: a whole sector of each.
    moved("product, large tiles", 4 * (tiles + rows * columns), 1.01);

    const auto shape = [&](par::Strides of_left, par::Strides of_right) {
        return ContractShape{of_left, of_right, rows, columns, depth, depth, 1, 1, {{1, 0, 0}, {1, 0, 0}}};
    };
    const u64 grid = (rows / 64) * (columns / 64);
    const ContractShape deep = shape({i64(depth), 1}, {i64(depth), 1});
    LAUNCH(contract_f32, grid, 256, left, right, (const float*)nullptr, out.data, deep);
    const double small = columns / 64 * rows * depth + rows / 64 * columns * depth;
    moved("product, small tiles", 4 * (small + rows * columns), 1.01);
    // Against what must be moved at least: each factor and each result once. Tiles of 64 by 64 read each factor once for 64 columns.
    const double least = 4.0 * (elements + rows * columns);
    printf("%-28s %5.2f times what must be moved\n", "", 4 * (small + rows * columns) / least);
}

// Neighbouring rows are read side by side.
void columns() {
    const u64 rows = 1024, m = 48;
    Array<float> in(rows * m), out(rows);
    LAUNCH(segreduce_columns_f32, rows / 32, 256, in.data, out.data, rows, m, m);
    moved("reduction of columns", 4 * rows * m + 4 * rows, 1.01);
}

// Rows of 50 on average, and one of half the elements.
void rows() {
    vector<u64> lengths(n / 100, 50);
    lengths.push_back(n / 2);
    const RowCase r = rows_of("", lengths);
    Array<i64> offsets(r.rows() + 1), row_of(r.elements());
    memcpy(offsets.data, r.offsets.data(), 8 * (r.rows() + 1));
    Array<i32> in(r.elements()), out(r.elements());
    const u64 tiles = divide_up(r.rows() + r.elements(), 1408), elements = r.elements();
    auto states = tile_states(tiles, 8), more = states;
    // Each offset is read three times, once for the search for rows; and some by the search for tiles.
    const double searched = double(tiles) * 2 * 2 * 32 * 8;
    LAUNCH(segreduce_f32, tiles, 128, (float*)in.data, (float*)out.data, r.rows(), elements, offsets.data, (void*)aligned(states));
    // Tiles start anywhere, so that a request of 128 bytes touches five sectors; the one it shares with its neighbour is in the cache.
    moved("segmented reduction", 4.0 * elements, 4.0 * elements + 12.0 * r.rows() + searched, 1.5);
    LAUNCH(segscan_i32, tiles, 128, in.data, out.data, r.rows(), elements, offsets.data, (void*)aligned(more));
    // Every thread looks whether a row starts with its tile.
    moved("segmented scan", 8.0 * elements, 8.0 * elements + 28.0 * r.rows() + searched + 16.0 * tiles * 128, 1.5);
}

void sorting() {
    Array<u32> keys(n), values(n), keys_out(n), values_out(n);
    for (u64 i = 0; i < n; i++) keys.data[i] = u32(generator()());
    vector<u64> counts(4 * 256);
    LAUNCH(sort_count_u32, 4, 256, keys.data, n, counts.data());
    LAUNCH(sort_offsets, 4, 256, counts.data());
    emu::reset_traffic();
    vector<u64> states(8 + divide_up(n, 2304) * 256);
    LAUNCH(
        sort_pass_u32, divide_up(n, 2304), 256, keys.data, values.data, keys_out.data, values_out.data, n, u32(1), counts.data() + 256,
        (void*)states.data()
    );
    // Random digits: a tile has nine elements of each, so that about every third store touches another sector.
    moved("pass of a radix sort, pairs", 16 * n, 2.5);
}

}   // namespace
}   // namespace test

int main() {
    using namespace test;
    flat();
    matrices();
    products();
    columns();
    rows();
    sorting();
    return result("traffic");
}
