//! The lines of a profile's kernels, and of its unattributed activities.

use super::line_cache::line;
use crate::cupti::attribution::launch_totals::{MAX_ROW_STACKS, StackTotals};
use crate::cupti::collect::stack_table::MAX_STACKS;
use gpuprof_report::profile::{
    LaunchLine, LaunchStacks, OTHER_STACKS, Profile, UNKNOWN_FUNCTION, add_lines,
};

/// The note of a program in which functions or lines are unknown.
const NO_DEBUG_INFORMATION: &str = "some launches have no source line: the program has no debug \
    information, or is stripped; build with debug = \"line-tables-only\" and strip = \"none\" in \
    its Cargo.toml's profile";

/// The lines of one row, the most frequent first. Several stacks may have one line.
pub(crate) fn lines(stacks: &StackTotals) -> Vec<LaunchLine> {
    let mut lines = Vec::new();
    for (stack, totals) in stacks.iter() {
        let mut of_stack = LaunchLine::clone(&line(stack));
        (of_stack.calls, of_stack.total_ns) = (totals.activities, totals.total_ns);
        add_lines(&mut lines, &[of_stack]);
    }
    lines
}

/// Fills in what was looked at, given the stacks of unattributed activities. The rows of kernels
/// have their lines.
pub(crate) fn write_to_profile(profile: &mut Profile, unattributed: &StackTotals) {
    let mut stacks = LaunchStacks::default();
    for kernel in &profile.kernels {
        stacks.calls += kernel.times.calls;
        stacks.sampled_calls += kernel.launch_lines.iter().map(|of| of.calls).sum::<u64>();
    }
    stacks.unattributed = lines(unattributed);
    let of_kernels = profile.kernels.iter().map(|kernel| &kernel.launch_lines);
    let all: Vec<&LaunchLine> = of_kernels.chain([&stacks.unattributed]).flatten().collect();
    let lacks_line = |line: &LaunchLine| {
        let is_known = line.is_of_program();
        line.function == UNKNOWN_FUNCTION || (is_known && line.file.is_none())
    };
    let lacks_lines = all.iter().any(|line| lacks_line(line));
    let is_full = all.iter().any(|line| line.function == OTHER_STACKS);
    let notes = &mut profile.diagnostics.notes;
    if lacks_lines {
        notes.push(NO_DEBUG_INFORMATION.to_owned());
    }
    if is_full {
        notes.push(format!(
            "more than {MAX_STACKS} distinct stacks of launches, or {MAX_ROW_STACKS} of a kernel \
             in a function: the rest have no source line"
        ));
    }
    profile.stacks = Some(stacks);
}

#[cfg(test)]
mod tests {
    use super::{StackTotals, write_to_profile};
    use gpuprof_report::profile::{KernelStats, LaunchLine, OTHER_STACKS, Profile};

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
        write_to_profile(&mut profile, &StackTotals::default());
        let stacks = profile.stacks.expect("it was written");
        assert_eq!((stacks.calls, stacks.sampled_calls), (7, 3));
        profile.diagnostics.notes
    }

    #[test]
    fn what_a_line_lacks_is_said_once_with_what_to_do() {
        assert!(notes("app::run", Some("src/main.rs")).is_empty());
        for unknown in ["app::run", "(unknown)"] {
            let notes = notes(unknown, None);
            assert!(notes.len() == 1 && notes[0].contains("line-tables-only"));
        }
        let notes = notes(OTHER_STACKS, None);
        assert!(notes.len() == 1 && notes[0].contains("4096 distinct stacks"));
    }
}
