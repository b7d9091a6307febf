// Contractions and transpositions of generated programs: what the executor passes, and the kernels' bodies. See `par/contract.cuh`, `par/transpose.cuh`.
#pragma once
#include "par/contract.cuh"
#include "par/reduce.cuh"
#include "par/transpose.cuh"
#include "program/failure.cuh"

namespace par {

template <class T, int BATCH>
struct ContractArgument {
    Failure* failure;
    u64 launch, stack;
    Contraction<T, BATCH> what;
};

// The results of parts, which are combined.
template <class T>
struct PartsArgument {
    Failure* failure;
    u64 launch, stack;
    const T* from;
    T* out;
    u64 n, parts;
};
template <class T, class Combine>
PAR_INLINE void contract_parts(const PartsArgument<T>& k, Combine combine) {
    combine_parts<contract_threads>(
        k.n, k.parts, combine, [&](u64 i) { return load(k.from + i); }, [&](u64 i, const T& v) { store(k.out + i, v); }
    );
}

// Matrices of rows by columns, which are stored by columns.
template <class T>
struct TransposeArgument {
    Failure* failure;
    u64 launch, stack;
    const T* from;
    T* out;
    u64 rows, columns;
};
template <class T>
PAR_INLINE void transpose(const TransposeArgument<T>& k) {
    transpose<T>(k.columns, k.rows, [&](u64 i) { return load(k.from + i); }, [&](u64 i, const T& v) { store(k.out + i, v); });
}

}   // namespace par
