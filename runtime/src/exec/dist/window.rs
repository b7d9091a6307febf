//! The index space of ropes on a rank.
//!
//! The start of a row of a rope is an index in the address space of the array that holds it. Ranks exchange such starts, so an array must have the same
//! index on all of them. Each rank therefore has a range of addresses of its own, its *window*, of which only what is used is memory; arrays that
//! come into ropes are moved there, and indices are relative to its beginning. All ranks append the same arrays in the same order, and have freed the same ones
//! before, in whatever order; of the places that are free the first is taken. So arrays are at the same places.

use crate::array::{Array, OutOfMemory};
use crate::pool;
use crate::prim::Prim;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, OnceLock};

/// Addresses of a window, if there are as many; at least.
const MOST: usize = 1 << 41;
const LEAST: usize = 1 << 30;
/// Alignment of arrays.
const ALIGN: usize = 64;
/// Pages of blocks from this size on are given back when they are freed.
const LARGE: usize = 64 << 10;

/// A window, with the places that are free.
#[derive(Debug, Default)]
pub struct Window {
    /// Made when the first array comes.
    room: OnceLock<Option<Room>>,
    free: Mutex<Free>,
}

/// A range of addresses.
#[derive(Debug)]
struct Room {
    base: usize,
    size: usize,
}

#[derive(Debug, Default)]
struct Free {
    /// Places that were used before, by size.
    again: BTreeMap<usize, BTreeSet<usize>>,
    /// Behind all places that were ever used. No array is at 0, which is no index of an element.
    end: usize,
}

/// A place in a window for the bytes of an array.
pub struct Place {
    window: Arc<Window>,
    at: usize,
    len: usize,
    size: usize,
    /// Bytes that are counted as used.
    used: usize,
}

impl AsRef<[u8]> for Place {
    fn as_ref(&self) -> &[u8] {
        // SAFETY: the place is inside the window, whose memory is zero before it is written, and is this holder's alone until it is dropped.
        unsafe { std::slice::from_raw_parts((self.window.base() + self.at) as *const u8, self.len) }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.window.release(self.at, self.size);
        pool::use_less(self.used);
    }
}

impl Window {
    /// First address, from which element indices count; 0 if there are no addresses. What is read where no array is, as of a row without elements, is 0.
    pub fn base(&self) -> usize {
        self.room().map_or(0, |r| r.base)
    }

    fn room(&self) -> Option<&Room> {
        self.room.get_or_init(Room::reserve).as_ref()
    }

    /// An array in the window for so many elements, of which this rank has `own`: the others take no memory before they come.
    pub fn reserve(self: &Arc<Window>, prim: Prim, len: usize, own: usize) -> Result<Array, OutOfMemory> {
        let bytes = len * prim.size();
        let lack = OutOfMemory(bytes as u64);
        let (size, used) = (rounded(bytes), rounded(own * prim.size()));
        let room = self.room().ok_or(lack)?;
        if !pool::may_take(used) || !pool::use_more(used) {
            return Err(lack);
        }
        let at = self.take(size, room.size).ok_or(lack);
        let at = at.inspect_err(|_| pool::use_less(used))?;
        if crate::array::is_poisoned() {
            let byte = if prim == Prim::Bool { 1 } else { 0xa5 };
            // SAFETY: the place is inside the window, and nobody else has it.
            unsafe { std::ptr::write_bytes((room.base + at) as *mut u8, byte, bytes) };
        }
        Ok(Array::from_owner(prim, Place { window: self.clone(), at, len: bytes, size, used }))
    }

    /// An array with these elements in the window.
    #[cfg(test)]
    fn place(self: &Arc<Window>, a: &Array) -> Result<Array, OutOfMemory> {
        let placed = self.reserve(a.prim(), a.len(), a.len())?;
        // SAFETY: both have as many bytes, and the place is fresh.
        unsafe { std::ptr::copy_nonoverlapping(a.as_ptr(), placed.as_ptr(), a.bytes().len()) };
        Ok(placed)
    }

