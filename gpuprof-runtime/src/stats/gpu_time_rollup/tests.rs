use rustc_hash::FxHashMap;

use super::build_nodes;
use crate::clock::Scale;
use crate::site::labels::LabelNumber;
use crate::stats::build_profile::profile;
use crate::stats::busy_union::SpanPlace;
use crate::stats::call_outcome::{StatedWork, UntimedReason};
use crate::stats::gpu_totals::{GpuTimeTotals, TimedCall};
use crate::stats::host_path_totals::HostPathTotals;
use crate::stats::host_totals::Totals;
use crate::stats::path_ids::{CallPath, ROOT};
use crate::stats::profile_inputs::{PathActivity, ProfileInputs, RecordedActivity};
use crate::stats::sampling_checks::SITES;
use crate::stats::sampling_decisions::SamplingDraw;

/// Calls on a path: its function, the path that it is nested in, the calls that sampling left out,
/// and the durations of the timed ones with their weights.
struct Path<'a> {
    site: u32,
    parent: u32,
    left_out: u64,
    timed: &'a [(u64, u32)],
}

/// Paths are numbered from 1.
fn with_inputs(paths: &[Path<'_>], then: impl FnOnce(&mut ProfileInputs<'_>)) {
    let mut tree = vec![CallPath {
        parent: ROOT,
        site: 0,
        label: LabelNumber::NONE,
        recursive: false,
    }];
    let (mut totals, mut gpu) = (Totals::default(), GpuTimeTotals::default());
    let mut cluster = 0;
    for (number, path) in (1..).zip(paths) {
        let above = tree
            .get(path.parent as usize)
            .filter(|_| path.parent != ROOT);
        let recursive = above.is_some_and(|above| above.site == path.site);
        tree.push(CallPath {
            parent: path.parent,
            site: path.site,
            label: LabelNumber::NONE,
            recursive,
        });
        let mut host = HostPathTotals::default();
        host.cpu.calls = path.left_out + path.timed.len() as u64;
        host.counts.submitted = path.timed.len() as u64;
        host.counts.untimed[UntimedReason::LeftOutAsked as usize] = path.left_out;
        totals.add_node(number, &host);
        for &(ns, weight) in path.timed {
            cluster += 1;
            let call = TimedCall {
                path: number,
                site: path.site,
                device: 0,
                counts: true,
                own_ns: ns.cast_signed(),
                is_outermost: !recursive,
                parent: path.parent,
                with_nested_ns: ns,
                overhead_ns: 0,
                measured_ns: ns,
                is_divided: false,
                is_undivided: false,
                inherits: false,
                may_be_host: false,
                place: SpanPlace::Alone,
                draw: SamplingDraw {
                    cluster,
                    cluster_rate: weight,
                    weight,
                },
            };
            gpu.add(&call, &StatedWork::NONE, ns);
        }
    }
    then(&mut ProfileInputs {
        sites: &SITES,
        never_called: Vec::new(),
        in_filter: Box::new(|_| false),
        paths: &tree,
        totals,
        scale: Scale::from_ghz(1.0),
        wall_ns: 1_000_000,
        now: 0,
        gpu,
        cupti: None,
    });
}

const DRAWN: &[(u64, u32)] = &[
    (90, 10),
    (110, 10),
    (90, 10),
    (110, 10),
    (90, 10),
    (110, 10),
    (90, 10),
    (110, 10),
];

#[test]
fn a_path_of_few_timed_calls_takes_the_mean_of_its_function_and_is_nested_as_it_is() {
    let paths = [
        Path {
            site: 0,
            parent: ROOT,
            left_out: 72,
            timed: DRAWN,
        },
        Path {
            site: 0,
            parent: 1,
            left_out: 20,
            timed: &[],
        },
    ];
    with_inputs(&paths, |inputs| {
        let nodes = build_nodes(inputs);
        assert_eq!(nodes[2].estimate.total_ns(), 2_000.0);
        assert_eq!(nodes[2].estimate.outermost_ns(None), 0.0, "it is recursive");
        let profile = profile(inputs);
        let total_ns = profile.functions[0]
            .gpu
            .as_ref()
            .map(|gpu| gpu.times.total_ns);
        assert_eq!(total_ns, Some(8_000), "of the outermost calls");
    });
}

#[test]
fn the_header_has_the_time_of_paths_without_a_timed_call() {
    let paths = [
        Path {
            site: 0,
            parent: ROOT,
            left_out: 72,
            timed: DRAWN,
        },
        Path {
            site: 1,
            parent: ROOT,
            left_out: 0,
            timed: &[],
        },
        Path {
            site: 0,
            parent: 2,
            left_out: 20,
            timed: &[],
        },
    ];
    with_inputs(&paths, |inputs| {
        let profile = profile(inputs);
        let rows = profile.tree.iter().filter_map(|row| row.gpu_total_ns);
        let busy = &profile.gpu_busy[0];
        assert_eq!((rows.sum::<u64>(), busy.busy_ns), (10_000, 10_000));
        assert!(busy.is_estimated);
        // 20 calls of which nothing is known.
        assert!(busy.busy_ci95_ns.is_some_and(|half| half > 2_000));
    });
}

#[test]
fn a_total_that_follows_the_busy_time_is_at_most_that_of_calls_as_long_as_the_longest() {
    let paths = [Path {
        site: 0,
        parent: ROOT,
        left_out: 72,
        timed: DRAWN,
    }];
    let total_ns = |busy_ns: u64| {
        let mut total_ns = 0.0;
        with_inputs(&paths, |inputs| {
            let activity = PathActivity {
                left_out_busy_ns: busy_ns - 640,
                timed_busy_ns: 640,
                ..PathActivity::default()
            };
            inputs.cupti = Some(RecordedActivity {
                functions: FxHashMap::default(),
                memory: FxHashMap::default(),
                paths: FxHashMap::from_iter([(1, activity)]),
                replayed: Vec::new(),
            });
            total_ns = build_nodes(inputs)[1].estimate.total_ns();
        });
        total_ns
    };
    assert_eq!(total_ns(6_400), 8_000.0);
    assert_eq!(total_ns(64_000), 800.0 + 72.0 * 110.0);
}

#[test]
fn rows_that_are_made_to_fit_stay_as_long_as_their_shortest_call() {
    let paths = [
        Path {
            site: 0,
            parent: ROOT,
            left_out: 0,
            timed: &[(10_000, 1)],
        },
        // Of two drawn calls nothing is known of the spread: it would give way first.
        Path {
            site: 1,
            parent: 1,
            left_out: 60,
            timed: &[(80, 31), (80, 31)],
        },
        Path {
            site: 2,
            parent: 1,
            left_out: 72,
            timed: DRAWN,
        },
    ];
    with_inputs(&paths, |inputs| {
        let nodes = build_nodes(inputs);
        let total_ns = [1, 2, 3].map(|path| nodes[path].estimate.total_ns());
        assert_eq!(total_ns, [10_000.0, 62.0 * 80.0, 800.0 + 72.0 * 90.0]);
    });
}
