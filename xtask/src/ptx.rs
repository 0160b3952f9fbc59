//! `cargo xtask ptx`: makes the checked-in PTX of `kernels/` from its CUDA C.
//!
//! Neither users nor CI have `nvcc`, so the PTX is checked in, and one fixed compiler must
//! reproduce it byte for byte. That compiler is NVRTC, which PyPI has as a wheel and which needs no
//! GPU.

use std::env;
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::fs;
use std::path::{Path, PathBuf};

use libloading::Library;

use crate::wheel;

/// What `--gpu-architecture` asks for: Turing, the oldest GPU that CUDA 13 still supports.
const ARCHITECTURE: &str = "compute_75";

/// The folder that line information names; NVRTC would put the present one before a relative path.
const FOLDER: &str = "kernels/cuda";

/// The compiler's place inside the wheel; its builtins lie beside it and are found by its RUNPATH.
const LIBRARY: &str = "nvidia/cuda_nvrtc/lib/libnvrtc.so.12";

const USAGE: &str = "usage: cargo xtask ptx [--check]
  rebuilds kernels/ptx/*.ptx from kernels/cuda/*.cu; --check only compares them";

/// Runs `cargo xtask ptx` with the arguments that follow the word `ptx`.
///
/// # Errors
/// A text for the user: a wrong argument, no python3 or pip, no wheel for this machine, a compile
/// error with NVRTC's log, or with `--check` the files that disagree with their source.
pub(crate) fn run(args: &[String]) -> Result<(), String> {
    let check = match args.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [] => false,
        ["--check"] => true,
        ["--help" | "-h"] => {
            println!("{USAGE}");
            return Ok(());
        }
        _ => return Err(format!("ptx: cannot use `{}`\n{USAGE}", args.join(" "))),
    };
    let root = repository_root();
    let kernels = root.join("kernels");
    let folder = target_dir(&root).join("nvrtc");
    wheel::unpack(&kernels.join("nvrtc.txt"), &folder)?;
    let nvrtc = Nvrtc::load(&folder.join(LIBRARY))?;

    let mut wrong = Vec::new();
    for source in sources(&kernels.join("cuda"))? {
        let name = source.file_stem().unwrap_or_default();
        let file = kernels.join("ptx").join(name).with_extension("ptx");
        let ptx = nvrtc.compile(&source)?;
        if check {
            wrong.extend(disagreement(&source, &file, &ptx, &root));
        } else {
            fs::write(&file, &ptx).map_err(|e| format!("cannot write {}: {e}", file.display()))?;
            println!("{}: {} bytes", shown(&file, &root), ptx.len());
        }
    }
    if wrong.is_empty() {
        return Ok(());
    }
    Err(format!(
        "{}\nrun `cargo xtask ptx` and check the result in",
        wrong.join("\n")
    ))
}

fn repository_root() -> PathBuf {
    let xtask = Path::new(env!("CARGO_MANIFEST_DIR"));
    xtask.parent().unwrap_or(xtask).to_path_buf()
}

fn target_dir(root: &Path) -> PathBuf {
    env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from)
}

/// A path relative to the repository's root, for messages.
fn shown(path: &Path, root: &Path) -> String {
    path.strip_prefix(root)
        .unwrap_or(path)
        .display()
        .to_string()
}

/// Every `.cu` file of the folder, in the order of their names.
fn sources(folder: &Path) -> Result<Vec<PathBuf>, String> {
    let unreadable = |e| format!("cannot list {}: {e}", folder.display());
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).map_err(unreadable)? {
        let path = entry.map_err(unreadable)?.path();
        if path.extension().is_some_and(|extension| extension == "cu") {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

/// One line on how the checked-in PTX differs from what its source gives now; `None` if it does
/// not.
fn disagreement(source: &Path, file: &Path, wanted: &str, root: &Path) -> Option<String> {
    let (source, name) = (shown(source, root), shown(file, root));
    let found = match fs::read_to_string(file) {
        Ok(found) if found == wanted => return None,
        Ok(found) => found,
        Err(e) => return Some(format!("{name}, the PTX of {source}, cannot be read: {e}")),
    };
    let same = found
        .lines()
        .zip(wanted.lines())
        .take_while(|(a, b)| a == b)
        .count();
    Some(format!(
        "{name} is not the PTX of {source}: first difference in line {}",
        same + 1
    ))
}

/// NVRTC's handle of a program.
type Program = *mut c_void;
type Size = unsafe extern "C" fn(Program, *mut usize) -> c_int;
type Text = unsafe extern "C" fn(Program, *mut c_char) -> c_int;

/// The functions of `nvrtc.h` in use, as pointers that are valid while `_library` is loaded.
struct Nvrtc {
    create: unsafe extern "C" fn(
        *mut Program,
        *const c_char,
        *const c_char,
        c_int,
        *const *const c_char,
        *const *const c_char,
    ) -> c_int,
    compile: unsafe extern "C" fn(Program, c_int, *const *const c_char) -> c_int,
    ptx_size: Size,
    ptx: Text,
    log_size: Size,
    log: Text,
    destroy: unsafe extern "C" fn(*mut Program) -> c_int,
    error_string: unsafe extern "C" fn(c_int) -> *const c_char,
    _library: Library,
}

impl Nvrtc {
    fn load(path: &Path) -> Result<Self, String> {
        // SAFETY: NVIDIA's library, checked against its pinned hash; loading it runs its
        // initializers only.
        let library = unsafe { Library::new(path) }
            .map_err(|e| format!("cannot load {}: {e}", path.display()))?;
        Ok(Self {
            create: symbol(&library, c"nvrtcCreateProgram")?,
            compile: symbol(&library, c"nvrtcCompileProgram")?,
            ptx_size: symbol(&library, c"nvrtcGetPTXSize")?,
            ptx: symbol(&library, c"nvrtcGetPTX")?,
            log_size: symbol(&library, c"nvrtcGetProgramLogSize")?,
            log: symbol(&library, c"nvrtcGetProgramLog")?,
            destroy: symbol(&library, c"nvrtcDestroyProgram")?,
            error_string: symbol(&library, c"nvrtcGetErrorString")?,
            _library: library,
        })
    }

    /// The PTX of a CUDA C file.
    fn compile(&self, source: &Path) -> Result<String, String> {
        let name = source
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        let unusable = |e: &dyn std::fmt::Display| format!("cannot use {}: {e}", source.display());
        let code = fs::read(source).map_err(|e| unusable(&e))?;
        let code = CString::new(code).map_err(|e| unusable(&e))?;
        // An absolute path, which the compiler leaves as it is.
        let label = CString::new(format!("/{FOLDER}/{name}")).map_err(|e| unusable(&e))?;

        let mut program: Program = std::ptr::null_mut();
        let (no_headers, no_names) = (std::ptr::null(), std::ptr::null());
        // SAFETY: both strings end in NUL and outlive the call; zero headers need no arrays.
        let code = unsafe {
            (self.create)(
                &mut program,
                code.as_ptr(),
                label.as_ptr(),
                0,
                no_headers,
                no_names,
            )
        };
        self.succeeded(code, "nvrtcCreateProgram")?;
        let ptx = self.compile_program(program, &name);
        // SAFETY: made by `create` above, destroyed once, and not used afterwards.
        let code = unsafe { (self.destroy)(&mut program) };
        self.succeeded(code, "nvrtcDestroyProgram")?;
        Ok(ptx?.replace(&format!("\"/{FOLDER}/"), &format!("\"{FOLDER}/")))
    }

    fn compile_program(&self, program: Program, name: &str) -> Result<String, String> {
        let architecture = CString::new(format!("--gpu-architecture={ARCHITECTURE}"))
            .map_err(|e| format!("cannot use {ARCHITECTURE}: {e}"))?;
        // For the lines of GPUPROF_STALLS.
        let options = [architecture.as_ptr(), c"--generate-line-info".as_ptr()];
        // SAFETY: a live program and options that outlive the call.
        let code = unsafe { (self.compile)(program, options.len() as c_int, options.as_ptr()) };
        let log = self.text(program, self.log_size, self.log)?;
        self.succeeded(code, &format!("compiling {name}"))
            .map_err(|e| format!("{e}\n{log}"))?;
        if !log.trim().is_empty() {
            eprintln!("{name}: {}", log.trim_end());
        }
        self.text(program, self.ptx_size, self.ptx)
    }

    /// A text from NVRTC, by two calls: the first returns its size with the NUL, the second the
    /// text.
    fn text(&self, program: Program, size: Size, text: Text) -> Result<String, String> {
        let mut bytes = 0;
        // SAFETY: a live program and a place for one number.
        let code = unsafe { size(program, &mut bytes) };
        self.succeeded(code, "asking for the size of a text")?;
        let mut buffer = vec![0u8; bytes];
        // SAFETY: the buffer holds as many bytes as NVRTC has just asked for.
        let code = unsafe { text(program, buffer.as_mut_ptr().cast()) };
        self.succeeded(code, "asking for a text")?;
        buffer.truncate(buffer.iter().position(|&byte| byte == 0).unwrap_or(bytes));
        String::from_utf8(buffer).map_err(|e| format!("NVRTC's text is not UTF-8: {e}"))
    }

    fn succeeded(&self, code: c_int, what: &str) -> Result<(), String> {
        if code == 0 {
            return Ok(());
        }
        // SAFETY: accepts any number.
        let text = unsafe { (self.error_string)(code) };
        // SAFETY: NVRTC answers with a static string that ends in NUL.
        let text = unsafe { CStr::from_ptr(text) };
        Err(format!("{what}: {}", text.to_string_lossy()))
    }
}

/// A function of the library by its name in `nvrtc.h`; the caller's type must be that header's.
fn symbol<T: Copy>(library: &Library, name: &CStr) -> Result<T, String> {
    // SAFETY: each caller names a function together with its type from nvrtc.h.
    let found = unsafe { library.get::<T>(name.to_bytes_with_nul()) };
    found
        .map(|symbol| *symbol)
        .map_err(|e| format!("NVRTC has no {}: {e}", name.to_string_lossy()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stale_or_missing_ptx_is_named_with_its_source() {
        let root = tempfile::tempdir().unwrap();
        let (source, file) = (root.path().join("a.cu"), root.path().join("a.ptx"));
        let say = |wanted| disagreement(&source, &file, wanted, root.path());

        let missing = say("one\ntwo\n").unwrap();
        assert!(missing.starts_with("a.ptx, the PTX of a.cu, cannot be read: "));
        fs::write(&file, "one\ntwo\n").unwrap();
        assert_eq!(say("one\ntwo\n"), None);
        let stale = "a.ptx is not the PTX of a.cu: first difference in line 2";
        assert_eq!(say("one\n2\n").as_deref(), Some(stale));
    }

    #[test]
    fn a_wrong_argument_is_answered_with_what_is_accepted() {
        let error = run(&["--chek".to_owned()]).unwrap_err();
        assert!(error.contains("`--chek`") && error.contains("[--check]"));
    }
}
