//! What does not keep the rules yet, by the beginning of file names. Emptied, and then removed with
//! its two uses, when the restructuring is done.

pub(crate) const SIZES: [&str; 7] = [
    "benches/",
    "examples/",
    "gpuprof-report/",
    "gpuprof-runtime/",
    "kernels/",
    "tests/",
    "xtask/src/",
];

pub(crate) const CIRCLES: [&str; 2] = ["gpuprof-report/src/findings/", "xtask/src/needs/"];

pub(crate) fn has(list: &[&str], file: &str) -> bool {
    list.iter().any(|start| file.starts_with(start))
}
