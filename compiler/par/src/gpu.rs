//! Properties of a GPU.

use par_runtime::cuda::Gpu;

/// Bytes that GPU number `device` reads and writes per second when it copies its own memory; the best of a few copies. The error says
/// in a line what is missing.
pub fn gpu_copy_rate(device: usize) -> Result<f64, String> {
    let gpu = Gpu::open(device).map_err(|e| e.0)?;
    gpu.copy_rate().map_err(|e| e.0)
}
