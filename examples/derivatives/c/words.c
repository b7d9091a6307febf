/* Logistic regression on documents by hand. */
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

void c_loss(int64_t n, const int64_t *at, const int64_t *docs, int64_t n2, const bool *classes, int64_t words,
            const double *weights, double *loss) {
    *loss = 0;
    for (int64_t i = 0; i < n; i++) {
        double score = 0;
        for (int64_t e = at[i]; e < at[i + 1]; e++) score += weights[docs[e]];
        *loss += log1p(exp(classes[i] ? -score : score));
    }
}

void c_gradient(int64_t n, const int64_t *at, const int64_t *docs, int64_t n2, const bool *classes, int64_t words,
                const double *weights, int64_t *size, double *gradient) {
    *size = words;
    memset(gradient, 0, words * sizeof *gradient);
    for (int64_t i = 0; i < n; i++) {
        double score = 0;
        for (int64_t e = at[i]; e < at[i + 1]; e++) score += weights[docs[e]];
        double wrong = 1 / (1 + exp(-score)) - classes[i];
        for (int64_t e = at[i]; e < at[i + 1]; e++) gradient[docs[e]] += wrong;
    }
}
