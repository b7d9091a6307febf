#pragma once
#include "textbook/flood.cuh"
#include "textbook/histogram.cuh"
#include "textbook/reduce.cuh"
#include "textbook/scan.cuh"
#include "textbook/transpose.cuh"

PAR_KERNEL void __launch_bounds__(256) book_reduce_level(int* data, par::u32 n, par::u32 half) { textbook::reduce_level(data, n, half); }
PAR_KERNEL void __launch_bounds__(256) book_reduce_interleaved(const int* in, int* out, par::u32 n) {
    textbook::reduce_interleaved<256>(in, out, n);
}
PAR_KERNEL void __launch_bounds__(256) book_reduce_sequential(const int* in, int* out, par::u32 n) {
    textbook::reduce_sequential<256>(in, out, n);
}
PAR_KERNEL void __launch_bounds__(256) book_reduce_two_levels(const int* in, int* sums, par::u32 n) {
    textbook::reduce_two_levels<256>(in, sums, n);
}
PAR_KERNEL void __launch_bounds__(256) book_scan_hillis_steele(const int* in, int* out, par::u32 n) {
    textbook::scan_hillis_steele<256>(in, out, n);
}
PAR_KERNEL void __launch_bounds__(128) book_scan_blelloch(const int* in, int* out, par::u32 n) { textbook::scan_blelloch<128>(in, out, n); }
PAR_KERNEL void __launch_bounds__(256) book_segscan(const int* in, const unsigned char* heads, int* out, par::u32 n) {
    textbook::segmented_scan_flags<256>(in, heads, out, n);
}
PAR_KERNEL void __launch_bounds__(128) book_flood_enter(const unsigned char* present, par::u32 length, textbook::Node* nodes, par::u32 n) {
    textbook::flood_enter(present, length, nodes, n);
}
PAR_KERNEL void __launch_bounds__(128) book_flood_reduce(textbook::Node* nodes, par::u32 n, par::u32 level) {
    textbook::flood_reduce(nodes, n, level);
}
PAR_KERNEL void __launch_bounds__(128) book_flood_deduce(textbook::Node* nodes, par::u32 n, par::u32 level) {
    textbook::flood_deduce(nodes, n, level);
}
PAR_KERNEL void __launch_bounds__(128) book_flood_leave(const textbook::Node* nodes, par::u32 n, par::u32 length, par::i64* sources) {
    textbook::flood_leave(nodes, n, length, sources);
}
PAR_KERNEL void __launch_bounds__(128) book_flood_backward(const par::i64* sources, const int* d_out, int* d_in, par::u32 length) {
    textbook::flood_backward(sources, d_out, d_in, length);
}
PAR_KERNEL void __launch_bounds__(256) book_histogram_naive(const par::u32* bins_of, par::u32 n, par::u32* counts) {
    textbook::histogram_naive(bins_of, n, counts);
}
PAR_KERNEL void __launch_bounds__(256) book_histogram_privatised(const par::u32* bins_of, par::u32 n, par::u32 bins, par::u32* counts) {
    textbook::histogram_privatised(bins_of, n, bins, counts);
}
PAR_KERNEL void __launch_bounds__(256) book_transpose_rows(const int* in, int* out, par::u32 rows, par::u32 columns) {
    textbook::transpose_rows(in, out, rows, columns);
}
PAR_KERNEL void __launch_bounds__(256) book_transpose_elements(const int* in, int* out, par::u32 rows, par::u32 columns) {
    textbook::transpose_elements(in, out, rows, columns);
}
PAR_KERNEL void __launch_bounds__(256) book_transpose_tiled(const int* in, int* out, par::u32 rows, par::u32 columns) {
    textbook::transpose_tiled(in, out, rows, columns);
}

PAR_EXPORT(book_reduce_level)
PAR_EXPORT(book_reduce_interleaved)
PAR_EXPORT(book_reduce_sequential)
PAR_EXPORT(book_reduce_two_levels)
PAR_EXPORT(book_scan_hillis_steele)
PAR_EXPORT(book_scan_blelloch)
PAR_EXPORT(book_segscan)
PAR_EXPORT(book_flood_enter)
PAR_EXPORT(book_flood_reduce)
PAR_EXPORT(book_flood_deduce)
PAR_EXPORT(book_flood_leave)
PAR_EXPORT(book_flood_backward)
PAR_EXPORT(book_histogram_naive)
PAR_EXPORT(book_histogram_privatised)
PAR_EXPORT(book_transpose_rows)
PAR_EXPORT(book_transpose_elements)
PAR_EXPORT(book_transpose_tiled)
