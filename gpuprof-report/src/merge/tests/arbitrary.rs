//! Whatever profiles hold: no panic, bounded tables, and a document that reads back.

use proptest::prelude::*;

use crate::json::{Impossible, ReadError};
use crate::merge::Merger;
use crate::merge::rows::MAX_ROWS;
use crate::profile::{
    ApiStats, Bucket, CopyStats, Device, DurationStats, Function, GpuBusy, GpuSpanStats,
    KernelStats, LabelStats, NodeActivity, Profile, SpanStats, Throttle, TreeNode,
};

pub(crate) fn number() -> impl Strategy<Value = u64> {
    prop_oneof![Just(0), Just(u64::MAX), 0..5_000_u64, any::<u64>()]
}

fn small() -> impl Strategy<Value = u32> {
    prop_oneof![0..4_u32, Just(u32::MAX)]
}

fn text() -> impl Strategy<Value = String> {
    prop_oneof![Just(String::new()), "[ab]", "\\PC{0,4}"]
}

fn buckets() -> impl Strategy<Value = Vec<Bucket>> {
    let bucket = (any::<u32>(), number()).prop_map(Bucket::from);
    prop::collection::vec(bucket, 0..5)
}

prop_compose! {
    fn spans()(n in prop::array::uniform11(number()), histogram in buckets()) -> SpanStats {
        SpanStats {
            total_ns: n[0],
            self_ns: n[1],
            mean_ns: n[2],
            min_ns: n[3],
            max_ns: n[4],
            stddev_ns: n[5],
            p50_ns: n[6],
            p90_ns: n[7],
            p95_ns: n[8],
            p99_ns: n[9],
            sum_ns: n[10],
            histogram,
        }
    }
}

prop_compose! {
    fn durations()(n in prop::array::uniform7(number()), histogram in buckets()) -> DurationStats {
        DurationStats {
            calls: n[0],
            total_ns: n[1],
            mean_ns: n[2],
            min_ns: n[3],
            max_ns: n[4],
            p50_ns: n[5],
            p99_ns: n[6],
            histogram,
        }
    }
}

prop_compose! {
    fn kernel()(name in text(), device in small(), times in durations()) -> KernelStats {
        KernelStats {
            symbol: name.clone(),
            full_name: name,
            device,
            times,
            ..KernelStats::default()
        }
    }
}

prop_compose! {
    fn gpu()(times in spans().boxed(), timed_calls in number(), timed_ns in number(),
             device in prop::option::of(small()), amount in prop::option::of(any::<f64>()))
        -> GpuSpanStats {
        GpuSpanStats {
            device,
            timed_calls,
            times,
            timed_ns,
            timed_bytes: amount,
            ..GpuSpanStats::default()
        }
    }
}

prop_compose! {
    fn function()(name in text(), calls in number(), cpu in spans().boxed(),
                  gpu in prop::option::of(gpu()), parts in prop::collection::vec(gpu(), 0..3),
                  labels in prop::collection::vec((text(), number()), 0..3),
                  kernels in prop::collection::vec(kernel(), 0..3),
                  busy in prop::option::of(number())) -> Function {
        let mut function = Function { name, calls, cpu, gpu, ..Function::default() };
        function.gpu_by_device = parts;
        function.labels = (labels.into_iter())
            .map(|(label, calls)| LabelStats {
                label,
                calls,
                cpu_mean_ns: calls,
                ..LabelStats::default()
            })
            .collect();
        function.activity.kernels = kernels;
        function.activity.busy_ns = busy;
        function.activity.busy_calls = calls;
        function.untimed.unfinished = calls;
        function.untimed.queue_full = calls;
        function
    }
}

prop_compose! {
    fn node()(ids in (small(), prop::option::of(small()), prop::option::of(small())),
              name in text(), label in prop::option::of(text()), calls in number(),
              of in (prop::option::of(small()), prop::option::of(small()))) -> TreeNode {
        TreeNode {
            id: ids.0,
            parent: ids.1,
            function: ids.2,
            name,
            label,
            calls,
            cpu_total_ns: calls,
            gpu_total_ns: Some(calls),
            activities: vec![NodeActivity { kernel: of.0, copies: of.1, calls, total_ns: calls }],
            ..TreeNode::default()
        }
    }
}

