//! The `par` command.
fn main() {}
