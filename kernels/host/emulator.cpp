// The scheduler of the emulator. It is never instrumented itself: compiled with -DEMU_ASAN or -DEMU_TSAN it tells the
// sanitizer of the kernels about fibers and barriers.
//
// A block's threads are started one after the other on one fiber for as long as none of them waits; a thread that waits
// keeps its fiber, and the next one gets another. So kernels without barriers run like loops.
#include "emulator.hpp"
#include "fiber.h"
#include "traffic.h"
#include <cstdio>
#include <cstring>
#include <vector>

#undef threadIdx
#undef blockIdx
#undef blockDim
#undef gridDim

namespace emu {
namespace {

enum State { RUNNING, READY, IN_WARP, IN_BLOCK };

struct Block;

struct Fiber : Context {
    Thread thread;
    u32 number = 0;   // in its block
    State state = READY;
    Block* block = nullptr;
    const char* where = "";
};

// What the lanes of a warp meet with. Values are kept for two meetings, so that a lane may enter the next one before all have left.
struct Warp {
    u64 slots[2][32];
    u32 parity[32], masks[32];
    int meetings[32];
    u32 arrived, alive, epoch;
    char token;   // stands for the warp in what the thread sanitizer is told
};

struct SharedArray {
    const void* key;
    char* memory;
};

struct Block {
    dim3 index;
    u32 threads = 0, started = 0, alive = 0, waiting = 0, epoch = 0;
    std::vector<Warp> warps;
    std::vector<Fiber*> fibers;   // by thread; of those started
    std::vector<SharedArray> shared;
    char* dynamic = nullptr;
    char token = 0;
};

struct Scheduler {
    Config config;
    dim3 grid, block;
    size_t dynamic_bytes = 0;
    Fiber caller;
    Fiber* current = nullptr;
    std::vector<Fiber*> ready;
    size_t ready_head = 0;
    std::vector<Fiber*> idle;   // without a thread
    std::vector<Block*> resident;
    u64 next_block = 0, end_block = 0, live_blocks = 0, random = 1, switches = 0;
    LaunchFunction kernel = nullptr;
    void** arguments = nullptr;
    void drop_idle_fibers() {
        for (Fiber* f : idle) {
            free_context(*f);
            delete f;
        }
        idle.clear();
    }
    ~Scheduler() {
        drop_idle_fibers();
        for (Block* b : resident) delete b;
    }
    char begin = 0, end = 0;   // what the host did is before all threads, and they are before what it does next
};

Scheduler scheduler;
Machine machine_state;
u64 switches_of_last = 0;

[[noreturn]] void fatal(const char* message) {
    fprintf(stderr, "emulator: %s", message);
    if (Fiber* f = scheduler.current; f && f->block) {
        const dim3& b = f->block->index;
        fprintf(stderr, " (block %u,%u,%u, thread %u,%u,%u)", b.x, b.y, b.z, f->thread.x, f->thread.y, f->thread.z);
    }
    fprintf(stderr, ", seed %llu\n", scheduler.config.seed);
    abort();
}

[[noreturn]] void fatal_shared(const char* message, const char* array, long long index, long long size, u32 other) {
    fprintf(stderr, "emulator: %s[%lld] of %lld, thread %u", array, index, size, scheduler.current->number);
    if (other != ~0u) fprintf(stderr, ", and thread %u before", other);
    fprintf(stderr, "\n");
    fatal(message);
}

u32 random_below(size_t n) {
    u64 x = scheduler.random;
    x ^= x << 13, x ^= x >> 7, x ^= x << 17;
    scheduler.random = x;
    return u32((x >> 32) % n);
}

// --- fibers -----------------------------------------------------------------------------------------------------------------

void run_threads();

Fiber* idle_fiber() {
    Scheduler& s = scheduler;
    if (!s.idle.empty()) {
        Fiber* f = s.idle.back();
        s.idle.pop_back();
        return f;
    }
    Fiber* f = new Fiber;
    if (!make_context(*f, s.config.stack, run_threads)) fatal("no memory for the stack of a thread");
    return f;
}

void make_ready(Fiber* f) {
    f->state = READY;
    scheduler.ready.push_back(f);
}

Fiber* take_ready() {
    Scheduler& s = scheduler;
    if (s.config.seed) {
        size_t k = s.ready_head + random_below(s.ready.size() - s.ready_head);
        std::swap(s.ready[k], s.ready.back());
        Fiber* f = s.ready.back();
        s.ready.pop_back();
        return f;
    }
    Fiber* f = s.ready[s.ready_head++];
    if (s.ready_head > 4096 && s.ready_head * 2 > s.ready.size()) {
        s.ready.erase(s.ready.begin(), s.ready.begin() + s.ready_head);
        s.ready_head = 0;
    }
    return f;
}

Fiber* start_thread(Block* b) {
    Fiber* f = idle_fiber();
    u32 n = b->started++;
    const dim3& d = scheduler.block;
    f->thread.x = n % d.x, f->thread.y = n / d.x % d.y, f->thread.z = n / d.x / d.y;
    f->thread.lane = n % 32;
    f->thread.block = b->index;
    f->thread.block_epoch = b->epoch, f->thread.warp_epoch = 0;
    f->number = n;
    f->block = b;
    b->fibers[n] = f;
    return f;
}

Block* block_to_start() {
    for (Block* b : scheduler.resident)
        if (b->started < b->threads) return b;
    return nullptr;
}

// Who runs next: in order, threads that have not started before those that wait to go on.
Fiber* next_fiber() {
    Scheduler& s = scheduler;
    if (s.ready_head == s.ready.size()) s.ready.clear(), s.ready_head = 0;
    size_t waiting = s.ready.size() - s.ready_head;
    Block* b = block_to_start();
    if (b && s.config.seed && waiting > 0) {
        size_t fresh = b->threads - b->started;
        if (random_below(fresh + waiting) >= fresh) b = nullptr;
    }
    if (b) return start_thread(b);
    return waiting ? take_ready() : &s.caller;
}

void go_to(Fiber* to) {
    Scheduler& s = scheduler;
    Fiber* from = s.current;
    to->state = RUNNING;
    s.current = to;
    machine_state.thread = &to->thread;
    machine_state.dynamic_shared = to->block ? to->block->dynamic : nullptr;
    if (from == to) return;
    s.switches++;
    switch_context(*from, *to);
}

// --- blocks -----------------------------------------------------------------------------------------------------------------

void start_block(Block* b) {
    Scheduler& s = scheduler;
    u64 i = s.next_block++;
    s.live_blocks++;
    b->index = dim3(u32(i % s.grid.x), u32(i / s.grid.x % s.grid.y), u32(i / s.grid.x / s.grid.y));
    b->threads = b->alive = s.block.x * s.block.y * s.block.z;
    b->started = b->waiting = b->epoch = 0;
    b->fibers.assign(b->threads, nullptr);
    b->warps.resize((b->threads + 31) / 32);
    for (size_t w = 0; w < b->warps.size(); w++) {
        memset(&b->warps[w], 0, sizeof(Warp));
        u32 lanes = b->threads - u32(w) * 32;
        b->warps[w].alive = lanes >= 32 ? ~0u : (1u << lanes) - 1;
    }
    if (s.dynamic_bytes) {
        b->dynamic = static_cast<char*>(malloc(s.dynamic_bytes));
        memset(b->dynamic, 0xCD, s.dynamic_bytes);
    }
}

void end_block(Block* b) {
    for (SharedArray& a : b->shared) free(a.memory);
    b->shared.clear();
    free(b->dynamic);
    b->dynamic = nullptr;
    end_of_block(b->index);
    scheduler.live_blocks--;
    if (scheduler.next_block < scheduler.end_block) start_block(b);
}

void end_thread(Fiber* f) {
    Block* b = f->block;
    Warp& w = b->warps[f->number / 32];
    machine_state.idle = 0;
    w.alive &= ~(1u << f->thread.lane);
    b->alive--;
    b->fibers[f->number] = nullptr;
    if (b->alive && b->waiting == b->alive && b->started == b->threads)
        fatal("a thread ends while the rest of its block waits in __syncthreads");
    for (u32 m = w.arrived; m; m &= m - 1)
        if (w.masks[__builtin_ctz(m)] >> f->thread.lane & 1)
            fatal("a lane ends while its warp waits for it in a warp primitive");
    __tsan_release(&scheduler.end);
    f->block = nullptr;
    scheduler.idle.push_back(f);
    if (!b->alive) end_block(b);
}

// What every fiber executes: one thread after the other.
void run_threads() {
#ifdef EMU_ASAN
    __sanitizer_finish_switch_fiber(nullptr, nullptr, nullptr);
#endif
    for (;;) {
        Fiber* self = scheduler.current;
        __tsan_acquire(&scheduler.begin);
        scheduler.kernel(&machine_state, scheduler.arguments);
        Fiber* next;
        {
            Unobserved here;
            end_thread(self);
            next = next_fiber();
        }
        go_to(next);
    }
}

// --- what kernels ask for ---------------------------------------------------------------------------------------------------

void yield() {
    Unobserved here;
    if (++machine_state.idle > scheduler.config.spin_limit) fatal("no progress: threads only spin (livelock)");
    make_ready(scheduler.current);
    go_to(next_fiber());
}

void switch_point() {
    Unobserved here;
    if (random_below(4)) return;
    make_ready(scheduler.current);
    go_to(next_fiber());
}

// The last to arrive goes on, unless the order is random.
void released(Fiber* self) {
    if (!scheduler.config.seed) return;
    make_ready(self);
    go_to(next_fiber());
}

void check_meeting(Fiber* a, const Warp& w, u32 lane, Fiber* b) {
    u32 me = a->thread.lane;
    bool same_place = a->where == b->where || !strcmp(a->where, b->where);
    if (w.masks[lane] == w.masks[me] && w.meetings[lane] == w.meetings[me] && same_place) return;
    fprintf(stderr, "emulator: lane %u at %s, lane %u at %s\n", me, a->where, lane, b->where);
    fatal("warp divergence: lanes of one mask meet in different primitives");
}

void meet(u32 mask, int meeting, const char* where) {
    Fiber* f = scheduler.current;
    Block* b = f->block;
    Warp& w = b->warps[f->number / 32];
    u32 lane = f->thread.lane;
    if (!(mask >> lane & 1)) fatal("warp primitive: the calling lane is not in its mask");
    if (mask & ~w.alive) fatal("warp primitive: its mask names lanes that have ended");
    f->where = where;
    w.masks[lane] = mask;
    w.meetings[lane] = meeting;
    w.arrived |= 1u << lane;
    const bool orders = meeting == SYNC_WARP;   // shuffles and votes say nothing about memory
    if (orders) __tsan_release(&w.token);
    if ((w.arrived & mask) == mask) {
        w.arrived &= ~mask;
        if (orders) w.epoch++;
        machine_state.idle = 0;
        for (u32 m = mask; m; m &= m - 1) {
            u32 k = __builtin_ctz(m);
            Fiber* other = b->fibers[f->number / 32 * 32 + k];
            check_meeting(f, w, k, other);
            other->thread.warp_epoch = w.epoch;
            if (other != f) make_ready(other);
        }
        released(f);
    } else {
        f->state = IN_WARP;
        go_to(next_fiber());
    }
    if (orders) __tsan_acquire(&w.token);
}

void sync_warp(u32 mask, const char* where) {
    Unobserved here;
    meet(mask, SYNC_WARP, where);
}

void sync_block(const char* where) {
    Unobserved here;
    Fiber* f = scheduler.current;
    Block* b = f->block;
    f->where = where;
    __tsan_release(&b->token);
    if (++b->waiting == b->threads) {
        b->waiting = 0;
        b->epoch++;
        machine_state.idle = 0;
        for (Fiber* other : b->fibers) {
            if (other->where != where && strcmp(other->where, where)) {
                fprintf(stderr, "emulator: %s and %s\n", where, other->where);
                fatal("threads of a block meet in different __syncthreads");
            }
            other->thread.block_epoch = b->epoch;
            if (other != f) make_ready(other);
        }
        released(f);
    } else {
        if (b->alive != b->threads) fatal("__syncthreads after some threads of the block have ended");
        f->state = IN_BLOCK;
        go_to(next_fiber());
    }
    __tsan_acquire(&b->token);
}

// The lane's value, in the half of the slots that is in use now.
u64* publish(u64 value) {
    Fiber* f = scheduler.current;
    Warp& w = f->block->warps[f->number / 32];
    u32 half = w.parity[f->thread.lane] ^= 1;
    w.slots[half][f->thread.lane] = value;
    return w.slots[half];
}

u64 exchange(u32 mask, u64 value, int meeting, int source, const char* where) {
    Unobserved here;
    u64* slots = publish(value);
    meet(mask, meeting, where);
    if (!(mask >> source & 1)) fatal("a shuffle reads a lane outside its mask");
    return slots[source];
}

u32 ballot(u32 mask, int predicate, const char* where) {
    Unobserved here;
    u64* slots = publish(predicate != 0);
    meet(mask, BALLOT, where);
    u32 result = 0;
    for (u32 m = mask; m; m &= m - 1) result |= u32(slots[__builtin_ctz(m)]) << __builtin_ctz(m);
    return result;
}

u32 match(u32 mask, u64 value, const char* where) {
    Unobserved here;
    u64* slots = publish(value);
    meet(mask, MATCH, where);
    u32 result = 0;
    for (u32 m = mask; m; m &= m - 1)
        if (slots[__builtin_ctz(m)] == value) result |= m & -m;
    return result;
}

char* shared(const void* key, u64 bytes, bool* fresh) {
    Unobserved here;
    Block* b = scheduler.current->block;
    for (SharedArray& a : b->shared)
        if (a.key == key) return a.memory;
    if (fresh) *fresh = true;
    char* memory = static_cast<char*>(malloc(bytes));
    if (!memory) fatal("no memory for a shared array");
    memset(memory, 0xCD, bytes);
    b->shared.push_back({key, memory});
    return memory;
}

void copy16(void* to, const void* from) { memcpy(to, from, 16); }

void access(const void* address, u32 bytes, bool write, const void* site) {
    Unobserved here;
    Fiber* f = scheduler.current;
    record_access(f->block->index, f->number, address, bytes, write, site);
}

// --- launches ---------------------------------------------------------------------------------------------------------------

void report_deadlock() {
    for (Block* b : scheduler.resident)
        for (Fiber* f : b->fibers)
            if (f && (f->state == IN_WARP || f->state == IN_BLOCK)) {
                fprintf(stderr, "emulator: block %u, thread %u waits at %s\n", b->index.x, f->number, f->where);
                break;
            }
    fatal("deadlock");
}

// Runs the launch that `launch` has set up.
void run(LaunchFunction kernel, void** arguments) {
    Scheduler& s = scheduler;
    s.kernel = kernel;
    s.arguments = arguments;
    s.live_blocks = 0;
    for (Block* b : s.resident)
        if (s.next_block < s.end_block) start_block(b);
    __tsan_release(&s.begin);
    while (s.live_blocks) {
        Fiber* next = next_fiber();
        if (next == &s.caller) report_deadlock();
        go_to(next);
    }
    __tsan_acquire(&s.end);
}

}   // namespace

Machine* the_machine() {
    Machine& m = machine_state;
    m.sync_block = sync_block, m.sync_warp = sync_warp;
    m.exchange = exchange, m.ballot = ballot, m.match = match;
    m.yield = yield, m.switch_point = switch_point;
    m.shared = shared, m.copy16 = copy16, m.access = access;
    m.fatal = fatal, m.fatal_shared = fatal_shared;
    return &m;
}

void launch(LaunchFunction kernel, dim3 grid, dim3 block, size_t dynamic_shared, void** arguments, const Config& config) {
    Unobserved here;
    Scheduler& s = scheduler;
    if (config.stack != s.config.stack) s.drop_idle_fibers();
    s.config = config;
    s.grid = grid, s.block = block;
    s.dynamic_bytes = dynamic_shared;
    s.random = config.seed * 0x9E3779B97F4A7C15ull + 0x1234567ull;
    if (!s.random) s.random = 1;
    u64 all = u64(grid.x) * grid.y * grid.z;
    s.next_block = config.first_block;
    s.end_block = config.blocks < all - config.first_block ? config.first_block + config.blocks : all;
    s.switches = 0;
    while (s.resident.size() < size_t(config.resident)) s.resident.push_back(new Block);
    while (s.resident.size() > size_t(config.resident)) delete s.resident.back(), s.resident.pop_back();
    s.current = &s.caller;
    adopt_caller(s.caller);
    Machine* m = the_machine();
    m->block_dim = block, m->grid_dim = grid;
    m->preempt = config.preempt;
    m->idle = 0;
    m->dynamic_bytes = u32(dynamic_shared);
    run(kernel, arguments);
    m->preempt = false;   // the host uses accesses of device scope too
    switches_of_last = s.switches;
    s.current = nullptr;
}

u64 last_switches() { return switches_of_last; }

}   // namespace emu
