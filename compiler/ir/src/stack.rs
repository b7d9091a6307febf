//! Recursion over nested code, however deep it is.

/// Stack that must be left for one step of a recursion: what the largest function that recurses takes, many times over.
const RESERVE: usize = 128 << 10;
/// Size of a further piece of stack.
const SEGMENT: usize = 4 << 20;

/// Goes one body deeper with enough stack, unless the compiler is to stop.
pub fn deeper<T>(run: impl FnOnce() -> T) -> T {
    par_runtime::cancel::poll();
    stacker::maybe_grow(RESERVE, SEGMENT, run)
}
