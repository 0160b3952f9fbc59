//! Devices, walls and the spread over ranks.

use crate::merge::Merger;
use crate::profile::{
    Device, Function, GpuBusy, GpuSpanStats, KernelStats, MetaPair, Profile, SpanStats, TreeNode,
};

fn merge(profiles: &[Profile]) -> Profile {
    let mut merger = Merger::default();
    profiles.iter().for_each(|profile| merger.add(profile));
    merger.finish()
}

/// A rank on a GPU of its own, with one function of `total_ns` on CPU and GPU.
fn rank(rank: u32, total_ns: u64) -> Profile {
    let times = SpanStats {
        total_ns,
        mean_ns: total_ns,
        min_ns: total_ns,
        max_ns: total_ns,
        histogram: vec![(100, 1).into()],
        ..SpanStats::default()
    };
    Profile {
        host: format!("node{}", rank / 2),
        pid: 100 + rank,
        rank: Some(rank),
        started_at: format!("2026-11-22T17:59:0{rank}Z"),
        wall_ns: 2_000_000_000,
        devices: vec![Device {
            ordinal: rank % 2,
            name: "NVIDIA H200".into(),
            uuid: format!("GPU-{rank}"),
            ..Device::default()
        }],
        gpu_busy: vec![GpuBusy {
            device: rank % 2,
            busy_ns: total_ns,
            ..GpuBusy::default()
        }],
        functions: vec![Function {
            name: "step".into(),
            calls: 1,
            cpu: times.clone(),
            gpu: Some(GpuSpanStats {
                device: Some(rank % 2),
                timed_calls: 1,
                timed_ns: total_ns,
                times,
                ..GpuSpanStats::default()
            }),
            ..Function::default()
        }],
        kernels: vec![KernelStats {
            symbol: "k".into(),
            full_name: "k".into(),
            device: rank % 2,
            ..KernelStats::default()
        }],
        ..Profile::default()
    }
}

#[test]
fn each_device_has_an_ordinal_of_its_own() {
    let merged = merge(&[rank(0, 10), rank(1, 20), rank(2, 30)]);
    let ordinals: Vec<_> = merged
        .devices
        .iter()
        .map(|of| (of.ordinal, &*of.uuid))
        .collect();
    assert_eq!(ordinals, [(0, "GPU-0"), (1, "GPU-1"), (2, "GPU-2")]);
    let busy: Vec<_> = merged
        .gpu_busy
        .iter()
        .map(|of| (of.device, of.busy_ns))
        .collect();
    assert_eq!(busy, [(0, 10), (1, 20), (2, 30)]);
    // All of one model: the figures are of GPU 0, which stands for it.
    let gpu = merged.functions[0].gpu.as_ref().unwrap();
    assert_eq!((gpu.device, gpu.times.total_ns), (Some(0), 60));
    assert!(merged.functions[0].gpu_by_device.is_empty());
    let kernels: Vec<_> = merged.kernels.iter().map(|kernel| kernel.device).collect();
    assert_eq!(kernels, [0]);
    // Seconds 0 to 4 of the minute.
    assert_eq!(merged.wall_ns, 4_000_000_000);
}

#[test]
fn devices_of_two_models_stay_apart() {
    let mut other = rank(1, 20);
    other.devices[0].name = "NVIDIA A100".into();
    let merged = merge(&[rank(0, 10), other]);
    let gpu = merged.functions[0].gpu.as_ref().unwrap();
    assert_eq!((gpu.device, gpu.times.total_ns), (None, 30));
    let parts: Vec<_> = merged.functions[0]
        .gpu_by_device
        .iter()
        .map(|part| (part.device, part.times.total_ns))
        .collect();
    assert_eq!(parts, [(Some(0), 10), (Some(1), 20)]);
    let kernels: Vec<_> = merged.kernels.iter().map(|kernel| kernel.device).collect();
    assert_eq!(kernels, [0, 1]);
}

