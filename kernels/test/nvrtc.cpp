// Compiles kernel sources with NVRTC, for real architectures, without a device, and reports what each kernel needs.
//
//     nvrtc LIBRARY KERNELS SOURCE... -- ARCHITECTURE...
//
// LIBRARY is libnvrtc, KERNELS the folder of the headers. Fails if something does not compile, if a kernel spills registers, or if it
// needs more of them than `// registers: n` in its source, on a line before it, allows (64 if nothing is said).
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

// The compiler's log, which has what kernels need; `fine` says whether it compiled.
std::string compile(const std::string& source, const std::string& kernels, const std::string& architecture, bool& fine) {
    const auto create = function<int(Program*, const char*, const char*, int, const char**, const char**)>("nvrtcCreateProgram");
    const auto compile_program = function<int(Program, int, const char**)>("nvrtcCompileProgram");
    const auto log_size = function<int(Program, size_t*)>("nvrtcGetProgramLogSize");
    const auto get_log = function<int(Program, char*)>("nvrtcGetProgramLog");
    const auto destroy = function<int(Program*)>("nvrtcDestroyProgram");
    const std::string text = contents(source);
    const std::string options[] = {
        "--gpu-architecture=" + architecture, "--std=c++17", "--ptxas-options=-v", "-I" + kernels,
        "--fmad=false",
    };
    std::vector<const char*> pointers;
    for (const std::string& o : options) pointers.push_back(o.c_str());
    Program p = nullptr;
    if (create(&p, text.c_str(), source.c_str(), 0, nullptr, nullptr)) return fine = false, "not created";
    fine = compile_program(p, int(pointers.size()), pointers.data()) == 0;
    size_t bytes = 0;
    log_size(p, &bytes);
    std::string log(bytes, 0);
    get_log(p, log.data());
    destroy(&p);
    return log;
}

// Register budgets by kernel, as the source says them.
std::map<std::string, int> budgets(const std::string& source) {
    std::map<std::string, int> found;
    std::istringstream lines(contents(source));
    const std::regex budget(R"(// registers: (\d+))"), kernel(R"(PAR_KERNEL void (?:__launch_bounds__\(\d+\) )?(\w+)\()");
    std::smatch m;
    int next = 64;
    for (std::string line; std::getline(lines, line);) {
        if (std::regex_search(line, m, budget)) next = std::stoi(m[1]);
        else if (std::regex_search(line, m, kernel)) found[m[1]] = next, next = 64;
    }
    return found;
}

int failures = 0;

void report(const std::string& log, const std::string& architecture, const std::map<std::string, int>& allowed) {
    const std::regex kernel(R"(Compiling entry function '(\w+)')"), spills(R"((\d+) bytes spill stores)"), registers(R"(Used (\d+) registers)");
    const std::regex shared(R"((\d+) bytes smem)"), stack(R"((\d+) bytes stack frame)");
    std::istringstream lines(log);
    std::string name, spilled = "0", frame = "0";
    std::smatch m;
    for (std::string line; std::getline(lines, line);) {
        if (std::regex_search(line, m, kernel)) name = m[1];
        if (std::regex_search(line, m, spills)) spilled = m[1];
        if (std::regex_search(line, m, stack)) frame = m[1];
        if (!std::regex_search(line, m, registers)) continue;
        const int used = std::stoi(m[1]);
        const std::string bytes = std::regex_search(line, m, shared) ? m[1].str() : "0";
        const auto budget = allowed.find(name);
        const bool bad = spilled != "0" || frame != "0" || (budget != allowed.end() && used > budget->second);
        failures += bad;
        printf("%-8s %-28s %4d registers %6s bytes shared %4s spilled %4s stack%s\n", architecture.c_str(), name.c_str(), used,
               bytes.c_str(), spilled.c_str(), frame.c_str(), bad ? "  TOO MUCH" : "");
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
            bool fine;
            const std::string log = compile(source, values[2], architecture, fine);
            if (!fine) failures++, fprintf(stderr, "%s for %s does not compile:\n%s\n", source.c_str(), architecture.c_str(), log.c_str());
            else report(log, architecture, budgets(source));
        }
    printf("%zu sources for %zu architectures, %d failures\n", sources.size(), architectures.size(), failures);
    return failures != 0;
}
