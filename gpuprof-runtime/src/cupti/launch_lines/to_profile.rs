//! The lines of a profile's kernels, and of its unattributed activities.

use super::line_cache::line;
use crate::cupti::attribution::launch_totals::StackTotals;
use crate::cupti::collect::stack_table::MAX_STACKS;
use gpuprof_report::profile::{LaunchLine, LaunchStacks, OTHER_STACKS, Profile, add_lines};

/// The note of a program in which functions have no lines.
const NO_DEBUG_INFORMATION: &str = "launches have functions but no source lines where the program \
    has no debug information: build with debug = \"line-tables-only\" in its Cargo.toml's profile";

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
    let mut of_program = all.iter().filter(|line| line.is_of_program());
    let lacks_lines = of_program.any(|line| line.file.is_none());
    let is_full = all.iter().any(|line| line.function == OTHER_STACKS);
    let notes = &mut profile.diagnostics.notes;
    if lacks_lines {
        notes.push(NO_DEBUG_INFORMATION.to_owned());
    }
    if is_full {
        notes.push(format!(
            "more than {MAX_STACKS} distinct stacks of launches: the rest have no source line"
        ));
    }
    profile.stacks = Some(stacks);
}
