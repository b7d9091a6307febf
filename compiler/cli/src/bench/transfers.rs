//! `par bench --transfers`: how fast arrays go to a GPU and come back, beside the driver's own copies of ordinary memory.

use crate::status::{self, Status};
use par::insight::{bytes, duration};
use par_runtime::cuda::Gpu;
use serde::Serialize;
use std::fmt::{Display, Write};
use std::time::{Duration, Instant};

/// Measurements on a device.
#[derive(Serialize)]
pub struct Report {
    /// Its name.
    device: String,
    /// In the order of the measurements.
    results: Vec<Timed>,
}

/// Time of one transfer.
#[derive(Serialize)]
struct Timed {
    /// Indented if it is the driver's.
    transfer: &'static str,
    bytes: usize,
    /// The median of several runs.
    seconds: f64,
}

/// Runs of each transfer, besides one that is not counted.
const RUNS: usize = 5;

/// Measures transfers of so many elements of four bytes.
pub fn measure(device: usize, sizes: &[u64]) -> Result<Report, Status> {
    let gpu = Gpu::open(device).map_err(|e| status::fail(&e.0))?;
    let failed = |e: String| status::fail(&format!("copying to the GPU and back: {e}"));
    gpu.enter().map_err(|e| failed(e.to_string()))?;
    let mut report = Report { device: gpu.name.clone(), results: Vec::new() };
    for n in sizes {
        let results = both_ways(&gpu, 4 * *n as usize).map_err(failed)?;
        report.results.extend(results);
    }
    Ok(report)
}

/// Both ways, and the same by the driver. What came back is compared with what was sent.
fn both_ways(gpu: &Gpu, size: usize) -> Result<Vec<Timed>, String> {
    let sent: Vec<u8> = (0..size).map(|i| (i.wrapping_mul(0x9e37_79b9) >> 13) as u8).collect();
    let mut back = vec![0; size];
    let there = gpu.allocate(size).map_err(|e| e.to_string())?;
    let timed = |transfer, run: &mut dyn FnMut() -> Result<(), String>| {
        median(run).map(|seconds| Timed { transfer, bytes: size, seconds })
    };
    let results = vec![
        timed("upload", &mut || finish(gpu, gpu.upload(there, &sent)))?,
        timed("  by the driver", &mut || finish(gpu, gpu.upload_plainly(there, &sent)))?,
        timed("download", &mut || finish(gpu, gpu.download(&mut back, there)))?,
        timed("  by the driver", &mut || finish(gpu, gpu.download_plainly(&mut back, there)))?,
    ];
    gpu.free(there, size);
    if back == sent { Ok(results) } else { Err(format!("{size} bytes came back changed")) }
}

/// Waits for what was asked for.
fn finish<E: Display>(gpu: &Gpu, asked: Result<(), E>) -> Result<(), String> {
    asked.map_err(|e| e.to_string())?;
    gpu.wait().map_err(|e| e.to_string())
}

/// The median time of several runs, in seconds.
fn median(run: &mut dyn FnMut() -> Result<(), String>) -> Result<f64, String> {
    run()?;
    let mut all = Vec::with_capacity(RUNS);
    for _ in 0..RUNS {
        let start = Instant::now();
        run()?;
        all.push(start.elapsed().as_secs_f64());
    }
    all.sort_by(f64::total_cmp);
    Ok(all[RUNS / 2])
}

impl Report {
    /// One JSON object: device, and results with bytes and seconds.
    pub fn json(&self) -> String {
        serde_json::to_string_pretty(self).map_or_else(|e| e.to_string(), |text| text + "\n")
    }

    /// The table for a person.
    pub fn table(&self) -> String {
        let mut out = format!("{:<24} {:>9} {:>9} {:>12}\n", "transfer", "bytes", "time", "rate");
        for t in &self.results {
            let rate = bytes((t.bytes as f64 / t.seconds.max(1e-9)) as u64);
            let time = duration(Duration::from_secs_f64(t.seconds));
            let _ = writeln!(out, "{:<24} {:>9} {time:>9} {rate:>10}/s", t.transfer, bytes(t.bytes as u64));
        }
        let _ = writeln!(out, "\non {}; the driver copies ordinary memory with one thread", self.device);
        out
    }
}
