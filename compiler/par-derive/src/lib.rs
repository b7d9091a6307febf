//! `#[derive(IntoPar)]` and `#[derive(FromPar)]`.
//!
//! ```text
//! struct Point { x: f32, y: f32 }                {x: f32, y: f32}           fields have the same names
//! struct Pair(i32, f32);                         (i32, f32)
//! enum Shape { Circle(f32), Box { w: f32, h: f32 }, Nothing }
//!                                                #circle f32 | #box {w: f32, h: f32} | #nothing
//! #[par(name = "type_")] kind: i32               a name of its own, for fields and variants
//! ```
//!
//! The name of a constructor is the variant's in lower case, with `_` between words.

mod from;
mod into;
mod names;

use proc_macro::TokenStream;
use syn::{DeriveInput, parse_macro_input};

/// Makes a type an argument of Par's entry points, see `par::embed`.
#[proc_macro_derive(IntoPar, attributes(par))]
pub fn into_par(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    into::derive(&input).unwrap_or_else(|e| e.to_compile_error()).into()
}

/// Makes a type readable from results of Par's entry points, see `par::embed`.
#[proc_macro_derive(FromPar, attributes(par))]
pub fn from_par(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    from::derive(&input).unwrap_or_else(|e| e.to_compile_error()).into()
}
