// The emulator seen from a program that launches kernels: tests, and the stand-in driver.
#pragma once
#include "emulator.h"
#include <cstddef>

namespace emu {

// How the threads of a launch take turns.
struct Config {
    u64 seed = 0;       // 0: in order, the fastest; else a random order that the seed determines
    int resident = 1;        // blocks that run at the same time
    bool preempt = false;    // change threads at GPU-scope accesses too
    size_t stack = 64 << 10; // bytes of stack of each thread
    u64 spin_limit = 200000000;   // yields without a write after which a launch counts as livelocked
    u64 first_block = 0;          // run the grid from here,
    u64 blocks = ~0ull;           // this many blocks of it
};

// What the global accesses of the launches since `reset_traffic` cost. A request is one instruction of a warp.
struct Traffic {
    u64 load_requests, load_sectors, load_bytes;
    u64 store_requests, store_sectors, store_bytes;
};

// The machine; there is one, and it runs one launch at a time.
Machine* the_machine();

using LaunchFunction = void (*)(Machine*, void**);

void launch(LaunchFunction kernel, dim3 grid, dim3 block, size_t dynamic_shared, void** arguments, const Config& config);

void reset_traffic();
Traffic traffic();

// Switches between fibers in the last launch: what it cost the emulator.
u64 last_switches();

}   // namespace emu
