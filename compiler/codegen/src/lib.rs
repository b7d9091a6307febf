//! FLAT to machine code.
//!
//! [`plan`] turns the host program into slots with last uses; [`cpu`] compiles every kernel's body with Cranelift, [`cuda`] writes it
//! in C++ for NVRTC. The result is an `Executable` of the runtime, which needs nothing of the compiler any more.

mod contract;
pub mod cost;
pub mod cpu;
pub mod cuda;
pub mod free;
mod partition;
pub mod plan;
pub mod work;

/// A construct that there is no code for: text for the developer, since flattening makes none.
pub type Unsupported = String;

/// A result of code generation, or the construct that there is no code for.
pub type Result<T = ()> = std::result::Result<T, Unsupported>;
