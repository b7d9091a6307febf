//! Data between the processor and a GPU, on the stand-ins of `kernels/host`, which put copies from and to pinned memory off as long as they may.

mod stand_ins;

use par_runtime::cuda::Gpu;
use par_trials::cpp_compiler;
use stand_ins::{on_stand_ins, par, program, said, stand_ins, temporary};
use std::path::PathBuf;

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
    [there, moved].iter().for_each(|at| gpu.free(*at, n + skip));
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
            (0..6).for_each(|i| {
                round_trip(gpu, (700 << 10) * (1 + thread + 5 * i), i, (7 * thread + i) as u64)
            });
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

/// Bytes to the device and from it that the stand-in counted, and what else was said.
fn copied(said: (Option<i32>, String, String)) -> (usize, usize, String) {
    let (status, out, err) = said;
    assert_eq!(status, Some(0), "{out}{err}");
    let report = err.rsplit_once("running, ").expect("a report").1;
    let mut numbers = report.split(' ').filter_map(|word| word.parse().ok());
    let mut next = || numbers.next().expect("a number");
    (next(), next(), out)
}

/// A program, and `n` random-looking numbers that it can take.
fn with_input(name: &str, text: &str, input: &str) -> (PathBuf, String) {
    let input = program(&format!("{name}.in"), input);
    (program(&format!("{name}.par"), text), input.to_str().expect("a path").to_string())
}

fn numbers(n: i64) -> String {
    let all: Vec<String> = (0..n).map(|i| (i * 7919 % 1000).to_string()).collect();
    format!("[{}]", all.join(","))
}

/// Runs that are timed find their arguments on the device: they are copied once, however often the program runs.
fn timed_runs_copy_their_arguments_once() {
    let text = "entry main (xss: [][]i64) (ys: []i64) : ([]i64, []i64) = (map i64.sum xss, map (+ 1) ys)";
    let rows = format!("[{}, [], [5], {}] {}", numbers(3000), numbers(100), numbers(50_000));
    let (file, input) = with_input("timed", text, &rows);
    let times = temporary("times");
    let run = |options: &[&str]| {
        let mut command = par(stand_ins());
        command.env("EMU_REPORT", "1");
        let fixed = ["--backend", "cuda", "--input", &input];
        copied(stand_ins::run(&mut command, &file, &[&fixed[..], options].concat()))
    };
    let time = ["--time", times.to_str().expect("a path")];
    let (once, back, right) = run(&[]);
    let (timed, timed_back, out) = run(&[&time[..], &["--runs", "5"]].concat());
    assert_eq!(out, right);
    assert_eq!(std::fs::read_to_string(&times).expect("times").lines().count(), 5);
    // 53101 elements and 5 offsets.
    let argument_bytes = 8 * (53_101 + 5);
    let copied_once = argument_bytes..argument_bytes + 10_000;
    assert!(copied_once.contains(&once) && copied_once.contains(&timed), "{once} and {timed}");
    // Results come back once, after the last run.
    assert!(back > 400_000 && timed_back < back + 10_000, "{back} and {timed_back}");
}

/// Updates that a run makes in its arguments are not seen by the next one.
fn timed_runs_do_not_see_each_others_updates() {
    let text = "entry main [n] (xs: *[n]i64) : *[n]i64 = scatter xs (iota (n / 2)) (map (\\i -> xs[i] * 2 + 1) (iota (n / 2)))";
    let (file, input) = with_input("updated", text, &numbers(1000));
    let times = temporary("times-of-updates");
    let on = |options: &[&str]| {
        stand_ins::run(&mut par(stand_ins()), &file, &[&["--input", &input], options].concat())
    };
    let right = on(&[]);
    let time = ["--backend", "cuda", "--runs", "4", "--time", times.to_str().expect("a path")];
    assert_eq!((right.0, on(&time)), (Some(0), right.clone()));
    assert_eq!(on(&["--backend", "cuda"]), right);
}

/// Both times of a call: `with_copies` has those that copy.
fn bench_times_calls_with_and_without_copies() {
    let text = format!(
        "-- ==\n-- input {{ {} }} output {{ 14985000i64 }}\nentry main (xs: []i64) : i64 = i64.sum xs\n",
        numbers(30_000)
    );
    let file = program("benched.par", &text);
    let bench = |options: &[&str]| {
        let mut command = par(stand_ins());
        command.env("EMU_REPORT", "1").args(["bench", "--min-time", "0", "--runs", "3"]).arg(&file);
        said(&command.args(options).output().expect("par runs"))
    };
    let (_, _, table) = copied(bench(&["--backend", "cuda"]));
    assert!(table.lines().next().is_some_and(|head| head.ends_with("with copies")), "{table}");
    let (up, _, json) = copied(bench(&["--backend", "cuda", "--json", "--processes", "1"]));
    let report: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    let times = |of: &str| report["results"][0][of].as_array().map(Vec::len);
    assert_eq!((times("nanoseconds"), times("with_copies")), (Some(3), Some(3)), "{json}");
    // Once before, and in each of the four runs that copy.
    assert!((1_200_000..1_220_000).contains(&up), "{up}");
    let (status, table, _) = bench(&[]);
    assert!(status == Some(0) && !table.contains("copies"), "{table}");
}

