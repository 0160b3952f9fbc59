//! What grows in runs of hours with older versions of libcupti, as NVIDIA names it.

/// NVIDIA's list of what each version of CUPTI fixes.
const SOURCE: &str = "https://docs.nvidia.com/cupti/release-notes/release-notes.html";

/// Fixes that [`SOURCE`] names in "Updates in CUDA 13.3" and "Updates in CUDA 13.4 Update 1". A
/// version below the number, that of `cuptiGetVersion`, lacks the fix; which of them have the fault
/// is not stated. The number of the update is not stated either, so that CUDA 13.4 passes.
const FIXES: [(u32, &str); 2] = [
    (
        130_300,
        "CUDA 13.3: a memory leak with graphs that copy or set memory",
    ),
    (
        130_400,
        "CUDA 13.4 Update 1: CPU time of recording grew without bound",
    ),
];

/// A line for each fix that a version lacks, and the source; empty if it lacks none.
pub(super) fn missing_fixes(version: u32) -> String {
    let missing = FIXES.iter().filter(|(first, _)| version < *first);
    let mut lines: Vec<String> = missing.map(|(_, fix)| format!("fixed in {fix}")).collect();
    if !lines.is_empty() {
        lines.push(SOURCE.to_owned());
    }
    lines.join("\n")
}
