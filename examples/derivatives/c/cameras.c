/* Bundle adjustment by hand. Fields of cameras come in the order of their names: focus, lens, place, turn. */
#include <math.h>
#include <stdint.h>
#include <string.h>

typedef struct { double x, y, z; } vec;

static vec at(const double *x, const double *y, const double *z, int64_t i) { return (vec){x[i], y[i], z[i]}; }
static double dot(vec a, vec b) { return a.x * b.x + a.y * b.y + a.z * b.z; }
static vec cross(vec a, vec b) { return (vec){a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x}; }
static vec times(double k, vec a) { return (vec){k * a.x, k * a.y, k * a.z}; }
static vec plus(vec a, vec b) { return (vec){a.x + b.x, a.y + b.y, a.z + b.z}; }

static vec turned(vec axis, vec p) {
    double angle2 = dot(axis, axis);
    if (angle2 < 1e-12) return plus(p, cross(axis, p));
    double angle = sqrt(angle2), c = cos(angle), s = sin(angle);
    vec unit = times(1 / angle, axis);
    return plus(plus(times(c, p), times(s, cross(unit, p))), times((1 - c) * dot(unit, p), unit));
}

/* Adds to the adjoints of the axis and the point. */
static void turned_back(vec axis, vec p, vec d, vec *daxis, vec *dp) {
    double angle2 = dot(axis, axis);
    if (angle2 < 1e-12) {
        *dp = plus(*dp, plus(d, cross(d, axis)));
        *daxis = plus(*daxis, cross(p, d));
        return;
    }
    double angle = sqrt(angle2), c = cos(angle), s = sin(angle);
    vec u = times(1 / angle, axis), uxp = cross(u, p);
    double up = dot(u, p), ud = dot(u, d);
    *dp = plus(*dp, plus(plus(times(c, d), times(s, cross(d, u))), times((1 - c) * ud, u)));
    vec du = plus(plus(times(s, cross(p, d)), times((1 - c) * up, d)), times((1 - c) * ud, p));
    double dangle = -s * dot(p, d) + c * dot(uxp, d) + s * up * ud;
    *daxis = plus(*daxis, plus(times(1 / angle, plus(du, times(-dot(u, du), u))), times(dangle, u)));
}

#define CAMERAS                                                                                                         \
    int64_t c, const double *focus, const double *lens0, const double *lens1, const double *px, const double *py,       \
        const double *pz, const double *tx, const double *ty, const double *tz
#define SIGHTS int64_t n, const int64_t *cam, const int64_t *point, const double *sx, const double *sy
#define POINTS int64_t p, const double *x, const double *y, const double *z

void c_function(SIGHTS, CAMERAS, POINTS, double *error) {
    *error = 0;
    for (int64_t e = 0; e < n; e++) {
        int64_t i = cam[e], j = point[e];
        vec q = turned(at(tx, ty, tz, i), plus(at(x, y, z, j), times(-1, at(px, py, pz, i))));
        double u = q.x / q.z, v = q.y / q.z, r = u * u + v * v;
        double bent = focus[i] * (1 + lens0[i] * r + lens1[i] * r * r);
        *error += (bent * u - sx[e]) * (bent * u - sx[e]) + (bent * v - sy[e]) * (bent * v - sy[e]);
    }
}

void c_gradient(SIGHTS, CAMERAS, POINTS, int64_t *dc, double *dfocus, double *dlens0, double *dlens1, double *dpx,
                double *dpy, double *dpz, double *dtx, double *dty, double *dtz, int64_t *dp, double *dx, double *dy,
                double *dz) {
    double *cameras[] = {dfocus, dlens0, dlens1, dpx, dpy, dpz, dtx, dty, dtz}, *points[] = {dx, dy, dz};
    *dc = c, *dp = p;
    for (int k = 0; k < 9; k++) memset(cameras[k], 0, c * sizeof(double));
    for (int k = 0; k < 3; k++) memset(points[k], 0, p * sizeof(double));
    for (int64_t e = 0; e < n; e++) {
        int64_t i = cam[e], j = point[e];
        vec axis = at(tx, ty, tz, i), from = plus(at(x, y, z, j), times(-1, at(px, py, pz, i))), q = turned(axis, from);
        double u = q.x / q.z, v = q.y / q.z, r = u * u + v * v;
        double shape = 1 + lens0[i] * r + lens1[i] * r * r, bent = focus[i] * shape;
        double du = 2 * (bent * u - sx[e]), dv = 2 * (bent * v - sy[e]), dbent = du * u + dv * v;
        double dr = dbent * focus[i] * (lens0[i] + 2 * lens1[i] * r);
        dfocus[i] += dbent * shape;
        dlens0[i] += dbent * focus[i] * r;
        dlens1[i] += dbent * focus[i] * r * r;
        du = du * bent + 2 * u * dr, dv = dv * bent + 2 * v * dr;
        vec dq = {du / q.z, dv / q.z, -(du * u + dv * v) / q.z}, daxis = {0, 0, 0}, dfrom = {0, 0, 0};
        turned_back(axis, from, dq, &daxis, &dfrom);
        dtx[i] += daxis.x, dty[i] += daxis.y, dtz[i] += daxis.z;
        dpx[i] -= dfrom.x, dpy[i] -= dfrom.y, dpz[i] -= dfrom.z;
        dx[j] += dfrom.x, dy[j] += dfrom.y, dz[j] += dfrom.z;
    }
}
