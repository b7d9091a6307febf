// Products of matrices and what has their shape against loops: sizes around a tile, all orders of strides, batches, parts of k, bit by bit.
#include "harness.h"
#include "instances/contract.cuh"

namespace test {
namespace {

using par::divide_up;

struct Size {
    u64 rows, columns, depth;
};

// Sizes around tiles of 64 and 128, and steps of 8 and 16.
vector<Size> shapes() {
    vector<Size> all = {{1, 1, 1}, {0, 5, 3}, {5, 0, 3}, {3, 4, 0}, {1, 100, 7}, {100, 1, 17}, {64, 64, 16}, {65, 63, 15}, {3, 129, 33}};
    if (largest >= 10000) {
        for (Size s : {Size{128, 128, 8}, Size{129, 127, 9}, Size{200, 68, 40}, Size{60, 260, 31}}) all.push_back(s);
    }
    return all;
}

// Strides of a factor: k next to each other; or rows; or neither, backwards, in which case the first element is not at 0.
struct Layout {
    par::Strides strides;
    u64 first, elements;
};
Layout layout(u32 kind, u64 sides, u64 depth) {
    const i64 s = i64(sides), d = i64(depth);
    if (kind == 0) return {{d, 1}, 0, sides * depth};
    if (kind == 1) return {{1, s}, 0, sides * depth};
    return {{-2 * d, 2}, 2 * depth * (sides ? sides - 1 : 0), 2 * sides * depth};
}

template <class T>
T value(u64) {
    return T(i64(random_below(2001)) - 1000) / T(8);
}

// What a loop over k gives, in parts of so many.
template <class T, class Combine, class Pair>
T combined(const T* left, i64 left_depth, const T* right, i64 right_depth, u64 depth, u64 part, T first, T neutral, Combine combine, Pair pair) {
    T all = first;
    for (u64 lo = 0; lo < larger(depth, u64(1)); lo += part) {
        T sum = lo == 0 ? first : neutral;
        for (u64 k = lo; k < smaller(depth, lo + part); k++) sum = combine(sum, pair(left[i64(k) * left_depth], right[i64(k) * right_depth]));
        all = lo == 0 ? sum : combine(all, sum);
    }
    return all;
}

struct Kind {
    const char* name;
    u64 tile_rows, tile_columns;
};

// One product with each pair of layouts. `start`: with an array of first values.
template <class T, class Launch, class Combine, class Pair>
void products(const Kind& kind, bool start, T neutral, Combine combine, Pair pair, Launch launch) {
    for (const Size& size : shapes())
        for (u32 layouts = 0; layouts < 9; layouts++) {
            const auto [rows, columns, depth] = size;
            const Layout of_left = layout(layouts / 3, rows, depth), of_right = layout(layouts % 3, columns, depth);
            const auto left = make<T>(of_left.elements, value<T>), right = make<T>(of_right.elements, value<T>);
            const auto initial = make<T>(rows * columns, value<T>);
            vector<T> out(rows * columns), wanted(rows * columns);
            const T *first_left = left.data() + of_left.first, *first_right = right.data() + of_right.first;
            for (u64 i = 0; i < rows * columns; i++)
                wanted[i] = combined(
                    first_left + i64(i / columns) * of_left.strides.side, of_left.strides.depth,
                    first_right + i64(i % columns) * of_right.strides.side, of_right.strides.depth, depth, larger(depth, u64(1)),
                    start ? initial[i] : neutral, neutral, combine, pair
                );
            const ContractShape shape{of_left.strides, of_right.strides, rows, columns, depth, depth, 1, 1, {{1, 0, 0}, {1, 0, 0}}};
            const u64 grid = divide_up(rows, kind.tile_rows) * divide_up(columns, kind.tile_columns);
            launch(grid, first_left, first_right, start ? initial.data() : nullptr, out.data(), shape);
            check(same_bits(out, wanted), std::string(kind.name) + ", rows " + std::to_string(rows) + ", columns " + std::to_string(columns) +
                ", depth " + std::to_string(depth) + ", layouts " + std::to_string(layouts));
        }
}

void single_products() {
    products<float>({"contract_large_f32", 128, 128}, true, 0.0f, Add{}, Multiply{}, [](u64 grid, auto... a) {
        LAUNCH(contract_large_f32, grid, 256, a...);
    });
    products<float>({"contract_f32", 64, 64}, false, 0.0f, Add{}, Multiply{}, [](u64 grid, auto... a) { LAUNCH(contract_f32, grid, 256, a...); });
    products<double>({"contract_f64", 64, 64}, true, 0.0, Add{}, Multiply{}, [](u64 grid, auto... a) {
        LAUNCH(contract_f64, grid, 256, a...);
    });
    products<i64>({"contract_least_i64", 64, 64}, false, i64(0x7fffffffffffffffll), Least{}, Add{}, [](u64 grid, auto... a) {
        LAUNCH(contract_least_i64, grid, 256, a...);
    });
}

// Two by three products; the right factor is the same for all products of an outer index.
void batches() {
    const u64 outer = 2, inner = 3, rows = 70, columns = 33, depth = 20, products = outer * inner;
    const auto left = make<float>(products * rows * depth, value<float>), right = make<float>(outer * depth * columns, value<float>);
    vector<float> out(products * rows * columns), wanted(out.size());
    for (u64 p = 0; p < products; p++)
        for (u64 i = 0; i < rows * columns; i++)
            wanted[p * rows * columns + i] = combined(
                left.data() + (p * rows + i / columns) * depth, 1, right.data() + p / inner * depth * columns + i % columns, i64(columns), depth,
                depth, 0.0f, 0.0f, Add{}, Multiply{}
            );
    const par::BatchIndex of_outer{i64(outer), i64(inner * rows * depth), i64(depth * columns)}, of_inner{i64(inner), i64(rows * depth), 0};
    const ContractShape shape{{i64(depth), 1}, {1, i64(columns)}, rows, columns, depth, depth, 1, products, {of_outer, of_inner}};
    LAUNCH(contract_f32, 2 * products, 256, left.data(), right.data(), (const float*)nullptr, out.data(), shape);
    check(same_bits(out, wanted), "a batch of products");
}

// Few results of many elements: in parts, the last of which is shorter.
void parts() {
    const u64 rows = 20, columns = 66, depth = 200, part = 64, parts = 4;
    const auto left = make<float>(rows * depth, value<float>), right = make<float>(depth * columns, value<float>);
    vector<float> of_parts(parts * rows * columns), out(rows * columns), wanted(out.size());
    for (u64 i = 0; i < out.size(); i++)
        wanted[i] = combined(
            left.data() + i / columns * depth, 1, right.data() + i % columns, i64(columns), depth, part, 0.0f, 0.0f, Add{}, Multiply{}
        );
    const ContractShape shape{{i64(depth), 1}, {1, i64(columns)}, rows, columns, depth, part, parts, 1, {{1, 0, 0}, {1, 0, 0}}};
    LAUNCH(contract_f32, 2 * parts, 256, left.data(), right.data(), (const float*)nullptr, of_parts.data(), shape);
    LAUNCH(contract_parts_f32, divide_up(rows * columns, 256), 256, of_parts.data(), out.data(), rows * columns, parts);
    check(same_bits(out, wanted), "a product in parts");
}

}   // namespace
}   // namespace test

int main(int count, char** values) {
    using namespace test;
    if (int status = arguments(count, values, "test/instances/contract.cuh")) return status;
    schedules(single_products);
    schedules(batches);
    schedules(parts);
    return result("contract");
}
