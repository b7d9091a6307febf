//! A thread's stack for the calls in kernels.
//!
//! It is address space, of which only what calls have used is memory. Each thread maps one, when it runs such a kernel for the first time, and
//! keeps it: a mapping for every run would take longer than many runs. Memory of deep calls is given back after each run.

use std::cell::RefCell;

/// Bytes whose memory is kept for the next run.
const KEPT: usize = 1 << 20;

thread_local! {
    static STACK: RefCell<Option<Stack>> = const { RefCell::new(None) };
}

/// A mapping, and a page at its lower end that nothing may touch.
struct Stack {
    base: *mut u8,
    bytes: usize,
}

/// Runs something that does not panic on a stack of at least so many bytes, a multiple of the size of a page.
pub fn with<T>(bytes: usize, run: impl FnOnce() -> T) -> T {
    let kept = STACK.take().filter(|s| s.bytes >= bytes);
    let Some(stack) = kept.or_else(|| Stack::map(bytes)) else {
        return stacker::grow(bytes, run);
    };
    let result = stack.run(run);
    STACK.set(Some(stack));
    result
}

psm::psm_stack_manipulation! {
    yes {
        /// Bytes that nothing may touch: of a page, whatever size that has here.
        const GUARD: usize = 64 << 10;

        impl Stack {
            fn map(bytes: usize) -> Option<Stack> {
                let total = bytes + GUARD;
                let (access, flags) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE);
                // SAFETY: an anonymous private mapping at an address of the system's choice, whose lowest pages are closed then.
                let base = unsafe { libc::mmap(std::ptr::null_mut(), total, access, flags, -1, 0) };
                if base == libc::MAP_FAILED {
                    return None;
                }
                let stack = Stack { base: base.cast(), bytes };
                // SAFETY: the pages are those of the mapping.
                let closed = unsafe { libc::mprotect(base, GUARD, libc::PROT_NONE) };
                (closed == 0).then_some(stack)
            }

            fn run<T>(&self, run: impl FnOnce() -> T) -> T {
                // SAFETY: the mapping is as large as said, aligned to pages, and used by one call at a time, since it was taken out of its
                // place; the caller promises that nothing unwinds.
                let result = unsafe { psm::on_stack(self.base, self.bytes + GUARD, run) };
                self.give_back();
                result
            }

            /// Gives memory back if calls were deep: then they have left return addresses where nothing but zeros were before.
            fn give_back(&self) {
                const WINDOW: usize = 4 << 10;
                let rest = self.bytes - KEPT;
                // SAFETY: the words and the pages are the mapping's, and nothing is on the stack any more. Advice cannot fail in a way that
                // matters.
                unsafe {
                    let first = self.base.add(GUARD);
                    let window = std::slice::from_raw_parts(first.add(rest - WINDOW).cast::<u64>(), WINDOW / 8);
                    if window.iter().any(|word| *word != 0) {
                        libc::madvise(first.cast(), rest, libc::MADV_DONTNEED);
                    }
                }
            }
        }

        impl Drop for Stack {
            fn drop(&mut self) {
                // SAFETY: the mapping is the stack's own, and nothing runs on it.
                unsafe {
                    libc::munmap(self.base.cast(), self.bytes + GUARD);
                }
            }
        }
    }
    no {
        impl Stack {
            fn map(_: usize) -> Option<Stack> {
                None
            }

            fn run<T>(&self, run: impl FnOnce() -> T) -> T {
                run()
            }
        }
    }
}
