// Compiles kernel sources with NVRTC, for real architectures, without a device, and reports what each kernel needs.
//
//     nvrtc LIBRARY KERNELS SOURCE... -- ARCHITECTURE...
//
// LIBRARY is libnvrtc, KERNELS the folder of the headers. Fails if something does not compile, if a kernel spills registers, if it
// needs more of them than `// registers: n` in its source, on a line before it, allows (64 if nothing is said), or if fewer warps can
// reside on a multiprocessor than `// warps: n` demands (24 if nothing is said).
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <dlfcn.h>
#include <fstream>
#include <map>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

namespace {

using Program = void*;
void* library;

template <class F>
F* function(const char* name) {
    void* f = dlsym(library, name);
    if (!f) fprintf(stderr, "the library has no %s\n", name), exit(2);
    return reinterpret_cast<F*>(f);
}

std::string contents(const std::string& path) {
    std::ifstream file(path);
    if (!file) fprintf(stderr, "%s cannot be read\n", path.c_str()), exit(2);
    std::stringstream all;
    all << file.rdbuf();
    return all.str();
}

// What the compiler made of a source: its log, which has what kernels need, and machine code, in the format ELF.
struct Compiled {
    bool fine;
    std::string log, code;
};

Compiled compile(const std::string& source, const std::string& kernels, const std::string& architecture) {
    const auto create = function<int(Program*, const char*, const char*, int, const char**, const char**)>("nvrtcCreateProgram");
    const auto compile_program = function<int(Program, int, const char**)>("nvrtcCompileProgram");
    const auto log_size = function<int(Program, size_t*)>("nvrtcGetProgramLogSize");
    const auto get_log = function<int(Program, char*)>("nvrtcGetProgramLog");
    const auto code_size = function<int(Program, size_t*)>("nvrtcGetCUBINSize");
    const auto get_code = function<int(Program, char*)>("nvrtcGetCUBIN");
    const auto destroy = function<int(Program*)>("nvrtcDestroyProgram");
    const std::string text = contents(source);
    const std::string options[] = {
        "--gpu-architecture=" + architecture, "--std=c++17", "--ptxas-options=-v", "-I" + kernels,
        "--fmad=false",
    };
    std::vector<const char*> pointers;
    for (const std::string& o : options) pointers.push_back(o.c_str());
    Program p = nullptr;
    if (create(&p, text.c_str(), source.c_str(), 0, nullptr, nullptr)) return {false, "not created", ""};
    Compiled made{compile_program(p, int(pointers.size()), pointers.data()) == 0, "", ""};
    const auto fetch = [&](auto size, auto get, std::string& into) {
        size_t bytes = 0;
        size(p, &bytes);
        into.resize(bytes);
        get(p, into.data());
    };
    fetch(log_size, get_log, made.log);
    if (made.fine) fetch(code_size, get_code, made.code);
    destroy(&p);
    return made;
}

// Machine instructions by kernel: each has 16 bytes, and those of the kernel `k` are the section `.text.k`.
std::map<std::string, size_t> instructions(const std::string& elf) {
    const auto number = [&](size_t at, size_t bytes) {
        uint64_t x = 0;
        if (at + bytes <= elf.size()) memcpy(&x, elf.data() + at, bytes);
        return x;
    };
    const size_t table = number(0x28, 8), size = number(0x3a, 2), sections = number(0x3c, 2), names = number(0x3e, 2);
    const size_t texts = number(table + names * size + 0x18, 8);
    std::map<std::string, size_t> found;
    for (size_t s = 0; s < sections; s++) {
        const size_t header = table + s * size, name = texts + number(header, 4);
        if (name < elf.size() && !elf.compare(name, 6, ".text.")) found[elf.c_str() + name + 6] = number(header + 0x20, 8) / 16;
    }
    return found;
}

// What the source says of a kernel: threads of a block, the registers a thread may use, and the warps that must be resident.
struct Demand {
    int threads = 0, registers = 64, warps = 24;
};
std::map<std::string, Demand> demands(const std::string& source) {
    std::map<std::string, Demand> found;
    std::istringstream lines(contents(source));
    const std::regex registers(R"(// registers: (\d+))"), warps(R"(//.* warps: (\d+))");
    const std::regex kernel(R"(PAR_KERNEL void __launch_bounds__\((\d+)\) (\w+)\()");
    std::smatch m;
    Demand next;
    for (std::string line; std::getline(lines, line);) {
        if (std::regex_search(line, m, registers)) next.registers = std::stoi(m[1]);
        if (std::regex_search(line, m, warps)) next.warps = std::stoi(m[1]);
        if (!std::regex_search(line, m, kernel)) continue;
        next.threads = std::stoi(m[1]);
        found[m[2]] = next;
        next = {};
    }
    return found;
}

// Warps that reside on a multiprocessor: of 64, in at most 32 blocks, which share its memory (1 KB a block is the driver's) and its four register
// files of 16,384, from which warps get 256 at a time. Sizes: CUDA's programming guide, table of compute capabilities.
int resident_warps(const std::string& architecture, int threads, int registers, int shared) {
    const int memory = architecture == "sm_80" ? 164 << 10 : 228 << 10;
    const int warps = (threads + 31) / 32;
    const int of_a_warp = (registers * 32 + 255) / 256 * 256, of_a_block = (shared + 1024 + 127) / 128 * 128;
    const int blocks = std::min({32, 64 / warps, 16384 / of_a_warp * 4 / warps, memory / of_a_block});
    return blocks * warps;
}

int failures = 0;

void report(const Compiled& compiled, const std::string& architecture, const std::map<std::string, Demand>& demanded) {
    const std::map<std::string, size_t> counts = instructions(compiled.code);
    const std::regex kernel(R"(Compiling entry function '(\w+)')"), spills(R"((\d+) bytes spill stores)"), registers(R"(Used (\d+) registers)");
    const std::regex shared(R"((\d+) bytes smem)"), stack(R"((\d+) bytes stack frame)");
    std::istringstream lines(compiled.log);
    std::string name, spilled = "0", frame = "0";
    std::smatch m;
    for (std::string line; std::getline(lines, line);) {
        if (std::regex_search(line, m, kernel)) name = m[1];
        if (std::regex_search(line, m, spills)) spilled = m[1];
        if (std::regex_search(line, m, stack)) frame = m[1];
        if (!std::regex_search(line, m, registers)) continue;
        const auto demand = demanded.find(name);
        if (demand == demanded.end()) {
            failures++, fprintf(stderr, "%s: nothing says how many threads a block has\n", name.c_str());
            continue;
        }
        const int used = std::stoi(m[1]), bytes = std::regex_search(line, m, shared) ? std::stoi(m[1].str()) : 0;
        const int warps = resident_warps(architecture, demand->second.threads, used, bytes);
        const bool bad = spilled != "0" || frame != "0" || used > demand->second.registers;
        const bool few = warps < demand->second.warps;
        failures += bad || few;
        printf("%-8s %-28s %4d registers %6d bytes shared %4s spilled %4s stack %3d of 64 warps %6zu instructions%s%s\n", architecture.c_str(),
               name.c_str(), used, bytes, spilled.c_str(), frame.c_str(), warps, counts.count(name) ? counts.at(name) : 0,
               bad ? "  TOO MUCH" : "", few ? "  TOO FEW WARPS" : "");
    }
}

}   // namespace

int main(int count, char** values) {
    std::vector<std::string> sources, architectures;
    bool after = false;
    for (int i = 3; i < count; i++) {
        if (!strcmp(values[i], "--")) after = true;
        else (after ? architectures : sources).push_back(values[i]);
    }
    if (sources.empty() || architectures.empty()) return fprintf(stderr, "usage: nvrtc LIBRARY KERNELS SOURCE... -- ARCHITECTURE...\n"), 2;
    library = dlopen(values[1], RTLD_NOW);
    if (!library) return fprintf(stderr, "%s\n", dlerror()), 2;
    for (const std::string& source : sources)
        for (const std::string& architecture : architectures) {
            const Compiled made = compile(source, values[2], architecture);
            if (!made.fine) failures++, fprintf(stderr, "%s for %s does not compile:\n%s\n", source.c_str(), architecture.c_str(), made.log.c_str());
            else report(made, architecture, demands(source));
        }
    printf("%zu sources for %zu architectures, %d failures\n", sources.size(), architectures.size(), failures);
    return failures != 0;
}