/// Uploaded values are passed to several calls, which do not change them.
fn calls_share_what_was_uploaded() {
    on_stand_ins("calls_share_what_was_uploaded", &[], share_uploads);
}

fn share_uploads() {
    const PROGRAM: &str = "
entry sums (xss: [][]i64) : []i64 = map i64.sum xss
entry grow (xs: *[]i64) : *[]i64 = xs with [0] = xs[0] + 1";
    let backend = par::Backend::Cuda;
    let program = par::Context::new(backend).compile(PROGRAM).expect("a program");
    let rows = program.upload("sums", (vec![vec![1i64, 2], vec![], vec![3]],)).expect("rows").remove(0);
    assert!(rows.is_on_device());
    (0..2).for_each(|_| {
        let sums: Vec<i64> = program.call("sums", (&rows,)).expect("sums");
        assert_eq!(sums, [3, 0, 3]);
    });
    // Not even for a call that says where it fails.
    let options = par::CallOptions { backend, locate: true, ..par::CallOptions::default() };
    let sums = program.as_compiled().call("sums", vec![rows.clone()], &options).expect("sums");
    assert_eq!(par_runtime::io::text::print_value(&sums), "[3i64, 0i64, 3i64]");
    assert!(rows.is_on_device());
    // A call that consumes its argument changes a copy, as long as somebody has the value.
    let xs = program.upload("grow", (vec![7i64, 8],)).expect("numbers").remove(0);
    for _ in 0..2 {
        assert_eq!(program.call::<_, Vec<i64>>("grow", (&xs,)).expect("numbers"), [8, 8]);
    }
    let back: Vec<i64> = par::embed::FromPar::from_par(xs).expect("numbers");
    assert_eq!(back, [7, 8]);
    let wrong = program.upload("grow", (1i64,)).expect_err("a number");
    assert!(wrong.to_string().contains("xs"), "{wrong}");
    let many = program.upload("grow", (1i64, 2i64)).expect_err("two numbers");
    assert!(many.to_string().contains("takes 1 argument"), "{many}");
}

/// Rates both ways, also as data.
fn transfers_are_timed() {
    let bench = |options: &[&str]| {
        let mut command = par(stand_ins());
        said(&command.args(["bench", "--transfers"]).args(options).output().expect("par runs"))
    };
    let sizes = ["--backend", "cuda", "--elements", "1024", "--elements", "1000000"];
    let (status, table, err) = bench(&sizes);
    assert_eq!((status, err.as_str(), table.matches("by the driver").count()), (Some(0), "", 4), "{table}");
    let (_, json, _) = bench(&[&sizes[..], &["--json"]].concat());
    let report: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    let results = report["results"].as_array().expect("results");
    assert!(results.len() == 8 && results.iter().all(|r| r["seconds"].as_f64() > Some(0.0)), "{json}");
    let (status, _, err) = bench(&[]);
    assert!(status == Some(1) && err.contains("--transfers") && err.contains("--backend cuda"), "{err}");
}

/// Kernels of a program that is dropped are unloaded, while another one goes on.
fn programs_that_are_dropped_are_unloaded() {
    on_stand_ins("programs_that_are_dropped_are_unloaded", &[], drop_programs);
}

fn drop_programs() {
    let compiled = |k: i64| {
        let text =
            format!("entry main (n: i64) : []i64 = loop xs = sort (iota 3) for i < n do map (+ i * {k}) xs");
        par::Context::new(par::Backend::Cuda).compile(&text).expect("a program")
    };
    let main = |program: &par::embed::Program| program.call::<_, Vec<i64>>("main", (5i64,)).expect("numbers");
    // The stand-in has each module in a file of its own in memory.
    let mapped = || {
        let maps = std::fs::read_to_string("/proc/self/maps").expect("what is mapped");
        maps.lines().filter(|line| line.contains("memfd:kernels")).count()
    };
    let stays = compiled(1);
    assert_eq!(main(&stays), [10, 11, 12]);
    for k in 2..5 {
        let other = compiled(k);
        assert_eq!(main(&other), [10 * k, 10 * k + 1, 10 * k + 2]);
        let loaded = mapped();
        // What others have asked for and the device was not told yet is not lost.
        std::thread::scope(|scope| {
            let running = scope.spawn(|| (0..50).for_each(|_| assert_eq!(main(&stays), [10, 11, 12])));
            drop(other);
            running.join().expect("right results");
        });
        // The system's loader keeps some files that were closed.
        assert!(mapped() < loaded);
        assert_eq!(main(&stays), [10, 11, 12]);
    }
}

par_trials::trials! {
    programs_that_are_dropped_are_unloaded, needs cpp_compiler();
    transfers_are_timed, needs cpp_compiler();
    timed_runs_copy_their_arguments_once, needs cpp_compiler();
    timed_runs_do_not_see_each_others_updates, needs cpp_compiler();
    bench_times_calls_with_and_without_copies, needs cpp_compiler();
    calls_share_what_was_uploaded, needs cpp_compiler();
    transfers_of_all_sizes, needs cpp_compiler();
    transfers_of_several_threads, needs cpp_compiler();
    transfers_with_little_pinned_memory, needs cpp_compiler();
}
