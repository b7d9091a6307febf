/* A network in the shape of a tree by hand. */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>

static double node(const double *w, const double *leaves, int64_t n) {
    if (n == 0) return 0;
    if (n == 1) return tanh(leaves[0]);
    return tanh(w[0] * node(w, leaves, n / 2) + w[1] * node(w, leaves + n / 2, n - n / 2) + w[2]);
}

void c_says(int64_t n, const int64_t *at, const double *rows, int64_t three, const double *w, int64_t *size, double *says) {
    *size = n;
    for (int64_t i = 0; i < n; i++) says[i] = node(w, rows + at[i], at[i + 1] - at[i]);
}

/* Keeps what nodes say, in the order in which they are done. */
static double *keep(const double *w, const double *leaves, int64_t n, double *kept) {
    if (n == 0) *kept = 0;
    else if (n == 1) *kept = tanh(leaves[0]);
    else {
        double *left = keep(w, leaves, n / 2, kept);
        double *right = keep(w, leaves + n / 2, n - n / 2, left);
        *right = tanh(w[0] * left[-1] + w[1] * right[-1] + w[2]);
        return right + 1;
    }
    return kept + 1;
}

static double *back(const double *w, int64_t n, double *end, double d, double *dw, double *dleaves) {
    double said = end[-1], inner = d * (1 - said * said);
    if (n == 0) return end - 1;
    if (n == 1) {
        *dleaves = inner;
        return end - 1;
    }
    double right = end[-2];
    double *left = back(w, n - n / 2, end - 1, inner * w[1], dw, dleaves + n / 2);
    dw[0] += inner * left[-1];
    dw[1] += inner * right;
    dw[2] += inner;
    return back(w, n / 2, left, inner * w[0], dw, dleaves);
}

void c_gradient(int64_t n, const int64_t *at, const double *rows, int64_t three, const double *w, int64_t *size,
                double *dw, int64_t *count, int64_t *offsets, double *drows) {
    *size = 3, *count = n;
    dw[0] = dw[1] = dw[2] = 0;
    int64_t longest = 1;
    for (int64_t i = 0; i < n; i++)
        if (at[i + 1] - at[i] > longest) longest = at[i + 1] - at[i];
    double *kept = malloc(2 * longest * sizeof *kept);
    for (int64_t i = 0; i < n; i++) {
        int64_t m = at[i + 1] - at[i];
        offsets[i] = at[i];
        back(w, m, keep(w, rows + at[i], m, kept), 1, dw, drows + at[i]);
    }
    offsets[n] = at[n];
    free(kept);
}
