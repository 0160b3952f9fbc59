use std::num::NonZeroU64;

use super::{BusyRecords, DeviceSweep, TimedActivity};
use crate::cupti::attribution::activity_path::{ActivityPath, ClosedNs, LaunchCall};
use crate::cupti::attribution::row_keys::{CopyKey, KernelKey, RowKey};
use crate::cupti::attribution::window_history::WindowHistory;
use crate::cupti::collect::record::ActivitySpan;
use gpuprof_report::profile::CopyKind;

/// A kernel of the row `path`. Its call began at `launched_at` and returned 5 ns later; 0 if the
/// call is unknown.
fn kernel(path: u32, start: u64, end: u64, launched_at: u64) -> TimedActivity {
    let key = KernelKey {
        path: ActivityPath::Called(path),
        symbol: Some(0),
        device: 0,
    };
    activity(RowKey::Kernel(key), start, end, launched_at)
}

fn copy(path: u32, start: u64, end: u64, launched_at: u64) -> TimedActivity {
    let key = CopyKey {
        path: ActivityPath::Called(path),
        kind: CopyKind::HtoD,
        device: 0,
    };
    activity(RowKey::Copy(key), start, end, launched_at)
}

fn activity(row: RowKey, start: u64, end: u64, launched_at: u64) -> TimedActivity {
    TimedActivity {
        start,
        end,
        launch: NonZeroU64::new(launched_at).map(|began| LaunchCall {
            began,
            returned: launched_at + 5,
        }),
        closed: ClosedNs::default(),
        row,
    }
}

/// The times of the device, and of each path: concurrent time of kernels, exposed time of copies.
fn swept(mut activities: Vec<TimedActivity>) -> (BusyRecords, [u64; 8]) {
    activities.sort_by_key(|activity| (activity.start, activity.launch));
    let mut sweep = DeviceSweep::default();
    let mut rows = [0; 8];
    let mut add = |row, ns| {
        let path = match row {
            RowKey::Kernel(key) => key.path.calls_path(),
            RowKey::Copy(key) => key.path.calls_path(),
        };
        rows[path as usize] += ns;
    };
    for activity in &activities {
        sweep.start(activity, |ended| add(ended.row, ended.ns));
    }
    let times = sweep.finish(|ended| add(ended.row, ended.ns));
    (times, rows)
}

/// The same, by looking at each ns.
fn by_marks(activities: &[TimedActivity]) -> (BusyRecords, [u64; 8]) {
    let (mut times, mut rows) = (BusyRecords::default(), [0; 8]);
    for ns in 0..2_000 {
        let running = || {
            let all = activities.iter();
            all.filter(|activity| (activity.start..activity.end).contains(&ns))
        };
        let kernels = running()
            .filter(|activity| matches!(activity.row, RowKey::Kernel(_)))
            .count();
        times.kernel_ns += u64::from(kernels > 0);
        times.copy_only_ns += u64::from(kernels == 0 && running().count() > 0);
        for activity in running() {
            match activity.row {
                RowKey::Kernel(key) => {
                    rows[key.path.calls_path() as usize] += u64::from(kernels > 1);
                }
                RowKey::Copy(key) => {
                    rows[key.path.calls_path() as usize] += u64::from(kernels == 0)
                }
            }
        }
    }
    (times, rows)
}

#[test]
fn busy_concurrent_and_exposed_times_are_those_of_each_ns() {
    let mut random = fastrand::Rng::with_seed(5);
    for round in 0..300 {
        let (count, longest) = (random.usize(0..40), random.u64(1..300));
        let activities: Vec<_> = (0..count)
            .map(|_| {
                let start = random.u64(1..1_600);
                let end = start + random.u64(0..=longest);
                match random.u32(0..8) {
                    path @ 0..5 => kernel(path, start, end, 0),
                    path => copy(path, start, end, 0),
                }
            })
            .collect();
        let (times, rows) = swept(activities.clone());
        let (expected, expected_rows) = by_marks(&activities);
        let busy = |times: BusyRecords| (times.kernel_ns, times.copy_only_ns);
        assert_eq!(busy(times), busy(expected), "round {round}: {activities:?}");
        assert_eq!(rows, expected_rows, "round {round}: {activities:?}");
    }
}

#[test]
fn a_gap_is_divided_at_the_launch_of_the_activity_that_ends_it() {
    let activities = vec![
        // The time before the first activity is no gap.
        kernel(1, 100, 200, 90),
        // The host came 30 ns after the end of the first kernel; launching took 20 ns.
        kernel(1, 250, 300, 230),
        // Launched while the second kernel ran. As the shortest launch took 10 ns, this one could
        // have arrived after 20.
        copy(2, 340, 400, 290),
        // Without a gap, and ends before the copy does.
        kernel(1, 350, 360, 345),
        // Launched at the end of the copy.
        kernel(1, 405, 500, 400),
        // By a call that is unknown.
        kernel(1, 600, 700, 0),
        // Begins at the end of another activity.
        copy(2, 700, 710, 100),
        // By the clocks it ran 5 ns before it was launched.
        kernel(1, 725, 730, 730),
        // The call was in progress when the device became idle, and had just returned.
        kernel(1, 737, 740, 726),
        kernel(1, 741, 742, 735),
    ];
    let (times, _) = swept(activities);
    assert_eq!(times.kernel_ns, 100 + 50 + 10 + 95 + 100 + 5 + 3 + 1);
    assert_eq!(times.copy_only_ns, 50 + 10);
    assert_eq!((times.gaps, times.idle_host_ns), (7, 30 + 15));
    assert_eq!(times.idle_launch_ns, 20 + 10 + 5 + 7 + 1);
    assert_eq!(times.idle_queued_ns, 30);
    assert_eq!(times.busy_ns(), 424);
}

