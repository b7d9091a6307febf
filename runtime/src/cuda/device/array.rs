//! Arrays in the memory of a device, in counted buffers.

use super::driver::{Address, Gpu};
use super::run::broken;
use crate::array::{self, OutOfMemory, Remote};
use crate::check::RuntimeError;
use crate::exec::device::Held;
use crate::prim::Prim;
use std::any::Any;
use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};

/// Account of the memory and work of a run's arrays.
#[derive(Debug, Default)]
pub struct Account {
    live: AtomicUsize,
    limit: Option<usize>,
}

impl Account {
    /// With this limit.
    pub fn new(limit: Option<usize>) -> Account {
        Account { live: AtomicUsize::new(0), limit }
    }

    fn take(&self, bytes: usize) -> Result<(), OutOfMemory> {
        let before = self.live.fetch_add(bytes, Relaxed);
        if self.limit.is_some_and(|limit| before.saturating_add(bytes) > limit) {
            self.give(bytes);
            return Err(OutOfMemory(bytes as u64));
        }
        Ok(())
    }

    fn give(&self, bytes: usize) {
        self.live.fetch_sub(bytes, Relaxed);
    }
}

/// Origin of a buffer's bytes.
enum Origin {
    /// Kernels write them.
    Device,
    /// An array of the host's, from which they are copied when they are first needed.
    Host(array::Array),
    /// They are in memory of somebody else, who has it until this is dropped.
    Foreign { _owner: Box<dyn Any + Send + Sync> },
}

/// Memory of a device that is given back when nobody holds it.
pub struct Buffer {
    gpu: Arc<Gpu>,
    /// Account that the memory is charged to; the arguments of a run are nobody's.
    account: Option<Arc<Account>>,
    bytes: usize,
    address: OnceLock<Address>,
    origin: Origin,
}

impl Buffer {
    fn address(&self) -> Result<Address, OutOfMemory> {
        if let Some(address) = self.address.get() {
            return Ok(*address);
        }
        let address = self.gpu.allocate(self.bytes)?;
        if let Origin::Host(host) = &self.origin {
            // What goes wrong here goes wrong again, and is reported, when the result is waited for.
            let _ = self.gpu.upload(address, host.bytes());
        }
        Ok(*self.address.get_or_init(|| address))
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        match (&self.origin, self.address.get()) {
            // The owner may use the memory for something else as soon as it has it back.
            (Origin::Foreign { .. }, _) => _ = self.gpu.enter().and_then(|()| self.gpu.wait()),
            (_, Some(address)) => self.gpu.free(*address, self.bytes),
            (_, None) => {}
        }
        if let Some(account) = &self.account {
            account.give(self.bytes);
        }
    }
}

/// A flat array on a device. Cloning shares it.
#[derive(Clone)]
pub struct Array {
    prim: Prim,
    len: usize,
    buffer: Arc<Buffer>,
}

impl fmt::Debug for Array {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "[{}]{} on a GPU", self.len, self.prim)
    }
}

impl Held for Array {
    fn prim(&self) -> Prim {
        self.prim
    }

    fn len(&self) -> usize {
        self.len
    }

    fn is_unique(&mut self) -> bool {
        // The host's copy is not to be changed, nor to be taken for what is on the device later; nor is what others have.
        Arc::get_mut(&mut self.buffer).is_some_and(|b| matches!(b.origin, Origin::Device))
    }
}

impl Array {
    /// An array with unspecified elements.
    pub fn fresh(
        gpu: &Arc<Gpu>,
        account: &Arc<Account>,
        prim: Prim,
        len: usize,
    ) -> Result<Array, OutOfMemory> {
        let too_much = OutOfMemory((len as u64).saturating_mul(prim.size() as u64));
        let bytes = len.checked_mul(prim.size()).filter(|n| *n <= isize::MAX as usize).ok_or(too_much)?;
        account.take(bytes)?;
        let (gpu, account) = (gpu.clone(), Some(account.clone()));
        let buffer = Buffer { gpu, account, bytes, address: OnceLock::new(), origin: Origin::Device };
        buffer.address()?;
        Ok(Array { prim, len, buffer: Arc::new(buffer) })
    }

    /// An array of the host's; what stayed on this device is there.
    pub fn of_host(gpu: &Arc<Gpu>, host: array::Array) -> Array {
        if let Some(Kept(there)) = host.held_by()
            && there.is_on(gpu)
            && host.prim() == there.prim
        {
            return there.clone().with_len(host.len());
        }
        let (prim, len, bytes) = (host.prim(), host.len(), host.bytes().len());
        let (gpu, origin) = (gpu.clone(), Origin::Host(host));
        let buffer = Buffer { gpu, account: None, bytes, address: OnceLock::new(), origin };
        Array { prim, len, buffer: Arc::new(buffer) }
    }

