//! The lines of launches of ranks: the same line of several is one.

use crate::merge::Merger;
use crate::profile::{KernelStats, LaunchLine, LaunchStacks, Profile};

fn line(number: u32, calls: u64) -> LaunchLine {
    LaunchLine {
        function: "app::forward".into(),
        file: Some("src/model.rs".into()),
        line: Some(number),
        calls,
        total_ns: 10 * calls,
        ..LaunchLine::default()
    }
}

fn rank(pid: u32, lines: &[LaunchLine]) -> Profile {
    Profile {
        pid,
        kernels: vec![KernelStats {
            symbol: "axpy".into(),
            launch_lines: lines.to_vec(),
            ..KernelStats::default()
        }],
        stacks: Some(LaunchStacks {
            calls: 100,
            sampled_calls: lines.iter().map(|line| line.calls).sum(),
            unattributed: lines.to_vec(),
        }),
        ..Profile::default()
    }
}

fn merged(ranks: &[Profile]) -> Profile {
    let mut merger = Merger::default();
    for rank in ranks {
        merger.add(rank);
    }
    merger.finish()
}

#[test]
fn counts_of_a_line_add_up_and_the_most_gpu_time_comes_first() {
    let ranks = [rank(1, &[line(7, 5), line(9, 2)]), rank(2, &[line(9, 6)])];
    let merged = merged(&ranks);
    let expected = [line(9, 8), line(7, 5)];
    assert_eq!(merged.kernels[0].launch_lines, expected);
    let stacks = merged.stacks.expect("both have stacks");
    assert_eq!((stacks.calls, stacks.sampled_calls), (200, 13));
    assert_eq!(stacks.unattributed, expected);
}

#[test]
fn a_line_with_another_caller_is_another() {
    let by = |caller: &str| LaunchLine {
        caller: Some(caller.into()),
        ..line(7, 1)
    };
    let ranks = [rank(1, &[by("a"), by("b")]), rank(2, &[by("b")])];
    let merged = merged(&ranks).kernels.remove(0).launch_lines;
    let callers = merged
        .iter()
        .map(|line| (line.caller.as_deref(), line.calls));
    assert!(callers.eq([(Some("b"), 2), (Some("a"), 1)]));
}

#[test]
fn a_rank_without_stacks_changes_nothing() {
    let without = Profile {
        pid: 3,
        ..Profile::default()
    };
    let one = rank(1, &[line(7, 5)]);
    let stacks = one.stacks.clone();
    assert_eq!(merged(&[one, without.clone()]).stacks, stacks);
    assert_eq!(merged(&[without]).stacks, None);
}