#[test]
fn ranks_on_one_gpu_share_it_and_their_busy_times_are_a_bound() {
    let [mut first, mut second] = [rank(0, 1_500_000_000), rank(1, 1_500_000_000)];
    second.devices.clone_from(&first.devices);
    second.gpu_busy[0].device = 0;
    second.functions[0].gpu.as_mut().unwrap().device = Some(0);
    let merged = merge(&[first.clone(), second.clone()]);
    assert_eq!(merged.devices.len(), 1);
    assert_eq!(merged.functions[0].gpu.as_ref().unwrap().device, Some(0));
    assert!(merged.functions[0].gpu_by_device.is_empty());
    assert!(merged.gpu_busy[0].is_upper_bound);
    assert_eq!(merged.gpu_busy[0].busy_ns, 3_000_000_000);
    // One after the other.
    first.started_at = "2026-11-22T17:58:00Z".into();
    let merged = merge(&[second, first]);
    assert!(!merged.gpu_busy[0].is_upper_bound);
    assert_eq!(merged.started_at, "2026-11-22T17:58:00Z");
    assert_eq!(merged.wall_ns, 4_000_000_000);
}

#[test]
fn the_spread_counts_every_rank_and_names_the_slowest() {
    let mut idle = rank(3, 0);
    idle.functions[0] = Function {
        name: "step".into(),
        ..Function::default()
    };
    let merged = merge(&[rank(0, 10), rank(1, 20), rank(2, 50), idle]);
    let ranks = merged.ranks.unwrap();
    assert_eq!((ranks.profiles, ranks.hosts), (4, 2));
    let step = &ranks.functions[0];
    assert_eq!((step.function, step.profiles), (0, 3));
    for spread in [&step.cpu, step.gpu.as_ref().unwrap()] {
        assert_eq!((spread.min_ns, spread.mean_ns, spread.max_ns), (0, 20, 50));
        assert_eq!(spread.imbalance, Some(2.5));
        let slowest = (
            spread.slowest_rank,
            &*spread.slowest_host,
            spread.slowest_pid,
        );
        assert_eq!(slowest, (Some(2), "node1", 102));
    }
    assert_eq!(step.busy, None);
}

#[test]
fn paths_of_the_tree_are_told_apart_by_label_and_place() {
    let node = |id: u32, parent: Option<u32>, label: Option<&str>| TreeNode {
        id,
        parent,
        name: "step".into(),
        label: label.map(str::to_owned),
        function: Some(0),
        calls: 1,
        ..TreeNode::default()
    };
    let mut first = rank(0, 1);
    first.tree = vec![
        node(0, None, None),
        node(1, Some(0), Some("a")),
        node(2, Some(0), None),
    ];
    let mut second = rank(1, 1);
    // Other ids for the same paths, and a node whose parent is not there.
    second.tree = vec![
        node(7, None, None),
        node(3, Some(7), Some("a")),
        node(9, Some(5), Some("a")),
    ];
    let merged = merge(&[first, second]);
    let nodes: Vec<_> = merged
        .tree
        .iter()
        .map(|node| (node.id, node.parent, node.label.as_deref(), node.calls))
        .collect();
    assert_eq!(
        nodes,
        [
            (0, None, None, 2),
            (1, Some(0), Some("a"), 2),
            (2, Some(0), None, 1),
            (3, None, Some("a"), 1)
        ]
    );
}

#[test]
fn two_functions_of_one_name_and_place_stay_two() {
    let mut twins = rank(0, 10);
    twins.functions.push(twins.functions[0].clone());
    let merged = merge(&[twins.clone(), twins]);
    let totals: Vec<u64> = merged.functions.iter().map(|of| of.cpu.total_ns).collect();
    assert_eq!(totals, [20, 20]);
}