#[test]
fn of_activities_that_start_together_the_first_launched_ends_the_gap() {
    let at_once = vec![
        kernel(1, 10, 20, 5),
        kernel(2, 50, 60, 45),
        kernel(3, 50, 70, 15),
    ];
    let (times, rows) = swept(at_once);
    // The shortest launch took 5 ns.
    assert_eq!((times.gaps, times.idle_queued_ns), (1, 25));
    assert_eq!((times.idle_host_ns, times.idle_launch_ns), (0, 5));
    assert_eq!(rows[..4], [0, 0, 10, 10]);
}

#[test]
fn an_activity_without_a_duration_divides_a_gap() {
    let (times, _) = swept(vec![
        kernel(1, 10, 20, 5),
        copy(2, 50, 50, 40),
        kernel(1, 90, 95, 60),
    ]);
    assert_eq!((times.gaps, times.busy_ns()), (2, 15));
    assert_eq!((times.idle_host_ns, times.idle_launch_ns), (30, 40));
}

#[test]
fn a_launch_is_queued_only_once_it_could_have_arrived() {
    // Calls return after 5 ns. The shortest launch takes 20 ns, so that each may take 40.
    let loop_of_launches = vec![
        kernel(1, 120, 130, 100),
        kernel(2, 150, 160, 120),
        kernel(3, 200, 210, 140),
    ];
    let (times, _) = swept(loop_of_launches);
    assert_eq!((times.idle_host_ns, times.gaps), (0, 2));
    // From 130 to 150; from 160 to 180, which is 40 after its call.
    assert_eq!((times.idle_launch_ns, times.idle_queued_ns), (20 + 20, 20));
}

#[test]
fn a_start_that_seems_too_early_does_not_make_launches_shorter_than_their_calls() {
    // The first starts with its call, by the clocks; calls return after 5 ns, so that each launch
    // may take 10.
    let early = vec![kernel(1, 100, 110, 100), kernel(2, 130, 140, 104)];
    let (times, _) = swept(early);
    assert_eq!((times.idle_launch_ns, times.idle_queued_ns), (4, 16));
}

/// The window is paused from 200 to 300 and from 400 to 500.
fn with_pauses(mut activities: Vec<TimedActivity>) -> BusyRecords {
    let windows = WindowHistory::default();
    for (since, epoch) in [
        (1, Some(2)),
        (200, None),
        (300, Some(2)),
        (400, None),
        (500, Some(2)),
    ] {
        windows.change(since, epoch);
    }
    for activity in &mut activities {
        let span = ActivitySpan {
            start: activity.start,
            end: activity.end,
            ..ActivitySpan::default()
        };
        let launched_at = activity
            .launch
            .map_or(span.start, |launch| launch.began.get());
        activity.closed = windows.closed_ns(launched_at, &span);
    }
    swept(activities).0
}

#[test]
fn pauses_of_the_window_are_no_idle_time() {
    let idle = |activities| {
        let times = with_pauses(activities);
        let BusyRecords {
            gaps,
            idle_host_ns,
            idle_launch_ns,
            idle_queued_ns,
            ..
        } = times;
        (gaps, idle_host_ns, idle_launch_ns, idle_queued_ns)
    };
    // Launched after the pause in the gap: 20 ns before it, 30 after.
    let after = vec![kernel(1, 170, 180, 160), kernel(1, 340, 350, 330)];
    assert_eq!(idle(after), (1, 50, 10, 0));
    // Both pauses are in the gap, and the launch is between them.
    let between = vec![kernel(1, 170, 180, 160), kernel(1, 510, 520, 350)];
    assert_eq!(idle(between), (1, 20 + 50, 50 + 10, 0));
    // Launched before the first ended, which took 10 ns: so may the second take 20.
    let queued = vec![kernel(1, 170, 180, 160), kernel(1, 320, 330, 165)];
    assert_eq!(idle(queued), (1, 0, 5, 35));
    // Ends and starts within a pause: there is no idle time of the window.
    let within = vec![kernel(1, 190, 230, 180), kernel(1, 260, 270, 185)];
    assert_eq!(idle(within), (0, 0, 0, 0));
    // The first ends in a pause.
    let into = vec![kernel(1, 190, 230, 180), kernel(1, 340, 350, 330)];
    assert_eq!(idle(into), (1, 30, 10, 0));
}
