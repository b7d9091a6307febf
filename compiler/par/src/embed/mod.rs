//! Par inside a Rust program: compile, and call entry points with values of Rust.
//!
//! ```
//! use par::{Backend, Context};
//!
//! let context = Context::new(Backend::Cpu);
//! let program = context.compile("entry scale (a: f32) (xs: []f32) : []f32 = map (a *) xs")?;
//! let scaled: Vec<f32> = program.call("scale", (2.0f32, &[1.0f32, 2.5]))?;
//! assert_eq!(scaled, [2.0, 5.0]);
//! # Ok::<(), par::Error>(())
//! ```
//!
//! | Par | Rust, as an argument | Rust, as a result |
//! | --- | --- | --- |
//! | `i32`, …, `f16`, `bool` | the same, [`f16`](crate::f16) | the same |
//! | `[]t` | slices, arrays, `Vec` | `Vec` |
//! | `[][]t` | `Vec<Vec<t>>`, [`Ragged`] | `Vec<Vec<t>>`, [`Ragged`] |
//! | `[n][m]t` | with the feature `ndarray` its arrays and views of any rank | its arrays |
//! | `[]u8` | also `&str`, `String` | also `String` |
//! | `(t, u)` | tuples | tuples |
//! | `{a: t, b: u}` | `#[derive(IntoPar)]` | `#[derive(FromPar)]` |
//! | `#a t \| #b` | the same, on an `enum` | the same |
//! | anything | [`Value`](crate::Value) | [`Value`](crate::Value), passed on without conversion |
//!
//! - `builder`, `into`: from Rust's values to columns.
//! - `from`: back.
//! - `generate`: typed functions, written when the Rust program is built.
//! - `ragged`: arrays with rows of any length as offsets and elements.
//! - `program`: programs, calls, their limits.
//! - `error`: what can go wrong.

/// Hands the lengths of tuples, with a type parameter and an index for each component, to a macro.
macro_rules! for_tuples {
    ($of:ident) => {
        $of! {
            2: A 0, B 1;
            3: A 0, B 1, C 2;
            4: A 0, B 1, C 2, D 3;
            5: A 0, B 1, C 2, D 3, E 4;
            6: A 0, B 1, C 2, D 3, E 4, F 5;
            7: A 0, B 1, C 2, D 3, E 4, F 5, G 6;
            8: A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7;
            9: A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8;
            10: A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8, J 9;
            11: A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8, J 9, K 10;
            12: A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8, J 9, K 10, L 11;
        }
    };
}

mod args;
mod builder;
mod error;
mod from;
mod generate;
mod into;
#[cfg(feature = "ndarray")]
mod ndarray;
#[doc(hidden)]
pub mod parts;
mod program;
mod ragged;

pub use args::Args;
pub use builder::{Builder, Payload};
pub use error::{Error, Mismatch};
pub use from::FromPar;
pub use generate::{build, generate};
pub use into::IntoPar;
/// View that `#[derive(IntoPar, FromPar)]` refers to.
pub use par_runtime::io::view::View;
pub use program::{Call, Context, Program};
pub use ragged::{FromRows, Ragged, Rows};

/// The functions that [`embed::build`](crate::embed::build) wrote for a program: `par::module!("spmv")` for `spmv.par`.
///
/// ```text
/// // build.rs
/// fn main() { par::embed::build("src/spmv.par"); }
///
/// // src/main.rs
/// mod spmv { par::module!("spmv"); }
/// let spmv = spmv::Spmv::new(&par::Context::new(par::Backend::Cpu))?;
/// let y: Vec<f32> = spmv.spmv(&rows, &cols, &vals, &x)?;
/// ```
#[macro_export]
macro_rules! module {
    ($name:literal) => {
        include!(concat!(env!("OUT_DIR"), "/", $name, ".rs"));
    };
}
