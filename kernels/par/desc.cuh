// Descriptors: where rows start, from how long they are.
#pragma once
#include "par/scan.cuh"

namespace par {

// offsets[0..=rows] from length(row), called once for each row; total(elements) once. Grid: tiles = divide_up(rows, THREADS * ITEMS), as
// many tile states for i64. If there are no rows there is no launch: offsets[0] is then the host's to set.
template <int THREADS, int ITEMS, class Length, class Total>
PAR_INLINE void make_offsets(u64 rows, Length length, i64* offsets, Total total, void* state) {
    scan<THREADS, ITEMS, false>(
        rows, Sum<i64>{},
        [=](u64 row) {
            if (row == 0) store(offsets, i64(0));
            return i64(length(row));
        },
        [=](u64 row, i64 end) {
            store(offsets + row + 1, end);
            if (row == rows - 1) total(end);
        },
        state
    );
}

}   // namespace par
