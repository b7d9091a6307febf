// A stand-in for libcuda: the driver's functions that Par's run time calls, on a machine without a GPU. Device memory is the
// host's, a module is a shared object that nvrtc.cpp made of the same kernel source, a launch runs on the emulator. Everything is
// done when a call returns, but copies from and to pinned memory: these are put off until somebody waits for them or something else is
// asked of their stream, so that who does not wait finds the wrong bytes.
//
// Built as libcuda.so, it is found before the real one by LD_LIBRARY_PATH. Environment:
//     EMU_SEED=n      random schedules, n > 0
//     EMU_RESIDENT=n  blocks that run at the same time
//     EMU_MEMORY=n    bytes of device memory, 4 GiB if not given
//     EMU_PINNED=n    bytes of pinned memory of the host, without a limit if not given
//     EMU_REPORT=1    says at the end how many kernels and graphs were launched, whether one still runs, and how many bytes were copied
//                     to the device and from it
#include "emulator.hpp"
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <dlfcn.h>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <sys/mman.h>
#include <unistd.h>
#include <vector>

#undef blockDim
#undef gridDim

namespace {

// Error numbers of the driver interface.
enum Result : int {
    SUCCESS = 0,
    INVALID_VALUE = 1,
    OUT_OF_MEMORY = 2,
    INVALID_DEVICE = 101,
    INVALID_IMAGE = 200,
    NOT_FOUND = 500,
    NOT_CAPTURED = 900,
};

using Handle = void*;
using Address = unsigned long long;

u_int64_t setting(const char* name, u_int64_t otherwise) {
    const char* text = getenv(name);
    return text && *text ? strtoull(text, nullptr, 0) : otherwise;
}

// One launch at a time, whoever asks.
std::mutex launching;
char context_handle, pool_handle;

// How often the primary context was retained and not released. A real driver ends the process, or worse, if what belongs to it is used later.
std::atomic<int> retained{0};
void must_be_retained() {
    if (retained > 0) return;
    fprintf(stderr, "emulator: something of a context is destroyed after the context\n");
    abort();
}
thread_local Handle current_context;
std::atomic<size_t> stack_limit{1024};

// What is allocated, by address.
class Memory {
public:
    Result allocate(Address* at, size_t bytes) {
        std::lock_guard<std::mutex> lock(mutex);
        const size_t rounded = (bytes + 255) / 256 * 256;
        if (rounded < bytes || used + rounded > total()) return OUT_OF_MEMORY;
        // Exactly as long as asked for, so that an address sanitizer sees what is beyond.
        void* p = nullptr;
        if (posix_memalign(&p, 256, bytes ? bytes : 1)) return OUT_OF_MEMORY;
        memset(p, 0xCD, bytes < 4096 ? bytes : 4096);
        *at = reinterpret_cast<Address>(p);
        sizes[*at] = rounded;
        used += rounded;
        return SUCCESS;
    }
    Result release(Address at) {
        std::lock_guard<std::mutex> lock(mutex);
        const auto found = sizes.find(at);
        if (found == sizes.end()) return INVALID_VALUE;
        used -= found->second;
        sizes.erase(found);
        free(reinterpret_cast<void*>(at));
        return SUCCESS;
    }
    size_t total() const { return setting("EMU_MEMORY", size_t(4) << 30); }
    size_t available() {
        std::lock_guard<std::mutex> lock(mutex);
        return used < total() ? total() - used : 0;
    }

private:
    std::mutex mutex;
    std::map<Address, size_t> sizes;
    size_t used = 0;
};
Memory memory;

// Pinned memory of the host: its sizes by address.
class PinnedMemory {
public:
    Result allocate(void** at, size_t bytes) {
        std::lock_guard<std::mutex> lock(mutex);
        if (used + bytes > setting("EMU_PINNED", ~size_t(0) >> 1) || !(*at = malloc(bytes))) return OUT_OF_MEMORY;
        memset(*at, 0xCD, bytes);
        sizes[static_cast<char*>(*at)] = bytes;
        used += bytes;
        return SUCCESS;
    }
    Result release(void* at) {
        std::lock_guard<std::mutex> lock(mutex);
        const auto found = sizes.find(static_cast<char*>(at));
        if (found == sizes.end()) return INVALID_VALUE;
        used -= found->second;
        sizes.erase(found);
        free(at);
        return SUCCESS;
    }
    bool has(const void* at) {
        std::lock_guard<std::mutex> lock(mutex);
        const char* byte = static_cast<const char*>(at);
        auto after = sizes.upper_bound(const_cast<char*>(byte));
        if (after == sizes.begin()) return false;
        --after;
        return byte < after->first + after->second;
    }

private:
    std::mutex mutex;
    std::map<char*, size_t> sizes;
    size_t used = 0;
};
PinnedMemory pinned;

void* host(Address a) { return reinterpret_cast<void*>(a); }

// An ELF image's length, from the place of its section headers, which are last.
size_t image_bytes(const unsigned char* image) {
    u_int64_t sections;
    u_int16_t entry, count;
    memcpy(&sections, image + 40, 8);
    memcpy(&entry, image + 58, 2);
    memcpy(&count, image + 60, 2);
    return sections + size_t(entry) * count;
}

Handle load_image(const void* image) {
    const unsigned char* bytes = static_cast<const unsigned char*>(image);
    if (memcmp(bytes, "\177ELF", 4) || bytes[4] != 2) return nullptr;
    const size_t length = image_bytes(bytes);
    const int file = memfd_create("kernels", MFD_CLOEXEC);
    if (file < 0) return nullptr;
    size_t written = 0;
    while (written < length) {
        const ssize_t n = write(file, bytes + written, length - written);
        if (n <= 0) break;
        written += size_t(n);
    }
    const std::string path = "/proc/self/fd/" + std::to_string(file);
    Handle module = written == length ? dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL) : nullptr;
    // The file stays open: the loader takes another one of the same name for this module.
    if (module) return module;
    fprintf(stderr, "emulator: a module cannot be loaded: %s\n", dlerror());
    close(file);
    return nullptr;
}

