//! Limits of a call, and tokens that stop it.

use super::{free, made};
use par_runtime::CancelToken;

/// `par_token`.
pub struct ParToken(CancelToken);

/// `par_options`.
#[repr(C)]
pub struct ParOptions {
    threads: usize,
    memory_limit: usize,
    token: *const ParToken,
}

/// The same in Rust.
#[derive(Default)]
pub struct Limits {
    /// Number of threads; 0: one for each processor.
    pub threads: usize,
    /// Bytes besides the arguments.
    pub memory_limit: Option<usize>,
    /// Stops the call.
    pub token: CancelToken,
}

impl ParOptions {
    /// Limits in these options; null says nothing.
    ///
    /// # Safety
    /// Null, or options whose token is null or alive.
    pub unsafe fn limits(options: *const ParOptions) -> Limits {
        // SAFETY: as the caller promises.
        let Some(options) = (unsafe { options.as_ref() }) else { return Limits::default() };
        // SAFETY: as the caller promises.
        let token = unsafe { options.token.as_ref() };
        Limits {
            threads: options.threads,
            memory_limit: Some(options.memory_limit).filter(|n| *n > 0),
            token: token.map(|t| t.0.clone()).unwrap_or_default(),
        }
    }
}

#[unsafe(no_mangle)]
extern "C" fn par_token_new() -> *mut ParToken {
    made(|| Ok(ParToken(CancelToken::new())))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn par_token_cancel(token: *const ParToken) {
    // SAFETY: the header asks for a token or null.
    if let Some(token) = unsafe { token.as_ref() } {
        token.0.cancel();
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn par_token_free(token: *mut ParToken) {
    // SAFETY: the header asks for a token that nobody uses any more.
    unsafe { free(token) }
}
