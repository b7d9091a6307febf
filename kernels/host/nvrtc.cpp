// A stand-in for NVRTC: compiles kernel source for the emulator with the system's C++ compiler. What it gives as machine code
// is a shared object, which the stand-in driver loads.
//
// Environment:
//     EMU_CXX    the compiler, `c++` if not given
//     EMU_FLAGS  further options, such as -fsanitize=address or -DEMU_RACE
//     EMU_KERNELS  the folder that has host/emulator.h; what it was when this library was built, if not given
//     EMU_HEADERS  a folder in which headers stay, the one that programs begin with precompiled; they are written for each program if not given
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <fstream>
#include <functional>
#include <map>
#include <sstream>
#include <string>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

namespace {

enum Result : int { SUCCESS = 0, INVALID_INPUT = 3, COMPILATION = 6 };

struct Program {
    std::string name, source, log, image;
    std::map<std::string, std::string> headers;
};

std::string setting(const char* name, const char* otherwise) {
    const char* text = getenv(name);
    return text && *text ? text : otherwise;
}

std::string contents(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    std::stringstream all;
    all << file.rdbuf();
    return all.str();
}

// A folder of its own, removed with all that is in it.
class Scratch {
public:
    explicit Scratch(const std::string& in) {
        std::string pattern = in + "/par-emulator-XXXXXX";
        if (mkdtemp(pattern.data())) path = pattern;
    }
    ~Scratch() {
        for (const std::string& f : files) unlink(f.c_str());
        for (auto f = folders.rbegin(); f != folders.rend(); ++f) rmdir(f->c_str());
        if (!path.empty()) rmdir(path.c_str());
    }
    Scratch(const Scratch&) = delete;
    Scratch& operator=(const Scratch&) = delete;
    // What is in it stays, under another name, unless that is there already.
    bool keep_as(const std::string& name) {
        if (rename(path.c_str(), name.c_str()) != 0) return false;
        return path.clear(), files.clear(), folders.clear(), true;
    }
    // Names are relative; folders in them are made.
    std::string file(const std::string& name) {
        for (size_t slash = name.find('/'); slash != std::string::npos; slash = name.find('/', slash + 1)) {
            const std::string folder = path + "/" + name.substr(0, slash);
            if (mkdir(folder.c_str(), 0700) == 0) folders.push_back(folder);
        }
        files.push_back(path + "/" + name);
        return files.back();
    }
    void write(const std::string& name, const std::string& text) { std::ofstream(file(name), std::ios::binary) << text; }
    std::string path;

private:
    std::deque<std::string> files, folders;
};

bool harmless(const std::string& name) { return !name.empty() && name[0] != '/' && name.find("..") == std::string::npos; }

// Most time goes into generating code, of which little runs: it is not optimised.
std::string compiler() {
    return setting("EMU_CXX", "c++") + " -std=c++17 -O0 -fPIC -w -ffp-contract=off -fno-exceptions -fno-asynchronous-unwind-tables " +
           setting("EMU_FLAGS", "");
}

std::string include(const std::string& folder) { return " -I'" + folder + "' -I'" + setting("EMU_KERNELS", EMU_KERNELS) + "'"; }

void write_headers(Scratch& to, const Program& p) {
    for (const auto& header : p.headers) to.write(header.first, header.second);
}

// The folder in which these headers are for this compiler, made by whichever process is the first; empty if there is none.
std::string kept_headers(const Program& p) {
    static const char* const FIRST = "program/program.cuh";
    const std::string root = setting("EMU_HEADERS", "");
    if (root.empty() || !p.headers.count(FIRST)) return "";
    std::string all = compiler() + include("");
    for (const auto& header : p.headers) all += header.first + '\0' + header.second + '\0';
    const std::string folder = root + "/" + std::to_string(std::hash<std::string>()(all));
    if (access(folder.c_str(), R_OK) == 0) return folder;
    mkdir(root.c_str(), 0700);
    Scratch scratch(root);
    if (scratch.path.empty()) return "";
    write_headers(scratch, p);
    const std::string first = scratch.path + "/" + FIRST;
    const std::string command = compiler() + include(scratch.path) + " -x c++-header '" + first + "' -o '" + scratch.file(std::string(FIRST) + ".gch") + "' 2>/dev/null";
    // A compiler that cannot do this does without.
    if (std::system(command.c_str()) != 0) unlink((first + ".gch").c_str());
    return scratch.keep_as(folder) || access(folder.c_str(), R_OK) == 0 ? folder : "";
}

// What modules use of libraries: to look through all that a compiler links programs with takes longer than the rest of linking. Other flags may need that.
std::string libraries() { return setting("EMU_FLAGS", "").empty() ? " -nostdlib -lm -lc -lgcc" : ""; }

Result compile(Program& p) {
    for (const auto& header : p.headers)
        if (!harmless(header.first)) return p.log = "bad name of a header: " + header.first, INVALID_INPUT;
    Scratch scratch(setting("TMPDIR", "/tmp"));
    if (scratch.path.empty()) return p.log = "no temporary folder can be made", COMPILATION;
    const std::string kept = kept_headers(p);
    if (kept.empty()) write_headers(scratch, p);
    scratch.write("program.cu", p.source);
    const std::string library = scratch.file("program.so"), log = scratch.file("log");
    const std::string command = compiler() + " -shared" + include(kept.empty() ? scratch.path : kept) + " -x c++ '" +
                                scratch.path + "/program.cu' -x none" + libraries() + " -o '" + library + "' 2>'" + log + "'";
    const int status = std::system(command.c_str());
    p.log = contents(log);
    if (status != 0) return COMPILATION;
    p.image = contents(library);
    return SUCCESS;
}

Program& of(void* program) { return *static_cast<Program*>(program); }

}   // namespace

