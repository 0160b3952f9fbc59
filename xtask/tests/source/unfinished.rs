//! What does not keep the rules yet, by the beginning of file names. Emptied, and then removed with
//! its two uses, when the restructuring is done.

pub(crate) const SIZES: [&str; 9] = [
    "benches/",
    "examples/",
    "gpuprof-macros/",
    "gpuprof-report/",
    "gpuprof-runtime/",
    "kernels/",
    "src/",
    "tests/",
    "xtask/src/",
];

pub(crate) const CIRCLES: [&str; 5] = [
    "gpuprof-macros/src/args.rs",
    "gpuprof-report/src/findings/",
    "gpuprof-runtime/src/collector/",
    "gpuprof-runtime/src/stats/",
    "xtask/src/needs/",
];

pub(crate) fn has(list: &[&str], file: &str) -> bool {
    list.iter().any(|start| file.starts_with(start))
}
