//! The lines of a profile's kernels, and of its unattributed activities.

use super::line_cache::{LIMIT, LineCache};
use super::stack_totals::{MAX_ROW_STACKS, StackTotals};
use crate::cupti::collect::python;
use crate::cupti::collect::stack_table::MAX_STACKS;
use gpuprof_report::profile::{
    LaunchLine, LaunchStacks, NOT_LOOKED_UP, OTHER_STACKS, Profile, REPLACED_FILE, UNKNOWN_FUNCTION,
};

/// The note of a program in which functions or lines are unknown.
const NO_DEBUG_INFORMATION: &str = "some launches have no source line: the program has no debug \
    information, or is stripped; build with debug = \"line-tables-only\" and strip = \"none\" in \
    its Cargo.toml's profile";

/// The same of a program whose functions of Python are known.
const NO_PYTHON_FUNCTION: &str = "some launches have no source line: no function of Python was on \
    their thread, as in PyTorch's backward pass, and the native code has no debug information";

const REPLACED: &str = "some launches have no source line: the program's file, or a library's, was \
    deleted or replaced while it ran; build it elsewhere meanwhile";

/// Fills in what was sampled, given the stacks of unattributed activities. The rows of kernels
/// have their lines.
pub(crate) fn write_to_profile(
    profile: &mut Profile,
    unattributed: &StackTotals,
    lines: &LineCache,
) {
    let mut stacks = LaunchStacks::default();
    for kernel in &profile.kernels {
        stacks.calls += kernel.times.calls;
        stacks.sampled_calls += kernel.launch_lines.iter().map(|of| of.calls).sum::<u64>();
    }
    stacks.unattributed = lines.lines_of_row(unattributed);
    let of_kernels = profile.kernels.iter().map(|kernel| &kernel.launch_lines);
    let all: Vec<&LaunchLine> = of_kernels.chain([&stacks.unattributed]).flatten().collect();
    let has = |is: &dyn Fn(&LaunchLine) -> bool| all.iter().any(|line| is(line));
    let has_function = |name: &str| has(&|line| line.function == name);
    let lacks_lines =
        has_function(UNKNOWN_FUNCTION) || has(&|line| line.is_of_program() && line.file.is_none());
    let why_native = if python::interpreter_address().is_some() {
        NO_PYTHON_FUNCTION
    } else {
        NO_DEBUG_INFORMATION
    };
    let no_python = python::unavailable();
    let notes = [
        // Where lines of Python would be, their absence is the reason.
        (lacks_lines && no_python.is_none()).then(|| why_native.to_owned()),
        no_python.map(|reason| format!("launches have no lines of Python: {reason}")),
        has_function(REPLACED_FILE).then(|| REPLACED.to_owned()),
        has_function(NOT_LOOKED_UP).then(|| {
            format!(
                "source lines were looked up for {} s, which is the limit; those that are missing \
                 are {NOT_LOOKED_UP}",
                LIMIT.as_secs()
            )
        }),
        has_function(OTHER_STACKS).then(|| {
            format!(
                "more than {MAX_STACKS} distinct stacks of launches, or {MAX_ROW_STACKS} of a \
                 kernel in a function: the rest have no source line"
            )
        }),
    ];
    profile
        .diagnostics
        .notes
        .extend(notes.into_iter().flatten());
    profile.stacks = Some(stacks);
    lines.end_report();
}

#[cfg(test)]
mod tests {
    use super::{LineCache, StackTotals, write_to_profile};
    use gpuprof_report::profile::{KernelStats, LaunchLine, Profile};

    /// The notes about a kernel with one line, of 3 launches.
    fn notes(function: &str, file: Option<&str>) -> Vec<String> {
        let mut line = LaunchLine::default();
        function.clone_into(&mut line.function);
        line.file = file.map(str::to_owned);
        line.calls = 3;
        let mut kernel = KernelStats::default();
        kernel.times.calls = 7;
        kernel.launch_lines = vec![line];
        let mut profile = Profile::default();
        profile.kernels = vec![kernel];
        let (unattributed, lines) = (StackTotals::default(), LineCache::default());
        write_to_profile(&mut profile, &unattributed, &lines);
        let stacks = profile.stacks.expect("it was written");
        assert_eq!((stacks.calls, stacks.sampled_calls), (7, 3));
        profile.diagnostics.notes
    }

    #[test]
    fn what_a_line_lacks_is_said_once_with_what_to_do() {
        assert!(notes("app::run", Some("src/main.rs")).is_empty());
        for (function, said) in [
            ("app::run", "line-tables-only"),
            ("(unknown)", "line-tables-only"),
            ("(replaced file)", "deleted or replaced while it ran"),
            ("(not looked up)", "looked up for 5 s"),
            ("(other stacks)", "4096 distinct stacks"),
        ] {
            let notes = notes(function, None);
            assert!(notes.len() == 1 && notes[0].contains(said), "{notes:?}");
        }
    }
}
