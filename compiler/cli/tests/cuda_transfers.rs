//! Data between the processor and a GPU, on the stand-ins of `kernels/host`, which put copies from and to pinned memory off as long as they may.

mod stand_ins;

use par_runtime::cuda::Gpu;
use par_trials::cpp_compiler;
use stand_ins::on_stand_ins;

const MB: usize = 1 << 20;

/// Bytes without a pattern, others for another seed.
fn bytes(n: usize, seed: u64) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    let mut all: Vec<u8> = (0..n.div_ceil(8)).flat_map(|_| next().to_le_bytes()).collect();
    all.truncate(n);
    all
}

fn gpu() -> std::sync::Arc<Gpu> {
    let gpu = Gpu::open(0).expect("the stand-in");
    gpu.enter().expect("its context");
    gpu
}

/// Bytes go to the device, `skip` bytes behind an aligned address on both sides, are moved there, and come back. What they came from changes
/// at once.
fn round_trip(gpu: &Gpu, n: usize, skip: usize, seed: u64) {
    let sent = bytes(n + skip, seed);
    let mut source = sent.clone();
    let [there, moved] = [0, 1].map(|_| gpu.allocate(n + skip).expect("memory"));
    gpu.upload(there + skip as u64, &source[skip..]).expect("an upload");
    source.fill(0);
    gpu.copy(moved, there + skip as u64, n).expect("a copy");
    let mut back = vec![0x55; n + skip];
    gpu.download(&mut back[skip..], moved).expect("a download");
    gpu.wait().expect("the end");
    assert!(back[skip..] == sent[skip..] && back[..skip].iter().all(|b| *b == 0x55), "{n} bytes");
    [there, moved].map(|at| gpu.free(at, n + skip));
}

/// Sizes around those at which transfers are cut, and more chunks than there are buffers.
fn transfers_of_all_sizes() {
    on_stand_ins("transfers_of_all_sizes", &[], all_sizes);
}

fn all_sizes() {
    let gpu = gpu();
    let borders = [256 << 10, 2 * MB, 32 * MB, 34 * MB].iter();
    let around = borders.flat_map(|n| [n - 1, *n, n + 1]);
    for (i, n) in [0, 1, 3, 4096].into_iter().chain(around).chain([77 * MB + 5]).enumerate() {
        round_trip(&gpu, n, i % 4, i as u64 + 1);
    }
}

/// Threads that share a device and its buffers.
fn transfers_of_several_threads() {
    on_stand_ins("transfers_of_several_threads", &[], several_threads);
}

fn several_threads() {
    let gpu = gpu();
    let one = |thread: usize| {
        let gpu = &gpu;
        move || {
            gpu.enter().expect("its context");
            (0..6).for_each(|i| round_trip(gpu, (100 << 10) * (1 + thread + 5 * i), i, (7 * thread + i) as u64));
        }
    };
    std::thread::scope(|scope| {
        (0..4).for_each(|thread| drop(scope.spawn(one(thread))));
    });
}

/// With pinned memory for two buffers, and without any.
fn transfers_with_little_pinned_memory() {
    for pinned in ["5000000", "100000"] {
        let variables = [("EMU_PINNED", pinned)];
        on_stand_ins("transfers_with_little_pinned_memory", &variables, little_pinned_memory);
    }
}

fn little_pinned_memory() {
    let gpu = gpu();
    [MB, 5 * MB + 3, 40 * MB].iter().for_each(|n| round_trip(&gpu, *n, 1, *n as u64));
}

par_trials::trials! {
    transfers_of_all_sizes, needs cpp_compiler();
    transfers_of_several_threads, needs cpp_compiler();
    transfers_with_little_pinned_memory, needs cpp_compiler();
}
