//! Kernels of FLAT as WebAssembly.
//!
//! In a browser, where Par itself is a WebAssembly module, the host's part of FLAT is interpreted, and each kernel becomes a small module when it
//! first runs. That module has one function, which works on a part of the kernel's positions; it shares its memory with Par's module, so that
//! arrays stay where they are, and calls the same functions for operators without an instruction of their own, so that values are the same to
//! the last bit.
//!
//! - [`compile`]: a kernel to the bytes of a module.
//! - `frame`: the record through which host and code talk.
//! - `kernel`: the loops over rows and positions. `sink`: uses of a body's results.
//! - `emit`: scalar bodies. `prim`: scalar operators.
//! - `outline`: loops as functions of their own.
//! - `module`: the parts of a module put together.
//! - [`Kernels`]: the code of a program's kernels, and [`Engine`], which loads and runs modules: `browser` in WebAssembly, and an interpreter in tests.

#[cfg(target_family = "wasm")]
pub mod browser;
mod emit;
mod frame;
mod kernel;
mod module;
mod outline;
mod prim;
mod runner;
mod sink;
pub mod support;

pub use frame::Frame;
pub use kernel::compile;
pub use module::{Check, Code, Import};
pub use runner::{Ended, Engine, Kernels, Part, Statistics};

pub use wasm_encoder::ValType;

/// Why a kernel has no code.
pub type Unsupported = String;
