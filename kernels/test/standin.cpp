// The stand-ins, as a run time uses them: source to machine code, a module, memory, a launch, and what goes wrong.
//
//     standin FOLDER-OF-THE-STAND-INS FOLDER-OF-THE-KERNELS
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

namespace {

void* driver;
void* compiler;
int failures = 0;

template <class... A>
int call(void* library, const char* name, A... arguments) {
    void* f = dlsym(library, name);
    if (!f) fprintf(stderr, "no %s\n", name), exit(1);
    return reinterpret_cast<int (*)(A...)>(f)(arguments...);
}

void check(bool fine, const char* what) {
    if (!fine) failures++, fprintf(stderr, "WRONG: %s\n", what);
}

std::string contents(const std::string& path) {
    std::ifstream file(path);
    std::stringstream all;
    all << file.rdbuf();
    return all.str();
}

// Machine code, or nothing; `log` is what the compiler said.
std::vector<char> compile(const char* source, const std::string& kernels, std::string& log) {
    void* program;
    std::vector<std::string> texts;
    std::vector<const char*> names{"par/base.cuh", "par/map.cuh"}, pointers;
    for (const char* name : names) texts.push_back(contents(kernels + "/" + name));
    for (const std::string& text : texts) pointers.push_back(text.c_str());
    const char* const* no_options = nullptr;
    call(compiler, "nvrtcCreateProgram", &program, source, "program.cu", int(names.size()), pointers.data(), names.data());
    const int status = call(compiler, "nvrtcCompileProgram", program, 0, no_options);
    size_t bytes;
    call(compiler, "nvrtcGetProgramLogSize", program, &bytes);
    log.resize(bytes);
    call(compiler, "nvrtcGetProgramLog", program, log.data());
    std::vector<char> image;
    if (status == 0) {
        call(compiler, "nvrtcGetCUBINSize", program, &bytes);
        image.resize(bytes);
        call(compiler, "nvrtcGetCUBIN", program, image.data());
    }
    call(compiler, "nvrtcDestroyProgram", &program);
    return image;
}

const char* const good = R"(#include "par/map.cuh"
struct Arguments { const int* in; int* out; unsigned long long n; };
PAR_KERNEL void triple(Arguments a) { par::map<256, 4>(a.n, [=](par::u64 i) { par::store(a.out + i, 3 * par::load(a.in + i)); }); }
PAR_EXPORT(triple)
)";

void run(const std::vector<char>& image) {
    using Address = unsigned long long;
    void *module, *function, *stream, *nothing = nullptr;
    check(call(driver, "cuModuleLoadData", &module, (const void*)image.data()) == 0, "a module is loaded");
    check(call(driver, "cuModuleGetFunction", &function, module, "no_such_kernel") == 500, "a function that is not there is not found");
    check(call(driver, "cuModuleGetFunction", &function, module, "triple") == 0, "a function is found");
    call(driver, "cuStreamCreate", &stream, 0u);
    std::vector<int> in(5000), out(5000);
    for (int i = 0; i < 5000; i++) in[i] = i;
    struct {
        Address in, out, n;
    } arguments{0, 0, 5000};
    check(call(driver, "cuMemAllocAsync", &arguments.in, size_t(20000), stream) == 0, "memory");
    check(call(driver, "cuMemAllocAsync", &arguments.out, size_t(20000), stream) == 0, "memory");
    call(driver, "cuMemcpyHtoDAsync_v2", arguments.in, (const void*)in.data(), size_t(20000), stream);
    void* pointers[] = {&arguments};
    const int status = call(driver, "cuLaunchKernel", function, 5u, 1u, 1u, 256u, 1u, 1u, 0u, stream, (void**)pointers, (void**)nothing);
    check(status == 0, "a launch");
    call(driver, "cuMemcpyDtoHAsync_v2", (void*)out.data(), arguments.out, size_t(20000), stream);
    call(driver, "cuStreamSynchronize", stream);
    bool right = true;
    for (int i = 0; i < 5000; i++) right = right && out[i] == 3 * i;
    check(right, "what the kernel wrote");
    const auto given = arguments;
    void *graph, *ready;
    call(driver, "cuStreamBeginCapture_v2", stream, 1);
    call(driver, "cuMemsetD8Async", arguments.out, 0, size_t(8), stream);
    check(call(driver, "cuLaunchKernel", function, 5u, 1u, 1u, 256u, 1u, 1u, 0u, stream, (void**)pointers, (void**)nothing) == 0, "a launch in a graph");
    call(driver, "cuMemcpyDtoDAsync_v2", arguments.in, arguments.out, size_t(20000), stream);
    check(call(driver, "cuStreamSynchronize", stream) == 900, "nobody waits for what is captured");
    check(call(driver, "cuStreamEndCapture", stream, &graph) == 0, "a graph");
    check(call(driver, "cuGraphInstantiateWithFlags", &ready, graph, 0ull) == 0, "a graph is ready");
    arguments = {0, 0, 0};   // its launches have arguments of their own
    check(call(driver, "cuGraphLaunch", ready, stream) == 0 && call(driver, "cuGraphLaunch", ready, stream) == 0, "a graph runs twice");
    arguments = given;
    call(driver, "cuMemcpyDtoHAsync_v2", (void*)out.data(), arguments.out, size_t(20000), stream);
    right = true;
    for (int i = 0; i < 5000; i++) right = right && out[i] == 9 * i;
    check(right, "what the graph wrote");
    check(call(driver, "cuGraphExecDestroy", ready) == 0 && call(driver, "cuGraphDestroy", graph) == 0, "graphs are freed");
    check(call(driver, "cuMemFreeAsync", arguments.in, stream) == 0, "memory is given back");
    check(call(driver, "cuMemFreeAsync", arguments.in, stream) == 1, "memory is not given back twice");
    Address much;
    check(call(driver, "cuMemAllocAsync", &much, size_t(1) << 50, stream) == 2, "there is not that much memory");
}

}   // namespace

int main(int count, char** values) {
    if (count != 3) return fprintf(stderr, "usage: standin FOLDER KERNELS\n"), 2;
    driver = dlopen((std::string(values[1]) + "/libcuda.so").c_str(), RTLD_NOW | RTLD_LOCAL);
    compiler = dlopen((std::string(values[1]) + "/libnvrtc.so").c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!driver || !compiler) return fprintf(stderr, "%s\n", dlerror()), 1;
    int devices = 0;
    check(call(driver, "cuInit", 0u) == 0 && call(driver, "cuDeviceGetCount", &devices) == 0 && devices == 1, "there is a device");
    std::string log;
    const std::vector<char> image = compile(good, values[2], log);
    check(!image.empty(), log.c_str());
    if (!image.empty()) run(image);
    check(compile("PAR_KERNEL void bad() { nonsense }", values[2], log).empty(), "bad source does not compile");
    check(log.find("program.cu") != std::string::npos, "the compiler says where");
    void* module;
    check(call(driver, "cuModuleLoadData", &module, (const void*)"no image at all, but some text that is longer than a header......") == 200, "no module");
    printf("stand-ins: %d wrong\n", failures);
    return failures != 0;
}