// Attributes by the driver's numbers: those of a small device of compute capability 9.0.
int attribute(int number) {
    switch (number) {
    case 1: return 1024;       // threads per block
    case 2: case 3: return 1024;
    case 4: return 64;
    case 5: return 0x7fffffff; // blocks of a grid, in x
    case 6: case 7: return 65535;
    case 8: return 48 << 10;   // shared memory per block
    case 10: return 32;        // threads of a warp
    case 12: return 65536;     // registers per block
    case 16: return 4;         // multiprocessors
    case 38: return 50 << 20;  // bytes of L2
    case 39: return 2048;      // threads per multiprocessor
    case 75: return 9;         // compute capability
    case 76: return 0;
    case 81: return 228 << 10; // shared memory per multiprocessor
    case 97: return 227 << 10; // shared memory per block, on request
    case 115: return 1;        // memory pools
    default: return 0;
    }
}

// A kernel: how it is launched, and the sizes of its arguments, then 0.
struct Function {
    emu::LaunchFunction launch;
    const unsigned* sizes;
};

// What was asked of a stream while it was captured.
using Graph = std::vector<std::function<int()>>;

// A stream does what it is asked for at once, unless it is captured or the copy is one that is put off.
struct Stream {
    Graph* captured = nullptr;

    int give(std::function<int()> order) {
        if (captured) return captured->push_back(std::move(order)), SUCCESS;
        finish(~size_t(0));
        return order();
    }
    void put_off(std::function<int()> order) {
        std::lock_guard<std::mutex> lock(mutex);
        late.push_back(std::move(order));
        given++;
    }
    // Does the first `n` of what was put off.
    void finish(size_t n) {
        std::lock_guard<std::mutex> lock(mutex);
        for (; done < given && done < n; done++, late.pop_front()) late.front()();
    }
    size_t asked() {
        std::lock_guard<std::mutex> lock(mutex);
        return given;
    }

private:
    std::mutex mutex;
    std::deque<std::function<int()>> late;
    size_t given = 0, done = 0;
};
bool is_captured(Handle stream) { return stream && static_cast<Stream*>(stream)->captured; }
int give(Handle stream, std::function<int()> order) {
    return stream ? static_cast<Stream*>(stream)->give(std::move(order)) : order();
}
// A copy between the host, at `there`, and the device.
int transfer(Handle stream, const void* there, std::function<int()> copy) {
    if (is_captured(stream)) return NOT_CAPTURED;
    if (!stream || !pinned.has(there)) return give(stream, std::move(copy));
    return static_cast<Stream*>(stream)->put_off(std::move(copy)), SUCCESS;
}

// A moment in a stream: the time, and how much had been put off.
struct Event {
    double at = 0;
    Stream* stream = nullptr;
    size_t asked = 0;
};

