//! The language server: diagnostics while typing and what can be done about them, types and documentation under the cursor, definitions,
//! references, renaming, completion, parameters, colours, formatting, and types that nobody has written.
//!
//! ```text
//! editor  --- messages, JSON-RPC on standard input and output ---  server
//! ```
//!
//! - [`text`]: bytes and positions.
//! - `document`: an open file and what is known about it.
//! - `diagnostics`, `answers`, `completion`, `signature`, `names`, `colours`, `actions`: what is told.
//! - [`server`]: the messages; `transport`: how they come and go.
//!
//! A file is analysed as a whole when it has changed, after all messages that are there have been read.

mod actions;
mod answers;
mod colours;
mod completion;
mod diagnostics;
mod document;
mod names;
pub mod server;
mod signature;
pub mod text;
mod transport;

pub use server::{Failed, serve, serve_stdio};
