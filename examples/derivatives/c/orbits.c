/* Points that run away, by hand. */
#include <math.h>
#include <stdint.h>

static int orbit(double c, double x, double y, double *as, double *bs) {
    int i = 0;
    as[0] = x, bs[0] = y;
    while (as[i] * as[i] + bs[i] * bs[i] < 4 && i < 100) {
        as[i + 1] = as[i] * as[i] - bs[i] * bs[i] + c;
        bs[i + 1] = 2 * as[i] * bs[i] + y;
        i++;
    }
    return i;
}

void c_function(double c, int64_t n, const double *xs, int64_t n2, const double *ys, double *sum) {
    *sum = 0;
    for (int64_t k = 0; k < n; k++) {
        double a = xs[k], b = ys[k];
        for (int i = 0; a * a + b * b < 4 && i < 100; i++) {
            double next = a * a - b * b + c;
            b = 2 * a * b + ys[k];
            a = next;
        }
        *sum += sqrt(a * a + b * b);
    }
}

void c_gradient(double c, int64_t n, const double *xs, int64_t n2, const double *ys, double *dc, int64_t *size,
                double *dxs, int64_t *size2, double *dys) {
    *dc = 0, *size = *size2 = n;
    double as[101], bs[101];
    for (int64_t k = 0; k < n; k++) {
        int i = orbit(c, xs[k], ys[k], as, bs);
        double far = sqrt(as[i] * as[i] + bs[i] * bs[i]);
        double da = as[i] / far, db = bs[i] / far, dy = 0;
        while (i-- > 0) {
            *dc += da;
            dy += db;
            double old = da;
            da = 2 * as[i] * da + 2 * bs[i] * db;
            db = -2 * bs[i] * old + 2 * as[i] * db;
        }
        dxs[k] = da;
        dys[k] = db + dy;
    }
}
