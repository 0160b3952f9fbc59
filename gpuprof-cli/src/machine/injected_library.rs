//! The library by which `gpuprof run` measures programs that do not use gpuprof.

use std::env;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

use super::libraries;
use gpuprof_report::sanitize;
use object::Endianness;
use object::elf::{EM_AARCH64, EM_X86_64, FileHeader64, Machine};
use object::read::elf::{FileHeader, ProgramHeader};

/// Has the CUDA driver load a library into the program.
pub(crate) const VARIABLE: &str = "CUDA_INJECTION64_PATH";

/// Has NVTX load a library into the program.
pub(crate) const NVTX_VARIABLE: &str = "NVTX_INJECTION64_PATH";

const FILE: &str = "libgpuprof_inject.so";

/// Tools that refuse to work, or end the program, if another library is injected (ncu 2025.3), and
/// a variable that each sets for what it runs.
const TOOLS: [(&str, &str); 2] = [
    ("Nsight Compute", "NV_NSIGHT_INJECTION_TRANSPORT_TYPE"),
    ("Nsight Systems", "NSYS_PROFILING_SESSION_ID"),
];

/// The commands of such tools, and of others that inject a library of their own.
const TOOL_COMMANDS: [&str; 4] = ["compute-sanitizer", "cuda-gdb", "ncu", "nsys"];

/// Where it is, relative to the folder of this program: as installed, and as cargo builds it.
const PLACES: [&str; 2] = ["../lib/gpuprof", "."];

/// Characters of a path that a message shows.
const MAX_PATH: usize = 200;

/// The machine that this command runs on.
const MACHINE: Machine = if cfg!(target_arch = "aarch64") {
    EM_AARCH64
} else {
    EM_X86_64
};

/// What to do.
pub(crate) const FIX: &str = "cargo xtask install, in a clone of gpuprof";

/// Why programs without gpuprof cannot be measured.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum NoInjection {
    NotInstalled,
    /// The file, and what is wrong with it.
    Unfit(PathBuf, &'static str),
    OtherVersion(PathBuf, String),
    /// The variable is set already.
    Taken(OsString),
    /// Another tool runs the program, or is the program.
    Tool(String),
}

/// The library to inject into this program.
pub(crate) fn find(program: &OsStr) -> Result<PathBuf, NoInjection> {
    let name = Path::new(program).file_name().unwrap_or(program);
    let is_command = |command: &&&str| name == **command;
    if let Some(command) = TOOL_COMMANDS.iter().find(is_command) {
        return Err(NoInjection::Tool((*command).to_owned()));
    }
    match env::var_os(VARIABLE).filter(|library| !library.is_empty()) {
        // A run inside another one.
        Some(library) if check(Path::new(&library)).is_ok() => Ok(library.into()),
        Some(library) => Err(NoInjection::Taken(library)),
        None => match TOOLS.iter().find(|(_, set)| env::var_os(set).is_some()) {
            Some((tool, _)) => Err(NoInjection::Tool((*tool).to_owned())),
            None => find_installed(),
        },
    }
}

/// The same, whether another is to be injected or not.
pub(crate) fn find_installed() -> Result<PathBuf, NoInjection> {
    let program = env::current_exe().and_then(fs::canonicalize);
    let folder = program
        .ok()
        .and_then(|path| Some(path.parent()?.to_owned()));
    find_from(&folder.ok_or(NoInjection::NotInstalled)?)
}

/// The same for a program in this folder.
fn find_from(folder: &Path) -> Result<PathBuf, NoInjection> {
    let mut files = PLACES
        .map(|place| folder.join(place).join(FILE))
        .into_iter();
    let file = files.find(|file| file.exists());
    let file = file.ok_or(NoInjection::NotInstalled)?;
    // The path must hold in any folder of the program's.
    let file = fs::canonicalize(&file).unwrap_or(file);
    check(&file)?;
    Ok(file)
}

/// The installed library, which is also loaded into this process.
pub(crate) fn find_loadable() -> Result<PathBuf, NoInjection> {
    let file = find_installed()?;
    if libraries::opens(&file) {
        Ok(file)
    } else {
        Err(NoInjection::Unfit(file, "does not open"))
    }
}

/// The driver ignores a library that does not fit without a word.
fn check(file: &Path) -> Result<(), NoInjection> {
    let unfit = |what| NoInjection::Unfit(file.to_owned(), what);
    let bytes = fs::read(file).map_err(|_| unfit("cannot be read"))?;
    let data = &*bytes;
    let not_elf = |_| unfit("is no 64-bit ELF library");
    let header = FileHeader64::<Endianness>::parse(data).map_err(not_elf)?;
    let endian = header.endian().map_err(not_elf)?;
    if header.e_machine(endian) != MACHINE {
        return Err(unfit("is for another machine"));
    }
    let version = version(header, endian, data).ok_or_else(|| unfit("is not gpuprof's"))?;
    if version == env!("CARGO_PKG_VERSION") {
        Ok(())
    } else {
        Err(NoInjection::OtherVersion(file.to_owned(), version))
    }
}

