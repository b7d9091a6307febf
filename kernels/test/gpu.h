// Runs the tests' kernels on a device instead of the emulator: `--gpu libcuda.so.1 --nvrtc LIBRARY --kernels FOLDER`. The kernels are compiled by
// NVRTC; what arguments point to is copied to the device before a launch, and back after it.
#pragma once
#include "host/emulator.hpp"
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <dlfcn.h>
#include <map>
#include <string>
#include <type_traits>
#include <vector>

namespace test {

// Where the arrays are that launches may be given, and how long, by their first byte.
inline std::map<uintptr_t, size_t>& arrays() {
    static std::map<uintptr_t, size_t> all;
    return all;
}

// Notes where a vector's elements are.
template <class T>
struct Noted {
    using value_type = T;
    Noted() = default;
    template <class U>
    Noted(const Noted<U>&) {}
    T* allocate(size_t n) {
        T* p = static_cast<T*>(::operator new(n * sizeof(T)));
        arrays()[reinterpret_cast<uintptr_t>(p)] = n * sizeof(T);
        return p;
    }
    void deallocate(T* p, size_t) {
        arrays().erase(reinterpret_cast<uintptr_t>(p));
        ::operator delete(p);
    }
    template <class U>
    bool operator==(const Noted<U>&) const {
        return true;
    }
    template <class U>
    bool operator!=(const Noted<U>&) const {
        return false;
    }
};
template <class T>
using vector = std::vector<T, Noted<T>>;

class Gpu {
public:
    Gpu(const char* driver, const char* nvrtc, const std::string& kernels, const std::string& source)
        : driver_(open(driver)), nvrtc_(open(nvrtc)) {
        int device, major, minor;
        must(call("cuInit", 0u), "cuInit");
        must(call("cuDeviceGet", &device, 0), "cuDeviceGet");
        call("cuDeviceGetAttribute", &major, 75, device);
        call("cuDeviceGetAttribute", &minor, 76, device);
        char name[200] = "";
        call("cuDeviceGetName", name, 200, device);
        printf("on %s\n", name);
        void* context;
        must(call("cuDevicePrimaryCtxRetain", &context, device), "context");
        must(call("cuCtxSetCurrent", context), "context");
        const std::string architecture = "sm_" + std::to_string(major) + std::to_string(minor);
        const std::vector<char> image = compile(kernels, source, architecture);
        must(call("cuModuleLoadData", &module_, static_cast<const void*>(image.data())), "module");
    }

    // `pointers` are addresses of arguments; `is_array[i]` says which of them are pointers to what is to be copied.
    void launch(const char* name, dim3 grid, dim3 block, unsigned shared, void** pointers, const std::vector<bool>& is_array) {
        std::map<uintptr_t, Copy> copies;
        std::vector<void*> values(is_array.size()), on_device(is_array.size());
        for (size_t i = 0; i < is_array.size(); i++) {
            values[i] = pointers[i];
            if (!is_array[i]) continue;
            on_device[i] = translate(*static_cast<uintptr_t*>(pointers[i]), copies);
            values[i] = &on_device[i];
        }
        void* function;
        must(call("cuModuleGetFunction", &function, module_, name), name);
        must(start_with(function, grid, block, shared, values.data()), name);
        must(call("cuCtxSynchronize"), name);
        for (const auto& [host, copy] : copies) {
            must(call("cuMemcpyDtoH_v2", reinterpret_cast<void*>(host), copy.device, copy.bytes), "copy");
            call("cuMemFree_v2", copy.device);
        }
    }

private:
    struct Copy {
        unsigned long long device;
        size_t bytes;
    };

    static void* open(const char* name) {
        void* library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
        if (!library) fprintf(stderr, "%s\n", dlerror()), exit(2);
        return library;
    }
    static void must(int status, const char* what) {
        if (status) fprintf(stderr, "%s: error %d\n", what, status), exit(2);
    }
    template <class... A>
    static int call_in(void* library, const char* name, A... arguments) {
        void* f = dlsym(library, name);
        if (!f) fprintf(stderr, "no %s\n", name), exit(2);
        return reinterpret_cast<int (*)(A...)>(f)(arguments...);
    }
    template <class... A>
    int call(const char* name, A... arguments) const {
        return call_in(driver_, name, arguments...);
    }

    int start_with(void* function, dim3 grid, dim3 block, unsigned shared, void** pointers) const {
        void* const stream = nullptr;
        void** const nothing = nullptr;
        return call("cuLaunchKernel", function, grid.x, grid.y, grid.z, block.x, block.y, block.z, shared, stream, pointers, nothing);
    }

    // The address on the device of what is at `host`: in an array that is noted, or else a single value of up to 8 bytes.
    void* translate(uintptr_t host, std::map<uintptr_t, Copy>& copies) const {
        if (!host) return nullptr;
        uintptr_t start = host;
        size_t bytes = 8;
        auto after = arrays().upper_bound(host);
        if (after != arrays().begin()) {
            --after;
            if (host <= after->first + after->second) start = after->first, bytes = after->second;
        }
        auto found = copies.find(start);
        if (found == copies.end()) {
            Copy copy{0, bytes};
            // Room beyond the end, for arguments that point there; what is not the array's is never copied back.
            must(call("cuMemAlloc_v2", &copy.device, bytes + 16), "memory");
            must(call("cuMemcpyHtoD_v2", copy.device, reinterpret_cast<const void*>(start), bytes), "copy");
            found = copies.emplace(start, copy).first;
        }
        return reinterpret_cast<void*>(found->second.device + (host - start));
    }

    std::vector<char> compile(const std::string& kernels, const std::string& source, const std::string& architecture) const {
        const std::string text = "#include \"" + source + "\"\n", include = "-I" + kernels, target = "--gpu-architecture=" + architecture;
        const char* options[] = {include.c_str(), target.c_str(), "--std=c++17", "--fmad=false"};
        void* program;
        const char* const* none = nullptr;
        must(call_in(nvrtc_, "nvrtcCreateProgram", &program, text.c_str(), "test.cu", 0, none, none), "nvrtcCreateProgram");
        const int status = call_in(nvrtc_, "nvrtcCompileProgram", program, 4, static_cast<const char* const*>(options));
        size_t bytes;
        call_in(nvrtc_, "nvrtcGetProgramLogSize", program, &bytes);
        std::string log(bytes, 0);
        call_in(nvrtc_, "nvrtcGetProgramLog", program, log.data());
        if (status) fprintf(stderr, "%s does not compile:\n%s\n", source.c_str(), log.c_str()), exit(2);
        call_in(nvrtc_, "nvrtcGetCUBINSize", program, &bytes);
        std::vector<char> image(bytes);
        call_in(nvrtc_, "nvrtcGetCUBIN", program, image.data());
        return image;
    }

    void* driver_;
    void* nvrtc_;
    void* module_ = nullptr;
};

inline Gpu* gpu = nullptr;

}   // namespace test
