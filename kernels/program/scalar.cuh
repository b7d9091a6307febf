// The scalar operators of Par, as generated programs call them. Meanings are those of `runtime/src/op/eval.rs`, to the bit;
// where CUDA's library is called (roots, inverse functions, powers, gamma and error functions) results are within its
// tolerance instead, 2 units in the last place for most.
//
// Integers wrap: signed arithmetic is done on unsigned numbers, at 32 or 64 bits, and cut back.
#pragma once
#include "par/base.cuh"
#include "program/half.cuh"
#include "program/math.cuh"

namespace op {

using namespace par;

// --- types ------------------------------------------------------------------------------------------------------------------

template <class T>
struct Type {
    static constexpr bool is_float = false, is_signed = T(-1) < T(0);
    static constexpr int bits = int(sizeof(T)) * 8;
};
template <>
struct Type<bool> {
    static constexpr bool is_float = false, is_signed = false;
    static constexpr int bits = 8;
};
template <>
struct Type<f16> {
    static constexpr bool is_float = true, is_signed = true;
    static constexpr int bits = 16;
};
template <>
struct Type<f32> {
    static constexpr bool is_float = true, is_signed = true;
    static constexpr int bits = 32;
};
template <>
struct Type<f64> {
    static constexpr bool is_float = true, is_signed = true;
    static constexpr int bits = 64;
};

template <int BYTES>
struct OfSize;
template <>
struct OfSize<1> {
    using Unsigned = u8;
};
template <>
struct OfSize<2> {
    using Unsigned = u16;
};
template <>
struct OfSize<4> {
    using Unsigned = u32;
};
template <>
struct OfSize<8> {
    using Unsigned = u64;
};
template <class T>
using Unsigned = typename OfSize<sizeof(T)>::Unsigned;

// Where arithmetic on an integer type is done: without overflow that a compiler may take for impossible.
template <class T>
struct Wide {
    using Type = u32;
};
template <>
struct Wide<i64> {
    using Type = u64;
};
template <>
struct Wide<u64> {
    using Type = u64;
};
template <class T>
using Arithmetic = typename Wide<T>::Type;

template <class To, class From>
PAR_INLINE To bits_as(From x) {
    static_assert(sizeof(To) == sizeof(From), "the same number of bits");
    To y;
    memcpy(&y, &x, sizeof(To));
    return y;
}
// The bits of a value, for messages.
template <class T>
PAR_INLINE u64 word(T x) {
    return u64(bits_as<Unsigned<T>>(x));
}

// --- arithmetic ---------------------------------------------------------------------------------------------------------------

#define PAR_FLOAT_BINARY(NAME, EXPRESSION)                                        \
    PAR_INLINE f32 NAME(f32 a, f32 b) { return EXPRESSION; }                      \
    PAR_INLINE f64 NAME(f64 a, f64 b) { return EXPRESSION; }                      \
    PAR_INLINE f16 NAME(f16 x, f16 y) {                                           \
        const f32 a = to_f32(x), b = to_f32(y);                                   \
        return to_f16(EXPRESSION);                                                \
    }

template <class T>
PAR_INLINE T add(T a, T b) {
    return T(Arithmetic<T>(a) + Arithmetic<T>(b));
}
template <class T>
PAR_INLINE T sub(T a, T b) {
    return T(Arithmetic<T>(a) - Arithmetic<T>(b));
}
template <class T>
PAR_INLINE T mul(T a, T b) {
    return T(Arithmetic<T>(a) * Arithmetic<T>(b));
}
PAR_FLOAT_BINARY(add, a + b)
PAR_FLOAT_BINARY(sub, a - b)
PAR_FLOAT_BINARY(mul, a * b)
PAR_FLOAT_BINARY(div, a / b)

// Division towards zero. By 0 it gives 0, and by -1 the negated dividend, as if there were no largest quotient.
template <class T>
PAR_INLINE T quot(T a, T b) {
    if (b == 0) return 0;
    if (Type<T>::is_signed && b == T(-1)) return sub(T(0), a);
    return T(a / b);
}
template <class T>
PAR_INLINE T rem(T a, T b) {
    if (b == 0 || (Type<T>::is_signed && b == T(-1))) return 0;
    return T(a % b);
}
// Division towards minus infinity.
template <class T>
PAR_INLINE T div(T a, T b) {
    const T q = quot(a, b);
    const T r = rem(a, b);
    return Type<T>::is_signed && r != 0 && (r < 0) != (b < 0) ? T(q - 1) : q;
}
template <class T>
PAR_INLINE T mod(T a, T b) {
    const T r = rem(a, b);
    return Type<T>::is_signed && r != 0 && (r < 0) != (b < 0) ? T(r + b) : r;
}
PAR_INLINE f32 mod(f32 a, f32 b) {
    const f32 r = PAR_LIBRARY(fmodf)(a, b);
    return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}
PAR_INLINE f64 mod(f64 a, f64 b) {
    const f64 r = PAR_LIBRARY(fmod)(a, b);
    return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}
PAR_INLINE f16 mod(f16 a, f16 b) { return to_f16(mod(to_f32(a), to_f32(b))); }

// With a negative exponent, the exact quotient rounded towards zero.
template <class T>
PAR_INLINE T pow(T base, T exponent) {
    if (Type<T>::is_signed && exponent < 0) {
        if (base == T(-1)) return exponent % 2 == 0 ? T(1) : T(-1);
        return base == T(1) ? T(1) : T(0);
    }
    Arithmetic<T> result = 1, square = Arithmetic<T>(base);
    for (Unsigned<T> left = Unsigned<T>(exponent); left != 0; left >>= 1) {
        if (left & 1) result *= square;
        square *= square;
    }
    return T(result);
}
PAR_INLINE f32 pow(f32 a, f32 b) { return PAR_LIBRARY(powf)(a, b); }
PAR_INLINE f64 pow(f64 a, f64 b) { return PAR_LIBRARY(pow)(a, b); }
PAR_INLINE f16 pow(f16 a, f16 b) { return to_f16(pow(to_f32(a), to_f32(b))); }

template <class T>
PAR_INLINE T min(T a, T b) {
    return b < a ? b : a;
}
template <class T>
PAR_INLINE T max(T a, T b) {
    return a < b ? b : a;
}
PAR_FLOAT_BINARY(min, (a < b || b != b ? a : b))
PAR_FLOAT_BINARY(max, (a > b || b != b ? a : b))

template <class T>
PAR_INLINE T mulhi(T a, T b) {
    return T((i64(a) * i64(b)) >> Type<T>::bits);
}
PAR_INLINE i64 mulhi(i64 a, i64 b) { return __mul64hi(a, b); }
PAR_INLINE u64 mulhi(u64 a, u64 b) { return __umul64hi(a, b); }
PAR_INLINE u32 mulhi(u32 a, u32 b) { return __umulhi(a, b); }

// --- bits ---------------------------------------------------------------------------------------------------------------------

template <class T>
PAR_INLINE T and_(T a, T b) {
    return T(a & b);
}
template <class T>
PAR_INLINE T or_(T a, T b) {
    return T(a | b);
}
template <class T>
PAR_INLINE T xor_(T a, T b) {
    return T(a ^ b);
}
template <class T>
PAR_INLINE T not_(T a) {
    return T(~a);
}
PAR_INLINE bool not_(bool a) { return !a; }

// Shifts by the width or more, or a negative number, give 0 or the sign.
template <class T>
PAR_INLINE bool is_shift(T n) {
    return Unsigned<T>(n) < Unsigned<T>(Type<T>::bits);
}
template <class T>
PAR_INLINE T shl(T a, T n) {
    return is_shift(n) ? T(Arithmetic<T>(a) << n) : T(0);
}
template <class T>
PAR_INLINE T lshr(T a, T n) {
    return is_shift(n) ? T(Unsigned<T>(a) >> n) : T(0);
}
template <class T>
PAR_INLINE T shr(T a, T n) {
    if (Type<T>::is_signed) return T(a >> (is_shift(n) ? int(n) : Type<T>::bits - 1));
    return lshr(a, n);
}

template <class T>
PAR_INLINE i32 popc(T x) {
    return __popcll(u64(Unsigned<T>(x)));
}
template <class T>
PAR_INLINE i32 clz(T x) {
    return __clzll(i64(u64(Unsigned<T>(x)))) - (64 - Type<T>::bits);
}
template <class T>
PAR_INLINE i32 ctz(T x) {
    return x == 0 ? Type<T>::bits : __ffsll(i64(u64(Unsigned<T>(x)))) - 1;
}
template <class T>
PAR_INLINE i32 getbit(T x, i32 at) {
    return u32(at) < u32(Type<T>::bits) ? i32(u64(Unsigned<T>(x)) >> at & 1) : 0;
}
template <class T>
PAR_INLINE T setbit(T x, i32 at, i32 bit) {
    if (u32(at) >= u32(Type<T>::bits)) return x;
    return T((u64(Unsigned<T>(x)) & ~(u64(1) << at)) | u64(bit & 1) << at);
}

// --- comparisons --------------------------------------------------------------------------------------------------------------

#define PAR_COMPARISON(NAME, OPERATOR)                                                         \
    template <class T>                                                                         \
    PAR_INLINE bool NAME(T a, T b) {                                                           \
        return a OPERATOR b;                                                                   \
    }                                                                                          \
    PAR_INLINE bool NAME(f16 a, f16 b) { return to_f32(a) OPERATOR to_f32(b); }

PAR_COMPARISON(eq, ==)
PAR_COMPARISON(ne, !=)
PAR_COMPARISON(lt, <)
PAR_COMPARISON(le, <=)
PAR_COMPARISON(gt, >)
PAR_COMPARISON(ge, >=)

template <class T>
PAR_INLINE T select(bool c, T a, T b) {
    return c ? a : b;
}

// --- one operand ----------------------------------------------------------------------------------------------------------------

template <class T>
PAR_INLINE T neg(T a) {
    return sub(T(0), a);
}
template <class T>
PAR_INLINE T abs(T a) {
    return a < 0 ? sub(T(0), a) : a;
}
template <class T>
PAR_INLINE T sgn(T a) {
    return T((a > 0) - (a < 0));
}

// A function of a float, of which that of an f16 is computed in f32.
#define PAR_FLOAT_UNARY(NAME, SINGLE, DOUBLE)                            \
    PAR_INLINE f32 NAME(f32 x) { return SINGLE; }                        \
    PAR_INLINE f64 NAME(f64 x) { return DOUBLE; }                        \
    PAR_INLINE f16 NAME(f16 x) { return to_f16(NAME(to_f32(x))); }
#define PAR_LIBRARY_UNARY(NAME, SINGLE, DOUBLE) PAR_FLOAT_UNARY(NAME, PAR_LIBRARY(SINGLE)(x), PAR_LIBRARY(DOUBLE)(x))
#define PAR_DOUBLE_UNARY(NAME, FUNCTION) PAR_FLOAT_UNARY(NAME, f32(FUNCTION(f64(x))), FUNCTION(x))

PAR_FLOAT_UNARY(neg, -x, -x)
PAR_LIBRARY_UNARY(abs, fabsf, fabs)
PAR_FLOAT_UNARY(sgn, (x > 0 ? 1.0f : x < 0 ? -1.0f : x), (x > 0 ? 1.0 : x < 0 ? -1.0 : x))
PAR_LIBRARY_UNARY(sqrt, sqrtf, sqrt)
PAR_LIBRARY_UNARY(cbrt, cbrtf, cbrt)
PAR_LIBRARY_UNARY(floor, floorf, floor)
PAR_LIBRARY_UNARY(ceil, ceilf, ceil)
PAR_LIBRARY_UNARY(trunc, truncf, trunc)
PAR_LIBRARY_UNARY(round, rintf, rint)
PAR_FLOAT_UNARY(recip, 1.0f / x, 1.0 / x)
PAR_FLOAT_UNARY(rsqrt, 1.0f / PAR_LIBRARY(sqrtf)(x), 1.0 / PAR_LIBRARY(sqrt)(x))

PAR_FLOAT_UNARY(exp, math::exp(x), math::exp(x))
PAR_FLOAT_UNARY(exp2, math::exp2(x), math::exp2(x))
PAR_FLOAT_UNARY(expm1, math::expm1(x), math::expm1(x))
PAR_FLOAT_UNARY(log, math::log(x), math::log(x))
PAR_FLOAT_UNARY(log2, math::log2(x), math::log2(x))
PAR_FLOAT_UNARY(log10, math::log10(x), math::log10(x))
PAR_FLOAT_UNARY(log1p, math::log1p(x), math::log1p(x))
PAR_FLOAT_UNARY(sin, math::sin(x), math::sin(x))
PAR_FLOAT_UNARY(cos, math::cos(x), math::cos(x))
PAR_FLOAT_UNARY(tan, math::tan(x), math::tan(x))
PAR_FLOAT_UNARY(tanh, math::tanh(x), math::tanh(x))
PAR_FLOAT_UNARY(sinpi, f32(math::sinpi(f64(x))), math::sinpi(x))
PAR_FLOAT_UNARY(cospi, f32(math::cospi(f64(x))), math::cospi(x))
PAR_FLOAT_UNARY(tanpi, f32(math::sinpi(f64(x)) / math::cospi(f64(x))), math::sinpi(x) / math::cospi(x))

PAR_LIBRARY_UNARY(asin, asinf, asin)
PAR_LIBRARY_UNARY(acos, acosf, acos)
PAR_LIBRARY_UNARY(atan, atanf, atan)
PAR_LIBRARY_UNARY(sinh, sinhf, sinh)
PAR_LIBRARY_UNARY(cosh, coshf, cosh)
PAR_DOUBLE_UNARY(asinh, PAR_LIBRARY(asinh))
PAR_DOUBLE_UNARY(acosh, PAR_LIBRARY(acosh))
PAR_DOUBLE_UNARY(atanh, PAR_LIBRARY(atanh))
PAR_LIBRARY_UNARY(gamma, tgammaf, tgamma)
PAR_LIBRARY_UNARY(lgamma, lgammaf, lgamma)
PAR_LIBRARY_UNARY(erf, erff, erf)
PAR_LIBRARY_UNARY(erfc, erfcf, erfc)
PAR_FLOAT_UNARY(exp10, PAR_LIBRARY(powf)(10.0f, x), PAR_LIBRARY(pow)(10.0, x))
PAR_FLOAT_UNARY(asinpi, f32(PAR_LIBRARY(asin)(f64(x)) / math::PI), PAR_LIBRARY(asin)(x) / math::PI)
PAR_FLOAT_UNARY(acospi, f32(PAR_LIBRARY(acos)(f64(x)) / math::PI), PAR_LIBRARY(acos)(x) / math::PI)
PAR_FLOAT_UNARY(atanpi, f32(PAR_LIBRARY(atan)(f64(x)) / math::PI), PAR_LIBRARY(atan)(x) / math::PI)

// --- two and three floats -----------------------------------------------------------------------------------------------------

#define PAR_LIBRARY_BINARY(NAME, SINGLE, DOUBLE)                                        \
    PAR_INLINE f32 NAME(f32 a, f32 b) { return PAR_LIBRARY(SINGLE)(a, b); }             \
    PAR_INLINE f64 NAME(f64 a, f64 b) { return PAR_LIBRARY(DOUBLE)(a, b); }             \
    PAR_INLINE f16 NAME(f16 a, f16 b) { return to_f16(NAME(to_f32(a), to_f32(b))); }

PAR_LIBRARY_BINARY(atan2, atan2f, atan2)
PAR_LIBRARY_BINARY(hypot, hypotf, hypot)
PAR_LIBRARY_BINARY(copysign, copysignf, copysign)
PAR_INLINE f64 atan2pi(f64 a, f64 b) { return PAR_LIBRARY(atan2)(a, b) / math::PI; }
PAR_INLINE f32 atan2pi(f32 a, f32 b) { return f32(atan2pi(f64(a), f64(b))); }
PAR_INLINE f16 atan2pi(f16 a, f16 b) { return to_f16(atan2pi(to_f32(a), to_f32(b))); }

PAR_INLINE bool isnan(f32 x) { return x != x; }
PAR_INLINE bool isnan(f64 x) { return x != x; }
PAR_INLINE bool isnan(f16 x) { return isnan(to_f32(x)); }
PAR_INLINE bool isinf(f32 x) { return (bits_as<u32>(x) & 0x7fffffffu) == 0x7f800000u; }
PAR_INLINE bool isinf(f64 x) { return (bits_as<u64>(x) & 0x7fffffffffffffffull) == 0x7ff0000000000000ull; }
PAR_INLINE bool isinf(f16 x) { return isinf(to_f32(x)); }
template <class T>
PAR_INLINE Unsigned<T> tobits(T x) {
    return bits_as<Unsigned<T>>(x);
}
template <class T>
PAR_INLINE T frombits(Unsigned<T> x) {
    return bits_as<T>(x);
}

PAR_INLINE f32 fma(f32 a, f32 b, f32 c) { return PAR_LIBRARY(fmaf)(a, b, c); }
PAR_INLINE f64 fma(f64 a, f64 b, f64 c) { return PAR_LIBRARY(fma)(a, b, c); }
PAR_INLINE f16 fma(f16 a, f16 b, f16 c) {
    return to_f16(f64(to_f32(a)) * f64(to_f32(b)) + f64(to_f32(c)));
}
template <class T>
PAR_INLINE T mad(T a, T b, T c) {
    return add(mul(a, b), c);
}
template <class T>
PAR_INLINE T lerp(T a, T b, T t) {
    return add(a, mul(sub(b, a), t));
}
PAR_INLINE f32 ldexp(f32 x, i32 n) { return PAR_LIBRARY(ldexpf)(x, n); }
PAR_INLINE f64 ldexp(f64 x, i32 n) { return PAR_LIBRARY(ldexp)(x, n); }
PAR_INLINE f16 ldexp(f16 x, i32 n) { return to_f16(ldexp(to_f32(x), n)); }

// --- conversions ----------------------------------------------------------------------------------------------------------------

// Floats to integers truncate and saturate; NaN gives 0. The bounds are powers of two, which all float types have.
template <class To, class From>
PAR_INLINE To saturate(From x) {
    constexpr int bits = Type<To>::bits;
    constexpr From limit = From(u64(1) << (bits - 2)) * (Type<To>::is_signed ? From(2) : From(4));
    constexpr To most = To(Unsigned<To>(~Unsigned<To>(0)) >> (Type<To>::is_signed ? 1 : 0));
    if (x != x) return 0;
    if (x >= limit) return most;
    if (Type<To>::is_signed) return x < -limit ? To(To(-1) - most) : To(x);
    return x <= From(0) ? To(0) : To(x);
}

template <class To, class From, bool FLOAT_TO, bool FLOAT_FROM>
struct Convert {
    static PAR_INLINE To of(From x) { return To(x); }
};
template <class To, class From>
struct Convert<To, From, false, true> {
    static PAR_INLINE To of(From x) { return saturate<To>(x); }
};
template <class From>
struct Convert<bool, From, false, true> {
    static PAR_INLINE bool of(From x) { return x != 0; }
};
template <class From>
struct Convert<bool, From, false, false> {
    static PAR_INLINE bool of(From x) { return x != 0; }
};
template <class To>
struct Convert<To, f16, false, true> {
    static PAR_INLINE To of(f16 x) { return Convert<To, f32, false, true>::of(to_f32(x)); }
};
template <>
struct Convert<bool, f16, false, true> {
    static PAR_INLINE bool of(f16 x) { return to_f32(x) != 0; }
};
template <class To>
struct Convert<To, f16, true, true> {
    static PAR_INLINE To of(f16 x) { return To(to_f32(x)); }
};
template <>
struct Convert<f16, f16, true, true> {
    static PAR_INLINE f16 of(f16 x) { return x; }
};
template <>
struct Convert<f16, f32, true, true> {
    static PAR_INLINE f16 of(f32 x) { return to_f16(x); }
};
template <>
struct Convert<f16, f64, true, true> {
    static PAR_INLINE f16 of(f64 x) { return to_f16(x); }
};
// Integers that f32 has to round are too large for f16.
template <class From>
struct Convert<f16, From, true, false> {
    static PAR_INLINE f16 of(From x) { return to_f16(f32(x)); }
};

template <class To, class From>
PAR_INLINE To conv(From x) {
    return Convert<To, From, Type<To>::is_float, Type<From>::is_float>::of(x);
}

}   // namespace op