/// The version in gpuprof's ELF note, behind four bytes for the running program.
fn version(header: &FileHeader64<Endianness>, endian: Endianness, data: &[u8]) -> Option<String> {
    for segment in header.program_headers(endian, data).ok()? {
        let Some(mut notes) = segment.notes(endian, data).ok().flatten() else {
            continue;
        };
        while let Ok(Some(note)) = notes.next() {
            if note.name() == b"gpuprof" {
                let version = note.desc().get(4..)?;
                let version = version.split(|byte| *byte == 0).next()?;
                return Some(String::from_utf8_lossy(version).into_owned());
            }
        }
    }
    None
}

impl fmt::Display for NoInjection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = |path: &Path| sanitize::short(&path.to_string_lossy(), MAX_PATH).into_owned();
        match self {
            Self::NotInstalled => write!(f, "{FILE} is not installed with this command"),
            Self::Unfit(file, what) => write!(f, "{} {what}", shown(file)),
            Self::OtherVersion(file, version) => write!(
                f,
                "{} is of version {}, and this command of {}",
                shown(file),
                sanitize::short(version, MAX_PATH),
                env!("CARGO_PKG_VERSION")
            ),
            Self::Tool(tool) => write!(f, "{tool} measures them"),
            Self::Taken(library) => {
                let library = Path::new(library);
                let path = library.to_string_lossy();
                let tool = match () {
                    () if path.contains("nsight-systems") => " of Nsight Systems",
                    () if path.contains("nsight-compute") => " of Nsight Compute",
                    () => "",
                };
                let path = shown(library);
                write!(f, "{VARIABLE} names {path}{tool}, which is left as it is")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A library of this version for this machine, of an ELF header and one note.
    fn library(machine: Machine, name: &[u8; 8], version: &str) -> Vec<u8> {
        let description = [&[0; 4], version.as_bytes(), &[0]].concat();
        let mut file = vec![0x7f, b'E', b'L', b'F', 2, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0];
        file.extend(3_u16.to_le_bytes());
        file.extend(machine.0.to_le_bytes());
        file.extend(1_u32.to_le_bytes());
        for word in [0_u64, 64, 0] {
            file.extend(word.to_le_bytes());
        }
        file.extend(0_u32.to_le_bytes());
        for half in [64_u16, 56, 1, 64, 0, 0] {
            file.extend(half.to_le_bytes());
        }
        let note = 12 + 8 + description.len().next_multiple_of(4) as u64;
        // PT_NOTE, readable.
        file.extend(4_u32.to_le_bytes());
        file.extend(4_u32.to_le_bytes());
        for word in [120, 120, 120, note, note, 4] {
            file.extend(word.to_le_bytes());
        }
        for number in [8, description.len() as u32, 1] {
            file.extend(number.to_le_bytes());
        }
        file.extend(name);
        file.extend(&description);
        file.resize(120 + note as usize, 0);
        file
    }

    #[test]
    fn the_library_is_found_and_checked() {
        let prefix = tempfile::tempdir().expect("a folder");
        let root = fs::canonicalize(prefix.path()).expect("a path");
        let (bin, lib) = (root.join("bin"), root.join("lib/gpuprof"));
        fs::create_dir_all(&bin).expect("a folder");
        fs::create_dir_all(&lib).expect("a folder");
        assert_eq!(find_from(&bin), Err(NoInjection::NotInstalled));
        let version = env!("CARGO_PKG_VERSION");
        let file = lib.join(FILE);
        let other = if MACHINE == EM_X86_64 {
            EM_AARCH64
        } else {
            EM_X86_64
        };
        for (bytes, expected) in [
            (library(MACHINE, b"gpuprof\0", version), None),
            (
                library(MACHINE, b"gpuprof\0", "0.0.9"),
                Some("is of version 0.0.9, and"),
            ),
            (
                library(MACHINE, b"another\0", version),
                Some("is not gpuprof's"),
            ),
            (
                library(other, b"gpuprof\0", version),
                Some("is for another machine"),
            ),
            (b"text".to_vec(), Some("is no 64-bit ELF library")),
            (Vec::new(), Some("is no 64-bit ELF library")),
        ] {
            fs::write(&file, bytes).expect("a file");
            match (find_from(&bin), expected) {
                (found, None) => assert_eq!(found, Ok(file.clone())),
                (Err(error), Some(text)) => {
                    let error = error.to_string();
                    assert!(error.contains(text), "{error}");
                }
                (Ok(_), Some(text)) => panic!("found in spite of {text}"),
            }
        }
        // As cargo builds both.
        let beside = bin.join(FILE);
        fs::remove_file(&file).expect("it exists");
        fs::write(&beside, library(MACHINE, b"gpuprof\0", version)).expect("a file");
        assert_eq!(find_from(&bin), Ok(beside));
    }

    #[test]
    fn the_tool_that_has_the_variable_is_named() {
        let path = "/opt/nvidia/nsight-systems/2025.3.1/target-linux-x64/libToolsInjection64.so";
        let taken = NoInjection::Taken(path.into()).to_string();
        assert!(taken.contains(" of Nsight Systems, which"), "{taken}");
        let taken = NoInjection::Taken("/opt/tool.so".into()).to_string();
        assert_eq!(
            taken,
            "CUDA_INJECTION64_PATH names /opt/tool.so, which is left as it is"
        );
    }
}