#define NVRTC extern "C" __attribute__((visibility("default"))) int

NVRTC nvrtcVersion(int* major, int* minor) { return *major = 12, *minor = 9, SUCCESS; }
NVRTC nvrtcGetNumSupportedArchs(int* count) { return *count = 1, SUCCESS; }
NVRTC nvrtcGetSupportedArchs(int* architectures) { return *architectures = 90, SUCCESS; }
NVRTC nvrtcCreateProgram(
    void** program, const char* source, const char* name, int count, const char* const* texts, const char* const* names
) {
    Program* p = new Program{name ? name : "program.cu", source, "", "", {}};
    for (int i = 0; i < count; i++) p->headers[names[i]] = texts[i];
    return *program = p, SUCCESS;
}
NVRTC nvrtcDestroyProgram(void** program) { return delete static_cast<Program*>(*program), *program = nullptr, SUCCESS; }
NVRTC nvrtcCompileProgram(void* program, int, const char* const*) { return compile(of(program)); }
NVRTC nvrtcGetProgramLogSize(void* program, size_t* bytes) { return *bytes = of(program).log.size() + 1, SUCCESS; }
NVRTC nvrtcGetProgramLog(void* program, char* log) {
    return memcpy(log, of(program).log.c_str(), of(program).log.size() + 1), SUCCESS;
}
NVRTC nvrtcGetCUBINSize(void* program, size_t* bytes) { return *bytes = of(program).image.size(), SUCCESS; }
NVRTC nvrtcGetCUBIN(void* program, char* image) {
    return memcpy(image, of(program).image.data(), of(program).image.size()), SUCCESS;
}
// There is no intermediate code.
NVRTC nvrtcGetPTXSize(void*, size_t* bytes) { return *bytes = 0, SUCCESS; }
NVRTC nvrtcGetPTX(void*, char*) { return SUCCESS; }
extern "C" __attribute__((visibility("default"))) const char* nvrtcGetErrorString(int error) {
    return error == SUCCESS ? "NVRTC_SUCCESS" : error == COMPILATION ? "NVRTC_ERROR_COMPILATION" : "NVRTC_ERROR_INVALID_INPUT";
}
