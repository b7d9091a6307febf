//! Pinned buffers of the host, by way of which large arrays go to a device and come back.
//!
//! The driver copies ordinary memory with one thread, far slower than the bus. Pinned memory the device reads and writes by itself: a few threads
//! copy chunks to such buffers (or from them) while other chunks are on their way. Each buffer has an event, which says when the device is done
//! with it.

use super::driver::Address;
use super::stream::Stream;
use crate::exec::threads;
use cudarc::driver::result::{self, DriverError, ctx, event};
use cudarc::driver::sys;
use std::collections::VecDeque;
use std::ffi::c_void;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Bytes from which a transfer takes this way. For less, starting threads takes longer than the driver's own copy: on an H200 with PCIe 5, 1 MiB
/// took 99 µs instead of 77, 16 MiB 0.78 ms instead of 0.94 (431 µs instead of 1.14 ms from the device), 1 GiB 21 ms instead of 112.
pub const LARGE: usize = 2 << 20;
/// Bytes of a buffer: the bus carries so much in 40 µs, in which the few µs that starting a transfer takes do not count.
const BUFFER: usize = 2 << 20;
/// Bytes of the smallest chunk: transfers that are not much larger than [`LARGE`] are work for several threads.
const SMALLEST: usize = 128 << 10;
/// Threads that copy. One copies 5 to 10 GB/s, PCIe 5 carries about 50.
const COPIERS: usize = 8;
/// Most buffers: while a thread copies to one, another one is on its way. Together they pin 32 MiB.
const BUFFERS: usize = 2 * COPIERS;

/// The buffers that there are so far.
pub struct Staging {
    context: sys::CUcontext,
    /// A transfer has all of them. The one that was used longest ago comes first.
    buffers: Mutex<VecDeque<Pinned>>,
}

// SAFETY: the context is a handle that every thread may use; the buffers are behind a lock.
unsafe impl Sync for Staging {}

/// Pinned memory, [`BUFFER`] bytes of it.
struct Pinned {
    at: *mut c_void,
    /// Recorded after the last transfer that it was used in.
    done: sys::CUevent,
}

// SAFETY: the memory and the event are this value's own, and the driver may be called from every thread.
unsafe impl Send for Pinned {}

impl Pinned {
    /// In the current context.
    fn new() -> Result<Pinned, DriverError> {
        // SAFETY: the memory is freed by `release`.
        let at = unsafe { result::malloc_host(BUFFER, 0) }?;
        let done = event::create(sys::CUevent_flags::CU_EVENT_DISABLE_TIMING);
        if done.is_err() {
            // SAFETY: it was just allocated, and is not used.
            let _ = unsafe { result::free_host(at) };
        }
        Ok(Pinned { at, done: done? })
    }

    /// Waits until the device is done with it.
    fn wait(&self) -> Result<(), DriverError> {
        // SAFETY: the event exists. One that was never recorded is done.
        unsafe { event::synchronize(self.done) }
    }

    /// Its first bytes, once the device is done with it.
    fn bytes(&mut self, n: usize) -> &mut [u8] {
        assert!(n <= BUFFER, "more than a buffer has");
        // SAFETY: it has that many bytes, of which any are valid, and is borrowed as long as the slice lives.
        unsafe { std::slice::from_raw_parts_mut(self.at.cast(), n) }
    }

    fn send(&mut self, stream: &Stream, to: Address, bytes: &[u8]) -> Result<(), DriverError> {
        self.wait()?;
        let staged = self.bytes(bytes.len());
        staged.copy_from_slice(bytes);
        // SAFETY: nobody touches the buffer before its event; the caller of `Staging::upload` has the memory of the device.
        unsafe {
            result::memcpy_htod_async(to, staged, stream.raw())?;
            event::record(self.done, stream.raw())
        }
    }

    fn ask(&mut self, stream: &Stream, from: Address, n: usize) -> Result<(), DriverError> {
        self.wait()?;
        // SAFETY: as for `send`.
        unsafe {
            result::memcpy_dtoh_async(self.bytes(n), from, stream.raw())?;
            event::record(self.done, stream.raw())
        }
    }

    /// Gives the memory back.
    ///
    /// # Safety
    ///
    /// The device is done with it.
    unsafe fn release(self) {
        // There is nobody to tell of a failure.
        // SAFETY: as above.
        let _ = unsafe { event::destroy(self.done).and(result::free_host(self.at)) };
    }
}

/// Bytes of a chunk of so many, but for the last one: all threads get some, in whole pages.
fn chunk(bytes: usize) -> usize {
    const PAGE: usize = 4096;
    (bytes / BUFFERS).clamp(SMALLEST, BUFFER).next_multiple_of(PAGE)
}

