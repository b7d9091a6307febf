// Flood, descriptors, partition, transposition, gather, scatter, histograms, against loops.
#include "harness.h"
#include "instances/irregular.cuh"

namespace test {
namespace {

using par::divide_up, par::Slot;

i32 number(u64) { return i32(random_below(2001)) - 1000; }

void floods() {
    for (u64 n : sizes(4096))
        for (u64 one_in : {u64(1), u64(3), u64(100), u64(3000), ~u64(0)}) {
            const auto in = make<i32>(n, [&](u64) { return i32(random_below(one_in) == 0); });
            vector<i64> out(n), wanted(n);
            for (u64 i = 0; i < n; i++) wanted[i] = in[i] ? i64(i) : i > 0 ? wanted[i - 1] : -1;
            auto states = tile_states(divide_up(n, 4096), Slot<i64>::bytes);
            LAUNCH(flood_i32, divide_up(n, 4096), 256, in.data(), out.data(), n, (void*)aligned(states));
            check_equal(out, wanted, "flood_i32");
        }
}

void descriptors() {
    for (u64 rows : sizes(2816)) {
        const auto lengths = make<i64>(rows, [](u64) { return random_below(3) == 0 ? i64(random_below(1ull << 40)) : 0; });
        vector<i64> offsets(rows + 1), wanted{0};
        for (i64 l : lengths) wanted.push_back(wanted.back() + l);
        i64 total = 0;
        auto states = tile_states(divide_up(rows, 2816), Slot<i64>::bytes);
        LAUNCH(make_offsets_i64, divide_up(rows, 2816), 256, lengths.data(), offsets.data(), &total, rows, (void*)aligned(states));
        check_equal(offsets, wanted, "make_offsets_i64");
        check(total == wanted.back(), "total of make_offsets_i64");
    }
}

void partitions() {
    for (u64 n : sizes(512)) {
        const auto in = make<i32>(n, number);
        vector<i32> out(n), kept_ones, others;
        for (i32 v : in) (v < 0 ? kept_ones : others).push_back(v);
        vector<i32> wanted = kept_ones;
        wanted.insert(wanted.end(), others.rbegin(), others.rend());
        u64 kept = 0;
        auto states = tile_states(divide_up(n, 512), Slot<u64>::bytes);
        LAUNCH(partition_i32, divide_up(n, 512), 128, in.data(), out.data(), &kept, n, (void*)aligned(states));
        check_equal(out, wanted, "partition_i32");
        check(kept == kept_ones.size(), "number kept by partition_i32");
    }
}

void transpositions() {
    const u64 shapes[][3] = {{0, 0, 1}, {1, 1, 1}, {1, 100, 1}, {100, 1, 1}, {31, 33, 1}, {32, 32, 2}, {65, 97, 3}, {200, 40, 1}};
    for (const auto& [rows, columns, count] : shapes) {
        const u64 n = rows * columns * count, r = rows, c = columns;
        const auto in = make<i32>(n, number);
        const auto wide = make<i64>(n, [](u64) { return i64(random_below(1ull << 60)); });
        vector<i32> out(n);
        vector<i64> out_wide(n);
        const u64 grid = count * par::transpose_tiles(rows, columns);
        LAUNCH(transpose_i32, grid, 256, in.data(), out.data(), rows, columns);
        LAUNCH(transpose_i64, grid, 256, wide.data(), out_wide.data(), rows, columns);
        auto source = [=](u64 i) { return i / (r * c) * r * c + i % r * c + i % (r * c) / r; };
        check_equal(out, make<i32>(n, [&](u64 i) { return in[source(i)]; }), "transpose_i32");
        check_equal(out_wide, make<i64>(n, [&](u64 i) { return wide[source(i)]; }), "transpose_i64");
    }
}

void gathers_and_scatters() {
    for (u64 n : sizes(1024)) {
        const u64 length = n / 2 + 1, grid = divide_up(n, 1024);
        const auto source = make<i32>(length, number);
        const auto index = make<i64>(n, [&](u64) { return i64(random_below(length)); });
        vector<i32> out(n);
        LAUNCH(gather_i32, grid, 256, index.data(), source.data(), out.data(), n);
        check_equal(out, make<i32>(n, [&](u64 i) { return source[index[i]]; }), "gather_i32");

        const auto values = make<i32>(n, number);
        auto targets = make<i64>(n, [&](u64 i) { return i64(i * 2) - 5; });   // some are outside, none twice
        vector<i32> to(n + 3, 7), wanted = to;
        for (u64 i = 0; i < n; i++)
            if (u64(targets[i]) < to.size()) wanted[targets[i]] = values[i];
        LAUNCH(scatter_i32, grid, 256, targets.data(), values.data(), to.data(), u64(to.size()), n);
        check_equal(to, wanted, "scatter_i32");

        for (i64& t : targets) t = i64(random_below(length + 4)) - 2;
        vector<i32> last(length, 7), last_wanted = last;
        for (u64 i = 0; i < n; i++)
            if (u64(targets[i]) < length) last_wanted[targets[i]] = values[i];
        vector<u64> winners(length);
        LAUNCH(elect_i32, grid, 256, targets.data(), length, n, winners.data());
        LAUNCH(scatter_elected_i32, grid, 256, targets.data(), values.data(), last.data(), length, n, winners.data());
        check_equal(last, last_wanted, "scatter_elected_i32");
    }
}

// Bins of elements: even, mostly one, and some outside.
vector<i64> some_bins(u64 n, u64 bins, bool skewed) {
    return make<i64>(n, [&](u64) {
        if (random_below(20) == 0) return random_below(2) ? i64(-1) - i64(random_below(100)) : i64(bins + random_below(5));
        return skewed && random_below(10) ? i64(bins / 2) : i64(random_below(bins));
    });
}

template <class T, class Op>
vector<T> histogram(const vector<i64>& bins_of, const vector<T>& in, vector<T> out, const Op& op) {
    vector<T> folds(out.size(), op.neutral());
    for (size_t i = 0; i < in.size(); i++)
        if (u64(bins_of[i]) < out.size()) folds[bins_of[i]] = op(folds[bins_of[i]], in[i]);
    for (size_t b = 0; b < out.size(); b++) out[b] = op(out[b], folds[b]);
    return out;
}

void private_histograms() {
    const u64 chunk = 1000;
    for (u64 n : sizes(chunk))
        for (u64 bins : {u64(1), u64(7), u64(300)})
            for (bool skewed : {false, true}) {
                const u64 blocks = divide_up(n, chunk);
                const auto bins_of = some_bins(n, bins, skewed);
                const auto floats = make<float>(n, [](u64) { return float(random_below(4)); });
                vector<float> out(bins, 1), partials(bins * blocks);
                const auto wanted = histogram(bins_of, floats, out, SumF32{});
                LAUNCH_SHARED(hist_private_f32, blocks, 128, u32(4 * bins * 4), bins_of.data(), floats.data(), n, u32(bins), chunk, partials.data());
                LAUNCH(hist_combine_f32, divide_up(bins * 32, 128), 128, partials.data(), bins, blocks, out.data());
                check_equal(out, wanted, "hist_private_f32");
                if (bins > 100) continue;
                const auto matrices = make<Matrix2>(n, [](u64) {
                    Matrix2 m;
                    for (u32& x : m.x) x = u32(random_below(10));
                    return m;
                });
                vector<Matrix2> products(bins, Product<2>{}.neutral()), parts(bins * blocks);
                const auto wanted_products = histogram(bins_of, matrices, products, Product<2>{});
                LAUNCH_SHARED(
                    hist_private_matrix2, blocks, 128, u32(4 * bins * 16), bins_of.data(), matrices.data(), n, u32(bins), chunk, parts.data()
                );
                LAUNCH(hist_combine_matrix2, divide_up(bins * 32, 128), 128, parts.data(), bins, blocks, products.data());
                check_equal(products, wanted_products, "hist_private_matrix2");
            }
}

void atomic_histograms() {
    for (u64 n : sizes(1024))
        for (u64 bins : {u64(1), u64(500)})
            for (bool skewed : {false, true}) {
                const auto bins_of = some_bins(n, bins, skewed);
                vector<u32> shared(bins, 5), global = shared;
                const auto wanted = histogram(bins_of, make<u32>(n, [](u64 i) { return u32(i); }), shared, AtomicSum{});
                const u64 grid = smaller(u64(6), divide_up(n, 1024));
                LAUNCH_SHARED(hist_shared_u32, grid, 256, u32(bins * 4), bins_of.data(), n, u32(bins), shared.data());
                LAUNCH(hist_global_u32, grid, 256, bins_of.data(), n, u32(bins), global.data());
                check_equal(shared, wanted, "hist_shared_u32");
                check_equal(global, wanted, "hist_global_u32");

                const auto in = make<float>(n, [](u64) { return float(random_below(50)); });
                vector<Best> best(bins, TakeBest{}.neutral());
                const auto wanted_best = histogram(bins_of, make<Best>(n, [&](u64 i) { return Best{in[i], u32(i), 1}; }), best, TakeFirstBest{});
                vector<u32> locks(64);
                LAUNCH(hist_locked_best, divide_up(n, 128), 128, bins_of.data(), in.data(), n, bins, best.data(), locks.data(), u32(64));
                check_equal(best, wanted_best, "hist_locked_best");
            }
}

}   // namespace
}   // namespace test

int main(int count, char** values) {
    using namespace test;
    if (int status = arguments(count, values, "test/instances/irregular.cuh")) return status;
    schedules(floods);
    schedules(descriptors);
    schedules(partitions);
    schedules(transpositions);
    schedules(gathers_and_scatters);
    schedules(private_histograms);
    schedules(atomic_histograms);
    return result("irregular");
}
