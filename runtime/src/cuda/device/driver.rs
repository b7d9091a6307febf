//! A GPU: its context, its stream and its memory, by way of `cudarc`.
//!
//! `cudarc` panics where the driver's library is missing, so that [`Gpu::open`] looks for it first.

use super::replay::{Order, Record, Replay};
use super::spare::Spare;
use super::staging::{LARGE, Staging};
use super::stream::{Graph, Stream};
use super::watch::{Guard, Watch};
use crate::array::OutOfMemory;
use crate::cancel::CancelToken;
use crate::unavailable::Unavailable;
use cudarc::driver::result::{self, DriverError, device, event, mem_pool, module, primary_ctx};
use cudarc::driver::sys;
use std::collections::BTreeMap;
use std::ffi::{CString, c_void};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, Weak};
use std::time::Instant;

/// An address on the device.
pub type Address = u64;

impl Unavailable {
    /// A call of the driver that failed.
    pub fn of(what: &str, e: DriverError) -> Unavailable {
        Unavailable(format!("CUDA: {what}: {}", explain(e)))
    }
}

/// The driver's own words for an error.
fn explain(e: DriverError) -> String {
    let text = e.error_string().map(|s| s.to_string_lossy().into_owned());
    text.unwrap_or_else(|_| format!("error {}", e.0 as i32))
}

/// Orders to a device, and memory it does not use.
#[derive(Default)]
struct Work {
    replay: Replay<Graph>,
    spare: Spare,
}

/// The primary context of a device, which goes when the last one of these does.
struct Primary {
    device: sys::CUdevice,
    context: sys::CUcontext,
}

impl Drop for Primary {
    fn drop(&mut self) {
        // SAFETY: it was retained, and is not used after this.
        let _ = unsafe { primary_ctx::release(self.device) };
    }
}

/// A device that is ready.
pub struct Gpu {
    stream: Stream,
    staging: Staging,
    work: Mutex<Work>,
    watch: Watch,
    pool: sys::CUmemoryPool,
    /// Its number.
    pub number: usize,
    /// Its name.
    pub name: String,
    /// Its architecture as NVRTC calls it: `sm_90`.
    pub architecture: String,
    /// Fields are dropped in order, and those before this one need it.
    primary: Primary,
}

// SAFETY: the handles are the driver's, which may be used from every thread that has made the context current.
unsafe impl Send for Gpu {}
// SAFETY: as above; the driver orders the calls of several threads.
unsafe impl Sync for Gpu {}

impl fmt::Debug for Gpu {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.name, self.architecture)
    }
}

/// The oldest driver interface that is used.
const OLDEST: i32 = 12_000;

/// Number of devices; an error if there is no driver that can be used.
fn probe() -> Result<usize, Unavailable> {
    // SAFETY: only loads the library.
    if !unsafe { sys::is_culib_present() } {
        return Err(Unavailable(
            "no CUDA driver: libcuda.so was not found; install NVIDIA's driver, or use --backend cpu".into(),
        ));
    }
    let mut version = 0;
    // SAFETY: the library is there, and the address is that of an integer.
    let known = unsafe { sys::cuDriverGetVersion(&mut version) }.result();
    known.map_err(|e| Unavailable::of("asking for the driver's version", e))?;
    if version < OLDEST {
        let (major, minor) = (version / 1000, version % 1000 / 10);
        return Err(Unavailable(format!(
            "the CUDA driver is too old: it is for CUDA {major}.{minor}, and 12.0 is needed"
        )));
    }
    let none = |e| Unavailable(format!("no CUDA device: {}; use --backend cpu", explain(e)));
    result::init().map_err(none)?;
    let count = device::get_count().map_err(none)?;
    Ok(usize::try_from(count).unwrap_or(0))
}

/// Devices that somebody has, by their numbers.
static OPEN: Mutex<BTreeMap<usize, Weak<Gpu>>> = Mutex::new(BTreeMap::new());