// How often something was launched.
struct Report {
    std::atomic<size_t> kernels{0}, graphs{0}, running{0}, uploaded{0}, downloaded{0};
    ~Report() {
        if (!setting("EMU_REPORT", 0)) return;
        fprintf(stderr, "emulator: %zu kernels, %zu graphs, %zu running, ", kernels.load(), graphs.load(), running.load());
        fprintf(stderr, "%zu bytes uploaded, %zu bytes downloaded\n", uploaded.load(), downloaded.load());
    }
} report;

int launch(const Function* function, dim3 grid, dim3 block, unsigned shared, void** arguments) {
    std::lock_guard<std::mutex> lock(launching);
    report.kernels++, report.running++;
    emu::Config config;
    config.seed = setting("EMU_SEED", 0);
    config.preempt = config.seed != 0;
    config.resident = int(setting("EMU_RESIDENT", config.seed ? 4 : 1));
    // A frame is larger here than on a device.
    config.stack = (size_t(64) << 10) + (stack_limit.load() * 2 + 4095) / 4096 * 4096;
    emu::launch(function->launch, grid, block, shared, arguments, config);
    report.running--;
    return SUCCESS;
}

// The arguments of a launch that is put off.
struct Arguments {
    std::vector<std::vector<char>> values;

    Arguments(const Function* function, void** arguments) {
        for (size_t i = 0; function->sizes[i]; i++) {
            const char* bytes = static_cast<const char*>(arguments[i]);
            values.emplace_back(bytes, bytes + function->sizes[i]);
        }
    }
    std::vector<void*> pointers() {
        std::vector<void*> all;
        for (std::vector<char>& value : values) all.push_back(value.data());
        return all;
    }
};

double seconds() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}   // namespace

#define DRIVER extern "C" __attribute__((visibility("default"))) int

// --- device and context ---------------------------------------------------------------------------------------------------

DRIVER cuInit(unsigned) { return SUCCESS; }
DRIVER cuDriverGetVersion(int* version) { return *version = 12090, SUCCESS; }
DRIVER cuDeviceGetCount(int* count) { return *count = 1, SUCCESS; }
DRIVER cuDeviceGet(int* device, int number) {
    if (number != 0) return INVALID_DEVICE;
    return *device = 0, SUCCESS;
}
DRIVER cuDeviceGetName(char* name, int room, int) { return snprintf(name, size_t(room), "host emulator"), SUCCESS; }
DRIVER cuDeviceGetUuid(unsigned char* uuid, int) { return memset(uuid, 0, 16), SUCCESS; }
DRIVER cuDeviceGetUuid_v2(unsigned char* uuid, int) { return memset(uuid, 0, 16), SUCCESS; }
DRIVER cuDeviceTotalMem_v2(size_t* bytes, int) { return *bytes = memory.total(), SUCCESS; }
DRIVER cuDeviceGetAttribute(int* value, int number, int) { return *value = attribute(number), SUCCESS; }
DRIVER cuDeviceComputeCapability(int* major, int* minor, int) { return *major = 9, *minor = 0, SUCCESS; }
DRIVER cuDevicePrimaryCtxRetain(Handle* context, int) { return retained++, *context = &context_handle, SUCCESS; }
DRIVER cuDevicePrimaryCtxRelease_v2(int) { return retained--, SUCCESS; }
DRIVER cuDevicePrimaryCtxSetFlags_v2(int, unsigned) { return SUCCESS; }
DRIVER cuDevicePrimaryCtxGetState(int, unsigned* flags, int* active) { return *flags = 0, *active = 1, SUCCESS; }
DRIVER cuCtxGetCurrent(Handle* context) { return *context = current_context, SUCCESS; }
DRIVER cuCtxSetCurrent(Handle context) { return current_context = context, SUCCESS; }
DRIVER cuCtxPushCurrent_v2(Handle context) { return current_context = context, SUCCESS; }
DRIVER cuCtxPopCurrent_v2(Handle* context) { return *context = current_context, current_context = nullptr, SUCCESS; }
DRIVER cuCtxGetDevice(int* device) { return *device = 0, SUCCESS; }
DRIVER cuCtxSynchronize() { return SUCCESS; }
DRIVER cuCtxSetFlags(unsigned) { return SUCCESS; }
DRIVER cuCtxGetCacheConfig(int* config) { return *config = 0, SUCCESS; }
DRIVER cuCtxSetCacheConfig(int) { return SUCCESS; }
// Limit 0 is the stack of a thread, the only one that means something here.
DRIVER cuCtxSetLimit(int limit, size_t value) {
    if (limit != 0) return SUCCESS;
    if (value > size_t(64) << 20) return INVALID_VALUE;
    return stack_limit = value, SUCCESS;
}
DRIVER cuCtxGetLimit(size_t* value, int limit) { return *value = limit == 0 ? stack_limit.load() : 0, SUCCESS; }

