//! A machine with the simulated driver and libcupti under the real ones' names, and the programs
//! that run on it.

use std::ffi::OsStr;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use support::program::{Folder, Program};

/// The libraries' names for programs, and what cargo calls them.
const LIBRARIES: [(&str, &str); 2] = [
    ("libcuda.so.1", "libsimcuda.so"),
    ("libcupti.so.13", "libsimcupti.so"),
];

/// A source file of this folder.
pub(crate) fn source(file: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/any_program")
        .join(file)
}

/// The library that `gpuprof run` injects.
pub(crate) fn injected_library() -> PathBuf {
    built("libgpuprof_inject.so")
}

pub(crate) fn built(file: &str) -> PathBuf {
    let path = simbase::library::find(file, None, env!("CARGO_TARGET_TMPDIR"));
    path.expect("cargo builds the libraries of dependencies")
}

/// A folder with the libraries, and the program of `program.c`.
pub(crate) struct Machine {
    pub(crate) folder: Folder,
}

impl Machine {
    pub(crate) fn new() -> Self {
        let folder = Folder::create();
        for (name, file) in LIBRARIES {
            symlink(built(file), folder.path(name)).expect("a link");
        }
        let machine = Self { folder };
        machine.compile("program", "program.c", &[]);
        machine
    }

    /// Compiles a source file of this folder, with further `options`. Returns where it is.
    pub(crate) fn compile(&self, name: &str, file: &str, options: &[&OsStr]) -> PathBuf {
        let path = self.folder.path(name);
        let mut compiler = Command::new("cc");
        compiler.args(["-Wall", "-Werror", "-O1", "-pthread"]);
        compiler.args(options).arg("-o").arg(&path);
        compiler.arg(source(file)).arg("-ldl");
        assert!(compiler.status().expect("a C compiler").success());
        path
    }

    /// The C program, which gets the library.
    pub(crate) fn program(&self, scenario: &str) -> Program {
        self.run(&self.folder.path("program"))
            .arguments(&[scenario])
    }

    /// A program at `path`, which gets the library.
    pub(crate) fn run(&self, path: &Path) -> Program {
        self.run_alone(path)
            .env("CUDA_INJECTION64_PATH", injected_library())
    }

    /// A program at `path`.
    pub(crate) fn run_alone(&self, path: &Path) -> Program {
        Program::at(path).env("LD_LIBRARY_PATH", self.folder.path(""))
    }
}
