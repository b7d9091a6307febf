//! Allocation of buffers.
//!
//! Fresh pages are expensive (the kernel zeroes each one), so a freed buffer of [`POOLED`] bytes or more is kept and
//! handed out again to a request of nearly its size. Large blocks are mapped directly, aligned to two megabytes and
//! marked for huge pages. What is kept is bounded; it is given back when memory runs short.
//!
//! A request that cannot succeed (its size overflows, or it exceeds what this machine has) is refused, so that a program
//! that asks for too much fails with an ordinary error.

mod pages;

use pages::HUGE;
use std::alloc::{Layout, alloc, alloc_zeroed, dealloc};
use std::cell::Cell;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, OnceLock};

/// Alignment of every buffer.
pub const ALIGN: usize = 64;
/// Blocks of at least this many bytes are kept when freed.
const POOLED: usize = 64 << 10;
/// A kept block is used for a request if it is at most this many eighths larger.
const SLACK_EIGHTHS: usize = 4;

/// A block of memory: at least the bytes asked for.
#[derive(Clone, Copy)]
pub struct Block {
    /// First usable byte, aligned to [`ALIGN`].
    pub ptr: *mut u8,
    /// Usable bytes.
    pub capacity: usize,
    /// Start of the mapping, for blocks of [`HUGE`] bytes and more.
    base: *mut u8,
}

impl Block {
    /// Memory that is not the pool's, which must neither be written nor be given to it.
    pub(crate) fn foreign(bytes: &[u8]) -> Block {
        let ptr = bytes.as_ptr().cast_mut();
        Block { ptr, capacity: bytes.len(), base: ptr }
    }
}

// SAFETY: a block is plain memory; who owns it is its holder's concern.
unsafe impl Send for Block {}

#[derive(Default)]
struct Free {
    by_capacity: BTreeMap<usize, Vec<Block>>,
    bytes: usize,
}

static FREE: Mutex<Free> = Mutex::new(Free { by_capacity: BTreeMap::new(), bytes: 0 });
/// Bytes in blocks that are handed out.
static LIVE: AtomicUsize = AtomicUsize::new(0);

/// The memory limit, once it is known: see [`limit`].
static LIMIT: OnceLock<usize> = OnceLock::new();

/// Sets [`limit`] in this process, before its first use.
pub fn limit_to(bytes: usize) {
    // Whoever asked before has what was available.
    let _ = LIMIT.set(bytes);
}

/// Bytes of memory that programs may use: what was available at first use, less a
/// reserve for other programs: one that takes all there is gets killed instead of an error.
pub fn limit() -> usize {
    *LIMIT.get_or_init(|| {
        let available = meminfo().unwrap_or(usize::MAX / 4).min(cgroup_limit().unwrap_or(usize::MAX));
        available - available / 4
    })
}

/// Bytes in use by buffers now.
pub fn live_bytes() -> usize {
    LIVE.load(Relaxed)
}

thread_local! {
    /// Bytes that this thread has allocated less those it has released, small blocks included.
    static BALANCE: Cell<isize> = const { Cell::new(0) };
    /// The highest balance since it was reset.
    static PEAK: Cell<isize> = const { Cell::new(0) };
}

thread_local! {
    /// The balance that this thread may reach.
    static CEILING: Cell<isize> = const { Cell::new(isize::MAX) };
}

/// Runs `f`, in which this thread may allocate at most `limit` bytes more than it releases. The limit holds for requests that
/// can be refused (see [`may_take`]), which are all whose size a program chooses.
pub fn with_limit<T>(limit: Option<usize>, f: impl FnOnce() -> T) -> T {
    /// Restores the ceiling, also when `f` unwinds.
    struct Before(isize);
    impl Drop for Before {
        fn drop(&mut self) {
            CEILING.set(self.0);
        }
    }
    let _before = Before(CEILING.get());
    if let Some(bytes) = limit {
        CEILING.set(BALANCE.get().saturating_add_unsigned(bytes).min(CEILING.get()));
    }
    f()
}

/// True if this thread may allocate so many bytes.
pub fn may_take(bytes: usize) -> bool {
    BALANCE.get().saturating_add_unsigned(bytes) <= CEILING.get()
}

