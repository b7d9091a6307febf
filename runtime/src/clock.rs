//! Time that has passed. WebAssembly by itself has no clock: there no time passes.

use std::time::Duration;

/// A moment.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    #[cfg(not(target_family = "wasm"))]
    at: std::time::Instant,
}

impl Clock {
    /// The present.
    pub fn start() -> Clock {
        Clock {
            #[cfg(not(target_family = "wasm"))]
            at: std::time::Instant::now(),
        }
    }

    /// Time since then.
    pub fn elapsed(self) -> Duration {
        #[cfg(not(target_family = "wasm"))]
        return self.at.elapsed();
        #[cfg(target_family = "wasm")]
        return Duration::ZERO;
    }
}
