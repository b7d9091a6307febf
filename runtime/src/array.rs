//! A flat array of scalars in a counted buffer.

use crate::copy::copy;
use crate::f16;
use crate::pool;
use crate::prim::{Prim, Scalar};
use crate::profile::Counters;
use std::any::Any;
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};

/// Bytes, aligned to 64, those of others as their elements are.
enum Buffer {
    /// This buffer's own, from the pool.
    Own(pool::Block),
    /// This buffer's own, of which only parts are used, and take memory: so many bytes.
    Part { block: pool::Block, used: AtomicUsize },
    /// Somebody else's. They are never written.
    Bytes { block: pool::Block, holder: Box<dyn Any + Send + Sync> },
    /// In another memory; here when somebody has looked at them. They are never written.
    Remote { fetched: OnceLock<pool::Block>, remote: Box<dyn Remote> },
}

/// Bytes in another memory, that of a device. They do not change.
pub trait Remote: Any + Send + Sync {
    /// Number of bytes.
    fn size(&self) -> usize;
    /// Copies all of them.
    fn copy_to(&self, bytes: &mut [u8]);
}

// SAFETY: the buffer owns its allocation; shared access is read-only, writing needs a unique `Arc`
// (or is done by kernels that own the freshly made array).
unsafe impl Send for Buffer {}
// SAFETY: as above.
unsafe impl Sync for Buffer {}

impl Buffer {
    fn try_new(capacity: usize, zeroed: bool) -> Option<Buffer> {
        pool::allocate(capacity, zeroed).map(Buffer::Own)
    }

    fn new(capacity: usize, zeroed: bool) -> Buffer {
        let may_take = !WITHIN_MEMORY.get() || pool::may_take(capacity);
        let buffer = if may_take { Buffer::try_new(capacity, zeroed) } else { None };
        buffer.unwrap_or_else(|| exhausted(capacity))
    }

    fn block(&self) -> &pool::Block {
        match self {
            Buffer::Own(block) | Buffer::Part { block, .. } | Buffer::Bytes { block, .. } => block,
            Buffer::Remote { fetched, remote } => fetched.get_or_init(|| fetch(&**remote)),
        }
    }

    fn ptr(&self) -> *mut u8 {
        self.block().ptr
    }
}

fn fetch(remote: &dyn Remote) -> pool::Block {
    let size = remote.size();
    let block = pool::allocate(size, false).unwrap_or_else(|| exhausted(size));
    // SAFETY: the block is fresh and has room for them.
    remote.copy_to(unsafe { std::slice::from_raw_parts_mut(block.ptr, size) });
    block
}

impl Drop for Buffer {
    fn drop(&mut self) {
        let block = match self {
            Buffer::Own(block) => Some(*block),
            Buffer::Part { block, used } => {
                // SAFETY: as below.
                unsafe { pool::release_part(*block, *used.get_mut()) };
                None
            }
            Buffer::Bytes { .. } => None,
            Buffer::Remote { fetched, .. } => fetched.get().copied(),
        };
        if let Some(block) = block {
            // SAFETY: the block is this buffer's own, and nobody refers to the buffer any more.
            unsafe { pool::release(block) }
        }
    }
}

/// There is no memory for that many bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct OutOfMemory(pub u64);

impl std::fmt::Display for OutOfMemory {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "no memory for {} bytes", self.0)
    }
}

thread_local! {
    static WITHIN_MEMORY: Cell<bool> = const { Cell::new(false) };
}

/// Result of `make`, or the error that there is no memory for an array that it makes on this thread: then it is left by unwinding. For readers of
/// files, which make arrays everywhere and have no place for this outcome.
pub fn within_memory<T>(make: impl FnOnce() -> T) -> Result<T, OutOfMemory> {
    let outer = WITHIN_MEMORY.replace(true);
    let made = catch_unwind(AssertUnwindSafe(make));
    WITHIN_MEMORY.set(outer);
    made.map_err(|panic| match panic.downcast::<OutOfMemory>() {
        Ok(lack) => *lack,
        Err(bug) => resume_unwind(bug),
    })
}

/// Leaves [`within_memory`]; outside of it this is a panic.
pub(crate) fn exhausted(bytes: usize) -> ! {
    if WITHIN_MEMORY.get() {
        resume_unwind(Box::new(OutOfMemory(bytes as u64)));
    }
    panic!("out of memory: {bytes} bytes")
}