    fn take(&self, size: usize, all: usize) -> Option<usize> {
        let mut free = self.free.lock().unwrap_or_else(|e| e.into_inner());
        if let Some(places) = free.again.get_mut(&size)
            && let Some(at) = places.pop_first()
        {
            return Some(at);
        }
        let at = free.end.max(LARGE);
        free.end = at.checked_add(size).filter(|end| *end <= all)?;
        Some(at)
    }

    fn release(&self, at: usize, size: usize) {
        if size >= LARGE {
            give_back(self.base() + at, size);
        }
        let mut free = self.free.lock().unwrap_or_else(|e| e.into_inner());
        free.again.entry(size).or_default().insert(at);
    }
}

/// Gives back the memory of a range that nobody refers to any more: the pages inside of it. They have 4096 bytes on some machines, more on others.
fn give_back(address: usize, size: usize) {
    // SAFETY: it only asks.
    let page = usize::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).unwrap_or(LARGE);
    let (start, end) = (address.next_multiple_of(page), (address + size) / page * page);
    if start < end {
        // SAFETY: the pages are the range's alone.
        unsafe { libc::madvise(start as *mut libc::c_void, end - start, libc::MADV_DONTNEED) };
    }
}

/// Sizes of places: whole pages from [`LARGE`] on, with eight sizes per power of two, so that places are used again.
fn rounded(bytes: usize) -> usize {
    let step = (bytes.next_power_of_two() / 16).max(ALIGN);
    let size = bytes.max(1).next_multiple_of(step);
    if size >= LARGE { size.next_multiple_of(4096) } else { size }
}

impl Room {
    /// Addresses without memory.
    fn reserve() -> Option<Room> {
        let mut size = MOST;
        while size >= LEAST {
            // SAFETY: an anonymous private mapping at an address of the system's choice.
            let base = unsafe {
                libc::mmap(
                    std::ptr::null_mut(),
                    size,
                    libc::PROT_READ | libc::PROT_WRITE,
                    libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE,
                    -1,
                    0,
                )
            };
            if base != libc::MAP_FAILED {
                return Some(Room { base: base as usize, size });
            }
            size /= 2;
        }
        None
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        // SAFETY: the mapping is this room's, and places in it hold the window.
        unsafe { libc::munmap(self.base as *mut libc::c_void, self.size) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_the_same_in_all_windows() {
        let windows = [Arc::<Window>::default(), Arc::default()];
        let at = windows.each_ref().map(|w| {
            let place = |n: i64| w.place(&Array::from_slice(&vec![n; n as usize])).expect("room");
            let offset = |a: &Array| a.as_ptr() as usize - w.base();
            let (a, b) = (place(10), place(100_000));
            assert_eq!((a.slice::<i64>()[9], b.slice::<i64>()[99_999]), (10, 100_000));
            let first = [offset(&a), offset(&b)];
            drop(a);
            let again = place(9);
            assert!(first[0] == offset(&again) && first[0] > 0);
            [first[0], first[1], offset(&place(3))]
        });
        assert_eq!(at[0], at[1]);
    }

    #[test]
    fn the_order_of_frees_does_not_matter() {
        let places = |reverse: bool| {
            let w = Arc::<Window>::default();
            let mut all: Vec<Array> =
                (0..3).map(|i| w.place(&Array::from_slice(&[i])).expect("room")).collect();
            if reverse {
                all.reverse();
            }
            all.into_iter().for_each(drop);
            let again: Vec<Array> =
                (0..3).map(|i| w.place(&Array::from_slice(&[i])).expect("room")).collect();
            again.iter().map(|a| a.as_ptr() as usize - w.base()).collect::<Vec<usize>>()
        };
        assert_eq!(places(false), places(true));
    }

    #[test]
    fn what_was_freed_is_zero_or_new() {
        let w = Arc::<Window>::default();
        let a = w.place(&Array::from_slice(&vec![7i64; 50_000])).expect("room");
        let at = a.as_ptr();
        drop(a);
        let b = w.place(&Array::from_slice(&vec![8i64; 50_000])).expect("room");
        assert_eq!((b.as_ptr(), b.slice::<i64>()[49_999]), (at, 8));
    }
}
