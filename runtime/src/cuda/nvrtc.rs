//! NVRTC, CUDA's compiler as a library, loaded at run time.
//!
//! The search for NVRTC goes to where `PAR_NVRTC` says (the library, or a folder with it), where the system's loader looks, in the folders of
//! `CUDA_PATH` and of CUDA's usual place, and in those of the Python package `nvidia-cuda-nvrtc-cu12`.

use super::headers::HEADERS;
use crate::unavailable::{LoadError, Unavailable};
use libloading::Library;
use std::ffi::{CString, c_char, c_int, c_void};
use std::path::{Path, PathBuf};
use std::ptr::null_mut;

type Status = c_int;
type Handle = *mut c_void;
type Texts = *const *const c_char;

/// Its functions, as NVRTC's manual declares them.
struct Functions {
    version: unsafe extern "C" fn(*mut c_int, *mut c_int) -> Status,
    create: unsafe extern "C" fn(*mut Handle, *const c_char, *const c_char, c_int, Texts, Texts) -> Status,
    compile: unsafe extern "C" fn(Handle, c_int, Texts) -> Status,
    log_size: unsafe extern "C" fn(Handle, *mut usize) -> Status,
    log: unsafe extern "C" fn(Handle, *mut c_char) -> Status,
    code_size: unsafe extern "C" fn(Handle, *mut usize) -> Status,
    code: unsafe extern "C" fn(Handle, *mut c_char) -> Status,
    ptx_size: unsafe extern "C" fn(Handle, *mut usize) -> Status,
    ptx: unsafe extern "C" fn(Handle, *mut c_char) -> Status,
    destroy: unsafe extern "C" fn(*mut Handle) -> Status,
}

/// The library.
pub struct Nvrtc {
    functions: Functions,
    /// Major and minor number.
    pub version: (i32, i32),
    /// Path under which it was found.
    pub path: PathBuf,
    _library: Library,
    /// Library that the compiler opens by name; loaded from beside it, since not all packages tell the loader where it is.
    _builtins: Option<Library>,
}

/// Source to compile.
pub struct Source<'a> {
    /// For messages.
    pub name: &'a str,
    /// C++; the headers of Par can be included.
    pub text: &'a str,
    /// For which: `sm_90`, or `compute_90` for intermediate code (PTX) instead of machine code, which takes two thirds of the time.
    pub architecture: &'a str,
}

/// NVRTC's answer to an option that it does not know.
const INVALID_OPTION: Status = 5;

const NAMES: [&str; 3] = ["libnvrtc.so.12", "libnvrtc.so.13", "libnvrtc.so"];

impl Nvrtc {
    /// Finds and loads the library.
    pub fn open() -> Result<Nvrtc, Unavailable> {
        let found = candidates().into_iter().find_map(Nvrtc::load);
        found.unwrap_or_else(|| {
            let message = "no CUDA compiler: libnvrtc was not found; install CUDA or the Python package \
                           nvidia-cuda-nvrtc-cu12, or say where it is in PAR_NVRTC";
            Err(Unavailable(message.into()))
        })
    }

    /// The library at a path, if there is one.
    fn load(path: PathBuf) -> Option<Result<Nvrtc, Unavailable>> {
        let builtins = path.parent().filter(|d| d.is_absolute()).and_then(builtins);
        // SAFETY: it is NVIDIA's library, or one that stands in for it; to load it runs nothing but its initialisers.
        let library = unsafe { Library::new(&path) }.ok()?;
        let functions = match functions(&library) {
            Ok(functions) => functions,
            Err(e) => return Some(Err(Unavailable(format!("{} is no NVRTC: {e}", path.display())))),
        };
        let (mut major, mut minor) = (0, 0);
        // SAFETY: the addresses are those of integers.
        unsafe { (functions.version)(&mut major, &mut minor) };
        let version = (major, minor);
        Some(Ok(Nvrtc { functions, version, path, _library: library, _builtins: builtins }))
    }

    /// Code for the architecture, and what the compiler says (for machine code, of registers, too).
    pub fn compile(&self, source: &Source) -> Result<(Vec<u8>, String), LoadError> {
        let text = |s: &str| CString::new(s).unwrap_or_default();
        let (code, name) = (text(source.text), text(source.name));
        let names: Vec<CString> = HEADERS.iter().map(|h| text(h.0)).collect();
        let texts: Vec<CString> = HEADERS.iter().map(|h| text(h.1)).collect();
        let options: Vec<CString> = options(source.architecture).iter().map(|o| text(o)).collect();
        let [names, texts, options] =
            [&names, &texts, &options].map(|xs| xs.iter().map(|x| x.as_ptr()).collect::<Vec<_>>());
        let f = &self.functions;
        let mut program = null_mut();
        // SAFETY: all texts end in 0 and live until the program is destroyed; the arrays are as long as is said.
        unsafe {
            let n = names.len() as c_int;
            let made =
                (f.create)(&mut program, code.as_ptr(), name.as_ptr(), n, texts.as_ptr(), names.as_ptr());
            if made != 0 {
                return Err(LoadError::Refused(format!("NVRTC makes no program (error {made})")));
            }
            let compiled = (f.compile)(program, options.len() as c_int, options.as_ptr());
            let log = String::from_utf8_lossy(&bytes(program, f.log_size, f.log)).into_owned();
            let log = log.trim_end_matches('\0').to_string();
            let is_virtual = source.architecture.starts_with("compute_");
            let (size, code) = if is_virtual { (f.ptx_size, f.ptx) } else { (f.code_size, f.code) };
            let code = bytes(program, size, code);
            (f.destroy)(&mut program);
            // All other options are right: they are the same for every program.
            if compiled == INVALID_OPTION {
                let ((major, minor), name) = (self.version, source.architecture);
                let message =
                    format!("CUDA's compiler {major}.{minor} does not know the architecture {name}");
                return Err(Unavailable(message).into());
            }
            if compiled != 0 || (code.is_empty() && source.architecture != SYNTAX) {
                return Err(LoadError::Refused(format!("NVRTC refuses it (error {compiled}):\n{log}")));
            }
            Ok((code, log))
        }
    }
}