/// A flat array: `len` elements of one scalar type in a reference-counted buffer. Cloning shares.
#[derive(Clone)]
pub struct Array {
    prim: Prim,
    len: usize,
    buffer: Arc<Buffer>,
}

/// A Rust type with a scalar type of the language: element access without copies.
pub trait Element: Copy + Send + Sync + 'static {
    /// The language's type.
    const PRIM: Prim;
}

macro_rules! elements {
    ($($t:ty => $p:ident),*) => { $(impl Element for $t { const PRIM: Prim = Prim::$p; })* };
}
elements!(i8 => I8, i16 => I16, i32 => I32, i64 => I64, u8 => U8, u16 => U16, u32 => U32, u64 => U64, f16 => F16, f32 => F32, f64 => F64, bool => Bool);

/// See [`poison_parts`].
static POISON: AtomicBool = AtomicBool::new(false);

/// From now on the elements of small arrays that ranks have not are numbers with which reads end outside of all arrays: for tests.
pub(crate) fn poison_parts() {
    POISON.store(true, Relaxed);
}

/// True after [`poison_parts`].
pub(crate) fn is_poisoned() -> bool {
    POISON.load(Relaxed)
}

impl Array {
    /// An array of zeros.
    pub fn zeros(prim: Prim, len: usize) -> Array {
        Array { prim, len, buffer: Arc::new(Buffer::new(len * prim.size(), true)) }
    }

    /// An array whose elements are unspecified (but valid) until written.
    pub fn uninit(prim: Prim, len: usize) -> Array {
        Array { prim, len, buffer: Arc::new(Buffer::new(len * prim.size(), false)) }
    }

    /// As [`Array::uninit`], but fails if there is no memory for it.
    pub fn try_uninit(prim: Prim, len: usize) -> Result<Array, OutOfMemory> {
        Array::allocate(prim, len, len, false)
    }

    /// As [`Array::zeros`], but fails if there is no memory for it.
    pub fn try_zeros(prim: Prim, len: usize) -> Result<Array, OutOfMemory> {
        Array::allocate(prim, len, len, true)
    }

    /// As [`Array::try_uninit`], for an array of which only about `used` elements are going to be written or read: the others take addresses, but
    /// no memory.
    pub(crate) fn try_part(prim: Prim, len: usize, used: usize) -> Result<Array, OutOfMemory> {
        let size = prim.size();
        let bytes = len.checked_mul(size).filter(|bytes| *bytes <= isize::MAX as usize);
        let bytes = bytes.ok_or(OutOfMemory((len as u64).saturating_mul(size as u64)))?;
        let used = used.min(len) * size;
        // As much as whoever has all elements lacks.
        let lack = OutOfMemory(bytes as u64);
        if used * 2 > bytes || !pool::is_mapped(bytes) {
            let mut a = Array::try_uninit(prim, len)?;
            if POISON.load(Relaxed) {
                a.bytes_mut().fill(0xa5);
            }
            return Ok(a);
        }
        if !pool::may_take(used) {
            return Err(lack);
        }
        let block = pool::allocate_part(bytes, used).ok_or(lack)?;
        Ok(Array { prim, len, buffer: Arc::new(Buffer::Part { block, used: used.into() }) })
    }

    /// Asks for the memory of all elements of an array that was made with [`Array::try_part`].
    pub(crate) fn use_all(&self) -> Result<(), OutOfMemory> {
        let Buffer::Part { used, .. } = &*self.buffer else { return Ok(()) };
        let bytes = self.len * self.prim.size();
        let more = bytes.saturating_sub(used.load(Relaxed));
        if !pool::may_take(more) || !pool::use_more(more) {
            return Err(OutOfMemory(more as u64));
        }
        used.fetch_add(more, Relaxed);
        Ok(())
    }

    /// `len` elements in a buffer with room for `room >= len`.
    fn allocate(prim: Prim, len: usize, room: usize, zeroed: bool) -> Result<Array, OutOfMemory> {
        let too_much = OutOfMemory((room as u64).saturating_mul(prim.size() as u64));
        let bytes = room.checked_mul(prim.size()).ok_or(too_much)?;
        if !pool::may_take(bytes) {
            return Err(too_much);
        }
        let buffer = Buffer::try_new(bytes, zeroed).ok_or(too_much)?;
        Ok(Array { prim, len, buffer: Arc::new(buffer) })
    }

