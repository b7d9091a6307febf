//! Protection against readers of others, which may panic on files that are none of theirs. That is a wrong file then, not a bug.

use crate::DataError;
use par_runtime::array::OutOfMemory;
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

thread_local! {
    static GUARDED: Cell<bool> = const { Cell::new(false) };
}

/// True if a panic of this thread would be an error of a file's reader. A panic hook should say nothing then.
pub fn is_guarded() -> bool {
    GUARDED.get()
}

/// Runs a reader that is not ours.
pub(crate) fn guarded<T>(read: impl FnOnce() -> Result<T, DataError>) -> Result<T, DataError> {
    let before = GUARDED.replace(true);
    let result = catch_unwind(AssertUnwindSafe(read));
    GUARDED.set(before);
    result.unwrap_or_else(|panic| match panic.is::<OutOfMemory>() {
        true => resume_unwind(panic),
        false => Err(DataError::new("the file is damaged")),
    })
}