impl Gpu {
    /// The device of that number. All who have it share it, so that what one program leaves there is there for another one.
    pub fn open(number: usize) -> Result<Arc<Gpu>, Unavailable> {
        let mut open = OPEN.lock().unwrap_or_else(|e| e.into_inner());
        if let Some(gpu) = open.get(&number).and_then(Weak::upgrade) {
            return Ok(gpu);
        }
        let count = probe()?;
        if count == 0 {
            return Err(Unavailable("no CUDA device: the driver finds none; use --backend cpu".into()));
        }
        if number >= count {
            let known =
                if count == 1 { "there is only device 0".into() } else { format!("there are {count}") };
            return Err(Unavailable(format!("no CUDA device {number}: {known}")));
        }
        let gpu = Gpu::prepare(number).map_err(|e| Unavailable::of("opening the device", e))?;
        let gpu = Arc::new(gpu);
        open.insert(number, Arc::downgrade(&gpu));
        Ok(gpu)
    }

    fn prepare(number: usize) -> Result<Gpu, DriverError> {
        use sys::CUdevice_attribute::{
            CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR as MAJOR,
            CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR as MINOR,
        };
        let device = device::get(number as i32)?;
        // SAFETY: the device exists; the context is current from here on, and the stream is made in it.
        unsafe {
            let (major, minor) =
                (device::get_attribute(device, MAJOR)?, device::get_attribute(device, MINOR)?);
            let context = primary_ctx::retain(device)?;
            let primary = Primary { device, context };
            result::ctx::set_current(context)?;
            let stream = Stream::create()?;
            let pool = device::get_default_mem_pool(device)?;
            // Memory that was given back stays in the pool, until there is no other.
            let mut most = u64::MAX;
            let threshold = sys::CUmemPool_attribute::CU_MEMPOOL_ATTR_RELEASE_THRESHOLD;
            mem_pool::set_attribute(pool, threshold, (&raw mut most).cast())?;
            let name = device::get_name(device)?;
            let (architecture, work) = (format!("sm_{major}{minor}"), Mutex::default());
            let watch = Watch::new(context)?;
            let staging = Staging::new(context);
            Ok(Gpu { stream, staging, work, watch, pool, number, name, architecture, primary })
        }
    }

    /// Makes the device that of this thread.
    pub fn enter(&self) -> Result<(), DriverError> {
        // SAFETY: the context lives as long as this value.
        unsafe { result::ctx::set_current(self.primary.context) }
    }

    /// The driver's handle of the stream that does all its work: what others put there before is done before.
    pub fn stream(&self) -> usize {
        self.stream.raw() as usize
    }

