// Scans against a loop: every size around a tile, operators of all kinds; floats bit by bit the same under all schedules.
#include "harness.h"
#include "instances/scan.cuh"

namespace test {
namespace {

template <class T, class Op>
vector<T> reference(const vector<T>& in, const Op& op, bool exclusive) {
    vector<T> out(in.size());
    T v = op.neutral();
    for (size_t i = 0; i < in.size(); i++) {
        T next = op(v, in[i]);
        out[i] = exclusive ? v : next;
        v = next;
    }
    return out;
}

// A state of `Slot<T>` for the tiles, on a boundary of 16 bytes.
struct States {
    vector<char> memory;
    States(u64 tiles, u64 slot) : memory(tile_states(tiles, slot)) {}
    void* at() { return aligned(memory); }
};

#define SCAN_CASE(NAME, T, TILE, THREADS, OP, EXCLUSIVE, ELEMENT)                                  \
    for (u64 n : sizes(TILE)) {                                                                    \
        const vector<T> in = make<T>(n, ELEMENT);                                             \
        vector<T> out(n);                                                                     \
        States states(par::divide_up(n, TILE), par::Slot<T>::bytes);                               \
        LAUNCH(NAME, par::divide_up(n, TILE), THREADS, in.data(), out.data(), n, states.at());     \
        check_equal(out, reference(in, OP, EXCLUSIVE), #NAME);                                     \
    }

void scans() {
    SCAN_CASE(scan_i32, i32, 3840, 256, SumI32{}, false, [](u64) { return i32(random_below(1000)) - 500; })
    SCAN_CASE(scan_exclusive_i64, i64, 2816, 256, SumI64{}, true, [](u64) { return i64(random_below(1ull << 40)); })
    auto affine = [](u64) { return Affine{u32(random_below(1u << 31)) | 1, u32(random_below(1000))}; };
    SCAN_CASE(scan_affine, Affine, 2816, 256, Compose{}, false, affine)
    auto matrix2 = [](u64) {
        Matrix2 m;
        for (u32& x : m.x) x = u32(random_below(10));
        return m;
    };
    SCAN_CASE(scan_matrix2, Matrix2, 896, 128, Product<2>{}, false, matrix2)
}

void wide_scans() {
    largest = smaller(largest, u64(3000));
    auto matrix4 = [](u64) {
        Matrix4 m;
        for (u32& x : m.x) x = u32(random_below(10));
        return m;
    };
    SCAN_CASE(scan_matrix4, Matrix4, 64, 64, Product<4>{}, true, matrix4)
}

// The multiplication table of the symmetric group of three.
vector<u8> group_table() {
    const int p[6][3] = {{0, 1, 2}, {1, 2, 0}, {2, 0, 1}, {0, 2, 1}, {2, 1, 0}, {1, 0, 2}};
    vector<u8> table(36);
    for (int a = 0; a < 6; a++)
        for (int b = 0; b < 6; b++)
            for (int c = 0; c < 6; c++)
                if (p[b][p[a][0]] == p[c][0] && p[b][p[a][1]] == p[c][1]) table[a * 6 + b] = u8(c);
    return table;
}

void captured() {
    const vector<u8> table = group_table();
    const Permute op(table.data());
    for (u64 n : sizes(640)) {
        const vector<u32> in = make<u32>(n, [](u64) { return u32(random_below(6)); });
        vector<u32> out(n);
        States states(par::divide_up(n, 640), par::Slot<u32>::bytes);
        LAUNCH(scan_permute, par::divide_up(n, 640), 128, in.data(), out.data(), n, table.data(), states.at());
        check_equal(out, reference(in, op, false), "scan_permute");
    }
    for (u64 n : sizes(896)) {
        const vector<float> in = make<float>(n, [](u64) { return float(random_below(50)); });
        const vector<Best> wrapped = make<Best>(n, [&](u64 i) { return Best{in[i], u32(i), 1}; });
        vector<Best> out(n);
        States states(par::divide_up(n, 896), par::Slot<Best>::bytes);
        LAUNCH(scan_best, par::divide_up(n, 896), 128, in.data(), out.data(), n, states.at());
        check_equal(out, reference(wrapped, TakeBest{}, false), "scan_best");
    }
}

// Float addition is not associative: the sums must not depend on the schedule.
template <class Scan>
void compare_runs(const char* what, u64 n, u64 times, Scan scan_of) {
    const vector<float> in = make<float>(n, [](u64) { return float(random_below(1u << 24)) * 1e-3f; });
    config = emu::Config{};
    const vector<float> wanted = scan_of(in);
    double exact = 0;
    bool near = true;
    for (u64 i = 0; i < n; i++) {
        exact += in[i];
        near = near && std::abs(wanted[i] - exact) <= 1e-3 * exact;
    }
    check(near, std::string(what) + " is about the sums");
    for (u64 s = 1; s <= times; s++) {
        config.seed = s;
        config.preempt = true;
        config.resident = 2 + int(s % 7);
        check(same_bits(scan_of(in), wanted), std::string(what) + " has the same bits under all schedules");
    }
    config = emu::Config{};
}

#define FLOAT_SCAN(NAME, TILE, THREADS)                                                                         \
    [](const vector<float>& in) {                                                                           \
        vector<float> out(in.size());                                                                       \
        States states(par::divide_up(in.size(), TILE), par::Slot<float>::bytes);                                 \
        LAUNCH(NAME, par::divide_up(in.size(), TILE), THREADS, in.data(), out.data(), u64(in.size()), states.at()); \
        return out;                                                                                              \
    }

void float_scans() {
    compare_runs("scan_f32", 5 * 3840 - 17, runs, FLOAT_SCAN(scan_f32, 3840, 256));
    // Over groups and sections of tiles.
    compare_runs("scan_small_f32", 40 * 32, runs, FLOAT_SCAN(scan_small_f32, 32, 32));
    compare_runs("scan_small_f32, sections", 2200 * 32 + 5, 1 + runs / 100, FLOAT_SCAN(scan_small_f32, 32, 32));
}

// Only the last tiles of more than 2^32 elements run; what is before them is put into the states by hand.
void beyond_32_bits() {
    const u64 tile = 896, n = (u64(1) << 32) + 12345, tiles = par::divide_up(n, tile), first = tiles - 20;
    States states(tiles, par::Slot<u64>::bytes);
    par::TileStates<u64> slots{static_cast<char*>(states.at()), u32(tiles)};
    emu::machine = emu::the_machine();
    *reinterpret_cast<u32*>(slots.memory) = u32(first);
    par::Slot<u64>::put(slots.slot(u32(first - 1)), par::PREFIX, 3 * first * tile);
    u32 wrong = 0;
    LAUNCH(scan_far, 20, 128, n, first * tile, &wrong, states.at());
    check(wrong == 0, "positions beyond 2^32");
}

}   // namespace
}   // namespace test

int main(int count, char** values) {
    using namespace test;
    if (int status = arguments(count, values, "test/instances/scan.cuh")) return status;
    schedules(scans);
    schedules(captured);
    float_scans();
    beyond_32_bits();
    schedules(wide_scans);
    return result("scan");
}