/// Bytes that this thread may still allocate, and that there are.
pub fn left() -> isize {
    let there = isize::try_from(limit().saturating_sub(live_bytes())).unwrap_or(isize::MAX);
    CEILING.get().saturating_sub(BALANCE.get()).clamp(0, there)
}

/// The thread's highest balance since [`reset_thread_peak`].
pub fn thread_peak() -> isize {
    PEAK.get()
}

/// From now on the peak is counted anew.
pub fn reset_thread_peak() {
    PEAK.set(BALANCE.get());
}

/// Bytes that this thread has allocated less those it has released: what a program holds that runs on one thread is the
/// difference to the balance at its start.
pub fn thread_balance() -> isize {
    BALANCE.get()
}

fn meminfo() -> Option<usize> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find(|l| l.starts_with("MemAvailable:"))?;
    line.split_whitespace().nth(1)?.parse::<usize>().ok()?.checked_mul(1024)
}

fn cgroup_limit() -> Option<usize> {
    std::fs::read_to_string("/sys/fs/cgroup/memory.max").ok()?.trim().parse().ok()
}

/// A block of at least `bytes` bytes, or `None` if there is not that much memory.
pub fn allocate(bytes: usize, zeroed: bool) -> Option<Block> {
    let block = if bytes < POOLED { small(bytes, zeroed) } else { large(bytes, zeroed) }?;
    let balance = BALANCE.get() + block.capacity as isize;
    BALANCE.set(balance);
    PEAK.set(PEAK.get().max(balance));
    Some(block)
}

/// True if blocks of so many bytes are mapped by themselves, so that [`allocate_part`] has them.
pub(crate) fn is_mapped(bytes: usize) -> bool {
    rounded(bytes) >= HUGE && HUGE < usize::MAX
}

/// A mapped block of which so many bytes are going to be used, and count.
pub(crate) fn allocate_part(bytes: usize, used: usize) -> Option<Block> {
    if !use_more(used) {
        return None;
    }
    let block = pages::map(bytes);
    if block.is_none() {
        use_less(used);
    }
    block
}

/// Gives such a block back.
///
/// # Safety
/// The block came from [`allocate_part`], and nothing refers to it any more.
pub(crate) unsafe fn release_part(block: Block, used: usize) {
    use_less(used);
    // SAFETY: as required of the caller.
    unsafe { pages::unmap(block) }
}

/// Counts bytes of a mapped block that are going to be used. False if there are not as many.
pub(crate) fn use_more(bytes: usize) -> bool {
    if LIVE.fetch_add(bytes, Relaxed) + bytes > limit() {
        LIVE.fetch_sub(bytes, Relaxed);
        return false;
    }
    let balance = BALANCE.get() + bytes as isize;
    BALANCE.set(balance);
    PEAK.set(PEAK.get().max(balance));
    true
}

pub(crate) fn use_less(bytes: usize) {
    LIVE.fetch_sub(bytes, Relaxed);
    BALANCE.set(BALANCE.get() - bytes as isize);
}

/// A block from those that are kept, or a new one.
fn large(bytes: usize, zeroed: bool) -> Option<Block> {
    if bytes > isize::MAX as usize / 2 {
        return None;
    }
    let capacity = rounded(bytes);
    let live = LIVE.fetch_add(capacity, Relaxed) + capacity;
    let block =
        if live > limit() { None } else { pooled(capacity, zeroed).or_else(|| fresh(capacity, zeroed)) };
    match block {
        Some(b) => {
            LIVE.fetch_add(b.capacity - capacity, Relaxed);
            Some(b)
        }
        None => {
            LIVE.fetch_sub(capacity, Relaxed);
            None
        }
    }
}