    fn work(&self) -> MutexGuard<'_, Work> {
        self.work.lock().unwrap_or_else(|e| e.into_inner())
    }

    /// Memory. If there is none, what is spare and what the pool keeps is given back first.
    pub fn allocate(&self, bytes: usize) -> Result<Address, OutOfMemory> {
        let wanted = bytes.max(16);
        let spare = self.work().spare.take(wanted);
        if let Some(found) = spare {
            // What a program forgets to write shows in tests.
            if cfg!(debug_assertions) {
                let _ = self.set(found, 0xcd, wanted);
            }
            return Ok(found);
        }
        let trim = |_| {
            self.give_back_spare()?;
            self.wait()?;
            // SAFETY: the pool is this device's.
            unsafe { mem_pool::trim_to(self.pool, 0)? };
            self.stream.allocate(wanted)
        };
        let found = self.stream.allocate(wanted).or_else(trim);
        found.map_err(|_: DriverError| OutOfMemory(bytes as u64))
    }

    /// Gives memory of so many bytes back, once what was asked for before is done.
    pub fn free(&self, address: Address, bytes: usize) {
        // A thread that never ran anything may drop an array. There is nobody to tell of a failure.
        let _ = self.enter().and_then(|()| self.give_back(address, bytes.max(16)));
    }

    fn give_back(&self, address: Address, bytes: usize) -> Result<(), DriverError> {
        let mut work = self.work();
        if !work.spare.keep(address, bytes) {
            work.replay.flush(&self.stream)?;
            // SAFETY: the address came from `allocate` and is not used by anything that is asked for later.
            return unsafe { self.stream.free(address) };
        }
        let full = work.spare.is_full();
        drop(work);
        if full { self.give_back_spare() } else { Ok(()) }
    }

    fn give_back_spare(&self) -> Result<(), DriverError> {
        let mut work = self.work();
        work.replay.flush(&self.stream)?;
        // Graphs name memory that is gone now.
        work.replay.clear(&self.stream);
        // SAFETY: the addresses came from `allocate`, and nobody has them any more.
        work.spare.drain().into_iter().try_for_each(|a| unsafe { self.stream.free(a) })
    }

    /// Sets bytes.
    pub fn set(&self, at: Address, byte: u8, bytes: usize) -> Result<(), DriverError> {
        if bytes == 0 { Ok(()) } else { self.give(Order::Set { at, byte, bytes }) }
    }

    fn give(&self, order: Order) -> Result<(), DriverError> {
        self.work().replay.give(&self.stream, order)
    }

    /// Ends a segment: later orders do not follow from earlier ones.
    fn flush(&self) -> Result<(), DriverError> {
        self.work().replay.flush(&self.stream)
    }

    /// An iteration of a loop ends: the next one may ask for the same.
    pub fn end_iteration(&self) -> Result<(), DriverError> {
        self.work().replay.end_iteration(&self.stream)
    }

    /// Copies to the device; the source may change as soon as this returns.
    pub fn upload(&self, to: Address, from: &[u8]) -> Result<(), DriverError> {
        if from.len() < LARGE {
            return self.upload_plainly(to, from);
        }
        self.flush()?;
        let staged = self.staging.upload(&self.stream, to, from);
        staged.unwrap_or_else(|| self.upload_plainly(to, from))
    }

    /// The same by the driver itself.
    pub fn upload_plainly(&self, to: Address, from: &[u8]) -> Result<(), DriverError> {
        if from.is_empty() {
            return Ok(());
        }
        self.flush()?;
        // SAFETY: the callers pass memory of this many bytes. Ordinary memory is copied before the call returns.
        unsafe { result::memcpy_htod_async(to, from, self.stream.raw()) }
    }

    /// Copies from the device, when [`Gpu::wait`] has returned.
    pub fn download(&self, to: &mut [u8], from: Address) -> Result<(), DriverError> {
        if to.len() < LARGE {
            return self.download_plainly(to, from);
        }
        self.work().replay.end(&self.stream)?;
        let staged = self.staging.download(&self.stream, to, from);
        staged.unwrap_or_else(|| self.download_plainly(to, from))
    }

    /// The same by the driver itself.
    pub fn download_plainly(&self, to: &mut [u8], from: Address) -> Result<(), DriverError> {
        if to.is_empty() {
            return Ok(());
        }
        self.work().replay.end(&self.stream)?;
        // SAFETY: as above; the callers wait before they release `to`.
        unsafe { result::memcpy_dtoh_async(to, from, self.stream.raw()) }
    }

    /// Copies on the device.
    pub fn copy(&self, to: Address, from: Address, bytes: usize) -> Result<(), DriverError> {
        if bytes == 0 { Ok(()) } else { self.give(Order::Copy { to, from, bytes }) }
    }

    /// While the guard lives, kernels stop if the token is used: the first word of the record becomes 0.
    pub fn watch(&self, token: &CancelToken, record: Address) -> Guard {
        self.watch.watch(token.clone(), record)
    }

    /// Waits until all that was asked for is done.
    pub fn wait(&self) -> Result<(), DriverError> {
        self.work().replay.end(&self.stream)?;
        self.stream.wait()
    }

    /// Starts a function whose argument is one struct of these words, on blocks of so many threads with so many bytes of shared
    /// memory. What has a `record` says there that it failed.
    pub fn launch(
        &self,
        function: Function,
        blocks: u32,
        (threads, shared): (u32, u32),
        words: &[u64],
        record: Option<Record>,
    ) -> Result<(), DriverError> {
        self.give(Order::Launch { function, blocks, threads, shared, words: words.into(), record })
    }

    /// Starts a function whose arguments are at most eight bytes each, in words.
    ///
    /// # Safety
    ///
    /// The arguments are what the function takes, and what they point to stays until it has ended.
    pub unsafe fn launch_with(
        &self,
        function: Function,
        shape: super::Launch,
        words: &[u64],
    ) -> Result<(), DriverError> {
        let mut arguments: Vec<*mut c_void> =
            words.iter().map(|w| std::ptr::from_ref(w).cast_mut().cast()).collect();
        let (grid, block) = ((shape.grid.0, shape.grid.1, 1), (shape.block.0, shape.block.1, 1));
        self.flush()?;
        // SAFETY: as above; the driver reads as many bytes of each word as the argument has.
        unsafe {
            result::launch_kernel(function.0, grid, block, shape.shared, self.stream.raw(), &mut arguments)
        }
    }

    /// Notes when all that was asked for before is done.
    pub fn mark(&self) -> Result<Mark, DriverError> {
        self.flush()?;
        let mark = Mark(event::create(sys::CUevent_flags::CU_EVENT_DEFAULT)?);
        // SAFETY: the stream is this device's.
        unsafe { event::record(mark.0, self.stream.raw())? };
        Ok(mark)
    }

    /// Loads machine code.
    pub fn load(&self, image: &[u8]) -> Result<Module, DriverError> {
        // SAFETY: the image is a whole one, from the compiler or the cache.
        let module = unsafe { module::load_data(image.as_ptr().cast()) }?;
        Ok(Module(module))
    }

    /// Unloads machine code, once all that was asked for is done. Nobody asks for its functions any more.
    pub fn unload(&self, modules: Vec<Module>) {
        // There is nobody to tell of a failure.
        let _ = self.enter().and_then(|()| {
            let mut work = self.work();
            // Graphs name functions. Orders of other threads are given before, all under one lock.
            work.replay.flush(&self.stream)?;
            work.replay.clear(&self.stream);
            drop(work);
            self.stream.wait()?;
            // SAFETY: what used the modules is done, and each is unloaded once.
            modules.iter().try_for_each(|m| unsafe { module::unload(m.0) })
        });
    }

    /// Bytes of stack that every thread has, after asking for `bytes`; less if the device refuses.
    pub fn stack(&self, bytes: usize) -> usize {
        let limit = sys::CUlimit::CU_LIMIT_STACK_SIZE;
        let mut asked = bytes;
        while asked >= 4096 && result::ctx::set_limit(limit, asked).is_err() {
            asked /= 2;
        }
        result::ctx::get_limit(limit).unwrap_or(1024)
    }

    /// Bytes read and written per second by a copy on the device; the best of a few.
    pub fn copy_rate(&self) -> Result<f64, Unavailable> {
        /// More than caches hold, and what small devices have.
        const BYTES: usize = 256 << 20;
        let failed = |e| Unavailable::of("measuring a copy", e);
        let none = |_| Unavailable("CUDA: no memory for measuring a copy".into());
        let [from, to] = [self.allocate(BYTES).map_err(none)?, self.allocate(BYTES).map_err(none)?];
        let mut best = f64::INFINITY;
        for _ in 0..8 {
            self.wait().map_err(failed)?;
            let start = Instant::now();
            self.copy(to, from, BYTES).and_then(|()| self.wait()).map_err(failed)?;
            best = best.min(start.elapsed().as_secs_f64());
        }
        self.free(from, BYTES);
        self.free(to, BYTES);
        Ok(2.0 * BYTES as f64 / best)
    }
}