    /// Copies a slice.
    pub fn from_slice<T: Element>(xs: &[T]) -> Array {
        let mut a = Array::uninit(T::PRIM, xs.len());
        a.slice_mut::<T>().copy_from_slice(xs);
        a
    }

    /// The elements of type `prim` in bytes that somebody else holds, little endian, as many as are whole. They are not copied if they are
    /// aligned as such elements are, and are such elements (bools are bytes 0 and 1). `bytes` gives the same bytes every time.
    pub fn from_owner(prim: Prim, bytes: impl AsRef<[u8]> + Send + Sync + 'static) -> Array {
        let owner = Box::new(bytes);
        let given: &[u8] = (*owner).as_ref();
        let len = given.len() / prim.size();
        let aligned = given.as_ptr().align_offset(prim.size()) == 0;
        let valid = prim != Prim::Bool || given.iter().fold(0, |all, b| all | b) <= 1;
        if !aligned || !valid || len == 0 {
            let mut copy = Array::uninit(prim, len);
            copy.bytes_mut().copy_from_slice(&given[..len * prim.size()]);
            if prim == Prim::Bool {
                copy.bytes_mut().iter_mut().for_each(|b| *b = (*b != 0) as u8);
            }
            return copy;
        }
        let block = pool::Block::foreign(given);
        Array { prim, len, buffer: Arc::new(Buffer::Bytes { block, holder: owner }) }
    }

    /// True if the elements are in memory that somebody else holds: they are never written.
    pub fn is_foreign(&self) -> bool {
        matches!(&*self.buffer, Buffer::Bytes { .. })
    }

    /// An array of which ranks have parts, for others than their executor.
    #[cfg(not(target_family = "wasm"))]
    pub(crate) fn in_parts(parts: crate::ranks::values::Parts) -> Array {
        let (prim, len) = (parts.array().prim(), parts.array().len());
        let block = pool::Block::foreign(parts.array().bytes());
        Array { prim, len, buffer: Arc::new(Buffer::Bytes { block, holder: Box::new(parts) }) }
    }

    /// True if this rank has only some of its elements.
    pub fn is_in_parts(&self) -> bool {
        #[cfg(not(target_family = "wasm"))]
        return self.held_by::<crate::ranks::values::Parts>().is_some();
        #[cfg(target_family = "wasm")]
        return false;
    }

    /// The first `len` elements of type `prim` in another memory, which must be such elements. They are copied when somebody looks at them.
    pub(crate) fn remote(prim: Prim, len: usize, remote: impl Remote) -> Array {
        assert!(len * prim.size() <= remote.size(), "elements");
        let buffer = Buffer::Remote { fetched: OnceLock::new(), remote: Box::new(remote) };
        Array { prim, len, buffer: Arc::new(buffer) }
    }

    /// Holder of the elements, in another memory or in this one, if it is a `T`.
    pub(crate) fn held_by<T: Any>(&self) -> Option<&T> {
        match &*self.buffer {
            Buffer::Remote { remote, .. } => (&**remote as &dyn Any).downcast_ref(),
            Buffer::Bytes { holder, .. } => holder.downcast_ref(),
            Buffer::Own(_) | Buffer::Part { .. } => None,
        }
    }

    /// True if the elements are in the memory of a device and nowhere else: nobody has looked at them yet.
    pub fn is_on_device(&self) -> bool {
        matches!(&*self.buffer, Buffer::Remote { fetched, .. } if fetched.get().is_none())
    }

    /// Elements of type `prim`, from scalars of that type.
    pub fn from_scalars(prim: Prim, xs: &[Scalar]) -> Array {
        let mut a = Array::zeros(prim, xs.len());
        for (i, x) in xs.iter().enumerate() {
            a.set(i, *x);
        }
        a
    }

    /// Element type.
    pub fn prim(&self) -> Prim {
        self.prim
    }

    /// Number of elements.
    pub fn len(&self) -> usize {
        self.len
    }

    /// No elements.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The elements; panics if `T` is not the element type.
    pub fn slice<T: Element>(&self) -> &[T] {
        assert_eq!(T::PRIM, self.prim, "element type");
        // SAFETY: the buffer holds `len` initialised elements of this type, aligned as they must be.
        unsafe { std::slice::from_raw_parts(self.buffer.ptr() as *const T, self.len) }
    }

    /// The elements for writing; copies first if the buffer is shared. Panics if `T` is not the element type.
    pub fn slice_mut<T: Element>(&mut self) -> &mut [T] {
        assert_eq!(T::PRIM, self.prim, "element type");
        self.make_unique();
        // SAFETY: as in `slice`, and the buffer is not shared.
        unsafe { std::slice::from_raw_parts_mut(self.buffer.ptr() as *mut T, self.len) }
    }

