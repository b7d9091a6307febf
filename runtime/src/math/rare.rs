//! Functions that are rarely needed. The crate `libm` computes them, so that their results are the same on every machine; a system's own
//! library may round otherwise.

/// Functions of a float type that `libm` computes.
#[allow(missing_docs)]
pub trait Rare {
    fn cube_root(self) -> Self;
    fn arc_sine(self) -> Self;
    fn arc_cosine(self) -> Self;
    fn arc_tangent(self) -> Self;
    /// The angle of the point with this height and `x`.
    fn arc_tangent_of(self, x: Self) -> Self;
    fn hypotenuse(self, other: Self) -> Self;
}

macro_rules! rare {
    ($t:ident, $($own:ident $name:ident),*; $($binary:ident $binary_name:ident),*) => {
        impl Rare for $t {
            $(fn $own(self) -> $t {
                libm::$name(self)
            })*
            $(fn $binary(self, other: $t) -> $t {
                libm::$binary_name(self, other)
            })*
        }
    };
}

rare!(
    f32, cube_root cbrtf, arc_sine asinf, arc_cosine acosf, arc_tangent atanf;
    arc_tangent_of atan2f, hypotenuse hypotf
);
rare!(
    f64, cube_root cbrt, arc_sine asin, arc_cosine acos, arc_tangent atan;
    arc_tangent_of atan2, hypotenuse hypot
);