#[test]
fn facts_that_all_profiles_share_are_kept_and_others_noted() {
    let mut first = rank(0, 1);
    first.meta = vec![
        MetaPair::new("commit", "1f2e3d4"),
        MetaPair::new("args", "--rank 0"),
    ];
    first.program = "train".into();
    let mut second = rank(1, 1);
    second.meta = vec![
        MetaPair::new("commit", "1f2e3d4"),
        MetaPair::new("args", "--rank 1"),
    ];
    let merged = merge(&[first, second]);
    assert_eq!(merged.meta, [MetaPair::new("commit", "1f2e3d4")]);
    assert_eq!((merged.rank, merged.pid), (None, 0));
    assert_eq!(
        merged.diagnostics.notes,
        [
            "the merged profiles are of different programs",
            "the merged profiles are of different facts (GPUPROF_META)"
        ]
    );
}

fn of_job(rank: Option<u32>, world_size: Option<u32>) -> Profile {
    Profile {
        rank,
        world_size,
        ..Profile::default()
    }
}

#[test]
fn parts_of_a_job_that_are_merged_again_are_the_job() {
    let part = |ranks: &[u32]| {
        let mut merger = Merger::default();
        let ranks = ranks.iter();
        ranks.for_each(|rank| merger.add(&of_job(Some(*rank), Some(8))));
        merger.finish()
    };
    let (low, high) = (part(&[0, 1, 2, 3]), part(&[4, 5, 6]));
    assert_eq!(
        low.diagnostics.notes,
        ["4 of 8 ranks have no profile here: 4, 5, 6, 7"]
    );
    let whole = |parts: &[&Profile]| {
        let mut merger = Merger::default();
        parts.iter().for_each(|part| merger.add(part));
        merger.finish()
    };
    let job = whole(&[&low, &high]);
    assert_eq!(
        job.diagnostics.notes,
        ["1 of 8 ranks have no profile here: 7"]
    );
    assert_eq!(job.world_size, Some(8));
    assert_eq!(job.ranks.as_ref().unwrap().numbers, [0, 1, 2, 3, 4, 5, 6]);
    let job = whole(&[&job, &part(&[7])]);
    assert_eq!(job.diagnostics.notes, [""; 0]);
    let twice = whole(&[&job, &low]);
    assert_eq!(
        twice.diagnostics.notes,
        ["ranks that have several profiles, which are all added: 0, 1, 2, 3"]
    );
    // Beside a profile without a rank, what a part says of itself remains.
    let other = whole(&[&low, &of_job(None, None)]);
    assert_eq!(other.diagnostics.notes, low.diagnostics.notes);
}

#[test]
fn a_profile_that_is_merged_twice_is_noted_and_its_rank_is_one() {
    let of_four = |number| Profile {
        world_size: Some(4),
        ..rank(number, 10)
    };
    let mut checkpoint = of_four(1);
    checkpoint.wall_ns /= 2;
    let merged = merge(&[of_four(0), of_four(1), checkpoint, of_four(2), of_four(3)]);
    assert_eq!(
        merged.diagnostics.notes,
        [
            "1 merged profile repeats another one of the same process and start, and counts twice: \
          rank 1"
        ]
    );
    let parts = [&[0, 1][..], &[2, 3]].map(|part| {
        let ranks: Vec<Profile> = part.iter().map(|number| of_four(*number)).collect();
        merge(&ranks)
    });
    let [low, high] = &parts;
    let job = merge(&[low.clone(), high.clone()]);
    assert_eq!(job.diagnostics.notes, [""; 0]);
    let twice = merge(&[low.clone(), high.clone(), low.clone()]);
    assert_eq!(
        twice.diagnostics.notes,
        [
            "1 merged profile repeats another one of the same process and start, and counts twice: \
          a merged profile of 2"
        ]
    );
    // A later window of the same process.
    let mut later = of_four(1);
    later.started_at = "2026-11-22T17:59:30Z".into();
    let windows = merge(&[of_four(1), later]);
    let of_repeats = |note: &&String| note.contains("repeat");
    assert_eq!(windows.diagnostics.notes.iter().find(of_repeats), None);
}