/// The outcome of a transfer. After one that failed, buffers may be in use without their events saying so: then it waits for all.
fn settled(stream: &Stream, done: Result<(), DriverError>) -> Result<(), DriverError> {
    done.inspect_err(|_| _ = stream.wait())
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Staging {
    /// For the device with this context.
    pub fn new(context: sys::CUcontext) -> Staging {
        Staging { context, buffers: Mutex::default() }
    }

    /// Copies to the device; the source may change as soon as this returns. None if there is no pinned memory: then nothing was done.
    pub fn upload(&self, stream: &Stream, to: Address, from: &[u8]) -> Option<Result<(), DriverError>> {
        let size = chunk(from.len());
        let chunks: Vec<&[u8]> = from.chunks(size).collect();
        let mut buffers = self.buffers(chunks.len())?;
        let most = buffers.len();
        let free = Mutex::new(&mut *buffers);
        let sent = self.each(chunks.len(), most, |i| {
            let Some(mut buffer) = locked(&free).pop_front() else { return Ok(()) };
            let sent = buffer.send(stream, to + (i * size) as u64, chunks[i]);
            locked(&free).push_back(buffer);
            sent
        });
        Some(settled(stream, sent))
    }

    /// Copies from the device; all is there when this returns. None as for [`Staging::upload`].
    pub fn download(&self, stream: &Stream, to: &mut [u8], from: Address) -> Option<Result<(), DriverError>> {
        let size = chunk(to.len());
        let chunks: Vec<Mutex<&mut [u8]>> = to.chunks_mut(size).map(Mutex::new).collect();
        let mut buffers = self.buffers(chunks.len())?;
        let (n, most) = (chunks.len(), buffers.len());
        let asked = Mutex::new(Asked { free: &mut buffers, asked: VecDeque::new(), next: 0 });
        let download = Download { stream, from, size, chunks, asked };
        let begun = (0..n.min(most)).try_for_each(|_| download.ask());
        let done = begun.and_then(|()| self.each(n, most, |_| download.finish_one()));
        let rest = download.asked.into_inner().unwrap_or_else(PoisonError::into_inner);
        rest.free.extend(rest.asked.into_iter().map(|(_, buffer)| buffer));
        Some(settled(stream, done))
    }

    /// All buffers, of which there are enough for so many chunks, if there is memory for that; at least one.
    fn buffers(&self, chunks: usize) -> Option<MutexGuard<'_, VecDeque<Pinned>>> {
        let mut buffers = locked(&self.buffers);
        while buffers.len() < chunks.min(BUFFERS)
            && let Ok(buffer) = Pinned::new()
        {
            buffers.push_front(buffer);
        }
        (!buffers.is_empty()).then_some(buffers)
    }

    /// Does some work for each chunk, by at most so many threads. Fails as the first that failed, after which nothing more is begun.
    fn each(
        &self,
        chunks: usize,
        most: usize,
        work: impl Fn(usize) -> Result<(), DriverError> + Sync,
    ) -> Result<(), DriverError> {
        let failed = Mutex::new(None);
        threads::run(threads::count(0).min(COPIERS).min(most), chunks, |i| {
            if locked(&failed).is_some() {
                return;
            }
            // SAFETY: the context lives as long as the device.
            let done = unsafe { ctx::set_current(self.context) }.and_then(|()| work(i));
            if let Err(e) = done {
                locked(&failed).get_or_insert(e);
            }
        });
        failed.into_inner().unwrap_or_else(PoisonError::into_inner).map_or(Ok(()), Err)
    }

    /// Gives the pinned memory back.
    ///
    /// # Safety
    ///
    /// The device is done with all that was asked for.
    pub unsafe fn release(&self) {
        // SAFETY: as above.
        locked(&self.buffers).drain(..).for_each(|buffer| unsafe { buffer.release() });
    }
}

/// A transfer from the device.
struct Download<'a> {
    stream: &'a Stream,
    from: Address,
    /// Bytes of a chunk.
    size: usize,
    /// Places of the chunks.
    chunks: Vec<Mutex<&'a mut [u8]>>,
    asked: Mutex<Asked<'a>>,
}

/// Chunks that the device was asked for.
struct Asked<'a> {
    free: &'a mut VecDeque<Pinned>,
    /// In order, with the buffers that they come to. As many as wait for a chunk are there, since each who takes one asks for another one.
    asked: VecDeque<(usize, Pinned)>,
    /// The first one that was not asked for.
    next: usize,
}

impl Download<'_> {
    /// Asks for the next chunk, if there is one and a free buffer for it.
    fn ask(&self) -> Result<(), DriverError> {
        // Locked until the chunk is among those that were asked for: there must be one for everybody who begins with one.
        let state = &mut *locked(&self.asked);
        let i = state.next;
        let Some(chunk) = self.chunks.get(i) else { return Ok(()) };
        let Some(mut buffer) = state.free.pop_front() else { return Ok(()) };
        let asked = buffer.ask(self.stream, self.from + (i * self.size) as u64, locked(chunk).len());
        state.next += 1;
        state.asked.push_back((i, buffer));
        asked
    }

    /// Copies a chunk that was asked for from its buffer, and asks for another one.
    fn finish_one(&self) -> Result<(), DriverError> {
        let Some((i, mut buffer)) = locked(&self.asked).asked.pop_front() else { return Ok(()) };
        let here = buffer.wait();
        if here.is_ok() {
            let mut chunk = locked(&self.chunks[i]);
            let n = chunk.len();
            chunk.copy_from_slice(buffer.bytes(n));
        }
        locked(&self.asked).free.push_back(buffer);
        here.and_then(|()| self.ask())
    }
}
