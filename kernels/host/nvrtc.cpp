// A stand-in for NVRTC: compiles kernel source for the emulator with the system's C++ compiler. What it gives as machine code
// is a shared object, which the stand-in driver loads.
//
// Environment:
//     EMU_CXX    the compiler, `c++` if not given
//     EMU_FLAGS  further options, such as -fsanitize=address or -DEMU_RACE
//     EMU_KERNELS  the folder that has host/emulator.h; what it was when this library was built, if not given
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <fstream>
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
    Scratch() {
        std::string pattern = setting("TMPDIR", "/tmp") + "/par-emulator-XXXXXX";
        if (mkdtemp(pattern.data())) path = pattern;
    }
    ~Scratch() {
        for (const std::string& f : files) unlink(f.c_str());
        for (auto f = folders.rbegin(); f != folders.rend(); ++f) rmdir(f->c_str());
        if (!path.empty()) rmdir(path.c_str());
    }
    Scratch(const Scratch&) = delete;
    Scratch& operator=(const Scratch&) = delete;
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

Result compile(Program& p) {
    Scratch scratch;
    if (scratch.path.empty()) return p.log = "no temporary folder can be made", COMPILATION;
    for (const auto& header : p.headers) {
        if (!harmless(header.first)) return p.log = "bad name of a header: " + header.first, INVALID_INPUT;
        scratch.write(header.first, header.second);
    }
    scratch.write("program.cu", p.source);
    const std::string library = scratch.file("program.so"), log = scratch.file("log");
    const std::string command = setting("EMU_CXX", "c++") + " -std=c++17 -O1 -fPIC -shared -w -ffp-contract=off " +
                                setting("EMU_FLAGS", "") + " -I'" + scratch.path + "' -I'" +
                                setting("EMU_KERNELS", EMU_KERNELS) + "' -x c++ '" + scratch.path + "/program.cu' -o '" +
                                library + "' 2>'" + log + "'";
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
