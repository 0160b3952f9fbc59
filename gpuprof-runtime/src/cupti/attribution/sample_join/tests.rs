use super::{
    MAX_PENDING_SAMPLED_ACTIVITIES, MAX_PENDING_SAMPLES, SampleJoin, SampledActivity, SampledKernel,
};
use crate::cupti::attribution::activity_path::ActivityPath;
use crate::cupti::attribution::row_keys::KernelKey;
use crate::cupti::collect::pm_sampling::metrics::{METRICS, MetricSet, PmSample};

fn activity(path: u32, start: u64, end: u64) -> SampledActivity {
    let key = KernelKey {
        path: ActivityPath::Called(path),
        symbol: Some(0),
        device: 0,
    };
    SampledActivity {
        start,
        end,
        is_kernel: true,
        row: Some(SampledKernel {
            epoch: 0,
            key,
            site: Some(path),
        }),
    }
}

fn sample(start: u64, end: u64) -> PmSample {
    PmSample {
        start,
        end,
        set: MetricSet::First,
        integrals: [0.0; METRICS],
        listed: &[],
    }
}

/// Of each sample: its start, the busy time, and the path and time of each part.
type Joined = Vec<(u64, u64, Vec<(u32, u64)>)>;

fn joined(join: &mut SampleJoin) -> Joined {
    let mut all = Vec::new();
    join.join_all(|joined| {
        let parts = joined.parts.iter().map(|(activity, ns)| {
            let row = activity.row.expect("a kernel");
            (row.key.path.calls_path(), *ns)
        });
        all.push((joined.sample.start, joined.busy_ns, parts.collect()));
    });
    all
}

#[test]
fn a_sample_has_the_activities_that_ran_during_it_and_their_time() {
    let mut join = SampleJoin::default();
    let before = [(0, 100), (100, 200), (250, 300), (300, 400)]
        .map(|(start, end)| join.add_sample(sample(start, end)).map(|before| before.end));
    assert_eq!(before, [None, Some(100), Some(200), Some(300)]);
    // Out of order, overlapping, across samples, between samples, and beyond the last one.
    for (path, start, end) in [(3, 350, 900), (1, 10, 130), (2, 120, 140), (4, 210, 240)] {
        assert_eq!(join.add_activity(activity(path, start, end)), 0);
    }
    let expected = vec![
        (0, 90, vec![(1, 90)]),
        (100, 40, vec![(1, 30), (2, 20)]),
        (250, 0, vec![]),
        (300, 50, vec![(3, 50)]),
    ];
    assert_eq!(joined(&mut join), expected);
    // The rest of the last one is in the samples that follow.
    join.add_sample(sample(400, 500));
    assert_eq!(joined(&mut join), [(400, 100, vec![(3, 100)])]);
}

#[test]
fn an_activity_whose_samples_were_joined_is_late_for_that_time() {
    let mut join = SampleJoin::default();
    join.add_sample(sample(0, 100));
    assert_eq!(joined(&mut join), [(0, 0, vec![])]);
    assert_eq!(join.add_activity(activity(1, 20, 60)), 40);
    assert_eq!(join.add_activity(activity(2, 80, 130)), 20);
    join.add_sample(sample(100, 200));
    assert_eq!(joined(&mut join), [(100, 30, vec![(2, 30)])]);
}

#[test]
fn the_earlier_half_of_too_many_samples_is_joined() {
    let mut join = SampleJoin::default();
    let mut count = 0;
    for index in 0..=MAX_PENDING_SAMPLES as u64 {
        join.add_sample(sample(10 * index, 10 * index + 10));
        assert_eq!(join.enforce_limits(|_| count += 1), 0);
    }
    assert_eq!(count, MAX_PENDING_SAMPLES / 2 + 1);
    join.join_all(|_| count += 1);
    assert_eq!(count, MAX_PENDING_SAMPLES + 1);
}

#[test]
fn no_activity_of_a_sample_is_dropped_however_short_they_are() {
    let mut join = SampleJoin::default();
    let (mut busy_ns, mut late_ns) = (0, 0);
    // Ten kernels of 4 ns in each sample of 50 ns, more than are kept.
    let samples = MAX_PENDING_SAMPLED_ACTIVITIES as u64 / 4;
    for index in 0..samples {
        let start = 50 * index;
        join.add_sample(sample(start, start + 50));
        for kernel in 0..10 {
            let start = start + 5 * kernel;
            late_ns += join.add_activity(activity(1, start, start + 4));
            late_ns += join.enforce_limits(|joined| busy_ns += joined.busy_ns);
        }
    }
    join.join_all(|joined| busy_ns += joined.busy_ns);
    assert_eq!((busy_ns, late_ns), (40 * samples, 0));
}

#[test]
fn activities_whose_samples_do_not_come_are_dropped_and_counted() {
    let mut join = SampleJoin::default();
    let mut dropped_ns = 0;
    for index in 0..=MAX_PENDING_SAMPLED_ACTIVITIES as u64 {
        assert_eq!(
            join.add_activity(activity(1, 10 * index, 10 * index + 3)),
            0
        );
        dropped_ns += join.enforce_limits(|_| panic!("there is no sample"));
    }
    assert_eq!(dropped_ns, 3 * (MAX_PENDING_SAMPLED_ACTIVITIES as u64 / 2));
}

#[test]
fn kernels_and_copies_have_a_busy_time_of_their_own() {
    let mut join = SampleJoin::default();
    join.add_sample(sample(0, 100));
    let copy = SampledActivity {
        is_kernel: false,
        row: None,
        ..activity(1, 40, 90)
    };
    let activities = [activity(1, 0, 30), activity(1, 20, 50), copy];
    assert!(
        activities
            .map(|of| join.add_activity(of))
            .iter()
            .all(|late| *late == 0)
    );
    join.join_all(|joined| assert_eq!((joined.busy_ns, joined.kernel_busy_ns), (90, 50)));
}
