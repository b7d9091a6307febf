/* A mixture of normal distributions by hand. */
#include <math.h>
#include <stdint.h>
#include <string.h>

static double log_sum(int64_t k, const double *x) {
    double most = -INFINITY, sum = 0;
    for (int64_t c = 0; c < k; c++) most = fmax(most, x[c]);
    for (int64_t c = 0; c < k; c++) sum += exp(x[c] - most);
    return most + log(sum);
}

/* What does not depend on points: one over each width, and the part of a distribution's logarithm. */
static void prepare(int64_t k, int64_t d, const double *weights, const double *widths, double *inverse, double *part) {
    for (int64_t c = 0; c < k; c++) {
        part[c] = weights[c];
        for (int64_t j = 0; j < d; j++) {
            inverse[c * d + j] = exp(-widths[c * d + j]);
            part[c] -= widths[c * d + j];
        }
    }
}

static void parts(int64_t k, int64_t d, const double *p, const double *means, const double *inverse, const double *part,
                  double *out) {
    for (int64_t c = 0; c < k; c++) {
        double sum = 0;
        for (int64_t j = 0; j < d; j++) {
            double x = (p[j] - means[c * d + j]) * inverse[c * d + j];
            sum += x * x;
        }
        out[c] = part[c] - 0.5 * sum;
    }
}

void c_likelihood(int64_t n, int64_t d, const double *points, int64_t k, const double *weights, int64_t k2, int64_t d2,
                  const double *means, int64_t k3, int64_t d3, const double *widths, double *likelihood) {
    double inverse[k * d], part[k], x[k];
    prepare(k, d, weights, widths, inverse, part);
    *likelihood = -n * log_sum(k, weights);
    for (int64_t i = 0; i < n; i++) {
        parts(k, d, points + i * d, means, inverse, part, x);
        *likelihood += log_sum(k, x);
    }
}

void c_gradient(int64_t n, int64_t d, const double *points, int64_t k, const double *weights, int64_t k2, int64_t d2,
                const double *means, int64_t k3, int64_t d3, const double *widths, int64_t *size, double *dweights,
                int64_t *rows, int64_t *columns, double *dmeans, int64_t *rows2, int64_t *columns2, double *dwidths) {
    double inverse[k * d], part[k], x[k];
    prepare(k, d, weights, widths, inverse, part);
    *size = *rows = *rows2 = k, *columns = *columns2 = d;
    double all = log_sum(k, weights);
    for (int64_t c = 0; c < k; c++) dweights[c] = -n * exp(weights[c] - all);
    memset(dmeans, 0, k * d * sizeof *dmeans);
    memset(dwidths, 0, k * d * sizeof *dwidths);
    for (int64_t i = 0; i < n; i++) {
        parts(k, d, points + i * d, means, inverse, part, x);
        double sum = log_sum(k, x);
        for (int64_t c = 0; c < k; c++) {
            double share = exp(x[c] - sum);
            dweights[c] += share;
            for (int64_t j = 0; j < d; j++) {
                double y = (points[i * d + j] - means[c * d + j]) * inverse[c * d + j];
                dmeans[c * d + j] += share * y * inverse[c * d + j];
                dwidths[c * d + j] += share * (y * y - 1);
            }
        }
    }
}
