//! What this machine has of the things that profiling needs.

pub(crate) mod injected_library;
pub(crate) mod libclang;
pub(crate) mod libraries;
pub(crate) mod nvcc;
pub(crate) mod permissions;

use std::env;
use std::path::PathBuf;

/// The first executable file of this name in the folders of `PATH`.
pub(crate) fn program(name: &str) -> Option<PathBuf> {
    let folders = env::var_os("PATH")?;
    let mut files = env::split_paths(&folders).map(|folder| folder.join(name));
    files.find(|file| {
        rustix::fs::access(file, rustix::fs::Access::EXEC_OK).is_ok() && file.is_file()
    })
}
