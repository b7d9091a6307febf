/* A recurrent network of memory cells by hand. */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static double sigmoid(double x) { return 1 / (1 + exp(-x)); }

/* One step: the four gates, then what the cells keep and say. */
static void step(int64_t d, int64_t h, const double *x, const double *input, const double *cells, const double *offset,
                 const double *said, const double *kept, double *gates, double *next_said, double *next_kept) {
    for (int64_t r = 0; r < 4 * h; r++) {
        double sum = offset[r], sum2 = 0;
        for (int64_t j = 0; j < d; j++) sum += input[r * d + j] * x[j];
        for (int64_t j = 0; j < h; j++) sum2 += cells[r * h + j] * said[j];
        gates[r] = r < 3 * h ? sigmoid(sum + sum2) : tanh(sum + sum2);
    }
    for (int64_t i = 0; i < h; i++) {
        next_kept[i] = gates[i] * kept[i] + gates[h + i] * gates[3 * h + i];
        next_said[i] = gates[2 * h + i] * tanh(next_kept[i]);
    }
}

/* The steps with all their states. */
static double run(int64_t t, int64_t d, int64_t h, const double *xs, const double *wish, const double *input,
                  const double *cells, const double *offset, double *said, double *kept, double *gates) {
    memset(said, 0, h * sizeof *said);
    memset(kept, 0, h * sizeof *kept);
    for (int64_t s = 0; s < t; s++)
        step(d, h, xs + s * d, input, cells, offset, said + s * h, kept + s * h, gates + s * 4 * h, said + (s + 1) * h,
             kept + (s + 1) * h);
    double loss = 0;
    for (int64_t i = 0; i < h; i++) loss += (said[t * h + i] - wish[i]) * (said[t * h + i] - wish[i]);
    return loss;
}

void c_function(int64_t t, int64_t d, const double *xs, int64_t h, const double *wish, int64_t f1, int64_t h1,
                int64_t d1, const double *input, int64_t f2, int64_t h2, int64_t h3, const double *cells, int64_t f3,
                int64_t h4, const double *offset, double *loss) {
    double *state = malloc((2 * (t + 1) + 4 * t) * h * sizeof *state);
    *loss = run(t, d, h, xs, wish, input, cells, offset, state, state + (t + 1) * h, state + 2 * (t + 1) * h);
    free(state);
}

void c_gradient(int64_t t, int64_t d, const double *xs, int64_t h, const double *wish, int64_t f1, int64_t h1,
                int64_t d1, const double *input, int64_t f2, int64_t h2, int64_t h3, const double *cells, int64_t f3,
                int64_t h4, const double *offset, int64_t *a1, int64_t *a2, int64_t *a3, double *dcells, int64_t *b1,
                int64_t *b2, int64_t *b3, double *dinput, int64_t *c1, int64_t *c2, double *doffset) {
    *a1 = *b1 = *c1 = 4, *a2 = *a3 = *b2 = *c2 = h, *b3 = d;
    double *state = malloc((2 * (t + 1) + 4 * t + 7) * h * sizeof *state);
    double *said = state, *kept = said + (t + 1) * h, *gates = kept + (t + 1) * h, *dsaid = gates + 4 * t * h,
           *dkept = dsaid + h, *before = dkept + h, *dgates = before + h;
    run(t, d, h, xs, wish, input, cells, offset, said, kept, gates);
    memset(dcells, 0, 4 * h * h * sizeof *dcells);
    memset(dinput, 0, 4 * h * d * sizeof *dinput);
    memset(doffset, 0, 4 * h * sizeof *doffset);
    for (int64_t i = 0; i < h; i++) dsaid[i] = 2 * (said[t * h + i] - wish[i]), dkept[i] = 0;
    for (int64_t s = t; s-- > 0;) {
        const double *g = gates + s * 4 * h;
        for (int64_t i = 0; i < h; i++) {
            double th = tanh(kept[(s + 1) * h + i]);
            double dk = dkept[i] + dsaid[i] * g[2 * h + i] * (1 - th * th);
            dgates[i] = dk * kept[s * h + i] * g[i] * (1 - g[i]);
            dgates[h + i] = dk * g[3 * h + i] * g[h + i] * (1 - g[h + i]);
            dgates[2 * h + i] = dsaid[i] * th * g[2 * h + i] * (1 - g[2 * h + i]);
            dgates[3 * h + i] = dk * g[h + i] * (1 - g[3 * h + i] * g[3 * h + i]);
            dkept[i] = dk * g[i];
            before[i] = 0;
        }
        for (int64_t r = 0; r < 4 * h; r++) {
            double dg = dgates[r];
            doffset[r] += dg;
            for (int64_t j = 0; j < d; j++) dinput[r * d + j] += dg * xs[s * d + j];
            for (int64_t j = 0; j < h; j++) {
                dcells[r * h + j] += dg * said[s * h + j];
                before[j] += dg * cells[r * h + j];
            }
        }
        memcpy(dsaid, before, h * sizeof *before);
    }
    free(state);
}