prop_compose! {
    /// A profile that contradicts itself in every way but one: parents stand before their children.
    pub(crate) fn profile()(
        texts in prop::array::uniform4(text()),
        numbers in prop::array::uniform4(number()),
        rank in prop::option::of(small()),
        devices in prop::collection::vec((small(), text(), any::<bool>()), 0..3),
        functions in prop::collection::vec(function(), 0..4),
        tree in prop::collection::vec(node(), 0..6),
        kernels in prop::collection::vec(kernel(), 0..3),
        times in durations(),
    ) -> Profile {
        let [program, host, started_at, name] = texts;
        let [wall_ns, busy_ns, calls, throttled_ns] = numbers;
        let mut profile = Profile {
            program, host, rank, wall_ns, functions, tree, kernels, ..Profile::default()
        };
        profile.started_at = match started_at.len() {
            0 => "2026-11-22T17:59:00Z".into(),
            _ => started_at,
        };
        for (id, node) in (0..).zip(&mut profile.tree) {
            node.id = id;
            node.parent = node.parent.filter(|parent| *parent < id);
        }
        for (ordinal, uuid, simulated) in devices {
            profile.devices.push(Device { ordinal, uuid, simulated, ..Device::default() });
            let busy_ci95_ns = Some(busy_ns);
            profile.gpu_busy.push(GpuBusy {
                device: ordinal, busy_ns, busy_ci95_ns, ..GpuBusy::default()
            });
            profile.throttled.push(Throttle {
                device: ordinal, throttled_ns, mean_sm_clock_mhz: rank, ..Throttle::default()
            });
        }
        profile.copies = vec![CopyStats {
            times: times.clone(),
            bytes: calls,
            ..CopyStats::default()
        }];
        profile.api = vec![ApiStats { name, times, failed: calls, ..ApiStats::default() }];
        profile.diagnostics.calls = calls;
        profile.diagnostics.overhead_ns = busy_ns;
        profile.diagnostics.overhead_ns_per_call = rank.map(u64::from);
        profile
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn any_profiles_merge_into_one_that_reads_back(
        profiles in prop::collection::vec(profile(), 1..4),
    ) {
        let mut merger = Merger::default();
        profiles.iter().for_each(|profile| merger.add(profile));
        let merged = merger.finish();
        let text = crate::json::to_string(&merged);
        match crate::json::from_str(&text) {
            Ok(read) => prop_assert_eq!(read.functions.len(), merged.functions.len()),
            // Each number fits, and their sum does not.
            Err(error) => prop_assert!(matches!(
                error,
                ReadError::Impossible(Impossible::Sum(_))
            )),
        }
        let names = |profile: &Profile| profile.functions.len();
        prop_assert!(merged.functions.len() <= profiles.iter().map(names).sum());
        for (at, node) in merged.tree.iter().enumerate() {
            prop_assert_eq!(node.id, at as u32);
            prop_assert!(node.parent.is_none_or(|parent| parent < node.id));
            let functions = merged.functions.len() as u32;
            prop_assert!(node.function.is_none_or(|of| of < functions));
        }
        let _ = merged.to_string();
        // Once more, as one of several.
        let mut merger = Merger::default();
        merger.add(&merged);
        profiles.iter().for_each(|profile| merger.add(profile));
        prop_assert!(merger.finish().ranks.is_some());
    }
}

#[test]
fn a_table_has_a_limit_and_says_so() {
    let named = |at: usize| Function {
        name: at.to_string(),
        calls: 1,
        ..Function::default()
    };
    let node = |at: usize| TreeNode {
        id: at as u32,
        name: at.to_string(),
        calls: 1,
        ..TreeNode::default()
    };
    let profile = Profile {
        functions: (0..MAX_ROWS + 3).map(named).collect(),
        tree: (0..MAX_ROWS + 5).map(node).collect(),
        ..Profile::default()
    };
    let mut merger = Merger::default();
    merger.add(&profile);
    let merged = merger.finish();
    assert_eq!(
        (merged.functions.len(), merged.tree.len()),
        (MAX_ROWS, MAX_ROWS)
    );
    assert_eq!(merged.diagnostics.dropped, 5);
    assert_eq!(
        merged.diagnostics.notes,
        ["3 rows are left out: a table has at most 65536"]
    );
}

#[test]
fn labels_beyond_the_limit_are_summed() {
    let labels = |from: usize| {
        let label = |at: usize| LabelStats {
            label: at.to_string(),
            calls: 1,
            ..LabelStats::default()
        };
        let function = Function {
            labels: (from..from + 200).map(label).collect(),
            ..Function::default()
        };
        Profile {
            functions: vec![function],
            ..Profile::default()
        }
    };
    let mut merger = Merger::default();
    merger.add(&labels(0));
    merger.add(&labels(200));
    let merged = &merger.finish().functions[0].labels;
    assert_eq!(merged.len(), 257);
    assert_eq!((&*merged[2].label, merged[2].calls), ("2", 1));
    let other = merged.last().unwrap();
    assert_eq!((&*other.label, other.calls), ("other labels", 144));
}