// --- memory ---------------------------------------------------------------------------------------------------------------------

DRIVER cuDeviceGetDefaultMemPool(Handle* pool, int) { return *pool = &pool_handle, SUCCESS; }
DRIVER cuDeviceGetMemPool(Handle* pool, int) { return *pool = &pool_handle, SUCCESS; }
DRIVER cuDeviceSetMemPool(int, Handle) { return SUCCESS; }
DRIVER cuMemPoolCreate(Handle* pool, const void*) { return *pool = &pool_handle, SUCCESS; }
DRIVER cuMemPoolDestroy(Handle) { return SUCCESS; }
DRIVER cuMemPoolSetAttribute(Handle, int, void*) { return SUCCESS; }
DRIVER cuMemPoolGetAttribute(Handle, int, void* value) { return memset(value, 0, 8), SUCCESS; }
DRIVER cuMemPoolTrimTo(Handle, size_t) { return SUCCESS; }
DRIVER cuMemAlloc_v2(Address* at, size_t bytes) { return bytes ? memory.allocate(at, bytes) : INVALID_VALUE; }
DRIVER cuMemAllocAsync(Address* at, size_t bytes, Handle stream) {
    if (is_captured(stream)) return NOT_CAPTURED;
    return bytes ? memory.allocate(at, bytes) : INVALID_VALUE;
}
DRIVER cuMemAllocFromPoolAsync(Address* at, size_t bytes, Handle, Handle) { return cuMemAllocAsync(at, bytes, nullptr); }
DRIVER cuMemAllocManaged(Address* at, size_t bytes, unsigned) { return cuMemAlloc_v2(at, bytes); }
DRIVER cuMemFree_v2(Address at) { return at ? memory.release(at) : SUCCESS; }
DRIVER cuMemFreeAsync(Address at, Handle stream) {
    if (is_captured(stream)) return NOT_CAPTURED;
    return give(stream, [=] { return at ? memory.release(at) : SUCCESS; });
}
DRIVER cuMemHostAlloc(void** at, size_t bytes, unsigned) { return pinned.allocate(at, bytes); }
DRIVER cuMemFreeHost(void* at) { return pinned.release(at); }
DRIVER cuMemGetInfo_v2(size_t* available, size_t* total) {
    return *available = memory.available(), *total = memory.total(), SUCCESS;
}
DRIVER cuMemcpyHtoD_v2(Address to, const void* from, size_t n) { return report.uploaded += n, memcpy(host(to), from, n), SUCCESS; }
DRIVER cuMemcpyDtoH_v2(void* to, Address from, size_t n) { return report.downloaded += n, memcpy(to, host(from), n), SUCCESS; }
DRIVER cuMemcpyDtoD_v2(Address to, Address from, size_t n) { return memmove(host(to), host(from), n), SUCCESS; }
DRIVER cuMemcpyHtoDAsync_v2(Address to, const void* from, size_t n, Handle stream) {
    return transfer(stream, from, [=] { return cuMemcpyHtoD_v2(to, from, n); });
}
DRIVER cuMemcpyDtoHAsync_v2(void* to, Address from, size_t n, Handle stream) {
    return transfer(stream, to, [=] { return cuMemcpyDtoH_v2(to, from, n); });
}
DRIVER cuMemcpyDtoDAsync_v2(Address to, Address from, size_t n, Handle stream) {
    return give(stream, [=] { return cuMemcpyDtoD_v2(to, from, n); });
}
DRIVER cuMemcpyAsync(Address to, Address from, size_t n, Handle) { return cuMemcpyDtoD_v2(to, from, n); }
DRIVER cuMemcpy(Address to, Address from, size_t n) { return cuMemcpyDtoD_v2(to, from, n); }
DRIVER cuMemsetD8_v2(Address at, unsigned char value, size_t n) { return memset(host(at), value, n), SUCCESS; }
DRIVER cuMemsetD8Async(Address at, unsigned char value, size_t n, Handle stream) {
    return give(stream, [=] { return cuMemsetD8_v2(at, value, n); });
}
DRIVER cuMemsetD16Async(Address at, unsigned short value, size_t n, Handle) {
    for (size_t i = 0; i < n; i++) static_cast<unsigned short*>(host(at))[i] = value;
    return SUCCESS;
}
DRIVER cuMemsetD32Async(Address at, unsigned value, size_t n, Handle) {
    for (size_t i = 0; i < n; i++) static_cast<unsigned*>(host(at))[i] = value;
    return SUCCESS;
}
DRIVER cuMemsetD32_v2(Address at, unsigned value, size_t n) { return cuMemsetD32Async(at, value, n, nullptr); }