impl Drop for Gpu {
    fn drop(&mut self) {
        // SAFETY: both were made by `prepare`, and whoever has memory or a module holds this value.
        unsafe {
            let _ = self.enter().and_then(|()| self.give_back_spare()).and_then(|()| self.stream.wait());
            self.staging.release();
            let _ = self.stream.destroy();
        }
    }
}

/// A moment in the order of what a device does.
pub struct Mark(sys::CUevent);

impl Mark {
    /// Seconds since an earlier one; waits until this one is there.
    pub fn since(&self, earlier: &Mark) -> Result<f64, DriverError> {
        // SAFETY: both are recorded.
        unsafe {
            event::synchronize(self.0)?;
            Ok(f64::from(event::elapsed(earlier.0, self.0)?) / 1e3)
        }
    }
}

impl Drop for Mark {
    fn drop(&mut self) {
        // SAFETY: it is dropped once.
        let _ = unsafe { event::destroy(self.0) };
    }
}

/// Machine code on a device, until [`Gpu::unload`].
pub struct Module(sys::CUmodule);

/// A function of a module.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Function(pub(super) sys::CUfunction);

// SAFETY: handles, see `Gpu`.
unsafe impl Send for Module {}
// SAFETY: as above.
unsafe impl Sync for Module {}
// SAFETY: as above.
unsafe impl Send for Function {}
// SAFETY: as above.
unsafe impl Sync for Function {}

#[cfg(test)]
impl Function {
    /// None, for tests.
    pub fn null() -> Function {
        Function(std::ptr::null_mut())
    }
}

impl Module {
    /// The function of that name.
    pub fn function(&self, name: &str) -> Result<Function, DriverError> {
        let name = CString::new(name).unwrap_or_default();
        // SAFETY: the module is loaded.
        unsafe { module::get_function(self.0, name) }.map(Function)
    }
}
