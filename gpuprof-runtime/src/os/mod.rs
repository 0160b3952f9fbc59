//! What gpuprof needs of the operating system: threads, files and descriptors.

pub(crate) mod atomic_file;
pub(crate) mod fd;
pub(crate) mod thread;
