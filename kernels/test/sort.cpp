// Radix sort against std::stable_sort; a histogram by sorting, with floats, the same bits under all schedules.
#include "harness.h"
#include "instances/sort.cuh"
#include <algorithm>
#include <numeric>

namespace test {
namespace {

using par::divide_up, par::Slot;

template <class K, class P>
struct Sorted {
    vector<K> keys;
    vector<P> positions;
};

#define SORT(NAME, SUFFIX, K, P, PASSES, ITEMS)                                                                             \
    Sorted<K, P> NAME(vector<K> keys) {                                                                                 \
        const u64 n = keys.size(), tiles = divide_up(n, 256 * ITEMS);                                                         \
        vector<u64> counts(PASSES * 256);                                                                                \
        LAUNCH(sort_count_##SUFFIX, smaller(u64(4), divide_up(n, 256)), 256, keys.data(), n, counts.data());                  \
        LAUNCH(sort_offsets, PASSES, 256, counts.data());                                                                     \
        vector<P> values(n), values_out(n);                                                                              \
        vector<K> keys_out(n);                                                                                           \
        for (u32 pass = 0; pass < PASSES; pass++) {                                                                           \
            vector<u64> states(8 + tiles * 256);                                                                         \
            LAUNCH(sort_pass_##SUFFIX, tiles, 256, keys.data(), values.data(), keys_out.data(), values_out.data(), n, pass,   \
                   counts.data() + pass * 256, (void*)states.data());                                                         \
            keys.swap(keys_out);                                                                                              \
            values.swap(values_out);                                                                                          \
        }                                                                                                                     \
        return {keys, values};                                                                                                \
    }
SORT(sort_u32, u32, u32, u32, 4, 9)
SORT(sort_i64, i64, i64, u64, 8, 7)

template <class K, class P>
void check_sorted(const vector<K>& keys, const Sorted<K, P>& got, const std::string& what) {
    vector<P> order(keys.size());
    std::iota(order.begin(), order.end(), P(0));
    std::stable_sort(order.begin(), order.end(), [&](P a, P b) { return keys[a] < keys[b]; });
    check_equal(got.positions, order, what);
    check_equal(got.keys, make<K>(keys.size(), [&](u64 i) { return keys[order[i]]; }), "keys of " + what);
}

void sorts() {
    const std::pair<const char*, std::function<u64(u64)>> kinds[] = {
        {"random", [](u64) { return generator()(); }},
        {"few", [](u64) { return random_below(3) * 0x0123456789abcdefull; }},
        {"equal", [](u64) { return u64(42); }},
        {"descending", [](u64 i) { return ~i; }},
        {"skewed", [](u64) { return random_below(10) ? u64(7) : generator()(); }},
    };
    for (const auto& kind : kinds) {
        for (u64 n : sizes(2304)) {
            const auto keys = make<u32>(n, [&](u64 i) { return u32(kind.second(i)); });
            check_sorted(keys, sort_u32(keys), std::string("sort_u32, ") + kind.first);
        }
        for (u64 n : {u64(0), u64(1), u64(1791), u64(1792), u64(1793), u64(4000)}) {
            const auto keys = make<i64>(n, [&](u64 i) { return i64(kind.second(i)); });
            check_sorted(keys, sort_i64(keys), std::string("sort_i64, ") + kind.first);
        }
    }
}

void orders() {
    const float inf = __uint_as_float(0x7f800000);
    const float floats[] = {-inf, -1e30f, -1.0f, -1e-40f, -0.0f, 0.0f, 1e-40f, 1.0f, 1.5f, inf};
    for (size_t i = 0; i + 1 < std::size(floats); i++) {
        check(par::sortable(floats[i]) < par::sortable(floats[i + 1]), "order of f32");
        check(par::sortable(double(floats[i])) < par::sortable(double(floats[i + 1])), "order of f64");
    }
    check(par::sortable(-1) < par::sortable(0) && par::sortable(i64(-1)) < par::sortable(i64(0)), "order of integers");
}

// Rows of all classes: by a warp, by a block, and the longer ones by radix sorts by key and by row.
void segmented_sorts() {
    for (const RowCase& r : row_cases(1024)) {
        const u64 n = r.elements(), rows = r.rows();
        const auto keys = make<float>(n, [](u64) { return float(i32(random_below(200)) - 100); });
        vector<u32> from(n, ~0u), wanted(n);
        std::iota(wanted.begin(), wanted.end(), 0u);
        vector<u32> bits = make<u32>(n, [&](u64 i) { return par::sortable(keys[i]); }), row_of(n);
        bool long_rows = false;
        for (u64 row = 0; row < rows; row++) {
            const i64 start = r.offsets[row], end = r.offsets[row + 1];
            std::stable_sort(wanted.begin() + start, wanted.begin() + end, [&](u32 a, u32 b) { return bits[a] < bits[b]; });
            std::fill(row_of.begin() + start, row_of.begin() + end, u32(row));
            long_rows = long_rows || end - start > 1024;
        }
        LAUNCH(segsort_warp_f32, divide_up(rows * 32, 128), 128, keys.data(), from.data(), rows, n, r.offsets.data());
        LAUNCH(segsort_block_f32, rows, 128, keys.data(), from.data(), rows, n, r.offsets.data());
        if (long_rows) {
            const Sorted<u32, u32> by_key = sort_u32(bits);
            const Sorted<u32, u32> by_row = sort_u32(make<u32>(n, [&](u64 i) { return row_of[by_key.positions[i]]; }));
            for (u64 row = 0; row < rows; row++)
                if (r.offsets[row + 1] - r.offsets[row] > 1024)
                    for (i64 i = r.offsets[row]; i < r.offsets[row + 1]; i++) from[i] = by_key.positions[by_row.positions[i]];
        }
        check_equal(from, wanted, "segmented sort, " + r.name);
    }
}

// Elements outside of the bins have the key `bins`, and stand at the end.
vector<float> sums_by_bin(const vector<u32>& bins_of, const vector<float>& in, u64 bins) {
    const Sorted<u32, u32> sorted = sort_u32(bins_of);
    const u64 n = in.size();
    vector<i64> offsets(bins + 1);
    LAUNCH(sorted_offsets, divide_up(bins + 1, 128), 128, sorted.keys.data(), n, bins, offsets.data());
    const u64 inside = u64(offsets[bins]), tiles = divide_up(bins + inside, 1408);
    vector<float> out(bins, 1);
    auto states = tile_states(tiles, Slot<float>::bytes);
    LAUNCH(sorted_sums_f32, tiles, 128, in.data(), sorted.positions.data(), out.data(), bins, inside, offsets.data(), (void*)aligned(states));
    return out;
}

void histograms() {
    const u64 n = smaller(largest, u64(9000)), bins = 3000;
    const auto bins_of = make<u32>(n, [&](u64) { return random_below(3) ? u32(random_below(bins + 1)) : 5; });
    const auto in = make<float>(n, [](u64) { return float(random_below(1u << 24)) * 1e-3f; });
    config = emu::Config{};
    const auto wanted = sums_by_bin(bins_of, in, bins);
    vector<double> exact(bins, 1);
    for (u64 i = 0; i < n; i++)
        if (bins_of[i] < bins) exact[bins_of[i]] += in[i];
    for (u64 b = 0; b < bins; b++) check(std::abs(wanted[b] - exact[b]) <= 1e-4 * exact[b], "sums by bin are about the sums");
    for (u64 s = 1; s <= seeds; s++) {
        config.seed = s, config.preempt = true, config.resident = 1 + int(s % 5);
        const auto got = sums_by_bin(bins_of, in, bins);
        check(same_bits(got, wanted), "sums by bin have the same bits under all schedules");
    }
    config = emu::Config{};
}

}   // namespace
}   // namespace test

int main(int count, char** values) {
    using namespace test;
    if (int status = arguments(count, values, "test/instances/sort.cuh")) return status;
    schedules(sorts);
    schedules(segmented_sorts);
    orders();
    histograms();
    return result("sort");
}
