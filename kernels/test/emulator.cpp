// What the emulator must notice: kernels with one mistake each, in processes of their own, and what is said of them. Compiled with EMU_RACE.
#include "harness.h"
#include <sys/wait.h>
#include <unistd.h>

namespace {

using par::all_lanes, par::u32;

PAR_KERNEL void fine(u32* p) {
    PAR_SHARED(u32, s, 64);
    s[threadIdx.x] = threadIdx.x;
    __syncthreads();
    p[threadIdx.x] = s[63 - threadIdx.x];
}
PAR_KERNEL void barrier_in_a_branch(u32* p) {
    if (threadIdx.x < 16) __syncthreads();
    p[threadIdx.x] = 1;
}
PAR_KERNEL void two_barriers(u32* p) {
    if (threadIdx.x < 16) {
        __syncthreads();
        p[0] = 1;
    } else {
        __syncthreads();
    }
}
PAR_KERNEL void shuffle_after_an_end(u32* p) {
    if (threadIdx.x == 3) return;
    p[threadIdx.x] = __shfl_up_sync(all_lanes, threadIdx.x, 1);
}
PAR_KERNEL void two_shuffles(u32* p) {
    u32 v = threadIdx.x;
    if (v & 1) v = __shfl_up_sync(all_lanes, v, 1);
    else v = __shfl_down_sync(all_lanes, v, 1);
    p[threadIdx.x] = v;
}
PAR_KERNEL void not_in_its_mask(u32* p) { p[threadIdx.x] = __ballot_sync(0xffff0000u, true); }
PAR_KERNEL void outside_of_the_mask(u32* p) {
    if (threadIdx.x < 16) p[threadIdx.x] = __shfl_sync(0x0000ffffu, threadIdx.x, 20);
}
PAR_KERNEL void waits_for_ever(u32* p) {
    while (par::load_acquire(p) == 0) par::spin_pause();
}
PAR_KERNEL void waits_for_half_a_warp(u32* p) {
    if (threadIdx.x < 16) p[threadIdx.x] = __ballot_sync(all_lanes, true);
    else __syncthreads();
}
PAR_KERNEL void out_of_bounds(u32* p) {
    PAR_SHARED(u32, s, 64);
    s[threadIdx.x + 1] = 1;
    __syncthreads();
    p[threadIdx.x] = s[threadIdx.x];
}
PAR_KERNEL void unwritten(u32* p) {
    PAR_SHARED(u32, s, 64);
    if (threadIdx.x < 63) s[threadIdx.x] = 1;
    __syncthreads();
    p[threadIdx.x] = s[threadIdx.x];
}
PAR_KERNEL void read_after_write(u32* p) {
    PAR_SHARED(u32, s, 64);
    s[threadIdx.x] = 0;
    __syncthreads();
    s[threadIdx.x] = 1;
    p[threadIdx.x] = s[(threadIdx.x + 32) % 64];
}
PAR_KERNEL void write_after_read(u32* p) {
    PAR_SHARED(u32, s, 64);
    s[threadIdx.x] = threadIdx.x;
    __syncthreads();
    const u32 v = s[(threadIdx.x + 33) % 64];
    s[threadIdx.x] = v;
    p[threadIdx.x] = v;
}
PAR_KERNEL void write_after_write(u32* p) {
    PAR_SHARED(u32, s, 1);
    s[0] = threadIdx.x;
    __syncthreads();
    p[0] = s[0];
}
// A shuffle says nothing about memory.
PAR_KERNEL void no_syncwarp(u32* p) {
    PAR_SHARED(u32, s, 64);
    s[threadIdx.x] = 1;
    __ballot_sync(all_lanes, true);
    p[threadIdx.x] = s[threadIdx.x ^ 1];
}
PAR_KERNEL void with_syncwarp(u32* p) {
    PAR_SHARED(u32, s, 64);
    s[threadIdx.x] = 1;
    __syncwarp();
    p[threadIdx.x] = s[threadIdx.x ^ 1];
}
PAR_KERNEL void atomics_and_a_read(u32* p) {
    PAR_SHARED(u32, s, 1);
    if (threadIdx.x == 0) s[0] = 0;
    __syncthreads();
    atomicAdd(&s[0], 1u);
    p[0] = s[0];
}

PAR_EXPORT(fine)
PAR_EXPORT(barrier_in_a_branch)
PAR_EXPORT(two_barriers)
PAR_EXPORT(shuffle_after_an_end)
PAR_EXPORT(two_shuffles)
PAR_EXPORT(not_in_its_mask)
PAR_EXPORT(outside_of_the_mask)
PAR_EXPORT(waits_for_ever)
PAR_EXPORT(waits_for_half_a_warp)
PAR_EXPORT(out_of_bounds)
PAR_EXPORT(unwritten)
PAR_EXPORT(read_after_write)
PAR_EXPORT(write_after_read)
PAR_EXPORT(write_after_write)
PAR_EXPORT(no_syncwarp)
PAR_EXPORT(with_syncwarp)
PAR_EXPORT(atomics_and_a_read)

// What a launch of two warps writes to its error output; nothing if it ends well.
std::string complaint(emu::LaunchFunction kernel) {
    int ends[2];
    if (pipe(ends)) return "no pipe";
    const pid_t child = fork();
    if (child == 0) {
        dup2(ends[1], 2);
        close(ends[0]);
        u32 data[64] = {};
        u32* p = data;
        void* arguments[] = {&p};
        emu::Config config;
        config.spin_limit = 10000;
        emu::launch(kernel, dim3(1), dim3(64), 0, arguments, config);
        _exit(0);
    }
    close(ends[1]);
    std::string text;
    char buffer[512];
    for (ssize_t n; (n = read(ends[0], buffer, sizeof buffer)) > 0;) text.append(buffer, size_t(n));
    close(ends[0]);
    int status = 0;
    waitpid(child, &status, 0);
    return status == 0 && text.empty() ? "" : text.empty() ? "it ended badly without a word" : text;
}

void expect(const char* name, emu::LaunchFunction kernel, const char* words) {
    const std::string text = complaint(kernel);
    const bool right = *words ? text.find(words) != std::string::npos : text.empty();
    test::check(right, std::string(name) + ": said \"" + text + "\"");
}
#define EXPECT(NAME, WORDS) expect(#NAME, par_launch_##NAME, WORDS)

}   // namespace

int main() {
    // Which of the two accesses of a race comes second depends on the order of threads.
    EXPECT(fine, "");
    EXPECT(with_syncwarp, "");
    EXPECT(barrier_in_a_branch, "__syncthreads");
    EXPECT(two_barriers, "different __syncthreads");
    EXPECT(shuffle_after_an_end, "a lane ends while its warp waits");
    EXPECT(two_shuffles, "warp divergence");
    EXPECT(not_in_its_mask, "not in its mask");
    EXPECT(outside_of_the_mask, "outside its mask");
    EXPECT(waits_for_ever, "livelock");
    EXPECT(waits_for_half_a_warp, "deadlock");
    EXPECT(out_of_bounds, "out of bounds");
    EXPECT(unwritten, "unwritten shared memory");
    EXPECT(read_after_write, "shared memory race");
    EXPECT(write_after_read, "shared memory race");
    EXPECT(write_after_write, "write after write");
    EXPECT(no_syncwarp, "read after write");
    EXPECT(atomics_and_a_read, "shared memory race");
    return test::result("emulator");
}