// --- streams, events, graphs ---------------------------------------------------------------------------------------------------

DRIVER cuStreamCreate(Handle* stream, unsigned) { return *stream = new Stream, SUCCESS; }
DRIVER cuStreamCreateWithPriority(Handle* stream, unsigned flags, int) { return cuStreamCreate(stream, flags); }
DRIVER cuStreamDestroy_v2(Handle stream) { return must_be_retained(), delete static_cast<Stream*>(stream), SUCCESS; }
DRIVER cuStreamSynchronize(Handle stream) {
    return is_captured(stream) ? NOT_CAPTURED : give(stream, [] { return SUCCESS; });
}
DRIVER cuStreamQuery(Handle) { return SUCCESS; }
DRIVER cuStreamWaitEvent(Handle, Handle, unsigned) { return SUCCESS; }
DRIVER cuStreamIsCapturing(Handle stream, int* status) { return *status = is_captured(stream), SUCCESS; }
DRIVER cuLaunchHostFunc(Handle, void (*function)(void*), void* data) { return function(data), SUCCESS; }
DRIVER cuEventCreate(Handle* event, unsigned) { return *event = new Event, SUCCESS; }
DRIVER cuEventDestroy_v2(Handle event) { return must_be_retained(), delete static_cast<Event*>(event), SUCCESS; }
DRIVER cuEventRecord(Handle event, Handle handle) {
    Stream* stream = static_cast<Stream*>(handle);
    return *static_cast<Event*>(event) = Event{seconds(), stream, stream ? stream->asked() : 0}, SUCCESS;
}
DRIVER cuEventSynchronize(Handle event) {
    const Event* moment = static_cast<Event*>(event);
    if (moment->stream) moment->stream->finish(moment->asked);
    return SUCCESS;
}
DRIVER cuEventQuery(Handle) { return SUCCESS; }
DRIVER cuEventElapsedTime(float* milliseconds, Handle from, Handle to) {
    *milliseconds = float((static_cast<Event*>(to)->at - static_cast<Event*>(from)->at) * 1e3);
    return SUCCESS;
}
DRIVER cuEventElapsedTime_v2(float* milliseconds, Handle from, Handle to) { return cuEventElapsedTime(milliseconds, from, to); }
// A graph that is ready is a copy of one.
DRIVER cuStreamBeginCapture_v2(Handle stream, int) {
    if (!stream || is_captured(stream)) return INVALID_VALUE;
    return static_cast<Stream*>(stream)->captured = new Graph, SUCCESS;
}
DRIVER cuStreamEndCapture(Handle stream, Handle* graph) {
    if (!is_captured(stream)) return INVALID_VALUE;
    *graph = static_cast<Stream*>(stream)->captured;
    return static_cast<Stream*>(stream)->captured = nullptr, SUCCESS;
}
DRIVER cuGraphInstantiateWithFlags(Handle* ready, Handle graph, unsigned long long) {
    return *ready = new Graph(*static_cast<Graph*>(graph)), SUCCESS;
}
DRIVER cuGraphUpload(Handle, Handle) { return SUCCESS; }
DRIVER cuGraphLaunch(Handle ready, Handle stream) {
    report.graphs++;
    if (stream) static_cast<Stream*>(stream)->finish(~size_t(0));
    for (const auto& order : *static_cast<Graph*>(ready))
        if (const int status = order()) return status;
    return SUCCESS;
}
DRIVER cuGraphDestroy(Handle graph) { return delete static_cast<Graph*>(graph), SUCCESS; }
DRIVER cuGraphExecDestroy(Handle ready) { return delete static_cast<Graph*>(ready), SUCCESS; }

// --- modules and launches ---------------------------------------------------------------------------------------------------------

