//! Folded stacks: exact lines, sums that add up, and one frame for each name.

mod profiles;

use gpuprof_report::folded;
use gpuprof_report::profile::{
    CopyStats, CuptiCompleteness, KernelStats, NodeActivity, Profile, TreeNode,
};
use profiles::{digits, layers, trouble, without_stream};

fn gpu(profile: &Profile) -> String {
    let mut out = Vec::new();
    folded::write_gpu(profile, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

fn cpu(profile: &Profile) -> String {
    let mut out = Vec::new();
    folded::write_cpu(profile, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

fn sum(lines: &str) -> u64 {
    let weight = |line: &str| line.rsplit_once(' ').unwrap().1.parse::<u64>().unwrap();
    lines.lines().map(weight).sum()
}

fn node(id: u32, parent: Option<u32>, name: &str, ns: u64) -> TreeNode {
    let mut node = TreeNode::default();
    (node.id, node.parent, node.name) = (id, parent, name.into());
    (node.calls, node.cpu_self_ns, node.gpu_self_ns) = (1, ns, Some(ns));
    node
}

fn tree(nodes: Vec<TreeNode>) -> Profile {
    let mut profile = Profile::default();
    profile.tree = nodes;
    profile
}

#[test]
fn without_records_the_weights_are_gpu_self_times() {
    assert_eq!(
        gpu(&layers()),
        "model::Block::forward[0] 6900000\n\
         model::Block::forward[0];model::Attention::forward 14300000\n\
         model::Block::forward[1] 6500000\n\
         model::Block::forward[1];model::Attention::forward 14300000\n\
         model::Block::forward[2] 51200000\n\
         model::Block::forward[2];model::Attention::forward 14300000\n\
         model::Block::forward[3] 6700000\n\
         model::Block::forward[3];model::Attention::forward 14300000\n"
    );
}

#[test]
fn cpu_stacks_have_cpu_self_times() {
    let profile = without_stream();
    assert_eq!(
        cpu(&profile),
        "plain::solve 120000\nplain::solve;plain::launch 900000\n"
    );
    assert_eq!(gpu(&profile), "");
}

#[test]
fn with_records_kernels_and_copies_are_leaves_and_the_sum_is_all_gpu_work() {
    let profile = digits();
    let lines = gpu(&profile);
    let kernels = profile.kernels.iter().map(|kernel| kernel.times.total_ns);
    let copies = profile.copies.iter().map(|copies| copies.times.total_ns);
    let unattributed = profile.cupti.as_ref().unwrap().unattributed_ns;
    let of_paths = profile.tree.iter().flat_map(|node| &node.activities);
    let of_paths: u64 = of_paths.map(|activity| activity.total_ns).sum();
    assert_eq!(sum(&lines), of_paths + unattributed);
    assert!(sum(&lines) <= kernels.chain(copies).sum());

    let mut launched = node(0, None, "step", 999);
    launched.activities = (0..4).map(|_| NodeActivity::default()).collect();
    for (activity, ns) in launched.activities.iter_mut().zip([70, 20, 3, 1]) {
        activity.total_ns = ns;
    }
    launched.activities[0].kernel = Some(0);
    launched.activities[1].copies = Some(0);
    launched.activities[2].copies = Some(1);
    launched.activities[3].kernel = Some(u32::MAX);
    let mut small = tree(vec![launched]);
    small.kernels = profile.kernels;
    small.kernels[0].name = "gemm<float, 2>".into();
    small.copies = profile.copies;
    small.copies[0].kind = "memset".into();
    small.copies[1].kind = "DtoH".into();
    small.cupti = Some(CuptiCompleteness::default());
    small.cupti.as_mut().unwrap().unattributed_ns = 5;
    assert_eq!(
        gpu(&small),
        "step;gemm<float, 2> 70\n\
         step;[CUDA memset] 20\n\
         step;[CUDA memcpy DtoH] 3\n\
         step;(unknown) 1\n\
         (unattributed) 5\n"
    );
}

#[test]
fn a_name_is_one_frame() {
    for (name, frame) in [
        ("a;b", "a,b"),
        ("a\nb\r", "a\\nb\\r"),
        ("\x1b[31m", "\\u{1b}[31m"),
        ("layer 3", "layer_3"),
        ("layer 3.5", "layer_3.5"),
        ("gemm<…> #2", "gemm<…> #2"),
        (" layer 3 ", "layer_3"),
        ("# layer", "_# layer"),
        ("", "(unnamed)"),
        (" ", "(unnamed)"),
    ] {
        let profile = tree(vec![node(0, None, name, 7)]);
        assert_eq!(gpu(&profile), format!("{frame} 7\n"));
        assert_eq!(cpu(&profile), format!("{frame} 7\n"));
    }
}

#[test]
fn every_line_of_a_simulated_device_says_so() {
    for lines in [gpu(&trouble()), cpu(&trouble())] {
        assert!(!lines.is_empty());
        for line in lines.lines() {
            assert!(line.starts_with("simulated device;"), "{line}");
        }
    }
}

#[test]
fn without_functions_kernels_and_copies_are_the_outermost_frames() {
    let mut profile = Profile::default();
    let mut kernel = KernelStats::default();
    (kernel.name, kernel.times.total_ns) = ("gemm;1".into(), 30);
    let mut copies = CopyStats::default();
    (copies.kind, copies.times.total_ns) = ("HtoD".into(), 12);
    (profile.kernels, profile.copies) = (vec![kernel], vec![copies]);
    let mut cupti = CuptiCompleteness::default();
    cupti.unattributed_ns = 42;
    profile.cupti = Some(cupti);
    assert_eq!(gpu(&profile), "gemm,1 30\n[CUDA memcpy HtoD] 12\n");
    // Beside functions this is what was outside all of them.
    profile.functions = layers().functions;
    assert_eq!(gpu(&profile), "(unattributed) 42\n");
}

#[test]
fn deep_recursion_is_cut_and_its_time_is_not() {
    let recursion = (0..5_000).map(|id: u32| node(id, id.checked_sub(1), "f", 1));
    let lines = gpu(&tree(recursion.collect()));
    assert_eq!(lines.lines().count(), 129);
    let frames = vec!["f"; 128].join(";");
    let cut = format!("{frames};(deeper calls) 4872");
    assert_eq!(lines.lines().last(), Some(cut.as_str()));
    assert_eq!(sum(&lines), 5_000);
}

#[test]
fn a_tree_that_is_none_ends() {
    let profile = tree(vec![
        node(0, Some(1), "a", 1),
        node(1, Some(0), "b", 2),
        node(1, Some(1), "c", 3),
        node(2, Some(9), "d", u64::MAX),
    ]);
    assert_eq!(
        gpu(&profile),
        "a 1\na;b 2\na;b;c 3\nd 18446744073709551615\n"
    );
}