/// Gives a block back.
///
/// # Safety
/// The block came from [`allocate`], and nothing refers to it any more.
pub unsafe fn release(block: Block) {
    BALANCE.set(BALANCE.get() - block.capacity as isize);
    if block.capacity < POOLED {
        // SAFETY: allocated by `small` with this layout.
        return unsafe { dealloc(block.ptr, layout(block.capacity)) };
    }
    LIVE.fetch_sub(block.capacity, Relaxed);
    let mut free = lock();
    if free.bytes + block.capacity > limit() / 4 {
        drop(free);
        // SAFETY: as required of the caller.
        return unsafe { give_back(block) };
    }
    free.bytes += block.capacity;
    free.by_capacity.entry(block.capacity).or_default().push(block);
}

fn lock() -> MutexGuard<'static, Free> {
    FREE.lock().unwrap_or_else(|e| e.into_inner())
}

/// Whole units of the alignment: allocators have blocks of such sizes that are aligned without further care.
fn layout(capacity: usize) -> Layout {
    let size = capacity.max(1).next_multiple_of(ALIGN);
    Layout::from_size_align(size, ALIGN).expect("capacities are far below isize::MAX")
}

fn small(bytes: usize, zeroed: bool) -> Option<Block> {
    let layout = layout(bytes);
    // SAFETY: the layout's size is at least one byte.
    let ptr = unsafe { if zeroed { alloc_zeroed(layout) } else { alloc(layout) } };
    (!ptr.is_null()).then_some(Block { ptr, capacity: bytes, base: ptr })
}

/// Size classes: eight per power of two.
fn rounded(bytes: usize) -> usize {
    let step = (bytes.next_power_of_two() / 16).max(4096);
    bytes.next_multiple_of(step)
}

fn pooled(capacity: usize, zeroed: bool) -> Option<Block> {
    let block = {
        let mut free = lock();
        let largest = capacity + capacity / 8 * SLACK_EIGHTHS;
        let (&key, blocks) = free.by_capacity.range_mut(capacity..=largest).next()?;
        let block = blocks.pop()?;
        if blocks.is_empty() {
            free.by_capacity.remove(&key);
        }
        free.bytes -= block.capacity;
        block
    };
    if zeroed {
        // SAFETY: the block has this capacity and nobody else holds it.
        unsafe { std::ptr::write_bytes(block.ptr, 0, block.capacity) };
    }
    Some(block)
}

fn fresh(capacity: usize, zeroed: bool) -> Option<Block> {
    if lock().bytes + live_bytes() > limit() {
        flush();
    }
    obtain(capacity, zeroed).or_else(|| {
        flush();
        obtain(capacity, zeroed)
    })
}

/// Returns all kept blocks to the system.
pub fn flush() {
    let all = std::mem::take(&mut *lock());
    for block in all.by_capacity.into_values().flatten() {
        // SAFETY: kept blocks belong to the pool alone.
        unsafe { give_back(block) };
    }
}

fn obtain(capacity: usize, zeroed: bool) -> Option<Block> {
    if capacity < HUGE { small(capacity, zeroed) } else { pages::map(capacity) }
}

/// # Safety
/// The block came from `obtain`, and nothing refers to it any more.
unsafe fn give_back(block: Block) {
    // SAFETY: undoes what `obtain` did, with the same sizes.
    unsafe {
        if block.capacity < HUGE {
            dealloc(block.ptr, layout(block.capacity));
        } else {
            pages::unmap(block);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn absurd_requests_are_refused() {
        assert!(allocate(usize::MAX / 2, false).is_none());
        assert!(allocate(1 << 50, false).is_none());
    }

    #[test]
    fn limits_are_nested_and_end() {
        with_limit(Some(1000), || {
            assert!(may_take(1000) && !may_take(1001));
            with_limit(Some(2000), || assert!(!may_take(1001)));
            with_limit(Some(10), || assert!(!may_take(11)));
            assert!(may_take(1000));
        });
        assert!(may_take(1 << 40));
    }

    #[test]
    fn freed_blocks_are_reused() {
        let a = allocate(3 << 20, false).expect("3 MB");
        // SAFETY: nothing else refers to the block.
        unsafe { release(a) };
        let b = allocate(3 << 20, true).expect("3 MB");
        // SAFETY: the block has this capacity.
        assert!((0..b.capacity).all(|i| unsafe { *b.ptr.add(i) } == 0));
        // SAFETY: nothing else refers to the block.
        unsafe { release(b) };
    }
}
