//! What does not keep the rules yet, by the beginning of file names. Emptied, and then removed with
//! its two uses, when the restructuring is done.

pub(crate) const SIZES: &[&str] = &[
    "gpuprof-runtime/src/collector/",
    "gpuprof-runtime/src/span/",
    "gpuprof-runtime/src/stats/",
    "gpuprof-runtime/src/macro_support.rs",
    "gpuprof-runtime/src/nvtx.rs",
    "gpuprof-runtime/src/clock.rs",
    "gpuprof-runtime/src/site.rs",
    "gpuprof-runtime/src/sync.rs",
    "gpuprof-runtime/tests/",
    "tests/suite/",
];

pub(crate) const CIRCLES: &[&str] = &["xtask/src/needs/"];

pub(crate) fn has(list: &[&str], file: &str) -> bool {
    list.iter().any(|start| file.starts_with(start))
}