DRIVER cuModuleLoadData(Handle* module, const void* image) { return (*module = load_image(image)) ? SUCCESS : INVALID_IMAGE; }
DRIVER cuModuleLoadDataEx(Handle* module, const void* image, unsigned, int*, void**) { return cuModuleLoadData(module, image); }
DRIVER cuModuleUnload(Handle module) { return dlclose(module), SUCCESS; }
DRIVER cuModuleGetFunction(Handle* function, Handle module, const char* name) {
    const auto launch = reinterpret_cast<emu::LaunchFunction>(dlsym(module, (std::string("par_launch_") + name).c_str()));
    const auto sizes = static_cast<const unsigned*>(dlsym(module, (std::string("par_sizes_") + name).c_str()));
    if (!launch || !sizes) return NOT_FOUND;
    // The few bytes stay when the module goes.
    return *function = new Function{launch, sizes}, SUCCESS;
}
DRIVER cuModuleGetGlobal_v2(Address* at, size_t* bytes, Handle module, const char* name) {
    void* p = dlsym(module, name);
    if (!p) return NOT_FOUND;
    *at = reinterpret_cast<Address>(p);
    if (bytes) *bytes = 0;
    return SUCCESS;
}
DRIVER cuFuncGetAttribute(int* value, int, Handle) { return *value = 0, SUCCESS; }
DRIVER cuFuncSetAttribute(Handle, int, int) { return SUCCESS; }
DRIVER cuFuncSetCacheConfig(Handle, int) { return SUCCESS; }
DRIVER cuOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, Handle, int threads, size_t) {
    return *blocks = threads > 0 ? 2048 / threads : 0, SUCCESS;
}
DRIVER cuLaunchKernel(
    Handle handle, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned shared, Handle stream,
    void** arguments, void**
) {
    const unsigned long long threads = 1ull * bx * by * bz;
    if (!gx || !gy || !gz || !threads || threads > 1024) return INVALID_VALUE;
    const Function* function = static_cast<Function*>(handle);
    const dim3 grid(gx, gy, gz), block(bx, by, bz);
    if (!is_captured(stream)) return give(stream, [=] { return launch(function, grid, block, shared, arguments); });
    return give(stream, [=, copy = Arguments(function, arguments)]() mutable {
        return launch(function, grid, block, shared, copy.pointers().data());
    });
}
struct LaunchConfig {
    unsigned grid[3], block[3], shared;
    Handle stream;
    void* attributes;
    unsigned attribute_count;
};
DRIVER cuLaunchKernelEx(const LaunchConfig* c, Handle function, void** arguments, void** extra) {
    return cuLaunchKernel(
        function, c->grid[0], c->grid[1], c->grid[2], c->block[0], c->block[1], c->block[2], c->shared, c->stream, arguments, extra
    );
}

// --- errors --------------------------------------------------------------------------------------------------------------------------

DRIVER cuGetErrorName(int error, const char** name) {
    switch (error) {
    case SUCCESS: return *name = "CUDA_SUCCESS", SUCCESS;
    case INVALID_VALUE: return *name = "CUDA_ERROR_INVALID_VALUE", SUCCESS;
    case OUT_OF_MEMORY: return *name = "CUDA_ERROR_OUT_OF_MEMORY", SUCCESS;
    case INVALID_DEVICE: return *name = "CUDA_ERROR_INVALID_DEVICE", SUCCESS;
    case INVALID_IMAGE: return *name = "CUDA_ERROR_INVALID_IMAGE", SUCCESS;
    case NOT_FOUND: return *name = "CUDA_ERROR_NOT_FOUND", SUCCESS;
    case NOT_CAPTURED: return *name = "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED", SUCCESS;
    default: return *name = nullptr, INVALID_VALUE;
    }
}
DRIVER cuGetErrorString(int error, const char** text) {
    switch (error) {
    case SUCCESS: return *text = "no error", SUCCESS;
    case INVALID_VALUE: return *text = "invalid argument", SUCCESS;
    case OUT_OF_MEMORY: return *text = "out of memory", SUCCESS;
    case INVALID_DEVICE: return *text = "invalid device ordinal", SUCCESS;
    case INVALID_IMAGE: return *text = "device kernel image is invalid", SUCCESS;
    case NOT_FOUND: return *text = "named symbol not found", SUCCESS;
    case NOT_CAPTURED: return *text = "operation not permitted when stream is capturing", SUCCESS;
    default: return *text = nullptr, INVALID_VALUE;
    }
}
