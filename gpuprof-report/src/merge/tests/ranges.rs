//! NVTX ranges of programs without gpuprof: their idle time is that of all profiles, or unknown.

use crate::merge::Merger;
use crate::profile::{CuptiCompleteness, Function, GpuActivity, NVTX_MODULE, Profile, TreeNode};

/// The busy and the idle time of one range, ns.
type Times = (u64, Option<u64>);

/// The profile of a program with one range, which has no span of event pairs.
fn rank(pid: u32, (busy_ns, idle_ns): Times) -> Profile {
    let range = Function {
        name: "step".into(),
        module: NVTX_MODULE.into(),
        calls: 1,
        activity: GpuActivity {
            busy_ns: Some(busy_ns),
            idle_ns,
            ..GpuActivity::default()
        },
        ..Function::default()
    };
    let node = TreeNode {
        name: "step".into(),
        function: Some(0),
        calls: 1,
        busy_ns: Some(busy_ns),
        idle_ns,
        ..TreeNode::default()
    };
    Profile {
        pid,
        cupti: Some(CuptiCompleteness::default()),
        functions: vec![range],
        tree: vec![node],
        ..Profile::default()
    }
}

/// Busy and idle time of the range in the merged profile, the same of the function and of its node.
fn merged(ranks: [Times; 2]) -> Times {
    let mut merger = Merger::default();
    for (pid, times) in (1..).zip(ranks) {
        merger.add(&rank(pid, times));
    }
    let merged = merger.finish();
    let ([range], [node]) = (&merged.functions[..], &merged.tree[..]) else {
        panic!("one range: {merged:?}");
    };
    assert_eq!((range.calls, node.calls), (2, 2));
    let of_node = (node.busy_ns, node.idle_ns);
    assert_eq!((range.activity.busy_ns, range.activity.idle_ns), of_node);
    (node.busy_ns.expect("CUPTI ran"), node.idle_ns)
}

#[test]
fn idle_times_of_ranges_add_up() {
    assert_eq!(merged([(50, Some(30)), (60, Some(0))]), (110, Some(30)));
    // Of a range without work nothing is missing.
    assert_eq!(merged([(50, Some(30)), (0, None)]), (50, Some(30)));
    assert_eq!(merged([(0, None), (0, None)]), (0, None));
}

#[test]
fn the_idle_time_of_ranges_is_unknown_if_that_of_one_profile_is() {
    assert_eq!(merged([(50, Some(30)), (60, None)]), (110, None));
    assert_eq!(merged([(60, None), (50, Some(30))]), (110, None));
}