    /// Elements that somebody else has, at this address of the device's memory.
    pub(super) fn foreign(
        gpu: &Arc<Gpu>,
        (prim, len): (Prim, usize),
        at: Address,
        owner: Box<dyn Any + Send + Sync>,
    ) -> Array {
        let (gpu, bytes, address) = (gpu.clone(), len * prim.size(), OnceLock::from(at));
        let buffer = Buffer { gpu, account: None, bytes, address, origin: Origin::Foreign { _owner: owner } };
        Array { prim, len, buffer: Arc::new(buffer) }
    }

    /// The array on a device that an array of the host's stands for.
    pub(super) fn behind(host: &array::Array) -> Option<&Array> {
        host.held_by().map(|Kept(there)| there)
    }

    /// The same elements in memory of their own.
    pub(super) fn copied(&self) -> Result<Array, RuntimeError> {
        let gpu = &self.buffer.gpu;
        let copy = Array::fresh(gpu, &Arc::new(Account::default()), self.prim, self.len).map_err(no_room)?;
        let (to, from) = (copy.address().map_err(no_room)?, self.address().map_err(no_room)?);
        gpu.copy(to, from, self.len * self.prim.size()).map_err(broken)?;
        Ok(copy)
    }

    /// True if its memory is somebody else's.
    pub(super) fn is_foreign(&self) -> bool {
        matches!(self.buffer.origin, Origin::Foreign { .. })
    }

    /// True if nobody else holds its memory, and nobody else owns it.
    pub(super) fn is_alone(&self) -> bool {
        Arc::strong_count(&self.buffer) == 1 && matches!(self.buffer.origin, Origin::Device)
    }

    /// The device.
    pub(super) fn gpu(&self) -> &Arc<Gpu> {
        &self.buffer.gpu
    }

    /// A copy of an array of the host's, which needs the host's no more, or of somebody else's; what stayed on this device is there.
    pub fn uploaded(gpu: &Arc<Gpu>, host: array::Array) -> Result<Array, RuntimeError> {
        let there = Array::of_host(gpu, host);
        let host = match &there.buffer.origin {
            Origin::Device => return Ok(there),
            Origin::Foreign { .. } => return there.copied(),
            Origin::Host(host) => host,
        };
        let copy =
            Array::fresh(gpu, &Arc::new(Account::default()), there.prim, there.len).map_err(no_room)?;
        gpu.upload(copy.address().map_err(no_room)?, host.bytes()).map_err(broken)?;
        Ok(copy)
    }

    /// As an array of the host's that is copied when somebody looks at it.
    pub fn kept(self) -> array::Array {
        array::Array::remote(self.prim, self.len, Kept(self))
    }

    /// True if it is on this device.
    pub fn is_on(&self, gpu: &Arc<Gpu>) -> bool {
        Arc::ptr_eq(&self.buffer.gpu, gpu)
    }

    /// Address of its elements.
    pub fn address(&self) -> Result<Address, OutOfMemory> {
        self.buffer.address()
    }

    /// Address of element `i`.
    pub fn element(&self, i: usize) -> Result<Address, OutOfMemory> {
        Ok(self.address()? + (i * self.prim.size()) as u64)
    }

    /// The host's array that it was made from, while nothing has changed it.
    pub fn host(&self) -> Option<&array::Array> {
        if let Origin::Host(host) = &self.buffer.origin { Some(host) } else { None }
    }

    /// Elements that the buffer has room for.
    pub fn capacity(&self) -> usize {
        self.buffer.bytes / self.prim.size()
    }

    /// The same buffer, of which the first `len` elements count.
    pub fn with_len(mut self, len: usize) -> Array {
        debug_assert!(len <= self.capacity());
        self.len = len;
        self
    }
}

/// The error for an argument that the device has no memory for.
pub fn no_room(e: OutOfMemory) -> RuntimeError {
    RuntimeError::plain(format!("the GPU has no memory for an argument of {} bytes", e.0))
}

/// An array that the host holds and has not copied.
struct Kept(Array);

impl Remote for Kept {
    fn size(&self) -> usize {
        self.0.size()
    }

    fn copy_to(&self, bytes: &mut [u8]) {
        let gpu = &self.0.buffer.gpu;
        let at = self.0.address().expect("it has been computed");
        let copied = gpu.enter().and_then(|()| gpu.download(bytes, at)).and_then(|()| gpu.wait());
        copied.unwrap_or_else(|e| panic!("a result cannot be copied from the GPU any more: {e}"));
    }
}