/// Stands for an architecture: only syntax and types are checked, which takes an eighth of the time, and there is no code.
pub const SYNTAX: &str = "syntax";

/// Options for compiling everything: floats as they are written, without fused operations.
pub fn options(architecture: &str) -> Vec<String> {
    let [architecture, for_it] = match architecture {
        SYNTAX => ["compute_90", "--fdevice-syntax-only"],
        architecture => [architecture, "--ptxas-options=-v"],
    };
    let architecture = format!("--gpu-architecture={architecture}");
    ["--std=c++17", "--fmad=false", for_it, &architecture].map(str::to_string).into()
}

/// Bytes that a pair of functions gives: their number, and the bytes.
///
/// # Safety
/// The functions are NVRTC's for this, and the program is one of its.
unsafe fn bytes(
    program: Handle,
    size: unsafe extern "C" fn(Handle, *mut usize) -> Status,
    get: unsafe extern "C" fn(Handle, *mut c_char) -> Status,
) -> Vec<u8> {
    let mut n = 0;
    // SAFETY: as required of the caller; the buffer is as long as the library says.
    unsafe {
        if size(program, &mut n) != 0 {
            return Vec::new();
        }
        let mut bytes = vec![0u8; n];
        if get(program, bytes.as_mut_ptr().cast()) != 0 { Vec::new() } else { bytes }
    }
}

fn functions(library: &Library) -> Result<Functions, libloading::Error> {
    // SAFETY: these are the types that the manual declares.
    unsafe {
        Ok(Functions {
            version: *library.get(b"nvrtcVersion\0")?,
            create: *library.get(b"nvrtcCreateProgram\0")?,
            compile: *library.get(b"nvrtcCompileProgram\0")?,
            log_size: *library.get(b"nvrtcGetProgramLogSize\0")?,
            log: *library.get(b"nvrtcGetProgramLog\0")?,
            code_size: *library.get(b"nvrtcGetCUBINSize\0")?,
            code: *library.get(b"nvrtcGetCUBIN\0")?,
            ptx_size: *library.get(b"nvrtcGetPTXSize\0")?,
            ptx: *library.get(b"nvrtcGetPTX\0")?,
            destroy: *library.get(b"nvrtcDestroyProgram\0")?,
        })
    }
}

/// Paths at which the library may be, the likeliest first.
fn candidates() -> Vec<PathBuf> {
    let said = std::env::var_os("PAR_NVRTC").filter(|path| !path.is_empty());
    if let Some(path) = said.map(PathBuf::from) {
        return if path.is_dir() { in_folder(&path) } else { vec![path] };
    }
    let mut paths: Vec<PathBuf> = NAMES.iter().map(PathBuf::from).collect();
    let cuda = std::env::var_os("CUDA_PATH").map(PathBuf::from);
    for root in cuda.into_iter().chain([PathBuf::from("/usr/local/cuda")]) {
        paths.extend(in_folder(&root.join("lib64")));
    }
    paths.extend(site_packages().iter().flat_map(|d| in_folder(&d.join("nvidia/cuda_nvrtc/lib"))));
    paths
}

fn in_folder(folder: &Path) -> Vec<PathBuf> {
    NAMES.iter().map(|n| folder.join(n)).filter(|p| p.exists()).collect()
}

/// Folders of Python packages: of the environment that is active, the user's, and the system's.
fn site_packages() -> Vec<PathBuf> {
    let home = std::env::var_os("HOME").map(|h| PathBuf::from(h).join(".local"));
    let active = std::env::var_os("VIRTUAL_ENV").map(PathBuf::from);
    let roots = active.into_iter().chain(home).chain(["/usr/local", "/usr"].map(PathBuf::from));
    let versions = |root: PathBuf| std::fs::read_dir(root.join("lib")).into_iter().flatten().flatten();
    let python = |p: &PathBuf| p.file_name().is_some_and(|n| n.to_string_lossy().starts_with("python3"));
    let folders = roots.flat_map(versions).map(|e| e.path()).filter(python);
    folders.flat_map(|p| [p.join("site-packages"), p.join("dist-packages")]).collect()
}

/// The library of builtin functions in the compiler's folder.
fn builtins(folder: &Path) -> Option<Library> {
    let files = std::fs::read_dir(folder).ok()?.flatten().map(|e| e.path());
    let is_it =
        |p: &PathBuf| p.file_name().is_some_and(|n| n.to_string_lossy().starts_with("libnvrtc-builtins.so"));
    let path = files.into_iter().find(is_it)?;
    // SAFETY: as for the compiler itself.
    unsafe { Library::new(path) }.ok()
}
