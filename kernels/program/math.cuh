// Elementary functions: the formulas of `runtime/src/math`, operation by operation, so that a number gives the same bits on
// every device. Only sines of huge arguments, for which those formulas are not made, are the library's.
#pragma once
#include "par/base.cuh"

// A function of CUDA's mathematical library.
#if PAR_DEVICE
#define PAR_LIBRARY(NAME) ::NAME
#else
#define PAR_LIBRARY(NAME) __builtin_##NAME
#endif

namespace math {

using namespace par;

constexpr f64 PI = 3.14159265358979323846;
constexpr f64 LN2 = 0.693147180559945309417;
constexpr f64 LN2_LOW = 2.3190468138462996e-17;
constexpr f64 LOG2_E = 1.44269504088896340736;
constexpr f64 SQRT_HALF = 1.41421356237309504880 / 2.0;
constexpr f64 MAGIC = 6755399441055744.0;
constexpr f64 LEAST = 2.2250738585072014e-308;   // normal number

PAR_INLINE u64 bits(f64 x) { return u64(__double_as_longlong(x)); }
PAR_INLINE f64 of_bits(u64 x) { return __longlong_as_double(i64(x)); }
PAR_INLINE u32 bits(f32 x) { return __float_as_uint(x); }
PAR_INLINE f32 of_bits(u32 x) { return __uint_as_float(x); }
PAR_INLINE f64 fma(f64 a, f64 b, f64 c) { return PAR_LIBRARY(fma)(a, b, c); }
PAR_INLINE f32 fma(f32 a, f32 b, f32 c) { return PAR_LIBRARY(fmaf)(a, b, c); }
PAR_INLINE f64 copysign(f64 a, f64 b) { return PAR_LIBRARY(copysign)(a, b); }
PAR_INLINE f32 copysign(f32 a, f32 b) { return PAR_LIBRARY(copysignf)(a, b); }
PAR_INLINE f64 abs(f64 x) { return PAR_LIBRARY(fabs)(x); }
PAR_INLINE f32 abs(f32 x) { return PAR_LIBRARY(fabsf)(x); }
PAR_INLINE f64 infinity() { return of_bits(u64(0x7ff0000000000000ull)); }
PAR_INLINE f64 not_a_number() { return of_bits(u64(0x7ff8000000000000ull)); }

// NaN stays what it is.
template <class T>
PAR_INLINE T clamp(T x, T low, T high) {
    return x < low ? low : x > high ? high : x;
}

struct Rounded {
    f64 n;
    i64 k;
};
PAR_INLINE Rounded nearest(f64 x) {
    const f64 shifted = x + MAGIC;
    return {shifted - MAGIC, i64(bits(shifted) - bits(MAGIC))};
}
PAR_INLINE f64 power_of_two(i64 k) { return of_bits(u64(k + 1023) << 52); }
PAR_INLINE f64 to_float(i64 k) { return of_bits(bits(MAGIC) + u64(k)) - MAGIC; }

// --- exponentials -----------------------------------------------------------------------------------------------------------

// The first N factors, the constant one first.
template <int N>
PAR_INLINE f64 exp_tail(f64 r) {
    constexpr f64 factors[12] = {
        1.0 / 2.0,     1.0 / 6.0,      1.0 / 24.0,      1.0 / 120.0,      1.0 / 720.0,       1.0 / 5040.0,
        1.0 / 40320.0, 1.0 / 362880.0, 1.0 / 3628800.0, 1.0 / 39916800.0, 1.0 / 479001600.0, 1.0 / 6227020800.0,
    };
    f64 sum = 0.0;
#pragma unroll
    for (int i = N - 1; i >= 0; i--) sum = fma(sum, r, factors[i]);
    return sum;
}
template <int N>
PAR_INLINE f64 exp_fraction(f64 r, f64 low) {
    return fma(r * r, exp_tail<N>(r), r + low);
}
PAR_INLINE Rounded exp_reduce(f64 x, f64& r) {
    const Rounded n = nearest(x * LOG2_E);
    r = fma(-n.n, LN2_LOW, fma(-n.n, LN2, x));
    return n;
}
PAR_INLINE f64 exp_scale(f64 x, i64 k) {
    const i64 half = k >> 1;
    return x * power_of_two(half) * power_of_two(k - half);
}
PAR_INLINE f64 exp(f64 x) {
    f64 r;
    const Rounded n = exp_reduce(clamp(x, -746.0, 710.0), r);
    return exp_scale(1.0 + exp_fraction<12>(r, 0.0), n.k);
}
PAR_INLINE f64 exp2(f64 x) {
    x = clamp(x, -1076.0, 1024.0);
    const Rounded n = nearest(x);
    const f64 part = x - n.n;
    const f64 r = part * LN2;
    const f64 low = fma(part, LN2, -r) + part * LN2_LOW;
    return exp_scale(1.0 + exp_fraction<12>(r, low), n.k);
}
PAR_INLINE f64 expm1(f64 x) {
    f64 r;
    const Rounded n = exp_reduce(clamp(x, -50.0, 710.0), r);
    const f64 half = power_of_two(n.k - 1);
    return copysign(2.0 * fma(half, exp_fraction<12>(r, 0.0), half - 0.5), x);
}
PAR_INLINE f64 expm1_short(f64 x) {
    f64 r;
    const Rounded n = exp_reduce(x, r);
    const f64 power = power_of_two(n.k);
    return fma(power, exp_fraction<7>(r, 0.0), power - 1.0);
}
PAR_INLINE f32 expm1(f32 x) { return copysign(f32(expm1_short(clamp(f64(x), -50.0, 90.0))), x); }
PAR_INLINE f64 tanh(f64 x) {
    const f64 a = abs(x);
    const f64 e = expm1(2.0 * (a < 22.0 ? a : 22.0));
    return x != x ? x : copysign(e / (e + 2.0), x);
}
PAR_INLINE f32 tanh(f32 x) {
    const f64 a = abs(f64(x));
    const f64 e = expm1_short(2.0 * (a < 11.0 ? a : 11.0));
    return x != x ? x : copysign(f32(e / (e + 2.0)), x);
}

// --- logarithms ---------------------------------------------------------------------------------------------------------------

struct Split {
    f64 k, f;
};
PAR_INLINE Split log_split(f64 x) {
    const bool small = x < LEAST;
    if (small) x = x * power_of_two(54);
    const u64 b = bits(x);
    const i64 k = i64(b - bits(SQRT_HALF)) >> 52;
    const f64 f = of_bits(b - (u64(k) << 52)) - 1.0;
    return {to_float(k) - (small ? 54.0 : 0.0), f};
}
// f^2 / 2, and s * (f^2 / 2 + R), of whose series N terms are taken.
struct LogParts {
    f64 half, rest;
};
template <int N>
PAR_INLINE LogParts log_parts(f64 f) {
    constexpr f64 factors[11] = {
        2.0 / 3.0, 2.0 / 5.0, 2.0 / 7.0, 2.0 / 9.0, 2.0 / 11.0, 2.0 / 13.0, 2.0 / 15.0, 2.0 / 17.0, 2.0 / 19.0, 2.0 / 21.0, 2.0 / 23.0,
    };
    const f64 s = f / (2.0 + f);
    const f64 z = s * s;
    f64 sum = 0.0;
#pragma unroll
    for (int i = N - 1; i >= 0; i--) sum = fma(sum, z, factors[i]);
    const f64 r = z * sum;
    const f64 half = 0.5 * f * f;
    return {half, s * (half + r)};
}
PAR_INLINE f64 log_ends(f64 x, f64 zero, f64 y) {
    y = x < infinity() ? y : x;
    y = x == zero ? -infinity() : y;
    return x < zero ? not_a_number() : y;
}
PAR_INLINE f64 ln2_high() { return of_bits(u64(0x3fe62e42fee00000ull)); }
constexpr f64 LN2_REST = 1.9082149292705877e-10;
constexpr f64 INV_LN2_LOW = 2.0355273740931033e-17;
constexpr f64 LN_10 = 2.30258509299404568402;
constexpr f64 INV_LN10 = 0.434294481903251827651;
constexpr f64 INV_LN10_LOW = 1.098319650216765e-17;
constexpr f64 LOG10_2_REST = 1.7336659603752853e-12;

PAR_INLINE f64 log(f64 x) {
    const Split s = log_split(x);
    const LogParts p = log_parts<11>(s.f);
    return log_ends(x, 0.0, s.k * ln2_high() - ((p.half - (p.rest + s.k * LN2_REST)) - s.f));
}
PAR_INLINE f64 log1p(f64 x) {
    const f64 u = 1.0 + x;
    const Split s = log_split(u);
    const f64 lost = x < 1.0 ? x - (u - 1.0) : 1.0 - (u - x);
    const bool near_zero = s.k == 0.0;
    const f64 f = near_zero ? x : s.f;
    const f64 c = near_zero ? 0.0 : lost / u;
    const LogParts p = log_parts<11>(f);
    const f64 y = s.k * ln2_high() - ((p.half - (p.rest + (s.k * LN2_REST + c))) - f);
    return x == 0.0 ? x : log_ends(x, -1.0, y);
}
PAR_INLINE f64 log_scaled(f64 f, f64 factor, f64 factor_low, f64 k, f64 k_low) {
    const LogParts parts = log_parts<11>(f);
    const f64 high = f - parts.half;
    const f64 low = ((f - high) - parts.half) + parts.rest;
    const f64 p = high * factor;
    const f64 p_low = fma(high, factor, -p) + (high * factor_low + low * factor);
    const f64 sum = k + p;
    return sum + (((k - sum) + p) + (p_low + k_low));
}
PAR_INLINE f64 log2(f64 x) {
    const Split s = log_split(x);
    return log_ends(x, 0.0, log_scaled(s.f, LOG2_E, INV_LN2_LOW, s.k, 0.0));
}
PAR_INLINE f64 log10(f64 x) {
    const Split s = log_split(x);
    const f64 high = of_bits(u64(0x3fd34413509f0000ull));
    return log_ends(x, 0.0, log_scaled(s.f, INV_LN10, INV_LN10_LOW, s.k * high, s.k * LOG10_2_REST));
}
PAR_INLINE f64 log_short(f64 k, f64 f) {
    const LogParts p = log_parts<6>(f);
    return fma(k, LN2, f - (p.half - p.rest));
}
PAR_INLINE f32 log1p(f32 x) {
    const f64 wide = f64(x);
    const Split s = log_split(1.0 + wide);
    const f64 f = s.k == 0.0 ? wide : s.f;
    const f32 y = f32(log_ends(wide, -1.0, log_short(s.k, f)));
    return x == 0.0f ? x : y;
}
PAR_INLINE f32 log2(f32 x) {
    const Split s = log_split(f64(x));
    return f32(log_ends(f64(x), 0.0, fma(log_short(0.0, s.f), LOG2_E, s.k)));
}
PAR_INLINE f32 log10(f32 x) {
    const Split s = log_split(f64(x));
    return f32(log_ends(f64(x), 0.0, log_short(s.k, s.f) / LN_10));
}

// --- sines --------------------------------------------------------------------------------------------------------------------

constexpr f64 TWO_OVER_PI = 0.636619772367581343076;
constexpr f64 HALF_PI = 1.57079632679489661923;
constexpr f64 HALF_PI_MIDDLE = 6.123233995736766e-17;
constexpr f64 HALF_PI_LOW = -1.4973849048591698e-33;
constexpr f64 SINE_LIMIT = 1000000.0;

struct Angle {
    i64 quarters;
    f64 r, low;
};
PAR_INLINE Angle sine_reduce(f64 x) {
    const Rounded n = nearest(x * TWO_OVER_PI);
    const f64 first = fma(-n.n, HALF_PI, x);
    const f64 r = fma(-n.n, HALF_PI_MIDDLE, first);
    return {n.k, r, fma(-n.n, HALF_PI_MIDDLE, first - r) - n.n * HALF_PI_LOW};
}
template <int N>
PAR_INLINE f64 sine(f64 r, f64 low) {
    constexpr f64 factors[8] = {
        -1.0 / 6.0,        1.0 / 120.0,        -1.0 / 5040.0,          1.0 / 362880.0,
        -1.0 / 39916800.0, 1.0 / 6227020800.0, -1.0 / 1307674368000.0, 1.0 / 355687428096000.0,
    };
    const f64 z = r * r;
    f64 sum = 0.0;
#pragma unroll
    for (int i = N - 1; i >= 0; i--) sum = fma(sum, z, factors[i]);
    return r + fma(z * r, sum, low * fma(-0.5, z, 1.0));
}
template <int N>
PAR_INLINE f64 cosine(f64 r, f64 low) {
    constexpr f64 factors[8] = {
        1.0 / 24.0,        -1.0 / 720.0,         1.0 / 40320.0,          -1.0 / 3628800.0,
        1.0 / 479001600.0, -1.0 / 87178291200.0, 1.0 / 20922789888000.0, -1.0 / 6402373705728000.0,
    };
    const f64 z = r * r;
    f64 sum = 0.0;
#pragma unroll
    for (int i = N - 1; i >= 0; i--) sum = fma(sum, z, factors[i]);
    const f64 half = 0.5 * z;
    const f64 high = 1.0 - half;
    return high + (((1.0 - high) - half) + fma(z * z, sum, -r * low));
}
PAR_INLINE f64 turned(i64 n, f64 sin, f64 cos) {
    const f64 y = (n & 1) == 0 ? sin : cos;
    return of_bits(bits(y) ^ (u64(n) & 2) << 62);
}
PAR_INLINE f64 quotient(i64 n, f64 sin, f64 cos) { return (n & 1) == 0 ? sin / cos : -cos / sin; }

PAR_INLINE f64 sin(f64 x) {
    if (!(abs(x) <= SINE_LIMIT)) return PAR_LIBRARY(sin)(x);
    const Angle a = sine_reduce(x);
    return x == 0.0 ? x : turned(a.quarters, sine<8>(a.r, a.low), cosine<8>(a.r, a.low));
}
PAR_INLINE f64 cos(f64 x) {
    if (!(abs(x) <= SINE_LIMIT)) return PAR_LIBRARY(cos)(x);
    const Angle a = sine_reduce(x);
    return turned(a.quarters + 1, sine<8>(a.r, a.low), cosine<8>(a.r, a.low));
}
PAR_INLINE f64 tan(f64 x) {
    if (!(abs(x) <= SINE_LIMIT)) return PAR_LIBRARY(tan)(x);
    const Angle a = sine_reduce(x);
    return x == 0.0 ? x : quotient(a.quarters, sine<8>(a.r, a.low), cosine<8>(a.r, a.low));
}
PAR_INLINE Angle sine_reduce_short(f64 x) {
    const Rounded n = nearest(x * TWO_OVER_PI);
    return {n.k, fma(-n.n, HALF_PI_MIDDLE, fma(-n.n, HALF_PI, x)), 0.0};
}

// --- f32 alone ----------------------------------------------------------------------------------------------------------------

constexpr f32 LN2_F = 0.693147180559945309417f;
constexpr f32 LN2_LOW_F = -1.9046543e-9f;
constexpr f32 LN2_REST_F = 1.4286068e-6f;
constexpr f32 MAGIC_F = 12582912.0f;
constexpr f32 HALF_PI_F = 1.57079632679489661923f;
constexpr f32 PI_MIDDLE_F = -4.371139e-8f;
constexpr f32 PI_LOW_F = -1.7151245e-15f;
constexpr f32 SINE_LIMIT_F = 8192.0f;

struct RoundedF {
    f32 n;
    i32 k;
};
PAR_INLINE RoundedF nearest(f32 x) {
    const f32 shifted = x + MAGIC_F;
    return {shifted - MAGIC_F, i32(bits(shifted) - bits(MAGIC_F))};
}
PAR_INLINE f32 power_of_two(i32 k) { return of_bits(u32(k + 127) << 23); }
template <int N>
PAR_INLINE f32 polynomial(f32 x, const f32 (&factors)[N]) {
    f32 sum = 0.0f;
#pragma unroll
    for (int i = N - 1; i >= 0; i--) sum = fma(sum, x, factors[i]);
    return sum;
}
PAR_INLINE f32 exp_power(i32 k, f32 r, f32 low) {
    constexpr f32 tail[6] = {1.0f / 2.0f, 1.0f / 6.0f, 1.0f / 24.0f, 1.0f / 120.0f, 1.0f / 720.0f, 1.0f / 5040.0f};
    const f32 y = 1.0f + fma(r * r, polynomial(r, tail), r + low);
    const i32 half = k >> 1;
    return y * power_of_two(half) * power_of_two(k - half);
}
PAR_INLINE f32 exp(f32 x) {
    x = clamp(x, -105.0f, 89.0f);
    const RoundedF n = nearest(x * 1.44269504088896340736f);
    return exp_power(n.k, fma(-n.n, LN2_LOW_F, fma(-n.n, LN2_F, x)), 0.0f);
}
PAR_INLINE f32 exp2(f32 x) {
    x = clamp(x, -151.0f, 128.0f);
    const RoundedF n = nearest(x);
    const f32 part = x - n.n;
    const f32 r = part * LN2_F;
    return exp_power(n.k, r, fma(part, LN2_F, -r) + part * LN2_LOW_F);
}
PAR_INLINE f32 log(f32 x) {
    constexpr f32 series[5] = {2.0f / 3.0f, 2.0f / 5.0f, 2.0f / 7.0f, 2.0f / 9.0f, 2.0f / 11.0f};
    const bool small = x < 1.17549435e-38f;
    const u32 b = bits(small ? x * power_of_two(25) : x);
    const i32 exponent = i32(b - bits(1.41421356237309504880f / 2.0f)) >> 23;
    const f32 f = of_bits(b - (u32(exponent) << 23)) - 1.0f;
    const f32 k = f32(exponent) - (small ? 25.0f : 0.0f);
    const f32 s = f / (2.0f + f);
    const f32 z = s * s;
    const f32 half = 0.5f * f * f;
    const f32 rest = s * fma(z, polynomial(z, series), half);
    f32 y = k * of_bits(u32(0x3f317200)) - ((half - (rest + k * LN2_REST_F)) - f);
    const f32 infinite = of_bits(u32(0x7f800000));
    y = x < infinite ? y : x;
    y = x == 0.0f ? -infinite : y;
    return x < 0.0f ? of_bits(u32(0x7fc00000)) : y;
}
struct AngleF {
    i32 quarters;
    f32 sin, cos;
};
PAR_INLINE AngleF sine_and_cosine(f32 x) {
    constexpr f32 sines[4] = {-1.0f / 6.0f, 1.0f / 120.0f, -1.0f / 5040.0f, 1.0f / 362880.0f};
    constexpr f32 cosines[4] = {1.0f / 24.0f, -1.0f / 720.0f, 1.0f / 40320.0f, -1.0f / 3628800.0f};
    const RoundedF n = nearest(x * 0.636619772367581343076f);
    const f32 first = fma(-n.n, HALF_PI_F, x);
    const f32 r = fma(-n.n, PI_MIDDLE_F, first);
    const f32 low = fma(-n.n, PI_MIDDLE_F, first - r) - n.n * PI_LOW_F;
    const f32 z = r * r;
    const f32 sin = r + fma(z * r, polynomial(z, sines), low);
    const f32 half = 0.5f * z;
    const f32 high = 1.0f - half;
    const f32 cos = high + (((1.0f - high) - half) + fma(z * z, polynomial(z, cosines), -r * low));
    return {n.k, sin, cos};
}
PAR_INLINE f32 turned(i32 n, f32 sin, f32 cos) {
    const f32 y = (n & 1) == 0 ? sin : cos;
    return of_bits(bits(y) ^ (u32(n) & 2) << 30);
}
PAR_INLINE f32 sin(f32 x) {
    if (abs(x) <= SINE_LIMIT_F) {
        const AngleF a = sine_and_cosine(x);
        return x == 0.0f ? x : turned(a.quarters, a.sin, a.cos);
    }
    if (!(abs(f64(x)) <= SINE_LIMIT)) return PAR_LIBRARY(sinf)(x);
    const Angle a = sine_reduce_short(f64(x));
    return f32(turned(a.quarters, sine<5>(a.r, 0.0), cosine<5>(a.r, 0.0)));
}
PAR_INLINE f32 cos(f32 x) {
    if (abs(x) <= SINE_LIMIT_F) {
        const AngleF a = sine_and_cosine(x);
        return turned(a.quarters + 1, a.sin, a.cos);
    }
    if (!(abs(f64(x)) <= SINE_LIMIT)) return PAR_LIBRARY(cosf)(x);
    const Angle a = sine_reduce_short(f64(x));
    return f32(turned(a.quarters + 1, sine<5>(a.r, 0.0), cosine<5>(a.r, 0.0)));
}
PAR_INLINE f32 tan(f32 x) {
    if (!(abs(f64(x)) <= SINE_LIMIT)) return PAR_LIBRARY(tanf)(x);
    const Angle a = sine_reduce_short(f64(x));
    return x == 0.0f ? x : f32(quotient(a.quarters, sine<5>(a.r, 0.0), cosine<5>(a.r, 0.0)));
}

// --- in half turns --------------------------------------------------------------------------------------------------------------

constexpr f64 PI_LOW = 1.2246467991473532e-16;

PAR_INLINE f64 small_sinpi(f64 b) {
    const f64 high = b * PI, low = fma(b, PI, -high) + b * PI_LOW;
    return PAR_LIBRARY(sin)(high) + low * PAR_LIBRARY(cos)(high);
}
PAR_INLINE f64 small_cospi(f64 b) {
    const f64 high = b * PI, low = fma(b, PI, -high) + b * PI_LOW;
    return PAR_LIBRARY(cos)(high) - low * PAR_LIBRARY(sin)(high);
}
PAR_INLINE f64 turn(f64 x) { return x - 2.0 * PAR_LIBRARY(rint)(x * 0.5); }
PAR_INLINE f64 sinpi(f64 x) {
    const f64 r = turn(x), a = abs(r), b = a > 0.5 ? 1.0 - a : a;
    const f64 y = b >= 0.25 ? small_cospi(0.5 - b) : small_sinpi(b);
    return copysign(y, b == 0.0 ? x : r);
}
PAR_INLINE f64 cospi(f64 x) {
    const f64 a = abs(turn(x));
    if (a <= 0.25) return small_cospi(a);
    if (a >= 0.75) return -small_cospi(1.0 - a);
    return a <= 0.5 ? small_sinpi(0.5 - a) : -small_sinpi(a - 0.5);
}

}   // namespace math
