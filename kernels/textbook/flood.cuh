// Flood to the right by a tree, up and down ("reduce and deduce"). The operator takes the right operand if something is there, else the left:
// it has no inverse, so that a node keeps four results where a sum's tree keeps one. For the range [l, r) with the middle m, upwards
//
//     (the element at l, [l, m), [l, m], [l, r))
//
// and downwards the same from the start of the array, [0, l], [0, m), [0, m], [0, r). Results are indices of elements, or -1: what flows is where a
// value comes from, which is also what the derivative needs (flood_backward).
//
// Nodes of all levels are numbered as in a heap of n leaves, n a power of two: level k has n >> k nodes, which start at level_start(n, k).
// One launch per level, of a thread per node.
#pragma once
#include "par/base.cuh"

namespace textbook {

using par::i64;
using par::u32;

struct Node {
    i64 first, before_middle, with_middle, all;
};

PAR_INLINE i64 later(i64 a, i64 b) { return b >= 0 ? b : a; }

// Where the nodes of level k >= 1 start.
PAR_INLINE u32 level_start(u32 n, u32 level) { return n - (n >> (level - 1)); }

// The lowest level of nodes, two elements each. present[i] says whether something is at i; beyond `length` there is nothing.
PAR_INLINE void flood_enter(const unsigned char* present, u32 length, Node* nodes, u32 n) {
    const u32 i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n / 2) return;
    const i64 left = 2 * i < length && present[2 * i] ? i64(2 * i) : -1;
    const i64 right = 2 * i + 1 < length && present[2 * i + 1] ? i64(2 * i + 1) : -1;
    nodes[i] = {left, left, later(left, right), later(left, right)};
}

PAR_INLINE void flood_reduce(Node* nodes, u32 n, u32 level) {
    const u32 i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n >> level) return;
    const Node l = nodes[level_start(n, level - 1) + 2 * i], r = nodes[level_start(n, level - 1) + 2 * i + 1];
    nodes[level_start(n, level) + i] = {l.first, l.all, later(l.all, r.first), later(l.all, r.all)};
}

// From a level to the one below.
PAR_INLINE void flood_deduce(Node* nodes, u32 n, u32 level) {
    const u32 i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n >> level) return;
    const Node x = nodes[level_start(n, level) + i];
    Node* const children = nodes + level_start(n, level - 1) + 2 * i;
    const Node l = children[0], r = children[1];
    children[0] = {x.first, later(x.first, l.before_middle), later(x.first, l.with_middle), x.before_middle};
    children[1] = {x.with_middle, later(x.with_middle, r.before_middle), later(x.with_middle, r.with_middle), x.all};
}

PAR_INLINE void flood_leave(const Node* nodes, u32 n, u32 length, i64* sources) {
    const u32 i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n / 2) return;
    if (2 * i < length) sources[2 * i] = nodes[i].first;
    if (2 * i + 1 < length) sources[2 * i + 1] = nodes[i].all;
}

// The derivative: what flowed from an element comes back to it, d_in[source[i]] += d_out[i].
template <class T>
PAR_INLINE void flood_backward(const i64* sources, const T* d_out, T* d_in, u32 length) {
    const u32 i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < length && sources[i] >= 0) atomicAdd(d_in + sources[i], d_out[i]);
}

}   // namespace textbook
