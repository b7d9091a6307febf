// The type f16: stored in 16 bits, computed with in f32, rounded after every operator.
#pragma once
#include "par/base.cuh"

namespace par {

struct f16 {
    u16 bits;
};

PAR_INLINE f16 half_bits(u16 bits) {
    f16 x;
    x.bits = bits;
    return x;
}

#if PAR_DEVICE

PAR_INLINE f32 to_f32(f16 x) {
    f32 y;
    asm("cvt.f32.f16 %0, %1;" : "=f"(y) : "h"(x.bits));
    return y;
}
PAR_INLINE f16 to_f16(f32 x) {
    f16 y;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(y.bits) : "f"(x));
    return y;
}
PAR_INLINE f16 to_f16(f64 x) {
    f16 y;
    asm("cvt.rn.f16.f64 %0, %1;" : "=h"(y.bits) : "d"(x));
    return y;
}

#else

PAR_INLINE f32 to_f32(f16 x) {
    const u32 sign = u32(x.bits & 0x8000) << 16, rest = x.bits & 0x7fff;
    u32 bits;
    if (rest >= 0x7c00) bits = 0x7f800000u | rest << 13;
    else bits = __float_as_uint(__uint_as_float(rest << 13) * __uint_as_float(0x77800000u));   // times 2^112
    return __uint_as_float(bits | sign);
}
PAR_INLINE f16 to_f16(f32 x) {
    const u32 all = __float_as_uint(x), sign = all >> 16 & 0x8000;
    u32 bits = all & 0x7fffffffu;
    if (bits > 0x7f800000u) bits = 0x7e00 | (bits >> 13 & 0x3ff);
    else if (bits >= 0x47800000u) bits = 0x7c00;
    // Adding a half leaves a subnormal number's digits, rounded, in the lowest bits.
    else if (bits < 0x38800000u) bits = __float_as_uint(__uint_as_float(bits) + 0.5f) - 0x3f000000u;
    else bits = (bits + 0xc8000fffu + (bits >> 13 & 1)) >> 13;
    return half_bits(u16(sign | bits));
}
// Rounded once: adding 1.5 * 2^(e + 42) to a number with exponent e leaves the 10 bits behind its first one.
PAR_INLINE f16 to_f16(f64 x) {
    const u64 bits = u64(__double_as_longlong(x));
    u64 exponent = bits >> 52 & 0x7ff;
    exponent = smaller(larger(exponent, u64(1023 - 14)), u64(1023 + 16));
    const f64 magic = __longlong_as_double(i64((exponent + 42) << 52 | u64(1) << 51));
    const f64 rounded = (x + magic) - magic;
    return to_f16(f32(__builtin_copysign(rounded, x)));
}

#endif

}   // namespace par
