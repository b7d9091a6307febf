// Segments inside a tile: folds that start anew at heads.
#pragma once
#include "par/base.cuh"

namespace par {

// A fold since the last head, if `headed`, else since the start.
template <class T>
struct Segment {
    T value;
    u32 headed;
};

// The operator over segments: what is before a head does not matter after it (Schwartz, 1980; Blelloch, 1990).
template <class Op>
struct Segmented : Operator {
    using T = Segment<typename Op::T>;
    static constexpr bool exact = Op::exact;
    const Op& op;
    PAR_INLINE explicit Segmented(const Op& op_) : op(op_) {}
    PAR_INLINE T neutral() const { return {op.neutral(), 0}; }
    PAR_INLINE T operator()(const T& a, const T& b) const {
        if (b.headed) return b;
        return {op(a.value, b.value), a.headed};
    }
};

}   // namespace par
