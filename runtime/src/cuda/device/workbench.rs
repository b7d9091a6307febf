//! Kernels that are launched one by one, to be timed: those of `kernels/test/instances`, which the tests of the kernels run, too.

use super::driver::{Address, Function, Gpu, Module};
use super::module::image;
use super::nvrtc::{Nvrtc, Source};
use crate::unavailable::{LoadError, Unavailable};
use cudarc::driver::DriverError;
use std::sync::Arc;

/// All kernels that can be started by their names.
const TEXT: &str = "#include \"test/instances/contract.cuh\"\n#include \"test/instances/irregular.cuh\"\n\
                    #include \"test/instances/rows.cuh\"\n#include \"test/instances/scan.cuh\"\n\
                    #include \"test/instances/sort.cuh\"\n#include \"test/instances/textbook.cuh\"\n";

/// A device with these kernels.
pub struct Workbench {
    /// The device.
    pub gpu: Arc<Gpu>,
    module: Module,
}

/// Memory of the device, as long as this value lives.
pub struct Memory {
    gpu: Arc<Gpu>,
    /// Its address.
    pub address: Address,
    /// Its length in bytes.
    pub bytes: usize,
}

impl Drop for Memory {
    fn drop(&mut self) {
        self.gpu.free(self.address, self.bytes);
    }
}

/// Blocks and their threads, both in two dimensions, and bytes of shared memory that the kernel asks for at launch.
#[derive(Clone, Copy, Debug)]
pub struct Launch {
    /// Of blocks.
    pub grid: (u32, u32),
    /// Of threads of a block.
    pub block: (u32, u32),
    /// Bytes for a block.
    pub shared: u32,
}

impl Launch {
    /// So many blocks of so many threads.
    pub fn new(blocks: u64, threads: u32) -> Launch {
        Launch { grid: (u32::try_from(blocks).unwrap_or(u32::MAX), 1), block: (threads, 1), shared: 0 }
    }
}

/// An argument of a kernel.
#[derive(Clone, Copy, Debug)]
pub enum Argument {
    /// An address, or a number of eight bytes.
    Long(u64),
    /// A number of four bytes.
    Int(u32),
    /// A float of four bytes.
    Float(f32),
}

impl From<&Memory> for Argument {
    fn from(memory: &Memory) -> Argument {
        Argument::Long(memory.address)
    }
}

impl From<u64> for Argument {
    fn from(n: u64) -> Argument {
        Argument::Long(n)
    }
}

impl From<u32> for Argument {
    fn from(n: u32) -> Argument {
        Argument::Int(n)
    }
}

impl From<f32> for Argument {
    fn from(x: f32) -> Argument {
        Argument::Float(x)
    }
}

impl Argument {
    /// Its bytes, from the lowest address on.
    fn word(self) -> u64 {
        match self {
            Argument::Long(n) => n,
            Argument::Int(n) => u64::from(n),
            Argument::Float(x) => u64::from(x.to_bits()),
        }
    }
}

fn failed(what: &str) -> impl Fn(DriverError) -> Unavailable {
    move |e| Unavailable::of(what, e)
}

impl Workbench {
    /// On the device of that number. Compiles the kernels, unless they are in the cache.
    pub fn open(device: usize) -> Result<Workbench, LoadError> {
        let gpu = Gpu::open(device)?;
        gpu.enter().map_err(failed("opening the device"))?;
        let nvrtc = Nvrtc::open()?;
        let image =
            image(&nvrtc, &Source { name: "kernels.cu", text: TEXT, architecture: &gpu.architecture })?;
        let module = gpu.load(&image).map_err(failed("loading the kernels"))?;
        Ok(Workbench { gpu, module })
    }

    /// The kernel of that name.
    pub fn function(&self, name: &str) -> Result<Function, Unavailable> {
        self.module.function(name).map_err(failed(name))
    }

    /// Memory. The error says how much was wanted.
    pub fn allocate(&self, bytes: usize) -> Result<Memory, Unavailable> {
        let none = |_| Unavailable(format!("CUDA: the device has no {bytes} bytes left"));
        Ok(Memory { gpu: self.gpu.clone(), address: self.gpu.allocate(bytes).map_err(none)?, bytes })
    }

    /// Sets the first bytes of memory to 0.
    pub fn clear(&self, memory: &Memory, bytes: usize) -> Result<(), Unavailable> {
        assert!(bytes <= memory.bytes, "more than there is");
        self.gpu.set(memory.address, 0, bytes).map_err(failed("clearing memory"))
    }

    /// Copies to the device.
    pub fn upload(&self, to: &Memory, from: &[u8]) -> Result<(), Unavailable> {
        assert!(from.len() <= to.bytes, "more than fits");
        self.gpu.upload(to.address, from).map_err(failed("copying to the device"))
    }

    /// Copies the first bytes on the device.
    pub fn copy(&self, to: &Memory, from: &Memory, bytes: usize) -> Result<(), Unavailable> {
        assert!(bytes <= to.bytes.min(from.bytes), "more than there is");
        self.gpu.copy(to.address, from.address, bytes).map_err(failed("copying on the device"))
    }

    /// Starts a kernel.
    ///
    /// # Safety
    ///
    /// The arguments are those that the kernel takes, and what they point to is as long as it expects.
    pub unsafe fn start(
        &self,
        function: Function,
        shape: Launch,
        arguments: &[Argument],
    ) -> Result<(), Unavailable> {
        let words: Vec<u64> = arguments.iter().map(|a| a.word()).collect();
        // SAFETY: as above.
        unsafe { self.gpu.launch_with(function, shape, &words) }.map_err(failed("starting a kernel"))
    }

    /// Seconds that the device needs for some work: the median of several runs, after one that is not counted.
    pub fn seconds(
        &self,
        runs: usize,
        mut work: impl FnMut() -> Result<(), Unavailable>,
    ) -> Result<f64, Unavailable> {
        work()?;
        let mut all = Vec::with_capacity(runs);
        for _ in 0..runs.max(1) {
            let from = self.gpu.mark().map_err(failed("timing"))?;
            work()?;
            let to = self.gpu.mark().map_err(failed("timing"))?;
            all.push(to.since(&from).map_err(failed("timing"))?);
        }
        all.sort_by(f64::total_cmp);
        Ok(all[all.len() / 2])
    }
}
