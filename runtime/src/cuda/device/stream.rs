//! The stream of a device: everything it does, in one order.

use super::driver::Address;
use super::replay::{self, Order};
use cudarc::driver::result::{self, DriverError, graph, stream};
use cudarc::driver::sys;
use std::ffi::c_void;

/// A stream.
pub struct Stream {
    raw: sys::CUstream,
    /// Another one, on which graphs are made: what other threads ask for meanwhile does not become a part of them.
    maker: sys::CUstream,
}

// SAFETY: handles of the driver's, which orders the calls of several threads.
unsafe impl Sync for Stream {}

/// Orders of a stream that are run at once.
pub struct Graph(sys::CUgraphExec);

// SAFETY: a handle of the driver's, which may be used from every thread.
unsafe impl Send for Graph {}

impl Stream {
    /// A new one, in the current context.
    pub fn create() -> Result<Stream, DriverError> {
        let create = || stream::create(stream::StreamKind::NonBlocking);
        Ok(Stream { raw: create()?, maker: create()? })
    }

    /// The driver's handle.
    pub fn raw(&self) -> sys::CUstream {
        self.raw
    }

    /// Waits until all that was asked for is done.
    pub fn wait(&self) -> Result<(), DriverError> {
        // SAFETY: the stream exists.
        unsafe { stream::synchronize(self.raw) }
    }

    /// Memory that can be used from here on in the order of the stream.
    pub fn allocate(&self, bytes: usize) -> Result<Address, DriverError> {
        // SAFETY: the stream exists.
        unsafe { result::malloc_async(self.raw, bytes) }
    }

    /// Gives memory back that came from [`Stream::allocate`], when all that was asked for before is done.
    ///
    /// # Safety
    ///
    /// The memory is not used by anything that is asked for later.
    pub unsafe fn free(&self, address: Address) -> Result<(), DriverError> {
        // SAFETY: as above.
        unsafe { result::free_async(address, self.raw) }
    }

    /// Releases it.
    ///
    /// # Safety
    ///
    /// The graph is not used any more.
    pub unsafe fn destroy(&self) -> Result<(), DriverError> {
        // SAFETY: as above.
        unsafe { stream::destroy(self.maker).and(stream::destroy(self.raw)) }
    }

    fn captured(&self, orders: &[Order]) -> Result<sys::CUgraph, DriverError> {
        let mode = sys::CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL;
        // SAFETY: the stream exists, and nothing but these orders is captured, see `run`.
        unsafe {
            stream::begin_capture(self.maker, mode)?;
            let given = orders.iter().try_for_each(|o| run(o, self.maker));
            given.and(stream::end_capture(self.maker))
        }
    }
}

/// Asks a stream for something.
///
/// # Safety
///
/// The memory exists and has that many bytes. A function is of a module that is loaded, and takes a struct of these words.
unsafe fn run(order: &Order, stream: sys::CUstream) -> Result<(), DriverError> {
    // SAFETY: as above.
    unsafe {
        match order {
            Order::Launch { function, blocks, threads, shared, words, .. } => {
                let mut argument = [words.as_ptr().cast_mut().cast::<c_void>()];
                let (grid, block) = ((*blocks, 1, 1), (*threads, 1, 1));
                result::launch_kernel(function.0, grid, block, *shared, stream, &mut argument)
            }
            Order::Set { at, byte, bytes } => result::memset_d8_async(*at, *byte, *bytes, stream),
            Order::Copy { to, from, bytes } => result::memcpy_dtod_async(*to, *from, *bytes, stream),
        }
    }
}

impl replay::Stream for Stream {
    type Graph = Graph;
    type Error = DriverError;

    fn run(&self, order: &Order) -> Result<(), DriverError> {
        // SAFETY: whoever gives an order has the memory, which is given back only later, by the order of the stream; modules stay.
        unsafe { run(order, self.raw) }
    }

    fn graph(&self, orders: &[Order]) -> Result<Option<Graph>, DriverError> {
        let Ok(graph) = self.captured(orders) else { return Ok(None) };
        // SAFETY: the graph is whole, and nobody else has it.
        unsafe {
            let ready = graph::instantiate(graph, sys::CUgraphInstantiate_flags(0));
            let _ = graph::destroy(graph);
            Ok(ready.ok().map(Graph))
        }
    }

    fn replay(&self, graph: &Graph) -> Result<(), DriverError> {
        // SAFETY: both exist, and the memory the graph uses does too, see `run`.
        unsafe { graph::launch(graph.0, self.raw) }
    }

    fn forget(&self, graph: Graph) {
        // It may be running. There is nobody to tell of a failure.
        let _ = self.wait();
        // SAFETY: nobody else has it.
        let _ = unsafe { graph::exec_destroy(graph.0) };
    }
}
