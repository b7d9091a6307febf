//! Large blocks of memory, mapped by themselves on huge pages. WebAssembly has one memory and no mappings: there the allocator has
//! blocks of all sizes.

#[cfg(not(target_family = "wasm"))]
use super::ALIGN;
use super::Block;
#[cfg(not(target_family = "wasm"))]
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// Blocks of at least this many bytes are mapped.
#[cfg(not(target_family = "wasm"))]
pub(super) const HUGE: usize = 2 << 20;
/// No block is mapped.
#[cfg(target_family = "wasm")]
pub(super) const HUGE: usize = usize::MAX;

/// Distinguishes the starts of blocks, see [`stagger`].
#[cfg(not(target_family = "wasm"))]
static SERIAL: AtomicUsize = AtomicUsize::new(0);

/// A block of zeros of at least [`HUGE`] bytes, if there is that much memory.
#[cfg(not(target_family = "wasm"))]
pub(super) fn map(capacity: usize) -> Option<Block> {
    let total = capacity + 2 * HUGE;
    // SAFETY: an anonymous private mapping at an address of the system's choice.
    let base = unsafe {
        libc::mmap(
            std::ptr::null_mut(),
            total,
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE,
            -1,
            0,
        )
    };
    if base == libc::MAP_FAILED {
        return None;
    }
    let base = base as *mut u8;
    // SAFETY: the mapping is two huge pages longer than the capacity: one is lost to alignment at most, and the
    // staggered start lies in the other. Advice cannot fail in a way that matters.
    unsafe {
        #[cfg(target_os = "linux")]
        libc::madvise(base.cast(), total, libc::MADV_HUGEPAGE);
        let aligned = base.add(base.align_offset(HUGE));
        Some(Block { ptr: aligned.add(stagger()), capacity, base })
    }
}

/// Buffers that all start at the same offset in a page compete for the same cache sets and, where a load follows a
/// store at the same offset, stall. So each starts at another one.
#[cfg(not(target_family = "wasm"))]
fn stagger() -> usize {
    SERIAL.fetch_add(1, Relaxed) * 5 % 32 * (ALIGN * 5)
}

/// Undoes [`map`].
///
/// # Safety
/// The block came from there, and nothing refers to it any more.
#[cfg(not(target_family = "wasm"))]
pub(super) unsafe fn unmap(block: Block) {
    // SAFETY: as required of the caller; the size is that of the mapping.
    unsafe {
        libc::munmap(block.base.cast(), block.capacity + 2 * HUGE);
    }
}

/// No block.
#[cfg(target_family = "wasm")]
pub(super) fn map(_: usize) -> Option<Block> {
    None
}

/// Does nothing, for there is no such block.
///
/// # Safety
/// None is needed.
#[cfg(target_family = "wasm")]
pub(super) unsafe fn unmap(_: Block) {}