    /// The elements as unsigned numbers of their size; panics if `T` has another.
    pub fn words<T: Element>(&self) -> &[T] {
        assert!(T::PRIM.is_unsigned() && T::PRIM.size() == self.prim.size(), "element size");
        // SAFETY: as in `slice`; any bits are an unsigned number.
        unsafe { std::slice::from_raw_parts(self.buffer.ptr() as *const T, self.len) }
    }

    /// As [`Array::words`], for writing; copies first if the buffer is shared. Bools must stay 0 or 1.
    pub fn words_mut<T: Element>(&mut self) -> &mut [T] {
        assert!(T::PRIM.is_unsigned() && T::PRIM.size() == self.prim.size(), "element size");
        self.make_unique();
        // SAFETY: as in `words`, and the buffer is not shared.
        unsafe { std::slice::from_raw_parts_mut(self.buffer.ptr() as *mut T, self.len) }
    }

    /// The elements as bytes, little endian.
    pub fn bytes(&self) -> &[u8] {
        // SAFETY: `len` elements are initialised.
        unsafe { std::slice::from_raw_parts(self.buffer.ptr(), self.len * self.prim.size()) }
    }

    /// The bytes for writing; copies first if shared. Bools must stay 0 or 1.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        self.make_unique();
        // SAFETY: as in `bytes`, and the buffer is not shared.
        unsafe { std::slice::from_raw_parts_mut(self.buffer.ptr(), self.len * self.prim.size()) }
    }

    /// Element `i`.
    pub fn get(&self, i: usize) -> Scalar {
        let size = self.prim.size();
        let mut word = [0u8; 8];
        word[..size].copy_from_slice(&self.bytes()[i * size..(i + 1) * size]);
        Scalar::from_bits(self.prim, u64::from_le_bytes(word))
    }

    /// Sets element `i`, copying the buffer first if it is shared.
    pub fn set(&mut self, i: usize, x: Scalar) {
        assert_eq!(x.prim(), self.prim, "element type");
        let size = self.prim.size();
        let word = x.bits().to_le_bytes();
        self.bytes_mut()[i * size..(i + 1) * size].copy_from_slice(&word[..size]);
    }

    /// True if nobody else holds the buffer, so that an update may be done in place.
    pub fn is_unique(&mut self) -> bool {
        Arc::get_mut(&mut self.buffer)
            .is_some_and(|buffer| matches!(buffer, Buffer::Own(_) | Buffer::Part { .. }))
    }

    /// Number of arrays that share the buffer.
    #[cfg(feature = "cuda")]
    pub(crate) fn holders(&self) -> usize {
        Arc::strong_count(&self.buffer)
    }

    /// The same without a claim to it.
    pub(crate) fn is_held_once(&self) -> bool {
        Arc::strong_count(&self.buffer) == 1 && matches!(&*self.buffer, Buffer::Own(_) | Buffer::Part { .. })
    }

    /// Copies the buffer if it is shared.
    pub fn make_unique(&mut self) {
        if !self.is_unique() {
            let fresh = Buffer::new(self.len * self.prim.size(), false);
            // SAFETY: both buffers hold at least this many bytes and do not overlap.
            unsafe {
                copy(self.buffer.ptr(), fresh.ptr(), self.len * self.prim.size());
            }
            self.buffer = Arc::new(fresh);
        }
    }

    /// As [`Array::make_unique`], but fails if there is no memory for the copy.
    pub fn try_make_unique(&mut self) -> Result<(), OutOfMemory> {
        if !self.is_unique() {
            let mut copy = Array::try_uninit(self.prim, self.len)?;
            match &*self.buffer {
                // What nobody has looked at comes straight from the device.
                Buffer::Remote { fetched, remote }
                    if fetched.get().is_none() && remote.size() == copy.bytes().len() =>
                {
                    remote.copy_to(copy.bytes_mut());
                }
                _ => copy.copy_in(0, self),
            }
            *self = copy;
        }
        Ok(())
    }

    /// Makes the buffer unshared, with room for `room` elements. A buffer that is unshared already but too small
    /// grows to at least twice its length, so that appending costs what is appended, amortised.
    pub fn reserve(&mut self, room: usize) -> Result<(), OutOfMemory> {
        let unique = self.is_unique();
        let room = room.max(self.len);
        if unique && room <= self.capacity() {
            return Ok(());
        }
        let ample = if unique { room.max(2 * self.len) } else { room };
        let grown = Array::allocate(self.prim, self.len, ample, false);
        let mut grown = grown.or_else(|_| Array::allocate(self.prim, self.len, room, false))?;
        grown.copy_in(0, self);
        *self = grown;
        Ok(())
    }

    /// Appends the elements of `other`, of the same type; see [`Array::reserve`].
    pub fn append(&mut self, other: &Array) -> Result<(), OutOfMemory> {
        assert_eq!(self.prim, other.prim, "element type");
        let at = self.len;
        self.reserve(at + other.len)?;
        self.len = at + other.len;
        self.copy_in(at, other);
        Ok(())
    }

    /// Arrays one after the other. If nobody else holds the first, only the others are copied; if the others are
    /// empty, nothing is. Counts what that costs.
    pub fn concat(mut parts: Vec<Array>, prim: Prim, cost: &mut Counters) -> Result<Array, OutOfMemory> {
        if parts.iter().skip(1).all(Array::is_empty) {
            cost.launch(0, 0);
            return Ok(parts.into_iter().next().unwrap_or_else(|| Array::zeros(prim, 0)));
        }
        let in_place = parts[0].is_unique();
        let written = || parts[usize::from(in_place)..].iter();
        cost.launch(2 * written().map(Array::len).sum::<usize>(), written().map(|a| a.bytes().len()).sum());
        let total = parts.iter().map(Array::len).sum();
        let mut parts = parts.into_iter();
        let mut joined = parts.next().expect("there is one, or the others are empty");
        joined.reserve(total)?;
        parts.try_for_each(|a| joined.append(&a))?;
        Ok(joined)
    }

    /// Copies all of `other` to position `at`, where there is room; the buffer is not shared.
    fn copy_in(&mut self, at: usize, other: &Array) {
        let size = self.prim.size();
        assert!(at + other.len <= self.len, "room");
        // SAFETY: both ranges are inside their buffers, which differ since this one is not shared.
        unsafe {
            copy(other.as_ptr(), self.as_ptr().add(at * size), other.len * size);
        }
    }

    /// Address of the first element, for kernels. Writing through it is allowed only to the sole owner.
    pub fn as_ptr(&self) -> *mut u8 {
        self.buffer.ptr()
    }

    /// Shortens to the first `len` elements, keeping the buffer.
    pub fn truncate(&mut self, len: usize) {
        self.len = self.len.min(len);
    }

    /// A copy of `len` elements from `start`; panics if they are not inside.
    pub fn try_slice(&self, start: usize, len: usize) -> Result<Array, OutOfMemory> {
        assert!(start <= self.len && len <= self.len - start, "slice");
        let part = Array::try_uninit(self.prim, len)?;
        let size = self.prim.size();
        // SAFETY: the source range is inside; the copy is fresh and has this length.
        unsafe { copy(self.as_ptr().add(start * size), part.as_ptr(), len * size) };
        Ok(part)
    }

    /// Elements the buffer has room for.
    pub fn capacity(&self) -> usize {
        self.buffer.block().capacity / self.prim.size()
    }
}

impl std::fmt::Debug for Array {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries((0..self.len).map(|i| self.get(i).to_string())).finish()
    }
}

impl PartialEq for Array {
    /// Bitwise equality of type, length and elements.
    fn eq(&self, other: &Array) -> bool {
        self.prim == other.prim && self.len == other.len && self.bytes() == other.bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrays_that_are_too_large_end_their_reader() {
        let bytes = 1 << 60;
        let made = within_memory(|| (Array::zeros(Prim::I64, 3), Array::uninit(Prim::U8, bytes)));
        assert_eq!(made.unwrap_err(), OutOfMemory(bytes as u64));
        assert_eq!(within_memory(|| Array::zeros(Prim::I64, 3).len()), Ok(3));
        let limited = || pool::with_limit(Some(100), || within_memory(|| Array::from_slice(&[0u8; 200])));
        assert_eq!(limited().unwrap_err().to_string(), "no memory for 200 bytes");
    }

    #[test]
    fn what_is_not_for_lack_of_memory_goes_on() {
        let panicked = catch_unwind(|| within_memory(|| resume_unwind(Box::new("a bug"))));
        assert_eq!(panicked.unwrap_err().downcast_ref(), Some(&"a bug"));
    }
}
