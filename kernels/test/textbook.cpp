// The textbook variants against loops.
#include "harness.h"
#include "instances/textbook.cuh"

namespace test {
namespace {

using par::divide_up;

i32 number(u64) { return i32(random_below(2001)) - 1000; }

void reductions() {
    for (u64 n : {u64(0), u64(1), u64(255), u64(256), u64(257), u64(5000)}) {
        const auto in = make<i32>(n, number);
        i32 wanted = 0;
        for (i32 v : in) wanted += v;
        vector<i32> data = in;
        for (u32 left = u32(n); left > 1; left = (left + 1) / 2)
            LAUNCH(book_reduce_level, divide_up(left, 512) + 1, 256, data.data(), left, (left + 1) / 2);
        check(n == 0 || data[0] == wanted, "reduction in global memory");
        i32 interleaved = 0, sequential = 0, all = 0;
        const u64 blocks = divide_up(n, 256);
        LAUNCH(book_reduce_interleaved, blocks, 256, in.data(), &interleaved, u32(n));
        LAUNCH(book_reduce_sequential, blocks, 256, in.data(), &sequential, u32(n));
        vector<i32> sums(7);
        LAUNCH(book_reduce_two_levels, 7, 256, in.data(), sums.data(), u32(n));
        LAUNCH(book_reduce_two_levels, 1, 256, sums.data(), &all, u32(7));
        check(interleaved == wanted, "reduction with interleaved addressing");
        check(sequential == wanted, "reduction with sequential addressing");
        check(all == wanted, "reduction in two levels");
    }
}

void scans() {
    for (u32 n : {1u, 2u, 100u, 255u, 256u}) {
        const auto in = make<i32>(n, number);
        const auto heads = make<u8>(n, [](u64) { return u8(random_below(5) == 0); });
        vector<i32> inclusive(n), exclusive(n), segmented(n);
        vector<i32> upto(n), before(n), since_head(n);
        for (u32 i = 0; i < n; i++) {
            before[i] = i == 0 ? 0 : upto[i - 1];
            upto[i] = before[i] + in[i];
            since_head[i] = i == 0 || heads[i] ? in[i] : since_head[i - 1] + in[i];
        }
        LAUNCH(book_scan_hillis_steele, 1, 256, in.data(), inclusive.data(), n);
        LAUNCH(book_scan_blelloch, 1, 128, in.data(), exclusive.data(), n);
        LAUNCH(book_segscan, 1, 256, in.data(), heads.data(), segmented.data(), n);
        check_equal(inclusive, upto, "scan of Hillis and Steele");
        check_equal(exclusive, before, "scan of Blelloch");
        check_equal(segmented, since_head, "segmented scan by flags");
    }
}

void floods() {
    for (u32 length : {1u, 2u, 3u, 8u, 100u, 1000u})
        for (u64 one_in : {u64(1), u64(3), u64(40), ~u64(0)}) {
            u32 n = 2, levels = 1;
            while (n < length) n *= 2, levels++;
            const auto present = make<u8>(length, [&](u64) { return u8(random_below(one_in) == 0); });
            vector<textbook::Node> nodes(n);
            vector<i64> sources(length), wanted(length);
            for (u32 i = 0; i < length; i++) wanted[i] = present[i] ? i64(i) : i > 0 ? wanted[i - 1] : -1;
            const u64 grid = divide_up(n / 2, 128);
            LAUNCH(book_flood_enter, grid, 128, present.data(), length, nodes.data(), n);
            for (u32 level = 2; level <= levels; level++) LAUNCH(book_flood_reduce, grid, 128, nodes.data(), n, level);
            for (u32 level = levels; level >= 2; level--) LAUNCH(book_flood_deduce, grid, 128, nodes.data(), n, level);
            LAUNCH(book_flood_leave, grid, 128, nodes.data(), n, length, sources.data());
            check_equal(sources, wanted, "flood by a tree");
            const auto d_out = make<i32>(length, number);
            vector<i32> d_in(length), wanted_d(length);
            for (u32 i = 0; i < length; i++)
                if (wanted[i] >= 0) wanted_d[wanted[i]] += d_out[i];
            LAUNCH(book_flood_backward, divide_up(length, 128), 128, sources.data(), d_out.data(), d_in.data(), length);
            check_equal(d_in, wanted_d, "derivative of the flood");
        }
}

void histograms() {
    for (u32 n : {0u, 1u, 300u, 5000u}) {
        const u32 bins = 37;
        const auto bins_of = make<u32>(n, [](u64) { return u32(random_below(37) * random_below(2)); });
        vector<u32> naive(bins), privatised(bins), wanted(bins);
        for (u32 b : bins_of) wanted[b]++;
        LAUNCH(book_histogram_naive, divide_up(n, 256), 256, bins_of.data(), n, naive.data());
        LAUNCH_SHARED(book_histogram_privatised, larger(u64(1), divide_up(n, 1024)), 256, 4 * bins, bins_of.data(), n, bins, privatised.data());
        check_equal(naive, wanted, "naive histogram");
        check_equal(privatised, wanted, "privatised histogram");
    }
}

void transpositions() {
    const u32 shapes[][2] = {{1, 1}, {1, 40}, {33, 31}, {64, 96}, {100, 7}};
    for (const auto& [rows, columns] : shapes) {
        const u32 n = rows * columns, r = rows, c = columns;
        const auto in = make<i32>(n, number);
        vector<i32> by_rows(n), by_elements(n), tiled(n);
        LAUNCH(book_transpose_rows, divide_up(rows, 256), 256, in.data(), by_rows.data(), rows, columns);
        LAUNCH(book_transpose_elements, divide_up(n, 256), 256, in.data(), by_elements.data(), rows, columns);
        LAUNCH_GRID(book_transpose_tiled, dim3((c + 31) / 32, (r + 31) / 32), dim3(32, 8), 0, in.data(), tiled.data(), rows, columns);
        const auto wanted = make<i32>(n, [&](u64 i) { return in[i % r * c + i / r]; });
        check_equal(by_rows, wanted, "transposition by rows");
        check_equal(by_elements, wanted, "transposition by elements");
        check_equal(tiled, wanted, "transposition by tiles");
    }
}

}   // namespace
}   // namespace test

int main(int count, char** values) {
    using namespace test;
    if (int status = arguments(count, values, "test/instances/textbook.cuh")) return status;
    schedules(reductions);
    schedules(scans);
    schedules(floods);
    schedules(histograms);
    schedules(transpositions);
    return result("textbook");
}
