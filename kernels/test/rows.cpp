// Maps, reductions, scans and filters, of one row and of many, against loops.
#include "harness.h"
#include "instances/rows.cuh"

namespace test {
namespace {

using par::divide_up, par::Slot;

void maps() {
    for (u64 n : sizes(1024)) {
        const auto in = make<float>(n, [](u64 i) { return float(i); });
        vector<float> out(n);
        LAUNCH(map_f32, divide_up(n, 1024), 256, in.data(), out.data(), n, 3.0f);
        check_equal(out, make<float>(n, [](u64 i) { return float(i) * 3; }), "map_f32");
    }
    const u64 shapes[][2] = {{0, 5}, {5, 0}, {1, 3000}, {3000, 1}, {7, 511}, {7, 512}, {7, 513}, {100, 33}, {2, 5000}};
    for (const auto& [rows, m] : shapes) {
        vector<i64> out(rows * m);
        LAUNCH(map_uniform, divide_up(rows * m, 512), 128, out.data(), rows, m);
        const u64 columns = m;
        check_equal(out, make<i64>(rows * m, [=](u64 i) { return i64((i / columns) << 32 | i % columns); }), "map_uniform");
    }
    for (const RowCase& r : row_cases(896)) {
        vector<i64> out(r.elements()), wanted;
        LAUNCH(map_ragged, divide_up(r.rows() + r.elements(), 896), 128, out.data(), r.rows(), r.elements(), r.offsets.data());
        for (u64 row = 0; row < r.rows(); row++)
            for (i64 k = 0; k < r.offsets[row + 1] - r.offsets[row]; k++) wanted.push_back(i64(row << 32) | k);
        check_equal(out, wanted, "map_ragged, " + r.name);
    }
}

template <class T, class Op>
vector<T> fold_rows(const RowCase& r, const vector<T>& in, const Op& op) {
    return make<T>(r.rows(), [&](u64 row) {
        T v = op.neutral();
        for (i64 i = r.offsets[row]; i < r.offsets[row + 1]; i++) v = op(v, in[i]);
        return v;
    });
}
template <class T, class Op>
vector<T> scan_of_rows(const RowCase& r, const vector<T>& in, const Op& op, bool exclusive) {
    vector<T> out;
    for (u64 row = 0; row < r.rows(); row++) {
        T v = op.neutral();
        for (i64 i = r.offsets[row]; i < r.offsets[row + 1]; i++) {
            const T next = op(v, in[i]);
            out.push_back(exclusive ? v : next);
            v = next;
        }
    }
    return out;
}
vector<i64> row_numbers(const RowCase& r) {
    vector<i64> out;
    for (u64 row = 0; row < r.rows(); row++) out.insert(out.end(), r.offsets[row + 1] - r.offsets[row], i64(row));
    return out;
}

struct SumF64 {
    double neutral() const { return 0; }
    double operator()(double a, double b) const { return a + b; }
};

template <class T>
struct States {
    vector<char> memory;
    explicit States(u64 tiles) : memory(tile_states(tiles, Slot<T>::bytes)) {}
    void* at() { return aligned(memory); }
};

Matrix2 matrix(u64) {
    Matrix2 m;
    for (u32& x : m.x) x = u32(random_below(10));
    return m;
}
Affine affine(u64) { return {u32(random_below(1u << 31)) | 1, u32(random_below(1000))}; }
i32 number(u64) { return i32(random_below(2001)) - 1000; }

#define REDUCE_CASE(NAME, T, THREADS, CHUNK, OP, ELEMENT)                                                               \
    for (u64 n : sizes(CHUNK)) {                                                                                        \
        const vector<T> in = make<T>(n, ELEMENT);                                                                  \
        vector<T> out(1), partials(larger(u64(1), divide_up(n, CHUNK)));                                           \
        u32 finished = 0;                                                                                               \
        LAUNCH(NAME, partials.size(), THREADS, in.data(), out.data(), n, u64(CHUNK), (void*)partials.data(), &finished); \
        check_equal(out, fold_rows(rows_of("", {n}), in, OP), #NAME);                                                   \
    }

void reductions() {
    REDUCE_CASE(reduce_i64, i64, 256, 2048, SumI64{}, [](u64) { return i64(random_below(1ull << 50)); })
    REDUCE_CASE(reduce_i64, i64, 256, 40, SumI64{}, [](u64) { return i64(random_below(1ull << 50)); })
    REDUCE_CASE(reduce_matrix2, Matrix2, 128, 1280, Product<2>{}, matrix)
    REDUCE_CASE(reduce_f32, float, 256, 3840, SumF32{}, [](u64) { return float(random_below(4)); })
}

void segmented_reductions() {
    for (const RowCase& r : row_cases(1408)) {
        const u64 tiles = divide_up(r.rows() + r.elements(), 1408);
        const auto in = make<i32>(r.elements(), number);
        vector<i32> out(r.rows());
        vector<i64> row_of(r.elements());
        States<i32> states(tiles);
        LAUNCH(segreduce_i32, tiles, 128, in.data(), out.data(), row_of.data(), r.rows(), r.elements(), r.offsets.data(), states.at());
        check_equal(out, fold_rows(r, in, SumI32{}), "segreduce_i32, " + r.name);
        check_equal(row_of, row_numbers(r), "rows of segreduce_i32, " + r.name);
        vector<i32> split(r.rows());
        vector<u64> splits(tiles + 1);
        States<i32> more(tiles);
        LAUNCH(split_rows_1408, divide_up(tiles + 1, 128), 128, r.rows(), r.elements(), r.offsets.data(), splits.data());
        LAUNCH(
            segreduce_split_i32, tiles, 128, in.data(), split.data(), row_of.data(), r.rows(), r.elements(), r.offsets.data(),
            splits.data(), more.at()
        );
        check_equal(split, out, "segreduce_split_i32, " + r.name);
        vector<i32> warp(r.rows());
        LAUNCH(segreduce_warp_i32, divide_up(r.rows() * 32, 128), 128, in.data(), warp.data(), r.rows(), r.elements(), r.offsets.data());
        check_equal(warp, out, "segreduce_warp_i32, " + r.name);
    }
    for (const RowCase& r : row_cases(320)) {
        const u64 tiles = divide_up(r.rows() + r.elements(), 320);
        const auto in = make<Matrix2>(r.elements(), matrix);
        vector<Matrix2> out(r.rows());
        vector<i64> row_of(r.elements());
        States<Matrix2> states(tiles);
        LAUNCH(segreduce_matrix2, tiles, 64, in.data(), out.data(), row_of.data(), r.rows(), r.elements(), r.offsets.data(), states.at());
        check_equal(out, fold_rows(r, in, Product<2>{}), "segreduce_matrix2, " + r.name);
        vector<Matrix2> by_blocks(r.rows());
        LAUNCH(segreduce_block_matrix2, r.rows(), 128, in.data(), by_blocks.data(), r.rows(), r.elements(), r.offsets.data());
        check_equal(by_blocks, out, "segreduce_block_matrix2, " + r.name);
        const auto maps = make<Affine>(r.elements(), affine);
        vector<Affine> thread(r.rows()), group(r.rows());
        const u64 rows = r.rows(), n = r.elements();
        LAUNCH(segreduce_thread_affine, divide_up(rows, 128), 128, maps.data(), thread.data(), rows, n, r.offsets.data());
        check_equal(thread, fold_rows(r, maps, Compose{}), "segreduce_thread_affine, " + r.name);
        LAUNCH(segreduce_group_affine, divide_up(rows * 8, 128), 128, maps.data(), group.data(), rows, n, r.offsets.data());
        check_equal(group, thread, "segreduce_group_affine, " + r.name);
    }
}

const u64 uniform_shapes[][2] = {{0, 5}, {5, 0}, {1, 9000}, {3000, 1}, {7, 895}, {7, 896}, {7, 897}, {100, 33}};

void uniform_rows() {
    for (const auto& [rows, m] : uniform_shapes) {
        const RowCase r = rows_of("uniform", vector<u64>(rows, m));
        const u64 n = rows * m, tiles = divide_up(rows + n, 896);
        const auto in = make<i32>(n, number);
        vector<i32> out(rows);
        vector<i64> row_of(n);
        States<i32> states(tiles);
        LAUNCH(segreduce_uniform_i32, tiles, 128, in.data(), out.data(), row_of.data(), rows, m, states.at());
        check_equal(out, fold_rows(r, in, SumI32{}), "segreduce_uniform_i32");
        check_equal(row_of, row_numbers(r), "rows of segreduce_uniform_i32");
        const auto maps = make<Affine>(n, affine);
        vector<Affine> scanned(n);
        States<Affine> more(tiles);
        LAUNCH(segscan_uniform_affine, tiles, 128, maps.data(), scanned.data(), rows, m, more.at());
        check_equal(scanned, scan_of_rows(r, maps, Compose{}, false), "segscan_uniform_affine");
    }
}

// Columns of matrices that are stored by rows: whole ones, and in parts, the last of which is shorter.
void columns() {
    const u64 shapes[][3] = {{0, 5, 5}, {5, 0, 1}, {1, 1, 1}, {1, 3000, 3000}, {33, 7, 7}, {100, 40, 40}, {31, 401, 128}, {70, 257, 32}, {8, 1000, 999}};
    for (const auto& [rows, m, part] : shapes) {
        const u64 parts = larger(u64(1), divide_up(m, part)), count = rows, length = m, of_part = part;
        const auto in = make<Affine>(rows * m, affine);
        vector<Affine> folds(parts * rows), out(rows), wanted(rows, Affine{1, 0});
        for (u64 k = 0; k < m; k++)
            for (u64 row = 0; row < rows; row++) wanted[row] = Compose{}(wanted[row], in[k * rows + row]);
        LAUNCH(segreduce_columns_affine, divide_up(rows, 32) * parts, 256, in.data(), folds.data(), count, length, of_part);
        LAUNCH(combine_affine, divide_up(rows, 256), 256, folds.data(), out.data(), count, parts);
        check_equal(out, wanted, "segreduce_columns_affine, rows " + std::to_string(rows) + " of " + std::to_string(m));
    }
}

void segmented_scans() {
    for (const RowCase& r : row_cases(1408)) {
        const u64 tiles = divide_up(r.rows() + r.elements(), 1408);
        const auto in = make<i32>(r.elements(), number);
        vector<i32> out(r.elements());
        States<i32> states(tiles);
        LAUNCH(segscan_i32, tiles, 128, in.data(), out.data(), r.rows(), r.elements(), r.offsets.data(), states.at());
        check_equal(out, scan_of_rows(r, in, SumI32{}, false), "segscan_i32, " + r.name);
    }
    for (const RowCase& r : row_cases(320)) {
        const u64 tiles = divide_up(r.rows() + r.elements(), 320);
        const auto in = make<Matrix2>(r.elements(), matrix);
        vector<Matrix2> out(r.elements());
        States<Matrix2> states(tiles);
        LAUNCH(segscan_exclusive_matrix2, tiles, 64, in.data(), out.data(), r.rows(), r.elements(), r.offsets.data(), states.at());
        check_equal(out, scan_of_rows(r, in, Product<2>{}, true), "segscan_exclusive_matrix2, " + r.name);
    }
}

void filters() {
    for (u64 n : sizes(2048)) {
        const auto in = make<i32>(n, number);
        vector<i32> out(n), wanted;
        vector<i64> index(n), wanted_index;
        for (u64 i = 0; i < n; i++)
            if (in[i] % 3 == 0) wanted.push_back(in[i]), wanted_index.push_back(i64(i));
        u64 kept = 0;
        States<u64> states(divide_up(n, 2048));
        LAUNCH(filter_i32, divide_up(n, 2048), 256, in.data(), out.data(), index.data(), &kept, n, states.at());
        out.resize(kept), index.resize(kept);
        check_equal(out, wanted, "filter_i32");
        check_equal(index, wanted_index, "positions of filter_i32");
    }
    for (const RowCase& r : row_cases(1024)) {
        const u64 tiles = divide_up(r.rows() + r.elements(), 1024);
        const auto in = make<i32>(r.elements(), [](u64) { return i32(random_below(100)); });
        vector<i32> out(r.elements()), wanted;
        vector<i64> offsets(r.rows() + 1), wanted_offsets{0};
        for (u64 row = 0; row < r.rows(); row++) {
            for (i64 i = r.offsets[row]; i < r.offsets[row + 1]; i++)
                if (in[i] % 3 == i32(row % 3)) wanted.push_back(in[i]);
            wanted_offsets.push_back(i64(wanted.size()));
        }
        u64 kept = 0;
        States<u64> states(tiles);
        LAUNCH(filter_ragged, tiles, 128, in.data(), out.data(), offsets.data(), &kept, r.rows(), r.elements(), r.offsets.data(), states.at());
        out.resize(kept);
        check_equal(out, wanted, "filter_ragged, " + r.name);
        check_equal(offsets, wanted_offsets, "offsets of filter_ragged, " + r.name);
    }
}

// Float sums of rows: about right, and the same bits under all schedules.
void float_rows() {
    for (const RowCase& r : row_cases(1408)) {
        const u64 tiles = divide_up(r.rows() + r.elements(), 1408);
        const auto in = make<float>(r.elements(), [](u64) { return float(random_below(1u << 24)) * 1e-3f; });
        vector<float> sums, scans;
        for (u64 s = 0; s <= seeds; s++) {
            config.seed = s, config.preempt = true, config.resident = 1 + int(s % 6);
            vector<float> sum(r.rows()), scan(r.elements());
            States<float> states(tiles), more(tiles);
            LAUNCH(segreduce_f32, tiles, 128, in.data(), sum.data(), r.rows(), r.elements(), r.offsets.data(), states.at());
            LAUNCH(segscan_f32, tiles, 128, in.data(), scan.data(), r.rows(), r.elements(), r.offsets.data(), more.at());
            if (s == 0) sums = sum, scans = scan;
            const bool same = same_bits(sums, sum) && same_bits(scans, scan);
            check(same, "floats of rows have the same bits under all schedules, " + r.name);
        }
        for (u64 row = 0; row < r.rows(); row++) {
            double exact = 0;
            for (i64 i = r.offsets[row]; i < r.offsets[row + 1]; i++) exact += in[i];
            check(std::abs(sums[row] - exact) <= 1e-4 * exact, "segreduce_f32 is about the sum, " + r.name);
        }
    }
    config = emu::Config{};
}

// Small tiles: rows within and across groups and sections of tiles.
void many_tiles() {
    vector<u64> lengths;
    for (u64 left = 150000; left > 0;) {
        const u64 l = smaller(left, lengths.size() % 4 ? random_below(3000) : random_below(100000));
        lengths.push_back(l);
        left -= l;
    }
    const RowCase r = rows_of("many tiles", lengths);
    const u64 tiles = divide_up(r.rows() + r.elements(), 64);
    const auto in = make<float>(r.elements(), [](u64) { return float(random_below(1u << 24)) * 1e-3f; });
    const auto exact = scan_of_rows(r, vector<double>(in.begin(), in.end()), SumF64{}, false);
    vector<float> first;
    for (u64 s = 0; s <= 1 + seeds / 3; s++) {
        config.seed = s, config.preempt = true, config.resident = 2 + int(s % 6);
        vector<float> out(r.elements());
        States<float> states(tiles);
        LAUNCH(segscan_small_f32, tiles, 64, in.data(), out.data(), r.rows(), r.elements(), r.offsets.data(), states.at());
        if (s == 0) first = out;
        check(same_bits(first, out), "segscan_small_f32 has the same bits under all schedules");
    }
    bool near = true;
    for (u64 i = 0; i < r.elements(); i++) near = near && std::abs(first[i] - exact[i]) <= 1e-3 * exact[i];
    check(near, "segscan_small_f32 is about the sums");
    config = emu::Config{};
}

// The tiles from number `first` on, as if those before had run: what they fold to is put into the last one's slot.
template <class T>
States<T> states_from(u64 tiles, u64 first, const T& before) {
    States<T> states(tiles);
    emu::machine = emu::the_machine();
    par::TileStates<T> slots{static_cast<char*>(states.at()), u32(tiles)};
    *reinterpret_cast<u32*>(slots.memory) = u32(first);
    Slot<T>::put(slots.slot(u32(first - 1)), par::PREFIX, before);
    return states;
}

// Positions beyond 2^32, without arrays of that size: only the last tiles run.
void beyond_32_bits() {
    u32 wrong = 0, count = 0;
    const u64 last = 10;
    {
        const u64 rows = (u64(1) << 32) + 1000, m = 3, tiles = divide_up(rows * m + rows, 896), first = tiles - last;
        // The tile starts within row first * 896 / 4, since a row is four items; 896 is a multiple of that.
        auto states = states_from<u64>(tiles, first, 0);
        LAUNCH(segreduce_far, last, 128, rows, m, first * 896 / 4, &wrong, &count, states.at());
        check(wrong == 0 && count == rows - first * 896 / 4, "segmented reduction beyond 2^32");
    }
    {
        const u64 n = (u64(1) << 33) + 77, tiles = divide_up(n, 1024), first = tiles - last;
        u64 kept = 0;
        auto states = states_from<u64>(tiles, first, first * 512);
        LAUNCH(filter_far, last, 128, n, first * 1024, &wrong, &kept, states.at());
        check(wrong == 0 && kept == (n + 1) / 2, "filter beyond 2^32");
    }
    for (u64 m : {u64(3), u64(1000), u64(1) << 31}) {
        const u64 rows = (u64(1) << 33) / m + 1, n = rows * m, blocks = divide_up(n, 1024);
        count = 0;
        if (gpu) continue;   // all blocks would run
        config.first_block = blocks - last;
        LAUNCH(map_far, blocks, 256, rows, m, (blocks - last) * 1024, &wrong, &count);
        config = emu::Config{};
        check(wrong == 0 && count == n - (blocks - last) * 1024, "map over rows beyond 2^32");
    }
}

}   // namespace
}   // namespace test

int main(int count, char** values) {
    using namespace test;
    if (int status = arguments(count, values, "test/instances/rows.cuh")) return status;
    schedules(maps);
    schedules(reductions);
    schedules(segmented_reductions);
    schedules(uniform_rows);
    schedules(columns);
    schedules(segmented_scans);
    schedules(filters);
    float_rows();
    if (largest >= 10000) many_tiles();
    beyond_32_bits();
    return result("rows");
}
