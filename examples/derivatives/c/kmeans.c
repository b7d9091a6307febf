/* K-means by hand: the cost, and its gradient in the centres. */
#include <math.h>
#include <stdint.h>
#include <string.h>

/* The centre that is nearest to a point, and the square of its distance. */
static int64_t nearest(const double *p, int64_t k, int64_t d, const double *centres, double *distance) {
    int64_t best = 0;
    *distance = INFINITY;
    for (int64_t c = 0; c < k; c++) {
        double sum = 0;
        for (int64_t j = 0; j < d; j++) sum += (p[j] - centres[c * d + j]) * (p[j] - centres[c * d + j]);
        if (sum < *distance) *distance = sum, best = c;
    }
    return best;
}

void c_cost(int64_t n, int64_t d, const double *points, int64_t k, int64_t d2, const double *centres, double *cost) {
    *cost = 0;
    for (int64_t i = 0; i < n; i++) {
        double distance;
        nearest(points + i * d, k, d, centres, &distance);
        *cost += distance;
    }
}

void c_gradient(int64_t n, int64_t d, const double *points, int64_t k, int64_t d2, const double *centres,
                int64_t *rows, int64_t *columns, double *gradient) {
    *rows = k, *columns = d;
    memset(gradient, 0, k * d * sizeof *gradient);
    for (int64_t i = 0; i < n; i++) {
        double distance;
        int64_t c = nearest(points + i * d, k, d, centres, &distance);
        for (int64_t j = 0; j < d; j++) gradient[c * d + j] += 2 * (centres[c * d + j] - points[i * d + j]);
    }
}

/* The same for sparse points: what a coordinate adds to the square of the centre's length. */
static int64_t nearest_to_sparse(int64_t from, int64_t to, const int64_t *index, const double *value, int64_t k,
                                 int64_t d, const double *centres, const double *squares, double *distance) {
    int64_t best = 0;
    *distance = INFINITY;
    for (int64_t c = 0; c < k; c++) {
        double sum = squares[c];
        for (int64_t e = from; e < to; e++) {
            double x = centres[c * d + index[e]];
            sum += (value[e] - x) * (value[e] - x) - x * x;
        }
        if (sum < *distance) *distance = sum, best = c;
    }
    return best;
}

static void lengths(int64_t k, int64_t d, const double *centres, double *squares) {
    for (int64_t c = 0; c < k; c++) {
        squares[c] = 0;
        for (int64_t j = 0; j < d; j++) squares[c] += centres[c * d + j] * centres[c * d + j];
    }
}

void c_sparse_cost(int64_t n, const int64_t *at, const int64_t *index, const double *value, int64_t k, int64_t d,
                   const double *centres, double *cost) {
    double squares[k];
    lengths(k, d, centres, squares);
    *cost = 0;
    for (int64_t i = 0; i < n; i++) {
        double distance;
        nearest_to_sparse(at[i], at[i + 1], index, value, k, d, centres, squares, &distance);
        *cost += distance;
    }
}

void c_sparse_gradient(int64_t n, const int64_t *at, const int64_t *index, const double *value, int64_t k, int64_t d,
                       const double *centres, int64_t *rows, int64_t *columns, double *gradient) {
    double squares[k];
    int64_t count[k];
    lengths(k, d, centres, squares);
    *rows = k, *columns = d;
    memset(gradient, 0, k * d * sizeof *gradient);
    memset(count, 0, sizeof count);
    for (int64_t i = 0; i < n; i++) {
        double distance;
        int64_t c = nearest_to_sparse(at[i], at[i + 1], index, value, k, d, centres, squares, &distance);
        count[c]++;
        for (int64_t e = at[i]; e < at[i + 1]; e++) gradient[c * d + index[e]] -= 2 * value[e];
    }
    for (int64_t c = 0; c < k; c++)
        for (int64_t j = 0; j < d; j++) gradient[c * d + j] += 2 * count[c] * centres[c * d + j];
}
